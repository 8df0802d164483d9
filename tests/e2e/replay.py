# ctest: name=e2e.replay, timeout=900
"""--plan: a plan that was written is taken up again, byte for byte; an edited one is obeyed where it is legal; anything else is refused by line and
column, and no damaged file is taken."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile

import made
import plans
import support
from support import burin

os.chdir(tempfile.mkdtemp())
shutil.copy(support.SOURCE / "demo/digits.tflite", "digits.tflite")
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("loop.ir").write_text(made.LOOP)
NONE = '{act: text "none"}'
# two branches whose operators the plan does in another order than the model has them, since the arena is smaller so
pathlib.Path("branches.ir").write_text('burin 1\nmodel "ir" "branches.ir"\n' + made.graph(
    "main", 0, ['i32[4] "x"', 'i32[256] "a"', 'i32[256] "b"', 'i32[64,4] "a2"', 'i32[64,4] "b2"', 'i32[4] "c"', 'i32[4] "d"', 'i32[4] "y"', 'i32[4] "turned"'],
    [0], [7], [("tile", [0], [1], "{multiples: ints [64]}"), ("reverse", [0], [8], "{axes: ints [0]}"), ("tile", [8], [2], "{multiples: ints [64]}"),
               ("reshape", [1], [3], "{shape: ints [64,4]}"), ("reshape", [2], [4], "{shape: ints [64,4]}"), ("reduce_max", [3], [5], "{axes: ints [0]}"),
               ("reduce_min", [4], [6], "{axes: ints [0]}"), ("add", [5, 6], [7], NONE)]))


def files(folder):
    return {p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir()}


def compiled(model, *words):
    shutil.rmtree("out", ignore_errors=True)
    burin("compile", model, "-o", "out", "--prefix", "m", "--quiet", *words)
    return files("out")


# ---- the same again, byte for byte ----

for model in ("digits.tflite", "branches.ir", "dense.tflite", "loop.ir"):
    for words in ((), ("--device", "cortex-m4"), ("-O0",), ("--device", "cortex-m4", "--goal", "size", "-O2"), ("--disable", "order,parts")):
        first = compiled(model, "--no-check", *words)
        pathlib.Path("p.json").write_bytes(first["m_plan.json"])
        assert compiled(model, "--no-check", *words, "--plan", "p.json") == first, (model, words)
first = compiled("branches.ir")
assert json.loads(first["m_plan.json"])["arena"]["moved"] > 0
assert [k["ids"] for k in json.loads(first["m_plan.json"])["kernels"]] != sorted(k["ids"] for k in json.loads(first["m_plan.json"])["kernels"])

# ---- edited: other places, another order; the check compares the code with the evaluator ----

first = compiled("digits.tflite", "--device", "cortex-m4")
text = first["m_plan.json"].decode()
arena = json.loads(text)["arena"]["bytes"]
pathlib.Path("moved.json").write_text(plans.moved(text))
again = compiled("digits.tflite", "--device", "cortex-m4", "--plan", "moved.json")
plan = json.loads(again["m_plan.json"])
assert plan["check"]["checked"] and plan["arena"]["bytes"] == arena + 64 and plan["arena"]["placement"] == "as the plan says", plan["arena"]
wanted = {t["tensor"]: t["offset"] for t in plans.in_arena(json.loads(pathlib.Path("moved.json").read_text()))}
assert {t["tensor"]: t["offset"] for t in plans.in_arena(plan)} == wanted
assert again["m.c"] != first["m.c"] or again["m_kernels.c"] != first["m_kernels.c"] or again["m.h"] != first["m.h"]
assert f"arena {arena + 64} bytes" in burin("plan", "digits.tflite", "--device", "cortex-m4", "--plan", "moved.json").stdout
# what was edited is replayed byte for byte, too
pathlib.Path("p.json").write_bytes(again["m_plan.json"])
assert compiled("digits.tflite", "--device", "cortex-m4", "--plan", "p.json") == again

# a sum that is 127 whatever it reads (relu, and 127 is the zero point) may come before what it reads is made
pathlib.Path("top.ir").write_text('burin 1\nmodel "ir" "top.ir"\n' + made.graph(
    "main", 0, ['i8[8] "x" quant {0.1:0}', 'i8[8] "turned" quant {0.1:0}', 'i8[8] "top" quant {0.05:127}'], [0], [1, 2],
    [("reverse", [0], [1], "{axes: ints [0]}"), ("add", [1, 1], [2], '{act: text "relu"}')]))
plan = json.loads(compiled("top.ir")["m_plan.json"])
assert [k["op"] for k in plan["kernels"]] == ["reverse", "add"]
plan["kernels"].reverse()
next(t for t in plan["tensors"] if t["name"] == "top")["offset"] = 64
pathlib.Path("p.json").write_text(json.dumps(plan))
first = compiled("top.ir", "--plan", "p.json", "--test", "2")
assert [k["op"] for k in json.loads(first["m_plan.json"])["kernels"]] == ["add", "reverse"] and json.loads(first["m_plan.json"])["check"]["checked"]

# every order of the two branches' first operators, each where it belongs
first = compiled("branches.ir", "--disable", "order")
kernels = json.loads(first["m_plan.json"])["kernels"]
orders = set()
for seed in range(12):
    random.seed(seed)
    plan = json.loads(first["m_plan.json"])
    left, order, there = list(plan["kernels"]), [], {plan["inputs"][0]}
    makes = {id(k): k["tensors"][-1] for k in left}
    while left:  # any kernel whose inputs are there
        k = random.choice([k for k in left if all(t in there or t == makes[id(k)] for t in k["tensors"])])
        left.remove(k)
        order.append(k)
        there.add(makes[id(k)])
    plan["kernels"] = order
    pathlib.Path("p.json").write_text(json.dumps(plan))
    done = subprocess.run([os.environ["BURIN"], "compile", "branches.ir", "--disable", "order", "--plan", "p.json", "-o", "out", "--force", "--prefix", "m", "--quiet"],
                          capture_output=True, text=True)
    # places of another order may overlap in this one: then that is said
    assert done.returncode == 0 or "overlap" in done.stderr or ".root: " in done.stderr or "leaves the bytes" in done.stderr or "written over" in done.stderr, done.stderr
    if done.returncode == 0:
        made_so = json.loads(pathlib.Path("out/m_plan.json").read_text())
        assert made_so["check"]["checked"] and [k["ids"] for k in made_so["kernels"]] == [k["ids"] for k in order]
        orders.add(str([k["ids"] for k in order]))
assert len(orders) >= 2, orders


# ---- refused, by place ----

def refused(plan, *says, model="digits.tflite", words=("--device", "cortex-m4"), status=1):
    pathlib.Path("p.json").write_text(plan if isinstance(plan, str) else json.dumps(plan))
    done = burin("compile", model, "-o", "none", *words, "--plan", "p.json", status=status, timeout=60)
    assert not pathlib.Path("none").exists()
    for say in says:
        assert re.search(say, done.stderr), f"{say} is not in: {done.stderr}"


def edited(change, text=text):
    plan = json.loads(text)
    change(plan)
    return plan


highest = max(plans.in_arena(json.loads(text)), key=lambda t: t["offset"] + t["bytes"])["tensor"]
compute = next(i for i, k in enumerate(json.loads(text)["kernels"]) if k["stages"] and k["stages"][0]["form"] == "contract")
refused(edited(lambda p: p["tensors"][highest].update(offset=p["tensors"][highest]["offset"] + 1)), "not aligned")
refused(edited(lambda p: [t.update(offset=0) for t in plans.in_arena(p)]), "overlap at offset 0")
refused(edited(lambda p: p["tensors"][highest].update(offset=2**32)), rf"p.json:1:\d+: error: tensors\[{highest}\].offset: expected a number below 2\^32")
refused(edited(lambda p: p["tensors"][highest].update(offset=-64)), "expected a number below")
refused(edited(lambda p: p["tensors"][highest].update(offset="0")), "expected a number below")
refused(edited(lambda p: p["tensors"][highest].pop("offset")), "expected a number below")
refused(edited(lambda p: p["tensors"].pop()), r"\d+ tensors, where")
refused(edited(lambda p: p["tensors"].append(p["tensors"][-1])), r"tensors: \d+ members, where")
refused(edited(lambda p: p["kernels"].pop()), r"\d+ kernels, where")
refused(edited(lambda p: p["kernels"].append(p["kernels"][0])), "no such kernel once more")
refused(edited(lambda p: p["kernels"][1].update(op="nonesuch")), r"kernels\[1\]: the network and the options give no such kernel")
refused(edited(lambda p: p["kernels"].insert(0, p["kernels"].pop(1))), r"kernels\[\d+\] must be done before kernels\[\d+\]")


def stage(**fields):
    return edited(lambda p: p["kernels"][compute]["stages"][0].update(**fields))


where = rf"p.json:1:\d+: error: kernels\[{compute}\].stages\[0\]."
nest = next((k, s) for k, kernel in enumerate(json.loads(text)["kernels"]) for s, x in enumerate(kernel["stages"]) if x["form"] == "nest" and len(x["order"]) > 1)
refused(stage(mr=77), where + "mr: 77, where 1 to 8 is possible")
refused(stage(mr=0), where + "mr: 0, where 1 to 8 is possible")
refused(stage(nr=3), where + "nr: 3 does not divide 16; the next below that does is 2")
refused(stage(nr=2**32), where + "nr: expected a number from 1 to 16")
refused(stage(unroll=33), where + "unroll: 33, where 1 to 32 is possible")
refused(stage(unroll="4"), where + "unroll: expected a number from 1 to 32")
refused(stage(n_var=1), where + "n_var: it is 3")
refused(stage(form="depthwise"), where + "form: it can be contract or nest")
refused(stage(form=3), where + "form: expected a text")
refused(stage(form="alias"), r'form: "alias", where the network and the options give "contract"')
refused(stage(hoist_zero=1), where + "hoist_zero: expected true or false")
refused(stage(shared=2), r"shared: 2, where")
refused(stage(threads_var=0), r"threads_var: 0, where")
refused(stage(order=[3, 2, 1, 0]), where + "order: only the loops of a nest")
refused(stage(order=[0, 1, 2, 2]), where + "order: expected each of 0 to 3 once")
refused(stage(order=[0, 1, 2]), where + "order: expected a list of the 4 output loops")
refused(edited(lambda p: p["kernels"][nest[0]]["stages"][nest[1]].update(mr=2)), r"mr: 2, where 1 to 1 is possible")
refused(edited(lambda p: p["kernels"][nest[0]]["stages"][nest[1]].update(hoist_zero=True)), r"there is no zero point to hoist")
refused(edited(lambda p: p["kernels"][nest[0]]["stages"][nest[1]].update(form="contract")), r"form: it can be nest")
refused(edited(lambda p: p["kernels"][compute]["stages"].append(p["kernels"][compute]["stages"][0])), r"stages: 2, where")
refused(edited(lambda p: p["kernels"][compute].pop("ids")), rf"kernels\[{compute}\].ids is missing")
refused(edited(lambda p: p["tensors"][highest].update(root=0)), rf"tensors\[{highest}\].root: 0, where")
refused(edited(lambda p: p["tensors"][highest].update(type="f64")), r'type: "f64", where')
refused(edited(lambda p: p.update(version=2)), r"p.json:1:13: error: version 2: this burin reads plans of version 1")
refused(edited(lambda p: p.update(version="1")), 'expected a number "version": not a plan of Burin')
refused(edited(lambda p: p["model"].update(structure_hash="0" * 16)), "the plan is of another network")
refused(edited(lambda p: p.pop("model")), 'expected a text "structure_hash"')
refused(edited(lambda p: p.update(kernels={})), 'expected a list "kernels"')
refused(text, 'device.name: "cortex-m4", where the network and the options give "generic"', words=())
refused(text, "goal: \"latency\", where the network and the options give \"size\"|contract|unroll|kernel", words=("--device", "cortex-m4", "--goal", "size"))
refused(text, "the plan is of another network", model="dense.tflite")
for target in ("ir", "onnx", "tflite"):
    refused(text, f"--plan has no effect with target {target}", words=("--target", target), status=2)
assert "No such file" in burin("plan", "digits.tflite", "--plan", "absent.json", status=1).stderr
# a network with control keeps its order
control = compiled("loop.ir")["m_plan.json"].decode()
refused(edited(lambda p: p["kernels"].reverse(), control), "must be done before|no such kernel", model="loop.ir", words=())

# ---- the same network with other weights: the plan fits ----

dense = compiled("dense.tflite")["m_plan.json"].decode()
made.WEIGHTS = [[3, 0, 7, 0], [1, -1, 1, 2], [-1, 5, -3, 4]]
pathlib.Path("retrained.tflite").write_bytes(made.dense())
pathlib.Path("p.json").write_text(dense)
retrained = json.loads(compiled("retrained.tflite", "--plan", "p.json")["m_plan.json"])
assert retrained["model"]["structure_hash"] == json.loads(dense)["model"]["structure_hash"]
assert retrained["model"]["weights_hash"] != json.loads(dense)["model"]["weights_hash"] and retrained["check"]["checked"]

# ---- damaged: no part of it is a plan, and no change of bytes does harm ----

for n in range(0, len(text.rstrip()), max(1, len(text) // 25)):
    refused(text[:n], r"p.json:\d+:\d+: error: not JSON: it ends too early")
refused("[" * 100000, "p.json:1:65: error: not JSON: it is too deep")
refused('{"a":' * 100000, "not JSON: it is too deep")
refused(text.replace('"version"', '"version":1,"version"', 1), "p.json:2:15: error: not JSON: the name is there twice")
refused("null", "expected a number \"version\"")
random.seed(5)
for _ in range(60):
    data = bytearray(text.encode())
    for _ in range(random.choice((1, 1, 2, 8))):
        data[random.randrange(len(data))] = random.choice((*b'0123456789-,:"[]{}eE\\', random.randrange(256)))
    pathlib.Path("p.json").write_bytes(data)
    done = subprocess.run([os.environ["BURIN"], "plan", "digits.tflite", "--device", "cortex-m4", "--plan", "p.json"], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert done.returncode == 0 or "error: " in done.stderr, done.stderr
