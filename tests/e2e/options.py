# ctest: name=e2e.options, timeout=900
"""Each compile option, and each of its values, has an effect: another output than the option's other values have.

EFFECTS, which docs/OPTIONS.md is written from, must have every row of include/burin/options.def, every choice of it, every target.
"""
import importlib.util
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import made
import plans
import support
from support import burin

# field: what is compiled, with which words; what is looked at; and of each value what it does there. look: "code" is all that is written but
# the plan, C without its comments; "stdout"; else a field of the plan.
EFFECTS = {
    "target": {"look": "code", "values": {
        "c": "a folder of C", "ir": "Burin's text form", "null": "a list of the plan's steps", "onnx": "an ONNX model", "tflite": "a TFLite model"}},
    "device": {"look": "code", "values": {"generic": "portable C99", "cortex-m4": "code for a Cortex-M4, with its instructions", "cortex-m0": "code for a core without long products"}},
    "prefix": {"look": "code", "values": {"kws": "files and symbols are named kws", "word": "files and symbols are named word"}},
    "opt_level": {"words": ["--device", "cortex-m4"], "look": "code", "values": {
        "0": "operators as their definitions say", "1": "forms by role", "2": "twice the unrolling"}},
    "numerics": {"look": "code", "values": {"tflm": "sums of products are rounded twice", "litert": "sums of products of a fully connected layer are rounded once"}},
    "layout": {"look": "code", "values": {"folder": "several C files", "single": "one C file and its header"}},
    "weights": {"look": "code", "values": {"inline": "constants as C text", "blob": "constants in a file that the caller gives", "incbin": "constants in a file that the assembler takes in"}},
    "test_cases": {"look": "code", "values": {"0": "no cases", "1": "a main with one case", "2": "a main with two cases"}},
    "check": {"look": "check", "values": {"true": "the plan says what was compared", "false": "the plan says that nothing was"}},
    "check_cases": {"look": "check", "values": {"1": "one case is compared", "4": "four cases are compared"}},
    "compiler": {"look": "check", "values": {"cc": "the check was built by cc", "gcc": "the check was built by gcc"}},
    "dump_after": {"words": ["--no-check"], "look": "stdout", "values": {"fold": "the graph after that pass", "all": "the graph after each pass"}},
    "max_trips": {"model": "loop.ir", "look": "code", "values": {"3": "a run ends with an error after 3 rounds of a loop", "4": "a run ends with an error after 4 rounds of a loop"}},
    "opset": {"words": ["--target", "onnx"], "look": "code", "values": {"13": "operators as of version 13", "22": "operators as of version 22"}},
    "external_data": {"words": ["--target", "onnx"], "look": "code", "values": {"true": "a file of constants beside the model", "false": "constants in the model"}},
    "data_name": {"words": ["--target", "onnx", "--external-data"], "look": "code", "says": "--output", "values": {
        "n.onnx": "`-o n.onnx` names it n.onnx.data", "o.onnx": "`-o o.onnx` names it o.onnx.data"}},
    "exact": {"words": ["--target", "onnx"], "look": "code", "values": {"true": "integer arithmetic, bit for bit", "false": "reals between roundings"}},
    "goal": {"words": ["--device", "cortex-m4"], "model": "reals.onnx", "look": "code", "values": {
        "latency": "the fewest predicted cycles", "balanced": "the fewest among plans within a tenth of the least flash and RAM", "size": "the least flash", "accuracy": "sums of floats in 64 bits"}},
    "kernel": {"words": ["--device", "cortex-m4"], "look": "code", "values": {
        "generic": "one function for layers of one shape", "specialized": "a function for each layer"}},
    "disable": {"look": "code", "values": {"tile": "no register tiles", "tile,depthwise": "neither these nor channels side by side"}},
    "plan": {"look": "code", "values": {"../made_plan.json": "the places that it was made with", "../moved_plan.json": "the places that were edited"}},
    "memory_plan": {"words": ["--target", "tflite"], "look": "code", "values": {"true": "where values may lie, as metadata", "false": "no such metadata"}},
    "plan_lock": {"look": "status", "values": {"../made_plan.json": "nothing, where the plan is that one", "../moved_plan.json": "an error that says what differs"}},
    "accumulation": {"model": "reals.onnx", "look": "code", "values": {
        "defined": "sums of floats as the definition has them", "precise": "sums of floats in 64 bits, rounded once"}},
    "memories": {"look": "code", "values": {"tcm=1K,ram=4K": "what is read most in the first", "fast=2K,slow=4K": "more of it, and other names"}},
}

spec = importlib.util.spec_from_file_location("options_page", support.SOURCE / "scripts/options_page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
rows = {o.field: o for o in page.options() if o.library}
assert list(rows) == list(EFFECTS), set(rows) ^ set(EFFECTS)
for field, row in rows.items():
    values = list(EFFECTS[field]["values"])
    if row.kind == "CHOICE":
        assert values == row.value.split("|") or sorted(values) == sorted(row.value.split("|")), field
    if row.kind == "FLAG":
        assert sorted(values) == ["false", "true"], field
    assert len(values) >= 2 and all(EFFECTS[field]["values"].values()), field
assert sorted(EFFECTS["target"]["values"]) == sorted(t["name"] for t in json.loads(burin("targets", "--json").stdout))
assert [*EFFECTS["opt_level"]["values"]] == rows["opt_level"].value.split("|")

os.chdir(tempfile.mkdtemp())
shutil.copy(support.SOURCE / "demo/digits.tflite", "digits.tflite")
pathlib.Path("loop.ir").write_text(made.LOOP)
burin("compile", "digits.tflite", "-o", "reals.onnx", "--no-check", "--quiet")
pathlib.Path("made_plan.json").write_text(burin("plan", "digits.tflite", "--json").stdout)
pathlib.Path("moved_plan.json").write_text(plans.moved(pathlib.Path("made_plan.json").read_text()))


def compiled(field, words):
    """What is looked at."""
    effect = EFFECTS[field]
    shutil.rmtree("out", ignore_errors=True)
    os.mkdir("out")
    given = [*effect.get("words", []), *words]
    out = [] if "--output" in given else ["-o", "made"]
    checked = [] if effect["look"] == "check" or field == "target" or "--no-check" in given else ["--no-check"]
    if effect["look"] == "status":
        return subprocess.run([os.environ["BURIN"], "compile", f"../{effect.get('model', 'digits.tflite')}", *out, *given, *checked], cwd="out", capture_output=True).returncode
    done = burin("compile", f"../{effect.get('model', 'digits.tflite')}", *out, *given, *checked, cwd="out")
    if effect["look"] == "stdout":
        return done.stdout
    files = {str(p.relative_to("out")): p.read_bytes() for p in pathlib.Path("out").rglob("*") if p.is_file()}
    if effect["look"] != "code":
        plan, = (json.loads(text) for name, text in files.items() if name.endswith("_plan.json"))
        return json.dumps(plan[effect["look"]])
    if "--output" in given:  # what is in them, and the name beside
        files = {name if name.endswith(".data") else "model": text for name, text in files.items()}
    return {name: re.sub(rb"/\*.*?\*/", b"", text, flags=re.S) if name.endswith((".c", ".h")) else text
            for name, text in files.items() if not name.endswith("_plan.json")}


for field, effect in EFFECTS.items():
    row, seen = rows[field], {}
    for value in effect["values"]:
        flag = effect.get("says", f"--{row.flag}")
        seen[value] = compiled(field, [flag if value == "true" else f"--no-{row.flag}"] if row.kind == "FLAG" else [flag, value])
    for a, b in itertools.combinations(seen, 2):
        assert seen[a] != seen[b], f"{field}: {a} and {b} have one effect"
    if "says" not in effect:
        standard = compiled(field, [])
        if row.standard is not None and str(row.standard) in seen:
            assert standard == seen[str(row.standard)], f"{field}: without it {row.standard} does not hold"
