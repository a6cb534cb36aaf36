/* SPDX-License-Identifier: MIT */
/*
 * Abstract: writes the snapshot. Lists are copied first and written then, so that no lock is held while text is made.
 * What an adapter has beyond ENTRIES_MAX of one kind is not written; its number is.
 */
#include "provider/stat_json.h"

#include <inttypes.h>
#include <net/if.h>
#include <openndk/counters.h>
#include <openndk/netstat.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/addr.h"

enum { ENTRIES_MAX = 65536, ENTRIES_SPARE = 16 };

void stat_json_begin(FILE *out)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(out, "{\"format\":1,\"pid\":%ld,\"provider\":\"OpenNDK %s\",\"time_ns\":%" PRIu64 ",\"adapters\":[",
            (long)getpid(), ONDK_VERSION, (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
}

void stat_json_end(FILE *out)
{
    fputs("]}\n", out);
}

/* An interface's name may hold any byte but slash and white space. */
static void text(FILE *out, const char *key, const char *value)
{
    fprintf(out, "\"%s\":\"", key);
    for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < 0x20 || *at > 0x7e)
            fprintf(out, "\\u%04x", *at);
        else
            fputc(*at, out);
    }
    fputc('"', out);
}

static void address(FILE *out, const char *key, const struct sockaddr_storage *value)
{
    char printed[ADDR_TEXT];
    struct addr a;

    if (addr_from(&a, value, sizeof(*value)))
        text(out, key, addr_text(&a, printed));
    else
        fprintf(out, "\"%s\":null", key);
}

static void counters(FILE *out, struct adapter *a)
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

/* Under the names of NDK_ADAPTER_INFO. */
static void limits(FILE *out, struct adapter *a)
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

/* How many entries to make room for: those that there are, and some that may come until the list is copied. */
static uint32_t room_for(uint32_t there_are)
{
    return there_are < ENTRIES_MAX - ENTRIES_SPARE ? there_are + ENTRIES_SPARE : ENTRIES_MAX;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool connections(FILE *out, struct adapter *a)
{
    uint32_t room = room_for(ondk_adapter_connections(&a->pub, NULL, 0));
    ondk_connection_t *all = calloc(room, sizeof(*all));
    uint32_t count = all ? ondk_adapter_connections(&a->pub, all, room) : 0;

    fprintf(out, ",\"connection_count\":%u,\"connections\":[", (unsigned)count);
    for (uint32_t i = 0; i < least(count, room); i++) {
        fprintf(out, "%s{\"role\":\"%s\",", i ? "," : "", all[i].initiated ? "initiated" : "accepted");
        text(out, "state", all[i].state);
        fputc(',', out);
        address(out, "local", &all[i].local);
        fputc(',', out);
        address(out, "foreign", &all[i].foreign);
        fprintf(out, ",\"inbound_reads\":%u,\"outbound_reads\":%u}", (unsigned)all[i].inbound_reads,
                (unsigned)all[i].outbound_reads);
    }
    fputc(']', out);
    free(all);
    return all;
}

static bool listeners(FILE *out, struct adapter *a)
{
    uint32_t room = room_for(ondk_adapter_listeners(&a->pub, NULL, 0));
    ondk_listener_t *all = calloc(room, sizeof(*all));
    uint32_t count = all ? ondk_adapter_listeners(&a->pub, all, room) : 0;

    fprintf(out, ",\"listener_count\":%u,\"listeners\":[", (unsigned)count);
    for (uint32_t i = 0; i < least(count, room); i++) {
        fprintf(out, "%s{", i ? "," : "");
        text(out, "state", all[i].state);
        fputc(',', out);
        address(out, "local", &all[i].local);
        fputc('}', out);
    }
    fputc(']', out);
    free(all);
    return all;
}

static bool endpoints(FILE *out, struct adapter *a)
{
    uint32_t room = room_for(ondk_adapter_endpoints(&a->pub, NULL, 0));
    ondk_endpoint_t *all = calloc(room, sizeof(*all));
    uint32_t count = all ? ondk_adapter_endpoints(&a->pub, all, room) : 0;

    fprintf(out, ",\"shared_endpoint_count\":%u,\"shared_endpoints\":[", (unsigned)count);
    for (uint32_t i = 0; i < least(count, room); i++) {
        fprintf(out, "%s{", i ? "," : "");
        address(out, "local", &all[i].local);
        fputc('}', out);
    }
    fputc(']', out);
    free(all);
    return all;
}

bool stat_json_adapter(FILE *out, struct adapter *a, bool first)
{
    char name[IF_NAMESIZE] = "";

    /* Asked for each time: it may have changed. Unknown where the process is out of descriptors. */
    (void)if_indextoname(a->if_index, name);
    fprintf(out, "%s{\"adapter\":%u,\"if_index\":%u,", first ? "" : ",", (unsigned)a->number, (unsigned)a->if_index);
    text(out, "if_name", name);
    fprintf(out, ",\"ndk_version\":\"%u.%u\"", (unsigned)a->version.Major, (unsigned)a->version.Minor);
    counters(out, a);
    limits(out, a);
    bool whole = connections(out, a);
    whole = listeners(out, a) && whole;
    whole = endpoints(out, a) && whole;
    fputc('}', out);
    return whole;
}
