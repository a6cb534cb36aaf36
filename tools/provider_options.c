/* SPDX-License-Identifier: MIT */
/* Implements --provider, and the options that configure the provider: see provider_options.h. */
#include "provider_options.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "consumer/provider.h"
#include "json_output.h"
#include "ndkconform/provider.h"
#include "openndk/adapter.h"
#include "print.h"

_Static_assert(NDKCONFORM_RTR_ZERO_FPDU == ONDK_RTR_ZERO_FPDU && NDKCONFORM_RTR_WRITE == ONDK_RTR_WRITE &&
                   NDKCONFORM_RTR_READ == ONDK_RTR_READ,
               "a module gets the bits of --rtr as they are");

static const char *module_file;

/* The settings for which the tools have options. */
/* clang-format off */
#define SETTING(field, option) { #field, option, offsetof(ondk_config_t, field) }
static const struct {
    const char *name, *option;
    size_t offset;
} settings[] = {
    SETTING(connect_ms, "--timeout"), SETTING(reply_ms, "--timeout"), SETTING(establish_ms, "--timeout"),
    SETTING(disconnect_ms, "--timeout"), SETTING(crc, "--crc"), SETTING(rtr, "--rtr"),
    SETTING(mpa_revision, "--mpa-rev"), SETTING(max_private, "--profile"), SETTING(max_inbound_reads, "--profile"),
    SETTING(max_outbound_reads, "--profile"), SETTING(max_initiator_sge, "--profile"),
    SETTING(max_receive_sge, "--profile"), SETTING(max_read_sge, "--profile"), SETTING(max_inline, "--profile"),
    SETTING(max_initiator_depth, "--profile"), SETTING(max_receive_depth, "--profile"),
    SETTING(max_cq_depth, "--profile"), SETTING(max_srq_depth, "--profile"),
    SETTING(fast_register_pages, "--profile"), SETTING(max_window_kib, "--profile"),
    SETTING(max_registration_kib, "--profile"), SETTING(max_transfer, "--profile"), SETTING(cq_resize, "--profile"),
    SETTING(cq_moderation, "--profile"), SETTING(read_local_invalidate, "--profile"),
};
/* clang-format on */
enum { N_SETTINGS = sizeof settings / sizeof settings[0] };

static uint32_t *settings_at(ondk_config_t *config, size_t i)
{
    return (uint32_t *)((char *)config + settings[i].offset);
}

void provider_options_init(ondk_config_t *config)
{
    for (size_t offset = 0; offset < sizeof *config; offset += sizeof(uint32_t))
        *(uint32_t *)((char *)config + offset) = PROVIDER_NOT_GIVEN;
    config->size = sizeof *config;
}

static bool settings_apply(const struct ndkconform_provider *p, ondk_config_t *given, char *error, size_t size)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        uint32_t value = *settings_at(given, i);
        NTSTATUS status;

        if (value == PROVIDER_NOT_GIVEN)
            continue;
        status = p->set ? p->set(settings[i].name, value) : STATUS_NOT_SUPPORTED;
        if (NT_SUCCESS(status))
            continue;
        snprintf(error, size, "%s: the provider %s cannot set %s to %u: %s", settings[i].option, p->name,
                 settings[i].name, (unsigned)value, ondk_status_name(status));
        return false;
    }
    return true;
}

bool provider_options_load(const char *module, ondk_config_t *config, char *error, size_t size)
{
    ondk_config_t whole;

    if (module) {
        module_file = module;
        return consumer_use_module(module, error, size) &&
               settings_apply(consumer_foreign_provider(), config, error, size);
    }
    ondk_config_init(&whole);
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (*settings_at(config, i) != PROVIDER_NOT_GIVEN)
            *settings_at(&whole, i) = *settings_at(config, i);
    *config = whole;
    return true;
}

NTSTATUS provider_options_configure(const ondk_config_t *config)
{
    return consumer_foreign_provider() ? STATUS_SUCCESS : ondk_configure(config);
}

void provider_options_print(void)
{
    const struct ndkconform_provider *p = consumer_foreign_provider();

    if (p)
        print_line("provider %s %s (%s)", p->name, p->version, module_file);
}

void provider_options_add(json_t *object)
{
    const struct ndkconform_provider *p = consumer_foreign_provider();

    if (p)
        json_object_set_new(object, "provider",
                            json_pack("{s:o,s:o,s:o}", "name", json_output_text(p->name), "version",
                                      json_output_text(p->version), "module", json_output_text(module_file)));
}
