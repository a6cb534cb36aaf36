/* SPDX-License-Identifier: MIT */
/*
 * NdkConnect against packet filters, routes and permissions of the system: each cause has the right status, and a
 * reason whose advice fits. Each case then removes the cause, and the same connector connects.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "openndk/reason.h"

#define REASON(name) ((uint32_t)ONDK_CAUSE_##name << 16)

static NTSTATUS connect_to(struct kit_side *s, const struct sockaddr_storage *to)
{
    struct sockaddr_storage source = kit_host(0);

    return kit_connect(s, &source, to, NULL, 0);
}

static void check_connect(struct kit_pair *p, const char *what, NTSTATUS status, uint32_t reason)
{
    printf("%s\n", what);
    CHECK_STATUS(connect_to(&p->active, &p->listener.address), status);
    CHECK_EQ(ondk_connector_reason(p->active.connector), reason);
}

/* ---- what ICMP reports ---- */

struct answer {
    const char *type; /* in nft's terms */
    NTSTATUS status;
    uint32_t reason;
};

static const struct answer answers_v4[] = {
    { "net-unreachable", STATUS_NETWORK_UNREACHABLE, REASON(NO_ROUTE) },
    { "host-unreachable", STATUS_HOST_UNREACHABLE, REASON(NO_HOST) },
    { "prot-unreachable", STATUS_CONNECTION_REFUSED, REASON(NO_PROTOCOL) },
    { "port-unreachable", STATUS_CONNECTION_REFUSED, REASON(REFUSED) },
    { "net-prohibited", STATUS_NETWORK_UNREACHABLE, REASON(NO_ROUTE) },
    { "host-prohibited", STATUS_HOST_UNREACHABLE, REASON(NO_HOST) },
    { "admin-prohibited", STATUS_HOST_UNREACHABLE, REASON(NO_HOST) },
};

static const struct answer answers_v6[] = {
    { "no-route", STATUS_NETWORK_UNREACHABLE, REASON(NO_ROUTE) },
    { "admin-prohibited", STATUS_HOST_UNREACHABLE, REASON(PROHIBITED) },
    { "addr-unreachable", STATUS_HOST_UNREACHABLE, REASON(NO_HOST) },
    { "port-unreachable", STATUS_CONNECTION_REFUSED, REASON(REFUSED) },
    { "policy-fail", STATUS_HOST_UNREACHABLE, REASON(PROHIBITED) },
    { "reject-route", STATUS_HOST_UNREACHABLE, REASON(PROHIBITED) },
};

/* covers: CON-05, CON-06, CON-07, CON-17 */
CASE(icmp_each_answer, KIT_FAMILIES | KIT_NETNS)
{
    bool v4 = kit_family() == AF_INET;
    const struct answer *answers = v4 ? answers_v4 : answers_v6;
    size_t n = v4 ? sizeof answers_v4 / sizeof *answers : sizeof answers_v6 / sizeof *answers;
    static struct kit_pair p;

    kit_nft("add table inet t");
    kit_nft("add chain inet t o { type filter hook output priority 0; }");
    kit_pair_open_idle(&p);
    for (size_t i = 0; i < n; i++) {
        kit_nft("add rule inet t o tcp dport %u reject with %s type %s", kit_port(&p.listener.address),
                v4 ? "icmp" : "icmpv6", answers[i].type);
        check_connect(&p, answers[i].type, answers[i].status, answers[i].reason);
        kit_nft("flush chain inet t o");
    }
    kit_nft("add rule inet t o tcp dport %u reject with tcp reset", kit_port(&p.listener.address));
    check_connect(&p, "tcp reset", STATUS_CONNECTION_REFUSED, REASON(REFUSED));
    kit_nft("flush ruleset");
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}

/* ---- routes ---- */

static const struct answer routes[] = {
    { "blackhole", STATUS_NETWORK_UNREACHABLE, REASON(NO_ROUTE) },
    { "unreachable", STATUS_HOST_UNREACHABLE, REASON(NO_HOST) },
    { "prohibit", STATUS_HOST_UNREACHABLE, REASON(PROHIBITED) },
    { "throw", STATUS_NETWORK_UNREACHABLE, REASON(NO_ROUTE) },
};

/* covers: CON-05, CON-06 */
CASE(icmp_each_kind_of_route, KIT_FAMILIES | KIT_NETNS)
{
    bool v4 = kit_family() == AF_INET;
    const char *prefix = v4 ? "203.0.113.0/24" : "2001:db8::/32";
    struct sockaddr_storage to = kit_address(v4 ? "203.0.113.1" : "2001:db8::1", 4791);
    static struct kit_side s;

    kit_side_open(&s, NULL);
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        printf("%s\n", routes[i].type);
        kit_ip("%sroute add %s %s", v4 ? "" : "-6 ", routes[i].type, prefix);
        CHECK_STATUS(connect_to(&s, &to), routes[i].status);
        CHECK_EQ(ondk_connector_reason(s.connector), routes[i].reason);
        kit_ip("%sroute del %s %s", v4 ? "" : "-6 ", routes[i].type, prefix);
    }
    kit_side_close(&s);
}

/* ---- destinations that are no host's ---- */

/* covers: CON-18 */
CASE(icmp_unspecified_destination, 0)
{
    static const char *const any[] = { "0.0.0.0", "::", "::ffff:0.0.0.0" };
    static struct kit_side s;

    kit_side_open(&s, NULL);
    for (size_t i = 0; i < sizeof any / sizeof any[0]; i++) {
        bool v4 = !strchr(any[i], ':');
        struct sockaddr_storage to = kit_address(any[i], 4791), from = kit_address(v4 ? "127.0.0.1" : "::1", 0);
        struct kit_call call = { 0 };

        CHECK_STATUS(kit_connect_start(&s, &call, &from, &to, NULL, 0), STATUS_INVALID_PARAMETER);
    }
    kit_side_close(&s);
}

/* ---- ports that the user may not bind ---- */

enum { LOW_PORT = 100 };

static void drop_bind_capability(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];
    FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "r");
    int first = 1024;

    if (f) {
        if (fscanf(f, "%d", &first) != 1)
            first = 1024;
        fclose(f);
    }
    if (first <= LOW_PORT)
        kit_skip("every user may bind port %d here", LOW_PORT);
    if (syscall(SYS_capget, &header, data))
        kit_skip("this process's capabilities cannot be read");
    for (int i = 0; i < 2; i++)
        data[i].effective &= i == 0 ? ~(1u << CAP_NET_BIND_SERVICE) : ~0u;
    if (syscall(SYS_capset, &header, data))
        kit_skip("this process's capabilities cannot be dropped");
}

/* The provider's threads begin after the drop, so none of them has the capability. */
/* covers: CON-12 */
CASE(icmp_forbidden_port, KIT_FAMILIES)
{
    struct sockaddr_storage low = kit_host(LOW_PORT);
    static struct kit_pair p;
    static struct kit_listener low_listener;

    drop_bind_capability();
    kit_pair_open_idle(&p);
    CHECK_STATUS(kit_connect(&p.active, &low, &p.listener.address, NULL, 0), STATUS_SHARING_VIOLATION);
    CHECK_EQ(ondk_connector_reason(p.active.connector), REASON(PORT_FORBIDDEN));
    CHECK(strstr(ondk_reason_advice(REASON(PORT_FORBIDDEN)), "CAP_NET_BIND_SERVICE"));
    kit_listener_create(&low_listener, p.passive.adapter);
    CHECK_STATUS(kit_listen_status(&low_listener, &low), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(low_listener.listener), STATUS_SUCCESS);
    kit_establish(&p.active, &p.passive, &p.listener);
    kit_exchange(&p.active, &p.passive);
    kit_pair_close(&p);
}
