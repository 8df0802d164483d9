# ctest: name=e2e.views, timeout=600
"""Concatenations, packs, splits and slices as views: what lies in whose bytes, and what the modules compute.

Expected: Python's own lists. Which tensors share bytes is read from the plan; every model is compiled with its check at every level, and
both providers compute it.
"""
import json
import os
import pathlib
import random
import struct
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
ADD, CAT = '{act: text "none"}', '{axis: int %d, act: text "none"}'


def constant(*values):
    return ' = hex "' + struct.pack(f"<{len(values)}i", *values).hex() + '"'


def t(*shape, name="t", rest=""):
    return f'i32[{",".join(map(str, shape))}] "{name}"{rest}'


ONE, TWO = t(rest=constant(1)), t(rest=constant(2))
graph = made.graph


def model(name, tensors, inputs, outputs, nodes, expected, views, more="", head=""):
    """views: for each node whether it has nothing left to do. expected: of the inputs, as lists."""
    file = pathlib.Path(f"{name}.ir")
    file.write_text('burin 1\nmodel "ir" "m.ir"\n' + head + graph("main", 0, tensors, inputs, outputs, nodes) + more)
    sizes = []
    for k in inputs:
        extents, size = tensors[k].split("[")[1].split("]")[0], 1
        for extent in filter(None, extents.split(",")):
            size *= int(extent)
        sizes.append(size)
    values = [[(7 * i * i + 3 * k + 5) % 101 - 50 for i in range(n)] for k, n in enumerate(sizes)]
    for k, v in enumerate(values):
        pathlib.Path(f"{name}_{k}.bin").write_bytes(struct.pack(f"<{len(v)}i", *v))
    want = [struct.pack(f"<{len(y)}i", *y) for y in expected(*values)]
    for p, options in enumerate([[], ["--provider", "host"]]):
        burin("run", file, *[w for k in range(len(sizes)) for w in ("--input", f"{name}_{k}.bin")], "--output-dir", f"{name}_{p}",
              "--output-format", "raw", *options)
        got = [pathlib.Path(f"{name}_{p}/output_{k}.bin").read_bytes() for k in range(len(want))]
        assert got == want, (name, options, got, want)
    for level in "01":
        assert json.loads(burin("compile", file, "-o", f"{name}_c{level}", f"-O{level}", "--json").stdout)["checked"]
    plan = json.loads(burin("plan", file, "--json").stdout)
    idle = [all(s["form"] == "alias" for s in k["stages"]) for k in plan["kernels"] if k["control"] == "compute"]
    if views is not None:
        assert idle == views, (name, idle)
    assert not any(s["form"] == "alias" for k in json.loads(burin("plan", file, "-O0", "--json").stdout)["kernels"] for s in k["stages"])
    return plan


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def plus(a, b):
    return [x + b for x in a]


def times(a, b):
    return [x * b for x in a]


# Values that are made in the whole, one of them used elsewhere, too; the whole is used twice.
plan = model("rows", [t(2, 3), ONE, t(2, 3), TWO, t(2, 3), t(4, 3), t(4, 3), t(2, 3), t(4, 3)], [0], [6, 7, 8],
             [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("concatenation", [2, 4], [5], CAT % 0), ("mul", [5, 5], [6], ADD),
              ("add", [2, 0], [7], ADD), ("add", [5, 1], [8], ADD)],
             lambda x: [times(plus(x, 1), 1) and [v * v for v in plus(x, 1) + times(x, 2)], add(plus(x, 1), x), plus(plus(x, 1) + times(x, 2), 1)],
             [False, False, True, False, False, False])
made_there = [x for x in plan["tensors"] if x["root"] != plan["tensors"].index(x)]
assert sorted(x["root_offset"] for x in made_there) == [0, 24], made_there

# A whole in a whole, over extents of 1, and a reshape on the way; the outer one is an output.
model("nested", [t(1, 2, 2), ONE, t(1, 2, 2), t(1, 2, 2), t(1, 4, 2), t(8), t(4), TWO, t(8), t(1, 8), t(1, 8), t(2, 8)], [0], [11],
      [("add", [0, 1], [2], ADD), ("mul", [0, 7], [3], ADD), ("concatenation", [2, 3], [4], CAT % 1), ("reshape", [4], [5], "{shape: ints [8]}"),
       ("mul", [5, 7], [8], ADD), ("reshape", [8], [9], "{shape: ints [1,8]}"), ("reshape", [5], [10], "{shape: ints [1,8]}"),
       ("concatenation", [9, 10], [11], CAT % 0)],
      lambda x: [times(plus(x, 1) + times(x, 2), 2) + plus(x, 1) + times(x, 2)],
      [False, False, True, True, False, True, True, True])

# The same value twice, an inner extent, constants, and an input beside an output: copies.
model("twice", [t(2), ONE, t(2), t(4)], [0], [3], [("add", [0, 1], [2], ADD), ("concatenation", [2, 2], [3], CAT % 0)],
      lambda x: [plus(x, 1) * 2], [False, False])
model("inner", [t(2, 2), ONE, t(2, 2), TWO, t(2, 2), t(2, 4)], [0], [5],
      [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("concatenation", [2, 4], [5], CAT % 1)],
      lambda x: [plus(x[:2], 1) + times(x[:2], 2) + plus(x[2:], 1) + times(x[2:], 2)], [False, False, False])
model("known", [t(2), ONE, t(2), t(2, rest=constant(7, 8)), t(4)], [0], [4],
      [("add", [0, 1], [2], ADD), ("concatenation", [2, 3], [4], CAT % 0)], lambda x: [plus(x, 1) + [7, 8]], [False, False])
model("outside", [t(4), ONE, t(4), t(8)], [0], [3], [("add", [0, 1], [2], ADD), ("concatenation", [0, 2], [3], CAT % 0)],
      lambda x: [x + plus(x, 1)], [False, False])
# An input may lie in what is no output; outputs may lie in each other where they begin at an aligned place.
model("inputs", [t(4), ONE, t(4), t(8), t(8)], [0], [4], [("add", [0, 1], [2], ADD), ("concatenation", [0, 2], [3], CAT % 0), ("add", [3, 3], [4], ADD)],
      lambda x: [times(x + plus(x, 1), 2)], [False, True, False])
model("outputs", [t(4), ONE, t(4), TWO, t(4), t(8)], [0], [2, 4, 5],
      [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("concatenation", [2, 4], [5], CAT % 0)],
      lambda x: [plus(x, 1), times(x, 2), plus(x, 1) + times(x, 2)], [False, False, True])
model("unaligned", [t(3), ONE, t(3), TWO, t(3), t(6)], [0], [2, 4, 5],
      [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("concatenation", [2, 4], [5], CAT % 0)],
      lambda x: [plus(x, 1), times(x, 2), plus(x, 1) + times(x, 2)], [False, False, False])
# One value in two wholes lies in the first.
model("shared", [t(2), ONE, t(2), TWO, t(2), t(4), t(4), t(4), t(4)], [0], [7, 8],
      [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("concatenation", [2, 4], [5], CAT % 0), ("concatenation", [4, 2], [6], CAT % 0),
       ("mul", [5, 5], [7], ADD), ("mul", [6, 6], [8], ADD)],
      lambda x: [[v * v for v in plus(x, 1) + times(x, 2)], [v * v for v in times(x, 2) + plus(x, 1)]],
      [False, False, True, False, False, False])

# Parts that are read where they lie; one of them is put into another whole by a copy.
model("split", [t(6), ONE, t(6), t(1), t(2), t(3), t(1), t(2), t(3), t(5)], [0], [6, 7, 8, 9],
      [("add", [0, 1], [2], ADD), ("split", [2], [3, 4, 5], "{axis: int 0, sizes: ints [1,2,3]}"), ("mul", [3, 3], [6], ADD), ("mul", [4, 4], [7], ADD),
       ("mul", [5, 5], [8], ADD), ("concatenation", [5, 4], [9], CAT % 0)],
      lambda x: [[v * v for v in plus(x, 1)][:1], [v * v for v in plus(x, 1)][1:3], [v * v for v in plus(x, 1)][3:], plus(x, 1)[3:] + plus(x, 1)[1:3]],
      [False, True, False, False, False, False])
model("slice", [t(1, 4, 2), ONE, t(1, 4, 2), t(1, 2, 2), t(1, 2, 2)], [0], [4],
      [("add", [0, 1], [2], ADD), ("slice", [2], [3], "{begin: ints [0,1,0], extents: ints [1,2,2]}"), ("mul", [3, 3], [4], ADD)],
      lambda x: [[v * v for v in plus(x, 1)[2:6]]], [False, True, False])
model("packs", [t(4), ONE, t(4), TWO, t(4), t(2, 4), t(4), t(4), t(4)], [0], [8],
      [("add", [0, 1], [2], ADD), ("mul", [0, 3], [4], ADD), ("pack", [2, 4], [5], "{axis: int 0}"), ("unpack", [5], [6, 7], "{axis: int 0}"),
       ("sub", [7, 6], [8], ADD)], lambda x: [[2 * v - (v + 1) for v in x]], [False, False, True, True, False])
model("columns", [t(2, 2), ONE, t(2, 2), t(2), t(2), t(2)], [0], [5],
      [("add", [0, 1], [2], ADD), ("unpack", [2], [3, 4], "{axis: int 1}"), ("sub", [3, 4], [5], ADD)],
      lambda x: [[x[0] - x[1], x[2] - x[3]]], [False, False, False])

# A small part that is needed long keeps no large whole alive: then it is copied.
plan = model("long", [t(100), ONE, t(100), t(96), t(4), t(96), t(96), TWO, t(96), t(4, name="y"), t(96)], [0], [9, 10],
             [("add", [0, 1], [2], ADD), ("split", [2], [3, 4], "{axis: int 0, sizes: ints [96,4]}"), ("reverse", [3], [5], "{axes: ints [0]}"),
              ("mul", [5, 7], [6], ADD), ("reverse", [6], [8], "{axes: ints [0]}"), ("reverse", [8], [10], "{axes: ints [0]}"), ("add", [4, 1], [9], ADD)],
             lambda x: [plus(x[96:], 2), times(plus(x[:96], 1)[::-1], 2)], None)

# In a loop: what is outside of it is a part, too. y = [x + 1, i]; a = a + y, n times
body = graph("body", 2, [t(), t(4), t(2), ONE, t(), t(2, rest=constant(2, 3)), t(2), t(4), t(4), t(2), t()], [0, 1, 2, 10], [4, 8, 2, 10],
             [("add", [0, 3], [4], ADD), ("add", [5, 4], [6], ADD), ("mul", [2, 3], [9], ADD), ("concatenation", [9, 6], [7], CAT % 0), ("add", [1, 7], [8], ADD)])
cond = graph("cond", 1, [t(), t(4), t(2), t(), 'bool[] "c"'], [0, 1, 2, 3], [4], [("less", [0, 3], [4], "")])


def loop(x, n):
    a = [0, 0, 0, 0]
    for i in range(1, n[0] + 1):
        a = add(a, plus(x, 1) + [2 + i, 3 + i])
    return [a]


plan = model("loop", [t(2), t(), ONE, t(2), t(rest=constant(0)), t(4, rest=constant(0, 0, 0, 0)), t(), t(4), t(2), t()], [0, 1], [7],
             [("add", [0, 2], [3], ADD), ("while", [4, 5, 3, 1], [6, 7, 8, 9], "{cond: graph 1, body: graph 2}")], lambda x, n: loop(x, n), None, cond + body)
assert any(k["op"] == "concatenation" and k["stages"][0]["form"] == "alias" for k in plan["kernels"])

# A part of a state is read where it lies as long as the state stays as it is.
ir = 'state @0 i32[4] "s" = hex "01000000020000000300000004000000"\n'
model("state", [t(4), t(4, rest=" state @0"), t(2), t(4), t(2), t(2)], [0], [5],
      [("slice", [1], [2], "{begin: ints [1], extents: ints [2]}"), ("add", [0, 1], [3], ADD), ("identity", [3], [1], ""),
       ("slice", [1], [4], "{begin: ints [1], extents: ints [2]}"), ("sub", [4, 2], [5], ADD)],
      lambda x: [x[1:3]], None, head=ir)


# Random graphs of views of views: the check compares every output with the evaluator, bit for bit, and finds what was overwritten.
def random_graph(r):
    tensors, nodes = [ONE], []
    sizes = {}

    def value(n):
        tensors.append(t(n))
        sizes[len(tensors) - 1] = n
        return len(tensors) - 1

    inputs = [value(r.choice([4, 6, 8])) for _ in range(2)]
    for _ in range(30):
        word = r.choice(["add", "concatenation", "concatenation", "concatenation", "split", "slice", "reverse", "reshape"])
        recent = list(sizes)[-8:]
        a = r.choice(recent)
        n = sizes[a]
        if word == "add":
            b = r.choice([0] + [k for k in sizes if sizes[k] == n])
            nodes.append((word, [a, b], [value(n)], ADD))
        elif word == "concatenation":
            parts = [r.choice(recent) for _ in range(r.choice([1, 2, 2, 3]))]
            if sum(sizes[k] for k in parts) <= 64:
                nodes.append((word, parts, [value(sum(sizes[k] for k in parts))], CAT % 0))
        elif word == "split":
            if n >= 2:
                k = r.randrange(1, n)
                nodes.append((word, [a], [value(k), value(n - k)], f"{{axis: int 0, sizes: ints [{k}, {n - k}]}}"))
        elif word == "slice":
            begin = r.randrange(n)
            extent = r.randrange(1, n - begin + 1)
            nodes.append((word, [a], [value(extent)], f"{{begin: ints [{begin}], extents: ints [{extent}]}}"))
        else:
            nodes.append((word, [a], [value(n)], "{axes: ints [0]}" if word == "reverse" else f"{{shape: ints [{n}]}}"))
    made_here = [k for k in sizes if k not in inputs]
    return graph("main", 0, tensors, inputs, sorted({made_here[-1], *r.sample(made_here, 3)}), nodes)


parts = 0
for seed in range(12):
    pathlib.Path("random.ir").write_text('burin 1\nmodel "ir" "m.ir"\n' + random_graph(random.Random(seed)))
    assert json.loads(burin("compile", "random.ir", "-o", "random", "--force", "--json").stdout)["checked"], seed
    parts += sum(x.get("root_offset", 0) > 0 for x in json.loads(burin("plan", "random.ir", "--json").stdout)["tensors"])
assert parts >= 12, parts
