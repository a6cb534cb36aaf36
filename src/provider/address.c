/* SPDX-License-Identifier: MIT */
/* Copies addresses to the consumer's buffers: see address.h. */
#include "provider/address.h"

#include <stddef.h>
#include <string.h>

#include "provider/adapter.h"

NTSTATUS address_answer(const struct object *o, const struct addr *address, PSOCKADDR buffer, ULONG *length)
{
    ULONG needed = (ULONG)addr_len(address), room;

    if (!length)
        return STATUS_INVALID_PARAMETER;
    room = *length;
    *length = needed;
    if (room < needed)
        return STATUS_BUFFER_TOO_SMALL;
    if (!buffer)
        return STATUS_INVALID_PARAMETER;
    memcpy(buffer, &address->sa, needed);
    if (o->adapter->windows_families && address->sa.sa_family == AF_INET6) {
        sa_family_t family = ADDR_WINDOWS_INET6;

        memcpy((char *)buffer + offsetof(struct sockaddr, sa_family), &family, sizeof family);
    }
    return STATUS_SUCCESS;
}
