/* SPDX-License-Identifier: MIT */
/* An input of the fuzzers that read traces, as a file. */
#ifndef TESTS_FUZZ_TRACE_INPUT_H
#define TESTS_FUZZ_TRACE_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TRACE_INPUT_HEADER = 224, TRACE_INPUT_SCHEMA = 640, TRACE_INPUT_SEGMENT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int memfd_create(const char *name, unsigned flags);

static inline void require(bool ok)
{
    if (!ok)
        abort();
}

static inline void trace_input_put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

/* If the first byte is odd, a valid header is in front of the rest, which begins with the schema. */
static inline bool trace_input_has_header(const uint8_t *data, size_t size)
{
    return size && data[0] & 1;
}

/* Returns the input as a file in memory. */
static inline int trace_input_open(const uint8_t *data, size_t size)
{
    uint8_t header[TRACE_INPUT_HEADER] = "ONDKTRCE";
    int file = memfd_create("trace", 0);

    trace_input_put32(header + 8, 0x01020304);
    trace_input_put32(header + 12, 1);
    trace_input_put32(header + 16, TRACE_INPUT_HEADER + TRACE_INPUT_SCHEMA);
    trace_input_put32(header + 20, TRACE_INPUT_SEGMENT);
    trace_input_put32(header + 24, 8);
    trace_input_put32(header + 28, TRACE_INPUT_HEADER);
    trace_input_put32(header + 32, TRACE_INPUT_SCHEMA);
    require(file >= 0);
    if (trace_input_has_header(data, size))
        require(write(file, header, sizeof header) == (ssize_t)sizeof header);
    require(!size || write(file, data + 1, size - 1) == (ssize_t)size - 1);
    return file;
}

#endif
