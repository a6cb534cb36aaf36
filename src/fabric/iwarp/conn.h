/* SPDX-License-Identifier: MIT */
/* Connections: the object, and what other objects request of it. conn.c has the rest. */
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
    IWARP_LEAST_MOVED = 16 * 1024, /* bytes in a time limit: a peer that moves less does not go on */
    IWARP_TURN_FRAMES = 2048, /* of one connection in one turn: a tenth of a millisecond, if they are empty */
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
enum unanswered { UNANSWERED_NOT, UNANSWERED_LIVING, UNANSWERED_GONE };

/* Upcalls of the queue pair, which may do nothing; looked at when the call that made them has returned. */
enum conn_signal {
    SIGNAL_FIRST = 1, SIGNAL_ANSWERED = 2, SIGNAL_CLOSED = 4, SIGNAL_ENDED = 8,
};

struct fabric_conn {
    struct iwarp_fabric *fabric;
    atomic_uint refs;                  /* the handle, a queued task, the socket */
    atomic_uint standing;              /* callers on the owner's stack: the owner alone writes */
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
    struct addr wanted_local, wanted_remote;
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
    bool brief;                        /* the last frame needs no lingering: the peer has nothing on its way */
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

/* conn.c: the strand, references, steps */
int iwarp_conn_create(struct fabric *f, const struct fabric_conn_events *events, void *owner, struct fabric_conn **out);
int iwarp_conn_connect(struct fabric_conn *c, const struct fabric_connect *p);
void iwarp_conn_complete(struct fabric_conn *c);
int iwarp_conn_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p);
enum fabric_reason iwarp_conn_reject(struct fabric_conn *c, const void *private_data, size_t len);
void iwarp_conn_disconnect(struct fabric_conn *c);
void iwarp_conn_close(struct fabric_conn *c);
struct shard *iwarp_conn_shard(struct fabric_conn *c);

struct fabric_conn *conn_create(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
struct fabric_conn *conn_alloc(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state);
void conn_ref(struct fabric_conn *c);
void conn_unref(struct fabric_conn *c); /* owner */
/* Owner: between them the connection is there, whatever is given back. The last one to leave ends it. */
void conn_enter(struct fabric_conn *c);
void conn_leave(struct fabric_conn *c);
void conn_step(struct fabric_conn *c, enum conn_event event, enum fabric_reason why);
/* Goes on with whatever the state can do now, until it can do no more. */
void conn_pump(struct fabric_conn *c);
void conn_drop(struct fabric_conn *c); /* an unfinished one */
/*
 * For a victim on another shard: has it dropped there, if it is still unfinished, and then resumes `waiting`, unless
 * NULL. Takes over the caller's references to both. Any thread, no lock held.
 */
void conn_request_drop(struct fabric_conn *c, struct fabric_listener *waiting);
void conn_abort(struct fabric_conn *c, enum fabric_reason why);
void conn_socket_opened(struct fabric_conn *c);
void conn_socket_closed(struct fabric_conn *c);
bool conn_is_entered(const struct fabric_conn *c);

void limit_start(struct fabric_conn *c); /* of its state, if that has one; anew if it runs */
void limit_stop(struct fabric_conn *c);
bool limit_renew(struct fabric_conn *c); /* it has passed: starts it anew and returns true if a disconnect goes on */
enum fabric_reason limit_reason(const struct fabric_conn *c); /* what it means that it has passed */

/* liveness.c */
void conn_watch_input(struct fabric_conn *c);
/* A receive turn that brought something is over. Mostly it ended between two messages. */
static inline void conn_received(struct fabric_conn *c)
{
    if (c->streams && (c->qp->srq || iw_qp_rx_is_partial(c->qp->iw)))
        conn_watch_input(c);
}
void conn_stop_watching(struct fabric_conn *c);
void conn_stalled(struct shard_timer *timer);
/* It has had its time for an unfinished send: ends it, unless the send has moved since the mark. */
void conn_check_send(struct fabric_conn *c, const struct iw_rx_mark *since);

/* effects.c */
void conn_effects(struct fabric_conn *c, unsigned effects, enum fabric_reason why);
void conn_socket_ready(struct net_socket *socket, unsigned events);

/* active.c, passive.c: establishment. stream.c: everything over a queue pair. linger.c: the last frame. */
void active_connect(struct fabric_conn *c);
void active_tcp(struct fabric_conn *c);
void active_request(struct fabric_conn *c);
void active_wait(struct fabric_conn *c);
void passive_request(struct fabric_conn *c);
void passive_wait(struct fabric_conn *c);
void passive_reply(struct fabric_conn *c);
void passive_tell(struct fabric_conn *c);
void passive_drop(struct fabric_conn *c); /* a victim, unless its request turns out to be there, or it has ended */
bool startup_send(struct fabric_conn *c, enum iw_startup_event *event); /* false: it has failed and stepped */
bool startup_receive(struct fabric_conn *c, enum iw_startup_event *event);
void stream_start(struct fabric_conn *c);
void stream_terminate(struct fabric_conn *c, enum wire_error error);
/* why: what the requests that this ends are told. */
void stream_stop(struct fabric_conn *c, enum rdma_status status, enum fabric_reason why);
void stream_resize(struct fabric_conn *c); /* the segment size may have changed */
void stream_pump(struct fabric_conn *c);
void stream_transmit(struct fabric_conn *c); /* the queue pair's doorbell */
void stream_nudge(struct shard_timer *timer);
void stream_end_input(struct fabric_conn *c); /* the end of stream has been read */
void stream_linger(struct fabric_conn *c);  /* linger.c */
void stream_hang_up(struct fabric_conn *c); /* linger.c: the end of lingering */
const struct iw_qp_events *stream_events(void);

#endif
