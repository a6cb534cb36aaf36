/* SPDX-License-Identifier: MIT */
/*
 * Declares the interface between NDK objects (provider/) and a fabric, which transports their data. The only fabric of
 * the host is in fabric/iwarp: the protocol core (iwarp/) over the engine (engine/). fabric/host.h selects an adapter's
 * fabric. The invariant: nothing in this file is specific to one transport, so that a new fabric, for example over RDMA
 * devices, needs no change in the provider.
 *
 * All functions may be called by any thread, at any time, at IRQL <= DISPATCH_LEVEL, and do not block. A comment states
 * each exception. Upcalls are of two kinds:
 *   events (struct fabric_conn_events, fabric_listener_events): made by the owner of the object's shard, which is the
 *     thread that has the shard's token. The receiver updates its own state under its own lock, queues consumer
 *     callbacks with fabric_ops.call, and may call fabric functions. It must neither block nor call the consumer.
 *   deliveries (`notify`): made in callback context, which means on the shard's thread, without lock or token.
 */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/gate.h"
#include "base/rdma.h"
#include "base/task.h"

struct shard; /* a thread that delivers callbacks, and the connections and queues that it serves */
struct fabric;
struct fabric_cq;
struct fabric_qp;
struct fabric_srq;
struct fabric_mr;
struct fabric_lam;
struct fabric_conn;
struct fabric_listener;
struct fabric_endpoint; /* the address of a shared endpoint */

/* Why a connection or request failed or ended. Each cause that can be observed separately has its own value. */
enum fabric_reason {
    FABRIC_OK,
    FABRIC_NO_ROUTE,          /* no route to the network */
    FABRIC_NO_HOST,           /* ARP or NDP found no host, or ICMP or a route reports it unreachable */
    FABRIC_REFUSED,           /* the peer's host has no listener at the address */
    FABRIC_REJECTED,          /* the peer rejected, maybe with private data */
    FABRIC_CONNECT_TIMEOUT,   /* the peer's host did not answer */
    FABRIC_REPLY_TIMEOUT,     /* the host answered, but the request had no reply in time */
    FABRIC_ESTABLISH_TIMEOUT, /* the ready-to-receive message was not sent, received or answered in time */
    FABRIC_DISCONNECT_TIMEOUT,
    FABRIC_ADDRESS_TAKEN,   /* the local address is in use */
    FABRIC_ADDRESS_FOREIGN, /* the local address does not belong to the adapter */
    FABRIC_PORTS_EXHAUSTED,
    FABRIC_FOUR_TUPLE,       /* a connection with the same four-tuple exists */
    FABRIC_PORT_FORBIDDEN,   /* the user may not bind the local port */
    FABRIC_PROHIBITED,       /* a packet filter, a router or a route forbids the connection */
    FABRIC_NO_PROTOCOL,      /* ICMP: the peer's host does not support the protocol */
    FABRIC_SYSTEM,           /* an errno that has no reason in this list */
    FABRIC_RESOURCES,        /* memory, or another resource of the system, ran out */
    FABRIC_DESCRIPTORS,      /* the process or the host has no descriptor left */
    FABRIC_PEER_RESET,       /* the peer reset the connection, or its process died */
    FABRIC_PEER_CLOSED,      /* the peer disconnected gracefully */
    FABRIC_PEER_GAVE_UP,     /* the peer ended the stream during establishment */
    FABRIC_PEER_TERMINATE,   /* the peer ended the connection with a Terminate message */
    FABRIC_PROTOCOL,         /* the peer violated the protocol, so the local side ended the connection */
    FABRIC_BAD_REPLY,        /* the answer to the connection request is not a valid reply */
    FABRIC_READ_LIMITS,      /* the reply requires more reads than the request offered */
    FABRIC_NO_READY_FORM,    /* the reply selects a ready-to-receive form that the request did not offer */
    FABRIC_NOT_CONNECTING,   /* the state did not allow the call, for example conn_complete or conn_accept */
    FABRIC_LOCAL_CLOSE,      /* cancelled by the local side's close */
    FABRIC_LOCAL_ERROR,      /* a local work request failed because its memory was no longer registered or mapped */
    FABRIC_LOCAL_FLUSH,      /* ended by a flush, or by the queue pair's close */
    FABRIC_LOCAL_DISCONNECT, /* ended by the local side's disconnect */
    FABRIC_CQ_OVERFLOW,      /* more requests completed than the completion queue has room for */
    FABRIC_PEER_SILENT,      /* the peer's host acknowledged nothing for too long */
    FABRIC_FRAME_STALLED,    /* the peer began a frame and did not finish it in time */
    FABRIC_MESSAGE_STALLED,  /* the peer began a message and did not finish it in time */
    FABRIC_SRQ_SHARE,        /* the message stalled while incomplete messages occupied too many shared receives */
    FABRIC_INTERFACE_GONE,   /* the adapter's network interface was deleted, or left the network namespace */
    /* The following reasons are for a peer that connected to this side and was refused or dropped. */
    FABRIC_REQUEST_TIMEOUT,     /* the request was not complete in time */
    FABRIC_BAD_REQUEST,         /* the first bytes are not a valid request */
    FABRIC_BAD_REVISION,        /* the request has a revision of the protocol that does not exist */
    FABRIC_UNSUPPORTED_REQUEST, /* the request requires markers */
    FABRIC_REQUEST_NO_LIMITS,   /* the request announces read limits but does not contain them */
    FABRIC_REQUEST_DATA,        /* the request has too much private data */
    FABRIC_REQUEST_NO_FORM,     /* the two sides have no form of ready-to-receive in common */
    FABRIC_BACKLOG_FULL,        /* too many requests of the listener wait for the consumer */
    FABRIC_CROWDED_OUT,         /* the peer was dropped to make room, before a consumer received its request */
    FABRIC_NOT_DELIVERED,       /* the listener's owner refused the request: it is closing or out of memory */
    FABRIC_LISTENER_PAUSED,
    FABRIC_LISTENER_CLOSED,
    FABRIC_LOCAL_REJECT, /* the local consumer rejected */
    FABRIC_UNANSWERED,   /* the peer ended its request before the local consumer had accepted or rejected it */
    /* Only for work requests: */
    FABRIC_TOKEN,         /* a local token is unknown or no longer valid */
    FABRIC_TOKEN_DOMAIN,  /* a local token belongs to another protection domain */
    FABRIC_TOKEN_RIGHT,   /* a local token lacks the required right */
    FABRIC_TOKEN_RANGE,   /* the range is not inside the region of the local token */
    FABRIC_REGION_GONE,   /* a fast registration or bind was carried out after its memory was deregistered */
    FABRIC_TOKEN_LASTING, /* the token cannot be invalidated: no fast registration or bind has made it */
    FABRIC_RECEIVE_SHORT, /* the message was longer than the receive */
    FABRIC_PEER_TOKEN,    /* the peer's token is not valid or lacks the right: see the Terminate */
    FABRIC_PEER_RANGE,    /* the range is not inside the peer's region */
    FABRIC_REASON_COUNT
};
const char *fabric_reason_name(enum fabric_reason r);

/*
 * The code of a Terminate message that this side has sent or received: layer, error type and error code as on the wire.
 * If no Terminate ended the connection or request, the code is FABRIC_NO_TERMINATE.
 */
enum { FABRIC_NO_TERMINATE = 0xffff };
struct fabric_terminate {
    uint16_t code;
    const char *name, *text, *advice;
};
/* Returns all codes that the protocol defines. Sets *count to their number. */
const struct fabric_terminate *fabric_terminates(unsigned *count);

/* ---- reports ---- */

/* The phase of a connection's life in which it ended. Each comment states when the phase ends. */
enum fabric_phase {
    FABRIC_PHASE_CONNECTING, /* initiator: until the peer's host has answered */
    FABRIC_PHASE_REQUESTING, /* initiator: until the reply to its request has arrived */
    FABRIC_PHASE_REPLIED,    /* initiator: until conn_complete is called */
    FABRIC_PHASE_COMPLETING, /* initiator: until ready-to-receive is sent; if it is a read, until it is answered */
    FABRIC_PHASE_ARRIVING,   /* responder: until the peer's request is complete and has been reported */
    FABRIC_PHASE_REQUESTED,  /* responder: until conn_accept or conn_reject is called */
    FABRIC_PHASE_ACCEPTING,  /* responder: until the reply has been sent and ready-to-receive has arrived */
    FABRIC_PHASE_ESTABLISHED,
    FABRIC_PHASE_PEER_GONE,     /* the peer has disconnected, this side has not */
    FABRIC_PHASE_DISCONNECTING, /* conn_disconnect is in progress */
    FABRIC_PHASES
};
const char *fabric_phase_name(enum fabric_phase p);

enum fabric_outcome {
    FABRIC_OUTCOME_ESTABLISHED,
    FABRIC_OUTCOME_ENDED,  /* ended after establishment, by a disconnect of both sides */
    FABRIC_OUTCOME_FAILED, /* ended in any other way, for example by a close of either side */
    FABRIC_OUTCOME_REFUSED /* this side refused the peer */
};

/*
 * The properties on which the two sides agreed when the connection was established. The read limits are not included:
 * see struct fabric_limits.
 */
struct fabric_agreement {
    uint8_t revision; /* of the protocol */
    bool has_crc;     /* every frame has a checksum */
};

struct fabric_report {
    enum fabric_outcome outcome;
    enum fabric_phase phase;
    bool initiated; /* this side initiated the connection */
    enum fabric_reason why;
    uint16_t terminate;
    struct addr local, remote; /* `local` has port 0 if none was chosen; `remote` has family 0 if the peer is unknown */
    struct fabric_agreement agreed; /* valid if the outcome is ESTABLISHED */
};

/*
 * Receives a report each time a connection is established, ends, fails or is refused, even if no consumer has seen the
 * peer. The owner of the connection's shard calls `report`. If the change also has an event, `report` is called first.
 */
struct fabric_observer {
    void (*report)(void *owner, const struct fabric_report *report);
    void *owner;
};

/* ---- completion queues ---- */

/* The types of completions for which a queue can be armed. Each type includes the types to its left. */
enum fabric_arm { FABRIC_ARM_NONE, FABRIC_ARM_ERRORS, FABRIC_ARM_SOLICITED, FABRIC_ARM_ANY };

struct fabric_cq_config {
    uint32_t depth;
    int affinity; /* preferred processor; -1: the shard of the first queue pair that uses the queue */
    /*
     * Notifies the consumer in callback context, at most once for each arm. If the queue has overflowed, `overflow` is
     * true for any type of arm. After an overflow the queue and its queue pairs are unusable. Calls for one queue never
     * overlap.
     */
    void (*notify)(void *owner, bool overflow);
    void *owner;
};

/* ---- queue pairs ---- */

/* The token of SGEs with logical addresses (lam_create). No region has the token 0. */
enum { FABRIC_PRIVILEGED_TOKEN = 0 };

struct fabric_srq_config {
    uint32_t depth, sges;
    uint32_t threshold; /* 0: not armed */
    int affinity;
    const void *domain;
    /*
     * Reports that fewer receives than the threshold are queued. Called in callback context. Calls for one queue never
     * overlap.
     */
    void (*notify)(void *owner);
    void *owner;
};

struct fabric_qp_config {
    struct fabric_cq *receive_cq, *initiator_cq;
    const void *domain; /* requests can use only regions that were registered with this domain */
    uint32_t receive_depth, initiator_depth, receive_sges, initiator_sges, inline_size;
    void *qp_context;
    struct fabric_srq *srq; /* the queue that supplies the receives, or NULL */
};

/* ---- connections ---- */

struct fabric_limits {
    uint16_t inbound, outbound;
};

/*
 * The data that the peer has sent to set up the connection. Events receive a pointer to it, which is valid only during
 * the event.
 */
struct fabric_peer {
    struct fabric_limits limits;
    const void *private_data;
    size_t private_len;
    struct addr local, remote;
};

/*
 * The events of a connection. `terminate` is the code of the Terminate message, sent or received, that ended the
 * connection. If no Terminate ended the connection, `terminate` is FABRIC_NO_TERMINATE.
 */
struct fabric_conn_events {
    /*
     * Reports that conn_connect has ended. If `why` is OK, the peer has accepted. If `why` is REJECTED, the peer has
     * rejected. In both cases *peer has the peer's private data. For any other `why`, `peer` is NULL.
     */
    void (*connected)(void *owner, enum fabric_reason why, const struct fabric_peer *peer);
    /*
     * Reports that conn_complete or conn_accept has ended. If `why` is OK, the queue pair accepts requests, and
     * *limits has the effective limits. `limits` and `agreed` are valid only during the event, and only if `why` is
     * OK.
     */
    void (*established)(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits,
                        const struct fabric_agreement *agreed);
    /*
     * Reports that the peer ended the connection, or that the connection broke. Called at most once, after
     * `established` with OK. If `why` is PEER_CLOSED, the peer disconnected gracefully. With any other `why`, the
     * connection ended abruptly.
     */
    void (*peer_ended)(void *owner, enum fabric_reason why, uint16_t terminate);
    /*
     * Reports that conn_disconnect has ended. The connection no longer accesses memory, and the queue pair has been
     * flushed.
     */
    void (*disconnected)(void *owner, enum fabric_reason why, uint16_t terminate);
    /*
     * Reports that the connection has closed. This is the last event. The connection's address is free, and the handle
     * is no longer valid.
     */
    void (*closed)(void *owner);
};

struct fabric_connect {
    struct fabric_qp *qp;
    struct addr local;                /* port 0: any port from 49152 to 65535 */
    struct fabric_endpoint *endpoint; /* if not NULL, replaces `local`; must exist until the event `closed` */
    struct addr remote;
    struct fabric_limits limits;
    const void *private_data; /* copied by the call */
    size_t private_len;
};

struct fabric_accept {
    struct fabric_qp *qp;
    struct fabric_limits limits;
    const void *private_data; /* copied by the call */
    size_t private_len;
};

struct fabric_listener_events {
    void (*listening)(void *owner, enum fabric_reason why, const struct addr *local); /* listener_listen has ended */
    /*
     * Reports a peer's complete and valid request. Returns the `owner` for the events of the new connection, or NULL to
     * refuse the peer. The connection has a reference on the listener's address until the connection is closed.
     */
    void *(*request)(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer);
    void (*closed)(void *owner); /* the last event; the address stays reserved while connections are open */
};

enum fabric_technology { FABRIC_IWARP, FABRIC_INFINIBAND, FABRIC_ROCE, FABRIC_ROCE_V2 };

struct fabric_info {
    enum fabric_technology technology;
    uint64_t max_registration, max_transfer;
    uint32_t max_initiator_sge, max_receive_sge, max_read_sge, max_inline;
    uint32_t max_receive_depth, max_initiator_depth, max_cq_depth;
    uint16_t max_inbound_reads, max_outbound_reads;
    uint32_t max_caller_data, max_callee_data, large_request_threshold;
    uint32_t max_srq_depth;
    uint64_t max_window;          /* 0: no memory windows */
    uint32_t fast_register_pages; /* 0: no fast registration */
    bool read_local_invalidate, cq_moderation;
};

/* Counters since the fabric's creation. A value may be a moment old. */
struct fabric_counters {
    uint64_t connects, accepts; /* connections established by this side's connect, or by its accept */
    uint64_t failures;          /* connects and accepts that failed */
    uint64_t refused, dropped;  /* requests refused, and connections dropped, before a consumer received them */
    uint64_t active;            /* connections that are established at present */
    uint64_t connection_errors; /* established connections that failed before a disconnect or close of either side */
    uint64_t cq_errors;         /* completion queues that overflowed */
    uint64_t in_bytes, out_bytes, in_frames, out_frames;
    struct rdma_counts requests[RDMA_KINDS]; /* requests of queue pairs that have been closed */
};

/* ---- the states of objects, for an observer ---- */

struct fabric_cq_info {
    uint32_t depth, queued; /* queued: completions that have not been polled */
    enum fabric_arm armed;
    uint32_t interval_us, moderation_count; /* both 0: no moderation */
    bool overflowed;
};

struct fabric_qp_info {
    /*
     * Counts since the creation. out_... are requests of this side whose bytes have all been passed to the transport.
     * in_... are messages that have arrived completely.
     */
    uint64_t out_sends, out_writes, out_reads, in_sends, in_writes, in_reads;
    uint64_t out_bytes, in_bytes, out_frames, in_frames; /* since the creation */
    struct rdma_counts requests[RDMA_KINDS];             /* since the creation */
    uint32_t initiators, receives;                       /* posted requests that have not completed */
    bool accepts;                                        /* the consumer can post initiator requests */
};

struct fabric_listener_info {
    uint32_t backlog, waiting; /* requests that wait for the consumer: `waiting` is their number, `backlog` its limit */
    uint32_t abandoned;        /* requests that the consumer has not answered and whose peer has left */
    uint32_t max_unfinished;   /* limit on the process's connections without a complete request; 0: not listening */
    bool is_paused;
};

struct fabric_srq_info {
    uint32_t depth, queued;
    uint32_t threshold; /* 0: not armed */
};

struct fabric_mr_info {
    uint32_t token;     /* the result of mr_current_token */
    bool is_registered; /* the registration of `token` is prepared or alive */
    bool is_prepared;   /* the request that makes the registration has not been processed */
    uint64_t address, len;
    unsigned access; /* enum rdma_access */
};

struct fabric_ops {
    /*
     * Copies *observer, and sends later reports to this observer. Must be called before the fabric's first object is
     * created.
     */
    void (*observe)(struct fabric *f, const struct fabric_observer *observer);
    void (*counters)(const struct fabric *f, struct fabric_counters *c);
    void (*destroy)(struct fabric *f); /* blocks; all objects of the fabric must be closed */
    void (*info)(const struct fabric *f, struct fabric_info *info);
    struct shard *(*home)(struct fabric *f); /* returns the shard for the callbacks of objects without a shard */
    /*
     * Queues a callback for the shard's thread. Callbacks run in callback context, in the order in which they were
     * queued.
     */
    void (*call)(struct shard *s, struct task *task);
    uint64_t (*now)(struct fabric *f); /* nanoseconds, monotonic */
    /*
     * Blocks until the gate is open. Returns false if `now` reaches the deadline first. The deadline UINT64_MAX means
     * no limit.
     */
    bool (*wait)(struct fabric *f, struct gate *g, uint64_t deadline);

    int (*cq_create)(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out); /* 0 or ENOMEM */
    int (*cq_poll)(struct fabric_cq *cq, struct rdma_completion *out, int max);
    void (*cq_arm)(struct fabric_cq *cq, enum fabric_arm type);
    /* Changes the depth. Returns 0, EINVAL if depth is less than the number of queued completions, or ENOMEM. */
    int (*cq_resize)(struct fabric_cq *cq, uint32_t depth);
    /*
     * Sets the moderation: each notification is delayed until there are `count` completions or interval_us have passed.
     * If interval_us is 0 or `count` is at most 1, only the fabric's setting notify_us delays notifications. If one
     * argument is UINT32_MAX, only the other argument limits the delay. The new values also apply to a delay in
     * progress.
     */
    void (*cq_moderate)(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
    void (*cq_info)(struct fabric_cq *cq, struct fabric_cq_info *info);
    /*
     * Returns the shard that calls `notify`. If the queue has no affinity, the shard may change when the queue's first
     * queue pair is created.
     */
    struct shard *(*cq_shard)(struct fabric_cq *cq);
    /*
     * Frees the queue when no delivery is queued or running. Then the thread that owns the queue's shard calls `done`.
     * Requires that no queue pair uses the queue.
     */
    void (*cq_close)(struct fabric_cq *cq, void (*done)(void *owner));

    int (*qp_create)(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out); /* 0 or ENOMEM */
    /*
     * Posts a request. Returns 0, or queues nothing and returns:
     *   ENOSPC      the queue is full
     *   EINVAL      too many SGEs or bytes, or a receive although a shared queue supplies the receives
     *   EFAULT      an SGE is not inside its region, or the region lacks the right
     *   ENOTCONN    an initiator request without a connection; see qp_reason
     *   EOPNOTSUPP  a read on a connection that allows no reads
     * Receives may be posted at any time. Requires a reference on the queue pair until qp_post returns: the request may
     * complete earlier, and the consumer may then close the queue pair. A receive or a request with RDMA_FLAG_DEFER
     * needs no reference, because a queue pair is not freed while the post of such a request accesses it.
     */
    int (*qp_post)(struct fabric_qp *qp, const struct rdma_request *r);
    /*
     * Transmits the requests that were posted with RDMA_FLAG_DEFER. A later post without that flag also transmits them.
     * Requires a reference on the queue pair.
     */
    void (*qp_ring)(struct fabric_qp *qp);
    void (*qp_flush)(struct fabric_qp *qp);
    /*
     * Returns the reason why initiator posts return ENOTCONN, or FABRIC_OK if posts are accepted or the queue
     * pair has not been connected yet. Sets *terminate to the code of the Terminate that ended the connection, or to
     * FABRIC_NO_TERMINATE. The reason is set before posts begin to return ENOTCONN. Takes no lock. Any thread may call
     * this function.
     */
    enum fabric_reason (*qp_reason)(struct fabric_qp *qp, uint16_t *terminate);
    /* Fills *info. The values may be a moment old, and may have been read at different moments. */
    void (*qp_info)(struct fabric_qp *qp, struct fabric_qp_info *info);
    /*
     * Flushes and frees the queue pair. Then the owner of the queue pair's shard calls done(context). Requires that no
     * connection uses the queue pair.
     */
    void (*qp_close)(struct fabric_qp *qp, void (*done)(void *context), void *context);

    /* Creates the handle of a memory region or window. The tokens of that region or window belong to the handle. */
    int (*mr_create)(struct fabric *f, const void *domain, struct fabric_mr **out); /* 0 or ENOMEM */
    /* Invalidates every token of the object and refuses new tokens. Idempotent. */
    void (*mr_kill)(struct fabric_mr *mr);
    /*
     * Frees the object when nothing accesses its memory and no window is bound to it. Returns true if the object has
     * been freed. Otherwise returns false; the thread that later frees the object then calls done(context). Must be
     * called once, after mr_kill.
     */
    bool (*mr_close)(struct fabric_mr *mr, void (*done)(void *context), void *context);
    /*
     * Registers `len` bytes at `memory`. The first byte gets the address base_address. `access` is a set of enum
     * rdma_access. Sets *token to a token that differs from all recent tokens. Returns 0, ENOMEM or ENOSPC.
     */
    int (*mr_register)(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                       uint32_t *token);
    /*
     * Ends the registration that mr_register has made. Returns true if nothing accesses the memory. Otherwise returns
     * false; the thread that ends the last access then calls done(context).
     */
    bool (*mr_deregister)(struct fabric_mr *mr, void (*done)(void *context), void *context);
    /* Chooses the token that the first call of mr_prepare_pages will set. Returns 0, ENOMEM or ENOSPC. */
    int (*mr_reserve)(struct fabric_mr *mr);
    /*
     * mr_prepare_pages prepares a token for a fast registration. mr_prepare_window prepares a token for a bind to
     * [address, address + len) of the region with the token `of`. Both return 0, ENOMEM, ENOSPC, or:
     *   ECANCELED  mr_kill has been called
     *   EFAULT     pages: a page is not mapped
     *   EINVAL     pages: len is 0, or does not fit into the pages
     *   ENOENT     window: this domain has no region with the token `of`
     *   ERANGE     window: the range is empty, or not inside the region
     *   EACCES     window: `access` has remote write, but the region lacks local write
     */
    int (*mr_prepare_pages)(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token);
    int (*mr_prepare_window)(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                             uint32_t *token);
    /* Undoes mr_prepare_pages or mr_prepare_window. Must be called if the post of the request with the token fails. */
    void (*mr_unprepare)(struct fabric_mr *mr, uint32_t token);
    /* Returns the newest token, even if it has ended or was not activated. Returns 0 if there was none. */
    uint32_t (*mr_newest_token)(struct fabric_mr *mr);
    /*
     * Returns the newest token that is prepared or alive. If there is none, returns the last token that was alive, or
     * 0.
     */
    uint32_t (*mr_current_token)(struct fabric_mr *mr);
    void (*mr_info)(struct fabric_mr *mr, struct fabric_mr_info *info);

    /* Maps len bytes at memory to logical addresses. Returns 0, ENOMEM or ENOSPC. */
    int (*lam_create)(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out);
    uint64_t (*lam_page)(const struct fabric_lam *lam, uint64_t index); /* returns the page's logical address */
    void (*lam_release)(struct fabric_lam *lam);

    int (*srq_create)(struct fabric *f, const struct fabric_srq_config *c, struct fabric_srq **out); /* 0 or ENOMEM */
    int (*srq_post)(struct fabric_srq *srq, const struct rdma_request *r); /* posts a receive; see qp_post */
    /*
     * Sets depth and threshold. A value of 0 changes nothing. A new threshold arms the queue: if fewer receives than
     * the threshold are queued, `notify` is called soon. Returns 0, ENOMEM, or EINVAL if `depth` is less than the
     * number of queued receives.
     */
    int (*srq_modify)(struct fabric_srq *srq, uint32_t depth, uint32_t threshold);
    void (*srq_info)(struct fabric_srq *srq, struct fabric_srq_info *info);
    struct shard *(*srq_shard)(struct fabric_srq *srq);                   /* returns the shard that calls `notify` */
    void (*srq_close)(struct fabric_srq *srq, void (*done)(void *owner)); /* works as cq_close */

    /*
     * Creates an active connection. Returns 0 or ENOMEM. The caller must call conn_close once. `owner` must exist until
     * the event `closed`.
     */
    int (*conn_create)(struct fabric *f, const struct fabric_conn_events *events, void *owner,
                       struct fabric_conn **out);
    /*
     * conn_connect, conn_complete, conn_accept and conn_disconnect each start one step of the connection. An event
     * reports the end of that step. The provider's connector calls these functions in a valid order.
     */
    /*
     * Returns 0, or ENOMEM if nothing has started. May be called again after `connected` has reported a failure. The
     * provider does not do this: each NdkConnect has its own connection.
     */
    int (*conn_connect)(struct fabric_conn *c, const struct fabric_connect *p);
    void (*conn_complete)(struct fabric_conn *c);
    /* Returns 0, or ENOMEM if nothing has started. */
    int (*conn_accept)(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p);
    /*
     * On the passive side, refuses the peer. On the active side, gives up the connection after `connected` with OK. The
     * only event that follows is `closed`, after conn_close. Returns FABRIC_OK, or the reason why the connection can no
     * longer be rejected.
     */
    enum fabric_reason (*conn_reject)(struct fabric_conn *c, const void *private_data, size_t len);
    void (*conn_disconnect)(struct fabric_conn *c);
    /*
     * Ends the connection. If a step is in progress, cancels it: the step's event then reports LOCAL_CLOSE. The last
     * event is `closed`. May be called once, in any state. No other call for the connection may be in progress or
     * follow.
     */
    void (*conn_close)(struct fabric_conn *c);

    int (*listener_create)(struct fabric *f, const struct fabric_listener_events *events,
                           const struct fabric_conn_events *conn_events, void *owner, struct fabric_listener **out);
    void (*listener_listen)(struct fabric_listener *l, const struct addr *local);
    void (*listener_pause)(struct fabric_listener *l, bool paused);
    void (*listener_close)(struct fabric_listener *l); /* works as conn_close */
    void (*listener_info)(struct fabric_listener *l, struct fabric_listener_info *info);
    struct shard *(*listener_shard)(struct fabric_listener *l);

    /* Reserves the address. If the port is 0, chooses one and writes it to *local. */
    enum fabric_reason (*endpoint_create)(struct fabric *f, struct addr *local, struct fabric_endpoint **out);
    void (*endpoint_close)(struct fabric_endpoint *e); /* frees the address; no connection may use the endpoint */
};

struct fabric {
    const struct fabric_ops *ops;
};

#endif
