/* SPDX-License-Identifier: MIT */
/* Types for what the kernel reports about network interfaces, and about the sockets that use a local address. */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct interface_info {
    uint32_t index;
    char name[16];
    bool up, loopback;
    uint32_t mtu;
};

/*
 * A socket that uses a local address. `inode` identifies the socket. If has_uid is true, `uid` is the user who has
 * opened it.
 */
struct address_holder {
    bool is_provider; /* a process with OpenNDK has reserved the address */
    bool has_uid;
    uint32_t uid;
    uint32_t inode;
};

#endif
