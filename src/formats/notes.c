/* notes.c - what a model holds that is valid and not supported (formats.h).
 *
 * Takes one note for each place. Gives one error for each kind, with the first place and all the others listed, so that
 * nobody meets them one after the other.
 */
#include "formats/formats.h"

#include <string.h>

enum { MOST_GROUPS = 16, MOST_PLACES = 24 };

typedef struct group {
    const char *what, *remedy;
    char *first_path;
    uint64_t first_byte;
    base_text places; /* "operator[3], operator[7]" */
    size_t count;
} group;

struct formats_notes {
    base_arena *arena;
    const char *file;
    BASE_VEC(group) groups;
    base_map *group_of; /* what -> index in groups */
    size_t count;
};

formats_notes *formats_notes_new(base_arena *arena, const char *file) {
    formats_notes *n = BASE_NEW(arena, formats_notes);
    n->arena = arena;
    n->file = file;
    n->group_of = base_map_new(arena);
    return n;
}

size_t formats_notes_count(const formats_notes *n) {
    return n->count;
}

void formats_note(formats_notes *n, const wire_path *path, uint64_t byte, const char *what, const char *remedy) {
    bool is_new;
    n->count++;
    uint64_t *index = base_map_put(n->group_of, what, strlen(what), &is_new);
    if (is_new) {
        *index = n->groups.n;
        group *g = BASE_PUSH(n->arena, &n->groups);
        *g = (group){.what = what, .remedy = remedy, .first_byte = byte};
        g->first_path = wire_path_print(n->arena, path);
        g->places.arena = n->arena;
    }
    group *g = &n->groups.at[*index];
    if (g->count++ < MOST_PLACES) {
        base_put(&g->places, "%s%s[%lld]", g->count > 1 ? ", " : "", path->name, (long long)path->index);
    }
}

base_status formats_notes_report(const formats_notes *n, base_diags *d) {
    base_text rest = {.arena = n->arena};
    for (size_t i = 0; i < n->groups.n; i++) {
        const group *g = &n->groups.at[i];
        if (i >= MOST_GROUPS) {
            base_put(&rest, "%s%s (%s)", i > MOST_GROUPS ? "; " : "", g->what, g->places.at);
            continue;
        }
        base_text places = {.arena = n->arena};
        if (g->count > 1) {
            base_put(&places, ", %zu times: %s", g->count, g->places.at);
        }
        if (g->count > MOST_PLACES) {
            base_puts(&places, "...");
        }
        base_place place = {.file = n->file, .path = g->first_path, .byte = g->first_byte, .has_byte = true};
        base_error(d, &place, "%s is not supported%s; %s", g->what, g->count > 1 ? places.at : "", g->remedy);
    }
    if (rest.n) {
        base_place place = {.file = n->file};
        base_error(d, &place, "not supported either: %s", rest.at);
    }
    return n->groups.n ? BASE_REFUSED : BASE_OK;
}
