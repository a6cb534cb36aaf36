/* SPDX-License-Identifier: MIT */
/*
 * Functions for all programs of the benchmark: time, samples, memory, the two processes of a measurement, processors.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BENCH_DESCRIPTORS = 20000, /* RLIMIT_NOFILE of each process */
    BENCH_GRACE_SECONDS = 60,  /* an alarm ends a process this long after bench_fork's `seconds` have passed */
    NS_PER_US = 1000,
    NS_PER_S = 1000000000,
};

uint64_t bench_now(void); /* nanoseconds, monotonic */

/* Prints a message and ends the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);

/* Allocates zeroed memory outside of the heap, so that bench_usage.heap does not contain the benchmark's own memory. */
void *bench_pages(size_t size);

/* Measured values. Values beyond the capacity are not stored. */
struct samples {
    double *values;
    atomic_size_t count; /* may exceed the capacity */
    size_t capacity;
};
void samples_init(struct samples *s, size_t capacity);
/* May be called by any thread. */
void samples_add(struct samples *s, double value);
void samples_clear(struct samples *s);
size_t samples_count(const struct samples *s);
/* Sorts the samples, and returns the quantile `q` (0 to 1), or 0 if there are no samples. */
double samples_quantile(struct samples *s, double q);

/* Memory and CPU time of this process. */
struct bench_usage {
    uint64_t heap;       /* bytes allocated by malloc */
    uint64_t rss;        /* resident bytes */
    double user, system; /* CPU time in seconds */
};
struct bench_usage bench_usage(void);

/*
 * Forks the second process and returns what fork returns. *control receives a socket to the other process. Each process
 * may open BENCH_DESCRIPTORS descriptors, and is ended by an alarm after `seconds` + BENCH_GRACE_SECONDS. The child is
 * killed when its parent ends.
 */
pid_t bench_fork(int *control, unsigned seconds);
void bench_send(int control, const void *message, size_t size);
bool bench_receive(int control, void *message, size_t size); /* returns false if the other process has ended */
/*
 * Answers the other process's requests for this process's CPU time and memory, until the other process closes the
 * control socket. bench_answer_usage_once answers one request, and returns false if the other process has closed the
 * socket.
 */
void bench_answer_usage(int control);
bool bench_answer_usage_once(int control);
/* Returns the usage of the other process. */
struct bench_usage bench_request_usage(int control);
/* Waits for the child. Ends this process if the child has failed. */
void bench_join(pid_t child);

/*
 * Pins the calling thread, and the threads that it creates later, to the n-th processor that this process may use.
 * Returns false if there is no such processor, or if BENCH_FREE is in the environment.
 */
bool bench_pin(unsigned n);

/* The congestion control of this process's first TCP connection, and who has set the connection's buffer sizes. */
struct bench_sockets {
    char congestion[32];
    const char *buffers; /* "auto" if the kernel chooses the sizes, "set" if the program has set them */
};
struct bench_sockets bench_sockets(void);

#endif
