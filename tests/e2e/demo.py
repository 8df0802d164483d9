# ctest: name=e2e.demo, timeout=300
"""The demo: the network that the project made, as C, on the images held out. What is expected comes from the labels and
from the outputs that TFLite Micro and LiteRT gave when the files were made (demo/heldout.txt)."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import tempfile

import support

DEMO = support.SOURCE / "demo"
STRICT = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
work = pathlib.Path(tempfile.mkdtemp())
failures = []


def expect(holds, what):
    if not holds:
        failures.append(what)


def right_by(column):
    """How many images a runtime gets right: the first of its largest outputs is the label."""
    right = count = 0
    for line in (DEMO / "heldout.txt").read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        fields = line.split(" ")
        outputs = [byte - 256 if byte > 127 else byte for byte in bytes.fromhex(fields[column])]
        right += outputs.index(max(outputs)) == int(fields[0])
        count += 1
    return right, count


def digits(numerics):
    """The demo's program over the module with these numerics, and what it says."""
    out = work / numerics
    said = support.burin("compile", DEMO / "digits.tflite", "-o", out, "--prefix", "digits", "--numerics", numerics)
    expect(re.search(r"(?m)^check +checked: ", said.stdout), f"{numerics}: not checked:\n{said.stdout}")
    sources = [DEMO / "digits_main.c", DEMO / "timing.c", *sorted(out.glob("*.c"))]
    subprocess.run(["gcc", *STRICT, "-I", out, *sources, "-o", work / f"digits_{numerics}", "-lm"], check=True)
    done = subprocess.run([work / f"digits_{numerics}", DEMO / "heldout.txt", numerics], capture_output=True, text=True)
    expect(done.returncode == 0, f"{numerics}: exit {done.returncode}: {done.stderr}")
    return done.stdout


def accuracy():
    stated = (DEMO / "README.md").read_text(encoding="utf-8")
    for numerics, column in (("tflm", 2), ("litert", 3)):
        right, count = right_by(column)
        said = digits(numerics)
        expect((right, count) == (351, 360), f"{numerics}: {right} of {count} are right by the file")
        expect(f"{right} of {count} held-out digits right ({100 * right / count:.2f} %)" in said, f"{numerics}: said {said}")
        expect(f"{count} of {count} equal " in said, f"{numerics}: said {said}")
        expect(re.fullmatch(r"[\n -~]*", said), "pictures that are not plain ASCII, and no terminal")
    expect(f"| Burin, emitted C, int8 | {right} | {100 * right / count:.2f} % |" in stated, "the README states something else")


def difference_is_seen():
    """The module that rounds as LiteRT does differs from TFLite Micro's outputs on exactly one image."""
    done = subprocess.run([work / "digits_litert", DEMO / "heldout.txt", "tflm"], capture_output=True, text=True)
    expect(done.returncode == 1 and "359 of 360 equal" in done.stdout, f"a difference unseen: {done.stdout}")


def bad_files():
    line = (DEMO / "heldout.txt").read_text(encoding="ascii").splitlines()[-1]
    for name, text in (("empty", ""), ("short", line[:40] + "\n"), ("letter", line.replace("a", "z", 1) + "\n")):
        (work / name).write_text(text)
        done = subprocess.run([work / "digits_tflm", work / name], capture_output=True, text=True)
        expect(done.returncode == 1 and done.stderr.count("\n") == 1, f"{name}: exit {done.returncode}, {done.stderr!r}")
    done = subprocess.run([work / "digits_tflm", work / "absent"], capture_output=True, text=True)
    expect(done.returncode == 1 and "absent" in done.stderr, f"absent: {done.stderr!r}")


def terminal():
    """Shades on a terminal, none with NO_COLOR."""
    for plain in ("", "1"):
        main, other = pty.openpty()
        child = subprocess.Popen([work / "digits_tflm", DEMO / "heldout.txt"], stdout=other,
                                 env={**os.environ, "TERM": "xterm", "NO_COLOR": plain})
        os.close(other)
        said = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:  # how a terminal of Linux ends
                break
            if not part:
                break
            said += part
        os.close(main)
        expect(child.wait() == 0 and (b"\x1b[48;5;" in said) == (plain == ""), f"on a terminal, NO_COLOR={plain}: {said[:200]}")


def script():
    """scripts/demo.sh from a folder of another name, twice, and on a file of the user's own."""
    elsewhere = work / "some where"
    elsewhere.mkdir()
    shutil.copy(DEMO / "digits.tflite", elsewhere / "own model.tflite")
    (elsewhere / "not a model.tflite").write_bytes(b"nothing")
    environment = {**os.environ, "BURIN": os.environ["BURIN"], "BURIN_DEMO": str(work / "out put")}

    def demo(*arguments):
        return subprocess.run(["sh", support.SOURCE / "scripts/demo.sh", *arguments], cwd=elsewhere, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    for _ in range(2):
        done = demo()
        expect(done.returncode == 0, f"demo.sh: exit {done.returncode}\n{done.stdout}{done.stderr}")
        for text in ("351 of 360", "8 passed, 0 failed", "an inference", "\nRAM ", "\nflash ", "\ncheck "):
            expect(text in done.stdout, f"demo.sh does not say {text!r}:\n{done.stdout}")
    own = demo("own model.tflite")
    expect(own.returncode == 0, f"demo.sh MODEL: exit {own.returncode}\n{own.stdout}{own.stderr}")
    for text in ("SOFTMAX", "2 passed, 0 failed", "an inference", "\nRAM ", "\nflash ", "\ncheck "):
        expect(text in own.stdout, f"demo.sh MODEL does not say {text!r}:\n{own.stdout}")
    bad = demo("not a model.tflite")
    expect(bad.returncode == 1 and "not a model.tflite" in bad.stderr, f"demo.sh on no model: {bad.returncode} {bad.stderr}")
    expect(sorted(p.name for p in elsewhere.iterdir()) == ["not a model.tflite", "own model.tflite"], "leftovers")


try:
    accuracy()
    difference_is_seen()
    bad_files()
    terminal()
    script()
finally:
    shutil.rmtree(work)
if failures:
    sys.exit("\n".join(failures))
