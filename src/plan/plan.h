/* plan.h - face of room `plan`: everything that is decided between a graph and its code, as data.
 *
 * Takes a graph. Gives kernels (programs with their schedules) in order, every buffer with its place, totals with lower
 * bounds; as a struct, as a table for people, as <prefix>_plan.json. Decides; performs nothing: targets perform.
 * A machine and a device are passed in: plan includes no target.
 */
#ifndef BURIN_PLAN_H
#define BURIN_PLAN_H

#include "ops/ops.h"

/* ---- what code will run on: data, compiled from src/targets/c/machines and devices ---- */
typedef struct plan_memory {
    const char *name; /* a C identifier in small letters */
    uint64_t bytes;   /* 0: not limited */
    bool writable;
    const char *section; /* of the linker; NULL: ".bss.NAME" */
    uint64_t base;       /* its address, for people; 0: not known */
} plan_memory;

/* What each thing takes on a machine that does one after the other; word 0: there is no model of it. */
typedef struct plan_cycles {
    uint32_t word;          /* a sum, a comparison, a shift of 32 bits */
    uint32_t load, store;   /* with the step of their address */
    uint32_t multiply;      /* 32 x 32 -> 32 */
    uint32_t multiply_add;  /* the same, and a sum */
    uint32_t long_multiply; /* the high word of 32 x 32 */
    uint32_t divide;        /* of integers */
    uint32_t real;          /* a sum or product of real numbers */
    uint32_t loop;          /* one round: count, compare, branch */
} plan_cycles;

/* Registers and inner forms that schedules may count on. The lists of what a machine can do grow; nothing here names an
 * operator. */
typedef struct plan_machine {
    const char *name;
    uint32_t vector_bytes;   /* 0: scalar */
    uint32_t registers;      /* usable accumulators of a register tile: scalars, or vectors */
    uint32_t tile_m, tile_n; /* preferred register tile of a contraction (points x channels) */
    uint32_t depthwise_n;    /* channels worked on together without a shared factor */
    uint32_t unroll_k;
    bool wide_multiply; /* 32 x 32 -> 64 is one instruction or two */
    uint32_t alignment; /* of tensors in the arena, bytes */
    plan_cycles cycles;
} plan_machine;

typedef struct plan_device {
    const char *name, *description, *target; /* target: "c" */
    plan_machine machine;
    size_t memory_count;
    const plan_memory *memories; /* writable ones the fastest first */
    bool detected;               /* machine facts came from this host: they are written into the plan */
} plan_device;
const plan_device *plan_device_find(const char *name); /* generic, host, cortex-m0, cortex-m4 ...; NULL: none */
size_t plan_device_count(void);
const plan_device *plan_device_at(size_t i);
/* A profile that asks for it, with this host's facts in place of its own; any other profile as it is. */
const plan_device *plan_device_detect(base_arena *arena, const plan_device *device);

/* ---- schedules ---- */
/* What is chosen for: fewest cycles, or least flash, then RAM. */
typedef enum plan_goal { PLAN_LATENCY, PLAN_SIZE } plan_goal;

typedef enum plan_form {
    PLAN_ALIAS,     /* no code: the output is the input's bytes (reshape) */
    PLAN_NEST,      /* the loop nest of the definition, guards split where asked */
    PLAN_CONTRACT,  /* register tile mr x nr over (m, n), k loops inside, B packed [n/nr][k][nr] */
    PLAN_DEPTHWISE, /* nr channels together, taps inside, B packed [n/nr][tap][nr] */
    PLAN_FORM_COUNT
} plan_form;

/* One stage. Printed in the plan; only ever added to. Variables are numbers of the stage's variables. A schedule never
 * changes a result: a target that cannot do what is asked of a stage performs its nest. */
typedef struct plan_schedule {
    plan_form form;
    uint32_t order_count;
    uint8_t order[LANG_MAX_VARS]; /* output loops, outermost first */
    uint8_t n_var;                /* CONTRACT, DEPTHWISE: the channels of the register tile; 255: none */
    uint32_t mr, nr;              /* points (of the innermost loop without the channels) x channels */
    uint32_t unroll;              /* of the innermost reduction loop, where it divides its extent; 1: none */
    /* sum W(X+z) = sum WX + z sum W, the second sum folded into the bias, where no fill can act */
    bool hoist_zero;
    /* NEST: so many outer loops are one with those of stages group .. of the same group; 0: none are */
    uint32_t shared, group;
    uint32_t threads_var; /* NEST: the outermost loop is split by parallel-for; 255: it is not */
    /* CONTRACT: bytes of the plan tensor `lines`, where the tile's points may be copied first; 0: none */
    uint64_t line_bytes;
    uint32_t lines;
} plan_schedule;

/* Sub-graphs stand in the list of kernels, each call of one for itself; control kernels say where to go on. */
typedef enum plan_control {
    PLAN_COMPUTE, /* the program; then the next kernel */
    PLAN_IF,      /* the next kernel where the condition holds, else `jump` */
    PLAN_ELSE,    /* the end of what is done where it holds: `jump` */
    PLAN_WHILE,   /* the next kernel, another round, where the condition holds, else `jump`, behind the loop */
    PLAN_REPEAT,  /* the end of a round: `jump`, where the condition is computed again */
    PLAN_CONTROL_COUNT
} plan_control;

typedef struct plan_kernel {
    plan_control control;
    uint32_t condition;    /* IF, WHILE: plan tensor, one bool; IR_NONE: it always holds */
    uint32_t jump;         /* kernel; the number of kernels: the end */
    uint32_t loop;         /* WHILE, REPEAT: number of the loop; else IR_NONE */
    const ir_node *node;   /* the first of its nodes; of a copy that control needs: the control node */
    const ir_graph *graph; /* the node's */
    size_t id_count;
    const uint32_t *ids; /* operator ids in the input file, of all nodes it stands for */
    const char *op;      /* Burin's word */
    /* As instantiated: what the check evaluates; where it is open, that is the node for the extents of a run. */
    const lang_program *raw;
    bool open; /* an extent of an input is what a run decides: raw and program have counts as further inputs */
    const lang_program *program; /* folded, simplified, small stages substituted: what is emitted */
    /* program tensor -> plan tensor (IR_NONE: constants that plan did not place, absent inputs) */
    uint32_t *tensor;
    /* program's inputs and outputs -> plan tensor (IR_NONE: absent; a constant that plan did not place). raw's are the first
     * of them; behind the node's outputs there are what is tested and counted. */
    const uint32_t *inputs, *outputs;
    plan_schedule *schedules; /* one for each stage of program */
    uint64_t macs, cost;      /* multiply-accumulates; predicted cycles, of a loop one round (0: no model) */
    const char *reason;       /* why this form */
    bool hoisted;             /* sums of its recurrences are computed before them */
} plan_kernel;

typedef enum plan_role { PLAN_INPUT, PLAN_OUTPUT, PLAN_ACTIVATION, PLAN_SCRATCH, PLAN_CONSTANT, PLAN_STATE } plan_role;

typedef struct plan_tensor {
    uint32_t graph;        /* index of the model's graphs */
    uint32_t graph_tensor; /* of that graph; IR_NONE: scratch, or a constant that folding made */
    uint32_t state;        /* STATE: of the model's states; else IR_NONE */
    /* Of each extent that a run decides the plan tensor, one i64, that says what it is; else IR_NONE. shape has the most,
     * and strides and bytes are for that: only an output's elements are dense in what there is. */
    uint32_t count[IR_MAX_RANK];
    const char *name; /* printable */
    plan_role role;
    base_type type;
    ir_shape shape;
    ir_quant quant;
    uint64_t bytes;
    uint32_t alignment;
    uint32_t root; /* its own index, or the tensor whose bytes it shares at offset root_offset */
    uint64_t root_offset;
    uint32_t first, last; /* kernels during which its bytes are live; inputs from 0, outputs to the last */
    /* SCRATCH in one kernel alone, and of bytes of its own: the stages of it during which they are live; else 0, UINT32_MAX */
    uint32_t from, until;
    /* in the arena (roots of INPUT OUTPUT ACTIVATION SCRATCH), the state region, or the constants */
    uint64_t offset;
    uint32_t memory;  /* index of plan_device memories */
    const void *data; /* CONSTANT: contents as the graph has them; STATE: the first ones, NULL for zeros */
} plan_tensor;

/* An extent that a run decides: number `axis` of tensor `of`, which has room for the bound; i64 in tensor `tensor`. */
typedef struct plan_count {
    uint32_t tensor, of, axis;
    bool set; /* by the caller of a run, of an input; else by a kernel, of an output */
} plan_count;

/* One writable memory's part of the plan: offsets of its tensors are base and more. */
typedef struct plan_bank {
    uint32_t memory; /* of the device */
    uint64_t base, bytes, bound;
    const char *placement;
} plan_bank;

/* What the passes found of channels of integer tensors: how many there were, how many have one value in every run, how many are
 * computed no more; what that saved in multiply-accumulates and in bytes of the graph's constants. */
typedef struct plan_channels {
    uint64_t all, constant, dropped;
    uint64_t macs, bytes;
} plan_channels;

/* What is done beyond the nests as defined (moves.def). */
typedef enum plan_move {
#define MOVE(id, name, description) PLAN_MOVE_##id,
#include "plan/moves.def"
#undef MOVE
    PLAN_MOVE_COUNT
} plan_move;
const char *plan_move_name(plan_move m);
const char *plan_move_description(plan_move m);
/* A set of moves. */
typedef uint64_t plan_moves;
static inline bool plan_has(plan_moves set, plan_move m) {
    return (set >> m & 1) != 0;
}

typedef struct plan_module {
    base_arena *arena;
    const ir_model *model;
    const ir_graph *graph;
    const plan_device *device;
    const char *prefix; /* of every symbol, a C identifier */
    BASE_VEC(plan_tensor) tensors;
    BASE_VEC(plan_kernel) kernels;
    BASE_VEC(uint32_t) inputs, outputs; /* plan tensors, in graph order */
    BASE_VEC(plan_count) counts;        /* of inputs and outputs */
    uint32_t loops;                     /* how many loops there are */
    plan_moves without;                 /* moves that are not to be done */
    const char *without_passes;         /* nor these passes, for people, a blank between; NULL: none */
    uint64_t max_trips;                 /* rounds of a loop after which the run ends with an error; 0: no bound */
    plan_goal goal;
    const char *asked; /* the goal that was asked for: "latency", "size", "balanced", "accuracy" */
    bool generic; /* one function for the layers of one shape, with their numbers as its argument; else one for each */
    bool precise; /* sums of narrower floats are taken in f64 */
    /* Of the device's writable memories, in its order; the last has what is in no other, the states, and base 0. */
    BASE_VEC(plan_bank) banks;
    /* of that last bank; the bound: max over stages of live bytes (this order, whole tensors) */
    uint64_t arena_bytes, arena_bound;
    uint64_t state_bytes, constant_bytes;
    /* which order won: "by size" ... "by search"; with "optimal (this order, whole tensors)" where nothing is below */
    const char *placement;
    size_t moved; /* kernels that are not where the model has them, since the arena is smaller so */
    uint64_t structure_hash, weights_hash; /* apart, so that a plan fits a retrained network */
    uint64_t macs;
    plan_channels channels;
} plan_module;

/* A plan that was written before (replay.c). */
typedef struct plan_replay plan_replay;
/* Reads <prefix>_plan.json; file and text are borrowed. REFUSED with line and column. */
base_status plan_read(base_arena *arena, const char *file, const char *text, size_t n, const plan_replay **out,
                      base_diags *d);

/* A plan as it stands in a file: all borrowed. */
typedef struct plan_text {
    const char *file, *at;
    size_t n;
} plan_text;
/* A field that differs: where ("kernels[3] conv_2d [4].stages[0].mr"), and what each has; NULL: it has none. */
typedef struct plan_difference {
    const char *where, *a, *b;
} plan_difference;
typedef struct plan_differences {
    BASE_VEC(plan_difference) list; /* the first ten thousand */
    size_t count;
} plan_differences;
/* What differs between two plans (diff.c). only_plan: without what belongs to a file, a compiler or weights, for a plan that is to stay as it is.
 * REFUSED: one is no plan. */
base_status plan_diff(base_arena *arena, const plan_text *a, const plan_text *b, bool only_plan, plan_differences *out,
                      base_diags *d);

typedef struct plan_options {
    const plan_device *device;
    const char *prefix;
    const char *const *goals; /* language goals: "litert" */
    size_t goal_count;
    unsigned opt_level;         /* 0: nests as defined; 1: forms by role; 2: as 1 with twice the unrolling */
    plan_moves without;         /* moves that are not to be done */
    const char *without_passes; /* of plan_module */
    uint64_t max_trips;         /* of plan_module, as the next two */
    plan_goal goal;
    const char *asked; /* of plan_module, as the next two; NULL: goal by its name */
    bool generic, precise;
    plan_channels channels;
    const plan_replay *replay; /* whose order and places are taken; NULL: none */
} plan_options;

/* Builds the plan of the model's entry graph and of the graphs that it reaches; sums of recurrences are computed before them where this
 * machine is the device, or where the arena is no larger for it, nor the cycles more. Errors: unsupported operators (all listed), shapes that are not known. */
base_status plan_build(base_arena *arena, ops_registry *ops, const ir_model *m, const plan_options *o,
                       plan_module **out, base_diags *d);
/* Independent check of a plan: no two live tensors overlap, every offset aligned and inside, every schedule legal for
 * its program, every jump well nested, and what a loop needs in its next round still there. */
base_status plan_validate(const plan_module *p, base_diags *d);
/* What a module takes of flash, by parts: code as a target predicts it, constants as they are. */
typedef struct plan_flash_part {
    const char *name;
    uint64_t bytes;
    bool predicted;
} plan_flash_part;
typedef struct plan_flash_function {
    const char *name;
    uint32_t step; /* the first kernel that calls it */
    uint64_t bytes;
    const char *form; /* what was performed, for people */
} plan_flash_function;
typedef struct plan_flash_call {
    uint32_t kernel, function;
} plan_flash_call;
typedef struct plan_flash {
    BASE_VEC(plan_flash_part) parts;
    BASE_VEC(plan_flash_function) functions; /* of kernels */
    BASE_VEC(plan_flash_call) calls;
} plan_flash;

/* The table for people: per operator MACs, bytes, place, form; totals; RAM with its lower bound; constants; flash, or NULL. */
void plan_print(base_text *out, const plan_module *p, const plan_flash *flash);
/* Why the code of an operator is what it is: its steps, their stages' roles, forms and reasons, what was performed (flash; NULL:
 * nobody said), and where its output lies. REFUSED: no step stands for it. */
base_status plan_explain(base_text *out, const plan_module *p, const plan_flash *flash, uint32_t id, base_diags *d);
/* The memory map as an SVG picture. */
void plan_draw(base_text *out, const plan_module *p);
/* <prefix>_plan.json version 1 (docs/PLAN.md). check: what is written under "check", a JSON object text, or NULL for
 * checked: false. flash: NULL where nobody said. */
void plan_print_json(base_text *out, const plan_module *p, const plan_flash *flash, const char *check);

/* Placement alone, for tests: blocks with sizes and lifetimes get offsets. */
/* Bytes of a bank, with the states. */
uint64_t plan_bank_needs(const plan_module *p, size_t bank);
/* The bank of a tensor that is no constant. */
size_t plan_bank_of(const plan_module *p, const plan_tensor *t);
/* The offset of a tensor that is no constant in its memory, or in the state region. */
uint64_t plan_offset(const plan_module *p, const plan_tensor *t);
/* Bytes from the start of the last bank to the end of all: what one piece of memory for all of them takes. */
uint64_t plan_room(const plan_module *p);
/* BUDGET: a memory of the device is too small, with what does not fit. */
base_status plan_check_memories(const plan_module *p, base_diags *d);

typedef struct plan_block {
    uint64_t bytes;
    uint32_t first, last, alignment;
    uint64_t offset; /* result */
} plan_block;
typedef struct plan_placement {
    uint64_t peak;
    uint64_t bound;  /* the largest sum of bytes live in one step */
    bool optimal;    /* no placement has a lower peak: it is the bound, or a search has shown it */
    const char *how; /* which order won: "by size" ...; "by search" */
} plan_placement;
/* The best of several greedy orders; above the bound a search tries at most so many placements to get below it. */
plan_placement plan_place(base_arena *scratch, plan_block *blocks, size_t n, uint64_t most_placements);

#endif
