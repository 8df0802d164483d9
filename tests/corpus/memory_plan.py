# ctest: name=corpus.memory_plan, labels=corpus, timeout=600
"""Models that say where their values may lie (--memory-plan).

TFLite Micro takes the places: its arena's head is the bytes that Burin says, the outputs are those of the model without them, and a
list whose offsets are moved moves the head. ONNX metadata is read by the onnx package: no two values share a byte while nodes use
both, and ONNX Runtime runs the model. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np

import support

REAL = "corpus/tflite/real/"
# model -> the head of TFLite Micro's own planner
TFLM = {"mlperf_tiny/kws_int8": 16000, "mlperf_tiny/vww96_int8": 73728, "mlperf_tiny/ic_resnet8_int8": 49152, "mlperf_tiny/ad_toycar_int8_intio": 768,
        "mlperf_tiny/strm_ww_ref": 6656, "mlperf_tiny/ic_resnet8_float": 196608, "tflm/person_detect": None}
# those where that is above what we say
LESS = {"mlperf_tiny/vww96_int8": 55296}
HEAD = re.compile(r"Arena allocation head (\d+) bytes")
RUN = """
import sys, numpy as np, tflite_micro
it = tflite_micro.runtime.Interpreter.from_file(sys.argv[1], arena_size=int(sys.argv[2]))
rng, out = np.random.default_rng(7), []
for _ in range(2):
    for k in range(int(sys.argv[3])):
        d = it.get_input_details(k)
        whole = np.issubdtype(d["dtype"], np.integer)
        it.set_input(rng.integers(-100, 100, d["shape"]).astype(d["dtype"]) if whole else rng.uniform(-1, 1, d["shape"]).astype(d["dtype"]), k)
    it.invoke()
    out.append(np.array(it.get_output(0)).ravel())
it.print_allocations()
np.save(sys.argv[4], np.stack(out))
"""


def run_tflm(path, arena=1 << 20):
    """-> the head's bytes, the outputs"""
    done = subprocess.run([sys.executable, "-c", RUN, path, str(arena), "1", "out.npy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    head = HEAD.search(done.stdout + done.stderr)
    assert head, "TFLite Micro says nothing of its arena"
    return int(head.group(1)), np.load("out.npy")


def said(done):
    bytes_, values = re.search(r"memory plan: (\d+) bytes for (\d+) values", done.stderr).groups()
    return int(bytes_), int(values)


def moved(model, by):
    """The same file, each place of the list moved on by so many bytes."""
    from tflite_micro.python.tflite_micro.runtime import convert_bytearray_to_object
    m = convert_bytearray_to_object(bytearray(model))
    one, = [d for d in m.metadata if d.name == b"OfflineMemoryAllocation"]
    raw = bytes(m.buffers[one.buffer].data)
    n = len(raw) // 4
    old = struct.unpack(f"<{n}i", raw)
    assert old[:3] == (1, 0, n - 3) and n - 3 == len(m.subgraphs[0].tensors)
    assert model.count(raw) == 1
    new = [v + by if i >= 3 and v >= 0 else v for i, v in enumerate(old)]
    return model.replace(raw, struct.pack(f"<{n}i", *new))


def tflite():
    for name, own in TFLM.items():
        path = support.shared(f"{REAL}{name}.tflite")
        bytes_, _ = said(support.burin("compile", path, "--memory-plan", "--no-check", "-o", "placed.tflite", "--force"))
        model = open("placed.tflite", "rb").read()
        plain, wanted = run_tflm(str(path))
        head, got = run_tflm("placed.tflite")
        assert own is None or plain == own, (name, plain)
        assert head == bytes_ and head <= plain, (name, head, bytes_, plain)
        assert LESS.get(name, head) == head, (name, head)
        assert np.array_equal(got, wanted), f"{name}: other outputs"
        open("moved.tflite", "wb").write(moved(model, 4096))
        assert run_tflm("moved.tflite")[0] == head + 4096, f"{name}: the list has no effect"
        # the places are of that file: of what is read and written again there are none
        support.burin("compile", "placed.tflite", "--no-check", "-o", "again.tflite", "--force")
        assert b"OfflineMemoryAllocation" not in open("again.tflite", "rb").read()
        print(f"{name}: head {plain} -> {head} bytes")


def names_in(node):
    """Its own and those of its graphs."""
    return [*node.input, *node.output, *(n for a in node.attribute for inner in a.g.node for n in names_in(inner)), *(o.name for a in node.attribute for o in a.g.output)]


def check_places(graph, plan):
    """Sizes by shape inference; who uses what, by the nodes."""
    uses = {}
    for k, node in enumerate(graph.node):
        for name in names_in(node):
            uses.setdefault(name, []).append(k)
    for i in graph.input:
        uses.setdefault(i.name, []).append(0)
    for o in graph.output:
        uses.setdefault(o.name, []).append(len(graph.node) - 1)
    constants = {i.name for i in graph.initializer}
    places = plan["values"]
    for name, p in places.items():
        assert name not in constants and (p["first"], p["last"]) == (min(uses[name]), max(uses[name])), name
        assert p["offset"] % plan["alignment"] == 0 and p["offset"] + p["bytes"] <= plan["bytes"]
    for v in [*graph.input, *graph.output]:
        t = v.type.tensor_type
        if v.name in places:
            import onnx
            size = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(t.elem_type)).itemsize
            assert places[v.name]["bytes"] == size * int(np.prod([d.dim_value for d in t.shape.dim])), v.name
    order = sorted(places.items(), key=lambda p: p[1]["offset"])
    for i, (a, p) in enumerate(order):
        for b, q in order[i + 1:]:
            if q["offset"] >= p["offset"] + p["bytes"]:
                break
            assert q["last"] < p["first"] or p["last"] < q["first"], f"{a} and {b} share bytes"


def onnx_models():
    import onnx
    import onnxruntime
    for name, *words in [("tflite/real/mlperf_tiny/kws_int8.tflite",), ("tflite/real/mlperf_tiny/ic_resnet8_float.tflite",),
                         ("onnx/real/micro_kws_qdq/model.onnx", "--dim", "unk__68=1"), ("onnx/burn/subgraph__outer_scope_scan/model.onnx",)]:
        path = support.shared(f"corpus/{name}")
        bytes_, values = said(support.burin("compile", path, *words, "--memory-plan", "--no-check", "-o", "placed.onnx", "--force"))
        model = onnx.load("placed.onnx")
        entry, = [e for e in model.metadata_props if e.key == "burin.memory_plan"]
        plan = json.loads(entry.value)
        assert plan["version"] == 1 and plan["bytes"] == bytes_ and len(plan["values"]) == values > 1
        check_places(model.graph, plan)
        onnx.checker.check_model(model, full_check=True)
        onnxruntime.InferenceSession("placed.onnx", providers=["CPUExecutionProvider"])
        support.burin("compile", "placed.onnx", "--no-check", "-o", "again.onnx", "--force")
        assert b"burin.memory_plan" not in open("again.onnx", "rb").read()
        print(f"{name}: {bytes_} bytes for {values} values")


os.chdir(tempfile.mkdtemp())
tflite()
onnx_models()
