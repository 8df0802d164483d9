/* eval_bound_compile.c - code for values with error bounds. */
#include "lang/eval_code.h"
#include <assert.h>
eval_value eval_bound_word(eval_compiler *c, eval_scope *s, lang_ref r, eval_value a, eval_value b) {
    (void)c;
    (void)s;
    (void)r;
    (void)b;
    assert(0);
    return a;
}
eval_value eval_bound_select(eval_compiler *c, eval_scope *s, eval_value cond, eval_value a, eval_value b,
                             base_type t) {
    (void)c;
    (void)s;
    (void)cond;
    (void)b;
    (void)t;
    assert(0);
    return a;
}
uint32_t eval_bound_possible(eval_compiler *c, eval_scope *s, eval_value test, eval_value cond) {
    (void)c;
    (void)s;
    (void)cond;
    assert(0);
    return test.reg;
}
eval_value eval_bound_access(eval_compiler *c, eval_scope *s, const eval_access *x, base_type t, bool row,
                             eval_value fill, const eval_value *element, const eval_value *inside,
                             eval_access_part part) {
    (void)c;
    (void)s;
    (void)x;
    (void)t;
    (void)row;
    (void)element;
    (void)inside;
    (void)part;
    assert(0);
    return fill;
}
bool eval_approximate_index(eval_compiler *c, eval_scope *s, lang_ref r) {
    (void)c;
    (void)s;
    (void)r;
    return false;
}
eval_value eval_bound_read(eval_compiler *c, eval_scope *s, lang_ref r) {
    (void)c;
    (void)s;
    (void)r;
    assert(0);
    return (eval_value){0};
}
eval_value eval_bound_reduce(eval_compiler *c, eval_scope *s, lang_ref r) {
    (void)c;
    (void)s;
    (void)r;
    assert(0);
    return (eval_value){0};
}
void eval_bound_store(eval_compiler *c, eval_scope *s, const eval_access *x, eval_value v, base_type t) {
    (void)c;
    (void)s;
    (void)x;
    (void)v;
    (void)t;
    assert(0);
}
void eval_deliver_bounds(const eval_store *store, base_type t, uint64_t n, double *value, double *bound) {
    (void)store;
    (void)t;
    (void)n;
    (void)value;
    (void)bound;
    assert(0);
}
base_status eval_demand_elements(eval_demand *d, uint32_t tensor, int64_t first, int64_t step, size_t n) {
    (void)d;
    (void)tensor;
    (void)first;
    (void)step;
    (void)n;
    return BASE_OK;
}
