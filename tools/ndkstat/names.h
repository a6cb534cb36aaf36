/* SPDX-License-Identifier: MIT */
/* Lists the sockets of a network namespace on which processes publish their adapters. */
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
 * Returns the names of all these sockets of this network namespace, ordered by pid. The caller frees the array. Returns
 * NULL and sets errno if that fails.
 */
struct name *names_list(size_t *count);
/* The same for the network namespace in which the netlink socket of sock_diag was opened. */
struct name *names_list_by(int netlink, size_t *count);
/*
 * The same for the network namespace of a process, from its /proc/PID/net/unix, without users. Reads at most max_bytes.
 */
struct name *names_list_of(long pid, size_t max_bytes, size_t *count);

#endif
