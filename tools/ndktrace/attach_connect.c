/* SPDX-License-Identifier: MIT */
/*
 * Connects to a process: see attach_connect.h. Any user can bind the socket names under which processes offer their
 * traces. So the tool uses a name only if the kernel reports (SO_PEERCRED) that the requested process listens under the
 * name. The tool connects only to processes of its own user; as root, to processes of every user.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "attach_connect.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/printable.h"
#include "base/user.h"
#include "monotonic.h"
#include "names.h"
#include "netns_sockets.h"
#include "process.h"

enum {
    ANSWER_MS = 15000,         /* time limit for the process's answer */
    RETRY_MS = 10,             /* time between attempts to connect to a process that has too many readers */
    MAX_LIST_BYTES = 4 << 20,  /* maximum number of bytes that are read from /proc/PID/net/unix */
    MAX_ANSWER = 8192,         /* maximum size of the answer in bytes */
    MAX_FOREIGN_SIZE = 1 << 26 /* maximum size in bytes of a ring that belongs to another user's process */
};
/* Maximum size of a trace file: 2048 MiB of segments, and a header. */
static const off_t max_own_size = (INT64_C(2048) << 20) + (1 << 20);

struct attaching {
    long pid;
    uid_t uid;   /* the user of the process */
    bool is_own; /* `uid` is the user of ndktrace */
    int64_t deadline;
    char *error;
    size_t room;
};

static bool attach_fail(const struct attaching *a, const char *why)
{
    (void)printable_copy(a->error, a->room, why, strlen(why));
    return false;
}

/* ---- the process ---- */

static bool attach_check_process(struct attaching *a)
{
    char text[128];

    a->uid = process_uid(a->pid);
    if (a->uid == (uid_t)-1)
        return attach_fail(a, "there is no such process");
    a->is_own = user_is_own(a->uid);
    if (geteuid() != 0 && !a->is_own) {
        snprintf(text, sizeof text, "it is of user %u%s: only that user and root may attach", (unsigned)a->uid,
                 a->uid == geteuid() ? " or of one that this user namespace lacks" : "");
        return attach_fail(a, text);
    }
    if (process_state(a->pid) == 'T')
        return attach_fail(a, "it is stopped (state T), and cannot answer");
    return true;
}

/* ---- sockets ---- */

static bool attach_is_in_own_network(long pid)
{
    struct stat own, of_process;
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/ns/net", pid);
    return stat("/proc/self/ns/net", &own) != 0 || stat(path, &of_process) != 0 || own.st_ino == of_process.st_ino;
}

/* Opens `n` sockets in the network namespace of the process. If it fails, calls attach_fail and returns false. */
static bool attach_open_sockets(const struct attaching *a, size_t n, struct netns_sockets *p)
{
    char path[64];
    int net, error;

    *p = (struct netns_sockets){ .n = 1, .fds = { -1 } };
    if (attach_is_in_own_network(a->pid)) {
        for (; p->n < 1 + n; p->n++)
            p->fds[p->n] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        return true;
    }
    snprintf(path, sizeof path, "/proc/%ld/ns/net", a->pid);
    net = open(path, O_RDONLY | O_CLOEXEC);
    error = net < 0 ? errno : netns_sockets_open(net, n, p);
    if (net >= 0)
        close(net);
    if (!error && p->n == 1 + n)
        return true;
    return attach_fail(a, "its network namespace cannot be entered");
}

static void attach_close_sockets(struct netns_sockets *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->fds[i] >= 0)
            close(p->fds[i]);
}

/*
 * Connects the socket `s` to the name `text`. Root connects as the process's user, because a process in another user
 * namespace does not recognize root. Returns 0 or an errno value.
 */
static int attach_connect_socket(const struct attaching *a, int s, const char *text)
{
    bool becomes = geteuid() == 0 && a->uid != 0;
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    size_t n = strlen(text);
    int error;

    memcpy(name.sun_path + 1, text, n);
    if (becomes && seteuid(a->uid) != 0)
        return errno;
    error = connect(s, (const struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
    error = error ? errno : 0;
    if (becomes && seteuid(0) != 0)
        abort(); /* the tool must not continue with another user's rights */
    return error;
}

/*
 * Connects to a name. Returns true if the requested process listens under the name. Waits while the process has too
 * many readers.
 */
static bool attach_try_name(const struct attaching *a, int s, const char *text)
{
    struct ucred who;
    socklen_t len = sizeof who;
    int error = attach_connect_socket(a, s, text);

    while ((error == EAGAIN || error == EINTR) && monotonic_ms() < a->deadline) {
        (void)poll(NULL, 0, RETRY_MS);
        error = attach_connect_socket(a, s, text);
    }
    return error == 0 && getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.pid == a->pid &&
           who.uid == a->uid;
}

/* Removes the names that cannot belong to the process. Returns the number of the remaining names. */
static size_t attach_select_names(const struct attaching *a, struct name *names, size_t count)
{
    long inside = process_pid_inside(a->pid);
    size_t n = 0;

    for (size_t i = 0; i < count && n < NETNS_MAX_SOCKETS; i++)
        if ((names[i].pid == a->pid || names[i].pid == inside) && (!names[i].has_uid || names[i].uid == a->uid))
            names[n++] = names[i];
    return n;
}

/* Returns a socket that is connected to the process. If it fails, calls attach_fail and returns -1. */
static int attach_find_socket(const struct attaching *a)
{
    struct netns_sockets sockets;
    size_t count = 0;
    bool is_own = attach_is_in_own_network(a->pid);
    struct name *names = is_own ? names_list(NAMES_TRACE, &count)
                                : names_list_of(a->pid, NAMES_TRACE, MAX_LIST_BYTES, &count);
    int s = -1;

    count = names ? attach_select_names(a, names, count) : 0;
    (void)attach_fail(a, "it has no open adapter of this library, or ONDK_STAT=0 is in its environment");
    if (count && attach_open_sockets(a, count, &sockets)) {
        for (size_t i = 0; s < 0 && i < count; i++) {
            if (!attach_try_name(a, sockets.fds[1 + i], names[i].text))
                continue;
            s = sockets.fds[1 + i];
            sockets.fds[1 + i] = -1;
        }
    }
    if (count)
        attach_close_sockets(&sockets);
    free(names);
    return s;
}

/* ---- the answer ---- */

/* Calls recvmsg once, and returns its result. Stores the first received descriptor in *fd, and closes all others. */
static ssize_t attach_receive_once(int s, char *text, size_t room, int *fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = { text, room };
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    ssize_t n = recvmsg(s, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;

    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return n;
    for (size_t at = CMSG_LEN(0); at + sizeof *fd <= c->cmsg_len; at += sizeof *fd) {
        int received;

        memcpy(&received, (char *)c + at, sizeof received);
        if (*fd < 0)
            *fd = received;
        else
            close(received);
    }
    return n;
}

/* Receives a line. If it fails, calls attach_fail and returns false. */
static bool attach_receive(const struct attaching *a, int s, char text[MAX_ANSWER], int *fd)
{
    struct pollfd ready = { .fd = s, .events = POLLIN };
    size_t size = 0;

    while (size < MAX_ANSWER - 1 && !memchr(text, '\n', size)) {
        int64_t left = a->deadline - monotonic_ms();
        ssize_t n;

        if (left <= 0)
            return attach_fail(a, "it has not answered within fifteen seconds");
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        n = attach_receive_once(s, text + size, MAX_ANSWER - 1 - size, fd);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return attach_fail(a, "it has ended the connection without an answer");
        size += n > 0 ? (size_t)n : 0;
    }
    text[size] = '\0';
    return true;
}

/* Parses the answer into *out. If it fails, calls attach_fail and returns false. */
static bool attach_parse(const struct attaching *a, const char *text, struct attached *out)
{
    json_error_t fault;
    json_t *answer = json_loads(text, 0, &fault);
    const char *problem = json_string_value(json_object_get(answer, "problem"));
    bool ok = json_is_object(answer) && !problem && out->fd >= 0;

    out->is_late = json_is_true(json_object_get(answer, "late"));
    if (!ok)
        (void)attach_fail(a, problem ? problem : "its answer cannot be understood");
    json_decref(answer);
    return ok;
}

/*
 * Checks that reading the passed descriptor cannot block for ever. A file may be on a file system that never answers.
 * So a descriptor from another user's process must refer to a file in memory.
 */
static bool attach_check_file(const struct attaching *a, int fd)
{
    struct stat s;

    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return attach_fail(a, "it has passed something that is no file");
    if (!a->is_own && (fcntl(fd, F_GET_SEALS) == -1 || !(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK)))
        return attach_fail(a, "it records into a file of its user: show that file");
    if (s.st_size > (a->is_own ? max_own_size : MAX_FOREIGN_SIZE))
        return attach_fail(a, "its trace is too large");
    return true;
}

bool attach_connect(long pid, struct attached *out, char *error, size_t room)
{
    struct attaching a = { .pid = pid, .deadline = monotonic_ms() + ANSWER_MS, .error = error, .room = room };
    char text[MAX_ANSWER];
    bool ok;
    int s;

    *out = (struct attached){ .fd = -1, .pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) };
    s = attach_check_process(&a) ? attach_find_socket(&a) : -1;
    ok = s >= 0 && attach_receive(&a, s, text, &out->fd) && attach_parse(&a, text, out) &&
         attach_check_file(&a, out->fd);
    if (s >= 0)
        close(s);
    if (!ok && out->fd >= 0)
        close(out->fd);
    if (!ok && out->pidfd >= 0)
        close(out->pidfd);
    return ok;
}
