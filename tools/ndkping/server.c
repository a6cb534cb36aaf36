/* SPDX-License-Identifier: MIT */
/*
 * ndkping's server: listens, and serves each client on a thread of its own with a PD, CQ and QP of its own on the
 * listener's adapter. The invariant: only a client's thread opens and closes the client's objects. Ctrl-C only cancels
 * the waits of the listener and of the open clients in `clients`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "address.h"
#include "consumer/provider.h"
#include "interface.h"
#include "interrupt.h"
#include "json_output.h"
#include "local_address.h"
#include "monotonic.h"
#include "print.h"
#include "roles.h"

enum { MAX_CLIENTS = 256, MAX_RECORDS = 100000 };

struct client {
    struct client *next;
    const struct options *options;
    NDK_CONNECTOR *connector; /* the client's thread stores it in `consumer` */
    struct consumer consumer;
    bool is_open, is_done; /* guarded by the lock; is_open: consumer_cancel may be called */
    pthread_t thread;
    char prefix[160];
    json_t *result;
    int code;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t client_ended = PTHREAD_COND_INITIALIZER;
static struct consumer listener;
static bool is_listening;      /* guarded by the lock */
static struct client *clients; /* guarded by the lock */
static double idle_since;      /* the time when the last client ended; guarded by the lock */

static void server_on_interrupt(void)
{
    pthread_mutex_lock(&lock);
    if (is_listening)
        consumer_cancel(&listener);
    for (struct client *c = clients; c; c = c->next)
        if (c->is_open)
            consumer_cancel(&c->consumer);
    pthread_mutex_unlock(&lock);
}

/* ---- one client ---- */

/* Returns the largest ping that the server accepts, which must fit into one read and one write. */
static uint32_t server_max_ping(const struct options *o, const NDK_ADAPTER_INFO *info)
{
    uint32_t size = o->size;

    if (size > info->MaxTransferLength)
        size = info->MaxTransferLength;
    return size > info->MaxRegistrationSize ? (uint32_t)info->MaxRegistrationSize : size;
}

static int client_reject(struct client *client)
{
    const struct options *o = client->options;
    NDK_CONNECTOR *k = client->consumer.connector;
    NTSTATUS status = k->Dispatch->NdkReject(k, (PVOID)o->private_data, o->private_len);

    if (!NT_SUCCESS(status))
        return roles_report_failed("NdkReject", status, consumer_connector_reason(k), client->result);
    print_line("rejected");
    json_object_set_new(client->result, "rejected", json_true());
    return NDKPING_OK;
}

static int client_serve(struct client *client, struct rping *r)
{
    const struct options *o = client->options;
    struct consumer_limits limits = { o->ird, o->ord };
    struct consumer *c = &client->consumer;
    NTSTATUS status = rping_prepare_server(r, server_max_ping(o, &c->info));
    int code;

    if (!NT_SUCCESS(status))
        return roles_report_failed("preparing buffers", status, 0, client->result);
    status = consumer_accept(c, limits, o->private_data, o->private_len);
    if (!NT_SUCCESS(status))
        return roles_report_failed("NdkAccept", status, consumer_connector_reason(c->connector), client->result);
    roles_print_limits(c);
    roles_report_agreement(c, client->result);
    code = roles_check_limits(o, c, client->result);
    if (code == NDKPING_OK)
        code = roles_report_end(o, r, rping_server(r), client->result);
    if (r->gave_up) /* NdkDisconnect would wait for the client again, but a close resets the connection */
        return code;
    status = consumer_disconnect(c);
    if (code == NDKPING_OK && !NT_SUCCESS(status) && status != STATUS_CONNECTION_INVALID)
        return roles_report_failed("NdkDisconnect", status, consumer_connector_reason(c->connector), client->result);
    return code;
}

static void client_set_open(struct client *client, bool is_open)
{
    pthread_mutex_lock(&lock);
    client->is_open = is_open;
    if (is_open && interrupt_received())
        consumer_cancel(&client->consumer);
    pthread_mutex_unlock(&lock);
}

/* If there may be several clients, makes every line of this client's thread begin with the client's address. */
static void client_set_prefix(struct client *client)
{
    struct sockaddr_storage peer;
    char text[128];
    ULONG len = sizeof peer;
    NDK_CONNECTOR *k = client->connector;

    if (client->options->clients == 1 || !NT_SUCCESS(k->Dispatch->NdkGetPeerAddress(k, (PSOCKADDR)&peer, &len)))
        return;
    address_text(&peer, text, sizeof text);
    snprintf(client->prefix, sizeof client->prefix, "%s: ", text);
    print_set_prefix(client->prefix);
}

static void *client_run_thread(void *context)
{
    struct client *client = context;
    struct rping r = { .consumer = &client->consumer,
                       .step_ms = client->options->step_ms,
                       .verbose = client->options->verbose };
    const char *step = "opening";
    NTSTATUS status;

    client_set_prefix(client);
    status = consumer_open_on_adapter(&client->consumer, &listener, &step);
    client->consumer.connector = client->connector;
    roles_report_peer(&client->consumer, client->result);
    if (!NT_SUCCESS(status)) {
        client->code = roles_report_failed(step, status, 0, client->result);
    } else {
        client_set_open(client, true);
        client->code = client->options->reject ? client_reject(client) : client_serve(client, &r);
        client_set_open(client, false);
    }
    consumer_close_qp(&client->consumer);
    rping_close(&r);
    consumer_close(&client->consumer);
    pthread_mutex_lock(&lock);
    client->is_done = true;
    idle_since = monotonic_seconds();
    pthread_cond_signal(&client_ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* ---- the list of clients ---- */

struct totals {
    uint32_t accepted, failed;
    uint32_t active; /* number of clients whose thread has not been joined */
    int code;        /* exit code of the first client that failed */
    json_t *records; /* NULL without --json */
};

/* Adds the result of a client to the records, if there is room. Takes over the caller's reference. */
static void totals_add_record(struct totals *t, json_t *result)
{
    if (json_array_size(t->records) < MAX_RECORDS)
        (void)json_array_append(t->records, result);
    json_decref(result);
}

/*
 * Finds an ended client, removes the client from `clients`, and returns it. If no client has ended, waits if `wait` is
 * true, otherwise returns NULL. Also returns NULL if `clients` is empty.
 */
static struct client *server_remove_ended(bool wait)
{
    struct client *found = NULL;

    pthread_mutex_lock(&lock);
    while (!found && clients) {
        for (struct client **at = &clients; *at && !found;) {
            if ((*at)->is_done) {
                found = *at;
                *at = found->next;
            } else {
                at = &(*at)->next;
            }
        }
        if (!found && !wait)
            break;
        if (!found)
            pthread_cond_wait(&client_ended, &lock);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Joins the threads of all clients that have ended. Waits until at most max_active clients are left. */
static void server_join_clients(struct totals *t, uint32_t max_active)
{
    struct client *client;

    while ((client = server_remove_ended(t->active > max_active)) != NULL) {
        pthread_join(client->thread, NULL);
        t->active--;
        t->failed += client->code != NDKPING_OK;
        if (t->code == NDKPING_OK)
            t->code = client->code;
        totals_add_record(t, client->result);
        free(client);
    }
}

/* Refuses a client for which there is no memory or thread. The client counts as failed. */
static void server_refuse_client(NDK_CONNECTOR *connector, struct totals *t)
{
    struct consumer refused = { .connector = connector };
    json_t *result = json_object();
    int code = roles_report_failed("starting a client's thread", STATUS_INSUFFICIENT_RESOURCES, 0, result);

    consumer_close_connector(&refused);
    t->failed++;
    if (t->code == NDKPING_OK)
        t->code = code;
    totals_add_record(t, result);
}

/* Starts a client's thread, which owns the connector. */
static void server_start_client(const struct options *o, NDK_CONNECTOR *connector, struct totals *t)
{
    struct client *client = calloc(1, sizeof *client);

    t->accepted++;
    if (client) {
        client->options = o;
        client->connector = connector;
        client->result = json_object();
        pthread_mutex_lock(&lock);
        if (pthread_create(&client->thread, NULL, client_run_thread, client) == 0) {
            client->next = clients;
            clients = client;
            connector = NULL;
        }
        pthread_mutex_unlock(&lock);
    }
    if (!connector) {
        t->active++;
        return;
    }
    if (client)
        json_decref(client->result);
    free(client);
    server_refuse_client(connector, t);
}

/* ---- listening ---- */

/* Waits for a connect request. Returns NULL after Ctrl-C, or if no client has been connected for the time of -W. */
static NDK_CONNECTOR *server_next_request(const struct options *o, struct totals *t)
{
    for (;;) {
        double idle, rest;
        NDK_CONNECTOR *connector;

        server_join_clients(t, MAX_CLIENTS - 1);
        pthread_mutex_lock(&lock);
        idle = clients ? 0 : monotonic_seconds() - idle_since;
        pthread_mutex_unlock(&lock);
        rest = o->wait_seconds - idle;
        if (interrupt_received() || (o->wait_seconds > 0 && rest <= 0))
            return NULL;
        connector = consumer_next_request_ms(&listener, o->wait_seconds > 0 ? (uint64_t)(rest * 1000) + 1 : 0);
        if (connector)
            return connector;
    }
}

/* Opens the adapter of the interface that has the address, and listens. */
static NTSTATUS server_listen_at(const struct options *o, const struct sockaddr_storage *at, const char **step)
{
    uint32_t index = o->server_if ? o->server_if : interface_of_address(at);
    NTSTATUS status;

    *step = "finding the server's address on an interface";
    if (!index)
        return STATUS_INVALID_ADDRESS;
    status = consumer_open(&listener, index, step);
    if (NT_SUCCESS(status)) {
        *step = "NdkListen";
        status = consumer_listen(&listener, (const struct sockaddr *)at);
    }
    return status;
}

/* Tries the addresses of o->server_address in order. Listens at the first address that can be used. */
static int server_listen(const struct options *o, json_t *result)
{
    const struct endpoint *e = &o->server_address;
    int code = NDKPING_FAILED;

    for (uint32_t i = 0; i < e->count; i++) {
        struct sockaddr_storage at = e->addresses[i];
        const char *step;
        char text[128], why[512];
        NTSTATUS status = server_listen_at(o, &at, &step);

        if (NT_SUCCESS(status)) {
            (void)consumer_listener_address(&listener, &at);
            address_text(&at, text, sizeof text);
            print_line("listening on %s", text);
            json_object_set_new(result, "listening", json_output_text(text));
            json_object_del(result, "error");
            return NDKPING_OK;
        }
        if (e->count > 1) {
            address_text(&at, text, sizeof text);
            print_line("the address %s of %s cannot be used:", text, e->text);
        }
        if (local_address_explain(status, &at, o->server_if, why, sizeof why))
            code = roles_report_failed_text(step, status, why, result);
        else
            code = roles_report_failed(step, status, 0, result);
        consumer_close(&listener);
    }
    return code;
}

static void server_set_listening(bool on)
{
    pthread_mutex_lock(&lock);
    is_listening = on;
    idle_since = monotonic_seconds();
    if (on && interrupt_received())
        consumer_cancel(&listener);
    pthread_mutex_unlock(&lock);
}

static int server_report(const struct options *o, const struct totals *t, json_t *result)
{
    char text[64];

    if (o->clients != 1)
        print_line("%u client%s, %u failed", (unsigned)t->accepted, t->accepted == 1 ? "" : "s", (unsigned)t->failed);
    json_object_set_new(result, "accepted", json_integer(t->accepted));
    json_object_set_new(result, "failed", json_integer(t->failed));
    if (t->code != NDKPING_OK)
        return t->code;
    if (interrupt_received())
        return o->clients ? NDKPING_INTERRUPTED : NDKPING_OK;
    if (t->accepted)
        return NDKPING_OK;
    snprintf(text, sizeof text, "nobody connected within %g seconds", o->wait_seconds);
    (void)roles_report_problem("waiting for a client", text, result);
    return NDKPING_NOBODY;
}

int server_run(const struct options *o, json_t *result)
{
    struct totals t = { .records = o->json ? json_array() : NULL };
    int code;

    interrupt_set_wait("for the clients' disconnects (--timeout)");
    interrupt_catch(server_on_interrupt);
    code = server_listen(o, result);
    if (code == NDKPING_OK) {
        server_set_listening(true);
        while (!o->clients || t.accepted < o->clients) {
            NDK_CONNECTOR *connector = server_next_request(o, &t);
            if (!connector)
                break;
            server_start_client(o, connector, &t);
        }
        server_join_clients(&t, 0);
        server_set_listening(false);
        code = server_report(o, &t, result);
        roles_print_counters(&listener);
    }
    json_object_set_new(result, "clients", t.records);
    consumer_close(&listener);
    return code;
}
