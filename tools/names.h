/* SPDX-License-Identifier: MIT */
/*
 * Lists the names of the sockets on which processes publish their adapters, or offer their traces, in a network
 * namespace.
 */
#ifndef TOOLS_NAMES_H
#define TOOLS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { MAX_NAME_TEXT = 64 };

struct name {
    char text[MAX_NAME_TEXT]; /* the abstract name, without the leading 0 byte */
    long pid;                 /* process ID in the name, which any process can choose freely */
    uid_t uid;                /* user of the process that created the socket; valid only if has_uid */
    bool has_uid;             /* the kernel has reported `uid` */
};

/* Names have the form NAMES_STAT.PID or NAMES_TRACE.PID, possibly with a suffix. */
#define NAMES_STAT "openndk.stat."
#define NAMES_TRACE "openndk.trace."

/*
 * Returns the names with this prefix on which sockets in this network namespace listen, ordered by pid. The caller must
 * free the array. After a failure returns NULL and sets errno.
 */
struct name *names_list(const char *prefix, size_t *count);
/*
 * Works like names_list, for another network namespace. `netlink` is a sock_diag socket that was opened in that
 * namespace.
 */
struct name *names_list_by(int netlink, const char *prefix, size_t *count);
/*
 * Works like names_list, for the network namespace of a process. Reads at most max_bytes of /proc/PID/net/unix. The
 * names have no user IDs, because that file contains none.
 */
struct name *names_list_of(long pid, const char *prefix, size_t max_bytes, size_t *count);

#endif
