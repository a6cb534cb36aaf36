/* SPDX-License-Identifier: MIT */
/* Abstract: connections come to be and carry messages, in every form of start-up. */
#include <stdio.h>
#include <string.h>

#include "fabric/world.h"
#include "wire/mpa.h"

/* A message each way, a write and a read. */
static void talk(struct world *w)
{
    memset(w->sa.memory, 0x5a, 1000);
    post(&w->sb, FABRIC_RECEIVE, 0, &w->sb, 4096, 2000, NULL, 0);
    post(&w->sa, FABRIC_SEND, 0, w, 0, 1000, NULL, 0);
    take_ok(&w->sa, FABRIC_SEND, w, 1000);
    take_ok(&w->sb, FABRIC_RECEIVE, &w->sb, 1000);
    CHECK(memcmp(w->sb.memory + 4096, w->sa.memory, 1000) == 0);
    CHECK(w->sb.memory[4096 + 1000] == 0);

    post(&w->sa, FABRIC_RECEIVE, 0, &w->sa, 4096, 2000, NULL, 0);
    post(&w->sb, FABRIC_WRITE, 0, w, 4096, 1000, &w->sa, 8192);
    post(&w->sb, FABRIC_SEND, 0, w, 0, 0, NULL, 0);
    take_ok(&w->sb, FABRIC_WRITE, w, 0);
    take_ok(&w->sb, FABRIC_SEND, w, 0);
    take_ok(&w->sa, FABRIC_RECEIVE, &w->sa, 0);
    CHECK(memcmp(w->sa.memory + 8192, w->sa.memory, 1000) == 0);

    post(&w->sa, FABRIC_READ, 0, w, 16384, 1000, &w->sb, 4096);
    take_ok(&w->sa, FABRIC_READ, w, 0);
    CHECK(memcmp(w->sa.memory + 16384, w->sa.memory, 1000) == 0);
}

static void whole_life(struct world *w, int family)
{
    world_open(w, family);
    world_connect(w);
    CHECK(w->passive->private_len == 4 && memcmp(w->passive->private_data, "ping", 4) == 0);
    CHECK(w->active.private_len == 5 && memcmp(w->active.private_data, "pong!", 5) == 0);
    CHECK(addr_equal(&w->active.local, &w->passive->remote));
    CHECK(addr_equal(&w->active.remote, &w->passive->local));
    talk(w);
    world_hangup(w);
    CHECK(atomic_load(&w->active.ended) + atomic_load(&w->passive->ended) <= 1);
    take_none(&w->sa);
    take_none(&w->sb);
    world_close(w);
}

/* covers: CON-01, CON-04, CON-19, CMP-01, ACC-04, DSC-01 */
static void ipv4(void)
{
    struct world w;

    world_defaults(&w);
    whole_life(&w, AF_INET);
}

/* covers: ADP-03 */
static void ipv6(void)
{
    struct world w;

    world_defaults(&w);
    whole_life(&w, AF_INET6);
}

static const struct test tests[] = {
    { "ipv4", ipv4 },
    { "ipv6", ipv6 },
};

int main(int argc, char **argv)
{
    return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
