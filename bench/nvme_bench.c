/* SPDX-License-Identifier: MIT */
/*
 * nvme_bench DRIVER ADDRESS NQN [SECONDS] measures reads and writes of a disk, by size and queue depth. The driver of
 * samples/nvme-initiator gets the disk from an NVMe over Fabrics target. Each command in flight has a thread that waits
 * for it, so the results include the switches between these threads. bench/nvme runs this program against nvme-target.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "openndk/verify.h"
#include "openndk/wdk.h"

#define KEY "HKLM\\System\\CurrentControlSet\\Services\\nvme_initiator"

enum { MAX_DEPTH = 128, MAX_BYTES = 128 * 1024, TIMEOUT_S = 60 };

static ondk_wdk_device_t *port;
static uint32_t block_size, blocks;
static atomic_bool running;

struct sender {
    pthread_t thread;
    unsigned number;
    bool out;
    uint32_t bytes;
    uint64_t done;
    bool failed;
};

static uint32_t scsi_get32(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool scsi_command(const uint8_t *cdb, bool out, void *data, uint32_t length)
{
    ondk_wdk_scsi_command_t c = {
        .cdb_length = 10, .out = out, .data = data, .data_length = length, .timeout = TIMEOUT_S
    };
    uint32_t status;

    memcpy(c.cdb, cdb, 10);
    return ondk_wdk_scsi(port, &c, &status) == 0 && status == 0 && c.scsi_status == 0;
}

/* Transfers blocks at pseudo-random offsets, which are multiples of the transfer's size. */
static void *sender_run(void *context)
{
    struct sender *s = context;
    uint32_t count = s->bytes / block_size, places = blocks / count, random = s->number * 2654435761u + 1;
    uint8_t *data = calloc(1, s->bytes);

    while (data && !s->failed && atomic_load(&running)) {
        uint32_t lba = (random >> 8) % places * count;

        random = random * 1664525 + 1013904223;
        s->failed = !scsi_command((uint8_t[10]){ s->out ? 0x2a : 0x28, 0, (uint8_t)(lba >> 24), (uint8_t)(lba >> 16),
                                                 (uint8_t)(lba >> 8), (uint8_t)lba, 0, (uint8_t)(count >> 8),
                                                 (uint8_t)count },
                                  s->out, data, s->bytes);
        s->done += !s->failed;
    }
    s->failed = s->failed || !data;
    free(data);
    return NULL;
}

static double clock_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Runs `depth` threads for `seconds`. Returns the number of commands per second, or 0 if a command has failed. */
static double measure_rate(bool out, uint32_t bytes, unsigned depth, double seconds)
{
    static struct sender senders[MAX_DEPTH];
    double start = clock_seconds();
    uint64_t done = 0;
    bool failed = false;

    memset(senders, 0, sizeof senders);
    atomic_store(&running, true);
    for (unsigned i = 0; i < depth; i++) {
        senders[i].number = i;
        senders[i].out = out;
        senders[i].bytes = bytes;
        if (pthread_create(&senders[i].thread, NULL, sender_run, &senders[i]))
            exit(1);
    }
    nanosleep(&(struct timespec){ (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
    atomic_store(&running, false);
    for (unsigned i = 0; i < depth; i++) {
        pthread_join(senders[i].thread, NULL);
        done += senders[i].done;
        failed = failed || senders[i].failed;
    }
    return failed ? 0 : (double)done / (clock_seconds() - start);
}

static bool measure_all(double seconds)
{
    static const uint32_t sizes[] = { 4096, 65536, MAX_BYTES };
    static const unsigned depths[] = { 1, 4, 16, 64, MAX_DEPTH };

    printf("| command | depth | commands/s | MiB/s | mean us |\n|---|---|---|---|---|\n");
    for (unsigned size = 0; size < 3; size++)
        for (unsigned out = 0; out < 2; out++)
            for (unsigned d = 0; d < 5; d++) {
                double rate = measure_rate(out, sizes[size], depths[d], seconds);

                if (rate == 0) {
                    fprintf(stderr, "nvme_bench: a command has failed\n");
                    return false;
                }
                printf("| %s %u KiB | %u | %.0f | %.0f | %.0f |\n", out ? "write" : "read", sizes[size] / 1024,
                       depths[d], rate, rate * sizes[size] / 1048576, depths[d] * 1e6 / rate);
                fflush(stdout);
            }
    return true;
}

/* Loads the driver, with the target's address in the driver's registry, and reads the disk's capacity. */
static bool open_disk(const char *driver, const char *address, const char *name, ondk_wdk_driver_t **loaded)
{
    uint8_t capacity[8];
    uint32_t status = 1;
    char target[512];

    snprintf(target, sizeof target, "%s %s", address, name);
    ondk_verify_set_mode(ONDK_VERIFY_OFF);
    if (ondk_wdk_registry_set_text(KEY, "Targets", 1, target, (uint32_t)strlen(target)) ||
        ondk_wdk_load(driver, "nvme_initiator", loaded, &status) ||
        ondk_wdk_open("\\Device\\RaidPort0", &port, &status)) {
        fprintf(stderr, "nvme_bench: %s: 0x%08X, %s\n", driver, status, ondk_wdk_error());
        return false;
    }
    if (!scsi_command((uint8_t[10]){ 0x25 }, false, capacity, sizeof capacity)) {
        fprintf(stderr, "nvme_bench: %s has no disk\n", target);
        return false;
    }
    blocks = scsi_get32(capacity) + 1;
    block_size = scsi_get32(capacity + 4);
    return blocks >= MAX_BYTES / block_size;
}

int main(int argc, char **argv)
{
    double seconds = argc > 4 ? atof(argv[4]) : 1;
    ondk_wdk_driver_t *driver;
    uint32_t status;
    bool good;

    if (argc < 4 || seconds <= 0) {
        fprintf(stderr, "usage: nvme_bench DRIVER ADDRESS NQN [SECONDS]    SECONDS for each row, 1 by default\n");
        return 2;
    }
    if (!open_disk(argv[1], argv[2], argv[3], &driver))
        return 1;
    good = measure_all(seconds);
    ondk_wdk_close(port);
    return ondk_wdk_unload(driver, &status) == 0 && good ? 0 : 1;
}
