/* definition.c - see definition.h. */
#include "targets/c/definition.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t seed = 12345;

uint64_t test_random(void) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 17;
}

static void *random_contents(base_arena *arena, const input *x, uint64_t n) {
    void *data = base_alloc(arena, n + 1, 8);
    for (uint64_t k = 0; k < n; k++) {
        base_value v = {.u = test_random() ^ test_random() << 31};
        if (base_type_is_float(x->type)) {
            v.f = base_round_to(x->type, (double)(test_random() % 2001) / 500.0 - 2.0);
        } else if (x->low != 0 || x->high != 0) {
            v.i = x->low + (int64_t)(test_random() % (uint64_t)(x->high - x->low + 1));
        } else if (test_random() % 4 == 0) { /* extremes */
            int64_t lo;
            uint64_t hi;
            base_type_range(x->type, &lo, &hi);
            v.u = test_random() % 2 == 0 ? (uint64_t)lo : hi;
        }
        base_store(x->type, data, k, base_type_is_float(x->type) ? v : lang_wrap(x->type, v));
    }
    return data;
}

static uint32_t parse_dims(const char *s, int64_t *dim) {
    uint32_t n = 0;
    for (; *s != 0; s += *s == ',') {
        char *end;
        dim[n++] = strtoll(s, &end, 10);
        s = end;
    }
    return n;
}

static void fail_with(base_arena *arena, const base_diags *d, const definition *x) {
    base_text text = {.arena = arena};
    base_diag_print(&text, &d->list.at[0], false);
    fail_msg("%s\n%s", x->text, text.at);
}

lang_program *test_instantiate(base_arena *arena, base_diags *d, const definition *x, const void **inputs) {
    lang_library *lib = lang_library_new(arena);
    lang_argument in[MAX_ARGUMENTS] = {{0}}, out = {.present = true, .type = x->out};
    size_t n = 0;
    if (lang_parse(lib, "test.op", x->text, strlen(x->text), d) != BASE_OK) {
        fail_with(arena, d, x);
    }
    for (; n < MAX_ARGUMENTS && x->in[n].type != BASE_NONE; n++) {
        int64_t dim[8];
        uint64_t elements;
        in[n] = (lang_argument){.present = true, .type = x->in[n].type};
        in[n].shape = ir_shape_of(parse_dims(x->in[n].dims, dim), dim);
        assert_true(ir_shape_elements(&in[n].shape, &elements));
        inputs[n] = random_contents(arena, &x->in[n], elements);
        in[n].data = x->in[n].constant ? inputs[n] : NULL;
    }
    lang_call call = {.op = "t", .inputs = in, .input_count = n, .outputs = &out, .output_count = 1};
    lang_program *p = NULL;
    if (lang_instantiate(arena, lib, &call, &p, d) != BASE_OK) {
        fail_with(arena, d, x);
    }
    return p;
}

void test_compare(test_module *m, const instance *x, size_t which, const char *what) {
    base_arena *arena = m->arena;
    const lang_tensor *t = &x->program->tensors.at[x->program->outputs.at[0]];
    lang_result want = {.data = base_alloc(arena, test_bytes(t) + 1, 1)};
    lang_code *code = lang_compile(arena, x->program, LANG_EVAL_EXACT, &m->diags);
    assert_non_null(code);
    assert_int_equal(lang_run(code, arena, x->inputs, &want, &m->diags), BASE_OK);
    const void *got = m->outputs.at[x->output[which]];
    for (uint64_t k = 0; k < test_elements(t); k++) {
        base_value a = base_load(t->type, got, k), b = base_load(t->type, want.data, k);
        bool same = a.u == b.u;
        if (t->type == BASE_F32) {
            same = fabs(a.f - b.f) <= 1e-5 * fabs(b.f) + 1e-6;
        }
        if (!same) {
            fail_msg("%s\n%s: element %llu: got %lld (%g), want %lld (%g)", x->definition->text, what,
                     (unsigned long long)k, (long long)a.i, a.f, (long long)b.i, b.f);
        }
    }
}
