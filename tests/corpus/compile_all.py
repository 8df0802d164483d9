# ctest: name=corpus.compile_all, labels=corpus, timeout=1800
"""burin compile with its check, over every model that has golden data: each is compiled and checked operator by operator, or refused
with status 1; a difference (3), a fault (70) or a signal is a failure. At least 98 must be checked."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import support

AT_LEAST = 98
golden = support.shared("corpus/tflite/golden_tflm")
models = sorted(p.parent.relative_to(golden) for p in golden.rglob("io.txt"))


def compile_one(name):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.environ["BURIN"], "compile", golden.parent / f"{name}.tflite", "-o", pathlib.Path(folder, "out"), "--json"],
                              capture_output=True, text=True)
        checked = done.returncode == 0 and json.loads(done.stdout)["checked"]
        left = os.listdir(folder)
    first = (done.stderr.splitlines() or ["(no message)"])[0]
    return name, done.returncode, checked, first, bool(left) != (done.returncode == 0)


assert len(models) == 156, len(models)
passed = failed = 0
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    for name, status, checked, first, left in pool.map(compile_one, models):
        if checked and not left:
            passed += 1
        else:
            bad = status != 1 or left
            failed += bad
            print("FAILED " if bad else "refused", name, f"status {status}: {first[:200]}", flush=True)
print(f"{passed} models are compiled and checked, {len(models) - passed - failed} are refused, {failed} fail")
sys.exit(failed > 0 or passed < AT_LEAST)
