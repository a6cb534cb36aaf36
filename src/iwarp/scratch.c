/* SPDX-License-Identifier: MIT */
/* What the queue pairs of one shard share. Buffers that a queue pair holds on to are plain allocations. */
#include <stdlib.h>

#include "iwarp/qp_internal.h"

struct iw_scratch *iw_scratch_create(void)
{
    struct iw_scratch *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    (void)scratch_replace_stage(s);
    s->arena = malloc(ARENA_SIZE);
    if (!s->stage || !s->arena || !scratch_reserve(s)) {
        iw_scratch_destroy(s);
        return NULL;
    }
    return s;
}

void iw_scratch_destroy(struct iw_scratch *s)
{
    if (!s)
        return;
    while (s->spares > 0)
        free(s->spare[--s->spares]);
    while (s->spare_stages > 0)
        free(s->spare_stage[--s->spare_stages]);
    free(s->stage);
    free(s->arena);
    free(s);
}

bool scratch_reserve(struct iw_scratch *s)
{
    if (s->spares > 0)
        return true;
    s->spare[0] = malloc(BUFFER_SIZE);
    s->spares = s->spare[0] ? 1 : 0;
    return s->spares > 0;
}

uint8_t *scratch_take(struct iw_scratch *s)
{
    return scratch_reserve(s) ? s->spare[--s->spares] : NULL;
}

void scratch_give(struct iw_scratch *s, uint8_t *buffer)
{
    if (buffer && s->spares < SPARES)
        s->spare[s->spares++] = buffer;
    else
        free(buffer);
}

bool scratch_replace_stage(struct iw_scratch *s)
{
    uint8_t *stage = s->spare_stages > 0 ? s->spare_stage[--s->spare_stages] : malloc(RX_KEEP + STAGE_SIZE);

    if (!stage)
        return false;
    s->stage = stage;
    return true;
}

void scratch_give_stage(struct iw_scratch *s, uint8_t *stage)
{
    if (s->spare_stages < SPARE_STAGES)
        s->spare_stage[s->spare_stages++] = stage;
    else
        free(stage);
}
