/* sparse.c - SparseTensorProto: constants of which the file holds the elements that are not zero.
 *
 * Takes untrusted messages. Gives dense contents in the arena; what all of a file's need together is bounded.
 */
#include "formats/onnx/reader.h"

#define MOST_DENSE ((uint64_t)64 << 20) /* bytes */

typedef struct parts {
    ir_tensor values, indices;
    bool has_values, has_indices;
    ir_shape shape;
    size_t dims;
} parts;

static bool read_parts(onnx_reader *r, const wire_path *path, wire_message m, parts *p) {
    const size_t notes = formats_notes_count(r->notes);
    wire_pb_field f;
    while (wire_pb_next(&r->pb, path, &m, &f)) {
        wire_path place = {.outer = path, .name = "values", .index = WIRE_NO_INDEX};
        uint64_t k = 0, v;
        if (f.number == ONNX_SPARSE_VALUES) {
            p->has_values = onnx_read_tensor(r, &place, wire_pb_message(&r->pb, &place, &f), &p->values);
        } else if (f.number == ONNX_SPARSE_INDICES) {
            place.name = "indices";
            p->has_indices = onnx_read_tensor(r, &place, wire_pb_message(&r->pb, &place, &f), &p->indices);
        }
        while (f.number == ONNX_SPARSE_DIMS && wire_pb_varint_in(&r->pb, path, &f, &k, &v)) {
            if ((int64_t)v < 0) {
                wire_pb_error(&r->pb, path, f.at, "dims[%zu] is %lld", p->dims, (long long)v);
            } else if (p->dims < IR_MAX_RANK) {
                p->shape.dim[p->dims] = (int64_t)v;
            }
            p->dims++;
        }
    }
    p->shape.rank = (uint32_t)(p->dims < IR_MAX_RANK ? p->dims : IR_MAX_RANK);
    return !wire_pb_failed(&r->pb) && formats_notes_count(r->notes) == notes;
}

/* Where element i stands; -1: outside. */
static int64_t place_of(const parts *p, uint64_t elements, uint64_t i) {
    int64_t at = 0;
    if (p->indices.shape.rank == 1) {
        at = base_load(BASE_I64, p->indices.data, i).i;
        return at >= 0 && (uint64_t)at < elements ? at : -1;
    }
    for (uint32_t k = 0; k < p->shape.rank; k++) {
        const int64_t v = base_load(BASE_I64, p->indices.data, i * p->shape.rank + k).i;
        if (v < 0 || v >= p->shape.dim[k]) {
            return -1;
        }
        at = at * p->shape.dim[k] + v;
    }
    return at;
}

bool onnx_read_sparse(onnx_reader *r, const wire_path *path, wire_message m, ir_tensor *t) {
    const uint64_t byte = m.at;
    parts p = {0};
    uint64_t elements, bytes;
    if (!read_parts(r, path, m, &p)) {
        return false;
    }
    const ir_shape *list = &p.indices.shape;
    *t = (ir_tensor){.name = p.values.name ? p.values.name : "", .type = p.values.type, .shape = p.shape};
    t->state = t->source = IR_NONE;
    if (p.dims > IR_MAX_RANK) {
        wire_pb_error(&r->pb, path, byte, "it has %zu dims: a tensor may have %u", p.dims, IR_MAX_RANK);
    } else if (!p.has_values || !p.has_indices || p.values.shape.rank != 1 || p.indices.type != BASE_I64 ||
               (list->rank != 1 && list->rank != 2) || list->dim[0] != p.values.shape.dim[0] ||
               (list->rank == 2 && list->dim[1] != (int64_t)p.dims)) {
        wire_pb_error(&r->pb, path, byte,
                      "expected a list of values, and for each an i64 index, or one for each of %zu extents", p.dims);
    } else if (!ir_shape_elements(&t->shape, &elements) || !ir_tensor_bytes(t, &bytes)) {
        wire_pb_error(&r->pb, path, byte, "%s are too many elements", ir_shape_print(r->arena, &t->shape));
    } else if (bytes > MOST_DENSE - r->dense) {
        formats_note(r->notes, path, byte, "sparse constants of more than 64 MiB when they are dense",
                     "store them dense");
    } else {
        uint8_t *data = base_alloc(r->arena, (size_t)bytes + 1, 1);
        r->dense += bytes;
        t->data = data;
        for (int64_t i = 0; i < p.values.shape.dim[0]; i++) {
            const int64_t at = place_of(&p, elements, (uint64_t)i);
            if (at < 0) {
                wire_pb_error(&r->pb, path, byte, "index %lld is outside of %s", (long long)i,
                              ir_shape_print(r->arena, &t->shape));
                return false;
            }
            base_store(t->type, data, (uint64_t)at, base_load(t->type, p.values.data, (uint64_t)i));
        }
        return true;
    }
    return false;
}
