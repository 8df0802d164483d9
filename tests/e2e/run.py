# ctest: name=e2e.run, timeout=600
"""burin run: inputs from files by content, by order and by name, made inputs, outputs as files, both providers."""
import json
import os
import pathlib
import resource
import struct
import tempfile
import threading

import made
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("sum.ir").write_text(made.SUM)
LEFT, RIGHT = [1, 2, 3, 4, 5, 6], [0.5, -0.5, 0.25, 0, -8, 100]
SUM = [a + b for a, b in zip(LEFT, RIGHT)]


def floats(numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def outputs(folder, form="npy"):
    names = sorted(os.listdir(folder))
    assert all(name == f"output_{i}.{'bin' if form == 'raw' else 'npy'}" for i, name in enumerate(names)), names
    return [pathlib.Path(folder, name).read_bytes() for name in names]


pathlib.Path("x.bin").write_bytes(struct.pack("4b", 1, 2, 3, 4))
pathlib.Path("x.npy").write_bytes(made.npy("|i1", [1, 4], struct.pack("4b", 1, 2, 3, 4)))
pathlib.Path("flat").write_bytes(made.npy("|i1", [4], struct.pack("4b", 1, 2, 3, 4)))    # .npy by content; a batch of 1 left out
pathlib.Path("left.bin").write_bytes(floats(LEFT))
pathlib.Path("right.npy").write_bytes(made.npy("<f4", [2, 3], floats(RIGHT)))

# ---- one input, each form of file, each provider: what a person computes ----
want = made.npy("|i1", [1, 3], struct.pack("3b", *made.dense_expected([1, 2, 3, 4])))
for k, (file, options) in enumerate([("x.bin", []), ("x.npy", []), ("flat", []), ("x=x.bin", []), ("x.bin", ["--provider", "host"]),
                                     ("x.bin", ["--raw"]), ("x.bin", ["--provider", "host", "-O2", "--compiler", "cc"])]):
    burin("run", "dense.tflite", "--input", file, "--output-dir", f"o{k}", *options)
    assert made.read_npy(outputs(f"o{k}")[0]) == made.read_npy(want), (file, options)
done = burin("run", "dense.tflite", "--input", "x.bin")
assert " ".join(map(str, made.dense_expected([1, 2, 3, 4]))) in done.stdout and done.stderr == ""

# ---- two inputs in order and by name ----
square = floats([v * v for v in SUM])
for k, words in enumerate((["left.bin", "right.npy"], ["right=right.npy", "left=left.bin"], ["right=right.npy", "left.bin"])):
    burin("run", "sum.ir", *[w for word in words for w in ("--input", word)], "--output-dir", f"two{k}", "--output-format", "raw")
    assert outputs(f"two{k}", "raw") == [floats(SUM), square], words

# ---- pipes, which have their contents only once: one for each run, one for several, and the same file twice ----
def through(pipe, data, *words):
    writer = threading.Thread(target=lambda: pathlib.Path(pipe).write_bytes(data), daemon=True)
    writer.start()
    burin("run", "sum.ir", *words, "--output-format", "raw", timeout=60)
    writer.join()


os.mkfifo("pipe")
through("pipe", floats(LEFT), "--input", "left=pipe", "--input", "right=right.npy", "--output-dir", "piped")
assert outputs("piped", "raw") == [floats(SUM), square]
through("pipe", floats(LEFT + RIGHT), "--input", "pipe", "--input", "left.bin", "--repeat", "2", "--output-dir", "twice")
assert outputs("twice", "raw")[0] == floats([2 * v for v in LEFT] + SUM)
through("pipe", floats(LEFT), "--input", "pipe", "--input", "pipe", "--output-dir", "same")
assert outputs("same", "raw")[0] == floats([2 * v for v in LEFT])

# ---- an output that exists is kept ----
burin("run", "dense.tflite", "--input", "x.npy", "--output-dir", "o0", status=1)
pathlib.Path("o0/output_0.npy").write_text("mine")
done = burin("run", "dense.tflite", "--input", "x.npy", "--output-dir", "o0", status=1)
assert "exists" in done.stderr and "--force" in done.stderr and pathlib.Path("o0/output_0.npy").read_text() == "mine"
burin("run", "dense.tflite", "--input", "x.npy", "--output-dir", "o0", "--force")
assert made.read_npy(outputs("o0")[0]) == made.read_npy(want)

# ---- made inputs: the documented generator, one stream through all inputs; the default seed is said ----
done = burin("run", "dense.tflite", "--output-dir", "s0")
assert "seed 12345" in done.stderr
assert burin("run", "dense.tflite", "--quiet").stderr == ""
r, _ = made.generated(4)
x = [int(256 * v) - 256 if int(256 * v) > 127 else int(256 * v) for v in r]
assert made.read_npy(outputs("s0")[0])[2] == struct.pack("3b", *made.dense_expected(x))
r, state = made.generated(6, 7)
left = floats([2 * v - 1 for v in r])
right = floats([2 * v - 1 for v in made.generated(6, state)[0]])
said = json.loads(burin("run", "sum.ir", "--seed", "7", "--json").stdout)
assert said["provider"] == "reference"
assert said["inputs"] == [{"name": n, "type": "f32", "shape": [2, 3], "bytes": 24, "fnv1a64": made.fnv1a64(d)}
                          for n, d in (("left", left), ("right", right))]
same = [struct.unpack("<f", struct.pack("<f", a + b))[0] for a, b in zip(struct.unpack("<6f", left), struct.unpack("<6f", right))]
assert said["outputs"][0]["fnv1a64"] == made.fnv1a64(floats(same)) and said["outputs"][0]["name"] == "sum"
assert json.loads(burin("run", "sum.ir", "--seed", "7", "--json", "--provider", "host").stdout)["outputs"] == said["outputs"]
assert said["inputs"] != json.loads(burin("run", "sum.ir", "--seed", "8", "--json").stdout)["inputs"]

# ---- what does not fit is refused, with both sides named ----
pathlib.Path("short.bin").write_bytes(bytes(3))
pathlib.Path("long.bin").write_bytes(bytes(5))
pathlib.Path("float.npy").write_bytes(made.npy("<f4", [1, 4], bytes(16)))
pathlib.Path("turned.npy").write_bytes(made.npy("<f4", [3, 2], bytes(24)))
pathlib.Path("cut.npy").write_bytes(made.npy("|i1", [1, 4], bytes(3)))
pathlib.Path("six.npy").write_bytes(b"\x93NUMPY")
pathlib.Path("x.pb").write_bytes(b"\x08\x01")
pathlib.Path("fortran.npy").write_bytes(made.npy("<f4", [2, 3], bytes(24)).replace(b"'fortran_order': False", b"'fortran_order': True "))
for model, words, status, texts in (
        ("dense.tflite", ["short.bin"], 1, ["3 bytes", "needs 4"]), ("dense.tflite", ["long.bin"], 1, ["5 bytes"]),
        ("dense.tflite", ["float.npy"], 1, ["f32", "i8"]), ("dense.tflite", ["cut.npy"], 1, ["cut.npy"]),
        ("dense.tflite", ["six.npy"], 1, ["truncated", "6 bytes"]), ("dense.tflite", ["x.pb"], 1, ["x.pb", "data_type 0 is no type"]), ("dense.tflite", ["absent.bin"], 1, ["absent.bin", "No such file"]),
        ("dense.tflite", ["."], 1, []), ("dense.tflite", ["x.bin", "x.bin"], 2, ["the model has 1 input,"]),
        ("dense.tflite", ["x="], 2, ["has no file"]), ("dense.tflite", ["y=x.bin"], 2, ['no input "y"', 'no file "y=x.bin"']),
        ("sum.ir", ["left.bin"], 2, ['nothing for input 1 "right"']), ("sum.ir", ["left.bin", "turned.npy"], 1, ["[3,2]", "[2,3]"]),
        ("sum.ir", ["left.bin", "fortran.npy"], 1, ["Fortran"]),
        ("sum.ir", ["left=left.bin", "left=left.bin"], 2, ['"left" is given twice']),
        ("sum.ir", ["rihgt=right.npy", "left.bin"], 2, ['did you mean "right"'])):
    done = burin("run", model, *[w for word in words for w in ("--input", word)], "--output-dir", "never", status=status)
    assert all(text in done.stderr for text in texts) and done.stdout == "", (words, done.stderr)
burin("run", "sum.ir", "--input", "left.bin", "--input", "right.npy", "--seed", "3", status=2)
burin("run", "sum.ir", "--output-format", "raw", status=2)
assert not os.path.exists("never")

# a compiler that is not there, or builds nothing, is refused; one that builds other programs, but not the module, is status 3;
# none crashes or leaves anything
picky = pathlib.Path("picky")
picky.write_text('#!/bin/sh\ncase "$*" in *burin_driver*) exit 9;; esac\nexec cc "$@"\n')
picky.chmod(0o755)
for compiler, status, text in (("/nowhere/cc", 1, "/nowhere/cc"), ("false", 1, "ended with status 1 and said nothing; is it a working C compiler?"),
                               (os.path.abspath("picky"), 3, "the emitted C does not compile with")):
    done = burin("run", "dense.tflite", "--provider", "host", "--compiler", compiler, "--output-dir", "never", status=status)
    assert compiler in done.stderr and text in done.stderr, done.stderr

# operators are looked at before inputs are made: 2 GiB of them are refused in little memory, and nothing says that they are made
pathlib.Path("wide.ir").write_text(made.SUM.replace("[2,3]", "[2,268435456]", 1))
done = burin("run", "wide.ir", status=1)
assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1 << 20    # KiB
assert "add" in done.stderr and "memory" not in done.stderr and "made" not in done.stderr, done.stderr
assert not os.path.exists("never")
