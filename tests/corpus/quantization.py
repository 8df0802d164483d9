# ctest: name=corpus.quantization, labels=corpus, timeout=600
"""Parameters from JSON on networks of reals: what comes out of --quantization as TFLite in LiteRT, as ONNX in ONNX Runtime, and as C.

Activations of micro_kws have the scales that somebody else's quantiser gave them (of the corpus's QDQ form of it, by `inspect --parameters`), those of the other
networks come from what ONNX Runtime computes on noise; weights have a scale for each output channel, of their largest magnitude. The evaluator
and C are equal, and so is LiteRT; ONNX Runtime, which has reals between roundings, is within STEPS; and all are near the reals. A last softmax has parameters of its own in a
second round: without, it is real, and LiteRT's is not the same to the bit. Run by the oracles' Python.
"""
import json
import pathlib
import tempfile

import by_oracles  # noqa: F401
import numpy as np
import onnx
from onnx import numpy_helper

import support

RUNS = 3
STEPS = 2  # of the output's scale
REAL = pathlib.Path("onnx/real")


def burin(*words):
    return support.burin(*words).stdout


def weights(model):
    """A scale for each output channel, along which the weights are told by the operator."""
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    constants |= {n.output[0]: numpy_helper.to_array(n.attribute[0].t) for n in model.graph.node if n.op_type == "Constant"}
    of = {}
    for n in model.graph.node:
        if n.op_type in ("Conv", "MatMul", "Gemm") and n.input[1] in constants:
            w = constants[n.input[1]]
            axis = 0 if n.op_type == "Conv" or any(a.name == "transB" and a.i for a in n.attribute) else 1
            most = np.abs(w).max(axis=tuple(k for k in range(w.ndim) if k != axis))
            of[n.input[1]] = {"name": n.input[1], "type": "i8", "axis": axis, "scale": [float(v) / 127 or 1 / 127 for v in most]}
    return list(of.values())


def ranges(model, feeds):
    """Scales of what operators make, from ONNX Runtime's numbers."""
    import onnxruntime
    more = onnx.ModelProto()
    more.CopyFrom(model)
    inferred = onnx.shape_inference.infer_shapes(model).graph
    del more.graph.output[:]
    names = [v.name for v in [*inferred.value_info, *inferred.output] if v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    made = {o for n in model.graph.node if n.op_type not in ("Constant", "Softmax") for o in n.output}
    relu = {n.input[0] for n in model.graph.node if n.op_type in ("Relu", "Clip")}
    names = [n for n in names if n in made and n not in relu]
    more.graph.output.extend(v for v in [*inferred.value_info, *inferred.output] if v.name in names)
    session = onnxruntime.InferenceSession(more.SerializeToString(), providers=["CPUExecutionProvider"])
    low, high = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for feed in feeds:
        for name, value in zip([o.name for o in session.get_outputs()], session.run(None, feed)):
            low[name], high[name] = min(low[name], float(value.min())), max(high[name], float(value.max()))
            for k in feed:
                low[k], high[k] = min(low.get(k, 0.0), float(feed[k].min())), max(high.get(k, 0.0), float(feed[k].max()))
    scale = {n: (high[n] - low[n]) / 255 or 1.0 for n in low}
    of = [{"name": n, "type": "i8", "scale": scale[n], "zero_point": int(np.clip(round(-128 - low[n] / scale[n]), -128, 127))} for n in low]
    of += [{"name": n.output[0], "type": "i8", "scale": 1 / 256, "zero_point": -128} for n in model.graph.node if n.op_type == "Softmax"]
    return of


def feeds_of(model, rng):
    one = next(i for i in model.graph.input if i.name not in {t.name for t in model.graph.initializer})
    shape = [d.dim_value or 1 for d in one.type.tensor_type.shape.dim]
    return [{one.name: rng.uniform(0 if "mnist" in str(model.graph.name).lower() else -4, 4, shape).astype("f4")} for _ in range(RUNS)]


def litert(path, feed):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    i = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    i.allocate_tensors()
    i.set_tensor(i.get_input_details()[0]["index"], next(iter(feed.values())))
    i.invoke()
    return i.get_tensor(i.get_output_details()[0]["index"])


def ort(path, feed):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: next(iter(feed.values()))})[0]


def run(source, folder, provider, feed, *words):
    np.save(folder / "x.npy", next(iter(feed.values())))
    burin("run", source, "--input", folder / "x.npy", "--provider", provider, "--output-dir", folder / "out", "--force", "--quiet", *words)
    return np.load(folder / "out/output_0.npy")


def check(name, model, parameters, source, feeds):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "q.json").write_text(json.dumps({"version": 1, "tensors": parameters}))
        words = ["--quantization", folder / "q.json"]
        operators = burin("inspect", source, *words)
        for out in ("net.tflite", "net.onnx"):
            burin("compile", source, "-o", folder / out, "--force", "--quiet", *words)
        step = next((p["scale"] for p in parameters if p["name"] == model.graph.output[0].name), None)
        step = step or float(max(np.abs(ort(source, feed)).max() for feed in feeds)) / 127
        most = {"C": 0.0, "LiteRT": 0.0, "ONNX Runtime": 0.0, "reals": 0.0}
        for feed in feeds:
            want = run(source, folder, "reference", feed, *words)
            for other, got in (("C", run(source, folder, "host", feed, *words)), ("LiteRT", litert(folder / "net.tflite", feed)),
                               ("ONNX Runtime", ort(folder / "net.onnx", feed)), ("reals", ort(source, feed))):
                most[other] = max(most[other], float(np.abs(got.astype("f8") - want).max()) / step)
        print(f"{name}: {len(parameters)} tensors; steps apart: {', '.join(f'{k} {v:.3g}' for k, v in most.items())}; "
              f"reals left: {sum(' f32 ' in line for line in operators.splitlines()[4:])} operators")
        exact = any(p["name"] == model.graph.output[0].name for p in parameters)
        assert most["C"] == 0 and most["LiteRT"] <= (0 if exact else 0.01) and most["ONNX Runtime"] <= STEPS, (name, most)


def main():
    rng = np.random.default_rng(7)
    corpus = support.shared("corpus") / REAL
    source = corpus / "micro_kws_fp32/model.onnx"
    model = onnx.load(source)
    theirs = json.loads(burin("inspect", corpus / "micro_kws_qdq/model.onnx", "--parameters"))["tensors"]
    names = {o for n in model.graph.node if n.op_type != "MatMul" for o in n.output}  # behind a bias, which joins the product
    theirs = [p for p in theirs if p["name"] in names] + weights(model)
    feeds = feeds_of(model, rng)
    check("micro_kws", model, theirs, source, feeds)
    check("micro_kws, softmax too", model, theirs + [{"name": model.graph.output[0].name, "type": "i8", "scale": 1 / 256, "zero_point": -128}], source, feeds)
    for name in ("ort_mnist",):
        source = corpus / name / "model.onnx"
        model = onnx.load(source)
        feeds = feeds_of(model, rng)
        check(name, model, ranges(model, feeds) + weights(model), source, feeds)


if __name__ == "__main__":
    main()
