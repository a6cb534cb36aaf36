/* SPDX-License-Identifier: MIT */
/* What an errno of the transport, or an end of the protocol, means for a connection. */
#ifndef FABRIC_IWARP_REASON_H
#define FABRIC_IWARP_REASON_H

#include "fabric/fabric.h"
#include "iwarp/qp.h"

/* errno to reason. Each maps every errno. */
enum fabric_reason iwarp_reason_reserve(int error);
enum fabric_reason iwarp_reason_listen(int error); /* at a reserved address */
enum fabric_reason iwarp_reason_connect(int error);
enum fabric_reason iwarp_reason_stream(int error); /* of send and recv */
enum fabric_reason iwarp_reason_end(enum iw_end end);
/* end: how the stream ended. stopped: why it was stopped or flushed if it did not end by itself. */
enum fabric_reason iwarp_reason_completion(const struct rdma_completion *c, enum iw_end end,
                                           enum fabric_reason stopped);

#endif
