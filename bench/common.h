/* SPDX-License-Identifier: MIT */
/*
 * Functions for all programs of the benchmark: time, samples, memory and processors, and the two processes of a
 * measurement.
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum {
    BENCH_DESCRIPTORS = 20000, /* RLIMIT_NOFILE of each process */
    BENCH_GRACE_SECONDS = 60,  /* see bench_fork */
    NS_PER_US = 1000,
    NS_PER_S = 1000000000,
};

uint64_t bench_now(void); /* nanoseconds, monotonic */
double bench_clock_ns(clockid_t clock);

/* Prints a message and ends the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);

/* Allocates zeroed memory with mmap, not malloc, so that bench_usage.heap does not include the benchmark's memory. */
void *bench_pages(size_t size);

/* A list of measured values. */
struct samples {
    double *values;
    atomic_size_t count; /* number of calls of samples_add; may exceed `capacity` */
    size_t capacity;     /* maximum number of stored values */
};
void samples_init(struct samples *s, size_t capacity);
/* Stores the value. If the list is full, only counts the value. Any thread may call this function. */
void samples_add(struct samples *s, double value);
void samples_clear(struct samples *s);
size_t samples_count(const struct samples *s);
/* Sorts the samples, and returns the quantile `q` (0 to 1), or 0 if there are no samples. */
double samples_quantile(struct samples *s, double q);
double samples_median(struct samples *s);

/* The memory and CPU time of this process. */
struct bench_usage {
    uint64_t heap;       /* bytes allocated by malloc */
    uint64_t rss;        /* resident bytes */
    double user, system; /* CPU time in seconds */
};
struct bench_usage bench_usage(void);

/*
 * Forks the second process. Returns 0 in the child, and the child's process ID in the parent. In each process, sets
 * *control to a socket that is connected to the other process. Each process may open BENCH_DESCRIPTORS descriptors.
 * After `seconds` + BENCH_GRACE_SECONDS, an alarm ends each process. The kernel kills the child when the parent ends.
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
/* Waits until the child has ended. If the child has failed, prints a message and ends this process. */
void bench_join(pid_t child);

/*
 * Pins the calling thread to processor `n` of the processors that this process may use, counted from 0. Threads that
 * this thread creates later are pinned, too. Returns false if there is no such processor, or if BENCH_FREE is in the
 * environment.
 */
bool bench_pin(unsigned n);

/* The socket options of the first TCP connection of this process. */
struct bench_sockets {
    char congestion[32]; /* the name of the congestion control, for example "cubic" */
    const char *buffers; /* "auto": the kernel chooses the buffer sizes; "set": the program has set the buffer sizes */
};
struct bench_sockets bench_sockets(void);

#endif
