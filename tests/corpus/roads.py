#!/usr/bin/env python3
# ctest: name=corpus.roads, labels=corpus, timeout=2400
"""Real models from TFLite to ONNX and back, and from ONNX to TFLite and back: ONNX Runtime and LiteRT's reference resolver against what the
runtime of the format that a model came in makes of the same inputs, run after run with what the model keeps.

  roads.py [--only PATTERN] [--inputs N] [--all]

TFLITE and ONNX are the models that docs/ONNX.md names: each goes both ways, its results within one step (of 1/255 of the largest, where
outputs are reals of a quantised network; else within the bound of floats), its inputs and outputs as they were, its file untouched, each
road under half a second of Burin's own time (a build with sanitizers or without optimisation: ten times that).
MORE_BOTH go both ways, the other MORE one way. --all: every file of tflite/real, to ONNX and back; what is refused, or differs, is listed and is no fault.
To ONNX quantised networks go as they do unasked, on reals between roundings, of which the distance is printed (and may be no more than
FAR says, where there is a line), and with --exact, bit for bit. Run by the oracles' Python.
"""
import argparse
import collections
import hashlib
import multiprocessing
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

import by_oracles  # noqa: F401
import numpy as np
import onnx
import onnx.numpy_helper

import support

TFLITE = ["mlperf_tiny/kws_int8", "mlperf_tiny/ic_resnet8_int8", "mlperf_tiny/vww96_int8", "mlperf_tiny/ad_toycar_int8_intio",
          "mlperf_tiny/strm_ww_ref", "mlperf_tiny/ic_resnet8_float", "coral/mobilenet_v1_025_128_uint8_2019", "tflm/mnist_lstm_int8",
          "tflm/keyword_scrambled_svdf16x8", "tflm/micro_speech_int8", "mlonmcu/micro_kws_m_quantized", "openwakeword_npm/speech_embedding_float"]
ONNX = ["real/micro_kws_fp32", "real/micro_kws_qdq", "real/micro_kws_qoperator", "real/micro_kws_qoperator_old", "real/micro_kws_qoperator_tvm",
        "real/micro_kws_dequant", "real/ort_mnist", "real/openwakeword_embedding", "backend_light/light_squeezenet", "real/ortgo_example_network_2"]
MORE_TFLITE = ["mlperf_tiny/ic_resnet_large_int8", "mlperf_tiny/ic_trainedRes_int8_old", "tflm/hello_world_int8", "tflm/hello_world_float", "tflm/simple_add", "tinymaix/mnist_dw_q",
               "tinymaix/vww96_q", "tinymaix/mnist_valid_f", "tinymaix/cifar10_f", "tinyengine/ptq_mnist_lenet-300-100",
               "tflite_support/mobilenet_v1_025_224_float", "mlonmcu/sine_model", "mlonmcu/umatest", "mlonmcu/lstm2"]
# Both ways, too, without a limit of time or transposes: what they have that others have not stands beside them.
MORE_BOTH = ["coral/deeplabv3_dm05_uint8",  # ARG_MAX without the extent
             "litert/recommendation_cnn_i10i32o100",  # TOPK_V2, whose places ONNX has in 64 bits
             "coral/keras_lstm_mnist_int8", "tflm/dtln_lstm_int8", "tflm/micro_speech_lstm_int8",  # quotients of 64 bits
             "litert/torchaudio_conformer"]  # norms: two reshapes of one tensor, which LiteRT then computes in place, have to be one
MORE_ONNX = [f"real/micro_kws_bug_{what}" for what in ("qdq", "softmax", "avg_pool", "add_shape")]
# On reals between roundings: at most so many steps; where there is no line it is printed alone. TFLite's convolutions round twice.
FAR = {"mlperf_tiny/kws_int8": 32, "mlperf_tiny/ic_resnet8_int8": 48, "coral/mobilenet_v1_025_128_uint8_2019": 16, "mlonmcu/micro_kws_m_quantized": 16,
       "mlperf_tiny/vww96_int8": 2, "mlperf_tiny/ad_toycar_int8_intio": 2, "mlperf_tiny/strm_ww_ref": 2}
# A transpose that stays: before a product with dequantised weights, around a shuffle of channels.
BETWEEN = {"tflm/micro_speech_int8": 1, "mlonmcu/micro_kws_m_quantized": 1, **{f"real/micro_kws_{form}": 1 for form in ("qdq", "qoperator", "qoperator_old", "qoperator_tvm")}}
SECONDS = 0.5


def runtime_onnx(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(str(path), options)
    names = [i.name for i in session.get_inputs()]
    outputs = [o.name for o in session.get_outputs()]
    pairs = {k[len("burin.state."):]: v for k, v in session.get_modelmeta().custom_metadata_map.items() if k.startswith("burin.state.")}
    kept = {}

    def run(inputs):
        given = dict(zip(outputs, session.run(None, {**dict(zip(names, inputs)), **kept})))
        kept.update({name: given.pop(after) for name, after in pairs.items()})
        return list(given.values())

    run.inputs = [([d if isinstance(d, int) else 1 for d in i.shape], np.dtype(onnx_type(i.type))) for i in session.get_inputs()]
    return run


def onnx_type(text):
    return {"float": "float32", "double": "float64", "string": "object"}.get(text[7:-1], text[7:-1])


def interpreter_of(path):
    """LiteRT on its reference kernels; where they lack an operator (CEIL, ELU, ROUND, SEGMENT_SUM), on the one kernel that there is."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            interpreter = Interpreter(model_path=str(path), num_threads=1, experimental_op_resolver_type=resolver)
            interpreter.allocate_tensors()
            break
        except Exception as e:  # noqa: BLE001
            if "Didn't find op" not in str(e) or resolver != OpResolverType.BUILTIN_REF:
                raise
    return interpreter


def runtime_tflite(path):
    interpreter = interpreter_of(path)

    def run(inputs):
        for port, value in zip(interpreter.get_input_details(), inputs):
            interpreter.set_tensor(port["index"], value)
        interpreter.invoke()
        # what is empty and constant cannot be asked for
        return [np.zeros(o["shape"], o["dtype"]) if 0 in o["shape"] else interpreter.get_tensor(o["index"]).copy() for o in interpreter.get_output_details()]

    run.inputs = [(list(map(int, i["shape"])), np.dtype(i["dtype"])) for i in interpreter.get_input_details()]
    return run


def runtime(path):
    return (runtime_tflite if path.suffix == ".tflite" else runtime_onnx)(path)


def samples(ports, count):
    random = np.random.default_rng(7)
    for _ in range(count):
        run = []
        for shape, dtype in ports:
            if np.issubdtype(dtype, np.floating):
                run.append(random.uniform(-4, 4, shape).astype(dtype))
            elif dtype == bool:
                run.append(random.integers(0, 2, shape).astype(dtype))
            else:
                # of whole numbers that may be places or counts, small ones
                limits = np.iinfo(dtype)
                low, high = (limits.min, limits.max + 1) if dtype.itemsize < 4 else (0, 8)
                run.append(random.integers(low, high, shape).astype(dtype))
        yield run


def recorded(source):
    """What the corpus has for an ONNX model's input."""
    paths = sorted((source.parent / "test_data_set_0").glob("input_*.pb"))
    return [[onnx.numpy_helper.to_array(onnx.TensorProto.FromString(p.read_bytes())) for p in paths]] if paths else []


def steps(want, got):
    """How far apart: in steps; floats of no quantised network within their bound are 0."""
    if want.dtype != got.dtype or want.shape != got.shape:
        return np.inf
    if want.dtype.kind == "f":
        top = float(np.max(np.abs(want), initial=0))
        if np.allclose(got, want, rtol=1e-3, atol=1e-5 * max(1, top), equal_nan=True):
            return 0.0
        return float(np.max(np.abs(want - got), initial=0)) / (top / 255) if top else np.inf
    if want.dtype == bool:
        return float(np.any(want != got))
    return float(np.max(np.abs(want.astype(np.int64) - got), initial=0))


def answers(path, runs):
    """What the format's runtime makes of them, in a process of its own, since some files kill it: arrays, or the reason."""
    def work(pipe):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            if path.suffix == ".onnx":
                onnx.checker.check_model(str(path), full_check=True)
            run = runtime(path)
            pipe.send([(run.inputs, [run(list(inputs)) for inputs in runs(run.inputs)])])
        except Exception as e:  # noqa: BLE001
            pipe.send((str(e).strip().splitlines() or ["refused"])[0][:160])

    mine, theirs = multiprocessing.Pipe(False)
    job = multiprocessing.Process(target=work, args=(theirs,))
    job.start()
    theirs.close()
    try:
        said = mine.recv() if mine.poll(300) else "it takes longer than 300 s"
    except EOFError:
        said = "it died"
    job.kill()
    job.join()
    return said[0] if isinstance(said, list) else (None, said)


def convert(source, to, *more):
    """-> (fault, transposes between operators, seconds)"""
    before, spent = hashlib.sha256(source.read_bytes()).digest(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([os.environ["BURIN"], "compile", source, "-o", to, "--force", "--no-check", "--numerics", "litert", *more], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - spent.ru_utime - spent.ru_stime
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["it says nothing"])[0], 0, seconds
    if hashlib.sha256(source.read_bytes()).digest() != before:
        return "its file has changed", 0, seconds
    words = re.search(r"(\d+) of them between", done.stdout + done.stderr)
    return "", int(words[1]) if words else 0, seconds


def slow_build():
    return bool(re.search(r"CMAKE_BUILD_TYPE:\w+=(?!Rel)|-fsanitize", (support.BUILD / "CMakeCache.txt").read_text()))


class Road:
    """One conversion of a model, and how far its results are from those of the model it came from."""

    def __init__(self, source, to, options, want, ports, runs, most):
        self.fault, self.between, self.seconds = convert(source, to, *options)
        self.far = np.inf
        if self.fault:
            return
        given, got = answers(to, lambda _: runs)
        if given is None:
            self.fault = got
        elif [shape for shape, _ in given] != [shape for shape, _ in ports] or [d for _, d in given] != [d for _, d in ports]:
            self.fault = f"its inputs are {given}, and were {ports}"
        else:
            self.far = max((steps(a, b) for before, after in zip(want, got) for a, b in zip(before, after)), default=np.inf)
            if any(len(a) != len(b) for a, b in zip(want, got)):
                self.fault = "it has other outputs"
            elif most is not None and self.far > most:
                self.fault = f"{self.far:.3g} steps apart"

    def __str__(self):
        return self.fault or f"{self.far:.3g} steps"


def roads(name, source, top, count, back):
    """-> {words: Road}"""
    forth = top / ("m.onnx" if source.suffix == ".tflite" else "m.tflite")
    first = [] if source.suffix == ".tflite" else recorded(source)
    if first and "micro_kws" in name:
        first = [[first[0][0][:1]]]

    def runs_of(ports):
        if "backend_light" in name:  # their weights are such that others have no stable outputs
            return [[(np.arange(np.prod(shape)) / np.prod(shape)).astype(np.float32).reshape(shape) for shape, _ in ports]]
        return first + list(samples([(list(x.shape), x.dtype) for x in first[0]] if first else ports, count))

    ports, want = answers(source, runs_of)
    if ports is None:
        return {"source": want}
    runs = runs_of(ports)
    ports = [(list(x.shape), d) for x, (_, d) in zip(runs[0], ports)]
    done = {}
    open_extents = ["--batch", str(len(runs[0][0]))] if name.endswith(("qdq", "openwakeword_embedding")) else []
    if source.suffix == ".tflite":
        done["to ONNX"] = Road(source, forth, open_extents, want, ports, runs, FAR.get(name))
        done["to ONNX, exact"] = Road(source, top / "exact.onnx", [*open_extents, "--exact"], want, ports, runs, 1)
        if back:
            done["back to TFLite"] = Road(forth, top / "back.tflite", [], want, ports, runs, 1)
    else:
        done["to TFLite"] = Road(source, forth, open_extents, want, ports, runs, 1)
        if back:
            done["back to ONNX"] = Road(forth, top / "back.onnx", ["--exact"], want, ports, runs, 1)
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--inputs", type=int, default=3)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    limit = SECONDS * (10 if slow_build() else 1)
    counts, faults = collections.Counter(), 0
    lists = [(n, True) for n in TFLITE + ONNX + MORE_BOTH] + [(n, False) for n in MORE_TFLITE + MORE_ONNX]
    if options.all:
        root = support.shared("corpus/tflite/real")
        lists = [(str(p.relative_to(root))[:-7], True) for p in sorted(root.glob("*/*.tflite"))]
    with tempfile.TemporaryDirectory() as folder:
        for name, both in lists:
            if not re.search(options.only, name):
                continue
            back = name.split("/")[0] in ("real", "backend_light")
            path = f"corpus/onnx/{name}" + (".onnx" if "light" in name else "/model.onnx") if back else f"corpus/tflite/real/{name}.tflite"
            done = roads(name, support.shared(path), pathlib.Path(folder), options.inputs, both)
            said = []
            for words, road in done.items():
                fault = road if isinstance(road, str) else road.fault
                if not fault and both and name not in MORE_BOTH and not options.all:
                    fault = f"{road.seconds:.2f} s" if road.seconds > limit else ""
                    fault = fault or (f"{road.between} transposes between operators" if road.between > BETWEEN.get(name, 0) else "")
                counts[words + (": refused or other" if fault or isinstance(road, str) else "")] += 1
                faults += bool(fault) and not options.all
                said.append(f"{words} {'wrong: ' if fault else ''}{fault or road}" + ("" if isinstance(road, str) else f" {road.seconds:.2f} s {road.between}"))
            print(f"{name}: " + "; ".join(said), flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
