/* SPDX-License-Identifier: MIT */
/* The verify layer in a plain program, which has no kernel, in front of a provider that is not this project's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "openndk/adapter.h"
#include "verify/fake_provider.h"
#include "verify/verify.h"

/* The only function of libopenndk that the layer calls. */
const char *ondk_status_name(NTSTATUS status)
{
    (void)status;
    return "a status";
}

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;
static char *text; /* of the reports */
static size_t text_length;
static FILE *out;
static uint32_t reported_before;

static int start(void **state)
{
    (void)state;
    out = open_memstream(&text, &text_length);
    assert_non_null(out);
    report_set_output(out);
    verify_set_mode(VERIFY_REPORT);
    reported_before = report_count();
    fake = fake_provider_init();
    adapter = verify_wrap(&fake->adapter, "OpenAdapter");
    assert_non_null(adapter);
    return 0;
}

static void close_adapter(void)
{
    assert_ptr_equal(verify_close(adapter, "close"), &fake->adapter);
    assert_int_equal(fake->open, 0);
}

static int stop(void **state)
{
    (void)state;
    report_set_output(NULL);
    fclose(out);
    free(text);
    return 0;
}

static void assert_reports(uint32_t count, const char *words)
{
    fflush(out);
    assert_int_equal(report_count() - reported_before, count);
    assert_non_null(strstr(text, words));
}

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

static void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
}

static NDK_CQ *create_cq(NDK_FN_CQ_NOTIFICATION_CALLBACK notify, void *context)
{
    NDK_CQ *cq = NULL;

    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 8, notify, context, NULL, ignore_create, NULL, &cq),
                     STATUS_SUCCESS);
    return cq;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static NTSTATUS close_cq(NDK_CQ *cq)
{
    return cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
}

/* The provider gets only its own objects, the consumer only proxies, and nothing is reported. */
static void test_passes_through(void **state)
{
    ULONG size = 0;
    NDK_CQ *cq;

    (void)state;
    assert_ptr_not_equal(adapter, &fake->adapter);
    assert_true(verify_is_wrapped(adapter));
    assert_false(verify_is_wrapped(&fake->adapter));
    assert_ptr_equal(verify_unwrap(adapter), &fake->adapter);
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, NULL, &size), STATUS_SUCCESS);
    assert_ptr_equal(fake->called, &fake->adapter);
    cq = create_cq(ignore_notification, NULL);
    assert_ptr_not_equal(cq, &fake->cq);
    assert_int_equal(cq->Header.ObjectType, NdkObjectTypeCq);
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_ptr_equal(fake->called, &fake->cq);
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    assert_ptr_equal(fake->called, &fake->cq);
    close_adapter();
    assert_reports(0, "");
}

static void test_use_after_close(void **state)
{
    NDK_CQ *cq = create_cq(ignore_notification, NULL);

    (void)state;
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    fake->called = NULL;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_null(fake->called);
    assert_reports(1, "*** NDK rule broken: ndk-closed-used in NdkArmCq: NDK_CQ ");
    assert_non_null(strstr(text, "closed by"));
    close_adapter();
}

static void test_use_while_close_is_pending(void **state)
{
    NDK_CQ *cq = create_cq(ignore_notification, NULL);

    (void)state;
    fake->pend = true;
    assert_int_equal(close_cq(cq), STATUS_PENDING);
    fake->called = NULL;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    assert_null(fake->called);
    assert_reports(1, "ndk-closed-used in NdkArmCq: NDK_CQ ");
    assert_non_null(strstr(text, " is closed, and the close is pending\n"));
    (void)close_cq(cq);
    assert_reports(2, "ndk-closed-twice in NdkCloseCq: NDK_CQ ");
    fake_provider_complete(fake, STATUS_SUCCESS);
    fake->pend = false;
    close_adapter();
    assert_reports(2, "");
}

static void test_close_twice(void **state)
{
    NDK_CQ *cq = create_cq(ignore_notification, NULL);

    (void)state;
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    (void)close_cq(cq);
    assert_reports(1, "ndk-closed-twice in NdkCloseCq");
    close_adapter();
    assert_null(verify_close(adapter, "close"));
    assert_reports(2, "ndk-closed-twice in close: NDK_ADAPTER ");
}

static void notified(PVOID context, NTSTATUS status)
{
    (void)status;
    *(int *)context = 1;
}

/* verify_find_use reports the context of a CQ as in use until the CQ is closed. */
static void test_memory_in_use(void **state)
{
    int *context = calloc(1, sizeof *context);
    struct verify_use use;
    NDK_CQ *cq = create_cq(notified, context);

    (void)state;
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_int_equal(*context, 1);
    assert_true(verify_find_use(context, sizeof *context, &use));
    assert_ptr_equal(use.object, context);
    assert_string_equal(use.rule->name, "context-freed-in-use");
    ondk_verify_check_free(context, sizeof *context);
    assert_reports(1, "context-freed-in-use in ondk_verify_check_free: ");
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);
    assert_false(verify_find_use(context, sizeof *context, &use));
    ondk_verify_check_free(context, sizeof *context);
    assert_reports(1, "");
    close_adapter();
    free(context);
}

static void created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    if (status == STATUS_SUCCESS)
        *(NDK_CQ **)context = (NDK_CQ *)object;
}

static char *open_of(const NDK_ADAPTER *of)
{
    static char *printed; /* static, because gcc takes the stream for one that keeps the variable's address */
    static size_t length;
    FILE *to = open_memstream(&printed, &length);

    assert_non_null(to);
    verify_print_open(to, of);
    fclose(to);
    return printed;
}

/* The CQ and its pending create belong to `adapter`, and nothing to another one. */
static void assert_open_of_adapters(void)
{
    NDK_ADAPTER *other = verify_wrap(&fake->adapter, "OpenAdapter");
    char *of_first = open_of(adapter), *of_other = open_of(other);

    assert_non_null(strstr(of_first, "(NDK_CQ)"));
    assert_non_null(strstr(of_first, "(NdkCreateCq)"));
    assert_null(strstr(of_first, "(NDK_ADAPTER)"));
    assert_string_equal(of_other, "");
    free(of_first);
    free(of_other);
    (void)verify_close(other, "close");
}

/* Open objects are reported in the order of their creation, followed by pending requests. */
static void test_open_objects(void **state)
{
    static NDK_CQ *cq; /* not on the stack, because another rule checks such addresses */
    NDK_CQ *none = NULL;

    (void)state;
    fake->pend = true;
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 8, notified, &cq, NULL, created, &cq, &none),
                     STATUS_PENDING);
    verify_print_open(out, NULL);
    fflush(out);
    const char *first = strstr(text, "(NDK_ADAPTER)"), *second = strstr(text, "(NDK_CQ)");
    const char *last = strstr(text, "left: pending NDK request");

    assert_true(first && second && last && first < second && second < last);
    assert_non_null(strstr(last, "(NdkCreateCq)"));
    assert_open_of_adapters();
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_ptr_not_equal(cq, &fake->cq);
    assert_int_equal(close_cq(cq), STATUS_PENDING);
    fake_provider_complete(fake, STATUS_SUCCESS);
    close_adapter();
    assert_reports(0, "");
}

/* Creates a CQ, and returns while the call is pending, although the context is a variable of this function. */
__attribute__((noinline)) static void create_and_leave(void)
{
    struct {
        NDK_CQ *cq;
        volatile char room[8192];
    } frame;
    NDK_CQ *none = NULL;

    frame.room[0] = frame.room[sizeof frame.room - 1] = 0;
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 8, notified, NULL, NULL, created, &frame.cq, &none),
                     STATUS_PENDING);
}

/* A request that began with checks on and completes after they were turned off is not reported. */
static void test_checks_turned_off(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        fake->pend = true;
        create_and_leave();
        verify_set_mode(on ? VERIFY_REPORT : VERIFY_OFF);
        fake_provider_complete(fake, STATUS_INSUFFICIENT_RESOURCES);
        fake->open--;
        assert_reports((uint32_t)on, on ? "context-on-dead-stack in NdkCreateCq" : "");
        verify_set_mode(VERIFY_REPORT);
    }
    fake->pend = false;
    close_adapter();
}

/* ---- a host ---- */

static int irql, callbacks_begun, callbacks_ended;

static int32_t host_irql(void)
{
    return irql;
}

static uint64_t host_callback_begin(void)
{
    callbacks_begun++;
    return 77;
}

static void host_callback_end(uint64_t mark, const char *callback, const void *routine)
{
    assert_int_equal(mark, 77);
    assert_string_equal(callback, "NdkCqNotificationCallback");
    assert_ptr_equal(routine, (const void *)(uintptr_t)notified);
    callbacks_ended++;
}

static int32_t host_address_to_provider(const void *sockaddr, size_t length, void *room)
{
    memcpy(room, sockaddr, length);
    ((char *)room)[4] = 'p';
    return true;
}

static void host_address_to_consumer(void *sockaddr, size_t length)
{
    (void)length;
    ((char *)sockaddr)[4] = 'c';
}

static void test_host(void **state)
{
    static const ondk_verify_host_t host = {
        .size = sizeof host,
        .irql = host_irql,
        .callback_begin = host_callback_begin,
        .callback_end = host_callback_end,
        .address_to_provider = host_address_to_provider,
        .address_to_consumer = host_address_to_consumer,
    };
    _Alignas(8) char address[16] = "family_c";
    NDK_SHARED_ENDPOINT *endpoint = NULL;
    static int context;
    ULONG size = 0;
    NDK_CQ *cq;

    (void)state;
    assert_int_equal(ondk_verify_set_host(&host), STATUS_SUCCESS);
    cq = create_cq(notified, &context);
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_int_equal(callbacks_begun, 1);
    assert_int_equal(callbacks_ended, 1);
    assert_int_equal(close_cq(cq), STATUS_SUCCESS);

    assert_int_equal(adapter->Dispatch->NdkCreateSharedEndpoint(adapter, (PSOCKADDR)(void *)address, sizeof address,
                                                                ignore_create, NULL, &endpoint),
                     STATUS_SUCCESS);
    assert_int_equal(fake->address[4], 'p');
    assert_int_equal(address[4], 'l');
    assert_int_equal(endpoint->Dispatch->NdkCloseSharedEndpoint(&endpoint->Header, ignore_close, NULL), STATUS_SUCCESS);

    irql = VERIFY_DISPATCH_LEVEL;
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, NULL, &size), STATUS_SUCCESS);
    assert_reports(1, "irql-too-high in NdkQueryAdapterInfo: IRQL is 2, at most 0 is allowed");
    irql = VERIFY_PASSIVE_LEVEL;
    close_adapter();
    assert_int_equal(ondk_verify_set_host(NULL), STATUS_SUCCESS);
}

static void test_host_tables(void **state)
{
    ondk_verify_host_t table = { .size = sizeof table, .irql = host_irql };
    static char byte;

    (void)state;
    irql = 1;
    assert_int_equal(ondk_verify_set_host(&table), STATUS_SUCCESS);
    assert_int_equal(verify_host()->irql(), 1);
    assert_int_equal(verify_host()->callback_begin(), 0); /* the default */
    assert_int_equal(verify_host()->memory_state(&byte) & ONDK_VERIFY_MEMORY_FREED, 0);
    assert_int_equal(verify_host()->memory_state((void *)4096), ONDK_VERIFY_MEMORY_FREED); /* never mapped */
    table.size = offsetof(ondk_verify_host_t, irql); /* the program's table ends in front of this entry */
    assert_int_equal(ondk_verify_set_host(&table), STATUS_SUCCESS);
    assert_int_equal(verify_host()->irql(), ONDK_VERIFY_NO_IRQL);
    table.size = 0;
    assert_int_equal(ondk_verify_set_host(&table), STATUS_INVALID_PARAMETER);
    table.size = sizeof table - 1;
    assert_int_equal(ondk_verify_set_host(&table), STATUS_INVALID_PARAMETER);
    table.size = sizeof table;
    table.reserved = 1;
    assert_int_equal(ondk_verify_set_host(&table), STATUS_INVALID_PARAMETER);
    irql = VERIFY_PASSIVE_LEVEL;
    close_adapter();
    assert_int_equal(ondk_verify_set_host(NULL), STATUS_SUCCESS);
}

static void test_mdl_state(void **state)
{
    MDL mdl = { .MdlFlags = 0 };

    (void)state;
    assert_int_equal(verify_host()->mdl_state(&mdl), ONDK_VERIFY_MDL_UNLOCKED);
    mdl.MdlFlags = MDL_SOURCE_IS_NONPAGED_POOL;
    assert_int_equal(verify_host()->mdl_state(&mdl), ONDK_VERIFY_MDL_LOCKED);
    close_adapter();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_passes_through, start, stop),
        cmocka_unit_test_setup_teardown(test_use_after_close, start, stop),
        cmocka_unit_test_setup_teardown(test_use_while_close_is_pending, start, stop),
        cmocka_unit_test_setup_teardown(test_close_twice, start, stop),
        cmocka_unit_test_setup_teardown(test_memory_in_use, start, stop),
        cmocka_unit_test_setup_teardown(test_open_objects, start, stop),
        cmocka_unit_test_setup_teardown(test_checks_turned_off, start, stop),
        cmocka_unit_test_setup_teardown(test_host, start, stop),
        cmocka_unit_test_setup_teardown(test_host_tables, start, stop),
        cmocka_unit_test_setup_teardown(test_mdl_state, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
