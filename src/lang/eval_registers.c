/* eval_registers.c - places the registers of compiled code in one frame.
 *
 * Takes the tree of blocks and the list of registers, each with the block that owns it. A register lives from its first
 * to its last use; a use inside a nested block counts for the whole of it, as blocks repeat. Gives byte offsets in
 * place of register numbers. Registers without an owner (constants, given variables) live always.
 */
#include <assert.h>

#include "lang/eval_private.h"

typedef struct placer {
    lang_eval_registers *regs;
    BASE_VEC(const lang_eval_block *) stack; /* open blocks, outermost first */
    base_arena *arena;
    uint32_t position;
    bool write; /* second pass: put the offsets */
} placer;

static void touch(placer *p, uint32_t *reg) {
    if (*reg == 0) {
        return;
    }
    lang_eval_register *r = &p->regs->list.at[*reg];
    if (p->write) {
        *reg = r->offset;
        return;
    }
    uint32_t first = p->position, last = p->position;
    if (r->owner != NULL) {
        size_t k = p->stack.n;
        while (k > 0 && p->stack.at[k - 1] != r->owner) {
            k--;
        }
        assert(k > 0);
        if (k < p->stack.n) {
            first = p->stack.at[k]->first;
            last = p->stack.at[k]->last;
        }
    }
    r->first = !r->used || first < r->first ? first : r->first;
    r->last = !r->used || last > r->last ? last : r->last;
    r->used = true;
}

static void access_registers(placer *p, lang_eval_access *x) {
    touch(p, &x->base);
    touch(p, &x->fill);
    touch(p, &x->mask);
    for (uint32_t k = 0; k < x->check_count; k++) {
        touch(p, &x->check[k].reg);
    }
}

static void walk(placer *p, lang_eval_block *b, bool number);

static void walk_ins(placer *p, lang_eval_ins *i, bool number) {
    p->position++;
    if (!number) {
        touch(p, &i->a);
        touch(p, &i->b);
        touch(p, &i->c);
        touch(p, &i->a2);
        touch(p, &i->b2);
        touch(p, &i->c2);
        touch(p, &i->d);
        touch(p, &i->d2);
    }
    /* extra is const for the machine; the compiler made it */
    void *extra = (void *)(uintptr_t)i->extra;
    switch ((lang_eval_op)i->op) {
    case LANG_EVAL_RUN:
    case LANG_EVAL_LOAD:
    case LANG_EVAL_GATHER:
    case LANG_EVAL_STORE:
        if (extra != NULL && !number) {
            access_registers(p, extra);
        }
        break;
    case LANG_EVAL_LOOP: {
        lang_eval_loop *loop = extra;
        if (!number) {
            touch(p, &loop->extent);
            touch(p, &loop->var);
            for (size_t k = 0; k < loop->inductions.n; k++) {
                touch(p, &loop->inductions.at[k].init);
                touch(p, &loop->inductions.at[k].reg);
            }
        }
        walk(p, &loop->body, number);
        p->position++;
        if (!number && !p->write) { /* they change until the loop ends */
            uint32_t var = loop->var;
            touch(p, &var);
            for (size_t k = 0; k < loop->inductions.n; k++) {
                uint32_t reg = loop->inductions.at[k].reg;
                touch(p, &reg);
            }
        }
        break;
    }
    case LANG_EVAL_TILES: {
        lang_eval_tiles *tiles = extra;
        if (!number) {
            touch(p, &tiles->extent);
        }
        walk(p, &tiles->body, number);
        break;
    }
    case LANG_EVAL_BRANCH:
    case LANG_EVAL_WHEN: {
        lang_eval_branch *branch = extra;
        walk(p, &branch->yes, number);
        walk(p, &branch->no, number);
        break;
    }
    }
}

static void walk(placer *p, lang_eval_block *b, bool number) {
    if (number) {
        b->first = p->position;
    }
    *BASE_PUSH(p->arena, &p->stack) = b;
    for (size_t k = 0; k < b->code.n; k++) {
        walk_ins(p, &b->code.at[k], number);
    }
    p->stack.n--;
    if (number) {
        b->last = p->position;
    }
}

/* Free places of one size, last freed first. */
typedef struct place_pool {
    uint32_t bytes;
    BASE_VEC(uint32_t) offset;
} place_pool;

typedef struct frame_maker {
    base_arena *arena;
    place_pool pool[8];
    size_t pools, bytes;
} frame_maker;

static place_pool *pool_of(frame_maker *f, uint32_t bytes) {
    for (size_t k = 0; k < f->pools; k++) {
        if (f->pool[k].bytes == bytes) {
            return &f->pool[k];
        }
    }
    assert(f->pools < sizeof f->pool / sizeof f->pool[0]);
    f->pool[f->pools].bytes = bytes;
    return &f->pool[f->pools++];
}

static uint32_t take(frame_maker *f, uint32_t bytes) {
    place_pool *pool = pool_of(f, bytes);
    if (pool->offset.n > 0) {
        return pool->offset.at[--pool->offset.n];
    }
    uint32_t offset = (uint32_t)f->bytes;
    f->bytes += bytes;
    return offset;
}

/* Registers in the order of their first use; each is given back after its last. */
static void assign(base_arena *arena, lang_eval_registers *regs, uint32_t positions, size_t *bytes) {
    frame_maker f = {.arena = arena, .bytes = 64}; /* offset 0 means none */
    uint32_t *starts = BASE_NEWS(arena, uint32_t, positions + 2), *ends = BASE_NEWS(arena, uint32_t, positions + 2);
    uint32_t *next_start = BASE_NEWS(arena, uint32_t, regs->list.n + 1);
    uint32_t *next_end = BASE_NEWS(arena, uint32_t, regs->list.n + 1);
    for (size_t k = regs->list.n; k-- > 1;) {
        lang_eval_register *r = &regs->list.at[k];
        if (!r->used && r->owner != NULL) {
            continue;
        }
        if (r->owner == NULL) {
            r->first = 0;
            r->last = positions + 1;
        }
        next_start[k] = starts[r->first];
        starts[r->first] = (uint32_t)k;
    }
    for (uint32_t at = 0; at <= positions; at++) {
        for (uint32_t k = starts[at]; k != 0; k = next_start[k]) {
            lang_eval_register *r = &regs->list.at[k];
            r->offset = take(&f, r->bytes);
            next_end[k] = ends[r->last];
            ends[r->last] = k;
        }
        for (uint32_t k = ends[at]; k != 0; k = next_end[k]) {
            const lang_eval_register *r = &regs->list.at[k];
            *BASE_PUSH(arena, &pool_of(&f, r->bytes)->offset) = r->offset;
        }
    }
    *bytes = f.bytes;
}

void lang_eval_place_registers(base_arena *arena, lang_eval_stage *s, lang_eval_registers *regs) {
    placer p = {.regs = regs, .arena = arena};
    walk(&p, &s->body, true);
    uint32_t positions = p.position + 1;
    p.position = 0;
    walk(&p, &s->body, false);
    assign(arena, regs, positions, &s->frame);
    p.position = 0;
    p.write = true;
    walk(&p, &s->body, false);
    for (size_t k = 0; k < s->constants.n; k++) {
        touch(&p, &s->constants.at[k].reg);
    }
    for (size_t k = 0; k < LANG_MAX_VARS; k++) {
        touch(&p, &s->given[k]);
    }
    touch(&p, &s->result);
}
