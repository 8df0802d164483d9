#!/usr/bin/env python3
# ctest: name=corpus.models, labels=corpus, timeout=3000
"""Networks that people run (tools/models of ../shared): emitted C and evaluator give the outputs recorded for them, at every step.

  models.py [--only PATTERN]

scripts/setup check-all fetches those that models.list names into .cache/models ($BURIN_MODELS: another folder); what is not there is
skipped aloud.
The emitted C makes all steps of a case on one instance; the evaluator makes the first. The stateful networks also make 100 steps
of made inputs as LiteRT's reference resolver does, bit for bit. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import json
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

TOOLS = support.shared("tools/models")
sys.path.insert(0, str(TOOLS))
import cases  # noqa: E402

FOLDER = pathlib.Path(os.environ.get("BURIN_MODELS", support.SOURCE / ".cache/models"))
MODELS = pathlib.Path(__file__).with_name("models.list").read_text().split()
STATEFUL = ["mww_alexa", "mww_hey_jarvis"]
STEPS = 100
# what may be refused: the operators are not there yet
OPEN = []
# all steps that stdin has inputs for, on one instance
DRIVER = emitted.DRIVER.replace("""    for (i = 0; i < P_INPUT_COUNT; i++) {
        if (P_input_info""", """    for (;;) {
    for (i = 0; i < P_INPUT_COUNT; i++) {
        int c = getchar();
        if (c == EOF) { return fflush(stdout) != 0; }
        ungetc(c, stdin);
        if (P_input_info""").replace("    (void)argc;", "    }\n    (void)argc;").replace("    return fflush(stdout) != 0;\n}\n", "}\n")


def per_step(case):
    """The inputs of each step, in the model's order."""
    feed = cases.inputs_of(case)
    timed = {s["name"] for s in case["inputs"] if s.get("per_step")}
    return [[v[t] if k in timed else v for k, v in feed.items()] for t in range(case.get("steps", 1))]


def build(model, inputs, work):
    """The emitted C for inputs of those shapes -> (program, its outputs as (name, type, shape), options, None), or why not."""
    options = [word for k, v in enumerate(inputs) for word in ("--shape", f"{k}={'x'.join(map(str, v.shape))}")]
    shutil.rmtree(work / "m", ignore_errors=True)
    done = emitted.emit(model, work / "m", "--numerics", "litert", "--device", "host", *options)
    if done.returncode:
        return None, None, options, emitted.refusal(done)
    text = (work / "m/driver.c").read_text()
    init = text[text.index("0xa5; }\n") + 8:text.index("    for (i = 0; i < P_INPUT_COUNT")].rstrip("\n")
    (work / "m/driver.c").write_text(DRIVER.replace("INIT", init))
    shown = subprocess.run([os.environ["BURIN"], "inspect", model, "--json", *options], capture_output=True, text=True, check=True)
    graph = json.loads(shown.stdout)
    outputs = [graph["tensors"][k] for k in graph["outputs"]]
    program, fault = emitted.build(work / "m", ["gcc", *emitted.STRICT, "-O2"])
    return program, [(t["name"], TYPES[t["type"]], t["shape"]) for t in outputs], options, fault


TYPES = {"f32": np.float32, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "bool": np.bool_}


def split(outputs, out, steps):
    """name -> all steps' values, time first if there are several."""
    found, at = {name: [] for name, _, _ in outputs}, 0
    for _ in range(steps):
        for name, kind, shape in outputs:
            n = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            found[name].append(np.frombuffer(out[at:at + n], kind).reshape(shape))
            at += n
    if at != len(out):
        return None
    return {k: np.stack(v) if steps > 1 else v[0] for k, v in found.items()}


def differences(case, got, first_only=False):
    for spec in case["outputs"]:
        if first_only and case.get("steps", 1) > 1:
            if "stride" in spec:
                continue
            want = np.load(os.path.join(cases.EXPECTED, spec["file"]))[0]
            value = got[spec["name"]]
            off = np.abs(want.astype(np.float64) - value)
            limit = spec["atol"] + spec["rtol"] * np.abs(want) if want.dtype.kind == "f" else spec.get("off", 0)
            fault = "" if (off <= limit).all() else f"off by {off.max():.3g}"
        else:
            fault = cases.compare(spec, got[spec["name"]])
        if fault:
            return f"output \"{spec['name']}\": {fault}"
    return None


def evaluate(model, inputs, outputs, options, work):
    shutil.rmtree(work / "e", ignore_errors=True)
    (work / "e").mkdir()
    files = []
    for k, v in enumerate(inputs):
        (work / "e" / f"{k}.bin").write_bytes(np.ascontiguousarray(v).tobytes())
        files += ["--input", work / "e" / f"{k}.bin"]
    done = subprocess.run([os.environ["BURIN"], "run", model, "--numerics", "litert", *files, *options, "--output-dir", work / "e/out",
                           "--output-format", "raw", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        return None, emitted.refusal(done)
    out = b"".join((work / "e/out" / f"output_{k}.bin").read_bytes() for k in range(len(outputs)))
    return split(outputs, out, 1), None


def run_case(model, case, work):
    steps = per_step(case)
    program, outputs, options, fault = build(model, steps[0], work)
    if fault:
        return ("refused" if program is None and outputs is None else "wrong"), fault
    out, fault = emitted.run(program, b"".join(np.ascontiguousarray(v).tobytes() for step in steps for v in step))
    got = None if fault else split(outputs, out, len(steps))
    fault = fault or (differences(case, got) if got else f"{len(out)} bytes")
    if fault:
        return "wrong", f"emitted C: {fault}"
    got, fault = evaluate(model, steps[0], outputs, options, work)
    fault = fault or differences(case, got, first_only=True)
    return ("wrong", f"evaluator: {fault}") if fault else ("right", "")


def made_steps(model, work):
    """100 steps of made inputs, against LiteRT's reference resolver."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    it = Interpreter(str(model), num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    it.allocate_tensors()
    names, state, data, want = {"float32": "FLOAT32", "int8": "INT8", "uint8": "UINT8", "int16": "INT16"}, 12345, b"", b""
    first = None
    for _ in range(STEPS):
        inputs = []
        for d in it.get_input_details():
            kind = np.dtype(d["dtype"])
            raw, state = emitted.made(names[kind.name], int(np.prod(d["shape"])), state)
            inputs.append(np.frombuffer(raw, kind).reshape(d["shape"]))
            it.set_tensor(d["index"], inputs[-1])
            data += raw
        first = first or inputs
        it.invoke()
        want += b"".join(it.get_tensor(d["index"]).tobytes() for d in it.get_output_details())
    program, _, _, fault = build(model, first, work)
    out, fault = (None, fault) if fault else emitted.run(program, data)
    if fault or out == want:
        return fault
    at = next(i for i, (a, b) in enumerate(zip(out, want)) if a != b)
    return f"byte {at} of {len(want)} is {out[at]}, not {want[at]}"


def one(ident):
    """-> [(label, verdict, why)]"""
    record = cases.load(ident)
    model, work, results = FOLDER / record["file"], pathlib.Path(tempfile.mkdtemp(prefix="models-")), []
    try:
        if not model.exists():
            return [(ident, "absent", "not fetched")]
        for case in record["cases"]:
            results.append((f"{ident} {case['name']}", *run_case(model, case, work)))
            if results[-1][1] == "refused":
                return results
        if ident in STATEFUL:
            fault = made_steps(model, work)
            results.append((f"{ident}, {STEPS} made steps", "wrong" if fault else "right", fault or ""))
        return results
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not any((FOLDER / f"{ident}.tflite").exists() for ident in MODELS):
        print(f"skipped: no models in {FOLDER}: scripts/setup check-all fetches them", file=sys.stderr)
        sys.exit(77)  # in CI, too: other people's packages may be out of reach
    counts, failed = {}, False
    for ident in MODELS:
        if re.search(options.only, ident):
            for label, verdict, why in one(ident):
                counts[verdict] = counts.get(verdict, 0) + 1
                failed |= verdict == "wrong" or verdict == "refused" and ident not in OPEN
                print(f"{verdict:8} {label}{': ' if why else ''}{why}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    sys.exit(1 if failed or not counts.get("right") else 0)


if __name__ == "__main__":
    main()
