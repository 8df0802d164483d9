/* providers.h - face of room `providers`: those that are built in.
 *
 * Each sub-folder NAME exports `const burin_provider *providers_NAME(void)`; examples/null_provider.c is built in as `null`.
 */
#ifndef BURIN_PROVIDERS_PROVIDERS_H
#define BURIN_PROVIDERS_PROVIDERS_H

#include "burin/session.h"

extern const burin_provider_entry_fn providers_list[]; /* generated; NULL ends it */

#endif
