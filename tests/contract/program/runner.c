/* SPDX-License-Identifier: MIT */
/* Runs a case in a process of its own with a watchdog, and records the result. */
#define _GNU_SOURCE
#include "contract/program/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_SKIPPED = 77, WATCHDOG_SECONDS = 60, WATCHDOG_SLOW_SECONDS = 300, PROBE_SECONDS = 20 };

static struct kit_case *first_case, **last_case = &first_case;
static int current_family = AF_INET;

/* Shared with the case's process, which stores here why it failed or was skipped. The first reason remains. */
static struct shared {
    atomic_int has_reason;
    char reason[sizeof((struct run_result *)0)->reason];
} * shared;

void kit_register(struct kit_case *c)
{
    *last_case = c;
    last_case = &c->next;
}

const struct kit_case *run_first_case(void)
{
    return first_case;
}

int kit_family(void)
{
    return current_family;
}

/* ---- the case's process ---- */

static void __attribute__((format(printf, 1, 0))) run_set_reason(const char *format, va_list args)
{
    if (shared && atomic_exchange(&shared->has_reason, 1) == 0)
        vsnprintf(shared->reason, sizeof shared->reason, format, args);
}

void kit_fail(const char *file, int line, const char *format, ...)
{
    const char *name = strrchr(file, '/');
    va_list args, again;

    fprintf(stderr, "  %s:%d: ", name ? name + 1 : file, line);
    va_start(args, format);
    va_copy(again, args);
    run_set_reason(format, again);
    va_end(again);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    fflush(NULL);
    _exit(1);
}

void kit_skip(const char *format, ...)
{
    va_list args, again;

    fputs("  skipped: ", stdout);
    va_start(args, format);
    va_copy(again, args);
    run_set_reason(format, again);
    va_end(again);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(NULL);
    _exit(EXIT_SKIPPED);
}

static void run_set_loopback_up(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int s = socket(AF_INET, SOCK_DGRAM, 0);

    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &request) != 0)
        kit_skip("cannot set up lo in a network namespace: %s", strerror(errno));
    close(s);
}

static void run_write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        kit_skip("cannot write %s: %s", path, strerror(errno));
    close(fd);
}

/* Creates a user namespace too, for a user without privileges. As its root, the case may run ip and nft. */
static void run_unshare_user_network(void)
{
    char uid[32], gid[32];

    snprintf(uid, sizeof uid, "0 %u 1", (unsigned)geteuid());
    snprintf(gid, sizeof gid, "0 %u 1", (unsigned)getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        kit_skip("no network namespace to be had: %s", strerror(errno));
    run_write_file("/proc/self/setgroups", "deny");
    run_write_file("/proc/self/uid_map", uid);
    run_write_file("/proc/self/gid_map", gid);
}

static void run_child_main(const struct kit_case *c, int family)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    current_family = family;
    if (c->flags & KIT_NETNS) {
        if (unshare(CLONE_NEWNET) != 0)
            run_unshare_user_network();
        run_set_loopback_up();
    }
    if (!(c->flags & KIT_DEFAULTS))
        run_without_limits();
    c->run();
    fflush(NULL);
    exit(0); /* not _exit: LeakSanitizer runs at exit */
}

static double run_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- its output ---- */

static void run_record(struct run_result *r, FILE *echo, const char *bytes, size_t len)
{
    size_t room = RUN_MAX_OUTPUT - r->len, kept = len < room ? len : room;
    char *grown = kept ? realloc(r->output, r->len + kept) : NULL;

    if (grown) {
        r->output = grown;
        memcpy(grown + r->len, bytes, kept);
        r->len += kept;
    }
    fwrite(bytes, 1, len, echo);
    fflush(echo);
}

/* Returns false at the end of the stream. */
static bool run_read_output(int from, struct run_result *r, FILE *echo)
{
    char bytes[4096];
    ssize_t n;

    while ((n = read(from, bytes, sizeof bytes)) > 0)
        run_record(r, echo, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/*
 * Records the child's output until the child has ended. The watchdog ends it after `seconds`. They are counted one by
 * one, so that time in which the machine or this process was stopped does not count. The stream may outlive the child,
 * because a process that the child has started may have it open.
 */
static void run_watch(pid_t child, unsigned seconds, int from, struct run_result *r, FILE *echo)
{
    struct pollfd fds[2] = { { .fd = from, .events = POLLIN }, { .fd = pidfd_open(child, 0), .events = POLLIN } };
    double now, before = run_now(), left = seconds;

    fcntl(from, F_SETFL, O_NONBLOCK);
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        if (poll(fds, 2, 1000) < 0 && errno != EINTR)
            break;
        now = run_now();
        left -= now - before < 1.5 ? now - before : 1.5;
        before = now;
        if (left < 0)
            kill(child, SIGALRM);
        if (fds[0].fd >= 0 && !run_read_output(from, r, echo))
            fds[0].fd = -1;
        if (fds[1].revents)
            break;
    }
    if (fds[0].fd >= 0)
        run_read_output(from, r, echo);
    if (fds[1].fd >= 0)
        close(fds[1].fd);
}

/* ---- its result ---- */

static void __attribute__((format(printf, 3, 4)))
run_set_failure(struct run_result *r, FILE *echo, const char *format, ...)
{
    char line[sizeof r->reason + 4];
    va_list args;

    va_start(args, format);
    vsnprintf(r->reason, sizeof r->reason, format, args);
    va_end(args);
    snprintf(line, sizeof line, "  %s\n", r->reason);
    run_record(r, echo, line, strlen(line));
}

/* The reason of a case that no check has ended: a sanitizer's summary, or its exit status. */
static void run_find_reason(struct run_result *r, int status)
{
    static const char mark[] = "SUMMARY: ";
    const char *at = r->output ? memmem(r->output, r->len, mark, sizeof mark - 1) : NULL;
    size_t left = at ? (size_t)(r->output + r->len - at) : 0, len = 0;

    while (len < left && at[len] != '\n')
        len++;
    if (len)
        snprintf(r->reason, sizeof r->reason, "%.*s", (int)len, at);
    else
        snprintf(r->reason, sizeof r->reason, "ended with exit status %d", status);
}

static void run_set_outcome(struct run_result *r, FILE *echo, int status)
{
    r->outcome = RUN_FAILED;
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGALRM)
            run_set_failure(r, echo, "still waiting when the watchdog ended it");
        else
            run_set_failure(r, echo, "killed by signal %d", WTERMSIG(status));
        return;
    }
    if (WEXITSTATUS(status) == 0)
        r->outcome = RUN_PASSED;
    else if (WEXITSTATUS(status) == EXIT_SKIPPED)
        r->outcome = RUN_SKIPPED;
    if (r->outcome != RUN_PASSED && shared->has_reason)
        memcpy(r->reason, shared->reason, sizeof r->reason);
    else if (r->outcome != RUN_PASSED)
        run_find_reason(r, WEXITSTATUS(status));
}

/* Forks. The child's output can be read from *from. Returns as fork does. */
static pid_t run_fork(int *from)
{
    int ends[2];
    pid_t child;

    if (!shared)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0) {
        perror("ndkconform");
        exit(2);
    }
    memset(shared, 0, sizeof *shared);
    fflush(NULL);
    child = fork();
    if (child < 0) {
        perror("ndkconform: fork");
        exit(2);
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing else would end it */
        dup2(ends[1], STDOUT_FILENO);
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
    }
    close(ends[1]);
    *from = ends[0];
    return child;
}

void run_case(const struct kit_case *c, int family, unsigned watchdog, FILE *echo, struct run_result *r)
{
    double begun = run_now();
    int status, from;
    pid_t child = run_fork(&from);

    if (child == 0)
        run_child_main(c, family);
    if (!watchdog)
        watchdog = c->flags & KIT_SLOW ? WATCHDOG_SLOW_SECONDS : WATCHDOG_SECONDS;
    *r = (struct run_result){ .c = c, .family = family };
    run_watch(child, watchdog, from, r, echo);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(from);
    r->seconds = run_now() - begun;
    run_set_outcome(r, echo, status);
}

const char *run_outcome_name(enum run_outcome o)
{
    return o == RUN_PASSED ? "passed" : o == RUN_SKIPPED ? "skipped" : "FAILED";
}

const char *run_family_name(const struct run_result *r)
{
    return !(r->c->flags & KIT_FAMILIES) ? NULL : r->family == AF_INET ? "IPv4" : "IPv6";
}

/* ---- the adapter ---- */

static _Noreturn void probe_main(struct kit_adapter *found)
{
    NDK_ADAPTER *adapter;
    ULONG size = sizeof found->info;

    adapter = kit_open(2, 1);
    found->known = adapter->Dispatch->NdkQueryAdapterInfo(adapter, &found->info, &size) == STATUS_SUCCESS;
    fflush(NULL);
    _exit(0);
}

/* Prints nothing: if the adapter cannot be opened, the cases fail with the reason. */
void run_probe(void)
{
    struct kit_adapter *found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct run_result unused = { 0 };
    FILE *nowhere = fopen("/dev/null", "w");
    int status, from;
    pid_t child;

    if (found == MAP_FAILED || !nowhere) {
        perror("ndkconform");
        exit(2);
    }
    child = run_fork(&from);
    if (child == 0)
        probe_main(found);
    run_watch(child, PROBE_SECONDS, from, &unused, nowhere);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    close(from);
    fclose(nowhere);
    free(unused.output);
    kit_adapter = *found;
    munmap(found, sizeof *found);
}
