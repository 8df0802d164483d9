# ctest: name=e2e.epilogue, timeout=300
"""What follows a sum of products of reals element by element is done where the sum is ready: in its function, with the numbers of two functions
bit for bit, in an arena no larger. Which operators these are, the definitions say.

Expected: the same module without the pass (--disable chain), and the evaluator, with which every compilation here is compared.
"""
import json
import os
import pathlib
import random
import re
import shutil
import struct
import tempfile

from support import burin

os.chdir(tempfile.mkdtemp())
random.seed(5)


def floats(n):
    return 'hex "' + struct.pack(f"<{n}f", *(random.uniform(-1, 1) for _ in range(n))).hex() + '"'


def ir(name, tensors, inputs, outputs, nodes):
    text = [f'burin 1\nmodel "ir" "{name}"\ngraph "main" 0 {{']
    text += [f'tensor %{i} {kind} "t{i}" {rest}' for i, (kind, rest) in enumerate(tensors)]
    text += [f"inputs ({', '.join(f'%{i}' for i in inputs)})", f"outputs ({', '.join(f'%{i}' for i in outputs)})"]
    text += [f"node {n} ids [{i}]" for i, n in enumerate(nodes)]
    pathlib.Path(f"{name}.ir").write_text("\n".join(text) + "\n}\n")
    return f"{name}.ir"


WINDOW = "strides: ints [1,1], dilations: ints [1,1], pads: ints [1,1,1,1], act: text \"none\""
IMAGE, NONE = "f32[1,7,5,6]", '{act: text "none"}'
conv = "conv2d (%0, %1, %2) -> (%3) {" + WINDOW + "}"
first = [("f32[1,7,5,3]", ""), ("f32[6,3,3,3]", "= " + floats(162)), ("f32[6]", "= " + floats(6)), (IMAGE, "")]
bare = conv.replace("%2)", "_)")
# model, operators that become one, the machine's word for how, and what the function says
CASES = {
    ir("relu", first + [(IMAGE, "")], [0], [4], [conv, "relu (%3) -> (%4)"]): ("0 + 1", "max_with_f32"),
    # no bias: the sum itself is used twice
    ir("leaky", first + [(IMAGE, "")], [0], [4], [bare, "leaky_relu (%3) -> (%4) {alpha: float 0.125}"]): ("0 + 1", "0.125f"),
    ir("sigmoid", first + [(IMAGE, "")], [0], [4], [conv, "logistic (%3) -> (%4)"]): ("0 + 1", "expf("),
    ir("residual", first + [(IMAGE, "")] * 3, [0, 4], [6], [conv, f"add (%3, %4) -> (%5) {NONE}", "relu (%5) -> (%6)"]): ("0 + 1 + 2", "max_with_f32"),
    ir("scaled", first + [("f32[6]", "= " + floats(6)), (IMAGE, ""), (IMAGE, "")], [0], [6], [bare, f"mul (%3, %4) -> (%5) {NONE}", "relu6 (%5) -> (%6)"]):
        ("0 + 1 + 2", "6.0f"),
    ir("depthwise", [("f32[1,7,5,6]", ""), ("f32[1,3,3,6]", "= " + floats(54)), ("f32[6]", "= " + floats(6)), (IMAGE, ""), (IMAGE, "")], [0], [4],
       ["depthwise_" + conv, "relu (%3) -> (%4)"]): ("0 + 1", "max_with_f32"),
    ir("connected", [("f32[3,8]", ""), ("f32[10,8]", "= " + floats(80)), ("f32[10]", "= " + floats(10)), ("f32[3,10]", ""), ("f32[3,10]", "")], [0], [4],
       [f"fully_connected (%0, %1, %2) -> (%3) {NONE}", "tanh (%3) -> (%4)"]): ("0 + 1", "tanhf("),
}


APART = "scale,clamp,fuse"  # other ways for these to become one


def compiled(model, without, *more):
    """Checked against the evaluator."""
    shutil.rmtree("out", ignore_errors=True)
    burin("compile", model, "-o", "out", "--prefix", "m", "--disable", without, *more, "--quiet")
    return pathlib.Path("out/m_kernels.c").read_text(), json.loads(pathlib.Path("out/m_plan.json").read_text())


def results(model, without, *device):
    shutil.rmtree("results", ignore_errors=True)
    burin("run", model, "--provider", "host", "--seed", 7, "--output-dir", "results", "--quiet", "--disable", without, *device)
    return [p.read_bytes() for p in sorted(pathlib.Path("results").iterdir())]


for model, (ids, word) in CASES.items():
    for options in (("--device", "host"), ("--device", "cortex-m4"), ("--device", "cortex-m4", "--goal", "size")):
        code, plan = compiled(model, APART, *options)
        _, apart = compiled(model, APART + ",chain", *options)
        functions = re.findall(r"/\* Step (\d+).*?^}", code, re.M | re.S)
        assert len(functions) == 1 and f"operator {ids}: fused" in code and word in code, (model, options, code)
        assert "register tile" in code or "channels side by side" in code or "one channel after the other" in code, (model, options, code)
        assert len(plan["kernels"]) == 1 < len(apart["kernels"]) and plan["arena"]["bytes"] <= apart["arena"]["bytes"], (model, options)
        sizes = [sum(part["bytes"] for part in p["flash"]["parts"]) for p in (plan, apart)]
        assert sizes[0] <= sizes[1], (model, options, sizes)
    for device in ("host", "cortex-m4"):
        assert results(model, APART, "--device", device) == results(model, APART + ",chain", "--device", device), (model, device)
    for number in ids.split(" + "):
        said = burin("explain", model, number, "--disable", APART).stdout
        assert "fused" in said, (model, number, said)
