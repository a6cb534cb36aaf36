/* SPDX-License-Identifier: MIT */
/* ndkinfo: lists the NDK adapters of this machine. options.c has the command line. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"
#include "adapter_limits.h"
#include "address.h"
#include "command.h"
#include "consumer/provider.h"
#include "csv_cell.h"
#include "endpoint.h"
#include "interface.h"
#include "json_output.h"
#include "options.h"
#include "print.h"
#include "base/printable.h"
#include "provider_options.h"

enum { MAX_TEXT = 256, MAX_ADDRESSES_TEXT = 2048, JSON_FORMAT = 1 };

/* ---- texts ---- */

static const char *adapter_state(const struct adapter *a)
{
    if (!a->entry.up)
        return "down";
    return NT_SUCCESS(a->status) ? "up" : "unusable";
}

/*
 * Writes an address without its port. The text is escaped, because it may contain an interface's name, which can be any
 * text.
 */
static void adapter_write_address(const struct sockaddr_storage *address, char *text, size_t room)
{
    char whole[MAX_TEXT], *start = whole, *end;

    address_text(address, whole, sizeof whole);
    end = strrchr(whole, ':');
    if (!end)
        end = whole + strlen(whole);
    if (whole[0] == '[' && end > whole) {
        start++;
        end--;
    }
    (void)printable_copy(text, room, start, (size_t)(end - start));
}

static void adapter_write_addresses(const struct adapter *a, const char *separator, char *text, size_t room)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < a->entry.address_count && len < room; i++) {
        char one[MAX_TEXT];
        adapter_write_address(&a->entry.addresses[i], one, sizeof one);
        len += (size_t)snprintf(text + len, room - len, "%s%s", i ? separator : "", one);
    }
}

static void adapter_write_versions(const struct adapter *a, char *text, size_t room)
{
    size_t len = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < a->n_versions && len < room; i++)
        len += (size_t)snprintf(text + len, room - len, "%s%u.%u", i ? ", " : "", a->versions[i].Major,
                                a->versions[i].Minor);
}

static void adapter_write_speed(const struct adapter *a, char *text, size_t room)
{
    if (!a->speed_mbps)
        snprintf(text, room, "unknown");
    else if (a->speed_mbps % 1000)
        snprintf(text, room, "%u Mbit/s", (unsigned)a->speed_mbps);
    else
        snprintf(text, room, "%u Gbit/s", (unsigned)a->speed_mbps / 1000);
}

/*
 * Returns the name of the profile. Returns NULL if --profile is not given and the provider is not OpenNDK, because the
 * environment configures only OpenNDK.
 */
static const char *ndkinfo_profile(const struct options *o)
{
    const char *profile = o->profile || consumer_foreign_provider() ? o->profile : getenv("ONDK_PROFILE");

    if (!profile && consumer_foreign_provider())
        return NULL;
    return profile && *profile ? profile : "default";
}

/* ---- the forms of output ---- */

static void ndkinfo_print_pair(const char *name, const char *value)
{
    print_line("  %-30s %s", name, value);
}

static void ndkinfo_print_limit(const char *member, const NDK_ADAPTER_INFO *info)
{
    char text[MAX_TEXT];

    for (const struct limit *l = limits; l->member; l++)
        if (strcmp(l->member, member) == 0)
            ndkinfo_print_pair(l->text, limit_write(l, info, text, sizeof text));
}

static void ndkinfo_print_all_limits(const NDK_ADAPTER_INFO *info)
{
    char text[MAX_TEXT], value[MAX_TEXT];

    for (const struct limit *l = limits; l->member; l++) {
        snprintf(value, sizeof value, "%-16s %s", limit_write(l, info, text, sizeof text), l->member);
        ndkinfo_print_pair(l->text, value);
    }
    snprintf(value, sizeof value, "0x%08x       AdapterFlags", (unsigned)info->AdapterFlags);
    ndkinfo_print_pair("capabilities", value);
    for (const struct flag *f = flags; f->name; f++)
        print_line("    %-4s %-36s %s", info->AdapterFlags & f->bit ? "yes" : "no", f->name, f->text);
}

static void ndkinfo_print_block(const struct options *o, const struct adapter *a)
{
    static const char *const members[] = {
        "MaxRegistrationSize",    "MaxTransferLength",    "MaxInboundReadLimit", "MaxOutboundReadLimit",
        "MaxInitiatorQueueDepth", "MaxReceiveQueueDepth", "MaxSrqDepth",         "MaxCqDepth",
        "MaxCallerData"
    };
    char text[MAX_ADDRESSES_TEXT];

    print_title("%s (interface %u)", a->name, (unsigned)a->entry.if_index);
    snprintf(text, sizeof text, "%s%s", adapter_state(a), a->entry.loopback ? ", loopback" : "");
    ndkinfo_print_pair("state", text);
    adapter_write_addresses(a, ", ", text, sizeof text);
    ndkinfo_print_pair("addresses", text);
    if (!NT_SUCCESS(a->status)) {
        snprintf(text, sizeof text, "  %s", consumer_open_adapter_name());
        print_failed(text, a->status);
        return;
    }
    snprintf(text, sizeof text, "%u bytes", (unsigned)a->mtu);
    ndkinfo_print_pair("MTU", text);
    adapter_write_speed(a, text, sizeof text);
    ndkinfo_print_pair("link speed", text);
    adapter_write_versions(a, text, sizeof text);
    ndkinfo_print_pair("NDK versions", text);
    ndkinfo_print_pair("technology", technology_name(a->info.RdmaTechnology));
    if (ndkinfo_profile(o))
        ndkinfo_print_pair("profile", ndkinfo_profile(o));
    if (o->verbose)
        ndkinfo_print_all_limits(&a->info);
    for (size_t i = 0; !o->verbose && i < sizeof members / sizeof members[0]; i++)
        ndkinfo_print_limit(members[i], &a->info);
}

static void ndkinfo_print_row(const struct options *o, const struct adapter *a)
{
    char addresses[MAX_ADDRESSES_TEXT], versions[64], speed[64];

    adapter_write_addresses(a, o->csv ? " " : ", ", addresses, sizeof addresses);
    adapter_write_versions(a, versions, sizeof versions);
    adapter_write_speed(a, speed, sizeof speed);
    if (o->csv) {
        printf("%u,", (unsigned)a->entry.if_index);
        csv_cell_write(stdout, a->name);
        printf(",%s,%u,%u,", adapter_state(a), (unsigned)a->mtu, (unsigned)a->speed_mbps);
        csv_cell_write(stdout, versions);
        printf(",%s,", technology_name(a->info.RdmaTechnology));
        csv_cell_write(stdout, addresses);
        putchar('\n');
    } else {
        print_line("%5u %-15s %-8s %6u %-12s %-9s %s", (unsigned)a->entry.if_index, a->name, adapter_state(a),
                   (unsigned)a->mtu, speed, versions, addresses);
    }
}

static void adapter_info_to_json(const NDK_ADAPTER_INFO *info, json_t *object)
{
    json_t *members = json_object(), *names = json_array();

    for (const struct limit *l = limits; l->member; l++)
        json_object_set_new(members, l->member, json_integer((json_int_t)limit_value(l, info)));
    json_object_set_new(members, "AdapterFlags", json_integer(info->AdapterFlags));
    for (const struct flag *f = flags; f->name; f++)
        if (info->AdapterFlags & f->bit)
            json_array_append_new(names, json_string(f->name));
    json_object_set_new(object, "technology", json_string(technology_name(info->RdmaTechnology)));
    json_object_set_new(object, "info", members);
    json_object_set_new(object, "flags", names);
}

static json_t *adapter_to_json(const struct adapter *a)
{
    json_t *object = json_pack("{s:s,s:I,s:s,s:b,s:I,s:I}", "interface", a->name, "index",
                               (json_int_t)a->entry.if_index, "state", adapter_state(a), "loopback",
                               (int)a->entry.loopback, "mtu", (json_int_t)a->mtu, "speed_mbps",
                               (json_int_t)a->speed_mbps);
    json_t *addresses = json_array(), *versions = json_array();
    char text[MAX_TEXT];

    for (uint32_t i = 0; i < a->entry.address_count; i++) {
        adapter_write_address(&a->entry.addresses[i], text, sizeof text);
        json_array_append_new(addresses, json_string(text));
    }
    for (uint32_t i = 0; i < a->n_versions; i++)
        json_array_append_new(versions, json_sprintf("%u.%u", a->versions[i].Major, a->versions[i].Minor));
    json_object_set_new(object, "addresses", addresses);
    json_object_set_new(object, "status", json_string(ondk_status_name(a->status)));
    json_object_set_new(object, "versions", versions);
    if (NT_SUCCESS(a->status))
        adapter_info_to_json(&a->info, object);
    return object;
}

/* ---- selecting adapters ---- */

/*
 * Returns the index of the interface. `name` is its index, name or address. If there is no such interface, prints a
 * message and returns 0.
 */
static uint32_t ndkinfo_find(const char *name)
{
    struct endpoint e;
    uint32_t index = 0;
    char error[512];
    const char *wrong;

    if (!interface_parse(name, &index))
        return index;
    wrong = endpoint_parse(&e, name, false);
    if (!wrong && !endpoint_resolve(&e, error, sizeof error))
        wrong = error;
    for (uint32_t i = 0; !wrong && i < e.count && !index; i++)
        index = interface_of_address(&e.addresses[i]);
    if (!index)
        fprintf(stderr, "ndkinfo: '%s' is neither the index nor the name nor an address of an interface%s%s\n", name,
                wrong ? ": " : "", wrong ? wrong : "");
    return index;
}

static bool ndkinfo_is_wanted(const struct options *o, const uint32_t *indexes, uint32_t index)
{
    for (uint32_t i = 0; i < o->n_names; i++)
        if (indexes[i] == index)
            return true;
    return o->n_names == 0;
}

/*
 * Returns true if the interface of at least one name is not in the list. Prints a message for each of these names,
 * unless ndkinfo_find has printed one for the name.
 */
static bool ndkinfo_report_missing(const struct options *o, const uint32_t *indexes,
                                   const ondk_adapter_entry_t *entries, uint32_t count)
{
    bool missing = false;

    for (uint32_t i = 0; i < o->n_names; i++) {
        bool listed = false;
        for (uint32_t k = 0; k < count; k++)
            listed = listed || entries[k].if_index == indexes[i];
        if (indexes[i] && !listed)
            fprintf(stderr, "ndkinfo: '%s' has no adapter: the interface does not exist or has no address\n",
                    o->names[i]);
        missing = missing || !listed;
    }
    return missing;
}

/* Prints the JSON object. If it was not written completely, prints a message and returns false. */
static bool ndkinfo_print_json(const struct options *o, json_t *adapters)
{
    json_t *whole = json_output_begin("ndkinfo", JSON_FORMAT);
    bool ok;

    provider_options_add(whole);
    json_object_set_new(whole, "profile", json_output_text(ndkinfo_profile(o)));
    json_object_set(whole, "adapters", adapters);
    ok = json_output_write(stdout, whole, JSON_INDENT(2));
    if (!ok)
        fprintf(stderr, "ndkinfo: not all of the JSON object was written\n");
    json_decref(whole);
    return ok;
}

/*
 * Shows the adapters that the user has named, or all. indexes[i] is the interface of the i-th name; 0: there is no such
 * interface, and a message was printed. Returns the exit code.
 */
static int ndkinfo_show(const struct options *o, const uint32_t *indexes)
{
    uint32_t count, shown = 0;
    ondk_adapter_entry_t *entries = interface_list(&count);
    json_t *list = json_array();
    int code = COMMAND_OK;

    if (!o->json && !o->csv)
        provider_options_print();
    if (o->list)
        print_line("%5s %-15s %-8s %6s %-12s %-9s %s", "index", "interface", "state", "MTU", "speed", "versions",
                   "addresses");
    if (o->csv)
        print_line("index,interface,state,mtu,speed_mbps,versions,technology,addresses");
    for (uint32_t i = 0; i < count; i++) {
        struct adapter a;
        if (!ndkinfo_is_wanted(o, indexes, entries[i].if_index))
            continue;
        adapter_read(&a, &entries[i]);
        if (o->n_names && !NT_SUCCESS(a.status))
            code = COMMAND_FAILED;
        if (o->json)
            json_array_append_new(list, adapter_to_json(&a));
        else if (o->list || o->csv)
            ndkinfo_print_row(o, &a);
        else if (shown)
            print_line("%s", "");
        if (!o->json && !o->list && !o->csv)
            ndkinfo_print_block(o, &a);
        shown++;
    }
    if (o->json) {
        if (!ndkinfo_print_json(o, list))
            code = COMMAND_LOST;
    } else if (!shown && !o->n_names && !o->csv) {
        print_line("no network interface has an address");
    }
    if (ndkinfo_report_missing(o, indexes, entries, count) && code == COMMAND_OK)
        code = COMMAND_FAILED;
    json_decref(list);
    free(entries);
    return code;
}

int main(int argc, char **argv)
{
    static struct options o;
    uint32_t indexes[MAX_NAMES] = { 0 };
    int code = options_parse(&o, argc, argv);
    NTSTATUS status;

    if (code >= 0)
        return code;
    status = provider_options_configure(&o.config);
    if (!NT_SUCCESS(status)) {
        print_set_stream(stderr);
        print_failed("ondk_configure", status);
        return COMMAND_FAILED;
    }
    for (uint32_t i = 0; i < o.n_names; i++)
        indexes[i] = ndkinfo_find(o.names[i]);
    code = ndkinfo_show(&o, indexes);
    if (!print_close() && code == COMMAND_OK)
        code = COMMAND_LOST;
    return code;
}
