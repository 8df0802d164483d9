# ctest: name=e2e.determinism, timeout=600
"""The same input gives the same bytes: again, from another folder, by another path, in another locale, time zone and home, by every
build of the command that there is, and in a process whose numbers have commas.

Held against each other: all files of every target, layout and kind of weights with golden cases, and what the command prints.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import made
from support import BUILD, SOURCE

top = pathlib.Path(tempfile.mkdtemp())
os.chdir(top)
os.makedirs("a/models")
os.makedirs("b/quite/another place/deep")

# floats that a locale would print otherwise, also in the text form
AFFINE = """burin 1
model "ir" "affine.ir"
graph "main" 0 {
  tensor %0 f32[2,3] "x"
  tensor %1 f32[2,3] "scale" = data 24 0xcdcccc3d0000803f000020c1db0f49409a99993e00000000
  tensor %2 f32[2,3] "scaled"
  tensor %3 f32[2,3] "y"
  inputs (%0)
  outputs (%3)
  node mul (%0, %1) -> (%2) {act: text "none"}
  node add (%2, %0) -> (%3) {act: text "relu6"}
}
"""
MODELS = {"dense.tflite": made.dense(), "digits.tflite": (SOURCE / "demo/digits.tflite").read_bytes(), "sum.ir": made.SUM.encode()}
PLACES = {"a": top / "a/models", "b": top / "b/quite/another place/deep"}
for name, data in MODELS.items():
    for place in PLACES.values():
        (place / name).write_bytes(data)
        os.utime(place / name, (1e9 if place == PLACES["a"] else 1.5e9,) * 2)

# ---- a locale whose decimal point is a comma, and a way to have the command run in it, as a program that uses the library may ----
pathlib.Path("comma").write_text('comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep "<U002E>"\ngrouping 3;3\nEND LC_NUMERIC\n')
pathlib.Path("shim.c").write_text(r"""
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void __attribute__((constructor)) enter(void) {
    const char *want = getenv("WANTED_DECIMAL");
    char text[16];
    if (want == NULL) { return; } /* another process than the command: the compiler that it starts */
    unsetenv("WANTED_DECIMAL");
    if (setlocale(LC_ALL, "") == NULL) { _Exit(97); }
    snprintf(text, sizeof text, "%.1f", 1.5);
    if (strcmp(text, want) != 0) { _Exit(98); }
}
""")
subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "shim.c", "-o", "shim.so"], check=True)
localedef = shutil.which("localedef")
made_locale = localedef and subprocess.run([localedef, "-c", "-i", "comma", str(top / "xx_XX")], capture_output=True).returncode in (0, 1) \
    and (top / "xx_XX/LC_NUMERIC").exists()
if made_locale:
    comma, decimal = {"LOCPATH": str(top), "LC_ALL": "xx_XX"}, "1,5"
else:
    print("no locale with a comma could be made (localedef, Debian's package locales): C.UTF-8 instead", file=sys.stderr)
    comma, decimal = {"LC_ALL": "C.UTF-8"}, "1.5"

plain = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
CC = {"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}  # of the build that has it: the shim comes first
# name: (folder to run in, how the model is named from there, environment)
WAYS = {
    "again": (PLACES["a"], "{name}", plain),
    "absolute": (top, str(PLACES["a"] / "{name}"), {**plain, "TZ": "Asia/Tokyo", "HOME": "/nonexistent"}),
    "elsewhere": (top / "b", "quite/another place/deep/{name}", {**plain, "LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8", "USER": "other"}),
    "comma": (PLACES["b"], "./{name}", {**plain, **comma, **CC, "WANTED_DECIMAL": decimal, "LD_PRELOAD": str(top / "shim.so")}),
}
BINARIES = {os.path.realpath(os.environ["BURIN"])}
# Other builds count if they are of these sources: an older one may rightly write other bytes.
NEWEST = max(p.stat().st_mtime for p in SOURCE.glob("src/**/*") if p.is_file())
BINARIES |= {os.path.realpath(p) for p in BUILD.parent.glob("*/burin") if p.is_file() and os.access(p, os.X_OK)
             and p.parent.name in ("debug", "release", "clang") and p.stat().st_mtime >= NEWEST}

C_OPTIONS = [["--layout", layout, "--weights", weights, "--device", device, "--test", "2", "--no-check"]
             for layout, weights, device in (("folder", "inline", "generic"), ("single", "blob", "cortex-m4"), ("folder", "blob", "host"))]
targets = [line.split()[0] for line in subprocess.run([os.environ["BURIN"], "targets"], capture_output=True, text=True, check=True).stdout.splitlines()]
assert {"c", "ir"} <= set(targets)
JOBS = [("compile", options) for options in C_OPTIONS]
JOBS += [("compile", ["--target", target]) for target in targets if target != "c"]
JOBS += [("compile", ["--numerics", "litert", "-O", "2", "--no-check"]), ("plan", ["--json"]), ("plan", []), ("inspect", ["--json"]),
         ("run", ["--seed", "3", "--json"])]


def digest(path):
    """What is in a file or folder; also its names."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    return [(str(p.relative_to(path)), hashlib.sha256(p.read_bytes()).hexdigest()) for p in files]


def result(binary, way, name, command, options, number):
    folder, words, environment = WAYS[way]
    out = top / f"out{number}"
    where = ["-o", str(out), "--quiet"] if command == "compile" else []
    done = subprocess.run([binary, command, words.format(name=name), *options, *where], cwd=folder, env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, (binary, way, name, command, options, done.returncode, done.stderr)
    if command != "compile":
        return done.stdout.replace(words.format(name=name), name)  # inspect prints the path as it was given
    for file in ([out] if out.is_file() else out.rglob("*")):
        if file.is_file():
            text = file.read_bytes()
            assert str(top).encode() not in text and b"another place" not in text, f"{file}: a path of this machine"
    found = digest(out)
    assert found, (name, options)
    shutil.rmtree(out) if out.is_dir() else out.unlink()
    return found


count = 0
for name in MODELS:
    for command, options in JOBS:
        if "onnx" in options and name.endswith(".tflite"):
            continue  # its scales have no words there
        results = {}
        for binary in sorted(BINARIES):
            # every way by the command under test, the first way by the others
            for way in (WAYS if binary == os.path.realpath(os.environ["BURIN"]) else ["again"]):
                results[binary, way] = json.dumps(result(binary, way, name, command, options, count))
                count += 1
        assert len(set(results.values())) == 1, (name, command, options, results)
# that the comparison can see: another model, another result
assert result(os.environ["BURIN"], "again", "dense.tflite", *JOBS[0], "x") != result(os.environ["BURIN"], "again", "digits.tflite", *JOBS[0], "y")
print(f"{count} results of {len(BINARIES)} builds of the command; decimal point of the last way: {decimal[1]}")
