/* SPDX-License-Identifier: MIT */
/*
 * The executor of a simulation: runs all shards in one thread, in an order that the seed determines, on the virtual
 * clock.
 */
#ifndef SIM_SIM_EXECUTOR_H
#define SIM_SIM_EXECUTOR_H

#include <stdbool.h>

#include "engine/shard.h"

struct executor *sim_executor(void);

/*
 * Runs a turn of one of the shards that have something to do. If none has, calls `idle` and advances the clock to the
 * next event. Returns false if there is no next event. Must not be called from inside a task.
 */
bool sim_step(void);
/* Returns whether the next step would advance the clock far, or has nothing to do. */
bool sim_step_is_far(void);
/* Called inside a callback: runs a turn of a shard that has work. The clock does not advance. */
void sim_overlap(void);
/* Sets a function that is called when no shard has work. */
void sim_on_idle(void (*idle)(void));
unsigned sim_executor_shards(void); /* the number of existing shards */

#endif
