/* picture.c - the memory map of a plan: what holds the most of it, and all of it as a picture.
 *
 * Takes a plan. Gives SVG 1.1: the kernels from left to right, the arena from below, a rectangle for every tensor that has
 * bytes of its own there, with what it is in its title; the fullest kernel, and the lower bound as a line. Decides nothing.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/plan_private.h"

bool plan_in_arena(const plan_module *p, uint32_t i) {
    const plan_tensor *t = &p->tensors.at[i];
    return t->root == i && t->bytes > 0 && t->role != PLAN_CONSTANT && t->role != PLAN_STATE;
}

uint64_t *plan_live_bytes(base_arena *arena, const plan_module *p) {
    uint64_t *live = BASE_NEWS(arena, uint64_t, p->kernels.n + 2);
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        if (plan_in_arena(p, i)) { /* wrapping differences */
            live[p->tensors.at[i].first] += p->tensors.at[i].bytes;
            live[p->tensors.at[i].last + 1] -= p->tensors.at[i].bytes;
        }
    }
    for (size_t k = 1; k <= p->kernels.n; k++) {
        live[k] += live[k - 1];
    }
    return live;
}

size_t plan_fullest_kernel(const plan_module *p, const uint64_t *live) {
    size_t fullest = 0;
    for (size_t k = 0; k < p->kernels.n; k++) {
        fullest = live[k] > live[fullest] ? k : fullest;
    }
    return fullest;
}

/* ---- the picture ---- */

/* Pixels: hundredths, so that the same text comes from every machine. */
enum { LEFT = 80, TOP = 30, BELOW = 130, RIGHT = 20, HEIGHT = 600, MOST_WIDTH = 1600, LEAST_STEP = 8, MOST_STEP = 64 };

typedef struct picture {
    base_text *out;
    const plan_module *p;
    uint64_t width; /* of all kernels, in pixels */
} picture;

static uint64_t x_of(const picture *d, uint64_t kernel) {
    return 100 * LEFT + kernel * 100 * d->width / (d->p->kernels.n > 0 ? d->p->kernels.n : 1);
}

/* The number of hundredths that bytes / arena are of the height; 128 bits are not needed below 2^48 bytes. */
static uint64_t height_of(const picture *d, uint64_t bytes) {
    const uint64_t room = d->p->banks.n > 1 ? plan_room(d->p) : d->p->arena_bytes, all = room > 0 ? room : 1;
    return all < (UINT64_C(1) << 47) ? bytes * (100 * HEIGHT) / all : bytes / (all / (100 * HEIGHT));
}

static void put_number(base_text *out, const char *name, uint64_t hundredths) {
    base_put(out, " %s=\"%" PRIu64 ".%02u\"", name, hundredths / 100, (unsigned)(hundredths % 100));
}

static void put_escaped(base_text *out, const char *s, size_t most) {
    for (size_t i = 0; s[i] != '\0' && i < most; i++) {
        switch (s[i]) {
        case '&':
            base_puts(out, "&amp;");
            break;
        case '<':
            base_puts(out, "&lt;");
            break;
        case '>':
            base_puts(out, "&gt;");
            break;
        default:
            base_put(out, "%c", s[i]);
            break;
        }
    }
}

static void put_box(const picture *d, uint64_t x, uint64_t end, uint64_t offset, uint64_t bytes) {
    const uint64_t top = height_of(d, offset + bytes), bottom = height_of(d, offset);
    put_number(d->out, "x", x);
    put_number(d->out, "y", 100 * (TOP + HEIGHT) - top);
    put_number(d->out, "width", end - x);
    put_number(d->out, "height", top - bottom);
}

/* Of tensor t, where there are several memories: which. */
static void put_memory(const picture *d, const plan_tensor *t) {
    if (d->p->banks.n > 1) {
        base_put(d->out, " of %s", d->p->device->memories[t->memory].name);
    }
}

static void draw_tensor(const picture *d, base_arena *scratch, uint32_t i) {
    static const char *const colours[] = {
        [PLAN_INPUT] = "#7fb069", [PLAN_OUTPUT] = "#e6aa68", [PLAN_ACTIVATION] = "#6a9fc0", [PLAN_SCRATCH] = "#b8a9c9"};
    const plan_tensor *t = &d->p->tensors.at[i];
    const uint64_t x = x_of(d, t->first), end = x_of(d, (uint64_t)t->last + 1);
    base_puts(d->out, "<g><title>");
    put_escaped(d->out, t->name, SIZE_MAX);
    base_put(d->out, ": %s, %s %s, %" PRIu64 " bytes at %" PRIu64, plan_role_name(t->role), base_type_name(t->type),
             ir_shape_print(scratch, &t->shape), t->bytes, plan_offset(d->p, t));
    put_memory(d, t);
    base_put(d->out, ", kernels %" PRIu32 " to %" PRIu32 "</title><rect", t->first, t->last);
    put_box(d, x, end, t->offset, t->bytes);
    base_put(d->out, " fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"0.5\"/>", colours[t->role]);
    const uint64_t letters = (end - x) / 700;
    if (letters >= 4 && height_of(d, t->bytes) >= 1200) {
        base_puts(d->out, "<text");
        put_number(d->out, "x", x + 300);
        put_number(d->out, "y", 100 * (TOP + HEIGHT) - height_of(d, t->offset) - 300);
        base_puts(d->out, ">");
        put_escaped(d->out, strlen(t->name) <= letters ? t->name : base_printf(scratch, "%" PRIu64, t->bytes), letters);
        base_puts(d->out, "</text>");
    }
    base_puts(d->out, "</g>\n");
}

static void draw_level(const picture *d, uint64_t bytes, const char *what, const char *style) {
    const uint64_t y = 100 * (TOP + HEIGHT) - height_of(d, bytes);
    base_puts(d->out, "<line");
    put_number(d->out, "x1", 100 * LEFT);
    put_number(d->out, "x2", 100 * (LEFT + d->width));
    put_number(d->out, "y1", y);
    put_number(d->out, "y2", y);
    base_put(d->out, " stroke=\"#444444\" %s/><text text-anchor=\"end\"", style);
    put_number(d->out, "x", 100 * LEFT - 400);
    put_number(d->out, "y", y + 300);
    base_put(d->out, ">%" PRIu64 "%s</text>\n", bytes, what);
}

/* Where each memory begins; the last is at the bottom. */
static void draw_banks(const picture *d) {
    for (size_t i = 0; i + 1 < d->p->banks.n; i++) {
        const plan_bank *b = &d->p->banks.at[i];
        if (b->bytes > 0) {
            draw_level(d, b->base, base_printf(d->p->arena, " %s", d->p->device->memories[b->memory].name), "");
        }
    }
}

/* Numbers and words of the operators, of as many as there is room for. */
static void draw_kernels(const picture *d) {
    const size_t n = d->p->kernels.n, room = d->width / 12;
    for (size_t k = 0; k < n; k += n <= room ? 1 : (n + 19) / 20) {
        const uint64_t x = (x_of(d, k) + x_of(d, k + 1)) / 2, y = 100 * (TOP + HEIGHT) + 600;
        base_put(d->out, "<text transform=\"translate(%" PRIu64 ".%02u %" PRIu64 ") rotate(60)\">%zu ", x / 100,
                 (unsigned)(x % 100), y / 100, k);
        put_escaped(d->out, d->p->kernels.at[k].op, 18);
        base_puts(d->out, "</text>\n");
    }
}

void plan_draw(base_text *out, const plan_module *p) {
    base_arena *scratch = base_arena_new(base_arena_memory(p->arena));
    const uint64_t n = p->kernels.n, wide = n * MOST_STEP > MOST_WIDTH ? MOST_WIDTH : n * MOST_STEP;
    const picture d = {out, p, wide < LEAST_STEP * 20 ? LEAST_STEP * 20 : wide};
    const uint64_t *live = plan_live_bytes(scratch, p);
    const size_t fullest = plan_fullest_kernel(p, live);
    base_put(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%" PRIu64 "\" height=\"%d\" font-family=\"sans-serif\" "
             "font-size=\"10\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"18\" "
             "font-size=\"13\">",
             LEFT + d.width + RIGHT, TOP + HEIGHT + BELOW, LEFT);
    put_escaped(out, p->prefix, SIZE_MAX);
    base_put(out, ": arena %" PRIu64 " bytes, lower bound %" PRIu64 "; placed ", p->arena_bytes, p->arena_bound);
    put_escaped(out, p->placement, SIZE_MAX);
    base_puts(out, "</text>\n");
    if (n > 0) {
        base_puts(out, "<rect");
        put_box(&d, x_of(&d, fullest), x_of(&d, fullest + 1), 0, p->arena_bytes);
        base_put(out, " fill=\"#f6d5d5\"><title>kernel %zu: %" PRIu64 " bytes live</title></rect>\n", fullest,
                 live[fullest]);
    }
    for (uint32_t i = 0; i < p->tensors.n; i++) {
        if (plan_in_arena(p, i)) {
            draw_tensor(&d, scratch, i);
        }
    }
    draw_level(&d, 0, "", "");
    draw_level(&d, p->arena_bytes, "", "");
    draw_banks(&d);
    if (p->arena_bound < p->arena_bytes) {
        draw_level(&d, p->arena_bound, " bound", "stroke-dasharray=\"4 3\"");
    }
    draw_kernels(&d);
    base_puts(out, "</svg>\n");
    base_arena_free(scratch);
}
