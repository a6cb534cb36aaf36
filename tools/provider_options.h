/* SPDX-License-Identifier: MIT */
/*
 * Implements --provider, and the options that configure the provider. A tool parses these options into an ondk_config_t
 * for any provider. OpenNDK receives the whole configuration. Another provider receives only the settings for which an
 * option was given; each setting is set by the name that ndkconform/provider.h lists.
 */
#ifndef TOOLS_PROVIDER_OPTIONS_H
#define TOOLS_PROVIDER_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "ndk/ndkpi.h"
#include "openndk/config.h"

/*
 * The row of --provider in a tool's option table. `offset` is the offset of a const char * in the tool's options, which
 * stays NULL if the option is not given.
 */
#define PROVIDER_OPTION(offset)                                                                                        \
    {                                                                                                                  \
        "--provider", "MODULE", "use the NDK provider of this shared object instead of OpenNDK", COMMAND_TEXT,         \
            .at = offset                                                                                               \
    }

/* The value of a setting for which no option was given. */
#define PROVIDER_NOT_GIVEN 0xfffffffeu

/* Sets all of *config to PROVIDER_NOT_GIVEN. Must be called before the options are parsed. */
void provider_options_init(ondk_config_t *config);
/*
 * Applies the parsed options. If `module` is not NULL, loads the module, and passes the given settings of *config to
 * it. Otherwise completes *config with the environment and OpenNDK's defaults. If the module cannot be used, or does
 * not support a setting, writes one line to `error` and returns false. Must be called after the options are parsed.
 */
bool provider_options_load(const char *module, ondk_config_t *config, char *error, size_t size);
/* Configures OpenNDK. Does nothing if the provider is not OpenNDK. */
NTSTATUS provider_options_configure(const ondk_config_t *config);

/* Prints a line with the provider's name, version and module. Prints nothing if the provider is OpenNDK. */
void provider_options_print(void);
/* Adds the member "provider" (name, version and module) to *object. Adds nothing if the provider is OpenNDK. */
void provider_options_add(json_t *object);

#endif
