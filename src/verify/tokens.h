/* SPDX-License-Identifier: MIT */
/*
 * The tokens of a protection domain's memory regions: which region each token names, its address range and its rights.
 * A post looks up the tokens of its SGEs here.
 *
 * A token is reported only if it cannot be valid when the provider processes the request. If its validity depends on
 * requests whose results the consumer has not polled, the token is unsure and is accepted.
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

/* The memory that a registration covers, and what it allows. */
struct registration {
    uint64_t base, length;
    bool local_write, read_sink;
    bool read_only; /* the consumer has locked the memory for reading only */
};

enum token_state {
    TOKEN_UNUSED, /* the entry is in no table */
    TOKEN_EARLY,  /* of an initialized region that has never been registered */
    TOKEN_VALID,  /* the region is registered, or its NdkFastRegister is posted */
    TOKEN_ENDING, /* a posted request ends it: later initiator requests of the same queue pair fail */
    TOKEN_ENDED,  /* the registration has ended */
    TOKEN_UNSURE, /* may be valid or invalid, so requests that use it are accepted */
};

struct token {
    LIST_ENTRY(token) link;   /* in the table's bucket, unless the state is TOKEN_UNUSED */
    LIST_ENTRY(token) ending; /* in the table's list, while the state is TOKEN_ENDING */
    struct region *region;
    UINT32 value;
    enum token_state state;
    bool reused;          /* an earlier registration of the region had the same token */
    const char *end;      /* in TOKEN_ENDING and TOKEN_ENDED: what ended the registration, as the end of a sentence */
    uint64_t ended_by;    /* in TOKEN_ENDING: serial of the queue pair of the request that ends the token */
    uint64_t ended_place; /* in TOKEN_ENDING: the request's place in that queue; 0: unknown */
    uint64_t number;      /* of the region's registration that made the token; a later one has a higher number */
    struct registration memory;
};

LIST_HEAD(token_bucket, token);

struct token_table {
    LIST_ENTRY(token_table) link; /* in the list of all tables */
    struct spin lock;             /* guards the table, and the tokens and the state of its regions */
    struct token_bucket ending;   /* the tokens in TOKEN_ENDING */
    struct token_bucket *buckets; /* NULL until the first region is created */
    unsigned bucket_count;        /* a power of two */
    unsigned region_count;
    UINT32 privileged;   /* the privileged token */
    bool has_privileged; /* `privileged` is set, because a queue has been created */
};

void tokens_init(struct token_table *t);
void tokens_fini(struct token_table *t);
/* Makes room for the tokens of one more region. Returns false if out of memory. tokens_unreserve undoes it. */
bool tokens_reserve(struct token_table *t);
void tokens_unreserve(struct token_table *t);
void tokens_set_privileged(struct token_table *t, UINT32 privileged);

/* ---- The tokens of a region. Require the lock. ---- */

/*
 * Stores the state and the memory of a token of the region. If the region has no free entry, replaces an entry of its
 * oldest registration.
 */
void tokens_set(struct region *region, UINT32 value, enum token_state state, const struct registration *memory);
/* Returns the region's entry for the token, or NULL. */
struct token *tokens_find(struct region *region, UINT32 value);
/*
 * Ends the tokens of the region's registrations 1 to `number`. If qp is NULL, the tokens become TOKEN_ENDED. Otherwise
 * a request of qp ends them, and they are TOKEN_ENDING until the result of this request is polled. `place` is the place
 * of this request in the initiator queue of qp. `end` is for example "NdkDeregisterMr has ended".
 */
void tokens_end(struct region *region, uint64_t number, const struct proxy *qp, uint64_t place, const char *end);
/*
 * Sets all tokens of the region to TOKEN_UNSURE, also those that have ended. From now on, their use is not reported,
 * because they may be valid.
 */
void tokens_doubt(struct region *region);
/* Removes all entries of the region from the table, and undoes tokens_reserve. */
void tokens_remove(struct region *region);

/* ---- Posts and results ---- */

enum sge_use { SGE_SOURCE, SGE_RECEIVE, SGE_READ };

/* Checks the SGEs of a request before it is posted to `queue`, a queue pair or a shared receive queue. */
void tokens_check_post(const struct proxy *queue, const char *routine, const NDK_SGE *sgl, ULONG sges, ULONG flags,
                       enum sge_use use);
/* Check a request with its remote token. A read that invalidates its first SGE's token makes that token unsure. */
void tokens_check_read(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags);
void tokens_check_write(const struct proxy *qp, const NDK_SGE *sgl, ULONG sges, UINT32 remote, ULONG flags);
/*
 * Called when the consumer has polled results, before their contexts are translated. Ends the tokens that a peer has
 * invalidated, and the tokens that a completed request of the consumer has invalidated or replaced.
 */
void tokens_process_results(const NDK_RESULT_EX *results, ULONG count);

#endif
