/* SPDX-License-Identifier: MIT */
/*
 * Keeps the tokens of memory regions, in one table for each protection domain. For each token the table has the region,
 * the address range and the rights. A post looks up the tokens of its SGEs here.
 *
 * A token is reported only if it is certainly invalid when the provider processes the request. If its validity depends
 * on requests whose results the consumer has not polled, the token is unsure and is accepted.
 */
#ifndef VERIFY_TOKENS_H
#define VERIFY_TOKENS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <ndk/ndkpi.h>

#include "base/spin.h"
#include "verify/proxy.h"

struct region;

/* The memory that a registration covers, and its rights. */
struct registration {
    uint64_t base, length;
    bool local_write, read_sink;
    bool read_only; /* the consumer has locked the memory with IoReadAccess */
};

enum token_state {
    TOKEN_UNUSED, /* the entry is unused and in no table */
    TOKEN_EARLY,  /* the region is initialized and has never been registered */
    TOKEN_VALID,  /* the region is registered, or its NdkFastRegister is posted */
    TOKEN_ENDING, /* a posted request invalidates the token for later initiator requests of the same queue pair */
    TOKEN_ENDED,  /* the token is invalid, because its registration has ended */
    TOKEN_UNSURE, /* the token may be valid or invalid, so requests that use it are accepted */
};

struct token {
    LIST_ENTRY(token) link;   /* in the list of its bucket, unless the state is TOKEN_UNUSED */
    LIST_ENTRY(token) ending; /* in the table's list `ending`, while the state is TOKEN_ENDING */
    struct region *region;
    UINT32 value;
    enum token_state state;
    bool reused;          /* an earlier registration of the region had the same token */
    const char *end;      /* the last words of a report about an ended token, for example "NdkDeregisterMr has ended" */
    uint64_t ended_by;    /* in TOKEN_ENDING: serial of the queue pair whose request invalidates the token */
    uint64_t ended_place; /* in TOKEN_ENDING: place of that request in the initiator queue; 0: not known */
    uint64_t number; /* number of the registration that made the token; each region numbers its registrations from 1 */
    struct registration memory;
};

LIST_HEAD(token_bucket, token);

struct token_table {
    LIST_ENTRY(token_table) link; /* in the list of all tables */
    struct spin lock;             /* guards the members below, and the tokens and the state of the table's regions */
    struct token_bucket ending;   /* list of the tokens in the state TOKEN_ENDING */
    struct token_bucket *buckets; /* NULL until the first region is created */
    unsigned bucket_count;        /* number of buckets, a power of two */
    unsigned region_count;
    UINT32 privileged;   /* privileged token of the protection domain */
    bool has_privileged; /* `privileged` is set; false until a queue was created */
};

void tokens_init(struct token_table *t);
void tokens_fini(struct token_table *t);
/*
 * Reserves room for the tokens of one more region. Returns false if out of memory. tokens_unreserve releases the room.
 */
bool tokens_reserve(struct token_table *t);
void tokens_unreserve(struct token_table *t);
void tokens_set_privileged(struct token_table *t, UINT32 privileged);

/* ---- The tokens of a region. These functions require the table's lock. ---- */

/*
 * Stores the state and the memory of the region's token `value`. If the region has neither an entry for this token nor
 * an unused entry, replaces an entry of the region's oldest registration.
 */
void tokens_set(struct region *region, UINT32 value, enum token_state state, const struct registration *memory);
/* Returns the region's entry for the token `value`, or NULL if there is none. */
struct token *tokens_find(struct region *region, UINT32 value);
/*
 * Invalidates the tokens of the region's registrations 1 to `number`. If qp is NULL, the tokens become TOKEN_ENDED.
 * Otherwise a posted request invalidates them: they are TOKEN_ENDING until the consumer polls the result of the request
 * at `place` in the initiator queue of qp. `end` ends the message of a report, for example "NdkDeregisterMr has ended".
 */
void tokens_end(struct region *region, uint64_t number, const struct proxy *qp, uint64_t place, const char *end);
/*
 * Sets all tokens of the region to TOKEN_UNSURE, including those that have ended. Later uses of these tokens are not
 * reported.
 */
void tokens_doubt(struct region *region);
/* Removes all entries of the region from the table, and releases the room that tokens_reserve has reserved. */
void tokens_remove(struct region *region);

/* ---- Posts and results ---- */

enum sge_use { SGE_SOURCE, SGE_RECEIVE, SGE_READ };

/* Checks the SGEs of a request before it is posted to `queue`, which is a queue pair or a shared receive queue. */
void tokens_check_post(const struct proxy *queue, const char *routine, const NDK_SGE *sgl, ULONG sges, ULONG flags,
                       enum sge_use use);
/*
 * These functions check an NdkRead or an NdkWrite before the post. `remote` is the remote token of the request. If an
 * NdkRead has NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE, and the adapter supports this flag, all tokens of the first SGE's
 * region become TOKEN_UNSURE.
 */
void tokens_check_read(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags);
void tokens_check_write(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags);
/*
 * Invalidates the tokens that a peer has invalidated, and the tokens that the consumer's completed requests have
 * invalidated or replaced. Runs when the consumer has polled results, before their contexts are translated.
 */
void tokens_process_results(const NDK_RESULT_EX *results, ULONG count);

#endif
