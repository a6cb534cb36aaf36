/* SPDX-License-Identifier: MIT */
/*
 * A queue pair of RDMAP over DDP over MPA, without I/O and clock. Requests are posted by any thread; everything else is
 * called by the one owner (the shard's). The owner moves bytes:
 *
 *     n = iw_qp_rx_want(qp, scratch, iov, max);  recvmsg;  iw_qp_rx_done(qp, scratch, got);
 *     n = iw_qp_tx_want(qp, scratch, iov, max);  sendmsg;  iw_qp_tx_done(qp, scratch, sent);
 *
 * Between want and done the memory named by iov is protected against invalidation; each want is followed by its done
 * (0 bytes included) before anything else is called on this queue pair. Effects are upcalls.
 *
 * With CRC an FPDU is staged, verified, then placed. Without, payload goes to its destination directly. A message
 * that a peer has no right to send ends the stream: a Terminate is queued for sending and `ended` is called.
 *
 * A request is done, and may complete, when the transport has its last octet or the queue pair has a private copy of it
 * (the rest of an FPDU that the transport took a part of): then nothing touches the consumer's memory any more, and no
 * flush and no invalidation can tear an FPDU. iw_qp_tx_clean says whether such a rest is still to be sent.
 * A read waits while as many as ORD are in flight, and what was posted behind it waits too; with an ORD of 0 until the
 * queue is flushed. Reads of a peer beyond IRD end the stream.
 */
#ifndef IWARP_QP_H
#define IWARP_QP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/rdma.h"
#include "iwarp/memory.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/terminate.h"

struct iw_qp;

/* Why the stream ended. */
enum iw_end {
    IW_END_NONE,            /* it did not end by itself */
    IW_END_LOCAL_ERROR,     /* we found a fault in what arrived (a Terminate of ours is queued) */
    IW_END_PEER_TERMINATE,  /* the peer found one, and said so */
    IW_END_TRUNCATED,       /* end of stream inside an FPDU or a message */
    IW_END_LOCAL_REQUEST,   /* a request of ours failed half-way (RDMA_STATUS_LOCAL_ACCESS) */
    IW_END_FLUSH,           /* a flush took a request of ours back half-way */
};

/* A shared receive queue: receives for several queue pairs, first posted first used. Any thread. */
struct iw_srq;
struct iw_srq_config {
    uint32_t depth, sges;
    uint32_t threshold;        /* 0: not armed; else armed for the first time that one is taken */
    struct mem_table *memory;
    const void *domain;
    /*
     * Fewer than the threshold are queued; once for each arm. With a leaf lock free, in a poster's or owner's thread.
     */
    void (*low)(void *owner);
    void *owner;
};
struct iw_srq *iw_srq_create(const struct iw_srq_config *c); /* NULL: no memory */
void iw_srq_destroy(struct iw_srq *srq);                     /* no queue pair uses it; what is queued goes untold */
int iw_srq_post(struct iw_srq *srq, const struct rdma_request *r); /* a receive; as iw_qp_post */
/*
 * depth 0: as it is; EINVAL: less than are queued; ENOMEM. threshold 0: as it is; else armed, and low at once where
 * fewer are queued.
 */
int iw_srq_modify(struct iw_srq *srq, uint32_t depth, uint32_t threshold);
uint32_t iw_srq_posted(struct iw_srq *srq); /* receives that are queued now */

/*
 * Upcalls, made by the owner from inside rx_*, tx_*, flush, stop. They may post, nothing else: memory may be held
 * meanwhile, so they wait for nothing, and drive nobody who might.
 */
struct iw_qp_events {
    /* n > 0 requests of one queue have completed, in order. The array is the receiver's to change during the upcall. */
    void (*complete)(struct iw_qp *qp, struct rdma_completion *c, unsigned n);
    void (*first_fpdu)(struct iw_qp *qp);   /* the first FPDU that was valid: establishment on the accepting side */
    void (*rtr_answered)(struct iw_qp *qp); /* the response to a ready-to-receive read came */
    void (*peer_closed)(struct iw_qp *qp);  /* end of stream between messages: graceful */
    /*
     * Called once for a stream, first of all: so the owner can tell why before anybody sees that it is so. Right after
     * it initiator posts answer ENOTCONN, everything outstanding completes (RDMA_STATUS_LOST or more precisely), and rx
     * is over; tx has the rest of a half-sent FPDU and the Terminate, where one was queued.
     */
    void (*ended)(struct iw_qp *qp, enum iw_end why, enum wire_error error);
};

struct iw_qp_config {
    uint32_t receive_depth, initiator_depth, receive_sges, initiator_sges, inline_size;
    uint16_t max_ird, max_ord; /* most reads in flight, either way */
    struct mem_table *memory;
    const void *domain;        /* the protection domain for lookups */
    uint64_t secret;           /* makes the sink STags of reads unguessable */
    const struct iw_qp_events *events;
    struct iw_srq *srq;        /* receives come from it, and receive_depth is not used; or NULL */
    void *owner;               /* the caller's */
    void *qp_context;          /* in completions */
};

struct iw_stream {
    bool crc;
    uint16_t ird, ord;       /* effective limits */
    size_t max_segment;      /* EMSS: an FPDU fits into it */
    /* Accepting side: the first FPDU, which may be the peer's ready-to-receive, has to arrive before these. */
    bool send_after_first_fpdu;
    bool post_after_first_fpdu; /* initiator requests; until then a post returns ENOTCONN */
};

/* Per shard, shared by its queue pairs: staging and transmit descriptors. */
struct iw_scratch;
struct iw_scratch *iw_scratch_create(void);
void iw_scratch_destroy(struct iw_scratch *s);

enum { IW_IOV_MAX = 64 }; /* iov entries that want fills at most: give it as many */

struct iw_qp *iw_qp_create(const struct iw_qp_config *c); /* NULL: no memory */
void iw_qp_destroy(struct iw_qp *qp);                     /* nothing is posted and no stream runs */
void *iw_qp_owner(const struct iw_qp *qp);
/* From `complete`: how the stream ended, which is why requests are lost. IW_END_NONE: it has not ended by itself. */
enum iw_end iw_qp_end(const struct iw_qp *qp);

/*
 * Requests in terms of the protocol. A token is an STag, a remote address a TO. Fast register, bind and invalidate send
 * nothing. They are carried out in their turn, an invalidation not before everything ahead of it has been handed over.
 * One that cannot be carried out completes with RDMA_STATUS_LOCAL_ACCESS, and the stream goes on.
 *
 * A completion's error is the code of the Terminate that ended the request; with RDMA_STATUS_LOCAL_ACCESS what was
 * wrong with its memory, which is WIRE_RDMAP_PROTECTION for a registration or bind whose memory has gone; else WIRE_OK.
 * Its reason is 0.
 */

/*
 * Any thread, concurrently with everything. 0; ENOSPC: the queue is full; EINVAL: SGE count, sum beyond 4 GiB - 1 or
 * inline size, or a receive where they come from a shared queue; EFAULT: an SGE that is not inside its region or lacks
 * the right. Initiator requests only: ENOTCONN. Reads only: EOPNOTSUPP: the limit in force is 0. Nothing was queued
 * unless it is 0. The caller then has the owner look at tx (sends, reads, writes), with RDMA_FLAG_DEFER not before it
 * posts something else: iw_qp_deferred.
 * Once it is queued the request may complete, and whoever hears of that destroy the queue pair: iw_qp_destroy waits
 * until the post has let go of it, so a caller that does not touch it any more need not hold it.
 */
int iw_qp_post(struct iw_qp *qp, const struct rdma_request *r);
/* Any thread. A request was posted with RDMA_FLAG_DEFER since iw_qp_ring. */
bool iw_qp_deferred(struct iw_qp *qp);
/* Any thread, as of a moment ago. The first two count for ever. */
uint32_t iw_qp_posted(const struct iw_qp *qp);      /* initiator requests that were posted */
uint64_t iw_qp_read_bytes(const struct iw_qp *qp);  /* bytes that the reads among them ask for */
uint32_t iw_qp_outstanding(const struct iw_qp *qp); /* those of the requests that have not completed */
/* Any thread that then has the owner look at tx. */
void iw_qp_ring(struct iw_qp *qp);

/* Owner. From here on initiator requests are taken. */
void iw_qp_start(struct iw_qp *qp, const struct iw_stream *s);
void iw_qp_set_segment(struct iw_qp *qp, size_t max_segment); /* the EMSS has changed */
/* The initiator's ready-to-receive message goes before everything else. form: exactly one. */
void iw_qp_send_rtr(struct iw_qp *qp, enum mpa_rtr form);

/* A Terminate for a start-up error that is found after the reply, where no stream has begun. Returns its size. */
enum { IW_TERMINATE_FPDU = MPA_FPDU_OVERHEAD + DDP_UNTAGGED_HEADER + TERMINATE_MAX_PAYLOAD };
size_t iw_terminate_frame(bool crc, enum wire_error error, uint8_t fpdu[IW_TERMINATE_FPDU]);

/* 0: rx is over (a destination that is gone ends the stream from inside rx_want). */
int iw_qp_rx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max);
void iw_qp_rx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n);
void iw_qp_rx_eof(struct iw_qp *qp);
/*
 * Bounds a turn: rx_done stops after so many more valid FPDUs, and one at most beyond them. What has been read and not
 * processed is the rest, which the next turn's rx_resume goes on with; no rx_want and no rx_eof while there is one.
 * Without a call there is no bound. Without memory for another staging area the turn is not bounded either.
 */
void iw_qp_rx_limit(struct iw_qp *qp, unsigned frames);
bool iw_qp_rx_is_at_limit(const struct iw_qp *qp);
bool iw_qp_rx_has_rest(const struct iw_qp *qp);
void iw_qp_rx_resume(struct iw_qp *qp, struct iw_scratch *s); /* does nothing without a rest */
int iw_qp_tx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max); /* 0: nothing to send now */
void iw_qp_tx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n);
/* Whether another tx_want would find something; true, too, where it would find that a request cannot be sent. */
bool iw_qp_tx_wants(const struct iw_qp *qp);
/* After tx_done of all of it: there is nothing more to send now, as another tx_want would find out. */
bool iw_qp_tx_was_all(const struct iw_scratch *s);

/*
 * What the peer has begun and not finished: an FPDU; a send, a write, or the response to a read. A mark says how far
 * that has come. The owner takes one, and another one later, and compares.
 */
struct iw_rx_mark {
    uint64_t fpdus, bytes;                      /* received so far */
    uint64_t send, read;                        /* the message's number << 32, and how much of it has come */
    bool in_fpdu, in_send, in_write, in_read;   /* there is an unfinished one */
};
enum iw_rx_stall {
    IW_RX_GOES_ON,
    IW_RX_FPDU_STALLS,    /* both marks are inside the same FPDU */
    IW_RX_MESSAGE_STALLS, /* both are inside the same message, and fewer than `least` bytes of it came between them */
};
bool iw_qp_rx_is_partial(const struct iw_qp *qp); /* something is unfinished */
void iw_qp_rx_mark(const struct iw_qp *qp, struct iw_rx_mark *mark);
enum iw_rx_stall iw_rx_compare(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t least);
/* The same for sends alone, which occupy receives. */
bool iw_rx_send_stalls(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t least);
/* An unfinished send has a receive of the shared receive queue. */
bool iw_qp_has_partial_shared(const struct iw_qp *qp);

/* Nothing is left of what was posted: sends and writes handed over, reads answered; no FPDU is half sent. */
bool iw_qp_initiator_idle(const struct iw_qp *qp);
/* The FPDU in progress, or the Terminate, has left entirely: the stream can be closed without a torn FPDU. */
bool iw_qp_tx_clean(const struct iw_qp *qp);

/*
 * Completes everything posted before the call with status, receives included, in order. Posts race with it safely: each
 * is either completed here or stays queued. The stream goes on, unless that would leave a message half done: a request
 * that is sent in part, a receive that is filled in part, or a read in flight cannot be taken back, so then the stream
 * ends (a Terminate is queued, `ended` with IW_END_FLUSH).
 */
void iw_qp_flush(struct iw_qp *qp, enum rdma_status status);
/*
 * The stream is gone: initiator posts answer ENOTCONN from now on, what was left to send is dropped, everything posted
 * completes with status; `ended` is not called. The queue pair can start again.
 */
void iw_qp_stop(struct iw_qp *qp, enum rdma_status status);

struct iw_counters {
    uint64_t fpdus_sent, fpdus_received, octets_sent, octets_received;
};
void iw_qp_counters(const struct iw_qp *qp, struct iw_counters *c);

#endif
