/* packed.c - constants of less than 8 bits in the packing of Infineon's tools for TensorFlow Lite Micro (also of TUM's
 * MLonMCU), which mark it as quantisation of a custom kind: made whole, as everything behind the reader sees them.
 *
 * Takes the tensor's details and the bytes that are stored, untrusted. Gives an element a byte.
 *
 * Source: the packers' and the kernels' public sources. The details are 12 bytes: the number 0xa4592d92, little endian;
 * the bits of an element, the bits of a container, the number of innermost extents that are packed without a gap, and how
 * sparse values are coded (0: none are); four bytes of 0. Containers are little endian and filled from their lowest bit;
 * an element is never split, and each run of the packed extents begins a new container. Elements are unsigned.
 */
#include "formats/tflite/reader.h"

#include <string.h>

#define PACKED_MAGIC 0xa4592d92u
enum { PACKED_DETAILS = 12 };

typedef struct packing {
    uint64_t bits, container, extents; /* container in bytes */
} packing;

/* The three forms that the kernels have. */
static bool is_form(const packing *p) {
    static const packing forms[] = {
        {.bits = 4, .container = 1}, {.bits = 5, .container = 2}, {.bits = 6, .container = 4}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (p->bits == forms[i].bits && p->container == forms[i].container) {
            return true;
        }
    }
    return false;
}

static bool read_details(base_bytes details, packing *p) {
    static const uint8_t none[4];
    if (details.size != PACKED_DETAILS || base_load(BASE_U32, details.at, 0).u != PACKED_MAGIC ||
        memcmp(details.at + 8, none, sizeof none) || details.at[7]) {
        return false;
    }
    *p = (packing){.bits = details.at[4], .container = details.at[5] / 8u, .extents = details.at[6]};
    return details.at[5] % 8 == 0 && is_form(p);
}

static void unpack_run(const packing *p, const uint8_t *from, uint64_t n, uint8_t *to) {
    const uint64_t each = 8 * p->container / p->bits;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t container = 0;
        for (uint64_t k = 0; k < p->container; k++) {
            container |= (uint32_t)from[i / each * p->container + k] << 8 * k;
        }
        to[i] = (uint8_t)(container >> i % each * p->bits & ((1u << p->bits) - 1));
    }
}

const void *tflite_read_packed(tflite_reader *r, const wire_path *path, const wire_table *tensor, const ir_tensor *t,
                               base_bytes details, base_bytes stored) {
    packing p;
    uint64_t elements, run = 1;
    if (t->type != BASE_U8 || !read_details(details, &p) || p.extents > t->shape.rank) {
        tflite_unsupported(r, path, tensor->at,
                           "quantisation of a custom kind, but for unsigned weights of 4, 5 and 6 bits,",
                           "convert the model with scales for each tensor or channel");
        return NULL;
    }
    const bool some = ir_shape_elements(&t->shape, &elements) && elements;
    for (uint64_t i = t->shape.rank - p.extents; some && i < t->shape.rank; i++) {
        run *= (uint64_t)t->shape.dim[i];
    }
    const uint64_t each = 8 * p.container / p.bits, bytes = (run + each - 1) / each * p.container;
    const uint64_t runs = some ? elements / run : 0;
    if (runs > stored.size / bytes || runs * bytes != stored.size) {
        tflite_error(&r->fb, path, tensor, TFLITE_Tensor_buffer,
                     "the packed tensor has %zu bytes: %llu runs of %llu elements of %llu bits take %llu bytes each",
                     stored.size, (unsigned long long)runs, (unsigned long long)run, (unsigned long long)p.bits,
                     (unsigned long long)bytes);
        return NULL;
    }
    uint8_t *whole = base_alloc(r->arena, (size_t)elements + 1, 1);
    for (uint64_t i = 0; i < runs; i++) {
        unpack_run(&p, stored.at + i * bytes, run, whole + i * run);
    }
    return whole;
}
