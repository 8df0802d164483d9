# ctest: name=e2e.config, timeout=900
"""Files of options: every key says what its flag says; the command line wins; hostile files are refused by line and column, status 2, and
quickly; the JSON schema takes and refuses the same files."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import made
import plans
import support
from support import burin

spec = importlib.util.spec_from_file_location("options_page", support.SOURCE / "scripts/options_page.py")
page = importlib.util.module_from_spec(spec)
spec.loader.exec_module(page)
OPTIONS = {o.field: o for o in page.options() if page.is_key(o)}
SCHEMA = json.loads((support.SOURCE / "docs/burin.schema.json").read_text())
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "array": list, "object": dict}

os.chdir(tempfile.mkdtemp())
if "without libyaml" in subprocess.run([os.environ["BURIN"], "inspect", "a", "--config", "b"], capture_output=True, text=True).stderr:
    support.skip("the command was built without libyaml")
os.mkdir("base")
shutil.copy(support.SOURCE / "demo/digits.tflite", "base")
pathlib.Path("base/dense.tflite").write_bytes(made.dense())
pathlib.Path("base/sum.ir").write_text(made.SUM)
pathlib.Path("base/q.json").write_text('{"version": 1, "tensors": [{"name": "left", "type": "i8", "scale": 0.5}]}')
pathlib.Path("base/bad.op").write_text("op what\n")
pathlib.Path("base/two.tflite").write_bytes(made.tflite_graphs(
    [("main", [("x", "f32", [2], {}), ("y", "f32", [2], {})], [("RELU", [0], [1], None, None)], [0], [1])],
    [("one", 0, {"x": 0}, {"y": 1}), ("other", 0, {"p": 0}, {"q": 1})]))
for name in ("l", "r"):
    pathlib.Path(f"base/{name}.bin").write_bytes(struct.pack("<6f", *range(6)))
pathlib.Path("base/loop.ir").write_text(made.LOOP)
burin("compile", "base/digits.tflite", "-o", "base/reals.onnx", "--no-check", "--quiet")
pathlib.Path("base/moved.json").write_text(plans.moved(burin("plan", "base/digits.tflite", "--json").stdout))


def fits(value, schema):
    """Does the value fit? Knows the words that the schema uses, and no other."""
    known = {"type", "enum", "minimum", "maximum", "anyOf", "items", "minItems", "properties", "additionalProperties", "minProperties",
             "propertyNames", "pattern", "description", "title", "$schema", "$comment", "x-standing", "x-commands"}
    assert set(schema) <= known, set(schema) - known
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(isinstance(value, TYPES[t]) and not (t in ("integer", "number") and isinstance(value, bool)) for t in types):
        return False
    if "enum" in schema and value not in schema["enum"] or "anyOf" in schema and not any(fits(value, s) for s in schema["anyOf"]):
        return False
    if "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        return False
    if isinstance(value, list):
        return len(value) >= schema.get("minItems", 0) and all(fits(v, schema["items"]) for v in value if "items" in schema)
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        names = schema.get("propertyNames", {}).get("pattern", "")
        return (len(value) >= schema.get("minProperties", 0) and all(re.search(names, k) for k in value)
                and all(fits(v, properties[k]) if k in properties else more is True or more and fits(v, more) for k, v in value.items()))
    return True


def done(words, config=None):
    """Status, stdout, and all files that were written; in a folder of its own. JSON is YAML. Rules of what was read lack the file of options."""
    shutil.rmtree("work", ignore_errors=True)
    shutil.copytree("base", "work")
    if config is not None:
        assert fits(config, SCHEMA), config
        pathlib.Path("work/options.yaml").write_text(json.dumps(config))
        words = [*words, "--config", "options.yaml"]
    ended = subprocess.run([os.environ["BURIN"], *map(str, words)], cwd="work", capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ended.returncode in (0, 1, 2), ended
    files = {str(p): p.read_bytes().replace(b"  options.yaml \\\n", b"").replace(b"\noptions.yaml:\n", b"") for p in sorted(pathlib.Path("work").rglob("*")) if p.is_file() and p.name != "options.yaml"}
    return ended.returncode, ended.stdout, files, ended.stderr if ended.returncode == 1 else ""


# ---- every key says what its flag says, which is not what holds without it ----

SUM = ["run", "sum.ir"]
# (what is refused alike, where nothing else shows an effect, is refused for what was said)
# key: the words of the command; as words; as values of the key
SAID = [
    ("model", ["inspect"], ["sum.ir"], ["sum.ir"]),
    ("output", ["compile", "sum.ir"], ["-o", "o.ir"], ["o.ir"]),
    ("depends", ["compile", "sum.ir", "-o", "o.ir"], ["-MD"], [True]),
    ("depends_file", ["compile", "sum.ir", "-o", "o.ir"], ["-MF", "rule"], ["rule"]),
    ("shapes", ["inspect", "dense.tflite"], ["--shape", "x=3x4"], [{"x": [3, 4]}, {"x": "3x4"}, ["x=3x4"], "3x4", {"0": [3, 4]}]),
    ("dims", ["inspect", "dense.tflite"], ["--dim", "x.0=5"], [{"x.0": 5}, ["0.0=5"], "x.0=5"]),
    ("signature", ["inspect", "two.tflite"], ["--signature", "other"], ["other"]),
    ("outputs", ["inspect", "sum.ir"], ["--outputs", "square,left"], [["square", "left"], "square,left"]),
    ("constants", ["inspect", "sum.ir"], ["--constant", "right=r.bin"], [{"right": "r.bin"}, ["1=r.bin"], "right=r.bin"]),
    ("states", ["inspect", "sum.ir"], ["--state", "left=sum"], [{"left": "sum"}, ["left=sum"], "left=sum"]),
    ("random_mean", ["inspect", "sum.ir"], ["--random-mean"], [True]),
    ("quantization", ["inspect", "sum.ir"], ["--quantization", "q.json"], ["q.json"]),
    ("parameters", ["inspect", "digits.tflite"], ["--parameters"], [True]),
    ("batch", ["inspect", "dense.tflite"], ["--batch", "3"], [3]),
    ("ops", ["inspect", "sum.ir"], ["--ops", "bad.op"], ["bad.op", ["bad.op"]]),
    ("provider", [*SUM, "--json"], ["--provider", "host"], ["host"]),
    ("inputs", SUM, ["--input", "left=l.bin", "--input", "right=r.bin"], [{"left": "l.bin", "right": "r.bin"}, ["l.bin", "r.bin"]]),
    ("seed", SUM, ["--seed", "7"], [7]),
    ("repeat", SUM, ["--repeat", "2"], [2]),
    ("raw", [*SUM, "--provider", "host"], ["--raw"], [True]),
    ("output_dir", SUM, ["--output-dir", "d"], ["d"]),
    ("output_format", [*SUM, "--output-dir", "d"], ["--output-format", "pb"], ["pb"]),
    ("layers", ["verify", "digits.tflite", "digits.tflite"], ["--layers"], [True]),
    ("rtol", ["verify", "dense.tflite", "dense.tflite"], ["--rtol", "0.1"], [0.1]),
    ("atol", ["verify", "dense.tflite", "dense.tflite"], ["--atol", "1"], [1]),
    ("ulp", ["verify", "dense.tflite", "dense.tflite"], ["--ulp", "2"], [2]),
    ("steps", ["verify", "sum.ir", "sum.ir"], ["--steps", "2"], [2]),
    ("force", ["compile", "sum.ir", "-o", "loop.ir"], ["--force"], [True]),
    ("json", ["inspect", "sum.ir"], ["--json"], [True]),
    ("svg", ["plan", "sum.ir"], ["--svg"], [True]),
    ("plan", ["plan", "digits.tflite"], ["--plan", "moved.json"], ["moved.json"]),
    ("plan_lock", ["plan", "digits.tflite"], ["--plan-lock", "moved.json"], ["moved.json"]),
    ("quiet", ["compile", "sum.ir", "-o", "o.ir"], ["--quiet"], [True]),
]
for field, effect in page.effects().items():
    if field in OPTIONS and field not in ("plan", "plan_lock"):
        option = OPTIONS[field]
        said = {"kernel": "generic", "opset": "13"}.get(field) or [v for v in effect["values"] if v != str(option.standard)][-1]
        value = said == "true" if option.kind == "FLAG" else int(said) if option.kind == "NUMBER" else said
        quick = [] if effect["look"] == "check" or field == "target" or field == "check" or "--no-check" in effect.get("words", []) else ["--no-check"]
        SAID.append((field, ["compile", effect.get("model", "digits.tflite"), "-o", "o", *effect.get("words", []), *quick],
                     [page.shown(option)] if option.kind == "FLAG" else [f"--{option.flag}", said],
                     [value] + ([value.split(",")] if option.kind == "NAMES" else [])))
assert sorted(key for key, *_ in SAID) == sorted(OPTIONS), {key for key, *_ in SAID} ^ set(OPTIONS)
assert set(SCHEMA["properties"]) == set(OPTIONS)
for key, words, flags, values in SAID:
    by_flags = done([*words, *flags])
    assert by_flags[0] == (2 if key in ("random_mean", "raw", "rtol", "atol", "ulp", "steps") else 1 if key in ("ops", "plan_lock") else 0), (key, by_flags[0])
    assert by_flags != done(words), f"{key}: {flags} has no effect"
    for value in values:
        assert done(words, {key: value}) == by_flags, f"{key}: {value!r} is not {flags}"

# ---- the command line wins; where paths are; what belongs to another command ----

assert done(["compile", "digits.tflite", "-o", "o", "--no-check", "--goal", "latency"], {"goal": "size"}) == done(["compile", "digits.tflite", "-o", "o", "--no-check"])
assert done(["compile", "dense.tflite", "-o", "o.ir", "--no-force"], {"force": True, "output": "elsewhere.ir"}) == done(["compile", "dense.tflite", "-o", "o.ir"])
assert done(["inspect", "dense.tflite", "--shape", "x=2x4"], {"shapes": {"x": [9, 9], "y": [1]}}) == done(["inspect", "dense.tflite", "--shape", "x=2x4"])
assert done(["inspect", "sum.ir"], {"model": "nothing.tflite"}) == done(["inspect", "sum.ir"])
assert done(["verify", "sum.ir"], {"model": "digits.tflite"}) == done(["verify", "digits.tflite", "sum.ir"])
assert done(["explain", "1"], {"model": "digits.tflite"}) == done(["explain", "digits.tflite", "1"])
os.makedirs("there/deep")
shutil.copy("base/sum.ir", "there/deep/sum.ir")
for name in ("l", "r"):
    shutil.copy(f"base/{name}.bin", f"there/deep/{name}.bin")
pathlib.Path("there/o.yaml").write_text("model: deep/sum.ir\ninputs:\n  left: deep/l.bin\n  right: deep/r.bin\noutput_dir: made\noutput: o.ir\n"
                                        f"constants: {{ }} # nothing\n".replace("constants: { } # nothing\n", ""))
told = burin("run", "--config", "there/o.yaml")
assert pathlib.Path("there/made/output_1.npy").exists()
assert "there/o.yaml:6:1: output does not apply to burin run" in told.stderr, told.stderr
burin("compile", "--config", "there/o.yaml", "--quiet")
assert pathlib.Path("there/o.ir").read_text().startswith("burin 1\n")


# ---- what is refused, and where ----

def refused(text, place, *says, words=("compile", "base/digits.tflite", "-o", "out"), status=2):
    path = pathlib.Path("x.yaml")
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = burin(*words, "--config", "x.yaml", status=status, timeout=20)
    assert ended.stdout == "" and not pathlib.Path("out").exists()
    for say in (f"x.yaml:{place}: ", *says):
        assert say in ended.stderr, f"{text[:80]!r}: {say!r} is not in: {ended.stderr}"
    assert len(ended.stderr) < 2000 and all(line.isprintable() for line in ended.stderr.splitlines()), ended.stderr[:3000]
    return ended.stderr


said = refused("# of a test\nweigths: blob\n", "2:1", "no such key: weigths; did you mean weights?")
assert "\n    weigths: blob\n    ^\n" in said, said
refused("test: 3\n", "1:1", "no such key: test; did you mean test_cases?")
refused("no-check: true\n", "1:1", "did you mean check?")
refused("opt-level: 1\n", "1:1", "did you mean opt_level?")
for key in ("config", "help", "data_name", "size", "\u00e9", '""'):
    refused(f"{key}: a\n", "1:1", "no such key")
said = refused("# \u00e9\u00e9\n{goal: size, \u00e9: 1}\n", "2:14", r"no such key: \xc3\xa9")
refused("goal: size\nkernel: generic\ngoal: size\n", "3:1", "goal is there twice")
refused("weights: blub\n", "1:10", '"blub" is none of inline|blob|incbin; did you mean blob?')
refused("  weights:\n      blub\n", "2:7", "did you mean blob?")
refused("weights: [blob]\n", "1:10", "expected a text, got a list")
refused("weights: {a: b}\n", "1:10", "expected a text, got names with values")
refused("opt_level: '1'\n", "1:12", "expected a number, got a text in quotes")
refused("opt_level: 3\n", "1:12", '"3" is not a number from 0 to 2')
refused("opt_level: 1.0\n", "1:12", "is not a number")
refused("test_cases: -1\n", "1:13", "not a number from 0 to 10000")
refused("max_trips: 99999999999999999999\n", "1:12", "not a number from 1 to 4294967295")
refused("exact: yes\n", "1:8", "expected true or false, got a text")
refused("exact: 'true'\n", "1:8", "expected true or false, got a text in quotes")
for nothing in ("", " ~", " null"):
    refused(f"prefix:{nothing}\n", f"1:{8 if not nothing else 9}", "expected a text, got nothing")
refused("prefix: ''\n", "1:9", "the value is empty")
refused("disable: [tile, [roll]]\n", "1:17", "expected a text or a list of texts, got a list")
refused("disable: []\n", "1:10", "the list is empty")
refused("ops: {a: b}\n", "1:6", "expected a text or a list of texts, got names with values")
refused("shapes: {}\n", "1:9", "it is empty")
refused("shapes: {a: {b: c}}\n", "1:13", "expected a value for a")
refused("shapes: {a: 1, a: 2}\n", "1:16", '"a" is there twice')
refused("constants: {a=b: c}\n", "1:13", "a name with = in it")
refused("dims: {a: [1, 2]}\n", "1:11", "expected a value for a")
refused("? [a]\n: b\n", "1:3", "expected the name of an option")
refused("- goal\n", "1:1", "expected names of options with their values")
refused("goal\n", "1:1", "expected names of options with their values")
for empty in ("", "# only this\n", "---\n...\n"):
    refused(empty, "1:1" if "---" not in empty else "2:1", "it says nothing" if "---" not in empty else "expected names")
refused("{}\n", "1:2", "it says nothing")
refused("goal: size\n---\nkernel: generic\n", "2:1", "a second document")
refused("prefix: !!str a\n", "1:9", "tags are not read")
refused("prefix: &a b\n", "1:9", "anchors and aliases are not read")
refused("prefix: *a\n", "1:9", "anchors and aliases are not read")
refused("disable: [*a, *a]\n", "1:11", "anchors and aliases are not read")
refused("<<: {goal: size}\n", "1:1", "no such key: <<")
refused("goal: \"size\n", "2:1", "not YAML")
refused("goal: size: latency\n", "1:11", "not YAML")
refused("\tgoal: size\n", "1:1", "not YAML")
refused("goal: @size\n", "1:7", "not YAML")
refused(b"# a\ngoal: s\xffze\n", "2:8", "not YAML")
refused(b"goal: s\0ze\n", "1:8", "not YAML")
refused('prefix: "a\\0b"\n', "1:9", "a zero byte")
refused("goal: size\n".encode("utf-16"), "1:1", "not YAML")
refused("prefix: \x1b[31m\n", "1:9", "not YAML")
refused("target: ir\nweights: blob\n", "2:1", "weights has no effect with target ir")
refused("target: onnx\ngoal: size\n", "2:1", "goal has no effect with target onnx")
# values that only the library knows
refused("goal: size\ndevice: cortex-m5\n", "2:1", "did you mean cortex-m", "device is said here")
refused("prefix: 1 x\n", "1:1", "no C identifier", "prefix is said here")
refused("disable: [tile, tlie]\n", "1:1", "tlie", "disable is said here")
# of a size to do harm
refused("a: b\n" * 2_000_000, "209716:2", "a file of 10000000 bytes: at most 1048576 are read")
refused("disable: " + "[" * 1_000_000, "1:11", "expected a text or a list of texts, got a list")
refused("shapes: " + "{a: " * 200_000, "1:13", "expected a value for a")
refused("- " * 500_000, "1:1", "expected names of options")
refused("".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9 if k else ['lol'])}]\n" for k in range(20)), "1:1", "no such key: a0")
refused("disable: &a [" + ",".join(["x"] * 9) + "]\nops: [*a,*a,*a,*a]\n", "1:10", "anchors and aliases are not read")
refused("ops: [" + "a," * 300_000 + "[]]", "1:600007", "got a list")
refused("k" * 1_000_000 + ": a\n", "1:1", "expected names of options")
for path, say in (("absent.yaml", "No such file"), (".", "directory")):
    assert say in burin("inspect", "base/sum.ir", "--config", path, status=1).stderr
# ... and what of it the schema sees
for wrong in ({}, {"weigths": "blob"}, {"weights": "blub"}, {"weights": ["blob"]}, {"opt_level": "1"}, {"opt_level": 3}, {"test_cases": -1}, {"exact": "true"},
              {"disable": []}, {"disable": [["tile"]]}, {"ops": {"a": "b"}}, {"shapes": {}}, {"shapes": {"a": {"b": 1}}}, {"shapes": {"a=b": "1"}},
              {"dims": {"a": [1]}}, {"help": True}, {"config": "a"}, {"data_name": "a"}, {"prefix": None}, []):
    assert not fits(wrong, SCHEMA), wrong
    pathlib.Path("x.yaml").write_text(json.dumps(wrong))
    burin("compile", "base/digits.tflite", "-o", "out", "--config", "x.yaml", status=2)
