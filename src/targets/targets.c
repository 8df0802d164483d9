/* targets.c - a target by its name or alias. */
#include <string.h>

#include "targets/target.h"

/* What other tools call the same thing: only aliases of targets that exist take effect. */
static const struct {
    const char *alias, *name;
} aliases[] = {{"ir-dump", "ir"}, {"litert", "tflite"}, {"xla", "stablehlo"}};

const target_interface *target_find(const char *name) {
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        name = strcmp(name, aliases[i].alias) == 0 ? aliases[i].name : name;
    }
    for (size_t i = 0; i < target_count; i++) {
        if (strcmp(target_list[i]->name, name) == 0) {
            return target_list[i];
        }
    }
    return NULL;
}
