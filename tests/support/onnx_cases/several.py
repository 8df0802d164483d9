"""Cases of Einsum and of the optimizers."""
from onnx_cases import Case, In

TRAINING = 'ai.onnx.preview.training'


def e(name, equation, *shapes, type='f32', engine='ort'):
    return Case('einsum', name, 'Einsum', [In(type, shape) for shape in shapes], engine=engine, equation=equation)


def step(word, op, states, name='one', **attrs):
    inputs = [In('f32', (), values=.1), In('i64', (), values=3)] + [In('f32', (2, 3)), In('f32', (2, 3))] + [In('f32', (2, 3), 0, 2)] * states
    return Case(word, name, op, inputs, outputs=1 + states, domain=TRAINING, engine='ref', **attrs)


CASES = [
    e('matmul', 'ij,jk->ik', (2, 3), (3, 4)), e('batched', '...ij, ...jk', (2, 2, 3), (1, 3, 4)), e('diagonal', 'bii->bi', (2, 3, 3)),
    e('trace', 'ii', (3, 3)), e('transposed', 'ij->ji', (2, 3)), e('total', 'ij->', (2, 3)), e('outer', 'i,j->ji', (2,), (3,)),
    e('ellipsis_moved', 'i...->...i', (2, 3, 2)), e('implied', 'ba', (2, 3)), e('both', 'ij,ij->i', (2, 3), (2, 3)),
    e('double', 'ij,jk', (2, 3), (3, 2), type='f64'), e('int32', 'ij,jk', (2, 3), (3, 2), type='i32'), e('int64_row', 'ij->i', (2, 3), type='i64'),
    e('half', 'ij,jk->ik', (2, 3), (3, 2), type='f16', engine='wide'),
    step('adagrad', 'Adagrad', 1, norm_coefficient=.001, epsilon=1e-5, decay_factor=.1),
    step('momentum', 'Momentum', 1, norm_coefficient=.001, alpha=.95, beta=.1, mode='standard'),
    step('momentum', 'Momentum', 1, name='nesterov', norm_coefficient=.01, alpha=.95, beta=1.0, mode='nesterov'),
]
