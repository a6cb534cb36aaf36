/* SPDX-License-Identifier: MIT */
/*
 * The inside of a queue pair, for the files that implement it:
 *
 *   qp.c         creation, the two queues, posting, completion in order, flush and the end of a stream
 *   scratch.c    what the queue pairs of a shard share: staging area, transmit arena, spare buffers
 *   place.c      where a message's bytes are: SGEs and tagged memory to pieces of protected memory
 *   rx.c         bytes to FPDUs to placement
 *   srq.c        receives that several queue pairs share
 *   progress.c   detects a peer that does not finish what it began
 *   tx_plan.c    which message is sent next, and the headers of its next FPDU
 *   tx.c         messages to FPDUs to bytes
 *   local.c      requests that send nothing: fast register, bind, invalidate
 *   reads.c      RDMA read, both directions
 *   terminate.c  Terminate, both directions
 *
 * The initiator queue, from head to tail (positions are never reset; a slot is position & mask):
 *
 *   head                 tx.next                tail
 *    | in flight or done  | queued               |
 *
 * Requests from head to tx.next have been passed to the transport, or carried out. A request that is done stays in the
 * queue while an earlier read is in flight. A request from tx.next on is ENTRY_QUEUED, except for local requests that
 * were carried out when an earlier batch was framed. The invariant: requests complete in order, so if head differs from
 * tx.next, the request at head is the oldest read in flight.
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
    BUFFER_SIZE = 65552,     /* bytes; the largest FPDU has 2 + 65,535 + padding + 4 */
    STAGE_SIZE = 256 * 1024, /* bytes that one receive call stages at most */
    SHORT_STAGE_SIZE = 2048, /* the same if a large FPDU without CRC is expected: its header, and little to copy */
    MIN_LARGE_FPDU = 8192,   /* bytes of an FPDU that counts as large */
    MAX_SHORT_FPDUS = 4,     /* so many short FPDUs in a row end the expectation of a large one */
    MAX_PARTIAL = 128,       /* bytes of an incomplete FPDU that the queue pair stores without a buffer */
    MAX_SMALL_TAIL = 256,    /* the same for the rest of a half-sent FPDU */
    ARENA_SIZE = 800 * 1024, /* bytes for a batch's headers, trailers and copied payload; 12 FPDUs of 64 KiB fit */
    MAX_BATCH_FPDUS = 64,
    MAX_BATCH_BYTES = 1024 * 1024, /* a batch ends with the FPDU that reaches it */
    MIN_EARLY = 24 * 1024,         /* bytes of a message that are sent as a batch of their own, if as many remain */
    MAX_COPY = 512,                /* bytes of a piece of payload that is copied, because an iovec would cost more */
    MAX_SPARE_BUFFERS = 8,         /* in a scratch */
    MAX_SPARE_STAGES = 2,          /* in a scratch, without the one in use */
    MAX_COMPLETIONS = 16,          /* in one upcall */
    TERMINATE_FPDU = IW_TERMINATE_FPDU,
};

enum entry_state {
    ENTRY_QUEUED,
    ENTRY_IN_FLIGHT, /* a read whose request was passed to the transport */
    ENTRY_DONE,      /* completes after the requests ahead of it */
    ENTRY_FAILED,    /* the same, with `status` */
};

struct entry {
    void *context;
    uint64_t remote_to;
    uint32_t remote_stag;
    uint32_t length;    /* of all SGEs */
    uint32_t received;  /* bytes of the received message, or of a read's response; if ENTRY_FAILED: enum wire_error */
    uint32_t sink_stag; /* reads: the STag that the response must have */
    uint32_t stag;      /* local requests: see struct rdma_request; receives: what the send invalidated */
    uint32_t sge_count;
    uint8_t opcode, flags, state, status;
    bool invalidated;       /* receives */
    struct rdma_sge sges[]; /* with RDMA_FLAG_INLINE the data itself */
};

struct queue {
    struct spin lock; /* serialises posters, guards `open`; a poster's unlock is its last access to the queue pair */
    bool open;        /* posts are accepted */
    atomic_bool deferred; /* a request was posted with RDMA_FLAG_DEFER, and iw_qp_ring not called since */
    uint32_t depth, mask, max_sges, inline_size;
    size_t stride;
    uint8_t *slots;
    _Atomic uint32_t tail;       /* written by posters, with the lock held */
    _Atomic uint64_t read_bytes; /* that the posted reads request; written as tail is */
    uint8_t pad_tail[60];        /* head and tail never share a cache line, whatever the structure's alignment */
    _Atomic uint32_t head;       /* written by the owner */
    uint8_t pad_head[60];
};

enum tx_kind { TX_NONE, TX_REQUEST, TX_RESPONSE, TX_RTR };

/* The position of sending. A batch advances a copy, and stores the state after each of its FPDUs. */
struct tx_state {
    uint8_t kind;       /* enum tx_kind: the message in progress */
    uint8_t rtr;        /* enum mpa_rtr: the ready-to-receive message that is still to be sent */
    bool response_turn; /* a response goes before a request: they alternate, message by message */
    bool rtr_read;      /* the ready-to-receive read is in flight; it is the oldest of the reads */
    uint32_t next;      /* the position of the request in progress, or of the next one */
    uint32_t response;  /* the position of the response in progress, or of the next one */
    uint32_t offset;    /* bytes of the message in progress that are framed */
    uint32_t send_msn, read_msn;
    uint32_t reads; /* in flight */
    uint32_t sinks; /* the number of sink STags made so far */
};

/* The rest of an FPDU of which the transport took only a part. A private copy, so that nothing can change it. */
struct tx_tail {
    uint8_t *bytes; /* small, or buffer */
    uint32_t sent, len;
    uint8_t *buffer;
    uint8_t small[MAX_SMALL_TAIL];
};

/* An FPDU whose payload is being placed, or was staged whole. */
struct rx_segment {
    struct ddp_header header;
    uint32_t ulpdu;
    uint32_t payload, placed;
    uint32_t trailer;            /* bytes of padding and CRC that have not arrived yet */
    uint8_t raw[DDP_MAX_HEADER]; /* the header as received, for a Terminate */
};

struct rx_state {
    bool open;
    bool has_begun;        /* a valid FPDU has arrived */
    bool write_open;       /* the last segment of a write has not arrived */
    bool direct;           /* `segment` is in progress: its payload goes directly to its destination */
    uint8_t expects_large; /* not 0: a large FPDU is probably next; counts down with each short FPDU */
    uint32_t send_msn, read_msn;
    uint32_t mo;             /* bytes of the send in progress that are placed */
    uint32_t partial_len;    /* bytes that have arrived of an incomplete FPDU */
    uint32_t partial_size;   /* its size, if it is in partial_buffer */
    uint8_t *partial_buffer; /* or NULL: the incomplete FPDU is in partial_small */
    uint64_t limit;          /* the turn ends when fpdus_received reaches it */
    uint8_t *staged;         /* a staging area with bytes that the last turn did not process, or NULL */
    uint32_t staged_at, staged_len;
    uint8_t partial_small[MAX_PARTIAL];
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
    struct iw_srq *srq; /* or NULL; the owner moves one receive at a time from it to rq */
    void *owner, *qp_context;
    uint64_t secret;
    uint32_t sink_base;

    bool running;    /* a stream was started, and has neither ended nor been stopped */
    enum iw_end end; /* while the end of the stream completes requests; otherwise IW_END_NONE */
    bool crc, awaits_first_fpdu;
    uint16_t ird, ord;         /* of the stream */
    uint16_t max_ird, max_ord; /* of the queue pair */
    uint32_t max_ulpdu;
    uint32_t rtr_sink;
    struct rdmap_read_request *inbound; /* the peer's; a ring with tx.response as its head */
    uint32_t inbound_mask, inbound_tail;

    uint32_t terminate_len, terminate_sent;
    uint8_t terminate[TERMINATE_FPDU];

    _Atomic uint64_t fpdus_sent, fpdus_received, bytes_sent, bytes_received; /* written by the owner */
    _Atomic uint64_t messages[IW_MESSAGES];                                  /* the same */
};

/* Pieces of protected memory. */
struct pieces {
    unsigned count;
    uint32_t length;
    bool caches; /* pieces_set_caching */
    struct mem_cached cached;
    struct iovec iov[IW_MAX_IOV];
    struct mem_ref refs[IW_MAX_IOV];
};

/* An FPDU of a batch. */
struct tx_fpdu {
    size_t end;            /* the bytes of the batch's FPDUs up to and including this one */
    struct tx_state after; /* the state when it has been sent */
};

struct tx_batch {
    struct tx_state state;
    uint32_t tail; /* of the queue when the batch began; later requests come with the next doorbell */
    unsigned fpdu_count, iov_count, iov_limit, ref_count;
    size_t bytes;        /* of the FPDUs */
    bool begins_message; /* the first FPDU begins a message, and no rest of a half-sent one precedes it */
    size_t ahead_len;    /* bytes ahead of the FPDUs: the rest of a half-sent one, a Terminate */
    size_t arena_used;
    uint32_t max_ulpdu;
    uint8_t *source; /* the rest of the current SGE, or of the current piece of memory */
    uint32_t source_len;
    struct mem_cached cached; /* protects it */
    bool cached_is_listed; /* iov references the cached region, so its protection moves to ref for the batch's length */
    bool is_summed;        /* the current FPDU's CRC is computed while its payload is copied; sum: so far */
    uint32_t sum;
    bool is_complete;      /* everything that can be sent now is framed */
    enum wire_error error; /* of the lookup that failed */
    struct tx_fpdu fpdu[MAX_BATCH_FPDUS];
    struct iovec iov[IW_MAX_IOV];
    struct mem_ref ref[IW_MAX_IOV];
};

struct iw_scratch {
    uint8_t *stage; /* room for MAX_PARTIAL bytes of an incomplete FPDU, then STAGE_SIZE bytes */
    unsigned spare_stage_count;
    uint8_t *spare_stage[MAX_SPARE_STAGES];
    uint8_t *arena;
    unsigned spare_count;
    uint8_t *spare[MAX_SPARE_BUFFERS];
    struct pieces pieces;
    size_t rx_before_stage; /* bytes ahead of the stage in the last rx_want: direct, or into the incomplete FPDU */
    struct tx_batch batch;
};

/* scratch.c */
/* Makes sure that the next scratch_alloc_buffer succeeds. Returns false if out of memory. */
bool scratch_reserve_buffer(struct iw_scratch *s);
uint8_t *scratch_alloc_buffer(struct iw_scratch *s);             /* BUFFER_SIZE bytes, or NULL if out of memory */
void scratch_free_buffer(struct iw_scratch *s, uint8_t *buffer); /* NULL is allowed */
/* Replaces s->stage; the caller now owns the old one. Returns false if out of memory, and changes nothing then. */
bool scratch_replace_stage(struct iw_scratch *s);
void scratch_free_stage(struct iw_scratch *s, uint8_t *stage);

/* qp.c */
static inline struct entry *queue_at(const struct queue *q, uint32_t position)
{
    return (struct entry *)(void *)(q->slots + (size_t)(position & q->mask) * q->stride);
}

/* Loads a slot into the cache. In a long queue, the next slot was last used one round ago. */
static inline void queue_prefetch(const struct queue *q, uint32_t position)
{
    const char *slot = (const char *)queue_at(q, position);

    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64);
}

static inline uint32_t queue_head(const struct queue *q)
{
    return atomic_load_explicit(&q->head, memory_order_relaxed); /* called and written by the owner */
}

static inline uint32_t queue_tail(const struct queue *q)
{
    return atomic_load_explicit(&q->tail, memory_order_acquire);
}

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Counts a message. A load and a store, because the owner alone writes, once or twice for each message. */
static inline void message_count(struct iw_qp *qp, enum iw_message which)
{
    uint64_t n = atomic_load_explicit(&qp->messages[which], memory_order_relaxed);

    atomic_store_explicit(&qp->messages[which], n + 1, memory_order_relaxed);
}

void queue_set_open(struct queue *q, bool open); /* whether posts are accepted */
/* Completes the oldest request. solicited: the send requested a solicited event. */
void queue_complete(struct iw_qp *qp, struct queue *q, enum rdma_status status, enum wire_error error, bool solicited);
void requests_complete(struct iw_qp *qp); /* the initiator requests at the head that are done or failed */
void entry_fail(struct entry *e, enum rdma_status status, enum wire_error error);
/* Copies the request's SGEs to the entry. Returns false if they do not have `length` bytes any more. */
bool entry_copy_sges(struct entry *e, const struct rdma_request *r, uint32_t length);
/* Calls `ended`, closes the stream, and completes everything outstanding. Does nothing if no stream runs. */
void stream_end(struct iw_qp *qp, enum iw_end why, enum wire_error error);

/* place.c */
void pieces_release(struct pieces *p);
/*
 * Begins or ends caching. While it is on, the region of the last first piece stays protected, so that the next message
 * of the same queue pair may find its destination without a lookup.
 */
void pieces_set_caching(struct pieces *p, bool caches);
/* Adds the memory of bytes [offset, offset + len) of a request, as far as max pieces suffice, to p and p->length. */
enum wire_error pieces_add_entry(const struct iw_qp *qp, struct pieces *p, const struct entry *e, uint32_t offset,
                                 uint32_t len, unsigned access, unsigned max);
/* Adds memory that the peer names, in the same way. */
enum wire_error pieces_add_region(const struct iw_qp *qp, struct pieces *p, uint32_t stag, uint64_t to, uint32_t len,
                                  unsigned access, unsigned max);
/* Returns the SGE that contains the byte `offset`, which must be less than the length, and its offset in the SGE. */
const struct rdma_sge *entry_find_sge(const struct entry *e, uint32_t offset, uint32_t *within);
/* Checks all SGEs. posted: by a post, so that registrations that earlier requests have prepared are valid. */
enum wire_error sges_check(const struct iw_qp *qp, const struct rdma_sge *sges, uint32_t count, unsigned access,
                           bool posted);

/* reads.c */
uint32_t reads_sink(const struct iw_qp *qp, uint32_t n); /* the n-th sink STag */
struct entry *reads_oldest(const struct iw_qp *qp);      /* NULL: none is in flight, or the ready-to-receive read */
enum wire_error reads_check_response(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
void reads_finish_response(struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_check_request(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_accept(struct iw_qp *qp, const uint8_t *payload);
/* Ends the stream with a Terminate for the Read Request at this position, when its response is due. */
void reads_refuse(struct iw_qp *qp, uint32_t response, enum wire_error error);

/* srq.c */
uint32_t srq_sges(const struct iw_srq *srq);
/*
 * If h begins a send, moves a receive from the shared receive queue, if there is one, to rq. To be called before h is
 * validated.
 */
void srq_supply(struct iw_qp *qp, const struct ddp_header *h);

/* terminate.c */
/*
 * Queues a Terminate about a segment of ulpdu_len bytes, of which the first len are at ulpdu. ulpdu NULL: about no
 * segment.
 */
void terminate_queue(struct iw_qp *qp, enum wire_error error, const uint8_t *ulpdu, size_t len, uint32_t ulpdu_len);
void terminate_received(struct iw_qp *qp, const uint8_t *payload, uint32_t len);

/* local.c */
static inline bool entry_is_local(const struct entry *e)
{
    return e->opcode >= RDMA_OP_FAST_REGISTER;
}

/*
 * Carries out a local request. Returns true if it is done or failed. alone: the batch is empty, so the caller protects
 * no memory. Without `alone`, changes nothing and returns false if the request would end a registration, because that
 * waits until no thread protects it.
 */
bool local_carry_out(struct iw_qp *qp, struct entry *e, bool alone);
void local_discard(struct iw_qp *qp, const struct entry *e); /* for a request that is flushed */

/* tx.c */
void tx_drop_tail(struct iw_qp *qp);
/* Completes an FPDU around the ULPDU at bytes + MPA_FPDU_LENGTH. Returns the FPDU's size. */
size_t fpdu_finish(bool crc, uint8_t *bytes, size_t ulpdu);

#endif
