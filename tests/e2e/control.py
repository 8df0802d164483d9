# ctest: name=e2e.control, timeout=900
"""State and control in Burin's text form: what both providers compute over several runs, what the module does with its state, the check.

Expected: the same done by Python's own if, while and variables. Every model is compiled with its check at every level, its golden cases
run under a pedantic compiler and the sanitizers.
"""
import json
import os
import pathlib
import struct
import subprocess
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())

HEAD = 'burin 1\nmodel "ir" "m.ir"\n'
ADD = '{act: text "none"}'


graph = made.graph
I, B, ONE = 'i32[] "t"', 'bool[] "c"', 'i32[] "one" = hex "01000000"'


def state(n):
    return f'i32[] "s" state @{n}'


# ---- the models: text, and what a run does with the inputs and the state ----

# A loop that counts: i from 0 while i < n, sum of i; n is handed on. The state keeps the sum of all runs.
COUNT = HEAD + 'state @0 i32[] "total" = hex "05000000"\n' + graph(
    "main", 0, [I, 'i32[] "zero" = hex "00000000"', I, I, state(0), I, I, I], [0], [6, 3],
    [("while", [1, 1, 0], [2, 3, 7], "{cond: graph 1, body: graph 2}"), ("identity", [4], [5], ""), ("add", [5, 3], [6], ADD),
     ("identity", [6], [4], "")]
) + graph("cond", 1, [I, I, I, B], [0, 1, 2], [3], [("less", [0, 2], [3], "")]
) + graph("body", 2, [I, I, I, ONE, I, I], [0, 1, 2], [4, 5, 2], [("add", [0, 3], [4], ADD), ("add", [1, 4], [5], ADD)])


def count(run, memory):
    n, = run
    memory.setdefault("total", 5)
    i = total = 0
    while i < n:
        i += 1
        total += i
    memory["total"] += total
    return [memory["total"], total]


# A while in a branch of an if, in a loop: for (k = 0; k < n; k++) { if (k is odd) { while (x > 0) { x -= 3; } } else { x += 10; } }
# Odd by a value that turns over: the body gives (1 - odd).
NESTED = HEAD + graph(
    "main", 0, [I, I, 'i32[] "zero" = hex "00000000"', I, I, I, I], [0, 1], [5],
    [("while", [2, 2, 1, 0], [3, 4, 5, 6], "{cond: graph 1, body: graph 2}")]
) + graph("cond", 1, [I, I, I, I, B], [0, 1, 2, 3], [4], [("less", [0, 3], [4], "")]
) + graph("body", 2, [I, I, I, I, ONE, B, I, I, I], [0, 1, 2, 3], [7, 8, 6, 3],
          [("equal", [1, 4], [5], ""), ("if", [5, 2], [6], "{then: graph 3, else: graph 6}"), ("add", [0, 4], [7], ADD), ("sub", [4, 1], [8], ADD)]
) + graph("then", 3, [I, I], [0], [1], [("while", [0], [1], "{cond: graph 4, body: graph 5}")]
) + graph("positive", 4, [I, 'i32[] "zero" = hex "00000000"', B], [0], [2], [("greater", [0, 1], [2], "")]
) + graph("less 3", 5, [I, 'i32[] "three" = hex "03000000"', I], [0], [2], [("sub", [0, 1], [2], ADD)]
) + graph("else", 6, [I, 'i32[] "ten" = hex "0a000000"', I], [0], [2], [("add", [0, 1], [2], ADD)])


def nested(run, memory):
    n, x = run
    for k in range(n):
        if k % 2:
            while x > 0:
                x -= 3
        else:
            x += 10
    return [x]


# Carried values that change places (Fibonacci: a, b = b, a + b), and one that is a copy of another; all at once.
SWAP = HEAD + graph(
    "main", 0, [I, 'i32[] "zero" = hex "00000000"', ONE, I, I, I, I, I], [0], [3, 4, 5],
    [("while", [1, 2, 1, 1, 0], [3, 4, 5, 6, 7], "{cond: graph 1, body: graph 2}")]
) + graph("cond", 1, [I, I, I, I, I, B], [0, 1, 2, 3, 4], [5], [("less", [3, 4], [5], "")]
) + graph("body", 2, [I, I, I, I, I, ONE, I, I], [0, 1, 2, 3, 4], [1, 6, 0, 7, 4], [("add", [0, 1], [6], ADD), ("add", [3, 5], [7], ADD)])


def swap(run, memory):
    a, b, c = 0, 1, 0
    for _ in range(run[0]):
        a, b, c = b, a + b, a
    return [a, b, c]


# A state that is read, changed in a loop, and read again: the first reading must keep what was there. Two states are exchanged at
# the end. y = old * 100 + new
STATES = HEAD + 'state @0 i32[] "a"\nstate @1 i32[] "b" = hex "07000000"\n' + graph(
    "main", 0, [I, state(0), state(1), I, I, I, I, 'i32[] "zero" = hex "00000000"', I, I, 'i32[] "hundred" = hex "64000000"', I],
    [0], [6, 11],
    [("identity", [1], [3], ""), ("while", [7, 0], [8, 9], "{cond: graph 1, body: graph 2}"), ("identity", [1], [4], ""),
     ("mul", [3, 10], [5], ADD), ("add", [5, 4], [6], ADD), ("identity", [2], [11], ""), ("identity", [4], [2], ""),
     ("identity", [11], [1], "")]
) + graph("cond", 1, [I, I, B], [0, 1], [2], [("less", [0, 1], [2], "")]
) + graph("body", 2, [I, I, state(0), I, ONE, I, I], [0, 1], [5, 1],
          [("add", [0, 4], [5], ADD), ("identity", [2], [3], ""), ("add", [3, 5], [6], ADD), ("identity", [6], [2], "")])


def states(run, memory):
    memory.setdefault("a", 0)
    memory.setdefault("b", 7)
    old, i = memory["a"], 0
    while i < run[0]:
        i += 1
        memory["a"] += i
    y, b = old * 100 + memory["a"], memory["b"]
    memory["a"], memory["b"] = b, memory["a"]
    return [y, b]


# Branches that only choose: of an input, of a constant, of a state, of what is also given otherwise. No kernel in one branch.
CHOOSE = HEAD + 'state @0 i32[] "last"\n' + graph(
    "main", 0, [B, I, I, 'i32[] "nine" = hex "09000000"', I, I, I, I, state(0), I], [0, 1, 2], [4, 5, 6, 9],
    [("if", [0, 1, 2, 3], [4, 5, 6], "{then: graph 1, else: graph 2}"), ("identity", [8], [9], ""), ("identity", [4], [8], "")]
) + graph("then", 1, [I, I, I], [0, 1, 2], [0, 2, 0], []
) + graph("else", 2, [I, I, I, I, state(0), I], [0, 1, 2], [1, 3, 5], [("add", [1, 2], [3], ADD), ("identity", [4], [5], "")])


def choose(run, memory):
    c, x, y = run
    last = memory.get("last", 0)
    first, second, third = (x, 9, x) if c else (y, y + 9, last)
    memory["last"] = first
    return [first, second, third, last]


# A state that only one branch writes, by a value that is there anyway: the other branch must leave it alone.
GUARDED = HEAD + 'state @0 i32[] "kept"\n' + graph(
    "main", 0, [B, I, ONE, I, state(0), I, I], [0, 1], [5],
    [("add", [1, 2], [3], ADD), ("if", [0, 3], [6], "{then: graph 1, else: graph 2}"), ("identity", [4], [5], "")]
) + graph("then", 1, [I, state(0)], [0], [0], [("identity", [0], [1], "")]) + graph("else", 2, [I], [0], [0], [])


def guarded(run, memory):
    if run[0]:
        memory["kept"] = run[1] + 1
    return [memory.get("kept", 0)]


# Conditions that are known: a branch that is always taken, a loop that is never entered.
KNOWN = HEAD + graph(
    "main", 0, [I, 'bool[] "yes" = hex "01"', I, I], [0], [2, 3],
    [("if", [1, 0], [2], "{then: graph 1, else: graph 2}"), ("while", [0], [3], "{cond: graph 3, body: graph 2}")]
) + graph("then", 1, [I, ONE, I], [0], [2], [("add", [0, 1], [2], ADD)]) + graph("else", 2, [I, I], [0], [1], [("mul", [0, 0], [1], ADD)]
) + graph("never", 3, [I, 'bool[] "no" = hex "00"'], [0], [1], [])


def known(run, memory):
    return [run[0] + 1, run[0]]


# An operator that reads a state and writes it: everything is read before it is written.
DOUBLE = HEAD + 'state @0 i32[4] "v" = hex "01000000020000000300000004000000"\n' + graph(
    "main", 0, ['i32[4] "x"', 'i32[4] "v" state @0', 'i32[4] "y"'], [0], [2],
    [("add", [0, 1], [1], ADD), ("identity", [1], [2], "")])


def double(run, memory):
    memory["v"] = [a + b for a, b in zip(memory.get("v", [1, 2, 3, 4]), run[0])]
    return [memory["v"]]


# The same where the elements change places: rows become columns.
TURN = HEAD + 'state @0 i32[2,2] "v" = hex "01000000020000000300000004000000"\n' + graph(
    "main", 0, ['i32[2,2] "x"', 'i32[2,2] "v" state @0', 'i32[2,2] "y"', 'i32[2,2] "z"'], [0], [2, 3],
    [("transpose", [1], [1], "{perm: ints [1, 0]}"), ("identity", [1], [2], ""), ("add", [2, 0], [3], ADD)])


def turn(run, memory):
    a, b, c, d = memory.get("v", [1, 2, 3, 4])
    memory["v"] = [a, c, b, d]
    return [memory["v"], [p + q for p, q in zip(memory["v"], run[0])]]


MODELS = {"count": (COUNT, count, [[3], [0], [10], [1]]), "nested": (NESTED, nested, [[0, 5], [3, 4], [6, -2], [1, 0]]),
          "swap": (SWAP, swap, [[0], [1], [2], [20]]), "states": (STATES, states, [[2], [0], [3], [1], [5]]),
          "choose": (CHOOSE, choose, [[1, 4, 5], [0, 6, 7], [0, 8, 9], [1, 10, 11]]),
          "guarded": (GUARDED, guarded, [[0, 3], [1, 4], [0, 5], [1, 6], [0, 7]]),
          "known": (KNOWN, known, [[7], [-3]]), "double": (DOUBLE, double, [[[1, 1, 1, 1]], [[0, -2, 5, 100]]]),
          "turn": (TURN, turn, [[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[0, 0, 0, 0]]])}


def packed(values, is_bool):
    values = values if isinstance(values, list) else [values]
    return struct.pack(f"{len(values)}?" if is_bool else f"<{len(values)}i", *values)


for name, (text, step, runs) in MODELS.items():
    file = pathlib.Path(f"{name}.ir")
    file.write_text(text)
    memory, outputs = {}, []
    bools = [text.split("\n  tensor %")[1 + k].split()[1].startswith("bool") for k in range(len(runs[0]))]
    for k in range(len(runs[0])):
        pathlib.Path(f"{name}_{k}.bin").write_bytes(b"".join(packed(run[k], bools[k]) for run in runs))
    for run in runs:
        outputs.append(step(run, memory))
    want = [b"".join(packed(y[k], False) for y in outputs) for k in range(len(outputs[0]))]
    for p, options in enumerate([[], ["--raw"], ["--provider", "host"], ["--provider", "host", "-O0"], ["--provider", "host", "-O2"]]):
        burin("run", file, "--repeat", len(runs), *[w for k in range(len(runs[0])) for w in ("--input", f"{name}_{k}.bin")],
              "--output-dir", f"{name}_{p}", "--output-format", "raw", *options)
        got = [pathlib.Path(f"{name}_{p}/output_{k}.bin").read_bytes() for k in range(len(want))]
        assert got == want, (name, options, got, want)

    # ---- the check, and golden cases that follow each other ----
    for level in "01":
        done = burin("compile", file, "-o", f"{name}_c{level}", "--prefix", "P", "--test", 4, f"-O{level}", "--json")
        assert json.loads(done.stdout)["checked"], done.stdout
    for level in "1":
        folder = pathlib.Path(f"{name}_c{level}")
        subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion",
                        "-Werror", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-o", f"{name}_test",
                        *folder.glob("*.c"), "-lm"], check=True)
        ran = subprocess.run([f"./{name}_test"], capture_output=True, text=True)
        assert ran.returncode == 0 and ran.stdout == "P: 4 passed, 0 failed\n", (name, level, ran)
    assert burin("compile", file, "-o", "again.ir", "--force", "--quiet").stdout == ""

# ---- several runs on one state, as they are said ----
done = burin("run", "count.ir", "--input", "count_0.bin", "--repeat", 4)
assert done.stdout.splitlines()[0].startswith('run 0 output 0  i32[] "t"') and done.stdout.splitlines()[1].strip() == "11"
listed = json.loads(burin("run", "count.ir", "--input", "count_0.bin", "--repeat", 4, "--json").stdout)
assert [o["run"] for o in listed["outputs"]] == [0, 0, 1, 1, 2, 2, 3, 3] and [i["run"] for i in listed["inputs"]] == [0, 1, 2, 3]

# A file that holds one input is the input of every run; .npy files of several runs have one extent more.
pathlib.Path("two.bin").write_bytes(struct.pack("<i", 2))
burin("run", "count.ir", "--input", "two.bin", "--repeat", 3, "--output-dir", "o")
assert made.read_npy(pathlib.Path("o/output_0.npy").read_bytes()) == made.read_npy(made.npy("<i4", [3], struct.pack("<3i", 8, 11, 14)))
pathlib.Path("runs.npy").write_bytes(made.npy("<i4", [2, 4], struct.pack("<8i", 1, 1, 1, 1, 0, -2, 5, 100)))
burin("run", "double.ir", "--input", "runs.npy", "--repeat", 2, "--output-dir", "npy")
assert pathlib.Path("npy/output_0.npy").read_bytes()[-32:] == struct.pack("<8i", 2, 3, 4, 5, 2, 1, 9, 105)
burin("run", "double.ir", "--input", "runs.npy", "--repeat", 3, status=1)
burin("run", "double.ir", "--input", "runs.npy", status=1)
burin("run", "count.ir", "--repeat", 0, status=2)

# ---- loops with a bound ----
pathlib.Path("ten.bin").write_bytes(struct.pack("<i", 10))
for provider in ("reference", "host"):
    burin("run", "count.ir", "--input", "ten.bin", "--max-trips", 10, "--provider", provider)
    done = burin("run", "count.ir", "--input", "ten.bin", "--max-trips", 9, "--provider", provider, status=1)
    assert "goes on after 9 rounds" in done.stderr, done.stderr
burin("compile", "nested.ir", "-o", "bound", "--max-trips", 4, "--quiet")
assert "#define nested_MAX_TRIPS 4u" in pathlib.Path("bound/nested.h").read_text()
pathlib.Path("endless.ir").write_text(HEAD + graph("main", 0, [I, I], [0], [1], [("while", [0], [1], "{cond: graph 1, body: graph 2}")])
                                      + graph("cond", 1, [I, 'bool[] "yes" = hex "01"'], [0], [1], [])
                                      + graph("body", 2, [I, ONE, I], [0], [2], [("add", [0, 1], [2], ADD)]))
done = burin("compile", "endless.ir", "-o", "endless", "--max-trips", 5)
assert "4 did not come to their end" in done.stdout, done.stdout
burin("run", "endless.ir", "--max-trips", 5, "--provider", "host", status=1)

# ---- the module's own functions: one instance after the other, a state saved and put back ----
burin("compile", "states.ir", "-o", "module", "--prefix", "P", "--no-check", "--quiet")
pathlib.Path("main.c").write_text(r"""
#include "P.h"
#include <stdio.h>
#include <string.h>
static P_model model;
static union { uint8_t bytes[P_ARENA_BYTES]; double align; } room;
static uint8_t kept[P_STATE_BYTES];
static void show(int32_t n) {
    int32_t y = -1;
    memcpy(P_input(&model, 0), &n, sizeof n);
    if (P_run(&model) == P_OK) { memcpy(&y, P_output(&model, 0), sizeof y); }
    printf("%d ", (int)y);
}
int main(void) {
    if (P_init(&model, room.bytes, sizeof room.bytes) != P_OK || P_state_bytes(&model) != P_STATE_BYTES) { return 1; }
    show(2); show(1);
    if (P_state_save(&model, kept, sizeof kept) != P_OK || P_state_save(&model, kept, 1) != P_ERROR_STATE) { return 2; }
    show(3); show(0);
    if (P_state_restore(&model, kept, sizeof kept) != P_OK || P_state_restore(&model, NULL, sizeof kept) != P_ERROR_NULL) { return 3; }
    show(3); show(0);
    if (P_reset(&model) != P_OK) { return 4; }
    show(2); show(1);
    return 0;
}
""")
subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-fsanitize=address,undefined", "-I", "module", "-o", "main", "main.c",
                *pathlib.Path("module").glob("*.c"), "-lm"], check=True)
memory = {}
first = [states([n], memory)[0] for n in (2, 1)]
then = [states([n], memory)[0] for n in (3, 0)]
assert subprocess.run(["./main"], capture_output=True, text=True).stdout.split() == [str(v) for v in first + then + then + first]

# ---- the plan says where control goes ----
plan = json.loads(burin("plan", "nested.ir", "--json").stdout)
kernels = plan["kernels"]
assert [k["control"] for k in kernels].count("while") == 2 and [k["control"] for k in kernels].count("if") == 1
for k, kernel in enumerate(kernels):
    assert kernel["control"] == "compute" or 0 <= kernel["jump"] <= len(kernels)
    assert kernel["control"] != "repeat" or kernel["jump"] < k
assert "without a bound" in burin("plan", "nested.ir").stdout and "at most 7 rounds" in burin("plan", "nested.ir", "--max-trips", 7).stdout
