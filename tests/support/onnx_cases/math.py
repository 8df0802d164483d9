"""Cases of elementwise operators, reductions and conversions."""
from onnx_cases import Case, In, known

INTS = ['i8', 'i16', 'i32', 'i64', 'u8', 'u16', 'u32', 'u64']
SPECIAL = [0.0, -0.0, float('inf'), float('-inf'), float('nan'), 1e-30]


def engine(type):
    return 'wide' if type == 'f16' else 'ref'


def one(word, op, low=-3, high=3, special=True, opset=23, **attrs):
    """A function of one element: of each float, and of what is no usual number."""
    cases = [Case(word, type, op, [In(type, (2, 5), low, high)], engine=engine(type), opset=opset, **attrs) for type in ('f32', 'f64', 'f16')]
    if special:
        cases.append(Case(word, 'special', op, [In('f32', (6,), values=SPECIAL)], engine='ref', opset=opset, **attrs))
    return cases


def ints(word, name, op, low=0, high=9, skip=(), b=None, opset=23, types=INTS, **attrs):
    """A function of two whole numbers, broadcast; signed ones of the first are from -9 on."""
    return [Case(word, type + name, op, [In(type, (2, 1, 3), -9 if type[0] == 'i' else 0, 12), In(type, (2, 1), low, high, b if type[0] == 'i' else None)],
                 engine='ref', opset=opset, **attrs) for type in types if type not in skip]


def reduction(word, op, low=-3, high=3, whole=True):
    types = ['f32', 'f64', 'f16'] + (['i32', 'i64', 'u32', 'u64'] if whole else [])
    return ([Case(word, type, op, [In(type, (2, 3, 2), 0 if type[0] == 'u' else low, high), known('i64', (2,), values=[0, 2])], engine=engine(type),
                  keepdims=0) for type in types] +
            [Case(word, 'keepdims', op, [In('f32', (2, 3), low, high), known('i64', (1,), values=[-1])], engine='ref')])


CASES = [
    *one('acos', 'Acos', -1, 1), *one('acosh', 'Acosh', 1, 20), *one('asin', 'Asin', -1, 1), *one('asinh', 'Asinh', -9, 9),
    *one('atan', 'Atan', -9, 9), *one('atanh', 'Atanh', -.99, .99), *one('cosh', 'Cosh'), *one('sinh', 'Sinh'), *one('tan', 'Tan', -1.5, 1.5),
    Case('erf', 'f32', 'Erf', [In('f32', (2, 5), -3, 3)]),
    *one('reciprocal', 'Reciprocal'), *one('is_nan', 'IsNaN'), *one('is_inf', 'IsInf'),
    Case('is_inf', 'positive', 'IsInf', [In('f32', (6,), values=SPECIAL)], engine='ref', detect_negative=0),
    Case('is_inf', 'negative', 'IsInf', [In('f64', (6,), values=SPECIAL)], engine='ref', detect_positive=0),
    *one('hard_sigmoid', 'HardSigmoid', alpha=.5, beta=.25), *one('thresholded_relu', 'ThresholdedRelu', alpha=.5),
    *one('selu', 'Selu', alpha=1.5, gamma=1.25), *one('celu', 'Celu', alpha=.75), *one('softplus', 'Softplus', -20, 20, special=False),
    *one('softsign', 'Softsign', special=False), *one('mish', 'Mish', special=False), *one('swish', 'Swish', special=False, opset=24, alpha=.5),
    *one('shrink', 'Shrink', lambd=1.5, bias=.5), *one('elu', 'Elu', special=False, alpha=.5), *one('leaky_relu', 'LeakyRelu', special=False, alpha=.25),
    Case('hard_swish', 'f32', 'HardSwish', [In('f32', (2, 5), -5, 5)]), *one('logistic', 'Sigmoid', special=False), *one('tanh', 'Tanh', special=False),
    *one('relu', 'Relu'), *one('abs', 'Abs'),
    *[Case('bitwise_not', type, 'BitwiseNot', [In(type, (4,), 0, 9)], engine='ref') for type in INTS[:-1]],
    *ints('bitwise_and', '', 'BitwiseAnd'), *ints('bitwise_or', '', 'BitwiseOr'),
    *ints('mod', '', 'Mod', low=1, b=[3, -4]), *ints('mod', '_fmod', 'Mod', low=1, b=[3, -4], fmod=1),
    *[Case('mod', type, 'Mod', [In(type, (2, 1, 3)), In(type, (2, 1), values=[1.5, -.75])], engine='ref', fmod=1) for type in ('f16', 'f32', 'f64')],
    *ints('bit_shift', '_left', 'BitShift', high=7, types=INTS[4:], direction='LEFT'),
    *ints('bit_shift', '_right', 'BitShift', high=7, types=INTS[4:], direction='RIGHT'),
    *[Case(word, type + '_plain', op, [In(type, (2, 1, 3), 0, 90), In(type, (2, 1), 1, 9)], engine='ref')
      for word, op in (('add', 'Add'), ('sub', 'Sub'), ('mul', 'Mul'), ('div', 'Div')) for type in ('i8', 'u8', 'i16', 'u16', 'u32', 'u64', 'f64', 'f16')
      if (word, type) != ('sub', 'u64')],
    *[Case('clip', type, 'Clip', [In(type, (7,), -5 if type[0] != 'u' else 0, 9), In(type, (), values=1), In(type, (), values=5)], engine='ref')
      for type in INTS + ['f16', 'f32', 'f64']],
    Case('clip', 'only_high', 'Clip', [In('f32', (6,), values=SPECIAL), None, In('f32', (), values=.5)], engine='ref'),
    Case('clip', 'only_low', 'Clip', [In('f32', (6,), values=SPECIAL), In('f32', (), values=.5)], engine='ref'),
    Case('clip', 'crossed', 'Clip', [In('i32', (3,), values=[-5, 0, 5]), In('i32', (), values=3), In('i32', (), values=-2)], engine='ref'),
    Case('logical_xor', 'broadcast', 'Xor', [In('bool', (2, 1, 3)), In('bool', (2, 1))]),
    *[Case('pow', f'{a}_{b}', 'Pow', [In(a, (4,), 1, 4), In(b, (4,), 0, 3)], engine='ref') for a, b in
      (('f32', 'i32'), ('f32', 'u8'), ('f64', 'i64'), ('f32', 'f64'), ('i32', 'i64'), ('i64', 'f32'), ('i32', 'u16'))],
    *reduction('reduce_l1', 'ReduceL1'), *reduction('reduce_l2', 'ReduceL2'), *reduction('reduce_sum_square', 'ReduceSumSquare', whole=False),
    Case('reduce_sum_square', 'i32', 'ReduceSumSquare', [In('i32', (2, 3, 2)), known('i64', (2,), values=[0, 2])], keepdims=0, opset=18),
    *reduction('reduce_log_sum', 'ReduceLogSum', 1, 4, whole=False), *reduction('reduce_log_sum_exp', 'ReduceLogSumExp', whole=False),
    *[Case(word, type + '_plain', op, [In(type, (2, 3, 2), 0, 9), known('i64', (2,), values=[0, 2])], engine=engine(type), keepdims=0)
      for word, op in (('sum', 'ReduceSum'), ('mean', 'ReduceMean'), ('reduce_prod', 'ReduceProd')) for type in ('f16', 'f64', 'u32', 'u64')],
    *[Case('cumprod', type, 'CumProd', [In(type, (2, 3, 2), 0, 4), known('i64', (), values=1)], engine=engine(type), opset=26)
      for type in ('f32', 'f64', 'i32', 'i64', 'u32', 'u64')],
    *[Case('cumprod', f'exclusive{x}_reverse{r}', 'CumProd', [In('f32', (4,)), known('i64', (), values=0)], engine='ref', opset=26, exclusive=x, reverse=r)
      for x in (0, 1) for r in (0, 1)],
    *[Case(word, f'{type}_last{last}_keepdims{keep}', op, [In(type, (2, 4), 0, 2)], engine='ref', axis=1, select_last_index=last, keepdims=keep)
      for word, op in (('arg_max', 'ArgMax'), ('arg_min', 'ArgMin')) for type in ('f32', 'u8') for last in (0, 1) for keep in (0, 1)],
    *[Case(word, f'{type}_axis', op, [In(type, (2, 3, 2))], engine=engine(type), axis=1)
      for word, op in (('softmax', 'Softmax'), ('log_softmax', 'LogSoftmax'), ('hardmax', 'Hardmax')) for type in ('f16', 'f32', 'f64')],
    *[Case(word, 'coerced', op, [In('f32', (2, 3, 2))], opset=11, axis=1)
      for word, op in (('softmax', 'Softmax'), ('log_softmax', 'LogSoftmax'), ('hardmax', 'Hardmax'))],
    Case('quantize_linear', 'one', 'QuantizeLinear', [In('f32', (6,), values=[0, 2, 3, 1000, -254, -1000]), In('f32', (), values=2),
         In('u8', (), values=128)], opset=19),
    Case('quantize_linear', 'without_zero', 'QuantizeLinear', [In('f32', (5,), values=[-1, 1, 3, 5, 1000]), In('f32', (), values=2)], opset=19),
    *[Case('quantize_linear', 'axis_' + type, 'QuantizeLinear', [In('f32', (2, 3, 2), -300, 300), In('f32', (3,), values=[.5, 2, 1]),
           In(type, (3,), values=[3, 5, 100])], engine='ref') for type in ('i8', 'u8', 'i16', 'u16')],
    *[Case('dequantize_linear', 'axis_' + type, 'DequantizeLinear', [In(type, (2, 3, 2), 0, 120), In('f32', (3,), values=[.5, 2, 1]),
           In(type, (3,), values=[3, 5, 100])], engine='ref') for type in ('i8', 'u8', 'i16', 'u16')],
    Case('quantize_linear', 'blocked', 'QuantizeLinear', [In('f32', (2, 4), -30, 30), In('f32', (2, 2), values=[.5, 2, 1, .25]),
         In('i8', (2, 2), values=[0, 1, 2, 3])], engine='ref', block_size=2),
    Case('dequantize_linear', 'blocked', 'DequantizeLinear', [In('i8', (2, 4), -99, 99), In('f32', (2, 2), values=[.5, 2, 1, .25]),
         In('i8', (2, 2), values=[0, 1, 2, 3])], engine='ref', block_size=2),
    Case('quantize_linear', 'half', 'QuantizeLinear', [In('f16', (4,), values=[.5, 1.5, 2.5, -3]), In('f16', (), values=1), In('i8', (), values=0)], opset=19),
    Case('dequantize_linear', 'half', 'DequantizeLinear', [In('i8', (4,), values=[0, 3, -128, 127]), In('f16', (), values=.5), In('i8', (), values=1)],
         opset=19),
    Case('dequantize_linear', 'one', 'DequantizeLinear', [In('u8', (4,), values=[0, 3, 128, 255]), In('f32', (), values=2), In('u8', (), values=128)],
         opset=19),
    Case('dequantize_linear', 'int32', 'DequantizeLinear', [In('i32', (4,), values=[0, 3, -128, 255]), In('f32', (), values=2)], opset=19),
    *[Case('dynamic_quantize_linear', name, 'DynamicQuantizeLinear', [In('f32', (2, 3), low, high)], outputs=3)
      for name, low, high in (('both', -3, 2), ('positive', 1, 4), ('negative', -4, -1))],
]
