/* SPDX-License-Identifier: MIT */
/*
 * Parses a host and a port that the user gives, for example "server:7174", "192.0.2.1:ndk", "[::1]:7174",
 * "[fe80::1%eth0]:7174". A host may have several addresses; a client tries one after the other.
 */
#ifndef TOOLS_ENDPOINT_H
#define TOOLS_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ENDPOINT_MAX_ADDRESSES = 16, ENDPOINT_MAX_TEXT = 320 };

struct endpoint {
    char text[ENDPOINT_MAX_TEXT]; /* the text that the user has given; "" if the option was not given */
    char host[256];
    uint16_t port;
    struct sockaddr_storage addresses[ENDPOINT_MAX_ADDRESSES];
    uint32_t count; /* number of addresses; 0 before endpoint_resolve */
};

/*
 * Splits `given` into host and port, and checks what can be checked without a name server. If has_port is true, a port
 * or a service's name must follow the host; otherwise nothing may follow. Returns NULL, or a text that describes the
 * mistake.
 */
const char *endpoint_parse(struct endpoint *e, const char *given, bool has_port);
/*
 * Finds the host's addresses. If there is none, writes the reason to `error` and returns false. May block for seconds.
 */
bool endpoint_resolve(struct endpoint *e, char *error, size_t room);

#endif
