/* SPDX-License-Identifier: MIT */
/* Finds out whether processes have sockets that peers can reach. */
#ifndef NDKRUN_LISTENING_H
#define NDKRUN_LISTENING_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the number of TCP sockets that listen, and of UDP sockets with a port and no fixed peer, which the processes
 * of the group have in this process's network namespace. If `group` is 0, counts those of this process alone. Sockets
 * of processes that this user may not inspect are not counted.
 */
uint32_t listening_count(pid_t group);

#endif
