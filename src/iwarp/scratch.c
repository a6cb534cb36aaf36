/* SPDX-License-Identifier: MIT */
/*
 * Manages the scratch: the buffers that the queue pairs of one shard share. The owner of the shard calls all functions.
 * The invariant: each buffer and stage is allocated separately, so that a queue pair may own one even after the scratch
 * has been freed.
 */
#include <stdlib.h>

#include "iwarp/qp_internal.h"

struct iw_scratch *iw_scratch_create(void)
{
    struct iw_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    (void)scratch_replace_stage(s);
    s->arena = malloc(ARENA_SIZE);
    if (!s->stage || !s->arena || !scratch_reserve_buffer(s)) {
        iw_scratch_destroy(s);
        return NULL;
    }
    return s;
}

void iw_scratch_destroy(struct iw_scratch *s)
{
    if (!s)
        return;
    while (s->spare_count > 0)
        free(s->spare[--s->spare_count]);
    while (s->spare_stage_count > 0)
        free(s->spare_stage[--s->spare_stage_count]);
    free(s->stage);
    free(s->arena);
    free(s);
}

bool scratch_reserve_buffer(struct iw_scratch *s)
{
    if (s->spare_count > 0)
        return true;
    s->spare[0] = malloc(BUFFER_SIZE);
    s->spare_count = s->spare[0] ? 1 : 0;
    return s->spare_count > 0;
}

uint8_t *scratch_alloc_buffer(struct iw_scratch *s)
{
    return scratch_reserve_buffer(s) ? s->spare[--s->spare_count] : NULL;
}

void scratch_free_buffer(struct iw_scratch *s, uint8_t *buffer)
{
    if (buffer && s->spare_count < MAX_SPARE_BUFFERS)
        s->spare[s->spare_count++] = buffer;
    else
        free(buffer);
}

bool scratch_replace_stage(struct iw_scratch *s)
{
    uint8_t *stage = s->spare_stage_count > 0 ? s->spare_stage[--s->spare_stage_count]
                                              : malloc(MAX_PARTIAL + STAGE_SIZE);

    if (!stage)
        return false;
    s->stage = stage;
    return true;
}

void scratch_free_stage(struct iw_scratch *s, uint8_t *stage)
{
    if (s->spare_stage_count < MAX_SPARE_STAGES)
        s->spare_stage[s->spare_stage_count++] = stage;
    else
        free(stage);
}
