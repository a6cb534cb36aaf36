/* SPDX-License-Identifier: MIT */
/*
 * Questions to the kernel about sockets of other processes, by netlink's sock_diag, which needs no privilege. Where the
 * kernel does not offer it, the answer is no; bind and connect then still catch what they can.
 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/net_internal.h"

/* linux/tcp.h's name for bound, neither listening nor connected; kernels before 6.8 do not report those. */
enum { STATE_BOUND_INACTIVE = 13 };

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

/* Each answer's verdict: true ends the search. */
struct verdict {
    bool (*matches)(const struct verdict *v, const struct inet_diag_msg *m);
    const struct addr *local;
    const struct addr *peer;
    uint32_t own_inode;
};

static void put_host(uint32_t to[4], const struct addr *a)
{
    if (a->sa.sa_family == AF_INET)
        memcpy(to, &a->v4.sin_addr, sizeof a->v4.sin_addr);
    else
        memcpy(to, &a->v6.sin6_addr, sizeof a->v6.sin6_addr);
}

static bool is_host(const uint32_t words[4], const struct addr *a)
{
    uint32_t wanted[4] = { 0 };

    put_host(wanted, a);
    return memcmp(words, wanted, a->sa.sa_family == AF_INET ? 4 : 16) == 0;
}

static struct question question(const struct addr *local, uint16_t flags, uint32_t states)
{
    struct question q;

    memset(&q, 0, sizeof q);
    q.header.nlmsg_len = sizeof q;
    q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    q.header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    q.request.sdiag_family = (uint8_t)local->sa.sa_family;
    q.request.sdiag_protocol = IPPROTO_TCP;
    q.request.idiag_states = states;
    q.request.id.idiag_sport = htons(addr_port(local));
    q.request.id.idiag_cookie[0] = q.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return q;
}

/* One datagram of answers. 1: a match; 0: none so far, more may come; -1: the end, or an error. */
static int judge(const char *answers, size_t len, const struct verdict *v)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answers;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
            return -1;
        if (v->matches(v, NLMSG_DATA(h)))
            return 1;
        if (!(h->nlmsg_flags & NLM_F_MULTI))
            return -1;
    }
    return 0;
}

static bool ask(const struct question *q, const struct verdict *v)
{
    _Alignas(struct nlmsghdr) char answers[16384];
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    int result = 0;

    if (fd < 0)
        return false;
    if (send(fd, q, sizeof *q, 0) != (ssize_t)sizeof *q)
        result = -1;
    while (result == 0) {
        ssize_t len = recv(fd, answers, sizeof answers, 0);

        if (len < 0 && errno == EINTR)
            continue;
        result = len <= 0 ? -1 : judge(answers, (size_t)len, v);
    }
    close(fd);
    return result > 0;
}

/* One side has closed and the process has let go: what is left is the kernel's, and no one's address. */
static bool is_living(const struct inet_diag_msg *m)
{
    switch (m->idiag_state) {
    case TCP_ESTABLISHED:
    case TCP_SYN_SENT:
    case TCP_SYN_RECV:
    case TCP_CLOSE_WAIT:
        return true;
    case TCP_FIN_WAIT1:
    case TCP_FIN_WAIT2:
    case TCP_LAST_ACK:
    case TCP_CLOSING:
    case STATE_BOUND_INACTIVE:
        return m->idiag_inode != 0;
    default:
        return false;
    }
}

static bool matches_tuple(const struct verdict *v, const struct inet_diag_msg *m)
{
    /* The kernel answers with a listener where no connection is found. */
    return is_living(m) && m->idiag_state != STATE_BOUND_INACTIVE && m->id.idiag_dport == htons(addr_port(v->peer)) &&
           is_host(m->id.idiag_dst, v->peer);
}

bool sock_diag_connected(const struct addr *local, const struct addr *peer)
{
    struct question q = question(local, 0, ~0u);
    struct verdict v = { .matches = matches_tuple, .local = local, .peer = peer };

    put_host(q.request.id.idiag_src, local);
    put_host(q.request.id.idiag_dst, peer);
    q.request.id.idiag_dport = htons(addr_port(peer));
    if (local->sa.sa_family == AF_INET6)
        q.request.id.idiag_if = local->v6.sin6_scope_id;
    return ask(&q, &v);
}

static bool matches_local(const struct verdict *v, const struct inet_diag_msg *m)
{
    return is_living(m) && m->idiag_inode != v->own_inode && m->id.idiag_sport == htons(addr_port(v->local)) &&
           is_host(m->id.idiag_src, v->local);
}

bool sock_diag_in_use(const struct addr *local, int own)
{
    struct question q = question(local, NLM_F_DUMP, ~(1u << TCP_TIME_WAIT | 1u << TCP_LISTEN));
    struct verdict v = { .matches = matches_local, .local = local };
    struct stat st;

    if (fstat(own, &st) == 0)
        v.own_inode = (uint32_t)st.st_ino;
    return ask(&q, &v);
}
