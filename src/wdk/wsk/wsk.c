/* SPDX-License-Identifier: MIT */
/*
 * Implements the registration of Winsock Kernel clients, which can capture the provider and open adapters. The file
 * also has the provider's dispatch table. socket.h has the sockets, and names.h has the name queries.
 *
 * A client is in one of these states:
 *
 *   registered     from WskRegister to WskDeregister; the provider can be captured only in this state
 *   deregistering  WskDeregister waits until the client's captures, calls, sockets and adapters have ended
 *   gone           the client is freed; the WSK_REGISTRATION holds GONE until the driver overwrites it
 *
 * All clients share one lock, because nothing here is on a data path.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wsk.h"
#include "wskndk.h"

#include "verify/verify.h"
#include "wdk/common/check.h"
#include "wdk/common/live.h"
#include "wdk/ke/thread.h"
#include "wdk/ndk/open.h"
#include "wdk/wsk/client.h"
#include "wdk/wsk/names.h"
#include "wdk/wsk/socket.h"

const NPIID NPI_WSK_INTERFACE_ID = { 0x2227e803, 0x8d8b, 0x11d4, { 0xab, 0xad, 0x00, 0x90, 0x27, 0x71, 0x9e, 0x09 } };

enum { REGISTERED = 0x5752, GONE = 0x5747, PRINT_WAITS_AFTER_MS = 3000 };
enum { MIN_VERSION = MAKE_WSK_VERSION(1, 0), MAX_VERSION = MAKE_WSK_VERSION(1, 1) };

/* A PWSK_CLIENT points at a struct wsk_client. */
struct wsk_client {
    WSK_REGISTRATION *registration;
    USHORT version;
    ULONG captured, calls, adapters, sockets; /* numbers of each; `sockets` includes the name queries */
    ULONG static_events;
    BOOLEAN deregistering;
    struct wsk_client *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_cond; /* timed waits use CLOCK_MONOTONIC */
static struct wsk_client *clients;

static const WSK_PROVIDER_DISPATCH provider_dispatch;

__attribute__((constructor)) static void wsk_client_init_idle_cond(void)
{
    pthread_condattr_t clock;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&idle_cond, &clock);
    pthread_condattr_destroy(&clock);
}

/* ---- Registrations; all functions except wsk_client_report_unknown require the lock ---- */

static struct wsk_client *wsk_client_find_by_registration(const WSK_REGISTRATION *registration)
{
    struct wsk_client *c = clients;

    while (c && c->registration != registration)
        c = c->next;
    return c;
}

static struct wsk_client *wsk_client_find_by_handle(PWSK_CLIENT handle)
{
    struct wsk_client *c = clients;

    while (c && c != handle)
        c = c->next;
    return c;
}

static BOOLEAN wsk_client_is_idle(const struct wsk_client *c)
{
    return c->captured == 0 && c->calls == 0 && c->adapters == 0 && c->sockets == 0;
}

static void wsk_client_signal_if_idle(const struct wsk_client *c)
{
    if (c->deregistering && wsk_client_is_idle(c))
        pthread_cond_broadcast(&idle_cond);
}

static void wsk_client_report_unknown(const char *routine, const void *registration)
{
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)registration, 0, 0, 0, "%p is not registered",
                     registration);
}

/* ---- The five exported routines ---- */

static NTSTATUS wsk_client_register(const WSK_CLIENT_DISPATCH *dispatch, WSK_REGISTRATION *registration)
{
    struct wsk_client *c;

    if (!dispatch || dispatch->Reserved || !registration)
        return STATUS_INVALID_PARAMETER;
    c = calloc(1, sizeof *c);
    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    c->registration = registration;
    c->version = dispatch->Version;
    registration->ReservedRegistrationState = REGISTERED;
    registration->ReservedRegistrationContext = c;
    registration->ReservedRegistrationLock = 0;
    live_add(LIVE_WSK_REGISTRATION, c, "WSK_REGISTRATION");
    pthread_mutex_lock(&lock);
    c->next = clients;
    clients = c;
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

NTSTATUS WskRegister(PWSK_CLIENT_NPI WskClientNpi, PWSK_REGISTRATION WskRegistration)
{
    const WSK_CLIENT_DISPATCH *dispatch = WskClientNpi ? WskClientNpi->Dispatch : NULL;
    const struct kernel_call call = KERNEL_CALL(WskRegister, .object = (uintptr_t)WskRegistration,
                                                .version = dispatch ? dispatch->Version : 0);

    irql_check_max("WskRegister", PASSIVE_LEVEL);
    return kernel_call_return(&call, wsk_client_register(dispatch, WskRegistration));
}

static BOOLEAN wsk_client_is_version_supported(USHORT version)
{
    return version >= MIN_VERSION && version <= MAX_VERSION;
}

NTSTATUS WskCaptureProviderNPI(PWSK_REGISTRATION WskRegistration, ULONG WaitTimeout, PWSK_PROVIDER_NPI WskProviderNpi)
{
    const struct kernel_call call = KERNEL_CALL(WskCaptureProviderNPI, .object = (uintptr_t)WskRegistration,
                                                .timeout = WaitTimeout);
    NTSTATUS status = STATUS_SUCCESS;
    struct wsk_client *c;

    irql_check_max("WskCaptureProviderNPI", WaitTimeout == WSK_NO_WAIT ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    pthread_mutex_lock(&lock);
    c = wsk_client_find_by_registration(WskRegistration);
    if (!c || c->deregistering)
        status = STATUS_DEVICE_NOT_READY;
    else if (!wsk_client_is_version_supported(c->version))
        status = STATUS_NOINTERFACE;
    else
        *WskProviderNpi = (WSK_PROVIDER_NPI){ c, &provider_dispatch };
    if (NT_SUCCESS(status) && ++c->captured == 1)
        live_add(LIVE_WSK_PROVIDER, &c->captured, "captured WSK_PROVIDER_NPI");
    pthread_mutex_unlock(&lock);
    return kernel_call_return(&call, status);
}

VOID WskReleaseProviderNPI(PWSK_REGISTRATION WskRegistration)
{
    const struct kernel_call call = KERNEL_CALL(WskReleaseProviderNPI, .object = (uintptr_t)WskRegistration);
    struct wsk_client *c;
    BOOLEAN refused;

    irql_check_max("WskReleaseProviderNPI", DISPATCH_LEVEL);
    pthread_mutex_lock(&lock);
    c = wsk_client_find_by_registration(WskRegistration);
    refused = c && c->captured > 0;
    if (refused && --c->captured == 0) {
        live_remove(LIVE_WSK_PROVIDER, &c->captured);
        wsk_client_signal_if_idle(c);
    }
    pthread_mutex_unlock(&lock);
    if (!refused && check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskReleaseProviderNPI", (uintptr_t)WskRegistration, 0, 0, 0,
                     "no provider is captured by registration %p", (void *)WskRegistration);
    kernel_call_done(&call);
}

NTSTATUS WskQueryProviderCharacteristics(PWSK_REGISTRATION WskRegistration,
                                         PWSK_PROVIDER_CHARACTERISTICS WskProviderCharacteristics)
{
    const struct kernel_call call = KERNEL_CALL(WskQueryProviderCharacteristics, .object = (uintptr_t)WskRegistration);
    struct wsk_client *c;
    BOOLEAN ready;

    irql_check_max("WskQueryProviderCharacteristics", DISPATCH_LEVEL);
    pthread_mutex_lock(&lock);
    c = wsk_client_find_by_registration(WskRegistration);
    ready = c && !c->deregistering;
    pthread_mutex_unlock(&lock);
    if (ready)
        *WskProviderCharacteristics = (WSK_PROVIDER_CHARACTERISTICS){ MAX_VERSION, MIN_VERSION };
    return kernel_call_return(&call, ready ? STATUS_SUCCESS : STATUS_DEVICE_NOT_READY);
}

/*
 * Prints what WskDeregister waits for. Otherwise a driver that has not closed something would hang without a message.
 */
static void wsk_client_print_waits(const struct wsk_client *c)
{
    FILE *out = report_output();

    fprintf(out, "WskDeregister waits: %u captured provider(s), %u call(s), %u open NDK adapter(s), %u socket(s)\n",
            c->captured, c->calls, c->adapters, c->sockets);
    fflush(out);
}

/* Waits for at most `ms`. Returns true if the client is idle. Requires the lock. */
static BOOLEAN wsk_client_wait_idle(const struct wsk_client *c, unsigned ms)
{
    struct timespec until;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    while (!wsk_client_is_idle(c) && !error)
        error = pthread_cond_timedwait(&idle_cond, &lock, &until);
    return wsk_client_is_idle(c);
}

static BOOLEAN wsk_client_only_has_adapters(const struct wsk_client *c)
{
    return c->captured == 0 && c->calls == 0 && c->sockets == 0 && c->adapters != 0;
}

/*
 * Waits until the client is idle. If only open adapters have kept it busy for verify_stall_ms(), reports them. If they
 * then stay open for another verify_stall_ms(), returns nevertheless.
 */
static void wsk_client_wait_until_idle(struct wsk_client *c)
{
    unsigned stall_ms = check_on() ? verify_stall_ms() : 0, period_ms = stall_ms ? stall_ms : PRINT_WAITS_AFTER_MS;
    unsigned adapters = c->adapters, reports = 0;
    BOOLEAN printed = !check_on();

    while (!wsk_client_is_idle(c)) {
        if (printed && !stall_ms) {
            pthread_cond_wait(&idle_cond, &lock);
        } else if (wsk_client_wait_idle(c, period_ms)) {
            break;
        } else if (stall_ms && adapters == c->adapters && wsk_client_only_has_adapters(c)) {
            if (reports++ > 0)
                break; /* the adapters stay open for the rest of the process */
            pthread_mutex_unlock(&lock);
            verify_report_adapters_left("WskDeregister", adapters);
            pthread_mutex_lock(&lock);
        } else if (!printed) {
            wsk_client_print_waits(c);
            printed = TRUE;
        }
        adapters = c->adapters;
    }
}

static void wsk_client_deregister(WSK_REGISTRATION *registration)
{
    struct wsk_client *c, **at = &clients;
    BOOLEAN last;

    pthread_mutex_lock(&lock);
    c = wsk_client_find_by_registration(registration);
    if (!c || c->deregistering) {
        pthread_mutex_unlock(&lock);
        wsk_client_report_unknown("WskDeregister", registration);
        return;
    }
    c->deregistering = TRUE;
    wsk_client_wait_until_idle(c);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    last = !clients;
    registration->ReservedRegistrationState = GONE;
    registration->ReservedRegistrationContext = NULL;
    pthread_mutex_unlock(&lock);
    live_remove(LIVE_WSK_REGISTRATION, c);
    free(c);
    if (last)
        wsk_thread_stop();
}

VOID WskDeregister(PWSK_REGISTRATION WskRegistration)
{
    const struct kernel_call call = KERNEL_CALL(WskDeregister, .object = (uintptr_t)WskRegistration);

    irql_check_max("WskDeregister", PASSIVE_LEVEL);
    wsk_client_deregister(WskRegistration);
    kernel_call_done(&call);
}

/* ---- The provider's table ---- */

/*
 * Accepts a client that has released the provider but still has an open adapter. Otherwise the client could not close
 * that adapter.
 */
struct wsk_client *wsk_client_begin_call(const char *routine, PWSK_CLIENT handle)
{
    struct wsk_client *c;

    pthread_mutex_lock(&lock);
    c = wsk_client_find_by_handle(handle);
    if (c && c->captured == 0 && c->adapters == 0)
        c = NULL;
    if (c)
        c->calls++;
    pthread_mutex_unlock(&lock);
    if (!c)
        wsk_client_report_unknown(routine, handle);
    return c;
}

/* Adds to the counts, and wakes WskDeregister if all counts are 0. */
static void wsk_client_add_counts(struct wsk_client *c, int calls, int adapters, int sockets)
{
    pthread_mutex_lock(&lock);
    c->calls += (ULONG)calls;
    c->adapters += (ULONG)adapters;
    c->sockets += (ULONG)sockets;
    wsk_client_signal_if_idle(c);
    pthread_mutex_unlock(&lock);
}

void wsk_client_end_call(struct wsk_client *c)
{
    wsk_client_add_counts(c, -1, 0, 0);
}

void wsk_client_ref(struct wsk_client *c)
{
    wsk_client_add_counts(c, 0, 0, 1);
}

void wsk_client_unref(struct wsk_client *c)
{
    wsk_client_add_counts(c, 0, 0, -1);
}

ULONG wsk_client_static_events(struct wsk_client *c)
{
    ULONG events;

    pthread_mutex_lock(&lock);
    events = c->static_events;
    pthread_mutex_unlock(&lock);
    return events;
}

static NTSTATUS WskOpenNdkAdapter(PWSK_CLIENT Client, NDK_VERSION NdkVersion, NET_IFINDEX IfIndex,
                                  NDK_ADAPTER **ppNdkAdapter)
{
    const struct kernel_call call = KERNEL_CALL(WskOpenNdkAdapter, .object = (uintptr_t)Client, .interface = IfIndex,
                                                .major = NdkVersion.Major, .minor = NdkVersion.Minor);
    struct wsk_client *c = wsk_client_begin_call("WskOpenNdkAdapter", Client);
    NTSTATUS status;

    irql_check_max("WskOpenNdkAdapter", PASSIVE_LEVEL);
    if (!c)
        return kernel_call_return(&call, STATUS_INVALID_HANDLE);
    status = ndk_adapter_open(NdkVersion, IfIndex, ppNdkAdapter);
    wsk_client_add_counts(c, -1, NT_SUCCESS(status) ? 1 : 0, 0);
    return kernel_call_return_with(&call, status,
                                   (struct kernel_call_result){ .created = NT_SUCCESS(status) ? *ppNdkAdapter : NULL });
}

static VOID WskCloseNdkAdapter(PWSK_CLIENT Client, NDK_ADAPTER *pNdkAdapter)
{
    const struct kernel_call call = KERNEL_CALL(WskCloseNdkAdapter, .object = (uintptr_t)Client,
                                                .adapter = (uintptr_t)pNdkAdapter);
    struct wsk_client *c = wsk_client_begin_call("WskCloseNdkAdapter", Client);

    ndk_adapter_check_close_irql("WskCloseNdkAdapter", pNdkAdapter);
    if (c)
        wsk_client_add_counts(c, -1, ndk_adapter_close(pNdkAdapter) ? -1 : 0, 0);
    kernel_call_done(&call);
}

static NTSTATUS wsk_client_get_ndk_dispatch(SIZE_T size, PVOID buffer, SIZE_T *returned)
{
    static const WSK_PROVIDER_NDK_DISPATCH ndk = { WskOpenNdkAdapter, WskCloseNdkAdapter };

    if (!buffer || size < sizeof ndk)
        return STATUS_INVALID_PARAMETER;
    *(PWSK_PROVIDER_NDK_DISPATCH)buffer = ndk;
    *returned = sizeof ndk;
    return STATUS_SUCCESS;
}

/* The transports that WskSocket and WskSocketConnect support. */
static const WSK_TRANSPORT transports[] = {
    { 1, SOCK_STREAM, IPPROTO_TCP, AF_INET, { 0 } },
    { 1, SOCK_STREAM, IPPROTO_TCP, AF_INET6, { 0 } },
    { 1, SOCK_DGRAM, IPPROTO_UDP, AF_INET, { 0 } },
    { 1, SOCK_DGRAM, IPPROTO_UDP, AF_INET6, { 0 } },
};

static NTSTATUS wsk_client_get_transports(SIZE_T size, PVOID buffer, SIZE_T *returned)
{
    *returned = sizeof transports;
    if (!buffer || size < sizeof transports)
        return STATUS_BUFFER_OVERFLOW;
    memcpy(buffer, transports, sizeof transports);
    return STATUS_SUCCESS;
}

static NTSTATUS wsk_client_set_static_events(struct wsk_client *c, SIZE_T size,
                                             const WSK_EVENT_CALLBACK_CONTROL *control)
{
    const ULONG known = WSK_EVENT_ACCEPT | WSK_EVENT_RECEIVE | WSK_EVENT_DISCONNECT | WSK_EVENT_SEND_BACKLOG |
                        WSK_EVENT_RECEIVE_FROM;
    NTSTATUS status = STATUS_SUCCESS;

    if (!control || size < sizeof *control || !control->NpiId ||
        memcmp(control->NpiId, &NPI_WSK_INTERFACE_ID, sizeof(NPIID)) || control->EventMask & ~known)
        return STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    if (c->sockets)
        status = STATUS_INVALID_DEVICE_STATE;
    else
        c->static_events = control->EventMask;
    pthread_mutex_unlock(&lock);
    return status;
}

static NTSTATUS WskControlClient(PWSK_CLIENT Client, ULONG ControlCode, SIZE_T InputSize, PVOID InputBuffer,
                                 SIZE_T OutputSize, PVOID OutputBuffer, SIZE_T *OutputSizeReturned, PIRP Irp)
{
    const struct kernel_call call = KERNEL_CALL(WskControlClient, .object = (uintptr_t)Client, .code = ControlCode,
                                                .in = InputSize, .out = OutputSize, .irp = (uintptr_t)Irp);
    struct wsk_client *c = wsk_client_begin_call("WskControlClient", Client);
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    SIZE_T returned = 0;

    irql_check_max("WskControlClient", DISPATCH_LEVEL);
    if (!c)
        return kernel_call_return(&call, wsk_complete_irp(Irp, STATUS_INVALID_HANDLE, 0));
    if (ControlCode == WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH)
        status = wsk_client_get_ndk_dispatch(OutputSize, OutputBuffer, &returned);
    else if (ControlCode == WSK_TRANSPORT_LIST_QUERY)
        status = wsk_client_get_transports(OutputSize, OutputBuffer, &returned);
    else if (ControlCode == WSK_SET_STATIC_EVENT_CALLBACKS)
        status = wsk_client_set_static_events(c, InputSize, InputBuffer);
    else if (ControlCode == WSK_TDI_BEHAVIOR && InputBuffer && InputSize >= sizeof(ULONG))
        status = STATUS_SUCCESS; /* OpenNDK has no TDI, so the setting changes nothing */
    if (OutputSizeReturned)
        *OutputSizeReturned = returned;
    status = wsk_complete_irp(Irp, status, returned);
    wsk_client_end_call(c);
    return kernel_call_return_with(&call, status, (struct kernel_call_result){ .bytes = returned });
}

static const WSK_PROVIDER_DISPATCH provider_dispatch = {
    .Version = MAX_VERSION,
    .WskSocket = wsk_socket,
    .WskSocketConnect = wsk_socket_connect,
    .WskControlClient = WskControlClient,
    .WskGetAddressInfo = wsk_names_get_address,
    .WskFreeAddressInfo = wsk_names_free,
    .WskGetNameInfo = wsk_names_get_name,
};
