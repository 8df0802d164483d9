#!/usr/bin/env python3
# ctest: name=corpus.litert, labels=corpus, timeout=2400
"""With --numerics litert, the evaluator and the emitted C equal LiteRT's reference resolver: integers bit for bit, floats by the bound.

  litert.py [--only PATTERN] [--everything]

Every golden model that both take, and the MobileNets, uint8 ones among them, on the inputs of three seeds. --everything: all models
of the corpus. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

import emitted
import support

SEEDS = [12345, 7, 2026]
ROOT = support.shared("corpus/tflite")
# must be taken by both and be equal; the rest of the goldens where LiteRT loads them and Burin has their operators
REQUIRED = ["real/mlperf_tiny/kws_int8", "real/mlperf_tiny/vww96_int8", "real/mlperf_tiny/ic_resnet8_int8", "real/mlperf_tiny/ad_toycar_int8_intio",
            "real/coral/mobilenet_v1_025_128_uint8_2019", "real/coral/mobilenet_v2_224_uint8",
            "real/tflite_support/mobilenet_v1_025_224_uint8_metadata", "real/coral/tf2_mobilenet_v2_224_int8",
            "real/tflm/mobilenet_v2_nchw_int8", "real/tflite_support/mobilenet_v1_025_224_float",
            # hybrid, and half-float weights
            "real/mlperf_tiny/kws_dynrange_float", "real/mlperf_tiny/ad_toycar_dynrange", "real/mlonmcu/model_data_pruned", "real/mlonmcu/test_model3_alex",
            "real/mlonmcu/CNN_2L_model_quantized", "real/litert/classifier", "real/mediapipe_npm/pose_landmark_lite_f16",
            # outputs whose shapes the file does not record, or as others than the operator gives
            "vectors_mlonmcu/model_with_detection_postprocess/model_with_detection_postprocess",
            "vectors_mlonmcu/model_with_detection_postprocess_static/model_with_detection_postprocess_static"]
# where the two differ, and why
KNOWN = {"real/litert/qwen_fc_blockwise_quantized": "LiteRT's reference kernel knows no blocks and gives zeros; its optimised one gives what Burin gives"}
KNOWN |= {f"ops/litert/static_w8_a16_quantized_{name}_einsum": "LiteRT's BATCH_MATMUL reads one scale: with a scale for each column all is zero"
          for name in ("attn_vec", "k", "q", "v")}
NAMES = {"float32": "FLOAT32", "int8": "INT8", "uint8": "UINT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "bool": "BOOL"}


def packed_as_whole(m):
    """Weights of 4 bits, two in a byte, the first the lower, as what they are: bytes."""
    for t in m.subgraphs[0].tensors:
        if t.quantization and t.quantization.detailsType == schema.QuantizationDetails.CustomQuantization:
            data = np.asarray(m.buffers[t.buffer].data, np.uint8)
            rows = np.stack([data & 15, data >> 4], -1).reshape(*t.shape[:-1], -1)[..., :t.shape[-1]]
            m.buffers[t.buffer].data = rows.reshape(-1)
            t.quantization.detailsType, t.quantization.details = 0, None


def finite_scales(m):
    """Scales that are infinite, or smaller than a float has whole, as 1: what the model gives does not depend on them."""
    for t in m.subgraphs[0].tensors:
        scales = t.quantization.scale if t.quantization else None
        if scales is not None:
            t.quantization.scale = np.where(np.isfinite(scales) & (scales > np.finfo(np.float32).tiny), scales, np.float32(1))


# Models that LiteRT does not load as they are, and what it runs in their place.
IN_PLACE = {"real/mlonmcu/sine_model_dummyquant_packed": packed_as_whole, "real/mlonmcu/catdog2": finite_scales}
REQUIRED += list(IN_PLACE)


def content_of(model):
    change = IN_PLACE.get(str(model.relative_to(ROOT).with_suffix("")))
    if not change:
        return model.read_bytes()
    m = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model.read_bytes(), 0))
    change(m)
    builder = flatbuffers.Builder(1024)
    builder.Finish(m.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def litert(model, pipe):
    """In a process of its own, since some files kill it: sends [(inputs, outputs as (type, bytes))] for each seed, or why not."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        runs = []
        for seed in SEEDS:
            it = Interpreter(model_content=content_of(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
            it.allocate_tensors()
            data, state = b"", seed
            for d in it.get_input_details():
                kind = np.dtype(d["dtype"])
                raw, state = emitted.made(NAMES[kind.name], int(np.prod(d["shape"])), state)
                it.set_tensor(d["index"], np.frombuffer(raw, kind).reshape(d["shape"]))
                data += raw
            it.invoke()
            runs.append((data, [(NAMES[v.dtype.name], v.tobytes()) for v in (it.get_tensor(d["index"]) for d in it.get_output_details())]))
        pipe.send(runs)
    except Exception as e:  # every kind of refusal
        pipe.send(" ".join(str(e).split())[:160] or type(e).__name__)


def from_litert(model):
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(False)
    process = context.Process(target=litert, args=(model, theirs))
    process.start()
    theirs.close()
    try:
        return ours.recv()
    except EOFError:
        return "it died"
    finally:
        process.join()


def compare(outputs, got):
    at = 0
    for k, (kind, want) in enumerate(outputs):
        fault = emitted.differs(kind, got[at : at + len(want)], want)
        if fault:
            return f"output {k}: {fault}"
        at += len(want)
    return None if at == len(got) else f"{len(got)} bytes, not {at}"


def one(name):
    """-> (name, verdict, why)"""
    model = ROOT / f"{name}.tflite"
    work = pathlib.Path(tempfile.mkdtemp(prefix="litert-"))
    try:
        done = emitted.emit(model, work / "m", "--numerics", "litert", "--device", "host")
        if done.returncode:
            return name, "refused" if done.returncode == 1 else "wrong", emitted.refusal(done)
        runs = from_litert(model)
        if isinstance(runs, str):
            return name, "theirs", runs
        program, fault = emitted.build(work / "m", ["gcc", *emitted.STRICT, "-O2"])
        if fault:
            return name, "wrong", fault
        for seed, (data, outputs) in zip(SEEDS, runs):
            out, fault = emitted.run(program, data)
            fault = fault or compare(outputs, out)
            if fault:
                return name, "wrong", f"emitted C, seed {seed}: {fault}"
            folder = work / str(seed)
            done = subprocess.run([os.environ["BURIN"], "run", model, "--numerics", "litert", "--seed", str(seed), "--output-dir", folder,
                                   "--output-format", "raw", "--quiet"], capture_output=True, text=True)
            fault = emitted.refusal(done) if done.returncode else compare(
                outputs, b"".join((folder / f"output_{k}.bin").read_bytes() for k in range(len(outputs))))
            if fault:
                return name, "wrong", f"evaluator, seed {seed}: {fault}"
        return name, "equal", ""
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--everything", action="store_true")
    options = parser.parse_args()
    golden = ROOT / "golden_tflm"
    names = {str(p.parent.relative_to(golden)) for p in golden.rglob("io.txt")} | set(REQUIRED)
    if options.everything:
        names |= {str(p.relative_to(ROOT).with_suffix("")) for p in ROOT.rglob("*.tflite") if "malformed" not in p.parts}
    names = [name for name in sorted(names) if re.search(options.only, name)]
    counts, failed = {}, False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, verdict, why in pool.map(one, names):
            if name in KNOWN:
                failed |= verdict != "wrong"  # a difference that is gone must leave the list
                why, verdict = f"{KNOWN[name]} ({verdict} {why})", "known"
            counts[verdict] = counts.get(verdict, 0) + 1
            failed |= verdict == "wrong" or verdict != "equal" and name in REQUIRED
            if verdict != "equal":
                print(f"{verdict:8} {name}: {why}", flush=True)
    print(f"{counts.get('equal', 0)} equal on {len(SEEDS)} seeds, {counts.get('wrong', 0)} wrong, {counts.get('known', 0)} known to differ, "
          f"{counts.get('theirs', 0)} LiteRT does not run, {counts.get('refused', 0)} refused")
    sys.exit(1 if failed or not counts.get("equal") else 0)


if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["ai_edge_litert.interpreter"])
    main()
