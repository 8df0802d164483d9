#!/usr/bin/env python3
# ctest: name=corpus.micro_kws, labels=corpus, timeout=600
"""The keyword spotter of MLPerf Tiny as ONNX in all its forms (floats, QDQ, QOperator, for TVM, and those that broke other tools): what
`burin run` computes is what ONNX Runtime does for that form, and the emitted C with it.

  micro_kws.py [--only PATTERN] [--inputs N]

Whole, and node by node: every value of 8 bits is cut, so that each node gets what ONNX Runtime made before it. Reals agree to rounding. An
integer may be one step off, and only where the real number lies at the middle between two, within the rounding of floats; the number of
those is printed. The real number is ONNX Runtime's own where QuantizeLinear takes it, else onnx's evaluator in double.
"""
import argparse
import pathlib
import re
import sys
import tempfile

import by_oracles  # noqa: F401
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import support

ROOT = support.shared("corpus/onnx/real")
FORMS = 10
TIE = 2e-3  # of a step


def runtime(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda inputs: dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs)))


def burin(model, inputs, folder, provider="reference"):
    onnx.save(model, folder / "m.onnx")
    arguments = []
    for k, v in enumerate(inputs.values()):
        np.save(folder / f"in{k}.npy", v)
        arguments += ["--input", folder / f"in{k}.npy"]
    support.burin("run", folder / "m.onnx", *arguments, "--output-dir", folder / "out", "--force", "--quiet", "--provider", provider)
    return {o.name: np.load(folder / f"out/output_{k}.npy") for k, o in enumerate(model.graph.output)}


def integers(values):
    return {name: v for name, v in values.items() if v.dtype.kind in "iu"}


def with_every_value(model):
    every = onnx.ModelProto()
    every.CopyFrom(model)
    known = {o.name for o in model.graph.output}
    for node in model.graph.node:
        every.graph.output.extend(onnx.ValueInfoProto(name=o) for o in node.output if o not in known)
    return every


def cut(model, values):
    """Each node that reads an integer of another node reads an input in its place; every value is an output."""
    apart = with_every_value(model)
    of = {name: name + "/given" for name in integers(values)}
    for node in apart.graph.node:
        for k, name in enumerate(node.input):
            node.input[k] = of.get(name, name)
    for name, given in of.items():
        v = values[name]
        apart.graph.input.append(helper.make_tensor_value_info(given, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape))
    types = {name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for name, v in values.items()}
    outputs = [types[o.name] for o in apart.graph.output]
    del apart.graph.output[:]
    apart.graph.output.extend(outputs)
    return apart, {given: values[name] for name, given in of.items()}


def in_double(node, values):
    """What a node QLinear... computes before it is rounded, in steps of its output from 0."""
    def real(x, scale, zero):
        shape = [-1] + [1] * (x.ndim - 1) if np.size(scale) > 1 else [1] * x.ndim
        return (x.astype(np.float64) - np.reshape(zero, shape)) * np.reshape(scale, shape).astype(np.float64)

    v = [values.get(name) for name in node.input]
    kind = node.op_type[len("QLinear"):]
    if kind in ("Conv", "MatMul"):
        reals, (scale, zero) = [real(*v[0:3]), real(*v[3:6])], v[6:8]
        if kind == "Conv" and len(v) > 8:
            reals.append(v[8] * (np.float64(v[1]) * v[4]).reshape(-1) * np.ones(v[8].shape))
    elif kind == "Add":
        reals, (scale, zero) = [real(*v[0:3]), real(*v[3:6])], v[6:8]
    else:
        reals, (scale, zero) = [real(*v[0:3])], v[3:5]
    names = [f"x{k}" for k in range(len(reals))]
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name not in ("opset", "channels_last")}
    one = helper.make_node(kind, names, ["y"], **attributes)
    graph = helper.make_graph([one], "g", [helper.make_tensor_value_info(n, onnx.TensorProto.DOUBLE, r.shape) for n, r in zip(names, reals)],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, None)])
    got = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)])).run(None, dict(zip(names, reals)))[0]
    return got / float(np.ravel(scale)[0])


def at_middle(node, values):
    if node.op_type == "QuantizeLinear":
        steps = np.float64(values[node.input[0]]) / np.float64(values[node.input[1]])
    elif node.op_type.startswith("QLinear"):
        steps = in_double(node, values)
    else:  # it only moves numbers, and has no middle
        return False
    return np.abs(np.abs(steps - np.rint(steps)) - 0.5) < TIE * np.maximum(1, np.abs(steps) / 256)


def same(want, got):
    """Reals to rounding, as a network accumulates it."""
    top = np.max(np.abs(want), initial=0)
    return np.all(np.abs(want.astype(np.float64) - got) <= 1e-5 * top + 1e-5 * np.abs(want))


def check(path, count, folder):
    """Prints what was compared; returns the number of faults."""
    model = onnx.load(path / "model.onnx")
    with open(path / "test_data_set_0/input_0.pb", "rb") as file:
        recorded = numpy_helper.to_array(onnx.TensorProto.FromString(file.read()))
    constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    (port,) = [i for i in model.graph.input if i.name not in constants]
    random = np.random.default_rng(7)
    top = float(np.max(np.abs(recorded.astype(np.float64))))
    samples = [recorded] + [random.uniform(-top, top, recorded.shape).astype(recorded.dtype) for _ in range(count - 1)]
    every, of_runtime, apart = with_every_value(model), None, None
    faults = whole = elements = ties = 0
    worst = 0.0
    for sample in samples:
        inputs = {port.name: sample}
        of_runtime = of_runtime or runtime(every)
        values = of_runtime(inputs)
        end = model.graph.output[0].name
        far = np.max(np.abs(burin(model, inputs, folder)[end].astype(np.float64) - values[end]))
        worst, whole = max(worst, far), whole + 1
        if sample is recorded and np.max(np.abs(burin(model, inputs, folder, "host")[end].astype(np.float64) - values[end])) > max(far, 1e-6):
            print("  the emitted C gives other values")
            faults += 1
        apart, given = cut(model, values)
        got = burin(apart, {**inputs, **given}, folder)
        known = {**constants, **inputs, **values}
        for node in model.graph.node:
            for name in node.output:
                want, mine = values[name], got[name]
                if want.dtype != mine.dtype or want.shape != mine.shape:
                    print(f"  {node.op_type} {name}: {mine.dtype}{mine.shape}, not {want.dtype}{want.shape}")
                    faults += 1
                elif want.dtype.kind in "iu":
                    off = np.abs(want.astype(int) - mine)
                    elements, ties = elements + off.size, ties + np.count_nonzero(off)
                    if np.any(off > 1) or np.any(off.astype(bool) & np.logical_not(at_middle(node, known) if np.any(off) else True)):
                        print(f"  {node.op_type} {name}: {np.count_nonzero(off)} of {off.size} differ, by up to {off.max()}")
                        faults += 1
                elif not same(want, mine):
                    print(f"  {node.op_type} {name}: off by {np.max(np.abs(want - mine))}")
                    faults += 1
    print(f"{path.name}: {whole} inputs, off by at most {worst:.3g}; node by node {elements} integers, {ties} one step off at the middle between two; "
          f"{faults} faults")
    # One step of the last integers, where a tie earlier on is carried to the end.
    return faults + (worst > 1.01 / 255 if worst < 1 else worst > 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--inputs", type=int, default=4)
    options = parser.parse_args()
    forms = [p for p in sorted(ROOT.glob("micro_kws_*")) if re.search(options.only, p.name)]
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for form in forms:
            faults += check(form, options.inputs, pathlib.Path(folder))
    print(f"{len(forms)} forms, {faults} faults")
    return 1 if faults or (not options.only and len(forms) < FORMS) else 0


if __name__ == "__main__":
    sys.exit(main())
