# ctest: name=e2e.parts, timeout=300
"""Operators of many parts: 40 outputs of SPLIT, SPLIT_V and UNPACK, and 40 inputs of CONCATENATION and PACK, which bring them together again, in
the evaluator, the emitted C and the written file. More sizes than an attribute's list holds are refused by name."""
import os
import pathlib
import struct
import tempfile

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())
N = 40


def model(name, parts, *, shape, operator, inputs=("x",), constants=(), options, behind, behind_options):
    """x -> operator -> parts, by their shapes -> behind -> y, of x's shape."""
    count = len(parts)
    x, y = ("x", "f32", shape, {}), ("y", "f32", shape, {})
    tensors = [x, y] + [(f"part{k}", "f32", part, {}) for k, part in enumerate(parts)] + list(constants)
    numbers = {"x": 0, **{c[0]: 2 + count + k for k, c in enumerate(constants)}}
    between = list(range(2, 2 + count))
    pathlib.Path(name).write_bytes(made.tflite(
        tensors, [(operator, [numbers[i] for i in inputs], between, options, None), (behind, between, [1], behind_options, None)], [0], [1]))


def split(name, count):
    model(name, [[3, 2]] * count, shape=[3, 2 * count], operator="SPLIT", inputs=("axis", "x"), constants=[("axis", "i32", [], {"data": [1]})],
          options=Table(_0=("i", count)), behind="CONCATENATION", behind_options=Table(_0=("i", 1)))


split("split.tflite", N)
sizes = [1 + k % 3 for k in range(N)]
model("split_v.tflite", [[3, n] for n in sizes], shape=[3, sum(sizes)], operator="SPLIT_V", inputs=("x", "sizes", "axis"),
      constants=[("axis", "i32", [], {"data": [1]}), ("sizes", "i32", [N], {"data": sizes})], options=Table(_0=("i", N)),
      behind="CONCATENATION", behind_options=Table(_0=("i", 1)))
model("unpack.tflite", [[3]] * N, shape=[3, N], operator="UNPACK", options=Table(_0=("i", N), _1=("i", 1)),
      behind="PACK", behind_options=Table(_0=("i", N), _1=("i", 1)))

for name, width in (("split", 2 * N), ("split_v", sum(sizes)), ("unpack", N)):
    data = struct.pack(f"<{3 * width}f", *range(3 * width))
    pathlib.Path("x.bin").write_bytes(data)
    burin("compile", f"{name}.tflite", "-O", "0", "-o", f"{name}_written.tflite")
    assert "checked: " in burin("compile", f"{name}.tflite", "-o", f"{name}_c").stdout
    for file in (name, f"{name}_written"):
        for provider in ("reference", "host"):
            burin("run", f"{file}.tflite", "--input", "x.bin", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
            assert pathlib.Path("out/output_0.bin").read_bytes() == data, (file, provider)
    # a part is what stands there: the last alone
    burin("run", f"{name}.tflite", "--input", "x.bin", "--outputs", f"part{N - 1}", "--output-dir", "out", "--output-format", "raw", "--force")
    part = {"split": 2, "split_v": sizes[-1], "unpack": 1}[name]
    want = [row * width + k for row in range(3) for k in range(width - part, width)]
    assert list(struct.unpack(f"<{3 * part}f", pathlib.Path("out/output_0.bin").read_bytes())) == want, name

split("many.tflite", 65)
done = burin("compile", "many.tflite", "-o", "many", status=1)
assert "SPLIT" in done.stderr and "attribute 'sizes' must be a list of integers of at most 64 entries" in done.stderr, done.stderr
