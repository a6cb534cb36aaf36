/* SPDX-License-Identifier: MIT */
/* Functions for all programs of the benchmark: see common.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <errno.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

double bench_clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * NS_PER_S + (double)t.tv_nsec;
}

void bench_die(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(1);
}

void *bench_pages(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        bench_die("mmap of %zu bytes: %s", size, strerror(errno));
    return memory;
}

void samples_init(struct samples *s, size_t capacity)
{
    s->values = bench_pages(capacity * sizeof *s->values);
    samples_clear(s);
    s->capacity = capacity;
}

void samples_clear(struct samples *s)
{
    atomic_store(&s->count, 0);
}

void samples_add(struct samples *s, double value)
{
    size_t i = atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);

    if (i < s->capacity)
        s->values[i] = value;
}

size_t samples_count(const struct samples *s)
{
    size_t count = atomic_load(&s->count);

    return count < s->capacity ? count : s->capacity;
}

static int samples_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double samples_quantile(struct samples *s, double q)
{
    size_t count = samples_count(s);

    if (!count)
        return 0;
    qsort(s->values, count, sizeof *s->values, samples_compare);
    return s->values[(size_t)(q * (double)(count - 1))];
}

double samples_median(struct samples *s)
{
    return samples_quantile(s, 0.5);
}

struct bench_usage bench_usage(void)
{
    struct mallinfo2 heap = mallinfo2();
    struct bench_usage now = { .heap = heap.uordblks + heap.hblkhd };
    unsigned long pages = 0;
    struct rusage u;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f) {
        if (fscanf(f, "%*u %lu", &pages) != 1)
            pages = 0;
        fclose(f);
    }
    now.rss = (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    getrusage(RUSAGE_SELF, &u);
    now.user = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
    now.system = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
    return now;
}

/* ---- two processes ---- */

pid_t bench_fork(int *control, unsigned seconds)
{
    struct rlimit limit = { BENCH_DESCRIPTORS, BENCH_DESCRIPTORS };
    int pair[2];
    pid_t parent = getpid(), child;

    if (setrlimit(RLIMIT_NOFILE, &limit))
        bench_die("cannot set the descriptor limit to %d: %s", BENCH_DESCRIPTORS, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        bench_die("socketpair: %s", strerror(errno));
    child = fork();
    if (child < 0)
        bench_die("fork: %s", strerror(errno));
    alarm(seconds + BENCH_GRACE_SECONDS);
    signal(SIGPIPE, SIG_IGN);
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
    }
    *control = pair[child ? 0 : 1];
    close(pair[child ? 1 : 0]);
    return child;
}

void bench_send(int control, const void *message, size_t size)
{
    if (send(control, message, size, MSG_NOSIGNAL) != (ssize_t)size)
        bench_die("the other process has ended");
}

bool bench_receive(int control, void *message, size_t size)
{
    return recv(control, message, size, MSG_WAITALL) == (ssize_t)size;
}

bool bench_answer_usage_once(int control)
{
    struct bench_usage now;
    char byte;

    if (!bench_receive(control, &byte, sizeof byte))
        return false;
    now = bench_usage();
    bench_send(control, &now, sizeof now);
    return true;
}

void bench_answer_usage(int control)
{
    while (bench_answer_usage_once(control))
        continue;
}

struct bench_usage bench_request_usage(int control)
{
    struct bench_usage theirs;

    bench_send(control, "", 1);
    if (!bench_receive(control, &theirs, sizeof theirs))
        bench_die("the other process has ended");
    return theirs;
}

void bench_join(pid_t child)
{
    int status = 0;

    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        bench_die("the second process failed (status %#x)", (unsigned)status);
}

/* ---- processors and sockets ---- */

bool bench_pin(unsigned n)
{
    cpu_set_t allowed, one;

    if (getenv("BENCH_FREE") || sched_getaffinity(0, sizeof allowed, &allowed))
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return !sched_setaffinity(0, sizeof one, &one);
    }
    return false;
}

struct bench_sockets bench_sockets(void)
{
    struct bench_sockets found = { .congestion = "unknown", .buffers = "unknown" };

    for (int fd = 3; fd < 1024; fd++) {
        char name[sizeof found.congestion] = "";
        socklen_t len = sizeof name - 1, peer_len = sizeof(struct sockaddr_storage), lock_len = sizeof(int);
        struct sockaddr_storage peer;
        int lock = 0;

        if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) || peer.ss_family == AF_UNIX ||
            getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len))
            continue;
        memcpy(found.congestion, name, sizeof name);
        if (!getsockopt(fd, SOL_SOCKET, SO_BUF_LOCK, &lock, &lock_len))
            found.buffers = lock ? "set" : "auto";
        break;
    }
    return found;
}
