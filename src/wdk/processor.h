/* SPDX-License-Identifier: MIT */
/*
 * Processors: those that the process may run on when it starts, numbered from 0, in groups of 64.
 */
#ifndef WDK_PROCESSOR_H
#define WDK_PROCESSOR_H

#include <stdint.h>

enum { PROCESSOR_MOST = 1024 };

uint32_t processor_count(void);
uint32_t processor_now(void);
/* Which of the group's 64 exist. */
uint64_t processor_group(uint32_t group);
/* The calling thread runs on these of the group from now on; 0: wherever the process may. */
void processor_bind(uint32_t group, uint64_t mask);

#endif
