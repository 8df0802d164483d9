# ctest: name=corpus.passes, labels=corpus, timeout=1800
"""The passes over a sample of networks: at every level the module's check finds the outputs of the evaluator on the graph as it was read
(integers the same, reals within their bound) and every operator as its definition says; and what the passes are for: no network needs
more memory than at -O0, but for the one of MORE, or more kernels than it did without them.
"""
import json
import os
import subprocess
import sys
import tempfile

import support

# Networks where each pass has work, and the kernels of code that there were before it: transposes around every operator, pads, batch
# normalisation, elementwise chains, splits and concatenations; and plain ones.
MODELS = {"real/mlperf_tiny/kws_int8.tflite": 13, "real/mlperf_tiny/ic_resnet8_int8.tflite": None, "real/tinyengine/vww.tflite": 63,
          "real/mlonmcu/lstm2.tflite": 22, "real/litert/classifier.tflite": 75, "real/litert/ff.tflite": 13,
          "real/openwakeword_npm/melspectrogram_float.tflite": 13, "real/tflite_support/dilated_conv_dynamic_old.tflite": 4,
          "real/tflm/keyword_scrambled_svdf16x8.tflite": None, "real/tinymaix/mnist_resnet_q.tflite": None}
# bytes more: the sums that its fused chains hold inside live beside what stays (lower bound 908 against 904), and placement adds the rest
MORE = {"real/litert/classifier.tflite": 16}
corpus = support.shared("corpus/tflite")
os.chdir(tempfile.mkdtemp())


def run(*words):
    done = subprocess.run([os.environ["BURIN"], *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.returncode, done.stderr)
    return done.stdout


def cost(model, level):
    plan = json.loads(run("plan", model, level, "--json"))
    kernels = sum(any(s["form"] != "alias" for s in k["stages"]) for k in plan["kernels"])
    return plan["arena"]["bytes"], kernels


failed = 0
for name, before in MODELS.items():
    model = corpus / name
    for level in ("-O0", "-O1", "-O2"):
        checked = json.loads(run("compile", model, "-o", "out", "--force", level, "--json"))["checked"]
        assert checked, (name, level)
    (arena, kernels), (least, fewest) = cost(model, "-O0"), cost(model, "-O1")
    better = least <= arena + MORE.get(name, 0) and fewest <= (before if before is not None else kernels)
    failed += not better
    print(f"{'' if better else 'FAILED '}{name}: arena {arena} -> {least}, kernels {kernels} -> {fewest}", flush=True)
sys.exit(failed > 0)
