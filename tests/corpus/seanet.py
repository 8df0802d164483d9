# ctest: name=corpus.seanet, labels=corpus, timeout=900
"""The 87 recorded one-operator models with int16 activations: the evaluator and the emitted C, bit for bit. With
--numerics litert all, with tflm, the default, all but four, which TFLM itself does not give.

  seanet.py [--only PATTERN]
"""
import argparse
import array
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import emitted
import support

ROOT = support.shared("corpus/tflite/vectors_seanet16x8")
COUNT = 87
# TFLM's LEAKY_RELU has its scales' quotients in double, what is recorded in float: 1 to 3 elements of each are one step apart
NOT_TFLM = {f"leaky_relu/leaky_relu{k}" for k in (3, 11, 18, 19)}


def recorded(model, what):
    """The recorded tensors of a model in order: [bytes]."""
    found = [re.fullmatch(rf"{model.stem}_{what}(\d*)_(\w+)", p.stem) for p in sorted(model.parent.glob(f"{model.stem}_{what}*.csv"))]
    found = sorted((int(m[1] or 0), m[2], m[0]) for m in found if m)
    numbers = [(kind, re.findall(r"-?\d+", (model.parent / f"{name}.csv").read_text())) for _, kind, name in found]
    return [array.array(emitted.TYPES[kind.upper()], map(int, v)).tobytes() for kind, v in numbers]


def one(name, numerics):
    """-> None, or what is wrong"""
    model = ROOT / f"{name}.tflite"
    inputs, outputs = recorded(model, "input"), recorded(model, "golden")
    if not inputs or not outputs:
        return "nothing is recorded"
    work = pathlib.Path(tempfile.mkdtemp(prefix="seanet-"))
    try:
        given = []
        for k, data in enumerate(inputs):
            (work / f"input_{k}.bin").write_bytes(data)
            given += ["--input", work / f"input_{k}.bin"]
        done = subprocess.run([os.environ["BURIN"], "run", model, *given, "--numerics", numerics, "--output-dir", work / "out", "--output-format", "raw",
                               "--quiet"], capture_output=True, text=True)
        if done.returncode:
            return emitted.refusal(done)
        for k, want in enumerate(outputs):
            fault = emitted.differs("INT16", (work / "out" / f"output_{k}.bin").read_bytes(), want)
            if fault:
                return f"evaluator, output {k}: {fault}"
        done = emitted.emit(model, work / "m", "--numerics", numerics)
        if done.returncode:
            return emitted.refusal(done)
        program, fault = emitted.build(work / "m", ["gcc", *emitted.STRICT, "-O1"])
        if fault:
            return fault
        out, fault = emitted.run(program, b"".join(inputs))
        fault = fault or emitted.differs("INT16", out, b"".join(outputs))
        return f"emitted C: {fault}" if fault else None
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    names = sorted(f"{p.parent.name}/{p.stem}" for p in ROOT.glob("*/*.tflite"))
    failed = len(names) != COUNT
    if failed:
        print(f"{len(names)} models, not {COUNT}")
    names = [name for name in names if re.search(options.only, name)]
    for numerics in ("litert", "tflm"):
        equal = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            for name, fault in zip(names, pool.map(one, names, [numerics] * len(names))):
                equal += fault is None
                known = numerics == "tflm" and name in NOT_TFLM
                failed |= (fault is None) == known  # a difference that is gone must leave the list
                if fault is None and known:
                    print(f"{name}: equal with {numerics}, and said not to be")
                elif fault and not known:
                    print(f"{name}, {numerics}: {fault}")
        print(f"{numerics}: {equal} of {len(names)} models equal")
    sys.exit(failed)


main()
