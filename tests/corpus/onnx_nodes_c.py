# ctest: name=corpus.onnx_nodes_c, labels=corpus, timeout=1800
"""The node tests that onnx makes, in the evaluator and through emitted C, strictly: a module is made from the model and the shapes of its
inputs alone, and every input is given when it runs.

  onnx_nodes_c.py [--only REGEX] [--root FOLDER...]

Of what the evaluator passes, tests whose shapes follow from the shapes of their inputs (onnx's shape inference knows them all, or the module
can be made without any contents) and the others are counted apart; what is refused for contents that it needs is made again with these inputs
constant. Strings at the border are counted, and not run: C has numbers there. Modules build without a warning and need nothing but memcpy, memmove, memset and libm. Rules of onnx's own test runner.
--root: other tests, as of the corpus, which are only counted. Run by the oracles' Python; by ctest's Python it starts that one.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import by_oracles  # noqa: F401

import numpy as np
import onnx
from onnx import numpy_helper

import batch
import support

MODULES = 64  # of one program
AT_LEAST = {"evaluator": 1851, "strict": 1499, "shapes follow": 1521, "constant": 328}  # of 1,884
SHARE = 0.95  # of both kinds


def number(path):
    return int(re.findall(r"\d+", path.name)[-1])


def value_of(path, kind):
    """Its parts: of a sequence all, of an optional value what there is."""
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return [numpy_helper.to_array(t) for t in onnx.SequenceProto.FromString(data).tensor_values]
    if kind.HasField("optional_type"):
        return value_of_optional(onnx.OptionalProto.FromString(data))
    return [numpy_helper.to_array(onnx.TensorProto.FromString(data))]


def value_of_optional(o):
    if o.HasField("tensor_value"):
        return [numpy_helper.to_array(o.tensor_value)]
    return [numpy_helper.to_array(t) for t in o.sequence_value.tensor_values] if o.HasField("sequence_value") else []


class Test:
    def __init__(self, folder, data):
        self.path = folder / "model.onnx"
        self.model = onnx.load(self.path)
        inputs, outputs = (sorted((folder / data).glob(f"{what}_*.pb"), key=number) for what in ("input", "output"))
        self.inputs = [(i, p) for i, p in zip(self.model.graph.input, inputs)]
        self.outputs = [(o, p) for o, p in zip(self.model.graph.output, outputs)]
        self.constant = []

    def has_strings(self):
        """At its border: a module has numbers of its own table there (e2e.strings), which no file of the test has."""
        def kinds(v):
            kind = v.type
            while not kind.HasField("tensor_type"):
                kind = (kind.sequence_type if kind.HasField("sequence_type") else kind.optional_type).elem_type
            return kind.tensor_type.elem_type
        return any(kinds(v) == onnx.TensorProto.STRING for v in [*self.model.graph.input, *self.model.graph.output])

    def feeds(self):
        return [x for i, p in self.inputs if i.name not in self.constant for x in value_of(p, i.type)]

    def wanted(self):
        return [x for o, p in self.outputs for x in value_of(p, o.type)]

    def shapes(self):
        """What says the extents of inputs that the file leaves open."""
        words = []
        for i, p in self.inputs:
            t = i.type.tensor_type
            open_ = i.type.HasField("tensor_type") and (not t.HasField("shape") or any(not d.HasField("dim_value") for d in t.shape.dim))
            if open_ and i.name not in self.constant:
                shape = value_of(p, i.type)[0].shape
                words += ["--shape", f"{i.name}={'x'.join(map(str, shape)) or 'scalar'}"]
        return words

    def is_static(self):
        """Does onnx's shape inference know all shapes of the graph, from those of the inputs alone?"""
        m = onnx.ModelProto()
        m.CopyFrom(self.model)
        del m.graph.value_info[:]
        for i, (_, p) in zip(m.graph.input, self.inputs):
            if not i.type.HasField("tensor_type"):
                return False
            i.type.tensor_type.ClearField("shape")
            i.type.tensor_type.shape.SetInParent()
            for n in value_of(p, i.type)[0].shape:
                i.type.tensor_type.shape.dim.add().dim_value = n
        for o in m.graph.output:
            if o.type.HasField("tensor_type"):
                o.type.tensor_type.ClearField("shape")
        try:
            known = onnx.shape_inference.infer_shapes(m, data_prop=True).graph
        except Exception:
            return False
        types = {v.name: v.type for v in [*known.value_info, *known.output]}
        names = [o for n in m.graph.node for o in n.output if o]
        is_known = lambda t: t.HasField("tensor_type") and t.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in t.tensor_type.shape.dim)
        return all(n in types and is_known(types[n]) for n in names)

    def needed(self, why):
        """Inputs of the model on which what is refused depends."""
        named = re.search(r'graph/input\[\d+\] "([^"]*)"', why)
        if named:
            return [n for n in [named[1]] if n not in self.constant]
        at, given = re.search(r"graph/node\[(\d+)\]", why), re.search(r"graph/output\[(\d+)\]", why)
        if not at and not given:
            return []
        place = re.search(r"graph/node\[\d+\] \S+: .* whose input (\d+)", why)
        at = list(self.model.graph.node[int(at[1])].input) if at else [self.model.graph.output[int(given[1])].name]
        wanted, seen, found = [at[int(place[1])]] if place else at, set(), []
        makers = {o: n for n in self.model.graph.node for o in n.output}
        inputs = {i.name for i, _ in self.inputs}
        while wanted:
            name = wanted.pop()
            if name in seen:
                continue
            seen.add(name)
            if name in inputs:
                found.append(name)
            if name in makers:
                wanted += makers[name].input
        return [n for n in found if n not in self.constant]


def compile_one(test, prefix, folder):
    words = [w for i, p in test.inputs if i.name in test.constant for w in ("--constant", f"{i.name}={p}")]
    done = subprocess.run([os.environ["BURIN"], "compile", test.path, "-o", folder, "--prefix", prefix, "--layout", "single", "--no-check", "--force",
                           "--quiet", *test.shapes(), *words], capture_output=True, text=True, timeout=120)
    return None if done.returncode == 0 else (done.returncode, support.first_error(done.stderr))


def differs(got, want):
    if len(got) != len(want):
        return f"{len(got)} outputs, not {len(want)}"
    for k, (a, b) in enumerate(zip(got, want)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"output {k}: {a.dtype} {a.shape}, not {b.dtype} {b.shape}"
        with np.errstate(all="ignore"):
            x, y = (v.astype(np.float64) for v in (a, b)) if a.dtype.kind not in "iub" else (a, b)
            if not (np.array_equal(x, y) or np.allclose(x, y, 1e-3, 1e-7, equal_nan=x.dtype.kind == "f")):
                where = tuple(int(v[0]) for v in np.nonzero(~np.isclose(x, y, 1e-3, 1e-7, equal_nan=x.dtype.kind == "f"))) if x.ndim else ()
                return f"output {k}: {list(where)} {a[where]}, not {b[where]}"
    return None


def strict(tests):
    """name -> (verdict, why, what refuses it without contents)"""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        built, where = batch.Batch(folder, ["-O0"]), {}
        for k, (name, test) in enumerate(tests):
            refused, first = compile_one(test, f"t{k}", folder), None
            while refused and refused[0] == 1:
                first = first or refused[1]
                more = test.needed(refused[1])
                if not more:
                    break
                test.constant += more
                refused = compile_one(test, f"t{k}", folder)
            if refused:
                results[name] = ("refused" if refused[0] == 1 else "failed", refused[1] if refused[0] == 1 else f"status {refused[0]} {refused[1]}", first)
                continue
            where[name] = (f"t{k}", test, first)
        bad = built.build([prefix for prefix, _, _ in where.values()]) if where else {}
        for name, (prefix, test, first) in where.items():
            if prefix in bad:
                results[name] = ("failed", bad[prefix], first)
                continue
            got, why = built.run(prefix, test.feeds())
            why = why or differs(got, test.wanted())
            results[name] = ("wrong" if why else "passed", why, first)
    return results


def evaluated(roots, only):
    """Names (folder/test[/data set]) that the evaluator passes."""
    harness = support.shared("tools/harness/onnx_nodes.py")
    command = f"{os.environ['BURIN']} run {{model}} {{inputs:--input}} --output-dir {{dir}} --output-format pb --quiet --force"
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        words = [sys.executable, harness, "--cmd", command, "--only", only, "--quiet", "--timeout", "120", "--format", "pb", "--json", results.name]
        subprocess.run([*words, "--root", *map(str, roots)], capture_output=True, text=True)
        return [r["name"] for r in json.load(open(results.name)) if r["verdict"] == "passed"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", default="")
    p.add_argument("--root", nargs="+", type=pathlib.Path)
    options = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        roots = options.root
        if not roots:
            roots = [pathlib.Path(folder) / "generated"]
            support.oracle("onnx-generate", roots[0])
        by = {r.name: r for r in roots}
        names = evaluated(roots, options.only)
        results, static, strings = {}, {}, []
        for k in range(0, len(names), MODULES):
            tests = []
            for name in names[k:k + MODULES]:
                parts = name.split("/")
                data = parts.pop() if parts[-1].startswith("test_data_set_") else "test_data_set_0"
                test = Test(by[parts[0]].joinpath(*parts[1:]), data)
                if test.has_strings():
                    strings.append(name)
                    continue
                tests.append((name, test))
                static[name] = test.is_static()
            results.update(strict(tests))
    names = [n for n in names if n not in strings]
    faults = 0
    for name, (verdict, why, first) in sorted(results.items()):
        if verdict != "passed":
            faults += verdict != "refused"
            print(f"   {verdict} {name}: {why}")
        elif first and static[name]:
            print(f"   passed {name}, not strictly: {first.split(' is not supported')[0]}")
    follow = {n for n, (_, _, first) in results.items() if static[n] or not first}
    strictly = [n for n in follow if results[n][0] == "passed" and not results[n][2]]
    constant = [n for n, (verdict, _, first) in results.items() if verdict == "passed" and first]
    apart = [n for n in constant if n not in follow]
    print(f"the evaluator passes {len(names)} and {len(strings)} with strings at their border, which have numbers in C; shapes follow from shapes in {len(follow)}, of which C passes {len(strictly)} strictly; of the other "
          f"{len(names) - len(follow)} it passes {len(apart)} with an input made constant; {len(strictly) + len(constant)} in all; {faults} faults")
    if not options.only and not options.root:
        counted = {"evaluator": len(names) + len(strings), "strict": len(strictly), "shapes follow": len(follow), "constant": len(constant)}
        low = {k: n for k, n in AT_LEAST.items() if counted[k] < n}
        if low or len(strictly) < SHARE * len(follow) or len(apart) < SHARE * (len(names) - len(follow)):
            sys.exit(f"expected at least {low or SHARE}")
    sys.exit(faults > 0 or not names)


if __name__ == "__main__":
    main()
