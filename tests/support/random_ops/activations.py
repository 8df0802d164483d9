"""Rows of element-wise functions of one input."""
from rows import row


@row(['RELU', 'RELU6'], 'f32', 'i8', 'u8', 'i16')
def relu(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


@row(['RELU_N1_TO_1'], 'f32', 'i8', 'u8')
def relu_x(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


@row('GELU', 'f32', 'i8', 'u8', 'i16', options='Gelu')
def gelu(r, kind):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {'approximate': r.flag()}


@row('RELU_0_TO_1', 'f32', 'i8', 'u8')
def relu_0_to_1(r, kind):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


@row('SIGN', 'f32', 'f64', 'i32')
def sign(r, kind):
    return [r.tensor(kind, r.shape(1, 4), -3, 3)], [r.out(kind)], {}


@row('FAKE_QUANT', 'f32', options='FakeQuant')
def fake_quant(r, kind):
    low, high = r.uniform(-8, 0), r.uniform(0.1, 8)
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {
        'min': 0.0 if r.random() < 0.2 else low, 'max': high, 'numBits': r.choice([8, 8, 2, 4, 16]), 'narrowRange': r.flag()}


@row('LOCAL_RESPONSE_NORMALIZATION', 'f32', options='LocalResponseNormalization')
def lrn(r, kind):
    return [r.tensor(kind, r.shape(4, 4))], [r.out(kind)], {
        'radius': r.randint(0, 7), 'bias': r.uniform(0.5, 2), 'alpha': r.uniform(0, 2), 'beta': r.choice([0.5, 1.0, 0.75])}


@row(['CEIL', 'ROUND'], 'f32')
def to_whole(r, kind, name):
    x = r.tensor(kind, r.shape(1, 4))
    if r.flag():
        x.data = (x.data * 2).round() / 2
    return [x], [r.out(kind)], {}


@row('ELU', 'f32', 'i8')
def elu(r, kind):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}
