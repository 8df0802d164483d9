/* codes.c - codes and capabilities as texts, and the error record. */
#include <stdio.h>
#include <string.h>

#include "runtime/private.h"

typedef struct code_row {
    uint32_t code;
    const char *name, *text;
} code_row;

static const code_row codes[] = {{BURIN_E_NONE, "NONE", "no error"},
#define ROW(name, domain, number, text) {(domain)*256 + (number), #name, text},
                                 BURIN_CODES(ROW)
#undef ROW
};

static const code_row *find(uint32_t code) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].code == code) {
            return &codes[i];
        }
    }
    return NULL;
}

const char *burin_code_text(uint32_t code) {
    const code_row *row = find(code);
    return row != NULL ? row->text : "an unknown code";
}

const char *burin_code_name(uint32_t code) {
    const code_row *row = find(code);
    return row != NULL ? row->name : "UNKNOWN";
}

void runtime_capability_names(uint64_t set, char *text, size_t room) {
    static const struct {
        uint64_t bit;
        const char *name;
    } rows[] = {
#define ROW(NAME, name, bit, what) {(uint64_t)1 << (bit), #name},
        BURIN_SESSION_CAPABILITIES(ROW)
#undef ROW
    };
    size_t n = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && n < room; i++) {
        if ((set & rows[i].bit) != 0) {
            n += (size_t)snprintf(text + n, room - n, "%s%s", n > 0 ? "," : "", rows[i].name);
        }
    }
}

bool runtime_begin(runtime_call *call, burin_runtime *rt, burin_error *error, const char *operation) {
    call->rt = rt;
    call->operation = operation;
    call->provider = NULL;
    call->error = error != NULL && error->size >= sizeof *error ? error : &call->own;
    call->error->size = sizeof *error;
    call->error->code = 0;
    call->error->wanted = call->error->found = 0;
    call->error->operation[0] = call->error->provider[0] = call->error->message[0] = 0;
    if (rt == NULL) {
        runtime_fail(call, BURIN_E_ARGUMENT, 0, 0, "there is no runtime");
    }
    return rt != NULL;
}

static void complete(runtime_call *call, burin_code code) {
    burin_error *e = call->error;
    e->code = (uint32_t)code;
    snprintf(e->operation, sizeof e->operation, "%s", call->operation);
    snprintf(e->provider, sizeof e->provider, "%s", call->provider != NULL ? call->provider->name : "");
    e->message[sizeof e->message - 1] = 0;
}

burin_code runtime_fail(runtime_call *call, burin_code code, uint64_t wanted, uint64_t found, const char *message) {
    call->error->wanted = wanted;
    call->error->found = found;
    if (message != call->error->message) {
        snprintf(call->error->message, sizeof call->error->message, "%s",
                 message != NULL ? message : burin_code_text((uint32_t)code));
    }
    complete(call, code);
    return code;
}

burin_code runtime_returned(runtime_call *call, burin_code code) {
    if (code == BURIN_E_NONE) {
        return code;
    }
    if (find((uint32_t)code) == NULL) {
        runtime_breach(call->rt);
        return runtime_fail(call, BURIN_E_CONTRACT, 0, (uint64_t)code,
                            "the provider returned a code that there is not");
    }
    if (call->error->message[0] == 0) {
        snprintf(call->error->message, sizeof call->error->message, "%s", burin_code_text((uint32_t)code));
    }
    complete(call, code);
    return code;
}
