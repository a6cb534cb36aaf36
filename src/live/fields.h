/* SPDX-License-Identifier: MIT */
/* Formats the fields of an event as text. */
#ifndef LIVE_FIELDS_H
#define LIVE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/text.h"
#include "trace/schema.h"

/* An event, as the sink of trace/trace.h has received it. */
struct live_event {
    const struct schema_event_type *type;
    uint64_t time_ns;
    uint32_t id; /* number of the connection; 0: none */
    const uint8_t *fields;
};

/* Returns true if the object of this event is a driver. The next field of the event is then the driver's name. */
bool live_is_driver_call(uint16_t number);
/* Returns true if the event describes work inside the provider, and not a call or callback. */
bool live_is_step(uint16_t number);
/* Returns true if the routine returns a token instead of a status. */
bool live_returns_token(uint16_t number);
/* Returns the number in the field `name`. Returns 0 if the event has no such field. */
uint64_t live_field_number(const struct live_event *e, const char *name);
bool live_has_field(const struct live_event *e, const char *name);

/*
 * Adds the event's fields to the text, as the arguments of a call. Omits fields that are 0 if 0 means "none". Also
 * omits results: `created`, `duration`, a returned token, and a status that is the result of the call or request.
 */
void live_text_add_fields(struct live_text *t, const struct live_event *e);
void live_text_add_status(struct live_text *t, uint32_t status);
/* Adds IoStatus.Information, which is a number or the address of an object. */
void live_text_add_information(struct live_text *t, uint64_t information);

#endif
