#!/usr/bin/env python3
"""Writes the C table of device profiles from devices/*.yaml.

  devices.py OUT.c DEVICE.yaml...

A profile's name is its file's name. Every key is required and no other is known, so a misspelt one fails the build. A board has the
machine of its core (`core: NAME`, another profile, in place of `target` and `machine`) and memories of its own: writable ones the fastest first,
bytes, and where they are known the linker's section, the base address and, for that order alone, the cycles that an access waits.
"""
import os
import re
import sys

import yaml

MACHINE = ('vector_bytes', 'registers', 'tile_m', 'tile_n', 'depthwise_n', 'unroll_k', 'wide_multiply', 'alignment')
CYCLES = ('word', 'load', 'store', 'multiply', 'multiply_add', 'long_multiply', 'divide', 'real', 'loop')
MEMORY = ('name', 'bytes', 'writable')
MORE_OF_MEMORY = ('section', 'base', 'wait')


def refuse(path, message):
    sys.exit('%s: %s' % (path, message))


def keys(path, what, table, required, optional=()):
    if not isinstance(table, dict):
        refuse(path, '%s is no mapping' % what)
    for key in table:
        if key not in required and key not in optional:
            refuse(path, '%s: unknown key %r' % (what, key))
    for key in required:
        if key not in table:
            refuse(path, '%s: %r is missing' % (what, key))


def c_value(path, key, value):
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, int) and value >= 0:
        return str(value)
    if isinstance(value, str):
        if '"' in value or '\\' in value or '\n' in value:
            refuse(path, '%s: a plain text is wanted' % key)
        return '"%s"' % value
    return refuse(path, '%s: %r is neither a number, a text nor true or false' % (key, value))


def read(path):
    with open(path, encoding='utf-8') as f:
        return yaml.safe_load(f)


def device(path, number):
    profile = read(path)
    name = os.path.splitext(os.path.basename(path))[0]
    if 'core' in profile:
        keys(path, 'the profile', profile, ('description', 'core', 'memories'))
        core = read(os.path.join(os.path.dirname(path), profile.pop('core') + '.yaml'))
        profile = {'target': core['target'], 'machine': core['machine'], **profile}
    keys(path, 'the profile', profile, ('description', 'target', 'machine', 'memories'), ('detect',))
    keys(path, 'machine', profile['machine'], MACHINE, ('cycles',))
    cycles = profile['machine'].get('cycles')
    if cycles is not None:
        keys(path, 'cycles', cycles, CYCLES)
    memories = profile['memories']
    for memory in memories:
        keys(path, 'a memory', memory, MEMORY, MORE_OF_MEMORY)
        if not re.fullmatch('[a-z][a-z0-9_]{0,15}', memory['name']):
            refuse(path, '%r is no name of a memory' % memory['name'])
    waits = [m.get('wait', 0) for m in memories if m['writable']]
    if waits != sorted(waits):
        refuse(path, 'writable memories stand the fastest first')
    rows = ['    {%s},' % ', '.join('.%s = %s' % (k, c_value(path, k, m[k])) for k in MEMORY + ('section', 'base') if k in m) for m in memories]
    table = 'static const plan_memory memories_%d[] = {\n%s\n};\n' % (number, '\n'.join(rows))
    machine = ', '.join('.%s = %s' % (k, c_value(path, k, profile['machine'][k])) for k in MACHINE)
    if cycles is not None:
        machine += ', .cycles = {%s}' % ', '.join('.%s = %s' % (k, c_value(path, k, cycles[k])) for k in CYCLES)
    row = '    {.name = "%s", .description = %s, .target = %s, .detected = %s,\n     .machine = {.name = "%s", %s},\n     .memory_count = %d, .memories = memories_%d},' % (
        name, c_value(path, 'description', profile['description']), c_value(path, 'target', profile['target']),
        c_value(path, 'detect', profile.get('detect', False)), name, machine, len(memories), number)
    return table, row


def main():
    out, paths = sys.argv[1], sorted(sys.argv[2:])
    parts = [device(path, i) for i, path in enumerate(paths)]
    text = '/* Generated from devices/. */\n#include "plan/plan_private.h"\n\n%s\nconst plan_device plan_devices[] = {\n%s\n};\nconst size_t plan_device_total = %d;\n' % (
        '\n'.join(p[0] for p in parts), '\n'.join(p[1] for p in parts), len(parts))
    with open(out + '.new', 'w', encoding='utf-8') as f:
        f.write(text)
    os.replace(out + '.new', out)


main()
