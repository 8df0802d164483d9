#!/usr/bin/env python3
# ctest: name=corpus.trees, labels=corpus, timeout=900
"""Decision trees by chance, in all forms that ai.onnx.ml has: the evaluator and the emitted C give ONNX Runtime's scores and classes.

  trees.py [--seed N] [--models N]

A model has eight forests of one input. Left out is what docs/ONNX.md says that ONNX Runtime does otherwise. Run by the oracles'
Python; by ctest's Python it starts that one.
"""
import argparse
import os
import pathlib
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from forests import MODES, Forest
from support import burin

POSTS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]
FLOORS = {"regressor": 100, "classifier": 100, "ensemble": 72}


def one_entry(rng, n):
    return [n[int(rng.integers(len(n)))]] if isinstance(n, list) else n[:4] + (one_entry(rng, n[4]), one_entry(rng, n[5]))


def based(rng, wide, n):
    values = np.round(rng.uniform(-1, 1, n), 2)
    return {"base_values_as_tensor": numpy_helper.from_array(values, "base")} if wide else {"base_values": list(map(float, values))}


def node(rng, k, features, wide, ensembles):
    """One forest: kind, node, names of its outputs."""
    kind = str(rng.choice(["ensemble"] if ensembles else ["regressor", "classifier"]))
    targets = int(rng.integers(1, 5)) if kind != "classifier" else int(rng.integers(2, 5))
    one = kind == "classifier" and targets == 2
    modes = [str(m) for m in rng.choice(MODES, int(rng.integers(1, 4)), replace=False)]
    sparse = float(rng.choice([0.0, 0.5])) if kind == "regressor" else 0.0
    made = Forest(rng, int(rng.integers(1, 9)), int(rng.integers(0, 7)), features, [0] if one else range(targets), modes, sparse,
                  low=float(rng.choice([-2.0, 0.0])), missing=bool(rng.integers(2)), wide=wide, full=bool(rng.integers(2)))
    base = {} if sparse or rng.random() < 0.5 else based(rng, wide, 1 if one else targets)
    if kind == "regressor":
        aggregate = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
        post = str(rng.choice(POSTS)) if targets > 1 else "NONE"
        return kind, helper.make_node("TreeEnsembleRegressor", ["x"], [f"y{k}"], domain="ai.onnx.ml", n_targets=targets, post_transform=post,
                                      aggregate_function=aggregate, **made.old("target", wide), **base), [f"y{k}"]
    if kind == "classifier":
        labels = [int(v) for v in rng.permutation(50)[:targets]]
        return kind, helper.make_node("TreeEnsembleClassifier", ["x"], [f"l{k}", f"y{k}"], domain="ai.onnx.ml", classlabels_int64s=labels,
                                      post_transform=str(rng.choice(POSTS)), **made.old("class", wide), **base), [f"l{k}", f"y{k}"]
    made.trees = [one_entry(rng, t) for t in made.trees]
    if all(isinstance(t, list) for t in made.trees):
        made.trees = [("BRANCH_LEQ", 0, 0.25, 0, t, [(0, 1.5)]) for t in made.trees]
    made.trees = [t if not isinstance(t, list) else ("BRANCH_LT", 0, 0.5, 0, t, [(0, -1.5)]) for t in made.trees]
    return kind, helper.make_node("TreeEnsemble", ["x"], [f"y{k}"], domain="ai.onnx.ml", n_targets=targets, aggregate_function=int(rng.integers(4)),
                                  **made.new(TensorProto.DOUBLE if wide else TensorProto.FLOAT)), [f"y{k}"]


def run(path, x, provider, n):
    np.save("x.npy", x)
    burin("run", path, "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--force")
    return [np.load(next(pathlib.Path("out").glob(f"output_{i}*"))) for i in range(n)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--models", type=int, default=36)
    a = p.parse_args()
    os.chdir(tempfile.mkdtemp())
    counts = dict.fromkeys(FLOORS, 0)
    bad = 0
    for number in range(a.models):
        rng = np.random.default_rng([a.seed, number])
        features, wide, ensembles = int(rng.integers(1, 6)), number % 3 == 2, number % 4 == 3
        made = [node(rng, k, features, wide, ensembles) for k in range(8)]
        x = Forest(rng, 0, 0, features, [0]).rows(int(rng.integers(1, 9)), np.float64 if wide else np.float32)
        names = [name for _, _, outputs in made for name in outputs]
        graph = helper.make_graph([n for _, n, _ in made], "forests",
                                  [helper.make_tensor_value_info("x", TensorProto.DOUBLE if wide else TensorProto.FLOAT, x.shape)],
                                  [onnx.ValueInfoProto(name=name) for name in names])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 5 if ensembles else 3)],
                                  ir_version=10)
        onnx.save(model, "m.onnx")
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        want = onnxruntime.InferenceSession("m.onnx", options, providers=["CPUExecutionProvider"]).run(None, {"x": x})
        by_name = dict(zip(names, want))
        for provider in ("reference", "host"):
            got = dict(zip(names, run("m.onnx", x, provider, len(names))))
            for kind, n, outputs in made:
                scores = by_name[outputs[-1]]
                clear = np.ones(len(x), bool)
                if kind == "classifier":                          # sums in another order may decide a tie otherwise
                    order = np.sort(scores, 1)
                    clear = order[:, -1] - order[:, -2] > 1e-4
                for name in outputs:
                    b, c = got[name], by_name[name]
                    fine = b.shape == c.shape and b.dtype == c.dtype
                    if fine:
                        fine = np.array_equal(b[clear], c[clear]) if name[0] == "l" else np.allclose(b, c, 1e-4, 1e-5)
                    if not fine:
                        bad += 1
                        print(f"seed {a.seed} model {number} {provider} {n.op_type} {name}:\n{b}\nand not\n{c}")
        for kind, _, _ in made:
            counts[kind] += 1
    print(", ".join(f"{n} of kind {kind}" for kind, n in counts.items()) + f"; {bad} differ")
    return 1 if bad or a.seed == 0 and a.models == 36 and any(counts[k] < n for k, n in FLOORS.items()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
