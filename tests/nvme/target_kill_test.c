/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target is killed while a host writes to its file, and started again. Every write that was
 * acknowledged must be in the file. A disk has the same UUID only if it has the same contents.
 *
 *     nvme_target_kill PROGRAM
 */
#include <pthread.h>
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

enum { ROUNDS = 6, SLOTS = 16, BLOCKS = 64, DISK_BLOCKS = SLOTS * BLOCKS };
#define HOST_NQN "nqn.2026-11.org.example:host"

static const char *program;
static char file_name[] = "/tmp/nvme-target-XXXXXX";

/* The numbers of the writes of a slot's range: the last that was acknowledged, and the last that was sent. */
struct range {
    uint32_t acknowledged, sent;
};

struct run {
    struct target_process process;
    struct host_queue admin, io;
    struct range ranges[SLOTS];
};

static void open_run(struct run *r, const char *const *arguments)
{
    assert_true(process_start(&r->process, program, arguments));
    assert_true(host_open_controller(&r->admin, &r->process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&r->io, &r->admin, &r->process.address, 1, SLOTS, PROCESS_NQN, HOST_NQN));
}

static void close_run(struct run *r)
{
    host_close(&r->io);
    host_close(&r->admin);
}

static bool submit(struct run *r, uint32_t slot)
{
    struct nvme_command command = { .opcode = NVME_IO_WRITE, .nsid = 1 };

    command.io.lba = slot * BLOCKS;
    command.io.blocks = BLOCKS - 1;
    host_fill(host_data(&r->io, slot), command.io.lba, BLOCKS, ++r->ranges[slot].sent);
    return host_submit(&r->io, slot, &command, HOST_MEMORY, BLOCKS * HOST_BLOCK);
}

static void *kill_later(void *context)
{
    struct run *r = context;

    usleep(30000 + (useconds_t)rand() % 50000);
    kill(r->process.pid, SIGKILL);
    return NULL;
}

/* Writes to all ranges again and again, until the target is killed. Returns the number of acknowledged writes. */
static uint32_t write_until_killed(struct run *r)
{
    uint32_t n_acknowledged = 0;
    pthread_t killer;
    int slot;

    assert_int_equal(pthread_create(&killer, NULL, kill_later, r), 0);
    for (uint32_t i = 0; i < SLOTS; i++)
        submit(r, i);
    for (;;) {
        slot = host_wait_any(&r->io);
        if (slot < 0)
            break;
        assert_int_equal(r->io.completions[slot].status, 0);
        r->ranges[slot].acknowledged = r->ranges[slot].sent;
        n_acknowledged++;
        if (!submit(r, (uint32_t)slot))
            break;
    }
    pthread_join(killer, NULL);
    assert_int_equal(process_wait(&r->process), -1);
    return n_acknowledged;
}

/* Each block has an acknowledged write, or a later one that was sent. */
static void check_blocks(struct run *r)
{
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        uint64_t lba = slot * BLOCKS;

        assert_int_equal(host_io(&r->io, NVME_IO_READ, 1, lba, BLOCKS, HOST_MEMORY, BLOCKS * HOST_BLOCK), NVME_SUCCESS);
        for (uint32_t i = 0; i < BLOCKS; i++) {
            int64_t number = host_generation(host_data(&r->io, 0) + i * HOST_BLOCK, lba + i);

            assert_in_range(number, r->ranges[slot].acknowledged, r->ranges[slot].sent);
        }
    }
}

static void test_killed(void **state)
{
    const char *const arguments[] = { "--file", file_name, NULL };
    static struct run r;
    uint32_t n_acknowledged = 0;

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        open_run(&r, arguments);
        check_blocks(&r);
        n_acknowledged += write_until_killed(&r);
        close_run(&r);
    }
    open_run(&r, arguments);
    check_blocks(&r);
    close_run(&r);
    assert_int_equal(process_stop(&r.process, SIGTERM), 0);
    printf("%u writes were acknowledged\n", n_acknowledged);
    assert_true(n_acknowledged > ROUNDS);
}

/* Reads the UUID of a namespace, the first of its identifiers. */
static void read_uuid(struct host_queue *admin, uint32_t nsid, uint8_t uuid[16])
{
    struct nvme_command command = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = nsid };

    command.identify.cns = NVME_CNS_NAMESPACE_DESCRIPTORS;
    assert_int_equal(host_run(admin, &command, HOST_MEMORY, 4096), NVME_SUCCESS);
    assert_int_equal(host_data(admin, 0)[0], 3); /* the type UUID, with 16 bytes behind a header of 4 */
    assert_int_equal(host_data(admin, 0)[1], 16);
    memcpy(uuid, host_data(admin, 0) + 4, 16);
}

/* Starts the target with two namespaces, reads their UUIDs, and kills the target. */
static void read_uuids(const char *const *arguments, uint8_t uuids[2][16])
{
    struct target_process process;
    struct host_queue admin;

    assert_true(process_start(&process, program, arguments));
    assert_true(host_open_controller(&admin, &process.address, PROCESS_NQN, HOST_NQN));
    read_uuid(&admin, 1, uuids[0]);
    read_uuid(&admin, 2, uuids[1]);
    host_close(&admin);
    assert_int_equal(process_stop(&process, SIGKILL), -1);
}

/* A file keeps its UUID if its number changes. Memory is empty after a restart, so it is another disk. */
static void test_identity(void **state)
{
    const char *const first[] = { "--file", file_name, "--memory", "1M", NULL };
    const char *const second[] = { "--memory", "1M", "--file", file_name, NULL };
    uint8_t before[2][16], same[2][16], moved[2][16];

    (void)state;
    read_uuids(first, before);
    read_uuids(first, same);
    read_uuids(second, moved);
    assert_memory_equal(same[0], before[0], 16);
    assert_memory_equal(moved[1], before[0], 16);
    assert_memory_not_equal(same[1], before[1], 16);
    assert_memory_not_equal(moved[0], same[1], 16);
    assert_memory_not_equal(before[1], before[0], 16);
}

/* A disk without writes: block i contains write number 0, as host_fill writes it. */
static int setup(void **state)
{
    static uint8_t data[DISK_BLOCKS * HOST_BLOCK];
    int fd = mkstemp(file_name);
    bool is_written;

    (void)state;
    host_fill(data, 0, DISK_BLOCKS, 0);
    is_written = fd >= 0 && write(fd, data, sizeof data) == sizeof data;
    close(fd);
    return is_written ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return unlink(file_name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed), cmocka_unit_test(test_identity) };

    if (argc != 2) {
        fprintf(stderr, "usage: nvme_target_kill PROGRAM\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, setup, teardown);
}
