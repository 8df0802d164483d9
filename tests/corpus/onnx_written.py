#!/usr/bin/env python3
# ctest: name=corpus.onnx_written, labels=corpus, timeout=600
"""Graphs that no ONNX file said, written as ONNX: each file passes onnx's checker with full checks, and ONNX Runtime gives what the
evaluator does. Models are texts of docs/IR.md. Run by the oracles' Python.

  onnx_written.py [--only NAME...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np
import onnx
import onnxruntime

BURIN = os.environ["BURIN"]
rng = np.random.default_rng(11)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def hex_of(*values, type=np.float32):
    return np.array(values, type).tobytes().hex()


# A condition that is no count: the graph stands before the loop and in it. The two values change their places, one stays.
SWAPS = f"""burin 1
model "ir" "swaps.ir"
graph "main" 0 {{
  tensor %0 f32[3] "x"
  tensor %1 f32[3] "y"
  tensor %2 f32[3] "by"
  tensor %3 f32[3] "a"
  tensor %4 f32[3] "b"
  tensor %5 f32[3] "c"
  inputs (%0, %1, %2)
  outputs (%3, %4, %5)
  node while (%0, %1, %2) -> (%3, %4, %5) {{cond: graph 1, body: graph 2}}
}}
graph "cond" 1 {{
  tensor %0 f32[3] "x"
  tensor %1 f32[3] "y"
  tensor %2 f32[3] "by"
  tensor %3 f32[] "s"
  tensor %4 f32[] "end" = hex "{hex_of(20)}"
  tensor %5 bool[] "less"
  inputs (%0, %1, %2)
  outputs (%5)
  node sum (%0) -> (%3) {{axes: ints [0], keepdims: int 0}}
  node less (%3, %4) -> (%5)
}}
graph "body" 2 {{
  tensor %0 f32[3] "x"
  tensor %1 f32[3] "y"
  tensor %2 f32[3] "by"
  tensor %3 f32[3] "z"
  inputs (%0, %1, %2)
  outputs (%1, %3, %2)
  node add (%0, %2) -> (%3)
}}
"""

# The number of rounds is asked for, and slices of which no run has as many as there is room for.
COUNTS = f"""burin 1
model "ir" "counts.ir"
symbol "R" 9 computed
graph "main" 0 {{
  tensor %0 f32[] "unused"
  tensor %1 i64[] "zero" = hex "{hex_of(0, type=np.int64)}"
  tensor %2 i64[] "limit"
  tensor %3 f32[9,1] "room" = hex "{hex_of(*[0] * 9)}"
  tensor %4 f32[1] "first"
  tensor %5 i64[] "rounds"
  tensor %6 i64[] "limit_kept"
  tensor %7 f32[1] "last"
  tensor %8 f32[9,1] "grown"
  tensor %9 f32["R",1] "slices"
  inputs (%4, %2)
  outputs (%5, %7, %9)
  node while (%1, %2, %4, %3) -> (%5, %6, %7, %8) {{cond: graph 1, body: graph 2}}
  node leading (%8, %5) -> (%9)
}}
graph "cond" 1 {{
  tensor %0 i64[] "i"
  tensor %1 i64[] "limit"
  tensor %2 f32[1] "x"
  tensor %3 f32[9,1] "room"
  tensor %4 bool[] "go_on"
  inputs (%0, %1, %2, %3)
  outputs (%4)
  node less (%0, %1) -> (%4)
}}
graph "body" 2 {{
  tensor %0 i64[] "i"
  tensor %1 i64[] "limit"
  tensor %2 f32[1] "x"
  tensor %3 f32[9,1] "room"
  tensor %4 i64[] "one" = hex "{hex_of(1, type=np.int64)}"
  tensor %5 i64[] "next"
  tensor %6 f32[1] "doubled"
  tensor %7 f32[1,1] "slice"
  tensor %8 i64[2] "along" = hex "{hex_of(1, 0, type=np.int64)}"
  tensor %9 i64[2] "place"
  tensor %10 f32[9,1] "put"
  inputs (%0, %1, %2, %3)
  outputs (%5, %1, %6, %10)
  node add (%0, %4) -> (%5)
  node add (%2, %2) -> (%6)
  node reshape (%6) -> (%7) {{shape: ints [1, 1]}}
  node mul (%8, %0) -> (%9)
  node dynamic_update_slice (%3, %7, %9) -> (%10)
}}
"""

# A loop in a branch, a branch that gives its argument and a constant, a place that is moved so that a slice fits.
BRANCHES = f"""burin 1
model "ir" "branches.ir"
graph "main" 0 {{
  tensor %0 bool[1] "c"
  tensor %1 f32[3] "x"
  tensor %2 f32[3] "y"
  tensor %3 f32[3] "a"
  tensor %4 f32[3] "b"
  tensor %5 i32[1] "at"
  tensor %6 f32[2] "u"
  tensor %7 f32[3] "d"
  tensor %8 f32[2,3] "stacked"
  tensor %9 f32[1,2] "cut"
  inputs (%0, %1, %2, %5, %6)
  outputs (%3, %4, %7, %9)
  node if (%0, %1, %2) -> (%3, %4) {{then: graph 1, else: graph 2}}
  node dynamic_update_slice (%3, %6, %5) -> (%7)
  node pack (%3, %4) -> (%8) {{axis: int 0}}
  node slice (%8) -> (%9) {{begin: ints [1, 0], extents: ints [1, 2]}}
}}
graph "then" 1 {{
  tensor %0 f32[3] "x"
  tensor %1 f32[3] "y"
  tensor %2 f32[3] "k" = hex "{hex_of(1, 2, 3)}"
  inputs (%0, %1)
  outputs (%0, %2)
}}
graph "else" 2 {{
  tensor %0 f32[3] "x"
  tensor %1 f32[3] "y"
  tensor %2 f32[3] "by" = hex "{hex_of(4, 4, 4)}"
  tensor %3 f32[3] "p"
  tensor %4 f32[3] "q"
  tensor %5 f32[3] "r"
  inputs (%0, %1)
  outputs (%3, %3)
  node while (%0, %1, %2) -> (%3, %4, %5) {{cond: graph 3, body: graph 4}}
}}
""" + SWAPS[SWAPS.index('graph "cond"'):].replace('graph "cond" 1', 'graph "cond" 3').replace('graph "body" 2', 'graph "body" 4')

# Two states, one of them read before and behind its change and changed twice, one with first contents; they are added to each other.
STATES = f"""burin 1
model "ir" "states.ir"
state @0 f32[2] "sum"
state @1 f32[2] "last" = hex "{hex_of(10, 20)}"
graph "main" 0 {{
  tensor %0 f32[2] "x"
  tensor %1 f32[2] "sum" state @0
  tensor %2 f32[2] "last" state @1
  tensor %3 f32[2] "y"
  tensor %4 f32[2] "z"
  tensor %5 f32[2] "sum" state @0
  tensor %6 f32[2] "t"
  inputs (%0)
  outputs (%3, %4)
  node add (%1, %2) -> (%3)
  node add (%1, %0) -> (%5)
  node mul (%5, %0) -> (%6)
  node add (%5, %6) -> (%5)
  node add (%5, %2) -> (%4)
  node identity (%0) -> (%2)
}}
"""

# Quantised words that have each other forms in integers: sums of products and of windows, tables, fixed point.
EXACT = f"""burin 1
model "ir" "exact.ir"
graph "main" 0 {{
  tensor %0 i8[1,5,6,3] "x" quant {{0.05:3}}
  tensor %1 i8[4,3,3,3] "w" quant axis 0 {{0.011:0, 0.02:0, 0.007:0, 0.013:0}} = hex "{np.random.default_rng(3).integers(-127, 128, 108).astype(np.int8).tobytes().hex()}"
  tensor %2 i32[4] "b" = hex "{hex_of(300, -2000, 0, 77, type=np.int32)}"
  tensor %3 i8[1,5,6,4] "conv" quant {{0.031:-7}}
  tensor %4 i8[1,4,3,4] "pool" quant {{0.031:-7}}
  tensor %5 i8[1,4,3,4] "tanh" quant {{0.0078125:0}}
  tensor %6 i8[1,4,3,4] "sum" quant {{0.017:11}}
  tensor %7 i8[1,48] "flat" quant {{0.017:11}}
  tensor %8 i8[1,48] "y" quant {{0.00390625:-128}}
  inputs (%0)
  outputs (%8, %6)
  node conv2d (%0, %1, %2) -> (%3) {{strides: ints [1, 1], dilations: ints [1, 1], pads: ints [1, 1, 1, 1], act: text "none"}}
  node average_pool2d (%3) -> (%4) {{kernel: ints [2, 3], strides: ints [1, 2], pads: ints [0, 0, 0, 1], act: text "none"}}
  node tanh (%4) -> (%5)
  node add (%5, %4) -> (%6) {{act: text "relu"}}
  node reshape (%6) -> (%7) {{shape: ints [1, 48]}}
  node softmax (%7) -> (%8) {{beta: float 1.5}}
}}
"""

CASES = {
    "swaps": (SWAPS, [dict(x=f32(3), y=f32(3), by=np.array(b, np.float32)) for b in ([3, 4, 5], [9, 9, 9])] + [dict(x=f32(3) + 50, y=f32(3), by=f32(3))]),
    "counts": (COUNTS, [dict(first=f32(1), limit=np.array(n)) for n in (0, 1, 5, 9)]),
    "branches": (BRANCHES, [dict(c=np.array([c]), x=f32(3), y=f32(3), at=np.array([k], np.int32), u=f32(2)) for c in (True, False) for k in (-2, 1, 7)]),
}


def run(*words):
    done = subprocess.run([BURIN, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[:400]
    return done.stdout


def evaluated(path, feed, folder):
    words = []
    for name, array in feed.items():
        np.save(folder / f"{name}.npy", array)
        words += ["--input", f"{name}={folder}/{name}.npy"]
    run("run", path, "--output-dir", folder, "--force", "--quiet", *words)
    return lambda k: np.load(folder / f"output_{k}.npy")


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def check(name, text, feeds, folder):
    source, to = folder / f"{name}.ir", folder / f"{name}.onnx"
    source.write_text(text)
    run("compile", source, "-o", to, "--force", "--quiet", *(["--max-trips", "9"] if "computed" in text else []))
    onnx.checker.check_model(str(to), full_check=True)
    model = session(to)
    for feed in feeds:
        wanted = evaluated(source, feed, folder)
        for k, got in enumerate(model.run(None, feed)):
            want = wanted(k)
            assert got.dtype == want.dtype and got.shape == want.shape and np.allclose(got, want, 1e-6, 1e-6), (name, k, got, want)


def external_data(folder):
    """Large constants in a file of their own, aligned; small ones stay. Nothing is replaced unasked."""
    weights, large, bias = f32(16, 16), f32(16, 2048), f32(2048)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["a"]), onnx.helper.make_node("MatMul", ["a", "l"], ["b"]),
         onnx.helper.make_node("Add", ["b", "c"], ["d"]), onnx.helper.make_node("Add", ["d", "s"], ["y"])], "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 16])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3, 2048])],
        [onnx.numpy_helper.from_array(a, n) for n, a in (("w", weights), ("l", large), ("c", bias), ("s", f32(1)))])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    model.doc_string, source, to = "Two products", folder / "source.onnx", folder / "large.onnx"
    onnx.helper.set_model_props(model, {"author": "nobody"})
    onnx.save(model, source)
    run("compile", source, "-o", to, "--external-data", "--opset", "18", "--quiet")
    onnx.checker.check_model(str(to), full_check=True)
    written = onnx.load(to, load_external_data=False)
    assert (written.doc_string, written.opset_import[0].version) == ("Two products", 18), written.opset_import
    assert {p.key: p.value for p in written.metadata_props} == {"author": "nobody"}
    places = {t.name: {e.key: e.value for e in t.external_data} for t in written.graph.initializer}
    assert {n: p.get("location") for n, p in places.items()} == {"w": "large.onnx.data", "l": "large.onnx.data", "c": "large.onnx.data", "s": None}
    assert int(places["l"]["offset"]) % 4096 == 0 and all(int(p["offset"]) % 64 == 0 for p in places.values() if p)
    assert (folder / "large.onnx.data").stat().st_size >= 4 * (16 * 16 + 16 * 2048 + 2048) and to.stat().st_size < 2000
    x = f32(3, 16)
    want = session(source).run(None, dict(x=x))[0]
    assert np.array_equal(session(to).run(None, dict(x=x))[0], want)
    assert np.allclose(evaluated(to, dict(x=x), folder)(0), want, 1e-5, 1e-5)
    before = (folder / "large.onnx.data").read_bytes()
    to.unlink()
    done = subprocess.run([BURIN, "compile", source, "-o", to, "--external-data", "--quiet"], capture_output=True, text=True)
    assert done.returncode == 1 and "large.onnx.data exists" in done.stderr and not to.exists(), done.stderr
    assert (folder / "large.onnx.data").read_bytes() == before
    done = subprocess.run([BURIN, "compile", source, "-o", folder / "x.tflite", "--external-data"], capture_output=True, text=True)
    assert done.returncode == 2 and "--external-data has no effect with target tflite" in done.stderr, done.stderr


def versions(folder):
    """A version that lacks an operator is refused with the first that has it."""
    source = folder / "gelu.ir"
    source.write_text('burin 1\nmodel "ir" "gelu.ir"\ngraph "g" 0 {\n  tensor %0 f32[4] "x"\n  tensor %1 f32[4] "y"\n  inputs (%0)\n  outputs (%1)\n'
                      '  node gelu (%0) -> (%1) {approximate: int 0}\n}\n')
    done = subprocess.run([BURIN, "compile", source, "-o", folder / "gelu.onnx", "--opset", "19"], capture_output=True, text=True)
    assert done.returncode == 1 and "version 19 of ONNX's operators cannot say gelu" in done.stderr and "version 20 is the first that can" in done.stderr, done.stderr
    run("compile", source, "-o", folder / "gelu.onnx", "--opset", "20", "--quiet")
    assert onnx.load(folder / "gelu.onnx").opset_import[0].version == 20
    done = subprocess.run([BURIN, "compile", source, "-o", folder / "g.onnx", "--opset", "12"], capture_output=True, text=True)
    assert done.returncode == 2, done.stderr


def exact(folder):
    """--exact: ONNX Runtime gives the integers that the definitions do, of either family's rounding."""
    source, to = folder / "exact.ir", folder / "exact.onnx"
    source.write_text(EXACT)
    for numerics in ("tflm", "litert"):
        run("compile", source, "-o", to, "--exact", "--numerics", numerics, "--force", "--quiet")
        onnx.checker.check_model(str(to), full_check=True)
        for seed in range(4):
            x = np.random.default_rng(seed).integers(-128, 128, (1, 5, 6, 3)).astype(np.int8)
            np.save(folder / "x.npy", x)
            run("run", source, "--input", folder / "x.npy", "--numerics", numerics, "--output-dir", folder, "--force", "--quiet")
            for k, got in enumerate(session(to).run(None, dict(x=x))):
                want = np.load(folder / f"output_{k}.npy")
                assert got.dtype == np.int8 and got.shape == want.shape and np.array_equal(got, want), (numerics, seed, k, got, want)
    done = subprocess.run([BURIN, "compile", source, "-o", folder / "x.ir", "--exact"], capture_output=True, text=True)
    assert done.returncode == 2 and "--exact has no effect with target ir" in done.stderr, done.stderr


def several_nodes(folder):
    """Words of which ONNX says each by several nodes: over several extents at once, as old versions have it; an element that a run computes."""
    node, value, number = onnx.helper.make_node, onnx.helper.make_tensor_value_info, onnx.TensorProto
    graph = onnx.helper.make_graph([node("Softmax", ["x"], ["a"], axis=1), node("LogSoftmax", ["x"], ["b"], axis=2), node("Hardmax", ["x"], ["c"], axis=0)],
                                   "g", [value("x", number.FLOAT, [2, 3, 4])], [value(n, number.FLOAT, [2, 3, 4]) for n in "abc"])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=6), folder / "old.onnx")
    (folder / "fill.ir").write_text('burin 1\nmodel "ir" "fill.ir"\ngraph "g" 0 {\n  tensor %0 f32[] "x"\n  tensor %1 f32[3,2] "y"\n  inputs (%0)\n  outputs (%1)\n'
                                    '  node fill (%0) -> (%1) {shape: ints [3, 2]}\n}\n')
    for source, feed in ((folder / "old.onnx", dict(x=f32(2, 3, 4))), (folder / "fill.ir", dict(x=f32()))):
        to = folder / "new.onnx"
        run("compile", source, "-o", to, "--force", "--quiet")
        onnx.checker.check_model(str(to), full_check=True)
        wanted = evaluated(source, feed, folder)
        for k, got in enumerate(session(to).run(None, feed)):
            assert got.shape == wanted(k).shape and np.allclose(got, wanted(k), 1e-5, 1e-6), (source, k)


def transposed(folder):
    """TFLite's transposed convolutions are one of ONNX's between transposes."""
    for word, x, w, attrs, y in (
            ("transpose_conv", (1, 3, 4, 2), (3, 3, 2, 2), "strides: ints [2, 1], pads: ints [1, 0], extents: ints [6, 5], act: text \"none\"", (1, 6, 5, 3)),
            ("conv3d_transpose", (1, 2, 3, 3, 2), (2, 3, 2, 4, 2),
             "strides: ints [2, 1, 2], dilations: ints [1, 1, 1], pads: ints [0, 1, 0], extents: ints [4, 3, 7], act: text \"none\"", (1, 4, 3, 7, 4))):
        source, to = folder / "turned.ir", folder / "turned.onnx"
        shape = lambda s: ",".join(map(str, s))
        source.write_text(f"""burin 1
model "ir" "turned.ir"
graph "g" 0 {{
  tensor %0 f32[{shape(w)}] "w" = hex "{f32(*w).tobytes().hex()}"
  tensor %1 f32[{shape(x)}] "x"
  tensor %2 f32[{shape(y)}] "y"
  inputs (%1)
  outputs (%2)
  node {word} (%0, %1) -> (%2) {{{attrs}}}
}}
""")
        run("compile", source, "-o", to, "--force", "--quiet")
        onnx.checker.check_model(str(to), full_check=True)
        words = [n.op_type for n in onnx.load(to).graph.node]
        assert words == ["Transpose", "ConvTranspose", "Transpose"], words
        feed = dict(x=f32(*x))
        assert np.allclose(session(to).run(None, feed)[0], evaluated(source, feed, folder)(0), 1e-5, 1e-5), word


def states(folder):
    """Three runs of ONNX Runtime, each fed what the one before gave; the first without any, and with other contents."""
    source, to = folder / "states.ir", folder / "states.onnx"
    source.write_text(STATES)
    run("compile", source, "-o", to, "--force")
    onnx.checker.check_model(str(to), full_check=True)
    model = session(to)
    assert [i.name for i in model.get_inputs()] == ["x"] and [i.name for i in model.get_overridable_initializers()] == ["sum", "last"]
    assert [o.name for o in model.get_outputs()] == ["y", "z", "sum_next", "last_next"]
    xs = [f32(2) for _ in range(3)]
    sums, last, kept = np.zeros(2, np.float32), np.array([10, 20], np.float32), {}
    np.save(folder / "x.npy", np.stack(xs))
    for at in (source, to):
        run("run", at, "--input", folder / "x.npy", "--repeat", "3", "--output-dir", folder / f"{at.name}_out", "--force", "--quiet")
    for k, x in enumerate(xs):
        y, sums = sums + last, sums + x
        sums = sums + sums * x
        z, last = sums + last, x
        got = model.run(None, dict(x=x, **kept))
        kept = dict(sum=got[2], last=got[3])
        for g, w in zip(got, (y, z, sums, last)):
            assert np.allclose(g, w, 1e-6, 1e-6), (k, g, w)
        for at in (source, to):
            for i in range(2):
                given = np.load(folder / f"{at.name}_out" / f"output_{i}.npy")
                assert given.shape[0] == 3 and np.allclose(given[k], got[i], 1e-6, 1e-6), (at, k, i, given, got[i])
    assert np.array_equal(model.run(None, dict(x=xs[0], sum=xs[1], last=xs[2]))[0], xs[1] + xs[2])


def main():
    only = sys.argv[2:] if sys.argv[1:2] == ["--only"] else list(CASES)
    with tempfile.TemporaryDirectory() as folder:
        for name in only:
            check(name, *CASES[name], pathlib.Path(folder))
        external_data(pathlib.Path(folder))
        versions(pathlib.Path(folder))
        transposed(pathlib.Path(folder))
        states(pathlib.Path(folder))
        several_nodes(pathlib.Path(folder))
        exact(pathlib.Path(folder))
    print(f"{len(only)} models")
    return 0 if only else 1


if __name__ == "__main__":
    sys.exit(main())
