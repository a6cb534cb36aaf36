/* SPDX-License-Identifier: MIT */
/* Maps errno values of the transport, the ways a stream ends (enum iw_end) and completions to enum fabric_reason. */
#ifndef FABRIC_IWARP_REASON_H
#define FABRIC_IWARP_REASON_H

#include "fabric/fabric.h"
#include "iwarp/qp.h"

/*
 * The first four functions map the errno of one operation to a reason. Every errno has a reason. iwarp_reason_end maps
 * the end of a stream.
 */
enum fabric_reason iwarp_reason_reserve(int error);
enum fabric_reason iwarp_reason_listen(int error); /* the operation: to listen on a reserved address */
enum fabric_reason iwarp_reason_connect(int error);
enum fabric_reason iwarp_reason_stream(int error); /* the operation: send or recv */
enum fabric_reason iwarp_reason_end(enum iw_end end);
/*
 * Returns the reason of the completion *c. For a request that was flushed or lost, returns the reason of `end`, or
 * `stopped` if `end` is IW_END_NONE.
 */
enum fabric_reason iwarp_reason_completion(const struct rdma_completion *c, enum iw_end end,
                                           enum fabric_reason stopped);

#endif
