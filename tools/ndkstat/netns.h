/* SPDX-License-Identifier: MIT */
/*
 * Opens sockets in other network namespaces. An abstract socket name belongs to one network namespace. So a process in
 * another namespace, for example `ndkrun --net`, can be reached only through a socket that was opened in that
 * namespace. A child process enters the namespace, opens the sockets, and passes them to ndkstat, which stays in its
 * own namespace.
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
    ino_t inode;               /* the number in "net:[4026531840]", for example */
    char name[NETNS_MAX_NAME]; /* the name that `ip netns` has given to the namespace, or "" */
    long pid;                  /* ID of a process in the namespace */
    uid_t uid;                 /* user of this process */
    struct name *names;        /* names of the sockets on which processes publish their adapters; at least one */
    size_t n_names;
    int *sockets; /* an unconnected socket for each name; -1: the reader has taken over the socket or has closed it */
};

/* Returns the inode of this process's network namespace, or 0 if it cannot be read. */
ino_t netns_own_inode(void);
/* Finds the name of a namespace in /run/netns. Stores "" if the namespace has no name. */
void netns_find_name(ino_t inode, char name[NETNS_MAX_NAME]);

/*
 * Finds the other network namespaces in which processes of this user publish adapters; for root, processes of any user.
 * Enters the namespaces, and opens sockets in them. Takes at most about 15 seconds. Writes a line to `messages` for
 * each namespace that cannot be entered. Sets *failed to true if a namespace of this user cannot be entered, or if not
 * all processes could be searched. Returns an array of *count entries, or NULL if there are none.
 */
struct netns *netns_open_others(size_t *count, FILE *messages, bool *failed);
/* Closes the sockets that are not -1, and frees the array. */
void netns_close(struct netns *all, size_t count);

#endif
