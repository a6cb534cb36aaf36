/* SPDX-License-Identifier: MIT */
/* Parses hosts and ports of a command line: see endpoint.h. */
#include "endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "number.h"
#include "terminal.h"

/* Parses a port number, or the name of a TCP service in /etc/services. */
static const char *endpoint_parse_port(struct endpoint *e, const char *text)
{
    struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
    uint32_t number;

    if (number_parse(text, 0, UINT16_MAX, &number)) {
        e->port = (uint16_t)number;
        return NULL;
    }
    /* getaddrinfo accepts a number above 65535, and reduces the number modulo 65536. So only a name is passed to it. */
    if (!isalpha((unsigned char)text[0]))
        return "the port must be a number from 0 to 65535 or the name of a service";
    if (getaddrinfo(NULL, text, &hints, &found) != 0)
        return "the port is no number, and /etc/services has no TCP service of that name";
    e->port = ntohs(((struct sockaddr_in *)found->ai_addr)->sin_port);
    freeaddrinfo(found);
    return NULL;
}

/* Checks a host. A host with a colon must be an IPv6 address, and the address's zone must be an interface. */
static const char *endpoint_check_host(const struct endpoint *e)
{
    struct sockaddr_storage ignored;
    const char *zone = strchr(e->host, '%');

    if (!e->host[0])
        return "the host is missing";
    if (!strchr(e->host, ':')) {
        for (const char *c = e->host; *c; c++)
            if (!isalnum((unsigned char)*c) && !strchr("-._", *c) && !((unsigned char)*c & 0x80))
                return "the host is neither an address nor a name";
        return NULL;
    }
    if (address_parse(e->host, false, &ignored))
        return NULL;
    if (zone && if_nametoindex(zone + 1) == 0)
        return "the address has a zone (behind '%') that is no interface of this machine";
    return "the host is not an IPv6 address";
}

const char *endpoint_parse(struct endpoint *e, const char *given, bool has_port)
{
    const char *error, *colon, *text = given;
    size_t len;

    *e = (struct endpoint){ 0 };
    if (strlen(text) >= sizeof e->text)
        return "it is too long";
    len = strlen(text);
    if (has_port) {
        colon = strrchr(text, ':');
        if (!colon || strchr(colon, ']'))
            return "the port is missing: HOST:PORT or [IPV6]:PORT is expected";
        error = endpoint_parse_port(e, colon + 1);
        if (error)
            return error;
        len = (size_t)(colon - text);
    }
    if (text[0] == '[') {
        if (len < 2 || text[len - 1] != ']')
            return "the bracket is not closed";
        text++;
        len -= 2;
    }
    if (len >= sizeof e->host)
        return "the host is too long";
    memcpy(e->host, text, len);
    error = endpoint_check_host(e);
    if (!error)
        snprintf(e->text, sizeof e->text, "%s", given);
    return error;
}

static bool endpoint_has_address(const struct endpoint *e, const struct sockaddr_storage *a)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (memcmp(&e->addresses[i], a, sizeof *a) == 0)
            return true;
    return false;
}

bool endpoint_resolve(struct endpoint *e, char *error, size_t room)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
    int failure;

    progress_begin("looking up %s", e->host);
    failure = getaddrinfo(e->host, NULL, &hints, &found);
    progress_end();
    e->count = 0;
    if (failure) {
        snprintf(error, room, "the host '%s' has no known address: %s", e->host,
                 failure == EAI_SYSTEM ? strerror(errno) : gai_strerror(failure));
        return false;
    }
    for (struct addrinfo *f = found; f && e->count < ENDPOINT_MAX_ADDRESSES; f = f->ai_next) {
        struct sockaddr_storage a = { 0 };

        if (f->ai_family != AF_INET && f->ai_family != AF_INET6)
            continue;
        memcpy(&a, f->ai_addr, f->ai_addrlen);
        address_set_port(&a, e->port);
        if (!endpoint_has_address(e, &a))
            e->addresses[e->count++] = a;
    }
    freeaddrinfo(found);
    if (!e->count)
        snprintf(error, room, "the host '%s' has neither an IPv4 nor an IPv6 address", e->host);
    return e->count > 0;
}
