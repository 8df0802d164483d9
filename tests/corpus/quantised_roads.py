#!/usr/bin/env python3
# ctest: name=corpus.quantised_roads, labels=corpus, timeout=1200
"""Quantised models from TFLite to ONNX, computed by ONNX Runtime, and from ONNX to TFLite, computed by LiteRT's reference resolver, against what
the runtime of the format they came in makes of the same inputs: the distance of outputs, in steps of their scale.

  quantised_roads.py [--only PATTERN] [--inputs N]

Standards round otherwise, and a network makes more of it than a step: the largest distance is printed, and may be no more than the list below
says. No transposes may be left between operators. Run by the oracles' Python.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import by_oracles  # noqa: F401
import numpy as np
import onnx
import onnx.numpy_helper

import support

# Model, most steps apart (of 1/255 of the largest, where outputs are reals). TFLite's convolutions round twice, which a softmax makes much of.
TO_ONNX = [
    ("mlperf_tiny/kws_int8", 1), ("mlperf_tiny/vww96_int8", 1), ("mlperf_tiny/ic_resnet8_int8", 32), ("mlperf_tiny/ad_toycar_int8_intio", 1),
    ("mlperf_tiny/ic_resnet_large_int8", 1), ("mlperf_tiny/strm_ww_ref", 1), ("coral/mobilenet_v1_025_128_uint8_2019", 16),
    ("tflm/hello_world_int8", 1), ("tflm/micro_speech_int8", 1), ("tflm/simple_add", 1),
    ("mlonmcu/micro_kws_m_quantized", 16), ("tinymaix/mnist_dw_q", 1), ("tinymaix/vww96_q", 1), ("tinyengine/ptq_mnist_lenet-300-100", 1)]
TO_TFLITE = [(f"micro_kws_{form}", 1) for form in ("fp32", "qdq", "qoperator", "qoperator_old", "qoperator_tvm", "dequant", "bug_qdq", "bug_softmax",
                                                       "bug_avg_pool", "bug_add_shape")]

FLATTENED = ["tflm/micro_speech_int8", "mlonmcu/micro_kws_m_quantized"]  # a transpose before a product with dequantised weights stays


def runtime_onnx(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options)
    names = [i.name for i in session.get_inputs()]
    return lambda inputs: session.run(None, dict(zip(names, inputs)))


def runtime_tflite(path):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    interpreter = Interpreter(model_path=str(path), num_threads=1, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()

    def run(inputs):
        for port, value in zip(interpreter.get_input_details(), inputs):
            interpreter.set_tensor(port["index"], value)
        interpreter.invoke()
        return [interpreter.get_tensor(o["index"]).copy() for o in interpreter.get_output_details()]

    run.inputs = [(i["shape"], i["dtype"]) for i in interpreter.get_input_details()]
    return run


def samples(shape, dtype, count):
    random = np.random.default_rng(7)
    for _ in range(count):
        if np.issubdtype(dtype, np.floating):
            yield random.uniform(-4, 4, shape).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            yield random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def steps(want, got):
    if want.dtype != got.dtype or want.shape != got.shape:
        return np.inf
    if want.dtype.kind == "f":
        top = float(np.max(np.abs(want), initial=0))
        return float(np.max(np.abs(want - got), initial=0)) / (top / 255) if top else 0.0
    return float(np.max(np.abs(want.astype(np.int64) - got), initial=0))


def convert(source, to, *more):
    done = support.burin("compile", source, "-o", to, "--force", *more)
    words = re.search(r"(\d+) of them between", done.stdout + done.stderr)
    return int(words[1]) if words else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--inputs", type=int, default=4)
    options = parser.parse_args()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for name, most in TO_ONNX + TO_TFLITE:
            if not re.search(options.only, name):
                continue
            back = name.startswith("micro_kws_")
            source = support.shared(f"corpus/onnx/real/{name}/model.onnx" if back else f"corpus/tflite/real/{name}.tflite")
            to = top / ("m.tflite" if back else "m.onnx")
            left = convert(source, to, *(["--batch", "1"] if name.endswith("qdq") else []))
            if back:
                before, after = runtime_onnx(source), runtime_tflite(to)
                ports = after.inputs
            else:
                onnx.checker.check_model(str(to), full_check=True)
                before, after = runtime_tflite(source), runtime_onnx(to)
                ports = before.inputs
            far = 0.0
            runs = list(zip(*(samples(shape, dtype, options.inputs) for shape, dtype in ports)))
            if back:
                recorded = onnx.numpy_helper.to_array(onnx.TensorProto.FromString((source.parent / "test_data_set_0/input_0.pb").read_bytes()))
                runs.append([recorded[:1].reshape(ports[0][0])])
            for inputs in runs:
                far = max([far] + [steps(a, b) for a, b in zip(before(list(inputs)), after(list(inputs)))])
            fault = far > most or left > (name in FLATTENED)
            faults += fault
            print(f"{'wrong ' if fault else ''}{name} to {'TFLite' if back else 'ONNX'}: outputs at most {far:.3g} steps apart, {left} transposes between operators", flush=True)
    print(f"{faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
