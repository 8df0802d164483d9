# ctest: name=e2e.quantization, timeout=300
"""--quantization: parameters from JSON make a model of reals a quantised one, whose integers are those that the arithmetic gives (worked out here); the
evaluator, C, TFLite and ONNX agree; --parameters prints what the command reads; what does not fit is refused by line and column."""
import json
import os
import pathlib
import re
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())


def node(op, inputs, output, **attributes):
    return onnx.node(op, inputs.split(), output.split(), **attributes)


W = [[0.25, 1.0, -3.0], [-0.75, 0.5, 7.0], [1.0, -2.0, 100.0], [0.5, 0.0, 2.0]]
BIAS = [0.5, -1.0, 4.0]
X = [1.0, -2.5, 3.0, 0.75]
pathlib.Path("net.onnx").write_bytes(onnx.model(onnx.graph(
    [node("Gemm", "x w b", "y"), node("Relu", "y", "z")], [onnx.value("x", "f32", [1, 4])], [onnx.value("z", "f32", [1, 3])],
    [onnx.tensor("w", "f32", [4, 3], [v for row in W for v in row]), onnx.tensor("b", "f32", [3], BIAS)]), 17))
pathlib.Path("x.npy").write_bytes(npy("<f4", (1, 4), struct.pack("<4f", *X)))
PARAMETERS = [{"name": "x", "type": "i8", "scale": 0.5, "zero_point": 1}, {"name": "w", "type": "i8", "axis": 1, "scale": [0.25, 0.5, 1], "zero_point": [0, 0, 0]},
              {"name": "z", "type": "i8", "scale": [0.125], "zero_point": [-100]}]


def write(tensors=PARAMETERS, **more):
    pathlib.Path("q.json").write_text(json.dumps({"version": 1, "tensors": tensors, **more}, indent=1))


def quantised(v, scale, zero):
    return max(-128, min(127, round(v / scale) + zero))  # round: halves to even, as both standards have it


def wanted():
    """By hand: every number here is exact in binary."""
    xs = [(quantised(v, 0.5, 1) - 1) * 0.5 for v in X]
    scales = [0.25, 0.5, 1.0]
    ws = [[quantised(v, s, 0) * s for v, s in zip(row, scales)] for row in W]
    sums = [max(0.0, sum(x * row[k] for x, row in zip(xs, ws)) + BIAS[k]) for k in range(3)]
    return [quantised(v, 0.125, -100) for v in sums]


def run(source, kind, *words, provider="reference"):
    burin("run", source, "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force", "--quiet", *words)
    return list(struct.unpack(f"<3{kind}", pathlib.Path("out/output_0.bin").read_bytes()))


write()
integers = wanted()
reals = [(q + 100) * 0.125 for q in integers]
assert len(set(integers)) == 3 and 127 in integers, integers  # the third sum saturates
QUANTISED = ["--quantization", "q.json"]
assert run("net.onnx", "f", *QUANTISED) == reals
assert run("net.onnx", "f", *QUANTISED, provider="host") == reals
seen = burin("inspect", "net.onnx", *QUANTISED).stdout
assert re.search(r" i8 +1x3 .* scale 0.125 zero -100", seen), seen
for name in ("net.tflite", "again.onnx"):
    burin("compile", "net.onnx", "-o", name, "--force", "--quiet", *QUANTISED)
    assert run(name, "f") == reals, name

# ---- what is printed is what is read: of the TFLite file, of the ONNX file, of the model itself ----
for words in (["net.tflite"], ["net.onnx", *QUANTISED]):
    printed = json.loads(burin("inspect", *words, "--parameters").stdout)
    assert printed["version"] == 1 and printed["border"] == "reals"
    of = {t["name"]: t for t in printed["tensors"]}
    assert of["z"]["scale"] == [0.125] and of["z"]["zero_point"] == [-100] and of["z"]["type"] == "i8", of
printed = json.loads(burin("inspect", "again.onnx", "--parameters").stdout)
assert sorted(tuple(t["scale"]) for t in printed["tensors"]) == [(0.125,), (0.25, 0.5, 1), (0.5,)], printed
assert json.loads(burin("inspect", "net.onnx", "--parameters").stdout)["tensors"] == []

# ---- integers at the border ----
write(border="integers")
pathlib.Path("x.npy").write_bytes(npy("|i1", (1, 4), struct.pack("<4b", *(quantised(v, 0.5, 1) for v in X))))
assert run("net.onnx", "b", *QUANTISED) == integers
burin("compile", "net.onnx", "-o", "whole.tflite", "--force", "--quiet", *QUANTISED)
assert run("whole.tflite", "b") == integers
assert json.loads(burin("inspect", "whole.tflite", "--parameters").stdout)["border"] == "integers"
listed = burin("inspect", "whole.tflite").stdout
assert re.findall(r"^ +\d+  (\w+)", listed, re.M) == ["FULLY_CONNECTED"], listed

# ---- only a part has parameters: the rest stays real ----
pathlib.Path("x.npy").write_bytes(npy("<f4", (1, 4), struct.pack("<4f", *X)))
write(PARAMETERS[1:2])
exact = [[quantised(v, s, 0) * s for v, s in zip(row, (0.25, 0.5, 1))] for row in W]
assert run("net.onnx", "f", *QUANTISED) == [max(0.0, sum(x * row[k] for x, row in zip(X, exact)) + BIAS[k]) for k in range(3)]

# ---- what does not fit ----


def refused(said, tensors=PARAMETERS, text=None, source="net.onnx", **more):
    write(tensors, **more)
    if text is not None:
        pathlib.Path("q.json").write_text(text)
    why = burin("inspect", source, *QUANTISED, status=1).stderr
    assert re.search(said, why), (said, why)


def changed(which, **to):
    return [{k: v for k, v in {**t, **to}.items() if v is not None} if t["name"] == which else t for t in PARAMETERS]


refused(r'q\.json:\d+:\d+: error: the main graph has no tensor "xx"; the nearest is "x"', changed("x", name="xx"))
refused(r'q\.json:\d+:\d+: error: "w" is 4x3: 3 scales do not fit along axis 0', changed("w", axis=0))
refused(r'q\.json:\d+:\d+: error: "w" is 4x3: 3 scales do not fit along axis 3', changed("w", axis=3))
refused(r'"axis" is the number of an extent', changed("w", axis=-1))
refused(r'3 scales: "axis" has to say along which extent', changed("w", axis=None))
refused(r"2 zero points, but 3 scales", changed("w", zero_point=[0, 0]))
refused(r"a zero point of i8 is a whole number from -128 to 127", changed("x", zero_point=128))
refused(r"a zero point of i16 is a whole number from 0 to 0", changed("x", type="i16"))
refused(r"a scale is a number above 0", changed("x", scale=0))
refused(r"a scale is a number above 0", changed("x", scale="0.5"))
refused(r"a scale is a number above 0", changed("x", scale=1e-60))
refused(r'"type" is i8, u8 or i16: a bias stays real', changed("x", type="i32"))
refused(r'"type" is i8, u8 or i16', changed("x", type="int8"))
refused(r'unknown name "zero_pint"; the nearest is "zero_point"', changed("x", zero_pint=0))
refused(r'unknown name "boarder"; the nearest is "border"', boarder="reals")
refused(r'"border" is "reals" or "integers"', border="int")
refused(r'"x" has parameters already', PARAMETERS + PARAMETERS[:1])
refused(r'"y" is computed: it has one scale, and not 3', [{"name": "y", "type": "i8", "axis": 1, "scale": [1, 1, 1]}])
refused(r'u8 has a "zero_point"', changed("x", type="u8", zero_point=None))
refused(r'expected "version": 1', text='{"tensors": []}')
refused(r'expected "version": 1', text="[]")
refused(r'expected a list "tensors"', text='{"version": 1}')
refused(r"a tensor is an object", text='{"version": 1, "tensors": [1]}')
refused(r"q\.json:1:\d+: error", text='{"version": 1, "tensors": [')
refused(r'has a scale: the model is quantised already', source="net.tflite")
pathlib.Path("whole.onnx").write_bytes(onnx.model(onnx.graph(
    [node("Cast", "i", "f", to=1)], [onnx.value("i", "i64", [2])], [onnx.value("f", "f32", [2])], []), 17))
refused(r'"i" is i64: only f32 is quantised', [{"name": "i", "type": "i8", "scale": 1}], source="whole.onnx")
assert "cannot open" in burin("inspect", "net.onnx", "--quantization", "none.json", status=1).stderr
