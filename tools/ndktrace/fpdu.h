/* SPDX-License-Identifier: MIT */
/* Makes the bytes of an FPDU from the fields of its event. */
#ifndef NDKTRACE_FPDU_H
#define NDKTRACE_FPDU_H

#include "trace_reader/trace_file.h"

enum { FPDU_MAX_SIZE = 65544 };

struct fpdu {
    bool is_sent;
    uint32_t size;  /* the FPDU's size */
    uint32_t known; /* the FPDU's first `known` bytes are in `bytes`; the trace lacks the others */
    uint8_t bytes[FPDU_MAX_SIZE];
};

/*
 * Makes the bytes. If the FPDU has at most `max_filled` bytes, zeros replace a payload that the trace does not have.
 * Returns false if the record is no FPDU, or lacks a field.
 */
bool fpdu_make(const struct trace_record *r, uint32_t max_filled, struct fpdu *f);

#endif
