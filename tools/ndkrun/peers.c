/* SPDX-License-Identifier: MIT */
/* Runs the commands of --server and --client: see peers.h. keeper.c starts and ends them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "peers.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "call.h"
#include "json_output.h"
#include "keeper.h"
#include "listening.h"
#include "monotonic.h"

enum {
    SERVER_MS = 10000, /* how long a server may take until it listens */
    DRIVER_MS = 3000,  /* how long the drivers may take until one listens */
    SETTLED_MS = 100,  /* the drivers' sockets are complete if none was added for this time */
    STEP_MS = 20,
    END_MS = (KEEPER_KILL_SECONDS + KEEPER_GIVE_UP_SECONDS + 2) * 1000,
    NOT_FOUND = 127, /* exit status of a shell that has not found the command */
};

enum peer_state { PEER_IDLE, PEER_STARTING, PEER_RUNNING, PEER_ENDED };

static struct peer {
    const char *command;
    bool is_server;
    enum peer_state state;
    pid_t group;
    int status;       /* in the state PEER_ENDED: the status of waitpid; -1: the command could not be started */
    bool has_counted; /* in the state PEER_ENDED: the command ended before the end of the round began */
    bool is_ignored;  /* the end of the round has begun: the status does not count */
    bool is_stopping; /* the keeper is ending the process group */
} peers[2 * MAX_OPTIONS];
static uint32_t peer_count, client_count;
static uint32_t listened; /* number of listening sockets that this process had before drivers were loaded */
static bool have_failed;

/* ---- Events ----------------------------------------------------------------------------------------------------- */

/* Prints the beginning of a message about the command. If the command has several lines, prints only the first. */
static void peer_print(const struct peer *p, FILE *out)
{
    int length = (int)strcspn(p->command, "\n");

    fprintf(out, "ndkrun: --%s '%.*s%s' ", p->is_server ? "server" : "client", length, p->command,
            p->command[length] ? "..." : "");
}

static void peer_handle_end(struct peer *p, int status, FILE *out)
{
    p->state = PEER_ENDED;
    p->status = status;
    p->has_counted = !p->is_ignored;
    if (p->is_ignored)
        return;
    have_failed = have_failed || status;
    peer_print(p, out);
    if (WIFSIGNALED(status))
        fprintf(out, "was killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fprintf(out, "has ended with exit status %d%s\n", WEXITSTATUS(status),
                WEXITSTATUS(status) == NOT_FOUND ? ": the shell has not found a program" : "");
}

static void peer_handle_start(struct peer *p, int group, FILE *out)
{
    p->group = group;
    p->state = PEER_RUNNING;
    if (group > 0)
        return;
    have_failed = true;
    p->state = PEER_ENDED;
    p->status = -1;
    peer_print(p, out);
    fprintf(out, "cannot be started: %s\n", strerror(-group));
}

static void peer_handle_stop(struct peer *p, enum keeper_stop how, FILE *out)
{
    p->is_stopping = false;
    if (how == KEEPER_STOP_ENDED)
        return;
    peer_print(p, out);
    if (how == KEEPER_STOP_KILLED)
        fprintf(out, "has not ended %d seconds after SIGTERM, and was killed\n", KEEPER_KILL_SECONDS);
    else
        fprintf(out, "could not be ended: %d seconds after SIGKILL, process group %d is still there\n",
                KEEPER_GIVE_UP_SECONDS, (int)p->group);
}

/*
 * Handles the loss of the keeper: it was killed, and the commands' shells were killed with it. The processes that the
 * shells have started may still run.
 */
static void peers_handle_loss(FILE *out)
{
    for (uint32_t i = 0; i < peer_count; i++) {
        peers[i].is_stopping = false;
        if (peers[i].state == PEER_STARTING || peers[i].state == PEER_RUNNING)
            peer_handle_end(&peers[i], SIGKILL, out);
    }
}

/* Waits at most timeout_ms for an event of the keeper. Handles this event, and all others that have arrived. */
static void peers_handle_events(int timeout_ms, FILE *out)
{
    struct keeper_event event;

    while (keeper_next(&event, timeout_ms)) {
        struct peer *p = &peers[event.index];

        timeout_ms = 0;
        switch (event.news) {
        case KEEPER_STARTED:
            peer_handle_start(p, event.value, out);
            break;
        case KEEPER_ENDED:
            peer_handle_end(p, event.value, out);
            break;
        case KEEPER_STOPPED:
            peer_handle_stop(p, (enum keeper_stop)event.value, out);
            break;
        }
    }
    if (keeper_is_lost())
        peers_handle_loss(out);
}

static void peer_start(struct peer *p, FILE *out)
{
    p->state = PEER_STARTING;
    p->is_ignored = false;
    keeper_run((uint32_t)(p - peers));
    while (p->state == PEER_STARTING)
        peers_handle_events(STEP_MS, out);
}

/* ---- The beginning ---------------------------------------------------------------------------------------------- */

static void peers_add(const char *const *commands, uint32_t count, bool is_server)
{
    for (uint32_t i = 0; i < count; i++)
        peers[peer_count++] = (struct peer){ .command = commands[i], .is_server = is_server };
}

bool peers_create(const struct options *o)
{
    const char *commands[2 * MAX_OPTIONS];

    peers_add(o->servers, o->server_count, true);
    peers_add(o->clients, o->client_count, false);
    client_count = o->client_count;
    for (uint32_t i = 0; i < peer_count; i++)
        commands[i] = peers[i].command;
    if (!peer_count || keeper_create(commands, peer_count))
        return true;
    fprintf(stderr, "ndkrun: no process can be created for --server and --client: %s\n", strerror(errno));
    return false;
}

/* Waits until the server listens or has ended, at most SERVER_MS. Returns false if the drivers must not be loaded. */
static bool peer_wait_for_server(struct peer *p, FILE *out)
{
    int64_t end = monotonic_ms() + SERVER_MS;

    while (p->state == PEER_RUNNING && !call_interrupted() && !listening_count(p->group)) {
        if (monotonic_ms() >= end) {
            peer_print(p, out);
            fprintf(out, "has not listened for %d seconds; the drivers are loaded now\n", SERVER_MS / 1000);
            break;
        }
        peers_handle_events(STEP_MS, out);
    }
    return !call_interrupted() && !have_failed;
}

bool peers_start_servers(FILE *out)
{
    bool ok = true;

    for (uint32_t i = 0; i < peer_count && ok; i++)
        if (peers[i].is_server) {
            peer_start(&peers[i], out);
            ok = peer_wait_for_server(&peers[i], out);
        }
    if (!ok)
        fprintf(out, "ndkrun: no driver is loaded\n");
    return ok;
}

void peers_begin_round(FILE *out)
{
    if (peer_count)
        peers_handle_events(0, out);
    for (uint32_t i = 0; i < peer_count; i++)
        if (peers[i].is_server && peers[i].state == PEER_ENDED && !peers[i].has_counted)
            peer_handle_end(&peers[i], peers[i].status, out); /* the server ended during the last unload */
    if (client_count)
        listened = listening_count(0);
}

/* Waits until the drivers have opened sockets that peers can reach. Prints a line if they open none in DRIVER_MS. */
static void peers_wait_for_drivers(FILE *out)
{
    int64_t now = monotonic_ms(), end = now + DRIVER_MS, settled = now + SETTLED_MS;
    uint32_t before = listened, count;

    for (; now < end && !call_interrupted(); now = monotonic_ms()) {
        count = listening_count(0);
        if (count != before)
            settled = now + SETTLED_MS;
        if (count > listened && now >= settled)
            return;
        before = count;
        poll(NULL, 0, STEP_MS);
    }
    if (!call_interrupted())
        fprintf(out, "ndkrun: no driver has listened for %d seconds; --client is started now\n", DRIVER_MS / 1000);
}

void peers_start_clients(FILE *out)
{
    if (!client_count)
        return;
    peers_wait_for_drivers(out);
    for (uint32_t i = 0; i < peer_count && !call_interrupted(); i++)
        if (!peers[i].is_server)
            peer_start(&peers[i], out);
}

bool peers_have_ended(FILE *out)
{
    bool is_running = false;

    if (!peer_count)
        return false;
    peers_handle_events(0, out);
    for (uint32_t i = 0; i < peer_count; i++)
        is_running = is_running || (!peers[i].is_server && peers[i].state != PEER_ENDED);
    return client_count && !is_running;
}

/* ---- The end ---------------------------------------------------------------------------------------------------- */

void peers_begin_end(FILE *out)
{
    if (peer_count)
        peers_handle_events(0, out);
    for (uint32_t i = 0; i < peer_count; i++) {
        bool is_cut = !peers[i].is_server && peers[i].state == PEER_RUNNING && !peers[i].is_ignored;

        have_failed = have_failed || (is_cut && !call_interrupted());
        peers[i].is_ignored = true;
    }
}

/*
 * Ends the process groups of the servers or of the clients, and waits until they have ended. A group may have processes
 * although its shell has ended.
 */
static void peers_stop(bool are_servers, FILE *out)
{
    int64_t end = monotonic_ms() + END_MS;

    for (uint32_t i = 0; i < peer_count; i++) {
        struct peer *p = &peers[i];

        p->is_stopping = p->is_server == are_servers && p->group > 0 && !keeper_is_lost();
        if (p->is_stopping)
            keeper_end(i);
        if (p->is_stopping && p->state == PEER_RUNNING && !are_servers) {
            peer_print(p, out);
            fprintf(out, "has not ended before the run, and is ended\n");
        }
    }
    for (uint32_t i = 0; i < peer_count; i++)
        while (peers[i].is_stopping && monotonic_ms() < end)
            peers_handle_events(STEP_MS, out);
    for (uint32_t i = 0; i < peer_count; i++)
        if (peers[i].is_server == are_servers)
            peers[i].group = 0;
}

void peers_end_round(FILE *out)
{
    peers_stop(false, out);
    for (uint32_t i = 0; i < peer_count; i++)
        peers[i].is_ignored = false;
}

void peers_end(FILE *out)
{
    peers_begin_end(out);
    peers_stop(true, out);
    if (peer_count)
        keeper_destroy();
}

bool peers_have_failed(void)
{
    return have_failed;
}

json_t *peers_json(void)
{
    json_t *array = peer_count ? json_array() : NULL;

    for (uint32_t i = 0; i < peer_count; i++) {
        const struct peer *p = &peers[i];
        bool has_status = p->state == PEER_ENDED && p->has_counted && WIFEXITED(p->status);

        (void)json_array_append_new(array, json_pack("{s:s,s:o,s:o}", "role", p->is_server ? "server" : "client",
                                                     "command", json_output_text(p->command), "status",
                                                     has_status ? json_integer(WEXITSTATUS(p->status)) : json_null()));
    }
    return array;
}
