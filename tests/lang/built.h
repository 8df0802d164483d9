/* built.h - a program built by hand: what the tests of analyses and transforms set up, and short names for its nodes.
 *
 * set_up makes an empty program p in an arena of its own; the functions build nodes in p.
 */
#ifndef BURIN_TESTS_LANG_BUILT_H
#define BURIN_TESTS_LANG_BUILT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interpret.h"

static base_memory memory;
static base_arena *arena;
static base_diags diags;
static lang_program *p;

static inline int set_up(void **state) {
    (void)state;
    memory = (base_memory){0};
    arena = base_arena_new(&memory);
    diags = (base_diags){.arena = arena};
    p = lang_program_new(arena, "test");
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    base_arena_free(arena);
    assert_int_equal(memory.in_use, 0);
    return 0;
}

static inline lang_ref num(int64_t v) {
    return lang_int(p, BASE_I64, v);
}

/* A comparison or condition, or arithmetic in the type of a. */
static inline lang_ref op(lang_word w, lang_ref a, lang_ref b) {
    bool compare = w == LANG_LT || w == LANG_LE || w == LANG_EQ || w == LANG_AND || w == LANG_OR;
    return lang_apply2(p, w, compare ? BASE_BOOL : (base_type)lang_at(p, a)->type, a, b);
}

static inline lang_ref to(base_type type, lang_ref a) {
    return lang_apply1(p, LANG_CAST, type, a);
}

static inline lang_ref i32(lang_ref a) {
    return to(BASE_I32, a);
}

#endif
