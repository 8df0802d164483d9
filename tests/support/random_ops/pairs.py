"""Rows of element-wise functions of two inputs, with broadcasting where LiteRT has it."""
from rows import row


@row('ATAN2', 'f32', 'f64')
def atan2(r, kind):
    shape = r.shape(1, 4)
    return [r.tensor(kind, shape), r.tensor(kind, shape)], [r.out(kind)], {}


@row('BITWISE_XOR', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32')
def bitwise_xor(r, kind):
    a, b = r.broadcast()
    return [r.tensor(kind, a, quant=False), r.tensor(kind, b, quant=False)], [r.out(kind, quant=False)], {}


@row('RIGHT_SHIFT', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32')
def right_shift(r, kind):
    a, b = r.broadcast()
    low = 0 if kind[0] == 'u' else -3
    return [r.tensor(kind, a, quant=False), r.tensor(kind, b, low, 40, quant=False)], [r.out(kind, quant=False)], {}


@row('POW', 'f32', 'i32', options='Pow')
def power(r, kind):
    a, b = r.broadcast()
    if kind == 'f32' and r.flag():
        return [r.tensor(kind, a, 0.1, 5), r.tensor(kind, b, -4, 4)], [r.out(kind)], {}
    if kind == 'f32':
        x, y = r.tensor(kind, a, -5, 5), r.tensor(kind, b, -4, 4)
        y.data = y.data.round()
        return [x, y], [r.out(kind)], {}
    return [r.tensor(kind, a, -12, 12), r.tensor(kind, b, 0, 7)], [r.out(kind)], {}


@row(['STABLEHLO_ADD', 'STABLEHLO_MULTIPLY', 'STABLEHLO_MAXIMUM', 'STABLEHLO_MINIMUM'], 'f32', 'f16', 'f64', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool')
def stablehlo(r, kind, name):
    shape = r.shape(1, 4)
    return [r.tensor(kind, shape, quant=False), r.tensor(kind, shape, quant=False)], [r.out(kind, quant=False)], {}
