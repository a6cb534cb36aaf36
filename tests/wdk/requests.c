/* SPDX-License-Identifier: MIT */
/* Pending requests: what is reported about them, and their cancellation while their driver completes them. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "host.h"

#include "drivers/stalling.h"
#include "openndk/verify.h"

enum { SUCCESS = 0, CANCELLED = 0xC0000120u, ROUNDS = 300 };

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *device;

static int open_all(void **state)
{
    uint32_t status;

    (void)state;
    driver = host_load("stalling");
    assert_int_equal(ondk_wdk_open("Stalling", &device, &status), 0);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    ondk_wdk_close(device);
    host_unload(driver);
    assert_int_equal(ondk_wdk_report(stderr), 0);
    assert_int_equal(ondk_verify_breaches(), 0);
    return 0;
}

struct sender {
    pthread_t thread;
    uint32_t function, status;
    atomic_uint id;
    atomic_bool ended;
};

static void *send_control(void *context)
{
    struct sender *s = context;

    atomic_store(&s->id, (unsigned)syscall(SYS_gettid));
    if (ondk_wdk_device_control(device, STALLING(s->function), NULL, 0, NULL, 0, NULL, &s->status))
        abort();
    atomic_store(&s->ended, true);
    return NULL;
}

static void start(struct sender *s, uint32_t function)
{
    *s = (struct sender){ .function = function, .status = 1 };
    assert_int_equal(pthread_create(&s->thread, NULL, send_control, s), 0);
    while (!atomic_load(&s->id))
        sched_yield();
}

static uint32_t end(struct sender *s)
{
    pthread_join(s->thread, NULL);
    return s->status;
}

/* Returns what is reported about the requests of a thread; the caller frees it. */
static char *reported(uint32_t thread, uint32_t *inside)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    *inside = ondk_wdk_report_requests(thread, out);
    fclose(out);
    return text;
}

static bool says(const struct sender *s, const char *words, uint32_t *inside)
{
    char *text = reported(atomic_load(&s->id), inside);
    bool found = strstr(text, words);

    free(text);
    return found;
}

/* Waits until the report about the thread has these words. */
static void await_words(const struct sender *s, const char *words)
{
    uint32_t inside;

    while (!says(s, words, &inside))
        sched_yield();
}

/* The report about the thread has these words, and that many of its requests are inside the driver. */
static void expect_words(const struct sender *s, uint32_t expected, const char *words)
{
    uint32_t inside;

    assert_true(says(s, words, &inside));
    assert_int_equal(inside, expected);
}

static void send_release(uint32_t function)
{
    uint32_t status;

    assert_int_equal(ondk_wdk_device_control(device, STALLING(function), NULL, 0, NULL, 0, NULL, &status), 0);
}

static void test_report(void **state)
{
    struct sender s;
    uint32_t inside;
    char *text, head[128];

    (void)state;
    text = reported(0, &inside);
    assert_string_equal(text, "");
    free(text);
    start(&s, STALL_PEND);
    await_words(&s, "its dispatch routine has returned STATUS_PENDING\n    the IRP is marked pending\n"
                    "    its cancel routine is\n      #0 ");
    text = reported(0, &inside);
    assert_int_equal(inside, 0);
    snprintf(head, sizeof head, "pending: IRP_MJ_DEVICE_CONTROL 0x%X to \\Driver\\stalling, for ",
             STALLING(STALL_PEND));
    assert_ptr_equal(strstr(text, head), text);
    snprintf(head, sizeof head, " s, sent by thread %u, IRP ", atomic_load(&s.id));
    assert_non_null(strstr(text, head));
    assert_non_null(strstr(text, "(stalling.so+0x"));
    free(text);
    text = reported((uint32_t)getpid(), &inside); /* the main thread has sent none */
    assert_string_equal(text, "");
    free(text);
    send_release(STALL_RELEASE);
    assert_int_equal(end(&s), SUCCESS);
}

static void test_report_inside(void **state)
{
    struct sender s;

    (void)state;
    start(&s, STALL_INSIDE);
    await_words(&s, "pending: ");
    expect_words(&s, 1, "has not returned\n    the IRP is not marked pending\n    it has no cancel routine\n");
    ondk_wdk_cancel_thread(atomic_load(&s.id)); /* only sets Cancel */
    expect_words(&s, 1, "not marked pending, and it was cancelled\n");
    send_release(STALL_RELEASE);
    assert_int_equal(end(&s), SUCCESS);
}

/* A cancellation that finds no cancel routine leaves the request to the driver. */
static void test_deaf(void **state)
{
    struct sender s;

    (void)state;
    start(&s, STALL_DEAF);
    await_words(&s, "returned STATUS_PENDING");
    ondk_wdk_cancel_thread(atomic_load(&s.id));
    expect_words(&s, 0, "marked pending, and it was cancelled\n    it has no cancel routine\n");
    send_release(STALL_RELEASE);
    assert_int_equal(end(&s), SUCCESS);
}

/* Only the requests of the thread are cancelled. */
static void test_other_thread(void **state)
{
    struct sender s;

    (void)state;
    start(&s, STALL_PEND);
    await_words(&s, "returned STATUS_PENDING\n    the IRP is marked pending\n    its cancel routine is");
    ondk_wdk_cancel_thread((uint32_t)getpid());
    expect_words(&s, 0, "the IRP is marked pending\n");
    ondk_wdk_cancel_thread(atomic_load(&s.id));
    assert_int_equal(end(&s), CANCELLED);
}

/* The driver has taken the request when the cancellation comes, and completes it during IoCancelIrp or afterwards. */
static void test_completed_first(void **state)
{
    struct sender s;

    (void)state;
    start(&s, STALL_COMPLETED_FIRST);
    await_words(&s, "returned STATUS_PENDING\n    the IRP is marked pending\n    it has no cancel routine"); /* taken */
    ondk_wdk_cancel_thread(atomic_load(&s.id));
    assert_int_equal(end(&s), SUCCESS);
}

/* The driver tries to take the request while its cancel routine runs. */
static void test_cancelled_first(void **state)
{
    struct sender s;

    (void)state;
    start(&s, STALL_CANCELLED_FIRST);
    await_words(&s, "its cancel routine is");
    ondk_wdk_cancel_thread(atomic_load(&s.id));
    assert_int_equal(end(&s), CANCELLED);
}

/*
 * Cancellation and completion meet: both exchange the cancel routine within the same moments. The cancellations are
 * repeated until the request has ended, so that some meet its sending and some its completion.
 */
static void test_meeting(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct sender s;

        start(&s, STALL_MEETING);
        while (!atomic_load(&s.ended))
            ondk_wdk_cancel_thread(atomic_load(&s.id));
        end(&s);
        assert_true(s.status == SUCCESS || s.status == CANCELLED);
    }
}

static void *cancel_all(void *unused)
{
    (void)unused;
    ondk_wdk_cancel(device);
    return NULL;
}

/*
 * A request ends, and its sender returns, while its cancellation waits behind the cancel routine of another request.
 * Checks are off, because with checks ended IRPs stay allocated for a while. Freed memory is overwritten (M_PERTURB).
 */
static void test_ended_meanwhile(void **state)
{
    struct sender first, second;
    pthread_t canceller;

    (void)state;
    start(&second, STALL_INSIDE);
    await_words(&second, "pending: ");
    start(&first, STALL_CANCEL_STAYS); /* newer, so it is cancelled first */
    await_words(&first, "returned STATUS_PENDING");
    assert_int_equal(pthread_create(&canceller, NULL, cancel_all, NULL), 0);
    assert_int_equal(end(&first), CANCELLED); /* now its cancel routine stays */
    send_release(STALL_RELEASE);
    assert_int_equal(end(&second), SUCCESS);
    send_release(STALL_RELEASE_CANCEL);
    pthread_join(canceller, NULL);
}

static int open_unchecked(void **state)
{
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    return open_all(state);
}

static int close_unchecked(void **state)
{
    int result = close_all(state);

    ondk_verify_set_mode(ONDK_VERIFY_STOP);
    return result;
}

#define WITH_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(test_report),
        WITH_DEVICE(test_report_inside),
        WITH_DEVICE(test_deaf),
        WITH_DEVICE(test_other_thread),
        WITH_DEVICE(test_completed_first),
        WITH_DEVICE(test_cancelled_first),
        WITH_DEVICE(test_meeting),
        cmocka_unit_test_setup_teardown(test_ended_meanwhile, open_unchecked, close_unchecked),
    };

    mallopt(M_PERTURB, 0xa5);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
