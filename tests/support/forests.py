"""Decision trees as ai.onnx.ml says them: attributes of TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble, by chance."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

MODES = ['BRANCH_LEQ', 'BRANCH_LT', 'BRANCH_GTE', 'BRANCH_GT', 'BRANCH_EQ', 'BRANCH_NEQ']


class Forest:
    """Trees of that depth at most, whose leaves have entries of (target, weight): each of those that targets lists, of which a
    leaf leaves out as many as `sparse` says."""

    def __init__(self, rng, trees, depth, features, targets, modes=MODES, sparse=0.0, low=-2.0, missing=True, wide=False, full=False):
        self.rng, self.features, self.targets, self.modes, self.sparse, self.low = rng, features, list(targets), list(modes), sparse, low
        self.missing, self.wide, self.full = missing, wide, full
        self.trees = [self.grow(depth, True) for _ in range(trees)]

    def number(self, low=-2.0, high=2.0):
        """A quarter, so that there are ties; or any."""
        v = self.rng.uniform(low, high)
        return float(v) if self.wide else float(np.float32(np.round(v * 4) / 4 if self.rng.random() < 0.6 else v))

    def grow(self, depth, top=False):
        if depth == 0 or (not top and not self.full and self.rng.random() < 0.2):
            kept = [t for t in self.targets if self.rng.random() >= self.sparse]
            return [(t, self.number(self.low)) for t in kept or self.targets[:1]]
        return (str(self.rng.choice(self.modes)), int(self.rng.integers(self.features)), self.number(),
                int(self.rng.integers(2)) if self.missing else 0, self.grow(depth - 1), self.grow(depth - 1))

    def old(self, kind, tensors=False):
        """Attributes of versions 1 and 3; kind: "class" or "target"."""
        a = {k: [] for k in ('nodes_treeids', 'nodes_nodeids', 'nodes_modes', 'nodes_featureids', 'nodes_values', 'nodes_truenodeids',
                             'nodes_falsenodeids', 'nodes_missing_value_tracks_true', f'{kind}_treeids', f'{kind}_nodeids', f'{kind}_ids',
                             f'{kind}_weights')}
        for tree, root in enumerate(self.trees):
            count = 0

            def put(n):
                nonlocal count
                number, at = count, len(a['nodes_treeids'])
                count += 1
                leaf = isinstance(n, list)
                mode, feature, value, missing = ('LEAF', 0, 0.0, 0) if leaf else n[:4]
                for name, v in (('treeids', tree), ('nodeids', number), ('modes', mode), ('featureids', feature), ('values', value),
                                ('truenodeids', 0), ('falsenodeids', 0), ('missing_value_tracks_true', missing)):
                    a['nodes_' + name].append(v)
                if leaf:
                    for target, weight in n:
                        for name, v in (('treeids', tree), ('nodeids', number), ('ids', target), ('weights', weight)):
                            a[f'{kind}_{name}'].append(v)
                else:
                    a['nodes_truenodeids'][at] = put(n[4])
                    a['nodes_falsenodeids'][at] = put(n[5])
                return number
            put(root)
        if not self.missing:
            del a['nodes_missing_value_tracks_true']
        for name in ('nodes_values', f'{kind}_weights') if tensors else ():
            a[name + '_as_tensor'] = numpy_helper.from_array(np.array(a.pop(name), np.float64), name)
        return a

    def new(self, type, sets=()):
        """Attributes of TreeEnsemble, version 5: leaves of one entry. sets: for branches of mode BRANCH_MEMBER, used in turn."""
        roots, nodes, leaves, members = [], [], [], []
        numbers = {m: k for k, m in enumerate(MODES + ['BRANCH_MEMBER'])}

        def put(n):
            if isinstance(n, list):
                leaves.append(n[0])
                return len(leaves) - 1, 1
            at = len(nodes)
            nodes.append(None)
            if n[0] == 'BRANCH_MEMBER':
                members.extend(list(sets[at % len(sets)]) + [np.nan])
            yes, no = put(n[4]), put(n[5])
            nodes[at] = (numbers[n[0]], n[1], n[2], n[3], yes, no)
            return at, 0
        for root in self.trees:
            roots.append(put(root)[0])
        dtype = np.float64 if type == TensorProto.DOUBLE else np.float32
        a = dict(tree_roots=roots, nodes_modes=helper.make_tensor('modes', TensorProto.UINT8, [len(nodes)], [n[0] for n in nodes]),
                 nodes_featureids=[n[1] for n in nodes],
                 nodes_splits=numpy_helper.from_array(np.array([n[2] for n in nodes], dtype), 'splits'),
                 nodes_truenodeids=[n[4][0] for n in nodes], nodes_trueleafs=[n[4][1] for n in nodes],
                 nodes_falsenodeids=[n[5][0] for n in nodes], nodes_falseleafs=[n[5][1] for n in nodes],
                 leaf_targetids=[t for t, _ in leaves], leaf_weights=numpy_helper.from_array(np.array([w for _, w in leaves], dtype), 'weights'))
        if self.missing:
            a['nodes_missing_value_tracks_true'] = [n[3] for n in nodes]
        if members:
            a['membership_values'] = numpy_helper.from_array(np.array(members, dtype), 'members')
        return a

    def rows(self, count, dtype=np.float32, nan=0.15):
        """What a forest is given: quarters, any numbers, NaN."""
        x = self.rng.uniform(-2.5, 2.5, (count, self.features))
        x = np.where(self.rng.random(x.shape) < 0.6, np.round(x * 4) / 4, x)
        if np.dtype(dtype).kind == 'f':
            x[self.rng.random(x.shape) < nan] = np.nan
        return x.astype(dtype)
