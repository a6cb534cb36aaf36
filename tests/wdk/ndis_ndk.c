/* SPDX-License-Identifier: MIT */
/* An adapter opened and closed from below, as NDIS does it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "ndisndk.h"

#include "live_count.h"
#include "openndk/verify.h"
#include "report.h"

static const NDIS_HANDLE loopback = (NDIS_HANDLE)1;
static NDIS_NDK_PROVIDER_CHARACTERISTICS provider;

static NDIS_STATUS open_version(USHORT major, USHORT minor, NDK_ADAPTER **adapter)
{
    NDIS_OPEN_NDK_ADAPTER_PARAMETERS parameters = { .Version = { major, minor } };

    return provider.OpenNDKAdapterHandler(loopback, &parameters, adapter);
}

static void test_characteristics(void **state)
{
    (void)state;
    assert_int_equal(provider.Header.Type, 0xb2);
    assert_int_equal(provider.Header.Revision, 1);
    assert_int_equal(provider.Header.Size, 0x18);
    assert_int_equal(provider.Flags, 0);
}

/* The number of adapters that the report at unload lists. */
static unsigned adapters_left(void)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    unsigned n = 0;

    (void)live_report(out);
    fclose(out);
    for (const char *at = text; (at = strstr(at, "(NDK_ADAPTER)")); at++)
        n++;
    free(text);
    return n;
}

/* The provider's highest minor version of the requested major version. */
static void test_open(void **state)
{
    static const NDK_VERSION asked[] = { { 1, 0 }, { 1, 1 }, { 1, 2 }, { 2, 0 }, { 2, 1 } };
    NDK_ADAPTER *adapter = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        assert_int_equal(open_version(asked[i].Major, asked[i].Minor, &adapter), NDIS_STATUS_SUCCESS);
        assert_int_equal(adapter->Header.Version.Major, asked[i].Major);
        assert_int_equal(adapter->Header.Version.Minor, asked[i].Major == 1 ? 2 : 1);
        assert_int_equal(adapters_left(), 1);
        provider.CloseNDKAdapterHandler(loopback, adapter);
    }
    assert_int_equal(live_count(), 0);
}

static void test_open_with_checks_off(void **state)
{
    NDK_ADAPTER *adapter = NULL;

    (void)state;
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    assert_int_equal(open_version(2, 1, &adapter), NDIS_STATUS_SUCCESS);
    assert_true(live_has(LIVE_NDK_OBJECT, adapter)); /* the provider's own adapter */
    assert_int_equal(adapters_left(), 1);
    provider.CloseNDKAdapterHandler(loopback, adapter);
    assert_int_equal(live_count(), 0);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
}

static void test_bad_versions(void **state)
{
    static const NDK_VERSION asked[] = { { 0, 9 }, { 1, 3 }, { 2, 2 }, { 3, 0 } };
    NDK_ADAPTER *adapter = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++)
        assert_int_equal(open_version(asked[i].Major, asked[i].Minor, &adapter), NDIS_STATUS_BAD_VERSION);
    assert_int_equal(provider.OpenNDKAdapterHandler(loopback, NULL, &adapter), NDIS_STATUS_INVALID_PARAMETER);
    assert_null(adapter);
}

static void test_misuse(void **state)
{
    NDK_ADAPTER *adapter = NULL, *none = NULL;
    struct report *r;
    KIRQL old;

    (void)state;
    assert_int_equal(open_version(2, 1, &adapter), NDIS_STATUS_SUCCESS);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    r = report_start();
    assert_int_equal(open_version(9, 9, &none), NDIS_STATUS_BAD_VERSION);
    report_is(r, "irql-too-high in OpenNDKAdapterHandler");
    KeLowerIrql(old);
    provider.CloseNDKAdapterHandler(loopback, adapter);
    r = report_start();
    provider.CloseNDKAdapterHandler(loopback, adapter);
    report_is(r, "ndk-closed-twice in CloseNDKAdapterHandler");
    r = report_start();
    provider.CloseNDKAdapterHandler(loopback, (NDK_ADAPTER *)&provider);
    report_is(r, "handle-invalid in CloseNDKAdapterHandler");
}

/* An adapter that NDIS opened is verified with the IRQL of drivers. */
static void test_verified(void **state)
{
    NDK_ADAPTER *adapter = NULL;
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;
    struct report *r;
    KIRQL old;

    (void)state;
    assert_int_equal(open_version(2, 1, &adapter), NDIS_STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    report_is_empty(r);
    KeRaiseIrql(DISPATCH_LEVEL, &old);
    r = report_start();
    (void)adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size);
    report_says(r, "irql-too-high in NdkQueryAdapterInfo", "IRQL is 2");
    KeLowerIrql(old);
    provider.CloseNDKAdapterHandler(loopback, adapter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characteristics),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_with_checks_off),
        cmocka_unit_test(test_bad_versions),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_verified),
    };

    OndkNdkProviderCharacteristics(&provider);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
