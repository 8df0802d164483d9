/* memory.c - what providers have: one account for each model and each session,
 * and blocks that models share by content.
 *
 * Takes the application's allocator. Gives zeroed blocks within what was
 * planned, refuses what goes beyond, and frees and counts what a provider kept.
 */
#include <string.h>

#include "base/base.h"
#include "runtime/private.h"

enum { ALIGNMENT = 64, HEAD = (sizeof(runtime_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

/* An allocation of head + bytes, where what stands behind the head is aligned.
 */
static void *take(burin_runtime *rt, size_t head, size_t bytes, void **base, size_t *total) {
    *total = head + bytes + ALIGNMENT - 1;
    if (*total < bytes) {
        return NULL;
    }
    *base = rt->options.realloc(rt->options.user, NULL, 0, *total);
    if (*base == NULL) {
        return NULL;
    }
    memset(*base, 0, *total);
    const uintptr_t at = (uintptr_t)*base + head;
    return (void *)((at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void give(burin_runtime *rt, void *base, size_t total) {
    (void)rt->options.realloc(rt->options.user, base, total, 0);
}

static void count(runtime_account *a, int64_t bytes) {
    burin_stats *s = &a->rt->stats;
    uint64_t *of = a->of_session ? &s->session_bytes : &s->model_bytes;
    *of += (uint64_t)bytes;
    a->used += (uint64_t)bytes;
}

static void note_peak(burin_runtime *rt) {
    burin_stats *s = &rt->stats;
    const uint64_t now = s->model_bytes + s->session_bytes + s->shared_bytes;
    s->peak_bytes = now > s->peak_bytes ? now : s->peak_bytes;
    s->allocations++;
}

/* May so much more be taken? What comes after a session was made is counted. */
static bool may_take(runtime_account *a, uint64_t bytes) {
    if (a->sealed) {
        a->rt->stats.late_allocations++;
        return false;
    }
    return bytes <= a->limit && a->used + a->shared <= a->limit - bytes;
}

static runtime_block *new_block(runtime_account *a, size_t bytes, void **data) {
    void *base;
    size_t total;
    *data = take(a->rt, HEAD, bytes, &base, &total);
    if (*data == NULL) {
        return NULL;
    }
    runtime_block *b = (runtime_block *)(void *)((char *)*data - HEAD);
    *b = (runtime_block){.next = a->blocks, .account = a, .bytes = bytes, .base = base, .total = total};
    if (a->blocks != NULL) {
        a->blocks->before = b;
    }
    a->blocks = b;
    return b;
}

static void unlink_block(runtime_account *a, runtime_block *b) {
    *(b->before != NULL ? &b->before->next : &a->blocks) = b->next;
    if (b->next != NULL) {
        b->next->before = b->before;
    }
}

static void end_block(runtime_account *a, runtime_block *b) {
    unlink_block(a, b);
    give(a->rt, b->base, b->total);
}

static void *alloc(burin_memory *memory, size_t bytes) {
    runtime_account *a = (runtime_account *)(void *)memory;
    void *data = NULL;
    runtime_lock(a->rt);
    if (may_take(a, bytes) && new_block(a, bytes, &data) != NULL) {
        count(a, (int64_t)bytes);
        note_peak(a->rt);
    }
    runtime_unlock(a->rt);
    return data;
}

/* The block that a provider's pointer means; NULL: none of this account's. */
static runtime_block *block_of(runtime_account *a, const void *data) {
    for (runtime_block *b = a->blocks; b != NULL; b = b->next) {
        const char *own = (const char *)b + HEAD;
        if (data == (b->shared != NULL ? b->shared->data : (const void *)own)) {
            return b;
        }
    }
    return NULL;
}

static void free_block(burin_memory *memory, void *data) {
    runtime_account *a = (runtime_account *)(void *)memory;
    runtime_lock(a->rt);
    runtime_block *b = data != NULL ? block_of(a, data) : NULL;
    if (b != NULL && b->shared == NULL) {
        count(a, -(int64_t)b->bytes);
        end_block(a, b);
    } else if (data != NULL) {
        a->rt->stats.breaches++; /* freed twice, or never given */
    }
    runtime_unlock(a->rt);
}

/* ---- shared ---- */

static runtime_shared *shared_of(burin_runtime *rt, const void *contents, size_t bytes, uint64_t hash) {
    for (runtime_shared *s = rt->shared; s != NULL; s = s->next) {
        if (s->hash == hash && s->bytes == bytes && memcmp(s->data, contents, bytes) == 0) {
            return s;
        }
    }
    return NULL;
}

/* What the account's block holds becomes shared; the block's memory goes on as
 * it. NULL: no memory. */
static runtime_shared *new_shared(runtime_account *a, runtime_block *b, void *data, uint64_t hash) {
    burin_runtime *rt = a->rt;
    runtime_shared *s = rt->options.realloc(rt->options.user, NULL, 0, sizeof *s);
    if (s != NULL) {
        *s = (runtime_shared){
            .next = rt->shared, .hash = hash, .bytes = b->bytes, .base = b->base, .total = b->total, .data = data};
        rt->shared = s;
        rt->stats.shared_bytes += b->bytes;
        count(a, -(int64_t)b->bytes);
        unlink_block(a, b);
    }
    return s;
}

static void drop_shared(burin_runtime *rt, runtime_shared *s) {
    if (s->refs > 0) {
        return;
    }
    runtime_shared **at = &rt->shared;
    while (*at != s) {
        at = &(*at)->next;
    }
    *at = s->next;
    rt->stats.shared_bytes -= s->bytes;
    give(rt, s->base, s->total);
    give(rt, s, sizeof *s);
}

static const void *share(burin_memory *memory, void *given) {
    runtime_account *a = (runtime_account *)(void *)memory;
    const void *data = NULL;
    void *ignored;
    runtime_lock(a->rt);
    runtime_block *b = given != NULL && !a->sealed ? block_of(a, given) : NULL;
    runtime_block *reference = b != NULL && b->shared == NULL ? new_block(a, 0, &ignored) : NULL;
    if (reference != NULL) {
        const uint64_t hash = base_hash(given, (size_t)b->bytes, 1);
        runtime_shared *s = shared_of(a->rt, given, (size_t)b->bytes, hash);
        if (s != NULL) {
            count(a, -(int64_t)b->bytes);
            end_block(a, b);
        } else {
            s = new_shared(a, b, given, hash);
        }
        if (s != NULL) {
            reference->shared = s;
            s->refs++;
            a->shared += s->bytes;
            data = s->data;
        } else {
            end_block(a, reference);
        }
    }
    runtime_unlock(a->rt);
    return data;
}

static void end_shared(runtime_account *a, runtime_block *b) {
    runtime_shared *s = b->shared;
    a->shared -= s->bytes;
    s->refs--;
    end_block(a, b);
    drop_shared(a->rt, s);
}

static void unshare(burin_memory *memory, const void *data) {
    runtime_account *a = (runtime_account *)(void *)memory;
    runtime_lock(a->rt);
    runtime_block *b = data != NULL ? block_of(a, data) : NULL;
    if (b != NULL && b->shared != NULL) {
        end_shared(a, b);
    } else if (data != NULL) {
        a->rt->stats.breaches++;
    }
    runtime_unlock(a->rt);
}

/* ---- accounts ---- */

runtime_account *runtime_account_new(burin_runtime *rt, bool of_session, uint64_t limit) {
    runtime_account *found = NULL;
    runtime_lock(rt);
    for (uint32_t i = 0; i < rt->options.handles && found == NULL; i++) {
        found = rt->accounts[i].taken ? NULL : &rt->accounts[i];
    }
    if (found != NULL) {
        *found = (runtime_account){.face = {sizeof(burin_memory), 0, alloc, free_block, share, unshare},
                                   .rt = rt,
                                   .limit = limit,
                                   .taken = true,
                                   .of_session = of_session};
    }
    runtime_unlock(rt);
    return found;
}

uint64_t runtime_account_end(runtime_account *a) {
    uint64_t left = 0;
    if (a == NULL) {
        return 0;
    }
    runtime_lock(a->rt);
    while (a->blocks != NULL) {
        runtime_block *b = a->blocks;
        left += b->shared != NULL ? b->shared->bytes : b->bytes;
        left += left == 0; /* a block of no bytes is kept, too */
        if (b->shared != NULL) {
            end_shared(a, b);
        } else {
            count(a, -(int64_t)b->bytes);
            end_block(a, b);
        }
    }
    *(a->of_session ? &a->rt->stats.leaked_session_bytes : &a->rt->stats.leaked_model_bytes) += left;
    a->taken = false;
    runtime_unlock(a->rt);
    return left;
}

uint64_t runtime_account_bytes(runtime_account *a) {
    runtime_lock(a->rt);
    const uint64_t bytes = a->used + a->shared;
    runtime_unlock(a->rt);
    return bytes;
}

void runtime_account_seal(runtime_account *a) {
    runtime_lock(a->rt);
    a->sealed = true;
    runtime_unlock(a->rt);
}

burin_code runtime_reserve(runtime_call *call, uint64_t bytes) {
    burin_runtime *rt = call->rt;
    const uint64_t limit = rt->options.memory_limit;
    burin_code code = BURIN_E_NONE;
    runtime_lock(rt);
    uint64_t sum = 0;
    if (!base_add_size(rt->stats.planned_bytes, bytes, &sum) || (limit != 0 && sum > limit)) {
        code = runtime_fail(call, BURIN_E_MEMORY_LIMIT, sum, limit, NULL);
    } else {
        rt->stats.planned_bytes = sum;
    }
    runtime_unlock(rt);
    return code;
}

void runtime_unreserve(burin_runtime *rt, uint64_t bytes) {
    runtime_lock(rt);
    rt->stats.planned_bytes -= bytes;
    runtime_unlock(rt);
}
