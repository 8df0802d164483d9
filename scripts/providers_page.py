#!/usr/bin/env python3
"""Writes docs/PROVIDERS.md: every promise of include/burin/provider.h and session.h with the checks that are about it, and every check.

  providers_page.py [--check]     --check: says whether the page is what would be written, and writes nothing

A promise is a sentence behind [P1] or [S1]. One without a check, a check without a promise, a number that is missing or there
twice is an error.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/PROVIDERS.md"


# name, what it takes, what it is
BUILT_IN = [
    ("module", "shared objects of emitted modules (burin/module.h)", "emitted C at its own speed. The file is only read until a model is prepared; then the system loads what "
     "is at the source's path, once its bytes are those that were given. The code is as trusted as any other that is loaded. Extents that a run says, and weights in a blob, "
     "are refused"),
    ("null", "files of its own", "the provider to copy: every capability, in one file"),
    ("reference", "every format that Burin reads", "the evaluator: outputs bit for bit as the operators' definitions say them, so that what another provider "
     "gives can be held against it. A plan is measured by a run with zeros, both ways of each `if` and one round of each loop. Weights of an ONNX model that stand in "
     "another file are found by the source's name, as a path. A run of a model whose extents another run decides may end with NO_MEMORY, since no run bounds them"),
]


def promises(header):
    """[(number, sentence)] in the order of the header."""
    found = []
    for comment in re.findall(r"/\*(.*?)\*/", (ROOT / "include/burin" / header).read_text(), re.S):
        text = " ".join(re.sub(r"^\s*\* ?", "", line).strip() for line in comment.splitlines())
        for number, behind in re.findall(r"\[([PS]\d+)\]\s*(.*?)(?=\[[PS]\d+\]|$)", text):
            found.append((number, re.split(r"\.\s+(?=[A-Z])", behind)[0].rstrip(". ") + "."))
    return found


def checks():
    rows, number = [], 0
    text = (ROOT / "src/conform/checks.def").read_text()
    macros = {"MEMBER": ("missing_{}", "ALWAYS", "S15", "a table without {} is refused as MISSING_MEMBER"),
              "BIT": ("bit_of_{}", "ALWAYS", "S15", "member {} and its capability bit must agree")}
    for line in text.splitlines():
        plain = re.match(r'CHECK\((\w+), ([A-Z ]+), "([^"]*)", "([^"]*)"\)', line)
        made = re.match(r"(MEMBER|BIT)\((\w+)\)", line)
        row = plain.groups() if plain else tuple(p.format(made.group(2)) for p in macros[made.group(1)]) if made else None
        if row:
            number += 1
            rows.append((number, *row))
    return rows


def page():
    faults, rows = [], checks()
    out = ["# Providers\n",
           "A provider is a backend behind `include/burin/provider.h`; an application calls it through `include/burin/session.h`. Every promise of the two",
           "headers has a number. `burin conform PROVIDER [MODEL]` holds a provider, and the host, to each by the checks named beside it;",
           "`examples/null_provider.c` is the provider to copy. This page is written by `scripts/providers_page.py`.\n"]
    out += ["| built in | models | |", "|---|---|---|", *(f"| `{name}` | {takes} | {what} |" for name, takes, what in BUILT_IN), ""]
    known = set()
    for header, letter, title in (("provider.h", "P", "What a provider promises"), ("session.h", "S", "What the host promises")):
        found = promises(header)
        numbers = [n for n, _ in found]
        if sorted(numbers, key=lambda n: int(n[1:])) != [f"{letter}{i}" for i in range(1, len(numbers) + 1)]:
            faults.append(f"{header}: numbers are not {letter}1 to {letter}{len(numbers)}, once each: {numbers}")
        known |= set(numbers)
        out += [f"## {title} (`{header}`)\n", "| promise | | checks |", "|---|---|---|"]
        for number, sentence in sorted(found, key=lambda f: int(f[0][1:])):
            by = [f"`{row[1]}`" for row in rows if number in row[3].split()]
            if not by:
                faults.append(f"{header}: {number} has no check: {sentence}")
            out.append(f"| {number} | {sentence} | {' '.join(by)} |")
        out.append("")
    out += ["## The checks\n", "| | check | holds when | promises | claimed with |", "|---|---|---|---|---|"]
    for number, name, needs, about, text in rows:
        faults += [f"checks.def: {name}: there is no promise {p}" for p in about.split() if p not in known]
        out.append(f"| {number} | `{name}` | {text} | {about} | {'' if needs == 'ALWAYS' else needs.lower()} |")
    return "\n".join(out) + "\n", faults


def main():
    text, faults = page()
    for fault in faults:
        print(fault, file=sys.stderr)
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit("docs/PROVIDERS.md is not what scripts/providers_page.py writes: run it")
    else:
        PAGE.write_text(text)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
