# ctest: name=e2e.write_tflite, timeout=300
"""burin compile to TFLite: the extension implies the target, the file is read again, levels, refusals and exit statuses."""
import os
import pathlib
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())


def ir(name, node):
    pathlib.Path(name).write_text('burin 1\nmodel "a" "b"\ngraph "g" 0 {\n  tensor %0 f32[1,4] "x"\n  tensor %1 f32[1,4] "y"\n'
                                  f'  inputs (%0)\n  outputs (%1)\n  node {node}\n}}\n')
    return name


# ---- the extension implies the target; what was written is read again and compared ----
done = burin("compile", "dense.tflite", "-o", "out.tflite")
assert done.stderr == "", done.stderr
assert "checked: read again as the same graph; 4 inputs compared with the model as it was read" in done.stdout, done.stdout
first = pathlib.Path("out.tflite").read_bytes()
assert first[4:8] == b"TFL3"
assert "out.tflite exists and was kept" in burin("compile", "dense.tflite", "-o", "out.tflite", status=1).stderr
done = burin("compile", "dense.tflite", "--target", "tflite", "-o", "plain", "--no-check")
assert "not checked: --no-check" in done.stdout and pathlib.Path("plain").read_bytes() == first

# ---- every level: it computes the same, and what is read from it is written as the same bytes ----
for level in "012":
    burin("compile", "dense.tflite", "-O", level, "-o", f"o{level}.tflite")
    burin("compile", f"o{level}.tflite", "-O", "0", "-o", f"again{level}.tflite")
    assert pathlib.Path(f"o{level}.tflite").read_bytes() == pathlib.Path(f"again{level}.tflite").read_bytes()
    for m in ("dense.tflite", f"o{level}.tflite"):
        burin("run", m, "--seed", "7", "--output-dir", f"{m}.d", "--quiet", "--force")
    assert pathlib.Path("dense.tflite.d/output_0.npy").read_bytes() == pathlib.Path(f"o{level}.tflite.d/output_0.npy").read_bytes()

# ---- from the text form; what TFLite cannot say is refused by name, and nothing is left ----
assert "read again" in burin("compile", ir("gelu.ir", "gelu (%0) -> (%1) {approximate: int 0}"), "-o", "gelu.tflite").stdout
done = burin("compile", ir("pool.ir", "reduce_max (%0) -> (%1) {axes: ints [], keepdims: int 2305843009213693952}"), "-O", "0", "-o",
             "pool.tflite", status=1)
assert "reduce_max" in done.stderr and not pathlib.Path("pool.tflite").exists(), done.stderr

# a window of 3 over 2: SAME says its padding, VALID would pad in a placeholder only
pathlib.Path("window.ir").write_text("""burin 1
model "ir" "window.ir"
graph "main" 0 {
  tensor %0 f32[1,2,2,1] "x"
  tensor %1 f32[1,1,1,1] "y"
  inputs (%0)
  outputs (%1)
  node max_pool2d (%0) -> (%1) {kernel: ints [3, 3], strides: ints [2, 2], pads: ints [0, 0, 1, 1], act: text "none"}
}
""")
assert "read again" in burin("compile", "window.ir", "-o", "window.tflite").stdout

# ---- options without effect are errors ----
for option in (["--device", "cortex-m4"], ["--prefix", "p"], ["--compiler", "cc"], ["--test", "1"], ["--weights", "blob"]):
    assert option[0] in burin("compile", "dense.tflite", "-o", "never.tflite", *option, status=2).stderr
assert not pathlib.Path("never.tflite").exists()
assert "tflite" in burin("targets").stdout
