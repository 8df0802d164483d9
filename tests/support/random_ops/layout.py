"""Rows of operators that move elements, or reduce or fill, and compute little."""
import numpy as np

from rows import row

WIDTH = {'i8': 1, 'u8': 1, 'i16': 2, 'u16': 2, 'i32': 4, 'u32': 4, 'i64': 8, 'u64': 8, 'f32': 4, 'f64': 8}


@row('BITCAST', *[f'{a} {b}' for a in ('u8', 'i16', 'f32', 'i64') for b in ('i8', 'u16', 'i32', 'u32', 'f64')], options='Bitcast')
def bitcast(r, kind):
    source, target = kind.split()
    shape = r.shape(1, 3)
    if WIDTH[source] < WIDTH[target]:
        shape.append(WIDTH[target] // WIDTH[source])
    return [r.tensor(source, shape, quant=False)], [r.out(target, quant=False)], {}


@row('MATRIX_DIAG', 'f32', 'i8', 'u8', 'i16', 'i32', 'i64')
def matrix_diag(r, kind):
    x = r.tensor(kind, r.shape(1, 3))
    return [x], [r.out(kind, like=x)], {}


@row('MATRIX_SET_DIAG', 'f32', 'i8', 'u8', 'i16', 'i32', 'i64')
def matrix_set_diag(r, kind):
    shape = r.shape(2, 4)
    x = r.tensor(kind, shape)
    d = r.tensor(kind, shape[:-2] + [min(shape[-2:])])
    d.scale, d.zero = list(x.scale), list(x.zero)
    return [x, d], [r.out(kind, like=x)], {}


@row('REVERSE_SEQUENCE', *[f'{t} {u}' for t in ('f32', 'u8', 'i16', 'i32', 'i64') for u in ('i32', 'i64')], options='ReverseSequence')
def reverse_sequence(r, kind):
    kind, lengths = kind.split()
    shape = r.shape(2, 4)
    seq, batch = r.sample(range(len(shape)), 2)
    x = r.tensor(kind, shape)
    n = r.tensor(lengths, [shape[batch]], 0, shape[seq])
    return [x, n], [r.out(kind, like=x)], {'seqDim': seq, 'batchDim': batch}


def axes(r, rank):
    chosen = r.sample(range(rank), r.randint(1, rank))
    return r.const('i32', [a - rank if r.random() < 0.3 else a for a in chosen])


@row('REDUCE_PROD', 'f32', 'i32', 'i64', 'i8', 'i16', options='Reducer')
def reduce_prod(r, kind):
    shape = r.shape(1, 4, 4)
    if kind in ('i8', 'i16'):
        x = r.tensor(kind, shape, scale=r.choice([0.5, 0.02, 0.0078125, 0.9]))
        y = r.out(kind)
        y.scale = [r.choice([0.5, 0.05, 2.0])]
    else:
        x, y = r.tensor(kind, shape, -3, 3), r.out(kind)
    return [x, axes(r, len(shape))], [y], {'keepDims': r.flag()}


@row('REDUCE_ANY', 'bool', options='Reducer')
def reduce_any(r, kind):
    shape = r.shape(1, 4, 4)
    x = r.tensor(kind, shape)
    x.data = np.array(x.data & (r.random() < 0.5) | np.array([r.random() < 0.2 for _ in range(x.data.size)]).reshape(shape), np.bool_)
    return [x, axes(r, len(shape))], [r.out(kind)], {'keepDims': r.flag()}


@row('DILATE', 'f32', 'f64', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', options='Dilate')
def dilate(r, kind):
    shape = r.shape(1, 4, 4)
    return [r.tensor(kind, shape, quant=False), r.const('i32', [r.randint(1, 4) for _ in shape]), r.tensor(kind, [], quant=False)], \
        [r.out(kind, quant=False)], {}


@row('RANK', 'f32', 'i8', 'i32', options='Rank')
def rank(r, kind):
    return [r.tensor(kind, r.shape(0, 5))], [r.out('i32')], {}


@row('RANGE', 'f32', 'i32', 'i64', options='Range')
def range_(r, kind):
    if kind == 'f32':
        start, delta, n = r.uniform(-5, 5), r.choice([-1, 1]) * r.uniform(0.1, 2), r.randint(1, 20)
        limit = start + delta * (n - 0.5)
    else:
        start, delta, n = r.randint(-20, 20), r.choice([-1, 1]) * r.randint(1, 7), r.randint(0, 20)
        limit = start + delta * n - (r.randint(0, abs(delta) - 1) * (1 if delta > 0 else -1) if n else 0)
    return [r.const(kind, start), r.const(kind, limit), r.const(kind, delta)], [r.out(kind)], {}


@row('BUCKETIZE', 'f32', 'f64', 'i32', 'i64', options='Bucketize')
def bucketize(r, kind):
    bounds = sorted(float(r.randint(-8, 8) if r.flag() else r.uniform(-8, 8)) for _ in range(r.randint(1, 40)))
    return [r.tensor(kind, r.shape(1, 3), -10, 10)], [r.out('i32')], {'boundaries': bounds}


TYPES = ('f32', 'f64', 'f16', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', 'bool')


@row('RESHAPE', *TYPES, options='Reshape')
def reshape(r, kind):
    shape = r.shape(0, 5, 4)
    x = r.tensor(kind, shape)
    to = [n for n in r.sample(shape, len(shape))]
    if len(to) > 1 and r.flag():
        to[:2] = [to[0] * to[1]]
    if r.flag():
        to.insert(r.randint(0, len(to)), 1)
    if to and r.flag():
        to[r.randrange(len(to))] = -1
    return [x, r.const('i32', to)], [r.out(kind, like=x)], {'newShape': to}


@row('SQUEEZE', *TYPES, options='Squeeze')
def squeeze(r, kind):
    shape = [1 if r.flag() else n for n in r.shape(1, 5, 4)]
    ones = [k for k, n in enumerate(shape) if n == 1]
    chosen = r.sample(ones, r.randint(0, len(ones)))
    x = r.tensor(kind, shape)
    return [x], [r.out(kind, like=x)], {'squeezeDims': [k - len(shape) if r.flag() else k for k in chosen]}


@row('BROADCAST_ARGS', 'i32', 'i64')
def broadcast_args(r, kind):
    a, b = r.broadcast()
    return [r.const(kind, np.array(s, np.int64), [len(s)]) for s in (a, b)], [r.out(kind)], {}
