/* SPDX-License-Identifier: MIT */
/*
 * Why a connection failed or ended, in more detail than an NTSTATUS has. The codes are those that the disconnect
 * callback of NDK 2.1 brings (ProviderDisconnectReason).
 */
#ifndef OPENNDK_REASON_H
#define OPENNDK_REASON_H

#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Why the connector's last step failed, or its connection ended; 0: nothing of the kind has happened.
 * Any thread, up to DISPATCH_LEVEL, while the connector is not closed.
 */
ONDK_API uint32_t ondk_connector_reason(NDK_CONNECTOR *connector);
/* "reply-timeout"; "unknown" for a code that does not exist. Static storage. */
ONDK_API const char *ondk_reason_name(uint32_t code);
/* What happened, one sentence; never NULL. Static storage. */
ONDK_API const char *ondk_reason_text(uint32_t code);

#ifdef __cplusplus
}
#endif

#endif
