/* passes.c - runs the passes, verifies after each, keeps dumps; and what several passes need.
 *
 * Takes a model. Gives it changed. The list is passes.def.
 */
#include <string.h>

#include "passes/passes_private.h"

const passes_pass passes_list[] = {
#define PASS(name, level, description) {#name, description, level, passes_##name},
#include "passes/passes.def"
#undef PASS
};
const size_t passes_count = sizeof passes_list / sizeof passes_list[0];

void passes_drop(ir_graph *g, const bool *gone) {
    size_t kept = 0;
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (!gone[i]) {
            g->nodes.at[kept++] = g->nodes.at[i];
        }
    }
    g->nodes.n = kept;
}

bool passes_is_fixed(const ir_shape *s) {
    for (uint32_t k = 0; k < s->rank; k++) {
        if (s->symbol[k] != 0) {
            return false;
        }
    }
    return true;
}

bool passes_same_values(const ir_tensor *a, const ir_tensor *b) {
    return a->state == IR_NONE && b->state == IR_NONE && a->type == b->type && ir_shape_same(&a->shape, &b->shape) &&
           ir_quant_same(&a->quant, &b->quant);
}

const char *passes_act(const passes_context *c, const ir_node *n) {
    base_arena *scratch = base_arena_new(base_arena_memory(c->arena));
    base_diags ignored = {.arena = scratch};
    const ir_attr *a = ir_attr_find(n, "act");
    const lang_library *own = a == NULL && ops_has(c->ops, n->op) ? ops_library(c->ops, n->op, &ignored) : NULL;
    a = own != NULL ? lang_attr_default(c->arena, own, n->op, "act") : a;
    base_arena_free(scratch);
    return a != NULL && a->kind == IR_TEXT ? a->v.text : NULL;
}

static base_status check_name(const passes_context *c, base_diags *d) {
    const char *names[sizeof passes_list / sizeof passes_list[0] + 1];
    base_text all = {.arena = c->arena};
    if (c->dump_after == NULL || strcmp(c->dump_after, "all") == 0) {
        return BASE_OK;
    }
    for (size_t i = 0; i < passes_count; i++) {
        names[i] = passes_list[i].name;
        base_put(&all, "%s, ", names[i]);
        if (strcmp(c->dump_after, names[i]) == 0) {
            return BASE_OK;
        }
    }
    names[passes_count] = "all";
    const char *near = base_nearest(c->dump_after, names, passes_count + 1);
    base_error(d, NULL, "no pass is called \"%s\"; %s%s%s", c->dump_after,
               near != NULL ? "the nearest is " : "the passes are ", near != NULL ? near : all.at,
               near != NULL ? "" : "and all");
    return BASE_USAGE;
}

/* names: a blank between. */
static bool is_named(const char *names, const char *name) {
    size_t n = strlen(name);
    for (const char *at = names; at != NULL && (at = strstr(at, name)) != NULL; at += n) {
        if ((at == names || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) {
            return true;
        }
    }
    return false;
}

static bool may_run(const passes_context *c, const char *name) {
    return (c->only == NULL || is_named(c->only, name)) && !is_named(c->without, name);
}

bool passes_asked(const passes_context *c, const char *name) {
    return c->only != NULL && may_run(c, name);
}

/* What computes on strings' numbers has no meaning in a format whose strings are none: it is said by its own word, or refused. */
static bool has_strings(const ir_graph *g, const ir_node *n) {
    for (size_t i = 0; i < n->input_count; i++) {
        if (n->inputs[i] != IR_NONE && g->tensors.at[n->inputs[i]].type == BASE_STR) {
            return true;
        }
    }
    return false;
}

bool passes_says(const passes_context *c, base_arena *scratch, const ir_model *m, const ir_graph *g, const ir_node *n) {
    const bool is_conversion = strcmp(n->op, "quantize") == 0 || strcmp(n->op, "dequantize") == 0;
    return (is_conversion && passes_asked(c, "unscale")) || has_strings(g, n) ||
           c->vocabulary->says(c->vocabulary->user, scratch, m, g, n);
}

base_status passes_run(passes_context *c, ir_model *m, base_diags *d) {
    base_status status = check_name(c, d);
    c->called = ir_called(c->arena, m);
    c->called_count = m->graphs.n;
    for (size_t i = 0; status == BASE_OK && i < passes_count; i++) {
        if (c->opt_level < passes_list[i].level || !may_run(c, passes_list[i].name)) {
            continue;
        }
        status = passes_list[i].run(c, m, d);
        if (status == BASE_OK) {
            status = ir_verify(m, d);
        }
        if (status == BASE_OK && c->dump != NULL && c->dump_after != NULL &&
            (strcmp(c->dump_after, "all") == 0 || strcmp(c->dump_after, passes_list[i].name) == 0)) {
            base_put(c->dump, "# after pass %s\n", passes_list[i].name);
            ir_print(c->dump, m);
        }
    }
    return status;
}
