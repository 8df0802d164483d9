/* eval_machine.c - runs blocks of evaluator code.
 *
 * Takes compiled blocks and a frame. Gives the effects of their instructions; stops at the first error. Loops, tiles
 * and branches are here; what the other instructions do is in eval_rows.c, eval_access.c and eval_bound.c.
 */
#include <string.h>

#include "lang/eval_private.h"

static base_status run_loop(eval_machine *m, const eval_loop *l) {
    int64_t extent = *EVAL_AT(m, int64_t, l->extent);
    for (size_t k = 0; k < l->inductions.n; k++) {
        const eval_induction *in = &l->inductions.at[k];
        *EVAL_AT(m, int64_t, in->reg) = in->init != 0 ? *EVAL_AT(m, int64_t, in->init) : 0;
    }
    for (int64_t v = 0; v < extent; v++) {
        if (l->var != 0) {
            *EVAL_AT(m, int64_t, l->var) = v;
        }
        base_status status = eval_run_block(m, &l->body);
        if (status != BASE_OK) {
            return status;
        }
        for (size_t k = 0; k < l->inductions.n; k++) {
            const eval_induction *in = &l->inductions.at[k];
            uint64_t *reg = EVAL_AT(m, uint64_t, in->reg);
            *reg += (uint64_t)in->step;
        }
    }
    return BASE_OK;
}

static base_status run_tiles(eval_machine *m, const eval_tiles *t) {
    int64_t extent = *EVAL_AT(m, int64_t, t->extent);
    eval_tile_state *s = &m->tiles[t->tile];
    size_t outer = m->n;
    for (int64_t start = 0; start < extent; start += t->limit) {
        s->start = start;
        s->count = extent - start < t->limit ? extent - start : t->limit;
        s->n = (size_t)(s->count * t->inner);
        m->n = s->n;
        base_status status = s->n > 0 ? eval_run_block(m, &t->body) : BASE_OK;
        if (status != BASE_OK) {
            return status;
        }
    }
    m->n = outer;
    return BASE_OK;
}

static base_status run_branch(eval_machine *m, const eval_ins *i) {
    const eval_branch *branch = i->extra;
    const uint8_t *a = EVAL_AT(m, uint8_t, i->a);
    bool yes = i->op == EVAL_BRANCH ? a[0] != 0 : memchr(a, 1, m->n) != NULL;
    return eval_run_block(m, yes ? &branch->yes : &branch->no);
}

base_status eval_run_block(eval_machine *m, const eval_block *b) {
    const eval_ins *end = b->code.at + b->code.n;
    for (const eval_ins *i = b->code.at; i != end; i++) {
        base_status status = BASE_OK;
        switch ((eval_op)i->op) {
        case EVAL_RUN:
            i->run(m, i, (i->rows & EVAL_ROW_D) != 0 ? m->n : 1);
            break;
        case EVAL_LOOP:
            status = run_loop(m, i->extra);
            break;
        case EVAL_TILES:
            status = run_tiles(m, i->extra);
            break;
        case EVAL_BRANCH:
        case EVAL_WHEN:
            status = run_branch(m, i);
            break;
        case EVAL_LOAD:
            status = eval_load(m, i);
            break;
        case EVAL_GATHER:
            status = eval_gather(m, i);
            break;
        case EVAL_STORE:
            status = eval_store_row(m, i);
            break;
        }
        if (status != BASE_OK) {
            return status;
        }
    }
    return BASE_OK;
}
