/* memory.c - arenas and the guard.
 *
 * Takes blocks from the one callback of a base_memory, counts and limits them; gives zeroed, 16-byte aligned
 * pieces that live until their arena is freed. Running out jumps to the innermost guard.
 * Small pieces share blocks that double in size; large ones have a block of their own, which base_grow gives back.
 * With BURIN_ARENA_CHECK every piece is a block of its own, so that a sanitizer sees the bounds of each.
 * Not thread-safe: one base_memory belongs to one thread at a time.
 */
#include "base/private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LAST_BLOCK = 1 << 20 };

/* Whether a piece of this size has its own block. */
static bool is_own(size_t size) {
#ifdef BURIN_ARENA_CHECK
    (void)size;
    return true;
#else
    return size >= 1 << 16;
#endif
}

/* Lies directly before the data of a block. */
typedef struct block {
    struct block *previous, *next;
    void *raw;       /* what the callback gave */
    size_t raw_size; /* bytes of raw */
    size_t size;     /* bytes of data */
    size_t used;     /* bytes of data given out; a shared block only */
} block;

typedef struct deferred {
    void (*fn)(void *);
    void *argument;
    struct deferred *next;
} deferred;

struct base_arena {
    base_memory *memory;
    base_arena *older, *newer; /* in the memory's list */
    block *own;                /* blocks of one piece, newest first */
    block *shared;             /* shared blocks, the one in use first */
    size_t next_block;         /* data bytes of the next shared block */
    deferred *deferred;
    base_path *paths; /* of files that were read */
};

static size_t align_up(size_t n) {
    return (n + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
}

/* ---- blocks from the callback ---- */

static void *raw_new(base_memory *memory, size_t size) {
    if (memory->limit && (memory->in_use > memory->limit || size > memory->limit - memory->in_use))
        return NULL;
    if (size > SIZE_MAX - memory->in_use)
        return NULL;
    void *raw = memory->realloc ? memory->realloc(memory->user, NULL, 0, size) : malloc(size);
    if (!raw)
        return NULL;
    memory->in_use += size;
    if (memory->in_use > memory->peak)
        memory->peak = memory->in_use;
    return raw;
}

static void raw_free(base_memory *memory, void *raw, size_t size) {
    assert(memory->in_use >= size);
    memory->in_use -= size;
    if (memory->realloc) {
        (void)memory->realloc(memory->user, raw, size, 0);
    } else {
        free(raw);
    }
}

/* Bytes to ask for beyond header and data, so that the data can be aligned. libc's malloc aligns enough on most
 * machines, and then the end of the data is the end of the allocation. */
static size_t slack(const base_memory *memory) {
    return memory->realloc || _Alignof(max_align_t) < ALIGN ? ALIGN - 1 : 0;
}

/* A block with room for size bytes, or NULL. */
static block *block_new(base_memory *memory, size_t size) {
    const size_t header = align_up(sizeof(block));
    const size_t extra = header + slack(memory);
    if (size > SIZE_MAX - extra)
        return NULL;
    uint8_t *raw = raw_new(memory, size + extra);
    if (!raw)
        return NULL;
    const size_t misaligned = (size_t)((uintptr_t)raw % ALIGN);
    uint8_t *data = raw + header + (misaligned ? ALIGN - misaligned : 0);
    block *b = (block *)(void *)(data - sizeof(block));
    *b = (block){.raw = raw, .raw_size = size + extra, .size = size};
    return b;
}

static uint8_t *block_data(block *b) {
    return (uint8_t *)b + sizeof(block);
}

static void push(block **list, block *b) {
    b->next = *list;
    b->previous = NULL;
    if (*list)
        (*list)->previous = b;
    *list = b;
}

static void remove_own(base_arena *arena, block *b) {
    if (b->previous) {
        b->previous->next = b->next;
    } else {
        arena->own = b->next;
    }
    if (b->next)
        b->next->previous = b->previous;
    raw_free(arena->memory, b->raw, b->raw_size);
}

static void free_all(base_memory *memory, block *list) {
    while (list) {
        block *next = list->next;
        raw_free(memory, list->raw, list->raw_size);
        list = next;
    }
}

/* ---- guard ---- */

void base_guard_set(base_memory *memory, base_guard *guard) {
    guard->outer = memory->guard;
    guard->newest = memory->arenas;
    memory->guard = guard;
}

void base_unguard(base_memory *memory, base_guard *guard) {
    assert(memory->guard == guard);
    memory->guard = guard->outer;
}

/* The guard is taken off before the jump: what its owner allocates while cleaning up jumps further out. */
static _Noreturn void out_of_memory(base_memory *memory) {
    base_guard *guard = memory->guard;
    assert(guard && "an allocation failed and no guard is set");
    while (memory->arenas != guard->newest) {
        base_arena_free(memory->arenas);
    }
    memory->guard = guard->outer;
    longjmp(guard->env, 1);
}

/* ---- arena ---- */

base_arena *base_arena_new(base_memory *memory) {
    base_arena *arena = raw_new(memory, sizeof *arena);
    if (!arena)
        out_of_memory(memory);
    *arena = (base_arena){.memory = memory, .next_block = FIRST_BLOCK, .older = memory->arenas};
    if (memory->arenas)
        memory->arenas->newer = arena;
    memory->arenas = arena;
    return arena;
}

void base_arena_free(base_arena *arena) {
    if (!arena)
        return;
    while (arena->deferred) {
        deferred *d = arena->deferred;
        arena->deferred = d->next;
        d->fn(d->argument);
    }
    base_memory *memory = arena->memory;
    if (arena->newer) {
        arena->newer->older = arena->older;
    } else {
        memory->arenas = arena->older;
    }
    if (arena->older)
        arena->older->newer = arena->newer;
    for (base_guard *g = memory->guard; g; g = g->outer) {
        if (g->newest == arena)
            g->newest = arena->older;
    }
    free_all(memory, arena->own);
    free_all(memory, arena->shared);
    raw_free(memory, arena, sizeof *arena);
}

base_memory *base_arena_memory(const base_arena *arena) {
    return arena->memory;
}

base_path **base_paths_of(base_arena *arena) {
    return &arena->paths;
}

static bool is_in(const block *list, const void *p) {
    const uintptr_t at = (uintptr_t)p;
    for (; list; list = list->next) {
        const uintptr_t data = (uintptr_t)list + sizeof(block);
        if (at >= data && at - data < list->size)
            return true;
    }
    return false;
}

bool base_arena_holds(const base_arena *arena, const void *p) {
    return is_in(arena->shared, p) || is_in(arena->own, p);
}

/* Not zeroed; NULL when out of memory. */
static uint8_t *piece_new(base_arena *arena, size_t size) {
    if (is_own(size)) {
        block *b = block_new(arena->memory, size);
        if (!b)
            return NULL;
        push(&arena->own, b);
        return block_data(b);
    }
    const size_t padded = size ? align_up(size) : ALIGN;
    if (!arena->shared || padded > arena->shared->size - arena->shared->used) {
        const size_t room = padded > arena->next_block ? padded : arena->next_block;
        block *b = block_new(arena->memory, room);
        if (!b)
            return NULL;
        push(&arena->shared, b);
        if (arena->next_block < LAST_BLOCK)
            arena->next_block *= 2;
    }
    uint8_t *piece = block_data(arena->shared) + arena->shared->used;
    arena->shared->used += padded;
    return piece;
}

void *base_alloc(base_arena *arena, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        out_of_memory(arena->memory);
    uint8_t *piece = piece_new(arena, count * size);
    if (!piece)
        out_of_memory(arena->memory);
    memset(piece, 0, count * size);
    return piece;
}

/* Extends the newest piece of the shared block where it stands; false: it is not that, or there is no room. */
static bool extend(base_arena *arena, uint8_t *p, size_t old, size_t size) {
    if (is_own(old) || is_own(size) || !arena->shared)
        return false;
    block *b = arena->shared;
    const size_t old_padded = old ? align_up(old) : ALIGN;
    if (b->used < old_padded || p != block_data(b) + (b->used - old_padded))
        return false;
    const size_t start = b->used - old_padded;
    if (align_up(size) > b->size - start)
        return false;
    b->used = start + align_up(size);
    return true;
}

void *base_grow_plain(base_arena *arena, void *p, size_t old, size_t bytes) {
    if (p && (bytes <= old || extend(arena, p, old, bytes)))
        return p;
    uint8_t *grown = piece_new(arena, bytes);
    if (!grown)
        out_of_memory(arena->memory);
    if (!p)
        return grown;
    memcpy(grown, p, old);
    if (is_own(old))
        remove_own(arena, (block *)(void *)((uint8_t *)p - sizeof(block)));
    return grown;
}

void *base_grow(base_arena *arena, void *p, size_t old_count, size_t count, size_t size) {
    if (!p || count <= old_count)
        return p ? p : base_alloc(arena, count, size);
    if (size && count > SIZE_MAX / size)
        out_of_memory(arena->memory);
    const size_t old = old_count * size, bytes = count * size;
    uint8_t *grown = base_grow_plain(arena, p, old, bytes);
    memset(grown + old, 0, bytes - old);
    return grown;
}

void *base_vec_grow(base_arena *arena, void *at, size_t cap, size_t size) {
    if (cap > SIZE_MAX / 2)
        out_of_memory(arena->memory);
    return base_grow(arena, at, cap, cap ? 2 * cap : 8, size);
}

void base_defer(base_arena *arena, void (*fn)(void *), void *argument) {
    deferred *d = (deferred *)(void *)piece_new(arena, sizeof *d);
    if (!d) {
        fn(argument); /* or it would never be called */
        out_of_memory(arena->memory);
    }
    *d = (deferred){.fn = fn, .argument = argument, .next = arena->deferred};
    arena->deferred = d;
}
