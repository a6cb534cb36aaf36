/* SPDX-License-Identifier: MIT */
/* MEM: the privileged token is valid only for this side. */
#include "contract/kit/fast.h"
#include "contract/kit/peer.h"

enum { LEN = 3 * PAGE_SIZE, ADDRESSES = 5 };

/* Addresses that a peer could use with the token: logical addresses, the memory's address, 0. */
static void addresses_of(const struct fast_memory *m, const struct kit_side *s, uint64_t out[ADDRESSES])
{
    out[0] = (uint64_t)m->lam->AdapterPageArray[0].QuadPart + m->fbo;
    out[1] = (uint64_t)m->lam->AdapterPageArray[1].QuadPart;
    out[2] = (uintptr_t)m->memory;
    out[3] = (uintptr_t)s->memory;
    out[4] = 0;
}

/* Checks that this side can still use the privileged token. */
static void check_useful(struct kit_pair *p, const struct fast_memory *m)
{
    NDK_SGE sge = fast_logical(m, p->passive.pd, 0, 100);

    CHECK_STATUS(kit_post_receive(&p->active, 1, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(p->passive.qp->Dispatch->NdkSend(p->passive.qp, (PVOID)2, &sge, 1, 0), STATUS_SUCCESS);
    CHECK_EQ(fast_check_result(&p->active, NdkOperationTypeReceive), 1);
    CHECK_EQ(fast_check_result(&p->passive, NdkOperationTypeSend), 2);
    CHECK(memcmp(p->active.memory, m->memory, 100) == 0);
}

/* covers: MEM-05 */
CASE(mem_05_no_write_and_no_read, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t addresses[ADDRESSES];
    struct fast_memory m;
    UINT32 token;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, 99, LEN);
    p.passive.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.passive.pd, &token);
    addresses_of(&m, &p.passive, addresses);
    for (int i = 0; i < ADDRESSES; i++) {
        check_useful(&p, &m);
        fast_check_dead(&p, &m, token, (void *)(uintptr_t)addresses[i], 100);
        fast_check_dead(&p, &m, token, (void *)(uintptr_t)addresses[i], 1);
    }
    CHECK(fast_memory_is_untouched(&m));
    check_useful(&p, &m);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* covers: MEM-05, INV-02 */
CASE(mem_05_no_send_with_invalidate, KIT_FAMILIES)
{
    static struct kit_pair p;
    struct fast_memory m;
    UINT32 token;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, 99, LEN);
    p.passive.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.passive.pd, &token);
    CHECK_STATUS(kit_post_receive(&p.passive, 7, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 50, 0, token), STATUS_SUCCESS);
    CHECK(kit_result(&p.passive).Status < 0);
    data_check_ended(&p.passive);
    data_check_ended(&p.active);
    data_reconnect(&p);
    check_useful(&p, &m);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* The upper half of a logical address could be a token; it is not valid for a peer. */
/* covers: MEM-05 */
CASE(mem_05_nothing_in_a_logical_address_is_a_token, KIT_FAMILIES)
{
    static struct kit_pair p;
    uint64_t addresses[ADDRESSES];
    struct fast_memory m;

    kit_pair_open(&p);
    fast_memory_open(&m, p.passive.adapter, 99, LEN);
    addresses_of(&m, &p.passive, addresses);
    for (int i = 0; i < 2; i++)
        fast_check_dead(&p, &m, (UINT32)(addresses[0] >> 32), (void *)(uintptr_t)addresses[i ? 0 : 2], 100);
    CHECK_STATUS(kit_post_receive(&p.passive, 7, 0, 100), STATUS_SUCCESS);
    CHECK_STATUS(fast_send_invalidate(&p.active, 8, 0, 50, 0, (UINT32)(addresses[0] >> 32)), STATUS_SUCCESS);
    CHECK(kit_result(&p.passive).Status < 0);
    data_check_ended(&p.passive);
    data_reconnect(&p);
    check_useful(&p, &m);
    fast_memory_close(&m);
    kit_pair_close(&p);
}

/* ---- a raw peer sends the privileged token ---- */

enum { WRITE = 0, READ_REQUEST = 1, SEND_INVALIDATE = 4 };

static size_t encode_token_request(uint8_t *ulpdu, uint8_t opcode, UINT32 token, uint64_t address)
{
    static const uint8_t data[100];
    size_t len;

    switch (opcode) {
    case WRITE:
        return raw_tagged(ulpdu, WRITE, token, address, true, data, sizeof data);
    case READ_REQUEST:
        return raw_read_request(ulpdu, 1, 0x99, 0, 100, token, address);
    default:
        len = raw_untagged(ulpdu, SEND_INVALIDATE, 0, 1, 0, true, data, sizeof data);
        for (int i = 0; i < 4; i++)
            ulpdu[2 + i] = (uint8_t)(token >> (24 - 8 * i));
        return len;
    }
}

/* covers: MEM-05, WIR-04 */
CASE(mem_05_refused_as_the_transport_prescribes, KIT_FAMILIES)
{
    static const struct {
        uint8_t opcode;
        uint16_t code;
    } all[] = {
        { WRITE, 0x1100 },
        { READ_REQUEST, 0x0100 },
        { SEND_INVALIDATE, 0x0100 },
    };
    static struct peer_initiator p;
    uint64_t addresses[ADDRESSES];
    struct fast_memory m;
    uint8_t ulpdu[256];
    UINT32 token;
    int len;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int j = 0; j < ADDRESSES; j++) {
            peer_initiator_connect(&p, PEER_WRITE);
            fast_memory_open(&m, p.side.adapter, 99, LEN);
            addresses_of(&m, &p.side, addresses);
            p.side.pd->Dispatch->NdkGetPrivilegedMemoryRegionToken(p.side.pd, &token);
            CHECK_STATUS(kit_post_receive(&p.side, 1, 0, 200), STATUS_SUCCESS);
            raw_send_fpdu(p.s, ulpdu, encode_token_request(ulpdu, all[i].opcode, token, addresses[j]), true);
            CHECK_EQ(raw_recv_terminate(p.s, true, ulpdu, &len), all[i].code);
            data_check_ended(&p.side);
            CHECK(kit_result(&p.side).Status < 0);
            CHECK(fast_memory_is_untouched(&m));
            fast_memory_close(&m);
            peer_initiator_close(&p);
        }
}
