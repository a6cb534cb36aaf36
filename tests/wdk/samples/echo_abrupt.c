/* SPDX-License-Identifier: MIT */
/*
 * The echo service and clients that end at any stage, in any way, before, beside and after its unload. Whatever they
 * do, no rule of drivers is broken, nothing is left, and the next client is served. The sanitizers judge the memory.
 *   echo_abrupt SINGLE STRIDE SEEDS
 *     SINGLE  0: no single clients; 1: every stage, end and order of one client, once; 2: with each delay
 *     STRIDE  every so many of the pairs of clients, with each stage, end and order
 *     SEEDS   so many crowds of random clients
 */
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "../host.h"
#include "stages.h"
#include "openndk/verify.h"

enum { QUERY = 0x122004, REPEATS = 40, CLIENTS = 4 };

static int single = 1, stride = 421, seeds = 6;
static char doing[160]; /* on_abort prints it */

static void on_abort(int number)
{
    (void)!write(STDERR_FILENO, doing, strlen(doing));
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- The service ---- */

static void *unload(void *driver)
{
    uint32_t status;

    return (void *)(intptr_t)ondk_wdk_unload(driver, &status);
}

static pthread_t unload_begin(ondk_wdk_driver_t *driver)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, unload, driver), 0);
    return thread;
}

/* Nothing was left, or a rule was broken. */
static void unload_finish(pthread_t thread)
{
    void *result;

    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_int_equal(ondk_verify_breaches(), 0);
}

static void unload_now(ondk_wdk_driver_t *driver)
{
    unload_finish(unload_begin(driver));
}

/* Waits until the service has closed every connection that it has. */
static void wait_closed(void)
{
    struct {
        int32_t connections, open, texts, bulks;
    } counted;
    uint32_t len, status;

    do {
        ondk_wdk_device_t *device;

        assert_int_equal(ondk_wdk_open("Echo", &device, &status), 0);
        assert_int_equal(ondk_wdk_device_control(device, QUERY, NULL, 0, &counted, sizeof counted, &len, &status), 0);
        assert_int_equal(status, 0);
        ondk_wdk_close(device);
        usleep(500);
    } while (counted.open > 0);
}

/*
 * NDK's notifications: 0 comes from the provider's thread as soon as it can, so that it meets the work items; later
 * ones find the results of connections that have ended meanwhile.
 */
static void notify_after(const char *us)
{
    assert_int_equal(setenv("ONDK_NOTIFY_US", us, 1), 0);
}

static const char *const delays[] = { "0", "200", "5000" };
enum { DELAYS = sizeof delays / sizeof delays[0] };

/* ---- One client ---- */

enum order { END_UNLOAD, END_CLOSED_UNLOAD, UNLOAD_END, TOGETHER, ORDERS };
static const char *const order_names[ORDERS] = { "then unload", "until closed, then unload", "behind an unload",
                                                 "beside an unload" };

static void one_client(enum stage stage, enum end end, enum order order)
{
    ondk_wdk_driver_t *driver = host_load("echo");
    struct peer p;
    pthread_t thread;

    (void)stage_reach(&p, stage);
    if (order == END_UNLOAD || order == END_CLOSED_UNLOAD) {
        stage_end(&p, end);
        if (order == END_CLOSED_UNLOAD) {
            wait_closed();
            assert_true(stage_good_client());
        }
        unload_now(driver);
    } else {
        thread = unload_begin(driver);
        if (order == UNLOAD_END && end != END_STAY)
            peer_wait_end(&p);
        stage_end(&p, end);
        unload_finish(thread);
    }
    peer_close(&p);
}

/* The provider gives a peer that it has terminated a second to end its stream. */
static bool takes_long(enum stage stage, enum end end)
{
    return end == END_STAY && (stage == STAGE_GARBAGE || stage == STAGE_FLOOD);
}

static void each_one_client(int delay)
{
    for (enum stage stage = 0; stage < STAGES; stage++)
        for (enum end end = 0; end < ENDS; end++)
            for (enum order order = 0; order < ORDERS; order++) {
                const char *us = delays[delay < 0 ? (int)(stage + end + order) % DELAYS : delay];

                if ((end == END_STAY && order != UNLOAD_END) || (takes_long(stage, end) && single < 2))
                    continue;
                notify_after(us);
                snprintf(doing, sizeof doing, "notified after %s us; %s, %s %s\n", us, stage_names[stage],
                         end_names[end], order_names[order]);
                one_client(stage, end, order);
            }
}

static void test_one_client(void **state)
{
    (void)state;
    if (single == 1)
        each_one_client(-1);
    for (int delay = 0; single == 2 && delay < DELAYS; delay++)
        each_one_client(delay);
}

/* ---- Two clients: each may be at any stage, and their ends and the unload come in any order ---- */

enum { A, B, UNLOAD };
static const int orders[6][3] = { { A, B, UNLOAD }, { B, A, UNLOAD }, { A, UNLOAD, B },
                                  { B, UNLOAD, A }, { UNLOAD, A, B }, { UNLOAD, B, A } };

static void two_clients(const enum stage stages[2], const enum end ends[2], const int order[3])
{
    ondk_wdk_driver_t *driver = host_load("echo");
    struct peer p[2];
    pthread_t thread = 0;
    bool unloading = false;

    for (int i = 0; i < 2; i++)
        (void)stage_reach(&p[i], stages[i]);
    for (int i = 0; i < 3; i++) {
        int what = order[i];

        if (what == UNLOAD) {
            thread = unload_begin(driver);
            unloading = true;
            continue;
        }
        if (unloading && ends[what] != END_STAY)
            peer_wait_end(&p[what]);
        stage_end(&p[what], ends[what]);
    }
    unload_finish(thread);
    for (int i = 0; i < 2; i++)
        peer_close(&p[i]);
}

static void test_two_clients(void **state)
{
    const int all = STAGES * STAGES * ENDS * ENDS * 6;

    (void)state;
    for (int n = 0; n < all; n += stride) {
        enum stage stages[2] = { (enum stage)(n % STAGES), (enum stage)(n / STAGES % STAGES) };
        enum end ends[2] = { (enum end)(n / STAGES / STAGES % ENDS), (enum end)(n / STAGES / STAGES / ENDS % ENDS) };
        int order = n / STAGES / STAGES / ENDS / ENDS;

        if (takes_long(stages[0], ends[0]) || takes_long(stages[1], ends[1]))
            continue;
        notify_after(delays[n % DELAYS]);
        snprintf(doing, sizeof doing, "%s, %s; %s, %s; order %d\n", stage_names[stages[0]], end_names[ends[0]],
                 stage_names[stages[1]], end_names[ends[1]], order);
        two_clients(stages, ends, orders[order]);
    }
}

/* ---- Many clients ---- */

/* More of each kind than the service has receives: if one of them kept its receive, nobody would be served. */
static void test_receives_come_back(void **state)
{
    ondk_wdk_driver_t *driver;

    (void)state;
    if (!single)
        return;
    notify_after("200");
    driver = host_load("echo");
    for (enum stage stage = STAGE_REQUEST; stage < STAGES; stage++)
        for (enum end end = 0; end < END_STAY; end++) {
            snprintf(doing, sizeof doing, "%d of %s, %s\n", REPEATS, stage_names[stage], end_names[end]);
            for (int i = 0; i < REPEATS; i++) {
                struct peer p;

                (void)stage_reach(&p, stage);
                stage_end(&p, end);
            }
            wait_closed();
            assert_true(stage_good_client());
        }
    unload_now(driver);
}

struct crowd {
    uint64_t seed;
    _Atomic int clients; /* so far */
    int most;
};

static uint64_t draw(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void *crowd_member(void *context)
{
    struct crowd *c = context;
    int number;

    while ((number = atomic_fetch_add(&c->clients, 1)) < c->most) {
        uint64_t x = (c->seed + (uint64_t)number) * 0x9E3779B97F4A7C15u + 1;
        struct peer p;

        draw(&x);
        (void)stage_reach(&p, (enum stage)(draw(&x) % STAGES));
        stage_end(&p, (enum end)(draw(&x) % END_STAY));
    }
    return NULL;
}

/* Clients of all kinds at once. The first half ends before the service does, the second meets its unload. */
static void crowd_run(uint64_t seed, int most)
{
    ondk_wdk_driver_t *driver = host_load("echo");
    pthread_t threads[CLIENTS], unloading = 0;

    for (int half = 0; half < 2; half++) {
        struct crowd c = { .seed = seed * 2 + (uint64_t)half, .most = most / 2 };

        for (int i = 0; i < CLIENTS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, crowd_member, &c), 0);
        if (half) {
            while (atomic_load(&c.clients) < most / 4)
                usleep(100);
            unloading = unload_begin(driver);
        }
        for (int i = 0; i < CLIENTS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (half) {
            unload_finish(unloading);
        } else {
            wait_closed();
            assert_true(stage_good_client());
        }
    }
}

static void test_crowd(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++) {
        snprintf(doing, sizeof doing, "crowd, seed %d\n", (int)seed);
        notify_after(delays[seed % DELAYS]);
        crowd_run(seed, 80);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_client), cmocka_unit_test(test_two_clients),
                                        cmocka_unit_test(test_receives_come_back), cmocka_unit_test(test_crowd) };
    uint32_t lo = if_nametoindex("lo");

    if (argc == 4) {
        single = atoi(argv[1]);
        stride = atoi(argv[2]);
        seeds = atoi(argv[3]);
    }
    /* A peer that stays ends with the time limit. As in ndkrun, the provider does not spin. */
    if (setenv("ONDK_DISCONNECT_MS", "20", 1) || setenv("ONDK_SPIN_US", "0", 1) || !ondk_wdk_map_interface(12, lo) ||
        !ondk_wdk_map_interface(13, lo) || !ondk_wdk_map_address("192.168.1.1", "127.0.0.1") ||
        !ondk_wdk_map_address("192.168.1.2", "127.0.0.1"))
        return 1;
    signal(SIGABRT, on_abort);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
