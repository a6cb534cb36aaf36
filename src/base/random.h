/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for all purposes. They come from the kernel. A simulation sets a seed instead, so that one seed
 * decides a whole run. The invariant: while a seed is set, no number comes from the kernel.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* Any thread. Never blocks. */
uint64_t random_u64(void);

/* Makes `seed` decide all later numbers of the process, for a simulation. 0 selects the kernel's numbers again. */
void random_seed(uint64_t seed);
/* Returns the next number of the caller's own sequence, and advances *state. The sequence can be guessed. */
uint64_t random_next(uint64_t *state);

#endif
