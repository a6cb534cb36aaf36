/* SPDX-License-Identifier: MIT */
/* The tables of reasons are total and without duplicates, and every code has a text. */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fabric/iwarp/reason.h"
#include "openndk/reason.h"
#include "provider/reason.h"
#include "wire/terminate.h"

/* The compiler warns if an error is missing. */
static bool is_wire_error(uint32_t error)
{
    switch ((enum wire_error)error) {
    case WIRE_RDMAP_CATASTROPHIC:
    case WIRE_RDMAP_INVALID_STAG:
    case WIRE_RDMAP_BOUNDS:
    case WIRE_RDMAP_ACCESS:
    case WIRE_RDMAP_STAG_NOT_ASSOCIATED:
    case WIRE_RDMAP_TO_WRAP:
    case WIRE_RDMAP_STAG_NOT_INVALIDATED:
    case WIRE_RDMAP_PROTECTION:
    case WIRE_RDMAP_VERSION:
    case WIRE_RDMAP_OPCODE:
    case WIRE_RDMAP_STREAM_CATASTROPHIC:
    case WIRE_RDMAP_GLOBAL_CATASTROPHIC:
    case WIRE_RDMAP_CANNOT_INVALIDATE:
    case WIRE_RDMAP_OPERATION:
    case WIRE_DDP_CATASTROPHIC:
    case WIRE_DDP_TAGGED_STAG:
    case WIRE_DDP_TAGGED_BOUNDS:
    case WIRE_DDP_TAGGED_STREAM:
    case WIRE_DDP_TAGGED_WRAP:
    case WIRE_DDP_TAGGED_VERSION:
    case WIRE_DDP_UNTAGGED_QN:
    case WIRE_DDP_UNTAGGED_NO_BUFFER:
    case WIRE_DDP_UNTAGGED_MSN_RANGE:
    case WIRE_DDP_UNTAGGED_MO:
    case WIRE_DDP_UNTAGGED_TOO_LONG:
    case WIRE_DDP_UNTAGGED_VERSION:
    case WIRE_MPA_TCP_LOST:
    case WIRE_MPA_CRC:
    case WIRE_MPA_MARKER:
    case WIRE_MPA_FRAME:
    case WIRE_MPA_LOCAL_CATASTROPHIC:
    case WIRE_MPA_INSUFFICIENT_IRD:
    case WIRE_MPA_NO_RTR:
        return true;
    case WIRE_OK:
        return false;
    }
    return false;
}

static void check_texts(uint32_t code)
{
    assert_string_not_equal(ondk_reason_name(code), "unknown");
    assert_true(strlen(ondk_reason_text(code)) > 15);
    assert_true(strlen(ondk_reason_advice(code)) > 15);
}

static void test_every_reason_has_a_code(void **state)
{
    bool taken[256] = { false };

    (void)state;
    assert_int_equal(reason_code(FABRIC_OK, FABRIC_NO_TERMINATE), 0);
    assert_int_equal(reason_code(FABRIC_OK, 0x1101), 0);
    for (int why = FABRIC_OK + 1; why < FABRIC_REASON_COUNT; why++) {
        uint32_t code = reason_code(why, FABRIC_NO_TERMINATE), with = reason_code(why, 0x1101);

        assert_int_equal(code & 0xff00ffff, 0);
        assert_in_range(ONDK_REASON_CLASS(code), ONDK_CLASS_NETWORK, ONDK_CLASS_TIMEOUT);
        assert_int_not_equal(code & 0xf0000, 0);
        assert_false(taken[ONDK_REASON_CAUSE(code)]);
        taken[ONDK_REASON_CAUSE(code)] = true;
        assert_string_equal(ondk_reason_name(code), fabric_reason_name(why));
        check_texts(code);
        check_texts(with);
        assert_int_equal(ONDK_REASON_CAUSE(with), ONDK_REASON_CAUSE(code));
        assert_int_equal(ONDK_REASON_TERMINATE(with), ONDK_REASON_BY(with) ? 0x1101 : 0);
        for (int other = FABRIC_OK; other < why; other++) {
            assert_string_not_equal(fabric_reason_name(other), fabric_reason_name(why));
            assert_string_not_equal(ondk_reason_text(reason_code(other, FABRIC_NO_TERMINATE)), ondk_reason_text(code));
        }
    }
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* A field of ondk_config_t follows the name of its variable: ONDK_STALL_MS (stall_ms). */
static void check_setting(const char *advice, const char *field)
{
    char before[64] = "ONDK_";
    size_t len = strlen(field), before_len = 5;

    for (size_t i = 0; i < len; i++)
        before[before_len++] = (char)toupper((unsigned char)field[i]);
    before[before_len++] = ' ';
    before[before_len++] = '(';
    for (const char *at = advice; (at = strstr(at, field)) != NULL; at += len) {
        bool is_word = (at == advice || !is_name_char(at[-1])) && !is_name_char(at[len]);

        if (!is_word || (!strchr(field, '_') && (at == advice || at[-1] != '(')))
            continue; /* part of another name, or an ordinary word */
        if (at - advice < (ptrdiff_t)before_len || memcmp(at - before_len, before, before_len) != 0)
            fail_msg("%s without its variable: %s", field, advice);
    }
}

/* Administrators read the advice. So names of the programming interface are only in parentheses, behind plain words. */
static void check_api_names(const char *advice)
{
    int depth = 0;

    for (const char *at = advice; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (depth == 0 && (at == advice || !is_name_char(at[-1])) &&
            (strncmp(at, "Ndk", 3) == 0 || strncmp(at, "NDK_", 4) == 0))
            fail_msg("a name of the interface without plain words: %s", advice);
    }
}

static void check_advice(const char *advice)
{
    static const char *const fields[] = {
        "connect_ms",    "reply_ms",          "request_ms",        "establish_ms",
        "disconnect_ms", "unacked_ms",        "stall_ms",          "srq_stall_ms",
        "max_private",   "keepalive_idle_ms", "srq_share_percent", "max_inbound_reads",
        "mpa_revision",  "max_unfinished",    "backlog",           "rtr",
    };

    check_api_names(advice);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        check_setting(advice, fields[i]);
}

static void test_advice_is_for_administrators(void **state)
{
    unsigned count;
    const struct fabric_terminate *all = fabric_terminates(&count);

    (void)state;
    for (int why = FABRIC_OK; why < FABRIC_REASON_COUNT; why++)
        check_advice(ondk_reason_advice(reason_code(why, FABRIC_NO_TERMINATE)));
    for (unsigned i = 0; i < count; i++)
        check_advice(all[i].advice);
}

/* Numbers that programs may have stored. */
static void test_numbers_stay(void **state)
{
    (void)state;
    assert_int_equal(reason_code(FABRIC_REFUSED, FABRIC_NO_TERMINATE), 0x00210000);
    assert_int_equal(reason_code(FABRIC_PEER_TERMINATE, 0x1101), 0x02261101);
    assert_int_equal(reason_code(FABRIC_PROTOCOL, 0x2002), 0x01312002);
    assert_int_equal(reason_code(FABRIC_LOCAL_FLUSH, 0), 0x01440000);
    assert_int_equal(reason_code(FABRIC_PEER_RANGE, 0x0101), 0x02590101);
    assert_int_equal(reason_code(FABRIC_CQ_OVERFLOW, FABRIC_NO_TERMINATE), 0x00620000);
    assert_int_equal(reason_code(FABRIC_DISCONNECT_TIMEOUT, 0x0000), 0x00740000);
    assert_string_equal(ondk_reason_name(0x02261101), "peer-terminate/ddp-tagged-bounds");
    assert_string_equal(ondk_reason_name(0), "ok");
}

static void test_every_wire_error_is_told(void **state)
{
    char names[64][64];
    int known = 0;

    (void)state;
    for (uint32_t error = 0; error <= UINT16_MAX; error++) {
        uint32_t code = reason_code(FABRIC_PEER_TERMINATE, (uint16_t)error);
        bool other = strcmp(ondk_reason_name(code), "peer-terminate/other") == 0;

        if (error == FABRIC_NO_TERMINATE)
            continue;
        assert_int_equal(other, !is_wire_error(error));
        check_texts(code);
        if (other)
            continue;
        assert_true(known < 64);
        for (int i = 0; i < known; i++)
            assert_string_not_equal(names[i], ondk_reason_name(code));
        strcpy(names[known++], ondk_reason_name(code));
    }
    assert_int_equal(known, 33);
}

static void test_codes_that_do_not_exist(void **state)
{
    static const uint32_t codes[] = { 1,          0xffff,     0x00100000, 0x00ff0000, 0x01230000,
                                      0x02310000, 0x03260000, 0x10230000, 0x00230001, UINT32_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_string_equal(ondk_reason_name(codes[i]), "unknown");
        assert_true(strlen(ondk_reason_text(codes[i])) > 15);
        assert_true(strlen(ondk_reason_advice(codes[i])) > 15);
    }
}

/* From the status of a request in the protocol to its reason, in every combination. */
static void test_completions(void **state)
{
    static const struct {
        enum wire_error error;
        enum fabric_reason why;
    } memory[] = {
        { WIRE_DDP_TAGGED_STAG, FABRIC_TOKEN },          { WIRE_RDMAP_INVALID_STAG, FABRIC_TOKEN },
        { WIRE_DDP_TAGGED_STREAM, FABRIC_TOKEN_DOMAIN }, { WIRE_RDMAP_STAG_NOT_ASSOCIATED, FABRIC_TOKEN_DOMAIN },
        { WIRE_RDMAP_ACCESS, FABRIC_TOKEN_RIGHT },       { WIRE_DDP_TAGGED_BOUNDS, FABRIC_TOKEN_RANGE },
        { WIRE_DDP_TAGGED_WRAP, FABRIC_TOKEN_RANGE },    { WIRE_RDMAP_CANNOT_INVALIDATE, FABRIC_TOKEN_LASTING },
        { WIRE_RDMAP_PROTECTION, FABRIC_REGION_GONE },
    };
    static const enum fabric_reason ends[] = {
        [IW_END_NONE] = FABRIC_PEER_RESET,
        [IW_END_LOCAL_ERROR] = FABRIC_PROTOCOL,
        [IW_END_PEER_TERMINATE] = FABRIC_PEER_TERMINATE,
        [IW_END_TRUNCATED] = FABRIC_PEER_RESET,
        [IW_END_LOCAL_REQUEST] = FABRIC_LOCAL_ERROR,
        [IW_END_FLUSH] = FABRIC_LOCAL_FLUSH,
    };
    struct rdma_completion c = { .status = RDMA_STATUS_LOCAL_ACCESS };

    (void)state;
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        c.error = memory[i].error;
        assert_int_equal(iwarp_reason_completion(&c, IW_END_NONE, FABRIC_PEER_RESET), memory[i].why);
    }
    c.status = RDMA_STATUS_LOST;
    for (int end = IW_END_NONE; end <= IW_END_FLUSH; end++) {
        assert_int_equal(iwarp_reason_completion(&c, (enum iw_end)end, FABRIC_PEER_RESET), ends[end]);
    }
    for (int status = RDMA_STATUS_OK; status <= RDMA_STATUS_REMOTE_RANGE; status++) {
        c = (struct rdma_completion){ .status = status, .error = WIRE_OK };
        assert_int_equal(iwarp_reason_completion(&c, IW_END_NONE, FABRIC_LOCAL_CLOSE) == FABRIC_OK,
                         status == RDMA_STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_reason_has_a_code),
        cmocka_unit_test(test_advice_is_for_administrators),
        cmocka_unit_test(test_numbers_stay),
        cmocka_unit_test(test_every_wire_error_is_told),
        cmocka_unit_test(test_codes_that_do_not_exist),
        cmocka_unit_test(test_completions),
    };

    return cmocka_run_group_tests_name("reason", tests, NULL, NULL);
}
