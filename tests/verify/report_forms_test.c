/* SPDX-License-Identifier: MIT */
/* Reports as JSON, the JUnit file, and the events in all forms. */
#include <signal.h>

#include "verify/reported.h"

/* ---- JSON ---- */

static void test_json(void **state)
{
    struct report_object object = { .object = state, .type = "NDK_QP", .notes = { "a \"note\"\\\n" } };
    struct stack closed;
    const char *at;
    json_t *r, *stacks;

    (void)state;
    report_set_format(REPORT_JSON);
    stack_capture(&closed, NULL);
    report_add_stack("closed by", &closed);
    report_set_object(&object);
    report_breach(&test_rules[FULL], "NdkSend", 1, UINT64_MAX, 3, 4, "<\1\"\\\377>");
    at = output_text();
    r = parse_line(&at);
    assert_string_equal(text_of(r, "event"), "report");
    assert_string_equal(text_of(r, "kind"), "breach");
    assert_string_equal(text_of(r, "rule"), "test-full");
    assert_string_equal(text_of(r, "page"), "nc-a-page");
    assert_string_equal(text_of(r, "sentence"), "The sentence.");
    assert_string_equal(text_of(r, "advice"), "Do it.");
    assert_string_equal(text_of(r, "routine"), "NdkSend");
    assert_string_equal(text_of(r, "message"), "<\1\"\\\303\277>");
    assert_string_equal(text_of(json_object_get(r, "object"), "type"), "NDK_QP");
    assert_string_equal(json_string_value(json_array_get(json_object_get(r, "history"), 0)), "a \"note\"\\\n");
    assert_int_equal(json_integer_value(json_object_get(r, "repeat")), 1);
    assert_true(json_real_value(json_object_get(r, "time")) > 1e9);
    stacks = json_object_get(r, "stacks");
    assert_int_equal(json_array_size(stacks), 2);
    assert_string_equal(text_of(json_array_get(stacks, 0), "title"), "call");
    assert_string_equal(text_of(json_array_get(stacks, 1), "title"), "closed by");
    assert_true(json_array_size(json_object_get(json_array_get(stacks, 1), "frames")) > 0);
    assert_string_equal(at, "");
    json_decref(r);
}

static void test_json_bare_and_repeated(void **state)
{
    const char *at;
    json_t *r;

    (void)state;
    report_set_format(REPORT_JSON);
    for (volatile int i = 0; i < 3; i++)
        break_rule(ADVICE, "NdkReject");
    ondk_verify_write_repeats();
    at = output_text();
    r = parse_line(&at);
    assert_string_equal(text_of(r, "kind"), "advice");
    assert_true(json_is_null(json_object_get(r, "page")));
    assert_true(json_is_null(json_object_get(r, "object")));
    json_decref(r);
    r = parse_line(&at);
    assert_string_equal(text_of(r, "event"), "repeated");
    assert_string_equal(text_of(r, "rule"), "test-advice");
    assert_int_equal(json_integer_value(json_object_get(r, "count")), 3);
    assert_string_equal(at, "");
    json_decref(r);
}

/* ---- the last events of the process ---- */

static const void *asked_for;

static unsigned two_events(const void *object, struct last_event events[REPORT_EVENTS])
{
    asked_for = object;
    events[0] = (struct last_event){ .seconds = 1.25, .thread = 11, .name = "adapter", .fields = "a=\"<b>\" c=d" };
    events[1] = (struct last_event){
        .seconds = 2.5, .thread = 12, .connection = 3, .is_related = true, .name = "last"
    };
    return 2;
}

static unsigned no_events(const void *object, struct last_event events[REPORT_EVENTS])
{
    (void)object;
    (void)events;
    return 0;
}

static void test_text_has_events(void **state)
{
    struct report_object object = { .object = state, .type = "NDK_QP" };

    report_set_events(two_events);
    report_set_object(&object);
    break_rule(FULL, "NdkRead");
    assert_ptr_equal(asked_for, state);
    assert_non_null(strstr(output_text(), "  last events: seconds, thread, connection, event; those with * are of the "
                                          "object\n        1.250000      11    -  adapter       a=\"<b>\" c=d\n"
                                          "  *     2.500000      12    3  last         \n  advice: "));
    report_end(report_begin(), NULL, NULL); /* a bug check */
    assert_int_equal(occurrences("1.250000"), 2);
    report_set_events(no_events);
    break_rule(FULL, "NdkWrite");
    assert_int_equal(occurrences("last events"), 2);
    report_set_events(NULL);
}

static void test_json_has_events(void **state)
{
    const char *at;
    json_t *r, *events, *e;

    (void)state;
    report_set_format(REPORT_JSON);
    report_set_events(two_events);
    break_rule(FULL, "NdkReject");
    report_set_events(NULL);
    assert_null(asked_for);
    break_rule(FULL, "NdkConnect");
    at = output_text();
    r = parse_line(&at);
    events = json_object_get(r, "events");
    assert_int_equal(json_array_size(events), 2);
    e = json_array_get(events, 0);
    assert_true(json_real_value(json_object_get(e, "seconds")) == 1.25);
    assert_int_equal(json_integer_value(json_object_get(e, "thread")), 11);
    assert_true(json_is_null(json_object_get(e, "connection")));
    assert_string_equal(text_of(e, "event"), "adapter");
    assert_string_equal(text_of(e, "fields"), "a=\"<b>\" c=d");
    assert_true(json_is_false(json_object_get(e, "related")));
    e = json_array_get(events, 1);
    assert_int_equal(json_integer_value(json_object_get(e, "connection")), 3);
    assert_true(json_is_true(json_object_get(e, "related")));
    json_decref(r);
    r = parse_line(&at);
    assert_int_equal(json_array_size(json_object_get(r, "events")), 0);
    json_decref(r);
}

/* ---- JUnit ---- */

static void write_junit(void)
{
    if (ondk_verify_set_junit("junit.xml"))
        exit(1);
    report_set_events(two_events);
    for (volatile int i = 0; i < 2; i++)
        report_breach(&test_rules[FULL], "NdkSend", 0, 0, 0, 0, "a <b> & \"c\"\1");
    break_rule(ADVICE, "NdkSend");
}

static void write_junit_and_stop(void)
{
    verify_set_mode(VERIFY_STOP);
    write_junit();
}

static void assert_junit(int times)
{
    const char *junit = read_and_remove("junit.xml");
    char words[128];
    unsigned cases = 0;

    for (const char *at = junit; (at = strstr(at, "<testcase ")); at++)
        cases++;
    assert_int_equal(cases, VERIFY_RULES + TEST_RULES);
    assert_non_null(strstr(junit, "failures=\"1\""));
    assert_non_null(strstr(junit, "<testcase classname=\"ndk\" name=\"ndk-closed-twice\"/>\n"));
    assert_non_null(
        strstr(junit, "<testcase classname=\"test\" name=\"test-full\">\n    <failure message=\"A duty.\""));
    snprintf(words, sizeof words, "NdkSend: a &#60;b&#62; &#38; &#34;c&#34; ; %d times at ", times);
    assert_non_null(strstr(junit, words));
    assert_non_null(strstr(junit,
                           "\nlast events before the first report: seconds, thread, connection, event\n"
                           "1.250000 11 0 adapter a=&#34;&#60;b&#62;&#34; c=d\n2.500000 12 3 last \n</failure>"));
    assert_non_null(strstr(junit, "</testsuite>\n"));
}

/* The counts of this process are inherited, so the rules are those that only the child breaks. */
static void test_junit(void **state)
{
    static char too_long[8192];
    int status;

    (void)state;
    for (int i = 0; i < TEST_RULES; i++)
        atomic_store(&test_reports[i], 0);
    assert_int_equal(child_status(write_junit), 0);
    assert_junit(2);
    status = child_status(write_junit_and_stop);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_junit(1);
    memset(too_long, 'x', sizeof too_long - 1);
    assert_int_equal(ondk_verify_set_junit(too_long), STATUS_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_TEST(test_json),
        REPORT_TEST(test_json_bare_and_repeated),
        REPORT_TEST(test_text_has_events),
        REPORT_TEST(test_json_has_events),
        REPORT_TEST(test_junit),
    };

    report_add_rules(&test_table);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
