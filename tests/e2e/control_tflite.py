# ctest: name=e2e.control_tflite, timeout=600
"""TFLite's control and variables: sub-graphs that call each other, variables behind handles, CALL_ONCE, signatures, and what is refused.

Expected: the same done by Python. Models are laid out by the schema's numbers (support/made.py).
"""
import json
import os
import pathlib
import struct
import tempfile

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())

I, B, R = ("i", "i32", [], {}), ("c", "bool", [], {}), ("handle", "resource", [], {})


def constant(value):
    return ("k", "i32", [], {"data": [value]})


def graphs(*numbers):
    return Table(**{f"_{k}": ("i", n) for k, n in enumerate(numbers)})


def variable(name):
    return Table(_0="box", _1=name)


def write(name, *args, **more):
    pathlib.Path(f"{name}.tflite").write_bytes(made.tflite_graphs(*args, **more))
    return f"{name}.tflite"


def check(name, step, runs, *options):
    """Every provider gives what step says of each run's inputs; the module passes its own check."""
    want = [step(*run) for run in runs]
    for k in range(len(runs[0])):
        kind = "?" if isinstance(runs[0][k], bool) else "i"
        pathlib.Path(f"in_{k}").write_bytes(struct.pack(f"<{len(runs)}{kind}", *(run[k] for run in runs)))
    for provider in ("reference", "host"):
        burin("run", f"{name}.tflite", "--repeat", len(runs), *[w for k in range(len(runs[0])) for w in ("--input", f"in_{k}")],
              "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force", *options)
        for k in range(len(want[0])):
            got = struct.unpack(f"<{len(runs)}i", pathlib.Path(f"out/output_{k}.bin").read_bytes())
            assert list(got) == [w[k] for w in want], (name, provider, k, got, want)
    assert json.loads(burin("compile", f"{name}.tflite", "-o", "c", "--force", "--json", "--test", 3, *options).stdout)["checked"]


# ---- IF over WHILE over IF: if (c) { for (i = 0; i < n; i++) s = s is 3 ? s + 10 : s + 1 } else { s = n * n }; n is handed on, zero is
# given as a constant argument ----
SUM = [("main", [B, I, constant(0), I], [("IF", [0, 1, 2], [3], graphs(1, 2), None)], [0, 1], [3]),
       ("then", [I, I, I, I, I], [("WHILE", [1, 1, 0], [2, 3, 4], graphs(3, 4), None)], [0, 1], [3]),
       ("else", [I, I, I], [("MUL", [0, 0], [2], None, None)], [0, 1], [2]),
       ("less", [I, I, I, B], [("LESS", [0, 2], [3], None, None)], [0, 1, 2], [3]),
       ("round", [I, I, I, constant(1), constant(3), B, I, I],
        [("ADD", [0, 3], [6], None, None), ("EQUAL", [1, 4], [5], None, None), ("IF", [5, 1], [7], graphs(5, 6), None)], [0, 1, 2], [6, 7, 2]),
       ("ten", [I, constant(10), I], [("ADD", [0, 1], [2], None, None)], [0], [2]),
       ("one", [I, constant(1), I], [("ADD", [0, 1], [2], None, None)], [0], [2])]


def total(c, n):
    s = 0
    for _ in range(n):
        s += 10 if s == 3 else 1
    return [s if c else n * n]


write("sum", SUM)
check("sum", total, [[True, 0], [True, 3], [False, -5], [True, 6], [False, 4]])

# ---- a variable that a loop changes: by its handle, which is an argument of the loop, and by its name in another sub-graph; CALL_ONCE
# makes it 100 at first, though it is called twice ----
LOOP = [("main", [I, R, constant(0), I, I, R, I],
         [("CALL_ONCE", [], [], graphs(1), None), ("CALL_ONCE", [], [], graphs(1), None), ("VAR_HANDLE", [], [1], variable("v"), None),
          ("WHILE", [2, 0, 1], [3, 4, 5], graphs(2, 3), None), ("READ_VARIABLE", [5], [6], None, None)], [0], [6, 3]),
        ("first", [R, constant(99), constant(1), I],
         [("ADD", [1, 2], [3], None, None), ("VAR_HANDLE", [], [0], variable("v"), None), ("ASSIGN_VARIABLE", [0, 3], [], None, None)], [], []),
        ("less", [I, I, R, B], [("LESS", [0, 1], [3], None, None)], [0, 1, 2], [3]),
        ("round", [I, I, R, constant(1), I, I],
         [("ADD", [0, 3], [4], None, None), ("CALL", [4], [5], graphs(4), None), ("ASSIGN_VARIABLE", [2, 5], [], None, None)], [0, 1, 2], [4, 1, 2]),
        ("more", [I, R, I, I],
         [("VAR_HANDLE", [], [1], variable("v"), None), ("READ_VARIABLE", [1], [2], None, None), ("ADD", [2, 0], [3], None, None)], [0], [3])]
memory = [100]


def loop(n):
    for i in range(1, n + 1):
        memory[0] += i
    return [memory[0], max(n, 0)]


write("loop", LOOP)
check("loop", loop, [[0], [4], [1], [-2], [3]])
listed = json.loads(burin("inspect", "loop.tflite", "--json").stdout)
assert [s["name"] for s in listed["states"]] == ["v"] and [g["subgraph"] for g in listed["graphs"]] == [2, 3]
assert {"cond": 1, "body": 2}.items() <= next(o for o in listed["operators"] if o["op"] == "while").items()

# ---- what is only called is put in its place: a composite that gives an argument, a constant, and one value twice ----
write("composite", [("main", [I, I, I, I, I, I], [("STABLEHLO_COMPOSITE", [0], [1, 2, 3, 4], Table(_0="my.op", _1=("i", 1)), None),
                                                 ("ADD", [1, 4], [5], None, None)], [0], [5, 2, 3]),
                    ("inside", [I, constant(7), I], [("MUL", [0, 0], [2], None, None)], [0], [2, 1, 0, 2])])
check("composite", lambda x: [2 * x * x, 7, x], [[5], [-3]])
assert json.loads(burin("inspect", "composite.tflite", "--json").stdout)["graphs"] == []

# ---- signatures, and a part of a graph ----
write("two", [("add", [I, I, I, I], [("ADD", [0, 1], [2], None, None), ("MUL", [2, 2], [3], None, None)], [0, 1], [3, 2]),
              ("sub", [("a", *I[1:]), ("b", *I[1:]), I], [("SUB", [0, 1], [2], None, None)], [0, 1], [2])],
      signatures=[("plus", 0, {"x": 0, "y": 1}, {"square": 3, "sum": 2}), ("minus", 1, {"p": 1, "q": 0}, {"difference": 2})])
check("two", lambda x, y: [(x + y) ** 2, x + y], [[2, 3], [7, -9]])
check("two", lambda q, p: [q - p], [[2, 3], [7, -9]], "--signature", "minus")
check("two", lambda x, y: [x + y], [[2, 3], [7, -9]], "--signature", "plus", "--outputs", "sum")
pathlib.Path("five").write_bytes(struct.pack("<i", 5))
pathlib.Path("nine").write_bytes(struct.pack("<i", 9))
done = burin("run", "two.tflite", "--signature", "minus", "--input", "p=five", "--input", "q=nine")
assert 'output 0  i32[] "difference"' in done.stdout and done.stdout.split()[-1] == "4", done.stdout
assert done.stdout.count("output") == 1
# every option knows the names of the signature, and so does what is shown and written
minus = ["two.tflite", "--signature", "minus"]
assert "4" == burin("run", *minus, "--constant", "p=five", "--input", "q=nine").stdout.split()[-1]
assert "[3]" in burin("run", *minus, "--shape", "p=3", "--shape", "q=3").stdout
state = burin("run", *minus, "--state", "p=difference", "--repeat", "3", "--input", "q=nine").stdout
assert state.count("difference") == 0 and burin("inspect", *minus).stdout.count('"difference"') >= 1, state
shown = json.loads(burin("inspect", *minus, "--json").stdout)
assert [shown["tensors"][k]["name"] for k in shown["inputs"] + shown["outputs"]] == ["q", "p", "difference"]
burin("compile", *minus, "-o", "minus.tflite", "--quiet")
assert json.loads(burin("inspect", "minus.tflite", "--json").stdout)["tensors"][0]["name"] in "qp"
# outputs that it has no name for are none of the model; one that is asked for is, and the signature that gives nothing is gone
write("part", [("add", [I, I, I, I], [("ADD", [0, 1], [2], None, None), ("MUL", [2, 2], [3], None, None)], [0, 1], [3, 2])],
      signatures=[("sum only", 0, {"x": 0, "y": 1}, {"sum": 2}), ("both", 0, {"x": 0, "y": 1}, {"sum": 2, "square": 3})])
check("part", lambda x, y: [x + y], [[2, 3], [7, -9]], "--signature", "sum only")
check("part", lambda x, y: [(x + y) ** 2, x + y], [[2, 3], [7, -9]], "--signature", "both")
burin("compile", "part.tflite", "--signature", "both", "--outputs", "square", "-o", "square.ir")
assert pathlib.Path("square.ir").read_text().count("signature") == 1
done = burin("run", "two.tflite", "--signature", "minux", status=2)
assert '"plus", "minus"' in done.stderr and 'did you mean "minus"?' in done.stderr
assert 'there is no "x"' in burin("run", "sum.tflite", "--signature", "x", status=2).stderr
write("chain", [("main", [("x", *I[1:]), ("unused", *I[1:]), ("a", *I[1:]), ("b", *I[1:]), ("c", *I[1:])],
                 [("ADD", [0, 0], [2], None, None), ("MUL", [2, 2], [3], None, None), ("ADD", [3, 1], [4], None, None)], [0, 1], [4])])
check("chain", lambda x: [4 * x * x, 2 * x], [[3], [-1]], "--outputs", "b,a")
check("chain", lambda x: [4 * x * x, 2 * x], [[3], [-1]], "--outputs", "b", "--outputs", "a")
assert len(json.loads(burin("inspect", "chain.tflite", "--outputs", "a", "--json").stdout)["operators"]) == 1
assert 'no tensor "bb"' in burin("plan", "chain.tflite", "--outputs", "bb", status=2).stderr
burin("plan", "chain.tflite", "--outputs", "a,", status=2)
# what the outputs do not need may be unsupported
write("tail", [("main", [("x", *I[1:]), ("a", *I[1:]), ("b", *I[1:])],
                [("ADD", [0, 0], [1], None, None), ("CUSTOM", [1], [2], None, "Beyond")], [0], [2])],
      signatures=[("s", 0, {"in": 0}, {"end": 2})])
assert '"Beyond"' in burin("compile", "tail.tflite", "-o", "never", status=1).stderr
check("tail", lambda x: [2 * x], [[4], [-9]], "--outputs", "a")
assert '"Beyond"' in burin("compile", "tail.tflite", "-o", "never", "--outputs", "b", status=1).stderr
burin("compile", "chain.tflite", "-o", "chain.ir")
assert burin("inspect", "chain.ir", "--outputs", "b").stdout.count("ADD") == 1

# ---- what is refused, by name ----
V2 = ("v", "i32", [2], {})
REFUSED = [
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(1, 9), None)], [0, 1], [2]), ("then", [I], [], [0], [0])],
     "calls sub-graph 9: the model has 2"),
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(0, 0), None)], [0, 1], [2])], "the sub-graph calls itself"),
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(1, 1), None)], [0, 1], [2]), ("then", [I, I], [], [0, 1], [0])],
     "2 inputs: its caller gives 1"),
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(1, 1), None)], [0, 1], [2]), ("then", [B], [], [0], [0])],
     "another type than what its caller gives"),
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(1, 1), None)], [0, 1], [2]), ("then", [I], [], [0], [])],
     "1 outputs: sub-graph 1 has 0"),
    ([("main", [B, I, V2, V2], [("IF", [0, 1, 2], [3], graphs(1, 2), None)], [0, 1, 2], [3]), ("then", [I, V2, V2],
      [("ADD", [1, 1], [2], None, None)], [0, 1], [2]), ("else", [I, V2, I, ("w", "i32", [1], {})],
                                                        [("ADD", [0, 3], [2], None, None)], [0, 1], [2])], None),
    ([("main", [B, I, V2, V2], [("IF", [0, 1, 2], [3], graphs(1, 2), None)], [0, 1, 2], [3]), ("then", [I, V2], [], [0, 1], [1]),
      ("else", [I, V2], [], [0, 1], [0])], "IF whose output 0 is 2 or scalar"),
    ([("main", [I, ("v", "i32", [1], {}), I], [("WHILE", [0, 1], [2, 1], graphs(1, 2), None)], [0], [2]),
      ("c", [I, V2, B], [("LESS", [0, 0], [2], None, None)], [0, 1], [2]), ("b", [I, V2], [], [0, 1], [0, 1])], None),
    ([("main", [I, V2, I, V2], [("WHILE", [0, 1], [2, 3], graphs(1, 2), None)], [0, 1], [3]),
      ("c", [I, V2, B], [("LESS", [0, 0], [2], None, None)], [0, 1], [2]), ("b", [I, V2, ("one", "i32", [1], {}), V2],
                                                                          [("ADD", [0, 0], [2], None, None)], [0, 1], [0, 0])],
     "WHILE whose value 1 is 2 and becomes scalar"),
    ([("main", [R], [], [], [0])], "a resource as input or output of the model"),
    ([("main", [R, I], [("READ_VARIABLE", [0], [1], None, None)], [], [1])], "input 0 is no variable's handle"),
    ([("main", [I, R, V2], [("VAR_HANDLE", [], [1], variable("v"), None), ("ASSIGN_VARIABLE", [1, 0], [], None, None),
                            ("READ_VARIABLE", [1], [2], None, None)], [0], [2])], 'variable "v", which is i32 scalar here and i32 2 there'),
    ([("main", [I, R, I], [("VAR_HANDLE", [], [1], variable("v"), None), ("READ_VARIABLE", [1], [2], None, None),
                           ("CALL_ONCE", [], [], graphs(1), None)], [0], [2]),
      ("first", [R, constant(1)], [("VAR_HANDLE", [], [0], variable("v"), None), ("ASSIGN_VARIABLE", [0, 1], [], None, None)], [], [])],
     "CALL_ONCE that sets a variable which an operator before it uses"),
    ([("main", [B, I, I], [("IF", [0, 1], [2], graphs(1, 1), None)], [0, 1], [2]),
      ("then", [I], [("CALL_ONCE", [], [], graphs(2), None)], [0], [0]), ("first", [], [], [], [])], "CALL_ONCE in a branch or a loop"),
    ([("main", [I], [("CALL_ONCE", [], [], graphs(1), None)], [0], [0]), ("first", [I], [], [0], [])], "1 inputs: its caller gives 0"),
    ([("main", [R, I, I], [("VAR_HANDLE", [], [0], variable("v"), None), ("ADD", [0, 1], [2], None, None)], [1], [2])],
     "operator ADD on a resource"),
    ([("main", [I, I], [("CALL", [0], [1], graphs(1), None)], [0], [1])]
     + [(f"g{k}", [I, I], [("CALL", [0], [1], graphs(k + 1), None)], [0], [1]) for k in range(1, 40)] + [("last", [I], [], [0], [0])],
     "more than 32 deep"),
    # each calls the next twice: two to the power of 30 calls
    ([("main", [I, I], [("CALL", [0], [1], graphs(1), None)], [0], [1])]
     + [(f"g{k}", [I, I, I], [("CALL", [0], [1], graphs(k + 1), None), ("CALL", [1], [2], graphs(k + 1), None)], [0], [2]) for k in range(1, 30)]
     + [("last", [I], [], [0], [0])], "tensors and operators"),
]
for k, (model, message) in enumerate(REFUSED):
    name = write(f"refused_{k}", model)
    done = burin("compile", name, "-o", "never", "--no-check", status=1)
    assert message is None or message in done.stderr, (k, message, done.stderr)
    assert done.stderr.startswith(f"{name}: "), done.stderr
