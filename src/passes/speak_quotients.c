/* speak_quotients.c - quotients of integers.
 *
 * Takes a number and a divisor, tensors. Gives the vocabulary's division, or, where it has none of 64 bits and the divisor is a constant of
 * powers of two, shifts of the two halves, exactly. Other divisors cannot be said then.
 */
#include "passes/speak.h"

/* The binary logarithm of each element; -1: it is no power of two. */
static int exponent_of(const ir_tensor *b, uint64_t i) {
    const int64_t v = base_load(BASE_I64, b->data, i).i;
    int n = 0;
    while (n < 62 && (int64_t)1 << n < v) {
        n++;
    }
    return v == (int64_t)1 << n ? n : -1;
}

/* Constants of the divisor's powers 2^n, of its shape: 2^n - 1, 2^(32 - n), or n or n - 32 for shifts. */
typedef enum from_exponent { LESS_ONE, REST, COUNT, COUNT_HIGH } from_exponent;

static uint32_t of_exponents(speaker *s, uint32_t b, base_type type, from_exponent what) {
    const ir_tensor of = s->g->tensors.at[b];
    uint64_t count = 0;
    (void)ir_shape_elements(&of.shape, &count);
    void *data = base_alloc(s->scratch, (size_t)count + 1, 8);
    for (uint64_t i = 0; i < count; i++) {
        const int n = exponent_of(&of, i);
        const int64_t v = what == LESS_ONE     ? ((int64_t)1 << n) - 1
                          : what == REST       ? (int64_t)1 << (32 - n)
                          : what == COUNT_HIGH ? n - 32
                                               : n;
        base_store(type, data, i, (base_value){.i = v});
    }
    return speak_constant(s, type, of.shape.rank, of.shape.dim, data);
}

/* Are all elements powers of two below 2^32, or all from there on? */
static bool by_shifts(const speaker *s, uint32_t b, bool *high) {
    const ir_tensor *t = &s->g->tensors.at[b];
    uint64_t count = 0;
    bool low = true, upper = true;
    if (t->data == NULL || t->type != BASE_I64 || !ir_shape_elements(&t->shape, &count)) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        const int n = exponent_of(t, i);
        low = low && n >= 0 && n < 32;
        upper = upper && n >= 32;
    }
    *high = upper;
    return low || upper;
}

/* The low or the high 32 bits. */
static uint32_t half_of(speaker *s, uint32_t bits, int64_t count, const ir_shape *shape, int64_t which) {
    const int64_t begin[] = {0, which}, strides[] = {1, 1}, extents[] = {count, 1};
    return speak_reshape(s, speak_slice(s, bits, begin, strides, extents), shape->rank, shape->dim);
}

/* Rounded down. */
static uint32_t shifted(speaker *s, uint32_t a, uint32_t b, bool high) {
    if (a == IR_NONE) {
        return IR_NONE;
    }
    const ir_shape shape = *speak_shape(s, a);
    uint64_t count = 0;
    (void)ir_shape_elements(&shape, &count);
    const int64_t halves[] = {(int64_t)count, 2};
    const uint32_t bits = speak_reshape(s, speak_word(s, "bitcast", &a, 1, BASE_I32), 2, halves);
    const uint32_t upper = half_of(s, bits, halves[0], &shape, 1);
    if (high) {
        return speak_cast(s, speak_two(s, "right_shift", upper, of_exponents(s, b, BASE_I32, COUNT_HIGH)), BASE_I64);
    }
    const uint32_t lower = half_of(s, bits, halves[0], &shape, 0);
    const uint32_t part =
        speak_two(s, "right_shift", speak_word(s, "bitcast", &lower, 1, BASE_U32), of_exponents(s, b, BASE_U32, COUNT));
    const uint32_t whole = speak_two(s, "mul", speak_cast(s, upper, BASE_I64), of_exponents(s, b, BASE_I64, REST));
    return speak_two(s, "add", whole, speak_cast(s, part, BASE_I64));
}

uint32_t speak_quotient(speaker *s, uint32_t a, uint32_t b) {
    const speak_mark mark = speak_here(s);
    bool high = false;
    uint32_t t = speak_two(s, "div", a, b);
    if (t != IR_NONE || a == IR_NONE || b == IR_NONE || s->g->tensors.at[a].type != BASE_I64 ||
        !by_shifts(s, b, &high)) {
        return t;
    }
    const uint32_t zero = speak_number(s, BASE_I64, 0), less = speak_two(s, "less", a, zero);
    const uint32_t inputs[] = {less, of_exponents(s, b, BASE_I64, LESS_ONE), zero};
    t = shifted(s, speak_two(s, "add", a, speak_word(s, "select", inputs, 3, BASE_NONE)), b, high);
    if (t == IR_NONE) {
        speak_back(s, mark);
    }
    return t;
}

uint32_t speak_quotient_down(speaker *s, uint32_t a, uint32_t b, uint32_t remainder) {
    const uint32_t t = speak_two(s, "div", speak_two(s, "sub", a, remainder), b);
    bool high = false;
    if (t != IR_NONE || a == IR_NONE || b == IR_NONE || s->g->tensors.at[a].type != BASE_I64 ||
        !by_shifts(s, b, &high)) {
        return t;
    }
    return shifted(s, a, b, high);
}
