"""Rows of operators whose inputs are indices, or whose outputs are: scatters, segments, selections."""
import numpy as np

import tflite_build as build
from rows import row


@row('ONE_HOT', *[f'{t} {u}' for t in ('f32', 'i8', 'u8', 'i32', 'i64', 'bool') for u in ('i32', 'i64')], options='OneHot')
def one_hot(r, kind):
    kind, index = kind.split()
    shape, depth = r.shape(0, 3, 4), r.randint(1, 5)
    axis = r.choice([-1, r.randint(0, len(shape))])
    on, off = r.tensor(kind, [], quant=False), r.tensor(kind, [], quant=False)
    return [r.tensor(index, shape, -1, depth), r.const('i32', depth, []), on, off], [r.out(kind, quant=False)], {'axis': axis}


@row('SCATTER_ND', *[f'{t} i32' for t in ('f32', 'i8', 'u8', 'i32', 'i64', 'bool')])
def scatter_nd(r, kind):
    kind, index = kind.split()
    shape = r.shape(1, 4, 4)
    depth, outer = r.randint(1, len(shape)), r.shape(1, 2, 4)
    j = r.tensor(index, outer + [depth])
    j.data = np.stack([np.array([r.randrange(shape[k]) for _ in range(int(np.prod(outer)))]).reshape(outer) for k in range(depth)],
                      -1).astype(j.data.dtype)
    u = r.tensor(kind, outer + shape[depth:], *(() if kind in ('bool', 'f32') else (0, 20)), quant=False)
    return [j, u, r.const(index, shape)], [r.out(kind, quant=False)], {}


@row(['UNSORTED_SEGMENT_SUM', 'UNSORTED_SEGMENT_PROD', 'UNSORTED_SEGMENT_MAX', 'UNSORTED_SEGMENT_MIN'], 'f32', 'i32')
def unsorted_segment(r, kind, name):
    shape = r.shape(1, 4, 4)
    count = r.randint(1, 6)
    s = r.tensor('i32', shape[:r.randint(1, len(shape))], -1 if r.random() < 0.3 else 0, count - 1)
    s.data.flat[0] = count - 1
    return [r.tensor(kind, shape, -4, 4), s, r.const('i32', count, [])], [r.out(kind)], {}


@row('SPARSE_TO_DENSE', *[f'{t} {u}' for t in ('f32', 'i8', 'u8', 'i32', 'i64') for u in ('i32', 'i64')], options='SparseToDense')
def sparse_to_dense(r, kind):
    kind, index = kind.split()
    rank = r.choice([0, 1, 2])
    shape = r.shape(1, 1) if rank < 2 else r.shape(1, 4, 4)
    n = 1 if rank == 0 else r.randint(1, int(np.prod(shape)))
    places = sorted(r.sample(range(int(np.prod(shape))), n))
    j = np.array([np.unravel_index(k, shape) for k in places])
    j = r.tensor(index, [[], [n], [n, len(shape)]][rank], 0, 0)
    j.data = np.array([np.unravel_index(k, shape) for k in places], j.data.dtype).reshape(j.shape)
    single = rank == 0 or r.random() < 0.3
    return [j, r.const(index, shape), r.tensor(kind, [] if single else [n], quant=False), r.tensor(kind, [], quant=False)], \
        [r.out(kind, quant=False)], {'validateIndices': True}


@row('TOPK_V2', 'f32', 'i8', 'u8', 'i16', 'i32', 'i64', options='TopKV2')
def topk(r, kind):
    shape = r.shape(1, 3, 5) + [r.randint(1, 12)]
    low, high = (-3, 3) if kind[0] != 'u' else (0, 6)
    x = r.tensor(kind, shape, *((low, high) if r.flag() else ()), quant=False)
    return [x, r.const('i32', r.randint(1, shape[-1]), [])], [r.out(kind, quant=False), r.out('i32')], {}


def boxes(r, n):
    corners = [[r.uniform(0, 10), r.uniform(0, 10)] for _ in range(n)]
    b = r.tensor('f32', [n, 4])
    b.data = np.array([[y, x, y + r.uniform(-6, 6), x + r.uniform(-6, 6)] for y, x in corners], np.float32)
    return b


@row('NON_MAX_SUPPRESSION_V4', 'f32')
def nms(r, kind):
    n = r.randint(1, 40)
    scores = r.tensor('f32', [n])
    scores.data = np.array([r.uniform(0, 1) for _ in range(n)], np.float32)  # equal ones have no order
    return [boxes(r, n), scores, r.const('i32', r.randint(1, n + 3), []), r.const('f32', r.uniform(0.05, 0.8), []),
            r.const('f32', r.choice([0.0, 0.3, 0.6]), [])], [r.out('i32'), r.out('i32')], {}


@row('NON_MAX_SUPPRESSION_V5', 'f32', 'f32 soft')
def soft_nms(r, kind):
    n = r.randint(1, 40)
    scores = r.tensor('f32', [n])
    scores.data = np.array([r.uniform(0, 1) for _ in range(n)], np.float32)
    return [boxes(r, n), scores, r.const('i32', r.randint(1, n + 3), []), r.const('f32', r.uniform(0.3, 1.0), []),
            r.const('f32', r.choice([0.0, 0.3]), []), r.const('f32', r.uniform(0.1, 1) if 'soft' in kind else 0.0, [])], \
        [r.out('i32'), r.out('f32'), r.out('i32')], {}


@row('HASHTABLE_LOOKUP', 'f32', 'i32', 'i8', 'u8', 'i64')
def hashtable_lookup(r, kind):
    n, m = r.randint(1, 8), r.randint(1, 6)
    keys = sorted(r.sample(range(-20, 20), n))
    look = r.tensor('i32', [m])
    look.data = np.array([r.choice(keys) if r.random() < 0.7 else r.randint(-25, 25) for _ in range(m)], np.int32)
    return [look, r.const('i32', keys), r.tensor(kind, [n] + r.shape(1, 2, 4), quant=False)], [r.out(kind, quant=False), r.out('u8', quant=False)], {}


@row('WHERE', 'bool', 'f32', 'i8', 'u8', 'i32', 'u32', 'i64')
def where(r, kind):
    x = r.tensor(kind, r.shape(1, 4, 5), *(() if kind == 'bool' else (0, 1)), quant=False)
    return [x], [r.out('i64')], {}


@row('UNIQUE', *[f'{t} {u}' for t in ('f32', 'i8', 'u8', 'i16', 'i32', 'i64') for u in ('i32', 'i64')], options='Unique')
def unique(r, kind):
    kind, index = kind.split()
    x = r.tensor(kind, [r.randint(1, 20)], 0, 6, quant=False)
    if kind == 'f32':
        x.data = x.data.round()
    return [x], [r.out(kind, quant=False), r.out(index)], {'idxOutType': {'i32': 2, 'i64': 4}[index]}


@row('EMBEDDING_LOOKUP_SPARSE', 'f32', options='EmbeddingLookupSparse')
def embedding_lookup_sparse(r, kind):
    shape = r.shape(2, 3, 4)
    n = r.randint(1, int(np.prod(shape)))
    places = sorted(r.sample(range(int(np.prod(shape))), n))
    rows = r.randint(1, 6)
    return [r.tensor('i32', [n], 0, rows - 1), r.const('i32', [list(np.unravel_index(k, shape)) for k in places]), r.const('i32', shape),
            r.tensor('f32', [n], 0.1, 2), r.tensor('f32', [rows] + r.shape(1, 2, 4))], [r.out('f32')], {'combiner': r.randint(0, 2)}


BODIES = {'sum': 'STABLEHLO_ADD', 'product': 'STABLEHLO_MULTIPLY', 'least': 'STABLEHLO_MINIMUM', 'largest': 'STABLEHLO_MAXIMUM', 'second': None}


def indices_of(r, kind, outer, limits):
    """(indices, the dimension their vectors stand along): one in each of `limits`, at each place of `outer`; a few outside.
    That dimension is always there: of vectors of one, which need none, LiteRT reads an extent beyond its shapes."""
    axis = r.randint(0, len(outer))
    parts = [np.array([r.randint(-1, n) if r.random() < 0.2 else r.randint(0, n - 1) for _ in range(int(np.prod(outer)))]).reshape(outer)
             for n in limits]
    j = r.tensor(kind, outer, 0, 0)
    data = np.stack(parts, axis) if parts else np.zeros(outer + [0])
    j.data, j.shape = data.astype(j.data.dtype), list(data.shape)
    return j, axis


@row('STABLEHLO_GATHER', *[f'{t} {u}' for t in ('f32', 'i8', 'u8', 'i16', 'i32', 'i64', 'bool') for u in ('i32', 'i64')], options='StablehloGather')
def stablehlo_gather(r, kind):
    kind, index = kind.split()
    shape, outer = r.shape(1, 3, 4), r.shape(1, 2, 3)
    chosen = r.sample(range(len(shape)), r.randint(1, len(shape)))
    collapsed = sorted(k for k in chosen if r.flag())
    sizes = [1 if k in collapsed else r.randint(1, n) for k, n in enumerate(shape)]
    j, axis = indices_of(r, index, outer, [shape[k] - sizes[k] + 1 for k in chosen])
    kept = [n for k, n in enumerate(sizes) if k not in collapsed]
    offset = sorted(r.sample(range(len(kept) + len(outer)), len(kept)))
    a, b, y = iter(kept), iter(outer), r.out(kind, quant=False)
    y.shape = [next(a) if k in offset else next(b) for k in range(len(kept) + len(outer))]  # LiteRT takes it from the file
    return [r.tensor(kind, shape, quant=False), j], [y], {
        'offsetDims': offset, 'collapsedSliceDims': collapsed, 'startIndexMap': chosen,
        'indexVectorDim': axis, 'sliceSizes': sizes}


@row('STABLEHLO_SCATTER', *[f'{t} {f}' for f in BODIES for t in ('f32', 'i8', 'i16', 'i32', 'i64')], options='StablehloScatter',
     refused={'written': 'its computation is a sub-graph'})
def stablehlo_scatter(r, kind):
    kind, function = kind.split()
    shape, outer = r.shape(1, 3, 4), r.shape(1, 2, 3)
    chosen = r.sample(range(len(shape)), r.randint(1, len(shape)))
    inserted = sorted(k for k in chosen if r.flag())
    sizes = [r.randint(1, n) for k, n in enumerate(shape) if k not in inserted]
    j, axis = indices_of(r, 'i32' if r.flag() else 'i64', outer, [shape[k] for k in chosen])
    rank = len(sizes) + len(outer)
    window = sorted(r.sample(range(rank), len(sizes)))
    a, b = iter(sizes), iter(outer)
    return [r.tensor(kind, shape, -3, 3, quant=False), j,
            r.tensor(kind, [next(a) if k in window else next(b) for k in range(rank)], -3, 3, quant=False)], [r.out(kind, quant=False)], {
        'updateWindowDims': window, 'insertedWindowDims': inserted, 'scatterDimsToOperandDims': chosen, 'indexVectorDim': axis,
        'updateComputationSubgraphIndex': build.Body(BODIES[function], kind)}


@row('SEGMENT_SUM', 'f32', 'i32')
def segment_sum(r, kind):
    n = r.randint(1, 8)
    s = r.tensor('i32', [n])
    s.data = np.cumsum([0] + [r.randint(0, 1) for _ in range(n - 1)]).astype(np.int32)
    return [r.tensor(kind, [n] + r.shape(0, 2, 4)), s], [r.out(kind)], {}
