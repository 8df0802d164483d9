/* speak_recurrence.c - recurrences as loops: a graph computes one round.
 *
 * Takes the stages of a recurrence, which read each other of the same round or the one before. Gives a `while` that counts rounds: it
 * carries what is read of the round before, puts what is read behind the recurrence slice by slice into a tensor of all rounds, and sees
 * other tensors as they are. A recurrence of one round is no loop.
 */
#include <string.h>

#include "passes/speak.h"

static uint32_t recurrent_axis(const speaker *s, uint32_t tensor) {
    const lang_tensor *t = &s->p->tensors.at[tensor];
    if (s->loop == NULL || t->kind != LANG_STAGE || s->p->stages.at[t->stage].rec != s->loop->group) {
        return IR_NONE;
    }
    return s->p->stages.at[t->stage].rec_var;
}

static bool is_inline(const speaker *s) {
    return s->loop->rounds == 1;
}

/* The program's tensor without the axis along which the rounds stand, as an input of this graph. */
static uint32_t add_input(speaker *s, uint32_t tensor, uint32_t axis) {
    const lang_tensor *t = &s->p->tensors.at[tensor];
    ir_shape shape = {0};
    for (uint32_t k = 0; k < t->rank; k++) {
        if (k != axis) {
            shape.dim[shape.rank++] = t->dim[k];
        }
    }
    return ir_tensor_add(s->m, s->g, "", t->type, &shape);
}

/* A tensor of the graph around: a constant is one here, too. */
static void see(speaker *s, uint32_t tensor) {
    speak_loop *l = s->loop;
    const uint32_t around = l->outside[tensor];
    if (around == IR_NONE || l->seen[tensor] != IR_NONE) {
        return;
    }
    const ir_tensor t = s->m->graphs.at[l->around].tensors.at[around];
    const uint32_t own = ir_tensor_add(s->m, s->g, t.name, t.type, &t.shape);
    s->g->tensors.at[own].data = t.data;
    if (t.data == NULL) {
        *BASE_PUSH(s->scratch, &l->in) = own;
        *BASE_PUSH(s->scratch, &l->from) = around;
    }
    l->seen[tensor] = own;
}

bool speak_source_of(speaker *s, lang_ref read, speak_source *out) {
    const lang_node *n = lang_at(s->p, read);
    lang_digits form;
    *out = (speak_source){.tensor = IR_NONE, .round_axis = IR_NONE};
    if (s->instead_of == read) {
        out->tensor = s->instead;
        return true;
    }
    const uint32_t axis = recurrent_axis(s, n->index);
    if (axis == IR_NONE) {
        out->tensor = s->loop == NULL || is_inline(s) ? s->tensor[n->index] : s->loop->seen[n->index];
        return out->tensor != IR_NONE;
    }
    if (n->flat || !lang_digits_of(s->p, lang_operand(s->p, read, axis), &form) || form.n > 1 ||
        (form.n == 0 && !is_inline(s)) || form.constant > 0 || form.constant < -1) {
        return false;
    }
    if (form.n == 1) {
        const lang_term *t = &form.term[0];
        if (t->factor != 1 || t->digit.var != s->loop->var || t->digit.low != 1 || t->digit.extent != s->loop->rounds) {
            return false;
        }
    }
    out->round_axis = axis;
    out->before = form.constant == -1;
    out->tensor = out->before ? s->loop->before[n->index] : s->loop->now[n->index];
    s->loop->carries[n->index] = s->loop->carries[n->index] || out->before;
    return out->tensor != IR_NONE || (out->before && is_inline(s));
}

/* ---- the loop ---- */

typedef struct recurrence {
    speaker *s;
    size_t first, n;  /* stages */
    uint32_t *member; /* the tensor of each */
    bool *kept;       /* of each: something behind the recurrence reads it */
    BASE_VEC(uint32_t) arguments, in, out;
} recurrence;

static bool is_kept(const speaker *s, size_t first, size_t n, uint32_t tensor) {
    bool is = false;
    for (size_t i = 0; i < s->p->outputs.n; i++) {
        is = is || s->p->outputs.at[i] == tensor;
    }
    for (size_t i = first + n; i < s->p->stages.n; i++) {
        is = is || lang_reads_of(s->p, &s->p->stages.at[i], tensor) > 0;
    }
    return is;
}

static void add_value(recurrence *r, uint32_t argument, uint32_t in, uint32_t out) {
    *BASE_PUSH(r->s->scratch, &r->arguments) = argument;
    *BASE_PUSH(r->s->scratch, &r->in) = in;
    *BASE_PUSH(r->s->scratch, &r->out) = out;
}

static uint32_t zeros(speaker *s, base_type type, const ir_shape *shape) {
    const ir_tensor t = {.type = type, .shape = *shape};
    uint64_t bytes = 0;
    (void)ir_tensor_bytes(&t, &bytes);
    return speak_constant(s, type, shape->rank, shape->dim, base_alloc(s->scratch, (size_t)bytes + 8, 1));
}

/* All rounds of a tensor, the newest put in its place. */
static bool put_slice(recurrence *r, uint32_t member, uint32_t around) {
    speaker *s = r->s;
    const ir_shape slice = *speak_shape(s, s->loop->now[member]);
    const base_type type = s->p->tensors.at[member].type;
    ir_shape all = {.rank = slice.rank + 1, .dim = {s->loop->rounds}}, one = {.rank = slice.rank + 1, .dim = {1}};
    int64_t along[IR_MAX_RANK], rank = all.rank;
    void *list = BASE_NEWS(s->scratch, int64_t, IR_MAX_RANK);
    for (uint32_t k = 0; k < slice.rank; k++) {
        all.dim[k + 1] = one.dim[k + 1] = slice.dim[k];
    }
    for (int64_t k = 0; k < rank; k++) {
        along[k] = k == 0;
        base_store(BASE_I64, list, (uint64_t)k, (base_value){.i = along[k]});
    }
    const uint32_t room = ir_tensor_add(s->m, s->g, "", type, &all);
    const uint32_t place =
        speak_word(s, "mul", (uint32_t[]){speak_constant(s, BASE_I64, 1, &rank, list), s->loop->index}, 2, BASE_NONE);
    const uint32_t part = speak_reshape(s, s->loop->now[member], one.rank, one.dim);
    const uint32_t put = speak_word(s, "dynamic_update_slice", (uint32_t[]){room, part, place}, 3, BASE_NONE);
    if (put == IR_NONE) {
        return false;
    }
    ir_graph *body = s->g;
    s->g = &s->m->graphs.at[around];
    const uint32_t first = zeros(s, type, &all);
    s->g = body;
    add_value(r, first, room, put);
    return true;
}

/* Everything that a round may read: what is said and taken back while it is computed must not be among it. */
static void add_inputs(recurrence *r) {
    speaker *s = r->s;
    const ir_shape scalar = {0};
    s->loop->index = ir_tensor_add(s->m, s->g, "round", BASE_I64, &scalar);
    for (size_t i = 0; i < r->n; i++) {
        const lang_stage *stage = &s->p->stages.at[r->first + i];
        s->loop->before[r->member[i]] = add_input(s, r->member[i], stage->rec_var);
        for (uint32_t t = 0; t < s->p->tensors.n; t++) {
            if (recurrent_axis(s, t) == IR_NONE && lang_reads_of(s->p, stage, t) > 0) {
                see(s, t);
            }
        }
    }
}

/* One round in the body's graph, and what the loop has for values. */
static bool say_round(recurrence *r, ir_graph *body, uint32_t around) {
    speaker *s = r->s;
    s->g = body;
    add_inputs(r);
    for (size_t i = 0; i < r->n; i++) {
        const lang_stage *stage = &s->p->stages.at[r->first + i];
        s->loop->var = stage->rec_var;
        s->loop->now[r->member[i]] = speak_stage(s, stage);
        if (s->loop->now[r->member[i]] == IR_NONE) {
            return false;
        }
    }
    const uint32_t next =
        speak_word(s, "add", (uint32_t[]){s->loop->index, speak_number(s, BASE_I64, 1)}, 2, BASE_NONE);
    s->g = &s->m->graphs.at[around];
    const uint32_t zero = speak_number(s, BASE_I64, 0);
    s->g = body;
    add_value(r, zero, s->loop->index, next);
    for (size_t i = 0; i < r->n; i++) {
        const uint32_t before = s->loop->before[r->member[i]];
        if (!s->loop->carries[r->member[i]]) {
            continue;
        }
        const ir_tensor t = body->tensors.at[before];
        s->g = &s->m->graphs.at[around];
        const uint32_t first = zeros(s, t.type, &t.shape);
        s->g = body;
        add_value(r, first, before, s->loop->now[r->member[i]]);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->kept[i] && !put_slice(r, r->member[i], around)) {
            return false;
        }
    }
    for (size_t i = 0; i < s->loop->in.n; i++) {
        uint32_t from = s->loop->from.at[i];
        s->g = &s->m->graphs.at[around];
        if (s->g->tensors.at[from].state != IR_NONE) { /* a loop takes values */
            from = speak_word(s, "identity", &from, 1, BASE_NONE);
        }
        s->g = body;
        if (from == IR_NONE) {
            return false;
        }
        add_value(r, from, s->loop->in.at[i], s->loop->in.at[i]);
    }
    return next != IR_NONE;
}

static void fill_graphs(recurrence *r, ir_graph *more, ir_graph *body) {
    speaker *s = r->s;
    const ir_shape scalar = {0};
    for (size_t i = 0; i < r->in.n; i++) {
        const ir_tensor t = body->tensors.at[r->in.at[i]];
        *BASE_PUSH(s->m->arena, &body->inputs) = r->in.at[i];
        *BASE_PUSH(s->m->arena, &body->outputs) = r->out.at[i];
        *BASE_PUSH(s->m->arena, &more->inputs) = ir_tensor_add(s->m, more, "", t.type, &t.shape);
    }
    s->g = more;
    const uint32_t pair[2] = {more->inputs.at[0], speak_number(s, BASE_I64, (double)s->loop->rounds)};
    const uint32_t less = ir_tensor_add(s->m, more, "more", BASE_BOOL, &scalar);
    (void)ir_node_add(s->m, more, "less", pair, 2, &less, 1, IR_NONE);
    *BASE_PUSH(s->m->arena, &more->outputs) = less;
}

/* The loop in the graph around; the kept tensors are those of the program. */
static bool add_loop(recurrence *r, uint32_t around, uint32_t more, uint32_t body) {
    speaker *s = r->s;
    uint32_t *results = BASE_NEWS(s->scratch, uint32_t, r->in.n + 1);
    s->g = &s->m->graphs.at[around];
    for (size_t i = 0; i < r->in.n; i++) {
        const ir_tensor t = s->m->graphs.at[body].tensors.at[r->in.at[i]];
        results[i] = ir_tensor_add(s->m, s->g, "", t.type, &t.shape);
    }
    ir_node *n = ir_node_add(s->m, s->g, "while", r->arguments.at, r->arguments.n, results, r->in.n, IR_NONE);
    n->ids = s->origin->ids;
    n->id_count = s->origin->id_count;
    n->byte = s->origin->byte;
    ir_attr_graph(s->m, n, "cond", more);
    ir_attr_graph(s->m, n, "body", body);
    size_t at = 1;
    for (size_t i = 0; i < r->n; i++) {
        at += s->loop->carries[r->member[i]];
    }
    for (size_t i = 0; i < r->n; i++) {
        if (!r->kept[i]) {
            continue;
        }
        const uint32_t axis = s->p->stages.at[r->first + i].rec_var, rank = s->p->tensors.at[r->member[i]].rank;
        int64_t perm[IR_MAX_RANK];
        for (uint32_t k = 0; k < rank; k++) {
            perm[k] = k == axis ? 0 : k < axis ? k + 1 : k;
        }
        s->tensor[r->member[i]] = speak_transpose(s, results[at++], rank, perm);
        if (s->tensor[r->member[i]] == IR_NONE) {
            return false;
        }
    }
    return true;
}

static bool say_once(recurrence *r) {
    speaker *s = r->s;
    s->loop->index = speak_number(s, BASE_I64, 0);
    for (size_t i = 0; i < r->n; i++) {
        const lang_stage *stage = &s->p->stages.at[r->first + i];
        const lang_tensor *t = &s->p->tensors.at[r->member[i]];
        s->loop->var = stage->rec_var;
        const uint32_t v = speak_stage(s, stage);
        s->loop->now[r->member[i]] = v;
        s->tensor[r->member[i]] = speak_reshape(s, v, t->rank, t->dim);
        if (s->tensor[r->member[i]] == IR_NONE) {
            return false;
        }
    }
    return true;
}

static uint32_t *no_tensors(speaker *s) {
    uint32_t *list = BASE_NEWS(s->scratch, uint32_t, s->p->tensors.n + 1);
    memset(list, 0xff, (s->p->tensors.n + 1) * sizeof *list);
    return list;
}

bool speak_recurrence(speaker *s, size_t first) {
    const lang_stage *stage = &s->p->stages.at[first];
    recurrence r = {.s = s, .first = first};
    speak_loop loop = {.group = stage->rec, .rounds = stage->vars[stage->rec_var].bound, .outside = s->tensor};
    if (s->loop != NULL || loop.rounds < 1) {
        return false;
    }
    while (first + r.n < s->p->stages.n && s->p->stages.at[first + r.n].rec == stage->rec) {
        const lang_stage *next = &s->p->stages.at[first + r.n++];
        if (next->vars[next->rec_var].bound != loop.rounds) {
            return false;
        }
    }
    r.member = BASE_NEWS(s->scratch, uint32_t, r.n);
    r.kept = BASE_NEWS(s->scratch, bool, r.n);
    for (size_t i = 0; i < r.n; i++) {
        r.member[i] = s->p->stages.at[first + i].tensor;
        r.kept[i] = is_kept(s, first, r.n, r.member[i]);
    }
    loop.now = no_tensors(s);
    loop.before = no_tensors(s);
    loop.seen = no_tensors(s);
    loop.carries = BASE_NEWS(s->scratch, bool, s->p->tensors.n + 1);
    s->loop = &loop;
    bool said = false;
    if (loop.rounds == 1) {
        said = say_once(&r);
    } else {
        const size_t graphs = s->m->graphs.n;
        const uint32_t around = loop.around = (uint32_t)(s->g - s->m->graphs.at), more = (uint32_t)graphs,
                       body = more + 1;
        (void)ir_graph_add(s->m, "more");
        (void)ir_graph_add(s->m, "round");
        ir_graph *of_body = &s->m->graphs.at[body];
        said = say_round(&r, of_body, around);
        if (said) {
            fill_graphs(&r, &s->m->graphs.at[more], of_body);
            said = add_loop(&r, around, more, body);
        }
        s->g = &s->m->graphs.at[around];
        s->m->graphs.n = said ? s->m->graphs.n : graphs;
    }
    s->loop = NULL;
    return said;
}
