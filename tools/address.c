/* SPDX-License-Identifier: MIT */
/* Parses and prints addresses: see address.h. */
#include "address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "number.h"

/* Uses sockaddr_in for both families, because the port has the same position in a sockaddr_in6. */
void address_set_port(struct sockaddr_storage *a, uint16_t port)
{
    ((struct sockaddr_in *)a)->sin_port = htons(port);
}

uint16_t address_port(const struct sockaddr_storage *a)
{
    return ntohs(((const struct sockaddr_in *)a)->sin_port);
}

bool address_parse(const char *text, bool port, struct sockaddr_storage *a)
{
    struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found;
    uint32_t number = 0;
    char host[128];

    if (snprintf(host, sizeof host, "%s", text) >= (int)sizeof host)
        return false;
    if (port) {
        char *colon = strrchr(host, ':');
        /* getaddrinfo does not parse the port, because it would accept a number above 65535. */
        if (!colon || !number_parse(colon + 1, 0, UINT16_MAX, &number))
            return false;
        *colon = '\0';
    }
    if (host[0] == '[') {
        size_t len = strlen(host);
        if (host[len - 1] != ']')
            return false;
        host[len - 1] = '\0';
        memmove(host, host + 1, len - 1);
    }
    if (getaddrinfo(host, NULL, &hints, &found) != 0)
        return false;
    memcpy(a, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    address_set_port(a, (uint16_t)number);
    return true;
}

void address_text(const struct sockaddr_storage *a, char *text, size_t size)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    socklen_t len = a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

    if (getnameinfo((const struct sockaddr *)a, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        snprintf(text, size, "(unknown)");
    else
        snprintf(text, size, a->ss_family == AF_INET ? "%s:%s" : "[%s]:%s", host, port);
}

/* Connects a datagram socket to the server, so that the kernel selects the socket's address by its routes. */
bool address_own(const struct sockaddr_storage *server, struct sockaddr_storage *own)
{
    socklen_t len = server->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    socklen_t own_len = sizeof *own;
    int s = socket(server->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool found = s >= 0 && connect(s, (const struct sockaddr *)server, len) == 0 &&
                 getsockname(s, (struct sockaddr *)own, &own_len) == 0;

    if (s >= 0)
        close(s);
    if (found)
        address_set_port(own, 0);
    return found;
}
