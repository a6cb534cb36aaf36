/* SPDX-License-Identifier: MIT */
/* Contexts of key objects, while several threads end the objects and the routines of the callbacks. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "ntifs.h"

#include "report.h"
#include "wdk/common/live.h"

static const UNICODE_STRING key_name = RTL_CONSTANT_STRING(L"\\Registry\\Machine\\Contexts");
static const UNICODE_STRING altitude = RTL_CONSTANT_STRING(L"2");
static LARGE_INTEGER cookie;
static atomic_int stage, cleanups;
static int own_context;

static HANDLE create_key(void)
{
    OBJECT_ATTRIBUTES a;
    HANDLE key;

    InitializeObjectAttributes(&a, (PUNICODE_STRING)(uintptr_t)&key_name, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwCreateKey(&key, KEY_ALL_ACCESS, &a, 0, NULL, 0, NULL), STATUS_SUCCESS);
    return key;
}

static void wait_for_stage(int expected)
{
    while (atomic_load(&stage) < expected)
        sched_yield();
}

/* Gives each key object a context. When the routine receives the context back, the object is closed and then used. */
static NTSTATUS watch(PVOID context, PVOID class, PVOID info)
{
    REG_POST_OPERATION_INFORMATION *post = info;
    REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION *cleanup = info;
    ULONG_PTR id;

    (void)context;
    if ((REG_NOTIFY_CLASS)(uintptr_t) class == RegNtPostCreateKeyEx)
        assert_int_equal(CmSetCallbackObjectContext(post->Object, &cookie, &own_context, NULL), STATUS_SUCCESS);
    if ((REG_NOTIFY_CLASS)(uintptr_t) class != RegNtCallbackObjectContextCleanup)
        return STATUS_SUCCESS;
    assert_ptr_equal(cleanup->ObjectContext, &own_context);
    atomic_store(&stage, 1);
    wait_for_stage(2);
    assert_int_equal(CmCallbackGetKeyObjectID(&cookie, cleanup->Object, &id, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(ObReferenceObjectByPointer(cleanup->Object, 0, *CmKeyObjectType, KernelMode), STATUS_SUCCESS);
    ObDereferenceObject(cleanup->Object);
    atomic_fetch_add(&cleanups, 1);
    return STATUS_SUCCESS;
}

static void *close_meanwhile(void *key)
{
    wait_for_stage(1);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    atomic_store(&stage, 2);
    return NULL;
}

/* While CmUnRegisterCallback passes a context back, the object lives, though another thread closes its last handle. */
static void test_closed_during_cleanup(void **state)
{
    uint32_t before = live_count();
    pthread_t closer;
    HANDLE key;

    (void)state;
    assert_int_equal(CmRegisterCallbackEx(watch, &altitude, &cookie, NULL, &cookie, NULL), STATUS_SUCCESS);
    key = create_key();
    assert_int_equal(pthread_create(&closer, NULL, close_meanwhile, key), 0);
    assert_int_equal(CmUnRegisterCallback(cookie), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&cleanups), 1);
    assert_int_equal(pthread_join(closer, NULL), 0);
    assert_int_equal(live_count(), before);
}

enum { ROUNDS = 200 };

static atomic_int set_count, returned_count;

static NTSTATUS count_contexts(PVOID context, PVOID class, PVOID info)
{
    REG_POST_OPERATION_INFORMATION *post = info;

    if ((REG_NOTIFY_CLASS)(uintptr_t) class == RegNtPostCreateKeyEx &&
        CmSetCallbackObjectContext(post->Object, context, &own_context, NULL) == STATUS_SUCCESS)
        atomic_fetch_add(&set_count, 1);
    if ((REG_NOTIFY_CLASS)(uintptr_t) class == RegNtCallbackObjectContextCleanup)
        atomic_fetch_add(&returned_count, 1);
    return STATUS_SUCCESS;
}

static void *open_and_close(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        ZwClose(create_key());
    return unused;
}

/* Each context is passed back once, by the close or by the unregistration, which returns after all of them. */
static void test_race(void **state)
{
    LARGE_INTEGER own;
    pthread_t opener;

    (void)state;
    assert_int_equal(pthread_create(&opener, NULL, open_and_close, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(CmRegisterCallbackEx(count_contexts, &altitude, &own, &own, &own, NULL), STATUS_SUCCESS);
        sched_yield();
        assert_int_equal(CmUnRegisterCallback(own), STATUS_SUCCESS);
        assert_int_equal(atomic_load(&returned_count), atomic_load(&set_count));
    }
    assert_int_equal(pthread_join(opener, NULL), 0);
}

static void test_no_key(void **state)
{
    LARGE_INTEGER own;

    (void)state;
    assert_int_equal(CmRegisterCallbackEx(count_contexts, &altitude, &own, &own, &own, NULL), STATUS_SUCCESS);
    assert_int_equal(CmSetCallbackObjectContext(NULL, &own, &own_context, NULL), STATUS_INVALID_PARAMETER);
    assert_int_equal(CmSetCallbackObjectContext(PsInitialSystemProcess, &own, &own_context, NULL),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(CmUnRegisterCallback(own), STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_during_cleanup),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_no_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
