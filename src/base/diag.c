/* diag.c - diagnostics: collected with their place, printed for people; and "did you mean".
 *
 * Takes messages that may hold any byte of an input; keeps only text fit for a terminal, of bounded length.
 * Keeps the first 20 errors and the first 20 warnings and notes, counts the rest. Prints to a base_text only.
 */
#include "base/base.h"
#include "base/private.h"

#include <string.h>

enum { KEPT = 20, MESSAGE_MAX = 2000, NAME_MAX_BYTES = 500, LINE_MAX_CHARS = 120, LINE_BEFORE_CARET = 80 };

static char *printable(base_arena *arena, const char *s, size_t max) {
    return s ? base_printable(arena, s, strlen(s), max) : NULL;
}

/* One character as one column: a tab a space, and a question mark for what a terminal must not get. */
static void put_column(base_text *t, const char *s, unsigned length, uint32_t code) {
    if (length && !base_is_control(code)) {
        base_putn(t, s, length);
    } else {
        base_puts(t, code == '\t' && length ? " " : "?");
    }
}

/* The part of the place's line around its column, and the column of the caret in it. */
static char *source_line(base_arena *arena, const base_place *place, unsigned *caret) {
    const char *s = place->source, *end = s + place->source_size;
    for (unsigned line = 1; line < place->line; line++) {
        const char *feed = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
        if (!feed)
            return NULL;
        s = feed + 1;
    }
    const char *feed = s < end ? memchr(s, '\n', (size_t)(end - s)) : NULL;
    if (feed)
        end = feed;
    if (end > s && end[-1] == '\r')
        end--;
    const unsigned column = place->column ? place->column : 1;
    const unsigned first = column > LINE_MAX_CHARS ? column - LINE_BEFORE_CARET : 1; /* first column shown */
    base_text t = {.arena = arena};
    base_puts(&t, first > 1 ? "..." : "");
    unsigned at = 1;
    for (; s < end && at < first + LINE_MAX_CHARS; at++) {
        uint32_t code = 0;
        const unsigned length = base_utf8((const uint8_t *)s, (size_t)(end - s), &code);
        if (at >= first)
            put_column(&t, s, length, code);
        s += length ? length : 1;
    }
    if (s < end)
        base_puts(&t, "...");
    /* a column beyond the line points just after it */
    const unsigned shown = column < at ? column : at;
    *caret = !place->column ? 0 : shown < first ? 1 : shown - first + 1 + (first > 1 ? 3 : 0);
    return t.at;
}

static void report(base_diags *d, base_severity severity, const base_place *place, const char *format, va_list list) {
    if (severity == BASE_ERROR)
        d->errors++;
    if (severity == BASE_WARNING)
        d->warnings++;
    size_t kept = 0;
    for (size_t i = 0; i < d->list.n; i++)
        kept += (d->list.at[i].severity == BASE_ERROR) == (severity == BASE_ERROR);
    if (kept >= KEPT) {
        d->dropped++;
        return;
    }
    const char *message = base_vprintf(d->arena, format, list);
    base_diag diag = {.severity = severity, .message = printable(d->arena, message, MESSAGE_MAX)};
    if (place) {
        diag.file = printable(d->arena, place->file, NAME_MAX_BYTES);
        diag.path = printable(d->arena, place->path, MESSAGE_MAX);
        diag.line = place->line;
        diag.column = place->column;
        diag.byte = place->byte;
        diag.has_byte = place->has_byte;
        if (place->source && place->line)
            diag.line_text = source_line(d->arena, place, &diag.caret);
    }
    *BASE_PUSH(d->arena, &d->list) = diag;
}

base_status base_error(base_diags *d, const base_place *place, const char *format, ...) {
    va_list list;
    va_start(list, format);
    report(d, BASE_ERROR, place, format, list);
    va_end(list);
    return BASE_REFUSED;
}

void base_warn(base_diags *d, const base_place *place, const char *format, ...) {
    va_list list;
    va_start(list, format);
    report(d, BASE_WARNING, place, format, list);
    va_end(list);
}

void base_note(base_diags *d, const base_place *place, const char *format, ...) {
    va_list list;
    va_start(list, format);
    report(d, BASE_NOTE, place, format, list);
    va_end(list);
}

void base_diag_print(base_text *out, const base_diag *d, bool colour) {
    static const char *const words[] = {"error", "warning", "note"};
    static const char *const colours[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    const char *tint = colour ? colours[d->severity] : "";
    const bool binary = !d->line && (d->path || d->has_byte);
    if (d->file) {
        base_put(out, "%s%s:", bold, d->file);
        if (d->line)
            base_put(out, "%u:", d->line);
        if (d->line && d->column)
            base_put(out, "%u:", d->column);
        base_put(out, "%s ", plain);
    }
    /* a binary place reads as one sentence, and is an error unless it says otherwise */
    if (!binary || d->severity != BASE_ERROR)
        base_put(out, "%s%s:%s ", tint, words[d->severity], plain);
    if (d->path)
        base_put(out, "%s: ", d->path);
    base_puts(out, d->message);
    if (d->has_byte)
        base_put(out, " (byte 0x%llx)", (unsigned long long)d->byte);
    base_puts(out, "\n");
    if (d->line_text) {
        base_put(out, "    %s\n", d->line_text);
        if (d->caret)
            base_put(out, "    %*s%s^%s\n", (int)d->caret - 1, "", tint, plain);
    }
}

/* ---- nearest name ---- */

enum { WORD_MAX = 64 };

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Edits between two words of at most WORD_MAX bytes: insert, delete, replace, swap of neighbours; case is free. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m) {
    unsigned rows[3][WORD_MAX + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                two_above[j - 2] + 1 < best) {
                best = two_above[j - 2] + 1;
            }
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *base_nearest(const char *word, const char *const *names, size_t n) {
    const size_t length = strlen(word);
    if (length > WORD_MAX)
        return NULL;
    const char *best = NULL;
    unsigned best_distance = (unsigned)(length + 2) / 3 + 1; /* a third of the word may be wrong */
    for (size_t i = 0; i < n; i++) {
        const size_t name_length = strlen(names[i]);
        if (name_length > WORD_MAX)
            continue;
        const unsigned edits = distance(word, length, names[i], name_length);
        if (edits < best_distance && edits < length) {
            best = names[i];
            best_distance = edits;
        }
    }
    return best;
}
