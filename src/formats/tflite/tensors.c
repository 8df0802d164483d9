/* tensors.c - the tensors of a sub-graph: type, shape, quantisation, and constants borrowed from the file.
 *
 * Takes untrusted tables. Gives ir_tensors whose constants have exactly the bytes that type and shape say, at any
 * alignment.
 */
#include "formats/tflite/reader.h"

#include <math.h>
#include <string.h>

/* A tensor and where it stands. */
typedef struct source {
    tflite_reader *r;
    const wire_path *path;
    wire_table table;
    ir_tensor *t;
    wire_table quant;   /* its quantisation; at 0: none */
    wire_table details; /* of it, and their kind */
    unsigned details_kind;
} source;

/* Kinds of details (the union QuantizationDetails). */
enum { DETAILS_CUSTOM = 1, DETAILS_BLOCKWISE = 2 };

/* What the file leaves open: -1 in the signature, or (in files of old converters) in the shape itself; a rank of 0 that
 * is not said to be one may be a rank that nobody knew. */
static void read_openness(source *s, const wire_vector *dims) {
    wire_fb *fb = &s->r->fb;
    uint32_t index = s->t->source;
    wire_vector signature = tflite_list(fb, s->path, &s->table, TFLITE_Tensor_shape_signature);
    for (uint32_t i = 0; i < IR_MAX_RANK && i < signature.n && signature.n == dims->n; i++) {
        s->r->open[index] |= (uint32_t)(wire_fb_i32_at(fb, &signature, i) < 0) << i;
    }
    s->r->unsettled[index] =
        s->r->open[index] || (!dims->n && !tflite_int(fb, s->path, &s->table, TFLITE_Tensor_has_rank));
}

/* An unfinished shape is a fault only if nothing resolves it: converters leave such intermediates behind. */
static bool read_shape(source *s) {
    wire_fb *fb = &s->r->fb;
    wire_vector dims = tflite_list(fb, s->path, &s->table, TFLITE_Tensor_shape);
    const bool is_complex = s->r->is_complex[s->t->source];
    if (dims.n + is_complex > IR_MAX_RANK) {
        tflite_unsupported(s->r, s->path, s->table.at,
                           base_printf(s->r->arena, "a tensor of rank %llu", (unsigned long long)dims.n),
                           base_printf(s->r->arena, "at most %u extents are read", IR_MAX_RANK));
        s->t->type = BASE_NONE;
        return false;
    }
    read_openness(s, &dims);
    ir_shape shape = {.rank = (uint32_t)dims.n};
    for (uint32_t i = 0; i < shape.rank; i++) {
        shape.dim[i] = wire_fb_i32_at(fb, &dims, i);
        if (shape.dim[i] < 0) {
            s->r->bad_shape[s->t->source] = dims.at + 4 * (uint64_t)i;
            s->r->open[s->t->source] |= (uint32_t)1 << i;
            s->r->unsettled[s->t->source] = true;
        }
    }
    if (is_complex) {
        shape.dim[shape.rank++] = 2;
    }
    if (s->r->bad_shape[s->t->source]) {
        s->t->shape = shape;
        return !wire_fb_failed(fb);
    }
    uint64_t elements;
    if (!ir_shape_elements(&shape, &elements)) {
        tflite_error(fb, s->path, &s->table, TFLITE_Tensor_shape, "%s are too many elements",
                     ir_shape_print(s->r->arena, &shape));
        return false;
    }
    s->t->shape = shape;
    return !wire_fb_failed(fb);
}

static bool read_type(source *s) {
    int64_t code = tflite_int(&s->r->fb, s->path, &s->table, TFLITE_Tensor_type);
    const char *name = tflite_type_name(code);
    s->t->type = tflite_type_base(code);
    if (!name) {
        tflite_error(&s->r->fb, s->path, &s->table, TFLITE_Tensor_type, "there is no tensor type %lld",
                     (long long)code);
    } else if (code == TFLITE_TYPE_COMPLEX64) {
        s->r->is_complex[s->t->source] = true;
        s->t->type = BASE_F32;
    } else if (!strcmp(name, "RESOURCE")) {
        s->r->is_resource[s->t->source] = true; /* what uses it has to know more */
    } else if (s->t->type == BASE_NONE) {
        tflite_unsupported(s->r, s->path, s->table.at, base_printf(s->r->arena, "tensor type %s", name),
                           "only numbers and bool have a place in C; leave that part of the model to the application");
    }
    return s->t->type != BASE_NONE;
}

static void read_details(source *s) {
    wire_path path = {.outer = s->path, .name = "quantization", .index = WIRE_NO_INDEX};
    s->quant = tflite_table(&s->r->fb, s->path, &s->table, TFLITE_Tensor_quantization);
    if (s->quant.at) {
        s->details = tflite_union(&s->r->fb, &path, &s->quant, TFLITE_QuantizationParameters_details, &s->details_kind);
    }
}

/* ---- constants ---- */

/* Within the buffer's table, or (in files above 2 GB) at an offset from the file's start. */
base_bytes tflite_read_buffer(tflite_reader *r, uint64_t index) {
    wire_fb *fb = &r->fb;
    wire_path path = {.name = "buffer", .index = (int64_t)index};
    wire_table buffer = wire_fb_table_at(fb, &path, &r->buffers, index);
    base_bytes data = tflite_bytes(fb, &path, &buffer, TFLITE_Buffer_data);
    uint64_t offset = (uint64_t)tflite_int(fb, &path, &buffer, TFLITE_Buffer_offset);
    uint64_t size = (uint64_t)tflite_int(fb, &path, &buffer, TFLITE_Buffer_size);
    if (data.size || offset <= 1) {
        return data;
    }
    if (offset > r->bytes.size || size > r->bytes.size - offset) {
        tflite_error(fb, &path, &buffer, TFLITE_Buffer_offset, "%llu bytes at %llu: the file has %llu",
                     (unsigned long long)size, (unsigned long long)offset, (unsigned long long)r->bytes.size);
        return (base_bytes){0};
    }
    return (base_bytes){r->bytes.at + offset, (size_t)size};
}

static void read_constant(source *s) {
    wire_fb *fb = &s->r->fb;
    int64_t index = tflite_int(fb, s->path, &s->table, TFLITE_Tensor_buffer);
    if (tflite_int(fb, s->path, &s->table, TFLITE_Tensor_external_buffer)) {
        tflite_unsupported(s->r, s->path, s->table.at, "a constant in another file",
                           "convert the model with its weights inside");
        return;
    }
    /* A file without buffers is as one whose buffer 0 is empty. */
    if (!index && !s->r->buffers.n) {
        return;
    }
    if ((uint64_t)index >= s->r->buffers.n) {
        tflite_error(fb, s->path, &s->table, TFLITE_Tensor_buffer, "it is %lld: the model has %llu buffers",
                     (long long)index, (unsigned long long)s->r->buffers.n);
        return;
    }
    base_bytes data = tflite_read_buffer(s->r, (uint64_t)index);
    uint64_t wanted;
    if (wire_fb_failed(fb) || !data.size) {
        return;
    }
    if (tflite_table(fb, s->path, &s->table, TFLITE_Tensor_sparsity).at) {
        s->t->data = tflite_read_sparse(s->r, s->path, &s->table, s->t, data);
        s->t->type = s->t->data ? s->t->type : BASE_NONE;
        return;
    }
    if (s->details_kind == DETAILS_CUSTOM) {
        base_bytes details = tflite_bytes(fb, s->path, &s->details, TFLITE_CustomQuantization_custom);
        s->t->data = tflite_read_packed(s->r, s->path, &s->table, s->t, details, data);
        return;
    }
    if (!ir_tensor_bytes(s->t, &wanted) || wanted != data.size) {
        tflite_error(fb, s->path, &s->table, TFLITE_Tensor_buffer, "buffer %lld has %zu bytes: %s %s has %llu",
                     (long long)index, data.size, base_type_name(s->t->type), ir_shape_print(s->r->arena, &s->t->shape),
                     (unsigned long long)wanted);
        return;
    }
    s->t->data = data.at;
}

/* ---- quantisation ---- */

bool tflite_in_range(base_type type, int64_t v) {
    int64_t lo;
    uint64_t hi;
    base_type_range(type, &lo, &hi);
    return v >= lo && (v < 0 || (uint64_t)v <= hi);
}

bool tflite_is_constant(const ir_tensor *t, int64_t v) {
    uint64_t n;
    bool all = t->data && base_type_is_int(t->type) && ir_shape_elements(&t->shape, &n);
    for (uint64_t i = 0; all && i < n; i++) {
        base_value e = base_load(t->type, t->data, i);
        all = base_type_is_signed(t->type) ? e.i == v : v >= 0 && e.u == (uint64_t)v;
    }
    return all;
}

static void read_scales(source *s, const wire_path *path, const wire_table *q, wire_vector scales, wire_vector zeros) {
    tflite_reader *r = s->r;
    float *scale = BASE_NEWS(r->arena, float, scales.n);
    int64_t *zero = BASE_NEWS(r->arena, int64_t, scales.n);
    for (uint64_t i = 0; i < scales.n; i++) {
        scale[i] = wire_fb_float_at(&r->fb, &scales, i);
        zero[i] = zeros.n ? wire_fb_i64_at(&r->fb, &zeros, zeros.n > 1 ? i : 0) : 0;
        if (!(scale[i] > 0) || isinf(scale[i])) {
            base_text number = {.arena = r->arena};
            base_put_float32(&number, scale[i]);
            /* Of zeros no scale says anything. */
            if (scales.n == 1 && tflite_is_constant(s->t, zero[i])) {
                base_place place = {.file = r->file, .byte = q->at, .has_byte = true};
                place.path = wire_path_print(r->arena, path);
                base_warn(r->d, &place, "the scale is %s, of a constant whose every element is zero: read as 1",
                          number.at);
                scale[i] = 1;
                continue;
            }
            tflite_error(&r->fb, path, q, TFLITE_QuantizationParameters_scale,
                         "[%llu] is %s: it must be finite and above 0", (unsigned long long)i, number.at);
            return;
        }
        if (!tflite_in_range(s->t->type, zero[i])) {
            tflite_error(&r->fb, path, q, TFLITE_QuantizationParameters_zero_point, "[%llu] is %lld: outside %s",
                         (unsigned long long)i, (long long)zero[i], base_type_name(s->t->type));
            return;
        }
    }
    s->t->quant = (ir_quant){.n = (uint32_t)scales.n, .scale = scale, .zero = zero};
}

/* For operators that give it another type (TYPED_AS_INPUTS). */
static void note_real(source *s, wire_vector scales, wire_vector zeros) {
    float *scale = BASE_NEW(s->r->arena, float);
    int64_t *zero = BASE_NEW(s->r->arena, int64_t);
    *scale = wire_fb_float_at(&s->r->fb, &scales, 0);
    *zero = zeros.n ? wire_fb_i64_at(&s->r->fb, &zeros, 0) : 0;
    if (*scale > 0 && !isinf(*scale)) {
        s->r->real_quant[s->t->source] = (ir_quant){.n = 1, .scale = scale, .zero = zero};
    }
}

static void read_axis(source *s, const wire_path *path, const wire_table *q) {
    int64_t axis = tflite_int(&s->r->fb, path, q, TFLITE_QuantizationParameters_quantized_dimension);
    /* Biases keep the axis of their weights in files of old converters; a vector has only one. */
    axis = s->t->shape.rank == 1 ? 0 : axis;
    if (axis < 0 || axis >= (int64_t)s->t->shape.rank) {
        tflite_error(&s->r->fb, path, q, TFLITE_QuantizationParameters_quantized_dimension,
                     "it is %lld: the rank is %lu", (long long)axis, (unsigned long)s->t->shape.rank);
    } else if (s->t->shape.dim[axis] != (int64_t)s->t->quant.n) {
        tflite_error(&s->r->fb, path, q, TFLITE_QuantizationParameters_scale,
                     "%lu scales along axis %lld of extent %lld", (unsigned long)s->t->quant.n, (long long)axis,
                     (long long)s->t->shape.dim[axis]);
    } else {
        s->t->quant.axis = (int32_t)axis;
    }
}

/* Scales, and zero points if any, are tensors of their own. */
static void read_blocks(source *s, const wire_path *outer, const wire_table *details) {
    tflite_reader *r = s->r;
    wire_path path = {.outer = outer, .name = "details", .index = WIRE_NO_INDEX};
    int64_t scales = tflite_int(&r->fb, &path, details, TFLITE_BlockwiseQuantization_scales);
    int64_t zeros = tflite_int(&r->fb, &path, details, TFLITE_BlockwiseQuantization_zero_points);
    int64_t size = tflite_int(&r->fb, &path, details, TFLITE_BlockwiseQuantization_block_size);
    int64_t count = (int64_t)r->tensor_count, own = (int64_t)s->t->source;
    if (scales < 0 || scales >= count || scales == own) {
        tflite_error(&r->fb, &path, details, TFLITE_BlockwiseQuantization_scales, "it is %lld: expected another tensor",
                     (long long)scales);
    } else if (zeros < -1 || zeros >= count || zeros == own) {
        tflite_error(&r->fb, &path, details, TFLITE_BlockwiseQuantization_zero_points,
                     "it is %lld: expected another tensor, or -1", (long long)zeros);
    } else if (size < 1) {
        tflite_error(&r->fb, &path, details, TFLITE_BlockwiseQuantization_block_size, "it is %lld", (long long)size);
    } else {
        r->blocks[own] = (tflite_blocks){size, (uint32_t)scales, zeros < 0 ? IR_NONE : (uint32_t)zeros};
    }
}

static void read_quantisation(source *s) {
    wire_fb *fb = &s->r->fb;
    const wire_table q = s->quant;
    wire_path path = {.outer = s->path, .name = "quantization", .index = WIRE_NO_INDEX};
    if (!q.at) {
        return;
    }
    if (s->details_kind == DETAILS_BLOCKWISE) {
        read_blocks(s, &path, &s->details);
        return;
    }
    if (s->details_kind == DETAILS_CUSTOM ? !s->t->data : s->details_kind) {
        tflite_unsupported(s->r, s->path, s->table.at, "quantisation along several axes, or of a custom kind",
                           "convert the model with scales for each tensor or channel");
        return;
    }
    wire_vector scales = tflite_list(fb, &path, &q, TFLITE_QuantizationParameters_scale);
    wire_vector zeros = tflite_list(fb, &path, &q, TFLITE_QuantizationParameters_zero_point);
    /* Float tensors keep the range that was seen in training, or scales that hardly anything reads. */
    if (s->t->type == BASE_F32 && scales.n == 1 && zeros.n <= 1) {
        note_real(s, scales, zeros);
    }
    if (!scales.n || !base_type_is_int(s->t->type)) {
        return;
    }
    if (zeros.n > 1 && zeros.n != scales.n) {
        tflite_error(fb, &path, &q, TFLITE_QuantizationParameters_zero_point, "%llu zero points for %llu scales",
                     (unsigned long long)zeros.n, (unsigned long long)scales.n);
        return;
    }
    read_scales(s, &path, &q, scales, zeros);
    if (s->t->quant.n > 1) {
        read_axis(s, &path, &q);
    }
}

/* ---- all of it ---- */

static void read_tensor(tflite_reader *r, const wire_path *path, const wire_table *table, base_bytes name) {
    ir_shape scalar = {0};
    const char *copy = name.at ? base_strndup(r->arena, (const char *)name.at, name.size) : "";
    uint32_t index = ir_tensor_add(r->m, r->g, copy, BASE_NONE, &scalar);
    source s = {.r = r, .path = path, .table = *table, .t = &r->g->tensors.at[index]};
    s.t->source = index;
    r->is_variable[index] = tflite_int(&r->fb, path, table, TFLITE_Tensor_is_variable) != 0;
    if (!read_type(&s) || !read_shape(&s)) {
        return;
    }
    read_details(&s);
    if (!r->bad_shape[index]) {
        read_constant(&s);
    }
    read_quantisation(&s);
}

void tflite_read_tensors(tflite_reader *r, const wire_path *outer, const wire_table *subgraph) {
    wire_vector tensors = tflite_list(&r->fb, outer, subgraph, TFLITE_SubGraph_tensors);
    r->bad_shape = BASE_NEWS(r->arena, uint64_t, tensors.n + 1);
    r->is_variable = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->is_complex = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->is_resource = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->handle = BASE_NEWS(r->arena, uint32_t, tensors.n + 1);
    memset(r->handle, 0xff, (tensors.n + 1) * sizeof *r->handle);
    r->tensor_count = tensors.n;
    r->open = BASE_NEWS(r->arena, uint32_t, tensors.n + 1);
    r->unsettled = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->changed = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->blocks = BASE_NEWS(r->arena, tflite_blocks, tensors.n + 1);
    r->real_quant = BASE_NEWS(r->arena, ir_quant, tensors.n + 1);
    r->derived = BASE_NEWS(r->arena, bool, tensors.n + 1);
    r->elements = BASE_NEWS(r->arena, ops_element *, tensors.n + 1);
    for (uint64_t i = 0; i < tensors.n && !wire_fb_failed(&r->fb); i++) {
        wire_path path = {.outer = outer, .name = "tensor", .index = (int64_t)i};
        wire_table table = wire_fb_table_at(&r->fb, &path, &tensors, i);
        base_bytes name = tflite_bytes(&r->fb, &path, &table, TFLITE_Tensor_name);
        path.note = (const char *)name.at;
        path.quoted = true;
        read_tensor(r, &path, &table, name);
    }
}
