/* SPDX-License-Identifier: MIT */
/* Reports of memory that a driver unlocks, unmaps or frees while a pending request of Winsock Kernel uses it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "wsk_kit.h"

enum { SIZE = 100, TAG = 'tset' };

/*
 * A connection whose server has a pending WskReceive. The request's buffer is a chain of two MDLs, both locked. The
 * library's thread does not access the MDLs again before the request is cancelled.
 */
struct receive {
    struct kit_pair p;
    UCHAR *memory[2];
    PMDL mdl[2];
    WSK_BUF buf;
    struct kit_call call;
};

static void receive_start(struct receive *t)
{
    t->p = kit_start(AF_INET, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        t->memory[i] = ExAllocatePoolWithTag(PagedPool, SIZE, TAG);
        t->mdl[i] = IoAllocateMdl(t->memory[i], SIZE, FALSE, FALSE, NULL);
        assert_non_null(t->mdl[i]);
        MmProbeAndLockPages(t->mdl[i], KernelMode, IoWriteAccess);
    }
    t->mdl[0]->Next = t->mdl[1];
    t->buf = (WSK_BUF){ t->mdl[0], 0, 2 * SIZE };
    kit_start_receive(t->p.server, &t->buf, 0, &t->call);
    kit_wait_host_events();
}

static void receive_cancel(struct receive *t)
{
    (void)IoCancelIrp(t->call.irp);
    assert_int_equal(kit_end(&t->call, STATUS_PENDING, NULL), STATUS_CANCELLED);
}

static void receive_stop(struct receive *t)
{
    for (int i = 0; i < 2; i++) {
        if (t->mdl[i])
            IoFreeMdl(t->mdl[i]);
        if (t->memory[i])
            ExFreePoolWithTag(t->memory[i], TAG);
    }
    kit_stop(&t->p);
}

static void test_unlocked(void **state)
{
    struct receive t;
    struct report *r;

    (void)state;
    receive_start(&t);
    for (int i = 0; i < 2; i++) {
        r = report_start();
        MmUnlockPages(t.mdl[i]);
        report_says(r, "mdl-misused in MmUnlockPages", "unlocked, but the pending WskReceive of WSK_SOCKET");
    }
    receive_cancel(&t);
    receive_stop(&t);
}

/* The report has the stacks of both calls: of MmUnlockPages, and of WskReceive. */
static void test_stacks(void **state)
{
    struct receive t;
    struct report *r;
    const char *since, *call;

    (void)state;
    receive_start(&t);
    r = report_start();
    MmUnlockPages(t.mdl[0]);
    assert_int_equal(report_stop(r), 1);
    call = strstr(r->text, "test_stacks");
    since = strstr(r->text, "in use since");
    assert_non_null(call);
    assert_non_null(since);
    assert_true(call < since);
    assert_non_null(strstr(since, "receive_start"));
    report_free(r);
    receive_cancel(&t);
    MmUnlockPages(t.mdl[1]);
    receive_stop(&t);
}

static void test_unmapped(void **state)
{
    struct receive t;
    struct report *r;

    (void)state;
    receive_start(&t);
    r = report_start();
    MmUnmapLockedPages(MmGetSystemAddressForMdlSafe(t.mdl[1], NormalPagePriority), t.mdl[1]);
    report_says(r, "mdl-misused in MmUnmapLockedPages", "unmapped, but the pending WskReceive");
    receive_cancel(&t);
    MmUnlockPages(t.mdl[0]);
    MmUnlockPages(t.mdl[1]);
    receive_stop(&t);
}

static void test_mdl_freed(void **state)
{
    struct receive t;
    struct report *r;

    (void)state;
    receive_start(&t);
    r = report_start();
    MmUnlockPages(t.mdl[1]);
    report_is(r, "mdl-misused in MmUnlockPages");
    r = report_start();
    IoFreeMdl(t.mdl[1]);
    t.mdl[1] = NULL;
    report_says(r, "mdl-misused in IoFreeMdl", "MDL of a pending request: WskReceive of WSK_SOCKET");
    receive_cancel(&t);
    MmUnlockPages(t.mdl[0]);
    receive_stop(&t);
}

static void test_buffer_freed(void **state)
{
    struct receive t;
    struct report *r;

    (void)state;
    receive_start(&t);
    r = report_start();
    ExFreePoolWithTag(t.memory[1], TAG);
    t.memory[1] = NULL;
    report_says(r, "object-freed-in-use in ExFreePoolWithTag", "buffer of a pending request: WskReceive of WSK_SOCKET");
    receive_cancel(&t);
    MmUnlockPages(t.mdl[0]);
    MmUnlockPages(t.mdl[1]);
    receive_stop(&t);
}

/* A request may use only a part of its MDL's buffer, so an object in the buffer may be initialized. */
static void test_object_in_buffer(void **state)
{
    struct receive t;
    struct report *r;

    (void)state;
    receive_start(&t);
    r = report_start();
    KeInitializeEvent((PKEVENT)t.memory[1], NotificationEvent, FALSE);
    report_is_empty(r);
    receive_cancel(&t);
    MmUnlockPages(t.mdl[0]);
    MmUnlockPages(t.mdl[1]);
    receive_stop(&t);
}

/* A partial MDL uses the pages of its source: they stay locked until the request with the partial MDL has completed. */
static void test_source_unlocked(void **state)
{
    struct kit_pair p = kit_start(AF_INET, NULL, NULL);
    UCHAR *memory = ExAllocatePoolWithTag(PagedPool, SIZE, TAG);
    PMDL source = IoAllocateMdl(memory, SIZE, FALSE, FALSE, NULL),
         part = IoAllocateMdl(memory, SIZE, FALSE, FALSE, NULL);
    WSK_BUF buf = { part, 0, 10 };
    struct kit_call c;
    struct report *r;

    (void)state;
    MmProbeAndLockPages(source, KernelMode, IoWriteAccess);
    IoBuildPartialMdl(source, part, memory + 20, 10);
    kit_start_receive(p.server, &buf, 0, &c);
    kit_wait_host_events();
    r = report_start();
    MmUnlockPages(source);
    report_says(r, "mdl-misused in MmUnlockPages", "WskReceive");
    (void)IoCancelIrp(c.irp);
    assert_int_equal(kit_end(&c, STATUS_PENDING, NULL), STATUS_CANCELLED);
    IoFreeMdl(part);
    IoFreeMdl(source);
    ExFreePoolWithTag(memory, TAG);
    kit_stop(&p);
}

/* A pending WskReceive into a partial MDL. */
struct part_receive {
    struct kit_pair p;
    PMDL part;
    WSK_BUF buf;
    struct kit_call call;
};

static void part_start(struct part_receive *t, PMDL source)
{
    PUCHAR start = MmGetMdlVirtualAddress(source);

    t->part = IoAllocateMdl(start + 20, 10, FALSE, FALSE, NULL);
    assert_non_null(t->part);
    IoBuildPartialMdl(source, t->part, start + 20, 10);
    t->buf = (WSK_BUF){ t->part, 0, 10 };
    kit_start_receive(t->p.server, &t->buf, 0, &t->call);
    kit_wait_host_events();
}

static void part_stop(struct part_receive *t)
{
    (void)IoCancelIrp(t->call.irp);
    assert_int_equal(kit_end(&t->call, STATUS_PENDING, NULL), STATUS_CANCELLED);
    IoFreeMdl(t->part);
}

static PMDL pages_alloc(void)
{
    const PHYSICAL_ADDRESS lowest = { .QuadPart = 0 }, highest = { .QuadPart = INT64_MAX };
    PMDL mdl = MmAllocatePagesForMdlEx(lowest, highest, lowest, PAGE_SIZE, MmCached, 0);

    assert_non_null(mdl);
    return mdl;
}

static void mdl_unmap(PMDL mdl)
{
    MmUnmapLockedPages(MmGetSystemAddressForMdlSafe(mdl, NormalPagePriority), mdl);
}

static void unmap_is_reported(PMDL mdl)
{
    struct report *r = report_start();

    mdl_unmap(mdl);
    report_says(r, "mdl-misused in MmUnmapLockedPages", "unmapped, but the pending WskReceive");
}

static void unmap_is_allowed(PMDL mdl)
{
    struct report *r = report_start();

    mdl_unmap(mdl);
    report_is_empty(r);
}

/* A partial MDL of a source that was not mapped has a mapping of its own. */
static void test_source_unmapped(void **state)
{
    PMDL source = pages_alloc();
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };

    (void)state;
    part_start(&t, source);
    unmap_is_allowed(source);
    unmap_is_reported(t.part);
    unmap_is_allowed(source); /* although no mapping is left */
    part_stop(&t);
    MmFreePagesFromMdl(source);
    ExFreePool(source);
    kit_stop(&t.p);
}

/* A partial MDL of a mapped source uses the source's mapping. */
static void test_shared_mapping_unmapped(void **state)
{
    UCHAR *memory = ExAllocatePoolWithTag(PagedPool, SIZE, TAG);
    PMDL sources[2] = { pages_alloc(), IoAllocateMdl(memory, SIZE, FALSE, FALSE, NULL) };
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };

    (void)state;
    MmProbeAndLockPages(sources[1], KernelMode, IoWriteAccess);
    for (int i = 0; i < 2; i++) {
        assert_non_null(MmGetSystemAddressForMdlSafe(sources[i], NormalPagePriority));
        part_start(&t, sources[i]);
        unmap_is_reported(sources[i]);
        part_stop(&t);
    }
    MmFreePagesFromMdl(sources[0]);
    ExFreePool(sources[0]);
    MmUnlockPages(sources[1]);
    IoFreeMdl(sources[1]);
    ExFreePoolWithTag(memory, TAG);
    kit_stop(&t.p);
}

/* The unmapped MDL may not be the source while another MDL has a mapping of the same pages. */
static void test_other_mapping_unmapped(void **state)
{
    UCHAR *memory = ExAllocatePoolWithTag(PagedPool, SIZE, TAG);
    PMDL source = IoAllocateMdl(memory, SIZE, FALSE, FALSE, NULL),
         other = IoAllocateMdl(memory, SIZE, FALSE, FALSE, NULL);
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };

    (void)state;
    MmProbeAndLockPages(source, KernelMode, IoWriteAccess);
    MmProbeAndLockPages(other, KernelMode, IoWriteAccess);
    assert_non_null(MmGetSystemAddressForMdlSafe(source, NormalPagePriority));
    part_start(&t, source);
    unmap_is_allowed(other);
    unmap_is_reported(source);
    part_stop(&t);
    MmUnlockPages(other);
    IoFreeMdl(other);
    MmUnlockPages(source);
    IoFreeMdl(source);
    ExFreePoolWithTag(memory, TAG);
    kit_stop(&t.p);
}

/*
 * MmAllocatePagesForMdl has allocated the pages, and a second MDL has locked them. The request uses a part of the
 * second MDL, and then a part of the first MDL.
 */
static void test_allocated_pages_locked(void **state)
{
    PMDL pages = pages_alloc(), locked;
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };

    (void)state;
    locked = IoAllocateMdl(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority), PAGE_SIZE, FALSE, FALSE, NULL);
    MmProbeAndLockPages(locked, KernelMode, IoWriteAccess);
    assert_non_null(MmGetSystemAddressForMdlSafe(locked, NormalPagePriority));
    part_start(&t, locked);
    unmap_is_allowed(pages);
    unmap_is_reported(locked);
    part_stop(&t);
    assert_non_null(MmGetSystemAddressForMdlSafe(pages, NormalPagePriority));
    part_start(&t, pages);
    unmap_is_allowed(locked);
    unmap_is_reported(pages);
    part_stop(&t);
    MmUnlockPages(locked);
    IoFreeMdl(locked);
    MmFreePagesFromMdl(pages);
    ExFreePool(pages);
    kit_stop(&t.p);
}

/*
 * A partial MDL with a mapping of its own overlaps the request's partial MDL. The request uses the mapping of the
 * source, and then that of the other partial MDL.
 */
static void test_part_unmapped(void **state)
{
    PMDL source = pages_alloc(), part;
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };

    (void)state;
    part = IoAllocateMdl(MmGetMdlVirtualAddress(source), PAGE_SIZE, FALSE, FALSE, NULL);
    IoBuildPartialMdl(source, part, MmGetMdlVirtualAddress(source), PAGE_SIZE);
    assert_non_null(MmGetSystemAddressForMdlSafe(part, NormalPagePriority));
    assert_non_null(MmGetSystemAddressForMdlSafe(source, NormalPagePriority));
    part_start(&t, source);
    unmap_is_allowed(part);
    unmap_is_reported(source);
    part_stop(&t);
    assert_non_null(MmGetSystemAddressForMdlSafe(part, NormalPagePriority));
    part_start(&t, part);
    unmap_is_allowed(source); /* mdl_unmap maps it first */
    unmap_is_reported(part);
    part_stop(&t);
    IoFreeMdl(part);
    MmFreePagesFromMdl(source);
    ExFreePool(source);
    kit_stop(&t.p);
}

/* The pages of a partial MDL in use are freed: one report. */
static void test_pages_freed(void **state)
{
    PMDL source = pages_alloc();
    struct part_receive t = { .p = kit_start(AF_INET, NULL, NULL) };
    struct report *r;

    (void)state;
    part_start(&t, source);
    r = report_start();
    MmFreePagesFromMdl(source);
    report_says(r, "object-freed-in-use in MmFreePagesFromMdl", "buffer of a pending request: WskReceive");
    part_stop(&t);
    ExFreePool(source);
    kit_stop(&t.p);
}

/* A completion routine may unlock and free everything. */
static NTSTATUS unlock_all(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    struct receive *t = context;

    (void)device, (void)irp;
    for (int i = 0; i < 2; i++) {
        MmUnlockPages(t->mdl[i]);
        IoFreeMdl(t->mdl[i]);
        t->mdl[i] = NULL;
    }
    KeSetEvent(&t->call.over, IO_NO_INCREMENT, FALSE);
    return STATUS_MORE_PROCESSING_REQUIRED;
}

static void test_unlocked_in_completion(void **state)
{
    struct receive t;
    struct report *r = report_start();

    (void)state;
    receive_start(&t);
    receive_cancel(&t);
    (void)kit_irp(&t.call);
    IoSetCompletionRoutine(t.call.irp, unlock_all, &t, TRUE, TRUE, TRUE);
    assert_int_equal(KIT_CONNECTION(t.p.server)->WskReceive(t.p.server, &t.buf, 0, t.call.irp), STATUS_PENDING);
    kit_send(t.p.client, SIZE, 0);
    assert_true(kit_is_over(&t.call, KIT_PATIENCE_SECONDS * 1000));
    IoFreeIrp(t.call.irp);
    receive_stop(&t);
    report_is_empty(r);
}

/*
 * WskSendMessages uses the MDLs of all its buffers. Its socket thread may send before the check, so that is not timed.
 */
static void test_messages(void **state)
{
    struct report *r = report_start();
    kit_address to = kit_loopback(AF_INET, 9), any = { .any = { AF_INET, { 0 } } };
    PWSK_SOCKET s;
    struct kit_memory m[2];
    WSK_BUF_LIST list[3];
    struct kit_call c;

    (void)state;
    kit_attach();
    s = kit_socket(AF_INET, WSK_FLAG_DATAGRAM_SOCKET, NULL, NULL);
    assert_int_equal(kit_bind(s, &any), STATUS_SUCCESS);
    list[0] = (WSK_BUF_LIST){ &list[1], kit_buffer(&m[0], 10) };
    list[1] = (WSK_BUF_LIST){ &list[2], { NULL, 5, 0 } };
    list[2] = (WSK_BUF_LIST){ NULL, kit_buffer(&m[1], 10) };
    (void)kit_end(&c, KIT_DATAGRAM(s)->WskSendMessages(s, list, 0, &to.any, 0, NULL, kit_irp(&c)), NULL);
    kit_memory_free(&m[0]);
    kit_memory_free(&m[1]);
    assert_int_equal(kit_close(s), STATUS_SUCCESS);
    kit_detach();
    report_is_empty(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unlocked),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_unmapped),
        cmocka_unit_test(test_mdl_freed),
        cmocka_unit_test(test_buffer_freed),
        cmocka_unit_test(test_object_in_buffer),
        cmocka_unit_test(test_source_unlocked),
        cmocka_unit_test(test_source_unmapped),
        cmocka_unit_test(test_shared_mapping_unmapped),
        cmocka_unit_test(test_other_mapping_unmapped),
        cmocka_unit_test(test_allocated_pages_locked),
        cmocka_unit_test(test_part_unmapped),
        cmocka_unit_test(test_pages_freed),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_unlocked_in_completion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
