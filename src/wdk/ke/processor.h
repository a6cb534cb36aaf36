/* SPDX-License-Identifier: MIT */
/* The processors that the process may use at its start. They are numbered from 0, and form groups of 64. */
#ifndef WDK_PROCESSOR_H
#define WDK_PROCESSOR_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_PROCESSORS = 1024, PROCESSOR_GROUP = 64, PROCESSOR_GROUPS = MAX_PROCESSORS / PROCESSOR_GROUP };

struct processor_set {
    uint64_t group[PROCESSOR_GROUPS];
};

uint32_t processor_count(void);
uint32_t processor_now(void);
/* Returns a mask of the group's existing processors. */
uint64_t processor_group(uint32_t group);
/* Returns the host's number of a processor. */
uint32_t processor_host(uint32_t index);
/* Reads a list of processors from a file of sysfs. Returns false if the list has no processor of this process. */
bool processor_read_set(const char *path, struct processor_set *set);
void processor_node(uint32_t node, struct processor_set *set);
/*
 * Binds the calling thread to the processors in `mask` of the group. A mask of 0 means all processors of the process.
 */
void processor_bind(uint32_t group, uint64_t mask);
/* Removes the binding that a new thread has inherited from its creator. */
void processor_unbind(void);
/*
 * processor_pull_thread binds another thread (its ID on the host) to the caller's processor. processor_release_thread
 * binds that thread to all processors of the process again.
 */
void processor_pull_thread(uint32_t thread);
void processor_release_thread(uint32_t thread);

#endif
