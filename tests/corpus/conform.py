# ctest: name=corpus.conform, labels=corpus, timeout=2400
"""Providers that are built in are held to their contract on models that people run, TFLite and ONNX: burin conform fails no check.

The kit makes more than a thousand runs of each, of inputs that it makes. What a model's sessions must claim stands beside it: a test that claimed
less would prove less. Models of .cache/models, which scripts/setup check-all fetches, are skipped aloud where they are not.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import support

CORPUS = support.shared("corpus")
FOLDER = pathlib.Path(os.environ.get("BURIN_MODELS", support.SOURCE / ".cache/models"))
STATE = {"reset_is_new", "restore_exact", "restore_damaged"}
ALL = {"runs_equal", "create_memory", "prepare_memory", "no_allocation", "fork_apart", "threads", "whole_life"}
# provider: model, what it has
MODELS = {
    "reference": {
        "tflite/real/mlperf_tiny/kws_int8.tflite": ALL,
        "tflite/real/mlperf_tiny/vww96_int8.tflite": ALL,
        "tflite/real/mlperf_tiny/ic_resnet8_int8.tflite": ALL,
        "tflite/real/mlperf_tiny/ad_toycar_int8_intio.tflite": ALL,
        "tflite/real/tflm/mnist_lstm_int8.tflite": ALL | STATE,
        "tflite/real/tflm/keyword_scrambled_svdf16x8.tflite": ALL | STATE,
        "tflite/ops/litert/quant_lstm_calibrated.tflite": ALL | STATE,
        "tflite/ctrlflow_multisubgraph/litert_quant_resource_vars_calibrated.tflite": ALL,
        "tflite/ctrlflow_multisubgraph/litert_simple_group_norm_op.tflite": ALL,
        "onnx/real/micro_kws_fp32/model.onnx": ALL,
        "onnx/real/micro_kws_qoperator/model.onnx": ALL,
        "onnx/real/ort_mnist/model.onnx": ALL,
        "onnx/backend_node/test_lstm_defaults/model.onnx": ALL,
        FOLDER / "mww_alexa.tflite": ALL | STATE,
        FOLDER / "oww_hey_jarvis_if.tflite": ALL,
    },
    "module": {
        "tflite/real/mlperf_tiny/kws_int8.tflite": ALL,
        "tflite/real/mlperf_tiny/vww96_int8.tflite": ALL,
        "tflite/real/tflm/mnist_lstm_int8.tflite": ALL | STATE,
        "tflite/real/tflm/keyword_scrambled_svdf16x8.tflite": ALL | STATE,
        "onnx/real/micro_kws_fp32/model.onnx": ALL,
        FOLDER / "mww_alexa.tflite": ALL | STATE,
        FOLDER / "oww_hey_jarvis_if.tflite": ALL,
    },
}


def as_module(model, folder):
    """The model compiled, with the glue of burin/module.h, as a shared object."""
    support.burin("compile", model, "--target", "c", "--prefix", "net", "--layout", "single", "--no-check", "-o", folder)
    glue = pathlib.Path(folder, "glue.c")
    glue.write_text('#include "net.h"\n#define BURIN_MODULE net\n#include <burin/module.h>\n')
    subprocess.run(["cc", "-std=c99", "-shared", "-fPIC", "-O2", "-I", support.SOURCE / "include", f"{folder}/net.c", glue, "-o",
                    f"{folder}/net.so", "-lm"], check=True)
    return f"{folder}/net.so"


failed = 0
for provider, models in MODELS.items():
    for model, has in models.items():
        if not (CORPUS / model).exists() and FOLDER in (CORPUS / model).parents:
            print(f"skipped: no {model}", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            file = as_module(CORPUS / model, folder) if provider == "module" else CORPUS / model
            done = subprocess.run([os.environ["BURIN"], "conform", provider, file, "--json"], capture_output=True, text=True)
        if done.returncode not in (0, 3):
            sys.exit(f"{provider} {model}: exit {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout)
        passed = {c["name"] for c in result["checks"] if c["verdict"] == "pass"}
        bad = [f"{c['name']}: {c.get('why', '')}" for c in result["checks"] if c["verdict"] == "fail"]
        bad += [f"{name} was not claimed" for name in sorted(has - passed)]
        print(f"{provider} {model}: {result['passed']} pass, {result['failed']} fail", *bad, sep="\n  ", flush=True)
        failed += bool(bad)
sys.exit(failed > 0)
