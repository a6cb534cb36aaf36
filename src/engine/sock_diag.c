/* SPDX-License-Identifier: MIT */
/*
 * Requests information about sockets of other processes from the kernel, by netlink's sock_diag, which needs no
 * privilege. Since Linux 6.8 the kernel can also list sockets that are bound, but neither listening nor connected. Such
 * a list takes milliseconds. The invariant: only sock_diag_sockets_at requests it.
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

/* The state of sockets that are bound, but neither listening nor connected. Linux reports it since version 6.8. */
#define BOUND_ONLY (1u << 13)

struct diag_request {
    struct nlmsghdr header;
    struct inet_diag_req_v2 request;
};

/* A search for connections, and its result so far. */
struct connection_search {
    const struct addr *local;
    const struct addr *peer; /* NULL: any peer */
    bool has_living;
    bool has_remains;
};

struct socket_search {
    const struct addr *local;
    void (*on_socket)(void *context, const struct inet_diag_msg *m);
    void *context;
};

static void diag_put_host(uint32_t to[4], const struct addr *a)
{
    if (a->sa.sa_family == AF_INET)
        memcpy(to, &a->v4.sin_addr, sizeof a->v4.sin_addr);
    else
        memcpy(to, &a->v6.sin6_addr, sizeof a->v6.sin6_addr);
}

static bool diag_is_host(const uint32_t words[4], unsigned family, const struct addr *a)
{
    uint32_t wanted[4] = { 0 };

    diag_put_host(wanted, a);
    if (family == a->sa.sa_family)
        return memcmp(words, wanted, family == AF_INET ? 4 : 16) == 0;
    /* A socket for both families reports an IPv4 address as an IPv4-mapped IPv6 address. */
    return family == AF_INET6 && !words[0] && !words[1] && words[2] == htonl(0xffff) && words[3] == wanted[0];
}

/*
 * Returns true if the connection still uses its address. A closing connection that no process has open does not count.
 */
static bool diag_is_living(const struct inet_diag_msg *m)
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

static void connection_search_add(void *context, const struct nlmsghdr *answer)
{
    struct connection_search *search = context;
    const struct inet_diag_msg *m = NLMSG_DATA(answer);

    /* If the kernel finds no such connection, it may answer with a listener. A listener is ignored here. */
    if (m->idiag_state == TCP_LISTEN || m->id.idiag_sport != htons(addr_port(search->local)) ||
        !diag_is_host(m->id.idiag_src, m->idiag_family, search->local))
        return;
    if (search->peer && (m->id.idiag_dport != htons(addr_port(search->peer)) ||
                         !diag_is_host(m->id.idiag_dst, m->idiag_family, search->peer)))
        return;
    if (diag_is_living(m))
        search->has_living = true;
    else
        search->has_remains = true;
}

static struct diag_request diag_request_make(unsigned family, const struct addr *local, uint16_t flags, uint32_t states)
{
    struct diag_request q;

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

/*
 * Handles one datagram of answers. Returns 0 if it contained the last answer, EAGAIN if more may come, or another
 * errno.
 */
static int diag_handle_answers(const char *answers, size_t len, size_t min_size,
                               void (*on_answer)(void *context, const struct nlmsghdr *answer), void *context)
{
    const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answers;

    for (; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
        if (h->nlmsg_type == NLMSG_DONE)
            return 0;
        if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(min_size))
            return EIO;
        on_answer(context, h);
        if (!(h->nlmsg_flags & NLM_F_MULTI))
            return 0;
    }
    return EAGAIN;
}

int sock_diag_request(const void *request, size_t size, size_t min_size,
                      void (*on_answer)(void *context, const struct nlmsghdr *answer), void *context)
{
    _Alignas(struct nlmsghdr) char answers[16384];
    int fd = descriptors_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
    int err = EAGAIN;

    if (fd < 0)
        return errno;
    if (send(fd, request, size, 0) != (ssize_t)size)
        err = EIO;
    while (err == EAGAIN) {
        ssize_t len = recv(fd, answers, sizeof answers, 0);

        if (len < 0 && errno == EINTR)
            continue;
        err = len <= 0 ? EIO : diag_handle_answers(answers, (size_t)len, min_size, on_answer, context);
    }
    descriptors_close(fd);
    return err;
}

static int connection_search_run(const struct diag_request *q, struct connection_search *search)
{
    return sock_diag_request(q, sizeof *q, sizeof(struct inet_diag_msg), connection_search_add, search);
}

bool sock_diag_connected(const struct addr *local, const struct addr *peer)
{
    struct diag_request q = diag_request_make(local->sa.sa_family, local, 0, ~0u);
    struct connection_search search = { .local = local, .peer = peer };

    diag_put_host(q.request.id.idiag_src, local);
    diag_put_host(q.request.id.idiag_dst, peer);
    q.request.id.idiag_dport = htons(addr_port(peer));
    if (local->sa.sa_family == AF_INET6)
        q.request.id.idiag_if = local->v6.sin6_scope_id;
    /* The result is ignored, because the kernel also reports an error if there is no such connection. */
    (void)connection_search_run(&q, &search);
    return search.has_living;
}

enum sock_diag sock_diag_at(const struct addr *local)
{
    static const unsigned families[] = { AF_INET, AF_INET6 };
    struct connection_search search = { .local = local };

    for (int i = 0; i < 2 && !search.has_living; i++) {
        struct diag_request q = diag_request_make(families[i], local, NLM_F_DUMP, ~(1u << TCP_LISTEN | BOUND_ONLY));

        /*
         * If the search in the address's own family fails, the result is SOCK_DIAG_REMAINS. A failure in the other
         * family is ignored, because a kernel without IPv6 returns an error for AF_INET6.
         */
        if (connection_search_run(&q, &search) && families[i] == local->sa.sa_family)
            return SOCK_DIAG_REMAINS;
    }
    if (search.has_living)
        return SOCK_DIAG_LIVING;
    return search.has_remains ? SOCK_DIAG_REMAINS : SOCK_DIAG_NOTHING;
}

static void socket_search_add(void *context, const struct nlmsghdr *answer)
{
    static const uint32_t any[4];
    const struct socket_search *s = context;
    const struct inet_diag_msg *m = NLMSG_DATA(answer);

    if (m->id.idiag_sport != htons(addr_port(s->local)))
        return;
    if (diag_is_host(m->id.idiag_src, m->idiag_family, s->local) || memcmp(m->id.idiag_src, any, sizeof any) == 0)
        s->on_socket(s->context, m);
}

bool sock_diag_sockets_at(const struct addr *local, void (*on_socket)(void *context, const struct inet_diag_msg *m),
                          void *context)
{
    static const unsigned families[] = { AF_INET, AF_INET6 };
    struct socket_search s = { .local = local, .on_socket = on_socket, .context = context };

    for (int i = 0; i < 2; i++) {
        struct diag_request q = diag_request_make(families[i], local, NLM_F_DUMP, ~0u);

        if (sock_diag_request(&q, sizeof q, sizeof(struct inet_diag_msg), socket_search_add, &s) &&
            families[i] == local->sa.sa_family)
            return false;
    }
    return true;
}
