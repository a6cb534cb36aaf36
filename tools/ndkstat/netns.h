/* SPDX-License-Identifier: MIT */
/*
 * Other network namespaces. Abstract names belong to a network namespace, so a process in another one, for example a
 * driver of `ndkrun --net`, can be reached only through a socket that was opened there. A child process enters the
 * namespace, opens the sockets, and passes them to ndkstat, which stays where it is.
 */
#ifndef NDKSTAT_NETNS_H
#define NDKSTAT_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "names.h"

enum { NETNS_MAX_NAME = 64 };

struct netns {
    ino_t inode;               /* as in "net:[4026531840]" */
    char name[NETNS_MAX_NAME]; /* that `ip netns` gave it; "" if there is none */
    long pid;                  /* a process in it */
    uid_t uid;                 /* that process's user */
    struct name *names;        /* on which processes publish their adapters; at least one */
    size_t n_names;
    int *sockets; /* one for each name, not connected; -1: the reader has closed or owns it */
};

/* Returns the inode of this process's network namespace, or 0 if it cannot be read. */
ino_t netns_own_inode(void);
/* Finds the name of a namespace in /run/netns. Returns "" if it has none. */
void netns_find_name(ino_t inode, char name[NETNS_MAX_NAME]);

/*
 * Finds the other network namespaces in which this user's processes publish adapters (root: all users'), enters them
 * and opens sockets there. Takes at most about two seconds. Writes a line to messages for each namespace that cannot be
 * entered, and sets *failed if one of them is this user's, or if not all processes could be searched. Returns an array
 * of *count entries, or NULL if there is none.
 */
struct netns *netns_open_others(size_t *count, FILE *messages, bool *failed);
/* Closes the sockets that the reader has not used. */
void netns_close(struct netns *all, size_t count);

#endif
