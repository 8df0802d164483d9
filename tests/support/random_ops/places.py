"""Rows of operators that move elements: slices, gathers, padding, repetition, selection."""
import numpy as np

from rows import row

MOST = ('f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool')
ALL = MOST + ('u16', 'u32', 'u64', 'f64', 'f16')


def inner(r, shape):
    """Begins and extents of a part of a shape."""
    extents = [r.randint(1, n) for n in shape]
    return [r.randint(0, n - k) for n, k in zip(shape, extents)], extents


@row('SLICE', *ALL, options='Slice')
def slice_(r, kind):
    x = r.tensor(kind, r.shape(1, 5))
    begin, extents = inner(r, x.shape)
    if r.flag():
        k = r.randrange(len(begin))
        extents[k] = -1
    type = r.choice(['i32', 'i64'])
    return [x, r.const(type, begin), r.const(type, extents)], [r.out(kind, like=x)], {}


@row('DYNAMIC_UPDATE_SLICE', *ALL, options='DynamicUpdateSlice')
def dynamic_update_slice(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    _, extents = inner(r, x.shape)
    u = r.tensor(kind, extents, scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None)
    at = r.tensor(r.choice(['i32', 'i64']), [len(x.shape)], -2, 6)
    return [x, u, at], [r.out(kind, like=x)], {}


@row('EMBEDDING_LOOKUP', 'f32', 'i8', 'u8', 'i32', 'i64', 'f32 i8', 'f32 i4', 'f32 i2')
def embedding_lookup(r, kind):
    kind, of = (kind.split() + [kind])[:2]
    bits = {'i4': 4, 'i2': 2}.get(of)
    # rows of whole bytes: of others LiteRT begins at the byte
    w = r.tensor(of, r.shape(2, 3) + [r.randint(1, 2) * 4] if bits else r.shape(2, 4), *([-1 << bits - 1, (1 << bits - 1) - 1] if bits else []))
    w.constant = True
    if kind != of:
        n = w.shape[0] if r.flag() else 1
        w.scale, w.zero = [float(np.float32(2.0 ** r.uniform(-7, -3))) for _ in range(n)], [0] * n
    ids = r.tensor('i32', [r.randint(1, 5)], 0, w.shape[0] - 1)
    return [ids, w], [r.out(kind, like=w if kind == of else None)], {}


@row('GATHER_ND', 'f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool', options='GatherNd')
def gather_nd(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    depth, lead = r.randint(1, len(x.shape)), r.shape(0, 2, 4)
    n = int(np.prod(lead, dtype=int))
    at = r.tensor(r.choice(['i16', 'i32', 'i64']), lead + [depth], 0, 0, quant=False)
    at.data = np.array([[r.randrange(x.shape[k]) for k in range(depth)] for _ in range(n)], at.data.dtype).reshape(at.shape)
    return [x, at], [r.out(kind, like=x)], {}


@row('SELECT_V2', *ALL, options='SelectV2')
def select_v2(r, kind):
    a, b = r.broadcast(4)
    if np.prod(a, dtype=int) * np.prod(b, dtype=int) == 1:  # of which LiteRT makes a scalar
        a = [2]
    full = list(np.broadcast_shapes(a, b))
    c = [1 if r.random() < 0.3 else n for n in full][r.randint(0, len(full)) if r.random() < 0.3 else 0:]
    x = r.tensor(kind, a)
    y = r.tensor(kind, b, scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None)
    return [r.tensor('bool', c), x, y], [r.out(kind, like=x)], {}


@row('SELECT', *MOST, options='Select')
def select(r, kind):
    x = r.tensor(kind, [r.randint(2, 6)] + r.shape(0, 3))  # (of one element LiteRT makes a scalar)
    y = r.tensor(kind, x.shape, scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None)
    return [r.tensor('bool', r.choice([[], x.shape[:1], x.shape])), x, y], [r.out(kind, like=x)], {}


@row('REVERSE_V2', *MOST, 'f16', options='ReverseV2')
def reverse(r, kind):
    x = r.tensor(kind, r.shape(1, 5))
    first = r.randrange(len(x.shape))
    axes = list(range(first, r.randint(first, len(x.shape) - 1) + 1))
    r.shuffle(axes)
    return [x, r.const('i32', [a - len(x.shape) if r.flag() else a for a in axes])], [r.out(kind, like=x)], {}


@row('TILE', *ALL, options='Tile')
def tile(r, kind):
    x = r.tensor(kind, r.shape(1, 4, 4))
    return [x, r.const(r.choice(['i32', 'i64']), [r.randint(1, 3) for _ in x.shape])], [r.out(kind, like=x)], {}


@row('BROADCAST_TO', *ALL, options='BroadcastTo', version=2)
def broadcast_to(r, kind):
    full = r.shape(1, 5, 4)
    s = [1 if r.random() < 0.4 else n for n in full][r.randint(0, len(full) - 1) if r.flag() else 0:]
    x = r.tensor(kind, s)
    return [x, r.const(r.choice(['i32', 'i64']), full)], [r.out(kind, like=x)], {}


@row('FILL', *ALL, options='Fill')
def fill(r, kind):
    x = r.tensor(kind, [])
    return [r.const(r.choice(['i32', 'i64']), r.shape(1, 4)), x], [r.out(kind, like=x)], {}


@row('ZEROS_LIKE', 'f32', 'i32', 'i64', options='ZerosLike')
def zeros_like(r, kind):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


@row('MIRROR_PAD', *ALL, options='MirrorPad')
def mirror_pad(r, kind):
    x, symmetric = r.tensor(kind, r.shape(1, 4)), r.flag()
    pads = [[r.randint(0, n - (not symmetric)) for _ in range(2)] for n in x.shape]
    return [x, r.const(r.choice(['i32', 'i64']), pads)], [r.out(kind, like=x)], {'mode': int(symmetric)}


@row('SPACE_TO_BATCH_ND', *MOST, options='SpaceToBatchND', tflm=False)  # pads with what its memory holds
def space_to_batch(r, kind):
    many = r.randint(1, 2)
    block = [r.randint(1, 3) for _ in range(many)]
    extents = [r.randint(1, 6) for _ in block]
    pads = []
    for n, b in zip(extents, block):
        before = r.randint(0, 2)
        pads.append([before, -(n + before) % b])
    x = r.tensor(kind, [r.randint(1, 2)] + extents + [r.randint(1, 3)])
    return [x, r.const('i32', block), r.const('i32', pads)], [r.out(kind, like=x)], {}


@row('BATCH_TO_SPACE_ND', *MOST, options='BatchToSpaceND')
def batch_to_space(r, kind):
    many = r.randint(1, 2)
    block = [r.randint(1, 3) for _ in range(many)]
    extents = [r.randint(1, 4) for _ in block]
    crops = []
    for n, b in zip(extents, block):
        before = r.randint(0, n * b - 1)
        crops.append([before, r.randint(0, n * b - 1 - before)])
    x = r.tensor(kind, [r.randint(1, 2) * int(np.prod(block))] + extents + [r.randint(1, 3)])
    return [x, r.const('i32', block), r.const('i32', crops)], [r.out(kind, like=x)], {}
