#!/usr/bin/env python3
# ctest: name=corpus.onnx_own, labels=corpus, timeout=1800
"""Own ONNX models with the node tests' operators in other settings: the evaluator and the emitted C, built under AddressSanitizer and UBSan,
give ONNX Runtime's shapes and values.

  onnx_own.py [--only NAME...]

Loops of every kind, extents that a run says, what data decide in the middle of a graph, sequences, recurrent networks; and the models of
onnx_control.py and counted_onnx.py. A model whose shapes follow from contents of inputs is compiled for each run with those constant, and
one that computes a shape from an open extent with that extent fixed.
Run by the oracles' Python; by ctest's Python it starts that one.
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
from onnx import TensorProto, helper, numpy_helper

import batch
import counted_onnx
import onnx_control
from onnx_control import graph, loop, node
from support import first_error

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
AT_LEAST = 100  # models
FLAGS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
RNG = np.random.default_rng(11)
OF_INTEGERS = [("i", I, []), ("k", B, []), ("v", I, None)]


class Own:
    """feeds: arrays by name, one for each run; constant: inputs that are constants of each module; shaped: each module is for the shapes of
    its run."""

    def __init__(self, name, model, feeds, flags=(), constant=(), shaped=False):
        self.name, self.model, self.flags, self.constant, self.shaped = name, model, list(flags), list(constant), shaped
        self.feeds = [{k: np.asarray(v) for k, v in feed.items()} for feed in feeds]

    def each(self):
        """Has each run a module of its own?"""
        return self.constant or self.shaped


MODELS = []


def own(name, nodes, inputs, outputs, constants=(), feeds=(), flags=(), constant=(), opset=17, shaped=False):
    inits = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    body = graph(nodes, inputs, [(o, t, None) for o, t in outputs], inits)
    sets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    MODELS.append(Own(name, helper.make_model(body, ir_version=10, opset_imports=sets), list(feeds), flags, constant, shaped))


def f32(*shape):
    return RNG.standard_normal(shape).astype("f4")


def i64(*v):
    return np.array(v[0] if len(v) == 1 else v, "i8")


def keep(nodes, outputs, constants=(), inputs=onnx_control.LOOP_IN):
    """A loop's body that goes on as long as it is let."""
    inits = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    return loop([*nodes, node("Identity", ["k"], ["kk"])], [("kk", B), *outputs], inits, inputs)


def stops(nodes, outputs, constants=(), inputs=onnx_control.LOOP_IN):
    inits = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()]
    return loop(nodes, [("kk", B), *outputs], inits, inputs)


# ---- loops ----
M, X3 = ("m", I, []), ("x", F, [3])
trips = (0, 1, 3, 7)
own("loop_mul_add", [node("Loop", ["m", "", "x"], ["y"], body=keep([node("Mul", ["v", "a"], ["p"]), node("Add", ["p", "b"], ["n"])], [("n",)],
    {"a": f32(3), "b": np.float32(0.5)}))], [M, X3], [("y", F)], feeds=[dict(m=i64(m), x=f32(3)) for m in trips])
own("loop_squares", [node("Loop", ["m", "", "x"], ["y", "s"], body=keep(
    [node("Mul", ["i", "i"], ["sq"]), node("Cast", ["sq"], ["f"], to=F), node("Add", ["v", "f"], ["n"])], [("n",), ("sq", I, [])]))],
    [X3], [("y", F), ("s", I)], {"m": i64(6)}, feeds=[dict(x=f32(3))])
own("loop_squares_of_a_run", [node("Loop", ["m", "", "x"], ["y", "s"], body=keep(
    [node("Mul", ["v", "v"], ["sq"]), node("Mul", ["v", "half"], ["n"])], [("n",), ("sq", F, [3])], {"half": np.float32(0.5)}))],
    [M, X3], [("y", F), ("s", F)], feeds=[dict(m=i64(m), x=f32(3)) for m in (1, 4, 8)], flags=["--max-trips", "8"])
own("loop_stop_on_data", [node("Loop", ["", "yes", "x"], ["y", "s"], body=stops(
    [node("Add", ["v", "step"], ["n"]), node("ReduceSum", ["n"], ["t"], keepdims=0), node("Less", ["t", "end"], ["kk"])], [("n",), ("t", F, [])],
    {"step": np.array([0.25, 0.5, 1], "f4"), "end": np.float32(9)}))], [X3], [("y", F), ("s", F)], {"yes": np.array(True)},
    feeds=[dict(x=np.array(x, "f4")) for x in ([0, 0, 0], [3, 3, 2.5], [9, 9, 9])], flags=["--max-trips", "16"])
own("loop_matmul_tanh", [node("Loop", ["m", "", "x"], ["y"], body=keep([node("MatMul", ["v", "w"], ["p"]), node("Tanh", ["p"], ["n"])], [("n",)],
    {"w": f32(4, 4)}))], [M, ("x", F, [2, 4])], [("y", F)], feeds=[dict(m=i64(m), x=f32(2, 4)) for m in trips])
own("loop_collatz", [node("Loop", ["", "yes", "x", "zero"], ["y", "steps"], body=stops(
    [node("Mod", ["v", "two"], ["odd"]), node("Equal", ["odd", "one"], ["is"]), node("Mul", ["v", "three"], ["t"]), node("Add", ["t", "one"], ["up"]),
     node("Div", ["v", "two"], ["down"]), node("Where", ["is", "up", "down"], ["n"]), node("Add", ["c", "one"], ["c1"]), node("Greater", ["n", "one"], ["kk"])],
    [("n", I), ("c1", I)], {"one": i64(1), "two": i64(2), "three": i64(3)}, OF_INTEGERS + [("c", I, None)]))],
    [("x", I, [])], [("y", I), ("steps", I)], {"yes": np.array(True), "zero": i64(0)}, feeds=[dict(x=i64(x)) for x in (6, 7, 27)])
own("loop_newton", [node("Loop", ["m", "", "x"], ["y"], body=keep(
    [node("Div", ["x", "v"], ["q"]), node("Add", ["q", "v"], ["s"]), node("Mul", ["s", "half"], ["n"])], [("n",)], {"half": np.float32(0.5)}))],
    [M, X3], [("y", F)], feeds=[dict(m=i64(m), x=np.abs(f32(3)) + 1) for m in (1, 5, 9)])
own("loop_picks", [node("Loop", ["m", "", "zero"], ["y"], body=keep(
    [node("Gather", ["x", "i"], ["a"]), node("Gather", ["z", "i"], ["b"]), node("Mul", ["a", "b"], ["p"]), node("Add", ["v", "p"], ["n"])], [("n",)]))],
    [M, ("x", F, [6]), ("z", F, [6])], [("y", F)], {"zero": np.float32(0)}, feeds=[dict(m=i64(m), x=f32(6), z=f32(6)) for m in (0, 2, 6)])
own("loop_fills", [node("Loop", ["m", "", "x"], ["y"], body=keep(
    [node("Reshape", ["i", "one"], ["at"]), node("Gather", ["v", "at"], ["old"]), node("Mul", ["old", "two"], ["new"]),
     node("ScatterElements", ["v", "at", "new"], ["n"], axis=0)], [("n",)], {"one": i64([1]), "two": np.float32(2)}))],
    [M, ("x", F, [5])], [("y", F)], feeds=[dict(m=i64(m), x=f32(5)) for m in (0, 3, 5)])
own("loop_largest", [node("Loop", ["m", "", "x"], ["rest", "tops"], body=keep(
    [node("ReduceMax", ["v"], ["top"], keepdims=0), node("ArgMax", ["v"], ["at"], axis=0, keepdims=1),
     node("ScatterElements", ["v", "at", "low"], ["n"], axis=0)], [("n",), ("top", F, [])], {"low": np.array([-99], "f4")}))],
    [("x", F, [6])], [("rest", F), ("tops", F)], {"m": i64(4)}, feeds=[dict(x=f32(6)) for _ in range(2)])
own("loop_of_loops", [node("Loop", ["m", "", "x"], ["y"], body=keep([node("Loop", ["n", "", "v"], ["u"], body=graph(
    [node("Mul", ["w", "h"], ["w1"]), node("Add", ["w1", "x"], ["w2"]), node("Identity", ["k2"], ["k3"])], [("j", I, []), ("k2", B, []), ("w", F, None)],
    [("k3", B), ("w2",)], [numpy_helper.from_array(np.float32(0.5), "h")]))], [("u",)]))],
    [M, ("n", I, []), X3], [("y", F)], feeds=[dict(m=i64(a), n=i64(b), x=f32(3)) for a, b in ((0, 2), (2, 0), (3, 2))])
own("loop_lookup", [node("Loop", ["m", "", "x"], ["y", "way"], body=keep([node("Gather", ["next", "v"], ["n"])], [("n", I), ("n", I, [])], {"next": i64([3, 0, 4, 1, 2])},
    OF_INTEGERS))],
    [("x", I, [])], [("y", I), ("way", I)], {"m": i64(5)}, feeds=[dict(x=i64(x)) for x in range(3)])
own("loop_conv", [node("Loop", ["m", "", "x"], ["y"], body=keep(
    [node("Conv", ["v", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["n"])], [("n",)], {"w": f32(2, 2, 3, 3) / 3}))],
    [M, ("x", F, [1, 2, 4, 4])], [("y", F)], feeds=[dict(m=i64(m), x=f32(1, 2, 4, 4)) for m in (0, 2)])
swaps = [node("Identity", ["b0"], ["a1"]), node("Add", ["v", "b0"], ["b1"])]
own("loop_swaps", [node("Loop", ["m", "", "x", "z"], ["y", "u"], body=keep(swaps, [("a1",), ("b1",)], (), onnx_control.LOOP_IN + [("b0", F, None)]))],
    [M, X3, ("z", F, [3])], [("y", F), ("u", F)], feeds=[dict(m=i64(m), x=f32(3), z=f32(3)) for m in (0, 1, 6)])

# ---- scans ----
cell = graph([node("MatMul", ["e", "wi"], ["a"]), node("MatMul", ["h", "wh"], ["b"]), node("Add", ["a", "b"], ["c"]), node("Sigmoid", ["c"], ["g"]),
              node("Mul", ["g", "h"], ["gh"]), node("Tanh", ["c"], ["t"]), node("Add", ["gh", "t"], ["h1"]), node("Identity", ["h1"], ["o"])],
             [("h", F, None), ("e", F, None)], [("h1",), ("o",)])
for way in (0, 1):
    own(f"scan_cell_{way}", [node("Scan", ["h0", "x"], ["last", "all"], body=cell, num_scan_inputs=1, scan_input_directions=[way], scan_output_directions=[way])],
        [("h0", F, [2, 4]), ("x", F, [5, 2, 3])], [("last", F), ("all", F)], {"wi": f32(3, 4), "wh": f32(4, 4)}, feeds=[dict(h0=f32(2, 4), x=f32(5, 2, 3))])
own("scan_largest", [node("Scan", ["x0", "x"], ["last", "all"], body=graph(
    [node("Max", ["s", "e"], ["s1"]), node("Identity", ["s1"], ["o"])], [("s", F, None), ("e", F, None)], [("s1",), ("o",)]), num_scan_inputs=1, scan_input_axes=[1],
    scan_output_axes=[1])], [("x0", F, [3]), ("x", F, [3, 6])], [("last", F), ("all", F)], feeds=[dict(x0=f32(3), x=f32(3, 6))])

# ---- branches ----
paths = [graph([node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1])], [], [("c",)]), graph([node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])], [], [("p",)])]
own("if_of_a_sum", [node("ReduceSum", ["x"], ["s"], keepdims=0), node("Greater", ["s", "zero"], ["c0"]), node("If", ["c0"], ["y"], then_branch=paths[0], else_branch=paths[1])],
    [("x", F, [1, 2, 3, 3])], [("y", F)], {"zero": np.float32(0), "w": f32(2, 2, 3, 3)}, feeds=[dict(x=s * np.abs(f32(1, 2, 3, 3))) for s in (1, -1)])

# ---- extents that a run says ----
def of(n):
    return ["--dim", f"batch=..{n}"]


some = (1, 2, 4)
own("batch_reshape", [node("Shape", ["x"], ["sh"]), node("Gather", ["sh", "zero"], ["b"]), node("Unsqueeze", ["b", "first"], ["b1"]),
                      node("Concat", ["b1", "rest"], ["to"], axis=0), node("Reshape", ["x", "to"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
    [("x", F, ["batch", 3, 4])], [("y", F)], {"zero": i64(0), "first": i64([0]), "rest": i64([12]), "w": f32(12, 2)}, [dict(x=f32(b, 3, 4)) for b in some], shaped=True)
own("batch_flat", [node("Reshape", ["x", "to"], ["r"]), node("MatMul", ["r", "w"], ["m"]), node("Shape", ["m"], ["y"])], [("x", F, ["batch", 3, 4])], [("m", F), ("y", I)],
    {"to": i64([-1, 12]), "w": f32(12, 2)}, [dict(x=f32(b, 3, 4)) for b in some], of(4))
own("batch_mlp", [node("Gemm", ["x", "w", "b"], ["h"], transB=1), node("Gelu", ["h"], ["g"]), node("MatMul", ["g", "u"], ["o"]), node("Softmax", ["o"], ["y"], axis=-1)],
    [("x", F, ["batch", 5])], [("y", F)], {"w": f32(7, 5), "b": f32(7), "u": f32(7, 3)}, [dict(x=f32(b, 5)) for b in some], of(4), opset=20)
own("batch_norm", [node("LayerNormalization", ["x", "s", "b"], ["n"]), node("Add", ["n", "x"], ["r"]), node("ReduceMean", ["r"], ["y"], axes=[1], keepdims=0)],
    [("x", F, ["batch", 6])], [("y", F)], {"s": f32(6), "b": f32(6)}, [dict(x=f32(b, 6)) for b in some], of(4))
own("batch_total", [node("ReduceSum", ["x", "first"], ["s"], keepdims=0), node("Shape", ["x"], ["sh"]), node("Cast", ["sh"], ["f"], to=F), node("Gather", ["f", "zero"], ["n"]),
                    node("Div", ["s", "n"], ["y"])],
    [("x", F, ["batch", 3])], [("y", F)], {"first": i64([0]), "zero": i64(0)}, [dict(x=f32(b, 3)) for b in some], of(4))
own("batch_classes", [node("ArgMax", ["x"], ["a"], axis=1, keepdims=0), node("OneHot", ["a", "depth", "values"], ["h"]), node("Mul", ["h", "x"], ["y"])],
    [("x", F, ["batch", 4])], [("y", F), ("a", I)], {"depth": i64(4), "values": np.array([0, 1], "f4")}, [dict(x=f32(b, 4)) for b in some], of(4))
own("batch_expand", [node("Shape", ["x"], ["sh"]), node("Expand", ["c", "sh"], ["e"]), node("Sub", ["x", "e"], ["y"])],
    [("x", F, ["batch", 3])], [("y", F)], {"c": f32(1, 3)}, [dict(x=f32(b, 3)) for b in some], shaped=True)
own("batch_joined", [node("Concat", ["x", "z"], ["j"], axis=1), node("Relu", ["j"], ["y"])], [("x", F, ["batch", 2]), ("z", F, ["batch", 3])], [("y", F)], (),
    [dict(x=f32(b, 2), z=f32(b, 3)) for b in some], of(4))
own("batch_pool", [node("Conv", ["x", "w"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]), node("GlobalAveragePool", ["c"], ["p"]), node("Flatten", ["p"], ["y"])],
    [("x", F, ["batch", 3, 6, 6])], [("y", F)], {"w": f32(4, 3, 3, 3)}, [dict(x=f32(b, 3, 6, 6)) for b in some], of(4))
own("batch_lstm", [node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=3)], [("x", F, [4, "batch", 2])], [("y", F), ("h", F)],
    {"w": f32(1, 12, 2), "r": f32(1, 12, 3)}, [dict(x=f32(4, 1, 2))], ["--dim", "batch=1"])

# ---- what data decide, in the middle of a graph ----
def rows(n, *shape):
    return [dict(x=f32(n, *shape), c=np.array(c)) for c in ([True] * n, [False] * n, [k % 2 == 0 for k in range(n)])]


own("mask_sum", [node("Greater", ["x", "zero"], ["g"]), node("NonZero", ["g"], ["p"]), node("Transpose", ["p"], ["t"]), node("GatherND", ["x", "t"], ["v"]),
                 node("ReduceSum", ["v"], ["y"], keepdims=0)], [("x", F, [4, 3])], [("y", F), ("v", F)], {"zero": np.float32(0)},
    [dict(x=f32(4, 3)), dict(x=-np.abs(f32(4, 3))), dict(x=np.abs(f32(4, 3)))])
own("compress_sum", [node("Compress", ["x", "c"], ["v"], axis=0), node("ReduceSum", ["v", "first"], ["y"], keepdims=0)], [("x", F, [5, 2]), ("c", B, [5])],
    [("y", F), ("v", F)], {"first": i64([0])}, rows(5, 2))
own("compress_matmul", [node("Compress", ["x", "c"], ["v"], axis=0), node("MatMul", ["v", "w"], ["m"]), node("Softmax", ["m"], ["y"], axis=1)],
    [("x", F, [4, 3]), ("c", B, [4])], [("y", F)], {"w": f32(3, 5)}, rows(4, 3))
own("compress_flat", [node("Compress", ["x", "c"], ["v"]), node("Mul", ["v", "v"], ["y"])], [("x", F, [2, 3]), ("c", B, [6])], [("y", F)], (),
    [dict(x=f32(2, 3), c=np.array(c)) for c in ([True] * 6, [False] * 6, [True, False, False, True, True, False])])
whole = [dict(x=RNG.integers(0, n, 7)) for n in (1, 3, 9)]
own("unique_sum", [node("Unique", ["x"], ["u"], sorted=1), node("ReduceSum", ["u"], ["y"], keepdims=0)], [("x", I, [7])], [("y", I), ("u", I)], (), whole)
own("unique_back", [node("Unique", ["x"], ["u", "first", "back", "count"], sorted=1), node("Gather", ["u", "back"], ["y"]), node("Shape", ["u"], ["n"])],
    [("x", I, [7])], [("y", I), ("n", I), ("count", I)], (), whole)
own("nonzero_count", [node("NonZero", ["x"], ["p"]), node("Shape", ["p"], ["s"]), node("Gather", ["s", "one"], ["n"]), node("Cast", ["n"], ["y"], to=F)],
    [("x", F, [8])], [("y", F), ("p", I)], {"one": i64(1)}, [dict(x=f32(8) * (RNG.random(8) < s).astype("f4")) for s in (0, 0.5, 1)])
boxes = np.sort(RNG.random((1, 6, 2, 2)).astype("f4"), axis=2).reshape(1, 6, 4)
own("boxes", [node("NonMaxSuppression", ["x", "s", "most", "iou", "score"], ["p"]), node("Gather", ["p", "two"], ["at"], axis=1), node("Gather", ["line", "at"], ["y"])],
    [("x", F, [1, 6, 4]), ("s", F, [1, 2, 6])], [("p", I), ("y", F)],
    {"most": i64([3]), "iou": np.array([0.4], "f4"), "score": np.array([0.3], "f4"), "two": i64(2), "line": f32(6)},
    [dict(x=boxes, s=RNG.random((1, 2, 6)).astype("f4") * top) for top in (1, 0.5, 0.2)])
own("best_rows", [node("TopK", ["s", "k"], ["v", "at"], axis=0), node("Gather", ["x", "at"], ["y"])], [("s", F, [6]), ("x", F, [6, 2])], [("y", F), ("v", F)],
    {"k": i64([3])}, [dict(s=f32(6), x=f32(6, 2)) for _ in range(2)])
own("compress_twice", [node("Compress", ["x", "c"], ["v"], axis=0), node("Greater", ["v", "zero"], ["g"]), node("Cast", ["g"], ["f"], to=F), node("Mul", ["v", "f"], ["p"]),
                       node("ReduceMax", ["p"], ["y"], axes=[1], keepdims=1)], [("x", F, [4, 3]), ("c", B, [4])], [("y", F)], {"zero": np.float32(0)}, rows(4, 3))
own("compress_norm", [node("Compress", ["x", "c"], ["v"], axis=0), node("LayerNormalization", ["v", "s"], ["n"]), node("Add", ["n", "v"], ["y"])],
    [("x", F, [4, 5]), ("c", B, [4])], [("y", F)], {"s": f32(5)}, rows(4, 5))

# ---- shapes and bounds that are inputs ----
own("range_sum", [node("Range", ["a", "b", "d"], ["r"]), node("ReduceSum", ["r"], ["y"], keepdims=0)], [("a", F, []), ("b", F, []), ("d", F, [])], [("y", F), ("r", F)], (),
    [dict(a=np.float32(a), b=np.float32(b), d=np.float32(d)) for a, b, d in ((0, 5, 1), (3, -2, -0.5))], constant=["a", "b", "d"])
own("reshape_as_said", [node("Reshape", ["x", "to"], ["r"]), node("Softmax", ["r"], ["y"], axis=-1)], [("x", F, [4, 6]), ("to", I, ["n"])], [("y", F)], (),
    [dict(x=f32(4, 6), to=i64(to)) for to in ([3, 8], [2, -1, 3], [-1], [0, 2, 3])], constant=["to"])
own("slice_as_said", [node("Slice", ["x", "a", "b", "axes", "steps"], ["s"]), node("Mul", ["s", "s"], ["y"])],
    [("x", F, [6, 5]), ("a", I, [2]), ("b", I, [2]), ("axes", I, [2]), ("steps", I, [2])], [("y", F)], (),
    [dict(x=f32(6, 5), a=i64(a), b=i64(b), axes=i64(axes), steps=i64(s)) for a, b, axes, s in
     (([1, 0], [5, 4], [0, 1], [2, 1]), ([-1, -2], [-6, -5], [1, 0], [-1, -2]))], constant=["a", "b", "axes", "steps"])
own("slice_of_a_run", [node("Gather", ["x", "at"], ["g"], axis=1), node("Relu", ["g"], ["y"])], [("x", F, [3, 6]), ("at", I, [2])], [("y", F)], (),
    [dict(x=f32(3, 6), at=i64(at)) for at in ([0, 1], [-1, 4])])
own("topk_as_said", [node("TopK", ["x", "k"], ["v", "at"], axis=1, largest=0), node("GatherElements", ["x", "at"], ["y"], axis=1)], [("x", F, [3, 6]), ("k", I, [1])],
    [("y", F), ("v", F), ("at", I)], (), [dict(x=f32(3, 6), k=i64([k])) for k in (1, 4)], constant=["k"])
own("tile_as_said", [node("Tile", ["x", "n"], ["t"]), node("Neg", ["t"], ["y"])], [("x", F, [2, 3]), ("n", I, [2])], [("y", F)], (),
    [dict(x=f32(2, 3), n=i64(n)) for n in ([1, 2], [3, 1])], constant=["n"])
own("expand_as_said", [node("Expand", ["x", "to"], ["e"]), node("Add", ["e", "x"], ["y"])], [("x", F, [3, 1]), ("to", I, ["n"])], [("y", F)], (),
    [dict(x=f32(3, 1), to=i64(to)) for to in ([3, 4], [2, 3, 5])], constant=["to"])
own("pad_as_said", [node("Pad", ["x", "p"], ["q"], mode="reflect"), node("Abs", ["q"], ["y"])], [("x", F, [3, 4]), ("p", I, [4])], [("y", F)], (),
    [dict(x=f32(3, 4), p=i64(p)) for p in ([0, 1, 2, 1], [1, -1, 0, 2])], constant=["p"])
own("resize_as_said", [node("Resize", ["x", "", "", "to"], ["y"], mode="linear")], [("x", F, [1, 2, 3, 4]), ("to", I, [4])], [("y", F)], (),
    [dict(x=f32(1, 2, 3, 4), to=i64(to)) for to in ([1, 2, 6, 7], [1, 2, 2, 3])], constant=["to"])
own("split_as_said", [node("Split", ["x", "n"], ["a", "b"], axis=1), node("ReduceSum", ["a"], ["y"], keepdims=0)], [("x", F, [2, 6]), ("n", I, [2])], [("y", F), ("b", F)], (),
    [dict(x=f32(2, 6), n=i64(n)) for n in ([1, 5], [4, 2])], constant=["n"])
own("zeros_as_said", [node("ConstantOfShape", ["to"], ["z"]), node("Add", ["x", "z"], ["y"])], [("x", F, [3]), ("to", I, [2])], [("y", F)], (),
    [dict(x=f32(3), to=i64(to)) for to in ([1, 3], [4, 3])], constant=["to"])
own("sum_as_said", [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)], [("x", F, [2, 3, 4]), ("axes", I, ["n"])], [("y", F)], (),
    [dict(x=f32(2, 3, 4), axes=i64(axes)) for axes in ([0], [-1, 1])], constant=["axes"])

# ---- sequences ----
scaled = graph([node("MatMul", ["e", "w"], ["p"]), node("Relu", ["p"], ["r"])], [("e", F, None)], [("r",)])
own("sequence_map", [node("SplitToSequence", ["x", "two"], ["s"], axis=0), node("SequenceMap", ["s"], ["t"], body=scaled), node("ConcatFromSequence", ["t"], ["y"], axis=0)],
    [("x", F, [5, 3])], [("y", F)], {"two": i64(2), "w": f32(3, 4)}, [dict(x=f32(5, 3))])
own("sequence_order", [node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0), node("SequenceAt", ["s", "p"], ["a"]), node("SequenceInsert", ["s", "a", "zero"], ["t"]),
                       node("SequenceErase", ["t", "last"], ["u"]), node("ConcatFromSequence", ["u"], ["y"], axis=0, new_axis=1), node("SequenceLength", ["u"], ["n"])],
    [("x", F, [2, 4]), ("p", I, [])], [("y", F), ("n", I)], {"zero": i64(0), "last": i64(-1)}, [dict(x=f32(2, 4), p=i64(p)) for p in (0, 3, -2)])
own("sequence_chunks", [node("SplitToSequence", ["x", "n"], ["s"], axis=0), node("SequenceAt", ["s", "one"], ["a"]), node("SequenceAt", ["s", "zero"], ["b"]),
                        node("MatMul", ["b", "a"], ["y"])], [("x", F, [5, 3])], [("y", F)], {"n": i64([2, 3]), "one": i64(1), "zero": i64(0)}, [dict(x=f32(5, 3))])

# ---- recurrent networks, with lengths that a run says ----
for op, gates, more in (("RNN", 1, dict(activations=["Tanh", "Relu"], clip=0.8)), ("GRU", 3, dict(linear_before_reset=1)), ("LSTM", 4, dict(input_forget=0))):
    own(f"{op.lower()}_lengths", [node(op, ["x", "w", "r", "b", "n"], ["y", "h"], hidden_size=3, direction="bidirectional", **more)],
        [("x", F, [4, 2, 3]), ("n", TensorProto.INT32, [2])], [("y", F), ("h", F)], {"w": f32(2, 3 * gates, 3), "r": f32(2, 3 * gates, 3), "b": f32(2, 6 * gates)},
        [dict(x=f32(4, 2, 3), n=np.array(n, "i4")) for n in ([4, 4], [2, 4], [1, 3])])

# ---- places that a run says ----
own("scatter_nd_adds", [node("ScatterND", ["x", "at", "u"], ["y"], reduction="add")], [("x", F, [4, 3]), ("at", I, [3, 1]), ("u", F, [3, 3])], [("y", F)], (),
    [dict(x=f32(4, 3), at=i64(at), u=f32(3, 3)) for at in ([[0], [2], [0]], [[3], [-1], [1]])])
own("gather_backward", [node("GatherElements", ["x", "at"], ["y"], axis=0), node("GatherND", ["x", "nd"], ["z"])], [("x", F, [3, 2]), ("at", I, [2, 2]), ("nd", I, [2, 2])],
    [("y", F), ("z", F)], (), [dict(x=f32(3, 2), at=i64([[-1, 0], [2, -3]]), nd=i64([[0, 1], [-1, -2]]))])
own("reverse_lengths", [node("ReverseSequence", ["x", "n"], ["y"], batch_axis=1, time_axis=0)], [("x", F, [4, 3]), ("n", I, [3])], [("y", F)], (),
    [dict(x=f32(4, 3), n=i64(n)) for n in ([1, 2, 4], [4, 3, 2])])
own("roi_places", [node("RoiAlign", ["x", "r", "b"], ["y"], output_height=2, output_width=2, sampling_ratio=2, spatial_scale=1.0)],
    [("x", F, [2, 2, 6, 6]), ("r", F, [3, 4]), ("b", I, [3])], [("y", F)], (),
    [dict(x=f32(2, 2, 6, 6), r=np.array([[0, 0, 3, 3], [1, 2, 5, 5], [0.5, 0.5, 2, 4]], "f4"), b=i64([0, 1, 0]))], opset=16)
own("grid_places", [node("GridSample", ["x", "g"], ["y"], mode="bilinear", padding_mode="border", align_corners=1)], [("x", F, [1, 2, 4, 5]), ("g", F, [1, 3, 3, 2])],
    [("y", F)], (), [dict(x=f32(1, 2, 4, 5), g=f32(1, 3, 3, 2))], opset=16)
# A pool whose stride is above its kernel, behind an operator and in front of one: windows begin inside the input.
for padding in ("SAME_UPPER", "SAME_LOWER"):
    for op, more in (("AveragePool", {"ceil_mode": 1}), ("LpPool", {"p": 1})):
        own(f"{op}_{padding}_inside", [node("Abs", ["x"], ["a"]), node(op, ["a"], ["p"], kernel_shape=[2, 1], strides=[6, 4], auto_pad=padding, **more), node("Neg", ["p"], ["y"])],
            [("x", F, [1, 2, 18, 15])], [("y", F)], (), [{"x": f32(1, 2, 18, 15)}], opset=20)
own("quantised_on_the_way", [node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("MatMulInteger", ["q", "w", "z"], ["a"]), node("Cast", ["a"], ["f"], to=F),
                             node("Mul", ["f", "s"], ["y"])], [("x", F, [3, 4])], [("y", F)], {"w": RNG.integers(-60, 60, (4, 5)).astype("i1")},
    [dict(x=f32(3, 4)), dict(x=np.zeros((3, 4), "f4"))])
own("scale_of_a_run", [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["y"])], [("x", F, [2, 5]), ("s", F, []), ("z", TensorProto.INT8, [])],
    [("y", F), ("q", TensorProto.INT8)], (), [dict(x=4 * f32(2, 5), s=np.float32(s), z=np.array(z, "i1")) for s, z in ((0.5, 3), (0.01, -128))])

for c in onnx_control.CASES:
    if not c.refused:
        MODELS.append(Own(f"control_{c.name}", c.model, c.feeds, c.flags))
for name in counted_onnx.EVERY:
    options, model, make = counted_onnx.model_of(name)
    MODELS.append(Own(f"counted_{name}", model, [make(share) for share in counted_onnx.SHARES], options))


def differs(got, want):
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for k, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k}: {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        if not np.allclose(a, b, 1e-4, 1e-5, equal_nan=True):
            return f"output {k}: {a.ravel()[:6]}, not {b.ravel()[:6]}"
    return None


def made(m, k, to, *words):
    """Burin makes `to` of the model, as it is for run k: None, or its words of refusal."""
    words = [*words, *m.flags]
    for name, value in m.feeds[k].items():
        if name in m.constant:
            np.save(f"{name}.npy", value)
            words += ["--constant", f"{name}={name}.npy"]
        if name in m.constant or m.shaped:
            words += ["--shape", f"{name}={'x'.join(map(str, value.shape)) or 'scalar'}"]
    done = subprocess.run([os.environ["BURIN"], "compile", f"{m.name}.onnx", "-o", to, "--force", "--quiet", *words], capture_output=True, text=True, timeout=120)
    return first_error(done.stderr) if done.returncode else None


def evaluated(m, prefix, feed, count):
    """-> (arrays, None) or (None, why)"""
    words = m.flags if "--max-trips" in m.flags else []
    for name, value in feed.items():
        np.save(f"{name}.npy", value)
        words = [*words, "--input", f"{name}={name}.npy"]
    done = subprocess.run([os.environ["BURIN"], "run", f"{prefix}.ir", *words, "--output-dir", "out", "--force", "--quiet"], capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None, first_error(done.stderr)
    return [np.load(next(pathlib.Path("out").glob(f"output_{i}*"))) for i in range(count)], None


def main():
    only = sys.argv[2:] if sys.argv[1:2] == ["--only"] else None
    models = [m for m in MODELS if not only or m.name in only]
    faults, modules = [], {}
    os.chdir(tempfile.mkdtemp())
    for n, m in enumerate(models):
        onnx.save(m.model, f"{m.name}.onnx")
        for k in range(len(m.feeds) if m.each() else 1):
            prefix = f"m{n}_{k}"
            why = made(m, k, "c", "--prefix", prefix, "--layout", "single", "--no-check") or made(m, k, f"{prefix}.ir")
            if why:
                faults.append(f"{m.name}: {why}")
                break
            modules[prefix] = m
    built = batch.Batch("c", FLAGS)
    for prefix, why in built.build(list(modules)).items():
        faults.append(f"{modules.pop(prefix).name}: {why}")
    runs = 0
    for n, m in enumerate(models):
        for k, feed in enumerate(m.feeds):
            prefix, runs = f"m{n}_{k if m.each() else 0}", runs + 1
            if prefix not in modules:
                continue
            want = onnx_control.reference(m.model.SerializeToString(), feed)
            given = {i.name: feed[i.name] for i in m.model.graph.input if i.name not in m.constant}
            for way, (got, why) in (("the evaluator", evaluated(m, prefix, given, len(want))), ("C", built.run(prefix, list(given.values())))):
                why = why or differs(got, want)
                faults += [f"{m.name}, run {k}, {way}: {why}"] if why else []
    for fault in faults:
        print(fault)
    print(f"{len(models)} models, {sum(bool(m.constant) for m in models)} of them with inputs made constant; {runs} runs; {len(faults)} faults")
    sys.exit(bool(faults) or (not only and len(models) < AT_LEAST))


if __name__ == "__main__":
    main()
