/* SPDX-License-Identifier: MIT */
/*
 * Questions to the kernel about sockets of other processes, by netlink's sock_diag, which needs no privilege. The kernel
 * lists sockets that are only bound since 6.8, and takes milliseconds for it: only sock_diag_sockets_at asks for them.
 */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/descriptors.h"
#include "engine/net_internal.h"

/* Bound, neither listening nor connected: a state of its own since Linux 6.8. */
#define BOUND_ONLY (1u << 13)

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

/* What is looked for, and what has been found so far. */
struct search {
    const struct addr *local;
    const struct addr *peer; /* NULL: any */
    bool living;
    bool remains;
};

static void put_host(uint32_t to[4], const struct addr *a)
{
    if (a->sa.sa_family == AF_INET)
        memcpy(to, &a->v4.sin_addr, sizeof a->v4.sin_addr);
    else
        memcpy(to, &a->v6.sin6_addr, sizeof a->v6.sin6_addr);
}

static bool is_host(const uint32_t words[4], unsigned family, const struct addr *a)
{
    uint32_t wanted[4] = { 0 };

    put_host(wanted, a);
    if (family == a->sa.sa_family)
        return memcmp(words, wanted, family == AF_INET ? 4 : 16) == 0;
    /* A socket for both families has an IPv4 address behind a prefix. */
    return family == AF_INET6 && !words[0] && !words[1] && words[2] == htonl(0xffff) && words[3] == wanted[0];
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
        return m->idiag_inode != 0;
    default:
        return false;
    }
}

static void look_at(void *context, const struct nlmsghdr *answer)
{
    struct search *search = context;
    const struct inet_diag_msg *m = NLMSG_DATA(answer);

    /* The kernel answers with a listener where it finds no such connection. */
    if (m->idiag_state == TCP_LISTEN || m->id.idiag_sport != htons(addr_port(search->local)) ||
        !is_host(m->id.idiag_src, m->idiag_family, search->local))
        return;
    if (search->peer && (m->id.idiag_dport != htons(addr_port(search->peer)) ||
                         !is_host(m->id.idiag_dst, m->idiag_family, search->peer)))
        return;
    if (is_living(m))
        search->living = true;
    else
        search->remains = true;
}

static struct question question(unsigned family, const struct addr *local, uint16_t flags, uint32_t states)
{
    struct question q;

    memset(&q, 0, sizeof q);
    q.header.nlmsg_len = sizeof q;
    q.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    q.header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
    q.request.sdiag_family = (uint8_t)family;
    q.request.sdiag_protocol = IPPROTO_TCP;
    q.request.idiag_states = states;
    q.request.id.idiag_sport = htons(addr_port(local));
    q.request.id.idiag_cookie[0] = q.request.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return q;
}

/* One datagram of answers. EAGAIN: more may come; 0: that was all; else why there are none. */
static int handle_answers(const char *answers, size_t len, size_t min_size,
                          void (*handle)(void *context, const struct nlmsghdr *answer), void *context)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answers;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(min_size))
            return EIO;
        handle(context, h);
        if (!(h->nlmsg_flags & NLM_F_MULTI))
            return 0;
    }
    return EAGAIN;
}

int sock_diag_request(const void *question, size_t size, size_t min_size,
                  void (*handle)(void *context, const struct nlmsghdr *answer), void *context)
{
    _Alignas(struct nlmsghdr) char answers[16384];
    int fd = descriptors_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
    int err = EAGAIN;

    if (fd < 0)
        return errno;
    if (send(fd, question, size, 0) != (ssize_t)size)
        err = EIO;
    while (err == EAGAIN) {
        ssize_t len = recv(fd, answers, sizeof answers, 0);

        if (len < 0 && errno == EINTR)
            continue;
        err = len <= 0 ? EIO : handle_answers(answers, (size_t)len, min_size, handle, context);
    }
    descriptors_close(fd);
    return err;
}

static int ask(const struct question *q, struct search *search)
{
    return sock_diag_request(q, sizeof *q, sizeof(struct inet_diag_msg), look_at, search);
}

bool sock_diag_connected(const struct addr *local, const struct addr *peer)
{
    struct question q = question(local->sa.sa_family, local, 0, ~0u);
    struct search search = { .local = local, .peer = peer };

    put_host(q.request.id.idiag_src, local);
    put_host(q.request.id.idiag_dst, peer);
    q.request.id.idiag_dport = htons(addr_port(peer));
    if (local->sa.sa_family == AF_INET6)
        q.request.id.idiag_if = local->v6.sin6_scope_id;
    /* An error is the answer "none" too. */
    (void)ask(&q, &search);
    return search.living;
}

enum sock_diag sock_diag_at(const struct addr *local)
{
    static const unsigned families[] = { AF_INET, AF_INET6 };
    struct search search = { .local = local };

    for (int i = 0; i < 2 && !search.living; i++) {
        struct question q = question(families[i], local, NLM_F_DUMP, ~(1u << TCP_LISTEN | BOUND_ONLY));

        /* A kernel without IPv6 has no answer about it; one that answers nothing at all finds nobody guilty. */
        if (ask(&q, &search) && families[i] == local->sa.sa_family)
            return SOCK_DIAG_REMAINS;
    }
    if (search.living)
        return SOCK_DIAG_LIVING;
    return search.remains ? SOCK_DIAG_REMAINS : SOCK_DIAG_NOTHING;
}

struct sockets_search {
    const struct addr *local;
    void (*found)(void *context, const struct inet_diag_msg *m);
    void *context;
};

static void handle_socket(void *context, const struct nlmsghdr *answer)
{
    static const uint32_t any[4];
    const struct sockets_search *s = context;
    const struct inet_diag_msg *m = NLMSG_DATA(answer);

    if (m->id.idiag_sport != htons(addr_port(s->local)))
        return;
    if (is_host(m->id.idiag_src, m->idiag_family, s->local) || memcmp(m->id.idiag_src, any, sizeof any) == 0)
        s->found(s->context, m);
}

bool sock_diag_sockets_at(const struct addr *local, void (*found)(void *context, const struct inet_diag_msg *m),
                          void *context)
{
    static const unsigned families[] = { AF_INET, AF_INET6 };
    struct sockets_search s = { .local = local, .found = found, .context = context };

    for (int i = 0; i < 2; i++) {
        struct question q = question(families[i], local, NLM_F_DUMP, ~0u);

        if (sock_diag_request(&q, sizeof q, sizeof(struct inet_diag_msg), handle_socket, &s) &&
            families[i] == local->sa.sa_family)
            return false;
    }
    return true;
}
