"""Rows of operators over images: resizing, transposed convolutions, pooling."""
import numpy as np

from rows import row


def image(r, kind, **more):
    return r.tensor(kind, [r.randint(1, 2), r.randint(1, 6), r.randint(1, 6), r.randint(1, 3)], **more)


@row(['RESIZE_BILINEAR'], 'f32', 'i8', 'u8', 'i16', options='ResizeBilinear')
@row(['RESIZE_NEAREST_NEIGHBOR'], 'f32', 'i8', 'u8', 'i16', 'i32', 'bool', options='ResizeNearestNeighbor')
def resize(r, kind, name):
    x, way = image(r, kind), r.randrange(3)
    return [x, r.const('i32', [r.randint(1, 9), r.randint(1, 9)])], [r.out(kind, like=x)], {'alignCorners': way == 1, 'halfPixelCenters': way == 2}


@row('L2_POOL_2D', 'f32', options='Pool2D')
def l2_pool(r, kind):
    x = image(r, kind)
    kernel = [r.randint(1, n) for n in x.shape[1:3]]
    return [x], [r.out(kind)], {'padding': r.randrange(2), 'strideH': r.randint(1, 3), 'strideW': r.randint(1, 3), 'filterHeight': kernel[0],
                                'filterWidth': kernel[1], 'fusedActivationFunction': r.choice([0, 1, 3])}


@row('TRANSPOSE_CONV', 'f32', 'i8', 'u8', 'i16', options='TransposeConv', version=4)
def transpose_conv(r, kind):
    strides, kernel, channels, padding = [r.randint(1, 3) for _ in range(2)], [r.randint(1, 4) for _ in range(2)], r.randint(1, 4), r.randrange(2)
    extents = [r.randint(k, 9) if padding else r.randint(1, 9) for k in kernel]
    rows = [(n - k + s) // s if padding else -(-n // s) for n, k, s in zip(extents, kernel, strides)]
    x = r.tensor(kind, [r.randint(1, 2), *rows, r.randint(1, 3)])
    quantised = kind != 'f32'
    w = r.tensor({'i16': 'i8'}.get(kind, kind), [channels, *kernel, x.shape[3]], low=-1.0 if not quantised else 0 if kind == 'u8' else -127)
    w.constant = True
    fields = {'padding': padding, 'strideH': strides[0], 'strideW': strides[1], 'fusedActivationFunction': r.choice([0, 0, 1, 3])}
    if kind in ('i8', 'i16'):
        many = channels if r.random() < 0.8 else 1
        w.scale, w.zero, w.axis = [float(np.float32(2.0 ** r.uniform(-9, -4))) for _ in range(many)], [0] * many, 0
    bias = None
    if r.random() < 0.7:
        type = {'f32': 'f32', 'i16': 'i64'}.get(kind, 'i32')
        bias = r.tensor(type, [channels], low=None if kind == 'f32' else -5000, high=None if kind == 'f32' else 5000)
        bias.constant = True
        if quantised:
            bias.scale, bias.zero = [float(np.float32(x.scale[0]) * np.float32(s)) for s in w.scale], [0] * len(w.scale)
            fields['quantizedBiasType'] = {'i32': 2, 'i64': 4}[type]
    elif kind == 'i16':
        fields['quantizedBiasType'] = r.choice([0, 2, 4])
    y = r.out(kind)
    return [r.const('i32', [x.shape[0], *extents, channels]), w, x] + ([bias] if bias else []), [y], fields
