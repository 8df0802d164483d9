# ctest: name=e2e.counted, timeout=600
"""Extents that data decides: WHERE and UNIQUE, and what is behind them, at every count; bounds; what has no meaning there, refused."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

import made
from made import Table, Vector
from support import burin

os.chdir(tempfile.mkdtemp())


def model(name, tensors, operators, inputs, outputs):
    pathlib.Path(f"{name}.tflite").write_bytes(made.tflite(tensors, [(*op, None, None)[:5] for op in operators], inputs, outputs))


def run(name, data, *options):
    """[(type, shape, values)] of the outputs."""
    pathlib.Path("in.bin").write_bytes(data)
    os.system("rm -rf out")
    burin("run", f"{name}.tflite", "--input", "in.bin", "--output-dir", "out", *options)
    found = []
    for p in sorted(pathlib.Path("out").iterdir()):
        kind, shape, raw = made.read_npy(p.read_bytes())
        form = {"<i8": "q", "<i4": "i", "<f4": "f"}[kind]
        found.append((kind, shape, list(struct.unpack(f"<{len(raw) // struct.calcsize(form)}{form}", raw))))
    return found


# the places of what holds; a row for each: numbers of a table, their sum, one row more, and how many there are
TABLE = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
model("places", [("mask", "bool", [6], {}), ("places", "i64", [1, 1], {"signature": [-1, 1]}), ("narrow", "i32", [6, 1], {}),
                 ("table", "f32", [6], {"data": TABLE}), ("taken", "f32", [6, 1], {}), ("0", "i32", [1], {"data": [0]}),
                 ("sum", "f32", [1], {}), ("last", "i32", [1, 1], {"data": [99]}), ("more", "i32", [7, 1], {}), ("how many", "i32", [2], {})],
      [("WHERE", [0], [1]), ("CAST", [1], [2]), ("GATHER", [3, 2], [4], Table(_0=("i", 0))), ("SUM", [4, 5], [6], Table(_0=("B", 0))),
       ("CONCATENATION", [2, 7], [8], Table(_0=("i", 0))), ("SHAPE", [1], [9])], [0], [1, 4, 6, 8, 9])
for mask in ([1, 0, 0, 1, 1, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1]):
    at = [k for k, m in enumerate(mask) if m]
    want = [("<i8", (len(at), 1), at), ("<f4", (len(at), 1), [TABLE[k] for k in at]), ("<f4", (1,), [sum(TABLE[k] for k in at)]),
            ("<i4", (len(at) + 1, 1), [*at, 99]), ("<i4", (2,), [len(at), 1])]
    assert run("places", bytes(mask)) == want and run("places", bytes(mask), "--raw") == want, (mask, want)
lines = burin("inspect", "places.tflite").stdout.splitlines()
assert [line.split()[3] for line in lines if line.startswith("output ")] == ["<=6x1", "<=6x1", "1", "<=7x1", "2"], lines

# golden data of fewer rows than the bound, as .npy and as bytes
golden = pathlib.Path("golden")
golden.mkdir()
(golden / "input_0.bin").write_bytes(bytes([1, 0, 0, 1, 0, 0]))
(golden / "output_0.npy").write_bytes(made.npy("<i8", [2, 1], struct.pack("<2q", 0, 3)))
(golden / "output_1.bin").write_bytes(struct.pack("<2f", 10, 40))
(golden / "output_2.bin").write_bytes(struct.pack("<f", 50))
(golden / "output_3.bin").write_bytes(struct.pack("<3i", 0, 3, 99))
(golden / "output_4.bin").write_bytes(struct.pack("<2i", 2, 1))
(golden / "io.txt").write_text("input 0 BOOL [6]\noutput 0 INT64 [2,1]\noutput 1 FLOAT32 [2,1]\noutput 2 FLOAT32 [1]\noutput 3 INT32 [3,1]\n"
                               "output 4 INT32 [2]\n")
burin("verify", "places.tflite", golden)
(golden / "output_1.bin").write_bytes(struct.pack("<f", 10))
(golden / "io.txt").unlink()
assert "output 1: 8 bytes, not 4" in burin("verify", "places.tflite", golden, status=3).stderr

# UNIQUE: the different elements, and of each which it is
model("unique", [("x", "i32", [7], {}), ("different", "i32", [7], {}), ("which", "i32", [7], {})],
      [("UNIQUE", [0], [1, 2], Table(_0=("b", 2)))], [0], [1, 2])
X = [5, -1, 5, 7, -1, 5, 0]
assert run("unique", struct.pack("<7i", *X)) == [("<i4", (4,), [5, -1, 7, 0]), ("<i4", (7,), [0, 1, 0, 2, 1, 0, 3])]

# the graph as text keeps it
text = burin("compile", "places.tflite", "-o", "places.ir") and pathlib.Path("places.ir").read_text()
assert 'symbol "count0" 6 computed' in text and text.count("computed") == 2, text
pathlib.Path("in.bin").write_bytes(bytes([1, 0, 0, 1, 0, 0]))
a, b = (json.loads(burin("run", name, "--input", "in.bin", "--json").stdout)["outputs"] for name in ("places.tflite", "places.ir"))
assert a == b and a[0]["shape"] == [2, 1]

# C has room for the bound, and says how much of it is there; what is behind it is the evaluator's
for options in ([], ["-O0"], ["--test", "2", "--layout", "single"]):
    os.system("rm -rf c")
    burin("compile", "unique.tflite", "-o", "c", *options)
assert run("unique", struct.pack("<7i", *X), "--provider", "host") == [("<i4", (4,), [5, -1, 7, 0]), ("<i4", (7,), [0, 1, 0, 2, 1, 0, 3])]
model("where", [("mask", "bool", [2, 3], {}), ("places", "i64", [6, 2], {}), ("more", "i8", [2, 3], {}), ("places2", "i64", [6, 2], {})],
      [("WHERE", [0], [1]), ("WHERE", [2], [3])], [0, 2], [3, 1, 3])
burin("compile", "where.tflite", "-o", "where", "--prefix", "w")
pathlib.Path("where/main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "w.h"
static union { unsigned char bytes[w_ARENA_BYTES]; double d[2]; long double l; } room;
static w_model model;
int main(void) {
    static const unsigned char masks[2][6] = {{0, 1, 1, 0, 0, 1}, {0, 0, 0, 0, 0, 0}};
    static const signed char more[6] = {-1, 2, 3, 4, 5, 6};
    int k;
    if (w_init(&model, room.bytes, sizeof room.bytes) != w_OK || w_DIM_COUNT != 2) { return 1; }
    for (k = 0; k < 2; k++) {
        memcpy(w_input(&model, 0), masks[k], 6);
        memcpy(w_input(&model, 1), more, 6);
        if (w_run(&model) != w_OK || w_set_dim(&model, 0, 3) != w_ERROR_DIM || w_dim(&model, 2) != 0) { return 2; }
        printf("%d %d %d;", (int)w_dim(&model, w_OUTPUT_0_DIM), (int)w_dim(&model, w_OUTPUT_1_DIM), (int)w_dim(&model, w_OUTPUT_2_DIM));
        for (size_t i = 0; i < w_OUTPUT_1_ELEMENTS; i++) { printf(" %d", (int)((const int64_t *)w_output(&model, 1))[i]); }
        printf("\\n");
    }
    return 0;
}
""")
subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o",
                "where/main", *[str(p) for p in pathlib.Path("where").glob("*.c")], "-lm"], check=True)
said = subprocess.run(["where/main"], check=True, capture_output=True, text=True).stdout.splitlines()
assert said == ["6 3 6; 0 1 0 2 1 2 0 0 0 0 0 0", "6 0 6;" + " 0" * 12], said

# attributes that would follow from the count have no meaning, but -1 has
model("flat", [("mask", "bool", [2, 3], {}), ("places", "i64", [6, 2], {}), ("shape", "i32", [1], {"data": [-1]}), ("flat", "i64", [12], {})],
      [("WHERE", [0], [1]), ("RESHAPE", [1, 2], [3])], [0], [3])
for provider in ("reference", "host"):
    assert run("flat", bytes([0, 1, 0, 0, 1, 1]), "--provider", provider) == [("<i8", (6,), [0, 1, 1, 1, 1, 2])], provider
    assert run("flat", bytes(6), "--provider", provider) == [("<i8", (0,), [])], provider
model("tail", [("mask", "bool", [5], {}), ("places", "i64", [5, 1], {}), ("-1", "i32", [1], {"data": [-1]}), ("0", "i32", [1], {"data": [0]}),
               ("1", "i32", [1], {"data": [1]}), ("last", "i64", [1, 1], {})],
      [("WHERE", [0], [1]), ("STRIDED_SLICE", [1, 2, 3, 4], [5], Table(_1=("i", 1)))], [0], [5])
assert "operator[1] STRIDED_SLICE" in burin("run", "tail.tflite", "--seed", "1", status=1).stderr

# a chain as files have it: rows where a mask holds, their sum; numbers of their own, and the different ones among them
ROWS = [float(k) for k in range(12)]
model("chain", [("mask", "bool", [6], {}), ("places", "i64", [6, 1], {}), ("narrow", "i32", [6, 1], {}), ("rows", "f32", [6, 2], {"data": ROWS}),
                ("taken", "f32", [6, 2], {}), ("1", "i32", [1], {"data": [1]}), ("wide", "f32", [6, 1, 2], {}), ("0", "i32", [1], {"data": [0]}),
                ("sum", "f32", [2], {}), ("flat", "f32", [6, 2], {}), ("kept", "i32", [6], {}), ("each", "i32", [6], {}), ("which", "i32", [6], {}),
                ("ones", "i32", [6], {"data": [4, 4, 5, 4, 6, 5]}), ("shape", "i32", [1], {"data": [-1]}), ("line", "i32", [6], {}),
                ("again", "i32", [6], {})],
      [("WHERE", [0], [1]), ("CAST", [1], [2]), ("GATHER_ND", [3, 2], [4]), ("EXPAND_DIMS", [4, 5], [6]), ("SQUEEZE", [6], [9], Table(_0=Vector([1], "i"))),
       ("SUM", [9, 7], [8], Table(_0=("B", 0))), ("RESHAPE", [2, 14], [15]), ("GATHER", [13, 15], [10], Table(_0=("i", 0))),
       ("UNIQUE", [10], [11, 12], Table(_0=("b", 2))), ("ADD", [11, 11], [16], Table(_0=("b", 0)))], [0], [6, 8, 16, 12])
for provider in ("reference", "host"):
    assert run("chain", bytes([1, 0, 1, 1, 0, 0]), "--provider", provider) == [
        ("<f4", (3, 1, 2), [0, 1, 4, 5, 6, 7]), ("<f4", (2,), [10, 13]), ("<i4", (2,), [8, 10]), ("<i4", (3,), [0, 1, 0])], provider
    assert run("chain", bytes(6), "--provider", provider) == [
        ("<f4", (0, 1, 2), []), ("<f4", (2,), [0, 0]), ("<i4", (0,), []), ("<i4", (0,), [])], provider

# a text that fixes what data decides would have one number of elements here and another there
pathlib.Path("fixed.ir").write_text("""burin 1
model "ir" "fixed"
graph "main" 0 {
  tensor %0 i32[4] "x"
  tensor %1 i64[2,1] "where"
  inputs (%0)
  outputs (%1)
  node where (%0) -> (%1)
}
""")
for words in (["run", "fixed.ir"], ["run", "fixed.ir", "--provider", "host"], ["plan", "fixed.ir"]):
    done = burin(*words, status=1)
    assert "data decides extent 0 of output 0, and the graph says that it is 2" in done.stderr, done.stderr
