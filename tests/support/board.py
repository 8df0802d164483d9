"""An emitted module on a Cortex-M in qemu: exact instruction counts, flash, RAM, and whether the outputs are the golden ones."""
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
        options, libraries = core_options(device)
        done = subprocess.run(["bash", pathlib.Path(shared) / "tools/cortexm/run.sh", "m4", "-std=gnu11", *options, *(["-DSTEPS"] if steps else []),
                               "-I", module, *sources, HERE / "board_main.c", *libraries], capture_output=True, text=True, timeout=600,
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
