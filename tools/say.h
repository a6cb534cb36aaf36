/* SPDX-License-Identifier: MIT */
/* What the tools print: lines to a stream and, where one was opened, to a log file; and how a failure is told. */
#ifndef TOOLS_SAY_H
#define TOOLS_SAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "consumer/consumer.h"

/* Where lines go: stdout until this is called. */
void say_to(FILE *stream);
/* A log file that gets the same lines. False, after a message on stderr, if it cannot be opened. */
bool say_log(const char *file, bool append);
/* Ends the output. False if a part of it could not be written, after a message on stderr. */
bool say_close(void);

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "step failed: STATUS_X (0x...)" and what the status means. */
void say_failed(const char *step, NTSTATUS status);
/* The same with the provider's reason, which knows more than the status says; 0: none. */
void say_failed_for(const char *step, NTSTATUS status, uint32_t reason);
/* The same for a step of the consumer's connection. */
void say_step_failed(const struct consumer *c, const char *step, NTSTATUS status);
/* After a step that failed for its local address: who holds that. Says nothing of any other status. */
void say_address_holder(NTSTATUS status, const struct sockaddr_storage *local);

#endif
