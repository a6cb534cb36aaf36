/* SPDX-License-Identifier: MIT */
/* System threads for tests, and functions that wait for them. */
#ifndef TESTS_WDK_THREADS_H
#define TESTS_WDK_THREADS_H

#include "report.h"
#include "wdk/common/inuse.h"
#include "wdk/ob/handle.h"

static LARGE_INTEGER zero __attribute__((unused));
static LARGE_INTEGER ms __attribute__((unused)) = { .QuadPart = -10000 };

/* Waits have no limit, because the machine may be slow. ctest ends a test that waits for ever. */
#define UNTIL(condition)                                                                                               \
    do {                                                                                                               \
        while (!(condition))                                                                                           \
            KeDelayExecutionThread(KernelMode, FALSE, &ms);                                                            \
    } while (0)

static inline NTSTATUS wait1(PVOID object, PLARGE_INTEGER timeout)
{
    return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, timeout);
}

static inline PVOID thread_start(PKSTART_ROUTINE routine, PVOID context)
{
    HANDLE handle;
    PVOID object;

    assert_int_equal(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, routine, context),
                     STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode, &object, NULL),
                     STATUS_SUCCESS);
    assert_true(handle_close(handle));
    return object;
}

static inline void thread_join(PVOID thread)
{
    assert_int_equal(wait1(thread, NULL), STATUS_SUCCESS);
    ObDereferenceObject(thread);
}

/* Waits until a thread waits for the object. */
static inline void until_waited_for(const void *object, size_t size)
{
    struct report *r;
    uint32_t n = 0;

    while (n == 0) {
        r = report_start();
        inuse_check("test", object, size);
        n = report_stop(r);
        report_free(r);
        if (n == 0)
            KeDelayExecutionThread(KernelMode, FALSE, &ms);
    }
    assert_int_equal(n, 1);
}

#endif
