/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target and its file. The target is killed while a host writes, and started again: every write that
 * was acknowledged must be in the file. A disk has the same UUID only if it has the same contents. A file that grows or
 * shrinks changes its namespace after SIGHUP, and the host receives an event.
 *
 *     nvme_target_kill PROGRAM
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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
    atomic_uint n_acknowledged; /* writes of this round */
    atomic_bool ended;          /* no more writes are acknowledged in this round */
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

    while (r->n_acknowledged < SLOTS && !r->ended)
        usleep(1000);
    usleep((useconds_t)rand() % 50000);
    kill(r->process.pid, SIGKILL);
    return NULL;
}

/* Writes to all ranges again and again, until the target is killed. Returns the number of acknowledged writes. */
static uint32_t write_until_killed(struct run *r)
{
    pthread_t killer;
    int slot;

    r->n_acknowledged = 0;
    r->ended = false;
    assert_int_equal(pthread_create(&killer, NULL, kill_later, r), 0);
    for (uint32_t i = 0; i < SLOTS; i++)
        submit(r, i);
    for (;;) {
        slot = host_wait_any(&r->io);
        if (slot < 0)
            break;
        assert_int_equal(r->io.completions[slot].status, 0);
        r->ranges[slot].acknowledged = r->ranges[slot].sent;
        r->n_acknowledged++;
        if (!submit(r, (uint32_t)slot))
            break;
    }
    r->ended = true;
    pthread_join(killer, NULL);
    assert_int_equal(process_wait(&r->process), -1);
    return r->n_acknowledged;
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
    assert_true(n_acknowledged >= ROUNDS * SLOTS);
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

/* ---- A file whose size changes ----------------------------------------------------------------------------------- */

enum { EVENT = 5 }; /* the number of the event request */

static void request_event(struct host_queue *admin)
{
    const struct nvme_command event = { .opcode = NVME_ADMIN_ASYNC_EVENT };

    assert_true(host_submit(admin, EVENT, &event, HOST_NO_DATA, 0));
}

/* Changes the file's size, and waits for the event. The log page must name namespace 1. */
static void resize(struct run *r, uint32_t blocks)
{
    struct nvme_command log = { .opcode = NVME_ADMIN_GET_LOG_PAGE, .nsid = NVME_ALL_NAMESPACES };
    const uint32_t *changed = (const uint32_t *)host_data(&r->admin, 0);
    char line[64];

    assert_int_equal(truncate(file_name, (off_t)blocks * HOST_BLOCK), 0);
    kill(r->process.pid, SIGHUP);
    assert_int_equal(host_wait_any(&r->admin), EVENT);
    assert_int_equal(r->admin.completions[EVENT].status, 0);
    assert_int_equal(r->admin.completions[EVENT].result, NVME_LOG_CHANGED_NAMESPACES << 16 | NVME_EVENT_TYPE_NOTICE);
    assert_non_null(fgets(line, sizeof line, r->process.out));
    assert_string_equal(line, "changed namespaces: 1\n");
    log.log.lid = NVME_LOG_CHANGED_NAMESPACES;
    log.log.dwords_low = 1023;
    assert_int_equal(host_run(&r->admin, &log, HOST_MEMORY, 4096), NVME_SUCCESS);
    assert_int_equal(changed[0], 1);
    assert_int_equal(changed[1], 0);
    request_event(&r->admin);
}

static uint64_t namespace_blocks(struct host_queue *admin)
{
    const struct nvme_identify_namespace *ns = (const void *)host_data(admin, 0);
    struct nvme_command command = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = 1 };

    command.identify.cns = NVME_CNS_NAMESPACE;
    assert_int_equal(host_run(admin, &command, HOST_MEMORY, 4096), NVME_SUCCESS);
    return ns->nsze;
}

static uint16_t write_block(struct run *r, uint64_t lba)
{
    return host_io(&r->io, NVME_IO_WRITE, 1, lba, 1, HOST_MEMORY, HOST_BLOCK) & NVME_STATUS_CODE_MASK;
}

static void test_resize(void **state)
{
    const char *const arguments[] = { "--file", file_name, "--memory", "1M", NULL };
    struct nvme_command events = { .opcode = NVME_ADMIN_SET_FEATURES };
    static struct run r;
    char line[64];

    (void)state;
    open_run(&r, arguments);
    events.cdw10 = NVME_FEATURE_ASYNC_EVENTS;
    events.cdw11 = NVME_EVENT_NAMESPACE_CHANGED;
    assert_int_equal(host_run(&r.admin, &events, HOST_NO_DATA, 0), NVME_SUCCESS);
    request_event(&r.admin);
    kill(r.process.pid, SIGHUP);
    assert_non_null(fgets(line, sizeof line, r.process.out));
    assert_string_equal(line, "changed namespaces: 0\n");
    assert_int_equal(write_block(&r, DISK_BLOCKS), NVME_LBA_OUT_OF_RANGE);
    resize(&r, 2 * DISK_BLOCKS);
    assert_int_equal(namespace_blocks(&r.admin), 2 * DISK_BLOCKS);
    assert_int_equal(write_block(&r, 2 * DISK_BLOCKS - 1), NVME_SUCCESS);
    resize(&r, 0);
    assert_int_equal(namespace_blocks(&r.admin), 0);
    assert_int_equal(write_block(&r, 0), NVME_INVALID_NAMESPACE);
    resize(&r, DISK_BLOCKS / 2);
    assert_int_equal(namespace_blocks(&r.admin), DISK_BLOCKS / 2);
    assert_int_equal(write_block(&r, 0), NVME_SUCCESS);
    assert_int_equal(write_block(&r, DISK_BLOCKS / 2), NVME_LBA_OUT_OF_RANGE);
    close_run(&r);
    assert_int_equal(process_stop(&r.process, SIGTERM), 0);
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
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_killed), cmocka_unit_test(test_identity),
                                        cmocka_unit_test(test_resize) };

    if (argc != 2) {
        fprintf(stderr, "usage: nvme_target_kill PROGRAM\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, setup, teardown);
}
