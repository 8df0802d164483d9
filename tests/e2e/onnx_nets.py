# ctest: name=e2e.onnx_nets, timeout=300
"""How ONNX says windows, recurrent layers and com.microsoft's inputs, and what Burin's definitions get of it: padding by hand from the
standard's formulas, functions by their names, inputs in another order. What does not fit is a fault, with its place; what Burin has not is
refused by name."""
import os
import pathlib
import re
import struct
import tempfile

import onnx_build as onnx
from support import burin

os.chdir(tempfile.mkdtemp())
MS = ("com.microsoft", 1)


def file(op, inputs, outputs=1, opset=21, domain="", **attributes):
    """inputs: (type, extents), with values a constant; None: absent. outputs: how many, or their types."""
    types = ["f32"] * outputs if isinstance(outputs, int) else outputs
    names = ["" if x is None else f"in{k}" for k, x in enumerate(inputs)]
    given = [(name, x) for name, x in zip(names, inputs) if x is not None]
    pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph(
        [onnx.node(op, names, [f"out{k}" for k in range(len(types))], name="n", domain=domain, **{k.rstrip("_"): v for k, v in attributes.items()})],
        [onnx.value(name, x[0], x[1]) for name, x in given if len(x) == 2], [onnx.value(f"out{k}", t) for k, t in enumerate(types)],
        [onnx.tensor(name, *x) for name, x in given if len(x) == 3]), opset, [MS] if domain else []))


def node(*args, **more):
    """Word, inputs by name and attributes of the node as it is read, and the extents of its first output."""
    file(*args, **more)
    burin("compile", "m.onnx", "--target", "ir", "-o", "m.ir", "--force", "--quiet")
    text = pathlib.Path("m.ir").read_text()
    word, inputs, outputs, attributes = re.search(r"node (\w+) \(([^)]*)\) -> \((%\d+)[^)]*\) \{([^}]*)\}", text).groups()
    tensors = {t[0]: t[1:] for t in re.findall(r'tensor (%\d+) \w+\[([\d,]*)\] "([^"]*)"', text)}
    values = dict(re.findall(r'(\w+): \w+ (\[[^\]]*\]|"[^"]*"|[^,]+)', attributes))
    return word, ["" if i == "_" else tensors[i][1] for i in inputs.split(", ")], values, tensors[outputs][0]


def fault(*args, says, **more):
    file(*args, **more)
    done = burin("inspect", "m.onnx", status=1)
    assert f'graph/node[0] "n" {args[0]}: ' in done.stderr and says in done.stderr, (args, done.stderr)


def unsupported(*args, says, **more):
    file(*args, **more)
    done = burin("plan", "m.onnx", status=1)
    assert says in done.stderr and "is not supported" in done.stderr, (args, done.stderr)


# ---- windows ----
x, w = ("f32", [1, 2, 5, 6]), ("f32", [3, 2, 3, 2])
word, _, a, shape = node("Conv", [x, w])
assert (word, a["strides"], a["dilations"], a["pads"], a["group"], shape) == ("conv", "[1, 1]", "[1, 1]", "[0, 0, 0, 0]", "1", "1,3,3,5")
# ceil(5 / 2) = 3 places need (3 - 1) * 2 + 3 = 7, 2 more; ceil(6 / 3) = 2 need 3 + 2 = 5: none
_, _, a, shape = node("Conv", [x, w], auto_pad="SAME_UPPER", strides=[2, 3])
assert (a["pads"], shape) == ("[1, 0, 1, 0]", "1,3,3,2"), (a, shape)
# of one more row: above for LOWER, below for UPPER
for padding, pads in (("SAME_LOWER", "[1, 1, 1, 0]"), ("SAME_UPPER", "[1, 0, 1, 1]"), ("VALID", "[0, 0, 0, 0]")):
    assert node("Conv", [x, w], auto_pad=padding)[2]["pads"] == pads, padding
assert node("Conv", [x, w], auto_pad="SAME_UPPER", dilations=[2, 1])[2]["pads"] == "[2, 0, 2, 1]"
_, _, a, shape = node("MaxPool", [x], kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1)
assert (a["kernel_shape"], a["ceil_mode"], shape) == ("[2, 3]", "1", "1,2,3,3"), (a, shape)
# 2 * (5 - 1) + 3 = 11 rows and 6 + 1 = 7 columns, of which 10 and 6 are wanted
_, _, a, shape = node("ConvTranspose", [x, ("f32", [2, 1, 3, 2])], strides=[2, 1], output_shape=[10, 6])
assert (a["pads"], shape) == ("[1, 1, 0, 0]", "1,1,10,6"), (a, shape)
assert node("ConvTranspose", [x, ("f32", [2, 1, 3, 2])], strides=[2, 1], auto_pad="SAME_UPPER")[2]["pads"] == "[0, 0, 1, 1]"
# more than there is: zeros behind
assert node("ConvTranspose", [x, ("f32", [2, 1, 3, 2])], output_shape=[9, 7])[2]["pads"] == "[0, 0, -2, 0]"
assert node("ConvTranspose", [x, ("f32", [2, 1, 3, 2])], strides=[2, 1], output_padding=[1, 0])[3] == "1,1,12,7"
_, inputs, a, shape = node("MaxUnpool", [("f32", [1, 1, 2, 2]), ("i64", [1, 1, 2, 2]), ("i64", [4], [1, 1, 5, 4])], kernel_shape=[2, 2], strides=[2, 2])
assert (len(inputs), a["shape"], a["extents"], shape) == (2, "[4, 4]", "[5, 4]", "1,1,5,4")
assert node("GlobalAveragePool", [x])[::2] == ("mean", {"axes": "[2, 3]", "keepdims": "1"})

fault("Conv", [x, w], strides=[1, 1, 1], says="strides: expected 2 values, got 3")
fault("Conv", [x, w], strides=[0, 1], says="strides: 0: expected a number from 1 to 2^31-1")
fault("Conv", [x, w], pads=[-1, 0, 0, 0], says="pads: -1: expected a number from 0")
fault("Conv", [x, w], kernel_shape=[2, 2], says="kernel_shape: 2, and the weights have 3")
fault("Conv", [x, w], auto_pad="SAME", says='auto_pad: "SAME": expected NOTSET, VALID, SAME_UPPER or SAME_LOWER')
fault("Conv", [("f32", [2, 5]), w], says="an input of 2 extents and weights of 4")
fault("MaxPool", [x], says="kernel_shape: it is absent, and the operator needs it")
fault("MaxPool", [x], opset=8, kernel_shape=[1, 1], dilations=[1, 1], says="dilations: version 8 of ai.onnx has no such attribute")
fault("ConvTranspose", [x, ("f32", [2, 1, 3, 2])], output_shape=[1, 2, 3], says="output_shape: expected 2 values, got 3")
fault("MaxUnpool", [("f32", [1, 1, 2]), ("i64", [1, 1, 2]), ("i64", [2], [1, 1])], kernel_shape=[2], says="output_shape: expected 3 values, got 2")
fault("GlobalMaxPool", [("f32", [3])], says="an input of 1 extents: expected at least 2")
fault("Conv", [x, ("f32", [3, 3, 3, 2])], says="the input's channels are not the filter's times the groups")
one = ("f32", [2])
unsupported("BatchNormalization", [x, one, one, one, one], outputs=3, opset=9, says="operator BatchNormalization with 3 outputs")
unsupported("BatchNormalization", [x, one, one, one, one], opset=7, spatial=0, says="operator BatchNormalization with spatial 0")
unsupported("Dropout", [one, ("f32", [], [0.5]), ("bool", [], [True])], says="operator Dropout in training")
unsupported("Dropout", [one], opset=6, says="operator Dropout in training")
assert node("Dropout", [one], opset=6, is_test=1)[0] == "reshape"
assert node("Dropout", [one, ("f32", [], [0.5]), ("bool", [], [False])], outputs=["f32", "bool"])[:2] == ("dropout", ["in0"])

# version 18, which the standard has withdrawn, has a scale of each group, version 21 of each channel: they are written as many times
for opset, scales, other in ((18, 2, 4), (21, 4, 2)):
    groups = [("f32", [1, 4, 3]), ("f32", [scales]), ("f32", [scales])]
    file("GroupNormalization", groups, opset=opset, num_groups=2)
    burin("compile", "m.onnx", "--target", "onnx", "-o", "again.onnx", "--force", "--quiet")
    written_as = pathlib.Path("again.onnx").read_bytes()
    assert bytes([22]) == re.search(rb"\x42.\x0a\x00\x10(.)", written_as, re.S).group(1) and (b"Expand" in written_as) == (opset == 18)
    done = burin("compile", "m.onnx", "--target", "onnx", "--opset", "20", "-o", "again.onnx", "--force", "--quiet", status=1)
    assert "version 20 of ONNX's operators cannot say group_normalization" in done.stderr and "version 21 is the first that can" in done.stderr, done.stderr
    fault("GroupNormalization", [groups[0], ("f32", [other]), ("f32", [other])], opset=opset, num_groups=2, says=f"input 1 is {other}: expected {scales}")

# ---- recurrent layers ----
s, W, R = ("f32", [4, 1, 2]), ("f32", [2, 12, 2]), ("f32", [2, 12, 3])
word, inputs, a, shape = node("LSTM", [s, W, R, None, None, ("f32", [2, 1, 3])], hidden_size=3, direction="bidirectional",
                              activations=["Sigmoid", "tanh", "ELU", "HardSigmoid", "Affine", "Relu"], activation_alpha=[0.5, 0.25], activation_beta=[0.75])
assert (word, inputs, shape) == ("onnx_lstm", ["in0", "in1", "in2", "", "", "in5"], "4,2,1,3")
assert a["functions"] == "[0, 1, 8, 7, 3, 2]" and a["direction"] == '"bidirectional"'
# alphas and betas go to those that take them, in their order; what is left has the function's own
assert [float(v) for v in a["alphas"][1:-1].split(",")] == [0, 0, 0.5, 0.25, 1, 0]
assert [float(v) for v in a["betas"][1:-1].split(",")] == [0, 0, 0, 0.75, 0, 0]
assert node("GRU", [s, ("f32", [1, 9, 2]), ("f32", [1, 9, 3])], linear_before_reset=1)[2]["functions"] == "[0, 1]"
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], activations=["Tan"], says='activations: "Tan" is no function')
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], activations=["ScaledTanh"], activation_alpha=[0.5], says="ScaledTanh needs a number of")
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], activations=["Tanh", "Tanh"], says="activations: expected 1 values, got 2")
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], hidden_size=4, says="hidden_size: 4, and the weights have 3")
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], direction="backward", says='direction: "backward": expected forward, reverse or bidirectional')
fault("RNN", [s, ("f32", [1, 3, 2]), ("f32", [1, 3, 3])], direction="bidirectional", says="direction and functions must be those of the weights' directions")

# ---- com.microsoft ----
_, inputs, _, _ = node("RotaryEmbedding", [("f32", [1, 2, 4]), ("i64", [1, 2]), ("f32", [5, 2]), ("f32", [5, 2])], domain="com.microsoft", num_heads=1)
assert inputs == ["in0", "in2", "in3", "in1"], inputs
unsupported("RotaryEmbedding", [("f32", [1, 2, 4]), ("i64", [1, 2]), ("f32", [5, 2]), ("f32", [5, 2])], domain="com.microsoft", num_heads=1, is_packed_batching=1,
            says="operator RotaryEmbedding with is_packed_batching 1")
unsupported("RotaryEmbedding", [("f32", [1, 2, 4]), ("i64", [1, 2]), ("f32", [5, 2]), ("f32", [5, 2])], domain="com.microsoft", num_heads=1, scale=0.5,
            says="operator RotaryEmbedding with scale 0.5")
node("RotaryEmbedding", [("f32", [1, 2, 4]), ("i64", [1, 2]), ("f32", [5, 2]), ("f32", [5, 2])], domain="com.microsoft", num_heads=1, scale=1.0)
row = ("f32", [4])
_, inputs, a, _ = node("SkipSimplifiedLayerNormalization", [("f32", [1, 2, 4]), ("f32", [1, 2, 4]), row, row], domain="com.microsoft")
assert (inputs, a["simplified"]) == (["in0", "in1", "in2", "", "in3"], "1")
scale, zero, part = ("f32", [], [0.5]), ("u8", [], [3]), ("u8", [2, 2])
word, inputs, a, _ = node("QLinearConcat", [("f32", [], [0.25]), zero, part, scale, zero, part, scale, ("u8", [], [5])], outputs=["u8"], domain="com.microsoft", axis=-1)
assert (word, inputs, a["axis"], a["zeros"]) == ("qlinear_concat", ["in2", "in5"], "1", "[3, 5, 3]"), (inputs, a)
assert [float(v) for v in a["scales"][1:-1].split(",")] == [0.5, 0.5, 0.25]
assert node("FusedGemm", [("f32", [2, 3]), ("f32", [3, 2])], domain="com.microsoft", activation="HardSigmoid", activation_alpha=0.25)[2]["activation_params"].startswith("[0.25, ")
fault("QLinearConcat", [scale, zero, part, scale, zero, part], domain="com.microsoft", axis=0, says="6 inputs: expected a scale and a zero point, then three")
unsupported("QLinearSoftmax", [part, scale, zero, scale, zero], domain="com.microsoft", opset_=12, says="operator QLinearSoftmax with opset 12")
unsupported("Sampling", [part], domain="com.microsoft", says="operator Sampling of com.microsoft")

# ---- FlexAttention: nodes of its own, with the modifiers' between them ----
def flex(modifier, extents):
    body = onnx.graph([modifier], [onnx.value("s", "f32", None)], [onnx.value("t", "f32", None)])
    q = [onnx.value(name, "f32", [1, 2, 3, 4]) for name in "qkv"]
    pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph(
        [onnx.node("FlexAttention", list("qkv"), ["y"], name="n", domain="ai.onnx.preview", score_mod=("graph", body))], q,
        [onnx.value("y", "f32", extents)]), 26, [("ai.onnx.preview", 1)]))


flex(onnx.node("Tanh", ["s"], ["t"]), [1, 2, 3, 4])
burin("compile", "m.onnx", "--target", "ir", "-o", "m.ir", "--force", "--quiet")
assert re.findall(r"node (\w+)", pathlib.Path("m.ir").read_text()) == ["attention_scores", "tanh", "softmax", "attention_values"]
flex(onnx.node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3]), [1, 2, 3, 4])
done = burin("inspect", "m.onnx", status=1)
assert 'graph/node[0] "n" FlexAttention: score_mod gives f32 1x3x2x3: expected f32 1x2x3x3, as it takes' in done.stderr, done.stderr

# ---- written as com.microsoft has it, where the standard's operator has other inputs; values of ONNX Runtime ----
def written(name, inputs, more, outputs, given, want, **attributes):
    pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph(
        [onnx.node(name, [n for n, _, _ in inputs] + [n for n, *_ in more], outputs, domain="com.microsoft", **attributes)],
        [onnx.value(*i) for i in inputs], [onnx.value(o, "f32") for o in outputs if o], [onnx.tensor(*t) for t in more]), 17, [("com.microsoft", 1)]))
    burin("compile", "m.onnx", "--target", "onnx", "-o", "w.onnx", "--force", "--quiet")
    assert name.encode() in pathlib.Path("w.onnx").read_bytes() and b"com.microsoft" in pathlib.Path("w.onnx").read_bytes()
    for model in ("m.onnx", "w.onnx"):
        words = []
        for i, data in enumerate(given):
            pathlib.Path(f"in{i}.bin").write_bytes(data)
            words += ["--input", f"in{i}.bin"]
        burin("run", model, *words, "--output-dir", "written", "--output-format", "raw", "--force")
        for k, numbers in enumerate(want):
            got = struct.unpack(f"<{len(numbers)}f", pathlib.Path(f"written/output_{k}.bin").read_bytes())
            assert all(abs(a - b) <= 1e-6 for a, b in zip(got, numbers)), (model, k, got)


C = [v / 8 for v in range(1, 9)]
for kind, dims, place in (("i64", [1], [2]), ("i64", [], [2])):  # the place of the first row
    written("RotaryEmbedding", [("x", "f32", [1, 2, 4])], [("p", kind, dims, place), ("c", "f32", [4, 2], C), ("s", "f32", [4, 2], [1 - v for v in C])], ["y"],
            [struct.pack("<8f", *C)], [[-0.0625, 0.0625, 0.28125, 0.4375, 0.4375, 0.75, 0.84375, 1.0]], num_heads=1)
written("RotaryEmbedding", [("x", "f32", [1, 2, 4]), ("p", "i64", [1])], [("c", "f32", [4, 2], C), ("s", "f32", [4, 2], [1 - v for v in C])], ["y"],
        [struct.pack("<8f", *C), struct.pack("<q", 2)], [[-0.0625, 0.0625, 0.28125, 0.4375, 0.4375, 0.75, 0.84375, 1.0]], num_heads=1)
for more, y, t in (([], [0.45098764, 1.8039505, 0.67648143, 1.2, 2.4, 0], [1, 2, 3, 3, 3, 0]),
                   ([("b", "f32", [3], [1, -1, 0])], [0.9019753, 0.9019753, 0.67648143, 1.5209383, 1.5209383, 0], [2, 1, 3, 4, 2, 0])):
    written("SkipSimplifiedLayerNormalization", [("x", "f32", [1, 2, 3]), ("s", "f32", [1, 2, 3])], [("g", "f32", [3], [1, 2, 0.5])] + more, ["y", "", "", "t"],
            [struct.pack("<6f", 1, 2, 2, 0, 3, 4), struct.pack("<6f", 0, 0, 1, 3, 0, -4)], [y, t], epsilon=0.25)
# places of each row are what the standard's operator has, and nothing else
fault("RotaryEmbedding", [("f32", [1, 1, 2, 4]), ("f32", [5, 2]), ("f32", [5, 2]), ("i64", [1])], opset=23, says="input 3 is 1: expected 2 extents")
# onnx's shape inference takes another default than the standard's text
pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph([onnx.node("STFT", ["x", "step", "", "frame"], ["y"], onesided=1)], [onnx.value("x", "f32", [1, 16, 1])],
    [onnx.value("y", "f32")], [onnx.tensor("step", "i64", [], [4]), onnx.tensor("frame", "i64", [], [8])]), 17))
burin("compile", "m.onnx", "--target", "onnx", "-o", "w.onnx", "--force", "--quiet")
assert b"onesided" in pathlib.Path("w.onnx").read_bytes()
# ---- of the versions that say a model, one whose operators ONNX Runtime has: GlobalLpPool of 22 it has not ----
for op, version in (("GlobalLpPool", 21), ("GlobalMaxPool", 22)):
    file(op, [("f32", [1, 2, 3, 4])])
    burin("compile", "m.onnx", "--target", "onnx", "-o", "w.onnx", "--force", "--quiet")
    assert onnx.field(8, onnx.field(1, "") + onnx.field(2, version)) in pathlib.Path("w.onnx").read_bytes(), op
    burin("compile", "m.onnx", "--target", "onnx", "--opset", "22", "-o", "w.onnx", "--force", "--quiet")
    assert onnx.field(8, onnx.field(1, "") + onnx.field(2, 22)) in pathlib.Path("w.onnx").read_bytes(), op
