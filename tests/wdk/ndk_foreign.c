/* SPDX-License-Identifier: MIT */
/*
 * Foreign providers below the kernel, each of which is OpenNDK's with a replaced function. One has the host's AF_INET6,
 * and its NdkListen stores the address which the provider receives. The adapter of the other one needs the read sink
 * right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"
#include "ndisndk.h"
#include "ws2def.h"
#include "ws2ipdef.h"

#include "front/open.h"
#include "ndk_driver.h"
#include "openndk/adapter.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"
#include "report.h"
#include "verify/verify.h"

enum { HOST_INET6 = 10, LOOPBACK = 1 };

static NDK_ADAPTER_DISPATCH adapter_table;
static NDK_LISTENER_DISPATCH listener_table;
static const NDK_ADAPTER_DISPATCH *own_adapter_table;
static const NDK_LISTENER_DISPATCH *own_listener_table;
static SOCKADDR_IN6 listened; /* as the provider received it */
static unsigned opens, closes;

static NTSTATUS foreign_listen(NDK_LISTENER *l, CONST PSOCKADDR address, ULONG length, NDK_FN_REQUEST_COMPLETION done,
                               PVOID context)
{
    assert_int_equal(length, sizeof listened);
    memcpy(&listened, address, length);
    return own_listener_table->NdkListen(l, address, length, done, context);
}

static NTSTATUS foreign_create_listener(NDK_ADAPTER *a, NDK_FN_CONNECT_EVENT_CALLBACK event, PVOID event_context,
                                        NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_LISTENER **out)
{
    NTSTATUS status = own_adapter_table->NdkCreateListener(a, event, event_context, done, context, out);

    assert_int_equal(status, STATUS_SUCCESS);
    own_listener_table = (*out)->Dispatch;
    listener_table = *own_listener_table;
    listener_table.NdkListen = foreign_listen;
    (*out)->Dispatch = &listener_table;
    return status;
}

/* Opens an adapter of OpenNDK whose table is adapter_table, which is a copy of its own at first. */
static int32_t changed_open(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **out)
{
    NTSTATUS status = front_open_provider((NDK_VERSION){ major, minor }, if_index, out);

    if (!NT_SUCCESS(status))
        return status;
    opens++;
    own_adapter_table = (*out)->Dispatch;
    adapter_table = *own_adapter_table;
    (*out)->Dispatch = &adapter_table;
    return status;
}

static int32_t foreign_open(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **out)
{
    NTSTATUS status = changed_open(major, minor, if_index, out);

    adapter_table.NdkCreateListener = foreign_create_listener;
    return status;
}

static void foreign_close(NDK_ADAPTER *a)
{
    closes++;
    a->Dispatch = own_adapter_table;
    front_close_provider(a);
}

/*
 * Listens at a driver's address. Checks the address that the provider receives, and the one that the driver gets back.
 */
static void listen_and_compare(const IN6_ADDR *of_driver, const IN6_ADDR *of_provider)
{
    SOCKADDR_IN6 at = { .sin6_family = AF_INET6, .sin6_addr = *of_driver };

    memset(&listened, 0, sizeof listened);
    opens = closes = 0;
    open_adapter();
    assert_true(verify_is_wrapped(adapter));
    listen_at((PSOCKADDR)&at, sizeof at);
    assert_int_equal(AF_INET6, 23);
    assert_int_equal(listened.sin6_family, HOST_INET6);
    assert_memory_equal(&listened.sin6_addr, of_provider, sizeof *of_provider);
    assert_int_equal(at.sin6_family, AF_INET6);
    assert_memory_equal(&at.sin6_addr, of_driver, sizeof *of_driver);
    assert_int_not_equal(at.sin6_port, 0);
    close_object(listener);
    close_adapter();
    assert_int_equal(opens, 1);
    assert_int_equal(closes, 1);
}

static const IN6_ADDR loopback = { .u = { .Byte = { [15] = 1 } } };

/* Verification need not be on: the addresses are converted in any mode. */
static void test_families(void **state)
{
    (void)state;
    ondk_wdk_set_provider(foreign_open, foreign_close);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    listen_and_compare(&loopback, &loopback);
    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    listen_and_compare(&loopback, &loopback);
}

static void test_mapped_addresses(void **state)
{
    static const IN6_ADDR mapped = { .u = { .Byte = { 0xfd, [15] = 7 } } };

    (void)state;
    ondk_wdk_set_provider(foreign_open, foreign_close);
    assert_true(ondk_wdk_map_address("fd00::7", "::1"));
    listen_and_compare(&mapped, &loopback);
}

static void test_ndis(void **state)
{
    NDIS_NDK_PROVIDER_CHARACTERISTICS handlers;
    NDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters = { .Version = { 2, 1 } };
    NDIS_HANDLE interface = (NDIS_HANDLE)(ULONG_PTR)LOOPBACK;
    NDK_ADAPTER *opened = NULL;

    (void)state;
    ondk_wdk_set_provider(foreign_open, foreign_close);
    opens = closes = 0;
    OndkNdkProviderCharacteristics(&handlers);
    assert_int_equal(handlers.OpenNDKAdapterHandler(interface, &parameters, &opened), NDIS_STATUS_SUCCESS);
    assert_true(verify_is_wrapped(opened));
    handlers.CloseNDKAdapterHandler(interface, opened);
    assert_int_equal(opens, 1);
    assert_int_equal(closes, 1);
}

/* ---- read-sink-right ---- */

static NTSTATUS sink_query_info(NDK_ADAPTER *a, NDK_ADAPTER_INFO *info, ULONG *size)
{
    NTSTATUS status = own_adapter_table->NdkQueryAdapterInfo(a, info, size);

    if (NT_SUCCESS(status))
        info->AdapterFlags &= ~(ULONG)NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED;
    return status;
}

static int32_t sink_open(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **out)
{
    NTSTATUS status = changed_open(major, minor, if_index, out);

    adapter_table.NdkQueryAdapterInfo = sink_query_info;
    return status;
}

/* Registers the buffer of an end. Returns an SGE over it. */
static NDK_SGE register_end(const struct end *e, ULONG flags, NDK_MR **mr, PMDL *mdl)
{
    struct call c;

    *mdl = IoAllocateMdl(e->buffer, BYTES, FALSE, FALSE, NULL);
    assert_non_null(*mdl);
    MmBuildMdlForNonPagedPool(*mdl);
    MADE(NDK_MR, *mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, (*mr)->Dispatch->NdkRegisterMr(*mr, *mdl, BYTES, flags, request_done, &c)),
                     STATUS_SUCCESS);
    return (NDK_SGE){ .VirtualAddress = e->buffer,
                      .Length = BYTES,
                      .MemoryRegionToken = (*mr)->Dispatch->NdkGetLocalTokenFromMr(*mr) };
}

/* Reads the memory of the far end into a near region with these rights. */
static void read_into(ULONG flags)
{
    NDK_MR *sink, *source;
    PMDL sink_mdl, source_mdl;
    NDK_SGE sge;

    establish();
    sge = register_end(&near, flags, &sink, &sink_mdl);
    (void)register_end(&far, NDK_MR_FLAG_ALLOW_REMOTE_READ, &source, &source_mdl);
    assert_int_equal(near.qp->Dispatch->NdkRead(near.qp, NULL, &sge, 1, (uintptr_t)far.buffer,
                                                source->Dispatch->NdkGetRemoteTokenFromMr(source), 0),
                     STATUS_SUCCESS);
    assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
    disconnect();
    deregister(sink);
    deregister(source);
    IoFreeMdl(sink_mdl);
    IoFreeMdl(source_mdl);
}

static void read_and_compare(ondk_wdk_open_adapter_t open, ULONG flags, const char *words)
{
    struct report *r;

    ondk_wdk_set_provider(open, open ? foreign_close : NULL);
    open_all();
    r = report_start();
    read_into(flags);
    if (words)
        report_is(r, words);
    else
        report_is_empty(r);
    close_all();
}

static void test_read_sink(void **state)
{
    const ULONG write = NDK_MR_FLAG_ALLOW_LOCAL_WRITE, sink = NDK_MR_FLAG_RDMA_READ_SINK;

    (void)state;
    read_and_compare(sink_open, write, "read-sink-right in NdkRead");
    read_and_compare(sink_open, write | sink, NULL);
    read_and_compare(NULL, write, NULL); /* the adapter of OpenNDK needs no such right */
}

/* OpenNDK is the default again. */
static void test_own(void **state)
{
    (void)state;
    ondk_wdk_set_provider(NULL, NULL);
    opens = closes = 0;
    open_adapter();
    close_adapter();
    assert_int_equal(opens, 0);
    assert_int_equal(closes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families), cmocka_unit_test(test_mapped_addresses),
        cmocka_unit_test(test_ndis),     cmocka_unit_test(test_read_sink),
        cmocka_unit_test(test_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
