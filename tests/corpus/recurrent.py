# ctest: name=corpus.recurrent, labels=corpus, timeout=900
"""Recurrent models of the corpus, several runs one after the other on one state: evaluator and emitted C equal TFLM with
--numerics tflm, and LiteRT's reference resolver with --numerics litert; integers bit for bit, floats within 1e-5.

Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np

import support

STEPS = 6
# model: the runtimes that take it
MODELS = {"real/tflm/dtln_lstm_int8": "tflm litert", "real/tflm/micro_speech_lstm_int8": "tflm litert",
          "real/tflm/mnist_lstm_int8": "tflm litert", "real/tflm/keyword_scrambled_svdf16x8": "tflm litert",
          "real/coral/keras_lstm_mnist_int8": "tflm litert", "ops/litert/custom_lstm": "litert", "ops/litert/lstm": "litert",
          "ops/litert/quant_lstm_calibrated": "litert", "ops/litert/quant_unidirectional_sequence_lstm_quantized": "litert"}


def inputs_for(details):
    rng = np.random.default_rng(5)

    def one(d):
        if np.issubdtype(d["dtype"], np.integer):
            info = np.iinfo(d["dtype"])
            return rng.integers(info.min, info.max, d["shape"], endpoint=True).astype(d["dtype"])
        return rng.uniform(-1, 1, d["shape"]).astype(d["dtype"])

    return [[one(d) for d in details] for _ in range(STEPS)]


def run_litert(path):
    """The inputs of each run, and its outputs."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    it = Interpreter(model_path=str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    it.allocate_tensors()
    details, out = it.get_input_details(), []
    steps = inputs_for(details)
    for step in steps:
        for d, v in zip(details, step):
            it.set_tensor(d["index"], v)
        it.invoke()
        out.append([it.get_tensor(d["index"]) for d in it.get_output_details()])
    return steps, out


def run_tflm(path, steps, outputs):
    import tflite_micro
    it = tflite_micro.runtime.Interpreter.from_file(str(path), arena_size=16 << 20)
    out = []
    for step in steps:
        for k, v in enumerate(step):
            it.set_input(v, k)
        it.invoke()
        out.append([np.array(it.get_output(k)) for k in range(outputs)])
    return out


def run_burin(path, steps, outputs, runtime, provider, folder):
    files = []
    for k in range(len(steps[0])):
        np.save(f"{folder}/in{k}.npy", np.stack([s[k] for s in steps]))
        files += ["--input", f"{folder}/in{k}.npy"]
    support.burin("run", path, *files, "--repeat", STEPS, "--numerics", runtime, "--provider", provider, "--output-dir", f"{folder}/{provider}")
    return [np.load(f"{folder}/{provider}/output_{k}.npy") for k in range(outputs)]


bad = compared = 0
for name, runtimes in MODELS.items():
    path = support.shared(f"corpus/tflite/{name}.tflite")
    steps, wanted = run_litert(path)
    outputs = len(wanted[0])
    for runtime in runtimes.split():
        want = wanted if runtime == "litert" else run_tflm(path, steps, outputs)
        with tempfile.TemporaryDirectory() as folder:
            for provider in ("reference", "host"):
                for k, got in enumerate(run_burin(path, steps, outputs, runtime, provider, folder)):
                    w = np.stack([s[k] for s in want]).reshape(got.shape)
                    close = got == w if got.dtype.kind in "iub" else np.isclose(got, w, rtol=1e-5, atol=1e-5)
                    compared += close.size
                    if not close.all():
                        bad += 1
                        print(f"{name}, {runtime}, {provider}: output {k}: {int((~close).sum())} of {close.size} differ, first in run "
                              f"{int(np.argwhere(~close)[0][0])}, by at most {np.abs(got.astype(float) - w).max()}")
print(f"{len(MODELS)} models, {compared} elements, {bad} outputs differ")
sys.exit(bad != 0 or compared < 6000)
