/* planned.h - what the tests of plans share: a graph in text form, its plan, and faults that the check of a plan finds. */
#ifndef BURIN_TESTS_PLANNED_H
#define BURIN_TESTS_PLANNED_H

#include "plan/plan.h"

extern base_arena *planned_arena; /* of the test that runs */
extern base_diags planned_diags;

int planned_set_up(void **state);
int planned_tear_down(void **state);

/* The plan of a graph for a device ("host": as it is here); the test fails where there is none. */
plan_module *planned_for(const char *text, const char *device, unsigned level);
/* Of kernel i the output. */
plan_tensor *planned_output(const plan_module *p, size_t i);
/* plan_validate refuses the plan, and says so. */
void planned_expect_fault(const plan_module *p, const char *part);

#endif
