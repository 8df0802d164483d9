/* rewritten.h - what the tests of passes share: a graph in text form, what a pass makes of it, and what both compute. */
#ifndef BURIN_TESTS_REWRITTEN_H
#define BURIN_TESTS_REWRITTEN_H

#include "passes/passes.h"

extern base_memory rewritten_memory; /* main guards it */

#define HEAD "burin 1\nmodel \"ir\" \"m\"\n"

/* The words of graph 0's nodes after the passes (a blank between two), or what went wrong. Before and after give the same
 * integers (of a tolerance of 1 and more: within so many), and floats that differ by no more than `tolerance` times the greatest
 * magnitude of the output, for several inputs, extremes among them; else "differs ...". Lives until the next call. */
const char *rewritten(const char *text, const char *passes, double tolerance);
/* The graph after the last call, as text. */
const char *rewritten_text(void);
/* How many programs the passes of the last call made of definitions. */
uint64_t rewritten_instantiated(void);

#endif
