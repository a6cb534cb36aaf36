/* SPDX-License-Identifier: MIT */
/* Reads an adapter: see adapter.h. MTU and speed come from ioctls, because /sys may show another network namespace. */
#include "adapter.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "consumer/provider.h"

static void adapter_read_link(struct adapter *a)
{
    struct ethtool_cmd command = { .cmd = ETHTOOL_GSET };
    struct ifreq request = { 0 };
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (s < 0)
        s = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return;
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", a->entry.name);
    if (ioctl(s, SIOCGIFMTU, &request) == 0)
        a->mtu = (uint32_t)request.ifr_mtu;
    request.ifr_data = (void *)&command;
    if (ioctl(s, SIOCETHTOOL, &request) == 0 && ethtool_cmd_speed(&command) != (uint32_t)SPEED_UNKNOWN)
        a->speed_mbps = ethtool_cmd_speed(&command);
    close(s);
}

/*
 * Opens the adapter with a major version, and queries it. The adapter reports the highest minor version that it
 * supports.
 */
static void adapter_try_version(struct adapter *a, NDK_VERSION version)
{
    ULONG size = sizeof a->info;
    NDK_ADAPTER *adapter;

    a->status = consumer_open_adapter(version, a->entry.if_index, &adapter);
    if (!NT_SUCCESS(a->status))
        return;
    a->status = adapter->Dispatch->NdkQueryAdapterInfo(adapter, &a->info, &size);
    consumer_close_adapter(adapter);
    if (NT_SUCCESS(a->status))
        a->versions[a->n_versions++] = a->info.Version;
}

void adapter_read(struct adapter *a, const ondk_adapter_entry_t *entry)
{
    static const NDK_VERSION versions[] = { { 1, 0 }, { 2, 0 } };

    *a = (struct adapter){ .entry = *entry };
    (void)printable_copy(a->name, sizeof a->name, entry->name, strlen(entry->name));
    adapter_read_link(a);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        adapter_try_version(a, versions[i]);
}
