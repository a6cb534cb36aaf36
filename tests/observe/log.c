/* SPDX-License-Identifier: MIT */
/*
 * The log's callback: what it receives, when it is removed, and that peers cannot make it as many lines as they like.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/raw.h"
#include "observe/outcome.h"
#include "openndk/log.h"

/* ---- parameters and levels ---- */

static void on_nothing(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
}

CASE(log_parameters, 0)
{
    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEBUG + 1, on_nothing, NULL), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(ondk_log_set(UINT32_MAX, NULL, NULL), STATUS_INVALID_PARAMETER);
    for (uint32_t level = ONDK_LOG_DEFAULT; level <= ONDK_LOG_DEBUG; level++)
        CHECK_STATUS(ondk_log_set(level, on_nothing, NULL), STATUS_SUCCESS);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEFAULT, NULL, NULL), STATUS_SUCCESS);
}

struct counts {
    atomic_int by_level[ONDK_LOG_DEBUG + 1];
};

static void on_count(void *context, uint32_t level, const char *text)
{
    struct counts *counts = context;

    for (const char *c = text; *c; c++)
        CHECK(*c >= ' ' && *c <= '~');
    CHECK(strlen(text) < 1024 && level >= ONDK_LOG_ERROR && level <= ONDK_LOG_DEBUG);
    atomic_fetch_add(&counts->by_level[level], 1);
}

/* Causes one line of debug and, if nothing listens at `to`, one of info. */
static void cause_lines(struct kit_side *s, const struct sockaddr_storage *to)
{
    static struct kit_listener l;
    struct sockaddr_storage source = kit_host(0);

    memset(&l, 0, sizeof l);
    kit_listener_create(&l, s->adapter);
    CHECK_STATUS(kit_listen_status(&l, &source), STATUS_SUCCESS);
    CHECK_STATUS(kit_connect(s, &source, to, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
}

CASE(log_levels, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage nobody = kit_free_address();

    kit_side_open(&s, NULL);
    for (uint32_t level = ONDK_LOG_ERROR; level <= ONDK_LOG_DEBUG; level++) {
        static struct counts counts;

        memset(&counts, 0, sizeof counts);
        CHECK_STATUS(ondk_log_set(level, on_count, &counts), STATUS_SUCCESS);
        cause_lines(&s, &nobody);
        CHECK_STATUS(ondk_log_set(ONDK_LOG_ERROR, NULL, NULL), STATUS_SUCCESS);
        CHECK_EQ(atomic_load(&counts.by_level[ONDK_LOG_INFO]), level >= ONDK_LOG_INFO);
        CHECK_EQ(atomic_load(&counts.by_level[ONDK_LOG_DEBUG]), level >= ONDK_LOG_DEBUG ? 2 : 0);
        CHECK_EQ(atomic_load(&counts.by_level[ONDK_LOG_ERROR]) + atomic_load(&counts.by_level[ONDK_LOG_WARN]), 0);
    }
    kit_side_close(&s);
}

/* A program without standard streams: their numbers are not used for connections, into which lines would go. */
CASE(log_without_streams, KIT_FAMILIES)
{
    static struct kit_pair p;

    for (int fd = 0; fd <= 2; fd++)
        close(fd);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEBUG, NULL, NULL), STATUS_SUCCESS);
    kit_pair_open(&p);
    kit_exchange(&p.active, &p.passive);
    for (int fd = 0; fd <= 2; fd++)
        CHECK(fcntl(fd, F_GETFD) == -1);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* ---- inside the callback ---- */

static void on_inside(void *context, uint32_t level, const char *text)
{
    (void)text;
    CHECK_STATUS(ondk_log_set(level, NULL, NULL), STATUS_INVALID_DEVICE_STATE);
    on_count(context, level, text);
}

CASE(log_inside_its_callback, KIT_FAMILIES)
{
    static struct counts counts;
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();

    kit_side_open(&s, NULL);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_INFO, on_inside, &counts), STATUS_SUCCESS);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(atomic_load(&counts.by_level[ONDK_LOG_INFO]), 1);
    kit_side_close(&s);
}

static pid_t forked = -1;

static void on_fork(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
    forked = fork();
}

/* The callback returns in parent and child. Afterwards both can remove it, which waits until no call is counted. */
CASE(log_fork_in_its_callback, KIT_FAMILIES)
{
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    int standard_error = dup(STDERR_FILENO), status;
    static struct kit_side s;

    kit_side_open(&s, NULL);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_INFO, NULL, NULL), STATUS_SUCCESS);
    close(STDERR_FILENO);
    CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED); /* its line is lost */
    CHECK_EQ(dup2(standard_error, STDERR_FILENO), STDERR_FILENO);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_INFO, on_fork, NULL), STATUS_SUCCESS);
    kit_side_close(&s); /* writes a line with the number of lost ones, in this thread */
    CHECK(forked != -1);
    CHECK_STATUS(ondk_log_set(ONDK_LOG_INFO, NULL, NULL), STATUS_SUCCESS);
    if (!forked)
        _exit(0);
    CHECK_EQ(waitpid(forked, &status, 0), forked);
    CHECK_EQ(status, 0);
}

/* ---- removal ---- */

/* The contexts of callbacks that come and go while lines are written. A context is freed as soon as it is removed. */
struct context {
    atomic_int calls;
    uint64_t guard;
};
enum { GUARD = 0x5afe5afe, WRITERS = 3, REMOVALS = 300 };

static atomic_bool writers_stop;
static atomic_int lines_seen;

static void on_guarded(void *context, uint32_t level, const char *text)
{
    struct context *c = context;

    (void)level;
    (void)text;
    CHECK_EQ(c->guard, GUARD);
    if (atomic_fetch_add(&c->calls, 1) % 7 == 0)
        usleep(300);
    CHECK_EQ(c->guard, GUARD);
    atomic_fetch_add(&lines_seen, 1);
}

static void *write_lines(void *adapter)
{
    while (!atomic_load(&writers_stop)) {
        struct kit_listener *l = calloc(1, sizeof *l);
        struct sockaddr_storage at = kit_host(0);

        kit_listener_create(l, adapter);
        CHECK_STATUS(kit_listen_status(l, &at), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(l->listener), STATUS_SUCCESS);
        free(l);
    }
    return NULL;
}

/* Sets one callback after the other, until the writers have written lines. */
static void exchange_callbacks(void)
{
    struct context *old = NULL;

    for (int i = 0; i < REMOVALS || !atomic_load(&lines_seen); i++) {
        struct context *c = calloc(1, sizeof *c);

        c->guard = GUARD;
        CHECK_STATUS(ondk_log_set(ONDK_LOG_DEBUG, on_guarded, c), STATUS_SUCCESS);
        if (old) {
            old->guard = 0;
            free(old);
        }
        old = c;
        usleep(200);
    }
    CHECK_STATUS(ondk_log_set(ONDK_LOG_ERROR, NULL, NULL), STATUS_SUCCESS);
    old->guard = 0;
    free(old);
}

CASE(log_removal_waits_for_calls, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pthread_t writers[WRITERS];

    for (int i = 0; i < WRITERS; i++)
        CHECK_EQ(pthread_create(&writers[i], NULL, write_lines, adapter), 0);
    exchange_callbacks();
    atomic_store(&writers_stop, true);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    kit_close_adapter(adapter);
}

static atomic_int blocking_calls, blocking_released, blocking_removed;

static void on_blocking(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
    kit_increment(&blocking_calls);
    kit_wait_count(&blocking_released, 1);
}

static void *remove_blocking(void *unused)
{
    (void)unused;
    CHECK_STATUS(ondk_log_set(ONDK_LOG_ERROR, NULL, NULL), STATUS_SUCCESS);
    kit_increment(&blocking_removed);
    return NULL;
}

CASE(log_removal_waits_for_one_call, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pthread_t writer, remover;

    CHECK_STATUS(ondk_log_set(ONDK_LOG_DEBUG, on_blocking, NULL), STATUS_SUCCESS);
    CHECK_EQ(pthread_create(&writer, NULL, write_lines, adapter), 0);
    kit_wait_count(&blocking_calls, 1);
    CHECK_EQ(pthread_create(&remover, NULL, remove_blocking, NULL), 0);
    kit_pause();
    CHECK_EQ(atomic_load(&blocking_removed), 0);
    kit_increment(&blocking_released);
    pthread_join(remover, NULL);
    CHECK_EQ(atomic_load(&blocking_removed), 1);
    atomic_store(&writers_stop, true);
    pthread_join(writer, NULL);
    kit_close_adapter(adapter);
}

static atomic_int slow_calls, slow_returns;

static void on_slow(void *context, uint32_t level, const char *text)
{
    (void)context;
    (void)level;
    (void)text;
    atomic_fetch_add(&slow_calls, 1);
    usleep(2000);
    atomic_fetch_add(&slow_returns, 1);
}

static void *set_and_remove(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50 || !atomic_load(&slow_calls); i++) {
        CHECK_STATUS(ondk_log_set(ONDK_LOG_DEBUG, on_slow, NULL), STATUS_SUCCESS);
        CHECK_STATUS(ondk_log_set(ONDK_LOG_ERROR, NULL, NULL), STATUS_SUCCESS);
    }
    return NULL;
}

/* Several threads set it at once: when all are done, no call runs. */
CASE(log_removal_by_several_threads, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pthread_t writer, setters[WRITERS];

    CHECK_EQ(pthread_create(&writer, NULL, write_lines, adapter), 0);
    for (int i = 0; i < WRITERS; i++)
        CHECK_EQ(pthread_create(&setters[i], NULL, set_and_remove, NULL), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(setters[i], NULL);
    CHECK_EQ(atomic_load(&slow_calls), atomic_load(&slow_returns));
    atomic_store(&writers_stop, true);
    pthread_join(writer, NULL);
    kit_close_adapter(adapter);
}

/* ---- floods ---- */

static void send_garbage(const char *from, const struct kit_listener *l)
{
    struct sockaddr_storage source = kit_address(from, 0);
    int s = raw_connect_from(&source, &l->address);

    raw_send(s, "GET / HTTP/1.0\r\n\r\n  ", 20);
    CHECK(raw_wait_end(s));
    raw_close(s, false);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One source gets 100 lines and one more each second. Lines that are left out are counted. */
CASE(log_in_a_flood, 0)
{
    enum { FLOOD = 400, BURST = 100 };
    static struct kit_side active, passive;
    static struct kit_listener l;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    unsigned written, count;

    log_collect();
    kit_side_open(&active, NULL);
    kit_side_open(&passive, NULL);
    kit_listen(&l, passive.adapter);
    uint64_t start = now_ms();
    for (int i = 0; i < FLOOD; i++)
        send_garbage("127.0.0.2", &l);
    written = log_count(ONDK_LOG_INFO, " reason=bad-request ");
    CHECK(written >= BURST && written <= BURST + 1 + (now_ms() - start) / 1000);
    /* This side's own connects have lines of their own. */
    CHECK_STATUS(kit_connect(&active, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    CHECK_EQ(log_count(ONDK_LOG_INFO, " reason=refused "), 1);
    /* Of 20 other sources nearly all have: the groups of 32 are selected by chance. */
    for (int i = 0; i < 20; i++) {
        char from[32];

        snprintf(from, sizeof from, "127.0.1.%d", i + 1);
        send_garbage(from, &l);
    }
    count = log_count(ONDK_LOG_INFO, " foreign=127.0.1.");
    if (count < 12) /* by chance once in 10^8 runs */
        kit_fail(__FILE__, __LINE__, "lines of %u sources", count);
    CHECK_STATUS(kit_close(l.listener), STATUS_SUCCESS);
    kit_side_close(&active);
    kit_side_close(&passive); /* which reports what is left out */
    written = log_count(ONDK_LOG_INFO, " reason=bad-request ");
    for (uint32_t level = ONDK_LOG_INFO; level <= ONDK_LOG_DEBUG; level++) /* that of the line behind it */
        written += log_sum(level, "%u lines before this one were left out");
    CHECK_EQ(written, FLOOD + 20);
}
