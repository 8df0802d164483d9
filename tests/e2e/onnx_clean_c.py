# ctest: name=e2e.onnx_clean_c, timeout=300
"""What is emitted for ONNX's operators builds without a warning where some were seen: comparisons of unsigned numbers with 0 and locals
that nothing reads; and computes what arithmetic by hand says."""
import os
import pathlib
import struct
import tempfile

import emitted
import onnx_build as onnx

os.chdir(tempfile.mkdtemp())
COMPILER = [os.environ.get("CC", "cc"), *emitted.STRICT]


def check(name, body, given, want, opset=21):
    path = pathlib.Path(f"{name}.onnx").absolute()
    path.write_bytes(onnx.model(body, opset))
    module = pathlib.Path(name).absolute()
    done = emitted.emit(path, module)
    assert done.returncode == 0, (name, done.stderr)
    program, why = emitted.build(module, COMPILER)
    assert program, (name, why)
    got, why = emitted.run(program, given)
    assert got == want, (name, why, got, want)


for direction in ("LEFT", "RIGHT"):
    numbers, counts = [1 << 63, 5, 7, 0, 3], [1, 64, 2, 3, 1 << 63]
    shift = (lambda a, n: a << n & (1 << 64) - 1) if direction == "LEFT" else (lambda a, n: a >> n)
    check(f"shift_{direction.lower()}",
          onnx.graph([onnx.node("BitShift", ["a", "b"], ["y"], direction=direction)], [onnx.value("a", "u64", [5]), onnx.value("b", "u64", [5])],
                     [onnx.value("y", "u64")]),
          struct.pack("<10Q", *numbers, *counts), struct.pack("<5Q", *(shift(a, n) if n < 64 else 0 for a, n in zip(numbers, counts))))

# columns of a 1x5 window, which covers each row of the image at one place
columns = [float(k) for k in range(25)]
check("columns", onnx.graph([onnx.node("Col2Im", ["x", "image", "block"], ["y"])], [onnx.value("x", "f32", [1, 5, 5])], [onnx.value("y", "f32")],
                            [onnx.tensor("image", "i64", [2], [5, 5]), onnx.tensor("block", "i64", [2], [1, 5])]),
      struct.pack("<25f", *columns), struct.pack("<25f", *(columns[5 * k + row] for row in range(5) for k in range(5))))
