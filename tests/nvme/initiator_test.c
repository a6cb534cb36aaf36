/* SPDX-License-Identifier: MIT */
/*
 * initiator_test TARGET: the driver of samples/nvme-initiator against the program nvme-target, over the loopback
 * interface: data at several queue depths, a target that is killed, suspended and started again, and removal with
 * requests outstanding.
 */
#include "host.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "nvme-initiator/nvmeioctl.h"
#include "target_process.h"

#define PORT "\\Device\\RaidPort0"
#define KEY "HKLM\\System\\CurrentControlSet\\Services\\nvme_initiator"
#define ADDRESS "127.0.0.1:4420"

enum {
    OK = 0,
    NO_SUCH_DEVICE = (int)0xC000000E,
    IO_TIMEOUT = (int)0xC00000B5,
    NO_DEVICE = (int)0xC00000C0,
    REFUSED = (int)0xC0000236,
};

enum { BLOCK = 512, MIB = 1024 * 1024, DISK = 64 * MIB, NEVER = 3600, MAX_THREADS = 128 };

static const char *target_program;
static struct target_process target;
static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *port;

/* ---- The target and the driver ----------------------------------------------------------------------------------- */

static void target_start(const char *kind, const char *disk)
{
    const char *arguments[] = { kind, disk, NULL };

    if (!process_start(&target, target_program, arguments))
        fail_msg("%s does not start", target_program);
}

static void target_kill(void)
{
    (void)process_stop(&target, SIGKILL);
}

/* Returns when the target has stopped: it answers nothing any more, but its connections stay. */
static void target_suspend(void)
{
    int status = 0;

    kill(target.pid, SIGSTOP);
    assert_int_equal(waitpid(target.pid, &status, WUNTRACED), target.pid);
    assert_true(WIFSTOPPED(status));
}

static void set_number(const char *name, uint32_t value)
{
    assert_int_equal(ondk_wdk_registry_set(KEY, name, 4, &value, sizeof value), 0);
}

/* Loads the driver with the target in the registry, or with none. */
static void driver_start(bool with_target, uint32_t io_fail_seconds)
{
    const char *text = with_target ? ADDRESS " " PROCESS_NQN : "";
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_registry_set_text(KEY, "Targets", 1, text, (uint32_t)strlen(text)), 0);
    set_number("ReconnectSeconds", 1);
    set_number("AbortSeconds", 1);
    set_number("IoFailSeconds", io_fail_seconds);
    driver = host_load("nvme_initiator");
    if (ondk_wdk_open(PORT, &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

/* The unload reports what the driver has left behind, and ends the program then. */
static void driver_stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Returns the status. A check condition is returned as its sense key. */
static int disk_send(ondk_wdk_scsi_command_t *c)
{
    uint32_t status = 1;

    c->timeout = c->timeout ? c->timeout : NEVER;
    if (ondk_wdk_scsi(port, c, &status))
        return -1;
    return status == OK && c->scsi_status ? c->sense[2] : (int)status;
}

static int transfer(bool out, uint8_t lun, uint32_t lba, void *data, uint32_t length)
{
    uint32_t blocks = length / BLOCK;
    ondk_wdk_scsi_command_t c = {
        .lun = lun,
        .cdb_length = 10,
        .cdb = { out ? 0x2a : 0x28, 0, (uint8_t)(lba >> 24), (uint8_t)(lba >> 16), (uint8_t)(lba >> 8), (uint8_t)lba, 0,
                 (uint8_t)(blocks >> 8), (uint8_t)blocks },
        .out = out,
        .data = data,
        .data_length = length,
    };
    int status = disk_send(&c);

    return status == OK && c.data_length != length ? -2 : status;
}

static unsigned units(void)
{
    uint8_t data[1024];
    uint32_t length = 0, status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4100c, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    return data[4];
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void wait_for_units(unsigned wanted)
{
    while (units() != wanted)
        nap(10);
}

static int control_with_flags(uint32_t operation, uint32_t flags, const char *address, const char *subsystem,
                              void *out, uint32_t room)
{
    NVME_IOCTL_REQUEST r = { .Size = sizeof r, .Operation = operation, .Flags = flags };
    uint32_t status = 1, length;

    strcpy(r.Address, address);
    strcpy(r.Subsystem, subsystem);
    if (ondk_wdk_device_control(port, 0x4d038, &r, sizeof r, out, room, &length, &status))
        return -1;
    return (int)status;
}

static int control(uint32_t operation, const char *address, const char *subsystem, void *out, uint32_t room)
{
    return control_with_flags(operation, 0, address, subsystem, out, room);
}

static NVME_IOCTL_CONTROLLER list_one(void)
{
    NVME_IOCTL_CONTROLLERS list = { 0 };

    assert_int_equal(control(NVME_IOCTL_LIST, "", "", &list, sizeof list), OK);
    assert_int_equal(list.Count, 1);
    return list.Controllers[0];
}

static void wait_for_state(uint32_t state)
{
    while (list_one().State != state)
        nap(10);
}

/* ---- Threads that write, read and compare ------------------------------------------------------------------------ */

struct worker {
    pthread_t thread;
    unsigned number; /* the thread uses the blocks from number * share on */
    uint32_t share;  /* bytes */
    uint32_t size;   /* bytes of one command */
    unsigned rounds;
    atomic_uint done; /* writes that have succeeded */
    int status;       /* of the last command */
    bool differs;
    bool read_only; /* compares what `done` writes have left */
};

static void fill(uint8_t *data, uint32_t length, unsigned number, unsigned round)
{
    uint32_t *words = (uint32_t *)(void *)data;

    for (uint32_t i = 0; i < length / 4; i++)
        words[i] = i * 2654435761u + number * 40503u + round;
}

static uint32_t lba_of(const struct worker *w, unsigned round)
{
    uint32_t places = w->share / w->size;

    return (w->number * w->share + round % places * w->size) / BLOCK;
}

static bool compare(struct worker *w, unsigned round, uint8_t *in, uint8_t *expected)
{
    fill(expected, w->size, w->number, round);
    memset(in, 0x11, w->size);
    w->status = transfer(false, 0, lba_of(w, round), in, w->size);
    if (w->status == OK && memcmp(in, expected, w->size))
        w->differs = true;
    return w->status == OK && !w->differs;
}

static void *work(void *context)
{
    struct worker *w = context;
    uint8_t *out = malloc(w->size), *in = malloc(w->size);
    unsigned round = 0, places = w->share / w->size;

    for (; !w->read_only && round < w->rounds; round++) {
        fill(out, w->size, w->number, round);
        w->status = transfer(true, 0, lba_of(w, round), out, w->size);
        if (w->status != OK)
            break;
        atomic_fetch_add(&w->done, 1);
    }
    round = w->done > places ? w->done - places : 0; /* those that later writes have not overwritten */
    while (w->status == OK && round < w->done && compare(w, round, in, out))
        round++;
    free(in);
    free(out);
    return NULL;
}

static struct worker workers[MAX_THREADS];

static void workers_start(unsigned n, uint32_t size, unsigned rounds)
{
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < n; i++) {
        workers[i].number = i;
        workers[i].share = DISK / n / size * size;
        workers[i].size = size;
        workers[i].rounds = rounds;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
}

static void workers_join(unsigned n, int expected)
{
    for (unsigned i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    for (unsigned i = 0; i < n; i++) {
        if (workers[i].status != expected || workers[i].differs)
            fail_msg("thread %u: status 0x%08X after %u writes%s", i, (unsigned)workers[i].status, workers[i].done,
                     workers[i].differs ? ", data differ" : "");
    }
}

/* Waits until each thread has done some writes since this call. */
static void workers_wait_for_progress(unsigned n, unsigned writes)
{
    unsigned before[MAX_THREADS];

    for (unsigned i = 0; i < n; i++)
        before[i] = workers[i].done;
    for (unsigned i = 0; i < n; i++)
        while (workers[i].done < before[i] + writes && workers[i].done < workers[i].rounds)
            nap(1);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void test_depths(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    for (unsigned depth = 1; depth <= MAX_THREADS; depth *= depth == 1 ? 2 : 4) {
        workers_start(depth, 64 * 1024, 128 / depth + 1);
        workers_join(depth, OK);
    }
    workers_start(16, BLOCK, 50); /* in the command's capsule */
    workers_join(16, OK);
    workers_start(4, 128 * 1024, 20);
    workers_join(4, OK);
    assert_int_equal(list_one().Reconnects, 0);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_commands(void **state)
{
    static uint8_t data[8 * BLOCK], zero[8 * BLOCK];
    uint8_t unmap[24] = { 0, 22, 0, 16, [15] = 2, [19] = 4 };
    ondk_wdk_scsi_command_t c;

    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    memset(data, 0x5a, sizeof data);
    assert_int_equal(transfer(true, 0, 0, data, sizeof data), OK);
    c = (ondk_wdk_scsi_command_t){ .cdb_length = 10, .cdb = { 0x35 } }; /* SYNCHRONIZE CACHE */
    assert_int_equal(disk_send(&c), OK);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x42, [8] = sizeof unmap }, .out = true, .data = unmap, .data_length = sizeof unmap
    };
    assert_int_equal(disk_send(&c), OK);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x41, [8] = 2 }, .out = true, .data = zero, .data_length = BLOCK
    };
    assert_int_equal(disk_send(&c), OK); /* WRITE SAME: blocks 0 and 1 */
    assert_int_equal(transfer(false, 0, 0, data, sizeof data), OK);
    assert_memory_equal(data, zero, 2 * BLOCK);
    assert_int_equal(data[7 * BLOCK], 0x5a);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x2f, 2, [8] = 2 }, .out = true, .data = zero, .data_length = 2 * BLOCK
    };
    assert_int_equal(disk_send(&c), OK); /* VERIFY with comparison */
    c.data = data + 6 * BLOCK;
    assert_int_equal(disk_send(&c), 0xe);
    assert_int_equal(transfer(false, 0, DISK / BLOCK, data, BLOCK), 5);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The adapter registers less than one command of the disk transfers: the driver sends several NVMe commands. */
static void test_parts(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    setenv("ONDK_PROFILE", "shallow", 1);
    driver_start(true, 60);
    wait_for_units(1);
    assert_true(list_one().MaxTransfer < 128 * 1024);
    workers_start(4, 128 * 1024, 20);
    workers_join(4, OK);
    workers_start(3, 62 * 1024, 20);
    workers_join(3, OK);
    assert_int_equal(list_one().Reconnects, 0);
    driver_stop();
    unsetenv("ONDK_PROFILE");
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_controls(void **state)
{
    NVME_IOCTL_CONNECTED connected = { 9 };
    NVME_IOCTL_LOG log = { 0 };
    NVME_IOCTL_CONTROLLER c;
    uint8_t block[BLOCK];

    (void)state;
    driver_start(false, 60);
    assert_int_equal(control(NVME_IOCTL_CONNECT, ADDRESS, PROCESS_NQN, &connected, sizeof connected), REFUSED);
    assert_int_equal(control(NVME_IOCTL_DISCOVER, ADDRESS, "", &log, sizeof log), REFUSED);
    target_start("--memory", "64M");
    assert_int_equal(
        control(NVME_IOCTL_CONNECT, ADDRESS, "nqn.2026-11.org.example:other", &connected, sizeof connected),
        NO_SUCH_DEVICE);
    assert_int_equal(control(NVME_IOCTL_DISCOVER, ADDRESS, "", &log, sizeof log), OK);
    assert_true(log.Count >= 1);
    assert_string_equal(log.Entries[0].Address, ADDRESS);
    assert_string_equal(log.Entries[0].Subsystem, PROCESS_NQN);
    assert_int_equal(
        control(NVME_IOCTL_CONNECT, log.Entries[0].Address, log.Entries[0].Subsystem, &connected, sizeof connected),
        OK);
    assert_int_equal(connected.TargetId, 0);
    wait_for_units(1);
    c = list_one();
    assert_int_equal(c.State, NVME_IOCTL_LIVE);
    assert_string_equal(c.Address, ADDRESS);
    assert_string_equal(c.Subsystem, PROCESS_NQN);
    assert_int_equal(c.Namespaces, 1);
    assert_true(c.Queues >= 1 && c.QueueDepth >= 1 && c.MaxTransfer >= 4096 && *c.Model);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    wait_for_units(0);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), NO_DEVICE);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

static void test_read_only(void **state)
{
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);
    const char *arguments[] = { "--memory", "1M", "--read-only", path, NULL };
    uint8_t block[BLOCK] = { 0 };

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, MIB), 0);
    assert_true(process_start(&target, target_program, arguments));
    driver_start(true, 60);
    wait_for_units(2);
    assert_int_equal(transfer(true, 0, 0, block, sizeof block), OK);
    assert_int_equal(transfer(false, 1, 0, block, sizeof block), OK);
    assert_int_equal(transfer(true, 1, 0, block, sizeof block), 7);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* Blocks of 4096 bytes: capacity, a transfer at the end of the disk, and one that is not a multiple of them. */
static void test_large_blocks(void **state)
{
    const char *arguments[] = { "--block", "4096", "--memory", "1M", NULL };
    uint8_t capacity[8], out[4096], in[4096] = { 0 };
    ondk_wdk_scsi_command_t c = { .cdb_length = 10, .cdb = { 0x25 }, .data = capacity, .data_length = sizeof capacity };

    (void)state;
    memset(out, 0x3c, sizeof out);
    assert_true(process_start(&target, target_program, arguments));
    driver_start(true, 60);
    wait_for_units(1);
    assert_int_equal(disk_send(&c), OK);
    assert_memory_equal(capacity, ((uint8_t[]){ 0, 0, 0, 255, 0, 0, 16, 0 }), 8);
    c = (ondk_wdk_scsi_command_t){
        .cdb_length = 10, .cdb = { 0x2a, [5] = 255, [8] = 1 }, .out = true, .data = out, .data_length = sizeof out
    };
    assert_int_equal(disk_send(&c), OK);
    c.cdb[0] = 0x28;
    c.out = false;
    c.data = in;
    assert_int_equal(disk_send(&c), OK);
    assert_memory_equal(in, out, sizeof in);
    c.data_length = 512;
    assert_int_equal(disk_send(&c), 5);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* A target whose connections stay unanswered delays the start for CommandSeconds, and a connect with retry not at all. */
static void test_silent_target(void **state)
{
    NVME_IOCTL_CONNECTED connected = { 9 };

    (void)state;
    target_start("--memory", "64M");
    target_suspend();
    set_number("CommandSeconds", 1);
    driver_start(true, 60);
    set_number("CommandSeconds", 30);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    assert_int_equal(*list_one().LastReason, 0); /* the first attempt has not ended */
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    assert_int_equal(control_with_flags(NVME_IOCTL_CONNECT, NVME_IOCTL_RETRY, ADDRESS, PROCESS_NQN, &connected,
                                        sizeof connected), OK);
    assert_int_equal(connected.TargetId, 0);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    assert_int_equal(*list_one().LastReason, 0);
    kill(target.pid, SIGCONT);
    wait_for_units(1);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The target is not there at first: its disk appears when it is. */
static void test_late_target(void **state)
{
    (void)state;
    driver_start(true, 60);
    assert_int_equal(units(), 0);
    assert_int_equal(list_one().State, NVME_IOCTL_CONNECTING);
    target_start("--memory", "64M");
    wait_for_units(1);
    workers_start(1, 4096, 4);
    workers_join(1, OK);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The target is killed under load, twice. The writers do not notice, and no write that has succeeded is lost. */
static void test_killed(void **state)
{
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, DISK), 0);
    target_start("--file", path);
    driver_start(true, 60);
    wait_for_units(1);
    workers_start(32, 16 * 1024, 120);
    for (int i = 0; i < 2; i++) {
        workers_wait_for_progress(32, 20);
        target_kill();
        nap(300);
        target_start("--file", path);
    }
    workers_join(32, OK);
    assert_int_equal(list_one().Reconnects, 2);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* The target stays away for longer than IoFailSeconds: requests fail. When it is back, the disk works again. */
static void test_gone(void **state)
{
    ondk_wdk_scsi_command_t ready = { .cdb_length = 6 };
    NVME_IOCTL_CONTROLLER c;
    uint8_t block[BLOCK];
    char path[] = "/tmp/initiator_test.XXXXXX";
    int file = mkstemp(path);

    (void)state;
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, DISK), 0);
    target_start("--file", path); /* the same disk after the restart */
    driver_start(true, 1);
    wait_for_units(1);
    workers_start(8, 4096, 100000000);
    workers_wait_for_progress(8, 20);
    target_kill();
    workers_join(8, IO_TIMEOUT);
    c = list_one();
    assert_int_equal(c.State, NVME_IOCTL_RECONNECTING);
    assert_true(*c.LastReason);
    assert_int_equal(units(), 1);
    assert_int_equal(disk_send(&ready), 2); /* not ready */
    target_start("--file", path);
    wait_for_state(NVME_IOCTL_LIVE);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    while (disk_send(&ready) != OK)
        nap(10);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
    close(file);
    unlink(path);
}

/* The target does not run any more, but its connections stay: a command that takes too long is aborted. */
static void test_stopped(void **state)
{
    uint8_t block[BLOCK];
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 10, .cdb = { 0x28, [8] = 1 }, .data = block, .data_length = sizeof block, .timeout = 1
    };

    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    target_suspend();
    assert_int_not_equal(disk_send(&c), OK);
    kill(target.pid, SIGCONT);
    assert_int_equal(transfer(false, 0, 0, block, sizeof block), OK);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* A controller is disconnected while its target has requests, and answers none of them. */
static void test_disconnect_outstanding(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    set_number("IoQueues", 1); /* the close of each queue waits for the target */
    driver_start(true, 60);
    set_number("IoQueues", 4);
    wait_for_units(1);
    workers_start(32, 16 * 1024, 100000000);
    workers_wait_for_progress(32, 3);
    target_suspend();
    assert_int_equal(control(NVME_IOCTL_DISCONNECT, "", "", NULL, 0), OK);
    workers_join(32, NO_DEVICE);
    kill(target.pid, SIGCONT);
    wait_for_units(0);
    driver_stop();
    assert_int_equal(process_stop(&target, SIGTERM), 0);
}

/* The driver is unloaded while it tries to connect again. */
static void test_unload_reconnecting(void **state)
{
    (void)state;
    target_start("--memory", "64M");
    driver_start(true, 60);
    wait_for_units(1);
    workers_start(4, 4096, 10);
    workers_join(4, OK);
    target_kill();
    wait_for_state(NVME_IOCTL_RECONNECTING);
    driver_stop();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depths),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_large_blocks),
        cmocka_unit_test(test_controls),
        cmocka_unit_test(test_read_only),
        cmocka_unit_test(test_late_target),
        cmocka_unit_test(test_silent_target),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_gone),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_disconnect_outstanding),
        cmocka_unit_test(test_unload_reconnecting),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: initiator_test TARGET [TEST]\n");
        return 2;
    }
    target_program = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests_name("nvme.initiator", tests, NULL, NULL);
}
