/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target with a slow disk, and a host that disconnects with writes outstanding. Writes that have not
 * begun before the disconnect must not be executed, because the host may repeat them and then write newer data.
 *
 *     nvme_target_late PROGRAM LIBRARY
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nvme_host.h"
#include "target_process.h"

enum { N_WRITES = 6, READ = N_WRITES, BLOCKS = 8, SIZE = BLOCKS * HOST_BLOCK };
#define HOST_NQN "nqn.2026-11.org.example:host"

static const char *program, *library;
static char file_name[] = "/tmp/nvme-target-XXXXXX", gate_name[] = "/tmp/nvme-gate-XXXXXX",
            log_name[] = "/tmp/nvme-log-XXXXXX";
static int file, log_file;

/* Starts the target with one worker. The target's messages are in log_file. */
static void start_target(struct target_process *process)
{
    const char *const arguments[] = { "--file", file_name, "--memory", "1M", "--workers", "1", NULL };
    int saved = dup(STDERR_FILENO);

    setenv("NVME_DISK_GATE", gate_name, 1);
    setenv("LD_PRELOAD", library, 1);
    dup2(log_file, STDERR_FILENO);
    assert_true(process_start(process, program, arguments));
    dup2(saved, STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    close(saved);
}

static void wait_for_log(const char *text)
{
    char log[4096];
    ssize_t len;

    do {
        usleep(1000);
        len = pread(log_file, log, sizeof log - 1, 0);
        log[len > 0 ? len : 0] = 0;
    } while (!strstr(log, text));
}

/* The worker executes the first write, which waits. The others are queued when the read of the other disk is done. */
static void submit_all(struct host_queue *io)
{
    struct nvme_command write = { .opcode = NVME_IO_WRITE, .nsid = 1 }, read = { .opcode = NVME_IO_READ, .nsid = 2 };

    write.io.blocks = read.io.blocks = BLOCKS - 1;
    for (uint32_t i = 0; i < N_WRITES; i++) {
        write.io.lba = i * BLOCKS;
        memset(host_data(io, i), 'x', SIZE);
        assert_true(host_submit(io, i, &write, HOST_CAPSULE, SIZE));
    }
    assert_true(host_submit(io, READ, &read, HOST_MEMORY, SIZE));
    assert_int_equal(host_wait_any(io), READ);
}

static void test_late_writes(void **state)
{
    static struct target_process process;
    static struct host_queue admin, io;
    char data[SIZE * N_WRITES];

    (void)state;
    start_target(&process);
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&io, &admin, &process.address, 1, 16, PROCESS_NQN, HOST_NQN));
    submit_all(&io);
    host_close(&io);
    wait_for_log("queue 1: ");
    assert_int_equal(unlink(gate_name), 0);
    host_close(&admin);
    assert_int_equal(process_stop(&process, SIGTERM), 0);
    assert_int_equal(pread(file, data, sizeof data, 0), sizeof data);
    for (size_t i = SIZE; i < sizeof data; i++)
        assert_int_equal(data[i], 0);
}

static int make_files(void **state)
{
    int gate = mkstemp(gate_name);

    (void)state;
    file = mkstemp(file_name);
    log_file = mkstemp(log_name);
    close(gate);
    return file >= 0 && log_file >= 0 && gate >= 0 && ftruncate(file, 1 << 20) == 0 ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(gate_name); /* the test has removed it if the test has passed */
    unlink(log_name);
    return unlink(file_name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_late_writes) };

    if (argc != 3) {
        fprintf(stderr, "usage: nvme_target_late PROGRAM LIBRARY\n");
        return 2;
    }
    program = argv[1];
    library = argv[2];
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
