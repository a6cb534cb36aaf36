/* SPDX-License-Identifier: MIT */
/* The executor of a simulation: all shards in one thread, turned in an order that the seed decides, on its clock. */
#ifndef SIM_SIM_EXECUTOR_H
#define SIM_SIM_EXECUTOR_H

#include <stdbool.h>

#include "engine/shard.h"

struct executor *sim_executor(void);

/*
 * Turns one of the shards that have something to do. Where none has, `idle` is called, and the clock jumps to when
 * something happens next. False: nothing will ever happen again by itself. Not from inside a task.
 */
bool sim_step(void);
/* Would the next step let a long time pass, or find nothing to do? */
bool sim_step_is_far(void);
/* From inside a callback: turns some shard, if one has something to do now. The clock stays. */
void sim_overlap(void);
/* Something that wants to look on whenever all shards are quiet. */
void sim_on_idle(void (*idle)(void));
unsigned sim_executor_shards(void); /* how many live */

#endif
