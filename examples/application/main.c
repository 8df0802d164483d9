/* main.c - a network in a program: one image of a ring goes in, the most likely digit comes out. */
#include <stdio.h>

#include "digits_net.h"

enum { SIDE = 8 };

static const char image[SIDE][SIDE + 1] = {"...##...", "..####..", ".##..##.", ".##..##.",
                                           ".##..##.", ".##..##.", "..####..", "...##..."};
static _Alignas(digits_net_ARENA_ALIGNMENT) unsigned char arena[digits_net_ARENA_BYTES];

int main(void) {
    float ink[SIDE * SIDE];
    digits_net_model net;
    for (int k = 0; k < SIDE * SIDE; k++) {
        ink[k] = image[k / SIDE][k % SIDE] == '#' ? 1.0f : 0.0f;
    }
    if (digits_net_init(&net, arena, sizeof arena) != digits_net_OK) {
        return 1;
    }
    digits_net_quantize_input_0(ink, digits_net_input(&net, 0), SIDE * SIDE);
    if (digits_net_run(&net) != digits_net_OK) {
        return 1;
    }
    const signed char *score = digits_net_output(&net, 0);
    int best = 0;
    for (int k = 1; k < 10; k++) {
        best = score[k] > score[best] ? k : best;
    }
    printf("%d, in %d bytes of RAM\n", best, digits_net_ARENA_BYTES);
    return 0;
}
