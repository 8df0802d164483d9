# ctest: name=e2e.onnx_state, timeout=300
"""--state INPUT=OUTPUT: an input and an output of a model become a state, kept between runs, in the evaluator and in emitted C."""
import os
import pathlib
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


def runs(model, files, count, *words, output=0, provider="reference"):
    """-> the floats of an output, of all runs"""
    inputs = [w for f in files for w in ("--input", f)]
    burin("run", model, *words, *inputs, "--repeat", count, "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    data = pathlib.Path(f"out/output_{output}.bin").read_bytes()
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def model(name, nodes, inputs, outputs, constants=()):
    file(name, onnx.model(onnx.graph(nodes, inputs, outputs, constants)))


def f32(name, *shape):
    return onnx.value(name, "f32", list(shape))


PROVIDERS = ("reference", "host")

# y = 2 x + past, which is the next past: inputs and outputs beside the state keep their order
model("sum.onnx", [onnx.node("Add", ["x", "x"], ["d"]), onnx.node("Add", ["d", "past"], ["present"]), onnx.node("Sub", ["present", "bias"], ["y"])],
      [f32("past", 2), f32("x", 2), f32("bias", 2)], [f32("present", 2), f32("y", 2)])
file("x.bin", struct.pack("<6f", 1, 10, 2, 20, 3, 30))
file("bias.bin", struct.pack("<2f", 100, 0))
SUM = [-98, 20, -94, 60, -88, 120]
for provider in PROVIDERS:
    assert runs("sum.onnx", ["x.bin", "bias.bin"], 3, "--state", "past=present", provider=provider) == SUM, provider
    assert runs("sum.onnx", ["bias=bias.bin", "x=x.bin"], 3, "--state", "past=present", provider=provider) == SUM, provider
shown = burin("inspect", "sum.onnx", "--state", "past=present").stdout
assert [line.split()[3:] for line in shown.splitlines() if line.startswith(("input", "output"))] == [["2", '"x"'], ["2", '"bias"'], ["2", '"y"']], shown
assert [line.split()[4].rstrip(",") for line in shown.splitlines() if line.startswith("state")] == ['"past"'], shown
# one run: the state is zeros
file("x.npy", npy("<f4", (2,), struct.pack("<2f", 5, 6)))
file("bias.npy", npy("<f4", (2,), bytes(8)))
burin("run", "sum.onnx", "--state", "past=present", "--input", "x.npy", "--input", "bias.npy", "--output-dir", "out", "--output-format", "raw", "--force")
assert pathlib.Path("out/output_0.bin").read_bytes() == struct.pack("<2f", 10, 12)

# a delay line of two: each state is what another was; the pairs have no order, and a state is read before it is written
delay = [onnx.node("Identity", ["x"], ["a1"]), onnx.node("Identity", ["a"], ["b1"]), onnx.node("Add", ["a", "b"], ["s"]), onnx.node("Add", ["s", "x"], ["y"])]
model("delay.onnx", delay, [f32("x", 1), f32("a", 1), f32("b", 1)], [f32("y", 1), f32("a1", 1), f32("b1", 1)])
file("steps.bin", struct.pack("<5f", 1, 10, 100, 1000, 10000))
for provider in PROVIDERS:
    for pairs in (("a=a1", "b=b1"), ("b=b1", "a=a1")):
        words = [w for p in pairs for w in ("--state", p)]
        assert runs("delay.onnx", ["steps.bin"], 5, *words, provider=provider) == [1, 11, 111, 1110, 11100], (provider, pairs)
# two states that change places: outputs that are inputs themselves
model("swap.onnx", [onnx.node("Sub", ["p", "q"], ["d"]), onnx.node("Add", ["p", "x"], ["r"]), onnx.node("Identity", ["d"], ["y"])], [f32("x", 1), f32("p", 1), f32("q", 1)],
      [f32("y", 1), f32("q", 1), f32("r", 1)])
for provider in PROVIDERS:  # p' = q, q' = p + x
    assert runs("swap.onnx", ["steps.bin"], 5, "--state", "p=q", "--state", "q=r", provider=provider) == [0, -1, -9, -91, -909], provider
# one output for two states, and a state that is set to a constant
model("both.onnx", [onnx.node("Add", ["x", "p"], ["n"]), onnx.node("Mul", ["p", "q"], ["y"])], [f32("x", 1), f32("p", 1), f32("q", 1)], [f32("y", 1), f32("n", 1), f32("k", 1)],
      [onnx.tensor("k", "f32", [1], [3])])
file("four.bin", struct.pack("<4f", 1, 10, 100, 1000))
file("three.bin", struct.pack("<3f", 1, 10, 100))
for provider in PROVIDERS:
    assert runs("both.onnx", ["four.bin"], 4, "--state", "p=n", "--state", "q=n", provider=provider) == [0, 1, 121, 12321], provider
    assert runs("both.onnx", ["three.bin"], 3, "--state", "p=k", "--state", "q=n", provider=provider) == [0, 3, 39], provider

# a recurrent network, step by step, is the same network over the whole sequence (by ONNX's definition of RNN: h' = tanh(Wx + Rh))
W, R = onnx.tensor("w", "f32", [1, 2, 1], [0.5, -0.25]), onnx.tensor("r", "f32", [1, 2, 2], [0.5, 0.25, -0.5, 1])
for steps in (1, 4):
    model(f"rnn{steps}.onnx", [onnx.node("RNN", ["x", "w", "r", "", "", "h0"], ["y", "h"], hidden_size=2)], [f32("x", steps, 1, 1), f32("h0", 1, 1, 2)],
          [onnx.value("y", "f32"), f32("h", 1, 1, 2)], [W, R])
file("seq.bin", struct.pack("<4f", 1, -2, 3, -4))
file("h0.bin", bytes(8))
burin("run", "rnn4.onnx", "--input", "seq.bin", "--input", "h0.bin", "--output-dir", "out", "--output-format", "raw", "--force")
whole = struct.unpack("<8f", pathlib.Path("out/output_0.bin").read_bytes())
for provider in PROVIDERS:
    once = runs("rnn1.onnx", ["seq.bin"], 4, "--state", "h0=h", provider=provider)
    assert max(abs(a - b) for a, b in zip(once, whole)) < 1e-6, (provider, once, whole)

# graphs below take what a state holds; what they leave it as is said at the end: past' = past + x where c, else x - past
below = {"then_branch": ("graph", onnx.graph([onnx.node("Add", ["past", "x"], ["sum"])], [], [f32("sum", 1)])),
         "else_branch": ("graph", onnx.graph([onnx.node("Sub", ["x", "past"], ["rest"])], [], [f32("rest", 1)]))}
model("if.onnx", [onnx.node("If", ["c"], ["next"], **below), onnx.node("Mul", ["next", "past"], ["y"])], [onnx.value("c", "bool", []), f32("x", 1), f32("past", 1)],
      [f32("y", 1), f32("next", 1)])
file("c.bin", bytes([1, 1, 0, 0, 1]))
file("five.bin", struct.pack("<5f", 1, 2, 3, 4, 5))
burin("compile", "if.onnx", "--state", "past=next", "-o", "if2.onnx")
for provider in PROVIDERS:  # past: 0, 1, 3, 0, 4, 9
    assert runs("if.onnx", ["c.bin", "five.bin"], 5, "--state", "past=next", provider=provider) == [0, 3, 0, 0, 36], provider
    assert runs("if2.onnx", ["c.bin", "five.bin"], 5, provider=provider) == [0, 3, 0, 0, 36], provider

# names with = in them: the longest input that begins the pair
model("names.onnx", [onnx.node("Add", ["a=b", "a"], ["c"])], [f32("a", 1), f32("a=b", 1)], [f32("c", 1)])
shown = burin("inspect", "names.onnx", "--state", "a=b=c").stdout
assert [line.split()[4].rstrip(",") for line in shown.splitlines() if line.startswith(("input", "state"))] == ['"a"', '"a=b"'], shown

# --outputs: the state goes on; an open extent of the past is said as ever
assert runs("sum.onnx", ["x.bin", "bias.bin"], 3, "--state", "past=present", "--outputs", "y") == SUM
model("open.onnx", [onnx.node("Add", ["x", "past"], ["y"])], [onnx.value("x", "f32", ["n"]), onnx.value("past", "f32", ["n"])], [onnx.value("y", "f32", ["n"])])
refused("plan", "open.onnx", "--state", "past=y", says="--dim n=N")
refused("plan", "open.onnx", "--state", "past=y", "--dim", "n=..4", says='state: input "past" has an open extent')

# what does not fit
refused("plan", "sum.onnx", "--state", "past", status=2, says='state: "past": expected INPUT=OUTPUT')
refused("plan", "sum.onnx", "--state", "pasd=present", status=2, says='state: the model has no input "pasd"; did you mean "past"?')
refused("plan", "sum.onnx", "--state", "past=presend", status=2, says='state: the model has no output "presend"; did you mean "present"?')
refused("plan", "sum.onnx", "--state", "past=d", status=2, says='state: the model has no output "d"')
refused("plan", "sum.onnx", "--state", "past=present", "--state", "past=y", status=2, says='state: input "past" is given twice')
refused("run", "sum.onnx", "--state", "past=present", "--input", "x.bin", "--input", "bias.bin", "--input", "past=x.bin", status=2, says='no input "past"')
model("unlike.onnx", [onnx.node("Concat", ["past", "x"], ["longer"], axis=0), onnx.node("Cast", ["past"], ["whole"], to=onnx.TYPES["i32"])], [f32("x", 1), f32("past", 2)],
      [f32("longer", 3), onnx.value("whole", "i32", [2])])
refused("plan", "unlike.onnx", "--state", "past=longer", says='state: input "past" is f32 2, output "longer" is f32 3: they must be alike')
refused("plan", "unlike.onnx", "--state", "past=whole", says='state: input "past" is f32 2, output "whole" is i32 2: they must be alike')
# written as ONNX it is still one, with no option
burin("compile", "sum.onnx", "--state", "past=present", "-o", "sum2.onnx")
assert runs("sum2.onnx", ["x.bin", "bias.bin"], 3) == SUM

# the emitted module: kept from run to run, zeros after a reset
burin("compile", "sum.onnx", "--state", "past=present", "-o", "c", "--prefix", "P")
file("c/main.c", b"""#include <stdio.h>
#include "P.h"
static P_model model;
static union { double d; long long l; unsigned char bytes[P_ARENA_BYTES + 64]; } room;
int main(void) {
    unsigned char *arena = room.bytes;
    int i;
    while ((size_t)arena % P_ARENA_ALIGNMENT) { arena++; }
    if (P_init(&model, arena, P_ARENA_BYTES) != P_OK || P_INPUT_COUNT != 2 || P_OUTPUT_COUNT != 1) { return 1; }
    for (i = 0; i < 4; i++) {
        float *x = (float *)P_input(&model, 0), *bias = (float *)P_input(&model, 1);
        if (i == 2 && P_reset(&model) != P_OK) { return 2; }
        x[0] = 1; x[1] = 2; bias[0] = 0; bias[1] = 0;
        if (P_run(&model) != P_OK) { return 3; }
        printf("%g %g\\n", (double)((const float *)P_output(&model, 0))[0], (double)((const float *)P_output(&model, 0))[1]);
    }
    return 0;
}
""")
subprocess.run(["cc", "-std=c99", "-o", "c/main", *sorted(str(p) for p in pathlib.Path("c").glob("*.c")), "-lm"], check=True)
assert subprocess.run(["c/main"], capture_output=True, text=True, check=True).stdout.splitlines() == ["2 4", "4 8", "2 4", "4 8"]
