/* SPDX-License-Identifier: MIT */
/* Registered memory between fences: bytes on both sides that nobody may change. */
#ifndef HOSTILE_FENCED_H
#define HOSTILE_FENCED_H

#include <stdbool.h>
#include <stdint.h>

#include "hostile/wait.h"
#include "ndk/ndkpi.h"

struct fenced {
    uint8_t *whole, *memory; /* memory begins inside whole, at no multiple of anything */
    uint32_t len;
    MDL mdl;
    NDK_MR *mr;
    uint32_t local, remote;   /* tokens */
};

/* flags: NDK_MR_FLAG_. Memory and fences are filled with a pattern. */
NTSTATUS fenced_create(struct fenced *r, NDK_PD *pd, uint32_t len, ULONG flags, struct wait *wait);
/* Returns true if the fences, and with `memory` the region's own bytes, are as they were. */
bool fenced_is_whole(const struct fenced *r, bool memory);
void fenced_destroy(struct fenced *r, struct wait *wait);
NDK_SGE fenced_sge(const struct fenced *r, uint32_t offset, uint32_t len);

#endif
