#!/usr/bin/env python3
# ctest: name=e2e.quantised
"""A quantised network with its scales at operators, as ONNX has them and channels first, becomes a TFLite model on integers, and that an ONNX model
of the QDQ form again: by the words that are left, and by what each computes, within a step of the first.
"""
import pathlib
import re
import sys
import tempfile

from support import burin

# Weights of two filters with a scale each, a bias; then a mean over 2x2 with other scales.
GRAPH = """burin 1
model "ir" "m"
graph "g" 0 {
tensor %0 u8[1,2,5,5] "x"
tensor %1 f32[1,2,5,5] "xr"
tensor %2 f32[] "xs" = hex "0000003e"
tensor %3 u8[] "xz" = hex "80"
tensor %4 i8[2,2,2,2] "w" = hex "0102030405060708f1f2f3f4f5f6f7f8"
tensor %5 f32[2,2,2,2] "wr"
tensor %6 f32[2] "ws" = hex "0000003d0000803d"
tensor %7 i8[2] "wz" = hex "0000"
tensor %8 f32[2] "b" = hex "0000003f000080bf"
tensor %9 f32[1,2,4,4] "y"
tensor %10 u8[1,2,4,4] "yq"
tensor %11 f32[] "ys" = hex "0000803d"
tensor %12 u8[] "yz" = hex "00"
tensor %13 f32[1,2,4,4] "yr"
tensor %14 f32[1,2,2,2] "p"
tensor %15 u8[1,2,2,2] "pq"
tensor %16 f32[] "ps" = hex "0000003e"
inputs (%0)
outputs (%15)
node dequantize_linear (%0, %2, %3) -> (%1) {axis: int 1} ids [0]
node dequantize_linear (%4, %6, %7) -> (%5) {axis: int 0} ids [1]
node conv (%1, %5, %8) -> (%9) {strides: ints [1,1], dilations: ints [1,1], pads: ints [0,0,0,0]} ids [2]
node quantize_linear (%9, %11, %12) -> (%10) {axis: int 1, precision: text "f32"} ids [3]
node dequantize_linear (%10, %11, %12) -> (%13) {axis: int 1} ids [4]
node average_pool (%13) -> (%14) {kernel_shape: ints [2,2], strides: ints [2,2], dilations: ints [1,1], pads: ints [0,0,0,0]} ids [5]
node quantize_linear (%14, %16, %12) -> (%15) {axis: int 1, precision: text "f32"} ids [6]
}
"""


def words(model):
    done = burin("compile", model, "--target", "ir", "-o", model.with_suffix(".words.ir"), "--force", "-O0")
    text = model.with_suffix(".words.ir").read_text()
    assert done.returncode == 0
    return re.findall(r"^ *node ([a-z0-9_]+)", text, re.M)


def run(model, folder):
    """The output for some fixed bytes."""
    values = bytes((k * 37 + 11) % 256 for k in range(50))
    (folder / "x.bin").write_bytes(values)
    burin("run", model, "--input", folder / "x.bin", "--output-dir", folder / "out", "--force", "--quiet")
    return (folder / "out/output_0.npy").read_bytes()[-8:]  # behind the header


def near(a, b, most):
    return len(a) == len(b) == 8 and len(set(a)) > 2 and all(abs(x - y) <= most for x, y in zip(a, b))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        first, tflite, back = folder / "m.ir", folder / "m.tflite", folder / "m.onnx"
        first.write_text(GRAPH)
        said = burin("compile", first, "-o", tflite)
        assert "0 of them between operators" in said.stdout + said.stderr, said
        found = words(tflite)
        assert [w for w in found if w not in ("reshape", "transpose")] == ["quantize", "conv2d", "average_pool2d", "quantize"], found
        assert near(run(first, folder), run(tflite, folder), 1), (run(first, folder), run(tflite, folder))
        said = burin("compile", tflite, "-o", back)
        assert "0 of them between operators" in said.stdout + said.stderr and "steps" in said.stdout + said.stderr, said
        found = words(back)
        assert "conv" in found and "average_pool" in found and found.count("dequantize_linear") >= 4, found
        assert near(run(tflite, folder), run(back, folder), 1), (run(tflite, folder), run(back, folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
