/* SPDX-License-Identifier: MIT */
/*
 * The samples' connecting sides (hello, echo's client) and services that end at any stage, in any way, or answer
 * wrongly. Each run ends with the status that names the cause, breaks no rule of drivers, and leaves nothing.
 *   client_abrupt [ROUNDS]
 */
#include <net/if.h>
#include <pthread.h>

#include "../host.h"
#include "peer.h"
#include "wire/ddp.h"
#include "openndk/verify.h"

enum { PORT = 54321, RUN = 0x122000, LENGTH = 4096, ROUNDS = 2, MAGIC = 0x4F484345 };

/* STATUS_... as ntstatus.h has them. */
enum {
    SUCCESS = 0,
    INVALID_NETWORK_RESPONSE = 0xC00000C3,
    REQUEST_NOT_ACCEPTED = 0xC00000D0,
    CONNECTION_DISCONNECTED = 0xC000020C,
    CONNECTION_REFUSED = 0xC0000236
};

/* The last step of the service before it ends the connection. */
enum stage {
    STAGE_NONE, /* nobody listens */
    STAGE_TCP,
    STAGE_REQUEST, /* reads the request */
    STAGE_HALF_REPLY,
    STAGE_GARBAGE, /* ... in place of the reply */
    STAGE_REJECT,
    STAGE_REPLY,
    STAGE_READY,   /* waits for the first byte behind the reply */
    STAGE_MESSAGE, /* reads the first message */
    STAGE_HALF_ANSWER,
    STAGE_FIRST_SEGMENT,
    STAGE_LONG, /* an answer that fits into no receive */
    STAGE_SHORT,
    STAGE_WRONG,
    STAGE_REFUSING, /* echo: the answer has a status that no IRP may end with */
    STAGE_PLAIN,    /* echo: the answer does not invalidate the region */
    STAGE_STALE,    /* echo: the answer invalidates what is not there */
    STAGE_RIGHT,
    STAGE_TWICE, /* answers once more, unasked */
    STAGES
};
enum end { END_CLOSE, END_RESET, END_HALF, ENDS };

static const char *const stage_names[STAGES] = { "none",          "tcp",   "request", "half reply", "garbage",
                                                 "reject",        "reply", "ready",   "message",    "half answer",
                                                 "first segment", "long",  "short",   "wrong",      "refusing",
                                                 "plain",         "stale", "right",   "twice" };

/* As samples/echo/protocol.h has it. */
struct bulk {
    uint32_t magic, status;
    uint64_t address;
    uint32_t token, length;
};

/* ---- The service ---- */

static bool answer_bytes(struct peer *p, enum stage stage, const uint8_t *bytes, size_t len)
{
    static const uint8_t longer[1024];

    switch (stage) {
    case STAGE_HALF_ANSWER:
        return peer_send_half_message(p, bytes, len);
    case STAGE_FIRST_SEGMENT:
        return peer_send_first_segment(p, bytes, len);
    case STAGE_LONG:
        return peer_send_message(p, longer, sizeof longer);
    case STAGE_SHORT:
        return peer_send_message(p, bytes, len - 1);
    case STAGE_WRONG:
        return peer_send_message(p, longer, len);
    case STAGE_TWICE:
        return peer_send_message(p, bytes, len) && peer_send_message(p, bytes, len);
    default:
        return peer_send_message(p, bytes, len);
    }
}

/* The data goes back without having been read: the region is empty and stays so. */
static bool answer_bulk(struct peer *p, enum stage stage, const struct peer_fpdu *f)
{
    struct bulk b;

    memcpy(&b, f->payload, sizeof b);
    b.status = stage == STAGE_REFUSING ? 0xFFFFFFFF : SUCCESS;
    if (stage == STAGE_REFUSING || stage == STAGE_RIGHT || stage == STAGE_STALE)
        return peer_send_invalidating(p, stage == STAGE_STALE ? b.token ^ 0x55555500 : b.token, &b, sizeof b);
    return answer_bytes(p, stage, (uint8_t *)&b, sizeof b);
}

static void serve(struct peer *p, enum stage stage, struct peer_fpdu *f)
{
    if (stage == STAGE_TCP || !peer_receive_request(p) || stage == STAGE_REQUEST)
        return;
    if (stage <= STAGE_REJECT) {
        peer_send_reply(p, stage == STAGE_HALF_REPLY ? PEER_HALF_REPLY
                           : stage == STAGE_GARBAGE  ? PEER_GARBAGE
                                                     : PEER_REJECT);
        return;
    }
    if (!peer_send_reply(p, PEER_ACCEPT) || stage == STAGE_REPLY)
        return;
    if (stage == STAGE_READY) {
        peer_wait_byte(p);
        return;
    }
    while (peer_receive(p, f) && f->opcode == RDMAP_SEND) {
        if (stage == STAGE_MESSAGE)
            return;
        if (f->len == sizeof(struct bulk) ? !answer_bulk(p, stage, f) : !answer_bytes(p, stage, f->payload, f->len))
            return;
        if (stage != STAGE_RIGHT || f->len != sizeof(struct bulk))
            return;
    }
}

/* Accepts one connection and ends it. */
static void service(int listener, enum stage stage, enum end end)
{
    struct peer_fpdu *f = malloc(sizeof *f);
    struct peer p;

    assert_non_null(f);
    assert_true(peer_accept(&p, listener));
    serve(&p, stage, f);
    free(f);
    if (end == END_RESET)
        peer_reset(&p);
    if (end == END_HALF) {
        peer_half_close(&p);
        peer_wait_end(&p);
    }
    peer_close(&p);
    close(listener);
}

/* ---- The drivers: each returns the status that it ended with ---- */

static void *run_hello(void *context)
{
    ondk_wdk_driver_t *driver;
    uint32_t status;

    (void)context;
    if (ondk_wdk_load(host_path("hello"), NULL, &driver, &status))
        return (void *)(uintptr_t)status;
    return ondk_wdk_unload(driver, &status) ? (void *)(uintptr_t)1 : NULL;
}

static void *run_echo(void *device)
{
    uint32_t in[2] = { LENGTH, ROUNDS }, out[6], len, status;

    if (ondk_wdk_device_control(device, RUN, in, sizeof in, out, sizeof out, &len, &status))
        return (void *)(uintptr_t)1;
    return (void *)(uintptr_t)status;
}

static uint32_t run_against(void *(*run)(void *), void *context, enum stage stage, enum end end)
{
    int listener = stage == STAGE_NONE ? -1 : peer_listen(PORT);
    pthread_t thread;
    void *status;

    assert_int_equal(pthread_create(&thread, NULL, run, context), 0);
    if (stage != STAGE_NONE) {
        assert_true(listener >= 0);
        service(listener, stage, end);
    }
    assert_int_equal(pthread_join(thread, &status), 0);
    assert_int_equal(ondk_verify_breaches(), 0);
    return (uint32_t)(uintptr_t)status;
}

/* ---- What a run must come to ---- */

enum { ANYTHING = 1, ANY_FAILURE = 2 };

/* A reset may overtake the answer, so the status is certain only if the service ends the connection in order. */
static uint32_t expected(enum stage stage, enum end end, bool hello)
{
    switch (stage) {
    case STAGE_NONE:
    case STAGE_REJECT:
        return end == END_HALF || stage == STAGE_NONE ? CONNECTION_REFUSED : ANY_FAILURE;
    case STAGE_MESSAGE:
        return end == END_HALF ? CONNECTION_DISCONNECTED : ANY_FAILURE;
    case STAGE_SHORT:
    case STAGE_WRONG:
        return end == END_HALF ? INVALID_NETWORK_RESPONSE : ANY_FAILURE;
    case STAGE_REFUSING:
        return end == END_HALF ? REQUEST_NOT_ACCEPTED : ANY_FAILURE;
    case STAGE_PLAIN:
        return end == END_HALF ? INVALID_NETWORK_RESPONSE : ANY_FAILURE;
    case STAGE_RIGHT:
        return end == END_RESET && hello ? ANYTHING : SUCCESS;
    case STAGE_TWICE:
        return hello ? ANYTHING : ANY_FAILURE;
    default:
        return ANY_FAILURE;
    }
}

static void run_all(void *(*run)(void *), void *context, bool hello)
{
    for (enum stage stage = 0; stage < STAGES; stage++)
        for (enum end end = 0; end < (stage == STAGE_NONE ? 1 : ENDS); end++) {
            uint32_t want = expected(stage, end, hello), status;

            if (hello && stage >= STAGE_REFUSING && stage <= STAGE_STALE)
                continue;
            status = run_against(run, context, stage, end);
            if (want == ANYTHING || (want == ANY_FAILURE ? (int32_t)status < 0 : status == want))
                continue;
            fail_msg("service: %s, end %d: 0x%08X, not 0x%08X", stage_names[stage], end, status, want);
        }
}

static void test_hello(void **state)
{
    (void)state;
    run_all(run_hello, NULL, true);
}

static void test_echo(void **state)
{
    ondk_wdk_driver_t *driver = host_load("echo_client");
    ondk_wdk_device_t *device;
    uint32_t status;

    (void)state;
    assert_int_equal(ondk_wdk_open("Echo", &device, &status), 0);
    run_all(run_echo, device, false);
    ondk_wdk_close(device);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* With completions as late as ndkrun makes them, and as soon as can be. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hello), cmocka_unit_test(test_echo) };
    const char *const late[] = { "200", "0" };
    uint32_t lo = if_nametoindex("lo");
    int failed = 0, rounds = argc > 1 ? atoi(argv[1]) : 1;

    if (setenv("ONDK_SPIN_US", "0", 1) || !ondk_wdk_map_interface(13, lo) ||
        !ondk_wdk_map_address("192.168.1.1", "127.0.0.1") || !ondk_wdk_map_address("192.168.1.2", "127.0.0.1"))
        return 1;
    for (int i = 0; i < 2 * rounds && !failed; i++)
        failed = setenv("ONDK_NOTIFY_US", late[i % 2], 1) || cmocka_run_group_tests(tests, NULL, NULL);
    return failed;
}
