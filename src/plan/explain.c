/* explain.c - why the code of one operator is what it is.
 *
 * Takes a plan, and what a target said of its code. Gives a text: the operator's steps, of each stage the roles that were found, the form
 * that was asked for, why, and what was performed, and where its output lies. Decides nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/plan_private.h"

static const char *pattern_text(lang_pattern p) {
    switch (p) {
    case LANG_MAP:
        return "each element by itself";
    case LANG_MOVE:
        return "elements are moved";
    case LANG_CONTRACT:
        return "a sum of products with a shared factor";
    case LANG_DEPTHWISE:
        return "a sum of products without a shared factor";
    case LANG_WINDOW:
        return "a reduction over windows";
    case LANG_ROW:
        return "a reduction of an expression";
    case LANG_SCATTER:
        return "elements are put where an index says";
    case LANG_RECURRENT:
        return "a part of a recurrence";
    case LANG_OTHER:
        return "several reductions, or nested ones";
    }
    return "";
}

static const char *role_text(lang_role r) {
    switch (r) {
    case LANG_ROLE_M:
        return "of the input's factor (M)";
    case LANG_ROLE_N:
        return "of the constant factor (N)";
    case LANG_ROLE_BATCH:
        return "of both factors";
    case LANG_ROLE_K:
    case LANG_ROLE_K_A:
    case LANG_ROLE_K_B:
        return "summed over (K)";
    case LANG_ROLE_NONE:
    case LANG_ROLE_FREE:
        break;
    }
    return NULL;
}

static void put_roles(base_text *out, const lang_stage *s, const lang_roles *r) {
    base_put(out, "    roles      %s%s%s\n", pattern_text(r->pattern),
             r->mixed && r->pattern != LANG_WINDOW ? ", over windows" : "", r->guarded ? ", with borders" : "");
    static const lang_role order[] = {LANG_ROLE_M, LANG_ROLE_N, LANG_ROLE_BATCH, LANG_ROLE_K};
    bool sums = r->pattern == LANG_CONTRACT || r->pattern == LANG_DEPTHWISE;
    for (size_t i = 0; sums && i < sizeof order / sizeof order[0]; i++) {
        bool any = false;
        for (uint32_t v = 0; v < s->var_count; v++) {
            lang_role role = r->role[v] == LANG_ROLE_K_A || r->role[v] == LANG_ROLE_K_B ? LANG_ROLE_K : r->role[v];
            if (role == order[i]) {
                base_put(out, "%s %s %" PRId64, any ? "," : "               extents", s->vars[v].name,
                         s->vars[v].bound);
                any = true;
            }
        }
        if (any) {
            base_put(out, ": %s\n", role_text(order[i]));
        }
    }
}

static void put_asked(base_text *out, const plan_schedule *x) {
    base_put(out, "    asked      %s", plan_form_name(x->form));
    if (x->form == PLAN_CONTRACT || x->form == PLAN_DEPTHWISE) {
        base_put(out, ", %u points x %u channels, unrolled by %u%s", x->mr, x->nr, x->unroll,
                 x->hoist_zero ? ", the zero point in the first sums where no border acts" : "");
    }
    if (x->shared > 0) {
        base_put(out, ", the %u outer loops shared with the stages beside it", x->shared);
    }
    if (x->line_bytes > 0) {
        base_put(out, ", %" PRIu64 " bytes for copied points", x->line_bytes);
    }
    base_puts(out, "\n");
}

static void put_stages(base_text *out, base_arena *scratch, const plan_kernel *k) {
    const lang_program *p = k->program;
    lang_ranges *ranges = lang_ranges_new(scratch, p);
    for (size_t i = 0; i < p->stages.n; i++) {
        const lang_stage *s = &p->stages.at[i];
        const lang_tensor *t = &p->tensors.at[s->tensor];
        base_put(out, "  stage %s, %s", t->name, base_type_name(t->type));
        for (uint32_t d = 0; d < t->rank; d++) {
            base_put(out, "%s%" PRId64, d == 0 ? " " : "x", t->dim[d]);
        }
        base_puts(out, "\n");
        lang_roles roles = lang_roles_of(ranges, s);
        put_roles(out, s, &roles);
        put_asked(out, &k->schedules[i]);
    }
}

/* What a target made of the kernel. */
static void put_performed(base_text *out, const plan_flash *f, uint32_t kernel) {
    for (size_t i = 0; f != NULL && i < f->calls.n; i++) {
        if (f->calls.at[i].kernel != kernel) {
            continue;
        }
        const plan_flash_function *x = &f->functions.at[f->calls.at[i].function];
        base_put(out, "  performed  %s, about %" PRIu64 " bytes of code: %s", x->name, x->bytes, x->form);
        bool any = false;
        for (size_t j = 0; j < f->calls.n; j++) {
            if (f->calls.at[j].function == f->calls.at[i].function && f->calls.at[j].kernel != kernel) {
                base_put(out, "%s %" PRIu32, any ? "," : "; shared with step", f->calls.at[j].kernel);
                any = true;
            }
        }
        base_puts(out, "\n");
    }
}

static void put_output(base_text *out, base_arena *scratch, const plan_module *p, const plan_kernel *k) {
    for (size_t i = 0; i < k->program->outputs.n; i++) {
        const uint32_t number = k->tensor[k->program->outputs.at[i]];
        if (number == IR_NONE) {
            continue;
        }
        const plan_tensor *t = &p->tensors.at[number], *root = &p->tensors.at[t->root];
        base_put(out,
                 "  output     \"%s\", %s %s, %" PRIu64 " bytes at %" PRIu64 ", in use from step %" PRIu32
                 " to %" PRIu32,
                 base_printable(scratch, t->name, strlen(t->name), 60), base_type_name(t->type),
                 ir_shape_print(scratch, &t->shape), t->bytes, root->offset + t->root_offset, root->first, root->last);
        if (t->root != number) {
            base_put(out, "; bytes of \"%s\"", base_printable(scratch, root->name, strlen(root->name), 60));
        }
        base_puts(out, "\n");
    }
}

static bool stands_for(const plan_kernel *k, uint32_t id) {
    bool any = false;
    for (size_t i = 0; i < k->id_count; i++) {
        any = any || k->ids[i] == id;
    }
    return any;
}

base_status plan_explain(base_text *out, const plan_module *p, const plan_flash *flash, uint32_t id, base_diags *d) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    bool any = false;
    for (uint32_t i = 0; i < p->kernels.n; i++) {
        const plan_kernel *k = &p->kernels.at[i];
        if (!stands_for(k, id)) {
            continue;
        }
        any = true;
        base_put(out, "operator %" PRIu32 ", step %" PRIu32 ": %s", id, i, k->op);
        for (size_t n = 0, others = 0; n < k->id_count; n++) {
            if (k->ids[n] != id && k->ids[n] != IR_NONE) {
                base_put(out, "%s %" PRIu32, others++ > 0 ? "," : ", with operator", k->ids[n]);
            }
        }
        base_put(out, ", %" PRIu64 " MACs%s\n", k->macs,
                 k->cost > 0 ? base_printf(scratch, ", about %" PRIu64 " cycles", k->cost) : "");
        if (k->control == PLAN_COMPUTE) {
            put_stages(out, scratch, k);
            if (k->reason != NULL) {
                base_put(out, "  why        %s\n", k->reason);
            }
            put_performed(out, flash, i);
            put_output(out, scratch, p, k);
        }
    }
    base_arena_free(scratch);
    if (!any) {
        return base_error(d, NULL,
                          "no step stands for operator %" PRIu32
                          ": the model has none of that number, or what it computes is "
                          "constant or another's; burin plan lists those that are left",
                          id);
    }
    return BASE_OK;
}
