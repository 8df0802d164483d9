/* rewrite.h - what transforms share beyond program.h (private to lang).
 *
 * Takes rewriters. Gives the rebuilding of one node and the copying of tensors and stages from one program to another.
 */
#ifndef BURIN_LANG_REWRITE_H
#define BURIN_LANG_REWRITE_H

#include "lang/program.h"

/* Node r in w->to with these operands. lang_rewrite does it with w->memo of r's operands where replace returns 0; they
 * are always rebuilt before replace is called. 0: the node limit. */
lang_ref lang_rebuild(lang_rewriter *w, lang_ref r, const lang_ref *operand);

/* Adds t to `to`, its dynamic extents for now as unknown values within their bounds; lang_copy_extents puts in the real
 * ones. */
uint32_t lang_copy_tensor(lang_program *to, const lang_tensor *t);
/* The extents of tensor `from` of w->from, rewritten, become those of tensor `to` of w->to; what became constant is
 * exact then. */
bool lang_copy_extents(base_arena *scratch, lang_rewriter *w, uint32_t from, uint32_t to);
/* Appends stage s of w->from, rewritten, as the stage of tensor `tensor` of w->to. false: the node limit. */
bool lang_copy_stage(base_arena *scratch, lang_rewriter *w, const lang_stage *s, uint32_t tensor);

/* An empty program with p's inputs, outputs and tensors, but those whose keep is false (NULL keeps all); map: old to
 * new tensor. */
lang_program *lang_like(base_arena *arena, const lang_program *p, const bool *keep, uint32_t *map);
/* p with some stages rewritten: by[i] of stage i has the callback and its user, or no callback. */
lang_program *lang_rewrite_stages(base_arena *arena, const lang_program *p, lang_rewriter *by);
bool lang_is_output(const lang_program *p, uint32_t tensor);

/* A stage that tests a condition without free variables: element 0 of a tensor where it holds, one outside of it, an error of
 * the run, where it does not. Its tensor, which the caller makes an output; IR_NONE: the node limit. */
uint32_t lang_add_test(lang_program *p, lang_ref condition, base_place place);

#endif
