/* SPDX-License-Identifier: MIT */
/*
 * The seam between NDK objects (provider/) and whatever carries them. The first fabric is iwarp/: the protocol core
 * over the engine. Others, such as one over RDMA devices, can follow without a change above this line: nothing in here
 * is of one transport alone. fabric/host.h selects an adapter's fabric.
 *
 * All functions may be called by any thread, at any time up to DISPATCH_LEVEL, and never block, unless said otherwise.
 * Upcalls are of two kinds:
 *   events (struct fabric_conn_events, fabric_listener_events): made by the owner of the object's shard with the token
 *     held. The receiver updates its own state under its own leaf lock, queues consumer callbacks with call, and
 *     may call fabric functions. It must not block nor call the consumer.
 *   deliveries (fabric_cq_config.notify): made in callback context: nothing held, on the shard's thread.
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
struct fabric_endpoint; /* a shared endpoint's address */

/*
 * Why something about a connection failed or ended. One value for each cause that a consumer or its author can tell
 * apart.
 */
enum fabric_reason {
    FABRIC_OK,
    FABRIC_NO_ROUTE,         /* no route to the network */
    FABRIC_NO_HOST,          /* no neighbour, ICMP host unreachable */
    FABRIC_REFUSED,          /* nobody listens */
    FABRIC_REJECTED,         /* the peer rejected; private data may be there */
    FABRIC_CONNECT_TIMEOUT,  /* the peer's host did not answer */
    FABRIC_REPLY_TIMEOUT,    /* the host answered, but the request had no reply in time */
    FABRIC_ESTABLISH_TIMEOUT, /* ready-to-receive did not come, leave or get its answer in time */
    FABRIC_DISCONNECT_TIMEOUT,
    FABRIC_ADDRESS_TAKEN,    /* local address in use */
    FABRIC_ADDRESS_FOREIGN,  /* not an address of the adapter */
    FABRIC_PORTS_EXHAUSTED,
    FABRIC_FOUR_TUPLE,       /* that very connection lives already */
    FABRIC_PORT_FORBIDDEN,   /* the user may not bind the local port */
    FABRIC_PROHIBITED,       /* a packet filter, a router or a route forbids the connection */
    FABRIC_NO_PROTOCOL,      /* ICMP: the peer's host does not take such packets */
    FABRIC_SYSTEM,           /* an errno that has no reason of its own */
    FABRIC_RESOURCES,        /* memory or descriptors */
    FABRIC_PEER_RESET,       /* reset by the peer, or its process died */
    FABRIC_PEER_CLOSED,      /* graceful notice by the peer */
    FABRIC_PEER_GAVE_UP,     /* end of stream during establishment */
    FABRIC_PEER_TERMINATE,   /* the peer ended it with a Terminate message */
    FABRIC_PROTOCOL,         /* the peer violated the protocol; we ended it */
    FABRIC_BAD_REPLY,        /* the answer to our request is not a valid reply */
    FABRIC_READ_LIMITS,      /* the reply wants more reads than offered */
    FABRIC_NO_READY_FORM,    /* the reply chose a ready-to-receive form that was not offered */
    FABRIC_NOT_CONNECTING,   /* complete or accept at the wrong time */
    FABRIC_LOCAL_CLOSE,      /* cancelled by the local side's close */
    FABRIC_LOCAL_ERROR,      /* a local request could not be carried out (memory gone under it) */
    FABRIC_LOCAL_FLUSH,      /* by a flush, or the queue pair's close */
    FABRIC_LOCAL_DISCONNECT, /* by the local side's disconnect */
    FABRIC_CQ_OVERFLOW,      /* more completed than a completion queue holds */
    FABRIC_PEER_SILENT,      /* the peer's host acknowledged nothing for too long */
    FABRIC_FRAME_STALLED,    /* the peer began a frame and did not finish it in time */
    FABRIC_MESSAGE_STALLED,  /* the same of a message */
    FABRIC_SRQ_SHARE,        /* the same, earlier: unfinished messages held too many shared receives */
    FABRIC_INTERFACE_GONE,   /* the adapter's network interface was deleted, or left the network namespace */
    /* Of requests alone. */
    FABRIC_TOKEN,            /* an own token is unknown, or no longer valid */
    FABRIC_TOKEN_DOMAIN,     /* it is of another protection domain */
    FABRIC_TOKEN_RIGHT,      /* it lacks the right */
    FABRIC_TOKEN_RANGE,      /* the range is not inside its region */
    FABRIC_REGION_GONE,      /* a registration or bind whose own memory has gone meanwhile */
    FABRIC_TOKEN_LASTING,    /* it cannot be invalidated: not by a fast registration or bind */
    FABRIC_RECEIVE_SHORT,    /* a message longer than the receive */
    FABRIC_PEER_TOKEN,       /* the peer's: token or right; its Terminate says which */
    FABRIC_PEER_RANGE,       /* the range is not inside the peer's region */
    FABRIC_REASON_COUNT
};
const char *fabric_reason_name(enum fabric_reason r);

/*
 * The code of the Terminate message, ours or the peer's, that ended a connection or request: layer, error type and
 * error code as on the wire. A fabric without such messages never has one.
 */
enum { FABRIC_NO_TERMINATE = 0xffff };
struct fabric_terminate {
    uint16_t code;
    const char *name, *text, *advice;
};
/* All codes that the protocol names; *count of them. */
const struct fabric_terminate *fabric_terminates(unsigned *count);

/* ---- completion queues ---- */

enum fabric_arm { FABRIC_ARM_NONE, FABRIC_ARM_ERRORS, FABRIC_ARM_SOLICITED, FABRIC_ARM_ANY }; /* in rising order */

struct fabric_cq_config {
    uint32_t depth;
    int affinity;  /* preferred processor, or -1: that of the queue pair that uses it first */
    /*
     * Delivery, in callback context, at most once for each arm: the event fell due. Overflow: the queue has overflowed,
     * which meets an arm of any type; the queue and its queue pairs are unusable. Never overlaps itself for one queue.
     */
    void (*notify)(void *owner, bool overflow);
    void *owner;
};

/* ---- queue pairs ---- */

/* The token that names logical addresses. No region's token is ever zero. */
enum { FABRIC_PRIVILEGED_TOKEN = 0 };

struct fabric_srq_config {
    uint32_t depth, sges;
    uint32_t threshold; /* 0: not armed */
    int affinity;
    const void *domain;
    /* Delivery, in callback context: fewer than the threshold are queued. Never overlaps itself. */
    void (*notify)(void *owner);
    void *owner;
};

struct fabric_qp_config {
    struct fabric_cq *receive_cq, *initiator_cq;
    const void *domain; /* regions registered with the same domain are usable */
    uint32_t receive_depth, initiator_depth, receive_sges, initiator_sges, inline_size;
    void *qp_context;
    struct fabric_srq *srq; /* receives come from it; or NULL */
};

/* ---- connections ---- */

struct fabric_limits {
    uint16_t inbound, outbound;
};

/* What the peer said, and who is who. Valid during the event only. */
struct fabric_peer {
    struct fabric_limits limits;
    const void *private_data;
    size_t private_len;
    struct addr local, remote;
};

/* terminate: the code of the Terminate, ours or the peer's, that ended the connection, else FABRIC_NO_TERMINATE. */
struct fabric_conn_events {
    /* NdkConnect's end. OK: the peer accepted. REJECTED: peer->private_data. Others: peer NULL. */
    void (*connected)(void *owner, enum fabric_reason why, const struct fabric_peer *peer);
    /* The end of complete (active) or accept (passive). After OK the queue pair takes requests. limits: effective. */
    void (*established)(void *owner, enum fabric_reason why, uint16_t terminate, const struct fabric_limits *limits);
    /* After established OK, once at most: the peer's notice (PEER_CLOSED) or an abrupt end (others). */
    void (*peer_ended)(void *owner, enum fabric_reason why, uint16_t terminate);
    /* The end of disconnect: nothing reads or writes memory any more, the queue pair has been flushed. */
    void (*disconnected)(void *owner, enum fabric_reason why, uint16_t terminate);
    /* Last: the connection is gone, its address free. No event after it; the handle is invalid. */
    void (*closed)(void *owner);
};

struct fabric_connect {
    struct fabric_qp *qp;
    struct addr local;                /* port 0: any from 49152-65535 */
    struct fabric_endpoint *endpoint; /* instead of local; the caller keeps it until closed() */
    struct addr remote;
    struct fabric_limits limits;
    const void *private_data;         /* copied by the call */
    size_t private_len;
};

struct fabric_accept {
    struct fabric_qp *qp;
    struct fabric_limits limits;
    const void *private_data;         /* copied by the call */
    size_t private_len;
};

struct fabric_listener_events {
    void (*listening)(void *owner, enum fabric_reason why, const struct addr *local); /* the end of listen */
    /*
     * A complete, valid request. The receiver becomes the owner by returning its own object (events of the connection
     * go to it); NULL refuses the peer. The connection holds the listener's address until it is closed.
     */
    void *(*request)(void *owner, struct fabric_conn *conn, const struct fabric_peer *peer);
    void (*closed)(void *owner); /* last: no event after it; the address is held on by living connections alone */
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

/* What a fabric has done so far; a value may be a moment old. */
struct fabric_counters {
    uint64_t connects, accepts; /* connections that were established, by role */
    uint64_t failures;          /* connects and accepts that were not */
    uint64_t refused, dropped;  /* requests and peers that no consumer saw */
    uint64_t active;            /* connections that are established at the moment */
    uint64_t connection_errors; /* that ended otherwise than by a notice or this side's close */
    uint64_t cq_errors;         /* completion queues that overflowed */
    uint64_t in_bytes, out_bytes, in_frames, out_frames;
};

struct fabric_ops {
    void (*counters)(const struct fabric *f, struct fabric_counters *c);
    void (*destroy)(struct fabric *f); /* blocks; nothing lives on it any more */
    void (*info)(const struct fabric *f, struct fabric_info *info);
    bool (*owns_address)(struct fabric *f, const struct addr *a);
    struct shard *(*home)(struct fabric *f); /* a shard for callbacks of objects without one of their own */
    /* Queues a callback. It runs on the shard's thread, with nothing held, after those queued before it. */
    void (*call)(struct shard *s, struct task *task);
    uint64_t (*now)(struct fabric *f); /* nanoseconds, monotonic */
    /* Blocks until the gate is open. Returns false if `now` reaches the deadline first; UINT64_MAX: none. */
    bool (*wait)(struct fabric *f, struct gate *g, uint64_t deadline);

    int (*cq_create)(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out); /* 0 or ENOMEM */
    int (*cq_poll)(struct fabric_cq *cq, struct rdma_completion *out, int max);
    void (*cq_arm)(struct fabric_cq *cq, enum fabric_arm type);
    int (*cq_resize)(struct fabric_cq *cq, uint32_t depth); /* 0, EINVAL below what is queued, ENOMEM */
    /*
     * A notification that an arm asks for may wait for `count` completions, or interval_us, whichever comes first.
     * interval_us 0 or count at most 1: never; UINT32_MAX in one of them: the other alone. Also what waits now.
     */
    void (*cq_moderate)(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
    /* Where it tells; of one without affinity this changes once, with its first queue pair. */
    struct shard *(*cq_shard)(struct fabric_cq *cq);
    /* No queue pair uses it. done: in owner context, when no delivery is queued or running; then it is gone. */
    void (*cq_close)(struct fabric_cq *cq, void (*done)(void *owner));

    int (*qp_create)(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out); /* 0 or ENOMEM */
    /*
     * 0, or nothing was queued: ENOSPC: the queue is full; EINVAL: too many SGEs, too many bytes, or a receive if
     * receives come from a shared queue; EFAULT: an SGE is not inside its region, or lacks the right. Receives may be
     * posted at any time. Other requests: ENOTCONN: no connection, see qp_reason. Reads: EOPNOTSUPP: the connection
     * allows none.
     * Once it is queued the request may complete, and the consumer close the queue pair. The caller must keep the queue
     * pair until this returns, except for a receive and with RDMA_FLAG_DEFER: these posts do not touch it any more, or
     * qp_close waits for them.
     */
    int (*qp_post)(struct fabric_qp *qp, const struct rdma_request *r);
    /* What was deferred goes now: an initiator request was refused, by a post or before one. The caller holds it. */
    void (*qp_release)(struct fabric_qp *qp);
    void (*qp_flush)(struct fabric_qp *qp);
    /*
     * Why initiator posts answer ENOTCONN, from before the first that does; FABRIC_OK: because no connection has come
     * so far, or they are taken. *terminate: the Terminate that had a part in it. Any thread; touches no lock.
     */
    enum fabric_reason (*qp_reason)(struct fabric_qp *qp, uint16_t *terminate);
    /*
     * Flushes; no connection uses it. done(context): in owner context, when everything has been completed; then gone.
     */
    void (*qp_close)(struct fabric_qp *qp, void (*done)(void *context), void *context);

    /*
     * A memory region or window: where its tokens belong. Its end: mr_kill, then mr_close, after which done(context) is
     * called once, by whatever thread, when nothing touches the memory and no window is bound to it any more; true:
     * now.
     */
    int (*mr_create)(struct fabric *f, const void *domain, struct fabric_mr **out); /* 0 or ENOMEM */
    void (*mr_kill)(struct fabric_mr *mr); /* no token works any more, none is made; may be called again */
    bool (*mr_close)(struct fabric_mr *mr, void (*done)(void *context), void *context);
    /* access: enum rdma_access. 0, ENOMEM, ENOSPC. The token differs from every recent one. */
    int (*mr_register)(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                       uint32_t *token);
    /* What mr_register made. True: done now. False: done(context) once, when nothing touches the memory any more. */
    bool (*mr_deregister)(struct fabric_mr *mr, void (*done)(void *context), void *context);
    /*
     * Prepare a token for a fast registration or a bind. 0, ENOMEM, ENOSPC, or ECANCELED: mr_kill was called. Pages:
     * EFAULT: not mapped; EINVAL: len does not fit into them. Window over [address, address + len) of the region that
     * the token `of` names: ENOENT: no such region in this domain, or it is a window; ERANGE: not inside it; EACCES: it
     * lacks the right, which for remote write includes local write. mr_discard: the request was not posted.
     */
    int (*mr_reserve)(struct fabric_mr *mr); /* fixes the first mr_prepare_pages' token: 0, ENOMEM, ENOSPC */
    int (*mr_prepare_pages)(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token);
    int (*mr_prepare_window)(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                             uint32_t *token);
    void (*mr_discard)(struct fabric_mr *mr, uint32_t token);
    /*
     * Its tokens replace each other in the order in which they were made. mr_token: the newest, whatever became of it;
     * mr_current: the newest that is prepared or alive; where there is none, the last that was alive. 0: none was.
     */
    uint32_t (*mr_token)(struct fabric_mr *mr);
    uint32_t (*mr_current)(struct fabric_mr *mr);

    /* Logical addresses of len bytes at memory: 0, ENOMEM, ENOSPC. lam_page: of the index-th page, page-aligned. */
    int (*lam_create)(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out);
    uint64_t (*lam_page)(const struct fabric_lam *lam, uint64_t index);
    void (*lam_release)(struct fabric_lam *lam);

    int (*srq_create)(struct fabric *f, const struct fabric_srq_config *c, struct fabric_srq **out); /* 0 or ENOMEM */
    int (*srq_post)(struct fabric_srq *srq, const struct rdma_request *r); /* a receive: as qp_post */
    /*
     * depth 0: unchanged; EINVAL: more are queued; ENOMEM. threshold 0: unchanged; else it is armed, and notified at
     * once if fewer are queued.
     */
    int (*srq_modify)(struct fabric_srq *srq, uint32_t depth, uint32_t threshold);
    struct shard *(*srq_shard)(struct fabric_srq *srq);
    /* No queue pair uses it. done: in owner context, when no delivery is queued or running; then it is gone. */
    void (*srq_close)(struct fabric_srq *srq, void (*done)(void *owner));

    int (*conn_create)(struct fabric *f, const struct fabric_conn_events *events, void *owner,
                       struct fabric_conn **out);
    /* Each starts one step, answered by its event. The caller (the connector's machine) keeps them in order. */
    int (*conn_connect)(struct fabric_conn *c, const struct fabric_connect *p); /* 0 or ENOMEM: nothing started */
    void (*conn_complete)(struct fabric_conn *c);
    int (*conn_accept)(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p);
    /* Passive: refuses. Active after connected OK: ends establishment. No event but closed after conn_close. */
    enum fabric_reason (*conn_reject)(struct fabric_conn *c, const void *private_data, size_t len);
    void (*conn_disconnect)(struct fabric_conn *c);
    /*
     * In any state, once: ends what is under way (connected, established, disconnected with LOCAL_CLOSE), then closed.
     * The caller sees to it that no other call of his on the connection is under way, and that none follows.
     */
    void (*conn_close)(struct fabric_conn *c);
    struct shard *(*conn_shard)(struct fabric_conn *c); /* where its events come from now */

    int (*listener_create)(struct fabric *f, const struct fabric_listener_events *events,
                           const struct fabric_conn_events *conn_events, void *owner, struct fabric_listener **out);
    void (*listener_listen)(struct fabric_listener *l, const struct addr *local);
    void (*listener_pause)(struct fabric_listener *l, bool paused);
    void (*listener_close)(struct fabric_listener *l); /* once, likewise */
    struct shard *(*listener_shard)(struct fabric_listener *l);

    /* Reserves the address at once (port 0: chooses one and writes it to *local). */
    enum fabric_reason (*endpoint_create)(struct fabric *f, struct addr *local, struct fabric_endpoint **out);
    void (*endpoint_close)(struct fabric_endpoint *e); /* no connection uses it any more: the address is free */
};

struct fabric {
    const struct fabric_ops *ops;
};

#endif
