/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "verify/address.h"

void address_print(char *text, size_t size, const void *address, size_t length)
{
    char host[INET6_ADDRSTRLEN] = "";
    struct sockaddr_in v4 = { .sin_family = AF_UNSPEC };
    struct sockaddr_in6 v6 = { .sin6_family = AF_UNSPEC };

    text[0] = 0;
    if (address && length >= sizeof v4)
        memcpy(&v4, address, sizeof v4);
    if (address && length >= sizeof v6)
        memcpy(&v6, address, sizeof v6);
    if (v4.sin_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host))
        snprintf(text, size, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
    else if (v6.sin6_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host))
        snprintf(text, size, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
}
