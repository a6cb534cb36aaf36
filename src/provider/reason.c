/* SPDX-License-Identifier: MIT */
/* Abstract: the reasons of the fabric as a program sees them: code, name, sentence. */
#include "openndk/reason.h"

#include "provider/connector.h"

static const char *const texts[FABRIC_REASON_COUNT] = {
    [FABRIC_OK] = "Nothing failed.",
    [FABRIC_NO_ROUTE] = "There is no route to the peer's network.",
    [FABRIC_NO_HOST] = "The peer's host cannot be reached: no neighbour answered, or a router said so.",
    [FABRIC_REFUSED] = "Nobody listens at the peer's address.",
    [FABRIC_REJECTED] = "The peer rejected the request; private data may say why.",
    [FABRIC_CONNECT_TIMEOUT] = "Nothing answered at the transport level in time.",
    [FABRIC_REPLY_TIMEOUT] = "The transport opened, but the MPA request was not answered in time.",
    [FABRIC_ESTABLISH_TIMEOUT] = "The ready-to-receive message did not come, leave or get its answer in time.",
    [FABRIC_DISCONNECT_TIMEOUT] = "The peer did not disconnect in time.",
    [FABRIC_ADDRESS_TAKEN] = "The local address and port are in use.",
    [FABRIC_ADDRESS_FOREIGN] = "The local address is not one of the adapter's.",
    [FABRIC_PORTS_EXHAUSTED] = "All ports from 49152 to 65535 are in use.",
    [FABRIC_FOUR_TUPLE] = "That very connection, with the same two addresses and ports, exists already.",
    [FABRIC_RESOURCES] = "Memory or descriptors ran out.",
    [FABRIC_PEER_RESET] = "The peer reset the connection, or its process died.",
    [FABRIC_PEER_CLOSED] = "The peer disconnected.",
    [FABRIC_PEER_GAVE_UP] = "The peer closed the connection before it was established.",
    [FABRIC_PEER_TERMINATE] = "The peer ended the connection with a Terminate message.",
    [FABRIC_PROTOCOL] = "The peer violated MPA, DDP or RDMAP; a Terminate was sent.",
    [FABRIC_BAD_REPLY] = "What the peer answered is not a valid MPA reply.",
    [FABRIC_READ_LIMITS] = "The reply wants more RDMA reads in flight than were offered.",
    [FABRIC_NO_READY_FORM] = "The reply chose a ready-to-receive form that was not offered.",
    [FABRIC_NOT_CONNECTING] = "The call came at a time when no connection was being established.",
    [FABRIC_LOCAL_CLOSE] = "The local side closed the connector.",
    [FABRIC_LOCAL_ERROR] = "A local request could not be carried out: its memory was gone.",
};

uint32_t ondk_connector_reason(NDK_CONNECTOR *connector)
{
    struct connector *c = connector_of(connector);
    uint32_t code;

    spin_lock(&c->lock);
    code = (uint32_t)c->reason;
    spin_unlock(&c->lock);
    return code;
}

const char *ondk_reason_name(uint32_t code)
{
    return code < FABRIC_REASON_COUNT ? fabric_reason_name((enum fabric_reason)code) : "unknown";
}

const char *ondk_reason_text(uint32_t code)
{
    return code < FABRIC_REASON_COUNT ? texts[code] : "A code that this provider does not give.";
}
