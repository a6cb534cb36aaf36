/* SPDX-License-Identifier: MIT */
/*
 * For cases about requests that register and invalidate: memory with logical addresses, fast-registered regions,
 * windows, and checks of what a peer can do with a token.
 */
#ifndef TESTS_CONTRACT_FAST_H
#define TESTS_CONTRACT_FAST_H

#include "contract/kit/data.h"

/* ---- memory with logical addresses, between guards ---- */

struct fast_memory {
    NDK_ADAPTER *adapter;
    MDL mdl;
    uint8_t *map, *memory; /* the LAM maps the len bytes at `memory` */
    size_t map_len;
    ULONG len, fbo; /* fbo: the first byte offset that NdkBuildLAM returned */
    NDK_LOGICAL_ADDRESS_MAPPING *lam;
};
/* Builds the LAM of len new bytes that begin page_offset bytes into a page. Fills bytes and guards with DATA_FILL. */
void fast_memory_open(struct fast_memory *m, NDK_ADAPTER *adapter, size_t page_offset, ULONG len);
void fast_memory_release(struct fast_memory *m); /* releases the LAM, not the memory */
void fast_memory_close(struct fast_memory *m);
bool fast_memory_is_untouched(const struct fast_memory *m);
/* Returns an SGE with a logical address. The bytes must be in one page, or in pages with adjacent logical addresses. */
NDK_SGE fast_logical(const struct fast_memory *m, NDK_PD *pd, size_t offset, ULONG len);

/* ---- regions and windows ---- */

enum { FAST_ALL = NDK_OP_FLAG_ALLOW_LOCAL_WRITE | NDK_OP_FLAG_ALLOW_REMOTE_READ | NDK_OP_FLAG_ALLOW_REMOTE_WRITE };

NDK_MR *fast_mr(NDK_PD *pd); /* for fast registration, not yet initialised */
NTSTATUS fast_initialize(NDK_MR *mr, ULONG pages, BOOLEAN remote);
NDK_MW *fast_mw(NDK_PD *pd);

/* A region of whole pages. Its base address, which SGEs and peers use, is unrelated to the address of its memory. */
struct fast_region {
    struct fast_memory memory;
    NDK_MR *mr;
    uint8_t *base;
    ULONG len;
    UINT32 token;
};
/* Creates the region, registers it by a request on the side's QP, and waits for the completion. */
void fast_region_open(struct fast_region *r, struct kit_side *s, ULONG pages, ULONG rights);
void fast_region_close(struct fast_region *r);
/* Posts a request that registers the region, and stores the new token in r. */
NTSTATUS fast_region_post(struct fast_region *r, struct kit_side *s, uintptr_t context, ULONG flags);
NDK_SGE fast_sge(const struct fast_region *r, size_t offset, ULONG len);

/* ---- requests ---- */

NTSTATUS fast_register(struct kit_side *s, uintptr_t context, NDK_MR *mr, const NDK_LOGICAL_ADDRESS *pages, ULONG count,
                       ULONG fbo, SIZE_T len, const void *base, ULONG flags);
NTSTATUS fast_invalidate(struct kit_side *s, uintptr_t context, void *mr_or_mw, ULONG flags);
NTSTATUS fast_bind(struct kit_side *s, uintptr_t context, NDK_MR *mr, NDK_MW *mw, const void *address, SIZE_T len,
                   ULONG flags);
/* Posts a send that invalidates the peer's token, with one SGE in the side's own region. */
NTSTATUS fast_send_invalidate(struct kit_side *s, uintptr_t context, size_t offset, ULONG len, ULONG flags,
                              UINT32 token);
/* Waits for a result, which must be successful and have the type `type`. Returns the result's request context. */
uintptr_t fast_check_result(struct kit_side *s, NDK_OPERATION_TYPE type);
UINT32 fast_mw_token(NDK_MW *mw);

/* ---- what a token gives access to ---- */

/*
 * Checks that the active side can write len bytes to the remote address `address` and read them back. The bytes must
 * arrive at `at` in m, and nothing else in m may change.
 */
void fast_check_alive(struct kit_pair *p, const struct fast_memory *m, uint8_t *at, UINT32 token, const void *address,
                      ULONG len);
/*
 * Calls fast_check_no_write and fast_check_no_read. fast_check_no_write checks that a write by the active side ends the
 * connection at both sides and changes nothing in m. fast_check_no_read checks that a read ends the connection at both
 * sides and returns nothing. Each of the two calls data_reconnect before it returns.
 */
void fast_check_dead(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len);
void fast_check_no_write(struct kit_pair *p, const struct fast_memory *m, UINT32 token, const void *address, ULONG len);
void fast_check_no_read(struct kit_pair *p, UINT32 token, const void *address, ULONG len);
/* Checks that NdkSend with this SGE returns STATUS_ACCESS_VIOLATION. */
void fast_check_refused(struct kit_side *s, NDK_SGE sge);
/* Checks that NdkSend with this SGE returns STATUS_ACCESS_VIOLATION, or that the send completes with this status. */
void fast_check_local_dead(struct kit_side *s, NDK_SGE sge);

/* ---- a request of any kind ---- */

enum fast_kind {
    FAST_SEND,
    FAST_SEND_INVALIDATE,
    FAST_WRITE,
    FAST_READ,
    FAST_REGISTER,
    FAST_BIND,
    FAST_INVALIDATE,
    FAST_KINDS
};
/* The objects that requests of all kinds need. If far->adapter is NULL, the far side is a raw peer, not a consumer. */
struct fast_kinds {
    struct kit_side *near, *far;
    struct fast_region registered, invalidated, far_region;
    NDK_MW *mw;
    bool stale;     /* fast_post has invalidated the region `invalidated`; fast_kinds_prepare registers it again */
    bool far_stale; /* fast_post has invalidated `far_region`; fast_kinds_prepare registers it again */
};
void fast_kinds_open(struct fast_kinds *k, struct kit_side *near, struct kit_side *far);
void fast_kinds_close(struct fast_kinds *k);
/*
 * Must be called before each fast_post of the same kind, while no request is pending. Registers the invalidated
 * regions again. If the kind is a send, posts a receive at the far side.
 */
void fast_kinds_prepare(struct fast_kinds *k, enum fast_kind kind);
NTSTATUS fast_post(struct fast_kinds *k, enum fast_kind kind, uintptr_t context, ULONG flags);
/* Posts a request with a wrong argument, and checks that the post fails. */
void fast_post_bad(struct fast_kinds *k, enum fast_kind kind, ULONG flags);
NDK_OPERATION_TYPE fast_type(enum fast_kind kind);

#endif
