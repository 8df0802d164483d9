# ctest: name=e2e.dims, timeout=600
"""Extents of inputs that the caller of a run says, each with a bound: the emitted module's dimensions, and runs by both providers."""
import os
import pathlib
import struct
import subprocess
import tempfile

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())
MODEL = """burin 1
model "ir" "batch"
symbol "batch" 5
symbol "words" 7
symbol "both" 12 computed
graph "main" 0 {
  tensor %0 f32["batch",4] "x"
  tensor %1 f32[1,"words",4] "w"
  tensor %2 f32["batch",4] "z"
  tensor %3 f32["batch",3] "y"
  tensor %4 f32[3,4] "weights" = base64 "AACAPwAAAEAAAEBAAACAQAAAgD8AAABAAABAQAAAgEAAAIA/AAAAQAAAQEAAAIBA"
  tensor %5 f32[1,"words",4] "p"
  tensor %6 f32["words",4] "line"
  tensor %7 f32["both",4] "rows"
  tensor %8 f32[4,"both"] "columns"
  tensor %9 f32[4] "mean"
  tensor %10 f32["batch",4] "sum"
  tensor %11 i32[2] "shape"
  inputs (%0, %1, %2)
  outputs (%3, %5, %8, %9, %11, %10)
  node add (%0, %2) -> (%10)
  node fully_connected (%10, %4, _) -> (%3)
  node softmax (%1) -> (%5)
  node reshape (%1) -> (%6) {shape: ints [-1, 4]}
  node concatenation (%0, %6) -> (%7) {axis: int 0}
  node transpose (%7) -> (%8) {perm: ints [1, 0]}
  node mean (%7) -> (%9) {axes: ints [0]}
  node shape (%7) -> (%11)
}
"""
SANITISE = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
pathlib.Path("batch.ir").write_text(MODEL)

# the check runs least, most and numbers between; golden cases set them, too
for options in (["--layout", "single", "--test", "6"], ["-O0", "--weights", "blob"]):
    os.system("rm -rf m")
    assert "checked: 4 inputs" in burin("compile", "batch.ir", "-o", "m", *options).stdout
    if "--test" in options:
        subprocess.run(["cc", "-std=c99", *SANITISE, "m/batch.c", "m/batch_test.c", "-o", "m/test", "-lm"], check=True)
        assert subprocess.run(["m/test"], check=True, capture_output=True, text=True).stdout == "batch: 6 passed, 0 failed\n"
        pathlib.Path("m/main.c").write_text("""#include <stdio.h>
#include <string.h>
#include "batch.h"
static union { unsigned char bytes[batch_ARENA_BYTES]; double d[2]; long double l; } room;
static batch_model model;
int main(void) {
    static const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const float *y;
    int k;
    if (batch_init(&model, room.bytes, sizeof room.bytes) != batch_OK || batch_dim(&model, batch_INPUT_0_DIM) != 5) { return 1; }
    if (batch_set_dim(&model, batch_INPUT_0_DIM, 6) != batch_ERROR_DIM || batch_set_dim(&model, batch_INPUT_0_DIM, -1) != batch_ERROR_DIM ||
        batch_set_dim(&model, batch_OUTPUT_0_DIM, 1) != batch_ERROR_DIM || batch_set_dim(&model, batch_DIM_COUNT, 1) != batch_ERROR_DIM ||
        batch_set_dim(NULL, 0, 1) != batch_ERROR_NULL) { return 2; }
    if (batch_set_dim(&model, batch_INPUT_0_DIM, 2) != batch_OK || batch_set_dim(&model, batch_INPUT_1_DIM_1, 0) != batch_OK) { return 3; }
    for (k = 0; k < 2; k++) { /* what is set stays set */
        memcpy(batch_input(&model, 0), x, sizeof x);
        memcpy(batch_input(&model, 2), x, sizeof x);
        if (batch_run(&model) != batch_OK) { return 4; }
        y = (const float *)batch_output(&model, 0);
        printf("%d %d %d: %g %g %g %g\\n", (int)batch_dim(&model, batch_INPUT_2_DIM), (int)batch_dim(&model, batch_OUTPUT_0_DIM),
               (int)batch_dim(&model, batch_OUTPUT_2_DIM_1), (double)y[0], (double)y[3], (double)y[5], (double)y[6]);
    }
    return 0;
}
""")
        subprocess.run(["cc", "-std=c99", *SANITISE, "m/batch.c", "m/main.c", "-o", "m/main", "-lm"], check=True)
        said = subprocess.run(["m/main"], check=True, capture_output=True, text=True).stdout
        assert said == "2 2 2: 60 140 140 0\n" * 2, said


def run(provider, x, w, z, status=0):
    for name, shape, values in (("x", [len(x) // 4, 4], x), ("w", [1, len(w) // 4, 4], w), ("z", [len(z) // 4, 4], z)):
        pathlib.Path(f"{name}.npy").write_bytes(made.npy("<f4", shape, struct.pack(f"<{len(values)}f", *values)))
    done = burin("run", "batch.ir", "--input", "x.npy", "--input", "w.npy", "--input", "z.npy", "--provider", provider, "--output-dir", "out", "--force",
                 status=status)
    if status:
        return done.stderr
    read = [made.read_npy(next(pathlib.Path("out").glob(f"output_{i}*")).read_bytes()) for i in range(6)]
    return [(shape, [round(v, 4) for v in struct.unpack(f"<{len(raw) // 4}" + kind[1], raw)]) for kind, shape, raw in read]


for b, t in ((1, 1), (5, 7), (2, 3), (3, 0)):
    x, w, z = ([(k * s % 7 - 3) / 2 for k in range(4 * n)] for s, n in ((3, b), (5, t), (2, b)))
    want = run("reference", x, w, z)
    assert run("host", x, w, z) == want, (b, t)
    assert [shape for shape, _ in want] == [(b, 3), (1, t, 4), (4, b + t), (4,), (2,), (b, 4)] and want[4][1] == [b + t, 4], want
    assert want[3][1] == [round(sum(r[k] for r in [x[4 * i:][:4] for i in range(b)] + [w[4 * i:][:4] for i in range(t)]) / (b + t), 4) for k in range(4)]
assert "they are one symbol" in run("host", [0] * 8, [0] * 4, [0] * 12, status=1)
assert "x.npy: its shape is [6,4], that of the tensor is [5,4]" in run("reference", [0] * 24, [0] * 4, [0] * 24, status=1)

# without a shape the number of bytes says the one extent that is open, wherever it stands
for name, values in (("x", [1, 2, 3, 4]), ("w", [1] * 12), ("z", [0, 0, 0, 1])):
    pathlib.Path(f"{name}.bin").write_bytes(struct.pack(f"<{len(values)}f", *values))
burin("run", "batch.ir", "--input", "x.bin", "--input", "w.bin", "--input", "z.bin", "--output-dir", "raw")
assert made.read_npy(pathlib.Path("raw/output_1.npy").read_bytes()) == ("<f4", (1, 3, 4), struct.pack("<12f", *[0.25] * 12))
pathlib.Path("w.bin").write_bytes(bytes(4 * 4 + 4))
message = burin("run", "batch.ir", "--input", "x.bin", "--input", "w.bin", "--input", "z.bin", status=1).stderr
assert "w.bin: it holds 20 bytes" in message and ".npy" in message, message
# dense elements of two open extents have no fixed places
pathlib.Path("inner.ir").write_text(MODEL.replace('f32[1,"words",4] "w"', 'f32["batch","words",4] "w"').replace('f32[1,"words",4] "p"',
                                                                                                   'f32["batch","words",4] "p"'))
message = burin("compile", "inner.ir", "-o", "n", status=1).stderr
assert 'input "w": extent 1 is open' in message and not os.path.exists("n"), message

# a file that leaves its batch open
WEIGHTS = [((k * 5) % 9 - 4) / 8 for k in range(12)]
pathlib.Path("net.tflite").write_bytes(made.tflite(
    [("x", "f32", [1, 4], {"signature": [-1, 4]}), ("w", "f32", [3, 4], {"data": WEIGHTS}), ("b", "f32", [3], {"data": [0.5, -1.0, 0.25]}),
     ("y", "f32", [1, 3], {}), ("p", "f32", [1, 3], {}), ("z", "f32", [1, 3], {"signature": [-1, 3]}), ("s", "f32", [1, 3], {}),
     ("shape", "i32", [2], {}), ("0", "i32", [1], {"data": [0]}), ("m", "f32", [3], {})],
    [(*op, None, None)[:5] for op in [("FULLY_CONNECTED", [0, 1, 2], [3], Table(_0=("b", 0))), ("SOFTMAX", [3], [4], Table(_0=("f", 1.0))),
                                      ("ADD", [4, 5], [6], Table(_0=("b", 0))), ("SHAPE", [6], [7], Table(_0=("b", 2))),
                                      ("SUM", [6, 8], [9], Table(_0=("B", 0)))]], [0, 5], [6, 7, 9]))
OPEN = ["--dim", "x.0=..5", "--dim", "z.0=..5"]
lines = burin("inspect", "net.tflite", *OPEN).stdout.splitlines()
assert [line.split()[3] for line in lines if line.startswith(("input ", "output "))] == ["<=5x4", "<=5x3", "<=5x3", "2", "3"], lines
burin("compile", "net.tflite", *OPEN, "-o", "net", "--test", "4", "--layout", "single")
subprocess.run(["cc", "-std=c99", *SANITISE, "net/net.c", "net/net_test.c", "-o", "net/test", "-lm"], check=True)
assert subprocess.run(["net/test"], check=True, capture_output=True, text=True).stdout == "net: 4 passed, 0 failed\n"
for rows in (1, 3, 5):
    pathlib.Path("x.bin").write_bytes(struct.pack(f"<{4 * rows}f", *[k / 8 for k in range(4 * rows)]))
    pathlib.Path("z.bin").write_bytes(struct.pack(f"<{3 * rows}f", *[1.0] * (3 * rows)))
    for provider in ("reference", "host"): # softmax sums to 1: with 1 added three times, 4 a row
        burin("run", "net.tflite", *OPEN, "--input", "x.bin", "--input", "z.bin", "--provider", provider, "--output-dir", "o", "--force")
        kind, shape, raw = made.read_npy(next(pathlib.Path("o").glob("output_0*")).read_bytes())
        assert shape == (rows, 3) and abs(sum(struct.unpack(f"<{3 * rows}f", raw)) - 4 * rows) < 1e-4, (rows, provider, shape)
        assert struct.unpack("<2i", made.read_npy(next(pathlib.Path("o").glob("output_1*")).read_bytes())[2]) == (rows, 3)
assert "..8" in burin("run", "net.tflite", "--dim", "x.0=..", status=2).stderr

# Flatten and Reshape as Keras has them: their lists are computed from the shape, of which each run says one extent


def keras(last, packed=True):
    """x[n,2,3] -> CONCATENATION with itself -> Flatten: PACK(n, -1) -> FULLY_CONNECTED -> Reshape: PACK(n, ...) or CONCATENATION -> y"""
    tensors = [("x", "f32", [1, 2, 3], {"signature": [-1, 2, 3]}), ("xx", "f32", [1, 2, 6], {"signature": [-1, 2, 6]}), ("shape", "i32", [3], {}),
               ("from", "i32", [1], {"data": [0]}), ("to", "i32", [1], {"data": [1]}), ("by", "i32", [1], {"data": [1]}), ("n", "i32", [], {}),
               ("rest", "i32", [], {"data": [-1]}), ("flat_shape", "i32", [2], {}), ("flat", "f32", [1, 12], {"signature": [-1, 12]}),
               ("w", "f32", [4, 12], {"data": [((k * 5) % 9 - 4) / 8 for k in range(48)]}), ("h", "f32", [1, 4], {"signature": [-1, 4]}),
               ("shape2", "i32", [2], {}), ("n2", "i32", [] if packed else [1], {}), ("two", "i32", [] if packed else [1], {"data": [2]}),
               ("last", "i32", [] if packed else [1], {"data": [last]}), ("y_shape", "i32", [3], {}),
               ("y", "f32", [1, 2, 2], {"signature": [-1, 2, 2]})]
    slice_n = Table(_0=("i", 0), _1=("i", 0), _4=("i", 1 if packed else 0))
    join = ("PACK", [13, 14, 15], [16], Table(_0=("i", 3))) if packed else ("CONCATENATION", [13, 14, 15], [16], Table(_0=("i", 0)))
    return made.tflite(tensors, [(*op, None, None)[:5] for op in [
        ("CONCATENATION", [0, 0], [1], Table(_0=("i", 2))), ("SHAPE", [1], [2], Table(_0=("b", 2))),
        ("STRIDED_SLICE", [2, 3, 4, 5], [6], Table(_0=("i", 0), _1=("i", 0), _4=("i", 1))), ("PACK", [6, 7], [8], Table(_0=("i", 2))), ("RESHAPE", [1, 8], [9], None),
        ("FULLY_CONNECTED", [9, 10, -1], [11], Table(_0=("b", 0))), ("SHAPE", [11], [12], Table(_0=("b", 2))),
        ("STRIDED_SLICE", [12, 3, 4, 5], [13], slice_n), join, ("RESHAPE", [11, 16], [17], None)]], [0], [17])


def doubled(rows):
    x = [[(k * 7 + r * 5) % 11 / 4 - 1 for k in range(6)] for r in range(rows)]
    flat = [row[:3] * 2 + row[3:] * 2 for row in x]
    return [v for row in x for v in row], [sum(a * ((k + 12 * o) * 5 % 9 - 4) / 8 for k, a in enumerate(row)) for row in flat for o in range(4)]


for name, data in (("fixed", keras(2)), ("minus", keras(-1)), ("joined", keras(-1, False))):
    pathlib.Path(f"{name}.tflite").write_bytes(data)
    open_x = ["--dim", "x.0=..6"]
    lines = burin("inspect", f"{name}.tflite", *open_x).stdout.splitlines()
    assert [line.split()[3] for line in lines if line.startswith("output ")] == ["<=6x2x2"], lines
    assert "checked: 4 inputs" in burin("compile", f"{name}.tflite", *open_x, "-o", f"{name}_c", "--test", "4", "--layout", "single").stdout
    source = pathlib.Path(f"{name}_c/{name}.c").read_text()
    assert "strided_slice" not in source and "pack" not in source  # nothing is left of the lists
    subprocess.run(["cc", "-std=c99", *SANITISE, f"{name}_c/{name}.c", f"{name}_c/{name}_test.c", "-o", f"{name}_c/test", "-lm"], check=True)
    assert subprocess.run([f"{name}_c/test"], check=True, capture_output=True, text=True).stdout == f"{name}: 4 passed, 0 failed\n"
    for rows in (1, 4, 6):
        x, want = doubled(rows)
        pathlib.Path("x.bin").write_bytes(struct.pack(f"<{6 * rows}f", *x))
        for provider in ("reference", "host"):
            burin("run", f"{name}.tflite", *open_x, "--input", "x.bin", "--provider", provider, "--output-dir", "o", "--force")
            kind, shape, raw = made.read_npy(next(pathlib.Path("o").glob("output_0*")).read_bytes())
            assert shape == (rows, 2, 2) and max(abs(a - b) for a, b in zip(struct.unpack(f"<{4 * rows}f", raw), want)) < 1e-5, (name, rows, shape)
# 4 elements a row are no threes, whatever n is
pathlib.Path("threes.tflite").write_bytes(keras(3))
message = burin("compile", "threes.tflite", "--dim", "x.0=..6", "-o", "threes", status=1).stderr
assert "RESHAPE: its list is of 6 elements for each of the 4 that its input has" in message, message
# twice the extent, by another road: nothing is known of it, but it is the only one that is not
pathlib.Path("twice.tflite").write_bytes(made.tflite(
    [("x", "f32", [1, 4], {"signature": [-1, 4]}), ("shape", "i32", [2], {}), ("0", "i32", [1], {"data": [0]}), ("n", "i32", [1], {}),
     ("wide", "i64", [1], {}), ("again", "i32", [1], {}), ("2", "i32", [1], {"data": [2]}), ("2n", "i32", [1], {}), ("list", "i32", [2], {}),
     ("flat", "f32", [2, 2], {"signature": [-1, 2]}), ("y", "f32", [2, 2], {"signature": [-1, 2]})],
    [(*op, None, None)[:5] for op in [("SHAPE", [0], [1], Table(_0=("b", 2))), ("GATHER", [1, 2], [3], Table(_0=("i", 0))), ("CAST", [3], [4], None),
                                      ("CAST", [4], [5], None), ("MUL", [5, 6], [7], Table(_0=("b", 0))),
                                      ("CONCATENATION", [7, 6], [8], Table(_0=("i", 0))), ("RESHAPE", [0, 8], [9], None),
                                      ("ADD", [9, 9], [10], Table(_0=("b", 0)))]], [0], [10]))
assert "checked: 4 inputs" in burin("compile", "twice.tflite", "--dim", "x.0=..5", "-o", "twice").stdout
pathlib.Path("x.bin").write_bytes(struct.pack("<12f", *range(12)))
for provider in ("reference", "host"):
    burin("run", "twice.tflite", "--dim", "x.0=..5", "--input", "x.bin", "--provider", provider, "--output-dir", "o", "--force")
    assert made.read_npy(next(pathlib.Path("o").glob("output_0*")).read_bytes()) == ("<f4", (6, 2), struct.pack("<12f", *range(0, 24, 2)))
