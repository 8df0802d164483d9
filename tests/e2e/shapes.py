# ctest: name=e2e.shapes, timeout=600
"""Extents that the file leaves open: --shape, --dim, --batch; what follows from them in both providers; what does not fit, refused."""
import json
import os
import pathlib
import shutil
import struct
import tempfile

import made
from made import Table, Vector
from support import burin

os.chdir(tempfile.mkdtemp())


def model(name, tensors, operators, inputs, outputs):
    pathlib.Path(f"{name}.tflite").write_bytes(made.tflite(tensors, [(*op, None, None)[:5] for op in operators], inputs, outputs))


def shapes(name, *options):
    """(shapes of all inputs, shapes of all outputs) as inspect says them."""
    lines = burin("inspect", f"{name}.tflite", *options).stdout.splitlines()
    return [[line.split()[3] for line in lines if line.startswith(what)] for what in ("input ", "output ")]


def run(name, numbers, *options):
    """The outputs for f32 inputs, the same from both providers."""
    files = []
    for k, values in enumerate(numbers):
        pathlib.Path(f"in{k}.bin").write_bytes(struct.pack(f"<{len(values)}f", *values))
        files += ["--input", f"in{k}.bin"]
    got = []
    for provider in ("reference", "host"):
        shutil.rmtree("out", ignore_errors=True)
        burin("run", f"{name}.tflite", *files, *options, "--provider", provider, "--output-dir", "out", "--output-format", "raw")
        got.append([list(struct.unpack(f"<{p.stat().st_size // 4}f", p.read_bytes())) for p in sorted(pathlib.Path("out").iterdir())])
    assert got[0] == got[1], got
    return got[0]


def refused(*words, status, says):
    done = burin(*words, status=status)
    for part in says:
        assert part in done.stderr, (words, part, done.stderr)
    return done.stderr


# ---- a layer: the batch ----
dense = made.dense()
pathlib.Path("dense.tflite").write_bytes(dense)
assert shapes("dense", "--batch", "3") == [["3x4"], ["3x3"]]
ROWS = [[1, 2, 3, 4], [-5, 6, 0, 1], [100, -100, 7, 0]]
pathlib.Path("rows.bin").write_bytes(b"".join(struct.pack("4b", *row) for row in ROWS))
for provider in ("reference", "host"):
    burin("run", "dense.tflite", "--batch", "3", "--input", "rows.bin", "--provider", provider, "--output-dir", provider)
    assert made.read_npy(pathlib.Path(provider, "output_0.npy").read_bytes()) == (
        "|i1", (3, 3), b"".join(struct.pack("3b", *made.dense_expected(row)) for row in ROWS))
burin("compile", "dense.tflite", "--batch", "3", "-o", "dense_c")  # and its check
assert json.loads(burin("plan", "dense.tflite", "--dim=x.0=3", "--json").stdout)["tensors"][0]["shape"] == [3, 4]
golden = pathlib.Path("golden")
golden.mkdir()
(golden / "input_0.bin").write_bytes(pathlib.Path("rows.bin").read_bytes())
(golden / "output_0.npy").write_bytes(pathlib.Path("host", "output_0.npy").read_bytes())
burin("verify", "dense.tflite", golden, "--batch", "3")
refused("verify", "dense.tflite", golden, status=1, says=["[3,3]", "[1,3]"])

# ---- x as rows, by SHAPE, STRIDED_SLICE, PACK and RESHAPE: constants without and with options ----
model("chain", [("x", "f32", [1, 2, 3], {"signature": [-1, 2, 3]}), ("s", "i32", [3], {}), ("0", "i32", [1], {"data": [0]}),
                ("1", "i32", [1], {"data": [1]}), ("n", "i32", [], {}), ("6", "i32", [], {"data": [6]}), ("p", "i32", [2], {}),
                ("y", "f32", [1, 6], {"signature": [-1, 6]})],
      [("SHAPE", [0], [1]), ("STRIDED_SLICE", [1, 2, 3, 3], [4], Table(_4=("i", 1))), ("PACK", [4, 5], [6], Table(_0=("i", 2))),
       ("RESHAPE", [0, 6], [7])], [0], [7])
assert shapes("chain") == [["1x2x3"], ["1x6"]] and shapes("chain", "--batch", "5") == [["5x2x3"], ["5x6"]]
assert [op["op"] for op in json.loads(burin("inspect", "chain.tflite", "--json").stdout)["operators"]] == ["reshape"]
assert run("chain", [list(range(12))], "--batch", "2") == [list(map(float, range(12)))]
refused("inspect", "chain.tflite", "--shape", "2x3x3", status=1,  # 6 a row is in the file
        says=["subgraph[0]/operator[3] RESHAPE", "different numbers of elements", "does not take the extents that were asked for"])

# ---- shapes that are recorded as scalars, since nobody knew them: what each operator says is used ----
model("unranked", [("x", "f32", [1, 1, 4], {}), ("sq", "f32", [], {}), ("-1", "i32", [], {"data": [-1]}), ("ex", "f32", [], {}),
                   ("1", "i32", [], {"data": [1]}), ("a", "f32", [], {}), ("b", "f32", [], {}), ("shape", "i32", [2], {"data": [-1, 2]}),
                   ("y", "f32", [], {}), ("sizes", "i32", [2], {"data": [1, -1]}), ("c", "f32", [], {}), ("d", "f32", [], {})],
      [("SQUEEZE", [0], [1], Table(_0=Vector([1], "i"))), ("EXPAND_DIMS", [1, 2], [3]), ("SPLIT", [4, 3], [5, 6], Table(_0=("i", 2))),
       ("RESHAPE", [3, 7], [8]), ("SPLIT_V", [3, 9, 4], [10, 11], Table(_0=("i", 2)))], [0], [3, 5, 6, 8, 10, 11])
assert shapes("unranked") == [["1x1x4"], ["1x4x1", "1x2x1", "1x2x1", "2x2", "1x1x1", "1x3x1"]]
assert shapes("unranked", "--shape", "x=3x1x6") == [["3x1x6"], ["3x6x1", "3x3x1", "3x3x1", "9x2", "3x1x1", "3x5x1"]]
X = list(map(float, range(8)))
assert run("unranked", [X], "--batch", "2") == [X, [0, 1, 4, 5], [2, 3, 6, 7], X, [0, 4], [1, 2, 3, 5, 6, 7]]
refused("inspect", "unranked.tflite", "--shape", "1x1x5", status=1, says=["operator[2] SPLIT", "an extent of 5 does not split into 2"])
refused("inspect", "unranked.tflite", "--shape", "1x2x4", status=1, says=["operator[0] SQUEEZE", "axis 1 has extent 2"])

# ---- extents that the file states nowhere ----
model("open", [("left", "f32", [-1, 2], {}), ("right", "f32", [1, 2], {"signature": [1, -1]}), ("sum", "f32", [-1, 2], {})],
      [("ADD", [0, 1], [2], Table(_0=("b", 0)))], [0, 1], [2])
refused("inspect", "open.tflite", status=1, says=["input 0 is ?x2", "--shape left="])
done = burin("inspect", "open.tflite", "--dim", "left.0=3")
assert 'note: input 1 "right" has extents that the file leaves open; as recorded it is 1x2: --shape right=' in done.stderr
assert done.stderr.count("note:") == 1 and burin("compile", "open.tflite", "--dim", "0.0=3", "--dim", "1.1=2", "-o", "c").stderr == ""
assert run("open", [[1, 2, 3, 4, 5, 6], [10, 20]], "--batch", "3") == [[11, 22, 13, 24, 15, 26]]
assert shapes("open", "--dim", "left.0=7", "--dim", "right.0=7") == [["7x2", "7x2"], ["7x2"]]
assert shapes("open", "--shape", "left=scalar", "--shape", "1=4") == [["scalar", "4"], ["4"]]
refused("inspect", "open.tflite", "--shape", "left=2x2", "--shape", "right=3x2", status=1, says=["operator[0] ADD", "cannot be broadcast"])

# ---- extents of outputs that no kernel reads: two boxes as their anchors say, the second with the higher score ----
# {"max_detections": 2, "max_classes_per_detection": 1, "num_classes": 1, "nms_score_threshold": 0.0, "nms_iou_threshold": 0.5, all scales 1.0},
# a FlexBuffers map as FlatBuffers' own Python package (25.x) writes it
DETECT = bytes.fromhex("685f7363616c65006d61785f636c61737365735f7065725f646574656374696f6e006d61785f646574656374696f6e73006e6d735f696f755f7468726573"
                       "686f6c64006e6d735f73636f72655f7468726573686f6c64006e756d5f636c617373657300775f7363616c6500785f7363616c6500795f7363616c65"
                       "00097c755c4e3d2a1f18110000000c00000001000000090000000000803f01000000020000000000003f00000000010000000000803f0000803f0000"
                       "803f0e06060e0e060e0e0e2d2601")
tensors = [("encodings", "f32", [1, 2, 4], {}), ("scores", "f32", [1, 2, 2], {}),
           ("anchors", "f32", [2, 4], {"data": [0.5, 0.5, 1, 1, 2, 2.5, 1, 2]}), ("boxes", "f32", [2], {}), ("classes", "f32", [2], {}),
           ("best", "f32", [2], {}), ("count", "f32", [2], {}), ("above", "f32", [2], {})]
detect = ("CUSTOM", [0, 1, 2], [3, 4, 5, 6], None, "TFLite_Detection_PostProcess", DETECT)
for name, last in (("detect", []), ("behind", [("RELU", [3], [7], None, None)])):
    pathlib.Path(f"{name}.tflite").write_bytes(made.tflite(tensors, [detect, *last], [0, 1], [7, 4, 5, 6] if last else [3, 4, 5, 6]))
    assert shapes(name) == [["1x2x4", "1x2x2"], ["1x2x4", "1x2", "1x2", "1"]]
    assert run(name, [[0] * 8, [0, 0.25, 0, 0.75]]) == [[1.5, 1.5, 2.5, 3.5, 0, 0, 1, 1], [0, 0], [0.75, 0.25], [2]]
# of others TFLM's kernels do read them
model("short", [("x", "f32", [1, 2, 4], {}), ("y", "f32", [2], {})], [("RELU", [0], [1])], [0], [1])
refused("compile", "short.tflite", "-o", "short", status=1, says=["output Y is [2], and the definition gives [1,2,4]"])

assert run("short", [list(range(-3, 5))], "--numerics", "litert") == [[0, 0, 0, 0, 1, 2, 3, 4]]  # LiteRT's kernels resize what they write
done = burin("compile", "short.tflite", "--numerics", "litert", "-o", "long")
assert "output 0 is recorded as 2, and gets 1x2x4: that is taken, as LiteRT does" in done.stderr

# ---- a shape that is recorded and another that the operator is told: TFLM's kernel goes by the former, LiteRT's by the latter ----
X = [0, 1, 2, 3, 4, 5]
TOLD, COLUMN = {"data": [2, 3]}, [("0", "i32", [], {"data": [0]}), ("column", "f32", [3], {})]
for name, tensors, operator in (
        ("told_in", [("shape", "i32", [2], TOLD), ("rows", "f32", [3, 2], {})], ("RESHAPE", [0, 1], [2])),
        ("told_option", [("shape", "i32", [2], TOLD), ("rows", "f32", [3, 2], {})], ("RESHAPE", [0], [2], Table(_0=Vector([2, 3], "i"))))):
    model(name, [("x", "f32", [6], {}), *tensors, *COLUMN], [operator, ("GATHER", [2, 3], [4], Table(_0=("i", 1)))], [0], [4])
    assert run(name, [X]) == [[0, 2, 4]] and run(name, [X], "--numerics", "litert") == [[0, 3]]
    told = "its shape is to be [2, 3], recorded is [3, 2]: "
    assert told + "[3, 2] is taken, as TFLM does, not LiteRT" in burin("inspect", f"{name}.tflite").stderr
    assert told + "[2, 3] is taken, as LiteRT does, not TFLM" in burin("plan", f"{name}.tflite", "--numerics", "litert").stderr
# what is computed is read by LiteRT alone; given as a constant it counts
model("told_late", [("x", "f32", [6], {}), ("shape", "i32", [2], {}), ("rows", "f32", [3, 2], {}), *COLUMN],
      [("RESHAPE", [0, 1], [2]), ("GATHER", [2, 3], [4], Table(_0=("i", 1)))], [0, 1], [4])
assert "input 1 is computed, and not read: the recorded shape is taken, as TFLM does" in burin("inspect", "told_late.tflite").stderr
refused("plan", "told_late.tflite", "--numerics", "litert", status=1, says=["RESHAPE whose input 1 is computed", "--constant NAME=FILE"])
pathlib.Path("told.bin").write_bytes(struct.pack("<2i", 2, 3))
assert run("told_late", [X], "--constant", "shape=told.bin") == [[0, 3]]
# what is impossible does not count, with either
for name, told, recorded in (("told_wrong", [4, 2], [3, 2]), ("recorded_wrong", [3, 2], [3, 1])):
    model(name, [("x", "f32", [6], {}), ("shape", "i32", [2], {"data": told}), ("rows", "f32", recorded, {}), *COLUMN],
          [("RESHAPE", [0, 1], [2]), ("GATHER", [2, 3], [4], Table(_0=("i", 1)))], [0], [4])
    assert run(name, [X]) == run(name, [X], "--numerics", "litert") == [[0, 2, 4]]
model("both_wrong", [("x", "f32", [6], {}), ("shape", "i32", [2], {"data": [4, 2]}), ("rows", "f32", [3], {})], [("RESHAPE", [0, 1], [2])], [0], [2])
refused("inspect", "both_wrong.tflite", status=1, says=["its shape is to be [4, 2], recorded is [3]: neither holds the elements of 6"])
for name, axes, recorded, ends in (("all_ones", [], [3, 1], ["3x1", "3"]), ("one_axis", [0], [1, 3], ["1x3", "3x1"])):
    model(name, [("x", "f32", [1, 3, 1], {}), ("y", "f32", recorded, {})], [("SQUEEZE", [0], [1], Table(_0=Vector(axes, "i")))], [0], [1])
    assert shapes(name)[1] == [ends[0]]
    assert f"its shape is to be {'[3]' if not axes else '[3, 1]'}" in burin("plan", f"{name}.tflite", "--numerics", "litert").stderr
# of EXPAND_DIMS, and of outputs that split unequally, TFLM reads no more than LiteRT does
model("expanded", [("x", "f32", [2, 3], {}), ("0", "i32", [], {"data": [0]}), ("y", "f32", [2, 3, 1], {})], [("EXPAND_DIMS", [0, 1], [2])], [0], [2])
assert shapes("expanded")[1] == ["1x2x3"]
SPLIT = [("x", "f32", [5], {}), ("0", "i32", [], {"data": [0]}), ("a", "f32", [2], {}), ("b", "f32", [3], {}), ("sizes", "i32", [2], {"data": [3, 2]})]
model("unequal", SPLIT, [("SPLIT", [1, 0], [2, 3], Table(_0=("i", 2)))], [0], [2, 3])
refused("inspect", "unequal.tflite", status=1, says=["SPLIT", "an extent of 5 does not split into 2 equal ones"])
model("sizes", SPLIT, [("SPLIT_V", [0, 4, 1], [2, 3], Table(_0=("i", 2)))], [0], [2, 3])
assert run("sizes", [X[:5]]) == [[0, 1], [2, 3, 4]] and run("sizes", [X[:5]], "--numerics", "litert") == [[0, 1, 2], [3, 4]]

# ---- what no runtime says, or not all say ----
PADDED = [("x", "f32", [3], {}), ("pads", "i16", [1, 2], {"data": [1, 2]}), ("y", "f32", [6], {})]
model("mirror", PADDED, [("MIRROR_PAD", [0, 1], [2])], [0], [2])
refused("compile", "mirror.tflite", "-o", "mirror", status=1, says=["operator MIRROR_PAD without a table of options is not supported"])
model("mirrored", PADDED, [("MIRROR_PAD", [0, 1], [2], Table(_0=("b", 0)))], [0], [2])
assert run("mirrored", [[1, 2, 3]]) == [[2, 1, 2, 3, 2, 1]]
model("padded", PADDED, [("PAD", [0, 1], [2])], [0], [2])  # paddings of 16 bits, as LiteRT takes them
assert run("padded", [[1, 2, 3]]) == [[0, 1, 2, 3, 0, 0]]
model("packed", [("x", "f32", [2], {}), ("y", "f32", [2, 2], {})], [("PACK", [0, 0], [1])], [0], [1])
refused("inspect", "packed.tflite", status=1, says=["PACK", "it is 0, and there are 2 inputs"])

TWO = [("a", "i8", [2], {"scale": [1.0], "zero": [0]}), ("b", "i8", [2], {"scale": [2.0 ** -20], "zero": [0]})]
for op, inputs, limit in (("RELU", TWO[:1], 31), ("MUL", [TWO[0], TWO[0]], 31), ("SUB", TWO, 50)):  # SUB: 2 / (2^20 * scale)
    for exponent in (limit - 1, limit, 2 * limit):
        y = ("y", "i8", [2], {"scale": [2.0 ** -exponent], "zero": [5]})
        model("steep", [*inputs, y], [(op, list(range(len(inputs))), [len(inputs)])], list(range(len(inputs))), [len(inputs)])
        if exponent < limit:
            burin("plan", "steep.tflite")
        else:
            refused("plan", "steep.tflite", status=1, says=[op, "the scales' quotient is 2^31 or more"])

# ---- quantised otherwise than the definition reads: the model's place comes first ----
EACH = ("each", "i8", [2], {"scale": [1.0, 2.0], "zero": [0, 0]})
ONE = ("one", "i8", [2], {"scale": [1.0], "zero": [0]})
for x, y, says in ((EACH, ONE, "X has 2 scales, one for each channel: quantise it with one scale"),
                   (ONE, ("plain", "i8", [2], {}), "Y is not quantised: it needs a scale and a zero point")):
    model("channels", [x, y], [("RELU", [0], [1])], [0], [1])
    said = refused("plan", "channels.tflite", status=1, says=["channels.tflite: subgraph[0]/operator[0] RELU", says])
    assert "error: " not in said and said.count(says) == 1, said

# ---- what a definition reads while it is settled has to be a constant: the model's place comes first, with what to do ----
model("counts", [("from", "i32", [], {"data": [0]}), ("to", "i32", [], {}), ("by", "i32", [], {"data": [2]}), ("y", "i32", [3], {})],
      [("RANGE", [0, 1, 2], [3])], [1], [3])
refused("plan", "counts.tflite", status=1, says=["counts.tflite: subgraph[0]/operator[0] RANGE", "--constant NAME=FILE"])
pathlib.Path("five").write_bytes(struct.pack("<i", 5))
assert "0 2 4" in burin("run", "counts.tflite", "--constant", "to=five").stdout

# ---- batch dimensions may be counted from the indices' end ----
for name, batch in (("ahead", 1), ("behind_end", -1)):
    model(name, [("x", "f32", [2, 3], {}), ("at", "i32", [2, 2], {"data": [2, 0, 1, 1]}), ("y", "f32", [2, 2], {})],
          [("GATHER", [0, 1], [2], Table(_0=("i", 1), _1=("i", batch)))], [0], [2])
    assert run(name, [[1, 2, 3, 4, 5, 6]]) == [[3, 1, 5, 5]]
model("far", [("x", "f32", [2, 3], {}), ("at", "i32", [2], {"data": [2, 0]}), ("y", "f32", [2], {})],
      [("GATHER", [0, 1], [2], Table(_0=("i", 1), _1=("i", -2)))], [0], [2])
refused("inspect", "far.tflite", status=1, says=["GATHER: batch_dims -2: input 1 has rank 1"])

# ---- what an open extent would have to be known for: the remedy is a number ----
model("same", [("x", "f32", [1, 8, 6, 2], {"signature": [1, -1, 6, 2]}), ("w", "f32", [1, 3, 3, 2], {"data": [1] * 18}), ("b", "f32", [1], {"data": [0]}),
               ("y", "f32", [1, 4, 3, 1], {})],
      [("CONV_2D", [0, 1, 2], [3], Table(_0=("b", 0), _1=("i", 2), _2=("i", 2)))], [0], [3])
refused("inspect", "same.tflite", "--dim", "x.1=..12", status=1, says=["CONV_2D", "an extent that --dim leaves open", "--dim NAME.AXIS=N"])
assert shapes("same", "--dim", "x.1=12") == [["1x12x6x2"], ["1x6x3x1"]]
assert shapes("chain", "--dim", "x.0=..7") == [["<=7x2x3"], ["<=7x6"]]

# ---- options that do not fit ----
for words, says in [(["--shape", "lift=2x2"], ['no input "lift"', 'did you mean "left"?']), (["--shape", "left=2x"], ['"2x" is no shape']),
                    (["--shape", "left=2x0"], ['"2x0" is no shape']), (["--shape", "2x2"], ["the model has 2 inputs", "NAME=2x2"]),
                    (["--shape", "left=1x1x1x1x1x1x1x1x1"], ["at most 8"]), (["--shape", "left=2147483647x2147483647"], ["too many elements"]),
                    (["--shape", "left=2x2", "--shape", "0=2x2"], ["input 0 is given twice"]), (["--shape", "2=1"], ['no input "2"']),
                    (["--shape", "left=2x2", "--dim", "left.0=2"], ["the extent is given twice"]),
                    (["--dim", "left.0=2", "--dim", "0.0=2"], ["the extent is given twice"]), (["--dim", "left=2"], ["NAME.AXIS=N"]),
                    (["--dim", "left.2=2"], ["input 0 has 2 extents"]), (["--dim", "left.0=0"], ["N from 1"]),
                    (["--batch", "0"], ['"0" is not a number from 1']), (["--batch", "2", "--batch", "2"], ["given twice"])]:
    refused("inspect", "open.tflite", *words, status=2, says=says)
refused("inspect", "unranked.tflite", "--shape", "x=1x1x4", "--batch", "2", status=2, says=["batch: no input"])  # the shape wins
model("fixed", [("x", "f32", [2, 2], {}), ("y", "f32", [2, 2], {})], [("RELU", [0], [1])], [0], [1])
refused("inspect", "fixed.tflite", "--batch", "3", status=2, says=["has a first extent that is open or 1"])
assert shapes("fixed", "--dim", "x.0=3") == [["3x2"], ["3x2"]]
pathlib.Path("sum.ir").write_text(made.SUM)
refused("inspect", "sum.ir", "--batch", "3", status=2, says=["the text form states every extent itself"])
