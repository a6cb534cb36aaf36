/* SPDX-License-Identifier: MIT */
/* Parsing and printing of addresses, and finding this machine's address. */
#ifndef TOOLS_ADDRESS_H
#define TOOLS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Parses "1.2.3.4:5" or "[::1]:5". If `port` is false, the text must have no port. */
bool address_parse(const char *text, bool port, struct sockaddr_storage *a);
void address_text(const struct sockaddr_storage *a, char *text, size_t size);
/* Stores in *own the address from which this machine would send to the server, with port 0. Sends nothing. */
bool address_own(const struct sockaddr_storage *server, struct sockaddr_storage *own);
/* Returns the port in host byte order. */
uint16_t address_port(const struct sockaddr_storage *a);
void address_set_port(struct sockaddr_storage *a, uint16_t port);

#endif
