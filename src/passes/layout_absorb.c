/* layout_absorb.c - a sum of products behind moves: its other operand is moved instead.
 *
 * Takes a node that sums products of an input behind put off reshapes and transposes. Gives it said anew over what stands before
 * them (speak.h), from the linked programs of the moves and the node.
 */
#include <string.h>

#include "passes/layout.h"

enum { MOST_CHAIN = 16 };

/* The moves that put input `at` off, and the node behind them, as one program over what stands before them. */
static lang_program *linked(layouter *l, const ir_node *n, size_t at, uint32_t *source) {
    speaker *s = &l->s;
    lang_link_part parts[MOST_CHAIN + 1];
    uint32_t chain[MOST_CHAIN], t = layout_resolve(l, n->inputs[at]);
    size_t count = 0;
    base_diags ignored = {.arena = s->scratch};
    while (count < MOST_CHAIN && layout_state(l, t)->is_off) {
        chain[count++] = t;
        t = layout_resolve(l, layout_state(l, t)->from);
    }
    *source = t;
    for (size_t i = 0; i <= count; i++) { /* from the source on */
        const bool last = i == count;
        ir_node move = {.op = "reshape", .input_count = 1, .output_count = 1};
        lang_link_source *from = BASE_NEWS(s->scratch, lang_link_source, n->input_count + 1);
        lang_program *p = NULL;
        const uint32_t to = last ? IR_NONE : chain[count - 1 - i], before = i == 0 ? t
                                                                            : last ? IR_NONE
                                                                                   : chain[count - i];
        uint32_t input = before, output = to;
        if (!last) {
            const put_off *off = layout_state(l, to);
            move.op = off->is_reshape ? "reshape" : "transpose";
            move.inputs = &input;
            move.outputs = &output;
            move.source_name = "";
            ir_attr_ints(s->m, &move, off->is_reshape ? "shape" : "perm",
                         off->is_reshape ? layout_tensor(l, to)->shape.dim : off->perm,
                         layout_tensor(l, to)->shape.rank);
            from[0] = i == 0 ? (lang_link_source){IR_NONE, (uint32_t)at} : (lang_link_source){(uint32_t)i - 1, 0};
        } else {
            for (uint32_t k = 0; k < n->input_count; k++) {
                from[k] = k == at                   ? (lang_link_source){(uint32_t)count - 1, 0}
                          : n->inputs[k] == IR_NONE ? (lang_link_source){IR_NONE, IR_NONE}
                                                    : (lang_link_source){IR_NONE, k};
            }
        }
        if (ops_instantiate(s->scratch, s->c->ops, s->m, s->g, last ? n : &move, &s->c->goal, &p, &ignored) !=
            BASE_OK) {
            return NULL;
        }
        parts[i] = (lang_link_part){p, from};
    }
    const lang_link_source out = {(uint32_t)count, 0};
    lang_program *p = count > 0 ? lang_link(s->scratch, n->op, parts, count + 1, n->input_count, &out, 1) : NULL;
    for (size_t i = 0; p != NULL && i < count; i++) {
        p = lang_inline(s->scratch, p, 0);
    }
    return p;
}

static bool sums_products(const lang_program *p) {
    for (lang_ref r = 1; r < p->nodes.n; r++) {
        const lang_node *n = lang_at(p, r);
        if (n->kind == LANG_REDUCE && n->code == LANG_SUM) {
            const lang_node *body = lang_at(p, lang_operand(p, r, n->count - 2));
            if (body->kind == LANG_WORD_ && body->code == LANG_MUL) {
                return true;
            }
        }
    }
    return false;
}

bool layout_absorb(layouter *l, const ir_node *n, size_t at) {
    base_arena *outer = l->s.scratch, *scratch = base_arena_new(base_arena_memory(outer));
    speak_mark mark = speak_here(&l->s);
    uint32_t source = IR_NONE, found = IR_NONE;
    l->s.scratch = scratch;
    l->s.only_products = true;
    bool done = n->output_count == 1 && layout_tensor(l, n->outputs[0])->quant.n == 0;
    lang_program *p = done ? linked(l, n, at, &source) : NULL;
    done = p != NULL && sums_products(p);
    if (done) {
        l->s.p = p = lang_fold(scratch, p, 65536);
        l->s.tensor = BASE_NEWS(scratch, uint32_t, p->tensors.n + 1);
        memset(l->s.tensor, 0xff, (p->tensors.n + 1) * sizeof *l->s.tensor);
        for (size_t k = 0; k < n->input_count; k++) {
            if (p->inputs.at[k] != IR_NONE) {
                l->s.tensor[p->inputs.at[k]] = layout_make(l, k == at ? source : n->inputs[k]);
            }
        }
        mark = speak_here(&l->s); /* what has been made stays */
        done = speak_program(&l->s, &found) && layout_transposes(l->s.g, mark.nodes) == 0 &&
               layout_tensor(l, found)->type == layout_tensor(l, n->outputs[0])->type &&
               ir_shape_same(&layout_tensor(l, found)->shape, &layout_tensor(l, n->outputs[0])->shape);
    }
    if (done) {
        put_off off = {.is_off = true, .from = found};
        for (uint32_t k = 0; k < IR_MAX_RANK; k++) {
            off.perm[k] = k;
        }
        *layout_state(l, n->outputs[0]) = off;
    } else {
        layout_back(l, mark);
    }
    l->s.scratch = outer;
    l->s.only_products = false;
    base_arena_free(scratch);
    return done;
}
