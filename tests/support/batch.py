"""Many emitted modules in one program: one object of all of them, which is looked at, and a driver that calls each.

A module is P.h and P.c of --layout single, its prefix P its name here. A run takes arrays and gives arrays, where data or the caller decide
extents with the shapes that there are. Arrays are numpy's, of types below a byte and of the short floats ml_dtypes', as onnx has them.
"""
import os
import pathlib
import re
import struct
import subprocess

import numpy as np
from onnx import TensorProto, helper, numpy_helper

TYPES = {1: "DOUBLE", 2: "FLOAT", 3: "FLOAT16", 4: "BFLOAT16", 5: "FLOAT8E4M3FN", 6: "FLOAT8E4M3FNUZ", 7: "FLOAT8E5M2", 8: "FLOAT8E5M2FNUZ",
         9: "FLOAT8E8M0", 10: "FLOAT4E2M1", 11: "INT64", 12: "INT32", 13: "INT16", 14: "INT8", 15: "INT4", 16: "INT2", 17: "UINT64", 18: "UINT32",
         19: "UINT16", 20: "UINT8", 21: "UINT4", 22: "UINT2", 23: "BOOL"}
ALLOWED = set("memcpy memmove memset _GLOBAL_OFFSET_TABLE_".split())
# what libm has, by the names that C99 gives it
LIBM = set("acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb "
           "ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalbn sin "
           "sinh sqrt tan tanh tgamma trunc".split())
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Werror"]

ONE = """
#include "P.h"
static int run_P(void) {
    static P_model model;
    size_t i, a, bytes = P_ARENA_BYTES;
    uint8_t *room = (uint8_t *)malloc(bytes + P_ARENA_ALIGNMENT + 1), *arena = room;
    P_status status;
    if (!room) { return 9; }
    while ((uintptr_t)arena % P_ARENA_ALIGNMENT) { arena++; }
    memset(arena, 0xa5, bytes);
    if (P_init(&model, arena, bytes) != P_OK) { return 10; }
    while (take(&i, 4)) {
        int32_t extent;
        if (i == 0xffffffffu) { break; }
        if (!take32(&extent) || P_set_dim(&model, i, extent) != P_OK) { return 11; }
    }
    for (i = 0; i < P_INPUT_COUNT; i++) {
        size_t n = 0;
        if (!take(&n, 4) || n > P_input_info(i)->bytes || (n && fread(P_input(&model, i), 1, n, stdin) != n)) { return 12; }
    }
    status = P_run(&model);
    if (status != P_OK) { fputs(P_status_text(status), stderr); return 13; }
    for (i = 0; i < P_OUTPUT_COUNT; i++) {
        const P_tensor *t = P_output_info(i);
        give((uint32_t)t->type); give(t->rank); give(t->bytes);
        for (a = 0; a < t->rank; a++) { give((uint32_t)t->dims[a]); }
        fwrite(P_output(&model, i), 1, t->bytes, stdout);
    }
    for (i = 0; i < P_DIM_COUNT; i++) { give((uint32_t)P_dim(&model, i)); }
    free(room);
    return fflush(stdout) != 0;
}
"""
HEAD = """#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int take32(int32_t *to) {
    unsigned char b[4];
    if (fread(b, 1, 4, stdin) != 4) { return 0; }
    *to = (int32_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    return 1;
}
static int take(size_t *to, size_t bytes) {
    int32_t v = 0;
    if (bytes != 4 || !take32(&v)) { return 0; }
    *to = (uint32_t)v;
    return 1;
}
static void give(uint32_t v) {
    unsigned char b[4];
    int i;
    for (i = 0; i < 4; i++) { b[i] = (unsigned char)(v >> 8 * i); }
    fwrite(b, 1, 4, stdout);
}
"""


def bytes_of(array):
    """An array's bytes as ONNX's raw_data, which is how the arena has them."""
    return numpy_helper.from_array(np.ascontiguousarray(array)).raw_data if array.size else b""


def array_of(kind, dims, data):
    t = TensorProto(data_type=TensorProto.DataType.Value(TYPES[kind]), dims=dims)
    n = int(np.prod(dims, dtype=np.int64))
    if n == 0:
        return np.zeros(dims, helper.tensor_dtype_to_np_dtype(t.data_type))
    bits = {10: 4, 15: 4, 21: 4, 16: 2, 22: 2}.get(kind)
    size = (n * bits + 7) // 8 if bits else n * helper.tensor_dtype_to_np_dtype(t.data_type).itemsize
    t.raw_data = data[:size]
    return numpy_helper.to_array(t)


class Batch:
    """Modules P.c and P.h of one folder; flags: the C compiler's, for modules and driver alike."""

    def __init__(self, folder, flags=("-O0",), compiler=None):
        self.folder, self.flags, self.compiler = pathlib.Path(folder), list(flags), compiler or os.environ.get("CC", "cc")
        self.names, self.program = [], self.folder / "driver"

    def _compile(self, names):
        """One object of these modules -> None, or why not: it does not build, or needs what nobody may need."""
        (self.folder / "modules.c").write_text("".join(f'#include "{n}.c"\n' for n in names))
        done = subprocess.run([self.compiler, *STRICT, *self.flags, "-c", "modules.c"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            return "does not build: " + next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        if any("sanitize" in f for f in self.flags):
            return None
        needs = subprocess.run(["nm", "-u", "modules.o"], cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()
        bad = [s for s in needs if s not in ("U", "w") and s not in ALLOWED and not re.fullmatch(f"({'|'.join(LIBM)})[fl]?", s)]
        return f"needs {' '.join(bad)}" if bad else None

    def build(self, names):
        """-> name: why it is not there, of those that are not"""
        why = self._compile(names)
        bad = {}
        if why and len(names) > 1:
            bad = {n: w for n in names for w in [self._compile([n])] if w}
            names = [n for n in names if n not in bad]
            why = self._compile(names) if names else None
        if why:
            return {n: why for n in names} | bad
        text = [HEAD, *(re.sub(r"\bP(?=[_.])|(?<=run_)P\b", n, ONE) for n in names), "int main(int argc, char **argv) {\n    if (argc < 2) { return 2; }\n",
                *(f'    if (!strcmp(argv[1], "{n}")) {{ return run_{n}(); }}\n' for n in names), "    return 3;\n}\n"]
        (self.folder / "driver.c").write_text("".join(text))
        subprocess.run([self.compiler, *self.flags, "driver.c", "modules.o", "-lm", "-o", "driver"], cwd=self.folder, check=True)
        self.names = names
        return bad

    def run(self, name, inputs, timeout=120):
        """inputs: arrays in the module's order -> (arrays, None) or (None, why)."""
        header = (self.folder / f"{name}.h").read_text()
        dims = {(way, int(i), int(a or 0)): int(k) for way, i, a, k in re.findall(rf"#define {name}_(INPUT|OUTPUT)_(\d+)_DIM(?:_(\d+))? (\d+)", header)}
        counts = int(re.search(rf"#define {name}_DIM_COUNT (\d+)", header)[1])
        data = b"".join(struct.pack("<II", k, inputs[i].shape[a]) for (way, i, a), k in dims.items() if way == "INPUT") + struct.pack("<I", 0xffffffff)
        for x in inputs:
            raw = bytes_of(x)
            data += struct.pack("<I", len(raw)) + raw
        try:
            done = subprocess.run([self.program, name], input=data, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None, f"it takes more than {timeout} s"
        if done.returncode or done.stderr:
            return None, f"status {done.returncode} {done.stderr[:400].decode(errors='replace')}"
        out, at, raw = [], 0, done.stdout
        while at < len(raw) - 4 * counts:
            kind, rank, size = struct.unpack_from("<III", raw, at)
            shape = list(struct.unpack_from(f"<{rank}I", raw, at + 12))
            out.append((kind, shape, raw[at + 12 + 4 * rank:at + 12 + 4 * rank + size]))
            at += 12 + 4 * rank + size
        there = struct.unpack_from(f"<{counts}I", raw, at)
        for (way, i, a), k in dims.items():
            if way == "OUTPUT":
                out[i][1][a] = there[k]
        return [array_of(*o) for o in out], None
