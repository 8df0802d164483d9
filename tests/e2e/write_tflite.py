# ctest: name=e2e.write_tflite, timeout=300
"""burin compile to TFLite: the extension implies the target, the file is read again, levels, refusals and exit statuses."""
import os
import pathlib
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())


def ir(name, node, model="a"):
    pathlib.Path(name).write_text(f'burin 1\nmodel "{model}" "b"\n'
                                  'graph "g" 0 {\n  tensor %0 f32[1,4] "x"\n  tensor %1 f32[1,4] "y"\n'
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
done = burin("compile", ir("pool.ir", "reduce_max (%0) -> (%1) {axes: ints [], keepdims: int 2305843009213693952}", "tflite"), "-O", "0", "-o",
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

# ---- what another target's passes would make is not made: reals stay the same bits, operators those of every runtime ----
pathlib.Path("scaled.ir").write_text("""burin 1
model "ir" "scaled.ir"
graph "main" 0 {
  tensor %0 f32[1,3] "x"
  tensor %1 f32[2,3] "w" = hex "3333333f6666663f9a99993f0ad7a33ccdcc4c3fcdcc8c3f"
  tensor %2 f32[2] "b" = hex "0000803f00000040"
  tensor %3 f32[1,2] "y"
  tensor %4 f32[2] "f" = hex "6666863f3333933f"
  tensor %5 f32[1,2] "z"
  tensor %6 f32[1] "one" = hex "0000803f"
  tensor %7 f32[1,2] "v"
  tensor %8 f32[1] "null" = hex "00000000"
  tensor %9 f32[1,2] "u"
  inputs (%0)
  outputs (%9)
  node fully_connected (%0, %1, %2) -> (%3) {act: text "none", keep_num_dims: int 0, asymmetric_quantize_inputs: int 0}
  node mul (%3, %4) -> (%5) {act: text "none"}
  node minimum (%5, %6) -> (%7)
  node maximum (%7, %8) -> (%9)
}
""")
for level in "012":
    done = burin("compile", "scaled.ir", "-O", level, "-o", f"scaled{level}.tflite")
    assert "read again as the same graph; 4 inputs compared" in done.stdout, done.stdout
    looked = burin("inspect", f"scaled{level}.tflite").stdout
    assert "MUL " in looked and "RELU_0_TO_1" not in looked, looked
# for C the factors go into the weights, which rounds them otherwise: no other values, but within the bound
assert "not checked" not in burin("compile", "scaled.ir", "-o", "scaled_c").stdout

# ---- constants that operators make of nearly nothing: doubled, and doubled again, until it is left to the run ----
sizes = [1 << k for k in range(10, 25)]
tensors = [f'  tensor %0 f32[{sizes[0]}] "x" = hex "{"00" * 4 * sizes[0]}"\n'] + [f'  tensor %{k} f32[{n}] "t{k}"\n' for k, n in enumerate(sizes) if k]
nodes = [f'  node concatenation (%{k}, %{k}) -> (%{k + 1}) {{axis: int 0, act: text "none"}}\n' for k in range(len(sizes) - 1)]
pathlib.Path("doubled.ir").write_text('burin 1\nmodel "a" "b"\ngraph "g" 0 {\n' + "".join(tensors) + f"  inputs ()\n  outputs (%{len(sizes) - 1})\n"
                                      + "".join(nodes) + "}\n")
burin("compile", "doubled.ir", "-o", "doubled.tflite", "--no-check", "--quiet")
assert 1 << 20 < os.path.getsize("doubled.tflite") < 1 << 26, os.path.getsize("doubled.tflite")
