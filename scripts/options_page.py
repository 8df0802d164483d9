#!/usr/bin/env python3
"""Writes docs/OPTIONS.md, docs/burin.1 (the manual page) and docs/burin.schema.json (of files of options) from the tables of options and commands.

  options_page.py [--check]     --check: says which of them is not what would be written, and writes nothing

What they say stands in include/burin/options.def, src/cli/options.def, src/cli/commands.def and, for the values and what shows their
effect, in tests/e2e/options.py. Needs no package.
"""
import ast
import collections
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMMANDS, COMPILE, COMMAND_ONLY = ROOT / "src/cli/commands.def", ROOT / "include/burin/options.def", ROOT / "src/cli/options.def"
EFFECTS = ROOT / "tests/e2e/options.py"
COLUMNS = "kind field flag letter value lowest highest standard commands standing tests help"
Option = collections.namedtuple("Option", COLUMNS + " library")
Command = collections.namedtuple("Command", "name operands count summary more examples")
NUMBERS = {"UINT32_MAX": 2**32 - 1, "INT32_MAX": 2**31 - 1}
# the words for sets of commands, as src/cli/options.def defines them
PLANNING = ["compile", "plan"]
CHOOSING = [*PLANNING, "explain"]
RUNNING = ["run", "verify"]
SETS = {"OF_PLANNING": PLANNING, "OF_CHOOSING": CHOOSING, "OF_RUNNING": RUNNING, "OF_LOADING": [*CHOOSING, "inspect", *RUNNING]}


def value_of(text):
    """A column: a string or its parts one behind the other, a number, or a word as it is."""
    parts = re.findall(r'"(?:[^"\\]|\\.)*"', text)
    if parts:
        return "".join(ast.literal_eval(p) for p in parts)
    if text == "NULL":
        return None
    if text in NUMBERS or re.fullmatch(r"\d+", text):
        return NUMBERS.get(text) if text in NUMBERS else int(text)
    if re.fullmatch(r"'.'", text):
        return text[1]
    return float(text) if re.fullmatch(r"\d+e-?\d+", text) else text


def rows_of(path, macro):
    """The columns of each line MACRO(...), in order."""
    text, rows = re.sub(r"/\*.*?\*/|#.*", "", path.read_text(), flags=re.S if path == COMMANDS else 0), []
    for start in re.finditer(rf"(?m)^{macro}\(", text):
        columns, depth, quoted, at, begin = [], 1, False, start.end(), start.end()
        while depth:
            c = text[at]
            if quoted:
                at += c == "\\"
                quoted = c != '"'
            elif c == '"':
                quoted = True
            else:
                depth += (c == "(") - (c == ")")
                if depth == 0 or (c == "," and depth == 1):
                    columns.append(value_of(text[begin:at].strip()))
                    begin = at + 1
            at += 1
        rows.append(columns)
    return rows


def options():
    """Those of the library, in the order of its struct, then those that only the command has."""
    found = []
    for path, macro, library in ((COMPILE, "BURIN_OPTION", True), (COMMAND_ONLY, "OPTION", False)):
        for row in rows_of(path, macro):
            assert len(row) == len(COLUMNS.split()), row
            found.append(Option(*row, library))
    return found


def commands():
    return [Command(*row) for row in rows_of(COMMANDS, "COMMAND")]


def commands_of(option):
    if option.commands == 0:
        return []
    if option.commands == "OF_ALL":
        return [c.name for c in commands()]
    words = re.findall(r"OF\((\w+)\)|(OF_\w+)", option.commands)
    return [c for one, several in words for c in ([one] if one else SETS[several])]


def is_key(option):
    """May a file of options say it?"""
    return option.commands != 0 and option.field not in ("config", "help")


def shown(option):
    """The flag as help shows it."""
    dashes = "-" if option.flag[:1].isupper() else "--"
    return f"--no-{option.flag}" if option.standard == "true" else f"{dashes}{option.flag}"


def effects():
    """{field: {"values": {value: what it does}, ...}}: the literal of the test."""
    for node in ast.parse(EFFECTS.read_text()).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "EFFECTS":
            return ast.literal_eval(node.value)
    raise SystemExit(f"{EFFECTS}: no EFFECTS")


# ---- docs/OPTIONS.md ----

def values_text(o):
    if o.kind == "FLAG":
        return "`true`, `false`"
    if o.kind == "CHOICE":
        return ", ".join(f"`{v}`" for v in o.value.split("|"))
    if o.kind in ("NUMBER", "REAL"):
        return f"{o.lowest} to {o.highest}"
    return f"`{o.value}`" if o.value else "a name"


def standard_text(o):
    if o.standard is None:
        return ""
    return f"`{o.standard}`"


def row(*cells):
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def test_links(o):
    folders = {"e2e": "../tests/e2e", "corpus": "../tests/corpus"}
    return ", ".join(f"[{t}]({folders[t.partition('.')[0]]}/{t.partition('.')[2]}.py)" for t in o.tests.split())


def page():
    shows = effects()
    out = ["# Options", "",
           "Written by `scripts/options_page.py` from `include/burin/options.def`, `src/cli/options.def` and `tests/e2e/options.py`; a test says when it",
           "is stale. What the command does is in [CLI.md](CLI.md), the library in `include/burin/burin.h`.", "",
           "The library's `burin_compile_options` has a field of each name under *Compiling*; `burin_compile_options_set` sets one by its name, `_parse`",
           "reads what `_text` prints. The command has a flag for each, and for a flag without a value `--no-NAME` as its opposite. A file of options (`--config`,",
           "[CLI.md](CLI.md#files-of-options)) says everything by these names, `config`, `help` and `data_name` apart; its JSON schema is [burin.schema.json](burin.schema.json).",
           "An option that has no effect with a target is refused. *Standing*: a stable option keeps its name and meaning, an experimental one may change.", "",
           "## Compiling", "",
           row("field", "flag", "values", "standard", "commands", "does", "standing"), row(*["---"] * 7)]
    for o in options():
        if o.library:
            flag = f"`{shown(o)}`" + (f", `-{o.letter}`" if o.letter else "") if o.flag else ""
            out.append(row(f"`{o.field}`", flag, values_text(o), standard_text(o), ", ".join(commands_of(o)) or "the library", o.help, o.standing.lower()))
    out += ["", "### What each value does", "",
            "`tests/e2e/options.py` compiles a model with each of these and insists that what is looked at differs from value to value, and that the standard value is what",
            "holds without the option. C is compared without its comments. *More*: tests of what the option means.", "",
            row("field", "value", "effect", "more"), row(*["---"] * 4)]
    for o in options():
        if o.library:
            for value, says in shows[o.field]["values"].items():
                out.append(row(f"`{o.field}`", f"`{value}`", says, test_links(o)))
    out += ["", "## Reading, running, comparing, printing", "", "Of the command alone.", "",
            row("name", "flag", "values", "standard", "commands", "does", "standing", "tests"), row(*["---"] * 8)]
    for o in options():
        if not o.library:
            flag = f"`{shown(o)}`" + (f", `-{o.letter}`" if o.letter else "") if o.flag else ""
            names = "all" if o.commands == "OF_ALL" else ", ".join(commands_of(o))
            out.append(row(f"`{o.field}`", flag, values_text(o), standard_text(o), names, o.help, o.standing.lower(), test_links(o)))
    return "\n".join(out) + "\n"


# ---- docs/burin.schema.json ----

def schema_of(o):
    text = {"type": ["string", "number", "boolean"]}  # a word without quotes may look like one of these
    texts = {"type": "array", "items": text, "minItems": 1}
    if o.kind == "FLAG":
        return {"type": "boolean"}
    if o.kind == "CHOICE":
        return {"enum": o.value.split("|")}
    if o.kind in ("NUMBER", "REAL"):
        return {"type": "integer" if o.kind == "NUMBER" else "number", "minimum": o.lowest, "maximum": o.highest}
    if o.kind in ("TEXT", "PATH"):
        return text
    if o.kind in ("NAMES", "LIST", "PATHS"):
        return {"anyOf": [text, texts]}
    extents = [{"type": "array", "items": {"type": "integer"}}] if o.field == "shapes" else []
    values = {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[^=]+$"}, "additionalProperties": {"anyOf": [text, *extents]}}
    return {"anyOf": [text, texts, values]}


def schema():
    properties = {}
    for o in options():
        if is_key(o):
            properties[o.field] = {"description": o.help, **schema_of(o), "x-standing": o.standing.lower(), "x-commands": commands_of(o)}
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Options of burin, as --config reads them",
             "$comment": "Written by scripts/options_page.py", "type": "object", "minProperties": 1, "additionalProperties": False, "properties": properties}
    return json.dumps(whole, indent=1) + "\n"


# ---- docs/burin.1 ----

def roff(text):
    """Text of a line: no character of it is taken for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def manual():
    version = re.search(r"^project\(burin VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
    out = ['.\\" Written by scripts/options_page.py', f'.TH BURIN 1 "" "burin {version}" "User Commands"', ".SH NAME",
           "burin \\- compiles trained networks to C that fits, and that was checked", ".SH SYNOPSIS"]
    for c in commands():
        out += [".PP", f".B burin {c.name}", roff(f"{c.operands + ' ' if c.operands else ''}[OPTIONS]")]
    out += [".SH COMMANDS"]
    for c in commands():
        out += [".TP", f".B {roff((c.name + ' ' + c.operands).strip())}", roff(c.summary[0].upper() + c.summary[1:] + ".")]
        out += [roff(line) for line in c.more.splitlines()]
    out += [".SH OPTIONS", "In parentheses what holds without them, and behind them the commands that take them."]
    for o in options():
        if o.flag:
            value = f" \\fI{roff(o.value)}\\fR" if o.value else ""
            letter = f"\\fB\\-{o.letter}\\fR, " if o.letter else ""
            names = "all commands" if o.commands == "OF_ALL" else ", ".join(commands_of(o))
            out += [".TP", f"{letter}\\fB{roff(shown(o))}\\fR{value}", roff(o.help[0].upper() + o.help[1:] + "."), roff(f"[{names}]")]
    out += [".SH EXIT STATUS"]
    for status, says in ((0, "done"), (1, "the input is refused, or a file cannot be read or written"), (2, "usage"),
                         (3, "the output does not compute what the input says"), (4, "no plan meets the budget"), (70, "a fault of Burin's own")):
        out += [".TP", f".B {status}", roff(says)]
    out += [".SH EXAMPLES", ".nf"]
    out += [roff(line) for c in commands() for line in c.examples.splitlines()]
    return "\n".join(out + [".fi"]) + "\n"


def main():
    stale = 0
    for name, text in (("docs/OPTIONS.md", page()), ("docs/burin.1", manual()), ("docs/burin.schema.json", schema())):
        path = ROOT / name
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{name} is stale: run scripts/options_page.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
