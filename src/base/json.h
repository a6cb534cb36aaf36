/* SPDX-License-Identifier: MIT */
/* Writes text as JSON. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdio.h>

/*
 * Writes a string with its quotes, or null if `value` is NULL. Escapes each byte that JSON or a terminal could
 * interpret.
 */
void json_put_string(FILE *out, const char *value);

/* Writes "key":"value". */
void json_put_text(FILE *out, const char *key, const char *value);

#endif
