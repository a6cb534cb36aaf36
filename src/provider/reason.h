/* SPDX-License-Identifier: MIT */
/* The table of reasons, for those who fill in codes and for who prints it. */
#ifndef PROVIDER_REASON_H
#define PROVIDER_REASON_H

#include <stdint.h>
#include <stdio.h>

#include "fabric/fabric.h"

/* The published code (openndk/reason.h) of a reason; terminate: the wire's, or FABRIC_NO_TERMINATE. 0 for FABRIC_OK. */
uint32_t reason_code(enum fabric_reason why, uint16_t terminate);
/* docs/reasons.md's two tables. */
void reason_print_tables(FILE *out);

#endif
