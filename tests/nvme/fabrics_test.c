/* SPDX-License-Identifier: MIT */
/* Private data, qualified names, Connect and SGL descriptors: what is built is parsed, and what is wrong is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "nvme/fabrics.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A copy in memory of exactly this length, so that the sanitizer sees a read behind it. */
static void *exact(const void *bytes, size_t len)
{
    void *copy = malloc(len ? len : 1);

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return copy;
}

static void test_request_round_trip(void **state)
{
    const struct nvme_rdma_queue queues[] = {
        { .qid = 0, .commands = 32, .receives = 32 },
        { .qid = 1, .cntlid = 7, .commands = 2, .receives = 1 },
        { .qid = 65535, .cntlid = 0xffef, .commands = 1024, .receives = 65535 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(queues); i++) {
        struct nvme_rdma_request request;
        struct nvme_rdma_queue parsed = { 0 };

        nvme_rdma_request_build(&request, &queues[i]);
        assert_int_equal(nvme_rdma_request_parse(&parsed, &request, sizeof request), NVME_RDMA_OK);
        assert_int_equal(parsed.qid, queues[i].qid);
        assert_int_equal(parsed.cntlid, queues[i].cntlid);
        assert_int_equal(parsed.commands, queues[i].commands);
        assert_int_equal(parsed.receives, queues[i].receives);
    }
}

/* The private data of Linux: nvme connect -i 2, the admin queue and the first I/O queue. */
static void test_request_of_linux(void **state)
{
    uint8_t bytes[196] = { 0, 0, 0, 0, 32, 0, 31, 0 };
    struct nvme_rdma_queue queue;

    (void)state;
    assert_int_equal(nvme_rdma_request_parse(&queue, bytes, sizeof bytes), NVME_RDMA_OK);
    assert_int_equal(queue.qid, 0);
    assert_int_equal(queue.commands, 32);
    assert_int_equal(queue.receives, 32);
    bytes[2] = 1, bytes[4] = 128, bytes[6] = 127, bytes[8] = 5;
    assert_int_equal(nvme_rdma_request_parse(&queue, bytes, sizeof bytes), NVME_RDMA_OK);
    assert_int_equal(queue.qid, 1);
    assert_int_equal(queue.commands, 128);
    assert_int_equal(queue.cntlid, 5);
}

static void test_request_refused(void **state)
{
    static const struct {
        const char *what;
        uint16_t record_format, qid, hrqsize, hsqsize;
        enum nvme_rdma_status want;
    } cases[] = {
        { "format", 1, 0, 32, 31, NVME_RDMA_INVALID_FORMAT },
        { "no commands", 0, 1, 32, 0, NVME_RDMA_INVALID_HSQSIZE },
        { "too many commands", 0, 1, 32, 1024, NVME_RDMA_INVALID_HSQSIZE },
        { "as many commands as fit", 0, 1, 32, 1023, NVME_RDMA_OK },
        { "too many admin commands", 0, 0, 32, 32, NVME_RDMA_INVALID_HSQSIZE },
        { "as many admin commands as fit", 0, 0, 32, 31, NVME_RDMA_OK },
        { "no receives", 0, 1, 0, 31, NVME_RDMA_INVALID_HRQSIZE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nvme_rdma_request request = { .record_format = cases[i].record_format,
                                             .qid = cases[i].qid,
                                             .hrqsize = cases[i].hrqsize,
                                             .hsqsize = cases[i].hsqsize };
        struct nvme_rdma_queue queue;

        if (nvme_rdma_request_parse(&queue, &request, sizeof request) != cases[i].want)
            fail_msg("%s", cases[i].what);
    }
    for (size_t len = 0; len < sizeof(struct nvme_rdma_request); len++) {
        struct nvme_rdma_request request = { .hrqsize = 32, .hsqsize = 31 };
        struct nvme_rdma_queue queue;
        void *bytes = exact(&request, len);

        assert_int_equal(nvme_rdma_request_parse(&queue, bytes, len), NVME_RDMA_INVALID_LENGTH);
        free(bytes);
    }
}

static void test_reply_and_reject(void **state)
{
    struct nvme_rdma_reply reply;
    struct nvme_rdma_reject reject;
    uint32_t receives = 99;
    uint16_t status = 99;

    (void)state;
    nvme_rdma_reply_build(&reply, 128);
    for (size_t len = 0; len < sizeof reply; len++) {
        void *bytes = exact(&reply, len);

        assert_false(nvme_rdma_reply_parse(&receives, bytes, len));
        free(bytes);
    }
    assert_int_equal(receives, 99);
    assert_true(nvme_rdma_reply_parse(&receives, &reply, sizeof reply));
    assert_int_equal(receives, 128);
    reply.record_format = 1;
    assert_false(nvme_rdma_reply_parse(&receives, &reply, sizeof reply));

    nvme_rdma_reject_build(&reject, NVME_RDMA_NO_RESOURCES);
    for (size_t len = 0; len < sizeof reject; len++) {
        void *bytes = exact(&reject, len);

        assert_false(nvme_rdma_reject_parse(&status, bytes, len));
        free(bytes);
    }
    assert_int_equal(status, 99);
    assert_true(nvme_rdma_reject_parse(&status, &reject, sizeof reject));
    assert_int_equal(status, NVME_RDMA_NO_RESOURCES);
    reject.record_format = 1;
    assert_false(nvme_rdma_reject_parse(&status, &reject, sizeof reject));
    for (uint32_t i = 0; i <= UINT16_MAX; i++)
        assert_non_null(nvme_rdma_status_text((uint16_t)i));
}

static void test_names(void **state)
{
    uint8_t field[NVME_NQN_FIELD_SIZE];

    (void)state;
    memset(field, 0, sizeof field);
    assert_false(nvme_nqn_is_valid(field));
    assert_true(nvme_nqn_equal(field, ""));
    memcpy(field, "nqn.2026-11.example:disk", 24);
    assert_true(nvme_nqn_is_valid(field));
    assert_true(nvme_nqn_equal(field, "nqn.2026-11.example:disk"));
    assert_false(nvme_nqn_equal(field, "nqn.2026-11.example:dis"));
    assert_false(nvme_nqn_equal(field, "nqn.2026-11.example:disk2"));
    field[3] = 0x7f;
    assert_false(nvme_nqn_is_valid(field));
    field[3] = '\n';
    assert_false(nvme_nqn_is_valid(field));
    /* 223 characters fit; 224 leave no place for the zero, and a field without a zero is no name. */
    memset(field, 'a', NVME_NQN_SIZE - 1);
    field[NVME_NQN_SIZE - 1] = 0;
    assert_true(nvme_nqn_is_valid(field));
    field[NVME_NQN_SIZE - 1] = 'a';
    assert_false(nvme_nqn_is_valid(field));
    memset(field, 'a', sizeof field);
    assert_false(nvme_nqn_is_valid(field));
    assert_false(nvme_nqn_equal(field, "aaaa"));
}

static void test_connect(void **state)
{
    const uint8_t id[NVME_HOST_ID_SIZE] = { 1, 2, 3 };
    struct nvme_connect connect = { .qid = 3,
                                    .entries = 128,
                                    .cntlid = 9,
                                    .kato_ms = 5000,
                                    .no_flow_control = true,
                                    .host_id = id,
                                    .host_nqn = "nqn.host",
                                    .subsystem_nqn = "nqn.subsystem" };
    struct nvme_command command;
    struct nvme_connect_data data;
    char name[NVME_NQN_SIZE + 1];
    uint8_t bytes[64];

    (void)state;
    assert_true(nvme_connect_build(&command, &data, &connect));
    memcpy(bytes, &command, sizeof bytes);
    assert_int_equal(bytes[0], 0x7f);
    assert_int_equal(bytes[1], 0x40);
    assert_int_equal(bytes[4], 0x01);
    assert_int_equal(bytes[42], 3);
    assert_int_equal(bytes[44], 127);
    assert_int_equal(bytes[46], 4);
    assert_int_equal(bytes[48] | bytes[49] << 8, 5000);
    assert_memory_equal(data.host_id, id, sizeof id);
    assert_int_equal(data.cntlid, 9);
    assert_true(nvme_nqn_equal(data.host_nqn, "nqn.host"));
    assert_true(nvme_nqn_equal(data.subsystem_nqn, "nqn.subsystem"));

    memset(name, 'a', sizeof name);
    name[NVME_NQN_SIZE] = 0;
    connect.host_nqn = name;
    assert_false(nvme_connect_build(&command, &data, &connect));
    name[NVME_NQN_SIZE - 1] = 0;
    assert_true(nvme_connect_build(&command, &data, &connect));
    connect.host_nqn = "nqn.host";
    name[NVME_NQN_SIZE - 1] = 'a';
    connect.subsystem_nqn = name;
    assert_false(nvme_connect_build(&command, &data, &connect));
}

static void test_sgl(void **state)
{
    const struct nvme_sgl sgls[] = {
        { NVME_SGL_KIND_HOST, UINT64_C(0x1122334455667788), 0x20000, 0xdeadbeef, false },
        { NVME_SGL_KIND_HOST, UINT64_MAX, NVME_SGL_MAX_KEYED_LENGTH, UINT32_MAX, true },
        { NVME_SGL_KIND_CAPSULE, 512, 4096, 0, false },
        { NVME_SGL_KIND_CAPSULE, UINT64_MAX, UINT32_MAX, 0, false },
    };
    struct nvme_sgl_descriptor descriptor;
    struct nvme_sgl sgl;

    (void)state;
    for (size_t i = 0; i < COUNT(sgls); i++) {
        nvme_sgl_build(&descriptor, &sgls[i]);
        assert_int_equal(nvme_sgl_parse(&sgl, &descriptor), NVME_SUCCESS);
        assert_int_equal(sgl.kind, sgls[i].kind);
        assert_true(sgl.address == sgls[i].address);
        assert_int_equal(sgl.length, sgls[i].length);
        assert_int_equal(sgl.key, sgls[i].key);
        assert_int_equal(sgl.invalidate, sgls[i].invalidate);
    }
    /* The bytes: length in three, key in four, then type and subtype. */
    nvme_sgl_build(&descriptor, &sgls[1]);
    assert_int_equal(descriptor.identifier, 0x4f);
    nvme_sgl_build(&descriptor, &sgls[0]);
    assert_int_equal(descriptor.identifier, 0x40);
    assert_memory_equal(descriptor.specific, "\x00\x00\x02\xef\xbe\xad\xde", 7);
    nvme_sgl_build_empty(&descriptor);
    assert_int_equal(descriptor.identifier, 0x40);
    assert_int_equal(nvme_sgl_parse(&sgl, &descriptor), NVME_SUCCESS);
    assert_int_equal(sgl.length, 0);
    for (unsigned identifier = 0; identifier < 256; identifier++) {
        bool valid = identifier == 0x01 || identifier == 0x40 || identifier == 0x4f;

        descriptor.identifier = (uint8_t)identifier;
        assert_int_equal(nvme_sgl_parse(&sgl, &descriptor), valid ? NVME_SUCCESS : NVME_SGL_TYPE_INVALID);
    }
}

static void test_sgl_in_capsule(void **state)
{
    static const struct {
        uint64_t address;
        uint32_t length;
        size_t data_len;
        bool want;
    } cases[] = {
        { 0, 4096, 4096, true },
        { 0, 4097, 4096, false },
        { 1, 4095, 4096, true },
        { 1, 4096, 4096, false },
        { 4096, 0, 4096, true },
        { 4097, 0, 4096, false },
        { UINT64_MAX, 1, 4096, false },
        { UINT64_MAX, 0, 4096, false },
        { UINT64_MAX - 4095, 4096, 4096, false },
        { 0, UINT32_MAX, 4096, false },
        { 0, 0, 0, true },
        { 0, 1, 0, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct nvme_sgl sgl = { .kind = NVME_SGL_KIND_CAPSULE, .address = cases[i].address, .length = cases[i].length };

        if (nvme_sgl_in_capsule(&sgl, cases[i].data_len) != cases[i].want)
            fail_msg("case %zu", i);
    }
}

static void test_status_texts(void **state)
{
    (void)state;
    assert_string_equal(nvme_status_text(NVME_LBA_OUT_OF_RANGE | NVME_DNR | NVME_MORE),
                        "the blocks are outside the namespace");
    assert_string_equal(nvme_status_text(0x7ff), "unknown status");
    assert_string_equal(nvme_connect_status_text(NVME_CONNECT_INVALID_HOST | NVME_DNR),
                        "the host is not allowed to connect");
    assert_string_equal(nvme_connect_status_text(NVME_INVALID_FIELD), "invalid field in the command");
    assert_string_equal(nvme_connect_status_text(NVME_CONNECT_CONTROLLER_BUSY), "no controller is free");
    assert_string_equal(nvme_status_text(NVME_CONFLICTING_ATTRIBUTES), "conflicting attributes");
    for (uint32_t status = 0; status <= NVME_STATUS_CODE_MASK; status++) {
        assert_non_null(nvme_status_text((uint16_t)status));
        assert_non_null(nvme_connect_status_text((uint16_t)status));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_request_round_trip),
        cmocka_unit_test(test_request_of_linux),
        cmocka_unit_test(test_request_refused),
        cmocka_unit_test(test_reply_and_reject),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_connect),
        cmocka_unit_test(test_sgl),
        cmocka_unit_test(test_sgl_in_capsule),
        cmocka_unit_test(test_status_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
