/* SPDX-License-Identifier: MIT */
/*
 * The report that ondk_close_adapter prints while it waits. Each case runs in a child process, whose standard error the
 * test reads. close_abort_ms ends a child that waits for ever.
 */
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/log.h"

enum { REPORT_ROOM = 1 << 16, REPORT_MS = 1, ABORT_MS = 50, MANY = 10 };

/* Runs part in a child. Returns the child's standard error; *status is waitpid's. */
static const char *output_of(void (*part)(void), int *status)
{
    static char text[REPORT_ROOM];
    int pipes[2];
    size_t have = 0;
    ssize_t n;

    CHECK_EQ(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDERR_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        part();
        _exit(0);
    }
    close(pipes[1]);
    while ((n = read(pipes[0], text + have, sizeof text - 1 - have)) > 0)
        have += (size_t)n;
    text[have] = '\0';
    close(pipes[0]);
    CHECK_EQ(waitpid(child, status, 0), child);
    return text;
}

static void set_limits(uint32_t report_ms, uint32_t abort_ms)
{
    ondk_config_t c;

    ondk_config_init(&c);
    c.close_report_ms = report_ms;
    c.close_abort_ms = abort_ms;
    CHECK_STATUS(ondk_configure(&c), STATUS_SUCCESS);
}

static void check_says(const char *text, const char *words)
{
    if (!strstr(text, words))
        kit_fail(__FILE__, __LINE__, "\"%s\" is not in:\n%s", words, text);
}

static unsigned count_in_output(const char *text, const char *words)
{
    unsigned count = 0;

    while ((text = strstr(text, words)) != NULL) {
        text += strlen(words);
        count++;
    }
    return count;
}

/* The part of report_of's child, and the output of the newest one. */
static struct {
    void (*part)(void);
    uint32_t abort_ms; /* close_abort_ms, for part */
    const char *text;
} aborting;

/* Returns false if the process was ended before the report was complete, as it is if that takes too long. */
static bool attempt_report(uint32_t ms)
{
    int status;

    aborting.abort_ms = ms;
    aborting.text = output_of(aborting.part, &status);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT ||
        count_in_output(aborting.text, "ondk_close_adapter (") > 1)
        kit_fail(__FILE__, __LINE__, "one report and SIGABRT are expected, status is 0x%x:\n%s", status, aborting.text);
    return strstr(aborting.text, "ondk_close_adapter ends the process") != NULL;
}

/* Runs part in a child, which must print one report and abort. Returns the child's standard error. */
static const char *report_of(void (*part)(void))
{
    aborting.part = part;
    kit_with_limit(attempt_report);
    CHECK_EQ(count_in_output(aborting.text, "ondk_close_adapter ("), 1);
    return aborting.text;
}

/* ---- objects that are open ---- */

static void close_with_connection(void)
{
    static struct kit_pair p;

    set_limits(REPORT_MS, aborting.abort_ms);
    kit_pair_open(&p);
    fprintf(stderr, "port %u\n", kit_port(&p.listener.address));
    ondk_close_adapter(p.passive.adapter);
}

CASE(report_of_a_connection, KIT_FAMILIES)
{
    char expected[100];
    unsigned port = 0;
    const char *text = report_of(close_with_connection);

    check_says(text, " warn: ondk_close_adapter (lo) has waited ");
    check_says(text, " ms for 1 connector, 1 listener, 1 QP, 1 CQ, 1 MR, 1 PD\n");
    CHECK_EQ(sscanf(text, "port %u", &port), 1);
    snprintf(expected, sizeof expected, ": established, %s:%u to %s:", kit_family() == AF_INET ? "127.0.0.1" : "[::1]",
             port, kit_family() == AF_INET ? "127.0.0.1" : "[::1]");
    check_says(text, expected);
    check_says(text, ", not closed\n");
    snprintf(expected, sizeof expected, ": listening, %s:%u, not closed; 1 object depends on it\n",
             kit_family() == AF_INET ? "127.0.0.1" : "[::1]", port);
    check_says(text, expected);
}

static void close_with_many(void)
{
    NDK_PD *pd;

    set_limits(0, aborting.abort_ms); /* the report comes before the end in any case */
    NDK_ADAPTER *adapter = kit_open(2, 1);
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &pd), STATUS_SUCCESS);
    ondk_close_adapter(adapter);
}

CASE(report_of_many_objects, 0)
{
    const char *text = report_of(close_with_many);

    check_says(text, " ms for 10 PDs\n");
    CHECK_EQ(count_in_output(text, "    PD 0x"), 4);
    check_says(text, "    and 6 more\n");
}

/* ---- callbacks that have not returned ---- */

static sem_t callback_began;

static void block(struct kit_call *call)
{
    (void)call;
    sem_post(&callback_began);
    for (;;)
        pause();
}

/* A PD whose creation completes in a callback of the provider's, which runs `inside`. */
static void close_in_create_callback(void (*inside)(struct kit_call *call))
{
    static struct kit_call create;
    ondk_config_t c;
    NDK_PD *pd;

    sem_init(&callback_began, 0, 0);
    ondk_config_init(&c);
    c.close_report_ms = REPORT_MS;
    c.close_abort_ms = aborting.abort_ms;
    c.pend_creates = 1;
    CHECK_STATUS(ondk_configure(&c), STATUS_SUCCESS);
    create.inside = inside;
    NDK_ADAPTER *adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, &create, &pd), STATUS_PENDING);
    sem_wait(&callback_began);
    ondk_close_adapter(adapter);
}

static void block_creation(void)
{
    close_in_create_callback(block);
}

CASE(report_of_a_create_callback, 0)
{
    const char *text = report_of(block_creation);

    check_says(text, " ms for 1 PD\n");
    check_says(text, ": not closed; 1 callback has not returned\n");
}

/* The object's callback runs, so its close cannot end before that. */
static void close_inside(struct kit_call *create)
{
    static struct kit_call call = { .inside = block };
    NDK_PD *pd = (NDK_PD *)create->object;

    CHECK_STATUS(pd->Dispatch->NdkClosePd(&pd->Header, kit_close_done, &call), STATUS_PENDING);
}

static void block_close(void)
{
    close_in_create_callback(close_inside);
}

CASE(report_of_a_close_callback, 0)
{
    const char *text = report_of(block_close);

    check_says(text, " ms for 1 PD\n");
    check_says(text, ": closed; its close completion callback has not returned\n");
}

/* ---- a log that blocks ---- */

static void block_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
    for (;;)
        pause();
}

static void close_with_blocked_log(void)
{
    NDK_PD *pd;

    set_limits(REPORT_MS, ABORT_MS);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEFAULT, block_line, NULL), STATUS_SUCCESS);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &pd), STATUS_SUCCESS);
    ondk_close_adapter(adapter);
}

CASE(abort_despite_a_blocked_callback, 0)
{
    int status;

    (void)output_of(close_with_blocked_log, &status);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- closes without a report ---- */

static void *close_adapter(void *adapter)
{
    ondk_close_adapter(adapter);
    return NULL;
}

/* No report and no end, although the close waits until the other thread has closed the PD. */
static void close_late(void)
{
    pthread_t thread;
    NDK_PD *pd;

    set_limits(0, 0);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &pd), STATUS_SUCCESS);
    CHECK_EQ(pthread_create(&thread, NULL, close_adapter, adapter), 0);
    kit_pause();
    CHECK_STATUS(kit_close(pd), STATUS_SUCCESS);
    pthread_join(thread, NULL);
}

/* The opposite: a report, and then the close succeeds. */
static void close_after_report(void)
{
    pthread_t thread;
    int pipes[2], saved = dup(STDERR_FILENO);
    char first;
    NDK_PD *pd;

    set_limits(REPORT_MS, 0);
    CHECK_EQ(pipe(pipes), 0);
    dup2(pipes[1], STDERR_FILENO);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, NULL, NULL, &pd), STATUS_SUCCESS);
    CHECK_EQ(pthread_create(&thread, NULL, close_adapter, adapter), 0);
    CHECK_EQ(read(pipes[0], &first, 1), 1);
    CHECK_STATUS(kit_close(pd), STATUS_SUCCESS);
    pthread_join(thread, NULL);
    dup2(saved, STDERR_FILENO);
}

CASE(closes_that_end, 0)
{
    int status;
    const char *text = output_of(close_late, &status);

    if (status || *text)
        kit_fail(__FILE__, __LINE__, "status 0x%x:\n%s", status, text);
    text = output_of(close_after_report, &status);
    if (status || *text)
        kit_fail(__FILE__, __LINE__, "status 0x%x:\n%s", status, text);
}
