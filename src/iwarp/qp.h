/* SPDX-License-Identifier: MIT */
/*
 * A queue pair of RDMAP over DDP over MPA, without I/O and without a clock. Any thread posts requests. All other calls
 * are made by the owner: the thread that owns the queue pair's shard at that time. The owner also moves the bytes:
 *
 *     n = iw_qp_rx_want(qp, scratch, iov, max);  recvmsg;  iw_qp_rx_done(qp, scratch, got);
 *     n = iw_qp_tx_want(qp, scratch, iov, max);  sendmsg;  iw_qp_tx_done(qp, scratch, sent);
 *
 * Between want and done the memory in iov is protected against invalidation. Each want must be followed by its done,
 * even for 0 bytes, before any other call for this queue pair. Results are reported by upcalls.
 *
 * With CRC an FPDU is staged (received into a shared buffer), verified, then placed. Without CRC its payload goes
 * directly to its destination. If the peer sends something invalid, a Terminate is queued, and `ended` reports the end
 * of the stream.
 *
 * If the transport takes only a part of an FPDU, the queue pair copies the rest of that FPDU. A send or write may
 * complete when the transport or such a copy has its last byte. The invariant: from then on nothing accesses the
 * consumer's memory. So neither a flush nor an invalidation can change an FPDU that is partly sent.
 *
 * A read waits while ORD reads are in flight, and the requests posted after it wait too. If the peer has more than IRD
 * reads in flight, the stream ends.
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
    IW_END_NONE,           /* the stream has not ended, or the owner stopped it */
    IW_END_LOCAL_ERROR,    /* the peer sent something invalid; a Terminate is queued */
    IW_END_PEER_TERMINATE, /* the peer sent a Terminate */
    IW_END_TRUNCATED,      /* the transport's end of stream came inside an FPDU or a message */
    IW_END_LOCAL_REQUEST,  /* a message in progress needs memory of this side that is no longer valid */
    IW_END_FLUSH,          /* a flush ended a half-sent request, a half-filled receive, or a read in flight */
};

/*
 * A shared receive queue: receives for several queue pairs, used in the order in which they were posted. Any thread may
 * call its functions.
 */
struct iw_srq;
struct iw_srq_config {
    uint32_t depth, sges;
    uint32_t threshold; /* if it is not 0, the new queue is armed: see `low` */
    struct mem_table *memory;
    const void *domain;
    /*
     * Called when an armed queue has fewer receives than the threshold. The queue is then no longer armed, until
     * iw_srq_modify arms it again. Called by iw_srq_modify, or by the owner of a queue pair that has removed a receive
     * from the queue. The caller does not hold the queue's lock.
     */
    void (*low)(void *owner);
    void *owner;
};
struct iw_srq *iw_srq_create(const struct iw_srq_config *c); /* NULL: no memory */
/* Drops the queued receives without a completion, and frees the queue. Requires that no queue pair uses the queue. */
void iw_srq_destroy(struct iw_srq *srq);
/* Posts a receive. Returns the same values as iw_qp_post. */
int iw_srq_post(struct iw_srq *srq, const struct rdma_request *r);
/*
 * Sets depth and threshold. A value of 0 changes nothing. A new threshold arms the queue. If fewer receives than the
 * threshold are queued, `low` is called at once. Returns 0, EINVAL if depth is less than the number of queued
 * receives, or ENOMEM.
 */
int iw_srq_modify(struct iw_srq *srq, uint32_t depth, uint32_t threshold);
uint32_t iw_srq_posted(struct iw_srq *srq); /* the number of queued receives */
struct iw_srq_state {
    uint32_t depth, posted, threshold; /* threshold: 0 if not armed */
};
void iw_srq_get_state(struct iw_srq *srq, struct iw_srq_state *s);

enum iw_frame_crc { IW_CRC_NONE, IW_CRC_GOOD, IW_CRC_BAD };

/* An FPDU that was sent or received. All pointers are valid only during the upcall. */
struct iw_frame {
    bool is_sent;
    enum iw_frame_crc crc;
    uint32_t ulpdu; /* the value of the FPDU's length field */
    bool has_header;
    struct ddp_header header; /* valid if has_header is true */
    const uint8_t *bytes;     /* the beginning of the ULPDU: a whole DDP header if has_header is true */
    const uint8_t *payload;   /* the first payload_len bytes after the DDP header: see iw_qp_report_frames */
    uint32_t payload_len;
};

/*
 * Upcalls. They run inside the owner's calls of rx_*, tx_*, flush and stop. An upcall may post requests, but may make
 * no other call. An upcall must not wait, because its thread may protect memory, and another thread may wait for the
 * end of that protection.
 */
struct iw_qp_events {
    /* Reports that n > 0 requests of one queue have completed, in order. The upcall may modify the array. */
    void (*complete)(struct iw_qp *qp, struct rdma_completion *c, unsigned n);
    void (*first_fpdu)(struct iw_qp *qp);   /* the first valid FPDU arrived: an accepting side is established now */
    void (*rtr_answered)(struct iw_qp *qp); /* the response to a ready-to-receive read arrived */
    void (*peer_closed)(struct iw_qp *qp);  /* the peer closed gracefully: the stream ended between messages */
    /*
     * Reports that the stream ends. Called at most once for a stream, before the end has any other effect, so that the
     * owner can store the reason first. Afterwards initiator posts return ENOTCONN, all outstanding requests complete
     * with RDMA_STATUS_LOST or a more precise status, and receiving ends. If a Terminate was queued, tx still sends
     * the rest of a half-sent FPDU, then the Terminate.
     */
    void (*ended)(struct iw_qp *qp, enum iw_end why, enum wire_error error);
    /*
     * Reports an FPDU, once for each FPDU. A sent FPDU is reported when the transport has taken at least a part of it.
     * A received FPDU is reported when it has arrived, before it has any effect. If its payload is placed while it
     * arrives, the FPDU is reported when its header has arrived. FPDUs are reported only after iw_qp_report_frames.
     */
    void (*frame)(struct iw_qp *qp, const struct iw_frame *f);
};

struct iw_qp_config {
    uint32_t receive_depth, initiator_depth, receive_sges, initiator_sges, inline_size;
    uint16_t max_ird, max_ord; /* maximum reads in flight: max_ird for the peer's, max_ord for this side's */
    struct mem_table *memory;
    const void *domain; /* protection domain, for lookups */
    uint64_t secret;    /* a random number, so that a peer cannot guess the sink STags of reads */
    const struct iw_qp_events *events;
    struct iw_srq *srq; /* supplies the receives, so that receive_depth is not used; or NULL */
    void *owner;        /* returned by iw_qp_owner */
    void *qp_context;   /* copied to each completion */
};

struct iw_stream {
    bool crc;
    uint16_t ird, ord;  /* effective limits */
    size_t max_segment; /* EMSS: the maximum size of an FPDU */
    /*
     * The next two members are for the accepting side. The first FPDU is the first one that the peer sends. It may be
     * the ready-to-receive message.
     */
    bool send_after_first_fpdu; /* nothing is sent before the first FPDU has arrived */
    bool post_after_first_fpdu; /* posts of initiator requests return ENOTCONN before the first FPDU has arrived */
};

/* Buffers that all queue pairs of a shard share. */
struct iw_scratch;
struct iw_scratch *iw_scratch_create(void); /* NULL: no memory */
void iw_scratch_destroy(struct iw_scratch *s);

enum { IW_MAX_IOV = 64 }; /* maximum number of entries that rx_want or tx_want fills; also the limit of `max` */

struct iw_qp *iw_qp_create(const struct iw_qp_config *c); /* NULL: no memory */
/*
 * Frees the queue pair. Requires that no stream runs and nothing is posted any more. Waits for posts that have not
 * returned: see iw_qp_post.
 */
void iw_qp_destroy(struct iw_qp *qp);
void *iw_qp_owner(const struct iw_qp *qp);
/*
 * If the requests complete because the stream has ended, returns why it has ended. Otherwise returns IW_END_NONE. The
 * result is valid only in the upcall `complete`.
 */
enum iw_end iw_qp_end(const struct iw_qp *qp);

/*
 * In requests, a token is an STag, and a remote address is a TO. Fast register, bind and invalidate send nothing, and
 * are carried out in order. An invalidation is carried out only after everything ahead of it has been passed to the
 * transport. If a fast register, bind or invalidate fails, it completes with RDMA_STATUS_LOCAL_ACCESS, and the stream
 * goes on.
 *
 * A completion's `error` is the code of the Terminate that ended the request, or WIRE_OK if none did. But if the
 * status is RDMA_STATUS_LOCAL_ACCESS, `error` is the result of the memory check. For a fast register or bind whose
 * memory does not exist any more, that result is WIRE_RDMAP_PROTECTION. A completion's `reason` is 0.
 */

/*
 * Posts a request. Any thread may call this function, concurrently with any other call. Stores the sum of the SGEs'
 * lengths in *bytes, unless bytes is NULL. The caller must not read the SGEs afterwards, because the request may have
 * completed. Returns 0, or queues nothing and returns:
 *   ENOSPC      the queue is full
 *   EINVAL      too many SGEs, a sum above 4 GiB - 1 or the inline size, SGEs that change during the call, or a receive
 *               although receives come from a shared queue
 *   EFAULT      an SGE is not inside its region, or the region lacks the right
 *   ENOTCONN    an initiator request while no stream runs, or before the first FPDU if post_after_first_fpdu is set
 *   EOPNOTSUPP  a read although ORD is 0
 * After the post of an initiator request the caller must make the owner call tx_want. With RDMA_FLAG_DEFER, the owner
 * need not call tx_want until the caller posts a request without the flag, or calls iw_qp_clear_deferred.
 * The request may complete before iw_qp_post returns, and the consumer may then destroy the queue pair. iw_qp_destroy
 * waits until iw_qp_post has ended. So the caller needs no reference if it does not access the queue pair afterwards.
 */
int iw_qp_post(struct iw_qp *qp, const struct rdma_request *r, uint32_t *bytes);
/*
 * Returns true if a request was posted with RDMA_FLAG_DEFER since the last iw_qp_clear_deferred. Any thread may call
 * this function.
 */
bool iw_qp_has_deferred(struct iw_qp *qp);
/*
 * Ends the deferral of the posted requests. The caller must then make the owner call tx_want. Any thread may call this
 * function.
 */
void iw_qp_clear_deferred(struct iw_qp *qp);
/*
 * The next three functions return counts of posted requests or of their bytes. Any thread may call them. The values may
 * be a moment old. iw_qp_posted and iw_qp_read_bytes are never reset.
 */
uint32_t iw_qp_posted(const struct iw_qp *qp);      /* initiator requests posted so far */
uint64_t iw_qp_read_bytes(const struct iw_qp *qp);  /* sum of the lengths of all reads posted so far */
uint32_t iw_qp_outstanding(const struct iw_qp *qp); /* initiator requests that have not completed */

/*
 * Reports all FPDUs from now on: see iw_qp_events.frame. The report of a control message has its whole payload. Any
 * other report has at most the first `max_payload` bytes of the payload. If max_payload is not 0, a stream that begins
 * later places a payload only when its whole FPDU has arrived. Only the owner may call this function.
 */
void iw_qp_report_frames(struct iw_qp *qp, uint32_t max_payload);

/* Starts a stream. Accepts initiator requests from now on, or from the first FPDU on (post_after_first_fpdu). */
void iw_qp_start(struct iw_qp *qp, const struct iw_stream *s);
void iw_qp_set_segment(struct iw_qp *qp, size_t max_segment); /* must be called if the EMSS changes */
/* Queues the initiator's ready-to-receive message ahead of everything else. `form` is one form, not a set. */
void iw_qp_send_rtr(struct iw_qp *qp, enum mpa_rtr form);

/* Makes the FPDU of a Terminate for an error that start-up has found in the MPA reply. Returns the FPDU's size. */
enum { IW_TERMINATE_FPDU = MPA_FPDU_OVERHEAD + DDP_UNTAGGED_HEADER + TERMINATE_MAX_PAYLOAD };
size_t iw_terminate_frame(bool crc, enum wire_error error, uint8_t fpdu[IW_TERMINATE_FPDU]);

/*
 * Fills `iov` with the memory into which input must be received. Returns the number of entries, or 0 if receiving has
 * ended. If that memory was invalidated, this call ends receiving.
 */
int iw_qp_rx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max);
void iw_qp_rx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n);
void iw_qp_rx_eof(struct iw_qp *qp);
/*
 * Begins a turn of receiving. Until the next turn, rx_done and rx_resume process at most fpdus + 1 valid FPDUs. The
 * other received bytes stay in the staging area, which the queue pair then owns; the shard gets another one. While
 * iw_qp_rx_has_staged returns true, the owner must call rx_resume, not rx_want or rx_eof. There is no limit before the
 * first turn, or if there is no memory for another staging area.
 */
void iw_qp_rx_set_limit(struct iw_qp *qp, unsigned fpdus);
bool iw_qp_rx_is_at_limit(const struct iw_qp *qp);
bool iw_qp_rx_has_staged(const struct iw_qp *qp);
/*
 * Processes the bytes that the last turn did not process, up to the limit of iw_qp_rx_set_limit. Does nothing if there
 * are no such bytes.
 */
void iw_qp_rx_resume(struct iw_qp *qp, struct iw_scratch *s);
/* Fills `iov` with the bytes to be sent. Returns the number of entries, or 0 if there is nothing to send now. */
int iw_qp_tx_want(struct iw_qp *qp, struct iw_scratch *s, struct iovec *iov, int max);
void iw_qp_tx_done(struct iw_qp *qp, struct iw_scratch *s, size_t n);
/* Returns true if tx_want would return entries, or would fail a request. */
bool iw_qp_tx_has_work(const struct iw_qp *qp);
/*
 * Returns true if the last tx_want has framed everything that can be sent now. Another tx_want would then return 0.
 * The result is valid only after tx_done, if the transport has taken all bytes.
 */
bool iw_qp_tx_framed_all(const struct iw_scratch *s);

/*
 * The position of the input: which FPDU, send, write or read response is unfinished, and how many of its bytes have
 * arrived. The owner makes two marks, one after the other, and compares them.
 */
struct iw_rx_mark {
    uint64_t fpdus, bytes; /* received so far */
    uint64_t send, read;   /* upper 32 bits: which message; lower 32 bits: how many of its bytes have arrived */
    bool in_fpdu, in_send, in_write, in_read; /* an FPDU, a send, a write or a read response is unfinished */
};
/*
 * The results of iw_rx_compare, which compares two marks. An RDMA Write has no message number. So two marks in a Write
 * count as marks in the same Write, and all bytes received between them count as its bytes.
 */
enum iw_rx_stall {
    IW_RX_GOES_ON,
    IW_RX_FPDU_STALLS,    /* both marks are in the same FPDU */
    IW_RX_MESSAGE_STALLS, /* both marks are in the same message, and fewer than `min` of its bytes arrived meanwhile */
};
bool iw_qp_rx_is_partial(const struct iw_qp *qp); /* returns true if an FPDU or a message is unfinished */
void iw_qp_rx_mark(const struct iw_qp *qp, struct iw_rx_mark *mark);
enum iw_rx_stall iw_rx_compare(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t min);
/* Returns true if the two marks are in the same send, and fewer than `min` bytes of the send arrived between them. */
bool iw_rx_send_stalls(const struct iw_rx_mark *before, const struct iw_rx_mark *now, uint32_t min);
/* Returns true if an unfinished send occupies a receive of the shared receive queue. */
bool iw_qp_has_partial_shared(const struct iw_qp *qp);

/* Returns true if all initiator requests have completed, no message is in progress, and no FPDU is half sent. */
bool iw_qp_initiator_is_idle(const struct iw_qp *qp);
/*
 * Returns true if no FPDU is half sent and no Terminate waits to be sent. Then the stream can be closed between FPDUs.
 */
bool iw_qp_tx_is_clean(const struct iw_qp *qp);

/*
 * Completes all requests posted before the call, receives included, in order, with `status`. A request that is posted
 * during the call may complete or stay queued. If a request is partly sent, a receive is partly filled, or a read is in
 * flight, queues a Terminate and calls `ended` with IW_END_FLUSH. Otherwise the stream goes on.
 */
void iw_qp_flush(struct iw_qp *qp, enum rdma_status status);
/*
 * Ends the stream without a call of `ended`, because the connection has ended. From now on, initiator posts return
 * ENOTCONN. Drops unsent bytes, and completes all posted requests with `status`. iw_qp_start may follow.
 */
void iw_qp_stop(struct iw_qp *qp, enum rdma_status status);

struct iw_counters {
    uint64_t fpdus_sent, fpdus_received, bytes_sent, bytes_received;
};
void iw_qp_counters(const struct iw_qp *qp, struct iw_counters *c);

/*
 * Counts of messages since the queue pair's creation. An outgoing send or write counts when the transport has its last
 * byte, an outgoing read when the transport has its Read Request. An incoming send or write counts when it has arrived
 * completely, an incoming read when its Read Request has been accepted.
 */
enum iw_message { IW_OUT_SEND, IW_OUT_WRITE, IW_OUT_READ, IW_IN_SEND, IW_IN_WRITE, IW_IN_READ, IW_MESSAGES };
/* A snapshot for an observer. The values may be a moment old. */
struct iw_qp_state {
    struct iw_counters counters;
    uint64_t messages[IW_MESSAGES];
    struct rdma_counts requests[RDMA_KINDS];
    uint32_t initiators, receives; /* posted requests that have not completed */
    bool is_open;                  /* initiator requests are accepted */
};
/*
 * Fills *s. Holds the initiator queue's lock for a short time, so a concurrent post may wait for the lock. Any thread
 * may call this function.
 */
void iw_qp_get_state(struct iw_qp *qp, struct iw_qp_state *s);

#endif
