/* SPDX-License-Identifier: MIT */
/* Which sockets of its process the nbdkit plugin takes for nbdkit's connections (tools/nbdkit/connections.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "connections.h"

union address {
    struct sockaddr any;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
    struct sockaddr_un local;
    struct sockaddr_storage storage;
};

/* A listener, and a connection that it has accepted: `client` to `server`. */
struct pair {
    union address address;
    socklen_t length;
    int listener, client, server;
};

static union address at(const char *text, in_port_t port)
{
    union address a = { .storage = { 0 } };

    if (inet_pton(AF_INET, text, &a.ipv4.sin_addr) == 1) {
        a.ipv4.sin_family = AF_INET;
        a.ipv4.sin_port = port;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &a.ipv6.sin6_addr), 1);
        a.ipv6.sin6_family = AF_INET6;
        a.ipv6.sin6_port = port;
    }
    return a;
}

static socklen_t length_of(const union address *a)
{
    return a->any.sa_family == AF_INET    ? sizeof a->ipv4
           : a->any.sa_family == AF_INET6 ? sizeof a->ipv6
                                          : sizeof a->local;
}

/* Listens at the address; its port 0 becomes a free one. */
static struct pair listen_at(union address a)
{
    struct pair p = { .address = a, .length = length_of(&a), .client = -1, .server = -1 };

    p.listener = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p.listener >= 0);
    assert_int_equal(bind(p.listener, &p.address.any, p.length), 0);
    assert_int_equal(listen(p.listener, 4), 0);
    assert_int_equal(getsockname(p.listener, &p.address.any, &p.length), 0);
    return p;
}

/* Connects to the listener at the address `to`. */
static void connect_to(struct pair *p, union address to)
{
    p->client = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->client >= 0);
    assert_int_equal(connect(p->client, &to.any, length_of(&to)), 0);
    p->server = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(p->server >= 0);
}

/* Whether the socket receives no more, although its peer has not closed the connection. */
static bool is_ended(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void pair_close(const struct pair *p)
{
    close(p->listener);
    close(p->client);
    close(p->server);
}

static void test_connections(void **state)
{
    union address local = { .local = { .sun_family = AF_UNIX, .sun_path = "" } };
    struct pair own[5], foreign[3];

    (void)state;
    snprintf(local.local.sun_path + 1, sizeof local.local.sun_path - 1, "connections_test.%d", (int)getpid());
    own[0] = listen_at(at("127.0.0.1", 0));
    own[1] = listen_at(at("0.0.0.0", 0));
    own[2] = listen_at(at("::1", 0));
    own[3] = listen_at(at("::", 0));
    own[4] = listen_at(local);
    connections_find_listeners();

    connect_to(&own[0], own[0].address);
    connect_to(&own[1], at("127.0.0.5", own[1].address.ipv4.sin_port));
    connect_to(&own[2], own[2].address);
    connect_to(&own[3], at("::1", own[3].address.ipv6.sin6_port));
    connect_to(&own[4], local);
    /* A driver's listeners: the same port at another address, the same port of the other family, another port. */
    foreign[0] = listen_at(at("127.0.0.2", own[0].address.ipv4.sin_port));
    foreign[1] = listen_at(at("127.0.0.3", own[2].address.ipv6.sin6_port));
    foreign[2] = listen_at(at("127.0.0.1", 0));
    for (int i = 0; i < 3; i++)
        connect_to(&foreign[i], foreign[i].address);

    assert_int_equal(connections_end(), 5);
    for (int i = 0; i < 5; i++) {
        assert_true(is_ended(own[i].server));
        assert_false(is_ended(own[i].client));
        pair_close(&own[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_false(is_ended(foreign[i].server) || is_ended(foreign[i].client));
    assert_int_equal(connections_end(), 0);
    for (int i = 0; i < 3; i++)
        pair_close(&foreign[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_connections) };

    return cmocka_run_group_tests_name("connections", tests, NULL, NULL);
}
