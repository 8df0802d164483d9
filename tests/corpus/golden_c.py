#!/usr/bin/env python3
# ctest: name=corpus.golden_c, labels=corpus, timeout=3000
"""Every golden model of the corpus that Burin takes: its emitted C, built by several compilers and ways, gives TFLM's outputs.

  golden_c.py [--only PATTERN] [--configs NAME,...] [--device NAME] [--at-least N]

Integers bit for bit; floats within 1e-4 relative and 1e-5 of the output's largest value (tools/harness of ../shared uses the same).
Each build is `-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Werror`; the sanitizer build must also say nothing.
"""
import argparse
import array
import concurrent.futures
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import support

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Werror"]
CONFIGS = {
    "gcc-O2": ["gcc", *STRICT, "-O2"],
    "gcc-O0": ["gcc", *STRICT, "-O0"],
    "gcc-native": ["gcc", *STRICT, "-O3", "-march=native"],
    "clang": ["clang", *STRICT, "-O2"],
    "m32": ["gcc", *STRICT, "-m32", "-msse2", "-mfpmath=sse", "-O2"],
    "sanitized": ["gcc", *STRICT, "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "cxx": ["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2"],
}
TYPES = {"FLOAT32": "f", "INT8": "b", "UINT8": "B", "INT16": "h", "INT32": "i", "INT64": "q", "BOOL": "B"}
WRONG_GOLDEN = {"ops/litert/add_quantized_int8": "TFLM itself is wrong there"}
BLOB_ABOVE = 400_000  # bytes of model: its weights as a blob, so that compilers read less text

DRIVER = """#include <stdio.h>
#include <stdlib.h>
#include "P.h"
static P_model model;
static unsigned char room[P_ARENA_BYTES + 64];
int main(int argc, char **argv) {
    unsigned char *arena = room;
    size_t i;
    while ((size_t)arena %% P_ARENA_ALIGNMENT) { arena++; }
    for (i = 0; i < P_ARENA_BYTES; i++) { arena[i] = 0xa5; }
%(init)s
    for (i = 0; i < P_INPUT_COUNT; i++) {
        if (P_input_info(i)->bytes && fread(P_input(&model, i), 1, P_input_info(i)->bytes, stdin) != P_input_info(i)->bytes) { return 11; }
    }
    if (P_run(&model) != P_OK) { return 12; }
    for (i = 0; i < P_OUTPUT_COUNT; i++) { fwrite(P_output(&model, i), 1, P_output_info(i)->bytes, stdout); }
    (void)argc; (void)argv;
    return fflush(stdout) != 0;
}
"""
INLINE = "    if (P_init(&model, arena, P_ARENA_BYTES) != P_OK) { return 10; }"
BLOB = """    {
        FILE *f = fopen(argv[1], "rb");
        void *blob = aligned_room(P_WEIGHTS_BYTES);
        if (!f || !blob || fread(blob, 1, P_WEIGHTS_BYTES, f) != P_WEIGHTS_BYTES) { return 9; }
        fclose(f);
        if (P_init_weights(&model, arena, P_ARENA_BYTES, blob, P_WEIGHTS_BYTES) != P_OK) { return 10; }
    }"""


def made(kind, n, state):
    """The corpus's rule for inputs: bytes, and the generator's next state."""
    out = array.array(TYPES[kind])
    for _ in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        r = (state >> 8) / 16777216
        if kind == "FLOAT32":
            out.append(2 * r - 1)
        elif kind in ("INT8", "UINT8"):
            v = int(256 * r)
            out.append(v - 256 if kind == "INT8" and v > 127 else v)
        elif kind == "INT16":
            out.append(int(65536 * r - 32768))
        elif kind == "BOOL":
            out.append(int(r >= 0.5))
        else:
            out.append(int(2 * r))
    return out.tobytes(), state


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
        raw, state = made(kind, math.prod(dims), state)
        out += raw
    return out


def differs(kind, got, want):
    if got == want:
        return None
    x, y = array.array(TYPES[kind], got), array.array(TYPES[kind], want)
    top = max((abs(v) for v in y if math.isfinite(v)), default=0) if kind == "FLOAT32" else 0
    for i, (a, b) in enumerate(zip(x, y)):
        near = kind == "FLOAT32" and ((a != a and b != b) or abs(a - b) <= 1e-5 * top + 1e-4 * abs(b))
        if a != b and not near:
            return f"[{i}] {a}, not {b}"
    return None


def compare(out, outputs, folder):
    at = 0
    for k, (kind, _) in enumerate(outputs):
        want = (folder / f"output_{k}.bin").read_bytes()
        fault = differs(kind, out[at : at + len(want)], want) if len(out) >= at + len(want) else "too few bytes"
        if fault:
            return f"output {k}: {fault}"
        at += len(want)
    return None if at == len(out) else f"{len(out)} bytes, not {at}"


def refusal(done):
    return next((line for line in done.stderr.splitlines() if line), f"exit {done.returncode}")[:200]


def build_and_run(module, blob, config, data):
    program = module / f"driver_{config}"
    sources = sorted(str(p) for p in module.glob("*.c"))
    built = subprocess.run([*CONFIGS[config], "-o", program, *sources, "-lm"], cwd=module, capture_output=True, text=True)
    if built.returncode:
        return None, "does not build: " + next((l for l in built.stderr.splitlines() if "error" in l), built.stderr[:200])
    ran = subprocess.run([program, *blob], cwd=module, input=data, capture_output=True, timeout=600)
    program.unlink()
    if ran.returncode or ran.stderr:
        return None, f"status {ran.returncode} {ran.stderr[:300].decode(errors='replace')}"
    return ran.stdout, None


def one(item, options):
    """-> (name, 'passed' | 'refused' | 'wrong', why)"""
    name, folder, model = item
    if name in WRONG_GOLDEN:
        return name, "skipped", WRONG_GOLDEN[name]
    inputs, outputs = tensors(folder)
    work = tempfile.mkdtemp(prefix="golden-c-")
    try:
        module = support.pathlib.Path(work) / "m"
        with_blob = model.stat().st_size > BLOB_ABOVE
        done = subprocess.run([os.environ["BURIN"], "compile", model, "-o", module, "--prefix", "P", "--no-check", "--quiet", "--device", options.device,
                               *(["--weights", "blob"] if with_blob else [])], capture_output=True, text=True)
        if done.returncode:
            return name, "refused" if done.returncode == 1 else "wrong", refusal(done)
        driver = DRIVER % {"init": BLOB.replace("aligned_room", "malloc") if with_blob else INLINE}
        (module / "driver.c").write_text(driver.replace("void *blob = malloc(P_WEIGHTS_BYTES)", "unsigned char *blob = (unsigned char *)malloc(P_WEIGHTS_BYTES)"))
        blob = [str(p) for p in module.glob("*_weights.bin")]
        data = input_bytes(folder, inputs)
        for config in options.configs:
            out, fault = build_and_run(module, blob, config, data)
            fault = fault or compare(out, outputs, folder)
            if fault:
                return name, "wrong", f"{config}: {fault}"
        return name, "passed", ""
    finally:
        shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--configs", default=",".join(CONFIGS))
    parser.add_argument("--device", default="generic")
    parser.add_argument("--at-least", type=int, default=98)
    options = parser.parse_args()
    options.configs = [c for c in options.configs.split(",") if shutil.which(CONFIGS[c][0]) or support.skip(f"no {CONFIGS[c][0]}")]
    items = [g for g in goldens() if re.search(options.only, g[0])]
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for name, verdict, why in pool.map(lambda g: one(g, options), items):
            counts[verdict] = counts.get(verdict, 0) + 1
            if verdict != "passed":
                print(f"{verdict:8} {name}: {why}", flush=True)
    print(f"configs: {', '.join(options.configs)}; device {options.device}; refused (operators of later issues): {counts.get('refused', 0)}")
    print(f"{counts.get('passed', 0)} passed, {counts.get('wrong', 0)} failed, {counts.get('skipped', 0)} skipped")
    least = min(options.at_least, len(items)) if not options.only else 1
    sys.exit(1 if counts.get("wrong") or counts.get("passed", 0) < least else 0)


main()
