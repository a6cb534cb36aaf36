/* SPDX-License-Identifier: MIT */
/*
 * Adapters of real interfaces: which ones open, and that an adapter of loopback provides what it reports.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/shard.h"
#include "openndk/adapter.h"
#include "openndk/mdl.h"

static const NDK_VERSION version = { 2, 1 };

struct waited {
    struct gate gate;
    atomic_int count;
};

static void on_close(void *context)
{
    struct waited *w = context;

    atomic_fetch_add(&w->count, 1);
    gate_open(&w->gate);
}

static void on_create(void *context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static void on_event(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void close_object(void *object)
{
    NDK_PD *any = object;
    struct waited w = { 0 };

    if (any->Dispatch->NdkClosePd(&any->Header, on_close, &w) == STATUS_PENDING)
        executor_wait(executor_threads(), &w.gate);
}

static NDK_ADAPTER *open_loopback(void)
{
    NDK_ADAPTER *adapter = NULL;

    assert_int_equal(ondk_open_adapter(version, if_nametoindex("lo"), &adapter), STATUS_SUCCESS);
    return adapter;
}

/* covers: ADP-04 */
static void test_wrong_index(void **state)
{
    NDK_ADAPTER *const untouched = (NDK_ADAPTER *)0x1234, *adapter = untouched;

    (void)state;
    assert_int_equal(ondk_open_adapter(version, 0, &adapter), STATUS_INVALID_PARAMETER);
    assert_int_equal(ondk_open_adapter(version, 0x7ffffffe, &adapter), STATUS_INVALID_PARAMETER);
    assert_ptr_equal(adapter, untouched);
    assert_int_equal(ondk_open_adapter(version, 1, NULL), STATUS_INVALID_PARAMETER);
}

static uint32_t private_data_limit(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof(info);

    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    return info.MaxCallerData;
}

/* Options at open apply to this adapter alone, instead of the process's. Invalid ones are refused. */
static void test_options(void **state)
{
    NDK_ADAPTER *const untouched = (NDK_ADAPTER *)0x1234, *with, *without;
    ondk_config_t process, options;
    uint32_t lo = if_nametoindex("lo");

    (void)state;
    ondk_config_init(&process);
    options = process;
    process.max_private = 60;
    options.max_private = 100;
    assert_int_equal(ondk_configure(&process), STATUS_SUCCESS);
    assert_int_equal(ondk_open_adapter_with(version, lo, &options, &with), STATUS_SUCCESS);
    options.max_private = 70;
    assert_int_equal(ondk_open_adapter_with(version, lo, NULL, &without), STATUS_SUCCESS);
    assert_int_equal(private_data_limit(with), 100);
    assert_int_equal(private_data_limit(without), 60);
    ondk_close_adapter(with);
    ondk_close_adapter(without);

    with = untouched;
    options.max_private = 509;
    assert_int_equal(ondk_open_adapter_with(version, lo, &options, &with), STATUS_INVALID_PARAMETER);
    options.max_private = 100;
    options.size = 0;
    assert_int_equal(ondk_open_adapter_with(version, lo, &options, &with), STATUS_INVALID_PARAMETER);
    assert_ptr_equal(with, untouched);
    assert_int_equal(ondk_configure(NULL), STATUS_SUCCESS);
}

static int set_loopback(short set, short clear)
{
    struct ifreq r = { .ifr_name = "lo" };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFFLAGS, &r);

    r.ifr_flags = (short)((r.ifr_flags | set) & ~clear);
    if (rc == 0)
        rc = ioctl(fd, SIOCSIFFLAGS, &r);
    close(fd);
    return rc;
}

static int address_loopback(void)
{
    struct ifreq r = { .ifr_name = "lo" };
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memcpy(&r.ifr_addr, &a, sizeof(a));
    int rc = fd < 0 ? -1 : ioctl(fd, SIOCSIFADDR, &r);
    close(fd);
    return rc;
}

/*
 * Runs in a network namespace of its own, where loopback has no address at first. The exit code is the step that
 * failed.
 */
static int in_namespace(void)
{
    NDK_ADAPTER *adapter = NULL;
    uint32_t lo = if_nametoindex("lo");

    if (ondk_open_adapter(version, lo, &adapter) != STATUS_INVALID_PARAMETER)
        return 1;
    if (set_loopback(IFF_UP, 0) || address_loopback() || set_loopback(0, IFF_UP))
        return 2;
    if (ondk_open_adapter(version, lo, &adapter) != NDIS_STATUS_ADAPTER_NOT_READY || adapter)
        return 3;
    if (set_loopback(IFF_UP, 0) || ondk_open_adapter(version, lo, &adapter) != STATUS_SUCCESS)
        return 4;
    ondk_close_adapter(adapter);
    return 0;
}

/* covers: ADP-04 */
static void test_interface_states(void **state)
{
    enum { NO_NAMESPACE = 77 };
    int status;
    pid_t child;

    (void)state;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
            _exit(NO_NAMESPACE);
        _exit(in_namespace());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NO_NAMESPACE) {
        print_message("skipped: this machine lets nobody make a network namespace here\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Runs in a process of its own. The exit code is the limit that failed. */
static int with_few_descriptors(void)
{
    struct rlimit old, few;
    int first = dup(0), refused = 0;
    uint32_t lo = if_nametoindex("lo");

    close(first);
    if (first < 0 || getrlimit(RLIMIT_NOFILE, &old))
        return 100;
    for (int room = 0;; room++) {
        NDK_ADAPTER *adapter = NULL;
        NTSTATUS status;

        few = (struct rlimit){ (rlim_t)(first + room), old.rlim_max };
        if (setrlimit(RLIMIT_NOFILE, &few))
            return 101;
        status = ondk_open_adapter(version, lo, &adapter);
        if (status == STATUS_SUCCESS) {
            ondk_close_adapter(adapter);
            return refused > 0 ? 0 : 102;
        }
        if (status != STATUS_INSUFFICIENT_RESOURCES || adapter || room > 90)
            return 1 + room;
        refused++;
    }
}

/* covers: ADP-04 */
static void test_no_descriptors(void **state)
{
    int status;
    pid_t child;

    (void)state;
    fflush(NULL);
    child = fork();
    if (child == 0)
        _exit(with_few_descriptors());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The other end of the range: queues of depth zero can be created, and refuse every request. */
static void test_nothing_at_all(void **state)
{
    NDK_ADAPTER *adapter = open_loopback();
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, 1, on_event, NULL, NULL, on_create, NULL, &cq),
                     STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 0, 0, 0, 0, 0, on_create, NULL, &qp), STATUS_SUCCESS);
    assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, NULL, 0), STATUS_INSUFFICIENT_RESOURCES);
    close_object(qp);
    close_object(cq);
    close_object(pd);
    ondk_close_adapter(adapter);
}

/* covers: ADP-02 */
static void test_limits_can_be_had(void **state)
{
    NDK_ADAPTER *adapter = open_loopback();
    NDK_ADAPTER_INFO i;
    ULONG size = sizeof(i);
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &i, &size), STATUS_SUCCESS);
    assert_true(i.MaxCqDepth > 0 && i.MaxReceiveQueueDepth > 0 && i.MaxInitiatorQueueDepth > 0);
    assert_true(i.MaxInitiatorRequestSge > 0 && i.MaxReceiveRequestSge > 0 && i.MaxReadRequestSge > 0);
    assert_int_equal(i.MaxCallerData, 252);
    assert_int_equal(i.MaxCalleeData, 252);
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, i.MaxCqDepth, on_event, NULL, NULL, on_create, NULL, &cq),
                     STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, i.MaxReceiveQueueDepth, i.MaxInitiatorQueueDepth,
                                               i.MaxReceiveRequestSge, i.MaxInitiatorRequestSge, i.MaxInlineDataSize,
                                               on_create, NULL, &qp),
                     STATUS_SUCCESS);
    close_object(qp);
    close_object(cq);
    close_object(pd);
    ondk_close_adapter(adapter);
}

static unsigned char memory[65536];

/* Posts as many receives as the queue holds and flushes: all complete, in order. covers: QPR-01, QPR-16 */
static void test_receives_at_depth(void **state)
{
    enum { DEPTH = 100 };
    NDK_ADAPTER *adapter = open_loopback();
    NDK_RESULT results[DEPTH];
    NDK_SGE sge = { { memory }, 64, 0 };
    ULONG got = 0;
    NDK_PD *pd;
    NDK_CQ *cq;
    NDK_QP *qp;
    NDK_MR *mr;
    MDL mdl;

    (void)state;
    assert_int_equal(adapter->Dispatch->NdkCreatePd(adapter, on_create, NULL, &pd), STATUS_SUCCESS);
    assert_int_equal(adapter->Dispatch->NdkCreateCq(adapter, DEPTH, on_event, NULL, NULL, on_create, NULL, &cq),
                     STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateMr(pd, FALSE, on_create, NULL, &mr), STATUS_SUCCESS);
    assert_int_equal(pd->Dispatch->NdkCreateQp(pd, cq, cq, (void *)7, DEPTH, 1, 1, 1, 0, on_create, NULL, &qp),
                     STATUS_SUCCESS);
    ondk_mdl_init(&mdl, memory, sizeof(memory), NULL);
    assert_int_equal(
        mr->Dispatch->NdkRegisterMr(mr, &mdl, sizeof(memory), NDK_MR_FLAG_ALLOW_LOCAL_WRITE, on_event, NULL),
        STATUS_SUCCESS);
    sge.MemoryRegionToken = mr->Dispatch->NdkGetLocalTokenFromMr(mr);
    for (uintptr_t i = 0; i < DEPTH; i++)
        assert_int_equal(qp->Dispatch->NdkReceive(qp, (void *)i, &sge, 1), STATUS_SUCCESS);
    assert_int_equal(qp->Dispatch->NdkReceive(qp, NULL, &sge, 1), STATUS_INSUFFICIENT_RESOURCES);
    assert_int_equal(qp->Dispatch->NdkSend(qp, NULL, &sge, 1, 0), STATUS_CONNECTION_INVALID);
    qp->Dispatch->NdkFlush(qp);
    for (int tries = 0; got < DEPTH && tries < 100000000; tries++)
        got += cq->Dispatch->NdkGetCqResults(cq, results + got, DEPTH - got);
    assert_int_equal(got, DEPTH);
    for (uintptr_t i = 0; i < DEPTH; i++) {
        assert_int_equal(results[i].Status, STATUS_CANCELLED);
        assert_ptr_equal(results[i].RequestContext, (void *)i);
        assert_ptr_equal(results[i].QPContext, (void *)7);
    }
    close_object(mr);
    close_object(qp);
    close_object(cq);
    close_object(pd);
    ondk_close_adapter(adapter);
}

/* Creates and closes objects in every order that matters, on real shards, in several threads of one adapter at once. */
static void *churn(void *arg)
{
    NDK_ADAPTER *adapter = arg;
    intptr_t wrong = 0;

    for (int round = 0; round < 200; round++) {
        struct waited w[3] = { { { 0 }, 0 } };
        NDK_PD *pd;
        NDK_CQ *cq;
        NDK_QP *qp;
        if (adapter->Dispatch->NdkCreatePd(adapter, on_create, NULL, &pd) ||
            adapter->Dispatch->NdkCreateCq(adapter, 16, on_event, NULL, NULL, on_create, NULL, &cq) ||
            pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 4, 4, 1, 1, 0, on_create, NULL, &qp))
            return (void *)1;
        void *objects[3] = { pd, cq, qp };
        NTSTATUS answers[3];
        for (int i = 0; i < 3; i++) {
            NDK_PD *any = objects[(i + round) % 3];
            answers[i] = any->Dispatch->NdkClosePd(&any->Header, on_close, &w[i]);
        }
        for (int i = 0; i < 3; i++) {
            if (answers[i] == STATUS_PENDING)
                executor_wait(executor_threads(), &w[i].gate);
            wrong += atomic_load(&w[i].count) != (answers[i] == STATUS_PENDING);
        }
    }
    return (void *)wrong;
}

/* covers: OBJ-09, OBJ-12 */
static void test_churn(void **state)
{
    enum { THREADS = 3 };
    NDK_ADAPTER *adapter = open_loopback();
    pthread_t threads[THREADS];
    void *wrong;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, adapter), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    ondk_close_adapter(adapter);
}

static void test_enumeration(void **state)
{
    ondk_adapter_entry_t entries[64];
    uint32_t count = ondk_enumerate_adapters(entries, 64);
    int loopbacks = 0;

    (void)state;
    assert_true(count >= 1 && count <= 64);
    assert_int_equal(ondk_enumerate_adapters(NULL, 0), count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(if_nametoindex(entries[i].name), entries[i].if_index);
        assert_true(entries[i].address_count >= 1);
        loopbacks += entries[i].loopback;
    }
    assert_int_equal(loopbacks, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First, because it forks, and a process should fork before it has threads. */
        cmocka_unit_test(test_interface_states),  cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_wrong_index),       cmocka_unit_test(test_options),
        cmocka_unit_test(test_nothing_at_all),    cmocka_unit_test(test_limits_can_be_had),
        cmocka_unit_test(test_receives_at_depth), cmocka_unit_test(test_churn),
        cmocka_unit_test(test_enumeration),
    };

    return cmocka_run_group_tests_name("adapter", tests, NULL, NULL);
}
