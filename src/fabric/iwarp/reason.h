/* SPDX-License-Identifier: MIT */
/* Maps errno values of the transport, the ways a stream ends (enum iw_end) and completions to enum fabric_reason. */
#ifndef FABRIC_IWARP_REASON_H
#define FABRIC_IWARP_REASON_H

#include "fabric/fabric.h"
#include "iwarp/qp.h"

/*
 * The first four functions return the reason for the errno with which an operation has failed. Every errno has a
 * reason. The operations are: to reserve an address, to listen on a reserved address, to connect, and send() or recv()
 * on the stream's socket. iwarp_reason_end returns the reason for the end of a stream.
 */
enum fabric_reason iwarp_reason_reserve(int error);
enum fabric_reason iwarp_reason_listen(int error);
enum fabric_reason iwarp_reason_connect(int error);
enum fabric_reason iwarp_reason_stream(int error);
enum fabric_reason iwarp_reason_end(enum iw_end end);
/*
 * Returns the reason of the completion *c. For a request that was flushed or lost, returns the reason of `end`, or
 * `stopped` if `end` is IW_END_NONE.
 */
enum fabric_reason iwarp_reason_completion(const struct rdma_completion *c, enum iw_end end,
                                           enum fabric_reason stopped);

#endif
