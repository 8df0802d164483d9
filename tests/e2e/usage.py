# ctest: name=e2e.usage
"""The command line itself: help, versions, wrong words, wrong values, missing values; every exit status 2 says what is near."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

import made
import support
from support import burin

COMMANDS = ("compile", "inspect", "plan", "explain", "diff", "run", "verify", "targets", "devices", "moves", "operators", "providers",
            "conform")


def refuses(words, *texts, status=2):
    done = burin(*words, status=status)
    assert done.stdout == "", done.stdout
    for text in texts:
        assert text in done.stderr, f"{words}: {text!r} is not in: {done.stderr}"
    assert all(line.isprintable() for line in done.stderr.splitlines()), repr(done.stderr)


os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())

# help and version
version = re.search(r"^project\(burin VERSION ([0-9.]+)", (support.SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
assert burin("--version").stdout == f"burin {version}\n"
general = burin("--help").stdout
assert general == burin("help").stdout == burin("-h").stdout
for command in COMMANDS:
    assert f"burin {command}" in general
    text = burin("help", command).stdout
    assert text == burin(command, "--help").stdout == burin(command, "-h").stdout
    assert "\nExamples:\n  burin " + command in text and "--json" in text and max(map(len, text.splitlines())) <= 132

# every long option that help shows can be given without being called unknown
for command in COMMANDS:
    for name in re.findall(r"^ +(?:-\w, +)?--([a-z-]+)", burin("help", command).stdout, re.M):
        if name != "help":
            done = subprocess.run([os.environ["BURIN"], command, f"--{name}"], capture_output=True, text=True)
            assert "no such option" not in done.stderr and "not an option" not in done.stderr, (command, name, done.stderr)

# words
refuses([], "usage: burin COMMAND")
refuses(["compil", "x"], "no such command: compil", "did you mean compile?")
refuses(["help", "inpsect"], "did you mean inspect?")
refuses([""], "no such command")
refuses(["quantize" * 5000], "no such command")
refuses(["\x1b[31m\n"], r"\x1b[31m\x0a")
refuses(["inspect"], "it needs INPUT", "burin help inspect")
refuses(["inspect", "a", "b"], "too many arguments", '"b"')
refuses(["inspect", ""], "an argument is empty")
refuses(["verify", "dense.tflite"], "it needs A B")
refuses(["targets", "c"], "too many arguments")
refuses(["conform"], "it needs PROVIDER [MODEL]")
refuses(["conform", "null", "a", "b"], "too many arguments", '"b"')

# options
refuses(["compile", "dense.tflite"], "it needs -o OUT")
refuses(["compile", "dense.tflite", "--taget", "c", "-o", "out"], "no such option: --taget", "did you mean --target?")
refuses(["compile", "dense.tflite", "--seed", "3"], "--seed is not an option of burin compile")
refuses(["compile", "dense.tflite", "-x"], "no such option: -x")
refuses(["compile", "dense.tflite", "-o"], "--output needs a value: OUT")
refuses(["compile", "dense.tflite", "-o", ""], "--output: the value is empty")
refuses(["compile", "dense.tflite", "--output="], "--output: the value is empty")
refuses(["compile", "dense.tflite", "-o", "a", "--output", "b"], "--output is given twice")
refuses(["compile", "dense.tflite", "-o", "out", "--force=yes"], "--force takes no value")
refuses(["compile", "dense.tflite", "-o", "out", "-O3"], '--opt-level: "3" is not a number from 0 to 2')
refuses(["compile", "dense.tflite", "-o", "out", "--opt-level", "-1"], '"-1" is not a number from 0 to 2')
refuses(["compile", "dense.tflite", "-o", "out", "--numerics", "litrt"], "did you mean litert?")
refuses(["compile", "dense.tflite", "-o", "out", "--layout=singel"], "did you mean single?")
refuses(["compile", "dense.tflite", "-o", "out", "--test", "99999999999999999999999"], "not a number from 0 to 10000")
refuses(["compile", "dense.tflite", "-o", "out", "--test", "-1"], "not a number")
refuses(["compile", "dense.tflite", "-o", "out", "--check-cases", "0"], "not a number from 1 to")
refuses(["compile", "dense.tflite", "-o", "out", "--check-cases", "0x10"], "not a number")
refuses(["run", "dense.tflite", "--seed", "4294967296"], "not a number from 0 to 4294967295")
refuses(["verify", "dense.tflite", ".", "--rtol", "nan"], "not a number")
refuses(["verify", "dense.tflite", ".", "--atol", "1e-3x"], "not a number")
refuses(["compile", "dense.tflite", "-o", "out", "--target", "onx"], "target", "none of")
refuses(["compile", "dense.tflite", "-o", "out", "--target", "ri"], "did you mean ir?")
refuses(["compile", "dense.tflite", "-o", "out", "--device", "cortex-m5"], "device", "did you mean cortex-m")
refuses(["compile", "dense.tflite", "-o", "out", "--prefix", "1 x"], "prefix", "C identifier")
refuses(["compile", "dense.tflite", "-o", "out", "--dump-after", "fusee"], "fuse")
refuses(["compile", "dense.tflite", "-o", "out.qqq"], "no target writes .qqq files")
refuses(["compile", "dense.tflite", "-o", "out", "--no-check", "--compiler", "gcc"], "--no-check leaves nothing for --compiler")
refuses(["compile", "dense.tflite", "-o", "out", "--json", "--dump-after", "all"], "stdout can hold only one")
refuses(["compile", "dense.tflite", "-o", "out", "--prefix", "int"], "prefix", "reserved in C or C++", '"int_"')
refuses(["compile", "dense.tflite", "-o", "out", "--no-exat"], "did you mean --no-exact?")
refuses(["compile", "dense.tflite", "-o", "out", "--no-chek"], "did you mean --no-check?")
refuses(["compile", "dense.tflite", "-o", "out", "--check=true"], "--check takes no value")
refuses(["compile", "dense.tflite", "-o", "out", "--no-exact=true"], "--no-exact takes no value")
refuses(["compile", "dense.tflite", "-o", "out", "--check", "--no-check"], "--check is given twice")
refuses(["compile", "dense.tflite", "-o", "out", "--no-goal"], "no such option: --no-goal")
refuses(["compile", "dense.tflite", "-o", "out", "--data-name", "x"], "no such option: --data-name")
refuses(["compile", "dense.tflite", "-o", "out", "-f=yes"], "--force takes no value")
for target in ("ir", "null"):
    for words in (["--test", "0"], ["--weights", "inline"], ["--layout", "folder"], ["--prefix", "p"], ["--compiler", "cc"],
                  ["--check-cases", "4"], ["--no-check"]):
        refuses(["compile", "dense.tflite", "-o", "out", "--target", target, *words], f"{words[0]} has no effect with target {target}")
refuses(["compile", "dense.tflite", "-o", "x.ir", "--device", "generic"], "--device has no effect with target ir")
for words in (["run"], ["plan"], ["compile", "-o", "out"], ["compile", "-o", "x.tflite"]):
    refuses([*words, "dense.tflite", "--max-trips", "3"], "max_trips: it has no effect", "has no loop")
refuses(["run", "dense.tflite", "--force"], "--force needs --output-dir")
for option in ("--rtol", "--atol"):
    refuses(["verify", "dense.tflite", ".", option, "0.1"], f"{option} has no effect", "integers")
refuses(["run", "dense.tflite", "--compiler", "gcc"], "--compiler needs --provider host")
refuses(["run", "dense.tflite", "--raw", "--provider", "host"], "--raw needs --provider reference")
refuses(["run", "dense.tflite", "--provider", "hots"], "did you mean host?")
assert sorted(os.listdir()) == ["dense.tflite"]

# the forms of an option mean the same; -- ends the options
for words in (["--output", "a.ir"], ["--output=a.ir"], ["-o", "a.ir"], ["-oa.ir"], ["-o=a.ir"]):
    burin("compile", "dense.tflite", "-fq", "-O2", "--numerics", "litert", *words)
    assert pathlib.Path("a.ir").read_text().startswith("burin 1\n")
    os.unlink("a.ir")
os.rename("dense.tflite", "-dense.tflite")
assert "FULLY_CONNECTED" in burin("inspect", "--", "-dense.tflite").stdout
os.rename("-dense.tflite", "dense.tflite")

# files that are not there, not models, folders, empty
refuses(["inspect", "absent.tflite"], "absent.tflite", "No such file", status=1)
refuses(["inspect", "."], status=1)
refuses(["inspect", "/dev/zero"], "/dev/zero", "no regular file", "256 MiB", status=1)
refuses(["run", "dense.tflite", "--input", "/dev/zero"], "/dev/zero", "no regular file", status=1)
pathlib.Path("empty").write_bytes(b"")
refuses(["inspect", "empty"], "empty", status=1)
pathlib.Path("noise").write_bytes(bytes(range(256)) * 16)
refuses(["inspect", "noise"], "noise", status=1)
refuses(["inspect", "x" * 5000], status=1)

# the lists
for command in ("targets", "devices", "moves", "operators"):
    rows = json.loads(burin(command, "--json").stdout)
    names = [row["name"] for row in rows]
    assert names == sorted(names) or command != "targets"
    text = burin(command).stdout
    assert len(text.splitlines()) == len(rows) and all(row["description"] for row in rows)
    assert all(line.split()[0] == name for line, name in zip(text.splitlines(), names))
    assert {"targets": "c", "devices": "cortex-m4", "moves": "tile", "operators": "conv2d"}[command] in names

# standard output that cannot be written is an error
with open("/dev/full", "w") as full:
    done = subprocess.run([os.environ["BURIN"], "operators"], stdout=full, stderr=subprocess.PIPE, text=True)
assert done.returncode == 1 and "standard output" in done.stderr, done

# colours and progress never where stderr is no terminal
done = burin("compile", "dense.tflite", "-o", "out", "--no-check", env={**os.environ, "TERM": "xterm"})
assert "\033" not in done.stdout + done.stderr and "\r" not in done.stderr
