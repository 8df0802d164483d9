# ctest: name=corpus.onnx_invalid, labels=corpus, timeout=600
"""The corpus's ONNX files that are no models: each refused with exit status 1 and a message that says where, also when it is only looked
at; and its odd but valid ones: compiled, and equal to what ONNX Runtime recorded."""
import os
import pathlib
import subprocess
import sys
import tempfile

import support

BURIN = os.environ["BURIN"]
harness = support.shared("tools/harness/onnx_nodes.py")
folder = support.shared("corpus/onnx/invalid")
# What the message must say: where, and what is wrong. Whatever is not listed: a message with the file's name.
SAYS = {
    "built_broadcast_mismatch": "graph/node[0] Add: extents 3 and 4",
    "built_concat_axis_out_of_range": "graph/node[0] Concat: ",
    "built_conv_stride_zero": "graph/node[0] Conv: strides",
    "built_duplicate_output_name": "graph/node[1] Neg: output 0 is \"y\"",
    "built_external_data_dotdot": "graph/initializer[0]: external data: ../../../../etc/passwd: it has .. in it",
    "built_external_data_empty": "graph/initializer[0]: external data: ",
    "built_external_data_offset_huge": "graph/initializer[0]: external data: 24 bytes from byte 18446744073709551608 on",
    "built_initializer_no_data": "graph/initializer[0]: its values have fewer than the 24 bytes",
    "built_initializer_raw_too_long": "graph/initializer[0]: raw_data has 36 bytes",
    "built_input_dim_2_40": "graph/",
    "built_maxpool_kernel_larger_than_input": "graph/node[0] MaxPool: ",
    "built_no_graph": "the model has no graph",
    "built_opset_999": "opset_import[0]: version 999",
    "built_output_never_produced": "graph/output[0] \"y\": no node gives it",
    "built_reshape_incompatible": "graph/node[0] Reshape: ",
    "built_transpose_perm_repeated": "graph/node[0] Transpose: ",
    "built_undefined_input": "graph/node[0] Relu: input 0 is \"nope\"",
    "built_unknown_dtype_99": "graph/input[0]: element type 99",
    "built_unknown_op": "graph/node[0] Frobnicate: operator Frobnicate of ai.onnx is not supported",
    "built_varint_11_bytes": "a number of more than 64 bits",
    "ort_add_opset_314159": "opset_import[0]: version 314159",
    "ort_conv-float": "no ir_version",
    "ort_mul_1.noopset": "imports no operator set",
    "ort_test_arbitrary_external_file": "graph/initializer[0]: external data: ../../../../../../../etc/passwd: it has .. in it",
}
failed = []
names = sorted(path.parent.name for path in folder.glob("*/model.onnx"))
for name in names:
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([BURIN, "compile", folder / name / "model.onnx", "-o", f"{out}/c"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        left = os.listdir(out)
    line = done.stderr.splitlines()[0] if done.stderr else ""
    if done.returncode != 1 or not line.startswith("model.onnx: ") or SAYS.get(name, "") not in line or left:
        failed.append(f"{name}: exit {done.returncode}, {left or 'nothing written'}: {line}")
    looked = subprocess.run([BURIN, "inspect", folder / name / "model.onnx"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if looked.returncode not in (0, 1):
        failed.append(f"{name}: inspect: exit {looked.returncode}: {looked.stderr}")
missing = sorted(set(SAYS) - set(names))
print(f"{len(names)} files: {len(failed)} not refused as they should be")
for line in failed + [f"{name}: not in the corpus" for name in missing]:
    print("  ", line)
for provider in ("reference", "host"):
    command = f"{BURIN} run {{model}} {{inputs:--input}} --output-dir {{dir}} --quiet --provider {provider}"
    done = subprocess.run([sys.executable, harness, "--root", "edge_valid", "--cmd", command], capture_output=True, text=True)
    print(done.stdout)
    if " 0 failed," not in done.stdout or done.returncode:
        failed.append(provider)
sys.exit(bool(failed or missing or len(names) < 32))
