/* SPDX-License-Identifier: MIT */
/*
 * The disks of files of the sample nvme-target. The program defines the system calls that the disk uses, and lets them
 * fail.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
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
static int failure = EIO;    /* the error with which calls fail */
static bool calls_fail;      /* all calls for data fail */

/* Instead of the C library's function. Linux reports an error once, too. */
int fdatasync(int fd)
{
    if (n_flush_failures > 0) {
        n_flush_failures--;
        errno = failure;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static bool call_fails(void)
{
    if (calls_fail)
        errno = failure;
    return calls_fail;
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return call_fails() ? -1 : syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return call_fails() ? -1 : syscall(SYS_pwrite64, fd, data, size, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return call_fails() ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, size);
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
    failure = EIO;
    assert_int_equal(disk->operations->write(disk, 4096, data, sizeof data), NVME_SUCCESS);
    assert_int_equal(disk->operations->flush(disk), NVME_SUCCESS);
    n_flush_failures = 1;
    for (int i = 0; i < 3; i++)
        assert_int_equal(disk->operations->flush(disk), NVME_WRITE_FAULT | NVME_DNR);
    assert_int_equal(n_flush_failures, 0);
    disk_close(disk);
    disk = open_disk();
    assert_int_equal(disk->operations->flush(disk), NVME_SUCCESS);
    disk_close(disk);
}

/* Each error of the system has the status that makes hosts do the right thing. */
static void test_statuses(void **state)
{
    static const struct {
        int error;
        uint16_t read, write;
    } cases[] = {
        { EIO, NVME_UNRECOVERED_READ_ERROR, NVME_WRITE_FAULT },
        { ENOSPC, NVME_CAPACITY_EXCEEDED | NVME_DNR, NVME_CAPACITY_EXCEEDED | NVME_DNR },
        { EDQUOT, NVME_CAPACITY_EXCEEDED | NVME_DNR, NVME_CAPACITY_EXCEEDED | NVME_DNR },
        { EFBIG, NVME_CAPACITY_EXCEEDED | NVME_DNR, NVME_CAPACITY_EXCEEDED | NVME_DNR },
        { EROFS, NVME_NAMESPACE_WRITE_PROTECTED | NVME_DNR, NVME_NAMESPACE_WRITE_PROTECTED | NVME_DNR },
        { ENOMEM, NVME_INTERNAL_ERROR, NVME_INTERNAL_ERROR },
    };
    char data[4096] = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct disk *disk = open_disk();

        failure = cases[i].error;
        calls_fail = true;
        assert_int_equal(disk->operations->read(disk, 0, data, sizeof data), cases[i].read);
        assert_int_equal(disk->operations->write(disk, 0, data, sizeof data), cases[i].write);
        assert_int_equal(disk->operations->zero(disk, 0, sizeof data, false), cases[i].write);
        calls_fail = false;
        n_flush_failures = 1;
        assert_int_equal(disk->operations->flush(disk), cases[i].write | NVME_DNR);
        disk_close(disk);
    }
}

/* A read behind the end of a file that was truncated. */
static void test_truncated(void **state)
{
    struct disk *disk = open_disk();
    char data[4096];

    (void)state;
    assert_int_equal(truncate(file_name, 4096), 0);
    assert_int_equal(disk->operations->read(disk, 0, data, sizeof data), NVME_SUCCESS);
    assert_int_equal(disk->operations->read(disk, 4096, data, sizeof data), NVME_LBA_OUT_OF_RANGE | NVME_DNR);
    assert_int_equal(truncate(file_name, FILE_SIZE), 0);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_failed_flush), cmocka_unit_test(test_statuses),
                                        cmocka_unit_test(test_truncated) };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
