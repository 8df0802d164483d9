/* program.c - the hash-consed node table of a typed program and its builders.
 *
 * Takes operands that exist. Gives the one node that means the expression: constants folded by words.c, identities that
 * hold for every value applied, commutative operands in one order. Does not use ranges (simplify.c does) and diagnoses
 * nothing.
 */
#include <assert.h>
#include <string.h>

#include "lang/program.h"
#include "lang/words.h"

typedef struct slot {
    lang_ref ref;  /* 0: free */
    uint32_t hash; /* of the node there: most others are told apart by it */
} slot;

struct lang_table {
    slot *slot;
    size_t capacity; /* a power of two; 0: there is none yet */
    bool full;
};

#define DEFAULT_NODE_LIMIT ((uint64_t)1 << 20)
#define FIRST_CAPACITY 256u

lang_program *lang_program_new(base_arena *arena, const char *name) {
    lang_program *p = BASE_NEW(arena, lang_program);
    p->arena = arena;
    p->name = base_strdup(arena, name);
    p->node_limit = DEFAULT_NODE_LIMIT;
    p->table = BASE_NEW(arena, struct lang_table);
    p->table->capacity = FIRST_CAPACITY;
    p->table->slot = BASE_NEWS(arena, slot, p->table->capacity);
    (void)BASE_PUSH(arena, &p->nodes);
    return p;
}

/* ---- in another arena ---- */

static const void *keep(base_arena *to, const base_arena *from, const void *bytes, size_t n) {
    return bytes != NULL && base_arena_holds(from, bytes) ? memcpy(base_alloc(to, n, 1), bytes, n) : bytes;
}

static const char *keep_text(base_arena *to, const base_arena *from, const char *text) {
    return text != NULL ? keep(to, from, text, strlen(text) + 1) : NULL;
}

#define KEEP_LIST(to, copy, list)                                                                                      \
    ((copy)->list.at = base_alloc((to), (copy)->list.n, sizeof *(copy)->list.at), (copy)->list.cap = (copy)->list.n,   \
     (void)((copy)->list.n > 0 ? memcpy((copy)->list.at, p->list.at, (copy)->list.n * sizeof *(copy)->list.at)         \
                               : NULL))

static void keep_tensor(base_arena *to, const base_arena *from, lang_tensor *t) {
    uint64_t elements = 1, bytes = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        elements *= (uint64_t)t->dim[k];
    }
    t->name = keep_text(to, from, t->name);
    if (t->data != NULL && base_type_bytes(t->type, elements, &bytes)) {
        t->data = keep(to, from, t->data, (size_t)bytes);
    }
}

static void keep_stage(base_arena *to, const base_arena *from, lang_stage *s) {
    lang_variable *vars = BASE_NEWS(to, lang_variable, s->var_count);
    for (uint32_t k = 0; k < s->var_count; k++) {
        vars[k] = s->vars[k];
        vars[k].name = keep_text(to, from, vars[k].name);
    }
    s->vars = vars;
    s->place.file = keep_text(to, from, s->place.file);
    s->place.path = keep_text(to, from, s->place.path);
    s->place.source = keep(to, from, s->place.source, s->place.source_size + 1);
}

lang_program *lang_keep(base_arena *arena, const base_arena *from, const lang_program *p) {
    lang_program *copy = BASE_NEW(arena, lang_program);
    *copy = *p;
    copy->arena = arena;
    copy->name = keep_text(arena, from, p->name);
    copy->external = keep_text(arena, from, p->external);
    copy->table = BASE_NEW(arena, struct lang_table);
    copy->table->full = p->table->full;
    KEEP_LIST(arena, copy, nodes);
    KEEP_LIST(arena, copy, operands);
    KEEP_LIST(arena, copy, tensors);
    KEEP_LIST(arena, copy, stages);
    KEEP_LIST(arena, copy, inputs);
    KEEP_LIST(arena, copy, outputs);
    for (size_t i = 0; i < copy->tensors.n; i++) {
        keep_tensor(arena, from, &copy->tensors.at[i]);
    }
    for (size_t i = 0; i < copy->stages.n; i++) {
        keep_stage(arena, from, &copy->stages.at[i]);
    }
    return copy;
}

bool lang_full(const lang_program *p) {
    return p->table->full;
}

uint32_t lang_tensor_add(lang_program *p, const lang_tensor *t) {
    *BASE_PUSH(p->arena, &p->tensors) = *t;
    return (uint32_t)(p->tensors.n - 1);
}

/* ---- the table ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Where a node stands in the table is seen by nobody, and how many nodes a program may have is bounded: no keyed hash is needed. */
static uint64_t hash_node(const lang_node *n, const lang_ref *operands) {
    uint64_t value, hash = mix(0, (uint64_t)n->kind | (uint64_t)n->type << 8 | (uint64_t)n->code << 16 |
                                      (uint64_t)n->has_fill << 24 | (uint64_t)n->flat << 25 | (uint64_t)n->index << 32);
    memcpy(&value, &n->value, sizeof value);
    hash = mix(hash, value);
    for (uint32_t k = 0; k < n->count; k++) {
        hash = mix(hash, operands[k] + UINT64_C(1));
    }
    return hash;
}

static bool same_node(const lang_program *p, lang_ref r, const lang_node *n, const lang_ref *operands) {
    const lang_node *m = lang_at(p, r);
    return m->kind == n->kind && m->type == n->type && m->code == n->code && m->has_fill == n->has_fill &&
           m->flat == n->flat && m->index == n->index && m->count == n->count &&
           memcmp(&m->value, &n->value, sizeof n->value) == 0 &&
           (n->count == 0 || memcmp(p->operands.at + m->first, operands, n->count * sizeof *operands) == 0);
}

static slot *find_slot(const lang_program *p, const lang_node *n, const lang_ref *operands, uint32_t hash) {
    const size_t mask = p->table->capacity - 1;
    slot *slots = p->table->slot;
    size_t i = hash & mask;
    while (slots[i].ref != 0 && (slots[i].hash != hash || !same_node(p, slots[i].ref, n, operands))) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

static void put(struct lang_table *t, lang_ref ref, uint32_t hash) {
    size_t i = hash & (t->capacity - 1);
    while (t->slot[i].ref != 0) {
        i = (i + 1) & (t->capacity - 1);
    }
    t->slot[i] = (slot){ref, hash};
}

static void grow_table(lang_program *p) {
    struct lang_table *t = p->table;
    const slot *old = t->slot;
    const size_t n = t->capacity;
    do {
        t->capacity = t->capacity > 0 ? 2 * t->capacity : FIRST_CAPACITY;
    } while (p->nodes.n > t->capacity);
    t->slot = BASE_NEWS(p->arena, slot, t->capacity);
    for (size_t i = 0; i < n; i++) {
        if (old[i].ref != 0) {
            put(t, old[i].ref, old[i].hash);
        }
    }
    for (lang_ref r = 1; n == 0 && r < p->nodes.n; r++) { /* of a program that was kept */
        const lang_node *x = lang_at(p, r);
        put(t, r, (uint32_t)hash_node(x, p->operands.at + x->first));
    }
}

/* operands may point into p->operands: they are copied out first when that can move. */
static lang_ref intern(lang_program *p, lang_node n, const lang_ref *operands) {
    if (p->table->capacity == 0) { /* of a program that was kept */
        grow_table(p);
    }
    const uint32_t hash = (uint32_t)hash_node(&n, operands);
    slot *at = find_slot(p, &n, operands, hash);
    if (at->ref != 0) {
        return at->ref;
    }
    if (p->table->full || p->nodes.n >= p->node_limit) {
        p->table->full = true;
        return 0;
    }
    n.first = (uint32_t)p->operands.n;
    for (uint32_t k = 0; k < n.count; k++) {
        lang_ref o = operands[k];
        assert(o < p->nodes.n);
        *BASE_PUSH(p->arena, &p->operands) = o;
    }
    lang_ref r = (lang_ref)p->nodes.n;
    *BASE_PUSH(p->arena, &p->nodes) = n;
    *at = (slot){r, hash};
    if (p->nodes.n * 2 > p->table->capacity) {
        grow_table(p);
    }
    return r;
}

/* ---- leaves ---- */

lang_ref lang_const(lang_program *p, base_type type, base_value v) {
    lang_node n = {.kind = LANG_CONST, .type = (uint8_t)type, .value = lang_wrap(type, v)};
    if (base_type_is_float(type) && n.value.f != n.value.f) {
        n.value.u = UINT64_C(0x7ff8000000000000); /* one NaN */
    }
    return intern(p, n, NULL);
}

lang_ref lang_int(lang_program *p, base_type type, int64_t v) {
    base_value b = {.i = v};
    if (base_type_is_float(type)) {
        b.f = (double)v;
    } else if (type == BASE_BOOL) {
        b.u = v != 0;
    }
    return lang_const(p, type, b);
}

lang_ref lang_float(lang_program *p, base_type type, double v) {
    assert(base_type_is_float(type));
    return lang_const(p, type, (base_value){.f = v});
}

lang_ref lang_var(lang_program *p, uint32_t number, lang_ref extent) {
    if (extent == 0) {
        return 0;
    }
    assert(number < LANG_MAX_VARS);
    lang_node n = {.kind = LANG_VAR, .type = BASE_I64, .index = number, .count = 1};
    n.free = (UINT64_C(1) << number) | lang_at(p, extent)->free;
    return intern(p, n, &extent);
}

/* ---- small questions ---- */

static bool is_const(const lang_program *p, lang_ref r) {
    return lang_at(p, r)->kind == LANG_CONST;
}

static bool is_integer_type(uint8_t type) {
    return base_type_is_int((base_type)type);
}

static bool is_int_value(const lang_program *p, lang_ref r, int64_t v) {
    const lang_node *n = lang_at(p, r);
    return n->kind == LANG_CONST && is_integer_type(n->type) && n->value.i == v;
}

static bool is_bool(const lang_program *p, lang_ref r, bool v) {
    const lang_node *n = lang_at(p, r);
    return n->kind == LANG_CONST && n->type == BASE_BOOL && (n->value.u != 0) == v;
}

static bool is_word(const lang_program *p, lang_ref r, lang_word w) {
    const lang_node *n = lang_at(p, r);
    return n->kind == LANG_WORD_ && n->code == (uint8_t)w;
}

/* ---- reads ---- */

static bool fold_read(lang_program *p, const lang_tensor *t, const lang_ref *index, uint32_t n, bool flat,
                      lang_ref *fill, lang_ref *out) {
    uint64_t element = 0, total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0) {
            return false;
        }
        total *= (uint64_t)t->dim[k];
    }
    bool inside = true;
    for (uint32_t k = 0; k < n; k++) {
        if (!is_const(p, index[k])) {
            return false;
        }
        int64_t i = lang_at(p, index[k])->value.i;
        uint64_t extent = flat ? total : (uint64_t)t->dim[k];
        if (i < 0 || (uint64_t)i >= extent) {
            inside = false;
            break;
        }
        element = element * extent + (uint64_t)i;
    }
    if (!inside) {
        *out = *fill;
        return *fill != 0;
    }
    *fill = 0;
    if (t->data == NULL) {
        return false;
    }
    *out = lang_const(p, t->type, base_load(t->type, t->data, element));
    return true;
}

static lang_ref make_read(lang_program *p, uint32_t tensor, const lang_ref *index, uint32_t n, bool flat,
                          lang_ref fill) {
    lang_ref operands[LANG_MAX_RANK + 1] = {0};
    const lang_tensor t = p->tensors.at[tensor];
    assert(n <= LANG_MAX_RANK);
    lang_node node = {.kind = LANG_READ, .type = (uint8_t)t.type, .index = tensor, .flat = flat};
    for (uint32_t k = 0; k < n; k++) {
        if (index[k] == 0) {
            return 0;
        }
        assert(lang_at(p, index[k])->type == BASE_I64);
        operands[k] = index[k];
        node.free |= lang_at(p, index[k])->free;
    }
    lang_ref folded = 0;
    if (fold_read(p, &t, operands, n, flat, &fill, &folded)) {
        return folded;
    }
    node.count = n;
    if (fill != 0) {
        assert(lang_at(p, fill)->type == t.type);
        operands[node.count++] = fill;
        node.has_fill = true;
        node.free |= lang_at(p, fill)->free;
    }
    return intern(p, node, operands);
}

lang_ref lang_read(lang_program *p, uint32_t tensor, const lang_ref *index, uint32_t rank, lang_ref fill) {
    assert(rank == p->tensors.at[tensor].rank);
    return make_read(p, tensor, index, rank, false, fill);
}

lang_ref lang_read_flat(lang_program *p, uint32_t tensor, lang_ref index, lang_ref fill) {
    return make_read(p, tensor, &index, 1, true, fill);
}

/* ---- words ---- */

static bool commutes(lang_word w) {
    switch (w) {
    case LANG_ADD:
    case LANG_MUL:
    case LANG_MIN:
    case LANG_MAX:
    case LANG_EQ:
    case LANG_BITAND:
    case LANG_BITOR:
    case LANG_BITXOR:
    case LANG_SRDHM:
    case LANG_SRDHM16:
        return true;
    default:
        return false;
    }
}

/* Constants last, older nodes first: one spelling for each sum and product. */
static void order_operands(const lang_program *p, lang_ref *a) {
    bool swap = is_const(p, a[0]) != is_const(p, a[1]) ? is_const(p, a[0]) : a[0] > a[1];
    if (swap) {
        lang_ref t = a[0];
        a[0] = a[1];
        a[1] = t;
    }
}

/* Integer arithmetic wraps, so it is a ring: constants may be gathered. Returns 0 when nothing applies. */
static lang_ref integer_identity(lang_program *p, lang_word w, base_type type, lang_ref a, lang_ref b) {
    if (w == LANG_SUB && is_const(p, b)) {
        base_value negated = {.u = 0 - lang_at(p, b)->value.u};
        return lang_apply2(p, LANG_ADD, type, a, lang_const(p, type, negated));
    }
    if (w == LANG_SUB && a == b) {
        return lang_int(p, type, 0);
    }
    if ((w == LANG_ADD || w == LANG_MUL) && is_const(p, b)) {
        if (is_int_value(p, b, w == LANG_MUL)) {
            return a;
        }
        if (w == LANG_MUL && is_int_value(p, b, 0)) {
            return b;
        }
        if (is_word(p, a, w) && is_const(p, lang_operand(p, a, 1))) {
            lang_ref inner = lang_operand(p, a, 0);
            lang_ref c = lang_apply2(p, w, type, lang_operand(p, a, 1), b);
            return lang_apply2(p, w, type, inner, c);
        }
    }
    if ((w == LANG_DIV || w == LANG_TDIV) && is_int_value(p, b, 1)) {
        return a;
    }
    if ((w == LANG_MOD || w == LANG_TREM) && is_int_value(p, b, 1)) {
        return lang_int(p, type, 0);
    }
    if ((w == LANG_SHL || w == LANG_SHR) && is_int_value(p, b, 0)) {
        return a;
    }
    return 0;
}

static lang_ref compare_identity(lang_program *p, lang_word w, lang_ref a, lang_ref b) {
    if (a == b && !base_type_is_float((base_type)lang_at(p, a)->type)) {
        return lang_int(p, BASE_BOOL, w != LANG_LT);
    }
    const base_type type = (base_type)lang_at(p, a)->type;
    const bool is_unsigned = base_type_is_int(type) && !base_type_is_signed(type); /* of 64 bits no interval says it */
    if (is_unsigned && ((w == LANG_LT && is_int_value(p, b, 0)) || (w == LANG_LE && is_int_value(p, a, 0)))) {
        return lang_int(p, BASE_BOOL, w == LANG_LE);
    }
    return 0;
}

static lang_ref logic_identity(lang_program *p, lang_word w, const lang_ref *a) {
    switch (w) {
    case LANG_AND:
    case LANG_OR: {
        bool absorbing = w == LANG_OR;
        if (is_bool(p, a[0], absorbing) || is_bool(p, a[1], !absorbing) || a[0] == a[1]) {
            return a[0];
        }
        return is_bool(p, a[0], !absorbing) || is_bool(p, a[1], absorbing) ? a[1] : 0;
    }
    case LANG_NOT:
        return is_word(p, a[0], LANG_NOT) ? lang_operand(p, a[0], 0) : 0;
    case LANG_IF:
        if (a[1] == a[2]) {
            return a[1];
        }
        return is_const(p, a[0]) ? a[is_bool(p, a[0], true) ? 1 : 2] : 0;
    default:
        return 0;
    }
}

static lang_ref identity(lang_program *p, lang_word w, base_type type, const lang_ref *a, uint32_t n) {
    lang_ref r = logic_identity(p, w, a);
    if (r != 0) {
        return r;
    }
    if ((w == LANG_CAST || w == LANG_SAT || w == LANG_BITS) && lang_at(p, a[0])->type == (uint8_t)type) {
        return a[0];
    }
    if ((w == LANG_MIN || w == LANG_MAX) && a[0] == a[1]) {
        return a[0];
    }
    if (n == 2 && (w == LANG_LT || w == LANG_LE || w == LANG_EQ)) {
        return compare_identity(p, w, a[0], a[1]);
    }
    if (n == 2 && is_integer_type(lang_at(p, a[0])->type)) {
        return integer_identity(p, w, type, a[0], a[1]);
    }
    return 0;
}

lang_ref lang_apply(lang_program *p, lang_word w, base_type type, const lang_ref *args, uint32_t n) {
    lang_ref a[3] = {0};
    base_value v[3] = {{0}};
    bool all_const = true;
    assert(n >= 1 && n <= 3);
    for (uint32_t k = 0; k < n; k++) {
        if (args[k] == 0) {
            return 0;
        }
        a[k] = args[k];
        v[k] = lang_at(p, a[k])->value;
        all_const = all_const && is_const(p, a[k]);
    }
    if (commutes(w)) {
        order_operands(p, a);
    }
    lang_ref r = identity(p, w, type, a, n);
    if (r != 0) {
        return r;
    }
    if (all_const) {
        return lang_const(p, type, lang_word_value(w, type, (base_type)lang_at(p, args[0])->type, v));
    }
    lang_node node = {.kind = LANG_WORD_, .type = (uint8_t)type, .code = (uint8_t)w, .count = n};
    for (uint32_t k = 0; k < n; k++) {
        node.free |= lang_at(p, a[k])->free;
    }
    return intern(p, node, a);
}

lang_ref lang_apply1(lang_program *p, lang_word w, base_type type, lang_ref a) {
    return lang_apply(p, w, type, &a, 1);
}

lang_ref lang_apply2(lang_program *p, lang_word w, base_type type, lang_ref a, lang_ref b) {
    lang_ref args[2] = {a, b};
    return lang_apply(p, w, type, args, 2);
}

/* ---- reductions ---- */

lang_ref lang_reduce(lang_program *p, lang_reduction r, base_type type, const lang_ref *vars, uint32_t n,
                     lang_ref guard, lang_ref body, lang_ref otherwise) {
    lang_ref operands[LANG_MAX_VARS + 3];
    uint64_t bound = 0, inner = 0;
    bool empty = guard != 0 && is_bool(p, guard, false);
    if (body == 0) {
        return 0;
    }
    assert(n >= 1 && n <= LANG_MAX_VARS);
    for (uint32_t k = 0; k < n; k++) {
        if (vars[k] == 0) {
            return 0;
        }
        operands[k] = vars[k];
        bound |= UINT64_C(1) << lang_at(p, vars[k])->index;
        inner |= lang_at(p, vars[k])->free;
        const lang_node *extent = lang_at(p, lang_operand(p, vars[k], 0));
        empty = empty || (extent->kind == LANG_CONST && extent->value.i <= 0);
    }
    if (empty) {
        return otherwise != 0 ? otherwise : lang_const(p, type, lang_identity(r, type));
    }
    if (guard != 0 && is_bool(p, guard, true)) {
        guard = 0;
    }
    operands[n] = guard;
    operands[n + 1] = body;
    operands[n + 2] = otherwise;
    inner |= lang_at(p, body)->free | (guard != 0 ? lang_at(p, guard)->free : 0);
    lang_node node = {.kind = LANG_REDUCE, .type = (uint8_t)type, .code = (uint8_t)r, .count = n + 3};
    node.free = (inner & ~bound) | (otherwise != 0 ? lang_at(p, otherwise)->free : 0);
    return intern(p, node, operands);
}
