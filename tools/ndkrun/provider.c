/* SPDX-License-Identifier: MIT */
/* Loads the NDK provider that --provider selects: see provider.h. */
#include "provider.h"

#include "consumer/provider_module.h"
#include "json_output.h"
#include "ndkconform/provider.h"
#include "openndk/wdk.h"

static const struct ndkconform_provider *provider; /* NULL: OpenNDK */
static const char *provider_module;

static int32_t provider_open_adapter(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return provider->open_adapter((NDK_VERSION){ major, minor }, if_index, adapter);
}

bool provider_load(const char *module, FILE *out)
{
    char error[1024];

    provider = provider_module_load(module, error, sizeof error);
    if (!provider) {
        fprintf(stderr, "ndkrun: --provider: %s\n", error);
        return false;
    }
    provider_module = module;
    ondk_wdk_set_provider(provider_open_adapter, provider->close_adapter);
    fprintf(out, "ndkrun: provider %s %s (%s)\n", provider->name, provider->version, module);
    return true;
}

void provider_add(json_t *object)
{
    if (provider)
        (void)json_object_set_new(object, "provider",
                                  json_pack("{s:o,s:o,s:o}", "name", json_output_text(provider->name), "version",
                                            json_output_text(provider->version), "module",
                                            json_output_text(provider_module)));
}
