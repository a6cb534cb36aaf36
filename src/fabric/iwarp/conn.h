/* SPDX-License-Identifier: MIT */
/* Connections: the object, and what other objects request of it. conn.c says which file does what. */
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
    IWARP_MIN_PROGRESS = 16 * 1024, /* bytes in a time limit: a peer that moves less does not go on */
    IWARP_MAX_TURN_FPDUS = 2048, /* of one connection in one turn: a tenth of a millisecond, if they are empty */
};

static inline size_t iwarp_iov_len(const struct iovec *iov, int n)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += iov[i].iov_len;
    return sum;
}

enum conn_op {
    OP_CONNECT = 1, OP_ACCEPT = 2, OP_REJECT = 4, OP_COMPLETE = 8, OP_DISCONNECT = 16, OP_CLOSE = 32, OP_DROP = 64,
};

/* How a request counts among those that the consumer has not answered. */
enum unanswered { UNANSWERED_NOT, UNANSWERED_LIVE, UNANSWERED_ABANDONED };

/* Upcalls of the queue pair, which may do nothing; looked at when the call that made them has returned. */
enum conn_signal {
    SIGNAL_FIRST = 1, SIGNAL_ANSWERED = 2, SIGNAL_CLOSED = 4, SIGNAL_ENDED = 8,
};

struct fabric_conn {
    struct iwarp_fabric *fabric;
    atomic_uint refs;                  /* the handle, a queued task, the socket */
    atomic_uint entries;              /* callers on the owner's stack: the owner alone writes */
    struct spin lock;                  /* guards ops, scheduled, posted_to, what ops carry; and writing home, state */
    unsigned ops;
    bool scheduled;
    atomic_int unanswered;             /* enum unanswered */
    struct iwarp_shard *posted_to;     /* where the task is queued */
    struct iwarp_shard *home;
    enum conn_state state;
    enum fabric_reason ended;          /* why it was over, from DEAD or LINGERING on */
    /* What ops carry: */
    struct fabric_qp *qp;
    const struct fabric_conn_events *accept_events;
    struct fabric_endpoint *endpoint;
    struct addr connect_local, connect_remote;
    struct fabric_limits limits;
    size_t private_len;                /* of private_data, below */
    struct fabric_listener *drop_for;  /* is resumed by OP_DROP; or NULL */
    /* owner: */
    const struct fabric_conn_events *events;
    void *owner;
    bool active;
    struct task task;
    struct shard_timer timer, nudge;
    struct shard_timer stall;          /* armed where a receive turn ended inside an FPDU or a message */
    struct iw_rx_mark mark;            /* when it was armed */
    TAILQ_ENTRY(fabric_conn) shard_link;
    struct net_socket socket;
    struct net_reservation *reservation; /* the local address, till closed */
    struct fabric_listener *listener;
    TAILQ_ENTRY(fabric_conn) unfinished_link;
    bool is_unfinished;                /* in the listener's list */
    struct unfinished unfinished;      /* guarded by the table's lock */
    struct addr local, remote;
    struct iw_startup *startup;
    struct iw_startup_result result;
    bool has_socket, streams, readable, blocked, shut, eof;
    bool short_linger;                        /* the last frame needs no lingering: the peer has nothing on its way */
    bool sent_all;                     /* nothing is left that could be sent now */
    unsigned signals;
    enum iw_end end;
    uint16_t terminate;                /* the Terminate that ended it, or FABRIC_NO_TERMINATE */
    uint64_t progress;                 /* of a disconnect, when its time limit was started (measured) */
    bool measured;
    struct iw_counters counted;        /* of the queue pair, as already added to the shard's counts */
    struct iw_counters at_start;
    unsigned nudges_left;
    size_t early_len;                  /* of early: bytes that came before complete */
    /* Not cleared when the connection is made: */
    uint8_t early[128];
    uint8_t private_data[MPA_MAX_PRIVATE_DATA];
};

/* conn.c, which the provider calls */
int iwarp_conn_create(struct fabric *f, const struct fabric_conn_events *events, void *owner, struct fabric_conn **out);
int iwarp_conn_connect(struct fabric_conn *c, const struct fabric_connect *p);
void iwarp_conn_complete(struct fabric_conn *c);
int iwarp_conn_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p);
enum fabric_reason iwarp_conn_reject(struct fabric_conn *c, const void *private_data, size_t len);
void iwarp_conn_disconnect(struct fabric_conn *c);
void iwarp_conn_close(struct fabric_conn *c);
struct shard *iwarp_conn_shard(struct fabric_conn *c);

/* conn.c, which other objects call. The owner, unless another thread is allowed. */

/* For listeners. NULL: out of memory. */
struct fabric_conn *conn_create(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
/* Its socket has been accepted. */
void conn_adopted(struct fabric_conn *c);
/* Input has come, or may have. */
void conn_read(struct fabric_conn *c);
/* The connection ends in whatever state, for this reason. */
void conn_lose(struct fabric_conn *c, enum fabric_reason why);
/* Drops a victim, unless its request turns out to be there, or it has ended. */
void conn_drop_victim(struct fabric_conn *c);
/*
 * For a victim on another shard: has it dropped there, if it is still unfinished, and then resumes `waiting`, unless
 * NULL. Takes over the caller's references to both. Any thread, no lock held.
 */
void conn_request_drop(struct fabric_conn *c, struct fabric_listener *waiting);
/* For queue pairs: requests wait to be sent, or a flush may have ended the stream. */
void conn_transmit(struct fabric_conn *c);
/* For queue pairs: an established connection, or one that is being established, ends. */
void conn_abort(struct fabric_conn *c, enum fabric_reason why);
/* For shared receive queues: a send that is unfinished since the mark has had its time, and ends c if it stalls. */
void conn_check_send(struct fabric_conn *c, const struct iw_rx_mark *since);

/* stream.c: what a queue pair's core calls */
const struct iw_qp_events *stream_events(void);

/* conn_object.c */
struct fabric_conn *conn_alloc(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
void conn_ref(struct fabric_conn *c); /* any thread */
void conn_unref(struct fabric_conn *c);
/* Between them the connection is there, whatever is given back. The last one to leave ends it. */
void conn_enter(struct fabric_conn *c);
void conn_exit(struct fabric_conn *c);
bool conn_is_entered(const struct fabric_conn *c); /* any thread */
/* The home shard's list has connections with a socket. */
void conn_socket_opened(struct fabric_conn *c);
void conn_socket_closed(struct fabric_conn *c);

#endif
