/* SPDX-License-Identifier: MIT */
/*
 * Defines the names of reasons and phases, for traces and tools. A name never changes, because tools and documents use
 * it.
 */
#include "fabric/fabric.h"

static const char *const reason_names[FABRIC_REASON_COUNT] = {
    [FABRIC_OK] = "ok",
    [FABRIC_NO_ROUTE] = "no-route",
    [FABRIC_NO_HOST] = "no-host",
    [FABRIC_REFUSED] = "refused",
    [FABRIC_REJECTED] = "rejected",
    [FABRIC_CONNECT_TIMEOUT] = "connect-timeout",
    [FABRIC_REPLY_TIMEOUT] = "reply-timeout",
    [FABRIC_ESTABLISH_TIMEOUT] = "establish-timeout",
    [FABRIC_DISCONNECT_TIMEOUT] = "disconnect-timeout",
    [FABRIC_ADDRESS_TAKEN] = "address-taken",
    [FABRIC_ADDRESS_FOREIGN] = "address-foreign",
    [FABRIC_PORTS_EXHAUSTED] = "ports-exhausted",
    [FABRIC_FOUR_TUPLE] = "four-tuple",
    [FABRIC_PORT_FORBIDDEN] = "port-forbidden",
    [FABRIC_PROHIBITED] = "prohibited",
    [FABRIC_NO_PROTOCOL] = "no-protocol",
    [FABRIC_SYSTEM] = "system",
    [FABRIC_RESOURCES] = "resources",
    [FABRIC_DESCRIPTORS] = "descriptors",
    [FABRIC_PEER_RESET] = "peer-reset",
    [FABRIC_PEER_CLOSED] = "peer-closed",
    [FABRIC_PEER_GAVE_UP] = "peer-gave-up",
    [FABRIC_PEER_TERMINATE] = "peer-terminate",
    [FABRIC_PROTOCOL] = "protocol",
    [FABRIC_BAD_REPLY] = "bad-reply",
    [FABRIC_READ_LIMITS] = "read-limits",
    [FABRIC_NO_READY_FORM] = "no-ready-form",
    [FABRIC_NOT_CONNECTING] = "not-connecting",
    [FABRIC_LOCAL_CLOSE] = "local-close",
    [FABRIC_LOCAL_ERROR] = "local-error",
    [FABRIC_LOCAL_FLUSH] = "local-flush",
    [FABRIC_LOCAL_DISCONNECT] = "local-disconnect",
    [FABRIC_CQ_OVERFLOW] = "cq-overflow",
    [FABRIC_PEER_SILENT] = "peer-silent",
    [FABRIC_FRAME_STALLED] = "frame-stalled",
    [FABRIC_MESSAGE_STALLED] = "message-stalled",
    [FABRIC_SRQ_SHARE] = "srq-share",
    [FABRIC_INTERFACE_GONE] = "interface-gone",
    [FABRIC_REQUEST_TIMEOUT] = "request-timeout",
    [FABRIC_BAD_REQUEST] = "bad-request",
    [FABRIC_BAD_REVISION] = "bad-revision",
    [FABRIC_UNSUPPORTED_REQUEST] = "unsupported-request",
    [FABRIC_REQUEST_NO_LIMITS] = "request-no-limits",
    [FABRIC_REQUEST_DATA] = "request-private-data",
    [FABRIC_REQUEST_NO_FORM] = "request-no-ready-form",
    [FABRIC_BACKLOG_FULL] = "backlog-full",
    [FABRIC_CROWDED_OUT] = "crowded-out",
    [FABRIC_NOT_DELIVERED] = "not-delivered",
    [FABRIC_LISTENER_PAUSED] = "listener-paused",
    [FABRIC_LISTENER_CLOSED] = "listener-closed",
    [FABRIC_LOCAL_REJECT] = "local-reject",
    [FABRIC_UNANSWERED] = "unanswered",
    [FABRIC_TOKEN] = "token",
    [FABRIC_TOKEN_DOMAIN] = "token-domain",
    [FABRIC_TOKEN_RIGHT] = "token-right",
    [FABRIC_TOKEN_RANGE] = "token-range",
    [FABRIC_REGION_GONE] = "region-gone",
    [FABRIC_TOKEN_LASTING] = "token-lasting",
    [FABRIC_RECEIVE_SHORT] = "receive-short",
    [FABRIC_PEER_TOKEN] = "peer-token",
    [FABRIC_PEER_RANGE] = "peer-range",
};

const char *fabric_reason_name(enum fabric_reason r)
{
    return (unsigned)r < FABRIC_REASON_COUNT ? reason_names[r] : "unknown";
}

/* A phase that is also a state of ondk_connection_t has the same name as that state. */
static const char *const phase_names[FABRIC_PHASES] = {
    [FABRIC_PHASE_CONNECTING] = "connecting", [FABRIC_PHASE_REQUESTING] = "requesting",
    [FABRIC_PHASE_REPLIED] = "replied",       [FABRIC_PHASE_COMPLETING] = "completing",
    [FABRIC_PHASE_ARRIVING] = "arriving",     [FABRIC_PHASE_REQUESTED] = "requested",
    [FABRIC_PHASE_ACCEPTING] = "accepting",   [FABRIC_PHASE_ESTABLISHED] = "established",
    [FABRIC_PHASE_PEER_GONE] = "peer-gone",   [FABRIC_PHASE_DISCONNECTING] = "disconnecting",
};

const char *fabric_phase_name(enum fabric_phase p)
{
    return (unsigned)p < FABRIC_PHASES ? phase_names[p] : "unknown";
}
