/* sparse.c - sparse constants made dense: everything behind the reader sees whole tensors.
 *
 * Takes a tensor's SparsityParameters, untrusted, and the values that are stored. Gives the dense contents; what is not
 * stored is zero.
 *
 * Source: TensorFlow Lite's schema (SparsityParameters): the tensor's extents, divided by those of the blocks, and then
 * the extents inside a block are levels of a tree, each dense (an index for every place) or sparse (for each parent, the
 * places from segments[parent] to segments[parent + 1] of indices); the leaves, in order, are the values.
 * traversal_order says which extent a level is, block_map which extent a block's extent divides.
 */
#include "formats/tflite/reader.h"

#include <string.h>

#define MOST_DENSE ((uint64_t)64 << 20) /* bytes of all of a file's */

/* A vector of one of the three integer types. */
typedef struct integers {
    const uint8_t *at;
    uint64_t n;
    base_type type;
} integers;

typedef struct level {
    bool is_sparse;
    uint64_t size;   /* places are below it */
    uint64_t stride; /* elements of the dense tensor from one place to the next */
    integers segments, indices;
} level;

typedef struct sparse {
    tflite_reader *r;
    const wire_path *path;
    wire_table table;
    const ir_tensor *t;
    level levels[2 * IR_MAX_RANK];
    size_t rank, count;
    uint64_t block[IR_MAX_RANK], stride[IR_MAX_RANK]; /* of each extent of the tensor */
    size_t blocked[IR_MAX_RANK];                      /* the extent that block i divides */
    const uint8_t *values;
    uint64_t next; /* value */
    uint8_t *dense;
} sparse;

static int64_t at(const integers *list, uint64_t i) {
    base_value v = base_load(list->type, list->at, i);
    return list->type == BASE_I32 ? v.i : (int64_t)v.u;
}

static integers read_integers(sparse *s, const wire_path *path, const wire_table *meta, tflite_field f) {
    wire_fb *fb = &s->r->fb;
    unsigned type;
    wire_table table = tflite_union(fb, path, meta, f, &type);
    wire_path inner = {.outer = path, .name = tflite_field_name(f), .index = WIRE_NO_INDEX};
    static const struct {
        tflite_field values;
        base_type type;
    } of[] = {[1] = {TFLITE_Int32Vector_values, BASE_I32},
              [2] = {TFLITE_Uint16Vector_values, BASE_U16},
              [3] = {TFLITE_Uint8Vector_values, BASE_U8}};
    if (!table.at) {
        tflite_error(fb, path, meta, f, "a sparse extent needs it");
        return (integers){0};
    }
    wire_vector v = tflite_list(fb, &inner, &table, of[type].values);
    return (integers){fb->bytes.at + v.at, v.n, of[type].type};
}

/* Which extent each block divides; each at most one. */
static bool read_blocks(sparse *s, const wire_table *sparsity, const wire_path *path) {
    wire_fb *fb = &s->r->fb;
    wire_vector map = tflite_list(fb, path, sparsity, TFLITE_SparsityParameters_block_map);
    if (map.n > s->rank) {
        tflite_error(fb, path, sparsity, TFLITE_SparsityParameters_block_map, "%llu blocks: the rank is %zu",
                     (unsigned long long)map.n, s->rank);
        return false;
    }
    bool seen[IR_MAX_RANK] = {false};
    for (uint64_t i = 0; i < map.n; i++) {
        int32_t dim = wire_fb_i32_at(fb, &map, i);
        if (dim < 0 || (size_t)dim >= s->rank || seen[dim]) {
            tflite_error(fb, path, sparsity, TFLITE_SparsityParameters_block_map,
                         "[%llu] is %ld: expected extents below %zu, each once", (unsigned long long)i, (long)dim,
                         s->rank);
            return false;
        }
        seen[dim] = true;
        s->blocked[i] = (size_t)dim;
    }
    s->count = s->rank + (size_t)map.n;
    return true;
}

/* order[i]: the extent of level i; those from rank on are blocks. Levels of blocks come last. */
static bool read_order(sparse *s, const wire_table *sparsity, const wire_path *path, size_t order[2 * IR_MAX_RANK]) {
    wire_fb *fb = &s->r->fb;
    wire_vector list = tflite_list(fb, path, sparsity, TFLITE_SparsityParameters_traversal_order);
    if (list.n != s->count) {
        tflite_error(fb, path, sparsity, TFLITE_SparsityParameters_traversal_order, "%llu extents: expected %zu",
                     (unsigned long long)list.n, s->count);
        return false;
    }
    bool seen[2 * IR_MAX_RANK] = {false};
    for (size_t i = 0; i < s->count; i++) {
        int32_t dim = wire_fb_i32_at(fb, &list, i);
        if (dim < 0 || (size_t)dim >= s->count || seen[dim] || ((size_t)dim < s->rank) != (i < s->rank)) {
            tflite_error(fb, path, sparsity, TFLITE_SparsityParameters_traversal_order,
                         "[%zu] is %ld: expected the extents, then those of blocks, each once", i, (long)dim);
            return false;
        }
        seen[dim] = true;
        order[i] = (size_t)dim;
    }
    return true;
}

static bool check_sparse(sparse *s, const wire_path *path, const wire_table *meta, const level *l, uint64_t parents) {
    wire_fb *fb = &s->r->fb;
    bool rises = parents < UINT64_MAX && l->segments.n == parents + 1 && at(&l->segments, 0) == 0 &&
                 at(&l->segments, parents) == (int64_t)l->indices.n;
    for (uint64_t i = 0; rises && i < parents; i++) {
        rises = at(&l->segments, i) <= at(&l->segments, i + 1);
    }
    if (!rises) {
        tflite_error(fb, path, meta, TFLITE_DimensionMetadata_array_segments,
                     "they must rise from 0 to the %llu indices, one for each of %llu parents and the end",
                     (unsigned long long)l->indices.n, (unsigned long long)parents);
        return false;
    }
    for (uint64_t i = 0; i < l->indices.n; i++) {
        if (at(&l->indices, i) < 0 || (uint64_t)at(&l->indices, i) >= l->size) {
            tflite_error(fb, path, meta, TFLITE_DimensionMetadata_array_indices, "[%llu] is %lld: the extent is %llu",
                         (unsigned long long)i, (long long)at(&l->indices, i), (unsigned long long)l->size);
            return false;
        }
    }
    return true;
}

/* A level with this many places before it; *parents becomes the number after it. */
static bool read_level(sparse *s, const wire_path *path, const wire_table *meta, level *l, uint64_t *parents) {
    wire_fb *fb = &s->r->fb;
    enum { DENSE, CSR };
    int64_t format = tflite_int(fb, path, meta, TFLITE_DimensionMetadata_format);
    int64_t size = tflite_int(fb, path, meta, TFLITE_DimensionMetadata_dense_size);
    if (format != DENSE && format != CSR) {
        tflite_error(fb, path, meta, TFLITE_DimensionMetadata_format, "there is no format %lld", (long long)format);
        return false;
    }
    l->is_sparse = format == CSR;
    if (l->is_sparse) {
        l->segments = read_integers(s, path, meta, TFLITE_DimensionMetadata_array_segments);
        l->indices = read_integers(s, path, meta, TFLITE_DimensionMetadata_array_indices);
        if (wire_fb_failed(fb) || !check_sparse(s, path, meta, l, *parents)) {
            return false;
        }
        *parents = l->indices.n;
        return true;
    }
    if (size < 0 || (uint64_t)size != l->size) {
        tflite_error(fb, path, meta, TFLITE_DimensionMetadata_dense_size, "it is %lld: expected %llu", (long long)size,
                     (unsigned long long)l->size);
        return false;
    }
    if (l->size && *parents > UINT64_MAX / l->size) {
        tflite_error(fb, path, meta, TFLITE_DimensionMetadata_dense_size, "the levels have too many places");
        return false;
    }
    *parents *= l->size;
    return true;
}

/* The blocks' extents are those of their levels, which are dense. */
static bool read_block_sizes(sparse *s, const wire_path *path, const wire_vector *metas, const size_t *order) {
    wire_fb *fb = &s->r->fb;
    for (size_t i = s->rank; i < s->count; i++) {
        wire_path inner = {.outer = path, .name = "dim_metadata", .index = (int64_t)i};
        wire_table meta = wire_fb_table_at(fb, &inner, metas, i);
        int64_t size = tflite_int(fb, &inner, &meta, TFLITE_DimensionMetadata_dense_size);
        size_t dim = s->blocked[order[i] - s->rank];
        if (tflite_int(fb, &inner, &meta, TFLITE_DimensionMetadata_format) != 0 || size < 1 ||
            s->t->shape.dim[dim] % size) {
            tflite_error(fb, &inner, &meta, TFLITE_DimensionMetadata_dense_size,
                         "it is %lld: a block is dense, and divides its extent of %lld", (long long)size,
                         (long long)s->t->shape.dim[dim]);
            return false;
        }
        s->block[dim] = (uint64_t)size;
    }
    return !wire_fb_failed(fb);
}

static bool read_levels(sparse *s, uint64_t *leaves) {
    wire_fb *fb = &s->r->fb;
    wire_path path = {.outer = s->path, .name = "sparsity", .index = WIRE_NO_INDEX};
    wire_table sparsity = tflite_table(fb, s->path, &s->table, TFLITE_Tensor_sparsity);
    size_t order[2 * IR_MAX_RANK];
    if (!read_blocks(s, &sparsity, &path) || !read_order(s, &sparsity, &path, order)) {
        return false;
    }
    wire_vector metas = tflite_list(fb, &path, &sparsity, TFLITE_SparsityParameters_dim_metadata);
    if (metas.n != s->count) {
        tflite_error(fb, &path, &sparsity, TFLITE_SparsityParameters_dim_metadata, "%llu levels: expected %zu",
                     (unsigned long long)metas.n, s->count);
        return false;
    }
    if (!read_block_sizes(s, &path, &metas, order)) {
        return false;
    }
    *leaves = 1;
    for (size_t i = 0; i < s->count; i++) {
        wire_path inner = {.outer = &path, .name = "dim_metadata", .index = (int64_t)i};
        wire_table meta = wire_fb_table_at(fb, &inner, &metas, i);
        bool outer = i < s->rank;
        size_t dim = outer ? order[i] : s->blocked[order[i] - s->rank];
        level *l = &s->levels[i];
        l->size = outer ? (uint64_t)s->t->shape.dim[dim] / s->block[dim] : s->block[dim];
        l->stride = outer ? s->stride[dim] * s->block[dim] : s->stride[dim];
        if (!read_level(s, &inner, &meta, l, leaves)) {
            return false;
        }
    }
    return !wire_fb_failed(fb);
}

static void put_value(sparse *s, uint64_t element) {
    uint64_t width;
    base_type_bytes(s->t->type, 1, &width);
    if (base_type_bits(s->t->type) < 8) {
        base_store(s->t->type, s->dense, element, base_load(s->t->type, s->values, s->next));
    } else {
        memcpy(s->dense + element * width, s->values + s->next * width, (size_t)width);
    }
    s->next++;
}

/* Each place of each level is gone to once, and as many leaves as there are values: that was checked. */
static void put_level(sparse *s, size_t i, uint64_t parent, uint64_t element) {
    if (i == s->count) {
        put_value(s, element);
        return;
    }
    const level *l = &s->levels[i];
    if (!l->is_sparse) {
        for (uint64_t k = 0; k < l->size; k++) {
            put_level(s, i + 1, parent * l->size + k, element + k * l->stride);
        }
        return;
    }
    uint64_t end = (uint64_t)at(&l->segments, parent + 1);
    for (uint64_t k = (uint64_t)at(&l->segments, parent); k < end; k++) {
        put_level(s, i + 1, k, element + (uint64_t)at(&l->indices, k) * l->stride);
    }
}

const void *tflite_read_sparse(tflite_reader *r, const wire_path *tensor_path, const wire_table *tensor,
                               const ir_tensor *t, base_bytes values) {
    sparse *s = BASE_NEW(r->arena, sparse);
    uint64_t bytes, stored, leaves, elements = 1;
    *s = (sparse){.r = r, .path = tensor_path, .table = *tensor, .t = t, .rank = t->shape.rank, .values = values.at};
    for (size_t i = s->rank; i-- > 0;) {
        s->stride[i] = elements;
        s->block[i] = 1;
        elements *= (uint64_t)t->shape.dim[i];
    }
    if (!ir_tensor_bytes(t, &bytes) || bytes > MOST_DENSE - r->dense) {
        tflite_unsupported(r, tensor_path, tensor->at, "sparse tensors of more than 64 MiB when they are dense",
                           "convert the model with dense weights");
        return NULL;
    }
    if (!read_levels(s, &leaves)) {
        return NULL;
    }
    if (!base_type_bytes(t->type, leaves, &stored) || stored != values.size) {
        tflite_error(&r->fb, tensor_path, tensor, TFLITE_Tensor_buffer,
                     "the sparse tensor has %llu values; %zu bytes are stored", (unsigned long long)leaves,
                     values.size);
        return NULL;
    }
    r->dense += bytes;
    s->dense = base_alloc(r->arena, (size_t)bytes + 1, 1);
    if (leaves) {
        put_level(s, 0, 0, 0);
    }
    return s->dense;
}
