# ctest: name=corpus.goals, labels=corpus, timeout=1200
"""The four goals on MLPerf Tiny's four networks and three ONNX networks of reals, on a Cortex-M4 in qemu: flash of size <= balanced <= latency, instructions the
other way round, each strict somewhere; accuracy has the smallest error. The error of a network of reals is the largest distance of what the emitted C
computes from the network computed in 64 bits by onnx's reference evaluator, over the largest output. Run by the oracles' Python.
"""
import os
import pathlib
import sys
import tempfile

import by_oracles  # noqa: F401
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import board
import support

GOALS = ("size", "balanced", "latency", "accuracy")
INTEGERS = ("kws_int8", "vww96_int8", "ic_resnet8_int8", "ad_toycar_int8_intio")
REALS = ("real/micro_kws_fp32", "real/ort_mnist", "real/ortgo_example_network_2")
RUNS = 3

shared = support.shared("corpus").parent
why = board.missing(shared)
if why:
    support.skip(why)


def in_64_bits(model):
    """The same network, everything that is f32 in f64."""
    wide = onnx.ModelProto()
    wide.CopyFrom(model)
    F32, F64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE
    widen = lambda t: numpy_helper.from_array(numpy_helper.to_array(t).astype("f8"), t.name) if t.data_type == F32 else t
    constants = [widen(t) for t in wide.graph.initializer]
    del wide.graph.initializer[:]
    wide.graph.initializer.extend(constants)
    for v in [*wide.graph.input, *wide.graph.output]:
        if v.type.tensor_type.elem_type == F32:
            v.type.tensor_type.elem_type = F64
    del wide.graph.value_info[:]
    for n in wide.graph.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.TENSOR:
                a.t.CopyFrom(widen(a.t))
            assert not (n.op_type == "Cast" and a.name == "to" and a.i == F32), "a cast to f32"
    return ReferenceEvaluator(wide)


def array_file(folder, x):
    np.save(folder / "x.npy", x)
    return folder / "x.npy"


def emitted(path, goal, x, folder):
    support.burin("run", path, "--input", array_file(folder, x), "--provider", "host", "--goal", goal, "--output-dir", folder / "out", "--force", "--quiet")
    return np.load(folder / "out/output_0.npy")


def error_of(path, goal, feeds, exact, folder):
    most = 0.0
    for x, want in zip(feeds, exact):
        got = emitted(path, goal, x, folder).astype("f8")
        most = max(most, float(np.abs(got - want).max() / np.abs(want).max()))
    return most


def measured(path, goal, given, wanted):
    got = board.measure(os.environ["BURIN"], shared, path, given, wanted, words=["--goal", goal])
    return got["flash"], got["instructions"], got["exact"]


def main():
    rows, faults = [], []
    rng = np.random.default_rng(3)
    goldens = shared / "corpus/tflite/golden_tflm/real/mlperf_tiny"
    for name in INTEGERS:
        given, wanted = ((goldens / name / f"{what}_0.bin").read_bytes() for what in ("input", "output"))
        row = {g: (*measured(shared / f"corpus/tflite/real/mlperf_tiny/{name}.tflite", g, given, wanted), 0.0) for g in GOALS}
        faults += [f"{name} {g}: other integers" for g in GOALS if not row[g][2]]
        rows.append((name, row))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in REALS:
            path = shared / "corpus/onnx" / name / "model.onnx"
            model = onnx.load(path)
            given = next(i for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer})
            shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
            feeds = [rng.uniform(-1, 1, shape).astype("f4") for _ in range(RUNS)]
            wide = in_64_bits(model)
            exact = [wide.run(None, {given.name: x.astype("f8")})[0] for x in feeds]
            row = {}
            for g in GOALS:
                flash, instructions, _ = measured(path, g, feeds[0].tobytes(), exact[0].astype("f4").tobytes())
                row[g] = (flash, instructions, True, error_of(path, g, feeds, exact, folder))
            rows.append((name.split("/")[1], row))
    print("| network | " + " | ".join(f"{g}: flash | instructions | error" for g in GOALS) + " |")
    for name, row in rows:
        print(f"| {name} | " + " | ".join(f"{f:,} | {i:,} | {e:.2g}" for f, i, _, e in (row[g] for g in GOALS)) + " |", flush=True)
    size, balanced, latency = ([row[g] for _, row in rows] for g in GOALS[:3])
    for a, b, what in ((size, balanced, "size and balanced"), (balanced, latency, "balanced and latency")):
        faults += [f"{name}: flash of {what}" for (name, _), x, y in zip(rows, a, b) if x[0] > y[0]]
        faults += [f"{name}: instructions of {what}" for (name, _), x, y in zip(rows, a, b) if x[1] < y[1]]
        for at, word in ((0, "flash"), (1, "instructions")):
            faults += [] if any(x[at] != y[at] for x, y in zip(a, b)) else [f"{what} nowhere differ in {word}"]
    for name, row in rows:
        faults += [f"{name}: accuracy has an error above that of {g}" for g in GOALS if row["accuracy"][3] > row[g][3]]
    if not any(row["accuracy"][3] < min(row[g][3] for g in GOALS[:3]) for _, row in rows):
        faults.append("accuracy is nowhere better")
    print(*faults, sep="\n")
    sys.exit(len(faults) > 0)


if __name__ == "__main__":
    main()
