/* SPDX-License-Identifier: MIT */
/* Calls of a driver that are wrong whenever they are made: in a callback, or with a wrong argument. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"
#include "ws2def.h"

#include "ndk_driver.h"
#include "openndk/verify.h"
#include "report.h"

static atomic_bool has_returned;

static VOID close_in_callback(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    call_close_adapter();
    atomic_store(&has_returned, true);
}

/* The adapter stays open. The report is about the close, not about the IRQL of a callback. */
static void test_adapter_closed_in_callback(void **state)
{
    struct report *r;

    (void)state;
    open_all();
    r = report_start();
    assert_int_equal(start_connect(close_in_callback, NULL), STATUS_PENDING);
    far.connector = wait_asked();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    while (!atomic_load(&has_returned))
        sched_yield();
    report_says(r, "adapter-close-in-callback in WskCloseNdkAdapter", "NdkRequestCompletion; the adapter stays open");
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_adapter_closed_in_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
