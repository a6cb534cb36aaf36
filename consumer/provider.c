/* SPDX-License-Identifier: MIT */
/* Selects the NDK provider of this process: see provider.h. */
#include "consumer/provider.h"

#include "consumer/provider_module.h"
#include "consumer/verified_provider.h"
#include "ndkconform/provider.h"
#include "openndk/adapter.h"
#include "openndk/mdl.h"
#include "openndk/reason.h"

static const struct ndkconform_provider *foreign; /* set before the first adapter is opened, then constant */

bool consumer_use_module(const char *file, char *error, size_t size)
{
    const struct ndkconform_provider *loaded = provider_module_load(file, error, size);

    foreign = loaded ? verified_provider(loaded) : NULL;
    return foreign != NULL;
}

const struct ndkconform_provider *consumer_foreign_provider(void)
{
    return foreign;
}

NTSTATUS consumer_open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return foreign ? foreign->open_adapter(version, if_index, adapter) : ondk_open_adapter(version, if_index, adapter);
}

void consumer_close_adapter(NDK_ADAPTER *adapter)
{
    if (foreign)
        foreign->close_adapter(adapter);
    else
        ondk_close_adapter(adapter);
}

const char *consumer_open_adapter_name(void)
{
    return foreign ? "open_adapter" : "ondk_open_adapter";
}

void consumer_init_mdl(MDL *mdl, void *address, ULONG length, MDL *next)
{
    if (foreign)
        foreign->init_mdl(mdl, address, length, next);
    else
        ondk_mdl_init(mdl, address, length, next);
}

uint32_t consumer_connector_reason(NDK_CONNECTOR *connector)
{
    return foreign ? 0 : ondk_connector_reason(connector);
}

bool consumer_reason_is_openndk(uint32_t reason)
{
    return !foreign && reason;
}

bool consumer_read_counters(NDK_ADAPTER *adapter, ondk_counters_t *counters)
{
    if (!foreign)
        ondk_adapter_counters(adapter, counters);
    return !foreign;
}
