/* module.c - see module.h. */
#include "targets/c/module.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

extern const target_interface target_c;

void test_module_init(test_module *m, bool vector) {
    *m = (test_module){0};
    m->arena = base_arena_new(&m->memory);
    m->diags.arena = m->arena;
    m->device = (plan_device){.name = "test", .target = "c"};
    m->device.machine =
        (plan_machine){.name = "test", .vector_bytes = vector ? 32 : 0, .registers = 16, .tile_m = 4, .tile_n = 16};
    m->plan = (plan_module){.arena = m->arena, .device = &m->device, .prefix = "tm", .placement = "none"};
    ir_model *model = ir_model_new(m->arena, "test", "test");
    m->plan.model = model;
    m->plan.graph = ir_graph_add(model, "test");
    strcpy(m->folder, "/tmp/burin-test-XXXXXX");
    assert_non_null(mkdtemp(m->folder));
}

void test_module_free(test_module *m) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", m->folder);
    assert_int_equal(system(command), 0);
    base_arena_free(m->arena);
}

uint64_t test_elements(const lang_tensor *t) {
    uint64_t n = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        n *= (uint64_t)t->dim[k];
    }
    return n;
}

uint64_t test_bytes(const lang_tensor *t) {
    uint64_t bytes = 0;
    assert_true(base_type_bytes(t->type, test_elements(t), &bytes));
    return bytes;
}

static uint32_t add_tensor(test_module *m, const lang_tensor *t, plan_role role) {
    plan_tensor x = {.graph_tensor = IR_NONE, .name = t->name, .role = role, .type = t->type, .alignment = 16};
    x.root = (uint32_t)m->plan.tensors.n;
    x.shape = (ir_shape){.rank = 1, .dim = {(int64_t)test_elements(t)}};
    x.bytes = test_bytes(t);
    x.offset = m->next;
    m->next = (m->next + x.bytes + 15) / 16 * 16;
    *BASE_PUSH(m->arena, &m->plan.tensors) = x;
    return x.root;
}

plan_schedule *test_plain_schedules(base_arena *arena, const lang_program *p) {
    plan_schedule *x = BASE_NEWS(arena, plan_schedule, p->stages.n + 1);
    for (size_t k = 0; k < p->stages.n; k++) {
        x[k] =
            (plan_schedule){.form = PLAN_NEST, .order_count = p->stages.at[k].rank, .n_var = 255, .threads_var = 255};
        for (uint32_t i = 0; i < p->stages.at[k].rank; i++) {
            x[k].order[i] = (uint8_t)i;
        }
    }
    return x;
}

size_t test_module_add(test_module *m, const lang_program *p, const void *const *inputs,
                       const plan_schedule *schedules) {
    size_t first = m->plan.outputs.n;
    plan_kernel k = {.op = p->name, .raw = p, .program = p, .reason = "test"};
    k.tensor = BASE_NEWS(m->arena, uint32_t, p->tensors.n);
    k.schedules = BASE_NEWS(m->arena, plan_schedule, p->stages.n + 1);
    memcpy(k.schedules, schedules != NULL ? schedules : test_plain_schedules(m->arena, p),
           p->stages.n * sizeof *schedules);
    for (size_t i = 0; i < p->tensors.n; i++) {
        k.tensor[i] = IR_NONE;
    }
    for (size_t i = 0; i < p->inputs.n; i++) {
        if (p->inputs.at[i] == IR_NONE || p->tensors.at[p->inputs.at[i]].data != NULL) {
            continue;
        }
        k.tensor[p->inputs.at[i]] = add_tensor(m, &p->tensors.at[p->inputs.at[i]], PLAN_INPUT);
        *BASE_PUSH(m->arena, &m->plan.inputs) = k.tensor[p->inputs.at[i]];
        *BASE_PUSH(m->arena, &m->inputs) = inputs[i];
    }
    for (size_t i = 0; i < p->outputs.n; i++) {
        k.tensor[p->outputs.at[i]] = add_tensor(m, &p->tensors.at[p->outputs.at[i]], PLAN_OUTPUT);
        *BASE_PUSH(m->arena, &m->plan.outputs) = k.tensor[p->outputs.at[i]];
        *BASE_PUSH(m->arena, &m->outputs) = NULL;
    }
    for (size_t i = 0; i < p->stages.n; i++) {
        uint32_t t = p->stages.at[i].tensor;
        if (k.tensor[t] == IR_NONE) {
            k.tensor[t] = add_tensor(m, &p->tensors.at[t], PLAN_SCRATCH);
        }
    }
    k.graph = BASE_NEW(m->arena, ir_graph);
    *BASE_PUSH(m->arena, &m->plan.kernels) = k;
    m->plan.arena_bytes = m->next;
    return first;
}

static void put_driver(test_module *m, base_text *t) {
    base_puts(t, "#include <stdio.h>\n#include <string.h>\n#include \"tm.h\"\nstatic tm_model model;\nstatic unsigned "
                 "char room[tm_ARENA_BYTES + 16];\n"
                 "int main(void) {\n    unsigned char *arena = room;\n    while ((size_t)arena % tm_ARENA_ALIGNMENT != "
                 "0) {\n        arena++;\n    }\n"
                 "    memset(arena, 0xa5, tm_ARENA_BYTES);\n    if (tm_init(&model, arena, tm_ARENA_BYTES) != tm_OK) "
                 "{\n        return 10;\n    }\n");
    for (size_t i = 0; i < m->plan.inputs.n; i++) {
        unsigned long long n = (unsigned long long)m->plan.tensors.at[m->plan.inputs.at[i]].bytes;
        base_put(t, "    if (fread(tm_input(&model, %zu), 1, %llu, stdin) != %llu) {\n        return 11;\n    }\n", i,
                 n, n);
    }
    base_puts(t, "    if (tm_run(&model) != tm_OK) {\n        return 12;\n    }\n");
    for (size_t i = 0; i < m->plan.outputs.n; i++) {
        base_put(t, "    fwrite(tm_output(&model, %zu), 1, %llu, stdout);\n", i,
                 (unsigned long long)m->plan.tensors.at[m->plan.outputs.at[i]].bytes);
    }
    base_puts(t, "    return fflush(stdout) != 0;\n}\n");
}

void test_module_emit(test_module *m, const target_options *options) {
    target_options folder = {.layout = "folder"};
    m->files = (target_files){0};
    base_status s = target_c.emit(m->arena, &m->plan, NULL, options != NULL ? options : &folder, &m->files, &m->diags);
    if (s != BASE_OK) {
        base_text text = {.arena = m->arena};
        for (size_t i = 0; i < m->diags.list.n; i++) {
            base_diag_print(&text, &m->diags.list.at[i], false);
        }
        fail_msg("emit: %s", text.n > 0 ? text.at : "?");
    }
}

int test_module_build(test_module *m, const char *compiler, const char *driver, const char *arguments) {
    base_text in = {.arena = m->arena};
    target_files files = {0};
    for (size_t i = 0; i < m->files.list.n; i++) {
        *BASE_PUSH(m->arena, &files.list) = m->files.list.at[i];
    }
    for (size_t i = 0; i < m->plan.inputs.n; i++) {
        base_putn(&in, m->inputs.at[i], (size_t)m->plan.tensors.at[m->plan.inputs.at[i]].bytes);
    }
    if (driver != NULL) {
        *BASE_PUSH(m->arena, &files.list) = (base_output_file){"driver_main.c", driver, strlen(driver)};
    }
    *BASE_PUSH(m->arena, &files.list) = (base_output_file){"in.bin", in.at != NULL ? in.at : "", in.n};
    assert_int_equal(base_files_write(m->arena, m->folder, files.list.at, files.list.n, true, &m->diags), BASE_OK);
    const char *command = base_printf(
        m->arena,
        "cd %s && %s -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror -o run *.c -lm && "
        "./run %s < in.bin > out.bin",
        m->folder, compiler, arguments);
    int status = system(command);
    return status == 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

int test_module_run(test_module *m, const char *compiler) {
    base_text driver = {.arena = m->arena};
    put_driver(m, &driver);
    int status = test_module_build(m, compiler, driver.at, "");
    if (status != 0) {
        return status;
    }
    base_file out;
    assert_int_equal(base_file_read(m->arena, base_printf(m->arena, "%s/out.bin", m->folder), &out, &m->diags),
                     BASE_OK);
    size_t at = 0;
    for (size_t i = 0; i < m->plan.outputs.n; i++) {
        size_t n = (size_t)m->plan.tensors.at[m->plan.outputs.at[i]].bytes;
        assert_true(at + n <= out.size);
        m->outputs.at[i] = base_alloc(m->arena, n + 1, 1);
        memcpy(m->outputs.at[i], out.at + at, n);
        at += n;
    }
    assert_int_equal(at, out.size);
    return 0;
}
