/* SPDX-License-Identifier: MIT */
/* Writes text as JSON. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdio.h>

/* Writes a string in quotes, or null if `value` is NULL. Escapes each byte that JSON or a terminal could interpret. */
void json_put_string(FILE *out, const char *value);

/* Writes a member of an object: "key":"value", or "key":null if `value` is NULL. */
void json_put_text(FILE *out, const char *key, const char *value);

#endif
