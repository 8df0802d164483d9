# ctest: name=e2e.onnx_lists, timeout=300
"""ONNX models that take and give sequences and optional values: of files (.pb), in the evaluator and as emitted C."""
import os
import pathlib
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())
TENSORS, SEQUENCES = 1, 3  # elem_type of SequenceProto and OptionalProto


def file(name, data):
    pathlib.Path(name).write_bytes(data)


def floats(*v):
    return onnx.field(1, onnx.varint(len(v))) + onnx.field(2, onnx.TYPES["f32"]) + onnx.field(8, "") + onnx.field(9, onnx.raw("f32", v))


def listed(*tensors):
    """SequenceProto of tensors; OptionalProto of one has the same fields."""
    return onnx.field(2, TENSORS) + b"".join(onnx.field(3, t) for t in tensors)


def lists(*sequences):
    return onnx.field(2, SEQUENCES) + b"".join(onnx.field(5, s) for s in sequences)


def stated(name, *kinds, of="f32"):
    """ValueInfoProto; kinds: of TypeProto's fields, 4 a sequence, 9 an optional value, outermost first."""
    message = onnx.field(1, onnx.field(1, onnx.TYPES[of]))
    for kind in reversed(kinds):
        message = onnx.field(kind, onnx.field(1, message))
    return onnx.field(1, name) + onnx.field(2, message)


SEQUENCE, OPTIONAL = 4, 9


def run(model, *inputs, form="pb", provider="reference", more=()):
    for at in pathlib.Path("out").glob("*") if os.path.isdir("out") else ():
        at.unlink()
    words = [w for i in inputs for w in ("--input", i)]
    burin("run", model, *words, "--output-dir", "out", "--output-format", form, "--force", "--provider", provider, *more)
    return {at.name: at.read_bytes() for at in pathlib.Path("out").iterdir()}


def refused(*words, status=1, says):
    done = burin(*words, status=status)
    assert says in done.stderr, (words, says, done.stderr)


file("seq.pb", listed(floats(1, 2), floats(3), floats(4, 5, 6)))
file("x.npy", npy("<f4", (2,), struct.pack("<2f", 10, 20)))
file("at.npy", npy("<i8", (), struct.pack("<q", 1)))

# x is put into the sequence before tensor 1; how many there are is the third output
file("insert.onnx", onnx.model(onnx.graph(
    [onnx.node("SequenceInsert", ["s", "x", "at"], ["longer"]), onnx.node("ConcatFromSequence", ["longer"], ["all"], axis=0),
     onnx.node("SequenceLength", ["longer"], ["n"])],
    [stated("s", SEQUENCE), onnx.value("x", "f32", ["n"]), onnx.value("at", "i64", [])],
    [stated("longer", SEQUENCE), onnx.value("all", "f32"), onnx.value("n", "i64")])))
ALL = struct.pack("<8f", 1, 2, 10, 20, 3, 4, 5, 6)
for provider in ("reference", "host"):
    for words in (("seq.pb", "x.npy", "at.npy"), ("x=x.npy", "s=seq.pb", "at.npy"), ("at=at.npy", "seq.pb", "x.npy")):
        made = run("insert.onnx", *words, provider=provider)
        assert sorted(made) == ["output_0.pb", "output_1.pb", "output_2.pb"]
        assert made["output_0.pb"] == listed(floats(1, 2), floats(10, 20), floats(3), floats(4, 5, 6)), made["output_0.pb"]
        assert made["output_1.pb"].endswith(ALL) and made["output_2.pb"].endswith(struct.pack("<q", 4))
made = run("insert.onnx", "seq.pb", "x.npy", "at.npy", form="raw")
assert sorted(made) == ["output_0_0.bin", "output_0_1.bin", "output_0_2.bin", "output_0_3.bin", "output_1.bin", "output_2.bin"]
assert made["output_0_1.bin"] == struct.pack("<2f", 10, 20) and made["output_1.bin"] == ALL
# what was written is read again
pathlib.Path("again.pb").write_bytes(run("insert.onnx", "seq.pb", "x.npy", "at.npy")["output_0.pb"])
assert run("insert.onnx", "again.pb", "x.npy", "at.npy", form="raw")["output_1.bin"] == struct.pack("<10f", 1, 2, 10, 20, 10, 20, 3, 4, 5, 6)
# the outputs are kept unless --force, lists too
refused("run", "insert.onnx", "--input", "seq.pb", "--input", "x.npy", "--input", "at.npy", "--output-dir", "out", "--output-format", "raw", says="out/output_0_0.bin exists")
# one of the outputs: the inputs stay
assert run("insert.onnx", "seq.pb", "x.npy", "at.npy", form="raw", more=("--outputs", "n")) == {"output_0.bin": struct.pack("<q", 4)}

# an empty sequence; one of another type; a tensor where a sequence is taken; too few
file("none.pb", listed())
made = run("insert.onnx", "none.pb", "x.npy", "at=zero.npy" if pathlib.Path("zero.npy").write_bytes(npy("<i8", (), bytes(8))) else "")
assert made["output_0.pb"] == listed(floats(10, 20))
file("other.pb", listed(onnx.tensor("", "i32", [1], [1])))
refused("run", "insert.onnx", "--input", "other.pb", "--input", "x.npy", "--input", "at.npy", says='input[0] "s": its contents are i32: expected tensors of FLOAT')
refused("run", "insert.onnx", "--input", "x.npy", "--input", "x.npy", "--input", "at.npy", says='"s": it is a sequence, and its contents are none')
refused("run", "insert.onnx", "--input", "seq.pb", "--input", "x.npy", "--input", "at.npy", "--input", "at.npy", status=2, says="input: 4 are given, and the model has 3")
refused("run", "insert.onnx", "--input", "s=seq.pb", "--input", "s=seq.pb", "--input", "at.npy", status=2, says='input: "s" is given twice')
refused("run", "insert.onnx", "--input", "q=seq.pb", "--input", "x.npy", "--input", "at.npy", status=2, says='the model has no input "q"')
refused("run", "insert.onnx", "--input", "seq.pb", "--input", "x.npy", says="SequenceInsert whose input 2 is computed is not supported")
assert "output[0]" not in burin("run", "insert.onnx", "--input", "seq.pb", "--input", "x.npy", status=1).stderr
file("add.onnx", onnx.model(onnx.graph([onnx.node("SequenceAt", ["s", "zero"], ["a"]), onnx.node("Add", ["a", "x"], ["y"])], [stated("s", SEQUENCE), onnx.value("x", "f32", [2])],
                                       [onnx.value("y", "f32")], [onnx.tensor("zero", "i64", [], [0])])))
refused("run", "add.onnx", "--input", "s=seq.pb", says='input 3 "x" is not given')
file("broken.pb", listed(floats(1, 2), floats(3))[:-1])
refused("run", "insert.onnx", "--input", "broken.pb", "--input", "x.npy", "--input", "at.npy", says="broken.pb: ")
file("mixed.pb", listed(floats(1)) + onnx.field(7, b"x"))
refused("run", "insert.onnx", "--input", "mixed.pb", "--input", "x.npy", "--input", "at.npy", says="mixed.pb: ")
deep = b""
for _ in range(40):
    deep = lists(deep)
file("deep.pb", deep)
refused("run", "insert.onnx", "--input", "deep.pb", "--input", "x.npy", "--input", "at.npy", says="deep.pb: ")

# for no single run: refused by name
for words in (("compile", "insert.onnx", "-o", "c"), ("plan", "insert.onnx"), ("run", "insert.onnx")):
    refused(*words, says="a sequence or optional value as input, for no run that says how many tensors it has, is not supported")

# optional values: there, absent, a sequence
file("optional.onnx", onnx.model(onnx.graph(
    [onnx.node("OptionalHasElement", ["o"], ["has"]), onnx.node("Identity", ["o"], ["same"])],
    [stated("o", OPTIONAL)], [onnx.value("has", "bool"), stated("same", OPTIONAL)])))
file("there.pb", listed(floats(7)))
made = run("optional.onnx", "there.pb")
assert made["output_0.pb"].endswith(b"\x01") and made["output_1.pb"] == listed(floats(7)), made
made = run("optional.onnx", "none.pb", form="raw")
assert made == {"output_0.bin": b"\x00"}, made
assert run("optional.onnx", "none.pb")["output_1.pb"] == listed()
refused("run", "optional.onnx", "--input", "seq.pb", says='"o": it is an optional value, and its contents are several')
file("get.onnx", onnx.model(onnx.graph(
    [onnx.node("OptionalGetElement", ["o"], ["s"]), onnx.node("SequenceAt", ["s", "last"], ["y"])],
    [stated("o", OPTIONAL, SEQUENCE)], [onnx.value("y", "f32")], [onnx.tensor("last", "i64", [], [-1])])))
file("held.pb", lists(listed(floats(1, 2), floats(3))))
assert run("get.onnx", "held.pb", form="raw") == {"output_0.bin": struct.pack("<f", 3)}

# a sequence that only comes out is as many tensors as it has, whatever runs: C, text and back
file("split.onnx", onnx.model(onnx.graph(
    [onnx.node("SplitToSequence", ["x", "two"], ["s"], axis=0), onnx.node("Neg", ["x"], ["n"])],
    [onnx.value("x", "f32", [5])], [onnx.value("n", "f32"), stated("s", SEQUENCE)], [onnx.tensor("two", "i64", [], [2])])))
file("five.npy", npy("<f4", (5,), struct.pack("<5f", 1, 2, 3, 4, 5)))
burin("compile", "split.onnx", "-o", "split_c")
burin("compile", "split.onnx", "-o", "split.ir")
assert 'gives "n" "T"\ngives "s" "(TTT)"\n' in pathlib.Path("split.ir").read_text()
for model in ("split.onnx", "split.ir"):
    for provider in ("reference", "host"):
        assert run(model, "five.npy", provider=provider)["output_1.pb"] == listed(floats(1, 2), floats(3, 4), floats(5)), (model, provider)
assert run("split.onnx", "five.npy", more=("--outputs", "n"), form="raw") == {"output_0.bin": struct.pack("<5f", -1, -2, -3, -4, -5)}

# ---- as constants ----
at = [onnx.node("SequenceAt", ["s", "at"], ["y"]), onnx.node("Add", ["y", "x"], ["z"])]
file("of_two.onnx", onnx.model(onnx.graph(at, [stated("s", SEQUENCE), onnx.value("x", "f32", [2]), onnx.value("at", "i64", [])],
                                          [onnx.value("z", "f32")])))
file("pairs.pb", listed(floats(1, 2), floats(3, 4)))
for provider in ("reference", "host"):
    got = run("of_two.onnx", "x.npy", "at.npy", form="raw", provider=provider, more=("--constant", "s=pairs.pb"))
    assert got == {"output_0.bin": struct.pack("<2f", 13, 24)}, got
burin("compile", "of_two.onnx", "-o", "of_two", "--constant", "s=pairs.pb")
assert "#define of_two_INPUT_COUNT 2\n" in pathlib.Path("of_two/of_two.h").read_text()
file("only.onnx", onnx.model(onnx.graph([onnx.node("SequenceLength", ["s"], ["n"])], [stated("s", SEQUENCE)], [onnx.value("n", "i64")])))
assert run("only.onnx", form="raw", more=("--constant", "seq.pb")) == {"output_0.bin": struct.pack("<q", 3)}
refused("compile", "of_two.onnx", "-o", "no", "--constant", "pairs.pb", status=2, says="the model has 3 inputs; say which by NAME=")
refused("compile", "of_two.onnx", "-o", "no", "--constant", "x=pairs.pb", status=2, says='and input "x" is none')
refused("compile", "of_two.onnx", "-o", "no", "--constant", "s=pairs.pb", "--constant", "s=pairs.pb", status=2, says='input "s" is given twice')
burin("compile", "only.onnx", "-o", "only.ir", "--constant", "seq.pb")
refused("compile", "only.ir", "-o", "no", "--constant", "x=seq.pb", status=2, says="inputs of ir are tensors")
