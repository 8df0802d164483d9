"""Rows of operators that only change shapes, and of joining and splitting."""
from rows import row

MOST = ('f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool')
NUMBERS = MOST[:-1]
ALL = MOST + ('u16', 'u32', 'u64', 'f64', 'f16')


@row('PAD', *MOST, 'f16', options='Pad')
def pad(r, kind):
    x = r.tensor(kind, r.shape(1, 5, 4))
    return [x, r.const(r.choice(['i32', 'i64']), [[r.randint(0, 3) for _ in range(2)] for _ in x.shape])], [r.out(kind, like=x)], {}


@row('PADV2', *MOST, options='PadV2')
def pad_v2(r, kind):
    x = r.tensor(kind, r.shape(1, 5, 4))
    v = r.tensor(kind, [1], scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None)
    return [x, r.const('i32', [[r.randint(0, 3) for _ in range(2)] for _ in x.shape]), v], [r.out(kind, like=x)], {}


@row('TRANSPOSE', *ALL, options='Transpose')
def transpose(r, kind):
    x = r.tensor(kind, r.shape(1, 6, 4))
    axes = list(range(len(x.shape)))
    r.shuffle(axes)
    return [x, r.const('i32', axes)], [r.out(kind, like=x)], {}


@row('CONCATENATION', *MOST, 'u32', 'f16', options='Concatenation')
def concatenation(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    axis, parts = r.randrange(len(x.shape)), [x]
    for _ in range(r.parts() - 1):
        shape = list(x.shape)
        shape[axis] = r.randint(1, 4)
        other = kind == 'u8' and r.flag()  # of another scale
        parts.append(r.tensor(kind, shape, scale=x.scale[0] if x.scale and not other else None, zero=x.zero[0] if x.zero and not other else None))
    return parts, [r.out(kind, like=x)], {'axis': axis - len(x.shape) if r.flag() else axis}


@row('PACK', *NUMBERS, 'u32', options='Pack')
def pack(r, kind):
    x = r.tensor(kind, r.shape(0, 3))
    parts = [x] + [r.tensor(kind, x.shape, scale=x.scale[0] if x.scale else None, zero=x.zero[0] if x.zero else None) for _ in range(r.parts() - 1)]
    return parts, [r.out(kind, like=x)], {'axis': r.randint(-len(x.shape) - 1, len(x.shape)), 'valuesCount': len(parts)}


@row('UNPACK', 'f32', 'f16', 'i8', 'u8', 'i16', 'i32', 'bool', options='Unpack')
def unpack(r, kind):
    shape = r.shape(1, 4, 4)
    axis = r.randint(-len(shape), len(shape) - 1)
    shape[axis] = r.parts()
    x = r.tensor(kind, shape)
    return [x], [r.out(kind, like=x) for _ in range(x.shape[axis])], {'axis': axis, 'num': x.shape[axis]}


@row('SPLIT', *NUMBERS, options='Split')
def split(r, kind):
    shape, parts = r.shape(1, 4), r.parts()
    axis = r.randrange(len(shape))
    shape[axis] *= parts
    x = r.tensor(kind, shape)
    return [r.const('i32', axis - len(shape) if r.flag() else axis), x], [r.out(kind, like=x) for _ in range(parts)], {'numSplits': parts}


@row('SPLIT_V', *NUMBERS, options='SplitV')
def split_v(r, kind):
    shape, sizes = r.shape(1, 4), [r.randint(1, 3) for _ in range(r.parts())]
    axis = r.randrange(len(shape))
    shape[axis] = sum(sizes)
    if r.flag():
        sizes[r.randrange(len(sizes))] = -1
    x = r.tensor(kind, shape)
    return [x, r.const('i32', sizes), r.const('i32', axis)], [r.out(kind, like=x) for _ in sizes], {'numSplits': len(sizes)}


@row('GATHER', *[f'{a} {b}' for a in MOST for b in ('i16', 'i32', 'i64')], 'f16 i32', options='Gather')
def gather(r, kind):
    kind, type = kind.split()
    x = r.tensor(kind, r.shape(1, 4))
    batch = r.randint(0, len(x.shape) - 1) if r.random() < 0.3 else 0
    axis = r.randint(batch, len(x.shape) - 1)
    at = r.tensor(type, x.shape[:batch] + r.shape(0, 2, 4), 0, x.shape[axis] - 1, quant=False)
    return [x, at], [r.out(kind, like=x)], {'axis': axis, 'batchDims': batch}


@row('STRIDED_SLICE', *ALL, options='StridedSlice')
def strided_slice(r, kind):
    x = r.tensor(kind, r.shape(1, 4))
    n = r.randint(1, len(x.shape))
    lists = [[r.randint(-8, 8) for _ in range(n)], [r.randint(-8, 8) for _ in range(n)], [r.choice([-2, -1, 1, 1, 2, 3]) for _ in range(n)]]
    shrink = sum((r.random() < 0.2) << k for k in range(n))
    for k in range(n):
        if shrink >> k & 1:
            lists[0][k], lists[2][k] = r.randrange(x.shape[k]), 1
            lists[1][k] = lists[0][k] + 1
    masks = [sum((r.random() < 0.3) << k for k in range(n)) & ~shrink for _ in range(2)]
    return [x] + [r.const('i32', v) for v in lists], [r.out(kind, like=x)], {'beginMask': masks[0], 'endMask': masks[1], 'shrinkAxisMask': shrink}


@row(['SPACE_TO_DEPTH'], 'f32', 'i8', 'u8', 'i32', 'i64', options='SpaceToDepth')
@row(['DEPTH_TO_SPACE'], 'f32', 'i8', 'u8', 'i32', 'i64', options='DepthToSpace')
def depth(r, kind, name):
    b, n, h, w, c = r.randint(1, 3), r.randint(1, 2), r.randint(1, 3), r.randint(1, 3), r.randint(1, 3)
    x = r.tensor(kind, [n, h * b, w * b, c] if name[0] == 'S' else [n, h, w, c * b * b])
    return [x], [r.out(kind, like=x)], {'blockSize': b}


@row('EXPAND_DIMS', *MOST, options='ExpandDims')
def expand_dims(r, kind):
    x = r.tensor(kind, r.shape(0, 4))
    return [x, r.const('i32', r.randint(-len(x.shape) - 1, len(x.shape)))], [r.out(kind, like=x)], {}
