/* emit_external.c - C functions of the application's own, which a definition names (`extern NAME`) to be called in its place.
 *
 * Takes a module whose kernels are emitted. Gives prototypes for the header and calls for the steps. The definition stays in
 * the module, under P_BY_DEFINITION: the check builds it so.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

static const char *external_of(const c_module *m, uint32_t k) {
    const lang_program *p = m->plan->kernels.at[k].program;
    return p != NULL ? p->external : NULL;
}

static c_argument argument_of(c_module *m, const plan_kernel *kernel, uint32_t tensor, bool written) {
    if (tensor == IR_NONE) {
        return (c_argument){.tensor = IR_NONE, .type = BASE_NONE};
    }
    const lang_tensor *t = &kernel->program->tensors.at[tensor];
    c_argument a = {.tensor = tensor, .type = t->type, .name = t->name, .written = written};
    if (t->data != NULL) {
        uint64_t n = 1;
        for (uint32_t i = 0; i < t->rank; i++) {
            n *= (uint64_t)t->dim[i];
        }
        a.tensor = IR_NONE;
        a.data = c_data_add(m, t->type, t->data, n);
    }
    return a;
}

/* "const float *X, float *Y, const int32_t *extents" */
static const char *signature_of(c_module *m, uint32_t k) {
    base_text t = {.arena = m->arena};
    const c_kernel_calls *calls = &m->calls[k];
    for (size_t i = 0; i < calls->argument_count; i++) {
        const c_argument *a = &calls->arguments[i];
        if (a->type == BASE_NONE) {
            base_put(&t, "const void *absent%zu, ", i);
        } else {
            base_put(&t, "%s%s *%s, ", a->written ? "" : "const ", c_storage_type(a->type), a->name);
        }
    }
    base_puts(&t, "const int32_t *extents");
    return t.at;
}

/* The first kernel before k that calls the same function; k: none. */
static uint32_t first_of(const c_module *m, uint32_t k) {
    uint32_t i = 0;
    while (i < k && (external_of(m, i) == NULL || strcmp(external_of(m, i), external_of(m, k)) != 0)) {
        i++;
    }
    return i;
}

base_status c_external_note(c_module *m) {
    for (uint32_t k = 0; k < m->plan->kernels.n; k++) {
        const plan_kernel *kernel = &m->plan->kernels.at[k];
        const lang_program *p = kernel->program;
        if (external_of(m, k) == NULL) {
            continue;
        }
        c_argument *list = BASE_NEWS(m->arena, c_argument, p->inputs.n + p->outputs.n + 1);
        for (size_t i = 0; i < p->inputs.n; i++) {
            list[i] = argument_of(m, kernel, p->inputs.at[i], false);
        }
        for (size_t i = 0; i < p->outputs.n; i++) {
            list[p->inputs.n + i] = argument_of(m, kernel, p->outputs.at[i], true);
        }
        m->calls[k].arguments = list;
        m->calls[k].argument_count = p->inputs.n + p->outputs.n;
        uint32_t first = first_of(m, k);
        if (first < k && strcmp(signature_of(m, first), signature_of(m, k)) != 0) {
            base_place place = {.file = m->plan->model->file};
            return base_error(m->diags, &place, "extern %s is void(%s) for %s, and void(%s) for %s: give it two names",
                              p->external, signature_of(m, first), m->plan->kernels.at[first].op, signature_of(m, k),
                              kernel->op);
        }
    }
    return BASE_OK;
}

bool c_external_alone(const c_module *m, uint32_t function) {
    if (external_of(m, m->functions.at[function].step) == NULL) {
        return false; /* almost always */
    }
    for (uint32_t k = 0; k < m->plan->kernels.n; k++) {
        for (size_t i = 0; i < m->calls[k].list.n; i++) {
            if (m->calls[k].list.at[i].function == function && external_of(m, k) == NULL) {
                return false;
            }
        }
    }
    return true;
}

void c_external_put_prototypes(base_text *t, c_module *m) {
    bool any = false;
    for (uint32_t k = 0; k < m->plan->kernels.n; k++) {
        if (external_of(m, k) == NULL || first_of(m, k) < k) {
            continue;
        }
        if (!any) {
            c_put(
                m, t,
                "/* Functions of the application's own, called in place of the definitions that name them: inputs and "
                "outputs, none of which overlap,\n * and the extents of all of them, one behind the other. With "
                "$_BY_DEFINITION defined the module does without them. */\n");
        }
        any = true;
        base_put(t, "void %s(%s); /* %s */\n", external_of(m, k), signature_of(m, k), m->plan->kernels.at[k].op);
    }
    base_puts(t, any ? "\n" : "");
}

static void put_extents(base_text *t, const lang_program *p) {
    const char *comma = "";
    for (size_t i = 0; i < p->inputs.n + p->outputs.n; i++) {
        uint32_t tensor = i < p->inputs.n ? p->inputs.at[i] : p->outputs.at[i - p->inputs.n];
        for (uint32_t k = 0; tensor != IR_NONE && k < p->tensors.at[tensor].rank; k++) {
            base_put(t, "%s%" PRId64, comma, p->tensors.at[tensor].dim[k]);
            comma = ", ";
        }
    }
    base_puts(t, *comma ? "" : "0");
}

void c_external_put_call(base_text *t, c_module *m, uint32_t k) {
    const plan_kernel *kernel = &m->plan->kernels.at[k];
    const c_kernel_calls *calls = &m->calls[k];
    base_puts(t, "        {\n            static const int32_t extents[] = {");
    put_extents(t, kernel->program);
    base_put(t, "};\n            %s(", kernel->program->external);
    for (size_t i = 0; i < calls->argument_count; i++) {
        const c_argument *a = &calls->arguments[i];
        base_put(t, "%s, ", a->type == BASE_NONE ? "NULL" : c_pointer_text(m, kernel, a));
    }
    base_puts(t, "extents);\n        }\n");
}
