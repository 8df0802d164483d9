# ctest: name=e2e.onnx_settled, timeout=300
"""A model read for one run: shapes that follow from data, from large tensors, and from extents that data decide; and --random-mean."""
import os
import pathlib
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())
PROVIDERS = ("reference", "host")


def model(name, nodes, inputs, outputs, constants=(), **more):
    pathlib.Path(name).write_bytes(onnx.model(onnx.graph(nodes, inputs, outputs, constants), **more))


def run(name, *inputs, words=(), provider="reference", kind="f"):
    """-> the first output's numbers; inputs: lists of f32, or .npy files' bytes"""
    files = []
    for k, v in enumerate(inputs):
        pathlib.Path(f"{k}.npy").write_bytes(v if isinstance(v, bytes) else npy("<f4", (len(v),), struct.pack(f"<{len(v)}f", *v)))
        files += ["--input", f"{k}.npy"]
    burin("run", name, *words, *files, "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    data = pathlib.Path("out/output_0.bin").read_bytes()
    return list(struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data))


def refused(*words, says, status=1):
    done = burin(*words, status=status)
    assert says in done.stderr, (words, done.stderr)


F, X = onnx.value("y", "f32"), onnx.value("x", "f32", ["n"])

# as many ones as x has elements that are not 0, with their places added: a Range and a ConstantOfShape of an extent that data decide
model("count.onnx", [onnx.node("NonZero", ["x"], ["at"]), onnx.node("Shape", ["at"], ["s"], start=1), onnx.node("ConstantOfShape", ["s"], ["ones"],
      value=("tensor", onnx.tensor("", "f32", [1], [1]))), onnx.node("Squeeze", ["s"], ["n"]), onnx.node("Range", ["zero", "n", "one"], ["r"]),
      onnx.node("Cast", ["r"], ["f"], to=onnx.TYPES["f32"]), onnx.node("Add", ["f", "ones"], ["y"])], [X], [F],
      [onnx.tensor("zero", "i64", [], [0]), onnx.tensor("one", "i64", [], [1])])
for provider in PROVIDERS:
    assert run("count.onnx", [5, 0, 7, 0, 0, 9], provider=provider) == [1, 2, 3], provider
assert run("count.onnx", [5, 0]) == [1]
assert run("count.onnx", [0, 0]) == []
# for any run there is no such module; and what the refusal says is said once
done = burin("plan", "count.onnx", "--dim", "n=6", status=1)
assert done.stderr.count("ConstantOfShape") == 2 and "whose input 0 is computed" in done.stderr, done.stderr

# an extent that follows from a tensor of more elements than a shape has: y has as many elements as the largest of x says
model("large.onnx", [onnx.node("Mul", ["x", "two"], ["d"]), onnx.node("ReduceMax", ["d"], ["m"], keepdims=0), onnx.node("Cast", ["m"], ["n"], to=onnx.TYPES["i64"]),
      onnx.node("Range", ["zero", "n", "one"], ["r"]), onnx.node("Cast", ["r"], ["y"], to=onnx.TYPES["f32"])], [X], [F],
      [onnx.tensor("two", "f32", [], [2]), onnx.tensor("zero", "i64", [], [0]), onnx.tensor("one", "i64", [], [1])])
for provider in PROVIDERS:
    assert run("large.onnx", [0] * 2999 + [2], provider=provider) == [0, 1, 2, 3], provider
# random numbers: refused by name, with what to do; their mean where it is asked for
NORMAL = [onnx.node("RandomNormalLike", ["x"], ["r"], mean=3.0, scale=2.0), onnx.node("Mul", ["x", "r"], ["y"])]
model("like.onnx", NORMAL, [X], [F])
refused("run", "like.onnx", "--shape", "x=2", says="operator RandomNormalLike, whose outputs are random is not supported; make the random numbers an input of the model, or take the mean "
        "of their distribution, --random-mean")
for provider in PROVIDERS:
    assert run("like.onnx", [1, 2, 3], words=["--random-mean"], provider=provider) == [3, 6, 9], provider
burin("compile", "like.onnx", "--dim", "n=3", "--random-mean", "-o", "like")
model("uniform.onnx", [onnx.node("RandomUniform", [], ["r"], low=1.0, high=4.0, shape=[2, 2], dtype=onnx.TYPES["f64"]), onnx.node("Cast", ["x"], ["d"], to=onnx.TYPES["f64"]),
      onnx.node("Add", ["r", "d"], ["y"])], [onnx.value("x", "f32", [2])], [onnx.value("y", "f64")])
assert run("uniform.onnx", [1, 10], words=["--random-mean"], kind="d") == [3.5, 12.5, 3.5, 12.5]
model("plain.onnx", [onnx.node("RandomUniformLike", ["x"], ["r"]), onnx.node("RandomNormal", [], ["s"], shape=[1]), onnx.node("Sub", ["r", "s"], ["y"])], [X], [F])
assert run("plain.onnx", [7, 7], words=["--random-mean"]) == [0.5, 0.5]
# whose mean is no number of their type, or not their kind: still refused
model("coin.onnx", [onnx.node("Bernoulli", ["x"], ["y"])], [X], [F])
refused("plan", "coin.onnx", "--dim", "n=2", "--random-mean", says="Bernoulli, whose outputs are random")
model("whole.onnx", [onnx.node("RandomNormal", [], ["y"], shape=[2], dtype=onnx.TYPES["i32"])], [], [onnx.value("y", "i32")])
refused("plan", "whole.onnx", "--random-mean", says="a type of floats")
refused("plan", "large.onnx", "--dim", "n=2", "--random-mean", says="whose input 1 is computed")
model("none.onnx", [onnx.node("Neg", ["x"], ["y"])], [X], [F])
refused("plan", "none.onnx", "--dim", "n=2", "--random-mean", status=2, says="random-mean: it has no effect")
