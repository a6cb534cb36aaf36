/* SPDX-License-Identifier: MIT */
/*
 * Where everything that has to be unguessable, or merely scattered, comes from: the kernel. A simulation seeds it
 * instead, so that one seed decides a whole run.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

uint64_t random_u64(void); /* any thread, never blocks */

/* From here on a sequence that the seed decides, for the whole process. For simulations; 0: the kernel again. */
void random_seed(uint64_t seed);
/* The sequence behind it, for who needs one of his own: advances *state. */
uint64_t random_next(uint64_t *state);

#endif
