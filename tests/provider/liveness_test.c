/* SPDX-License-Identifier: MIT */
/*
 * Established connections whose peer stalls or whose network fails, as a consumer sees them: statuses, reasons, the
 * disconnect callback, counters. Time limits are short, and the cases set no deadline of their own.
 */
#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "contract/kit/peer.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/counters.h"
#include "openndk/reason.h"

enum { FRAME = 0x00760000, MESSAGE = 0x00770000, SILENT = 0x00750000, GONE = 0x00170000 };

static void limit(uint32_t stall_ms, uint32_t unacked_ms)
{
    ondk_config_t config;

    ondk_config_init(&config);
    config.stall_ms = stall_ms;
    config.unacked_ms = unacked_ms;
    CHECK_EQ(ondk_configure(&config), STATUS_SUCCESS);
}

/* As any other lost connection, with `posted` receives outstanding. */
static void check_lost(struct kit_side *s, ULONG reason, int posted)
{
    ondk_counters_t counters;

    kit_wait_count(&s->disconnected, 1);
    CHECK_EQ(ondk_connector_reason(s->connector), reason);
    for (int i = 0; i < posted; i++) {
        NDK_RESULT_EX r = kit_result(s);
        CHECK_STATUS(r.Status, STATUS_CONNECTION_ABORTED);
        CHECK_EQ(r.ProviderErrorCode, reason);
    }
    CHECK_STATUS(kit_post_send(s, 9, 0, 8), STATUS_CONNECTION_INVALID);
    CHECK_STATUS(kit_disconnect(s), STATUS_CONNECTION_ABORTED);
    CHECK_EQ(atomic_load(&s->disconnected), 1);
    ondk_adapter_counters(s->adapter, &counters);
    CHECK_EQ(counters.connection_errors, 1);
    CHECK_EQ(counters.active_connections, 0);
}

static void check_stalled(const uint8_t *fpdu, size_t len, ULONG reason)
{
    static struct peer_initiator p;

    peer_initiator_connect(&p, PEER_WRITE);
    CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p.side, 2, 64, 64), STATUS_SUCCESS);
    raw_send(p.s, fpdu, len);
    check_lost(&p.side, reason, 2);
    peer_initiator_close(&p);
}

CASE(liveness_half_a_frame, KIT_FAMILIES)
{
    uint8_t ulpdu[128], fpdu[160];
    size_t len = raw_fpdu(fpdu, ulpdu, raw_untagged(ulpdu, 3, 0, 1, 0, true, "12345678", 8), true);

    limit(50, 0);
    check_stalled(fpdu, len / 2, FRAME);
}

CASE(liveness_half_a_message, KIT_FAMILIES)
{
    uint8_t ulpdu[128], fpdu[160];
    size_t len = raw_fpdu(fpdu, ulpdu, raw_untagged(ulpdu, 3, 0, 1, 0, false, "12345678", 8), true);

    limit(50, 0);
    check_stalled(fpdu, len, MESSAGE);
}

/* ---- the network ---- */

static void pair_open_on(struct kit_pair *p, const char *interface, const struct sockaddr_storage *at)
{
    kit_side_open(&p->active, kit_open_interface(interface));
    kit_side_open(&p->passive, kit_open_interface(interface));
    p->active.owns_adapter = p->passive.owns_adapter = true;
    kit_listen_at(&p->listener, p->passive.adapter, at);
    kit_establish_from(&p->active, &p->passive, &p->listener, at);
    kit_exchange(&p->active, &p->passive);
    CHECK_STATUS(kit_post_receive(&p->active, 1, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_post_receive(&p->passive, 1, 0, 64), STATUS_SUCCESS);
}

CASE(liveness_a_peer_that_is_silent, KIT_NETNS)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_host(0);

    kit_nft("add table ip gone");
    limit(0, 300);
    pair_open_on(&p, "lo", &at);
    kit_nft("add chain ip gone drops { type filter hook input priority 0 ; policy drop ; }");
    CHECK_STATUS(kit_post_send(&p.active, 2, 0, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    check_lost(&p.active, SILENT, 1);
    kit_nft("delete table ip gone");
    kit_pair_close(&p);
}

static void interface_goes(bool moves)
{
    static struct kit_pair p;
    struct sockaddr_storage at = kit_cable_host(1, 0);
    struct kit_child other;

    kit_fork(&other, kit_wait_join, true);
    kit_cable(&other);
    pair_open_on(&p, "near", &at);
    if (moves)
        kit_ip("link set near netns %d", (int)other.pid);
    else
        kit_ip("link delete near");
    check_lost(&p.active, GONE, 1);
    check_lost(&p.passive, GONE, 1);
    /* The adapter is useless now, and can be closed. */
    kit_close_connector(&p.active);
    p.active.connector = kit_connector(p.active.adapter);
    CHECK(!NT_SUCCESS(kit_connect(&p.active, &at, &p.listener.address, NULL, 0)));
    kit_pair_close(&p);
    kit_join(&other);
}

CASE(liveness_an_interface_that_is_deleted, KIT_FAMILIES | KIT_NETNS)
{
    interface_goes(false);
}

CASE(liveness_an_interface_that_moves, KIT_FAMILIES | KIT_NETNS)
{
    interface_goes(true);
}
