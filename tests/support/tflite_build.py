"""Builds one-operator .tflite models and runs them on the independent runtimes (TFLM, LiteRT's reference resolver).

Needs the oracles' virtual environment (tools/oracles of the shared folder): flatbuffers, ai_edge_litert, tflite_micro, numpy.
An operator is said in Burin's words, as in the .case files (docs/OPERATOR_CASES.md); this is the way back to TFLite.
"""
import copy

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

DTYPE = {'i8': np.int8, 'u8': np.uint8, 'i16': np.int16, 'u16': np.uint16, 'i32': np.int32, 'u32': np.uint32, 'i64': np.int64,
         'u64': np.uint64, 'f32': np.float32, 'f16': np.float16, 'f64': np.float64, 'bool': np.bool_, 'c64': np.complex64, 'i4': np.int8, 'i2': np.int8}
TENSOR = {'i8': 'INT8', 'u8': 'UINT8', 'i16': 'INT16', 'u16': 'UINT16', 'i32': 'INT32', 'u32': 'UINT32', 'i64': 'INT64',
          'u64': 'UINT64', 'f32': 'FLOAT32', 'f16': 'FLOAT16', 'f64': 'FLOAT64', 'bool': 'BOOL', 'c64': 'COMPLEX64', 'i4': 'INT4', 'i2': 'INT2'}
BITS = {'i4': 4, 'i2': 2}                            # packed, the first element lowest
ACT = {'none': 0, 'relu': 1, 'relu_n1_to_1': 2, 'relu6': 3, 'tanh': 4}


class Tensor:
    """type, shape, data (array or None), scale and zero (lists, empty: not quantised), axis, constant, state (kept between runs)."""

    def __init__(self, type, shape, data=None, scale=(), zero=(), axis=0, constant=False, state=False):
        self.type, self.shape, self.data = type, list(shape), data
        self.scale, self.zero, self.axis, self.constant, self.state = list(scale), list(zero), axis, constant, state


def raw(t):
    """The bytes of a tensor's data as TFLite keeps them."""
    data = np.ascontiguousarray(t.data, DTYPE[t.type])
    if t.type not in BITS:
        return data.tobytes()
    bits = BITS[t.type]
    per = 8 // bits
    flat = data.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % per, np.uint8)]).reshape(-1, per)
    return bytes(int(sum(int(v) << (bits * k) for k, v in enumerate(row))) for row in flat)


COMPUTATIONS = [None, 'STABLEHLO_ADD', 'STABLEHLO_MULTIPLY', 'STABLEHLO_MINIMUM', 'STABLEHLO_MAXIMUM']


class Body:
    """In an option that names a sub-graph: one that computes `builtin` of two scalars, or gives the second (None)."""

    def __init__(self, builtin, type):
        self.builtin, self.type = builtin, type


def constant_list(values, type='i32'):
    return Tensor(type, [len(values)], np.array(values, DTYPE[type]), constant=True)


def same_pads(size, kernel, stride, dilation):
    reach = (kernel - 1) * dilation + 1
    out = -(-size // stride)
    total = max((out - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def padding(x, kernel, attrs):
    """0 SAME or 1 VALID, from pads."""
    pads = attrs['pads']
    if not any(pads):
        return 1
    dil = attrs.get('dilations', [1, 1])
    top, bottom = same_pads(x.shape[1], kernel[0], attrs['strides'][0], dil[0])
    left, right = same_pads(x.shape[2], kernel[1], attrs['strides'][1], dil[1])
    if pads != [top, left, bottom, right]:
        raise ValueError(f'pads {pads} are neither VALID nor SAME {[top, left, bottom, right]}')
    return 0


def conv(o, x, w, attrs):
    o.padding = padding(x, w.shape[1:3], attrs)
    o.strideH, o.strideW = attrs['strides']
    o.dilationHFactor, o.dilationWFactor = attrs['dilations']


def pool(o, x, attrs):
    o.padding = padding(x, attrs['kernel'], attrs)
    o.strideH, o.strideW = attrs['strides']
    o.filterHeight, o.filterWidth = attrs['kernel']


REDUCERS = {'mean': 'MEAN', 'sum': 'SUM', 'reduce_max': 'REDUCE_MAX', 'reduce_min': 'REDUCE_MIN', 'reduce_prod': 'REDUCE_PROD',
            'reduce_all': 'REDUCE_ALL', 'reduce_any': 'REDUCE_ANY'}
PLAIN = {'quantize': 'Quantize', 'dequantize': 'Dequantize', 'maximum': 'MaximumMinimum', 'minimum': 'MaximumMinimum',
         'cast': 'Cast', 'exp': 'Exp', 'floor_div': 'FloorDiv', 'floor_mod': 'FloorMod', 'hard_swish': 'HardSwish', 'log_softmax': 'LogSoftmax',
         'equal': 'Equal', 'not_equal': 'NotEqual', 'less': 'Less', 'less_equal': 'LessEqual', 'greater': 'Greater',
         'greater_equal': 'GreaterEqual', 'abs': 'Abs', 'neg': 'Neg', 'square': 'Square', 'cos': 'Cos',
         'logical_or': 'LogicalOr', 'logical_and': 'LogicalAnd', 'logical_not': 'LogicalNot',
         'ceil': None, 'floor': None, 'round': None, 'sqrt': None, 'log': None, 'sin': None, 'rsqrt': None, 'elu': None,
         'relu': None, 'relu6': None, 'relu_n1_to_1': None, 'logistic': None, 'tanh': None}
ACTIVE = {'add': 'Add', 'sub': 'Sub', 'mul': 'Mul', 'div': 'Div', 'concatenation': 'Concatenation',
          'l2_normalization': 'L2Norm'}

# word: (builtin's name, options table or None, {attribute: field}); all other attributes, and all inputs, are inputs of TFLite's as
# PLACED says
FIELDS = {
    'stablehlo_gather': ('STABLEHLO_GATHER', 'StablehloGather', {'offset_axes': 'offsetDims', 'collapsed': 'collapsedSliceDims',
                                                                 'start_map': 'startIndexMap', 'index_axis': 'indexVectorDim',
                                                                 'sizes': 'sliceSizes'}),
    'stablehlo_scatter': ('STABLEHLO_SCATTER', 'StablehloScatter', {
        'function': 'updateComputationSubgraphIndex', 'window_axes': 'updateWindowDims', 'inserted': 'insertedWindowDims',
        'start_map': 'scatterDimsToOperandDims', 'index_axis': 'indexVectorDim'}),
    'stablehlo_reduce_window': ('STABLEHLO_REDUCE_WINDOW', 'StablehloReduceWindow', {
        'function': 'bodySubgraphIndex', 'window': 'windowDimensions', 'strides': 'windowStrides', 'spread': 'baseDilations',
        'dilations': 'windowDilations', 'pads': 'padding'}),
    'reduce_window': ('REDUCE_WINDOW', 'ReduceWindow', {'function': 'reduceFunction'}), 'bucketize': ('BUCKETIZE', 'Bucketize', {}),
    'pad_inside': ('STABLEHLO_PAD', 'StablehloPad', {'low': 'edgePaddingLow', 'high': 'edgePaddingHigh', 'inside': 'interiorPadding'}),
    **{f'stablehlo_{w}': (f'STABLEHLO_{w.upper()}', None, {}) for w in ('add', 'multiply', 'maximum', 'minimum')},
    'rank': ('RANK', 'Rank', {}), 'range': ('RANGE', 'Range', {}),
    'dilate': ('DILATE', 'Dilate', {}),
    'atan2': ('ATAN2', None, {}), 'bitcast': ('BITCAST', 'Bitcast', {}), 'bitwise_xor': ('BITWISE_XOR', 'BitwiseXor', {}),
    'fake_quant': ('FAKE_QUANT', 'FakeQuant', {'least': 'min', 'most': 'max', 'num_bits': 'numBits', 'narrow_range': 'narrowRange'}),
    'gelu': ('GELU', 'Gelu', {'approximate': 'approximate'}),
    'local_response_normalization': ('LOCAL_RESPONSE_NORMALIZATION', 'LocalResponseNormalization',
                                     {'radius': 'radius', 'bias': 'bias', 'alpha': 'alpha', 'beta': 'beta'}),
    'matrix_diag': ('MATRIX_DIAG', None, {}), 'matrix_set_diag': ('MATRIX_SET_DIAG', None, {}), 'pow': ('POW', 'Pow', {}),
    'relu_0_to_1': ('RELU_0_TO_1', None, {}),
    'reverse_sequence': ('REVERSE_SEQUENCE', 'ReverseSequence', {'axis': 'seqDim', 'batch_axis': 'batchDim'}),
    'right_shift': ('RIGHT_SHIFT', 'RightShift', {}), 'sign': ('SIGN', None, {}),
    'one_hot': ('ONE_HOT', 'OneHot', {'axis': 'axis'}), 'scatter_nd': ('SCATTER_ND', None, {}),
    **{f'unsorted_segment_{w}': (f'UNSORTED_SEGMENT_{w.upper()}', None, {}) for w in ('sum', 'prod', 'max', 'min')},
    'sparse_to_dense': ('SPARSE_TO_DENSE', 'SparseToDense', {}), 'topk': ('TOPK_V2', 'TopKV2', {}),
    'non_max_suppression': ('NON_MAX_SUPPRESSION_V4', None, {}),
    'soft_non_max_suppression': ('NON_MAX_SUPPRESSION_V5', None, {}), 'hashtable_lookup': ('HASHTABLE_LOOKUP', None, {}),
    'where': ('WHERE', None, {}), 'unique': ('UNIQUE', 'Unique', {}),
    'embedding_lookup_sparse': ('EMBEDDING_LOOKUP_SPARSE', 'EmbeddingLookupSparse', {'combiner': 'combiner'}),
}
# word: {attribute: place among TFLite's inputs, where it is a constant of i32 (reduce_window: i64)}, in ascending order
PLACED = {
    'reduce_window': {'window': 2, 'strides': 3, 'dilations': 4},
    'dilate': {'dilations': 1},
    'one_hot': {'depth': 1}, 'scatter_nd': {'shape': 2}, 'sparse_to_dense': {'shape': 1}, 'topk': {'k': 1},
    **{f'unsorted_segment_{w}': {'segments': 2} for w in ('sum', 'prod', 'max', 'min')},
    'non_max_suppression': {'count': 2}, 'soft_non_max_suppression': {'count': 2}, 'embedding_lookup_sparse': {'shape': 2},
}


def constant_rows(values):
    """Pairs [[before, after], ...] from a list."""
    return Tensor('i32', [len(values) // 2, 2], np.array(values, np.int32).reshape(-1, 2), constant=True)


def constant_scalar(value):
    return Tensor('i32', [], np.array(value, np.int32), constant=True)


def resize(word):
    return lambda a, t: ('RESIZE_' + word, {'BILINEAR': 'ResizeBilinear', 'NEAREST_NEIGHBOR': 'ResizeNearestNeighbor'}[word],
                         {'alignCorners': bool(a.get('align_corners', 0)), 'halfPixelCenters': bool(a.get('half_pixel_centers', 0))},
                         t + [constant_list(a['size'])])


def arg(word):
    # TFLite says the output's type twice: in the options and of the tensor, which is made of an i32 here
    return lambda a, t: ('ARG_' + word.upper(), 'Arg' + word, {'outputType': schema.TensorType.INT32}, t + [constant_scalar(a['axis'])])


def l2_pool(a, t):
    return 'L2_POOL_2D', 'Pool2D', {'padding': padding(t[0], a['kernel'], a), 'strideH': a['strides'][0], 'strideW': a['strides'][1],
                                    'filterHeight': a['kernel'][0], 'filterWidth': a['kernel'][1]}, t


def transpose_conv(a, t):
    w, x = t[:2]
    shape = [x.shape[0], *a['extents'], w.shape[0]]
    same = [same_pads(n, k, s, 1)[0] for n, k, s in zip(a['extents'], w.shape[1:3], a['strides'])]
    if a['pads'] not in (same, [0, 0]):
        raise ValueError(f'pads {a["pads"]} are neither VALID nor SAME {same}')
    is_same = a['pads'] == same and all(-(-n // s) == m for n, s, m in zip(a['extents'], a['strides'], x.shape[1:3]))
    return 'TRANSPOSE_CONV', 'TransposeConv', {'padding': 0 if is_same else 1, 'strideH': a['strides'][0],
                                               'strideW': a['strides'][1]}, [constant_list(shape)] + t


def options_3d(a, padding):
    o = {'padding': padding}
    for k, n in enumerate('DHW'):
        o['stride' + n], o[f'dilation{n}Factor'] = a['strides'][k], a['dilations'][k]
    return o


def conv3d(a, t):
    same = [same_pads(n, k, s, d) for n, k, s, d in zip(t[0].shape[1:4], t[1].shape[:3], a['strides'], a['dilations'])]
    same = [p[0] for p in same] + [p[1] for p in same]
    if any(a['pads']) and a['pads'] != same:
        raise ValueError(f'pads {a["pads"]} are neither VALID nor SAME {same}')
    return 'CONV_3D', 'Conv3D', options_3d(a, int(not any(a['pads']))), t


def conv3d_transpose(a, t):
    w, x = t[:2]
    same = [same_pads(n, k, s, d)[0] for n, k, s, d in zip(a['extents'], w.shape[:3], a['strides'], a['dilations'])]
    is_same = a['pads'] == same and all(-(-n // s) == m for n, s, m in zip(a['extents'], a['strides'], x.shape[1:4]))
    if not is_same and any(a['pads']):
        raise ValueError(f'pads {a["pads"]} are neither VALID nor SAME {same}')
    return 'CONV_3D_TRANSPOSE', 'Conv3D', options_3d(a, int(not is_same)), \
        [constant_list([x.shape[0], *a['extents'], w.shape[3]])] + t


# operators with shape-like inputs and options of their own: (attributes, inputs) -> builtin, options, their fields, inputs
SHAPED = {
    'conv3d': conv3d,
    'conv3d_transpose': conv3d_transpose,
    'add_n': lambda a, t: ('ADD_N', 'AddN', {}, t),
    'arg_max': arg('Max'),
    'arg_min': arg('Min'),
    'batch_to_space_nd': lambda a, t: ('BATCH_TO_SPACE_ND', 'BatchToSpaceND', {}, t + [constant_list(a['block']), constant_rows(a['crops'])]),
    'space_to_batch_nd': lambda a, t: ('SPACE_TO_BATCH_ND', 'SpaceToBatchND', {}, t + [constant_list(a['block']), constant_rows(a['pads'])]),
    'broadcast_args': lambda a, t: ('BROADCAST_ARGS', None, {}, t),
    'broadcast_to': lambda a, t: ('BROADCAST_TO', 'BroadcastTo', {}, t + [constant_list(a['shape'])]),
    'cumsum': lambda a, t: ('CUMSUM', 'Cumsum', {'exclusive': bool(a.get('exclusive', 0)), 'reverse': bool(a.get('reverse', 0))},
                            t + [constant_scalar(a['axis'])]),
    'dynamic_update_slice': lambda a, t: ('DYNAMIC_UPDATE_SLICE', 'DynamicUpdateSlice', {}, t),
    'embedding_lookup': lambda a, t: ('EMBEDDING_LOOKUP', None, {}, t),
    'fill': lambda a, t: ('FILL', 'Fill', {}, [constant_list(a['shape'])] + t),
    'gather_nd': lambda a, t: ('GATHER_ND', 'GatherNd', {}, t),
    'l2_pool2d': l2_pool,
    'mirror_pad': lambda a, t: ('MIRROR_PAD', 'MirrorPad', {'mode': int(bool(a.get('symmetric', 0)))}, t + [constant_rows(a['pads'])]),
    'prelu': lambda a, t: ('PRELU', None, {}, t),
    'resize_bilinear': resize('BILINEAR'),
    'resize_nearest_neighbor': resize('NEAREST_NEIGHBOR'),
    'reverse': lambda a, t: ('REVERSE_V2', 'ReverseV2', {}, t + [constant_list(a['axes'])]),
    'select': lambda a, t: ('SELECT_V2', 'SelectV2', {}, t),
    'select_rows': lambda a, t: ('SELECT', 'Select', {}, t),
    'slice': lambda a, t: ('SLICE', 'Slice', {}, [t[0], t[1] if len(t) > 1 else constant_list(a['begin']), constant_list(a['extents'])]),
    'squared_difference': lambda a, t: ('SQUARED_DIFFERENCE', 'SquaredDifference', {}, t),
    'tile': lambda a, t: ('TILE', 'Tile', {}, t + [constant_list(a['multiples'])]),
    'transpose_conv': transpose_conv,
    'zeros_like': lambda a, t: ('ZEROS_LIKE', 'ZerosLike', {}, t),
}


def operator(word, attrs, inputs, outputs):
    """(builtin's name, options object or None, inputs with those that TFLite wants added)."""
    new = lambda name: getattr(schema, name + 'OptionsT')()
    x = inputs[0]
    if word in ('conv2d', 'depthwise_conv2d'):
        o = new('Conv2D' if word == 'conv2d' else 'DepthwiseConv2D')
        conv(o, x, inputs[1], attrs)
        if word != 'conv2d':
            o.depthMultiplier = inputs[1].shape[3] // x.shape[3]
        name = word.upper().replace('2D', '_2D')
    elif word in ('average_pool2d', 'max_pool2d'):
        o, name = new('Pool2D'), word.upper().replace('2D', '_2D')
        pool(o, x, attrs)
    elif word == 'fully_connected':
        o, name = new('FullyConnected'), 'FULLY_CONNECTED'
        o.keepNumDims = bool(attrs.get('keep_num_dims', 0))
        o.asymmetricQuantizeInputs = bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word == 'softmax':
        o, name = new('Softmax'), 'SOFTMAX'
        o.beta = attrs.get('beta', 1.0)
    elif word == 'reshape':
        o, name = new('Reshape'), 'RESHAPE'
        o.newShape = attrs['shape']
        inputs = inputs + [constant_list(attrs['shape'])]
    elif word in REDUCERS:
        o, name = new('Reducer'), REDUCERS[word]
        o.keepDims = bool(attrs.get('keepdims', 0))
        inputs = inputs + [constant_list(attrs['axes'])]
    elif word == 'pad':
        n = len(x.shape)
        pads = Tensor('i32', [n, 2], np.array(attrs['pads'], np.int32).reshape(n, 2), constant=True)
        name, o = ('PAD', new('Pad')) if len(inputs) == 1 else ('PADV2', new('PadV2'))
        inputs = [x, pads] + inputs[1:]
    elif word == 'transpose':
        o, name = new('Transpose'), 'TRANSPOSE'
        inputs = inputs + [constant_list(attrs['perm'])]
    elif word == 'gather':
        o, name = new('Gather'), 'GATHER'
        o.axis, o.batchDims = attrs['axis'], attrs.get('batch_dims', 0)
    elif word == 'pack':
        o, name = new('Pack'), 'PACK'
        o.axis, o.valuesCount = attrs['axis'], len(inputs)
    elif word == 'leaky_relu':
        o, name = new('LeakyRelu'), 'LEAKY_RELU'
        o.alpha = attrs['alpha']
    elif word in ('space_to_depth', 'depth_to_space'):
        o, name = new('SpaceToDepth' if word[0] == 's' else 'DepthToSpace'), word.upper()
        o.blockSize = attrs['block_size']
    elif word == 'batch_matmul':
        o, name = new('BatchMatMul'), 'BATCH_MATMUL'
        o.adjX, o.adjY = bool(attrs.get('adj_x', 0)), bool(attrs.get('adj_y', 0))
        o.asymmetricQuantizeInputs = bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word == 'strided_slice':
        o, name = new('StridedSlice'), 'STRIDED_SLICE'
        end, last = [], 0
        for k, (b, s, n) in enumerate(zip(attrs['begin'], attrs['strides'], attrs['extents'])):
            e = b + s * n
            last |= (1 << k) if e < 0 else 0
            end.append(max(e, 0))
        o.endMask = last
        kept = [n for n in attrs['extents']]
        mask = 0
        for k, n in enumerate(kept):                # extents of 1 that the shape drops, from the left
            if len(kept) - bin(mask).count('1') > len(attrs['shape']) and n == 1:
                mask |= 1 << k
        o.shrinkAxisMask = mask
        inputs = inputs + [constant_list(attrs['begin']), constant_list(end), constant_list(attrs['strides'])]
    elif word == 'split':
        o, name = new('Split'), 'SPLIT'
        o.numSplits = len(attrs['sizes'])
        inputs = [Tensor('i32', [], np.array(attrs['axis'], np.int32), constant=True)] + inputs
    elif word == 'unpack':
        o, name = new('Unpack'), 'UNPACK'
        o.axis, o.num = attrs['axis'], x.shape[attrs['axis']]
    elif word in ('real', 'imag', 'complex_abs'):
        o, name = None, word.upper()
    elif word == 'rfft2d':
        o, name = new('Rfft2d'), 'RFFT2D'
        inputs = inputs + [constant_list(attrs['fft_length'])]
    elif word in CUSTOM:
        return CUSTOM[word], flexbuffer(attrs), [t for t in inputs if not t.state]  # which it keeps in itself
    elif word == 'svdf':
        o, name = new('SVDF'), 'SVDF'
        o.rank, o.asymmetricQuantizeInputs = attrs['rank'], bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word == 'rnn':
        name, o = ('RNN', new('RNN')) if len(x.shape) == 2 else ('UNIDIRECTIONAL_SEQUENCE_RNN', new('SequenceRNN'))
        o.timeMajor = bool(attrs.get('time_major', 0))
        o.asymmetricQuantizeInputs = bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word in ('bidirectional_sequence_rnn', 'bidirectional_sequence_lstm'):
        name, o = word.upper(), new('BidirectionalSequence' + word[-4:].strip('_').upper())
        o.timeMajor, o.mergeOutputs = bool(attrs.get('time_major', 0)), bool(attrs.get('merge_outputs', 0))
        o.cellClip, o.projClip = attrs.get('cell_clip', 0.0), attrs.get('proj_clip', 0.0)
        o.asymmetricQuantizeInputs = bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word == 'lstm':
        name = 'LSTM' if len(x.shape) == 2 else 'UNIDIRECTIONAL_SEQUENCE_LSTM'
        o = new('LSTM' if len(x.shape) == 2 else 'UnidirectionalSequenceLSTM')
        o.cellClip, o.projClip = attrs.get('cell_clip', 0.0), attrs.get('proj_clip', 0.0)
        o.timeMajor, o.kernelType = bool(attrs.get('time_major', 0)), 0
        o.asymmetricQuantizeInputs = bool(attrs.get('asymmetric_quantize_inputs', 0))
    elif word in SHAPED:
        name, options, fields, inputs = SHAPED[word](attrs, inputs)
        o = new(options) if options else None
        for field, value in fields.items():
            setattr(o, field, value)
    elif word in ACTIVE:
        o, name = new(ACTIVE[word]), word.upper()
        if word == 'concatenation':
            o.axis = attrs['axis']
        if word in ('add', 'sub'):
            o.potScaleInt16 = bool(attrs.get('pot_scale_int16', 0))
    elif word in FIELDS:
        name, table, fields = FIELDS[word]
        said = {fields[k]: v for k, v in attrs.items() if k in fields}
        if word == 'unique':
            said['idxOutType'] = getattr(schema.TensorType, TENSOR[outputs[1].type])
        if word in ('stablehlo_scatter', 'stablehlo_reduce_window'):
            said[fields['function']] = Body(COMPUTATIONS[attrs['function']], x.type)
        if word == 'bucketize':
            said['boundaries'], inputs = inputs[1].data.tolist(), inputs[:1]
        o = option_table(table, said) if table else None
        inputs = list(inputs)
        for k, place in PLACED.get(word, {}).items():
            kind = 'i64' if word == 'reduce_window' else 'i32'
            v = np.array(attrs[k], DTYPE[kind])
            inputs.insert(place, Tensor(kind, list(v.shape), v, constant=True))
    elif word in PLAIN:
        o, name = new(PLAIN[word]) if PLAIN[word] else None, word.upper()
    else:
        raise ValueError(f'no way back to TFLite for {word}')
    bias = inputs[3 if name == 'TRANSPOSE_CONV' else 2:]
    if hasattr(o, 'quantizedBiasType') and len(bias) == 1 and bias[0] and bias[0].type[0] == 'i':
        o.quantizedBiasType = getattr(schema.TensorType, TENSOR[bias[0].type])
    if attrs.get('narrow_sums', 0):
        o.quantizedBiasType = schema.TensorType.INT32
    if hasattr(o, 'fusedActivationFunction'):
        o.fusedActivationFunction = ACT[attrs.get('act', 'none')]
    return name, o, inputs


VERSION = {'BROADCAST_TO': 2, 'CONV_2D': 3, 'DEPTHWISE_CONV_2D': 3, 'FULLY_CONNECTED': 4, 'SOFTMAX': 2}


CUSTOM = {'detection_postprocess': 'TFLite_Detection_PostProcess', 'signal_window': 'SignalWindow', 'signal_energy': 'SignalEnergy',
          'signal_filter_bank': 'SignalFilterBank', 'signal_filter_bank_square_root': 'SignalFilterBankSquareRoot',
          'signal_filter_bank_log': 'SignalFilterBankLog', 'signal_pcan': 'SignalPCAN', 'signal_fft_auto_scale': 'SignalFftAutoScale',
          'signal_filter_bank_spectral_subtraction': 'SignalFilterBankSpectralSubtraction', 'signal_delay': 'SignalDelay',
          'signal_framer': 'SignalFramer', 'signal_overlap_add': 'SignalOverlapAdd', 'signal_stacker': 'SignalStacker', 'signal_rfft': 'SignalRfft', 'signal_irfft': 'SignalIrfft'}


def flexbuffer(attrs):
    """A FlexBuffers map."""
    from flatbuffers import flexbuffers
    b = flexbuffers.Builder()
    with b.Map():
        for key, v in sorted(attrs.items()):
            b.Key(key)
            {int: b.Int, float: b.Float, str: b.String, list: b.TypedVectorFromElements}[type(v)](v)
    return bytes(b.Finish())


def intermediates(word, attrs, inputs):
    """Tensors that say nothing but how an operator quantises inside."""
    if word != 'lstm' or inputs[0].type not in ('i8', 'i16'):
        return []
    gates = [Tensor('i16', [0], scale=[s], zero=[0]) for s in attrs.get('gate_scales', [1 / 4096] * 4)]
    return gates + [Tensor(inputs[0].type, [0], scale=[attrs['hidden_scale']], zero=[attrs['hidden_zero']])]


def option_table(name, fields):
    """The table NAME + Options with its fields set."""
    o = getattr(schema, name + 'OptionsT')()
    for field, value in fields.items():
        if not hasattr(o, field):
            raise ValueError(f'{name}Options has no {field}')
        setattr(o, field, value)
    return o


def complex_of(t):
    """Pairs of floats in a last extent of 2 as complex numbers."""
    return Tensor('c64', t.shape[:-1], None if t.data is None else complex_data(t.data))


def complex_data(data):
    return np.ascontiguousarray(data).view(np.complex64)[..., 0]


def build(word, attrs, inputs, outputs):
    """The bytes of a model of one operator, in Burin's words. inputs: Tensor or None (absent). The last outputs are the states'
    new contents: the operator of the file has only those before."""
    states = sum(t is not None and t.state for t in inputs)
    name, options, inputs = operator(word, attrs, inputs, outputs)
    if word in ('real', 'imag', 'complex_abs'):
        inputs = [complex_of(inputs[0])]
    if word == 'rfft2d':
        outputs = [complex_of(outputs[0])]
    return build_model([(name, options, inputs, outputs[:len(outputs) - states], intermediates(word, attrs, inputs))])


def build_model(operators):
    """The bytes of a model of one graph; operators: (builtin's name, options table or None, inputs, outputs, intermediates or
    nothing). A Tensor that is met again is the same tensor; one that is no constant, state or output before is an input of the model;
    every output is one of the
    model's."""
    m = schema.ModelT()
    m.version, m.description = 3, ''
    m.operatorCodes, m.buffers, codes, numbers = [], [schema.BufferT()], {}, {}
    g = schema.SubGraphT()
    g.name, g.tensors, g.inputs, g.outputs, g.operators = 'main', [], [], [], []

    def add(t, kind):
        if id(t) in numbers:
            return numbers[id(t)]
        s = schema.TensorT()
        s.name, s.shape, s.type = f'{kind}{len(g.tensors)}', t.shape, getattr(schema.TensorType, TENSOR[t.type])
        s.hasRank = True
        if t.scale:
            s.quantization = schema.QuantizationParametersT()
            s.quantization.scale, s.quantization.zeroPoint = t.scale, t.zero
            s.quantization.quantizedDimension = t.axis
        if t.constant:
            b = schema.BufferT()
            b.data = np.frombuffer(raw(t), np.uint8)
            m.buffers.append(b)
            s.buffer = len(m.buffers) - 1
        else:
            s.buffer, s.isVariable = 0, t.state
            if not t.state and kind != 'mid':
                (g.inputs if kind == 'in' else g.outputs).append(len(g.tensors))
        g.tensors.append(s)
        numbers[id(t)] = len(g.tensors) - 1
        return numbers[id(t)]

    def code_of(name):
        if name not in codes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, name, schema.BuiltinOperator.CUSTOM)
            code.customCode = None if hasattr(schema.BuiltinOperator, name) else name
            code.deprecatedBuiltinCode = min(code.builtinCode, 127)
            code.version = VERSION.get(name, 1)
            codes[name] = len(m.operatorCodes)
            m.operatorCodes.append(code)
        return codes[name]

    def body_of(body):
        """The number of the sub-graph."""
        s, o = schema.SubGraphT(), schema.OperatorT()
        s.name, s.tensors, s.operators, s.inputs, s.outputs = 'body', [], [], [0, 1], [2 if body.builtin else 1]
        for k in range(3):
            t = schema.TensorT()
            t.name, t.shape, t.type, t.buffer, t.hasRank = f'body{k}', [], getattr(schema.TensorType, TENSOR[body.type]), 0, True
            s.tensors.append(t)
        if body.builtin:
            o.opcodeIndex, o.inputs, o.outputs = code_of(body.builtin), [0, 1], [2]
            s.operators.append(o)
        m.subgraphs.append(s)
        return len(m.subgraphs) - 1

    m.subgraphs = [g]
    for name, options, inputs, outputs, *mids in operators:
        code_of(name)
        for field, value in list(vars(options).items()) if options is not None and not isinstance(options, bytes) else ():
            if isinstance(value, Body):
                options = copy.copy(options)
                setattr(options, field, body_of(value))
        op = schema.OperatorT()
        op.opcodeIndex = codes[name]
        op.inputs = [-1 if t is None else add(t, 'in') for t in inputs]
        op.outputs = [add(t, 'out') for t in outputs]
        op.intermediates = [add(t, 'mid') for t in mids[0]] if mids and mids[0] else None
        if isinstance(options, bytes):
            op.customOptions = np.frombuffer(options, np.uint8)
        elif options is not None:
            table = type(options).__name__[:-1]
            if hasattr(schema.BuiltinOptions, table):
                op.builtinOptions, op.builtinOptionsType = options, getattr(schema.BuiltinOptions, table)
            else:
                op.builtinOptions2, op.builtinOptions2Type = options, getattr(schema.BuiltinOptions2, table)
        g.operators.append(op)
    b = flatbuffers.Builder(1024)
    b.Finish(m.Pack(b), b'TFL3')
    return bytes(b.Output())


def states_of(model):
    g = schema.ModelT.InitFromPackedBuf(model, 0).subgraphs[0]
    return g, [int(i) for i in g.operators[0].inputs if i >= 0 and g.tensors[i].isVariable]


def run_tflm(model, arrays, states=(), runs=1):
    """The outputs, then the states' new contents. TFLM's states begin with zeros, of int8 with the zero point. Several runs: arrays
    and outputs have that extent in front, and there are no states that the model lists."""
    import tflite_micro
    g, tensors = states_of(model)
    for i, v in zip(tensors, states):
        zero = g.tensors[i].quantization.zeroPoint[0] if v.dtype == np.int8 else 0
        if np.any(v != zero):
            raise ValueError(f'a state in TFLM begins with {zero} only')
    config = tflite_micro.runtime.InterpreterConfig
    keep = config.kPreserveAllTensors if states else config.kAllocationRecording
    it = tflite_micro.runtime.Interpreter.from_bytes(model, arena_size=16 << 20, intrepreter_config=keep)
    if runs > 1:
        each = []
        for i in range(runs):
            for k, v in enumerate(arrays):
                it.set_input(v[i], k)
            it.invoke()
            each.append([np.array(it.get_output(k)) for k in range(len(g.outputs))])
        return [np.stack(v) for v in zip(*each)]
    for k, v in enumerate(arrays):
        it.set_input(v, k)
    it.invoke()
    return [it.get_output(k) for k in range(len(g.outputs))] + [np.array(it.GetTensor(i, 0)['tensor_data']) for i in (tensors if states else [])]


# LiteRT has one kernel of these, and its reference resolver none
ONE_KERNEL = {'CEIL', 'ELU', 'ROUND', 'SEGMENT_SUM'}


def run_litert(model, arrays, states=()):
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    codes = {c.builtinCode for c in schema.ModelT.InitFromPackedBuf(model, 0).operatorCodes}
    one = codes & {getattr(schema.BuiltinOperator, name) for name in ONE_KERNEL}
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if one else OpResolverType.BUILTIN_REF
    it = Interpreter(model_content=model, experimental_op_resolver_type=resolver, num_threads=1)
    it.allocate_tensors()
    for d, v in zip(it.get_input_details(), arrays):
        it.set_tensor(d['index'], v)
    _, tensors = states_of(model)
    for i, v in zip(tensors, states):
        it.set_tensor(i, v)
    it.invoke()
    return [it.get_tensor(d['index']) for d in it.get_output_details()] + [it.get_tensor(i) for i in tensors]
