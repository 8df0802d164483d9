# ctest: name=e2e.strings, timeout=300
"""Tensors of strings: read, moved, compared, mapped, made; written as ONNX again; in C numbers of the module's table. Expected values by
the text of the standard's operators."""
import os
import pathlib
import subprocess
import tempfile

import onnx_build as onnx
from support import burin

os.chdir(tempfile.mkdtemp())
TO_FLOAT, TO_STRING, TO_I64, TO_BOOL = 1, 8, 7, 9


def file(name, data):
    pathlib.Path(name).write_bytes(data)


def ml(op, *words, **attributes):
    return onnx.node(op, *words, domain="ai.onnx.ml", **attributes)


def model(name, nodes, inputs, outputs, constants=(), domains=()):
    """inputs, outputs: (name, type, dims)."""
    file(name, onnx.model(onnx.graph(nodes, [onnx.value(*i) for i in inputs], [onnx.value(*o) for o in outputs], constants), opset=21,
                          domains=domains))


def put(name, dims, values):
    """A .pb of strings."""
    file(name, onnx.strings("", dims, values))


def run(name, *files, outputs, providers=("reference", "host")):
    """outputs: bytes of each .pb without a name, as onnx_build makes them."""
    for provider in providers:
        burin("run", name, *(w for f in files for w in ("--input", f)), "--provider", provider, "--output-dir", "out", "--output-format", "pb", "--force")
        for k, (n, dims, want) in enumerate(outputs):
            got = pathlib.Path(f"out/output_{k}.pb").read_bytes()
            # fields in the order of the writer: dims (packed), type, name, contents
            contents = b"".join(onnx.field(6, v) for v in want) if not want or isinstance(want[0], (str, bytes)) else onnx.field(9, onnx.raw(n, want))
            assert got.endswith(contents), (name, provider, k, got, contents)


def refused(name, *words, says, command="compile"):
    done = burin(command, name, *words, *(("-o", "refused") if command == "compile" else ()), status=1)
    assert says in done.stderr, (name, says, done.stderr)


# ---- moved and compared: NUL and bytes that are no UTF-8 are a string's as any others ----
ODD = [b"a\0b", b"\xff\xfe", "", "é", "a"]
put("odd.pb", [5], ODD)
C = [onnx.strings("word", [], [b"a\0b"]), onnx.tensor("order", "i64", [3], [1, 0, 2])]
model("moves.onnx", [onnx.node("Gather", ["x", "order"], ["y"]), onnx.node("Equal", ["x", "word"], ["same"]),
                     onnx.node("Where", ["same", "word", "x"], ["z"])],
      [("x", "string", [5])], [("y", "string", [3]), ("same", "bool", [5]), ("z", "string", [5])], C)
run("moves.onnx", "odd.pb", outputs=[("string", [3], [ODD[1], ODD[0], ODD[2]]), ("bool", [5], [True, False, False, False, False]), ("string", [5], ODD)])
done = burin("run", "moves.onnx", "--input", "odd.pb", "--output-dir", "npy", status=1)
assert "a string is no UTF-8, or ends in a NUL, which .npy does not have" in done.stderr, done.stderr

# ---- mapped: labels of either type; what is not there is the default ----
put("pets.pb", [3], ["cat", "dog", "emu"])
model("labels.onnx", [ml("LabelEncoder", ["x"], ["n"], keys_strings=["cat", "dog"], values_int64s=[7, 8]),
                      ml("LabelEncoder", ["n"], ["s"], keys_int64s=[7], values_strings=["seven"]),
                      ml("OneHotEncoder", ["x"], ["hot"], cats_strings=["dog", "emu"]),
                      ml("CategoryMapper", ["x"], ["c"], cats_strings=["emu", "cat"], cats_int64s=[5, 6], default_int64=-3)],
      [("x", "string", [3])], [("n", "i64", [3]), ("s", "string", [3]), ("hot", "f32", [3, 2]), ("c", "i64", [3])], domains=[("ai.onnx.ml", 2)])
LABELS = [("i64", [3], [7, 8, -1]), ("string", [3], ["seven", "_Unused", "_Unused"]), ("f32", [3, 2], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]), ("i64", [3], [6, -3, 5])]
run("labels.onnx", "pets.pb", outputs=LABELS)
burin("compile", "labels.onnx", "--target", "onnx", "-o", "again.onnx")
run("again.onnx", "pets.pb", outputs=LABELS)

# ---- C: numbers of the table in the header ----
burin("compile", "labels.onnx", "-o", "labels", "--prefix", "pet")
header = pathlib.Path("labels/pet.h").read_text()
assert "extern const char *const pet_strings[" in header, header
file("main.c", b"""#include <stdio.h>
#include <string.h>
#include "%s"
int main(void) {
    for (unsigned i = 0; i < pet_STRING_COUNT; i++)
        if (strcmp(pet_strings[i], "dog") == 0 && pet_string_bytes[i] == 3)
            return 0;
    return 1;
}
""" % b"pet.h")
subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Ilabels", "main.c", *map(str, pathlib.Path("labels").glob("*.c")), "-lm", "-o", "table"],
               check=True)
subprocess.run(["./table"], check=True)

# ---- made: of what is known when the file is read ----
put("dotted.pb", [2], ["a.b.c", "é"])
model("split.onnx", [onnx.node("StringSplit", ["x"], ["y", "n"], delimiter="."), onnx.node("StringConcat", ["x", "tail"], ["z"])],
      [("x", "string", [2])], [("y", "string", [2, 3]), ("n", "i64", [2]), ("z", "string", [2])], [onnx.strings("tail", [], ["!"])])
run("split.onnx", "dotted.pb", outputs=[("string", [2, 3], ["a", "b", "c", "é", "", ""]), ("i64", [2], [3, 1]), ("string", [2], ["a.b.c!", "é!"])])
refused("split.onnx", says="operator StringSplit on what only a run says is not supported; make the inputs that it follows from constant")
burin("compile", "split.onnx", "-o", "constant", "--constant", "x=dotted.pb")

put("numbers.pb", [6], ["1e-5", "-INF", "nan", "100.5", "+7", "-0"])
model("cast.onnx", [onnx.node("Cast", ["x"], ["f"], to=TO_FLOAT), onnx.node("Cast", ["k"], ["s"], to=TO_STRING)],
      [("x", "string", [6])], [("f", "f32", [6]), ("s", "string", [5])], [onnx.tensor("k", "f32", [5], [1.5e-7, -2.5e10, 0.5, float("inf"), float("nan")])])
run("cast.onnx", "numbers.pb", outputs=[("f32", [6], [1e-5, float("-inf"), float("nan"), 100.5, 7.0, -0.0]),
                                        ("string", [5], ["0.00000015", "-25000000000.0", "0.5", "INF", "NaN"])])
put("words.pb", [6], ["Hello World!"] * 6)
refused("cast.onnx", "--input", "words.pb", says='element 0, "Hello World!", is no number of type f32', command="run")

put("turkish.pb", [2], ["İ", "a"])
model("case.onnx", [onnx.node("StringNormalizer", ["x"], ["y"], case_change_action="LOWER")], [("x", "string", [2])], [("y", "string", None)])
refused("case.onnx", "--input", "turkish.pb", says="changes the case of letters beyond ASCII is not supported", command="run")
model("regex.onnx", [onnx.node("RegexFullMatch", ["x"], ["y"], pattern="a.*")], [("x", "string", [2])], [("y", "bool", [2])])
refused("regex.onnx", says="operator RegexFullMatch of ai.onnx is not supported")

# ---- what takes none, and what has none ----
model("add.onnx", [onnx.node("Add", ["x", "x"], ["y"])], [("x", "string", [2])], [("y", "string", [2])])
refused("add.onnx", says="operator Add of strings is not supported")
model("bool.onnx", [onnx.node("Cast", ["x"], ["y"], to=TO_BOOL)], [("x", "string", [2])], [("y", "bool", [2])])
refused("bool.onnx", says="operator Cast of strings to bool is not supported")
model("same.onnx", [onnx.node("Identity", ["x"], ["y"])], [("x", "string", [2])], [("y", "string", [2])])
refused("same.onnx", "--target", "tflite", says="TFLite has no tensors of type str")
refused("same.onnx", "--target", "ir", says="the text form has no strings")

# ---- damaged ----
for name, constant, says in (("few", onnx.strings("k", [3], ["a"]), "it has 1 strings, and 3 elements"),
                             ("huge", onnx.strings("k", [1 << 30, 4], ["a"]), "it has 1 strings, and 4294967296 elements"),
                             ("raw", onnx.field(1, 2) + onnx.field(2, 8) + onnx.field(8, "k") + onnx.field(9, b"ab"), "strings stand in raw_data"),
                             ("cut", onnx.field(1, 1) + onnx.field(2, 8) + onnx.field(8, "k") + b"\x32\xff\xff\xff\xff\x07ab", "")):
    model(f"{name}.onnx", [onnx.node("Identity", ["k"], ["y"])], [("x", "f32", [1])], [("y", "string", None)], [constant])
    refused(f"{name}.onnx", says=says)
