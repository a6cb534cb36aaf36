/* SPDX-License-Identifier: MIT */
/*
 * Loads a provider module (ndkconform/provider.h). ndkconform uses this file, too, so the file must not depend on other
 * files of OpenNDK.
 */
#ifndef CONSUMER_PROVIDER_MODULE_H
#define CONSUMER_PROVIDER_MODULE_H

#include <stddef.h>

struct ndkconform_provider;

/*
 * Loads the module `file` and returns its table, which stays valid because the module is never unloaded. A name without
 * a slash is searched in the system's library directories. Returns NULL, and writes one line to `error`, if the module
 * cannot be used.
 */
const struct ndkconform_provider *provider_module_load(const char *file, char *error, size_t size);

#endif
