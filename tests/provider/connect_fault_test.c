/* SPDX-License-Identifier: MIT */
/*
 * Memory runs out inside the fabric when a connection begins: nothing leaks, and the same connector and queue
 * pair connect or accept at the next try. Wrappers of the fabric's functions fail on request.
 */
#include <errno.h>

#include "contract/kit/kit.h"
#include "provider/adapter.h"

static struct fabric_ops faulty;
static const struct fabric_ops *real;
static atomic_bool fails;

static int faulty_create(struct fabric *f, const struct fabric_conn_events *events, void *owner,
                         struct fabric_conn **out)
{
    return atomic_exchange(&fails, false) ? ENOMEM : real->conn_create(f, events, owner, out);
}

static int faulty_connect(struct fabric_conn *c, const struct fabric_connect *p)
{
    return atomic_exchange(&fails, false) ? ENOMEM : real->conn_connect(c, p);
}

static int faulty_accept(struct fabric_conn *c, const struct fabric_conn_events *events, const struct fabric_accept *p)
{
    return atomic_exchange(&fails, false) ? ENOMEM : real->conn_accept(c, events, p);
}

static void wrap(NDK_ADAPTER *adapter)
{
    struct fabric *fabric = adapter_of(adapter)->fabric;

    real = fabric->ops;
    faulty = *real;
    fabric->ops = &faulty;
}

static void open_pair(struct kit_pair *p)
{
    kit_side_open(&p->active, NULL);
    kit_side_open(&p->passive, NULL);
    kit_listen(&p->listener, p->passive.adapter);
}

CASE(connect_without_memory_for_a_connection, 0)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);

    open_pair(&p);
    wrap(p.active.adapter);
    faulty.conn_create = faulty_create;
    atomic_store(&fails, true);
    CHECK_STATUS(kit_final(&call, kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0)),
                 STATUS_INSUFFICIENT_RESOURCES);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_pair_close(&p);
}

CASE(connect_without_memory_to_begin, 0)
{
    static struct kit_pair p;
    struct kit_call call = { 0 };
    struct sockaddr_storage source = kit_host(0);

    open_pair(&p);
    wrap(p.active.adapter);
    faulty.conn_connect = faulty_connect;
    atomic_store(&fails, true);
    CHECK_STATUS(kit_final(&call, kit_connect_start(&p.active, &call, &source, &p.listener.address, NULL, 0)),
                 STATUS_INSUFFICIENT_RESOURCES);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_pair_close(&p);
}

CASE(connect_accept_without_memory, 0)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };
    struct sockaddr_storage source = kit_host(0);

    open_pair(&p);
    wrap(p.passive.adapter);
    faulty.conn_accept = faulty_accept;
    atomic_store(&fails, true);
    NTSTATUS connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    p.passive.connector = kit_next_request(&p.listener);
    CHECK_STATUS(kit_accept(&p.passive, NULL, 0), STATUS_INSUFFICIENT_RESOURCES);
    NTSTATUS accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    kit_pair_close(&p);
}
