/* SPDX-License-Identifier: MIT */
/*
 * The disks of files of the sample nvme-target. The program defines the system calls that the disk uses, and lets them
 * fail.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "nvme-target/disk.h"

enum { FILE_SIZE = 1 << 20 };

static char file_name[] = "/tmp/nvme-disk-XXXXXX";
static int n_flush_failures; /* number of the next calls of fdatasync that fail */

/* Instead of the C library's function. Linux reports an error once, too. */
int fdatasync(int fd)
{
    if (n_flush_failures > 0) {
        n_flush_failures--;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static struct disk *open_disk(void)
{
    struct disk *disk = disk_file_open(file_name, false);

    assert_non_null(disk);
    assert_int_equal(disk->size, FILE_SIZE);
    return disk;
}

/* A flush that has failed fails again, also after the system reports no error any more. */
static void test_failed_flush(void **state)
{
    static const char data[4096] = "data";
    struct disk *disk = open_disk();

    (void)state;
    assert_true(disk->operations->write(disk, 4096, data, sizeof data));
    assert_true(disk->operations->flush(disk));
    n_flush_failures = 1;
    for (int i = 0; i < 3; i++)
        assert_false(disk->operations->flush(disk));
    assert_int_equal(n_flush_failures, 0);
    disk_close(disk);
    disk = open_disk();
    assert_true(disk->operations->flush(disk));
    disk_close(disk);
}

static int make_file(void **state)
{
    int fd = mkstemp(file_name);
    bool is_made = fd >= 0 && ftruncate(fd, FILE_SIZE) == 0;

    (void)state;
    close(fd);
    return is_made ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed_flush) };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
