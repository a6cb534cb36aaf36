/* SPDX-License-Identifier: MIT */
/*
 * The insides of the iWARP fabric. What each struct's members are guarded by stands beside them: "owner" is the owner
 * of the object's home shard (token held); "lock" is the object's own spin lock, a leaf.
 */
#ifndef FABRIC_IWARP_INTERNAL_H
#define FABRIC_IWARP_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/spin.h"
#include "engine/net.h"
#include "engine/shard.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/conn_table.h"
#include "fabric/iwarp/iwarp_fabric.h"
#include "fabric/iwarp/unfinished.h"
#include "iwarp/memory.h"
#include "iwarp/qp.h"
#include "iwarp/startup.h"
#include "wire/mpa.h"

enum {
    IWARP_SHARDS_MAX = 64,
    IWARP_LINGER_MS = 1000,  /* a last frame may take this long to be read by the peer */
    IWARP_BRIEF_MS = 25,     /* the same for a reject */
    IWARP_NUDGES = 6,
    IWARP_SINK = 16384,      /* input of a connection that is over goes here */
};

/* Counts with one writer, the shard's owner, and any readers; but for COUNT_CQ_ERRORS, which any thread adds to. */
enum iwarp_count_kind {
    COUNT_CONNECTS, COUNT_ACCEPTS, COUNT_FAILURES, COUNT_REFUSED, COUNT_DROPPED,
    COUNT_ACTIVE, COUNT_CONNECTION_ERRORS, COUNT_CQ_ERRORS,
    COUNT_FPDUS_SENT, COUNT_FPDUS_RECEIVED, COUNT_OCTETS_SENT, COUNT_OCTETS_RECEIVED,
    SHARD_COUNTS
};

TAILQ_HEAD(conn_list, fabric_conn);

struct iwarp_shard {
    struct shard *shard;
    struct conn_list conns;     /* owner; those with a socket */
    struct task interface_gone;
    struct iw_scratch *scratch; /* owner */
    uint8_t *sink;              /* owner; IWARP_SINK bytes, never read */
    _Alignas(64) _Atomic uint64_t counts[SHARD_COUNTS];
};

static inline void iwarp_count(struct iwarp_shard *s, enum iwarp_count_kind what, uint64_t n)
{
    uint64_t now = atomic_load_explicit(&s->counts[what], memory_order_relaxed);
    atomic_store_explicit(&s->counts[what], now + n, memory_order_relaxed);
}

/* A queue overflows under the hand of whoever completes a request, which may be another shard's owner. */
static inline void iwarp_count_cq_error(struct iwarp_shard *s)
{
    atomic_fetch_add_explicit(&s->counts[COUNT_CQ_ERRORS], 1, memory_order_relaxed);
}

struct iwarp_fabric {
    struct fabric base;
    struct executor *executor;
    struct net *net;
    struct interfaces *interfaces;
    uint32_t if_index;
    struct fabric_config config;
    struct net_liveness liveness; /* of config */
    struct mem_table *memory;
    unsigned shard_count;
    struct iwarp_shard *shards;
    atomic_uint next_cq, next_srq, next_listener; /* round-robin, each by itself: the first of each are together */
    struct net_socket interface; /* the first shard's owner; reports the end of the adapter's interface */
    bool watches;                /* it is open */
};

struct iwarp_shard *iwarp_pick_shard(struct iwarp_fabric *f, atomic_uint *turn);
/* The shard for a preferred processor; round-robin for -1. */
struct iwarp_shard *iwarp_home(struct iwarp_fabric *f, int affinity, atomic_uint *turn);
/* OK or ADDRESS_FOREIGN. RESOURCES or SYSTEM if that could not be found out. */
enum fabric_reason iwarp_owns(struct iwarp_fabric *f, const struct addr *a);

/* errno to reason. Each maps every errno. */
enum fabric_reason iwarp_reason_reserve(int error);
enum fabric_reason iwarp_reason_listen(int error); /* at a reserved address */
enum fabric_reason iwarp_reason_connect(int error);
enum fabric_reason iwarp_reason_stream(int error); /* of send and recv */
enum fabric_reason iwarp_reason_end(enum iw_end end);
/* end: how the stream ended. stopped: why it was stopped or flushed if it did not end by itself. */
enum fabric_reason iwarp_reason_completion(const struct rdma_completion *c, enum iw_end end,
                                           enum fabric_reason stopped);

/* interface.c. Both may block. 0 or errno. */
int iwarp_interface_watch(struct iwarp_fabric *f);
void iwarp_interface_unwatch(struct iwarp_fabric *f);

/* ---- what an object tells its consumer (delivery.c) ---- */

struct delivery {
    struct iwarp_shard *home;
    void (*tell)(struct delivery *d, unsigned due); /* callback context; never overlaps itself */
    void (*gone)(struct delivery *d);               /* owner */
    struct task task, close;
    struct spin lock;                               /* guards everything below */
    unsigned due;
    bool queued, running, closing;
};

void delivery_init(struct delivery *d, struct iwarp_shard *home, void (*tell)(struct delivery *d, unsigned due),
                   void (*gone)(struct delivery *d));
void delivery_move(struct delivery *d, struct iwarp_shard *home); /* nothing has been added yet */
void delivery_add(struct delivery *d, unsigned due); /* bits, which are told together; any thread */
/* Nothing is told from now on but what is being told; then gone, in owner context. No add is under way or follows. */
void delivery_close(struct delivery *d);

/* ---- completion queues (cq.c) ---- */

enum {
    IWARP_BEHIND = 2,   /* results that a consumer has not read: it is busy, and will look */
    IWARP_LEAST_MOVED = 16 * 1024, /* bytes in a time limit: a peer that moves less does not go on */
    IWARP_TURN_FRAMES = 2048, /* of one connection in one turn: a tenth of a millisecond, if they are empty */
    IWARP_PATIENCE = 4, /* polls of one that stays behind */
    IWARP_MANY = 32,    /* requests that left at once: their consumer fills its window, and will again */
};

struct fabric_cq {
    _Atomic(struct iwarp_shard *) home; /* NULL until it is decided, see iwarp_cq_settle; written under lock */
    struct fabric_cq_config config;
    atomic_bool dead;              /* overflowed; written under lock */
    atomic_uint left;              /* requests wait: after so many polls at most one drives the shard */
    atomic_uint empty_polls;       /* that drove the shard and found nothing all the same */
    atomic_uint count;             /* results to be read; written under lock */
    struct spin lock;              /* guards everything below */
    struct rdma_completion *ring;
    uint32_t depth, head;
    enum fabric_arm armed;
    /* Completions are numbered from 1. The newest: pushed, popped, pushed when a notification began, and so on. */
    uint64_t pushed, popped, told, solicited, failed;
    uint32_t interval_us, enough;  /* moderation as it was set, or the least there is here; zeros: none */
    uint32_t least_us;             /* of interval_us */
    bool waiting;                  /* an arm is met, and moderation delays the notification */
    uint64_t waits, waits_from;    /* how often it did so; the newest number that was not new then */
    void (*closed)(void *owner);
    LIST_HEAD(, cq_user) users;
    struct delivery delivery;
    struct task timing;
    /* owner: */
    struct shard_timer interval;
    uint64_t timed, timed_from;    /* the wait that interval is for, and when it was seen to begin */
    uint32_t timed_us;             /* and the setting that it obeys */
};

/* A queue pair's membership in one queue. */
struct cq_user {
    LIST_ENTRY(cq_user) link;
    struct fabric_qp *qp;
};

int iwarp_cq_create(struct fabric *f, const struct fabric_cq_config *c, struct fabric_cq **out);
int iwarp_cq_poll(struct fabric_cq *cq, struct rdma_completion *out, int max);
void iwarp_cq_arm(struct fabric_cq *cq, enum fabric_arm type);
int iwarp_cq_resize(struct fabric_cq *cq, uint32_t depth);
void iwarp_cq_moderate(struct fabric_cq *cq, uint32_t interval_us, uint32_t count);
struct shard *iwarp_cq_shard(struct fabric_cq *cq);
/*
 * The first queue pair that uses a queue without an affinity decides where that is at home: at `home`, or where it is
 * its turn for NULL. Returns where it is at home.
 */
struct iwarp_shard *iwarp_cq_settle(struct iwarp_fabric *f, struct fabric_cq *cq, struct iwarp_shard *home);
void iwarp_cq_close(struct fabric_cq *cq, void (*done)(void *owner));
void iwarp_cq_add(struct fabric_cq *cq, struct cq_user *user);
void iwarp_cq_remove(struct fabric_cq *cq, struct cq_user *user);
/* Queues completions. Any owner. Those for which there is no room are dropped, and the queue has overflowed. */
void iwarp_cq_push(struct fabric_cq *cq, const struct rdma_completion *c, unsigned n);

/* ---- shared receive queues (srq.c) ---- */

/*
 * A queue pair's partial message, which has a receive of the shared queue, at the end of a receive turn. Messages that
 * begin and end within a turn are not counted, and cost nothing.
 */
struct srq_partial {
    TAILQ_ENTRY(srq_partial) link;
    uint64_t since;         /* this, link, is_listed and is_checked are guarded by the queue's lock */
    bool is_listed;
    bool is_checked;        /* check is queued */
    bool is_partial;        /* owner: at the last update */
    bool has_moved;         /* owner: the message that was inserted has ended */
    struct iw_rx_mark mark; /* owner: when it was inserted */
    struct task check;
};

struct fabric_srq {
    struct iw_srq *iw;
    struct fabric_srq_config config;
    struct delivery delivery;
    void (*closed)(void *owner);
    uint32_t share_percent;
    uint64_t stall_ns;
    struct task watch;
    struct shard_timer timer; /* owner of the home shard */
    atomic_uint refs;         /* the handle, and a watch that is queued */
    struct spin lock;         /* guards everything below */
    TAILQ_HEAD(, srq_partial) partials; /* those that were seen to move last are last */
    uint32_t partial_count;
    uint32_t receives;        /* posted and partial: the maximum of the last stall_ns, and when it was counted */
    uint64_t receives_since;
    bool is_watched;          /* watch is queued, or the timer armed, */
    bool is_queued;           /* the former */
};

int iwarp_srq_create(struct fabric *f, const struct fabric_srq_config *c, struct fabric_srq **out);
int iwarp_srq_post(struct fabric_srq *srq, const struct rdma_request *r);
int iwarp_srq_modify(struct fabric_srq *srq, uint32_t depth, uint32_t threshold);
struct shard *iwarp_srq_shard(struct fabric_srq *srq);
void iwarp_srq_close(struct fabric_srq *srq, void (*done)(void *owner));
void iwarp_srq_partial_init(struct srq_partial *partial);
/* Owner of the queue pair: its message has become partial, or is no longer. */
void iwarp_srq_update(struct fabric_qp *qp);

/* ---- queue pairs (qp.c) ---- */

struct fabric_qp {
    struct iwarp_shard *home; /* the receive queue's */
    bool is_seen;             /* looks at the initiator's queue are looks at home */
    struct iw_qp *iw;
    struct fabric_cq *receive_cq, *initiator_cq;
    struct cq_user receive_user, initiator_user;
    struct fabric_srq *srq;   /* or NULL */
    struct srq_partial partial;
    atomic_uint refs;         /* the handle, and a doom or a partial's check that is queued */
    atomic_bool doomed;       /* a queue of its overflowed */
    atomic_uint sent_to;      /* iw_qp_posted at the last transmission */
    _Atomic uint64_t asked_to; /* iw_qp_asked then */
    atomic_uint busy_until;   /* where many left at once: the initiator's queue's empty polls by then, and one more */
    atomic_uint held;         /* posts since then that were to wait */
    _Atomic uint64_t held_since; /* the first of them */
    struct fabric_conn *conn; /* owner; while a stream runs */
    enum fabric_reason stopped; /* owner; why requests are being flushed */
    uint16_t terminate;       /* owner; the Terminate that had a part in it */
    atomic_uint refuses;      /* why posts are refused: enum fabric_reason << 16 | the Terminate; 0: see qp_reason */
    struct task transmit, flush, doom, close;
    void (*closed)(void *context);
    void *close_context;
};

int iwarp_qp_create(struct fabric *f, const struct fabric_qp_config *c, struct fabric_qp **out);
int iwarp_qp_post(struct fabric_qp *qp, const struct rdma_request *r);
void iwarp_qp_release(struct fabric_qp *qp);
void iwarp_qp_flush(struct fabric_qp *qp);
enum fabric_reason iwarp_qp_reason(struct fabric_qp *qp, uint16_t *terminate);
/*
 * Why its connection ends, when this is found out: what is known already stays, as of a queue that overflowed before.
 */
enum fabric_reason iwarp_qp_first_cause(struct fabric_qp *qp, enum fabric_reason why);
void iwarp_qp_say_why(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */
void iwarp_qp_leave_to_poll(struct fabric_qp *qp); /* its requests wait for the poller, where there is one */
void iwarp_qp_close(struct fabric_qp *qp, void (*done)(void *context), void *context);
void iwarp_qp_ref(struct fabric_qp *qp);
void iwarp_qp_unref(struct fabric_qp *qp); /* owner */
void iwarp_qp_flush_now(struct fabric_qp *qp, enum fabric_reason why, uint16_t terminate); /* owner */
void iwarp_qp_doom(struct fabric_qp *qp); /* takes over the caller's reference */

/* ---- memory (memory.c) ---- */

int iwarp_mr_create(struct fabric *f, const void *domain, struct fabric_mr **out);
void iwarp_mr_kill(struct fabric_mr *mr);
bool iwarp_mr_close(struct fabric_mr *mr, void (*done)(void *context), void *context);
int iwarp_mr_register(struct fabric_mr *mr, void *memory, uint64_t len, uint64_t base_address, unsigned access,
                      uint32_t *token);
bool iwarp_mr_deregister(struct fabric_mr *mr, void (*done)(void *context), void *context);
int iwarp_mr_prepare_pages(struct fabric_mr *mr, const struct rdma_pages *p, uint32_t *token);
int iwarp_mr_prepare_window(struct fabric_mr *mw, uint32_t of, uint64_t address, uint64_t len, unsigned access,
                            uint32_t *token);
void iwarp_mr_discard(struct fabric_mr *mr, uint32_t token);
int iwarp_mr_reserve(struct fabric_mr *mr);
uint32_t iwarp_mr_token(struct fabric_mr *mr);
uint32_t iwarp_mr_left(struct fabric_mr *mr);
int iwarp_lam_create(struct fabric *f, void *memory, uint64_t len, struct fabric_lam **out);
uint64_t iwarp_lam_page(const struct fabric_lam *lam, uint64_t index);
void iwarp_lam_release(struct fabric_lam *lam);

/* ---- endpoints (endpoint.c) ---- */

struct fabric_endpoint {
    struct net *net;
    struct net_reservation *reservation;
    struct addr local;
};

enum fabric_reason iwarp_endpoint_create(struct fabric *f, struct addr *local, struct fabric_endpoint **out);
void iwarp_endpoint_close(struct fabric_endpoint *e);

/* ---- listeners (listener.c) ---- */

struct fabric_listener {
    struct iwarp_fabric *fabric;
    struct iwarp_shard *home;
    const struct fabric_listener_events *events;
    const struct fabric_conn_events *conn_events;
    void *owner;
    atomic_uint refs;        /* the handle, the queued task, each connection that came over it */
    atomic_uint living, gone; /* requests that the consumer has not answered; gone: their peer has left */
    struct spin lock;        /* guards ops, scheduled, wanted; writing listening, paused, and using the socket */
    atomic_bool paused;
    unsigned ops;
    bool scheduled;
    struct addr wanted;
    struct task task;
    /* owner: */
    struct net_reservation *reservation;
    struct net_socket socket;
    bool listening, closed;
    bool held;               /* no descriptor: another shard drops a connection, then resumes the listener */
    bool ending;             /* closed, but its end is not reported yet */
    unsigned limit;          /* of unfinished connections in the process */
    struct conn_list unfinished; /* those that came over it */
};

int iwarp_listener_create(struct fabric *f, const struct fabric_listener_events *events,
                          const struct fabric_conn_events *conn_events, void *owner, struct fabric_listener **out);
void iwarp_listener_listen(struct fabric_listener *l, const struct addr *local);
void iwarp_listener_pause(struct fabric_listener *l, bool paused);
void iwarp_listener_close(struct fabric_listener *l);
struct shard *iwarp_listener_shard(struct fabric_listener *l);
void listener_unref(struct fabric_listener *l);
bool listener_has_room(struct fabric_listener *l);
/* Owner: c is the consumer's, or has ended. May report the listener's end. */
void listener_finished(struct fabric_listener *l, struct fabric_conn *c);
void listener_resume(struct fabric_listener *l); /* any thread; releases the reference that drop_for had */
/* The requests that the consumer has not answered. count_answer: any thread; the others: owner. */
void listener_count_request(struct fabric_conn *c);
void listener_count_gone(struct fabric_conn *c);
void listener_count_answer(struct fabric_conn *c); /* does nothing if c does not count */

/* ---- connections ---- */

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
void conn_limit(struct fabric_conn *c); /* starts the state's time limit anew */

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
