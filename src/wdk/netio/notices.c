/* SPDX-License-Identifier: MIT */
/*
 * Implements change notifications for the host's interfaces and addresses. Each registration has a thread that calls
 * its callback. CancelMibChangeNotify2 joins that thread, so no callback runs after it has returned.
 */
#include <pthread.h>
#include <stdlib.h>

#include "netioapi.h"
#include "wdm.h"

#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/netio/netio.h"

struct netio_notice {
    PIPINTERFACE_CHANGE_CALLBACK on_interface; /* exactly one of on_interface and on_address is set */
    PUNICAST_IPADDRESS_CHANGE_CALLBACK on_address;
    void *context;
    ADDRESS_FAMILY family;
    bool initial;
    struct netio_watch *watch;
    pthread_t thread;
};

static void netio_notice_call(const struct netio_notice *n, PMIB_IPINTERFACE_ROW ip, PMIB_UNICASTIPADDRESS_ROW unicast,
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

/* Calls the callback once for each family of the registration. */
static void netio_notice_report_interface(const struct netio_notice *n, const struct netio_event *event,
                                          MIB_NOTIFICATION_TYPE type)
{
    static const ADDRESS_FAMILY families[] = { AF_INET, AF_INET6 };
    struct netio_interface i = { .index = event->address.index };
    MIB_IPINTERFACE_ROW row;

    (void)netio_find(NULL, (NET_LUID){ .Value = 0 }, i.index, &i);
    for (size_t f = 0; f < RTL_NUMBER_OF(families); f++) {
        if (n->family == AF_UNSPEC || n->family == families[f]) {
            netio_fill_ip_row(&row, families[f], &i);
            netio_notice_call(n, &row, NULL, type);
        }
    }
}

static void netio_notice_report(const struct netio_notice *n, const struct netio_event *event)
{
    static const MIB_NOTIFICATION_TYPE types[] = {
        [NETIO_CHANGED] = MibParameterNotification, [NETIO_ADDED] = MibAddInstance, [NETIO_REMOVED] = MibDeleteInstance
    };
    MIB_UNICASTIPADDRESS_ROW row;

    if (n->on_interface && !event->of_address) {
        netio_notice_report_interface(n, event, types[event->change]);
    } else if (n->on_address && event->of_address &&
               (n->family == AF_UNSPEC || (n->family == AF_INET6) == event->address.v6)) {
        netio_fill_unicast_row(&row, &event->address);
        netio_notice_call(n, NULL, &row, types[event->change]);
    }
}

static void *netio_notice_run(void *argument)
{
    struct netio_notice *n = argument;
    struct netio_event event;

    if (n->initial)
        netio_notice_call(n, NULL, NULL, MibInitialNotification);
    while (netio_host_watch_next(n->watch, &event))
        netio_notice_report(n, &event);
    return NULL;
}

static NTSTATUS netio_notice_start(const struct netio_notice *wanted, HANDLE *handle)
{
    struct netio_notice *n = malloc(sizeof(*n));

    if (!n)
        return STATUS_NO_MEMORY;
    *n = *wanted;
    n->watch = netio_host_watch();
    if (!n->watch || thread_create(&n->thread, NULL, netio_notice_run, n) != 0) {
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
    struct netio_notice n = {
        .on_interface = Callback, .context = CallerContext, .family = Family, .initial = InitialNotification
    };

    irql_check_max(__func__, APC_LEVEL);
    if (!Callback || !NotificationHandle || !netio_is_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    return netio_notice_start(&n, NotificationHandle);
}

NTSTATUS NotifyUnicastIpAddressChange(ADDRESS_FAMILY Family, PUNICAST_IPADDRESS_CHANGE_CALLBACK Callback,
                                      PVOID CallerContext, BOOLEAN InitialNotification, HANDLE *NotificationHandle)
{
    struct netio_notice n = {
        .on_address = Callback, .context = CallerContext, .family = Family, .initial = InitialNotification
    };

    irql_check_max(__func__, APC_LEVEL);
    if (!Callback || !NotificationHandle || !netio_is_family_known(Family))
        return STATUS_INVALID_PARAMETER;
    return netio_notice_start(&n, NotificationHandle);
}

NTSTATUS CancelMibChangeNotify2(HANDLE NotificationHandle)
{
    struct netio_notice *n = NotificationHandle;

    irql_check_max(__func__, PASSIVE_LEVEL);
    if (!n || !live_remove(LIVE_HANDLE, n))
        return STATUS_INVALID_PARAMETER;
    netio_host_watch_stop(n->watch);
    pthread_join(n->thread, NULL);
    netio_host_watch_free(n->watch);
    free(n);
    return STATUS_SUCCESS;
}
