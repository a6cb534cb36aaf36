/* SPDX-License-Identifier: MIT */
/*
 * The disks of files of the driver nvme_target.so. The program defines the system call of a flush, and lets it fail
 * once, as the system reports an error.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ntifs.h"

#include "nvme-target/disk.h"
#include "openndk/wdk.h"

enum { FILE_SIZE = 1 << 20, OTHER_MS = 200 };

static char root[] = "/tmp/nvme-disk-XXXXXX";
static atomic_int n_flushes;
static atomic_bool other_has_ended; /* the second flush has returned */

/* The first call fails, late: after the second flush, unless that waits for the first one. */
int fsync(int fd)
{
    (void)fd;
    if (atomic_fetch_add(&n_flushes, 1) > 0)
        return 0;
    for (int ms = 0; ms < OTHER_MS && !atomic_load(&other_has_ended); ms++)
        usleep(1000);
    errno = EIO;
    return -1;
}

static uint16_t results[2];

static void *flush_first(void *disk)
{
    results[0] = ((struct disk *)disk)->operations->flush(disk);
    return NULL;
}

/* If one of two flushes receives the system's error, both fail, and all later ones. */
static void test_two_flushes(void **state)
{
    UNICODE_STRING path = RTL_CONSTANT_STRING(L"\\??\\C:\\disk.img");
    struct disk *disk = disk_file_open(&path, false);
    pthread_t thread;

    (void)state;
    assert_non_null(disk);
    assert_int_equal(disk->size, FILE_SIZE);
    assert_int_equal(pthread_create(&thread, NULL, flush_first, disk), 0);
    while (atomic_load(&n_flushes) == 0)
        usleep(1000);
    results[1] = disk->operations->flush(disk);
    atomic_store(&other_has_ended, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(results[i], NVME_WRITE_FAULT | NVME_DNR);
    assert_int_equal(disk->operations->flush(disk), NVME_WRITE_FAULT | NVME_DNR);
    disk_close(disk);
}

static void root_path(char path[200], const char *name)
{
    snprintf(path, 200, "%s/%s", root, name);
}

static int make_file(void **state)
{
    char path[200];
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(root));
    root_path(path, "C");
    assert_int_equal(mkdir(path, 0700), 0);
    root_path(path, "C/disk.img");
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), FILE_SIZE), 0);
    fclose(file);
    return ondk_wdk_set_file_root(root);
}

static int remove_file(void **state)
{
    static const char *const names[] = { "C/disk.img", "C", "" };
    char path[200];

    (void)state;
    for (size_t i = 0; i < RTL_NUMBER_OF(names); i++) {
        root_path(path, names[i]);
        assert_int_equal(remove(path), 0);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_two_flushes) };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
