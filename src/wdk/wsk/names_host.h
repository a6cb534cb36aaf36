/* SPDX-License-Identifier: MIT */
/*
 * The host's resolver in plain C, because a file that includes Windows' headers cannot include the host's. Flags and
 * families have Windows' values.
 */
#ifndef ONDK_WDK_WSK_NAMES_HOST_H
#define ONDK_WDK_WSK_NAMES_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "wdk/wsk/host.h"

enum wsk_names_result { WSK_NAMES_FOUND, WSK_NAMES_NO_MATCH, WSK_NAMES_NO_MEMORY, WSK_NAMES_INVALID };
enum { WSK_NAMES_NODE_SIZE = 1025, WSK_NAMES_SERVICE_SIZE = 64 };

struct wsk_names_hints {
    uint32_t flags, family;
    int type, protocol;
};

struct wsk_names_entry {
    struct wsk_address address;
    uint32_t family;
    int type, protocol;
};

struct wsk_names {
    size_t count;
    char canonical[WSK_NAMES_NODE_SIZE]; /* empty if it was not requested */
    struct wsk_names_entry entries[];
};

/*
 * Resolves `node` and `service`, and blocks meanwhile. One of the two may be NULL. The caller frees *names with
 * free().
 */
enum wsk_names_result wsk_names_host_resolve(const char *node, const char *service, const struct wsk_names_hints *hints,
                                             struct wsk_names **names);
/* Writes the names of the address and of its port. Blocks meanwhile. */
enum wsk_names_result wsk_names_host_name(const struct wsk_address *address, uint32_t flags,
                                          char node[WSK_NAMES_NODE_SIZE], char service[WSK_NAMES_SERVICE_SIZE]);

#endif
