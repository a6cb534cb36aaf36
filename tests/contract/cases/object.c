/* SPDX-License-Identifier: MIT */
/* OBJ: headers, tables and creation of the ten object types. */
#include "contract/kit/data.h"

enum kind { CQ, PD, ENDPOINT, CONNECTOR, LISTENER, MR, QP, SRQ, MW, KINDS };

static const NDK_OBJECT_TYPE types[KINDS] = {
    [CQ] = NdkObjectTypeCq,
    [PD] = NdkObjectTypePd,
    [ENDPOINT] = NdkObjectTypeSharedEndpoint,
    [CONNECTOR] = NdkObjectTypeConnector,
    [LISTENER] = NdkObjectTypeListener,
    [MR] = NdkObjectTypeMr,
    [QP] = NdkObjectTypeQp,
    [SRQ] = NdkObjectTypeSrq,
    [MW] = NdkObjectTypeMw,
};

/* The public structs of all types begin with these members. */
struct any {
    NDK_OBJECT_HEADER header;
    const NDK_FN_CLOSE_OBJECT *dispatch;
};
/* An adapter, and one object of each other type. made[kind] is NULL if the adapter does not support the kind. */
struct zoo {
    NDK_ADAPTER *adapter;
    struct any *made[KINDS];
};

static void no_event(void *context, NDK_CONNECTOR *connector)
{
    (void)context, (void)connector;
}

static void no_notification(void *context, NTSTATUS status)
{
    (void)context, (void)status;
}

/* Creates an object of the kind. The objects of all kinds before it in `enum kind` must exist. */
static NTSTATUS create(struct zoo *z, enum kind kind, struct kit_call *call, void *out)
{
    const NDK_ADAPTER_DISPATCH *a = z->adapter->Dispatch;
    struct sockaddr_storage here = kit_host(0);
    NDK_PD *pd = (NDK_PD *)z->made[PD];
    NDK_CQ *cq = (NDK_CQ *)z->made[CQ];

    switch (kind) {
    case CQ:
        return a->NdkCreateCq(z->adapter, 16, no_notification, NULL, NULL, kit_create_done, call, out);
    case PD:
        return a->NdkCreatePd(z->adapter, kit_create_done, call, out);
    case ENDPOINT:
        return a->NdkCreateSharedEndpoint(z->adapter, (PSOCKADDR)&here, kit_address_len(&here), kit_create_done, call,
                                          out);
    case CONNECTOR:
        return a->NdkCreateConnector(z->adapter, kit_create_done, call, out);
    case LISTENER:
        return a->NdkCreateListener(z->adapter, no_event, NULL, kit_create_done, call, out);
    case MR:
        return pd->Dispatch->NdkCreateMr(pd, FALSE, kit_create_done, call, out);
    case QP:
        return pd->Dispatch->NdkCreateQp(pd, cq, cq, NULL, 4, 4, 1, 1, 0, kit_create_done, call, out);
    case SRQ:
        return pd->Dispatch->NdkCreateSrq(pd, 4, 1, 0, no_notification, NULL, NULL, kit_create_done, call, out);
    case MW:
        return pd->Dispatch->NdkCreateMw(pd, kit_create_done, call, out);
    case KINDS:
        break;
    }
    return STATUS_INTERNAL_ERROR;
}

static bool can_be_made(const struct zoo *z, enum kind kind)
{
    NDK_ADAPTER_INFO info = data_info(z->adapter);

    return (kind != SRQ || info.MaxSrqDepth > 0) && (kind != MW || info.MaxWindowSize > 0);
}

static void zoo_open(struct zoo *z, uint16_t major, uint16_t minor)
{
    z->adapter = kit_open(major, minor);
    for (enum kind k = CQ; k < KINDS; k++) {
        struct kit_call call = { 0 };
        NTSTATUS status;

        z->made[k] = NULL;
        if (!can_be_made(z, k))
            continue;
        status = create(z, k, &call, &z->made[k]);
        CHECK_STATUS(kit_final(&call, status), STATUS_SUCCESS);
        if (status == STATUS_PENDING)
            z->made[k] = (struct any *)call.object;
        CHECK(z->made[k] != NULL);
    }
}

static void zoo_close(struct zoo *z)
{
    for (int k = KINDS - 1; k >= 0; k--)
        if (z->made[k])
            CHECK_STATUS(kit_close(z->made[k]), STATUS_SUCCESS);
    kit_close_adapter(z->adapter);
}

/* ---- headers ---- */

static void check_header(const NDK_OBJECT_HEADER *h, NDK_OBJECT_TYPE type, uint16_t major, uint16_t minor)
{
    CHECK_EQ(h->Version.Major, major);
    CHECK_EQ(h->Version.Minor, minor);
    CHECK_EQ(h->ObjectType, type);
    for (int i = 0; i < 4; i++)
        CHECK(h->NdkReserved.rf[i] == NULL);
}

static void check_headers(uint16_t major, uint16_t minor, uint16_t highest)
{
    struct zoo z;

    zoo_open(&z, major, minor);
    check_header(&z.adapter->Header, NdkObjectTypeAdapter, major, highest);
    for (int k = 0; k < KINDS; k++)
        if (z.made[k])
            check_header(&z.made[k]->header, types[k], major, highest);
    zoo_close(&z);
}

/* covers: OBJ-01 */
CASE(obj_01_header_of_every_type_and_version, KIT_FAMILIES)
{
    check_headers(1, 0, 2);
    check_headers(1, 1, 2);
    check_headers(1, 2, 2);
    check_headers(2, 0, 1);
    check_headers(2, 1, 1);
}

enum { MARKED = 12 };

static void mark(NDK_OBJECT_HEADER **headers, bool check)
{
    for (int h = 0; h < MARKED; h++) {
        for (int i = 0; i < 4; i++) {
            void *value = (void *)(uintptr_t)(0x1000 * (h + 1) + i);

            if (check)
                CHECK(headers[h]->NdkReserved.rf[i] == value);
            else
                headers[h]->NdkReserved.rf[i] = value;
        }
    }
}

/* covers: OBJ-01 */
CASE(obj_01_reserved_is_the_consumers, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct kit_side *a = &p.active, *b = &p.passive;

    kit_pair_open(&p);
    check_header(&b->connector->Header, NdkObjectTypeConnector, 2, 1); /* from the connect event */
    NDK_OBJECT_HEADER *headers[MARKED] = {
        &a->adapter->Header, &a->pd->Header,        &a->cq->Header,        &a->qp->Header,
        &a->mr->Header,      &a->connector->Header, &b->adapter->Header,   &b->pd->Header,
        &b->cq->Header,      &b->qp->Header,        &b->connector->Header, &p.listener.listener->Header,
    };
    mark(headers, false);
    kit_exchange(a, b);
    CHECK_STATUS(kit_post_write(a, 1, 0, 64, b, 64), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
    b->cq->Dispatch->NdkArmCq(b->cq, NDK_CQ_NOTIFY_ANY);
    kit_exchange(a, b);
    kit_pair_disconnect(&p);
    mark(headers, true);
    kit_pair_close(&p);
}

/* ---- tables ---- */

/* covers: OBJ-02 */
CASE(obj_02_every_entry_is_there, 0)
{
    static const size_t sizes[KINDS] = {
        [CQ] = sizeof(NDK_CQ_DISPATCH),
        [PD] = sizeof(NDK_PD_DISPATCH),
        [ENDPOINT] = sizeof(NDK_SHARED_ENDPOINT_DISPATCH),
        [CONNECTOR] = sizeof(NDK_CONNECTOR_DISPATCH),
        [LISTENER] = sizeof(NDK_LISTENER_DISPATCH),
        [MR] = sizeof(NDK_MR_DISPATCH),
        [QP] = sizeof(NDK_QP_DISPATCH),
        [SRQ] = sizeof(NDK_SRQ_DISPATCH),
        [MW] = sizeof(NDK_MW_DISPATCH),
    };
    struct zoo z;

    zoo_open(&z, 2, 1);
    const NDK_FN_CLOSE_OBJECT *table = (const NDK_FN_CLOSE_OBJECT *)z.adapter->Dispatch;
    for (size_t i = 0; i < sizeof(NDK_ADAPTER_DISPATCH) / sizeof *table; i++)
        CHECK(table[i] != NULL);
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; z.made[k] && i < sizes[k] / sizeof *table; i++)
            CHECK(z.made[k]->dispatch[i] != NULL);
    zoo_close(&z);
}

/* Checks the capabilities that the adapter lacks: each call is refused, and its completion does not run. */
static void check_absent(struct zoo *z, const NDK_ADAPTER_INFO *info)
{
    NDK_PD *pd = (NDK_PD *)z->made[PD];
    NDK_CQ *cq = (NDK_CQ *)z->made[CQ];
    struct kit_call call = { 0 };
    NDK_MW *mw = NULL;
    NDK_SRQ *srq = NULL;
    NDK_MR *mr = NULL;

    if (info->MaxWindowSize == 0)
        CHECK_STATUS(pd->Dispatch->NdkCreateMw(pd, kit_create_done, &call, &mw), STATUS_NOT_SUPPORTED);
    if (info->MaxSrqDepth == 0)
        CHECK_STATUS(pd->Dispatch->NdkCreateSrq(pd, 1, 1, 0, NULL, NULL, NULL, kit_create_done, &call, &srq),
                     STATUS_NOT_SUPPORTED);
    if (info->FRMRPageCount == 0)
        CHECK_STATUS(pd->Dispatch->NdkCreateMr(pd, TRUE, kit_create_done, &call, &mr), STATUS_NOT_SUPPORTED);
    if (!(info->AdapterFlags & NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED))
        CHECK_STATUS(cq->Dispatch->NdkControlCqInterruptModeration(cq, 10, 10), STATUS_NOT_SUPPORTED);
    if (!(info->AdapterFlags & NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED))
        CHECK_STATUS(cq->Dispatch->NdkResizeCq(cq, 32, kit_request_done, &call), STATUS_NOT_SUPPORTED);
    kit_pause();
    CHECK_EQ(atomic_load(&call.calls), 0);
}

static void check_absent_requests(struct zoo *z, const NDK_ADAPTER_INFO *info)
{
    NDK_QP *qp = (NDK_QP *)z->made[QP];
    NDK_MR *mr = (NDK_MR *)z->made[MR];
    NDK_LOGICAL_ADDRESS page = { .QuadPart = PAGE_SIZE };

    if (info->MaxWindowSize == 0)
        CHECK_STATUS(qp->Dispatch->NdkBind(qp, NULL, mr, NULL, NULL, 1, NDK_OP_FLAG_ALLOW_REMOTE_READ),
                     STATUS_NOT_SUPPORTED);
    if (info->FRMRPageCount != 0)
        return;
    CHECK_STATUS(qp->Dispatch->NdkFastRegister(qp, NULL, mr, 1, &page, 0, 1, (PVOID)PAGE_SIZE, 0),
                 STATUS_NOT_SUPPORTED);
    if (info->MaxWindowSize == 0)
        CHECK_STATUS(qp->Dispatch->NdkInvalidate(qp, NULL, &mr->Header, 0), STATUS_NOT_SUPPORTED);
}

/* Configures the provider to report as few capabilities as possible. */
static void disable_capabilities(void)
{
    struct kit_config config = kit_config();

    config.max_srq_depth = config.fast_register_pages = config.max_window_kib = 0;
    config.cq_resize = config.cq_moderation = 0;
    kit_configure(&config);
}

/* covers: OBJ-02 */
CASE(obj_02_absent_capabilities, 0)
{
    const ULONG optional = NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION_SUPPORTED | NDK_ADAPTER_FLAG_CQ_RESIZE_SUPPORTED;
    struct zoo z;

    disable_capabilities();
    zoo_open(&z, 2, 1);
    NDK_ADAPTER_INFO info = data_info(z.adapter);
    if (info.MaxWindowSize && info.MaxSrqDepth && info.FRMRPageCount && !(~info.AdapterFlags & optional))
        kit_skip("the adapter lacks nothing");
    check_absent(&z, &info);
    check_absent_requests(&z, &info);
    zoo_close(&z);
}

/* covers: OBJ-04 */
CASE(obj_04_unknown_extension, 0)
{
    GUID unknown = { 0x0de1e7ed, 0x1234, 0x5678, { 1, 2, 3, 4, 5, 6, 7, 8 } };
    NDK_EXTENSION_INTERFACE extension = { 0 };
    struct zoo z;

    zoo_open(&z, 2, 1);
    CHECK_STATUS(
        z.adapter->Dispatch->NdkQueryExtension(&z.adapter->Header, &unknown, z.adapter->Header.Version, &extension),
        STATUS_NOT_SUPPORTED);
    for (int k = 0; k < KINDS; k++) { /* NdkQueryExtension is the second entry of each table */
        NDK_PD *as_pd = (NDK_PD *)z.made[k];

        if (!as_pd)
            continue;
        CHECK_STATUS(as_pd->Dispatch->NdkQueryExtension(&as_pd->Header, &unknown, as_pd->Header.Version, &extension),
                     STATUS_NOT_SUPPORTED);
    }
    zoo_close(&z);
}

/* ---- creation ---- */

/* covers: OBJ-05 */
CASE(obj_05_inline_creates_call_nothing, KIT_FAMILIES)
{
    struct kit_call calls[KINDS] = { 0 };
    struct zoo z = { 0 };

    z.adapter = kit_open(2, 1);
    for (enum kind k = CQ; k < KINDS; k++) {
        if (!can_be_made(&z, k))
            continue;
        NTSTATUS status = create(&z, k, &calls[k], &z.made[k]);

        if (status == STATUS_PENDING) /* permitted: this rule does not apply then */
            kit_skip("a creation pends");
        CHECK_STATUS(status, STATUS_SUCCESS);
        CHECK_EQ(z.made[k]->header.ObjectType, types[k]);
    }
    kit_pause();
    for (int k = 0; k < KINDS; k++)
        CHECK_EQ(atomic_load(&calls[k].calls), 0);
    zoo_close(&z);
}

static void pend_creates(void)
{
    struct kit_config config = kit_config();

    config.pend_creates = 1;
    kit_configure(&config);
}

/* covers: OBJ-06 */
CASE(obj_06_pending_creates_leave_the_out_parameter, KIT_FAMILIES)
{
    struct kit_call calls[KINDS] = { 0 };
    struct zoo z = { 0 };

    pend_creates();
    z.adapter = kit_open(2, 1);
    for (enum kind k = CQ; k < KINDS; k++) {
        void *untouched = &z, *out = untouched;

        if (!can_be_made(&z, k))
            continue;
        CHECK_STATUS(create(&z, k, &calls[k], &out), STATUS_PENDING);
        kit_wait_calls(&calls[k], 1);
        CHECK(out == untouched);
        CHECK_STATUS(calls[k].status, STATUS_SUCCESS);
        CHECK_EQ(calls[k].object->ObjectType, types[k]);
        z.made[k] = (struct any *)calls[k].object;
    }
    kit_pause();
    for (int k = 0; k < KINDS; k++)
        CHECK_EQ(atomic_load(&calls[k].calls), z.made[k] != NULL);
    zoo_close(&z);
}

/* covers: OBJ-06 */
CASE(obj_06_a_connection_of_pended_objects, KIT_FAMILIES)
{
    static struct kit_pair p;

    pend_creates();
    kit_pair_open(&p);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

static void close_created(struct kit_call *call)
{
    struct any *any = (struct any *)call->object;
    struct kit_call *closing = call->arg;

    closing->arg = (void *)(intptr_t)any->dispatch[0](&any->header, kit_close_done, closing);
}

/* covers: OBJ-06, OBJ-08 */
CASE(obj_08_close_inside_create_completion, KIT_FAMILIES)
{
    struct zoo z;

    pend_creates();
    zoo_open(&z, 2, 1);
    for (enum kind k = CQ; k < KINDS; k++) {
        struct kit_call closing = { 0 }, call = { .inside = close_created, .arg = &closing };
        void *out = NULL;

        if (!can_be_made(&z, k))
            continue;
        CHECK_STATUS(create(&z, k, &call, &out), STATUS_PENDING);
        kit_wait_calls(&call, 1);
        CHECK_STATUS(kit_final(&closing, (NTSTATUS)(intptr_t)closing.arg), STATUS_SUCCESS);
    }
    zoo_close(&z);
}
