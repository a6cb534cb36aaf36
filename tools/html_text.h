/* SPDX-License-Identifier: MIT */
/* Writes text into HTML pages. */
#ifndef TOOLS_HTML_TEXT_H
#define TOOLS_HTML_TEXT_H

#include <stdio.h>

/* Writes text for HTML or XML: replaces <, >, & and " by references such as &lt;, and omits control characters. */
void html_text_write(FILE *out, const char *text);

#endif
