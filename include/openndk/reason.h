/* SPDX-License-Identifier: MIT */
/*
 * Reason codes: why a request failed or a connection ended, in more detail than an NTSTATUS. Completions
 * (NDK_RESULT_EX.ProviderErrorCode), the disconnect callback of NDK 2.1 (ProviderDisconnectReason),
 * ondk_connector_reason, ondk_adapter_failures and the log use the same codes. 0: nothing failed. docs/reasons.md lists
 * all codes; they are never renumbered. The bits of a code are:
 *   31 to 28  0
 *   27 to 24  the side that sent the Terminate message: enum ondk_reason_by
 *   23 to 16  the cause: enum ondk_cause; 23 to 20 are its class
 *   15 to 0   the Terminate's layer (15 to 12), type (11 to 8) and code (7 to 0), as on the wire
 *
 * A request that failed because its connection ended has the connection's reason. If no Terminate message was involved,
 * bits 0 to 15 and 24 to 27 are 0.
 * See also: openndk-reasons, docs/reasons.md
 */
#ifndef OPENNDK_REASON_H
#define OPENNDK_REASON_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a code. */
#define ONDK_REASON_CAUSE(code) ((code) >> 16 & 0xffu) /* the cause: enum ondk_cause */
#define ONDK_REASON_CLASS(code) ((code) >> 16 & 0xf0u) /* the class of the cause: enum ondk_cause */
#define ONDK_REASON_BY(code) ((code) >> 24 & 0xfu)     /* the side that sent the Terminate: enum ondk_reason_by */
#define ONDK_REASON_TERMINATE(code) ((code)&0xffffu)   /* the Terminate's layer << 12 | type << 8 | code */

/* The side that sent the Terminate message. */
enum ondk_reason_by {
    ONDK_BY_NOBODY = 0, /* there was no Terminate */
    ONDK_BY_US = 1,     /* this side found an error and sent the Terminate */
    ONDK_BY_PEER = 2    /* the peer sent the Terminate */
};

/* The causes and their classes. The lower four bits of a class are 0. docs/reasons.md explains each cause. */
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
    ONDK_CLASS_PEER = 0x20, /* the peer requested or caused the end */
    ONDK_CAUSE_REFUSED = 0x21,
    ONDK_CAUSE_REJECTED = 0x22,
    ONDK_CAUSE_PEER_RESET = 0x23,
    ONDK_CAUSE_PEER_CLOSED = 0x24,
    ONDK_CAUSE_PEER_GAVE_UP = 0x25,
    ONDK_CAUSE_PEER_TERMINATE = 0x26,
    ONDK_CAUSE_UNANSWERED = 0x27,
    ONDK_CLASS_PROTOCOL = 0x30, /* the peer broke a rule of the protocol */
    ONDK_CAUSE_PROTOCOL = 0x31,
    ONDK_CAUSE_BAD_REPLY = 0x32,
    ONDK_CAUSE_READ_LIMITS = 0x33,
    ONDK_CAUSE_NO_READY_FORM = 0x34,
    ONDK_CAUSE_BAD_REQUEST = 0x35,
    ONDK_CAUSE_BAD_REVISION = 0x36,
    ONDK_CAUSE_UNSUPPORTED_REQUEST = 0x37,
    ONDK_CAUSE_REQUEST_NO_LIMITS = 0x38,
    ONDK_CAUSE_REQUEST_DATA = 0x39,
    ONDK_CAUSE_REQUEST_NO_FORM = 0x3a,
    ONDK_CLASS_LOCAL = 0x40, /* this side requested or caused the end */
    ONDK_CAUSE_NOT_CONNECTING = 0x41,
    ONDK_CAUSE_LOCAL_CLOSE = 0x42,
    ONDK_CAUSE_LOCAL_DISCONNECT = 0x43,
    ONDK_CAUSE_LOCAL_FLUSH = 0x44,
    ONDK_CAUSE_LOCAL_REJECT = 0x45,
    ONDK_CAUSE_LISTENER_PAUSED = 0x46,
    ONDK_CAUSE_LISTENER_CLOSED = 0x47,
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
    ONDK_CAUSE_BACKLOG_FULL = 0x64,
    ONDK_CAUSE_CROWDED_OUT = 0x65,
    ONDK_CAUSE_NOT_DELIVERED = 0x66,
    ONDK_CAUSE_DESCRIPTORS = 0x67,
    ONDK_CLASS_TIMEOUT = 0x70, /* a time limit passed */
    ONDK_CAUSE_CONNECT_TIMEOUT = 0x71,
    ONDK_CAUSE_REPLY_TIMEOUT = 0x72,
    ONDK_CAUSE_ESTABLISH_TIMEOUT = 0x73,
    ONDK_CAUSE_DISCONNECT_TIMEOUT = 0x74,
    ONDK_CAUSE_PEER_SILENT = 0x75,
    ONDK_CAUSE_FRAME_STALLED = 0x76,
    ONDK_CAUSE_MESSAGE_STALLED = 0x77,
    ONDK_CAUSE_REQUEST_TIMEOUT = 0x78
};

/*
 * Returns why a connector's last step failed or its connection ended.
 *   connector  a connector that is not closed
 * If the queue pair refuses a request because the connection has ended, the reason has already been set.
 * Returns a reason code, or 0 if nothing has failed or ended.
 * Context: any thread, up to DISPATCH_LEVEL.
 * Example:
 *
 *     uint32_t code = ondk_connector_reason(connector);
 *
 *     fprintf(stderr, "%s %s\n", ondk_reason_text(code),
 *             ondk_reason_advice(code));
 *
 * See also: ondk_reason_name, ondk_reason_text, openndk-reasons, docs/reasons.md
 */
ONDK_API uint32_t ondk_connector_reason(NDK_CONNECTOR *connector);

/*
 * Returns the short name of a reason code.
 *   code  from ondk_connector_reason, a completion or a disconnect callback
 * Returns the name, for example "peer-reset" or "peer-terminate/ddp-tagged-bounds", or "unknown" if the code does not
 * exist. Never NULL. The text is valid until the calling thread's next call.
 * Context: any thread, up to DISPATCH_LEVEL.
 * Topic: explain a reason code
 * See also: ondk_connector_reason, ondk_status_name, docs/reasons.md
 */
ONDK_API const char *ondk_reason_name(uint32_t code);
/*
 * Explains a reason code: what happened.
 * Returns a sentence. Never NULL. The text is valid until the calling thread's next call.
 */
ONDK_API const char *ondk_reason_text(uint32_t code);
/*
 * Gives advice on a reason code: what a person should check.
 * Returns a sentence in static storage. Never NULL.
 */
ONDK_API const char *ondk_reason_advice(uint32_t code);

#ifdef __cplusplus
}
#endif

#endif
