/* SPDX-License-Identifier: MIT */
/*
 * Opens and closes the provider's own adapters, for the layers above the provider. Programs call ondk_open_adapter and
 * ondk_close_adapter instead (src/front).
 */
#ifndef PROVIDER_OPEN_H
#define PROVIDER_OPEN_H

#include "ndk/ndkpi.h"
#include "openndk/config.h"

/* Does what ondk_open_adapter_with does. */
NTSTATUS provider_open_adapter(NDK_VERSION version, uint32_t if_index, const ondk_config_t *options,
                               NDK_ADAPTER **adapter);
/* Does what ondk_close_adapter does. */
void provider_close_adapter(NDK_ADAPTER *adapter);

/* Begins to record a trace if the environment variable ONDK_TRACE requests a trace. If that fails, logs the reason. */
void provider_start_trace(void);

/*
 * Sets the function that returns the provider's object behind a verifier's object. The public functions about adapters
 * and connectors (openndk/counters.h and others) first call `unwrap` with the consumer's object. If `unwrap` was not
 * set, the consumer's object is the provider's object.
 */
void provider_set_unwrap(void *(*unwrap)(void *object));

#endif
