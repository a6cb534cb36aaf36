/* SPDX-License-Identifier: MIT */
/* The mailbox sample with delays: each message is fetched exactly once, by one of several threads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

#include "host.h"

enum { POST = 0x222000, FETCH = 0x222004, ROOM = 16, ROUNDS = 20, MESSAGES = ROUNDS * ROOM, FETCHERS = 3 };

static unsigned fetched[MESSAGES]; /* how often each message was fetched; atomic */

static ondk_wdk_device_t *open_mailbox(void)
{
    ondk_wdk_device_t *d = NULL;
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_open("Mailbox", &d, &status), 0);
    return d;
}

/* Fetches messages until the last one, which has the number MESSAGES. */
static void *fetch(void *context)
{
    ondk_wdk_device_t *d = open_mailbox();
    uint32_t number = 0, length, status;

    (void)context;
    for (;;) {
        status = 1;
        if (ondk_wdk_device_control(d, FETCH, NULL, 0, &number, sizeof number, &length, &status) || status ||
            length != sizeof number || number >= MESSAGES)
            break;
        __atomic_add_fetch(&fetched[number], 1, __ATOMIC_RELAXED);
    }
    ondk_wdk_close(d);
    return NULL;
}

/* The mailbox has room for ROOM messages, so a post may be refused, and is then repeated. */
static void post(ondk_wdk_device_t *d, uint32_t number)
{
    uint32_t length, status;

    do {
        status = 1;
        assert_int_equal(ondk_wdk_device_control(d, POST, &number, sizeof number, NULL, 0, &length, &status), 0);
    } while (status);
}

static void test_once(void **state)
{
    ondk_wdk_driver_t *driver = host_load("mailbox");
    ondk_wdk_device_t *d = open_mailbox();
    pthread_t threads[FETCHERS];

    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < ROOM; i++)
            post(d, round * ROOM + i); /* fills the mailbox, so that the fetches do not wait */
        for (int i = 0; i < FETCHERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, fetch, NULL), 0);
        for (int i = 0; i < FETCHERS; i++)
            post(d, MESSAGES);
        for (int i = 0; i < FETCHERS; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < MESSAGES; i++)
        if (fetched[i] != 1)
            fail_msg("message %d was fetched %u times", i, fetched[i]);
    ondk_wdk_close(d);
    host_unload(driver);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
