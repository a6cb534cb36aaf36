/* SPDX-License-Identifier: MIT */
/* Calls the host's resolver: see names_host.h. Flags for which the host has no equivalent are refused. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "wdk/wsk/names_host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static const struct flag {
    uint32_t windows;
    int host;
} address_flags[] = {
    { 0x0001, AI_PASSIVE },     { 0x0002, AI_CANONNAME },  { 0x0004, AI_NUMERICHOST }, { 0x0008, AI_NUMERICSERV },
    { 0x0100, AI_ALL },         { 0x0400, AI_ADDRCONFIG }, { 0x0800, AI_V4MAPPED },
}, name_flags[] = {
    { 0x01, NI_NOFQDN }, { 0x02, NI_NUMERICHOST }, { 0x04, NI_NAMEREQD }, { 0x08, NI_NUMERICSERV }, { 0x10, NI_DGRAM },
};

/* Translates Windows' flags to the host's. Returns false if a flag has no equivalent on the host. */
static bool wsk_names_translate_flags(const struct flag *flags, size_t count, uint32_t windows, int *host)
{
    *host = 0;
    for (size_t i = 0; i < count; i++)
        if (windows & flags[i].windows) {
            *host |= flags[i].host;
            windows &= ~flags[i].windows;
        }
    return !windows;
}

static enum wsk_names_result wsk_names_result_of(int error)
{
    switch (error) {
    case 0:
        return WSK_NAMES_FOUND;
    case EAI_MEMORY:
    case EAI_OVERFLOW:
        return WSK_NAMES_NO_MEMORY;
    case EAI_BADFLAGS:
    case EAI_FAMILY:
    case EAI_SOCKTYPE:
        return WSK_NAMES_INVALID;
    default:
        return WSK_NAMES_NO_MATCH;
    }
}

static bool wsk_names_is_internet(const struct addrinfo *a)
{
    return a->ai_family == AF_INET || a->ai_family == AF_INET6;
}

static struct wsk_names *wsk_names_collect(const struct addrinfo *all)
{
    struct wsk_names *names;
    size_t count = 0;

    for (const struct addrinfo *a = all; a; a = a->ai_next)
        count += wsk_names_is_internet(a);
    names = calloc(1, sizeof *names + count * sizeof names->entries[0]);
    if (!names)
        return NULL;
    if (all->ai_canonname)
        snprintf(names->canonical, sizeof names->canonical, "%s", all->ai_canonname);
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        struct wsk_names_entry *e = &names->entries[names->count];

        if (!wsk_names_is_internet(a))
            continue;
        wsk_address_from_host(&e->address, a->ai_addr);
        e->family = a->ai_family == AF_INET6 ? WSK_INET6 : WSK_INET;
        e->type = a->ai_socktype;
        e->protocol = a->ai_protocol;
        names->count++;
    }
    return names;
}

enum wsk_names_result wsk_names_host_resolve(const char *node, const char *service, const struct wsk_names_hints *hints,
                                             struct wsk_names **names)
{
    struct addrinfo wanted = { .ai_socktype = hints->type, .ai_protocol = hints->protocol }, *all = NULL;
    enum wsk_names_result result;

    wanted.ai_family = hints->family == WSK_INET6 ? AF_INET6 : hints->family == WSK_INET ? AF_INET : AF_UNSPEC;
    if (!wsk_names_translate_flags(address_flags, sizeof address_flags / sizeof address_flags[0], hints->flags,
                                   &wanted.ai_flags))
        return WSK_NAMES_INVALID;
    result = wsk_names_result_of(getaddrinfo(node, service, &wanted, &all));
    if (result != WSK_NAMES_FOUND)
        return result;
    *names = wsk_names_collect(all);
    freeaddrinfo(all);
    return *names ? WSK_NAMES_FOUND : WSK_NAMES_NO_MEMORY;
}

enum wsk_names_result wsk_names_host_name(const struct wsk_address *address, uint32_t flags,
                                          char node[WSK_NAMES_NODE_SIZE], char service[WSK_NAMES_SERVICE_SIZE])
{
    struct sockaddr_storage host;
    socklen_t size = (socklen_t)wsk_address_to_host(&host, address);
    int wanted;

    if (!wsk_names_translate_flags(name_flags, sizeof name_flags / sizeof name_flags[0], flags, &wanted))
        return WSK_NAMES_INVALID;
    return wsk_names_result_of(getnameinfo((const struct sockaddr *)&host, size, node, WSK_NAMES_NODE_SIZE, service,
                                           WSK_NAMES_SERVICE_SIZE, wanted));
}
