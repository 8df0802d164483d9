/* replay.c - a plan that was written before, taken up again: its order of kernels, their schedules and the places of its tensors.
 *
 * Takes <prefix>_plan.json (docs/PLAN.md) and the plan that is being made of a model. Gives the one the other's order, schedules and places;
 * everything else that the file says must be what the model and the options give, and the first field that is not is
 * refused by its line and column. Whether an order and places are legal, plan_validate says, as of every plan.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan_private.h"
#include "wire/wire.h"

#define PLAN_VERSION 1 /* that is read */

struct plan_replay {
    const char *file, *text;
    size_t n;
    const wire_json *root, *kernels, *tensors;
};

static base_place place_of(const plan_replay *r, const wire_json *v) {
    return (base_place){.file = r->file, .source = r->text, .source_size = r->n, .line = v->line, .column = v->column};
}

/* The list of that name, or NULL with what is wrong said. */
static const wire_json *list_of(const plan_replay *r, const wire_json *object, const char *name, base_diags *d) {
    const wire_json *list = wire_json_find(object, name);
    if (list == NULL || list->kind != WIRE_JSON_LIST) {
        const base_place place = place_of(r, list != NULL ? list : object);
        base_error(d, &place, "expected a list \"%s\": not a plan of Burin", name);
        return NULL;
    }
    return list;
}

base_status plan_read(base_arena *arena, const char *file, const char *text, size_t n, const plan_replay **out,
                      base_diags *d) {
    plan_replay *r = BASE_NEW(arena, plan_replay);
    uint64_t version = 0;
    *r = (plan_replay){.file = file, .text = text, .n = n};
    base_status status = wire_json_read(arena, file, text, n, &r->root, d);
    if (status != BASE_OK) {
        return status;
    }
    const wire_json *v = wire_json_find(r->root, "version");
    const base_place place = place_of(r, v != NULL ? v : r->root);
    if (v == NULL || !wire_json_uint(v, &version)) {
        return base_error(d, &place, "expected a number \"version\": not a plan of Burin");
    }
    if (version != PLAN_VERSION) {
        return base_error(d, &place, "version %" PRIu64 ": this burin reads plans of version %d", version,
                          PLAN_VERSION);
    }
    r->kernels = list_of(r, r->root, "kernels", d);
    r->tensors = r->kernels != NULL ? list_of(r, r->root, "tensors", d) : NULL;
    *out = r;
    return r->tensors != NULL ? BASE_OK : BASE_REFUSED;
}

/* ---- the order ---- */

/* What tells a kernel from the others: its word and its tensors. */
static const char *key_of(base_arena *scratch, const plan_kernel *k) {
    base_text t = {.arena = scratch};
    base_puts(&t, k->op);
    for (size_t i = 0; i < k->program->tensors.n; i++) {
        if (k->tensor[i] != IR_NONE) {
            base_put(&t, " %u", k->tensor[i]);
        }
    }
    return t.at;
}

static const char *written_key(base_arena *scratch, const plan_replay *r, const wire_json *k, base_diags *d) {
    const wire_json *op = wire_json_find(k, "op"), *tensors = list_of(r, k, "tensors", d);
    base_text t = {.arena = scratch};
    if (tensors == NULL) {
        return NULL;
    }
    base_puts(&t, op != NULL && op->kind == WIRE_JSON_TEXT ? op->text : "");
    for (const wire_json *i = tensors->first; i != NULL; i = i->next) {
        base_put(&t, " %s", i->kind == WIRE_JSON_NUMBER ? i->text : "?");
    }
    return t.at;
}

static base_status check_structure(const plan_replay *r, const plan_module *p, base_diags *d) {
    const wire_json *hash = wire_json_find(wire_json_find(r->root, "model"), "structure_hash");
    char own[17];
    snprintf(own, sizeof own, "%016" PRIx64, p->structure_hash);
    const base_place place = place_of(r, hash != NULL ? hash : r->root);
    if (hash == NULL || hash->kind != WIRE_JSON_TEXT) {
        return base_error(d, &place, "expected a text \"structure_hash\" in \"model\": not a plan of Burin");
    }
    return strcmp(hash->text, own) == 0
               ? BASE_OK
               : base_error(
                     d, &place,
                     "the plan is of another network: its operators, shapes and quantisation have the hash %s, those "
                     "of %s have %s",
                     base_printable(p->arena, hash->text, strlen(hash->text), 20), p->model->file, own);
}

/* Kernel i of the file is kernel order[i] of the plan. Those with one key (control has none) keep their order. */
static base_status match_kernels(base_arena *scratch, const plan_replay *r, const plan_module *p, uint32_t *order,
                                 base_diags *d) {
    base_map *heads = base_map_new(scratch); /* of each key the first kernel that is left, from 1 */
    uint64_t *next = BASE_NEWS(scratch, uint64_t, p->kernels.n + 1);
    for (size_t i = p->kernels.n; i-- > 0;) {
        bool is_new;
        const char *key = key_of(scratch, &p->kernels.at[i]);
        uint64_t *head = base_map_put(heads, key, strlen(key), &is_new);
        next[i] = *head;
        *head = i + 1;
    }
    size_t n = 0;
    for (const wire_json *k = r->kernels->first; k != NULL; k = k->next, n++) {
        const char *key = written_key(scratch, r, k, d);
        uint64_t *head = key != NULL ? base_map_get(heads, key, strlen(key)) : NULL;
        if (key == NULL) {
            return BASE_REFUSED;
        }
        if (head == NULL || *head == 0) {
            const base_place place = place_of(r, k);
            return base_error(d, &place, "kernels[%zu]: the network and the options give no such kernel%s", n,
                              head != NULL ? " once more" : "");
        }
        order[n] = (uint32_t)(*head - 1);
        *head = next[*head - 1];
    }
    const base_place place = place_of(r, r->kernels);
    return n == p->kernels.n
               ? BASE_OK
               : base_error(d, &place, "%zu kernels, where the network and the options give %zu", n, p->kernels.n);
}

base_status plan_replay_order(const plan_replay *r, const plan_module *p, uint32_t *order, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    size_t first = 0, second = 0;
    base_status status = check_structure(r, p, d);
    if (status == BASE_OK) {
        status = match_kernels(scratch, r, p, order, d);
    }
    if (status == BASE_OK && !plan_is_order(scratch, p, order, &first, &second)) {
        const wire_json *k = r->kernels->first;
        for (size_t i = 0; i < second; i++) {
            k = k->next;
        }
        const base_place place = place_of(r, k);
        status =
            base_error(d, &place, "kernels[%zu] must be done before kernels[%zu], whose tensors it %s", first, second,
                       plan_has_control(p) ? "stands before: with control among them kernels keep their order"
                                           : "makes, reads or writes");
    }
    base_arena_free(scratch);
    return status;
}

/* ---- schedules ---- */

/* A stage whose schedule is taken: where it stands in the file, and what it may be. */
typedef struct taken {
    const plan_replay *r;
    size_t kernel, stage; /* of the file */
    const wire_json *given;
    const lang_stage *s;
    plan_schedule *x;
    plan_tile_limits limits;
    bool edited;
    base_diags *d;
} taken;

static base_status __attribute__((format(printf, 4, 5)))
not_so(const taken *t, const wire_json *v, const char *name, const char *format, ...) {
    char why[160];
    va_list list;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    const base_place place = place_of(t->r, v != NULL ? v : t->given);
    return base_error(t->d, &place, "kernels[%zu].stages[%zu].%s: %s", t->kernel, t->stage, name, why);
}

static uint32_t divisor_below(uint32_t n, uint32_t from) {
    while (n % from != 0) {
        from--;
    }
    return from;
}

/* A number from 1 to most. divides: what is edited must divide that, or be all of it; 0: nothing. */
static base_status take_number(taken *t, const char *name, uint32_t most, uint32_t divides, uint32_t *own) {
    const wire_json *v = wire_json_find(t->given, name);
    uint64_t n = 0;
    if (!wire_json_uint(v, &n) || n > UINT32_MAX) {
        return not_so(t, v, name, "expected a number from 1 to %u", most);
    }
    if (n == *own) {
        return BASE_OK;
    }
    if (n < 1 || n > most) {
        return not_so(t, v, name, "%llu, where 1 to %u is possible", (unsigned long long)n, most);
    }
    if (divides != 0 && divides % n != 0) {
        return not_so(t, v, name, "%llu does not divide %u; the next below that does is %u", (unsigned long long)n,
                      divides, divisor_below(divides, (uint32_t)n));
    }
    *own = (uint32_t)n;
    t->edited = true;
    return BASE_OK;
}

/* Which loop has the channels follows from the program. */
static base_status check_loop(const taken *t) {
    const wire_json *v = wire_json_find(t->given, "n_var");
    char own[8];
    snprintf(own, sizeof own, "%d", t->x->n_var == 255 ? -1 : (int)t->x->n_var);
    return v != NULL && v->kind == WIRE_JSON_NUMBER && strcmp(v->text, own) == 0
               ? BASE_OK
               : not_so(t, v, "n_var", "it is %s", own);
}

static base_status take_hoist(taken *t) {
    const wire_json *v = wire_json_find(t->given, "hoist_zero");
    if (v == NULL || (v->kind != WIRE_JSON_TRUE && v->kind != WIRE_JSON_FALSE)) {
        return not_so(t, v, "hoist_zero", "expected true or false");
    }
    if (v->kind == WIRE_JSON_TRUE && !t->x->hoist_zero) {
        return not_so(t, v, "hoist_zero", "true, where there is no zero point to hoist");
    }
    t->edited = t->edited || t->x->hoist_zero != (v->kind == WIRE_JSON_TRUE);
    t->x->hoist_zero = v->kind == WIRE_JSON_TRUE;
    return BASE_OK;
}

/* The output loops of a nest may be in any order: its points do not depend on each other. */
static base_status take_order(taken *t) {
    const wire_json *list = wire_json_find(t->given, "order"), *v = list != NULL ? list->first : NULL;
    uint8_t order[LANG_MAX_VARS];
    uint64_t seen = 0, n = 0;
    bool same = true;
    if (list == NULL || list->kind != WIRE_JSON_LIST || list->count != t->x->order_count) {
        return not_so(t, list, "order", "expected a list of the %u output loops", t->x->order_count);
    }
    for (uint32_t k = 0; k < t->x->order_count; k++, v = v->next) {
        if (!wire_json_uint(v, &n) || n >= t->x->order_count || (seen >> n & 1) != 0) {
            return not_so(t, v, "order", "expected each of 0 to %u once", t->x->order_count - 1);
        }
        seen |= UINT64_C(1) << n;
        order[k] = (uint8_t)n;
        same = same && t->x->order[k] == n;
    }
    if (!same && (t->x->form != PLAN_NEST || t->s->rec >= 0)) {
        return not_so(t, list, "order", "only the loops of a nest without a recurrence may be in another order");
    }
    t->edited = t->edited || !same;
    memcpy(t->x->order, order, t->x->order_count);
    return BASE_OK;
}

static base_status take_tile(taken *t) {
    plan_schedule *x = t->x;
    const uint32_t before = x->mr;
    const int64_t channels = x->n_var != 255 ? t->s->vars[x->n_var].bound : 1;
    base_status status = check_loop(t);
    if (status == BASE_OK) {
        status = take_number(t, "mr", t->limits.points, 0, &x->mr);
    }
    if (status == BASE_OK) {
        status = take_number(t, "nr", t->limits.channels, channels > INT32_MAX ? 0 : (uint32_t)channels, &x->nr);
    }
    if (status == BASE_OK) {
        status = take_number(t, "unroll", t->limits.unroll, 0, &x->unroll);
    }
    if (status == BASE_OK && t->edited && x->mr * x->nr > t->limits.accumulators) {
        status = not_so(t, wire_json_find(t->given, "mr"), "mr", "a tile of %u x %u: at most %u accumulators", x->mr,
                        x->nr, t->limits.accumulators);
    }
    x->line_bytes = x->line_bytes / before * x->mr;
    return status == BASE_OK ? take_hoist(t) : status;
}

/* A tile may become the nest that it is without; else the form is the options'. */
static base_status take_stage(taken *t) {
    const wire_json *form = wire_json_find(t->given, "form");
    const bool tiled = t->x->form == PLAN_CONTRACT || t->x->form == PLAN_DEPTHWISE;
    if (form == NULL || form->kind != WIRE_JSON_TEXT) {
        return not_so(t, form, "form", "expected a text");
    }
    if (strcmp(form->text, plan_form_name(PLAN_ALIAS)) == 0) {
        return BASE_OK; /* that follows from places */
    }
    if (tiled && strcmp(form->text, plan_form_name(PLAN_NEST)) == 0) {
        *t->x = (plan_schedule){.form = PLAN_NEST,
                                .order_count = t->x->order_count,
                                .n_var = 255,
                                .mr = 1,
                                .nr = 1,
                                .unroll = 1,
                                .threads_var = 255};
        for (uint32_t k = 0; k < t->x->order_count; k++) {
            t->x->order[k] = (uint8_t)k;
        }
        t->edited = true;
    } else if (strcmp(form->text, plan_form_name(t->x->form)) != 0) {
        return not_so(t, form, "form", "it can be %s%s", plan_form_name(t->x->form), tiled ? " or nest" : "");
    } else {
        const base_status status = take_tile(t);
        if (status != BASE_OK) {
            return status;
        }
    }
    return take_order(t);
}

static base_status take_kernel(const plan_replay *r, plan_kernel *k, const wire_json *given, size_t number,
                               bool *edited, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(d->arena));
    const wire_json *stages = list_of(r, given, "stages", d), *stage = stages != NULL ? stages->first : NULL;
    const base_place place = place_of(r, stages != NULL ? stages : given);
    base_status status = stages == NULL ? BASE_REFUSED : BASE_OK;
    if (status == BASE_OK && stages->count != k->program->stages.n) {
        status = base_error(d, &place, "kernels[%zu].stages: %zu, where the network and the options give %zu", number,
                            stages->count, k->program->stages.n);
    }
    lang_ranges *ranges = lang_ranges_new(scratch, k->program);
    for (size_t i = 0; i < k->program->stages.n && status == BASE_OK; i++, stage = stage->next) {
        taken t = {.r = r,
                   .kernel = number,
                   .stage = i,
                   .given = stage,
                   .s = &k->program->stages.at[i],
                   .x = &k->schedules[i],
                   .d = d};
        t.limits = (plan_tile_limits){1, 1, 1, 1};
        if (t.x->form == PLAN_CONTRACT || t.x->form == PLAN_DEPTHWISE) {
            t.limits = plan_tile_limits_of(ranges, t.s, t.x);
        }
        status = take_stage(&t);
        *edited = *edited || t.edited;
    }
    base_arena_free(scratch);
    return status;
}

base_status plan_replay_schedules(const plan_replay *r, plan_module *p, const uint32_t *order, bool *edited,
                                  base_diags *d) {
    size_t number = 0;
    base_status status = BASE_OK;
    for (const wire_json *k = r->kernels->first; k != NULL && status == BASE_OK; k = k->next, number++) {
        status = take_kernel(r, &p->kernels.at[order[number]], k, number, edited, d);
    }
    return status;
}

/* ---- the places ---- */

/* The bank of that memory; banks.n: there is none. */
static size_t bank_named(const plan_module *p, const wire_json *name) {
    size_t i = 0;
    while (i < p->banks.n && (name == NULL || name->kind != WIRE_JSON_TEXT ||
                              strcmp(p->device->memories[p->banks.at[i].memory].name, name->text) != 0)) {
        i++;
    }
    return i;
}

static bool has_place(const plan_module *p, uint32_t i) {
    return p->tensors.at[i].root == i && plan_in_arena(p, i);
}

/* Where tensor i is to lie: a memory, and an offset in it. */
static base_status read_place(const plan_replay *r, const wire_json *t, const plan_module *p, uint32_t i,
                              plan_block *place, base_diags *d) {
    const wire_json *offset = wire_json_find(t, "offset"), *memory = wire_json_find(t, "memory");
    const size_t bank = bank_named(p, memory);
    if (bank == p->banks.n) {
        const base_place at = place_of(r, memory != NULL ? memory : t);
        return base_error(d, &at, "tensors[%u].memory: expected a writable memory of %s", i, p->device->name);
    }
    if (!wire_json_uint(offset, &place->offset) || place->offset > UINT32_MAX) {
        const base_place at = place_of(r, offset != NULL ? offset : t);
        return base_error(d, &at, "tensors[%u].offset: expected a number below 2^32", i);
    }
    place->first = (uint32_t)bank;
    return BASE_OK;
}

/* places: of each tensor with bytes of its own the bank (first) and the offset in it. */
static void take_places(plan_module *p, const plan_block *places) {
    for (size_t i = 0; i < p->banks.n; i++) {
        p->banks.at[i].bytes = 0;
    }
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        plan_bank *b = has_place(p, i) ? &p->banks.at[places[i].first] : NULL;
        const uint64_t end = b != NULL ? places[i].offset + p->tensors.at[i].bytes : 0;
        if (b != NULL && end > b->bytes) {
            b->bytes = end;
        }
    }
    for (size_t i = 0; i < p->banks.n; i++) {
        p->banks.at[i].placement = p->banks.at[i].bytes == p->banks.at[i].bound
                                       ? "as the plan says; optimal (this order, whole tensors)"
                                       : "as the plan says";
    }
    plan_settle_banks(p);
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        if (has_place(p, i)) {
            const plan_bank *b = &p->banks.at[places[i].first];
            p->tensors.at[i].memory = b->memory;
            p->tensors.at[i].offset = b->base + places[i].offset;
        }
    }
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        plan_tensor *own = &p->tensors.at[i];
        const plan_tensor *root = &p->tensors.at[own->root];
        if (own->role != PLAN_CONSTANT && own->role != PLAN_STATE) {
            own->memory = root->memory;
            own->offset = root->offset + own->root_offset;
        }
    }
}

base_status plan_replay_places(const plan_replay *r, plan_module *p, uint32_t from, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    plan_block *places = BASE_NEWS(scratch, plan_block, p->tensors.n + 1);
    const wire_json *t = r->tensors->first;
    base_status status = BASE_OK;
    bool moved = false;
    for (uint32_t i = 0; i < p->tensors.n && status == BASE_OK; i++, t = t->next) {
        if (t == NULL) {
            const base_place place = place_of(r, r->tensors);
            status = base_error(d, &place, "%zu tensors, where the network and the options give %zu", r->tensors->count,
                                p->tensors.n);
            break;
        }
        if (!has_place(p, i)) {
            continue;
        }
        const size_t bank = plan_bank_of(p, &p->tensors.at[i]);
        const plan_block own = {.first = (uint32_t)bank, .offset = plan_offset(p, &p->tensors.at[i])};
        places[i] = own;
        if (i >= from) {
            status = read_place(r, t, p, i, &places[i], d);
            moved = moved || places[i].first != own.first || places[i].offset != own.offset;
        }
    }
    if (status == BASE_OK && moved) {
        take_places(p, places);
    }
    base_arena_free(scratch);
    return status;
}

/* ---- everything else ---- */

/* Where a value is, from the root: "kernels[3].stages[0].mr". */
typedef struct trail {
    const struct trail *above;
    const char *name; /* NULL: a member of a list */
    size_t index;
} trail;

static void put_trail(base_text *t, const trail *at) {
    if (at == NULL) {
        return;
    }
    put_trail(t, at->above);
    if (at->name != NULL) {
        base_put(t, "%s%s", at->above != NULL ? "." : "", at->name);
    } else {
        base_put(t, "[%zu]", at->index);
    }
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* The plan as it was made, and the file that it is held against. */
typedef struct comparison {
    base_arena *scratch;
    const plan_replay *r;
    bool edited;         /* schedules were: what follows from them may differ */
    uint32_t lines_from; /* tensors from that number on follow from schedules */
    base_diags *d;
} comparison;

/* What follows from order and places (of edited schedules, from those), was looked at with the schedules, or is another with other
 * weights, another file or another compiler. */
static bool is_free(const comparison *c, const trail *at, const wire_json *own) {
    static const char *const whole[] = {"prefix", "model", "arena", "flash", "check", NULL};
    static const char *const of_kernel[] = {"kernel", NULL}, *const of_edited_kernel[] = {"kernel", "cost", NULL};
    static const char *const of_stage[] = {"n_var", "mr", "nr", "unroll", "hoist_zero", "line_bytes", NULL};
    static const char *const of_tensor[] = {"first", "last", "from", "until", NULL};
    if (at == NULL) {
        return is_one_of(own->name, whole);
    }
    if (at->above == NULL || at->above->name == NULL) {
        return false;
    }
    if (strcmp(at->above->name, "stages") == 0) {
        return c->edited && is_one_of(own->name, of_stage);
    }
    return at->above->above == NULL && ((strcmp(at->above->name, "kernels") == 0 &&
                                         is_one_of(own->name, c->edited ? of_edited_kernel : of_kernel)) ||
                                        (strcmp(at->above->name, "tensors") == 0 && is_one_of(own->name, of_tensor)));
}

static const char *shown(base_arena *scratch, const wire_json *v) {
    static const char *const words[] = {[WIRE_JSON_NULL] = "null",
                                        [WIRE_JSON_FALSE] = "false",
                                        [WIRE_JSON_TRUE] = "true",
                                        [WIRE_JSON_LIST] = "a list",
                                        [WIRE_JSON_OBJECT] = "an object"};
    return v->text == NULL ? words[v->kind]
           : v->kind == WIRE_JSON_TEXT
               ? base_printf(scratch, "\"%s\"", base_printable(scratch, v->text, strlen(v->text), 60))
               : base_printable(scratch, v->text, strlen(v->text), 40);
}

static base_status differ(const comparison *c, const trail *at, const wire_json *given, const wire_json *own) {
    base_text where = {.arena = c->scratch};
    const base_place place = place_of(c->r, given);
    put_trail(&where, at);
    if (given->kind == own->kind && given->text == NULL) {
        return base_error(c->d, &place, "%s: %zu members, where the network and the options give %zu", where.at,
                          given->count, own->count);
    }
    return base_error(c->d, &place,
                      "%s: %s, where the network and the options give %s: of a plan the order of its kernels, their "
                      "schedules and the "
                      "places of its tensors are taken, and the rest must be so already",
                      where.at, shown(c->scratch, given), shown(c->scratch, own));
}

/* Every field of own is in given, and the same. Names that own does not have are of another version. */
static base_status compare(const comparison *c, const trail *at, const wire_json *given, const wire_json *own) {
    base_status status = BASE_OK;
    const bool has_lines = c->edited && at != NULL && at->above == NULL && strcmp(at->name, "tensors") == 0;
    const bool same_count = has_lines ? given->count >= c->lines_from : given->count == own->count;
    if (given->kind != own->kind || (given->text != NULL && strcmp(given->text, own->text) != 0) ||
        (given->kind == WIRE_JSON_LIST && !same_count)) {
        return differ(c, at, given, own);
    }
    const wire_json *other = given->kind == WIRE_JSON_LIST ? given->first : NULL;
    size_t index = 0;
    for (const wire_json *v = own->first; v != NULL && status == BASE_OK && !(has_lines && index == c->lines_from);
         v = v->next, index++) {
        const trail here = {at, v->name, index};
        if (own->kind == WIRE_JSON_LIST) {
            status = compare(c, &here, other, v);
            other = other->next;
            continue;
        }
        if (is_free(c, at, v)) {
            continue;
        }
        other = wire_json_find(given, v->name);
        if (other == NULL) {
            base_text where = {.arena = c->scratch};
            const base_place place = place_of(c->r, given);
            put_trail(&where, &here);
            status = base_error(c->d, &place, "%s is missing", where.at);
        } else if ((strcmp(v->name, "offset") != 0 && strcmp(v->name, "memory") != 0) ||
                   wire_json_find(own, "root") == NULL ||
                   strcmp(wire_json_find(own, "root")->text, wire_json_find(own, "tensor")->text) == 0) {
            status = compare(c, &here, other, v); /* the place of a part follows from the whole's */
        }
    }
    return status;
}

base_status plan_replay_rest(const plan_replay *r, const plan_module *p, uint32_t lines_from, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    base_text text = {.arena = scratch};
    const wire_json *own = NULL;
    plan_print_json(&text, p, NULL, NULL);
    base_status status = wire_json_read(scratch, "plan", text.at, text.n, &own, d);
    if (status == BASE_OK) {
        const comparison c = {scratch, r, lines_from < UINT32_MAX, lines_from, d};
        status = compare(&c, NULL, r->root, own);
    }
    base_arena_free(scratch);
    return status;
}
