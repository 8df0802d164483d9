# ctest: name=corpus.compile_all, labels=corpus, timeout=2400
"""burin compile with its check, over every model that people ship: each is compiled and checked operator by operator, or refused as
listed here with its reason; a difference (3), a fault (70), a signal, or a refusal that is not listed is a failure. The corpus's manifest
allows the listed ones to be refused.

  compile_all.py [--only PATTERN]
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import support

FOLDERS = ["real", "ops", "layers_mlperf", "ctrlflow_multisubgraph", "vectors_mlonmcu"]
MOST_REFUSED = 0.03  # of them

# What the file leaves to its caller, or what its custom operator means: (option, contents of a file)...
GIVEN = {
    "ops/litert/simple_squeeze": [("--shape", "1x1x3")],
    "ops/litert/java_tile_with_bool_input": [("--constant", "multiplier=", struct.pack("<3i", 2, 1, 2))],
    "ops/litert/simple_tile_op__f9c267fc": [("--constant", "1=", struct.pack("<4i", 1, 1, 1, 2))],
    "real/litert/torchaudio_conformer": [("--check-cases", "1")],  # 4 take minutes
    "ops/litert/dynamic_shapes": [("--constant", "z=", struct.pack("<f", 4))],
    "vectors_mlonmcu/model_with_add2/model_with_add2": [
        ("--ops", "", b"op Add2\nattr T:int = 0\nin A:f32[I..] B:f32[I..]\n-> Y:f32\nY[o..<I..] = A[o..] + B[o..]\n")],
}

# What the corpus allows to be refused with a clear error: words of the message. The runtimes refuse all of these, too.
REFUSED = {
    "ctrlflow_multisubgraph/tfls_id_detector_19_subgraphs": "TensorFlow operator",
    "ops/helia/softmax_scale_unsupported": "SOFTMAX/inputs: [0] is absent",
    "ops/litert/blockwise_quantized": "ADD of a tensor that is quantised in blocks",  # LiteRT dies of it
    "ops/litert/quant_svdf_calibrated": "extent 1 is 9, and must be 42",  # the state's
    "ops/litert/quant_svdf_quantized": "extent 1 is 9, and must be 42",
    "ops/litert/quant_transpose": "schema version 2",
}


def compile_one(root, name):
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for k, (option, value, *contents) in enumerate(GIVEN.get(name, [])):
            path = pathlib.Path(folder, f"given{k}.op")
            path.write_bytes(contents[0] if contents else b"")
            words += [option, f"{value}{path}" if contents else value]
        out = pathlib.Path(folder, "out")
        done = subprocess.run([os.environ["BURIN"], "compile", root / f"{name}.tflite", *words, "-o", out, "--json"], capture_output=True,
                              text=True, errors="replace")
        checked = done.returncode == 0 and json.loads(done.stdout)["checked"]
        return name, done.returncode, checked, done.stderr, out.exists()


def verdict(name, status, checked, message, written):
    """(what it is, why), or a failure."""
    words = REFUSED.get(name)
    if status == 0 and checked and written and not words:
        return "checked", ""
    if status == 1 and not written and words and words in message:
        return "refused", message.splitlines()[-1][:200]
    return "FAILED", f"status {status}{'' if checked else ', not checked'}: {(message.splitlines() or ['(no message)'])[0][:300]}"


def expected(root):
    """{name: what the corpus's manifest says must become of the model}"""
    rows = [line.split("\t") for line in (root.parent / "MANIFEST.tsv").read_text().splitlines()]
    return {row[0].removeprefix("tflite/").removesuffix(".tflite"): row[5] for row in rows if len(row) > 5 and row[0].endswith(".tflite")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    root = support.shared("corpus/tflite")
    models = sorted(str(p.relative_to(root).with_suffix("")) for folder in FOLDERS for p in (root / folder).rglob("*.tflite"))
    chosen = [name for name in models if re.search(options.only, name)]
    count = {"checked": 0, "refused": 0, "FAILED": 0}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, *result in pool.map(lambda name: compile_one(root, name), chosen):
            what, why = verdict(name, *result)
            count[what] += 1
            if what != "checked":
                print(what, name, why, flush=True)
    print(f"{len(chosen)} models: {count['checked']} are compiled and checked, {count['refused']} refused, {count['FAILED']} fail")
    manifest = expected(root)
    allowed = {name for name in models if "error" in manifest[name]}
    assert set(REFUSED) <= allowed and len(REFUSED) <= MOST_REFUSED * len(models), set(REFUSED) - allowed
    sys.exit(count["FAILED"] > 0 or count["checked"] == 0)


main()
