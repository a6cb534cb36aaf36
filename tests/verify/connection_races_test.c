/* SPDX-License-Identifier: MIT */
/*
 * Calls on a connector that race with a completion: the provider has decided, and the callback has not run yet. The
 * provider here completes a call at a time that the test chooses, before or after another call has returned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "verify/connector.h"
#include "verify/rules.h"
#include "verify/verify.h"

enum { PENDING_CALLS = 2 };

static struct {
    NDK_ADAPTER adapter;
    NDK_CONNECTOR connector;
    NTSTATUS answer;           /* of the next call other than NdkConnect */
    bool connect_is_completed; /* during the next call other than NdkConnect */
    bool is_open;              /* the consumer is in NdkCompleteConnect, and cannot be closing the connector */
    NDK_FN_REQUEST_COMPLETION done[PENDING_CALLS];
    void *context[PENDING_CALLS];
} fake;

static NDK_CONNECTOR *connector;
static FILE *nowhere;
static uint32_t before;

static void on_done(PVOID context, NTSTATUS status)
{
    (void)context, (void)status;
}

static void complete(int call, NTSTATUS status)
{
    NDK_FN_REQUEST_COMPLETION done = fake.done[call];

    fake.done[call] = NULL;
    done(fake.context[call], status);
}

static NTSTATUS fake_connect(NDK_CONNECTOR *c, NDK_QP *qp, CONST PSOCKADDR source, ULONG source_length,
                             CONST PSOCKADDR destination, ULONG destination_length, ULONG inbound, ULONG outbound,
                             CONST PVOID data, ULONG length, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)c, (void)qp, (void)source, (void)source_length, (void)destination, (void)destination_length;
    (void)inbound, (void)outbound, (void)data, (void)length;
    fake.done[0] = done;
    fake.context[0] = context;
    return STATUS_PENDING;
}

static NTSTATUS fake_answer(NDK_FN_REQUEST_COMPLETION done, void *context)
{
    if (fake.answer == STATUS_PENDING) {
        fake.done[1] = done;
        fake.context[1] = context;
    }
    if (fake.connect_is_completed)
        complete(0, STATUS_SUCCESS);
    fake.connect_is_completed = false;
    return fake.answer;
}

static NTSTATUS fake_complete_connect(NDK_CONNECTOR *c, NDK_FN_DISCONNECT_EVENT_CALLBACK event, PVOID event_context,
                                      NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)c, (void)event, (void)event_context;
    return fake_answer(done, context);
}

static NTSTATUS fake_disconnect(NDK_CONNECTOR *c, NDK_FN_REQUEST_COMPLETION done, PVOID context)
{
    (void)c;
    return fake_answer(done, context);
}

static NTSTATUS fake_reject(NDK_CONNECTOR *c, CONST PVOID data, ULONG length)
{
    (void)c, (void)data, (void)length;
    return fake_answer(NULL, NULL);
}

static NTSTATUS fake_get_data(NDK_CONNECTOR *c, ULONG *inbound, ULONG *outbound, PVOID data, ULONG *length)
{
    (void)c, (void)inbound, (void)outbound, (void)data, (void)length;
    return fake_answer(NULL, NULL);
}

/* The consumers here never ask for an address, and a layer may ask only while the consumer is in a call. */
static NTSTATUS fake_get_address(NDK_CONNECTOR *c, PSOCKADDR address, ULONG *length)
{
    (void)c, (void)address, (void)length;
    assert_true(fake.is_open);
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS fake_close(NDK_OBJECT_HEADER *object, NDK_FN_CLOSE_COMPLETION done, PVOID context)
{
    (void)object, (void)done, (void)context;
    return STATUS_SUCCESS;
}

static NTSTATUS fake_create(NDK_ADAPTER *adapter, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_CONNECTOR **out)
{
    (void)adapter, (void)done, (void)context;
    *out = &fake.connector;
    return STATUS_SUCCESS;
}

static NTSTATUS fake_query_info(NDK_ADAPTER *adapter, NDK_ADAPTER_INFO *info, ULONG *size)
{
    (void)adapter, (void)info, (void)size;
    return STATUS_NOT_SUPPORTED;
}

static const NDK_ADAPTER_DISPATCH adapter_dispatch = { .NdkQueryAdapterInfo = fake_query_info,
                                                       .NdkCreateConnector = fake_create };
/* It lacks what only a layer could call outside of the consumer's calls. */
static const NDK_CONNECTOR_DISPATCH connector_dispatch = {
    .NdkCloseConnector = fake_close,
    .NdkConnect = fake_connect,
    .NdkCompleteConnect = fake_complete_connect,
    .NdkReject = fake_reject,
    .NdkGetConnectionData = fake_get_data,
    .NdkGetLocalAddress = fake_get_address,
    .NdkGetPeerAddress = fake_get_address,
    .NdkDisconnect = fake_disconnect,
};

static void on_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context, (void)status, (void)object;
}

static void on_close(PVOID context)
{
    (void)context;
}

/* ---- calls of the consumer ---- */

static void start_connect(void)
{
    assert_int_equal(connector->Dispatch->NdkConnect(connector, NULL, NULL, 0, NULL, 0, 0, 0, NULL, 0, on_done, NULL),
                     STATUS_PENDING);
}

static NTSTATUS complete_connect(NTSTATUS answer)
{
    NTSTATUS status;

    fake.answer = answer;
    fake.is_open = true;
    status = connector->Dispatch->NdkCompleteConnect(connector, NULL, NULL, on_done, NULL);
    fake.is_open = false;
    return status;
}

static NTSTATUS disconnect(NTSTATUS answer)
{
    fake.answer = answer;
    return connector->Dispatch->NdkDisconnect(connector, on_done, NULL);
}

static void check_reports(uint32_t count, enum phase phase)
{
    struct connector_state state;

    assert_int_equal(report_count() - before, count);
    connector_get_state((struct proxy *)connector, &state);
    assert_int_equal(state.phase, phase);
    assert_true(state.since_ns > 0);
}

static int setup(void **state)
{
    static NDK_ADAPTER *adapter;
    const NDK_VERSION version = { 2, 1 };

    (void)state;
    fake.adapter = (NDK_ADAPTER){ .Header = { .Version = version, .ObjectType = NdkObjectTypeAdapter },
                                  .Dispatch = &adapter_dispatch };
    fake.connector = (NDK_CONNECTOR){ .Header = { .Version = version, .ObjectType = NdkObjectTypeConnector },
                                      .Dispatch = &connector_dispatch };
    nowhere = fopen("/dev/null", "w");
    assert_non_null(nowhere);
    report_set_output(nowhere);
    verify_set_mode(VERIFY_REPORT);
    adapter = verify_wrap(&fake.adapter, "test");
    *state = adapter;
    assert_int_equal(adapter->Dispatch->NdkCreateConnector(adapter, on_create, NULL, &connector), STATUS_SUCCESS);
    before = report_count();
    return 0;
}

static int teardown(void **state)
{
    assert_int_equal(connector->Dispatch->NdkCloseConnector(&connector->Header, on_close, NULL), STATUS_SUCCESS);
    assert_ptr_equal(verify_close(*state, "test"), &fake.adapter);
    report_set_output(NULL);
    fclose(nowhere);
    return 0;
}

/* ---- the tests ---- */

static void test_refused(void **state)
{
    ULONG length = 0;

    (void)state;
    start_connect();
    assert_int_equal(complete_connect(STATUS_CONNECTION_INVALID), STATUS_CONNECTION_INVALID);
    check_reports(1, PHASE_CONNECTING);
    fake.answer = STATUS_INVALID_DEVICE_STATE;
    assert_int_equal(connector->Dispatch->NdkReject(connector, NULL, 0), STATUS_INVALID_DEVICE_STATE);
    check_reports(2, PHASE_CONNECTING);
    assert_int_equal(connector->Dispatch->NdkGetConnectionData(connector, NULL, NULL, NULL, &length),
                     STATUS_INVALID_DEVICE_STATE);
    check_reports(3, PHASE_CONNECTING);
    complete(0, STATUS_SUCCESS);
    check_reports(3, PHASE_REPLIED);
}

/* The provider accepts a call, because the call before has succeeded in its eyes. */
static void test_accepted(void **state)
{
    (void)state;
    start_connect();
    assert_int_equal(complete_connect(STATUS_PENDING), STATUS_PENDING);
    complete(0, STATUS_SUCCESS);
    complete(1, STATUS_SUCCESS);
    check_reports(0, PHASE_ESTABLISHED);
}

static void test_accepted_and_completed_in_another_order(void **state)
{
    (void)state;
    start_connect();
    assert_int_equal(complete_connect(STATUS_PENDING), STATUS_PENDING);
    complete(1, STATUS_SUCCESS);
    complete(0, STATUS_SUCCESS);
    check_reports(0, PHASE_ESTABLISHED);
}

/* The connect completes while the provider refuses the other call. */
static void test_completed_meanwhile(void **state)
{
    (void)state;
    start_connect();
    fake.connect_is_completed = true;
    assert_int_equal(complete_connect(STATUS_CONNECTION_INVALID), STATUS_CONNECTION_INVALID);
    check_reports(0, PHASE_REPLIED);
}

static void test_private_data_too_short(void **state)
{
    UCHAR byte;
    ULONG length = sizeof byte;

    (void)state;
    start_connect();
    fake.answer = STATUS_BUFFER_TOO_SMALL;
    assert_int_equal(connector->Dispatch->NdkGetConnectionData(connector, NULL, NULL, &byte, &length),
                     STATUS_BUFFER_TOO_SMALL);
    check_reports(0, PHASE_CONNECTING);
    complete(0, STATUS_CONNECTION_REFUSED);
    check_reports(0, PHASE_FAILED);
}

/* A call that the provider refuses inline leaves the phase as it was. */
static void test_not_started(void **state)
{
    (void)state;
    start_connect();
    complete(0, STATUS_SUCCESS);
    assert_int_equal(complete_connect(STATUS_INSUFFICIENT_RESOURCES), STATUS_INSUFFICIENT_RESOURCES);
    check_reports(0, PHASE_REPLIED);
    assert_int_equal(complete_connect(STATUS_SUCCESS), STATUS_SUCCESS);
    check_reports(0, PHASE_ESTABLISHED);
    assert_int_equal(disconnect(STATUS_INSUFFICIENT_RESOURCES), STATUS_INSUFFICIENT_RESOURCES);
    check_reports(0, PHASE_ESTABLISHED);
}

/* The consumer's data can arrive before the callback of its NdkCompleteConnect. */
static void test_disconnect_before_the_callback(void **state)
{
    (void)state;
    start_connect();
    complete(0, STATUS_SUCCESS);
    assert_int_equal(complete_connect(STATUS_PENDING), STATUS_PENDING);
    fake.done[0] = fake.done[1];
    fake.context[0] = fake.context[1];
    assert_int_equal(disconnect(STATUS_PENDING), STATUS_PENDING);
    complete(0, STATUS_SUCCESS);
    complete(1, STATUS_SUCCESS);
    check_reports(0, PHASE_ENDED);
}

/* A second NdkDisconnect does not end the first one. */
static void test_disconnect_twice(void **state)
{
    (void)state;
    start_connect();
    complete(0, STATUS_SUCCESS);
    assert_int_equal(complete_connect(STATUS_SUCCESS), STATUS_SUCCESS);
    assert_int_equal(disconnect(STATUS_PENDING), STATUS_PENDING);
    fake.done[0] = fake.done[1];
    fake.context[0] = fake.context[1];
    assert_int_equal(disconnect(STATUS_CONNECTION_INVALID), STATUS_CONNECTION_INVALID);
    check_reports(0, PHASE_DISCONNECTING);
    complete(0, STATUS_SUCCESS);
    check_reports(0, PHASE_ENDED);
}

/* Without a completion routine the result is not seen, so every later call is legal. */
static void test_no_completion_routine(void **state)
{
    (void)state;
    assert_int_equal(connector->Dispatch->NdkConnect(connector, NULL, NULL, 0, NULL, 0, 0, 0, NULL, 0, NULL, NULL),
                     STATUS_PENDING);
    before = report_count();
    assert_int_equal(complete_connect(STATUS_CONNECTION_INVALID), STATUS_CONNECTION_INVALID);
    check_reports(0, PHASE_UNKNOWN);
}

/* ---- the table ---- */

static void test_table(void **state)
{
    (void)state;
    for (int phase = 0; phase < PHASES; phase++) {
        for (int event = 0; event < PHASE_EVENTS; event++) {
            struct phase_cell cell = phase_cell((enum phase)phase, (enum phase_event)event);

            if (cell.verdict != PHASE_LEGAL) {
                assert_int_equal(cell.next, phase);
                assert_true(event < PHASE_CONNECT_DONE);
            }
            if (phase_was_established((enum phase)phase) || phase == PHASE_UNKNOWN)
                assert_true(phase_was_established(cell.next) || cell.next == PHASE_UNKNOWN);
            if (event == PHASE_DISCONNECT && phase_was_established((enum phase)phase))
                assert_int_equal(cell.verdict, PHASE_LEGAL);
        }
        assert_non_null(phase_text((enum phase)phase));
    }
}

#define RACE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RACE_TEST(test_refused),
        RACE_TEST(test_accepted),
        RACE_TEST(test_accepted_and_completed_in_another_order),
        RACE_TEST(test_completed_meanwhile),
        RACE_TEST(test_private_data_too_short),
        RACE_TEST(test_not_started),
        RACE_TEST(test_disconnect_before_the_callback),
        RACE_TEST(test_disconnect_twice),
        RACE_TEST(test_no_completion_routine),
        cmocka_unit_test(test_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
