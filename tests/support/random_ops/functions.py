"""Rows of functions of each element, and of normalisations over the last extent."""
import numpy as np

from rows import row


def one(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


row(['ABS'], 'f32', 'i8', 'i16', 'i32', options='Abs')(one)
row(['NEG'], 'f32', 'i8', 'i16', 'i32', 'i64', options='Neg')(one)
row(['SQUARE'], 'f32', options='Square')(one)
row(['COS'], 'f32', options='Cos')(one)
row(['SIN', 'FLOOR'], 'f32')(one)
row(['EXP'], 'f32', 'i8', 'i16', options='Exp')(one)


@row(['HARD_SWISH'], 'f32', 'i8', 'u8', options='HardSwish')
def hard_swish(r, kind, name):
    x, y = r.tensor(kind, r.shape(1, 4)), r.out(kind)
    if x.scale and r.flag():  # any for which both kernels prepare and shift no bit out of an int
        x.scale = [2.0 ** r.uniform(-30, 24)]
        y.scale = [x.scale[0] * 2.0 ** r.uniform(-6, 30)]
    return [x], [y], {}


@row(['LOGICAL_NOT'], 'bool', options='LogicalNot')
def logical_not(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out('bool')], {}


@row(['LOG', 'SQRT', 'RSQRT'], 'f32', 'i8', 'i16')
def positive(r, kind, name):
    x = r.tensor(kind, r.shape(1, 4), *([1e-3, 9.0] if kind == 'f32' else []))
    if x.zero:
        x.zero = [min(x.zero[0], 126)]
        x.data = np.maximum(x.data, x.zero[0] + (name != 'SQRT')).astype(x.data.dtype)
    return [x], [r.out(kind)], {}


@row(['LOGISTIC', 'TANH'], 'f32', 'f16', 'i8', 'u8', 'i16')
def sigmoid(r, kind, name):
    y = r.out(kind)
    if y.scale:
        bits = {'i8': 8, 'u8': 8, 'i16': 16}[kind] - (name == 'TANH' or kind == 'i16')
        y.scale, y.zero = [2.0 ** -bits], [{'i8': -128, 'u8': 0, 'i16': 0}[kind] + (128 if name == 'TANH' and kind != 'i16' else 0)]
    return [r.tensor(kind, r.shape(1, 4))], [y], {}


@row('LEAKY_RELU', 'f32', 'i8', 'u8', 'i16', options='LeakyRelu')
def leaky_relu(r, kind):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {'alpha': float(np.float32(r.uniform(-1, 1.5)))}


@row('SOFTMAX', 'f32', 'f16', 'i8', 'u8', 'i16', 'i8 i16', options='Softmax')
def softmax(r, kind):
    into = kind.split()[-1]
    kind = kind.split()[0]
    y = r.out(into)
    if y.scale:
        y.scale, y.zero = [1 / 32768 if into == 'i16' else 1 / 256], [0 if kind == 'i16' or into == 'u8' else -128 if into == 'i8' else -32768]
    return [r.tensor(kind, r.shape(1, 4))], [y], {'beta': float(np.float32(r.choice([1.0, 1.0, r.uniform(0.1, 3)])))}


@row('LOG_SOFTMAX', 'f32', 'i8', 'u8', options='LogSoftmax')
def log_softmax(r, kind):
    y = r.out(kind)
    if y.scale:
        y.scale, y.zero = [16 / 256], [127 if kind == 'i8' else 255]
    return [r.tensor(kind, r.shape(1, 4))], [y], {}


@row('L2_NORMALIZATION', 'f32', 'i8', 'u8', options='L2Norm')
def l2_normalization(r, kind):
    y = r.out(kind)
    if y.scale:
        y.scale, y.zero = [1 / 128], [0 if kind == 'i8' else 128]
    return [r.tensor(kind, r.shape(1, 4))], [y], {}


TYPES = ('f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool')


@row('CAST', *[f'{a} {b}' for a in TYPES + ('u16', 'u32', 'f64', 'f16') for b in TYPES + ('u16', 'u32', 'f64', 'f16') if a in ('f32', 'i32', 'u8') or b in ('f32', 'i32', 'i8')],
     options='Cast')
def cast(r, kind):
    a, b = kind.split()
    bounds = [0, 100] if a != 'bool' else []
    return [r.tensor(a, r.shape(1, 4), *bounds, quant=False)], [r.out(b, quant=False)], {}


@row('QUANTIZE', 'f32 i8', 'f32 u8', 'f32 i16', 'i8 i8', 'i8 u8', 'u8 i8', 'u8 u8', 'i8 i16', 'u8 i16', 'i16 i8', 'i16 i16', 'i16 i32', 'i32 i8',
     'i32 i16', options='Quantize')
def quantize(r, kind):
    a, b = kind.split()
    x, y = r.tensor(a, r.shape(1, 4)), r.out(b)
    for t in (x, y):
        if t.type == 'i32':
            t.scale, t.zero = [float(np.float32(2.0 ** r.uniform(-16, -6)))], [0]
    return [x], [y], {}


@row('DEQUANTIZE', 'i8', 'u8', 'i16', 'f16', 'i4', 'i2', options='Dequantize', version=5)
@row('DEQUANTIZE', 'i8 channels', 'u8 channels', 'i4 channels', options='Dequantize', version=5, tflm=False)  # (TFLM: the first scale for all)
def dequantize(r, kind):
    kind, channels = kind.split()[0], kind.endswith('channels')
    bits = {'i4': 4, 'i2': 2}.get(kind)
    x = r.tensor(kind, r.shape(1, 4), *([-1 << bits - 1, (1 << bits - 1) - 1] if bits else []))
    x.constant = bits is not None
    if channels or bits:
        scales_along(r, x, r.randrange(len(x.shape)) if channels else None, 3 if kind != 'i2' else 0)
    return [x], [r.out('f32')], {}


def scales_along(r, t, axis, zero):
    """A scale and a zero point of at most that for each entry along the axis; one for all without an axis."""
    n = 1 if axis is None else t.shape[axis]
    t.scale = [float(np.float32(2.0 ** r.uniform(-7, -3))) for _ in range(n)]
    t.zero, t.axis = [r.randint(0, zero) for _ in range(n)], axis or 0


@row('QUANTIZE', 'f32 i8 channels', 'f32 u8 channels', 'f32 i16 channels', options='Quantize', version=3)
def quantize_channels(r, kind):
    x, y = r.tensor('f32', r.shape(1, 4)), r.out(kind.split()[1])
    y.shape = x.shape
    scales_along(r, y, r.randrange(len(x.shape)), 0 if y.type == 'i16' else 100)
    return [x], [y], {}
