/* SPDX-License-Identifier: MIT */
/*
 * Connections: the struct, and the functions that other objects call. Invariant: a member is written only by the files
 * that the table in conn.c names for it.
 */
#ifndef FABRIC_IWARP_CONN_H
#define FABRIC_IWARP_CONN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/spin.h"
#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/conn_table.h"
#include "fabric/iwarp/qp.h"
#include "fabric/iwarp/unfinished.h"
#include "iwarp/qp.h"
#include "iwarp/startup.h"
#include "wire/mpa.h"

enum {
    IWARP_MIN_PROGRESS = 16 * 1024, /* within a time limit a peer must move this many bytes, or all that remain */
    IWARP_MAX_TURN_FPDUS = 2048, /* maximum number of FPDUs in one turn of a connection; 2048 empty FPDUs take 100 us */
};

static inline size_t iwarp_iov_len(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

enum conn_op {
    OP_CONNECT = 1,
    OP_ACCEPT = 2,
    OP_REJECT = 4,
    OP_COMPLETE = 8,
    OP_DISCONNECT = 16,
    OP_CLOSE = 32,
    OP_DROP = 64,
};

/* The counter of unanswered requests (listener.c) in which the listener counts the connection; NOT: in none. */
enum unanswered { UNANSWERED_NOT, UNANSWERED_LIVE, UNANSWERED_ABANDONED };

/* Events that the queue pair's upcalls record in `signals`. stream.c processes them after the upcalls have returned. */
enum conn_signal {
    SIGNAL_FIRST = 1,
    SIGNAL_ANSWERED = 2,
    SIGNAL_CLOSED = 4,
    SIGNAL_ENDED = 8,
};

struct fabric_conn {
    struct iwarp_fabric *fabric;
    uint32_t number;  /* unique in the process, for the trace */
    atomic_uint refs; /* conn_object.c lists the owners of references */
    /* Guards `ops`, the arguments of the ops, `scheduled` and `posted_to`; held while `home` or `state` is written. */
    struct spin lock;
    unsigned ops;
    bool scheduled;
    atomic_int unanswered;         /* enum unanswered */
    struct iwarp_shard *posted_to; /* the shard on which the task is queued */
    struct iwarp_shard *home;
    enum conn_state state;
    /* Why the connection ended. FABRIC_NOT_CONNECTING until the connection is in CONN_DEAD or CONN_LINGERING. */
    enum fabric_reason ended;
    /* Arguments of the requests in `ops`: */
    struct fabric_qp *qp;
    const struct fabric_conn_events *accept_events;
    struct fabric_endpoint *endpoint;
    struct addr connect_local, connect_remote;
    struct fabric_limits limits;
    size_t private_len;               /* bytes in private_data */
    struct fabric_listener *drop_for; /* the listener that OP_DROP resumes, or NULL */
    /* Only the thread that has the home shard's token uses the members from here on: */
    const struct fabric_conn_events *events;
    void *owner;
    bool active;
    struct task task;
    struct shard_timer timer, nudge;
    struct shard_timer stall; /* armed when a receive turn ends inside an FPDU or a message */
    struct iw_rx_mark mark;   /* the input's position when `stall` was armed */
    TAILQ_ENTRY(fabric_conn) shard_link;
    struct net_socket socket;
    struct net_reservation *reservation; /* reserves `local`; released when c is closed or the connect has failed */
    struct fabric_listener *listener;
    TAILQ_ENTRY(fabric_conn) unfinished_link;
    bool is_unfinished;           /* c is in listener->unfinished */
    struct unfinished unfinished; /* guarded by the lock of the table in unfinished.c */
    struct addr local, remote;
    struct iw_startup *startup;
    struct iw_startup_result result;
    bool has_socket, streams, readable, blocked, shut, eof;
    bool short_linger; /* the last frame rejects a valid request, so SHORT_LINGER_MS limits the lingering */
    bool sent_all;     /* the queue pair has nothing that can be sent now */
    unsigned signals;
    enum iw_end end;
    uint16_t terminate;          /* the Terminate that ended the connection, or FABRIC_NO_TERMINATE */
    uint64_t progress;           /* bytes that the disconnect had moved when its time limit was last renewed */
    bool measured;               /* `progress` is valid */
    struct iw_counters counted;  /* the queue pair's counters when they were last added to the shard's counts */
    struct iw_counters at_start; /* the queue pair's counters when the stream began */
    unsigned nudges_left;
    uint8_t traced_by;      /* a bit for each trace recorder that has recorded the addresses of c */
    uint64_t send_began_ns; /* conn_trace.h: when the last write to the socket began; 0: unknown */
    size_t early_len;       /* bytes in `early`; they were read before the queue pair owned the stream */
    /* conn_alloc does not clear these two members: */
    uint8_t early[128];
    uint8_t private_data[MPA_MAX_PRIVATE_DATA];
};

static inline struct fabric_agreement conn_agreement(const struct fabric_conn *c)
{
    return (struct fabric_agreement){ .revision = c->result.revision, .has_crc = c->result.crc };
}

/* conn.c: functions that the provider calls through struct fabric_ops. fabric.h describes them. */
int iwarp_conn_create(struct fabric *f, const struct fabric_conn_events *events, void *owner, struct fabric_conn **out);
int iwarp_conn_connect(struct fabric_conn *c, const struct fabric_connect *p);
void iwarp_conn_complete(struct fabric_conn *c);
int iwarp_conn_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p);
enum fabric_reason iwarp_conn_reject(struct fabric_conn *c, const void *private_data, size_t len);
void iwarp_conn_disconnect(struct fabric_conn *c);
void iwarp_conn_close(struct fabric_conn *c);

/* conn.c: functions that other objects call. Unless stated otherwise, the caller must have the token of c's shard. */

/* Creates a connection, also for listeners. Returns NULL if out of memory. */
struct fabric_conn *conn_create(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
/* Starts a connection whose accepted socket is c->socket. Called by listeners. */
void conn_adopted(struct fabric_conn *c);
/* Reads the socket, which may have input, and processes the input. */
void conn_read(struct fabric_conn *c);
/* Ends the connection for the reason `why`. Requires a state in which the event CONN_LOST is allowed. */
void conn_lose(struct fabric_conn *c, enum fabric_reason why);
/*
 * Drops c, which unfinished_pop_victim has returned. Does nothing if c is no longer unfinished or its request has
 * arrived.
 */
void conn_drop_victim(struct fabric_conn *c);
/*
 * Posts the task of c to the home shard of c. The task calls conn_drop_victim, and then listener_resume if `waiting` is
 * not NULL. The task takes over the caller's references on c and `waiting`. Used if the caller is not the owner of the
 * home shard. Any thread may call this function. The caller must not hold a lock.
 */
void conn_request_drop(struct fabric_conn *c, struct fabric_listener *waiting);
/* Sends posted requests. If a flush has ended the stream, processes the end of the stream. Called by queue pairs. */
void conn_transmit(struct fabric_conn *c);
/* Ends the connection if it is established or being established. Called by queue pairs. */
void conn_abort(struct fabric_conn *c, enum fabric_reason why);
/*
 * Called by shared receive queues: ends c if the peer's send has stalled. First reads the input that waits in the
 * socket. The send has stalled if it was incomplete at the mark `since` and still is, and too few of its bytes have
 * arrived after the mark.
 */
void conn_check_send(struct fabric_conn *c, const struct iw_rx_mark *since);

/* stream.c: the functions that a queue pair's protocol core calls */
extern const struct iw_qp_events stream_events;

/* conn_object.c */
struct fabric_conn *conn_alloc(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
void conn_set_number(struct fabric_conn *c); /* called by iwarp_conn_create and conn_adopted */
void conn_ref(struct fabric_conn *c);        /* any thread */
void conn_unref(struct fabric_conn *c); /* called by any thread, but only the owner may release the last reference */
/*
 * conn_socket_opened adds c to its home shard's list of connections with a socket. conn_socket_closed removes c from
 * the list.
 */
void conn_socket_opened(struct fabric_conn *c);
void conn_socket_closed(struct fabric_conn *c);

#endif
