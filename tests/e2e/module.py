# ctest: name=e2e.module, timeout=900
"""Modules in a program: two instances of one model, step by step between one another, beside another model, equal each alone.

Every layout, weights inline and as a blob, by a C and a C++ compiler, by pedantic ones and under sanitizers. Expected: TFLite Micro's
outputs for the demo's network (demo/heldout.txt), arithmetic by hand for the other. The objects have one prefix, no writable data, and
need mem* and libm only.
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import made
from support import SOURCE, burin

os.chdir(tempfile.mkdtemp())
pathlib.Path("dense.tflite").write_bytes(made.dense())
shutil.copy(SOURCE / "demo/digits.tflite", "digits.tflite")

PROGRAM = r"""
#include "digits.h"
#include "dense.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do { if (!(x)) { fprintf(stderr, "line %d: %s\n", __LINE__, #x); return 1; } } while (0)

static const float ink[2][64] = {IMAGES};
static const int8_t want[2][10] = {OUTPUTS};
static const int8_t x[4] = {X};
static const int8_t y[3] = {Y};

/* An arena of exactly the size that is asked for, a guard on both sides. */
typedef struct room {
    unsigned char *whole, *arena;
    size_t bytes;
} room;

static int room_make(room *r, size_t bytes, size_t alignment) {
    r->bytes = bytes;
    r->whole = (unsigned char *)malloc(bytes + alignment + 64);
    if (r->whole == NULL) { return 0; }
    memset(r->whole, 0xa5, bytes + alignment + 64);
    r->arena = r->whole + 32;
    while ((size_t)r->arena % alignment != 0) { r->arena++; }
    return 1;
}

static int room_free_whole(room *r) {
    int whole = 1;
    size_t k;
    for (k = 0; k < 32; k++) { whole = whole && r->arena[r->bytes + k] == 0xa5 && *(r->arena - 1 - k) == 0xa5; }
    free(r->whole);
    return whole;
}

#if defined(DIGITS_BLOB) || defined(DENSE_BLOB)
/* A file's bytes at an address divisible by 16. */
static unsigned char *load(const char *path, size_t bytes) {
    FILE *f = fopen(path, "rb");
    unsigned char *at = (unsigned char *)malloc(bytes + 32);
    if (f == NULL || at == NULL) { exit(9); }
    while ((size_t)at % 16 != 0) { at++; }
    if (fread(at, 1, bytes, f) != bytes || fgetc(f) != EOF) { exit(9); }
    fclose(f);
    return at;
}
#endif

#ifdef DIGITS_BLOB
static unsigned char *digits_blob;
static digits_status digits_start(digits_model *m, void *arena, size_t bytes) { return digits_init_weights(m, arena, bytes, digits_blob, digits_WEIGHTS_BYTES); }
#else
static digits_status digits_start(digits_model *m, void *arena, size_t bytes) { return digits_init(m, arena, bytes); }
#endif
#ifdef DENSE_BLOB
static unsigned char *dense_blob;
static dense_status dense_start(dense_model *m, void *arena, size_t bytes) { return dense_init_weights(m, arena, bytes, dense_blob, dense_WEIGHTS_BYTES); }
#else
static dense_status dense_start(dense_model *m, void *arena, size_t bytes) { return dense_init(m, arena, bytes); }
#endif

static void set_image(digits_model *m, int k) { digits_quantize_input_0(ink[k], (int8_t *)digits_input(m, 0), 64); }
static int right(const digits_model *m, int k) { return memcmp(digits_output(m, 0), want[k], sizeof want[k]) == 0; }

typedef struct events {
    digits_model *model;
    unsigned begins, ends, last_step, in_order, cancel_at;
} events;

static void on_step(void *user, uint32_t step, uint32_t operator_id, int begin) {
    events *e = (events *)user;
    if (begin != 0) {
        e->in_order = e->in_order && step == e->begins && e->begins == e->ends && operator_id < 10u;
        e->begins++;
        if (step == e->cancel_at) { digits_cancel(e->model); }
    } else {
        e->in_order = e->in_order && step == e->ends && e->begins == e->ends + 1u;
        e->ends++;
    }
    e->last_step = step;
}

/* Runs the parts of a loop backwards, one round at a time. */
static void backwards(void *user, void (*body)(void *task, uint32_t begin, uint32_t end), void *task, uint32_t count) {
    while (count > 0u) { body(task, count - 1u, count); count--; }
    (*(int *)user)++;
}

static int check_faults(void) {
    digits_model m;
    dense_model d;
    room r;
    int done = 0;
    memset(&m, 0, sizeof m);
    CHECK(room_make(&r, digits_ARENA_BYTES, digits_ARENA_ALIGNMENT));
    CHECK(digits_run(&m) == digits_ERROR_NULL && digits_run(NULL) == digits_ERROR_NULL && digits_step(&m, &done) == digits_ERROR_NULL);
    CHECK(digits_reset(NULL) == digits_ERROR_NULL && digits_input(&m, 0) == NULL && digits_output(NULL, 0) == NULL);
    CHECK(digits_start(NULL, r.arena, r.bytes) == digits_ERROR_NULL && digits_start(&m, NULL, r.bytes) == digits_ERROR_NULL);
    CHECK(digits_start(&m, r.arena, r.bytes - 1u) == digits_ERROR_ARENA_BYTES && digits_start(&m, r.arena, 0) == digits_ERROR_ARENA_BYTES);
    CHECK(digits_start(&m, r.arena + 1, r.bytes) == digits_ERROR_ARENA_ALIGNMENT && digits_run(&m) == digits_ERROR_NULL);
    CHECK(digits_start(&m, r.arena, r.bytes) == digits_OK);
    CHECK(digits_input(&m, 1) == NULL && digits_output(&m, 1) == NULL && digits_input_info(1) == NULL && digits_output_info(9) == NULL);
    CHECK(digits_step(&m, NULL) == digits_ERROR_NULL);
    CHECK(digits_set_dim(&m, 0, 1) == digits_ERROR_DIM && digits_set_dim(&m, 99, -1) == digits_ERROR_DIM);
    CHECK(digits_STATE_BYTES == 0 && digits_state_bytes(&m) == 0);
    CHECK(digits_state_save(&m, &done, 1) == digits_ERROR_STATE && digits_state_save(&m, &done, 0) == digits_OK);
    CHECK(digits_state_restore(&m, &done, 4) == digits_ERROR_STATE && digits_state_restore(&m, &done, 0) == digits_OK);
    CHECK(digits_state_save(NULL, &done, 0) == digits_ERROR_NULL && digits_state_restore(NULL, &done, 0) == digits_ERROR_NULL);
    CHECK(strcmp(digits_status_text(digits_OK), digits_status_text(digits_CANCELLED)) != 0);
#ifdef DIGITS_BLOB
    {
        size_t k;
        for (k = 0; k < digits_WEIGHTS_BYTES; k += k + 97u < digits_WEIGHTS_BYTES || k + 1u == digits_WEIGHTS_BYTES ? 97u : digits_WEIGHTS_BYTES - 1u - k) {
            digits_blob[k] ^= 4u;
            CHECK(digits_start(&m, r.arena, r.bytes) == digits_ERROR_WEIGHTS);
            digits_blob[k] ^= 4u;
        }
        CHECK(digits_init_weights(&m, r.arena, r.bytes, digits_blob, digits_WEIGHTS_BYTES - 1u) == digits_ERROR_WEIGHTS);
        CHECK(digits_init_weights(&m, r.arena, r.bytes, NULL, digits_WEIGHTS_BYTES) == digits_ERROR_NULL);
        CHECK(digits_run(&m) == digits_ERROR_NULL);
        memmove(digits_blob + 1, digits_blob, digits_WEIGHTS_BYTES);
        CHECK(digits_init_weights(&m, r.arena, r.bytes, digits_blob + 1, digits_WEIGHTS_BYTES) == digits_ERROR_WEIGHTS);
        memmove(digits_blob, digits_blob + 1, digits_WEIGHTS_BYTES);
        CHECK(digits_start(&m, r.arena, r.bytes) == digits_OK);
    }
#endif
    CHECK(room_free_whole(&r));
    CHECK(room_make(&r, dense_ARENA_BYTES, dense_ARENA_ALIGNMENT));
    CHECK(dense_start(&d, r.arena, r.bytes) == dense_OK);
    memcpy(dense_input(&d, 0), x, sizeof x);
    CHECK(dense_run(&d) == dense_OK && memcmp(dense_output(&d, 0), y, sizeof y) == 0);
    CHECK(room_free_whole(&r));
    return 0;
}

static int check_numbers(void) {
    const float zero = 0.0f;
    float real[7] = {0.24f, 0.25f, -0.25f, 100.0f, -1e30f, 0.0f, 0.0f}, back[3];
    const int8_t out[3] = {8, -1, -128};
    int8_t q[7];
    const dense_tensor *t = dense_input_info(0);
    real[6] = zero / zero; /* not a number: the zero point */
    dense_quantize_input_0(real, q, 7);
    CHECK(q[0] == 0 && q[1] == 1 && q[2] == -1 && q[3] == 127 && q[4] == -128 && q[5] == 0 && q[6] == 0);
    dense_dequantize_output_0(out, back, 3);
    CHECK(back[0] == 1.0f && back[1] == -0.125f && back[2] == -16.0f);
    CHECK(strcmp(t->name, "x") == 0 && t->type == dense_I8 && t->rank == 2 && t->dims[0] == 1 && t->dims[1] == 4 && t->elements == 4);
    CHECK(t->bytes == 4 && t->scale == 0.5f && t->zero_point == 0 && t->scale_count == 0 && t->scales == NULL);
    CHECK(dense_INPUT_0_ELEMENTS == 4 && dense_OUTPUT_0_BYTES == 3 && dense_INPUT_COUNT == 1 && dense_OUTPUT_COUNT == 1);
    return 0;
}

/* Both instances alone, then with steps between one another and the other model's run between any two. */
static int check_instances(void) {
    digits_model m[2];
    dense_model d;
    room r[3];
    int k, done[2] = {0, 0};
    uint32_t steps = 0;
    CHECK(room_make(&r[0], digits_ARENA_BYTES, digits_ARENA_ALIGNMENT) && room_make(&r[1], digits_ARENA_BYTES, digits_ARENA_ALIGNMENT));
    CHECK(room_make(&r[2], dense_ARENA_BYTES, dense_ARENA_ALIGNMENT) && dense_start(&d, r[2].arena, r[2].bytes) == dense_OK);
    for (k = 0; k < 2; k++) {
        CHECK(digits_start(&m[k], r[k].arena, r[k].bytes) == digits_OK);
        set_image(&m[k], k);
        CHECK(digits_run(&m[k]) == digits_OK && right(&m[k], k));
    }
    CHECK(right(&m[0], 0)); /* the second left the first alone */
    set_image(&m[0], 1);
    set_image(&m[1], 0);
    while (!done[0] || !done[1]) {
        for (k = 0; k < 2; k++) {
            CHECK(digits_step(&m[k], &done[k]) == digits_OK);
            memcpy(dense_input(&d, 0), x, sizeof x);
            CHECK(dense_run(&d) == dense_OK && memcmp(dense_output(&d, 0), y, sizeof y) == 0);
        }
        steps++;
    }
    CHECK(steps == digits_STEP_COUNT && right(&m[0], 1) && right(&m[1], 0));
    for (k = 0; k < 2; k++) { CHECK(room_free_whole(&r[k])); }
    CHECK(room_free_whole(&r[2]));
    return 0;
}

static int check_control(void) {
    digits_model m;
    room r;
    events e;
    int done = 0, loops = 0;
    uint32_t k;
    CHECK(room_make(&r, digits_ARENA_BYTES, digits_ARENA_ALIGNMENT) && digits_start(&m, r.arena, r.bytes) == digits_OK);
    memset(&e, 0, sizeof e);
    e.model = &m;
    e.in_order = 1u;
    e.cancel_at = digits_STEP_COUNT;
    digits_set_callback(&m, on_step, &e);
    set_image(&m, 0);
    CHECK(digits_run(&m) == digits_OK && right(&m, 0) && e.in_order && e.begins == digits_STEP_COUNT && e.ends == digits_STEP_COUNT);
    /* cancelled from its callback: no later step begins; the next run is whole */
    e.begins = e.ends = 0u;
    e.cancel_at = 2u;
    set_image(&m, 1);
    CHECK(digits_run(&m) == digits_CANCELLED && e.begins == 3u && e.ends == 3u);
    digits_set_callback(&m, NULL, NULL);
    set_image(&m, 1);
    CHECK(digits_run(&m) == digits_OK && right(&m, 1));
    /* a reset in the middle: from the first step again */
    set_image(&m, 0);
    CHECK(digits_step(&m, &done) == digits_OK && digits_step(&m, &done) == digits_OK && done == 0 && digits_reset(&m) == digits_OK);
    set_image(&m, 0);
    for (k = 0; k < digits_STEP_COUNT; k++) {
        CHECK(done == 0);
        CHECK(digits_step(&m, &done) == digits_OK);
    }
    CHECK(done != 0 && right(&m, 0));
    /* a run in the middle of steps: whole, too */
    set_image(&m, 1);
    CHECK(digits_step(&m, &done) == digits_OK);
    set_image(&m, 1);
    CHECK(digits_run(&m) == digits_OK && right(&m, 1));
    /* somebody else's loops, in another order */
    digits_set_parallel_for(&m, backwards, &loops);
    set_image(&m, 0);
    CHECK(digits_run(&m) == digits_OK && right(&m, 0));
    digits_set_parallel_for(&m, NULL, NULL);
    set_image(&m, 1);
    CHECK(digits_run(&m) == digits_OK && right(&m, 1));
    CHECK(room_free_whole(&r));
    return 0;
}

int main(void) {
#ifdef DIGITS_BLOB
    digits_blob = load("digits_weights.bin", digits_WEIGHTS_BYTES);
#endif
#ifdef DENSE_BLOB
    dense_blob = load("dense_weights.bin", dense_WEIGHTS_BYTES);
#endif
    return check_faults() || check_numbers() || check_instances() || check_control();
}
"""


def held_out():
    """Two images of different digits, as ink from 0 to 1, and the network's outputs by TFLite Micro."""
    rows = [line.split() for line in (SOURCE / "demo/heldout.txt").read_text().splitlines() if not line.startswith("#")]
    first = rows[0]
    second = next(row for row in rows if row[2] != first[2] and len(set(re.findall("..", row[2]))) > 3)
    for row in (first, second):
        bits = bytes.fromhex(row[2])
        yield [(ord(c) - ord("a")) / 16 for c in row[1]], [b - 256 if b > 127 else b for b in bits]


def braces(rows, suffix=""):
    return ", ".join("{" + ", ".join(f"{v}{suffix}" for v in row) + "}" for row in rows)


images, outputs = zip(*held_out())
X = [1, 2, 3, 4]
program = PROGRAM.replace("{IMAGES}", "{" + braces(images, "f") + "}").replace("{OUTPUTS}", "{" + braces(outputs) + "}")
program = program.replace("{X}", "{" + ", ".join(map(str, X)) + "}").replace("{Y}", "{" + ", ".join(map(str, made.dense_expected(X))) + "}")

PEDANTIC = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
COMPILERS = {
    "c99": ["gcc", "-std=c99", *PEDANTIC, "-O2"],
    "c11": ["gcc", "-std=c11", *PEDANTIC, "-O0"],
    "cxx11": ["g++", "-x", "c++", "-std=c++11", *PEDANTIC, "-O1"],
    "cxx17": ["g++", "-x", "c++", "-std=c++17", *PEDANTIC, "-O2"],
    "sanitized": ["gcc", "-std=c99", *PEDANTIC, "-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
if shutil.which("clang"):
    COMPILERS["clang"] = ["clang", "-std=c99", *PEDANTIC, "-Wno-c11-extensions", "-O2"]
MAY_BE_UNDEFINED = re.compile(r"(mem(cpy|move|set)|(round|floor|ceil|exp|log|sqrt|rint|nearbyint|trunc|fabs|tanh|pow|fma)f?|_GLOBAL_OFFSET_TABLE_)$")


def check_objects(folder, prefix):
    """No writable data, one prefix, and nothing from outside but mem* and libm."""
    for source in sorted(pathlib.Path(folder).glob(f"{prefix}*.c")):
        subprocess.run(["gcc", "-std=c99", "-O2", "-fno-pie", "-c", source.name, "-o", "object.o"], cwd=folder, check=True)
        for line in subprocess.run(["nm", "-P", "object.o"], cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines():
            name, kind = line.split()[:2]
            if kind == "U":
                assert name.startswith(prefix + "_") or MAY_BE_UNDEFINED.match(name), f"{source} needs {name}"
            else:
                assert kind not in "bBdDCsSgG", f"{source}: {name} is writable"
                assert kind.islower() or name.startswith(prefix + "_"), f"{source}: {name} is global"
        os.unlink(pathlib.Path(folder, "object.o"))


# layout and weights of the one model, the device and the compilers; the other model has the other layout and kind of weights
PROGRAMS = [("folder", "inline", "generic", list(COMPILERS)), ("single", "blob", "cortex-m4", ["c99", "cxx11", "sanitized"]),
            ("folder", "blob", "host", ["cxx17", "sanitized"]), ("single", "inline", "generic", ["cxx11", "sanitized"])]
builds = 0
for layout, weights, device, names in PROGRAMS:
    folder = f"{layout}-{weights}"
    other = ["--layout", "single" if layout == "folder" else "folder", "--weights", "inline" if weights == "blob" else "blob"]
    burin("compile", "digits.tflite", "-o", folder, "--layout", layout, "--weights", weights, "--device", device, "--no-check")
    burin("compile", "dense.tflite", "-o", folder, *other, "--device", device, "--no-check")
    for prefix in ("digits", "dense"):
        check_objects(folder, prefix)
    pathlib.Path(folder, "main.c").write_text(program)
    defines = ["-DDIGITS_BLOB" if weights == "blob" else "-DDENSE_BLOB"]
    sources = sorted(p.name for p in pathlib.Path(folder).glob("*.c"))
    for name in names:
        subprocess.run([*COMPILERS[name], *defines, *sources, "-lm", "-o", name], cwd=folder, check=True)
        ran = subprocess.run([f"./{name}"], cwd=folder, capture_output=True, text=True, timeout=120,
                             env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        assert ran.returncode == 0 and ran.stderr == "" and ran.stdout == "", (folder, name, ran)
        builds += 1
print(f"{builds} programs of two models, by {', '.join(COMPILERS)}")
