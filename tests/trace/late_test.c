/* SPDX-License-Identifier: MIT */
/* A trace that begins while connections exist and threads use them. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "trace/attach.h"
#include "trace_reader/trace_file.h"
#include "trace_reader/value.h"

#ifndef F_GET_SEALS
#define F_GET_SEALS 1034
#define F_SEAL_SHRINK 2
#endif

enum { MAX_EXCHANGES = 1000 }; /* so few that the ring has room for their events */

static struct kit_pair p;
static atomic_int exchanged, allowed;
static atomic_bool ends;

static void *keep_exchanging(void *unused)
{
    (void)unused;
    while (!atomic_load(&ends)) {
        while (atomic_load(&exchanged) == atomic_load(&allowed) && !atomic_load(&ends))
            usleep(1000);
        kit_exchange(&p.active, &p.passive);
        atomic_fetch_add(&exchanged, 1);
    }
    return NULL;
}

static void wait_for_exchanges(int more)
{
    int begin = atomic_load(&exchanged);

    atomic_store(&allowed, begin + MAX_EXCHANGES);
    while (atomic_load(&exchanged) < begin + more)
        usleep(1000);
}

static int attach(bool *is_late)
{
    char problem[TRACE_MAX_PROBLEM];
    int fd = trace_attach(is_late, problem);

    if (fd < 0)
        kit_fail(__FILE__, __LINE__, "%s", problem);
    return fd;
}

static unsigned count(const struct trace_records *records, const char *event, uint32_t id)
{
    unsigned n = 0;

    for (size_t i = 0; i < records->count; i++)
        n += records->records[i].event && strcmp(records->records[i].event->name, event) == 0 &&
             (!id || records->records[i].id == id);
    return n;
}

static void check_descriptor(int fd)
{
    char byte = 0;

    CHECK_EQ(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    CHECK(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK);
    CHECK(ftruncate(fd, 0) != 0);
    CHECK(pwrite(fd, &byte, 1, 0) != 1);
    CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
}

/* The first event of each connection has its addresses. */
static void check_first_events(const struct trace_records *records)
{
    for (size_t i = 0; i < records->count; i++) {
        const struct trace_record *r = &records->records[i];
        bool is_first = r->id != 0;
        struct value v;

        for (size_t k = 0; k < i; k++)
            is_first = is_first && records->records[k].id != r->id;
        if (!is_first)
            continue;
        CHECK_EQ(strcmp(r->event->name, "ongoing"), 0);
        CHECK(value_find(r, "state", &v) && v.name && strcmp(v.name, "ESTABLISHED") == 0);
    }
}

static void check_events(struct trace_file *f, struct trace_records *records)
{
    CHECK(trace_file_read(f, records));
    trace_records_sort(records);
    CHECK_EQ(count(records, "ongoing", 0), 2);
    CHECK_EQ(count(records, "connection", 0), 0);
    CHECK(count(records, "untagged", 0) >= 4);
}

/* Frames are recorded in the order in which they were sent: the time of none is before the beginning. */
static void check_times(const struct trace_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        CHECK(records->records[i].time_ns >= records->records[i].file->monotonic_ns);
}

static void run_late(bool has_sink)
{
    struct trace_records records = { 0 };
    struct trace_file file;
    bool is_late = false;
    pthread_t thread;
    char error[256];
    int fd;

    unsetenv("ONDK_TRACE");
    kit_pair_open(&p);
    CHECK_EQ(trace_is_on(), has_sink);
    CHECK_EQ(pthread_create(&thread, NULL, keep_exchanging, NULL), 0);
    wait_for_exchanges(3);
    fd = attach(&is_late);
    CHECK(is_late && trace_is_on());
    check_descriptor(fd);
    wait_for_exchanges(3);
    close(attach(&is_late)); /* the same ring */
    CHECK(is_late);
    atomic_store(&ends, true);
    pthread_join(thread, NULL);
    CHECK(trace_file_open_fd(&file, fd, error, sizeof error));
    check_events(&file, &records);
    if (!has_sink) { /* with a sink, frames of a turn that had begun may come first */
        check_first_events(&records);
        check_times(&records);
    }
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
    CHECK(trace_file_read(&file, &records));
    CHECK_EQ(count(&records, "adapter_close", 0), 2);
    CHECK(count(&records, "outcome", 0) >= 2);
    trace_records_free(&records);
    trace_file_close(&file);
}

CASE(trace_begins_while_connections_are_used, 0)
{
    run_late(false);
}

static void ignore_event(uint64_t time_ns, uint16_t type, uint32_t id, const void *fields)
{
    (void)time_ns, (void)type, (void)id, (void)fields;
}

/* A sink, which prints events as they happen, has the connections already. The ring has not. */
CASE(trace_begins_beside_a_sink, 0)
{
    trace_set_sink(ignore_event);
    run_late(true);
}

static pthread_barrier_t barrier;

static void *attach_in_thread(void *unused)
{
    bool is_late;

    (void)unused;
    (void)pthread_barrier_wait(&barrier);
    close(attach(&is_late));
    return NULL;
}

/* Returns how many rings the process has open. */
static int count_rings(void)
{
    char path[64], target[256];
    int n = 0;

    for (int fd = 0; fd < 100; fd++) {
        ssize_t len;

        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        len = readlink(path, target, sizeof target - 1);
        target[len > 0 ? len : 0] = '\0';
        n += strstr(target, "memfd:openndk-trace") != NULL;
    }
    return n;
}

/* Several threads begin the trace at once, while others record: one ring exists afterwards. */
CASE(trace_begins_once, 0)
{
    pthread_t threads[4];
    struct trace_file file;
    bool is_late;
    char error[256];

    CHECK_EQ(pthread_barrier_init(&barrier, NULL, 4), 0);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, attach_in_thread, NULL), 0);
    for (int i = 0; i < 1000; i++)
        TRACE(adapter_close, 0, .object = 1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(count_rings(), 1);
    TRACE(adapter_close, 77, .object = 1);
    CHECK(trace_file_open_fd(&file, attach(&is_late), error, sizeof error));
    CHECK_EQ(file.segment_count, 4 * 16);
    struct trace_records records = { 0 };
    CHECK(trace_file_read(&file, &records));
    CHECK_EQ(count(&records, "adapter_close", 77), 1);
    trace_records_free(&records);
    trace_file_close(&file);
}

/* A ring that cannot be used is removed: here because the process has no key of thread-specific data left. */
CASE(trace_begin_fails_without_leak, 0)
{
    char problem[TRACE_MAX_PROBLEM];
    pthread_key_t key;
    bool is_late;

    while (pthread_key_create(&key, NULL) == 0)
        ;
    CHECK_EQ(trace_attach(&is_late, problem), -1);
    CHECK(strstr(problem, "memory ran out"));
    CHECK_EQ(count_rings(), 0);
    CHECK_EQ(pthread_key_delete(key), 0); /* the last one that was created */
    close(attach(&is_late));
    CHECK_EQ(count_rings(), 1);
}
