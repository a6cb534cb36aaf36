/* SPDX-License-Identifier: MIT */
/* Plain sockets as peers that do what no fabric does, on 127.0.0.1. All waits have a time limit. */
#ifndef TESTS_FABRIC_RAW_H
#define TESTS_FABRIC_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "wire/mpa.h"

int raw_listen(int backlog, struct addr *at);
int raw_accept(int fd);
int raw_connect(const struct addr *to);
void raw_send(int fd, const void *bytes, size_t len);
void raw_send_frame(int fd, const struct mpa_frame *f);
/* Reads exactly len bytes. */
void raw_read(int fd, void *bytes, size_t len);
void raw_read_frame(int fd, bool reply, struct mpa_frame *f, uint8_t bytes[MPA_MAX_FRAME]);
/* Reads to the end of the stream. Returns the number of bytes, or -1 after a reset. */
long raw_read_to_end(int fd, void *bytes, size_t room);
void raw_reset(int fd);

#endif
