/* SPDX-License-Identifier: MIT */
/*
 * Processors: those that the process may run on when it starts, numbered from 0, in groups of 64.
 */
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
/* Which of the group's 64 exist. */
uint64_t processor_group(uint32_t group);
/* The host's number of it. */
uint32_t processor_host(uint32_t index);
/* Those of ours that a list in sysfs names. False: none. */
bool processor_read_set(const char *path, struct processor_set *set);
void processor_node(uint32_t node, struct processor_set *set);
/* The calling thread runs on these of the group from now on; 0: wherever the process may. */
void processor_bind(uint32_t group, uint64_t mask);
/* For a thread that begins, instead of where its maker is bound to, or was called to at that moment. */
void processor_unbind(void);
/* Another thread, by the host's number, shall go on on the caller's processor; then wherever the process may. */
void processor_pull_thread(uint32_t thread);
void processor_release_thread(uint32_t thread);

#endif
