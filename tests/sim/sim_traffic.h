/* SPDX-License-Identifier: MIT */
/*
 * Memory, queues and requests of the consumers, and what they check: the order of each queue, one completion for each
 * post, every byte of every message, every byte outside of it, and that a token works as long as it is to work.
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
    POISON = 0x77, /* what memory holds that the consumer has taken back, or not registered */
    PIECES = 4,
    MESSAGES = 256,
    SHARED_LENGTH = 200, /* the longest message to a shared receive queue */
    SHARED_MOST = 24,    /* the most receives in one of which the consumer does not know that they were used */
};

/* The purpose of a token. BEHIND: for local use, and for windows, through which alone peers get access. */
enum use { LOCAL, SOURCE, READABLE_REGION, WRITABLE_REGION, BEHIND, USES };

enum grant_state {
    GRANT_ASKED,  /* the request that makes it has been posted */
    GRANT_ALIVE,
    GRANT_ENDING, /* what ends it is under way: nobody begins to use it */
    GRANT_DEAD,   /* nothing reaches the memory by it any more */
};

enum user { BY_RECEIVES, BY_REQUESTS, BY_PEER, KINDS_OF_USERS };

struct qp;
struct region;

/*
 * A token while it lasts, which is one registration, one bind, or a logical address mapping. All but ordinary
 * registrations are used with one queue pair alone: who ends one waits for others who touch its memory at that moment,
 * and these must not be outer frames of this one thread.
 */
struct grant {
    struct obj *maker;     /* the region or window */
    struct region *region; /* whose bytes */
    struct grant *under;   /* a window's: of the region */
    struct qp *qp;         /* NULL: any */
    enum use use;
    enum grant_state state;
    unsigned serial;
    uint32_t local, remote; /* tokens; 0: not known yet */
    uint64_t base;          /* the address of the region's first byte */
    uint32_t offset, len;   /* its part of the region */
    unsigned users[KINDS_OF_USERS];
    bool covers;            /* an older one of its maker: an invalidation means that if this one's request fails */
    struct grant *next;
};

/* A logical address mapping of some pages, which the provider writes. */
union mapping {
    NDK_LOGICAL_ADDRESS_MAPPING lam;
    uint64_t room[2 + FAST_PAGES + 1];
};

/*
 * A memory region, or (LAM) memory that is mapped alone. An ordinary one: guard, len bytes, guard. A fast one: pages,
 * of which the registration at hand maps some, in some order; what it leaves out is guard.
 */
struct region {
    struct obj o;
    struct obj *pd;
    enum use use;
    bool fast, remote_too;  /* fast: made by requests; initialised for remote rights */
    uint8_t *memory;
    uint8_t *busy;          /* for each byte: taken by a request */
    struct grant *grant;    /* the latest */
    struct grant *window;   /* the latest on it */
    bool registered, taken_back;
    uint32_t len;
    struct qp *qp;          /* whose a fast one is, until that is closed */
    unsigned order[FAST_PAGES];
    uint32_t first;         /* offset in the first page */
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
    unsigned armed;           /* notifications that may come: a second one where it was armed while one was due */
    unsigned told;            /* notifications that came */
    bool drained, notifying, polling;
    ULONG arm;
    ULONG interval, count;    /* moderation; interval 0: none */
    uint64_t owed_by;         /* a moderated notification has to come, and when; 0: none is known of */
    unsigned owed_told;       /* what told was then */
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
    struct qp *qp;      /* of a shared receive: who used it */
    struct srq *srq;
    enum op op;
    unsigned number, message;
    bool silent, bad, done, taken; /* taken: memory is given back to the allocator by now */
    uint32_t len;
    struct piece pieces[PIECES];
    unsigned piece_count;
    struct piece remote;
    struct grant *makes, *ends, *replaces;
    enum grant_state was; /* what it ends, before */
    uint32_t wrong_token; /* that a bad send names */
};

TAILQ_HEAD(wr_list, wr);

struct qp {
    struct obj o;
    struct obj *pd;
    struct cq *receive_cq, *initiator_cq;
    struct srq *srq;
    unsigned receive_depth, initiator_depth, sges, inline_size;
    struct qp *peer;
    bool in_use;          /* by a connector; once connected for ever */
    bool connected;       /* as far as the consumer has seen */
    bool disturbed;       /* flushed, disconnected, closed, lost: from here on anything may be cancelled */
    bool deferred;        /* the last request may wait for the next one */
    unsigned reads;       /* the effective outbound limit */
    struct wr_list receives, initiated;
    unsigned posted, flushed; /* numbers of requests; all before `flushed` were there at a flush */
    unsigned sent, received, delivered;
    unsigned shared;          /* the latest shared receive that it used, and one */
    uint32_t message_len[MESSAGES], message_number[MESSAGES], receive_len[MESSAGES];
    bool message_bad[MESSAGES];
    struct grant *message_ends[MESSAGES];
    struct wr_list writes; /* completed, but not known to have arrived; linked by link */
};

/* Whether a notification may come, or has to. */
struct arming {
    unsigned armed;   /* how many may come */
    bool certain;     /* one has to, when there are too few */
    bool fresh;       /* armed by the creation: not before a receive is used */
    unsigned threshold;
    unsigned most_threshold, least; /* since it was armed; least: how few receives there may have been */
};

struct srq {
    struct obj o;
    struct obj *pd;
    unsigned depth, sges;
    struct wr_list receives; /* not known to be used */
    unsigned outstanding;    /* how many these are */
    unsigned posted;
    unsigned used;           /* the latest known to be used, and one */
    unsigned told;           /* notifications that came */
    struct arming arming;
    struct qp nobody;        /* whose receives are, until they are used */
};

struct obj *pd_new(unsigned host);
struct cq *cq_new(unsigned host);
struct cq *cq_any(unsigned host, unsigned room); /* one that can take so many more completions, or NULL */
struct region *region_new(unsigned host, enum use use);
struct qp *qp_new(unsigned host);
bool qp_is_free(struct obj *o);
void qp_end(struct qp *qp); /* the records of requests that completed to nobody */

/* One attempt each; false: there was no room, or no chance that it could work. */
bool post_receive(struct qp *qp);
bool post_send(struct qp *qp, uint32_t most);
bool post_read(struct qp *qp);
bool post_write(struct qp *qp);
void post_undeferred(struct qp *qp); /* so that what was deferred goes */
/* Something that the peer, or the provider, must refuse. */
void post_bad(struct qp *qp);
/* A post where no connection is. */
void post_early(struct qp *qp);
void qp_flush(struct qp *qp);

/* sim_regions.c: fast regions, windows and mappings, for the queue pair's host. */
void regions_make(unsigned host);            /* one of these, not registered yet */
void regions_map(struct qp *qp);             /* memory that is mapped alone */
void regions_register(struct qp *qp);
void regions_bind(struct qp *qp);
void regions_invalidate(struct qp *qp, bool rude);
void regions_interrupt(struct region *r);    /* ended in the midst of somebody's work */
void regions_unbind(struct grant *g);        /* it ends: its window does not hold the region any more */

/* sim_wrong.c */
void regions_wrong(struct qp *qp); /* what has to be refused at once */

/* sim_srq.c */
void srq_new(unsigned host);
struct srq *srq_any(struct obj *pd);
bool srq_post(struct srq *s);
void srq_fill(void);          /* all of them */
void srq_modify(unsigned host);
bool srq_has_credit(const struct srq *s); /* a message to it will find a receive */
void srq_sending(struct srq *s);          /* one is queued */
void srq_check_idle(bool orderly_end);

void cq_poll(struct cq *cq);
void cq_drain(struct cq *cq); /* until it is empty */
void cq_arm(struct cq *cq);
void cq_resize(struct cq *cq);
void cq_moderate(struct cq *cq);
void cq_check_idle(void);    /* nothing runs, so an armed queue must have no completion */
void region_deregister(struct region *r);
struct region *region_around(const void *memory);
/* The queue pair's requests before `number` have all completed: nothing of them is left. */
void qp_check_completed(struct qp *qp, unsigned number, const char *after);
void qp_check_flushed(void); /* nothing is running: so what was there at a flush has completed */
/* All sends have been delivered, and nothing of what was initiated is left. */
bool qp_is_drained(const struct qp *qp);

extern bool traffic_bad, traffic_taken_back; /* somebody has provoked errors */
void traffic_end(void); /* the last check of all memory */
uint8_t traffic_byte(unsigned who, unsigned message, size_t i);

#endif
