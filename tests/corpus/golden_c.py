#!/usr/bin/env python3
# ctest: name=corpus.golden_c, labels=corpus, timeout=3000
"""Every golden model of the corpus that Burin takes: its emitted C, built by several compilers and ways, gives TFLM's outputs.

  golden_c.py [--all] [--only PATTERN] [--configs NAME,...] [--devices NAME,...] [--at-least N] [--times]

Integers bit for bit; floats within 1e-4 relative and 1e-5 of the output's largest value (tools/harness of ../shared uses the same).
Each build is `-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror`; the sanitizer build must also say nothing.
Every model is compiled for every device: their schedules differ, and all of it is C that this machine runs. --all builds each of
these modules in every configuration. Without it that holds for those that cost little; of the others, those for the generic device
are built optimised and sanitized, and those for the rest in one configuration, by turns. Equal text is built once.
"""
import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import zlib

import emitted
import support

CONFIGS = {
    "gcc-O2": ["gcc", *emitted.STRICT, "-O2"],
    "gcc-O0": ["gcc", *emitted.STRICT, "-O0"],
    "gcc-native": ["gcc", *emitted.STRICT, "-O3", "-march=native"],
    "clang": ["clang", *emitted.STRICT, "-O2"],
    "m32": ["gcc", *emitted.STRICT, "-m32", "-msse2", "-mfpmath=sse", "-O2"],
    "sanitized": ["gcc", *emitted.STRICT, "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "cxx": ["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"],
}
DEVICES = ["generic", "host", "cortex-m4"]
CHEAP_TEXT, CHEAP_MACS = 50_000, 4_000_000  # a module of no more bytes of kernels and multiplications is built in every configuration
WRONG_GOLDEN = {"ops/litert/add_quantized_int8": "TFLM itself is wrong there"}


def goldens():
    root = support.shared("corpus/tflite/golden_tflm")
    for folder in sorted(p.parent for p in root.rglob("io.txt")):
        name = str(folder.relative_to(root))
        yield name, folder, root.parent / (name + ".tflite")


def tensors(folder):
    found = {"input": [], "output": []}
    for line in (folder / "io.txt").read_text().splitlines():
        words = line.split()
        if words and words[0] in found:
            found[words[0]].append((words[2], [int(x) for x in words[3].strip("[]").split(",") if x]))
    return found["input"], found["output"]


def input_bytes(folder, inputs):
    files = [folder / f"input_{k}.bin" for k in range(len(inputs))]
    if all(f.exists() for f in files):
        return b"".join(f.read_bytes() for f in files)
    state, out = 12345, b""
    for kind, dims in inputs:
        raw, state = emitted.made(kind, math.prod(dims), state)
        out += raw
    return out


def compare(out, outputs, folder):
    at = 0
    for k, (kind, _) in enumerate(outputs):
        want = (folder / f"output_{k}.bin").read_bytes()
        fault = emitted.differs(kind, out[at : at + len(want)], want)
        if fault:
            return f"output {k}: {fault}"
        at += len(want)
    return None if at == len(out) else f"{len(out)} bytes, not {at}"


def chosen(options, name, device, module, plan):
    """The configurations that this module is built in."""
    text = (module / "P_kernels.c").stat().st_size
    if options.all or text <= CHEAP_TEXT and plan["macs"] <= CHEAP_MACS:
        return options.configs
    turn = zlib.crc32(f"{name} {device}".encode())
    picked = ["gcc-O2", "sanitized"] if device == "generic" else [list(CONFIGS)[turn % len(CONFIGS)]]
    return [c for c in picked if c in options.configs]


def one(item, options):
    """-> (name, 'passed' | 'refused' | 'wrong' | 'skipped', why, builds)"""
    name, folder, model = item
    if name in WRONG_GOLDEN:
        return name, "skipped", WRONG_GOLDEN[name], 0
    inputs, outputs = tensors(folder)
    data = input_bytes(folder, inputs)
    seen, builds = set(), 0
    work = pathlib.Path(tempfile.mkdtemp(prefix="golden-c-"))
    try:
        for device in options.devices:
            module = work / device
            done = emitted.emit(model, module, "--device", device)
            if done.returncode:
                return name, "refused" if done.returncode == 1 else "wrong", f"{device}: {emitted.refusal(done)}", builds
            plan = json.loads(done.stdout)
            text = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(module.glob("*")) if not p.name.endswith(".json"))).digest()
            for config in chosen(options, name, device, module, plan):
                if (text, config) in seen:
                    continue
                seen.add((text, config))
                start = time.monotonic()
                program, fault = emitted.build(module, CONFIGS[config])
                out, fault = (None, fault) if fault else emitted.run(program, data)
                fault = fault or compare(out, outputs, folder)
                if fault:
                    return name, "wrong", f"{device}, {config}: {fault}", builds
                builds += 1
                if options.times:
                    size = (module / "P_kernels.c").stat().st_size
                    print(f"time {name} {device} {config} {size} {plan['macs']} {time.monotonic() - start:.2f}", flush=True)
            shutil.rmtree(module)
        return name, "passed", "", builds
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--configs", default=",".join(CONFIGS))
    parser.add_argument("--devices", default=",".join(DEVICES))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--at-least", type=int, default=98)
    options = parser.parse_args()
    options.configs = [c for c in options.configs.split(",") if shutil.which(CONFIGS[c][0]) or support.skip(f"no {CONFIGS[c][0]}")]
    options.devices = options.devices.split(",")
    items = [g for g in goldens() if re.search(options.only, g[0])]
    counts, total = {}, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, verdict, why, builds in pool.map(lambda g: one(g, options), items):
            total += builds
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict != "passed":
                print(f"{verdict:8} {name}: {why}", flush=True)
    print(f"configs: {', '.join(options.configs)}; devices: {', '.join(options.devices)}; {total} programs built and run; "
          f"{counts.get('refused', 0)} models refused (operators of later issues)")
    print(f"{counts.get('passed', 0)} passed, {counts.get('wrong', 0)} failed, {counts.get('skipped', 0)} skipped")
    least = min(options.at_least, len(items)) if not options.only else 1
    sys.exit(1 if counts.get("wrong") or counts.get("passed", 0) < least else 0)


main()
