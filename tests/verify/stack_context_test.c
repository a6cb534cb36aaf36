/* SPDX-License-Identifier: MIT */
/* A call's context on the stack of a thread that waits, or that has ended: also in a PID namespace without a /proc. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "verify/reported.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verify/fake_provider.h"

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;
static NDK_CQ *none;
static sem_t called, completed;
static pid_t caller; /* ID of the thread of call_and_end */

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void on_created(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
    sem_post(&completed);
}

static void call_with(int *context)
{
    if (adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, on_created, context, &none) !=
        STATUS_PENDING)
        abort();
    sem_post(&called);
}

static void *call_and_wait(void *unused)
{
    int context = 0;

    call_with(&context);
    sem_wait(&completed);
    return unused;
}

static void *call_and_end(void *unused)
{
    int context = 0;

    caller = (pid_t)syscall(SYS_gettid);
    call_with(&context);
    return unused;
}

/* pthread_join may return while the kernel still ends the thread. */
static void join_ended(pthread_t thread)
{
    pthread_join(thread, NULL);
    while (syscall(SYS_tgkill, getpid(), caller, 0) == 0)
        sched_yield();
}

/* Completes the call that another thread makes. Returns the number of reports about its context. */
static unsigned reports_of(void *(*body)(void *))
{
    unsigned before = occurrences("context-on-dead-stack in NdkCreateCq");
    pthread_t thread;

    fake->pend = true;
    if (pthread_create(&thread, NULL, body, NULL))
        abort();
    sem_wait(&called);
    if (body == call_and_end)
        join_ended(thread);
    fake_provider_complete(fake, STATUS_NO_MEMORY); /* the call fails, so that it leaves no object */
    fake->open--;
    if (body == call_and_end)
        sem_wait(&completed);
    else
        pthread_join(thread, NULL);
    fake->pend = false;
    return occurrences("context-on-dead-stack in NdkCreateCq") - before;
}

enum { AS_EXPECTED = 10, NO_NAMESPACE };

/* Returns AS_EXPECTED, or the number of the comparison that failed. */
static int compare(void)
{
    int result = AS_EXPECTED;

    report_set_max_written(UINT32_MAX);
    fake = fake_provider_init();
    if (ondk_verify_wrap(&fake->adapter, &adapter) != STATUS_SUCCESS)
        abort();
    if (reports_of(call_and_wait) != 0)
        result = 1;
    else if (reports_of(call_and_end) != 1)
        result = 2;
    if (ondk_verify_unwrap(adapter) != &fake->adapter)
        abort();
    return result;
}

static void test_own_namespace(void **state)
{
    (void)state;
    assert_int_equal(compare(), AS_EXPECTED);
}

/* In a new PID namespace with the outer /proc. */
static void compare_in_namespace(void)
{
    int status;
    pid_t child;

    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
        _exit(NO_NAMESPACE);
    child = fork();
    if (child == 0)
        _exit(compare());
    if (child < 0 || waitpid(child, &status, 0) != child)
        abort();
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static void test_other_namespace(void **state)
{
    int status = child_status(compare_in_namespace);

    (void)state;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE) {
        puts("skipped: the system allows no PID namespace");
        skip();
    }
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), AS_EXPECTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_namespace, start, stop),
        cmocka_unit_test_setup_teardown(test_other_namespace, start, stop),
    };

    sem_init(&called, 0, 0);
    sem_init(&completed, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
