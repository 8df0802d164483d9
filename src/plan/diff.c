/* diff.c - what differs between two written plans.
 *
 * Takes two <prefix>_plan.json (docs/PLAN.md). Gives each field that differs, with both values, or that one alone has. Kernels belong together by
 * their word and the operators they stand for, tensors by role and name, so that one more of them does not make all others differ;
 * numbers of kernels and tensors, and what follows from those, are not compared.
 */
#include <inttypes.h>
#include <string.h>

#include "plan/plan_private.h"
#include "wire/wire.h"

typedef struct differ {
    base_arena *arena;
    bool only_plan; /* not what belongs to a file, a compiler or weights */
    plan_differences *out;
} differ;

/* Of lists and objects the first members, of what is in those nothing. */
static const char *value_text(base_arena *arena, const wire_json *v, bool inside) {
    static const char *const words[] = {
        [WIRE_JSON_NULL] = "null", [WIRE_JSON_FALSE] = "false", [WIRE_JSON_TRUE] = "true"};
    if (v == NULL) {
        return NULL;
    }
    if (v->text != NULL) {
        return base_printable(arena, v->text, strlen(v->text), 80);
    }
    if (v->kind != WIRE_JSON_LIST && v->kind != WIRE_JSON_OBJECT) {
        return words[v->kind];
    }
    enum { SHOWN = 8 };
    base_text t = {.arena = arena};
    base_puts(&t, v->kind == WIRE_JSON_LIST ? "[" : "{");
    size_t n = 0;
    for (const wire_json *i = v->first; i != NULL && n < (inside ? 0 : SHOWN); i = i->next, n++) {
        base_put(&t, "%s%s%s%s", n ? ", " : "", i->name != NULL ? i->name : "", i->name != NULL ? ": " : "",
                 value_text(arena, i, true));
    }
    base_puts(&t, v->count == n ? "" : n ? ", ..." : "...");
    base_puts(&t, v->kind == WIRE_JSON_LIST ? "]" : "}");
    return t.at;
}

static void note(differ *d, const char *where, const wire_json *a, const wire_json *b) {
    enum { MOST_KEPT = 10000 };
    d->out->count++;
    if (d->out->list.n < MOST_KEPT) {
        *BASE_PUSH(d->arena, &d->out->list) =
            (plan_difference){where, value_text(d->arena, a, false), value_text(d->arena, b, false)};
    }
}

static bool is_one_of(const char *name, const char *const *names) {
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* A number of a list's member, or what follows from one; of a lock what is not the plan's own. */
static bool is_left_out(const differ *d, const char *list, const char *name) {
    static const char *const numbers[] = {"kernel", "tensors", "jump", "condition", NULL};
    static const char *const of_tensor[] = {"tensor", "root", "first", "last", "from", "until", NULL};
    static const char *const of_file[] = {"prefix", "model", "check", "flash", "constant_bytes", NULL};
    static const char *const of_tensors[] = {"inputs", "outputs", "counts", NULL};
    if (list == NULL) {
        return is_one_of(name, of_tensors) || (d->only_plan && is_one_of(name, of_file));
    }
    return strcmp(list, "kernels") == 0 ? is_one_of(name, numbers)
                                        : strcmp(list, "tensors") == 0 && is_one_of(name, of_tensor);
}

static void compare(differ *d, const char *where, const char *list, const wire_json *a, const wire_json *b);

/* ---- lists whose members have a key ---- */

static const char *text_of(const wire_json *object, const char *name) {
    const wire_json *v = wire_json_find(object, name);
    return v != NULL && v->text != NULL ? v->text : "";
}

/* "conv_2d [4]", "activation conv1", with #2 where that is there before. */
static const char *key_of(differ *d, base_map *seen, const char *list, const wire_json *v) {
    const bool kernel = strcmp(list, "kernels") == 0;
    const wire_json *ids = wire_json_find(v, "ids");
    const char *key =
        kernel ? base_printf(d->arena, "%s %s", text_of(v, "op"), ids != NULL ? value_text(d->arena, ids, false) : "")
               : base_printf(d->arena, "%s %s", text_of(v, "role"), text_of(v, "name"));
    bool is_new;
    uint64_t *n = base_map_put(seen, key, strlen(key), &is_new);
    *n += 1;
    return *n == 1 ? key : base_printf(d->arena, "%s #%" PRIu64, key, *n);
}

typedef struct member {
    const char *key;
    const wire_json *value;
    bool is_met;
} member;

static member *members_of(differ *d, const char *list, const wire_json *v, base_map *by_key) {
    member *all = BASE_NEWS(d->arena, member, v->count + 1);
    base_map *seen = base_map_new(d->arena);
    size_t n = 0;
    for (const wire_json *i = v->first; i != NULL; i = i->next, n++) {
        bool is_new;
        all[n] = (member){key_of(d, seen, list, i), i, false};
        *base_map_put(by_key, all[n].key, strlen(all[n].key), &is_new) = n;
    }
    return all;
}

/* Kernels that are done in another order: the first that is not where it was among those that both have. */
static void compare_order(differ *d, const char *name, const member *a, size_t n, const member *b,
                          const base_map *of_b) {
    uint64_t last = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *at = base_map_get(of_b, a[i].key, strlen(a[i].key));
        if (at == NULL) {
            continue;
        }
        if (*at < last) {
            d->out->count++;
            *BASE_PUSH(d->arena, &d->out->list) =
                (plan_difference){base_printf(d->arena, "%s: order", name), base_printf(d->arena, "%s later", a[i].key),
                                  base_printf(d->arena, "before %s", b[last].key)};
            return;
        }
        last = *at;
    }
}

static void compare_members(differ *d, const char *name, const wire_json *a, const wire_json *b) {
    base_map *of_a = base_map_new(d->arena), *of_b = base_map_new(d->arena);
    member *all_a = members_of(d, name, a, of_a), *all_b = members_of(d, name, b, of_b);
    for (size_t i = 0; i < a->count; i++) {
        const uint64_t *at = base_map_get(of_b, all_a[i].key, strlen(all_a[i].key));
        const char *where = base_printf(d->arena, "%s[%zu] %s", name, i,
                                        base_printable(d->arena, all_a[i].key, strlen(all_a[i].key), 100));
        if (at == NULL) {
            note(d, where, all_a[i].value, NULL);
            continue;
        }
        all_b[*at].is_met = true;
        compare(d, where, name, all_a[i].value, all_b[*at].value);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (!all_b[i].is_met) {
            note(d,
                 base_printf(d->arena, "%s[%zu] %s", name, i,
                             base_printable(d->arena, all_b[i].key, strlen(all_b[i].key), 100)),
                 NULL, all_b[i].value);
        }
    }
    if (strcmp(name, "kernels") == 0) {
        compare_order(d, name, all_a, a->count, all_b, of_b);
    }
}

/* ---- everything ---- */

static void compare_objects(differ *d, const char *where, const char *list, const wire_json *a, const wire_json *b) {
    const bool root = where == NULL;
    for (const wire_json *v = a->first; v != NULL; v = v->next) {
        const wire_json *other = wire_json_find(b, v->name);
        const char *path = root ? v->name : base_printf(d->arena, "%s.%s", where, v->name);
        if (is_left_out(d, list, v->name)) {
            continue;
        }
        if (other == NULL) {
            note(d, path, v, NULL);
        } else if (root && is_one_of(v->name, (const char *const[]){"kernels", "tensors", NULL}) &&
                   v->kind == WIRE_JSON_LIST && other->kind == WIRE_JSON_LIST) {
            compare_members(d, v->name, v, other);
        } else {
            compare(d, path, NULL, v, other);
        }
    }
    for (const wire_json *v = b->first; v != NULL; v = v->next) {
        if (wire_json_find(a, v->name) == NULL && !is_left_out(d, list, v->name)) {
            note(d, root ? v->name : base_printf(d->arena, "%s.%s", where, v->name), NULL, v);
        }
    }
}

static void compare(differ *d, const char *where, const char *list, const wire_json *a, const wire_json *b) {
    if (a->kind != b->kind || (a->text != NULL && strcmp(a->text, b->text) != 0) ||
        (a->kind == WIRE_JSON_LIST && a->count != b->count)) {
        note(d, where != NULL ? where : "the plan", a, b);
    } else if (a->kind == WIRE_JSON_LIST) {
        size_t n = 0;
        for (const wire_json *v = a->first, *w = b->first; v != NULL; v = v->next, w = w->next, n++) {
            compare(d, base_printf(d->arena, "%s[%zu]", where, n), "", v, w);
        }
    } else if (a->kind == WIRE_JSON_OBJECT) {
        compare_objects(d, where, where == NULL ? NULL : list == NULL ? "" : list, a, b);
    }
}

base_status plan_diff(base_arena *arena, const plan_text *a, const plan_text *b, bool only_plan, plan_differences *out,
                      base_diags *diags) {
    const plan_replay *read; /* for its checks: are they plans? */
    const wire_json *x = NULL, *y = NULL;
    differ d = {.arena = arena, .only_plan = only_plan, .out = out};
    base_status status = plan_read(arena, a->file, a->at, a->n, &read, diags);
    status = status == BASE_OK ? plan_read(arena, b->file, b->at, b->n, &read, diags) : status;
    status = status == BASE_OK ? wire_json_read(arena, a->file, a->at, a->n, &x, diags) : status;
    status = status == BASE_OK ? wire_json_read(arena, b->file, b->at, b->n, &y, diags) : status;
    if (status == BASE_OK) {
        compare(&d, NULL, NULL, x, y);
    }
    return status;
}
