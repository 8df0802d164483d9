# ctest: name=corpus.moves, labels=corpus, timeout=1500
"""Real quantised networks with every move left out, one by one and all together: TFLM's outputs, bit for bit, from other code."""
import json
import pathlib
import subprocess
import sys

from support import burin, shared

MODELS = ("mlperf_tiny/kws_int8", "mlperf_tiny/vww96_int8", "mlperf_tiny/ic_resnet8_int8", "mlperf_tiny/ad_toycar_int8_intio",
          "mlperf_tiny/strm_ww_ref", "tflm/person_detect", "tflm/mnist_lstm_int8")
HOST = {"tflm/mnist_lstm_int8"}  # for this machine, which has the memory for what is computed before a recurrence
# what can change none of these: they have nothing of the kind
NOWHERE = {"clip", "parts", "order", "in-place", "moves", "requantise", "scale", "pad", "clamp", "fuse", "chain"}

goldens = shared("corpus/tflite/golden_tflm/real")
moves = [m["name"] for m in json.loads(burin("moves", "--json").stdout)]
acted, wrong = set(), 0
for name in MODELS:
    folder, model = goldens / name, goldens.parents[1] / "real" / f"{name}.tflite"
    wanted = (folder / "output_0.bin").read_bytes()
    first = ""
    for move in ["", *moves, ",".join(moves)]:
        out = pathlib.Path(name.replace("/", "_"), move.replace(",", "_") or "as_ever")
        without = ("--disable", move) if move else ()
        burin("compile", model, "-o", out, "--prefix", "m", "--device", "host" if name in HOST else "cortex-m4", "--no-check", "--quiet", "--force", *without)
        text = "".join((out / f).read_text() for f in ("m.c", "m_kernels.c", "m_weights.c", "m_internal.h"))
        first = first or text
        if move and text == first:
            continue
        acted |= {move} & set(moves)
        (out / "main.c").write_text("""#include <stdio.h>
#include "m.h"
static union { unsigned char bytes[m_ARENA_BYTES + 64]; long double aligned; } room;
int main(void) {
    m_model model;
    unsigned char *arena = room.bytes;
    while ((unsigned long)arena % m_ARENA_ALIGNMENT != 0) { arena++; }
    if (m_init(&model, arena, m_ARENA_BYTES) != m_OK ||
        fread(m_input(&model, 0), 1, m_input_info(0)->bytes, stdin) != m_input_info(0)->bytes || m_run(&model) != m_OK) { return 1; }
    return fwrite(m_output(&model, 0), 1, m_output_info(0)->bytes, stdout) != m_output_info(0)->bytes;
}
""")
        subprocess.run(["gcc", "-std=c11", "-O1", "-o", out / "run", *out.glob("*.c"), "-lm"], check=True)
        with open(folder / "input_0.bin", "rb") as given:
            got = subprocess.run([out / "run"], stdin=given, capture_output=True, check=True).stdout
        wrong += got != wanted
        print(f"{'exact  ' if got == wanted else 'DIFFERS'} {name} without {move or 'nothing'}", flush=True)
if set(moves) - acted - NOWHERE:
    print("changes no code here:", *sorted(set(moves) - acted - NOWHERE))
    wrong += 1
sys.exit(1 if wrong else 0)
