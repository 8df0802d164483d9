/* in_place.c - may a kernel write its output over one of its inputs?
 *
 * Takes a kernel that is scheduled. Gives true where every read of the input is of the very element that is written next,
 * or of one that is written later (a state that moves by one), and nothing reads the input after the stage that writes.
 * Says no wherever it cannot tell.
 */
#include "plan/plan_private.h"

static bool reads(base_arena *scratch, const lang_program *p, const lang_stage *s, uint32_t tensor) {
    const uint8_t *reached = lang_reached(scratch, p, s);
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *n = lang_at(p, r);
        if (reached[r] != 0 && n->kind == LANG_READ && n->index == tensor) {
            return true;
        }
    }
    return false;
}

/* The stage writes its elements one after the other, in ascending order. */
static bool is_ascending(const lang_stage *s, const plan_schedule *x) {
    for (uint32_t k = 0; k < s->rank; k++) {
        if (x->order[k] != k) {
            return false;
        }
    }
    return x->form == PLAN_NEST && x->threads_var >= LANG_MAX_VARS;
}

/* The read is of the element that the stage is about to write, or of one a fixed number of places behind it, which it
 * writes later. */
static bool is_own_element(const lang_program *p, const lang_stage *s, lang_ref read) {
    const lang_tensor *to = &p->tensors.at[s->tensor];
    lang_affine a;
    if (!lang_affine_read(p, read, &a) || a.constant < 0) {
        return false;
    }
    int64_t stride = 1;
    for (uint32_t k = s->rank; k-- > 0;) {
        if (to->dim[k] != 1 && a.coefficient[k] != stride) {
            return false;
        }
        stride *= to->dim[k];
    }
    for (uint32_t k = s->rank; k < LANG_MAX_VARS; k++) {
        if (a.coefficient[k] != 0) {
            return false;
        }
    }
    return true;
}

static bool reads_only_own(base_arena *scratch, const lang_program *p, const lang_stage *s, uint32_t tensor) {
    const uint8_t *reached = lang_reached(scratch, p, s);
    for (lang_ref r = 1; r <= s->body; r++) {
        const lang_node *n = lang_at(p, r);
        if (reached[r] != 0 && n->kind == LANG_READ && n->index == tensor && !is_own_element(p, s, r)) {
            return false;
        }
    }
    return true;
}

static bool same_layout(const lang_tensor *a, const lang_tensor *b) {
    uint64_t n = 1, m = 1;
    for (uint32_t k = 0; k < a->rank; k++) {
        n *= (uint64_t)a->dim[k];
    }
    for (uint32_t k = 0; k < b->rank; k++) {
        m *= (uint64_t)b->dim[k];
    }
    unsigned bits = base_type_bits(a->type);
    return n == m && bits >= 8 && bits == base_type_bits(b->type);
}

/* Stages that share loops with the one that writes read the input in later rounds, too. */
static bool is_read_beside(base_arena *scratch, const plan_kernel *k, size_t stage, uint32_t input) {
    size_t first, last;
    plan_together(k, stage, &first, &last);
    for (size_t i = first; i <= last; i++) {
        if (i != stage && reads(scratch, k->program, &k->program->stages.at[i], input)) {
            return true;
        }
    }
    return false;
}

bool plan_in_place(const plan_kernel *k, uint32_t input, uint32_t output) {
    if (k->program->external != NULL) { /* what a C function reads when is not known */
        return false;
    }
    const lang_program *p = k->program;
    const lang_tensor *from = &p->tensors.at[input], *to = &p->tensors.at[output];
    if (from->kind != LANG_INPUT || from->data != NULL || !same_layout(from, to)) {
        return false;
    }
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    bool fits = true, written = false;
    for (size_t i = 0; fits && i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        bool writes = s->tensor == output;
        if (writes) {
            fits = s->rec < 0 && is_ascending(s, &k->schedules[i]) && !written &&
                   reads_only_own(scratch, p, s, input) && !is_read_beside(scratch, k, i, input);
            written = true;
        } else {
            fits = !(written && reads(scratch, p, s, input));
        }
    }
    base_arena_free(scratch);
    return fits && written;
}
