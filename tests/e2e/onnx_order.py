# ctest: name=e2e.onnx_order, timeout=120
"""ONNX models whose nodes stand in an order that cannot be executed: they are put into one that can, cycles are refused by name."""
import os
import pathlib
import struct
import tempfile
import time

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())
X = onnx.value("x", "f32", [2])
Y = [onnx.value("y", "f32")]
FUNCTIONS, CALL = 25, [("local", 1)]


def file(name, data):
    pathlib.Path(name).write_bytes(data)


def run(nodes, constants=(), inputs=(X,), files=("x.npy",), domains=(), functions=(), outputs=Y):
    file("m.onnx", onnx.model(onnx.graph(nodes, list(inputs), outputs, constants), domains=domains, functions=functions))
    words = [w for f in files for w in ("--input", f)]
    burin("run", "m.onnx", *words, "--output-dir", "out", "--output-format", "raw", "--force")
    return list(struct.unpack("<2f", pathlib.Path("out/output_0.bin").read_bytes()))


def refused(nodes, says):
    file("m.onnx", onnx.model(onnx.graph(nodes, [X], Y)))
    done = burin("plan", "m.onnx", status=1)
    assert says in done.stderr, done.stderr


file("x.npy", npy("<f4", (2,), struct.pack("<2f", 1, -3)))
one = onnx.tensor("one", "f32", [], [1])

# y = |x + 1| - x: every order of the three nodes
steps = [onnx.node("Add", ["x", "one"], ["a"]), onnx.node("Abs", ["a"], ["b"]), onnx.node("Sub", ["b", "x"], ["y"])]
for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1), (1, 2, 0)):
    assert run([steps[i] for i in order], [one]) == [1, 5], order
# nodes keep the number that they have in the file
listed = burin("inspect", "m.onnx").stdout
assert [line.split()[0] for line in listed.splitlines() if any(w in line for w in (" Add ", " Abs ", " Sub "))] == ["2", "0", "1"], listed
# an order that can be executed stays, another one would do too
both = [onnx.node("Abs", ["x"], ["p"]), onnx.node("Neg", ["x"], ["q"]), onnx.node("Exp", ["x"], ["r"]), onnx.node("Sum", ["r", "q", "p"], ["y"])]
run(both)
listed = burin("inspect", "m.onnx").stdout
assert [w for line in listed.splitlines() for w in line.split() if w in ("Abs", "Neg", "Exp")] == ["Abs", "Neg", "Exp"], listed

# what a graph in an attribute needs of the graph around it, two deep; its own nodes are out of order too
inner = onnx.graph([onnx.node("Mul", ["m", "late"], ["o"]), onnx.node("Add", ["late", "x"], ["m"])], [], [onnx.value("o", "f32")])
deep = onnx.graph([onnx.node("If", ["c"], ["i"], then_branch=("graph", inner), else_branch=("graph", inner))], [], [onnx.value("i", "f32")])
out = onnx.graph([onnx.node("Abs", ["late"], ["e"])], [], [onnx.value("e", "f32")])
C = onnx.value("c", "bool", [])
nodes = [onnx.node("If", ["c"], ["y"], then_branch=("graph", deep), else_branch=("graph", out)), onnx.node("Neg", ["x"], ["late"])]
for truth, want in ((True, [0, 0]), (False, [1, 3])):
    file("c.npy", npy("|b1", (), bytes([truth])))
    assert run(nodes, inputs=(X, C), files=("x.npy", "c.npy")) == want, truth
# a graph may give what is given around it, and a name that it has itself is its own
outer = onnx.graph([], [], [onnx.value("late", "f32")])
own = onnx.graph([onnx.node("Abs", ["x"], ["t"]), onnx.node("Identity", ["t"], ["u"])], [], [onnx.value("u", "f32")])
nodes = [onnx.node("If", ["c"], ["z"], then_branch=("graph", outer), else_branch=("graph", own)), onnx.node("Neg", ["x"], ["late"]),
         onnx.node("Add", ["z", "z"], ["t"]), onnx.node("Identity", ["t"], ["y"])]
for truth, want in ((True, [-2, 6]), (False, [2, 6])):
    file("c.npy", npy("|b1", (), bytes([truth])))
    assert run(nodes, inputs=(X, C), files=("x.npy", "c.npy")) == want, truth

# functions
body = (onnx.field(1, "twice") + onnx.field(4, "v") + onnx.field(5, "w") + onnx.field(7, onnx.node("Add", ["n", "n"], ["w"])) + onnx.field(7, onnx.node("Neg", ["v"], ["n"])) +
        onnx.field(9, onnx.field(1, "") + onnx.field(2, 21)) + onnx.field(10, "local"))
assert run([onnx.node("twice", ["a"], ["y"], domain="local"), onnx.node("Abs", ["x"], ["a"])], domains=CALL, functions=[body]) == [-2, -6]

# cycles, by the names of their nodes
refused([onnx.node("Add", ["x", "b"], ["a"], "first"), onnx.node("Abs", ["a"], ["b"]), onnx.node("Neg", ["b"], ["y"])],
        'graph: its nodes are a cycle: node[0] "first" Add needs node[1] Abs, node[0] "first" Add')
refused([onnx.node("Neg", ["x"], ["y"]), onnx.node("Add", ["x", "a"], ["a"])], "its nodes are a cycle: node[1] Add needs node[1] Add")
refused([onnx.node("If", ["c"], ["a"], then_branch=("graph", onnx.graph([onnx.node("Abs", ["b"], ["t"])], [], [onnx.value("t", "f32")])), else_branch=("graph", outer)),
         onnx.node("Neg", ["a"], ["b"]), onnx.node("Identity", ["b"], ["y"])], "its nodes are a cycle: node[0] If needs node[1] Neg, node[0] If")
refused([onnx.node("Add", ["x", "b"], ["a"]), onnx.node("Neg", ["x"], ["y"])], 'node[0] Add: input 1 is "b", which nothing gives')
many = [onnx.node("Abs", [f"v{(i + 1) % 9}"], [f"v{i}"]) for i in range(9)]
refused(many + [onnx.node("Neg", ["x"], ["y"])], "node[5] Abs, 3 more, node[0] Abs")

# a long chain, backwards: linear
chain = [onnx.node("Neg", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 19999 else "y"]) for i in range(20000)]
file("chain.onnx", onnx.model(onnx.graph(chain[::-1], [X], Y)))
start = time.monotonic()
burin("inspect", "chain.onnx", "--quiet")
assert time.monotonic() - start < 20
