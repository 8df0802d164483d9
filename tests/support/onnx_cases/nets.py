"""Cases of networks' operators: contractions, windows, normalisations."""
from onnx_cases import Case, In, known


def f(*shape, **more):
    return In('f32', shape, **more)


def w(*shape, **more):
    return known('f32', shape, **more)


def q(type, *shape):
    return In(type, shape, -128 if type == 'i8' else 0, 127 if type == 'i8' else 255)


def kq(type, *shape, low=None, high=None):
    return known(type, shape, low if low is not None else -128 if type == 'i8' else 0, high or (127 if type == 'i8' else 255))


CASES = [
    Case('conv', 'one_extent', 'Conv', [f(2, 2, 7), w(3, 2, 3), w(3)], strides=[2], pads=[2, 0]),
    Case('conv', 'groups_dilated', 'Conv', [f(1, 4, 6, 5), w(6, 2, 2, 3)], group=2, dilations=[2, 1], pads=[0, 1, 1, 1]),
    Case('conv', 'depthwise_same_lower', 'Conv', [f(1, 3, 5, 4), w(3, 1, 2, 2), w(3)], group=3, auto_pad='SAME_LOWER', strides=[2, 1]),
    Case('conv', 'three_extents_valid', 'Conv', [f(1, 2, 4, 3, 4), w(2, 2, 2, 1, 3)], auto_pad='VALID'),
    Case('conv', 'double_computed_filter', 'Conv', [In('f64', (1, 2, 4, 4)), In('f64', (2, 2, 3, 3))], pads=[1, 1, 1, 1], engine='ref'),
    Case('conv', 'half', 'Conv', [In('f16', (1, 2, 4, 4)), known('f16', (2, 2, 3, 3)), known('f16', (2,))], opset=21),
    Case('conv', 'empty_batch', 'Conv', [f(0, 2, 4), w(3, 2, 3)]),
    Case('conv_integer', 'zero_points', 'ConvInteger', [q('u8', 1, 2, 4, 5), kq('u8', 3, 2, 3, 3), kq('u8'), kq('u8')], pads=[1, 1, 1, 1]),
    Case('conv_integer', 'groups_no_zero_points', 'ConvInteger', [q('u8', 2, 4, 6), kq('u8', 4, 2, 2)], group=2, strides=[2]),
    Case('conv_integer', 'one_for_each_filter', 'ConvInteger', [q('u8', 1, 2, 5, 5), kq('i8', 3, 2, 2, 2), kq('u8'), kq('i8', 3)], engine='ref'),
    Case('qlinear_conv', 'one_scale', 'QLinearConv', [q('u8', 1, 2, 5, 4), w(values=.02), kq('u8'), kq('u8', 3, 2, 3, 3), w(values=.01), kq('u8'),
         w(values=.5), kq('u8'), known('i32', (3,), -900, 900)], pads=[1, 0, 1, 2]),
    Case('qlinear_conv', 'each_filter_signed', 'QLinearConv', [q('i8', 1, 4, 5, 4), w(values=.02), kq('i8'), kq('i8', 4, 2, 3, 3),
         w(4, values=[.01, .02, .003, .015]), kq('i8', 4, low=0, high=0), w(values=.25), kq('i8')], group=2),
    Case('conv_transpose', 'padded', 'ConvTranspose', [f(1, 3, 3, 4), w(3, 2, 3, 2), w(2)], strides=[2, 3], pads=[1, 0, 0, 1],
         output_padding=[1, 0]),
    Case('conv_transpose', 'groups_dilated', 'ConvTranspose', [f(2, 4, 5), w(4, 3, 3)], group=2, dilations=[2], strides=[2]),
    Case('conv_transpose', 'output_shape', 'ConvTranspose', [f(1, 1, 3, 3), w(1, 2, 3, 3)], strides=[3, 2], output_shape=[10, 6]),
    Case('conv_transpose', 'same_upper', 'ConvTranspose', [f(1, 2, 3, 3), w(2, 1, 4, 3)], strides=[2, 2], auto_pad='SAME_UPPER'),
    Case('conv_transpose', 'same_lower', 'ConvTranspose', [f(1, 2, 3, 3), w(2, 1, 3, 3)], strides=[2, 2], auto_pad='SAME_LOWER'),
    Case('conv_transpose', 'half', 'ConvTranspose', [In('f16', (1, 2, 3)), known('f16', (2, 2, 3))], opset=21),
    Case('deform_conv', 'groups_mask', 'DeformConv', [f(1, 4, 4, 5), w(2, 2, 2, 2), f(1, 16, 4, 5), w(2), f(1, 8, 4, 5, low=0, high=1)], group=2,
         offset_group=2, pads=[1, 1, 0, 0]),
    Case('deform_conv', 'strides_dilations', 'DeformConv', [f(2, 1, 6, 6), w(1, 1, 2, 2), f(2, 8, 2, 3)], strides=[2, 2], dilations=[2, 1]),
    Case('max_pool', 'indices', 'MaxPool', [f(2, 2, 5, 4)], outputs=2, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    Case('max_pool', 'indices_by_columns', 'MaxPool', [f(2, 2, 5, 4)], outputs=2, kernel_shape=[2, 2], strides=[2, 2], storage_order=1),
    Case('max_pool', 'dilated_up', 'MaxPool', [f(1, 2, 9)], kernel_shape=[3], dilations=[2], strides=[3], ceil_mode=1, pads=[1, 1]),
    Case('max_pool', 'three_extents_same', 'MaxPool', [f(1, 1, 4, 3, 5)], kernel_shape=[2, 2, 2], auto_pad='SAME_UPPER', strides=[2, 1, 2]),
    Case('max_pool', 'int8', 'MaxPool', [q('i8', 1, 2, 4, 4)], kernel_shape=[2, 2]),
    Case('max_pool', 'uint8_padded', 'MaxPool', [q('u8', 1, 2, 3, 4)], kernel_shape=[2, 3], pads=[1, 1, 0, 1]),
    Case('max_pool', 'double', 'MaxPool', [In('f64', (1, 1, 6))], kernel_shape=[2], outputs=2),
    Case('max_pool', 'half', 'MaxPool', [In('f16', (1, 1, 6))], kernel_shape=[2], engine='ref'),
    Case('average_pool', 'padded', 'AveragePool', [f(1, 2, 5, 4)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    Case('average_pool', 'with_padding', 'AveragePool', [f(1, 2, 5, 4)], kernel_shape=[3, 2], pads=[1, 0, 1, 1], count_include_pad=1),
    Case('average_pool', 'up_with_padding', 'AveragePool', [f(1, 1, 7)], kernel_shape=[3], strides=[2], pads=[1, 0], count_include_pad=1, ceil_mode=1),
    Case('average_pool', 'dilated_up', 'AveragePool', [f(1, 2, 8, 5)], kernel_shape=[2, 2], dilations=[2, 1], strides=[3, 2], ceil_mode=1),
    Case('average_pool', 'same_lower', 'AveragePool', [f(1, 1, 4, 5, 3)], kernel_shape=[2, 2, 2], auto_pad='SAME_LOWER'),
    Case('average_pool', 'double', 'AveragePool', [In('f64', (1, 1, 6))], kernel_shape=[3], engine='ref'),
    Case('average_pool', 'half', 'AveragePool', [In('f16', (1, 1, 6))], kernel_shape=[3], engine='ref'),
    Case('lp_pool', 'two', 'LpPool', [f(1, 2, 5, 4)], kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1]),
    Case('lp_pool', 'one', 'LpPool', [f(1, 2, 6)], kernel_shape=[2], p=1),
    Case('lp_pool', 'three', 'LpPool', [f(1, 2, 6)], kernel_shape=[3], p=3, pads=[1, 1]),
    Case('lp_pool', 'double', 'LpPool', [In('f64', (1, 1, 6))], kernel_shape=[3], engine='ref'),
    Case('lp_pool', 'half', 'LpPool', [In('f16', (1, 1, 6))], kernel_shape=[3], engine='ref'),
    Case('global_lp_pool', 'two', 'GlobalLpPool', [f(2, 2, 3, 2)], opset=21),
    Case('global_lp_pool', 'three', 'GlobalLpPool', [f(2, 2, 4)], p=3, opset=21),
    Case('max_unpool', 'plain', 'MaxUnpool', [f(1, 1, 2, 2), In('i64', (1, 1, 2, 2), values=[1, 3, 8, 15])], kernel_shape=[2, 2], strides=[2, 2]),
    Case('max_unpool', 'more_room', 'MaxUnpool', [f(1, 1, 2, 2), In('i64', (1, 1, 2, 2), values=[1, 3, 8, 15]),
         known('i64', (4,), values=[1, 1, 5, 5])], kernel_shape=[2, 2], strides=[2, 2], engine='ref'),
    Case('batch_normalization', 'plain', 'BatchNormalization', [f(2, 3, 2, 2), w(3), w(3), w(3), w(3, low=.1, high=2)], engine='ref'),
    Case('batch_normalization', 'no_extents_epsilon', 'BatchNormalization', [f(3, 2), f(2), f(2), f(2), f(2, low=.1)], epsilon=.01),
    Case('batch_normalization', 'training', 'BatchNormalization', [f(2, 3, 2, 2), w(3), w(3), w(3), w(3, low=.1, high=2)], outputs=3,
         training_mode=1, momentum=.75, engine='ref'),
    Case('batch_normalization', 'double', 'BatchNormalization', [In('f64', (2, 2, 2)), In('f64', (2,)), In('f64', (2,)), In('f64', (2,)),
         In('f64', (2,), .1, 2)]),
    Case('batch_normalization', 'half_of_float', 'BatchNormalization', [In('f16', (2, 2, 2)), f(2), f(2), f(2), f(2, low=.1)], engine='ref'),
    Case('instance_normalization', 'plain', 'InstanceNormalization', [f(2, 3, 4, 2), w(3), w(3)], epsilon=.01),
    Case('instance_normalization', 'double', 'InstanceNormalization', [In('f64', (2, 2, 5)), In('f64', (2,)), In('f64', (2,))], engine='ref'),
    Case('group_normalization', 'plain', 'GroupNormalization', [f(2, 4, 3, 2), w(4), w(4)], num_groups=2),
    Case('group_normalization', 'of_groups', 'GroupNormalization', [f(2, 4, 3), w(2), w(2)], num_groups=2, opset=18, epsilon=.01, engine='ref'),
    Case('group_normalization', 'half', 'GroupNormalization', [In('f16', (1, 4, 3)), In('f16', (4,)), In('f16', (4,))], num_groups=2, engine='ref'),
    Case('layer_normalization', 'statistics', 'LayerNormalization', [f(2, 3, 4), w(4), w(4)], outputs=3, opset=17),
    Case('layer_normalization', 'axis_broadcast', 'LayerNormalization', [f(2, 3, 4), w(1, 4)], axis=1, epsilon=.01, opset=17, engine='ref'),
    Case('layer_normalization', 'half', 'LayerNormalization', [In('f16', (2, 6)), In('f16', (6,)), In('f16', (6,))], opset=17, engine='ref'),
    Case('rms_normalization', 'plain', 'RMSNormalization', [f(2, 3, 4), w(4)], engine='ref'),
    Case('rms_normalization', 'axis', 'RMSNormalization', [f(2, 3, 4), w(3, 4)], axis=-2, epsilon=.01, engine='ref'),
    Case('rms_normalization', 'half', 'RMSNormalization', [In('f16', (2, 4)), In('f16', (4,))]),
    Case('lp_normalization', 'two', 'LpNormalization', [f(2, 3, 4)], axis=1),
    Case('lp_normalization', 'one', 'LpNormalization', [f(2, 3, 4)], p=1),
    Case('lp_normalization', 'double', 'LpNormalization', [In('f64', (3, 4))]),
    Case('lp_normalization', 'zeros', 'LpNormalization', [f(2, 3, values=[0, 0, 0, 3, 0, 4])]),
    Case('mean_variance_normalization', 'plain', 'MeanVarianceNormalization', [f(2, 3, 2, 2)], opset=13),
    Case('mean_variance_normalization', 'axes', 'MeanVarianceNormalization', [f(2, 3, 4)], axes=[-1, 0], opset=13, engine='ref'),
    Case('lrn', 'odd', 'LRN', [f(1, 5, 2, 2)], size=3),
    Case('lrn', 'even', 'LRN', [f(5, 5, 2, 1)], size=4, alpha=.5, beta=.5, bias=2., engine='ref'),
    Case('gemm', 'plain', 'Gemm', [f(2, 3), w(3, 4), w(4)]),
    Case('gemm', 'transposed_scaled', 'Gemm', [f(3, 2), w(4, 3), f(2, 1)], transA=1, transB=1, alpha=.5, beta=2.),
    Case('gemm', 'no_bias_double', 'Gemm', [In('f64', (2, 3)), In('f64', (3, 2))]),
    Case('gemm', 'half', 'Gemm', [In('f16', (2, 3)), In('f16', (3, 2)), In('f16', (1,))], beta=.5),
    Case('gemm', 'int64', 'Gemm', [In('i64', (2, 3), -9, 9), In('i64', (3, 2), -9, 9), In('i64', (1, 2), -9, 9)], engine='ref'),
    Case('gemm', 'nothing_inside', 'Gemm', [f(2, 0), w(0, 3), w(3)]),
    Case('batch_matmul', 'broadcast', 'MatMul', [f(2, 1, 2, 3), f(2, 3, 2)]),
    Case('batch_matmul', 'row_by_matrices', 'MatMul', [f(3), f(2, 3, 2)]),
    Case('batch_matmul', 'matrices_by_column', 'MatMul', [f(2, 2, 3), f(3)]),
    Case('batch_matmul', 'row_by_column', 'MatMul', [f(3), f(3)]),
    Case('batch_matmul', 'double', 'MatMul', [In('f64', (2, 3)), In('f64', (3, 2))]),
    Case('batch_matmul', 'half', 'MatMul', [In('f16', (2, 3)), In('f16', (3, 2))], engine='ref'),
    Case('batch_matmul', 'int32', 'MatMul', [In('i32', (2, 3), -9, 9), In('i32', (3, 2), -9, 9)]),
    Case('batch_matmul', 'uint64', 'MatMul', [In('u64', (2, 3), 0, 9), In('u64', (3, 2), 0, 9)]),
    Case('matmul_integer', 'zero_points', 'MatMulInteger', [q('u8', 2, 2, 3), kq('u8', 3, 2), kq('u8'), kq('u8')]),
    Case('matmul_integer', 'each_column', 'MatMulInteger', [q('u8', 2, 3), kq('i8', 3, 2), kq('u8', 1), kq('i8', 2)]),
    Case('matmul_integer', 'each_row', 'MatMulInteger', [q('i8', 2, 3), kq('i8', 3, 2), kq('i8', 2, 1), kq('i8')], engine='ref'),
    Case('matmul_integer', 'no_zero_points', 'MatMulInteger', [q('u8', 2, 3), q('i8', 3, 2)]),
    Case('qlinear_matmul', 'plain', 'QLinearMatMul', [q('u8', 2, 4), w(values=.02), kq('u8'), kq('u8', 4, 3), w(values=.03), kq('u8'), w(values=.1), kq('u8')]),
    Case('qlinear_matmul', 'each_column', 'QLinearMatMul', [q('i8', 2, 2, 4), w(values=.02), kq('i8'), kq('i8', 4, 3), w(3, values=[.03, .01, .02]),
         kq('i8', 3, low=0, high=0), w(values=.1), kq('i8')]),
]

CASES += [
    Case('dropout', 'mask', 'Dropout', [f(2, 3), w(values=.5), known('bool', (), values=False)], 2, 13),
    Case('dropout', 'nothing_left_out', 'Dropout', [f(2, 3), w(values=0), known('bool', (), values=True)], 2, 13),
    Case('conv_transpose', 'same_stride_above_kernel', 'ConvTranspose', [f(1, 1, 3, 3), w(1, 1, 1, 2)], strides=[2, 3], auto_pad='SAME_LOWER'),
]
