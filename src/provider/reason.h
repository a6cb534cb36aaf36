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
 * Returns the published code of a reason, 0 for FABRIC_OK. terminate is the code on the wire, or FABRIC_NO_TERMINATE.
 */
uint32_t reason_code(enum fabric_reason why, uint16_t terminate);
/* Prints the two tables of docs/reasons.md. */
void reason_print_tables(FILE *out);

#endif
