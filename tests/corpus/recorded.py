# ctest: name=corpus.recorded, labels=corpus, timeout=900
"""The models of vectors_mlonmcu give what was recorded with them, by the evaluator and the emitted C: bit for bit where reference kernels
were recorded, within some steps or 2e-5 where optimised ones were. Quantised outputs, and some inputs, were recorded as real numbers.

  recorded.py [--only PATTERN]
"""
import argparse
import array
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import support

ROOT = support.shared("corpus/tflite/vectors_mlonmcu")
ADD2 = "op Add2\nattr T:int = 0\nin A:f32[I..] B:f32[I..]\n-> Y:f32\nY[o..<I..] = A[o..] + B[o..]\n"
EXACT = {"micro_speech", "micro_speech_custom_lr", "micro_speech_custom_ud", "model_with_add", "model_with_add2", "model_with_multiple_outputs",
         "model_with_multiple_scratch_buffers", "person_detect"}
STEPS = {"resnet": 32, "vww": 3}  # of the quantised outputs of others; of floats one, of
FLOATS = 2e-5  # times the largest
ROUNDING = 1e-6  # of steps: scales are floats
ANOTHER = {("model_with_multiple_outputs", 1)}  # recorded of a model with 4 inputs: LiteRT gives other numbers too
PIXELS = {"resnet"}  # its inputs were recorded before 128 was taken off
# The runtime that recorded these had not resized the outputs of TFLite_Detection_PostProcess: each has one element, or the 10 that the file says,
# and the first two were written over by those behind them, or hold boxes of equal scores in another order, which is not said.
DETECTIONS = {"model_with_detection_postprocess", "model_with_detection_postprocess_static", "ssd"}
TYPES = {"f32": "f", "i8": "b", "u8": "B"}


def cases(model):
    """[(files of the inputs, of the outputs)], in order"""
    found = {}
    for what in ("input", "output"):
        for p in sorted(model.parent.glob(f"{what}*/*.bin")):
            m = re.fullmatch(r"(\d+)(_\d+)?", p.stem)
            if not (model.stem in DETECTIONS and what == "output" and not m[2]):
                found.setdefault(int(m[1]), {"input": [], "output": []})[what].append(p)
    return [(c["input"], c["output"]) for number, c in sorted(found.items()) if (model.stem, number) not in ANOTHER]


def elements(tensor):
    n = 1
    for extent in tensor["shape"]:
        n *= extent
    return n


def fit(name, path, tensor):
    """The bytes of an input: quantised, if the file has real numbers."""
    data, kind = path.read_bytes(), TYPES[tensor["type"]]
    n = elements(tensor)
    if name in PIXELS:
        return bytes(v ^ 128 for v in data)
    if kind == "f" or len(data) == n:
        return data
    low, high = (-128, 127) if kind == "b" else (0, 255)
    scale, zero = tensor["scale"][0], tensor["zero_point"][0]
    return array.array(kind, [min(max(round(v / scale) + zero, low), high) for v in array.array("f", data)]).tobytes()


def differs(name, k, path, got, tensor):
    """None, or how far what was recorded is from the bytes that were computed."""
    want, kind, n = array.array("f", path.read_bytes()), TYPES[tensor["type"]], elements(tensor)
    if kind != "f" and path.stat().st_size == n:
        want = array.array(kind, path.read_bytes())
    got = array.array(kind, got)
    if kind != "f" and want.typecode == "f":
        got = [(v - tensor["zero_point"][0]) * tensor["scale"][0] for v in got]
    if name in DETECTIONS:
        n = min(len(want), len(got)) if k > 1 else 0
        want, got = want[:n], got[:n]
    if len(want) != len(got):
        return f"{len(want)} numbers, not {len(got)}"
    step = tensor["scale"][0] if kind != "f" else FLOATS * max([1, *map(abs, want)])
    most = 0 if name in EXACT else STEPS.get(name, 1)
    worst = max([abs(a - b) for a, b in zip(want, got)], default=0) / step
    return None if worst <= most + ROUNDING else f"{worst:g} steps of {step:g} apart"


def one(model, work):
    """(cases, [what is wrong])"""
    name, faults, words = model.stem, [], []
    if name == "model_with_add2":
        pathlib.Path(work, "add2.op").write_text(ADD2)
        words = ["--ops", work / "add2.op"]
    about = json.loads(support.burin("inspect", model, *words, "--json").stdout)
    ports = {what: [about["tensors"][k] for k in about[what]] for what in ("inputs", "outputs")}
    runs = cases(model)
    for number, (inputs, outputs) in enumerate(runs):
        given = []
        for k, tensor in enumerate(ports["inputs"]):
            pathlib.Path(work, f"in{k}").write_bytes(fit(name, inputs[k], tensor))
            given += ["--input", work / f"in{k}"]
        for provider in ("reference", "host"):
            out = work / f"{number}_{provider}"
            support.burin("run", model, *words, *given, "--provider", provider, "--output-dir", out, "--output-format", "raw", "--quiet")
            for k, tensor in enumerate(ports["outputs"]):
                fault = differs(name, k, outputs[k], (out / f"output_{k}.bin").read_bytes(), tensor)
                faults += [f"{provider}, case {number}, output {k}: {fault}"] if fault else []
    return len(runs), faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    models = [m for m in sorted(ROOT.glob("*/*.tflite")) if re.search(options.only, m.stem)]
    count, failed = 0, False
    for model in models:
        with tempfile.TemporaryDirectory() as work:
            n, faults = one(model, pathlib.Path(work))
        failed |= bool(faults) or n == 0
        count += n
        for fault in faults:
            print(f"wrong {model.stem}: {fault}", flush=True)
    print(f"{len(models)} models, {count} recorded runs")
    sys.exit(failed or len(models) < (1 if options.only else 16))


main()
