/* SPDX-License-Identifier: MIT */
/*
 * The program that log_files_test.py runs with ONDK_LOG in its environment, with one case in each run. A case causes
 * lines of the log. The case does not check them, so it passes even if they cannot be written.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "contract/kit/kit.h"

enum { CONNECTS = 5, MANY = 95, OWN_FILES = 20, THREADS = 4, OF_THREAD = 100 };

/* Standard error of the program, or -1 if it was closed. A case has another one, from which the runner reads. */
static int program_stderr;

__attribute__((constructor)) static void save_stderr(void)
{
    program_stderr = fcntl(STDERR_FILENO, F_DUPFD, 100);
}

static void restore_stderr(void)
{
    if (program_stderr < 0) {
        close(STDERR_FILENO);
        return;
    }
    CHECK_EQ(dup2(program_stderr, STDERR_FILENO), STDERR_FILENO);
    close(program_stderr);
}

static void fail_to_connect(struct kit_side *s, const char *to, uint16_t port)
{
    struct sockaddr_storage source = kit_host(0), nobody = kit_address(to, port);

    CHECK_STATUS(kit_connect(s, &source, &nobody, NULL, 0), STATUS_CONNECTION_REFUSED);
}

static void fail_once(uint16_t port)
{
    static struct kit_side s;

    kit_side_open(&s, NULL);
    fail_to_connect(&s, "127.0.0.1", port);
    kit_side_close(&s);
}

CASE(connects, 0)
{
    static struct kit_side s;

    restore_stderr();
    kit_side_open(&s, NULL);
    for (uint16_t port = 1; port <= CONNECTS; port++)
        fail_to_connect(&s, "127.0.0.1", port);
    kit_side_close(&s);
}

/* More lines than a terminal that nobody reads takes. */
CASE(many, 0)
{
    static struct kit_side s;

    restore_stderr();
    kit_side_open(&s, NULL);
    for (uint16_t port = 1; port <= MANY; port++)
        fail_to_connect(&s, "127.0.0.1", port);
    kit_side_close(&s);
}

/* A daemon closes all descriptors, and a file of its own gets the log's number. */
CASE(closes_descriptors, 0)
{
    const char *own = getenv("LOG_TEST_OWN_FILE");

    fail_once(1);
    CHECK_EQ(close_range(3, ~0U, 0), 0);
    CHECK_EQ(chdir("/"), 0);
    for (int i = 0; i < OWN_FILES; i++)
        CHECK(open(own, O_WRONLY | O_APPEND | O_CREAT, 0600) > STDERR_FILENO);
    fail_once(2);
    fail_once(3);
}

/* Parent, child and parent again have a line each. */
CASE(forks, 0)
{
    int status;

    fail_once(1);
    pid_t child = fork();
    if (child == 0) {
        fail_once(2);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    fail_once(3);
}

static void *fail_in_thread(void *number)
{
    struct kit_side *s = calloc(1, sizeof *s);
    char to[32];

    kit_side_open(s, NULL);
    for (int i = 0; i < OF_THREAD; i++) {
        snprintf(to, sizeof to, "127.1.%d.%d", (int)(intptr_t)number, i + 1);
        fail_to_connect(s, to, 1);
    }
    kit_side_close(s);
    free(s);
    return NULL;
}

CASE(threads, 0)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, fail_in_thread, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}
