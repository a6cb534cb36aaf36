/* SPDX-License-Identifier: MIT */
/* OpenNDK as a provider module. No other file of ndkconform includes OpenNDK's headers. */
#include "ndkconform/provider.h"

#include <string.h>

#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/mdl.h"
#include "openndk/version.h"

_Static_assert(NDKCONFORM_RTR_ZERO_FPDU == ONDK_RTR_ZERO_FPDU && NDKCONFORM_RTR_WRITE == ONDK_RTR_WRITE &&
                   NDKCONFORM_RTR_READ == ONDK_RTR_READ,
               "the same bits for the forms of ready-to-receive");

/* clang-format off */
#define SETTING(field) { #field, offsetof(ondk_config_t, field) }
static const struct {
    const char *name;
    size_t offset;
} settings[] = {
    SETTING(connect_ms), SETTING(request_ms), SETTING(reply_ms), SETTING(establish_ms), SETTING(disconnect_ms),
    SETTING(backlog), SETTING(max_unfinished), SETTING(max_private), SETTING(pend_creates), SETTING(mpa_revision),
    SETTING(crc), SETTING(rtr), SETTING(max_fpdu), SETTING(nudge_ms), SETTING(shards),
    SETTING(notify_us), SETTING(stall_ms), SETTING(srq_stall_ms), SETTING(unacked_ms),
    SETTING(max_srq_depth), SETTING(fast_register_pages), SETTING(max_window_kib), SETTING(cq_resize),
    SETTING(cq_moderation), SETTING(max_inbound_reads), SETTING(max_outbound_reads), SETTING(max_initiator_sge),
    SETTING(max_receive_sge), SETTING(max_read_sge), SETTING(max_inline), SETTING(max_initiator_depth),
    SETTING(max_receive_depth), SETTING(max_cq_depth), SETTING(max_registration_kib), SETTING(max_transfer),
    SETTING(read_local_invalidate),
};
/* clang-format on */

static NTSTATUS set(const char *setting, uint32_t value)
{
    static ondk_config_t config;
    ondk_config_t wanted;

    if (config.size == 0)
        ondk_config_init(&config);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strcmp(settings[i].name, setting) != 0)
            continue;
        wanted = config;
        memcpy((char *)&wanted + settings[i].offset, &value, sizeof value);
        if (ondk_configure(&wanted) < 0)
            return STATUS_NOT_SUPPORTED;
        config = wanted;
        return STATUS_SUCCESS;
    }
    return STATUS_NOT_SUPPORTED;
}

static NTSTATUS open_adapter(NDK_VERSION version, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return ondk_open_adapter(version, if_index, adapter);
}

static void close_adapter(NDK_ADAPTER *adapter)
{
    ondk_close_adapter(adapter);
}

static void init_mdl(MDL *mdl, void *address, ULONG length, MDL *next)
{
    ondk_mdl_init(mdl, address, length, next);
}

const struct ndkconform_provider *ndkconform_provider(void)
{
    static const struct ndkconform_provider openndk = {
        NDKCONFORM_INTERFACE, "OpenNDK", OPENNDK_VERSION_STRING, open_adapter, close_adapter, init_mdl, set,
    };

    return &openndk;
}
