/* SPDX-License-Identifier: MIT */
/*
 * Runs cases in processes of their own, several at the same time. Each case has a watchdog and, if there are several
 * jobs, a network namespace of its own. The lines appear in the order of the cases: what a case prints waits until all
 * cases before it are done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contract/program/runner.h"
#include "terminal.h"

enum { WATCHDOG_SECONDS = 60, WATCHDOG_SLOW_SECONDS = 300, PROBE_SECONDS = 20 };

/* Runs one case at a time, in a process of its own. */
struct job {
    struct run_result *result; /* NULL: the job is free */
    struct run_reason *reason;
    pid_t child;
    /* from: the read end of the child's output, -1 after the output has ended. ended: the child's pidfd. */
    int from, ended;
    double begun, checked, left;
};

/* The state of a run: its jobs, and the results of its cases. */
struct jobs {
    const struct jobs_options *options;
    struct job all[MAX_JOBS];
    struct run_result *results;
    /*
     * `count`: number of cases. `next`: index of the next case to start. `front`: index of the first case whose output
     * is not yet printed completely.
     */
    size_t count, next, front;
    size_t done, failed;
};

static volatile sig_atomic_t interrupted;

bool jobs_is_interrupted(void)
{
    return interrupted;
}

static void jobs_on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The first signal ends the run, the second one the program. */
static void jobs_catch_interrupts(void)
{
    struct sigaction action = { .sa_handler = jobs_on_interrupt, .sa_flags = SA_RESETHAND };

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static double jobs_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void jobs_fatal(const char *what)
{
    fprintf(stderr, "ndkconform: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ---- output ---- */

static void job_record(struct run_result *r, const char *bytes, size_t len)
{
    size_t room = RUN_MAX_OUTPUT - r->len, kept = len < room ? len : room;
    char *grown = kept ? realloc(r->output, r->len + kept) : NULL;

    if (grown) {
        r->output = grown;
        memcpy(grown + r->len, bytes, kept);
        r->len += kept;
    }
    r->lost += grown || !kept ? len - kept : len;
}

/* Prints what the case has printed since the last call. */
static void job_print(struct run_result *r, FILE *lines)
{
    if (r->printed == r->len)
        return;
    progress_clear();
    fwrite(r->output + r->printed, 1, r->len - r->printed, lines);
    r->printed = r->len;
    fflush(lines);
}

static void job_print_result(const struct run_result *r, FILE *lines)
{
    const char *name = run_family_name(r);
    bool is_red = r->outcome == RUN_FAILED;

    progress_clear();
    if (r->lost)
        fprintf(lines, "  (%zu bytes more)\n", r->lost);
    fprintf(lines, "%s%s%s%s: %s%s%s\n", r->c->name, name ? " (" : "", name ? name : "", name ? ")" : "",
            is_red ? terminal_style(lines, STYLE_RED) : "", run_outcome_name(r->outcome),
            is_red ? terminal_style(lines, STYLE_NONE) : "");
    fflush(lines);
}

/* Prints the output of the cases in their order, up to the first case that is not done. */
static void jobs_print(struct jobs *j)
{
    for (; j->front < j->next; j->front++) {
        struct run_result *r = &j->results[j->front];

        job_print(r, j->options->lines);
        if (!r->is_done)
            return;
        job_print_result(r, j->options->lines);
    }
}

static void jobs_show_progress(const struct jobs *j)
{
    const struct run_result *r = j->front < j->count ? &j->results[j->front] : NULL;

    if (r)
        progress_show("%zu of %zu cases, %zu failed; %s", j->done, j->count, j->failed, r->c->name);
}

/* Records the output that has arrived. Returns false at the end of the stream or after an error. */
static bool job_read(struct job *job)
{
    char bytes[4096];
    ssize_t n;

    while ((n = read(job->from, bytes, sizeof bytes)) > 0)
        job_record(job->result, bytes, (size_t)n);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* ---- results ---- */

static void __attribute__((format(printf, 2, 3))) job_set_failure(struct run_result *r, const char *format, ...)
{
    char line[RUN_MAX_REASON + 4];
    va_list args;

    va_start(args, format);
    vsnprintf(r->reason, sizeof r->reason, format, args);
    va_end(args);
    snprintf(line, sizeof line, "  %s\n", r->reason);
    job_record(r, line, strlen(line));
}

/* Sets the reason of a failure that no check has reported: a sanitizer's summary, or the exit status. */
static void job_find_reason(struct run_result *r, int status)
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

static void job_set_outcome(struct job *job, int status)
{
    struct run_result *r = job->result;

    r->outcome = RUN_FAILED;
    if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGALRM)
            job_set_failure(r, "still waiting when the watchdog ended it");
        else
            job_set_failure(r, "killed by signal %d", WTERMSIG(status));
        return;
    }
    if (WEXITSTATUS(status) == 0)
        r->outcome = RUN_PASSED;
    else if (WEXITSTATUS(status) == RUN_EXIT_SKIPPED)
        r->outcome = RUN_SKIPPED;
    if (r->outcome != RUN_PASSED && job->reason->is_set)
        memcpy(r->reason, job->reason->text, sizeof r->reason);
    else if (r->outcome != RUN_PASSED)
        job_find_reason(r, WEXITSTATUS(status));
}

/* ---- a process ---- */

/* The child leaves the terminal's process group, because Ctrl-C must end the run and not the child. */
static void job_init_child(int output)
{
    struct sigaction standard = { .sa_handler = SIG_DFL };

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* so that the child does not outlive this process */
    (void)setpgid(0, 0);
    sigaction(SIGINT, &standard, NULL);
    sigaction(SIGTERM, &standard, NULL);
    sigaction(SIGPIPE, &standard, NULL); /* the program ignores it */
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

/* Forks. Returns as fork does. */
static pid_t job_fork(struct job *job, struct run_result *r, unsigned seconds)
{
    int ends[2];

    if (!job->reason)
        job->reason = mmap(NULL, sizeof *job->reason, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->reason == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
        jobs_fatal("a case's process");
    memset(job->reason, 0, sizeof *job->reason);
    fflush(NULL);
    job->result = r;
    job->begun = job->checked = jobs_now();
    job->left = seconds;
    job->child = fork();
    if (job->child < 0)
        jobs_fatal("fork");
    if (job->child == 0) {
        job_init_child(ends[1]);
        return 0;
    }
    close(ends[1]);
    job->from = ends[0];
    job->ended = pidfd_open(job->child, 0);
    if (job->ended < 0)
        jobs_fatal("pidfd_open");
    fcntl(job->from, F_SETFL, O_NONBLOCK);
    return job->child;
}

/*
 * Kills the child when its time is over. Each call subtracts the time since the previous call, but at most 1.5 s. A
 * longer time means that the machine or this process was stopped.
 */
static void job_check_watchdog(struct job *job)
{
    double now = jobs_now(), passed = now - job->checked;

    job->left -= passed < 1.5 ? passed : 1.5;
    job->checked = now;
    if (job->left < 0)
        kill(job->child, SIGALRM);
}

/*
 * Waits for the child, which has ended or was killed, and frees the job. Does not wait for the end of the output,
 * because another process may still have it open.
 */
static void job_end(struct job *job)
{
    int status;

    if (job->from >= 0)
        (void)job_read(job);
    while (waitpid(job->child, &status, 0) < 0 && errno == EINTR)
        ;
    if (job->from >= 0)
        close(job->from);
    close(job->ended);
    job->result->seconds = jobs_now() - job->begun;
    if (job->result->c)
        job_set_outcome(job, status);
    job->result = NULL;
}

/* Waits for output or the end of a process. Ends the jobs whose process has ended, and returns their number. */
static size_t jobs_poll(struct job *all, unsigned count)
{
    struct pollfd fds[2 * MAX_JOBS];
    size_t ended = 0;

    for (unsigned i = 0; i < count; i++) {
        fds[2 * i] = (struct pollfd){ .fd = all[i].result ? all[i].from : -1, .events = POLLIN };
        fds[2 * i + 1] = (struct pollfd){ .fd = all[i].result ? all[i].ended : -1, .events = POLLIN };
    }
    if (poll(fds, 2 * count, 1000) < 0 && errno != EINTR)
        jobs_fatal("poll");
    for (unsigned i = 0; i < count; i++) {
        struct job *job = &all[i];

        if (!job->result)
            continue;
        job_check_watchdog(job);
        if (job->from >= 0 && !job_read(job)) {
            close(job->from);
            job->from = -1;
        }
        if (fds[2 * i + 1].revents) {
            job_end(job);
            ended++;
        }
    }
    return ended;
}

/* ---- all cases ---- */

static void jobs_start(struct jobs *j, unsigned index)
{
    struct run_result *r = &j->results[j->next++];
    unsigned seconds = j->options->watchdog     ? j->options->watchdog
                       : r->c->flags & KIT_SLOW ? WATCHDOG_SLOW_SECONDS
                                                : WATCHDOG_SECONDS;
    struct job *job = &j->all[index];

    if (job_fork(job, r, seconds) != 0)
        return;
    if (j->options->namespaces && setns(j->options->namespaces[index], CLONE_NEWNET) != 0)
        kit_fail(__FILE__, __LINE__, "cannot enter the network namespace: %s", strerror(errno));
    run_case_main(r->c, r->family, job->reason);
}

static void jobs_kill(struct jobs *j)
{
    for (unsigned i = 0; i < j->options->count; i++) {
        struct job *job = &j->all[i];

        if (!job->result)
            continue;
        kill(job->child, SIGKILL);
        job->result->is_done = false;
        job_end(job);
    }
}

static void jobs_count(struct jobs *j, const struct run_result *r)
{
    j->done++;
    j->failed += r->outcome == RUN_FAILED;
}

/*
 * Starts cases on free jobs. Waits at most one second until a running case prints output or ends, and handles the
 * event. Returns false if no case runs any more.
 */
static bool jobs_step(struct jobs *j)
{
    struct run_result *before[MAX_JOBS];
    bool is_busy = false;

    for (unsigned i = 0; i < j->options->count; i++) {
        if (!j->all[i].result && j->next < j->count)
            jobs_start(j, i);
        before[i] = j->all[i].result;
        is_busy = is_busy || before[i];
    }
    if (!is_busy)
        return false;
    jobs_show_progress(j);
    if (jobs_poll(j->all, j->options->count))
        for (unsigned i = 0; i < j->options->count; i++)
            if (before[i] && !j->all[i].result) {
                before[i]->is_done = true;
                jobs_count(j, before[i]);
            }
    jobs_print(j);
    return true;
}

void jobs_run(struct run_result *results, size_t count, const struct jobs_options *o)
{
    static struct jobs j;

    j = (struct jobs){ .options = o, .results = results, .count = count };
    jobs_catch_interrupts();
    while (!interrupted && jobs_step(&j))
        ;
    jobs_kill(&j);
    for (; j.front < j.next; j.front++)
        if (results[j.front].is_done) {
            job_print(&results[j.front], o->lines);
            job_print_result(&results[j.front], o->lines);
        }
    progress_clear();
}

/* ---- the adapter ---- */

static _Noreturn void jobs_probe_main(struct kit_adapter *found)
{
    NDK_ADAPTER *adapter;
    ULONG size = sizeof found->info;

    adapter = kit_open(2, 1);
    found->known = adapter->Dispatch->NdkQueryAdapterInfo(adapter, &found->info, &size) == STATUS_SUCCESS;
    fflush(NULL);
    _exit(0);
}

/* Discards the output of the new process. If the adapter cannot be opened, the cases fail and print the reason. */
void jobs_probe(void)
{
    struct kit_adapter *found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct run_result unused = { 0 };
    struct job job = { 0 };

    if (found == MAP_FAILED)
        jobs_fatal("the adapter's process");
    if (job_fork(&job, &unused, PROBE_SECONDS) == 0)
        jobs_probe_main(found);
    while (job.result)
        (void)jobs_poll(&job, 1);
    munmap(job.reason, sizeof *job.reason);
    free(unused.output);
    kit_adapter = *found;
    munmap(found, sizeof *found);
}
