/* SPDX-License-Identifier: MIT */
/* ONDK_VERIFY and the settings of openndk/verify.h, with this library's provider behind. Each case has a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <net/if.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/verify_setting.h"
#include "openndk/adapter.h"
#include "openndk/counters.h"
#include "openndk/verify.h"

static NDK_ADAPTER *open_adapter(void)
{
    NDK_ADAPTER *adapter = NULL;

    if (ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_nametoindex("lo"), &adapter) != STATUS_SUCCESS)
        abort();
    return adapter;
}

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

static void ignore_close(PVOID context)
{
    (void)context;
}

/* Uses a closed completion queue, but only if verification can report it. Returns the number of breaches. */
static unsigned use_after_close(void)
{
    NDK_ADAPTER *adapter = open_adapter();
    NDK_CQ *cq = NULL;
    ondk_verify_config_t config;
    ondk_counters_t counters;

    ondk_verify_config_init(&config);
    ondk_adapter_counters(adapter, &counters); /* finds the provider's adapter behind */
    if (adapter->Dispatch->NdkCreateCq(adapter, 8, ignore_notification, NULL, NULL, ignore_create, NULL, &cq) !=
        STATUS_SUCCESS)
        abort();
    (void)cq->Dispatch->NdkCloseCq(&cq->Header, ignore_close, NULL);
    if (config.mode != ONDK_VERIFY_OFF)
        cq->Dispatch->NdkArmCq(cq, NDK_CQ_NOTIFY_ANY);
    ondk_close_adapter(adapter);
    return ondk_verify_breaches();
}

static unsigned full_is_read(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    return config.full;
}

/* The program's own setting is above the environment's. */
static unsigned set_before_opening(void)
{
    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    return use_after_close();
}

/* An adapter that was opened while verification was off has the provider's own objects. */
static unsigned turned_on_too_late(void)
{
    NDK_ADAPTER *adapter = open_adapter();

    ondk_verify_set_mode(ONDK_VERIFY_REPORT);
    if (ondk_verify_unwrap(adapter) != adapter)
        abort();
    ondk_close_adapter(adapter);
    return ondk_verify_breaches();
}

/* Runs `body` in a child with ONDK_VERIFY=value. Returns the child's status as waitpid reports it. */
static int run(const char *value, unsigned (*body)(void))
{
    int status = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        if (value)
            setenv("ONDK_VERIFY", value, 1);
        else
            unsetenv("ONDK_VERIFY");
        ondk_verify_set_output(fopen("/dev/null", "w"));
        _exit((int)body());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assert_exits(int status, int code)
{
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void test_environment(void **state)
{
    int status = run("stop", use_after_close);

    (void)state;
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_exits(run("report", use_after_close), 1);
    assert_exits(run("off", use_after_close), 0);
    assert_exits(run(NULL, use_after_close), 0);
    assert_exits(run("sometimes", use_after_close), 0);
    assert_exits(run("report,full", full_is_read), 1);
    assert_exits(run("report", full_is_read), 0);
    assert_exits(run("report,fully", full_is_read), 0);
}

static void test_configured(void **state)
{
    (void)state;
    assert_exits(run("off", set_before_opening), 1);
    assert_exits(run(NULL, turned_on_too_late), 0);
}

static void test_wrong_settings(void **state)
{
    ondk_verify_config_t before, config;

    (void)state;
    ondk_verify_config_init(&before);
    config = before;
    config.mode = 3;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.full = 2;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.format = 2;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    config = before;
    config.size = 4;
    assert_int_equal(ondk_verify_configure(&config), STATUS_INVALID_PARAMETER);
    ondk_verify_config_init(&config);
    assert_memory_equal(&config, &before, sizeof config);
    assert_int_equal(ondk_verify_wrap(NULL, NULL), STATUS_INVALID_PARAMETER);
}

static void test_reports(void **state)
{
    ondk_verify_config_t config;

    (void)state;
    ondk_verify_config_init(&config);
    assert_int_equal(config.format, ONDK_VERIFY_TEXT);
    assert_int_equal(config.max_written, 1);
    config.format = ONDK_VERIFY_JSON;
    config.max_written = 7;
    assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
    ondk_verify_set_mode(ONDK_VERIFY_REPORT); /* leaves the other settings as they are */
    ondk_verify_config_init(&config);
    assert_int_equal(config.format, ONDK_VERIFY_JSON);
    assert_int_equal(config.max_written, 7);
}

/* A field that a program's struct lacks keeps its value, for each length of the struct. */
static void test_shorter_structs(void **state)
{
    ondk_verify_config_t set, config, after;

    (void)state;
    ondk_verify_config_init(&set);
    set.full = 1;
    set.stall_ms = 1234;
    set.exit_status = 9;
    assert_int_equal(ondk_verify_configure(&set), STATUS_SUCCESS);
    for (uint32_t size = offsetof(ondk_verify_config_t, full); size < sizeof config; size += sizeof(uint32_t)) {
        config = set;
        config.size = size;
        memset((char *)&config + size, 0xee, sizeof config - size);
        assert_int_equal(ondk_verify_configure(&config), STATUS_SUCCESS);
        ondk_verify_config_init(&after);
        assert_memory_equal(&after, &set, sizeof after);
    }
    set.full = 0;
    set.exit_status = 0;
    assert_int_equal(ondk_verify_configure(&set), STATUS_SUCCESS);
}

/* ---- the text of ONDK_VERIFY ---- */

static bool file_is(const struct verify_name *file, const char *name)
{
    return file->length == strlen(name) && !strncmp(file->name, name, file->length);
}

#define FOUR_ADVICES ",advice=a,advice=b,advice=c,advice=d"
#define SEVENTEEN_ADVICES FOUR_ADVICES FOUR_ADVICES FOUR_ADVICES FOUR_ADVICES ",advice=e"

static void test_texts(void **state)
{
    static const char *const wrong[] = { "",
                                         "reports",
                                         "rep",
                                         "report,",
                                         "report,,full",
                                         "report,fully",
                                         ",full",
                                         "full",
                                         "report;full",
                                         "report,output",
                                         "report,output=",
                                         "report,output=,json",
                                         "report,junit=",
                                         "report,Output=a",
                                         "report,stall=",
                                         "report,stall=1s",
                                         "report,stall=-1",
                                         "report,stall=3600001",
                                         "report,stall=99999999999999999999",
                                         "report,exit=",
                                         "report,exit=256",
                                         "report,advice",
                                         "report,advice=",
                                         "report,advice=,full",
                                         "stop" SEVENTEEN_ADVICES };
    struct verify_setting setting = { .mode = 77 };

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (verify_setting_parse(wrong[i], &setting) || setting.mode != 77)
            fail_msg("\"%s\" is accepted, or changes the setting", wrong[i]);
    assert_true(verify_setting_parse("off", &setting));
    assert_true(setting.mode == 0 && !setting.full && !setting.json && !setting.output.name && !setting.junit.name);
    assert_true(verify_setting_parse("stop,junit=/tmp/a=b,json,output=c d,full", &setting));
    assert_true(setting.mode == 2 && setting.full && setting.json);
    assert_true(file_is(&setting.output, "c d") && file_is(&setting.junit, "/tmp/a=b"));
    assert_int_equal(setting.stall_ms, VERIFY_STALL_MS);
    assert_true(verify_setting_parse("stop,stall=0", &setting));
    assert_int_equal(setting.stall_ms, 0);
    assert_true(verify_setting_parse("stop,stall=3600000,json", &setting));
    assert_int_equal(setting.stall_ms, 3600000);
    assert_int_equal(setting.exit_status, 0);
    assert_true(verify_setting_parse("report,exit=255", &setting));
    assert_int_equal(setting.exit_status, 255);
    assert_int_equal(setting.advice_count, 0);
    assert_true(verify_setting_parse("report,advice=connector-phase,advice=a,full", &setting));
    assert_int_equal(setting.advice_count, 2);
    assert_true(file_is(&setting.advice[0], "connector-phase") && file_is(&setting.advice[1], "a") && setting.full);
}

static void test_long_names(void **state)
{
    static char text[VERIFY_MAX_NAME + 32] = "report,output=";
    size_t start = strlen(text);
    struct verify_setting setting;

    (void)state;
    memset(text + start, 'x', VERIFY_MAX_NAME - 1);
    assert_true(verify_setting_parse(text, &setting));
    text[start + VERIFY_MAX_NAME - 1] = 'x';
    assert_false(verify_setting_parse(text, &setting));
    assert_int_equal(ondk_verify_configure_text(text), STATUS_INVALID_PARAMETER);
    assert_int_equal(ondk_verify_configure_text(NULL), STATUS_INVALID_PARAMETER);
}

/* ---- files ---- */

/* Returns the content of a file and removes the file; NULL if there is none. */
static const char *content_of(const char *path)
{
    static char content[1 << 16];
    FILE *file = fopen(path, "r");
    size_t n;

    if (!file)
        return NULL;
    n = fread(content, 1, sizeof content - 1, file);
    content[n] = '\0';
    fclose(file);
    assert_int_equal(remove(path), 0);
    return content;
}

static unsigned count(const char *content, const char *words)
{
    unsigned n = 0;

    for (const char *at = content; (at = strstr(at, words)); at += strlen(words))
        n++;
    return n;
}

/* The file is the one that its name meant when the setting was read. */
static unsigned use_in_another_folder(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    assert_int_equal(chdir("/"), 0);
    return use_after_close();
}

static unsigned use_and_exit(void)
{
    exit((int)use_after_close());
}

static unsigned open_only(void)
{
    ondk_close_adapter(open_adapter());
    exit(0);
}

static unsigned write_and_exit(void)
{
    assert_non_null(freopen("setting_text.txt", "w", stdout));
    printf("a text in the buffer");
    exit((int)use_after_close());
}

/* Writes standard error to a file. */
static unsigned use_with_errors(void)
{
    ondk_verify_set_output(NULL);
    assert_non_null(freopen("setting_errors.txt", "w", stderr));
    (void)use_after_close();
    exit(0);
}

static void test_output_file(void **state)
{
    const char *content;

    (void)state;
    (void)content_of("setting_reports.txt");
    assert_exits(run("report,output=setting_reports.txt", open_only), 0);
    assert_null(content_of("setting_reports.txt")); /* without a report there is no file */
    assert_exits(run("report,output=setting_reports.txt", use_in_another_folder), 1);
    assert_exits(run("report,output=setting_reports.txt,json", use_after_close), 1);
    content = content_of("setting_reports.txt");
    assert_non_null(content);
    assert_int_equal(count(content, "*** NDK rule broken: ndk-closed-used in NdkArmCq"), 1);
    assert_int_equal(count(content, "\n{\"event\":\"report\",\"kind\":\"breach\",\"rule\":\"ndk-closed-used\""), 1);
}

static void test_output_that_cannot_be_opened(void **state)
{
    const char *content;

    (void)state;
    assert_exits(run("report,output=/nobody/reports.txt", use_with_errors), 0);
    content = content_of("setting_errors.txt");
    assert_non_null(content);
    assert_int_equal(count(content, "openndk: reports go to standard error, because /nobody/reports.txt cannot be "
                                    "opened: No such file or directory\n"),
                     1);
    assert_int_equal(count(content, "*** NDK rule broken: ndk-closed-used in NdkArmCq"), 1);
}

static void test_stop_with_a_file(void **state)
{
    const char *content;
    int status = run("stop,output=setting_reports.txt", use_with_errors);

    (void)state;
    assert_true(WIFSIGNALED(status));
    content = content_of("setting_reports.txt");
    assert_int_equal(count(content, "*** NDK rule broken: ndk-closed-used in NdkArmCq"), 1);
    content = content_of("setting_errors.txt");
    assert_int_equal(count(content, "openndk: rule ndk-closed-used is broken in NdkArmCq; the report is in /"), 1);
}

static void test_junit_file(void **state)
{
    const char *content;

    (void)state;
    assert_exits(run("report,junit=setting_junit.xml", use_and_exit), 1);
    content = content_of("setting_junit.xml");
    assert_non_null(content);
    assert_int_equal(count(content, "name=\"ndk-closed-used\">\n    <failure"), 1);
    assert_exits(run("off,junit=setting_junit.xml", open_only), 0);
    assert_null(content_of("setting_junit.xml")); /* nothing was checked */
    assert_exits(run("report,junit=setting_junit.xml", open_only), 0);
    content = content_of("setting_junit.xml");
    assert_non_null(content);
    assert_int_equal(count(content, "<failure"), 0);
}

/* Only a breach changes the status, and nothing that the program has printed is lost. */
static void test_exit_status(void **state)
{
    const char *content;

    (void)state;
    assert_exits(run("report,exit=77", write_and_exit), 77);
    content = content_of("setting_text.txt");
    assert_non_null(content);
    assert_string_equal(content, "a text in the buffer");
    assert_exits(run("report,exit=77", open_only), 0);
    assert_exits(run("report,exit=0", use_and_exit), 1);
    assert_exits(run("off,exit=77", use_and_exit), 0);
}

static unsigned advised_close(void)
{
    unsigned breaches = use_after_close();

    exit(breaches == 0 && ondk_verify_advices() == 1 ? 50 : 51);
}

/* The rule's kind in the public list, or 99 if the rule is not there. */
static uint32_t kind_of_rule(const char *name)
{
    static ondk_verify_rule_t rules[200];
    uint32_t count = ondk_verify_rules(rules, 200);

    for (uint32_t i = 0; i < count && i < 200; i++)
        if (!strcmp(rules[i].name, name))
            return rules[i].kind;
    return 99;
}

/* A text without the option, or one that is refused, takes effect as a whole or not at all. */
static unsigned advice_ends(void)
{
    if (ondk_verify_configure_text("report,advice=ndk-closed-used") != STATUS_SUCCESS ||
        kind_of_rule("ndk-closed-used") != ONDK_VERIFY_ADVICE || kind_of_rule("cq-concurrent") != ONDK_VERIFY_BREACH)
        return 60;
    if (ondk_verify_configure_text("report,advice=cq-concurrent,advice=ndk-closed") != STATUS_INVALID_PARAMETER ||
        kind_of_rule("ndk-closed-used") != ONDK_VERIFY_ADVICE || kind_of_rule("cq-concurrent") != ONDK_VERIFY_BREACH)
        return 61;
    return ondk_verify_configure_text("report") == STATUS_SUCCESS ? use_after_close() : 62;
}

static void test_advice(void **state)
{
    const char *content;

    (void)state;
    assert_exits(run("stop,advice=ndk-closed-used,junit=setting_junit.xml", advised_close), 50);
    content = content_of("setting_junit.xml");
    assert_non_null(content);
    assert_int_equal(count(content, "name=\"ndk-closed-used\">\n    <system-out"), 1);
    assert_int_equal(count(content, "failures=\"0\""), 1);
    assert_true(WIFSIGNALED(run("stop,advice=cq-concurrent", use_after_close)));
    assert_exits(run("off", advice_ends), 1);
    assert_exits(run("report,output=setting_reports.txt,advice=ndk-closed", use_with_errors), 0);
    content = content_of("setting_errors.txt");
    assert_non_null(content);
    assert_int_equal(
        count(content, "openndk: advice=ndk-closed: there is no such rule; docs/verify.md lists the rules\n"), 1);
    assert_non_null(content_of("setting_reports.txt"));
}

/* A text replaces the environment's, with its files. */
static unsigned text_after_environment(void)
{
    ondk_verify_config_t config;

    ondk_verify_config_init(&config);
    if (!config.full || config.format != ONDK_VERIFY_JSON || ondk_verify_configure_text("report") != STATUS_SUCCESS)
        return 7;
    ondk_verify_config_init(&config);
    return config.full || config.format != ONDK_VERIFY_TEXT ? 8 : use_after_close();
}

static void test_text_replaces(void **state)
{
    (void)state;
    assert_exits(run("report,full,json,output=setting_reports.txt", text_after_environment), 1);
    assert_null(content_of("setting_reports.txt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_long_names),
        cmocka_unit_test(test_output_file),
        cmocka_unit_test(test_output_that_cannot_be_opened),
        cmocka_unit_test(test_stop_with_a_file),
        cmocka_unit_test(test_junit_file),
        cmocka_unit_test(test_exit_status),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_text_replaces),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_configured),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_reports),
        cmocka_unit_test(test_shorter_structs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
