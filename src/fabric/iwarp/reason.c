/* SPDX-License-Identifier: MIT */
/*
 * Maps errno values of the transport, and the ways in which a stream ends, to reasons. The reason for an errno depends
 * on the operation that failed. The invariant: every errno has a reason. For an unknown errno the reason is
 * FABRIC_PEER_RESET if send or recv failed, otherwise FABRIC_SYSTEM.
 */
#include <errno.h>

#include "fabric/iwarp/reason.h"

/*
 * If the error means that a resource ran out, returns the reason for that resource. Otherwise returns FABRIC_OK.
 * iwarp_reason_reserve handles ENOSPC itself, because a reservation fails with ENOSPC if no port is free.
 */
static enum fabric_reason reason_of_shortage(int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
        return FABRIC_DESCRIPTORS;
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC: /* no place is free in an epoll set */
    case EAGAIN: /* no route cache entry is free */
        return FABRIC_RESOURCES;
    default:
        return FABRIC_OK;
    }
}

static enum fabric_reason reason_of_shortage_or(int error, enum fabric_reason other)
{
    enum fabric_reason shortage = reason_of_shortage(error);

    return shortage == FABRIC_OK ? other : shortage;
}

enum fabric_reason iwarp_reason_reserve(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case EADDRINUSE:
        return FABRIC_ADDRESS_TAKEN;
    case EADDRNOTAVAIL:
    case EAFNOSUPPORT:
    case EINVAL: /* link-local without a scope, or an IPv4-mapped address */
    case ENODEV: /* the scope of the address names no interface */
        return FABRIC_ADDRESS_FOREIGN;
    case EACCES: /* a port that needs CAP_NET_BIND_SERVICE, or a security module's rule */
    case EPERM:
        return FABRIC_PORT_FORBIDDEN;
    case ENOSPC:
        return FABRIC_PORTS_EXHAUSTED;
    case EEXIST:
        return FABRIC_FOUR_TUPLE;
    default:
        return reason_of_shortage_or(error, FABRIC_SYSTEM);
    }
}

enum fabric_reason iwarp_reason_listen(int error)
{
    return reason_of_shortage_or(error, iwarp_reason_reserve(error));
}

/*
 * connect(2) returns errors of its own. The kernel also converts ICMP errors to errors of connect (icmp_err_convert,
 * icmpv6_err_convert):
 *
 *   ICMP                          ICMPv6                             errno
 *   network unreachable, unknown  no route                           ENETUNREACH
 *   host unreachable, prohibited  address unreachable, beyond scope  EHOSTUNREACH
 *   network prohibited                                               ENETUNREACH
 *                                 prohibited, policy, reject         EACCES
 *   port unreachable              port unreachable                   ECONNREFUSED
 *   protocol unreachable                                             ENOPROTOOPT
 *   host unknown, isolated                                           EHOSTDOWN, ENONET
 *   source route failed                                              EOPNOTSUPP
 *   parameter problem             parameter problem                  EPROTO
 *   fragmentation needed          packet too big                     EMSGSIZE
 *   time exceeded                 time exceeded                      EHOSTUNREACH
 *
 * A route of type blackhole causes EINVAL, prohibit EACCES, unreachable EHOSTUNREACH, and throw ENETUNREACH.
 */
enum fabric_reason iwarp_reason_connect(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case ECONNREFUSED:
        return FABRIC_REFUSED;
    case ECONNRESET:
    case ECONNABORTED:
    case EPIPE:
    case ENOTCONN:
        return FABRIC_PEER_RESET;
    case ENETUNREACH:
    case ENETDOWN:
    case ENETRESET:
    case EMSGSIZE:
    case EINVAL: /* a blackhole route, or a source that cannot reach the destination (loopback to another host) */
    case EAFNOSUPPORT:
    case ENODEV: /* the interface of the route, or of the scope, was removed */
    case ENXIO:
        return FABRIC_NO_ROUTE;
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENONET:
        return FABRIC_NO_HOST;
    case EACCES:
    case EPERM: /* the local packet filter, a control group's program, or IPsec's policy */
        return FABRIC_PROHIBITED;
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPROTO:
        return FABRIC_NO_PROTOCOL;
    case ETIMEDOUT:
        return FABRIC_CONNECT_TIMEOUT;
    case EADDRNOTAVAIL:
    case EEXIST:
        return FABRIC_FOUR_TUPLE;
    case EADDRINUSE:
        return FABRIC_ADDRESS_TAKEN;
    default:
        return reason_of_shortage_or(error, FABRIC_SYSTEM);
    }
}

enum fabric_reason iwarp_reason_stream(int error)
{
    switch (error) {
    case 0:
        return FABRIC_OK;
    case EFAULT: /* registered memory that is no longer mapped */
        return FABRIC_LOCAL_ERROR;
    /* TCP has given up. The errno is ETIMEDOUT, or comes from an earlier ICMP or neighbour error. */
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case ENONET:
    case EACCES:
    case ECONNREFUSED:
    case ENOPROTOOPT:
    case EOPNOTSUPP:
    case EPROTO:
    case EMSGSIZE:
        return FABRIC_PEER_SILENT;
    default:
        return reason_of_shortage_or(error, FABRIC_PEER_RESET);
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

/* Returns the reason of a local access error, which is a fault of a token or range in the local request. */
static enum fabric_reason reason_of_memory_error(enum wire_error error)
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
        return FABRIC_TOKEN;
    }
}

enum fabric_reason iwarp_reason_completion(const struct rdma_completion *c, enum iw_end end, enum fabric_reason stopped)
{
    switch (c->status) {
    case RDMA_STATUS_OK:
        return FABRIC_OK;
    case RDMA_STATUS_LOCAL_ACCESS:
        return reason_of_memory_error(c->error);
    case RDMA_STATUS_TOO_LONG:
        return FABRIC_RECEIVE_SHORT;
    case RDMA_STATUS_REMOTE_ACCESS:
        return FABRIC_PEER_TOKEN;
    case RDMA_STATUS_REMOTE_RANGE:
        return FABRIC_PEER_RANGE;
    case RDMA_STATUS_FLUSHED:
    case RDMA_STATUS_LOST:
        break;
    }
    return end == IW_END_NONE ? stopped : iwarp_reason_end(end);
}
