# ctest: name=e2e.onnx, timeout=300
"""ONNX models that leave extents and shape-like inputs open: what a run's inputs say of them holds for that run, and for no other."""
import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())


def file(name, data):
    pathlib.Path(name).write_bytes(data)


def refused(*words, status=1, says):
    done = burin(*words, status=status)
    assert says in done.stderr, (words, says, done.stderr)


def ran(*words, provider="reference"):
    burin("run", *words, "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    return pathlib.Path("out/output_0.bin").read_bytes()


# y = max of x along axes + one, where one is 1: the axes are computed from an input, in two steps
file("axes.onnx", onnx.model(onnx.graph(
    [onnx.node("Add", ["axes", "one"], ["a"]), onnx.node("Sub", ["a", "two"], ["b"]), onnx.node("ReduceMax", ["x", "b"], ["y"], keepdims=0)],
    [onnx.value("x", "f32", ["batch", 3, None]), onnx.value("axes", "i32", [1])], [onnx.value("y", "f32")],
    [onnx.tensor("one", "i32", [], [1]), onnx.tensor("two", "i32", [1], [2])])))
X = [float(v * 7 % 11) for v in range(2 * 3 * 4)]
file("x.npy", npy("<f4", (2, 3, 4), struct.pack("<24f", *X)))
file("x.bin", struct.pack("<24f", *X))
for axis in (0, 1, 2):
    at = lambda b, c, i: X[b * 12 + c * 4 + i]
    want = [[max(at(b, c, i) for b in range(2)) for c in range(3) for i in range(4)], [max(at(b, c, i) for c in range(3)) for b in range(2) for i in range(4)],
            [max(at(b, c, i) for i in range(4)) for b in range(2) for c in range(3)]][axis]
    file("axes.npy", npy("<i4", (1,), struct.pack("<i", axis + 1)))
    for words in (("--input", "x.npy", "--input", "axes.npy"), ("--input", "axes=axes.npy", "--input", "x=x.npy"), ("--input", "axes=axes.npy", "--input", "x.npy"),
                  ("--input", "x.bin", "--input", "axes.npy", "--shape", "x=2x3x4")):
        assert list(struct.unpack(f"<{len(want)}f", ran("axes.onnx", *words))) == want, (axis, words)
    assert list(struct.unpack(f"<{len(want)}f", ran("axes.onnx", "--input", "x.npy", "--input", "axes.npy", provider="host"))) == want, axis

# for no single run: refused by name, whatever the shapes
for words in (("compile", "axes.onnx", "-o", "axes_c"), ("plan", "axes.onnx"), ("verify", "axes.onnx", "axes_golden")):
    refused(*words, says="it is batchx3x?, and its open extents must be said: --dim batch=N --dim x.2=N")
    refused(*words, "--shape", "x=2x3x4", says="node[2] ReduceMax: operator ReduceMax whose input 1 is computed is not supported")
refused("run", "axes.onnx", "--shape", "x=2x3x4", says="ReduceMax whose input 1 is computed")
burin("compile", "axes.onnx", "--shape", "x=2x3x4", "--constant", "axes=axes.npy", "-o", "axes_c")

# inputs that do not fit what the model says of them
file("flat.npy", npy("<f4", (24,), struct.pack("<24f", *X)))
file("other.npy", npy("<f4", (2, 4, 3), struct.pack("<24f", *X)))
file("whole.npy", npy("<i4", (2, 3, 4), bytes(96)))
refused("run", "axes.onnx", "--input", "flat.npy", "--input", "axes.npy", says='input 0 "x" is f32 ?x3x?, given was f32 24')
refused("run", "axes.onnx", "--input", "other.npy", "--input", "axes.npy", says='input 0 "x" is f32 ?x3x?, given was f32 2x4x3')
refused("run", "axes.onnx", "--input", "whole.npy", "--input", "axes.npy", says='input 0 "x" is f32 ?x3x?, given was i32 2x3x4')
refused("run", "axes.onnx", "--input", "y=x.npy", "--input", "axes.npy", status=2, says='no input "y"')
refused("run", "axes.onnx", "--input", "x.npy", "--input", "axes.npy", "--input", "axes.npy", status=2, says="3 are given")
refused("run", "axes.onnx", "--input", "x=x.npy", "--input", "x=x.npy", status=2, says="given twice")
refused("run", "axes.onnx", "--input", "x.npy", "--input", "axes.npy", "--dim", "batch=3", says="is f32 3x3x?, given was f32 2x3x4")

# extents by name: of every input that has it
file("dims.onnx", onnx.model(onnx.graph(
    [onnx.node("Add", ["x", "z"], ["s"]), onnx.node("Relu", ["s"], ["y"])],
    [onnx.value("x", "f32", ["batch", "n.of=x"]), onnx.value("z", "f32", ["batch", "n.of=x"])], [onnx.value("y", "f32")])))


def shapes(*words):
    return [line.split()[3] for line in burin("inspect", "dims.onnx", *words).stdout.splitlines() if line.startswith(("input ", "output "))]


assert shapes("--dim", "batch=2", "--dim", "n.of=x=5") == ["2x5"] * 3
assert shapes("--batch", "4", "--dim", "n.of=x=5") == ["4x5"] * 3
assert shapes("--dim", "x.0=2", "--dim", "z.0=1", "--dim", "n.of=x=5") == ["2x5", "1x5", "2x5"]
refused("plan", "dims.onnx", "--dim", "batch=2", says='graph/input[0] "x": it is 2xn.of=x, and its open extents must be said: --dim n.of=x=N')
refused("plan", "dims.onnx", "--dim", "bach=2", status=2, says="bach=2")

# nodes that differ in what constants hold alone: where that decides shapes, and where it does not
file("alike.onnx", onnx.model(onnx.graph(
    [node for k in "abcd" for node in (onnx.node("Mul", ["x", f"m{k}"], [f"t{k}"]), onnx.node("Resize", [f"t{k}", "", f"s{k}"], [k], mode="nearest"))],
    [onnx.value("x", "f32", [1, 1, 2, 2])], [onnx.value(k, "f32") for k in "abcd"],
    [onnx.tensor(f"s{k}", "f32", [4], [1, 1, n, 1]) for k, n in zip("abcd", (2, 3, 2, 1))] + [onnx.tensor(f"m{k}", "f32", [2], [n, n + 1]) for k, n in zip("abcd", (5, 3, 2, 1))])))
lines = [line.split() for line in burin("inspect", "alike.onnx").stdout.splitlines()]
assert [w[3] for w in lines if w[:1] == ["output"]] == ["1x1x4x2", "1x1x6x2", "1x1x4x2", "1x1x2x2"], lines
file("x.bin", struct.pack("<4f", 1, 2, 3, 4))
burin("run", "alike.onnx", "--input", "x.bin", "--output-dir", "alike", "--output-format", "raw")
for k, (m, rows) in enumerate(((5, 2), (3, 3), (2, 2), (1, 1))):
    want = [v for row in ((1, 2), (3, 4)) for _ in range(rows) for v in (row[0] * m, row[1] * (m + 1))]
    assert list(struct.unpack(f"<{len(want)}f", pathlib.Path(f"alike/output_{k}.bin").read_bytes())) == want, k

# ---- files of one tensor: .pb, and .npy of types that NumPy has no name for ----
for kind, descr, stored, numbers in (("bf16", "<V2", struct.pack("<3H", 0x3fc0, 0xc000, 0), [1.5, -2, 0]), ("f16", "<f2", struct.pack("<3e", 1.5, -2, 0), [1.5, -2, 0]),
                                     ("f8e4m3fn", "|V1", bytes([0x3c, 0xc0, 0]), [1.5, -2, 0]), ("i4", "|V1", bytes([7, 8, 15]), [7, -8, -1]),
                                     ("u4", "|V1", bytes([7, 8, 15]), [7, 8, 15]), ("f4e2m1", "|V1", bytes([3, 12, 0]), [1.5, -2, 0])):
    narrow, wide = npy(descr, (3,), stored), npy("<f4", (3,), struct.pack("<3f", *numbers))
    packed = stored if descr != "|V1" or kind == "f8e4m3fn" else bytes([stored[0] | stored[1] << 4, stored[2]])
    for name, data, to, want in (("narrow", narrow, "f32", struct.pack("<3f", *numbers)), ("wide", wide, kind, packed)):
        file("in.npy", data)
        file("in.pb", onnx.tensor("x", kind, [3], data=packed) if name == "narrow" else onnx.tensor("", "f32", [3], numbers))
        file("cast.onnx", onnx.model(onnx.graph([onnx.node("Cast", ["x"], ["y"], to=onnx.TYPES[to])],
                                                [onnx.value("x", kind if name == "narrow" else "f32", ["n"])], [onnx.value("y", to)]), opset=23))
        for source in ("in.npy", "in.pb"):
            assert ran("cast.onnx", "--input", source) == want, (kind, name, source)
        burin("run", "cast.onnx", "--input", "in.pb", "--output-dir", "out", "--output-format", "pb", "--force")
        assert pathlib.Path("out/output_0.pb").read_bytes() == onnx.field(1, onnx.varint(3)) + onnx.field(2, onnx.TYPES[to]) + onnx.field(8, "y") + onnx.field(9, want)
        burin("run", "cast.onnx", "--input", "in.pb", "--output-dir", "out", "--force")
        made = pathlib.Path("out/output_0.npy").read_bytes()
        head, contents = ("<f4", want) if name == "narrow" else (descr, stored)
        assert f"'descr': '{head}'" in str(made[:64]) and made.endswith(b"\n" + contents), (kind, name, made)
        pathlib.Path("golden").mkdir(exist_ok=True)
        file("golden/input_0.pb", pathlib.Path("in.pb").read_bytes())
        file("golden/output_0.pb", pathlib.Path("out/output_0.pb").read_bytes())
        burin("verify", "cast.onnx", "golden", "--dim", "n=3")
file("bad.pb", onnx.tensor("x", "f32", [3], [1, 2, 3])[:-1])
refused("run", "cast.onnx", "--input", "bad.pb", says="bad.pb: tensor")
file("two.pb", onnx.tensor("x", "f32", [3], data=bytes(8)))
refused("run", "cast.onnx", "--input", "two.pb", says="two.pb: tensor: raw_data has 8 bytes: f32 3 has 12")
file("v1.npy", npy("|V1", (3,), bytes(3)))
refused("run", "cast.onnx", "--input", "v1.npy", says='input 0 "x" is f32 ?, given was V1 3')

# ---- constants that stand elsewhere, or sparsely ----
def external(location=None, offset=None, length=None, more=b""):
    entries = [(k, str(v)) for k, v in (("location", location), ("offset", offset), ("length", length)) if v is not None]
    return (onnx.field(1, 3) + onnx.field(2, 1) + onnx.field(8, "w") + b"".join(onnx.field(13, onnx.field(1, k) + onnx.field(2, v)) for k, v in entries) +
            onnx.field(14, 1) + more)


def with_constant(message, sparse=False):
    return onnx.model(onnx.graph([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", "f32", [3])], [onnx.value("y", "f32")], () if sparse else (message,),
                                 more=onnx.field(15, message) if sparse else b""))


os.makedirs("deep/inner")
file("deep/w.bin", struct.pack("<5f", 9, 1, 2, 3, 9))
file("three.npy", npy("<f4", (3,), struct.pack("<3f", 10, 20, 30)))
file("outside.bin", bytes(12))
os.symlink("../w.bin", "deep/inner/link.bin")
os.symlink("../outside.bin", "deep/away.bin")
os.symlink("/etc/passwd", "deep/passwd")
os.symlink("inner", "deep/folder")
os.symlink("loop", "deep/loop")
os.mkfifo("deep/pipe")  # nobody writes into it: to open it as a file is to wait
os.symlink("pipe", "deep/to_pipe")
server = socket.socket(socket.AF_UNIX)
server.bind("deep/socket")
file("deep/inner/w3.bin", struct.pack("<3f", 1, 2, 3))
for words in (("w.bin", 4, 12), ("inner/link.bin", 4, 12), ("folder/w3.bin",), ("./inner//w3.bin", 0), ("folder/link.bin", 4, 12)):
    file("deep/model.onnx", with_constant(external(*words)))
    assert list(struct.unpack("<3f", ran("deep/model.onnx", "--input", "three.npy"))) == [11, 22, 33], words
burin("compile", "deep/model.onnx", "-o", "deep_c")
assert subprocess.run([os.environ["BURIN"], "plan", "model.onnx"], cwd="deep", capture_output=True).returncode == 0
for words, says in ((("../outside.bin",), "../outside.bin: it has .. in it"), (("inner/../../outside.bin",), ".. in it"), (("away.bin",), "a link that leaves|leaves the folder"),
                    (("passwd",), "a link that leaves the folder"), (("/etc/passwd",), "an absolute path"), (("",), "it is empty"), ((), "no location"),
                    (("loop",), "more than 32 links"), (("pipe",), "pipe: it is no regular file"), (("to_pipe", 0, 12), "it is no regular file"), (("socket",), "socket: cannot open"),
                    (("inner",), "inner: it is a folder"), (("folder",), "it is a folder"), (("none.bin",), "external data: none.bin: cannot open: No such file"), (("w.bin", 4), "16 bytes of w.bin: f32 3 has 12"),
                    (("w.bin", 12, 12), "12 bytes from byte 12 on: w.bin has 20"), (("w.bin", 18446744073709551612, 12), "from byte 18446744073709551612 on"),
                    (("w.bin", 0, 18446744073709551615), "w.bin has 20"), (("w.bin", -4, 12), 'offset is "-4"'), (("w.bin", "18446744073709551616", 12), "expected a number")):
    file("deep/model.onnx", with_constant(external(*words)))
    done = burin("plan", "deep/model.onnx", status=1)
    assert "model.onnx: graph/initializer[0]: external data: " in done.stderr and re.search(says, done.stderr), (words, done.stderr)


def sparse(values, indices, dims, shape=None):
    return (onnx.field(1, onnx.tensor("w", "f32", [len(values)], values)) + onnx.field(2, onnx.tensor("", "i64", shape or [len(indices)], indices)) +
            b"".join(onnx.field(3, d) for d in dims))


for message in (sparse([1, 3], [0, 2], [3]), sparse([3, 1], [0, 2, 0, 0], [1, 3], [2, 2])):
    file("sparse.onnx", with_constant(message, sparse=True))
    assert list(struct.unpack("<3f", ran("sparse.onnx", "--input", "three.npy"))) == [11, 20, 33]
file("sparse_node.onnx", onnx.model(onnx.graph(
    [onnx.node("Constant", [], ["w"]) + onnx.field(5, onnx.field(1, "sparse_value") + onnx.field(22, sparse([1], [1], [3])) + onnx.field(20, 11)),
     onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", "f32", [3])], [onnx.value("y", "f32")])))
assert list(struct.unpack("<3f", ran("sparse_node.onnx", "--input", "three.npy"))) == [10, 21, 30]
for message, says in ((sparse([1, 3], [0, 3], [3]), "index 1 is outside of 3"), (sparse([1, 3], [0, -1], [3]), "index 1 is outside"), (sparse([1], [0, 2], [3]), "expected a list"),
                      (sparse([1, 3], [0, 0, 0, 3], [1, 3], [2, 2]), "outside of 1x3"), (sparse([], [], [1 << 40, 1 << 40]), "too many elements"),
                      (sparse([], [], [1 << 30]), "sparse constants of more than 64 MiB")):
    file("sparse.onnx", with_constant(message, sparse=True))
    refused("plan", "sparse.onnx", says="graph/sparse_initializer[0]")
    refused("plan", "sparse.onnx", says=says)

# ---- an order of extents that is none ----
file("turn.onnx", onnx.model(onnx.graph([onnx.node("Transpose", ["x"], ["y"], perm=[0, 0])], [onnx.value("x", "f32", [2, 3])], [onnx.value("y", "f32")])))
refused("plan", "turn.onnx", says="graph/node[0] Transpose: perm: axis 0 is given twice")

# ---- backward along an axis without elements: none, as ONNX Runtime and onnx's evaluator give ----
for extents, starts, ends, axes, steps, shape in (([0, 3], [-1], [-9], [0], [-1], [0, 3]), ([0, 6, 3], [-2, 2**63 - 1], [0, -2**31], [0, 1], [-1, 1], [0, 0, 3]),
                                                  ([2, 0], [5], [-2**63], [1], [-2], [2, 0]), ([0, 2], [0], [2**63 - 1], [0], [1], [0, 2])):
    lists = [onnx.tensor(n, "i64", [len(v)], v) for n, v in (("s", starts), ("e", ends), ("a", axes), ("q", steps))]
    file("back.onnx", onnx.model(onnx.graph([onnx.node("Slice", ["x", "s", "e", "a", "q"], ["y"])], [onnx.value("x", "f32", extents)], [onnx.value("y", "f32")], lists)))
    said = burin("inspect", "back.onnx").stdout
    assert [line.split()[3] for line in said.splitlines() if line.startswith("output ")] == ["x".join(map(str, shape))], said
    file("none.npy", npy("<f4", tuple(extents), b""))
    for provider in ("reference", "host"):
        assert ran("back.onnx", "--input", "none.npy", provider=provider) == b"", (extents, provider)
    burin("compile", "back.onnx", "--target", "onnx", "-o", "back_again.onnx", "--force")
    assert ran("back_again.onnx", "--input", "none.npy") == b""
