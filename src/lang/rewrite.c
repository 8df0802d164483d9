/* rewrite.c - rebuilding a DAG of nodes, in the same program or into another.
 *
 * Takes a root and a callback that may replace any node. Gives the root of the rebuilt DAG; every node is visited once,
 * operands first, without recursion. The builders fold what becomes constant on the way.
 */
#include <assert.h>

#include "lang/rewrite.h"
#include "lang/walk.h"

/* ---- the order of nodes ---- */

void lang_walk_init(lang_walk *w, base_arena *scratch, const lang_program *p) {
    *w = (lang_walk){.p = p, .scratch = scratch};
    w->seen = BASE_NEWS(scratch, uint64_t, p->nodes.n / 64 + 1);
}

static bool walk_seen(const lang_walk *w, lang_ref r) {
    return r == 0 || (w->seen[r / 64] >> (r % 64) & 1) != 0;
}

void lang_walk_add(lang_walk *w, lang_ref root) {
    *BASE_PUSH(w->scratch, &w->stack) = root;
    while (w->stack.n > 0) {
        lang_ref r = w->stack.at[w->stack.n - 1];
        bool ready = true;
        if (walk_seen(w, r)) {
            w->stack.n--;
            continue;
        }
        for (uint32_t k = lang_at(w->p, r)->count; k-- > 0;) {
            lang_ref o = lang_operand(w->p, r, k);
            if (!walk_seen(w, o)) {
                ready = false;
                *BASE_PUSH(w->scratch, &w->stack) = o;
            }
        }
        if (ready) {
            w->stack.n--;
            w->seen[r / 64] |= UINT64_C(1) << (r % 64);
            *BASE_PUSH(w->scratch, &w->order) = r;
        }
    }
}

/* ---- rebuilding ---- */

static lang_ref rebuild_reduce(lang_rewriter *w, const lang_node *n, const lang_ref *operand) {
    uint32_t vars = n->count - 3;
    return lang_reduce(w->to, (lang_reduction)n->code, (base_type)n->type, operand, vars, operand[vars],
                       operand[vars + 1], operand[vars + 2]);
}

static lang_ref rebuild_read(lang_rewriter *w, const lang_node *n, const lang_ref *operand) {
    uint32_t indices = n->count - (n->has_fill ? 1 : 0);
    uint32_t tensor = w->tensor_map != NULL ? w->tensor_map[n->index] : n->index;
    lang_ref fill = n->has_fill ? operand[indices] : 0;
    return n->flat ? lang_read_flat(w->to, tensor, operand[0], fill) : lang_read(w->to, tensor, operand, indices, fill);
}

lang_ref lang_rebuild(lang_rewriter *w, lang_ref r, const lang_ref *operand) {
    const lang_node n = *lang_at(w->from, r); /* a copy: building may move the table */
    switch (n.kind) {
    case LANG_CONST:
        return lang_const(w->to, (base_type)n.type, n.value);
    case LANG_VAR:
        return lang_var(w->to, n.index, operand[0]);
    case LANG_READ:
        return rebuild_read(w, &n, operand);
    case LANG_WORD_:
        return lang_apply(w->to, (lang_word)n.code, (base_type)n.type, operand, n.count);
    default:
        return rebuild_reduce(w, &n, operand);
    }
}

static lang_ref rebuild_from_memo(lang_rewriter *w, lang_ref r) {
    lang_ref operand[LANG_MAX_VARS + 3] = {0};
    uint32_t count = lang_at(w->from, r)->count;
    assert(count <= LANG_MAX_VARS + 3);
    for (uint32_t k = 0; k < count; k++) {
        lang_ref o = lang_operand(w->from, r, k);
        operand[k] = o != 0 ? w->memo.at[o] : 0;
    }
    return lang_rebuild(w, r, operand);
}

static void grow_memo(base_arena *scratch, lang_rewriter *w) {
    size_t want = w->from->nodes.n;
    if (w->memo.cap < want) {
        w->memo.at = base_grow(scratch, w->memo.at, w->memo.cap, want, sizeof *w->memo.at);
        w->memo.cap = want;
        w->memo.n = want;
    }
}

lang_ref lang_rewrite(base_arena *scratch, lang_rewriter *w, lang_ref r) {
    BASE_VEC(lang_ref) stack = {0};
    if (r == 0) {
        return 0;
    }
    grow_memo(scratch, w);
    *BASE_PUSH(scratch, &stack) = r;
    while (stack.n > 0) {
        lang_ref e = stack.at[stack.n - 1];
        bool ready = true;
        if (w->memo.at[e] != 0) {
            stack.n--;
            continue;
        }
        for (uint32_t k = lang_at(w->from, e)->count; k-- > 0;) {
            lang_ref o = lang_operand(w->from, e, k);
            if (o != 0 && w->memo.at[o] == 0) {
                ready = false;
                *BASE_PUSH(scratch, &stack) = o;
            }
        }
        if (!ready) {
            continue;
        }
        lang_ref built = w->replace != NULL ? w->replace(w, e) : 0;
        if (built == 0) {
            built = rebuild_from_memo(w, e);
        }
        if (built == 0) {
            return 0; /* the node limit of the program that is built */
        }
        w->memo.at[e] = built;
        stack.n--;
    }
    return w->memo.at[r];
}
