/* SPDX-License-Identifier: MIT */
/*
 * Opening and closing of the provider's own adapters, for the layers above. Programs call ondk_open_adapter and
 * ondk_close_adapter instead (src/front).
 */
#ifndef PROVIDER_OPEN_H
#define PROVIDER_OPEN_H

#include "ndk/ndkpi.h"
#include "openndk/config.h"

/* As ondk_open_adapter_with. */
NTSTATUS provider_open_adapter(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                               NDK_ADAPTER **adapter);
/* As ondk_close_adapter. */
void provider_close_adapter(NDK_ADAPTER *adapter);

/* Begins to record a trace if ONDK_TRACE asks for it. If that fails, the log has the reason. */
void provider_start_trace(void);

/*
 * Sets the function that returns the provider's object behind a verifier's object. The public functions about adapters
 * and connectors (openndk/counters.h and others) call this function first. If none is set, they use the consumer's
 * object as it is.
 */
void provider_set_unwrap(void *(*unwrap)(void *object));

#endif
