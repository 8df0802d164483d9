/* test_channels.c - nets some of whose channels have one value: which are dropped, and that the outputs stay the same bits.
 *
 * Every first layer has 8 channels, of which the odd ones are constant by a bias that no input outweighs; what is kept comes in groups
 * of 4. Expected: by hand, how many channels there are afterwards; the values, by the evaluator on the graph as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rewritten.h"

static base_guard guard;
static char text[1 << 16];
static size_t used;
static unsigned tensors;
static uint32_t seed;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...) {
    va_list list;
    va_start(list, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, list);
    va_end(list);
    assert_true(used < sizeof text);
}

static void begin(void) {
    used = 0;
    tensors = 0;
    seed = 3;
    add("%s", HEAD "graph \"g\" 0 {\n");
}

static int random_weight(void) {
    seed = seed * 1664525u + 1013904223u;
    return (int)(seed >> 24) % 15 - 7;
}

/* An activation, quantised with zero point -128 as those behind a relu are. */
static unsigned value(const char *shape) {
    add("tensor %%%u i8[%s] \"t\" quant {0.5:-128}\n", tensors, shape);
    return tensors++;
}

static unsigned weights(const char *shape, unsigned n) {
    add("tensor %%%u i8[%s] \"w\" quant {0.25:0} = hex \"", tensors, shape);
    for (unsigned i = 0; i < n; i++) {
        add("%02x", (unsigned)random_weight() & 0xff);
    }
    add("\"\n");
    return tensors++;
}

/* Small ones, but those of odd channels are `odd`. */
static unsigned bias(unsigned n, int odd) {
    add("tensor %%%u i32[%u] \"b\" quant {0.125:0} = hex \"", tensors, n);
    for (unsigned i = 0; i < n; i++) {
        const unsigned v = (unsigned)(i % 2 == 1 && odd != 0 ? odd : random_weight() * 8);
        add("%02x%02x%02x%02x", v & 0xff, v >> 8 & 0xff, v >> 16 & 0xff, v >> 24);
    }
    add("\"\n");
    return tensors++;
}

enum { DEAD = -1000000, FULL = 1000000, ALIVE = 0 };

typedef struct conv {
    unsigned w, b, y;
} conv;

/* A convolution's tensors: in -> out channels, k x k, of a 4 x 4 image (valid: 2 x 2). */
static conv conv_of(unsigned in, unsigned out, unsigned k, int odd, bool valid) {
    char shape[64];
    conv c;
    snprintf(shape, sizeof shape, "%u,%u,%u,%u", out, k, k, in);
    c.w = weights(shape, out * k * k * in);
    c.b = bias(out, odd);
    snprintf(shape, sizeof shape, "1,%u,%u,%u", valid ? 2 : 4, valid ? 2 : 4, out);
    c.y = value(shape);
    return c;
}

static void conv_node(unsigned x, conv c, unsigned pad) {
    add("node conv2d (%%%u, %%%u, %%%u) -> (%%%u) {strides: ints [1,1], dilations: ints [1,1], pads: ints "
        "[%u,%u,%u,%u], "
        "act: text \"relu\"} ids [0]\n",
        x, c.w, c.b, c.y, pad, pad, pad, pad);
}

static void depthwise_node(unsigned x, conv c) {
    add("node depthwise_conv2d (%%%u, %%%u, %%%u) -> (%%%u) {strides: ints [1,1], dilations: ints [1,1], pads: ints "
        "[1,1,1,1], "
        "act: text \"relu\"} ids [0]\n",
        x, c.w, c.b, c.y);
}

static conv depthwise_of(unsigned channels, int odd) {
    char shape[64];
    conv c;
    snprintf(shape, sizeof shape, "1,3,3,%u", channels);
    c.w = weights(shape, 9 * channels);
    c.b = bias(channels, odd);
    snprintf(shape, sizeof shape, "1,4,4,%u", channels);
    c.y = value(shape);
    return c;
}

static void ports(unsigned x, unsigned y) {
    add("inputs (%%%u)\n outputs (%%%u)\n", x, y);
}

/* The words after the pass, and how often a shape stands in the graph, which still lists what is read no more. */
static void becomes(const char *words, const char *shape, unsigned times) {
    add("}\n");
    assert_string_equal(rewritten(text, "channels dead", 0), words);
    const char *after = strstr(rewritten_text(), "inputs");
    unsigned found = 0;
    char needle[64];
    snprintf(needle, sizeof needle, "[%s]", shape);
    for (const char *at = rewritten_text(); (at = strstr(at, needle)) != NULL; at++) {
        found++;
    }
    if (found != times || after == NULL) {
        print_error("%s", rewritten_text());
    }
    assert_int_equal(found, times);
}

static void two_layers(int odd, unsigned k, unsigned pad, const char *filter, unsigned times) {
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, odd, false), b = conv_of(8, 4, k, ALIVE, k == 3 && pad == 0);
    ports(x, b.y);
    conv_node(x, a, 0);
    conv_node(a.y, b, pad);
    becomes("conv2d conv2d", filter, times);
}

static void a_product_of_one_element_absorbs_any_constant(void **state) {
    (void)state;
    two_layers(DEAD, 1, 0, "4,1,1,4", 2); /* both filters */
    two_layers(FULL, 1, 0, "4,1,1,4", 2);
    two_layers(ALIVE, 1, 0, "4,1,1,4", 0); /* nothing is constant */
}

static void a_padded_window_absorbs_its_padding_only(void **state) {
    (void)state;
    two_layers(DEAD, 3, 1, "4,3,3,4", 1);
    two_layers(FULL, 3, 1, "4,3,3,4", 0);
    two_layers(FULL, 3, 0, "4,3,3,4", 1); /* no tap is outside */
}

/* A bias of its own is made where there was none. */
static void a_bias_is_added(void **state) {
    (void)state;
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, FULL, false), b = conv_of(8, 4, 1, ALIVE, false);
    ports(x, b.y);
    conv_node(x, a, 0);
    add("node conv2d (%%%u, %%%u) -> (%%%u) {strides: ints [1,1], dilations: ints [1,1], pads: ints [0,0,0,0], "
        "act: text \"relu\"} ids [1]\n",
        a.y, b.w, b.y);
    becomes("conv2d conv2d", "4,1,1,4", 2);
}

/* Not constant in front of the depthwise layer, and behind it constant: it needs no channel that is dropped behind it. */
static void a_depthwise_layer_drops_what_it_makes_constant(void **state) {
    (void)state;
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, ALIVE, false), b = depthwise_of(8, DEAD), c = conv_of(8, 4, 1, ALIVE, false);
    ports(x, c.y);
    conv_node(x, a, 0);
    depthwise_node(a.y, b);
    conv_node(b.y, c, 0);
    becomes("conv2d depthwise_conv2d conv2d", "1,3,3,4", 1);
    /* behind it alive, though constant in front of it where it is not padded: it stays */
    begin();
    const unsigned x2 = value("1,4,4,4");
    const conv a2 = conv_of(4, 8, 1, FULL, false), b2 = depthwise_of(8, ALIVE), c2 = conv_of(8, 4, 1, ALIVE, false);
    ports(x2, c2.y);
    conv_node(x2, a2, 0);
    depthwise_node(a2.y, b2);
    conv_node(b2.y, c2, 0);
    becomes("conv2d depthwise_conv2d conv2d", "1,3,3,4", 0);
}

static void sum_of(int first, int second, unsigned times) {
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, first, false), b = conv_of(4, 8, 1, second, false);
    const unsigned y = value("1,4,4,8");
    const conv c = conv_of(8, 4, 1, ALIVE, false);
    ports(x, c.y);
    conv_node(x, a, 0);
    conv_node(x, b, 0);
    add("node add (%%%u, %%%u) -> (%%%u) {act: text \"none\"} ids [2]\n", a.y, b.y, y);
    conv_node(y, c, 0);
    becomes("conv2d conv2d add conv2d", "4,1,1,4", times);
}

static void sums_are_dropped_together(void **state) {
    (void)state;
    sum_of(DEAD, DEAD, 3); /* all filters */
    sum_of(DEAD, ALIVE, 0);
    sum_of(FULL, DEAD, 3);
}

static void outputs_of_the_graph_keep_theirs(void **state) {
    (void)state;
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, DEAD, false), b = conv_of(8, 4, 1, ALIVE, false);
    add("inputs (%%%u)\n outputs (%%%u, %%%u)\n", x, b.y, a.y);
    conv_node(x, a, 0);
    conv_node(a.y, b, 0);
    becomes("conv2d conv2d", "4,1,1,4", 0);
}

static void one_reader_that_needs_them_is_enough(void **state) {
    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        begin();
        const unsigned x = value("1,4,4,4");
        const conv a = conv_of(4, 8, 1, k ? DEAD : FULL, false), b = conv_of(8, 4, 1, ALIVE, false),
                   c = conv_of(8, 4, 3, ALIVE, false);
        add("inputs (%%%u)\n outputs (%%%u, %%%u)\n", x, b.y, c.y);
        conv_node(x, a, 0);
        conv_node(a.y, b, 0);
        conv_node(a.y, c, 1); /* padded */
        becomes("conv2d conv2d conv2d", "4,1,1,4", k ? 2 : 0);
    }
    begin(); /* concatenations are not looked through */
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, DEAD, false);
    const unsigned y = value("1,4,4,12");
    const conv b = conv_of(12, 4, 1, ALIVE, false);
    ports(x, b.y);
    conv_node(x, a, 0);
    add("node concatenation (%%%u, %%%u) -> (%%%u) {axis: int 3, act: text \"none\"} ids [1]\n", a.y, x, y);
    conv_node(y, b, 0);
    becomes("conv2d concatenation conv2d", "4,1,1,8", 0);
}

/* Mean over the image, another shape, a product. */
static void channels_go_through_pools_and_reshapes(void **state) {
    (void)state;
    begin();
    const unsigned x = value("1,4,4,4");
    const conv a = conv_of(4, 8, 1, FULL, false);
    const unsigned pooled = value("1,1,1,8"), flat = value("1,8"), w = weights("4,8", 32), b = bias(4, 0),
                   y = value("1,4");
    ports(x, y);
    conv_node(x, a, 0);
    add("node average_pool2d (%%%u) -> (%%%u) {kernel: ints [4,4], strides: ints [1,1], pads: ints [0,0,0,0], act: "
        "text "
        "\"none\"} ids [1]\n",
        a.y, pooled);
    add("node reshape (%%%u) -> (%%%u) {shape: ints [1,8]} ids [2]\n", pooled, flat);
    add("node fully_connected (%%%u, %%%u, %%%u) -> (%%%u) {act: text \"none\"} ids [3]\n", flat, w, b, y);
    becomes("conv2d average_pool2d reshape fully_connected", "1,1,1,4", 1);
}

/* A branch of one value is no branch, and what fed it alone is dead. */
static void what_is_constant_altogether_is_a_constant(void **state) {
    (void)state;
    begin();
    const unsigned x = value("1,4,4,4"), w = weights("4,1,1,4", 16);
    add("tensor %%%u i32[4] \"b\" quant {0.125:0} = hex \"40420f0040420f00c0bdf0ff40420f00\"\n", tensors);
    const unsigned b = tensors++, a = value("1,4,4,4"), c = value("1,4,4,4"), y = value("1,4,4,4");
    ports(x, y);
    conv_node(x, (conv){w, b, a}, 0);
    add("node relu (%%%u) -> (%%%u) ids [1]\n", a, c);
    add("node mul (%%%u, %%%u) -> (%%%u) {act: text \"none\"} ids [2]\n", c, x, y);
    becomes("mul", "4,1,1,4", 1);
}

/* ---- random nets ---- */

enum { MOST_VALUES = 24 };
typedef struct picture {
    unsigned tensor, channels;
    bool used;
} picture;
static picture pictures[MOST_VALUES];
static unsigned picture_count;
static char nodes[1 << 16];
static size_t node_used;
static uint32_t dice;

static unsigned roll(unsigned n) {
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 10) % n;
}

static void add_node(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add_node(const char *format, ...) {
    va_list list;
    va_start(list, format);
    node_used += (size_t)vsnprintf(nodes + node_used, sizeof nodes - node_used, format, list);
    va_end(list);
    assert_true(node_used < sizeof nodes);
}

static unsigned new_picture(unsigned channels) {
    add("tensor %%%u i8[1,4,4,%u] \"t\" quant {0.5:%d}\n", tensors, channels, roll(3) ? -128 : 5);
    pictures[picture_count++] = (picture){tensors, channels, false};
    return tensors++;
}

static picture *pick(void) {
    picture *p = &pictures[picture_count - 1 - roll(picture_count < 4 ? picture_count : 4)];
    p->used = true;
    return p;
}

static int any_bias(void) {
    return roll(4) == 0 ? ALIVE : roll(2) ? DEAD : FULL;
}

static void random_convolution(void) {
    const picture x = *pick();
    const unsigned out = 4 + roll(3) * 4, k = roll(2) ? 1 : 3, dilation = 1 + roll(2), groups = roll(4) == 0 ? 2 : 1;
    const unsigned pad = k == 3 ? dilation : 0;
    char shape[64];
    snprintf(shape, sizeof shape, "%u,%u,%u,%u", out, k, k, x.channels / groups);
    const unsigned w = weights(shape, out * k * k * (x.channels / groups)), b = bias(out, any_bias()),
                   y = new_picture(out);
    add_node("node conv2d (%%%u, %%%u", x.tensor, w);
    if (roll(5) > 0) {
        add_node(", %%%u", b);
    }
    add_node(") -> (%%%u) {strides: ints [1,1], dilations: ints [%u,%u], pads: ints [%u,%u,%u,%u], act: text \"%s\"} "
             "ids [0]\n",
             y, dilation, dilation, pad, pad, pad, pad, roll(2) ? "relu" : "none");
}

static void random_depthwise(void) {
    const picture x = *pick();
    const unsigned times = roll(4) == 0 && x.channels < 16 ? 2 : 1, out = x.channels * times;
    char shape[64];
    snprintf(shape, sizeof shape, "1,3,3,%u", out);
    const unsigned w = weights(shape, 9 * out), b = bias(out, any_bias()), y = new_picture(out);
    add_node(
        "node depthwise_conv2d (%%%u, %%%u, %%%u) -> (%%%u) {strides: ints [1,1], dilations: ints [1,1], pads: ints "
        "[1,1,1,1], act: text \"relu\"} ids [0]\n",
        x.tensor, w, b, y);
}

static void random_pair(void) {
    static const char *const words[] = {"add", "mul", "sub"};
    const picture a = *pick();
    picture b = a;
    for (unsigned i = 0; i < picture_count; i++) {
        b = pictures[i].channels == a.channels && roll(2) ? pictures[i] : b;
    }
    const unsigned y = new_picture(a.channels);
    add_node("node %s (%%%u, %%%u) -> (%%%u) {act: text \"none\"} ids [0]\n", words[roll(3)], a.tensor, b.tensor, y);
}

static void random_one(void) {
    const picture x = *pick();
    const unsigned kind = roll(6);
    if (kind == 0) {
        const picture b = *pick();
        if (x.channels + b.channels <= 24) {
            const unsigned y = new_picture(x.channels + b.channels);
            add_node("node concatenation (%%%u, %%%u) -> (%%%u) {axis: int 3, act: text \"none\"} ids [0]\n", x.tensor,
                     b.tensor, y);
        }
    } else if (kind < 3) {
        const unsigned y = new_picture(x.channels);
        add_node("node %s (%%%u) -> (%%%u) {kernel: ints [3,3], strides: ints [1,1], pads: ints [1,1,1,1], act: text "
                 "\"none\"} ids [0]\n",
                 kind == 1 ? "average_pool2d" : "max_pool2d", x.tensor, y);
    } else if (kind == 3) {
        const unsigned y = new_picture(x.channels);
        add_node("node quantize (%%%u) -> (%%%u) ids [0]\n", x.tensor, y);
    } else if (kind == 4) {
        add("tensor %%%u i8[16,%u] \"t\" quant {0.5:-128}\n", tensors, x.channels);
        const unsigned rows = tensors++, y = new_picture(4);
        add_node("node reshape (%%%u) -> (%%%u) {shape: ints [16,%u]} ids [0]\n", x.tensor, rows, x.channels);
        add("tensor %%%u i8[16,4] \"t\" quant {0.5:-128}\n", tensors);
        const unsigned small = tensors++;
        char shape[32];
        snprintf(shape, sizeof shape, "4,%u", x.channels);
        const unsigned w4 = weights(shape, 4 * x.channels), b4 = bias(4, ALIVE);
        add_node("node fully_connected (%%%u, %%%u, %%%u) -> (%%%u) {act: text \"none\"} ids [0]\n", rows, w4, b4,
                 small);
        add_node("node reshape (%%%u) -> (%%%u) {shape: ints [1,4,4,4]} ids [0]\n", small, y);
    } else {
        const unsigned y = new_picture(x.channels);
        add_node("node relu (%%%u) -> (%%%u) ids [0]\n", x.tensor, y);
    }
}

static void random_nets(void **state) {
    (void)state;
    unsigned smaller = 0;
    for (unsigned k = 0; k < 300; k++) {
        begin();
        dice = seed = k * 77 + 5;
        node_used = picture_count = 0;
        const unsigned x = new_picture(4 + 4 * roll(2)), length = 3 + roll(10);
        random_convolution();
        for (unsigned i = 0; i < length; i++) {
            const unsigned what = roll(10);
            if (what < 4) {
                random_convolution();
            } else if (what < 6) {
                random_depthwise();
            } else if (what < 8) {
                random_pair();
            } else {
                random_one();
            }
        }
        add("inputs (%%%u)\n outputs (%%%u", x, pictures[picture_count - 1].tensor);
        for (unsigned i = 1; i + 1 < picture_count; i++) {
            if (!pictures[i].used && roll(2)) {
                add(", %%%u", pictures[i].tensor);
            }
        }
        add(")\n%s}\n", nodes);
        const char *words = rewritten(text, "channels dead", 0);
        if (strpbrk(words, ":,\"") != NULL || strstr(words, "does not") != NULL || strstr(words, "refused") != NULL) {
            print_error("net %u: %s\n", k, words);
            fail();
        }
        unsigned there = 0; /* tensors are added where some have fewer channels */
        for (const char *at = rewritten_text(); (at = strstr(at, "tensor %")) != NULL; at++) {
            there++;
        }
        smaller += there > tensors;
    }
    assert_true(smaller > 30);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_of_one_element_absorbs_any_constant),
        cmocka_unit_test(a_padded_window_absorbs_its_padding_only),
        cmocka_unit_test(a_bias_is_added),
        cmocka_unit_test(a_depthwise_layer_drops_what_it_makes_constant),
        cmocka_unit_test(sums_are_dropped_together),
        cmocka_unit_test(outputs_of_the_graph_keep_theirs),
        cmocka_unit_test(one_reader_that_needs_them_is_enough),
        cmocka_unit_test(channels_go_through_pools_and_reshapes),
        cmocka_unit_test(what_is_constant_altogether_is_a_constant),
        cmocka_unit_test(random_nets),
    };
    if (BASE_GUARD(&rewritten_memory, &guard)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
