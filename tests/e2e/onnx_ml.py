# ctest: name=e2e.onnx_ml, timeout=300
"""Models that end in a classifier: what is given in the place of strings and maps, and faults in the tables of trees."""
import os
import pathlib
import struct
import tempfile

import onnx_build as onnx
from made import npy
from support import burin

os.chdir(tempfile.mkdtemp())


def file(name, data):
    pathlib.Path(name).write_bytes(data)


def model(nodes, outputs, features=2, rows=3, constants=(), opset=3):
    return onnx.model(onnx.graph(nodes, [onnx.value("x", "f32", [rows, features])], outputs, constants), domains=[("ai.onnx.ml", opset)])


def ml(op, inputs, outputs, **attributes):
    return onnx.node(op, inputs, outputs, domain="ai.onnx.ml", **attributes)


def maps(name, key):
    """A sequence of maps from key to f32."""
    f32 = onnx.field(1, onnx.field(1, 1))
    return onnx.field(1, name) + onnx.field(2, onnx.field(4, onnx.field(1, onnx.field(5, onnx.field(1, onnx.TYPES[key]) + onnx.field(2, f32)))))


def refused(name, *words, says):
    done = burin("compile", name, "-o", "refused", *words, status=1)
    assert says in done.stderr, (name, says, done.stderr)


# ---- strings and maps ----
X = [1.0, 2.0, -1.0, 0.5, 0.25, -3.0]
file("x.npy", npy("<f4", (3, 2), struct.pack("<6f", *X)))
LINEAR = dict(coefficients=[1.0, 0.0, 0.0, 1.0], intercepts=[0.0, 0.25])
SCORES = [v + (0, 0.25)[k % 2] for k, v in enumerate(X)]
STRINGS = ml("LinearClassifier", ["x"], ["label", "scores"], classlabels_strings=["no", "yes"], **LINEAR)
ZIP = ml("ZipMap", ["scores"], ["probabilities"], classlabels_strings=["no", "yes"])
OUTPUTS = [onnx.value("label", "string", [3]), maps("probabilities", "string")]
WARNINGS = ('graph/output[0] "label": strings are not given: a class is given by its number: 0 "no", 1 "yes"',
            'graph/output[1] "probabilities": maps are not given: the scores are, a column for each of the classes 0 "no", 1 "yes"')
file("strings.onnx", model([STRINGS, ZIP], OUTPUTS))
for provider in ("reference", "host"):
    done = burin("run", "strings.onnx", "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    assert all(w in done.stderr for w in WARNINGS), done.stderr
    assert struct.unpack("<3q", pathlib.Path("out/output_0.bin").read_bytes()) == (1, 1, 0), provider
    assert list(struct.unpack("<6f", pathlib.Path("out/output_1.bin").read_bytes())) == SCORES, provider
assert "warning" in burin("compile", "strings.onnx", "-o", "strings").stderr

# a batch that stays open
file("open.onnx", model([STRINGS, ZIP], OUTPUTS, rows="batch"))
done = burin("run", "open.onnx", "--dim", "batch=..4", "--input", "x.npy", "--provider", "host", "--output-dir", "out", "--output-format", "raw", "--force")
assert struct.unpack("<3q", pathlib.Path("out/output_0.bin").read_bytes()) == (1, 1, 0)

# under another name; and what takes them is refused
file("same.onnx", model([STRINGS, onnx.node("Identity", ["label"], ["other"])], [onnx.value("other", "string", [3])]))
assert 'output[0] "other": strings are not given' in burin("compile", "same.onnx", "-o", "same").stderr
file("taken.onnx", model([STRINGS, onnx.node("Equal", ["label", "label"], ["equal"])], [onnx.value("equal", "bool", [3])]))
refused("taken.onnx", says="node[1] Equal: operator Equal of strings or maps is not supported")
file("twice.onnx", model([STRINGS, ZIP, ml("ZipMap", ["probabilities"], ["again"], classlabels_int64s=[0, 1])], [maps("again", "i64")]))
refused("twice.onnx", says="node[2] ZipMap: operator ZipMap of strings or maps is not supported")
THEN = onnx.graph([onnx.node("Identity", ["label"], ["t"])], [], [onnx.value("t", "string", [3])])
file("below.onnx", model([STRINGS, onnx.node("If", ["c"], ["y"], then_branch=("graph", THEN), else_branch=("graph", THEN))],
                         [onnx.value("y", "string", [3])], constants=[onnx.tensor("c", "bool", [], [True])]))
refused("below.onnx", says="a graph below another that gives strings or maps is not supported")
file("columns.onnx", model([STRINGS, ml("ZipMap", ["scores"], ["probabilities"], classlabels_int64s=[1, 2, 3])], OUTPUTS))
refused("columns.onnx", says="node[1] ZipMap: there are 3 classes, and the input is f32 3x2")
file("castmap.onnx", model([ml("CastMap", ["x"], ["y"])], [onnx.value("y", "f32")]))
refused("castmap.onnx", says="operator CastMap, which takes maps is not supported; convert the model without it")
file("both.onnx", model([ml("LinearClassifier", ["x"], ["label", "scores"], classlabels_strings=["no", "yes"], classlabels_ints=[0, 1], **LINEAR)],
                        [onnx.value("label", "i64", [3])]))
refused("both.onnx", says="classlabels_strings and classlabels_ints: expected one of them")

# a domain that is imported twice, as exporters do
for versions, says in ((3, 3), ""), ((2, 3), 'warning: opset_import[2]: domain "ai.onnx.ml" is imported in versions 2 and 3: the last one holds'):
    body = onnx.graph([STRINGS], [onnx.value("x", "f32", [3, 2])], [onnx.value("label", "string", [3])])
    file("imported.onnx", onnx.model(body, domains=[("ai.onnx.ml", v) for v in versions]))
    assert says in burin("compile", "imported.onnx", "-o", "imported", "--force").stderr

# ---- faults in trees ----
TREE = dict(n_targets=1, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_values=[0.5, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
            target_ids=[0, 0], target_weights=[1.5, -2.5])


def tree(name, says=None, op="TreeEnsembleRegressor", opset=3, features=2, base=TREE, **changes):
    attributes = {k: v for k, v in {**base, **changes}.items() if v is not None}
    file(name, model([ml(op, ["x"], ["y"], **attributes)], [onnx.value("y", "f32")], features=features, opset=opset))
    if says:
        refused(name, says=says)


tree("tree.onnx")
for provider in ("reference", "host"):
    burin("run", "tree.onnx", "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    assert struct.unpack("<3f", pathlib.Path("out/output_0.bin").read_bytes()) == (-2.5, 1.5, 1.5), provider
tree("circle.onnx", "its nodes lead in a circle", nodes_modes=["BRANCH_LEQ", "BRANCH_LT", "LEAF"], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 2, 0],
     target_nodeids=[2, 2])
tree("itself.onnx", "its nodes lead in a circle", nodes_truenodeids=[0, 0, 0])
tree("nowhere.onnx", "node 0 of its trees leads to one that there is not", nodes_falsenodeids=[7, 0, 0])
tree("node_twice.onnx", "tree 0 has node 1 twice", nodes_nodeids=[0, 1, 1])
tree("mode.onnx", "nodes_modes: value 0 is none of the modes", nodes_modes=["BRANCH", "LEAF", "LEAF"])
tree("branch.onnx", "weight 1 is of no leaf", target_nodeids=[1, 0])
tree("target.onnx", "weight 0 is of no leaf, or of none of 1 targets", target_ids=[1, 0])
tree("short.onnx", "nodes_featureids: expected 3 values, got 2", nodes_featureids=[1, 0])
tree("values.onnx", "nodes_modes and nodes_values: expected 3 values", nodes_values=[0.5])
tree("feature.onnx", "a node asks for a feature beyond the input's", nodes_featureids=[2, 0, 0])
tree("negative.onnx", "has no feature", nodes_featureids=[-1, 0, 0])
tree("base.onnx", "there is a base value for each target", base_values=[1.0, 2.0])
tree("post.onnx", "post_transform is none of ONNX's", post_transform="RELU")
tree("none.onnx", "it has no nodes, or no targets", n_targets=0)
tree("left.onnx", "TreeEnsembleRegressor", opset=5)
NEW = dict(n_targets=1, tree_roots=[0], nodes_featureids=[1], nodes_modes=("tensor", onnx.tensor("m", "u8", [1], [0])),
           nodes_splits=("tensor", onnx.tensor("s", "f32", [1], [0.5])), nodes_truenodeids=[0], nodes_trueleafs=[1], nodes_falsenodeids=[1],
           nodes_falseleafs=[1], leaf_targetids=[0, 0], leaf_weights=("tensor", onnx.tensor("w", "f32", [2], [1.5, -2.5])))
new = dict(op="TreeEnsemble", opset=5, base=NEW)
tree("new.onnx", **new)
for provider in ("reference", "host"):
    burin("run", "new.onnx", "--input", "x.npy", "--provider", provider, "--output-dir", "out", "--output-format", "raw", "--force")
    assert struct.unpack("<3f", pathlib.Path("out/output_0.bin").read_bytes()) == (-2.5, 1.5, 1.5), provider
# written: in version 4 of the domain, but for what only version 5 says
for name, op in (("tree.onnx", b"TreeEnsembleRegressor"), ("new.onnx", b"TreeEnsemble")):
    burin("compile", name, "--target", "onnx", "-o", "again.onnx", "--force", "--quiet")
    assert op in pathlib.Path("again.onnx").read_bytes(), name
    burin("run", "again.onnx", "--input", "x.npy", "--output-dir", "out", "--output-format", "raw", "--force")
    assert struct.unpack("<3f", pathlib.Path("out/output_0.bin").read_bytes()) == (-2.5, 1.5, 1.5), name
file("both.onnx", model([ml("TreeEnsemble", ["x"], ["y"], **NEW), ml("LinearClassifier", ["x"], ["l", "z"], coefficients=[1.0, 2.0, 3.0, 4.0], classlabels_ints=[0, 1])],
                        [onnx.value("y", "f32"), onnx.value("l", "i64"), onnx.value("z", "f32")], opset=5))
burin("compile", "both.onnx", "--target", "onnx", "-o", "again.onnx", "--force", "--quiet")
tree("leaf.onnx", "a branch leads to leaf 2, and there are 2", nodes_falsenodeids=[2], **new)
tree("root.onnx", "a branch leads to node 1, and there are 1", tree_roots=[1], **new)
tree("new_circle.onnx", "its nodes lead in a circle", nodes_trueleafs=[0], **new)
tree("new_mode.onnx", "node 0 has no feature, or none of the modes", nodes_modes=("tensor", onnx.tensor("m", "u8", [1], [9])), **new)
tree("sets.onnx", "there are more sets than branches that ask for one", membership_values=("tensor", onnx.tensor("v", "f32", [1], [1.0])), **new)
tree("splits.onnx", "nodes_splits", nodes_splits=("tensor", onnx.tensor("s", "f32", [2], [0.5, 1.0])), **new)

# ---- faults in support vector machines ----
SVM = dict(kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], support_vectors=[1.0, 2.0, -1.0, 0.5], coefficients=[1.0, -1.0], rho=[0.25],
           vectors_per_class=[1, 1], classlabels_ints=[0, 1])


def machine(name, says, **changes):
    attributes = {k: v for k, v in {**SVM, **changes}.items() if v is not None}
    file(name, model([ml("SVMClassifier", ["x"], ["l", "z"], **attributes)], [onnx.value("l", "i64"), onnx.value("z", "f32")]))
    refused(name, says=says)


machine("per_class.onnx", "vectors_per_class: 1 values, and there are 2 classes", vectors_per_class=[2])
machine("many.onnx", "support_vectors: 4 numbers, and there are 3 vectors of 2", vectors_per_class=[1, 2])
machine("less.onnx", "vectors_per_class: value 0 is -1", vectors_per_class=[-1, 3])
machine("coefficients.onnx", "there are vectors, coefficients and constants for each pair of classes", coefficients=[1.0])
machine("rho.onnx", "rho: it is absent, and the operator needs it", rho=None)
machine("params.onnx", "kernel_params: expected 3 values, got 1", kernel_params=[0.5])
machine("kernel.onnx", "kernel and post_transform are some of ONNX's", kernel_type="COSINE")
machine("softmax.onnx", "of one pair of classes post_transform is NONE or LOGISTIC", post_transform="SOFTMAX")
machine("two.onnx", "of two sums for two classes runtimes differ", vectors_per_class=None, support_vectors=None, coefficients=[1.0, 2.0, 3.0, 4.0])
file("regressor.onnx", model([ml("SVMRegressor", ["x"], ["y"], kernel_type="LINEAR", n_supports=2, coefficients=[1.0, 2.0], rho=[0.0])], [onnx.value("y", "f32")]))
refused("regressor.onnx", says="n_supports is 2, and support_vectors has 0 numbers")
