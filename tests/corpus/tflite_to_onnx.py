#!/usr/bin/env python3
# ctest: name=corpus.tflite_to_onnx, labels=corpus, timeout=1200
"""Real float models of TFLite as ONNX files: ONNX Runtime computes what LiteRT's reference kernels do, and no transpose is left between operators.

  tflite_to_onnx.py [--only PATTERN]

Each model is read, said in ONNX's operators and run on the inputs of one seed. Run by the oracles' Python.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import support

ROOT = support.shared("corpus/tflite/real")
MODELS = ["tflm/hello_world_float", "mlperf_tiny/ic_resnet8_float", "openwakeword_npm/speech_embedding_float",
          "tflite_support/mobilenet_v1_025_224_float", "tinymaix/mnist_valid_f", "tinymaix/cifar10_f", "mlonmcu/sine_model", "mlonmcu/umatest"]


def litert(path, seed):
    it = Interpreter(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    it.allocate_tensors()
    random = np.random.default_rng(seed)
    given = []
    for d in it.get_input_details():
        given.append((random.random(d["shape"]) * 2 - 1).astype(d["dtype"]))
        it.set_tensor(d["index"], given[-1])
    it.invoke()
    return given, [it.get_tensor(d["index"]) for d in it.get_output_details()]


def fault_of(path, to):
    done = subprocess.run([os.environ["BURIN"], "compile", path, "-o", to, "--force"], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip().splitlines()[0]
    between = re.search(r"layout +\d+ transposes, (\d+) of them between", done.stdout)
    if not between or between[1] != "0":
        return between[0] if between else done.stdout
    given, want = litert(path, 7)
    session = onnxruntime.InferenceSession(str(to), providers=["CPUExecutionProvider"])
    got = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), given)})
    for g, w in zip(got, want):
        if g.shape != w.shape or not np.allclose(g, w, rtol=1e-3, atol=1e-5 * max(1, np.abs(w).max())):
            return f"differs: {g.ravel()[:4]}, expected {w.ravel()[:4]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in MODELS:
            if re.search(options.only, name):
                said = fault_of(ROOT / f"{name}.tflite", pathlib.Path(folder) / "m.onnx")
                print(f"{'equal' if not said else 'fault'}  {name}  {said}")
                faults += bool(said)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
