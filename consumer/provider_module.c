/* SPDX-License-Identifier: MIT */
/* Loads a provider module: see provider_module.h. */
#include "consumer/provider_module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "ndkconform/provider.h"

const struct ndkconform_provider *provider_module_load(const char *file, char *error, size_t size)
{
    const struct ndkconform_provider *p;
    ndkconform_provider_fn *get;
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL), *symbol;

    symbol = handle ? dlsym(handle, "ndkconform_provider") : NULL;
    if (!symbol) {
        snprintf(error, size, "no provider: %s", dlerror());
        return NULL;
    }
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast between object and function pointers */
    p = get();
    if (!p) {
        snprintf(error, size, "%s: the provider cannot be used", file);
        return NULL;
    }
    if (p->interface != NDKCONFORM_INTERFACE) {
        snprintf(error, size, "%s: expected interface %u, saw %u", file, NDKCONFORM_INTERFACE, (unsigned)p->interface);
        return NULL;
    }
    if (!p->name || !p->version || !p->open_adapter || !p->close_adapter || !p->init_mdl) {
        snprintf(error, size, "%s: only set may be NULL", file);
        return NULL;
    }
    return p;
}
