"""Cases of operators of ai.onnx.ml."""
import numpy as np

from forests import Forest
from onnx_cases import Case, In

ML = dict(opset=13, domain='ai.onnx.ml')
POSTS = ['NONE', 'LOGISTIC', 'SOFTMAX', 'SOFTMAX_ZERO', 'PROBIT']
ROWS = [1.5, -.25, 0, 2, .75, -1.5, -.5, -2, 1, 0, 0, 0]
NAN = float('nan')
# Scores of these rows lie between 0 and 1, where PROBIT has values.
UNIT = [.25, .5, 0, .75, .125, 1]


def linear(word, op, name, inputs, outputs=1, **attrs):
    return Case(word, name, op, inputs, outputs, **ML, **attrs)


def forest(word, op, name, seed, kind, x=None, dtype='f32', outputs=1, targets=(0,), count=3, depth=3, more=None, **attrs):
    made = Forest(np.random.default_rng(seed), count, depth, 3, targets, **(more or {}))
    rows = made.rows(5, {'f32': np.float32, 'f64': np.float64, 'i64': np.int64, 'i32': np.int32}[dtype])
    lists = made.old(kind, tensors=made.wide)
    return Case(word, name, op, [In(dtype, rows.shape, values=rows)], outputs, domain_version=3, **ML, **lists, **attrs)


def forest_5(name, seed, dtype, targets=(0, 1), count=2, depth=3, more=None, sets=(), whole=False, **attrs):
    import onnx
    made = Forest(np.random.default_rng(seed), count, depth, 3, targets, wide=dtype == 'f64', **(more or {}))
    made.trees = [one_entry(made, t) for t in made.trees]
    rows = made.rows(5, {'f32': np.float32, 'f64': np.float64}[dtype], nan=0 if sets else 0.15)
    rows = np.round(rows) if whole else rows
    lists = made.new({'f32': onnx.TensorProto.FLOAT, 'f64': onnx.TensorProto.DOUBLE}[dtype], sets)
    return Case('tree_ensemble', name, 'TreeEnsemble', [In(dtype, rows.shape, values=rows)], 1, opset=21, domain='ai.onnx.ml',
                domain_version=5, n_targets=len(targets), **lists, **attrs)


def one_entry(made, n):
    """The tree with one entry a leaf, each of any target."""
    if isinstance(n, list):
        return [n[int(made.rng.integers(len(n)))]]
    return n[:4] + (one_entry(made, n[4]), one_entry(made, n[5]))


def numbers(seed, n, low=-2.0, high=2.0):
    return [float(v) for v in np.round(np.random.default_rng(seed).uniform(low, high, n), 2).astype(np.float32)]


def machine(name, classes, dtype='f32', per=2, probable=False, **attrs):
    """SVMClassifier with three features and so many vectors a class."""
    n, pairs = classes * per, classes * (classes - 1) // 2
    lists = dict(kernel_type='RBF', kernel_params=[.5, .25, 3.0], support_vectors=numbers(1, n * 3), coefficients=numbers(2, (classes - 1) * n),
                 rho=numbers(3, pairs, -.5, .5), vectors_per_class=[per] * classes, classlabels_ints=[5, -7, 9, 4][:classes])
    if probable:
        lists.update(prob_a=numbers(4, pairs, -2, -1), prob_b=numbers(5, pairs, -.5, .5))
    lists.update(attrs)
    return Case('svm_classifier', name, 'SVMClassifier', [In(dtype, (3, 3))], 2, **ML, **{k: v for k, v in lists.items() if v is not None})


LINEAR_SVM = dict(support_vectors=None, vectors_per_class=None, kernel_type='LINEAR')
POSITIVE = dict(low=0.0)
# 1-grams 5, 7, 6, 2-grams 5 6 and 7 8, a 3-gram
GRAMS = dict(opset=13, min_gram_length=1, max_gram_length=3, ngram_counts=[0, 3, 7], pool_int64s=[5, 7, 6, 5, 6, 7, 8, 6, 7, 5])
TOKENS = [5, 6, 7, 5, 8, 7, 8, 6, 7, 5, 6, 6, 6, 6]
CASES = [
    *[Case('array_feature_extractor', t, 'ArrayFeatureExtractor', [In(t, (2, 2, 4)), In('i64', (3,), values=[2, 0, 2])], **ML)
      for t in ('f32', 'f64', 'i32', 'i64')],
    Case('array_feature_extractor', 'row', 'ArrayFeatureExtractor', [In('f32', (4,)), In('i64', (1, 2), values=[3, 1])], **ML),
    *[Case('binarizer', t, 'Binarizer', [In(t, (2, 1, 3), -1, 1)], engine='ref' if t[0] == 'i' or t == 'f64' else 'ort', threshold=.25, **ML)
      for t in ('f32', 'f64', 'i32', 'i64')],
    *[Case('imputer', 'nan' + more, 'Imputer', [In('f32', (2, 3), values=[1, NAN, 3, NAN, -1, 0])], replaced_value_float=NAN,
           imputed_value_floats=values, **ML) for more, values in (('_each', [.5, 1.5, 2.5]), ('', [7.0]))],
    Case('imputer', 'number', 'Imputer', [In('f32', (4,), values=[1, -1, NAN, 2])], replaced_value_float=-1.0, imputed_value_floats=[.25], **ML),
    *[Case('feature_vectorizer', t, 'FeatureVectorizer', [In(t, (2, 3)), In(t, (2, 1)), In(t, (2, 2))], inputdimensions=[3, 1, 2], **ML)
      for t in ('f32', 'f64', 'i32', 'i64')],
    *[Case('tf_idf_vectorizer', f'{mode}_skips{skips}'.lower(), 'TfIdfVectorizer', [In('i32', (2, 7), values=TOKENS)], mode=mode, max_skip_count=skips,
           ngram_indexes=[3, 1, 0, 2, 4, 6], weights=[.5, 1.5, 2.0, .25, 4.0, 3.0], **GRAMS) for mode in ('TF', 'IDF', 'TFIDF') for skips in (0, 2)],
    *[Case('tf_idf_vectorizer', f'lengths_{least}_{most}', 'TfIdfVectorizer', [In('i64', (14,), values=TOKENS)], mode='TFIDF', max_skip_count=1,
           ngram_indexes=[0, 1, 2, 3, 4, 5], **{**GRAMS, 'min_gram_length': least, 'max_gram_length': most}) for least, most in ((1, 1), (2, 2), (2, 3), (3, 3))],
    Case('tf_idf_vectorizer', 'one_place', 'TfIdfVectorizer', [In('i64', (14,), values=TOKENS)], mode='TF', max_skip_count=1,
         ngram_indexes=[0, 2, 0, 2, 2, 1], **GRAMS),
    Case('imputer', 'default', 'Imputer', [In('f32', (2, 2), values=[1, 0, NAN, -0.0])], imputed_value_floats=[.25], **ML),
    Case('imputer', 'integers', 'Imputer', [In('i64', (2, 3), 0, 2)], replaced_value_int64=1, imputed_value_int64s=[7, 8, 9], **ML),
    *[Case('label_encoder', f'{a}_{b}', 'LabelEncoder', [In({'int64s': 'i64', 'floats': 'f32'}[a], (2, 3), 0, 4 if a == 'int64s' else 3,
                                                            values=[0, 1, 2, 3, 4, 1] if a == 'int64s' else [0, 1.5, NAN, 3, 4, -0.0])],
           domain_version=4, **ML, **{'keys_' + a: [1, 3, 0] if a == 'int64s' else [1.5, NAN, 0.0],
                                      'values_' + b: [9, 8, -7] if b == 'int64s' else [9.5, -8.25, 0.5]}, **default)
      for a in ('int64s', 'floats') for b in ('int64s', 'floats')
      for default in [{'default_int64': 42} if b == 'int64s' else {'default_float': 4.5}]],
    Case('label_encoder', 'without_default', 'LabelEncoder', [In('i64', (4,), values=[1, 2, 3, 4])], domain_version=2, keys_int64s=[1, 4],
         values_int64s=[5, 6], **ML),
    *[Case('label_encoder', f'same_twice_{version}', 'LabelEncoder', [In('i64', (3,), values=[1, 2, 1])], domain_version=version, engine=engine,
           keys_int64s=[1, 2, 1], values_int64s=[5, 6, 7], **ML) for version, engine in ((2, 'ort'), (4, 'ref'))],
    Case('one_hot_encoder', 'i64', 'OneHotEncoder', [In('i64', (2, 3), 0, 4)], cats_int64s=[3, 1, 0], zeros=1, **ML),
    Case('one_hot_encoder', 'f32', 'OneHotEncoder', [In('f32', (4,), values=[0, 1, 3, 4])], cats_int64s=[3, 1, 0], zeros=1, **ML),
    *[Case('scaler', t, 'Scaler', [In(t, (2, 3))], offset=[.5, 1., -2.], scale=[2., .25, -1.], **ML) for t in ('f32', 'f64', 'i32', 'i64')],
    *[Case('scaler', f'rounded_{t}', 'Scaler', [In(t, (2, 4), values=v)], offset=[.1, .7, -.3, 1e-3], scale=[.3, 1.1, -.7, 1e3], within=1e-9, **ML)
      for t, v in (('f32', [.123, 4.567, -8.9, .011, 33.3, -.77, 1e-3, 5]), ('f64', [.123, 4.567, -8.9, .011, 33.3, -.77, 1e-3, 5]),
                   ('i64', [123456789, -7, 16777217, 3, 33554435, 5, 987654321, -1]))],
    Case('scaler', 'one', 'Scaler', [In('f32', (2, 3))], offset=[.5], scale=[2.], **ML),
    Case('scaler', 'row', 'Scaler', [In('f32', (3,))], offset=[.5, 1., 2.], scale=[2., 1., 3.], **ML),
    *[Case('normalizer', f'{norm}_{t}'.lower(), 'Normalizer', [In(t, (4, 3), values=ROWS)], norm=norm, **ML)
      for norm in ('MAX', 'L1', 'L2') for t in ('f32', 'i64')],
    Case('normalizer', 'l2_f64', 'Normalizer', [In('f64', (4, 3), values=ROWS)], norm='L2', **ML),
    Case('normalizer', 'l1_i32', 'Normalizer', [In('i32', (3,), values=[1, -2, 5])], norm='L1', **ML),
    *[linear('linear_regressor', 'LinearRegressor', f'two_{post}'.lower(), [In('f32', (2, 3), values=UNIT)], targets=2, post_transform=post,
             coefficients=[.25, .5, .125, .5, -.25, .25], intercepts=[.0625, .25]) for post in POSTS],
    linear('linear_regressor', 'LinearRegressor', 'row', [In('f32', (3,))], coefficients=[.25, .5, .125], intercepts=[.0625]),
    linear('linear_regressor', 'LinearRegressor', 'without_constant', [In('f32', (2, 3))], coefficients=[.25, .5, .125]),
    linear('linear_regressor', 'LinearRegressor', 'probit', [In('f32', (2, 3), values=UNIT)], coefficients=[.25, .5, .125], post_transform='PROBIT'),
    *[linear('linear_classifier', 'LinearClassifier', f'three_{post}'.lower(), [In('f32', (2, 3), values=UNIT)], 2, post_transform=post,
             coefficients=[.25, .5, .125, .5, -.25, .25, .75, .125, -.125], intercepts=[.0625, .25, .125], classlabels_ints=[5, -2, 9])
      for post in POSTS],
    *[linear('linear_classifier', 'LinearClassifier', f'one_of_two_{post}'.lower(), [In('f32', (4, 1), values=[.75, -.75, 0, 2])], 2,
             post_transform=post, coefficients=[.5], intercepts=[0.0], classlabels_ints=[5, 9]) for post in POSTS[:-1]],
    *[linear('linear_classifier', 'LinearClassifier', t, [In(t, (2, 3))], 2, coefficients=[.25, .5, .125, .5, -.25, .25],
             intercepts=[.0625, .25], classlabels_ints=[0, 1]) for t in ('f64', 'i32', 'i64')],
    linear('linear_classifier', 'LinearClassifier', 'row', [In('f32', (3,))], 2, coefficients=[.25, .5, .125, .5, -.25, .25],
           intercepts=[.0625, .25], classlabels_ints=[4, 7]),
    *[forest('tree_ensemble', 'TreeEnsembleRegressor', f'{aggregate}'.lower(), 3, 'target', targets=(0, 1), n_targets=2,
             aggregate_function=aggregate, base_values=[.5, -.25]) for aggregate in ('SUM', 'AVERAGE', 'MIN', 'MAX')],
    *[forest('tree_ensemble', 'TreeEnsembleRegressor', f'one_{aggregate}'.lower(), 4, 'target', count=2, n_targets=1, aggregate_function=aggregate)
      for aggregate in ('SUM', 'AVERAGE', 'MIN', 'MAX')],
    *[forest('tree_ensemble', 'TreeEnsembleRegressor', f'post_{post}'.lower(), 5, 'target', targets=(0, 1), n_targets=2, post_transform=post,
             count=1, more=POSITIVE) for post in POSTS[1:]],
    forest('tree_ensemble', 'TreeEnsembleRegressor', 'doubles', 6, 'target', dtype='f64', targets=(0, 1), n_targets=2, more=dict(wide=True)),
    forest('tree_ensemble', 'TreeEnsembleRegressor', 'f64', 7, 'target', dtype='f64', count=2, n_targets=1),
    forest('tree_ensemble', 'TreeEnsembleRegressor', 'leaves', 8, 'target', depth=0, count=2, n_targets=1),
    *[forest('tree_ensemble_classifier', 'TreeEnsembleClassifier', f'three_{post}'.lower(), 9, 'class', outputs=2, targets=(0, 1, 2),
             classlabels_int64s=[4, 1, 7], post_transform=post, base_values=[.5, .25, 0.0]) for post in POSTS[:-1]],
    *[forest('tree_ensemble_classifier', 'TreeEnsembleClassifier', f'one_{sign}_{post}'.lower(), 10, 'class', outputs=2, count=2,
             classlabels_int64s=[4, 7], post_transform=post, more=more, **base)
      for sign, more, base in (('mixed', None, {}), ('positive', POSITIVE, {}), ('based', None, {'base_values': [.75]})) for post in POSTS[:2]],
    forest('tree_ensemble_classifier', 'TreeEnsembleClassifier', 'f64', 11, 'class', dtype='f64', outputs=2, targets=(0, 1, 2),
           classlabels_int64s=[4, 1, 7], more=dict(wide=True)),
    forest('tree_ensemble_classifier', 'TreeEnsembleClassifier', 'i32', 12, 'class', dtype='i32', outputs=2, targets=(0, 1, 2), count=2,
           classlabels_int64s=[4, 1, 7]),
    *[forest_5(f'new_{t}', 13, t) for t in ('f32', 'f64')],
    *[forest_5(f'new_aggregate_{k}', 14, 'f32', targets=(0,), aggregate_function=k) for k in (0, 2, 3)],
    forest_5('new_sets', 16, 'f32', whole=True, more=dict(modes=['BRANCH_LEQ', 'BRANCH_MEMBER'], missing=False),
             sets=[[2.0, -1.0], [1.0], [-2.0, 0.0, 2.0]]),
    *[Case('svm_regressor', kernel.lower(), 'SVMRegressor', [In('f32', (3, 2))], kernel_type=kernel, kernel_params=[.5, .25, 3.0], n_supports=3,
           support_vectors=numbers(6, 6), coefficients=numbers(7, 3), rho=[.25], **ML) for kernel in ('LINEAR', 'POLY', 'RBF', 'SIGMOID')],
    Case('svm_regressor', 'one_class', 'SVMRegressor', [In('f32', (4, 2))], kernel_type='RBF', kernel_params=[.5, 0.0, 0.0], n_supports=3,
         support_vectors=numbers(6, 6), coefficients=[.5, -1.0, .75], rho=[-.125], one_class=1, **ML),
    Case('svm_regressor', 'without_vectors', 'SVMRegressor', [In('f32', (3, 2))], kernel_type='LINEAR', kernel_params=[0.0, 0.0, 0.0], n_supports=0, coefficients=[.5, -1.5],
         rho=[.25], **ML),
    Case('svm_regressor', 'root', 'SVMRegressor', [In('f32', (3, 2), 0, 2)], kernel_type='POLY', kernel_params=[.5, .25, 2.5], n_supports=3,
         support_vectors=numbers(6, 6, 0, 2), coefficients=numbers(7, 3), rho=[.25], **ML),
    *[machine(f'two_{post}'.lower(), 2, post_transform=post) for post in POSTS[:2]],
    *[machine(f'{kernel}'.lower(), 3, kernel_type=kernel) for kernel in ('LINEAR', 'POLY', 'SIGMOID')],
    *[machine(f'three_{post}'.lower(), 3, post_transform=post) for post in POSTS[:-1]],
    *[machine(f'four_{t}', 4, t, per=1) for t in ('f32', 'f64', 'i32', 'i64')],
    machine('uneven', 3, vectors_per_class=[1, 3, 2]),
    *[machine(f'probable_{classes}', classes, probable=True) for classes in (2, 3, 4)],
    *[machine(f'probable_{post}'.lower(), 3, probable=True, post_transform=post) for post in POSTS[1:]],
    *[machine(f'linear_{post}'.lower(), 3, coefficients=numbers(8, 9), post_transform=post, **LINEAR_SVM) for post in POSTS[:-1]],
]
