/* SPDX-License-Identifier: MIT */
/*
 * All events, with their fields. The invariant: a number never changes its event, and a new field is added at the end
 * of its event's list. Readers know neither this file nor its version, because each trace file contains the schema.
 *
 * EVENT(number, name): the event's fields are TRACE_FIELDS_name, a list of F(kind, name). TRACE_KINDS lists the kinds.
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stdint.h>

/* K(kind, C type): how a field is stored. Readers print u as decimal, x as hexadecimal numbers. */
#define TRACE_KINDS(K)                                                                                                 \
    K(u8, uint8_t)                                                                                                     \
    K(u16, uint16_t)                                                                                                   \
    K(u32, uint32_t)                                                                                                   \
    K(u64, uint64_t)                                                                                                   \
    K(x8, uint8_t)                                                                                                     \
    K(x16, uint16_t)                                                                                                   \
    K(x32, uint32_t)                                                                                                   \
    K(x64, uint64_t)                                                                                                   \
    K(ptr, uint64_t)    /* an address in the process */                                                                \
    K(ns, uint64_t)     /* a duration */                                                                               \
    K(status, uint32_t) /* an NTSTATUS */                                                                              \
    K(addr, struct trace_addr)                                                                                         \
    K(text16, struct trace_text16)

struct trace_addr {
    uint8_t family; /* 4 or 6; 0: no address */
    uint8_t reserved;
    uint8_t port[2];  /* big-endian */
    uint8_t host[16]; /* big-endian; IPv4: the first 4 bytes */
    uint32_t scope;
} __attribute__((packed));

/* A text of at most 16 bytes. A shorter one is filled with 0. */
struct trace_text16 {
    char bytes[16];
} __attribute__((packed));

#define TRACE_EVENTS(EVENT)                                                                                            \
    EVENT(1, thread)                                                                                                   \
    EVENT(2, adapter)                                                                                                  \
    EVENT(3, adapter_close)

/* The thread of the events that follow in the segment. */
#define TRACE_FIELDS_thread(F) F(u32, thread) F(text16, name)
#define TRACE_FIELDS_adapter(F) F(ptr, object) F(u32, interface) F(text16, name) F(u16, major) F(u16, minor)
#define TRACE_FIELDS_adapter_close(F) F(ptr, object)

#define TRACE_DEFINE_KIND(kind, type) typedef type trace_kind_##kind;
TRACE_KINDS(TRACE_DEFINE_KIND)
#undef TRACE_DEFINE_KIND

#define TRACE_DEFINE_TYPE(number, name) TRACE_TYPE_##name = (number),
enum { TRACE_EVENTS(TRACE_DEFINE_TYPE) };
#undef TRACE_DEFINE_TYPE

#define TRACE_DEFINE_FIELD(kind, name) trace_kind_##kind name;
#define TRACE_DEFINE_EVENT(number, name)                                                                               \
    struct trace_fields_##name {                                                                                       \
        TRACE_FIELDS_##name(TRACE_DEFINE_FIELD)                                                                        \
    } __attribute__((packed));
TRACE_EVENTS(TRACE_DEFINE_EVENT)
#undef TRACE_DEFINE_EVENT
#undef TRACE_DEFINE_FIELD

#endif
