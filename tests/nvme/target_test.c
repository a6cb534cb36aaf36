/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target against a small NVMe host: what hosts do every day, in each of the target's modes. The target
 * runs under the verifier, which ends it with the first broken rule.
 *
 *     nvme_target PROGRAM
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

enum { BLOCK = HOST_BLOCK, DISK_BLOCKS = 32768, FILE_BLOCKS = 16384, MAX_BLOCKS = HOST_DATA_SIZE / BLOCK };
#define HOST_NQN "nqn.2026-11.org.example:host"

static const char *program;
static char file_name[] = "/tmp/nvme-target-XXXXXX";
static char read_only_name[] = "/tmp/nvme-target-XXXXXX";

static bool is_zero(const uint8_t *data, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++) {
        if (data[i])
            return false;
    }
    return true;
}

/* ---- A host with one I/O queue ----------------------------------------------------------------------------------- */

struct host {
    struct target_process process;
    struct host_queue admin, io;
};

static void start(struct host *h, const char *const *arguments)
{
    assert_true(process_start(&h->process, program, arguments));
    assert_true(host_open_controller(&h->admin, &h->process.address, PROCESS_NQN, HOST_NQN));
    assert_true(host_open_io(&h->io, &h->admin, &h->process.address, 1, 16, PROCESS_NQN, HOST_NQN));
}

static void stop(struct host *h)
{
    consumer_disconnect(&h->io.c);
    consumer_disconnect(&h->admin.c);
    host_close(&h->io);
    host_close(&h->admin);
    assert_int_equal(process_stop(&h->process, SIGTERM), 0);
}

static void check_identify(struct host_queue *admin)
{
    struct nvme_command command = { .opcode = NVME_ADMIN_IDENTIFY };
    const struct nvme_identify_controller *controller = (const void *)host_data(admin, 0);
    const struct nvme_identify_namespace *ns = (const void *)host_data(admin, 0);

    command.identify.cns = NVME_CNS_CONTROLLER;
    assert_int_equal(host_run(admin, &command, HOST_MEMORY, 4096), NVME_SUCCESS);
    assert_string_equal(controller->subnqn, PROCESS_NQN);
    assert_int_equal(controller->mdts, 5);
    assert_int_equal(controller->ioccsz, 260);
    assert_int_equal(controller->cntlid, admin->cntlid);
    command.nsid = 1;
    command.identify.cns = NVME_CNS_NAMESPACE;
    assert_int_equal(host_run(admin, &command, HOST_WINDOW, 4096), NVME_SUCCESS);
    assert_int_equal(ns->nsze, DISK_BLOCKS);
    assert_int_equal(ns->lbaf[0].shift, 9);
}

/* Writes and reads ranges of each length, with the data in each place. */
static void check_lengths(struct host_queue *io, uint32_t nsid)
{
    static const uint32_t lengths[] = { 1, 2, 7, 8, 9, 16, 100, 255, 256 };
    static const enum host_data places[] = { HOST_MEMORY, HOST_WINDOW, HOST_CAPSULE };
    uint32_t generation = 1;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t j = 0; j < sizeof places / sizeof *places; j++) {
            uint32_t blocks = lengths[i], len = blocks * BLOCK;
            uint64_t lba = 1000 + i * 300 + j;

            if (places[j] == HOST_CAPSULE && len > 4096)
                continue;
            host_fill(host_data(io, 0), lba, blocks, ++generation);
            assert_int_equal(host_io(io, NVME_IO_WRITE, nsid, lba, blocks, places[j], len), NVME_SUCCESS);
            memset(host_data(io, 0), 0xaa, len);
            assert_int_equal(
                host_io(io, NVME_IO_READ, nsid, lba, blocks, places[j] == HOST_CAPSULE ? HOST_MEMORY : places[j], len),
                NVME_SUCCESS);
            assert_true(host_is_filled(host_data(io, 0), lba, blocks, generation));
        }
    }
}

/* Keeps every slot of the queue busy with writes and reads of the slot's own range, and checks what is read. */
static void run_deep(struct host_queue *io, uint32_t nsid, uint64_t first_lba, uint32_t rounds)
{
    uint32_t round[HOST_MAX_COMMANDS] = { 0 }, blocks[HOST_MAX_COMMANDS], running = 0;
    struct nvme_command command = { .nsid = nsid };
    int cid = 0;

    for (uint32_t next = 0; next < io->n_commands || running; running--) {
        for (; next < io->n_commands; next++, running++) {
            blocks[next] = 1 + next * 37 % MAX_BLOCKS;
            round[next] = 1;
            command.opcode = NVME_IO_WRITE;
            command.io.lba = first_lba + next * MAX_BLOCKS;
            command.io.blocks = (uint16_t)(blocks[next] - 1);
            host_fill(host_data(io, next), command.io.lba, blocks[next], 1);
            assert_true(host_submit(io, next, &command, next % 2 ? HOST_WINDOW : HOST_MEMORY, blocks[next] * BLOCK));
        }
        cid = host_wait_any(io);
        assert_true(cid >= 0);
        assert_int_equal(io->completions[cid].status, 0);
        command.io.lba = first_lba + (uint64_t)cid * MAX_BLOCKS;
        if (round[cid] % 2 == 0) /* a read has completed */
            assert_true(host_is_filled(host_data(io, (uint32_t)cid), command.io.lba, blocks[cid], round[cid] - 1));
        if (round[cid]++ == rounds * 2)
            continue;
        command.opcode = round[cid] % 2 ? NVME_IO_WRITE : NVME_IO_READ;
        command.io.blocks = (uint16_t)(blocks[cid] - 1);
        if (round[cid] % 2)
            host_fill(host_data(io, (uint32_t)cid), command.io.lba, blocks[cid], round[cid]);
        else
            memset(host_data(io, (uint32_t)cid), 0x55, blocks[cid] * BLOCK);
        assert_true(host_submit(io, (uint32_t)cid, &command, cid % 2 ? HOST_WINDOW : HOST_MEMORY, blocks[cid] * BLOCK));
        running++;
    }
}

static void check_other_commands(struct host_queue *io)
{
    struct nvme_command command = { .opcode = NVME_IO_DATASET_MANAGEMENT, .nsid = 1 };
    struct nvme_dataset_range *range = (struct nvme_dataset_range *)host_data(io, 0);

    host_fill(host_data(io, 0), 5000, 64, 9);
    assert_int_equal(host_io(io, NVME_IO_WRITE, 1, 5000, 64, HOST_MEMORY, 64 * BLOCK), NVME_SUCCESS);
    assert_int_equal(host_io(io, NVME_IO_FLUSH, 1, 0, 1, HOST_NO_DATA, 0), NVME_SUCCESS);
    assert_int_equal(host_io(io, NVME_IO_WRITE_ZEROES, 1, 5008, 8, HOST_NO_DATA, 0), NVME_SUCCESS);
    assert_int_equal(host_io(io, NVME_IO_READ, 1, 5000, 24, HOST_MEMORY, 24 * BLOCK), NVME_SUCCESS);
    assert_true(host_is_filled(host_data(io, 0), 5000, 8, 9));
    assert_true(is_zero(host_data(io, 0) + 8 * BLOCK, 8 * BLOCK));
    assert_true(host_is_filled(host_data(io, 0) + 16 * BLOCK, 5016, 8, 9));
    memset(range, 0, sizeof *range);
    range->lba = 5016;
    range->blocks = 4;
    command.cdw11 = NVME_DATASET_DEALLOCATE;
    assert_int_equal(host_run(io, &command, HOST_MEMORY, sizeof *range), NVME_SUCCESS);
    assert_int_equal(host_io(io, NVME_IO_READ, 1, 5016, 8, HOST_MEMORY, 8 * BLOCK), NVME_SUCCESS);
    assert_true(host_is_filled(host_data(io, 0) + 4 * BLOCK, 5020, 4, 9));
    /* 32 MiB of zeroes, which the target does not write in a callback */
    assert_int_equal(host_io(io, NVME_IO_WRITE_ZEROES, 1, 0, DISK_BLOCKS, HOST_NO_DATA, 0), NVME_SUCCESS);
    assert_int_equal(host_io(io, NVME_IO_READ, 1, 5000, 24, HOST_MEMORY, 24 * BLOCK), NVME_SUCCESS);
    assert_true(is_zero(host_data(io, 0), 24 * BLOCK));
}

static void check_errors(struct host_queue *io)
{
    assert_int_equal(host_io(io, NVME_IO_READ, 1, DISK_BLOCKS, 1, HOST_MEMORY, BLOCK) & NVME_STATUS_CODE_MASK,
                     NVME_LBA_OUT_OF_RANGE);
    assert_int_equal(host_io(io, NVME_IO_WRITE, 1, DISK_BLOCKS - 1, 2, HOST_MEMORY, 2 * BLOCK) & NVME_STATUS_CODE_MASK,
                     NVME_LBA_OUT_OF_RANGE);
    assert_int_equal(host_io(io, NVME_IO_READ, 1, UINT64_MAX, 2, HOST_MEMORY, 2 * BLOCK) & NVME_STATUS_CODE_MASK,
                     NVME_LBA_OUT_OF_RANGE);
    assert_int_equal(host_io(io, NVME_IO_READ, 77, 0, 1, HOST_MEMORY, BLOCK) & NVME_STATUS_CODE_MASK,
                     NVME_INVALID_NAMESPACE);
    assert_int_not_equal(host_io(io, NVME_IO_READ, 1, 0, 2, HOST_MEMORY, BLOCK), NVME_SUCCESS);
    assert_int_equal(host_io(io, 0x55, 1, 0, 1, HOST_NO_DATA, 0) & NVME_STATUS_CODE_MASK, NVME_INVALID_OPCODE);
    assert_int_not_equal(host_io(io, NVME_IO_WRITE, 3, 0, 1, HOST_MEMORY, BLOCK), NVME_SUCCESS); /* read only */
    assert_int_equal(host_io(io, NVME_IO_READ, 3, 0, 1, HOST_MEMORY, BLOCK), NVME_SUCCESS);
    assert_memory_equal(host_data(io, 0), "read only", 9);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void run_mode(const char *const *mode)
{
    const char *arguments[PROCESS_MAX_ARGUMENTS + 1] = { "--memory", "16M",         "--file",
                                                         file_name,  "--read-only", read_only_name };
    struct host h;

    for (int i = 0; mode[i]; i++)
        arguments[6 + i] = mode[i];
    start(&h, arguments);
    check_identify(&h.admin);
    for (uint32_t nsid = 1; nsid <= 2; nsid++) {
        check_lengths(&h.io, nsid);
        run_deep(&h.io, nsid, 0, 4);
    }
    check_other_commands(&h.io);
    check_errors(&h.io);
    assert_true(h.io.n_invalidated > 0);
    stop(&h);
}

static void test_plain(void **state)
{
    (void)state;
    run_mode((const char *const[]){ NULL });
}

static void test_srq(void **state)
{
    (void)state;
    run_mode((const char *const[]){ "--srq", "128", NULL });
}

static void test_fast(void **state)
{
    (void)state;
    run_mode((const char *const[]){ "--fast", "--buffers", "2", NULL });
}

/* Several hosts at once, each with its own range of one disk. */
static void *run_host(void *context)
{
    struct target_process *process = ((void **)context)[0];
    uintptr_t number = (uintptr_t)((void **)context)[1];
    struct host_queue admin, io[2];
    char nqn[64];

    snprintf(nqn, sizeof nqn, HOST_NQN "%u", (unsigned)number);
    assert_true(host_open_controller(&admin, &process->address, PROCESS_NQN, nqn));
    for (uint16_t i = 0; i < 2; i++)
        assert_true(host_open_io(&io[i], &admin, &process->address, i + 1, 8, PROCESS_NQN, nqn));
    for (uint16_t i = 0; i < 2; i++)
        run_deep(&io[i], 1, (number * 2 + i) * 8 * MAX_BLOCKS, 4);
    for (uint16_t i = 0; i < 2; i++) {
        consumer_disconnect(&io[i].c);
        host_close(&io[i]);
    }
    consumer_disconnect(&admin.c);
    host_close(&admin);
    return NULL;
}

static void test_several_hosts(void **state)
{
    const char *const arguments[] = { "--memory", "16M", "--srq", "512", NULL };
    struct target_process process;
    pthread_t threads[4];
    void *contexts[4][2];

    (void)state;
    assert_true(process_start(&process, program, arguments));
    for (uintptr_t i = 0; i < 4; i++) {
        contexts[i][0] = &process;
        contexts[i][1] = (void *)i;
        assert_int_equal(pthread_create(&threads[i], NULL, run_host, contexts[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(process_stop(&process, SIGINT), 0);
}

static void make_file(char *name, off_t size, const char *text)
{
    int fd = mkstemp(name);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static int setup(void **state)
{
    (void)state;
    make_file(file_name, (off_t)FILE_BLOCKS * BLOCK, "");
    make_file(read_only_name, 65536, "read only");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unlink(file_name);
    unlink(read_only_name);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain), cmocka_unit_test(test_srq),
                                        cmocka_unit_test(test_fast), cmocka_unit_test(test_several_hosts) };

    if (argc != 2) {
        fprintf(stderr, "usage: nvme_target PROGRAM\n");
        return 2;
    }
    program = argv[1];
    setenv("ONDK_VERIFY", "stop,full,stall=0", 1);
    return cmocka_run_group_tests(tests, setup, teardown);
}
