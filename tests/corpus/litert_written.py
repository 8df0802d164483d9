#!/usr/bin/env python3
# ctest: name=corpus.litert_written, labels=corpus, timeout=1200
"""What LiteRT computes otherwise than its operators' specification is written so that it computes what ONNX Runtime does.

  litert_written.py [--only PATTERN]

Small ONNX models, each for a thing that LiteRT does in a way of its own (docs/TFLITE.md: "Where Burin follows none"): control flow whose values
change places, numbers computed in place, sums of infinities, scales for each column. At -O0 and at the default level, by LiteRT's reference
kernels and by its optimised ones. Run by the oracles' Python.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnx
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from onnx import TensorProto, helper, numpy_helper

import support  # noqa: F401
from roads import interpreter_of

node = helper.make_node
CASES = {}  # name -> (model, inputs, steps that an output of reals may differ by: the size of one, or None for none; options of compile)


def value(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), list(array.shape))


def floats(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def add(name, nodes, inputs, outputs, constants=None, opset=16, step=None, options=()):
    held = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", [value(k, v) for k, v in inputs.items()], outputs, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8 if opset < 21 else 11
    CASES[name] = (model, inputs, step, options)


# ---- outputs of bodies and branches: LiteRT copies them one after the other ----

X, Y, Z = (np.array([k, k + 1], np.float32) for k in (1, 2, 5))
SHAPE = np.array([2], np.int64)


def loop(name, body, **constants):
    state = [floats(k, 2) for k in ("a", "b", "c")]
    scalars = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("ci", TensorProto.BOOL, [])]
    held = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(body + [node("Identity", ["ci"], ["co"])], "body", scalars + state,
                              [helper.make_tensor_value_info("co", TensorProto.BOOL, [])] + [floats(k, 2) for k in ("u", "v", "w")], held)
    add(f"loop {name}", [node("Loop", ["n", "", "x", "y", "z"], ["p", "q", "r"], body=graph)],
        {"x": X, "y": Y, "z": Z, "n": np.array(4)}, [floats(k, 2) for k in ("p", "q", "r")])


def copy(a, b):
    return node("Identity", [a], [b])


loop("cycle", [copy("b", "u"), copy("c", "v"), copy("a", "w")])
loop("swap", [copy("b", "u"), copy("a", "v"), copy("c", "w")])
loop("fibonacci", [node("Add", ["a", "b"], ["u"]), copy("a", "v"), copy("b", "w")])
loop("twice", [node("Add", ["a", "b"], ["u"]), copy("u", "v"), copy("c", "w")])
loop("input twice", [copy("a", "u"), copy("a", "v"), node("Add", ["c", "b"], ["w"])])
loop("constant", [node("Add", ["a", "b"], ["u"]), copy("k", "v"), copy("k", "w")], k=np.array([7, 8], np.float32))
loop("reshaped", [node("Reshape", ["b", "s"], ["u"]), node("Reshape", ["a", "s"], ["v"]), node("Add", ["c", "b"], ["w"])], s=SHAPE)


def branch(name, then, other, **constants):
    held = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graphs = [helper.make_graph(nodes, "branch", [], [floats(k, 2) for k in ("u", "v")], held if nodes is then else []) for nodes in (then, other)]
    for taken in (True, False):
        add(f"if {name} {taken}", [node("If", ["c"], ["p", "q"], then_branch=graphs[0], else_branch=graphs[1])],
            {"x": -X, "y": Y, "c": np.array(taken)}, [floats("p", 2), floats("q", 2)])


branch("inputs", [copy("x", "u"), copy("y", "v")], [copy("y", "u"), copy("x", "v")])
branch("twice", [node("Relu", ["x"], ["u"]), copy("u", "v")], [copy("x", "u"), copy("x", "v")])
branch("constant", [copy("k", "u"), copy("k", "v")], [node("Neg", ["x"], ["u"]), node("Abs", ["u"], ["v"])], k=np.array([7, 8], np.float32))

# ---- what is computed in place, over a tensor that is read again ----

IN = np.arange(8, dtype=np.float32).reshape(2, 4, 1) * np.float32(0.7) - 2
add("normalisation over one", [node("LayerNormalization", ["x", "s", "b"], ["y"], axis=2, epsilon=0.1)], {"x": IN}, [floats("y", 2, 4, 1)],
    {"s": np.array([1.5], np.float32), "b": np.array([0.4], np.float32)}, 17)

TO = {"s1": np.array([4, 2]), "s2": np.array([8]), "c": np.full((2, 4), 3, np.float32), "m": np.eye(4, dtype=np.float32) * 2 + 1}
for word in ("Sub", "Softmax"):
    for again in ("reshaped", "as it is"):
        add(f"written over by {word}, read again {again}",
            [node("MatMul", ["x", "m"], ["a"]), node("Div", ["a", "c"], ["t"]), node("Reshape", ["t", "s1"], ["v"]),
             node(word, ["w", "v"] if word == "Sub" else ["v"], ["s"]), node("Reshape", ["s", "s2"], ["u"]),
             node("Reshape", ["t", "s2"], ["r"]) if again == "reshaped" else node("Transpose", ["t"], ["q"], perm=[1, 0]),
             *([] if again == "reshaped" else [node("Reshape", ["q", "s2"], ["r"])]), node("Mul", ["r", "u"], ["y"]), node("Neg", ["w"], ["z"])],
            {"x": np.arange(8, dtype=np.float32).reshape(2, 4) / 4, "w": np.arange(8, dtype=np.float32).reshape(4, 2)}, [floats("y", 8), floats("z", 4, 2)], TO)

# ---- sums of infinities: the largest finite values ----

random = np.random.RandomState(3)
Q, K, V = (random.randn(1, n, 8).astype(np.float32) for n in (4, 3, 3))
MASK = np.where(random.rand(4, 3) > 0.4, 0, -np.inf).astype(np.float32)
MASK[1] = -np.inf
add("attention that sees nothing", [node("Attention", ["q", "k", "v", "m", "", "", "n"], ["y"], q_num_heads=2, kv_num_heads=2, is_causal=1)],
    {"q": Q, "k": K, "v": V, "m": MASK, "n": np.array([3])}, [floats("y", 1, 4, 8)], opset=24)

# ---- slices, as many as a run decides ----

for axis in (0, 1, 2, None):
    for keeps in ((1, 0, 1), (0, 0), (1, 1, 1, 1, 1), (0, 0, 0, 1)):
        tall = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
        keeps = keeps[:60 if axis is None else tall.shape[axis]]
        add(f"compress, axis {axis}, {keeps}", [node("Compress", ["x", "c"], ["k"], **({} if axis is None else {"axis": axis})), node("Neg", ["k"], ["y"])],
            {"x": tall, "c": np.array(keeps, bool)}, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
for rounds, limit in ((0, 9.0), (1, 9.0), (7, 9.0), (7, 3.5), (7, -1.0)):
    body = helper.make_graph([node("Add", ["s", "x"], ["t"]), node("ReduceMax", ["t"], ["m"], keepdims=0), node("Less", ["m", "limit"], ["on"]), node("Mul", ["t", "t"], ["slice"])],
                             "body", [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []), floats("s", 2)],
                             [helper.make_tensor_value_info("on", TensorProto.BOOL, []), floats("t", 2), floats("slice", 2)])
    add(f"slices of {rounds} rounds until {limit}", [node("Loop", ["n", "go", "x"], ["last", "slices"], body=body)],
        {"x": X, "n": np.array(rounds), "limit": np.array(limit, np.float32)}, [floats("last", 2), helper.make_tensor_value_info("slices", TensorProto.FLOAT, None)],
        {"go": np.array(True)}, options=("--max-trips", "8"))

# ---- shifts by what a run says, each within its type's width ----

for kind in (np.uint8, np.uint16, np.uint32):
    width = np.dtype(kind).itemsize * 8
    for way in ("LEFT", "RIGHT"):
        add(f"{width} bits {way}", [node("BitShift", ["x", "n"], ["s"], direction=way), node("Cast", ["s"], ["y"], to=TensorProto.INT64)],
            {"x": np.random.RandomState(width).randint(0, 1 << width, 3 * width, dtype=np.uint64).astype(kind), "n": (np.arange(3 * width) % width).astype(kind)},
            [helper.make_tensor_value_info("y", TensorProto.INT64, [3 * width])])

# ---- types that LiteRT has no kernels of: f64, and floats of 8 bits between two conversions ----

WIDE_IN = {"x": np.linspace(-3, 5, 12).reshape(3, 4), "y": np.linspace(0.3, 2, 12).reshape(3, 4)}
WIDE_OUT = [helper.make_tensor_value_info("z", TensorProto.DOUBLE, None)]
for word in ("Add", "Mul", "Div", "Max"):
    add(f"f64 {word}", [node(word, ["x", "y"], ["z"])], WIDE_IN, WIDE_OUT)
add("f64 several", [node("MatMul", ["x", "m"], ["p"]), node("Exp", ["p"], ["e"]), node("ReduceSum", ["e", "a"], ["s"]), node("Div", ["e", "s"], ["z"])],
    {"x": WIDE_IN["x"]}, WIDE_OUT, {"m": np.linspace(-0.2, 0.3, 16).reshape(4, 4), "a": np.array([1])})
add("f64 IsInf", [node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE), node("IsInf", ["d"], ["i"]), node("Cast", ["i"], ["z"], to=TensorProto.INT32)],
    {"x": np.array([1, -np.inf, np.inf, np.nan, 3e38, -0.0], np.float32)}, [helper.make_tensor_value_info("z", TensorProto.INT32, [6])], opset=20)
for name, exponents in (("floats", np.array([5, 0, 3, 2.5, 1, 20], np.float32)), ("f64", np.array([5, 0, 3, 2.5, 1, 20.0]))):
    add(f"i64 to powers that are {name}", [node("Pow", ["x", "y"], ["z"])], {"x": np.array([3, 7, -4, 9, -123456, 2]), "y": exponents},
        [helper.make_tensor_value_info("z", TensorProto.INT64, [6])])
SMALL = np.concatenate([np.random.RandomState(11).randn(40).astype(np.float32) * np.float32(2.0) ** np.arange(-20, 20, dtype=np.float32),
                        np.array([0, 17, 18, 19, 20, 464, 465, 2.0 ** -10, 3 * 2.0 ** -10, -(2.0 ** -9), 1e30, 57344, 61439, 65537], np.float32)])
for kind in ("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ"):
    for saturate in (0, 1):
        add(f"{kind}, saturate {saturate}", [node("Cast", ["x"], ["s"], to=getattr(TensorProto, kind), saturate=saturate),
                                             node("Cast", ["s"], ["z"], to=TensorProto.FLOAT)],
            {"x": np.append(SMALL, np.float32([np.inf, -np.inf, np.nan]))}, [floats("z", len(SMALL) + 3)], opset=19)
zero = helper.make_node("Constant", [], ["o"], value=helper.make_tensor("o", TensorProto.FLOAT8E4M3FN, [], [0.0]))
add("quantised to f8", [zero, node("QuantizeLinear", ["x", "k", "o"], ["q"]), node("DequantizeLinear", ["q", "k", "o"], ["z"])], {"x": SMALL}, [floats("z", len(SMALL))],
    {"k": np.float32(0.75)}, opset=19)

# ---- quantised numbers ----


def quantised(name, shape, make, constants, out, weights=None, axis=0):
    """x, quantised; the nodes that make() gives from xr (and wr, of weights with scales along an axis) to y; y quantised by `out`."""
    x = np.random.RandomState(5).randn(*shape).astype(np.float32)
    held = {"xs": np.float32(0.03), "xz": np.int8(-3), "ys": np.float32(out), "yz": np.int8(3), **constants}
    nodes = [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"])]
    if weights is not None:
        held.update(w=weights, ws=np.linspace(0.002, 0.01, weights.shape[axis]).astype(np.float32))
        nodes.append(node("DequantizeLinear", ["w", "ws"], ["wr"], axis=axis))
    nodes += make + [node("QuantizeLinear", ["y", "ys", "yz"], ["yq"]), node("DequantizeLinear", ["yq", "ys", "yz"], ["out"])]
    add(name, nodes, {"x": x}, [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)], held, 21, out)


def bytes_of(*shape):
    return np.random.RandomState(9).randint(-127, 128, shape).astype(np.int8)


PRODUCT = [node("MatMul", ["xr", "wr"], ["y"])]
quantised("product by columns", (1, 3, 4, 7), PRODUCT, {}, 0.05, bytes_of(7, 2), 1)
quantised("product by columns of two extents", (5, 7), PRODUCT, {}, 0.05, bytes_of(7, 6), 1)
quantised("product by columns, and a sum", (2, 5, 7), [node("MatMul", ["xr", "wr"], ["p"]), node("Add", ["p", "b"], ["y"])],
          {"b": np.arange(6, dtype=np.float32) / 7}, 0.05, bytes_of(7, 6), 1)
quantised("product by rows", (2, 5, 7), PRODUCT, {}, 0.05, bytes_of(7, 6), 0)
quantised("products by columns of three extents", (3, 5, 7), PRODUCT, {}, 0.05, bytes_of(3, 7, 6), 2)
quantised("products by matrices", (3, 5, 7), PRODUCT, {}, 0.05, bytes_of(3, 7, 6), 0)
quantised("product from the left", (7, 5), [node("MatMul", ["wr", "xr"], ["y"])], {}, 0.05, bytes_of(6, 7), 0)
quantised("sum", (2, 3, 4), [node("ReduceSum", ["xr", "axes"], ["y"], keepdims=0)], {"axes": np.array([1])}, 0.08)

WIDE = {"xs": np.float32(0.0002), "xz": np.int16(-3203), "ys": np.float32(0.0003), "yz": np.int16(517)}
add("int16 with zero points", [node("QuantizeLinear", ["x", "xs", "xz"], ["xq"]), node("DequantizeLinear", ["xq", "xs", "xz"], ["xr"]),
                               node("Tanh", ["xr"], ["y"]), node("QuantizeLinear", ["y", "ys", "yz"], ["yq"]),
                               node("DequantizeLinear", ["yq", "ys", "yz"], ["out"])],
    {"x": np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)}, [floats("out", 3, 4)], WIDE, 21, 0.0003)

# ---- a spread of nothing, by which some made inputs are divided: how each side rounds is all that is left ----

add("norms of what is all but equal", [node("InstanceNormalization", ["x", "s", "b"], ["n"]), node("Conv", ["n", "w"], ["c"]),
                                       node("InstanceNormalization", ["c", "t", "d"], ["y"])],
    {"x": random.randn(2, 3, 7, 7).astype(np.float32)}, [floats("y", 2, 3, 7, 5)],
    {"w": random.randn(3, 3, 1, 3).astype(np.float32), **{k: random.randn(3).astype(np.float32) for k in "sbtd"}}, 11)

for turned in (0, 1):
    for each in (False, True):
        held = {"xs": np.float32(0.03), "xz": np.uint8(120), "w": bytes_of(*((6, 7) if turned else (7, 6))), "ys": np.float32(0.05), "yz": np.uint8(131),
                "ws": np.linspace(0.002, 0.01, 6).astype(np.float32) if each else np.float32(0.004),
                "wz": np.zeros(6, np.int8) if each else np.int8(0), "b": np.arange(-300, 300, 100, dtype=np.int32)}
        add(f"QGemm, transB {turned}, {'columns' if each else 'one scale'}",
            [node("QLinearGlobalAveragePool", ["x", "xs", "xz", "xs", "xz"], ["p"], domain="com.microsoft"), node("Flatten", ["p"], ["f"]),
             node("QGemm", ["f", "xs", "xz", "w", "ws", "wz", "b", "ys", "yz"], ["y"], domain="com.microsoft", transB=turned)],
            {"x": np.random.RandomState(7).randint(0, 256, (3, 7, 4, 5)).astype(np.uint8)}, [helper.make_tensor_value_info("y", TensorProto.UINT8, [3, 6])],
            held, 16, 1.0)

add("QGemm of reals", [node("QGemm", ["x", "xs", "xz", "w", "ws", "wz", "b"], ["y"], domain="com.microsoft", transB=1)],
    {"x": np.random.RandomState(7).randint(0, 256, (3, 7)).astype(np.uint8)}, [floats("y", 3, 6)], held, 16)

for alpha in (0.75, -2.0):
    add(f"QGemm, alpha {alpha}", [node("QGemm", ["x", "xs", "xz", "w", "ws", "wz", "b", "ys", "yz"], ["y"], domain="com.microsoft", transB=1, alpha=alpha)],
        {"x": np.random.RandomState(7).randint(0, 256, (3, 7)).astype(np.uint8)}, [helper.make_tensor_value_info("y", TensorProto.UINT8, [3, 6])], held, 16, 1.0)
    add(f"QGemm of reals, alpha {alpha}", [node("QGemm", ["x", "xs", "xz", "w", "ws", "wz", "b"], ["y"], domain="com.microsoft", transB=1, alpha=alpha)],
        {"x": np.random.RandomState(7).randint(0, 256, (3, 7)).astype(np.uint8)}, [floats("y", 3, 6)], held, 16)


def litert(path, inputs, resolver):
    it = interpreter_of(path) if resolver == OpResolverType.BUILTIN_REF else Interpreter(
        model_path=str(path), num_threads=1, experimental_op_resolver_type=resolver)
    it.allocate_tensors()
    for detail, x in zip(it.get_input_details(), inputs.values()):
        it.set_tensor(detail["index"], x.reshape(detail["shape"]))
    it.invoke()
    return [it.get_tensor(d["index"]) for d in it.get_output_details()]


def wrong_of(path, inputs, resolver, want, step):
    try:
        return far(want, litert(path, inputs, resolver), step)
    except RuntimeError as e:
        return "LiteRT refuses it: " + str(e)[:200]


def far(want, got, step):
    """"" or what differs."""
    for k, (w, g) in enumerate(zip(want, got)):
        w, g = np.asarray(w, np.float64), np.asarray(g, np.float64)
        if w.size != g.size:
            return f"output {k}: {g.shape} for {w.shape}"
        g = g.reshape(w.shape)
        most = 1e-5 + 1e-4 * np.abs(w) if step is None else step * 1.01
        bad = ~((w == g) | (np.abs(w - g) <= most) | ((w != w) & (g != g)))
        if bad.any():
            return f"output {k}: {g[bad][:4]} for {w[bad][:4]}, {bad.sum()} of {w.size}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    faults = done = 0
    session_options = onnxruntime.SessionOptions()
    session_options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session_options.add_session_config_entry("session.x64quantprecision", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, (model, inputs, step, said_by) in CASES.items():
            if not re.search(options.only, what):
                continue
            onnx.save(model, folder / "m.onnx")
            want = onnxruntime.InferenceSession(str(folder / "m.onnx"), session_options).run(None, inputs)
            for level in ("-O0", "-O1"):
                said = subprocess.run([os.environ["BURIN"], "compile", folder / "m.onnx", "-o", folder / "m.tflite", "--force", "--quiet", level, *said_by],
                                      capture_output=True, text=True)
                for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN):
                    wrong = said.stderr.strip() if said.returncode else wrong_of(folder / "m.tflite", inputs, resolver, want, step)
                    done += 1
                    if wrong:
                        faults += 1
                        print(f"{what} {level} {resolver.name}: {wrong}")
    print(f"{done} runs, {faults} faults")
    return 1 if faults or not done else 0


if __name__ == "__main__":
    sys.exit(main())
