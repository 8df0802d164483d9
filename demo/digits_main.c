/* digits_main.c - the demo's program: the emitted module `digits` over the held-out images of heldout.txt.
 *
 * usage: digits HELDOUT [tflm|litert]
 * Shows some of the images with what the network says, counts how many it gets right, compares each output with the one
 * that TFLite Micro (or LiteRT) gave when the file was made, and times one inference. Exit status: 0; 1 when an output
 * differs or something fails. Shades of grey on a terminal; plain ASCII elsewhere, and when NO_COLOR is set.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digits.h"
#include "timing.h"

#define SIDE 8
#define PIXELS (SIDE * SIDE)
#define DIGITS 10
#define INK 16 /* the darkest grey */
#define MOST_IMAGES 2000
#define SHOWN 8
#define IN_A_ROW 4

typedef struct image {
    int label, says;
    float sure;
    int grey[PIXELS];      /* 0 to INK */
    int8_t pixels[PIXELS]; /* as the network wants them */
    int8_t golden[DIGITS]; /* what another runtime gave */
    bool equal;
} image;

typedef struct demo {
    digits_model model;
    image images[MOST_IMAGES];
    size_t count;
} demo;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "digits: %s: %s\n", what, why);
    exit(1);
}

static void must(digits_status status) {
    if (status != digits_OK) {
        fail("the module", digits_status_text(status));
    }
}

/* A line "LABEL GREYS TFLM LITERT"; the head of the file says what they are. */
static bool read_image(const char *line, bool litert, image *x) {
    char grey[PIXELS + 1], outputs[2][2 * DIGITS + 1];
    if (sscanf(line, "%1d %64[a-q] %20[0-9a-f] %20[0-9a-f]", &x->label, grey, outputs[0], outputs[1]) != 4 ||
        strlen(grey) != PIXELS || strlen(outputs[litert]) != 2 * DIGITS) {
        return false;
    }
    for (int k = 0; k < PIXELS; k++) {
        x->grey[k] = grey[k] - 'a';
    }
    for (int k = 0; k < DIGITS; k++) {
        char byte[3] = {outputs[litert][2 * k], outputs[litert][2 * k + 1], 0};
        long bits = strtol(byte, NULL, 16);
        x->golden[k] = (int8_t)(bits < 128 ? bits : bits - 256);
    }
    return true;
}

static void read_images(demo *d, const char *path, bool litert) {
    FILE *file = fopen(path, "r");
    char line[256];
    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') {
            continue;
        }
        if (d->count == MOST_IMAGES || !read_image(line, litert, &d->images[d->count])) {
            fail(path, "is not a file of held-out images");
        }
        d->count++;
    }
    fclose(file);
    if (d->count == 0) {
        fail(path, "holds no image");
    }
}

static void set_input(void *user, size_t k) {
    demo *d = user;
    memcpy(digits_input(&d->model, 0), d->images[k % d->count].pixels, PIXELS);
}

static void run(void *user) {
    must(digits_run(&((demo *)user)->model));
}

static void classify(demo *d, size_t k) {
    image *x = &d->images[k];
    float ink[PIXELS], sure[DIGITS];
    for (int i = 0; i < PIXELS; i++) {
        ink[i] = (float)x->grey[i] / INK;
    }
    digits_quantize_input_0(ink, x->pixels, PIXELS);
    set_input(d, k);
    run(d);
    const int8_t *output = digits_output(&d->model, 0);
    digits_dequantize_output_0(output, sure, DIGITS);
    x->says = 0;
    for (int i = 1; i < DIGITS; i++) {
        x->says = sure[i] > sure[x->says] ? i : x->says;
    }
    x->sure = sure[x->says];
    x->equal = memcmp(output, x->golden, DIGITS) == 0;
}

/* Two columns for a pixel: about square. */
static void show_pixels(const image *x, int row, bool shades) {
    for (int column = 0; column < SIDE; column++) {
        int grey = x->grey[row * SIDE + column];
        if (shades) {
            printf("\033[48;5;%dm  ", 255 - grey * 23 / INK); /* 255 to 232: the terminal's greys from white to black */
        } else {
            char c = " .,:;-=+*oxOX%#@@"[grey];
            printf("%c%c", c, c);
        }
    }
    printf("%s   ", shades ? "\033[0m" : "");
}

static void show(const image *const *shown, size_t count, bool shades) {
    for (int row = 0; row < SIDE; row++) {
        for (size_t k = 0; k < count; k++) {
            show_pixels(shown[k], row, shades);
        }
        printf("\n");
    }
    for (size_t k = 0; k < count; k++) {
        char text[64];
        const image *x = shown[k];
        int n = snprintf(text, sizeof text, "says %d, %.0f %%", x->says, 100 * (double)x->sure);
        if (x->says != x->label) {
            snprintf(text + n, sizeof text - (size_t)n, ", is %d", x->label);
        }
        printf("%-*s", k + 1 < count ? 2 * SIDE + 3 : 0, text);
    }
    printf("\n\n");
}

/* The first images, and last of all the first that the network gets wrong. */
static void show_some(const demo *d) {
    const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
    bool shades = isatty(STDOUT_FILENO) && term != NULL && strcmp(term, "dumb") != 0 && (plain == NULL || *plain == 0);
    const image *shown[SHOWN];
    size_t n = 0, wrong = 0;
    while (wrong < d->count && d->images[wrong].says == d->images[wrong].label) {
        wrong++;
    }
    for (size_t k = 0; k < d->count && n < SHOWN; k++) {
        if (n == SHOWN - 1 && wrong > k && wrong < d->count) {
            k = wrong;
        }
        shown[n++] = &d->images[k];
    }
    for (size_t k = 0; k < n; k += IN_A_ROW) {
        show(shown + k, n - k < IN_A_ROW ? n - k : IN_A_ROW, shades);
    }
}

int main(int count, char **words) {
    static demo d;
    static _Alignas(digits_ARENA_ALIGNMENT) unsigned char arena[digits_ARENA_BYTES];
    bool litert = count == 3 && strcmp(words[2], "litert") == 0;
    if (count < 2 || count > 3 || (count == 3 && !litert && strcmp(words[2], "tflm") != 0)) {
        fprintf(stderr, "usage: digits HELDOUT [tflm|litert]\n");
        return 2;
    }
    read_images(&d, words[1], litert);
    must(digits_init(&d.model, arena, sizeof arena));
    size_t right = 0, equal = 0;
    for (size_t k = 0; k < d.count; k++) {
        classify(&d, k);
        right += d.images[k].says == d.images[k].label;
        equal += d.images[k].equal;
    }
    show_some(&d);
    printf("accuracy   %zu of %zu held-out digits right (%.2f %%)\n", right, d.count,
           100.0 * (double)right / (double)d.count);
    printf("outputs    %zu of %zu equal %s's bit for bit\n", equal, d.count, litert ? "LiteRT" : "TFLite Micro");
    timing time = timing_of(set_input, run, &d);
    char least[32], median[32];
    printf("time       %s an inference at best, %s median of %zu, one thread\n", timing_text(least, time.least),
           timing_text(median, time.median), time.calls);
    return equal != d.count;
}
