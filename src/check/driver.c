/* driver.c - builds an emitted module into a small program and runs it.
 *
 * Takes a plan. Gives the bytes that the module computes: its outputs, or every step's inputs and outputs, in as many
 * runs as wanted. The program reads the inputs from stdin and writes to stdout; the arena is filled with a pattern first,
 * so that nothing relies on zeros.
 */
#include <inttypes.h>
#include <string.h>

#include "check/check_private.h"

#define HOST_FLAGS "-std=c99 -O2"

static bool is_constant(const plan_tensor *t) {
    return t->role == PLAN_CONSTANT;
}

size_t check_traced(const plan_module *p, const plan_kernel *k, bool is_input, uint32_t *out, size_t max) {
    const lang_program *prog = k->program;
    size_t count = is_input ? prog->inputs.n : prog->outputs.n, n = 0;
    for (size_t i = 0; i < count && n < max; i++) {
        uint32_t t = is_input ? prog->inputs.at[i] : prog->outputs.at[i];
        if (t != IR_NONE && k->tensor[t] != IR_NONE && !is_constant(&p->tensors.at[k->tensor[t]])) {
            out[n++] = k->tensor[t];
        }
    }
    return n;
}

static void put_writes(base_text *t, const plan_module *p, bool is_input) {
    base_puts(t, "            switch (step) {\n");
    for (size_t k = 0; k < p->kernels.n; k++) {
        uint32_t list[64];
        size_t n = check_traced(p, &p->kernels.at[k], is_input, list, 64);
        if (n > 0) {
            base_put(t, "            case %zu:\n", k);
        }
        for (size_t i = 0; i < n; i++) {
            const plan_tensor *x = &p->tensors.at[list[i]];
            uint64_t base = p->tensors.at[x->root].role == PLAN_STATE ? (p->arena_bytes + 15) / 16 * 16 : 0;
            base_put(t, "                put(arena + %" PRIu64 ", %" PRIu64 ");\n", base + x->offset, x->bytes);
        }
        base_puts(t, n > 0 ? "                break;\n" : "");
    }
    base_puts(t, "            default:\n                break;\n            }\n");
}

/* the program's exit status when there is no room for arena or weights, and when a loop passes its bound */
enum { NO_ROOM = 9, ENDLESS = 13 };

/* Loops may go on longer than anybody waits: then so much of them is looked at. */
#define MOST_STEPS 1000000u
#define MOST_BYTES (UINT64_C(1) << 28)

static void put_traced_run(base_text *t, const plan_module *p) {
    const char *x = p->prefix;
    base_puts(t, "        while (!done) {\n            unsigned step = (unsigned)model.next;\n");
    if (p->loops > 0) {
        base_put(t,
                 "            if (++steps > %uu || traced > %" PRIu64 "u) {\n                put_step(%" PRIu32
                 "u);\n                return fflush(stdout) != 0;\n            }\n",
                 MOST_STEPS, MOST_BYTES, CHECK_STOPPED);
    }
    base_puts(t, "            put_step(step);\n");
    put_writes(t, p, true);
    base_put(t, "            status = %s_step(&model, &done);\n", x);
    if (p->loops > 0 && p->max_trips > 0) {
        base_put(t,
                 "            if (status == %s_ERROR_TRIPS) {\n                put_step(%" PRIu32
                 "u);\n                return fflush(stdout) != 0;\n            }\n",
                 x, CHECK_TRIPS);
    }
    base_put(t,
             "            if (status == %s_ERROR_INDEX) {\n                put_step(%" PRIu32
             "u);\n                return fflush(stdout) != 0;\n            }\n",
             x, CHECK_INDEX);
    base_put(t,
             "            if (status != %s_OK) {\n                return fail(status);\n            }\n"
             "            put_step(step);\n",
             x);
    put_writes(t, p, false);
    base_put(t, "        }\n        put_step(%" PRIu32 "u);\n", CHECK_DONE);
}

/* Constants of more than this the module that is built reads from a file: as C text a compiler needs minutes and gigabytes for
 * them. */
#define MOST_TEXT (UINT64_C(1) << 20)

static void put_init(base_text *t, const char *x, bool blob) {
    if (blob) {
        base_put(t,
                 "    unsigned char *blob = malloc(%s_WEIGHTS_BYTES + 16u);\n"
                 "    FILE *file = fopen(\"%s_weights.bin\", \"rb\");\n"
                 "    while (blob != NULL && (size_t)blob %% 16) {\n        blob++;\n    }\n"
                 "    if (blob == NULL) {\n        return %d;\n    }\n"
                 "    if (file == NULL || fread(blob, 1, %s_WEIGHTS_BYTES, file) != %s_WEIGHTS_BYTES) {\n"
                 "        return 8;\n    }\n",
                 x, x, NO_ROOM, x, x);
    }
    /* not an array: compilers place none of 2 GB and more */
    base_put(t, "    room = malloc((size_t)%s_ARENA_BYTES + %s_ARENA_ALIGNMENT);\n", x, x);
    base_put(t, "    if (room == NULL) {\n        return %d;\n    }\n    arena = room;\n", NO_ROOM);
    base_put(t, "    while ((size_t)arena %% %s_ARENA_ALIGNMENT) {\n        arena++;\n    }\n", x);
    base_put(t, "    memset(arena, 0xa5, %s_ARENA_BYTES);\n    if (%s_init%s(&model, arena, %s_ARENA_BYTES", x, x,
             blob ? "_weights" : "", x);
    if (blob) {
        base_put(t, ", blob, %s_WEIGHTS_BYTES", x);
    }
    base_put(t, ") != %s_OK) {\n        return 10;\n    }\n", x);
}

static char *driver_text(base_arena *arena, const plan_module *p, bool trace, bool blob) {
    base_text t = {.arena = arena};
    const char *x = p->prefix;
    base_put(&t, "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"%s.h\"\n", x);
    base_put(&t, "static unsigned char *room;\nstatic %s_model model;\n", x);
    base_puts(&t,
              "static unsigned long long traced, steps;\n"
              "static void put(const void *bytes, size_t n) {\n    fwrite(bytes, 1, n, stdout);\n    traced += n;\n}\n"
              "static void put_step(unsigned long step) {\n    unsigned char bytes[4];\n    int i;\n"
              "    for (i = 0; i < 4; i++) {\n        bytes[i] = (unsigned char)(step >> 8 * i);\n    }\n"
              "    put(bytes, 4);\n}\n");
    base_put(&t,
             "static int fail(%s_status status) {\n    fprintf(stderr, \"%%s\", %s_status_text(status));\n    return "
             "status == %s_ERROR_TRIPS ? %d : 12;\n}\n",
             x, x, x, ENDLESS);
    for (size_t i = 0, first = p->counts.n; i < p->counts.n; i++) {
        first = p->counts.at[i].set && i < first ? i : first;
        if (i == first) {
            base_put(
                &t,
                "static %s_status set_dim(size_t i) {\n    unsigned char b[4];\n    if (fread(b, 1, 4, stdin) != 4) {\n"
                "        return %s_ERROR_DIM;\n    }\n    return %s_set_dim(&model, i, (int32_t)(b[0] | (unsigned)b[1] "
                "<< 8 | "
                "(unsigned)b[2] << 16 | (unsigned)b[3] << 24));\n}\n",
                x, x, x);
        }
    }
    base_puts(&t, "int main(int argc, char **argv) {\n    unsigned char *arena;\n"
                  "    long run, runs = argc > 1 ? atol(argv[1]) : 1;\n");
    put_init(&t, x, blob);
    base_put(&t, "    for (run = 0; run < runs; run++) {\n        int done = 0;\n        %s_status status;\n", x);
    for (size_t i = 0; i < p->counts.n; i++) {
        if (p->counts.at[i].set) {
            base_put(&t, "        if (set_dim(%zu) != %s_OK) {\n            return 11;\n        }\n", i, x);
        }
    }
    for (size_t i = 0; i < p->inputs.n; i++) {
        uint64_t bytes = p->tensors.at[p->inputs.at[i]].bytes;
        base_put(&t,
                 "        if (%" PRIu64 " > 0 && fread(%s_input(&model, %zu), 1, %" PRIu64 ", stdin) != %" PRIu64
                 ") {\n            return 11;\n        }\n",
                 bytes, x, i, bytes, bytes);
    }
    if (trace) {
        put_traced_run(&t, p);
    } else {
        base_put(
            &t,
            "        (void)done;\n        status = %s_run(&model);\n        if (status != %s_OK) {\n            return "
            "fail(status);\n        }\n",
            x, x);
    }
    for (size_t i = 0; i < p->outputs.n; i++) {
        base_put(&t, "        put(%s_output(&model, %zu), %" PRIu64 ");\n", x, i,
                 p->tensors.at[p->outputs.at[i]].bytes);
    }
    for (size_t i = 0; i < p->counts.n && !trace; i++) {
        base_put(&t, "        put_step((unsigned long)%s_dim(&model, %zu));\n", x, i);
    }
    base_puts(&t, "    }\n    return fflush(stdout) != 0;\n}\n");
    return t.at;
}

static bool is_source(const char *name) {
    size_t n = strlen(name);
    return n > 2 && strcmp(name + n - 2, ".c") == 0;
}

/* The module did not build. With a compiler that cannot build the least program either, that says nothing of the
 * module. */
static base_status build_failed(base_arena *arena, const char *folder, const char *compiler, check_process built,
                                base_diags *d) {
    static const char least[] = "int main(void) { return 0; }\n";
    const base_output_file file = {.name = "burin_least.c", .bytes = least, .size = sizeof least - 1};
    const char *argv[] = {
        check_program(arena, compiler), "-std=c99", "-O2", "-w", "-o", "burin_least", file.name, "-lm", NULL};
    const char *said = built.text[0] != 0
                           ? base_printf(arena, ": %s", built.text)
                           : base_printf(arena, ": it ended with status %d and said nothing", built.status);
    base_status status = base_files_write(arena, folder, &file, 1, true, d);
    if (status != BASE_OK) {
        return status;
    }
    if (check_spawn(arena, folder, argv, NULL, NULL).status != 0) {
        return base_error(d, NULL, "%s cannot build even an empty main%s; is it a working C compiler?", compiler, said);
    }
    base_error(d, NULL, "the emitted C does not compile with %s%s", compiler, said);
    return BASE_WRONG;
}

base_status check_build_module(base_arena *arena, const plan_module *plan, const compile_options *o,
                               const char *compiler, bool trace, check_build *out, base_diags *d) {
    target_files files = {0};
    const bool blob = plan->constant_bytes > MOST_TEXT;
    target_options t = {.layout = "folder", .weights_blob = blob};
    BASE_VEC(const char *) argv = {0};
    base_status status = compile_emit(arena, o, plan, plan->model, &t, &files, d);
    if (status != BASE_OK) {
        return status;
    }
    char *folder = check_temporary_folder(arena, d);
    if (folder == NULL) {
        return BASE_IO;
    }
    const char *main_text = driver_text(arena, plan, trace, blob);
    *BASE_PUSH(arena, &files.list) =
        (base_output_file){.name = "burin_driver.c", .bytes = main_text, .size = strlen(main_text)};
    status = base_files_write(arena, folder, files.list.at, files.list.n, true, d);
    if (status != BASE_OK) {
        return status;
    }
    const char *fixed[] = {check_program(arena, compiler), "-std=c99", "-O2", "-w", "-o", "burin_driver"};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        *BASE_PUSH(arena, &argv) = fixed[i];
    }
    for (size_t i = 0; i < files.list.n; i++) {
        if (is_source(files.list.at[i].name)) {
            *BASE_PUSH(arena, &argv) = files.list.at[i].name;
        }
    }
    *BASE_PUSH(arena, &argv) = base_printf(arena, "-D%s_BY_DEFINITION", plan->prefix);
    *BASE_PUSH(arena, &argv) = "-lm";
    *BASE_PUSH(arena, &argv) = NULL;
    check_process built = check_spawn(arena, folder, argv.at, NULL, NULL);
    if (built.status != 0) {
        return build_failed(arena, folder, compiler, built, d);
    }
    *out = (check_build){.plan = plan, .folder = folder, .compiler = compiler, .flags = HOST_FLAGS, .trace = trace};
    return BASE_OK;
}

size_t check_input_of(const plan_module *p, const plan_count *count) {
    size_t i = 0;
    while (i < p->inputs.n && p->inputs.at[i] != count->of) {
        i++;
    }
    return i;
}

/* What is set, then the inputs, with zeros behind what there is. */
static void put_run_inputs(base_text *in, const plan_module *p, const void *const *inputs, const ir_shape *shapes) {
    for (size_t k = 0; k < p->counts.n; k++) {
        const plan_count *count = &p->counts.at[k];
        if (count->set) {
            const uint64_t n = (uint64_t)shapes[check_input_of(p, count)].dim[count->axis];
            for (unsigned shift = 0; shift < 32; shift += 8) {
                base_putn(in, &(unsigned char){(unsigned char)(n >> shift)}, 1);
            }
        }
    }
    for (size_t i = 0; i < p->inputs.n; i++) {
        const plan_tensor *t = &p->tensors.at[p->inputs.at[i]];
        uint64_t n = 0, bytes = 0;
        (void)(ir_shape_elements(&shapes[i], &n) && base_type_bytes(t->type, n, &bytes));
        base_putn(in, inputs[i], (size_t)bytes);
        for (; bytes < t->bytes; bytes++) {
            base_putn(in, "", 1);
        }
    }
}

base_status check_run_module(base_arena *arena, const check_build *b, size_t runs, const void *const *inputs,
                             const ir_shape *shapes, const uint8_t **bytes, size_t *size, base_diags *d) {
    const plan_module *p = b->plan;
    base_text in = {.arena = arena};
    for (size_t i = 0; i < runs; i++) {
        put_run_inputs(&in, p, inputs + i * p->inputs.n, shapes + i * p->inputs.n);
    }
    base_output_file file = {.name = "input.bin", .bytes = in.at, .size = in.n};
    base_status status = base_files_write(arena, b->folder, &file, 1, true, d);
    if (status != BASE_OK) {
        return status;
    }
    const char *argv[] = {"./burin_driver", base_printf(arena, "%zu", runs), NULL};
    check_process ran = check_spawn(arena, b->folder, argv, "input.bin", "output.bin");
    if (ran.status == ENDLESS) {
        return base_error(d, NULL, "%s: a loop goes on after %" PRIu64 " rounds", p->model->file, p->max_trips);
    }
    if (ran.status == NO_ROOM) {
        return base_error(d, NULL,
                          "there is no memory to run what was emitted: an arena of %" PRIu64 " bytes, %" PRIu64
                          " bytes of constants; --no-check leaves the check out",
                          p->arena_bytes + p->state_bytes, p->constant_bytes);
    }
    if (ran.status != 0) {
        base_error(d, NULL, "the emitted program failed (status %d): %s", ran.status, ran.text);
        return BASE_WRONG;
    }
    base_file out;
    status = base_file_read(arena, base_printf(arena, "%s/output.bin", b->folder), &out, d);
    *bytes = out.at;
    *size = out.size;
    return status;
}

/* What the program writes of a run: the outputs, then the dimensions that data decided. */
static size_t run_bytes(const plan_module *p) {
    size_t bytes = 4 * p->counts.n;
    for (size_t i = 0; i < p->outputs.n; i++) {
        bytes += (size_t)p->tensors.at[p->outputs.at[i]].bytes;
    }
    return bytes;
}

static size_t take_run(const plan_module *p, const uint8_t *bytes, void *const *outputs, ir_shape *shapes) {
    size_t at = 0;
    for (size_t i = 0; i < p->outputs.n; i++) {
        size_t n = (size_t)p->tensors.at[p->outputs.at[i]].bytes;
        memcpy(outputs[i], bytes + at, n);
        at += n;
        shapes[i] = p->tensors.at[p->outputs.at[i]].shape;
    }
    for (size_t k = 0; k < p->counts.n; k++, at += 4) {
        for (size_t i = 0; i < p->outputs.n; i++) {
            if (p->outputs.at[i] == p->counts.at[k].of && !p->counts.at[k].set) {
                shapes[i].dim[p->counts.at[k].axis] = (int64_t)base_load(BASE_U32, bytes + at, 0).u;
            }
        }
    }
    return at;
}

base_status check_run_emitted(base_arena *arena, const plan_module *plan, const compile_options *o,
                              const char *compiler, size_t runs, const void *const *inputs, const ir_shape *shapes_in,
                              void *const *outputs, ir_shape *shapes, base_diags *d) {
    check_build build;
    const uint8_t *bytes = NULL;
    size_t size = 0, at = 0;
    const char *found = check_find_compiler(arena, compiler);
    if (found == NULL) {
        return base_error(
            d, NULL, "the host provider needs a C compiler and %s was found; install gcc or clang, or give --compiler",
            compiler != NULL ? compiler : "none");
    }
    base_status status = check_build_module(arena, plan, o, found, false, &build, d);
    if (status == BASE_OK) {
        status = check_run_module(arena, &build, runs, inputs, shapes_in, &bytes, &size, d);
    }
    for (size_t run = 0; status == BASE_OK && run < runs; run++) {
        void *const *to = outputs + run * plan->outputs.n;
        if (run_bytes(plan) > size - at) {
            base_error(d, NULL, "the emitted program wrote %zu bytes, more were due", size);
            return BASE_WRONG;
        }
        at += take_run(plan, bytes + at, to, shapes + run * plan->outputs.n);
    }
    return status;
}
