# ctest: name=e2e.extremes, timeout=300
"""Models at the edges: what nothing could hold or finish is refused at once, with words for people; what is empty becomes clean C.

Expected: docs/LANGUAGE.md's and the operators' conditions, the 32-bit tables of an emitted module, and compilers without a warning.
"""
import os
import pathlib
import subprocess
import tempfile

from support import BUILD, burin

# AddressSanitizer reserves more address space than any limit would leave.
LIMIT = "" if BUILD.name == "asan" else "ulimit -v 3000000; "
os.chdir(tempfile.mkdtemp())


def model(tensors, inputs, outputs, *nodes):
    """tensors: type, extents and what follows the name, in the text form."""
    lines = [f'  tensor %{i} {kind} "t{i}" {rest}' for i, (kind, rest) in enumerate(tensors)]
    lines += [f"  inputs ({inputs})", f"  outputs ({outputs})", *("  node " + node for node in nodes)]
    pathlib.Path("m.ir").write_text('burin 1\nmodel "ir" "m.ir"\ngraph "main" 0 {\n' + "\n".join(lines) + "\n}\n")


def refused(*texts, run=True):
    """By run and by compile, in little time and memory: what is refused is not begun."""
    for words in [["compile", "m.ir", "-o", "never", "--target", "c"]] + [["run", "m.ir", "--seed", "1"]] * run:
        done = subprocess.run(["sh", "-c", LIMIT + 'exec "$@"', "sh", os.environ["BURIN"], *words],
                              capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and all(text in done.stderr for text in texts), (words, texts, done)
        assert "out of memory" not in done.stderr and "division" not in done.stderr, done.stderr
    assert not os.path.exists("never")


# ---- windows: each attribute, for each of the operators, and the operator is named first ----
def window(op, kind, x="1,4,4,2", w=None, y="1,4,4,2", **attrs):
    given = {"strides": [1, 1], "pads": [0, 0, 0, 0], **({"dilations": [1, 1]} if w else {"kernel": [1, 1]}), **attrs}
    text = ", ".join(f"{name}: ints {value}" for name, value in given.items())
    quant = "" if kind == "f32" else "quant {0.5:0}"
    weights = [(f"i8[{w}]" if kind == "i16" else f"{kind}[{w}]", quant)] if w else []
    model([(f"{kind}[{x}]", quant), (f"{kind}[{y}]", quant), *weights], "%0, %2" if w else "%0", "%1",
          f"{op} ({'%0, %2, _' if w else '%0'}) -> (%1) {{{text}}} ids [7]")


for kind in ("i8", "i16", "f32"):
    for op, w in (("average_pool2d", None), ("max_pool2d", None), ("conv2d", "2,1,1,2"), ("depthwise_conv2d", "1,1,1,2")):
        where = f"subgraph[0]/operator[7] {op}: {op}: "
        second = "dilations" if w else "kernel"
        for name, value in (("strides", [0, 1]), ("strides", [1, -1]), ("strides", [1]), ("strides", []), ("strides", [1, 2**40]),
                            (second, [1, 0]), (second, [-3, 1]), (second, [1]), (second, [1, 1, 1]), (second, [2**40, 1])):
            window(op, kind, w=w, **{name: value})
            refused(where + f"{name} must be two numbers from 1 to 2^31-1", run=kind == "i8")
        for value in ([], [0, 0, 0], [0, 0, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 2**40]):
            window(op, kind, w=w, pads=value)
            refused(where + "pads must be four numbers from 0 to 2^31-1", run=kind == "i8")
        if w:
            for empty in ("0,1,1,2", "2,1,1,0") if op == "conv2d" else ("1,1,1,0",):
                window(op, kind, w=empty)
                refused(where + "the input and the filter must have at least 1 channel", run=kind == "i8")
            window(op, kind, x="1,4,4,0", w=w)
            refused(where + "the input and the filter must have at least 1 channel", run=kind == "i8")
        else:
            # 4 * 4 + 16 = 32 taps are looked at, 33 are not
            window(op, kind, kernel=[33, 1], pads=[16, 0, 16, 0])
            refused(where + "the window is far larger than the image", run=kind == "i8")
            window(op, kind, kernel=[1, 10**6], pads=[0, 500000, 0, 499999])
            refused(where + "the window is far larger than the image")
            window(op, kind, kernel=[32, 32], pads=[16, 16, 15, 15])
            burin("run", "m.ir", "--seed", "1")
            window(op, kind, x="1,4,4,0", y="1,4,4,0")
            burin("run", "m.ir", "--seed", "1")

# ---- scales along an extent that the kernel does not read them by, though their number fits ----
for op, w, axis, what in (("conv2d", "2,1,1,2", 3, "filters"), ("depthwise_conv2d", "1,1,2,2", 2, "channels")):
    model([("i8[1,4,4,2]", "quant {0.5:0}"), ("i8[1,4,4,2]", "quant {0.5:0}"), (f"i8[{w}]", f"quant axis {axis} {{0.5:0, 0.25:0}}")], "%0, %2", "%1",
          f"{op} (%0, %2, _) -> (%1) {{strides: ints [1, 1], dilations: ints [1, 1], pads: ints [0, 0, 0, 0]}} ids [7]")
    refused(f"operator[7] {op}: {op}: the filter has scales along another extent than its {what}")
model([("f32[1,2]", ""), ("f32[1,2]", ""), ("i8[2,2]", "quant axis 1 {0.5:0, 0.25:0}")], "%0, %2", "%1", "fully_connected (%0, %2, _) -> (%1) ids [7]")
refused("operator[7] fully_connected: fully_connected: the weights have scales along another extent than their rows")
model([("i16[1,2]", "quant {0.5:0}"), ("i16[1,2]", "quant {0.5:0}"), ("i8[2,2]", "quant axis 0 {0.5:0, 0.25:0}")], "%0, %2", "%1",
      "batch_matmul (%0, %2) -> (%1) ids [7]")
refused("operator[7] batch_matmul: batch_matmul: the second matrix has scales along another extent than its columns")

# ---- tensors beyond a module's tables: elements, bytes, extents; made by an operator, and between two ----
model([("f32[1,1073741825]", ""), ("f32[1,1073741825]", "")], "%0", "%1", "abs (%0) -> (%1)")
refused('"t0" is too large', "4294967300 bytes", "2^31-1", run=False)
model([("f32[536870912]", ""), ("f32[536870912]", "")], "%0", "%1", "abs (%0) -> (%1)")
refused('"t0" is too large', "2147483648 bytes", run=False)
model([("f32[0,4294967297]", ""), ("f32[0,4294967297]", "")], "%0", "%1", "abs (%0) -> (%1)")
refused("an extent of 4294967297", run=False)
model([("f32[4294967297]", ""), ("f32[4294967297]", "")], "%0", "%1", "abs (%0) -> (%1)")
refused("would have 4294967297 elements; a tensor may have 2^31-1")
window("conv2d", "i8", w="3,2,2,2", y="1,1000000003,3,3", pads=[500000000, 0, 500000000, 0])
refused("Y would have 9000000027 elements; a tensor may have 2^31-1")
# each fits, all of them together do not: five of 2^30 bytes that live at once
big = ("i8[1073741824]", "quant {0.5:0}")
model([big] * 5, "%0, %1, %2, %3", "%4", "maximum (%0, %1) -> (%4)")
refused("arena of 5368709120 bytes", "2^32-1", run=False)

# ---- inputs beyond what an expression may hold; the most that fit still run ----
for n in (1500, 2000, 2001, 100000):
    model([("f32[1]", ""), (f"f32[{n}]", "")], "%0", "%1", f"concatenation ({','.join(['%0'] * n)}) -> (%1) {{axis: int 0}} ids [7]")
    if n == 1500:
        burin("run", "m.ir", "--seed", "1")
    else:
        refused("operator[7] concatenation: it", "an operator may have 2000")

# ---- modules without steps, inputs, outputs or elements: no compiler warns, and what is tested passes ----
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
empty = {
    "nothing": ([], "", ""),
    "through": ([("f32[2]", "")], "%0", "%0"),
    "folded": ([("f32[2]", '= hex "0000803f00000040"'), ("f32[2]", "")], "", "%1", "abs (%0) -> (%1)"),
    "zero": ([("f32[0,3]", ""), ("f32[0,3]", "")], "%0", "%1", "abs (%0) -> (%1)"),
    "zero_i8": ([("i8[0,3]", "quant {0.5:0}"), ("i8[0,3]", "quant {0.5:0}")], "%0", "%1", "relu (%0) -> (%1)"),
    "none_of_two": ([("f32[0]", ""), ("f32[2]", ""), ("f32[0]", ""), ("f32[2]", "")], "%0, %1", "%2, %3", "abs (%0) -> (%2)",
                    "abs (%1) -> (%3)"),
}
for name, parts in empty.items():
    model(*parts)
    for layout in ("folder", "single"):
        folder = f"{name}-{layout}"
        burin("compile", "m.ir", "-o", folder, "--layout", layout, "--test", "2")
        sources = sorted(p.name for p in pathlib.Path(folder).glob("*.c"))
        for compiler in (["gcc", "-std=c99"], ["g++", "-x", "c++", "-std=c++11"]):
            subprocess.run([*compiler, *STRICT, "-O1", *sources, "-lm", "-o", "tested"], cwd=folder, check=True)
            ran = subprocess.run(["./tested"], cwd=folder, capture_output=True, text=True)
            assert ran.returncode == 0 and ran.stdout == "m: 2 passed, 0 failed\n", (folder, compiler, ran)

# ---- weights without a column ----
for kind in ("f32", "i8"):
    quant = "" if kind == "f32" else "quant {0.5:0}"
    model([(f"{kind}[2,0]", quant), (f"{kind}[3,0]", quant + ' = hex ""'), (f"{kind}[2,3]", quant)], "%0", "%2",
          'fully_connected (%0, %1, _) -> (%2) {act: text "none"}')
    refused("fully_connected", "at least 1 column")

# ---- no memory for the arena of what is checked: that is said, and is no fault of what was emitted ----
model([("i8[8]", ""), (f"i8[{1 << 24}]", ""), ("i8[8]", "")], "%0", "%2", f"tile (%0) -> (%1) {{multiples: ints [{1 << 21}]}}",
      f"strided_slice (%1) -> (%2) {{begin: ints [5], strides: ints [{1 << 21}], extents: ints [8], shape: ints [8]}}")
pathlib.Path("little").write_text('#!/bin/sh\ncc "$@" || exit 1\nmv burin_driver real\n'
                                  "printf '#!/bin/sh\\nulimit -v 12000\\nexec ./real \"$@\"\\n' > burin_driver\nchmod +x burin_driver\n")
os.chmod("little", 0o755)
if LIMIT:
    done = burin("compile", "m.ir", "-o", "never", "--compiler", "./little", "--disable", "parts", status=1)
    assert "no memory to run what was emitted" in done.stderr and "--no-check" in done.stderr, done.stderr
    assert not os.path.exists("never")

# ---- the check's folder is entered: what is relative begins where the command was given ----
model([("i8[8]", ""), ("i8[8]", "")], "%0", "%1", "reverse (%0) -> (%1) {axes: ints [0]}")
pathlib.Path("mine").write_text('#!/bin/sh\nexec cc "$@"\n')
os.chmod("mine", 0o755)
os.mkdir("rooms")
done = subprocess.run([os.environ["BURIN"], "compile", "m.ir", "-o", "near", "--compiler", "./mine"], env={**os.environ, "TMPDIR": "rooms"},
                      capture_output=True, text=True, timeout=60)
assert done.returncode == 0 and "checked: 4 inputs" in done.stdout and not os.listdir("rooms"), done
