/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target with a disk that holds a write, and a host that disconnects, or resets its controller, with
 * writes outstanding. Writes that have not begun before that must not be executed, because the host may repeat them and
 * then write newer data. The host's next controller is ready only when the write that has begun has ended.
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
#define OTHER_NQN "nqn.2026-11.org.example:other"

static const char *program, *library;
static char file_name[] = "/tmp/nvme-target-XXXXXX", log_name[] = "/tmp/nvme-log-XXXXXX";
static char gate_name[64], held_name[64];
static int file, log_file;

/* Starts the target, whose disk holds a write at its start. The target's messages are in log_file. */
static void start_target(struct target_process *process, const char *n_workers)
{
    const char *const arguments[] = { "--file", file_name, "--memory", "1M", "--workers", n_workers, NULL };
    int saved = dup(STDERR_FILENO);

    close(open(gate_name, O_CREAT | O_CLOEXEC, 0600));
    unlink(held_name);
    assert_int_equal(ftruncate(log_file, 0), 0);
    assert_int_equal(lseek(log_file, 0, SEEK_SET), 0);
    setenv("NVME_DISK_GATE", gate_name, 1);
    setenv("NVME_DISK_HELD", held_name, 1);
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
    static struct host_queue admin, io, other;
    char data[SIZE * N_WRITES];

    (void)state;
    start_target(&process, "1");
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&io, &admin, &process.address, 1, 16, PROCESS_NQN, HOST_NQN));
    submit_all(&io);
    host_close(&io);
    wait_for_log("queue 1: ");
    /* Although the only worker waits for the disk, another host connects and uses the other disk. */
    assert_true(host_open_controller(&other, &process.address, PROCESS_NQN, OTHER_NQN));
    assert_true(host_open_io(&io, &other, &process.address, 1, 16, PROCESS_NQN, OTHER_NQN));
    assert_int_equal(host_io(&io, NVME_IO_WRITE, 2, 0, 1, HOST_CAPSULE, HOST_BLOCK), NVME_SUCCESS);
    host_close(&io);
    host_close(&other);
    assert_int_equal(unlink(gate_name), 0);
    host_close(&admin);
    assert_int_equal(process_stop(&process, SIGTERM), 0);
    assert_int_equal(pread(file, data, sizeof data, 0), sizeof data);
    for (size_t i = SIZE; i < sizeof data; i++)
        assert_int_equal(data[i], 0);
}

/* Writes the first blocks of the disk. Returns true when the disk holds the write. */
static bool submit_blocked(struct host_queue *io)
{
    struct nvme_command write = { .opcode = NVME_IO_WRITE, .nsid = 1 };

    write.io.blocks = BLOCKS - 1;
    memset(host_data(io, 0), 'x', SIZE);
    if (!host_submit(io, 0, &write, HOST_CAPSULE, SIZE))
        return false;
    while (access(held_name, F_OK))
        usleep(1000);
    return true;
}

/* Writes with an I/O queue of the controller, and closes everything. */
static void write_newer(struct host_queue *admin, struct target_process *process)
{
    static struct host_queue io;

    assert_true(host_open_io(&io, admin, &process->address, 1, 16, PROCESS_NQN, HOST_NQN));
    memset(host_data(&io, 0), 'y', SIZE);
    assert_int_equal(host_io(&io, NVME_IO_WRITE, 1, 0, BLOCKS, HOST_CAPSULE, SIZE), NVME_SUCCESS);
    host_close(&io);
    host_close(admin);
}

static void stop_and_check(struct target_process *process)
{
    char data[SIZE];

    assert_int_equal(process_stop(process, SIGTERM), 0);
    assert_int_equal(pread(file, data, sizeof data, 0), sizeof data);
    for (size_t i = 0; i < sizeof data; i++)
        assert_int_equal(data[i], 'y');
}

/* After CC.EN was cleared, CSTS.RDY stays set while a write runs. */
static void test_reset(void **state)
{
    static struct target_process process;
    static struct host_queue admin, io;

    (void)state;
    start_target(&process, "2");
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&io, &admin, &process.address, 1, 16, PROCESS_NQN, HOST_NQN));
    assert_true(submit_blocked(&io));
    assert_true(host_set_enabled(&admin, false));
    host_close(&io);
    wait_for_log("queue 1: ");
    assert_int_equal(host_get_csts(&admin), NVME_CSTS_READY);
    assert_int_equal(unlink(gate_name), 0);
    assert_true(host_wait_ready(&admin, false));
    assert_true(host_enable(&admin));
    write_newer(&admin, &process);
    stop_and_check(&process);
}

/* The next controller of a host waits for a write of the lost one. Another host does not wait. */
static void test_successor(void **state)
{
    static struct target_process process;
    static struct host_queue admin, io, other;

    (void)state;
    start_target(&process, "2");
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&io, &admin, &process.address, 1, 16, PROCESS_NQN, HOST_NQN));
    assert_true(submit_blocked(&io));
    host_close(&admin);
    host_close(&io);
    assert_true(host_open(&admin, NVME_RDMA_ADMIN_QUEUE_ENTRIES));
    assert_true(NT_SUCCESS(host_connect(&admin, &process.address, 0, 0)));
    assert_int_equal(host_fabrics_connect(&admin, PROCESS_NQN, HOST_NQN, 0), NVME_SUCCESS);
    assert_true(host_set_enabled(&admin, true));
    assert_int_equal(host_get_csts(&admin), 0);
    wait_for_log("has to wait until earlier writes");
    assert_true(host_open_controller(&other, &process.address, PROCESS_NQN, OTHER_NQN));
    assert_true(host_open_io(&io, &other, &process.address, 1, 16, PROCESS_NQN, OTHER_NQN));
    assert_int_equal(host_io(&io, NVME_IO_WRITE, 1, 64, 1, HOST_CAPSULE, HOST_BLOCK), NVME_SUCCESS);
    assert_int_equal(host_get_csts(&admin), 0);
    assert_int_equal(unlink(gate_name), 0);
    assert_true(host_wait_ready(&admin, true));
    write_newer(&admin, &process);
    host_close(&io);
    host_close(&other);
    stop_and_check(&process);
}

static int make_files(void **state)
{
    (void)state;
    file = mkstemp(file_name);
    log_file = mkstemp(log_name);
    snprintf(gate_name, sizeof gate_name, "%s.gate", file_name);
    snprintf(held_name, sizeof held_name, "%s.held", file_name);
    return file >= 0 && log_file >= 0 && ftruncate(file, 1 << 20) == 0 ? 0 : -1;
}

static int remove_files(void **state)
{
    (void)state;
    unlink(gate_name); /* the tests have removed it if they have passed */
    unlink(held_name);
    unlink(log_name);
    return unlink(file_name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_late_writes), cmocka_unit_test(test_reset),
                                        cmocka_unit_test(test_successor) };

    if (argc != 3) {
        fprintf(stderr, "usage: nvme_target_late PROGRAM LIBRARY\n");
        return 2;
    }
    program = argv[1];
    library = argv[2];
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
