/* SPDX-License-Identifier: MIT */
/*
 * ndkping's client: tries the server's addresses one after the other, makes the pings of one size or of a sweep, and
 * prints their times. Ctrl-C cancels the connect or ends the pings.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "consumer/provider.h"
#include "interface.h"
#include "interrupt.h"
#include "local_address.h"
#include "monotonic.h"
#include "openndk/reason.h"
#include "print.h"
#include "roles.h"
#include "rtt.h"
#include "terminal.h"

enum { MAX_RECORDS = 100000 }; /* maximum number of pings that the JSON object lists */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct consumer consumer;
static bool is_open; /* `consumer` is open, so consumer_cancel may be called; guarded by `lock` */

static void client_on_interrupt(void)
{
    pthread_mutex_lock(&lock);
    if (is_open)
        consumer_cancel(&consumer);
    pthread_mutex_unlock(&lock);
}

static void client_set_open(bool on)
{
    pthread_mutex_lock(&lock);
    is_open = on;
    if (on && interrupt_received())
        consumer_cancel(&consumer);
    pthread_mutex_unlock(&lock);
}

/* ---- the pings ---- */

struct run {
    const struct options *options;
    struct rping *rping;
    bool prints_pings;
    char peer[128];
    json_t *records, *sizes;
};

static void client_report_ping(struct run *run, uint32_t size)
{
    const struct rping *r = run->rping;

    if (run->prints_pings)
        print_line("%u bytes from %s: ping=%u time=%.1f us", (unsigned)size, run->peer, (unsigned)r->pings, r->time_us);
    else
        progress_show("%u pings, the last one of %u bytes in %.1f us", (unsigned)r->pings, (unsigned)size, r->time_us);
    if (run->options->json && !run->options->quiet && json_array_size(run->records) < MAX_RECORDS)
        json_array_append_new(run->records, json_pack("{s:I,s:I,s:f}", "ping", (json_int_t)r->pings, "size",
                                                      (json_int_t)size, "time_us", r->time_us));
}

static void client_report_size(struct run *run, uint32_t size, const struct rtt *t)
{
    if (run->options->csv) {
        printf("%u,%u,%.1f,%.1f,%.1f,%.1f\n", (unsigned)size, (unsigned)t->count, t->min_us, t->mean_us, t->max_us,
               rtt_deviation(t));
        print_flush(stdout, "standard output");
    }
    json_array_append_new(run->sizes, json_pack("{s:I,s:I,s:f,s:f,s:f,s:f}", "size", (json_int_t)size, "pings",
                                                (json_int_t)t->count, "min_us", t->min_us, "avg_us", t->mean_us,
                                                "max_us", t->max_us, "mdev_us", rtt_deviation(t)));
    if (!t->count)
        return;
    if (run->options->sweep_high && !run->options->csv)
        print_line("%10u %10u %10.1f %10.1f %10.1f %10.1f", (unsigned)size, (unsigned)t->count, t->min_us, t->mean_us,
                   t->max_us, rtt_deviation(t));
    if (!run->options->sweep_high)
        print_line("round-trip min/avg/max/mdev = %.1f/%.1f/%.1f/%.1f us", t->min_us, t->mean_us, t->max_us,
                   rtt_deviation(t));
}

/* Waits `seconds` until the next ping, and returns RPING_DONE. Fails at once if the server disconnects. */
static enum rping_end client_pause(struct rping *r, double seconds)
{
    if (seconds > 0 && consumer_wait_disconnect_ms(&consumer, (uint64_t)(seconds * 1000) + 1)) {
        r->step = "waiting for the time of the next ping";
        r->status = STATUS_CONNECTION_ABORTED;
        r->reason = consumer.disconnect_reason;
        return RPING_FAILED;
    }
    return consumer_is_cancelled(&consumer) ? RPING_CANCELLED : RPING_DONE;
}

/*
 * Makes the pings of one size. A ping begins one interval after the previous ping began, or at once if the previous
 * ping took longer than the interval.
 */
static enum rping_end client_ping_size(struct run *run, uint32_t size, struct rtt *t)
{
    const struct options *o = run->options;
    enum rping_end end = RPING_DONE;
    double next = monotonic_seconds();

    for (uint32_t i = 0; (!o->count || i < o->count) && end == RPING_DONE; i++) {
        double pause = next - monotonic_seconds();
        if (!o->count && print_is_lost())
            return RPING_CANCELLED;
        next = pause > 0 ? next + o->interval : monotonic_seconds() + o->interval;
        end = client_pause(run->rping, pause);
        if (end == RPING_DONE)
            end = rping_client_ping(run->rping, size);
        if (end == RPING_DONE) {
            rtt_add(t, run->rping->time_us);
            client_report_ping(run, size);
        }
    }
    return end;
}

static enum rping_end client_sweep(struct run *run)
{
    const struct options *o = run->options;
    enum rping_end end = RPING_DONE;

    if (!o->csv)
        print_line("%10s %10s %10s %10s %10s %10s", "bytes", "pings", "min us", "avg us", "max us", "mdev us");
    for (uint64_t size = o->sweep_low; size <= o->sweep_high && end == RPING_DONE; size *= 2) {
        struct rtt t = { 0 };
        end = client_ping_size(run, (uint32_t)size, &t);
        client_report_size(run, (uint32_t)size, &t);
    }
    return end;
}

/* Makes all pings over the connection to `server`, and prints their times. */
static int client_ping(const struct options *o, struct rping *r, const struct sockaddr_storage *server, json_t *result)
{
    struct run run = { .options = o, .rping = r, .records = json_array(), .sizes = json_array() };
    struct rtt t = { 0 };
    enum rping_end end;
    int code;

    run.prints_pings = o->verbose || (!o->quiet && !o->sweep_high);
    address_text(server, run.peer, sizeof run.peer);
    if (o->csv)
        printf("size,pings,min_us,avg_us,max_us,mdev_us\n");
    end = o->sweep_high ? client_sweep(&run) : client_ping_size(&run, o->size, &t);
    progress_clear();
    code = roles_report_end(o, r, end, result);
    if (!o->sweep_high)
        client_report_size(&run, o->size, &t);
    json_object_set_new(result, "times", run.sizes);
    if (o->quiet)
        json_decref(run.records);
    else
        json_object_set_new(result, "records", run.records);
    if (end == RPING_FAILED && !r->pings && consumer_reason_is_openndk(r->reason) &&
        ONDK_REASON_CAUSE(r->reason) == ONDK_CAUSE_PEER_CLOSED)
        print_line("  A server disconnects if a ping is larger than the server's --size: this one has %u bytes "
                   "(--size). The server's output has the cause",
                   (unsigned)(o->sweep_high ? o->sweep_low : o->size));
    return end == RPING_CANCELLED && o->count ? NDKPING_INTERRUPTED : code;
}

/* ---- the connection ---- */

/* Finds the client's address for a connection to `to`, opens its adapter, and sets *from to the address. */
static int client_open(const struct options *o, const struct sockaddr_storage *to, struct sockaddr_storage *from,
                       json_t *result)
{
    uint32_t index = o->client_if;
    const char *step = "opening";
    char why[512];
    NTSTATUS status;

    if (!local_address_for_server(&o->client_address, to, "-ClientAddr", from, why, sizeof why))
        return roles_report_problem("finding the client's address", why, result);
    if (!index)
        index = local_address_interface(from, why, sizeof why);
    if (!index)
        return roles_report_problem("finding the client's interface", why, result);
    status = consumer_open(&consumer, index, &step);
    if (!NT_SUCCESS(status))
        return roles_report_failed(step, status, 0, result);
    consumer.is_interrupted = interrupt_received; /* Ctrl-C then ends consumer_connect */
    client_set_open(true);
    return NDKPING_OK;
}

static int client_connect(const struct options *o, const struct sockaddr_storage *to,
                          const struct sockaddr_storage *from, bool *is_rejected, json_t *result)
{
    struct consumer_limits limits = { o->ird, o->ord };
    char text[128], why[512];
    uint32_t reason;
    NTSTATUS status;

    address_text(to, text, sizeof text);
    progress_begin("connecting to %s", text);
    status = consumer_connect(&consumer, (const struct sockaddr *)from, (const struct sockaddr *)to, limits,
                              o->private_data, o->private_len);
    progress_end();
    if (status == STATUS_CANCELLED && interrupt_received()) {
        print_line("interrupted before there was a connection");
        return NDKPING_INTERRUPTED;
    }
    if (!NT_SUCCESS(status)) {
        reason = consumer.connector ? consumer_connector_reason(consumer.connector) : 0;
        *is_rejected = ONDK_REASON_CAUSE(reason) == ONDK_CAUSE_REJECTED;
        roles_report_failed("NdkConnect", status, reason, result);
        if (local_address_explain(status, from, o->client_if, why, sizeof why))
            print_line("  %s", why);
        if (status == STATUS_CONNECTION_REFUSED)
            roles_report_peer(&consumer, result); /* a reject may contain private data */
        return NDKPING_FAILED;
    }
    roles_report_peer(&consumer, result);
    status = consumer_complete_connect(&consumer);
    if (!NT_SUCCESS(status))
        return roles_report_failed("NdkCompleteConnect", status, consumer_connector_reason(consumer.connector), result);
    roles_report_agreement(&consumer, result);
    return NDKPING_OK;
}

static NTSTATUS client_disconnect(void)
{
    NTSTATUS status;

    progress_begin("disconnecting");
    status = consumer_disconnect(&consumer);
    progress_end();
    return status;
}

/* Tries one of the server's addresses. Sets *is_final if the server's other addresses must not be tried. */
static int client_try(const struct options *o, const struct sockaddr_storage *to, bool *is_final, json_t *result)
{
    struct rping r = { .consumer = &consumer, .step_ms = o->step_ms, .verbose = o->verbose };
    struct sockaddr_storage from;
    NTSTATUS status;
    int code = client_open(o, to, &from, result);

    if (code == NDKPING_OK) {
        status = rping_prepare_client(&r, o->sweep_high ? o->sweep_high : o->size);
        if (!NT_SUCCESS(status))
            code = roles_report_failed("preparing buffers", status, 0, result);
    }
    if (code == NDKPING_OK)
        code = client_connect(o, to, &from, is_final, result);
    if (code == NDKPING_OK) {
        *is_final = true;
        json_object_del(result, "error"); /* removes the error of an earlier address */
        code = roles_check_limits(o, &consumer, result);
        if (code == NDKPING_OK)
            code = client_ping(o, &r, to, result);
        status = r.gave_up ? STATUS_SUCCESS : client_disconnect();
        if (code == NDKPING_OK && !NT_SUCCESS(status))
            code = roles_report_failed("NdkDisconnect", status, consumer_connector_reason(consumer.connector), result);
        roles_print_counters(&consumer);
    }
    client_set_open(false);
    consumer_close_qp(&consumer);
    rping_close(&r);
    consumer_close(&consumer);
    return code;
}

int client_run(const struct options *o, json_t *result)
{
    int code = NDKPING_FAILED;
    bool is_final = false;

    interrupt_set_wait("for the server's disconnect (--timeout)");
    interrupt_catch(client_on_interrupt);
    for (uint32_t i = 0; i < o->server_address.count && !is_final && !interrupt_received(); i++) {
        if (i) {
            char text[128];
            address_text(&o->server_address.addresses[i], text, sizeof text);
            print_line("trying the next address of %s: %s", o->server_address.text, text);
        }
        code = client_try(o, &o->server_address.addresses[i], &is_final, result);
    }
    return code;
}
