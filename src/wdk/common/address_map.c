/* SPDX-License-Identifier: MIT */
/* Maps drivers' addresses to the host's addresses and back: see address_map.h. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "openndk/wdk.h"
#include "wdk/common/address_map.h"

enum { MAX_ENTRIES = 64, WINDOWS_INET6 = 23 };
enum { AT_V4 = 4, AT_V6 = 8 }; /* offsets of the address in a sockaddr_in and a sockaddr_in6 */

struct address {
    size_t size; /* 4 or 16 */
    uint8_t bytes[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct address driver, host;
} addresses[MAX_ENTRIES];
static unsigned address_count;

static bool address_parse(const char *text, struct address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, out->bytes) == 1)
        out->size = 4;
    else if (inet_pton(AF_INET6, text, out->bytes) == 1)
        out->size = 16;
    return out->size > 0;
}

static bool address_is_equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

bool ondk_wdk_map_address(const char *driver_address, const char *host_address)
{
    struct address driver, host;
    unsigned i = 0;
    bool fits;

    if (!address_parse(driver_address, &driver) || !address_parse(host_address, &host) || driver.size != host.size)
        return false;
    pthread_mutex_lock(&lock);
    while (i < address_count && !address_is_equal(&addresses[i].driver, &driver))
        i++;
    fits = i < MAX_ENTRIES;
    if (fits) {
        addresses[i].driver = driver;
        addresses[i].host = host;
        if (i == address_count)
            address_count++;
    }
    pthread_mutex_unlock(&lock);
    return fits;
}

bool address_map_has_entries(void)
{
    bool any;

    pthread_mutex_lock(&lock);
    any = address_count > 0;
    pthread_mutex_unlock(&lock);
    return any;
}

/* Returns the address in a sockaddr and sets *size. Returns NULL if the family or the length is wrong. */
static uint8_t *address_in(void *sockaddr, size_t length, size_t *size)
{
    uint16_t family = 0;

    if (!sockaddr || length < sizeof family)
        return NULL;
    memcpy(&family, sockaddr, sizeof family);
    if (family == AF_INET && length >= AT_V4 + 4) {
        *size = 4;
        return (uint8_t *)sockaddr + AT_V4;
    }
    if ((family == AF_INET6 || family == WINDOWS_INET6) && length >= AT_V6 + 16) {
        *size = 16;
        return (uint8_t *)sockaddr + AT_V6;
    }
    return NULL;
}

static void address_exchange(void *sockaddr, size_t length, bool to_host)
{
    size_t size = 0;
    uint8_t *at = address_in(sockaddr, length, &size);
    bool done = !at;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < address_count && !done; i++) {
        const struct address *from = to_host ? &addresses[i].driver : &addresses[i].host;
        const struct address *to = to_host ? &addresses[i].host : &addresses[i].driver;

        done = from->size == size && memcmp(at, from->bytes, size) == 0;
        if (done)
            memcpy(at, to->bytes, size);
    }
    pthread_mutex_unlock(&lock);
}

void address_map_to_host(void *sockaddr, size_t length)
{
    address_exchange(sockaddr, length, true);
}

void address_map_to_driver(void *sockaddr, size_t length)
{
    address_exchange(sockaddr, length, false);
}

static void address_replace_family(void *sockaddr, size_t length, uint16_t from, uint16_t to)
{
    uint16_t family;

    if (!sockaddr || length < sizeof family)
        return;
    memcpy(&family, sockaddr, sizeof family);
    if (family == from)
        memcpy(sockaddr, &to, sizeof to);
}

void address_family_to_host(void *sockaddr, size_t length)
{
    address_replace_family(sockaddr, length, WINDOWS_INET6, AF_INET6);
}

void address_family_to_driver(void *sockaddr, size_t length)
{
    address_replace_family(sockaddr, length, AF_INET6, WINDOWS_INET6);
}
