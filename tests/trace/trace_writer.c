/* SPDX-License-Identifier: MIT */
/*
 * trace_writer CASE [COUNT] records events into the file of ONDK_TRACE, which format_test.py reads. The events
 * are those of adapters: `id` and `interface` count them, and `object` is the same for all events of a thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/trace.h"

enum { MAX_THREADS = 64, EVENTS_OF_A_THREAD = 6000 };

static pthread_barrier_t barrier;

static void begin(void)
{
    char problem[TRACE_MAX_PROBLEM];

    if (trace_start(problem))
        return;
    printf("%s\n", problem);
    exit(3);
}

static void record(uint32_t from, uint32_t count, uint64_t object)
{
    for (uint32_t i = from; i < from + count; i++)
        TRACE(adapter, i, .object = object, .interface = i, .name = trace_text16("test"), .major = 2, .minor = 1);
}

static void *record_many(void *argument)
{
    record(1, EVENTS_OF_A_THREAD, (uintptr_t)argument);
    return NULL;
}

static void *record_few(void *argument)
{
    record(1, 3, (uintptr_t)argument);
    return NULL;
}

/* All threads have recorded an event before one of them ends. */
static void *record_together(void *argument)
{
    record_few(argument);
    (void)pthread_barrier_wait(&barrier);
    return NULL;
}

static void create(pthread_t *thread, void *(*run)(void *), uintptr_t number)
{
    if (pthread_create(thread, NULL, run, (void *)number))
        abort();
}

static void run_at_once(void *(*run)(void *), unsigned count)
{
    pthread_t threads[MAX_THREADS];

    if (count > MAX_THREADS || pthread_barrier_init(&barrier, NULL, count))
        abort();
    for (unsigned i = 0; i < count; i++)
        create(&threads[i], run, i + 1);
    for (unsigned i = 0; i < count; i++)
        (void)pthread_join(threads[i], NULL);
}

static void run_one_by_one(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        pthread_t thread;

        create(&thread, record_few, i + 1);
        (void)pthread_join(thread, NULL);
    }
}

/* The child records before and after trace_start, the parent after the child has ended. */
static void run_fork(void)
{
    int status = -1;
    pid_t child;

    record(1, 10, 1);
    child = fork();
    if (child == 0) {
        record(100, 10, 2);
        begin();
        record(200, 10, 3);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        abort();
    record(11, 10, 1);
    printf("%d\n", (int)child);
}

/* Records until standard input ends. */
static void run_until_end(void)
{
    uint32_t next = 1;

    if (fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK))
        abort();
    for (char byte; read(STDIN_FILENO, &byte, 1) != 0; next += 1000)
        record(next, 1000, 1);
}

/* Records, prints a line, and waits until standard input ends. */
static void run_wait(unsigned count)
{
    char byte;

    record(1, count, 1);
    printf("recorded\n");
    (void)fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;

    begin();
    begin(); /* has no effect */
    if (!strcmp(name, "record"))
        record(1, count, 1);
    else if (!strcmp(name, "threads"))
        run_at_once(record_many, count);
    else if (!strcmp(name, "together"))
        run_at_once(record_together, count);
    else if (!strcmp(name, "one-by-one"))
        run_one_by_one(count);
    else if (!strcmp(name, "fork"))
        run_fork();
    else if (!strcmp(name, "until-end"))
        run_until_end();
    else if (!strcmp(name, "wait"))
        run_wait(count);
    else if (strcmp(name, "kill") != 0)
        return 2;
    if (!strcmp(name, "kill")) {
        record(1, count, 1);
        (void)kill(getpid(), SIGKILL);
    }
    return 0;
}
