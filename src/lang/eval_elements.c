/* eval_elements.c - single elements of an output, computed by need.
 *
 * Takes element numbers. Gives their values: a stage is compiled for one element, and each read of another stage's
 * tensor first computes what is not there yet. So the cost is that of the elements that are read; what is known is kept
 * for the call. Recurrences are run whole. Memory for an intermediate tensor is its whole size.
 */
#include <string.h>

#include "lang/eval_code.h"

#define CHAIN 1000u /* of stages that ask for one another: each is a few frames of the C stack */

typedef struct one_stage {
    const lang_eval_stage *code; /* NULL: not compiled yet */
    lang_eval_machine machine;
    uint8_t *known; /* by element */
    bool whole;     /* part of a recurrence that was (or is being) run */
} one_stage;

struct lang_eval_demand {
    lang_eval_run run;
    one_stage *stages;
    unsigned depth;
};

static base_status run_whole(lang_eval_demand *d, size_t k) {
    const lang_program *p = d->run.code->program;
    size_t first = k, last = k + 1;
    while (first > 0 && p->stages.at[first - 1].rec == p->stages.at[k].rec) {
        first--;
    }
    while (last < p->stages.n && p->stages.at[last].rec == p->stages.at[k].rec) {
        last++;
    }
    for (size_t i = first; i < last; i++) {
        d->stages[i].whole = true;
    }
    return lang_eval_run_recurrence(&d->run, first, last);
}

static base_status prepare(lang_eval_demand *d, size_t k) {
    lang_eval_run *r = &d->run;
    const lang_stage *s = &r->code->program->stages.at[k];
    one_stage *o = &d->stages[k];
    lang_eval_options options = lang_eval_options_of(r->code, (const int64_t(*)[LANG_MAX_RANK])r->dims, NULL);
    options.given = s->rank > 0 ? ((uint64_t)1 << s->rank) - 1 : 0;
    options.tile_limit = 1;
    if (r->context == NULL) {
        r->context = lang_eval_context_new(r->scratch, r->code->program);
    }
    o->code = lang_eval_compile_stage(r->scratch, r->context, s, 0, &options, r->diags);
    if (o->code == NULL) {
        return BASE_REFUSED;
    }
    lang_eval_place_tensor(r, s);
    o->known = BASE_NEWS(r->scratch, uint8_t,
                         (size_t)lang_eval_elements_of(r->code->program, s->tensor, r->dims[s->tensor]) + 1);
    o->machine = lang_eval_machine_of(r);
    lang_eval_prepare(&o->machine, r->scratch, o->code);
    return BASE_OK;
}

static base_status run_one(lang_eval_demand *d, size_t k, uint64_t element) {
    const lang_stage *s = &d->run.code->program->stages.at[k];
    one_stage *o = &d->stages[k];
    uint64_t rest = element;
    for (uint32_t v = s->rank; v-- > 0;) {
        uint64_t extent = (uint64_t)d->run.dims[s->tensor][v];
        *LANG_EVAL_AT(&o->machine, int64_t, o->code->given[v]) = (int64_t)(rest % extent);
        rest /= extent;
    }
    if (d->depth >= CHAIN) {
        return base_error(d->run.diags, &s->place, "%s: more than %u stages ask for one another",
                          d->run.code->program->name, CHAIN);
    }
    d->depth++;
    base_status status = lang_eval_run_block(&o->machine, &o->code->body);
    d->depth--;
    return status;
}

base_status lang_eval_demand_element(lang_eval_demand *d, uint32_t tensor, uint64_t element) {
    size_t k = d->run.code->program->tensors.at[tensor].stage;
    one_stage *o = &d->stages[k];
    base_status status = BASE_OK;
    if (o->whole) {
        return BASE_OK;
    }
    if (d->run.code->program->stages.at[k].rec >= 0) {
        return run_whole(d, k);
    }
    if (o->code == NULL) {
        status = prepare(d, k);
    }
    if (status == BASE_OK && o->known[element] == 0) {
        status = run_one(d, k, element);
        o->known[element] = 1;
    }
    return status;
}

static base_status find_extents(lang_eval_demand *d) {
    lang_eval_run *r = &d->run;
    const lang_program *p = r->code->program;
    for (size_t k = 0; k < p->stages.n; k++) {
        const lang_stage *s = &p->stages.at[k];
        if (r->code->dynamic[s->tensor]) {
            lang_eval_machine m = lang_eval_machine_of(r);
            base_status status =
                lang_eval_dynamic_extents(r->code, &m, r->scratch, s->tensor, &s->place, r->dims[s->tensor]);
            if (status != BASE_OK) {
                return status;
            }
        }
    }
    return BASE_OK;
}

base_status lang_run_elements(const lang_code *code, base_arena *scratch, const void *const *inputs, uint32_t output,
                              const uint64_t *element, size_t n, void *values, double *value, double *bound,
                              base_diags *diags) {
    const lang_program *p = code->program;
    uint32_t tensor = p->outputs.at[output];
    lang_eval_demand d = {.run = {.code = code, .scratch = scratch, .diags = diags}};
    d.run.demand = &d;
    d.run.dims = base_alloc(scratch, p->tensors.n + 1, sizeof *d.run.dims);
    memcpy(d.run.dims, code->dims, p->tensors.n * sizeof *d.run.dims);
    d.run.store = BASE_NEWS(scratch, lang_eval_store, p->tensors.n + 1);
    d.stages = BASE_NEWS(scratch, one_stage, p->stages.n + 1);
    lang_eval_bind_inputs(code, scratch, inputs, d.run.store);
    base_status status = find_extents(&d);
    uint64_t elements = lang_eval_elements_of(p, tensor, d.run.dims[tensor]);
    for (size_t k = 0; k < n && status == BASE_OK; k++) {
        if (element[k] >= elements) {
            return base_error(diags, NULL, "%s: element %llu of %s, which has %llu", p->name,
                              (unsigned long long)element[k], p->tensors.at[tensor].name, (unsigned long long)elements);
        }
        if (p->tensors.at[tensor].kind == LANG_STAGE) {
            status = lang_eval_demand_element(&d, tensor, element[k]);
        }
        if (status == BASE_OK) {
            lang_eval_deliver_element(&d.run.store[tensor], p->tensors.at[tensor].type, element[k], values, k,
                                      value != NULL ? value + k : NULL, bound != NULL ? bound + k : NULL);
        }
    }
    return status;
}
