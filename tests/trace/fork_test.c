/* SPDX-License-Identifier: MIT */
/*
 * Another thread forks while the library looks up an interface's name for an event: the child must not inherit the
 * socket of the lookup. The test replaces if_indextoname, so that a fork begins in the middle of it.
 */
#include <net/if.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"
#include "openndk/adapter.h"
#include "openndk/trace.h"
#include "trace/trace.h"

enum { FORK_WAIT_MS = 200 };

static sem_t may_fork;
static atomic_bool waits_for_fork, is_inside, has_forked;

/* Lets the other thread begin to fork, and gives it some time to finish, which it must not. */
char *if_indextoname(unsigned index, char name[IF_NAMESIZE])
{
    (void)index;
    snprintf(name, IF_NAMESIZE, "test0");
    if (!atomic_exchange(&waits_for_fork, false))
        return name;
    atomic_store(&is_inside, true);
    CHECK_EQ(sem_post(&may_fork), 0);
    for (int ms = 0; ms < FORK_WAIT_MS && !atomic_load(&has_forked); ms++)
        usleep(1000);
    atomic_store(&is_inside, false);
    return name;
}

/* The child's memory is a copy of that moment. */
static void *fork_once(void *unused)
{
    int status = -1;
    pid_t child;

    (void)unused;
    while (sem_wait(&may_fork) != 0)
        ;
    child = fork();
    if (child == 0)
        _Exit(atomic_load(&is_inside) ? 1 : 0);
    atomic_store(&has_forked, true);
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    return NULL;
}

/* Runs the function, which looks up a name, while another thread forks. */
static void check_fork_during(void (*run)(void))
{
    pthread_t thread;

    CHECK_EQ(sem_init(&may_fork, 0, 0), 0);
    atomic_store(&has_forked, false);
    atomic_store(&waits_for_fork, true);
    CHECK_EQ(pthread_create(&thread, NULL, fork_once, NULL), 0);
    run();
    CHECK(!atomic_load(&waits_for_fork)); /* the name was looked up */
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static NDK_ADAPTER *adapter;

static void open_adapter(void)
{
    const NDK_VERSION version = { 2, 1 };

    CHECK_EQ(ondk_open_adapter(version, if_nametoindex("lo"), &adapter), STATUS_SUCCESS);
}

static void begin_calls(void)
{
    CHECK_EQ(ondk_trace_begin(adapter, 1), 1);
}

/* Reads what the process answers to a connection, until it ends. */
static void ask(const char *prefix)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s.%ld", prefix, (long)getpid());
    char answer[4096];

    CHECK(s >= 0);
    CHECK_EQ(
        connect(s, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)), 0);
    while (read(s, answer, sizeof answer) > 0)
        ;
    close(s);
}

static void ask_for_state(void)
{
    ask("openndk.stat");
}

static void ask_for_trace(void)
{
    ask("openndk.trace");
}

CASE(fork_during_the_lookup_of_an_adapter, 0)
{
    setenv("ONDK_TRACE", "ring", 1);
    check_fork_during(open_adapter);
    check_fork_during(begin_calls);
    ondk_trace_end(adapter);
    ondk_close_adapter(adapter);
}

/* The server's thread looks up names with a lock that fork acquires, too. */
CASE(fork_during_the_lookup_for_a_reader, 0)
{
    unsetenv("ONDK_TRACE");
    open_adapter();
    check_fork_during(ask_for_state);
    CHECK(!trace_is_on());
    check_fork_during(ask_for_trace);
    CHECK(trace_is_on());
    ondk_close_adapter(adapter);
}
