/* SPDX-License-Identifier: MIT */
/*
 * The layout of a trace file, which docs/trace-format.md specifies: a header with the schema, and then segments of the
 * same size. The invariant: while TRACE_VERSION stays the same, the offsets and the meaning of these members do not
 * change. New events and new kinds of names need no new version, because the schema in the file describes them.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "ONDKTRCE"

enum {
    TRACE_VERSION = 1,
    TRACE_BYTE_ORDER = 0x01020304,
    TRACE_SEGMENT_SIZE = 64 * 1024,
    TRACE_ALIGNMENT = 8, /* alignment of events in bytes */
};

struct trace_file_header {
    char magic[8];
    uint32_t byte_order, version;
    uint32_t header_size; /* offset of the first segment in bytes, a multiple of 4096 */
    uint32_t segment_size, segment_count;
    uint32_t schema_offset, schema_size;
    uint32_t pid;
    uint64_t realtime_ns, monotonic_ns; /* two clocks at the same moment, the start of the trace */
    _Atomic uint64_t lost;              /* number of events that were not recorded, because no segment was free */
    char program[64], host[64], library[32];
};
_Static_assert(sizeof(struct trace_file_header) == 224 && offsetof(struct trace_file_header, program) == 64,
               "the layout of docs/trace-format.md");

struct trace_segment {
    /*
     * A segment that is taken over and emptied gets a higher number than all other segments. 0: the segment was never
     * used, or is being emptied.
     */
    _Atomic uint64_t sequence;
    _Atomic uint32_t committed; /* number of bytes of complete events after this header */
    uint32_t reserved;
};
_Static_assert(sizeof(struct trace_segment) == 16, "the layout of docs/trace-format.md");

struct trace_event {
    uint16_t size; /* size of header, fields and padding, a multiple of TRACE_ALIGNMENT */
    uint16_t type; /* number of the event in the schema */
    uint32_t id;   /* number of the connection; 0: none */
    uint64_t time_ns;
};
_Static_assert(sizeof(struct trace_event) == 16, "the layout of docs/trace-format.md");

#endif
