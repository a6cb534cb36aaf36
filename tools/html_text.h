/* SPDX-License-Identifier: MIT */
/* Text in HTML pages. */
#ifndef TOOLS_HTML_TEXT_H
#define TOOLS_HTML_TEXT_H

#include <stdio.h>

/* Writes the text, with references for the characters that HTML and XML interpret, and without control characters. */
void html_text_write(FILE *out, const char *text);

#endif
