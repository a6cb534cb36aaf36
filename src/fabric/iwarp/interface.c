/* SPDX-License-Identifier: MIT */
/*
 * Ends the adapter's connections if its network interface is removed, because their peers can no longer be reached. A
 * connection that is moving to another shard at that moment is in no list; its time limits end it later. If an
 * interface is only down, no connection ends, because the interface may come up again before TCP gives up.
 */
#include "fabric/iwarp/adapter.h"
#include "fabric/iwarp/conn.h"

#include <stddef.h>

/*
 * Ends all connections of the shard. The loop ends: CONN_LOST closes the socket in each state that has a socket, and
 * closing the socket removes the connection from the list.
 */
static void interface_end_connections(struct task *task)
{
    struct iwarp_shard *s = (struct iwarp_shard *)((char *)task - offsetof(struct iwarp_shard, interface_removed));
    struct fabric_conn *c;

    while ((c = TAILQ_FIRST(&s->conns)) != NULL)
        conn_lose(c, FABRIC_INTERFACE_GONE);
}

static void interface_on_socket(struct net_socket *socket, unsigned events)
{
    struct iwarp_fabric *f = (struct iwarp_fabric *)((char *)socket - offsetof(struct iwarp_fabric, interface));

    (void)events;
    if (!f->net->ops->interface_is_removed(socket))
        return;
    for (unsigned i = 0; i < f->shard_count; i++)
        shard_enqueue(f->shards[i].shard, &f->shards[i].interface_removed);
}

/* ---- opening and closing the watch, on the first shard ---- */

struct interface_request {
    struct task task;
    struct gate done;
    struct iwarp_fabric *fabric;
    int error;
};

static void interface_open(struct task *task)
{
    struct interface_request *r = (struct interface_request *)task;
    struct iwarp_fabric *f = r->fabric;

    f->interface.ready = interface_on_socket;
    r->error = f->net->ops->interface_watch(f->net, f->shards[0].shard, f->if_index, &f->interface);
    f->watches = r->error == 0;
    gate_open(&r->done);
}

static void interface_close(struct task *task)
{
    struct interface_request *r = (struct interface_request *)task;

    r->fabric->net->ops->close(&r->fabric->interface, true);
    r->fabric->watches = false;
    gate_open(&r->done);
}

static int interface_run_on_shard(struct iwarp_fabric *f, void (*run)(struct task *task))
{
    struct interface_request r = { .task.run = run, .fabric = f };

    shard_post(f->shards[0].shard, &r.task);
    executor_wait(f->executor, &r.done);
    return r.error;
}

int iwarp_interface_watch(struct iwarp_fabric *f)
{
    for (unsigned i = 0; i < f->shard_count; i++) {
        TAILQ_INIT(&f->shards[i].conns);
        f->shards[i].interface_removed.run = interface_end_connections;
    }
    return f->net->ops->interface_watch ? interface_run_on_shard(f, interface_open) : 0;
}

void iwarp_interface_unwatch(struct iwarp_fabric *f)
{
    if (f->watches)
        (void)interface_run_on_shard(f, interface_close);
}
