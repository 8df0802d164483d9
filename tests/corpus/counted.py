#!/usr/bin/env python3
# ctest: name=corpus.counted, labels=corpus, timeout=600
"""Made models behind WHERE and UNIQUE: the evaluator and the emitted C give the shapes and values of LiteRT's reference resolver.

Every mask of six elements that is in MASKS; integers bit for bit, floats within 1e-5. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import pathlib
import subprocess
import tempfile

import by_oracles  # noqa: F401

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import made
from made import Table, Vector

MASKS = [0b000000, 0b111111, 0b100000, 0b000001, 0b010110, 0b101101]
ROWS = [((k * 37) % 23 - 11) / 4 for k in range(24)]
WEIGHTS, BIAS = [((k * 5) % 9 - 4) / 8 for k in range(12)], [0.5, -1.0, 0.25]
START = [("mask", "bool", [6], {}), ("places", "i64", [6, 1], {}), ("narrow", "i32", [6, 1], {}), ("rows", "f32", [6, 4], {"data": ROWS}),
         ("taken", "f32", [6, 4], {})]
TAKE = [("WHERE", [0], [1]), ("CAST", [1], [2]), ("GATHER_ND", [3, 2], [4])]
MODELS = {
    "rows": (START + [("0", "i32", [1], {"data": [0]}), ("sum", "f32", [4], {}), ("1", "i32", [1], {"data": [1]}), ("wide", "f32", [6, 1, 4], {}),
                      ("narrow again", "f32", [6, 4], {}), ("more", "f32", [12, 4], {}), ("shape", "i32", [2], {}), ("each", "f32", [6], {})],
             TAKE + [("SUM", [4, 5], [6], Table(_0=("B", 0))), ("EXPAND_DIMS", [4, 7], [8]), ("SQUEEZE", [8], [9], Table(_0=Vector([1], "i"))),
                     ("CONCATENATION", [9, 4], [10], Table(_0=("i", 0))), ("SHAPE", [10], [11], Table(_0=("b", 2))), ("SUM", [4, 7], [12], Table(_0=("B", 0)))],
             [4, 6, 8, 10, 11, 12]),
    "net": (START + [("w", "f32", [3, 4], {"data": WEIGHTS}), ("b", "f32", [3], {"data": BIAS}), ("y", "f32", [6, 3], {}), ("p", "f32", [6, 3], {}),
                     ("r", "f32", [6, 3], {}), ("s", "f32", [6, 3], {})],
            TAKE + [("FULLY_CONNECTED", [4, 5, 6], [7], Table(_0=("b", 0))), ("SOFTMAX", [7], [8], Table(_0=("f", 1.0))), ("RELU", [7], [9]),
                    ("ADD", [8, 9], [10], Table(_0=("b", 0)))], [8, 10]),
    "numbers": (START[:3] + [("-1", "i32", [1], {"data": [-1]}), ("line", "i32", [6], {}), ("names", "i32", [6], {"data": [4, 4, 5, 4, 6, 5]}),
                             ("named", "i32", [6], {}), ("different", "i32", [6], {}), ("which", "i32", [6], {}), ("twice", "i32", [6], {}),
                             ("how many", "i32", [1], {})],
                TAKE[:2] + [("RESHAPE", [2, 3], [4]), ("GATHER", [5, 4], [6], Table(_0=("i", 0))), ("UNIQUE", [6], [7, 8], Table(_0=("b", 2))),
                            ("ADD", [7, 7], [9], Table(_0=("b", 0))), ("SHAPE", [9], [10], Table(_0=("b", 2)))], [6, 7, 8, 9, 10]),
    "again": (START + [("0", "f32", [1], {"data": [0.0]}), ("low", "bool", [6, 4], {}), ("where", "i64", [24, 2], {}), ("there", "f32", [24], {}),
                       ("all", "i32", [1], {"data": [0]}), ("sum", "f32", [], {})],
              TAKE + [("LESS", [4, 5], [6]), ("WHERE", [6], [7]), ("GATHER_ND", [4, 7], [8]), ("SUM", [8, 9], [10], Table(_0=("B", 0)))], [7, 8, 10]),
}


def litert(path, mask):
    it = Interpreter(model_content=path.read_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    it.allocate_tensors()
    it.set_tensor(it.get_input_details()[0]["index"], mask)
    it.invoke()
    # of a tensor without elements there is nothing to get
    return [it.get_tensor(d["index"]) if d["shape"].all() else np.zeros(d["shape"], d["dtype"]) for d in it.get_output_details()]


def ours(path, mask, provider):
    np.save("mask.npy", mask)
    subprocess.run([os.environ["BURIN"], "run", path, "--input", "mask.npy", "--provider", provider, "--output-dir", "out", "--force"], check=True,
                   capture_output=True)
    return [np.load(next(pathlib.Path("out").glob(f"output_{i}*"))) for i in range(len(list(pathlib.Path("out").iterdir())))]


os.chdir(tempfile.mkdtemp())
for name, (tensors, operators, outputs) in MODELS.items():
    path = pathlib.Path(f"{name}.tflite")
    path.write_bytes(made.tflite(tensors, [(*op, None, None)[:5] for op in operators], [0], outputs))
    os.system("rm -rf out")
    for bits in MASKS:
        mask = np.array([bits >> k & 1 for k in range(6)], bool)
        want = litert(path, mask)
        for provider in ("reference", "host"):
            got = ours(path, mask, provider)
            for i, (a, b) in enumerate(zip(want, got, strict=True)):
                same = a.shape == b.shape and a.dtype == b.dtype and (np.allclose(a, b, 1e-5, 1e-6) if a.dtype.kind == "f" else (a == b).all())
                assert same, (name, bits, provider, i, a, b)
    print(f"{name}: {len(MASKS)} masks")
