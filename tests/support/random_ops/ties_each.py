"""Rows of functions of each element, of means and of recurrent gates, with scales for which very many results lie on, or one bit of a
float next to, the middle between two outputs: there the order of roundings shows, and in which type the scales were divided.
"""
import numpy as np

import tflite_build as build
from rows import near_ties, row

RANGE = {'i8': (-128, 127), 'u8': (0, 255), 'i16': (-32768, 32767)}


def near(r, x):
    """A float, or one a few units in its last place beside it."""
    x = np.float32(x)
    for _ in range(r.choice([0, 0, 1, 1, 2, 5])):
        x = np.nextafter(x, np.float32(np.inf if r.flag() else 0))
    return float(x)


def unit(r):
    """A scale with all its bits in use, or a power of two."""
    return 2.0 ** r.randint(-8, -4) if r.random() < 0.2 else float(np.float32(2.0 ** r.uniform(-8, -4)))


def ratio(r, least=1, most=40):
    """An odd number by an even one, as which half of the numbers of some steps come on a tie."""
    return (2 * r.randint(0, 9) + 1) / (2 * r.randint(least, most))


def every(r, kind, count=400):
    """Elements all over a type: of 8 bits each once, of 16 bits some, and the ends."""
    low, high = RANGE[kind]
    if high - low < 256:
        return np.arange(low, high + 1).astype(build.DTYPE[kind])
    return np.array([low, low + 1, high - 1, high] + [r.randint(low, high) for _ in range(count)], build.DTYPE[kind])


def given(r, kind, data, scale, zero=None):
    t = r.tensor(kind, list(data.shape), scale=scale, zero=zero)
    t.data = data
    return t


def result(r, kind, scale, zero=None):
    t = r.out(kind)
    t.scale = [scale]
    if zero is not None:
        t.zero = [zero]
    return t


@row(['RELU', 'RELU6'], 'i8 ties', 'u8 ties', 'i16 ties')
@row(['RELU_N1_TO_1', 'RELU_0_TO_1'], 'i8 ties', 'u8 ties')
@row(['HARD_SWISH'], 'i8 ties', 'u8 ties', options='HardSwish')
@row(['ABS'], 'i8 ties', 'i16 ties', options='Abs')
@row(['LEAKY_RELU'], 'i8 ties', 'u8 ties', 'i16 ties', options='LeakyRelu')
@row(['QUANTIZE'], 'i8 i8 ties', 'i8 u8 ties', 'u8 i8 ties', 'u8 u8 ties', 'i8 i16 ties', 'u8 i16 ties', 'i16 i8 ties', 'i16 i16 ties', 'i16 i32 ties',
     options='Quantize')
def scaled(r, kind, name):
    kind, into = kind.split()[0], kind.split()[-2]
    y = unit(r)
    q = ratio(r) * (r.randint(1, 3) if r.flag() else 1)
    x = given(r, kind, every(r, kind), near(r, y * q))
    fields = {}
    if name == 'LEAKY_RELU':
        fields['alpha'] = near(r, r.choice([ratio(r), 1 / q * ratio(r), -ratio(r)]))
    if into == 'i32':
        return [x], [build.Tensor('i32', [], scale=[near(r, y)], zero=[0])], fields
    return [x], [result(r, into, near(r, y))], fields


@row('QUANTIZE', 'f32 i8 ties', 'f32 u8 ties', 'f32 i16 ties', options='Quantize')
def quantize(r, kind):
    into = kind.split()[1]
    scale = np.float32(unit(r))
    steps = np.array([r.randint(*RANGE[into]) for _ in range(300)])
    x = ((steps + 0.5) * np.float64(scale)).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    t = r.tensor('f32', [len(x)])
    t.data = x
    return [t], [result(r, into, float(scale))], {}


@row(['ADD'], 'i8 ties', 'u8 ties', 'i16 ties', options='Add')
@row(['SUB'], 'i8 ties', 'u8 ties', 'i16 ties', options='Sub')
@row(['MUL'], 'i8 ties', 'u8 ties', 'i16 ties', options='Mul')
@row(['PRELU'], 'i8 ties', 'u8 ties', 'i16 ties')
@row(['SQUARED_DIFFERENCE'], 'i8 ties', options='SquaredDifference')
def paired(r, kind, name):
    kind = kind.split()[0]
    low, high = RANGE[kind]
    data = [np.array([r.choice([low, high, r.randint(low, high), r.randint(low // 8, high // 8)]) for _ in range(600)], build.DTYPE[kind])
            for _ in range(2)]
    other = {'PRELU': {'i16': 'i8'}.get(kind, kind)}.get(name, kind)
    data[1] = np.clip(data[1], *RANGE[other]).astype(build.DTYPE[other])
    y = unit(r)
    if name in ('ADD', 'SUB'):
        a, b = near(r, y * ratio(r)), near(r, y * ratio(r))
    elif name == 'SQUARED_DIFFERENCE':
        a = near(r, np.sqrt(y * ratio(r, 20, 200)))
        b = a if r.flag() else near(r, a * r.choice([0.5, 1, 2, 3]))
    else:
        a = unit(r)
        b = near(r, y * (ratio(r) if name == 'PRELU' else ratio(r, 20, 20 << (kind == 'i16') * 9)) / a)
    fields = {} if name in ('PRELU', 'SQUARED_DIFFERENCE') else {'fusedActivationFunction': r.choice([0, 0, 1, 3])}
    if name in ('ADD', 'SUB') and kind == 'i16':
        fields['potScaleInt16'] = False
    return [given(r, kind, data[0], a), given(r, other, data[1], b)], [result(r, kind, near(r, y))], fields


@row(['MEAN'], 'i8 ties', 'u8 ties', 'i16 ties', options='Reducer')
@row(['SUM'], 'i8 ties', 'u8 ties', options='Reducer')
def folded(r, kind, name):
    kind = kind.split()[0]
    n = r.choice([2, 4, 6, 7, 8, 10, 12, 16, 20, 49, 64])
    shape = [200, n] if r.flag() else [n, 200]
    low, high = RANGE[kind]
    data = np.array([r.randint(low, high) if r.flag() else r.randint(low // 4, high // 4) for _ in range(200 * n)], build.DTYPE[kind]).reshape(shape)
    y = unit(r)
    x = given(r, kind, data, near(r, y * (ratio(r) * n if name == 'MEAN' and r.flag() else ratio(r) if r.flag() else r.choice([1, 2, 0.5, 3]))))
    if r.flag() and name == 'MEAN':
        return [x, r.const('i32', [shape.index(n)])], [r.out(kind, like=x)], {'keepDims': r.flag()}
    return [x, r.const('i32', [shape.index(n)])], [result(r, kind, near(r, y))], {'keepDims': r.flag()}


@row(['AVERAGE_POOL_2D'], 'i8 ties', 'u8 ties', 'i16 ties', options='Pool2D')
def pooled(r, kind, name):
    kind = kind.split()[0]
    low, high = RANGE[kind]
    data = np.array([r.randint(low, high) if r.flag() else r.randint(low // 16, high // 16) for _ in range(20 * 20 * 3)], build.DTYPE[kind])
    x = given(r, kind, data.reshape([1, 20, 20, 3]), unit(r))
    return [x], [r.out(kind, like=x)], {'padding': r.randrange(2), 'strideH': 1, 'strideW': 1, 'filterHeight': r.randint(1, 6),
                                        'filterWidth': r.choice([1, 2, 4, 6]), 'fusedActivationFunction': r.choice([0, 1, 2, 3])}


@row(['LOGISTIC', 'TANH'], 'i8 all', 'u8 all', 'i16 all')
@row(['SOFTMAX'], 'i8 all', 'u8 all', 'i16 all', 'i8 i16 all', options='Softmax')
@row(['L2_NORMALIZATION'], 'i8 all', 'u8 all', options='L2Norm')
@row(['ELU'], 'i8 all')
@row(['GELU'], 'i8 all', 'u8 all', options='Gelu')
@row(['LOG_SOFTMAX'], 'i8 all', 'u8 all', options='LogSoftmax')
@row(['EXP'], 'i8 all', 'i16 all', options='Exp')
def tabled(r, kind, name):
    """Many elements; of 8 bits all, at many scales."""
    kind, *into = kind.split()[:-1]
    into = into[0] if into else kind
    bits = {'i8': 8, 'u8': 8, 'i16': 16}[into]
    y, fields, low = r.out(into), {}, {'i8': -128, 'u8': 0, 'i16': 0}[into]
    if name in ('LOGISTIC', 'TANH'):
        bits -= name == 'TANH' or into == 'i16'
        y.scale, y.zero = [2.0 ** -bits], [low + (128 if name == 'TANH' and into != 'i16' else 0)]
    elif name == 'SOFTMAX':
        y.scale, y.zero = [1 / 32768 if into == 'i16' else 1 / 256], [0 if kind == 'i16' or into == 'u8' else -128 if into == 'i8' else -32768]
        fields['beta'] = float(np.float32(r.choice([1.0, 1.0, r.uniform(0.1, 3)])))
    elif name == 'L2_NORMALIZATION':
        y.scale, y.zero = [1 / 128], [0 if into == 'i8' else 128]
    elif name == 'LOG_SOFTMAX':
        y.scale, y.zero = [16 / 256], [127 if into == 'i8' else 255]
    elif name == 'GELU':
        fields['approximate'] = r.flag()
    if name in ('SOFTMAX', 'L2_NORMALIZATION', 'LOG_SOFTMAX'):
        rows_, n = 60, r.choice([2, 3, 5, 16])
        span = r.choice([3, 20, 255])
        low, high = RANGE[kind]
        data = np.array([r.randint(max(low, -span), min(high, span)) for _ in range(rows_ * n)], build.DTYPE[kind]).reshape([rows_, n])
        return [given(r, kind, data, float(np.float32(2.0 ** r.uniform(-7, 0))))], [y], fields
    scale = float(np.float32(2.0 ** (r.uniform(-8, -3) if kind != 'i16' else r.uniform(-15, -8))))
    return [given(r, kind, every(r, kind, 3000), scale)], [y], fields


def beside(r, count, real, most):
    """Integers that times real are next to the middle between two of at most that size."""
    return [round((r.randint(-most, most) + 0.5) / real) + r.choice([-1, 0, 0, 0, 1]) for _ in range(count)]


def state(kind, shape, scale, zero=0):
    return build.Tensor(kind, shape, np.full(shape, zero, build.DTYPE[kind]), state=True, scale=[scale], zero=[zero])


def weights(r, kind, shape, most, scale):
    t = r.const(kind, r.values(kind, shape, -most, most), shape)
    t.scale, t.zero = [scale], [0]
    return t


@row('SVDF', 'i8 i16 ties', options='SVDF')
@row('SVDF', 'i8 i8 ties', options='SVDF', litert=False)
def svdf(r, kind):
    """Both the new element of the state and the output come on ties."""
    of = kind.split()[1]
    batch, features, units, rank, memory = r.randint(1, 3), r.randint(1, 3), r.randint(10, 30), r.randint(1, 2), r.randint(1, 4)
    filters = units * rank
    sx, ss, sy = unit(r), unit(r), unit(r)
    first, second = ratio(r, 1 if of == 'i16' else 20, 40 if of == 'i16' else 60), ratio(r)
    x = given(r, 'i8', np.array(r.values('i8', [batch, features])), near(r, sx))
    w = weights(r, 'i8', [filters, features], 40, near(r, first * ss / sx))
    t = weights(r, of, [filters, memory], 3, near(r, second * sy / ss))
    s = state(of, [batch, filters * memory], near(r, ss), 0 if of == 'i16' else r.randint(-10, 10))
    bias = r.const('i32', r.values('i32', [units], -200, 200), [units])
    bias.scale, bias.zero = [float(np.float32(s.scale[0]) * np.float32(t.scale[0]))], [0]
    y = result(r, 'i8', near(r, sy))
    if r.flag():  # of large sums, too: of nothing but the bias
        t.data[:] = 0
        t.scale = [float(np.float32(t.scale[0] * 2.0 ** -r.randint(10, 18)))]
        bias.data[:] = beside(r, units, s.scale[0] * t.scale[0] / y.scale[0], 110)
    elif of == 'i16' and r.flag():  # and of the first: the output is the state's newest element
        batch, units, rank = 1, 40, 1
        data, digits, _, sx, sws, ss = near_ties(r, 'i8', 'i8', 40, False, False, 2000)
        x, w = given(r, 'i8', data.reshape([1, -1]).astype(np.int8), sx, 0), r.const('i8', digits)
        w.scale, w.zero = sws, [0]
        t, bias, s = weights(r, of, [40, 1], 0, 2.0 ** -4), r.const('i32', [0] * 40), state(of, [1, 40], ss)
        t.data[:] = 1
        bias.scale, bias.zero = [ss * 2.0 ** -4], [0]
        y = result(r, 'i8', ss * 2.0 ** -4)
    y.shape = [batch, units]
    return [x, w, t, bias, s], [y], {'rank': rank, 'fusedActivationFunction': 1}


@row('UNIDIRECTIONAL_SEQUENCE_LSTM', 'i8 ties', options='UnidirectionalSequenceLSTM')
@row('UNIDIRECTIONAL_SEQUENCE_LSTM', 'i16 ties', options='UnidirectionalSequenceLSTM', litert=False)
def lstm(r, kind):
    """Both sums of each gate come on ties; a gate's last bit is in sight where the output has 16 bits, else of many cells a few."""
    kind = kind.split()[0]
    batch, steps, features, cells = r.randint(1, 2), r.randint(1, 3), r.randint(1, 3), r.randint(40, 60)
    most = {'i8': 127, 'i16': 300}[kind]
    sx, sy = unit(r), float(np.float32(2.0 ** (r.uniform(-12, -7) if kind == 'i8' else r.uniform(-15, -14))))
    zero = r.randint(-20, 20) if kind == 'i8' else 0
    major = r.flag()
    shape = [steps, batch, features] if major else [batch, steps, features]
    x = given(r, kind, np.array(r.values(kind, shape, -most, most)), near(r, sx))
    recurrent = []
    for _ in range(4):
        w = weights(r, 'i8', [cells, cells], 3, near(r, ratio(r) / 4096 / sy))
        w.data[np.array([r.random() < 0.9 for _ in range(cells * cells)]).reshape(cells, cells)] = 0
        recurrent.append(w)
    inputs = [weights(r, 'i8', [cells, features], 127, near(r, ratio(r, 1, 100) / 4096 / sx)) for _ in range(4)]
    biases = []
    for w in inputs:
        b = r.const('i32' if kind == 'i8' else 'i64', r.values('i32', [cells], -9000, 9000), [cells])
        biases.append(b)
        if r.flag():  # of large sums, too: of nothing but the bias
            w.data[:] = 0
            w.scale = [float(np.float32(w.scale[0] * 2.0 ** -r.randint(8, 16)))]
            b.data[:] = np.clip(beside(r, cells, x.scale[0] * w.scale[0] * 4096, r.choice([500, 5000, 25000])), -2**31, 2**31 - 1)
        b.scale, b.zero = [float(np.float32(x.scale[0]) * np.float32(w.scale[0]))], [0]
    y = build.Tensor(kind, shape[:2] + [cells], scale=[sy], zero=[zero])
    mids = [build.Tensor('i16', [0], scale=[2.0**-12], zero=[0]) for _ in range(4)] + [build.Tensor(kind, [0], scale=[sy], zero=[zero])]
    return [x, *inputs, *recurrent, None, None, None, *biases, None, None, state(kind, [batch, cells], sy, zero),
            state('i16', [batch, cells], 2.0 ** -r.randint(9, 15)), None, None, None, None], [y], {
                'fusedActivationFunction': 4, 'cellClip': 0.0, 'projClip': 0.0, 'timeMajor': major}, mids
