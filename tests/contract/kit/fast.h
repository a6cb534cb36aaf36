/* SPDX-License-Identifier: MIT */
/*
 * What cases about requests that register and invalidate share: memory behind logical addresses, regions that are fast
 * registered over it, windows, and what a peer can or cannot do with a token.
 */
#ifndef TESTS_CONTRACT_FAST_H
#define TESTS_CONTRACT_FAST_H

#include "contract/kit/data.h"

/* ---- memory with logical addresses, between guards ---- */

struct fast_memory {
    NDK_ADAPTER *adapter;
    MDL mdl;
    uint8_t *map, *memory; /* len bytes from memory on are mapped for the adapter */
    size_t map_len;
    ULONG len, fbo;        /* fbo: as NdkBuildLAM said */
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
};
/* len bytes at this offset in a page, filled with DATA_FILL as the guards are. */
void fast_memory_open(struct fast_memory *m, NDK_ADAPTER *adapter, size_t page_offset, ULONG len);
void fast_memory_release(struct fast_memory *m); /* the logical addresses alone */
void fast_memory_close(struct fast_memory *m);
bool fast_memory_untouched(const struct fast_memory *m);
/* A piece that names logical addresses: one page's at most, or more where the adapter's pages follow one another. */
NDK_SGE fast_logical(const struct fast_memory *m, NDK_PD *pd, size_t offset, ULONG len);

/* ---- regions and windows ---- */

enum { FAST_ALL = NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE };

NDK_MR *fast_mr(NDK_PD *pd); /* for fast registration, not yet initialised */
NTSTATUS fast_initialize(NDK_MR *mr, ULONG pages, BOOLEAN remote);
NDK_MW *fast_mw(NDK_PD *pd);

/* A region over all of a memory of whole pages, named from an address that has nothing to do with where it is. */
struct fast_region {
    struct fast_memory memory;
    NDK_MR *mr;
    uint8_t *base;
    ULONG len;
    UINT32 token;
};
/* Over the side's connection; the registration has completed. */
void fast_region_open(struct fast_region *r, struct kit_side *s, ULONG pages, ULONG rights);
void fast_region_close(struct fast_region *r);
/* And the token. */
NTSTATUS fast_region_post(struct fast_region *r, struct kit_side *s, uintptr_t context, ULONG flags);
NDK_SGE fast_sge(const struct fast_region *r, size_t offset, ULONG len);

/* ---- requests ---- */

NTSTATUS fast_register(struct kit_side *s, uintptr_t context, NDK_MR *mr, const NDK_LOGICAL_ADDRESS *pages, ULONG count,
                       ULONG fbo, SIZE_T len, const void *base, ULONG flags);
NTSTATUS fast_invalidate(struct kit_side *s, uintptr_t context, void *mr_or_mw, ULONG flags);
NTSTATUS fast_bind(struct kit_side *s, uintptr_t context, NDK_MR *mr, NDK_MW *mw, const void *address, SIZE_T len,
                   ULONG flags);
/* From the side's own region, in one piece. */
NTSTATUS fast_send_invalidate(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, ULONG flags,
                              UINT32 token);
/* The next result is a success of this kind; returns its context. */
uintptr_t fast_done(struct kit_side *s, NDK_OPERATION_TYPE type);
UINT32 fast_token_mw(NDK_MW *mw);

/* ---- what a token is good for ---- */

/* The active side writes to len bytes and reads them back; at: where they are, of this memory; nothing else changes. */
void fast_check_alive(struct kit_pair *p, const struct fast_memory *m, uint8_t *at, UINT32 token, const void *address,
                      ULONG len);
/* Its write, and then its read, end the connection at both sides and touch nothing; it is made anew each time. */
void fast_check_dead(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len);
void fast_check_no_write(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len);
void fast_check_no_read(struct kit_pair *p, UINT32 token, const void *address, ULONG len);
/* The owner's own request is refused. */
void fast_check_refused(struct kit_side *s, NDK_SGE sge);
/* It is refused, or fails, and the connection goes on. */
void fast_check_local_dead(struct kit_side *s, NDK_SGE sge);

/* ---- a request of any kind ---- */

enum fast_kind {
    FAST_SEND, FAST_SEND_INVALIDATE, FAST_WRITE, FAST_READ, FAST_REGISTER, FAST_BIND, FAST_INVALIDATE, FAST_KINDS
};
/* What one of each needs at this side, and at the far one; far without an adapter is no consumer. */
struct fast_kinds {
    struct kit_side *near, *far;
    struct fast_region registered, invalidated, far_region;
    NDK_MW *mw;
    bool stale; /* one has been invalidated */
    bool far_stale;
};
void fast_kinds_open(struct fast_kinds *k, struct kit_side *near, struct kit_side *far);
void fast_kinds_close(struct fast_kinds *k);
/* Before each round in which every kind is posted once at most; nothing is pending. The far side's receives too. */
void fast_kinds_ready(struct fast_kinds *k, enum fast_kind kind);
NTSTATUS fast_post(struct fast_kinds *k, enum fast_kind kind, uintptr_t context, ULONG flags);
/* Likewise, but it must fail at once. */
void fast_post_bad(struct fast_kinds *k, enum fast_kind kind, ULONG flags);
NDK_OPERATION_TYPE fast_type(enum fast_kind kind);

#endif
