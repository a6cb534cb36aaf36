/* SPDX-License-Identifier: MIT */
/* The executor of a simulation: all shards in one thread, turned in an order that the seed decides, on its clock. */
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
/* Would the next step let a long time pass, or find nothing to do? */
bool sim_step_is_far(void);
/* From inside a callback: turns some shard, if one has something to do now. The clock stays. */
void sim_overlap(void);
/* A function that is called when no shard has anything to do. */
void sim_on_idle(void (*idle)(void));
unsigned sim_executor_shards(void); /* how many live */

#endif
