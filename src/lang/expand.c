/* expand.c - expressions of a definition to nodes of the program: names, reads, blocks, fns, reductions.
 *
 * Takes a tree and the position inside the packs around it. Gives its value. Static conditions choose at once: what is
 * not chosen is never expanded. Time is bounded by a count of expansions, depth by a limit; equal expressions become
 * one node.
 */
#include "lang/inst.h"

#include <string.h>

bool lang_x_tick(lang_inst *in, const lang_expr *e) {
    if (in->depth > LANG_MAX_EXPANSION) {
        lang_i_fail(in, e->pos, "the definition is nested too deeply");
        return false;
    }
    if (in->steps == LANG_MAX_STEPS) {
        in->steps++;
        lang_i_fail(in, e->pos, "the definition is too large for these arguments");
    }
    if (in->steps > LANG_MAX_STEPS)
        return false;
    in->steps++;
    return true;
}

static lang_val node(lang_inst *in, const lang_expr *e, lang_ref r) {
    return lang_v_node(in, e->pos, r);
}

/* A static or computed condition as a node. */
static lang_ref as_bool(lang_inst *in, lang_val v) {
    return v.kind == LANG_V_NODE ? v.v.ref : lang_const(in->p, BASE_BOOL, (base_value){.u = v.v.i != 0});
}

lang_val lang_x_condition(lang_inst *in, const lang_expr *e, int at, const char *what) {
    lang_val v = lang_x(in, e, at);
    if (v.kind == LANG_V_BAD || v.kind == LANG_V_BOOL || (v.kind == LANG_V_NODE && v.type == BASE_BOOL))
        return v;
    return lang_i_fail(in, e->pos, "%s must be a condition, found %s", what, lang_v_shown(in, v));
}

/* ---- fns ---- */
typedef struct argument {
    uint32_t n;           /* entries; of what is no pack 1 */
    const lang_val *vals; /* of a pack; else NULL: `one` */
    lang_val one;
} argument;

static bool pack_argument(lang_inst *in, const lang_expr *e, int at, argument *a) {
    lang_pack list;
    if (!lang_x_pack(in, e, at, &list))
        return false;
    lang_val *vals = BASE_NEWS(in->arena, lang_val, list.n + 1);
    memcpy(vals, list.at, list.n * sizeof *vals);
    a->n = list.n;
    a->vals = vals;
    return true;
}

bool lang_x_enter(lang_inst *in, const lang_expr *e, const lang_fn_decl *fn, int at, bool values, lang_entered *was) {
    was->floor = in->floor;
    was->n = in->env.n;
    was->source = in->source;
    was->frame = in->frame;
    unsigned depth = in->frame ? in->frame->depth : 0;
    if (e->count != fn->param_count) {
        lang_i_fail(in, e->pos, "the fn %s takes %u argument%s, not %u", lang_name(in->lib, fn->name), fn->param_count,
                    fn->param_count == 1 ? "" : "s", e->count);
        return false;
    }
    for (const lang_frame *f = in->frame; f; f = f->outer)
        if (f->fn == fn) {
            lang_i_fail(in, e->pos, "the fn %s uses itself", lang_name(in->lib, fn->name));
            return false;
        }
    if (depth == LANG_MAX_FNS) {
        lang_i_fail(in, e->pos, "more than %u fns inside one another", LANG_MAX_FNS);
        return false;
    }
    /* All arguments before the first binding: they are the caller's, and must not see the callee's names. */
    argument *args = BASE_NEWS(in->arena, argument, fn->param_count + 1);
    for (uint32_t k = 0; k < fn->param_count; k++) {
        argument *a = &args[k];
        bool ok = true;
        if (!values) {
            int n = fn->params[k].pack ? lang_x_length(in, e->args[k]) : 0;
            ok = n != LANG_BAD_PACK;
            a->n = n == LANG_NO_PACK ? 1u : (uint32_t)n;
        } else if (fn->params[k].pack) {
            ok = pack_argument(in, e->args[k], at, a);
        } else {
            a->n = 1;
            a->one = lang_x(in, e->args[k], at);
            ok = a->one.kind != LANG_V_BAD;
        }
        if (!ok)
            return false;
    }
    for (uint32_t k = 0; k < fn->param_count; k++) {
        if (values) {
            lang_i_bind(in, fn->params[k].name, fn->params[k].pack, args[k].vals ? args[k].vals : &args[k].one,
                        args[k].n);
        } else {
            lang_i_bind_length(in, fn->params[k].name, args[k].n);
            in->env.at[in->env.n - 1].pack = fn->params[k].pack;
        }
    }
    was->inner = (lang_frame){fn, in->source, e->pos, in->frame, depth + 1};
    in->floor = was->n; /* only now: the arguments are the caller's */
    in->frame = &was->inner;
    in->source = fn->source;
    return true;
}

void lang_x_leave(lang_inst *in, const lang_entered *was) {
    in->env.n = was->n;
    in->floor = was->floor;
    in->source = was->source;
    in->frame = was->frame;
}

static lang_val call_fn(lang_inst *in, const lang_expr *e, const lang_fn_decl *fn, int at) {
    lang_entered was;
    lang_val v = lang_v_bad();
    if (lang_x_enter(in, e, fn, at, true, &was))
        v = lang_x(in, fn->body, at);
    lang_x_leave(in, &was);
    return v;
}

static lang_val convert(lang_inst *in, const lang_expr *e, lang_word mode, lang_symbol type, int at) {
    base_type t = lang_i_type(in, e->pos, type);
    if (t == BASE_NONE)
        return lang_v_bad();
    return lang_v_convert(in, e->pos, mode, t, lang_x(in, e->args[0], at));
}

/* ---- choices ---- */
static lang_val choose(lang_inst *in, const lang_expr *e, int at) {
    lang_val c = lang_x_condition(in, e->args[0], at, "the first argument of if");
    if (c.kind == LANG_V_BAD)
        return c;
    if (c.kind == LANG_V_BOOL)
        return lang_x(in, e->args[c.v.i ? 1 : 2], at);
    size_t n = in->assumed.n;
    *BASE_PUSH(in->arena, &in->assumed) = c.v.ref;
    lang_val yes = lang_x(in, e->args[1], at);
    in->assumed.n = n;
    if (yes.kind == LANG_V_BAD)
        return yes;
    return lang_v_if(in, e->pos, c.v.ref, yes, lang_x(in, e->args[2], at));
}

static lang_val logic(lang_inst *in, const lang_expr *e, int at) {
    bool is_and = e->op == LANG_B_AND;
    const char *what = is_and ? "a side of &&" : "a side of ||";
    lang_val a = lang_x_condition(in, e->args[0], at, what);
    if (a.kind == LANG_V_BAD)
        return a;
    if (a.kind == LANG_V_BOOL)
        return (a.v.i != 0) == is_and ? lang_x_condition(in, e->args[1], at, what) : a;
    size_t n = in->assumed.n;
    if (is_and)
        *BASE_PUSH(in->arena, &in->assumed) = a.v.ref;
    lang_val b = lang_x_condition(in, e->args[1], at, what);
    in->assumed.n = n;
    if (b.kind == LANG_V_BAD)
        return b;
    return node(in, e, lang_apply2(in->p, is_and ? LANG_AND : LANG_OR, BASE_BOOL, a.v.ref, as_bool(in, b)));
}

static lang_val call(lang_inst *in, const lang_expr *e, int at) {
    switch ((lang_callee_kind)e->callee) {
    case LANG_C_IF:
        return choose(in, e, at);
    case LANG_C_CONVERT:
        return convert(in, e, (lang_word)e->code, e->type, at);
    case LANG_C_BUILTIN:
        return lang_x_builtin(in, e, at);
    case LANG_C_WORD: {
        lang_val args[3];
        for (uint32_t k = 0; k < e->count; k++) {
            args[k] = lang_x(in, e->args[k], at);
            if (args[k].kind == LANG_V_BAD)
                return args[k];
        }
        return lang_v_word(in, e->pos, (lang_word)e->code, args, e->count);
    }
    case LANG_C_NAMED:
        break;
    }
    const lang_binding *b = lang_i_find(in, e->name, false);
    if (b && b->vals && b->vals[0].kind == LANG_V_TYPE) {
        if (e->count != 1)
            return lang_i_fail(in, e->pos, "a conversion takes 1 argument, not %u", e->count);
        return convert(in, e, LANG_CAST, e->name, at);
    }
    const lang_fn_decl *fn = lang_find_fn(in->lib, e->name);
    if (!fn)
        return lang_i_fail(in, e->pos, "there is no word, type or fn '%s'", lang_name(in->lib, e->name));
    return call_fn(in, e, fn, at);
}

/* ---- blocks ---- */
static lang_val block(lang_inst *in, const lang_expr *e, int at) {
    size_t n = in->env.n;
    bool ok = true;
    for (uint32_t k = 0; k < e->binder_count && ok; k++) {
        const lang_binder *b = &e->binders[k];
        lang_pack list;
        if (b->pack) {
            ok = lang_x_pack(in, b->e, at, &list);
        } else {
            list.n = 1;
            list.at[0] = lang_x(in, b->e, at);
            ok = list.at[0].kind != LANG_V_BAD;
        }
        if (ok)
            lang_i_bind(in, b->name, b->pack, list.at, list.n);
    }
    lang_val v = ok ? lang_x(in, e->body, at) : lang_v_bad();
    in->env.n = n;
    return v;
}

/* ---- tensors ---- */
lang_actual *lang_x_actual(lang_inst *in, const lang_expr *e, int at) {
    const lang_binding *b = lang_i_find(in, e->name, false);
    lang_actual *a = b && b->vals && b->vals[0].kind == LANG_V_TENSOR ? b->vals[0].v.tensor
                     : b                                              ? NULL
                                                                      : lang_i_tensor(in, e->name);
    if (!a && b) {
        if (b->vals && b->vals[0].kind != LANG_V_BAD)
            lang_i_fail(in, e->pos, "'%s' is no tensor", lang_name(in->lib, e->name));
        return NULL;
    }
    if (!a) {
        lang_i_unknown(in, e->pos, e->name, "tensor");
        return NULL;
    }
    if (!e->member) {
        if (!a->family || e->kind == LANG_X_NAME)
            return a;
        lang_i_fail(in, e->pos, "%s is a family: write %s#k for one of its %u members", a->label, a->label,
                    a->member_count);
        return NULL;
    }
    int64_t k;
    if (!a->family) {
        lang_i_fail(in, e->pos, "%s is no family", a->label);
        return NULL;
    }
    if (!lang_v_static_int(in, e->member->pos, lang_x(in, e->member, at), "the number of the member", &k))
        return NULL;
    if (k >= 0 && k < (int64_t)a->member_count)
        return &a->members[k];
    lang_i_fail(in, e->member->pos, "%s has no member %lld, only %u", a->label, (long long)k, a->member_count);
    return NULL;
}

static bool index_ref(lang_inst *in, const lang_expr *e, lang_val v, lang_ref *out) {
    v = lang_v_adapt(in, e->pos, v, BASE_I64, "an index");
    if (v.kind == LANG_V_BAD)
        return false;
    *out = v.v.ref;
    return true;
}

/* The last `need` entries of a pack; 0 where the tensor has one element only. */
static bool spread(lang_inst *in, const lang_expr *e, const lang_actual *a, uint32_t first, uint32_t need, int at,
                   lang_ref *out) {
    lang_pack list;
    if (!lang_x_pack(in, e->args[0], at, &list))
        return false;
    if (list.n < need) {
        lang_i_fail(in, e->pos, "%s has %u dimensions here, and the pack after '~' %u entries", a->label, need, list.n);
        return false;
    }
    for (uint32_t k = 0; k < need; k++) {
        if (!index_ref(in, e, list.at[list.n - need + k], &out[k]))
            return false;
        const lang_tensor t = in->p->tensors.at[a->tensor];
        out[k] = lang_i_spread(in, &t, first + k, out[k]);
        if (lang_v_node(in, e->pos, out[k]).kind == LANG_V_BAD)
            return false;
    }
    return true;
}

static bool index_list(lang_inst *in, const lang_expr *e, const lang_actual *a, int at, lang_ref *index) {
    uint32_t rank = in->p->tensors.at[a->tensor].rank, n = 0, spread_at = UINT32_MAX, others = 0;
    int lengths[LANG_MAX_RANK + 1];
    for (uint32_t k = 0; k < e->count; k++) {
        if (k > LANG_MAX_RANK) {
            lang_i_fail(in, e->pos, "%s has %u dimensions, and the read %u indices", a->label, rank, e->count);
            return false;
        }
        if (e->args[k]->kind == LANG_X_SPREAD) {
            spread_at = k;
            continue;
        }
        lengths[k] = lang_x_length(in, e->args[k]);
        if (lengths[k] == LANG_BAD_PACK)
            return false;
        others += lengths[k] == LANG_NO_PACK ? 1u : (uint32_t)lengths[k];
    }
    if (spread_at == UINT32_MAX ? others != rank : others > rank) {
        lang_i_fail(in, e->pos, "%s has %u dimension%s, and the read %u ind%s", a->label, rank, rank == 1 ? "" : "s",
                    others, others == 1 ? "ex" : "ices");
        return false;
    }
    for (uint32_t k = 0; k < e->count; k++) {
        const lang_expr *arg = e->args[k];
        if (k == spread_at) {
            if (!spread(in, arg, a, n, rank - others, at, index + n))
                return false;
            n += rank - others;
        } else if (lengths[k] == LANG_NO_PACK) {
            if (!index_ref(in, arg, lang_x(in, arg, at), &index[n++]))
                return false;
        } else {
            lang_pack list;
            if (!lang_x_pack(in, arg, at, &list))
                return false;
            for (uint32_t j = 0; j < list.n; j++)
                if (!index_ref(in, arg, list.at[j], &index[n++]))
                    return false;
        }
    }
    return true;
}

static bool small_affine(const lang_program *p, lang_ref e, lang_affine *out) {
    if (!lang_affine_of(p, e, out) || out->constant > INT32_MAX || out->constant < -INT32_MAX)
        return false;
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++)
        if (out->coefficient[k] > INT32_MAX || out->coefficient[k] < -INT32_MAX)
            return false;
    return true;
}

/* Is `condition` one that proves index < step, or index <= step? */
static bool proves(const lang_program *p, lang_ref condition, lang_ref index, lang_ref step, bool strict) {
    const lang_node *n = lang_at(p, condition);
    if (n->kind != LANG_WORD_)
        return false;
    if (n->code == LANG_AND)
        return proves(p, lang_operand(p, condition, 0), index, step, strict) ||
               proves(p, lang_operand(p, condition, 1), index, step, strict);
    if (n->code != LANG_LT && n->code != LANG_LE)
        return false;
    lang_affine left, right, at, t;
    if (!small_affine(p, lang_operand(p, condition, 0), &left) ||
        !small_affine(p, lang_operand(p, condition, 1), &right) || !small_affine(p, index, &at) ||
        !small_affine(p, step, &t))
        return false;
    /* left (<|<=) right proves index + strict <= step when (step - index) - (right - left) is the right constant */
    for (uint32_t k = 0; k < LANG_MAX_VARS; k++)
        if (t.coefficient[k] - at.coefficient[k] != right.coefficient[k] - left.coefficient[k])
            return false;
    int64_t slack = (n->code == LANG_LT ? 1 : 0) + (t.constant - at.constant) - (right.constant - left.constant);
    return slack >= (strict ? 1 : 0);
}

/* A stage of the recurrence at hand may be read at earlier steps; an earlier stage also at the same. */
static bool check_step(lang_inst *in, const lang_expr *e, const lang_actual *a, lang_ref index) {
    bool strict = a->order >= in->order;
    lang_affine at, t;
    if (small_affine(in->p, index, &at) && small_affine(in->p, in->step, &t)) {
        bool same = true;
        for (uint32_t k = 0; k < LANG_MAX_VARS; k++)
            same &= at.coefficient[k] == t.coefficient[k];
        if (same && at.constant - t.constant <= (strict ? -1 : 0))
            return true;
        if (at.vars == 0 && at.constant < 0)
            return true; /* always outside: the fill */
    }
    for (size_t k = 0; k < in->assumed.n; k++)
        if (proves(in->p, in->assumed.at[k], index, in->step, strict))
            return true;
    lang_i_fail(in, e->pos,
                "%s must be read at an earlier step%s: write the step less a constant, or guard it with a comparison",
                a->label, strict ? "" : " or at this one");
    return false;
}

static bool constant_at(const lang_inst *in, const lang_tensor *t, const lang_ref *index, uint64_t *element) {
    if (!t->data)
        return false;
    *element = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        const lang_node *n = lang_at(in->p, index[k]);
        if (n->kind != LANG_CONST || n->value.i < 0 || n->value.i >= t->dim[k])
            return false;
        *element = *element * (uint64_t)t->dim[k] + (uint64_t)n->value.i;
    }
    return true;
}

static lang_val read_known(lang_inst *in, const lang_expr *e, const lang_tensor *t, uint64_t element) {
    in->p->by_contents |= t->kind == LANG_INPUT;
    return node(in, e, lang_const(in->p, t->type, base_load(t->type, t->data, element)));
}

static bool fill_ref(lang_inst *in, const lang_expr *e, base_type t, int at, lang_ref *out) {
    *out = 0;
    if (!e->fill)
        return true;
    lang_val v = lang_v_adapt(in, e->fill->pos, lang_x(in, e->fill, at), t, "the fill");
    if (v.kind == LANG_V_BAD)
        return false;
    *out = as_bool(in, v);
    return true;
}

static bool has_open_extent(const lang_tensor *t) {
    for (uint32_t k = 0; k < t->rank; k++)
        if (t->extent[k])
            return true;
    return false;
}

/* Element `number` of a tensor in which an extent is open, by its indices: outside where the number is. */
static lang_val read_unflat(lang_inst *in, const lang_expr *e, const lang_actual *a, const lang_tensor *t,
                            lang_ref number, lang_ref fill) {
    lang_ref index[LANG_MAX_RANK], stride = lang_int(in->p, BASE_I64, 1);
    for (uint32_t k = t->rank; k-- > 0;) {
        lang_ref extent = t->extent[k] ? t->extent[k] : lang_int(in->p, BASE_I64, t->dim[k]);
        lang_ref q = lang_apply2(in->p, LANG_DIV, BASE_I64, number, stride);
        index[k] = k > 0 ? lang_apply2(in->p, LANG_MOD, BASE_I64, q, extent) : q;
        stride = k > 0 ? lang_apply2(in->p, LANG_MUL, BASE_I64, stride, extent) : stride;
        if (lang_v_node(in, e->pos, index[k]).kind == LANG_V_BAD || lang_v_node(in, e->pos, stride).kind == LANG_V_BAD)
            return lang_v_bad();
    }
    return node(in, e, lang_read(in->p, a->tensor, index, t->rank, fill));
}

static lang_val read_tensor(lang_inst *in, const lang_expr *e, int at) {
    const lang_actual *a = lang_x_actual(in, e, at);
    if (!a)
        return lang_v_bad();
    if (!a->present && a->output)
        return lang_i_fail(in, e->pos, "the stage %s is read before it is defined", a->label);
    if (!a->present) {
        if (e->fill)
            return lang_x(in, e->fill, at);
        return lang_i_fail(
            in, e->pos,
            "the optional input %s is absent, and this read has no fill: write %s[...]?value, or ask has(%s)", a->label,
            a->label, a->label);
    }
    if (a->bad)
        return lang_v_bad();
    if (a->family)
        return lang_i_fail(in, e->pos, "%s is a family: write %s#k for one of its members", a->label, a->label);
    base_type type = in->p->tensors.at[a->tensor].type;
    if (type == BASE_NONE)
        return lang_i_fail(in, e->pos, "the stage %s is read before its value is known: state its type", a->label);
    lang_ref index[LANG_MAX_RANK], fill;
    uint64_t element;
    if (e->kind == LANG_X_FLAT) {
        if (a->group && a->group == in->group)
            return lang_i_fail(in, e->pos, "a stage of the recurrence at hand is read by its indices");
        if (!index_ref(in, e->args[0], lang_x(in, e->args[0], at), index) || !fill_ref(in, e, type, at, &fill))
            return lang_v_bad();
        const lang_tensor *t = &in->p->tensors.at[a->tensor];
        lang_tensor line = *t;
        line.rank = 1;
        line.dim[0] = 1;
        for (uint32_t k = 0; k < t->rank; k++)
            line.dim[0] *= t->dim[k];
        if (constant_at(in, &line, index, &element))
            return read_known(in, e, t, element);
        line = *t;
        return has_open_extent(&line) ? read_unflat(in, e, a, &line, index[0], fill)
                                      : node(in, e, lang_read_flat(in->p, a->tensor, index[0], fill));
    }
    if (!index_list(in, e, a, at, index))
        return lang_v_bad();
    if (a->group && a->group == in->group && !check_step(in, e, a, index[a->rec_var]))
        return lang_v_bad();
    if (!fill_ref(in, e, type, at, &fill))
        return lang_v_bad();
    const lang_tensor *t = &in->p->tensors.at[a->tensor];
    if (constant_at(in, t, index, &element))
        return read_known(in, e, t, element);
    return node(in, e, lang_read(in->p, a->tensor, index, t->rank, fill));
}

/* ---- quantisation ---- */
static uint32_t quant_tensor(lang_inst *in, lang_actual *a, bool zeros) {
    uint32_t *slot = zeros ? &a->zeros : &a->scales;
    if (*slot == IR_NONE) {
        lang_tensor t = {0};
        t.name = base_printf(in->arena, "%s.%s", a->label, zeros ? "zeros" : "scales");
        t.type = zeros ? BASE_I64 : BASE_F32;
        t.rank = 1;
        t.dim[0] = a->arg->quant.n;
        t.kind = LANG_CONSTANT;
        t.data = zeros ? (const void *)a->arg->quant.zero : (const void *)a->arg->quant.scale;
        *slot = lang_tensor_add(in->p, &t);
    }
    return *slot;
}

/* A tensor of the model that is not quantised as the definition reads it: said once for each. */
static lang_val refuse_quant(lang_inst *in, const lang_expr *e, lang_actual *a, const char *what) {
    if (!a->refused)
        lang_i_refuse(in, e->pos, "it is read here", "%s %s", a->label, what);
    a->refused = true;
    return lang_v_bad();
}

static lang_val quant(lang_inst *in, const lang_expr *e, int at) {
    static const char *const names[] = {"scale", "zero", "axis", "scales", "zeros"};
    lang_actual *a = lang_x_actual(in, e, at);
    if (!a)
        return lang_v_bad();
    if (a->family)
        return lang_i_fail(in, e->pos, "%s is a family: write %s#k for one of its members", a->label, a->label);
    const ir_quant *q = a->arg ? &a->arg->quant : NULL;
    if (a->arg && in->call->place && q->n == 0)
        return refuse_quant(in, e, a, "is not quantised: it needs a scale and a zero point");
    if (!q || q->n == 0)
        return lang_i_fail(in, e->pos, "%s has no quantisation: %s.%s", a->label, a->label, names[e->op]);
    if (e->op == LANG_Q_AXIS)
        return lang_v_int(q->n == 1 ? 0 : q->axis);
    if (e->op == LANG_Q_SCALE || e->op == LANG_Q_ZERO) {
        if (q->n != 1 && in->call->place)
            return refuse_quant(in, e, a,
                                base_printf(in->arena,
                                            "has %u scales, one for each channel: quantise it with one scale",
                                            (unsigned)q->n));
        if (q->n != 1)
            return lang_i_fail(in, e->pos, "%s has %u scales: read %s.%ss[...]", a->label, q->n, a->label,
                               names[e->op]);
        return e->op == LANG_Q_SCALE ? lang_v_float((double)q->scale[0]) : lang_v_int(q->zero[0]);
    }
    if (e->count == 0)
        return lang_i_fail(in, e->pos, "%s.%s is a list: write %s.%s[...]", a->label, names[e->op], a->label,
                           names[e->op]);
    bool zeros = e->op == LANG_Q_ZEROS;
    lang_ref index;
    if (!index_ref(in, e->args[0], lang_x(in, e->args[0], at), &index))
        return lang_v_bad();
    uint32_t tensor = quant_tensor(in, a, zeros);
    const lang_tensor *t = &in->p->tensors.at[tensor];
    if (q->n == 1)
        return read_known(in, e, t, 0);
    uint64_t element;
    if (constant_at(in, t, &index, &element))
        return read_known(in, e, t, element);
    return node(in, e, lang_read(in->p, tensor, &index, 1, 0));
}

/* ---- reductions ---- */
bool lang_i_extent(lang_inst *in, lang_pos pos, lang_val v, bool outside, lang_ref *ref, int64_t *bound) {
    if (v.kind == LANG_V_BAD)
        return false;
    if (lang_v_is_static_int(in, v, bound)) {
        if (*bound < 0 || *bound > INT64_C(1) << 48) {
            lang_i_fail(in, pos, "an extent cannot be %lld", (long long)*bound);
            return false;
        }
        *ref = lang_int(in->p, BASE_I64, *bound);
        return *ref != 0 || lang_v_node(in, pos, 0).kind != LANG_V_BAD;
    }
    v = lang_v_adapt(in, pos, v, BASE_I64, "an extent");
    if (v.kind == LANG_V_BAD)
        return false;
    if (outside && lang_at(in->p, v.v.ref)->free) {
        lang_i_fail(in, pos, "the extent of a stage's variable cannot depend on a variable");
        return false;
    }
    lang_stage now = {0};
    now.vars = in->vars;
    now.var_count = in->var_count;
    lang_range r = lang_range_of(lang_ranges_new(in->arena, in->p), &now, v.v.ref);
    if (!r.known || r.hi > INT64_C(1) << 48) {
        lang_i_fail(in, pos,
                    "this extent depends on what a run reads, and has no bound: limit it with min(..., bound)");
        return false;
    }
    *ref = v.v.ref;
    *bound = r.hi > 0 ? r.hi : 0;
    return true;
}

/* A variable for a reduction: one with this extent that nothing in scope uses, so that equal reductions become one
 * node. */
static bool bind_variable(lang_inst *in, lang_pos pos, const char *name, lang_ref extent, int64_t bound,
                          lang_ref *out) {
    uint64_t busy = in->active | (in->env.n > 0 ? in->env.at[in->env.n - 1].bound : 0);
    uint32_t k = 0;
    while (k < in->var_count && ((busy >> k & 1) != 0 || in->vars[k].extent != extent))
        k++;
    if (k == LANG_MAX_VARS) {
        lang_i_fail(in, pos, "a stage has at most %u variables", LANG_MAX_VARS);
        return false;
    }
    if (k == in->var_count) {
        in->vars[in->var_count++] = (lang_variable){name, extent, bound};
        in->var_refs[k] = lang_var(in->p, k, extent);
    }
    in->active |= UINT64_C(1) << k;
    *out = in->var_refs[k];
    return lang_v_node(in, pos, *out).kind != LANG_V_BAD;
}

static bool bind_reduced(lang_inst *in, const lang_binder *b, int at, lang_ref *vars, uint32_t *n) {
    lang_pack extents;
    if (b->pack) {
        if (!lang_x_pack(in, b->e, at, &extents))
            return false;
    } else {
        extents.n = 1;
        extents.at[0] = lang_x(in, b->e, at);
    }
    for (uint32_t k = 0; k < extents.n; k++) {
        lang_ref extent;
        int64_t bound;
        const char *name = lang_name(in->lib, b->name);
        if (*n == LANG_MAX_VARS) {
            lang_i_fail(in, b->pos, "a stage has at most %u variables", LANG_MAX_VARS);
            return false;
        }
        if (!lang_i_extent(in, b->e->pos, extents.at[k], false, &extent, &bound))
            return false;
        if (b->pack)
            name = base_printf(in->arena, "%s%u", name, k);
        if (!bind_variable(in, b->pos, name, extent, bound, &vars[*n]))
            return false;
        extents.at[k] = (lang_val){LANG_V_NODE, BASE_I64, {.ref = vars[(*n)++]}};
    }
    lang_i_bind(in, b->name, b->pack, extents.at, extents.n);
    return true;
}

/* The type in which a reduction runs, given its body's and what is stated. BASE_NONE: reported. */
static base_type reduced_type(lang_inst *in, const lang_expr *e, base_type stated, base_type body) {
    if (e->op == LANG_ANY || e->op == LANG_ALL) {
        if (body == BASE_BOOL && (stated == BASE_NONE || stated == BASE_BOOL))
            return BASE_BOOL;
        lang_i_fail(in, e->pos, "any and all are of conditions, found %s", base_type_name(body));
        return BASE_NONE;
    }
    bool adds = e->op == LANG_SUM || e->op == LANG_PROD;
    if (body == BASE_BOOL && e->op != LANG_FIRST && e->op != LANG_LAST && e->op != LANG_PICK) {
        lang_i_fail(in, e->pos, "conditions are reduced with any or all");
        return BASE_NONE;
    }
    if (stated || !adds)
        return body;
    if (base_type_is_float(body))
        return base_type_bits(body) < 32 ? BASE_F32 : body;
    if (base_type_bits(body) < 32) {
        lang_i_fail(in, e->pos, "a sum or product of %s: state i32 or i64, as in sum:i32[...]", base_type_name(body));
        return BASE_NONE;
    }
    return body;
}

/* The body with the stated type, or with its own. */
static lang_val typed_body(lang_inst *in, const lang_expr *e, base_type stated, lang_val body) {
    if (stated)
        return lang_v_adapt(in, e->body->pos, body, stated, "the body of the reduction");
    return lang_v_settle(in, e->body->pos, body, "the body of the reduction");
}

static lang_val reduce_bound(lang_inst *in, const lang_expr *e, base_type stated, const lang_ref *vars, uint32_t n,
                             lang_val otherwise, int at) {
    lang_ref guard = 0, other = 0;
    if (e->guard) {
        lang_val g = lang_x_condition(in, e->guard, at, "the guard of a reduction");
        if (g.kind == LANG_V_BAD)
            return g;
        if (g.kind == LANG_V_NODE || !g.v.i)
            guard = as_bool(in, g);
        if (g.kind == LANG_V_NODE)
            *BASE_PUSH(in->arena, &in->assumed) = guard;
    }
    lang_val body = typed_body(in, e, stated, lang_x(in, e->body, at));
    if (body.kind == LANG_V_BAD)
        return body;
    base_type own = body.kind == LANG_V_BOOL ? BASE_BOOL : (base_type)body.type,
              type = reduced_type(in, e, stated, own);
    if (type == BASE_NONE)
        return lang_v_bad();
    if (e->fill)
        otherwise = lang_v_adapt(in, e->fill->pos, otherwise, own, "the else of the reduction");
    if (otherwise.kind == LANG_V_BAD)
        return otherwise;
    lang_ref value = as_bool(in, body);
    if (e->fill)
        other = as_bool(in, otherwise);
    else if (e->op == LANG_FIRST || e->op == LANG_LAST)
        other = own == BASE_BOOL ? as_bool(in, lang_v_bool(false)) : lang_int(in->p, own, 0);
    if (type != own) {
        value = lang_apply1(in->p, LANG_CAST, type, value);
        if (other)
            other = lang_apply1(in->p, LANG_CAST, type, other);
    }
    if (value == 0 || ((e->guard && guard == 0) && lang_full(in->p)))
        return node(in, e, 0);
    lang_val r = node(in, e, lang_reduce(in->p, (lang_reduction)e->op, type, vars, n, guard, value, other));
    return type == own || r.kind == LANG_V_BAD ? r : lang_v_convert(in, e->pos, LANG_CAST, own, r);
}

/* A variable that is always 0. */
static bool bind_point(lang_inst *in, const lang_expr *e, lang_ref *vars, uint32_t *n) {
    lang_ref extent;
    int64_t bound;
    return lang_i_extent(in, e->pos, lang_v_int(1), false, &extent, &bound) &&
           bind_variable(in, e->pos, "point", extent, bound, &vars[(*n)++]);
}

static lang_val reduce(lang_inst *in, const lang_expr *e, base_type stated, int at) {
    lang_ref vars[LANG_MAX_VARS];
    uint32_t n = 0;
    size_t env = in->env.n, assumed = in->assumed.n;
    uint64_t active = in->active;
    lang_val r = lang_v_bad(), otherwise = e->fill ? lang_x(in, e->fill, at) : lang_v_int(0);
    bool ok = otherwise.kind != LANG_V_BAD;
    /* the else is outside: its reductions may not bind what this one binds, which bind_variable sees by this entry */
    if (ok && e->fill)
        lang_i_bind(in, 0, false, &otherwise, 1);
    for (uint32_t k = 0; k < e->binder_count && ok; k++)
        ok = bind_reduced(in, &e->binders[k], at, vars, &n);
    if (ok && n == 0) /* packs without entries: there is one point */
        ok = bind_point(in, e, vars, &n);
    if (ok)
        r = reduce_bound(in, e, stated, vars, n, otherwise, at);
    in->env.n = env;
    in->assumed.n = assumed;
    in->active = active;
    return r;
}

/* ---- over the members of a family: unrolled ---- */
static lang_val combine(lang_inst *in, const lang_expr *e, lang_val r, lang_val guard, lang_val body) {
    static const lang_word words[] = {[LANG_SUM] = LANG_ADD,  [LANG_PROD] = LANG_MUL, [LANG_RMAX] = LANG_MAX,
                                      [LANG_RMIN] = LANG_MIN, [LANG_ANY] = LANG_OR,   [LANG_ALL] = LANG_AND};
    lang_val args[2] = {r, body};
    lang_val v = lang_v_word(in, e->pos, words[e->op], args, 2);
    return guard.kind == LANG_V_NODE ? lang_v_if(in, e->pos, guard.v.ref, v, r) : v;
}

static lang_val unit(const lang_expr *e) {
    return e->op == LANG_PROD  ? lang_v_int(1)
           : e->op == LANG_ALL ? lang_v_bool(true)
           : e->op == LANG_ANY ? lang_v_bool(false)
                               : lang_v_int(0);
}

static lang_val unrolled(lang_inst *in, const lang_expr *e, base_type stated, int at) {
    const lang_actual *family = lang_i_tensor(in, e->binders[0].e->name);
    if (!family || !family->family)
        return lang_i_fail(in, e->binders[0].e->pos, "'%s' is no family", lang_name(in->lib, e->binders[0].e->name));
    lang_val r = lang_v_bad();
    bool some = false;
    size_t env = in->env.n;
    /* pick takes the first whose guard holds, the last without asking: so it is built from the last backwards */
    for (uint32_t j = 0; j < family->member_count; j++) {
        uint32_t k = e->op == LANG_PICK ? family->member_count - 1 - j : j;
        lang_val number = lang_v_int(k), guard = lang_v_bool(true);
        size_t assumed = in->assumed.n;
        lang_i_bind(in, e->binders[0].name, false, &number, 1);
        if (e->guard && !(e->op == LANG_PICK && j == 0))
            guard = lang_x_condition(in, e->guard, at, "the guard of a reduction");
        if (guard.kind == LANG_V_NODE)
            *BASE_PUSH(in->arena, &in->assumed) = guard.v.ref;
        bool taken = guard.kind == LANG_V_NODE || (guard.kind == LANG_V_BOOL && guard.v.i);
        lang_val body = taken ? lang_x(in, e->body, at) : guard;
        if (taken && stated)
            body = lang_v_adapt(in, e->body->pos, body, stated, "the body of the reduction");
        in->assumed.n = assumed;
        in->env.n = env;
        if (guard.kind == LANG_V_BAD || body.kind == LANG_V_BAD)
            return lang_v_bad();
        if (!taken)
            continue;
        if (body.kind == LANG_V_NODE && e->op != LANG_PICK) {
            base_type own = (base_type)body.type, type = reduced_type(in, e, stated, own);
            if (type == BASE_NONE)
                return lang_v_bad();
            if (type != own)
                return lang_i_fail(in, e->pos, "a sum or product of %s over members: state the type",
                                   base_type_name(own));
        }
        if (!some && guard.kind == LANG_V_NODE && e->op != LANG_PICK) {
            if (e->op == LANG_RMAX || e->op == LANG_RMIN)
                return lang_i_fail(in, e->pos, "the guard of the first member must be static");
            r = combine(in, e, unit(e), guard, body);
        } else if (!some) {
            r = body;
        } else if (e->op == LANG_PICK) {
            r = guard.kind == LANG_V_NODE ? lang_v_if(in, e->pos, guard.v.ref, body, r) : body;
        } else {
            r = combine(in, e, r, guard, body);
        }
        if (r.kind == LANG_V_BAD)
            return r;
        some = true;
    }
    if (some)
        return r;
    if (e->op == LANG_PICK || e->op == LANG_RMAX || e->op == LANG_RMIN)
        return lang_i_fail(in, e->pos, "no member of %s is taken", family->label);
    return stated ? lang_v_adapt(in, e->pos, unit(e), stated, "the empty reduction") : unit(e);
}

static lang_val reduction(lang_inst *in, const lang_expr *e, int at) {
    base_type stated = e->type ? lang_i_type(in, e->pos, e->type) : BASE_NONE;
    if (e->type && stated == BASE_NONE)
        return lang_v_bad();
    if (e->binders[0].e->kind == LANG_X_ARITY)
        return unrolled(in, e, stated, at);
    return reduce(in, e, stated, at);
}

/* ---- names ---- */
static lang_val name(lang_inst *in, const lang_expr *e, int at) {
    const lang_binding *b = lang_i_find(in, e->name, e->pack);
    if (b && !lang_i_known(in, e->pos, b))
        return lang_v_bad();
    if (e->pack) {
        if (!b)
            return lang_i_unknown(in, e->pos, e->name, "pack");
        if (at < 0)
            return lang_i_fail(in, e->pos, "the pack '%s..' stands where one value is wanted",
                               lang_name(in->lib, e->name));
        if ((uint32_t)at >= b->n)
            return lang_i_fail(in, e->pos, "position %d is outside the pack '%s..' of %u entries", at,
                               lang_name(in->lib, e->name), b->n);
        return b->vals[at];
    }
    if (b)
        return b->vals[0];
    lang_actual *a = lang_i_tensor(in, e->name);
    if (a)
        return (lang_val){LANG_V_TENSOR, 0, {.tensor = a}};
    if (in->lib->types.at[e->name])
        return lang_v_type(in->lib->types.at[e->name]);
    return lang_i_unknown(in, e->pos, e->name, "name");
}

static lang_val inside(lang_inst *in, const lang_expr *e, int at) {
    switch ((lang_expr_kind)e->kind) {
    case LANG_X_INT:
        return lang_v_int(e->i);
    case LANG_X_FLOAT:
        return lang_v_float(e->f);
    case LANG_X_TEXT:
        return (lang_val){LANG_V_TEXT, 0, {.text = e->text}};
    case LANG_X_BOOL:
        return lang_v_bool(e->i != 0);
    case LANG_X_NAME:
        return name(in, e, at);
    case LANG_X_POS:
        return at < 0 ? lang_i_fail(in, e->pos, "'#' is the position inside a pack, and there is none here")
                      : lang_v_int(at);
    case LANG_X_ARITY: {
        const lang_actual *a = lang_i_tensor(in, e->name);
        if (!a || !a->family)
            return lang_i_fail(in, e->pos, "'%s' is no family", lang_name(in->lib, e->name));
        return lang_v_int(a->member_count);
    }
    case LANG_X_PERMUTE: {
        lang_pack list;
        if (at < 0)
            return lang_i_fail(in, e->pos, "the pack '%s..' stands where one value is wanted",
                               lang_name(in->lib, e->name));
        if (!lang_x_pack(in, e, -1, &list))
            return lang_v_bad();
        return (uint32_t)at < list.n
                   ? list.at[at]
                   : lang_i_fail(in, e->pos, "position %d is outside a pack of %u entries", at, list.n);
    }
    case LANG_X_NEG:
    case LANG_X_NOT: {
        lang_val v = e->kind == LANG_X_NOT ? lang_x_condition(in, e->args[0], at, "the argument of !")
                                           : lang_x(in, e->args[0], at);
        if (v.kind == LANG_V_BOOL && e->kind == LANG_X_NOT)
            return lang_v_bool(!v.v.i);
        return lang_v_word(in, e->pos, e->kind == LANG_X_NEG ? LANG_NEG : LANG_NOT, &v, 1);
    }
    case LANG_X_BINARY: {
        if (e->op == LANG_B_AND || e->op == LANG_B_OR)
            return logic(in, e, at);
        lang_val a = lang_x(in, e->args[0], at);
        if (a.kind == LANG_V_BAD)
            return a;
        return lang_v_binary(in, e->pos, (lang_binary_op)e->op, a, lang_x(in, e->args[1], at));
    }
    case LANG_X_CALL:
        return call(in, e, at);
    case LANG_X_READ:
    case LANG_X_FLAT:
        return read_tensor(in, e, at);
    case LANG_X_SPREAD:
        return lang_i_fail(in, e->pos, "'~' stands in the indices of a read only");
    case LANG_X_QUANT:
        return quant(in, e, at);
    case LANG_X_BLOCK:
        return block(in, e, at);
    case LANG_X_REDUCE:
        return reduction(in, e, at);
    }
    return lang_v_bad();
}

lang_val lang_x(lang_inst *in, const lang_expr *e, int at) {
    if (!lang_x_tick(in, e))
        return lang_v_bad();
    in->depth++;
    lang_val v = inside(in, e, at);
    in->depth--;
    return v;
}
