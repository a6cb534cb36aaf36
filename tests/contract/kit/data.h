/* SPDX-License-Identifier: MIT */
/* For cases about requests and memory: regions between guard bytes, QPs with any depths and SGEs, and reconnecting. */
#ifndef TESTS_CONTRACT_DATA_H
#define TESTS_CONTRACT_DATA_H

#include "contract/kit/kit.h"

NDK_ADAPTER_INFO data_info(NDK_ADAPTER *adapter);

/* ---- pseudo-random numbers ---- */

uint32_t data_random(uint64_t *seed);
uint32_t data_random_below(uint64_t *seed, uint32_t bound); /* 0 .. bound - 1 */

/* ---- regions with a guard on each side ---- */

struct data_region {
    NDK_MR *mr;
    MDL mdl;
    uint8_t *map, *memory;
    size_t map_len;
    ULONG len;
    UINT32 token;
};
enum {
    DATA_FILL = 0xa5,
    DATA_ALL = NDK_MR_FLAG_ALLOW_LOCAL_WRITE | NDK_MR_FLAG_ALLOW_REMOTE_READ | NDK_MR_FLAG_ALLOW_REMOTE_WRITE
};
/* Registers len new bytes that begin page_offset bytes into a page. Fills them and the guards with DATA_FILL. */
void data_region_open(struct data_region *r, NDK_PD *pd, size_t page_offset, ULONG len, ULONG flags);
void data_region_close(struct data_region *r); /* also closes r->mr unless it is NULL */
NDK_SGE data_sge(const struct data_region *r, size_t offset, ULONG len);
NDK_SGE data_mr_sge(NDK_MR *mr, void *address, ULONG len); /* with the MR's current local token */
bool data_guards_intact(const struct data_region *r);
bool data_is_untouched(const struct data_region *r); /* guards and memory contain only DATA_FILL */
void data_protect(const struct data_region *r);      /* makes the bytes inaccessible: an access ends the process */

NDK_MR *data_mr(NDK_PD *pd);
NTSTATUS data_register(NDK_MR *mr, MDL *mdl, SIZE_T len, ULONG flags);
NTSTATUS data_deregister(NDK_MR *mr);

/* ---- queue pairs ---- */

struct data_qp {
    NDK_CQ *receive_cq, *initiator_cq; /* NULL: the side's cq */
    void *context;
    ULONG receives, initiators, receive_sges, initiator_sges, inline_size;
};
NTSTATUS data_qp(struct kit_side *s, const struct data_qp *c, NDK_QP **qp);
NTSTATUS data_cq(NDK_ADAPTER *adapter, ULONG depth, NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context, NDK_CQ **cq);
/* Closes the connection and both QPs, discards all results, and connects new QPs. */
void data_reconnect(struct kit_pair *p);

/* ---- requests ---- */

NTSTATUS data_write(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token);
NTSTATUS data_read(struct kit_side *s, uintptr_t context, const NDK_SGE *sge, uint64_t address, UINT32 token);
/* Returns a request's final status: `posted` if the post failed, otherwise the status of the next result. */
NTSTATUS data_outcome(struct kit_side *s, NTSTATUS posted);
ULONG data_drain(struct kit_side *s); /* removes all results of the side's cq; returns their number */
/* Waits until `other` has processed everything that s has sent. s->cq must be empty. */
void data_wait_delivered(struct kit_side *s, const struct kit_side *other);
/* Waits for the disconnect callback, and checks that nothing can be posted any more. */
void data_check_ended(struct kit_side *s);

/* Calls run() twice: with CRC, then without. Limits FPDUs to 512 bytes, so that a message has many segments. */
void data_run_segmented(void (*run)(void));

/* ---- how many notifications of the passive side's completion queue have run ---- */

void data_check_notified(struct kit_pair *p, int count);     /* waits until `count` notifications have run */
void data_check_not_notified(struct kit_pair *p, int count); /* pauses; checks that exactly `count` have run */

/* ---- a thread that posts requests from the active side until one fails ---- */

struct data_accesses {
    struct kit_pair *pair;
    uint64_t at; /* the address in the peer's memory */
    ULONG len;
    UINT32 token;
    bool reads;
    atomic_int done; /* number of completed requests */
};
void *data_keep_accessing(void *accesses);

#endif
