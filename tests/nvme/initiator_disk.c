/* SPDX-License-Identifier: MIT */
/* The NVMe initiator's driver and its target for initiator_test.c, and threads that use its disk. */
#include "initiator_disk.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define PORT "\\Device\\RaidPort0"
#define KEY "HKLM\\System\\CurrentControlSet\\Services\\nvme_initiator"

enum { NEVER = 3600 };

const char *target_program;
struct target_process target;
static ondk_wdk_driver_t *driver;
static ondk_wdk_device_t *port;

/* ---- The target and the driver ----------------------------------------------------------------------------------- */

void target_start(const char *kind, const char *disk)
{
    const char *arguments[] = { kind, disk, NULL };

    if (!process_start(&target, target_program, arguments))
        fail_msg("%s does not start", target_program);
}

void target_kill(void)
{
    (void)process_stop(&target, SIGKILL);
}

/* Returns when the target has stopped: it answers nothing any more, but its connections stay. */
void target_suspend(void)
{
    int status = 0;

    kill(target.pid, SIGSTOP);
    assert_int_equal(waitpid(target.pid, &status, WUNTRACED), target.pid);
    assert_true(WIFSTOPPED(status));
}

void set_number(const char *name, uint32_t value)
{
    assert_int_equal(ondk_wdk_registry_set(KEY, name, 4, &value, sizeof value), 0);
}

/* Loads the driver with the target in the registry, or with none. */
void driver_start(bool with_target, uint32_t io_fail_seconds)
{
    const char *text = with_target ? ADDRESS " " PROCESS_NQN : "";
    uint32_t status = 1;

    assert_int_equal(ondk_wdk_registry_set_text(KEY, "Targets", 1, text, (uint32_t)strlen(text)), 0);
    set_number("ReconnectSeconds", 1);
    set_number("KeepAliveSeconds", 300); /* a slow machine is no reason for a reconnect */
    set_number("IoFailSeconds", io_fail_seconds);
    driver = host_load("nvme_initiator");
    if (ondk_wdk_open(PORT, &port, &status))
        fail_msg("%s", ondk_wdk_error());
}

/* The unload reports what the driver has left behind, and ends the program then. */
void driver_stop(void)
{
    ondk_wdk_close(port);
    host_unload(driver);
    assert_int_equal(ondk_verify_breaches(), 0);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Returns the status. A check condition is returned as its sense key. */
int disk_send(ondk_wdk_scsi_command_t *c)
{
    uint32_t status = 1;

    c->timeout = c->timeout ? c->timeout : NEVER;
    if (ondk_wdk_scsi(port, c, &status))
        return -1;
    return status == OK && c->scsi_status ? c->sense[2] : (int)status;
}

int transfer(bool out, uint8_t lun, uint32_t lba, void *data, uint32_t length)
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

unsigned units(void)
{
    uint8_t data[1024];
    uint32_t length = 0, status = 1;

    assert_int_equal(ondk_wdk_device_control(port, 0x4100c, NULL, 0, data, sizeof data, &length, &status), 0);
    assert_int_equal(status, OK);
    return data[4];
}

void nap(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

void wait_for_units(unsigned wanted)
{
    while (units() != wanted)
        nap(10);
}

int control_with_flags(uint32_t operation, uint32_t flags, const char *address, const char *subsystem, void *out,
                       uint32_t room)
{
    NVME_IOCTL_REQUEST r = { .Size = sizeof r, .Operation = operation, .Flags = flags };
    uint32_t status = 1, length;

    strcpy(r.Address, address);
    strcpy(r.Subsystem, subsystem);
    if (ondk_wdk_device_control(port, 0x4d038, &r, sizeof r, out, room, &length, &status))
        return -1;
    return (int)status;
}

int control(uint32_t operation, const char *address, const char *subsystem, void *out, uint32_t room)
{
    return control_with_flags(operation, 0, address, subsystem, out, room);
}

NVME_IOCTL_CONTROLLER list_one(void)
{
    NVME_IOCTL_CONTROLLERS list = { 0 };

    assert_int_equal(control(NVME_IOCTL_LIST, "", "", &list, sizeof list), OK);
    assert_int_equal(list.Count, 1);
    return list.Controllers[0];
}

void wait_for_state(uint32_t state)
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

void workers_start(unsigned n, uint32_t size, unsigned rounds)
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

void workers_join(unsigned n, int expected)
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
void workers_wait_for_progress(unsigned n, unsigned writes)
{
    unsigned before[MAX_THREADS];

    for (unsigned i = 0; i < n; i++)
        before[i] = workers[i].done;
    for (unsigned i = 0; i < n; i++)
        while (workers[i].done < before[i] + writes && workers[i].done < workers[i].rounds)
            nap(1);
}
