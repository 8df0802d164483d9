# ctest: name=e2e.constants, timeout=300
"""--constant: an input becomes a constant; what only constants can say is then known; contents that do not fit are refused."""
import os
import pathlib
import struct
import tempfile

import made
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("tile.tflite").write_bytes(made.tflite(
    [("x", "f32", [1, 2], {}), ("times", "i32", [2], {}), ("y", "f32", [1, 2], {})], [("TILE", [0, 1], [2], None, None)], [0, 1], [2]))
pathlib.Path("times.bin").write_bytes(struct.pack("<2i", 3, 2))
pathlib.Path("times.npy").write_bytes(npy("<i4", (2,), struct.pack("<2i", 3, 2)))
pathlib.Path("x.bin").write_bytes(struct.pack("<2f", 1, 2))
WANT = [1, 2, 1, 2] * 3


def refused(*words, status, says):
    done = burin(*words, status=status)
    assert says in done.stderr, (words, says, done.stderr)


refused("plan", "tile.tflite", status=1, says="--constant NAME=FILE")
for which in ("times=times.bin", "1=times.bin", "times=times.npy"):
    burin("run", "tile.tflite", "--constant", which, "--input", "x.bin", "--output-dir", "out", "--output-format", "raw", "--force")
    assert list(struct.unpack("<12f", pathlib.Path("out/output_0.bin").read_bytes())) == WANT
    lines = burin("inspect", "tile.tflite", "--constant", which).stdout.splitlines()
    assert [line.split()[:4] for line in lines if line.startswith("input ")] == [["input", "0", "f32", "1x2"]], lines
    assert [line.split()[:4] for line in lines if line.startswith("output ")] == [["output", "0", "f32", "3x4"]], lines
burin("compile", "tile.tflite", "--constant", "times=times.bin", "-o", "tile_c")  # and its check
header = pathlib.Path("tile_c/tile.h").read_text()
assert "INPUT_0_BYTES" in header and "INPUT_1_BYTES" not in header

# what is computed from contents alone is known, too: a real number becomes a list of multiples
pathlib.Path("chain.tflite").write_bytes(made.tflite(
    [("x", "f32", [1, 2], {}), ("z", "f32", [2], {}), ("times", "i32", [2], {}), ("y", "f32", [1, 2], {})],
    [("CAST", [1], [2], None, None), ("TILE", [0, 2], [3], None, None)], [0, 1], [3]))
pathlib.Path("z.bin").write_bytes(struct.pack("<2f", 3, 2))
burin("run", "chain.tflite", "--constant", "z=z.bin", "--input", "x.bin", "--output-dir", "out", "--output-format", "raw", "--force")
assert list(struct.unpack("<12f", pathlib.Path("out/output_0.bin").read_bytes())) == WANT

# what is no option of the reader alone: the text form takes contents too, and both inputs may have them
burin("compile", "tile.tflite", "--constant", "times=times.bin", "--target", "ir", "-o", "tile.ir")
text = "tile.ir"
burin("run", text, "--constant", "x.bin", "--output-dir", "out", "--output-format", "raw", "--force")
assert list(struct.unpack("<12f", pathlib.Path("out/output_0.bin").read_bytes())) == WANT

pathlib.Path("floats.npy").write_bytes(npy("<f4", (2,), struct.pack("<2f", 3, 2)))
pathlib.Path("short.bin").write_bytes(struct.pack("<i", 3))
refused("plan", "tile.tflite", "--constant", "times=floats.npy", status=1, says='constant: f32 for input 1 "times", which is i32')
refused("plan", "tile.tflite", "--constant", "times=short.bin", status=1, says='4 bytes for input 1 "times": i32 2 has 8')
refused("plan", "tile.tflite", "--constant", "tims=times.bin", status=2, says='no input "tims"; did you mean "times"?')
refused("plan", "tile.tflite", "--constant", "times.bin", status=2, says="the model has 2 inputs; say which by NAME=")
refused("plan", "tile.tflite", "--constant", "times=times.bin", "--constant", "1=times.bin", status=2, says="given twice")
refused("plan", "tile.tflite", "--constant", "times=none.bin", status=1, says="none.bin")

# ---- many constants: the module that the check and the host provider build reads them from a file ----
COUNT = 300000
pathlib.Path("many.tflite").write_bytes(made.tflite(
    [("x", "i32", [COUNT], {}), ("k", "i32", [COUNT], {"data": [7 * i - 1000 for i in range(COUNT)]}), ("y", "i32", [COUNT], {})],
    [("ADD", [0, 1], [2], None, None)], [0], [2]))
pathlib.Path("x.bin").write_bytes(struct.pack(f"<{COUNT}i", *range(COUNT)))
burin("run", "many.tflite", "--provider", "host", "--input", "x.bin", "--output-dir", "many", "--output-format", "raw")
assert list(struct.unpack(f"<{COUNT}i", pathlib.Path("many/output_0.bin").read_bytes())) == [8 * i - 1000 for i in range(COUNT)]
burin("compile", "many.tflite", "-o", "many_c")
assert not pathlib.Path("many_c/many_weights.bin").exists() and pathlib.Path("many_c/many_weights.c").exists()
