/* test_broken.c - the kit held to its word: the null provider passes every
 * check that it claims, and providers that are the null provider but for one
 * lie are each caught by the check that is named for it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "burin/conform.h"

/* ---- what a lie needs to remember: of each session, by its address ---- */
typedef struct memo {
    void *session;
    burin_memory *memory;
    const burin_control *control; /* the host's */
    burin_control own;            /* first asked; leads to the memo by its address */
    burin_work work;
    const float *input;
} memo;

typedef struct lies {
    pthread_mutex_t lock;
    unsigned calls;
    memo memos[256];
} lies;

static const burin_provider *honest(void) {
    const burin_provider *p = NULL;
    for (size_t i = 0; (p = burin_provider_builtin(i)) != NULL && strcmp(p->name, "null") != 0; i++) {
    }
    return p;
}

static unsigned count(void *user) {
    lies *l = user;
    pthread_mutex_lock(&l->lock);
    const unsigned n = l->calls++;
    pthread_mutex_unlock(&l->lock);
    return n;
}

static memo *memo_of(void *user, void *session) {
    lies *l = user;
    memo *found = NULL;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < 256 && found == NULL; i++) {
        found = l->memos[i].session == session ? &l->memos[i] : NULL;
    }
    for (size_t i = 0; i < 256 && found == NULL; i++) {
        found = l->memos[i].session == NULL ? &l->memos[i] : NULL;
    }
    assert_non_null(found);
    found->session = session;
    pthread_mutex_unlock(&l->lock);
    return found;
}

static void forget(void *user, void *session) {
    memo *m = memo_of(user, session);
    honest()->release_session(NULL, session);
    pthread_mutex_lock(&((lies *)user)->lock);
    memset(m, 0, sizeof *m);
    pthread_mutex_unlock(&((lies *)user)->lock);
}

/* ---- devices ---- */
static burin_code no_device(void *user, uint32_t *n, burin_error *e) {
    (void)user, (void)e;
    *n = 0;
    return BURIN_E_NONE;
}
static burin_code device_moves(void *user, uint32_t i, burin_device *out, burin_error *e) {
    burin_code code = honest()->device(NULL, i, out, e);
    out->id[6] = (char)('0' + count(user) % 10);
    return code;
}
static burin_code device_bits(void *user, uint32_t i, burin_device *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->device(NULL, i, out, e);
    out->capabilities |= (uint64_t)1 << 40;
    return code;
}
static burin_code device_of_no_memory(void *user, uint32_t i, burin_device *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->device(NULL, i, out, e);
    out->has_memory = 1;
    return code;
}
static burin_code any_device(void *user, uint32_t i, burin_device *out, burin_error *e) {
    (void)user, (void)i;
    return honest()->device(NULL, 0, out, e);
}

/* ---- inspect and plan ---- */
static burin_code inspect_reads_all(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    char byte;
    (void)user;
    (void)s->read(s->user, s->bytes - 1, &byte, 1);
    return honest()->inspect(NULL, s, out, e);
}
static burin_code inspect_takes_all(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    (void)user;
    if (honest()->inspect(NULL, s, out, e) != BURIN_E_NONE) {
        burin_source good;
        (void)honest()->sample(NULL, 0, &good);
        return s->bytes < good.bytes ? BURIN_E_FORMAT : honest()->inspect(NULL, &good, out, e);
    }
    return BURIN_E_NONE;
}
static burin_code inspect_changes(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    burin_code code = honest()->inspect(NULL, s, out, e);
    out->words[7] = count(user);
    return code;
}
static burin_code inspect_odd_code(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    (void)user;
    return honest()->inspect(NULL, s, out, e) == BURIN_E_NONE ? BURIN_E_NONE : (burin_code)12345;
}
static burin_code inspect_header_short(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->inspect(NULL, s, out, e);
    out->header_bytes = 4;
    return code;
}
static burin_code inspect_too_large(void *user, const burin_source *s, burin_inspection *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->inspect(NULL, s, out, e);
    out->payload_bytes = s->bytes;
    return code;
}
static burin_code plan_reads(void *user, const burin_source *s, const burin_inspection *i, const burin_request *r,
                             burin_plan_record *out, burin_error *e) {
    char byte;
    (void)user;
    (void)s->read(s->user, s->bytes - 1, &byte, 1);
    return honest()->plan(NULL, s, i, r, out, e);
}
static burin_code plan_any_options(void *user, const burin_source *s, const burin_inspection *i, const burin_request *r,
                                   burin_plan_record *out, burin_error *e) {
    burin_request none = *r;
    (void)user;
    none.options = "";
    return honest()->plan(NULL, s, i, &none, out, e);
}
static burin_code plan_more(void *user, const burin_source *s, const burin_inspection *i, const burin_request *r,
                            burin_plan_record *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->plan(NULL, s, i, r, out, e);
    out->model_bytes += 64;
    return code;
}
static burin_code plan_more_of_session(void *user, const burin_source *s, const burin_inspection *i,
                                       const burin_request *r, burin_plan_record *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->plan(NULL, s, i, r, out, e);
    out->session_bytes += 64;
    return code;
}
static burin_code plan_changes(void *user, const burin_source *s, const burin_inspection *i, const burin_request *r,
                               burin_plan_record *out, burin_error *e) {
    burin_code code = honest()->plan(NULL, s, i, r, out, e);
    out->words[7] = count(user);
    return code;
}

/* ---- prepare and create ---- */
static burin_code prepare_admits_less(void *user, const burin_source *s, const burin_plan_record *p, burin_memory *m,
                                      void **model, burin_prepared *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->prepare(NULL, s, p, m, model, out, e);
    out->admitted &= ~(uint64_t)BURIN_CAN_STATE_FORK;
    return code;
}
static burin_code prepare_leaks(void *user, const burin_source *s, const burin_plan_record *p, burin_memory *m,
                                void **model, burin_prepared *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->prepare(NULL, s, p, m, model, out, e);
    if (code == BURIN_E_READ) {
        (void)m->alloc(m, 8);
    }
    return code;
}
static burin_code prepare_one_identity(void *user, const burin_source *s, const burin_plan_record *p, burin_memory *m,
                                       void **model, burin_prepared *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->prepare(NULL, s, p, m, model, out, e);
    out->identity = 7;
    return code;
}
static burin_code prepare_new_identity(void *user, const burin_source *s, const burin_plan_record *p, burin_memory *m,
                                       void **model, burin_prepared *out, burin_error *e) {
    burin_code code = honest()->prepare(NULL, s, p, m, model, out, e);
    out->identity += count(user);
    return code;
}
static burin_code prepare_half(void *user, const burin_source *s, const burin_plan_record *p, burin_memory *m,
                               void **model, burin_prepared *out, burin_error *e) {
    burin_code code = honest()->prepare(NULL, s, p, m, model, out, e);
    if (code != BURIN_E_NONE) {
        *model = user; /* what was to become the model */
    }
    return code;
}
static burin_code create_keeps_model(void *user, void *model, burin_memory *m, void **session, burin_error *e) {
    void *probe = m->alloc(m, 8);
    (void)user;
    if (probe == NULL) {
        return BURIN_E_NO_MEMORY;
    }
    m->free(m, probe);
    return honest()->create_session(NULL, model, m, session, e);
}
static burin_code create_noted(void *user, void *model, burin_memory *m, void **session, burin_error *e) {
    burin_code code = honest()->create_session(NULL, model, m, session, e);
    if (code == BURIN_E_NONE) {
        memo_of(user, *session)->memory = m;
    }
    return code;
}
static void release_nothing(void *user, void *object) {
    (void)user, (void)object;
}
static uint64_t lacks_fork(void *user, void *session) {
    return honest()->session_capabilities(user, session) & ~(uint64_t)BURIN_CAN_STATE_FORK;
}
static uint64_t loses_fork(void *user, void *session) {
    return count(user) % 4 == 3 ? lacks_fork(NULL, session) : honest()->session_capabilities(NULL, session);
}
static burin_code tensor_bytes(void *user, void *s, burin_role r, uint32_t i, burin_value *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->tensor(NULL, s, r, i, out, e);
    out->bytes -= r == BURIN_OUTPUT ? 4 : 0;
    return code;
}
static burin_code tensor_any(void *user, void *s, burin_role r, uint32_t i, burin_value *out, burin_error *e) {
    (void)user, (void)i;
    return honest()->tensor(NULL, s, r, 0, out, e);
}
static burin_code tensor_changes(void *user, void *s, burin_role r, uint32_t i, burin_value *out, burin_error *e) {
    burin_code code = honest()->tensor(NULL, s, r, i, out, e);
    if (r == BURIN_OUTPUT && count(user) % 2 == 1) {
        out->rank = 2;
        out->dim[1] = 1;
    }
    return code;
}

/* ---- work ---- */
static burin_code submit_takes_memory(void *user, void *s, const burin_work *w, burin_error *e) {
    burin_memory *m = memo_of(user, s)->memory;
    void *block = m != NULL ? m->alloc(m, 16) : NULL;
    if (block != NULL) {
        m->free(m, block);
    }
    return honest()->submit(NULL, s, w, e);
}
static burin_code submit_notes_input(void *user, void *s, const burin_work *w, burin_error *e) {
    memo_of(user, s)->input = w->inputs[0].data;
    return honest()->submit(NULL, s, w, e);
}
static burin_code observe_late_input(void *user, void *s, uint32_t i, void *to, size_t n, burin_value *out,
                                     burin_error *e) {
    const memo *m = memo_of(user, s);
    burin_code code = honest()->observe(NULL, s, i, to, n, out, e);
    ((float *)to)[0] += m->input != NULL ? m->input[0] : 0;
    return code;
}
static int never(const burin_control *control) {
    (void)control;
    return 0;
}
static memo *memo_of_control(const burin_control *control) {
    return (memo *)(void *)((char *)(uintptr_t)control - offsetof(memo, own));
}
static int wants(const burin_control *control, const char *name) {
    const memo *m = memo_of_control(control);
    return m->control->wants(m->control, name);
}
static int cancelled(const burin_control *control) {
    const memo *m = memo_of_control(control);
    return m->control->cancelled(m->control);
}
static void twice(const burin_control *control, const burin_value *value) {
    const memo *m = memo_of_control(control);
    m->control->activation(m->control, value);
    m->control->activation(m->control, value);
}
static void once(const burin_control *control, const burin_value *value) {
    const memo *m = memo_of_control(control);
    m->control->activation(m->control, value);
}
static burin_code submit_between(void *user, void *s, const burin_work *w, burin_error *e, burin_control control) {
    memo *m = memo_of(user, s);
    m->control = w->control;
    m->own = control;
    m->work = *w;
    m->work.control = &m->own;
    return honest()->submit(NULL, s, &m->work, e);
}
static burin_code submit_never_asks(void *user, void *s, const burin_work *w, burin_error *e) {
    return submit_between(user, s, w, e, (burin_control){never, wants, once});
}
static burin_code submit_gives_twice(void *user, void *s, const burin_work *w, burin_error *e) {
    return submit_between(user, s, w, e, (burin_control){cancelled, wants, twice});
}
static burin_code submit_gives_unasked(void *user, void *s, const burin_work *w, burin_error *e) {
    burin_value v;
    (void)user;
    (void)honest()->tensor(NULL, s, BURIN_OUTPUT, 0, &v, e);
    w->control->activation(w->control, &v);
    return honest()->submit(NULL, s, w, e);
}
static burin_code wait_goes_back(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    burin_code code = honest()->wait(NULL, s, t, ns, out, e);
    if (ns == 0 && out->phase == BURIN_DONE && count(user) % 2 == 0) {
        out->phase = BURIN_PENDING;
        out->releasable = 0;
    }
    return code;
}
static burin_code wait_changes_code(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    burin_code code = honest()->wait(NULL, s, t, ns, out, e);
    out->code = out->phase == BURIN_DONE ? count(user) : 0;
    return code;
}
static burin_code wait_fails(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    burin_code code = honest()->wait(NULL, s, t, ns, out, e);
    return count(user) % 3 == 0 ? burin_fail(e, BURIN_E_EXECUTION, "told in the wrong place") : code;
}
static burin_code wait_unbounded(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    (void)user;
    return honest()->wait(NULL, s, t, ns > 0 ? BURIN_FOREVER : 0, out, e);
}
static burin_code poll_waits(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    (void)user, (void)ns;
    return honest()->wait(NULL, s, t, BURIN_FOREVER, out, e);
}
static burin_code wait_any_ticket(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    (void)user;
    if (honest()->wait(NULL, s, t, ns, out, e) != BURIN_E_NONE) {
        out->phase = BURIN_DONE;
        out->releasable = 1;
    }
    return BURIN_E_NONE;
}
static burin_code wait_free_early(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->wait(NULL, s, t, ns, out, e);
    out->releasable = 1;
    return code;
}
static burin_code wait_done_early(void *user, void *s, uint64_t t, uint64_t ns, burin_progress *out, burin_error *e) {
    (void)user;
    burin_code code = honest()->wait(NULL, s, t, ns, out, e);
    if (out->phase == BURIN_PENDING) {
        (void)honest()->wait(NULL, s, t, BURIN_FOREVER, out, e); /* so that no work is left behind */
        out->phase = BURIN_DONE;
    }
    return code;
}
static burin_code cancel_fails(void *user, void *s, uint64_t t, burin_error *e) {
    (void)honest()->cancel(NULL, s, t, e);
    return count(user) % 2 == 1 ? burin_fail(e, BURIN_E_EXECUTION, "once is enough") : BURIN_E_NONE;
}

/* ---- output and state ---- */
static burin_code observe_short(void *user, void *s, uint32_t i, void *to, size_t n, burin_value *out, burin_error *e) {
    unsigned char last = ((unsigned char *)to)[n - 1];
    (void)user;
    burin_code code = honest()->observe(NULL, s, i, to, n, out, e);
    ((unsigned char *)to)[n - 1] = last;
    return code;
}
static burin_code observe_long(void *user, void *s, uint32_t i, void *to, size_t n, burin_value *out, burin_error *e) {
    (void)user;
    ((unsigned char *)to)[n] = 0; /* every buffer of the kit has a byte to spare */
    return honest()->observe(NULL, s, i, to, n, out, e);
}
static burin_code observe_noise(void *user, void *s, uint32_t i, void *to, size_t n, burin_value *out, burin_error *e) {
    burin_code code = honest()->observe(NULL, s, i, to, n, out, e);
    ((float *)to)[0] += (float)count(user);
    return code;
}
static burin_code observe_other_type(void *user, void *s, uint32_t i, void *to, size_t n, burin_value *out,
                                     burin_error *e) {
    (void)user;
    burin_code code = honest()->observe(NULL, s, i, to, n, out, e);
    out->type = "i32";
    return code;
}
static burin_code reset_nothing(void *user, void *s, burin_error *e) {
    (void)user, (void)s, (void)e;
    return BURIN_E_NONE;
}
static burin_code save_resets(void *user, void *s, void *to, size_t n, burin_error *e) {
    (void)user;
    burin_code code = honest()->save(NULL, s, to, n, e);
    (void)honest()->reset(NULL, s, e);
    return code;
}
static burin_code save_beyond(void *user, void *s, void *to, size_t n, burin_error *e) {
    (void)user;
    ((unsigned char *)to)[n] = 0; /* the kit has bytes to spare here */
    return honest()->save(NULL, s, to, n, e);
}
static burin_code restore_nothing(void *user, void *s, const void *from, size_t n, burin_error *e) {
    (void)user, (void)s, (void)from, (void)n, (void)e;
    return BURIN_E_NONE;
}
static burin_code fork_from_zero(void *user, void *s, burin_memory *m, burin_memory *n, void **forked, burin_error *e) {
    (void)user;
    burin_code code = honest()->fork(NULL, s, m, n, forked, e);
    if (code == BURIN_E_NONE) {
        (void)honest()->reset(NULL, *forked, e);
    }
    return code;
}
static burin_code fork_disturbs(void *user, void *s, burin_memory *m, burin_memory *n, void **forked, burin_error *e) {
    (void)user;
    burin_code code = honest()->fork(NULL, s, m, n, forked, e);
    (void)honest()->reset(NULL, s, e);
    return code;
}
static burin_code read_nothing(void *user, uint64_t offset, void *to, size_t n) {
    (void)user, (void)offset;
    memset(to, 0, n);
    return BURIN_E_NONE;
}
static burin_code bad_sample(void *user, uint32_t i, burin_source *out) {
    (void)user, (void)i;
    *out = (burin_source){sizeof *out, 0, "zeros", 32, NULL, read_nothing};
    return BURIN_E_NONE;
}

/* ---- the lies ---- */
/* X(what, change of the table, the check that is named for it) */
#define LIES(X)                                                                                                        \
    X("its table is short", t.size -= 8, registers)                                                                    \
    X("its version is another", t.abi = 2, registers)                                                                  \
    X("a required member is missing", t.wait = NULL, registers)                                                        \
    X("a bit without its member", t.fork = NULL, registers)                                                            \
    X("its name has a blank", t.name = "my provider", registers)                                                       \
    X("it has no device, and no error", t.device_count = no_device, devices)                                           \
    X("its device's id changes", t.device = device_moves, devices_stable)                                              \
    X("its device has unknown bits", t.device = device_bits, device_bits)                                              \
    X("its device has 0 bytes", t.device = device_of_no_memory, device_memory)                                         \
    X("it has devices beyond the count", t.device = any_device, device_beyond)                                         \
    X("inspect reads weights", t.inspect = inspect_reads_all, headers_only)                                            \
    X("inspect takes anything", t.inspect = inspect_takes_all, inspect_noise)                                          \
    X("inspect says another thing each time", t.inspect = inspect_changes, inspect_stable)                             \
    X("inspect returns a code that there is not", t.inspect = inspect_odd_code, inspect_damaged)                       \
    X("headers are longer than inspect says", t.inspect = inspect_header_short, headers_only)                          \
    X("weights are larger than the file", t.inspect = inspect_too_large, inspects)                                     \
    X("plan reads weights", t.plan = plan_reads, plan_reads_no_weights)                                                \
    X("plan takes any option", t.plan = plan_any_options, plan_options)                                                \
    X("plan says another thing each time", t.plan = plan_changes, plan_stable)                                         \
    X("the model is smaller than planned", t.plan = plan_more, prepare_memory)                                         \
    X("the session is smaller than planned", t.plan = plan_more_of_session, create_memory)                             \
    X("less is admitted than planned", t.prepare = prepare_admits_less, prepare_admits)                                \
    X("a prepare that fails keeps memory", t.prepare = prepare_leaks, prepare_unreadable)                              \
    X("a prepare that fails gives a model", t.prepare = prepare_half, raw_failure)                                     \
    X("all models are one", t.prepare = prepare_one_identity, identity_other)                                          \
    X("no model is itself", t.prepare = prepare_new_identity, identity_same)                                           \
    X("a create that fails keeps the model", t.create_session = create_keeps_model, create_no_memory)                  \
    X("a released model stays", t.release_model = release_nothing, model_released)                                     \
    X("a session can less than admitted", t.session_capabilities = lacks_fork, realised_equal)                         \
    X("a session loses a capability", t.session_capabilities = loses_fork, realised_stays)                             \
    X("bytes do not fit the shape", t.tensor = tensor_bytes, tensors)                                                  \
    X("there are tensors beyond the count", t.tensor = tensor_any, tensor_beyond)                                      \
    X("an output's shape changes", t.tensor = tensor_changes, tensors_stable)                                          \
    X("submit asks for memory", (t.create_session = create_noted, t.submit = submit_takes_memory), no_late)            \
    X("inputs are read later", (t.submit = submit_notes_input, t.observe = observe_late_input), inputs_taken)          \
    X("nobody asks whether it is cancelled", t.submit = submit_never_asks, asks_cancelled)                             \
    X("an activation comes twice", t.submit = submit_gives_twice, activation_exact)                                    \
    X("an activation comes unasked", t.submit = submit_gives_unasked, no_breach)                                       \
    X("what was done is not", t.wait = wait_goes_back, raw_sticky)                                                     \
    X("the code changes after the end", t.wait = wait_changes_code, raw_sticky)                                        \
    X("wait fails in place of the work", t.wait = wait_fails, runs)                                                    \
    X("wait has no end of its time", t.wait = wait_unbounded, slow_deadline)                                           \
    X("poll waits", t.wait = poll_waits, slow_pending)                                                                 \
    X("any ticket will do", t.wait = wait_any_ticket, raw_ticket)                                                      \
    X("resources are free while it works", t.wait = wait_free_early, no_breach)                                        \
    X("done before it is", t.wait = wait_done_early, slow_pending)                                                     \
    X("the second cancel fails", t.cancel = cancel_fails, raw_cancel_twice)                                            \
    X("an output lacks its last byte", t.observe = observe_short, observes)                                            \
    X("an output has a byte more", t.observe = observe_long, observes)                                                 \
    X("outputs are not those of the inputs", t.observe = observe_noise, runs_equal)                                    \
    X("an output is of another type", t.observe = observe_other_type, observe_shape)                                   \
    X("reset does nothing", t.reset = reset_nothing, reset_is_new)                                                     \
    X("save changes the state", t.save = save_resets, save_changes_nothing)                                            \
    X("save writes beyond", t.save = save_beyond, save_exact)                                                          \
    X("restore does nothing", t.restore = restore_nothing, restore_exact)                                              \
    X("a fork begins anew", t.fork = fork_from_zero, fork_same)                                                        \
    X("a fork changes the first", t.fork = fork_disturbs, fork_apart)                                                  \
    X("a released session stays", t.release_session = release_nothing, session_released)                               \
    X("its sample is no model of its", t.sample = bad_sample, raw_samples)

static burin_check *conform(const burin_provider *p) {
    burin_check *checks = calloc(burin_conform_count(), sizeof *checks);
    burin_error e = BURIN_ERROR_INIT;
    assert_non_null(checks);
    assert_int_equal(burin_conform(p, NULL, checks, &e), 0);
    return checks;
}

static void the_null_provider_conforms(void **state) {
    (void)state;
    burin_check *checks = conform(honest());
    size_t passed = 0;
    for (size_t i = 0; i < burin_conform_count(); i++) {
        if (checks[i].verdict == BURIN_VERDICT_FAIL) {
            print_error("%u %s: %s\n", checks[i].number, checks[i].name, checks[i].why);
        }
        assert_int_not_equal(checks[i].verdict, BURIN_VERDICT_FAIL);
        passed += checks[i].verdict == BURIN_VERDICT_PASS;
    }
    assert_true(passed >= 120);
    free(checks);
}

static bool is_caught(const char *what, const burin_provider *p, const char *name) {
    burin_check *checks = conform(p);
    bool caught = false;
    for (size_t i = 0; i < burin_conform_count(); i++) {
        caught = caught || (strcmp(checks[i].name, name) == 0 && checks[i].verdict == BURIN_VERDICT_FAIL &&
                            strncmp(checks[i].why, "not reached", 11) != 0);
    }
    if (!caught) {
        print_error("not caught by %s: %s\n", name, what);
    }
    free(checks);
    return caught;
}

static void each_lie_is_caught(void **state) {
    (void)state;
    int missed = 0;
    lies *l = calloc(1, sizeof *l);
    assert_non_null(l);
    pthread_mutex_init(&l->lock, NULL);
#define LIE(what, change, check)                                                                                       \
    {                                                                                                                  \
        burin_provider t = *honest();                                                                                  \
        t.user = l;                                                                                                    \
        t.release_session = forget;                                                                                    \
        change;                                                                                                        \
        missed += !is_caught(what, &t, #check);                                                                        \
        memset(l->memos, 0, sizeof l->memos);                                                                          \
        l->calls = 0;                                                                                                  \
    }
    LIES(LIE)
#undef LIE
    assert_int_equal(missed, 0);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_null_provider_conforms),
        cmocka_unit_test(each_lie_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
