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
#include <time.h>

#include <cmocka.h>

#include "ntifs.h"

#include "live_count.h"
#include "report.h"

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

/* ---- Two routines, of which one receives its context back while the other is unregistered ------------------------ */

enum { PATIENCE_SECONDS = 250 }; /* less than ctest's limit for a test */

/* A routine that gives each key object a context. */
struct watcher {
    LARGE_INTEGER cookie;
    struct watcher *other;
};

static struct watcher watchers[2];
static struct watcher *first; /* the routine that receives its context back first */
static void (*on_first_cleanup)(void), (*on_second_cleanup)(PVOID object);
static atomic_int threads_done;
static KMUTEX driver_lock;
static atomic_int statuses; /* the results of the other threads, by bitwise or */

static NTSTATUS watch_pair(PVOID context, PVOID class, PVOID info)
{
    REG_POST_OPERATION_INFORMATION *post = info;
    REG_CALLBACK_CONTEXT_CLEANUP_INFORMATION *cleanup = info;
    struct watcher *w = context;

    if ((REG_NOTIFY_CLASS)(uintptr_t) class == RegNtPostCreateKeyEx)
        atomic_fetch_or(&statuses, CmSetCallbackObjectContext(post->Object, &w->cookie, w, NULL));
    if ((REG_NOTIFY_CLASS)(uintptr_t) class != RegNtCallbackObjectContextCleanup)
        return STATUS_SUCCESS;
    if (atomic_fetch_add(&cleanups, 1) == 0) {
        first = w;
        on_first_cleanup();
    } else if (on_second_cleanup) {
        on_second_cleanup(cleanup->Object);
    }
    return STATUS_SUCCESS;
}

static void lock_acquire(void)
{
    atomic_fetch_or(&statuses, KeWaitForSingleObject(&driver_lock, Executive, KernelMode, FALSE, NULL));
}

static void lock_release(void)
{
    (void)KeReleaseMutex(&driver_lock, FALSE);
}

/* Unregisters the routine that has not received its context back first. */
static void unregister_other(void)
{
    atomic_fetch_or(&statuses, CmUnRegisterCallback(first->other->cookie));
}

static HANDLE pair_start(void (*on_first)(void), void (*on_second)(PVOID object))
{
    static const UNICODE_STRING altitudes[2] = { RTL_CONSTANT_STRING(L"2"), RTL_CONSTANT_STRING(L"3") };

    atomic_store(&stage, 0);
    atomic_store(&cleanups, 0);
    atomic_store(&threads_done, 0);
    atomic_store(&statuses, 0);
    KeInitializeMutex(&driver_lock, 0);
    on_first_cleanup = on_first;
    on_second_cleanup = on_second;
    for (int i = 0; i < 2; i++) {
        watchers[i].other = &watchers[1 - i];
        assert_int_equal(
            CmRegisterCallbackEx(watch_pair, &altitudes[i], &cookie, &watchers[i], &watchers[i].cookie, NULL),
            STATUS_SUCCESS);
    }
    return create_key();
}

/* Joins the threads, each of which has incremented threads_done. Fails if they do not end: they then wait for ever. */
static void pair_stop(pthread_t *threads, int n)
{
    const struct timespec pause = { 0, 1000000 };
    const time_t end = time(NULL) + PATIENCE_SECONDS;

    while (atomic_load(&threads_done) < n && time(NULL) < end)
        nanosleep(&pause, NULL);
    if (atomic_load(&threads_done) < n)
        fail_msg("%d of %d threads have not ended: ZwClose and CmUnRegisterCallback wait for each other",
                 n - atomic_load(&threads_done), n);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&statuses), STATUS_SUCCESS);
    assert_int_equal(atomic_load(&cleanups), 2);
    assert_int_equal(CmUnRegisterCallback(first->other->cookie), STATUS_INVALID_PARAMETER);
    assert_int_equal(CmUnRegisterCallback(first->cookie), STATUS_SUCCESS);
}

static void *close_key(void *key)
{
    atomic_fetch_or(&statuses, ZwClose(key));
    atomic_fetch_add(&threads_done, 1);
    return NULL;
}

/* A routine that receives its context back unregisters the other routine, which has a context of the same object. */
static void test_unregister_in_cleanup(void **state)
{
    pthread_t closer;
    HANDLE key = pair_start(unregister_other, NULL);

    (void)state;
    assert_int_equal(pthread_create(&closer, NULL, close_key, key), 0);
    pair_stop(&closer, 1);
}

static void *unregister_with_lock(void *unused)
{
    lock_acquire();
    atomic_store(&stage, 1);
    wait_for_stage(2);
    unregister_other();
    lock_release();
    atomic_fetch_add(&threads_done, 1);
    return unused;
}

static void cleanup_with_lock(void)
{
    atomic_store(&stage, 2);
    lock_acquire();
    lock_release();
}

/* A routine that receives its context back waits for a lock. The owner of the lock unregisters the other routine. */
static void test_unregister_with_lock(void **state)
{
    pthread_t threads[2];
    HANDLE key = pair_start(cleanup_with_lock, NULL);

    (void)state;
    assert_int_equal(pthread_create(&threads[0], NULL, unregister_with_lock, NULL), 0);
    wait_for_stage(1);
    assert_int_equal(pthread_create(&threads[1], NULL, close_key, key), 0);
    pair_stop(threads, 2);
}

static void *close_with_lock(void *key)
{
    lock_acquire();
    atomic_fetch_or(&statuses, ZwClose(key));
    atomic_store(&stage, 3);
    lock_release();
    atomic_fetch_add(&threads_done, 1);
    return NULL;
}

/* Returns when the other routine, which the other thread unregisters, also receives its context back. */
static void first_cleanup_in_close(void)
{
    lock_acquire();
    lock_release();
    atomic_store(&stage, 1);
    wait_for_stage(2);
}

/* Uses the object after ZwClose has returned. */
static void second_cleanup_after_close(PVOID object)
{
    atomic_store(&stage, 2);
    lock_acquire();
    wait_for_stage(3);
    atomic_fetch_or(&statuses, ObReferenceObjectByPointer(object, 0, *CmKeyObjectType, KernelMode));
    ObDereferenceObject(object);
    lock_release();
}

static void *unregister_during_close(void *unused)
{
    wait_for_stage(1);
    unregister_other();
    atomic_fetch_add(&threads_done, 1);
    return unused;
}

/* The lock's owner closes the key. The close does not wait for the other routine, which waits for the lock. */
static void test_close_with_lock(void **state)
{
    pthread_t threads[2];
    uint32_t before = live_count();
    HANDLE key = pair_start(first_cleanup_in_close, second_cleanup_after_close);

    (void)state;
    assert_int_equal(pthread_create(&threads[0], NULL, close_with_lock, key), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, unregister_during_close, NULL), 0);
    pair_stop(threads, 2);
    assert_int_equal(live_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_during_cleanup),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_no_key),
        cmocka_unit_test(test_unregister_in_cleanup),
        cmocka_unit_test(test_unregister_with_lock),
        cmocka_unit_test(test_close_with_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
