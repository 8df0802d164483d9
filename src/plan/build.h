/* build.h - what building a plan keeps: the plan so far, and the graph that is being put into it (private to plan). */
#ifndef BURIN_PLAN_BUILD_H
#define BURIN_PLAN_BUILD_H

#include "plan/plan_private.h"

/* A value that has to be copied to where it belongs after its kernel; from == to: none. */
typedef struct plan_pending {
    uint32_t from, to;
    bool dense; /* from is not */
} plan_pending;

typedef struct plan_builder {
    base_arena *arena;
    ops_registry *ops;
    const plan_options *o;
    plan_module *plan;
    const ir_graph *graph; /* that is being put into the plan */
    uint32_t *of;          /* its tensors in this call -> plan tensors; IR_NONE: not yet */
    uint32_t *states;      /* the model's states -> plan tensors */
    uint32_t **constants;  /* of each graph of the model: its constants -> plan tensors; NULL: none yet */
    uint32_t *copied;      /* graph is one copy (plan_add_copy): its tensors' plan tensors */
    uint64_t size;         /* tensors and nodes of all calls so far */
    uint64_t work;         /* words that may still be evaluated for shorter programs */
    base_diags *d;
} plan_builder;

/* n times IR_NONE. */
uint32_t *plan_no_tensors(base_arena *arena, size_t n);
/* The plan tensor of tensor g of the graph; made with that role if there is none. */
base_status plan_add_tensor(plan_builder *b, uint32_t g, plan_role role, uint32_t *out);
/* A new tensor like that one, for a value on its way. */
uint32_t plan_add_scratch(plan_builder *b, uint32_t like);
/* The kernel of a node of the graph that is no control node, and what it needs behind it. */
base_status plan_add_kernel(plan_builder *b, const ir_node *n);
/* A kernel that copies one plan tensor to another; cause: the node that wants it. */
base_status plan_add_copy(plan_builder *b, uint32_t from, uint32_t to, const ir_node *cause);

/* All nodes of the graph, control nodes with their graphs (flatten.c). Errors of all operators are collected. */
base_status plan_flatten(plan_builder *b);

/* The plan with all moves that the options leave (build.c); plan_build may build two. */
base_status plan_build_once(base_arena *arena, ops_registry *ops, const ir_model *m, const plan_options *o,
                            plan_module **out, base_diags *d);
/* Is a sum of a recurrence worth a tensor of its own? Where register tiles go over its steps, too. A lang_wanted, of plan_options
 * (hoist.c). */
bool plan_wants_before(const void *options, const lang_program *p, lang_ranges *ranges, const lang_stage *s);

#endif
