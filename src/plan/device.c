/* device.c - the device profiles by name, and what can be detected of this host.
 *
 * The table is made from devices/ at build time. Detection changes only the profile that asks for it.
 */
#include <string.h>

#include "plan/plan_private.h"

size_t plan_device_count(void) {
    return plan_device_total;
}

const plan_device *plan_device_at(size_t i) {
    return i < plan_device_total ? &plan_devices[i] : NULL;
}

const plan_device *plan_device_find(const char *name) {
    for (size_t i = 0; i < plan_device_total; i++) {
        if (strcmp(plan_devices[i].name, name) == 0) {
            return &plan_devices[i];
        }
    }
    return NULL;
}

static uint32_t detected_vector_bytes(uint32_t otherwise) {
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_cpu_supports("avx512f")) {
        return 64;
    }
    return __builtin_cpu_supports("avx2") ? 32 : otherwise;
#else
    return otherwise;
#endif
}

const plan_device *plan_device_detect(base_arena *arena, const plan_device *device) {
    if (!device->detected) {
        return device;
    }
    plan_device *here = BASE_NEW(arena, plan_device);
    *here = *device;
    here->machine.vector_bytes = detected_vector_bytes(device->machine.vector_bytes);
    here->machine.tile_n = here->machine.vector_bytes >= 64 ? 2 * device->machine.tile_n : device->machine.tile_n;
    return here;
}
