/* SPDX-License-Identifier: MIT */
/*
 * Abstract: the inside of a queue pair, for the files that make it up.
 *
 *   qp.c         creation, the two queues, posting, completion order, flush and the end of a stream
 *   scratch.c    what the queue pairs of a shard share: staging, transmit arena, spare buffers
 *   place.c      where the octets of a message are: SGEs and tagged memory to pieces of protected memory
 *   rx.c         bytes to FPDUs to placement
 *   srq.c        receives that several queue pairs share
 *   progress.c   what the peer has begun and not finished
 *   tx.c         messages to FPDUs to bytes
 *   local.c      requests that send nothing: fast register, bind, invalidate
 *   reads.c      RDMA read, both directions
 *   terminate.c  Terminate, both directions
 *
 * The initiator queue, from head to tail (positions count up for ever; a slot is position & mask):
 *
 *   head                 tx.next                tail
 *    | in flight, done... | (being framed) queued |
 *
 * Between head and tx.next everything has been handed over to the transport, or carried out. Done ones wait only for an
 * earlier read. A local request beyond tx.next that is not ENTRY_QUEUED was carried out while the batch was framed.
 * So, as completion is in order, the request at head is the oldest read in flight, whenever head != tx.next.
 */
#ifndef IWARP_QP_INTERNAL_H
#define IWARP_QP_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/spin.h"
#include "iwarp/memory.h"
#include "iwarp/qp.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/terminate.h"

enum {
    BUFFER_SIZE = 65552,     /* holds the largest FPDU: 2 + 65,535 + padding + 4 */
    STAGE_SIZE = 256 * 1024, /* most that one receive call brings, beside what goes to its destination directly */
    STAGE_SHORT = 2048,      /* the same behind a large FPDU without CRC: the next one's header, little to be copied */
    SHORT_FPDU = 8192,       /* FPDUs of at least this size count as large */
    FEW_SHORT = 4,           /* so many behind a large one may be its message's last: more large ones are expected */
    RX_KEEP = 128,           /* incomplete FPDUs up to this size live in the queue pair, larger ones in a buffer */
    TAIL_SMALL = 256,        /* the same for what is left of a half-sent FPDU */
    ARENA_SIZE = 800 * 1024, /* headers, trailers, and payload that is copied, of one batch: twelve of 64 KiB */
    BATCH_FPDUS = 64,
    BATCH_OCTETS = 1024 * 1024,
    EARLY = 24 * 1024,       /* octets that leave by themselves where as many more of their message follow */
    COPY_BELOW = 512,        /* pieces of payload up to this are cheaper to copy than to list */
    SPARES = 8,              /* buffers that a scratch keeps */
    SPARE_STAGES = 2,        /* staging areas that a scratch keeps beside the one in use */
    COMPLETIONS = 16,        /* told of in one upcall */
    TERMINATE_FPDU = IW_TERMINATE_FPDU,
};

enum entry_state {
    ENTRY_QUEUED,
    ENTRY_IN_FLIGHT, /* a read whose request was handed over */
    ENTRY_DONE,      /* waits only for its turn to complete */
    ENTRY_FAILED,    /* likewise, with a status of its own */
};

struct entry {
    void *context;
    uint64_t remote_to;
    uint32_t remote_stag;
    uint32_t length;    /* all SGEs together */
    uint32_t received;  /* reads: octets of the response that are placed; what failed: enum wire_error */
    uint32_t sink_stag; /* reads: what the response has to name */
    uint32_t stag;      /* local requests: see struct rdma_request; receives: what the send invalidated */
    uint32_t sge_count;
    uint8_t opcode, flags, state, status;
    bool invalidated;   /* receives */
    struct rdma_sge sges[]; /* with RDMA_FLAG_INLINE the data itself */
};

struct queue {
    struct spin lock; /* posters among each other, and `open`; a poster's last touch of the queue pair */
    bool open;
    atomic_bool deferred;   /* RDMA_FLAG_DEFER, and nothing has rung since */
    uint32_t depth, mask, max_sges, inline_size;
    size_t stride;
    uint8_t *slots;
    _Atomic uint32_t tail;  /* written by posters, under the lock, as is: */
    _Atomic uint64_t read_bytes; /* that the posted reads ask for */
    uint8_t apart[60];      /* so that the two share no cache line, wherever that begins */
    _Atomic uint32_t head;  /* written by the owner */
    uint8_t from_next[60];
};

enum tx_kind { TX_NONE, TX_REQUEST, TX_RESPONSE, TX_RTR };

/* How far sending has come. A batch works on a copy, and each of its FPDUs has the state that follows it. */
struct tx_state {
    uint8_t kind;       /* enum tx_kind: the message in progress */
    uint8_t rtr;        /* enum mpa_rtr: still to be sent */
    bool response_turn; /* requests and responses alternate, message by message */
    bool rtr_read;      /* the ready-to-receive read waits for its response: it is the oldest of reads */
    uint32_t next;      /* position of the request in progress, or the next */
    uint32_t response;  /* position of the response in progress, or the next */
    uint32_t offset;    /* octets of the message in progress that are framed */
    uint32_t send_msn, read_msn;
    uint32_t reads;     /* in flight */
    uint32_t sinks;     /* sink STags made */
};

/* What is left of an FPDU that the transport took only a part of: private bytes, so nothing can tear it any more. */
struct tx_tail {
    uint8_t *bytes; /* small, or buffer */
    uint32_t sent, len;
    uint8_t *buffer;
    uint8_t small[TAIL_SMALL];
};

/* An FPDU whose payload is being placed, or was staged whole. */
struct rx_segment {
    struct ddp_header header;
    uint32_t ulpdu;
    uint32_t payload, placed;
    uint32_t trailer; /* octets of padding and CRC that have not come yet */
    uint8_t raw[DDP_MAX_HEADER];
};

struct rx_state {
    bool open;
    bool seen;       /* a valid FPDU has arrived */
    bool write_open; /* a write whose last segment has not arrived */
    bool direct;     /* segment is in progress: payload goes straight to its destination */
    uint8_t large;   /* a large FPDU was among the last few: of so many more small ones it is still thought of */
    uint32_t send_msn, read_msn;
    uint32_t mo;     /* octets of the send in progress that are placed */
    uint32_t kept, kept_size; /* an incomplete FPDU; kept_size: all of it, where it lives in buffer */
    uint8_t *buffer;
    uint64_t limit;  /* of fpdus_received: where this turn ends */
    uint8_t *rest;   /* a staging area that was not processed to its end in the last turn, or NULL */
    uint32_t rest_at, rest_len;
    uint8_t keep[RX_KEEP];
    struct rx_segment segment;
};

struct iw_qp {
    struct queue sq, rq;
    struct tx_state tx;
    struct rx_state rx;
    struct tx_tail tail;
    const struct iw_qp_events *events;
    struct mem_table *memory;
    const void *domain;
    struct iw_srq *srq; /* or NULL; rq is then filled from it, one at a time, by the owner */
    void *owner, *qp_context;
    uint64_t secret;
    uint32_t sink_base;

    bool running;  /* started, and neither ended nor stopped */
    enum iw_end end; /* while what it leaves behind is completed */
    bool crc, awaits_first_fpdu;
    uint16_t ird, ord, max_ird, max_ord; /* in force; most */
    uint32_t max_ulpdu;
    uint32_t rtr_sink;
    struct rdmap_read_request *inbound; /* the peer's; a ring, behind those of the queues; tx.response is its head */
    uint32_t inbound_mask, inbound_tail;

    uint32_t terminate_len, terminate_sent;
    uint8_t terminate[TERMINATE_FPDU];

    _Atomic uint64_t fpdus_sent, fpdus_received, octets_sent, octets_received; /* the owner alone writes */
};

/* Protected memory, piece by piece. */
struct pieces {
    unsigned count;
    uint32_t length;
    bool keeps;           /* hold is in use: what was read at once is being placed */
    struct mem_cached cached;
    struct iovec iov[IW_IOV_MAX];
    struct mem_ref refs[IW_IOV_MAX];
};

/* An FPDU of the batch at hand: where it ends, and the state behind it. */
struct tx_fpdu {
    size_t end;
    struct tx_state after;
};

struct tx_batch {
    struct tx_state state;
    uint32_t tail;        /* what is posted from here on comes with the next doorbell, so that filling ends */
    unsigned fpdus, count, limit, refs;
    size_t octets;        /* in FPDUs */
    bool fresh;           /* it begins where a message does */
    size_t first;         /* octets ahead of them: the rest of a half-sent one, a Terminate */
    size_t arena_used;
    uint32_t max_ulpdu;
    uint8_t *window;      /* the rest of the SGE or source at hand */
    uint32_t window_left;
    struct mem_cached cached; /* protects it */
    bool listed;          /* iov names a part of that: the protection has to last, and moves to ref */
    bool summed;          /* the FPDU at hand is summed while it is copied: so far it comes to sum */
    uint32_t sum;
    bool all;             /* nothing was left to be framed */
    enum wire_error error; /* of the lookup that failed */
    struct tx_fpdu fpdu[BATCH_FPDUS];
    struct iovec iov[IW_IOV_MAX];
    struct mem_ref ref[IW_IOV_MAX];
};

struct iw_scratch {
    uint8_t *stage; /* RX_KEEP octets of what was kept, then STAGE_SIZE */
    unsigned spare_stages;
    uint8_t *spare_stage[SPARE_STAGES];
    uint8_t *arena;
    unsigned spares;
    uint8_t *spare[SPARES];
    struct pieces pieces;
    size_t rx_first; /* octets of the first part of the last rx_want: direct, or to the kept FPDU */
    struct tx_batch batch;
};

/* scratch.c */
bool scratch_reserve(struct iw_scratch *s); /* there is a spare buffer */
uint8_t *scratch_take(struct iw_scratch *s); /* NULL: no memory; never after a successful reserve */
void scratch_give(struct iw_scratch *s, uint8_t *buffer);
bool scratch_replace_stage(struct iw_scratch *s); /* the caller takes over s->stage. False: no memory, all is as before */
void scratch_give_stage(struct iw_scratch *s, uint8_t *stage);

/* qp.c */
static inline struct entry *queue_at(const struct queue *q, uint32_t position)
{
    return (struct entry *)(void *)(q->slots + (size_t)(position & q->mask) * q->stride);
}

/* A long queue's next entry was last touched a whole round ago: it is to be near by the time that it is needed. */
static inline void queue_fetch(const struct queue *q, uint32_t position)
{
    const char *slot = (const char *)queue_at(q, position);

    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64);
}

static inline uint32_t queue_head(const struct queue *q)
{
    return atomic_load_explicit(&q->head, memory_order_relaxed); /* the owner's own */
}

static inline uint32_t queue_tail(const struct queue *q)
{
    return atomic_load_explicit(&q->tail, memory_order_acquire);
}

static inline void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* The oldest request completes with its status; solicited as the send said. */
void queue_open(struct queue *q, bool open); /* to posts */
void queue_complete(struct iw_qp *qp, struct queue *q, enum rdma_status status, enum wire_error error, bool solicited);
void requests_complete(struct iw_qp *qp); /* those at the head that are done */
void entry_fail(struct entry *e, enum rdma_status status, enum wire_error error);
/* The stream is over: `ended`, and everything outstanding has completed (failed ones as they failed): see qp.h. */
void stream_end(struct iw_qp *qp, enum iw_end why, enum wire_error error);

/* place.c */
void pieces_release(struct pieces *p);
/*
 * Between true and false, of one queue pair, the region of the first piece stays protected until another one's turn
 * comes, so that the next message finds it so.
 */
void pieces_keep(struct pieces *p, bool keeps);
/* Adds the memory of octets [offset, offset + len) of a request, as much as fits into max pieces; p->length grows. */
enum wire_error pieces_of_entry(const struct iw_qp *qp, struct pieces *p, const struct entry *e, uint32_t offset,
                                uint32_t len, unsigned access, unsigned max);
/* The same of what a peer names. */
enum wire_error pieces_of_region(const struct iw_qp *qp, struct pieces *p, uint32_t stag, uint64_t to, uint32_t len,
                                 unsigned access, unsigned max);
/* The SGE that holds octet offset (less than the length), and where in it. */
const struct rdma_sge *entry_sge(const struct entry *e, uint32_t offset, uint32_t *within);
/* posted: by a post, which may name what requests ahead of it are going to register. */
enum wire_error entry_check(const struct iw_qp *qp, const struct rdma_sge *sges, uint32_t count, unsigned access,
                            bool posted);

/* reads.c */
uint32_t reads_sink(const struct iw_qp *qp, uint32_t n); /* the n-th sink STag */
struct entry *reads_oldest(const struct iw_qp *qp);      /* NULL: none in flight, or the ready-to-receive one */
enum wire_error reads_check_response(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
void reads_finish_response(struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_check_request(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_accept(struct iw_qp *qp, const uint8_t *payload);
void reads_refuse(struct iw_qp *qp, uint32_t response, enum wire_error error); /* at that position, at its turn */

/* srq.c */
uint32_t srq_sges(const struct iw_srq *srq);
/* Where h begins a message, its receive comes from the shared queue, if there is one; judging it comes next. */
void srq_supply(struct iw_qp *qp, const struct ddp_header *h);

/* terminate.c */
/* Queues the Terminate for a ULPDU (NULL: about none) of which the first len octets are there. */
void terminate_queue(struct iw_qp *qp, enum wire_error error, const uint8_t *ulpdu, size_t len, uint32_t ulpdu_len);
void terminate_received(struct iw_qp *qp, const uint8_t *payload, uint32_t len);

/* local.c */
static inline bool entry_is_local(const struct entry *e)
{
    return e->opcode >= RDMA_OP_FAST_REGISTER;
}

/*
 * True: it is done or failed. False, unless alone: it would take memory out of use. That waits for whoever touches it,
 * and nobody who holds protection may wait: so it is carried out when nothing is framed (alone).
 */
bool local_carry_out(struct iw_qp *qp, struct entry *e, bool alone);
void local_discard(struct iw_qp *qp, const struct entry *e); /* its turn never came */

/* tx.c */
void tx_drop_tail(struct iw_qp *qp);
/* An FPDU around what is at bytes + MPA_FPDU_LENGTH; returns its size. */
size_t fpdu_seal(bool crc, uint8_t *bytes, size_t ulpdu);

#endif
