"""What tests of emitted C share: a module is made from a model, built with a driver, and run on inputs; made inputs; comparison.

The module's prefix is P. Inputs and outputs are bytes, in the model's order.
"""
import array
import math
import os
import pathlib
import subprocess

import support

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Werror"]
TYPES = {"FLOAT32": "f", "INT8": "b", "UINT8": "B", "INT16": "h", "INT32": "i", "INT64": "q", "BOOL": "B"}
BLOB_ABOVE = 100_000  # bytes of model: its weights as a blob, so that compilers read less text

DRIVER = """#include <stdio.h>
#include <stdlib.h>
#include "P.h"
static P_model model;
static unsigned char room[P_ARENA_BYTES + 64];
int main(int argc, char **argv) {
    unsigned char *arena = room;
    size_t i;
    while ((size_t)arena % P_ARENA_ALIGNMENT) { arena++; }
    for (i = 0; i < P_ARENA_BYTES; i++) { arena[i] = 0xa5; }
INIT
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
        unsigned char *blob = (unsigned char *)malloc(P_WEIGHTS_BYTES);
        if (!f || !blob || fread(blob, 1, P_WEIGHTS_BYTES, f) != P_WEIGHTS_BYTES) { return 9; }
        fclose(f);
        if (P_init_weights(&model, arena, P_ARENA_BYTES, blob, P_WEIGHTS_BYTES) != P_OK) { return 10; }
    }"""


def emit(model, module, *options):
    """Compiles the model into the folder, with a driver -> the command as it finished; what it printed is JSON."""
    blob = ["--weights", "blob"] if model.stat().st_size > BLOB_ABOVE else []
    done = subprocess.run([os.environ["BURIN"], "compile", model, "-o", module, "--prefix", "P", "--no-check", "--json", *blob, *options],
                          capture_output=True, text=True)
    if done.returncode == 0:
        (module / "driver.c").write_text(DRIVER.replace("INIT", BLOB if blob else INLINE))
    return done


def build(module, compiler, name="driver"):
    """Builds the module and its driver -> (program, None) or (None, why not)."""
    program = module / name
    done = subprocess.run([*compiler, "-o", program, *sorted(str(p) for p in module.glob("*.c")), "-lm"], cwd=module, capture_output=True, text=True)
    if done.returncode:
        return None, "does not build: " + next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
    return program, None


def run(program, data):
    """Runs the driver on the bytes of all inputs -> (bytes of all outputs, None) or (None, what went wrong)."""
    blob = [str(p) for p in pathlib.Path(program).parent.glob("*_weights.bin")]
    ran = subprocess.run([program, *blob], input=data, capture_output=True, timeout=900)
    if ran.returncode or ran.stderr:
        return None, f"status {ran.returncode} {ran.stderr[:300].decode(errors='replace')}"
    return ran.stdout, None


def made(kind, n, state):
    """The corpus's rule for inputs: the bytes of n elements, and the generator's next state."""
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


def differs(kind, got, want):
    """None, or the first element that differs: integers in any bit, floats by more than 1e-4 of themselves and 1e-5 of the largest."""
    if got == want:
        return None
    if len(got) != len(want):
        return f"{len(got)} bytes, not {len(want)}"
    x, y = array.array(TYPES[kind], got), array.array(TYPES[kind], want)
    top = max((abs(v) for v in y if math.isfinite(v)), default=0) if kind == "FLOAT32" else 0
    for i, (a, b) in enumerate(zip(x, y)):
        near = kind == "FLOAT32" and ((a != a and b != b) or abs(a - b) <= 1e-5 * top + 1e-4 * abs(b))
        if a != b and not near:
            return f"[{i}] {a}, not {b}; {sum(p != q for p, q in zip(x, y))} of {len(x)} are not equal"
    return None


def refusal(done):
    """The first line of what a command that ended said, but for warnings."""
    return (support.first_error(done.stderr) or f"exit {done.returncode}")[:200]
