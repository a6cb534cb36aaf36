/* SPDX-License-Identifier: MIT */
/* What cases about requests and memory share: regions between guards, any QP, connections made anew, any SGEs. */
#ifndef TESTS_CONTRACT_DATA_H
#define TESTS_CONTRACT_DATA_H

#include "contract/kit/kit.h"

NDK_ADAPTER_INFO data_info(NDK_ADAPTER *adapter);

/* ---- numbers that a seed decides ---- */

uint32_t data_random(uint64_t *seed);
uint32_t data_below(uint64_t *seed, uint32_t bound); /* 0 .. bound - 1 */

/* ---- regions with guards on both sides; the memory begins anywhere in its page ---- */

struct data_region {
    NDK_MR *mr;
    MDL mdl;
    uint8_t *map, *memory;
    size_t map_len;
    ULONG len;
    UINT32 token;
};
enum { DATA_FILL = 0xa5, DATA_ALL = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ |
                                    NDK_MR_FLAG_ALLOW_REMOTE_WRITE };
/* len bytes at this offset in a page, filled with DATA_FILL, as the guards are. */
void data_region_open(struct data_region *r, NDK_PD *pd, size_t page_offset, ULONG len, ULONG flags);
void data_region_close(struct data_region *r);        /* closes the MR where it is still there */
NDK_SGE data_sge(const struct data_region *r, size_t offset, ULONG len);
NDK_SGE data_mr_sge(NDK_MR *mr, void *address, ULONG len); /* with the local token that the region has now */
bool data_guards_intact(const struct data_region *r);
bool data_untouched(const struct data_region *r);     /* guards and memory */
void data_forbid(const struct data_region *r);        /* whoever touches it from now on dies */

NDK_PD *data_pd(NDK_ADAPTER *adapter);
NDK_MR *data_mr(NDK_PD *pd);
NTSTATUS data_register(NDK_MR *mr, MDL *mdl, SIZE_T len, ULONG flags);
NTSTATUS data_deregister(NDK_MR *mr);

/* ---- queue pairs ---- */

struct data_qp {
    NDK_CQ *receive_cq, *initiator_cq; /* NULL: the side's */
    void *context;
    ULONG receives, initiators, receive_sges, initiator_sges, inline_size;
};
NTSTATUS data_qp(struct kit_side *s, const struct data_qp *c, NDK_QP **qp);
NTSTATUS data_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context,
                 NDK_CQ **cq);
/* Both sides get new QPs and a new connection, the queues are emptied. */
void data_renew(struct kit_pair *p);

/* ---- requests ---- */

NTSTATUS data_write(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token);
NTSTATUS data_read(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token);
/* The request's end, whether its post failed or its completion came. */
NTSTATUS data_outcome(struct kit_side *s, NTSTATUS posted);
ULONG data_drain(struct kit_side *s); /* takes what is there; returns how many */
/* When it returns, the other side has taken everything that s has sent before. The queue of s must be empty. */
void data_reached(struct kit_side *s, const struct kit_side *other);
/* The connection is over at this side: the callback came and nothing can be posted any more. */
void data_check_ended(struct kit_side *s);

/* Again with FPDUs of 512 bytes, so that a message is many segments; with CRC and without. */
void data_in_segments(void (*again)(void));

/* ---- notifications of the passive side's queue: so many so far ---- */

void data_check_notified(struct kit_pair *p, int count);
void data_check_not_notified(struct kit_pair *p, int count); /* nor soon */

/* ---- a thread that keeps requests coming from the active side, of this length, until one fails ---- */

struct data_accesses {
    struct kit_pair *pair;
    uint64_t at;       /* the peer's address */
    ULONG len;
    UINT32 token;
    bool reads;
    atomic_int done;   /* requests that were completed */
};
void *data_keep_accessing(void *accesses);

#endif
