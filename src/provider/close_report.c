/* SPDX-License-Identifier: MIT */
/*
 * The report of a close that waits: how many objects of each type there are, and of the first few of each type what
 * each waits for. It is copied under the lock of the adapter's lists, and printed without it, by one write.
 */
#include "provider/close_report.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "fabric/host.h"
#include "openndk/netstat.h"
#include "provider/adapter.h"
#include "provider/connector.h"
#include "provider/provider.h"

enum { SHOWN_OF_TYPE = 4, WHERE_TEXT = 3 * ADDR_TEXT };

/* What is made from others comes before these. */
static const struct {
    NDK_OBJECT_TYPE type;
    const char *name;
} types[] = {
    {NdkObjectTypeConnector, "connector"}, {NdkObjectTypeListener, "listener"},
    {NdkObjectTypeSharedEndpoint, "shared endpoint"}, {NdkObjectTypeQp, "QP"}, {NdkObjectTypeSrq, "SRQ"},
    {NdkObjectTypeCq, "CQ"}, {NdkObjectTypeMw, "MW"}, {NdkObjectTypeMr, "MR"}, {NdkObjectTypePd, "PD"},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

struct shown {
    const void *object; /* as the consumer has it */
    bool closed, ending;
    unsigned requests, callbacks, dependents;
    char where[WHERE_TEXT]; /* state and addresses; empty: it has none */
};

struct open_objects {
    unsigned counts[TYPES], shown_counts[TYPES], total;
    struct shown shown[TYPES][SHOWN_OF_TYPE];
};

static const char *address_text(const struct sockaddr_storage *from, char text[ADDR_TEXT])
{
    struct addr a;

    return addr_from(&a, from, sizeof(*from)) ? addr_text(&a, text) : "no address";
}

/* Under the lists' lock. */
static void describe_where(struct object *o, char *where)
{
    char local[ADDR_TEXT], foreign[ADDR_TEXT];
    ondk_connection_t connection;
    ondk_listener_t listener;
    ondk_endpoint_t endpoint;

    where[0] = '\0';
    if (o->type->ndk_type == NdkObjectTypeConnector && connector_describe(o, &connection)) {
        snprintf(where, WHERE_TEXT, " %s, %s to %s,", connection.state, address_text(&connection.local, local),
                 address_text(&connection.foreign, foreign));
    } else if (o->type->ndk_type == NdkObjectTypeListener) {
        listener_describe(o, &listener);
        snprintf(where, WHERE_TEXT, " %s, %s,", listener.state, address_text(&listener.local, local));
    } else if (o->type->ndk_type == NdkObjectTypeSharedEndpoint) {
        shared_endpoint_describe(o, &endpoint);
        snprintf(where, WHERE_TEXT, " %s,", address_text(&endpoint.local, local));
    }
}

static unsigned references(struct object *o, enum object_ref kind)
{
    return atomic_load_explicit(&o->kinds[kind], memory_order_relaxed);
}

static void describe(struct object *o, struct shown *s)
{
    *s = (struct shown){
        .object = o->header,
        .closed = object_is_closing(o),
        .ending = o->live_hidden,
        .requests = references(o, REF_REQUEST),
        .callbacks = references(o, REF_CALLBACK),
        .dependents = references(o, REF_CHILD),
    };
    if (!s->ending)
        describe_where(o, s->where);
}

static void collect(struct adapter *a, struct open_objects *all)
{
    struct object *o;

    spin_lock(&a->live.lock);
    for (int t = 0; t < TYPES; t++) {
        LIST_FOREACH(o, &a->live.lists[types[t].type], live_link) {
            if (all->shown_counts[t] < SHOWN_OF_TYPE)
                describe(o, &all->shown[t][all->shown_counts[t]++]);
            all->counts[t]++;
            all->total++;
        }
    }
    spin_unlock(&a->live.lock);
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void print_object(FILE *out, const char *name, const struct shown *s)
{
    fprintf(out, "    %s %p:%s", name, s->object, s->where);
    if (s->ending) {
        fprintf(out, " closed; its close completion callback has not returned\n");
        return;
    }
    fprintf(out, s->closed ? " close is pending" : " not closed");
    if (s->requests)
        fprintf(out, "; %u request%s pending", s->requests, plural(s->requests));
    if (s->callbacks)
        fprintf(out, "; %u callback%s not returned", s->callbacks, s->callbacks == 1 ? " has" : "s have");
    if (s->dependents)
        fprintf(out, "; %u object%s it", s->dependents, s->dependents == 1 ? " depends on" : "s depend on");
    fputc('\n', out);
}

static void print(FILE *out, struct adapter *a, const struct open_objects *all, uint64_t waited_ms)
{
    char name[IF_NAMESIZE] = "?";

    (void)if_indextoname(a->if_index, name);
    fprintf(out, "openndk: ondk_close_adapter (%s) has waited %llu ms for ", name, (unsigned long long)waited_ms);
    for (int t = 0, before = 0; t < TYPES; t++) {
        if (all->counts[t])
            fprintf(out, "%s%u %s%s", before++ ? ", " : "", all->counts[t], types[t].name, plural(all->counts[t]));
    }
    fprintf(out, all->total ? "\n" : "a callback that has not returned\n");
    for (int t = 0; t < TYPES; t++) {
        for (unsigned i = 0; i < all->shown_counts[t]; i++)
            print_object(out, types[t].name, &all->shown[t][i]);
        if (all->counts[t] > all->shown_counts[t])
            fprintf(out, "    and %u more\n", all->counts[t] - all->shown_counts[t]);
    }
    if (host_is_fabric_thread())
        fprintf(out, "    it was called in a callback: if that is one of this adapter's, it waits for itself\n");
}

void close_report_print(struct adapter *a, uint64_t waited_ms)
{
    struct open_objects *all = calloc(1, sizeof(*all));
    char *text = NULL;
    size_t size;
    FILE *out = all ? open_memstream(&text, &size) : NULL;

    if (out) {
        collect(a, all);
        print(out, a, all, waited_ms);
        if (!fclose(out))
            fputs(text, stderr);
        fflush(stderr);
    }
    free(text);
    free(all);
}
