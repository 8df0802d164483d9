# ctest: name=corpus.tflite_golden, labels=corpus, timeout=1800
"""TFLM's recorded outputs for the corpus's models: the evaluator and the emitted C, integers bit for bit.

At least 98 must pass with each provider, none may be wrong, and none may fail but by a refusal.
"""
import os
import re
import subprocess
import sys

import support

AT_LEAST = 98
harness = support.shared("tools/harness/tflite_golden.py")
support.shared("corpus/tflite/golden_tflm")
failed = False
for provider in ("reference", "host"):
    command = f"{os.environ['BURIN']} run {{model}} {{inputs:--input}} --output-dir {{dir}} --quiet --provider {provider}"
    done = subprocess.run([sys.executable, harness, "--cmd", command, "--suite", "golden", "--at-least", str(AT_LEAST), "--timeout", "120"],
                          capture_output=True, text=True)
    passed = re.findall(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", done.stdout, re.M)
    if not passed:
        sys.exit(f"{provider}: the harness printed no totals\n{done.stdout}{done.stderr}")
    verdicts = re.findall(r"^([A-Z]+) +(\S+/\S+: .*)$", done.stdout, re.M)
    bad = [line for line in verdicts if line[0] not in ("REFUSED", "SKIPPED", "PASSED", "OK")]
    refused = [line[1].split(":")[0] for line in verdicts if line[0] == "REFUSED"]
    print(f"{provider}: {passed[0][0]} models pass, {len(refused)} are refused, {len(bad)} are wrong or fail")
    for line in sorted(bad):
        print("  ", *line)
    for name in sorted(refused):
        print("   refused", name)
    failed |= bool(bad) or int(passed[0][0]) < AT_LEAST or int(passed[0][0]) + len(refused) + len(bad) + int(passed[0][2]) != 156
sys.exit(failed)
