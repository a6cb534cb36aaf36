/* SPDX-License-Identifier: MIT */
/* The target's protocol: Identify, features, asynchronous events and Abort. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nvme/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct rig rig;
static struct target_controller *controller, *discovery;

/* Queue 0 is an I/O controller's admin queue, queue 1 a discovery controller's. */
static int setup(void **state)
{
    (void)state;
    rig_init(&rig, true);
    controller = rig_admin(&rig, 0, RIG_NQN);
    discovery = rig_admin(&rig, 1, NVME_DISCOVERY_NQN);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_fini(&rig);
    return 0;
}

static struct rig_outcome run(const struct nvme_command *sqe)
{
    return rig_run(&rig, 0, sqe);
}

static bool is_zero(const void *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (((const uint8_t *)bytes)[i] != 0)
            return false;
    }
    return true;
}

/* ---- Identify ---- */

static struct rig_outcome identify_in(unsigned queue, uint8_t cns, uint32_t nsid, void *page)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_IDENTIFY, nsid);
    struct rig_outcome outcome;

    sqe.identify.cns = cns;
    rig_set_keyed(&sqe, 0, NVME_PAGE_SIZE);
    memset(rig.host, 0xee, NVME_PAGE_SIZE + 1);
    outcome = rig_run(&rig, queue, &sqe);
    assert_int_equal(outcome.action, TARGET_COMPLETE);
    assert_int_equal(outcome.puts, outcome.status == NVME_SUCCESS);
    assert_int_equal(rig.host[NVME_PAGE_SIZE], 0xee);
    memcpy(page, rig.host, NVME_PAGE_SIZE);
    return outcome;
}

static struct rig_outcome identify(uint8_t cns, uint32_t nsid, void *page)
{
    return identify_in(0, cns, nsid, page);
}

static void test_identify_controller(void **state)
{
    struct nvme_identify_controller id;

    (void)state;
    assert_int_equal(identify(NVME_CNS_CONTROLLER, 0, &id).completion.status, 0);
    assert_memory_equal(id.sn, "0123456789          ", 20);
    assert_memory_equal(id.mn, "Rig                                     ", 40);
    assert_memory_equal(id.fr, "1.0     ", 8);
    assert_int_equal(id.mdts, 3); /* 32 KiB */
    assert_int_equal(id.cntlid, controller->cntlid);
    assert_int_equal(id.ver, 0x00010400);
    assert_int_equal(id.cntrltype, NVME_CONTROLLER_IO);
    assert_int_equal(id.oaes, NVME_EVENT_NAMESPACE_CHANGED);
    assert_int_equal(id.kas, 10);
    assert_int_equal(id.aerl, TARGET_MAX_EVENTS - 1);
    assert_int_equal(id.sqes, 0x66);
    assert_int_equal(id.cqes, 0x44);
    assert_int_equal(id.maxcmd, 128);
    assert_int_equal(id.nn, 5);
    assert_int_equal(id.oncs, 0x1d);
    assert_int_equal(id.vwc, 7);
    assert_int_equal(id.sgls, 0x00100005);
    assert_int_equal(id.ioccsz, (64 + 4096) / 16);
    assert_int_equal(id.iorcsz, 1);
    assert_int_equal(id.msdbd, 1);
    assert_string_equal(id.subnqn, RIG_NQN);
    rig.subsystem.volatile_cache = false;
    rig.subsystem.max_capsule_data = 0;
    assert_int_equal(identify(NVME_CNS_CONTROLLER, 0, &id).completion.status, 0);
    assert_int_equal(id.vwc, 6);
    assert_int_equal(id.sgls, 5);
    assert_int_equal(id.ioccsz, 4);
}

static void test_identify_discovery(void **state)
{
    struct nvme_identify_controller id;

    (void)state;
    assert_int_equal(identify_in(1, NVME_CNS_CONTROLLER, 0, &id).completion.status, 0);
    assert_int_equal(id.cntrltype, NVME_CONTROLLER_DISCOVERY);
    assert_int_equal(id.cntlid, discovery->cntlid);
    assert_int_equal(id.nn, 0);
    assert_int_equal(id.oncs, 0);
    assert_int_equal(id.oaes, NVME_EVENT_DISCOVERY_CHANGED);
    assert_string_equal(id.subnqn, NVME_DISCOVERY_NQN);
    assert_int_equal(identify_in(1, NVME_CNS_ACTIVE_NAMESPACES, 0, &id).status, NVME_INVALID_FIELD);
}

static void test_identify_namespace(void **state)
{
    struct nvme_identify_namespace id;
    struct nvme_identify_namespace_any any;

    (void)state;
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 1, &id).completion.status, 0);
    assert_int_equal(id.nsze, RIG_DISK / 512);
    assert_int_equal(id.ncap, id.nsze);
    assert_int_equal(id.nuse, id.nsze);
    assert_int_equal(id.lbaf[0].shift, 9);
    assert_int_equal(id.nlbaf, 0);
    assert_int_equal(id.nmic, NVME_NMIC_SHARED);
    assert_int_equal(id.nsattr, 0);
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 2, &id).completion.status, 0);
    assert_int_equal(id.lbaf[0].shift, 12);
    assert_int_equal(id.nguid[15], 0x22);
    assert_int_equal(id.eui64[0], 0x21);
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 5, &id).completion.status, 0);
    assert_int_equal(id.nsattr, NVME_NSATTR_WRITE_PROTECTED);
    /* Numbers without a namespace: zeroes within the range of numbers, refused outside it. */
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 3, &id).completion.status, 0);
    assert_true(is_zero(&id, sizeof id));
    rig.namespaces[0].attached = false;
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 1, &id).completion.status, 0);
    assert_true(is_zero(&id, sizeof id));
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 0, &id).status, NVME_INVALID_NAMESPACE);
    assert_int_equal(identify(NVME_CNS_NAMESPACE, 6, &id).status, NVME_INVALID_NAMESPACE);
    assert_int_equal(identify(NVME_CNS_NAMESPACE, NVME_ALL_NAMESPACES, &id).status, NVME_INVALID_NAMESPACE);

    assert_int_equal(identify(NVME_CNS_NAMESPACE_OF_ANY_SET, 5, &any).completion.status, 0);
    assert_int_equal(any.nstat, 1);
    assert_int_equal(any.nsattr, NVME_NSATTR_WRITE_PROTECTED);
    assert_int_equal(identify(NVME_CNS_NAMESPACE_OF_ANY_SET, 1, &any).status, NVME_INVALID_NAMESPACE);
    assert_int_equal(identify(NVME_CNS_NAMESPACE_OF_SET, 2, &id).completion.status, 0);
    assert_true(is_zero(&id, sizeof id));
    assert_int_equal(identify(NVME_CNS_NAMESPACE_OF_SET, 1, &id).status, NVME_INVALID_NAMESPACE);
}

static void test_identify_lists(void **state)
{
    uint32_t nsids[1024];
    uint16_t cntlids[2048];

    (void)state;
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 0, nsids).completion.status, 0);
    assert_memory_equal(nsids, ((uint32_t[]){ 1, 2, 5, 0 }), 16);
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES_OF_SET, 1, nsids).completion.status, 0);
    assert_memory_equal(nsids, ((uint32_t[]){ 2, 5, 0 }), 12);
    rig.namespaces[1].attached = false;
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 1, nsids).completion.status, 0);
    assert_memory_equal(nsids, ((uint32_t[]){ 5, 0 }), 8);
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 5, nsids).completion.status, 0);
    assert_true(is_zero(nsids, sizeof nsids));
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 0xfffffffd, nsids).completion.status, 0);
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 0xfffffffe, nsids).status, NVME_INVALID_NAMESPACE);
    assert_int_equal(identify(NVME_CNS_ACTIVE_NAMESPACES, 0xffffffff, nsids).status, NVME_INVALID_NAMESPACE);

    /* The discovery controller has number 2, and is no member of the list. */
    rig_admin(&rig, 2, RIG_NQN);
    rig_close(&rig, 0);
    rig_admin(&rig, 0, RIG_NQN);
    assert_int_equal(identify(NVME_CNS_CONTROLLERS, 0, cntlids).completion.status, 0);
    assert_memory_equal(cntlids, ((uint16_t[]){ 2, 3, 4, 0 }), 8);
}

static void test_identify_descriptors(void **state)
{
    uint8_t page[NVME_PAGE_SIZE];
    const uint8_t *at = page;

    (void)state;
    assert_int_equal(identify(NVME_CNS_NAMESPACE_DESCRIPTORS, 2, page).completion.status, 0);
    assert_memory_equal(at, "\x01\x08\x00\x00\x21\x00\x00\x00\x00\x00\x00\x00", 12);
    at += 12;
    assert_memory_equal(at, "\x02\x10\x00\x00", 4);
    assert_int_equal(at[4 + 15], 0x22);
    at += 20;
    assert_memory_equal(at, "\x03\x10\x00\x00\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11", 20);
    at += 20;
    assert_memory_equal(at, "\x04\x01\x00\x00\x00", 5);
    at += 5;
    assert_true(is_zero(at, (size_t)(page + sizeof page - at)));
    /* Without the first two. */
    assert_int_equal(identify(NVME_CNS_NAMESPACE_DESCRIPTORS, 1, page).completion.status, 0);
    assert_memory_equal(page, "\x03\x10\x00\x00\x10", 5);
    assert_int_equal(identify(NVME_CNS_NAMESPACE_DESCRIPTORS, 3, page).status, NVME_INVALID_NAMESPACE);
}

static void test_identify_of_set(void **state)
{
    struct nvme_identify_controller_nvm nvm;
    struct nvme_command sqe = rig_command(NVME_ADMIN_IDENTIFY, 0);
    static const uint8_t of_set[] = { NVME_CNS_NAMESPACE_OF_SET, NVME_CNS_CONTROLLER_OF_SET,
                                      NVME_CNS_ACTIVE_NAMESPACES_OF_SET };

    (void)state;
    assert_int_equal(identify(NVME_CNS_CONTROLLER_OF_SET, 0, &nvm).completion.status, 0);
    assert_int_equal(nvm.wzsl, 11);
    rig_set_keyed(&sqe, 0, NVME_PAGE_SIZE);
    sqe.identify.csi = 2;
    for (size_t i = 0; i < COUNT(of_set); i++) {
        sqe.identify.cns = of_set[i];
        assert_int_equal(run(&sqe).status, NVME_INVALID_FIELD);
    }
}

static void test_identify_refused(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_IDENTIFY, 0);

    (void)state;
    for (unsigned cns = 0; cns < 256; cns++) {
        bool known = cns <= 3 || (cns >= 5 && cns <= 8) || cns == 0x13;
        uint8_t page[NVME_PAGE_SIZE];

        assert_int_equal(identify((uint8_t)cns, 2, page).status, known ? NVME_SUCCESS : NVME_INVALID_FIELD);
    }
    sqe.identify.cns = NVME_CNS_CONTROLLER;
    rig_set_keyed(&sqe, 0, 4095);
    assert_int_equal(run(&sqe).status, NVME_DATA_SGL_LENGTH_INVALID);
    rig_set_keyed(&sqe, 0, 8192);
    assert_int_equal(run(&sqe).status, NVME_DATA_SGL_LENGTH_INVALID);
    rig_set_in_capsule(&sqe, 0, 4096);
    assert_int_equal(run(&sqe).status, NVME_SGL_TYPE_INVALID);
    rig_set_keyed(&sqe, RIG_HOST_MEMORY, 4096);
    assert_int_equal(run(&sqe).status, NVME_DATA_TRANSFER_ERROR);
}

/* ---- Features ---- */

static struct rig_outcome set_feature(unsigned queue, uint32_t cdw10, uint32_t cdw11)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_SET_FEATURES, 0);

    sqe.cdw10 = cdw10;
    sqe.cdw11 = cdw11;
    return rig_run(&rig, queue, &sqe);
}

static struct rig_outcome get_feature(unsigned queue, uint32_t cdw10)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_GET_FEATURES, 0);

    sqe.cdw10 = cdw10;
    return rig_run(&rig, queue, &sqe);
}

static void test_set_features(void **state)
{
    static const struct {
        uint32_t fid, value, result, stored; /* stored: what Get Features returns then */
        uint16_t status, in_discovery;
    } cases[] = {
        { NVME_FEATURE_QUEUES, 0x00010001, 0x00010001, 0x00010001, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0x00020001, 0x00010001, 0x00010001, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0x00000007, 0, 0, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0x003f003f, 0x00030003, 0x00030003, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0xfffefffe, 0x00030003, 0x00030003, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0xffff0001, 0, 0x00030003, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_QUEUES, 0x0001ffff, 0, 0x00030003, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_ASYNC_EVENTS, 0x100, 0, 0x100, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_ASYNC_EVENTS, 0x1ff, 0, 0x1ff, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_ASYNC_EVENTS, 0x300, 0, 0x1ff, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_ASYNC_EVENTS, 0x80000000, 0, 0x1ff, NVME_INVALID_FIELD, NVME_SUCCESS },
        { NVME_FEATURE_KEEP_ALIVE, 1, 1000, 1000, NVME_SUCCESS, NVME_SUCCESS },
        { NVME_FEATURE_KEEP_ALIVE, 120000, 120000, 120000, NVME_SUCCESS, NVME_SUCCESS },
        { NVME_FEATURE_KEEP_ALIVE, 0xffffffff, 0xffffffff, 0xffffffff, NVME_SUCCESS, NVME_SUCCESS },
        { NVME_FEATURE_WRITE_CACHE, 0, 0, 0, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_WRITE_CACHE, 2, 0, 0, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_ARBITRATION, 0x01020303, 0, 0x01020303, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_ARBITRATION, 0x08, 0, 0x01020303, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_POWER, 0, 0, 0, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_POWER, 1, 0, 0, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_TEMPERATURE, 350, 0, 350, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_TEMPERATURE, 0x10000, 0, 350, NVME_INVALID_FIELD, NVME_INVALID_FIELD },
        { NVME_FEATURE_ERROR_RECOVERY, 10, 0, 10, NVME_SUCCESS, NVME_INVALID_FIELD },
        { NVME_FEATURE_WRITE_ATOMICITY, 1, 0, 1, NVME_SUCCESS, NVME_INVALID_FIELD },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rig_outcome outcome = set_feature(0, cases[i].fid, cases[i].value);

        if (outcome.status != cases[i].status || outcome.completion.result != cases[i].result)
            fail_msg("case %zu: status 0x%x, result 0x%x", i, outcome.status, outcome.completion.result);
        outcome = get_feature(0, cases[i].fid);
        if (outcome.completion.status != 0 || outcome.completion.result != cases[i].stored)
            fail_msg("case %zu: Get Features has status 0x%x, 0x%x", i, outcome.status, outcome.completion.result);
        assert_int_equal(set_feature(1, cases[i].fid, cases[i].value).status, cases[i].in_discovery);
    }
}

static void test_set_features_refused(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_SET_FEATURES, 1);
    static const uint8_t unknown[] = { 0x00, 0x03, 0x08, 0x09, 0x0c, 0x0d, 0x10, 0x80, 0x82, 0x83, 0x84, 0xff };

    (void)state;
    for (size_t i = 0; i < COUNT(unknown); i++) {
        assert_int_equal(set_feature(0, unknown[i], 0).status, NVME_INVALID_FIELD);
        assert_int_equal(get_feature(0, unknown[i]).status, NVME_INVALID_FIELD);
    }
    assert_int_equal(set_feature(0, NVME_FEATURE_SAVE | NVME_FEATURE_KEEP_ALIVE, 0).status, NVME_FEATURE_NOT_SAVEABLE);
    assert_int_equal(set_feature(0, NVME_FEATURE_HOST_ID, 1).status, NVME_COMMAND_SEQUENCE_ERROR);
    sqe.cdw10 = NVME_FEATURE_KEEP_ALIVE;
    assert_int_equal(run(&sqe).status, NVME_FEATURE_NOT_NAMESPACE_SPECIFIC);
    sqe.nsid = NVME_ALL_NAMESPACES;
    assert_int_equal(run(&sqe).completion.status, 0);
    /* Once there is an I/O queue, their number stays. */
    rig_io_queue(&rig, 2, controller, 1, 32);
    assert_int_equal(set_feature(0, NVME_FEATURE_QUEUES, 0).status, NVME_COMMAND_SEQUENCE_ERROR);
    /* Without a write cache there is nothing to switch off. */
    rig.subsystem.volatile_cache = false;
    assert_int_equal(set_feature(0, NVME_FEATURE_WRITE_CACHE, 0).status, NVME_INVALID_FIELD);
    assert_int_equal(get_feature(0, NVME_FEATURE_WRITE_CACHE).status, NVME_INVALID_FIELD);
}

static void test_get_features_select(void **state)
{
    (void)state;
    assert_int_equal(set_feature(0, NVME_FEATURE_WRITE_CACHE, 0).completion.status, 0);
    assert_int_equal(get_feature(0, NVME_FEATURE_WRITE_CACHE).completion.result, 0);
    assert_int_equal(get_feature(0, 0x100 | NVME_FEATURE_WRITE_CACHE).completion.result, 1);
    assert_int_equal(get_feature(0, 0x200 | NVME_FEATURE_WRITE_CACHE).completion.result, 1);
    assert_int_equal(get_feature(0, 0x300 | NVME_FEATURE_WRITE_CACHE).completion.result, NVME_CAPABILITY_CHANGEABLE);
    assert_int_equal(get_feature(0, 0x300 | NVME_FEATURE_HOST_ID).completion.result, 0);
    assert_int_equal(get_feature(0, 0x400 | NVME_FEATURE_WRITE_CACHE).status, NVME_INVALID_FIELD);
    assert_int_equal(set_feature(0, NVME_FEATURE_QUEUES, 0).completion.status, 0);
    assert_int_equal(get_feature(0, 0x100 | NVME_FEATURE_QUEUES).completion.result, 0x00030003);
    /* A reset brings the defaults back. */
    controller->csts = NVME_CSTS_READY;
    for (uint32_t enable = 0; enable < 2; enable++) {
        struct nvme_command sqe = rig_property_set(NVME_PROPERTY_CC, NVME_PROPERTY_SIZE_4, 0x00460000 | enable);

        assert_int_equal(run(&sqe).completion.status, 0);
    }
    assert_int_equal(get_feature(0, NVME_FEATURE_WRITE_CACHE).completion.result, 1);
    assert_int_equal(get_feature(0, NVME_FEATURE_QUEUES).completion.result, 0x00030003);
}

static void test_host_id(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_GET_FEATURES, 0);
    struct rig_outcome outcome;

    (void)state;
    sqe.cdw10 = NVME_FEATURE_HOST_ID;
    sqe.cdw11 = 1;
    rig_set_keyed(&sqe, 0, NVME_HOST_ID_SIZE);
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_memory_equal(rig.host, controller->host_id, NVME_HOST_ID_SIZE);
    assert_int_equal(rig.host[0], 0xab);
    sqe.cdw11 = 0;
    assert_int_equal(run(&sqe).status, NVME_INVALID_FIELD);
}

/* ---- Asynchronous events, Abort ---- */

static void test_event_limit(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_ASYNC_EVENT, 0);

    (void)state;
    for (unsigned i = 0; i < TARGET_MAX_EVENTS; i++)
        assert_int_equal(run(&sqe).action, TARGET_WAIT);
    assert_int_equal(run(&sqe).status, NVME_ASYNC_EVENT_LIMIT_EXCEEDED);
    assert_int_equal(rig.n_waiting, TARGET_MAX_EVENTS);
}

static void read_changed_namespaces(uint8_t specific, uint32_t first)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_GET_LOG_PAGE, 0);

    sqe.log.lid = NVME_LOG_CHANGED_NAMESPACES;
    sqe.log.dwords_low = 1023;
    sqe.log.specific = specific;
    rig_set_keyed(&sqe, 0, 4096);
    assert_int_equal(run(&sqe).completion.status, 0);
    assert_memory_equal(rig.host, &first, sizeof first);
}

static void test_namespace_event(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_ASYNC_EVENT, 0);
    struct rig_outcome outcome;

    (void)state;
    /* Not asked for: nothing completes, and the log page has the change. */
    assert_int_equal(run(&sqe).action, TARGET_WAIT);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[0]);
    assert_false(rig_pop(&rig, controller, &outcome));
    read_changed_namespaces(0, 1);
    read_changed_namespaces(0, 0);

    assert_int_equal(set_feature(0, NVME_FEATURE_ASYNC_EVENTS, NVME_EVENT_NAMESPACE_CHANGED).completion.status, 0);
    assert_false(rig_pop(&rig, controller, &outcome));
    sqe.cid = 0x77;
    target_namespace_changed(&rig.subsystem, &rig.namespaces[2]);
    assert_true(rig_pop(&rig, controller, &outcome));
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.cid, 0x1234);
    assert_int_equal(outcome.completion.result, 0x00040002);
    assert_false(rig_pop(&rig, controller, &outcome));
    /* The event is masked until the host has read the log page without the bit that retains it. */
    assert_int_equal(run(&sqe).action, TARGET_WAIT);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[1]);
    assert_false(rig_pop(&rig, controller, &outcome));
    read_changed_namespaces(NVME_LOG_RETAIN_EVENT, 2);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[1]);
    assert_false(rig_pop(&rig, controller, &outcome));
    read_changed_namespaces(0, 2);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[1]);
    assert_true(rig_pop(&rig, controller, &outcome));
    assert_int_equal(outcome.completion.cid, 0x77);
    read_changed_namespaces(0, 2);
    /* No request waits: the next one reports the event at once. */
    target_namespace_changed(&rig.subsystem, &rig.namespaces[1]);
    assert_false(rig_pop(&rig, controller, &outcome));
    outcome = run(&sqe);
    assert_int_equal(outcome.action, TARGET_COMPLETE);
    assert_int_equal(outcome.completion.result, 0x00040002);
}

static void test_discovery_event(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_ASYNC_EVENT, 0);
    struct rig_outcome outcome;

    (void)state;
    assert_int_equal(set_feature(1, NVME_FEATURE_ASYNC_EVENTS, NVME_EVENT_DISCOVERY_CHANGED).completion.status, 0);
    assert_int_equal(rig_run(&rig, 1, &sqe).action, TARGET_WAIT);
    target_namespace_changed(&rig.subsystem, &rig.namespaces[0]);
    assert_false(rig_pop(&rig, discovery, &outcome));
    target_ports_changed(&rig.subsystem);
    assert_true(rig_pop(&rig, discovery, &outcome));
    assert_int_equal(outcome.completion.result, 0x0070f002);
}

static void test_abort(void **state)
{
    struct nvme_command event = rig_command(NVME_ADMIN_ASYNC_EVENT, 0);
    struct nvme_command sqe = rig_command(NVME_ADMIN_ABORT, 0);
    struct rig_outcome outcome;

    (void)state;
    for (uint16_t cid = 1; cid <= 3; cid++) {
        event.cid = cid;
        assert_int_equal(run(&event).action, TARGET_WAIT);
    }
    sqe.cdw10 = 2u << 16;
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.result, 0);
    assert_true(rig_pop(&rig, controller, &outcome));
    assert_int_equal(outcome.completion.cid, 2);
    assert_int_equal(outcome.status, NVME_ABORT_REQUESTED);
    assert_false(rig_pop(&rig, controller, &outcome));
    /* Again: there is no such command any more. */
    outcome = run(&sqe);
    assert_int_equal(outcome.completion.status, 0);
    assert_int_equal(outcome.completion.result, 1);
    /* The others still wait. */
    assert_int_equal(rig.n_waiting, 2);
    sqe.cdw10 = 1u << 16 | 1;
    assert_int_equal(run(&sqe).status, NVME_INVALID_FIELD);
    sqe.cdw10 = 65535;
    assert_int_equal(run(&sqe).status, NVME_INVALID_FIELD);
    rig_io_queue(&rig, 2, controller, 1, 32);
    sqe.cdw10 = 1u << 16 | 1;
    assert_int_equal(run(&sqe).completion.result, 1);
    assert_int_equal(rig.n_waiting, 2);
}

/* Controllers together have at most max_queues queues. The feature grants what is left, and at least one. */
static void test_queues_left(void **state)
{
    struct nvme_command sqe = rig_command(NVME_ADMIN_SET_FEATURES, 0);

    (void)state;
    rig.subsystem.max_queues = 6; /* the discovery controller has one */
    rig_admin(&rig, 2, RIG_NQN);
    sqe.cdw10 = NVME_FEATURE_QUEUES;
    sqe.cdw11 = 0x00030003;
    assert_int_equal(run(&sqe).completion.result, 0x00020002);
    assert_int_equal(rig_run(&rig, 2, &sqe).completion.result, 0);
    assert_int_equal(run(&sqe).completion.result, 0x00010001);
    rig_close(&rig, 0);
    assert_int_equal(rig_run(&rig, 2, &sqe).completion.result, 0x00030003);
}

/* ---- Opcodes ---- */

static void test_opcodes(void **state)
{
    static const uint8_t known[] = { NVME_ADMIN_GET_LOG_PAGE, NVME_ADMIN_IDENTIFY,
                                     NVME_ADMIN_ABORT,        NVME_ADMIN_SET_FEATURES,
                                     NVME_ADMIN_GET_FEATURES, NVME_ADMIN_ASYNC_EVENT,
                                     NVME_ADMIN_KEEP_ALIVE,   NVME_FABRICS };

    (void)state;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        struct nvme_command sqe = rig_command((uint8_t)opcode, 0);
        bool is_known = memchr(known, (int)opcode, sizeof known) != NULL;

        assert_int_equal(run(&sqe).status == NVME_INVALID_OPCODE, !is_known);
        assert_int_equal(rig_run(&rig, 1, &sqe).status == NVME_INVALID_OPCODE, !is_known || opcode == NVME_ADMIN_ABORT);
    }
    for (unsigned type = 0; type < 256; type++) {
        struct nvme_command sqe = rig_command(NVME_FABRICS, type);
        bool is_known = type == NVME_FABRICS_PROPERTY_SET || type == NVME_FABRICS_CONNECT ||
                        type == NVME_FABRICS_PROPERTY_GET;

        sqe.property.offset = 4; /* refused in another way */
        assert_int_equal(run(&sqe).status == NVME_INVALID_OPCODE, !is_known);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_identify_controller),
        TEST(test_identify_discovery),
        TEST(test_identify_namespace),
        TEST(test_identify_lists),
        TEST(test_identify_descriptors),
        TEST(test_identify_of_set),
        TEST(test_identify_refused),
        TEST(test_set_features),
        TEST(test_set_features_refused),
        TEST(test_get_features_select),
        TEST(test_host_id),
        TEST(test_event_limit),
        TEST(test_namespace_event),
        TEST(test_discovery_event),
        TEST(test_abort),
        TEST(test_queues_left),
        TEST(test_opcodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
