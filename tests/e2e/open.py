# ctest: name=e2e.open, timeout=900
"""Operators behind extents that data decides, in emitted C: each row of a table is a graph that begins with WHERE. The check that compile makes
compares every operator with its definition for the extents of that run (none, all, some between); here the outputs and their shapes, too."""
import base64
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
FORMS = {"f32": "f", "i32": "i", "i64": "q", "i8": "b", "bool": "?"}


class Graph:
    """n rows of x (f32[6,4]) are taken, those where mask (bool[6]) holds: a is f32["n",4], t is f32[4,"n"], at is i64["n",1]."""

    def __init__(self):
        self.tensors, self.nodes, self.symbols, self.outputs = [], [], {"n": 6}, []
        self.mask, self.x = self.tensor("bool", [6]), self.tensor("f32", [6, 4])
        self.inputs = [self.mask, self.x]
        self.at = self.op("where", [self.mask], "i64", ["n", 1])
        self.a = self.op("gather_nd", [self.x, self.at], "f32", ["n", 4])
        self.t = self.op("transpose", [self.a], "f32", [4, "n"], perm=[1, 0])

    def tensor(self, kind, shape, data=None, quant=""):
        extents = ",".join(f'"{e}"' if isinstance(e, str) else str(e) for e in shape)
        text = f'tensor %{len(self.tensors)} {kind}[{extents}] "t{len(self.tensors)}"{quant}'
        if data is not None:
            form = FORMS[kind]
            text += f' = base64 "{base64.b64encode(struct.pack(f"<{len(data)}{form}", *data)).decode()}"'
        self.tensors.append(text)
        return len(self.tensors) - 1

    def const(self, kind, shape, data, quant=""):
        return self.tensor(kind, shape, data, quant)

    def symbol(self, name, bound):
        self.symbols[name] = bound
        return name

    def op(self, word, inputs, kind, extents, quant="", **attrs):
        return self.ops(word, inputs, [(kind, extents, quant)], **attrs)[0]

    def ops(self, word, inputs, results, **attrs):
        made = [self.tensor(kind, shape, None, quant) for kind, shape, quant in results]
        text = ", ".join(f"{k}: " + (f"int {v}" if isinstance(v, int) else f"text \"{v}\"" if isinstance(v, str)
                                     else f"ints [{', '.join(map(str, v))}]") for k, v in attrs.items())
        refs = ["_" if i is None else f"%{i}" for i in inputs]
        self.nodes.append(f"node {word} ({', '.join(refs)}) -> ({', '.join(f'%{m}' for m in made)})" + (f" {{{text}}}" if text else ""))
        return made

    def text(self):
        lines = ["burin 1", 'model "ir" "open"'] + [f'symbol "{k}" {v} computed' for k, v in self.symbols.items()]
        lines += ['graph "main" 0 {', *self.tensors, f"inputs ({', '.join(f'%{i}' for i in self.inputs)})",
                  f"outputs ({', '.join(f'%{i}' for i in self.outputs)})", *self.nodes, "}"]
        return "\n".join(lines) + "\n"


ROWS = {}


def row(f):
    ROWS[f.__name__] = f
    return f


def ramp(n, scale=0.25, start=-1.0):
    return [start + scale * k for k in range(n)]


@row
def element_wise(g):
    c = g.const("f32", [4], ramp(4))
    one = g.const("f32", [4, 1], ramp(4))
    s = g.op("add", [g.a, c], "f32", ["n", 4])
    u = g.op("mul", [s, g.a], "f32", ["n", 4])
    v = g.op("sub", [g.t, one], "f32", [4, "n"])
    w = g.op("maximum", [v, g.t], "f32", [4, "n"])
    return [u, w, g.op("exp", [g.t], "f32", [4, "n"]), g.op("neg", [s], "f32", ["n", 4])]


@row
def reductions(g):
    return [g.op("sum", [g.a], "f32", [4], axes=[0]), g.op("sum", [g.t], "f32", [4], axes=[1]), g.op("sum", [g.a], "f32", [], axes=[0, 1]),
            g.op("sum", [g.t], "f32", ["n"], axes=[0]), g.op("mean", [g.t], "f32", [4, 1], axes=[1], keepdims=1),
            g.op("mean", [g.a], "f32", ["n"], axes=[1]), g.op("reduce_max", [g.a], "f32", [4], axes=[0]),
            g.op("reduce_prod", [g.t], "f32", [4], axes=[-1])]


@row
def rows_and_columns(g):
    p = g.op("softmax", [g.a], "f32", ["n", 4])
    q = g.op("softmax", [g.t], "f32", [4, "n"])
    return [p, q, g.op("l2_normalization", [g.t], "f32", [4, "n"]), g.op("log_softmax", [g.t], "f32", [4, "n"])]


@row
def products(g):
    w = g.const("f32", [3, 4], ramp(12))
    b = g.const("f32", [3], ramp(3))
    return [g.op("fully_connected", [g.a, w, b], "f32", ["n", 3]), g.op("batch_matmul", [g.a, g.t], "f32", ["n", "n"]),
            g.op("batch_matmul", [g.t, g.a], "f32", [4, 4]), g.op("batch_matmul", [g.a, g.a], "f32", [4, 4], adj_x=1)]


@row
def pieces(g):
    two = g.symbol("two", 12)
    more = g.symbol("more", 8)
    c = g.const("f32", [2, 4], ramp(8))
    d = g.op("concatenation", [g.a, c], "f32", [more, 4], axis=0)
    return [d, g.op("concatenation", [g.a, g.a], "f32", [two, 4], axis=0), g.op("concatenation", [g.t, g.t], "f32", [4, two], axis=1),
            g.op("concatenation", [g.a, g.a], "f32", ["n", 8], axis=1), g.op("pack", [g.a, g.a], "f32", [2, "n", 4], axis=0),
            *g.ops("unpack", [g.t], [("f32", ["n"], "")] * 4, axis=0), *g.ops("split", [g.a], [("f32", ["n", 2], "")] * 2, axis=1, sizes=[2, 2])]


@row
def shapes(g):
    all_ = g.symbol("all", 24)
    half = g.symbol("half", 12)
    f = g.op("reshape", [g.t], "f32", [all_], shape=[-1])
    h = g.op("reshape", [g.t], "f32", [half, 2], shape=[-1, 2])
    return [f, h, g.op("reshape", [g.a], "f32", [2, half], shape=[2, -1]), g.op("reshape", [g.a], "f32", [2, 2, "n"], shape=[2, 2, -1]),
            g.op("shape", [g.t], "i32", [2]), g.op("shape", [h], "i64", [2]), g.op("rank", [g.a], "i32", []),
            g.op("reshape", [g.t], "f32", [1, 4, "n", 1], shape=[1, 4, -1, 1])]


@row
def moves(g):
    p = g.symbol("p", 9)
    q = g.symbol("q", 8)
    r = g.symbol("r", 12)
    rows = g.const("i32", [3], [2, 0, 3])
    return [g.op("reverse", [g.a], "f32", ["n", 4], axes=[0]), g.op("reverse", [g.t], "f32", [4, "n"], axes=[1]),
            g.op("pad", [g.a], "f32", [p, 4], pads=[1, 2, 0, 0]), g.op("pad", [g.t], "f32", [5, q], pads=[0, 1, 2, 0]),
            g.op("tile", [g.a], "f32", [r, 4], multiples=[2, 1]), g.op("tile", [g.t], "f32", [8, r], multiples=[2, 2]),
            g.op("gather", [g.t, rows], "f32", [3, "n"], axis=0), g.op("slice", [g.t], "f32", [2, "n"], begin=[1, 0], extents=[2, 0]) if 0 else
            g.op("transpose", [g.op("pack", [g.t, g.t], "f32", [2, 4, "n"], axis=0)], "f32", ["n", 2, 4], perm=[2, 0, 1])]


@row
def scans(g):
    return [g.op("cumsum", [g.a], "f32", ["n", 4], axis=0), g.op("cumsum", [g.t], "f32", [4, "n"], axis=1, reverse=1),
            g.op("cumsum", [g.a], "f32", ["n", 4], axis=1, exclusive=1)]


@row
def choices(g):
    k = g.op("cast", [g.at], "i32", ["n", 1])
    line = g.op("reshape", [k], "i32", ["n"], shape=[-1])
    on, off = g.const("f32", [], [2.0]), g.const("f32", [], [-1.0])
    positive = g.op("greater", [g.a, off], "bool", ["n", 4])
    best, which = g.ops("topk", [g.a], [("f32", ["n", 2], ""), ("i32", ["n", 2], "")], k=2)
    return [g.op("one_hot", [line, on, off], "f32", ["n", 6], axis=1, depth=6), g.op("one_hot", [line, on, off], "f32", [6, "n"], axis=0, depth=6),
            g.op("select", [positive, g.a, on], "f32", ["n", 4]), best, which, g.op("arg_max", [g.a], "i32", ["n"], axis=1)]


@row
def scatters(g):
    k = g.op("cast", [g.at], "i32", ["n", 1])
    return [g.op("scatter_nd", [k, g.a], "f32", [6, 4], shape=[6, 4])]


@row
def twice(g):
    """WHERE of what WHERE took; the number of the second is at most 4 times that of the first."""
    m = g.symbol("m", 24)
    zero = g.const("f32", [], [0.0])
    again = g.op("where", [g.op("greater", [g.t, zero], "bool", [4, "n"])], "i64", [m, 2])
    taken = g.op("gather_nd", [g.t, again], "f32", [m])
    return [again, g.op("sum", [taken], "f32", [], axes=[0]), g.op("add", [taken, taken], "f32", [m]), g.op("shape", [again], "i32", [2])]


@row
def unique(g):
    m = g.symbol("m", 24)
    half = g.const("f32", [], [0.0])
    signs = g.op("cast", [g.op("greater", [g.a, half], "bool", ["n", 4])], "i32", ["n", 4])
    flat = g.op("reshape", [signs], "i32", [g.symbol("all", 24)], shape=[-1])
    what, which = g.ops("unique", [flat], [("i32", [m], ""), ("i32", ["all"], "")])
    return [what, which, g.op("add", [what, what], "i32", [m]), g.op("shape", [what], "i32", [1])]


@row
def integers(g):
    quant = " quant {0.02:3}"
    q = g.op("quantize", [g.a], "i8", ["n", 4], quant)
    u = g.op("quantize", [g.t], "i8", [4, "n"], quant)
    w = g.const("i8", [3, 4], [k * 7 % 50 - 25 for k in range(12)], " quant axis 0 {0.01:0, 0.02:0, 0.03:0}")
    b = g.const("i32", [3], [100, -100, 50])
    f = g.op("fully_connected", [q, w, b], "i8", ["n", 3], " quant {0.05:-4}", act="relu")
    return [f, g.op("add", [q, q], "i8", ["n", 4], " quant {0.04:0}"), g.op("softmax", [q], "i8", ["n", 4], " quant {0.00390625:-128}"),
            g.op("mean", [u], "i8", [4], quant, axes=[1]), g.op("mul", [u, u], "i8", [4, "n"], " quant {0.03:1}"),
            g.op("dequantize", [f], "f32", ["n", 3]), g.op("sum", [u], "i8", [4], " quant {0.1:0}", axes=[1])]


@row
def images(g):
    """A batch of n images; one image of n columns."""
    batch = g.op("reshape", [g.a], "f32", ["n", 2, 2, 1], shape=[-1, 2, 2, 1])
    wide = g.op("reshape", [g.t], "f32", [1, 4, "n", 1], shape=[1, 4, -1, 1])
    w = g.const("f32", [3, 2, 2, 1], ramp(12))
    d = g.const("f32", [1, 2, 3, 1], ramp(6))
    b = g.const("f32", [3], ramp(3))
    c = g.op("conv2d", [batch, w, b], "f32", ["n", 2, 2, 3], strides=[1, 1], dilations=[1, 1], pads=[0, 0, 1, 1], act="relu")
    e = g.op("conv2d", [wide, w, None], "f32", [1, 4, "n", 3], strides=[1, 1], dilations=[1, 1], pads=[1, 1, 0, 0])
    return [c, e, g.op("depthwise_conv2d", [wide, d, None], "f32", [1, 4, "n", 1], strides=[1, 1], dilations=[1, 1], pads=[0, 1, 1, 1]),
            g.op("max_pool2d", [batch], "f32", ["n", 1, 1, 1], kernel=[2, 2], strides=[2, 2], pads=[0, 0, 0, 0]),
            g.op("average_pool2d", [c], "f32", ["n", 2, 2, 3], kernel=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1]),
            g.op("space_to_depth", [batch], "f32", ["n", 1, 1, 4], block_size=2)]


SANITISE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MASKS = [[0] * 6, [1] * 6, [0, 1, 0, 0, 0, 0], [1, 0, 1, 1, 0, 1]]
X = [(k * 37 % 23 - 11) / 8 for k in range(24)]


def run(name, g):
    """Both providers, run by run: the same shapes and, but for rounding, values; where one refuses, so does the other."""
    refused = 0
    pathlib.Path("x.bin").write_bytes(struct.pack("<24f", *X))
    for mask in MASKS:
        pathlib.Path("mask.bin").write_bytes(bytes(mask))
        done = [subprocess.run([os.environ["BURIN"], "run", f"{name}.ir", "--input", "mask.bin", "--input", "x.bin", "--provider", p, "--output-dir",
                                p, "--force"], capture_output=True, text=True) for p in ("reference", "host")]
        if done[0].returncode != 0:
            assert done[1].returncode != 0 and "out of range" in done[1].stderr, (name, mask, done)
            refused += 1
            continue
        assert done[1].returncode == 0, (name, mask, done[1].stderr)
        for i in range(len(g.outputs)):
            kind, want, a = made.read_npy(next(pathlib.Path("reference").glob(f"output_{i}*")).read_bytes())
            same, got, b = made.read_npy(next(pathlib.Path("host").glob(f"output_{i}*")).read_bytes())
            form = {"<i8": "q", "<i4": "i", "<f4": "f", "|i1": "b"}[kind]
            a, b = ([*struct.unpack(f"<{len(x) // struct.calcsize(form)}{form}", x)] for x in (a, b))
            assert kind == same and want == got and len(a) == len(b), (name, mask, i, want, got)
            assert all(x == y or abs(x - y) <= 1e-5 * (1 + abs(x)) or x != x and y != y for x, y in zip(a, b)), (name, mask, i, a, b)
    assert refused == (1 if name == "images" else 0), (name, refused)


def check(name, make):
    g = Graph()
    g.outputs = make(g)
    pathlib.Path(f"{name}.ir").write_text(g.text())
    for options in (["--test", "6", "--layout", "single"], ["-O0"]):
        os.system(f"rm -rf {name}")
        said = burin("compile", f"{name}.ir", "-o", name, "--prefix", "m", *options).stdout
        assert "checked: 4 inputs" in said, said
        if "--test" in options: # the evaluator's outputs, zeros behind them, and shapes
            subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", *SANITISE, f"{name}/m.c", f"{name}/m_test.c", "-o",
                            f"{name}/test", "-lm"], check=True)
            said = subprocess.run([f"{name}/test"], capture_output=True, text=True)
            assert said.stdout == "m: 6 passed, 0 failed\n", (name, said)
    run(name, g)


# in the branches of an IF, whose result a state takes up; in the body of a WHILE, another number in each round
BRANCH = """burin 1
model "ir" "branch"
symbol "n" 6 computed
symbol "m" 4 computed
state @0 f32[4] "total"
graph "main" 0 {
  tensor %0 bool[] "which"
  tensor %1 bool[6] "mask"
  tensor %2 f32[6,4] "x"
  tensor %3 f32[4] "y"
  tensor %4 f32[4] "before" state @0
  tensor %5 f32[4] "sum"
  inputs (%0, %1, %2)
  outputs (%3, %5)
  node if (%0, %1, %2) -> (%3) {then: graph 1, else: graph 2}
  node add (%3, %4) -> (%5)
  node identity (%5) -> (%4)
}
graph "then" 1 {
  tensor %0 bool[6] "mask"
  tensor %1 f32[6,4] "x"
  tensor %2 i64["n",1] "at"
  tensor %3 f32["n",4] "taken"
  tensor %4 f32[4] "y"
  inputs (%0, %1)
  outputs (%4)
  node where (%0) -> (%2)
  node gather_nd (%1, %2) -> (%3)
  node sum (%3) -> (%4) {axes: ints [0]}
}
graph "else" 2 {
  tensor %0 bool[6] "mask"
  tensor %1 f32[6,4] "x"
  tensor %2 i64["n",1] "at"
  tensor %3 f32["n",4] "taken"
  tensor %4 f32[4] "y"
  inputs (%0, %1)
  outputs (%4)
  node where (%0) -> (%2)
  node gather_nd (%1, %2) -> (%3)
  node reduce_max (%3) -> (%4) {axes: ints [0]}
}
"""
LOOP = """burin 1
model "ir" "loop"
symbol "n" 6 computed
graph "main" 0 {
  tensor %0 i32[6] "left"
  tensor %1 i32[6] "end"
  tensor %2 i32[] "rounds" = hex "00000000"
  tensor %3 i32[] "had"
  inputs (%0)
  outputs (%1, %3)
  node while (%0, %2) -> (%1, %3) {cond: graph 1, body: graph 2}
}
graph "cond" 1 {
  tensor %0 i32[6] "left"
  tensor %1 i32[] "rounds"
  tensor %2 i32[] "most" = hex "04000000"
  tensor %3 bool[] "more"
  inputs (%0, %1)
  outputs (%3)
  node less (%1, %2) -> (%3)
}
graph "body" 2 {
  tensor %0 i32[6] "left"
  tensor %1 i32[] "rounds"
  tensor %2 i64["n",1] "at"
  tensor %3 i32["n"] "kept"
  tensor %4 i32["n"] "less"
  tensor %5 i32[6] "next"
  tensor %6 i32[] "one" = hex "01000000"
  tensor %7 i32[] "so many"
  inputs (%0, %1)
  outputs (%5, %7)
  node where (%0) -> (%2)
  node gather_nd (%0, %2) -> (%3)
  node sub (%3, %6) -> (%4)
  node scatter_nd (%2, %4) -> (%5) {shape: ints [6]}
  node add (%1, %6) -> (%7)
}
"""


def control():
    for name, text in (("branch", BRANCH), ("loop", LOOP)):
        pathlib.Path(f"{name}.ir").write_text(text)
        said = burin("compile", f"{name}.ir", "-o", name, "--prefix", "m", "--test", "6", "--layout", "single").stdout
        assert "checked: 4 inputs" in said, said
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", *SANITISE, f"{name}/m.c", f"{name}/m_test.c", "-o",
                        f"{name}/test", "-lm"], check=True)
        said = subprocess.run([f"{name}/test"], capture_output=True, text=True)
        assert said.stdout == "m: 6 passed, 0 failed\n", (name, said)
    pathlib.Path("left.bin").write_bytes(struct.pack("<6i", 3, 0, 9, 1, -1, 4))
    burin("run", "loop.ir", "--input", "left.bin", "--provider", "host", "--output-dir", "loop_out")
    end = made.read_npy(next(pathlib.Path("loop_out").glob("output_0*")).read_bytes())[2]
    assert struct.unpack("<6i", end) == (0, 0, 5, 0, -5, 0), end


if __name__ == "__main__":
    if not sys.argv[1:]:
        control()
    for name in sys.argv[1:] or ROWS:
        check(name, ROWS[name])

# ---- where no input that is made stays inside, nothing was checked, and that is said ----
pathlib.Path("far.op").write_text("// An element that lies outside whatever the input holds.\nop Far\nin X:i8[N]\n-> Y:i8\nY[n<N] = X[i64(X[n]) + 1000]\n")
pathlib.Path("far.ir").write_text('burin 1\nmodel "ir" "far"\ngraph "g" 0 {\n  tensor %0 i8[4] "x"\n  tensor %1 i8[4] "y"\n  inputs (%0)\n  outputs (%1)\n'
                                  "  node custom.Far (%0) -> (%1)\n}\n")
told = json.loads(burin("compile", "far.ir", "--ops", "far.op", "-o", "far", "--json").stdout)
assert not told["checked"] and "out of range" in told["check"], told
