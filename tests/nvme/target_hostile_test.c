/* SPDX-License-Identifier: MIT */
/*
 * The sample nvme-target against hosts that break the protocol, die, are silent, or are too many. A well-behaved host
 * writes and reads all the time, and must notice nothing. The target runs under the verifier.
 *
 *     nvme_target_hostile PROGRAM
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

#define GOOD_NQN "nqn.2026-11.org.example:good"
#define BAD_NQN "nqn.2026-11.org.example:bad"

static const char *program;
static char file_name[] = "/tmp/nvme-target-XXXXXX";

/* ---- The well-behaved host --------------------------------------------------------------------------------------- */

struct good_host {
    struct target_process process;
    struct host_queue admin, io;
    pthread_t thread;
    atomic_bool stops;
    atomic_uint rounds;
};

static void *good_run(void *context)
{
    struct good_host *h = context;

    for (uint32_t i = 1; !h->stops; i++) {
        uint64_t lba = i * 8 % 1024;

        host_fill(host_data(&h->io, 0), lba, 8, i);
        assert_int_equal(host_io(&h->io, NVME_IO_WRITE, 1, lba, 8, HOST_MEMORY, 4096), NVME_SUCCESS);
        memset(host_data(&h->io, 0), 0, 4096);
        assert_int_equal(host_io(&h->io, NVME_IO_READ, 1, lba, 8, HOST_MEMORY, 4096), NVME_SUCCESS);
        assert_true(host_is_filled(host_data(&h->io, 0), lba, 8, i));
        h->rounds++;
    }
    return NULL;
}

static void good_start(struct good_host *h, const char *const *arguments)
{
    assert_true(process_start(&h->process, program, arguments));
    assert_true(host_open_controller(&h->admin, &h->process.address, PROCESS_NQN, GOOD_NQN));
    assert_true(host_open_io(&h->io, &h->admin, &h->process.address, 1, 8, PROCESS_NQN, GOOD_NQN));
    h->stops = false;
    h->rounds = 0;
    assert_int_equal(pthread_create(&h->thread, NULL, good_run, h), 0);
}

/* Lets the host do some more rounds, then stops the target while the host is connected. */
static void good_stop(struct good_host *h)
{
    unsigned before = h->rounds;

    while (h->rounds < before + 3)
        sched_yield();
    h->stops = true;
    pthread_join(h->thread, NULL);
    kill(h->process.pid, SIGTERM);
    assert_true(consumer_wait_disconnect(&h->io.c, HOST_WAIT_S));
    assert_true(consumer_wait_disconnect(&h->admin.c, HOST_WAIT_S));
    host_close(&h->io);
    host_close(&h->admin);
    assert_int_equal(process_wait(&h->process), 0);
}

/* ---- Requests that are rejected ---------------------------------------------------------------------------------- */

static void check_rejected(struct good_host *h, const void *data, uint32_t len, uint16_t status)
{
    struct host_queue q;

    assert_true(host_open(&q, 8));
    assert_int_equal(host_connect_with(&q, &h->process.address, data, len), STATUS_CONNECTION_REFUSED);
    assert_int_equal(q.reject_status, status);
    host_close(&q);
}

static void check_requests(struct good_host *h)
{
    struct nvme_rdma_queue values = { 0, 0, 8, 8 };
    struct nvme_rdma_request request;

    nvme_rdma_request_build(&request, &values);
    check_rejected(h, NULL, 0, NVME_RDMA_INVALID_LENGTH);
    check_rejected(h, &request, sizeof request - 1, NVME_RDMA_INVALID_LENGTH);
    request.record_format = 1;
    check_rejected(h, &request, sizeof request, NVME_RDMA_INVALID_FORMAT);
    request.record_format = 0;
    request.hsqsize = 0;
    check_rejected(h, &request, sizeof request, NVME_RDMA_INVALID_HSQSIZE);
    request.hsqsize = 7;
    request.hrqsize = 0;
    check_rejected(h, &request, sizeof request, NVME_RDMA_INVALID_HRQSIZE);
    request.hrqsize = 8;
    request.qid = 0xffff;
    check_rejected(h, &request, sizeof request, NVME_RDMA_INVALID_QID);
}

/* A host whose memory cannot be read. */
static void check_read_limit(struct good_host *h)
{
    struct host_queue q;

    assert_true(host_open(&q, 8));
    q.read_limit = 0;
    assert_int_equal(host_connect(&q, &h->process.address, 0, 0), STATUS_CONNECTION_REFUSED);
    assert_int_equal(q.reject_status, NVME_RDMA_INVALID_IRD);
    host_close(&q);
}

/* ---- Queues that are disconnected -------------------------------------------------------------------------------- */

static void check_disconnected(struct host_queue *q)
{
    while (host_wait_any(q) >= 0)
        ;
    assert_true(consumer_wait_disconnect(&q->c, HOST_WAIT_S));
    host_close(q);
}

/* An admin queue without Connect. */
static void open_raw(struct good_host *h, struct host_queue *q)
{
    assert_true(host_open(q, 8));
    assert_true(NT_SUCCESS(host_connect(q, &h->process.address, 0, 0)));
}

static void check_capsules(struct good_host *h)
{
    static const uint32_t lengths[] = { 0, 1, 63 };
    struct nvme_command identify = { .opcode = NVME_ADMIN_IDENTIFY };
    struct host_queue q;
    uint8_t capsule[64] = { 0 };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        open_raw(h, &q);
        assert_true(host_send(&q, 0, capsule, lengths[i]));
        check_disconnected(&q);
    }
    open_raw(h, &q); /* a command before Connect: disconnected, or a status */
    if (host_run(&q, &identify, HOST_MEMORY, 4096) == 0xffff)
        assert_true(consumer_wait_disconnect(&q.c, HOST_WAIT_S));
    host_close(&q);
}

static void open_bad_io(struct good_host *h, struct host_queue *admin, struct host_queue *io)
{
    assert_true(host_open_controller(admin, &h->process.address, PROCESS_NQN, BAD_NQN));
    assert_true(host_open_io(io, admin, &h->process.address, 1, 16, PROCESS_NQN, BAD_NQN));
}

/* A key that does not exist, for a read and for a write of the target. */
static void check_wrong_key(struct good_host *h, uint8_t opcode)
{
    struct nvme_command command = { .opcode = opcode, .cid = 0, .flags = NVME_FLAGS_SGL, .nsid = 1 };
    struct nvme_sgl sgl = { .length = 4096 };
    struct host_queue admin, io;

    open_bad_io(h, &admin, &io);
    sgl.address = (uintptr_t)host_data(&io, 0);
    sgl.key = io.data.remote_token ^ 0x10000;
    nvme_sgl_build(&command.sgl, &sgl);
    command.io.blocks = 7;
    assert_true(host_send(&io, 0, &command, sizeof command));
    check_disconnected(&io);
    host_close(&admin); /* without a disconnect */
}

/* More commands than the queue holds: each is a command of its own, so the target must not run out of anything. */
static void check_flood(struct good_host *h)
{
    struct nvme_command command = { .opcode = NVME_IO_READ, .flags = NVME_FLAGS_SGL, .nsid = 1 };
    struct nvme_sgl sgl = { .length = HOST_DATA_SIZE };
    struct host_queue admin, io;

    open_bad_io(h, &admin, &io);
    sgl.address = (uintptr_t)host_data(&io, 0);
    sgl.key = io.data.remote_token;
    nvme_sgl_build(&command.sgl, &sgl);
    command.io.blocks = 255;
    assert_true(host_send(&io, 0, &command, sizeof command));
    for (int i = 1; i < 48; i++) {
        if (!host_send_again(&io, 0, sizeof command, 0))
            break;
    }
    check_disconnected(&io);
    host_close(&admin);
}

/*
 * Bursts of messages on admin queues of two entries. With a shared receive queue, a burst completes more receives than
 * the queue may use, and the target must post all of them again: it has fewer than all bursts together.
 */
static void check_bursts(struct good_host *h, int n)
{
    static const uint8_t capsule[64] = { NVME_ADMIN_KEEP_ALIVE };
    struct nvme_rdma_queue values = { 0, 0, 2, 2 };
    struct nvme_rdma_request request;
    struct host_queue q;

    nvme_rdma_request_build(&request, &values);
    for (int burst = 0; burst < n; burst++) {
        assert_true(host_open(&q, 16));
        assert_true(NT_SUCCESS(host_connect_with(&q, &h->process.address, &request, sizeof request)));
        memcpy(q.capsules.memory, capsule, sizeof capsule);
        for (int i = 0; i < 20; i++)
            host_send_again(&q, 0, sizeof capsule, i < 19 ? NDK_OP_FLAG_DEFER : 0);
        check_disconnected(&q);
    }
}

/* The host dies with all commands outstanding. */
static void check_death(struct good_host *h, uint8_t opcode, uint32_t n)
{
    struct nvme_command command = { .opcode = opcode, .nsid = 1 };
    struct host_queue admin, io;

    command.io.blocks = 255;
    open_bad_io(h, &admin, &io);
    for (uint32_t i = 0; i < n; i++) {
        command.io.lba = 2048 + i * 256;
        assert_true(host_submit(&io, i, &command, i % 2 ? HOST_WINDOW : HOST_MEMORY, HOST_DATA_SIZE));
    }
    for (uint32_t i = 0; i < n / 2; i++)
        assert_true(host_wait_any(&io) >= 0);
    host_close(n % 2 ? &io : &admin);
    host_close(n % 2 ? &admin : &io);
}

/* Random capsules. The opcodes are small, so that many are commands that exist; the rest is random or nearly right. */
static void check_random(struct good_host *h, unsigned seed)
{
    struct host_queue admin, io, *q = seed % 2 ? &admin : &io;
    _Alignas(8) uint8_t capsule[HOST_CAPSULE_SIZE];
    struct nvme_command *command = (struct nvme_command *)capsule;

    open_bad_io(h, &admin, &io);
    for (uint32_t i = 0; i < q->n_commands; i++) {
        uint32_t len = rand_r(&seed) % 4 ? 64 : 64 + rand_r(&seed) % 4096;

        for (uint32_t j = 0; j < len; j++)
            capsule[j] = rand_r(&seed) % 3 ? 0 : (uint8_t)rand_r(&seed);
        command->opcode = rand_r(&seed) % 8 ? rand_r(&seed) % 0x1a : NVME_FABRICS;
        command->flags = NVME_FLAGS_SGL;
        command->nsid = rand_r(&seed) % 3;
        command->cid = 0;
        if (rand_r(&seed) % 2)
            command->sgl.identifier = 0x40;
        if (rand_r(&seed) % 2)
            memcpy(&command->sgl.specific[3], &q->data.remote_token, 4);
        q->is_done[0] = false;
        if (!host_send(q, i, capsule, len) || (command->opcode != NVME_ADMIN_ASYNC_EVENT && host_wait_any(q) < 0))
            break;
    }
    host_close(&io);
    host_close(&admin);
}

static void run_hostile(const char *const *arguments, int n_bursts)
{
    static struct good_host h;

    good_start(&h, arguments);
    check_requests(&h);
    check_read_limit(&h);
    check_capsules(&h);
    check_wrong_key(&h, NVME_IO_READ);
    check_wrong_key(&h, NVME_IO_WRITE);
    check_flood(&h);
    check_bursts(&h, n_bursts);
    for (uint32_t n = 1; n <= 16; n += 3)
        check_death(&h, n % 2 ? NVME_IO_WRITE : NVME_IO_READ, n);
    for (unsigned seed = 1; seed <= 8; seed++)
        check_random(&h, seed);
    good_stop(&h);
}

static void test_hostile(void **state)
{
    (void)state;
    run_hostile((const char *const[]){ "--memory", "16M", "--buffers", "2", NULL }, 1);
}

static void test_hostile_srq(void **state)
{
    (void)state;
    run_hostile((const char *const[]){ "--file", file_name, "--srq", "192", "--fast", "--buffers", "1", NULL }, 24);
}

/* ---- Silence and numbers ----------------------------------------------------------------------------------------- */

/* A host that is silent for longer than its keep-alive timeout loses all its queues. */
static void test_silent_host(void **state)
{
    struct nvme_command keep_alive = { .opcode = NVME_ADMIN_SET_FEATURES,
                                       .cdw10 = NVME_FEATURE_KEEP_ALIVE,
                                       .cdw11 = 500 };
    struct host_queue admin, io;
    static struct good_host h;

    (void)state;
    good_start(&h, (const char *const[]){ "--memory", "16M", NULL });
    assert_true(host_open(&admin, 8));
    assert_true(NT_SUCCESS(host_connect(&admin, &h.process.address, 0, 0)));
    assert_int_equal(host_fabrics_connect(&admin, PROCESS_NQN, BAD_NQN, 0), NVME_SUCCESS);
    assert_true(host_enable(&admin));
    assert_true(host_open_io(&io, &admin, &h.process.address, 1, 8, PROCESS_NQN, BAD_NQN));
    assert_int_equal(host_run(&admin, &keep_alive, HOST_NO_DATA, 0), NVME_SUCCESS);
    assert_true(consumer_wait_disconnect(&admin.c, HOST_WAIT_S));
    assert_true(consumer_wait_disconnect(&io.c, HOST_WAIT_S));
    host_close(&io);
    host_close(&admin);
    good_stop(&h);
}

/* The target stops even if a host never answers the disconnect. */
static void test_host_without_answer(void **state)
{
    struct host_queue q;
    static struct good_host h;

    (void)state;
    setenv("ONDK_DISCONNECT_MS", "600000", 1);
    good_start(&h, (const char *const[]){ "--memory", "16M", NULL });
    unsetenv("ONDK_DISCONNECT_MS");
    open_raw(&h, &q);
    good_stop(&h);
    assert_true(consumer_wait_disconnect(&q.c, HOST_WAIT_S));
    host_close(&q);
}

static void test_limits(void **state)
{
    struct host_queue q, other;
    static struct good_host h;

    (void)state;
    good_start(&h, (const char *const[]){ "--memory", "16M", "--controllers", "1", "--queues", "3", NULL });
    open_raw(&h, &q);
    assert_int_not_equal(host_fabrics_connect(&q, PROCESS_NQN, BAD_NQN, 0), NVME_SUCCESS);
    assert_true(host_open(&other, 8));
    assert_int_equal(host_connect(&other, &h.process.address, 0, 0), STATUS_CONNECTION_REFUSED);
    assert_int_equal(other.reject_status, NVME_RDMA_NO_RESOURCES);
    host_close(&other);
    host_close(&q);
    good_stop(&h);
}

/* The receives of the shared receive queue are promised to queue pairs, and no more than there are. */
static void test_srq_limit(void **state)
{
    struct host_queue q, other;
    static struct good_host h;

    (void)state;
    good_start(&h, (const char *const[]){ "--memory", "16M", "--srq", "48", NULL }); /* 32 and 8 */
    open_raw(&h, &q);                                                                /* 8 */
    assert_true(host_open(&other, 2));
    assert_int_equal(host_connect(&other, &h.process.address, 0, 0), STATUS_CONNECTION_REFUSED);
    assert_int_equal(other.reject_status, NVME_RDMA_NO_RESOURCES);
    host_close(&other);
    host_close(&q);
    good_stop(&h);
}

static void test_allowed_hosts(void **state)
{
    struct host_queue q;
    static struct good_host h;

    (void)state;
    good_start(&h, (const char *const[]){ "--memory", "16M", "--host", GOOD_NQN, NULL });
    open_raw(&h, &q);
    assert_int_equal(host_fabrics_connect(&q, PROCESS_NQN, BAD_NQN, 0) & NVME_STATUS_CODE_MASK,
                     NVME_CONNECT_INVALID_HOST);
    host_close(&q);
    good_stop(&h);
}

static int make_file(void **state)
{
    int fd = mkstemp(file_name);
    bool is_made = fd >= 0 && ftruncate(fd, 16 << 20) == 0;

    (void)state;
    close(fd);
    return is_made ? 0 : -1;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(file_name);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_hostile),      cmocka_unit_test(test_hostile_srq),
                                        cmocka_unit_test(test_silent_host),  cmocka_unit_test(test_host_without_answer),
                                        cmocka_unit_test(test_limits),       cmocka_unit_test(test_srq_limit),
                                        cmocka_unit_test(test_allowed_hosts) };

    if (argc != 2) {
        fprintf(stderr, "usage: nvme_target_hostile PROGRAM\n");
        return 2;
    }
    program = argv[1];
    setenv("ONDK_VERIFY", "stop,full,stall=0", 1);
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
