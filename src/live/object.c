/* SPDX-License-Identifier: MIT */
/*
 * Gives objects short names: see object.h. The first list below has the type of each event's object. The second list
 * has the type of the object that each field contains. If an event is not in the first list, its object receives no
 * name.
 */
#include "live/object.h"

#include <inttypes.h>
#include <string.h>

#include "live/table.h"
#include "trace/trace.h"

/* O(event, type of the field `object`, type of the object that the routine creates) */
#define LIVE_OBJECTS(O)                                                                                                \
    O(adapter, adapter, none)                                                                                          \
    O(adapter_close, adapter, none)                                                                                    \
    O(listening, listener, none)                                                                                       \
    O(connection, connector, none)                                                                                     \
    O(connector, connector, none)                                                                                      \
    O(cq_notification, cq, none)                                                                                       \
    O(srq_notification, srq, none)                                                                                     \
    O(connect_event, listener, none)                                                                                   \
    O(disconnect_event, connector, none)                                                                               \
    O(result, cq, none)                                                                                                \
    O(NdkCreateCq, adapter, cq)                                                                                        \
    O(NdkCreatePd, adapter, pd)                                                                                        \
    O(NdkCreateSharedEndpoint, adapter, endpoint)                                                                      \
    O(NdkCreateConnector, adapter, connector)                                                                          \
    O(NdkCreateListener, adapter, listener)                                                                            \
    O(NdkCreateMr, pd, mr)                                                                                             \
    O(NdkCreateMw, pd, mw)                                                                                             \
    O(NdkCreateSrq, pd, srq)                                                                                           \
    O(NdkCreateQp, pd, qp)                                                                                             \
    O(NdkCreateQpWithSrq, pd, qp)                                                                                      \
    O(NdkCloseCq, cq, none)                                                                                            \
    O(NdkClosePd, pd, none)                                                                                            \
    O(NdkCloseSharedEndpoint, endpoint, none)                                                                          \
    O(NdkCloseConnector, connector, none)                                                                              \
    O(NdkCloseListener, listener, none)                                                                                \
    O(NdkCloseMr, mr, none)                                                                                            \
    O(NdkCloseMw, mw, none)                                                                                            \
    O(NdkCloseSrq, srq, none)                                                                                          \
    O(NdkCloseQp, qp, none)                                                                                            \
    O(NdkListen, listener, none)                                                                                       \
    O(NdkControlConnectEvents, listener, none)                                                                         \
    O(NdkConnect, connector, none)                                                                                     \
    O(NdkConnectWithSharedEndpoint, connector, none)                                                                   \
    O(NdkCompleteConnect, connector, none)                                                                             \
    O(NdkCompleteConnectEx, connector, none)                                                                           \
    O(NdkAccept, connector, none)                                                                                      \
    O(NdkAcceptEx, connector, none)                                                                                    \
    O(NdkReject, connector, none)                                                                                      \
    O(NdkDisconnect, connector, none)                                                                                  \
    O(NdkGetConnectionData, connector, none)                                                                           \
    O(NdkQueryAdapterInfo, adapter, none)                                                                              \
    O(NdkQueryExtension, adapter, none)                                                                                \
    O(NdkBuildLAM, adapter, lam)                                                                                       \
    O(NdkReleaseLAM, adapter, none)                                                                                    \
    O(NdkRegisterMr, mr, none)                                                                                         \
    O(NdkDeregisterMr, mr, none)                                                                                       \
    O(NdkInitializeFastRegisterMr, mr, none)                                                                           \
    O(NdkGetLocalTokenFromMr, mr, none)                                                                                \
    O(NdkGetRemoteTokenFromMr, mr, none)                                                                               \
    O(NdkGetRemoteTokenFromMw, mw, none)                                                                               \
    O(NdkGetPrivilegedMemoryRegionToken, pd, none)                                                                     \
    O(NdkResizeCq, cq, none)                                                                                           \
    O(NdkControlCqInterruptModeration, cq, none)                                                                       \
    O(NdkModifySrq, srq, none)                                                                                         \
    O(NdkFlush, qp, none)                                                                                              \
    O(NdkSend, qp, none)                                                                                               \
    O(NdkSendAndInvalidate, qp, none)                                                                                  \
    O(NdkReceive, qp, none)                                                                                            \
    O(NdkSrqReceive, srq, none)                                                                                        \
    O(NdkRead, qp, none)                                                                                               \
    O(NdkWrite, qp, none)                                                                                              \
    O(NdkBind, qp, none)                                                                                               \
    O(NdkFastRegister, qp, none)                                                                                       \
    O(NdkInvalidate, qp, none)                                                                                         \
    O(NdkArmCq, cq, none)                                                                                              \
    O(IoAllocateIrp, irp, none)                                                                                        \
    O(IoFreeIrp, irp, none)                                                                                            \
    O(IoCallDriver, irp, none)                                                                                         \
    O(IoCompleteRequest, irp, none)                                                                                    \
    O(completion_routine, irp, none)                                                                                   \
    O(irp_ended, irp, none)                                                                                            \
    O(IoCancelIrp, irp, none)                                                                                          \
    O(WskRegister, registration, none)                                                                                 \
    O(WskDeregister, registration, none)                                                                               \
    O(WskCaptureProviderNPI, registration, none)                                                                       \
    O(WskReleaseProviderNPI, registration, none)                                                                       \
    O(WskQueryProviderCharacteristics, registration, none)                                                             \
    O(WskControlClient, client, none)                                                                                  \
    O(WskSocket, client, socket)                                                                                       \
    O(WskSocketConnect, client, socket)                                                                                \
    O(WskGetAddressInfo, client, none)                                                                                 \
    O(WskFreeAddressInfo, client, none)                                                                                \
    O(WskGetNameInfo, client, none)                                                                                    \
    O(WskOpenNdkAdapter, client, adapter)                                                                              \
    O(WskCloseNdkAdapter, client, none)                                                                                \
    O(OpenNDKAdapterHandler, none, adapter)                                                                            \
    O(WskControlSocket, socket, none)                                                                                  \
    O(WskCloseSocket, socket, none)                                                                                    \
    O(WskBind, socket, none)                                                                                           \
    O(WskGetLocalAddress, socket, none)                                                                                \
    O(WskGetRemoteAddress, socket, none)                                                                               \
    O(WskConnect, socket, none)                                                                                        \
    O(WskConnectEx, socket, none)                                                                                      \
    O(WskListen, socket, none)                                                                                         \
    O(WskAccept, socket, socket)                                                                                       \
    O(WskInspectComplete, socket, none)                                                                                \
    O(WskSend, socket, none)                                                                                           \
    O(WskSendEx, socket, none)                                                                                         \
    O(WskReceive, socket, none)                                                                                        \
    O(WskReceiveEx, socket, none)                                                                                      \
    O(WskDisconnect, socket, none)                                                                                     \
    O(WskRelease, socket, none)                                                                                        \
    O(WskSendTo, socket, none)                                                                                         \
    O(WskSendMessages, socket, none)                                                                                   \
    O(WskReceiveFrom, socket, none)                                                                                    \
    O(WskAcceptEvent, socket, none)                                                                                    \
    O(WskReceiveEvent, socket, none)                                                                                   \
    O(WskReceiveFromEvent, socket, none)                                                                               \
    O(WskDisconnectEvent, socket, none)                                                                                \
    O(WskSendBacklogEvent, socket, none)

struct live_object_types {
    uint8_t object, created; /* enum live_type */
};

#define LIVE_OBJECT_TYPES(event, object_, created_)                                                                    \
    [TRACE_TYPE_##event] = { .object = LIVE_##object_, .created = LIVE_##created_ },
/* clang-format off */
static const struct live_object_types live_objects[] = { LIVE_OBJECTS(LIVE_OBJECT_TYPES) };
/* clang-format on */

static const struct {
    const char *field;
    enum live_type type;
} live_fields[] = {
    { "adapter", LIVE_adapter },
    { "receive_cq", LIVE_cq },
    { "initiator_cq", LIVE_cq },
    { "srq", LIVE_srq },
    { "qp", LIVE_qp },
    { "mr", LIVE_mr },
    { "mw", LIVE_mw },
    { "connector", LIVE_connector },
    { "endpoint", LIVE_endpoint },
    { "lam", LIVE_lam },
    { "socket", LIVE_socket },
    { "irp", LIVE_irp },
    { "device", LIVE_device },
};

const char *live_type_name(enum live_type type)
{
#define LIVE_TYPE_NAME(name) #name,
    static const char *const names[] = { LIVE_TYPES(LIVE_TYPE_NAME) };

    return names[type];
}

static struct live_object_types live_types_of(uint16_t number)
{
    const size_t count = sizeof live_objects / sizeof live_objects[0];

    return number < count ? live_objects[number] : (struct live_object_types){ LIVE_none, LIVE_none };
}

enum live_type live_object_type(uint16_t number)
{
    return (enum live_type)live_types_of(number).object;
}

enum live_type live_created_type(uint16_t number)
{
    return (enum live_type)live_types_of(number).created;
}

enum live_type live_field_type(const char *field)
{
    for (size_t i = 0; i < sizeof live_fields / sizeof live_fields[0]; i++)
        if (!strcmp(live_fields[i].field, field))
            return live_fields[i].type;
    return LIVE_none;
}

bool live_is_close(uint16_t number)
{
    return (number >= TRACE_TYPE_NdkCloseCq && number <= TRACE_TYPE_NdkCloseQp) ||
           number == TRACE_TYPE_WskCloseSocket || number == TRACE_TYPE_IoFreeIrp || number == TRACE_TYPE_irp_ended ||
           number == TRACE_TYPE_WskDeregister;
}

/* ---- the names ---- */

/* A name is stored as one number: the type in the upper 32 bits, and the name's number in the lower 32 bits. */
enum { LIVE_NUMBER_BITS = 32 };
#define LIVE_NOT_PRINTED (UINT64_C(1) << 63) /* flag in a stored name: the consumer's address was not printed yet */

static struct live_table live_names; /* maps the provider's address of an object to the object's name */
/*
 * Maps the provider's address of an object to the consumer's address of the same object. A key whose `routine` is
 * LIVE_BACK maps the consumer's address to the provider's address.
 */
static struct live_table live_proxies;
static bool live_proxies_exist;
static unsigned live_counts[LIVE_TYPES_COUNT];
enum { LIVE_BACK = 1 };

bool live_has_proxies(void)
{
    return live_proxies_exist;
}

static void live_table_set(struct live_table *t, const struct live_key *key, uint64_t value)
{
    struct live_entry *e = live_table_find(t, key);

    if (e)
        e->value = value;
    else
        live_table_insert(t, key, value);
}

static uint64_t live_table_get(struct live_table *t, const struct live_key *key, uint64_t otherwise)
{
    const struct live_entry *e = live_table_find(t, key);

    return e ? e->value : otherwise;
}

/* If `address` is the consumer's address of an object, returns the provider's address. Otherwise returns `address`. */
static uint64_t live_object_provider(uint64_t address)
{
    return live_table_get(&live_proxies, &(struct live_key){ .object = address, .routine = LIVE_BACK }, address);
}

/* Returns the consumer's address of the provider's object. Returns `object` if the consumer has no other address. */
static uint64_t live_object_consumer(uint64_t object)
{
    return live_table_get(&live_proxies, &(struct live_key){ .object = object }, object);
}

static struct live_name live_name_of(uint64_t value)
{
    return (struct live_name){ .type = (enum live_type)((value & ~LIVE_NOT_PRINTED) >> LIVE_NUMBER_BITS),
                               .number = (unsigned)value };
}

/*
 * Returns true if the consumer receives a proxy's address instead of the provider's address of an object of this type.
 * The event `proxy` contains the proxy's address, and is recorded after the object's creation.
 */
static bool live_gets_proxy(enum live_type type)
{
    return live_proxies_exist && type >= LIVE_adapter && type <= LIVE_endpoint;
}

static struct live_name live_object_add(enum live_type type, uint64_t object)
{
    struct live_name name = { .type = type, .number = ++live_counts[type] };
    uint64_t consumer = live_object_consumer(object);

    if (!live_gets_proxy(type) || consumer != object)
        name.address = consumer;
    live_table_set(&live_names, &(struct live_key){ .object = object },
                   (uint64_t)type << LIVE_NUMBER_BITS | name.number);
    return name;
}

struct live_name live_object_name(enum live_type type, uint64_t address)
{
    const struct live_key key = { .object = live_object_provider(address) };
    struct live_entry *e = live_table_find(&live_names, &key);
    struct live_name name;

    if (type == LIVE_none || !address)
        return (struct live_name){ .type = type };
    if (!e || live_name_of(e->value).type != type)
        return live_object_add(type, key.object);
    name = live_name_of(e->value);
    if (e->value & LIVE_NOT_PRINTED)
        name.address = live_object_consumer(key.object);
    e->value &= ~LIVE_NOT_PRINTED;
    return name;
}

struct live_name live_object_find(uint64_t address)
{
    const struct live_key key = { .object = live_object_provider(address) };

    return live_name_of(live_table_get(&live_names, &key, LIVE_none));
}

void live_object_add_proxy(uint64_t object, uint64_t proxy)
{
    const struct live_key key = { .object = object };
    struct live_entry *e = live_table_find(&live_names, &key);

    live_proxies_exist = true;
    live_table_set(&live_proxies, &key, proxy);
    live_table_set(&live_proxies, &(struct live_key){ .object = proxy, .routine = LIVE_BACK }, object);
    if (e)
        e->value |= LIVE_NOT_PRINTED;
}

void live_object_remove(uint64_t address)
{
    const struct live_key key = { .object = live_object_provider(address) };
    uint64_t proxy;

    (void)live_table_remove(&live_names, &key, NULL);
    if (live_table_remove(&live_proxies, &key, &proxy))
        (void)live_table_remove(&live_proxies, &(struct live_key){ .object = proxy, .routine = LIVE_BACK }, NULL);
}

void live_text_add_object(struct live_text *t, const struct live_name *name, uint64_t address)
{
    if (!name->number) {
        live_text_add(t, "0x%" PRIx64, address);
        return;
    }
    live_text_add(t, "%s%u", live_type_name(name->type), name->number);
    if (name->address)
        live_text_add(t, " (0x%" PRIx64 ")", name->address);
}
