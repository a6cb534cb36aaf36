/* SPDX-License-Identifier: MIT */
/*
 * The NDK provider of this process. It is OpenNDK's provider, or a foreign provider that is loaded from a module. This
 * file has the provider's functions that are not in ndk/ndkpi.h: opening and closing adapters, MDLs, settings, counters
 * and reasons. No function of include/openndk may receive an adapter or object of a foreign provider. Therefore the
 * tools and the consumer call those functions only through this file.
 */
#ifndef CONSUMER_PROVIDER_H
#define CONSUMER_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ndk/ndkpi.h"
#include "openndk/counters.h"

struct ndkconform_provider;

/*
 * Makes the module's provider the provider of this process. Without this call, the provider is OpenNDK's. No other
 * function of this file may be called before this function. Returns false, and writes one line to `error`, if the
 * module cannot be used.
 */
bool consumer_use_module(const char *file, char *error, size_t size);
/* Returns the foreign provider of the module, or NULL if the provider is OpenNDK. */
const struct ndkconform_provider *consumer_foreign_provider(void);

NTSTATUS consumer_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter);
/* Closes the adapter. First waits until all objects of the adapter have been closed. */
void consumer_close_adapter(NDK_ADAPTER *adapter);
/* Returns the name of the function that consumer_open_adapter calls, for messages. */
const char *consumer_open_adapter_name(void);
void consumer_init_mdl(MDL *mdl, void *address, ULONG length, MDL *next);

/* ---- reasons and counters, which only OpenNDK's provider has ---- */

/*
 * Returns the reason for the failure of the connector's last step or for the end of the connection, or 0 if the reason
 * is not known.
 */
uint32_t consumer_connector_reason(NDK_CONNECTOR *connector);
/*
 * Returns true if `reason`, which comes from a connector, a completion or a disconnect, is a code of openndk/reason.h.
 * Returns false if `reason` is 0, or if the provider is foreign, because a foreign provider has other codes.
 */
bool consumer_reason_is_openndk(uint32_t reason);
/* Reads the adapter's counters. Returns false if the provider is foreign. */
bool consumer_read_counters(NDK_ADAPTER *adapter, ondk_counters_t *counters);

#endif
