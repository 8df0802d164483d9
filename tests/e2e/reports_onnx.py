# ctest: name=e2e.reports_onnx, timeout=900
"""Faults that users of other ONNX tools reported, as models of our own, evaluated and as emitted C. Expected values by hand. Those that
are TFLite's are in reports.py; which report is which test: docs/ONNX.md."""
import json
import os
import pathlib
import struct
import tempfile

import onnx_build as onnx
from support import burin

os.chdir(tempfile.mkdtemp())
MS = (("com.microsoft", 1),)


def check(name, nodes, inputs, outputs, constants=(), opset=21, domains=()):
    """inputs: (name, type, dims, numbers); outputs: (name, type, dims, numbers), which both providers must give."""
    pathlib.Path(f"{name}.onnx").write_bytes(onnx.model(onnx.graph(
        nodes, [onnx.value(n, t, d) for n, t, d, _ in inputs], [onnx.value(n, t) for n, t, *_ in outputs], constants), opset=opset, domains=domains))
    words = []
    for n, t, _, numbers in inputs:
        pathlib.Path(f"{n}.bin").write_bytes(onnx.raw(t, numbers))
        words += ["--input", f"{n}={n}.bin"]
    for provider in ("reference", "host"):
        done = burin("run", f"{name}.onnx", *words, "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force", "--json")
        for k, (_, t, dims, want) in enumerate(outputs):
            said = json.loads(done.stdout)["outputs"][k]
            data = pathlib.Path(f"out/output_{k}.bin").read_bytes()
            got = list(struct.unpack(f"<{len(data) // struct.calcsize(onnx.PACK[t])}{onnx.PACK[t]}", data))
            assert said["type"] == t and said["shape"] == dims and got == want, (name, provider, said, got, want)


# ---- onnxruntime 16105: sums of u8 x s8 are exact. 210*-81 + 198*-80 is -32850, which 16 bits do not hold ----
X, W = [210, 198, 234], [-81, -80, 127]
EXACT = 210 * -81 + 198 * -80 + 234 * 127
assert EXACT == -3132
QUANT = [onnx.tensor("s", "f32", [], [0.01]), onnx.tensor("zx", "u8", [], [0]), onnx.tensor("zw", "i8", [], [0]), onnx.tensor("zy", "u8", [], [128])]
column, filters = onnx.tensor("w", "i8", [3, 1], W), onnx.tensor("w", "i8", [1, 3, 1, 1], W)
check("matmul_integer", [onnx.node("MatMulInteger", ["x", "w", "zx", "zw"], ["y"])], [("x", "u8", [1, 3], X)], [("y", "i32", [1, 1], [EXACT])], [column, *QUANT])
check("conv_integer", [onnx.node("ConvInteger", ["x", "w", "zx", "zw"], ["y"])], [("x", "u8", [1, 3, 1, 1], X)], [("y", "i32", [1, 1, 1, 1], [EXACT])],
      [filters, *QUANT])
# -3132 * 0.01 * 0.01 / 0.01 = -31.32, from 128: 97; of sums held to 16 bits 98
check("qlinear_matmul", [onnx.node("QLinearMatMul", ["x", "s", "zx", "w", "s", "zw", "s", "zy"], ["y"])], [("x", "u8", [1, 3], X)], [("y", "u8", [1, 1], [97])],
      [column, *QUANT])
check("qlinear_conv", [onnx.node("QLinearConv", ["x", "s", "zx", "w", "s", "zw", "s", "zy"], ["y"])], [("x", "u8", [1, 3, 1, 1], X)],
      [("y", "u8", [1, 1, 1, 1], [97])], [filters, *QUANT])
check("qgemm", [onnx.node("QGemm", ["x", "s", "zx", "w", "s", "zw", "", "s", "zy"], ["y"], domain="com.microsoft")], [("x", "u8", [1, 3], X)],
      [("y", "u8", [1, 1], [97])], [column, *QUANT], domains=MS)

# ---- onnxruntime 13915, 24518: a scale and a zero point of one element, with and without a dimension, are per tensor ----
REALS = [1.0, 2.0, -1.0, 0.5]  # times 1, plus 0.75: 1.75 2.75 -0.25 1.25
for number, ranks in enumerate((([], [1], []), ([1], [], [1]), ([1], [1], [1]))):
    rx, rw, rb = ranks
    scales = [onnx.tensor("sx", "f32", rx, [0.5]), onnx.tensor("zx", "i8", rx, [0]), onnx.tensor("sw", "f32", rw, [0.5]), onnx.tensor("zw", "i8", rw, [0]),
              onnx.tensor("sb", "f32", rb, [0.25]), onnx.tensor("zb", "i32", rb, [0]), onnx.tensor("sy", "f32", rb, [0.25]), onnx.tensor("zy", "i8", rb, [0]),
              onnx.tensor("w", "i8", [1, 1, 1, 1], [2]), onnx.tensor("b", "i32", [1], [3])]
    check(f"qdq_{number}", [onnx.node("QuantizeLinear", ["x", "sx", "zx"], ["xq"]), onnx.node("DequantizeLinear", ["xq", "sx", "zx"], ["xd"]),
                            onnx.node("DequantizeLinear", ["w", "sw", "zw"], ["wd"]), onnx.node("DequantizeLinear", ["b", "sb", "zb"], ["bd"]),
                            onnx.node("Conv", ["xd", "wd", "bd"], ["c"]), onnx.node("QuantizeLinear", ["c", "sy", "zy"], ["yq"]),
                            onnx.node("DequantizeLinear", ["yq", "sy", "zy"], ["y"])],
          [("x", "f32", [1, 1, 2, 2], REALS)], [("y", "f32", [1, 1, 2, 2], [1.75, 2.75, -0.25, 1.25]), ("yq", "i8", [1, 1, 2, 2], [7, 11, -1, 5])], scales)
    check(f"qlinear_{number}", [onnx.node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"])],
          [("x", "i8", [1, 1, 2, 2], [2, 4, -2, 1])], [("y", "i8", [1, 1, 2, 2], [7, 11, -1, 5])], scales)

# ---- tvm 16646: each channel its own zero point of unsigned weights. Scales are powers of two, so that nothing is rounded but the end ----
SIDE, OUT, ZERO = 224, 112, [128, 127, 120]
x = [(7 * i + i // 11) % 256 for i in range(3 * SIDE * SIDE)]
w = [(37 * i + 100) % 256 for i in range(81)]
want = []
for o in range(3):
    shift = (15, 14, 16)[o]  # 2^-7 * (2^-6, 2^-5, 2^-7) / 2^2
    for r in range(OUT):
        for c in range(OUT):
            total = 0
            for i in range(3):
                for a in range(3):
                    for b in range(3):
                        h, v = 2 * r + a - 1, 2 * c + b - 1
                        if 0 <= h < SIDE and 0 <= v < SIDE:
                            total += (x[(i * SIDE + h) * SIDE + v] - 100) * (w[((o * 3 + i) * 3 + a) * 3 + b] - ZERO[o])
            want.append(max(0, min(255, round(total / 2 ** shift) + 90)))  # round: ties to even, as ONNX has it
assert len(set(want)) > 5
check("per_channel", [onnx.node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])],
      [("x", "u8", [1, 3, SIDE, SIDE], x)], [("y", "u8", [1, 3, OUT, OUT], want)],
      [onnx.tensor("sx", "f32", [], [2 ** -7]), onnx.tensor("zx", "u8", [], [100]), onnx.tensor("w", "u8", [3, 3, 3, 3], w),
       onnx.tensor("sw", "f32", [3], [2 ** -6, 2 ** -5, 2 ** -7]), onnx.tensor("zw", "u8", [3], ZERO), onnx.tensor("sy", "f32", [], [4.0]),
       onnx.tensor("zy", "u8", [], [90])])

# ---- onnxruntime 11415: a depthwise convolution whose channels have scales of their own ----
# 2*(200-128)*0.5 = 72, *(1/8) = 9; channel 1: -3*(28)*0.25 = -21; channel 2: 1*(-128)*1 = -128; in steps of 1 from 128, u8
check("depthwise", [onnx.node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy"], ["y"], group=3)],
      [("x", "u8", [1, 3, 1, 2], [200, 128, 156, 129, 0, 255])], [("y", "u8", [1, 3, 1, 2], [200, 128, 107, 127, 0, 255])],
      [onnx.tensor("sx", "f32", [], [1.0]), onnx.tensor("zx", "u8", [], [128]), onnx.tensor("w", "i8", [3, 1, 1, 1], [2, -3, 1]),
       onnx.tensor("sw", "f32", [3], [0.5, 0.25, 1.0]), onnx.tensor("zw", "i8", [3], [0, 0, 0]), onnx.tensor("sy", "f32", [], [1.0]),
       onnx.tensor("zy", "u8", [], [128])])

# ---- onnx 4958, onnxruntime 16203: windows that ceil_mode adds ----
NINE = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
for opset in (19, 22):
    # begins at -3, 0, 3, 6; the last reaches one beyond the padding, which is no element of it
    check(f"ceil_without_{opset}", [onnx.node("AveragePool", ["x"], ["y"], kernel_shape=[7], strides=[3], pads=[3, 3], ceil_mode=1)],
          [("x", "f32", [1, 1, 9], NINE)], [("y", "f32", [1, 1, 4], [2.5, 4.0, 6.5, 8.0])], opset=opset)
    # sums 10, 28, 39, 24 over 7, 7, 7 and 6: scaled by 7 and 6 they are whole
    check(f"ceil_with_{opset}", [onnx.node("AveragePool", ["x"], ["p"], kernel_shape=[7], strides=[3], pads=[3, 3], ceil_mode=1, count_include_pad=1),
                                 onnx.node("Mul", ["p", "k"], ["m"]), onnx.node("Round", ["m"], ["y"])],
          [("x", "f32", [1, 1, 9], NINE)], [("y", "f32", [1, 1, 4], [10.0, 28.0, 39.0, 24.0])], [onnx.tensor("k", "f32", [4], [7, 7, 7, 6])], opset=opset)
    # begins at -1, 2 and 5: the last would lie in the padding alone, and is none
    check(f"ceil_none_{opset}", [onnx.node("AveragePool", ["x"], ["y"], kernel_shape=[3], strides=[3], pads=[1, 1], ceil_mode=1)],
          [("x", "f32", [1, 1, 5], NINE[:5])], [("y", "f32", [1, 1, 2], [1.5, 4.0])], opset=opset)

# ---- tvm 19500: the report's picture ----
check("resize", [onnx.node("Resize", ["x", "", "k"], ["y"], mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor")],
      [("x", "f32", [1, 1, 3, 3], [float(v) for v in range(9)])], [("y", "f32", [1, 1, 4, 4], [0.0, 0, 1, 2, 0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8])],
      [onnx.tensor("k", "f32", [4], [1, 1, 1.5, 1.5])])

# ---- onnx2c 86: tensors without dimensions, constants and computed ones ----
check("scalars", [onnx.node("Constant", [], ["c"], value=("tensor", onnx.tensor("", "f32", [], [0.5]))), onnx.node("Mul", ["x", "c"], ["m"]),
                  onnx.node("Gather", ["m", "second"], ["y"]), onnx.node("Add", ["y", "c"], ["z"])],
      [("x", "f32", [3], [2, 6, 4])], [("m", "f32", [3], [1, 3, 2]), ("y", "f32", [], [3]), ("z", "f32", [], [3.5])], [onnx.tensor("second", "i64", [], [1])])

# ---- torch-mlir 4423: more padding than the filter has, so that the result is cropped ----
# of [1, 12, 23, 34, 45, 50] two are taken away on each side
check("cropped", [onnx.node("ConvTranspose", ["x", "w"], ["y"], pads=[0, 2, 0, 2])], [("x", "f32", [1, 1, 1, 5], [1, 2, 3, 4, 5])],
      [("y", "f32", [1, 1, 1, 2], [23, 34])], [onnx.tensor("w", "f32", [1, 1, 1, 2], [1, 10])])

# ---- onnxruntime 26764: a place in memory is no place of data; files outside of the folder (onnx 3991) are in onnx.py ----
entry = onnx.field(13, onnx.field(1, "location") + onnx.field(2, "*/_ORT_MEM_ADDR_/*")) + onnx.field(13, onnx.field(1, "offset") + onnx.field(2, "4096"))
outside = onnx.field(1, 3) + onnx.field(2, 1) + onnx.field(8, "w") + entry + onnx.field(14, 1)
pathlib.Path("address.onnx").write_bytes(onnx.model(onnx.graph([onnx.node("Add", ["x", "w"], ["y"])], [onnx.value("x", "f32", [3])], [onnx.value("y", "f32")], [outside])))
done = burin("compile", "address.onnx", "-o", "c", status=1)
assert "graph/initializer[0]" in done.stderr and "external data: */_ORT_MEM_ADDR_/*" in done.stderr and not os.path.exists("c"), done.stderr
