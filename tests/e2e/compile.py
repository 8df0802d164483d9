# ctest: name=e2e.compile, timeout=600
"""burin compile, inspect and plan: what is written, what is kept, what is refused; the emitted C builds and runs."""
import hashlib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import made
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())
pathlib.Path("sum.ir").write_text(made.SUM)


def digest(folder):
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(pathlib.Path(folder).rglob("*"))
            if p.is_file()}


def build(folder, main, program, *flags):
    sources = [str(p) for p in pathlib.Path(folder).glob("*.c") if main or not p.name.endswith("_test.c")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", folder, *sources, *flags,
                    "-lm", "-o", program], check=True)


# ---- the main job: a checked folder of C; its golden cases pass on this machine ----
done = burin("compile", "dense.tflite", "-o", "out", "--test", "3")
assert done.stderr == "", done.stderr
for text in ("fully_connected", "RAM", "lower bound", "constants", "check", "wrote      out:", "dense.c"):
    assert text in done.stdout, f"{text!r} is not in {done.stdout}"
assert "not checked" not in done.stdout
build("out", True, "./test")
ran = subprocess.run(["./test"], capture_output=True, text=True)
assert ran.returncode == 0 and ran.stdout.strip().endswith("dense: 3 passed, 0 failed"), ran
plan = json.loads(pathlib.Path("out/dense_plan.json").read_text())
assert plan["version"] == 1 and plan["check"]["checked"] is True and plan["prefix"] == "dense"

# the module computes what a person computes
pathlib.Path("main.c").write_text("""#include "dense.h"
#include <stdio.h>
#include <string.h>
static _Alignas(16) unsigned char arena[dense_ARENA_BYTES];
int main(void) {
    static const signed char x[4] = {1, 2, 3, 4};
    dense_model m;
    const signed char *y;
    if (dense_init(&m, arena, sizeof arena) != dense_OK) return 1;
    memcpy(dense_input(&m, 0), x, sizeof x);
    if (dense_run(&m) != dense_OK) return 2;
    y = (const signed char *)dense_output(&m, 0);
    printf("%d %d %d\\n", y[0], y[1], y[2]);
    return 0;
}
""")
sources = [str(p) for p in pathlib.Path("out").glob("*.c") if not p.name.endswith("_test.c")]
subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I", "out", "main.c", *sources, "-lm", "-o", "main"], check=True)
want = " ".join(map(str, made.dense_expected([1, 2, 3, 4])))
assert subprocess.run(["./main"], capture_output=True, text=True, check=True).stdout == want + "\n"

# ---- an output that exists is kept, whole, and nothing is built for it; --force replaces it ----
before = digest("out")
pathlib.Path("cc-that-must-not-run").write_text("#!/bin/sh\ntouch ran\nexit 1\n")
os.chmod("cc-that-must-not-run", 0o755)
done = burin("compile", "dense.tflite", "-o", "out", "--compiler", "./cc-that-must-not-run", "-O2", status=1)
assert "exists" in done.stderr and "--force" in done.stderr and done.stdout == ""
assert digest("out") == before and not os.path.exists("ran")
burin("compile", "dense.tflite", "-o", "out", "--test", "3", "--force", "--quiet")
assert digest("out") == before
pathlib.Path("out/notes.txt").write_text("mine")
done = burin("compile", "sum.ir", "-o", "out")                 # another module beside it
assert digest("out").items() >= before.items() and os.path.exists("out/sum.c") and os.path.exists("out/notes.txt")
os.unlink("out/sum.c")
burin("compile", "sum.ir", "-o", "out", status=1)              # one of its files is still there: none is written
assert not os.path.exists("out/sum.c")
pathlib.Path("file").write_text("mine")
done = burin("compile", "dense.tflite", "-o", "file", status=1)
assert "file" in done.stderr and pathlib.Path("file").read_text() == "mine"
burin("compile", "dense.tflite", "-o", "file", "--force", status=1)   # a folder cannot replace a file
assert pathlib.Path("file").read_text() == "mine"

# ---- the same bytes from another folder, in another locale, at another time ----
os.makedirs("deep/er")
shutil.copy("dense.tflite", "deep/er/dense.tflite")
for name, options in (("plain", []), ("single", ["--layout", "single"]), ("blob", ["--weights", "blob"]), ("tested", ["--test", "2"])):
    one, two = os.path.abspath(f"one-{name}"), os.path.abspath(f"two-{name}")
    burin("compile", "dense.tflite", "-o", one, *options)
    burin("compile", os.path.abspath("deep/er/dense.tflite"), "-o", two, *options, cwd="deep",
          env={**os.environ, "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOME": "/"})
    assert digest(one) == digest(two) != {}, name
    assert not any(os.getcwd().encode() in p.read_bytes() for p in pathlib.Path(one).iterdir())
assert sorted(os.listdir("one-single")) == ["dense.c", "dense.h", "dense_plan.json"]
assert "dense_weights.bin" in os.listdir("one-blob")
build("one-tested", True, "./test")
subprocess.run(["./test"], check=True, stdout=subprocess.DEVNULL)

# ---- prefix, device, level, numerics ----
burin("compile", "dense.tflite", "-o", "named", "--prefix", "Kws_1", "--device", "cortex-m4", "-O", "2", "--numerics", "litert", "--no-check")
assert {"Kws_1.c", "Kws_1.h", "Kws_1_plan.json"} <= set(os.listdir("named"))
plan = json.loads(pathlib.Path("named/Kws_1_plan.json").read_text())
assert plan["device"]["name"] == "cortex-m4" and plan["check"]["checked"] is False

# ---- the text form: implied by the extension, read back, the same again ----
burin("compile", "dense.tflite", "-o", "dense.ir")
text = pathlib.Path("dense.ir").read_text()
assert text.startswith("burin 1\n") and "fully_connected" in text
burin("compile", "dense.ir", "--target", "ir", "-o", "again.ir")
assert pathlib.Path("again.ir").read_text() == text
burin("compile", "dense.tflite", "-o", "dense.ir", status=1)
burin("compile", "dense.tflite", "-o", "alias.txt", "--target", "ir-dump")
assert pathlib.Path("alias.txt").read_text() == text
burin("compile", "dense.tflite", "-o", "v2.ir", "--target", "c", "--no-check")   # what is said wins over what is implied
assert "dense.c" in os.listdir("v2.ir")

# ---- what is printed: JSON, nothing, the graph between passes ----
said = json.loads(burin("compile", "dense.tflite", "-o", "j", "--json").stdout)
assert said["checked"] is True and said["macs"] == 12 and said["arena_bytes"] >= said["arena_bound"] > 0
assert {f["name"]: f["bytes"] for f in said["files"]} == {p.name: p.stat().st_size for p in pathlib.Path("j").iterdir()}
done = burin("compile", "dense.tflite", "-o", "q", "--quiet")
assert done.stdout == done.stderr == ""
dump = burin("compile", "sum.ir", "-o", "d", "--dump-after", "dead").stdout
pathlib.Path("dumped.ir").write_text(dump)
assert burin("run", "dumped.ir", "--seed", "5", "--json").stdout == burin("run", "sum.ir", "--seed", "5", "--json").stdout
assert burin("plan", "sum.ir", "--dump-after", "dead").stdout == dump
assert burin("compile", "sum.ir", "-o", "all", "--dump-after", "all").stdout.count("burin 1\n") >= 3

# ---- the check: without a compiler it says so; a compiler that fails or lies is exit 3 and leaves nothing ----
done = burin("compile", "dense.tflite", "-o", "unchecked", env={"PATH": "/nowhere"})
assert "not checked" in done.stdout
assert json.loads(pathlib.Path("unchecked/dense_plan.json").read_text())["check"]["checked"] is False
liar = pathlib.Path("liar")
liar.write_text("""#!/bin/sh
# the C compiler, but every weight of 1 is 2
real=$(command -v cc)
for file in *_weights.c; do [ ! -f "$file" ] || sed -i 's/\\b1\\b/2/g' "$file"; done
exec $real "$@"
""")
liar.chmod(0o755)
done = burin("compile", "dense.tflite", "-o", "lied", "--compiler", os.path.abspath("liar"), status=3)
assert "fully_connected" in done.stderr.lower() or "FULLY_CONNECTED" in done.stderr, done.stderr
assert done.stdout == "" and not os.path.exists("lied")

# ---- what cannot be written leaves nothing, and the old output whole ----
burin("compile", "dense.tflite", "-o", "/proc/nowhere/x", "--no-check", status=1)
before = digest("out")


def small_disk():
    """Every write beyond 2,000 bytes of a file fails, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))


done = burin("compile", "dense.tflite", "-o", "out", "--prefix", "dense", "--force", "--no-check", "-O2", status=1, preexec_fn=small_disk)
assert "cannot write" in done.stderr and digest("out") == before, done.stderr
burin("compile", "dense.tflite", "-o", "fresh", "--no-check", status=1, preexec_fn=small_disk)
assert not os.path.exists("fresh")

# ---- stopped by a signal in the middle of the check: no temporary file, no output, and the signal's own status ----
slow = pathlib.Path("slow")
slow.write_text("#!/bin/sh\ntouch started\nexec sleep 30\n")
slow.chmod(0o755)
os.mkdir("tmp")
for number in (signal.SIGTERM, signal.SIGINT):
    stopped = subprocess.Popen([os.environ["BURIN"], "compile", "dense.tflite", "-o", "stopped", "--compiler", os.path.abspath("slow")],
                               env={**os.environ, "TMPDIR": os.path.abspath("tmp")}, cwd=".", start_new_session=True)
    started = time.monotonic()
    while not list(pathlib.Path("tmp").rglob("started")) and time.monotonic() - started < 20:
        time.sleep(0.02)
    assert os.listdir("tmp")
    stopped.send_signal(number)
    assert stopped.wait(timeout=20) == -number
    assert not os.listdir("tmp") and not os.path.exists("stopped")
    os.killpg(stopped.pid, signal.SIGKILL)   # the compiler that only sleeps
burin("compile", "dense.tflite", "-o", "not-stopped", env={**os.environ, "TMPDIR": os.path.abspath("tmp")})
burin("run", "dense.tflite", "--provider", "host", env={**os.environ, "TMPDIR": os.path.abspath("tmp")})
assert not os.listdir("tmp")

# ---- what is unsupported is named, with its place; inspect shows it, in the graph, and is no error ----
pathlib.Path("custom.tflite").write_bytes(made.dense("CUSTOM", "Detect"))
pathlib.Path("table.tflite").write_bytes(made.dense("HASHTABLE"))
for name, word in (("custom", "Detect"), ("table", "HASHTABLE")):
    done = burin("compile", f"{name}.tflite", "-o", name, status=1)
    assert word in done.stderr and "subgraph[0]/operator[0]" in done.stderr, done.stderr
    assert not os.path.exists(name)
    assert burin("run", f"{name}.tflite", status=1).stderr.splitlines()[-1] == done.stderr.splitlines()[-1]
    text = burin("inspect", f"{name}.tflite").stdout
    assert word in text and "UNSUPPORTED" in text and "1 of 1 operators unsupported" in text, text
    operators = json.loads(burin("inspect", f"{name}.tflite", "--json").stdout)["operators"]
    assert [o["supported"] for o in operators] == [False] and operators[0]["why"] and operators[0]["source"] == word

# scales that make every sum saturate (0.5 * 0.25 / 1e-6 > 65536) are damage; a little less is allowed
pathlib.Path("scale.tflite").write_bytes(made.dense(y_scale=1e-6))
done = burin("compile", "scale.tflite", "-o", "scale", status=1)
assert "FULLY_CONNECTED" in done.stderr and "saturate" in done.stderr and not os.path.exists("scale")
pathlib.Path("scale.tflite").write_bytes(made.dense(y_scale=2e-6))
burin("compile", "scale.tflite", "-o", "scale")

# ... unless nothing depends on them: behind are weights and biases that are zero, of which no scale says anything, zero or infinite either
def behind(weights, bias, scale=float("inf")):
    x = ("x", "i8", [1, 4], {"scale": [0.5], "zero": [0]})
    w = ("w", "i8", [3, 4], {"scale": [0.25], "zero": [0], "data": sum(made.WEIGHTS, [])})
    b = ("b", "i32", [3], {"scale": [0.125], "zero": [0], "data": made.BIAS})
    y = ("y", "i8", [1, 3], {"scale": [1e-40], "zero": [0]})
    v = ("v", "i8", [2, 3], {"scale": [scale], "zero": [0], "data": weights})
    c = ("c", "i32", [2], {"scale": [scale], "zero": [0], "data": bias})
    z = ("z", "i8", [1, 2], {"scale": [0.5], "zero": [-7]})
    none = made.Table(_0=("b", 0))
    return made.tflite([x, w, b, y, v, c, z], [("FULLY_CONNECTED", [0, 1, 2], [3], none, None), ("FULLY_CONNECTED", [3, 4, 5], [6], none, None)], [0], [6])


for scale in (float("inf"), 0.0, 0.25):
    pathlib.Path("behind.tflite").write_bytes(behind([0] * 6, [0, 0], scale))
    done = burin("compile", "behind.tflite", "-o", "behind", "--force")
    assert "operator[0] FULLY_CONNECTED" in done.stderr and "no output depends on it" in done.stderr, done.stderr
    pathlib.Path("x.bin").write_bytes(bytes([4, 0, 252, 100]))
    burin("run", "behind.tflite", "--input", "x.bin", "--output-dir", "nothing", "--output-format", "raw", "--force")
    assert list(pathlib.Path("nothing/output_0.bin").read_bytes()) == [249, 249]
for weights, bias in (([0] * 5 + [1], [0, 0]), ([0] * 6, [0, 1])):
    pathlib.Path("behind.tflite").write_bytes(behind(weights, bias, 0.25))
    assert "saturate" in burin("compile", "behind.tflite", "-o", "before", status=1).stderr and not os.path.exists("before")

# early quantisers left what lies between two sums typed as in training: the kernels give it the type of their inputs
Q = {"scale": [0.5], "zero": [0]}
pathlib.Path("between.tflite").write_bytes(made.tflite(
    [("x", "i8", [1, 4], Q), ("between", "f32", [1, 4], {"scale": [1.0], "zero": [-1]}), ("y", "i8", [1, 4], {"scale": [2.0], "zero": [3]})],
    [("ADD", [0, 0], [1], made.Table(_0=("b", 0)), None), ("ADD", [1, 0], [2], made.Table(_0=("b", 0)), None)], [0], [2]))
pathlib.Path("x.bin").write_bytes(bytes([4, 0, 252, 100]))  # 2, 0, -2, 50: three times that, over 2, and 3
burin("compile", "between.tflite", "-o", "between")
burin("run", "between.tflite", "--input", "x.bin", "--output-dir", "three", "--output-format", "raw")
assert list(pathlib.Path("three/output_0.bin").read_bytes()) == [6, 3, 0, 78]

# ---- inspect and plan ----
text = burin("inspect", "dense.tflite").stdout
for word in ("FULLY_CONNECTED", '"x"', '"y"', "i8", "scale 0.5", "12 MACs"):
    assert word in text, word
seen = json.loads(burin("inspect", "dense.tflite", "--json").stdout)
assert seen["operators"][0]["macs"] == 12 and seen["format"] == "tflite"
assert [t["name"] for t in seen["tensors"]] == ["x", "w", "b", "y"] and seen["inputs"] == [0] and seen["outputs"] == [3]
assert "lower bound" in burin("plan", "dense.tflite").stdout
plan = json.loads(burin("plan", "dense.tflite", "--json", "--device", "cortex-m0", "--prefix", "p").stdout)
assert plan["device"]["name"] == "cortex-m0" and plan["prefix"] == "p"

# ---- damaged files: a message with path and byte, status 1, nothing written ----
whole = made.dense()
for n in (0, 3, 8, 20, len(whole) // 2, len(whole) - 1):
    pathlib.Path("cut.tflite").write_bytes(whole[:n])
    done = burin("compile", "cut.tflite", "-o", "cut", status=1)
    assert "cut.tflite" in done.stderr and not os.path.exists("cut"), (n, done.stderr)
