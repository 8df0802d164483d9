# ctest: name=corpus.onnx_cases_written, labels=corpus, timeout=900
"""The models of one node of tests/support/onnx_cases, written as ONNX again: ONNX Runtime, or onnx's reference evaluator where a case is by
that, gives what it gives for the model.

  onnx_cases_written.py [--only PATTERN]

What is read and not written is listed with its reason, and at least WRITTEN are. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import collections
import importlib
import importlib.util
import pathlib
import pkgutil
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np
import onnx

import onnx_cases

SPEC = importlib.util.spec_from_file_location("case_models", pathlib.Path(__file__).parent / "onnx_cases.py")
models = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(models)
WRITTEN = 997


def outcome(case, folder, *more):
    """-> ("written" or "refused" or "wrong", why)"""
    arrays = case.arrays()
    model = models.model_of(case, arrays)
    onnx.save(model, folder / "m.onnx")
    to = folder / "w.onnx"
    to.unlink(missing_ok=True)
    done = subprocess.run([models.BURIN, "compile", folder / "m.onnx", "-o", to, "--force", "--no-check", "--quiet", *more], capture_output=True, text=True)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if ": warning: " not in line]
        return ("refused" if done.returncode == 1 else "wrong"), (said or ["it says nothing"])[0]
    again = onnx.load(to)
    spare = {t.name for t in again.graph.initializer} - {i for n in again.graph.node for i in n.input} - {o.name for o in again.graph.output}
    if spare:
        return "wrong", f"nothing reads {sorted(spare)}"
    for name, was in zip([i.name for i in again.graph.input], [i.name for i in model.graph.input]):
        if name != was:
            return "wrong", f"input {was} is called {name}"
    try:
        got, want = models.run(case, again, arrays), models.run(case, model, arrays)
    except Exception as e:  # noqa: BLE001
        if "NOT_IMPLEMENTED" in str(e) and not more:  # ONNX Runtime has the operator in older versions alone
            return outcome(case, folder, "--opset", "21")
        return "wrong", str(e).strip().splitlines()[0][:200]
    for k, (a, b) in enumerate(zip(map(np.asarray, got), map(np.asarray, want))):
        if a.shape != b.shape or a.dtype != b.dtype:
            return "wrong", f"output {k}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        x, y = (a, b) if a.dtype.kind in "iub" else (a.astype(np.float64), b.astype(np.float64))
        if not (np.array_equal(x, y) if a.dtype.kind in "iub" else np.allclose(x, y, rtol=1e-5, atol=case.within or 1e-6, equal_nan=True)):
            return "wrong", f"output {k}: {x.ravel()[:6]}, expected {y.ravel()[:6]}"
    return "written", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    counts, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for module in pkgutil.iter_modules(onnx_cases.__path__):
            for case in importlib.import_module(f"onnx_cases.{module.name}").CASES:
                if not re.search(options.only, f"{case.word}.{case.name}"):
                    continue
                verdict, why = outcome(case, pathlib.Path(folder))
                counts[verdict] += 1
                if verdict == "wrong":
                    print(f"{case.word}.{case.name}: {why[:250]}")
                elif verdict == "refused":
                    reasons[re.sub(r"^.*?(operator|node)\[\d+\]( \"[^\"]*\")? |\(byte.*$", "", why)[:140]] += 1
    for why, n in reasons.most_common():
        print(f"{n:5} {why}")
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    return 1 if counts["wrong"] or (not options.only and counts["written"] < WRITTEN) else 0


if __name__ == "__main__":
    sys.exit(main())
