#!/usr/bin/env python3
"""Writes the seeds of the ONNX reader's fuzzer, tests/fuzz/seeds/onnx: small models, each with something of the format that no other has."""
import pathlib
import struct
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/support"))
import onnx_build as o  # noqa: E402

F, I = "f32", "i64"
x = o.value("x", F, [2, 3])
y = o.value("y", F)


def one(op, inputs=("x",), constants=(), given=(x,), outputs=("y",), opset=21, domain="", **attributes):
    """A model of one node."""
    body = o.graph([o.node(op, inputs, outputs, name="n", domain=domain, **attributes)], given, [o.field(1, n) for n in outputs if n], constants)
    return o.model(body, opset=opset, domains=[(domain, 1)] if domain else ())


def typed(number, values, packed=False, kind="i32"):
    """A tensor whose contents stand in a typed field."""
    numbers = b"".join(o.varint(v) for v in values) if packed else b""
    return (o.field(1, len(values)) + o.field(2, o.TYPES[kind]) + o.field(8, "w") +
            (o.field(number, numbers) if packed else b"".join(o.field(number, v) for v in values)))


def branches():
    then = o.graph([o.node("Add", ["x", "x"], ["t"])], [], [o.value("t", F)], name="then")
    other = o.graph([o.node("Relu", ["x"], ["e"])], [], [o.value("e", F)], name="else")
    return o.graph([o.node("If", ["c"], ["y"], then_branch=("graph", then), else_branch=("graph", other))], [x, o.value("c", "bool", [])], [y])


def loop():
    body = o.graph([o.node("Identity", ["go"], ["go2"]), o.node("Add", ["v", "x"], ["v2"])],
                   [o.value("i", I, []), o.value("go", "bool", []), o.value("v", F, [2, 3])], [o.value("go2", "bool"), o.value("v2", F)], name="body")
    return o.graph([o.node("Loop", ["n", "", "x"], ["y"], body=("graph", body))], [x], [y], [o.tensor("n", I, [], [3])])


def function():
    f = (o.field(1, "Twice") + o.field(4, "a") + o.field(5, "b") + o.field(6, "k") + o.field(10, "own") + o.field(9, o.field(1, "") + o.field(2, 21)) +
         o.field(7, o.node("Add", ["a", "a"], ["b"])))
    return o.model(o.graph([o.node("Twice", ["x"], ["y"], domain="own", k=1)], [x], [y]), domains=[("own", 1)], functions=[f])


def shapes():
    """The shape of one input makes another's."""
    return o.model(o.graph([o.node("Shape", ["x"], ["s"]), o.node("Gather", ["s", "i"], ["d"]), o.node("Concat", ["d", "m"], ["t"], axis=0),
                            o.node("Reshape", ["x", "t"], ["y"])], [x], [y], [o.tensor("i", I, [1], [0]), o.tensor("m", I, [1], [-1])]))


def no_shape():
    """The shape of a scalar, gathered by itself: nothing is read, and nothing is done for it."""
    return o.model(o.graph([o.node("Shape", ["x"], ["s"]), o.node("Gather", ["s", "s"], ["d"]), o.node("Concat", ["d", "m"], ["t"], axis=0),
                            o.node("Reshape", ["x", "t"], ["y"])], [o.value("x", F, [])], [y], [o.tensor("m", I, [1], [-1])]))


def external():
    w = o.field(1, 3) + o.field(2, 1) + o.field(8, "w") + o.field(13, o.field(1, "location") + o.field(2, "w.bin")) + o.field(14, 1)
    return one("Add", ["x", "w"], [w])


def sparse():
    w = o.field(1, o.tensor("w", F, [2], [1, 2])) + o.field(2, o.tensor("", I, [2, 2], [0, 1, 1, 2])) + o.field(3, 2) + o.field(3, 3)
    return o.model(o.graph([o.node("Add", ["x", "w"], ["y"])], [x], [y], more=o.field(15, w)))


image = o.value("x", F, [1, 2, 5, 5])
SEEDS = {
    "add": one("Add", ["x", "w"], [o.tensor("w", F, [3], [1, 2, 3])]),
    "typed_floats": one("Add", ["x", "w"], [o.field(1, 3) + o.field(2, 1) + o.field(8, "w") + o.field(4, struct.pack("<3f", 1, 2, 3))]),
    "typed_ints": one("Add", ["w", "w"], [typed(5, [1, -2, 3], packed=True)], given=()),
    "typed_longs": one("Add", ["w", "w"], [typed(7, [1, -2, 3], kind="i64")], given=()),
    "typed_halves": one("Cast", ["w"], [typed(5, [15360, 49152], kind="f16")], given=(), to=1),
    "nibbles": one("Cast", ["w"], [o.tensor("w", "i4", [3], data=b"\x87\x0f")], given=(), to=1, opset=23),
    "cast": one("Cast", to=10),
    "reduce_axes_attribute": one("ReduceMax", axes=[-1], keepdims=0, opset=13),
    "reduce_axes_input": one("ReduceMax", ["x", "a"], [o.tensor("a", I, [1], [-1])], opset=20),
    "transpose": one("Transpose", perm=[1, 0]),
    "conv": one("Conv", ["x", "w", "b"], [o.tensor("w", F, [3, 2, 3, 3], [0.5] * 54), o.tensor("b", F, [3], [1, 2, 3])], given=[image], pads=[1, 0, 1, 0],
                strides=[2, 1], dilations=[1, 1], group=1),
    "max_pool": one("MaxPool", given=[image], kernel_shape=[3, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    "gemm": one("Gemm", ["x", "w"], [o.tensor("w", F, [4, 3], [1.0] * 12)], alpha=0.5, transB=1),
    "softmax": one("Softmax", axis=-1, opset=13),
    "split": one("Split", ["x"], outputs=["y", "z"], axis=0, num_outputs=2),
    "lstm": one("LSTM", ["x", "w", "r"], [o.tensor("w", F, [1, 8, 3], [0.1] * 24), o.tensor("r", F, [1, 8, 2], [0.1] * 16)], given=[o.value("x", F, [2, 1, 3])],
                hidden_size=2),
    "quantize": one("QuantizeLinear", ["x", "s", "z"], [o.tensor("s", F, [], [0.1]), o.tensor("z", "i8", [], [3])]),
    "microsoft": one("FusedMatMul", ["x", "w"], [o.tensor("w", F, [3, 2], [1.0] * 6)], domain="com.microsoft", alpha=2.0),
    "non_zero": one("NonZero"),
    "constant": o.model(o.graph([o.node("Constant", [], ["c"], value=("tensor", o.tensor("", F, [3], [1, 2, 3]))), o.node("Add", ["x", "c"], ["y"])], [x], [y])),
    "constant_floats": o.model(o.graph([o.node("Constant", [], ["c"], value_floats=[1.0, 2.0, 3.0]), o.node("Mul", ["x", "c"], ["y"])], [x], [y])),
    "open_extents": o.model(o.graph([o.node("Relu", ["x"], ["y"])], [o.value("x", F, ["batch", None])], [y])),
    "two_outputs_of_one_value": o.model(o.graph([o.node("Identity", ["x"], ["y"]), o.node("Identity", ["x"], ["z"])], [x], [y, o.value("z", F)])),
    "if": o.model(branches()),
    "loop": o.model(loop()),
    "function": function(),
    "shapes": shapes(),
    "no_shape": no_shape(),
    "external": external(),
    "sparse": sparse(),
    "group": o.varint(99 << 3 | 3) + o.field(1, 5) + o.varint(99 << 3 | 4) + one("Relu"),
    "old": o.field(1, 3) + o.field(7, o.graph([o.node("Add", ["x", "w"], ["y"], axis=0, broadcast=1)], [x, o.value("w", F, [2])], [y],
                                              [o.tensor("w", F, [2], [1, 2])])) + o.field(8, o.field(2, 6)),
    "metadata": one("Relu") + o.field(14, o.field(1, "k") + o.field(2, "v")) + o.field(6, "what it does"),
    "tensor": o.tensor("t", F, [2], [1, 2]),
}

if __name__ == "__main__":
    folder = SOURCE / "tests/fuzz/seeds/onnx"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (folder / name).write_bytes(data)
