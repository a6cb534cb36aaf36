/* SPDX-License-Identifier: MIT */
/*
 * The report of an object's close that stays pending. A callback of the log collects the lines. Each case waits for the
 * lines that it expects, and then lets the close end.
 */
#include <dirent.h>
#include <semaphore.h>
#include <unistd.h>

#include "contract/kit/fast.h"
#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/log.h"

enum { LOG_ROOM = 1 << 16, REPORT_MS = 1, MANY = 10 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char text[LOG_ROOM];
} lines = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void on_line(void *context, uint32_t level, const char *text)
{
    size_t len;

    (void)context;
    pthread_mutex_lock(&lines.lock);
    len = strlen(lines.text);
    snprintf(lines.text + len, LOG_ROOM - len, "%u %s\n", (unsigned)level, text);
    pthread_cond_broadcast(&lines.changed);
    pthread_mutex_unlock(&lines.lock);
}

/* For adapters opened from now on. */
static void report_closes_after(uint32_t ms, bool pend_creates)
{
    ondk_config_t c;

    ondk_config_init(&c);
    c.close_report_ms = ms;
    c.pend_creates = pend_creates;
    CHECK_STATUS(ondk_configure(&c), STATUS_SUCCESS);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEFAULT, on_line, NULL), STATUS_SUCCESS);
}

static void wait_for_text(const char *text)
{
    pthread_mutex_lock(&lines.lock);
    while (!strstr(lines.text, text))
        pthread_cond_wait(&lines.changed, &lines.lock);
    pthread_mutex_unlock(&lines.lock);
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;

    for (const char *at = lines.text; (at = strstr(at, text)) != NULL; at += strlen(text))
        count++;
    return count;
}

static void report_closes(void)
{
    report_closes_after(REPORT_MS, false);
}

/* Waits for the report of the object's close, which names in its first line what the close waits for. */
static void wait_for_report(const char *type, const void *object, const char *where, const char *waits_for)
{
    char head[100], line[300];
    unsigned long long ms;
    const char *at;

    snprintf(head, sizeof head, "%d the close of %s %p (lo)%s has waited ", ONDK_LOG_WARN, type, object, where);
    wait_for_text(head);
    pthread_mutex_lock(&lines.lock);
    at = strstr(lines.text, head) + strlen(head);
    CHECK_EQ(sscanf(at, "%llu ms for ", &ms), 1);
    CHECK(ms >= REPORT_MS);
    snprintf(line, sizeof line, "%llu ms for %s\n", ms, waits_for);
    if (strncmp(at, line, strlen(line)) != 0)
        kit_fail(__FILE__, __LINE__, "\"%s\" does not follow in:\n%s", line, lines.text);
    pthread_mutex_unlock(&lines.lock);
}

static NTSTATUS start_close(void *object, struct kit_call *call)
{
    NDK_PD *any = object; /* every dispatch table begins with the close */

    return any->Dispatch->NdkClosePd(&any->Header, kit_close_done, call);
}

/* ---- dependents ---- */

static const char *host_text(void)
{
    return kit_family() == AF_INET ? "127.0.0.1" : "[::1]";
}

CASE(report_of_a_queue_pair, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call qp = { .calls = 0 }, cq = { .calls = 0 };
    struct sockaddr_storage from, to;
    char text[300];

    report_closes();
    kit_pair_open(&p);
    from = kit_local_address(p.active.connector);
    to = kit_peer_address(p.active.connector);
    CHECK_STATUS(start_close(p.active.qp, &qp), STATUS_PENDING);
    wait_for_report("QP", p.active.qp, "", "1 connector");
    snprintf(text, sizeof text, "\n%d     connector %p: established, %s:%u to %s:%u, not closed\n", ONDK_LOG_WARN,
             (void *)p.active.connector, host_text(), kit_port(&from), host_text(), kit_port(&to));
    wait_for_text(text);
    CHECK_STATUS(start_close(p.active.cq, &cq), STATUS_PENDING);
    wait_for_report("CQ", p.active.cq, "", "1 QP");
    snprintf(text, sizeof text, "\n%d     QP %p: close is pending; 1 object depends on it\n", ONDK_LOG_WARN,
             (void *)p.active.qp);
    wait_for_text(text);
    CHECK_EQ(qp.calls + cq.calls, 0);
    kit_close_connector(&p.active);
    kit_wait_calls(&qp, 1);
    kit_wait_calls(&cq, 1);
    CHECK_EQ(count_of("the close of QP"), 1); /* although it waited longer than the queue that was closed later */
    p.active.qp = NULL;
    p.active.cq = NULL;
    kit_pair_close(&p);
}

CASE(report_of_a_listener, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_call call = { .calls = 0 };
    char where[100];

    report_closes();
    kit_pair_open(&p);
    snprintf(where, sizeof where, ": closing, %s:%u,", host_text(), kit_port(&p.listener.address));
    CHECK_STATUS(start_close(p.listener.listener, &call), STATUS_PENDING);
    wait_for_report("listener", p.listener.listener, where, "1 connector");
    kit_close_connector(&p.passive);
    kit_wait_calls(&call, 1);
    p.listener.listener = NULL;
    kit_pair_close(&p);
}

CASE(report_of_a_region_with_a_window, 0)
{
    static struct kit_pair p;
    struct kit_call call = { .calls = 0 };
    NDK_MW *mw;

    report_closes();
    kit_pair_open(&p);
    mw = fast_mw(p.active.pd);
    CHECK_STATUS(fast_bind(&p.active, 1, p.active.mr, mw, p.active.memory, 100, NDK_OP_FLAG_ALLOW_REMOTE_READ),
                 STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p.active, NdkOperationTypeBind), 1);
    CHECK_STATUS(start_close(p.active.mr, &call), STATUS_PENDING);
    wait_for_report("MR", p.active.mr, "",
                    "a window that is bound to it, an access to its memory, or a callback that has not returned");
    CHECK_STATUS(kit_close(mw), STATUS_SUCCESS);
    kit_wait_calls(&call, 1);
    p.active.mr = NULL;
    kit_pair_close(&p);
}

/* Each close is reported or counted. */
CASE(report_of_many_closes, 0)
{
    static struct kit_call calls[MANY];
    NDK_PD *pds[MANY];
    NDK_MR *mrs[MANY];
    unsigned seen = 0;

    report_closes();
    NDK_ADAPTER *adapter = kit_open(2, 1);
    for (int i = 0; i < MANY; i++) {
        pds[i] = kit_pd(adapter);
        CHECK_STATUS(pds[i]->Dispatch->NdkCreateMr(pds[i], FALSE, NULL, NULL, &mrs[i]), STATUS_SUCCESS);
    }
    for (int i = 0; i < MANY; i++)
        CHECK_STATUS(start_close(pds[i], &calls[i]), STATUS_PENDING);
    pthread_mutex_lock(&lines.lock);
    for (;;) {
        unsigned more;

        seen = count_of("the close of PD");
        for (const char *at = lines.text; (at = strchr(at, '\n')) != NULL; at++)
            seen += sscanf(at, "\n2 %u more close", &more) == 1 ? more : 0;
        if (seen >= MANY)
            break;
        pthread_cond_wait(&lines.changed, &lines.lock);
    }
    pthread_mutex_unlock(&lines.lock);
    CHECK_EQ(seen, MANY);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(kit_close(mrs[i]), STATUS_SUCCESS);
        kit_wait_calls(&calls[i], 1);
    }
    kit_close_adapter(adapter);
}

/* ---- requests and callbacks ---- */

static sem_t callback_began, callback_may_return;

static void block(struct kit_call *call)
{
    (void)call;
    sem_post(&callback_began);
    while (sem_wait(&callback_may_return))
        ;
}

/* ms, pend_creates: as for report_closes_after. */
static void prepare_block(uint32_t ms, bool pend_creates)
{
    sem_init(&callback_began, 0, 0);
    sem_init(&callback_may_return, 0, 0);
    report_closes_after(ms, pend_creates);
}

static void wait_for_callback(void)
{
    while (sem_wait(&callback_began))
        ;
}

CASE(report_of_a_request, KIT_FAMILIES)
{
    static struct kit_side s;
    struct kit_call connect = { .inside = block }, call = { .calls = 0 };
    struct sockaddr_storage source = kit_host(0), silent = kit_host(0);
    socklen_t len = sizeof silent;
    int fd = socket(kit_family(), SOCK_STREAM, 0);

    CHECK(fd >= 0);
    CHECK_EQ(bind(fd, (struct sockaddr *)&silent, kit_address_len(&silent)), 0);
    CHECK_EQ(listen(fd, 1), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)&silent, &len), 0);
    prepare_block(REPORT_MS, false);
    kit_side_open(&s, NULL);
    CHECK_STATUS(kit_connect_start(&s, &connect, &source, &silent, NULL, 0), STATUS_PENDING);
    CHECK_STATUS(start_close(s.connector, &call), STATUS_PENDING); /* cancels NdkConnect, whose completion blocks */
    wait_for_callback();
    CHECK_STATUS(connect.status, STATUS_CANCELLED);
    wait_for_text("the close of connector");
    wait_for_text(" ms for 1 request\n");
    sem_post(&callback_may_return);
    kit_wait_calls(&call, 1);
    s.connector = NULL;
    kit_side_close(&s);
    close(fd);
}

/* arg: the close's call. */
static void close_created(struct kit_call *create)
{
    CHECK_STATUS(start_close(create->object, create->arg), STATUS_PENDING);
}

static void close_created_and_block(struct kit_call *create)
{
    close_created(create);
    block(create);
}

/* Creates a PD, and waits until a callback blocks. */
static NDK_ADAPTER *create_and_block(struct kit_call *create)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_PD *unused;

    CHECK_STATUS(adapter->Dispatch->NdkCreatePd(adapter, kit_create_done, create, &unused), STATUS_PENDING);
    wait_for_callback();
    return adapter;
}

CASE(report_of_a_callback, 0)
{
    struct kit_call call = { .calls = 0 }, create = { .inside = close_created_and_block, .arg = &call };

    prepare_block(REPORT_MS, true);
    NDK_ADAPTER *adapter = create_and_block(&create);
    wait_for_report("PD", create.object, "", "1 callback");
    sem_post(&callback_may_return);
    kit_wait_calls(&call, 1);
    kit_close_adapter(adapter);
}

/* Returns false if the report came before the close's callback was called. */
static bool report_close_callback(uint32_t ms)
{
    struct kit_call call = { .inside = block }, create = { .inside = close_created, .arg = &call };
    bool is_right;

    prepare_block(ms, true);
    NDK_ADAPTER *adapter = create_and_block(&create);
    wait_for_text("the close of PD");
    is_right = count_of(" ms for its close completion callback, which has not returned\n") == 1;
    lines.text[0] = '\0';
    sem_post(&callback_may_return);
    kit_wait_calls(&call, 1);
    kit_close_adapter(adapter);
    return is_right;
}

CASE(report_of_a_close_callback, 0)
{
    kit_with_limit(report_close_callback);
}

/* ---- the thread of the reports ---- */

/* Returns the id of this process's thread with the name, or 0. */
static pid_t thread_named(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    pid_t found = 0;

    CHECK(tasks != NULL);
    while (!found && (entry = readdir(tasks)) != NULL) {
        char path[300], comm[32] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        file = fopen(path, "r");
        if (file && fgets(comm, sizeof comm, file) && !strncmp(comm, name, strlen(name)))
            found = (pid_t)atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return found;
}

/* Returns how often the thread has slept. */
static unsigned sleeps_of(pid_t thread)
{
    char path[64], line[128];
    unsigned count = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "voluntary_ctxt_switches: %u", &count);
    fclose(file);
    return count;
}

/* Closes that end at once wake the thread at most once in close_report_ms, which is a minute here. */
CASE(closes_that_end_wake_nobody, 0)
{
    enum { CLOSES = 300, MAX_WAKES = 20 };
    pid_t thread;
    unsigned before;

    report_closes_after(60000, false);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    thread = thread_named("openndk-close");
    CHECK(thread != 0);
    before = sleeps_of(thread);
    for (int i = 0; i < CLOSES; i++) {
        CHECK_STATUS(kit_close(kit_pd(adapter)), STATUS_SUCCESS);
        usleep(1000);
    }
    CHECK(sleeps_of(thread) - before <= MAX_WAKES);
    kit_close_adapter(adapter);
    CHECK(!*lines.text);
}

/* ---- none ---- */

/* The adapter has the thread of the reports, because close_abort_ms needs it. */
CASE(no_report, 0)
{
    struct kit_call call = { .calls = 0 };
    ondk_config_t c;
    NDK_MR *mr;

    report_closes();
    ondk_config_init(&c);
    c.close_report_ms = 0;
    c.close_abort_ms = 3600000;
    CHECK_STATUS(ondk_configure(&c), STATUS_SUCCESS);
    NDK_ADAPTER *adapter = kit_open(2, 1);
    NDK_PD *pd = kit_pd(adapter);
    CHECK_STATUS(pd->Dispatch->NdkCreateMr(pd, FALSE, NULL, NULL, &mr), STATUS_SUCCESS);
    CHECK_STATUS(start_close(pd, &call), STATUS_PENDING);
    kit_pause();
    CHECK_STATUS(kit_close(mr), STATUS_SUCCESS);
    kit_wait_calls(&call, 1);
    kit_close_adapter(adapter);
    CHECK(!*lines.text);
}
