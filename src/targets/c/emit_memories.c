/* emit_memories.c - a module whose tensors lie in several memories: pointers into each, and how a program gives them.
 *
 * Takes a plan with several banks. Gives macros with the size and section of each, P_init_memories that takes one piece for each, and
 * P_init that takes one for all, as modules with one memory have it. Of such a module everything else is the same.
 */
#include <ctype.h>
#include <inttypes.h>

#include "targets/c/emit.h"

bool c_has_memories(const c_module *m) {
    return m->plan->banks.n > 1;
}

static const plan_memory *memory_of(const c_module *m, size_t bank) {
    return &m->plan->device->memories[m->plan->banks.at[bank].memory];
}

static bool is_rest(const c_module *m, size_t bank) {
    return bank + 1 == m->plan->banks.n;
}

static const char *upper(const c_module *m, size_t bank) {
    char *name = base_strdup(m->arena, memory_of(m, bank)->name);
    for (char *c = name; *c != 0; c++) {
        *c = (char)toupper((unsigned char)*c);
    }
    return name;
}

const char *c_place_text(const c_module *m, const plan_tensor *t, const char *from) {
    const plan_tensor *root = &m->plan->tensors.at[t->root];
    const size_t bank =
        root->role == PLAN_STATE || !c_has_memories(m) ? m->plan->banks.n - 1 : plan_bank_of(m->plan, root);
    if (!c_has_memories(m) || is_rest(m, bank)) {
        return base_printf(m->arena, "%sarena + %" PRIu64, from, c_place_of(m, t));
    }
    return base_printf(m->arena, "%smemory_%s + %" PRIu64, from, memory_of(m, bank)->name, plan_offset(m->plan, t));
}

void c_put_memory_members(base_text *t, const c_module *m) {
    for (size_t i = 0; i + 1 < m->plan->banks.n; i++) {
        base_put(t, "    uint8_t *memory_%s;\n", memory_of(m, i)->name);
    }
}

void c_put_memory_locals(base_text *t, const c_module *m) {
    for (size_t i = 0; i + 1 < m->plan->banks.n; i++) {
        const char *name = memory_of(m, i)->name;
        base_put(t, "    uint8_t *memory_%s = model->memory_%s;\n", name, name);
    }
    for (size_t i = 0; i + 1 < m->plan->banks.n; i++) {
        base_put(t, "    (void)memory_%s;\n", memory_of(m, i)->name);
    }
}

void c_put_memory_macros(base_text *t, c_module *m) {
    if (!c_has_memories(m)) {
        return;
    }
    c_put(m, t, "#define $_MEMORY_COUNT %zu\n", m->plan->banks.n);
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        const plan_memory *x = memory_of(m, i);
        c_put(m, t, "#define $_MEMORY_%s_BYTES %" PRIu64 "\n", upper(m, i), plan_bank_needs(m->plan, i));
        if (x->section != NULL) {
            c_put(m, t, "#define $_MEMORY_%s_SECTION \"%s\"\n", upper(m, i), x->section);
        } else {
            c_put(m, t, "#define $_MEMORY_%s_SECTION \".bss.%s\"\n", upper(m, i), x->name);
        }
    }
}

/* ", void *tcm, size_t tcm_bytes" */
static void put_parameters(base_text *t, const c_module *m) {
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        base_put(t, ", void *%s, size_t %s_bytes", memory_of(m, i)->name, memory_of(m, i)->name);
    }
    base_puts(t, m->options->weights_blob ? ", const void *blob, size_t blob_bytes)" : ")");
}

void c_put_memory_declarations(base_text *t, c_module *m) {
    if (!c_has_memories(m)) {
        return;
    }
    c_put(m, t,
          "/* The same with a piece of each memory for itself, aligned to $_ARENA_ALIGNMENT. */\n$_status "
          "$_init_memories($_model *model");
    put_parameters(t, m);
    c_put(m, t,
          ";\n\n/* $_MEMORIES; defines such pieces, each in its section, and $_INIT_MEMORIES initialises a model in "
          "them. */\n"
          "#if defined(__GNUC__) && defined(__ELF__)\n#define $_IN_SECTION(name) "
          "__attribute__((section(name), aligned(16)))\n"
          "#elif defined(__GNUC__)\n#define $_IN_SECTION(name) __attribute__((aligned(16)))\n#else\n#define "
          "$_IN_SECTION(name)\n#endif\n#define $_MEMORIES");
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        c_put(m, t, " \\\n    static uint8_t $_memory_%s[%s%s%s] $_IN_SECTION($_MEMORY_%s_SECTION)%s",
              memory_of(m, i)->name,
              plan_bank_needs(m->plan, i) > 0 ? base_printf(m->arena, "%s_MEMORY_", m->prefix) : "1",
              plan_bank_needs(m->plan, i) > 0 ? upper(m, i) : "", plan_bank_needs(m->plan, i) > 0 ? "_BYTES" : "",
              upper(m, i), is_rest(m, i) ? "" : ";");
    }
    const bool blob = m->options->weights_blob;
    c_put(m, t, "\n#define $_INIT_MEMORIES(model%s) $_init_memories((model)", blob ? ", blob, blob_bytes" : "");
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        c_put(m, t, ", $_memory_%s, sizeof $_memory_%s", memory_of(m, i)->name, memory_of(m, i)->name);
    }
    base_puts(t, blob ? ", (blob), (blob_bytes))\n\n" : ")\n\n");
}

void c_put_memory_checks(base_text *t, c_module *m) {
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        const char *name = memory_of(m, i)->name, *any = plan_bank_needs(m->plan, i) > 0 ? upper(m, i) : NULL;
        if (any == NULL && !is_rest(m, i)) {
            base_put(t, "    (void)%s_bytes;\n", name);
        } else if (any == NULL) {
            base_put(t, "    (void)%s_bytes;\n    if (%s == NULL) {\n        %s = model;\n    }\n", name, name, name);
        } else {
            c_put(
                m, t,
                "    if (%s == NULL) {\n        return $_ERROR_NULL;\n    }\n    if (%s_bytes < $_MEMORY_%s_BYTES) {\n "
                "       "
                "return $_ERROR_ARENA_BYTES;\n    }\n"
                "    if ((uintptr_t)%s %% $_ARENA_ALIGNMENT != 0) {\n        return $_ERROR_ARENA_ALIGNMENT;\n    }\n",
                name, name, any, name);
        }
    }
}

void c_put_memory_pointers(base_text *t, const c_module *m) {
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        const char *name = memory_of(m, i)->name;
        if (is_rest(m, i)) {
            base_put(t, "    model->arena = (uint8_t *)%s;\n", name);
        } else {
            base_put(t, "    model->memory_%s = (uint8_t *)%s;\n", name, name);
        }
    }
}

void c_put_memory_init(base_text *t, c_module *m) {
    c_put(m, t, "$_status $_init_memories($_model *model");
    put_parameters(t, m);
    base_puts(t, " {\n");
}

void c_put_memory_one(base_text *t, c_module *m) {
    const bool blob = m->options->weights_blob;
    c_put(m, t,
          "$_status $_init%s($_model *model, void *arena, size_t bytes%s) {\n    uint8_t *all = (uint8_t *)arena;\n"
          "    if (arena == NULL) {\n        return $_ERROR_NULL;\n    }\n    if (bytes < $_ARENA_BYTES) {\n        "
          "return "
          "$_ERROR_ARENA_BYTES;\n    }\n    return $_init_memories(model",
          blob ? "_weights" : "", blob ? ", const void *blob, size_t blob_bytes" : "");
    for (size_t i = 0; i < m->plan->banks.n; i++) {
        const uint64_t base = plan_bank_needs(m->plan, i) > 0 ? m->plan->banks.at[i].base : 0;
        c_put(m, t, ", all + %" PRIu64 ", $_MEMORY_%s_BYTES", base, upper(m, i));
    }
    base_puts(t, blob ? ", blob, blob_bytes);\n}\n\n" : ");\n}\n\n");
}
