#!/usr/bin/env python3
# ctest: name=corpus.roundtrip, labels=corpus, timeout=1800
"""Every TFLite model that Burin reads is written, read again as the same graph, and computes the same in other runtimes.

  roundtrip.py [--only PATTERN] [--all] [--verbose]

Each model is written without passes and at the default level; what was written is read and written once more, which gives the
same bytes. TFLM runs the original and both files on the same inputs, some steps in a row, bit for bit; where it lacks an operator,
LiteRT's reference resolver does, and every signature of models that have several. Where the original runs, so must what was written; where it does not, Burin may refuse to write it. Every third model unless --all or --only says so;
those with states, several sub-graphs or recurrent operators always. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import concurrent.futures
import functools
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np

import emitted
import support

ROOT = support.shared("corpus/tflite")
STEPS, SEED, LIMIT = 3, 12345, 60
ARENA = 64 << 20
FOLDERS = ["real", "ops", "layers_mlperf", "ctrlflow_multisubgraph", "custom_or_string", "vectors_mlonmcu", "vectors_seanet16x8"]
ALWAYS = re.compile(r"ctrlflow|lstm|rnn|svdf|speech|stream|variable|kws|wake|state", re.IGNORECASE)
MANY = re.compile("ctrlflow_multisubgraph")  # where models have several signatures
# a tensor between two operators is float32 in the file and int8 in fact: TFLM computes with the wrong bytes, LiteRT and what is written do not
NOT_TFLM = {"ops/litert/add_quantized_int8"}
# must be read, written and equal
REQUIRED = ["real/mlperf_tiny/kws_int8", "real/mlperf_tiny/vww96_int8", "real/mlperf_tiny/ic_resnet8_int8",
            "real/mlperf_tiny/ad_toycar_int8_intio", "real/coral/mobilenet_v2_224_uint8", "real/tflm/mobilenet_v2_nchw_int8",
            "real/litert/frontend_sl_v1",
            # a scale for each column, of which LiteRT makes zeros: it is to make the same of what is written
            "ops/litert/static_w8_a16_quantized_q_einsum"]


@functools.lru_cache(None)
def fill(kind, n, state):
    """n elements of a numpy type, by the corpus's rule, and the generator's next state."""
    name = kind.upper()
    raw, after = emitted.made(name if name in emitted.TYPES else "FLOAT32", n, state)
    return (np.frombuffer(raw, kind) if name in emitted.TYPES else np.frombuffer(raw, "float32").astype(kind)), after


def tflm(model):
    """-> outputs of each step, as bytes"""
    import tflite_micro
    from tflite_micro.python.tflite_micro.runtime import convert_bytearray_to_object
    graph = convert_bytearray_to_object(bytearray(model)).subgraphs[0]
    it = tflite_micro.runtime.Interpreter.from_bytes(model, arena_size=ARENA)
    state, steps = SEED, []
    for _ in range(STEPS):
        for k in range(len(graph.inputs)):
            d = it.get_input_details(k)
            kind, shape = np.dtype(d["dtype"]), tuple(int(x) for x in d["shape"])
            values, state = fill(kind.name, int(np.prod(shape)), state)
            it.set_input(values.reshape(shape), k)
        it.invoke()
        steps.append([it.get_output(k).tobytes() for k in range(len(graph.outputs))])
    return steps


def litert(model):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    it = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    it.allocate_tensors()
    state, steps = SEED, []
    for _ in range(STEPS):
        for d in it.get_input_details():
            kind = np.dtype(d["dtype"])
            values, state = fill(kind.name, int(np.prod(d["shape"])), state)
            it.set_tensor(d["index"], values.reshape(d["shape"]))
        it.invoke()
        steps.append([it.get_tensor(d["index"]).tobytes() for d in it.get_output_details()])
    return steps


def signatures(model):
    """-> [(name, what it takes and gives, outputs as bytes)]"""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    it = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1)
    found = []
    for key, names in sorted((it.get_signature_list() or {}).items()):
        runner, state, given = it.get_signature_runner(key), SEED, {}
        for name, d in sorted(runner.get_input_details().items()):
            values, state = fill(np.dtype(d["dtype"]).name, int(np.prod(d["shape"])), state)
            given[name] = values.reshape(d["shape"])
        found.append((key, names, [(name, v.tobytes()) for name, v in sorted(runner(**given).items())]))
    return found


def run(engine, files, pipe):
    """In a process of its own, since some files kill it: sends the outputs of each file, or why not; the original is first."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for file in files:
        try:
            pipe.send({"tflm": tflm, "litert": litert, "signatures": signatures}[engine](file.read_bytes()))
        except Exception as e:  # every kind of refusal
            pipe.send(" ".join(str(e).split())[:160] or type(e).__name__)


def outputs(engine, files):
    context = multiprocessing.get_context("forkserver")
    ours, theirs = context.Pipe(False)
    process = context.Process(target=run, args=(engine, files, theirs))
    process.start()
    theirs.close()
    results = []
    try:
        for _ in files:
            results.append(ours.recv() if ours.poll(LIMIT) else "it takes too long")
    except EOFError:
        results.append("it died")
    process.kill()
    process.join()
    return results + ["not tried"] * (len(files) - len(results))


def burin(*arguments):
    return subprocess.run(["timeout", str(2 * LIMIT), os.environ["BURIN"], *map(str, arguments)], capture_output=True, text=True)


def write(model, work):
    """-> files, fault, is it refused when it is read"""
    files = []
    for level in "01":
        file, again = work / f"o{level}.tflite", work / f"again{level}.tflite"
        done = burin("compile", model, "-O", level, "-o", file, "--check-cases", "1")
        if done.returncode == 1 and not files:
            return None, emitted.refusal(done), not re.search("TFLite (cannot|has|knows)", done.stderr)  # so the writer refuses
        if done.returncode:
            return None, f"level {level}: exit {done.returncode}: {emitted.refusal(done)}", False
        if "same graph" not in done.stdout:
            return None, f"level {level}: it is read again as another graph", False
        done = burin("compile", file, "-O", "0", "-o", again, "--no-check")
        if done.returncode or file.read_bytes() != again.read_bytes():
            return None, f"level {level}: written again it is another file {emitted.refusal(done) if done.returncode else ''}", False
        files.append(file)
    return files, None, False


def one(name):
    """-> (name, verdict, why)"""
    model = ROOT / f"{name}.tflite"
    work = pathlib.Path(tempfile.mkdtemp(prefix="roundtrip-"))
    try:
        files, fault, is_refused = write(model, work)
        if is_refused:
            return name, "refused", fault
        if fault and "TFLite cannot say" in fault and all(isinstance(outputs(engine, [model])[0], str) for engine in ("tflm", "litert")):
            return name, "nobody", fault
        if fault:
            return name, "wrong", fault
        whys = []
        if MANY.search(name):
            original, *ours = outputs("signatures", [model, *files])
            if not isinstance(original, str) and (got := next((x for x in ours if x != original), None)) is not None:
                return name, "wrong", f"signatures: {got if isinstance(got, str) else 'others, or other outputs'}"
        for engine in ("litert",) if name in NOT_TFLM else ("tflm", "litert"):
            original, *ours = outputs(engine, [model, *files])
            if isinstance(original, str):
                whys.append(f"{engine}: {original}")
                continue
            for level, got in enumerate(ours):
                if got != original:
                    return name, "wrong", f"{engine}, level {level}: {got if isinstance(got, str) else 'other outputs'}"
            return name, engine, ""
        return name, "nobody", "; ".join(whys)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    names = sorted(str(p.relative_to(ROOT).with_suffix("")) for folder in FOLDERS for p in (ROOT / folder).rglob("*.tflite"))
    if options.only:
        names = [n for n in names if re.search(options.only, n)]
    elif not options.all:
        names = [n for i, n in enumerate(names) if i % 3 == 0 or n in REQUIRED or ALWAYS.search(n)]
    counts, failed = {}, False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, verdict, why in pool.map(one, names):
            counts[verdict] = counts.get(verdict, 0) + 1
            bad = verdict == "wrong" or name in REQUIRED and verdict not in ("tflm", "litert")
            failed |= bad
            if bad or options.verbose or verdict == "nobody":
                print(f"{verdict:8} {name}: {why}", flush=True)
    print(f"{len(names)} models: {counts.get('tflm', 0)} equal in TFLM, {counts.get('litert', 0)} in LiteRT, {counts.get('wrong', 0)} wrong, "
          f"{counts.get('nobody', 0)} that neither runs, {counts.get('refused', 0)} that are not read")
    sys.exit(1 if failed or not counts.get("tflm") else 0)


if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["ai_edge_litert.interpreter", "tflite_micro"])
    main()
