/* SPDX-License-Identifier: MIT */
/*
 * Winsock Kernel's registration: who is a client, what it has captured and opened, and when it may go.
 *
 *   registered  WskRegister -> WskDeregister begins; only here a provider can be captured
 *   leaving     WskDeregister waits until captured, calls and adapters are all 0
 *   gone        the registration says so, as long as its owner leaves it as it is
 *
 * One lock for all clients: nothing here is on a data path.
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "wsk.h"
#include "wskndk.h"

#include "base/mutant.h"
#include "wdk/check.h"
#include "wdk/live.h"
#include "wdk/ndk_filter.h"
#include "wdk/thread.h"

enum { REGISTERED = 0x5752, GONE = 0x5747, PATIENCE_SECONDS = 3 };
enum { LOWEST = MAKE_WSK_VERSION(1, 0), HIGHEST = MAKE_WSK_VERSION(1, 1) };

/* A PWSK_CLIENT is one of these. */
struct client {
    WSK_REGISTRATION *registration;
    USHORT version;
    ULONG captured, calls, adapters;
    BOOLEAN leaving;
    struct client *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct client *clients;

static const WSK_PROVIDER_DISPATCH provider_dispatch;

/* ---- registrations; under the lock ---- */

static struct client *of_registration(const WSK_REGISTRATION *registration)
{
    struct client *c = clients;

    while (c && c->registration != registration)
        c = c->next;
    return c;
}

static struct client *of_handle(PWSK_CLIENT handle)
{
    struct client *c = clients;

    while (c && c != handle)
        c = c->next;
    return c;
}

static BOOLEAN is_idle(const struct client *c)
{
    return (c->captured == 0 || MUTANT(wsk_02_captured_not_waited)) && c->calls == 0 &&
           (c->adapters == 0 || MUTANT(wsk_02_adapters_not_waited));
}

static void tell_if_idle(const struct client *c)
{
    if (c->leaving && is_idle(c))
        pthread_cond_broadcast(&left);
}

static void not_registered(const char *routine, const void *registration)
{
    if (check_on())
        check_failed(CHECK_HANDLE_INVALID, routine, (uintptr_t)registration, 0, 0, 0, "%p is not registered",
                     registration);
}

/* ---- the five routines ---- */

NTSTATUS WskRegister(PWSK_CLIENT_NPI WskClientNpi, PWSK_REGISTRATION WskRegistration)
{
    struct client *c;

    irql_check_max("WskRegister", PASSIVE_LEVEL);
    if (!WskClientNpi || !WskClientNpi->Dispatch || WskClientNpi->Dispatch->Reserved || !WskRegistration)
        return STATUS_INVALID_PARAMETER;
    c = calloc(1, sizeof *c);
    if (!c)
        return STATUS_INSUFFICIENT_RESOURCES;
    c->registration = WskRegistration;
    c->version = WskClientNpi->Dispatch->Version;
    WskRegistration->ReservedRegistrationState = REGISTERED;
    WskRegistration->ReservedRegistrationContext = c;
    WskRegistration->ReservedRegistrationLock = 0;
    live_add(LIVE_WSK, c, "WSK_REGISTRATION");
    pthread_mutex_lock(&lock);
    c->next = clients;
    clients = c;
    pthread_mutex_unlock(&lock);
    return STATUS_SUCCESS;
}

static BOOLEAN is_served(USHORT version)
{
    return version >= LOWEST && (version <= HIGHEST || MUTANT(wsk_01_any_version));
}

NTSTATUS WskCaptureProviderNPI(PWSK_REGISTRATION WskRegistration, ULONG WaitTimeout, PWSK_PROVIDER_NPI WskProviderNpi)
{
    NTSTATUS status = STATUS_SUCCESS;
    struct client *c;

    irql_check_max("WskCaptureProviderNPI", WaitTimeout == WSK_NO_WAIT ? DISPATCH_LEVEL : PASSIVE_LEVEL);
    pthread_mutex_lock(&lock);
    c = of_registration(WskRegistration);
    if (!c || c->leaving)
        status = STATUS_DEVICE_NOT_READY;
    else if (!is_served(c->version))
        status = STATUS_NOINTERFACE;
    else
        *WskProviderNpi = (WSK_PROVIDER_NPI){ c, &provider_dispatch };
    if (NT_SUCCESS(status) && ++c->captured == 1)
        live_add(LIVE_WSK, &c->captured, "captured WSK_PROVIDER_NPI");
    pthread_mutex_unlock(&lock);
    return status;
}

VOID WskReleaseProviderNPI(PWSK_REGISTRATION WskRegistration)
{
    struct client *c;
    BOOLEAN held;

    irql_check_max("WskReleaseProviderNPI", DISPATCH_LEVEL);
    pthread_mutex_lock(&lock);
    c = of_registration(WskRegistration);
    held = c && c->captured > 0;
    if (held && --c->captured == 0) {
        live_remove(LIVE_WSK, &c->captured);
        tell_if_idle(c);
    }
    pthread_mutex_unlock(&lock);
    if (!held && check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskReleaseProviderNPI", (uintptr_t)WskRegistration, 0, 0, 0,
                     "no provider is captured by registration %p", (void *)WskRegistration);
}

NTSTATUS WskQueryProviderCharacteristics(PWSK_REGISTRATION WskRegistration,
                                         PWSK_PROVIDER_CHARACTERISTICS WskProviderCharacteristics)
{
    struct client *c;
    BOOLEAN ready;

    irql_check_max("WskQueryProviderCharacteristics", DISPATCH_LEVEL);
    pthread_mutex_lock(&lock);
    c = of_registration(WskRegistration);
    ready = c && !c->leaving;
    pthread_mutex_unlock(&lock);
    if (!ready)
        return STATUS_DEVICE_NOT_READY;
    *WskProviderCharacteristics = (WSK_PROVIDER_CHARACTERISTICS){ HIGHEST, LOWEST };
    return STATUS_SUCCESS;
}

/* A driver that forgot something would hang here without a word. */
static void tell_what_is_waited_for(const struct client *c)
{
    FILE *out = check_output();

    fprintf(out, "WskDeregister waits: %u captured provider(s), %u call(s), %u open NDK adapter(s)\n", c->captured,
            c->calls, c->adapters);
    fflush(out);
}

static void wait_until_idle(struct client *c)
{
    struct timespec until;
    BOOLEAN told = !check_on();

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_SECONDS;
    while (!is_idle(c)) {
        if (told) {
            pthread_cond_wait(&left, &lock);
        } else if (pthread_cond_timedwait(&left, &lock, &until) && !is_idle(c)) {
            tell_what_is_waited_for(c);
            told = TRUE;
        }
    }
}

VOID WskDeregister(PWSK_REGISTRATION WskRegistration)
{
    struct client *c, **at = &clients;

    irql_check_max("WskDeregister", PASSIVE_LEVEL);
    pthread_mutex_lock(&lock);
    c = of_registration(WskRegistration);
    if (!c || c->leaving) {
        pthread_mutex_unlock(&lock);
        not_registered("WskDeregister", WskRegistration);
        return;
    }
    c->leaving = TRUE;
    wait_until_idle(c);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    WskRegistration->ReservedRegistrationState = GONE;
    WskRegistration->ReservedRegistrationContext = NULL;
    pthread_mutex_unlock(&lock);
    live_remove(LIVE_WSK, c);
    free(c);
}

/* ---- the provider's table ---- */

/*
 * A call through the table: it counts until leave. NULL: that is no client which has captured the provider. One that
 * gave it back with an adapter open can still close the adapter.
 */
static struct client *enter(const char *routine, PWSK_CLIENT handle)
{
    struct client *c;

    pthread_mutex_lock(&lock);
    c = of_handle(handle);
    if (c && c->captured == 0 && c->adapters == 0)
        c = NULL;
    if (c)
        c->calls++;
    pthread_mutex_unlock(&lock);
    if (!c)
        not_registered(routine, handle);
    return c;
}

/* With the change in open adapters that the call made. */
static void leave(struct client *c, int adapters)
{
    pthread_mutex_lock(&lock);
    c->calls--;
    c->adapters += (ULONG)adapters;
    tell_if_idle(c);
    pthread_mutex_unlock(&lock);
}

/* The IRP, where there is one, always gets what the call returns. */
static NTSTATUS answer(PIRP irp, NTSTATUS status, SIZE_T information)
{
    if (irp) {
        IoSetNextIrpStackLocation(irp); /* the caller's routine is there */
        irp->IoStatus.Status = status;
        irp->IoStatus.Information = information;
        IoCompleteRequest(irp, IO_NO_INCREMENT);
    }
    return status;
}

static NTSTATUS WskOpenNdkAdapter(PWSK_CLIENT Client, NDK_VERSION NdkVersion, NET_IFINDEX IfIndex,
                                  NDK_ADAPTER **ppNdkAdapter)
{
    struct client *c = enter("WskOpenNdkAdapter", Client);
    NTSTATUS status;

    irql_check_max("WskOpenNdkAdapter", PASSIVE_LEVEL);
    if (!c)
        return STATUS_INVALID_HANDLE;
    status = ndk_filter_open(NdkVersion, IfIndex, ppNdkAdapter);
    leave(c, NT_SUCCESS(status) ? 1 : 0);
    return status;
}

static VOID WskCloseNdkAdapter(PWSK_CLIENT Client, NDK_ADAPTER *pNdkAdapter)
{
    struct client *c = enter("WskCloseNdkAdapter", Client);

    irql_check_max("WskCloseNdkAdapter", PASSIVE_LEVEL);
    if (!c)
        return;
    leave(c, ndk_filter_close(pNdkAdapter) ? -1 : 0);
}

static NTSTATUS give_ndk_dispatch(SIZE_T size, PVOID buffer, SIZE_T *returned)
{
    static const WSK_PROVIDER_NDK_DISPATCH ndk = { WskOpenNdkAdapter, WskCloseNdkAdapter };

    if (!buffer || (size < sizeof ndk && !MUTANT(wsk_01_short_buffer_taken)))
        return STATUS_INVALID_PARAMETER;
    *(PWSK_PROVIDER_NDK_DISPATCH)buffer = ndk;
    *returned = sizeof ndk;
    return STATUS_SUCCESS;
}

static NTSTATUS WskControlClient(PWSK_CLIENT Client, ULONG ControlCode, SIZE_T InputSize, PVOID InputBuffer,
                                 SIZE_T OutputSize, PVOID OutputBuffer, SIZE_T *OutputSizeReturned, PIRP Irp)
{
    struct client *c = enter("WskControlClient", Client);
    NTSTATUS status = STATUS_NOT_SUPPORTED;
    SIZE_T returned = 0;

    (void)InputSize, (void)InputBuffer;
    irql_check_max("WskControlClient", DISPATCH_LEVEL);
    if (!c)
        return answer(Irp, STATUS_INVALID_HANDLE, 0);
    if (ControlCode == WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH)
        status = give_ndk_dispatch(OutputSize, OutputBuffer, &returned);
    else if (ControlCode == WSK_TRANSPORT_LIST_QUERY)
        status = STATUS_SUCCESS; /* of none */
    if (OutputSizeReturned)
        *OutputSizeReturned = returned;
    status = answer(Irp, status, returned);
    leave(c, 0);
    return status;
}

/* No transport is offered: what needs one says so, by the IRP too. */
static NTSTATUS WskSocket(PWSK_CLIENT Client, ADDRESS_FAMILY AddressFamily, USHORT SocketType, ULONG Protocol,
                          ULONG Flags,
                          PVOID SocketContext, const VOID *Dispatch, PEPROCESS OwningProcess, PETHREAD OwningThread,
                          PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp)
{
    (void)Client, (void)AddressFamily, (void)SocketType, (void)Protocol, (void)Flags, (void)SocketContext;
    (void)Dispatch, (void)OwningProcess, (void)OwningThread, (void)SecurityDescriptor;
    irql_check_max("WskSocket", DISPATCH_LEVEL);
    return answer(Irp, STATUS_NOT_SUPPORTED, 0);
}

static NTSTATUS WskSocketConnect(PWSK_CLIENT Client, USHORT SocketType, ULONG Protocol, PSOCKADDR LocalAddress,
                                 PSOCKADDR RemoteAddress, ULONG Flags, PVOID SocketContext,
                                 const WSK_CLIENT_CONNECTION_DISPATCH *Dispatch, PEPROCESS OwningProcess,
                                 PETHREAD OwningThread, PSECURITY_DESCRIPTOR SecurityDescriptor, PIRP Irp)
{
    (void)Client, (void)SocketType, (void)Protocol, (void)LocalAddress, (void)RemoteAddress, (void)Flags;
    (void)SocketContext, (void)Dispatch, (void)OwningProcess, (void)OwningThread, (void)SecurityDescriptor;
    irql_check_max("WskSocketConnect", DISPATCH_LEVEL);
    return answer(Irp, STATUS_NOT_SUPPORTED, 0);
}

static NTSTATUS WskGetAddressInfo(PWSK_CLIENT Client, PUNICODE_STRING NodeName, PUNICODE_STRING ServiceName,
                                  ULONG NameSpace, GUID *Provider, struct addrinfoexW *Hints,
                                  struct addrinfoexW **Result, PEPROCESS OwningProcess, PETHREAD OwningThread, PIRP Irp)
{
    (void)Client, (void)NodeName, (void)ServiceName, (void)NameSpace, (void)Provider, (void)Hints;
    (void)OwningProcess, (void)OwningThread;
    irql_check_max("WskGetAddressInfo", PASSIVE_LEVEL);
    if (Result)
        *Result = NULL;
    return answer(Irp, STATUS_NOT_SUPPORTED, 0);
}

/* WskGetAddressInfo has given out nothing that could be freed. */
static VOID WskFreeAddressInfo(PWSK_CLIENT Client, struct addrinfoexW *AddrInfo)
{
    (void)Client;
    irql_check_max("WskFreeAddressInfo", PASSIVE_LEVEL);
    if (AddrInfo && check_on())
        check_failed(CHECK_HANDLE_INVALID, "WskFreeAddressInfo", (uintptr_t)AddrInfo, 0, 0, 0,
                     "%p is not from WskGetAddressInfo", (void *)AddrInfo);
}

static NTSTATUS WskGetNameInfo(PWSK_CLIENT Client, PSOCKADDR SockAddr, ULONG SockAddrLength, PUNICODE_STRING NodeName,
                               PUNICODE_STRING ServiceName, ULONG Flags, PEPROCESS OwningProcess, PETHREAD OwningThread,
                               PIRP Irp)
{
    (void)Client, (void)SockAddr, (void)SockAddrLength, (void)NodeName, (void)ServiceName, (void)Flags;
    (void)OwningProcess, (void)OwningThread;
    irql_check_max("WskGetNameInfo", PASSIVE_LEVEL);
    return answer(Irp, STATUS_NOT_SUPPORTED, 0);
}

static const WSK_PROVIDER_DISPATCH provider_dispatch = {
    .Version = HIGHEST,
    .WskSocket = WskSocket,
    .WskSocketConnect = WskSocketConnect,
    .WskControlClient = WskControlClient,
    .WskGetAddressInfo = WskGetAddressInfo,
    .WskFreeAddressInfo = WskFreeAddressInfo,
    .WskGetNameInfo = WskGetNameInfo,
};
