"""Rows of reductions over axes, and of windows."""
import numpy as np

from rows import row


@row(['SUM'], 'f32', 'i8', 'u8', 'i32', 'i64', options='Reducer')  # (of int16 LiteRT reads half the bytes, as uint8)
@row(['MEAN'], 'f32', 'i8', 'u8', 'i16', 'i32', 'i64', options='Reducer')
@row(['REDUCE_MAX', 'REDUCE_MIN'], 'f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool', options='Reducer')
@row(['REDUCE_ALL'], 'bool', options='Reducer')
def reduction(r, kind, name):
    x = r.tensor(kind, r.shape(1, 4))
    axes = r.sample(range(len(x.shape)), r.randint(1, len(x.shape)))
    y = r.out(kind, like=x if name.startswith('REDUCE') else None)
    return [x, r.const('i32', [a - len(x.shape) if r.flag() else a for a in axes])], [y], {'keepDims': r.flag()}


@row(['AVERAGE_POOL_2D', 'MAX_POOL_2D'], 'f32', 'i8', 'u8', 'i16', options='Pool2D')
def pool(r, kind, name):
    x = r.tensor(kind, [r.randint(1, 2), r.randint(1, 6), r.randint(1, 6), r.randint(1, 3)])
    kernel = [r.randint(1, n) for n in x.shape[1:3]]
    return [x], [r.out(kind, like=x)], {'padding': r.randrange(2), 'strideH': r.randint(1, 3), 'strideW': r.randint(1, 3), 'filterHeight': kernel[0],
                                        'filterWidth': kernel[1], 'fusedActivationFunction': r.choice([0, 1, 2, 3])}


def pair(kind):
    """Types of the activations and of the weights."""
    return kind.split() if ' ' in kind else (kind, {'i16': 'i8'}.get(kind, kind))


def weights(r, kind, shape, channels, axis):
    w = r.tensor(kind, shape, low={'f32': -1.0, 'u8': 0, 'i4': -7, 'i2': -1}.get(kind, -127), high={'i4': 7, 'i2': 1}.get(kind))
    w.constant = True
    if kind == 'u8':  # (of real inputs, 128 is -128, which LiteRT's vector kernels negate to itself)
        w.data[w.data == 128] = 129
    if kind in ('i8', 'i4', 'i2'):
        many = channels if r.random() < 0.8 else 1
        w.scale, w.zero, w.axis = [float(np.float32(2.0 ** r.uniform(-9, -4))) for _ in range(many)], [0] * many, axis
    return w


def bias(r, kind, x, w, channels):
    type = {'f32': 'f32', 'i16': r.choice(['i32', 'i64'])}.get(kind, 'i32')
    b = r.tensor(type, [channels], low=None if kind == 'f32' else -5000, high=None if kind == 'f32' else 5000)
    b.constant = True
    if kind != 'f32':
        b.scale, b.zero = [float(np.float32(x.scale[0]) * np.float32(s)) for s in w.scale], [0] * len(w.scale)
    return b


CODES = {'i32': 2, 'i64': 4}


@row(['CONV_2D'], 'f32', 'i8', 'u8', 'i16', 'i8 i4', 'i16 i4', 'f32 i8', 'f32 u8', 'f32 i4', options='Conv2D', version=3)
@row(['DEPTHWISE_CONV_2D'], 'f32', 'i8', 'u8', 'i16', 'i8 i4', 'f32 i8', options='DepthwiseConv2D', version=3)
def conv(r, kind, name):
    deep, c = name[0] == 'D', r.randint(1, 4)
    kind, of = pair(kind)
    x = r.tensor(kind, [r.randint(1, 2), r.randint(3, 7), r.randint(3, 7), c])
    kernel, dilation = [r.randint(1, 3), r.randint(1, 3)], [1, 1] if r.flag() else [r.randint(1, 2), r.randint(1, 2)]
    padding = r.randrange(2) if all((k - 1) * d < n for k, d, n in zip(kernel, dilation, x.shape[1:3])) else 0
    out = c * r.randint(1, 2) if deep else r.randint(1, 4)
    w = weights(r, of, [1, *kernel, out] if deep else [out, *kernel, c], out, 3 if deep else 0)
    b = bias(r, kind, x, w, out)
    fields = {'padding': padding, 'strideH': r.randint(1, 2), 'strideW': r.randint(1, 2), 'dilationHFactor': dilation[0],
              'dilationWFactor': dilation[1], 'fusedActivationFunction': r.choice([0, 1, 2, 3])}
    if deep:
        fields['depthMultiplier'] = out // c
        fields['strideW'] = fields['strideH']
        if kind == 'i16':
            b.type, b.data = 'i64', b.data.astype(np.int64)
    elif kind == 'i16':
        fields['quantizedBiasType'] = CODES[b.type]
    return [x, w, b], [r.out(kind)], fields


@row('FULLY_CONNECTED', 'f32', 'i8', 'u8', 'i16', 'i8 i4', 'i8 i2', 'i16 i4', 'f32 i8', 'f32 u8', 'f32 i4', 'f32 i2', options='FullyConnected', version=4)
def fully_connected(r, kind):
    kind, of = pair(kind)
    k, out = r.randint(1, 6), r.randint(1, 5)
    x = r.tensor(kind, r.shape(1, 2, 4) + [k])
    w = weights(r, of, [out, k], out, 0)
    b = bias(r, kind, x, w, out) if r.random() < 0.8 else None
    fields = {'keepNumDims': r.flag(), 'fusedActivationFunction': r.choice([0, 1, 2, 3]), 'asymmetricQuantizeInputs': r.flag()}
    if kind == 'i16':
        fields['quantizedBiasType'] = CODES[b.type] if b else r.choice([0, *CODES.values()])
    return [x, w, b], [r.out(kind)], fields


@row('BATCH_MATMUL', 'f32', 'i8', 'i16', 'i16 i8', 'f32 i8', 'i8 i8 i32', options='BatchMatMul', version=4)
def batch_matmul(r, kind):
    a, b = pair(kind)[:2] if kind != 'i16' else ('i16', 'i16')
    # hybrid: with two leading extents LiteRT takes scales of other rows (its steps over the second are those of the first)
    lead, (m, k, n), x, y = r.shape(0, 1 if a == 'f32' and b == 'i8' else 2, 3), [r.randint(1, 5) for _ in range(3)], r.flag(), r.flag()
    side = lambda: [1 if r.random() < 0.3 else e for e in lead][r.randint(0, len(lead)):] if r.random() < 0.5 else lead
    left = r.tensor(a, side() + ([k, m] if x else [m, k]))
    right = r.tensor(b, side() + ([n, k] if y else [k, n]), zero=0 if a in ('f32', 'i16') else None)
    right.constant = a == 'f32' or r.flag()
    return [left, right], [r.out('i32' if kind.endswith('i32') else a)], {'adjX': x, 'adjY': y, 'asymmetricQuantizeInputs': r.flag()}
