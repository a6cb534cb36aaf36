/* SPDX-License-Identifier: MIT */
/* ADP: the adapter: opening it, its reported limits, its addresses. */
#include <dirent.h>

#include "contract/kit/net.h"
#include "contract/kit/kit.h"

static NDK_ADAPTER_INFO info_of(NDK_ADAPTER *adapter)
{
    NDK_ADAPTER_INFO info;
    ULONG size = sizeof info;

    CHECK_STATUS(adapter->Dispatch->NdkQueryAdapterInfo(adapter, &info, &size), STATUS_SUCCESS);
    return info;
}

/* ---- ADP-01 ---- */

/* covers: ADP-01 */
CASE(adp_01_short_buffers, 0)
{
    NDK_ADAPTER *a = kit_open(2, 1);
    uint8_t bytes[sizeof(NDK_ADAPTER_INFO)], untouched[sizeof bytes];
    ULONG size = 0;

    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, NULL, &size), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(size, sizeof(NDK_ADAPTER_INFO));
    memset(bytes, 0xee, sizeof bytes);
    memcpy(untouched, bytes, sizeof bytes);
    size = sizeof(NDK_ADAPTER_INFO) - 1;
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, (NDK_ADAPTER_INFO *)bytes, &size), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(size, sizeof(NDK_ADAPTER_INFO));
    CHECK(bytes[sizeof bytes - 1] == untouched[sizeof bytes - 1]);
    kit_close_adapter(a);
}

/* covers: ADP-01 */
CASE(adp_01_sufficient_buffers, 0)
{
    NDK_ADAPTER *a = kit_open(2, 0);
    NDK_ADAPTER_INFO two[2];
    ULONG size = sizeof two[0];

    memset(two, 0xee, sizeof two);
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, two, &size), STATUS_SUCCESS);
    CHECK_EQ(size, sizeof(NDK_ADAPTER_INFO));
    CHECK_EQ(two[0].Version.Major, 2);
    CHECK_EQ(two[0].Version.Minor, 1);
    CHECK(two[0].RdmaTechnology > NdkUndefined && two[0].RdmaTechnology < NdkMaxTechnology);
    CHECK_EQ(*(uint8_t *)&two[1], 0xee);
    size = sizeof two;
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, two, &size), STATUS_SUCCESS);
    CHECK_EQ(size, sizeof(NDK_ADAPTER_INFO));
    kit_close_adapter(a);
}

/* The structure of NDK 1 ends before RdmaTechnology, and the buffer of an NDK 1 consumer has only that size. */
/* covers: ADP-01 */
CASE(adp_01_the_structure_of_ndk_1, 0)
{
    enum { SIZE = 0x60 };
    NDK_ADAPTER *a = kit_open(1, 2);
    NDK_ADAPTER_INFO info, all;
    ULONG size = 0;

    _Static_assert(SIZE == offsetof(NDK_ADAPTER_INFO, RdmaTechnology), "NDK_ADAPTER_INFO of NDK 1");
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, NULL, &size), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(size, SIZE);
    size = SIZE - 1;
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, &info, &size), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(size, SIZE);
    memset(&info, 0xee, sizeof info);
    CHECK_STATUS(a->Dispatch->NdkQueryAdapterInfo(a, &info, &size), STATUS_SUCCESS);
    CHECK_EQ(size, SIZE);
    CHECK_EQ((unsigned)info.RdmaTechnology, 0xeeeeeeeeu);
    CHECK_EQ(info.Version.Major, 1);
    all = info_of(a);
    CHECK(memcmp(&info, &all, SIZE) == 0);
    CHECK(all.RdmaTechnology > NdkUndefined && all.RdmaTechnology < NdkMaxTechnology);
    kit_close_adapter(a);
}

/* ---- ADP-02 ---- */

static NTSTATUS try_cq(struct kit_side *s, ULONG depth, NDK_CQ **cq)
{
    struct kit_call call = { 0 };
    NTSTATUS status = s->adapter->Dispatch->NdkCreateCq(s->adapter, depth, kit_on_notify, s, NULL, kit_create_done,
                                                        &call, cq);
    NTSTATUS final = kit_final(&call, status);

    if (status == STATUS_PENDING)
        *cq = (NDK_CQ *)call.object;
    return final;
}

/* Indexes of a queue pair's sizes: receive depth, initiator depth, receive SGEs, initiator SGEs, inline size. */
enum { RECEIVES, REQUESTS, RECEIVE_SGES, REQUEST_SGES, INLINE, SIZES };

static NTSTATUS try_qp(struct kit_side *s, const ULONG sizes[SIZES], NDK_QP **qp)
{
    struct kit_call call = { 0 };
    NTSTATUS status = s->pd->Dispatch->NdkCreateQp(s->pd, s->cq, s->cq, s, sizes[RECEIVES], sizes[REQUESTS],
                                                   sizes[RECEIVE_SGES], sizes[REQUEST_SGES], sizes[INLINE],
                                                   kit_create_done, &call, qp);
    NTSTATUS final = kit_final(&call, status);

    if (status == STATUS_PENDING)
        *qp = (NDK_QP *)call.object;
    return final;
}

static void limits(const NDK_ADAPTER_INFO *info, ULONG sizes[SIZES])
{
    sizes[RECEIVES] = info->MaxReceiveQueueDepth;
    sizes[REQUESTS] = info->MaxInitiatorQueueDepth;
    sizes[RECEIVE_SGES] = info->MaxReceiveRequestSge;
    sizes[REQUEST_SGES] = info->MaxInitiatorRequestSge;
    sizes[INLINE] = info->MaxInlineDataSize;
}

/* Replaces the side's queue pair and completion queue by the largest that the adapter supports. */
static void enlarge(struct kit_side *s, const NDK_ADAPTER_INFO *info)
{
    ULONG sizes[SIZES];

    limits(info, sizes);
    CHECK_STATUS(kit_close(s->qp), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(s->cq), STATUS_SUCCESS);
    CHECK_STATUS(try_cq(s, info->MaxCqDepth, &s->cq), STATUS_SUCCESS);
    CHECK_STATUS(try_qp(s, sizes, &s->qp), STATUS_SUCCESS);
}

static void open_large(struct kit_pair *p, NDK_ADAPTER_INFO *info)
{
    kit_pair_open_idle(p);
    *info = info_of(p->active.adapter);
    enlarge(&p->active, info);
    enlarge(&p->passive, info);
    kit_establish(&p->active, &p->passive, &p->listener);
}

/* Fills `sges` with `count` SGEs of 10 bytes. The first one begins at offset `from`, each other one 20 bytes later. */
static void spread(const struct kit_side *s, NDK_SGE *sges, ULONG count, size_t from)
{
    for (ULONG i = 0; i < count; i++)
        sges[i] = kit_sge(s, from + i * 20, 10);
}

/* covers: ADP-02 */
CASE(adp_02_segments_at_the_limit, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_ADAPTER_INFO info;
    struct kit_side *a = &p.active, *b = &p.passive;

    open_large(&p, &info);
    ULONG most = info.MaxInitiatorRequestSge, sinks = info.MaxReceiveRequestSge, reads = info.MaxReadRequestSge;
    ULONG fewer = most < sinks ? most : sinks;
    NDK_SGE *source = calloc(most + sinks + reads + 3, sizeof *source), *sink = source + most + 1;
    NDK_SGE *read = sink + sinks + 1;

    kit_pattern(a->memory, KIT_MEMORY / 2, 1);
    spread(a, source, most + 1, 0);
    spread(b, sink, sinks + 1, 0);
    spread(a, read, reads + 1, KIT_MEMORY / 2);
    CHECK_STATUS(b->qp->Dispatch->NdkReceive(b->qp, NULL, sink, sinks + 1), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(b->qp->Dispatch->NdkReceive(b->qp, NULL, sink, sinks), STATUS_SUCCESS);
    CHECK_STATUS(a->qp->Dispatch->NdkSend(a->qp, NULL, source, most + 1, 0), STATUS_INVALID_PARAMETER);
    CHECK_STATUS(a->qp->Dispatch->NdkSend(a->qp, NULL, source, fewer, 0), STATUS_SUCCESS);
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
    CHECK_EQ(kit_result(b).BytesTransferred, fewer * 10);
    for (ULONG i = 0; i < fewer; i++)
        CHECK(memcmp(b->memory + i * 20, a->memory + i * 20, 10) == 0);
    CHECK_STATUS(
        a->qp->Dispatch->NdkWrite(a->qp, NULL, source, most, (uintptr_t)(b->memory + 8192), b->remote_token, 0),
        STATUS_SUCCESS);
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
    CHECK_STATUS(
        a->qp->Dispatch->NdkRead(a->qp, NULL, read, reads + 1, (uintptr_t)(b->memory + 8192), b->remote_token, 0),
        STATUS_INVALID_PARAMETER);
    CHECK_STATUS(a->qp->Dispatch->NdkRead(a->qp, NULL, read, reads, (uintptr_t)(b->memory + 8192), b->remote_token, 0),
                 STATUS_SUCCESS);
    CHECK_STATUS(kit_result(a).Status, STATUS_SUCCESS);
    for (ULONG i = 0; i < reads && i < most; i++)
        CHECK(memcmp(a->memory + KIT_MEMORY / 2 + i * 20, a->memory + i * 20, 10) == 0);
    free(source);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* covers: ADP-02 */
CASE(adp_02_inline_data_at_the_limit, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_ADAPTER_INFO info;
    NDK_SGE sge;

    open_large(&p, &info);
    kit_pattern(p.active.memory, info.MaxInlineDataSize, 3);
    sge = kit_sge(&p.active, 0, info.MaxInlineDataSize + 1);
    CHECK_STATUS(kit_post_receive(&p.passive, 1, 0, KIT_MEMORY), STATUS_SUCCESS);
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, &sge, 1, NDK_OP_FLAG_INLINE),
                 STATUS_INVALID_PARAMETER);
    sge.Length = info.MaxInlineDataSize;
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, &sge, 1, NDK_OP_FLAG_INLINE), STATUS_SUCCESS);
    CHECK_EQ(kit_result(&p.passive).BytesTransferred, info.MaxInlineDataSize);
    CHECK(kit_pattern_is(p.passive.memory, info.MaxInlineDataSize, 3));
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* covers: ADP-02 */
CASE(adp_02_queues_at_the_limit, KIT_FAMILIES)
{
    static struct kit_pair p;
    NDK_ADAPTER_INFO info;
    NDK_RESULT_EX *results;

    open_large(&p, &info);
    results = calloc(info.MaxReceiveQueueDepth + info.MaxInitiatorQueueDepth, sizeof *results);
    for (uintptr_t i = 0; i < info.MaxReceiveQueueDepth; i++)
        CHECK_STATUS(kit_post_receive(&p.passive, i, 0, 64), STATUS_SUCCESS);
    for (uintptr_t i = 0; i < info.MaxInitiatorQueueDepth; i++)
        CHECK_STATUS(kit_post_write(&p.active, i, 0, 1, &p.passive, 0), STATUS_SUCCESS);
    kit_results(&p.active, results, info.MaxInitiatorQueueDepth);
    for (uintptr_t i = 0; i < info.MaxInitiatorQueueDepth; i++) {
        CHECK_STATUS(results[i].Status, STATUS_SUCCESS);
        CHECK_EQ((uintptr_t)results[i].RequestContext, i);
    }
    p.passive.qp->Dispatch->NdkFlush(p.passive.qp);
    kit_results(&p.passive, results, info.MaxReceiveQueueDepth);
    for (uintptr_t i = 0; i < info.MaxReceiveQueueDepth; i++) {
        CHECK_STATUS(results[i].Status, STATUS_CANCELLED);
        CHECK_EQ((uintptr_t)results[i].RequestContext, i);
    }
    free(results);
    kit_pair_close(&p);
}

/* covers: ADP-02 */
CASE(adp_02_one_past_each_limit, 0)
{
    static struct kit_side s;
    NDK_ADAPTER_INFO info;
    ULONG sizes[SIZES];
    struct kit_call call = { 0 };
    NDK_SGE sges[2];
    NDK_QP *qp;
    NDK_CQ *cq;

    kit_side_open(&s, NULL);
    info = info_of(s.adapter);
    CHECK_STATUS(try_cq(&s, info.MaxCqDepth + 1, &cq), STATUS_INVALID_PARAMETER);
    for (int i = 0; i < SIZES; i++) {
        limits(&info, sizes);
        sizes[i]++;
        CHECK_STATUS(try_qp(&s, sizes, &qp), STATUS_INVALID_PARAMETER);
    }
    CHECK_STATUS(s.mr->Dispatch->NdkDeregisterMr(s.mr, kit_request_done, &call), STATUS_SUCCESS);
    CHECK_STATUS(s.mr->Dispatch->NdkRegisterMr(s.mr, &s.mdl, info.MaxRegistrationSize + 1, 0, kit_request_done, &call),
                 STATUS_INVALID_PARAMETER);
    sges[0] = kit_sge(&s, 0, info.MaxTransferLength);
    sges[1] = kit_sge(&s, 0, 1);
    CHECK_STATUS(s.qp->Dispatch->NdkReceive(s.qp, NULL, sges, 2), STATUS_INVALID_PARAMETER);
    CHECK_EQ(atomic_load(&call.calls), 0);
    kit_side_close(&s);
}

/* ---- ADP-03 ---- */

static void check_connects_at(const struct sockaddr_storage *address)
{
    static struct kit_pair p;
    struct kit_call connect = { 0 }, accept = { 0 };
    struct sockaddr_storage source = *address, seen;
    ULONG len = sizeof seen;
    NTSTATUS connecting, accepting;

    kit_side_open(&p.active, NULL);
    kit_side_open(&p.passive, NULL);
    kit_listen_at(&p.listener, p.passive.adapter, address);
    connecting = kit_connect_start(&p.active, &connect, &source, &p.listener.address, NULL, 0);
    if (connecting != STATUS_PENDING)
        CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    p.passive.connector = kit_next_request(&p.listener);
    accepting = kit_accept_start(&p.passive, &accept, NULL, 0);
    CHECK_STATUS(kit_final(&connect, connecting), STATUS_SUCCESS);
    CHECK_STATUS(kit_complete_connect(&p.active), STATUS_SUCCESS);
    CHECK_STATUS(kit_final(&accept, accepting), STATUS_SUCCESS);
    CHECK_STATUS(p.active.connector->Dispatch->NdkGetPeerAddress(p.active.connector, (PSOCKADDR)&seen, &len),
                 STATUS_SUCCESS);
    CHECK(kit_address_equal(&seen, &p.listener.address));
    if (address->ss_family == AF_INET6)
        CHECK_EQ(((struct sockaddr_in6 *)&seen)->sin6_scope_id, ((const struct sockaddr_in6 *)address)->sin6_scope_id);
    kit_exchange(&p.active, &p.passive);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}

/* covers: ADP-03 */
CASE(adp_03_every_address_of_the_interface, KIT_NETNS)
{
    static const char *const addresses[] = { "127.0.0.1", "10.77.0.1", "::1", "fd77::1", "fe80::77%lo" };

    kit_ip("addr add 10.77.0.1/24 dev lo");
    kit_ip("addr add fd77::1/64 dev lo");
    kit_ip("addr add fe80::77/64 dev lo");
    kit_wait_address("fd77::1");
    kit_wait_address("fe80::77%lo");
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        struct sockaddr_storage address = kit_address(addresses[i], 0);

        check_connects_at(&address);
    }
}

/* ---- ADP-04 ---- */

static size_t entries(const char *directory)
{
    DIR *d = opendir(directory);
    size_t count = 0;

    CHECK(d != NULL);
    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

static void check_open_refused(uint16_t major, uint16_t minor, uint32_t if_index, NTSTATUS expected)
{
    size_t descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    NDK_ADAPTER *adapter = NULL;

    CHECK_STATUS(kit_open_status(major, minor, if_index, &adapter), expected);
    CHECK(adapter == NULL);
    CHECK_EQ(entries("/proc/self/fd"), descriptors);
    CHECK_EQ(entries("/proc/self/task"), threads);
}

/* covers: ADP-04 */
CASE(adp_04_versions_served, 0)
{
    static const NDK_VERSION served[] = { { 1, 0 }, { 1, 1 }, { 1, 2 }, { 2, 0 }, { 2, 1 } };

    for (size_t i = 0; i < sizeof served / sizeof served[0]; i++) {
        NDK_ADAPTER *a = kit_open(served[i].Major, served[i].Minor);

        CHECK_EQ(info_of(a).Version.Major, served[i].Major);
        CHECK_EQ(info_of(a).Version.Minor, served[i].Major == 1 ? 2 : 1);
        kit_close_adapter(a);
    }
}

/* covers: ADP-04 */
CASE(adp_04_versions_refused, 0)
{
    static const NDK_VERSION refused[] = { { 0, 0 }, { 0, 1 }, { 1, 3 }, { 2, 2 }, { 3, 0 }, { 65535, 65535 } };

    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        check_open_refused(refused[i].Major, refused[i].Minor, kit_interface(), NDIS_STATUS_BAD_VERSION);
}

/* covers: ADP-04 */
CASE(adp_04_unknown_interface, 0)
{
    check_open_refused(2, 1, 0, STATUS_INVALID_PARAMETER);
    check_open_refused(2, 1, 1u << 30, STATUS_INVALID_PARAMETER);
}

/* covers: ADP-04 */
CASE(adp_04_interface_is_down, KIT_NETNS)
{
    kit_ip("link set lo down");
    check_open_refused(2, 1, kit_interface(), NDIS_STATUS_ADAPTER_NOT_READY);
    kit_ip("link set lo up");
    kit_close_adapter(kit_open(2, 1));
}

/* ---- the longest transfer ---- */

/* covers: ADP-02 */
CASE(adp_02_transfer_at_the_limit, KIT_SLOW)
{
    static struct kit_pair p;
    NDK_ADAPTER_INFO info;
    NDK_SGE source[64], sink[64];
    MDL mdls[2];
    UINT32 tokens[2];

    open_large(&p, &info);
    ULONG count = info.MaxInitiatorRequestSge < 64 ? info.MaxInitiatorRequestSge : 64;
    ULONG piece = info.MaxTransferLength / count + 1, left = info.MaxTransferLength;
    uint8_t *from = malloc(piece), *to = malloc(piece); /* all source SGEs use `from`, all sink SGEs use `to` */
    CHECK(from && to && info.MaxReceiveRequestSge >= count);
    kit_pattern(from, piece, 8);
    NDK_MR *mrs[2] = { kit_mr(&p.active, from, piece, 0, &mdls[0], &tokens[0]),
                       kit_mr(&p.passive, to, piece, NDK_MR_FLAG_ALLOW_LOCAL_WRITE, &mdls[1], &tokens[1]) };
    for (ULONG i = 0; i < count; i++) {
        ULONG len = left < piece ? left : piece;

        source[i] = (NDK_SGE){ .VirtualAddress = from, .Length = len, .MemoryRegionToken = tokens[0] };
        sink[i] = (NDK_SGE){ .VirtualAddress = to, .Length = len, .MemoryRegionToken = tokens[1] };
        left -= len;
    }
    CHECK_STATUS(p.passive.qp->Dispatch->NdkReceive(p.passive.qp, NULL, sink, count), STATUS_SUCCESS);
    CHECK_STATUS(p.active.qp->Dispatch->NdkSend(p.active.qp, NULL, source, count, 0), STATUS_SUCCESS);
    NDK_RESULT_EX received = kit_result(&p.passive);
    CHECK_STATUS(received.Status, STATUS_SUCCESS);
    CHECK_EQ(received.BytesTransferred, info.MaxTransferLength);
    CHECK(memcmp(from, to, piece - count) == 0);
    CHECK_STATUS(kit_result(&p.active).Status, STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mrs[0]), STATUS_SUCCESS);
    CHECK_STATUS(kit_close(mrs[1]), STATUS_SUCCESS);
    free(from);
    free(to);
    kit_pair_disconnect(&p);
    kit_pair_close(&p);
}
