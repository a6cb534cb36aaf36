/* SPDX-License-Identifier: MIT */
/* The simulated hosts: their addresses and interfaces. See sim_net.h. */
#include <arpa/inet.h>
#include <errno.h>

#include "sim/sim.h"
#include "sim/sim_net.h"
#include "sim/sim_net_internal.h"

static struct addr make_address(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    struct addr a;
    bool good;

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        good = addr_from(&a, &v4, sizeof v4);
    else
        good = inet_pton(AF_INET6, text, &v6.sin6_addr) == 1 && addr_from(&a, &v6, sizeof v6);
    sim_check(good, "not an address: %s", text);
    return a;
}

struct addr sim_net_address(unsigned host, bool v6)
{
    static const char *const text[SIM_HOSTS][SIM_NET_ADDRESSES] = { { "10.0.0.1", "fd00::1" },
                                                                    { "10.0.0.2", "fd00::2" } };

    return make_address(text[host][v6]);
}

struct addr sim_net_nobody(unsigned which)
{
    static const char *const text[] = { "10.0.0.99", "10.0.0.77", "192.0.2.1" };

    return make_address(text[which % 3]);
}

unsigned sim_net_host(const struct addr *a)
{
    unsigned host = 0;

    for (; host < SIM_HOSTS; host++) {
        struct addr v4 = sim_net_address(host, false), v6 = sim_net_address(host, true);

        if (addr_same_host(&v4, a) || addr_same_host(&v6, a))
            break;
    }
    return host;
}

bool net_is_host(const struct addr *a)
{
    return sim_net_host(a) < SIM_HOSTS;
}

struct sim_host {
    struct interfaces interfaces;
    unsigned host;
};

static int list(struct interfaces *self, struct interface_info *info, int max)
{
    unsigned host = ((struct sim_host *)self)->host;

    if (max > 0)
        *info = (struct interface_info){ .index = host + 1, .name = "sim", .up = true, .mtu = 1500 };
    return 1;
}

static int addresses(struct interfaces *self, uint32_t index, struct addr *addrs, int max)
{
    unsigned host = ((struct sim_host *)self)->host;

    if (index != host + 1)
        return -ENODEV;
    for (int i = 0; i < max && i < SIM_NET_ADDRESSES; i++)
        addrs[i] = sim_net_address(host, i);
    return SIM_NET_ADDRESSES;
}

int net_shortage(void)
{
    static const int errors[] = { EMFILE, ENFILE, ENOMEM, ENOBUFS };

    return sim_chance(sim_scenario.shortage) ? errors[sim_below(4)] : 0;
}

static int owns(struct interfaces *self, uint32_t index, const struct addr *a)
{
    struct addr own[SIM_NET_ADDRESSES];
    int err = net_shortage();

    if (err)
        return err;
    if (addresses(self, index, own, SIM_NET_ADDRESSES) < 0)
        return EADDRNOTAVAIL;
    return addr_same_host(&own[0], a) || addr_same_host(&own[1], a) ? 0 : EADDRNOTAVAIL;
}

struct interfaces *sim_interfaces(unsigned host)
{
    static struct sim_host hosts[SIM_HOSTS];

    hosts[host] = (struct sim_host){ { .list = list, .addresses = addresses, .owns = owns }, host };
    return &hosts[host].interfaces;
}
