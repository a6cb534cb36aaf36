/* SPDX-License-Identifier: MIT */
/*
 * Lists names: see names.h. The kernel's sock_diag reports names with the users of their sockets. If the kernel does
 * not support sock_diag, names are read from /proc/net/unix, which has no users. Any process can choose any name, so
 * only names that have exactly the published form are accepted.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDIAG_SHOW_UID /* the kernel's headers are older than Linux 5.3 */
#define UDIAG_SHOW_UID 0x40
#define UNIX_DIAG_UID 7
#endif

struct list {
    const char *prefix;
    struct name *names;
    size_t count, room;
    bool failed;
};

/*
 * Returns the process ID in a name that consists of `prefix`, the process ID, and optionally a dot and hexadecimal
 * digits. Returns 0 if the name has another form.
 */
static long names_parse(const char *prefix, const char *text, size_t len)
{
    long pid = 0;
    size_t i = strlen(prefix);

    if (len <= i || len >= MAX_NAME_TEXT || memcmp(text, prefix, i) != 0)
        return 0;
    for (; i < len && isdigit((unsigned char)text[i]) && pid < 100000000; i++)
        pid = pid * 10 + (text[i] - '0');
    if (i < len && text[i] == '.')
        while (++i < len && isxdigit((unsigned char)text[i]))
            ;
    return i == len ? pid : 0;
}

static void names_add(struct list *l, const char *text, size_t len, const uid_t *uid)
{
    long pid = names_parse(l->prefix, text, len);
    struct name *to;

    if (!pid)
        return;
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 64;
        struct name *names = realloc(l->names, room * sizeof *names);

        l->failed = l->failed || !names;
        if (!names)
            return;
        l->names = names;
        l->room = room;
    }
    to = &l->names[l->count++];
    memset(to, 0, sizeof *to);
    memcpy(to->text, text, len);
    to->pid = pid;
    to->has_uid = uid != NULL;
    if (uid)
        to->uid = *uid;
}

/* ---- sock_diag ---- */

static void names_handle_socket(struct list *l, const struct nlmsghdr *h)
{
    const struct unix_diag_msg *m = NLMSG_DATA(h);
    const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1);
    int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m));
    const char *text = NULL;
    size_t text_len = 0;
    uid_t uid;
    bool has_uid = false;

    for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
        if (a->rta_type == UNIX_DIAG_NAME && RTA_PAYLOAD(a) > 1) {
            text = (const char *)RTA_DATA(a) + 1; /* an abstract name begins with a zero byte */
            text_len = RTA_PAYLOAD(a) - 1;
        } else if (a->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(a) == sizeof uid) {
            memcpy(&uid, RTA_DATA(a), sizeof uid);
            has_uid = true;
        }
    }
    if (text && text[-1] == '\0')
        names_add(l, text, text_len, has_uid ? &uid : NULL);
}

/* Returns the errno in an error message of the kernel. Returns EPROTO if `h` is another message. */
static int names_error(const struct nlmsghdr *h)
{
    const struct nlmsgerr *e = NLMSG_DATA(h);

    return h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof *e) && e->error < 0 ? -e->error : EPROTO;
}

/*
 * Handles one datagram of answers. Returns 1 if more answers may follow, and 0 at the end. If an answer does not
 * describe a socket, for example because the kernel has no sock_diag, sets errno and returns -1.
 */
static int names_handle_answers(struct list *l, const char *answers, size_t len)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answers;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct unix_diag_msg))) {
            errno = names_error(h);
            return -1;
        }
        names_handle_socket(l, h);
    }
    return 1;
}

static bool names_from_diag(struct list *l, int s)
{
    static _Alignas(struct nlmsghdr) char answers[32768];
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } q = { .header = { .nlmsg_len = sizeof q,
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
            .request = { .sdiag_family = AF_UNIX,
                         .udiag_states = 1u << TCP_LISTEN,
                         .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID } };
    int more = 1;

    if (send(s, &q, sizeof q, 0) != (ssize_t)sizeof q)
        more = -1;
    while (more > 0) {
        ssize_t n = recv(s, answers, sizeof answers, 0);

        if (n < 0 && errno == EINTR)
            continue;
        more = n > 0 ? names_handle_answers(l, answers, (size_t)n) : -1;
    }
    return more == 0;
}

static bool names_from_own_diag(struct list *l)
{
    int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool known = s >= 0 && names_from_diag(l, s);

    if (s >= 0)
        close(s);
    return known;
}

/* ---- /proc/net/unix ---- */

static bool names_from_proc(struct list *l, const char *path, size_t max_bytes)
{
    FILE *f = fopen(path, "re");
    size_t room = 0, bytes = 0;
    char *line = NULL;
    ssize_t n;

    while (f && bytes < max_bytes && (n = getline(&line, &room, f)) > 0) {
        const char *name = strstr(line, " @");
        unsigned long flags;

        bytes += (size_t)n;
        if (name && sscanf(line, "%*s %*s %*s %lx", &flags) == 1 && (flags & 0x10000)) /* the socket listens */
            names_add(l, name + 2, strcspn(name + 2, "\n"), NULL);
    }
    free(line);
    if (f)
        fclose(f);
    return f != NULL;
}

static int names_by_pid(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : strcmp(x->text, y->text);
}

static struct list names_begin(const char *prefix)
{
    return (struct list){ .prefix = prefix, .names = malloc(sizeof(struct name)), .room = 1 };
}

static struct name *names_end(struct list *l, bool known, size_t *count)
{
    if (!known || l->failed) {
        int error = l->names && !l->failed ? errno : ENOMEM;

        free(l->names);
        errno = error;
        return NULL;
    }
    qsort(l->names, l->count, sizeof *l->names, names_by_pid);
    *count = l->count;
    return l->names;
}

struct name *names_list(const char *prefix, size_t *count)
{
    struct list l = names_begin(prefix);
    bool known = l.names && names_from_own_diag(&l);

    if (l.names && !known) {
        l.count = 0;
        known = names_from_proc(&l, "/proc/net/unix", SIZE_MAX);
    }
    return names_end(&l, known, count);
}

struct name *names_list_by(int netlink, const char *prefix, size_t *count)
{
    struct list l = names_begin(prefix);

    return names_end(&l, l.names && names_from_diag(&l, netlink), count);
}

struct name *names_list_of(long pid, const char *prefix, size_t max_bytes, size_t *count)
{
    struct list l = names_begin(prefix);
    char path[64];

    snprintf(path, sizeof path, "/proc/%ld/net/unix", pid);
    return names_end(&l, l.names && names_from_proc(&l, path, max_bytes), count);
}
