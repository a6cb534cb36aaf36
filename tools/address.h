/* SPDX-License-Identifier: MIT */
/* Parses and prints addresses, and finds this machine's address. */
#ifndef TOOLS_ADDRESS_H
#define TOOLS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Parses "1.2.3.4:5" or "[::1]:5". If `port` is false, the text must not contain a port. Returns false if the form is
 * wrong.
 */
bool address_parse(const char *text, bool port, struct sockaddr_storage *a);
void address_text(const struct sockaddr_storage *a, char *text, size_t size);
/*
 * Finds the address from which this machine would send to the server, and stores it with port 0 in *own. Sends nothing.
 */
bool address_own(const struct sockaddr_storage *server, struct sockaddr_storage *own);
/* Returns the port in host byte order. */
uint16_t address_port(const struct sockaddr_storage *a);
void address_set_port(struct sockaddr_storage *a, uint16_t port);

#endif
