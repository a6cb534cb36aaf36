/* SPDX-License-Identifier: MIT */
/* Registered memory between fences: bytes on both sides that must not change. */
#ifndef HOSTILE_FENCED_H
#define HOSTILE_FENCED_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer/region.h"

struct fenced {
    uint8_t *whole;
    struct consumer_region region; /* inside `whole`, at an odd offset */
};

/* flags: NDK_MR_FLAG_. Memory and fences are filled with a pattern. */
NTSTATUS fenced_create(struct fenced *f, NDK_PD *pd, uint32_t len, ULONG flags);
/* Returns true if the fences, and with `memory` the region's own bytes, are unchanged. */
bool fenced_is_whole(const struct fenced *f, bool memory);
void fenced_destroy(struct fenced *f);

#endif
