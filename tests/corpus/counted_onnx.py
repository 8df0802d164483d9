#!/usr/bin/env python3
# ctest: name=corpus.counted_onnx, labels=corpus, timeout=600
"""Made ONNX models behind NonZero, Compress and Unique, and with a batch or a sequence that stays open: the evaluator and the emitted C give ONNX
Runtime's shapes and values, from nothing to all.

Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import pathlib
import subprocess
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from support import burin

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node
RNG = np.random.default_rng(3)
SHARES = [0.0, 1.0, 0.5, 0.3, 0.8]  # of what there is


def sparse(share):
    x = RNG.standard_normal((3, 4)).astype("f4")
    x[RNG.random((3, 4)) >= share] = 0
    return {"x": x}


MODELS = {
    "nonzero": ([node("NonZero", ["x"], ["places"]), node("Transpose", ["places"], ["at"], perm=[1, 0]), node("GatherND", ["x", "at"], ["v"]),
                 node("ReduceSum", ["v"], ["s"], keepdims=0), node("Mul", ["v", "v"], ["vv"]), node("Shape", ["at"], ["shape"]),
                 node("Shape", ["places"], ["last"], start=1), node("Size", ["at"], ["size"]), node("Concat", ["places", "places"], ["twice"], axis=1)],
                [("x", F, [3, 4])], [("at", I), ("v", F), ("s", F), ("vv", F), ("shape", I), ("last", I), ("size", I), ("twice", I)], [], sparse),
    "compress": ([node("Compress", ["x", "c"], ["y"], axis=0), node("Conv", ["y", "w"], ["z"], pads=[1, 1, 1, 1]), node("Relu", ["z"], ["r"]),
                  node("GlobalAveragePool", ["r"], ["p"]), node("Flatten", ["p"], ["f"]), node("Gemm", ["f", "g"], ["h"])],
                 [("x", F, [5, 2, 4, 4]), ("c", B, [5])], [("z", F), ("f", F), ("h", F)],
                 [("w", F, [3, 2, 3, 3], [((k * 7) % 11 - 5) / 8 for k in range(54)]), ("g", F, [3, 2], [k / 4 for k in range(6)])],
                 lambda share: {"x": RNG.standard_normal((5, 2, 4, 4)).astype("f4"), "c": RNG.random(5) < share}),
    "columns": ([node("Compress", ["x", "c"], ["y"], axis=1), node("Softmax", ["y"], ["p"], axis=1), node("Transpose", ["p"], ["t"], perm=[1, 0]),
                 node("MatMul", ["y", "t"], ["m"])],
                [("x", F, [3, 5]), ("c", B, [5])], [("p", F), ("m", F)], [],
                lambda share: {"x": RNG.standard_normal((3, 5)).astype("f4"), "c": RNG.random(5) < share}),
    "unique": ([node("Unique", ["x"], ["u", "", "which", "counts"], sorted=1), node("Gather", ["t", "u"], ["g"]), node("Add", ["g", "g"], ["a"]),
                node("Reshape", ["a", "all"], ["line"])],
               [("x", I, [6])], [("u", I), ("a", F), ("line", F), ("which", I), ("counts", I)],
               [("t", F, [8, 2], [k / 4 for k in range(16)]), ("all", I, [1], [-1])], lambda share: {"x": RNG.integers(0, 1 + int(7 * share), 6)}),
}


def normal(*shape):
    return RNG.standard_normal(shape).astype("f4")


def most(share, n):
    return max(1, round(share * n))


# name: as above, with what says that extents stay open
OPEN = {
    "images": (["--dim", "batch=..4"],
               [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("BatchNormalization", ["c", "sc", "bi", "me", "va"], ["n"]),
                node("Relu", ["n"], ["r"]), node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("Flatten", ["p"], ["f"]),
                node("Gemm", ["f", "g"], ["y"]), node("Softmax", ["y"], ["q"]), node("Shape", ["q"], ["shape"])],
               [("x", F, ["batch", 2, 4, 4])], [("q", F), ("shape", I)],
               [("w", F, [3, 2, 3, 3], [((k * 7) % 11 - 5) / 8 for k in range(54)]), ("g", F, [12, 4], [((k * 5) % 7 - 3) / 4 for k in range(48)]),
                ("sc", F, [3], [1, 2, 0.5]), ("bi", F, [3], [0, 0.1, -0.1]), ("me", F, [3], [0.1, 0.2, 0.3]), ("va", F, [3], [1, 2, 3])],
               lambda share: {"x": normal(most(share, 4), 2, 4, 4)}),
    "attention": (["--dim", "seq=..6"],
                  [node("MatMul", ["x", "wq"], ["q"]), node("MatMul", ["x", "wk"], ["k"]), node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
                   node("MatMul", ["q", "kt"], ["s"]), node("Add", ["s", "mask"], ["m"]), node("Softmax", ["m"], ["p"], axis=-1),
                   node("MatMul", ["p", "x"], ["o"]), node("Add", ["o", "x"], ["y"]), node("ReduceMean", ["y"], ["avg"], axes=[1], keepdims=0)],
                  [("x", F, [1, "seq", 4]), ("mask", F, [1, "seq"])], [("y", F), ("avg", F)],
                  [("wq", F, [4, 4], [((k * 7) % 11 - 5) / 8 for k in range(16)]), ("wk", F, [4, 4], [((k * 3) % 11 - 5) / 8 for k in range(16)])],
                  lambda share: {"x": normal(1, most(share, 6), 4), "mask": normal(1, most(share, 6))}),
}


def ours(path, feeds, provider, count, options):
    given = []
    for name, value in feeds.items():
        np.save(f"{name}.npy", value)
        given += ["--input", f"{name}={name}.npy"]
    burin("run", path, *given, *options, "--provider", provider, "--output-dir", "out", "--force")
    return [np.load(next(pathlib.Path("out").glob(f"output_{i}*"))) for i in range(count)]


EVERY = {**{name: ([], *row) for name, row in MODELS.items()}, **OPEN}


def model_of(name):
    """-> (options of burin, the model, what makes its inputs of a share)"""
    options, nodes, inputs, outputs, constants, make = EVERY[name]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(*x) for x in inputs],
                              [helper.make_tensor_value_info(*x, None) for x in outputs], [helper.make_tensor(*x) for x in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    return options, model, make


def main():
    os.chdir(tempfile.mkdtemp())
    for name in EVERY:
        options, model, make = model_of(name)
        path = pathlib.Path(f"{name}.onnx")
        onnx.save(model, path)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        burin("compile", path, "-o", name, *options)
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", f"{name}/{name}_kernels.c", "-o", "/dev/null"], check=True)
        for share in SHARES:
            feeds = make(share)
            want = session.run(None, feeds)
            for provider in ("reference", "host"):
                for i, (a, b) in enumerate(zip(want, ours(path, feeds, provider, len(want), options), strict=True)):
                    assert a.shape == b.shape and a.dtype == b.dtype, (name, share, provider, i, a.shape, b.shape)
                    assert np.allclose(a, b, 1e-4, 1e-5), (name, share, provider, i, a, b)
        print(f"{name}: {len(SHARES)} runs")


if __name__ == "__main__":
    main()
