/* SPDX-License-Identifier: MIT */
/* See stage.h. */
#include <errno.h>
#include <string.h>

#include "iwarp/registration.h"
#include "iwarp/stage.h"
#include "wire/mpa.h"

void stage_open(struct stage *s, bool crc, uint64_t seed)
{
    struct rdma_sge into;

    pump_open(&s->p, &(struct pump_config){ .crc = crc, .seed = seed });
    s->crc = crc;
    region_open(&s->p, &s->receive, LEN, RDMA_ACCESS_LOCAL_WRITE);
    region_open(&s->p, &s->target, LEN, RDMA_ACCESS_REMOTE_WRITE);
    region_open(&s->p, &s->source, LEN, RDMA_ACCESS_REMOTE_READ);
    region_open(&s->p, &s->foreign, LEN, RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE);
    assert_true(mem_invalidate(s->foreign.mr, NULL, NULL));
    assert_int_equal(
        register_memory(s->p.memory, &s->other_domain, s->foreign.at, LEN, (uint64_t)(uintptr_t)s->foreign.at,
                        RDMA_ACCESS_REMOTE_READ | RDMA_ACCESS_REMOTE_WRITE, &s->foreign.mr, &s->foreign.stag),
        0);
    into = one_sge(&s->receive);
    assert_int_equal(post(&s->p.b, RDMA_OP_RECEIVE, 0, 1, &into, 1, NULL), 0);
}

void stage_close(struct stage *s)
{
    region_close(&s->receive);
    region_close(&s->target);
    region_close(&s->source);
    region_close(&s->foreign);
    pump_close(&s->p);
}

bool is_untouched(const struct region *r)
{
    for (uint32_t i = 0; i < r->len; i++)
        if (r->at[i] != 0xca)
            return false;
    return true;
}

void receive_all(struct side *s)
{
    for (int i = 0; i < 100000 && pump_receive(s); i++)
        continue;
}

void assert_terminated(struct stage *g, struct side *s, enum wire_error error, int headers, const uint8_t *ulpdu,
                       size_t len)
{
    struct terminate t;
    size_t ddp = ulpdu && ulpdu[0] & 0x80 ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER;
    size_t expected = headers == HEADERS_NONE ? 0 : headers == HEADERS_DDP ? ddp : ddp + RDMAP_READ_REQUEST;

    assert_int_equal(s->ends, 1);
    assert_int_equal(s->error, error);
    assert_true(pump_terminate_sent(s, g->crc, &t));
    assert_int_equal(t.error, error);
    assert_int_equal(t.has_header, headers != HEADERS_NONE);
    assert_int_equal(t.header_len, expected);
    if (headers != HEADERS_NONE) {
        assert_int_equal(t.segment_len, len);
        assert_memory_equal(t.header, ulpdu, expected);
    }
    assert_true(iw_qp_tx_is_clean(s->qp));
    assert_int_equal(post(s, RDMA_OP_SEND, 0, 1, NULL, 0, NULL), ENOTCONN);
}

void inject(struct stage *s, const struct ddp_header *h, uint32_t payload)
{
    static uint8_t fpdu[70000], bytes[66000];

    memset(bytes, 0x22, payload);
    pump_inject(&s->p.b, fpdu, pump_fpdu(fpdu, s->crc, h, bytes, payload));
}
