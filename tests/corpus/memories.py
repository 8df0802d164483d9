# ctest: name=corpus.memories, labels=corpus, timeout=600
"""Networks in two memories on Cortex-M4 in qemu: 64 KB of TCM and the rest, and a TCM that has only a part of what is needed. The linked program has the
sections with the sizes that the plan says, at the addresses that the linker script says, and the outputs are TFLM's, bit for bit."""
import json
import os
import pathlib
import re
import sys
import tempfile

import board
import support

goldens = support.shared("corpus/tflite/golden_tflm/real")
shared = goldens.parents[3]
why = board.missing(shared)
if why:
    support.skip(why)
# TCM stands at its own address, behind what the program has; its bytes are no part of the image.
SCRIPT = "SECTIONS { .tcm 0x20300000 (NOLOAD) : { *(.tcm) } } INSERT AFTER .bss;\n"
wrong = 0
for name in ("mlperf_tiny/kws_int8", "mlperf_tiny/vww96_int8", "mlperf_tiny/ic_resnet8_int8"):
    model, folder = goldens.parents[1] / "real" / f"{name}.tflite", goldens / name
    given, wanted = (folder / "input_0.bin").read_bytes(), (folder / "output_0.bin").read_bytes()
    for memories in ("tcm=64K@.tcm,ram=1M", "tcm=20K@.tcm,ram=1M"):
        with tempfile.TemporaryDirectory() as where:
            elf, script = pathlib.Path(where, "a.elf"), pathlib.Path(where, "tcm.ld")
            script.write_text(SCRIPT)
            got = board.measure(os.environ["BURIN"], shared, model, given, wanted, words=["--memories", memories], linking=[f"-Wl,-T,{script}", f"-Wl,-Map,{elf}.map"])
            banks = {m["name"]: m["bytes"] for m in json.loads(support.burin("plan", model, "--device", "cortex-m4", "--memories", memories, "--json").stdout)["arena"]["memories"]}
            at, size = (int(x, 16) for x in re.search(r"^\.tcm\s+(0x\S+)\s+(0x\S+)", pathlib.Path(f"{elf}.map").read_text(), re.M).groups())
        good = got["exact"] and at == 0x20300000 and size == banks["tcm"] > 0
        print(f"{'exact ' if good else 'DIFFERS'} {name}, {memories}: {banks}, {got['instructions']:,} instructions; .tcm {size} bytes at {at:#x}", flush=True)
        wrong += not good
sys.exit(wrong > 0)
