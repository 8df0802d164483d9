"""Cases of ONNX Runtime's own domain, com.microsoft."""
import numpy as np

from onnx_cases import Case as Node, In, known

MS = 'com.microsoft'


def Case(*args, **more):
    return Node(*args, domain=MS, **more)


def f(*shape, **more):
    return In('f32', shape, **more)


def w(*shape, **more):
    return known('f32', shape, **more)


def scale(v):
    return known('f32', (), values=v)


def zero(type, v):
    return known(type, (), values=v)


def q(type, *shape):
    return In(type, shape, -128 if type == 'i8' else 0, 127 if type == 'i8' else 255)


def kq(type, *shape):
    return known(type, shape, -128 if type == 'i8' else 0, 127 if type == 'i8' else 255)


def ints(*shape, low=0, high=1, **more):
    return In('i32', shape, low, high, **more)


CASES = [
    Case('bias_gelu', 'exact', 'BiasGelu', [f(2, 3), w(3)]),
    Case('bias_gelu', 'by_tanh', 'FastGelu', [f(2, 3), w(3)]),
    Case('bias_gelu', 'no_bias', 'Gelu', [f(2, 3)]),
    Case('quick_gelu', 'plain', 'QuickGelu', [f(2, 3)]),
    Case('fused_matmul', 'transposed', 'FusedMatMul', [f(2, 3, 2), f(2, 4, 3)], transA=1, transB=1, alpha=.5),
    Case('fused_conv', 'leaky_sum', 'FusedConv', [f(1, 2, 4, 4), w(3, 2, 3, 3), w(3), f(1, 3, 4, 4)], pads=[1, 1, 1, 1], activation='LeakyRelu',
         activation_params=[.2]),
    Case('fused_conv', 'clip', 'FusedConv', [f(1, 2, 4), w(2, 1, 2), w(2)], group=2, activation='Clip', activation_params=[-1., 1.5]),
    Case('fused_gemm', 'relu', 'FusedGemm', [f(2, 3), w(4, 3), w(4)], transB=1, activation='Relu'),
    Case('fused_gemm', 'leaky', 'FusedGemm', [f(2, 3), w(3, 2)], activation='LeakyRelu', activation_alpha=.3, alpha=2.),
    Case('skip_layer_normalization', 'all', 'SkipLayerNormalization', [f(2, 2, 4), f(2, 2, 4), w(4), w(4), w(4)], 4, epsilon=1e-5),
    Case('skip_layer_normalization', 'simplified', 'SkipSimplifiedLayerNormalization', [f(2, 2, 4), f(2, 2, 4), w(4), w(4)]),
    Case('skip_layer_normalization', 'broadcast', 'SkipLayerNormalization', [f(2, 2, 4), f(1, 2, 4), w(4)]),
    Case('matmul_nbits', 'four', 'MatMulNBits', [f(2, 20), known('u8', (3, 2, 8), 0, 255), w(6)], K=20, N=3, bits=4, block_size=16),
    Case('matmul_nbits', 'four_zero_points_bias', 'MatMulNBits', [f(2, 40), known('u8', (3, 3, 8), 0, 255), w(9), known('u8', (6,), 0, 255), None, w(3)], K=40, N=3,
         bits=4, block_size=16),
    Case('matmul_nbits', 'eight', 'MatMulNBits', [f(1, 2, 16), known('u8', (2, 1, 16), 0, 255), w(2)], K=16, N=2, bits=8, block_size=16),
    Case('matmul_nbits', 'four_real_zero_points', 'MatMulNBits', [f(2, 32), known('u8', (2, 2, 8), 0, 255), w(4), w(4, low=0, high=15)], K=32, N=2, bits=4,
         block_size=16),
    Case('gather_block_quantized', 'bytes', 'GatherBlockQuantized', [known('u8', (3, 16), 0, 255), In('i64', (2,), values=[2, -3]), w(3, 2)], block_size=16),
    Case('gather_block_quantized', 'bytes_zero_points', 'GatherBlockQuantized', [known('u8', (3, 16), 0, 255), In('i32', (2, 1), values=[1, 0]), w(3, 2),
         known('u8', (3, 1), 0, 255)], block_size=16),
    Case('dynamic_quantize_matmul', 'each_column', 'DynamicQuantizeMatMul', [f(2, 3), kq('i8', 3, 2), w(2, low=0, high=.1), known('i8', (2,), -9, 9), w(2)]),
    Case('dynamic_quantize_matmul', 'one_scale', 'DynamicQuantizeMatMul', [f(2, 2, 3), kq('u8', 3, 2), scale(.02), zero('u8', 100)]),
    Case('matmul_integer_to_float', 'plain', 'MatMulIntegerToFloat', [q('u8', 2, 3), kq('i8', 3, 2), scale(.02), w(2, low=0, high=.1), zero('u8', 120), known('i8', (2,), -9, 9), w(2)]),
    Case('qgemm', 'quantised', 'QGemm', [q('u8', 2, 3), scale(.02), zero('u8', 120), kq('u8', 4, 3), scale(.01), zero('u8', 90), known('i32', (4,), -999, 999), scale(.05),
         zero('u8', 100)], transB=1),
    Case('qgemm', 'real', 'QGemm', [q('i8', 2, 3), scale(.02), zero('i8', -3), kq('i8', 3, 2), w(2, low=.01, high=.1), known('i8', (2,), 0, 0)], alpha=.5),
    Case('qlinear_add', 'broadcast', 'QLinearAdd', [q('u8', 2, 3), scale(.02), zero('u8', 120), kq('u8', 3), scale(.03), zero('u8', 9), scale(.05), zero('u8', 60)]),
    Case('qlinear_add', 'signed', 'QLinearAdd', [q('i8', 2, 3), scale(.02), zero('i8', 20), q('i8', 2, 3), scale(.03), zero('i8', -9), scale(.05), zero('i8', 6)]),
    Case('qlinear_mul', 'plain', 'QLinearMul', [q('u8', 2, 3), scale(.02), zero('u8', 120), q('u8', 2, 3), scale(.03), zero('u8', 9), scale(.08), zero('u8', 60)]),
    Case('qlinear_leaky_relu', 'plain', 'QLinearLeakyRelu', [q('u8', 2, 5), scale(.02), zero('u8', 120), scale(.03), zero('u8', 60)], alpha=.2),
    Case('qlinear_sigmoid', 'plain', 'QLinearSigmoid', [q('i8', 2, 5), scale(.05), zero('i8', 12), scale(.00390625), zero('i8', -128)]),
    Case('qlinear_softmax', 'last', 'QLinearSoftmax', [q('u8', 2, 5), scale(.02), zero('u8', 120), scale(.00390625), zero('u8', 0)], axis=-1, opset_=13),
    Case('qlinear_average_pool', 'padded', 'QLinearAveragePool', [q('u8', 1, 2, 4, 4), scale(.02), zero('u8', 120), scale(.025), zero('u8', 100)], kernel_shape=[3, 2],
         pads=[1, 0, 1, 0], strides=[2, 1]),
    Case('qlinear_global_average_pool', 'plain', 'QLinearGlobalAveragePool', [q('u8', 1, 2, 3, 4), scale(.02), zero('u8', 120), scale(.015), zero('u8', 100)]),
    Case('qlinear_global_average_pool', 'channels_last', 'QLinearGlobalAveragePool', [q('u8', 1, 3, 4, 2), scale(.02), zero('u8', 120), scale(.015), zero('u8', 100)],
         channels_last=1),
    Case('qlinear_concat', 'plain', 'QLinearConcat', [scale(.05), zero('u8', 60), q('u8', 2, 2), scale(.02), zero('u8', 120), q('u8', 2, 3), scale(.07), zero('u8', 9)], axis=-1),
    Case('qlinear_where', 'broadcast', 'QLinearWhere', [In('bool', (2, 3)), q('u8', 2, 3), scale(.02), zero('u8', 120), q('u8', 1, 3), scale(.07), zero('u8', 9), scale(.05),
         zero('u8', 60)]),
    Case('multi_head_attention', 'plain', 'MultiHeadAttention', [f(2, 3, 4), f(2, 5, 4), f(2, 5, 6)], num_heads=2),
    Case('multi_head_attention', 'bias_mask_past', 'MultiHeadAttention', [f(2, 2, 4), f(2, 2, 4), f(2, 2, 4), w(12), ints(2, 5), f(1, 2, 2, 5), f(2, 2, 3, 2), f(2, 2, 3, 2)],
         3, num_heads=2, scale=.5),
    Case('multi_head_attention', 'unidirectional', 'MultiHeadAttention', [f(1, 3, 4), f(1, 3, 4), f(1, 3, 4)], num_heads=1, unidirectional=1),
    Case('multi_head_attention', 'unidirectional_more_keys', 'MultiHeadAttention', [f(1, 2, 4), f(1, 4, 4), f(1, 4, 4)], num_heads=2, unidirectional=1),
    Case('multi_head_attention', 'lengths', 'MultiHeadAttention', [f(2, 2, 4), f(2, 3, 4), f(2, 3, 4), None, ints(2, values=[2, 3])], num_heads=2),
    Case('self_attention', 'plain', 'Attention', [f(2, 3, 4), w(4, 12), w(12)], num_heads=2),
    Case('self_attention', 'mask_past', 'Attention', [f(2, 2, 4), w(4, 12), w(12), ints(2, 5), f(2, 2, 2, 3, 2)], 2, num_heads=2),
    Case('self_attention', 'lengths_unidirectional', 'Attention', [f(2, 3, 4), w(4, 12), w(12), ints(2, values=[3, 2])], num_heads=2, unidirectional=1),
    Case('group_query_attention', 'decode_rotary', 'GroupQueryAttention', [f(2, 1, 64), f(2, 1, 32), f(2, 1, 32), f(2, 2, 4, 16), f(2, 2, 4, 16), ints(2, values=[3, 2]),
         known('i32', (), values=4), w(6, 8), w(6, 8)], 3, num_heads=4, kv_num_heads=2, do_rotary=1),
    Case('group_query_attention', 'prompt_packed_window', 'GroupQueryAttention', [f(1, 4, 64), None, None, None, None, ints(1, values=[3]),
         known('i32', (), values=4)], 3, num_heads=2, kv_num_heads=1, local_window_size=2, softcap=5.),
    Case('embed_layer_normalization', 'segments', 'EmbedLayerNormalization', [ints(2, 3, high=4), ints(2, 3), w(5, 4), w(3, 4), w(2, 4), w(4), w(4), ints(2, 3)], 2),
    Case('embed_layer_normalization', 'words', 'EmbedLayerNormalization', [ints(1, 3, high=4), None, w(5, 4), w(3, 4), None, w(4), w(4)], 3),
    Case('q_attention', 'mask_past', 'QAttention', [q('u8', 2, 2, 4), kq('i8', 4, 12), w(12), scale(.01), scale(.02), ints(2, 5), zero('u8', 120), zero('i8', 0), f(2, 2, 2, 3, 2)], 2,
         num_heads=2),
    Case('q_attention', 'each_column_unidirectional', 'QAttention', [q('u8', 1, 3, 4), kq('i8', 4, 12), w(12), scale(.01), w(12, low=.005, high=.02), None, zero('u8', 120),
         known('i8', (12,), -9, 9)], num_heads=2, unidirectional=1),
    Case('quantize_linear', 'of_microsoft', 'QuantizeLinear', [f(2, 3), w(3, low=.01, high=.1), kq('u8', 3)], axis=1),
    Case('dequantize_linear', 'of_microsoft', 'DequantizeLinear', [q('u8', 2, 3), scale(.5), zero('u8', 3)]),
    Case('trilu', 'of_microsoft', 'Trilu', [f(3, 4), known('i64', (), values=1)]),
    Case('fused_matmul', 'older', 'TransposeMatMul', [f(3, 2), f(3, 2)], transA=1),
]
