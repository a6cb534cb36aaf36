/* SPDX-License-Identifier: MIT */
/* Options and I/O controls of Winsock Kernel's sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

static int get(PWSK_SOCKET s, ULONG level, ULONG code)
{
    struct kit_call c;
    int value = -1;
    ULONG_PTR size = 0;

    assert_int_equal(kit_end(&c,
                             KIT_LISTEN(s)->WskControlSocket(s, WskGetOption, code, level, 0, NULL, sizeof value,
                                                             &value, NULL, kit_irp(&c)),
                             &size),
                     STATUS_SUCCESS);
    assert_int_equal(size, sizeof value);
    return value;
}

static void test_options(void **state)
{
    static const struct {
        ADDRESS_FAMILY family;
        ULONG category, level, code;
        int value;
    } rows[] = {
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, SOL_SOCKET, SO_KEEPALIVE, 1 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, SOL_SOCKET, SO_RCVBUF, 100000 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, SOL_SOCKET, SO_SNDBUF, 100000 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, SOL_SOCKET, SO_REUSEADDR, 1 },
        { AF_INET, WSK_FLAG_DATAGRAM_SOCKET, SOL_SOCKET, SO_BROADCAST, 1 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, IPPROTO_TCP, TCP_NODELAY, 1 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, IPPROTO_TCP, TCP_KEEPIDLE, 33 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, IPPROTO_TCP, TCP_KEEPINTVL, 5 },
        { AF_INET, WSK_FLAG_CONNECTION_SOCKET, IPPROTO_TCP, TCP_KEEPCNT, 4 },
        { AF_INET, WSK_FLAG_DATAGRAM_SOCKET, IPPROTO_IP, IP_TTL, 7 },
        { AF_INET, WSK_FLAG_DATAGRAM_SOCKET, IPPROTO_IP, IP_DONTFRAGMENT, 1 },
        { AF_INET6, WSK_FLAG_DATAGRAM_SOCKET, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 7 },
        { AF_INET6, WSK_FLAG_DATAGRAM_SOCKET, IPPROTO_IPV6, IPV6_MULTICAST_IF, 1 },
        { AF_INET6, WSK_FLAG_DATAGRAM_SOCKET, IPPROTO_IPV6, IPV6_V6ONLY, 0 },
    };
    PWSK_SOCKET s;
    int value = 1;

    (void)state;
    kit_attach();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        s = kit_socket(rows[i].family, rows[i].category, NULL, NULL);
        value = rows[i].value;
        assert_int_equal(kit_control(s, WskSetOption, rows[i].level, rows[i].code, &value, sizeof value),
                         STATUS_SUCCESS);
        assert_int_equal(get(s, rows[i].level, rows[i].code), rows[i].value);
        assert_int_equal(kit_close(s), STATUS_SUCCESS);
    }
    s = kit_socket(AF_INET6, WSK_FLAG_BASIC_SOCKET, NULL, NULL);
    assert_int_equal(get(s, IPPROTO_IPV6, IPV6_V6ONLY), 1);
    assert_int_equal(get(s, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
    assert_int_equal(kit_control(s, WskSetOption, SOL_SOCKET, SO_TYPE, &value, sizeof value), STATUS_NOT_SUPPORTED);
    assert_int_equal(kit_control(s, WskSetOption, SOL_SOCKET, (ULONG)SO_EXCLUSIVEADDRUSE, &value, sizeof value),
                     STATUS_SUCCESS);
    assert_int_equal(kit_control(s, WskSetOption, SOL_SOCKET, SO_CONDITIONAL_ACCEPT, &value, sizeof value),
                     STATUS_NOT_SUPPORTED);
    assert_int_equal(kit_control(s, WskSetOption, SOL_SOCKET, SO_KEEPALIVE, NULL, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_control(s, WskIoctl, 0, SIO_WSK_SET_REMOTE_ADDRESS, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(kit_control(s, WskIoctl, 0, 12345, NULL, 0), STATUS_NOT_SUPPORTED);
    assert_int_equal(kit_control(s, WskControlMax, 0, 0, NULL, 0), STATUS_INVALID_PARAMETER);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_detach();
}

static void send_at_once(PWSK_SOCKET s)
{
    struct kit_memory m;

    kit_memory_one(&m, 1);
    assert_int_equal(kit_send_buf(s, (WSK_BUF){ m.mdl, 0, 1 }, WSK_FLAG_NODELAY, NULL), STATUS_SUCCESS);
    kit_memory_free(&m);
}

/* A send without delay does not change the option that the driver has set on the socket or its listener. */
static void test_no_delay_stays(void **state)
{
    kit_address at;
    PWSK_SOCKET listener, client, server;
    int yes = 0x100, no = 0;

    (void)state;
    kit_attach();
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    assert_int_equal(kit_control(listener, WskSetOption, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), STATUS_SUCCESS);
    client = kit_connect(&at, NULL, NULL);
    server = kit_accept(listener, NULL, NULL);
    assert_int_equal(get(server, IPPROTO_TCP, TCP_NODELAY), 1);
    send_at_once(server);
    assert_int_equal(get(server, IPPROTO_TCP, TCP_NODELAY), 1);
    send_at_once(client);
    assert_int_equal(get(client, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_equal(kit_control(client, WskSetOption, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes), STATUS_SUCCESS);
    send_at_once(client);
    assert_int_equal(get(client, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(kit_control(client, WskSetOption, IPPROTO_TCP, TCP_NODELAY, &no, 1), STATUS_SUCCESS);
    send_at_once(client);
    assert_int_equal(get(client, IPPROTO_TCP, TCP_NODELAY), 0);
    assert_int_equal(kit_close(client), STATUS_SUCCESS);
    assert_int_equal(kit_close(server), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_detach();
}

static void test_route(void **state)
{
    kit_address to = { .v4 = { AF_INET, 7, { { { 127, 3, 4, 5 } } }, { 0 } } }, from;
    struct kit_call c;
    ULONG_PTR size = 0;
    PWSK_SOCKET s;

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_BASIC_SOCKET, NULL, NULL);
    assert_int_equal(
        kit_end(&c,
                KIT_LISTEN(s)->WskControlSocket(s, WskIoctl, SIO_ROUTING_INTERFACE_QUERY, 0, sizeof(SOCKADDR_IN), &to,
                                                sizeof from, &from, NULL, kit_irp(&c)),
                &size),
        STATUS_SUCCESS);
    assert_int_equal(size, sizeof(SOCKADDR_IN));
    assert_int_equal(from.v4.sin_addr.S_un.S_un_b.s_b1, 127);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_delay_stays),
        cmocka_unit_test(test_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
