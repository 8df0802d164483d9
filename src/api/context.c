/* context.c - the context: memory, diagnostics, the guard around every call.
 *
 * Takes a caller's allocator. Gives contexts that share nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"

static const char no_memory_text[] = "error: out of memory\n";

const char *burin_version(void) {
    return "0.1.0";
}

static void clear(burin_context *c) {
    c->arena = NULL;
    c->ops = NULL;
    memset(&c->own, 0, sizeof c->own);
    c->diags = (base_diags){0};
    c->dump = (base_text){0};
    c->strings = NULL;
}

/* Makes what a new or reset context lacks. */
static void complete(burin_context *c) {
    if (c->arena == NULL) {
        c->arena = base_arena_new(&c->memory);
        c->diags = (base_diags){.arena = c->arena};
        c->dump = (base_text){.arena = c->arena};
    }
    if (c->ops == NULL) {
        base_diags ignored = {.arena = c->arena}; /* they have been parsed before */
        c->ops = ops_registry_new(c->arena);
        for (size_t i = 0; i < c->own.n; i++) {
            (void)ops_add(c->ops, c->own.at[i].file, c->own.at[i].at, c->own.at[i].n, &ignored);
        }
    }
}

burin_status api_guarded(burin_context *c, base_status (*body)(burin_context *c, void *arguments), void *arguments) {
    base_guard guard;
    const bool was_empty = c->arena == NULL;
    if (BASE_GUARD(&c->memory, &guard)) {
        c->out_of_memory = true;
        c->ops = NULL; /* its last definition may be half parsed */
        if (was_empty) {
            clear(c); /* the jump freed the arena, which was made under the guard */
        }
        return BURIN_NO_MEMORY;
    }
    complete(c);
    base_status status = body(c, arguments);
    base_unguard(&c->memory, &guard);
    return (burin_status)status;
}

static base_status nothing(burin_context *c, void *arguments) {
    (void)c;
    (void)arguments;
    return BASE_OK;
}

burin_context *burin_context_new(burin_realloc reallocate, void *user, size_t limit) {
    burin_context *c = reallocate != NULL ? reallocate(user, NULL, 0, sizeof *c) : malloc(sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->memory = (base_memory){.realloc = reallocate, .user = user, .limit = limit};
    if (api_guarded(c, nothing, NULL) != BURIN_OK) {
        burin_context_free(c);
        return NULL;
    }
    return c;
}

void burin_context_free(burin_context *c) {
    if (c == NULL) {
        return;
    }
    base_arena_free(c->arena);
    if (c->memory.realloc != NULL) {
        (void)c->memory.realloc(c->memory.user, c, sizeof *c, 0);
    } else {
        free(c);
    }
}

void burin_context_reset(burin_context *c) {
    base_arena_free(c->arena);
    c->out_of_memory = false;
    clear(c);
}

size_t burin_diagnostic_count(const burin_context *c) {
    return c->diags.list.n + (c->out_of_memory ? 1 : 0);
}

burin_diagnostic burin_diagnostic_at(const burin_context *c, size_t i) {
    if (i >= c->diags.list.n) {
        return (burin_diagnostic){.severity = BURIN_ERROR, .message = "out of memory"};
    }
    const base_diag *d = &c->diags.list.at[i];
    return (burin_diagnostic){.severity = (burin_severity)d->severity,
                              .message = d->message,
                              .file = d->file,
                              .path = d->path,
                              .line = d->line,
                              .column = d->column,
                              .byte = d->byte,
                              .has_byte = d->has_byte};
}

typedef struct text_call {
    bool colour;
    const char *text;
} text_call;

static base_status diagnostics_text(burin_context *c, void *arguments) {
    text_call *call = arguments;
    base_text t = {.arena = c->arena};
    base_puts(&t, "");
    for (size_t i = 0; i < c->diags.list.n; i++) {
        base_diag_print(&t, &c->diags.list.at[i], call->colour);
    }
    if (c->diags.dropped > 0) {
        base_put(&t, "(and %zu more)\n", c->diags.dropped);
    }
    if (c->out_of_memory) {
        base_puts(&t, no_memory_text);
    }
    call->text = t.at != NULL ? t.at : "";
    return BASE_OK;
}

const char *burin_diagnostics_text(burin_context *c, bool colour) {
    text_call call = {.colour = colour};
    return api_guarded(c, diagnostics_text, &call) == BURIN_OK ? call.text : no_memory_text;
}

void burin_diagnostics_clear(burin_context *c) {
    c->diags = (base_diags){.arena = c->arena};
    c->out_of_memory = false;
}

const char *burin_dump_text(burin_context *c) {
    return c->dump.at;
}
