/* SPDX-License-Identifier: MIT */
/* GCD: NdkGetConnectionData. */
#include "contract/kit/kit.h"

struct asked {
    struct kit_side active, passive;
    struct kit_listener listener;
    struct kit_call connect;
    NTSTATUS connecting;
};

enum { DATA = 50 };

/* Connects with private data. Returns when the passive side has the request, which it has not answered yet. */
static void connect_with_data(struct asked *a)
{
    uint8_t data[DATA];
    struct sockaddr_storage source = kit_host(0);

    kit_pattern(data, sizeof data, 3);
    kit_side_open(&a->active, NULL);
    kit_side_open(&a->passive, NULL);
    kit_listen(&a->listener, a->passive.adapter);
    a->connecting = kit_connect_start(&a->active, &a->connect, &source, &a->listener.address, data, sizeof data);
    a->passive.connector = kit_next_request(&a->listener);
}

static void answer(struct asked *a)
{
    struct kit_call close_call = { 0 };
    NDK_LISTENER *l = a->listener.listener;
    NTSTATUS closing = l->Dispatch->NdkCloseListener(&l->Header, kit_close_done, &close_call);

    kit_side_close(&a->passive);
    CHECK_STATUS(kit_final(&a->connect, a->connecting), STATUS_CONNECTION_REFUSED);
    CHECK_STATUS(kit_final(&close_call, closing), STATUS_SUCCESS);
    kit_side_close(&a->active);
}

static NTSTATUS get(NDK_CONNECTOR *c, ULONG *ird, ULONG *ord, void *data, ULONG *len)
{
    return c->Dispatch->NdkGetConnectionData(c, ird, ord, data, len);
}

/* covers: GCD-01 */
CASE(gcd_01_asks_for_the_size, KIT_FAMILIES)
{
    static struct asked a;
    ULONG len = 0;

    connect_with_data(&a);
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, NULL, &len), STATUS_SUCCESS);
    CHECK_EQ(len, DATA);
    answer(&a);
}

/* covers: GCD-02 */
CASE(gcd_02_short_and_sufficient_buffers, KIT_FAMILIES)
{
    static struct asked a;
    uint8_t data[DATA + 50];
    ULONG len;

    connect_with_data(&a);
    memset(data, 0xee, sizeof data);
    len = DATA - 1;
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, data, &len), STATUS_BUFFER_TOO_SMALL);
    CHECK_EQ(len, DATA);
    CHECK(kit_pattern_is(data, DATA - 1, 3));
    CHECK_EQ(data[DATA - 1], 0xee);
    len = DATA;
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, data, &len), STATUS_SUCCESS);
    CHECK_EQ(len, DATA);
    CHECK(kit_pattern_is(data, DATA, 3));
    CHECK_EQ(data[DATA], 0xee);
    memset(data, 0xee, sizeof data);
    len = sizeof data;
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, data, &len), STATUS_SUCCESS);
    CHECK_EQ(len, DATA);
    CHECK(kit_pattern_is(data, DATA, 3));
    answer(&a);
}

/* covers: GCD-03 */
CASE(gcd_03_null_buffer_with_a_length, KIT_FAMILIES)
{
    static struct asked a;
    ULONG len = 10;

    connect_with_data(&a);
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, NULL, &len), STATUS_INVALID_PARAMETER);
    answer(&a);
}

/* covers: GCD-04 */
CASE(gcd_04_each_out_parameter_is_optional, KIT_FAMILIES)
{
    static struct asked a;
    ULONG ird = 999, ord = 999, len = DATA;
    uint8_t data[DATA];

    kit_need_reads(8);
    connect_with_data(&a);
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, NULL, NULL), STATUS_SUCCESS);
    CHECK_STATUS(get(a.passive.connector, &ird, NULL, NULL, NULL), STATUS_SUCCESS);
    CHECK_EQ(ird, 8);
    CHECK_STATUS(get(a.passive.connector, NULL, &ord, NULL, NULL), STATUS_SUCCESS);
    CHECK_EQ(ord, 8);
    CHECK_STATUS(get(a.passive.connector, NULL, NULL, data, &len), STATUS_SUCCESS);
    CHECK_EQ(len, DATA);
    answer(&a);
}
