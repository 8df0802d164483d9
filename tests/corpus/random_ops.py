#!/usr/bin/env python3
# ctest: name=corpus.random_ops, labels=corpus, timeout=3600
"""Random models of one operator: what Burin computes with --numerics litert is what LiteRT's reference resolver computes, and with
--numerics tflm what TFLM does, where it has the operator and the type.

  random_ops.py [--only PATTERN] [--against litert|tflm] [--count N] [--seed N] [--all] [--keep DIR] [--list]

At least 20 of each row of tests/support/random_ops (an operator and a type). Integers bit for bit, floats within 1e-5 of
themselves and 1e-6 of the largest. The evaluator computes all, the emitted C those of every 16th row, --all: of every row, and LiteRT
computes those again as Burin writes them. What LiteRT refuses is no test; what Burin alone refuses fails, unless the row says why. Run by the oracles' Python; ctest's Python starts that one.

The operators of a row are put side by side into one model, so that one run of the command computes them; where that is refused or
differs, each is run by itself. --keep writes the models that fail, with their inputs.
"""
import argparse
import concurrent.futures
import copy
import importlib.util
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np

ROWS = pathlib.Path(__file__).parent.parent / "support/random_ops"
sys.path.insert(0, str(ROWS))
import rows
import tflite_build as build

COUNT = 20
TRIES = 3  # as many draws as wanted instances, at most: LiteRT refuses some
TIMEOUT = 120
PATIENCE = 20  # seconds for a runtime's answer about a model of one small operator


class Instance:
    """One drawn operator: its tensors, and LiteRT's outputs or why there are none."""

    def __init__(self, row, number, seed):
        r = rows.Draw(zlib.crc32(f"{row.name}/{number}/{seed}".encode()))
        self.number = number
        self.inputs, self.outputs, fields, *mids = row.draw(r, row.kind)
        self.runs = row.runs
        table = build.flexbuffer(fields) if row.options == "custom" else build.option_table(row.options, fields) if row.options else None
        if not row.options and fields:
            raise ValueError(f"{row.name}: fields without an options table")
        self.operator = (row.operator, table, self.inputs, self.outputs, *mids)
        self.want, self.fault = None, None

    def given(self):
        """Contents of the model's inputs: a tensor that is used twice is one."""
        return list({id(t): t.data for t in self.inputs if t is not None and not t.constant and not t.state}.values())

    def model(self):
        return build.build_model([self.operator])


def runtime(name, jobs, pipe):
    """In a process of its own, since some models kill it: sends for each the outputs, or why there are none."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    run = {"litert": build.run_litert, "tflm": build.run_tflm}[name]
    for model, arrays, runs in jobs:
        try:
            pipe.send([np.asarray(v) for v in run(model, arrays, **({"runs": runs} if runs > 1 else {}))])
        except Exception as e:  # every kind of refusal
            pipe.send(" ".join(str(e).split())[:160] or type(e).__name__)


def ask(name, instances):
    """Fills want and the outputs' shapes, or fault. After one that does not end the others are not asked: most would not either."""
    jobs = [(x.model(), x.given(), x.runs) for x in instances]
    context, at = multiprocessing.get_context("forkserver"), 0
    while at < len(jobs):
        ours, theirs = context.Pipe(False)
        process = context.Process(target=runtime, args=(name, jobs[at:], theirs))
        process.start()
        theirs.close()
        while at < len(jobs):
            try:
                if not ours.poll(PATIENCE):
                    process.kill()
                    answer = "it does not end"
                else:
                    answer = ours.recv()
            except EOFError:
                answer = "it died"
            x, at = instances[at], at + 1
            if isinstance(answer, str):
                x.fault = answer
                if answer.startswith("it does not"):
                    for x in instances[at:]:
                        x.fault = answer
                    at = len(jobs)
                if answer.startswith("it d"):
                    break
                continue
            x.want = answer[:len(x.outputs) or len(answer)]  # states come last
            for t, v in zip(x.outputs, answer):
                t.shape = list(v.shape[1:] if x.runs > 1 else v.shape)
                if getattr(t, "unfilled", None) is not None:
                    v[t.unfilled.reshape(v.shape)] = 0
        process.join()


def differs(got, want):
    """None, or the first element that differs. got: bytes."""
    if len(got) != want.nbytes:
        return f"{len(got)} bytes, not {want.nbytes}"
    got = np.frombuffer(got, want.dtype).reshape(want.shape)
    if want.dtype.kind == "f":
        with np.errstate(all="ignore"):
            top = np.max(np.abs(want[np.isfinite(want)]), initial=0)
            unit = 1e-5 if want.dtype != np.float16 else 2e-3
            bad = ~((got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= unit * np.abs(want) + unit / 10 * top))
    else:
        bad = got != want
    if not bad.any():
        return None
    k = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    return f"{list(k)} {got[k]}, not {want[k]}; {int(bad.sum())} of {bad.size} differ"


def compare(instances, folder):
    """Of the outputs in the folder, in order: [(instance, fault)]."""
    faults, at = [], 0
    for x in instances:
        found = [differs((folder / f"output_{at + k}.bin").read_bytes(), want) for k, want in enumerate(x.want)]
        faults += [(x, f"output {k}: {fault}") for k, fault in enumerate(found) if fault][:1]
        at += len(found)
    return faults


def said_by(done, model):
    said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip() or f"exit {done.returncode}")
    return said.replace(str(model), "model")


def burin(instances, work, provider, numerics):
    """Runs them side by side -> (what was said if refused or failed, its exit status, faults)."""
    work.mkdir(parents=True, exist_ok=True)
    model = work / "model.tflite"
    model.write_bytes(build.build_model([x.operator for x in instances]))
    arguments = []
    for k, v in enumerate(v for x in instances for v in x.given()):
        (work / f"input_{k}.bin").write_bytes(v.tobytes())
        arguments += ["--input", work / f"input_{k}.bin"]
    if instances[0].runs > 1:
        arguments += ["--repeat", str(instances[0].runs)]
    done = subprocess.run([os.environ["BURIN"], "run", model, "--numerics", numerics, "--provider", provider, "--output-dir", work / "out",
                           "--output-format", "raw", "--quiet", "--force", *arguments], capture_output=True, text=True, timeout=10 * TIMEOUT)
    if done.returncode:
        return said_by(done, model), done.returncode, []
    return None, 0, compare(instances, work / "out")


class Whole:
    """A model of several operators, for ask."""

    def __init__(self, data, arrays, outputs, runs):
        self.data, self.arrays, self.outputs, self.runs, self.want, self.fault = data, arrays, outputs, runs, None, None

    def given(self):
        return self.arrays

    def model(self):
        return self.data


def written(instances, work, provider, numerics):
    """The runtime computes the same from what Burin writes -> as burin's. What LiteRT's resolver has no version of proves nothing."""
    work.mkdir(parents=True, exist_ok=True)
    model = work / "model.tflite"
    model.write_bytes(build.build_model([x.operator for x in instances]))
    done = subprocess.run([os.environ["BURIN"], "compile", model, "--target", "tflite", "-o", work / "written.tflite", "--no-check", "--quiet",
                           "--force"], capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode:
        return said_by(done, model), done.returncode, []
    data = (work / "written.tflite").read_bytes()
    if not build.schema.ModelT.InitFromPackedBuf(data, 0).subgraphs[0].operators:
        return None, 0, []  # all was known when the file was read
    runs = instances[0].runs
    whole = Whole(data, [v for x in instances for v in x.given()], [t for x in instances for t in x.outputs] if runs > 1 else [], runs)
    ask(numerics, [whole])
    if whole.want is None:
        return (None, 0, []) if "find op for builtin" in whole.fault else (f"{numerics} says of what was written: {whole.fault}", 2, [])
    faults, at = [], 0
    for x in instances:
        found = [differs(whole.want[at + k].tobytes(), want) for k, want in enumerate(x.want)]
        faults += [(x, f"output {k}: {fault}") for k, fault in enumerate(found) if fault][:1]
        at += len(found)
    return None, 0, faults


def run(provider):
    return written if provider == "written" else burin


def singly(instances, work, provider, numerics):
    """-> (refusals, faults): [(instance, text)]"""
    refused, faults = [], []
    for x in instances:
        said, status, found = run(provider)([x], work / f"{x.number}", provider, numerics)
        if said and status == 1:
            refused.append((x, said))
        elif said:
            faults.append((x, f"exit {status}: {said}"))
        faults += [(x, f"{provider}: {f}") for _, f in found]
    return refused, faults


class Result:
    def __init__(self, row, against):
        self.against = against
        self.row, self.equal, self.theirs, self.refused, self.faults, self.known = row, 0, [], [], [], []


def one(row, against, options, providers):
    """Draws and computes a row."""
    result, good, number = Result(row, against), [], 0
    work = pathlib.Path(tempfile.mkdtemp(prefix="random-ops-"))
    try:
        while len(good) < options.count and number < TRIES * options.count:
            wanted = options.count - len(good)
            drawn = [Instance(row, number + k, options.seed) for k in range(wanted)]
            number += wanted
            if row.litert:
                ask("litert", drawn)
            else:
                ask(against, drawn)
            if against == "tflm" and row.litert:  # which needs the shapes that LiteRT says
                drawn = [x for x in drawn if x.want is not None]
                for x in drawn:
                    x.want = None
                ask("tflm", drawn)
            good += [x for x in drawn if x.want is not None]
            result.theirs += [x.fault for x in drawn if x.want is None]
            if not good and (against == "tflm" or "it does not end" in result.theirs):
                break  # it has no such operator, or of another type; or the next would not end either
        if not good:
            return result
        for provider in providers:
            known = row.refused.get(provider)
            if known:  # so few that it costs nothing
                said, status, _ = run(provider)(good[:2], work / provider, provider, against)
                result.known.append(f"{provider}: {known}")
                if not said or status != 1:
                    result.faults.append((good[0], f"{provider}: it is said to be refused ({known}), and is not"))
                continue
            said, _, faults = run(provider)(good, work / provider, provider, against)
            if said:
                refused, faults = singly(good, work / f"{provider}-singly", provider, against)
                if not refused and not faults:
                    faults = [(good[0], f"side by side only: {said}")]
                result.refused = refused or result.refused
                result.faults += faults
                gone = {id(x) for x, _ in refused + faults}
                good = [x for x in good if id(x) not in gone]
                if not good:
                    break
            else:
                result.faults += [(x, f"{provider}: {f}") for x, f in faults]
                gone = {id(x) for x, _ in faults}
                good = [x for x in good if id(x) not in gone]
        result.equal = len(good)
        if options.keep:
            for x, _ in result.faults + result.refused:
                folder = pathlib.Path(options.keep) / f"{row.operator}-{row.kind}-{x.number}"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "model.tflite").write_bytes(x.model())
                for k, v in enumerate(x.given()):
                    np.save(folder / f"input_{k}.npy", v)
                for k, v in enumerate(x.want):
                    np.save(folder / f"want_{k}.npy", v)
        return result
    finally:
        shutil.rmtree(work, ignore_errors=True)


def load():
    for path in sorted(ROWS.glob("*.py")):
        if path.stem != "rows":
            spec = importlib.util.spec_from_file_location(f"random_ops_{path.stem}", path)
            spec.loader.exec_module(importlib.util.module_from_spec(spec))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="rows whose name (operator and kind) has a match of this pattern")
    parser.add_argument("--against", choices=["litert", "tflm"], help="one runtime only")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true", help="emitted C of every row, and what is written")
    parser.add_argument("--keep")
    parser.add_argument("--list", action="store_true", help="only the rows")
    options = parser.parse_args()
    load()
    chosen = [row for row in rows.ROWS if re.search(options.only, row.name)]
    if options.list:
        print("\n".join(row.name for row in chosen))
        return 0
    failed, equal, refused, theirs = 0, 0, 0, 0
    providers = [["reference", "host", "written"] if options.all or zlib.crc32(row.name.encode()) % 16 == options.seed % 16 else ["reference"] for row in chosen]
    names = [options.against] if options.against else ["litert", "tflm"]
    jobs = [(row, name, options, p if name == "litert" or not row.litert else p[:2])
            for name in names for row, p in zip(chosen, providers) if (row.litert if name == "litert" else row.tflm)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for x in pool.map(one, *zip(*jobs)):
            equal, refused, theirs = equal + x.equal, refused + len(x.refused), theirs + len(x.theirs)
            for fault, instance in list({fault: instance for instance, fault in reversed(x.faults)}.items())[-3:]:
                print(f"wrong    {x.row.name} #{instance.number}, {x.against}: {fault}", flush=True)
            if x.refused:
                print(f"refused  {x.row.name}: {len(x.refused)}, #{x.refused[0][0].number}: {x.refused[0][1][:300]}", flush=True)
            for known in x.known:
                print(f"known    {x.row.name}, {known}", flush=True)
            few = x.equal + len(x.refused) + len(x.faults) < options.count and x.against == ("litert" if x.row.litert else "tflm")
            if few:
                print(f"few      {x.row.name}: {x.against} runs {x.equal + len(x.refused) + len(x.faults)}; else: {x.theirs[-1]}", flush=True)
            failed += bool(few or x.faults or x.refused)
    print(f"{len(chosen)} rows: {equal} models equal, {refused} refused by Burin, {theirs} draws refused by LiteRT; {failed} rows failed")
    return 1 if failed or not equal else 0


if __name__ == "__main__":
    multiprocessing.set_forkserver_preload(["ai_edge_litert.interpreter"])
    sys.exit(main())
