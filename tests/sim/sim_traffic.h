/* SPDX-License-Identifier: MIT */
/*
 * Memory, queues and requests of the consumers, and their checks: the order of each queue, one completion for each
 * post, every byte of each message and around it, and the validity of each token.
 */
#ifndef SIM_SIM_TRAFFIC_H
#define SIM_SIM_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "sim/sim_object.h"

enum {
    GUARD = 64,
    REGION = 12288,
    PAGE = 4096,
    FAST_PAGES = 4,
    FILL = 0xee,
    POISON = 0x77, /* the contents of memory without a registration */
    PIECES = 4,
    MESSAGES = 256,
    SHARED_LENGTH = 200, /* the maximum message to a shared receive queue */
    MAX_SHARED = 24,     /* the maximum of receives that were used without a completion yet */
};

/* The purpose of a token. BEHIND: for local use and for windows; peers have access only through the windows. */
enum use { LOCAL, SOURCE, READABLE_REGION, WRITABLE_REGION, BEHIND, USES };

enum grant_state {
    GRANT_ASKED, /* the request that creates it was posted */
    GRANT_ALIVE,
    GRANT_ENDING, /* its invalidation is in flight: no new request may use it */
    GRANT_DEAD,   /* it gives no access any more */
};

enum user { BY_RECEIVES, BY_REQUESTS, BY_PEER, KINDS_OF_USERS };

struct qp;
struct region;

/*
 * The token of one registration, one bind, or one logical address mapping. All but ordinary registrations are used with
 * one queue pair only: a thread that invalidates one waits for concurrent accesses, which here could be outer frames of
 * the same thread.
 */
struct grant {
    struct obj *maker;     /* the region or window */
    struct region *region; /* the region with its bytes */
    struct grant *under;   /* of a window: the region's token */
    struct qp *qp;         /* NULL: any queue pair */
    enum use use;
    enum grant_state state;
    unsigned serial;
    uint32_t local, remote; /* tokens; 0: not known yet */
    uint64_t base;          /* the address of the region's first byte */
    uint32_t offset, len;   /* its part of the region */
    unsigned users[KINDS_OF_USERS];
    bool covers; /* an older token of the same object is invalidated instead if this token's request fails */
    struct grant *next;
};

/* A logical address mapping, which the provider fills in. */
union mapping {
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    uint64_t room[2 + FAST_PAGES + 1];
};

/*
 * A memory region, or (LAM) memory that is only mapped. An ordinary one has a guard, len bytes, and a guard. A fast one
 * has pages, of which the current registration maps some, in any order; the others are guards.
 */
struct region {
    struct obj o;
    struct obj *pd;
    enum use use;
    bool fast, remote_too; /* fast: registered by requests; remote_too: initialised for remote rights */
    uint8_t *memory;
    uint8_t *busy;        /* for each byte: a request uses it */
    struct grant *grant;  /* the latest */
    struct grant *window; /* the latest window on it */
    bool registered, reclaimed;
    uint32_t len;
    struct qp *qp; /* fast: the queue pair that uses it, until that is closed */
    unsigned order[FAST_PAGES];
    uint32_t first; /* offset in the first page */
    union mapping mapping;
    bool mapped;
};

struct window {
    struct obj o;
    struct obj *pd;
    struct qp *qp;
    struct grant *grant; /* the latest */
};

struct cq {
    struct obj o;
    unsigned depth, expected; /* completions that may still come */
    unsigned armed;           /* the maximum of notifications: two if it was armed while one was due */
    unsigned notified;        /* notifications that came */
    bool drained, notifying, polling;
    ULONG arm;
    ULONG interval, count; /* moderation; interval 0: off */
    uint64_t due_by;       /* the deadline of a moderated notification; 0: none is required */
    unsigned due_notified; /* `notified` when due_by was set */
};

enum op { SEND, RECEIVE, READ, WRITE, FAST_REGISTER, BIND, INVALIDATE };

struct piece {
    struct grant *grant;
    struct region *region;
    enum user user;
    uint32_t offset, len;
};

struct srq;
struct wr {
    TAILQ_ENTRY(wr) link;
    struct qp *qp; /* of a shared receive: the queue pair that used it */
    struct srq *srq;
    enum op op;
    unsigned number, message;
    bool silent, bad, done, taken; /* taken: the memory was freed */
    uint32_t len;
    struct piece pieces[PIECES];
    unsigned piece_count;
    struct piece remote;
    struct grant *makes, *ends, *replaces;
    enum grant_state was; /* the state of the invalidated token before it */
    uint32_t wrong_token; /* of a bad send */
};

TAILQ_HEAD(wr_list, wr);

struct qp {
    struct obj o;
    struct obj *pd;
    struct cq *receive_cq, *initiator_cq;
    struct srq *srq;
    unsigned receive_depth, initiator_depth, sges, inline_size;
    struct qp *peer;
    bool in_use;    /* a connector uses it; permanent after a connection */
    bool connected; /* as the consumer has observed */
    bool disturbed; /* flushed, disconnected, closed or lost: any request may be cancelled */
    bool deferred;  /* the last request may wait for the next one */
    unsigned reads; /* the effective outbound limit */
    struct wr_list receives, initiated;
    unsigned posted, flushed; /* numbers of requests; those before `flushed` existed at a flush */
    unsigned sent, received, delivered;
    unsigned shared; /* number of the latest shared receive that it used, plus one */
    uint32_t message_len[MESSAGES], message_number[MESSAGES], receive_len[MESSAGES];
    bool message_bad[MESSAGES];
    struct grant *message_ends[MESSAGES];
    struct wr_list writes; /* completed writes that may not have arrived yet; linked by link */
};

/* Whether a notification may or must occur. */
struct arming {
    unsigned armed; /* the maximum */
    bool certain;   /* one must occur if there are too few receives */
    bool fresh;     /* armed by the creation: no notification before a receive is used */
    unsigned threshold;
    unsigned max_threshold, min_receives; /* since it was armed, of threshold and receives */
};

struct srq {
    struct obj o;
    struct obj *pd;
    unsigned depth, sges;
    struct wr_list receives; /* without a completion yet */
    unsigned outstanding;    /* their number */
    unsigned posted;
    unsigned used;     /* number of the latest used one, plus one */
    unsigned notified; /* notifications that came */
    struct arming arming;
    struct qp nobody; /* the owner of receives until they are used */
};

struct obj *pd_new(unsigned host);
struct cq *cq_new(unsigned host);
struct cq *cq_any(unsigned host, unsigned room); /* a queue with room for so many completions, or NULL */
struct region *region_new(unsigned host, enum use use);
struct qp *qp_new(unsigned host);
bool qp_is_free(struct obj *o);
void qp_end(struct qp *qp); /* frees the records of requests that will not complete */

/* Each tries to post one request. Returns false if there is no room, or if it could not succeed. */
bool post_receive(struct qp *qp);
bool post_send(struct qp *qp, uint32_t most);
bool post_read(struct qp *qp);
bool post_write(struct qp *qp);
void post_undeferred(struct qp *qp); /* sends deferred requests */
/* Posts a request that the peer or the provider must refuse. */
void post_bad(struct qp *qp);
/* Posts to a queue pair without a connection. */
void post_early(struct qp *qp);
void qp_flush(struct qp *qp);

/* sim_regions.c: fast regions, windows and mappings, for the queue pair's host. */
void regions_make(unsigned host); /* creates one without registration */
void regions_map(struct qp *qp);  /* memory that is only mapped */
void regions_register(struct qp *qp);
void regions_bind(struct qp *qp);
void regions_invalidate(struct qp *qp, bool rude);
void regions_interrupt(struct region *r); /* invalidates it in the middle of a shard's work */
void regions_unbind(struct grant *g);     /* its window is invalidated and no longer bound to the region */

/* sim_wrong.c */
void regions_wrong(struct qp *qp); /* requests that must be refused at once */

/* sim_srq.c */
void srq_new(unsigned host);
struct srq *srq_any(struct obj *pd);
bool srq_post(struct srq *s);
void srq_fill(void); /* all of them */
void srq_modify(unsigned host);
bool srq_has_credit(const struct srq *s); /* a message to it would have a receive */
void srq_sending(struct srq *s);          /* a message was queued */
void srq_check_idle(bool orderly_end);

void cq_poll(struct cq *cq);
void cq_drain(struct cq *cq); /* until it is empty */
void cq_arm(struct cq *cq);
void cq_resize(struct cq *cq);
void cq_moderate(struct cq *cq);
void cq_check_idle(void); /* called when the run is idle: an armed queue must have no completion */
void region_deregister(struct region *r);
struct region *region_around(const void *memory);
/* Checks that all requests of the queue pair before `number` have completed. */
void qp_check_completed(struct qp *qp, unsigned number, const char *after);
void qp_check_flushed(void); /* called when the run is idle: requests that existed at a flush must have completed */
/* Returns whether all sends were delivered and all initiated requests have completed. */
bool qp_is_drained(const struct qp *qp);

extern bool traffic_bad, traffic_reclaimed; /* a consumer has caused errors */
void traffic_end(void);                     /* checks all memory at the end */
uint8_t traffic_byte(unsigned who, unsigned message, size_t i);

#endif
