/* SPDX-License-Identifier: MIT */
/* The thread of Winsock Kernel's sockets: everybody has a turn, whatever one driver's routines do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* A completion routine that asks again each time: what comes for another socket is seen nevertheless. */
static void test_requests_without_end(void **state)
{
    static struct endless e;
    struct kit_pair p, q;
    struct kit_memory m;
    struct kit_call receiving;
    ULONG_PTR n = 0;
    WSK_BUF room;

    (void)state;
    kit_attach();
    p = kit_pair_make(AF_INET, NULL, NULL);
    q = kit_pair_make(AF_INET, NULL, NULL);
    kit_memory_one(&m, 10);
    room = (WSK_BUF){ m.mdl, 0, 10 };
    e.socket = p.client;
    e.irp = IoAllocateIrp(1, FALSE);
    assert_non_null(e.irp);
    KeInitializeEvent(&e.over, NotificationEvent, FALSE);
    send_nothing(&e);
    assert_int_equal(KIT_CONNECTION(q.server)->WskReceive(q.server, &room, 0, kit_irp(&receiving)), STATUS_PENDING);
    kit_send(q.client, 10, 0); /* the receive is there by then, and only the host can tell it of the data */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
