/* SPDX-License-Identifier: MIT */
/*
 * Memory regions, queues and requests of the consumers, and what they check: the order of each queue, one completion for
 * each post, every byte of every message, every byte outside of it.
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
    FILL = 0xee,
    POISON = 0x77, /* what memory that the consumer has taken back holds */
    PIECES = 4,
    MESSAGES = 256,
};

enum use { LOCAL, SOURCE, READABLE_REGION, WRITABLE_REGION, USES };

/* A registered region: guard, REGION bytes, guard. */
struct region {
    struct obj o;
    struct obj *pd;
    enum use use;
    uint8_t *memory;      /* with the guards */
    uint8_t *busy;        /* for each byte: taken by a request */
    uint32_t token;
    bool registered, taken_back;
    uint32_t len;
};

struct cq {
    struct obj o;
    unsigned depth, expected; /* completions that may still come */
    unsigned armed;           /* notifications that may come: a second one where it was armed while one was due */
    unsigned told;            /* notifications that came */
    bool drained, notifying, polling;
    ULONG arm;
};

enum op { SEND, RECEIVE, READ, WRITE };

struct piece {
    struct region *region;
    uint32_t offset, len;
};

struct qp;
struct wr {
    TAILQ_ENTRY(wr) link;
    struct qp *qp;
    enum op op;
    unsigned number, message;
    bool silent, bad, done, taken; /* taken: memory is given back to the allocator by now */
    uint32_t len;
    struct piece pieces[PIECES];
    unsigned piece_count;
    struct piece remote;
};

TAILQ_HEAD(wr_list, wr);

struct qp {
    struct obj o;
    struct obj *pd;
    struct cq *receive_cq, *initiator_cq;
    unsigned receive_depth, initiator_depth, sges, inline_size;
    struct qp *peer;
    bool in_use;          /* by a connector; once connected for ever */
    bool connected;       /* as the consumer knows */
    bool disturbed;       /* flushed, disconnected, closed, lost: from here on anything may be cancelled */
    unsigned reads;       /* the effective outbound limit */
    struct wr_list receives, initiated;
    unsigned posted, flushed; /* numbers of requests; all before `flushed` were there at a flush */
    unsigned sent, received, delivered;
    uint32_t message_len[MESSAGES], message_number[MESSAGES], receive_len[MESSAGES];
    struct wr_list writes; /* completed, but not known to have arrived; linked by link */
};

struct obj *pd_new(unsigned host);
struct cq *cq_new(unsigned host);
struct region *region_new(unsigned host, enum use use);
struct qp *qp_new(unsigned host);
bool qp_is_free(struct obj *o);
void qp_end(struct qp *qp); /* the records of what nobody was told */

/* One attempt each; false: there was no room, or no chance that it could work. */
bool post_receive(struct qp *qp);
bool post_send(struct qp *qp, uint32_t most);
bool post_read(struct qp *qp);
bool post_write(struct qp *qp);
/* Something that the peer, or the provider, must refuse. */
void post_bad(struct qp *qp);
/* A post where no connection is. */
void post_early(struct qp *qp);
void qp_flush(struct qp *qp);

void cq_poll(struct cq *cq);
void cq_drain(struct cq *cq); /* until it is empty */
void cq_arm(struct cq *cq);
void cq_resize(struct cq *cq);
void cq_check_quiet(void);    /* nothing is running: an armed queue has nothing to tell */
void region_deregister(struct region *r);
struct region *region_around(const void *memory);
/* The queue pair's requests before `number` have all completed: nothing of them is left. */
void qp_check_completed(struct qp *qp, unsigned number, const char *after);
void qp_check_flushed(void); /* nothing is running: so what was there at a flush has completed */
/* All sends have been delivered, and nothing of what was initiated is left. */
bool qp_is_drained(const struct qp *qp);

extern bool traffic_bad, traffic_taken_back; /* somebody has provoked errors */
void traffic_end(void); /* the last look at all memory */
uint8_t traffic_byte(unsigned who, unsigned message, size_t i);

#endif
