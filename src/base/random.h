/* SPDX-License-Identifier: MIT */
/*
 * Makes random numbers for all purposes, from the kernel. A simulation sets a seed instead, so that the seed determines
 * the whole run. The invariant: while a seed is set, no number comes from the kernel.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

/* Returns a random number. Any thread may call this function. Never blocks. */
uint64_t random_u64(void);

/*
 * Sets the seed from which all later numbers of the process are computed, for a simulation. If `seed` is 0, later
 * numbers come from the kernel again.
 */
void random_seed(uint64_t seed);
/* Returns the next number of the caller's own sequence, and advances *state. The numbers can be guessed. */
uint64_t random_next(uint64_t *state);

#endif
