/* SPDX-License-Identifier: MIT */
/*
 * Writes a snapshot of adapters, and of the process's failures, as JSON. The invariant: each list is copied before it
 * is written, so that no lock is held while text is written. All objects are counted, but at most MAX_ENTRIES objects
 * of each kind are written.
 */
#include "provider/stat_json.h"

#include <fcntl.h>
#include <inttypes.h>
#include <openndk/adapter.h>
#include <openndk/counters.h>
#include <openndk/netstat.h>
#include <openndk/reason.h>
#include <openndk/version.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/interface_name.h"
#include "base/json.h"
#include "provider/failures.h"
#include "provider/live.h"

enum { MAX_ENTRIES = 65536, SPARE_ENTRIES = 16 };

enum { MAX_COMMAND = 1024 };

/* Reads this process's command line. If no descriptor is free, `text` is empty. */
static void json_read_command(char text[MAX_COMMAND + 1])
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, MAX_COMMAND) : 0;

    if (fd >= 0)
        close(fd);
    while (n > 0 && text[n - 1] == '\0')
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    text[n > 0 ? n : 0] = '\0';
}

void stat_json_begin(FILE *out)
{
    char command[MAX_COMMAND + 1];
    struct timespec now = { 0 };

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(out, "{\"format\":1,\"pid\":%ld,\"provider\":\"OpenNDK %s\",\"time_ns\":%" PRIu64 ",", (long)getpid(),
            ondk_version(), (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
    json_read_command(command);
    json_put_text(out, "command", command);
    fputs(",\"adapters\":[", out);
}

static void json_put_address(FILE *out, const char *key, const struct sockaddr_storage *value)
{
    char printed[ADDR_TEXT];
    struct addr a;

    if (addr_from(&a, value, sizeof(*value)))
        json_put_text(out, key, addr_text(&a, printed));
    else
        fprintf(out, "\"%s\":null", key);
}

static void json_put_counters(FILE *out, struct adapter *a)
{
    ondk_counters_t c;

    ondk_adapter_counters(&a->pub, &c);
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {
        { "initiated_connections", c.initiated_connections },
        { "accepted_connections", c.accepted_connections },
        { "failed_connection_attempts", c.failed_connection_attempts },
        { "connection_errors", c.connection_errors },
        { "active_connections", c.active_connections },
        { "completion_queue_errors", c.completion_queue_errors },
        { "refused_requests", c.refused_requests },
        { "dropped_peers", c.dropped_peers },
        { "rdma_in_octets", c.rdma_in_octets },
        { "rdma_out_octets", c.rdma_out_octets },
        { "rdma_in_frames", c.rdma_in_frames },
        { "rdma_out_frames", c.rdma_out_frames },
    };
    fputs(",\"counters\":{", out);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", all[i].key, all[i].value);
    fputc('}', out);
}

/* Writes the limits under the names of the members of NDK_ADAPTER_INFO. */
static void json_put_limits(FILE *out, struct adapter *a)
{
    NDK_ADAPTER_INFO i;

    adapter_get_info(a, &i);
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {
        { "MaxRegistrationSize", i.MaxRegistrationSize },
        { "MaxWindowSize", i.MaxWindowSize },
        { "FRMRPageCount", i.FRMRPageCount },
        { "MaxInitiatorRequestSge", i.MaxInitiatorRequestSge },
        { "MaxReceiveRequestSge", i.MaxReceiveRequestSge },
        { "MaxReadRequestSge", i.MaxReadRequestSge },
        { "MaxTransferLength", i.MaxTransferLength },
        { "MaxInlineDataSize", i.MaxInlineDataSize },
        { "MaxInboundReadLimit", i.MaxInboundReadLimit },
        { "MaxOutboundReadLimit", i.MaxOutboundReadLimit },
        { "MaxReceiveQueueDepth", i.MaxReceiveQueueDepth },
        { "MaxInitiatorQueueDepth", i.MaxInitiatorQueueDepth },
        { "MaxSrqDepth", i.MaxSrqDepth },
        { "MaxCqDepth", i.MaxCqDepth },
        { "MaxCallerData", i.MaxCallerData },
        { "MaxCalleeData", i.MaxCalleeData },
        { "AdapterFlags", i.AdapterFlags },
    };
    fputs(",\"limits\":{", out);
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        fprintf(out, "%s\"%s\":%" PRIu64, k ? "," : "", all[k].key, all[k].value);
    fputc('}', out);
}

/*
 * Returns the number of entries to allocate, at most MAX_ENTRIES. Adds SPARE_ENTRIES to `count`, because objects may be
 * created before the list is copied.
 */
static uint32_t json_entry_room(uint32_t count)
{
    return count < MAX_ENTRIES - SPARE_ENTRIES ? count + SPARE_ENTRIES : MAX_ENTRIES;
}

static void json_put_number(FILE *out, const char *key, uint64_t value)
{
    fprintf(out, ",\"%s\":%" PRIu64, key, value);
}

/* Writes the beginning of an object: its id and its state. */
static void json_begin_object(FILE *out, uint32_t id, const char *state)
{
    fprintf(out, "{\"id\":%u,", (unsigned)id);
    json_put_text(out, "state", state);
}

static void json_put_traffic(FILE *out, const ondk_connection_t *c)
{
    const struct {
        const char *key;
        uint64_t value;
    } all[] = {
        { "out_sends", c->out_sends },   { "out_writes", c->out_writes }, { "out_reads", c->out_reads },
        { "in_sends", c->in_sends },     { "in_writes", c->in_writes },   { "in_reads", c->in_reads },
        { "out_octets", c->out_octets }, { "in_octets", c->in_octets },   { "out_frames", c->out_frames },
        { "in_frames", c->in_frames },
    };
    fputs(",\"counters\":{", out);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        fprintf(out, "%s\"%s\":%" PRIu64, i ? "," : "", all[i].key, all[i].value);
    fputc('}', out);
}

static void json_put_connection(FILE *out, const union live_entry *e)
{
    const ondk_connection_t *c = &e->connection;

    json_begin_object(out, c->id, c->state);
    fprintf(out, ",\"role\":\"%s\",", c->initiated ? "initiated" : "accepted");
    json_put_address(out, "local", &c->local);
    fputc(',', out);
    json_put_address(out, "foreign", &c->foreign);
    json_put_number(out, "inbound_reads", c->inbound_reads);
    json_put_number(out, "outbound_reads", c->outbound_reads);
    json_put_number(out, "age_ns", c->age_ns);
    json_put_number(out, "qp", c->qp);
    json_put_number(out, "listener", c->listener);
    if (c->was_established)
        fprintf(out, ",\"mpa_revision\":%u,\"crc\":%s", (unsigned)c->mpa_revision, c->crc ? "true" : "false");
    else
        fputs(",\"mpa_revision\":null,\"crc\":null", out);
    json_put_traffic(out, c);
}

static void json_put_listener(FILE *out, const union live_entry *e)
{
    json_begin_object(out, e->listener.id, e->listener.state);
    fputc(',', out);
    json_put_address(out, "local", &e->listener.local);
    json_put_number(out, "connections", e->listener.connections);
    json_put_number(out, "waiting", e->listener.waiting);
    json_put_number(out, "backlog", e->listener.backlog);
    json_put_number(out, "abandoned", e->listener.abandoned);
    json_put_number(out, "max_unfinished", e->listener.max_unfinished);
    fprintf(out, ",\"paused\":%s", e->listener.paused ? "true" : "false");
}

static void json_put_endpoint(FILE *out, const union live_entry *e)
{
    json_begin_object(out, e->endpoint.id, e->endpoint.state);
    fputc(',', out);
    json_put_address(out, "local", &e->endpoint.local);
    json_put_number(out, "connections", e->endpoint.connections);
}

static void json_put_pd(FILE *out, const union live_entry *e)
{
    json_begin_object(out, e->pd.id, e->pd.state);
    json_put_number(out, "users", e->pd.users);
}

static void json_put_cq(FILE *out, const union live_entry *e)
{
    const ondk_completion_queue_t *cq = &e->cq;

    json_begin_object(out, cq->id, cq->state);
    json_put_number(out, "users", cq->users);
    json_put_number(out, "depth", cq->depth);
    json_put_number(out, "queued", cq->queued);
    fprintf(out, ",\"affinity\":%d,", (int)cq->affinity);
    json_put_text(out, "armed", cq->armed);
    json_put_number(out, "moderation_interval_us", cq->moderation_interval_us);
    json_put_number(out, "moderation_count", cq->moderation_count);
}

static void json_put_qp(FILE *out, const union live_entry *e)
{
    const ondk_queue_pair_t *qp = &e->qp;

    json_begin_object(out, qp->id, qp->state);
    json_put_number(out, "pd", qp->pd);
    json_put_number(out, "receive_cq", qp->receive_cq);
    json_put_number(out, "initiator_cq", qp->initiator_cq);
    json_put_number(out, "srq", qp->srq);
    json_put_number(out, "receive_depth", qp->receive_depth);
    json_put_number(out, "initiator_depth", qp->initiator_depth);
    json_put_number(out, "receive_sges", qp->receive_sges);
    json_put_number(out, "initiator_sges", qp->initiator_sges);
    json_put_number(out, "inline_size", qp->inline_size);
    json_put_number(out, "receives", qp->receives);
    json_put_number(out, "initiators", qp->initiators);
}

static void json_put_srq(FILE *out, const union live_entry *e)
{
    const ondk_shared_receive_queue_t *srq = &e->srq;

    json_begin_object(out, srq->id, srq->state);
    json_put_number(out, "pd", srq->pd);
    json_put_number(out, "users", srq->users);
    json_put_number(out, "depth", srq->depth);
    json_put_number(out, "queued", srq->queued);
    json_put_number(out, "sges", srq->sges);
    json_put_number(out, "threshold", srq->threshold);
    fprintf(out, ",\"affinity\":%d", (int)srq->affinity);
}

/*
 * Writes a memory range and its token. Address and token are text: people read hexadecimal, and a reader of JSON may
 * support only 63-bit numbers.
 */
static void json_put_memory(FILE *out, uint64_t address, uint64_t length, uint32_t token)
{
    fprintf(out, ",\"address\":\"0x%" PRIx64 "\",\"length\":%" PRIu64 ",\"token\":\"0x%08x\"", address, length,
            (unsigned)token);
}

static void json_put_right(FILE *out, const char *key, uint32_t right)
{
    fprintf(out, ",\"%s\":%s", key, right ? "true" : "false");
}

static void json_put_mr(FILE *out, const union live_entry *e)
{
    const ondk_memory_region_t *mr = &e->mr;

    json_begin_object(out, mr->id, mr->state);
    json_put_number(out, "pd", mr->pd);
    json_put_memory(out, mr->address, mr->length, mr->token);
    json_put_right(out, "fast", mr->fast);
    json_put_right(out, "local_write", mr->local_write);
    json_put_right(out, "remote_read", mr->remote_read);
    json_put_right(out, "remote_write", mr->remote_write);
}

static void json_put_mw(FILE *out, const union live_entry *e)
{
    const ondk_memory_window_t *mw = &e->mw;

    json_begin_object(out, mw->id, mw->state);
    json_put_number(out, "pd", mw->pd);
    json_put_memory(out, mw->address, mw->length, mw->token);
    json_put_right(out, "remote_read", mw->remote_read);
    json_put_right(out, "remote_write", mw->remote_write);
}

/* The lists, in the order in which they are written. */
static const struct {
    NDK_OBJECT_TYPE type;
    const char *name; /* name + "s" is the key of the list; name + "_count" is the key of the number of objects */
    void (*put)(FILE *out, const union live_entry *e); /* writes an object without the closing brace */
} json_lists[] = {
    { NdkObjectTypeConnector, "connection", json_put_connection },
    { NdkObjectTypeListener, "listener", json_put_listener },
    { NdkObjectTypeSharedEndpoint, "shared_endpoint", json_put_endpoint },
    { NdkObjectTypePd, "protection_domain", json_put_pd },
    { NdkObjectTypeCq, "completion_queue", json_put_cq },
    { NdkObjectTypeQp, "queue_pair", json_put_qp },
    { NdkObjectTypeSrq, "shared_receive_queue", json_put_srq },
    { NdkObjectTypeMr, "memory_region", json_put_mr },
    { NdkObjectTypeMw, "memory_window", json_put_mw },
};

/* Writes the list json_lists[list] with the adapter's objects. Returns false if out of memory. */
static bool json_put_list(FILE *out, struct adapter *a, size_t list)
{
    NDK_OBJECT_TYPE type = json_lists[list].type;
    uint32_t room = json_entry_room(live_list_copy(&a->live, type, NULL, 0, 0, 0));
    union live_entry *all = calloc(room, sizeof(*all));
    bool has_memory = all;
    uint32_t count = all ? live_list_copy(&a->live, type, all, room, sizeof(*all), sizeof(*all)) : 0;

    fprintf(out, ",\"%s_count\":%u,\"%ss\":[", json_lists[list].name, (unsigned)count, json_lists[list].name);
    for (uint32_t i = 0; i < count && i < room; i++) {
        if (i)
            fputc(',', out);
        json_lists[list].put(out, &all[i]);
        fputc('}', out);
    }
    fputc(']', out);
    free(all);
    return has_memory;
}

bool stat_json_adapter(FILE *out, struct adapter *a, bool first)
{
    char name[IF_NAMESIZE];

    interface_name(a->if_index, name); /* read for each snapshot, because the name may change */
    fprintf(out, "%s{\"adapter\":%u,\"if_index\":%u,", first ? "" : ",", (unsigned)a->number, (unsigned)a->if_index);
    json_put_text(out, "if_name", name);
    fprintf(out, ",\"ndk_version\":\"%u.%u\"", (unsigned)a->version.Major, (unsigned)a->version.Minor);
    json_put_counters(out, a);
    json_put_limits(out, a);
    bool is_complete = true;
    for (size_t list = 0; list < sizeof(json_lists) / sizeof(json_lists[0]); list++)
        is_complete = json_put_list(out, a, list) && is_complete;
    fputc('}', out);
    return is_complete;
}

static void json_put_failure(FILE *out, const ondk_failure_t *f)
{
    fprintf(out, "{\"role\":\"%s\",\"refused\":%s,\"if_index\":%u,", f->initiated ? "initiated" : "accepted",
            f->refused ? "true" : "false", (unsigned)f->if_index);
    json_put_text(out, "phase", f->phase);
    fputc(',', out);
    json_put_address(out, "local", &f->local);
    fputc(',', out);
    json_put_address(out, "foreign", &f->foreign);
    fprintf(out, ",\"status\":%u,", (unsigned)f->status);
    json_put_text(out, "status_name", ondk_status_name(f->status));
    fprintf(out, ",\"reason\":%u,", (unsigned)f->reason);
    json_put_text(out, "reason_name", ondk_reason_name(f->reason));
    json_put_number(out, "first_time_ns", f->first_time_ns);
    json_put_number(out, "last_time_ns", f->last_time_ns);
    json_put_number(out, "count", f->count);
    fputc(',', out);
    json_put_text(out, "reason_text", ondk_reason_text(f->reason));
    fputc(',', out);
    json_put_text(out, "reason_advice", ondk_reason_advice(f->reason));
    fputc('}', out);
}

void stat_json_end(FILE *out)
{
    ondk_failure_t all[MAX_FAILURES];
    uint32_t count = ondk_adapter_failures(NULL, all, MAX_FAILURES);

    fputs("],\"failures\":[", out);
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            fputc(',', out);
        json_put_failure(out, &all[i]);
    }
    fputs("]}\n", out);
}
