/* SPDX-License-Identifier: MIT */
/* Clients of WSK: registration, capture, the two functions for NDK adapters, and the waits of the deregistration. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "wsk.h"
#include "wskndk.h"

#include "live_count.h"
#include "report.h"
#include "openndk/verify.h"

static const NTSTATUS bad_version = (NTSTATUS)0xC0010004; /* NDIS_STATUS_BAD_VERSION, of ndis.h */

enum { LOOPBACK = 1 }; /* its index in a network namespace */

static WSK_CLIENT_DISPATCH client_dispatch = { .Version = MAKE_WSK_VERSION(1, 0) };
static const NDK_VERSION ndk_version = { 2, 1 };

static void attach(WSK_REGISTRATION *registration, WSK_PROVIDER_NPI *npi)
{
    WSK_CLIENT_NPI client = { NULL, &client_dispatch };

    assert_int_equal(WskRegister(&client, registration), STATUS_SUCCESS);
    assert_int_equal(WskCaptureProviderNPI(registration, WSK_NO_WAIT, npi), STATUS_SUCCESS);
}

static void detach(WSK_REGISTRATION *registration)
{
    WskReleaseProviderNPI(registration);
    WskDeregister(registration);
}

static NTSTATUS control(const WSK_PROVIDER_NPI *npi, ULONG code, void *buffer, SIZE_T size, SIZE_T *returned, PIRP irp)
{
    return npi->Dispatch->WskControlClient(npi->Client, code, 0, NULL, size, buffer, returned, irp);
}

static void get_ndk(const WSK_PROVIDER_NPI *npi, WSK_PROVIDER_NDK_DISPATCH *ndk)
{
    assert_int_equal(control(npi, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, ndk, sizeof *ndk, NULL, NULL), STATUS_SUCCESS);
    assert_non_null(ndk->WskOpenNdkAdapter);
    assert_non_null(ndk->WskCloseNdkAdapter);
}

/* covers: WSK-01 */
static void test_in_order(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    struct report *r = report_start();

    (void)state;
    attach(&registration, &npi);
    assert_true(npi.Dispatch->Version >= MAKE_WSK_VERSION(1, 0));
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, ndk_version, LOOPBACK, &adapter), STATUS_SUCCESS);
    assert_int_equal(adapter->Header.ObjectType, NdkObjectTypeAdapter);
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    assert_int_equal(info.Version.Major, 2);
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
    detach(&registration);
    report_is_empty(r);
    assert_int_equal(live_count(), 0);
}

/* covers: WSK-01 */
static void test_open_fails_as_the_provider_does(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;
    struct report *r = report_start();

    (void)state;
    attach(&registration, &npi);
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, (NDK_VERSION){ 3, 0 }, LOOPBACK, &adapter), bad_version);
    assert_null(adapter);
    detach(&registration);
    report_is_empty(r);
}

/* STATUS_INVALID_PARAMETER is explained, once for an index that is tried again. covers: WSK-01 */
static void test_open_explains(void **state)
{
    const NDK_VERSION version = ndk_version;
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;
    struct report *r = report_start();
    const char *first;

    (void)state;
    attach(&registration, &npi);
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, version, 54321, &adapter), STATUS_INVALID_PARAMETER);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, version, 54321, &adapter), STATUS_INVALID_PARAMETER);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, version, LOOPBACK, NULL), STATUS_INVALID_PARAMETER);
    assert_null(adapter);
    detach(&registration);
    assert_int_equal(report_stop(r), 0);
    first = strstr(r->text, "IfIndex 54321 is no interface of this network namespace. There are 1 (lo)");
    assert_non_null(first);
    assert_null(strstr(first + 1, "IfIndex 54321"));
    assert_non_null(strstr(r->text, "ppNdkAdapter is NULL"));
    report_free(r);
}

/* covers: WSK-01 */
static void test_short_buffer(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk = { NULL, NULL };
    SIZE_T returned = 99;

    (void)state;
    attach(&registration, &npi);
    assert_int_equal(control(&npi, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, &ndk, sizeof ndk - 1, &returned, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(returned, 0);
    assert_null(ndk.WskOpenNdkAdapter);
    assert_int_equal(control(&npi, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, NULL, 0, NULL, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(control(&npi, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, &ndk, sizeof ndk, &returned, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(returned, sizeof ndk);
    detach(&registration);
}

/* covers: WSK-01 */
static void test_versions(void **state)
{
    static const struct {
        USHORT version;
        NTSTATUS status;
    } rows[] = {
        { MAKE_WSK_VERSION(1, 0), STATUS_SUCCESS },     { MAKE_WSK_VERSION(1, 1), STATUS_SUCCESS },
        { MAKE_WSK_VERSION(0, 9), STATUS_NOINTERFACE }, { MAKE_WSK_VERSION(1, 9), STATUS_NOINTERFACE },
        { MAKE_WSK_VERSION(2, 0), STATUS_NOINTERFACE },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        WSK_CLIENT_DISPATCH dispatch = { .Version = rows[i].version };
        WSK_CLIENT_NPI client = { NULL, &dispatch };
        WSK_PROVIDER_CHARACTERISTICS range = { 0, 0 };
        WSK_REGISTRATION registration;
        WSK_PROVIDER_NPI npi;

        assert_int_equal(WskRegister(&client, &registration), STATUS_SUCCESS);
        assert_int_equal(WskCaptureProviderNPI(&registration, WSK_INFINITE_WAIT, &npi), rows[i].status);
        assert_int_equal(WskQueryProviderCharacteristics(&registration, &range), STATUS_SUCCESS);
        assert_int_equal(rows[i].version >= range.LowestVersion && rows[i].version <= range.HighestVersion,
                         rows[i].status == STATUS_SUCCESS);
        if (NT_SUCCESS(rows[i].status))
            WskReleaseProviderNPI(&registration);
        WskDeregister(&registration);
        assert_int_equal(WskCaptureProviderNPI(&registration, WSK_NO_WAIT, &npi), STATUS_DEVICE_NOT_READY);
        assert_int_equal(WskQueryProviderCharacteristics(&registration, &range), STATUS_DEVICE_NOT_READY);
    }
}

static void test_bad_registrations(void **state)
{
    WSK_CLIENT_DISPATCH reserved = { .Version = MAKE_WSK_VERSION(1, 0), .Reserved = 1 };
    WSK_CLIENT_NPI client = { NULL, NULL };
    WSK_REGISTRATION registration;

    (void)state;
    assert_int_equal(WskRegister(NULL, &registration), STATUS_INVALID_PARAMETER);
    assert_int_equal(WskRegister(&client, &registration), STATUS_INVALID_PARAMETER);
    client.Dispatch = &reserved;
    assert_int_equal(WskRegister(&client, &registration), STATUS_INVALID_PARAMETER);
    assert_int_equal(live_count(), 0);
}

static NTSTATUS irp_completed(PDEVICE_OBJECT DeviceObject, PIRP Irp, PVOID Context)
{
    (void)DeviceObject, (void)Irp;
    KeSetEvent(Context, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* The IRP, if there is one, completes with the status that the call returned. */
static void test_with_an_irp(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    struct report *r = report_start();
    KEVENT event;
    PIRP irp = IoAllocateIrp(1, FALSE);

    (void)state;
    assert_non_null(irp);
    KeInitializeEvent(&event, SynchronizationEvent, FALSE);
    attach(&registration, &npi);
    IoSetCompletionRoutine(irp, irp_completed, &event, TRUE, TRUE, TRUE);
    assert_int_equal(control(&npi, WSKNDK_GET_WSK_PROVIDER_NDK_DISPATCH, &ndk, sizeof ndk, NULL, irp), STATUS_SUCCESS);
    assert_int_equal(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    assert_int_equal(irp->IoStatus.Status, STATUS_SUCCESS);
    assert_int_equal(irp->IoStatus.Information, sizeof ndk);
    IoReuseIrp(irp, STATUS_UNSUCCESSFUL);
    IoSetCompletionRoutine(irp, irp_completed, &event, TRUE, TRUE, TRUE);
    assert_int_equal(npi.Dispatch->WskSocket(npi.Client, AF_BTH, 1, 6, WSK_FLAG_CONNECTION_SOCKET, NULL, NULL, NULL,
                                             NULL, NULL, irp),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(KeWaitForSingleObject(&event, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    assert_int_equal(irp->IoStatus.Status, STATUS_INVALID_PARAMETER);
    IoFreeIrp(irp);
    detach(&registration);
    report_is_empty(r);
}

static void test_other_controls(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_TRANSPORT transports[4];
    SIZE_T returned = 99;
    ULONG bypass = WSK_TDI_BEHAVIOR_BYPASS_TDI;

    (void)state;
    attach(&registration, &npi);
    assert_int_equal(control(&npi, WSK_TRANSPORT_LIST_QUERY, NULL, 0, &returned, NULL), STATUS_BUFFER_OVERFLOW);
    assert_int_equal(returned, sizeof transports);
    assert_int_equal(control(&npi, WSK_TRANSPORT_LIST_QUERY, transports, sizeof transports, &returned, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(returned, sizeof transports);
    assert_int_equal(transports[3].AddressFamily, AF_INET6);
    assert_int_equal(transports[3].SocketType, SOCK_DGRAM);
    assert_int_equal(
        npi.Dispatch->WskControlClient(npi.Client, WSK_TDI_BEHAVIOR, sizeof bypass, &bypass, 0, NULL, NULL, NULL),
        STATUS_SUCCESS);
    assert_int_equal(control(&npi, WSK_SET_STATIC_EVENT_CALLBACKS, NULL, 0, NULL, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(control(&npi, 12345, NULL, 0, NULL, NULL), STATUS_NOT_SUPPORTED);
    detach(&registration);
}

/* ---- the end ---- */

struct deregistration {
    WSK_REGISTRATION registration;
    pthread_t thread;
    atomic_int done;
};

static void *deregister(void *arg)
{
    struct deregistration *l = arg;

    WskDeregister(&l->registration);
    atomic_store(&l->done, 1);
    return NULL;
}

static void pause_briefly(void)
{
    const struct timespec pause = { 0, 50 * 1000 * 1000 };

    nanosleep(&pause, NULL);
}

/* Starts WskDeregister in a thread. Returns when it waits and captures fail. */
static void start_deregister(struct deregistration *l)
{
    WSK_PROVIDER_NPI npi;

    assert_int_equal(pthread_create(&l->thread, NULL, deregister, l), 0);
    while (WskCaptureProviderNPI(&l->registration, WSK_NO_WAIT, &npi) == STATUS_SUCCESS)
        WskReleaseProviderNPI(&l->registration);
    pause_briefly();
}

/* covers: WSK-02 */
static void test_deregister_waits_for_captured(void **state)
{
    static struct deregistration l;
    WSK_PROVIDER_NPI npi;
    struct report *r = report_start();

    (void)state;
    attach(&l.registration, &npi);
    assert_int_equal(WskCaptureProviderNPI(&l.registration, WSK_INFINITE_WAIT, &npi), STATUS_SUCCESS);
    start_deregister(&l);
    assert_int_equal(atomic_load(&l.done), 0);
    WskReleaseProviderNPI(&l.registration);
    pause_briefly();
    assert_int_equal(atomic_load(&l.done), 0);
    WskReleaseProviderNPI(&l.registration);
    pthread_join(l.thread, NULL);
    assert_int_equal(live_count(), 0);
    report_is_empty(r);
}

struct closing {
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter;
    atomic_int done;
};

static void *close_adapter(void *arg)
{
    struct closing *c = arg;

    c->ndk.WskCloseNdkAdapter(c->npi.Client, c->adapter);
    atomic_store(&c->done, 1);
    return NULL;
}

/* No call of these tests is pending. */
static VOID nothing_created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
    fail_msg("the creation completed later");
}

static VOID nothing_done(PVOID context)
{
    (void)context;
    fail_msg("the close completed later");
}

/* A second open of the interface changes nothing. covers: WSK-01 */
static void test_close_waits_for_its_own_objects(void **state)
{
    static struct closing c;
    struct report *r = report_start();
    WSK_REGISTRATION registration;
    NDK_ADAPTER *other = NULL;
    NDK_PD *pd = NULL;
    pthread_t closer;

    (void)state;
    attach(&registration, &c.npi);
    get_ndk(&c.npi, &c.ndk);
    assert_int_equal(c.ndk.WskOpenNdkAdapter(c.npi.Client, ndk_version, LOOPBACK, &other), STATUS_SUCCESS);
    assert_int_equal(c.ndk.WskOpenNdkAdapter(c.npi.Client, ndk_version, LOOPBACK, &c.adapter), STATUS_SUCCESS);
    assert_int_equal(c.adapter->Dispatch->NdkCreatePd(c.adapter, nothing_created, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(pthread_create(&closer, NULL, close_adapter, &c), 0);
    pause_briefly();
    assert_int_equal(atomic_load(&c.done), 0);
    assert_int_equal(pd->Dispatch->NdkClosePd(&pd->Header, nothing_done, NULL), STATUS_SUCCESS);
    pthread_join(closer, NULL);
    c.ndk.WskCloseNdkAdapter(c.npi.Client, other);
    detach(&registration);
    report_is_empty(r);
    assert_int_equal(live_count(), 0);
}

/* The provider is released while an adapter's close still waits for its objects. covers: WSK-02 */
static void test_deregister_waits_for_adapters(void **state)
{
    static struct deregistration l;
    static struct closing c;
    struct report *r = report_start();
    NDK_PD *pd = NULL;
    pthread_t closer;

    (void)state;
    attach(&l.registration, &c.npi);
    get_ndk(&c.npi, &c.ndk);
    assert_int_equal(c.ndk.WskOpenNdkAdapter(c.npi.Client, ndk_version, LOOPBACK, &c.adapter), STATUS_SUCCESS);
    assert_int_equal(c.adapter->Dispatch->NdkCreatePd(c.adapter, nothing_created, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(pthread_create(&closer, NULL, close_adapter, &c), 0);
    pause_briefly();
    WskReleaseProviderNPI(&l.registration);
    start_deregister(&l);
    assert_int_equal(atomic_load(&l.done), 0);
    assert_int_equal(pd->Dispatch->NdkClosePd(&pd->Header, nothing_done, NULL), STATUS_SUCCESS);
    pthread_join(closer, NULL);
    pthread_join(l.thread, NULL);
    assert_int_equal(live_count(), 0);
    report_is_empty(r);
}

/* covers: WSK-02 */
static void test_deregister_waits_for_an_open_adapter(void **state)
{
    static struct deregistration l;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;
    struct report *r = report_start();

    (void)state;
    attach(&l.registration, &npi);
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, ndk_version, LOOPBACK, &adapter), STATUS_SUCCESS);
    WskReleaseProviderNPI(&l.registration);
    start_deregister(&l);
    assert_int_equal(atomic_load(&l.done), 0);
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
    pthread_join(l.thread, NULL);
    assert_int_equal(live_count(), 0);
    report_is_empty(r);
}

/* ---- what is reported ---- */

static void test_released_once_too_often(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    struct report *r;

    (void)state;
    attach(&registration, &npi);
    WskReleaseProviderNPI(&registration);
    r = report_start();
    WskReleaseProviderNPI(&registration);
    report_is(r, "handle-invalid in WskReleaseProviderNPI");
    WskDeregister(&registration);
    r = report_start();
    WskDeregister(&registration);
    report_is(r, "handle-invalid in WskDeregister");
}

static void test_irql(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    struct report *r;
    KIRQL old;

    (void)state;
    attach(&registration, &npi);
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, ndk_version, LOOPBACK, &adapter), STATUS_SUCCESS);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    r = report_start();
    (void)adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
    report_is(r, "irql-too-high in NdkQueryAdapterInfo");
    r = report_start();
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
    report_is(r, "irql-too-high in WskCloseNdkAdapter");
    r = report_start();
    assert_int_equal(WskCaptureProviderNPI(&registration, WSK_NO_WAIT, &npi), STATUS_SUCCESS);
    report_is_empty(r);
    KeLowerIrql(old);
    WskReleaseProviderNPI(&registration);
    detach(&registration);
}

/* With checks off there is no filter, but open adapters are still counted. */
static void test_checks_off(void **state)
{
    WSK_REGISTRATION registration;
    WSK_PROVIDER_NPI npi;
    WSK_PROVIDER_NDK_DISPATCH ndk;
    NDK_ADAPTER *adapter = NULL;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    attach(&registration, &npi);
    get_ndk(&npi, &ndk);
    assert_int_equal(ndk.WskOpenNdkAdapter(npi.Client, ndk_version, LOOPBACK, &adapter), STATUS_SUCCESS);
    assert_true(live_has(LIVE_NDK_OBJECT, adapter));
    ndk.WskCloseNdkAdapter(npi.Client, adapter);
    detach(&registration);
    assert_int_equal(live_count(), 0);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_open_fails_as_the_provider_does),
        cmocka_unit_test(test_open_explains),
        cmocka_unit_test(test_short_buffer),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bad_registrations),
        cmocka_unit_test(test_with_an_irp),
        cmocka_unit_test(test_other_controls),
        cmocka_unit_test(test_close_waits_for_its_own_objects),
        cmocka_unit_test(test_deregister_waits_for_captured),
        cmocka_unit_test(test_deregister_waits_for_adapters),
        cmocka_unit_test(test_deregister_waits_for_an_open_adapter),
        cmocka_unit_test(test_released_once_too_often),
        cmocka_unit_test(test_irql),
        cmocka_unit_test(test_checks_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
