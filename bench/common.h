/* SPDX-License-Identifier: MIT */
/* What all parts of the benchmark share: time, samples, memory, the two processes of a measurement, processors. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    BENCH_DESCRIPTORS = 20000, /* RLIMIT_NOFILE of each process */
    BENCH_GRACE_SECONDS = 60,  /* a measurement that takes this much longer than it should is ended */
    NS_PER_US = 1000,
    NS_PER_S = 1000000000,
};

uint64_t bench_now(void); /* nanoseconds, monotonic */

/* Says what failed and ends the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) void bench_die(const char *format, ...);

/* Memory that is not the heap's, zeroed: what the benchmark needs for itself does not show in its figures. */
void *bench_pages(size_t size);

/* Samples beyond the capacity are dropped. Sorted by quantile. */
struct samples {
    double *values;
    size_t count, capacity;
};
void samples_init(struct samples *s, size_t capacity);
void samples_add(struct samples *s, double value);
double samples_quantile(struct samples *s, double q); /* 0 without samples */

/* What this process has used. */
struct bench_usage {
    uint64_t heap; /* bytes that malloc has given out */
    uint64_t rss;  /* bytes resident */
    double user, system; /* seconds of CPU */
};
struct bench_usage bench_usage(void);

/*
 * The second process. Both have a control socket to the other, a limit of BENCH_DESCRIPTORS, and an alarm that ends
 * them when seconds and the grace are over; the child dies with its parent. Returns as fork does.
 */
pid_t bench_fork(int *control, unsigned seconds);
void bench_tell(int control, const void *message, size_t size);
bool bench_hear(int control, void *message, size_t size); /* false: the other one has gone */
/* Answers each byte from the other process by this one's usage, until it closes the socket; or once. */
void bench_answer(int control);
bool bench_answer_once(int control);
/* Asks the other process for that. */
struct bench_usage bench_ask(int control);
/* Waits for the child, which must have ended well. */
void bench_join(pid_t child);

/*
 * The calling thread, and those it makes, to the n-th of the processors that we may use; false where that is not done:
 * there is none, or the environment has BENCH_FREE.
 */
bool bench_pin(unsigned n);

/* The first TCP connection among this process's descriptors: its congestion control, and who chooses its buffers. */
struct bench_sockets {
    char congestion[32];
    const char *buffers; /* "auto": the kernel; "set": the program */
};
struct bench_sockets bench_sockets(void);

#endif
