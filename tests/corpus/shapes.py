#!/usr/bin/env python3
# ctest: name=corpus.shapes, labels=corpus, timeout=1800
"""Models whose extents the caller gives: evaluator and emitted C equal LiteRT's reference resolver after resize_tensor_input.

  shapes.py [--only PATTERN]

Integers bit for bit, floats by the bound. What one does not take for these extents (a RESHAPE to constant ones), neither may. Where only the batch grows, N inputs in one call also give what N single calls give.
Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import shutil
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np

import emitted
import support

ROOT = support.shared("corpus/tflite")
SEED = 12345
NAMES = {"float32": "FLOAT32", "int8": "INT8", "uint8": "UINT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "bool": "BOOL"}
# model: what is asked for; a number is a batch, for all inputs; a list is the shape of each input
CASES = {
    "real/mlperf_tiny/kws_int8": [1, 3, 8],
    "real/mlperf_tiny/vww96_int8": [2],
    "real/mlperf_tiny/ic_resnet8_int8": [3],
    "real/mlperf_tiny/ic_resnet8_float": [2],
    "real/mlperf_tiny/ad_toycar_int8_intio": [2, 7],
    "real/mlperf_tiny/kws_dynrange_float": [2],
    "real/coral/mobilenet_v1_025_128_uint8_2019": [2],
    "real/coral/mobilenet_v2_224_uint8": [2],
    "real/tinymaix/mbnet96_0.25_q": [3],
    "real/tinymaix/mnist_nnom_q": [4],
    "real/tinymaix/cifar10_f": [2],
    "real/tinymaix/vww96_q": [2],
    "real/mlonmcu/micro_kws_m_quantized": [3],
    "real/mlonmcu/qnn_model": [2],
    "real/tflm/hello_world_float": [10],
    "real/tflm/hello_world_int8": [10],
    "real/openwakeword_npm/melspectrogram_float": [[[1, 1280]], [[1, 1760]], [[2, 640]]],
    "real/openwakeword_npm/speech_embedding_float": [2],
    "real/tflite_support/dilated_conv_dynamic_old": [[[1, 17, 19, 3]], [[2, 32, 9, 3]]],
    "real/litert/classifier": [3],
    "ops/litert/simple_add_dynamic_shape": [3, [[2, 128, 4], [2, 128, 4]], [[1, 128, 4], [5, 128, 4]]],
    "ops/litert/quant_fc_qat": [4],
    "ops/litert/single_mul_default_a16w8_recipe_quantized": [3],
    "ops/litert/sub": [6],
}
COUPLED = ["real/litert/classifier"]  # takes the largest over the batch: N inputs are not N single ones
# these must be taken; the others where Burin has their operators
REQUIRED = ["real/mlperf_tiny/kws_int8", "real/mlperf_tiny/vww96_int8", "real/mlperf_tiny/ic_resnet8_int8", "real/mlperf_tiny/ic_resnet8_float",
            "real/mlperf_tiny/ad_toycar_int8_intio", "real/coral/mobilenet_v1_025_128_uint8_2019", "real/coral/mobilenet_v2_224_uint8",
            "real/tinymaix/mbnet96_0.25_q", "real/tinymaix/mnist_nnom_q", "real/mlonmcu/micro_kws_m_quantized", "real/tflm/hello_world_int8",
            "real/openwakeword_npm/melspectrogram_float", "real/openwakeword_npm/speech_embedding_float", "ops/litert/simple_add_dynamic_shape"]


def litert(model, wanted, pipe):
    """In a process of its own: sends (inputs as [(type, bytes)], outputs as [(type, shape, bytes)]), or why not."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        it = Interpreter(model_content=model.read_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
        for k, d in enumerate(it.get_input_details()):
            shape = [wanted, *d["shape"][1:]] if isinstance(wanted, int) else wanted[k]
            it.resize_tensor_input(d["index"], [int(n) for n in shape])
        it.allocate_tensors()
        inputs, state = [], SEED
        for d in it.get_input_details():
            kind = np.dtype(d["dtype"])
            raw, state = emitted.made(NAMES[kind.name], int(np.prod(d["shape"])), state)
            it.set_tensor(d["index"], np.frombuffer(raw, kind).reshape(d["shape"]))
            inputs.append((NAMES[kind.name], raw))
        it.invoke()
        outputs = [it.get_tensor(d["index"]) for d in it.get_output_details()]
        pipe.send((inputs, [(NAMES[v.dtype.name], list(v.shape), v.tobytes()) for v in outputs]))
    except Exception as e:  # every kind of refusal
        pipe.send(" ".join(str(e).split())[:160] or type(e).__name__)


def from_litert(model, wanted):
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(False)
    process = context.Process(target=litert, args=(model, wanted, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(300) else "no answer in 300 s"
    except EOFError:
        return "it died"
    finally:
        process.kill()
        process.join()


def evaluate(model, inputs, options, work):
    """-> ([bytes of each output], None) or (None, why not)"""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    files = []
    for k, raw in enumerate(inputs):
        (work / f"in{k}.bin").write_bytes(raw)
        files += ["--input", work / f"in{k}.bin"]
    done = emitted.subprocess.run([os.environ["BURIN"], "run", model, "--numerics", "litert", *files, "--output-dir", work / "out",
                                   "--output-format", "raw", "--quiet", *options], capture_output=True, text=True)
    if done.returncode:
        return None, emitted.refusal(done)
    return [(work / "out" / f"output_{k}.bin").read_bytes() for k in range(len(list((work / "out").iterdir())))], None


def compare(outputs, got):
    if len(got) != len(outputs):
        return f"{len(got)} outputs, not {len(outputs)}"
    for k, (kind, _, want) in enumerate(outputs):
        fault = emitted.differs(kind, got[k], want)
        if fault:
            return f"output {k}: {fault}"
    return None


def split(outputs, out):
    got, at = [], 0
    for _, _, want in outputs:
        got.append(out[at : at + len(want)])
        at += len(want)
    return got if at == len(out) else []


def stacked(model, n, inputs, outputs, work):
    """N single calls give what one call of N gives."""
    parts = []
    for i in range(n):
        one = [raw[len(raw) // n * i : len(raw) // n * (i + 1)] for _, raw in inputs]
        got, fault = evaluate(model, one, ["--batch", "1"], work)
        if fault:
            return fault
        parts.append(got)
    return compare(outputs, [b"".join(p[k] for p in parts) for k in range(len(outputs))])


def one(item):
    """-> (name, verdict, why)"""
    name, wanted = item
    model, label = ROOT / f"{name}.tflite", f"{name} {wanted}"
    options = ["--batch", str(wanted)] if isinstance(wanted, int) else [
        word for k, shape in enumerate(wanted) for word in ("--shape", f"{k}={'x'.join(map(str, shape))}")]
    work = pathlib.Path(tempfile.mkdtemp(prefix="shapes-"))
    try:
        answer = from_litert(model, wanted)
        done = emitted.emit(model, work / "m", "--numerics", "litert", "--device", "host", *options)
        if isinstance(answer, str):
            return label, "neither" if done.returncode == 1 else "theirs", f"{answer}; here: {emitted.refusal(done)}"
        if done.returncode:
            return label, "refused" if done.returncode == 1 else "wrong", emitted.refusal(done)
        inputs, outputs = answer
        program, fault = emitted.build(work / "m", ["gcc", *emitted.STRICT, "-O2"])
        if fault:
            return label, "wrong", fault
        out, fault = emitted.run(program, b"".join(raw for _, raw in inputs))
        fault = fault or compare(outputs, split(outputs, out))
        if fault:
            return label, "wrong", f"emitted C: {fault}"
        got, fault = evaluate(model, [raw for _, raw in inputs], options, work / "e")
        fault = fault or compare(outputs, got)
        if fault:
            return label, "wrong", f"evaluator: {fault}"
        independent = isinstance(wanted, int) and name not in COUPLED
        fault = stacked(model, wanted, inputs, outputs, work / "e") if independent else None
        return (label, "wrong", f"single calls: {fault}") if fault else (label, "equal", "")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    items = [(name, wanted) for name, list in CASES.items() if re.search(options.only, name) for wanted in list]
    counts, failed = {}, False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for (name, _), (label, verdict, why) in zip(items, pool.map(one, items)):
            counts[verdict] = counts.get(verdict, 0) + 1
            failed |= verdict == "wrong" or verdict not in ("equal", "neither") and name in REQUIRED
            if verdict != "equal":
                print(f"{verdict:8} {label}: {why}", flush=True)
    print(f"{counts.get('equal', 0)} equal, {counts.get('wrong', 0)} wrong, {counts.get('neither', 0)} that neither takes, "
          f"{counts.get('theirs', 0)} that only LiteRT does not run, "
          f"{counts.get('refused', 0)} refused")
    sys.exit(1 if failed or not counts.get("equal") else 0)


if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["ai_edge_litert.interpreter"])
    main()
