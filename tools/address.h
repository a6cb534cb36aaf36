/* SPDX-License-Identifier: MIT */
/* Addresses as users write and read them, and which of them and which interface are ours. */
#ifndef TOOLS_ADDRESS_H
#define TOOLS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* "1.2.3.4:5", "[::1]:5" with a port up to 65535; without a port if `port` is false. */
bool address_parse(const char *text, bool port, struct sockaddr_storage *a);
void address_text(const struct sockaddr_storage *a, char *text, size_t size);
/* The address that the route to the server starts from, port 0. Nothing is sent. */
bool address_own(const struct sockaddr_storage *server, struct sockaddr_storage *own);
/* In host byte order. */
uint16_t address_port(const struct sockaddr_storage *a);
/* The interface that owns an address; 0 where none does. All of 127.0.0.0/8 is the loopback's. */
uint32_t address_interface(const struct sockaddr_storage *a);

#endif
