/* names.c - names during instantiation: bindings, tensors, type variables, and errors with their chain of fns.
 *
 * An fn sees its parameters and nothing else of its caller; an expression of the op sees the op's own names
 * (attributes, extents, type variables, static values) and what blocks, stages and reductions around it bind.
 */
#include "lang/inst.h"

#include <string.h>

lang_val lang_i_fail(lang_inst *in, lang_pos pos, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *message = base_vprintf(in->arena, format, list);
    va_end(list);
    base_place place = lang_place(in->source, pos);
    base_error(in->diags, &place, "%s", message);
    in->errors++;
    unsigned shown = 0;
    for (const lang_frame *f = in->frame; f && shown < 4; f = f->outer, shown++) {
        base_place call = lang_place(f->source, f->pos);
        base_note(in->diags, &call, "in the fn %s, called here", lang_name(in->lib, f->fn->name));
    }
    return lang_v_bad();
}

void lang_i_refuse(lang_inst *in, lang_pos pos, const char *note, const char *format, ...) {
    va_list list;
    va_start(list, format);
    const char *message = base_vprintf(in->arena, format, list);
    va_end(list);
    const base_place here = lang_place(in->source, pos);
    in->errors++;
    base_error(in->diags, in->call->place ? in->call->place : &here, "%s: %s", in->call->op, message);
    if (in->call->place) {
        base_note(in->diags, &here, "%s", note);
    }
}

/* Variables bound by reductions inside node r; nodes are numbered after their operands, so one pass over the new ones
 * suffices. */
uint64_t lang_i_bound(lang_inst *in, lang_ref r) {
    while (in->bound.n <= r) {
        const lang_node *n = lang_at(in->p, (lang_ref)in->bound.n);
        uint64_t mask = 0;
        if (in->bound.n > 0)
            for (uint32_t k = 0; k < n->count; k++) {
                lang_ref operand = in->p->operands.at[n->first + k];
                if (operand)
                    mask |= in->bound.at[operand];
                if (n->kind == LANG_REDUCE && k + 3 < n->count)
                    mask |= UINT64_C(1) << lang_at(in->p, operand)->index;
            }
        *BASE_PUSH(in->arena, &in->bound) = mask;
    }
    return in->bound.at[r];
}

static uint64_t bound_in(lang_inst *in, lang_val v) {
    if (v.kind == LANG_V_NODE)
        return lang_i_bound(in, v.v.ref);
    if (v.kind != LANG_V_CHOICE)
        return 0;
    return lang_i_bound(in, v.v.choice->condition) | bound_in(in, v.v.choice->yes) | bound_in(in, v.v.choice->no);
}

void lang_i_bind(lang_inst *in, lang_symbol name, bool pack, const lang_val *vals, uint32_t n) {
    uint64_t mask = in->env.n > 0 ? in->env.at[in->env.n - 1].bound : 0;
    lang_val *copy = BASE_NEWS(in->arena, lang_val, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        copy[k] = vals[k];
        mask |= bound_in(in, vals[k]);
    }
    *BASE_PUSH(in->arena, &in->env) = (lang_binding){name, pack, n, copy, mask};
}

void lang_i_bind_length(lang_inst *in, lang_symbol name, uint32_t n) {
    uint64_t mask = in->env.n > 0 ? in->env.at[in->env.n - 1].bound : 0;
    *BASE_PUSH(in->arena, &in->env) = (lang_binding){name, true, n, NULL, mask};
}

const lang_binding *lang_i_find(const lang_inst *in, lang_symbol name, bool pack) {
    for (size_t k = in->env.n; k > in->floor; k--)
        if (in->env.at[k - 1].name == name && in->env.at[k - 1].pack == pack)
            return &in->env.at[k - 1];
    if (in->frame)
        return NULL;
    for (size_t k = in->floor < in->globals ? in->floor : in->globals; k > 0; k--)
        if (in->env.at[k - 1].name == name && in->env.at[k - 1].pack == pack)
            return &in->env.at[k - 1];
    return NULL;
}

bool lang_i_known(lang_inst *in, lang_pos pos, const lang_binding *b) {
    if (b->vals)
        return true;
    lang_i_fail(in, pos, "the length of a pack cannot depend on '%s'", lang_name(in->lib, b->name));
    return false;
}

lang_actual *lang_i_tensor(const lang_inst *in, lang_symbol name) {
    if (in->frame)
        return NULL;
    for (size_t k = 0; k < in->tensors.n; k++)
        if (in->tensors.at[k]->name == name)
            return in->tensors.at[k];
    return NULL;
}

base_type lang_i_type(lang_inst *in, lang_pos pos, lang_symbol name) {
    if (in->lib->types.at[name])
        return in->lib->types.at[name];
    const lang_binding *b = lang_i_find(in, name, false);
    if (b && !lang_i_known(in, pos, b))
        return BASE_NONE;
    if (b && b->vals[0].kind == LANG_V_TYPE)
        return (base_type)b->vals[0].type;
    if (b && b->vals[0].kind == LANG_V_BAD)
        return BASE_NONE;
    lang_i_fail(in, pos, b ? "'%s' is no type" : "there is no type '%s' here", lang_name(in->lib, name));
    return BASE_NONE;
}

lang_val lang_i_unknown(lang_inst *in, lang_pos pos, lang_symbol name, const char *what) {
    BASE_VEC(const char *) known = {0};
    for (size_t k = in->env.n; k > 0; k--)
        if (k > in->floor || (!in->frame && k <= in->globals))
            *BASE_PUSH(in->arena, &known) = lang_name(in->lib, in->env.at[k - 1].name);
    if (!in->frame)
        for (size_t k = 0; k < in->tensors.n; k++)
            *BASE_PUSH(in->arena, &known) = lang_name(in->lib, in->tensors.at[k]->name);
    const char *near = base_nearest(lang_name(in->lib, name), known.at, known.n);
    if (near && strcmp(near, lang_name(in->lib, name)) != 0)
        return lang_i_fail(in, pos, "there is no %s '%s' here; did you mean '%s'?", what, lang_name(in->lib, name),
                           near);
    return lang_i_fail(in, pos, "there is no %s '%s' here", what, lang_name(in->lib, name));
}
