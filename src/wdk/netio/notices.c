/* SPDX-License-Identifier: MIT */
/* Callbacks when the host's interfaces or addresses change. */
#include <pthread.h>
#include <stdlib.h>

#include "netioapi.h"
#include "wdm.h"

#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/netio/netio.h"

struct notice {
    PIPINTERFACE_CHANGE_CALLBACK on_interface; /* one of the two */
    PUNICAST_IPADDRESS_CHANGE_CALLBACK on_address;
    void *context;
    ADDRESS_FAMILY family;
    bool initial;
    struct netio_watch *watch;
    pthread_t thread;
};

static void call(const struct notice *n, PMIB_IPINTERFACE_ROW ip, PMIB_UNICASTIPADDRESS_ROW unicast,
                 MIB_NOTIFICATION_TYPE type)
{
    struct thread_mark mark = thread_mark_get();

    if (n->on_interface)
        n->on_interface(n->context, ip, type);
    else
        n->on_address(n->context, unicast, type);
    thread_mark_check(&mark, "the notification callback",
                      n->on_interface ? (void *)n->on_interface : (void *)n->on_address);
}

/* Once for each family that the registration names. */
static void tell_interface(const struct notice *n, const struct netio_event *event, MIB_NOTIFICATION_TYPE type)
{
    static const ADDRESS_FAMILY families[] = { AF_INET, AF_INET6 };
    struct netio_interface i = { .index = event->address.index };
    MIB_IPINTERFACE_ROW row;

    (void)netio_find(NULL, (NET_LUID){ .Value = 0 }, i.index, &i);
    for (size_t f = 0; f < RTL_NUMBER_OF(families); f++) {
        if (n->family == AF_UNSPEC || n->family == families[f]) {
            netio_fill_ip(&row, families[f], &i);
            call(n, &row, NULL, type);
        }
    }
}

static void tell(const struct notice *n, const struct netio_event *event)
{
    static const MIB_NOTIFICATION_TYPE types[] = { [NETIO_CHANGED] = MibParameterNotification,
                                                   [NETIO_ADDED] = MibAddInstance,
                                                   [NETIO_REMOVED] = MibDeleteInstance };
    MIB_UNICASTIPADDRESS_ROW row;

    if (n->on_interface && !event->of_address) {
        tell_interface(n, event, types[event->change]);
    } else if (n->on_address && event->of_address &&
               (n->family == AF_UNSPEC || (n->family == AF_INET6) == event->address.v6)) {
        netio_fill_unicast(&row, &event->address);
        call(n, NULL, &row, types[event->change]);
    }
}

static void *watch(void *argument)
{
    struct notice *n = argument;
    struct netio_event event;

    if (n->initial)
        call(n, NULL, NULL, MibInitialNotification);
    while (netio_host_watch_next(n->watch, &event))
        tell(n, &event);
    return NULL;
}

static NTSTATUS notify(const struct notice *wanted, HANDLE *handle)
{
    struct notice *n = malloc(sizeof(*n));

    if (!n)
        return STATUS_NO_MEMORY;
    *n = *wanted;
    n->watch = netio_host_watch();
    if (!n->watch || thread_create(&n->thread, NULL, watch, n) != 0) {
        if (n->watch)
            netio_host_watch_free(n->watch);
        free(n);
        return STATUS_NO_MEMORY;
    }
    live_add(LIVE_HANDLE, n, "change notification");
    *handle = n;
    return STATUS_SUCCESS;
}

NTSTATUS NotifyIpInterfaceChange(ADDRESS_FAMILY Family, PIPINTERFACE_CHANGE_CALLBACK Callback, PVOID CallerContext,
                                 BOOLEAN InitialNotification, HANDLE *NotificationHandle)
{
    struct notice n = { .on_interface = Callback, .context = CallerContext, .family = Family,
                        .initial = InitialNotification };

    irql_check_max(__func__, APC_LEVEL);
    if (!Callback || !NotificationHandle || !netio_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    return notify(&n, NotificationHandle);
}

NTSTATUS NotifyUnicastIpAddressChange(ADDRESS_FAMILY Family, PUNICAST_IPADDRESS_CHANGE_CALLBACK Callback,
                                      PVOID CallerContext, BOOLEAN InitialNotification, HANDLE *NotificationHandle)
{
    struct notice n = { .on_address = Callback, .context = CallerContext, .family = Family,
                        .initial = InitialNotification };

    irql_check_max(__func__, APC_LEVEL);
    if (!Callback || !NotificationHandle || !netio_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    return notify(&n, NotificationHandle);
}

NTSTATUS CancelMibChangeNotify2(HANDLE NotificationHandle)
{
    struct notice *n = NotificationHandle;

    irql_check_max(__func__, PASSIVE_LEVEL);
    if (!n || !live_remove(LIVE_HANDLE, n))
        return STATUS_INVALID_PARAMETER;
    netio_host_watch_stop(n->watch);
    pthread_join(n->thread, NULL);
    netio_host_watch_free(n->watch);
    free(n);
    return STATUS_SUCCESS;
}
