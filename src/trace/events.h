/* SPDX-License-Identifier: MIT */
/*
 * Lists all events and their fields. The invariant: a number always stands for the same event, and a new field is added
 * at the end of its event's list. Readers need neither this file nor its version, because each trace file contains the
 * schema.
 *
 * EVENT(number, name) defines an event. Its fields are in TRACE_FIELDS_name:
 *   F(kind, name)          a field; TRACE_KINDS lists the kinds
 *   N(kind, name, names)   a field whose values have names; TRACE_NAMES has the list `names`
 */
#ifndef TRACE_EVENTS_H
#define TRACE_EVENTS_H

#include <stdint.h>

#include "trace/call_events.h"
#include "trace/wdk_events.h"

/*
 * K(kind, C type): a field of this kind is stored as this C type. Readers print the kinds u8 to u64 as decimal numbers,
 * and x8 to x64 as hexadecimal numbers.
 */
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
    K(flags, uint32_t)  /* flags; the field's list has their names, which are printed with | between them */           \
    K(addr, struct trace_addr)                                                                                         \
    K(text16, struct trace_text16)                                                                                     \
    K(bytes, uint16_t) /* number of bytes that follow the fields; only the last field can have this kind */

/* The lists of names for values of fields. The layer that defines the names registers them with trace_set_names. */
#define TRACE_NAMES(N)                                                                                                 \
    N(role)                                                                                                            \
    N(state)                                                                                                           \
    N(event)                                                                                                           \
    N(reason)                                                                                                          \
    N(phase)                                                                                                           \
    N(outcome)                                                                                                         \
    N(terminate)                                                                                                       \
    N(mpa_frame)                                                                                                       \
    N(ready_forms)                                                                                                     \
    N(direction)                                                                                                       \
    N(opcode)                                                                                                          \
    N(crc)                                                                                                             \
    N(status)                                                                                                          \
    N(routine)                                                                                                         \
    N(operation)                                                                                                       \
    N(arm)                                                                                                             \
    N(op_flag)                                                                                                         \
    N(mr_flag)                                                                                                         \
    N(object_type)                                                                                                     \
    N(kernel_routine)                                                                                                  \
    N(irp_major)                                                                                                       \
    N(irp_mode)                                                                                                        \
    N(io_code)                                                                                                         \
    N(family)                                                                                                          \
    N(socket_type)                                                                                                     \
    N(socket_kind)                                                                                                     \
    N(protocol)                                                                                                        \
    N(wsk_client_code)                                                                                                 \
    N(wsk_wait)                                                                                                        \
    N(wsk_control)                                                                                                     \
    N(wsk_option)                                                                                                      \
    N(wsk_send_flag)                                                                                                   \
    N(wsk_receive_flag)                                                                                                \
    N(wsk_disconnect_flag)                                                                                             \
    N(wsk_event_flag)

struct trace_addr {
    uint8_t family; /* 4 or 6; 0: there is no address */
    uint8_t reserved;
    uint8_t port[2];  /* big-endian */
    uint8_t host[16]; /* big-endian; for IPv4: the first 4 bytes */
    uint32_t scope;
} __attribute__((packed));

/* A text of at most 16 bytes. The rest of a shorter text is filled with 0. */
struct trace_text16 {
    char bytes[16];
} __attribute__((packed));

#define TRACE_EVENTS(EVENT)                                                                                            \
    EVENT(1, thread)                                                                                                   \
    EVENT(2, adapter)                                                                                                  \
    EVENT(3, adapter_close)                                                                                            \
    EVENT(10, listening)                                                                                               \
    EVENT(11, refused)                                                                                                 \
    EVENT(12, connection)                                                                                              \
    EVENT(13, connector)                                                                                               \
    EVENT(14, state)                                                                                                   \
    EVENT(15, outcome)                                                                                                 \
    EVENT(16, mpa_sent)                                                                                                \
    EVENT(17, mpa_received)                                                                                            \
    EVENT(18, stream)                                                                                                  \
    EVENT(19, terminate)                                                                                               \
    EVENT(20, limit)                                                                                                   \
    EVENT(21, limit_expired)                                                                                           \
    EVENT(22, stall_limit)                                                                                             \
    EVENT(23, stall_expired)                                                                                           \
    EVENT(24, nudge)                                                                                                   \
    EVENT(25, blocked)                                                                                                 \
    EVENT(26, unblocked)                                                                                               \
    EVENT(30, tagged)                                                                                                  \
    EVENT(31, untagged)                                                                                                \
    EVENT(32, no_segment)                                                                                              \
    EVENT(33, ongoing)                                                                                                 \
    EVENT(34, private_data_limit)                                                                                      \
    TRACE_CALL_EVENTS(EVENT)                                                                                           \
    TRACE_WDK_EVENTS(EVENT)

/* The thread that has recorded the following events, up to the end of the segment or the next event `thread`. */
#define TRACE_FIELDS_thread(F, N) F(u32, thread) F(text16, name)
#define TRACE_FIELDS_adapter(F, N) F(ptr, object) F(u32, interface) F(text16, name) F(u16, major) F(u16, minor)
#define TRACE_FIELDS_adapter_close(F, N) F(ptr, object)
/* NdkListen has ended. `object` is the listener. */
#define TRACE_FIELDS_listening(F, N) F(ptr, object) F(u32, interface) F(addr, local) N(u16, why, reason)
/* A peer was refused before it had a connection. `why` is the reason. */
#define TRACE_FIELDS_refused(F, N) F(addr, local) F(addr, remote) N(u16, why, reason)
/* A connection begins, by NdkConnect or by accept. `object` is its connector, or 0 if there is none yet. */
#define TRACE_FIELDS_connection(F, N) N(u8, role, role) F(ptr, object) F(u32, interface) F(addr, local) F(addr, remote)
/* A connection has begun before the recording. `object` is its connector, or 0. */
#define TRACE_FIELDS_ongoing(F, N)                                                                                     \
    N(u8, role, role) F(ptr, object) F(u32, interface) F(addr, local) F(addr, remote) N(u8, state, state)
/* The consumer receives the connector `object` for the peer's request. */
#define TRACE_FIELDS_connector(F, N) F(ptr, object)
/* The state machine of the connection makes a step: see docs/states.md. */
#define TRACE_FIELDS_state(F, N) N(u8, from, state) N(u8, event, event) N(u8, to, state) N(u16, why, reason)
/* The connection was established, has ended or has failed. */
#define TRACE_FIELDS_outcome(F, N)                                                                                     \
    N(u8, outcome, outcome) N(u8, phase, phase) N(u16, why, reason) N(u32, terminate, terminate)
/* A start-up frame of MPA. `data_size` is the size of the private data. `bytes` is the whole frame. */
#define TRACE_FIELDS_mpa(F, N)                                                                                         \
    N(u8, frame, mpa_frame)                                                                                            \
    F(u8, revision)                                                                                                    \
    F(u8, crc)                                                                                                         \
    F(u8, markers)                                                                                                     \
    F(u8, enhanced)                                                                                                    \
    F(u16, ird)                                                                                                        \
    F(u16, ord)                                                                                                        \
    N(u8, ready, ready_forms)                                                                                          \
    F(u16, data_size)                                                                                                  \
    F(bytes, bytes)
#define TRACE_FIELDS_mpa_sent(F, N) TRACE_FIELDS_mpa(F, N)
#define TRACE_FIELDS_mpa_received(F, N) TRACE_FIELDS_mpa(F, N)
/* The negotiation is complete, and FPDUs can follow. The fields contain what both ends have agreed on. */
#define TRACE_FIELDS_stream(F, N)                                                                                      \
    F(u8, revision) F(u8, crc) F(u16, ird) F(u16, ord) N(u8, ready, ready_forms) F(u32, max_segment)
#define TRACE_FIELDS_terminate(F, N)                                                                                   \
    N(u8, direction, direction) F(u8, layer) F(u8, type) F(x8, code) N(u32, name, terminate)
/* The peer's request is refused, because it has more than `max_size` bytes of private data. */
#define TRACE_FIELDS_private_data_limit(F, N) F(u16, max_size)
/* The connection enters a state that may last at most `ms` milliseconds. */
#define TRACE_FIELDS_limit(F, N) N(u8, state, state) F(u32, ms)
#define TRACE_FIELDS_limit_expired(F, N) N(u8, state, state) N(u16, why, reason)
/* The peer has begun an FPDU or a message. If the peer does not continue for `ms` milliseconds, the connection ends. */
#define TRACE_FIELDS_stall_limit(F, N) F(u32, ms)
#define TRACE_FIELDS_stall_expired(F, N) N(u16, why, reason)
/* The peer is silent. This end queues a zero-length write, which it sends if it has nothing else to send. */
#define TRACE_FIELDS_nudge(F, N) F(u8, nudges_left)
/* blocked: TCP accepted only `sent` of `wanted` bytes. unblocked: TCP has room again. */
#define TRACE_FIELDS_blocked(F, N) F(u32, wanted) F(u32, sent)
#define TRACE_FIELDS_unblocked(F, N) N(u8, state, state)

/*
 * An FPDU. `payload` is the number of bytes after the DDP header. `control` is the first two bytes of the DDP header.
 * `bytes` is the beginning of the payload. The payload of a Read Request or a Terminate is recorded whole. For other
 * payloads, ONDK_TRACE sets the maximum number of recorded bytes.
 */
#define TRACE_FIELDS_tagged(F, N)                                                                                      \
    N(u8, direction, direction)                                                                                        \
    N(u8, opcode, opcode)                                                                                              \
    F(x32, stag)                                                                                                       \
    F(x64, to)                                                                                                         \
    F(u32, payload)                                                                                                    \
    F(u8, last)                                                                                                        \
    N(u8, crc, crc)                                                                                                    \
    F(x16, control)                                                                                                    \
    F(bytes, bytes)
/* `stag` is the STag that the receiver of the FPDU must invalidate. */
#define TRACE_FIELDS_untagged(F, N)                                                                                    \
    N(u8, direction, direction)                                                                                        \
    N(u8, opcode, opcode)                                                                                              \
    F(u32, queue)                                                                                                      \
    F(u32, msn)                                                                                                        \
    F(u32, offset)                                                                                                     \
    F(u32, payload)                                                                                                    \
    F(u8, last)                                                                                                        \
    F(x32, stag)                                                                                                       \
    N(u8, crc, crc)                                                                                                    \
    F(x16, control)                                                                                                    \
    F(bytes, bytes)
/* An FPDU without a DDP header. It is either empty, which is a form of the ready-to-receive message, or not valid. */
#define TRACE_FIELDS_no_segment(F, N) N(u8, direction, direction) F(u32, length) N(u8, crc, crc)

#define TRACE_DEFINE_KIND(kind, type) typedef type trace_kind_##kind;
TRACE_KINDS(TRACE_DEFINE_KIND)
#undef TRACE_DEFINE_KIND

#define TRACE_DEFINE_TYPE(number, name) TRACE_TYPE_##name = (number),
enum { TRACE_EVENTS(TRACE_DEFINE_TYPE) };
#undef TRACE_DEFINE_TYPE

#define TRACE_DEFINE_NAMES(name) TRACE_NAMES_##name,
enum trace_names { TRACE_NAMES(TRACE_DEFINE_NAMES) TRACE_NAMES_COUNT };
#undef TRACE_DEFINE_NAMES

#define TRACE_DEFINE_FIELD(kind, name) trace_kind_##kind name;
#define TRACE_DEFINE_NAMED(kind, name, names) trace_kind_##kind name;
#define TRACE_DEFINE_EVENT(number, name)                                                                               \
    struct trace_fields_##name {                                                                                       \
        TRACE_FIELDS_##name(TRACE_DEFINE_FIELD, TRACE_DEFINE_NAMED)                                                    \
    } __attribute__((packed));
TRACE_EVENTS(TRACE_DEFINE_EVENT)
#undef TRACE_DEFINE_EVENT
#undef TRACE_DEFINE_FIELD
#undef TRACE_DEFINE_NAMED

#endif
