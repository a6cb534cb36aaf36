/* SPDX-License-Identifier: MIT */
/* Abstract: what an errno of the transport means for a connection, by what was tried; what the protocol's ends mean. */
#include <errno.h>

#include "base/mutant.h"
#include "fabric/iwarp/internal.h"

enum fabric_reason iwarp_reason_reserve(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case EADDRINUSE:
        return MUTANT(con_12_wrong_reason) ? FABRIC_ADDRESS_FOREIGN : FABRIC_ADDRESS_TAKEN;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
        return FABRIC_ADDRESS_FOREIGN;
    case EACCES: /* a port below the system's limit for the unprivileged: nobody here can have it */
    case EPERM:
        return FABRIC_ADDRESS_TAKEN;
    case ENOSPC:
        return FABRIC_PORTS_EXHAUSTED;
    case EEXIST:
        return MUTANT(con_15_taken_instead) ? FABRIC_ADDRESS_TAKEN : FABRIC_FOUR_TUPLE;
    default:
        return MUTANT(con_16_as_exhausted) ? FABRIC_PORTS_EXHAUSTED : FABRIC_RESOURCES;
    }
}

enum fabric_reason iwarp_reason_connect(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case ECONNREFUSED:
    case EACCES: /* a broadcast address, or the local packet filter */
    case EPERM:
        return MUTANT(con_07_wrong_reason) ? FABRIC_NO_HOST : FABRIC_REFUSED;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
        return FABRIC_PEER_RESET;
    case ENETUNREACH:
    case ENETDOWN:
    case EINVAL: /* an address that cannot be a destination from here, such as loopback to elsewhere */
    case EAFNOSUPPORT:
        return MUTANT(con_05_as_no_host) ? FABRIC_NO_HOST : FABRIC_NO_ROUTE;
    case EHOSTUNREACH:
    case EHOSTDOWN:
        return MUTANT(con_06_as_no_route) ? FABRIC_NO_ROUTE : FABRIC_NO_HOST;
    case ETIMEDOUT:
        return FABRIC_CONNECT_TIMEOUT;
    case EADDRNOTAVAIL:
    case EEXIST:
        return MUTANT(cse_03_as_taken) ? FABRIC_ADDRESS_TAKEN : FABRIC_FOUR_TUPLE;
    case EADDRINUSE:
        return FABRIC_ADDRESS_TAKEN;
    default:
        return FABRIC_RESOURCES;
    }
}

enum fabric_reason iwarp_reason_stream(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case ENOMEM:
    case ENOBUFS:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
        return FABRIC_RESOURCES;
    default:
        return FABRIC_PEER_RESET; /* by the peer, or by a network that does not reach it any more */
    }
}

enum fabric_reason iwarp_reason_end(enum iw_end end)
{
    switch (end) {
    case IW_END_NONE:
        return FABRIC_OK;
    case IW_END_LOCAL_ERROR:
        return FABRIC_PROTOCOL;
    case IW_END_PEER_TERMINATE:
        return FABRIC_PEER_TERMINATE;
    case IW_END_TRUNCATED:
        return FABRIC_PEER_RESET;
    case IW_END_LOCAL_REQUEST:
        return FABRIC_LOCAL_ERROR;
    case IW_END_FLUSH:
        return FABRIC_LOCAL_FLUSH;
    }
    return FABRIC_LOCAL_ERROR;
}

/* What was found wrong with a request's own memory. */
static enum fabric_reason reason_memory(enum wire_error error)
{
    switch (error) {
    case WIRE_DDP_TAGGED_STREAM:
    case WIRE_RDMAP_STAG_NOT_ASSOCIATED:
        return FABRIC_TOKEN_DOMAIN;
    case WIRE_RDMAP_ACCESS:
        return FABRIC_TOKEN_RIGHT;
    case WIRE_DDP_TAGGED_BOUNDS:
    case WIRE_DDP_TAGGED_WRAP:
        return FABRIC_TOKEN_RANGE;
    case WIRE_RDMAP_PROTECTION:
        return FABRIC_REGION_GONE;
    case WIRE_RDMAP_CANNOT_INVALIDATE:
        return FABRIC_TOKEN_LASTING;
    default:
        return MUTANT(why_any_token) ? FABRIC_LOCAL_ERROR : FABRIC_TOKEN;
    }
}

enum fabric_reason iwarp_reason_completion(const struct iw_completion *c, enum fabric_reason stopped)
{
    switch (c->status) {
    case IW_OK:
        return FABRIC_OK;
    case IW_LOCAL_ACCESS:
        return reason_memory(c->error);
    case IW_TOO_LONG:
        return FABRIC_RECEIVE_SHORT;
    case IW_REMOTE_ACCESS:
        return FABRIC_PEER_TOKEN;
    case IW_REMOTE_RANGE:
        return FABRIC_PEER_RANGE;
    case IW_FLUSHED:
    case IW_LOST:
        break;
    }
    return c->end == IW_END_NONE || MUTANT(why_end_forgotten) ? stopped : iwarp_reason_end(c->end);
}
