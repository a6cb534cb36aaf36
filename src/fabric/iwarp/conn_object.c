/* SPDX-License-Identifier: MIT */
/*
 * Manages a connection's memory, its references, and its place in the shard's list.
 *
 * References on the connection belong to: the handle (until close), a queued task, the socket, another shard's request
 * to drop the connection, and the handler of a socket or timer event while it runs. Invariant: the owner of the shard
 * releases the last reference. Then the owner releases the address, reports `closed`, and frees the memory.
 */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/listener.h"

struct fabric_conn *conn_alloc(struct iwarp_fabric *f, struct iwarp_shard *home, enum conn_state state)
{
    struct fabric_conn *c = malloc(sizeof *c);

    if (!c)
        return NULL;
    memset(c, 0, offsetof(struct fabric_conn, early));
    c->fabric = f;
    c->home = home;
    c->state = state;
    c->ended = FABRIC_NOT_CONNECTING;
    c->terminate = FABRIC_NO_TERMINATE;
    spin_init(&c->lock);
    atomic_init(&c->refs, 1);
    return c;
}

void conn_set_number(struct fabric_conn *c)
{
    static _Atomic uint32_t last;

    c->number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

void conn_ref(struct fabric_conn *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

static void conn_destroy(struct fabric_conn *c)
{
    assert(shard_is_owner(c->home->shard));
    assert(c->state == CONN_CLOSED && !c->has_socket && !c->timer.armed && !c->nudge.armed && !c->stall.armed);
    if (c->reservation)
        c->fabric->net->ops->reservation_unref(c->reservation);
    if (c->owner)
        c->events->closed(c->owner);
    if (c->listener) {
        listener_finished(c->listener, c);
        listener_unref(c->listener);
    }
    iw_startup_free(c->startup);
    free(c);
}

void conn_unref(struct fabric_conn *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) == 1)
        conn_destroy(c);
}

void conn_socket_opened(struct fabric_conn *c)
{
    c->has_socket = true;
    TAILQ_INSERT_TAIL(&c->home->conns, c, shard_link);
}

void conn_socket_closed(struct fabric_conn *c)
{
    c->has_socket = false;
    TAILQ_REMOVE(&c->home->conns, c, shard_link);
}
