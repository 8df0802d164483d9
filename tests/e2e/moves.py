# ctest: name=e2e.moves, timeout=900
"""Every move of `burin moves`, left out with --disable: another code for some model here, checked against the evaluator as ever, and not
one other integer; floats within the bounds of the check."""
import json
import pathlib
import shutil

from support import SOURCE, burin


def ir(name, tensors, inputs, outputs, nodes, head=""):
    """nodes: "word (%0) -> (%1) {...}" """
    text = [f'burin 1\nmodel "ir" "{name}"\n{head}graph "main" 0 {{']
    text += [f"tensor %{i} {t}" for i, t in enumerate(tensors)]
    text += [f"inputs ({', '.join(f'%{i}' for i in inputs)})", f"outputs ({', '.join(f'%{i}' for i in outputs)})"]
    text += [f"node {n} ids [{i}]" for i, n in enumerate(nodes)]
    pathlib.Path(f"{name}.ir").write_text("\n".join(text) + "\n}\n")
    return f"{name}.ir"


def hexed(values):
    return "hex \"" + "".join(f"{v & 255:02x}" for v in values) + '"'


F = "hex \"" + "0000803f000000bf0000403f0000a0c0" * 18 + '"'  # 1, -0.5, 0.75, -5
WINDOW = "strides: ints [1,1], dilations: ints [1,1], pads: ints [0,0,0,0], act: text \"none\""
shutil.copy(SOURCE / "demo/digits.tflite", "digits.tflite")
MODELS = {
    "digits.tflite": True,  # whether all its numbers are integers
    ir("branches", ['i32[4] "x"', 'i32[256] "a"', 'i32[256] "b"', 'i32[64,4] "a2"', 'i32[64,4] "b2"', 'i32[4] "c"', 'i32[4] "d"', 'i32[4] "y"', 'i32[4] "turned"'],
       [0], [7],
       ["tile (%0) -> (%1) {multiples: ints [64]}", "reverse (%0) -> (%8) {axes: ints [0]}", "tile (%8) -> (%2) {multiples: ints [64]}", "reshape (%1) -> (%3) {shape: ints [64,4]}",
        "reshape (%2) -> (%4) {shape: ints [64,4]}", "reduce_max (%3) -> (%5) {axes: ints [0]}", "reduce_min (%4) -> (%6) {axes: ints [0]}",
        'add (%5, %6) -> (%7) {act: text "none"}']): True,
    ir("residual", ['i32[4] "x"', 'i32[256] "a"', 'i32[256] "b"', 'i32[256] "sum"', 'i32[64,4] "s2"', 'i32[4] "y"'], [0], [5],
       ["tile (%0) -> (%1) {multiples: ints [64]}", "reverse (%1) -> (%2) {axes: ints [0]}", 'add (%1, %2) -> (%3) {act: text "none"}',
        "reshape (%3) -> (%4) {shape: ints [64,4]}", "reduce_max (%4) -> (%5) {axes: ints [0]}"]): True,
    ir("parts", ['i32[2,4] "x"', 'i32[2,4] "a"', 'i32[2,4] "b"', 'i32[4,4] "y"'], [0], [3],
       ["reverse (%0) -> (%1) {axes: ints [1]}", "reverse (%0) -> (%2) {axes: ints [0]}",
        'concatenation (%1, %2) -> (%3) {axis: int 0, act: text "none"}']): True,
    ir("reals", ['f32[1,4,4,2] "x"', 'f32[1,6,6,2] "padded"', f'f32[4,3,3,2] "w" = {F}', 'f32[1,4,4,4] "a"', f'f32[4] "k" = {F[:37]}"', 'f32[1,4,4,4] "b"',
                 'f32[1,4,4,4] "c"', 'f32[1,4,4,4] "d"', 'f32[1,4,4,4] "e"', 'f32[1,4,4,4] "y"', 'f32[1] "top" = hex "0000c040"'], [0], [9],
       ["pad (%0) -> (%1) {pads: ints [0,0,1,1,1,1,0,0]}", f"conv2d (%1, %2) -> (%3) {{{WINDOW}}}", 'mul (%3, %4) -> (%5) {act: text "none"}',
        "relu (%5) -> (%6)", 'minimum (%6, %10) -> (%7)', "exp (%7) -> (%8)", "neg (%8) -> (%9)"]): False,
    ir("kept", ['i8[1,8] "x" quant {0.5:3}', f'i8[4,8] "w" quant {{0.25:0}} = {hexed(range(-16, 16))}', 'i8[1,4] "a" quant {0.5:3}', 'i8[1,4] "y" quant {0.5:3}'], [0], [3],
       ['fully_connected (%0, %1) -> (%2) {act: text "none"}', "relu (%2) -> (%3)"]): True,
    ir("bounds", ['f32[8] "x"', 'f32[8] "a"', 'f32[8] "b"', 'f32[8] "y"'], [0], [3],
       ["reverse (%0) -> (%1) {axes: ints [0]}", "relu6 (%1) -> (%2)", "relu (%2) -> (%3)"]): False,
    ir("given", ['i8[1,4,4,2] "x" quant {0.5:3}', 'i8[2,3,3,2] "w" quant {0.25:0}', 'i8[1,4,4,2] "y" quant {9.0:1}'], [0, 1], [2],
       [f"conv2d (%0, %1) -> (%2) {{{WINDOW.replace('[0,0,0,0]', '[1,1,1,1]')}}}"]): True,
    ir("rows", ['i8[5,8] "x" quant {0.1:3}', 'i8[5,8] "y" quant {0.00390625:-128}'], [0], [1], ["softmax (%0) -> (%1) {beta: float 1.0}"]): True,
    ir("sum", ['i8[8] "x" quant {0.5:3}', 'i8[8] "a" quant {0.25:-7}', 'i8[8] "y" quant {0.7:1}'], [0, 1], [2], ['add (%0, %1) -> (%2) {act: text "none"}']): True,
    # the last channels of the first sum are below 0 whatever comes in, and so 0
    ir("channels", ['i8[1,4] "x" quant {0.5:0}', f'i8[8,4] "w" quant {{0.25:0}} = {hexed(range(-16, 16))}', f'i32[8] "b" quant {{0.125:0}} = {hexed([0] * 12 + [0, 0, 255, 255] * 5)}',
                    'i8[1,8] "h" quant {0.5:-128}', f'i8[2,8] "v" quant {{0.25:0}} = {hexed(range(3, 19))}', f'i32[2] "c" quant {{0.125:0}} = {hexed([0] * 8)}',
                    'i8[1,2] "y" quant {4.0:0}'], [0], [6],
       ['fully_connected (%0, %1, %2) -> (%3) {act: text "relu"}', 'fully_connected (%3, %4, %5) -> (%6) {act: text "none"}']): True,
    # a recurrent layer: the sums of its input are the same whenever they are computed; the arena has room for them, since the first operators need more
    ir("rounds", ['f32[1,6,4] "x"', f'f32[4,4] "w" = {F[:133]}"', f'f32[4,4] "r" = {F[:133]}"', f'f32[4] "c" = {F[:37]}"', 'f32[1,4] "s"', 'f32[1,6,4] "y"',
                  'f32[1,4] "t"', 'f32[64,6,4] "tiled"', 'f32[6,4] "most"', 'f32[1,6,4] "z"'], [0, 4], [5, 6],
       ["tile (%0) -> (%7) {multiples: ints [64,1,1]}", "reduce_max (%7) -> (%8) {axes: ints [0]}", "reshape (%8) -> (%9) {shape: ints [1,6,4]}",
        'rnn (%9, %1, %2, %3, %4) -> (%5, %6) {act: text "relu6"}']): True,
    ir("again", [f'i8[{e}] "{n}" quant {{0.5:3}}' for n, e in (("x", 8), ("a", 8), ("b", 8), ("c", "2,4"), ("d", 8), ("y", 16))], [0], [5],
       ["reverse (%0) -> (%1) {axes: ints [0]}", "quantize (%1) -> (%2)", "reshape (%2) -> (%3) {shape: ints [2,4]}",
        "reshape (%3) -> (%4) {shape: ints [8]}", "concatenation (%4, %1) -> (%5) {axis: int 0, act: text \"none\"}"]): True,
}
OPTIONS = ("--device", "cortex-m4", "--layout", "single", "--quiet")


def code(model, *more):
    shutil.rmtree("out", ignore_errors=True)
    burin("compile", model, "-o", "out", "--prefix", "m", *OPTIONS, *more)
    return pathlib.Path("out/m.c").read_text()


def results(model, *more):
    shutil.rmtree("results", ignore_errors=True)
    burin("run", model, "--provider", "host", "--device", "cortex-m4", "--seed", 7, "--output-dir", "results", "--quiet", *more)
    return [p.read_bytes() for p in sorted(pathlib.Path("results").iterdir())]


as_ever = {m: (code(m, "--no-check"), results(m)) for m in MODELS}
changed = {}
for move in (m["name"] for m in json.loads(burin("moves", "--json").stdout)):
    for model, whole in MODELS.items():
        if code(model, "--disable", move, "--no-check") == as_ever[model][0]:
            continue
        changed.setdefault(move, []).append(model)
        code(model, "--disable", move)  # checked: layer by layer against the evaluator
        assert not whole or results(model, "--disable", move) == as_ever[model][1], (move, model)
    if move not in changed:
        continue
    plan = json.loads(burin("plan", changed[move][0], "--disable", move, "--json").stdout)
    assert plan["disabled"] == [move], (move, plan["disabled"])
every = ",".join(m["name"] for m in json.loads(burin("moves", "--json").stdout))
assert every.split(",") == [*changed], f"no code changes without {set(every.split(',')) - changed.keys()}"
for model, whole in MODELS.items():
    code(model, "--disable", every)
    assert not whole or results(model, "--disable", every) == as_ever[model][1], model
assert "sums that no round changes are computed before them" in burin("explain", "rounds.ir", "3", "--device", "cortex-m4").stdout
assert "did you mean tile?" in burin("plan", "parts.ir", "--disable", "order,tiles", status=2).stderr
assert "--provider host" in burin("run", "parts.ir", "--disable", "tile", status=2).stderr
