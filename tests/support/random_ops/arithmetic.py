"""Rows of arithmetic, comparisons and logic on two tensors, with broadcasting."""
import numpy as np

from rows import QUANTISED, row

INTEGERS = ('i8', 'u8', 'i16', 'i32', 'i64')


@row(['ADD'], 'f32', 'f16', *INTEGERS, options='Add')
@row(['SUB'], 'f32', *INTEGERS, options='Sub')
@row(['MUL'], 'f32', 'f16', *INTEGERS, 'u32', options='Mul')
@row(['DIV'], 'f32', 'i8', 'u8', 'i16', 'i32', options='Div')
def active(r, kind, name):
    a, b = r.broadcast()
    powers = name in ('ADD', 'SUB') and kind == 'i16' and r.flag()
    if powers:  # LiteRT's kernel does not broadcast these
        b = a
    x, y = r.tensor(kind, a), r.tensor(kind, b)
    if name == 'DIV' and kind in QUANTISED:  # of quotients far below 1 LiteRT's kernel shifts by more than there are bits
        for t, least, most in ((x, 16, 100), (y, 1, 15)):
            zero, top = t.zero[0], np.iinfo(t.data.dtype).max
            up = -1 if zero + most > top or (r.flag() and zero - most > np.iinfo(t.data.dtype).min) else 1
            t.data = np.array([zero + up * r.randint(least, most) for _ in t.data.flat], t.data.dtype).reshape(t.shape)
    elif name == 'DIV':
        y.data[y.data == 0] = 3
    fields = {'fusedActivationFunction': r.choice([0, 1, 3] if kind in ('i32', 'i64', 'u32') else [0, 1, 2, 3]) if kind != 'u32' else 0}
    if name in ('ADD', 'SUB'):
        fields['potScaleInt16'] = powers
    z = r.out(kind)
    if powers:
        x.scale, y.scale, z.scale = [2.0 ** -12], [2.0 ** -r.randint(12, 16)], [2.0 ** -12]
        if r.flag():
            x.scale, y.scale = y.scale, x.scale
    return [x, y], [z], fields


@row(['MAXIMUM', 'MINIMUM'], 'f32', 'f16', *INTEGERS, options='MaximumMinimum')
def extreme(r, kind, name):
    a, b = r.broadcast()
    x = r.tensor(kind, a)
    y = r.tensor(kind, b, scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None)
    return [x, y], [r.out(kind, like=x)], {}


@row(['FLOOR_DIV'], 'f32', 'i8', 'i16', 'i32', options='FloorDiv')
@row(['FLOOR_MOD'], 'f32', 'i8', 'i16', 'i32', 'i64', options='FloorMod')
def floored(r, kind, name):
    a, b = r.broadcast()
    x, y = r.tensor(kind, a, quant=False), r.tensor(kind, b, quant=False)
    y.data[y.data == 0] = 3
    return [x, y], [r.out(kind, quant=False)], {}


COMPARISONS = {'EQUAL': 'Equal', 'NOT_EQUAL': 'NotEqual', 'LESS': 'Less', 'LESS_EQUAL': 'LessEqual', 'GREATER': 'Greater',
               'GREATER_EQUAL': 'GreaterEqual'}


def compare(r, kind, name):
    a, b = r.broadcast()
    bounds = [] if kind in ('f32', 'f16', 'bool') else [0, 9]
    return [r.tensor(kind, a, *bounds), r.tensor(kind, b, *bounds)], [r.out('bool')], {}


for word, table in COMPARISONS.items():
    row([word], 'f32', *(['f16'] if word in ('EQUAL', 'LESS') else []), 'i8', 'u8', 'i32', 'i64', *(['bool'] if word in ('EQUAL', 'NOT_EQUAL') else []), options=table)(compare)
    row([word], 'i16', options=table, tflm=word != 'GREATER')(compare)  # TFLM's GREATER of int16 is always false


@row(['LOGICAL_AND'], 'bool', options='LogicalAnd')
@row(['LOGICAL_OR'], 'bool', options='LogicalOr')
def logical(r, kind, name):
    a, b = r.broadcast()
    return [r.tensor(kind, a), r.tensor(kind, b)], [r.out('bool')], {}
