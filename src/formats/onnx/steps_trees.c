/* steps_trees.c - the tables of decision trees, from the lists in which the versions of ai.onnx.ml say them.
 *
 * Takes the attributes of TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor. Gives constant inputs: rows of nodes,
 * whose leaves have entries of (target, weight); and how deep the trees are. Every index is checked, and there is no cycle. Writes
 * such tables in the version that can say them.
 */
#include "formats/onnx/steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MODE_MEMBER = 6, MODE_LEAF = 7, NO_NODE = -1 };

/* Numbers of an attribute: its floats, or the f32 or f64 of a tensor. */
typedef struct numbers {
    bool given, wide;
    size_t n;
    const double *at;
} numbers;

typedef struct table {
    size_t nodes, entries;
    int64_t *feature, *mode, *yes, *no, *missing, *first, *target;
    double *value, *weight;
    int64_t *roots;
    size_t root_count;
    int64_t depth, most, features;
} table;

static numbers numbers_of(onnx_op *op, const char *attr, bool as_tensor) {
    numbers list = {false, false, 0, NULL};
    const onnx_attr *a = as_tensor ? onnx_op_attr(op, attr, ONNX_TENSOR) : onnx_op_attr(op, attr, ONNX_FLOATS);
    if (!a) {
        return list;
    }
    ir_tensor t = {.type = BASE_F32, .data = a->floats};
    uint64_t n = a->n;
    const wire_path path = {.outer = op->path, .name = attr, .index = WIRE_NO_INDEX};
    if (as_tensor && (!onnx_read_tensor(op->r, &path, a->message, &t) || !ir_shape_elements(&t.shape, &n))) {
        return list;
    }
    double *at = BASE_NEWS(op->r->arena, double, (size_t)n + 1);
    for (uint64_t i = 0; i < n; i++) {
        const base_value v = base_load(t.type, t.data, i);
        at[i] = base_type_is_float(t.type) ? v.f : (double)v.i;
    }
    return (numbers){true, t.type == BASE_F64, (size_t)n, at};
}

/* Of two attributes that say the same the one that is there. */
static numbers either(onnx_op *op, const char *attr) {
    const numbers floats = numbers_of(op, attr, false);
    const numbers tensor = numbers_of(op, base_printf(op->r->arena, "%s_as_tensor", attr), true);
    return tensor.given ? tensor : floats;
}

static const int64_t *ints_of(onnx_op *op, const char *attr, size_t n, bool needed) {
    size_t given;
    const int64_t *list = onnx_op_ints(op, attr, &given);
    if (onnx_op_failed(op) || (!list && !needed)) {
        return NULL;
    }
    if (!list || given != n) {
        onnx_op_error(op, "%s: expected %zu values, got %zu", attr, n, given);
        return NULL;
    }
    return list;
}

static table new_table(onnx_op *op, size_t nodes, size_t entries) {
    base_arena *a = op->r->arena;
    table t = {.nodes = nodes, .entries = entries};
    t.feature = BASE_NEWS(a, int64_t, nodes + 1);
    t.mode = BASE_NEWS(a, int64_t, nodes + 1);
    t.yes = BASE_NEWS(a, int64_t, nodes + 1);
    t.no = BASE_NEWS(a, int64_t, nodes + 1);
    t.missing = BASE_NEWS(a, int64_t, nodes + 1);
    t.first = BASE_NEWS(a, int64_t, nodes + 2);
    t.value = BASE_NEWS(a, double, nodes + 1);
    t.target = BASE_NEWS(a, int64_t, entries + 1);
    t.weight = BASE_NEWS(a, double, entries + 1);
    t.roots = BASE_NEWS(a, int64_t, nodes + 1);
    return t;
}

/* How deep the trees are, by taking nodes away that no other one leads to. false: a fault, reported: there is a cycle. */
static bool measure(onnx_op *op, table *t) {
    size_t done = 0, queued = 0;
    int64_t *parents = BASE_NEWS(op->r->arena, int64_t, t->nodes + 1),
            *depth = BASE_NEWS(op->r->arena, int64_t, t->nodes + 1);
    int64_t *queue = BASE_NEWS(op->r->arena, int64_t, t->nodes + 1);
    for (size_t k = 0; k < t->nodes; k++) {
        if (t->mode[k] != MODE_LEAF) {
            parents[t->yes[k]]++;
            parents[t->no[k]]++;
            t->features = t->feature[k] >= t->features ? t->feature[k] + 1 : t->features;
        }
    }
    for (size_t k = 0; k < t->nodes; k++) {
        if (!parents[k]) {
            queue[queued++] = (int64_t)k;
        }
    }
    t->depth = 1;
    for (; done < queued; done++) {
        const int64_t k = queue[done], next[] = {t->yes[k], t->no[k]};
        t->depth = depth[k] + 1 > t->depth ? depth[k] + 1 : t->depth;
        for (size_t i = 0; i < 2 && t->mode[k] != MODE_LEAF; i++) {
            depth[next[i]] = depth[k] + 1 > depth[next[i]] ? depth[k] + 1 : depth[next[i]];
            if (--parents[next[i]] == 0) {
                queue[queued++] = next[i];
            }
        }
    }
    if (done < t->nodes) {
        onnx_op_error(op, "its nodes lead in a circle");
    }
    return done == t->nodes;
}

static void add(onnx_op *op, const char *name, base_type type, size_t n, const void *data) {
    const ir_shape shape = ir_shape_of(1, &(int64_t){(int64_t)n});
    onnx_op_add_constant(op, name, type, &shape, data);
}

static void add_numbers(onnx_op *op, const char *name, base_type type, size_t n, const double *list) {
    void *data = base_alloc(op->r->arena, n + 1, sizeof(double));
    for (size_t i = 0; i < n; i++) {
        base_store(type, data, i, (base_value){.f = base_round_to(type, list[i])});
    }
    add(op, name, type, n, data);
}

static void put_table(onnx_op *op, const table *t, base_type type) {
    add(op, "root", BASE_I64, t->root_count, t->roots);
    add(op, "feature", BASE_I64, t->nodes, t->feature);
    add(op, "mode", BASE_I64, t->nodes, t->mode);
    add_numbers(op, "value", type, t->nodes, t->value);
    add(op, "yes", BASE_I64, t->nodes, t->yes);
    add(op, "no", BASE_I64, t->nodes, t->no);
    add(op, "missing", BASE_I64, t->nodes, t->missing);
    add(op, "first", BASE_I64, t->nodes + 1, t->first);
    add(op, "target", BASE_I64, t->entries, t->target);
    add_numbers(op, "weight", type, t->entries, t->weight);
    ir_attr_int(op->r->m, op->node, "depth", t->depth);
    ir_attr_int(op->r->m, op->node, "most", t->most);
    ir_attr_int(op->r->m, op->node, "features", t->features);
}

/* ---- versions 1 and 3: nodes by tree and number ---- */

typedef struct key {
    int64_t tree, node;
    int64_t at;
} key;

static int by_key(const void *a, const void *b) {
    const key *x = a, *y = b;
    return x->tree != y->tree ? (x->tree < y->tree ? -1 : 1) : x->node != y->node ? (x->node < y->node ? -1 : 1) : 0;
}

static int64_t find(const key *keys, size_t n, int64_t tree, int64_t node) {
    const key wanted = {tree, node, 0};
    const key *k = bsearch(&wanted, keys, n, sizeof *keys, by_key);
    return k ? k->at : NO_NODE;
}

static const char *const mode_names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};

static int64_t mode_of(const char *text, size_t n) {
    for (size_t i = 0; i < sizeof mode_names / sizeof *mode_names; i++) {
        if (n && strlen(mode_names[i]) == n && memcmp(mode_names[i], text, n) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* The nodes in rows. false: a fault, reported. */
static bool read_nodes(onnx_op *op, const int64_t *trees, const key *keys, const numbers *values, table *t) {
    const onnx_attr *modes = onnx_op_attr(op, "nodes_modes", ONNX_STRINGS);
    const int64_t *features = ints_of(op, "nodes_featureids", t->nodes, true);
    const int64_t *yes = ints_of(op, "nodes_truenodeids", t->nodes, true);
    const int64_t *no = ints_of(op, "nodes_falsenodeids", t->nodes, true);
    const int64_t *missing = ints_of(op, "nodes_missing_value_tracks_true", t->nodes, false);
    bool *reached = BASE_NEWS(op->r->arena, bool, t->nodes + 1);
    if (!onnx_op_failed(op) && (!modes || modes->n != t->nodes || values->n != t->nodes)) {
        onnx_op_error(op, "nodes_modes and nodes_values: expected %zu values", t->nodes);
    }
    for (size_t k = 0; k < t->nodes && !onnx_op_failed(op); k++) {
        t->mode[k] = mode_of((const char *)modes->strings[k].at, modes->strings[k].size);
        t->feature[k] = features[k];
        t->value[k] = values->at[k];
        t->missing[k] = missing ? missing[k] != 0 : 0;
        if (t->mode[k] < 0) {
            onnx_op_error(op, "nodes_modes: value %zu is none of the modes", k);
        } else if (t->mode[k] == MODE_LEAF) {
            t->feature[k] = 0;
        } else {
            t->yes[k] = find(keys, t->nodes, trees[k], yes[k]);
            t->no[k] = find(keys, t->nodes, trees[k], no[k]);
            if (t->yes[k] == NO_NODE || t->no[k] == NO_NODE || features[k] < 0 || features[k] > INT32_MAX) {
                onnx_op_error(op, "node %zu of its trees leads to one that there is not, or has no feature", k);
                break;
            }
            reached[t->yes[k]] = reached[t->no[k]] = true;
        }
    }
    for (size_t k = 0; k < t->nodes && !onnx_op_failed(op); k++) {
        if (!reached[k]) {
            t->roots[t->root_count++] = (int64_t)k;
        }
    }
    return !onnx_op_failed(op);
}

/* The leaves' entries, by node. false: a fault, reported. */
static bool read_entries(onnx_op *op, const char *kind, const key *keys, const numbers *weights, int64_t targets,
                         table *t) {
    const int64_t *trees = ints_of(op, base_printf(op->r->arena, "%s_treeids", kind), t->entries, true);
    const int64_t *nodes = ints_of(op, base_printf(op->r->arena, "%s_nodeids", kind), t->entries, true);
    const int64_t *ids = ints_of(op, base_printf(op->r->arena, "%s_ids", kind), t->entries, true);
    int64_t *at = BASE_NEWS(op->r->arena, int64_t, t->entries + 1),
            *next = BASE_NEWS(op->r->arena, int64_t, t->nodes + 2);
    for (size_t i = 0; i < t->entries && !onnx_op_failed(op); i++) {
        at[i] = find(keys, t->nodes, trees[i], nodes[i]);
        if (at[i] == NO_NODE || t->mode[at[i]] != MODE_LEAF || ids[i] < 0 || ids[i] >= targets) {
            onnx_op_error(op, "weight %zu is of no leaf, or of none of %lld targets", i, (long long)targets);
        } else {
            t->first[at[i] + 1]++;
        }
    }
    for (size_t k = 0; k < t->nodes && !onnx_op_failed(op); k++) {
        t->most = t->first[k + 1] > t->most ? t->first[k + 1] : t->most;
        t->first[k + 1] += t->first[k];
        next[k] = t->first[k];
    }
    for (size_t i = 0; i < t->entries && !onnx_op_failed(op); i++) {
        const int64_t place = next[at[i]]++;
        t->target[place] = ids[i];
        t->weight[place] = weights->at[i];
    }
    return !onnx_op_failed(op);
}

/* What there is beside the tables: base values, labels, and how scores are put together. */
static void put_rest(onnx_op *op, bool classes, const numbers *base, base_type type, int64_t targets, const table *t) {
    if (base->given) {
        add_numbers(op, "base_values", type, base->n, base->at);
    } else {
        onnx_op_add_absent(op);
    }
    ir_attr_text(op->r->m, op->node, "post_transform", onnx_op_text(op, "post_transform", "NONE"));
    ir_attr_int(op->r->m, op->node, "targets", targets);
    if (!classes) {
        ir_attr_text(op->r->m, op->node, "aggregate", onnx_op_text(op, "aggregate_function", "SUM"));
        onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[0]].type = BASE_F32;
        return;
    }
    bool one = targets == 2 && t->entries > 0, positive = true;
    for (size_t i = 0; i < t->entries; i++) {
        one = one && t->target[i] == 0;
        positive = positive && t->weight[i] >= 0;
    }
    ir_attr_int(op->r->m, op->node, "binary", one);
    ir_attr_int(op->r->m, op->node, "positive", positive);
}

static void make_trees(onnx_op *op, const onnx_step *s) {
    const char *kind = s->a ? "class" : "target";
    size_t nodes = 0, label_count = 0;
    const int64_t *ids = onnx_op_ints(op, "nodes_nodeids", &nodes);
    const int64_t *trees = ints_of(op, "nodes_treeids", nodes, true);
    const int64_t *labels =
        s->a ? onnx_op_classes(op, "classlabels_strings", "classlabels_int64s", &label_count) : NULL;
    const numbers values = either(op, "nodes_values"), base = either(op, "base_values");
    const numbers weights = either(op, base_printf(op->r->arena, "%s_weights", kind));
    const int64_t targets = s->a ? (int64_t)label_count : onnx_op_int(op, "n_targets", 1);
    (void)numbers_of(op, "nodes_hitrates", false);
    (void)numbers_of(op, "nodes_hitrates_as_tensor", true);
    if (!onnx_op_failed(op) && (!ids || !trees || targets < 1 || targets > INT32_MAX || (s->a && !labels))) {
        onnx_op_error(op, "it has no nodes, or no targets");
    }
    if (onnx_op_failed(op)) {
        return;
    }
    key *keys = BASE_NEWS(op->r->arena, key, nodes + 1);
    for (size_t k = 0; k < nodes; k++) {
        keys[k] = (key){trees[k], ids[k], (int64_t)k};
    }
    qsort(keys, nodes, sizeof *keys, by_key);
    for (size_t k = 1; k < nodes; k++) {
        if (by_key(&keys[k - 1], &keys[k]) == 0) {
            onnx_op_error(op, "tree %lld has node %lld twice", (long long)keys[k].tree, (long long)keys[k].node);
            return;
        }
    }
    table t = new_table(op, nodes, weights.n);
    if (!read_nodes(op, trees, keys, &values, &t) || !read_entries(op, kind, keys, &weights, targets, &t) ||
        !measure(op, &t)) {
        return;
    }
    const base_type type = values.wide || weights.wide ? BASE_F64 : BASE_F32;
    put_table(op, &t, type);
    put_rest(op, s->a != 0, &base, type, targets, &t);
    if (s->a) {
        add(op, "labels", BASE_I64, label_count, labels);
    }
}
/* ---- writing ---- */

/* The tables of a node, in the order in which they became inputs. false: a reason. */
static bool tables_of(onnx_out *out, table *t, base_type *type) {
    size_t n[10];
    *t = (table){0};
    *type = onnx_out_input(out, out->word->most + 3U)->type;
    t->roots = onnx_out_int_list(out, &n[0]);
    t->feature = onnx_out_int_list(out, &n[1]);
    t->mode = onnx_out_int_list(out, &n[2]);
    t->value = onnx_out_float_list(out, *type, &n[3]);
    t->yes = onnx_out_int_list(out, &n[4]);
    t->no = onnx_out_int_list(out, &n[5]);
    t->missing = onnx_out_int_list(out, &n[6]);
    t->first = onnx_out_int_list(out, &n[7]);
    t->target = onnx_out_int_list(out, &n[8]);
    t->weight = onnx_out_float_list(out, *type, &n[9]);
    t->root_count = n[0];
    t->nodes = n[1];
    t->entries = n[8];
    (void)onnx_out_attr(out, "depth", IR_INT); /* these three follow from the tables */
    (void)onnx_out_attr(out, "most", IR_INT);
    (void)onnx_out_attr(out, "features", IR_INT);
    bool fits = !out->why && t->roots && t->feature && t->mode && t->value && t->yes && t->no && t->missing &&
                t->first && t->target && t->weight && n[7] == t->nodes + 1 && n[9] == t->entries;
    for (size_t i = 2; i < 7 && fits; i++) {
        fits = n[i] == t->nodes;
    }
    for (size_t k = 0; k < t->nodes && fits; k++) {
        const int64_t most = (int64_t)t->nodes;
        fits = t->mode[k] >= 0 && t->mode[k] <= MODE_LEAF && t->yes[k] >= 0 && t->yes[k] < most && t->no[k] >= 0 &&
               t->no[k] < most && t->first[k] >= 0 && t->first[k] <= t->first[k + 1];
    }
    for (size_t k = 0; k < t->root_count && fits; k++) {
        fits = t->roots[k] >= 0 && t->roots[k] < (int64_t)t->nodes;
    }
    if (!fits || t->first[t->nodes] != (int64_t)t->entries) {
        onnx_out_cannot(out, "its tables do not fit each other");
    }
    return !out->why;
}

static bool any_set(const int64_t *list, size_t n) {
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        any = any || list[i] != 0;
    }
    return any;
}

/* Floats of 32 bits as an attribute, wider ones as a tensor. */
static void put_numbers(onnx_out *out, const char *attr, base_type type, const double *v, size_t n) {
    float *floats = BASE_NEWS(out->arena, float, n + 1);
    for (size_t i = 0; i < n; i++) {
        floats[i] = (float)v[i];
    }
    if (type == BASE_F32) {
        onnx_out_floats(out, attr, floats, n);
    } else {
        onnx_out_tensor(out, base_printf(out->arena, "%s_as_tensor", attr), type, v, n);
    }
}

/* Of which tree each node is: they stand one tree behind the other, each with its root first, as runtimes look for them. NULL:
 * a reason. */
static int64_t *trees_of(onnx_out *out, const table *t) {
    int64_t *tree = BASE_NEWS(out->arena, int64_t, t->nodes + 1), number = -1;
    size_t *parents = BASE_NEWS(out->arena, size_t, t->nodes + 1);
    bool fits = t->root_count > 0;
    for (size_t k = 0; k < t->nodes; k++) {
        number += number + 1 < (int64_t)t->root_count && t->roots[number + 1] == (int64_t)k;
        tree[k] = number;
        fits = fits && number >= 0;
    }
    for (size_t k = 0; k < t->nodes && fits; k++) {
        if (t->mode[k] != MODE_LEAF) {
            fits = tree[t->yes[k]] == tree[k] && tree[t->no[k]] == tree[k] && t->mode[k] != MODE_MEMBER;
            parents[t->yes[k]]++;
            parents[t->no[k]]++;
        }
    }
    for (size_t k = 0; k < t->nodes && fits; k++) {
        fits = parents[k] == (t->roots[tree[k]] == (int64_t)k ? 0U : 1U);
    }
    if (!fits || number + 1 != (int64_t)t->root_count) {
        onnx_out_cannot(out, "its trees share nodes, ask for members of sets, or do not stand one behind the other");
        return NULL;
    }
    return tree;
}

static void put_nodes(onnx_out *out, const table *t, const int64_t *tree, base_type type) {
    base_arena *a = out->arena;
    int64_t *id = BASE_NEWS(a, int64_t, t->nodes + 1), *yes = BASE_NEWS(a, int64_t, t->nodes + 1),
            *no = BASE_NEWS(a, int64_t, t->nodes + 1);
    const char **modes = BASE_NEWS(a, const char *, t->nodes + 1);
    for (size_t k = 0; k < t->nodes; k++) {
        const int64_t root = t->roots[tree[k]];
        id[k] = (int64_t)k - root;
        yes[k] = t->mode[k] == MODE_LEAF ? 0 : t->yes[k] - root;
        no[k] = t->mode[k] == MODE_LEAF ? 0 : t->no[k] - root;
        modes[k] = mode_names[t->mode[k]];
    }
    onnx_out_ints(out, "nodes_treeids", tree, t->nodes);
    onnx_out_ints(out, "nodes_nodeids", id, t->nodes);
    onnx_out_ints(out, "nodes_featureids", t->feature, t->nodes);
    onnx_out_texts(out, "nodes_modes", modes, t->nodes);
    put_numbers(out, "nodes_values", type, t->value, t->nodes);
    onnx_out_ints(out, "nodes_truenodeids", yes, t->nodes);
    onnx_out_ints(out, "nodes_falsenodeids", no, t->nodes);
    if (any_set(t->missing, t->nodes)) {
        onnx_out_ints(out, "nodes_missing_value_tracks_true", t->missing, t->nodes);
    }
}

static void put_entries(onnx_out *out, const char *kind, const table *t, const int64_t *tree, base_type type) {
    int64_t *trees = BASE_NEWS(out->arena, int64_t, t->entries + 1),
            *nodes = BASE_NEWS(out->arena, int64_t, t->entries + 1);
    for (size_t k = 0; k < t->nodes; k++) {
        for (int64_t e = t->first[k]; e < t->first[k + 1]; e++) {
            trees[e] = tree[k];
            nodes[e] = (int64_t)k - t->roots[tree[k]];
        }
    }
    onnx_out_ints(out, base_printf(out->arena, "%s_treeids", kind), trees, t->entries);
    onnx_out_ints(out, base_printf(out->arena, "%s_nodeids", kind), nodes, t->entries);
    onnx_out_ints(out, base_printf(out->arena, "%s_ids", kind), t->target, t->entries);
    put_numbers(out, base_printf(out->arena, "%s_weights", kind), type, t->weight, t->entries);
}

static void put_trees(onnx_out *out, const onnx_step *s) {
    const char *kind = s->a ? "class" : "target";
    base_type type;
    table t;
    size_t base_count;
    if (!tables_of(out, &t, &type)) {
        return;
    }
    const int64_t *tree = trees_of(out, &t);
    const double *base = onnx_out_float_list(out, type, &base_count);
    const ir_attr *post = onnx_out_attr(out, "post_transform", IR_TEXT), *n = onnx_out_attr(out, "targets", IR_INT);
    const ir_attr *aggregate = s->a ? NULL : onnx_out_attr(out, "aggregate", IR_TEXT);
    if (!s->a && onnx_out_output(out, 0)->type != BASE_F32) {
        onnx_out_cannot(out, "its output is not of type f32");
    }
    if (out->why || !tree || !post || !n) {
        return;
    }
    put_nodes(out, &t, tree, type);
    put_entries(out, kind, &t, tree, type);
    if (base) {
        put_numbers(out, "base_values", type, base, base_count);
    }
    if (strcmp(post->v.text, "NONE") != 0) {
        onnx_out_text(out, "post_transform", post->v.text);
    }
    if (s->a) {
        (void)onnx_out_attr(out, "binary", IR_INT); /* these follow from the tables, too */
        (void)onnx_out_attr(out, "positive", IR_INT);
        onnx_put_list_as_ints(out, "classlabels_int64s");
        return;
    }
    onnx_out_int(out, "n_targets", n->v.i);
    if (strcmp(aggregate->v.text, "SUM") != 0) {
        onnx_out_text(out, "aggregate_function", aggregate->v.text);
    }
}
const onnx_step_kind onnx_step_trees = {"TREES", make_trees, put_trees};

/* ---- version 5: branches and leaves by number, and sets ---- */

/* The sets of branches by member, in the order of the branches, each behind the one before and a NaN. */
static bool read_sets(onnx_op *op, const table *t, const numbers *members, int64_t *span, double *set, size_t *n) {
    size_t at = 0;
    *n = 0;
    for (size_t k = 0; k < t->nodes; k++) {
        span[k] = (int64_t)*n;
        for (; t->mode[k] == MODE_MEMBER && at < members->n && members->at[at] == members->at[at]; at++) {
            set[(*n)++] = members->at[at];
        }
        at += t->mode[k] == MODE_MEMBER ? 1 : 0;
    }
    span[t->nodes] = (int64_t)*n;
    if (at < members->n) {
        onnx_op_error(op, "membership_values: there are more sets than branches that ask for one");
    }
    return !onnx_op_failed(op);
}

/* Where a branch goes on. */
static int64_t child(onnx_op *op, int64_t id, int64_t is_leaf, size_t branches, size_t leaves) {
    if (id < 0 || (uint64_t)id >= (is_leaf ? leaves : branches)) {
        onnx_op_error(op, "a branch leads to %s %lld, and there are %zu", is_leaf ? "leaf" : "node", (long long)id,
                      is_leaf ? leaves : branches);
        return 0;
    }
    return is_leaf ? (int64_t)branches + id : id;
}

static const char *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};

static void make_trees_5(onnx_op *op, const onnx_step *s) {
    const numbers modes = numbers_of(op, "nodes_modes", true), splits = numbers_of(op, "nodes_splits", true);
    const numbers weights = numbers_of(op, "leaf_weights", true), members = numbers_of(op, "membership_values", true);
    const size_t branches = modes.n, leaves = weights.n;
    size_t root_count = 0;
    const int64_t *roots = onnx_op_ints(op, "tree_roots", &root_count);
    const int64_t *features = ints_of(op, "nodes_featureids", branches, true);
    const int64_t *yes = ints_of(op, "nodes_truenodeids", branches, true),
                  *no = ints_of(op, "nodes_falsenodeids", branches, true);
    const int64_t *yes_leaf = ints_of(op, "nodes_trueleafs", branches, true);
    const int64_t *no_leaf = ints_of(op, "nodes_falseleafs", branches, true);
    const int64_t *missing = ints_of(op, "nodes_missing_value_tracks_true", branches, false);
    const int64_t *ids = ints_of(op, "leaf_targetids", leaves, true);
    const int64_t targets = onnx_op_int(op, "n_targets", 1), transform = onnx_op_int(op, "post_transform", 0),
                  aggregate = onnx_op_int(op, "aggregate_function", 1);
    (void)s;
    (void)numbers_of(op, "nodes_hitrates", true);
    if (!onnx_op_failed(op) && (!roots || splits.n != branches || targets < 1 || targets > INT32_MAX || transform < 0 ||
                                transform > 4 || aggregate < 0 || aggregate > 3)) {
        onnx_op_error(op,
                      "it has no roots, or nodes_splits, n_targets, post_transform or aggregate_function do not fit");
    }
    table t = new_table(op, branches + leaves, leaves);
    for (size_t k = 0; k < branches && !onnx_op_failed(op); k++) {
        t.mode[k] = (int64_t)modes.at[k];
        t.feature[k] = features[k];
        t.value[k] = splits.at[k];
        t.missing[k] = missing ? missing[k] != 0 : 0;
        t.yes[k] = child(op, yes[k], yes_leaf[k], branches, leaves);
        t.no[k] = child(op, no[k], no_leaf[k], branches, leaves);
        if (!(modes.at[k] >= 0 && modes.at[k] <= MODE_MEMBER) || features[k] < 0 || features[k] > INT32_MAX) {
            onnx_op_error(op, "node %zu has no feature, or none of the modes", k);
        }
    }
    for (size_t k = 0; k < leaves && !onnx_op_failed(op); k++) {
        t.mode[branches + k] = MODE_LEAF;
        t.first[branches + k + 1] = (int64_t)k + 1;
        t.target[k] = ids[k];
        t.weight[k] = weights.at[k];
        if (ids[k] < 0 || ids[k] >= targets) {
            onnx_op_error(op, "leaf_targetids: %lld is none of %lld targets", (long long)ids[k], (long long)targets);
        }
    }
    t.roots = BASE_NEWS(op->r->arena, int64_t, root_count + 1);
    t.root_count = root_count;
    t.most = 1;
    for (size_t k = 0; k < root_count && !onnx_op_failed(op); k++) {
        t.roots[k] = child(op, roots[k], 0, branches, leaves);
    }
    int64_t *span = BASE_NEWS(op->r->arena, int64_t, t.nodes + 2);
    double *set = BASE_NEWS(op->r->arena, double, members.n + 1);
    size_t set_count = 0;
    if (onnx_op_failed(op) || !measure(op, &t) || !read_sets(op, &t, &members, span, set, &set_count)) {
        return;
    }
    const base_type type = onnx_op_input(op, 0)->type;
    put_table(op, &t, type);
    onnx_op_add_absent(op);
    if (members.given) {
        add(op, "span", BASE_I64, t.nodes + 1, span);
        add_numbers(op, "members", type, set_count, set);
    }
    ir_attr_int(op->r->m, op->node, "targets", targets);
    ir_attr_text(op->r->m, op->node, "aggregate", aggregates[aggregate]);
    ir_attr_text(op->r->m, op->node, "post_transform", transforms[transform]);
    onnx_graph_of(op->r, op->scope)->tensors.at[op->outputs[0]].type = type;
}
/* Where a branch goes on: the number of the branch, or of the leaf. */
static const int64_t *put_children(onnx_out *out, const int64_t *to, size_t branches, const char *leaf_attr) {
    int64_t *id = BASE_NEWS(out->arena, int64_t, branches + 1), *is_leaf = BASE_NEWS(out->arena, int64_t, branches + 1);
    for (size_t k = 0; k < branches; k++) {
        is_leaf[k] = to[k] >= (int64_t)branches;
        id[k] = is_leaf[k] ? to[k] - (int64_t)branches : to[k];
    }
    onnx_out_ints(out, leaf_attr, is_leaf, branches);
    return id;
}

static int64_t place_of(const char *const *list, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(list[i], text)) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* The sets of branches, each with a NaN behind it. */
static void put_sets(onnx_out *out, const table *t, size_t branches, base_type type) {
    size_t n_span, n, at = 0;
    const int64_t *span = onnx_out_int_list(out, &n_span);
    const double *set = onnx_out_float_list(out, type, &n);
    double *list = BASE_NEWS(out->arena, double, n + branches + 1);
    if (!span) {
        return;
    }
    for (size_t k = 0; k < branches && !out->why; k++) {
        if (n_span != t->nodes + 1 || span[k] < 0 || span[k + 1] < span[k] || span[k + 1] > (int64_t)n || !set) {
            onnx_out_cannot(out, "its tables do not fit each other");
        }
        for (int64_t i = span[k]; i < span[k + 1] && !out->why && at < n + branches; i++) {
            list[at++] = set[i];
        }
        if (t->mode[k] == MODE_MEMBER) {
            list[at++] = (double)NAN;
        }
    }
    if (!out->why) {
        onnx_out_tensor(out, "membership_values", type, list, at);
    }
}

static void put_trees_5(onnx_out *out, const onnx_step *s) {
    base_type type;
    table t;
    size_t branches = 0, ignored;
    (void)s;
    if (!tables_of(out, &t, &type)) {
        return;
    }
    const ir_attr *post = onnx_out_attr(out, "post_transform", IR_TEXT), *n = onnx_out_attr(out, "targets", IR_INT);
    const ir_attr *aggregate = onnx_out_attr(out, "aggregate", IR_TEXT);
    const double *base = onnx_out_float_list(out, type, &ignored);
    while (branches < t.nodes && t.mode[branches] != MODE_LEAF) {
        branches++;
    }
    bool fits = !base && type == onnx_out_input(out, 0)->type && type == onnx_out_output(out, 0)->type;
    for (size_t k = 0; k < t.nodes && fits; k++) {
        fits =
            (t.mode[k] == MODE_LEAF) == (k >= branches) && t.first[k] == (k < branches ? 0 : (int64_t)(k - branches));
    }
    for (size_t k = 0; k < t.root_count && fits; k++) {
        fits = t.roots[k] < (int64_t)branches;
    }
    if (!fits || t.entries != t.nodes - branches || !post || !n || !aggregate) {
        onnx_out_cannot(out, "it has base values, leaves of several weights, or trees of one leaf");
        return;
    }
    double *modes = BASE_NEWS(out->arena, double, branches + 1);
    for (size_t k = 0; k < branches; k++) {
        modes[k] = (double)t.mode[k];
    }
    onnx_out_ints(out, "tree_roots", t.roots, t.root_count);
    onnx_out_tensor(out, "nodes_modes", BASE_U8, modes, branches);
    onnx_out_ints(out, "nodes_featureids", t.feature, branches);
    onnx_out_tensor(out, "nodes_splits", type, t.value, branches);
    onnx_out_ints(out, "nodes_truenodeids", put_children(out, t.yes, branches, "nodes_trueleafs"), branches);
    onnx_out_ints(out, "nodes_falsenodeids", put_children(out, t.no, branches, "nodes_falseleafs"), branches);
    if (any_set(t.missing, branches)) {
        onnx_out_ints(out, "nodes_missing_value_tracks_true", t.missing, branches);
    }
    put_sets(out, &t, branches, type);
    onnx_out_ints(out, "leaf_targetids", t.target, t.entries);
    onnx_out_tensor(out, "leaf_weights", type, t.weight, t.entries);
    onnx_out_int(out, "n_targets", n->v.i);
    onnx_out_int(out, "post_transform", place_of(transforms, 5, post->v.text));
    onnx_out_int(out, "aggregate_function", place_of(aggregates, 4, aggregate->v.text));
}
const onnx_step_kind onnx_step_trees_5 = {"TREES_5", make_trees_5, put_trees_5};
