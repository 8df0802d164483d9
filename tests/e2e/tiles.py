# ctest: name=e2e.tiles, timeout=300
"""Moves of tiles: points copied to lines, pointers through the whole reduction, channels that roll along rows. Each changes the code and not
the numbers, is told in the code, and takes memory only where the arena has it free."""
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())
random.seed(1)
tensors, operators = [], []


def add(name, kind, shape, data=None, scale=None, axis=0):
    count = len(scale) if scale else 0
    more = {"scale": scale, "zero": [0 if data else -5] * count, "axis": axis} if scale else {}
    tensors.append((name, kind, shape, {**more, "data": data} if data else more))
    return len(tensors) - 1


def layer(x, channels, kernel, stride, deep):
    """-> tensor: int8, SAME, a scale for each channel; deep: every channel by itself."""
    height, depth, out = -(-tensors[x][2][1] // stride), tensors[x][2][3], len(operators)
    shape = [1, kernel, kernel, channels] if deep else [channels, kernel, kernel, depth]
    w = add(f"w{out}", "i8", shape, [random.randint(-127, 127) for _ in range(shape[0] * shape[1] * shape[2] * shape[3])],
            [0.002 + 0.0001 * c for c in range(channels)], 3 if deep else 0)
    b = add(f"b{out}", "i32", [channels], [random.randint(-500, 500) for _ in range(channels)], [0.0002 + 0.00001 * c for c in range(channels)])
    y = add(f"y{out}", "i8", [1, height, height, channels], scale=[0.1])
    options = Table(_0=("b", 0), _1=("i", stride), _2=("i", stride), **({"_3": ("i", 1)} if deep else {}))
    operators.append(("DEPTHWISE_CONV_2D" if deep else "CONV_2D", [x, w, b], [y], options, None))
    return y


LAYERS = [(8, 3, 1, False), (8, 3, 1, False), (8, 3, 1, True), (6, 1, 1, False), (6, 3, 2, True), (8, 3, 1, False), (5, 3, 2, False), (5, 5, 1, True)]
x = first = add("x", "i8", [1, 12, 12, 4], scale=[0.1])
sizes = [12 * 12 * 4]
for channels, kernel, stride, deep in LAYERS:
    x = layer(x, channels, kernel, stride, deep)
    sizes.append(tensors[x][2][1] * tensors[x][2][2] * tensors[x][2][3])
pathlib.Path("net.tflite").write_bytes(made.tflite(tensors, operators, [first], [x]))


def compiled(folder, *words):
    """-> (kernels' text, plan, golden inputs and outputs); the emitted C is checked against the evaluator, and run by itself."""
    done = burin("compile", "net.tflite", "-o", folder, "--prefix", "P", "--test", "3", *words)
    assert "checked: " in done.stdout, done.stdout
    sources = [str(p) for p in pathlib.Path(folder).glob("*.c")]
    subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", *sources, "-lm", "-o", f"./{folder}.test"],
                   check=True)
    assert "0 failed" in subprocess.run([f"./{folder}.test"], capture_output=True, text=True, check=True).stdout
    test = re.search(r"/\* Generated.*", pathlib.Path(folder, "P_test.c").read_text(), re.S)[0]
    return pathlib.Path(folder, "P_kernels.c").read_text(), json.loads(pathlib.Path(folder, "P_plan.json").read_text()), test


plain, plan_plain, golden = compiled("plain", "--device", "cortex-m4", "--opt-level", "0")
MOVES = ("points copied to lines first", "points rolling along rows", "register tile")
assert not any(move in plain for move in MOVES)
assert not any(t["name"] == "lines" for t in plan_plain["tensors"])
for device in ("cortex-m4", "cortex-m0", "generic"):
    text, plan, numbers = compiled(device, "--device", device)
    assert numbers == golden, device
    for move in MOVES:
        assert move in text or (device == "generic" and "rolling" in move), (device, move)
    # Room for lines never makes the arena larger: a chain needs what a layer reads and writes, each up to a whole alignment.
    unit, room = plan["device"]["alignment"], plan["arena"]["bytes"]
    assert room <= max(-(-a // unit) * unit + -(-b // unit) * unit for a, b in zip(sizes, sizes[1:])), (room, sizes)
    lines = [t for t in plan["tensors"] if t["name"] == "lines"]
    asked = [s for k in plan["kernels"] for s in k["stages"] if s["line_bytes"]]
    assert lines and len(lines) == len(asked) and all(t["role"] == "scratch" and t["offset"] + t["bytes"] <= room for t in lines), lines
    copied = text.count("points copied to lines first")
    assert copied > len(lines) or device == "generic", (copied, lines)  # where the arena is full, on the stack
