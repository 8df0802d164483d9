"""Rows of arithmetic, comparisons and logic on two tensors, with broadcasting."""
import numpy as np

from rows import QUANTISED, row

INTEGERS = ('i8', 'u8', 'i16', 'i32', 'i64')


def divisible(x, y, z):
    """No divisor is 0, and of no quotient the kernels shift by 32 bits or more: the dividend has at least as many bits below its sign as
    the divisor, less the exponent of the scales and 1."""
    y.data = np.where(y.data == y.zero[0], y.data + (1 if y.zero[0] < np.iinfo(y.data.dtype).max else -1), y.data).astype(y.data.dtype)
    exponent = int(np.frexp(x.scale[0] / (y.scale[0] * z.scale[0]))[1])
    a, b = (np.broadcast_to(np.arange(t.data.size).reshape(t.shape), np.broadcast_shapes(x.shape, y.shape)).flat for t in (x, y))
    info = np.iinfo(x.data.dtype)
    far, one = (info.min, info.max)[x.zero[0] < (info.min + info.max) / 2], y.zero[0] + (1 if y.zero[0] < info.max else -1)
    pairs = list(zip(a, b))
    for t, value in ((x, far), (y, one)):
        for i, j in pairs:
            up, down = int(x.data.flat[i]) - x.zero[0], int(y.data.flat[j]) - y.zero[0]
            up = -up if down < 0 else up
            if max(up, ~up).bit_length() < abs(down).bit_length() - 1 - exponent:
                t.data.flat[i if t is x else j] = value


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
    z = r.out(kind)
    if name == 'DIV' and kind in QUANTISED:
        divisible(x, y, z)
    elif name == 'DIV':
        y.data[y.data == 0] = 3
    fields = {'fusedActivationFunction': r.choice([0, 1, 3] if kind in ('i32', 'i64', 'u32') else [0, 1, 2, 3]) if kind != 'u32' else 0}
    if name in ('ADD', 'SUB'):
        fields['potScaleInt16'] = powers
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
