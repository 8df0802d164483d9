/* inspect.c - what is in a model, as text and as JSON; and the lists of what there is.
 *
 * Takes a model as read. Gives types, shapes, quantisation, MACs, sizes, and which operators have no definition.
 */
#include <inttypes.h>
#include <string.h>

#include "api/api.h"

typedef struct inspect_call {
    const burin_model *m;
    burin_form form;
    const char *text;
} inspect_call;

static char *printable(base_arena *arena, const char *s) {
    return base_printable(arena, s, strlen(s), 60);
}

static void put_quant(base_text *t, const ir_quant *q) {
    if (q->n == 0) {
        return;
    }
    base_puts(t, "  scale ");
    base_put_float32(t, q->scale[0]);
    if (q->n > 1) {
        base_put(t, ".. (%u along axis %d)", q->n, (int)q->axis);
    } else {
        base_put(t, " zero %" PRId64, q->zero[0]);
    }
}

static void put_io(base_text *t, base_arena *arena, const ir_graph *g, const char *what, const uint32_t *list,
                   size_t n) {
    for (size_t i = 0; i < n; i++) {
        const ir_tensor *x = &g->tensors.at[list[i]];
        base_put(t, "%-8s %zu  %-5s %-16s", what, i, base_type_name(x->type), ir_shape_print(arena, &x->shape));
        put_quant(t, &x->quant);
        base_put(t, "  \"%s\"\n", printable(arena, x->name));
    }
}

typedef struct node_facts {
    uint64_t macs;
    bool supported;
    const char *why;  /* the first reason why not */
    bool by_contents; /* what its constants hold has a part in it */
} node_facts;

static node_facts find_facts(burin_context *c, const burin_model *m, const ir_graph *g, const ir_node *n) {
    base_arena *scratch = base_arena_new(&c->memory);
    base_diags d = {.arena = scratch};
    const char *names[] = {"tflm"};
    ops_goal goal = {names, 1};
    lang_program *p = NULL;
    node_facts f = {.by_contents = true};
    if (ir_control_of(n) != IR_PLAIN) {
        f.supported = true; /* as far as its graphs' operators are */
    } else if (ops_instantiate(scratch, c->ops, m->ir, g, n, &goal, &p, &d) == BASE_OK) {
        f = (node_facts){.macs = lang_macs(p), .supported = true, .by_contents = p->by_contents};
    } else {
        f.why = base_strdup(c->arena, d.list.n > 0 ? d.list.at[0].message : "not supported");
    }
    base_arena_free(scratch);
    return f;
}

/* What is known of nodes, by ops_key. */
typedef struct facts_list {
    base_map *at; /* -> index in facts */
    BASE_VEC(node_facts) facts;
    base_text key;
} facts_list;

static node_facts facts_of(burin_context *c, const burin_model *m, const ir_graph *g, const ir_node *n,
                           facts_list *known) {
    bool is_new;
    known->key.arena = c->arena;
    known->at = known->at != NULL ? known->at : base_map_new(c->arena);
    for (int contents = 0; contents < 2; contents++) {
        known->key.n = 0;
        if (!ops_key(&known->key, g, n, true, contents != 0)) {
            return find_facts(c, m, g, n);
        }
        const uint64_t *at = base_map_get(known->at, known->key.at, known->key.n);
        if (at != NULL && known->facts.at[*at].by_contents == (contents != 0)) {
            return known->facts.at[*at];
        }
    }
    const node_facts f = find_facts(c, m, g, n);
    known->key.n = 0;
    (void)ops_key(&known->key, g, n, true, f.by_contents);
    *base_map_put(known->at, known->key.at, known->key.n, &is_new) = known->facts.n;
    *BASE_PUSH(c->arena, &known->facts) = f;
    return f;
}

static uint64_t constant_bytes(const ir_graph *g) {
    uint64_t sum = 0;
    for (size_t i = 0; i < g->tensors.n; i++) {
        uint64_t bytes = 0;
        if (g->tensors.at[i].data != NULL && ir_tensor_bytes(&g->tensors.at[i], &bytes)) {
            sum += bytes;
        }
    }
    return sum;
}

/* Columns by hand: models have tens of thousands of nodes, and printf is slow. */
static void put_spaces(base_text *t, size_t n, size_t width) {
    for (; n < width; n++) {
        base_putn(t, " ", 1);
    }
}

static void put_left(base_text *t, const char *s, size_t width) {
    base_puts(t, s);
    put_spaces(t, strlen(s), width);
    base_putn(t, " ", 1);
}

static void put_right(base_text *t, uint64_t v, size_t width) {
    size_t digits = 1;
    for (uint64_t rest = v; rest >= 10; rest /= 10) {
        digits++;
    }
    put_spaces(t, digits, width);
    base_put_unsigned(t, v);
}

static void put_node_text(base_text *t, base_arena *arena, const ir_graph *g, const ir_node *n, const node_facts *f) {
    const ir_tensor *out = n->output_count > 0 ? &g->tensors.at[n->outputs[0]] : NULL;
    const char *word = n->source_name != NULL ? n->source_name : n->op;
    if (n->id_count > 0 && n->ids[0] != IR_NONE) {
        put_right(t, n->ids[0], 5);
    } else {
        base_puts(t, "    -");
    }
    base_puts(t, "  ");
    put_left(t, printable(arena, word), 24);
    put_left(t, out == NULL ? "" : base_type_name(out->type), 5);
    put_left(t, out == NULL ? "" : ir_shape_print(arena, &out->shape), 16);
    put_right(t, f->macs, 12);
    if (out != NULL) {
        put_quant(t, &out->quant);
    }
    if (!f->supported) {
        base_puts(t, "  UNSUPPORTED: ");
        base_puts(t, f->why);
    }
    base_putn(t, "\n", 1);
}

static void put_state_text(base_text *t, base_arena *arena, const ir_state *s, size_t i) {
    base_put(t, "%-8s %zu  %-5s %-16s", "state", i, base_type_name(s->type), ir_shape_print(arena, &s->shape));
    put_quant(t, &s->quant);
    base_put(t, "  \"%s\"%s\n", printable(arena, s->name), s->data == NULL ? ", zeros at first" : "");
}

/* "then: graph 1, else: graph 2" behind a control node. */
static void put_graphs_text(base_text *t, base_arena *arena, const ir_node *n) {
    for (size_t i = 0, put = 0; i < n->attr_count; i++) {
        if (n->attrs[i].kind == IR_GRAPH) {
            base_put(t, "%s%s: graph %" PRIu32, put++ ? ", " : "       ", printable(arena, n->attrs[i].name),
                     n->attrs[i].v.graph);
        }
    }
    base_puts(t, ir_control_of(n) == IR_PLAIN ? "" : "\n");
}

static void inspect_text(burin_context *c, const burin_model *m, base_text *t) {
    const ir_model *ir = m->ir;
    uint64_t macs = 0, bytes = 0;
    size_t unsupported = 0, nodes = 0, tensors = 0;
    facts_list known = {0};
    for (size_t i = 0; i < ir->graphs.n; i++) {
        nodes += ir->graphs.at[i].nodes.n;
        tensors += ir->graphs.at[i].tensors.n;
        bytes += constant_bytes(&ir->graphs.at[i]);
    }
    base_put(t, "%s: %s, %zu operators, %zu tensors, %" PRIu64 " bytes of constants\n", printable(c->arena, m->file),
             printable(c->arena, ir->format), nodes, tensors, bytes);
    for (size_t i = 0; i < ir->graphs.n; i++) {
        const ir_graph *g = &ir->graphs.at[i];
        if (i > 0) {
            base_put(t, "\ngraph %zu, sub-graph %" PRIu32 " \"%s\"\n", i, g->index, printable(c->arena, g->name));
        }
        put_io(t, c->arena, g, "input", g->inputs.at, g->inputs.n);
        put_io(t, c->arena, g, "output", g->outputs.at, g->outputs.n);
        for (size_t s = 0; i == 0 && s < ir->states.n; s++) {
            put_state_text(t, c->arena, &ir->states.at[s], s);
        }
        base_put(t, "\n%5s  %-24s %-5s %-16s %12s\n", "id", "operator", "type", "output", "MACs");
        for (size_t k = 0; k < g->nodes.n; k++) {
            node_facts f = facts_of(c, m, g, &g->nodes.at[k], &known);
            put_node_text(t, c->arena, g, &g->nodes.at[k], &f);
            put_graphs_text(t, c->arena, &g->nodes.at[k]);
            macs += f.macs;
            unsupported += !f.supported;
        }
    }
    base_put(t, "\n%" PRIu64 " MACs%s; %zu of %zu operators unsupported\n", macs,
             ir->graphs.n > 1 ? ", of each graph once" : "", unsupported, nodes);
}

static void put_tensor_json(base_text *t, const ir_tensor *x) {
    burin_tensor_info info = api_tensor_info(x);
    base_puts(t, "{\"name\":");
    base_put_quoted(t, x->name);
    base_put(t, ",\"type\":\"%s\",\"shape\":[", info.type);
    for (uint32_t k = 0; k < info.rank; k++) {
        base_put(t, "%s%" PRId64, k ? "," : "", info.dim[k]);
    }
    base_put(t, "],\"bytes\":%" PRIu64 ",\"constant\":%s", info.bytes, x->data != NULL ? "true" : "false");
    if (x->quant.n > 0) {
        base_put(t, ",\"axis\":%d,\"scale\":[", (int)x->quant.axis);
        for (uint32_t k = 0; k < x->quant.n; k++) {
            base_puts(t, k ? "," : "");
            base_put_float32(t, x->quant.scale[k]);
        }
        base_puts(t, "],\"zero_point\":[");
        for (uint32_t k = 0; k < x->quant.n; k++) {
            base_put(t, "%s%" PRId64, k ? "," : "", x->quant.zero[k]);
        }
        base_puts(t, "]");
    }
    base_puts(t, "}");
}

static void put_numbers(base_text *t, const char *name, const uint32_t *list, size_t n) {
    base_put(t, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++) {
        base_put(t, "%s%d", i ? "," : "", list[i] == IR_NONE ? -1 : (int)list[i]);
    }
    base_puts(t, "]");
}

static void put_node_json(burin_context *c, const burin_model *m, base_text *t, const ir_graph *g, const ir_node *n,
                          facts_list *known) {
    node_facts f = facts_of(c, m, g, n, known);
    base_put(t, "{\"id\":%d,\"op\":", n->id_count > 0 && n->ids[0] != IR_NONE ? (int)n->ids[0] : -1);
    base_put_quoted(t, n->op);
    base_puts(t, ",\"source\":");
    base_put_quoted(t, n->source_name != NULL ? n->source_name : n->op);
    base_puts(t, ",");
    put_numbers(t, "inputs", n->inputs, n->input_count);
    base_puts(t, ",");
    put_numbers(t, "outputs", n->outputs, n->output_count);
    for (size_t i = 0; i < n->attr_count; i++) {
        if (n->attrs[i].kind == IR_GRAPH) {
            base_puts(t, ",");
            base_put_quoted(t, n->attrs[i].name);
            base_put(t, ":%" PRIu32, n->attrs[i].v.graph);
        }
    }
    base_put(t, ",\"macs\":%" PRIu64 ",\"supported\":%s", f.macs, f.supported ? "true" : "false");
    if (!f.supported) {
        base_puts(t, ",\"why\":");
        base_put_quoted(t, f.why);
    }
    base_puts(t, "}");
}

/* What a graph takes, gives and does, without the brackets around it. */
static void put_graph_json(burin_context *c, const burin_model *m, base_text *t, const ir_graph *g, facts_list *known) {
    put_numbers(t, "inputs", g->inputs.at, g->inputs.n);
    base_puts(t, ",");
    put_numbers(t, "outputs", g->outputs.at, g->outputs.n);
    base_puts(t, ",\n\"operators\":[\n");
    for (size_t i = 0; i < g->nodes.n; i++) {
        base_puts(t, i ? ",\n" : "");
        put_node_json(c, m, t, g, &g->nodes.at[i], known);
    }
    base_puts(t, "\n],\n\"tensors\":[\n");
    for (size_t i = 0; i < g->tensors.n; i++) {
        base_puts(t, i ? ",\n" : "");
        put_tensor_json(t, &g->tensors.at[i]);
    }
    base_puts(t, "\n]");
}

static void inspect_json(burin_context *c, const burin_model *m, base_text *t) {
    facts_list known = {0};
    base_puts(t, "{\"file\":");
    base_put_quoted(t, m->file);
    base_puts(t, ",\"format\":");
    base_put_quoted(t, m->ir->format);
    base_puts(t, ",");
    put_graph_json(c, m, t, &m->ir->graphs.at[0], &known);
    base_puts(t, ",\n\"states\":[");
    for (size_t i = 0; i < m->ir->states.n; i++) {
        const ir_state *s = &m->ir->states.at[i];
        const ir_tensor x = {
            .name = s->name, .type = s->type, .shape = s->shape, .quant = s->quant, .state = (uint32_t)i};
        base_puts(t, i ? ",\n" : "\n");
        put_tensor_json(t, &x);
    }
    base_puts(t, "],\n\"graphs\":["); /* the first is the model's own, above */
    for (size_t i = 1; i < m->ir->graphs.n; i++) {
        base_put(t, "%s{\"graph\":%zu,\"subgraph\":%" PRIu32 ",\"name\":", i > 1 ? ",\n" : "\n", i,
                 m->ir->graphs.at[i].index);
        base_put_quoted(t, m->ir->graphs.at[i].name);
        base_puts(t, ",");
        put_graph_json(c, m, t, &m->ir->graphs.at[i], &known);
        base_puts(t, "}");
    }
    base_puts(t, "]}\n");
}

static base_status inspect(burin_context *c, void *arguments) {
    inspect_call *call = arguments;
    base_text t = {.arena = c->arena};
    if (call->form == BURIN_JSON) {
        inspect_json(c, call->m, &t);
    } else {
        inspect_text(c, call->m, &t);
    }
    call->text = t.at;
    return BASE_OK;
}

burin_status burin_inspect(burin_context *c, const burin_model *m, burin_form form, const char **text) {
    inspect_call call = {.m = m, .form = form};
    burin_status status = api_guarded(c, inspect, &call);
    *text = status == BURIN_OK ? call.text : NULL;
    return status;
}

/* ---- lists ---- */

typedef struct list_call {
    burin_form form;
    void (*fill)(burin_context *c, struct list_call *call);
    base_text out;
    size_t count;
} list_call;

static void put_item(list_call *call, const char *name, const char *description) {
    base_text *t = &call->out;
    if (call->form == BURIN_JSON) {
        base_puts(t, call->count == 0 ? "[" : ",\n ");
        base_puts(t, "{\"name\":");
        base_put_quoted(t, name);
        base_puts(t, ",\"description\":");
        base_put_quoted(t, description);
        base_puts(t, "}");
    } else {
        base_put(t, "%-18s %s\n", name, description);
    }
    call->count++;
}

static void list_targets(burin_context *c, list_call *call) {
    (void)c;
    for (size_t i = 0; i < target_count; i++) {
        put_item(call, target_list[i]->name, target_list[i]->description);
    }
}

const char *burin_target_of(const char *path) {
    size_t n = strlen(path);
    for (size_t i = 0; i < target_count; i++) {
        const char *extension = target_list[i]->extension;
        size_t m = extension != NULL ? strlen(extension) : n;
        if (m + 1 < n && path[n - m - 1] == '.' && path[n - m - 2] != '/' && strcmp(path + n - m, extension) == 0) {
            return target_list[i]->name;
        }
    }
    return NULL;
}

bool burin_target_uses(const char *target, const char *option) {
    const target_interface *t = target_find(target);
    size_t n = 0;
    for (const char *at = t != NULL && t->unused != NULL ? t->unused : ""; *at != 0; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        if (n == strlen(option) && strncmp(at, option, n) == 0) {
            return false;
        }
    }
    return true;
}

/* "description; dtcm 131072 at 0x20000000, flash 2097152" */
static const char *device_text(burin_context *c, const plan_device *d) {
    base_text t = {.arena = c->arena};
    base_puts(&t, d->description);
    for (size_t i = 0, n = 0; i < d->memory_count; i++) {
        const plan_memory *m = &d->memories[i];
        if (m->bytes > 0) {
            base_put(&t, "%s%s %" PRIu64, n++ > 0 ? ", " : "; ", m->name, m->bytes);
            base_puts(&t, m->base > 0 ? base_printf(c->arena, " at 0x%08" PRIx64, m->base) : "");
        }
    }
    return t.at;
}

static void list_devices(burin_context *c, list_call *call) {
    (void)c;
    for (size_t i = 0; i < plan_device_count(); i++) {
        put_item(call, plan_device_at(i)->name, device_text(c, plan_device_at(i)));
    }
}

static void list_operators(burin_context *c, list_call *call) {
    for (size_t i = 0; i < ops_count(c->ops); i++) {
        const char *name = ops_name(c->ops, i);
        const lang_library *library = ops_library(c->ops, name, &c->diags);
        base_text types = {.arena = c->arena};
        base_puts(&types, "");
        for (size_t k = 0; library != NULL && k < lang_overload_count(library, name); k++) {
            lang_op_info info = lang_overload(library, name, k, c->arena);
            base_puts(&types, k ? "; " : "");
            for (size_t a = 0; a < info.input_count; a++) {
                base_put(&types, "%s%s", a ? " " : "", info.inputs[a]);
            }
        }
        put_item(call, name, types.n != 0 ? types.at : "no inputs");
    }
}

static base_status list(burin_context *c, void *arguments) {
    list_call *call = arguments;
    call->out = (base_text){.arena = c->arena};
    base_puts(&call->out, "");
    call->fill(c, call);
    if (call->form == BURIN_JSON) {
        base_puts(&call->out, call->count == 0 ? "[]\n" : "]\n");
    }
    return BASE_OK;
}

static burin_status run_list(burin_context *c, burin_form form, void (*fill)(burin_context *, list_call *),
                             const char **text) {
    list_call call = {.form = form, .fill = fill};
    burin_status status = api_guarded(c, list, &call);
    *text = status == BURIN_OK ? call.out.at : NULL;
    return status;
}

static void list_moves(burin_context *c, list_call *call) {
    (void)c;
    for (size_t i = 0; api_move(i, false) != NULL; i++) {
        put_item(call, api_move(i, false), api_move(i, true));
    }
}

burin_status burin_list_moves(burin_context *c, burin_form form, const char **text) {
    return run_list(c, form, list_moves, text);
}

burin_status burin_list_targets(burin_context *c, burin_form form, const char **text) {
    return run_list(c, form, list_targets, text);
}

burin_status burin_list_devices(burin_context *c, burin_form form, const char **text) {
    return run_list(c, form, list_devices, text);
}

burin_status burin_list_operators(burin_context *c, burin_form form, const char **text) {
    return run_list(c, form, list_operators, text);
}
