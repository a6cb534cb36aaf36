/* SPDX-License-Identifier: MIT */
/* Finds out whether processes have sockets that peers can reach. */
#ifndef NDKRUN_LISTENING_H
#define NDKRUN_LISTENING_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the number of sockets of a process group that peers can reach: TCP sockets that listen, and UDP sockets with
 * a port and no fixed peer. If `group` is 0, counts only the sockets of this process. Sockets in other network
 * namespaces, and sockets of processes that this user may not inspect, are not counted.
 */
uint32_t listening_count(pid_t group);

#endif
