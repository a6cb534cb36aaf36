/* SPDX-License-Identifier: MIT */
/*
 * Binds and finds the abstract AF_UNIX names by which OpenNDK processes of a network namespace reserve addresses. Also
 * finds the process that uses an address. The invariant: among the processes of one user and of root, at most one
 * process owns an address.
 *
 *   openndk/tcp/ADDRESS SCATTER             the address's name: a process that binds it owns the address
 *   openndk/tcp/ADDRESS SCATTER 2/RANDOM    a further name of version 2 of these rules
 *
 * SCATTER is computed from ADDRESS. It spreads the names over the kernel's lists of names (see name_make).
 *
 * Any user can bind any name. So a process that cannot bind the address's name lists all names of the address. A name
 * counts only if
 *   - it belongs to this user, or to root, or
 *   - the kernel shows a TCP socket of the name's user at the address. With that socket the user could block the
 *     address even without a name.
 * If no name counts, the process reserves the address with a further name, which nobody can predict. Two processes that
 * bind further names at the same moment may see each other and both fail.
 *
 * The address's name is the same in all versions of these rules, and a process of version 1 binds no other name. So a
 * process of version 1 and a process of a later version exclude each other. Names of all versions begin with the
 * address's name, and the rules above apply to names of all versions. A name whose user the kernel does not report
 * (before Linux 5.3) always counts.
 *
 * docs/addresses.md describes what these rules do not prevent.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/random.h"
#include "engine/net_internal.h"

#ifndef UDIAG_SHOW_UID /* Linux 5.3 */
#define UDIAG_SHOW_UID 0x40
#define UNIX_DIAG_UID 7
#endif

enum {
    SCATTER_CHARACTERS = 6,
    MAX_USERS = 32,
    PRIVILEGED_PORTS = 1024, /* the system's default; a port below this number requires a privilege */
};

/* ---- names ---- */

static char *name_put_hex(char *at, const void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *byte = bytes;

    for (size_t i = 0; i < n; i++) {
        *at++ = digits[byte[i] >> 4];
        *at++ = digits[byte[i] & 15];
    }
    return at;
}

/*
 * Writes the address's name and returns the length of the name. snprintf is not used, because it would execute a tenth
 * of the instructions of a connect. The kernel hashes abstract names into 256 lists by the sum of their bytes, and the
 * digits of ports give only a few dozen sums. So each name ends in characters that are computed from the address and
 * spread the names over all lists.
 */
static socklen_t name_make(const struct addr *a, struct sockaddr_un *name)
{
    uint64_t state = addr_hash(a), bits = random_next(&state);
    char *at = stpcpy(name->sun_path + 1, "openndk/tcp/");

    if (a->sa.sa_family == AF_INET) {
        at = name_put_hex(at, &a->v4.sin_addr, sizeof a->v4.sin_addr);
    } else {
        at = name_put_hex(at, &a->v6.sin6_addr, sizeof a->v6.sin6_addr);
        *at++ = '%';
        at = name_put_hex(at, &a->v6.sin6_scope_id, sizeof a->v6.sin6_scope_id);
    }
    *at++ = ':';
    at = name_put_hex(at, &a->v4.sin_port, sizeof a->v4.sin_port); /* sin6_port is at the same offset */
    *at++ = ' ';
    for (int i = 0; i < SCATTER_CHARACTERS; i++, bits >>= 6)
        *at++ = (char)('0' + (bits & 63));
    return (socklen_t)(at - (char *)name);
}

/*
 * Appends a random suffix to the address's name. The result is a further name of the same address. Returns the length
 * of the further name.
 */
static socklen_t name_make_further(struct sockaddr_un *name, socklen_t len)
{
    uint64_t random = random_u64();
    char *at = stpcpy((char *)name + len, " 2/");

    return (socklen_t)(name_put_hex(at, &random, sizeof random) - (char *)name);
}

/* ---- TCP sockets at the address ---- */

/* The users who own TCP sockets at an address. Sockets that no process has open do not count. */
struct tcp_users {
    uid_t uids[MAX_USERS];
    unsigned count;
    bool more;          /* there are more users than `uids` has room for */
    bool shows_own;     /* the kernel listed own_inode, so it lists all sockets that are bound but not connected */
    uint32_t own_inode; /* the inode of the caller's own socket, which is bound but not connected; 0: none */
    uint32_t inode;     /* the inode of a socket of user uids[0] */
};

static bool tcp_users_have(const struct tcp_users *t, uid_t uid)
{
    for (unsigned i = 0; i < t->count; i++)
        if (t->uids[i] == uid)
            return true;
    return t->more;
}

static void tcp_users_add(void *context, const struct inet_diag_msg *m)
{
    struct tcp_users *t = context;

    if (!m->idiag_inode) /* no process has the socket open */
        return;
    if (m->idiag_inode == t->own_inode) {
        t->shows_own = true;
        return;
    }
    for (unsigned i = 0; i < t->count; i++)
        if (t->uids[i] == m->idiag_uid)
            return;
    if (t->count == 0)
        t->inode = m->idiag_inode;
    if (t->count < MAX_USERS)
        t->uids[t->count++] = m->idiag_uid;
    else
        t->more = true;
}

static bool port_is_privileged(uint16_t port)
{
    unsigned first = PRIVILEGED_PORTS;
    FILE *f = fopen("/proc/sys/net/ipv4/ip_unprivileged_port_start", "re");

    if (f && fscanf(f, "%u", &first) != 1)
        first = PRIVILEGED_PORTS;
    if (f)
        fclose(f);
    return port < first;
}

/* ---- names of the address ---- */

struct name_search {
    const struct sockaddr_un *name; /* the address's name */
    const struct sockaddr_un *own;  /* the further name that this process has bound; the search ignores it; or NULL */
    socklen_t name_len, own_len;
    struct tcp_users tcp;
    bool shows_all; /* `tcp` is complete, so a user who is not in `tcp` has no socket at the address */
    /*
     * `found` is true if a name counts by the rules at the top of this file. The other members describe the first such
     * name: `uid` is its user if has_uid is true, that is, if the kernel reports the user.
     */
    bool found, has_uid;
    uid_t uid;
    uint32_t inode;
};

/*
 * Returns true if `path` is the address's name or a further name of the address, but not s->own. The path of an
 * abstract name begins with a zero byte.
 */
static bool name_search_matches(const struct name_search *s, const char *path, size_t len)
{
    size_t wanted = s->name_len - offsetof(struct sockaddr_un, sun_path);
    size_t own = s->own ? s->own_len - offsetof(struct sockaddr_un, sun_path) : 0;

    if (len < wanted || memcmp(path, s->name->sun_path, wanted) != 0 || (len > wanted && path[wanted] != ' '))
        return false;
    return !s->own || len != own || memcmp(path, s->own->sun_path, len) != 0;
}

/*
 * Returns true if a bound name counts as a reservation of the address, by the rules at the top of this file. `uid` is
 * the user who has bound the name. has_uid is false if the kernel does not report that user.
 */
static bool name_search_counts(const struct name_search *s, bool has_uid, uid_t uid)
{
    bool has_socket = !s->shows_all || tcp_users_have(&s->tcp, uid);

    if (!has_uid || uid == geteuid() || uid == 0)
        return true;
    return has_socket;
}

static void name_search_add(void *context, const struct nlmsghdr *h)
{
    struct name_search *s = context;
    const struct unix_diag_msg *m = NLMSG_DATA(h);
    const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1);
    int len = (int)(h->nlmsg_len - NLMSG_LENGTH(sizeof *m));
    bool is_name = false, has_uid = false;
    uid_t uid = 0;

    for (; RTA_OK(a, len); a = RTA_NEXT(a, len)) {
        if (a->rta_type == UNIX_DIAG_NAME)
            is_name = name_search_matches(s, RTA_DATA(a), RTA_PAYLOAD(a));
        else if (a->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(a) == sizeof uid) {
            memcpy(&uid, RTA_DATA(a), sizeof uid);
            has_uid = true;
        }
    }
    if (!is_name || s->found || !name_search_counts(s, has_uid, uid))
        return;
    s->found = true;
    s->has_uid = has_uid;
    s->uid = uid;
    s->inode = m->udiag_ino;
}

/*
 * Finds the first name that counts as a reservation of the address. Returns false if the kernel does not report names.
 */
static bool name_search_run(struct name_search *s)
{
    struct {
        struct nlmsghdr header;
        struct unix_diag_req request;
    } q = { .header = { .nlmsg_len = sizeof q,
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
            .request = {
                .sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID } };

    return sock_diag_request(&q, sizeof q, sizeof(struct unix_diag_msg), name_search_add, s) == 0;
}

/*
 * Returns true if another process has reserved the address: it has bound a socket to one of the address's names, and
 * this name counts as a reservation. Also returns true if the kernel does not report sockets or names. tcp_fd is bound
 * to the address. `exclusive` means that the kernel had no other socket at the address when tcp_fd was bound.
 */
static bool name_search_finds_owner(const struct addr *local, int tcp_fd, bool exclusive, struct name_search *s)
{
    struct stat st;

    if (fstat(tcp_fd, &st) == 0)
        s->tcp.own_inode = (uint32_t)st.st_ino;
    if (!sock_diag_sockets_at(local, tcp_users_add, &s->tcp))
        return true;
    s->shows_all = exclusive || s->tcp.shows_own || port_is_privileged(addr_port(local));
    return !name_search_run(s) || s->found;
}

int reservation_name_bind(const struct addr *local, int tcp_fd, bool exclusive, bool contest, int *name_fd)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX }, further;
    socklen_t len = name_make(local, &name);
    int fd = descriptors_socket(AF_UNIX, SOCK_STREAM, 0), err = 0;

    if (fd < 0)
        return errno;
    if (bind(fd, (const struct sockaddr *)&name, len))
        err = errno;
    if (err == EADDRINUSE && contest) {
        struct name_search search = { .name = &name, .name_len = len, .own = &further };

        further = name;
        search.own_len = name_make_further(&further, len);
        err = bind(fd, (const struct sockaddr *)&further, search.own_len) ? errno : 0;
        if (!err && name_search_finds_owner(local, tcp_fd, exclusive, &search))
            err = EADDRINUSE;
    }
    if (err) {
        descriptors_close(fd);
        return err;
    }
    *name_fd = fd;
    return 0;
}

/* ---- the process that uses an address ---- */

bool net_address_holder(const struct addr *local, struct address_holder *holder)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    struct name_search s = { .name = &name, .name_len = name_make(local, &name), .shows_all = true };
    bool tcp_is_reported = sock_diag_sockets_at(local, tcp_users_add, &s.tcp);

    memset(holder, 0, sizeof *holder);
    if (!name_search_run(&s) || (!s.found && s.tcp.count == 0 && !port_is_privileged(addr_port(local)))) {
        /* A second search: every name counts, because the kernel may not have listed sockets that are only bound. */
        s.shows_all = false;
        (void)name_search_run(&s);
    }
    if (s.found) {
        *holder = (struct address_holder){ .is_provider = true, .has_uid = s.has_uid, .uid = s.uid, .inode = s.inode };
        return true;
    }
    if (!tcp_is_reported || s.tcp.count == 0)
        return false;
    *holder = (struct address_holder){ .has_uid = true, .uid = s.tcp.uids[0], .inode = s.tcp.inode };
    return true;
}
