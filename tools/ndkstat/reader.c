/* SPDX-License-Identifier: MIT */
/*
 * Reads the published data: see reader.h. All processes are read at the same time, with one common deadline. For each
 * socket name the kernel reports the user and the ID of the process that listens under the name (SO_PEERCRED). The ID
 * in the name must equal this ID, or the ID that the process has in its own PID namespace. The number of bytes read is
 * limited for each user and in total.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "interrupt.h"
#include "json_output.h"
#include "monotonic.h"
#include "names.h"
#include "netns.h"
#include "base/printable.h"
#include "base/user.h"
#include "process.h"

enum {
    ALL_MS = 5000,                /* time limit for reading all processes */
    MIB_MS = 250,                 /* the limit grows by this time for each MiB that arrives */
    RETRY_MS = 10,                /* time between attempts to connect to a process that has too many readers */
    MAX_OWN_BYTES = 256 << 20,    /* maximum number of bytes read from all processes of this user together */
    MAX_USER_BYTES = 16 << 20,    /* maximum number of bytes read from all processes of one other user together */
    MAX_FOREIGN_BYTES = 64 << 20, /* maximum number of bytes read from all processes of all other users together */
    MAX_USER_PEERS = 128,         /* maximum number of processes of one other user that are read */
    MAX_USERS = 256,
    MAX_MESSAGES = 10,
    SLICE_MS = 100, /* interval between checks for Ctrl-C */
    /*
     * An answer with fewer bytes per value is refused, because so many values would need much memory when they are
     * parsed.
     */
    BYTES_PER_VALUE = 8,
};

enum peer_state { PEER_CONNECTING, PEER_READING, PEER_READ, PEER_GONE, PEER_FOREIGN, PEER_FAILED };

struct peer {
    const struct name *name;
    const struct netns *netns; /* NULL: the peer is in this process's network namespace */
    enum peer_state state;
    int fd;
    struct user *user; /* user of the peer's process; NULL until the kernel has reported it */
    bool is_own;       /* the socket belongs to the user of ndkstat */
    long pid;          /* ID of the process: at first from the socket's name, later from the kernel */
    char *text;
    size_t size, room;
    json_t *json;
};

struct user {
    uid_t uid;
    bool is_own; /* the user of ndkstat */
    unsigned peers;
    size_t bytes;
};

struct round {
    long pid;    /* ID of the requested process; 0: all processes */
    ino_t netns; /* inode of this process's network namespace */
    char netns_name[NETNS_MAX_NAME];
    struct peer *peers;
    size_t count;
    struct user users[MAX_USERS];
    size_t user_count, foreign_bytes, all_bytes;
    FILE *messages;
    unsigned n_messages; /* number of messages about other users */
    bool failed;
    int64_t start; /* ms */
};

/* ---- errors ---- */

/*
 * Adds a message. `foreign` must be true if the message is about another user, because the number of such messages is
 * limited.
 */
__attribute__((format(printf, 3, 4))) static void round_report(struct round *r, bool foreign, const char *format, ...)
{
    char text[512], safe[PRINTABLE_MAX_GROWTH * sizeof text];
    va_list args;

    if (foreign && ++r->n_messages > MAX_MESSAGES)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    printable_copy(safe, sizeof safe, text, strlen(text));
    fprintf(r->messages, "%s\n", safe);
}

static void peer_end(struct peer *p, enum peer_state state)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->state = state;
}

/*
 * Ends a peer that cannot be read, and reports the reason. ndkstat then exits with an error, unless the process belongs
 * to another user and was not requested: other users must not be able to make ndkstat fail.
 */
static void peer_fail(struct round *r, struct peer *p, const char *why)
{
    bool foreign = p->user && !p->user->is_own;

    peer_end(p, PEER_FAILED);
    if (!p->user)
        round_report(r, true, "process %ld, by the name of its socket: %s", p->name->pid, why);
    else if (foreign)
        round_report(r, true, "process %ld of user %u: %s", p->pid, (unsigned)p->user->uid, why);
    else
        round_report(r, false, "process %ld: %s", p->pid, why);
    r->failed = r->failed || !foreign || r->pid;
}

/* ---- identification ---- */

static struct user *round_user(struct round *r, uid_t uid)
{
    for (size_t i = 0; i < r->user_count; i++)
        if (r->users[i].uid == uid)
            return &r->users[i];
    if (r->user_count == MAX_USERS)
        return NULL;
    r->users[r->user_count] = (struct user){ .uid = uid, .is_own = user_is_own(uid) };
    return &r->users[r->user_count++];
}

static bool reader_may_read(uid_t uid)
{
    return geteuid() == 0 || user_is_own(uid);
}

/* Counts the peer among the peers of its user. If the user has too many peers, ends the peer and returns false. */
static bool peer_admit(struct round *r, struct peer *p, uid_t uid)
{
    if (p->user && p->user->uid == uid)
        return true;
    p->user = round_user(r, uid);
    if (!p->user)
        peer_fail(r, p, "not read: there are too many users");
    else if (++p->user->peers > MAX_USER_PEERS && !p->user->is_own)
        peer_fail(r, p, "not read: its user has too many");
    return p->state == PEER_CONNECTING;
}

/*
 * Checks that the process ID in the socket's name is the ID of the process that listens on the socket. Decides whether
 * to read this process, and sets p->state accordingly.
 */
static void peer_identify(struct round *r, struct peer *p)
{
    struct ucred who;
    socklen_t len = sizeof who;

    if (getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || !reader_may_read(who.uid)) {
        peer_end(p, PEER_FOREIGN);
        return;
    }
    if (!peer_admit(r, p, who.uid))
        return;
    p->pid = who.pid ? who.pid : p->name->pid;
    if (who.pid == 0) {
        peer_fail(r, p, "not shown: it is in a PID namespace that cannot be seen from here");
    } else if (who.pid != p->name->pid && process_pid_inside(who.pid) != p->name->pid) {
        peer_end(p, PEER_GONE);
        round_report(r, true, "process %ld of user %u uses the name of process %ld: not shown", (long)who.pid,
                     (unsigned)who.uid, p->name->pid);
    } else if ((r->pid && who.pid != r->pid) || (kill(who.pid, 0) != 0 && errno == ESRCH)) {
        /* The process was not requested, or it has ended and a child process still has its socket. */
        peer_end(p, PEER_GONE);
    } else if (process_state(who.pid) == 'T') {
        peer_fail(r, p, "not read, because it is stopped (state T)");
    } else {
        p->state = PEER_READING;
    }
}

/*
 * Connects the peer's socket. Root connects as the process's user, because a process in another user namespace does not
 * recognize root. Returns 0 or an errno value.
 */
static int peer_connect_as_allowed(const struct peer *p, const struct sockaddr_un *name, socklen_t len)
{
    bool becomes = geteuid() == 0 && p->name->has_uid && p->name->uid != 0;
    int error;

    if (becomes && seteuid(p->name->uid) != 0)
        return errno;
    error = connect(p->fd, (const struct sockaddr *)name, len) == 0 ? 0 : errno;
    if (becomes && seteuid(0) != 0)
        abort(); /* ndkstat must not continue with another user's rights */
    return error;
}

static void peer_connect(struct round *r, struct peer *p)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    size_t n = strlen(p->name->text);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
    int error;

    if (p->name->has_uid && !reader_may_read(p->name->uid)) {
        peer_end(p, PEER_FOREIGN);
        return;
    }
    if (p->name->has_uid && !peer_admit(r, p, p->name->uid))
        return;
    memcpy(name.sun_path + 1, p->name->text, n);
    if (p->fd < 0)
        p->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (p->fd < 0) {
        if (errno != EMFILE && errno != ENFILE)
            peer_fail(r, p, strerror(errno));
        return;
    }
    error = peer_connect_as_allowed(p, &name, len);
    if (!error)
        peer_identify(r, p);
    else if (error == ECONNREFUSED)
        peer_end(p, PEER_GONE);
    else if (error != EAGAIN && error != EINTR)
        peer_fail(r, p, strerror(error));
}

/* ---- input ---- */

/* Returns false if the text has more values per byte than a valid answer can have. */
static bool reader_is_plausible(const char *text, size_t size)
{
    size_t values = 0;

    for (size_t i = 0; i < size; i++)
        values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values <= size / BYTES_PER_VALUE + 16;
}

static void peer_parse(struct round *r, struct peer *p)
{
    json_error_t fault;
    char why[sizeof fault.text + 64];

    p->json = reader_is_plausible(p->text, p->size) ? json_loadb(p->text, p->size, 0, &fault) : NULL;
    if (!p->json)
        snprintf(why, sizeof why, "its answer cannot be parsed: %s",
                 reader_is_plausible(p->text, p->size) ? fault.text : "it has too many values");
    else if (!json_is_object(p->json))
        snprintf(why, sizeof why, "its answer is not an object");
    free(p->text);
    p->text = NULL;
    if (!json_is_object(p->json)) {
        json_decref(p->json);
        p->json = NULL;
        peer_fail(r, p, why);
        return;
    }
    json_object_set_new(p->json, "pid", json_integer(p->pid));
    json_object_set_new(p->json, "uid", json_integer((json_int_t)p->user->uid));
    json_object_set_new(p->json, "foreign", json_boolean(!p->user->is_own));
    process_describe(p->pid, p->json);
    json_object_set_new(p->json, "netns", json_integer((json_int_t)(p->netns ? p->netns->inode : r->netns)));
    json_object_set_new(p->json, "netns_name", json_output_text(p->netns ? p->netns->name : r->netns_name));
    json_object_set_new(p->json, "netns_other", json_boolean(p->netns != NULL));
    peer_end(p, PEER_READ);
}

/* Counts `n` more bytes that the peer has sent. Returns false if they exceed a limit. */
static bool peer_may_write(struct round *r, struct peer *p, size_t n)
{
    bool may;

    p->user->bytes += n;
    if (!p->user->is_own)
        r->foreign_bytes += n;
    may = p->user->is_own ? p->user->bytes <= MAX_OWN_BYTES
                          : p->user->bytes <= MAX_USER_BYTES && r->foreign_bytes <= MAX_FOREIGN_BYTES;
    if (may)
        r->all_bytes += n;
    return may;
}

/* Calls read() once for the peer's socket. Returns true if the socket may already have more bytes. */
static bool peer_read(struct round *r, struct peer *p)
{
    ssize_t n;

    if (p->size == p->room) {
        char *more = realloc(p->text, p->room ? 2 * p->room : 1 << 16);
        if (!more) {
            peer_fail(r, p, strerror(ENOMEM));
            return false;
        }
        p->text = more;
        p->room = p->room ? 2 * p->room : 1 << 16;
    }
    n = read(p->fd, p->text + p->size, p->room - p->size);
    if (n > 0) {
        p->size += (size_t)n;
        if (peer_may_write(r, p, (size_t)n))
            return true;
        peer_fail(r, p, "its answer is too long");
    } else if (n == 0 && p->size > 0) {
        peer_parse(r, p);
    } else if (n == 0 || errno == ECONNRESET) {
        peer_end(p, PEER_GONE); /* the process has ended */
    } else if (errno != EAGAIN && errno != EINTR) {
        peer_fail(r, p, strerror(errno));
    }
    return false;
}

/* ---- all peers ---- */

/* Returns the rest of the time limit in ms, which is not positive after the limit. */
static int64_t round_remaining(const struct round *r)
{
    return r->start + ALL_MS + ((int64_t)r->all_bytes * MIB_MS >> 20) - monotonic_ms();
}

/* Waits until a peer can be read, or until it is time for the next attempt to connect. */
static void round_wait(const struct round *r, struct pollfd *fds, int64_t remaining)
{
    nfds_t n = 0;
    bool connecting = false;

    for (size_t i = 0; i < r->count; i++) {
        connecting = connecting || r->peers[i].state == PEER_CONNECTING;
        if (r->peers[i].state == PEER_READING)
            fds[n++] = (struct pollfd){ .fd = r->peers[i].fd, .events = POLLIN };
    }
    if (remaining > SLICE_MS)
        remaining = SLICE_MS;
    (void)poll(fds, n, (int)(connecting && remaining > RETRY_MS ? RETRY_MS : remaining));
}

/*
 * Reads this user's peers if `own` is true, otherwise the peers of other users. Returns true if one of them is
 * unfinished.
 */
static bool round_continue(struct round *r, bool own)
{
    bool more = false;

    for (size_t i = 0; i < r->count; i++) {
        struct peer *p = &r->peers[i];

        if (p->is_own != own)
            continue;
        if (p->state == PEER_CONNECTING)
            peer_connect(r, p);
        while (p->state == PEER_READING && peer_read(r, p) && round_remaining(r) > 0)
            ;
        more = more || p->state == PEER_CONNECTING || p->state == PEER_READING;
    }
    return more;
}

static bool round_run(struct round *r)
{
    struct pollfd *fds = calloc(r->count + 1, sizeof *fds);
    int64_t remaining = ALL_MS;

    if (!fds)
        return false;
    r->start = monotonic_ms();
    while (remaining > 0 && round_continue(r, true) + round_continue(r, false) > 0) {
        remaining = interrupt_received() ? 0 : round_remaining(r);
        if (remaining > 0)
            round_wait(r, fds, remaining);
    }
    free(fds);
    for (size_t i = 0; i < r->count; i++)
        if (r->peers[i].state == PEER_CONNECTING || r->peers[i].state == PEER_READING)
            peer_fail(r, &r->peers[i],
                      interrupt_received() ? "not read, because of an interrupt" : "no answer in time");
    return true;
}

/* Reports why the requested process was not read: it was not found, or it belongs to another user. */
static void round_report_missing(struct round *r, bool has_foreign)
{
    uid_t uid = process_uid(r->pid);

    if (has_foreign && uid != (uid_t)-1 && !user_is_own(uid))
        fprintf(r->messages, "process %ld is of user %u: only that user and root may read it\n", r->pid, (unsigned)uid);
    else
        fprintf(r->messages, "process %ld has no open adapter that this user may read\n", r->pid);
    r->failed = true;
}

/* Moves the results of the peers to *s. Returns false if out of memory. */
static bool round_collect(struct round *r, struct snapshots *s)
{
    bool ok = true, seen = false;

    for (size_t i = 0; i < r->count; i++) {
        struct peer *p = &r->peers[i];

        if (p->state == PEER_READ) {
            ok = json_array_append_new(s->processes, p->json) == 0 && ok;
            p->json = NULL;
        }
        s->foreign += p->state == PEER_FOREIGN;
        seen = seen || p->state == PEER_READ || p->state == PEER_FAILED;
    }
    if (r->pid && !seen)
        round_report_missing(r, s->foreign > 0);
    if (r->n_messages > MAX_MESSAGES)
        fprintf(r->messages, "%u more such messages\n", r->n_messages - MAX_MESSAGES);
    s->failed = r->failed;
    return ok;
}

/*
 * Returns true if the name may belong to the requested process. `pid` is the ID of that process; 0: any process.
 * `inside` is the ID that the process has in its own PID namespace. The name may contain either ID.
 */
static bool reader_is_wanted(const struct name *name, long pid, long inside)
{
    return !pid || name->pid == pid || name->pid == inside;
}

/*
 * Adds a peer for each name that reader_is_wanted accepts. `netns` is NULL for this network namespace. Otherwise takes
 * over the sockets in netns->sockets.
 */
static void round_add_peers(struct round *r, const struct name *names, size_t count, struct netns *netns)
{
    long inside = r->pid ? process_pid_inside(r->pid) : 0;

    for (size_t i = 0; i < count; i++) {
        if (!reader_is_wanted(&names[i], r->pid, inside))
            continue;
        r->peers[r->count++] = (struct peer){
            .name = &names[i],
            .netns = netns,
            .fd = netns ? netns->sockets[i] : -1,
            .is_own = names[i].has_uid && user_is_own(names[i].uid),
            .pid = names[i].pid,
        };
        if (netns)
            netns->sockets[i] = -1;
    }
}

/*
 * Reads the processes in `names`, which are in this network namespace, and the processes in the network namespaces
 * `others`. If r->pid is not 0, reads only that process. Returns false if out of memory.
 */
static bool round_read(struct round *r, struct snapshots *s, const struct name *names, size_t n_names,
                       struct netns *others, size_t n_others)
{
    size_t total = n_names;
    bool ok;

    for (size_t i = 0; i < n_others; i++)
        total += others[i].n_names;
    r->peers = calloc(total + 1, sizeof *r->peers);
    if (r->peers) {
        round_add_peers(r, names, n_names, NULL);
        for (size_t i = 0; i < n_others; i++)
            round_add_peers(r, others[i].names, others[i].n_names, &others[i]);
    }
    ok = r->peers && round_run(r) && round_collect(r, s);
    for (size_t i = 0; i < r->count; i++) {
        peer_end(&r->peers[i], r->peers[i].state);
        free(r->peers[i].text);
        json_decref(r->peers[i].json);
    }
    free(r->peers);
    return ok;
}

bool reader_read(struct snapshots *s, const struct reader_request *request)
{
    static struct round r;
    size_t n_names = 0, n_others = 0, size;
    struct netns *others = NULL;
    struct name *names;
    int error = ENOMEM;
    bool ok = false;

    *s = (struct snapshots){ .processes = json_array() };
    memset(&r, 0, sizeof r);
    r.pid = request->pid;
    r.netns = netns_own_inode();
    netns_find_name(r.netns, r.netns_name);
    r.messages = open_memstream(&s->messages, &size);
    names = names_list(NAMES_STAT, &n_names);
    if (!names) {
        error = errno;
    } else if (r.messages && s->processes) {
        if (!request->here)
            others = netns_open_others(&n_others, r.messages, &r.failed);
        ok = round_read(&r, s, names, n_names, others, n_others);
    }
    netns_close(others, n_others);
    free(names);
    if (r.messages && fclose(r.messages) != 0)
        ok = false;
    if (!ok)
        reader_free(s);
    errno = error;
    return ok;
}

void reader_free(struct snapshots *s)
{
    json_decref(s->processes);
    free(s->messages);
    s->processes = NULL;
    s->messages = NULL;
}
