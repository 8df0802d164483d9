/* views.c - stages that only move bytes: pieces of their output that are, element by element, pieces of other tensors.
 *
 * Takes a stage. Gives its output as a list of pieces, each a run of consecutive elements, in row-major order, of one
 * tensor. Found by affine forms alone; knows no operator. Looks at a bounded number of pieces.
 */
#include "lang/analysis.h"

/* Where the condition holds for v from low on and below *at, and not from there on; v is the outermost variable of the
 * output whose extent is not 1. */
static bool holds_up_to(const lang_program *p, lang_ref condition, uint32_t v, int64_t low, int64_t *at) {
    const lang_node *n = lang_at(p, condition);
    lang_affine left, right;
    if (n->kind != LANG_WORD_ || (n->code != LANG_LT && n->code != LANG_LE && n->code != LANG_EQ) ||
        !base_type_is_int((base_type)lang_at(p, lang_operand(p, condition, 0))->type) ||
        !lang_affine_of(p, lang_operand(p, condition, 0), &left) ||
        !lang_affine_of(p, lang_operand(p, condition, 1), &right)) {
        return false;
    }
    if (n->code == LANG_EQ && left.vars == 0) {
        lang_affine swapped = left;
        left = right;
        right = swapped;
    }
    if (left.vars != UINT64_C(1) << v || left.coefficient[v] != 1 || right.vars != 0 ||
        __builtin_sub_overflow(right.constant, left.constant, at)) {
        return false;
    }
    bool is_low = *at == low;
    return (n->code == LANG_LT || !__builtin_add_overflow(*at, 1, at)) && (n->code != LANG_EQ || is_low);
}

static int64_t elements_of(const lang_tensor *t) {
    int64_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->extent[k] != 0) {
            return -1;
        }
        n *= t->dim[k];
    }
    return n;
}

/* The read, where the outermost variable v is from low to high. */
static bool piece_of(const lang_program *p, const lang_stage *s, lang_ref read, uint32_t v, int64_t low, int64_t high,
                     int64_t outer_stride, lang_piece *out) {
    const lang_node *n = lang_at(p, read);
    const lang_tensor *to = &p->tensors.at[s->tensor];
    lang_affine a;
    if (n->kind != LANG_READ || n->has_fill || !lang_affine_read(p, read, &a)) {
        return false;
    }
    const lang_tensor *from = &p->tensors.at[n->index];
    int64_t stride = 1, there = elements_of(from), skipped = 0;
    for (uint32_t k = s->rank; k-- > 0;) {
        bool moves = to->dim[k] != 1 && (k != v || high - low > 1);
        if (moves && a.coefficient[k] != stride) {
            return false;
        }
        stride *= to->dim[k];
    }
    for (uint32_t k = s->rank; k < LANG_MAX_VARS; k++) {
        if (a.coefficient[k] != 0) {
            return false;
        }
    }
    out->tensor = n->index;
    out->to = low * outer_stride;
    out->count = (high - low) * outer_stride;
    if (v < s->rank && __builtin_mul_overflow(a.coefficient[v], low, &skipped)) {
        return false;
    }
    return from->type == to->type && !__builtin_add_overflow(a.constant, skipped, &out->from) && out->from >= 0 &&
           out->count <= there && out->from <= there - out->count;
}

bool lang_pieces(const lang_program *p, const lang_stage *s, lang_piece *out, size_t *n) {
    const lang_tensor *to = &p->tensors.at[s->tensor];
    size_t room = *n;
    uint32_t v = 0;
    int64_t elements = elements_of(to);
    *n = 0;
    if (s->rec >= 0 || elements <= 0) {
        return false;
    }
    while (v < to->rank && to->dim[v] == 1) {
        v++;
    }
    int64_t low = 0, extent = v < to->rank ? to->dim[v] : 1, outer_stride = elements / extent;
    lang_ref body = s->body;
    while (low < extent) {
        const lang_node *b = lang_at(p, body);
        int64_t at = extent;
        lang_ref here = body;
        if (b->kind == LANG_WORD_ && b->code == LANG_IF && v < to->rank) {
            if (!holds_up_to(p, lang_operand(p, body, 0), v, low, &at)) {
                return false;
            }
            here = lang_operand(p, body, 1);
            body = lang_operand(p, body, 2);
            at = at > extent ? extent : at;
        }
        if (at <= low) {
            continue; /* what is chosen nowhere */
        }
        if (*n == room || !piece_of(p, s, here, v, low, at, outer_stride, &out[*n])) {
            return false;
        }
        ++*n;
        low = at;
    }
    return true;
}

bool lang_is_copy(const lang_program *p, uint32_t *input) {
    lang_piece piece;
    size_t n = 1;
    if (p->external != NULL || p->stages.n != 1 || p->outputs.n != 1 || p->outputs.at[0] != p->stages.at[0].tensor ||
        !lang_pieces(p, &p->stages.at[0], &piece, &n)) {
        return false;
    }
    const lang_tensor *from = &p->tensors.at[piece.tensor];
    *input = from->input;
    return n == 1 && from->kind == LANG_INPUT && from->data == NULL && piece.from == 0 &&
           piece.count == elements_of(from);
}
