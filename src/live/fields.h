/* SPDX-License-Identifier: MIT */
/* Formats the fields of an event. */
#ifndef LIVE_FIELDS_H
#define LIVE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/text.h"
#include "trace/schema.h"

/* An event as the sink has received it. */
struct live_event {
    const struct schema_event_type *type;
    uint64_t time_ns;
    uint32_t id; /* a connection's number; 0: none */
    const uint8_t *fields;
};

/* Returns whether the event's object is a driver, whose name is in the next field. */
bool live_is_driver_call(uint16_t number);
/* Returns whether the event is not a call, but a step of the provider. */
bool live_is_step(uint16_t number);
/* Returns whether the routine returns a token and no status. */
bool live_returns_token(uint16_t number);
/* Returns the number in the field with this name, or 0 if the event has no such field. */
uint64_t live_field_number(const struct live_event *e, const char *name);
bool live_has_field(const struct live_event *e, const char *name);

/*
 * Adds the fields like the arguments of a call. Omits fields that are 0 and mean "none". Omits results, too: `created`,
 * `duration`, a returned token, and a status that is the result of the call or request.
 */
void live_text_add_fields(struct live_text *t, const struct live_event *e);
void live_text_add_status(struct live_text *t, uint32_t status);
/* Adds IoStatus.Information: a number, or the address of an object. */
void live_text_add_information(struct live_text *t, uint64_t information);

#endif
