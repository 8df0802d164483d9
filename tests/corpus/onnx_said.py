# ctest: name=corpus.onnx_said, labels=corpus, timeout=900
"""ONNX operators that TFLite lacks, or has in another form, written as TFLite: LiteRT's reference kernels give what ONNX Runtime does (where
that has no kernel, onnx's reference evaluator), or, of functions, what C's library does in double.

  onnx_said.py [--only PATTERN]

Each case is a model of one operator, or of a few, its inputs (places, signs, zeros and what lies beyond among them), and the operators of TFLite
that it becomes where that is part of what is tested. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401
import roads

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BURIN = os.environ["BURIN"]
NAMES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16, np.dtype(bool): TensorProto.BOOL,
         np.dtype(np.float64): TensorProto.DOUBLE, **{np.dtype(f"{u}int{n}"): getattr(TensorProto, f"{u.upper()}INT{n}") for u in ("", "u") for n in (8, 16, 32, 64)}}
CASES = []


class Case:
    """nodes: (operator, inputs, outputs, attributes); given: arrays by name; want: arrays, else ONNX Runtime says; words: operators that
    the file has (None: any); near: how far floats may be, of themselves and in all; refused: what Burin says instead."""

    def __init__(self, name, nodes, given, constants=(), outputs=("y",), want=None, words=None, near=(2e-6, 1e-9), refused=None, opset=20, domain=None):
        given = {k: np.asarray(v) for k, v in given.items()}
        self.name, self.given, self.want, self.words, self.near, self.refused = name, given, want, words, near, refused
        self.constants = dict(constants)
        graph = helper.make_graph(
            [helper.make_node(op, i.split(), o.split(), domain=domain if domain and op in DOMAIN[domain] else "", **more) for op, i, o, more in nodes], "g",
            [helper.make_tensor_value_info(k, NAMES[v.dtype], v.shape) for k, v in given.items()], [onnx.ValueInfoProto(name=o) for o in outputs],
            [numpy_helper.from_array(v, k) for k, v in self.constants.items()])
        sets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        self.model = helper.make_model(graph, opset_imports=sets, ir_version=10)
        CASES.append(self)


MS = "com.microsoft"
DOMAIN = {MS: ("Gelu", "BiasGelu", "FastGelu")}


def expected(case):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, case.given)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(case.model).run(None, case.given)


def fault_of(case, folder):
    source, to = folder / "m.onnx", folder / "m.tflite"
    onnx.save(case.model, source)
    done = subprocess.run([BURIN, "compile", source, "-o", to, "--force", "--quiet"], capture_output=True, text=True)
    if case.refused:
        return "" if done.returncode == 1 and re.search(case.refused, done.stderr) else f"it must be refused, {case.refused}: {done.returncode} {done.stderr[:300]}"
    if done.returncode:
        return f"exit {done.returncode}: {done.stderr[:300]}"
    want = case.want if case.want is not None else expected(case)
    ports, got = roads.answers(to, lambda ports: [[v.reshape(s) for v, (s, _) in zip(case.given.values(), ports)]])
    if ports is None:
        return f"LiteRT: {got}"
    for k, (a, b) in enumerate(zip(got[0], want)):
        b = np.asarray(b)
        if a.dtype != b.dtype and b.dtype != np.float64 or a.shape != b.shape:
            return f"output {k}: {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        x, y = a.astype(np.float64), b.astype(np.float64)
        if a.dtype.kind != "f":
            same = np.array_equal(a, b)
        else:
            same = np.allclose(x, y, rtol=case.near[0], atol=case.near[1], equal_nan=True)
        if not same:
            with np.errstate(all="ignore"):
                at = np.unravel_index(np.argmax(np.nan_to_num(np.abs(x - y) / (1e-30 + np.abs(y)), nan=np.inf)), x.shape) if x.size else ()
            return f"output {k} at {tuple(map(int, at))}: {a[at]!r}, expected {b[at]!r}"
    if case.words is not None:
        said = subprocess.run([BURIN, "inspect", to], capture_output=True, text=True).stdout
        words = " ".join(re.findall(r"^ +\d+  ([A-Z0-9_]+) ", said, re.M))
        if words != case.words:
            return f"it is {words}, expected {case.words}"
    return ""


def f32(*values):
    return np.array(values, np.float32)


# ---- a quotient by zero between conversions: what is infinite saturates ----
for name, dtype in (("u8", np.uint8), ("i8", np.int8)):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    numbers = np.arange(low, high + 1).astype(np.float32)
    Case(f"div_between_{name}",
         [(op, f"{x} s z", f"{y}", {}) for a in "ab" for op, x, y in (("QuantizeLinear", a, f"{a}q"), ("DequantizeLinear", f"{a}q", f"{a}r"))] +
         [("Div", "ar br", "c", {}), ("QuantizeLinear", "c t z", "cq", {}), ("DequantizeLinear", "cq t z", "y", {})],
         {"b": np.round(numbers / 9).astype(np.float32)},
         {"a": np.where(numbers % 2 == 0, -3, 5).astype(np.float32), "s": np.float32(1), "t": np.float32(0.37), "z": np.array(low + 128 - 7, dtype)})

# ---- functions ----
LINE = np.concatenate([np.linspace(-6, 6, 1201), [0, -0.0, 1e-30, 1e-7, -1e-5, 1e-3, 30, -30]]).astype(np.float32)
INSIDE = np.concatenate([np.linspace(-1, 1, 2001), [0, 1e-30, 1e-7, -1e-5, 1e-3, 0.999999, -0.999999]]).astype(np.float32)
BEYOND = np.concatenate([1 + np.logspace(-6, 30, 400), [1, 2, 1.9999999]]).astype(np.float32)


def of(function, x):
    return [np.array([function(float(v)) for v in x])]


Case("erf", [("Erf", "x", "y", {})], {"x": LINE}, want=of(math.erf, LINE))
Case("atan", [("Atan", "x", "y", {})], {"x": LINE}, want=of(math.atan, LINE))
Case("asin", [("Asin", "x", "y", {})], {"x": INSIDE}, want=of(math.asin, INSIDE))
Case("acos", [("Acos", "x", "y", {})], {"x": INSIDE}, want=of(math.acos, INSIDE))
OPEN = INSIDE[np.abs(INSIDE) < 1]
Case("atanh", [("Atanh", "x", "y", {})], {"x": OPEN}, want=of(math.atanh, OPEN))
WIDE = np.concatenate([LINE, f32(1e4, -2e4, 1e25, -3e38)])
Case("asinh", [("Asinh", "x", "y", {})], {"x": WIDE}, want=of(math.asinh, WIDE))
Case("acosh", [("Acosh", "x", "y", {})], {"x": BEYOND}, want=of(math.acosh, BEYOND))
A, B = np.meshgrid(f32(-7.5, -2, -1e-3, 0, 0.3, 5, 1e6), f32(-3, -0.7, 0.1, 2, 1e9))
Case("mod_of_reals", [("Mod", "a b", "y", {"fmod": 1})], {"a": A, "b": B})

for dtype in (np.int16, np.int32, np.int64):
    for fmod in (0, 1):
        Case(f"mod_{dtype.__name__}_{fmod}", [("Mod", "a b", "y", {"fmod": fmod})],
             {"a": np.array([[-7], [7], [0], [-6], [np.iinfo(dtype).max]], dtype), "b": np.array([3, -3, 1, -1, 5], dtype)})

# ---- bits ----
for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64):
    info = np.iinfo(dtype)
    some = np.array([info.min, info.max, 0, 1, 0x55 & info.max, info.max // 3, info.max - 5, info.min // 2] + ([-1, -2] if info.min < 0 else []), dtype)
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        Case(f"{op}_{dtype.__name__}", [(op, "a b", "y", {})], {"a": some[:, None], "b": some[None, :]})
    Case(f"BitwiseNot_{dtype.__name__}", [("BitwiseNot", "a", "y", {})], {"a": some})

# ---- places ----
RANDOM = np.random.default_rng(11)
TABLE = RANDOM.integers(-9, 9, (4, 5)).astype(np.float32)
for op, word in (("ArgMax", "ARG_MAX"), ("ArgMin", "ARG_MIN")):
    Case(f"{op}_keeps", [(op, "x", "y", {"axis": -2})], {"x": TABLE}, words=f"{word} RESHAPE")
    Case(f"{op}_last", [(op, "x", "y", {"axis": 1, "select_last_index": 1, "keepdims": 0})], {"x": np.round(TABLE / 4)})
    Case(f"{op}_i64", [(op, "x", "y", {"axis": 0})], {"x": TABLE.astype(np.int64)})
Case("topk_first_extent", [("TopK", "x k", "y z", {"axis": 0})], {"x": TABLE}, {"k": np.array([3])}, ("y", "z"), words="TRANSPOSE TOPK_V2 CAST TRANSPOSE TRANSPOSE")
Case("topk_least", [("TopK", "x k", "y z", {"largest": 0})], {"x": TABLE}, {"k": np.array([5])}, ("y", "z"), words="NEG TOPK_V2 NEG CAST")
Case("topk_least_i32", [("TopK", "x k", "y z", {"largest": 0})], {"x": np.array([[3, -2**31, 2**31 - 1, 0, 3]], np.int32)}, {"k": np.array([4])}, ("y", "z"))
Case("topk_i8", [("TopK", "x k", "y z", {})], {"x": TABLE.astype(np.int8)}, {"k": np.array([2])}, ("y", "z"), opset=24)
for dtype in (np.float32, np.int64, bool, np.uint8):
    Case(f"nonzero_{dtype.__name__}", [("NonZero", "x", "y", {})], {"x": (TABLE % 3 == 0).astype(dtype)}, words="WHERE TRANSPOSE")
Case("nonzero_i16", [("Cast", "x", "c", {"to": TensorProto.INT16}), ("NonZero", "c", "y", {})], {"x": (TABLE % 2 == 0).astype(np.float32)})

# ---- scattering: the last of equal places counts, negative ones count from the end ----
ROWS = np.array([[2], [0], [-1]], np.int64)
SPOTS = np.array([[0, 3], [3, -2], [-1, -5]], np.int64)
UPDATES = RANDOM.integers(-9, 9, (3, 5)).astype(np.float32)
for dtype in (np.float32, np.int32, np.int64, np.uint8):
    Case(f"scatter_rows_{dtype.__name__}", [("ScatterND", "x i u", "y", {})], {"x": TABLE.astype(dtype), "i": ROWS, "u": UPDATES.astype(dtype)})
Case("scatter_spots", [("ScatterND", "x i u", "y", {})], {"x": TABLE, "i": SPOTS, "u": UPDATES[:, 0]})
Case("scatter_bool", [("ScatterND", "x i u", "y", {})], {"x": TABLE > 0, "i": SPOTS, "u": UPDATES[:, 0] > 0})
AGAIN = np.array([[1], [3], [1]], np.int64)
for how in ("add", "mul", "max", "min"):
    Case(f"scatter_rows_{how}", [("ScatterND", "x i u", "y", {"reduction": how})], {"x": TABLE, "i": AGAIN, "u": UPDATES})
ALONG = np.array([[0, -1, 2], [1, 1, -2]], np.int64)
for how in ("none", "add", "max"):
    Case(f"scatter_along_{how}", [("ScatterElements", "x i u", "y", {"axis": 1, "reduction": how})],
         {"x": TABLE, "i": ALONG if how != "none" else np.array([[0, -1, 2], [1, 4, -2]], np.int64), "u": UPDATES[:2, :3]})

# ---- types and ranks that kernels lack ----
HALF = (0.02, 1e-3)
TENTHS = (TABLE / 10).astype(np.float16)
for op in ("Sub", "Div", "Pow"):
    Case(f"{op}_f16", [(op, "a b", "y", {})], {"a": np.abs(TENTHS) + np.float16(0.5), "b": np.float16(1.5) - TENTHS}, near=HALF)
for op in ("Relu", "Exp", "Erf", "Softplus"):
    Case(f"{op}_f16", [(op, "x", "y", {})], {"x": TENTHS}, near=HALF)
Case("ReduceMean_f16", [("ReduceMean", "x", "y", {"keepdims": 0})], {"x": TENTHS}, near=HALF, opset=17)
Case("MatMul_f16", [("MatMul", "a b", "y", {})], {"a": TENTHS, "b": TENTHS.T.copy()}, near=HALF)
Case("MatMul_i32", [("MatMul", "a b", "y", {})], {"a": TABLE.astype(np.int32) * 70001, "b": TABLE.T.astype(np.int32) * 30011})
Case("MatMul_row", [("MatMul", "a b", "y", {})], {"a": TABLE[0], "b": TABLE.T.copy()})
Case("MatMul_column", [("MatMul", "a b", "y", {})], {"a": np.stack([TABLE, -TABLE]), "b": TABLE[1]})
Case("MatMul_dot", [("MatMul", "a b", "y", {})], {"a": TABLE[0], "b": TABLE[1]})
for dtype in (np.int8, np.uint8, np.int16):
    wide = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 3, 100, 7], dtype)
    for op in ("Mul", "Add"):
        Case(f"{op}_{dtype.__name__}", [(op, "a b", "y", {})], {"a": wide[:, None], "b": wide[None, :]})
Case("Add_f64", [("Add", "a b", "y", {})], {"a": TABLE.astype(np.float64), "b": TABLE.astype(np.float64)})
Case("Less_u64", [("Less", "a b", "y", {})], {"a": ROWS.astype(np.uint64), "b": ROWS.astype(np.uint64)}, refused="takes u64")

# ---- scales that a run says; places that data decide beside an extent taken apart ----
for dtype in (np.uint8, np.int8, np.uint16, np.int16):
    info = np.iinfo(dtype)
    Case(f"quantize_by_input_{dtype.__name__}", [("QuantizeLinear", "x s z", "y", {})],
         {"x": np.concatenate([np.linspace(-300, 300, 97), [1e9, -1e9, 3e38, 0.25]]).astype(np.float32), "s": np.float32(0.37), "z": np.array(info.max // 3, dtype)}, opset=21)
    Case(f"quantize_plain_{dtype.__name__}", [("Mul", "t t", "s", {}), ("QuantizeLinear", "x s z", "y", {})], {"x": LINE * 40, "t": np.float32(0.77)},
         {"z": np.array(0, dtype)}, opset=21)
HEADS = RANDOM.standard_normal((2, 3, 4, 8)).astype(np.float32)
CIRCLE = RANDOM.uniform(-3, 3, (50, 4)).astype(np.float32)
for interleaved in (0, 1):
    Case(f"rotary_{interleaved}", [("RotaryEmbedding", "x c s p", "y", {"interleaved": interleaved})],
         {"x": HEADS, "c": np.cos(CIRCLE), "s": np.sin(CIRCLE), "p": RANDOM.integers(0, 50, (2, 4))}, opset=23, near=(1e-5, 1e-6))

# ---- powers of two types ----
BASES = f32(-2, -0.5, 0, 0.3, 1.7, 12)
Case("pow_f32_i64", [("Pow", "a b", "y", {})], {"a": BASES[:, None]}, {"b": np.array([0, 1, 2, 3, 5], np.int64)}, near=(1e-5, 1e-7))
Case("pow_f32_i8", [("Cast", "b", "c", {"to": TensorProto.INT8}), ("Pow", "a c", "y", {})], {"a": BASES[:, None], "b": f32(0, -1, 2, -3, 5)}, near=(1e-5, 1e-7))
Case("pow_f32_i32", [("Pow", "a b", "y", {})], {"a": BASES, "b": np.array([0, 1, 2, 3, 5, 7], np.int32)})

# ---- Gelu, alone and after a sum ----
Case("Gelu", [("Gelu", "x", "y", {})], {"x": LINE}, want=of(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))), LINE), words="GELU", near=(1e-5, 1e-6))
Case("Gelu_tanh", [("Gelu", "x", "y", {"approximate": "tanh"})], {"x": LINE}, words="GELU", near=(1e-5, 1e-6))
Case("Gelu_of_Microsoft", [("Gelu", "x", "y", {})], {"x": LINE}, domain=MS, words="GELU", near=(1e-5, 2e-6))
Case("BiasGelu", [("BiasGelu", "x b", "y", {})], {"x": TABLE, "b": TABLE[0] / 3}, domain=MS, words="ADD GELU", near=(1e-5, 2e-6))
Case("FastGelu", [("FastGelu", "x b", "y", {})], {"x": TABLE, "b": TABLE[0] / 3}, domain=MS, words="ADD GELU", near=(1e-5, 2e-6))
# written out, as exporters do, in each order; and what is nearly one, but is none
WRITTEN = {"root": np.float32(1.4142135), "one": np.float32(1), "half": np.float32(0.5), "inverse": np.float32(0.70710677), "three": np.float32(3)}
Case("gelu_divided", [("Div", "x root", "a", {}), ("Erf", "a", "b", {}), ("Add", "b one", "c", {}), ("Mul", "x c", "d", {}), ("Mul", "d half", "y", {})],
     {"x": LINE}, WRITTEN, words="GELU", near=(1e-5, 2e-6))
Case("gelu_halved_first", [("Mul", "x half", "h", {}), ("Mul", "x inverse", "a", {}), ("Erf", "a", "b", {}), ("Add", "one b", "c", {}), ("Mul", "h c", "y", {})],
     {"x": LINE[None, :, None]}, WRITTEN, words="GELU", near=(1e-5, 2e-6))
Case("gelu_and_more", [("Div", "x root", "a", {}), ("Erf", "a", "b", {}), ("Add", "b one", "c", {}), ("Mul", "x c", "d", {}), ("Mul", "d half", "e", {}), ("Relu", "e", "y", {})],
     {"x": LINE}, WRITTEN, words="GELU RELU", near=(1e-5, 2e-6))
Case("gelu_of_another_width", [("Mul", "x half", "a", {}), ("Erf", "a", "b", {}), ("Add", "b one", "c", {}), ("Mul", "x c", "d", {}), ("Mul", "d half", "y", {})],
     {"x": LINE}, WRITTEN, near=(1e-5, 2e-6))

# ---- pools whose windows begin inside the input ----
PLANE = RANDOM.standard_normal((1, 2, 18, 15)).astype(np.float32)
for op in ("MaxPool", "AveragePool"):
    want = None if op == "AveragePool" else [np.maximum(PLANE[:, :, 2::6, 1::5], PLANE[:, :, 3::6, 1::5])]
    Case(f"{op}_begins_inside", [(op, "x", "y", {"kernel_shape": [2, 1], "strides": [6, 5], "auto_pad": "SAME_UPPER"})], {"x": PLANE[:, :, :, :13]},
         want=want, words=f"TRANSPOSE SLICE {'MAX' if want else 'AVERAGE'}_POOL_2D TRANSPOSE")
Case("MaxPool_begins_inside_places", [("MaxPool", "x", "y at", {"kernel_shape": [1, 1], "strides": [3, 3], "auto_pad": "SAME_UPPER"})], {"x": PLANE},
     outputs=("y", "at"), refused="places of the largest elements where windows begin inside the input")

# ---- transposed convolutions, or convolutions of elements that stand apart; groups over three extents, each by itself ----
def weights(*shape):
    return (RANDOM.standard_normal(shape) / 4).astype(np.float32)


TURNED = "TRANSPOSE TRANSPOSE_CONV TRANSPOSE"
for name, shape, filters, words, more in (
        ("plain", (1, 4, 3, 5), (4, 3, 2, 3), TURNED, {"strides": [2, 1]}),
        ("groups", (2, 4, 3, 5), (4, 3, 2, 3), None, {"strides": [2, 3], "group": 2}),
        ("padded", (1, 4, 4, 5), (4, 2, 3, 3), None, {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
        ("dilated", (1, 2, 4, 5), (2, 2, 3, 2), None, {"strides": [3, 2], "dilations": [2, 3], "pads": [0, 1, 2, 0]}),
        ("more_padding_than_filter", (1, 2, 5, 5), (2, 2, 2, 2), None, {"strides": [2, 2], "pads": [2, 3, 2, 2]}),
        ("same", (1, 2, 3, 4), (2, 3, 4, 3), None, {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ("shape_of_output", (1, 2, 3, 3), (2, 2, 3, 3), None, {"strides": [3, 2], "output_shape": [10, 8]}),
        ("not_apart", (1, 3, 4, 4), (3, 2, 3, 3), None, {}),
        ("depthwise", (1, 3, 4, 4), (3, 1, 2, 2), None, {"strides": [2, 2], "group": 3}),
        ("one_extent", (1, 3, 7), (3, 2, 4), None, {"strides": [4]}),
        ("three_extents", (1, 4, 3, 3, 4), (4, 3, 2, 3, 2), None, {"strides": [2, 1, 2]}),
        ("three_extents_groups", (2, 4, 3, 2, 4), (4, 2, 2, 3, 2), None, {"strides": [2, 3, 2], "pads": [0, 1, 0, 0, 1, 1], "group": 2})):
    group = more.get("group", 1)
    Case(f"conv_transpose_{name}", [("ConvTranspose", "x w b", "y", more)], {"x": RANDOM.standard_normal(shape).astype(np.float32)},
         {"w": weights(*filters), "b": weights(filters[1] * group)}, words=words, near=(1e-5, 1e-5))
Case("conv_transpose_weights_of_a_run", [("ConvTranspose", "x w", "y", {"strides": [2, 2]})],
     {"x": RANDOM.standard_normal((1, 2, 3, 3)).astype(np.float32), "w": weights(2, 2, 3, 2)}, near=(1e-5, 1e-5))
Case("conv_3d_groups", [("Conv", "x w b", "y", {"strides": [1, 1, 2], "pads": [1, 0, 1, 0, 1, 1], "group": 2})],
     {"x": RANDOM.standard_normal((1, 4, 3, 3, 4)).astype(np.float32)}, {"w": weights(6, 2, 2, 3, 2), "b": weights(6)}, near=(1e-5, 1e-5))
Case("conv_3d_depthwise", [("Conv", "x w", "y", {"dilations": [1, 2, 1], "group": 3})], {"x": RANDOM.standard_normal((1, 3, 3, 5, 4)).astype(np.float32)},
     {"w": weights(3, 1, 2, 2, 3)}, near=(1e-5, 1e-5))

# ---- places that are not zero, as many as a run has, and what stands there: none counts from the end ----
Case("masked", [("NonZero", "x", "p", {}), ("Transpose", "p", "t", {"perm": [1, 0]}), ("GatherND", "x t", "y", {})],
     {"x": np.array([[0, 1.5, 0, -2], [3, 0, 0, 0.25]], np.float32)}, words="WHERE TRANSPOSE TRANSPOSE GATHER_ND")
Case("maybe_from_the_end", [("NonZero", "x", "p", {}), ("Transpose", "p", "t", {"perm": [1, 0]}), ("Sub", "t one", "u", {}), ("GatherND", "x u", "y", {})],
     {"x": np.array([[0, 1.5, 0, -2], [3, 0, 0, 0.25]], np.float32)}, {"one": np.int64(1)}, refused="does not say its attribute from_end")

# ---- quantised from floats of 16 bits: quotients in 32 bits, rounded once more, are the same ----
for name, dtype in (("u8", np.uint8), ("i8", np.int8)):
    Case(f"quantize_f16_{name}", [("QuantizeLinear", "x s z", "q", {}), ("DequantizeLinear", "q s z", "y", {})], {"x": LINE.astype(np.float16)},
         {"s": np.float16(0.0307), "z": np.array(7, dtype)}, opset=23, near=(1e-3, 1e-6))
Case("div_f16", [("Div", "x a", "y", {})], {"x": LINE.astype(np.float16)}, {"a": np.float16(0.7)}, near=(0, 0))

# ---- quotients of 64 bits, towards zero: by powers of two ----
LONG = np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0, 1, -1, 3, -3, 2**31 - 1, 2**31, -2**31, -2**31 - 1, 2**32, -2**32, 2**32 - 1,
                 0x123456789abcdef0, -0x123456789abcdef0, 2**40 + 2**39, -2**40 - 2**39, -2**62, 2**62 - 1], np.int64)
for power in (0, 1, 15, 31, 32, 40, 62):
    Case(f"div_i64_{power}", [("Div", "a b", "y", {})], {"a": LONG}, {"b": np.int64(1 << power)})
for name, powers in (("low", (0, 3, 15, 31)), ("high", (32, 33, 50, 62))):
    Case(f"div_i64_{name}", [("Div", "a b", "y", {})], {"a": LONG[:, None]}, {"b": np.int64([1 << n for n in powers])})
Case("div_i64_3", [("Div", "a b", "y", {})], {"a": LONG}, {"b": np.int64(3)}, refused="DIV: no runtime has a kernel of it that takes i64")
Case("div_i64_mixed", [("Div", "a b", "y", {})], {"a": LONG[:, None]}, {"b": np.int64([2, 1 << 40])}, refused="DIV: no runtime has a kernel")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not re.search(options.only, case.name):
                continue
            fault = fault_of(case, pathlib.Path(folder))
            if fault:
                faults += 1
                print(f"{case.name}: {fault}")
    print(f"{len(CASES)} cases, {faults} faults")
    return 1 if faults else 0


sys.exit(main())
