/* providers.c - the list of built-in providers, as session.h gives it. */
#include "providers/providers.h"

const burin_provider *burin_provider_builtin(size_t i) {
    size_t n = 0;
    while (providers_list[n] != NULL && n < i) {
        n++;
    }
    return providers_list[n] != NULL ? providers_list[n]() : NULL;
}
