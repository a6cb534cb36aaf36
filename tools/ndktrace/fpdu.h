/* SPDX-License-Identifier: MIT */
/* Builds the bytes of an FPDU from the fields of its event. */
#ifndef NDKTRACE_FPDU_H
#define NDKTRACE_FPDU_H

#include "trace_reader/trace_file.h"

enum { FPDU_MAX_SIZE = 65544 };

struct fpdu {
    bool is_sent;
    uint32_t size;  /* size of the FPDU in bytes */
    uint32_t known; /* number of bytes in `bytes`, from the FPDU's beginning; the trace lacks the others */
    uint8_t bytes[FPDU_MAX_SIZE];
};

/*
 * Builds the bytes of the record's FPDU. If the trace lacks a part of the payload, zeros replace this part in an FPDU
 * of at most `max_filled` bytes. A longer FPDU ends where the known bytes end. Returns false if the record is no FPDU,
 * or lacks a field.
 */
bool fpdu_make(const struct trace_record *r, uint32_t max_filled, struct fpdu *f);

#endif
