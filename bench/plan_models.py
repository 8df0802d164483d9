"""Graphs of many operators that bench.py plans, in the graph's text form (docs/IR.md).

Takes a folder. Writes sums.ir (50,000 int8 sums, each with a scale and a zero point of its own, so that no two functions are
one), tables.ir (25,000 int8 logistics, each with a table of its own, and as many changes of scale between them), outputs.ir
(50,000 operators whose outputs all live to the end) and skips.ir (25,000 values that as many sums read later), unless they
are there.
"""
import pathlib

OPERATORS = 50_000


class Graph:
    def __init__(self):
        self.tensors, self.nodes = [], []

    def tensor(self, kind, quant=""):
        self.tensors.append(f'  tensor %{len(self.tensors)} {kind}[1,16] "t{len(self.tensors)}"{quant}')
        return len(self.tensors) - 1

    def node(self, word, inputs, output, attributes=""):
        self.nodes.append(f"  node {word} ({', '.join(f'%{i}' for i in inputs)}) -> (%{output}) {attributes} ids [{len(self.nodes)}]")
        return output

    def write(self, path, outputs):
        ends = ["  inputs (%0)", f"  outputs ({', '.join(f'%{i}' for i in outputs)})"]
        path.write_text("\n".join(['burin 1 model "tflite" "made.tflite"', 'graph "main" 0 {', *self.tensors, *ends, *self.nodes, "}", ""]))


PLAIN = '{act: text "none"}'


def quant(k):
    return f" quant {{{0.01 + k * 3.7e-6 % 0.03}:{k * 7 % 20 - 10}}}"


def sums(path):
    g = Graph()
    x = last = g.tensor("i8", quant(0))
    for k in range(OPERATORS):
        last = g.node("add", [last, x], g.tensor("i8", quant(k + 1)), PLAIN)
    g.write(path, [last])


def tables(path):
    g = Graph()
    last = g.tensor("i8", quant(0))
    for k in range(OPERATORS // 2):
        last = g.node("logistic", [last], g.tensor("i8", " quant {0.00390625:-128}"))
        last = g.node("quantize", [last], g.tensor("i8", quant(2 * k + 2)))
    g.write(path, [last])


def chain(g, count):
    last, values = g.tensor("f32"), []
    for k in range(count):
        last = g.node(("tanh", "exp")[k % 2], [last], g.tensor("f32"))
        values.append(last)
    return values


def outputs(path):
    g = Graph()
    g.write(path, chain(g, OPERATORS))


def skips(path):
    g = Graph()
    values = chain(g, OPERATORS // 2)
    last = values[-1]
    for value in values:
        last = g.node("add", [last, value], g.tensor("f32"), PLAIN)
    g.write(path, [last])


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, maker in (("sums", sums), ("tables", tables), ("outputs", outputs), ("skips", skips)):
        paths[name] = folder / f"{name}.ir"
        if not paths[name].exists():
            maker(paths[name])
    return paths
