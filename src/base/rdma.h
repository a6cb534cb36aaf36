/* SPDX-License-Identifier: MIT */
/*
 * Types for requests, their SGEs and completions, and for access rights. All layers from the provider down to the
 * protocol use them, so nothing is converted between layers. The invariant: these types contain nothing that only one
 * transport has.
 */
#ifndef BASE_RDMA_H
#define BASE_RDMA_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The rights of a region or window, or the rights that an access needs, as a set of flags. Local read is always
 * allowed.
 */
enum rdma_access {
    RDMA_ACCESS_LOCAL_READ = 0,
    RDMA_ACCESS_LOCAL_WRITE = 1,
    RDMA_ACCESS_REMOTE_READ = 2,
    RDMA_ACCESS_REMOTE_WRITE = 4,
};

enum rdma_op {
    RDMA_OP_SEND,
    RDMA_OP_WRITE,
    RDMA_OP_READ,
    RDMA_OP_RECEIVE,
    RDMA_OP_FAST_REGISTER, /* this operation and the next two send nothing to the peer */
    RDMA_OP_BIND,
    RDMA_OP_INVALIDATE,
    RDMA_OP_RECEIVE_AND_INVALIDATE, /* only in completions */
};

/* The kinds of requests that are counted: the operations, and sends with RDMA_FLAG_SEND_INVALIDATE. */
enum { RDMA_KIND_SEND_AND_INVALIDATE = RDMA_OP_RECEIVE_AND_INVALIDATE + 1, RDMA_KINDS };

/*
 * Requests of one kind that have ended. `failed` includes requests that a flush has completed. `bytes` is the number of
 * bytes that the successful requests have sent, written, read or received.
 */
struct rdma_counts {
    uint64_t succeeded, failed, bytes;
};

enum rdma_flags {
    RDMA_FLAG_SILENT = 1,           /* no completion if the request succeeds */
    RDMA_FLAG_READ_FENCE = 2,       /* the request starts only when all earlier reads have completed */
    RDMA_FLAG_SOLICIT = 4,          /* send: the completion of the peer's receive is a solicited one */
    RDMA_FLAG_INLINE = 8,           /* the post copies the data; SGE addresses are plain pointers, tokens are ignored */
    RDMA_FLAG_SEND_INVALIDATE = 16, /* send: the peer invalidates remote_token before the peer's receive completes */
    RDMA_FLAG_READ_INVALIDATE = 32, /* read: the first SGE's token is invalidated before the read completes */
    RDMA_FLAG_DEFER = 64,           /* the request may wait until a request without this flag is posted */
};

/*
 * An SGE with the layout of Windows' NDK_SGE. With may_alias, a consumer's list of NDK_SGE can be read as an array of
 * this type. So the list is copied into a request without a conversion.
 */
struct rdma_sge {
    uint64_t address;
    uint32_t length;
    uint32_t token;
} __attribute__((may_alias));

struct rdma_request {
    enum rdma_op op;
    unsigned flags; /* set of enum rdma_flags */
    void *context;
    const struct rdma_sge *sges;
    uint32_t sge_count;
    uint32_t remote_token; /* write, read: token of the peer's memory; send: see RDMA_FLAG_SEND_INVALIDATE */
    uint64_t remote_address;
    /*
     * Fast register and bind: the token that mr_prepare_pages or mr_prepare_window has returned. After a successful
     * post, the queue pair activates the token when it processes the request. If the request is flushed, the queue pair
     * discards the token. Invalidate: the token to be invalidated.
     */
    uint32_t token;
};

/* The memory of a fast registration: `len` bytes that begin `offset` bytes after the start of the first page. */
struct rdma_pages {
    const uint64_t *logical;
    uint32_t count, offset;
    uint64_t len, base_address;
    unsigned access; /* set of enum rdma_access */
};

enum rdma_status {
    RDMA_STATUS_OK,
    RDMA_STATUS_FLUSHED,       /* this side has ended the request: flush, disconnect or close */
    RDMA_STATUS_LOST,          /* the connection has ended: a reset, an abort, or a Terminate about another request */
    RDMA_STATUS_LOCAL_ACCESS,  /* an SGE, or a local request's token, was not valid when the request was processed */
    RDMA_STATUS_TOO_LONG,      /* the message was longer than the buffers of the receive */
    RDMA_STATUS_REMOTE_ACCESS, /* the peer's Terminate reported an invalid token or a missing right */
    RDMA_STATUS_REMOTE_RANGE,  /* the peer's Terminate reported a range outside of its region */
};

struct rdma_completion {
    void *context; /* the context of the request */
    void *qp_context;
    enum rdma_op op;
    enum rdma_status status;
    uint32_t length; /* receives: number of received bytes */
    uint32_t token;  /* RDMA_OP_RECEIVE_AND_INVALIDATE: the token that the send invalidated */
    /* If the request failed, the protocol core sets `error`, and the fabric sets `terminate` and `reason`. */
    uint32_t error;     /* enum wire_error; for the fabric */
    uint16_t terminate; /* the code of the Terminate that ended the request, or FABRIC_NO_TERMINATE */
    uint8_t reason;     /* enum fabric_reason: why the request failed, for example because the stream ended */
    bool solicited;     /* the completion notifies a CQ that is armed for solicited completions */
};

#endif
