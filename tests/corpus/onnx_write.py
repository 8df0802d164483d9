#!/usr/bin/env python3
# ctest: name=corpus.onnx_write, labels=corpus, timeout=1200
"""ONNX's node tests, read and written again: each file passes onnx's checker with full checks, and ONNX Runtime or, where it has no
kernel, onnx's reference evaluator computes from it what the test records.

  onnx_write.py [--only PATTERN] [--keep DIR]

What is read and cannot be written is listed with its reason, and there may be no more of it than WRITTEN says. Each version of the
operators from 13 on is asked for of a sixteenth of the tests, and what is written passes the checker too. Run by the oracles' Python.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import support

ROOT = support.shared("corpus/onnx")
FOLDERS = ["backend_node", "backend_simple", "backend_pytorch_converted", "backend_pytorch_operator"]
SUITE = support.shared("tools/oracles/onnx_suite.py")
WRITTEN = 1040  # at least so many are written
VERSIONS = range(13, 29)
IN_VERSIONS = 890  # so many of VERSIONS' samples


def write(item):
    name, model, to = item
    done = subprocess.run([os.environ["BURIN"], "compile", model, "--target", "onnx", "-o", to / "model.onnx", "--quiet"], capture_output=True, text=True)
    return name, done.returncode, done.stderr.strip().splitlines()


def check(path):
    import onnx
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as e:
        return str(e).splitlines()[0]
    return None


def in_version(item):
    """None: written and checked; "": it cannot be read, or said in that version; else a fault."""
    test, version, to = item
    done = subprocess.run([os.environ["BURIN"], "compile", test, "-o", to, "--opset", str(version), "--no-check", "--quiet"], capture_output=True, text=True)
    if done.returncode == 0:
        fault = check(to)
        to.unlink()
        return fault
    return "" if done.returncode == 1 else f"exit {done.returncode}: {done.stderr[:200]}"


def in_versions(tests, folder):
    jobs = [(t, VERSIONS[i % len(VERSIONS)], folder / f"{i}.onnx") for i, t in enumerate(tests)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = list(pool.map(in_version, jobs))
    faults = [(job, fault) for job, fault in zip(jobs, results) if fault]
    for job, fault in faults:
        print(f"version {job[1]}  {job[0].parent.name}: {fault}")
    written = results.count(None)
    print(f"{written} written in versions {VERSIONS[0]} to {VERSIONS[-1]}, {len(faults)} with faults")
    return not faults and written >= IN_VERSIONS


def has_lists(path):
    """Sequences as inputs or outputs, which the written file has as single tensors."""
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    return any(v.type.WhichOneof("value") != "tensor_type" for v in [*graph.input, *graph.output])


def suite(folder, engine):
    """{name: what is wrong} of a runtime over the folder."""
    done = subprocess.run([sys.executable, SUITE, str(folder), "--engine", engine], capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    assert lines and re.search(r"\d+ passed", lines[-1]), (done.stdout[-500:], done.stderr[-500:])
    return {line.split()[0].rstrip(":"): line for line in lines[:-1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(options.keep or folder)
        jobs = []
        for test in (p for f in FOLDERS for p in sorted((ROOT / f).glob("*/model.onnx"))):
            name = f"{test.parent.parent.name}-{test.parent.name}"
            if re.search(options.only, name):
                (top / name).mkdir(parents=True, exist_ok=True)
                for data in test.parent.glob("test_data_set_*"):
                    link = top / name / data.name
                    link.is_symlink() or link.symlink_to(data)
                jobs.append((name, test, top / name))
        test_of = {name: test for name, test, _ in jobs}
        counts, faults = {"written": 0, "not read": 0, "not written": 0}, 0
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for name, status, said in pool.map(write, jobs):
                why = said[0] if said else ""
                if status == 0:
                    counts["written"] += 1
                    fault = check(top / name / "model.onnx")
                    if fault:
                        print(f"checker  {name}: {fault}")
                        faults += 1
                    if not has_lists(test_of[name]):
                        continue
                for link in (top / name).iterdir():
                    link.unlink()
                (top / name).rmdir()
                if status == 0:
                    continue
                said_by_writer = "ONNX" in why and ("cannot say" in why or "says scales" in why or "is not written" in why)
                if status != 1:
                    print(f"exit {status}  {name}: {why}")
                    faults += 1
                elif said_by_writer:
                    print(f"unsaid   {name}: {why}")
                counts["not written" if said_by_writer else "not read"] += 1
        wrong = {}
        if counts["written"]:
            by_ort = suite(top, "ort")
            by_reference = suite(top, "ref") if by_ort else {}
            wrong = {name: by_reference[name] for name in by_ort if name in by_reference}
        for line in wrong.values():
            print("wrong   ", line)
        print(", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {faults} faults, {len(wrong)} wrong in both runtimes")
        fine = options.only or in_versions([test for _, test, _ in jobs], pathlib.Path(folder)) and counts["written"] >= WRITTEN
        return 0 if fine and not faults and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
