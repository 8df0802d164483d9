# ctest: name=e2e.ops
"""Custom operators: --ops gives them a meaning, their options become attributes; without it they are refused by name.

The options are FlexBuffers maps as FlatBuffers' own Python package (25.x) writes them.
"""
import json
import math
import os
import pathlib
import struct
import subprocess
import tempfile

import made
from support import SOURCE, burin

os.chdir(tempfile.mkdtemp())
EXAMPLE = str(SOURCE / "docs/examples/soft_clip.op")
# {"_converter": 7, "limit": 0.5, "mode": "odd", "times": 2, "weights": [1.0, 2.5]}
OPTIONS = bytes.fromhex("5f636f6e766572746572006c696d6974006d6f646500036f64640074696d657300776569676874730000000002000000"
                        "0000803f0000204005392f2a211c0000070000000100000005000000070000000000003f3d000000020000002c000000060e140636192601")
NESTED = bytes.fromhex("6c696d69740078000103010101010401100101010724022401")  # {"limit": {"x": 1}}


def model(name, code, options):
    x, y = ("x", "f32", [2, 2], {}), ("y", "f32", [2, 2], {})
    pathlib.Path(name).write_bytes(made.tflite([x, y], [("CUSTOM", [0], [1], None, code, options)], [0], [1]))


def refused(*words, says, status=1):
    done = burin(*words, status=status)
    for part in says:
        assert part in done.stderr, (words, part, done.stderr)


def definition(name, text):
    pathlib.Path(name).write_text(text)
    return name


model("clip.tflite", "soft-clip", OPTIONS)
INPUT = [0.25, -3.0, 1e-3, 40.0]
pathlib.Path("x.bin").write_bytes(struct.pack("<4f", *INPUT))

# ---- by its definition, in the evaluator and in the emitted C, which was checked ----
want = [0.5 * math.tanh(v / 0.5) * 2 + 2.5 for v in INPUT]
for provider in ("reference", "host"):
    burin("run", "clip.tflite", "--ops", EXAMPLE, "--input", "x.bin", "--provider", provider, "--output-dir", provider)
    data = made.read_npy(pathlib.Path(provider, "output_0.npy").read_bytes())[2]
    assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(struct.unpack("<4f", data), want)), (provider, data, want)
assert "checked: " in burin("compile", "clip.tflite", "--ops", EXAMPLE, "-o", "clip_c").stdout
assert "soft-clip" in burin("inspect", "clip.tflite", "--ops", EXAMPLE).stdout
assert "custom.soft_clip" in burin("plan", "clip.tflite", "--ops", EXAMPLE).stdout
# of eight extents and one more: stages that share nine loops; the output reads rows that are not of its own round, and shares none
NINE = definition("nine.op", """op nine
in X:f32[I..]
Z:f32[i..<I.., j<3] = sum[k<2] (X[i..] * f32(j + k))
W:f32[i..<I.., j<3] = Z[i.., j] / (1 + sum[k<2] (Z[i.., j] * Z[i.., j] * f32(k)))
Y[i..<I..] = sum[j<3] W[I.. - 1 - i.., j]
""")
pathlib.Path("nine.tflite").write_bytes(made.tflite([("x", "f32", [2] * 8, {}), ("y", "f32", [2] * 8, {})], [("CUSTOM", [0], [1], None, "nine", b"")], [0], [1]))
assert "checked: " in burin("compile", "nine.tflite", "--ops", NINE, "-o", "nine_c", "--prefix", "m").stdout
assert "2 stages in one nest of 9 loops" in pathlib.Path("nine_c/m_kernels.c").read_text()
# written, it has its code and its options; what is written from that is the same
burin("compile", "clip.tflite", "--ops", EXAMPLE, "-o", "clip2.tflite")
burin("compile", "clip2.tflite", "--ops", EXAMPLE, "-o", "clip3.tflite")
assert pathlib.Path("clip2.tflite").read_bytes() == pathlib.Path("clip3.tflite").read_bytes()
assert b"soft-clip\0" in pathlib.Path("clip2.tflite").read_bytes()
burin("run", "clip2.tflite", "--ops", EXAMPLE, "--input", "x.bin", "--output-dir", "clip2")
assert pathlib.Path("clip2/output_0.npy").read_bytes() == pathlib.Path("reference/output_0.npy").read_bytes()
# two files, and one of them twice, which adds nothing
other = definition("other.op", "op another\nin X:f32[N]\nY[n<N] = X[n]\n")
burin("run", "clip.tflite", "--ops", other, "--ops", EXAMPLE, "--ops", EXAMPLE)

# ---- a C function in its place: the header says its prototype, the check is by the definition ----
pathlib.Path("extern.op").write_text(pathlib.Path(EXAMPLE).read_text().replace("op soft_clip\n", "op soft_clip\nextern my_clip\n"))
for layout in ("folder", "single"):
    done = burin("compile", "clip.tflite", "--ops", "extern.op", "-o", f"ext_{layout}", "--prefix", "clip", "--layout", layout)
    assert "checked: " in done.stdout
    header = pathlib.Path(f"ext_{layout}", "clip.h").read_text()
    assert "void my_clip(const float *X, float *Y, const int32_t *extents); /* custom.soft_clip */" in header, header
    pathlib.Path(f"ext_{layout}", "main.c").write_text("""
#include <stdio.h>
#include "clip.h"
static float arena[CLIP_ARENA];
void my_clip(const float *X, float *Y, const int32_t *extents) {
    for (int i = 0; i < extents[0] * extents[1]; i++) Y[i] = X[i] + (float)(extents[2] * 10 + extents[3]);
}
int main(void) {
    static clip_model model;
    float *x, *y;
    if (clip_init(&model, arena, sizeof arena) != clip_OK) return 1;
    x = (float *)clip_input(&model, 0);
    for (int i = 0; i < 4; i++) x[i] = (float)i;
    if (clip_run(&model) != clip_OK) return 2;
    y = (float *)clip_output(&model, 0);
    printf("%g %g %g %g", y[0], y[1], y[2], y[3]);
    return 0;
}
""".replace("CLIP_ARENA", "clip_ARENA_BYTES / sizeof(float) + 8"))
    sources = [str(p) for p in pathlib.Path(f"ext_{layout}").glob("*.c")]
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-o", "ext", *sources, "-lm"], check=True)
    assert subprocess.run(["./ext"], capture_output=True, text=True, check=True).stdout == "22 23 24 25"
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Dclip_BY_DEFINITION", "-o", "ext", *sources, "-lm"], check=True)
    assert float(subprocess.run(["./ext"], capture_output=True, text=True, check=True).stdout.split()[0]) == 2.5
assert json.loads(burin("inspect", "clip.tflite", "--ops", "extern.op", "--json").stdout)
twice = definition("twice.op", pathlib.Path("extern.op").read_text().replace("extern my_clip", "extern my_clip extern other"))
refused("run", "clip.tflite", "--ops", twice, says=["has an extern already", "twice.op:"])

# ---- without it: by name, with the remedy ----
refused("run", "clip.tflite", says=['custom operator "soft-clip" is not supported', "--ops FILE.op"])
refused("run", "clip.tflite", "--ops", other, says=['custom operator "soft-clip" is not supported'])
assert "UNSUPPORTED" in burin("inspect", "clip.tflite").stdout

# ---- what is wrong in a definition has its place ----
wrong = definition("wrong.op", "op soft_clip\nattr limit:float times:int mode:text weights..:float\nin X:f32[I..]\nY[i..<I..] = tan(X[i..\n")
refused("run", "clip.tflite", "--ops", wrong, says=["wrong.op:5:1: error", "^"])
wrong = definition("wrong2.op", "op soft_clip\nattr limit:float times:int mode:text weights..:float\nin X:f32[I..]\nY[i..<I..] = tanhh(X[i..])\n")
refused("run", "clip.tflite", "--ops", wrong, says=["wrong2.op:4:14: error", "Y[i..<I..] = tanhh(X[i..])", "^", "soft-clip"])
refused("run", "clip.tflite", "--ops", EXAMPLE, "--ops", wrong, says=["operator soft_clip is defined by another file, too"])
empty = definition("empty.op", "// nothing\n")
refused("run", "clip.tflite", "--ops", empty, says=["empty.op", "defines no operator"])
refused("run", "clip.tflite", "--ops", "missing.op", says=["missing.op"])
lacking = definition("lacking.op", "op soft_clip\nattr limit:float\nin X:f32[I..]\nY[i..<I..] = X[i..] * limit\n")
refused("run", "clip.tflite", "--ops", lacking, says=["there is no attribute 'mode'"])

# ---- options that cannot become attributes ----
model("nested.tflite", "soft-clip", NESTED)
refused("run", "nested.tflite", "--ops", EXAMPLE, says=["operator[0] soft-clip/custom_options", '"limit" is neither a number, a text nor a list of numbers'])
model("raw.tflite", "soft-clip", bytes([1, 0, 0, 0, 2, 0, 0, 0]))
refused("run", "raw.tflite", "--ops", EXAMPLE, says=["custom_options", "FlexBuffer"])
for cut in range(1, len(OPTIONS)):  # any cut of them is refused, or read as what it is by chance: never a crash
    model("cut.tflite", "soft-clip", OPTIONS[:cut])
    done = subprocess.run([os.environ["BURIN"], "inspect", "cut.tflite", "--ops", EXAMPLE], capture_output=True)
    assert done.returncode in (0, 1), (cut, done)
model("none.tflite", "soft-clip", b"")
refused("run", "none.tflite", "--ops", EXAMPLE, says=["limit"])

# ---- a definition that reads outside: its text is shown, and the operator of the model is named ----
refused("run", "clip.tflite", "--ops", definition("outside.op", """op soft_clip
attr limit:float mode:text times:int weights..:float
in X:f32[N,M]
-> Y:f32
Y[n<N,m<M] = X[n + 1, m]
"""), says=["outside.op:5", "subgraph[0]/operator[0] soft-clip"])
