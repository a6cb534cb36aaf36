/* SPDX-License-Identifier: MIT */
/* The sizes of the namespaces of the sample nvme-target, when two threads compare them with the disks at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "nvme-target/queue.h"

enum { BLOCK_SHIFT = 9, OLD_SIZE = 1 << 20, NEW_SIZE = 2 << 20, OTHER_MS = 200 };

static struct target target;
static struct host_semaphore measured;  /* posted when the first thread has measured the disk */
static struct host_semaphore rescanned; /* posted when the second thread has compared the sizes */
static uint64_t present_size;
static bool is_first = true;

/* Replaces that of transfer.c. The target has no queue pairs. */
void transfer_report_events(struct target_pair *pair)
{
    (void)pair;
    fail();
}

/* The first call returns its result late: after the second thread, unless that waits for the first one. */
static bool measure(struct disk *disk, uint64_t *size)
{
    (void)disk;
    *size = present_size;
    if (is_first) {
        is_first = false;
        host_semaphore_post(&measured);
        host_semaphore_wait_ms(&rescanned, OTHER_MS);
    }
    return true;
}

static void rescan(void *context)
{
    (void)context;
    target_rescan(&target);
}

/* Two threads measure a disk that grows. The namespace has the newer size, although the older one was returned last. */
static void test_two_rescans(void **state)
{
    static const struct disk_operations operations = { .measure = measure };
    struct disk disk = { .operations = &operations, .size = OLD_SIZE };
    struct target_controller controllers[1];
    struct host_thread thread;

    (void)state;
    memset(controllers, 0, sizeof controllers);
    host_semaphore_init(&measured);
    host_semaphore_init(&rescanned);
    host_lock_init(&target.pairs_lock);
    host_lock_init(&target.lock);
    host_semaphore_init(&target.rescan_busy);
    host_semaphore_post(&target.rescan_busy);
    target.settings.block_shift = BLOCK_SHIFT;
    target_init_namespace(&target, &disk, 1);
    target.subsystem.namespaces = target.namespaces;
    target.subsystem.n_namespaces = 1;
    target.subsystem.controllers = controllers;
    target.subsystem.max_controllers = 1;
    present_size = OLD_SIZE + 4096;
    assert_true(host_thread_start(&thread, rescan, NULL));
    host_semaphore_wait(&measured);
    present_size = NEW_SIZE;
    assert_int_equal(target_rescan(&target), 1);
    host_semaphore_post(&rescanned);
    host_thread_join(&thread);
    assert_int_equal(target.namespaces[0].blocks, NEW_SIZE >> BLOCK_SHIFT);
    host_semaphore_fini(&target.rescan_busy);
    host_lock_fini(&target.lock);
    host_lock_fini(&target.pairs_lock);
    host_semaphore_fini(&rescanned);
    host_semaphore_fini(&measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_rescans) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
