/* SPDX-License-Identifier: MIT */
/* Calls that a consumer must not make in a callback. */
#include <net/if.h>
#include <semaphore.h>

#include "verify/reported.h"

#include "openndk/adapter.h"
#include "verify/fake_provider.h"

static NDK_ADAPTER *adapter;
static NDK_CQ *cq;
static sem_t called;

static void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static void assert_one_report(const char *words)
{
    if (ondk_verify_breaches() - breaches_before != 1 || occurrences(words) != 1)
        fail_msg("expected one \"%s\":\n%s", words, output_text());
}

/* ---- PASSIVE_LEVEL routines ---- */

static void query(PVOID context, NTSTATUS status)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;

    (void)context, (void)status;
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY); /* allowed at DISPATCH_LEVEL */
    (void)adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
}

static void test_passive_routine(void **state)
{
    struct fake_provider *fake = fake_provider_init();

    (void)state;
    assert_int_equal(ondk_verify_wrap(&fake->adapter, &adapter), STATUS_SUCCESS);
    (void)adapter->Dispatch->NdkCreateCq(adapter, 8, query, NULL, NULL, ignore_create, NULL, &cq);
    query(NULL, STATUS_SUCCESS);
    assert_int_equal(ondk_verify_breaches(), breaches_before); /* not in a callback */
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_one_report("irql-too-high in NdkQueryAdapterInfo: called in a callback, NdkCqNotificationCallback, ");
    (void)cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
    assert_ptr_equal(ondk_verify_unwrap(adapter), &fake->adapter);
}

/* ---- the adapter's close ---- */

static NDK_ADAPTER *unwrapped;

static void unwrap(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    unwrapped = ondk_verify_unwrap(adapter);
}

/* The adapter stays open, and can be closed afterwards. */
static void test_unwrap(void **state)
{
    struct fake_provider *fake = fake_provider_init();

    (void)state;
    unwrapped = &fake->adapter;
    assert_int_equal(ondk_verify_wrap(&fake->adapter, &adapter), STATUS_SUCCESS);
    (void)adapter->Dispatch->NdkCreateCq(adapter, 8, unwrap, NULL, NULL, ignore_create, NULL, &cq);
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_null(unwrapped);
    assert_one_report("adapter-close-in-callback in ondk_verify_unwrap: called in a callback of this adapter, "
                      "NdkCqNotificationCallback; the adapter stays open");
    (void)cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
    assert_ptr_equal(ondk_verify_unwrap(adapter), &fake->adapter);
    assert_int_equal(ondk_verify_breaches() - breaches_before, 1);
}

static NDK_ADAPTER *other;

static void unwrap_other(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    unwrapped = ondk_verify_unwrap(other);
}

static void test_other_adapter(void **state)
{
    struct fake_provider *fake = fake_provider_init();

    (void)state;
    assert_int_equal(ondk_verify_wrap(&fake->adapter, &adapter), STATUS_SUCCESS);
    assert_int_equal(ondk_verify_wrap(&fake->adapter, &other), STATUS_SUCCESS);
    (void)adapter->Dispatch->NdkCreateCq(adapter, 8, unwrap_other, NULL, NULL, ignore_create, NULL, &cq);
    fake->notify(fake->notify_context, STATUS_SUCCESS);
    assert_ptr_equal(unwrapped, &fake->adapter);
    (void)cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
    assert_ptr_equal(ondk_verify_unwrap(adapter), &fake->adapter);
    assert_int_equal(ondk_verify_breaches(), breaches_before);
}

static void close_adapter(PVOID context)
{
    (void)context;
    ondk_close_adapter(adapter);
    sem_post(&called);
}

static void on_created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)object;
    assert_int_equal(status, STATUS_SUCCESS);
}

/* The same with the provider of this library: the close of the protection domain ends after that of the region. */
static void test_close_adapter(void **state)
{
    NDK_PD *pd = NULL;
    NDK_MR *mr = NULL;

    (void)state;
    sem_init(&called, 0, 0);
    assert_int_equal(ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &adapter), STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_created, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateMr(pd, FALSE, on_created, NULL, &mr), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkClosePd(&pd->Header, close_adapter, NULL), STATUS_PENDING);
    assert_true(NT_SUCCESS(mr->Dispatch->NdkCloseMr(&mr->Header, ignore_close, NULL)));
    sem_wait(&called);
    assert_one_report("adapter-close-in-callback in ondk_close_adapter: called in a callback of this adapter, "
                      "NdkCloseCompletion");
    ondk_close_adapter(adapter);
    assert_int_equal(ondk_verify_breaches() - breaches_before, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_TEST(test_passive_routine),
        REPORT_TEST(test_unwrap),
        REPORT_TEST(test_other_adapter),
        REPORT_TEST(test_close_adapter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
