/* SPDX-License-Identifier: MIT */
/*
 * Opens sockets in other network namespaces: see netns.h. The invariants: ndkstat itself never changes its namespaces,
 * and every loop over data that other processes control has a limit in time or number.
 * tools/netns_sockets.h enters the namespaces.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "netns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user.h"
#include "monotonic.h"
#include "netns_sockets.h"

enum {
    MAX_FIND_MS = 5000,       /* time limit for finding processes; the same limit applies to opening their namespaces */
    MAX_PROCESSES = 262144,   /* maximum number of processes in other network namespaces */
    MAX_LIST_BYTES = 4 << 20, /* maximum number of bytes that are read from one /proc/PID/net/unix */
    MAX_USER_SOCKETS = 128,   /* maximum number of sockets in all namespaces of one other user together */
    MAX_SOCKETS = 512,        /* maximum number of sockets in all namespaces together */
    /* Maximum number of processes to try in one namespace, because the first ones may have ended. */
    MAX_TRIES = 4,
    MAX_REPORTS = 10, /* maximum number of messages about other users' namespaces */
};

/* A process in another network namespace. */
struct member {
    ino_t inode;
    long pid;
    uid_t uid;
    bool is_own;   /* `uid` is the user of ndkstat: see base/user.h */
    unsigned turn; /* position of the namespace among those of its user; lower positions are tried first */
};

ino_t netns_own_inode(void)
{
    struct stat own;

    return stat("/proc/self/ns/net", &own) == 0 ? own.st_ino : 0;
}

void netns_find_name(ino_t inode, char name[NETNS_MAX_NAME])
{
    DIR *d = opendir("/run/netns");
    const struct dirent *e;
    struct stat s;

    name[0] = '\0';
    while (d && !name[0] && (e = readdir(d)))
        if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &s, 0) == 0 && s.st_ino == inode)
            snprintf(name, NETNS_MAX_NAME, "%.63s", e->d_name);
    if (d)
        closedir(d);
}

/* ---- finding ---- */

/*
 * Reads one process. Returns true if the process is in another network namespace and may be read. Root may read the
 * processes of every user, other users only their own.
 */
static bool member_read(int proc, const char *pid, ino_t own, struct member *m)
{
    char path[64];
    struct stat s;

    if (!isdigit((unsigned char)pid[0]) || fstatat(proc, pid, &s, 0) != 0)
        return false;
    *m = (struct member){ .pid = strtol(pid, NULL, 10), .uid = s.st_uid, .is_own = user_is_own(s.st_uid) };
    if (geteuid() != 0 && !m->is_own)
        return false;
    snprintf(path, sizeof path, "%.16s/ns/net", pid);
    if (fstatat(proc, path, &s, 0) != 0 || s.st_ino == own)
        return false;
    m->inode = s.st_ino;
    return true;
}

static int members_by_inode(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->inode != y->inode)
        return x->inode < y->inode ? -1 : 1;
    return (x->pid > y->pid) - (x->pid < y->pid);
}

/*
 * Compares for sorting: first all namespaces of this user, then the first namespace of every other user, then the
 * second namespace of every other user, and so on.
 */
static int members_by_turn(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->is_own != y->is_own)
        return x->is_own ? -1 : 1;
    if (x->turn != y->turn)
        return x->turn < y->turn ? -1 : 1;
    return members_by_inode(a, b);
}

static int members_by_user(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->uid != y->uid)
        return x->uid < y->uid ? -1 : 1;
    return members_by_inode(a, b);
}

/* Sets `turn` of all members, and sorts them with members_by_turn. */
static void members_order(struct member *all, size_t count)
{
    unsigned turn = 0;

    qsort(all, count, sizeof *all, members_by_user);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && all[i].uid != all[i - 1].uid)
            turn = 0;
        else if (i > 0 && all[i].inode != all[i - 1].inode)
            turn++;
        all[i].turn = turn;
    }
    qsort(all, count, sizeof *all, members_by_turn);
}

/*
 * Returns the processes in other network namespaces, in the order in which they must be tried. Sets *complete to true
 * if all processes were searched.
 */
static struct member *members_list(size_t *count, int64_t deadline, bool *complete)
{
    ino_t own = netns_own_inode();
    DIR *d = own ? opendir("/proc") : NULL;
    struct member *all = NULL, m;
    size_t room = 0;
    const struct dirent *e;

    *count = 0;
    *complete = own == 0; /* own is 0 if the kernel has no network namespaces */
    while (d && *count < MAX_PROCESSES && monotonic_ms() < deadline) {
        e = readdir(d);
        if (!e) {
            *complete = true;
            break;
        }
        if (!member_read(dirfd(d), e->d_name, own, &m))
            continue;
        if (*count == room) {
            struct member *more = realloc(all, (room ? 2 * room : 64) * sizeof *all);
            if (!more)
                break;
            all = more;
            room = room ? 2 * room : 64;
        }
        all[(*count)++] = m;
    }
    if (d)
        closedir(d);
    if (all)
        members_order(all, *count);
    return all;
}

/* ---- one namespace ---- */

struct search {
    struct netns *found;
    size_t count, room, n_sockets;
    unsigned n_reports; /* number of messages about other users' namespaces */
    FILE *messages;
    bool *failed;
};

static void search_report(struct search *s, const struct member *m, const char *what, const char *why)
{
    if (m->is_own)
        *s->failed = true;
    else if (++s->n_reports > MAX_REPORTS)
        return;
    fprintf(s->messages, "network namespace %lu (process %ld of user %u): %s%s\n", (unsigned long)m->inode, m->pid,
            (unsigned)m->uid, what, why);
}

/*
 * Returns true if s->found already contains the namespace. The search reaches a namespace several times if several
 * users have processes in it.
 */
static bool search_has(const struct search *s, ino_t inode)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->found[i].inode == inode)
            return true;
    return false;
}

/* Returns the number of sockets that may still be opened for the process's user. */
static size_t search_sockets_left(const struct search *s, const struct member *m)
{
    size_t left = MAX_SOCKETS - s->n_sockets, used = 0;

    if (m->is_own)
        return left;
    for (size_t i = 0; i < s->count; i++)
        if (s->found[i].uid == m->uid)
            used += s->found[i].n_names;
    if (used >= MAX_USER_SOCKETS)
        return 0;
    return left < MAX_USER_SOCKETS - used ? left : MAX_USER_SOCKETS - used;
}

/*
 * If this user is root, replaces n->names by the names that sock_diag reports. They include the user ID of each socket,
 * translated to ndkstat's user namespace. The names from /proc have no user IDs.
 */
static void netns_read_users(struct netns *n, int netlink)
{
    size_t count = 0;
    struct name *names = geteuid() == 0 ? names_list_by(netlink, NAMES_STAT, &count) : NULL;

    if (names && count <= n->n_names) {
        free(n->names);
        n->names = names;
        for (size_t i = count; i < n->n_names; i++)
            close(n->sockets[i]);
        n->n_names = count;
    } else {
        free(names);
    }
}

/* Opens a socket for each name in *n, and appends *n to s->found. Takes over the ownership of n->names. */
static void search_enter(struct search *s, const struct member *m, struct netns *n, int net)
{
    struct netns_sockets p;
    int error = netns_sockets_open(net, n->n_names, &p);

    if (!error && p.n != 1 + n->n_names)
        error = EMFILE;
    if (!error) {
        n->sockets = malloc(n->n_names * sizeof *n->sockets);
        error = n->sockets ? 0 : ENOMEM;
    }
    if (error) {
        for (size_t i = 0; i < p.n; i++)
            close(p.fds[i]);
        free(n->names);
        search_report(s, m, "cannot be entered: ", strerror(error));
        return;
    }
    memcpy(n->sockets, p.fds + 1, n->n_names * sizeof *n->sockets);
    netns_read_users(n, p.fds[0]);
    close(p.fds[0]);
    netns_find_name(n->inode, n->name);
    s->n_sockets += n->n_names;
    s->found[s->count++] = *n;
}

static bool search_reserve(struct search *s)
{
    size_t room = s->room ? 2 * s->room : 16;
    struct netns *more;

    if (s->count < s->room)
        return true;
    more = realloc(s->found, room * sizeof *more);
    if (!more)
        return false;
    s->found = more;
    s->room = room;
    return true;
}

/*
 * Tries to open sockets in the namespace of a process. Returns false if another process of the namespace must be tried,
 * for example because this process has ended.
 */
static bool search_try(struct search *s, const struct member *m)
{
    struct netns n = { .inode = m->inode, .pid = m->pid, .uid = m->uid };
    size_t left = search_sockets_left(s, m);
    char path[64];
    struct stat now;
    int net;

    n.names = names_list_of(m->pid, NAMES_STAT, MAX_LIST_BYTES, &n.n_names);
    if (!n.names || n.n_names == 0) {
        bool has_ended = !n.names;
        free(n.names);
        return !has_ended;
    }
    if (left > NETNS_MAX_SOCKETS)
        left = NETNS_MAX_SOCKETS;
    if (n.n_names > left) {
        search_report(s, m, "not all of its processes are read: ", "there are too many");
        n.n_names = left;
    }
    snprintf(path, sizeof path, "/proc/%ld/ns/net", m->pid);
    net = open(path, O_RDONLY | O_CLOEXEC);
    if (net < 0 || fstat(net, &now) != 0 || now.st_ino != m->inode || n.n_names == 0 || !search_reserve(s)) {
        if (net >= 0)
            close(net);
        free(n.names);
        return net >= 0 && left == 0;
    }
    search_enter(s, m, &n, net);
    close(net);
    return true;
}

struct netns *netns_open_others(size_t *count, FILE *messages, bool *failed)
{
    int64_t deadline = monotonic_ms() + MAX_FIND_MS;
    size_t n_members = 0, i = 0;
    bool complete;
    struct member *members = members_list(&n_members, deadline, &complete);
    struct search s = { .messages = messages, .failed = failed };

    if (!complete) {
        fprintf(messages, "other network namespaces: not all processes were searched\n");
        *failed = true; /* the processes that were not searched may be this user's */
    }
    while (i < n_members && monotonic_ms() < deadline + MAX_FIND_MS) {
        ino_t inode = members[i].inode;
        bool is_done = search_has(&s, inode);

        for (int tries = 0; i < n_members && members[i].inode == inode; i++)
            if (!is_done && tries++ < MAX_TRIES)
                is_done = search_try(&s, &members[i]);
    }
    if (i < n_members) {
        fprintf(messages, "%zu processes in other network namespaces: not read within ten seconds\n", n_members - i);
        *failed = *failed || members[i].is_own;
    }
    if (s.n_reports > MAX_REPORTS)
        fprintf(messages, "%u more network namespaces of other users: not read\n", s.n_reports - MAX_REPORTS);
    free(members);
    *count = s.count;
    return s.found;
}

void netns_close(struct netns *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < all[i].n_names; k++)
            if (all[i].sockets[k] >= 0)
                close(all[i].sockets[k]);
        free(all[i].sockets);
        free(all[i].names);
    }
    free(all);
}
