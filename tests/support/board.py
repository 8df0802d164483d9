"""An emitted module on a Cortex-M4 in qemu: exact instruction counts, flash, RAM, and whether the outputs are the golden ones."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent


def missing(shared):
    """Why nothing can be measured here, or None."""
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            return f"no {tool}"
    if not pathlib.Path("/usr/lib/picolibc/arm-none-eabi").exists():
        return "no picolibc for arm-none-eabi"
    if not (pathlib.Path(shared) / "tools/cortexm/run.sh").exists():
        return f"no {shared}/tools/cortexm/run.sh"
    return None


def c_bytes(name, data):
    return f"static const unsigned char {name}[] = {{{','.join(map(str, data))}}};\n"


def measure(burin, shared, model, given, wanted, device="cortex-m4", steps=False, optimise="-O2"):
    """-> {exact, instructions, flash, ram, stack, arena, steps}. Flash is the program's without the test data; RAM is .data and .bss
    (arena and the model's record); the stack is that of the run. Raises RuntimeError when something does not build or run."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="burin-cortexm-"))
    try:
        module = work / "module"
        done = subprocess.run([burin, "compile", model, "-o", module, "--prefix", "P", "--no-check", "--quiet", "--device", device],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"burin compile {model}: {done.stderr.strip()}")
        (module / "data.h").write_text(c_bytes("given", given) + c_bytes("wanted", wanted))
        sources = sorted(module.glob("*.c"))
        done = subprocess.run(["bash", pathlib.Path(shared) / "tools/cortexm/run.sh", "m4", "-std=gnu11", *(["-DSTEPS"] if steps else []),
                               "-I", module, *sources, HERE / "board_main.c"], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "OPT": optimise})
        found = re.search(r"^run insns (\d+)$", done.stdout, re.M)
        if done.returncode or not found:
            raise RuntimeError(f"{pathlib.Path(model).name} on {device}: {done.stdout[-500:]}{done.stderr[-500:]}")
        flash, ram = map(int, re.search(r"^flash (\d+) static_ram (\d+)$", done.stdout, re.M).groups())
        return {
            "exact": "same" in done.stdout.split(),
            "instructions": int(found[1]),
            "flash": flash - len(given) - len(wanted),
            "ram": ram,
            "stack": int(re.search(r"^stack bytes (\d+)$", done.stdout, re.M)[1]),
            "arena": int(re.search(r"P_ARENA_BYTES\D+(\d+)", (module / "P.h").read_text())[1]),
            "steps": [int(n) for n in re.findall(r"^step \d+\ninsns (\d+)$", done.stdout, re.M)],
        }
    finally:
        shutil.rmtree(work, ignore_errors=True)
