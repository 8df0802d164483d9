"""Cases of losses and determinants. (Of transforms the runtimes are less exact than the bound; their cases are by hand.)"""
from onnx_cases import Case, In


def losses(word, op):
    x, labels, w = In('f32', (3, 4, 2)), In('i64', (3, 2), 0, 3), In('f32', (4,), 0, 2)
    return ([Case(word, f'{r}{"_weights" if weights else ""}', op, [x, labels] + ([w] if weights else []), engine='ref', reduction=r)
             for r in ('mean', 'sum', 'none') for weights in (0, 1)] +
            [Case(word, f'{r}_ignored', op, [x, labels, w], engine='ref', reduction=r, ignore_index=1) for r in ('mean', 'sum', 'none')] +
            [Case(word, 'classes_only', op, [In('f64', (3, 4)), In('i32', (3,), 0, 3)], engine='ref')])


CASES = [
    *losses('negative_log_likelihood_loss', 'NegativeLogLikelihoodLoss'), *losses('softmax_cross_entropy_loss', 'SoftmaxCrossEntropyLoss'),
    Case('softmax_cross_entropy_loss', 'with_probabilities', 'SoftmaxCrossEntropyLoss', [In('f32', (3, 4)), In('i64', (3,), 0, 3)], outputs=2,
         engine='ref'),
    Case('det', 'one', 'Det', [In('f32', (3, 3))]), Case('det', 'several', 'Det', [In('f32', (2, 4, 4))]),
    Case('det', 'double', 'Det', [In('f64', (2, 3, 3))], engine='ref'),
    Case('det', 'singular', 'Det', [In('f32', (2, 2), values=[1, 2, 2, 4])]), Case('det', 'exchanged', 'Det', [In('f32', (2, 2), values=[0, 2, 3, 4])]),
]
