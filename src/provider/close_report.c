/* SPDX-License-Identifier: MIT */
/*
 * The report about an adapter's close that has to wait: how many objects of each type are not closed, and what the
 * first few of each type wait for. The invariant: the objects are copied while the lock of the adapter's lists is held,
 * and written to the log after the lock is released.
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
#include "provider/log.h"
#include "provider/provider.h"

enum { MAX_SHOWN = 4, MAX_WHERE = 3 * ADDR_TEXT };

/* A type comes before the types that its objects depend on. */
/* clang-format off */
static const struct {
    NDK_OBJECT_TYPE type;
    const char *name;
} report_types[] = {
    {NdkObjectTypeConnector, "connector"}, {NdkObjectTypeListener, "listener"},
    {NdkObjectTypeSharedEndpoint, "shared endpoint"}, {NdkObjectTypeQp, "QP"}, {NdkObjectTypeSrq, "SRQ"},
    {NdkObjectTypeCq, "CQ"}, {NdkObjectTypeMw, "MW"}, {NdkObjectTypeMr, "MR"}, {NdkObjectTypePd, "PD"},
};
/* clang-format on */
enum { N_TYPES = sizeof(report_types) / sizeof(report_types[0]) };

struct shown_object {
    const void *object; /* the consumer's pointer */
    bool closed, ending;
    unsigned requests, callbacks, dependents;
    char where[MAX_WHERE]; /* state and addresses; may be empty */
};

struct open_objects {
    unsigned counts[N_TYPES], shown_counts[N_TYPES], total;
    struct shown_object shown[N_TYPES][MAX_SHOWN];
};

static const char *report_address_text(const struct sockaddr_storage *from, char text[ADDR_TEXT])
{
    struct addr a;

    return addr_from(&a, from, sizeof(*from)) ? addr_text(&a, text) : "no address";
}

/* Writes the object's state and addresses. Requires the lock of the adapter's lists. */
static void report_describe_where(struct object *o, char *where)
{
    char local[ADDR_TEXT], foreign[ADDR_TEXT];
    union live_entry e;

    where[0] = '\0';
    if (!o->type->describe || !o->type->describe(o, &e))
        return;
    if (o->type->ndk_type == NdkObjectTypeConnector)
        snprintf(where, MAX_WHERE, " %s, %s to %s,", e.connection.state,
                 report_address_text(&e.connection.local, local), report_address_text(&e.connection.foreign, foreign));
    else if (o->type->ndk_type == NdkObjectTypeListener)
        snprintf(where, MAX_WHERE, " %s, %s,", e.listener.state, report_address_text(&e.listener.local, local));
    else if (o->type->ndk_type == NdkObjectTypeSharedEndpoint)
        snprintf(where, MAX_WHERE, " %s,", report_address_text(&e.endpoint.local, local));
}

static unsigned report_ref_count(struct object *o, enum object_ref kind)
{
    return atomic_load_explicit(&o->kinds[kind], memory_order_relaxed);
}

static void report_describe(struct object *o, struct shown_object *s)
{
    *s = (struct shown_object){
        .object = o->header,
        .closed = object_is_closing(o),
        .ending = o->live_hidden,
        .requests = report_ref_count(o, REF_REQUEST),
        .callbacks = report_ref_count(o, REF_CALLBACK),
        .dependents = report_ref_count(o, REF_CHILD),
    };
    if (!s->ending)
        report_describe_where(o, s->where);
}

static void report_collect(struct adapter *a, struct open_objects *all)
{
    struct object *o;

    spin_lock(&a->live.lock);
    for (int t = 0; t < N_TYPES; t++) {
        LIST_FOREACH (o, &a->live.lists[report_types[t].type], live_link) {
            if (all->shown_counts[t] < MAX_SHOWN)
                report_describe(o, &all->shown[t][all->shown_counts[t]++]);
            all->counts[t]++;
            all->total++;
        }
    }
    spin_unlock(&a->live.lock);
}

static const char *report_plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static void report_print_object(FILE *out, const char *name, const struct shown_object *s)
{
    fprintf(out, "    %s %p:%s", name, s->object, s->where);
    if (s->ending) {
        fprintf(out, " closed; its close completion callback has not returned\n");
        return;
    }
    fprintf(out, s->closed ? " close is pending" : " not closed");
    if (s->requests)
        fprintf(out, "; %u request%s pending", s->requests, report_plural(s->requests));
    if (s->callbacks)
        fprintf(out, "; %u callback%s not returned", s->callbacks, s->callbacks == 1 ? " has" : "s have");
    if (s->dependents)
        fprintf(out, "; %u object%s it", s->dependents, s->dependents == 1 ? " depends on" : "s depend on");
    fputc('\n', out);
}

static void report_print(FILE *out, struct adapter *a, const struct open_objects *all, uint64_t waited_ms)
{
    char name[IF_NAMESIZE] = "?";

    (void)if_indextoname(a->if_index, name);
    fprintf(out, "ondk_close_adapter (%s) has waited %llu ms for ", name, (unsigned long long)waited_ms);
    for (int t = 0, before = 0; t < N_TYPES; t++) {
        if (all->counts[t])
            fprintf(out, "%s%u %s%s", before++ ? ", " : "", all->counts[t], report_types[t].name,
                    report_plural(all->counts[t]));
    }
    fprintf(out, all->total ? "\n" : "a callback that has not returned\n");
    for (int t = 0; t < N_TYPES; t++) {
        for (unsigned i = 0; i < all->shown_counts[t]; i++)
            report_print_object(out, report_types[t].name, &all->shown[t][i]);
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
        report_collect(a, all);
        report_print(out, a, all, waited_ms);
        if (!fclose(out))
            log_lines(ONDK_LOG_WARN, text);
    }
    free(text);
    free(all);
}
