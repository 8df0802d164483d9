/* emit_vector.c - the inner loops of integer tiles on machines with vectors, as helpers of the module.
 *
 * Takes tile sizes. Gives helper functions that use AVX-512 or AVX2 intrinsics where the compiler has them switched on,
 * and plain C loops over the same data otherwise: the same bits either way. Products of 16-bit values are summed in
 * pairs, which is exact.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

/* The body for vectors of `lanes` 32-bit values. */
static void put_dot(base_text *t, uint32_t mr, uint32_t nr, uint32_t lanes) {
    const char *v = lanes == 16 ? "_mm512" : "_mm256", *type = lanes == 16 ? "__m512i" : "__m256i",
               *s = lanes == 16 ? "si512" : "si256";
    const char *half = lanes == 16 ? "_mm256_loadu_si256((const __m256i *)(const void *)"
                                   : "_mm_loadu_si128((const __m128i *)(const void *)";
    uint32_t vectors = nr / lanes;
    for (uint32_t i = 0; i < mr; i++) {
        for (uint32_t k = 0; k < vectors; k++) {
            base_put(t, "    %s c%" PRIu32 "_%" PRIu32 " = %s_loadu_%s((const %s *)(const void *)(c + %" PRIu32 "));\n",
                     type, i, k, v, s, type, i * nr + k * lanes);
        }
    }
    base_puts(t, "    for (int32_t k = 0; k < pairs; k++) {\n");
    for (uint32_t k = 0; k < vectors; k++) {
        base_put(t, "        const %s b%" PRIu32 " = %s_cvtepi8_epi16(%s(w + %" PRIu32 ")));\n", type, k, v, half,
                 2 * k * lanes);
    }
    for (uint32_t i = 0; i < mr; i++) {
        base_put(t, "        {\n            int32_t s;\n            memcpy(&s, q + %" PRIu32 " * stride, 4);\n", i);
        base_put(t, "            const %s a = %s_set1_epi32(s);\n", type, v);
        for (uint32_t k = 0; k < vectors; k++) {
            base_put(t,
                     "            c%" PRIu32 "_%" PRIu32 " = %s_add_epi32(c%" PRIu32 "_%" PRIu32
                     ", %s_madd_epi16(a, b%" PRIu32 "));\n",
                     i, k, v, i, k, v, k);
        }
        base_puts(t, "        }\n");
    }
    base_put(t, "        q += 2;\n        w += %" PRIu32 ";\n    }\n", 2 * nr);
    for (uint32_t i = 0; i < mr; i++) {
        for (uint32_t k = 0; k < vectors; k++) {
            base_put(t, "    %s_storeu_%s((%s *)(void *)(c + %" PRIu32 "), c%" PRIu32 "_%" PRIu32 ");\n", v, s, type,
                     i * nr + k * lanes, i, k);
        }
    }
}

const char *c_helper_dot(c_unit *u, uint32_t mr, uint32_t nr) {
    const char *name = base_printf(u->arena, "dot_%" PRIu32 "x%" PRIu32, mr, nr);
    base_text t = {.arena = u->arena};
    base_put(&t,
             "/* c[i][j] += sum over k of q[i][k] * w[k][j], for %" PRIu32
             " rows q (stride elements apart) and %" PRIu32
             " columns; w in pairs of k */\nstatic inline void $_%s(const int16_t *q, int32_t stride, const int8_t *w, "
             "int32_t pairs, int32_t *c) {\n",
             mr, nr, name);
    if (nr % 16 == 0) {
        base_puts(&t, "#if defined(__AVX512BW__)\n");
        put_dot(&t, mr, nr, 16);
        base_puts(&t, "#elif defined(__AVX2__)\n");
        put_dot(&t, mr, nr, 8);
        base_puts(&t, "#else\n");
    } else if (nr % 8 == 0) {
        base_puts(&t, "#if defined(__AVX2__)\n");
        put_dot(&t, mr, nr, 8);
        base_puts(&t, "#else\n");
    }
    base_put(&t,
             "    for (int32_t k = 0; k < pairs; k++) {\n        for (int32_t i = 0; i < %" PRIu32 "; i++) {\n"
             "            const int32_t a = q[i * stride + 2 * k], b = q[i * stride + 2 * k + 1];\n"
             "            for (int32_t j = 0; j < %" PRIu32 "; j++) {\n"
             "                c[i * %" PRIu32
             " + j] += a * w[2 * j] + b * w[2 * j + 1];\n            }\n        }\n        w += %" PRIu32 ";\n    }\n",
             mr, nr, nr, 2 * nr);
    base_puts(&t, nr % 8 == 0 ? "#endif\n}\n" : "}\n");
    return c_helper_made(u->m->helpers, name, t.at);
}

/* c[j] += (x[j] + addend) * w[j] for nr channels */
const char *c_helper_mac(c_unit *u, uint32_t nr) {
    const char *name = base_printf(u->arena, "mac_%" PRIu32, nr);
    base_text t = {.arena = u->arena};
    base_put(&t,
             "/* c[j] += (x[j] + addend) * w[j] for %" PRIu32
             " channels */\nstatic inline void $_%s(const int8_t *x, int32_t addend, const int8_t *w, int32_t *c) {\n",
             nr, name);
    if (nr % 8 == 0) {
        base_puts(&t, "#if defined(__AVX2__)\n    const __m256i z = _mm256_set1_epi32(addend);\n");
        for (uint32_t k = 0; k < nr; k += 8) {
            base_put(&t,
                     "    {\n        __m256i *to = (__m256i *)(void *)(c + %" PRIu32 ");\n"
                     "        const __m256i a = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(x "
                     "+ %" PRIu32 ")));\n"
                     "        const __m256i b = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(w "
                     "+ %" PRIu32 ")));\n"
                     "        _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), "
                     "_mm256_mullo_epi32(_mm256_add_epi32(a, z), b)));\n    }\n",
                     k, k, k);
        }
        base_puts(&t, "#else\n");
    }
    base_put(&t, "    for (int32_t j = 0; j < %" PRIu32 "; j++) {\n        c[j] += (x[j] + addend) * w[j];\n    }\n",
             nr);
    base_puts(&t, nr % 8 == 0 ? "#endif\n}\n" : "}\n");
    return c_helper_made(u->m->helpers, name, t.at);
}
