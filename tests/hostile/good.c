/* SPDX-License-Identifier: MIT */
/*
 * Clients without faults. Each thread connects, sends messages, compares every byte of the echoes, disconnects, and
 * starts again. Prints the counts as one line of JSON.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "address.h"
#include "consumer/consumer.h"
#include "interface.h"
#include "number.h"
#include "openndk/reason.h"

static const char usage[] = "good [options] ADDRESS:PORT\n"
                            "\n"
                            "  --threads N       clients at a time (1)\n"
                            "  --rounds N        connections of each (1)\n"
                            "  --count N         messages of each connection (4)\n"
                            "  --size N          bytes of a message (64)\n"
                            "  --until-stdin     messages go on till standard input ends, --count at least\n"
                            "  --from ADDRESS    source address\n";

enum { PATIENCE_S = 120, MAX_THREADS = 1024, MAX_FAILURES = 32, MAX_TIMES = 1 << 16 };
enum { THREADS = 1, ROUNDS, COUNT, SIZE, UNTIL_STDIN, FROM };

/* clang-format off */
static const struct option long_options[] = {
    { "threads", required_argument, NULL, THREADS }, { "rounds", required_argument, NULL, ROUNDS },
    { "count", required_argument, NULL, COUNT },     { "size", required_argument, NULL, SIZE },
    { "until-stdin", no_argument, NULL, UNTIL_STDIN }, { "from", required_argument, NULL, FROM },
    { NULL, 0, NULL, 0 },
};
/* clang-format on */

static struct {
    uint32_t threads, rounds, count, size;
    bool until_stdin;
    struct sockaddr_storage to, from;
} options = { .threads = 1, .rounds = 1, .count = 4, .size = 64 };

static struct consumer base; /* all clients use its adapter */
static atomic_bool stdin_ended;
static atomic_uint at_first_message;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static struct {
    uint32_t tried, connected, served;
    uint64_t messages, wrong_bytes;
    struct {
        char name[96];
        uint32_t count;
    } failures[MAX_FAILURES];
    uint32_t failure_count;
    uint32_t times_us[MAX_TIMES], times_count;
} totals;

struct client {
    struct consumer c;
    struct consumer_region memory; /* a message, then room for its echo */
    uint32_t number;
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

static void count_failure(const char *step, NTSTATUS status, uint32_t reason)
{
    char name[96];
    uint32_t i = 0;

    snprintf(name, sizeof name, "%s %s %s", step, ondk_status_name(status), reason ? ondk_reason_name(reason) : "");
    pthread_mutex_lock(&lock);
    while (i < totals.failure_count && strcmp(totals.failures[i].name, name) != 0)
        i++;
    if (i == totals.failure_count && i < MAX_FAILURES)
        memcpy(totals.failures[totals.failure_count++].name, name, sizeof name);
    if (i < MAX_FAILURES)
        totals.failures[i].count++;
    pthread_mutex_unlock(&lock);
}

static void count_message(uint64_t since_us, uint64_t wrong)
{
    pthread_mutex_lock(&lock);
    totals.messages++;
    totals.wrong_bytes += wrong;
    if (totals.times_count < MAX_TIMES)
        totals.times_us[totals.times_count++] = (uint32_t)(now_us() - since_us);
    pthread_mutex_unlock(&lock);
}

/* Waits for the results of the send and of the echo. Returns false after a failure, which it counts. */
static bool wait_echo(struct client *k)
{
    NDK_RESULT_EX result = { .Status = STATUS_IO_TIMEOUT };

    for (int i = 0; i < 2; i++) {
        if (consumer_next_result(&k->c, &result, PATIENCE_S) && NT_SUCCESS(result.Status))
            continue;
        count_failure("message", result.Status, ondk_connector_reason(k->c.connector));
        return false;
    }
    return true;
}

static bool message(struct client *k, uint32_t round)
{
    uint32_t size = options.size;
    uint8_t *out = k->memory.memory, *in = out + size;
    NDK_SGE sent = consumer_region_sge(&k->memory, 0, size), echoed = consumer_region_sge(&k->memory, size, size);
    uint64_t since = now_us(), wrong = 0;
    NTSTATUS status;

    for (uint32_t i = 0; i < size; i++) {
        out[i] = (uint8_t)(k->number * 13 + round * 5 + i);
        in[i] = (uint8_t)~out[i];
    }
    status = k->c.qp->Dispatch->NdkReceive(k->c.qp, NULL, &echoed, 1);
    if (NT_SUCCESS(status))
        status = k->c.qp->Dispatch->NdkSend(k->c.qp, NULL, &sent, 1, 0);
    if (!NT_SUCCESS(status)) {
        count_failure("post", status, ondk_connector_reason(k->c.connector));
        return false;
    }
    if (!wait_echo(k))
        return false;
    for (uint32_t i = 0; i < size; i++)
        wrong += in[i] != out[i];
    count_message(since, wrong);
    return true;
}

static bool goes_on(uint32_t done)
{
    return done < options.count || (options.until_stdin && !atomic_load(&stdin_ended));
}

static bool use(struct client *k)
{
    struct timespec pause = { .tv_nsec = 1000000 };

    for (uint32_t i = 0; goes_on(i); i++) {
        if (!message(k, i))
            return false;
        if (i == 0)
            atomic_fetch_add(&at_first_message, 1);
        if (options.until_stdin)
            nanosleep(&pause, NULL);
    }
    return true;
}

static bool establish(struct client *k)
{
    const struct consumer_limits limits = { 1, 1 };
    const char *step = "connect";
    NTSTATUS status = consumer_connect(&k->c, (struct sockaddr *)&options.from, (struct sockaddr *)&options.to, limits,
                                       NULL, 0);

    if (NT_SUCCESS(status)) {
        step = "complete";
        status = consumer_complete_connect(&k->c);
    }
    if (NT_SUCCESS(status))
        return true;
    count_failure(step, status, ondk_connector_reason(k->c.connector));
    return false;
}

static void one_connection(struct client *k)
{
    const char *step;
    bool connected = false, served = false;
    NTSTATUS status = consumer_open_on_adapter(&k->c, &base, &step);

    if (NT_SUCCESS(status))
        status = consumer_region_create(&k->memory, k->c.pd, 2 * options.size, CONSUMER_ALL_RIGHTS);
    if (!NT_SUCCESS(status)) {
        count_failure(step, status, 0);
    } else if (establish(k)) {
        connected = true;
        served = use(k);
        status = consumer_disconnect(&k->c);
        if (served && !NT_SUCCESS(status)) {
            count_failure("disconnect", status, 0);
            served = false;
        }
    }
    consumer_close_qp(&k->c);
    consumer_region_destroy(&k->memory);
    consumer_close(&k->c);
    pthread_mutex_lock(&lock);
    totals.tried++;
    totals.connected += connected;
    totals.served += served;
    pthread_mutex_unlock(&lock);
}

static void *run(void *context)
{
    struct client *k = context;

    for (uint32_t i = 0; i < options.rounds; i++) {
        one_connection(k);
        k->number += options.threads;
    }
    return NULL;
}

static bool set_option(int option)
{
    uint32_t *const numbers[] = {
        [THREADS] = &options.threads, [ROUNDS] = &options.rounds, [COUNT] = &options.count, [SIZE] = &options.size
    };

    if (option == UNTIL_STDIN)
        return options.until_stdin = true;
    if (option == FROM)
        return address_parse(optarg, false, &options.from);
    return option != '?' && number_parse(optarg, 1, option == THREADS ? MAX_THREADS : 1000000, numbers[option]);
}

static bool parse(int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        if (!set_option(option))
            return false;
    if (argc - optind != 1 || !address_parse(argv[optind], true, &options.to))
        return false;
    return options.from.ss_family || address_own(&options.to, &options.from);
}

static int compare_times(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void print_totals(void)
{
    uint32_t n = totals.times_count;

    qsort(totals.times_us, n, sizeof totals.times_us[0], compare_times);
    printf("{\"tried\": %u, \"connected\": %u, \"served\": %u, \"messages\": %llu, \"wrong_bytes\": %llu, "
           "\"p50_us\": %u, \"p99_us\": %u, \"failures\": {",
           totals.tried, totals.connected, totals.served, (unsigned long long)totals.messages,
           (unsigned long long)totals.wrong_bytes, n ? totals.times_us[(n - 1) / 2] : 0,
           n ? totals.times_us[(uint64_t)(n - 1) * 99 / 100] : 0);
    for (uint32_t i = 0; i < totals.failure_count; i++)
        printf("%s\"%s\": %u", i ? ", " : "", totals.failures[i].name, totals.failures[i].count);
    printf("}}\n");
}

/* Prints `ready` after the first echo of all clients, and waits for the end of standard input. */
static void wait_for_stdin(void)
{
    struct timespec pause = { .tv_nsec = 5000000 };
    char any[64];

    while (atomic_load(&at_first_message) < options.threads && !totals.failure_count)
        nanosleep(&pause, NULL);
    printf("ready\n");
    fflush(stdout);
    while (read(STDIN_FILENO, any, sizeof any) > 0)
        ;
    atomic_store(&stdin_ended, true);
}

int main(int argc, char **argv)
{
    static struct client clients[MAX_THREADS];
    static pthread_t threads[MAX_THREADS];
    const char *step;
    NTSTATUS status;

    if (!parse(argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    status = consumer_open(&base, interface_of_address(&options.from), &step);
    if (!NT_SUCCESS(status)) {
        fprintf(stderr, "good: %s: %s\n", step, ondk_status_name(status));
        return 3;
    }
    for (uint32_t i = 0; i < options.threads; i++) {
        clients[i].number = i;
        pthread_create(&threads[i], NULL, run, &clients[i]);
    }
    if (options.until_stdin)
        wait_for_stdin();
    for (uint32_t i = 0; i < options.threads; i++)
        pthread_join(threads[i], NULL);
    consumer_close(&base);
    print_totals();
    return 0;
}
