/* SPDX-License-Identifier: MIT */
/*
 * KMDF's control devices: queues, requests, files, cancellation, scopes and levels, and a driver that breaks each rule.
 * The host waits for states, not for times.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

#include "host.h"
#include "report.h"

#include "drivers/wdfcontrol.h"

enum {
    CANCELLED = (int)0xC0000120,
    ACCESS_DENIED = (int)0xC0000022,
    NOT_FOUND = (int)0xC0000225,
    NO_MORE_ENTRIES = (int)0x8000001A,
    DEVICE_BUSY = (int)0x80000011,
    NO_SUCH_DEVICE = (int)0xC000000E,
    INVALID_DEVICE_REQUEST = (int)0xC0000010,
};

static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *device;

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static char answer[64];
static uint32_t answer_length;

static int control_on(ondk_wdk_device_t *d, unsigned code, const void *in, size_t length)
{
    char input[64] = "        ";
    uint32_t status = 1;

    memcpy(input, in, length);
    assert_int_equal(ondk_wdk_device_control(d, code, input, (uint32_t)(length < 8 ? 8 : length), answer, sizeof answer,
                                             &answer_length, &status),
                     0);
    return (int)status;
}

static int control(unsigned function, const void *in, size_t length)
{
    return control_on(device, WDFCONTROL_CODE(function, WDFCONTROL_BUFFERED), in, length);
}

static void has_events(const char *wanted)
{
    assert_int_equal(control(WDFCONTROL_EVENTS, "", 0), 0);
    assert_int_equal(answer_length, strlen(wanted));
    assert_memory_equal(answer, wanted, answer_length);
}

static struct wdfcontrol_state state_of(unsigned queue)
{
    struct wdfcontrol_state s;

    assert_int_equal(control(WDFCONTROL_STATE, &queue, sizeof queue), 0);
    memcpy(&s, answer, sizeof s);
    return s;
}

/*
 * The driver owns a request before its handler runs, so a read must also have reached the place from which
 * WDFCONTROL_RELEASE takes it.
 */
static void wait_for(unsigned queue, unsigned waiting, unsigned owned)
{
    struct wdfcontrol_state s;
    bool stored;

    do {
        s = state_of(queue);
        stored = queue != WDFCONTROL_QUEUE_READ || s.reading == owned;
    } while ((s.waiting != waiting || s.owned != owned || !stored) && !usleep(200));
}

/*
 * Waits until the manual queue has this many requests. The first one must also have caused the event '!', which its
 * sender's thread appends after the request is visible in the queue.
 */
static void wait_for_manual(unsigned waiting)
{
    wait_for(WDFCONTROL_QUEUE_MANUAL, waiting, 0);
    while (!state_of(WDFCONTROL_QUEUE_MANUAL).notified)
        usleep(200);
}

/* A request that is cancelled before it is marked completes without EvtRequestCancel. */
static void wait_for_marks(unsigned marks)
{
    while (state_of(WDFCONTROL_QUEUE_DEFAULT).marks != marks)
        usleep(200);
}

static void change(unsigned queue, unsigned to)
{
    struct wdfcontrol_change c = { queue, to };

    assert_int_equal(control(WDFCONTROL_CHANGE, &c, sizeof c), 0);
}

/* A request on a thread of its own. */
struct sent {
    pthread_t thread;
    ondk_wdk_device_t *device;
    unsigned function; /* 0: a read of 16 bytes */
    char text;
    int status;
};

static void *send_one(void *context)
{
    struct sent *s = context;
    char in[8] = { s->text }, out[64];
    uint32_t length, status = 1;

    if (s->function)
        ondk_wdk_device_control(s->device, WDFCONTROL_CODE(s->function, WDFCONTROL_BUFFERED), in, sizeof in, out,
                                sizeof out, &length, &status);
    else
        ondk_wdk_read(s->device, 0, out, 16, &length, &status);
    s->status = (int)status;
    return NULL;
}

static void start_on(struct sent *s, ondk_wdk_device_t *d, unsigned function, char text)
{
    *s = (struct sent){ .device = d, .function = function, .text = text };
    assert_int_equal(pthread_create(&s->thread, NULL, send_one, s), 0);
}

static void start(struct sent *s, unsigned function, char text)
{
    start_on(s, device, function, text);
}

static int end(struct sent *s)
{
    pthread_join(s->thread, NULL);
    return s->status;
}

static ondk_wdk_device_t *open_device(const char *name, int wanted)
{
    ondk_wdk_device_t *d = NULL;
    uint32_t status = 1;

    (void)ondk_wdk_open(name, &d, &status);
    assert_int_equal((int)status, wanted);
    return d;
}

static int setup(void **state)
{
    (void)state;
    driver = host_load("wdfcontrol");
    device = open_device("WdfControl", 0);
    has_events("o");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ondk_wdk_close(device);
    host_unload(driver);
    return 0;
}

/* ---- Buffers and files ------------------------------------------------------------------------------------------- */

static void test_buffers(void **state)
{
    char text[7];
    uint32_t length, status;

    (void)state;
    for (unsigned method = WDFCONTROL_BUFFERED; method <= WDFCONTROL_NEITHER; method++) {
        memset(answer, 0, sizeof answer);
        assert_int_equal(control_on(device, WDFCONTROL_CODE(WDFCONTROL_REVERSE, method), "abcdefgh", 8), 0);
        assert_int_equal(answer_length, 8);
        assert_memory_equal(answer, "hgfedcba", 8);
    }
    assert_int_equal(ondk_wdk_read(device, 0, text, sizeof text, &length, &status), 0);
    assert_int_equal(status, 0);
    assert_memory_equal(text, "RRRRRRR", 7);
    assert_int_equal(ondk_wdk_read(device, 0, text, 0, &length, &status), 0); /* completed by the framework */
    assert_int_equal(status, 0);
    assert_int_equal(ondk_wdk_write(device, 0, text, 1, &length, &status), 0);
    assert_int_equal((int)status, INVALID_DEVICE_REQUEST); /* no handler */
    assert_int_equal(ondk_wdk_write(device, 0, text, 3, &length, &status), 0);
    assert_int_equal(status, 0); /* by EvtDeviceWdmIrpPreprocess */
    assert_int_equal(length, 3);
}

static void test_files(void **state)
{
    ondk_wdk_device_t *other;
    struct sent held, others;

    (void)state;
    assert_null(open_device("WdfControl\\x", ACCESS_DENIED));
    has_events("od"); /* the file object is deleted, without cleanup and close */
    assert_null(open_device("WdfUnfinished", NO_SUCH_DEVICE));
    other = open_device("WdfControl\\y", 0);
    start_on(&others, other, WDFCONTROL_HOLD, 'b');
    wait_for_manual(1);
    start(&held, WDFCONTROL_HOLD, 'a');
    wait_for_manual(2);
    assert_int_equal(control(WDFCONTROL_OWN_FILE, "", 0), 0);
    assert_int_equal(*(unsigned *)(void *)answer, 1);
    assert_int_equal(end(&held), 0);
    has_events("o!r");
    ondk_wdk_close(other); /* the close of the file cancels its request */
    assert_int_equal(end(&others), CANCELLED);
    has_events("crCd");
}

static void test_objects(void **state)
{
    (void)state;
    assert_int_equal(control(WDFCONTROL_OBJECTS, "", 0), 0);
    assert_int_equal(*(unsigned *)(void *)answer, 0);
}

/* ---- Dispatching ------------------------------------------------------------------------------------------------- */

static void test_sequential(void **state)
{
    struct sent reads[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        start(&reads[i], 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 2, 1);
    for (unsigned left = 3; left--;) {
        assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
        wait_for(WDFCONTROL_QUEUE_READ, left ? left - 1 : 0, left != 0);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(end(&reads[i]), 0);
}

/* The default queue delivers four requests at once; the requests of this test itself need one place. */
static void test_parallel_limit(void **state)
{
    struct sent marked[3];
    unsigned before = state_of(WDFCONTROL_QUEUE_DEFAULT).marks;

    (void)state;
    for (int i = 0; i < 3; i++)
        start(&marked[i], WDFCONTROL_MARK, 'm');
    wait_for_marks(before + 3);
    wait_for(WDFCONTROL_QUEUE_DEFAULT, 0, 4); /* three, and the request for the state */
    ondk_wdk_cancel(device);
    for (int i = 0; i < 3; i++)
        assert_int_equal(end(&marked[i]), CANCELLED);
    has_events("kkk");
}

static void test_manual(void **state)
{
    struct sent held[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        start(&held[i], WDFCONTROL_HOLD, (char)('a' + i));
        wait_for_manual((unsigned)i + 1);
    }
    assert_int_equal(control(WDFCONTROL_FIND, "b", 1), 0);
    assert_int_equal(control(WDFCONTROL_FIND, "z", 1), NO_MORE_ENTRIES);
    assert_int_equal(end(&held[1]), 0);
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&held[0]), 0);
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&held[2]), 0);
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), NO_MORE_ENTRIES);
    has_events("!rrr"); /* one notice: the queue became not empty once */
}

/* ---- Cancellation ------------------------------------------------------------------------------------------------ */

static void test_cancel_queued(void **state)
{
    struct sent held, told;

    (void)state;
    start(&held, WDFCONTROL_HOLD, 'a');
    wait_for_manual(1);
    ondk_wdk_cancel(device);
    assert_int_equal(end(&held), CANCELLED);
    has_events("!r"); /* without EvtIoCanceledOnQueue the framework completes the request */
    start(&told, WDFCONTROL_HOLD_TOLD, 'a');
    wait_for(WDFCONTROL_QUEUE_TOLD, 1, 0);
    ondk_wdk_cancel(device);
    assert_int_equal(end(&told), CANCELLED);
    has_events("qr");
    wait_for(WDFCONTROL_QUEUE_TOLD, 0, 0);
}

static void test_cancel_marked(void **state)
{
    struct sent marked;
    unsigned before = state_of(WDFCONTROL_QUEUE_DEFAULT).marks;

    (void)state;
    start(&marked, WDFCONTROL_MARK, 'a');
    wait_for_marks(before + 1);
    assert_int_equal(control(WDFCONTROL_UNMARK, "", 0), 0);
    assert_int_equal(*(unsigned *)(void *)answer, 0);
    assert_int_equal(end(&marked), 0);
    has_events("");
    start(&marked, WDFCONTROL_MARK, 'a');
    wait_for_marks(before + 2);
    ondk_wdk_cancel(device);
    assert_int_equal(end(&marked), CANCELLED);
    has_events("k");
    assert_int_equal(control(WDFCONTROL_UNMARK, "", 0), NOT_FOUND);
}

/* Many requests are cancelled while they are held, released and found. Each completes exactly once. */
static void test_cancel_race(void **state)
{
    static const unsigned functions[] = { WDFCONTROL_HOLD, WDFCONTROL_HOLD_TOLD, WDFCONTROL_MARK,
                                          WDFCONTROL_MARK_ALONE };
    struct sent sent[4];

    (void)state;
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < 4; i++)
            start(&sent[i], functions[i], 'a');
        (void)control(round % 2 ? WDFCONTROL_RELEASE : WDFCONTROL_FIND, "a", 1);
        (void)control(WDFCONTROL_UNMARK, "", 0);
        for (int i = 0; i < 4; i++)
            while (pthread_tryjoin_np(sent[i].thread, NULL) && !usleep(100))
                ondk_wdk_cancel(device);
        for (int i = 0; i < 4; i++)
            assert_true(sent[i].status == 0 || sent[i].status == CANCELLED);
    }
    (void)control(WDFCONTROL_EVENTS, "", 0);
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static void test_stop(void **state)
{
    struct sent read;

    (void)state;
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_STOP);
    has_events("S"); /* the driver owns nothing */
    start(&read, 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 1, 0);
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_START);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 1);
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_STOP);
    has_events("");
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&read), 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 0);
    has_events("S");
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_START);
}

static void test_drain(void **state)
{
    struct sent reads[2];
    uint32_t length, status;
    char text[16];

    (void)state;
    start(&reads[0], 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 1);
    start(&reads[1], 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 1, 1);
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_DRAIN);
    assert_int_equal(ondk_wdk_read(device, 0, text, sizeof text, &length, &status), 0);
    assert_int_equal((int)status, DEVICE_BUSY); /* the driver's STATUS_WDF_BUSY, from WdfDeviceEnqueueRequest */
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 1);
    has_events("");
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 0);
    assert_int_equal(end(&reads[0]) | end(&reads[1]), 0); /* a sender's thread may append the event after the reads */
    has_events("D");
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_START);
}

static void test_purge(void **state)
{
    struct sent held, told, read, late;

    (void)state;
    start(&told, WDFCONTROL_HOLD_TOLD, 'a');
    wait_for(WDFCONTROL_QUEUE_TOLD, 1, 0);
    change(WDFCONTROL_QUEUE_TOLD, WDFCONTROL_PURGE);
    assert_int_equal(end(&told), CANCELLED);
    wait_for(WDFCONTROL_QUEUE_TOLD, 0, 0);
    has_events("qrP");
    change(WDFCONTROL_QUEUE_TOLD, WDFCONTROL_START);
    start(&read, 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 1);
    start(&late, 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 1, 1);
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_PURGE); /* cancels what waits; the driver's own read is not cancelable */
    assert_int_equal(end(&late), CANCELLED);
    has_events("");
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&read), 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 0);
    has_events("P");
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_START);
    start(&held, WDFCONTROL_HOLD, 'a');
    wait_for_manual(1);
    change(WDFCONTROL_QUEUE_MANUAL, WDFCONTROL_STOP_AND_PURGE);
    assert_int_equal(end(&held), CANCELLED);
    start(&held, WDFCONTROL_HOLD, 'a'); /* accepted, not delivered */
    wait_for(WDFCONTROL_QUEUE_MANUAL, 1, 0);
    has_events("!rZ");
    change(WDFCONTROL_QUEUE_MANUAL, WDFCONTROL_START);
    wait_for_manual(1);
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&held), 0);
    has_events("!r");
}

/* Until the queue starts again, what the driver marks cancelable or requeues is cancelled. */
static void test_purge_owned(void **state)
{
    struct sent read, held;

    (void)state;
    start(&read, 0, 0);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 1);
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_STOP_AND_PURGE);
    assert_int_equal(control(WDFCONTROL_MARK_READ, "", 0), 0);
    assert_int_equal(end(&read), CANCELLED);
    wait_for(WDFCONTROL_QUEUE_READ, 0, 0);
    has_events("Z");
    change(WDFCONTROL_QUEUE_READ, WDFCONTROL_START);
    start(&held, WDFCONTROL_HOLD, 'a');
    wait_for_manual(1);
    assert_int_equal(control(WDFCONTROL_REQUEUE, "", 0), 0);
    assert_int_equal(end(&held), CANCELLED);
    has_events("!rZ");
}

/* A handler that has completed its request still runs, so WdfIoQueueStopSynchronously waits for it. */
static void test_wait_for_handler(void **state)
{
    uint32_t length, status;
    char text[WDFCONTROL_LINGER];

    (void)state;
    assert_int_equal(ondk_wdk_read(device, 0, text, sizeof text, &length, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(control(WDFCONTROL_FLUSH, "", 0), 0);
    has_events("lw");
}

/* ---- Scopes and levels ------------------------------------------------------------------------------------------- */

struct scoped {
    pthread_t thread;
    const char *name;
    struct wdfcontrol_inside result;
};

static void *call_scoped(void *context)
{
    struct scoped *s = context;
    ondk_wdk_device_t *d;
    uint32_t length, status = 1;
    char out[64];

    if (ondk_wdk_open(s->name, &d, &status))
        return NULL;
    for (int i = 0; i < 25; i++)
        ondk_wdk_device_control(d, WDFCONTROL_CODE(WDFCONTROL_INSIDE, WDFCONTROL_BUFFERED), out, 8, out, sizeof out,
                                &length, &status);
    memcpy(&s->result, out, sizeof s->result);
    ondk_wdk_close(d);
    return NULL;
}

static void test_scopes(void **state)
{
    static const struct {
        const char *name;
        unsigned irql;
    } devices[] = { { "WdfScoped", 2 }, { "WdfPassive", 0 } };
    struct scoped threads[4];

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        for (int t = 0; t < 4; t++) {
            threads[t] = (struct scoped){ .name = devices[i].name };
            assert_int_equal(pthread_create(&threads[t].thread, NULL, call_scoped, &threads[t]), 0);
        }
        for (int t = 0; t < 4; t++) {
            pthread_join(threads[t].thread, NULL);
            assert_int_equal(threads[t].result.most, 1);
            assert_int_equal(threads[t].result.irql, devices[i].irql);
        }
    }
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static const struct {
    unsigned number;
    const char *rule, *parameters;
} cases[] = {
    { WDFCONTROL_HANDLE_WRONG, "wdf-handle in WdfIoQueueGetDevice", "0x10D (0x0000000000000005, 0x" },
    { WDFCONTROL_HANDLE_DELETED, "wdf-handle in WdfObjectReference", "0x10D (0x0000000000000005, 0x" },
    { WDFCONTROL_INIT_CONSUMED, "wdf-handle in WdfDeviceInitSetExclusive", "WDFDEVICE_INIT" },
    { WDFCONTROL_PARAMETER_NULL, "wdf-parameter in WdfRequestMarkCancelable", "0x10D (0x0000000000000004" },
    { WDFCONTROL_COMPLETE_TWICE, "wdf-request in WdfRequestComplete", "is completed already" },
    { WDFCONTROL_COMPLETE_QUEUED, "wdf-request in WdfRequestComplete", "is in a queue" },
    { WDFCONTROL_COMPLETE_CANCELABLE, "wdf-request in WdfRequestComplete", "is cancelable" },
    { WDFCONTROL_FORWARD_CANCELABLE, "wdf-request in WdfRequestForwardToIoQueue", "is cancelable" },
    { WDFCONTROL_TOO_MUCH, "wdf-request in WdfRequestCompleteWithInformation",
      "0x10D (0x0000000000000006, 0x0000000000000004" },
    { WDFCONTROL_MEMORY_HELD, "wdf-request in WdfRequestComplete", "0x10D (0x0000000000000003" },
    { WDFCONTROL_STOP_ACKNOWLEDGE, "wdf-request in WdfRequestStopAcknowledge", "EvtIoStop" },
    { WDFCONTROL_ENQUEUE_LATE, "wdf-request in WdfDeviceEnqueueRequest", "outside of EvtIoInCallerContext" },
    { WDFCONTROL_DELETE_REQUEST, "wdf-delete in WdfObjectDelete", "0x10D (0x0000000000000007" },
    { WDFCONTROL_DELETE_QUEUE, "wdf-delete in WdfObjectDelete", "WDFQUEUE" },
    { WDFCONTROL_DEREFERENCE, "wdf-delete in WdfObjectDereference", "0x10D (0x0000000000000007" },
    { WDFCONTROL_WAIT_IN_HANDLER, "wdf-queue in WdfIoQueuePurgeSynchronously", "0x10D (0x000000000000000A" },
    { WDFCONTROL_DRAIN_STOPPED, "wdf-queue in WdfIoQueueDrain", "it is stopped" },
    { WDFCONTROL_CHANGE_TWICE, "wdf-queue in WdfIoQueueStopAndPurge", "has not been called yet" },
    { WDFCONTROL_LOCK_WRONG, "wdf-lock in WdfObjectAcquireLock", "0x10D (0x000000000000000B" },
    { WDFCONTROL_LOCK_TWICE, "wdf-lock in WdfObjectAcquireLock", "0x10D (0x0000000000000002" },
    { WDFCONTROL_LOCK_FOREIGN, "wdf-lock in WdfObjectReleaseLock", "0x10D (0x000000000000000B" },
    { WDFCONTROL_IRQL_RAISED, "wdf-callback in a request handler",
      "0x10D (0x000000000000000E, 0x0000000000000000, 0x0000000000000002" },
    { WDFCONTROL_REGION_ENTERED, "wdf-callback in a request handler", "0x10D (0x000000000000000F" },
    { WDFCONTROL_IRQL_TOO_HIGH, "irql-too-high in WdfDriverGetRegistryPath", "" },
};

static void test_rules(void **state)
{
    struct report *r;
    struct sent held;

    (void)state;
    start(&held, WDFCONTROL_HOLD, 'a'); /* for WDFCONTROL_COMPLETE_QUEUED */
    wait_for_manual(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        r = report_start();
        assert_int_equal(control(WDFCONTROL_BREAK, &cases[i].number, sizeof cases[i].number), 0);
        report_says(r, cases[i].rule, cases[i].parameters);
    }
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    assert_int_equal(end(&held), 0);
    (void)control(WDFCONTROL_EVENTS, "", 0);
}

static void *send_unanswered(void *context)
{
    char text[64] = { 0 };
    uint32_t length, status = 1;

    (void)context;
    ondk_wdk_device_control(device, WDFCONTROL_CODE(WDFCONTROL_BREAK, WDFCONTROL_NEITHER), text, 8, text, sizeof text,
                            &length, &status);
    return NULL;
}

static void test_unanswered(void **state)
{
    struct report *r = report_start();
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_unanswered, NULL), 0);
    while (!report_so_far(r))
        usleep(200);
    report_is(r, "wdf-request in EvtIoInCallerContext");
    assert_int_equal(control(WDFCONTROL_RELEASE, "", 0), 0);
    pthread_join(thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers),        cmocka_unit_test(test_files),
        cmocka_unit_test(test_objects),        cmocka_unit_test(test_sequential),
        cmocka_unit_test(test_parallel_limit), cmocka_unit_test(test_manual),
        cmocka_unit_test(test_cancel_queued),  cmocka_unit_test(test_cancel_marked),
        cmocka_unit_test(test_cancel_race),    cmocka_unit_test(test_stop),
        cmocka_unit_test(test_drain),          cmocka_unit_test(test_purge),
        cmocka_unit_test(test_purge_owned),    cmocka_unit_test(test_wait_for_handler),
        cmocka_unit_test(test_scopes),         cmocka_unit_test(test_rules),
        cmocka_unit_test(test_unanswered),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
