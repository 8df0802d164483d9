# ctest: name=corpus.c_hygiene, labels=corpus, timeout=1800
"""The emitted modules of keyword spotting and visual wake words are fit for somebody's firmware: no warning under three compilers,
nothing undefined but mem* and libm, no writable global, bounded stack, clean under sanitizers with their golden cases, two in one
program; as C++; in both layouts, with weights inline and as a blob; and equal, byte for byte, when compiled from another folder and
in another locale."""
import filecmp
import os
import pathlib
import subprocess
import sys
import tempfile

import support
from support import burin

hygiene = support.shared("tools/harness/c_hygiene.sh")


def find(name):
    """The corpus's model of that file name."""
    found = sorted(support.shared("corpus/tflite/real").rglob(name))
    if not found:
        support.skip(f"no {name} in the corpus")
    return found[0]


models = {"kws": find("kws_int8.tflite"), "vww": find("vww96_int8.tflite")}
failed = False
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for name, model in models.items():
        done = burin("compile", model, "-o", name, "--prefix", name, "--test", "2")
        print(done.stdout)
        os.makedirs("elsewhere", exist_ok=True)
        burin("compile", os.path.relpath(model, "elsewhere"), "-o", f"../{name}-again", "--prefix", name, "--test", "2", cwd="elsewhere",
              env={**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
        names = sorted(os.listdir(name))
        same = filecmp.cmpfiles(name, f"{name}-again", names, shallow=False)[0]
        if sorted(same) != names or sorted(os.listdir(f"{name}-again")) != names:
            print(f"FAIL  {name}: compiled again, {sorted(set(names) - set(same))} differ")
            failed = True
        # As C++ the same files compile without a warning.
        for source in sorted(pathlib.Path(name).glob("*.c")):
            done = subprocess.run(["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion",
                                   "-Werror", "-fsyntax-only", "-I", name, source])
            failed |= done.returncode != 0
    # The golden cases run with the sanitizers; the main is not part of the module.
    for name, other in (("kws", "vww"), ("vww", None)):
        mains = list(pathlib.Path(name).glob("*_test.c"))
        pathlib.Path("mains").mkdir(exist_ok=True)
        main = pathlib.Path("mains", mains[0].name)
        os.rename(mains[0], main)
        if other:
            for extra in pathlib.Path(other).glob("*_test.c"):
                extra.rename(pathlib.Path("mains", "kept_" + extra.name))
        failed |= subprocess.run(["bash", hygiene, "--cflags", "-Wconversion -Wsign-conversion", "--main", main, name, *([other] if other else [])]
                                 ).returncode != 0
        if other:
            for extra in pathlib.Path("mains").glob("kept_*"):
                extra.rename(pathlib.Path(other, extra.name[len("kept_"):]))
    # The other layouts and places of weights, floats, and the schedules of other devices.
    for k, (model, options) in enumerate((("hello_world_float.tflite", ["--layout", "single"]),
                                          ("person_detect.tflite", ["--weights", "blob", "--device", "cortex-m4"]),
                                          ("kws_int8.tflite", ["--layout", "single", "--weights", "blob", "--device", "host"]))):
        burin("compile", find(model), "-o", f"more{k}", "--prefix", f"m{k}", "--no-check", *options)
        failed |= subprocess.run(["bash", hygiene, "--cflags", "-Wconversion -Wsign-conversion", f"more{k}"]).returncode != 0
sys.exit(failed)
