/* print.c - a readable dump of a typed program, and the check of its invariants.
 *
 * Takes a program. Gives text in the language's own syntax without packs: nodes used more than once stand first as %n =
 * ...; Tests and people read it; nothing parses it.
 */
#include <inttypes.h>

#include "lang/program.h"

#define INLINE_HEIGHT 24u /* deeper expressions are broken into %n lines */

typedef struct printer {
    const lang_program *p;
    base_text *out;
    uint32_t *uses;
    uint32_t *height;
    const lang_stage *stage;
} printer;

static bool named(const printer *x, lang_ref r) {
    const lang_node *n = lang_at(x->p, r);
    return n->kind != LANG_CONST && n->kind != LANG_VAR &&
           (x->uses[r] > 1 || x->height[r] % INLINE_HEIGHT == INLINE_HEIGHT - 1);
}

static void put_expression(printer *x, lang_ref r, bool top);

static void put_list(printer *x, lang_ref r, uint32_t from, uint32_t to) {
    for (uint32_t k = from; k < to; k++) {
        base_puts(x->out, k > from ? ", " : "");
        put_expression(x, lang_operand(x->p, r, k), false);
    }
}

static void put_constant(base_text *out, const lang_node *n) {
    switch (n->type) {
    case BASE_BOOL:
        base_puts(out, n->value.u ? "true" : "false");
        return;
    case BASE_I64:
        base_put(out, "%" PRId64, n->value.i);
        return;
    default:
        base_put(out, "%s(", base_type_name((base_type)n->type));
        if (base_type_is_float((base_type)n->type)) {
            base_put_float(out, n->value.f);
        } else if (base_type_is_signed((base_type)n->type)) {
            base_put(out, "%" PRId64, n->value.i);
        } else {
            base_put(out, "%" PRIu64, n->value.u);
        }
        base_puts(out, ")");
    }
}

static const char *var_name(const printer *x, uint32_t number) {
    return x->stage != NULL && number < x->stage->var_count ? x->stage->vars[number].name : "v";
}

static void put_read(printer *x, lang_ref r, const lang_node *n) {
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    base_put(x->out, "%s#%u%s", x->p->tensors.at[n->index].name, n->index, n->flat ? ".[" : "[");
    put_list(x, r, 0, indices);
    base_puts(x->out, "]");
    if (n->has_fill) {
        base_puts(x->out, "?(");
        put_expression(x, lang_operand(x->p, r, indices), false);
        base_puts(x->out, ")");
    }
}

static void put_reduce(printer *x, lang_ref r, const lang_node *n) {
    uint32_t vars = n->count - 3;
    base_put(x->out, "%s:%s[", lang_reduction_name((lang_reduction)n->code), base_type_name((base_type)n->type));
    for (uint32_t k = 0; k < vars; k++) {
        lang_ref v = lang_operand(x->p, r, k);
        base_put(x->out, "%s%s.%u<", k ? "," : "", var_name(x, lang_at(x->p, v)->index), lang_at(x->p, v)->index);
        put_expression(x, lang_operand(x->p, v, 0), false);
    }
    lang_ref guard = lang_operand(x->p, r, vars), otherwise = lang_operand(x->p, r, vars + 2);
    if (guard != 0) {
        base_puts(x->out, " | ");
        put_expression(x, guard, false);
    }
    base_puts(x->out, "] (");
    put_expression(x, lang_operand(x->p, r, vars + 1), false);
    base_puts(x->out, ")");
    if (otherwise != 0) {
        base_puts(x->out, " else (");
        put_expression(x, otherwise, false);
        base_puts(x->out, ")");
    }
}

static void put_word(printer *x, lang_ref r, const lang_node *n) {
    lang_word w = (lang_word)n->code;
    const char *name = lang_word_name(w);
    bool infix = n->count == 2 && !(name[0] >= 'a' && name[0] <= 'z');
    if (infix) {
        base_puts(x->out, "(");
        put_expression(x, lang_operand(x->p, r, 0), false);
        base_put(x->out, " %s ", name);
        put_expression(x, lang_operand(x->p, r, 1), false);
        base_puts(x->out, ")");
        return;
    }
    const char *type = base_type_name((base_type)n->type);
    if (w == LANG_CAST) {
        base_puts(x->out, type);
    } else if (w == LANG_SAT || w == LANG_BITS) {
        base_put(x->out, "%s_%s", name, type);
    } else {
        base_puts(x->out, name);
    }
    base_puts(x->out, "(");
    put_list(x, r, 0, n->count);
    base_puts(x->out, ")");
}

static void put_expression(printer *x, lang_ref r, bool top) {
    const lang_node *n = lang_at(x->p, r);
    if (!top && named(x, r)) {
        base_put(x->out, "%%%u", r);
        return;
    }
    switch (n->kind) {
    case LANG_CONST:
        put_constant(x->out, n);
        break;
    case LANG_VAR:
        base_put(x->out, "%s.%u", var_name(x, n->index), n->index);
        break;
    case LANG_READ:
        put_read(x, r, n);
        break;
    case LANG_WORD_:
        put_word(x, r, n);
        break;
    default:
        put_reduce(x, r, n);
    }
}

/* Which nodes a stage reaches, and how often each is used in it; heights for breaking long chains. Operands precede
 * nodes. */
static void count_uses(printer *x, const lang_stage *s) {
    for (lang_ref r = 0; r < x->p->nodes.n; r++) {
        x->uses[r] = 0;
    }
    x->uses[s->body] = 1;
    for (lang_ref r = s->body; r > 0; r--) {
        const lang_node *n = lang_at(x->p, r);
        for (uint32_t k = 0; x->uses[r] > 0 && k < n->count; k++) {
            x->uses[lang_operand(x->p, r, k)]++;
        }
    }
}

static void fill_heights(printer *x) {
    for (lang_ref r = 1; r < x->p->nodes.n; r++) {
        uint32_t h = 0;
        for (uint32_t k = 0; k < lang_at(x->p, r)->count; k++) {
            uint32_t o = x->height[lang_operand(x->p, r, k)] + 1;
            h = o > h ? o : h;
        }
        x->height[r] = h;
    }
}

static void put_tensor(base_text *out, const lang_program *p, uint32_t i) {
    static const char *const kinds[] = {"input", "constant", "stage"};
    const lang_tensor *t = &p->tensors.at[i];
    base_put(out, "  %s#%u:%s[", t->name, i, base_type_name(t->type));
    for (uint32_t k = 0; k < t->rank; k++) {
        base_put(out, "%s%s%" PRId64, k ? "," : "", t->extent[k] ? "<=" : "", t->dim[k]);
    }
    base_put(out, "] %s%s\n", kinds[t->kind], t->kind == LANG_INPUT && t->data != NULL ? " known" : "");
}

static void put_stage(printer *x, const lang_stage *s) {
    x->stage = s;
    count_uses(x, s);
    for (lang_ref r = 1; r < s->body; r++) {
        if (x->uses[r] > 0 && named(x, r)) {
            base_put(x->out, "    %%%u:%s = ", r, base_type_name((base_type)lang_at(x->p, r)->type));
            put_expression(x, r, true);
            base_puts(x->out, "\n");
        }
    }
    base_put(x->out, "  %s#%u[", x->p->tensors.at[s->tensor].name, s->tensor);
    for (uint32_t k = 0; k < s->rank; k++) {
        base_put(x->out, "%s%s.%u<%" PRId64, k ? "," : "", s->vars[k].name, k, s->vars[k].bound);
    }
    base_puts(x->out, "]");
    if (s->rec >= 0) {
        base_put(x->out, " rec %d over %s.%u", (int)s->rec, s->vars[s->rec_var].name, s->rec_var);
    }
    base_puts(x->out, " = ");
    put_expression(x, s->body, true);
    base_puts(x->out, "\n");
}

void lang_print(base_text *out, const lang_program *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    printer x = {.p = p, .out = out};
    x.uses = BASE_NEWS(scratch, uint32_t, p->nodes.n);
    x.height = BASE_NEWS(scratch, uint32_t, p->nodes.n);
    fill_heights(&x);
    base_put(out, "program %s\n", p->name);
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        put_tensor(out, p, i);
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        put_stage(&x, &p->stages.at[i]);
    }
    base_arena_free(scratch);
}

/* ---- invariants ---- */

static const char *node_fault(const lang_program *p, lang_ref r) {
    const lang_node *n = lang_at(p, r);
    for (uint32_t k = 0; k < n->count; k++) {
        lang_ref o = lang_operand(p, r, k);
        bool may_lack = n->kind == LANG_REDUCE && (k == n->count - 3 || k == n->count - 1);
        if (o >= r || (o == 0 && !may_lack)) {
            return "operand is not an earlier node";
        }
    }
    switch (n->kind) {
    case LANG_VAR:
        return lang_at(p, lang_operand(p, r, 0))->type == BASE_I64 ? NULL : "extent is not i64";
    case LANG_READ: {
        const lang_tensor *t = n->index < p->tensors.n ? &p->tensors.at[n->index] : NULL;
        if (t == NULL || t->type != (base_type)n->type) {
            return "read of a missing tensor, or of another type";
        }
        if (n->count != (n->flat ? 1 : t->rank) + (n->has_fill ? 1u : 0u)) {
            return "read with the wrong number of indices";
        }
        for (uint32_t k = 0; k < n->count; k++) {
            base_type want = n->has_fill && k + 1 == n->count ? t->type : BASE_I64;
            if (lang_at(p, lang_operand(p, r, k))->type != (uint8_t)want) {
                return "index or fill of the wrong type";
            }
        }
        return NULL;
    }
    case LANG_REDUCE:
        if (lang_operand(p, r, n->count - 3) != 0 && lang_at(p, lang_operand(p, r, n->count - 3))->type != BASE_BOOL) {
            return "guard is not bool";
        }
        return lang_at(p, lang_operand(p, r, n->count - 2))->type == n->type ? NULL : "body of another type";
    default:
        return NULL;
    }
}

base_status lang_verify(const lang_program *p, base_diags *d) {
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        const char *fault = node_fault(p, r);
        if (fault != NULL) {
            return base_error(d, NULL, "program %s: node %u: %s", p->name, r, fault);
        }
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        uint64_t own = s->rank >= 64 ? UINT64_MAX : (UINT64_C(1) << s->rank) - 1;
        if (s->tensor >= p->tensors.n || p->tensors.at[s->tensor].stage != i ||
            p->tensors.at[s->tensor].rank != s->rank) {
            return base_error(d, &s->place, "program %s: stage %zu and its tensor disagree", p->name, i);
        }
        if (s->body == 0 || lang_at(p, s->body)->type != (uint8_t)p->tensors.at[s->tensor].type ||
            (lang_at(p, s->body)->free & ~own) != 0) {
            return base_error(d, &s->place,
                              "program %s: stage %zu has a body of another type or with unbound variables", p->name, i);
        }
    }
    return BASE_OK;
}
