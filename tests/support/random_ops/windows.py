"""Rows of operators that go over their input with a window."""
import numpy as np

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
