# ctest: name=e2e.incbin, timeout=300
"""--weights incbin: the constants are a file that the assembler takes in; the module does what the one with its weights as C does."""
import os
import pathlib
import re
import subprocess
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("sum.ir").write_text(made.SUM)  # without constants
CC = os.environ.get("CC", "cc")
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


def build(folder, program, *flags, compiler=(CC, "-std=c99")):
    sources = [str(p) for p in pathlib.Path(folder).glob("*.c")]
    return subprocess.run([*compiler, *STRICT, *flags, *sources, "-lm", "-o", program], capture_output=True, text=True)


def passes(program):
    return ", 0 failed" in subprocess.run([f"./{program}"], capture_output=True, text=True, check=True).stdout


for layout in ("folder", "single"):
    out = f"out_{layout}"
    assert "checked: " in burin("compile", "dense.tflite", "-o", out, "--weights", "incbin", "--layout", layout, "--test", "3").stdout
    names = {p.name for p in pathlib.Path(out).iterdir()}
    assert "dense_weights.bin" in names and ("dense_weights.c" in names) == (layout == "folder"), names
    assert not re.search(r"dense_w\d+\[\d+\]", "".join(p.read_text() for p in pathlib.Path(out).glob("*.[ch]")))  # no array of numbers
    assert build(out, "found", "-I", out).returncode == 0 and passes("found")  # by -I
    path = pathlib.Path(out, "dense_weights.bin").resolve()
    assert build(out, "said", f'-Ddense_WEIGHTS_FILE="{path}"').returncode == 0 and passes("said")
    assert build(out, "placed", "-I", out, '-Ddense_WEIGHTS_SECTION=".section .mine,\\"a\\""').returncode == 0 and passes("placed")
    assert ".mine" in subprocess.run(["objdump", "-h", "placed"], capture_output=True, text=True, check=True).stdout
    assert build(out, "cpp", "-I", out, compiler=("g++", "-x", "c++", "-std=c++11")).returncode == 0 and passes("cpp")
    failed = build(out, "lost")  # nowhere: the file is named
    assert failed.returncode != 0 and "dense_weights.bin" in failed.stderr, failed
    pathlib.Path("other.bin").write_bytes(path.read_bytes()[:-1])
    failed = build(out, "short", '-Ddense_WEIGHTS_FILE="other.bin"')
    assert CC == "clang" or (failed.returncode != 0 and "not this module's" in failed.stderr), failed
    failed = build(out, "old", "-I", out, "-U__GNUC__")
    assert failed.returncode != 0 and "--weights inline or blob" in failed.stderr, failed.stderr

# the same numbers as with weights in the C text: the same golden cases
burin("compile", "dense.tflite", "-o", "inline", "--test", "3")
assert pathlib.Path("inline/dense_test.c").read_bytes() == pathlib.Path("out_folder/dense_test.c").read_bytes()

# a module without constants
burin("compile", "sum.ir", "-o", "none", "--weights", "incbin", "--test", "1")
assert pathlib.Path("none/sum_weights.bin").read_bytes() == b""
assert build("none", "none.test", "-I", "none").returncode == 0 and passes("none.test")

# two modules in one program: each has its own file and symbol
burin("compile", "dense.tflite", "-o", "two", "--weights", "incbin", "--prefix", "a")
burin("compile", "dense.tflite", "-o", "two", "--weights", "incbin", "--prefix", "b")
pathlib.Path("two/main.c").write_text('#include "a.h"\n#include "b.h"\nint main(void) { return a_OK + b_OK; }\n')
assert build("two", "two.test", "-I", "two").returncode == 0

# a name that would end the text is no prefix
done = burin("compile", "dense.tflite", "-o", "no", "--weights", "incbin", "--prefix", 'x"\\n.byte', status=2)
assert "no C identifier" in done.stderr, done.stderr
