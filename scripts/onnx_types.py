#!/usr/bin/env python3
"""Writes src/formats/onnx/types.def: the element types that each operator of ai.onnx, from version 13 on, and of ai.onnx.ml takes and gives and how many inputs it lists at
least, by the schemas of onnx's own package. Run by a Python that has it.

  onnx_types.py [FILE]
"""
import pathlib
import string
import sys

import onnx.defs

LETTERS = string.ascii_letters + string.digits + "!#$%&()+,-./:;<=>?@[]^_{|}~"
OLDEST = {"": 13, "ai.onnx.ml": 1}  # no name is in both
NAMES = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "string": "str", "float4e2m1": "f4e2m1"}
NAMES |= {f"{sign}int{bits}": f"{sign[:1]}{bits}" if sign else f"i{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)}
NAMES |= {f"float8{kind}": f"f8{kind}" for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0")}


def types(port):
    return tuple(sorted(NAMES[t[7:-1]] for t in port.types if t.startswith("tensor(") and t[7:-1] in NAMES))


def main():
    versions = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in OLDEST:
            versions.setdefault(schema.name, []).append(schema)
    rows, letters = [], {}
    for name, schemas in sorted(versions.items()):
        schemas.sort(key=lambda s: s.since_version)
        for i, schema in enumerate(schemas):
            if i + 1 < len(schemas) and schemas[i + 1].since_version <= OLDEST[schema.domain]:
                continue
            ports = []
            for side in (schema.inputs, schema.outputs):
                more = side and side[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
                for port in side:
                    letters.setdefault(types(port), LETTERS[len(letters)])
                ports.append("".join(letters[types(p)] for p in side) + ("*" if more else ""))
            rows.append((name, schema.since_version, schema.min_input, *ports, schema.deprecated))
    lines = ["/* types.def - made by scripts/onnx_types.py from onnx's schemas: element types that operators of ai.onnx take and give.",
             " *   SET(letter, OF(type) | ...)                     a set of types",
             " *   TYPES(operator, since, least, inputs, outputs)  a letter for each; *: the last one any number of times. least: so many",
             " *                                                   inputs are listed, absent ones too",
             " *   GONE(operator, since)                           it has left the standard */"]
    for key, letter in letters.items():
        text = f"SET('{letter}', " + (" | ".join(f"OF({t.upper()})" for t in key) or "0") + ")"
        while len(text) > 120:
            at = text.rindex("|", 0, 119) + 1
            lines.append(text[:at])
            text = "   " + text[at:]
        lines.append(text)
    for name, since, least, inputs, outputs, gone in rows:
        lines.append(f'GONE("{name}", {since})' if gone else f'TYPES("{name}", {since}, {least}, "{inputs}", "{outputs}")')
    pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "src/formats/onnx/types.def").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
