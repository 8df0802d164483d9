# ctest: name=corpus.cortexm, labels=corpus, timeout=1200
"""Emitted C on Cortex-M in qemu gives TFLM's outputs, bit for bit: another processor, compiler and C library than the host's; in the arena
that the largest operator needs by itself, and less than 1 KB of stack, painted."""
import json
import os
import sys

import board
import support

MODELS = ("mlperf_tiny/kws_int8", "mlperf_tiny/vww96_int8", "mlperf_tiny/ic_resnet8_int8", "mlperf_tiny/ad_toycar_int8_intio",
          "mlperf_tiny/strm_ww_ref", "tflm/person_detect", "tflm/hello_world_int8")
ARENAS = (16000, 55296, 49152, 768, 6656, 55296)  # what lives in the largest operator, by hand
DEVICES = {"cortex-m4": MODELS, "cortex-m0": MODELS, "generic": MODELS[3:4]}

goldens = support.shared("corpus/tflite/golden_tflm/real")
shared = goldens.parents[3]
why = board.missing(shared)
if why:
    support.skip(why)
wrong = 0
for name, bytes_of_arena in zip(MODELS, ARENAS):
    arena = json.loads(support.burin("plan", goldens.parents[1] / "real" / f"{name}.tflite", "--device", "cortex-m4", "--json").stdout)["arena"]
    assert arena["bytes"] == arena["lower_bound"] == bytes_of_arena and "optimal" in arena["placement"], (name, arena)
for device, models in DEVICES.items():
    for name in models:
        folder = goldens / name
        given = (folder / "input_0.bin").read_bytes()
        wanted = (folder / "output_0.bin").read_bytes()
        got = board.measure(os.environ["BURIN"], shared, goldens.parents[1] / "real" / f"{name}.tflite", given, wanted, device)
        print(f"{'exact ' if got['exact'] else 'DIFFERS'} {device} {name}: {got['instructions']:,} instructions, {got['stack']} bytes of stack", flush=True)
        wrong += not got["exact"] or not 0 < got["stack"] < 1024
        # A comparison that cannot fail proves nothing: one wanted byte changed must be seen.
        if device == "cortex-m4" and name == MODELS[-1]:
            other = bytes([wanted[0] ^ 1]) + wanted[1:]
            changed = board.measure(os.environ["BURIN"], shared, goldens.parents[1] / "real" / f"{name}.tflite", given, other, device)
            if changed["exact"]:
                print("a changed golden was not noticed")
                wrong += 1
sys.exit(1 if wrong else 0)
