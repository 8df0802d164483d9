#!/usr/bin/env python3
# ctest: name=corpus.control, labels=corpus, timeout=1800
"""Models with control flow, variables, recurrent state or several signatures equal LiteRT's reference resolver, run after run.

  control.py [--only PATTERN]

Each model of ctrlflow_multisubgraph by each of its signatures and by its first sub-graph, and TFLM's recurrent ones: runs on one
state, inputs by the generator, with the evaluator and with the emitted C; integers bit for bit, floats within 1e-5 of the largest
value and 1e-4 of each. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import support

RUNS = 6
ROOT = support.shared("corpus/tflite")
RECURRENT = ["dtln_lstm_int8", "keyword_scrambled_svdf16x8", "micro_speech_lstm_int8", "mnist_lstm_int8"]
# neither runs them: operators of TensorFlow itself
REFUSED = {"tfls_id_detector_19_subgraphs": 'custom operator "FlexEqual" is not supported'}


def made(shape, dtype, runs, state):
    """The documented generator, one number an element, but integers are numbers from 0 to 9: they may be indices."""
    n = runs * int(np.prod(shape, dtype=np.int64))
    numbers = np.empty(n)
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        numbers[i] = (state >> 8) / 2**24
    if dtype.kind == "f":
        values = 2 * numbers - 1
    elif dtype.kind == "b":
        values = numbers >= 0.5
    elif dtype.itemsize == 1:
        values = np.floor(256 * numbers).astype(np.uint8).view(dtype)
    elif dtype.itemsize == 2:
        values = 65536 * numbers - 32768
    else:
        values = np.floor(10 * numbers)
    return np.asarray(values).reshape(runs, *shape).astype(dtype), state


def litert(model, signature):
    """({name or number: inputs of all runs}, {name or number: outputs of all runs})."""
    it = Interpreter(model_content=model.read_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    if signature is None:
        it.allocate_tensors()
        details, gives = dict(enumerate(it.get_input_details())), dict(enumerate(it.get_output_details()))
    else:
        runner = it.get_signature_runner(signature)
        details, gives = runner.get_input_details(), runner.get_output_details()
    state, inputs, outputs = 12345, {}, {name: [] for name in gives}
    for name, d in details.items():
        inputs[name], state = made(list(d["shape"]), np.dtype(d["dtype"]), RUNS, state)
    for r in range(RUNS):
        if signature is None:
            for name, d in details.items():
                it.set_tensor(d["index"], inputs[name][r])
            it.invoke()
            said = {name: it.get_tensor(d["index"]) for name, d in gives.items()}
        else:
            said = runner(**{name: inputs[name][r] for name in details})
        for name in gives:
            outputs[name].append(np.array(said[name]))
    return inputs, {name: np.stack(list_) for name, list_ in outputs.items()}


def same(got, want):
    if want.dtype.kind != "f":
        return np.array_equal(got, want)
    top = np.abs(want[np.isfinite(want)]).max(initial=0)
    near = np.abs(got.astype(np.float64) - want) <= 1e-5 * top + 1e-4 * np.abs(want)
    return bool(np.all(near | (got == want) | (np.isnan(got) & np.isnan(want))))


def check(model, signature, folder):
    inputs, want = litert(model, signature)
    words = ["--repeat", str(RUNS), "--numerics", "litert", "--json", "--output-dir", str(folder), "--output-format", "raw", "--force"]
    words += ["--signature", signature] if signature else []
    for name, values in inputs.items():
        path = folder / f"in_{len(words)}"
        path.write_bytes(values.tobytes())
        words += ["--input", f"{name}={path}" if signature else str(path)]
    faults = []
    for provider in ("reference", "host"):
        done = subprocess.run([os.environ["BURIN"], "run", model, *words, "--provider", provider], capture_output=True, text=True, timeout=600)
        if done.returncode:
            return [f"{provider}: exit {done.returncode}: {done.stderr.strip()[:300]}"]
        names = [o["name"] for o in json.loads(done.stdout)["outputs"] if o["run"] == 0]
        for k, name in enumerate(names):
            expected = want[name if signature else k]
            got = np.frombuffer((folder / f"output_{k}.bin").read_bytes(), expected.dtype)
            if got.size != expected.size or not same(got, expected.reshape(-1)):
                faults.append(f"{provider}: output {name} differs")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    only = re.compile(parser.parse_args().only)
    models = sorted((ROOT / "ctrlflow_multisubgraph").glob("*.tflite")) + [ROOT / "real/tflm" / f"{name}.tflite" for name in RECURRENT]
    failed = compared = refused = 0
    for model in models:
        if not only.search(str(model)):
            continue
        if model.stem in REFUSED:
            done = subprocess.run([os.environ["BURIN"], "plan", model], capture_output=True, text=True)
            assert done.returncode == 1 and REFUSED[model.stem] in done.stderr, done
            refused += 1
            continue
        signatures = Interpreter(model_content=model.read_bytes()).get_signature_list()
        for signature in [None, *signatures]:
            with tempfile.TemporaryDirectory() as folder:
                faults = check(model, signature, pathlib.Path(folder))
            for fault in faults:
                print(f"{model.name} {signature or ''}: {fault}")
            failed += bool(faults)
            compared += 1
    print(f"{compared} ways to call {len(models)} models compared over {RUNS} runs each, {failed} differ; {refused} refused by name")
    assert compared and not failed


main()
