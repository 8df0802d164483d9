# ctest: name=e2e.goals, timeout=300
"""--goal size and --kernel generic: fewer and smaller functions, the same numbers; the choice is in the plan, and deterministic."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import tempfile
from fractions import Fraction

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())
random.seed(1)
tensors, operators = [], []


def add(name, kind, shape, data=None, scale=None):
    count = len(scale) if scale else 0
    more = {"scale": scale, "zero": [0 if data else 3] * count} if scale else {}
    tensors.append((name, kind, shape, {**more, "data": data} if data else more))
    return len(tensors) - 1


def conv(x, channels, kernel, stride, out):
    """-> (tensor, height): int8, SAME, a scale for each channel."""
    height = -(-tensors[x][2][1] // stride)
    depth = tensors[x][2][3]
    w = add(f"w{out}", "i8", [channels, kernel, kernel, depth], [random.randint(-127, 127) for _ in range(channels * kernel * kernel * depth)],
            [0.002 + 0.0001 * c for c in range(channels)])
    b = add(f"b{out}", "i32", [channels], [random.randint(-500, 500) for _ in range(channels)], [0.0002 + 0.00001 * c for c in range(channels)])
    y = add(f"y{out}", "i8", [1, height, height, channels], scale=[0.1])
    operators.append(("CONV_2D", [x, w, b], [y], Table(_0=("b", 0), _1=("i", stride), _2=("i", stride), _3=("b", 1), _4=("i", 1), _5=("i", 1)), None))
    return y


x = first = add("x", "i8", [1, 12, 12, 4], scale=[0.1])
for out, (channels, kernel, stride) in enumerate([(8, 3, 1), (12, 3, 1), (12, 1, 1), (8, 1, 1), (12, 3, 2), (8, 3, 2), (8, 1, 1), (4, 3, 1)]):
    x = conv(x, channels, kernel, stride, out)
pathlib.Path("net.tflite").write_bytes(made.tflite(tensors, operators, [first], [x]))


def functions(folder):
    return len(re.findall(r"^void P_k", pathlib.Path(folder, "P_kernels.c").read_text(), re.M))


def code(folder, *flags):
    """Bytes of code, by the host's compiler."""
    sources = [str(p) for p in sorted(pathlib.Path(folder).glob("P*.c")) if not p.name.endswith(("_test.c", "_weights.c"))]
    total = 0
    for source in sources:
        subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Os", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", *flags, "-c", source,
                        "-o", "o.o"], check=True)
        total += int(subprocess.run(["size", "o.o"], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[0])
    return total


def golden(folder):
    sources = [str(p) for p in pathlib.Path(folder).glob("*.c")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", *sources, "-lm", "-o", f"./{folder}.test"], check=True)
    assert "0 failed" in subprocess.run([f"./{folder}.test"], capture_output=True, text=True, check=True).stdout
    return re.search(r"/\* Generated.*", pathlib.Path(folder, "P_test.c").read_text(), re.S)[0]


# ---- the same numbers, in fewer functions, of less code ----
made_of = {"plain": (), "generic": ("--kernel", "generic"), "size": ("--goal", "size"), "apart": ("--goal", "size", "--kernel", "specialized")}
for folder, words in made_of.items():
    done = burin("compile", "net.tflite", "-o", folder, "--prefix", "P", "--device", "cortex-m4", "--test", "3", "--force", *words)
    assert "checked: " in done.stdout, done.stdout
    plan = json.loads(pathlib.Path(folder, "P_plan.json").read_text())
    assert plan["goal"] == ("size" if "--goal" in words else "latency"), plan["goal"]
    assert plan["kernel"] == ("generic" if folder in ("generic", "size") else "specialized"), plan["kernel"]
assert len({golden(folder) for folder in made_of}) == 1  # golden inputs and outputs
assert functions("generic") < functions("plain") and functions("size") < functions("apart")
sizes = {folder: code(folder) for folder in made_of}
assert sizes["generic"] < sizes["plain"] and sizes["size"] < sizes["apart"] < sizes["plain"], sizes
assert "numbers of the layer" in pathlib.Path("size", "P_kernels.c").read_text()
assert "numbers of the layer" not in pathlib.Path("plain", "P_kernels.c").read_text()
sources = [str(p) for p in pathlib.Path("size").glob("P*.c")]  # C++, too
subprocess.run(["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", *sources, "-o", "cpp"], check=True)
assert "0 failed" in subprocess.run(["./cpp"], capture_output=True, text=True, check=True).stdout
assert "checked: " in burin("compile", "net.tflite", "-o", "host", "--device", "host", "--goal", "size").stdout

# ---- as a blob, in one file; the same bytes each time ----
for words in (["--weights", "blob"], ["--layout", "single"]):
    both = [burin("compile", "net.tflite", "-o", f"again{k}", "--prefix", "P", "--goal", "size", "--test", "1", "--force", *words) for k in range(2)]
    assert all("checked: " in done.stdout for done in both)
    files = [{p.name: p.read_bytes() for p in pathlib.Path(f"again{k}").iterdir()} for k in range(2)]
    assert files[0] == files[1]

# ---- the plan says what it takes of flash: constants as they are, code by a prediction that knows which is smaller ----
def flash(*words):
    plan = json.loads(burin("plan", "net.tflite", "--prefix", "P", "--device", "cortex-m4", "--json", *words).stdout)["flash"]
    return {p["part"]: p["bytes"] for p in plan["parts"]}, {p["part"] for p in plan["parts"] if p["predicted"]}, plan["functions"]


latency, size = flash(), flash("--goal", "size")
assert latency[1] == size[1] == {"kernels", "helpers", "interface and steps"}
assert size[0]["kernels"] < latency[0]["kernels"] and size[0]["numbers of layers"] > 0 == latency[0]["numbers of layers"]
weights = sum(len(t[3]["data"]) for t in tensors if t[0].startswith("w"))
assert size[0]["packed weights"] == latency[0]["packed weights"] == weights  # channels are multiples of 4: nothing is padded
assert len(size[2]) == functions("size") and sum(f["bytes"] for f in size[2]) == size[0]["kernels"]
text = burin("plan", "net.tflite", "--goal", "size", "--prefix", "P", "--device", "cortex-m4").stdout
assert f"packed weights {weights}" in text and re.search(r"^functions  P_k\d+ ~\d+ of step \d+", text, re.M), text

# ---- the emitted C as a provider computes what the evaluator computes ----
runs = [burin("run", "net.tflite", "--seed", "7", *words).stdout for words in
        ([], ["--provider", "host"], ["--provider", "host", "--goal", "size"], ["--provider", "host", "--kernel", "generic"])]
assert len(set(runs)) == 1, runs

# ---- balanced: the fewest cycles among plans within a tenth of the least flash and RAM ----
def taken(*words):
    plan = json.loads(burin("plan", "net.tflite", "--prefix", "P", "--device", "cortex-m4", "--json", *words).stdout)
    return sum(k["cost"] for k in plan["kernels"]), sum(p["bytes"] for p in plan["flash"]["parts"]), plan["arena"]["bytes"], plan["goal"], plan["kernel"]


ways = [taken("--goal", goal, "--kernel", kernel) for goal in ("latency", "size") for kernel in ("specialized", "generic")]
least = [min(w[k] for w in ways) for k in range(3)]
balanced = taken("--goal", "balanced")
assert balanced[3] == "balanced" and balanced[:3] == min(w[:3] for w in ways if w[1] <= 1.1 * least[1] and w[2] <= 1.1 * least[2]), (balanced, ways)
assert taken("--goal", "size")[1] <= balanced[1] <= taken()[1] and taken()[0] <= balanced[0] <= taken("--goal", "size")[0]
assert taken("--goal", "balanced", "--kernel", "specialized")[4] == "specialized"
assert "checked: " in burin("compile", "net.tflite", "-o", "balanced", "--prefix", "P", "--device", "cortex-m4", "--goal", "balanced", "--test", "3").stdout
assert golden("balanced") == golden("plain")

# ---- accuracy: sums of floats in 64 bits, rounded once; expected by exact fractions; integers are as ever ----
K, N = 600, 3
random.seed(3)
f32 = [[struct.unpack("<f", struct.pack("<f", random.uniform(-1, 1) * 10 ** random.randint(0, 4)))[0] for _ in range(K)] for _ in range(N + 1)]
exact = [sum(Fraction(a) * Fraction(b) for a, b in zip(f32[0], row)) for row in f32[1:]]
pathlib.Path("x.npy").write_bytes(made.npy("<f4", (1, K), struct.pack(f"<{K}f", *f32[0])))
data = "".join(struct.pack(f"<{K}f", *row).hex() for row in f32[1:])
pathlib.Path("dot.ir").write_text('burin 1\nmodel "ir" "dot.ir"\n' + made.graph(
    "main", 0, [f'f32[1,{K}] "x"', f'f32[{N},{K}] "w" = hex "{data}"', f'f32[1,{N}] "y"'], [0], [2], [("fully_connected", [0, 1], [2], '{act: text "none"}')]))


def error(*words):
    burin("run", "dot.ir", "--input", "x.npy", "--provider", "host", "--output-dir", "dot", "--quiet", "--force", *words)
    return max(abs(Fraction(y) - e) for y, e in zip(struct.unpack(f"<{N}f", made.read_npy(pathlib.Path("dot/output_0.npy").read_bytes())[2]), exact))


rounding = max(abs(e) for e in exact) * Fraction(2) ** -24 * Fraction(1001, 1000)  # to the nearest f32
for device in ("generic", "host", "cortex-m4", "cortex-m0"):
    errors = {goal: error("--device", device, "--goal", goal) for goal in ("latency", "size", "balanced", "accuracy")}
    assert errors["accuracy"] <= rounding < min(errors["latency"], errors["size"], errors["balanced"]), (device, errors)
    assert error("--device", device, "--accumulation", "precise") == errors["accuracy"]
    assert error("--device", device, "--goal", "accuracy", "--accumulation", "defined") == errors["latency"]
done = burin("compile", "dot.ir", "-o", "dot_c", "--prefix", "P", "--goal", "accuracy")
assert "checked: " in done.stdout and json.loads(pathlib.Path("dot_c/P_plan.json").read_text())["accumulation"] == "precise"
weights = re.search(r"static const (\w+) P_\w+\[\d+\]|const (\w+) P_\w+\[\d+\]", pathlib.Path("dot_c/P_weights.c").read_text())
assert "float" in weights.groups(), weights  # not twice as large
files = [{p.name: p.read_bytes() for p in pathlib.Path(folder).iterdir() if p.suffix in (".c", ".h")} for folder in ("plain", "exact")
         if folder == "plain" or burin("compile", "net.tflite", "-o", "exact", "--prefix", "P", "--device", "cortex-m4", "--test", "3", "--goal", "accuracy")]
assert files[0] == files[1]

# ---- an option has an effect, or is an error ----
for words, says in [(["--goal", "tiny"], "latency"), (["--kernel", "shared"], "generic"), (["--goal", "size", "--target", "tflite"], "no effect"),
                    (["--kernel", "generic", "--target", "onnx"], "no effect")]:
    done = burin("compile", "net.tflite", "-o", "no", *words, status=2)
    assert says in done.stderr, done.stderr
assert "needs --provider host" in burin("run", "net.tflite", "--goal", "size", status=2).stderr
