/* SPDX-License-Identifier: MIT */
#include "observe/outcome.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "openndk/adapter.h"
#include "openndk/log.h"

enum { MAX_LINES = 4096, WAIT_MS = 200000 };

/* ---- the log ---- */

static struct {
    pthread_mutex_t lock;
    bool collects;
    unsigned count;
    uint32_t levels[MAX_LINES];
    char *lines[MAX_LINES];
} collected = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void on_line(void *context, uint32_t level, const char *text)
{
    (void)context;
    pthread_mutex_lock(&collected.lock);
    if (collected.count < MAX_LINES) {
        collected.levels[collected.count] = level;
        collected.lines[collected.count++] = strdup(text);
    }
    pthread_mutex_unlock(&collected.lock);
}

void log_collect(void)
{
    collected.collects = true;
    CHECK_EQ(ondk_log_set(ONDK_LOG_DEBUG, on_line, NULL), 0);
}

unsigned log_count(uint32_t level, const char *part)
{
    unsigned count = 0;

    pthread_mutex_lock(&collected.lock);
    for (unsigned i = 0; i < collected.count; i++)
        count += collected.levels[i] == level && strstr(collected.lines[i], part);
    pthread_mutex_unlock(&collected.lock);
    return count;
}

unsigned log_sum(uint32_t level, const char *format)
{
    unsigned sum = 0, number;

    pthread_mutex_lock(&collected.lock);
    for (unsigned i = 0; i < collected.count; i++) {
        if (collected.levels[i] == level && sscanf(collected.lines[i], format, &number) == 1)
            sum += number;
    }
    pthread_mutex_unlock(&collected.lock);
    return sum;
}

static void print_lines(void)
{
    pthread_mutex_lock(&collected.lock);
    for (unsigned i = 0; i < collected.count; i++)
        printf("  %u %s\n", (unsigned)collected.levels[i], collected.lines[i]);
    pthread_mutex_unlock(&collected.lock);
}

void log_wait(uint32_t level, const char *part, unsigned count)
{
    for (int i = 0; i < WAIT_MS && log_count(level, part) < count; i++)
        usleep(1000);
    if (log_count(level, part) == count)
        return;
    print_lines();
    kit_fail(__FILE__, __LINE__, "expected %u lines with: %s", count, part);
}

/* ---- one failure ---- */

void outcome_set_limit(size_t field, uint32_t value)
{
    ondk_config_t config;

    ondk_config_init(&config);
    memcpy((char *)&config + field, &value, sizeof value);
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
}

struct sockaddr_storage outcome_socket_address(int s)
{
    struct sockaddr_storage address = { 0 };
    socklen_t len = sizeof address;

    CHECK_EQ(getsockname(s, (struct sockaddr *)&address, &len), 0);
    return address;
}

static bool address_is(const struct sockaddr_storage *seen, const struct sockaddr_storage *wanted)
{
    struct sockaddr_storage a = *seen;

    if (!wanted)
        return true;
    if (!kit_port(wanted))
        ((struct sockaddr_in *)&a)->sin_port = 0;
    return kit_address_equal(&a, wanted);
}

static bool failure_is(const ondk_failure_t *f, const struct outcome *e)
{
    return f->initiated == (e->role & INITIATED) && f->refused == !!(e->role & REFUSED) &&
           !strcmp(f->phase, e->phase) && f->status == e->status && f->reason == e->reason &&
           f->count == (e->count ? e->count : 1) && address_is(&f->local, e->local) &&
           address_is(&f->foreign, e->foreign);
}

static void print_failures(const ondk_failure_t *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        printf("  %s %s%s 0x%08x %s, %u -> %u, %llu times\n", all[i].initiated ? "initiated" : "accepted", all[i].phase,
               all[i].refused ? " refused" : "", (unsigned)all[i].status, ondk_reason_name(all[i].reason),
               kit_port(&all[i].local), kit_port(&all[i].foreign), (unsigned long long)all[i].count);
}

static void put_address(const struct sockaddr_storage *a, char text[80])
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)a;
    char host[INET6_ADDRSTRLEN];

    if (!a->ss_family) {
        snprintf(text, 80, "unknown");
    } else if (a->ss_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)a)->sin_addr, host, sizeof host);
        snprintf(text, 80, "%s:%u", host, kit_port(a));
    } else {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(text, 80, "[%s]:%u", host, kit_port(a));
    }
}

/* The log has this failure's line, `count` times if only the ports of its peers differ. */
static void check_line(const ondk_failure_t *f)
{
    char local[80], foreign[80], line[512];

    put_address(&f->local, local);
    put_address(&f->foreign, foreign);
    snprintf(line, sizeof line, "connection %s: local=%s foreign=%s role=%s phase=%s status=%s reason=%s (0x%08x): %s",
             f->refused ? "refused" : "failed", local, foreign, f->initiated ? "initiated" : "accepted", f->phase,
             ondk_status_name(f->status), ondk_reason_name(f->reason), (unsigned)f->reason,
             ondk_reason_text(f->reason));
    log_wait(ONDK_LOG_INFO, line, 1);
}

ondk_failure_t outcome_wait(const struct kit_side *s, const struct outcome *e, uint32_t total)
{
    ondk_failure_t all[OUTCOME_ROOM];
    uint32_t count = 0;

    for (int i = 0; i < WAIT_MS; i++) {
        count = ondk_adapter_failures(s->adapter, all, OUTCOME_ROOM);
        if (count == total && failure_is(&all[0], e))
            break;
        usleep(1000);
    }
    if (count != total || !failure_is(&all[0], e)) {
        print_failures(all, count);
        kit_fail(__FILE__, __LINE__, "expected %u entries, the newest: %s %s%s 0x%08x %s", total,
                 e->role & INITIATED ? "initiated" : "accepted", e->phase, e->role & REFUSED ? " refused" : "",
                 (unsigned)e->status, ondk_reason_name(e->reason));
    }
    CHECK_EQ(all[0].owner_pid, getpid());
    CHECK(all[0].first_time_ns <= all[0].last_time_ns);
    if (collected.collects)
        check_line(&all[0]);
    return all[0];
}
