/* SPDX-License-Identifier: MIT */
/*
 * The thread of Winsock Kernel's sockets: all sockets are served, whatever one driver's routines do; a closed socket
 * is closed although another process has a copy; a socket that cannot be watched is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "wsk_kit.h"

/* ---- Without end ------------------------------------------------------------------------------------------------- */

struct endless {
    PWSK_SOCKET socket;
    PIRP irp;
    atomic_int rounds, stop;
    KEVENT over;
};

static NTSTATUS send_again(PDEVICE_OBJECT device, PIRP irp, PVOID context);

static void send_nothing(struct endless *e)
{
    WSK_BUF none = { NULL, 0, 0 };

    IoReuseIrp(e->irp, STATUS_SUCCESS);
    IoSetCompletionRoutine(e->irp, send_again, e, TRUE, TRUE, TRUE);
    (void)KIT_CONNECTION(e->socket)->WskSend(e->socket, &none, 0, e->irp);
}

static NTSTATUS send_again(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct endless *e = context;

    (void)device, (void)irp;
    atomic_fetch_add(&e->rounds, 1);
    if (atomic_load(&e->stop))
        KeSetEvent(&e->over, IO_NO_INCREMENT, FALSE);
    else
        send_nothing(e);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

/* A completion routine that always receives again does not block the events of another socket. */
static void test_requests_without_end(void **state)
{
    static struct endless e;
    struct kit_pair p, q;
    struct kit_memory m;
    struct kit_call receiving;
    ULONG_PTR n = 0;
    WSK_BUF room;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    q = kit_pair_make(AF_INET, NULL, NULL);
    room = kit_buffer(&m, 10);
    e.socket = p.client;
    e.irp = IoAllocateIrp(1, FALSE);
    assert_non_null(e.irp);
    KeInitializeEvent(&e.over, NotificationEvent, FALSE);
    send_nothing(&e);
    kit_start_receive(q.server, &room, 0, &receiving);
    kit_send(q.client, 10, 0); /* the receive waits now, and only an event of the host can report the data */
    assert_int_equal(kit_end(&receiving, STATUS_PENDING, &n), STATUS_SUCCESS);
    assert_int_equal(n, 10);
    kit_verify(&m, 0, 10, 0);
    atomic_store(&e.stop, 1);
    assert_int_equal(KeWaitForSingleObject(&e.over, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    assert_true(atomic_load(&e.rounds) > 1);
    IoFreeIrp(e.irp);
    kit_memory_free(&m);
    kit_pair_close(&p);
    kit_pair_close(&q);
    kit_detach();
}

/* ---- A child with copies ----------------------------------------------------------------------------------------- */

struct child {
    pid_t pid;
    int end; /* the child exits when this is closed */
};

static struct child child_start(void)
{
    struct child c;
    int ends[2];
    char byte;

    assert_int_equal(pipe(ends), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (!c.pid) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) != 0);
    }
    close(ends[0]);
    c.end = ends[1];
    return c;
}

static void child_end(struct child *c)
{
    int status = -1;

    close(c->end);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    assert_int_equal(status, 0);
}

/* The peer gets the disconnect, and connects are refused. */
static void test_closed_for_all(void **state)
{
    struct kit_pair p;
    struct kit_memory m;
    struct kit_call c;
    struct child child;
    kit_address at;

    (void)state;
    p = kit_start(AF_INET, NULL, NULL);
    at = kit_local_by(p.listener, KIT_LISTEN(p.listener)->WskGetLocalAddress);
    kit_memory_one(&m, 10);
    child = child_start();
    assert_int_equal(kit_close(p.server), STATUS_SUCCESS);
    assert_int_equal(kit_receive_buf(p.client, (WSK_BUF){ m.mdl, 0, 10 }, 0, NULL), STATUS_CONNECTION_RESET);
    assert_int_equal(kit_close(p.listener), STATUS_SUCCESS);
    assert_int_equal(kit_end(&c, kit_start_connect(&c, &at, NULL, NULL), NULL), STATUS_CONNECTION_REFUSED);
    assert_int_equal(kit_close(p.client), STATUS_SUCCESS);
    child_end(&child);
    kit_memory_free(&m);
    kit_detach();
}

/* Data for the copy is ignored by the thread, which does not access the closed socket. */
static void test_copy_gets_data(void **state)
{
    enum { MORE_THAN_ARE_KEPT = 70 };
    PWSK_SOCKET s;
    struct child child;
    kit_address at = kit_loopback(AF_INET, 0);

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(s, &at), STATUS_SUCCESS);
    at = kit_local_by(s, KIT_DATAGRAM(s)->WskGetLocalAddress);
    child = child_start();
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    for (int i = 0; i < MORE_THAN_ARE_KEPT; i++)
        assert_int_equal(kit_close(kit_socket(AF_INET, WSK_FLAG_BASIC_SOCKET, NULL, NULL)), STATUS_SUCCESS);
    kit_send_datagrams(&at, 1, 0);
    kit_wait_host_events();
    child_end(&child);
    kit_detach();
}

/* ---- Not watched ------------------------------------------------------------------------------------------------- */

static atomic_int no_room;

/* Replaces the C library's function, because the test cannot change the host's limit of watched descriptors. */
int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
    if (operation != EPOLL_CTL_ADD || !atomic_load(&no_room))
        return (int)syscall(SYS_epoll_ctl, epoll, operation, fd, event);
    errno = ENOSPC;
    return -1;
}

static void bind_fails(ULONG category)
{
    PWSK_SOCKET s = kit_socket(AF_INET, category, NULL, NULL);
    kit_address any = kit_loopback(AF_INET, 0);

    assert_int_equal(kit_bind(s, &any), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
}

static void test_too_many_to_watch(void **state)
{
    PWSK_SOCKET listener, client, server;
    struct kit_memory m;
    struct kit_call c;
    kit_address at;
    WSK_BUF buf;

    (void)state;
    kit_attach();
    buf = kit_buffer(&m, 10);
    listener = kit_listener(AF_INET, NULL, NULL, &at);
    client = kit_connect(&at, NULL, NULL);
    atomic_store(&no_room, 1);
    bind_fails(WSK_FLAG_DATAGRAM_SOCKET);
    bind_fails(WSK_FLAG_LISTEN_SOCKET);
    server = kit_accept(listener, NULL, NULL);
    assert_int_equal(kit_receive_buf(server, buf, 0, NULL), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(kit_receive_buf(client, buf, 0, NULL), STATUS_CONNECTION_RESET);
    assert_int_equal(kit_end(&c, kit_start_connect(&c, &at, NULL, NULL), NULL), STATUS_INSUFFICIENT_RESOURCES);
    atomic_store(&no_room, 0);
    assert_int_equal(kit_close(client), STATUS_SUCCESS);
    assert_int_equal(kit_close(server), STATUS_SUCCESS);
    assert_int_equal(kit_close(listener), STATUS_SUCCESS);
    kit_memory_free(&m);
    kit_detach();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_without_end),
        cmocka_unit_test(test_closed_for_all),
        cmocka_unit_test(test_copy_gets_data),
        cmocka_unit_test(test_too_many_to_watch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
