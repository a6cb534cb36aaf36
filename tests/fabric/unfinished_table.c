/* SPDX-License-Identifier: MIT */
/* The table of unfinished connections: which connection makes room, its memory, and its use by several threads. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "fabric/iwarp/conn.h"
#include "fabric/world.h"

/* ---- memory of the table: the linker puts these in front of the real ones ---- */

static _Thread_local bool counting, out_of_memory;
static _Thread_local long living; /* allocated and not freed while counting */

void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t size)
{
    void *memory = out_of_memory ? NULL : __real_malloc(size);

    if (counting && memory)
        living++;
    return memory;
}

void __wrap_free(void *memory)
{
    if (counting && memory)
        living--;
    __real_free(memory);
}

/* ---- one thread ---- */

enum { CONNS = 256 };

static struct fabric_conn *conns;

static void pops_nothing(void)
{
    CHECK(unfinished_pop_victim(0) == NULL);
}

static void begin(void)
{
    conns = calloc(CONNS, sizeof *conns);
    CHECK(conns);
    for (int i = 0; i < CONNS; i++)
        atomic_init(&conns[i].refs, 1);
    pops_nothing();
}

static void end(void)
{
    pops_nothing();
    free(conns);
}

static void insert(int i, const char *from)
{
    conns[i].remote = world_address(from);
    CHECK(unfinished_insert(&conns[i]));
}

/* Checks that the next victim is conns[i], and that it has left the table, with an additional reference. */
static void pops(int i)
{
    CHECK(unfinished_pop_victim(0) == &conns[i]);
    CHECK(atomic_load(&conns[i].refs) == 2);
    CHECK(conns[i].unfinished.source == NULL);
    atomic_store(&conns[i].refs, 1);
}

/* covers: LSN-08 */
static void oldest_of_the_most(void)
{
    begin();
    insert(0, "10.0.0.1"); /* the oldest of all, and alone */
    insert(1, "10.0.0.2");
    insert(2, "10.0.0.3");
    insert(3, "10.0.0.2");
    insert(4, "10.0.0.3");
    insert(5, "10.0.0.3");
    CHECK(!unfinished_pop_victim(6));
    CHECK(unfinished_pop_victim(5) == &conns[2]);
    atomic_store(&conns[2].refs, 1);
    pops(1); /* .2 and .3 have two each: the older connection */
    pops(4);
    pops(0); /* one each: the older connection */
    pops(3);
    insert(6, "10.0.0.1");
    unfinished_remove(&conns[6]);
    unfinished_remove(&conns[6]); /* no effect */
    pops(5);
    pops_nothing();
    end();
}

/* covers: LSN-08 */
static void sources(void)
{
    begin();
    insert(0, "2001:db8:0:1::1"); /* one /64 */
    insert(1, "2001:db8:0:2::1");
    insert(2, "2001:db8:0:1:ffff::2");
    pops(0);
    pops(1);
    pops(2);
    insert(3, "::ffff:10.0.0.1"); /* a mapped address is the IPv4 address */
    insert(4, "::ffff:10.0.0.2");
    insert(5, "10.0.0.2");
    pops(4);
    pops(3);
    pops(5);
    insert(6, "0.0.0.1"); /* an IPv4 address is not an IPv6 prefix of the same bits */
    insert(7, "::1");
    insert(8, "0:0:0:1::");
    insert(9, "::2");
    pops(7);
    pops(6);
    pops(8);
    pops(9);
    insert(10, "fe80::1"); /* the same address on two links */
    insert(11, "fe80::1");
    unfinished_remove(&conns[10]);
    conns[10].remote.v6.sin6_scope_id = 1;
    CHECK(unfinished_insert(&conns[10]));
    insert(12, "fe80::2");
    pops(11);
    pops(10);
    pops(12);
    end();
}

/* The connection that must be dropped, computed without trees. */
static int expected_victim(const int *source, const uint64_t *order)
{
    int best = -1, best_count = 0;

    for (int i = 0; i < CONNS; i++) {
        int count = 0;

        for (int j = 0; j < CONNS; j++)
            count += source[i] >= 0 && source[j] == source[i];
        if (count > best_count || (count && count == best_count && order[i] < order[best])) {
            best = i;
            best_count = count;
        }
    }
    return best;
}

/* The record of a source lives as long as its connections: never more records than connections. covers: LSN-08 */
static void random_order(void)
{
    int source[CONNS], count = 0, victim;
    uint64_t order[CONNS] = { 0 }, seed = 1;
    char text[32];

    begin();
    memset(source, -1, sizeof source);
    counting = true;
    for (unsigned step = 0; step < 3000; step++) {
        uint64_t r = random_next(&seed);
        int i = (int)(r % CONNS);

        if (source[i] < 0) {
            source[i] = (int)((r >> 20) % 40);
            order[i] = step;
            snprintf(text, sizeof text, "10.0.%d.1", source[i]);
            insert(i, text);
            count++;
        } else if (r >> 40 & 1) {
            unfinished_remove(&conns[i]);
            source[i] = -1;
            count--;
        } else {
            victim = expected_victim(source, order);
            pops(victim);
            source[victim] = -1;
            count--;
        }
        CHECK(!unfinished_pop_victim((unsigned)count) && living <= count);
    }
    for (; count > 0; count--) {
        victim = expected_victim(source, order);
        pops(victim);
        source[victim] = -1;
    }
    CHECK(living == 0);
    counting = false;
    end();
}

static void no_memory(void)
{
    begin();
    conns[0].remote = world_address("10.0.0.1");
    out_of_memory = true;
    CHECK(!unfinished_insert(&conns[0]));
    out_of_memory = false;
    CHECK(!conns[0].unfinished.source);
    end();
}

/* A child's table is empty, and operations on a connection of the parent have no effect. */
static void forked(void)
{
    int status;
    pid_t pid;

    begin();
    unfinished_watch_forks();
    insert(0, "10.0.0.1");
    pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        pops_nothing();
        unfinished_remove(&conns[0]);
        insert(1, "10.0.0.1");
        pops(1);
        pops_nothing();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    pops(0);
    end();
}

enum { THREADS = 4, ROUNDS = 5000, EACH = CONNS / THREADS };

/* Inserts and removes its own connections, and pops any thread's. */
static void *work(void *arg)
{
    struct fabric_conn *mine = arg, *victim;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct fabric_conn *c = &mine[round % EACH];

        unfinished_remove(c);
        CHECK(unfinished_insert(c));
        if (round % 3 == 0 && (victim = unfinished_pop_victim(EACH)))
            atomic_fetch_sub(&victim->refs, 1);
    }
    for (int i = 0; i < EACH; i++)
        unfinished_remove(&mine[i]);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];

    begin();
    for (int i = 0; i < CONNS; i++)
        conns[i].remote = world_address(i % 2 ? "10.0.0.1" : "10.0.0.2");
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, work, conns + i * EACH) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    end();
}

int main(int argc, char **argv)
{
    static const struct test tests[] = {
        { "oldest_of_the_most", oldest_of_the_most },
        { "sources", sources },
        { "random_order", random_order },
        { "no_memory", no_memory },
        { "forked", forked },
        { "threads", threads },
    };

    return run_tests(tests, sizeof tests / sizeof tests[0], argc, argv);
}
