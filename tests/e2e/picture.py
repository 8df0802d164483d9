# ctest: name=e2e.picture
"""burin plan --svg: well-formed XML; a box for every tensor with bytes of its own in the arena, where the plan says; one stdout."""
import json
import pathlib
import re
import xml.etree.ElementTree as xml

import made
import onnx_build as onnx
from support import burin

HEIGHT, TOP = 600, 30  # of the picture's arena, in pixels
SVG = "{http://www.w3.org/2000/svg}"


def boxes(picture):
    """(first kernel, last, offset, bytes) as the titles say, and (y, height) as they are drawn"""
    for group in picture.iter(SVG + "g"):
        said = re.search(r": (input|output|activation|scratch), .* (\d+) bytes at (\d+), kernels (\d+) to (\d+)$", group.find(SVG + "title").text)
        rect = group.find(SVG + "rect")
        yield tuple(int(said[k]) for k in (4, 5, 3, 2)), (float(rect.get("y")), float(rect.get("height")))


def check(model):
    plan = json.loads(burin("plan", model, "--json").stdout)
    picture = xml.fromstring(burin("plan", model, "--svg").stdout)
    assert picture.tag == SVG + "svg"
    want = sorted((t["first"], t["last"], t["offset"], t["bytes"]) for i, t in enumerate(plan["tensors"])
                  if t["role"] not in ("constant", "state") and t["root"] == i and t["bytes"])
    drawn = list(boxes(picture))
    assert sorted(box for box, _ in drawn) == want, (drawn, want)
    scale = HEIGHT / plan["arena"]["bytes"]
    for (_, _, offset, size), (y, height) in drawn:
        assert abs(height - size * scale) < 0.03 and abs(TOP + HEIGHT - y - (offset + size) * scale) < 0.03
    live = [sum(size for first, last, _, size in want if first <= k <= last) for k in range(len(plan["kernels"]))]
    peak = re.search(r"^peak +(\d+) bytes live in step (\d+), ", burin("plan", model).stdout, re.M)
    assert (int(peak[1]), int(peak[2])) == (max(live), live.index(max(live))), (peak[0], live)


def steps(model, *words):
    """Of each row of the table its step, where it has one, and its operator in the file."""
    rows = [line.split() for line in burin("plan", model, *words).stdout.split("\n\n")[0].splitlines()]
    return [row[:rows[0].index("operator")] for row in rows]


pathlib.Path("dense.tflite").write_bytes(made.dense())
check("dense.tflite")
# names that XML needs escaped, and a value that lives long
x = onnx.value("<x & y>", "f32", [4, 8])
pathlib.Path("skip.onnx").write_bytes(onnx.model(onnx.graph(
    [onnx.node("MatMul", ["<x & y>", "w"], ["a\"b"]), onnx.node("MatMul", ["a\"b", "w"], ["c"]), onnx.node("Add", ["c", "<x & y>"], ["d"]),
     onnx.node("Softmax", ["d"], ["e"], axis=1)], [x], [onnx.value("e", "f32", [4, 8])], [onnx.tensor("w", "f32", [8, 8], [0.5] * 64)])))
check("skip.onnx")
assert "&lt;x &amp; y&gt;" in burin("plan", "skip.onnx", "--svg").stdout
for words in (("--json",), ("--dump-after", "all")):
    assert "stdout can hold only one" in burin("plan", "dense.tflite", "--svg", *words, status=2).stderr
# what holds the peak is no operator where there is none
pathlib.Path("still.onnx").write_bytes(onnx.model(onnx.graph([onnx.node("Size", ["x"], ["y"])], [onnx.value("x", "f32", [4, 8])], [onnx.value("y", "i64", [])], [])))
assert "peak " not in burin("plan", "still.onnx").stdout
# steps have a column of their own where their numbers are not the file's: here one branch is done before the other
NONE = '{act: text "none"}'
pathlib.Path("branches.ir").write_text('burin 1\nmodel "ir" "branches.ir"\n' + made.graph(
    "main", 0, ['i32[4] "x"', 'i32[256] "a"', 'i32[256] "b"', 'i32[64,4] "a2"', 'i32[64,4] "b2"', 'i32[4] "c"', 'i32[4] "d"', 'i32[4] "y"', 'i32[4] "turned"'],
    [0], [7], [("tile", [0], [1], "{multiples: ints [64]}"), ("reverse", [0], [8], "{axes: ints [0]}"), ("tile", [8], [2], "{multiples: ints [64]}"),
               ("reshape", [1], [3], "{shape: ints [64,4]}"),
               ("reshape", [2], [4], "{shape: ints [64,4]}"), ("reduce_max", [3], [5], "{axes: ints [0]}"), ("reduce_min", [4], [6], "{axes: ints [0]}"),
               ("add", [5, 6], [7], NONE)]))
check("branches.ir")
assert steps("branches.ir", "--disable", "order")[0] == ["id"]
moved = steps("branches.ir")
assert moved[0] == ["step", "id"] and [row[0] for row in moved[1:]] == [str(k) for k in range(len(moved) - 1)], moved
assert [row[0] for row in moved[1:]] != [row[1] for row in moved[1:]], moved
