#!/usr/bin/env python3
# ctest: name=corpus.models, labels=corpus, timeout=3000
"""Networks that people run (tools/models of ../shared): emitted C and evaluator give the outputs recorded for them, at every step.

  models.py [--all] [--only PATTERN]

scripts/setup check-all fetches those that models.list names into .cache/models ($BURIN_MODELS: another folder); what is not there is
skipped aloud. What was recorded is LiteRT's reference kernels' of .tflite and ONNX Runtime's of .onnx.
The emitted C makes all steps of a case on one instance. The evaluator makes all steps of a network that hands its state out, which
is its input in the next; of one that keeps its state inside it makes the first, and such networks make 100 steps of made inputs as
LiteRT's reference resolver does, bit for bit. Of DEAR only --all makes the case. Run by the oracles' Python; by ctest's Python it
starts that one.
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
DEAR = ["dnsmos_sig_bak_ovr lcg_batch2", "magika_v3_3 files", "piper_joe hello"]
# what is refused as C, by these words, and why; the evaluator runs it all the same
OPEN = {"piper_joe": "operator ConstantOfShape whose input 0 is computed"}  # how long the sound is, only a run says, and nothing bounds it
# the noise that is multiplied by zero
WORDS = {"piper_joe": ["--random-mean"]}
# all steps that stdin has inputs for, on one instance; a step's outputs are out before the next one's inputs are read
DRIVER = emitted.DRIVER.replace("""    for (i = 0; i < P_INPUT_COUNT; i++) {
        if (P_input_info""", """    for (;;) {
    for (i = 0; i < P_INPUT_COUNT; i++) {
        int c = getchar();
        if (c == EOF) { return fflush(stdout) != 0; }
        ungetc(c, stdin);
        if (P_input_info""").replace("    (void)argc;", "    if (fflush(stdout)) { return 13; }\n    }\n    (void)argc;").replace("    return fflush(stdout) != 0;\n}\n", "}\n")


def per_step(case):
    """The inputs of each step, in the model's order; of a state that is handed out those of the first."""
    feed = cases.inputs_of(case)
    timed = {s["name"] for s in case["inputs"] if s.get("per_step")}
    return [[v[t] if k in timed else v for k, v in feed.items()] for t in range(case.get("steps", 1))]


def carried(case):
    """number of an input -> the output whose value it has in the next step"""
    return {k: s["carry"] for k, s in enumerate(case["inputs"]) if "carry" in s}


def in_steps(case, steps, step):
    """Makes the steps one after the other, each by step(inputs) -> (name -> value, fault) -> (name -> all values, fault)"""
    carry, found = carried(case), {}
    for inputs in steps:
        inputs = [found[carry[k]][-1] if found and k in carry else v for k, v in enumerate(inputs)]
        got, fault = step(inputs)
        if fault:
            return None, fault
        for name, value in got.items():
            found.setdefault(name, []).append(value)
    return {k: np.stack(v) if len(v) > 1 else v[0] for k, v in found.items()}, None


def build(model, inputs, words, work):
    """The emitted C for inputs of those shapes -> (program, its outputs as (name, type, shape), options, None), or why not."""
    options = [*words, *(word for k, v in enumerate(inputs) for word in ("--shape", f"{k}={'x'.join(map(str, v.shape)) or 'scalar'}"))]
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


def as_bytes(arrays):
    return b"".join(np.ascontiguousarray(v).tobytes() for v in arrays)


def run_emitted(program, case, steps, outputs):
    """All steps on one instance; what is carried is read from the outputs of a step before the next one is given."""
    if not carried(case):
        out, fault = emitted.run(program, b"".join(map(as_bytes, steps)))
        got = None if fault else split(outputs, out, len(steps))
        return got, fault or (None if got else f"{len(out)} bytes")
    size = sum(int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize for _, kind, shape in outputs)
    blob = [str(p) for p in pathlib.Path(program).parent.glob("*_weights.bin")]

    def step(inputs):
        ran.stdin.write(as_bytes(inputs))
        ran.stdin.flush()
        out = ran.stdout.read(size)
        return (split(outputs, out, 1), None) if len(out) == size else (None, f"{len(out)} bytes")

    with subprocess.Popen([program, *blob], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as ran:
        got, fault = in_steps(case, steps, step)
        ran.stdin.close()
        left = ran.stdout.read()
    return got, fault or (f"status {ran.returncode}, {len(left)} bytes behind the last step" if ran.returncode or left else None)


def evaluate(model, inputs, names, options, work):
    """name -> what the evaluator gives"""
    shutil.rmtree(work / "e", ignore_errors=True)
    (work / "e").mkdir()
    files = []
    for k, v in enumerate(inputs):
        np.save(work / "e" / f"{k}.npy", v)
        files += ["--input", work / "e" / f"{k}.npy"]
    done = subprocess.run([os.environ["BURIN"], "run", model, "--numerics", "litert", *files, *options, "--output-dir", work / "e/out", "--quiet"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, emitted.refusal(done)
    return {name: np.load(work / "e/out" / f"output_{k}.npy") for k, name in enumerate(names)}, None


def run_case(ident, model, case, work):
    steps, words = per_step(case), WORDS.get(ident, [])
    program, outputs, options, fault = build(model, steps[0], words, work)
    refused = fault if ident in OPEN and program is None and outputs is None and OPEN[ident] in fault else None
    if fault and not refused:
        return "wrong", fault
    if refused:
        names = [spec["name"] for spec in case["outputs"]]
    else:
        names = [name for name, _, _ in outputs]
        got, fault = run_emitted(program, case, steps, outputs)
        fault = fault or differences(case, got)
        if fault:
            return "wrong", f"emitted C: {fault}"
    whole = len(steps) == 1 or carried(case)
    got, fault = in_steps(case, steps if whole else steps[:1], lambda inputs: evaluate(model, inputs, names, options, work))
    fault = fault or differences(case, got, first_only=not whole)
    if fault:
        return "wrong", f"evaluator: {fault}"
    return ("evaluated", f"no C: {refused}") if refused else ("right", "")


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
    program, _, _, fault = build(model, first, [], work)
    out, fault = (None, fault) if fault else emitted.run(program, data)
    if fault or out == want:
        return fault
    at = next(i for i, (a, b) in enumerate(zip(out, want)) if a != b)
    return f"byte {at} of {len(want)} is {out[at]}, not {want[at]}"


def one(ident, everything):
    """-> [(label, verdict, why)]"""
    record = cases.load(ident)
    model, work, results = FOLDER / record["file"], pathlib.Path(tempfile.mkdtemp(prefix="models-")), []
    try:
        if not model.exists():
            return [(ident, "absent", "not fetched")]
        for case in record["cases"]:
            if f"{ident} {case['name']}" in DEAR and not everything:
                continue
            results.append((f"{ident} {case['name']}", *run_case(ident, model, case, work)))
        if ident in STATEFUL:
            fault = made_steps(model, work)
            results.append((f"{ident}, {STEPS} made steps", "wrong" if fault else "right", fault or ""))
        return results
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if not any((FOLDER / cases.load(ident)["file"]).exists() for ident in MODELS):
        print(f"skipped: no models in {FOLDER}: scripts/setup check-all fetches them", file=sys.stderr)
        sys.exit(77)  # in CI, too: other people's packages may be out of reach
    counts, failed = {}, False
    for ident in MODELS:
        if re.search(options.only, ident):
            for label, verdict, why in one(ident, options.all):
                counts[verdict] = counts.get(verdict, 0) + 1
                failed |= verdict == "wrong"
                print(f"{verdict:9} {label}{': ' if why else ''}{why}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    sys.exit(1 if failed or not counts.get("right") else 0)


if __name__ == "__main__":
    main()
