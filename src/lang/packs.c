/* packs.c - packs during instantiation: how long, what entries; the words that vanish with them.
 *
 * Takes expressions. Gives entries. `i.. + p..` is zipped: expand.c expands it once a position; here is decided how
 * many positions there are. Reads consume the packs among their indices, pack words consume those of their arguments.
 */
#include "lang/inst.h"
#include "lang/words.h"

#include <string.h>

/* ---- length ---- */
static int meet(lang_inst *in, lang_pos pos, int a, int b) {
    if (a == LANG_BAD_PACK || b == LANG_BAD_PACK)
        return LANG_BAD_PACK;
    if (a == LANG_NO_PACK)
        return b;
    if (b == LANG_NO_PACK || a == b)
        return a;
    lang_i_fail(in, pos, "packs of %d and of %d entries meet", a, b);
    return LANG_BAD_PACK;
}

static int length_of_list(lang_inst *in, const lang_expr *e, uint32_t first) {
    int n = LANG_NO_PACK;
    for (uint32_t k = first; k < e->count && n != LANG_BAD_PACK; k++)
        n = meet(in, e->pos, n, lang_x_length(in, e->args[k]));
    return n;
}

static int length_of_name(lang_inst *in, lang_pos pos, lang_symbol name) {
    const lang_binding *b = lang_i_find(in, name, true);
    if (b)
        return b->vals && b->n > 0 && b->vals[0].kind == LANG_V_BAD ? LANG_BAD_PACK : (int)b->n;
    lang_i_unknown(in, pos, name, "pack");
    return LANG_BAD_PACK;
}

/* Which positions the list e names. */
static bool positions(lang_inst *in, const lang_expr *e, int at, bool *member) {
    lang_pack list;
    if (!lang_x_pack(in, e, at, &list))
        return false;
    memset(member, 0, LANG_MAX_PACK * sizeof *member);
    for (uint32_t k = 0; k < list.n; k++) {
        int64_t i;
        if (!lang_v_static_int(in, e->pos, list.at[k], "a position", &i))
            return false;
        if (i >= 0 && i < (int64_t)LANG_MAX_PACK)
            member[i] = true;
    }
    return true;
}

static int length_of_builtin(lang_inst *in, const lang_expr *e) {
    lang_pack list;
    switch ((lang_builtin)e->code) {
    case LANG_BUILTIN_UNFLAT: {
        int n = lang_x_length(in, e->args[1]);
        return n == LANG_NO_PACK ? 1 : n;
    }
    case LANG_BUILTIN_REV: {
        int n = lang_x_length(in, e->args[0]);
        return n == LANG_NO_PACK ? 1 : n;
    }
    case LANG_BUILTIN_CATP: {
        int sum = 0;
        for (uint32_t k = 0; k < e->count; k++) {
            int n = lang_x_length(in, e->args[k]);
            if (n == LANG_BAD_PACK)
                return n;
            sum += n == LANG_NO_PACK ? 1 : n;
        }
        if (sum <= (int)LANG_MAX_PACK)
            return sum;
        lang_i_fail(in, e->pos, "a pack of %d entries; the limit is %u", sum, LANG_MAX_PACK);
        return LANG_BAD_PACK;
    }
    case LANG_BUILTIN_BC: {
        int most = 0;
        for (uint32_t k = 0; k < e->count; k++) {
            int n = lang_x_length(in, e->args[k]);
            if (n == LANG_BAD_PACK)
                return n;
            if (n == LANG_NO_PACK)
                n = 1;
            if (n > most)
                most = n;
        }
        return most;
    }
    case LANG_BUILTIN_DROP:
    case LANG_BUILTIN_KEEP: {
        bool member[LANG_MAX_PACK];
        int n = lang_x_length(in, e->args[0]), count = 0;
        if (n == LANG_BAD_PACK || !positions(in, e->args[1], -1, member))
            return LANG_BAD_PACK;
        for (int k = 0; k < (n == LANG_NO_PACK ? 1 : n); k++)
            count += member[k] == (e->code == LANG_BUILTIN_KEEP);
        return count;
    }
    case LANG_BUILTIN_VALS:
        return lang_x_pack(in, e, -1, &list) ? (int)list.n : LANG_BAD_PACK;
    case LANG_BUILTIN_IN:
    case LANG_BUILTIN_PICKP:
        return lang_x_length(in, e->args[0]);
    case LANG_BUILTIN_AT:
    case LANG_BUILTIN_FAMDIM:
    case LANG_BUILTIN_FAMSUM:
        return lang_x_length(in, e->args[1]);
    default:
        return LANG_NO_PACK;
    }
}

/* Binds the names of e, packs by their lengths; r met with the lengths of the others. */
static int length_of_binders(lang_inst *in, const lang_expr *e, int r) {
    for (uint32_t k = 0; k < e->binder_count && r != LANG_BAD_PACK; k++) {
        const lang_binder *b = &e->binders[k];
        int own = lang_x_length(in, b->e);
        if (!b->pack || own == LANG_BAD_PACK)
            r = meet(in, b->pos, r, own);
        else
            lang_i_bind_length(in, b->name, own == LANG_NO_PACK ? 1u : (uint32_t)own);
    }
    return r;
}

static int length_of_block(lang_inst *in, const lang_expr *e) {
    size_t n = in->env.n;
    int r = length_of_binders(in, e, LANG_NO_PACK);
    if (r != LANG_BAD_PACK)
        r = meet(in, e->pos, r, lang_x_length(in, e->body));
    in->env.n = n;
    return r;
}

static int length_of_reduction(lang_inst *in, const lang_expr *e) {
    size_t n = in->env.n;
    int r = length_of_binders(in, e, e->fill ? lang_x_length(in, e->fill) : LANG_NO_PACK);
    if (r != LANG_BAD_PACK && e->guard)
        r = meet(in, e->pos, r, lang_x_length(in, e->guard));
    if (r != LANG_BAD_PACK)
        r = meet(in, e->pos, r, lang_x_length(in, e->body));
    in->env.n = n;
    return r;
}

static bool has_pack_params(const lang_fn_decl *fn) {
    for (uint32_t k = 0; k < fn->param_count; k++)
        if (fn->params[k].pack)
            return true;
    return false;
}

static int length_of_call(lang_inst *in, const lang_expr *e) {
    if (e->callee == LANG_C_BUILTIN)
        return length_of_builtin(in, e);
    const lang_fn_decl *fn = e->callee == LANG_C_NAMED ? lang_find_fn(in->lib, e->name) : NULL;
    if (!fn || !has_pack_params(fn))
        return length_of_list(in, e, 0);
    int n = LANG_NO_PACK;
    for (uint32_t k = 0; k < e->count && k < fn->param_count && n != LANG_BAD_PACK; k++)
        if (!fn->params[k].pack)
            n = meet(in, e->pos, n, lang_x_length(in, e->args[k]));
    lang_entered was;
    if (n == LANG_BAD_PACK)
        return n;
    if (lang_x_enter(in, e, fn, -1, false, &was))
        n = meet(in, e->pos, n, lang_x_length(in, fn->body));
    else
        n = LANG_BAD_PACK;
    lang_x_leave(in, &was);
    return n;
}

static int length_inside(lang_inst *in, const lang_expr *e) {
    switch ((lang_expr_kind)e->kind) {
    case LANG_X_NAME:
        return e->pack ? length_of_name(in, e->pos, e->name) : LANG_NO_PACK;
    case LANG_X_PERMUTE:
        return length_of_name(in, e->pos, e->other);
    case LANG_X_NEG:
    case LANG_X_NOT:
    case LANG_X_BINARY:
    case LANG_X_QUANT:
        return length_of_list(in, e, 0);
    case LANG_X_CALL:
        return length_of_call(in, e);
    case LANG_X_READ:
        return e->fill ? lang_x_length(in, e->fill) : LANG_NO_PACK;
    case LANG_X_FLAT:
        return meet(in, e->pos, length_of_list(in, e, 0), e->fill ? lang_x_length(in, e->fill) : LANG_NO_PACK);
    case LANG_X_BLOCK:
        return length_of_block(in, e);
    case LANG_X_REDUCE:
        return length_of_reduction(in, e);
    case LANG_X_INT:
    case LANG_X_FLOAT:
    case LANG_X_TEXT:
    case LANG_X_BOOL:
    case LANG_X_POS:
    case LANG_X_ARITY:
    case LANG_X_SPREAD:
        break;
    }
    return LANG_NO_PACK;
}

int lang_x_length(lang_inst *in, const lang_expr *e) {
    if (!lang_x_tick(in, e))
        return LANG_BAD_PACK;
    in->depth++;
    int n = length_inside(in, e);
    in->depth--;
    return n;
}

/* ---- entries ---- */
static lang_val binary(lang_inst *in, const lang_expr *e, lang_binary_op op, lang_val a, lang_val b) {
    return lang_v_binary(in, e->pos, op, a, b);
}

static bool keep_or_drop(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    lang_pack list;
    bool member[LANG_MAX_PACK];
    if (!lang_x_pack(in, e->args[0], at, &list) || !positions(in, e->args[1], at, member))
        return false;
    out->n = 0;
    for (uint32_t k = 0; k < list.n; k++)
        if (member[k] == (e->code == LANG_BUILTIN_KEEP))
            out->at[out->n++] = list.at[k];
    return true;
}

static bool unflat(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    lang_pack extents;
    lang_val number = lang_x(in, e->args[0], at), stride = lang_v_int(1);
    if (number.kind == LANG_V_BAD || !lang_x_pack(in, e->args[1], at, &extents))
        return false;
    out->n = extents.n;
    for (uint32_t k = extents.n; k-- > 0;) {
        lang_val q = stride.kind == LANG_V_INT && stride.v.i == 1 ? number : binary(in, e, LANG_B_DIV, number, stride);
        out->at[k] = binary(in, e, LANG_B_MOD, q, extents.at[k]);
        if (k > 0)
            stride = binary(in, e, LANG_B_MUL, stride, extents.at[k]);
        if (out->at[k].kind == LANG_V_BAD || stride.kind == LANG_V_BAD)
            return false;
    }
    return true;
}

/* Extents of packs broadcast together, aligned at the right. */
static bool broadcast(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    out->n = 0;
    lang_val extents[LANG_MAX_PACK];
    for (uint32_t k = 0; k < LANG_MAX_PACK; k++)
        extents[k] = lang_v_int(1);
    for (uint32_t a = 0; a < e->count; a++) {
        lang_pack list;
        if (!lang_x_pack(in, e->args[a], at, &list))
            return false;
        if (list.n > out->n)
            out->n = list.n;
        for (uint32_t k = 0; k < list.n; k++) {
            int64_t v;
            lang_val *have = &extents[LANG_MAX_PACK - list.n + k];
            if (list.at[k].kind != LANG_V_OPEN && !lang_v_static_int(in, e->args[a]->pos, list.at[k], "an extent", &v))
                return false;
            if (!lang_i_broadcast(in, e->pos, *have, list.at[k], have))
                return false;
        }
    }
    for (uint32_t k = 0; k < out->n; k++)
        out->at[k] = extents[LANG_MAX_PACK - out->n + k];
    return true;
}

static bool values_of_input(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    const lang_actual *a = lang_x_actual(in, e->args[0], at);
    if (!a)
        return false;
    const char *why = NULL;
    const lang_tensor *t = a->present && a->tensor != IR_NONE ? &in->p->tensors.at[a->tensor] : NULL;
    if (!t)
        why = "it is absent";
    else if (t->kind == LANG_STAGE || !t->data)
        why = "it must be constant";
    else if (!base_type_is_int(t->type))
        why = "its elements are no integers";
    else if (t->rank > 1)
        why = "it has more than one dimension";
    else if (t->rank == 1 && t->dim[0] > (int64_t)LANG_MAX_PACK)
        why = "it has too many elements";
    if (why) {
        lang_i_fail(in, e->pos, "the values of %s: %s", a->label, why);
        return false;
    }
    out->n = t->rank == 1 ? (uint32_t)t->dim[0] : 1;
    for (uint32_t k = 0; k < out->n; k++) {
        base_value v = base_load(t->type, t->data, k);
        if (!base_type_is_signed(t->type) && v.u > INT64_MAX) {
            lang_i_fail(in, e->pos, "the values of %s: one does not fit 64 bits", a->label);
            return false;
        }
        out->at[k] = lang_v_int(v.i);
    }
    return true;
}

static bool concatenation(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    out->n = 0;
    for (uint32_t k = 0; k < e->count; k++) {
        lang_pack list;
        if (!lang_x_pack(in, e->args[k], at, &list))
            return false;
        if (out->n + list.n > LANG_MAX_PACK) {
            lang_i_fail(in, e->pos, "a pack of %u entries; the limit is %u", out->n + list.n, LANG_MAX_PACK);
            return false;
        }
        memcpy(out->at + out->n, list.at, list.n * sizeof *list.at);
        out->n += list.n;
    }
    return true;
}

static bool permuted(lang_inst *in, const lang_expr *e, lang_pack *out) {
    const lang_binding *base = lang_i_find(in, e->name, true), *order = lang_i_find(in, e->other, true);
    if (!base || !order) {
        lang_i_unknown(in, e->pos, base ? e->other : e->name, "pack");
        return false;
    }
    if (!lang_i_known(in, e->pos, base) || !lang_i_known(in, e->pos, order))
        return false;
    out->n = order->n;
    for (uint32_t k = 0; k < order->n; k++) {
        int64_t i;
        if (!lang_v_static_int(in, e->pos, order->vals[k], "a position", &i))
            return false;
        if (i < 0 || i >= (int64_t)base->n) {
            lang_i_fail(in, e->pos, "position %lld is outside the pack '%s..' of %u entries", (long long)i,
                        lang_name(in->lib, e->name), base->n);
            return false;
        }
        out->at[k] = base->vals[i];
    }
    return true;
}

static bool pack_inside(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    if (e->kind == LANG_X_PERMUTE)
        return permuted(in, e, out);
    if (e->kind == LANG_X_NAME && e->pack) {
        const lang_binding *b = lang_i_find(in, e->name, true);
        if (!b) {
            lang_i_unknown(in, e->pos, e->name, "pack");
            return false;
        }
        if (!lang_i_known(in, e->pos, b))
            return false;
        out->n = b->n;
        memcpy(out->at, b->vals, b->n * sizeof *b->vals);
        return b->n == 0 || b->vals[0].kind != LANG_V_BAD;
    }
    if (e->kind == LANG_X_CALL && e->callee == LANG_C_BUILTIN)
        switch ((lang_builtin)e->code) {
        case LANG_BUILTIN_UNFLAT:
            return unflat(in, e, at, out);
        case LANG_BUILTIN_CATP:
            return concatenation(in, e, at, out);
        case LANG_BUILTIN_DROP:
        case LANG_BUILTIN_KEEP:
            return keep_or_drop(in, e, at, out);
        case LANG_BUILTIN_BC:
            return broadcast(in, e, at, out);
        case LANG_BUILTIN_VALS:
            return values_of_input(in, e, at, out);
        case LANG_BUILTIN_REV: {
            lang_pack list;
            if (!lang_x_pack(in, e->args[0], at, &list))
                return false;
            out->n = list.n;
            for (uint32_t k = 0; k < list.n; k++)
                out->at[k] = list.at[list.n - 1 - k];
            return true;
        }
        default:
            break;
        }
    int n = lang_x_length(in, e);
    if (n == LANG_BAD_PACK)
        return false;
    out->n = n == LANG_NO_PACK ? 1 : (uint32_t)n;
    for (uint32_t k = 0; k < out->n; k++) {
        out->at[k] = lang_x(in, e, n == LANG_NO_PACK ? at : (int)k);
        if (out->at[k].kind == LANG_V_BAD)
            return false;
    }
    return true;
}

bool lang_x_pack(lang_inst *in, const lang_expr *e, int at, lang_pack *out) {
    out->n = 0;
    if (!lang_x_tick(in, e))
        return false;
    in->depth++;
    bool ok = pack_inside(in, e, at, out);
    in->depth--;
    return ok;
}

/* ---- words that give one value ---- */
static lang_val flat(lang_inst *in, const lang_expr *e, int at) {
    lang_pack index, extents;
    if (!lang_x_pack(in, e->args[0], at, &index) || !lang_x_pack(in, e->args[1], at, &extents))
        return lang_v_bad();
    if (index.n != extents.n)
        return lang_i_fail(in, e->pos, "flat of %u indices over %u extents", index.n, extents.n);
    lang_val r = lang_v_int(0);
    for (uint32_t k = 0; k < index.n; k++)
        r = k == 0 ? index.at[0] : binary(in, e, LANG_B_ADD, binary(in, e, LANG_B_MUL, r, extents.at[k]), index.at[k]);
    return r;
}

static lang_val over_pack(lang_inst *in, const lang_expr *e, int at, lang_binary_op op, lang_val unit) {
    lang_pack list;
    if (!lang_x_pack(in, e->args[0], at, &list))
        return lang_v_bad();
    if (list.n == 0)
        return unit;
    lang_val r = list.at[0];
    for (uint32_t k = 1; k < list.n; k++)
        r = binary(in, e, op, r, list.at[k]);
    if (op == LANG_B_MUL || r.kind == LANG_V_BAD || r.kind == LANG_V_BOOL)
        return r;
    return lang_v_adapt(in, e->pos, r, BASE_BOOL, "an entry of allp or anyp");
}

static lang_val pack_at(lang_inst *in, const lang_expr *e, int at) {
    lang_pack list;
    int64_t k;
    lang_val position = lang_x(in, e->args[1], at);
    if (!lang_v_static_int(in, e->args[1]->pos, position, "the position", &k) ||
        !lang_x_pack(in, e->args[0], at, &list))
        return lang_v_bad();
    if (k < 0 || k >= (int64_t)list.n)
        return lang_i_fail(in, e->pos, "position %lld is outside a pack of %u entries", (long long)k, list.n);
    return list.at[k];
}

/* Entry number d, where a run decides d; outside: the last. */
static lang_val pick_entry(lang_inst *in, const lang_expr *e, int at) {
    lang_pack list;
    lang_val d = lang_x(in, e->args[0], at);
    if (d.kind == LANG_V_BAD || !lang_x_pack(in, e->args[1], at, &list))
        return lang_v_bad();
    if (list.n == 0)
        return lang_i_fail(in, e->pos, "pickp of an empty pack");
    int64_t k;
    if (lang_v_is_static_int(in, d, &k))
        return list.at[k >= 0 && k < (int64_t)list.n ? k : (int64_t)list.n - 1];
    lang_val r = list.at[list.n - 1];
    for (uint32_t j = list.n - 1; j-- > 0;) {
        lang_val is = binary(in, e, LANG_B_EQ, d, lang_v_int(j));
        if (is.kind == LANG_V_BAD)
            return is;
        r = is.kind == LANG_V_NODE ? lang_v_if(in, e->pos, is.v.ref, list.at[j], r) : is.v.i ? list.at[j] : r;
    }
    return r;
}

static lang_val is_in(lang_inst *in, const lang_expr *e, int at) {
    int64_t i, j;
    lang_pack list;
    const lang_expr *of = e->args[1];
    if (!lang_v_static_int(in, e->args[0]->pos, lang_x(in, e->args[0], at), "what is looked for", &i))
        return lang_v_bad();
    if (of->kind == LANG_X_NAME && !of->pack && !lang_i_find(in, of->name, false)) {
        const lang_binding *b = lang_i_find(in, of->name, true); /* in(#, axes) for in(#, axes..) */
        if (!b)
            return lang_i_unknown(in, of->pos, of->name, "pack");
        if (!lang_i_known(in, of->pos, b))
            return lang_v_bad();
        list.n = b->n;
        memcpy(list.at, b->vals, b->n * sizeof *b->vals);
    } else if (!lang_x_pack(in, of, -1, &list)) {
        return lang_v_bad();
    }
    bool found = false;
    for (uint32_t k = 0; k < list.n; k++) {
        if (!lang_v_static_int(in, of->pos, list.at[k], "an entry of the list", &j))
            return lang_v_bad();
        found |= i == j;
    }
    return lang_v_bool(found);
}

/* Extent C of member k of the family that has it; famsum: the sum of the members before k. */
static lang_val family_extent(lang_inst *in, const lang_expr *e, int at) {
    const lang_expr *of = e->args[0];
    bool pack = of->kind == LANG_X_CALL;
    lang_symbol name = pack ? of->args[0]->name : of->name;
    int64_t k, position = 0;
    if (!lang_v_static_int(in, e->args[1]->pos, lang_x(in, e->args[1], at), "the number of the member", &k))
        return lang_v_bad();
    if (pack && !lang_v_static_int(in, of->args[1]->pos, lang_x(in, of->args[1], at), "the position", &position))
        return lang_v_bad();
    for (size_t i = 0; i < in->op->inputs.n; i++) {
        const lang_input_decl *decl = &in->op->inputs.at[i];
        const lang_actual *family = in->tensors.at[i];
        if (!decl->family)
            continue;
        for (uint32_t j = 0, before = 0; j < decl->dim_count; j++) {
            const lang_binding *b = decl->dims[j].pack ? lang_i_find(in, decl->dims[j].name, true) : NULL;
            if (decl->dims[j].name == name && decl->dims[j].pack == pack) {
                bool sum = e->code == LANG_BUILTIN_FAMSUM;
                if (k < 0 || k + (sum ? 0 : 1) > (int64_t)family->member_count)
                    return lang_i_fail(in, e->pos, "%s has no member %lld", family->label, (long long)k);
                if (pack && (!b || position < 0 || position >= (int64_t)b->n))
                    return lang_i_fail(in, of->pos, "position %lld is outside the pack '%s..'", (long long)position,
                                       lang_name(in->lib, name));
                lang_val total = lang_v_int(0);
                for (int64_t m = sum ? 0 : k; m < (sum ? k : k + 1); m++)
                    total = binary(in, e, LANG_B_ADD, total,
                                   lang_i_dim(in, family->members[m].arg, before + (uint32_t)position));
                return total;
            }
            before += b ? b->n : 1;
        }
    }
    return lang_i_fail(in, of->pos, "no family has the extent '%s%s'", lang_name(in->lib, name), pack ? ".." : "");
}

static lang_val length(lang_inst *in, const lang_expr *e, int at) {
    const lang_expr *of = e->args[0];
    if (of->kind == LANG_X_QUANT && of->count == 0 && of->op >= LANG_Q_SCALES) {
        const lang_actual *a = lang_x_actual(in, of, at);
        return a ? lang_v_int(a->arg ? a->arg->quant.n : 0) : lang_v_bad();
    }
    lang_pack list;
    return lang_x_pack(in, of, at, &list) ? lang_v_int(list.n) : lang_v_bad();
}

static lang_val has(lang_inst *in, const lang_expr *e, int at) {
    const lang_actual *a = lang_x_actual(in, e->args[0], at);
    if (!a)
        return lang_v_bad();
    if (e->args[0]->kind == LANG_X_QUANT)
        return lang_v_bool(a->arg && a->arg->quant.n > 0);
    return lang_v_bool(a->present);
}

static lang_val of_type(lang_inst *in, const lang_expr *e) {
    base_type t = lang_i_type(in, e->args[0]->pos, e->args[0]->name);
    if (t == BASE_NONE)
        return lang_v_bad();
    int64_t lo;
    uint64_t hi;
    bool is_float = base_type_is_float(t);
    switch ((lang_builtin)e->code) {
    case LANG_BUILTIN_ISFLOAT:
        return lang_v_bool(is_float);
    case LANG_BUILTIN_ISSIGNED:
        return lang_v_bool(is_float || base_type_is_signed(t));
    case LANG_BUILTIN_WIDTH:
        return lang_v_int(base_type_bits(t));
    default:
        break;
    }
    bool lowest = e->code == LANG_BUILTIN_LOWEST;
    if (is_float)
        return lang_v_float(lang_identity(lowest ? LANG_RMAX : LANG_RMIN, t).f);
    base_type_range(t, &lo, &hi);
    if (lowest)
        return lang_v_int(lo);
    return hi <= INT64_MAX ? lang_v_int((int64_t)hi)
                           : lang_v_node(in, e->pos, lang_const(in->p, t, (base_value){.u = hi}));
}

lang_val lang_x_builtin(lang_inst *in, const lang_expr *e, int at) {
    switch ((lang_builtin)e->code) {
    case LANG_BUILTIN_FLAT:
        return flat(in, e, at);
    case LANG_BUILTIN_AT:
        return pack_at(in, e, at);
    case LANG_BUILTIN_PICKP:
        return pick_entry(in, e, at);
    case LANG_BUILTIN_LEN:
        return length(in, e, at);
    case LANG_BUILTIN_PRODP:
        return over_pack(in, e, at, LANG_B_MUL, lang_v_int(1));
    case LANG_BUILTIN_ALLP:
        return over_pack(in, e, at, LANG_B_AND, lang_v_bool(true));
    case LANG_BUILTIN_ANYP:
        return over_pack(in, e, at, LANG_B_OR, lang_v_bool(false));
    case LANG_BUILTIN_IN:
        return is_in(in, e, at);
    case LANG_BUILTIN_FAMDIM:
    case LANG_BUILTIN_FAMSUM:
        return family_extent(in, e, at);
    case LANG_BUILTIN_HAS:
        return has(in, e, at);
    case LANG_BUILTIN_GOAL:
        for (size_t k = 0; k < in->call->goal_count; k++)
            if (strcmp(in->call->goals[k], e->args[0]->text) == 0)
                return lang_v_bool(true);
        return lang_v_bool(false);
    case LANG_BUILTIN_ISFLOAT:
    case LANG_BUILTIN_ISSIGNED:
    case LANG_BUILTIN_LOWEST:
    case LANG_BUILTIN_HIGHEST:
    case LANG_BUILTIN_WIDTH:
        return of_type(in, e);
    case LANG_BUILTIN_UNFLAT:
    case LANG_BUILTIN_CATP:
    case LANG_BUILTIN_DROP:
    case LANG_BUILTIN_KEEP:
    case LANG_BUILTIN_REV:
    case LANG_BUILTIN_BC:
    case LANG_BUILTIN_VALS: {
        lang_pack list;
        if (at < 0)
            return lang_i_fail(in, e->pos, "%s gives a pack, and one value is wanted",
                               lang_builtin_name((lang_builtin)e->code));
        if (!lang_x_pack(in, e, -1, &list))
            return lang_v_bad();
        if ((uint32_t)at >= list.n)
            return lang_i_fail(in, e->pos, "position %d is outside a pack of %u entries", at, list.n);
        return list.at[at];
    }
    case LANG_BUILTIN_COUNT:
        break;
    }
    return lang_v_bad();
}
