# ctest: name=e2e.memory_plan, timeout=120
"""--memory-plan: a TFLite or ONNX model that says where its values may lie; by whom it is refused; it holds for one file."""
import json
import os
import pathlib
import struct
import tempfile

import made
from support import burin

os.chdir(tempfile.mkdtemp())
# a -> relu -> b -> relu -> c -> d = c + a: of 64, 64, 64, 64 bytes; a lives to the end, b and c beside it, d where b was
pathlib.Path("a.ir").write_text("""burin 1
model "tflite" "a.ir"
graph "main" 0 {
  tensor %0 f32[1,16] "a"
  tensor %1 f32[1,16] "b"
  tensor %2 f32[1,16] "c"
  tensor %3 f32[1,16] "d"
  inputs (%0)
  outputs (%3)
  node relu (%0) -> (%1)
  node tanh (%1) -> (%2)
  node add (%2, %0) -> (%3) {act: text "none"}
}
""")
done = burin("compile", "a.ir", "--memory-plan", "-o", "a.tflite")
assert "read again as the same graph" in done.stdout and "memory plan: 192 bytes for 4 values" in done.stderr, done.stderr
model = pathlib.Path("a.tflite").read_bytes()
assert b"OfflineMemoryAllocation" in model
at = model.index(struct.pack("<3i", 1, 0, 4))
a, b, c, d = struct.unpack_from("<4i", model, at + 12)
assert sorted([a, b, c]) == [0, 64, 128] and d == b, (a, b, c, d)

done = burin("compile", "a.ir", "--memory-plan", "-o", "a.onnx")
model = pathlib.Path("a.onnx").read_bytes()
plan, _ = json.JSONDecoder().raw_decode(model[model.index(b'{"version"'):].decode("utf-8", "replace"))
assert plan["bytes"] == 192 and plan["alignment"] == 16 and list(plan["values"]) == ["a", "b", "c", "d"], plan
assert [(v["bytes"], v["first"], v["last"]) for v in plan["values"].values()] == [(64, 0, 2), (64, 0, 1), (64, 1, 2), (64, 2, 2)], plan
assert plan["values"]["d"]["offset"] == plan["values"]["b"]["offset"]

# the same bytes each time; none without the option; none of a model that was read
for file in ("a.tflite", "a.onnx"):
    burin("compile", "a.ir", "--memory-plan", "-o", f"same.{file}")
    assert pathlib.Path(f"same.{file}").read_bytes() == pathlib.Path(file).read_bytes()
    for to in ("t.tflite", "t.onnx"):
        burin("compile", file, "-o", to, "--force")
        assert b"OfflineMemory" not in pathlib.Path(to).read_bytes() and b"memory_plan" not in pathlib.Path(to).read_bytes()

# TFLite Micro takes one list for all sub-graphs; other targets have no use for it
pathlib.Path("loop.ir").write_text(made.LOOP)
done = burin("compile", "loop.ir", "--memory-plan", "-o", "l.tflite", status=1)
assert "sub-graphs, and TFLite Micro takes places for one: leave out --memory-plan" in done.stderr, done.stderr
assert not pathlib.Path("l.tflite").exists()
for target in ("c", "ir", "null"):
    assert "memory-plan" in burin("compile", "a.ir", "--target", target, "--memory-plan", "-o", "x", status=2).stderr
