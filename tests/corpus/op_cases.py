# ctest: name=corpus.op_cases, labels=corpus, timeout=900
"""The cases of the operators against the runtimes that they say they come from.

Every case `from tflm ...` or `from litert ...` in src/ops/*.case is built as a .tflite of one operator and run there; the
expected values in the file must be what comes out. `op_cases.py --write FILE.case` fills in outputs that say `= ?`.
Of a custom operator that keeps a state in itself the cases are runs one after the other: one whose states are not all zeros continues
the case before it, and the states' new contents, which the runtime does not show, are proved by the outputs of the next.
Run by the oracles' Python; by ctest's Python it starts that one.
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np

import tflite_build as build

TOKEN = re.compile(r'//[^\n]*|"[^"]*"|[=?\[\],]|[^\s=?\[\],"]+')
START = ('case', 'from', 'goal', 'attr', 'in', 'const', 'state', 'absent', 'out')


def number(word):
    if word in ('true', 'false'):
        return word == 'true'
    if 'x' in word and 'p' in word:
        return float.fromhex(word)
    if re.fullmatch(r'[-+]?\d+', word):
        return int(word)
    return float(word)


class Case:
    def __init__(self, name, source):
        self.name, self.source, self.goals, self.attrs, self.inputs, self.outputs = name, source, [], {}, [], []
        self.want, self.within, self.at = [], [], []


def tokens(text):
    return [(m.group(), m.start(), m.end()) for m in TOKEN.finditer(text) if not m.group().startswith('//')]


def parse(text):
    """The cases of a file; a case's `at` holds where in the text the values of each output stand."""
    t, i, cases = tokens(text), 0, []

    def numbers():                                   # a number, or [numbers]
        nonlocal i
        if t[i][0] != '[':
            i += 1
            return number(t[i - 1][0])
        i, v = i + 1, []
        while t[i][0] != ']':
            if t[i][0] != ',':
                v.append(number(t[i][0]))
            i += 1
        i += 1
        return v

    def tensor():
        nonlocal i
        x = build.Tensor(t[i][0], [])
        i += 1
        x.shape, within = numbers(), 0.0
        as_list = lambda v: v if isinstance(v, list) else [v]
        while t[i][0] != '=':
            word, i = t[i][0], i + 1
            if word == 'scale':
                x.scale = as_list(numbers())
            elif word == 'zero':
                x.zero = as_list(numbers())
            elif word == 'axis':
                x.axis = numbers()
            elif word == 'within':
                within = numbers()
            else:
                raise ValueError(f'{word} in a tensor')
        x.zero = x.zero or [0] * len(x.scale)
        i += 1
        start = end = t[i][1] if i < len(t) else len(text)
        v = []
        while i < len(t) and t[i][0] not in START:
            v.append(t[i][0] if t[i][0] == '?' else number(t[i][0]))
            end, i = t[i][2], i + 1
        if v != ['?']:
            # (types that no file of a runtime has are in cases by hand)
            x.data = np.array(v).astype(build.DTYPE.get(x.type, np.float64)).reshape(x.shape)
        return x, within, (start, end)

    while i < len(t):
        word, i = t[i][0], i + 1
        if word == 'case':
            name, i = t[i][0], i + 1
            if t[i][0] != 'from':
                raise ValueError(f'case {name} does not say from what')
            cases.append(Case(name, t[i + 1][0].strip('"')))
            i += 2
        elif word == 'goal':
            cases[-1].goals.append(t[i][0].strip('"'))
            i += 1
        elif word == 'attr':
            name, i = t[i][0], i + 2
            if t[i][0].startswith('"'):
                cases[-1].attrs[name], i = t[i][0].strip('"'), i + 1
            else:
                cases[-1].attrs[name] = numbers()
        elif word in ('in', 'const', 'state'):
            x, _, _ = tensor()
            x.constant, x.state = word == 'const', word == 'state'
            cases[-1].inputs.append(x)
        elif word == 'absent':
            cases[-1].inputs.append(None)
        elif word == 'out':
            x, within, at = tensor()
            cases[-1].outputs.append(x)
            cases[-1].within.append(within)
            cases[-1].at.append(at)
        else:
            raise ValueError(f'{word!r}: expected one of {START}')
    return cases


def runs_to(cases, k):
    """The cases from which case k goes on, and itself; None: its states are not what the one before leaves."""
    states = lambda case: [x for x in case.inputs if x is not None and x.state]
    first = k
    while any(np.any(x.data) for x in states(cases[first])):
        left = cases[first - 1].outputs[-len(states(cases[first])):] if first else []
        if cases[first].attrs != cases[first - 1].attrs or [x.data.tolist() for x in left] != [x.data.tolist() for x in states(cases[first])]:
            return None
        first -= 1
    return cases[first:k + 1]


def run_kept(word, cases):
    """The outputs of the last of those runs."""
    case = cases[-1]
    model = build.build(word, case.attrs, case.inputs, case.outputs)
    arrays = [[x.data for x in c.inputs if not x.constant and not x.state] for c in cases]
    if len(cases) == 1:
        return build.run_tflm(model, arrays[0])
    return [v[-1] for v in build.run_tflm(model, [np.stack(v) for v in zip(*arrays)], runs=len(cases))]


def run(word, cases, k):
    case = cases[k]
    if word in build.CUSTOM and any(x is not None and x.state for x in case.inputs):
        chain = runs_to(cases, k)
        return run_kept(word, chain) if chain else None
    runtime = {'tflm': build.run_tflm, 'litert': build.run_litert}[case.source.split()[0]]
    model = build.build(word, case.attrs, case.inputs, case.outputs)
    given = [x for x in case.inputs if x is not None]
    arrays = [x.data for x in given if not x.constant and not x.state]
    if word in ('real', 'imag', 'complex_abs'):
        arrays = [build.complex_data(x) for x in arrays]
    got = runtime(model, arrays, [x.data for x in given if x.state])
    return [np.ascontiguousarray(v)[..., None].view(np.float32) if v.dtype.kind == 'c' else v for v in map(np.asarray, got)]


def text_of(values):
    """As short as reads back to the same bits, eight rows of at most 16 to a line."""
    if values.dtype == np.bool_:
        words = ['true' if v else 'false' for v in values.flat]
    elif values.dtype.kind == 'f':
        words = [np.format_float_positional(v, trim='-') if 1e-4 <= abs(v) < 1e7 or v == 0 else np.format_float_scientific(v, trim='-')
                 for v in values.flat]
    else:
        words = [str(v) for v in values.flat]
    row = values.shape[-1] if values.ndim and 4 <= values.shape[-1] <= 16 else 16
    lines = [' '.join(words[k:k + row]) for k in range(0, len(words), row)]
    return lines[0] if len(lines) == 1 else '\n    ' + '\n    '.join(lines)


def from_runtime(case):
    return case.source.split()[0] in ('tflm', 'litert')


def write(path):
    text = path.read_text()
    cases = parse(text)
    for k, case in reversed(list(enumerate(cases))):
        if from_runtime(case) and any(x.data is None for x in case.outputs):
            for (start, end), got, want in reversed(list(zip(case.at, run(path.stem, cases, k), case.outputs))):
                if want.data is not None:
                    continue
                text = text[:start] + text_of(np.asarray(got).reshape(want.shape)) + text[end:]
    path.write_text(text)


def main():
    if sys.argv[1:2] == ['--write']:
        for name in sys.argv[2:]:
            write(pathlib.Path(name))
        return 0
    source = pathlib.Path(os.environ.get('BURIN_SOURCE', pathlib.Path(__file__).parent.parent.parent))
    bad = count = 0
    for path in sorted((source / 'src/ops').glob('*.case')):
        cases = parse(path.read_text())
        for n, case in enumerate(cases):
            if not from_runtime(case):
                continue
            count += 1
            outputs = run(path.stem, cases, n)
            if outputs is None:
                bad += 1
                print(f'{path.name}: {case.name}: its states are not what the case before leaves')
                continue
            valid = all(bool(v) for v, x in zip(outputs, case.outputs) if x.type == 'bool' and path.stem in build.CUSTOM)
            for k, (got, want) in enumerate(zip(outputs, case.outputs)):
                if not valid and want.type != 'bool':
                    continue  # the runtime leaves it as it was
                got = np.asarray(got).reshape(want.shape)
                close = np.isclose(got, want.data, rtol=1e-6, atol=1e-7, equal_nan=True) if got.dtype.kind == 'f' else got == want.data
                if not close.all():
                    bad += 1
                    print(f'{path.name}: {case.name}: output {k}: {int((~close).sum())} of {close.size} differ from {case.source}')
    print(f'{count} cases from runtimes, {bad} outputs differ')
    return bad != 0 or count == 0


sys.exit(main())
