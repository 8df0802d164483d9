/* instantiate.c - a call of an operator to a typed program: choosing the overload, binding arguments, making stages.
 *
 * Takes a library and a call with concrete types, extents, attributes. Gives the raw program, or errors that name the
 * definition's place and the call. Nothing is simplified by ranges here.
 */
#include "lang/inst.h"

#include <string.h>

#define MAX_ELEMENTS (INT64_C(1) << 48)

static const char *dims_shown(lang_inst *in, const ir_shape *s) {
    base_text t = {in->arena, NULL, 0, 0};
    base_puts(&t, "[");
    for (uint32_t k = 0; k < s->rank && k < IR_MAX_RANK; k++)
        base_put(&t, "%s%lld", k ? "," : "", (long long)s->dim[k]);
    base_puts(&t, "]");
    return t.at;
}

static const char *call_shown(lang_inst *in) {
    base_text t = {in->arena, NULL, 0, 0};
    base_put(&t, "%s(", in->call->op);
    for (size_t k = 0; k < in->call->input_count; k++) {
        const lang_argument *a = &in->call->inputs[k];
        if (k > 0)
            base_puts(&t, ", ");
        if (k == 12) {
            base_puts(&t, "...");
            break;
        }
        if (a->present)
            base_put(&t, "%s%s", base_type_name(a->type), dims_shown(in, &a->shape));
        else
            base_puts(&t, "absent");
    }
    base_puts(&t, ")");
    return t.at;
}

/* ---- attributes ---- */
static const ir_attr *find_attr(const lang_call *call, const char *name) {
    for (size_t k = 0; k < call->attr_count; k++)
        if (strcmp(call->attrs[k].name, name) == 0)
            return &call->attrs[k];
    return NULL;
}

static lang_val literal(const lang_attr_decl *a, const lang_literal *v) {
    if (a->kind == LANG_A_TEXT)
        return (lang_val){LANG_V_TEXT, 0, {.text = v->text}};
    return a->kind == LANG_A_FLOAT ? lang_v_float(v->f) : lang_v_int(v->i);
}

/* The values of attribute `given` as `a` declares it; false: the kinds differ. */
static bool attr_values(const lang_attr_decl *a, const ir_attr *given, lang_pack *out) {
    bool ints = given->kind == IR_INT || given->kind == IR_INTS,
         floats = given->kind == IR_FLOAT || given->kind == IR_FLOATS;
    bool list = given->kind == IR_INTS || given->kind == IR_FLOATS;
    if (a->kind == LANG_A_TEXT ? given->kind != IR_TEXT : a->kind == LANG_A_INT ? !ints : !ints && !floats)
        return false;
    if (a->pack != list || (list && given->n > LANG_MAX_PACK))
        return false;
    out->n = list ? (uint32_t)given->n : 1;
    for (uint32_t k = 0; k < out->n; k++) {
        lang_literal v = {0};
        if (ints)
            v.i = list ? given->v.ints[k] : given->v.i;
        if (floats)
            v.f = list ? given->v.floats[k] : given->v.f;
        else
            v.f = (double)v.i;
        if (given->kind == IR_TEXT)
            v.text = given->v.text;
        out->at[k] = literal(a, &v);
    }
    return true;
}

static bool bind_attrs(lang_inst *in) {
    static const char *const kinds[] = {"an integer", "a number", "a text"}, *const lists[] = {"a list of integers",
                                                                                               "a list of numbers",
                                                                                               "a list of texts"};
    for (size_t k = 0; k < in->op->attrs.n; k++) {
        const lang_attr_decl *a = &in->op->attrs.at[k];
        const char *name = lang_name(in->lib, a->name);
        const ir_attr *given = find_attr(in->call, name);
        lang_pack list;
        if (given) {
            if (!attr_values(a, given, &list)) {
                lang_i_fail(in, a->pos, "attribute '%s' must be %s%s", name, a->pack ? lists[a->kind] : kinds[a->kind],
                            a->pack ? base_printf(in->arena, " of at most %u entries", LANG_MAX_PACK) : "");
                return false;
            }
        } else if (a->has_default) {
            list.n = a->count;
            for (uint32_t j = 0; j < a->count; j++)
                list.at[j] = literal(a, &a->values[j]);
        } else {
            lang_i_fail(in, a->pos, "attribute '%s' is missing", name);
            return false;
        }
        lang_i_bind(in, a->name, a->pack, list.at, list.n);
    }
    for (size_t k = 0; k < in->call->attr_count; k++) {
        BASE_VEC(const char *) known = {0};
        bool found = false;
        for (size_t j = 0; j < in->op->attrs.n; j++) {
            *BASE_PUSH(in->arena, &known) = lang_name(in->lib, in->op->attrs.at[j].name);
            found |= strcmp(known.at[j], in->call->attrs[k].name) == 0;
        }
        if (found)
            continue;
        const char *near = base_nearest(in->call->attrs[k].name, known.at, known.n);
        const char *shown = base_printable(in->arena, in->call->attrs[k].name, strlen(in->call->attrs[k].name), 60);
        lang_i_fail(in, in->op->pos,
                    near ? "there is no attribute '%s'; did you mean '%s'?" : "there is no attribute '%s'", shown,
                    near);
        return false;
    }
    return true;
}

/* ---- inputs ---- */
static bool bind_type(lang_inst *in, lang_pos pos, lang_symbol name, base_type given, const char *label) {
    if (name == 0)
        return true;
    base_type fixed = in->lib->types.at[name];
    const lang_binding *b = fixed ? NULL : lang_i_find(in, name, false);
    if (b && b->vals[0].kind == LANG_V_TYPE)
        fixed = (base_type)b->vals[0].type;
    else if (b) {
        lang_i_fail(in, pos, "'%s' is no type", lang_name(in->lib, name));
        return false;
    }
    if (fixed == given)
        return true;
    if (fixed) {
        lang_i_fail(in, pos, "%s is %s, and must be %s", label, base_type_name(given), base_type_name(fixed));
        return false;
    }
    lang_val v = lang_v_type(given);
    lang_i_bind(in, name, false, &v, 1);
    return true;
}

/* One extent meets its name: bound at first, equal from then on. */
static bool bind_extent(lang_inst *in, const lang_dim_decl *d, const lang_actual *a, uint32_t first, uint32_t n,
                        uint32_t member) {
    lang_val vals[LANG_MAX_RANK];
    const int64_t *dim = &a->arg->shape.dim[first];
    for (uint32_t k = 0; k < n; k++)
        vals[k] = lang_i_dim(in, a->arg, first + k);
    const lang_binding *b = lang_i_find(in, d->name, d->pack);
    if (!b) {
        lang_i_bind(in, d->name, d->pack, vals, n);
        return true;
    }
    if (d->varies && member > 0 && b->n == n)
        return true;
    for (uint32_t k = 0; k < n && k < b->n; k++) {
        int64_t v;
        if (vals[k].kind == LANG_V_OPEN || b->vals[k].kind == LANG_V_OPEN) {
            if (lang_i_require_equal(in, d->pos, vals[k], b->vals[k]))
                continue;
            lang_i_fail(in, d->pos, "%s: extent %s%s can never be what it must be", a->label,
                        lang_name(in->lib, d->name), d->pack ? ".." : "");
            return false;
        }
        if (lang_v_is_static_int(in, b->vals[k], &v) && v == dim[k])
            continue;
        lang_i_fail(in, d->pos, "%s: extent %s%s is %s, and must be %lld", a->label, lang_name(in->lib, d->name),
                    d->pack ? ".." : "", base_printf(in->arena, "%lld", (long long)dim[k]),
                    (long long)(b->vals[k].kind == LANG_V_INT ? b->vals[k].v.i : -1));
        return false;
    }
    if (n == b->n)
        return true;
    lang_i_fail(in, d->pos, "%s: %s.. has %u extents, and must have %u", a->label, lang_name(in->lib, d->name), n,
                b->n);
    return false;
}

/* Lengths of the packs among the extents: stated, known already, or what is left for at most one. */
static bool pack_lengths(lang_inst *in, const lang_input_decl *decl, const lang_actual *a, uint32_t *lengths) {
    int64_t left = a->arg->shape.rank, free_at = -1;
    for (uint32_t k = 0; k < decl->dim_count; k++) {
        const lang_dim_decl *d = &decl->dims[k];
        const lang_binding *known = d->pack ? lang_i_find(in, d->name, true) : NULL;
        int64_t n = 1;
        if (d->pack && d->e) {
            if (!lang_v_static_int(in, d->pos, lang_x(in, d->e, -1), "the length of a pack", &n))
                return false;
        } else if (known) {
            n = known->n;
        } else if (d->pack) {
            if (free_at >= 0) {
                lang_i_fail(in, d->pos, "two packs without a stated length in one input");
                return false;
            }
            free_at = k;
            continue;
        }
        if (n < 0 || n > left) {
            lang_i_fail(in, d->pos, "%s has rank %u, which the extents of its definition do not fit", a->label,
                        a->arg->shape.rank);
            return false;
        }
        lengths[k] = (uint32_t)n;
        left -= n;
    }
    if (free_at >= 0) {
        lengths[free_at] = (uint32_t)left;
        left = 0;
    }
    if (left == 0)
        return true;
    lang_i_fail(in, decl->pos, "%s has rank %u, %lld too many", a->label, a->arg->shape.rank, (long long)left);
    return false;
}

static bool valid_argument(lang_inst *in, lang_pos pos, const char *label, const lang_argument *arg) {
    const char *why = NULL;
    uint64_t elements;
    if (arg->type <= BASE_NONE || arg->type >= BASE_TYPE_COUNT)
        why = "it has no type";
    else if (arg->shape.rank > IR_MAX_RANK)
        why = "its rank is too large";
    else {
        for (uint32_t k = 0; k < arg->shape.rank; k++) {
            if (arg->shape.symbol[k] > in->call->count_count)
                why = "a symbolic extent has no value here";
            else if (arg->shape.dim[k] < 0)
                why = "it has a negative extent";
        }
        if (!why && !ir_shape_elements(&arg->shape, &elements))
            why = "it has too many elements";
    }
    if (why)
        lang_i_fail(in, pos, "%s: %s", label, why);
    return !why;
}

static bool bind_dims(lang_inst *in, const lang_input_decl *decl, const lang_actual *a, uint32_t member) {
    uint32_t lengths[LANG_MAX_RANK];
    if (!pack_lengths(in, decl, a, lengths))
        return false;
    for (uint32_t k = 0, at = 0; k < decl->dim_count; at += lengths[k++]) {
        const lang_dim_decl *d = &decl->dims[k];
        int64_t n;
        if (d->name) {
            if (!bind_extent(in, d, a, at, lengths[k], member))
                return false;
            continue;
        }
        if (a->arg->shape.symbol[at] != 0) {
            if (!lang_i_require_equal(in, d->pos, lang_i_dim(in, a->arg, at), lang_x(in, d->e, -1))) {
                lang_i_fail(in, d->pos, "%s: extent %u can never be what it must be", a->label, at);
                return false;
            }
            continue;
        }
        if (!lang_v_static_int(in, d->pos, lang_x(in, d->e, -1), "an extent", &n))
            return false;
        if (n != a->arg->shape.dim[at]) {
            lang_i_fail(in, d->pos, "%s: extent %u is %lld, and must be %lld", a->label, at,
                        (long long)a->arg->shape.dim[at], (long long)n);
            return false;
        }
    }
    return true;
}

/* Type and shape of an input that the call leaves open, by what is bound already; NULL: reported. */
static const lang_argument *said_by_definition(lang_inst *in, const lang_input_decl *decl, const lang_actual *a,
                                               const lang_argument *open) {
    lang_argument *arg = BASE_NEW(in->arena, lang_argument);
    *arg = *open;
    arg->shape = (ir_shape){0};
    if (!decl->type) {
        lang_i_fail(in, decl->pos, "nothing says the type of %s", a->label);
        return NULL;
    }
    arg->type = lang_i_type(in, decl->pos, decl->type);
    for (uint32_t k = 0; k < decl->dim_count && arg->type != BASE_NONE; k++) {
        const lang_dim_decl *d = &decl->dims[k];
        const lang_binding *b = d->name ? lang_i_find(in, d->name, d->pack) : NULL;
        if (d->name && !b) {
            lang_i_fail(in, d->pos, "nothing says the extent %s of %s", lang_name(in->lib, d->name), a->label);
            return NULL;
        }
        const lang_val value = d->name ? (lang_val){0} : lang_x(in, d->e, -1);
        for (uint32_t j = 0; j < (b ? b->n : 1); j++) {
            int64_t n;
            if (arg->shape.rank == IR_MAX_RANK) {
                lang_i_fail(in, d->pos, "%s has too many extents", a->label);
                return NULL;
            }
            if (!lang_v_static_int(in, d->pos, b ? b->vals[j] : value, "an extent", &n))
                return NULL;
            arg->shape.dim[arg->shape.rank++] = n;
        }
    }
    return arg->type != BASE_NONE ? arg : NULL;
}

static bool bind_one(lang_inst *in, const lang_input_decl *decl, lang_actual *a, const lang_argument *arg,
                     uint32_t member) {
    if (arg->open && !(arg = said_by_definition(in, decl, a, arg)))
        return false;
    a->arg = arg;
    a->present = true;
    a->tensor = a->scales = a->zeros = IR_NONE;
    if (!valid_argument(in, decl->pos, a->label, arg) || !bind_type(in, decl->pos, decl->type, arg->type, a->label) ||
        !bind_dims(in, decl, a, member))
        return false;
    lang_tensor t = {0};
    t.name = a->label;
    t.type = arg->type;
    t.rank = arg->shape.rank;
    memcpy(t.dim, arg->shape.dim, t.rank * sizeof *t.dim);
    for (uint32_t k = 0; k < t.rank; k++)
        t.extent[k] = arg->shape.symbol[k] ? lang_read(in->p, in->counts[arg->shape.symbol[k] - 1], NULL, 0, 0) : 0;
    t.kind = LANG_INPUT;
    t.input = (uint32_t)in->p->inputs.n;
    t.data = arg->data;
    a->tensor = lang_tensor_add(in->p, &t);
    *BASE_PUSH(in->p->arena, &in->p->inputs) = a->tensor;
    return true;
}

static bool bind_family(lang_inst *in, const lang_input_decl *decl, lang_actual *a, size_t first) {
    const lang_call *call = in->call;
    size_t n = call->input_count > first ? call->input_count - first : 0;
    a->family = true;
    a->present = n > 0;
    if (n == 0 && !decl->optional) {
        lang_i_fail(in, decl->pos, "%s must have at least one member", a->label);
        return false;
    }
    a->member_count = (uint32_t)n;
    a->members = BASE_NEWS(in->arena, lang_actual, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        lang_actual *m = &a->members[k];
        m->name = a->name;
        m->label = base_printf(in->arena, "%s#%u", a->label, k);
        if (!call->inputs[first + k].present) {
            lang_i_fail(in, decl->pos, "%s is absent", m->label);
            return false;
        }
        if (!bind_one(in, decl, m, &call->inputs[first + k], k))
            return false;
    }
    return true;
}

static lang_actual *new_actual(lang_inst *in, lang_symbol name) {
    lang_actual *a = BASE_NEW(in->arena, lang_actual);
    a->name = name;
    a->label = lang_name(in->lib, name);
    a->tensor = a->scales = a->zeros = IR_NONE;
    return a;
}

static bool bind_inputs(lang_inst *in) {
    const lang_call *call = in->call;
    size_t declared = in->op->inputs.n;
    for (size_t k = 0; k < declared; k++)
        *BASE_PUSH(in->arena, &in->tensors) = new_actual(in, in->op->inputs.at[k].name);
    for (size_t k = 0; k < declared; k++) {
        const lang_input_decl *decl = &in->op->inputs.at[k];
        lang_actual *a = in->tensors.at[k];
        if (decl->family) {
            if (!bind_family(in, decl, a, k))
                return false;
        } else if (k < call->input_count && call->inputs[k].present) {
            if (!bind_one(in, decl, a, &call->inputs[k], 0))
                return false;
        } else if (decl->optional) {
            *BASE_PUSH(in->p->arena, &in->p->inputs) = IR_NONE;
        } else {
            lang_i_fail(in, decl->pos, "the input %s is missing", a->label);
            return false;
        }
    }
    bool rest = declared > 0 && in->op->inputs.at[declared - 1].family;
    if (rest || call->input_count <= declared)
        return true;
    lang_i_fail(in, in->op->pos, "%zu inputs are given, and the definition has %zu", call->input_count, declared);
    return false;
}

/* The k-th output of the call, if it is there. */
static bool bind_output(lang_inst *in, const lang_output_decl *decl, size_t k, lang_actual *a) {
    const lang_call *call = in->call;
    a->output = true;
    if (k >= call->output_count || !call->outputs[k].present)
        return true;
    a->arg = &call->outputs[k];
    return a->arg->type == BASE_NONE || bind_type(in, decl->pos, decl->type, a->arg->type, a->label);
}

static bool bind_output_family(lang_inst *in, const lang_output_decl *decl, size_t first, lang_actual *a) {
    size_t n = in->call->output_count > first ? in->call->output_count - first : 0;
    a->family = true;
    a->member_count = (uint32_t)n;
    a->members = BASE_NEWS(in->arena, lang_actual, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        lang_actual *m = &a->members[k];
        *m = *new_actual(in, decl->name);
        m->label = base_printf(in->arena, "%s#%u", a->label, k);
        if (!bind_output(in, decl, first + k, m))
            return false;
    }
    return true;
}

static bool bind_outputs(lang_inst *in) {
    size_t declared = in->op->outputs.n;
    for (size_t k = 0; k < declared; k++) {
        const lang_output_decl *decl = &in->op->outputs.at[k];
        lang_actual *a = new_actual(in, decl->name);
        *BASE_PUSH(in->arena, &in->tensors) = a;
        if (decl->family ? !bind_output_family(in, decl, k, a) : !bind_output(in, decl, k, a))
            return false;
    }
    bool rest = declared > 0 && in->op->outputs.at[declared - 1].family;
    if (rest || in->call->output_count <= declared)
        return true;
    lang_i_fail(in, in->op->pos, "%zu outputs are wanted, and the definition has %zu", in->call->output_count,
                declared);
    return false;
}

static const char condition_fails[] = "its condition (when) does not hold";

static bool conditions_hold(lang_inst *in) {
    for (size_t k = 0; k < in->op->whens.n; k++) {
        const lang_expr *e = in->op->whens.at[k];
        lang_val v = lang_x_condition(in, e, -1, "when");
        if (v.kind == LANG_V_BAD)
            return false;
        if (v.kind == LANG_V_NODE && lang_i_is_open(in, v.v.ref) && lang_i_decide(in, v.v.ref) >= 0)
            v = lang_v_bool(lang_i_decide(in, v.v.ref) != 0);
        if (v.kind != LANG_V_BOOL) {
            lang_i_fail(in, e->pos, "the condition of an overload must be static");
            return false;
        }
        if (!v.v.i) {
            lang_i_fail(in, e->pos, "%s", condition_fails);
            return false;
        }
    }
    return true;
}

/* ---- stages ---- */
static lang_actual *stage_tensor(lang_inst *in, lang_symbol name) {
    lang_actual *a = lang_i_tensor(in, name);
    if (!a) {
        a = new_actual(in, name);
        *BASE_PUSH(in->arena, &in->tensors) = a;
    }
    return a;
}

/* The type that the stage or its output states; BASE_NONE with *ok: none stated. */
static base_type stated_type(lang_inst *in, const lang_stage_decl *s, bool *ok) {
    base_type type = s->type ? lang_i_type(in, s->pos, s->type) : BASE_NONE, out = BASE_NONE;
    *ok = !s->type || type != BASE_NONE;
    for (size_t k = 0; k < in->op->outputs.n && *ok; k++)
        if (in->op->outputs.at[k].name == s->name && in->op->outputs.at[k].type) {
            out = lang_i_type(in, in->op->outputs.at[k].pos, in->op->outputs.at[k].type);
            *ok = out != BASE_NONE;
            if (*ok && type && type != out) {
                lang_i_fail(in, s->pos, "%s is stated as %s, and as output as %s", lang_name(in->lib, s->name),
                            base_type_name(type), base_type_name(out));
                *ok = false;
            }
        }
    return out ? out : type;
}

static bool add_dim(lang_inst *in, const lang_binder *b, lang_val v, uint32_t number, lang_tensor *t, lang_val *var) {
    lang_ref extent;
    int64_t bound;
    lang_pos pos = b->e ? b->e->pos : b->pos;
    if (t->rank == LANG_MAX_RANK) {
        lang_i_fail(in, b->pos, "a stage has at most %u dimensions", LANG_MAX_RANK);
        return false;
    }
    if (!lang_i_extent(in, pos, v, true, &extent, &bound))
        return false;
    const char *name = lang_name(in->lib, b->name);
    uint32_t k = t->rank++;
    t->dim[k] = bound;
    t->extent[k] = lang_at(in->p, extent)->kind == LANG_CONST ? 0 : extent;
    in->vars[k] = (lang_variable){b->pack ? base_printf(in->arena, "%s%u", name, number) : name, extent, bound};
    in->var_refs[k] = lang_var(in->p, k, extent);
    in->var_count = t->rank;
    in->active |= UINT64_C(1) << k;
    *var = (lang_val){LANG_V_NODE, BASE_I64, {.ref = in->var_refs[k]}};
    return lang_v_node(in, pos, in->var_refs[k]).kind != LANG_V_BAD;
}

/* Binds the variables of a stage and fills in its tensor's extents. steps: extent of the recurrence's variable; NULL
 * outside of one. */
static bool bind_vars(lang_inst *in, const lang_stage_decl *s, lang_symbol rec, const lang_val *steps, lang_tensor *t,
                      uint32_t *rec_var) {
    lang_pack packs[LANG_MAX_RANK];
    in->var_count = 0;
    in->active = 0;
    *rec_var = 0;
    for (uint32_t k = 0; k < s->var_count; k++) { /* extents first: they see no variable */
        packs[k].n = 1;
        if (!s->vars[k].e || (steps && s->vars[k].name == rec && !s->vars[k].pack))
            packs[k].at[0] = *steps;
        else if (s->vars[k].pack ? !lang_x_pack(in, s->vars[k].e, -1, &packs[k])
                                 : (packs[k].at[0] = lang_x(in, s->vars[k].e, -1)).kind == LANG_V_BAD)
            return false;
    }
    uint64_t elements = 1;
    for (uint32_t k = 0; k < s->var_count; k++) {
        const lang_binder *b = &s->vars[k];
        if (steps && b->name == rec && !b->pack)
            *rec_var = t->rank;
        for (uint32_t j = 0; j < packs[k].n; j++) {
            if (!add_dim(in, b, packs[k].at[j], j, t, &packs[k].at[j]))
                return false;
            if (!base_mul_size(elements, (uint64_t)t->dim[t->rank - 1], &elements) ||
                elements > (uint64_t)MAX_ELEMENTS) {
                lang_i_fail(in, b->pos, "%s has too many elements", lang_name(in->lib, s->name));
                return false;
            }
        }
        lang_i_bind(in, b->name, b->pack, packs[k].at, packs[k].n);
    }
    return true;
}

static bool stage_body(lang_inst *in, const lang_stage_decl *s, base_type stated, lang_tensor *t, lang_ref *body) {
    const char *name = lang_name(in->lib, s->name);
    lang_val v = lang_x(in, s->body, -1);
    if (stated)
        v = lang_v_adapt(in, s->body->pos, v, stated, base_printf(in->arena, "the value of %s", name));
    else
        v = lang_v_settle(in, s->body->pos, v, base_printf(in->arena, "the value of %s", name));
    if (v.kind == LANG_V_BAD)
        return false;
    *body = v.kind == LANG_V_BOOL ? lang_const(in->p, BASE_BOOL, (base_value){.u = v.v.i != 0}) : v.v.ref;
    t->type = v.kind == LANG_V_BOOL ? BASE_BOOL : (base_type)v.type;
    return lang_v_node(in, s->pos, *body).kind != LANG_V_BAD;
}

static void push_stage(lang_inst *in, const lang_stage_decl *s, const lang_tensor *t, uint32_t tensor, lang_ref body,
                       int32_t rec, uint32_t rec_var) {
    lang_variable *vars = BASE_NEWS(in->p->arena, lang_variable, in->var_count + 1);
    memcpy(vars, in->vars, in->var_count * sizeof *vars);
    in->p->tensors.at[tensor].type = t->type;
    in->p->tensors.at[tensor].stage = (uint32_t)in->p->stages.n;
    lang_stage *out = BASE_PUSH(in->p->arena, &in->p->stages);
    *out = (lang_stage){0};
    out->tensor = tensor;
    out->rank = t->rank;
    out->var_count = in->var_count;
    out->vars = vars;
    out->body = body;
    out->rec = rec;
    out->rec_var = rec_var;
    out->place = lang_place(in->op->source, s->pos);
}

static lang_tensor stage_new(lang_inst *in, const lang_stage_decl *s) {
    lang_tensor t = {0};
    t.name = lang_name(in->lib, s->name);
    t.kind = LANG_STAGE;
    return t;
}

static void make_one(lang_inst *in, const lang_stage_decl *s, lang_actual *a) {
    lang_tensor t = stage_new(in, s);
    uint32_t rec_var;
    lang_ref body = 0;
    bool ok;
    size_t env = in->env.n;
    base_type stated = stated_type(in, s, &ok);
    ok = ok && bind_vars(in, s, 0, NULL, &t, &rec_var) && stage_body(in, s, stated, &t, &body);
    in->env.n = env;
    a->bad = !ok;
    a->present = true;
    if (!ok)
        return;
    a->tensor = lang_tensor_add(in->p, &t);
    push_stage(in, s, &t, a->tensor, body, -1, 0);
}

static void make_stage(lang_inst *in, const lang_stage_decl *s) {
    lang_actual *a = stage_tensor(in, s->name);
    if (!s->member) {
        make_one(in, s, a);
        return;
    }
    for (uint32_t k = 0; k < a->member_count; k++) { /* one stage for each member */
        size_t env = in->env.n;
        lang_val number = lang_v_int(k);
        in->var_count = 0;
        in->active = 0;
        lang_i_bind(in, s->member, false, &number, 1);
        make_one(in, s, &a->members[k]);
        in->env.n = env;
    }
}

/* All tensors of the recurrence first: its stages read one another. */
static void make_rec(lang_inst *in, const lang_clause *c) {
    uint32_t n = c->stage_count, group = in->p->rec_count + 1;
    lang_actual **actuals = BASE_NEWS(in->arena, lang_actual *, n + 1);
    lang_tensor *tensors = BASE_NEWS(in->arena, lang_tensor, n + 1);
    base_type *stated = BASE_NEWS(in->arena, base_type, n + 1);
    size_t env = in->env.n;
    lang_val steps = lang_x(in, c->e, -1);
    bool ok = steps.kind != LANG_V_BAD;
    for (uint32_t k = 0; k < n; k++) {
        lang_actual *a = actuals[k] = stage_tensor(in, c->stages[k].name);
        tensors[k] = stage_new(in, &c->stages[k]);
        bool fine = ok;
        if (fine)
            stated[k] = stated_type(in, &c->stages[k], &fine);
        fine = fine && bind_vars(in, &c->stages[k], c->name, &steps, &tensors[k], &a->rec_var);
        in->env.n = env;
        a->present = true;
        a->bad = !fine;
        a->group = group;
        a->order = k + 1;
        tensors[k].type = stated[k];
        if (fine)
            a->tensor = lang_tensor_add(in->p, &tensors[k]);
    }
    for (uint32_t k = 0; k < n; k++) {
        lang_actual *a = actuals[k];
        lang_tensor t = stage_new(in, &c->stages[k]);
        lang_ref body = 0;
        if (a->bad)
            continue;
        bool fine = bind_vars(in, &c->stages[k], c->name, &steps, &t, &a->rec_var);
        in->group = group;
        in->order = k + 1;
        in->step = in->var_refs[a->rec_var];
        fine = fine && stage_body(in, &c->stages[k], stated[k], &t, &body);
        in->env.n = env;
        in->group = in->order = 0;
        a->bad = !fine;
        if (fine)
            push_stage(in, &c->stages[k], &t, a->tensor, body, (int32_t)group - 1, a->rec_var);
    }
    in->p->rec_count = group;
}

/* ---- clauses ---- */
/* For one run: constants, and what is made of counts. */
static bool is_static(lang_inst *in, lang_val v) {
    return v.kind != LANG_V_CHOICE && v.kind != LANG_V_TENSOR &&
           (v.kind != LANG_V_NODE || lang_at(in->p, v.v.ref)->kind == LANG_CONST || lang_i_is_open(in, v.v.ref));
}

/* What must be static reads a tensor: that it is no constant is the caller's affair, whose place comes first. */
static void needs_contents(lang_inst *in, lang_pos pos, const char *what) {
    if (!in->call->place) {
        lang_i_fail(in, pos, "%s must be static, and depends on what a run reads", what);
        return;
    }
    lang_i_refuse(in, pos, base_printf(in->arena, "%s must be static", what),
                  "what it does depends on the contents of a tensor that only a run knows: make that a constant "
                  "(--constant NAME=FILE)");
}

static void make_let(lang_inst *in, const lang_clause *c) {
    lang_pack list = {0};
    const char *name = lang_name(in->lib, c->name);
    if (lang_i_find(in, c->name, c->pack)) {
        lang_i_fail(in, c->pos, "'%s%s' is defined already", name, c->pack ? ".." : "");
        return;
    }
    bool ok = true;
    if (c->pack) {
        ok = lang_x_pack(in, c->e, -1, &list);
    } else {
        list.n = 1;
        list.at[0] = lang_x(in, c->e, -1);
        ok = list.at[0].kind != LANG_V_BAD;
    }
    for (uint32_t k = 0; k < list.n && ok; k++)
        if (!is_static(in, list.at[k])) {
            needs_contents(in, c->e->pos, base_printf(in->arena, "let %s%s", name, c->pack ? ".." : ""));
            ok = false;
        }
    if (!ok) { /* keep the name, bad: its uses are silent */
        list.n = 1;
        list.at[0] = lang_v_bad();
    }
    lang_i_bind(in, c->name, c->pack, list.at, list.n);
    in->globals = in->floor = in->env.n;
}

/* A check that fails is the caller's fault: its place comes first. */
static void make_chk(lang_inst *in, const lang_clause *c) {
    lang_val v = lang_x_condition(in, c->e, -1, "chk");
    if (v.kind == LANG_V_BAD || (v.kind == LANG_V_BOOL && v.v.i))
        return;
    if (v.kind == LANG_V_NODE && lang_i_is_open(in, v.v.ref)) {
        if (lang_i_require(in, v.v.ref))
            return;
    } else if (v.kind != LANG_V_BOOL) {
        needs_contents(in, c->e->pos, "chk");
        return;
    }
    lang_i_refuse(in, c->pos, "the check is here", "%s", c->text ? c->text : "a check of the definition fails");
}

static void make_body(lang_inst *in) {
    for (size_t k = 0; k < in->op->clauses.n; k++) {
        const lang_clause *c = &in->op->clauses.at[k];
        size_t before = in->errors;
        in->var_count = 0;
        in->active = 0;
        in->assumed.n = 0;
        switch (c->kind) {
        case LANG_S_LET:
            make_let(in, c);
            break;
        case LANG_S_CHK:
            make_chk(in, c);
            if (in->errors > before)
                return; /* what follows relies on it */
            break;
        case LANG_S_STAGE:
            make_stage(in, &c->stages[0]);
            break;
        case LANG_S_REC:
            make_rec(in, c);
            break;
        }
        lang_i_make_tests(in);
    }
}

static void finish_output(lang_inst *in, const lang_output_decl *decl, const lang_actual *a) {
    if (a->tensor == IR_NONE || a->bad)
        return;
    const lang_tensor *t = &in->p->tensors.at[a->tensor];
    *BASE_PUSH(in->p->arena, &in->p->outputs) = a->tensor;
    const lang_argument *want = a->arg;
    if (!want)
        return;
    const base_place here = lang_place(in->op->source, decl->pos);
    const base_place *place = in->call->place ? in->call->place : &here;
    if (want->type != BASE_NONE && want->type != t->type) {
        in->errors++;
        base_error(in->diags, place, "%s: output %s is %s, and the definition gives %s", in->call->op, a->label,
                   base_type_name(want->type), base_type_name(t->type));
    }
    if (!want->shape_known)
        return;
    bool same = want->shape.rank == t->rank;
    bool open = in->call->count_count > 0; /* the bound of an interval may be wide of what can be */
    for (uint32_t j = 0; same && j < t->rank; j++)
        same = t->extent[j] ? open || want->shape.dim[j] <= t->dim[j] : want->shape.dim[j] == t->dim[j];
    if (same)
        return;
    base_text given = {in->arena, NULL, 0, 0};
    base_puts(&given, "[");
    for (uint32_t j = 0; j < t->rank; j++)
        base_put(&given, "%s%s%lld", j ? "," : "", t->extent[j] ? "<=" : "", (long long)t->dim[j]);
    base_puts(&given, "]");
    in->errors++;
    base_error(in->diags, place, "%s: output %s is %s, and the definition gives %s", in->call->op, a->label,
               dims_shown(in, &want->shape), given.at);
}

/* Of a call that lists outputs, those. */
static void finish_outputs(lang_inst *in) {
    for (size_t k = 0; k < in->op->outputs.n && (k < in->call->output_count || in->call->output_count == 0); k++) {
        const lang_output_decl *decl = &in->op->outputs.at[k];
        const lang_actual *a = lang_i_tensor(in, decl->name);
        if (a && !a->family)
            finish_output(in, decl, a);
        for (uint32_t j = 0; a && a->family && j < a->member_count; j++)
            finish_output(in, decl, &a->members[j]);
    }
    for (size_t k = 0; k < in->tests.n; k++)
        *BASE_PUSH(in->p->arena, &in->p->outputs) = in->tests.at[k];
}

/* ---- overloads ---- */
static lang_inst begin(base_arena *arena, const lang_library *lib, const lang_call *call, const lang_op_decl *op,
                       base_diags *d) {
    lang_inst in = {0};
    in.arena = arena;
    in.lib = lib;
    in.call = call;
    in.op = op;
    in.diags = d;
    in.source = op->source;
    in.p = lang_program_new(arena, call->op);
    if (call->node_limit)
        in.p->node_limit = call->node_limit;
    return in;
}

static bool fits(lang_inst *in) {
    bool ok = lang_i_add_counts(in) && bind_attrs(in) && bind_inputs(in) && bind_outputs(in) && conditions_hold(in);
    lang_i_push_counts(in);
    in->globals = in->floor = in->env.n;
    return ok;
}

/* Whether the k-th input of the definition states a type that no input before it states. */
static bool states_first(const lang_op_decl *op, size_t k) {
    for (size_t j = 0; j < k; j++)
        if (op->inputs.at[j].type == op->inputs.at[k].type)
            return false;
    return op->inputs.at[k].type != 0 && !op->inputs.at[k].family;
}

/* Appends the inputs' types to the list, once, if the overload takes them where its inputs of the k-th one's type are of
 * `type`. */
static void try_types(lang_inst *in, base_arena *scratch, const lang_op_decl *op, size_t k, base_type type,
                      base_text *list) {
    const size_t n = in->call->input_count;
    lang_argument *inputs = BASE_NEWS(scratch, lang_argument, n + 1),
                  *outputs = BASE_NEWS(scratch, lang_argument, in->call->output_count + 1);
    base_diags ignored = {.arena = scratch};
    base_text types = {.arena = scratch};
    lang_call call = *in->call;
    base_puts(&types, "(");
    for (size_t j = 0; j < n; j++) {
        inputs[j] = in->call->inputs[j];
        if (j < op->inputs.n && op->inputs.at[j].type == op->inputs.at[k].type && inputs[j].present) {
            inputs[j].type = type;
            inputs[j].data = NULL;
        }
        base_put(&types, "%s%s", j > 0 ? ", " : "", inputs[j].present ? base_type_name(inputs[j].type) : "absent");
    }
    base_puts(&types, ")");
    for (size_t j = 0; j < call.output_count; j++) {
        outputs[j] = in->call->outputs[j];
        outputs[j].type = BASE_NONE;
    }
    call.inputs = inputs;
    call.outputs = outputs;
    lang_inst other = begin(scratch, in->lib, &call, op, &ignored);
    if ((list->at == NULL || strstr(list->at, types.at) == NULL) && !op->bad && fits(&other))
        base_put(list, "%s%s", list->n > 0 ? ", " : "", types.at);
}

/* "; (i16, i8), (i8, i8) would": types of the inputs that some overload takes and that differ in one of its types; "": none
 * does. Errors behind the first few are not worth the search. */
static const char *would_fit(lang_inst *in, const lang_op_decl *first) {
    enum { MOST_INPUTS = 8, MOST_TEXT = 160, MOST_ERRORS = 16 };
    base_text list = {.arena = in->arena};
    for (const lang_op_decl *op = first; op && in->call->input_count <= MOST_INPUTS && in->diags->errors < MOST_ERRORS;
         op = op->next)
        for (size_t k = 0; k < op->inputs.n && k < in->call->input_count; k++)
            for (int type = BASE_NONE + 1; type < BASE_TYPE_COUNT && states_first(op, k) && list.n < MOST_TEXT;
                 type++) {
                base_arena *scratch = base_arena_new(base_arena_memory(in->arena));
                try_types(in, scratch, op, k, (base_type)type, &list);
                base_arena_free(scratch);
            }
    return list.n > 0 ? base_printf(in->arena, "; %s would", list.at) : "";
}

static base_status none_fits(lang_inst *in, const lang_op_decl *first, const base_diags *reasons, size_t n) {
    const base_place here = lang_place(first->source, first->pos);
    const base_place *place = in->call->place ? in->call->place : &here;
    if (n == 1) {
        const char *reason = reasons[0].list.at[0].message;
        return base_error(in->diags, place, "%s: %s%s", call_shown(in), reason,
                          strcmp(reason, condition_fails) == 0 ? would_fit(in, first) : "");
    }
    base_error(in->diags, place, "%s: none of the %zu definitions fits%s", call_shown(in), n, would_fit(in, first));
    size_t k = 0;
    for (const lang_op_decl *op = first; op; op = op->next, k++) {
        const base_diag *why = &reasons[k].list.at[0];
        const bool condition = strcmp(why->message, condition_fails) == 0; /* it shows itself */
        base_place at = lang_place(op->source, condition ? (lang_pos){why->line, why->column} : op->pos);
        base_note(in->diags, &at, "%s", why->message);
    }
    return BASE_REFUSED;
}

base_status lang_instantiate(base_arena *arena, const lang_library *lib, const lang_call *call, lang_program **out,
                             base_diags *d) {
    const lang_op_decl *first = lang_find_op(lib, call->op);
    *out = NULL;
    if (!first)
        return base_error(d, call->place, "there is no operator '%s'",
                          base_printable(arena, call->op, strlen(call->op), 60));
    size_t n = 0;
    for (const lang_op_decl *op = first; op; op = op->next)
        n++;
    base_diags *reasons = BASE_NEWS(arena, base_diags, n);
    lang_inst in = {0};
    size_t k = 0;
    bool by_contents = false; /* which definition it is, too */
    for (const lang_op_decl *op = first; op; op = op->next, k++) {
        base_place at = lang_place(op->source, op->pos);
        reasons[k].arena = arena;
        by_contents |= in.p && in.p->by_contents;
        in = begin(arena, lib, call, op, &reasons[k]);
        if (op->bad)
            base_error(&reasons[k], &at, "its definition has errors");
        else if (fits(&in))
            break;
    }
    in.diags = d;
    if (k == n)
        return none_fits(&in, first, reasons, n);
    in.errors = 0;
    in.p->external = in.op->external ? base_strdup(arena, lang_name(lib, in.op->external)) : NULL;
    make_body(&in);
    if (in.errors == 0)
        finish_outputs(&in);
    if (in.errors > 0) {
        base_place at = lang_place(in.op->source, in.op->pos);
        base_note(d, in.call->place ? in.call->place : &at, "while instantiating %s, defined at line %u",
                  call_shown(&in), in.op->pos.line);
        return BASE_REFUSED;
    }
    in.p->by_contents |= by_contents;
    *out = in.p;
    return BASE_OK;
}
