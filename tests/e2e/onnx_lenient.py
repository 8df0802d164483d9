# ctest: name=e2e.onnx_lenient, timeout=120
"""What files of ONNX have that the standard does not, and runtimes take: read as they take it, or said aloud."""
import os
import pathlib
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())


def run(nodes, inputs, files, constants=(), opset=21, says=None, more=b""):
    """-> the first output's floats"""
    pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph(nodes, inputs, [onnx.value("y", "f32")], constants), opset=opset, more=more))
    words = [w for f in files for w in ("--input", f)]
    done = burin("run", "m.onnx", *words, "--output-dir", "out", "--output-format", "raw", "--force")
    assert (says or "") in done.stderr and bool(done.stderr) == bool(says), done.stderr
    data = pathlib.Path("out/output_0.bin").read_bytes()
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def refused(nodes, inputs, constants=(), opset=21, says=""):
    pathlib.Path("m.onnx").write_bytes(onnx.model(onnx.graph(nodes, inputs, [onnx.value("y", "f32")], constants), opset=opset))
    done = burin("plan", "m.onnx", status=1)
    assert says in done.stderr, done.stderr


pathlib.Path("x.npy").write_bytes(npy("<f4", (1, 4), struct.pack("<4f", -3, -1, 1, 3)))
pathlib.Path("scalar.npy").write_bytes(npy("<f4", (), struct.pack("<f", 7)))
pathlib.Path("low.npy").write_bytes(npy("<f4", (1,), struct.pack("<f", -2)))
X, S = onnx.value("x", "f32", [1, 4]), onnx.value("s", "f32", [])
one = onnx.tensor("one", "f32", [4], [1, 1, 1, 1])

# LayerNormalization before version 17 is of no standard: what is misspelt is left out, which is said; later it is a fault
norm = [onnx.node("LayerNormalization", ["x", "one"], ["y"], axis=1, epsion=0.5)]
made = run(norm, [X], ["x.npy"], [one], opset=13, says="epsion: there is no such attribute: it is left out")
assert max(abs(a - b) for a, b in zip(made, [v / (5 + 1e-5) ** 0.5 for v in (-3, -1, 1, 3)])) < 1e-6, made
refused(norm, [X], [one], opset=17, says="epsion: version 17 of ai.onnx has no such attribute")

# com.microsoft without an import; of other domains it is a fault
made = run([onnx.node("QuickGelu", ["x"], ["y"], domain="com.microsoft", alpha=0.0)], [X], ["x.npy"])
assert made == [-1.5, -0.5, 0.5, 1.5], made
refused([onnx.node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])], [X], says='domain "ai.onnx.ml" is not among the imported')

# bounds of Clip as lists of one number, constant and not; of two it is a fault
two = onnx.tensor("high", "f32", [1], [2])
assert run([onnx.node("Clip", ["x", "low", "high"], ["y"])], [X, onnx.value("low", "f32", [1])], ["x.npy", "low.npy"], [two], opset=13) == [-2, -1, 1, 2]
refused([onnx.node("Clip", ["x", "", "high"], ["y"])], [X], [onnx.tensor("high", "f32", [2], [2, 2])], says="HI has rank 1")

# a scalar has no axis 0, but reductions are asked for it
for axis in (0, -1):
    axes = onnx.tensor("axes", "i64", [1], [axis])
    assert run([onnx.node("ReduceSum", ["s", "axes"], ["y"], keepdims=1)], [S], ["scalar.npy"], [axes], opset=13) == [7]
refused([onnx.node("ReduceSum", ["s", "axes"], ["y"])], [S], [onnx.tensor("axes", "i64", [1], [1])], says="axis 1 of a tensor of 0 extents")

# a node that gives nothing; an operator set that is stated twice
assert run([onnx.node("If", [], []), onnx.node("Neg", ["x"], ["y"])], [X], ["x.npy"]) == [3, 1, -1, -3]
again = onnx.field(8, onnx.field(1, "") + onnx.field(2, 21))
assert run([onnx.node("Neg", ["x"], ["y"])], [X], ["x.npy"], more=again) == [3, 1, -1, -3]

# the same in another version: the last one holds (Squeeze has its axes as an input since 13), which is said
again = onnx.field(8, onnx.field(1, "") + onnx.field(2, 11))
squeeze = onnx.node("Squeeze", ["x"], ["y"], axes=[0])
assert run([squeeze], [X], ["x.npy"], more=again, says='domain "" is imported in versions 21 and 11: the last one holds') == [-3, -1, 1, 3]

# constants of one name: the last one holds, wherever it stands, which is said; of what is no constant it is a fault
first, last = (onnx.node("Constant", [], ["k"], value=("tensor", onnx.tensor("", "f32", [1], [v]))) for v in (10, 100))
assert run([first, onnx.node("Add", ["x", "k"], ["y"]), last], [X], ["x.npy"], says='node[0] Constant: "k" is also what node[2] Constant gives: the last one holds') == [97, 99, 101, 103]
refused([first, onnx.node("Neg", ["x"], ["k"]), onnx.node("Add", ["x", "k"], ["y"])], [X], says='output 0 is "k", and so is another value')

# LayerNormalization before version 17: a scale of more digits than the input decides what the output is; of version 17 it is a fault
pathlib.Path("half.npy").write_bytes(npy("<f2", (1, 4), struct.pack("<4e", -3, -1, 1, 3)))
H, norm = onnx.value("h", "f16", [1, 4]), [onnx.node("LayerNormalization", ["h", "one"], ["y"], axis=1)]
made = run(norm, [H], ["half.npy"], [one], opset=13, says="input 0 is f16, and input 1 is f32: input 0 is made f32, and the output is")
assert max(abs(a - b) for a, b in zip(made, [v / (5 + 1e-5) ** 0.5 for v in (-3, -1, 1, 3)])) < 1e-6, made
refused(norm, [H], [one], opset=17, says="S is f32, and must be f16")

# ThresholdedRelu is of the standard from version 10 on, and runtimes have it before
assert run([onnx.node("ThresholdedRelu", ["x"], ["y"], alpha=0.5)], [X], ["x.npy"], opset=9) == [0, 0, 1, 3]
