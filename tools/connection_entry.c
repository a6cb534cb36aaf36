/* SPDX-License-Identifier: MIT */
/* See connection_entry.h. */
#include "connection_entry.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/provider.h"

enum { SPARE_CONNECTIONS = 16 }; /* room for connections that begin after the list's length was read */

static bool connection_entry_is_of(const ondk_connection_t *entry, NDK_CONNECTOR *k)
{
    struct sockaddr_storage local = { 0 }, peer = { 0 };
    ULONG local_len = sizeof local, peer_len = sizeof peer;

    return NT_SUCCESS(k->Dispatch->NdkGetLocalAddress(k, (PSOCKADDR)&local, &local_len)) &&
           NT_SUCCESS(k->Dispatch->NdkGetPeerAddress(k, (PSOCKADDR)&peer, &peer_len)) &&
           !memcmp(&entry->local, &local, sizeof local) && !memcmp(&entry->foreign, &peer, sizeof peer);
}

/* Searches a copy of OpenNDK's list of connections, which has only the tool's own connections and connect requests. */
bool connection_entry_find(const struct consumer *c, ondk_connection_t *entry)
{
    uint32_t room, count;
    ondk_connection_t *all;
    bool is_found = false;

    if (consumer_foreign_provider())
        return false;
    room = ondk_adapter_connections(c->adapter, NULL, 0) + SPARE_CONNECTIONS;
    all = calloc(room, sizeof *all);
    count = all ? ondk_adapter_connections(c->adapter, all, room) : 0;
    for (uint32_t i = 0; i < count && i < room && !is_found; i++)
        if (all[i].was_established && connection_entry_is_of(&all[i], c->connector)) {
            *entry = all[i];
            is_found = true;
        }
    free(all);
    return is_found;
}
