# ctest: name=corpus.onnx_cases, labels=corpus, timeout=900
"""The cases `from "onnxruntime"` and `from "onnx"` of src/ops/*.case against ONNX Runtime and onnx's reference evaluator.

tests/support/onnx_cases lists nodes of ONNX. Each is a model of one node; Burin's reader says which word it is, with which
attributes and inputs; what the runtime gives is what the case in the file must want. `onnx_cases.py --write [WORD...]` writes the
cases into the files, and leaves those from elsewhere as they are. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import base64
import importlib
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np
import onnx
from onnx import helper, numpy_helper

import onnx_cases
from onnx_cases import DTYPE, WITHIN

SOURCE = pathlib.Path(os.environ.get('BURIN_SOURCE', pathlib.Path(__file__).parent.parent.parent))
BURIN = os.environ.get('BURIN', str(SOURCE / 'build/debug/burin'))
SOURCES = {'ort': 'onnxruntime', 'ref': 'onnx', 'wide': 'onnx'}


def model_of(case, arrays):
    names = [f'in{k}' if x is not None else '' for k, x in enumerate(arrays)]
    node = helper.make_node(case.op, names, case.outputs, domain=case.domain, **case.attrs)
    inputs, constants = [], []
    for name, x, spec in zip(names, arrays, case.inputs):
        if x is None:
            continue
        value = numpy_helper.from_array(x, name)
        if spec.const:
            constants.append(value)
        else:
            inputs.append(helper.make_tensor_value_info(name, value.data_type, x.shape))
    outputs = [onnx.ValueInfoProto(name=name) for name in case.outputs if name]
    graph = helper.make_graph([node], 'g', inputs, outputs, constants)
    sets = [helper.make_opsetid('', case.opset)] + ([helper.make_opsetid(case.domain, case.domain_version)] if case.domain else [])
    return helper.make_model(graph, opset_imports=sets, ir_version=11)


def run(case, model, arrays):
    feed = {f'in{k}': x for k, (x, spec) in enumerate(zip(arrays, case.inputs)) if x is not None and not spec.const}
    if case.engine == 'wide':
        wide = [x.astype(np.float64) if x is not None and x.dtype == np.float16 else x for x in arrays]
        given = {f'in{k}': x for k, (x, spec) in enumerate(zip(wide, case.inputs)) if x is not None and not spec.const}
        from onnx.reference import ReferenceEvaluator
        return [np.asarray(v).astype(np.float16) if v.dtype == np.float64 else v for v in ReferenceEvaluator(model_of(case, wide)).run(None, given)]
    if case.engine == 'ref':
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(model).run(None, feed)
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    return session.run(None, feed)


def graph_of(model):
    """What Burin reads: the model's text."""
    with tempfile.TemporaryDirectory() as d:
        onnx.save(model, f'{d}/m.onnx')
        p = subprocess.run([BURIN, 'compile', f'{d}/m.onnx', '--target', 'ir', '-O', '0', '-o', f'{d}/m.ir', '-q'], capture_output=True, text=True)
        if p.returncode:
            raise ValueError(p.stderr.strip())
        return pathlib.Path(f'{d}/m.ir').read_text()


def text_of(values):
    if values.dtype == np.bool_:
        words = ['true' if v else 'false' for v in values.flat]
    elif values.dtype.kind in 'iu':
        words = [str(v) for v in values.flat]
    else:
        words = [repr(v) if np.isfinite(v) else str(v) for v in
                 (float(np.format_float_scientific(v, unique=True)) if values.dtype.itemsize in (2, 4) and values.dtype.kind == 'f'
                  else float(v) for v in values.flat)]
        words = [w[:-2] if w.endswith('.0') else w for w in words]
    row = values.shape[-1] if values.ndim and 4 <= values.shape[-1] <= 16 else 16
    lines = [' '.join(words[k:k + row]) for k in range(0, len(words), row)] or ['']
    return lines[0] if len(lines) == 1 else '\n    ' + '\n    '.join(lines)


def tensor(role, type, values, more=''):
    shape = ','.join(str(n) for n in values.shape)
    return f'{role} {type}[{shape}]{more} = {text_of(values)}'.rstrip()


def type_of(values):
    return next(name for name, dtype in DTYPE.items() if np.dtype(dtype) == values.dtype)


def written(case):
    """The case as it stands in its file."""
    arrays = case.arrays()
    model = model_of(case, arrays)
    results = run(case, model, arrays)
    text = graph_of(model)
    nodes = re.findall(r'  node (\w+) \(([^)]*)\) -> \(([^)]*)\)(?: \{([^}]*)\})?', text)
    if len(nodes) != 1 or nodes[0][0] != case.word:
        raise ValueError(f'{case.word}.{case.name} is read as {[n[0] for n in nodes]}')
    _, inputs, outputs, attrs = nodes[0]
    tensors = {number: (type, dims, name, bytes.fromhex(data) if form == 'hex' else base64.b64decode(data)) for number, type, dims, name, form, data in
               re.findall(r'  tensor (%\d+) (\w+)\[([^\]]*)\] "([^"]*)"(?: source \d+)?(?: = (hex|base64)\s+"([^"]*)")?', text)}
    lines = [f'case {case.name} from "{SOURCES[case.engine]}"']
    for name, kind, value in re.findall(r'(\w+): (\w+) (\[[^\]]*\]|"[^"]*"|[^,]+)', attrs or ''):
        value = value.replace(',', '')
        if kind in ('float', 'floats'):                          # in a case a number without a point is an int
            value = re.sub(r'-?[\w.+-]+', lambda m: m[0] if re.search(r'[.epn]', m[0]) else m[0] + '.0', value)
        lines.append(f'attr {name} = {value}')
    for number in filter(None, inputs.split(', ')):
        if number == '_':
            lines.append('absent')
            continue
        type, dims, name, data = tensors[number]
        if name in [f'in{k}' for k in range(len(arrays))]:
            k = int(name[2:])
            lines.append(tensor('const' if case.inputs[k].const else 'in', type, arrays[k]))
        else:
            shape = [int(n) for n in dims.split(',') if n]
            lines.append(tensor('const', type, np.frombuffer(data, DTYPE[type]).reshape(shape)))
    given = dict(zip([name for name in case.outputs if name], results))
    for number in outputs.split(', '):
        name = tensors[number][2]
        if name not in given:
            raise ValueError(f'{case.word}.{case.name}: an output that is not wanted must be the last')
        values = np.asarray(given[name])
        type = type_of(values)
        within = case.within or WITHIN.get(type)
        lines.append(tensor('out', type, values, f' within {within}' if values.dtype.kind not in 'iub' else ''))
    return '\n'.join(lines) + '\n'


def parts(text):
    """The cases of a file, each as it stands with the comment right above it."""
    at = [m.start() for m in re.finditer(r'^(?://[^\n]*\n)*case ', text, re.M)] + [len(text)]
    return text[:at[0]], [text[a:b].rstrip('\n') + '\n' for a, b in zip(at, at[1:])]


def is_ours(part):
    return re.search(r'^case \w+ from "(onnx|onnxruntime)"', part, re.M) is not None


def name_of(part):
    return re.search(r'^case (\w+)', part, re.M)[1]


def close(ours, there):
    """The same text, but for outputs' floats that a machine rounds otherwise."""
    a, b = (re.sub(r'//[^\n]*', '', text).split() for text in (ours, there))
    if len(a) != len(b):
        return False
    within, out = 0.0, False
    for k, (x, y) in enumerate(zip(a, b)):
        out = x == 'out' or (out and x not in ('in', 'const'))
        within = float(a[k + 1]) if out and x == 'within' else within
        if x != y and not (out and re.match(r'-?[\d.]', x) and re.match(r'-?[\d.]', y) and
                           abs(float(x) - float(y)) <= within * max(1.0, abs(float(y)))):
            return False
    return True


def main():
    write, only = sys.argv[1:2] == ['--write'], sys.argv[2:]
    cases = {}
    for module in pkgutil.iter_modules(onnx_cases.__path__):
        for case in importlib.import_module(f'onnx_cases.{module.name}').CASES:
            if not only or case.word in only:
                cases.setdefault(case.word, []).append(case)
    bad = count = 0
    for word, listed in sorted(cases.items()):
        path = SOURCE / f'src/ops/{word}.case'
        head, there = parts(path.read_text()) if path.exists() else ('', [])
        now = []
        for case in listed:
            try:
                now.append(written(case))
            except Exception as e:                               # a runtime's own errors are of many kinds
                print(f'{word}.{case.name}: {e}')
                bad += 1
        count += len(now)
        if write:
            if len(now) == len(listed):                          # else the file stays
                path.write_text(head + '\n'.join([p for p in there if not is_ours(p)] + now))
            continue
        ours = [p for p in there if is_ours(p)]
        for text in now:
            name = text.split()[1]
            if not any(close(p, text) for p in ours if name_of(p) == name):
                print(f'{path.name}: case {name} is not what {text.split()[3]} gives')
                bad += 1
        for p in ours:
            if name_of(p) not in [case.name for case in listed] and not only:
                print(f'{path.name}: case {name_of(p)} is in no list of tests/support/onnx_cases')
                bad += 1
    print(f'{count} cases, {bad} faults')
    return 1 if bad or not count else 0


if __name__ == '__main__':
    sys.exit(main())
