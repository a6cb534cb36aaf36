/* SPDX-License-Identifier: MIT */
/* Lists the sockets of this network namespace on which processes publish their adapters. */
#ifndef NDKSTAT_NAMES_H
#define NDKSTAT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MAX_NAME_TEXT = 64 };

struct name {
    char text[MAX_NAME_TEXT]; /* without the leading 0 */
    long pid;                 /* from the name, which anybody can choose */
    uid_t uid;                /* of the socket's creator; only if has_uid */
    bool has_uid;             /* the kernel reported uid */
};

/*
 * Returns the names of all these sockets, ordered by pid. The caller frees the array. Returns NULL after a message on
 * stderr if that fails.
 */
struct name *names_list(size_t *count);

#endif
