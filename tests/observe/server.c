/* SPDX-License-Identifier: MIT */
/*
 * The thread that answers ndkstat: its lifetime, its readers, readers that must not block it, and what remains after
 * it.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "openndk/adapter.h"
#include "openndk/config.h"

static socklen_t name_of(pid_t pid, struct sockaddr_un *name)
{
    *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
    int n = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "openndk.stat.%d", (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Connects to the process's published name. Returns -1 if there is no listener. */
static int reader_of(pid_t pid)
{
    struct sockaddr_un name;
    socklen_t len = name_of(pid, &name);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(s >= 0);
    if (connect(s, (struct sockaddr *)&name, len) == 0)
        return s;
    CHECK_EQ(errno, ECONNREFUSED);
    close(s);
    return -1;
}

/* Finds the name with a random suffix that a process uses if its own name is in use. Returns false if there is none. */
static bool other_name_of(pid_t pid, struct sockaddr_un *name, socklen_t *len)
{
    FILE *f = fopen("/proc/net/unix", "re");
    char line[256], prefix[64];
    bool found = false;

    CHECK(f != NULL);
    snprintf(prefix, sizeof prefix, "@openndk.stat.%d.", (int)pid);
    while (!found && fgets(line, sizeof line, f)) {
        const char *at = strstr(line, prefix);
        if (!at)
            continue;
        *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
        size_t n = strcspn(at + 1, "\n");
        CHECK(n < sizeof name->sun_path - 1);
        memcpy(name->sun_path + 1, at + 1, n);
        *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
        found = true;
    }
    fclose(f);
    return found;
}

/* Connects to that other name. Returns -1 if there is none. */
static int reader_of_other_name(pid_t pid)
{
    struct sockaddr_un name;
    socklen_t len;
    int s;

    if (!other_name_of(pid, &name, &len))
        return -1;
    s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(s >= 0 && connect(s, (struct sockaddr *)&name, len) == 0);
    return s;
}

/* Reads to the end of the stream. The caller frees the result. */
static char *read_all(int s, size_t *size)
{
    size_t room = 1 << 16;
    char *text = malloc(room + 1);
    ssize_t n;

    CHECK(text != NULL);
    *size = 0;
    while ((n = read(s, text + *size, room - *size)) > 0) {
        *size += (size_t)n;
        if (*size == room)
            text = realloc(text, (room *= 2) + 1);
        CHECK(text != NULL);
    }
    CHECK(n == 0 || errno == ECONNRESET);
    text[*size] = 0;
    close(s);
    return text;
}

static char *published(size_t *size)
{
    int s = reader_of(getpid());

    CHECK(s >= 0);
    return read_all(s, size);
}

static int entries(const char *directory)
{
    DIR *d = opendir(directory);
    int count = 0;

    CHECK(d != NULL);
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

static void check_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        kit_fail(__FILE__, __LINE__, "expected %s in %s", part, text);
}

/* The server exists from the first adapter to the last one. Then its thread and descriptors are gone. */
CASE(server_lives_as_long_as_adapters_do, 0)
{
    int descriptors = entries("/proc/self/fd"), threads;
    size_t size;
    char expected[64];

    ondk_close_adapter(kit_open(2, 1)); /* a sanitizer starts a thread of its own with the first thread */
    threads = entries("/proc/self/task");
    CHECK_EQ(reader_of(getpid()), -1);
    for (int round = 0; round < 3; round++) {
        NDK_ADAPTER *first = kit_open(2, 1), *second = kit_open(1, 2);
        char *text = published(&size);
        snprintf(expected, sizeof expected, "{\"format\":1,\"pid\":%d,", (int)getpid());
        check_contains(text, expected);
        check_contains(text, "\"ndk_version\":\"2.1\"");
        check_contains(text, "\"ndk_version\":\"1.2\"");
        free(text);
        ondk_close_adapter(first);
        text = published(&size);
        CHECK(!strstr(text, "\"ndk_version\":\"2.1\""));
        check_contains(text, "\"ndk_version\":\"1.2\"");
        free(text);
        ondk_close_adapter(second);
        CHECK_EQ(reader_of(getpid()), -1);
        CHECK_EQ(entries("/proc/self/fd"), descriptors);
        while (entries("/proc/self/task") > threads) /* the thread was joined, but may still be listed */
            ;
    }
}

CASE(server_lists_failures, KIT_FAMILIES)
{
    static struct kit_side s;
    struct sockaddr_storage source = kit_host(0), nobody = kit_free_address();
    char expected[256];
    size_t size;

    kit_side_open(&s, NULL);
    char *text = published(&size);
    check_contains(text, "],\"failures\":[]}\n");
    free(text);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(kit_connect(&s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
    text = published(&size);
    check_contains(text, "],\"failures\":[{\"role\":\"initiated\",\"refused\":false,\"if_index\":");
    snprintf(expected, sizeof expected, "\"foreign\":\"%s:%u\",\"status\":3221226038,",
             kit_family() == AF_INET ? "127.0.0.1" : "[::1]", kit_port(&nobody));
    check_contains(text, expected);
    check_contains(text, "\"status_name\":\"STATUS_CONNECTION_REFUSED\",\"reason\":2162688,\"reason_name\":\"refused\","
                         "\"first_time_ns\":");
    check_contains(text, ",\"count\":2,");
    free(text);
    kit_side_close(&s);
}

CASE(server_not_wanted, 0)
{
    ondk_config_t config;

    ondk_config_init(&config);
    config.stat = 0;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    NDK_ADAPTER *quiet = kit_open(2, 1);
    CHECK_EQ(reader_of(getpid()), -1);
    CHECK_STATUS(ondk_configure(NULL), STATUS_SUCCESS);
    NDK_ADAPTER *seen = kit_open(1, 2);
    size_t size;
    char *text = published(&size);
    CHECK(!strstr(text, "\"ndk_version\":\"2.1\""));
    check_contains(text, "\"ndk_version\":\"1.2\"");
    free(text);
    ondk_close_adapter(seen);
    CHECK_EQ(reader_of(getpid()), -1);
    ondk_close_adapter(quiet);
}

static char *published_elsewhere(size_t *size)
{
    int s = reader_of_other_name(getpid());

    CHECK(s >= 0);
    return read_all(s, size);
}

/* If the name is in use, the adapters are published under another one, which disappears afterwards. */
CASE(server_without_its_name, 0)
{
    struct sockaddr_un name;
    socklen_t len = name_of(getpid(), &name);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(bind(s, (struct sockaddr *)&name, len) == 0);
    ondk_close_adapter(kit_open(2, 1));
    CHECK_EQ(reader_of_other_name(getpid()), -1);
    NDK_ADAPTER *first = kit_open(2, 1);
    CHECK_EQ(reader_of(getpid()), -1);
    NDK_ADAPTER *second = kit_open(2, 1);
    size_t size;
    char *text = published_elsewhere(&size);
    check_contains(text, "\"adapter\":2,");
    check_contains(text, "\"adapter\":3,");
    free(text);
    ondk_close_adapter(second);
    ondk_close_adapter(first);
    CHECK_EQ(reader_of_other_name(getpid()), -1);
    close(s);
    first = kit_open(2, 1);
    free(published(&size));
    CHECK(size > 0);
    ondk_close_adapter(first);
}

static bool opens_with(uint32_t if_index, rlim_t descriptors, uint32_t stat)
{
    struct rlimit limit = { .rlim_cur = descriptors, .rlim_max = 1024 };
    ondk_config_t config;
    NDK_ADAPTER *adapter = NULL;

    ondk_config_init(&config);
    config.stat = stat;
    CHECK_STATUS(ondk_configure(&config), STATUS_SUCCESS);
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    NTSTATUS status = ondk_open_adapter((NDK_VERSION){ 2, 1 }, if_index, &adapter);
    if (status == STATUS_SUCCESS)
        ondk_close_adapter(adapter);
    return status == STATUS_SUCCESS;
}

/* The server uses no descriptor that the adapter needs. */
CASE(server_without_descriptors, 0)
{
    uint32_t lo = kit_loopback();
    rlim_t needed = 3;

    while (needed < 512 && !opens_with(lo, needed, 0))
        needed++;
    CHECK(needed < 512);
    for (rlim_t more = 0; more < 4; more++)
        CHECK(opens_with(lo, needed + more, 1));
}

static struct {
    int pipes[2];
} waiting_child;

static void child_wait(void)
{
    char byte;

    close(waiting_child.pipes[1]);
    (void)!read(waiting_child.pipes[0], &byte, 1);
}

/* early: the child was created without the fork handlers, like one that posix_spawn creates. */
static pid_t fork_waiting_child(bool early)
{
    int running[2];
    char byte = 0;

    CHECK(pipe(waiting_child.pipes) == 0 && pipe(running) == 0);
    fflush(NULL);
    pid_t child = early ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
    if (child == 0) {
        if (write(running[1], &byte, 1) == 1)
            child_wait();
        _exit(0);
    }
    CHECK(child > 0 && read(running[0], &byte, 1) == 1);
    close(running[0]);
    close(running[1]);
    close(waiting_child.pipes[0]);
    return child;
}

static void check_child_ends(pid_t child)
{
    int status;

    close(waiting_child.pipes[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* A surviving child does not keep its parent's name, which would have no listener. */
CASE(server_after_fork, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pid_t child = fork_waiting_child(false);
    size_t size;

    free(published(&size));
    CHECK(size > 0);
    ondk_close_adapter(adapter);
    CHECK_EQ(reader_of(getpid()), -1);
    adapter = kit_open(2, 1);
    free(published(&size));
    CHECK(size > 0);
    ondk_close_adapter(adapter);
    check_child_ends(child);
}

/* A child that was created without the fork handlers keeps the name, so its parent publishes under another one. */
CASE(server_before_the_child_runs, 0)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pid_t child = fork_waiting_child(true);
    size_t size;

    ondk_close_adapter(adapter);
    adapter = kit_open(2, 1);
    CHECK_EQ(reader_of(getpid()), -1);
    free(published_elsewhere(&size));
    CHECK(size > 0);
    check_child_ends(child);
    ondk_close_adapter(adapter);
}

/* For a text that exceeds any socket buffer. */
enum { LISTENERS = 12000 };
static struct kit_listener one;
static NDK_LISTENER *listeners[LISTENERS];

static NDK_ADAPTER *open_with_long_text(void)
{
    NDK_ADAPTER *adapter = kit_open(2, 1);

    for (int i = 0; i < LISTENERS; i++) {
        kit_listener_create(&one, adapter);
        listeners[i] = one.listener;
    }
    return adapter;
}

static void close_all(NDK_ADAPTER *adapter)
{
    for (int i = 0; i < LISTENERS; i++)
        CHECK_STATUS(kit_close(listeners[i]), STATUS_SUCCESS);
    ondk_close_adapter(adapter);
}

/* Readers that read nothing do not delay others, are disconnected after a time, and do not delay the close. */
CASE(server_with_readers_that_do_not_read, 0)
{
    enum { LAZY = 7 };
    NDK_ADAPTER *adapter = open_with_long_text();
    int descriptors = entries("/proc/self/fd");
    struct pollfd ended;
    int lazy[LAZY];
    size_t size, cut;

    for (int i = 0; i < LAZY; i++)
        lazy[i] = reader_of(getpid());
    char *text = published(&size);
    CHECK(size > 300000 && text[size - 1] == '\n');
    check_contains(text, "\"listener_count\":12000,");
    free(text);
    for (int i = 0; i < LAZY; i++) {
        ended = (struct pollfd){ .fd = lazy[i] };
        CHECK(poll(&ended, 1, -1) == 1 && (ended.revents & POLLHUP)); /* the server disconnects it */
        free(read_all(lazy[i], &cut));                                /* the part that fitted */
        CHECK(cut > 0 && cut < size);
    }
    lazy[0] = reader_of(getpid());
    CHECK(recv(lazy[0], &(char){ 0 }, 1, MSG_PEEK) == 1); /* the server serves it */
    close_all(adapter);
    close(lazy[0]);
    CHECK(entries("/proc/self/fd") < descriptors);
}

/* Readers that disconnect in the middle. */
CASE(server_with_readers_that_leave, 0)
{
    NDK_ADAPTER *adapter = open_with_long_text();
    int descriptors = entries("/proc/self/fd");
    size_t size;

    for (int i = 0; i < 40; i++) {
        int s = reader_of(getpid());
        CHECK(s >= 0);
        if (i % 2)
            CHECK(recv(s, &(char){ 0 }, 1, 0) == 1);
        close(s);
    }
    free(published(&size));
    CHECK(size > 300000);
    while (entries("/proc/self/fd") > descriptors) /* the server may still close the last one */
        ;
    close_all(adapter);
}

CASE(server_for_its_user_alone, 0)
{
    enum { NOBODY = 65534 };
    int status;

    if (geteuid() != 0)
        kit_skip("only root can become somebody else");
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pid_t parent = getpid();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        size_t size = 0;
        if (setgid(NOBODY) || setuid(NOBODY))
            _exit(77);
        free(read_all(reader_of(parent), &size));
        _exit(size == 0 ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        kit_skip("this machine lets nobody become another user");
    CHECK_EQ(status, 0);
    ondk_close_adapter(adapter);
}

/* Another user who connects all the time is always refused, and does not exclude others. */
CASE(server_with_a_stranger_that_connects_in_a_loop, 0)
{
    enum { NOBODY = 65534, READS = 20 };
    size_t size;
    int status;

    if (geteuid() != 0)
        kit_skip("only root can become somebody else");
    NDK_ADAPTER *adapter = kit_open(2, 1);
    pid_t parent = getpid();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int s;
        if (setgid(NOBODY) || setuid(NOBODY))
            _exit(77);
        while ((s = reader_of(parent)) >= 0)
            close(s); /* until the parent kills it */
        _exit(1);
    }
    CHECK(child > 0);
    for (int i = 0; i < READS; i++) {
        free(published(&size));
        CHECK(size > 0);
    }
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        kit_skip("this machine lets nobody become another user");
    CHECK(WIFSIGNALED(status));
    ondk_close_adapter(adapter);
    CHECK_EQ(reader_of(getpid()), -1);
}

/* Readers connect all the time while adapters are opened and closed. */
static atomic_bool over;

static void *read_and_read(void *arg)
{
    size_t size;
    int s;

    (void)arg;
    while (!atomic_load(&over)) {
        s = reader_of(getpid());
        if (s >= 0)
            free(read_all(s, &size));
    }
    return NULL;
}

static void *open_and_close(void *arg)
{
    (void)arg;
    for (int i = 0; i < 60; i++) {
        NDK_ADAPTER *adapter = kit_open(2, 1);
        struct sockaddr_storage any = kit_host(0);
        NDK_SHARED_ENDPOINT *e;
        CHECK_STATUS(kit_shared_endpoint(adapter, &any, &e), STATUS_SUCCESS);
        CHECK_STATUS(kit_close(e), STATUS_SUCCESS);
        ondk_close_adapter(adapter);
    }
    return NULL;
}

CASE(server_during_churn, 0)
{
    pthread_t reader, openers[2];

    CHECK(pthread_create(&reader, NULL, read_and_read, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&openers[i], NULL, open_and_close, NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(openers[i], NULL) == 0);
    atomic_store(&over, true);
    CHECK(pthread_join(reader, NULL) == 0);
    CHECK_EQ(reader_of(getpid()), -1);
}
