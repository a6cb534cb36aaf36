/* SPDX-License-Identifier: MIT */
/* Types for the kernel's reports about network interfaces, and about the sockets that use a local address. */
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

/* A socket at a local address: its inode, and the user who opened it, if the kernel reports the user. */
struct address_holder {
    bool is_provider; /* an OpenNDK process has reserved the address */
    bool has_uid;
    uint32_t uid;
    uint32_t inode;
};

#endif
