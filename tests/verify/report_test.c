/* SPDX-License-Identifier: MIT */
/* Reports: their text, repeats, counts, the callback, and where their stacks begin. */
#include <pthread.h>
#include <signal.h>

#include "verify/fake_provider.h"
#include "verify/reported.h"

/* ---- text ---- */

/* Checks that the words follow each other in the output. NULL ends the list. */
static void assert_in_order(const char *const *words)
{
    const char *at = output_text();

    for (; *words; words++) {
        at = strstr(at, *words);
        if (!at)
            fail_msg("no \"%s\" at its place:\n%s", *words, text);
        at += strlen(*words);
    }
}

static void test_order(void **state)
{
    struct report_object object = { .object = state, .type = "NDK_QP", .notes = { "connected", "closed" } };
    struct stack created, closed;

    (void)state;
    stack_capture(&created, NULL);
    stack_capture(&closed, NULL);
    object.created_by = &created;
    report_add_stack("closed by", &closed);
    report_set_object(&object);
    report_add_note("the %drd note", 3);
    break_rule(FULL, "NdkSend");
    assert_in_order((const char *const[]){
        "*** NDK rule broken: test-full in NdkSend: number 5\n", "  rule: A duty.\n",
        "  page nc-a-page: \"The sentence.\"\n", "  object: NDK_QP 0x", "    connected\n    closed\n    the 3rd note\n",
        "    #0 ", "  closed by\n    #0 ", "  created by\n    #0 ", "  advice: Do it.\n", NULL });
}

/* A report has no line for a text that its rule lacks, and nothing of the report before. */
static void test_bare(void **state)
{
    (void)state;
    break_rule(BARE, "NdkSend");
    assert_in_order((const char *const[]){ "test-bare in NdkSend", "  rule: Another duty.\n", "    #0 ", NULL });
    for (const char *const *word = (const char *const[]){ "page", "object:", "created by", "advice", NULL }; *word;
         word++)
        assert_int_equal(occurrences(*word), 0);
}

/* ---- repeats ---- */

static void test_repeats(void **state)
{
    (void)state;
    for (volatile int i = 0; i < 3; i++)
        break_rule(BARE, "NdkRead");
    break_rule(BARE, "NdkRead"); /* another place */
    break_rule(BARE, "NdkWrite");
    assert_int_equal(occurrences("*** NDK rule broken: test-bare in NdkRead"), 2);
    assert_int_equal(occurrences("*** NDK rule broken: test-bare in NdkWrite"), 1);
    assert_int_equal(ondk_verify_breaches() - breaches_before, 5);
    assert_int_equal(occurrences("reported again"), 0);
    for (int i = 0; i < 2; i++) { /* the second time there is nothing new */
        ondk_verify_write_repeats();
        assert_int_equal(occurrences("*** reported again: test-bare in NdkRead: 3 times in all at "), 1);
        assert_int_equal(occurrences("reported again"), 1);
    }
}

static NOINLINE void break_at_one_place(int times)
{
    for (volatile int i = 0; i < times; i++)
        break_rule(BARE, "NdkBind");
}

static void test_repeats_of_another_output(void **state)
{
    (void)state;
    break_at_one_place(1);
    assert_int_equal(occurrences("test-bare in NdkBind"), 1);
    (void)stop(state);
    (void)start(state);
    break_at_one_place(2);
    assert_int_equal(occurrences("test-bare in NdkBind"), 1);
}

static void test_max_written(void **state)
{
    (void)state;
    report_set_max_written(2);
    for (volatile int i = 0; i < 5; i++)
        break_rule(BARE, "NdkFlush");
    assert_int_equal(occurrences("test-bare in NdkFlush"), 2);
    report_set_max_written(0);
    break_rule(BARE, "NdkFlush");
    assert_int_equal(occurrences("test-bare in NdkFlush"), 2);
    assert_int_equal(ondk_verify_breaches() - breaches_before, 6);
}

static void fill_places(void)
{
    static char names[MAX_PLACES + 7][16];

    for (int i = 0; i < MAX_PLACES + 7; i++) {
        snprintf(names[i], sizeof names[i], "Ndk%d", i);
        break_rule(BARE, names[i]);
    }
    ondk_verify_write_repeats();
    if (report_count() - breaches_before != MAX_PLACES + 7 || occurrences("*** NDK rule broken") > MAX_PLACES ||
        !strstr(output_text(), " reports of further places are not listed\n"))
        exit(1);
}

/* More places than the table has room for are counted only. */
static void test_many_places(void **state)
{
    (void)state;
    assert_int_equal(child_status(fill_places), 0);
}

static void break_and_end(void)
{
    FILE *file = fopen("ended.txt", "w");

    report_set_output(file);
    for (volatile int i = 0; i < 4; i++)
        break_rule(BARE, "NdkAccept");
}

/* At the end of the process the number of repeats is written. */
static void test_end_of_process(void **state)
{
    (void)state;
    assert_int_equal(child_status(break_and_end), 0);
    assert_non_null(
        strstr(read_and_remove("ended.txt"), "*** reported again: test-bare in NdkAccept: 4 times in all at "));
}

/* ---- counts ---- */

static uint32_t reports_of(const char *name)
{
    static ondk_verify_rule_t rules[256];
    uint32_t n = ondk_verify_rules(rules, 256);

    assert_true(n == VERIFY_RULES + TEST_RULES);
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(rules[i].name, name))
            return rules[i].reports;
    fail_msg("no rule %s", name);
    return 0;
}

/* An advice is no breach, and does not stop the process in mode stop. */
static void test_advice(void **state)
{
    uint32_t before = reports_of("test-advice"), others = reports_of("test-bare");

    (void)state;
    verify_set_mode(VERIFY_STOP);
    for (volatile int i = 0; i < 2; i++)
        break_rule(ADVICE, "NdkDisconnect");
    assert_in_order((const char *const[]){ "*** NDK advice: test-advice in NdkDisconnect: number 5\n",
                                           "  advice: Do it so.\n", NULL });
    assert_int_equal(occurrences("test-advice"), 1);
    assert_int_equal(ondk_verify_advices() - advices_before, 2);
    assert_int_equal(ondk_verify_breaches() - breaches_before, 0);
    assert_int_equal(reports_of("test-advice") - before, 2);
    assert_int_equal(reports_of("test-bare") - others, 0);
}

static void test_list_of_rules(void **state)
{
    ondk_verify_rule_t first[2] = { { .name = NULL } };

    (void)state;
    assert_int_equal(ondk_verify_rules(NULL, 0), VERIFY_RULES + TEST_RULES);
    assert_int_equal(ondk_verify_rules(first, 1), VERIFY_RULES + TEST_RULES);
    assert_string_equal(first[0].layer, "ndk");
    assert_string_equal(first[0].name, verify_rules[0].name);
    assert_null(first[1].name);
}

/* ---- the callback ---- */

static unsigned called_back;
static uint32_t last_repeat;

static void *break_in_thread(void *routine)
{
    break_rule(BARE, routine);
    return NULL;
}

/* No lock is held: another thread can report meanwhile. A report of the callback itself is not passed to it. */
static void on_report(void *context, const ondk_verify_report_t *report)
{
    pthread_t thread;

    assert_ptr_equal(context, &called_back);
    if (strcmp(report->routine, "NdkListen") != 0)
        return;
    called_back++;
    last_repeat = report->repeat;
    assert_int_equal(report->kind, ONDK_VERIFY_BREACH);
    assert_string_equal(report->rule, "test-full");
    assert_string_equal(report->page, "nc-a-page");
    assert_string_equal(report->message, "number 5");
    assert_ptr_equal(report->object, context);
    assert_string_equal(report->object_type, "NDK_LISTENER");
    assert_true(report->time_ns > 1000000000);
    break_rule(FULL, "NdkListen");
    assert_int_equal(pthread_create(&thread, NULL, break_in_thread, "NdkOfThread"), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_callback(void **state)
{
    struct report_object object = { .object = &called_back, .type = "NDK_LISTENER" };

    (void)state;
    ondk_verify_set_callback(on_report, &called_back);
    for (volatile int i = 0; i < 3; i++) {
        report_set_object(&object);
        break_rule(FULL, "NdkListen");
    }
    assert_int_equal(called_back, 3);
    assert_int_equal(last_repeat, 3);
    ondk_verify_set_callback(NULL, NULL);
    break_rule(FULL, "NdkListen");
    assert_int_equal(called_back, 3);
}

/* ---- threads and signals ---- */

enum { THREADS = 4, REPORTS = 500 };

static void *break_often(void *routine)
{
    for (volatile int i = 0; i < REPORTS; i++)
        break_rule(FULL, routine);
    return NULL;
}

static void test_threads(void **state)
{
    static char routines[THREADS][24];
    pthread_t threads[THREADS];
    unsigned lines = 0;

    (void)state;
    report_set_format(REPORT_JSON);
    report_set_max_written(REPORTS / 2);
    for (int i = 0; i < THREADS; i++) {
        snprintf(routines[i], sizeof routines[i], "NdkThread%d", i);
        assert_int_equal(pthread_create(&threads[i], NULL, break_often, routines[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (const char *at = output_text(); *at; lines++)
        json_decref(parse_line(&at));
    assert_int_equal(lines, THREADS * REPORTS / 2);
    assert_int_equal(ondk_verify_breaches() - breaches_before, THREADS * REPORTS);
}

static void on_signal(int number)
{
    (void)number;
    break_rule(BARE, "NdkInHandler");
}

static void interrupted_printer(FILE *to, const struct breach *b)
{
    fprintf(to, "*** %s\n", b->rule->name);
    if (!strcmp(b->routine, "NdkInterrupted"))
        raise(SIGUSR1);
}

static void interrupt_report(void)
{
    report_set_printer(interrupted_printer);
    signal(SIGUSR1, on_signal);
    break_rule(FULL, "NdkInterrupted");
    if (ondk_verify_breaches() - breaches_before != 2 || occurrences("*** test-bare") != 1)
        exit(1);
}

/* A signal handler that interrupts a report of its thread can report. */
static void test_signal(void **state)
{
    (void)state;
    assert_int_equal(child_status(interrupt_report), 0);
}

/* ---- stacks ---- */

static const void *after_create, *after_close, *after_use;

static void ignore_notification(PVOID context, NTSTATUS status)
{
    (void)context;
    (void)status;
}

static void ignore_create(PVOID context, NTSTATUS status, NDK_OBJECT_HEADER *object)
{
    (void)context;
    (void)status;
    (void)object;
}

static NOINLINE NDK_CQ *create_here(NDK_ADAPTER *adapter)
{
    NDK_CQ *cq = NULL;

    assert_int_equal(
        adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, ignore_create, NULL, &cq),
        STATUS_SUCCESS);
    after_create = __builtin_return_address(0);
    return cq;
}

static void ignore_close(PVOID context)
{
    (void)context;
}

static NOINLINE void close_here(NDK_CQ *cq)
{
    assert_int_equal(cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL), STATUS_SUCCESS);
    after_close = __builtin_return_address(0);
}

static NOINLINE void use_here(NDK_CQ *cq)
{
    cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    after_use = __builtin_return_address(0);
}

/* The stack begins in the function whose caller continues at `after`. */
static void assert_begins(const json_t *stacks, size_t i, const char *title, const char *routine, const void *after)
{
    const json_t *stack = json_array_get(stacks, i);
    char address[32];

    assert_string_equal(text_of(stack, "title"), title);
    assert_string_equal(text_of(stack, "called"), routine);
    snprintf(address, sizeof address, "%p", after);
    assert_string_equal(text_of(json_array_get(json_object_get(stack, "frames"), 1), "address"), address);
}

/* The library's frames are left out, although the library is linked statically. */
static void test_trimmed(void **state)
{
    NDK_ADAPTER *adapter = verify_wrap(&fake_provider_init()->adapter, "OpenAdapter");
    const char *at;
    json_t *r, *stacks;
    NDK_CQ *cq;

    (void)state;
    report_set_format(REPORT_JSON);
    cq = create_here(adapter);
    use_here(cq);
    close_here(cq);
    use_here(cq);
    at = output_text();
    r = parse_line(&at);
    stacks = json_object_get(r, "stacks");
    assert_int_equal(json_array_size(stacks), 3);
    assert_begins(stacks, 0, "call", "NdkArmCq", after_use);
    assert_begins(stacks, 1, "closed by", "NdkCloseCq", after_close);
    assert_begins(stacks, 2, "created by", "NdkCreateCq", after_create);
    assert_string_equal(text_of(json_object_get(r, "object"), "type"), "NDK_CQ");
    assert_non_null(
        strstr(json_string_value(json_array_get(json_object_get(r, "history"), 0)), "last calls: NdkArmCq by thread "));
    json_decref(r);
}

/* Returns the call that the calling thread is in. */
static struct stack_call current_call(void)
{
    struct stack_call call = stack_begin_call(NULL, NULL);

    stack_end_call(&call);
    return call;
}

/* A call inside a callback does not change in which call the thread is when the callback has returned. */
static void test_call_in_a_callback(void **state)
{
    struct stack_call outer, callback, call;

    (void)state;
    outer = stack_begin_call(&after_use, "NdkSend");
    callback = stack_begin_call(NULL, NULL);
    assert_null(current_call().by);
    call = stack_begin_call(&after_close, "NdkRead");
    stack_end_call(&call);
    assert_null(current_call().by);
    stack_end_call(&callback);
    assert_ptr_equal(current_call().by, &after_use);
    assert_string_equal(current_call().routine, "NdkSend");
    stack_end_call(&outer);
    assert_null(current_call().by);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_TEST(test_order),          REPORT_TEST(test_bare),
        REPORT_TEST(test_repeats),        REPORT_TEST(test_repeats_of_another_output),
        REPORT_TEST(test_max_written),    REPORT_TEST(test_many_places),
        REPORT_TEST(test_end_of_process), REPORT_TEST(test_advice),
        REPORT_TEST(test_list_of_rules),  REPORT_TEST(test_callback),
        REPORT_TEST(test_threads),        REPORT_TEST(test_signal),
        REPORT_TEST(test_trimmed),        REPORT_TEST(test_call_in_a_callback),
    };

    report_add_rules(&test_table);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
