/* emit_lines.c - lines: the elements of A that a tile's points read, copied into the order of the reduction.
 *
 * Takes a tile. Gives a buffer q of one line for each point: elements as they are, or with their addend as 16-bit
 * numbers. Where the fill acts there is what acts as 0, so that a tile over lines has no borders and its reduction is
 * one run; and output variables that only A's addresses keep apart are one.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/contract.h"

void c_flatten_points(c_tile *t) {
    c_unit *u = t->u;
    uint32_t at = t->x->order_count;
    while (at > 0 && t->x->order[at - 1] != t->m) {
        at--;
    }
    if (at == 0) {
        return;
    }
    t->flat_extent[0] = t->M;
    for (at--; at-- > 0;) {
        uint8_t pair[2] = {t->x->order[at], (uint8_t)t->m};
        if ((u->zero_vars >> pair[0] & 1) != 0) {
            continue;
        }
        int64_t extent = c_extent(u, pair[0]);
        c_merge(u, pair, 2, t->roles.a.read);
        if ((u->zero_vars >> pair[0] & 1) == 0) {
            break;
        }
        t->flat[t->flat_count++] = pair[0];
        t->flat_extent[t->flat_count] = extent;
    }
    t->M = c_extent(u, t->m);
}

/* Binds m, and what joined it, to the coordinates of a point. */
static void bind_point(c_tile *t, const char *point) {
    c_unit *u = t->u;
    uint32_t var = t->m;
    for (uint32_t f = 0; f < t->flat_count; f++) {
        int64_t extent = t->flat_extent[f];
        const char *rest = c_local(u, u->scope, "int32_t", base_printf(u->arena, "%s / %" PRId64, point, extent)).text;
        const char *own = base_printf(u->arena, "%s - %" PRId64 " * %s", point, extent, rest);
        c_bind_var(u, var, c_local(u, u->scope, "int32_t", own).text, u->scope);
        var = t->flat[f];
        u->zero_vars &= ~(UINT64_C(1) << var);
        point = rest;
    }
    c_bind_var(u, var, point, u->scope);
}

/* Two words a round, and single bytes as volatile ones: compilers then make no call of memmove of it, whose C library on
 * small machines moves bytes. A word that may lie anywhere is a call of memcpy where the machine has no such loads. */
static const char *copy_helper(c_unit *u, bool words) {
    return words ? c_helper_made(
                       u->m->helpers, "copy_words",
                       "/* bytes, from a word on and up to one: nothing else has another type there */\n"
                       "static inline void $_copy_words(void *to, const void *from, int32_t bytes) {\n"
                       "    uint32_t *d = (uint32_t *)to;\n    const uint32_t *s = (const uint32_t *)from;\n"
                       "    for (; bytes >= 8; bytes -= 8) {\n"
                       "        const uint32_t first = s[0], second = s[1];\n"
                       "        d[0] = first;\n        d[1] = second;\n        d += 2;\n        s += 2;\n    }\n"
                       "    if (bytes > 0) {\n        *d = *s;\n    }\n}\n")
                 : c_helper_made(u->m->helpers, "copy_line",
                                 "/* two words a round; volatile: not to become a call of memmove */\n"
                                 "static inline void $_copy_line(void *to, const void *from, int32_t bytes) {\n"
                                 "    uint8_t *d = (uint8_t *)to;\n    const uint8_t *s = (const uint8_t *)from;\n"
                                 "#if !defined(__ARM_ARCH) || defined(__ARM_FEATURE_UNALIGNED)\n"
                                 "    for (; bytes >= 8; bytes -= 8) {\n"
                                 "        memcpy(d, s, 4);\n        memcpy(d + 4, s + 4, 4);\n"
                                 "        d += 8;\n        s += 8;\n    }\n"
                                 "    if (bytes >= 4) {\n        memcpy(d, s, 4);\n        d += 4;\n        s += 4;\n"
                                 "        bytes -= 4;\n    }\n#endif\n"
                                 "    for (; bytes > 0; bytes--) {\n        *(volatile uint8_t *)d++ = *s++;\n"
                                 "    }\n}\n");
}

/* Every line, every row of it and what it is copied from begin and end at a word; elements are bytes, which may be read as
 * anything. */
static bool is_of_words(const c_tile *t, const c_run *run, uint32_t n, const lang_affine *base) {
    const c_unit *u = t->u;
    const uint32_t from = u->kernel->tensor[lang_at(u->p, t->roles.a.read)->index];
    const plan_tensor *x = from == IR_NONE ? NULL : &u->m->plan->tensors.at[from];
    const plan_tensor *root = x == NULL ? NULL : &u->m->plan->tensors.at[x->root];
    if (!t->patch || base_type_bits(t->a_type) != 8 || root == NULL || root->role == PLAN_CONSTANT ||
        root->role == PLAN_STATE || u->m->plan->device == NULL || u->m->plan->device->machine.alignment % 4 != 0) {
        return false;
    }
    int64_t ends = (int64_t)((root->offset + x->root_offset) & 3) | t->line | base->constant;
    for (uint32_t k = 0; k < u->stage->rank; k++) {
        ends |= (u->zero_vars >> k & 1) == 0 ? c_coefficient(base, k) : 0;
    }
    for (uint32_t k = 0; k < n; k++) { /* the last run is copied as it is, whole or with the one before it */
        const bool last = k + 1 == n;
        ends |= last ? run[k].extent : run[k].a_step | run[k].b_step;
        if (last && (run[k].low != NULL || run[k].high != NULL)) {
            return false;
        }
    }
    return (ends & 3) == 0;
}

static const char *text_of(c_tile *t, const char *bound, int64_t otherwise, int64_t scale) {
    base_arena *arena = t->u->arena;
    if (bound == NULL) {
        return base_printf(arena, "%" PRId64, otherwise * scale);
    }
    return scale == 1 ? bound : base_printf(arena, "%" PRId64 " * %s", scale, bound);
}

/* Elements low .. high, in steps of a_step, to places in a row. */
static void copy_elements(c_tile *t, const c_run *r, int64_t scale, const char *pointer, const char *a, const char *to,
                          bool words) {
    c_unit *u = t->u;
    const char *low = text_of(t, r->low, 0, scale), *high = text_of(t, r->high, r->extent, scale);
    int64_t step = scale == 1 ? r->a_step : 1;
    if (t->patch && step == 1) {
        const char *first = "";
        if (r->low != NULL) {
            first = base_printf(u->arena, " + %s", c_local(u, u->scope, "int32_t", low).text);
            high = base_printf(u->arena, "%s - %s", high, first + 3);
        }
        unsigned bytes = base_type_bits(t->a_type) / 8;
        c_line(u->scope, "%s(%s + %s%s, %s + %s%s, %s%s%s);", copy_helper(u, words), t->q, to, first, pointer, a, first,
               bytes == 1 ? "" : base_printf(u->arena, "%u * (", bytes), high, bytes == 1 ? "" : ")");
        return;
    }
    const char *name = c_name(u, 'k');
    c_block_open(u, false, "for (int32_t %s = %s; %s < %s; %s++)", name, low, name, high, name);
    const char *at = c_scaled(t, a, name, step);
    if (t->patch) {
        c_line(u->scope, "%s[%s + %s] = %s[%s];", t->q, to, name, pointer, at);
    } else {
        c_line(u->scope, "%s[%s + %s] = (int16_t)(%s);", t->q, to, name, c_a_element(t, pointer, at));
    }
    c_block_close(u, "");
}

/* Copies what the loops k .. of the runs reach into the line that starts at element `to` of q. */
static void copy_runs(c_tile *t, const c_run *run, uint32_t n, uint32_t k, const char *pointer, const char *a,
                      const char *to, bool words) {
    c_unit *u = t->u;
    const c_run *r = &run[k], *last = &run[n - 1];
    bool together = k + 2 == n && last->a_step == 1 && last->low == NULL && last->high == NULL &&
                    r->a_step == last->extent && r->b_step == last->extent;
    if (k + 1 == n || together) {
        copy_elements(t, r, together ? last->extent : 1, pointer, a, to, words);
        return;
    }
    const char *name = c_name(u, 'k');
    c_block_open(u, false, "for (int32_t %s = %s; %s < %s; %s++)", name, r->low != NULL ? r->low : "0", name,
                 text_of(t, r->high, r->extent, 1), name);
    const char *a_text = c_local(u, u->scope, "int32_t", c_scaled(t, a, name, r->a_step)).text;
    const char *to_text = c_local(u, u->scope, "int32_t", c_scaled(t, to, name, r->b_step)).text;
    copy_runs(t, run, n, k + 1, pointer, a_text, to_text, words);
    c_block_close(u, "");
}

/* Is some of the line not copied? Empty: it never is. */
static const char *clipped(c_tile *t, const c_run *run, uint32_t n) {
    base_text test = {.arena = t->u->arena};
    base_puts(&test, "");
    for (uint32_t k = 0; k < n; k++) {
        if (run[k].low != NULL) {
            base_put(&test, "%s%s > 0", test.n > 0 ? " || " : "", run[k].low);
        }
        if (run[k].high != NULL) {
            base_put(&test, "%s%s < %" PRId64, test.n > 0 ? " || " : "", run[k].high, run[k].extent);
        }
    }
    return test.n > 0 ? test.at : "";
}

/* What acts as 0 into the whole line. */
static void fill_line(c_tile *t, const char *to) {
    c_unit *u = t->u;
    unsigned bytes = t->patch ? base_type_bits(t->a_type) / 8 : 2;
    int64_t fill = t->patch ? t->fill : 0;
    if (bytes == 1 || fill == 0) {
        c_line(u->scope, "memset(%s + %s, %" PRId64 ", (size_t)%" PRId64 ");", t->q, to, fill & 255, t->line * bytes);
        return;
    }
    c_block_open(u, false, "for (int32_t k = 0; k < %" PRId64 "; k++)", t->line);
    c_line(u->scope, "%s[%s + k] = %" PRId64 ";", t->q, to, fill);
    c_block_close(u, "");
}

/* The runs of a line that is copied whole. */
static uint32_t whole_runs(const c_run *run, uint32_t n, c_run *out) {
    uint32_t m = 0;
    for (uint32_t k = 0; k < n; k++) {
        c_run r = run[k];
        r.low = r.high = NULL;
        if (m > 0 && out[m - 1].a_step == r.a_step * r.extent) {
            r.extent *= out[--m].extent;
        }
        out[m++] = r;
    }
    return m;
}

void c_gather(c_tile *t, uint32_t mr) {
    c_unit *u = t->u;
    const bool has_points = t->m != C_NO_VAR;
    const char *m_text = has_points ? u->var_text[t->m] : NULL, *to = "0";
    c_scope *m_scope = has_points ? u->var_scope[t->m] : NULL;
    const uint64_t zero = u->zero_vars;
    if (t->placed) {
        t->q = c_argument_name(u, c_argument_scratch(u, t->x->lines, t->a_type, "lines"));
    } else {
        t->q = "q";
        if (t->patch && base_type_bits(t->a_type) == 8) { /* at a word */
            const char *type = c_storage_type(t->a_type);
            c_line(u->scope, "uint32_t words[%" PRId64 "];", (t->line * mr + 3) / 4);
            c_line(u->scope, "%s *const q = (%s *)(void *)words;", type, type);
        } else {
            c_line(u->scope, "%s q[%" PRId64 "];", t->patch ? c_storage_type(t->a_type) : "int16_t", t->line * mr);
        }
    }
    if (mr > 1) {
        c_block_open(u, false, "for (int32_t i = 0; i < %" PRIu32 "; i++)", mr);
        to = c_local(u, u->scope, "int32_t", base_printf(u->arena, "%" PRId64 " * i", t->line)).text;
        const char *point = base_printf(u->arena, "%s + i", m_text);
        bind_point(t, c_local(u, u->scope, "int32_t", point).text);
    } else {
        c_block_open(u, false, "%s", "");
        if (has_points) {
            bind_point(t, m_text);
        }
    }
    c_run run[C_MAX_K];
    lang_affine base = t->a;
    for (uint32_t k = u->stage->rank; k < LANG_MAX_VARS; k++) {
        base.vars &= ~(UINT64_C(1) << k);
    }
    uint32_t n = c_runs_of(t, true, run);
    const char *a = c_local(u, u->scope, "int32_t", c_affine_text(u, &base, false).text).text;
    const char *pointer = c_argument_name(u, c_argument_of(u, lang_at(u->p, t->roles.a.read)->index));
    if (t->line != t->K) {
        c_line(u->scope, "%s[%s + %" PRId64 "] = 0;", t->q, to, t->K);
    }
    const char *test = clipped(t, run, n);
    if (test[0] != 0) {
        c_block_open(u, false, "if (%s)", test);
        fill_line(t, to);
    }
    if (test[0] != 0 && t->dot) { /* vectors like loops whose ends are numbers */
        c_run whole[C_MAX_K];
        copy_runs(t, run, n, 0, pointer, a, to, false);
        c_block_close(u, " else {");
        (void)c_scope_open(u, false);
        copy_runs(t, whole, whole_runs(run, n, whole), 0, pointer, a, to, false);
        c_block_close(u, "");
    } else {
        if (test[0] != 0) {
            c_block_close(u, "");
        }
        copy_runs(t, run, n, 0, pointer, a, to, is_of_words(t, run, n, &base));
    }
    c_block_close(u, "");
    u->zero_vars = zero;
    if (has_points) {
        c_bind_var(u, t->m, m_text, m_scope);
    }
}
