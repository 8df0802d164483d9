# ctest: name=e2e.reports, timeout=600
"""Faults that users of other tools reported, as models of our own. Those that are one operator's arithmetic are cases named report_* in
src/ops; damaged files are tested where files are read. Expected values by hand, or by Python's own slices."""
import itertools
import json
import os
import pathlib
import random
import re
import struct
import tempfile

import made
from made import Table
from support import burin

os.chdir(tempfile.mkdtemp())


def run(name, data, form, *options, provider="reference"):
    pathlib.Path("x.bin").write_bytes(data)
    burin("run", f"{name}.tflite", "--input", "x.bin", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force", *options)
    got = pathlib.Path("out/output_0.bin").read_bytes()
    return list(struct.unpack(f"<{len(got) // struct.calcsize(form)}{form}", got))


# ---- tensorflow 42481, tvm 10286: masks of slices, alone and together; strides shorter than the rank ----
def sliced(shape, spec):
    """(elements by number, shape) of a tensor that counts from 0, by Python's rules for slices. spec: slice, int, None or Ellipsis."""
    real = sum(entry is not None and entry is not Ellipsis for entry in spec)
    full = [slice(None)] * (len(shape) - real)
    at = spec.index(Ellipsis) if Ellipsis in spec else len(spec)
    spec = spec[:at] + full + spec[at + 1:]
    chosen, out, k = [], [], 0
    for entry in spec:
        if entry is None:
            out.append(1)
            continue
        if isinstance(entry, int):
            chosen.append([range(shape[k])[entry]])
        else:
            chosen.append(list(range(shape[k])[entry]))
            out.append(len(chosen[-1]))
        k += 1
    numbers = []
    for place in itertools.product(*chosen):
        number = 0
        for dim, i in zip(shape, place):
            number = number * dim + i
        numbers.append(number)
    return numbers, out


def slice_model(shape, spec, out):
    """STRIDED_SLICE's begin, end, strides and masks for the entries."""
    lists, masks = ([], [], []), {"begin": 0, "end": 0, "ellipsis": 0, "new": 0, "shrink": 0}
    for i, entry in enumerate(spec):
        begin, end, stride = 0, 0, 1
        if entry is Ellipsis:
            masks["ellipsis"] |= 1 << i
        elif entry is None:
            masks["new"] |= 1 << i
        elif isinstance(entry, int):
            begin, end = entry, entry + 1
            masks["shrink"] |= 1 << i
        else:
            stride = entry.step or 1
            begin, end = entry.start or 0, entry.stop or 0
            masks["begin"] |= (entry.start is None) << i
            masks["end"] |= (entry.stop is None) << i
        for values, value in zip(lists, (begin, end, stride)):
            values.append(value)
    n = len(spec)
    tensors = [("x", "i32", shape, {})] + [(name, "i32", [n], {"data": values}) for name, values in zip("bes", lists)] + [("y", "i32", out, {})]
    options = Table(**{f"_{k}": ("i", masks[m]) for k, m in enumerate(("begin", "end", "ellipsis", "new", "shrink"))})
    pathlib.Path("slice.tflite").write_bytes(made.tflite(tensors, [("STRIDED_SLICE", [0, 1, 2, 3], [4], options, None)], [0], [4]))


def random_entry(dim):
    if random.random() < 0.3:
        return random.randrange(-dim, dim)
    step = random.choice([1, 1, 2, -1, -2])
    start = random.choice([None, random.randrange(-dim, dim)])
    stop = random.choice([None, random.randrange(-dim, dim)])
    return slice(start, stop, step)


def slices():
    random.seed(42481)
    shape = [4, 3, 5]
    specs = [[Ellipsis, slice(None, 2), slice(None)], [None, 1, Ellipsis], [Ellipsis, -1], [slice(1, None)], [None, Ellipsis, None]]
    for _ in range(25):
        spec = [random_entry(dim) for dim in shape[:random.randrange(1, 4)]]
        if random.random() < 0.5:
            spec.insert(random.randrange(len(spec) + 1), None)
        if random.random() < 0.5:
            at = random.randrange(len(spec) + 1)
            left = sum(entry is not None for entry in spec[:at])
            spec = spec[:at] + [Ellipsis] + spec[at:]
            right = sum(entry is not None for entry in spec[at + 1:])
            for k, entry in enumerate(spec[at + 1:], at + 1):  # entries behind the ellipsis are of the last extents
                if entry is not None:
                    spec[k] = random_entry(shape[3 - right])
                    right -= 1
            assert left <= 3
        specs.append(spec)
    seen = 0
    for spec in specs:
        numbers, out = sliced(shape, spec)
        if not numbers:
            continue
        slice_model(shape, spec, out)
        assert run("slice", struct.pack("<60i", *range(60)), "i") == numbers, (spec, numbers)
        seen += 1
    assert seen >= 20
    burin("compile", "slice.tflite", "-o", "slice_c")


slices()

# ---- tensorflow 62618: an output scale far below those of the inputs makes a multiplier above 1: it saturates, and nothing else happens ----
Q = {"scale": [0.5], "zero": [0]}
pathlib.Path("steep.tflite").write_bytes(made.tflite(
    [("x", "i8", [1, 4], Q), ("y", "i8", [1, 4], {"scale": [0.001], "zero": [0]})], [("ADD", [0, 0], [1], Table(_0=("b", 0)), None)], [0], [1]))
for provider in ("reference", "host"):
    assert run("steep", struct.pack("4b", 0, 1, -1, 100), "b", provider=provider) == [0, 127, -128, 127]

# ---- iree 10514: every target and option computes the same; here of zeros and of extremes ----
pathlib.Path("dense.tflite").write_bytes(made.dense())
for row in ([0, 0, 0, 0], [127, -128, 127, -128], [-128, -128, -128, -128]):
    want = made.dense_expected(row)
    for options in ([], ["--raw"], *(["--provider", "host", "-O", level, "--device", device] for level in "012" for device in ("generic", "host", "cortex-m4"))):
        pathlib.Path("x.bin").write_bytes(struct.pack("4b", *row))
        burin("run", "dense.tflite", "--input", "x.bin", *options, "--output-dir", "out", "--output-format", "raw", "--force")
        assert list(struct.unpack("3b", pathlib.Path("out/output_0.bin").read_bytes())) == want, options

# ---- tensorflow 35117: may a caller keep its samples in the input between runs? The header says ----
burin("compile", "dense.tflite", "-o", "dense_c")
header = " ".join(re.sub(r"\s\*\s", " ", pathlib.Path("dense_c/dense.h").read_text()).split())
assert "A run may overwrite inputs." in header, "the header says nothing of its inputs"

# ---- tflite-micro 913: scratch and an output may not share bytes: the plan's own check, on every kernel ----
def real(name, *shape):
    return name, "f32", [*shape], {}


pathlib.Path("branches.tflite").write_bytes(made.tflite(
    [real("x", 1, 8), real("a", 1, 8), real("b", 1, 8), real("c", 1, 8), real("d", 1, 16), real("y", 1, 16)],
    [("SOFTMAX", [0], [1], Table(_0=("f", 1.0)), None), ("RELU", [0], [2], None, None), ("ADD", [1, 2], [3], Table(_0=("b", 0)), None),
     ("CONCATENATION", [3, 1], [4], Table(_0=("i", 1)), None), ("SOFTMAX", [4], [5], Table(_0=("f", 1.0)), None)], [0], [5]))
plan = json.loads(burin("plan", "branches.tflite", "--json").stdout)
live = [t for t in plan["tensors"] if t["root"] == t["tensor"] and t["role"] in ("input", "output", "activation", "scratch")]
assert len(live) >= 4
for a, b in itertools.combinations(live, 2):
    together = a["first"] <= b["last"] and b["first"] <= a["last"]
    apart = a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"]
    assert apart or not together, (a, b)
burin("compile", "branches.tflite", "-o", "branches_c")
