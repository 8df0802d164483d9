# ctest: name=corpus.onnx_light, labels=corpus, timeout=1800
"""ONNX's "light" tests, networks whose weights the file computes: of the input arange(n)/n the evaluator and the emitted C give what is
recorded, by the rules of onnx's own test runner.

  onnx_light.py [NAME...]

Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401

import numpy as np
import onnx
from onnx import numpy_helper

from support import first_error, shared

MODELS = 9


def main():
    folder = shared("corpus/onnx/backend_light")
    faults = runs = 0
    paths = [p for p in sorted(folder.glob("*.onnx")) if not sys.argv[1:] or p.stem.removeprefix("light_") in sys.argv[1:]]
    os.chdir(tempfile.mkdtemp())
    for path in paths:
        graph = onnx.load(path).graph
        constants = {t.name for t in graph.initializer}
        given, = (i for i in graph.input if i.name not in constants)
        shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
        n = int(np.prod(shape))
        np.save("x.npy", (np.arange(n) / n).astype("f4").reshape(shape))
        want = numpy_helper.to_array(onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes()))
        for provider in ("reference", "host"):
            done = subprocess.run([os.environ["BURIN"], "run", path, "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--force", "--quiet"],
                                  capture_output=True, text=True)
            got = None if done.returncode else np.load(next(pathlib.Path("out").glob("output_0*")))
            fine = got is not None and got.shape == want.shape and got.dtype == want.dtype and np.allclose(got, want, 1e-3, 1e-7)
            runs += 1
            faults += not fine
            if not fine:
                print(f"{path.stem}, {provider}: " + (first_error(done.stderr) if got is None else f"{got.ravel()[:4]}, not {want.ravel()[:4]}"))
    print(f"{len(paths)} networks, {runs} runs, {faults} faults")
    sys.exit(faults > 0 or not sys.argv[1:] and len(paths) != MODELS)


if __name__ == "__main__":
    main()
