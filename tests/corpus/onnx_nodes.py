# ctest: name=corpus.onnx_nodes, labels=corpus, timeout=900
"""ONNX's own node and model tests (the corpus's backend_* folders) through the evaluator, and every 12th through emitted C.

  onnx_nodes.py [--all] [--only REGEX] [--root FOLDER]

Rules of onnx's own test runner. Each run is read for its inputs, so that extents and shape-like inputs need not be said. Nothing may be
wrong but what KNOWN names with its reason, and at least so many must pass; what is refused is listed by reason. --all: all through emitted C.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import support

AT_LEAST = 1242  # of 1,295
EACH = 12
KNOWN = {  # test: why it is wrong
    "backend_node/test_dft_inverse_opset19": "the record holds the rounding error of another order of adding (1.9e-7) where the sum is 0",
}

parser = argparse.ArgumentParser()
parser.add_argument("--all", action="store_true")
parser.add_argument("--only", default="")
parser.add_argument("--root")
options = parser.parse_args()
harness = support.shared("tools/harness/onnx_nodes.py")
support.shared("corpus/onnx/backend_node")


def run(provider, only):
    command = f"{os.environ['BURIN']} run {{model}} {{inputs:--input}} --output-dir {{dir}} --quiet --provider {provider}"
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        words = [sys.executable, harness, "--cmd", command, "--only", only, "--quiet", "--timeout", "120", "--json", results.name]
        done = subprocess.run(words + (["--root", options.root] if options.root else []), capture_output=True, text=True)
        try:
            return json.load(open(results.name))
        except ValueError:
            sys.exit(f"{provider}: the harness gave no results\n{done.stdout}{done.stderr}")


def reason(why):
    """A refusal without its place: so that equal ones are one line."""
    why = re.sub(r"^\S+: ", "", why)
    why = re.sub(r", \d+ times: [^;]*", "", re.sub(r" \(byte 0x[0-9a-f]+\)", "", why))
    return re.sub(r"^(graph/)?\S*?node\[\d+\](/\S*\[-?\d+\])* (\"[^\"]*\" )?", "", why)[:110]


def report(provider, results):
    """Whether nothing is wrong that is not known."""
    counts = collections.Counter(r["verdict"] for r in results)
    print(f"{provider}: {len(results)} tests: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    refused = collections.defaultdict(list)
    for r in results:
        if r["verdict"] == "refused":
            refused[reason(r["why"])].append(r["name"].split("/")[-1])
    for why, names in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"   {len(names):3} refused: {why}: {' '.join(names[:3])}{' ...' if len(names) > 3 else ''}")
    bad = [r for r in results if r["verdict"] not in ("passed", "refused", "skipped")]
    for r in bad:
        print("  ", r["verdict"], r["name"], r["why"], f"(known: {KNOWN[r['name']]})" if r["name"] in KNOWN else "")
    return all(r["name"] in KNOWN for r in bad), counts["passed"]


reference = run("reference", options.only)
fine, passed = report("reference", reference)
names = [r["name"] for r in reference if r["verdict"] == "passed"]
chosen = names if options.all else names[::EACH]
if chosen:
    pattern = "^(" + "|".join(re.escape(name) for name in chosen) + ")$"
    host = run("host", pattern)
    fine &= report("host", host)[0] and len(host) == len(chosen)
if not options.only and not options.root and passed < AT_LEAST:
    sys.exit(f"{passed} pass: expected {AT_LEAST} or more")
sys.exit(not fine)
