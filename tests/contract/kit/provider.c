/* SPDX-License-Identifier: MIT */
/* The parts of the kit that use provider.h: adapters, MDLs, settings and capabilities. */
#include "contract/kit/kit.h"
#include "contract/program/runner.h"

const struct ndkconform_provider *kit_provider;
struct kit_adapter kit_adapter;

NTSTATUS kit_open_status(uint16_t major, uint16_t minor, uint32_t if_index, NDK_ADAPTER **adapter)
{
    return kit_provider->open_adapter((NDK_VERSION){ major, minor }, if_index, adapter);
}

NDK_ADAPTER *kit_open(uint16_t major, uint16_t minor)
{
    NDK_ADAPTER *adapter = NULL;

    CHECK_STATUS(kit_open_status(major, minor, kit_interface(), &adapter), STATUS_SUCCESS);
    CHECK(adapter != NULL);
    return adapter;
}

void kit_close_adapter(NDK_ADAPTER *adapter)
{
    kit_provider->close_adapter(adapter);
}

void kit_init_mdl(MDL *mdl, void *address, ULONG length, MDL *next)
{
    kit_provider->init_mdl(mdl, address, length, next);
}

/* ---- capabilities ---- */

const NDK_ADAPTER_INFO *kit_info(void)
{
    if (!kit_adapter.known)
        kit_fail(__FILE__, __LINE__, "no adapter could be opened and queried");
    return &kit_adapter.info;
}

/* clang-format off */
#define FLAG(flag) { flag, #flag }
static const struct {
    ULONG flag;
    const char *name;
} flags[] = {
    FLAG(NDK_ADAPTER_FLAG_IN_ORDER_DMA_SUPPORTED),
    FLAG(NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED),
    FLAG(NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED),
    FLAG(NDK_ADAPTER_FLAG_MULTI_ENGINE_SUPPORTED),
    FLAG(NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE_SUPPORTED),
    FLAG(NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED),
    FLAG(NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS_SUPPORTED),
};
/* clang-format on */

void kit_need_flag(ULONG flag)
{
    if (kit_info()->AdapterFlags & flag)
        return;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].flag == flag)
            kit_skip("the adapter has no %s", flags[i].name);
    kit_fail(__FILE__, __LINE__, "there is no adapter flag 0x%x", flag);
}

void kit_need_reads(ULONG count)
{
    const NDK_ADAPTER_INFO *info = kit_info();

    if (info->MaxInboundReadLimit < count || info->MaxOutboundReadLimit < count)
        kit_skip("the adapter has no %u reads in flight both ways (%u in, %u out)", (unsigned)count,
                 (unsigned)info->MaxInboundReadLimit, (unsigned)info->MaxOutboundReadLimit);
}

void kit_need_iwarp(void)
{
    if (kit_info()->RdmaTechnology != NdkiWarp)
        kit_skip("the adapter's technology is %d, not iWARP (%d)", (int)kit_info()->RdmaTechnology, (int)NdkiWarp);
}

/* ---- settings ---- */

/* clang-format off */
#define SETTING(field) { #field, offsetof(struct kit_config, field), false }
#define OPTIONAL(field) { #field, offsetof(struct kit_config, field), true }
static const struct {
    const char *name;
    size_t offset;
    bool is_optional; /* a case also runs if the provider lacks the setting, but tests less */
} settings[] = {
    SETTING(connect_ms), SETTING(request_ms), SETTING(reply_ms), SETTING(establish_ms), SETTING(disconnect_ms),
    SETTING(backlog), SETTING(max_unfinished), SETTING(max_private), SETTING(pend_creates), SETTING(mpa_revision),
    SETTING(crc), SETTING(rtr), OPTIONAL(max_fpdu), OPTIONAL(nudge_ms), OPTIONAL(shards), SETTING(notify_us),
    OPTIONAL(breaches), OPTIONAL(max_srq_depth), OPTIONAL(fast_register_pages), OPTIONAL(max_window_kib),
    OPTIONAL(cq_resize), OPTIONAL(cq_moderation),
};
/* clang-format on */

struct kit_config kit_config(void)
{
    struct kit_config c;

    memset(&c, 0xff, sizeof c); /* KIT_UNSET everywhere */
    return c;
}

void kit_configure(const struct kit_config *c)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        NTSTATUS status;
        uint32_t value;

        memcpy(&value, (const char *)c + settings[i].offset, sizeof value);
        if (value == KIT_UNSET)
            continue;
        status = kit_provider->set ? kit_provider->set(settings[i].name, value) : STATUS_NOT_SUPPORTED;
        if (status == STATUS_NOT_SUPPORTED && !settings[i].is_optional)
            kit_skip("the provider cannot set %s to %u", settings[i].name, (unsigned)value);
        if (status != STATUS_NOT_SUPPORTED)
            CHECK_STATUS(status, STATUS_SUCCESS);
    }
}

void run_without_limits(void)
{
    static const char *const limits[] = { "connect_ms",    "request_ms", "reply_ms",     "establish_ms",
                                          "disconnect_ms", "stall_ms",   "srq_stall_ms", "unacked_ms" };

    for (size_t i = 0; kit_provider->set && i < sizeof limits / sizeof limits[0]; i++)
        (void)kit_provider->set(limits[i], 1000000);
}

void kit_with_limit(bool (*attempt)(uint32_t ms))
{
    uint32_t ms = 300;

    for (; !attempt(ms); ms *= 2)
        CHECK(ms < 60000);
}

/* ---- statuses by name ---- */

/* clang-format off */
#define NAME(status) { status, #status }
static const struct {
    NTSTATUS status;
    const char *name;
} names[] = {
    NAME(STATUS_SUCCESS), NAME(STATUS_TIMEOUT), NAME(STATUS_PENDING), NAME(STATUS_BUFFER_OVERFLOW),
    NAME(STATUS_DEVICE_BUSY), NAME(STATUS_NO_MORE_ENTRIES), NAME(STATUS_UNSUCCESSFUL), NAME(STATUS_ACCESS_VIOLATION),
    NAME(STATUS_INVALID_HANDLE), NAME(STATUS_INVALID_PARAMETER), NAME(STATUS_INVALID_DEVICE_REQUEST),
    NAME(STATUS_NO_MEMORY), NAME(STATUS_BUFFER_TOO_SMALL), NAME(STATUS_INVALID_PARAMETER_MIX),
    NAME(STATUS_DATA_OVERRUN), NAME(STATUS_SHARING_VIOLATION), NAME(STATUS_INSUFFICIENT_RESOURCES),
    NAME(STATUS_DEVICE_NOT_READY), NAME(STATUS_IO_TIMEOUT), NAME(STATUS_NOT_SUPPORTED), NAME(STATUS_INTERNAL_ERROR),
    NAME(STATUS_CANCELLED), NAME(STATUS_REMOTE_RESOURCES), NAME(STATUS_INVALID_ADDRESS),
    NAME(STATUS_INVALID_DEVICE_STATE), NAME(STATUS_INVALID_BUFFER_SIZE), NAME(STATUS_TOO_MANY_ADDRESSES),
    NAME(STATUS_ADDRESS_ALREADY_EXISTS), NAME(STATUS_CONNECTION_REFUSED), NAME(STATUS_CONNECTION_INVALID),
    NAME(STATUS_CONNECTION_ACTIVE), NAME(STATUS_NETWORK_UNREACHABLE), NAME(STATUS_HOST_UNREACHABLE),
    NAME(STATUS_CONNECTION_ABORTED), NAME(STATUS_DEVICE_REMOVED), NAME(STATUS_IMPLEMENTATION_LIMIT),
    NAME(NDIS_STATUS_BAD_VERSION), NAME(NDIS_STATUS_ADAPTER_NOT_READY),
};
/* clang-format on */

static const char *provider_status_name(NTSTATUS status, char text[16])
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].status == status)
            return names[i].name;
    snprintf(text, 16, "0x%08x", (unsigned)status);
    return text;
}

void kit_check_status(const char *file, int line, const char *what, NTSTATUS seen, NTSTATUS expected)
{
    char wanted[16], got[16];

    if (seen != expected)
        kit_fail(file, line, "%s: expected %s, saw %s", what, provider_status_name(expected, wanted),
                 provider_status_name(seen, got));
}
