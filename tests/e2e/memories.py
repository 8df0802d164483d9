# ctest: name=e2e.memories, timeout=600
"""Several memories: what lies where, the sections of an object, one piece or one for each, what does not fit (status 4, with a list), replay, boards;
models with loops and with state lie in several memories as others do, and compute what the evaluator does (the check)."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

import made
import support
from support import burin

DIGITS = support.SOURCE / "demo/digits.tflite"
M4 = ["--device", "cortex-m4", "--prefix", "P"]
CC = [os.environ.get("CC", "cc"), "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
os.chdir(tempfile.mkdtemp())


def plan(*words, model=DIGITS):
    return json.loads(burin("plan", model, *M4, "--json", *words).stdout)


def banks(p):
    return {m["name"]: m for m in p["arena"]["memories"]}


def build(folder, name, *sources):
    subprocess.run([*CC, "-I", folder, *map(str, sources), "-lm", "-o", name], check=True)
    return subprocess.run([f"./{name}"], capture_output=True, text=True)


# ---- the fast memory has what gains most for each byte, the other the rest; the least of both together is what is needed at once ----
SPLIT = ["--memories", "tcm=1K@.tcm,ram=4K"]
p = plan(*SPLIT)
placed = [t for t in p["tensors"] if t["role"] not in ("constant", "state") and t["root"] == t["tensor"]]
assert list(banks(p)) == ["tcm", "ram"] and banks(p)["tcm"]["limit"] == 1024 and banks(p)["tcm"]["section"] == ".tcm" and banks(p)["ram"]["section"] == ".bss.ram"
for name, bank in banks(p).items():
    inside = [t for t in placed if t["memory"] == name]
    assert inside and max(t["offset"] + t["bytes"] for t in inside) == bank["bytes"] <= bank["limit"]
    for i, a in enumerate(inside):  # no two that live together share bytes
        for b in inside[i + 1:]:
            if a["first"] <= b["last"] and b["first"] <= a["last"] and a.get("from", 0) <= b.get("until", 9) and b.get("from", 0) <= a.get("until", 9):
                assert a["offset"] + a["bytes"] <= b["offset"] or b["offset"] + b["bytes"] <= a["offset"], (a, b)
assert all(t["memory"] == "flash" for t in p["tensors"] if t["role"] == "constant")
reads = [t for t in placed if t["name"].startswith("softmax")]
assert reads and all(t["memory"] == "tcm" for t in reads)  # a few bytes that each stage reads
assert "memories" not in plan()["arena"]
shown = burin("plan", DIGITS, *M4, *SPLIT).stdout
assert re.search(r"^RAM +tcm \d+ bytes of 1024, .*\n +ram \d+ bytes of 4096", shown, re.M) and "tcm@" in shown and "ram@" in shown
assert " tcm</text>" in burin("plan", DIGITS, *M4, *SPLIT, "--svg").stdout

# ---- sections in the object, and the same numbers: weights inline, as a blob; one file; in C++ ----
for folder, words in (("inline", []), ("blob", ["--weights", "blob"]), ("single", ["--layout", "single"]), ("generic", ["--goal", "size"])):
    done = burin("compile", DIGITS, *M4, *SPLIT, "-o", folder, "--test", "2", *words)
    assert "checked: " in done.stdout, done.stdout
    sources = sorted(pathlib.Path(folder).glob("*.c"))
    ran = subprocess.run([*CC, *map(str, sources), "-lm", "-o", f"{folder}.test"], check=True) and subprocess.run([f"./{folder}.test", f"{folder}/P_weights.bin"],
                                                                                                                 capture_output=True, text=True)
    assert "2 passed, 0 failed" in ran.stdout, ran
    p = json.loads(pathlib.Path(folder, "P_plan.json").read_text())
    symbols = subprocess.run(["objdump", "-t", f"{folder}.test"], capture_output=True, text=True, check=True).stdout
    found = {m[2]: (m[0], int(m[1], 16)) for m in re.findall(r"^\S+ .* (\.\S+)\s+([0-9a-f]+)\s+P_memory_(\w+)$", symbols, re.M)}
    assert found["tcm"] == (".tcm", banks(p)["tcm"]["bytes"]) and found["ram"] == (".bss", banks(p)["ram"]["bytes"]), (found, banks(p))
subprocess.run(["g++", "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Werror", *map(str, pathlib.Path("inline").glob("*.c")), "-o", "cpp"], check=True)
assert "0 failed" in subprocess.run(["./cpp"], capture_output=True, text=True, check=True).stdout

# ---- the interface: one piece for all, or one for each; what is wrong with a piece is said ----
pathlib.Path("calls.c").write_text("""
#include <stdio.h>
#include <string.h>
#include "P.h"
P_MEMORIES;
static uint8_t room[P_ARENA_BYTES + 16];
static uint8_t out[2][P_OUTPUT_0_BYTES];
static void run(P_model *m, int k) {
    memset(P_input(m, 0), 7, P_INPUT_0_BYTES);
    if (P_run(m) == P_OK) {
        memcpy(out[k], P_output(m, 0), P_OUTPUT_0_BYTES);
    }
}
int main(void) {
    static P_model a, b;
    uint8_t *one = room;
    while ((uintptr_t)one % P_ARENA_ALIGNMENT != 0) {
        one++;
    }
    printf("%d", P_MEMORY_COUNT);
    printf(" %d", P_INIT_MEMORIES(&a) == P_OK);
    printf(" %d", P_init(&b, one, P_ARENA_BYTES) == P_OK);
    run(&a, 0);
    run(&b, 1);
    printf(" %d", memcmp(out[0], out[1], P_OUTPUT_0_BYTES) == 0 && out[0][0] != 0);
    printf(" %d", P_init(&b, one, P_ARENA_BYTES - 1) == P_ERROR_ARENA_BYTES);
    printf(" %d", P_init(&b, one + 1, P_ARENA_BYTES) == P_ERROR_ARENA_ALIGNMENT);
    printf(" %d", P_init(&b, NULL, P_ARENA_BYTES) == P_ERROR_NULL);
    printf(" %d", P_init_memories(&b, P_memory_tcm, P_MEMORY_TCM_BYTES - 1, P_memory_ram, sizeof P_memory_ram) == P_ERROR_ARENA_BYTES);
    printf(" %d", P_init_memories(&b, P_memory_tcm, sizeof P_memory_tcm, P_memory_ram, P_MEMORY_RAM_BYTES - 1) == P_ERROR_ARENA_BYTES);
    printf(" %d", P_init_memories(&b, NULL, 4096, P_memory_ram, sizeof P_memory_ram) == P_ERROR_NULL);
    printf(" %d", P_init_memories(&b, P_memory_tcm, sizeof P_memory_tcm, NULL, 4096) == P_ERROR_NULL);
    printf(" %d", P_init_memories(&b, P_memory_tcm + 1, sizeof P_memory_tcm, P_memory_ram, sizeof P_memory_ram) == P_ERROR_ARENA_ALIGNMENT);
    printf(" %d", P_run(&b) == P_ERROR_NULL);
    return 0;
}
""")
ran = build("inline", "calls", "calls.c", *(p for p in pathlib.Path("inline").glob("*.c") if not p.name.endswith("_test.c")))
assert ran.stdout == "2" + " 1" * 12, ran

# ---- everything in the first; nothing; three ----
p = plan("--memories", "tcm=64K,ram=1K")
assert banks(p)["tcm"]["bytes"] == plan()["arena"]["bytes"] and banks(p)["ram"]["bytes"] == 0
assert "checked: " in burin("compile", DIGITS, *M4, "--memories", "tcm=64K,ram=1K", "-o", "all", "--test", "1").stdout
assert "1 passed" in build("all", "all.test", *pathlib.Path("all").glob("*.c")).stdout
p = plan("--memories", "tcm=1,ram=4K")
assert banks(p)["tcm"]["bytes"] <= 1 and banks(p)["ram"]["bytes"] == plan()["arena"]["bytes"]
assert {name: b["bytes"] for name, b in banks(plan("--memories", "tcm=1K,ram=2K")).items()} == {"tcm": 1024, "ram": 2048}  # all that lives at once
p = plan("--memories", "a=1K,b=1K,c=2K")  # 3072 bytes live at once
assert sum(b["bytes"] for b in banks(p).values()) >= 3072 and all(b["bytes"] <= b["limit"] for b in banks(p).values())
assert "checked: " in burin("compile", DIGITS, *M4, "--memories", "a=1K,b=1K,c=2K", "-o", "three").stdout

# ---- what does not fit: status 4, the memory, what is needed, the largest, and nothing is written ----
why = burin("compile", DIGITS, *M4, "--memories", "tcm=512,ram=1K", "-o", "small", status=4).stderr
assert re.search(r"error: digits.tflite: the memory ram has 1024 bytes, and \d+ are needed at once, besides what the others hold; ", why), why
assert re.search(r"^note: ram: 2048 bytes, \"sequential/re_lu_2", why, re.M) and not pathlib.Path("small").exists(), why
assert "the memory ram has 1024 bytes, and 3072 are needed at once;" in burin("plan", DIGITS, *M4, "--memories", "ram=1K", status=4).stderr
assert "the memory flash has 4096 bytes, and the constants alone are 6312" in burin("plan", DIGITS, *M4, "--memories", "flash=4K", status=4).stderr
why = burin("compile", DIGITS, *M4, "--memories", "flash=8K", "-o", "small", status=4).stderr
assert re.search(r"the memory flash has 8192 bytes, and about 1\d{4} are needed: kernels \d+, .*packed weights 4544", why), why
assert burin("plan", DIGITS, *M4, "--memories", "flash=64K,ram=3K").stdout

# ---- what is no list of memories ----
for bad in ("tcm", "tcm=", "tcm=x", "tcm=0", "tcm=1K@", "TCM=1K", "tcm=1K,tcm=2K", "tcm=1K;ram=1K", "tcm=1G", "tcm=5000M", "tcm=1K@a b", 'tcm=1K@a"b', "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"):
    assert "memories: expected NAME=BYTES" in burin("plan", DIGITS, "--memories", bad, status=2).stderr, bad

# ---- a plan with memories replays, and an edited one is obeyed or refused ----
text = burin("plan", DIGITS, *M4, *SPLIT, "--json").stdout
pathlib.Path("plan.json").write_text(text)
burin("compile", DIGITS, *M4, *SPLIT, "--plan", "plan.json", "-o", "replayed", "--test", "2", "--force")
for name in ("P.h", "P.c", "P_kernels.c", "P_plan.json"):
    assert pathlib.Path("replayed", name).read_bytes() == pathlib.Path("inline", name).read_bytes(), name


def edited(change, status=0):
    p = json.loads(text)
    change(p)
    pathlib.Path("edited.json").write_text(json.dumps(p))
    return burin("compile", DIGITS, *M4, *SPLIT, "--plan", "edited.json", "-o", "edited", "--test", "2", "--force", status=status)


def input_to_tcm(p):
    for t in p["tensors"]:
        if t["memory"] == "tcm" and t["root"] == t["tensor"]:
            t.update(memory="ram", offset=t["offset"] + 3072)  # behind all that is there
    next(t for t in p["tensors"] if t["role"] == "input").update(memory="tcm", offset=16)


assert "checked: " in edited(input_to_tcm).stdout
assert "return model->memory_tcm + 16;" in pathlib.Path("edited/P.c").read_text()
assert "2 passed" in build("edited", "edited.test", *pathlib.Path("edited").glob("*.c")).stdout
assert "expected a writable memory of cortex-m4" in edited(lambda p: p["tensors"][0].update(memory="flash"), status=1).stderr
assert "expected a writable memory of cortex-m4" in edited(lambda p: p["tensors"][0].update(memory="rom"), status=1).stderr
tcm = [t["tensor"] for t in json.loads(text)["tensors"] if t["memory"] == "tcm" and t["root"] == t["tensor"] and t["bytes"] > 0]
together = next((a, b) for a in tcm for b in tcm if a < b and json.loads(text)["tensors"][a]["last"] >= json.loads(text)["tensors"][b]["first"] >= json.loads(text)["tensors"][a]["first"])
assert "overlap" in edited(lambda p: p["tensors"][together[1]].update(offset=p["tensors"][together[0]]["offset"]), status=1).stderr
assert "the memory tcm has 1024 bytes" in edited(lambda p: p["tensors"][tcm[0]].update(offset=4096), status=4).stderr

# ---- loops, branches and states ----
pathlib.Path("loop.ir").write_text(made.LOOP)
assert "checked: " in burin("compile", "loop.ir", *M4, "--memories", "tcm=8,ram=4K", "-o", "loop").stdout
pathlib.Path("sum.ir").write_text(made.SUM)
done = burin("compile", "sum.ir", *M4, "--state", "left=sum", "--memories", "tcm=30,ram=4K", "-o", "state", "--test", "3")
assert "checked: " in done.stdout and "3 passed" in build("state", "state.test", *pathlib.Path("state").glob("*.c")).stdout

# ---- boards: each compiles, in memories that stand in its list ----
listed = {d["name"]: d["description"] for d in json.loads(burin("devices", "--json").stdout)}
boards = {name: [m.split()[0] for m in about.split("; ")[1].split(", ")] for name, about in listed.items() if "; " in about}
assert len(boards) >= 10 and "dtcm 131072 at 0x20000000, axi 524288 at 0x24000000, d2 294912 at 0x30000000, flash 2097152 at 0x08000000" in listed["nucleo-h743zi2"]
for name, memories in boards.items():
    burin("compile", DIGITS, "--device", name, "--prefix", "P", "-o", f"board_{name}", "--no-check", "--quiet")
    p = json.loads(pathlib.Path(f"board_{name}/P_plan.json").read_text())
    assert {t["memory"] for t in p["tensors"]} <= set(memories), (name, memories)
