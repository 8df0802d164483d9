"""An emitted module on a Cortex-M in qemu: exact instruction counts, flash, RAM, and whether the outputs are the golden ones."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
PICOLIBC = pathlib.Path("/usr/lib/picolibc/arm-none-eabi")

# What gcc is told beside run.sh's options, by device; the last of two options counts. The M4 machine runs Armv6-M's instructions, too.
CORE = {"cortex-m0": ["-mcpu=cortex-m0", "-mthumb", "-mfloat-abi=soft"]}


def core_options(device):
    """-> (options, libraries): gcc finds a core's libraries by all options together, which here are of two cores: they are named."""
    options = CORE.get(device, [])
    if not options:
        return [], []
    folder, libgcc = [subprocess.run(["arm-none-eabi-gcc", *options, what], capture_output=True, text=True, check=True).stdout.strip()
                      for what in ("-print-multi-directory", "-print-libgcc-file-name")]
    return options, [PICOLIBC / "lib" / folder / "libm.a", PICOLIBC / "lib" / folder / "libc.a", libgcc]


def missing(shared):
    """Why nothing can be measured here, or None."""
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if not shutil.which(tool):
            return f"no {tool}"
    if not PICOLIBC.exists():
        return "no picolibc for arm-none-eabi"
    if not (pathlib.Path(shared) / "tools/cortexm/run.sh").exists():
        return f"no {shared}/tools/cortexm/run.sh"
    return None


def c_bytes(name, data):
    return f"static const unsigned char {name}[] = {{{','.join(map(str, data))}}};\n"


M4 = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -specs=picolibc.specs -std=gnu11 -ffunction-sections -fdata-sections".split()


def sizes(burin, model, words=(), optimise="-Os"):
    """The module's own flash on a Cortex-M4 -> {code, constants, predicted, functions}: bytes of instructions with what the compiler puts between
    them, of all data, of code as the plan has it, and of each function of kernels (measured, predicted). Nothing is linked: the interface is in it whole."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="burin-sizes-"))
    try:
        subprocess.run([burin, "compile", model, "-o", work / "module", "--prefix", "P", "--no-check", "--quiet", "--device", "cortex-m4", *words], check=True)
        code = constants = 0
        measured = {}
        for source in sorted((work / "module").glob("*.c")):
            subprocess.run(["arm-none-eabi-gcc", *M4, optimise, "-c", source, "-o", work / "o.o"], check=True)
            listed = subprocess.run(["arm-none-eabi-size", "-A", work / "o.o"], capture_output=True, text=True, check=True).stdout
            for name, size in re.findall(r"^(\.(?:text|rodata|data)\S*)\s+(\d+)", listed, re.M):
                code += int(size) if name.startswith(".text") else 0
                constants += 0 if name.startswith(".text") else int(size)
            listed = subprocess.run(["arm-none-eabi-nm", "-S", work / "o.o"], capture_output=True, text=True, check=True).stdout
            measured.update({name: int(size, 16) for size, name in re.findall(r"^\S+ (\S+) T (P_k\d+)$", listed, re.M)})
        flash = json.loads((work / "module/P_plan.json").read_text())["flash"]
        return {"code": code, "constants": constants, "predicted": sum(p["bytes"] for p in flash["parts"] if p["predicted"]),
                "functions": {f["function"]: (measured[f["function"]], f["bytes"]) for f in flash["functions"]}}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def measure(burin, shared, model, given, wanted, device="cortex-m4", steps=False, optimise="-O2", words=(), linking=()):
    """-> {exact, instructions, cycles, flash, ram, stack, arena, steps}. Cycles are what the plan predicts. Flash is the program's without the test data; RAM is .data and .bss
    (arena and the model's record); the stack is that of the run. linking: more options of the compiler. Raises RuntimeError when something does not build or run."""
    work = pathlib.Path(tempfile.mkdtemp(prefix="burin-cortexm-"))
    try:
        module = work / "module"
        done = subprocess.run([burin, "compile", model, "-o", module, "--prefix", "P", "--no-check", "--quiet", "--device", device, *words],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"burin compile {model}: {done.stderr.strip()}")
        (module / "data.h").write_text(c_bytes("given", given) + c_bytes("wanted", wanted))
        sources = sorted(module.glob("*.c"))
        options, libraries = core_options(device)
        done = subprocess.run(["bash", pathlib.Path(shared) / "tools/cortexm/run.sh", "m4", "-std=gnu11", *options, *(["-DSTEPS"] if steps else []), *linking,
                               "-I", module, *sources, HERE / "board_main.c", *libraries], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "OPT": optimise})
        found = re.search(r"^run insns (\d+)$", done.stdout, re.M)
        if done.returncode or not found:
            raise RuntimeError(f"{pathlib.Path(model).name} on {device}: {done.stdout[-500:]}{done.stderr[-500:]}")
        flash, ram = map(int, re.search(r"^flash (\d+) static_ram (\d+)$", done.stdout, re.M).groups())
        return {
            "exact": "same" in done.stdout.split(),
            "instructions": int(found[1]),
            "cycles": sum(k["cost"] for k in json.loads((module / "P_plan.json").read_text())["kernels"]),
            "flash": flash - len(given) - len(wanted),
            "ram": ram,
            "stack": int(re.search(r"^stack bytes (\d+)$", done.stdout, re.M)[1]),
            "arena": int(re.search(r"P_ARENA_BYTES\D+(\d+)", (module / "P.h").read_text())[1]),
            "steps": [int(n) for n in re.findall(r"^step \d+\ninsns (\d+)$", done.stdout, re.M)],
        }
    finally:
        shutil.rmtree(work, ignore_errors=True)
