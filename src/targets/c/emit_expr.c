/* emit_expr.c - expressions of a stage as C: scopes, shared values, affine index arithmetic, reads and stores.
 *
 * Takes nodes. Gives texts. A value that is used twice, or that does not change in the loop at hand, is computed once,
 * in the outermost scope where its variables are known; nothing that may fail or costs much leaves an arm of a
 * condition.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

enum { MAX_DEPTH = 3000, MAX_INLINE = 96 };

/* ---- scopes ---- */

static void indent(base_text *t, int depth) {
    for (int k = 0; k < depth; k++) {
        base_puts(t, "    ");
    }
}

void c_line(c_scope *s, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *line = base_vprintf(s->text.arena, format, list);
    va_end(list);
    indent(&s->text, s->depth);
    base_puts(&s->text, line);
    base_puts(&s->text, "\n");
}

c_scope *c_scope_open(c_unit *u, bool conditional) {
    c_scope *s = BASE_NEW(u->arena, c_scope);
    *s = (c_scope){.outer = u->scope, .text = {.arena = u->arena}, .conditional = conditional, .open = true};
    s->depth = u->scope == NULL ? 1 : u->scope->depth + 1;
    u->scope = s;
    return s;
}

void c_scope_close(c_unit *u) {
    u->scope->open = false;
    u->scope = u->scope->outer;
    c_facts_drop(u);
}

void c_block_open(c_unit *u, bool conditional, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char *head = base_vprintf(u->arena, format, list);
    va_end(list);
    c_scope *s = c_scope_open(u, conditional);
    indent(&s->text, s->depth - 1);
    base_put(&s->text, "%s%s{\n", head, head[0] ? " " : "");
}

void c_block_close(c_unit *u, const char *tail) {
    c_scope *s = u->scope;
    c_scope_close(u);
    base_putn(&u->scope->text, s->text.at, s->text.n);
    indent(&u->scope->text, s->depth - 1);
    base_put(&u->scope->text, "}%s\n", tail);
}

bool c_scope_encloses(const c_scope *outer, const c_scope *inner) {
    while (inner != NULL && inner != outer) {
        inner = inner->outer;
    }
    return inner == outer;
}

const char *c_name(c_unit *u, char letter) {
    return base_printf(u->arena, "%c%" PRIu32, letter, u->names++);
}

/* ---- values ---- */

const char *c_wrap(base_arena *arena, c_value v, c_precedence limit) {
    return v.precedence <= limit ? v.text : base_printf(arena, "(%s)", v.text);
}

c_value c_wide(c_unit *u, c_value v) {
    if (!v.narrow) {
        return v;
    }
    return (c_value){base_printf(u->arena, "(int64_t)%s", c_wrap(u->arena, v, C_UNARY)), C_UNARY, false};
}

bool c_narrow(c_unit *u, lang_ref r) {
    if (lang_at(u->p, r)->type != BASE_I64) {
        return false;
    }
    lang_range x = c_range(u, r);
    return x.known && x.lo >= INT32_MIN && x.hi <= INT32_MAX;
}

lang_range c_range(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    if (n->kind == LANG_CONST && (n->type != BASE_U64 || n->value.i >= 0)) {
        return (lang_range){n->value.i, n->value.i, true};
    }
    lang_range x = lang_range_of(u->ranges, u->stage, r);
    int64_t lo;
    uint64_t hi;
    if (!x.known && n->type != BASE_U64 && !base_type_is_float((base_type)n->type)) {
        base_type_range((base_type)n->type, &lo, &hi);
        x = (lang_range){lo, (int64_t)hi, true};
    }
    return x;
}

const char *c_node_type(c_unit *u, lang_ref r, c_value v) {
    base_type t = (base_type)lang_at(u->p, r)->type;
    return t == BASE_I64 && v.narrow ? "int32_t" : c_value_type(t);
}

c_value c_local(c_unit *u, c_scope *s, const char *ctype, const char *text) {
    const char *line = base_printf(u->arena, "const %s = %s", ctype, text);
    for (size_t k = u->locals.n; k-- > 0;) {
        const bool purpose = u->locals.at[k].purpose == u->purpose || !u->m->plan->generic;
        if (purpose && u->locals.at[k].scope == s && strcmp(u->locals.at[k].text, line) == 0) {
            return (c_value){u->locals.at[k].name, C_PRIMARY, false};
        }
    }
    const char *name = c_name(u, 'x');
    c_line(s, "const %s %s = %s;", ctype, name, text);
    *BASE_PUSH(u->arena, &u->locals) = (c_shared){s, line, name, u->purpose};
    return (c_value){name, C_PRIMARY, false};
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The number of a name that c_local gave and that begins at text; UINT32_MAX: none does. *end: behind the identifier, or at the
 * next character. */
static uint32_t local_number(const char *text, const char **end) {
    size_t n = 1;
    uint32_t number = 0;
    while (c_in_name(text[0]) && !is_digit(text[0]) && c_in_name(text[n])) {
        n++;
    }
    *end = text + n;
    if (*text != 'x') {
        return UINT32_MAX;
    }
    for (size_t k = 1; k < n; k++) {
        if (!is_digit(text[k]) || number > UINT32_MAX / 10 - 1) {
            return UINT32_MAX;
        }
        number = number * 10 + (uint32_t)(text[k] - '0');
    }
    return n > 1 ? number : UINT32_MAX;
}

static void count_reads(const c_unit *u, const char *text, uint32_t *reads, uint32_t by) {
    for (const char *end; *text != 0; text = end) {
        const uint32_t k = local_number(text, &end);
        if (k < u->names) {
            reads[k] += by;
        }
        /* a number's suffix is no name */
        end += is_digit(*text) ? strspn(end, "0123456789abcdefxABCDEFulULp.") : 0;
    }
}

void c_drop_unread(c_unit *u, base_text *text) {
    uint32_t *reads = BASE_NEWS(u->arena, uint32_t, u->names + 1u);
    bool *dropped = BASE_NEWS(u->arena, bool, u->names + 1u), any = false;
    const char *end;
    if (u->locals.n == 0) {
        return;
    }
    count_reads(u, text->at, reads, 1);
    for (size_t k = u->locals.n; k-- > 0;) { /* what reads a local comes after it */
        const c_shared *local = &u->locals.at[k];
        const uint32_t number = local_number(local->name, &end);
        if (reads[number] == 1) { /* where it is made */
            dropped[number] = any = true;
            count_reads(u, local->text, reads, UINT32_MAX);
        }
    }
    if (!any) {
        return;
    }
    base_text kept = {.arena = u->arena};
    for (const char *line = text->at; *line != 0; line = end) {
        const char *at = line + strspn(line, " "), *equals = strstr(at, " = ");
        end = strchr(line, '\n') + 1;
        while (equals != NULL && equals < end && equals > at && equals[-1] != ' ') {
            equals--;
        }
        const char *behind;
        const bool makes = equals != NULL && equals < end && strncmp(at, "const ", 6) == 0;
        const uint32_t number = makes ? local_number(equals, &behind) : UINT32_MAX;
        if (number >= u->names || !dropped[number]) {
            base_putn(&kept, line, (size_t)(end - line));
        }
    }
    *text = kept;
}

static bool is_trivial(const char *text) {
    return text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;
}

/* ---- facts of a stage's nodes ---- */

/* The index of extent k is below what a run has of it: a variable that runs to the same extent, less a constant. */
static bool below_open_extent(c_unit *u, lang_ref index, lang_ref extent) {
    lang_affine form;
    if (!lang_affine_of(u->p, index, &form) || form.constant > 0) {
        return false;
    }
    uint32_t var = 0;
    while (var < LANG_MAX_VARS && form.vars != UINT64_C(1) << var) {
        var++;
    }
    return var < u->stage->var_count && form.coefficient[var] == 1 && u->stage->vars[var].extent == extent;
}

static bool read_is_safe(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    const lang_tensor *t = &u->p->tensors.at[n->index];
    if (n->has_fill) {
        return true;
    }
    int64_t total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        total *= t->dim[k];
    }
    for (uint32_t k = 0; k < n->count; k++) {
        lang_range x = c_range(u, lang_operand(u->p, r, k));
        if (!x.known || x.lo < 0 || x.hi >= (n->flat ? total : t->dim[k]) ||
            (t->extent[k] != 0 && !below_open_extent(u, lang_operand(u->p, r, k), t->extent[k]))) {
            return false;
        }
    }
    return true;
}

static bool is_heavy(const lang_node *n) {
    if (n->kind == LANG_REDUCE) {
        return true;
    }
    if (n->kind != LANG_WORD_) {
        return false;
    }
    return (n->code >= LANG_EXP && n->code <= LANG_ERF && n->code != LANG_SQRT) || n->code == LANG_POW ||
           n->code == LANG_FMOD;
}

static void mark_reachable(c_unit *u, lang_ref root) {
    BASE_VEC(lang_ref) stack = {0};
    u->uses[root] = 1;
    *BASE_PUSH(u->arena, &stack) = root;
    while (stack.n > 0) {
        lang_ref r = stack.at[--stack.n];
        const lang_node *n = lang_at(u->p, r);
        for (uint32_t k = 0; k < n->count; k++) {
            lang_ref o = lang_operand(u->p, r, k);
            if (o != 0 && u->uses[o]++ == 0) {
                *BASE_PUSH(u->arena, &stack) = o;
            }
        }
    }
}

bool c_unit_stage(c_unit *u, const lang_stage *s) {
    size_t n = u->p->nodes.n;
    u->stage = s;
    memset(u->memo, 0, n * sizeof *u->memo);
    memset(u->uses, 0, n * sizeof *u->uses);
    memset(u->flags, 0, n * sizeof *u->flags);
    memset(u->merged, 0, sizeof u->merged);
    memset(u->var_text, 0, sizeof u->var_text);
    memset(u->var_scope, 0, sizeof u->var_scope);
    memset(u->var_wide, 0, sizeof u->var_wide);
    u->zero_vars = 0;
    u->facts.n = u->orders.n = 0;
    for (uint32_t k = 0; k < s->var_count; k++) {
        u->var_max[k] = s->vars[k].bound - 1;
    }
    mark_reachable(u, s->body);
    uint32_t *depth = BASE_NEWS(u->arena, uint32_t, n);
    for (lang_ref r = 1; r < n; r++) {
        if (u->uses[r] == 0) {
            continue;
        }
        const lang_node *node = lang_at(u->p, r);
        if (node->kind == LANG_READ && !read_is_safe(u, r)) {
            u->flags[r] |= C_UNSAFE;
        }
        if (is_heavy(node)) {
            u->flags[r] |= C_HEAVY;
        }
        for (uint32_t k = 0; k < node->count; k++) {
            lang_ref o = lang_operand(u->p, r, k);
            if (o != 0) {
                u->flags[r] |= u->flags[o];
                depth[r] = depth[o] >= depth[r] ? depth[o] + 1 : depth[r];
            }
        }
        if (depth[r] > MAX_DEPTH) {
            (void)base_error(u->m->diags, &s->place,
                             "the expression of this stage is nested too deeply to be written as C");
            return false;
        }
    }
    return true;
}

/* ---- affine forms ---- */

bool c_affine_range(c_unit *u, const lang_affine *a, int64_t *lo, int64_t *hi) {
    *lo = *hi = a->constant;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((a->vars >> k & 1) == 0 || (u->zero_vars >> k & 1) != 0) {
            continue;
        }
        int64_t end;
        if (__builtin_mul_overflow(a->coefficient[k], u->var_max[k], &end) ||
            __builtin_add_overflow(end < 0 ? *lo : *hi, end, end < 0 ? lo : hi)) {
            return false;
        }
    }
    return true;
}

bool c_affine_is_wide(c_unit *u, const lang_affine *a) {
    lang_affine sum = *a;
    int64_t lo, hi;
    sum.constant = a->constant < 0 ? -a->constant : a->constant;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        sum.coefficient[k] = a->coefficient[k] < 0 ? -a->coefficient[k] : a->coefficient[k];
    }
    return !c_affine_range(u, &sum, &lo, &hi) || hi > INT32_MAX;
}

static void put_term(c_unit *u, base_text *t, int64_t c, const char *factor, bool wide) {
    const char *cast = wide ? "(int64_t)" : "";
    bool first = t->n == 0;
    int64_t magnitude = c < 0 ? -c : c;
    base_puts(t, first ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + "));
    if (magnitude != 1) {
        base_put(t, "%s * ", c_constant(u->arena, wide ? BASE_I64 : BASE_I32, (base_value){.i = magnitude}));
        cast = "";
    }
    base_put(t, "%s%s", cast, factor);
}

c_value c_affine_text(c_unit *u, const lang_affine *a, bool wide) {
    uint32_t order[LANG_MAX_VARS], n = 0;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((a->vars >> k & 1) == 0 || a->coefficient[k] == 0 || (u->zero_vars >> k & 1) != 0) {
            continue;
        }
        uint32_t at = n++;
        for (; at > 0 && u->var_scope[order[at - 1]]->depth > u->var_scope[k]->depth; at--) {
            order[at] = order[at - 1];
        }
        order[at] = k;
    }
    const char *ctype = wide ? "int64_t" : "int32_t";
    base_text text = {.arena = u->arena};
    for (uint32_t k = 0; k < n; k++) {
        if (k > 0 && u->var_scope[order[k]] != u->var_scope[order[k - 1]] && !is_trivial(text.at)) {
            const char *name = c_local(u, u->var_scope[order[k - 1]], ctype, text.at).text;
            text = (base_text){.arena = u->arena};
            base_puts(&text, name);
        }
        put_term(u, &text, a->coefficient[order[k]], u->var_text[order[k]], wide);
    }
    if (a->constant != 0 || n == 0) {
        if (n == 0) {
            return (c_value){c_constant(u->arena, wide ? BASE_I64 : BASE_I32, (base_value){.i = a->constant}),
                             C_PRIMARY, !wide};
        }
        put_term(u, &text, a->constant < 0 ? -1 : 1,
                 c_constant(u->arena, wide ? BASE_I64 : BASE_I32,
                            (base_value){.i = a->constant < 0 ? -a->constant : a->constant}),
                 false);
    }
    c_value v = {text.at, is_trivial(text.at) ? C_PRIMARY : C_ADD, !wide};
    c_scope *last = u->var_scope[order[n - 1]];
    if (v.precedence != C_PRIMARY && last != u->scope && last->depth < u->scope->depth) {
        v.text = c_local(u, last, ctype, v.text).text;
        v.precedence = C_PRIMARY;
    }
    return v;
}

const char *c_address_text(c_unit *u, const lang_affine *a, bool wide, uint32_t purpose) {
    const uint32_t before = u->purpose;
    u->purpose = purpose;
    const char *text = c_affine_text(u, a, wide).text;
    u->purpose = before;
    return text;
}

c_value c_condition(c_unit *u, const lang_affine *form) {
    /* constants to the right: v1 >= 3 */
    lang_affine left = *form;
    left.constant = 0;
    bool wide = c_affine_is_wide(u, form);
    bool negative = true;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        negative = negative && ((left.vars >> k & 1) == 0 || left.coefficient[k] <= 0);
    }
    int64_t bound = -form->constant;
    if (negative) {
        for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
            left.coefficient[k] = -left.coefficient[k];
        }
        bound = form->constant;
    }
    const char *c = c_constant(u->arena, wide ? BASE_I64 : BASE_I32, (base_value){.i = bound});
    const char *text = c_wrap(u->arena, c_affine_text(u, &left, wide), C_ADD);
    return (c_value){base_printf(u->arena, "%s %s %s", text, negative ? "<=" : ">=", c), C_LOWEST, false};
}

/* ---- facts ---- */

void c_fact_add(c_unit *u, const lang_affine *form) {
    *BASE_PUSH(u->arena, &u->facts) = (c_fact){*form, u->scope};
}

void c_facts_drop(c_unit *u) {
    while (u->facts.n > 0 && !u->facts.at[u->facts.n - 1].scope->open) {
        u->facts.n--;
    }
    while (u->orders.n > 0 && !u->orders.at[u->orders.n - 1].scope->open) {
        u->orders.n--;
    }
}

static bool same_terms(const lang_affine *a, const lang_affine *b) {
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        int64_t x = (a->vars >> k & 1) != 0 ? a->coefficient[k] : 0,
                y = (b->vars >> k & 1) != 0 ? b->coefficient[k] : 0;
        if (x != y) {
            return false;
        }
    }
    return true;
}

bool c_fact_known(c_unit *u, const lang_affine *form) {
    int64_t lo, hi;
    if (c_affine_range(u, form, &lo, &hi) && lo >= 0) {
        return true;
    }
    for (size_t k = 0; k < u->facts.n; k++) {
        const c_fact *f = &u->facts.at[k];
        if (f->form.constant <= form->constant && same_terms(&f->form, form) && c_scope_encloses(f->scope, u->scope)) {
            return true;
        }
    }
    return false;
}

bool c_subtract(const lang_affine *a, const lang_affine *b, int64_t extra, lang_affine *out) {
    *out = (lang_affine){.vars = a->vars | b->vars};
    if (__builtin_sub_overflow(a->constant, b->constant, &out->constant) ||
        __builtin_add_overflow(out->constant, extra, &out->constant)) {
        return false;
    }
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        int64_t x = (a->vars >> k & 1) != 0 ? a->coefficient[k] : 0,
                y = (b->vars >> k & 1) != 0 ? b->coefficient[k] : 0;
        if (__builtin_sub_overflow(x, y, &out->coefficient[k])) {
            return false;
        }
        if (out->coefficient[k] == 0) {
            out->vars &= ~(UINT64_C(1) << k);
        }
    }
    return true;
}

bool c_affine_of_condition(const lang_program *p, lang_ref condition, bool holds, lang_affine *out) {
    const lang_node *n = lang_at(p, condition);
    if (n->kind != LANG_WORD_) {
        return false;
    }
    if (n->code == LANG_NOT) {
        return c_affine_of_condition(p, lang_operand(p, condition, 0), !holds, out);
    }
    if (n->code != LANG_LT && n->code != LANG_LE) {
        return false;
    }
    lang_affine a, b;
    lang_ref left = lang_operand(p, condition, 0), right = lang_operand(p, condition, 1);
    if (lang_at(p, left)->type != BASE_I64 || !lang_affine_of(p, left, &a) || !lang_affine_of(p, right, &b)) {
        return false;
    }
    int64_t strict = n->code == LANG_LT ? -1 : 0;
    return holds ? c_subtract(&b, &a, strict, out) : c_subtract(&a, &b, -1 - strict, out);
}

void c_facts_of(c_unit *u, lang_ref condition, bool holds) {
    lang_ref part[64];
    lang_affine form;
    size_t n = holds ? lang_conjuncts(u->p, condition, part, 64) : 1;
    if (!holds) {
        part[0] = condition;
    }
    for (size_t k = 0; k < n && k < 64; k++) {
        const lang_node *c = lang_at(u->p, part[k]);
        if (holds && c->kind == LANG_WORD_ && c->code == LANG_LT) {
            *BASE_PUSH(u->arena, &u->orders) =
                (c_order){lang_operand(u->p, part[k], 0), lang_operand(u->p, part[k], 1), u->scope};
        }
        if (c_affine_of_condition(u->p, part[k], holds, &form)) {
            c_fact_add(u, &form);
        }
    }
}

/* ---- tensors ---- */

uint32_t c_argument_of(c_unit *u, uint32_t tensor) {
    const lang_tensor *t = &u->p->tensors.at[tensor];
    if (t->data != NULL) {
        uint64_t count = 1;
        for (uint32_t k = 0; k < t->rank; k++) {
            count *= (uint64_t)t->dim[k];
        }
        return c_argument_data(u, c_data_add(u->m, t->type, t->data, count), t->name);
    }
    for (uint32_t k = 0; k < u->arguments.n; k++) {
        if (u->arguments.at[k].tensor == tensor) {
            return k;
        }
    }
    *BASE_PUSH(u->arena, &u->arguments) = (c_argument){.tensor = tensor, .type = t->type, .name = t->name};
    return (uint32_t)(u->arguments.n - 1);
}

uint32_t c_argument_data(c_unit *u, uint32_t data, const char *name) {
    for (uint32_t k = 0; k < u->arguments.n; k++) {
        if (u->arguments.at[k].tensor == IR_NONE && u->arguments.at[k].data == data) {
            return k;
        }
    }
    *BASE_PUSH(u->arena, &u->arguments) =
        (c_argument){.tensor = IR_NONE, .data = data, .type = u->m->data.at[data].type, .name = name};
    return (uint32_t)(u->arguments.n - 1);
}

uint32_t c_argument_scratch(c_unit *u, uint32_t place, base_type type, const char *name) {
    *BASE_PUSH(u->arena, &u->arguments) =
        (c_argument){.tensor = IR_NONE, .data = IR_NONE, .place = place, .type = type, .name = name, .written = true};
    return (uint32_t)(u->arguments.n - 1);
}

const char *c_argument_name(c_unit *u, uint32_t argument) {
    return base_printf(u->arena, "p%" PRIu32, argument);
}

typedef struct float_shape {
    int e, f, bias, special;
} float_shape;

static float_shape shape_of(base_type t) {
    switch (t) {
    case BASE_F16:
        return (float_shape){5, 10, 15, 0};
    case BASE_BF16:
        return (float_shape){8, 7, 127, 0};
    case BASE_F8E4M3FN:
        return (float_shape){4, 3, 7, 1};
    case BASE_F8E4M3FNUZ:
        return (float_shape){4, 3, 8, 2};
    case BASE_F8E5M2:
        return (float_shape){5, 2, 15, 0};
    case BASE_F8E5M2FNUZ:
        return (float_shape){5, 2, 16, 2};
    case BASE_F8E8M0:
        return (float_shape){8, 0, 127, 4};
    default:
        return (float_shape){2, 1, 1, 3};
    }
}

const char *c_float_decode(c_unit *u, base_type t, const char *bits) {
    float_shape s = shape_of(t);
    return base_printf(u->arena, "%s(%s, %d, %d, %d, %d)", c_helper(u->m->helpers, "float_from"), bits, s.e, s.f,
                       s.bias, s.special);
}

const char *c_float_encode(c_unit *u, base_type t, const char *value) {
    float_shape s = shape_of(t);
    return base_printf(u->arena, "%s(%s, %d, %d, %d, %d)", c_helper(u->m->helpers, "float_to"), value, s.e, s.f, s.bias,
                       s.special);
}

c_value c_load(c_unit *u, base_type type, const char *pointer, const char *index) {
    unsigned bits = base_type_bits(type);
    if (bits < 8) {
        const char *get = c_helper(u->m->helpers,
                                   base_type_is_int(type) && base_type_is_signed(type) ? "get_signed" : "get_unsigned");
        const char *raw = base_printf(u->arena, "%s(%s, (uint32_t)(%s), %u)", get, pointer, index, bits);
        return (c_value){base_type_is_float(type) ? c_float_decode(u, type, raw) : raw, C_PRIMARY, false};
    }
    const char *text = base_printf(u->arena, "%s[%s]", pointer, index);
    if (c_is_small_float(type)) {
        return (c_value){c_float_decode(u, type, text), C_PRIMARY, false};
    }
    if (type == BASE_BOOL) {
        return (c_value){base_printf(u->arena, "(%s != 0)", text), C_PRIMARY, false};
    }
    return (c_value){text, C_PRIMARY, false};
}

void c_store_value(c_unit *u, base_type type, const char *pointer, const char *index, c_value v) {
    unsigned bits = base_type_bits(type);
    const char *value = v.text;
    if (c_is_small_float(type)) {
        value = c_float_encode(u, type, base_printf(u->arena, "(double)%s", c_wrap(u->arena, v, C_UNARY)));
        v = (c_value){value, C_PRIMARY, false};
    }
    if (bits < 8) {
        c_line(u->scope, "%s(%s, (uint32_t)(%s), %u, (uint32_t)%s);", c_helper(u->m->helpers, "put_packed"), pointer,
               index, bits, c_wrap(u->arena, v, C_UNARY));
    } else if (c_is_small_float(type) || type == BASE_BOOL) {
        c_line(u->scope, "%s[%s] = (%s)%s;", pointer, index, c_storage_type(type), c_wrap(u->arena, v, C_UNARY));
    } else {
        c_line(u->scope, "%s[%s] = %s;", pointer, index, value);
    }
}

void c_store(c_unit *u, uint32_t tensor, const char *index, lang_ref body) {
    uint32_t argument = c_argument_of(u, tensor);
    base_type type = u->p->tensors.at[tensor].type;
    u->arguments.at[argument].written = true;
    const lang_node *n = lang_at(u->p, body);
    u->raw = n->kind == LANG_READ && !n->has_fill && c_is_small_float(type);
    c_value v = c_emit(u, body);
    const char *pointer = c_argument_name(u, argument);
    if (u->raw) {
        u->raw = false;
        if (c_is_packed(type)) {
            c_line(u->scope, "%s(%s, (uint32_t)(%s), %u, %s);", c_helper(u->m->helpers, "put_packed"), pointer, index,
                   base_type_bits(type), v.text);
        } else {
            c_line(u->scope, "%s[%s] = %s;", pointer, index, v.text);
        }
        return;
    }
    c_store_value(u, type, pointer, index, v);
}

/* ---- reads ---- */

typedef struct c_address {
    lang_affine form;  /* of the affine part of the element number */
    const char *extra; /* the rest, added; NULL: none */
    const char *test;  /* inside; NULL: always */
} c_address;

static void put_and(c_unit *u, base_text *t, const char *text) {
    (void)u;
    base_put(t, "%s%s", t->n > 0 ? " && " : "", text);
}

static bool is_known_below(c_unit *u, lang_ref index, lang_ref extent) {
    bool known = below_open_extent(u, index, extent);
    for (size_t k = 0; !known && k < u->orders.n; k++) {
        const c_order *o = &u->orders.at[k];
        known = o->low == index && o->high == extent && c_scope_encloses(o->scope, u->scope);
    }
    return known;
}

/* The test of one index against [0, extent); form: its affine form or NULL. */
static void index_test(c_unit *u, base_text *test, lang_ref index, const lang_affine *form, int64_t extent,
                       lang_ref dynamic) {
    lang_range x = c_range(u, index);
    bool low = !x.known || x.lo < 0, high = !x.known || x.hi >= extent || dynamic != 0;
    if (dynamic != 0 && is_known_below(u, index, dynamic)) {
        high = false;
    }
    lang_affine upper;
    if (form != NULL) {
        low = low && !c_fact_known(u, form);
        lang_affine last = {.constant = extent - 1};
        high = high && !(dynamic == 0 && c_subtract(&last, form, 0, &upper) && c_fact_known(u, &upper));
    }
    if (!low && !high) {
        return;
    }
    c_value v = form != NULL ? c_affine_text(u, form, c_affine_is_wide(u, form)) : c_emit(u, index);
    if (dynamic == 0 && low && high && extent <= INT32_MAX) {
        const char *bound = c_constant(u->arena, v.narrow ? BASE_U32 : BASE_U64, (base_value){.i = extent});
        put_and(u, test,
                base_printf(u->arena, "(%s)%s < %s", v.narrow ? "uint32_t" : "uint64_t", c_wrap(u->arena, v, C_UNARY),
                            bound));
        return;
    }
    const char *text = c_wrap(u->arena, v, C_ADD);
    if (low) {
        put_and(u, test, base_printf(u->arena, "%s >= 0", text));
    }
    if (high) {
        c_value bound = dynamic != 0
                            ? c_emit(u, dynamic)
                            : (c_value){c_constant(u->arena, BASE_I64, (base_value){.i = extent}), C_PRIMARY, false};
        if (dynamic == 0 && extent <= INT32_MAX) {
            bound.text = base_printf(u->arena, "%lld", (long long)extent);
        }
        put_and(u, test, base_printf(u->arena, "%s < %s", text, c_wrap(u->arena, bound, C_ADD)));
    }
}

static bool add_scaled(lang_affine *sum, const lang_affine *a, int64_t scale) {
    int64_t x;
    if (__builtin_mul_overflow(a->constant, scale, &x) || __builtin_add_overflow(sum->constant, x, &sum->constant)) {
        return false;
    }
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((a->vars >> k & 1) != 0) {
            int64_t have = (sum->vars >> k & 1) != 0 ? sum->coefficient[k] : 0;
            if (__builtin_mul_overflow(a->coefficient[k], scale, &x) ||
                __builtin_add_overflow(have, x, &sum->coefficient[k])) {
                return false;
            }
            sum->vars |= UINT64_C(1) << k;
        }
    }
    return true;
}

/* tested: also give the test that every index is inside. */
static c_address address_of(c_unit *u, lang_ref r, bool tested) {
    const lang_node *n = lang_at(u->p, r);
    const lang_tensor *t = &u->p->tensors.at[n->index];
    c_address a = {0};
    base_text test = {.arena = u->arena}, extra = {.arena = u->arena};
    uint32_t rank = n->count - n->has_fill;
    int64_t stride = 1, total = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        total *= t->dim[k];
    }
    bool wide = total > INT32_MAX;
    for (uint32_t k = rank; k-- > 0;) {
        lang_ref index = lang_operand(u->p, r, k);
        lang_affine form;
        bool affine = lang_affine_of(u->p, index, &form);
        if (tested) {
            index_test(u, &test, index, affine ? &form : NULL, n->flat ? total : t->dim[k], n->flat ? 0 : t->extent[k]);
        }
        if (affine && add_scaled(&a.form, &form, stride)) {
            /* in the form */
        } else {
            c_value v = c_emit(u, index);
            if (v.narrow && wide) {
                v = c_wide(u, v);
            } else if (!v.narrow && !wide) {
                v = (c_value){base_printf(u->arena, "(int32_t)%s", c_wrap(u->arena, v, C_UNARY)), C_UNARY, true};
            }
            base_put(&extra, "%s%s", extra.n > 0 ? " + " : "", c_wrap(u->arena, v, C_MUL));
            if (stride != 1) {
                base_put(&extra, " * %s", c_constant(u->arena, wide ? BASE_I64 : BASE_I32, (base_value){.i = stride}));
            }
        }
        if (!n->flat) {
            stride *= t->dim[k];
        }
    }
    a.extra = extra.n > 0 ? extra.at : NULL;
    a.test = test.n > 0 ? test.at : NULL;
    return a;
}

static const char *address_text(c_unit *u, const c_address *a, uint32_t tensor) {
    if (a->extra != NULL && a->form.vars == 0 && a->form.constant == 0) {
        return a->extra;
    }
    const char *form = c_address_text(u, &a->form, c_affine_is_wide(u, &a->form), C_TO_TENSOR + tensor);
    return a->extra == NULL ? form : base_printf(u->arena, "%s + %s", form, a->extra);
}

static c_value load_raw(c_unit *u, base_type type, const char *pointer, const char *index) {
    if (c_is_packed(type)) {
        const char *get = c_helper(u->m->helpers, "get_unsigned");
        return (c_value){base_printf(u->arena, "%s(%s, (uint32_t)(%s), %u)", get, pointer, index, base_type_bits(type)),
                         C_PRIMARY, false};
    }
    return (c_value){base_printf(u->arena, "%s[%s]", pointer, index), C_PRIMARY, false};
}

static c_value narrow_value(c_unit *u, lang_ref r, c_value v) {
    if (lang_at(u->p, r)->type == BASE_I64 && !v.narrow && c_narrow(u, r)) {
        return (c_value){base_printf(u->arena, "(int32_t)%s", c_wrap(u->arena, v, C_UNARY)), C_UNARY, true};
    }
    return v;
}

static c_value read_value(c_unit *u, lang_ref r, const c_address *a, bool raw) {
    const lang_node *n = lang_at(u->p, r);
    const char *pointer = c_argument_name(u, c_argument_of(u, n->index));
    const char *index = address_text(u, a, n->index);
    c_value v = raw ? load_raw(u, (base_type)n->type, pointer, index) : c_load(u, (base_type)n->type, pointer, index);
    return raw ? v : narrow_value(u, r, v);
}

static c_value choose(c_unit *u, lang_ref r, const char *test, c_value a, c_value b);

static c_value emit_read(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    bool raw = u->raw;
    u->raw = false;
    c_address a = address_of(u, r, true);
    if (!n->has_fill) {
        /* What proves it may be a condition above: such a read counts as unsafe all the same, and stays below it. */
        if (a.test != NULL && !lang_read_inside(u->ranges, u->stage, r)) {
            c_line(u->scope, "if (!(%s)) {", a.test);
            c_line(u->scope, "    return 1u;");
            c_line(u->scope, "}");
            u->can_fail = true;
        }
        return read_value(u, r, &a, raw);
    }
    if (a.test == NULL) {
        return read_value(u, r, &a, false);
    }
    lang_ref fill = lang_operand(u->p, r, n->count - 1);
    if ((u->flags[fill] & (C_UNSAFE | C_HEAVY)) == 0) {
        return choose(u, r, a.test, read_value(u, r, &a, false), c_emit(u, fill));
    }
    const char *name = c_name(u, 'x');
    bool narrow = c_narrow(u, r);
    const char *ctype = narrow ? "int32_t" : c_value_type((base_type)n->type);
    c_line(u->scope, "%s %s;", ctype, name);
    c_block_open(u, true, "if (%s)", a.test);
    c_line(u->scope, "%s = %s;", name, read_value(u, r, &a, false).text);
    c_block_close(u, " else {");
    c_scope_open(u, true);
    c_line(u->scope, "%s = %s;", name, narrow_value(u, r, c_emit(u, fill)).text);
    c_block_close(u, "");
    return (c_value){name, C_PRIMARY, narrow};
}

/* ---- lazy words ---- */

static bool is_sub_int(base_type t) {
    return base_type_is_int(t) && base_type_bits(t) < 32;
}

static c_value choose(c_unit *u, lang_ref r, const char *test, c_value a, c_value b) {
    base_type t = (base_type)lang_at(u->p, r)->type;
    const char *text =
        base_printf(u->arena, "%s ? %s : %s", test, c_wrap(u->arena, a, C_ADD), c_wrap(u->arena, b, C_ADD));
    c_value v = {text, C_LOWEST, a.narrow && b.narrow};
    if (is_sub_int(t)) {
        v = (c_value){base_printf(u->arena, "(%s)(%s)", c_value_type(t), text), C_UNARY, false};
    }
    return narrow_value(u, r, v);
}

static void emit_arm(c_unit *u, const char *name, lang_ref condition, bool holds, lang_ref arm, bool narrow) {
    c_facts_of(u, condition, holds);
    c_value v = c_emit(u, arm);
    if (narrow && !v.narrow) {
        v = (c_value){base_printf(u->arena, "(int32_t)%s", c_wrap(u->arena, v, C_UNARY)), C_UNARY, true};
    }
    c_line(u->scope, "%s = %s;", name, v.text);
}

static c_value emit_if(c_unit *u, lang_ref r) {
    lang_ref condition = lang_operand(u->p, r, 0), a = lang_operand(u->p, r, 1), b = lang_operand(u->p, r, 2);
    c_value test = c_emit(u, condition);
    if (((u->flags[a] | u->flags[b]) & (C_UNSAFE | C_HEAVY)) == 0) {
        return choose(u, r, c_wrap(u->arena, test, C_ADD), c_emit(u, a), c_emit(u, b));
    }
    const char *name = c_name(u, 'x');
    bool narrow = c_narrow(u, r);
    c_line(u->scope, "%s %s;", narrow ? "int32_t" : c_value_type((base_type)lang_at(u->p, r)->type), name);
    c_block_open(u, true, "if (%s)", test.text);
    emit_arm(u, name, condition, true, a, narrow);
    c_block_close(u, " else {");
    c_scope_open(u, true);
    emit_arm(u, name, condition, false, b, narrow);
    c_block_close(u, "");
    return (c_value){name, C_PRIMARY, narrow};
}

static c_value emit_logic(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    lang_ref a = lang_operand(u->p, r, 0), b = lang_operand(u->p, r, 1);
    bool is_and = n->code == LANG_AND;
    c_value left = c_emit(u, a);
    if ((u->flags[b] & (C_UNSAFE | C_HEAVY)) == 0) {
        const char *text = base_printf(u->arena, "%s %s %s", c_wrap(u->arena, left, C_ADD), is_and ? "&&" : "||",
                                       c_wrap(u->arena, c_emit(u, b), C_ADD));
        return (c_value){text, C_LOWEST, false};
    }
    const char *name = c_name(u, 'x');
    c_line(u->scope, "int %s = %s;", name, left.text);
    c_block_open(u, true, is_and ? "if (%s)" : "if (!%s)", name);
    emit_arm(u, name, a, is_and, b, false);
    c_block_close(u, "");
    return (c_value){name, C_PRIMARY, false};
}

/* ---- nodes ---- */

static c_value compute(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    if (n->kind == LANG_READ) {
        return emit_read(u, r);
    }
    if (n->kind == LANG_REDUCE) {
        return c_emit_reduction(u, r);
    }
    if (n->code == LANG_IF) {
        return emit_if(u, r);
    }
    if (n->code == LANG_AND || n->code == LANG_OR) {
        return emit_logic(u, r);
    }
    lang_affine form;
    if (n->type == BASE_I64 && c_narrow(u, r) && lang_affine_of(u->p, r, &form) && !c_affine_is_wide(u, &form)) {
        return c_affine_text(u, &form, false);
    }
    return c_word_text(u, r);
}

/* The outermost scope where r may be computed. */
static c_scope *home_of(c_unit *u, lang_ref r) {
    if ((u->flags[r] & C_UNSAFE) != 0) {
        return u->scope;
    }
    const lang_node *n = lang_at(u->p, r);
    c_scope *level = u->floor;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++) {
        if ((n->free >> k & 1) != 0 && (u->zero_vars >> k & 1) == 0 && u->var_scope[k]->depth > level->depth) {
            level = u->var_scope[k];
        }
    }
    if ((u->flags[r] & C_HEAVY) == 0) {
        return level;
    }
    c_scope *s = u->scope;
    while (s != level && !s->conditional) {
        s = s->outer;
    }
    return s;
}

static c_value emit_leaf(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    if (n->kind == LANG_VAR) {
        bool zero = (u->zero_vars >> n->index & 1) != 0;
        return (c_value){zero ? "0" : u->var_text[n->index], C_PRIMARY, zero || !u->var_wide[n->index]};
    }
    bool narrow = n->type == BASE_I64 && n->value.i >= INT32_MIN && n->value.i <= INT32_MAX;
    return (c_value){c_constant(u->arena, narrow ? BASE_I32 : (base_type)n->type, n->value), C_PRIMARY, narrow};
}

c_value c_emit(c_unit *u, lang_ref r) {
    const lang_node *n = lang_at(u->p, r);
    if (n->kind == LANG_CONST || n->kind == LANG_VAR) {
        return emit_leaf(u, r);
    }
    c_memo *memo = &u->memo[r];
    if (memo->scope != NULL && memo->scope->open && c_scope_encloses(memo->scope, u->scope)) {
        return memo->value;
    }
    c_scope *here = u->scope, *home = home_of(u, r);
    bool raw = u->raw;
    u->scope = home;
    c_value v = compute(u, r);
    bool named = is_trivial(v.text);
    if (!named && !raw && (home != here || u->uses[r] > 1 || strlen(v.text) > MAX_INLINE)) {
        v.text = c_local(u, home, c_node_type(u, r, v), v.text).text;
        v.precedence = C_PRIMARY;
        named = true;
    }
    u->scope = here;
    u->raw = raw;
    if (named && !raw) {
        *memo = (c_memo){v, home};
    }
    return v;
}

bool c_output_affine(const lang_program *p, const lang_stage *s, lang_affine *out) {
    const lang_tensor *t = &p->tensors.at[s->tensor];
    int64_t stride = 1;
    *out = (lang_affine){0};
    for (uint32_t k = s->rank; k-- > 0;) {
        out->coefficient[k] = stride;
        out->vars |= UINT64_C(1) << k;
        if (__builtin_mul_overflow(stride, t->dim[k], &stride)) {
            return false;
        }
    }
    return true;
}
