/* SPDX-License-Identifier: MIT */
/* Filters objects: see filter.h. */
#include "filter.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "address.h"

static const char *const addressed_lists[] = { "connections", "listeners", "shared_endpoints", NULL };
static const char *const other_lists[] = {
    "protection_domains", "completion_queues", "queue_pairs", "shared_receive_queues",
    "memory_regions",     "memory_windows",    NULL
};

static bool address_is_host(const struct sockaddr_storage *a, const struct sockaddr_storage *host)
{
    if (a->ss_family != host->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr == ((const struct sockaddr_in *)host)->sin_addr.s_addr;
    return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)host)->sin6_addr, 16) ==
           0;
}

/* Returns true if the address in the object's member `member` matches the option --address. */
static bool filter_has_address(const struct options *o, const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    struct sockaddr_storage a;

    if (!text || !address_parse(text, true, &a) || (o->address.port && o->address.port != address_port(&a)))
        return false;
    for (uint32_t i = 0; i < o->address.count; i++)
        if (address_is_host(&a, &o->address.addresses[i]))
            return true;
    return o->address.count == 0;
}

static bool filter_keeps_address(const struct options *o, const json_t *object)
{
    return filter_has_address(o, object, "local") || filter_has_address(o, object, "foreign");
}

static bool filter_keeps_state(const struct options *o, const json_t *object)
{
    const char *state = json_string_value(json_object_get(object, "state"));

    for (unsigned i = 0; i < o->n_states; i++)
        if (state && strcasecmp(state, o->states[i]) == 0)
            return true;
    return o->n_states == 0;
}

typedef bool filter_keeps(const void *context, const json_t *object);

/*
 * Removes the objects for which `keeps` returns false. Fills a new list, because a removal from the old list would move
 * all later objects. Returns false if out of memory.
 */
static bool filter_list(json_t *list, filter_keeps *keeps, const void *context)
{
    json_t *kept = json_array(), *object;
    bool ok = kept;
    size_t i;

    json_array_foreach(list, i, object)
    {
        if (keeps(context, object))
            ok = json_array_append(kept, object) == 0 && ok;
    }
    if (json_is_array(list))
        ok = json_array_clear(list) == 0 && json_array_extend(list, kept) == 0 && ok;
    json_decref(kept);
    return ok;
}

static bool filter_by_address(const void *options, const json_t *object)
{
    return filter_keeps_address(options, object);
}

static bool filter_by_state(const void *options, const json_t *object)
{
    return filter_keeps_state(options, object);
}

/* ---- Objects without an address --------------------------------------------------------------------------------- */

enum { MAX_NUMBER = 24 };

/*
 * The context of filter_by_use. That function keeps an object if the number in the object's member `key` is one of
 * `numbers`.
 */
struct filter_used {
    const char *key;
    json_t *numbers; /* a set: an object with a member for each number */
};

static void filter_number(const json_t *object, const char *member, char text[MAX_NUMBER])
{
    snprintf(text, MAX_NUMBER, "%lld", (long long)json_integer_value(json_object_get(object, member)));
}

static bool filter_by_use(const void *used, const json_t *object)
{
    const struct filter_used *u = used;
    char text[MAX_NUMBER];

    filter_number(object, u->key, text);
    return json_object_get(u->numbers, text);
}

/*
 * Removes the objects of `list` to which no entry of `users` refers. An entry refers to an object if its member `first`
 * or `second` is equal to the object's member `key`. Returns false if out of memory.
 */
static bool filter_used_by(json_t *list, const char *key, const json_t *users, const char *first, const char *second)
{
    struct filter_used used = { key, json_object() };
    char text[MAX_NUMBER];
    const json_t *user;
    bool ok = used.numbers;
    size_t i;

    json_array_foreach(users, i, user)
    {
        filter_number(user, first, text);
        ok = json_object_set_new(used.numbers, text, json_true()) == 0 && ok;
        filter_number(user, second, text);
        ok = json_object_set_new(used.numbers, text, json_true()) == 0 && ok;
    }
    ok = filter_list(list, filter_by_use, &used) && ok;
    json_decref(used.numbers);
    return ok;
}

/* ---- Adapters --------------------------------------------------------------------------------------------------- */

static bool filter_adapter_by_address(const struct options *o, json_t *a)
{
    json_t *qps = json_object_get(a, "queue_pairs"), *pds = json_object_get(a, "protection_domains");
    bool ok = true;

    for (const char *const *l = addressed_lists; *l; l++)
        ok = filter_list(json_object_get(a, *l), filter_by_address, o) && ok;
    ok = filter_used_by(qps, "id", json_object_get(a, "connections"), "qp", "qp") && ok;
    ok = filter_used_by(pds, "id", qps, "pd", "pd") && ok;
    ok = filter_used_by(json_object_get(a, "completion_queues"), "id", qps, "receive_cq", "initiator_cq") && ok;
    ok = filter_used_by(json_object_get(a, "shared_receive_queues"), "id", qps, "srq", "srq") && ok;
    ok = filter_used_by(json_object_get(a, "memory_regions"), "pd", pds, "id", "id") && ok;
    return filter_used_by(json_object_get(a, "memory_windows"), "pd", pds, "id", "id") && ok;
}

static bool filter_adapter_by_state(const struct options *o, json_t *a)
{
    bool ok = true;

    for (const char *const *l = addressed_lists; *l; l++)
        ok = filter_list(json_object_get(a, *l), filter_by_state, o) && ok;
    for (const char *const *l = other_lists; *l; l++)
        ok = filter_list(json_object_get(a, *l), filter_by_state, o) && ok;
    return ok;
}

bool filter_apply(const struct options *o, json_t *processes)
{
    json_t *process, *adapter;
    bool ok = true;
    size_t i, k;

    json_array_foreach(processes, i, process)
    {
        if (o->has_address)
            ok = filter_list(json_object_get(process, "failures"), filter_by_address, o) && ok;
        json_array_foreach(json_object_get(process, "adapters"), k, adapter)
        {
            if (o->has_address)
                ok = filter_adapter_by_address(o, adapter) && ok;
            if (o->n_states)
                ok = filter_adapter_by_state(o, adapter) && ok;
        }
    }
    return ok;
}
