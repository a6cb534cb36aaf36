/* SPDX-License-Identifier: MIT */
/*
 * The table of reasons: the codes of openndk/reason.h, and the tables of docs/reasons.md. The invariant: a published
 * number never changes its meaning.
 */
#ifndef PROVIDER_REASON_H
#define PROVIDER_REASON_H

#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"

/*
 * Returns the published code of the reason `why`. Returns 0 for FABRIC_OK. `terminate` is the code of the Terminate on
 * the wire, or FABRIC_NO_TERMINATE.
 */
uint32_t reason_code(enum fabric_reason why, uint16_t terminate);
/*
 * These functions return the same strings as ondk_reason_name and ondk_reason_text. The strings are in static storage
 * or in `text`. The library itself must use these functions, because each call of a public function overwrites the
 * string that an earlier call has returned to the program.
 */
enum { REASON_NAME = 64, REASON_TEXT = 256 };
const char *reason_write_name(uint32_t code, char text[REASON_NAME]);
const char *reason_write_text(uint32_t code, char text[REASON_TEXT]);
/* Prints the two tables of docs/reasons.md. */
void reason_print_tables(FILE *out);

#endif
