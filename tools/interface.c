/* SPDX-License-Identifier: MIT */
/* Finds the interface that owns an address: see interface.h. */
#include "interface.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

ondk_adapter_entry_t *interface_list(uint32_t *count)
{
    ondk_adapter_entry_t *entries = NULL;
    uint32_t capacity;

    *count = ondk_enumerate_adapters(NULL, 0);
    do {
        free(entries);
        capacity = *count + 1;
        entries = calloc(capacity, sizeof *entries);
        *count = entries ? ondk_enumerate_adapters(entries, capacity) : 0;
    } while (entries && *count > capacity); /* repeats if interfaces were added meanwhile */
    return entries;
}

/* Returns true if the interface has the address. If *a has a zone, the zone must be the interface's index. */
static bool interface_has_address(const ondk_adapter_entry_t *e, const struct sockaddr_storage *a)
{
    const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
    const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;

    if (a->ss_family == AF_INET && ntohl(a4->sin_addr.s_addr) >> 24 == 127)
        return e->loopback;
    if (a->ss_family == AF_INET6 && a6->sin6_scope_id && a6->sin6_scope_id != e->if_index)
        return false;
    for (uint32_t i = 0; i < e->address_count; i++) {
        const struct sockaddr_storage *own = &e->addresses[i];
        if (own->ss_family != a->ss_family)
            continue;
        if (own->ss_family == AF_INET && ((const struct sockaddr_in *)own)->sin_addr.s_addr == a4->sin_addr.s_addr)
            return true;
        if (own->ss_family == AF_INET6 &&
            memcmp(&((const struct sockaddr_in6 *)own)->sin6_addr, &a6->sin6_addr, sizeof a6->sin6_addr) == 0)
            return true;
    }
    return false;
}

uint32_t interface_of_address(const struct sockaddr_storage *a)
{
    uint32_t count, found = 0;
    ondk_adapter_entry_t *entries = interface_list(&count);

    for (uint32_t i = 0; i < count && !found; i++)
        if (interface_has_address(&entries[i], a))
            found = entries[i].if_index;
    free(entries);
    return found;
}

const char *interface_parse(const char *text, uint32_t *if_index)
{
    if (number_parse(text, 1, INT32_MAX, if_index))
        return NULL;
    *if_index = if_nametoindex(text);
    return *if_index ? NULL : "the index or the name of an interface of this machine is expected";
}
