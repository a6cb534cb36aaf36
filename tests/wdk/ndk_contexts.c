/* SPDX-License-Identifier: MIT */
/* Memory that a driver frees while NDK uses it: contexts, buffers and MDLs, in pool and on stacks. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "wdm.h"
#include "ndkpi.h"

#include "ndk_driver.h"
#include "report.h"

static VOID nothing_done(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

/* ---- contexts and buffers ---- */

/* Checks that there was one report with each of these texts. NULL ends the list. */
static void report_has(struct report *r, const char *const *texts)
{
    assert_int_equal(report_stop(r), 1);
    for (; *texts; texts++)
        if (!strstr(r->text, *texts))
            fail_msg("nothing about \"%s\":\n%s", *texts, r->text);
    report_free(r);
}

static void test_context_freed(void **state)
{
    struct report *r;
    PVOID context;

    (void)state;
    open_all();
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    assert_int_equal(start_connect(nothing_done, context), STATUS_PENDING);
    far.connector = wait_asked(); /* neither accepted nor rejected: the connect stays pending */
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_has(r, (const char *const[]){ "context-freed-in-use in ExFreePoolWithTag",
                                         ": context of a pending request: NdkConnect of NDK_CONNECTOR 0x",
                                         " of 64 bytes, tag ", "  in use since\n    NdkConnect called by\n    #0 ",
                                         "  allocated by\n    #0 ", NULL });
    close_all();
}

static void test_callback_context_freed(void **state)
{
    struct report *r;
    PVOID context;
    NDK_CQ *cq;

    (void)state;
    open_all();
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    MADE(NDK_CQ, cq,
         adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, context, NULL, create_done, &c_, &inline_));
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_has(r, (const char *const[]){ "context-freed-in-use in ExFreePoolWithTag",
                                         "that is open: NdkCreateCq of NDK_CQ 0x", "  in use since\n", NULL });
    close_object(cq);
    context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    MADE(NDK_CQ, cq,
         adapter->Dispatch->NdkCreateCq(adapter, DEPTH, cq_notified, context, NULL, create_done, &c_, &inline_));
    close_object(cq);
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is_empty(r);
    close_all();
}

/* A receive of 16 bytes into the middle of a region of the buffer. */
static NDK_MR *post_receive(PVOID context, UCHAR *buffer, PMDL *mdl)
{
    NDK_SGE sge = { .VirtualAddress = buffer + 16, .Length = 16 };
    NDK_MR *mr = register_buffer(buffer, mdl);

    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, context, &sge, 1), STATUS_SUCCESS);
    return mr;
}

static void flush_and_free(NDK_MR *mr, PMDL mdl)
{
    near.qp->Dispatch->NdkFlush(near.qp);
    assert_int_equal(next_result(&near).Status, STATUS_CANCELLED);
    deregister(mr);
    IoFreeMdl(mdl);
}

static void test_posted_context_freed(void **state)
{
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    struct report *r;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = post_receive(context, buffer, &mdl);
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_has(r, (const char *const[]){ "context-freed-in-use in ExFreePoolWithTag",
                                         "that has not completed: NdkReceive of NDK_QP 0x", "  allocated by\n", NULL });
    r = report_start();
    flush_and_free(mr, mdl);
    ExFreePoolWithTag(buffer, TAG); /* which is not used any more */
    report_is_empty(r);
    close_all();
}

static void test_posted_buffer_freed(void **state)
{
    UCHAR *buffer = ExAllocatePoolWithTag(NonPagedPoolNx, BYTES, TAG);
    struct report *r;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = post_receive(NULL, buffer, &mdl);
    r = report_start();
    ExFreePoolWithTag(buffer, TAG);
    report_has(r, (const char *const[]){ "buffer-freed-in-use in ExFreePoolWithTag",
                                         "that has not completed: NdkReceive of NDK_QP 0x", "  in use since\n",
                                         "  allocated by\n", NULL });
    flush_and_free(mr, mdl);
    close_all();
}

/* A shared queue whose depth was increased. */
static void test_deeper_srq(void **state)
{
    enum { FIRST = 2, DEEPER = 40 };
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    struct report *r;
    struct call call;
    NDK_SRQ *srq;

    (void)state;
    open_all();
    MADE(NDK_SRQ, srq, pd->Dispatch->NdkCreateSrq(pd, FIRST, 1, 0, NULL, NULL, NULL, create_done, &c_, &inline_));
    call_init(&call);
    assert_int_equal(finish(&call, srq->Dispatch->NdkModifySrq(srq, DEEPER, 0, request_done, &call)), STATUS_SUCCESS);
    for (int i = 1; i < DEEPER; i++)
        assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, NULL, NULL, 0), STATUS_SUCCESS);
    assert_int_equal(srq->Dispatch->NdkSrqReceive(srq, context, NULL, 0), STATUS_SUCCESS);
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is(r, "context-freed-in-use in ExFreePoolWithTag");
    r = report_start();
    close_object(srq);
    report_is_empty(r);
    close_all();
}

/* Posted requests do not use memory any more after such an end of the connection, polled or not. */
static void freed_after(void (*end)(void))
{
    PVOID context = ExAllocatePoolWithTag(NonPagedPoolNx, 64, TAG);
    struct report *r;

    open_all();
    establish();
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, context, NULL, 0), STATUS_SUCCESS);
    end();
    r = report_start();
    ExFreePoolWithTag(context, TAG);
    report_is_empty(r);
    close_all();
}

static void test_freed_after_disconnect(void **state)
{
    (void)state;
    freed_after(disconnect);
}

static void close_connector(void)
{
    close_object(near.connector);
    near.connector = NULL;
}

static void test_freed_after_close_of_connector(void **state)
{
    (void)state;
    freed_after(close_connector);
}

static void test_mdl_freed(void **state)
{
    struct report *r;
    PMDL mdl;
    NDK_MR *mr;

    (void)state;
    open_all();
    mr = register_buffer(near.buffer, &mdl);
    r = report_start();
    IoFreeMdl(mdl);
    report_is(r, "mdl-freed-in-use in IoFreeMdl");
    deregister(mr);
    close_all();
}

/* A registration that fails leaves no use of its MDL, whether the call has a completion routine or not. */
static void test_mdl_of_a_failed_registration_freed(void **state)
{
    NDK_MR *mr;

    (void)state;
    open_all();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, FALSE, create_done, &c_, &inline_));
    for (int i = 0; i < 2; i++) {
        PMDL mdl = IoAllocateMdl(near.buffer, BYTES, FALSE, FALSE, NULL);
        struct report *r;
        struct call c;

        MmBuildMdlForNonPagedPool(mdl);
        call_init(&c);
        assert_int_equal(mr->Dispatch->NdkRegisterMr(mr, mdl, BYTES, MAXULONG, i ? request_done : NULL, &c),
                         STATUS_INVALID_PARAMETER);
        r = report_start();
        IoFreeMdl(mdl);
        report_is_empty(r);
    }
    close_object(mr);
    close_all();
}

/* ---- logical addresses ---- */

enum { LAM_PAGES = 2 };

/* Two pages and their logical addresses. */
static struct mapping {
    UCHAR *memory;
    PMDL mdl;
    union {
        NDK_LOGICAL_ADDRESS_MAPPING lam;
        UCHAR room[sizeof(NDK_LOGICAL_ADDRESS_MAPPING) + LAM_PAGES * sizeof(NDK_LOGICAL_ADDRESS)];
    };
} mapping;

static const NDK_LOGICAL_ADDRESS *pages_of(const struct mapping *m)
{
    return m->lam.AdapterPageArray;
}

static void map(struct mapping *m)
{
    ULONG size = sizeof m->room, offset;
    struct call c;

    m->memory = ExAllocatePoolWithTag(NonPagedPoolNx, LAM_PAGES * PAGE_SIZE, TAG);
    m->mdl = IoAllocateMdl(m->memory, LAM_PAGES * PAGE_SIZE, FALSE, FALSE, NULL);
    MmBuildMdlForNonPagedPool(m->mdl);
    call_init(&c);
    assert_int_equal(finish(&c, adapter->Dispatch->NdkBuildLAM(adapter, m->mdl, LAM_PAGES * PAGE_SIZE, request_done, &c,
                                                               &m->lam, &size, &offset)),
                     STATUS_SUCCESS);
    assert_int_equal(m->lam.AdapterPageCount, LAM_PAGES);
}

static struct report *unmap(struct mapping *m)
{
    struct report *r = report_start();

    adapter->Dispatch->NdkReleaseLAM(adapter, &m->lam);
    IoFreeMdl(m->mdl);
    ExFreePoolWithTag(m->memory, TAG);
    return r;
}

static void post_logical_receive(const struct mapping *m)
{
    NDK_SGE sge = { .LogicalAddress = pages_of(m)[1], .Length = 16 };

    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &sge.MemoryRegionToken);
    assert_int_equal(near.qp->Dispatch->NdkReceive(near.qp, NULL, &sge, 1), STATUS_SUCCESS);
}

static void flush_receive(void)
{
    near.qp->Dispatch->NdkFlush(near.qp);
    assert_int_equal(next_result(&near).Status, STATUS_CANCELLED);
}

static void test_lam_of_a_receive_released(void **state)
{
    static struct mapping other;

    (void)state;
    open_all();
    map(&mapping);
    map(&other);
    post_logical_receive(&mapping);
    report_is_empty(unmap(&other));
    report_is(unmap(&mapping), "ndk-lam-released in NdkReleaseLAM");
    flush_receive();
    map(&mapping);
    post_logical_receive(&mapping);
    flush_receive();
    report_is_empty(unmap(&mapping));
    close_all();
}

/* The rule concerns only requests: an existing registration remains. */
static void test_lam_of_a_fast_registration_released(void **state)
{
    struct call c;
    NDK_MR *mr;

    (void)state;
    open_all();
    establish();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, TRUE, create_done, &c_, &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkInitializeFastRegisterMr(mr, LAM_PAGES, FALSE, request_done, &c)),
                     STATUS_SUCCESS);
    for (int polled = 0; polled < 2; polled++) {
        NDK_LOGICAL_ADDRESS pages[LAM_PAGES];

        map(&mapping);
        pages[0] = pages_of(&mapping)[1];
        pages[1] = pages_of(&mapping)[0];
        assert_int_equal(near.qp->Dispatch->NdkFastRegister(near.qp, NULL, mr, LAM_PAGES, pages, 0, PAGE_SIZE, NULL, 0),
                         STATUS_SUCCESS);
        memset(pages, 0, sizeof pages);
        if (polled)
            assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
        if (polled)
            report_is_empty(unmap(&mapping));
        else
            report_is(unmap(&mapping), "ndk-lam-released in NdkReleaseLAM");
        if (!polled)
            assert_int_equal(next_result(&near).Status, STATUS_SUCCESS);
    }
    close_object(mr);
    close_all();
}

/* Without a queue pair a post fails, whatever its other arguments are. */
static void test_posts_without_queue_pair(void **state)
{
    NDK_LOGICAL_ADDRESS page = { .QuadPart = PAGE_SIZE };
    struct report *r;
    struct call c;
    NDK_MR *mr;

    (void)state;
    open_all();
    MADE(NDK_MR, mr, pd->Dispatch->NdkCreateMr(pd, TRUE, create_done, &c_, &inline_));
    call_init(&c);
    assert_int_equal(finish(&c, mr->Dispatch->NdkInitializeFastRegisterMr(mr, LAM_PAGES, FALSE, request_done, &c)),
                     STATUS_SUCCESS);
    r = report_start();
    assert_int_equal(near.qp->Dispatch->NdkFastRegister(NULL, NULL, mr, 1, &page, 0, PAGE_SIZE, NULL, 0),
                     STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(near.qp->Dispatch->NdkReceive(NULL, NULL, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    assert_int_equal(near.qp->Dispatch->NdkInvalidate(NULL, NULL, &mr->Header, 0), STATUS_INVALID_DEVICE_STATE);
    report_is_empty(r);
    close_object(mr);
    close_all();
}

/* ---- the stack ---- */

/* Posts from a stack frame that ends while the request is pending. The context lies deeper than later frames. */
__attribute__((noinline)) static void connect_and_leave(NDK_FN_REQUEST_COMPLETION done)
{
    struct {
        struct call context;
        volatile char room[8192];
    } frame;

    frame.room[0] = frame.room[sizeof frame.room - 1] = 0;
    call_init(&frame.context);
    assert_int_equal(start_connect(done, &frame.context), STATUS_PENDING);
    assert_int_equal(frame.room[0], 0);
}

static void test_dead_context_at_the_next_call(void **state)
{
    struct report *r;
    UINT32 seen;

    (void)state;
    open_all();
    connect_and_leave(nothing_done);
    far.connector = wait_asked();
    r = report_start();
    pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(pd, &seen);
    report_is(r, "context-on-dead-stack in NdkConnect");
    r = report_start();
    close_all();
    report_is_empty(r); /* one report suffices */
}

/* Returns whether the thread sleeps, according to /proc. */
static bool sleeps(pid_t thread)
{
    char path[64], text[128] = "";
    FILE *in;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
    in = fopen(path, "r");
    if (!in)
        return false;
    if (!fgets(text, sizeof text, in))
        text[0] = 0;
    fclose(in);
    return strstr(text, ") S ") != NULL;
}

static pid_t waiting_thread;
static atomic_int is_waiting;
static KEVENT completion_came;

static VOID wake_it(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
    KeSetEvent(&completion_came, IO_NO_INCREMENT, FALSE);
}

static void *reject_when_it_sleeps(void *arg)
{
    (void)arg;
    far.connector = wait_asked();
    while (!atomic_load(&is_waiting) || !sleeps(waiting_thread))
        sched_yield();
    assert_int_equal(far.connector->Dispatch->NdkReject(far.connector, NULL, 0), STATUS_SUCCESS);
    return NULL;
}

static void test_dead_context_at_its_completion(void **state)
{
    struct report *r;
    pthread_t rejecting;

    (void)state;
    open_all();
    waiting_thread = (pid_t)syscall(SYS_gettid);
    r = report_start();
    KeInitializeEvent(&completion_came, NotificationEvent, FALSE);
    connect_and_leave(wake_it);
    assert_int_equal(pthread_create(&rejecting, NULL, reject_when_it_sleeps, NULL), 0);
    atomic_store(&is_waiting, 1);
    assert_int_equal(KeWaitForSingleObject(&completion_came, Executive, KernelMode, FALSE, NULL), STATUS_SUCCESS);
    pthread_join(rejecting, NULL);
    close_all();
    report_is(r, "context-on-dead-stack in NdkConnect");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_freed),
        cmocka_unit_test(test_callback_context_freed),
        cmocka_unit_test(test_posted_context_freed),
        cmocka_unit_test(test_posted_buffer_freed),
        cmocka_unit_test(test_deeper_srq),
        cmocka_unit_test(test_freed_after_disconnect),
        cmocka_unit_test(test_freed_after_close_of_connector),
        cmocka_unit_test(test_mdl_freed),
        cmocka_unit_test(test_mdl_of_a_failed_registration_freed),
        cmocka_unit_test(test_lam_of_a_receive_released),
        cmocka_unit_test(test_lam_of_a_fast_registration_released),
        cmocka_unit_test(test_posts_without_queue_pair),
        cmocka_unit_test(test_dead_context_at_the_next_call),
        cmocka_unit_test(test_dead_context_at_its_completion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
