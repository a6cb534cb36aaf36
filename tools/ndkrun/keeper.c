/* SPDX-License-Identifier: MIT */
/*
 * The keeper: see keeper.h. The program forks the keeper before it creates threads or sockets or loads drivers.
 * Therefore the keeper does not inherit them. When the program's end of the socket is closed, the keeper ends all
 * commands and then itself. The kernel also closes that end if the program is killed. The keeper has its own process
 * group, because a terminal, a shell or timeout(1) may kill the program's whole group. The invariant: when a command's
 * process group has no process left, the keeper clears the group's ID and never signals the group again, because
 * another group may get the same ID.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "monotonic.h"

enum { STEP_MS = 10, MS_PER_SECOND = 1000 };

struct keeper_request {
    enum { REQUEST_RUN, REQUEST_END } kind;
    uint32_t index;
};

/* A command, as the keeper's process stores it. */
struct kept {
    const char *command;
    pid_t group; /* 0: not started, or no process is left */
    bool has_shell, is_ending, is_killed;
    int64_t kill_ms; /* while is_ending: the time at which SIGKILL is sent */
};

static int channel = -1; /* this process's end of the socket between program and keeper; each process has one end */
static pid_t keeper;

/* ---- The keeper's process --------------------------------------------------------------------------------------- */

static struct kept *kept;
static uint32_t kept_count;
static bool is_closed; /* the program has ended, or has closed the socket */

static void keeper_report(enum keeper_news news, const struct kept *k, int value)
{
    const struct keeper_event event = { news, (uint32_t)(k - kept), value };

    (void)send(channel, &event, sizeof event, MSG_NOSIGNAL); /* fails if the program has ended */
}

static _Noreturn void kept_execute(const char *command)
{
    int null = open("/dev/null", O_RDONLY);
    sigset_t none;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* kills the shell, not its children, if the keeper is killed */
    (void)signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (null >= 0)
        (void)dup2(null, STDIN_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static void kept_run(struct kept *k)
{
    pid_t child = fork();

    if (child == 0)
        kept_execute(k->command);
    if (child > 0)
        (void)setpgid(child, child); /* so that the group exists when the program reads its ID */
    *k = (struct kept){ .command = k->command, .group = child > 0 ? child : 0, .has_shell = child > 0 };
    keeper_report(KEEPER_STARTED, k, child > 0 ? child : -errno);
}

static void kept_end(struct kept *k)
{
    k->is_ending = true;
    k->kill_ms = monotonic_ms() + KEEPER_KILL_SECONDS * MS_PER_SECOND;
    if (k->group)
        (void)kill(-k->group, SIGTERM);
}

static void kept_stop(struct kept *k, enum keeper_stop how)
{
    k->is_ending = false;
    k->group = 0;
    keeper_report(KEEPER_STOPPED, k, how);
}

/*
 * Sets k->group to 0 if the group has no process left. If kept_end was called, sends SIGKILL when the group has not
 * ended in time after SIGTERM. Reports KEEPER_STOPPED when the group has ended, or has not ended in time after SIGKILL.
 */
static void kept_check(struct kept *k)
{
    if (k->group && !k->has_shell && kill(-k->group, 0) && errno == ESRCH)
        k->group = 0;
    if (!k->is_ending)
        return;
    if (!k->group) {
        kept_stop(k, k->is_killed ? KEEPER_STOP_KILLED : KEEPER_STOP_ENDED);
    } else if (!k->is_killed && monotonic_ms() >= k->kill_ms) {
        k->is_killed = true;
        (void)kill(-k->group, SIGKILL);
    } else if (monotonic_ms() - k->kill_ms >= KEEPER_GIVE_UP_SECONDS * MS_PER_SECOND) {
        kept_stop(k, KEEPER_STOP_FAILED);
    }
}

static void keeper_reap(void)
{
    pid_t child;
    int status;

    while ((child = waitpid(-1, &status, WNOHANG)) > 0)
        for (uint32_t i = 0; i < kept_count; i++)
            if (kept[i].has_shell && kept[i].group == child) {
                kept[i].has_shell = false;
                keeper_report(KEEPER_ENDED, &kept[i], status);
            }
    for (uint32_t i = 0; i < kept_count; i++)
        kept_check(&kept[i]);
}

static void keeper_handle_requests(void)
{
    struct keeper_request request;
    ssize_t n;

    while ((n = recv(channel, &request, sizeof request, MSG_DONTWAIT)) == (ssize_t)sizeof request) {
        if (request.kind == REQUEST_RUN)
            kept_run(&kept[request.index]);
        else
            kept_end(&kept[request.index]);
    }
    if (n != 0 || is_closed)
        return;
    is_closed = true;
    for (uint32_t i = 0; i < kept_count; i++)
        kept_end(&kept[i]);
}

static bool keeper_is_busy(void)
{
    bool is_busy = false;

    for (uint32_t i = 0; i < kept_count; i++)
        is_busy = is_busy || kept[i].is_ending;
    return is_busy;
}

/* Runs the keeper until the program has closed the socket, and each command has ended or was given up. */
static _Noreturn void keeper_serve(void)
{
    sigset_t all;
    int children;

    (void)setpgid(0, 0);
    (void)signal(SIGCHLD, SIG_DFL); /* the program may have inherited SIG_IGN; waitpid would then return no status */
    sigfillset(&all);               /* blocks all signals, because the keeper must not end before the program */
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    children = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* the orphans of a command become children of the keeper */
    do {
        struct pollfd ready[] = { { .fd = is_closed ? -1 : channel, .events = POLLIN },
                                  { .fd = children, .events = POLLIN } };
        struct signalfd_siginfo info;

        (void)poll(ready, 2, keeper_is_busy() ? STEP_MS : -1);
        (void)!read(children, &info, sizeof info);
        keeper_handle_requests();
        keeper_reap();
    } while (!is_closed || keeper_is_busy());
    _exit(0);
}

/* ---- The program ------------------------------------------------------------------------------------------------ */

bool keeper_create(const char *const *commands, uint32_t count)
{
    int ends[2];

    kept = calloc(count, sizeof *kept);
    if (!kept || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return false;
    for (uint32_t i = 0; i < count; i++)
        kept[i].command = commands[i];
    kept_count = count;
    keeper = fork();
    channel = ends[keeper == 0];
    close(ends[keeper != 0]);
    if (keeper == 0)
        keeper_serve();
    return keeper > 0;
}

static void keeper_send(const struct keeper_request *request)
{
    (void)send(channel, request, sizeof *request, MSG_NOSIGNAL); /* fails if the keeper was killed */
}

void keeper_run(uint32_t index)
{
    keeper_send(&(struct keeper_request){ REQUEST_RUN, index });
}

void keeper_end(uint32_t index)
{
    keeper_send(&(struct keeper_request){ REQUEST_END, index });
}

bool keeper_next(struct keeper_event *event, int timeout_ms)
{
    struct pollfd ready = { .fd = channel, .events = POLLIN };
    ssize_t n = poll(&ready, 1, timeout_ms) > 0 ? recv(channel, event, sizeof *event, MSG_DONTWAIT) : -1;

    if (n == 0) {
        close(channel);
        channel = -1;
    }
    return n == (ssize_t)sizeof *event;
}

bool keeper_is_lost(void)
{
    return channel < 0;
}

void keeper_destroy(void)
{
    if (channel >= 0)
        close(channel);
    channel = -1;
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    free(kept);
    kept = NULL;
}
