/* SPDX-License-Identifier: MIT */
/* See filter.h. */
#include "filter.h"

#include <netinet/in.h>
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

/* Returns whether an address, which is a text of a process, matches the option --address. */
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
    return !o->has_address || filter_has_address(o, object, "local") || filter_has_address(o, object, "foreign");
}

static bool filter_keeps_state(const struct options *o, const json_t *object)
{
    const char *state = json_string_value(json_object_get(object, "state"));

    for (unsigned i = 0; i < o->n_states; i++)
        if (state && strcasecmp(state, o->states[i]) == 0)
            return true;
    return o->n_states == 0;
}

/* Collects the objects to keep, and then replaces the list, because each removal would move all objects after it. */
static bool filter_list(const struct options *o, json_t *list, bool by_state, bool by_address)
{
    json_t *kept = json_array(), *object;
    bool ok = kept;
    size_t i;

    json_array_foreach(list, i, object)
    {
        if ((!by_state || filter_keeps_state(o, object)) && (!by_address || filter_keeps_address(o, object)))
            ok = json_array_append(kept, object) == 0 && ok;
    }
    if (json_is_array(list))
        ok = json_array_clear(list) == 0 && json_array_extend(list, kept) == 0 && ok;
    json_decref(kept);
    return ok;
}

static bool filter_adapter(const struct options *o, json_t *adapter)
{
    bool ok = true;

    for (const char *const *l = addressed_lists; *l; l++)
        ok = filter_list(o, json_object_get(adapter, *l), true, true) && ok;
    for (const char *const *l = other_lists; *l; l++)
        ok = filter_list(o, json_object_get(adapter, *l), true, false) && ok;
    return ok;
}

bool filter_apply(const struct options *o, json_t *processes)
{
    json_t *process, *adapter;
    bool ok = true;
    size_t i, k;

    if (!o->n_states && !o->has_address)
        return true;
    json_array_foreach(processes, i, process)
    {
        ok = filter_list(o, json_object_get(process, "failures"), false, true) && ok;
        json_array_foreach(json_object_get(process, "adapters"), k, adapter) ok = filter_adapter(o, adapter) && ok;
    }
    return ok;
}
