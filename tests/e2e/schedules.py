# ctest: name=e2e.schedules, timeout=900
"""Schedules that were edited in a plan: the code is another, and the check compares it with the evaluator; or a refusal by line and column.
What is made of an edited plan is a plan that gives the same bytes again."""
import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile

import support
from support import burin

os.chdir(tempfile.mkdtemp())
shutil.copy(support.SOURCE / "demo/digits.tflite", "digits.tflite")
burin("compile", "digits.tflite", "-o", "reals.onnx", "--no-check", "--quiet")
LEGAL = {"contract": ("mr", "nr", "unroll", "hoist_zero", "form"), "depthwise": ("nr", "hoist_zero", "form"), "nest": ("order",)}
FIELDS = {"mr", "nr", "unroll", "hoist_zero", "form", "order"}
VALUES = {"form": ("nest",), "hoist_zero": (False,), "nr": (1, 2, 4, 8, 16, 3)}
CASES = [("digits.tflite", ["--device", "cortex-m4"], 16), ("digits.tflite", ["--device", "host"], 12), ("digits.tflite", ["--device", "cortex-m0", "--goal", "size"], 16),
         ("reals.onnx", ["--device", "host"], 12)]


def compiled(model, *words):
    """The files, or what was said."""
    shutil.rmtree("out", ignore_errors=True)
    done = subprocess.run([os.environ["BURIN"], "compile", model, "-o", "out", "--prefix", "m", "--quiet", *words], capture_output=True, text=True)
    if done.returncode != 0:
        assert done.returncode == 1 and "p.json:1:" in done.stderr and not os.path.exists("out"), done
        return done.stderr
    return {p.name: p.read_bytes() for p in pathlib.Path("out").iterdir()}


def edit(plan, field):
    """Of some stage of the plan that has the field another value."""
    stages = [x for k in plan["kernels"] for x in k["stages"] if field in LEGAL.get(x["form"], ()) and (field != "order" or len(x["order"]) > 1)]
    if not stages:
        return False
    x = random.choice(stages)
    if field == "order":
        random.shuffle(x["order"])
    else:
        x[field] = random.choice(VALUES.get(field, (1, 2, 3, 4, 5, 7, 8)))
    return True


changed = {field: [] for field in FIELDS}
refused = 0
for model, words, edits in CASES:
    first = compiled(model, "--no-check", *words)
    for seed in range(edits):
        random.seed(seed)
        plan = json.loads(first["m_plan.json"])
        field = sorted(FIELDS)[seed % len(FIELDS)]
        if not edit(plan, field):
            continue
        pathlib.Path("p.json").write_text(json.dumps(plan))
        again = compiled(model, *words, "--check-cases", "1", "--plan", "p.json")
        if isinstance(again, str):
            refused += 1
            continue
        assert json.loads(again["m_plan.json"])["check"]["checked"]
        changed[field].append(any(again[n] != first[n] for n in first if n.endswith(".c")))
        if seed % 4 == 0:
            pathlib.Path("p.json").write_bytes(again["m_plan.json"])
            assert compiled(model, *words, "--check-cases", "1", "--plan", "p.json") == again, (model, field)
assert sum(map(len, changed.values())) + refused >= 50 and refused <= 10, (changed, refused)
assert all(any(c) for c in changed.values()), changed
print({field: f"{sum(c)} of {len(c)} changed the code" for field, c in changed.items()}, f"{refused} refused")
