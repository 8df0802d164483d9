/* counted.c - tensors with extents that a run decided, as they lie in a module's memory.
 *
 * Takes a plan and the bytes of a trace. Gives shapes as they were, and elements one behind the other as the evaluator wants
 * them. In the module strides are those of the bounds, but for its outputs, which are dense.
 */
#include <inttypes.h>

#include "check/check_private.h"

static bool has_counts(const plan_module *p, uint32_t tensor) {
    bool any = false;
    for (uint32_t k = 0; tensor != IR_NONE && k < p->tensors.at[tensor].shape.rank; k++) {
        any = any || p->tensors.at[tensor].count[k] != IR_NONE;
    }
    return any;
}

bool check_is_counted(const plan_module *p, const plan_kernel *k) {
    bool any = k->open;
    for (size_t i = 0; k->control == PLAN_COMPUTE && i < k->node->output_count; i++) {
        any = any || has_counts(p, k->outputs[i]);
    }
    return any;
}

base_status check_actual_shape(const plan_module *p, const uint8_t *const *latest, uint32_t t, ir_shape *out,
                               base_diags *d) {
    const plan_tensor *x = &p->tensors.at[t];
    *out = ir_shape_of(x->shape.rank, x->shape.dim);
    for (uint32_t k = 0; k < out->rank; k++) {
        if (x->count[k] == IR_NONE) {
            continue;
        }
        const uint8_t *bytes = latest[x->count[k]];
        out->dim[k] = bytes != NULL ? base_load(BASE_I64, bytes, 0).i : -1;
        if (out->dim[k] < 0 || out->dim[k] > x->shape.dim[k]) {
            base_error(d, NULL, "extent %" PRIu32 " of tensor \"%s\" was counted as %" PRId64 ", its bound is %" PRId64,
                       k, x->name, out->dim[k], x->shape.dim[k]);
            return BASE_WRONG;
        }
    }
    return BASE_OK;
}

uint64_t check_place(const plan_tensor *t, const ir_shape *actual, uint64_t i) {
    uint64_t place = 0, stride = 1;
    if (t->role == PLAN_OUTPUT) {
        return i;
    }
    for (uint32_t k = actual->rank; k-- > 0;) {
        const uint64_t extent = actual->dim[k] > 0 ? (uint64_t)actual->dim[k] : 1;
        place += i % extent * stride;
        i /= extent;
        stride *= (uint64_t)t->shape.dim[k];
    }
    return place;
}

const void *check_dense(base_arena *arena, const plan_tensor *t, const ir_shape *actual, const uint8_t *bytes) {
    uint64_t n = 0, size = 0;
    (void)(ir_shape_elements(actual, &n) && base_type_bytes(t->type, n, &size));
    void *dense = base_alloc(arena, (size_t)size + 8, 1);
    for (uint64_t i = 0; i < n; i++) {
        base_store(t->type, dense, i, base_load(t->type, bytes, check_place(t, actual, i)));
    }
    return dense;
}
