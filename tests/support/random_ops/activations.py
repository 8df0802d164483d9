"""Rows of element-wise functions of one input."""
from rows import row


@row(['RELU', 'RELU6'], 'f32', 'i8', 'u8', 'i16')
def relu(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}


@row(['RELU_N1_TO_1'], 'f32', 'i8', 'u8')
def relu_x(r, kind, name):
    return [r.tensor(kind, r.shape(1, 4))], [r.out(kind)], {}
