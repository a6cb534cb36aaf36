/* SPDX-License-Identifier: MIT */
/* Addresses of a driver's, and the host's: see address_map.h. */
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "openndk/wdk.h"
#include "wdk/common/address_map.h"

enum { ENTRIES_MOST = 64, WINDOWS_INET6 = 23, AT_V4 = 4, AT_V6 = 8 }; /* where the address is in a sockaddr */

struct address {
    size_t size; /* 4 or 16 */
    uint8_t octets[16];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct address driver, host;
} addresses[ENTRIES_MOST];
static unsigned address_count;

static bool parse(const char *text, struct address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, out->octets) == 1)
        out->size = 4;
    else if (inet_pton(AF_INET6, text, out->octets) == 1)
        out->size = 16;
    return out->size > 0;
}

static bool equal(const struct address *a, const struct address *b)
{
    return a->size == b->size && memcmp(a->octets, b->octets, a->size) == 0;
}

bool ondk_wdk_map_address(const char *driver_address, const char *host_address)
{
    struct address driver, host;
    unsigned i = 0;
    bool fits;

    if (!parse(driver_address, &driver) || !parse(host_address, &host) || driver.size != host.size)
        return false;
    pthread_mutex_lock(&lock);
    while (i < address_count && !equal(&addresses[i].driver, &driver))
        i++;
    fits = i < ENTRIES_MOST;
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

/* Where the address is in a sockaddr, and its size; NULL: neither IPv4 nor IPv6, or too short. */
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

static void exchange(void *sockaddr, size_t length, bool to_host)
{
    size_t size = 0;
    uint8_t *at = address_in(sockaddr, length, &size);
    bool done = !at;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < address_count && !done; i++) {
        const struct address *from = to_host ? &addresses[i].driver : &addresses[i].host;
        const struct address *to = to_host ? &addresses[i].host : &addresses[i].driver;

        done = from->size == size && memcmp(at, from->octets, size) == 0;
        if (done)
            memcpy(at, to->octets, size);
    }
    pthread_mutex_unlock(&lock);
}

void address_map_to_host(void *sockaddr, size_t length)
{
    exchange(sockaddr, length, true);
}

void address_map_to_driver(void *sockaddr, size_t length)
{
    exchange(sockaddr, length, false);
}
