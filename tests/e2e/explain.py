# ctest: name=e2e.explain
"""burin explain: what it says of an operator is what the plan and the emitted C have."""
import json
import os
import pathlib
import re
import tempfile

import made
from support import SOURCE, burin

os.chdir(tempfile.mkdtemp())
NET = str(SOURCE / "demo/digits.tflite")
WORDS = ["--device", "cortex-m4", "--prefix", "P"]
burin("compile", NET, "-o", "out", "--no-check", *WORDS)
plan = json.loads(pathlib.Path("out/P_plan.json").read_text())
emitted = pathlib.Path("out/P_kernels.c").read_text()
for k, kernel in enumerate(plan["kernels"]):
    for number in kernel["ids"]:
        text = burin("explain", NET, str(number), *WORDS).stdout
        assert text.startswith(f"operator {number}, step {k}: {kernel['op']}"), text
        assert f"{kernel['macs']} MACs" in text and text.count("  stage ") == len(kernel["stages"]), text
        for stage in kernel["stages"]:
            assert re.search(rf"  stage {stage['stage']}, .*\n(    .*\n|  +extents.*\n)*    asked      {stage['form']}", text), (stage, text)
        assert f"  why        {kernel['reason']}\n" in text or not kernel["reason"], text
        for name, form in re.findall(r"  performed  (P_k\d+), about \d+ bytes of code: ([^;\n]*)", text):  # what stands above the function
            above = re.search(rf"/\*([^/]*)\*/\nvoid {name}\(", emitted)[1]
            assert f"; {form}" in above and f"tep {k}" in above, (name, form, above)
text = burin("explain", NET, "0", *WORDS).stdout  # the first layer: 3x3 over 8x8 pixels, 16 channels
assert "over windows, with borders" in text and "extents o 16: of the constant factor (N)" in text and "extents i 3, j 3: summed over (K)" in text, text
# layers of one shape share a function where that was asked for
assert "shared with step" in burin("explain", NET, "8", *WORDS, "--kernel", "generic").stdout + burin("explain", NET, "7", *WORDS, "--kernel", "generic").stdout + \
    "".join(burin("explain", NET, str(n), *WORDS, "--goal", "size").stdout for n in range(7))
assert json.loads(burin("explain", NET, "0", "--json", *WORDS).stdout) == {"operator": 0, "lines": text.splitlines()}

for words, status, says in [(["99"], 1, "no step stands for operator 99"), (["-1"], 2, "-1"), (["x\n"], 2, "no operator's number"), ([], 2, "INPUT ID"),
                            (["1234567890123"], 2, "no operator's number"), (["0", "--device", "x"], 2, "device")]:
    done = burin("explain", NET, *words, status=status)
    assert done.stdout == "" and says in done.stderr, (words, done)
pathlib.Path("sum.ir").write_text(made.SUM)
assert "no step stands for operator 0" in burin("explain", "sum.ir", "0", status=1).stderr  # it says no numbers of a file
