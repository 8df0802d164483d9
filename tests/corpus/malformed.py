# ctest: name=corpus.malformed, labels=corpus, timeout=1800
"""Every malformed or unsupported .tflite and .onnx of the corpus, and damaged copies of good ones: refused with a message that names what is
wrong, in bounded time and memory, with nothing written; never a signal, never another status."""
import os
import subprocess
import sys
import tempfile

import support

harness = support.shared("tools/harness/malformed.py")
support.shared("corpus/MANIFEST.tsv")
burin = os.environ["BURIN"]
failed = 0
# Once a custom operator that nothing knew; its meaning is public, and the model compiles.
supported = os.path.join(tempfile.mkdtemp(), "supported")
with open(supported, "w") as f:
    f.write("coco_ssd_mobilenet_v1_uint8_postprocess\n")
for words in (["--only", "^tflite/", "--cmd", f"{burin} compile {{file}} -o {{out}}"],
              ["--only", "^onnx/", "--cmd", f"{burin} compile {{file}} -o {{out}}"],
              ["--only", "^mutant/(tflite|onnx)/", "--mutate", "6000", "--cmd", f"{burin} compile {{file}} -o {{out}} --no-check --quiet",
               "--cmd", f"{burin} inspect {{file}}"]):
    failed |= subprocess.run([sys.executable, harness, "--skip", supported, *words]).returncode
sys.exit(failed)
