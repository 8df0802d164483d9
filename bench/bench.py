"""make bench: what Burin costs and what its code costs, beside the bars and the peers, in one table. Measures; asserts nothing.

  bench.py [--profile] [--seconds S] [--only compiler|onnx|large|host|cortexm]

Environment: BURIN (the command), BURIN_SHARED (the corpora and tools), ORACLES (the folder of the independent runtimes), CC.
Writes build/bench.json. --profile adds a table for each network: time and instructions of every operator.
What is missing (corpora, LiteRT, an Arm compiler, qemu) is said, and its rows are left out.
"""
import argparse
import array
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))
import board  # noqa: E402
import onnx_models  # noqa: E402
import plan_models  # noqa: E402

BURIN = pathlib.Path(os.environ.get("BURIN", ROOT / "build/release/burin")).resolve()
SHARED = pathlib.Path(os.environ.get("BURIN_SHARED", ROOT.parent / "shared")).resolve()
ORACLES = pathlib.Path(os.environ.get("ORACLES", ROOT / ".oracles"))
CC = os.environ.get("CC", "gcc").split()
WORK = ROOT / "build/bench"

# Name, model under corpus/tflite/real/mlperf_tiny; bar: times faster than LiteRT's reference kernels; TFLM's reference kernels on a
# Cortex-M4 (recorded, gcc 12.2 -O2, the same qemu): instructions, flash, static RAM and stack (None: not recorded).
# Then the bars of instructions on Armv7E-M and on Armv6-M.
NETS = [
    ("KWS", "kws_int8", 4.0, 43_112_280, 95_016, 22_916, 7_000_000, 17_000_000),
    ("VWW", "vww96_int8", 4.0, 100_481_880, 374_368, 100_804, 13_000_000, 32_000_000),
    ("IC", "ic_resnet8_int8", 4.0, 107_490_000, 143_992, 55_092, 28_000_000, 73_000_000),
    ("AD", "ad_toycar_int8_intio", 1.5, 1_953_920, 297_016, 2_676, 660_000, 1_650_000),
]
CODE, FLASH = 8192, {"KWS": 42_000, "VWW": 75_000, "IC": 95_000, "AD": 285_000}
VWW_EVALUATED_MS, VWW_COMPILED_MS, START_MS, MEGA_OPS = 300, 200, 5, 300
PLAN_S = 5
ONNX_INSPECT_MS = {"gigabyte": 100, "nodes": 200}
INCBIN_S = 20
REALS_RATIO = 3  # times ONNX Runtime's time
ONNX_COMPILE_MS, ONNX_MEMORY_MB = 200, 150


class Table:
    """Rows of text, columns aligned, printed at once so that each section shows whole."""

    def __init__(self, title, heads):
        self.title, self.rows = title, [heads]

    def add(self, *cells):
        self.rows.append([str(c) for c in cells])

    def show(self):
        widths = [max(len(r[k]) for r in self.rows) for k in range(len(self.rows[0]))]
        print(f"\n{self.title}")
        for n, row in enumerate(self.rows):
            print("  " + "  ".join(c.ljust(w) if k == 0 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths))).rstrip())
            if n == 0:
                print("  " + "  ".join("-" * w for w in widths))
        sys.stdout.flush()


def skip(why):
    print(f"\nskipped: {why}", flush=True)


def verdict(met):
    return "met" if met else "MISSED"


def us(v):
    return f"{v:,.1f}" if v < 100 else f"{v:,.0f}"


def must(command, **options):
    done = subprocess.run([str(c) for c in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def cost(command, times):
    """-> (wall ms, CPU ms) of each run of a command, its start and end included; sorted lists."""
    return cost_and_memory(command, times)[:2]


def cost_and_memory(command, times):
    """The same, and the most that was resident, MiB (files that are mapped count as far as they were touched)."""
    command, wall, cpu, resident = [str(c) for c in command], [], [], 0
    null = os.open(os.devnull, os.O_RDWR)
    for _ in range(times):
        begin = time.monotonic()
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in range(3)])
        _, status, used = os.wait4(pid, 0)
        wall.append(1e3 * (time.monotonic() - begin))
        cpu.append(1e3 * (used.ru_utime + used.ru_stime))
        resident = max(resident, used.ru_maxrss / 1024)
        if status:
            sys.exit(f"bench: {' '.join(command)}: status {status}")
    os.close(null)
    return sorted(wall), sorted(cpu), resident


def machine():
    cpu, flags = platform.machine(), ""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        cpu = re.search(r"^model name\s*: (.*)$", text, re.M)[1]
        flags = re.search(r"^flags\s*: (.*)$", text, re.M)[1]
    except (OSError, TypeError):
        pass
    wanted = ("sse4_2", "avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp")
    return {
        "cpu": cpu, "cores": os.cpu_count(), "features": [f for f in wanted if f in flags.split()],
        "compiler": must([*CC, "--version"]).splitlines()[0], "load": os.getloadavg()[0],
        "date": datetime.date.today().isoformat(), "burin": must([BURIN, "--version"]).strip(),
    }


def model_of(file):
    return SHARED / f"corpus/tflite/real/mlperf_tiny/{file}.tflite"


def golden_of(file, what):
    return SHARED / f"corpus/tflite/golden_tflm/real/mlperf_tiny/{file}/{what}_0.bin"


def digits_case():
    """Inputs and outputs of the demo's network, by the evaluator: (given, wanted) files."""
    folder = WORK / "digits-case"
    folder.mkdir(parents=True, exist_ok=True)
    info = json.loads(must([BURIN, "run", ROOT / "demo/digits.tflite", "--json"]))
    element = {"i8": 1, "u8": 1}[info["inputs"][0]["type"]]
    count = element
    for extent in info["inputs"][0]["shape"]:
        count *= extent
    state, data = 12345, bytearray()
    for _ in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(state >> 24)
    (folder / "input_0.bin").write_bytes(data)
    must([BURIN, "run", ROOT / "demo/digits.tflite", "--input", folder / "input_0.bin", "--output-dir", folder, "--output-format", "raw",
          "--force"])
    return folder / "input_0.bin", folder / "output_0.bin"


# ---------------------------------------------------------------- the compiler itself


def operations_a_second():
    library = next((p for p in (ROOT / "build/release").glob("libburin*.a")), None)
    if not library:
        skip(f"no static library beside {BURIN}: scalar operations a second are not measured")
        return None
    program = WORK / "bench_eval"
    must([*CC, "-std=c11", "-O2", "-D_POSIX_C_SOURCE=200809L", "-I", ROOT / "src", ROOT / "bench/bench_eval.c", library, "-o", program,
          "-lm", "-lpthread"])
    return float(re.findall(r"([0-9.]+) Mop/s", must([program]))[-1])


def compiler(result):
    table = Table("The command (milliseconds; CPU of the process from start to end, best of several; start-up: wall, median of 50)",
                  ["what", "bar", "ours", "median", "least wall", "bar/ours", ""])
    for words in (["--version"], ["targets"]):
        wall, cpu = cost([BURIN, *words], 50)
        middle = statistics.median(wall)
        result[f"start {words[0]}"] = {"bar_ms": START_MS, "wall_median_ms": middle, "wall_min_ms": wall[0], "cpu_min_ms": cpu[0]}
        table.add(f"burin {words[0]}", START_MS, f"{middle:.2f}", f"{middle:.2f}", f"{wall[0]:.2f}", f"{START_MS / middle:.1f}",
                  verdict(middle <= START_MS))
    model = model_of("vww96_int8")
    if model.exists():
        out = WORK / "vww-compiled"
        for what, bar, command in (
            ("VWW evaluated (burin run)", VWW_EVALUATED_MS, [BURIN, "run", model, "--provider", "reference", "--quiet"]),
            ("VWW compiled, --no-check", VWW_COMPILED_MS, [BURIN, "compile", model, "-o", out, "--no-check", "--force", "--quiet"]),
        ):
            wall, cpu = cost(command, 9)
            result[what] = {"bar_ms": bar, "cpu_min_ms": cpu[0], "cpu_median_ms": statistics.median(cpu), "wall_min_ms": wall[0]}
            table.add(what, bar, f"{cpu[0]:.1f}", f"{statistics.median(cpu):.1f}", f"{wall[0]:.1f}", f"{bar / cpu[0]:.1f}", verdict(cpu[0] <= bar))
    else:
        skip(f"no {model}: VWW is not evaluated or compiled")
    table.show()
    speed = operations_a_second()
    if speed:
        result["evaluator_mega_operations"] = {"bar": MEGA_OPS, "ours": speed}
        table = Table("The evaluator on VWW's layers, one core (million scalar operations a second)", ["what", "bar", "ours", "ours/bar", ""])
        table.add("bench_eval", MEGA_OPS, f"{speed:.0f}", f"{speed / MEGA_OPS:.1f}", verdict(speed >= MEGA_OPS))
        table.show()


def onnx(result):
    """The lines of "Cost": what reading and compiling ONNX takes, beside what the format's own tools take to load the same."""
    models = onnx_models.make(WORK.parent / "bench-models")
    python, peers = ORACLES / "bin/python", {}
    for name, path in models.items():
        done = subprocess.run([python, ROOT / "bench/onnx_load.py", path], capture_output=True, text=True) if python.exists() else None
        if done is None or done.returncode:
            skip(f"no onnx and ONNX Runtime in {ORACLES}: peers of reading ONNX are left out")
            break
        peers[name] = json.loads(done.stdout)
    table = Table("ONNX (milliseconds CPU, best of 9, of the command from start to end, warm; MiB resident; peers CPU, best of 3)",
                  ["what", "bar", "ours", "median", "least wall", "", "MiB", "bar", "", "onnx.load", "ORT session", "peers' MiB"])
    for what, name, bar, command in (
        ("1 GB of weights, inspected", "gigabyte", ONNX_INSPECT_MS["gigabyte"], ["inspect", models["gigabyte"]]),
        ("50,000 nodes, inspected", "nodes", ONNX_INSPECT_MS["nodes"], ["inspect", models["nodes"]]),
        ("SqueezeNet to C, --no-check", "squeezenet", ONNX_COMPILE_MS,
         ["compile", models["squeezenet"], "-o", WORK / "squeezenet", "--no-check", "--force", "--quiet"]),
    ):
        wall, cpu, resident = cost_and_memory([BURIN, *command], 9)
        peer = peers.get(name, {})
        result[name] = {"bar_ms": bar, "cpu_min_ms": cpu[0], "cpu_median_ms": statistics.median(cpu), "wall_min_ms": wall[0], "resident_mb": resident,
                        "peers": peer}
        cells = [f"{peer['load'][0]:,.0f}", f"{peer['session'][0]:,.0f}" if peer["session"] else "refused", f"{peer['resident_mb']:,.0f}"] if peer else []
        table.add(what, bar, f"{cpu[0]:.1f}", f"{statistics.median(cpu):.1f}", f"{wall[0]:.1f}", verdict(cpu[0] <= bar), f"{resident:.0f}", ONNX_MEMORY_MB,
                  verdict(resident <= ONNX_MEMORY_MB), *(cells or ["-", "-", "-"]))
    table.show()
    module = WORK / "hundred"
    must([BURIN, "compile", models["hundred"], "-o", module, "--prefix", "P", "--weights", "incbin", "--no-check", "--force", "--quiet"])
    began = time.monotonic()
    for source in sorted(module.glob("*.c")):
        must([*CC, "-O2", "-std=c99", "-I", module, "-c", source, "-o", WORK / "hundred.o"])
    took = time.monotonic() - began
    result["hundred"] = {"bar_s": INCBIN_S, "compile_s": took}
    print(f"\nC of a network with 100 MB of weights, --weights incbin, compiled with -O2: {took:.1f} s, bar {INCBIN_S} s: {verdict(took <= INCBIN_S)}")


def large(result):
    """What a plan of 50,000 operators takes."""
    models = {**plan_models.make(WORK.parent / "bench-models"), "nodes": onnx_models.make(WORK.parent / "bench-models", ["nodes"])["nodes"]}
    table = Table("burin plan of 50,000 operators (seconds CPU, one run; MiB resident)", ["what", "bar", "ours", "", "MiB"])
    for what, name in (("ONNX, 5 words on reals", "nodes"), ("25,000 skip connections", "skips"), ("50,000 outputs", "outputs"),
                       ("int8 sums, each with a scale of its own", "sums"), ("int8 logistics and scales, each with a table of its own", "tables")):
        _, cpu, resident = cost_and_memory([BURIN, "plan", models[name]], 1)
        result[name] = {"bar_s": PLAN_S, "cpu_s": cpu[0] / 1e3, "resident_mb": resident}
        table.add(what, PLAN_S, f"{cpu[0] / 1e3:.1f}", verdict(cpu[0] <= 1e3 * PLAN_S), f"{resident:.0f}")
    table.show()


# ---------------------------------------------------------------- the host


def library_of(name, model):
    """Emits, builds, and gives the shared library and the plan."""
    module = WORK / f"host-{name.lower()}"
    must([BURIN, "compile", model, "-o", module, "--prefix", "P", "--device", "host", "--no-check", "--force", "--quiet"])
    library = module / "net.so"
    must([*CC, "-std=c11", "-O3", "-march=native", "-fPIC", "-shared", "-fvisibility=hidden", "-D_POSIX_C_SOURCE=200809L", "-I", module,
          ROOT / "bench/host_net.c", *sorted(module.glob("*.c")), "-o", library, "-lm"])
    return library, json.loads((module / "P_plan.json").read_text())


def reals(row):
    """A network of real numbers beside ONNX Runtime."""
    table = Table("Host, real numbers, one thread, --device host, gcc -O3 -march=native (microseconds CPU an inference; the peer alternates with ours)",
                  ["net", "min", "median", "outputs", "ONNX Runtime", "ours/", "bar", ""])
    ours, peer = row["us"]["ours"], row["us"].get("onnxruntime")
    row["bar"], row["ratio"] = REALS_RATIO, {"onnxruntime": ours["min"] / peer["min"]} if peer else {}
    cells = [us(peer["min"]), f"{ours['min'] / peer['min']:.2f}", f"{REALS_RATIO:g}", verdict(ours["min"] <= REALS_RATIO * peer["min"])] if peer else ["-"]
    table.add(row["name"], us(ours["min"]), us(ours["median"]), {True: "near", False: "DIFFER", None: "-"}[row["exact"]], *cells)
    table.show()


def host(result, nets, options):
    python = ORACLES / "bin/python"
    if not python.exists():
        skip(f"no LiteRT in {ORACLES} (scripts/setup check-all makes it, ORACLES names another folder): the host's peers are left out")
        python = pathlib.Path(sys.executable)
    wanted, plans = [], {}
    for name, model, given, golden, *_ in nets:
        library, plans[name] = library_of(name, model)
        wanted.append({"name": name, "library": str(library), "model": str(model), "given": str(given), "wanted": str(golden),
                       "seconds": options.seconds, "profile": options.profile})
    model, given = onnx_models.make(WORK.parent / "bench-models", ["squeezenet"])["squeezenet"], WORK / "image.bin"
    given.write_bytes(array.array("f", (((i * 2654435761 >> 8) % 2001 - 1000) / 500 for i in range(3 * 224 * 224))).tobytes())
    library, plans["SqueezeNet"] = library_of("SqueezeNet", model)
    wanted.append({"name": "SqueezeNet", "library": str(library), "model": str(model), "given": str(given), "output_bytes": 4 * 1000,
                   "seconds": options.seconds, "profile": options.profile})
    done = subprocess.run([python, ROOT / "bench/nets.py"], input=json.dumps(wanted), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: nets.py: exit {done.returncode}\n{done.stderr[-2000:]}")
    table = Table("Host, one thread, --device host, gcc -O3 -march=native (microseconds CPU an inference; peers alternate with ours)",
                  ["net", "min", "q1", "median", "q3", "outputs", "LiteRT ref", "ref/ours", "bar", "", "built-in", "/ours", "bar", "", "XNNPACK", "/ours"])
    bars = {n[0]: n[4] for n in nets}
    *rows, real = json.loads(done.stdout)
    for row in rows:
        name, ours = row["name"], row["us"]["ours"]
        cells = [name, us(ours["min"]), us(ours["q1"]), us(ours["median"]), us(ours["q3"]), "exact" if row["exact"] else "DIFFER"]
        row["bar"], row["ratio"] = bars[name], {}
        for peer in ("litert_reference", "litert_builtin", "litert_xnnpack"):
            if peer in row["us"]:
                ratio = row["ratio"][peer] = row["us"][peer]["min"] / ours["min"]
                cells += [us(row["us"][peer]["min"]), f"{ratio:.2f}"]
            else:
                cells += ["-", "-"]
            if peer == "litert_reference":
                bar = bars[name]
                cells += [f"{bar:g}" if bar else "-", verdict(ratio >= bar) if bar and peer in row["us"] else ""]
            if peer == "litert_builtin":
                cells += ["1" if bars[name] else "-", verdict(ratio >= 1) if bars[name] and peer in row["us"] else ""]
        row["steps"] = [{"op": k["op"], "macs": k["macs"]} for k in plans[name]["kernels"]]
        result[name] = row
        table.add(*cells)
    table.show()
    result["SqueezeNet"] = real
    real["steps"] = [{"op": k["op"], "macs": k["macs"]} for k in plans["SqueezeNet"]["kernels"]]
    reals(real)


# ---------------------------------------------------------------- Cortex-M4


def cortexm(result, nets, options):
    why = board.missing(SHARED)
    if why:
        skip(f"{why}: nothing is measured on Cortex-M")
        return
    number = "{:,}".format
    for device, title, key, bar_at in (
            ("cortex-m4", "Cortex-M4 in qemu, --device cortex-m4, arm-none-eabi-gcc -O2, plain C (peer: TFLM's reference kernels on it, as recorded)",
             "cortex_m4", 8),
            ("cortex-m0", "Armv6-M, --device cortex-m0, -mcpu=cortex-m0, on the same machine (peer: the same numbers of a Cortex-M4)", "cortex_m0", 9)):
        table = Table(title, ["net", "instructions", "bar", "", "outputs", "TFLM ref", "ref/ours", "cycles, predicted", "flash", "TFLM", "RAM", "stack",
                              "TFLM RAM+stack"])
        for net in nets:
            name, model, given, golden, _, peer, flash, ram = net[:8]
            bar = net[bar_at]
            got = board.measure(BURIN, SHARED, model, given.read_bytes(), golden.read_bytes(), device, steps=options.profile)
            result[key][name] = {**got, "bar_instructions": bar, "tflm_instructions": peer, "tflm_flash": flash, "tflm_ram": ram}
            table.add(name, number(got["instructions"]), number(bar) if bar else "-",
                      verdict(got["exact"] and got["instructions"] <= bar) if bar else "", "exact" if got["exact"] else "DIFFER",
                      number(peer) if peer else "-", f"{peer / got['instructions']:.1f}" if peer else "-", number(got["cycles"]), number(got["flash"]),
                      number(flash) if flash else "-", number(got["ram"]), number(got["stack"]), number(ram) if ram else "-")
        table.show()
    result["flash"]["latency"] = result["cortex_m4"]
    sizes(result["flash"], nets)


def sizes(result, nets):
    """Goal size: code of one network with its whole interface, flash of the program that runs it, both against the bars and TFLM's."""
    number = "{:,}".format
    table = Table("Flash on a Cortex-M4, --goal size (code: all of the module's functions, without constants; flash: the linked program, -O2)",
                  ["net", "code -Os", "code -O2", "bar", "", "predicted", "functions off by", "constants", "flash", "bar", "", "TFLM ref", "flash, latency",
                   "instructions", "outputs"])
    for name, model, given, golden, _, _, tflm, *_ in nets:
        small, fast = board.sizes(BURIN, model, ["--goal", "size"]), board.sizes(BURIN, model, ["--goal", "size"], "-O2")
        got = board.measure(BURIN, SHARED, model, given.read_bytes(), golden.read_bytes(), words=["--goal", "size"])
        off = statistics.median(abs(a - b) / a for a, b in small["functions"].values())
        bar = FLASH.get(name)
        result[name] = {**got, "small": small, "fast": fast, "bar": bar, "tflm_flash": tflm}
        table.add(name, number(small["code"]), number(fast["code"]), number(CODE), verdict(fast["code"] <= CODE), number(small["predicted"]), f"{100 * off:.0f} %",
                  number(small["constants"]), number(got["flash"]), number(bar) if bar else "-", verdict(got["flash"] <= bar) if bar else "",
                  number(tflm) if tflm else "-", number(result["latency"][name]["flash"]), number(got["instructions"]), "exact" if got["exact"] else "DIFFER")
    del result["latency"]
    table.show()


def profiles(result, nets):
    for name, model, *_ in nets:
        row, arm = result["host"].get(name), result["cortex_m4"].get(name, {})
        if not row:
            continue
        table = Table(f"{name}: operators", ["step", "operator", "MACs", "host us", "share", "ns/MAC", "M4 instructions", "share", "insn/MAC"])
        ns, insns = row["step_ns"], arm.get("steps") or []
        for k, step in enumerate(row["steps"][: len(ns)]):
            macs, i = step["macs"], insns[k] if k < len(insns) else 0
            table.add(k, step["op"], f"{macs:,}", f"{ns[k] / 1e3:.2f}", f"{100 * ns[k] / sum(ns):.0f} %", f"{ns[k] / macs:.3f}" if macs else "-",
                      f"{i:,}" if i else "-", f"{100 * i / sum(insns):.0f} %" if i else "-", f"{i / macs:.2f}" if i and macs else "-")
        table.show()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="also a table of each network's operators")
    parser.add_argument("--seconds", type=float, default=6, help="how long each network alternates with its peers on the host")
    parser.add_argument("--only", choices=("compiler", "onnx", "large", "host", "cortexm"))
    options = parser.parse_args()
    if not BURIN.exists():
        sys.exit(f"bench: no {BURIN}: run make first")
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    result = {"machine": machine(), "command": {}, "onnx": {}, "large": {}, "host": {}, "cortex_m4": {}, "cortex_m0": {}, "flash": {}}
    m = result["machine"]
    print(f"{m['burin']} on {m['cpu']}, {m['cores']} cores, {' '.join(m['features'])}; {m['compiler']}; load {m['load']:.1f}; {m['date']}", flush=True)
    nets = [(name, model_of(file), golden_of(file, "input"), golden_of(file, "output"), *rest) for name, file, *rest in NETS]
    if not all(p.exists() for n in nets for p in n[1:4]):
        skip(f"no models and goldens in {SHARED}/corpus (BURIN_SHARED): KWS, VWW, IC and AD are left out")
        nets = []
    nets.append(("digits", ROOT / "demo/digits.tflite", *digits_case(), *[None] * 6))
    if options.only in (None, "compiler"):
        compiler(result["command"])
    if options.only in (None, "onnx"):
        onnx(result["onnx"])
    if options.only in (None, "large"):
        large(result["large"])
    if options.only in (None, "host"):
        host(result["host"], nets, options)
    if options.only in (None, "cortexm"):
        cortexm(result, nets, options)
    if options.profile:
        profiles(result, nets)
    (ROOT / "build/bench.json").write_text(json.dumps(result, indent=1) + "\n")
    print("\nwritten: build/bench.json")


main()
