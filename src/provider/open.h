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

/*
 * Sets a function that returns the provider's object behind an object of the consumer. The public functions about
 * adapters and connectors (openndk/counters.h and others) call it first. Without it, consumers hold the provider's own
 * objects.
 */
void provider_set_unwrap(void *(*unwrap)(void *object));

#endif
