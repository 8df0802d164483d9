#!/usr/bin/env python3
# ctest: name=corpus.onnx_to_tflite, labels=corpus, timeout=2400
"""ONNX's node tests as TFLite files: LiteRT's reference kernels compute from each what the test records.

  onnx_to_tflite.py [--only PATTERN] [--keep DIR]

What is read and cannot be said in TFLite, and what LiteRT does not take (its kernels lack types or ranks), is counted; at least WRITTEN are
written and EQUAL of them equal. Convolutional networks have no transpose between operators (NETWORKS says which have). Run by the oracles' Python.
"""
import argparse
import collections
import concurrent.futures
import multiprocessing
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnx
from onnx import numpy_helper

import roads
import support

ROOT = support.shared("corpus/onnx")
FOLDERS = ["backend_node", "backend_simple", "backend_pytorch_converted", "backend_pytorch_operator"]
WRITTEN, EQUAL = 922, 899
# networks: how many transposes there are, and how many of them between operators: the shuffles of channels; resnet50's and vgg19's weights
# are made by operators here, and too large in all to be made when the file is written
NETWORKS = {"backend_light/light_squeezenet.onnx": (1, 0), "backend_light/light_resnet50.onnx": (2, 1), "backend_light/light_densenet121.onnx": (1, 0),
            "backend_light/light_shufflenet.onnx": (17, 16), "real/ort_mnist/model.onnx": (0, 0), "real/micro_kws_fp32/model.onnx": (0, 0),
            "backend_light/light_vgg19.onnx": (3, 2)}
# TFLite's kernels take integers of 8 and 16 bits for quantised ones, which these are not
KNOWN = re.compile(r"u?int(8|16)$")


def write(item):
    name, model, to = item
    done = subprocess.run([os.environ["BURIN"], "compile", model, "-o", to, "--quiet"], capture_output=True, text=True)
    return name, done.returncode, (done.stderr.strip().splitlines() or [""])[0]


def values(folder, kind):
    out = []
    for path in sorted(folder.glob(f"{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1])):
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        out.append(numpy_helper.to_array(tensor))
    return out


def runs(path, folder, pipe):
    """In a process of its own, since some files kill it: sends "" or what is wrong."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        it = roads.interpreter_of(path)
        given = [x for x in values(folder, "input")]
        details = it.get_input_details()
        for d, x in zip(details, given):
            it.set_tensor(d["index"], x.reshape(d["shape"]))
        it.invoke()
        got = [it.get_tensor(d["index"]) for d in it.get_output_details()]
    except Exception as e:  # noqa: BLE001
        pipe.send("refused: " + str(e).strip().splitlines()[0][:120] if str(e).strip() else "refused")
        return
    want = values(folder, "output")
    for g, w in zip(got, want):
        # LiteRT's sums and products end at the largest finite values, and f64 is computed in f32 (docs/TFLITE.md)
        most = np.finfo(np.float32).max
        finite = [np.clip(np.asarray(x, np.float64), -most, most) if x.dtype in (np.float32, np.float64) else np.asarray(x, np.float64) for x in (g, w)]
        if g.size != w.size or not np.allclose(finite[0].reshape(w.shape), finite[1], rtol=1e-3, atol=1e-5, equal_nan=True):
            pipe.send(f"differs: {np.asarray(g).ravel()[:4]} {np.asarray(w).ravel()[:4]}")
            return
    pipe.send("")


def run(path, folder):
    mine, theirs = multiprocessing.Pipe(False)
    job = multiprocessing.Process(target=runs, args=(path, folder, theirs))
    job.start()
    theirs.close()
    try:
        said = mine.recv() if mine.poll(60) else "refused: it takes longer"
    except EOFError:
        said = "refused: it died"
    job.terminate()
    job.join()
    return said


def networks():
    """The layout of networks: transposes, and those between operators."""
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, most in NETWORKS.items():
            done = subprocess.run([os.environ["BURIN"], "compile", ROOT / name, "-o", f"{folder}/m.tflite", "--force", "--no-check"],
                                  capture_output=True, text=True)
            said = re.search(r"layout +(\d+) transposes, (\d+) of them between", done.stdout)
            if not said or (int(said[1]), int(said[2])) != most:
                print(f"layout   {name}: {said[0] if said else done.stderr[:200]}, expected {most}")
                faults += 1
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    faults = 0 if options.only else networks()
    counts, reasons = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(options.keep or folder)
        jobs = []
        for test in (p for f in FOLDERS for p in sorted((ROOT / f).glob("*/model.onnx"))):
            name = f"{test.parent.parent.name}/{test.parent.name}"
            if re.search(options.only, name):
                jobs.append((name, test, top / (name.replace("/", "-") + ".tflite")))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (name, status, said), (_, test, path) in zip(pool.map(write, jobs), jobs):
                if status != 0:
                    unsaid = "TFLite" in said
                    counts["not said" if unsaid else "not read"] += 1
                    if unsaid:
                        reasons[re.sub(r"^.*?(operator\[\d+\]|node\[\d+\]\S*) ", "", said)[:100]] += 1
                    if status not in (1,) or "differs" in said or "cannot be read again" in said:
                        print(f"exit {status}  {name}: {said}")
                        faults += 1
                    continue
                counts["written"] += 1
                data = next(iter(sorted(test.parent.glob("test_data_set_*"))), None)
                said = run(path, data) if data else "refused: no data"
                kind = "equal" if not said else said.split(":")[0]
                counts[kind] += 1
                if kind == "refused":
                    reasons["LiteRT " + said[:90]] += 1
                if kind == "differs" and not KNOWN.search(name):
                    print(f"wrong    {name}: {said}")
                    faults += 1
    for reason, n in reasons.most_common(40):
        print(f"{n:5} {reason}")
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {faults} faults")
    low = not options.only and (counts["written"] < WRITTEN or counts["equal"] < EQUAL)
    return 1 if faults or low else 0


if __name__ == "__main__":
    sys.exit(main())
