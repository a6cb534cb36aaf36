/* SPDX-License-Identifier: MIT */
/* Records the network namespaces that this process uses for NDK: see net_namespace.h. */
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "verify/net_namespace.h"

static _Atomic uint64_t first_noted; /* inode of the first namespace that was recorded; 0: none */
static atomic_bool is_mixed;

void net_namespace_note(void)
{
    uint64_t none = 0;
    struct stat s;

    if (stat("/proc/thread-self/ns/net", &s) != 0 ||
        (!atomic_compare_exchange_strong(&first_noted, &none, (uint64_t)s.st_ino) && none != (uint64_t)s.st_ino))
        atomic_store(&is_mixed, true);
}

bool net_namespace_is_single(void)
{
    return atomic_load(&first_noted) != 0 && !atomic_load(&is_mixed);
}
