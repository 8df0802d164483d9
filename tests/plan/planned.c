/* planned.c - graphs in text form through plan_build, for cmocka's tests. */
#include "planned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static base_memory memory;
static base_guard guard;
base_arena *planned_arena;
base_diags planned_diags;

int planned_set_up(void **state) {
    (void)state;
    if (BASE_GUARD(&memory, &guard)) {
        return -1;
    }
    planned_arena = base_arena_new(&memory);
    planned_diags = (base_diags){.arena = planned_arena};
    return 0;
}

int planned_tear_down(void **state) {
    (void)state;
    base_arena_free(planned_arena);
    base_unguard(&memory, &guard);
    return 0;
}

plan_module *planned_for(const char *text, const char *device, unsigned level) {
    ir_model *m = NULL;
    plan_module *p = NULL;
    const plan_device *profile = plan_device_detect(planned_arena, plan_device_find(device));
    plan_options o = {.device = profile, .prefix = "m", .opt_level = level};
    base_status status = ir_parse(planned_arena, "m.ir", text, strlen(text), &m, &planned_diags);
    if (status == BASE_OK) {
        status = ir_verify(m, &planned_diags);
    }
    if (status == BASE_OK) {
        status = plan_build(planned_arena, ops_registry_new(planned_arena), m, &o, &p, &planned_diags);
    }
    if (status != BASE_OK) {
        fail_msg("%s", planned_diags.list.at[0].message);
    }
    return p;
}

plan_tensor *planned_output(const plan_module *p, size_t i) {
    assert_true(i < p->kernels.n);
    return &p->tensors.at[p->kernels.at[i].outputs[0]];
}

void planned_expect_fault(const plan_module *p, const char *part) {
    size_t before = planned_diags.list.n;
    assert_int_equal(plan_validate(p, &planned_diags), BASE_REFUSED);
    if (strstr(planned_diags.list.at[before].message, part) == NULL) {
        fail_msg("'%s' is not in '%s'", part, planned_diags.list.at[before].message);
    }
}
