# ctest: name=e2e.other_format, timeout=300
"""ONNX models as TFLite files and back: operators are said in those of the other format, convolutions channels last, and no transpose is left
between operators. What was written is compared with the model as it was read on the evaluator (docs/ARCHITECTURE.md), which is itself held against the standards."""
import os
import pathlib
import random
import re
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())
random.seed(3)


def numbers(n, low=-1.0, high=1.0):
    return [random.uniform(low, high) for _ in range(n)]


def write(name, nodes, inputs, outputs, constants, opset=17):
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph(
        nodes, [onnx.value(n, "f32", d) for n, d in inputs], [onnx.value(n, "f32", d) for n, d in outputs],
        [onnx.tensor(n, k, d, v) for n, k, d, v in constants]), opset))


def node(op, inputs, output, **attributes):
    return onnx.node(op, inputs.split(), output.split(), **attributes)


def words(path):
    """The operators of a file, in order."""
    burin("compile", path, "--target", "ir", "-o", "seen.ir", "--force", "--quiet", "-O", "0")
    return re.findall(r"^  node (\w+)", pathlib.Path("seen.ir").read_text(), re.M)


def layout(done):
    return tuple(map(int, re.search(r"layout +(\d+) transposes, (\d+) of them between operators", done.stdout).groups()))


# ---- a residual network: everything that is around convolutions goes channels last; one transpose, at the input ----
write("net.onnx", [
    node("Conv", "x w0 b0", "c0", strides=[2, 2], pads=[1, 1, 1, 1]),
    node("BatchNormalization", "c0 s m0 m1 v", "n0"),
    node("Relu", "n0", "r0"),
    node("MaxPool", "r0", "p0", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    node("Conv", "p0 w1", "c1", pads=[1, 1, 1, 1]),
    node("Clip", "c1 zero six", "r1"),
    node("Conv", "r1 w2 b0", "c2", group=4, pads=[1, 1, 1, 1]),
    node("Add", "c2 p0", "a0"),
    node("Mul", "a0 per", "a1"),
    node("Concat", "a1 r1", "k0", axis=1),
    node("AveragePool", "k0", "p1", kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1], count_include_pad=1),
    node("Flatten", "p1", "f0"),
    node("Gemm", "f0 w3 b3", "g0", transB=1),
    node("Softmax", "g0", "y", axis=1)],
    [("x", [1, 3, 16, 16])], [("y", [1, 5])],
    [("w0", "f32", [4, 3, 3, 3], numbers(108)), ("b0", "f32", [4], numbers(4)), ("s", "f32", [4], numbers(4, 0.5, 2)), ("m0", "f32", [4], numbers(4)),
     ("m1", "f32", [4], numbers(4)), ("v", "f32", [4], numbers(4, 0.5, 2)), ("w1", "f32", [4, 4, 3, 3], numbers(144)),
     ("zero", "f32", [], [0.0]), ("six", "f32", [], [6.0]), ("w2", "f32", [4, 1, 3, 3], numbers(36)), ("per", "f32", [4, 1, 1], numbers(4)),
     ("w3", "f32", [5, 8 * 16], numbers(640)), ("b3", "f32", [5], numbers(5))])
done = burin("compile", "net.onnx", "-o", "net.tflite")
assert layout(done) == (1, 0), done.stdout
assert "4 inputs compared with the model as it was read" in done.stdout
assert words("net.tflite") == ["transpose", "pad", "conv2d", "pad", "max_pool2d", "conv2d", "depthwise_conv2d", "add", "mul", "concatenation", "pad",
                               "average_pool2d", "reshape", "fully_connected", "softmax"], words("net.tflite")
# the reduction of the image is by 4: channels of 4 by 4, 8 of them, and no batch normalisation of its own is left
text = pathlib.Path("seen.ir").read_text()
assert 'act: text "relu6"' in text and 'act: text "relu"' in text
done = burin("compile", "net.tflite", "-o", "back.onnx")
assert layout(done)[1] == 0, done.stdout
assert "compared with the model as it was read" in done.stdout

# ---- no image: products and reductions ----
write("flat.onnx", [
    node("MatMul", "x w", "m"), node("Add", "m b", "a"), node("LayerNormalization", "a s b", "n", axis=-1), node("Gelu", "n", "y")],
    [("x", [2, 5, 6])], [("y", [2, 5, 4])],
    [("w", "f32", [6, 4], numbers(24)), ("b", "f32", [4], numbers(4)), ("s", "f32", [4], numbers(4))], 20)
done = burin("compile", "flat.onnx", "-o", "flat.tflite")
assert layout(done) == (0, 0) and "compared with the model as it was read" in done.stdout, done.stdout

# ---- places of 64 bits are made in 32, and cast: kernels have no others; back they are ONNX's own again ----
pathlib.Path("places.onnx").write_bytes(onnx.model(onnx.graph(
    [node("TopK", "x three", "v at"), node("ArgMax", "x", "most", axis=1, keepdims=0)], [onnx.value("x", "f32", [2, 5])],
    [onnx.value("v", "f32", [2, 3]), onnx.value("at", "i64", [2, 3]), onnx.value("most", "i64", [2])], [onnx.tensor("three", "i64", [1], [3])]), 17))
assert "compared with the model as it was read" in burin("compile", "places.onnx", "-o", "places.tflite").stdout
assert words("places.tflite") == ["topk", "cast", "arg_max"], words("places.tflite")
assert "compared with the model as it was read" in burin("compile", "places.tflite", "-o", "back.onnx", "--force").stdout

# ---- of what two norms of one tensor share, each is computed once ----
write("norms.onnx", [node("LayerNormalization", "x s", "a", axis=-1), node("LayerNormalization", "x t", "b", axis=-1), node("Add", "a b", "y")],
      [("x", [2, 5, 6])], [("y", [2, 5, 6])], [("s", "f32", [6], numbers(6)), ("t", "f32", [6], numbers(6))])
burin("compile", "norms.onnx", "-o", "norms.tflite")
assert words("norms.tflite").count("sum") == 2, words("norms.tflite")

# ---- channels that are shuffled need one transpose, and no more ----
write("shuffle.onnx", [
    node("Conv", "x w", "c"), node("Reshape", "c five", "r"), node("Transpose", "r", "t", perm=[0, 2, 1, 3, 4]), node("Reshape", "t four", "f"),
    node("Conv", "f w", "y")],
    [("x", [1, 6, 4, 4])], [("y", [1, 6, 4, 4])],
    [("w", "f32", [6, 6, 1, 1], numbers(36)), ("five", "i64", [5], [1, 2, 3, 4, 4]), ("four", "i64", [4], [1, 6, 4, 4])])
done = burin("compile", "shuffle.onnx", "-o", "shuffle.tflite")
assert layout(done) == (3, 1), done.stdout

# ---- what cannot be said is refused by name, and nothing is left; of f64 it is said in f32, with a warning where that rounds ----
for kind in ("u64", "f64"):
    pathlib.Path(f"{kind}.onnx").write_bytes(onnx.model(onnx.graph(
        [node("Add", "x x", "s"), node("Add", "s s", "y")], [onnx.value("x", kind, [2, 2])], [onnx.value("y", kind, [2, 2])], []), 17))
done = burin("compile", "u64.onnx", "-o", "u64.tflite", status=1)
assert "Add: TFLite cannot say this operator: as ADD: no runtime has a kernel of it that takes u64: cast, to one of f32" in done.stderr, done.stderr
assert not pathlib.Path("u64.tflite").exists()
done = burin("compile", "f64.onnx", "-o", "f64.tflite")
assert "operator[0] Add: it computes on f64, for which the format has no kernels: written in f32" in done.stderr, done.stderr
assert "(2 operators in all)" in done.stderr and done.stderr.count("warning") == 1, done.stderr
assert words("f64.tflite") == ["cast", "add", "add", "cast"], words("f64.tflite")
pathlib.Path("exact.onnx").write_bytes(onnx.model(onnx.graph(
    [node("Cast", "x", "d", to=11), node("Max", "d d", "m"), node("Less", "d m", "y")], [onnx.value("x", "f32", [2, 2])], [onnx.value("y", "bool", [2, 2])], []), 17))
done = burin("compile", "exact.onnx", "-o", "exact.tflite")
assert not done.stderr and "less" in words("exact.tflite"), (done.stderr, words("exact.tflite"))

# ---- a word that TFLite has in a narrower form is said in that one ----
write("largest.onnx", [node("ArgMax", "x", "i", axis=1), node("Cast", "i", "y", to=1)], [("x", [3, 4])], [("y", [3, 1])], [])
burin("compile", "largest.onnx", "-o", "largest.tflite")
assert words("largest.tflite") == ["arg_max", "reshape", "cast"], words("largest.tflite")

# ---- several operators that TFLite has as one, since it lacks one of them ----
numbers_of_gelu = [("root", "f32", [], [1.4142135]), ("one", "f32", [1], [1]), ("half", "f32", [1, 1], [0.5])]
chain = [node("Div", "x root", "a"), node("Erf", "a", "b"), node("Add", "b one", "c"), node("Mul", "x c", "d"), node("Mul", "d half", "y")]
write("gelu.onnx", chain, [("x", [3, 4])], [("y", [3, 4])], numbers_of_gelu)
burin("compile", "gelu.onnx", "-o", "gelu.tflite")
assert words("gelu.tflite") == ["gelu"], words("gelu.tflite")
write("erf.onnx", chain[:2], [("x", [3, 4])], [("b", [3, 4])], numbers_of_gelu)
burin("compile", "erf.onnx", "-o", "erf.tflite")
assert set(words("erf.tflite")) == {"div", "minimum", "maximum", "mul", "add"}, words("erf.tflite")

# ---- a quotient that is quantised is kept in range, since TFLite's QUANTIZE is not for what is infinite ----
scale = [("s", "f32", [], [0.05]), ("z", "u8", [], [7])]
write("quotient.onnx", [
    node(op, f"{v} s z", f"{v}{end}") for v in "ab" for op, v, end in (("QuantizeLinear", v, "q"), ("DequantizeLinear", f"{v}q", "r"))] + [
    node("Div", "aqr bqr", "c"), node("QuantizeLinear", "c s z", "cq"), node("DequantizeLinear", "cq s z", "y")],
    [("a", [1, 8]), ("b", [1, 8])], [("y", [1, 8])], scale)
burin("compile", "quotient.onnx", "-o", "quotient.tflite", "--no-check")
said = words("quotient.tflite")
assert said[said.index("div"):] == ["div", "maximum", "minimum", "quantize", "dequantize"], said

# ---- quantised numbers joined with some that no scale was stated of: those have it, too, and stay the numbers that they are ----
pathlib.Path("joined.onnx").write_bytes(onnx.model(onnx.graph(
    [node("QuantizeLinear", "x s z", "q"), node("Concat", "q k", "y", axis=0)], [onnx.value("x", "f32", [3]), onnx.value("k", "i8", [3])],
    [onnx.value("y", "i8", [6])], [onnx.tensor("s", "f32", [], [0.5]), onnx.tensor("z", "i8", [], [3])]), 17))
burin("compile", "joined.onnx", "-o", "joined.tflite")
pathlib.Path("x.npy").write_bytes(npy("<f4", (3,), struct.pack("<3f", 1, -2, 300)))
pathlib.Path("k.npy").write_bytes(npy("|i1", (3,), struct.pack("<3b", -128, 7, 127)))
burin("run", "joined.tflite", "--input", "x.npy", "--input", "k.npy", "--output-dir", "joined", "--output-format", "raw", "--force")
assert struct.unpack("<6b", pathlib.Path("joined/output_0.bin").read_bytes()) == (5, -1, 127, -128, 7, 127)

# ---- an output of 8 bits with a scale for each channel keeps its sign: nothing turns those ----
pathlib.Path("channels.onnx").write_bytes(onnx.model(onnx.graph(
    [node("QuantizeLinear", "x s z", "q", axis=0), node("DequantizeLinear", "q s z", "y", axis=0)], [onnx.value("x", "f32", [2])],
    [onnx.value("q", "u8", [2]), onnx.value("y", "f32", [2])], [onnx.tensor("s", "f32", [2], [0.5, 0.25]), onnx.tensor("z", "u8", [2], [18, 3])]), 17))
burin("compile", "channels.onnx", "-o", "channels.tflite")
pathlib.Path("x.npy").write_bytes(npy("<f4", (2,), struct.pack("<2f", -1, 2)))
burin("run", "channels.tflite", "--input", "x.npy", "--output-dir", "channels", "--output-format", "raw", "--force")
assert pathlib.Path("channels/output_0.bin").read_bytes() == bytes([16, 11])
assert struct.unpack("<2f", pathlib.Path("channels/output_1.bin").read_bytes()) == (-1, 2)

# ---- integers of two scales that an operator takes as they are have none in the file: kernels would rescale, by a scale that is not there ----
pathlib.Path("x.npy").write_bytes(npy("<f4", (3,), struct.pack("<3f", 1, -2, 30)))
for op, kind, want in (("Concat", "u8", (5, 0, 63, 13, 1, 129)), ("Add", "u8", (18, 1, 192)), ("Equal", "bool", (0, 0, 0))):
    pathlib.Path("scales.onnx").write_bytes(onnx.model(onnx.graph(
        [node("QuantizeLinear", "x s z", "q"), node("QuantizeLinear", "x t k", "r"), node(op, "q r", "y", **({"axis": 0} if op == "Concat" else {}))],
        [onnx.value("x", "f32", [3])], [onnx.value("y", kind, [len(want)])],
        [onnx.tensor(n, k, [], [v]) for n, k, v in (("s", "f32", 0.5), ("z", "u8", 3), ("t", "f32", 0.25), ("k", "u8", 9))]), 17))
    burin("compile", "scales.onnx", "-o", "scales.tflite", "--force")
    assert "quantize" not in words("scales.tflite"), words("scales.tflite")
    burin("run", "scales.tflite", "--input", "x.npy", "--output-dir", "scales", "--output-format", "raw", "--force")
    assert tuple(pathlib.Path("scales/output_0.bin").read_bytes()) == want, op

# ---- what is moved before its scale is said has that scale, and stays quantised ----
pathlib.Path("moved.onnx").write_bytes(onnx.model(onnx.graph(
    [node("Reshape", "x shape", "a"), node("Transpose", "a", "b", perm=[1, 0]), node("DequantizeLinear", "b s z", "r"), node("Softmax", "r", "t", axis=1),
     node("QuantizeLinear", "t u v", "y")],
    [onnx.value("x", "i8", [4])], [onnx.value("y", "i8", [2, 2])],
    [onnx.tensor("shape", "i64", [2], [2, 2]), *(onnx.tensor(n, k, [], [v]) for n, k, v in
                                                (("s", "f32", 0.5), ("z", "i8", 3), ("u", "f32", 1 / 256), ("v", "i8", -128)))]), 17))
burin("compile", "moved.onnx", "-o", "moved.tflite", "--force")
assert words("moved.tflite") == ["reshape", "transpose", "softmax"], words("moved.tflite")
