/* eval_machine.c - runs blocks of evaluator code.
 *
 * Takes compiled blocks and a frame. Gives the effects of their instructions; stops at the first error. Loops, tiles
 * and branches are here; what the other instructions do is in eval_rows.c, eval_access.c and eval_bound.c.
 */
#include <string.h>

#include "lang/eval_private.h"

static base_status run_loop(lang_eval_machine *m, const lang_eval_loop *l) {
    int64_t extent = *LANG_EVAL_AT(m, int64_t, l->extent);
    for (size_t k = 0; k < l->inductions.n; k++) {
        const lang_eval_induction *in = &l->inductions.at[k];
        *LANG_EVAL_AT(m, int64_t, in->reg) = in->init != 0 ? *LANG_EVAL_AT(m, int64_t, in->init) : 0;
    }
    for (int64_t v = 0; v < extent; v++) {
        if (l->var != 0) {
            *LANG_EVAL_AT(m, int64_t, l->var) = v;
        }
        base_status status = lang_eval_run_block(m, &l->body);
        if (status != BASE_OK) {
            return status;
        }
        for (size_t k = 0; k < l->inductions.n; k++) {
            const lang_eval_induction *in = &l->inductions.at[k];
            uint64_t *reg = LANG_EVAL_AT(m, uint64_t, in->reg);
            *reg += (uint64_t)in->step;
        }
    }
    return BASE_OK;
}

static base_status run_tiles(lang_eval_machine *m, const lang_eval_tiles *t) {
    int64_t extent = *LANG_EVAL_AT(m, int64_t, t->extent);
    lang_eval_tile_state *s = &m->tiles[t->tile];
    size_t outer = m->n;
    for (int64_t start = 0; start < extent; start += t->limit) {
        s->start = start;
        s->count = extent - start < t->limit ? extent - start : t->limit;
        s->n = (size_t)(s->count * t->inner);
        m->n = s->n;
        base_status status = s->n > 0 ? lang_eval_run_block(m, &t->body) : BASE_OK;
        if (status != BASE_OK) {
            return status;
        }
    }
    m->n = outer;
    return BASE_OK;
}

static base_status run_branch(lang_eval_machine *m, const lang_eval_ins *i) {
    const lang_eval_branch *branch = i->extra;
    const uint8_t *a = LANG_EVAL_AT(m, uint8_t, i->a);
    bool yes = i->op == LANG_EVAL_BRANCH ? a[0] != 0 : memchr(a, 1, m->n) != NULL;
    return lang_eval_run_block(m, yes ? &branch->yes : &branch->no);
}

base_status lang_eval_run_block(lang_eval_machine *m, const lang_eval_block *b) {
    for (size_t k = 0; k < b->code.n; k++) {
        const lang_eval_ins *i = &b->code.at[k];
        base_status status = BASE_OK;
        switch ((lang_eval_op)i->op) {
        case LANG_EVAL_RUN:
            i->run(m, i, (i->rows & LANG_EVAL_ROW_D) != 0 ? m->n : 1);
            break;
        case LANG_EVAL_LOOP:
            status = run_loop(m, i->extra);
            break;
        case LANG_EVAL_TILES:
            status = run_tiles(m, i->extra);
            break;
        case LANG_EVAL_BRANCH:
        case LANG_EVAL_WHEN:
            status = run_branch(m, i);
            break;
        case LANG_EVAL_LOAD:
            status = lang_eval_load(m, i);
            break;
        case LANG_EVAL_GATHER:
            status = lang_eval_gather(m, i);
            break;
        case LANG_EVAL_STORE:
            status = lang_eval_store_row(m, i);
            break;
        }
        if (status != BASE_OK) {
            return status;
        }
    }
    return BASE_OK;
}
