/* SPDX-License-Identifier: MIT */
/* Declares listeners, and the counts of requests that the consumer has not answered. */
#ifndef FABRIC_IWARP_LISTENER_H
#define FABRIC_IWARP_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/spin.h"
#include "fabric/fabric.h"
#include "fabric/iwarp/adapter.h"

struct fabric_listener {
    struct iwarp_fabric *fabric;
    struct iwarp_shard *home;
    const struct fabric_listener_events *events;
    const struct fabric_conn_events *conn_events;
    void *owner;
    atomic_uint refs; /* held by the handle, each connection, `task` (if queued) and waits_for_drop (if set) */
    atomic_uint live, abandoned; /* unanswered requests: in `abandoned` if the peer has left, otherwise in `live` */
    /*
     * Guards ops, scheduled and requested. A thread must also hold this lock to write `listening` or `paused`, and
     * while it calls listen_pause.
     */
    struct spin lock;
    atomic_bool paused;
    unsigned ops;
    bool scheduled;
    struct addr requested;
    struct task task;
    /*
     * Only the thread that has the shard's token uses the members from here on. Exception: any thread that holds the
     * lock may read `listening`. If `listening` is true, this thread may also read `limit`, and may call listen_pause
     * for `socket`.
     */
    struct net_reservation *reservation;
    struct net_socket socket;
    bool listening, closed;
    bool waits_for_drop;         /* accepting is paused until another shard has dropped a connection */
    bool ending;                 /* the consumer has closed the listener, but `closed` has not been reported */
    struct addr local;           /* valid while listening */
    unsigned limit;              /* maximum number of unfinished connections of the process */
    struct conn_list unfinished; /* the unfinished connections that this listener accepted */
};

int iwarp_listener_create(struct fabric *f, const struct fabric_listener_events *events,
                          const struct fabric_conn_events *conn_events, void *owner, struct fabric_listener **out);
void iwarp_listener_listen(struct fabric_listener *l, const struct addr *local);
void iwarp_listener_pause(struct fabric_listener *l, bool paused);
void iwarp_listener_close(struct fabric_listener *l);
void iwarp_listener_info(struct fabric_listener *l, struct fabric_listener_info *info);
struct shard *iwarp_listener_shard(struct fabric_listener *l);
void listener_unref(struct fabric_listener *l);
/* Returns the reason why another request must be refused, or FABRIC_OK. Requires the shard's token. */
enum fabric_reason listener_refusal(const struct fabric_listener *l);
/*
 * Removes c from the unfinished connections, if c is one of them. Called when the consumer has received the request of
 * c, or when c has ended. May report `closed` if the listener is being closed and no unfinished connection remains.
 * Requires the shard's token.
 */
void listener_finished(struct fabric_listener *l, struct fabric_conn *c);
/*
 * Makes the owner of the home shard clear waits_for_drop and accept peers again, perhaps after the return. Releases the
 * caller's reference on the listener. Any thread may call this function.
 */
void listener_resume(struct fabric_listener *l);
/*
 * These functions keep the counts of requests that the consumer has not answered. Only the owner of the listener's
 * shard may call listener_count_request and listener_count_abandoned. Any thread may call listener_count_answer.
 */
void listener_count_request(struct fabric_conn *c);
void listener_count_abandoned(struct fabric_conn *c);
void listener_count_answer(struct fabric_conn *c); /* does nothing if c is not counted */

#endif
