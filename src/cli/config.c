/* config.c - files of options: `--config FILE.yaml`, one mapping of option names to values.
 *
 * Takes a YAML file of at most 1 MiB, event by event (libyaml): nothing nests deeper than a list in a mapping in the mapping, and
 * anchors, aliases and tags are refused, so that a file's size bounds what it can ask for. Sets what the command line does not
 * say. Every error names line and column; status 2. Paths are relative to the file's folder.
 */
#include <string.h>

#include "cli/cli.h"

#ifdef BURIN_YAML
#include <yaml.h>

enum { LARGEST = 1 << 20 };

typedef struct reader {
    cli *c;
    yaml_parser_t parser;
    bool seen[CLI_OPTION_COUNT];
} reader;

/* An event, with what is needed of it. */
typedef struct item {
    yaml_event_type_t type;
    cli_place at;
    const char *text; /* of a scalar */
    bool plain;       /* a scalar without quotes */
} item;

static cli_place place_of(yaml_mark_t mark) {
    return (cli_place){(unsigned)mark.line + 1, (unsigned)mark.column + 1};
}

/* The place of byte n of the file. */
static cli_place place_at(const cli *c, size_t n) {
    cli_place at = {1, 1};
    for (size_t i = 0; i < n && i < c->config_size; i++) {
        if (c->config[i] == '\n') {
            at = (cli_place){at.line + 1, 1};
        } else {
            at.column += (c->config[i] & 0xc0) != 0x80;
        }
    }
    return at;
}

static int syntax(reader *r) {
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) {
        return cli_refuse(r->c, "out of memory");
    }
    const bool undecoded = p->error == YAML_READER_ERROR;
    const cli_place at = undecoded ? place_at(r->c, p->problem_offset) : place_of(p->problem_mark);
    return cli_config_usage(r->c, at, "not YAML: %s%s%s", p->problem != NULL ? p->problem : "",
                            p->context != NULL && !undecoded ? ", " : "",
                            p->context != NULL && !undecoded ? p->context : "");
}

/* The next event. What only makes a file harder to read is refused. */
static int next(reader *r, item *out) {
    yaml_event_t e;
    int status = 0;
    if (yaml_parser_parse(&r->parser, &e) == 0) {
        return syntax(r);
    }
    *out = (item){.type = e.type, .at = place_of(e.start_mark)};
    const yaml_char_t *anchor = e.type == YAML_SCALAR_EVENT           ? e.data.scalar.anchor
                                : e.type == YAML_MAPPING_START_EVENT  ? e.data.mapping_start.anchor
                                : e.type == YAML_SEQUENCE_START_EVENT ? e.data.sequence_start.anchor
                                                                      : NULL;
    const yaml_char_t *tag = e.type == YAML_SCALAR_EVENT           ? e.data.scalar.tag
                             : e.type == YAML_MAPPING_START_EVENT  ? e.data.mapping_start.tag
                             : e.type == YAML_SEQUENCE_START_EVENT ? e.data.sequence_start.tag
                                                                   : NULL;
    if (e.type == YAML_ALIAS_EVENT || anchor != NULL) {
        status = cli_config_usage(r->c, out->at, "anchors and aliases are not read: write the value out");
    } else if (tag != NULL) {
        status = cli_config_usage(r->c, out->at, "tags are not read: leave it out");
    } else if (e.type == YAML_SCALAR_EVENT) {
        const char *text = (const char *)e.data.scalar.value;
        out->plain = e.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        out->text = cli_format(r->c, "%s", text);
        if (strlen(text) != e.data.scalar.length) {
            status = cli_config_usage(r->c, out->at, "a text with a zero byte");
        }
    }
    yaml_event_delete(&e);
    return status;
}

/* ---- values ---- */

static bool is_nothing(const item *i) {
    return i->plain && (*i->text == 0 || strcmp(i->text, "~") == 0 || strcmp(i->text, "null") == 0);
}

/* What a value may be, for people. */
static const char *expected(const cli_option *o) {
    switch (o->kind) {
    case FLAG:
        return "true or false";
    case NUMBER:
    case REAL:
        return "a number";
    case NAMES:
    case LIST:
    case PATHS:
        return "a text or a list of texts";
    case PAIRS:
    case FILES:
        return "a text, a list of texts, or names with their values";
    default:
        return "a text";
    }
}

static int wrong_type(reader *r, const cli_option *o, const item *i) {
    const char *what = i->type == YAML_SEQUENCE_START_EVENT  ? "a list"
                       : i->type == YAML_MAPPING_START_EVENT ? "names with values"
                       : is_nothing(i)                       ? "nothing"
                       : !i->plain                           ? "a text in quotes"
                                                             : "a text";
    return cli_config_usage(r->c, i->at, "%s: expected %s, got %s", o->key, expected(o), what);
}

/* A path that is relative is so to the file's folder. */
static const char *path_of(reader *r, const char *path) {
    const char *config = r->c->arguments.config, *slash = strrchr(config, '/');
    return *path == '/' || *path == 0 || slash == NULL
               ? path
               : cli_format(r->c, "%.*s/%s", (int)((slash - config) & 0xffff), config, path);
}

/* One text for the option: name is what it belongs to, NULL: nothing. */
static int set_text(reader *r, const cli_option *o, cli_place at, const char *name, const char *text) {
    const char *equals = o->kind == FILES && name == NULL ? strchr(text, '=') : NULL;
    if (equals != NULL) {
        name = cli_format(r->c, "%.*s", (int)((equals - text) & 0xffff), text);
        text = equals + 1;
    }
    if (o->kind == PATH || o->kind == PATHS || o->kind == FILES) {
        text = path_of(r, text);
    }
    r->c->at = at;
    return cli_set(r->c, o, name != NULL ? cli_format(r->c, "%s=%s", name, text) : text);
}

static int set_scalar(reader *r, const cli_option *o, const item *i) {
    const bool number = o->kind == NUMBER || o->kind == REAL;
    if (is_nothing(i) || (!i->plain && (number || o->kind == FLAG)) ||
        (o->kind == FLAG && strcmp(i->text, "true") != 0 && strcmp(i->text, "false") != 0)) {
        return wrong_type(r, o, i);
    }
    return set_text(r, o, i->at, NULL, i->text);
}

/* The texts of a list that has begun, with `between` between them; each alone where between is NULL. */
static int set_list(reader *r, const cli_option *o, cli_place at, const char *name, const char *between) {
    const char *all = NULL;
    for (;;) {
        item i;
        int status = next(r, &i);
        if (status != 0) {
            return status;
        }
        if (i.type == YAML_SEQUENCE_END_EVENT) {
            break;
        }
        if (i.type != YAML_SCALAR_EVENT || is_nothing(&i)) {
            return wrong_type(r, o, &i);
        }
        if (between == NULL) {
            status = set_text(r, o, i.at, name, i.text);
            if (status != 0) {
                return status;
            }
        }
        all = all == NULL ? i.text : between != NULL ? cli_format(r->c, "%s%s%s", all, between, i.text) : all;
    }
    if (all == NULL && name == NULL) {
        return cli_config_usage(r->c, at, "%s: the list is empty", o->key);
    }
    return between != NULL ? set_text(r, o, at, name, all != NULL ? all : "scalar") : 0;
}

/* Names with their values, in a mapping that has begun: as NAME=VALUE each. */
static int set_pairs(reader *r, const cli_option *o, cli_place at) {
    cli_list names = {.at = NULL};
    for (;;) {
        item name, value;
        int status = next(r, &name);
        if (status != 0) {
            return status;
        }
        if (name.type == YAML_MAPPING_END_EVENT) {
            return names.n > 0 ? 0 : cli_config_usage(r->c, at, "%s: it is empty", o->key);
        }
        if (name.type != YAML_SCALAR_EVENT || *name.text == 0) {
            return cli_config_usage(r->c, name.at, "%s: expected a name", o->key);
        }
        if (strchr(name.text, '=') != NULL) {
            return cli_config_usage(r->c, name.at, "%s: a name with = in it: say the input's number", o->key);
        }
        for (size_t k = 0; k < names.n; k++) {
            if (strcmp(names.at[k], name.text) == 0) {
                return cli_config_usage(r->c, name.at, "%s: \"%s\" is there twice", o->key,
                                        cli_printable(r->c, name.text));
            }
        }
        cli_append(r->c, &names, name.text);
        status = next(r, &value);
        if (status == 0 && value.type == YAML_SEQUENCE_START_EVENT && o == &cli_options[CLI_OPTION_shapes]) {
            status = set_list(r, o, value.at, name.text, "x");
        } else if (status == 0 && (value.type != YAML_SCALAR_EVENT || is_nothing(&value))) {
            status =
                cli_config_usage(r->c, value.at, "%s: expected a value for %s", o->key, cli_printable(r->c, name.text));
        } else if (status == 0) {
            status = set_text(r, o, value.at, name.text, value.text);
        }
        if (status != 0) {
            return status;
        }
    }
}

static int set_value(reader *r, const cli_option *o) {
    item i;
    int status = next(r, &i);
    const bool several = o->kind >= LIST || o->kind == NAMES, pairs = o->kind == PAIRS || o->kind == FILES;
    if (status != 0) {
        return status;
    }
    if (i.type == YAML_SCALAR_EVENT) {
        return set_scalar(r, o, &i);
    }
    if (i.type == YAML_SEQUENCE_START_EVENT && several) {
        return set_list(r, o, i.at, NULL, o->kind == NAMES ? "," : NULL);
    }
    return i.type == YAML_MAPPING_START_EVENT && pairs ? set_pairs(r, o, i.at) : wrong_type(r, o, &i);
}

/* ---- keys ---- */

static bool is_key(const cli_option *o) {
    return o->commands != 0 && o != &cli_options[CLI_OPTION_config] && o != &cli_options[CLI_OPTION_help];
}

/* The option of a key, or NULL with the message printed. */
static const cli_option *find(reader *r, const item *key) {
    const char *names[CLI_OPTION_COUNT], *near = NULL;
    size_t n = 0;
    for (size_t i = 0; i < CLI_OPTION_COUNT; i++) {
        const cli_option *o = &cli_options[i];
        if (!is_key(o)) {
            continue;
        }
        if (strcmp(o->key, key->text) == 0) {
            return o;
        }
        if (strcmp(o->flag, key->text) == 0) {
            near = o->key;
        }
        names[n++] = o->key;
    }
    near = near != NULL ? near : cli_nearest(key->text, names, n);
    cli_config_usage(r->c, key->at, "no such key: %s%s%s%s", cli_printable(r->c, key->text),
                     near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    return NULL;
}

/* A key and its value. What the command line says, and what the command does not take, is read all the same, for its errors. */
static int take(reader *r, const item *key) {
    cli *c = r->c;
    if (key->type != YAML_SCALAR_EVENT) {
        return cli_config_usage(c, key->at, "expected the name of an option");
    }
    const cli_option *o = find(r, key);
    if (o == NULL) {
        return BURIN_USAGE;
    }
    const size_t i = (size_t)(o - cli_options);
    if (r->seen[i]) {
        return cli_config_usage(c, key->at, "%s is there twice", o->key);
    }
    r->seen[i] = true;
    const bool applies = (o->commands >> c->word & 1) != 0, wins = *cli_given_of(c, o);
    const cli_arguments kept = c->arguments;
    if (o->kind >= LIST) {
        memset((char *)&c->arguments + o->field, 0, sizeof(cli_list));
    }
    int status = set_value(r, o);
    if (status != 0 || (applies && !wins)) {
        c->places[i] = key->at;
        return status;
    }
    c->arguments = kept;
    if (!applies) {
        cli_note(c, "%s:%u:%u: %s does not apply to burin %s", cli_printable(c, c->arguments.config), key->at.line,
                 key->at.column, o->key, cli_commands[c->word].name);
    }
    return 0;
}

/* One document, which is a mapping. */
static int read_document(reader *r) {
    item i;
    int status = next(r, &i); /* the stream */
    status = status != 0 ? status : next(r, &i);
    if (status == 0 && i.type == YAML_STREAM_END_EVENT) {
        return cli_config_usage(r->c, (cli_place){1, 1}, "it says nothing");
    }
    status = status != 0 ? status : next(r, &i);
    if (status == 0 && i.type != YAML_MAPPING_START_EVENT) {
        return cli_config_usage(r->c, i.at, "expected names of options with their values");
    }
    for (size_t n = 0; status == 0; n++) {
        status = next(r, &i);
        if (status == 0 && i.type == YAML_MAPPING_END_EVENT && n == 0) {
            return cli_config_usage(r->c, i.at, "it says nothing");
        }
        if (status != 0 || i.type == YAML_MAPPING_END_EVENT) {
            break;
        }
        status = take(r, &i);
    }
    status = status != 0 ? status : next(r, &i); /* the document's end */
    status = status != 0 ? status : next(r, &i);
    return status == 0 && i.type != YAML_STREAM_END_EVENT
               ? cli_config_usage(r->c, i.at, "a second document: only one is read")
               : status;
}

int cli_read_config(cli *c) {
    const void *bytes = NULL;
    reader r = {.c = c};
    int status = cli_report(c, burin_file_bytes(c->context, c->arguments.config, &bytes, &c->config_size));
    if (status != 0) {
        return status;
    }
    c->config = bytes;
    if (c->config_size > LARGEST) {
        return cli_config_usage(c, place_at(c, LARGEST), "a file of %zu bytes: at most %d are read", c->config_size,
                                LARGEST);
    }
    if (yaml_parser_initialize(&r.parser) == 0) {
        return cli_refuse(c, "out of memory");
    }
    yaml_parser_set_input_string(&r.parser, bytes, c->config_size);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    status = read_document(&r);
    yaml_parser_delete(&r.parser);
    c->at = (cli_place){0, 0};
    return status;
}

#else

int cli_read_config(cli *c) {
    return cli_usage(c, "--config: this burin was built without libyaml, which reads such files (Debian: libyaml-dev)");
}

#endif
