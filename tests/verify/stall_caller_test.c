/* SPDX-License-Identifier: MIT */
/*
 * The stack of the thread that made a call which stalls: where it waits, or that it runs, has ended, or waits in the
 * call itself. And the stacks of threads that wait in other ways.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "verify/reported.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>

#include "base/owner.h"
#include "verify/fake_provider.h"
#include "verify/stall.h"
#include "verify/thread_stack.h"

enum { HOUR_MS = 3600000, MAX_PRINTED = 8192 };
static const uint64_t hour = (uint64_t)HOUR_MS * STALL_NS_PER_MS;

static struct fake_provider *fake;
static NDK_ADAPTER *adapter;
static NDK_CQ *cq;
static atomic_int caller; /* ID of the other thread; 0: it has not begun */
static atomic_bool has_called, is_released;
static int wake[2]; /* a pipe: the thread waits for a byte */

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static void ignore_request(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static int caller_setup(void **state)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    config.stall_ms = HOUR_MS;
    assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
    (void)start(state);
    report_set_max_written(UINT32_MAX);
    fake = fake_provider_init();
    assert_int_equal(ondk_verify_wrap(&fake->adapter, &adapter), STATUS_SUCCESS);
    assert_int_equal(
        adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, ignore_create, NULL, &cq),
        STATUS_SUCCESS);
    assert_int_equal(pipe2(wake, O_CLOEXEC), 0);
    atomic_store(&caller, 0);
    atomic_store(&has_called, false);
    atomic_store(&is_released, false);
    return 0;
}

static int caller_stop(void **state)
{
    close(wake[0]);
    close(wake[1]);
    fake->pend = false;
    fake->inside = NULL;
    assert_int_equal(cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL), STATUS_SUCCESS);
    assert_ptr_equal(ondk_verify_unwrap(adapter), &fake->adapter);
    return stop(state);
}

/* Makes a call that stays pending. */
static void call_resize(void)
{
    atomic_store(&caller, (int)syscall(SYS_gettid));
    fake->pend = true;
    if (cq->Dispatch->NdkResizeCq(cq, 8, ignore_request, NULL) != STATUS_PENDING)
        abort();
    atomic_store(&has_called, true);
}

static NOINLINE void wait_for_byte(void)
{
    char byte;

    while (read(wake[0], &byte, 1) != 1)
        ;
}

static NOINLINE void wait_in_consumer(void)
{
    wait_for_byte();
    __asm__ volatile("" ::: "memory"); /* no tail call, so that this function has a frame */
}

static void release(pthread_t thread)
{
    atomic_store(&is_released, true);
    assert_int_equal(write(wake[1], "", 1), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Prints the stack of the thread, and returns its state. The text is empty if there is no stack. */
static enum thread_state print_stack(int thread, char printed[MAX_PRINTED])
{
    struct stack s;
    enum thread_state state = thread_stack_capture(thread, &s);
    FILE *to = fmemopen(printed, MAX_PRINTED, "w");

    assert_non_null(to);
    stack_print(&s, to, "");
    fclose(to);
    return state;
}

/* Waits until the thread waits in this function. Without /proc/TID/syscall, skips the test. */
static void wait_until_in(const char *function)
{
    static char printed[MAX_PRINTED];
    enum thread_state state;

    do {
        sched_yield();
        printed[0] = 0;
        state = atomic_load(&caller) ? print_stack(atomic_load(&caller), printed) : THREAD_RUNS;
        assert_int_not_equal(state, THREAD_ENDED);
        if (state == THREAD_UNKNOWN) {
            puts("skipped: the system does not show where threads wait");
            skip();
        }
    } while (!strstr(printed, function));
}

static void examine(void)
{
    uint32_t before = ondk_verify_advices();

    (void)stall_examine(owner_clock(NULL) + hour);
    assert_int_equal(ondk_verify_advices(), before + 1);
    assert_int_equal(occurrences("stall in NdkResizeCq"), 1);
}

static void complete(void)
{
    fake_provider_complete(fake, STATUS_SUCCESS);
    assert_int_equal(ondk_verify_breaches(), breaches_before);
}

/* ---- reports ---- */

static void *call_and_wait(void *unused)
{
    (void)unused;
    (void)pthread_setname_np(pthread_self(), "caller");
    call_resize();
    wait_in_consumer();
    return NULL;
}

static void test_waiting_caller(void **state)
{
    pthread_t thread;
    char title[64];

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_and_wait, NULL), 0);
    wait_until_in("wait_in_consumer");
    examine();
    (void)snprintf(title, sizeof title, "\n  thread %d (caller) waits at\n", atomic_load(&caller));
    assert_int_equal(occurrences(title), 1);
    assert_int_equal(occurrences("call_and_wait"), 2); /* in the stack of the call, too */
    assert_int_equal(occurrences(" wait_for_byte"), 1);
    assert_int_equal(occurrences(" wait_in_consumer"), 1);
    release(thread);
    complete();
}

/* The same in JSON: the stack is the second one. */
static void test_waiting_caller_json(void **state)
{
    pthread_t thread;
    const char *at;
    const json_t *waits, *frames;
    json_t *report;

    (void)state;
    report_set_format(REPORT_JSON);
    assert_int_equal(pthread_create(&thread, NULL, call_and_wait, NULL), 0);
    wait_until_in("wait_in_consumer");
    (void)stall_examine(owner_clock(NULL) + hour);
    at = output_text();
    report = parse_line(&at);
    waits = json_array_get(json_object_get(report, "stacks"), 1);
    assert_non_null(strstr(text_of(waits, "title"), "(caller) waits at"));
    frames = json_object_get(waits, "frames");
    assert_true(json_array_size(frames) > 1);
    json_decref(report);
    release(thread);
    complete();
}

static void *call_and_run(void *unused)
{
    (void)unused;
    call_resize();
    while (!atomic_load(&is_released))
        ;
    return NULL;
}

static void test_running_caller(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_and_run, NULL), 0);
    while (!atomic_load(&has_called))
        sched_yield();
    examine();
    assert_int_equal(occurrences("which called, runs") + occurrences("which called, waits"), 1);
    assert_int_equal(occurrences(" waits at"), 0);
    release(thread);
    complete();
}

static void *call_and_end(void *unused)
{
    (void)unused;
    call_resize();
    return NULL;
}

static void test_ended_caller(void **state)
{
    struct thread_registers r;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, call_and_end, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    while (thread_get_registers(atomic_load(&caller), &r) != THREAD_ENDED)
        sched_yield();
    examine();
    assert_int_equal(occurrences("which called, has ended"), 1);
    assert_int_equal(occurrences(" waits at"), 0);
    complete();
}

/* The provider's function has not returned. Its stack would repeat that of the call. */
static void test_caller_inside(void **state)
{
    pthread_t thread;

    (void)state;
    fake->inside = wait_in_consumer;
    assert_int_equal(pthread_create(&thread, NULL, call_and_end, NULL), 0);
    wait_until_in("wait_in_consumer");
    examine();
    assert_int_equal(occurrences("which called, waits"), 1);
    assert_int_equal(occurrences(" waits at"), 0);
    release(thread);
    complete();
}

/* ---- stacks ---- */

static sem_t never;
static pthread_mutex_t locked = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static NOINLINE void wait_for_semaphore(void)
{
    while (sem_wait(&never) || !atomic_load(&is_released))
        ;
}

static NOINLINE void wait_for_condition(void)
{
    pthread_mutex_lock(&lock);
    while (!atomic_load(&is_released))
        pthread_cond_wait(&condition, &lock);
    pthread_mutex_unlock(&lock);
}

static NOINLINE void wait_for_mutex(void)
{
    pthread_mutex_lock(&locked);
    while (!atomic_load(&is_released))
        ;
    pthread_mutex_unlock(&locked);
}

static NOINLINE void wait_in_poll(void)
{
    volatile char room[9000]; /* a large frame */
    struct pollfd fd = { .fd = wake[0], .events = POLLIN };

    room[0] = 1;
    while (poll(&fd, 1, -1) != 1)
        room[1] = room[0];
}

static NOINLINE void wait_in_variable_frame(void)
{
    size_t length = (size_t)atomic_load(&caller) % 100 + 100;
    char *room = __builtin_alloca(length);

    memset(room, 1, length);
    wait_for_byte();
    if (room[length - 1] != 1)
        abort();
}

static void (*const waits[])(void) = { wait_for_semaphore, wait_for_condition, wait_for_mutex, wait_in_poll,
                                       wait_in_variable_frame };
static const char *const wait_names[] = { "wait_for_semaphore", "wait_for_condition", "wait_for_mutex", "wait_in_poll",
                                          "wait_in_variable_frame" };

static void *wait_in_thread(void *wait)
{
    atomic_store(&caller, (int)syscall(SYS_gettid));
    (*(void (**)(void))wait)();
    return NULL;
}

static void test_kinds_of_waits(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(sem_init(&never, 0, 0), 0);
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        void (*wait)(void) = waits[i];

        atomic_store(&caller, 0);
        atomic_store(&is_released, false);
        pthread_mutex_lock(&locked);
        assert_int_equal(pthread_create(&thread, NULL, wait_in_thread, &wait), 0);
        wait_until_in(wait_names[i]);
        pthread_mutex_lock(&lock);
        atomic_store(&is_released, true);
        pthread_cond_signal(&condition);
        pthread_mutex_unlock(&lock);
        pthread_mutex_unlock(&locked);
        sem_post(&never);
        release(thread);
        if (wait != wait_in_variable_frame) /* which has read the byte */
            wait_for_byte();
    }
    sem_destroy(&never);
}

#define CALLER_TEST(function) cmocka_unit_test_setup_teardown(function, caller_setup, caller_stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALLER_TEST(test_waiting_caller), CALLER_TEST(test_waiting_caller_json), CALLER_TEST(test_running_caller),
        CALLER_TEST(test_ended_caller),   CALLER_TEST(test_caller_inside),       CALLER_TEST(test_kinds_of_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
