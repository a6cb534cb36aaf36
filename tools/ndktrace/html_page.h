/* SPDX-License-Identifier: MIT */
/*
 * Declares the text of the page before and after its data. page/embed.cmake creates the text from the files in page/
 * during the build.
 */
#ifndef NDKTRACE_HTML_PAGE_H
#define NDKTRACE_HTML_PAGE_H

#include <stddef.h>

extern const unsigned char html_page_before_data[], html_page_after_data[];
extern const size_t html_page_before_data_size, html_page_after_data_size;

#endif
