/* SPDX-License-Identifier: MIT */
/* Lists the sockets of a network namespace on which processes publish their adapters, or pass their traces. */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MAX_NAME_TEXT = 64 };

struct name {
    char text[MAX_NAME_TEXT]; /* the abstract name, without the leading 0 byte */
    long pid;                 /* from the name, which any process can choose freely */
    uid_t uid;                /* the user of the socket's creator; valid only if has_uid */
    bool has_uid;             /* the kernel has reported `uid` */
};

/* The names are NAMES_STAT.PID or NAMES_TRACE.PID, perhaps with a suffix. */
#define NAMES_STAT "openndk.stat."
#define NAMES_TRACE "openndk.trace."

/*
 * Returns the names with this prefix of all sockets that listen in this network namespace, ordered by pid. The caller
 * frees the array. After a failure returns NULL and sets errno.
 */
struct name *names_list(const char *prefix, size_t *count);
/* Like names_list, for the network namespace in which `netlink`, a socket of sock_diag, was opened. */
struct name *names_list_by(int netlink, const char *prefix, size_t *count);
/*
 * Like names_list, for the network namespace of a process. Reads at most max_bytes of /proc/PID/net/unix. The
 * names have no user ids, because this file has none.
 */
struct name *names_list_of(long pid, const char *prefix, size_t max_bytes, size_t *count);

#endif
