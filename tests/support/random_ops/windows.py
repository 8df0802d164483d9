"""Rows of operators that go over their input with a window."""
import numpy as np

import tflite_build as build
from rows import row

ACTIVATIONS = [0, 0, 1, 2, 3]  # none, relu, relu_n1_to_1, relu6


def options_3d(r, kernel):
    out = {'padding': r.randint(0, 1), 'fusedActivationFunction': r.choice(ACTIVATIONS)}
    for n in 'DHW':
        dilated = r.random() < 0.3
        out['stride' + n] = 1 if dilated else r.randint(1, 3)
        out[f'dilation{n}Factor'] = 2 if dilated else 1
    return out


@row('CONV_3D', 'f32', options='Conv3D')
def conv_3d(r, kind):
    kernel = [r.randint(1, 3) for _ in range(3)]
    o = options_3d(r, kernel)
    shape = [r.randint((k - 1) * o[f'dilation{n}Factor'] + 1, 7) for k, n in zip(kernel, 'DHW')]
    channels, filters = r.randint(1, 4), r.randint(1, 4)
    x = r.tensor(kind, [r.randint(1, 2), *shape, channels])
    w = r.const(kind, r.values(kind, kernel + [channels, filters]))
    return [x, w] + ([r.const(kind, r.values(kind, [filters]))] if r.flag() else []), [r.out(kind)], o


@row('CONV_3D_TRANSPOSE', 'f32', options='Conv3D')
def conv_3d_transpose(r, kind):
    kernel = [r.randint(1, 3) for _ in range(3)]
    o = options_3d(r, kernel)
    o.update({f'dilation{n}Factor': 1 for n in 'DHW'})
    shape = [r.randint(1, 4) for _ in range(3)]
    channels, filters, batch = r.randint(1, 4), r.randint(1, 4), r.randint(1, 2)
    strides = [o['stride' + n] for n in 'DHW']
    if o['padding'] == 0:
        extents = [n * s - r.randint(0, s - 1) for n, s in zip(shape, strides)]
    else:
        extents = [(n - 1) * s + k for n, s, k in zip(shape, strides, kernel)]
    x = r.tensor(kind, [batch, *shape, channels])
    w = r.const(kind, r.values(kind, kernel + [filters, channels]))
    return [r.const('i32', [batch, *extents, filters]), w, x] + ([r.const(kind, r.values(kind, [filters]))] if r.flag() else []), \
        [r.out(kind)], o


@row('REDUCE_WINDOW', *[f'{t} {f}' for f in ('sum', 'product', 'least', 'largest') for t in ('f32', 'f64', 'i8', 'u8', 'i16', 'i32', 'i64')],
     'bool all', 'bool any', options='ReduceWindow')
def reduce_window(r, kind):
    kind, function = kind.split()
    shape = r.shape(1, 3, 6)
    dilations = [r.randint(1, 2) for _ in shape]
    window = [r.randint(1, (n - 1) // d + 1) for n, d in zip(shape, dilations)]
    low, high = (-2, 2) if kind[0] in 'if' else (0, 2)
    return [r.tensor(kind, shape, low, high, quant=False), r.tensor(kind, [], low, high, quant=False), r.const('i64', window),
            r.const('i64', [r.randint(1, 3) for _ in shape]), r.const('i64', dilations)], [r.out(kind, quant=False)], {
        'reduceFunction': ['unsupported', 'sum', 'product', 'least', 'largest', 'all', 'any'].index(function)}


@row('STABLEHLO_PAD', 'f32', 'i8', 'u8', 'i16', 'i32', 'i64', options='StablehloPad')
def stablehlo_pad(r, kind):
    shape = r.shape(1, 3, 5)
    return [r.tensor(kind, shape, quant=False), r.tensor(kind, [], quant=False)], [r.out(kind, quant=False)], {
        'edgePaddingLow': [r.randint(0, 3) if r.random() < 0.8 else -r.randint(0, (n - 1) // 2) for n in shape],
        'edgePaddingHigh': [r.randint(0, 3) if r.random() < 0.8 else -r.randint(0, (n - 1) // 2) for n in shape],
        'interiorPadding': [r.randint(0, 2) for n in shape]}


BODIES = {'sum': 'STABLEHLO_ADD', 'product': 'STABLEHLO_MULTIPLY', 'least': 'STABLEHLO_MINIMUM', 'largest': 'STABLEHLO_MAXIMUM'}
UNWRITTEN = {'written': 'its computation is a sub-graph'}


@row('STABLEHLO_REDUCE_WINDOW', *[f'{t} {f}' for f in ('sum', 'product', 'least', 'largest') for t in ('f32', 'i8', 'i16', 'i32', 'i64')],
     options='StablehloReduceWindow', refused=UNWRITTEN)
def stablehlo_reduce_window(r, kind):
    kind, function = kind.split()
    shape = r.shape(1, 3, 5)
    spread = [r.randint(1, 2) for _ in shape]
    dilations = [r.randint(1, 2) for _ in shape]
    pads = [r.randint(0, 2) for _ in range(2 * len(shape))]
    full = [(n - 1) * s + 1 + pads[2 * k] + pads[2 * k + 1] for k, (n, s) in enumerate(zip(shape, spread))]
    low, high = (-2, 2) if kind[0] in 'if' else (0, 2)
    return [r.tensor(kind, shape, low, high, quant=False), r.tensor(kind, [], low, high, quant=False)], [r.out(kind, quant=False)], {
        'windowDimensions': [r.randint(1, (n - 1) // d + 1) for n, d in zip(full, dilations)],
        'windowStrides': [r.randint(1, 3) for _ in shape], 'baseDilations': spread, 'windowDilations': dilations, 'padding': pads,
        'bodySubgraphIndex': build.Body(BODIES[function], kind)}
