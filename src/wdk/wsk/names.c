/* SPDX-License-Identifier: MIT */
/* Implements WskGetAddressInfo, WskFreeAddressInfo and WskGetNameInfo: see names.h. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/common/text.h"
#include "wdk/io/irp.h"
#include "wdk/ke/thread.h"
#include "wdk/wsk/client.h"
#include "wdk/wsk/names.h"
#include "wdk/wsk/names_host.h"

/* A pending query. It owns copies of the driver's strings and hints. */
struct wsk_query {
    void (*run)(struct wsk_query *q);
    struct wsk_client *client;
    struct kernel_call call;
    PIRP irp;
    char *node, *service; /* arguments of WskGetAddressInfo */
    struct wsk_names_hints hints;
    struct addrinfoexW **result;
    struct stack by;            /* the caller of WskGetAddressInfo */
    struct wsk_address address; /* argument of WskGetNameInfo */
    ULONG flags;
    PUNICODE_STRING node_out, service_out;
};

/* A list entry that WskGetAddressInfo returns. WskFreeAddressInfo receives the first entry and frees the whole list. */
struct wsk_address_info {
    ADDRINFOEXW info; /* first */
    struct wsk_address address;
    WCHAR *canonical;
};

static NTSTATUS wsk_names_status(enum wsk_names_result result)
{
    static const NTSTATUS statuses[] = {
        [WSK_NAMES_FOUND] = STATUS_SUCCESS,
        [WSK_NAMES_NO_MATCH] = STATUS_NO_MATCH,
        [WSK_NAMES_NO_MEMORY] = STATUS_INSUFFICIENT_RESOURCES,
        [WSK_NAMES_INVALID] = STATUS_INVALID_PARAMETER,
    };

    return statuses[result];
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */

static void wsk_query_free(struct wsk_query *q)
{
    free(q->node);
    free(q->service);
    free(q);
}

static void wsk_query_finish(struct wsk_query *q, NTSTATUS status)
{
    struct wsk_client *client = q->client;
    PIRP irp = q->irp;

    wsk_trace_completed(&q->call, irp, status, 0);
    wsk_query_free(q);
    irp->IoStatus.Status = status;
    irp->IoStatus.Information = (ULONG_PTR)status;
    irp_complete(irp);
    wsk_client_unref(client);
}

static void *wsk_query_run(void *argument)
{
    struct wsk_query *q = argument;

    q->run(q);
    return NULL;
}

/*
 * Starts the query's thread. When the thread is done, or cannot be started, the IRP completes and the query is freed.
 */
static NTSTATUS wsk_query_start(struct wsk_query *q, void (*run)(struct wsk_query *q))
{
    pthread_t thread;

    IoSetNextIrpStackLocation(q->irp);
    IoMarkIrpPending(q->irp);
    wsk_client_ref(q->client);
    q->run = run;
    if (thread_create(&thread, NULL, wsk_query_run, q))
        wsk_query_finish(q, STATUS_INSUFFICIENT_RESOURCES);
    else
        pthread_detach(thread);
    return STATUS_PENDING;
}

/* ---- Addresses of a name ----------------------------------------------------------------------------------------- */

static void wsk_address_info_free_list(struct wsk_address_info *a)
{
    while (a) {
        struct wsk_address_info *next = (struct wsk_address_info *)a->info.ai_next;

        free(a->canonical);
        free(a);
        a = next;
    }
}

static struct wsk_address_info *wsk_address_info_alloc(const struct wsk_names_entry *e)
{
    struct wsk_address_info *a = calloc(1, sizeof *a);

    if (!a)
        return NULL;
    a->address = e->address;
    a->info = (ADDRINFOEXW){ .ai_family = (int)e->family,
                             .ai_socktype = e->type,
                             .ai_protocol = e->protocol,
                             .ai_addrlen = wsk_address_size(e->family),
                             .ai_addr = (struct sockaddr *)a->address.bytes };
    return a;
}

static struct wsk_address_info *wsk_address_info_list(const struct wsk_names *names)
{
    struct wsk_address_info *list = NULL;

    for (size_t i = names->count; i-- > 0;) {
        struct wsk_address_info *a = wsk_address_info_alloc(&names->entries[i]);

        if (!a) {
            wsk_address_info_free_list(list);
            return NULL;
        }
        a->info.ai_next = list ? &list->info : NULL;
        list = a;
    }
    if (list && names->canonical[0])
        list->info.ai_canonname = list->canonical = text_wide_copy(names->canonical);
    return list;
}

static void wsk_query_resolve(struct wsk_query *q)
{
    struct wsk_names *names = NULL;
    struct wsk_address_info *list = NULL;
    NTSTATUS status = wsk_names_status(wsk_names_host_resolve(q->node, q->service, &q->hints, &names));

    if (NT_SUCCESS(status)) {
        list = wsk_address_info_list(names);
        status = list ? STATUS_SUCCESS : names->count ? STATUS_INSUFFICIENT_RESOURCES : STATUS_NO_MATCH;
        free(names);
    }
    if (list)
        live_add_made(LIVE_WSK_ADDRESS_LIST, list, "ADDRINFOEXW", &q->by);
    *q->result = list ? &list->info : NULL;
    wsk_query_finish(q, status);
}

/* Copies the string as UTF-8. *copy stays NULL for an empty string. Returns false if out of memory. */
static bool wsk_names_copy_string(char **copy, const UNICODE_STRING *s)
{
    if (!s || !s->Buffer || !s->Length)
        return true;
    *copy = text_narrow_copy(s->Buffer, s->Length / sizeof(WCHAR));
    return *copy;
}

static NTSTATUS wsk_query_init_resolve(struct wsk_query *q, const UNICODE_STRING *node, const UNICODE_STRING *service,
                                       const ADDRINFOEXW *hints, struct addrinfoexW **result)
{
    if (!result)
        return STATUS_INVALID_PARAMETER;
    *result = NULL;
    q->result = result;
    if (hints)
        q->hints = (struct wsk_names_hints){ (uint32_t)hints->ai_flags, (uint32_t)hints->ai_family, hints->ai_socktype,
                                             hints->ai_protocol };
    if (q->hints.family != AF_UNSPEC && q->hints.family != AF_INET && q->hints.family != AF_INET6)
        return STATUS_INVALID_PARAMETER;
    if (!wsk_names_copy_string(&q->node, node) || !wsk_names_copy_string(&q->service, service))
        return STATUS_INSUFFICIENT_RESOURCES;
    return q->node || q->service ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

NTSTATUS WSKAPI wsk_names_get_address(PWSK_CLIENT Client, PUNICODE_STRING NodeName, PUNICODE_STRING ServiceName,
                                      ULONG NameSpace, GUID *Provider, struct addrinfoexW *Hints,
                                      struct addrinfoexW **Result, PEPROCESS OwningProcess, PETHREAD OwningThread,
                                      PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskGetAddressInfo, .object = (uintptr_t)Client,
                                                .node = kernel_call_text(NodeName),
                                                .service = kernel_call_text(ServiceName), .irp = (uintptr_t)Irp);
    struct wsk_client *c = wsk_client_begin_call("WskGetAddressInfo", Client);
    struct wsk_query *q = calloc(1, sizeof *q);
    NTSTATUS status;

    irql_check_max("WskGetAddressInfo", PASSIVE_LEVEL);
    if (!c || !Irp || (NameSpace != NS_ALL && NameSpace != NS_DNS) || Provider || (OwningThread && !OwningProcess))
        status = c ? STATUS_INVALID_PARAMETER : STATUS_INVALID_HANDLE;
    else
        status = q ? wsk_query_init_resolve(q, NodeName, ServiceName, Hints, Result) : STATUS_INSUFFICIENT_RESOURCES;
    if (NT_SUCCESS(status)) {
        q->client = c;
        q->call = call;
        q->irp = Irp;
        if (check_on())
            stack_capture(&q->by, __builtin_return_address(0));
        status = wsk_query_start(q, wsk_query_resolve);
    } else {
        if (q)
            wsk_query_free(q);
        (void)wsk_complete_irp(Irp, status, 0);
    }
    if (c)
        wsk_client_end_call(c);
    return kernel_call_return(&call, status);
}

VOID WSKAPI wsk_names_free(PWSK_CLIENT Client, struct addrinfoexW *AddrInfo)
{
    const struct kernel_call call = KERNEL_CALL(WskFreeAddressInfo, .object = (uintptr_t)Client,
                                                .info = (uintptr_t)AddrInfo);

    irql_check_max("WskFreeAddressInfo", PASSIVE_LEVEL);
    if (AddrInfo && live_remove(LIVE_WSK_ADDRESS_LIST, AddrInfo))
        wsk_address_info_free_list((struct wsk_address_info *)AddrInfo);
    else if (AddrInfo && check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskFreeAddressInfo", (uintptr_t)AddrInfo, 0, 0, 0,
                     "%p is not from WskGetAddressInfo", (void *)AddrInfo);
    kernel_call_done(&call);
}

/* ---- The name of an address -------------------------------------------------------------------------------------- */

/* Copies the text to *out and adds a terminator, which out->Length does not count. */
static NTSTATUS wsk_names_put_string(PUNICODE_STRING out, const char *text)
{
    const SIZE_T room = out && out->Buffer ? out->MaximumLength / sizeof(WCHAR) : 0;
    SIZE_T units;

    if (!out)
        return STATUS_SUCCESS;
    units = text_to_utf16(out->Buffer, room ? room - 1 : 0, text, strlen(text), NULL, NULL);
    if (units + 1 > room)
        return STATUS_BUFFER_TOO_SMALL;
    out->Buffer[units] = 0;
    out->Length = (USHORT)(units * sizeof(WCHAR));
    return STATUS_SUCCESS;
}

static void wsk_query_get_name(struct wsk_query *q)
{
    char node[WSK_NAMES_NODE_SIZE], service[WSK_NAMES_SERVICE_SIZE];
    NTSTATUS status = wsk_names_status(wsk_names_host_name(&q->address, q->flags, node, service));

    if (NT_SUCCESS(status))
        status = wsk_names_put_string(q->node_out, node);
    if (NT_SUCCESS(status))
        status = wsk_names_put_string(q->service_out, service);
    wsk_query_finish(q, status);
}

static bool wsk_names_copy_address(struct wsk_address *to, const SOCKADDR *from, ULONG size)
{
    if (!from || (from->sa_family != AF_INET && from->sa_family != AF_INET6) ||
        size < wsk_address_size(from->sa_family))
        return false;
    memcpy(to->bytes, from, wsk_address_size(from->sa_family));
    return true;
}

NTSTATUS WSKAPI wsk_names_get_name(PWSK_CLIENT Client, PSOCKADDR SockAddr, ULONG SockAddrLength,
                                   PUNICODE_STRING NodeName, PUNICODE_STRING ServiceName, ULONG Flags,
                                   PEPROCESS OwningProcess, PETHREAD OwningThread, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskGetNameInfo, .object = (uintptr_t)Client,
                                                .remote = kernel_call_addr(SockAddr), .irp = (uintptr_t)Irp);
    struct wsk_client *c = wsk_client_begin_call("WskGetNameInfo", Client);
    struct wsk_query *q = calloc(1, sizeof *q);
    NTSTATUS status = q ? STATUS_SUCCESS : STATUS_INSUFFICIENT_RESOURCES;

    irql_check_max("WskGetNameInfo", PASSIVE_LEVEL);
    if (!c)
        status = STATUS_INVALID_HANDLE;
    else if (q && (!Irp || (!NodeName && !ServiceName) || (OwningThread && !OwningProcess) ||
                   !wsk_names_copy_address(&q->address, SockAddr, SockAddrLength)))
        status = STATUS_INVALID_PARAMETER;
    if (NT_SUCCESS(status)) {
        q->client = c;
        q->call = call;
        q->irp = Irp;
        q->flags = Flags;
        q->node_out = NodeName;
        q->service_out = ServiceName;
        status = wsk_query_start(q, wsk_query_get_name);
    } else {
        free(q);
        (void)wsk_complete_irp(Irp, status, 0);
    }
    if (c)
        wsk_client_end_call(c);
    return kernel_call_return(&call, status);
}
