# ctest: name=e2e.diff, timeout=300
"""burin diff, and --plan-lock: what differs between two plans, by field; a plan that drifted is an error; weights are none of it."""
import json
import os
import pathlib
import shutil
import tempfile

import made
import plans
import support
from support import burin

os.chdir(tempfile.mkdtemp())
shutil.copy(support.SOURCE / "demo/digits.tflite", "digits.tflite")
M4 = ["--device", "cortex-m4"]
pathlib.Path("a.json").write_text(burin("plan", "digits.tflite", *M4, "--json").stdout)
text = pathlib.Path("a.json").read_text()


def lines(change, status=3):
    plan = json.loads(text)
    change(plan)
    pathlib.Path("b.json").write_text(json.dumps(plan))
    out = burin("diff", "a.json", "b.json", status=status).stdout
    told = json.loads(burin("diff", "a.json", "b.json", "--json", status=status).stdout)
    assert told["count"] == len(told["differences"]) == len(out.splitlines())
    assert burin("diff", "a.json", "b.json", "--quiet", status=status).stdout == ""
    return out.splitlines()


def number(op):
    return next(k for k, kernel in enumerate(json.loads(text)["kernels"]) if kernel["op"] == op)


conv, soft = number("conv2d"), number("softmax")
ids = json.loads(text)["kernels"][conv]["ids"]
assert lines(lambda p: None, status=0) == []
assert lines(lambda p: p["kernels"][conv]["stages"][0].update(mr=7)) == [f"kernels[{conv}] conv2d {ids}.stages[0].mr: 2 -> 7"]
assert lines(lambda p: p["arena"].update(bytes=1, more=[[2], {"a": 3}, "b"])) == ["arena.bytes: 3072 -> 1", "arena.more: nothing -> [[...], {...}, b]"]
assert lines(lambda p: p.pop("goal")) == ["goal: latency -> nothing"]
assert lines(lambda p: p["channels"].update(all=[])) == [f"channels.all: {json.loads(text)['channels']['all']} -> []"]
# one kernel less, or one more: the others are still the same
gone = lines(lambda p: p["kernels"].pop(conv))
assert len(gone) == 1 and gone[0].startswith(f"kernels[{conv}] conv2d {ids}: {{kernel: {conv}, ") and gone[0].endswith("-> nothing"), gone
twice = lines(lambda p: p["kernels"].insert(0, p["kernels"][soft]))
assert len(twice) == 2 and twice[0].startswith(f"kernels[{soft + 1}] softmax") and "#2: nothing -> " in twice[0] and twice[1].startswith("kernels: order: "), twice
moved = lines(lambda p: p["kernels"].insert(0, p["kernels"].pop(soft)))
assert len(moved) == 1 and moved[0].startswith("kernels: order: softmax ") and " later -> before " in moved[0], moved
assert lines(lambda p: p["tensors"][0].update(offset=640, first=5))[0].startswith("tensors[0] input ") and len(lines(lambda p: p["tensors"][0].update(offset=640, first=5))) == 1
size = burin("plan", "digits.tflite", *M4, "--goal", "size", "--json").stdout
pathlib.Path("b.json").write_text(size)
assert "goal: latency -> size" in burin("diff", "a.json", "b.json", status=3).stdout

# ---- the lock ----

burin("compile", "digits.tflite", *M4, "-o", "out", "--plan-lock", "a.json", "--no-check")
written = pathlib.Path("out/digits_plan.json")
burin("plan", "digits.tflite", *M4, "--plan-lock", written)
for words, says in ((["--device", "cortex-m0"], "device.name is cortex-m4 there, and cortex-m0 now"), ([*M4, "--goal", "size"], "goal is latency there, and size now"),
                    ([*M4, "--disable", "tile"], "disabled is [] there, and [tile] now"), ([*M4, "-O0"], "channels.all is 154 there, and 0 now")):
    done = burin("compile", "digits.tflite", *words, "-o", "none", "--plan-lock", "a.json", status=1)
    assert "a.json: error: the plan has drifted, in" in done.stderr and says in done.stderr and not os.path.exists("none"), done.stderr
# an edited plan: locked, it is not met; taken up and locked, it is
pathlib.Path("moved.json").write_text(plans.moved(text))
assert "the plan has drifted, in 1 field(s): tensors[" in burin("plan", "digits.tflite", *M4, "--plan-lock", "moved.json", status=1).stderr
taken = burin("plan", "digits.tflite", *M4, "--plan", "moved.json", "--json").stdout
pathlib.Path("taken.json").write_text(taken)
burin("plan", "digits.tflite", *M4, "--plan", "moved.json", "--plan-lock", "taken.json")
assert "the plan has drifted" in burin("plan", "digits.tflite", *M4, "--plan-lock", "taken.json", status=1).stderr
# other weights of the same network: no drift; another network: drift
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("dense.json").write_text(burin("plan", "dense.tflite", "--json").stdout)
made.WEIGHTS = [[3, 0, 7, 0], [1, -1, 1, 2], [-1, 5, -3, 4]]
pathlib.Path("retrained.tflite").write_bytes(made.dense())
burin("plan", "retrained.tflite", "--plan-lock", "dense.json")
assert "the plan has drifted" in burin("plan", "digits.tflite", "--plan-lock", "dense.json", status=1).stderr
for target in ("ir", "onnx", "tflite"):
    assert "--plan-lock has no effect with target" in burin("compile", "dense.tflite", "--target", target, "-o", "x", "--plan-lock", "dense.json", status=2).stderr

# ---- what is no plan ----

for wrong, says in (("", "b.json:1:1: error: not JSON"), ("{}", 'expected a number "version": not a plan'), ('{"version":9}', "version 9: this burin reads"),
                    ('{"version":1,"kernels":[],"tensors":{}}', 'expected a list "tensors"'), ("[" * 1000, "too deep")):
    pathlib.Path("b.json").write_text(wrong)
    assert says in burin("diff", "a.json", "b.json", status=1).stderr
    assert says in burin("diff", "b.json", "a.json", status=1).stderr
pathlib.Path("b.json").write_text('{"version":1,"kernels":[1,{"op":[1],"ids":{}},null],"tensors":["a"]}')
assert "kernels[0]" in burin("diff", "b.json", "a.json", status=3).stdout
assert "No such file" in burin("diff", "a.json", "absent.json", status=1).stderr
