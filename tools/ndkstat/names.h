/* SPDX-License-Identifier: MIT */
/* The sockets in this network namespace whose names say that a process publishes its adapters there. */
#ifndef NDKSTAT_NAMES_H
#define NDKSTAT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { NAME_MAX_TEXT = 64 };

struct name {
    char text[NAME_MAX_TEXT]; /* without the 0 in front of it */
    long pid;                 /* as the name has it: anybody can choose a name */
    uid_t uid;                /* of whoever made the socket; only if has_uid */
    bool has_uid;             /* the kernel told */
};

/* All of them, ordered by pid, to be freed. NULL: the reason has been printed on stderr. */
struct name *names_list(size_t *count);

#endif
