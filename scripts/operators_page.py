#!/usr/bin/env python3
"""Writes docs/OPERATORS.md from the definitions, their cases, TFLite's dictionary and the rows of random operators.

  operators_page.py [--check]     --check: says whether the page is what would be written, and writes nothing

Nothing on the page is typed by hand: what it says of an operator stands in src/ops, src/formats/tflite/*.def and
tests/support/random_ops. Needs no package.
"""
import importlib.util
import pathlib
import re
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPS, TFLITE, ROWS = ROOT / "src/ops", ROOT / "src/formats/tflite", ROOT / "tests/support/random_ops"
PAGE = ROOT / "docs/OPERATORS.md"
# what reads an operator without a row of the dictionary: a builtin with a step of its own
OWN = {"CUSTOM": "by the custom operator's own name: a row of its own, or `--ops`"}
# operators that the reader itself makes into something else, by the file that does it
BY_READER = {"IF": "`if`", "WHILE": "`while`", "CALL": "inlined", "STABLEHLO_COMPOSITE": "its decomposition, inlined",
             "CALL_ONCE": "first contents of states", "VAR_HANDLE": "a state", "READ_VARIABLE": "a copy of a state",
             "ASSIGN_VARIABLE": "a copy into a state", "DENSIFY": "a constant"}


class Operator:
    def __init__(self, path):
        text = path.read_text()
        self.name, self.says, self.sources, self.goals, self.calls = path.stem, "", [], set(re.findall(r'goal\("(\w+)"\)', text)), []
        about = re.match(r"((?://[^\n]*\n)+)", text)
        if about:
            lines = [line[2:].strip() for line in about.group(1).splitlines()]
            says = [line for line in lines if not re.match(r"(TFLite|TFLM|Source|Sources)\b[^:]*:", line)]
            self.says = " ".join(says)
        for part in re.split(r"(?m)^op ", text)[1:]:
            inputs = re.search(r"(?m)^in (.*(?:\n {2,}.*)*)", part)
            outputs = re.search(r"(?m)^-> (.*)", part)
            when = re.search(r"(?m)^when (.*)", part)
            self.calls.append((inputs.group(1) if inputs else "", outputs.group(1) if outputs else "", when.group(1) if when else ""))
        self.cases = re.findall(r'(?m)^case (\S+) from "([^"]+)"', path.with_suffix(".case").read_text()) if path.with_suffix(".case").exists() else []
        self.types = self.types_of(path.with_suffix(".case"))

    @staticmethod
    def types_of(path):
        """Types of the cases: [(inputs, outputs)], each once."""
        found, inputs, outputs = [], [], []

        def end():
            if outputs:
                found.append((tuple(inputs), tuple(outputs)))
            inputs.clear()
            outputs.clear()

        for line in path.read_text().splitlines() if path.exists() else []:
            word, _, rest = line.partition(" ")
            if word == "case":
                end()
            elif word in ("in", "const", "state"):
                inputs.append(re.match(r"\w+", rest).group())
            elif word == "out":
                outputs.append(re.match(r"\w+", rest).group())
        end()
        return list(dict.fromkeys(found))


def definitions():
    return {p.stem: Operator(p) for p in sorted(OPS.glob("*.op")) if not p.stem.startswith("_")}


def dictionary():
    """{builtin: word}"""
    return dict(re.findall(r'(?m)^WORD\((\w+),\s*"([^"]+)"', (TFLITE / "dictionary.def").read_text()))


def builtins():
    return [(name, int(code)) for name, code in re.findall(r"(?m)^BUILTIN\((\w+), (\d+)\)", (TFLITE / "builtins.def").read_text())]


def refusals():
    text = (TFLITE / "refusals.def").read_text()
    common = re.search(r'#define NO_KERNEL "([^"]*)"', (TFLITE / "operators.c").read_text()).group(1)
    return {name: common if remedy == "NO_KERNEL" else remedy.strip('"')
            for name, remedy in re.findall(r'(?m)^REFUSAL\((\w+), (NO_KERNEL|"[^"]*")\)', text)}


def random_rows():
    """{builtin: [kinds]}; the rows need no numpy to be read, only to be drawn."""
    with mock.patch.dict(sys.modules, {"numpy": mock.MagicMock(), "tflite_build": mock.MagicMock()}):
        sys.path.insert(0, str(ROWS))
        try:
            import rows
            for path in sorted(ROWS.glob("*.py")):
                if path.stem != "rows":
                    spec = importlib.util.spec_from_file_location(path.stem, path)
                    spec.loader.exec_module(importlib.util.module_from_spec(spec))
        finally:
            sys.path.pop(0)
    found = {}
    for row in rows.ROWS:
        found.setdefault(row.operator, []).append(row.kind)
    return found


def code(text):
    return f"`{text}`" if text else ""


def escaped(text):
    return text.replace("|", "\\|")


def table(rows):
    return ["| " + " | ".join(escaped(c) for c in row) + " |" for row in rows]


def type_list(operator):
    """Inputs -> outputs of the cases, those that differ only in equal types folded: `i8 i8 -> i8`."""
    said = []
    for inputs, outputs in operator.types:
        left = " ".join(inputs)
        said.append(f"{left} → {' '.join(outputs)}".strip())
    return ", ".join(dict.fromkeys(said))


def case_list(operator):
    by = {}
    for name, source in operator.cases:
        by.setdefault(source.split()[0] if source.split()[0] in ("tflm", "litert", "hand") else source, []).append(name)
    return "; ".join(f"{source}: {', '.join(names)}" for source, names in sorted(by.items()))


def page():
    operators, words, rows, refused = definitions(), dictionary(), random_rows(), refusals()
    said_by = {}
    for builtin, word in words.items():
        said_by.setdefault(word, []).append(builtin)
    out = ["# Operators", "",
           "Written by `scripts/operators_page.py` from the definitions (`src/ops/*.op`), their cases (`src/ops/*.case`), TFLite's dictionary and the",
           "rows of random operators (`tests/support/random_ops`); a test says when it is stale. " f"{len(operators)} operators; "
           f"{sum(len(o.cases) for o in operators.values())} cases.", "",
           "Contents: [TFLite](#tflite) · [Definitions](#definitions)", "",
           "**Rounding.** A definition says every rounding; where TFLM's reference kernels and LiteRT's differ, it asks which is wanted "
           "(`--numerics tflm`, the default, or",
           "`litert`): the line *numerics*. Integers are equal bit for bit, floats within the bound of `docs/ARCHITECTURE.md`.", "",
           "**Tested.** *Cases*: by where the expected values come from: `tflm` and `litert` are the runtimes' reference kernels, `hand` is arithmetic by "
           "hand, anything else a specification.",
           "*Random*: types for which `tests/corpus/random_ops.py` draws at least 20 models and compares with LiteRT, and with TFLM where it has them: the "
           "evaluator, emitted C, and what",
           "is written. Whole networks are compared by the other tests of `tests/corpus`.", "", "## TFLite", "",
           f"All {len(builtins())} builtin operators. *word*: the definition that says it. Anything without one is refused by name.", "",
           "| code | builtin | word | random |", "|---|---|---|---|"]
    lines = []
    for name, number in builtins():
        word = words.get(name)
        if word:
            says = code(word) if word in operators else f"**{word}**: no definition"
        elif name in OWN:
            says = OWN[name]
        elif name in refused:
            says = f"refused; {refused[name]}"
        elif name in BY_READER:
            says = BY_READER[name]
        elif name == "PLACEHOLDER_FOR_GREATER_OP_CODES":
            says = "no operator: a mark of files with newer ones"
        else:
            says = "refused: not supported yet"
        lines.append([str(number), name, says, ", ".join(rows.get(name, []))])
    out += table(lines)
    out += ["", "## Definitions", ""]
    for name, o in operators.items():
        out += [f"### {name}", "", o.says, ""]
        if said_by.get(name):
            out.append(f"- TFLite: {', '.join(sorted(said_by[name]))}")
        for inputs, outputs, when in o.calls:
            text = " ".join(inputs.split()) + (f" -> {outputs}" if outputs else "") + (f", when {when}" if when else "")
            out.append(f"- `{text}`")
        out.append(f"- types in the cases: {type_list(o)}")
        if o.goals:
            out.append(f"- numerics: differ by {', '.join(code(g) for g in sorted(o.goals))}")
        out.append(f"- cases: {case_list(o)}")
        out.append("")
    return "\n".join(out)


def main():
    text = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is stale: run scripts/operators_page.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
