/* SPDX-License-Identifier: MIT */
/*
 * A process with open adapters forks: the child keeps no connection and no address alive, does not disturb its parent,
 * and can open adapters of its own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "contract/kit/net.h"
#include "openndk/adapter.h"

static struct kit_pair pair, own;

static void check_ends_well(pid_t child)
{
    int status = -1;

    CHECK(waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}

static bool is_name_of_ours(int fd)
{
    struct sockaddr_un name = { 0 };
    socklen_t len = sizeof name;

    return getsockname(fd, (struct sockaddr *)&name, &len) == 0 && name.sun_family == AF_UNIX &&
           len > offsetof(struct sockaddr_un, sun_path) + 8 && memcmp(name.sun_path + 1, "openndk", 7) == 0;
}

/* Returns a descriptor of one of the provider's files, or -1. Calls only async-signal-safe functions. */
static int find_descriptor_of_provider(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        char path[64], link[64] = "";
        int protocol = 0;
        socklen_t len = sizeof protocol;

        if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 && protocol == IPPROTO_TCP)
            return fd;
        if (is_name_of_ours(fd))
            return fd;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, link, sizeof link - 1) > 0 && strncmp(link, "anon_inode:[event", 17) == 0)
            return fd;
    }
    return -1;
}

CASE(fork_child_has_no_descriptors, KIT_FAMILIES)
{
    CHECK_EQ(find_descriptor_of_provider(), -1);
    kit_pair_open(&pair);
    CHECK(find_descriptor_of_provider() >= 0);
    pid_t child = fork();
    if (child == 0)
        _exit(find_descriptor_of_provider() < 0 ? 0 : 1);
    CHECK(child > 0);
    check_ends_well(child);
    kit_exchange(&pair.active, &pair.passive);
    kit_pair_close(&pair);
}

/* A consumer connects, forks, and dies. Its child lives until the pipe is closed. */
static void dying_consumer(int wire)
{
    struct sockaddr_storage from = kit_host(0), to;
    struct kit_side *s = &own.active;
    pid_t child;
    char byte;

    kit_wire_receive(wire, &to, sizeof to);
    kit_side_open(s, NULL);
    s->connector = kit_connector(s->adapter);
    CHECK_STATUS(kit_connect(s, &from, &to, NULL, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(s), STATUS_SUCCESS);
    from = kit_local_address(s->connector);
    kit_wire_send(wire, &from, sizeof from);
    child = fork();
    if (child == 0) {
        kit_wire_send(wire, "c", 1);
        while (recv(wire, &byte, 1, 0) > 0)
            ;
        _exit(0);
    }
    pause(); /* killed */
}

CASE(fork_death_of_the_parent_is_noticed, KIT_FAMILIES)
{
    struct sockaddr_storage from;
    struct kit_child consumer;
    struct kit_side *s = &pair.passive;
    static struct kit_listener again;
    int status;
    char byte;

    kit_fork(&consumer, dying_consumer, false);
    kit_side_open(s, NULL);
    kit_listen(&pair.listener, s->adapter);
    kit_wire_send(consumer.wire, &pair.listener.address, sizeof pair.listener.address);
    s->connector = kit_next_request(&pair.listener);
    CHECK_STATUS(kit_accept(s, NULL, 0), STATUS_SUCCESS);
    kit_wire_receive(consumer.wire, &from, sizeof from);
    kit_wire_receive(consumer.wire, &byte, 1); /* the child runs */
    CHECK(kill(consumer.pid, SIGKILL) == 0);
    CHECK(waitpid(consumer.pid, &status, 0) == consumer.pid && WIFSIGNALED(status));
    kit_wait_count(&s->disconnected, 1); /* the watchdog ends it */
    kit_listener_create(&again, s->adapter);
    CHECK_STATUS(kit_listen_status(&again, &from), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(again.listener), STATUS_SUCCESS);
    close(consumer.wire); /* the child ends */
    kit_close_connector(s);
    CHECK_STATUS(kit_close(pair.listener.listener), STATUS_SUCCESS);
    kit_side_close(s);
}

/* Connections of the parent stay alive beside the child, and end while it lives and after it has ended. */
CASE(fork_parent_goes_on, KIT_FAMILIES)
{
    static struct kit_pair second;
    char byte = 0;
    int hold[2];

    kit_pair_open(&pair);
    CHECK(pipe(hold) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(hold[1]);
        (void)!read(hold[0], &byte, 1);
        _exit(0);
    }
    CHECK(child > 0);
    close(hold[0]);
    kit_exchange(&pair.active, &pair.passive);
    kit_exchange(&pair.passive, &pair.active);
    kit_pair_open(&second);
    kit_pair_disconnect(&pair);
    kit_pair_close(&pair);
    close(hold[1]);
    check_ends_well(child);
    kit_exchange(&second.active, &second.passive);
    kit_pair_disconnect(&second);
    kit_pair_close(&second);
}

static void consumer_in_child(void)
{
    static struct kit_listener taken;
    NDK_ADAPTER *adapter;

    ondk_close_adapter(pair.active.adapter); /* returns at once and closes nothing */
    CHECK(!ondk_on_provider_thread());
    adapter = kit_open(2, 1);
    kit_listener_create(&taken, adapter);
    CHECK_STATUS(kit_listen_status(&taken, &pair.listener.address), STATUS_SHARING_VIOLATION);
    CHECK_STATUS(kit_close(taken.listener), STATUS_SUCCESS);
    kit_close_adapter(adapter);
    kit_pair_open(&own);
    kit_exchange(&own.active, &own.passive);
    kit_exchange(&own.passive, &own.active);
    kit_pair_disconnect(&own);
    kit_pair_close(&own);
}

CASE(fork_child_opens_anew, KIT_FAMILIES)
{
#ifdef __SANITIZE_THREAD__
    kit_skip("ThreadSanitizer starts no threads in a child of a process with threads");
#endif
    kit_pair_open(&pair);
    fflush(NULL);
    kit_wait_threads_asleep();
    pid_t child = fork();
    if (child == 0) {
        consumer_in_child();
        _exit(0);
    }
    CHECK(child > 0);
    check_ends_well(child);
    kit_exchange(&pair.active, &pair.passive);
    kit_pair_disconnect(&pair);
    kit_pair_close(&pair);
}

/* ---- forks while sockets come and go ---- */

static atomic_bool churn_is_over;

static void *churn_connections(void *arg)
{
    (void)arg;
    while (!atomic_load(&churn_is_over)) {
        kit_pair_open(&own);
        kit_pair_close(&own);
    }
    return NULL;
}

/* Opens, for a moment, descriptors with numbers that the provider had or will have. */
static void *churn_files(void *arg)
{
    (void)arg;
    while (!atomic_load(&churn_is_over))
        close(open("/dev/null", O_RDONLY | O_CLOEXEC));
    return NULL;
}

CASE(fork_during_churn, 0)
{
    enum { FORKS = 60, FILES = 16 };
    int files[FILES];
    pthread_t threads[2];

    kit_pair_open(&pair);
    CHECK(pthread_create(&threads[0], NULL, churn_connections, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, churn_files, NULL) == 0);
    for (int i = 0; i < FORKS; i++) {
        for (int k = 0; k < FILES; k++)
            CHECK((files[k] = open("/dev/zero", O_RDONLY | O_CLOEXEC)) >= 0);
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < FILES; k++) {
                char byte = 1;
                if (read(files[k], &byte, 1) != 1 || byte)
                    _exit(2);
            }
            _exit(find_descriptor_of_provider() < 0 ? 0 : 1);
        }
        CHECK(child > 0);
        check_ends_well(child);
        for (int k = 0; k < FILES; k++)
            close(files[k]);
    }
    atomic_store(&churn_is_over, true);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    kit_exchange(&pair.active, &pair.passive);
    kit_pair_close(&pair);
}

/* ---- handlers that the program installed before it opened an adapter ---- */

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t next_owner = PTHREAD_MUTEX_INITIALIZER;

/* A thread that waits for programs_lock holds next_owner, so the thread that unlocks does not lock again before it. */
static void lock_program(void)
{
    pthread_mutex_lock(&next_owner);
    pthread_mutex_lock(&programs_lock);
    pthread_mutex_unlock(&next_owner);
}

static void unlock_program(void)
{
    pthread_mutex_unlock(&programs_lock);
}

/* Opens and closes connections with the lock held. */
static void *connect_locked(void *arg)
{
    (void)arg;
    while (!atomic_load(&churn_is_over)) {
        lock_program();
        kit_pair_open(&own);
        kit_pair_close(&own);
        unlock_program();
    }
    return NULL;
}

/* Its fork handler waits for a thread that connects. The fork must not block that thread. */
CASE(fork_with_handlers_of_the_program, 0)
{
    pthread_t thread;

    CHECK(pthread_atfork(lock_program, unlock_program, unlock_program) == 0);
    CHECK(pthread_create(&thread, NULL, connect_locked, NULL) == 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        CHECK(child > 0);
        check_ends_well(child);
    }
    atomic_store(&churn_is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
}
