/* emit_size.c - what a module will take of flash, predicted from its texts; helpers that are called to take less.
 *
 * Takes emitted C. Gives bytes for a 32-bit machine with short instructions (Thumb-2). The factors are a fit to what gcc 12
 * makes of the functions of 80 networks for a Cortex-M4, with -O2 for goal latency and -Os for goal size: half of the functions are
 * within 17 % of it.
 */
#include <inttypes.h>
#include <string.h>

#include "targets/c/emit.h"

/* Bytes times 10: of a function, a call or cast of a name, an element, a loop, an operator. */
typedef struct c_factors {
    uint32_t function, call, element, loop, operation;
} c_factors;
static const c_factors factors[] = {
    [PLAN_LATENCY] = {105, 104, 75, 265, 1},
    [PLAN_SIZE] = {127, 73, 29, 121, 17},
};

uint64_t c_code_bytes(const char *text, plan_goal goal) {
    const c_factors *f = &factors[goal];
    const char *body = strchr(text, '\n');
    uint64_t sum = f->function;
    for (const char *c = body != NULL ? body + 1 : text; *c != 0; c++) {
        const char before = c > text ? c[-1] : ' ';
        if (*c == '(' && c_in_name(before)) {
            sum += f->call;
        } else if (*c == '[') {
            sum += f->element;
        } else if (*c == 'f' && strncmp(c, "for (", 5) == 0) {
            sum += f->loop;
        } else if (before == ' ' && strchr("+-*/%&|^<>=!", *c) != NULL) {
            sum += f->operation;
        }
    }
    return sum / 10;
}

/* ---- helpers ---- */

static const char inlined[] = "static inline ";
enum { OF_A_CALL = 20 };

/* The next helper, which begins at `at` or behind it; its end. */
static size_t helper_length(const char *at) {
    const char *next = strstr(at + 1, inlined);
    return next != NULL ? (size_t)(next - at) : strlen(at);
}

/* Bytes of one that is called; 0: it is inlined. */
static uint64_t called_bytes(const c_module *m, const char *at, size_t n) {
    if (strncmp(at, inlined, strlen(inlined)) != 0 || m->plan->goal != PLAN_SIZE) {
        return 0;
    }
    uint64_t bytes = c_code_bytes(base_printf(m->arena, "%.*s", (int)n, at), PLAN_SIZE);
    return bytes > OF_A_CALL ? bytes : 0;
}

void c_put_outlined(base_text *out, c_module *m, const char *helpers) {
    c_put(m, out,
          "#if defined(__GNUC__)\n#define $_OUTLINE static __attribute__((noinline, unused))\n#else\n#define $_OUTLINE "
          "static inline\n#endif\n\n");
    for (size_t n; *helpers != 0; helpers += n) {
        n = helper_length(helpers);
        size_t skip = called_bytes(m, helpers, n) > 0 ? strlen(inlined) : 0;
        c_put(m, out, skip > 0 ? "$_OUTLINE " : "");
        base_putn(out, helpers + skip, n - skip);
    }
}

static uint64_t helper_bytes(c_module *m) {
    base_text text = {.arena = m->arena};
    uint64_t bytes = 0;
    c_helpers_put(&text, m->helpers);
    const char *at = text.n > 0 ? text.at : "";
    for (size_t n; *at != 0; at += n) {
        n = helper_length(at);
        bytes += called_bytes(m, at, n);
    }
    return bytes;
}

/* ---- the module ---- */

static void add_part(c_module *m, plan_flash *f, const char *name, uint64_t bytes, bool predicted) {
    *BASE_PUSH(m->arena, &f->parts) = (plan_flash_part){name, bytes, predicted};
}

/* The functions that every module has, its names and shapes, and a call in the list of steps. */
static uint64_t interface_bytes(const c_module *m) {
    enum { EVERY = 350, OF_ONE = 100, STEP = 4, CALL = 6, ARGUMENT = 8 };
    uint64_t bytes = EVERY + OF_ONE * (m->plan->inputs.n + m->plan->outputs.n) + STEP * m->plan->kernels.n;
    for (size_t k = 0; k < m->plan->kernels.n; k++) {
        for (size_t i = 0; i < m->calls[k].list.n; i++) {
            bytes += CALL + ARGUMENT * m->calls[k].list.at[i].argument_count;
        }
    }
    return bytes;
}

enum { PACKED, FIRST, NUMBERS, OTHER, KINDS };

static uint8_t kind_of(const char *name) {
    return strcmp(name, C_PACKED) == 0    ? PACKED
           : strcmp(name, C_FIRST) == 0   ? FIRST
           : strcmp(name, C_NUMBERS) == 0 ? NUMBERS
                                          : OTHER;
}

/* What a constant is by what it is the argument of; what none of them is, states begin with, or is an output. */
static void add_constants(c_module *m, plan_flash *f) {
    static const char *const names[KINDS] = {"packed weights", "first sums", "numbers of layers", "other constants"};
    uint64_t bytes[KINDS] = {0};
    uint8_t *kind = BASE_NEWS(m->arena, uint8_t, m->data.n + 1);
    memset(kind, OTHER, m->data.n);
    for (size_t k = 0; k < m->plan->kernels.n; k++) {
        for (size_t i = 0; i < m->calls[k].list.n; i++) {
            const c_call *call = &m->calls[k].list.at[i];
            for (size_t a = 0; a < call->argument_count; a++) {
                const c_argument *x = &call->arguments[a];
                if (x->tensor == IR_NONE && x->data != IR_NONE && kind[x->data] == OTHER) {
                    kind[x->data] = kind_of(x->name);
                }
            }
        }
    }
    for (size_t k = 0; k < m->data.n; k++) {
        bytes[kind[k]] += m->data.at[k].size;
    }
    for (size_t k = 0; k < KINDS; k++) {
        add_part(m, f, names[k], bytes[k], false);
    }
}

const plan_flash *c_flash(c_module *m) {
    plan_flash *f = BASE_NEW(m->arena, plan_flash);
    uint64_t kernels = 0;
    for (uint32_t k = 0; k < m->functions.n; k++) {
        const c_function *x = &m->functions.at[k];
        uint64_t bytes = c_code_bytes(x->text, m->plan->goal);
        kernels += bytes;
        *BASE_PUSH(m->arena, &f->functions) =
            (plan_flash_function){base_printf(m->arena, "%s_k%" PRIu32, m->prefix, k), x->step, bytes, x->form};
    }
    for (uint32_t k = 0; k < m->plan->kernels.n; k++) {
        for (size_t i = 0; i < m->calls[k].list.n; i++) {
            *BASE_PUSH(m->arena, &f->calls) = (plan_flash_call){k, m->calls[k].list.at[i].function};
        }
    }
    add_part(m, f, "kernels", kernels, true);
    add_part(m, f, "helpers", helper_bytes(m), true);
    add_part(m, f, "interface and steps", interface_bytes(m), true);
    add_constants(m, f);
    return f;
}
