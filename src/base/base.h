/* base.h - face of room `base`: memory, text, containers, diagnostics, bytes, number formats.
 *
 * Takes nothing but libc. Gives every other room its arena, its error channel and its element types.
 * Does not know tensors, graphs or files of any format.
 * Out of memory never returns: it jumps to the guard of the base_memory (see base_guard), so no
 * caller checks an allocation; what lies outside arenas is registered with base_defer.
 */
#ifndef BURIN_BASE_H
#define BURIN_BASE_H

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- status: for programs; the numbers are the exit statuses of the command ---- */
typedef enum base_status {
    BASE_OK = 0,
    BASE_REFUSED = 1,   /* the input is refused; a diagnostic says why */
    BASE_USAGE = 2,     /* the caller asked for something that does not exist */
    BASE_WRONG = 3,     /* the output does not compute what the input says */
    BASE_BUDGET = 4,    /* no plan meets the budget */
    BASE_IO = 5,        /* a file could not be read or written (the command exits with 1) */
    BASE_NO_MEMORY = 6, /* (the command exits with 1) */
    BASE_INTERNAL = 70, /* our own fault */
} base_status;

/* ---- memory ---- */
/* The one allocation callback. size 0 frees and returns NULL; old is the size given before (0: new). */
typedef void *(*base_realloc_fn)(void *user, void *pointer, size_t old, size_t size);

typedef struct base_guard {
    jmp_buf env;
    struct base_guard *outer;
    struct base_arena *newest; /* of the arenas when the guard was set */
} base_guard;

/* One call's: nothing here is locked, so two threads need two.
 * Where all arenas of one call get their blocks. A guard must be set while anything allocates. */
typedef struct base_memory {
    base_realloc_fn realloc; /* NULL: libc's */
    void *user;
    base_guard *guard;
    struct base_arena *arenas;  /* alive, newest first */
    size_t in_use, peak, limit; /* bytes; limit 0: none. Over the limit is out of memory. */
} base_memory;

/* if (BASE_GUARD(memory, &guard)) { out of memory: return BASE_NO_MEMORY }
 * ...; base_unguard(memory, &guard). The jump frees every arena that was made since the guard was set, and with it what
 * was deferred. setjmp's rule: locals changed after it must be volatile. */
#define BASE_GUARD(memory, g) (base_guard_set((memory), (g)), setjmp((g)->env))
void base_guard_set(base_memory *memory, base_guard *guard);
void base_unguard(base_memory *memory, base_guard *guard);

typedef struct base_arena base_arena;
base_arena *base_arena_new(base_memory *memory); /* jumps when out of memory */
void base_arena_free(base_arena *arena);         /* runs the deferred calls, last first; NULL is allowed */
void *base_alloc(base_arena *arena, size_t count, size_t size); /* zeroed, 16-byte aligned, never NULL */
/* p: from base_alloc, base_grow or NULL, with its count. As with realloc p is given up: only the result may be used. */
void *base_grow(base_arena *arena, void *p, size_t old_count, size_t count, size_t size); /* new part zeroed */
/* fn(argument) when the arena is freed; at once, before the jump, when there is no memory to note it. */
void base_defer(base_arena *arena, void (*fn)(void *), void *argument);
base_memory *base_arena_memory(const base_arena *arena);
bool base_arena_holds(const base_arena *arena, const void *p); /* does p point into a piece of the arena? */
#define BASE_NEW(arena, T) ((T *)base_alloc((arena), 1, sizeof(T)))
#define BASE_NEWS(arena, T, n) ((T *)base_alloc((arena), (n), sizeof(T)))

/* A growing array of T in an arena: BASE_VEC(int) v = {0}; *BASE_PUSH(arena, &v) = 3; v.at[0]. */
#define BASE_VEC(T)                                                                                                    \
    struct {                                                                                                           \
        T *at;                                                                                                         \
        size_t n, cap;                                                                                                 \
    }
#define BASE_PUSH(arena, v)                                                                                            \
    ((v)->n == (v)->cap ? (void)((v)->at = base_vec_grow((arena), (v)->at, (v)->cap, sizeof *(v)->at),                 \
                                 (v)->cap = (v)->cap ? 2 * (v)->cap : 8)                                               \
                        : (void)0,                                                                                     \
     &(v)->at[(v)->n++])
void *base_vec_grow(base_arena *arena, void *at, size_t cap, size_t size); /* to 8, then doubles; new part zeroed */

/* A heap within one block of the caller's, which is aligned to 16: a base_memory with base_region_realloc and the region as its
 * user takes nothing from the system. The lowest place that is free is given, so that equal calls have equal places in blocks of
 * any size: a block of as many bytes as the peak was is enough for the same again. */
typedef struct base_region {
    uint8_t *at;
    size_t size, peak; /* peak: the highest end of what was given */
    struct base_hole *holes;
} base_region;
void base_region_init(base_region *region, void *at, size_t size);
void *base_region_realloc(void *region, void *pointer, size_t old, size_t size); /* a base_realloc_fn */

/* ---- text ---- */
char *base_strdup(base_arena *arena, const char *s);
char *base_strndup(base_arena *arena, const char *s, size_t n);
char *base_printf(base_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *base_vprintf(base_arena *arena, const char *format, va_list list);

/* A growing text (or byte string); at is always NUL-terminated once something was added. */
typedef struct base_text {
    base_arena *arena;
    char *at;
    size_t n, cap;
} base_text;
void base_put(base_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void base_puts(base_text *t, const char *s);
void base_putn(base_text *t, const void *bytes, size_t n);
void base_put_unsigned(base_text *t, uint64_t v); /* in decimal */
/* JSON string: quotes, escapes; bytes that are not UTF-8 become \ufffd */
void base_put_quoted(base_text *t, const char *s);
/* The shortest decimal that reads back as the same double; locale-free. Has a point or an exponent, so that C and JSON
 * read a float: 1.0 -0.0 0.1 1e-5 1.5e16; and nan inf -inf, which are neither C nor JSON. */
void base_put_float(base_text *t, double v);
void base_put_float32(base_text *t, float v); /* the same for float */
/* A name fit for terminals: control characters, marks that turn text around and bytes that are not UTF-8 escaped as
 * \xNN, the rest as it is; at most max bytes, the last three "..." when cut. */
/* Length in bytes (1 to 4) of the UTF-8 character at s, of which n >= 1 bytes may be read, and its code point;
 * 0: the byte at s starts none (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF). */
unsigned base_utf8(const uint8_t *s, size_t n, uint32_t *code);
char *base_printable(base_arena *arena, const char *s, size_t n, size_t max);
/* A number at the start of s: correctly rounded, locale-free: decimal and 0x hex floats with or without sign, point and
 * exponent; inf, nan as words of their own. Overflow gives inf. *end (NULL: not wanted) is what follows it; false:
 * none. */
bool base_parse_float(const char *s, const char **end, double *v);

/* Map from byte strings to uint64, in order of insertion; O(1) expected; iteration is insertion order.
 * Addresses of keys (NUL-terminated copies) and values stay good while others are added. */
typedef struct base_map base_map;
base_map *base_map_new(base_arena *arena);
uint64_t *base_map_get(const base_map *map, const void *key, size_t n);          /* NULL: absent */
uint64_t *base_map_put(base_map *map, const void *key, size_t n, bool *was_new); /* copies the key; new value 0 */
size_t base_map_count(const base_map *map);
const void *base_map_key(const base_map *map, size_t i, size_t *n, uint64_t **value);

/* Strings of any bytes, each with a number: a map whose values are the keys' places. Number 0 is the empty string. */
base_map *base_strings_new(base_arena *arena);
uint32_t base_string_number(base_map *strings, const void *at, size_t n); /* one that is not there gets the next number */
/* NULL: there is none of that number. A NUL stands behind it. */
const char *base_string_at(const base_map *strings, uint32_t number, size_t *n);

/* SipHash-1-3 of the key (seed, 0): stable over machines and versions (plans store it). */
uint64_t base_hash(const void *bytes, size_t n, uint64_t seed);

/* ---- diagnostics: for people ---- */
typedef enum base_severity { BASE_ERROR, BASE_WARNING, BASE_NOTE } base_severity;

/* Where: a text place (line >= 1) or a binary one (path, byte). All strings borrowed until reported. */
typedef struct base_place {
    const char *file;
    const char *source; /* the whole text, for the caret line; NULL: none */
    size_t source_size;
    unsigned line, column; /* 1-based, column in bytes of UTF-8 characters counted; 0: no text place */
    const char *path;      /* structural path of a binary file: subgraph[0]/operator[3] CONV_2D; NULL: none */
    uint64_t byte;
    bool has_byte;
} base_place;

typedef struct base_diag {
    base_severity severity;
    char *file, *path, *message, *line_text; /* line_text: the source line, printable; NULL: none */
    unsigned line, column;
    unsigned caret; /* 1-based column of the caret in line_text, which is a part of a long line; 0: none */
    uint64_t byte;
    bool has_byte;
} base_diag;

/* The sink of one call. Keeps the first 20 errors and 20 others; counts the rest. */
typedef struct base_diags {
    base_arena *arena;
    BASE_VEC(base_diag) list;
    size_t errors, warnings, dropped;
} base_diags;
/* The message is one line: a control character in it, a newline too, is shown as \xNN. 2,000 bytes are kept.
 * Reports; returns BASE_REFUSED, so that `return base_error(d, &place, "...")` reads well. place may be NULL. */
base_status base_error(base_diags *d, const base_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void base_warn(base_diags *d, const base_place *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
void base_note(base_diags *d, const base_place *place, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* file:line:column: error: message, then the line and a caret; or file: path: message (byte 0x4f21), which names the
 * severity only where it is not an error; or file: error: message. */
void base_diag_print(base_text *out, const base_diag *d, bool colour);
/* The nearest of n names by edit distance, or NULL when none is near. For "did you mean". */
const char *base_nearest(const char *word, const char *const *names, size_t n);

/* ---- files ---- */
typedef struct base_file {
    const uint8_t *at; /* mapped read-only, or read; unmapped with the arena */
    size_t size;
} base_file;
/* Maps a regular file; reads anything else (a pipe, a device) up to 2^28 bytes, since it may have no end. Errors say the
 * system's reason. */
base_status base_file_read(base_arena *arena, const char *path, base_file *out, base_diags *d);
/* Regular files alone: what waits for another process (a pipe), or has no end, is refused at once. */
base_status base_file_read_regular(base_arena *arena, const char *path, base_file *out, base_diags *d);
/* The same of an untrusted relative path, which must lie in the folder or below it: BASE_REFUSED where it is absolute or empty,
 * has .. in it, or links lead out of the folder. */
base_status base_file_read_inside(base_arena *arena, const char *folder, const char *path, base_file *out,
                                  base_diags *d);
/* The paths of all files that were read with the arena, each once, in the order of their first reading; in the arena. */
const char *const *base_files_read(base_arena *arena, size_t *n);
/* Writes to a temporary name in the same folder, fsyncs, renames. On failure the old file stands and no new one is
 * left. force false: BASE_REFUSED when path exists. */
base_status base_file_write(base_arena *arena, const char *path, const void *bytes, size_t n, bool force,
                            base_diags *d);
/* One file of a folder that is written whole or not at all. */
typedef struct base_output_file {
    const char *name; /* relative, with / for sub-folders; no "..", none twice (BASE_USAGE) */
    const void *bytes;
    size_t size;
} base_output_file;
/* Writes all to temporary names, then renames all; an existing target is kept unless force. Folders are made.
 * On failure the old files are back and folders made for it are gone. */
base_status base_files_write(base_arena *arena, const char *folder, const base_output_file *files, size_t n, bool force,
                             base_diags *d);

/* ---- bounded little-endian bytes ---- */
typedef struct base_bytes {
    const uint8_t *at;
    size_t size;
} base_bytes;
/* Each returns false, and leaves *v alone, when [offset, offset+width) is not inside. */
bool base_get_u8(base_bytes b, uint64_t offset, uint8_t *v);
bool base_get_u16(base_bytes b, uint64_t offset, uint16_t *v);
bool base_get_u32(base_bytes b, uint64_t offset, uint32_t *v);
bool base_get_u64(base_bytes b, uint64_t offset, uint64_t *v);
bool base_mul_size(uint64_t a, uint64_t b, uint64_t *product); /* false on overflow */
bool base_add_size(uint64_t a, uint64_t b, uint64_t *sum);

/* ---- element types (the 23 of the language) ---- */
/* X(ENUM, name, storage bits, kind) kind: f float, i signed, u unsigned, b bool */
#define BASE_TYPES(X)                                                                                                  \
    X(F64, "f64", 64, 'f')                                                                                             \
    X(F32, "f32", 32, 'f')                                                                                             \
    X(F16, "f16", 16, 'f')                                                                                             \
    X(BF16, "bf16", 16, 'f')                                                                                           \
    X(F8E4M3FN, "f8e4m3fn", 8, 'f')                                                                                    \
    X(F8E4M3FNUZ, "f8e4m3fnuz", 8, 'f')                                                                                \
    X(F8E5M2, "f8e5m2", 8, 'f')                                                                                        \
    X(F8E5M2FNUZ, "f8e5m2fnuz", 8, 'f')                                                                                \
    X(F8E8M0, "f8e8m0", 8, 'f')                                                                                        \
    X(F4E2M1, "f4e2m1", 4, 'f')                                                                                        \
    X(I64, "i64", 64, 'i')                                                                                             \
    X(I32, "i32", 32, 'i')                                                                                             \
    X(I16, "i16", 16, 'i')                                                                                             \
    X(I8, "i8", 8, 'i')                                                                                                \
    X(I4, "i4", 4, 'i')                                                                                                \
    X(I2, "i2", 2, 'i')                                                                                                \
    X(U64, "u64", 64, 'u')                                                                                             \
    X(U32, "u32", 32, 'u')                                                                                             \
    X(U16, "u16", 16, 'u')                                                                                             \
    X(U8, "u8", 8, 'u')                                                                                                \
    X(U4, "u4", 4, 'u')                                                                                                \
    X(U2, "u2", 2, 'u')                                                                                                \
    X(BOOL, "bool", 8, 'b')                                                                                             \
    X(STR, "str", 32, 'u') /* a string by its number in the strings of its model: equal strings, equal numbers */

typedef enum base_type {
    BASE_NONE = 0,
#define BASE_TYPE_ENUM(E, name, bits, kind) BASE_##E,
    BASE_TYPES(BASE_TYPE_ENUM)
#undef BASE_TYPE_ENUM
        BASE_TYPE_COUNT
} base_type;

const char *base_type_name(base_type t);
base_type base_type_named(const char *name, size_t n); /* BASE_NONE: no such type */
unsigned base_type_bits(base_type t);                  /* storage bits of one element */
/* Asked of every node of every program: one bit for each type. */
#define BASE_TYPE_BIT(E, kind, wanted) | (uint32_t)((kind) == (wanted)) << BASE_##E
#define BASE_FLOAT_BIT(E, name, bits, kind) BASE_TYPE_BIT(E, kind, 'f')
#define BASE_SIGNED_BIT(E, name, bits, kind) BASE_TYPE_BIT(E, kind, 'i')
#define BASE_UNSIGNED_BIT(E, name, bits, kind) BASE_TYPE_BIT(E, kind, 'u')
static inline bool base_type_is_among(base_type t, uint32_t types) {
    assert((unsigned)t < BASE_TYPE_COUNT);
    return (types >> t & 1) != 0;
}
static inline bool base_type_is_float(base_type t) {
    return base_type_is_among(t, 0u BASE_TYPES(BASE_FLOAT_BIT));
}
static inline bool base_type_is_int(base_type t) { /* signed or unsigned, not bool */
    return base_type_is_among(t, 0u BASE_TYPES(BASE_SIGNED_BIT) BASE_TYPES(BASE_UNSIGNED_BIT));
}
static inline bool base_type_is_signed(base_type t) { /* floats, too */
    return base_type_is_among(t, 0u BASE_TYPES(BASE_SIGNED_BIT) BASE_TYPES(BASE_FLOAT_BIT));
}
/* Bytes of n elements; 4- and 2-bit elements are packed, low bits first, the last byte padded with 0. */
bool base_type_bytes(base_type t, uint64_t n, uint64_t *bytes); /* false on overflow */
/* Smallest and largest value of an integer type or bool (u64's highest is UINT64_MAX in *hi). */
void base_type_range(base_type t, int64_t *lo, uint64_t *hi);

/* One value of any type. Integers of every signed type in i, of unsigned types and bool in u (0 or 1),
 * f32 and every narrower float exactly in f (as double), f64 in f. */
typedef union base_value {
    int64_t i;
    uint64_t u;
    double f;
} base_value;
base_value base_load(base_type t, const void *data, uint64_t index);    /* any alignment */
void base_store(base_type t, void *data, uint64_t index, base_value v); /* integers: v is in range of t */
void base_put_value(base_text *t, base_type type, base_value v);        /* a float as by base_put_float */
/* Where element `element`, counted in row-major order, stands: "[0,3]", "[]" of rank 0. Extents of 0 count as 1. */
void base_put_index(base_text *t, uint32_t rank, const int64_t *dim, uint64_t element);
/* Rounds v (nearest even) to float type t, by that format's rules for overflow, infinity and NaN; t is a float type.
 * Does not saturate: overflow is inf, or NaN where t has none. f4e2m1 has neither: beyond 6 is 6, NaN is 6. f8e8m0 has
 * powers of two from 2^-127 to 2^127 only: ties go up, 0 is 2^-127, the sign is dropped, infinity is NaN. */
double base_round_to(base_type t, double v);

#include "base/words.h"
#endif
