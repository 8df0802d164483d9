"""Rows of sums of products that come, scaled, next to the middle between two outputs: there the order of roundings shows, and whether the
scales were multiplied in float or in double.

The input has elements of a few powers of a base, so that weights, its digits, make any sum.
"""
import numpy as np

from rows import near_ties, row


@row(['FULLY_CONNECTED'], 'i8 i8 ties', 'u8 u8 ties', 'i8 i4 ties', 'i16 i8 ties', 'i16 i4 ties', options='FullyConnected', version=4)
@row(['CONV_2D'], 'i8 i8 ties', 'u8 u8 ties', 'i8 i4 ties', 'i16 i8 ties', options='Conv2D', version=3)
@row(['DEPTHWISE_CONV_2D'], 'i8 i8 ties', 'u8 u8 ties', 'i8 i4 ties', 'i16 i8 ties', options='DepthwiseConv2D', version=3)
@row(['TRANSPOSE_CONV'], 'i8 i8 ties', 'u8 u8 ties', 'i16 i8 ties', options='TransposeConv', version=4)
@row(['TRANSPOSE_CONV'], 'i16 i8 i32 ties', options='TransposeConv', version=4, tflm=False)  # it takes the bytes of the bias for 64 bits
@row(['BATCH_MATMUL'], 'i8 i8 ties', 'i16 i16 ties', options='BatchMatMul', version=4)
def ties(r, kind, name):
    kind, of, *narrow = kind.split()[:-1]
    channels = r.randint(20, 60)
    biased = name != 'BATCH_MATMUL' and (name != 'FULLY_CONNECTED' or r.random() < 0.8)
    data, digits, values, sx, sws, sy = near_ties(r, kind, 'i8' if of == 'i16' else of, channels, biased and kind != 'u8' and r.flag(), biased,
                                                  2000 if name == 'BATCH_MATMUL' else r.randint(20, 150))
    zero = {'i8': r.randint(-28, 27), 'u8': r.randint(100, 155), 'i16': 0}[kind]
    wzero = r.randint(100, 155) if of == 'u8' else 0
    k = len(data)
    shape, filters, turned = {'FULLY_CONNECTED': ([1, k], [channels, k], False), 'BATCH_MATMUL': ([1, k], [channels, k], False),
                              'DEPTHWISE_CONV_2D': ([1, 1, k, 1], [1, 1, k, channels], True)}.get(name, ([1, 1, 1, k], [channels, 1, 1, k], False))
    x = r.tensor(kind, shape, scale=sx, zero=zero)
    x.data = (data + zero).astype(x.data.dtype).reshape(shape)
    w = r.const(of, ((digits.T if turned else digits) + wzero).reshape(filters), filters)
    w.scale, w.zero, w.axis = sws, [wzero] * len(sws), 3 if turned else 0
    y = r.out(kind)
    y.scale = [sy]
    if name == 'BATCH_MATMUL':
        w.constant, w.axis = r.flag(), 0
        return [x, w], [y], {'adjY': True}
    fields = {'strideW': 1, 'strideH': 1, 'padding': 1} if name != 'FULLY_CONNECTED' else {}
    if name == 'DEPTHWISE_CONV_2D':
        fields['depthMultiplier'] = channels
    if biased:
        wide = kind == 'i16' and not narrow and (name in ('DEPTHWISE_CONV_2D', 'TRANSPOSE_CONV') or r.flag())
        b = r.const('i64' if wide else 'i32', values)
        b.scale, b.zero = [float(np.float32(sx) * np.float32(s)) for s in sws], [0] * len(sws)
    if kind == 'i16' and name != 'DEPTHWISE_CONV_2D':
        fields['quantizedBiasType'] = (4 if wide else 2) if biased else r.choice([0, 2, 4])
    if name == 'TRANSPOSE_CONV':
        return [r.const('i32', [1, 1, 1, channels]), w, x, b], [y], fields
    return [x, w, b if biased else None], [y], fields
