/* plan_private.h - what the files of room `plan` share. */
#ifndef BURIN_PLAN_PRIVATE_H
#define BURIN_PLAN_PRIVATE_H

#include "plan/plan.h"

/* Chooses the form and the numbers of every stage of a kernel (schedule.c). */
void plan_schedule_kernel(base_arena *arena, plan_kernel *k, const plan_options *o);
const char *plan_form_name(plan_form f);
const char *plan_role_name(plan_role r);

/* May the output of a kernel overwrite the input, while it runs? tensors of the kernel's program. */
bool plan_in_place(const plan_kernel *k, uint32_t input, uint32_t output);

/* Kernels and tensors are complete: finds what may share bytes, how long everything lives, and places it
 * (lifetimes.c). */
void plan_place_tensors(base_arena *arena, plan_module *p, bool share);

/* Generated from devices/ (scripts/devices.py). */
extern const plan_device plan_devices[];
extern const size_t plan_device_total;

#endif
