/* SPDX-License-Identifier: MIT */
/*
 * The inside of a queue pair, for the files that implement it:
 *
 *   qp.c         creation, the two queues, posting, completion in order, flush and the end of a stream
 *   scratch.c    what the queue pairs of a shard share: staging area, transmit arena, spare buffers
 *   place.c      finds and protects the memory of a message's bytes
 *   rx.c         receiving: divides bytes into FPDUs, and places their payload
 *   srq.c        receives that several queue pairs share
 *   progress.c   detects a peer that does not finish what it began
 *   tx_plan.c    chooses the message that is sent next, and plans the headers of its next FPDU
 *   tx.c         sending: divides messages into FPDUs
 *   tx_commit.c  sending: commits what the transport has taken
 *   local.c      local requests, which send nothing: fast register, bind, invalidate
 *   reads.c      RDMA read, both directions
 *   terminate.c  Terminate, both directions
 *
 * The initiator queue, from head to tail (positions are never reset; position & mask is the slot's index):
 *
 *   head                 tx.next                tail
 *    | in flight or done  | queued               |
 *
 * Requests from head to tx.next have been passed to the transport, or carried out. A request other than a read is done
 * when the transport has taken it, so only reads are in flight. A request that is done stays in the queue while an
 * earlier read is in flight. The requests from tx.next to tail are ENTRY_QUEUED, except for local requests that were
 * carried out when an earlier batch was framed. The invariant: if head differs from tx.next, the request at head is the
 * oldest read in flight, because requests complete in order.
 *
 * A lookup protects memory until the lookup is released (memory.h). The end of a registration waits for the release.
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
    STAGE_SIZE = 256 * 1024, /* the most bytes that one receive call stages */
    SHORT_STAGE_SIZE = 2048, /* replaces STAGE_SIZE for a large FPDU without CRC, so that less of it is copied */
    MIN_LARGE_FPDU = 8192,   /* bytes; an FPDU of at least this size counts as large */
    MAX_SHORT_FPDUS = 4,     /* after so many short FPDUs in a row, no large FPDU is expected */
    MAX_PARTIAL = 128,       /* room in the queue pair for the bytes of an incomplete FPDU */
    MAX_SMALL_REST = 256,    /* room in the queue pair for the rest of a half-sent FPDU */
    ARENA_SIZE = 800 * 1024, /* bytes for a batch's headers, trailers and copied payload; 12 FPDUs of 64 KiB fit */
    MAX_BATCH_FPDUS = 64,
    MAX_BATCH_BYTES = 1024 * 1024, /* bytes; a batch that has reached this size gets no further FPDU */
    /* A message's first batch ends at MIN_EARLY bytes if at least MIN_EARLY bytes of the message remain. */
    MIN_EARLY = 24 * 1024,
    MAX_COPY = 512,        /* a piece of payload up to this size is copied, because an iovec entry would cost more */
    MAX_SPARE_BUFFERS = 8, /* maximum number of free buffers in a scratch */
    MAX_SPARE_STAGES = 2,  /* maximum number of stages in a scratch in addition to the stage in use */
    MAX_COMPLETIONS = 16,  /* maximum number of completions in one upcall */
    TERMINATE_FPDU = IW_TERMINATE_FPDU,
};

enum entry_state {
    ENTRY_QUEUED,
    ENTRY_IN_FLIGHT, /* a read whose request was passed to the transport */
    ENTRY_DONE,      /* waits for the completion of the requests ahead of it */
    ENTRY_FAILED,    /* waits like ENTRY_DONE, then completes with `status` */
};

struct entry {
    void *context;
    uint64_t remote_to;
    uint32_t remote_stag;
    uint32_t length;    /* the sum of the SGEs' lengths */
    uint32_t received;  /* how many bytes of the message or response have arrived; in ENTRY_FAILED: enum wire_error */
    uint32_t sink_stag; /* reads: the STag that the response must have */
    uint32_t stag;      /* in a local request: rdma_request.token; in a receive: the STag that the send invalidated */
    uint32_t sge_count;
    uint8_t opcode, flags, state, status;
    bool invalidated;       /* in a receive: the peer's send has invalidated `stag` */
    struct rdma_sge sges[]; /* with RDMA_FLAG_INLINE: contains the data itself */
};

struct queue {
    struct spin lock;     /* held by each post; guards `open`; a post does not access the queue pair after its unlock */
    bool open;            /* posts are accepted */
    atomic_bool deferred; /* a request was posted with RDMA_FLAG_DEFER since the last iw_qp_clear_deferred */
    uint32_t depth, mask, max_sges, inline_size;
    size_t stride;
    uint8_t *slots;
    _Atomic uint32_t tail;       /* written by posts, with the lock held */
    _Atomic uint64_t read_bytes; /* the sum of the lengths of all posted reads; written like `tail` */
    uint8_t pad_tail[60];  /* keeps head and tail in different cache lines, even if the structure is not aligned */
    _Atomic uint32_t head; /* written by the owner */
    uint8_t pad_head[60];
};

enum tx_kind { TX_NONE, TX_REQUEST, TX_RESPONSE, TX_RTR };

/*
 * The state of sending. A batch advances a copy of this state. For each FPDU of the batch, tx_fpdu.after is the state
 * that becomes valid when the FPDU has been sent.
 */
struct tx_state {
    uint8_t kind;       /* enum tx_kind: the message in progress */
    uint8_t rtr;        /* enum mpa_rtr: the ready-to-receive message that is still to be sent */
    bool response_turn; /* the next response precedes the next request; set after a request, cleared after a response */
    bool rtr_read;      /* the ready-to-receive read is in flight, as the oldest of the reads */
    uint32_t next;      /* the position of the request in progress, or of the next request */
    uint32_t response;  /* the position of the response in progress, or of the next response */
    uint32_t offset;    /* bytes of the message in progress that are already framed */
    uint32_t send_msn, read_msn;
    uint32_t reads; /* the number of reads in flight */
    uint32_t sinks; /* the number of sink STags made so far */
};

/* A private copy of the rest of a half-sent FPDU. Nothing can change the copy. */
struct tx_rest {
    uint8_t *bytes; /* points to `small` or to `buffer` */
    uint32_t sent, len;
    uint8_t *buffer;
    uint8_t small[MAX_SMALL_REST];
};

/* The FPDU that is being received. Its payload is placed as it arrives, or after the whole FPDU was buffered. */
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
    bool direct;           /* the payload of `segment`, which is in progress, goes directly to its destination */
    bool needs_whole;      /* payload is not placed before its FPDU is whole, because of its CRC or a report */
    uint8_t expects_large; /* not 0: the next FPDU is probably large; each short FPDU decrements the value */
    uint32_t send_msn, read_msn;
    uint32_t mo;             /* bytes of the send in progress that have been placed */
    uint32_t partial_len;    /* bytes of an incomplete FPDU that have arrived */
    uint32_t partial_size;   /* the size that the FPDU in partial_buffer will have */
    uint8_t *partial_buffer; /* contains the incomplete FPDU; NULL: partial_small contains it */
    uint64_t limit;          /* the turn ends when fpdus_received reaches this value */
    uint8_t *staged;         /* a staging area with bytes that the last turn did not process, or NULL */
    uint32_t staged_at, staged_len;
    uint8_t partial_small[MAX_PARTIAL];
    struct rx_segment segment;
};

struct iw_qp {
    struct queue sq, rq;
    struct tx_state tx;
    struct rx_state rx;
    struct tx_rest rest;
    const struct iw_qp_events *events;
    struct mem_table *memory;
    const void *domain;
    struct iw_srq *srq; /* or NULL; the owner moves one receive at a time from this shared queue to rq */
    void *owner, *qp_context;
    uint64_t secret;
    uint32_t sink_base;

    bool running;    /* a stream was started, and has not ended or been stopped */
    enum iw_end end; /* while stream_end completes the requests: why the stream has ended; otherwise IW_END_NONE */
    bool crc, awaits_first_fpdu;
    bool reports_frames;       /* calls events->frame */
    uint32_t max_payload;      /* maximum number of reported payload bytes; control messages are reported whole */
    uint16_t ird, ord;         /* the stream's limits */
    uint16_t max_ird, max_ord; /* the queue pair's limits */
    uint32_t max_ulpdu;
    uint32_t rtr_sink;
    struct rdmap_read_request *inbound; /* the peer's Read Requests: a ring whose head is tx.response */
    uint32_t inbound_mask, inbound_tail;

    uint32_t terminate_len, terminate_sent;
    uint8_t terminate[TERMINATE_FPDU];

    _Atomic uint64_t fpdus_sent, fpdus_received, bytes_sent, bytes_received; /* written by the owner */
    _Atomic uint64_t messages[IW_MESSAGES];                                  /* written by the owner */
    struct request_counts {
        _Atomic uint64_t succeeded, failed, bytes;
    } requests[RDMA_KINDS]; /* see struct rdma_counts; written by the owner */
};

/* Pieces of memory. The memory of iov[i] is protected by refs[i], or by `cached` if refs[i].region is NULL. */
struct pieces {
    unsigned count;
    uint32_t length;
    bool caches; /* set by pieces_set_caching; if true, pieces_release leaves `cached` protected */
    struct mem_cached cached;
    struct iovec iov[IW_MAX_IOV];
    struct mem_ref refs[IW_MAX_IOV];
};

/* An FPDU of a batch. */
struct tx_fpdu {
    size_t end;            /* size of the batch's FPDUs up to and including this one, in bytes */
    const uint8_t *begin;  /* points to the FPDU's length field in the arena; the headers follow */
    struct tx_state after; /* the state of sending after this FPDU has been sent */
};

struct tx_batch {
    struct tx_state state;
    uint32_t tail; /* the queue's tail when the batch began; requests posted later are not in the batch */
    unsigned fpdu_count, iov_count, iov_limit, ref_count;
    size_t bytes;        /* the sum of the FPDUs' sizes */
    bool begins_message; /* the first FPDU begins a message, and no rest of a half-sent FPDU precedes it */
    size_t ahead_len;    /* bytes ahead of the FPDUs: the rest of a half-sent FPDU, then a Terminate */
    size_t arena_used;
    uint32_t max_ulpdu;
    uint8_t *source;          /* the next byte to frame; it is in the current SGE or piece of memory */
    uint32_t source_len;      /* the number of bytes from `source` to the end of the SGE or piece */
    struct mem_cached cached; /* protects the memory of `source` */
    bool cached_is_listed;    /* iov points into the cached region, which stays protected until the batch ends */
    bool is_summed;           /* the current FPDU's CRC is computed while its payload is copied */
    uint32_t sum;             /* if is_summed: the CRC of the current FPDU's bytes so far */
    bool is_complete;         /* everything that can be sent now is framed */
    enum wire_error error;    /* the error of the lookup or check that failed */
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
    size_t rx_before_stage; /* bytes of the last rx_want that go to partial_buffer or directly to their destination */
    struct tx_batch batch;
};

/* scratch.c */
/* Makes the next scratch_alloc_buffer succeed. Returns false if out of memory. */
bool scratch_reserve_buffer(struct iw_scratch *s);
uint8_t *scratch_alloc_buffer(struct iw_scratch *s);             /* BUFFER_SIZE bytes, or NULL if out of memory */
void scratch_free_buffer(struct iw_scratch *s, uint8_t *buffer); /* NULL is allowed */
/*
 * Replaces s->stage by a new stage. The caller then owns the old one. If out of memory, changes nothing and returns
 * false.
 */
bool scratch_replace_stage(struct iw_scratch *s);
void scratch_free_stage(struct iw_scratch *s, uint8_t *stage);

/* qp.c */
static inline struct entry *queue_at(const struct queue *q, uint32_t position)
{
    return (struct entry *)(void *)(q->slots + (size_t)(position & q->mask) * q->stride);
}

/* Loads a slot into the processor's cache. In a long queue, a slot may have left the cache since its last use. */
static inline void queue_prefetch(const struct queue *q, uint32_t position)
{
    const char *slot = (const char *)queue_at(q, position);

    __builtin_prefetch(slot);
    __builtin_prefetch(slot + 64);
}

static inline uint32_t queue_head(const struct queue *q)
{
    return atomic_load_explicit(&q->head, memory_order_relaxed); /* only the owner calls this and writes head */
}

static inline uint32_t queue_tail(const struct queue *q)
{
    return atomic_load_explicit(&q->tail, memory_order_acquire);
}

static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Adds to a count that only the owner writes. A load and a store suffice; an atomic addition would cost more. */
static inline void owner_count(_Atomic uint64_t *count, uint64_t n)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void message_count(struct iw_qp *qp, enum iw_message which)
{
    owner_count(&qp->messages[which], 1);
}

void queue_set_open(struct queue *q, bool open); /* accepts or refuses posts from now on */
/* Completes the oldest request. `solicited` means that the peer's send requested a solicited event. */
void queue_complete(struct iw_qp *qp, struct queue *q, enum rdma_status status, enum wire_error error, bool solicited);
void requests_complete(struct iw_qp *qp); /* completes the initiator requests at the head that are done or failed */
void entry_fail(struct entry *e, enum rdma_status status, enum wire_error error);
/* Copies the request's SGEs to the entry. Returns false if the sum of their lengths differs from `length`. */
bool entry_copy_sges(struct entry *e, const struct rdma_request *r, uint32_t length);
/* Calls `ended`, closes the stream, and completes everything outstanding. Does nothing if no stream runs. */
void stream_end(struct iw_qp *qp, enum iw_end why, enum wire_error error);

/* tx_commit.c */
/* Copies the bytes [begin, end) of the batch to `to`. Returns their number. */
size_t tx_batch_copy(const struct tx_batch *b, size_t begin, size_t end, uint8_t *to);

/* frame_report.c */
/*
 * Reports a sent FPDU. The FPDU of a control message is complete at `fpdu`. Any other FPDU has only its headers at
 * `fpdu`, and its payload is read from the batch, in which the FPDU begins at the byte `begin`.
 */
void frame_report_sent(struct iw_qp *qp, struct iw_scratch *s, const uint8_t *fpdu, size_t begin);
void frame_report_received_now(struct iw_qp *qp, enum iw_frame_crc crc, const uint8_t *bytes, size_t len,
                               uint32_t ulpdu);
/* Reports a received FPDU. The first `len` bytes of the ULPDU are at `bytes`. */
static inline void frame_report_received(struct iw_qp *qp, enum iw_frame_crc crc, const uint8_t *bytes, size_t len,
                                         uint32_t ulpdu)
{
    if (__builtin_expect(qp->reports_frames, 0))
        frame_report_received_now(qp, crc, bytes, len, ulpdu);
}

/* place.c */
void pieces_release(struct pieces *p);
/*
 * Begins or ends caching of a region. While caching is on, the region of the first piece stays protected after
 * pieces_release. So the next message of the queue pair may find its destination without a lookup.
 */
void pieces_set_caching(struct pieces *p, bool caches);
/* Adds the memory of a request's bytes [offset, offset + len) to p, until p has max pieces. Updates p->length. */
enum wire_error pieces_add_entry(const struct iw_qp *qp, struct pieces *p, const struct entry *e, uint32_t offset,
                                 uint32_t len, unsigned access, unsigned max);
/* Works like pieces_add_entry, for the memory [to, to + len) of the region `stag`. The peer has sent this STag. */
enum wire_error pieces_add_region(const struct iw_qp *qp, struct pieces *p, uint32_t stag, uint64_t to, uint32_t len,
                                  unsigned access, unsigned max);
/*
 * Returns the SGE that contains the request's byte `offset`, which must exist. Sets *within to the byte's offset in the
 * SGE.
 */
const struct rdma_sge *entry_find_sge(const struct entry *e, uint32_t offset, uint32_t *within);
/* Checks all SGEs. If `posted` is true, the request is being posted, and prepared registrations are also valid. */
enum wire_error sges_check(const struct iw_qp *qp, const struct rdma_sge *sges, uint32_t count, unsigned access,
                           bool posted);

/* segment.c */
static inline bool segment_has_invalidate(const struct ddp_header *h)
{
    return h->opcode == RDMAP_SEND_INV || h->opcode == RDMAP_SEND_SE_INV;
}
/* Validates DDP's fields, then RDMAP's fields, then the message, receive or read to which the segment belongs. */
enum wire_error segment_validate(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);

/* reads.c */
uint32_t reads_sink(const struct iw_qp *qp, uint32_t n); /* the n-th sink STag */
/* Returns the oldest read in flight. Returns NULL if there is none, or if tx.rtr_read is set. */
struct entry *reads_oldest(const struct iw_qp *qp);
enum wire_error reads_check_response(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
void reads_finish_response(struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_check_request(const struct iw_qp *qp, const struct ddp_header *h, uint32_t payload);
enum wire_error reads_accept(struct iw_qp *qp, const uint8_t *payload);
/*
 * Ends the stream with a Terminate about a Read Request that cannot be answered. `response` is its position in
 * qp->inbound.
 */
void reads_refuse(struct iw_qp *qp, uint32_t response, enum wire_error error);

/* srq.c */
uint32_t srq_sges(const struct iw_srq *srq);
/*
 * Moves the oldest receive of the queue pair's shared receive queue to qp->rq, if `h` begins a send. Does nothing if
 * there is no shared receive queue, or if that queue is empty. The caller must call this function before it validates
 * `h`, so that a segment that is not valid makes the receive fail.
 */
void srq_supply(struct iw_qp *qp, const struct ddp_header *h);

/* terminate.c */
/*
 * Queues a Terminate for an error in a segment of ulpdu_len bytes. The first `len` bytes of the segment are at
 * `ulpdu`. If `ulpdu` is NULL, the Terminate contains no segment's headers.
 */
void terminate_queue(struct iw_qp *qp, enum wire_error error, const uint8_t *ulpdu, size_t len, uint32_t ulpdu_len);
void terminate_received(struct iw_qp *qp, const uint8_t *payload, uint32_t len);

/* local.c */
static inline bool entry_is_local(const struct entry *e)
{
    return e->opcode >= RDMA_OP_FAST_REGISTER;
}

/*
 * Carries out a local request. Returns true if the request is done or has failed. `alone` is true if the batch is empty
 * and the caller protects no memory (memory.h). If `alone` is false and the request would end a registration, returns
 * false and changes nothing. The reason: the end waits until no thread protects the registration's memory.
 */
bool local_carry_out(struct iw_qp *qp, struct entry *e, bool alone);
void local_discard(struct iw_qp *qp, const struct entry *e); /* must be called if a local request is flushed */

/* tx_commit.c */
void tx_drop_rest(struct iw_qp *qp); /* drops the rest of a half-sent FPDU */

/* tx.c */
void tx_batch_release(struct tx_batch *b); /* ends the protection of the memory that the batch references */
/* Completes an FPDU around the ULPDU at bytes + MPA_FPDU_LENGTH. Returns the FPDU's size. */
size_t fpdu_finish(bool crc, uint8_t *bytes, size_t ulpdu);

#endif
