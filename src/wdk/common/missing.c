/* SPDX-License-Identifier: MIT */
/* Reports interfaces and addresses that a driver uses and that the host does not have: see missing.h. */
#include "wdk/common/missing.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/interface_name.h"
#include "openndk/adapter.h"
#include "wdk/common/check.h"

enum { MAX_MESSAGES = 16, MAX_INTERFACES = 256, MAX_FOUND = 8, WINDOWS_INET6 = 23 };
enum { AT_V4 = 4, AT_V6 = 8 }; /* offsets of the address in a sockaddr_in and a sockaddr_in6 */

struct address {
    size_t size; /* 4 or 16; 0: no address */
    uint8_t bytes[16];
};

static atomic_bool isolated;

/* Guards the three arrays. No other lock is acquired while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct address found[MAX_FOUND]; /* ring buffer of the last addresses that were found on the host */
static unsigned found_count;
static struct address named_addresses[MAX_MESSAGES];
static uint32_t named_indexes[MAX_MESSAGES];
static unsigned named_address_count, named_index_count;

void missing_set_isolated(void)
{
    atomic_store(&isolated, true);
}

/* Returns the entries of the interfaces that have an address, or NULL. The caller frees them. */
static ondk_adapter_entry_t *missing_list(uint32_t *count)
{
    ondk_adapter_entry_t *all = calloc(MAX_INTERFACES, sizeof *all);

    *count = all ? ondk_enumerate_adapters(all, MAX_INTERFACES) : 0;
    return all;
}

/* ---- Interfaces ------------------------------------------------------------------------------------------------- */

/* Returns true if a message may mention the index, and no message has mentioned it yet. */
static bool missing_name_index(uint32_t index)
{
    bool is_new;

    pthread_mutex_lock(&lock);
    is_new = named_index_count < MAX_MESSAGES;
    for (unsigned i = 0; i < named_index_count; i++)
        is_new = is_new && named_indexes[i] != index;
    if (is_new)
        named_indexes[named_index_count++] = index;
    pthread_mutex_unlock(&lock);
    return is_new;
}

static void missing_print_interfaces(FILE *out)
{
    const char *separator = " There are";
    uint32_t count;
    ondk_adapter_entry_t *all = missing_list(&count);

    for (uint32_t i = 0; i < count && i < MAX_INTERFACES; i++) {
        fprintf(out, "%s %u (%s)", separator, all[i].if_index, all[i].name);
        separator = ",";
    }
    fprintf(out, "%s", count ? " with an address." : " No interface has an address.");
    free(all);
}

void missing_report_interface(const char *routine, uint32_t driver_index, uint32_t host_index)
{
    FILE *out = report_output();
    char name[IF_NAMESIZE];

    if (!check_on() || !missing_name_index(driver_index))
        return;
    fprintf(out, "%s: IfIndex %u", routine, driver_index);
    if (host_index != driver_index)
        fprintf(out, ", which is mapped to %u,", host_index);
    interface_name(host_index, name);
    if (name[0]) {
        fprintf(out, " (%s) has no address.\n", name);
    } else {
        fprintf(out, " is no interface of this network namespace.");
        missing_print_interfaces(out);
        if (driver_index)
            fprintf(out,
                    " Options of ndkrun: --net %u=ADDRESS/PREFIX makes one, --map %u=NAME uses one of this machine.",
                    driver_index, driver_index);
        fprintf(out, "\n");
    }
    fflush(out);
}

/* ---- Addresses -------------------------------------------------------------------------------------------------- */

/*
 * Returns the address in a sockaddr, or an address of size 0 if the sockaddr has none. An IPv4-mapped IPv6 address
 * (::ffff:a.b.c.d), which a socket for both families uses, is returned as the IPv4 address that it contains.
 */
static struct address missing_address(const void *sockaddr, size_t length)
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    struct address a = { .size = 0 };
    uint16_t family = 0;

    if (sockaddr && length >= sizeof family)
        memcpy(&family, sockaddr, sizeof family);
    if (family == AF_INET && length >= AT_V4 + 4) {
        a.size = 4;
        memcpy(a.bytes, (const uint8_t *)sockaddr + AT_V4, 4);
    } else if ((family == AF_INET6 || family == WINDOWS_INET6) && length >= AT_V6 + 16) {
        a.size = 16;
        memcpy(a.bytes, (const uint8_t *)sockaddr + AT_V6, 16);
    }
    if (a.size == 16 && !memcmp(a.bytes, mapped, sizeof mapped)) {
        a.size = 4;
        memcpy(a.bytes, a.bytes + sizeof mapped, 4);
    }
    return a;
}

/*
 * Returns true if the address need not belong to an interface: an unspecified, loopback, group or broadcast address.
 * Also returns true if the size is 0, which means no address.
 */
static bool missing_is_exempt(const struct address *a)
{
    static const uint8_t none[16];

    if (!a->size || !memcmp(a->bytes, none, a->size))
        return true;
    if (a->size == 4)
        return a->bytes[0] == 127 || a->bytes[0] >= 224;
    return a->bytes[0] == 0xff || (!memcmp(a->bytes, none, 15) && a->bytes[15] == 1);
}

static bool missing_is_equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && !memcmp(a->bytes, b->bytes, a->size);
}

static bool missing_contains(const struct address *all, unsigned count, const struct address *a)
{
    for (unsigned i = 0; i < count; i++)
        if (missing_is_equal(&all[i], a))
            return true;
    return false;
}

static bool missing_was_found(const struct address *a)
{
    bool was_found;

    pthread_mutex_lock(&lock);
    was_found = missing_contains(found, found_count < MAX_FOUND ? found_count : MAX_FOUND, a);
    pthread_mutex_unlock(&lock);
    return was_found;
}

/*
 * Returns true if an interface has the address. Also returns true if the list of interfaces, or the list of an
 * interface's addresses, may be incomplete.
 */
static bool missing_host_has(const struct address *a)
{
    uint32_t count;
    ondk_adapter_entry_t *all = missing_list(&count);
    bool has = !all || count > MAX_INTERFACES;

    for (uint32_t i = 0; !has && i < count; i++) {
        uint32_t listed = sizeof all[i].addresses / sizeof all[i].addresses[0];

        for (uint32_t k = 0; !has && k < all[i].address_count && k < listed; k++) {
            struct address one = missing_address(&all[i].addresses[k], sizeof all[i].addresses[k]);

            has = missing_is_equal(&one, a);
        }
        has = has || all[i].address_count >= listed;
    }
    free(all);
    return has;
}

static void missing_add_found(const struct address *a)
{
    pthread_mutex_lock(&lock);
    found[found_count++ % MAX_FOUND] = *a;
    pthread_mutex_unlock(&lock);
}

/* Returns true if a message may mention the address, and no message has mentioned it yet. */
static bool missing_name_address(const struct address *a)
{
    bool is_new;

    pthread_mutex_lock(&lock);
    is_new = named_address_count < MAX_MESSAGES && !missing_contains(named_addresses, named_address_count, a);
    if (is_new)
        named_addresses[named_address_count++] = *a;
    pthread_mutex_unlock(&lock);
    return is_new;
}

void missing_check_address(const char *routine, const void *sockaddr, size_t length, bool is_local)
{
    struct address a = missing_address(sockaddr, length);
    char text[INET6_ADDRSTRLEN] = "";
    unsigned prefix = a.size == 4 ? 24 : 64;

    if (!check_on() || (!is_local && !atomic_load(&isolated)) || missing_is_exempt(&a) || missing_was_found(&a))
        return;
    if (missing_host_has(&a)) {
        missing_add_found(&a);
        return;
    }
    if (!missing_name_address(&a))
        return;
    (void)inet_ntop(a.size == 4 ? AF_INET : AF_INET6, a.bytes, text, sizeof text);
    fprintf(report_output(),
            "%s: no interface has the %s address %s. Option of ndkrun: --net INDEX=%s/%u gives it to an interface\n",
            routine, is_local ? "local" : "destination", text, text, prefix);
    fflush(report_output());
}
