# ctest: name=e2e.depends, timeout=300
"""-MD and -MF: the rule that make reads; burin_add_model of the installed package: built, run, and built again when the model changes."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import made
import support
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("a model #1.tflite").write_bytes(made.dense())


def read_rule(path):
    """{target: files}, as make reads it: a line that ends in a backslash goes on; blanks behind a backslash are of the name."""
    rules = {}
    for line in pathlib.Path(path).read_text().replace("\\\n", "").splitlines():
        if line:
            targets, files = re.match(r"((?:\\.|[^:\\])+):(.*)", line).groups()
            names = [[re.sub(r"\\(.)", r"\1", n).replace("$$", "$") for n in re.findall(r"(?:\\.|[^\s\\])+", part)] for part in (targets, files)]
            for t in names[0]:
                rules.setdefault(t, []).extend(names[1])
    return rules


# a folder: each file of it; a file of options, constants and definitions are read, too
pathlib.Path("o.yaml").write_text("goal: size\n")
burin("compile", "a model #1.tflite", "--config", "o.yaml", "-o", "out dir", "-MD", "--no-check")
written = {f"out dir/{p.name}" for p in pathlib.Path("out dir").iterdir()}
rules = read_rule("out dir.d")
assert {t for t, files in rules.items() if files} == written, (rules, written)
assert all(sorted(files) == ["a model #1.tflite", "o.yaml"] for t, files in rules.items() if t in written), rules
assert rules["a model #1.tflite"] == rules["o.yaml"] == []

# a file, and its constants beside it, of which the next model is read
burin("compile", support.SOURCE / "demo/digits.tflite", "-o", "m.onnx", "--external-data", "-MF", "rule", "--no-check")
assert {t for t, files in read_rule("rule").items() if files} == {"m.onnx", "m.onnx.data"} and not pathlib.Path("m.onnx.d").exists()
burin("compile", "m.onnx", "-o", "m.tflite", "-MD", "--no-check")
assert read_rule("m.tflite.d")["m.tflite"] == ["m.onnx", "./m.onnx.data"], read_rule("m.tflite.d")
subprocess.run(["make", "-f", "rule", "-n", "m.onnx"], check=True, stdout=subprocess.PIPE)
done = burin("compile", "a model #1.tflite", "-o", "line\nend", "-MD", "--no-check", status=1)
assert "a rule can have no name with a line's end in it" in done.stderr and not pathlib.Path("line\nend").exists()
# nothing is written for an output that is refused
assert "exists and was kept" in burin("compile", "a model #1.tflite", "-o", "m.onnx", "-MD", status=1).stderr and not pathlib.Path("m.onnx.d").exists()
for words, why in ((["-MF"], "-MF needs a value: FILE"), (["-MD", "-MD"], "-MD is given twice"), (["-MX"], "no such option: -MX")):
    assert why in burin("compile", "a model #1.tflite", "-o", "x", *words, status=2).stderr
assert "-MF FILE" in burin("compile", "--help").stdout


def run(*command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout


cache = (support.BUILD / "CMakeCache.txt").read_text()
compiler = re.search(r"^CMAKE_C_COMPILER:[A-Z]+=(.*)$", cache, re.M).group(1)
run("cmake", "--install", support.BUILD, "--prefix", "usr")
shutil.copytree(support.SOURCE / "examples/application", "application")
shutil.copy(support.SOURCE / "demo/digits.tflite", "digits.tflite")
run("cmake", "-G", "Ninja", "-S", "application", "-B", "build", f"-DCMAKE_PREFIX_PATH={pathlib.Path('usr').resolve()}", f"-DCMAKE_C_COMPILER={compiler}",
    f"-DMODEL={pathlib.Path('digits.tflite').resolve()}")
assert "Engraving digits_net" in run("cmake", "--build", "build")
assert re.fullmatch(r"0, in \d+ bytes of RAM\n", run("build/digits"))
assert "Engraving" not in run("cmake", "--build", "build")
os.utime("digits.tflite")
assert "Engraving digits_net" in run("cmake", "--build", "build")
# a weights file that the assembler takes in; a name that follows from the target's
lists = pathlib.Path("application/CMakeLists.txt")
lists.write_text(lists.read_text().replace("--goal size", "--weights incbin"))
run("cmake", "--build", "build")
assert re.fullmatch(r"0, in \d+ bytes of RAM\n", run("build/digits")) and pathlib.Path("build/digits_net/digits_net_weights.bin").exists()
lists.write_text(lists.read_text().replace("--weights incbin", "--prefix p"))
done = subprocess.run(["cmake", "--build", "build"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
assert done.returncode != 0 and "--prefix follows from the name digits_net" in done.stdout, done.stdout
