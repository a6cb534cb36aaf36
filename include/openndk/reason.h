/* SPDX-License-Identifier: MIT */
/*
 * Why a request or a connection failed or ended, in more detail than an NTSTATUS has: one number, the same for a
 * completion (NDK_RESULT_EX.ProviderErrorCode), for the disconnect callback of NDK 2.1 (ProviderDisconnectReason) and
 * for ondk_connector_reason. 0: nothing failed. docs/reasons.md lists all of them; they are never renumbered.
 *
 *     31      28 27      24 23      20 19      16 15      12 11       8 7                 0
 *    |    0     | whose    | class    |          | layer    | type     | code              |
 *               | Terminate| cause (with class)  | of the Terminate, as on the wire        |
 *
 * A request that ended because its connection did has the connection's reason. Where a Terminate message had no part in
 * it, the lower 16 bits are 0 and so are bits 24 to 27.
 */
#ifndef OPENNDK_REASON_H
#define OPENNDK_REASON_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ONDK_REASON_CAUSE(code) ((code) >> 16 & 0xffu)
#define ONDK_REASON_CLASS(code) ((code) >> 16 & 0xf0u)
#define ONDK_REASON_BY(code) ((code) >> 24 & 0xfu)         /* whose Terminate: enum ondk_reason_by */
#define ONDK_REASON_TERMINATE(code) ((code) & 0xffffu)     /* layer << 12 | type << 8 | code */

enum ondk_reason_by {
    ONDK_BY_NOBODY = 0, /* there was no Terminate */
    ONDK_BY_US = 1,     /* this side found a fault, and sent it */
    ONDK_BY_PEER = 2    /* the peer did */
};

enum ondk_cause {
    ONDK_CAUSE_NONE = 0,
    ONDK_CLASS_NETWORK = 0x10, /* addresses and routes */
    ONDK_CAUSE_NO_ROUTE = 0x11,
    ONDK_CAUSE_NO_HOST = 0x12,
    ONDK_CAUSE_ADDRESS_TAKEN = 0x13,
    ONDK_CAUSE_ADDRESS_FOREIGN = 0x14,
    ONDK_CAUSE_PORTS_EXHAUSTED = 0x15,
    ONDK_CAUSE_FOUR_TUPLE = 0x16,
    ONDK_CAUSE_INTERFACE_GONE = 0x17,
    ONDK_CAUSE_PORT_FORBIDDEN = 0x18,
    ONDK_CAUSE_PROHIBITED = 0x19,
    ONDK_CAUSE_NO_PROTOCOL = 0x1a,
    ONDK_CAUSE_SYSTEM = 0x1b,
    ONDK_CLASS_PEER = 0x20, /* the peer wanted or caused it */
    ONDK_CAUSE_REFUSED = 0x21,
    ONDK_CAUSE_REJECTED = 0x22,
    ONDK_CAUSE_PEER_RESET = 0x23,
    ONDK_CAUSE_PEER_CLOSED = 0x24,
    ONDK_CAUSE_PEER_GAVE_UP = 0x25,
    ONDK_CAUSE_PEER_TERMINATE = 0x26,
    ONDK_CLASS_PROTOCOL = 0x30, /* the peer broke a rule of the protocol */
    ONDK_CAUSE_PROTOCOL = 0x31,
    ONDK_CAUSE_BAD_REPLY = 0x32,
    ONDK_CAUSE_READ_LIMITS = 0x33,
    ONDK_CAUSE_NO_READY_FORM = 0x34,
    ONDK_CLASS_LOCAL = 0x40, /* this side wanted it */
    ONDK_CAUSE_NOT_CONNECTING = 0x41,
    ONDK_CAUSE_LOCAL_CLOSE = 0x42,
    ONDK_CAUSE_LOCAL_DISCONNECT = 0x43,
    ONDK_CAUSE_LOCAL_FLUSH = 0x44,
    ONDK_CLASS_MEMORY = 0x50, /* tokens, rights, ranges, buffers */
    ONDK_CAUSE_LOCAL_ERROR = 0x51,
    ONDK_CAUSE_TOKEN = 0x52,
    ONDK_CAUSE_TOKEN_DOMAIN = 0x53,
    ONDK_CAUSE_TOKEN_RIGHT = 0x54,
    ONDK_CAUSE_TOKEN_RANGE = 0x55,
    ONDK_CAUSE_TOKEN_LASTING = 0x56,
    ONDK_CAUSE_RECEIVE_SHORT = 0x57,
    ONDK_CAUSE_PEER_TOKEN = 0x58,
    ONDK_CAUSE_PEER_RANGE = 0x59,
    ONDK_CAUSE_REGION_GONE = 0x5a,
    ONDK_CLASS_RESOURCE = 0x60, /* something ran out */
    ONDK_CAUSE_RESOURCES = 0x61,
    ONDK_CAUSE_CQ_OVERFLOW = 0x62,
    ONDK_CAUSE_SRQ_SHARE = 0x63,
    ONDK_CLASS_TIMEOUT = 0x70, /* nothing came in time */
    ONDK_CAUSE_CONNECT_TIMEOUT = 0x71,
    ONDK_CAUSE_REPLY_TIMEOUT = 0x72,
    ONDK_CAUSE_ESTABLISH_TIMEOUT = 0x73,
    ONDK_CAUSE_DISCONNECT_TIMEOUT = 0x74,
    ONDK_CAUSE_PEER_SILENT = 0x75,
    ONDK_CAUSE_FRAME_STALLED = 0x76,
    ONDK_CAUSE_MESSAGE_STALLED = 0x77
};

/*
 * Why the connector's last step failed, or its connection ended; 0: nothing of the kind has happened. Not 0 from
 * before the first request that its queue pair refuses because the connection has ended.
 * Any thread, up to DISPATCH_LEVEL, while the connector is not closed.
 */
ONDK_API uint32_t ondk_connector_reason(NDK_CONNECTOR *connector);
/*
 * Of any code: a short name ("peer-reset", "peer-terminate/ddp-tagged-bounds"; "unknown" for one that does not exist),
 * what happened, and what to look at. Never NULL; valid until the calling thread's next call of the same function.
 */
ONDK_API const char *ondk_reason_name(uint32_t code);
ONDK_API const char *ondk_reason_text(uint32_t code);
ONDK_API const char *ondk_reason_advice(uint32_t code);

#ifdef __cplusplus
}
#endif

#endif
