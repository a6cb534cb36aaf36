/* SPDX-License-Identifier: MIT */
/* Two queue pairs, two pipes: see pump.h. */
#include "iwarp/pump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "iwarp/registration.h"
#include "wire/crc32c.h"

enum { CANARY = 64 };

static void on_complete(struct iw_qp *qp, struct rdma_completion *c, unsigned n)
{
    struct side *s = iw_qp_owner(qp);

    assert_true(n > 0);
    for (; n > 0; c++, n--) {
        assert_true(s->completions < PUMP_COMPLETIONS);
        /* `ended` has been called before any request completes as lost */
        assert_true(c->status != RDMA_STATUS_LOST || iw_qp_end(qp) == IW_END_NONE || s->ends > 0);
        s->completed[s->completions++] = *c;
        if (s->on_completion)
            s->on_completion(s, c);
    }
}

static void on_first(struct iw_qp *qp)
{
    struct side *s = iw_qp_owner(qp);
    s->first_fpdus++;
}

static void on_answer(struct iw_qp *qp)
{
    struct side *s = iw_qp_owner(qp);
    s->answers++;
}

static void on_close(struct iw_qp *qp)
{
    struct side *s = iw_qp_owner(qp);
    s->closes++;
}

static void on_end(struct iw_qp *qp, enum iw_end why, enum wire_error error)
{
    struct side *s = iw_qp_owner(qp);
    s->ends++;
    s->why = why;
    s->error = error;
}

static const struct iw_qp_events events = {
    .complete = on_complete,
    .first_fpdu = on_first,
    .rtr_answered = on_answer,
    .peer_closed = on_close,
    .ended = on_end,
};

static void side_open(struct pump *p, struct side *s, struct side *peer, const struct pump_config *c)
{
    uint16_t ird = c->ird ? c->ird : 4, ord = c->ord ? c->ord : 4;
    struct iw_qp_config q = {
        .receive_depth = c->depth ? c->depth : 64,
        .initiator_depth = c->depth ? c->depth : 64,
        .receive_sges = 40,
        .initiator_sges = 40,
        .inline_size = c->inline_size ? c->inline_size : 256,
        .max_ird = 16,
        .max_ord = 16,
        .memory = p->memory,
        .domain = c->share ? &c->share->domain : &p->domain,
        .secret = 0x0123456789abcdefu + (s == &p->b),
        .events = &events,
        .srq = p->srq,
        .owner = s,
    };
    struct iw_stream stream = {
        .crc = c->crc,
        .ird = ird,
        .ord = ord,
        .max_segment = c->max_segment ? c->max_segment : 1448,
        .send_after_first_fpdu = c->hold && s == &p->b,
    };

    s->peer = peer;
    s->pump = p;
    s->in.bytes = malloc(PUMP_PIPE);
    s->qp = iw_qp_create(&q);
    assert_non_null(s->qp);
    iw_qp_start(s->qp, &stream);
}

static void on_low(void *owner)
{
    ((struct pump *)owner)->low++;
}

static void share(struct pump *p, const struct pump_config *c)
{
    struct iw_srq_config q = {
        .depth = c->shared,
        .sges = 40,
        .threshold = c->threshold,
        .memory = p->memory,
        .domain = &p->domain,
        .low = on_low,
        .owner = p,
    };

    p->srq = iw_srq_create(&q);
    assert_non_null(p->srq);
}

void pump_open(struct pump *p, const struct pump_config *c)
{
    memset(p, 0, sizeof *p);
    p->seed = c->seed * 0x9e3779b97f4a7c15u + 1;
    p->whole = c->whole;
    p->shares = c->share != NULL;
    p->memory = c->share ? c->share->memory : mem_table_create(42);
    p->scratch = iw_scratch_create();
    assert_non_null(p->memory);
    assert_non_null(p->scratch);
    if (c->shared)
        share(p, c);
    side_open(p, &p->a, &p->b, c);
    side_open(p, &p->b, &p->a, c);
}

void pump_close(struct pump *p)
{
    iw_qp_stop(p->a.qp, RDMA_STATUS_FLUSHED);
    iw_qp_stop(p->b.qp, RDMA_STATUS_FLUSHED);
    iw_qp_destroy(p->a.qp);
    iw_qp_destroy(p->b.qp);
    iw_srq_destroy(p->srq);
    free(p->a.in.bytes);
    free(p->b.in.bytes);
    iw_scratch_destroy(p->scratch);
    if (!p->shares)
        mem_table_destroy(p->memory);
}

uint32_t pump_random(struct pump *p, uint32_t below)
{
    p->seed ^= p->seed << 13;
    p->seed ^= p->seed >> 7;
    p->seed ^= p->seed << 17;
    return (uint32_t)(p->seed >> 32) % below;
}

/* Returns how much of len moves this time: often a few bytes, sometimes nothing, sometimes all. */
static size_t portion(struct pump *p, size_t len)
{
    if (p->whole || len == 0)
        return len;
    switch (pump_random(p, 6)) {
    case 0:
        return 0;
    case 1:
        return len;
    case 2:
        return pump_random(p, 64) % (len + 1);
    default:
        return pump_random(p, (uint32_t)len + 1);
    }
}

bool pump_send(struct side *from)
{
    struct pipe *out = &from->peer->in;
    struct iovec iov[IW_MAX_IOV];
    size_t total = 0, left;
    int n = iw_qp_tx_want(from->qp, from->pump->scratch, iov, IW_MAX_IOV);

    if (out->from == out->to)
        out->from = out->to = 0;
    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    left = portion(from->pump, total < PUMP_PIPE - out->to ? total : PUMP_PIPE - out->to);
    for (int i = 0; i < n && left > 0; i++) {
        size_t part = iov[i].iov_len < left ? iov[i].iov_len : left;
        memcpy(out->bytes + out->to, iov[i].iov_base, part);
        out->to += part;
        left -= part;
        total -= part;
    }
    size_t moved = 0;
    for (int i = 0; i < n; i++)
        moved += iov[i].iov_len;
    iw_qp_tx_done(from->qp, from->pump->scratch, moved - total);
    return n > 0;
}

/* Processes the rest of the previous turn, and bounds this turn at random. Returns true if there was a rest. */
static bool resume(struct side *to)
{
    bool has_staged = iw_qp_rx_has_staged(to->qp);
    bool is_bounded = !to->pump->whole && pump_random(to->pump, 2);

    iw_qp_rx_set_limit(to->qp, is_bounded ? 1 + pump_random(to->pump, 3) : UINT32_MAX);
    iw_qp_rx_resume(to->qp, to->pump->scratch);
    return has_staged;
}

bool pump_receive(struct side *to)
{
    struct pipe *in = &to->in;
    struct iovec iov[IW_MAX_IOV];
    size_t room = 0, moved, left;
    int n;

    if (resume(to))
        return true;
    if (in->from == in->to)
        return false;
    n = iw_qp_rx_want(to->qp, to->pump->scratch, iov, IW_MAX_IOV);
    if (n == 0)
        return false;
    for (int i = 0; i < n; i++)
        room += iov[i].iov_len;
    moved = portion(to->pump, room < in->to - in->from ? room : in->to - in->from);
    left = moved;
    for (int i = 0; left > 0; i++) {
        size_t part = iov[i].iov_len < left ? iov[i].iov_len : left;
        memcpy(iov[i].iov_base, in->bytes + in->from, part);
        in->from += part;
        left -= part;
    }
    iw_qp_rx_done(to->qp, to->pump->scratch, moved);
    return true;
}

void pump_run(struct pump *p)
{
    for (int rounds = 0; rounds < 1000000; rounds++) {
        bool moved = pump_send(&p->a);
        moved |= pump_receive(&p->b);
        moved |= pump_send(&p->b);
        moved |= pump_receive(&p->a);
        if (!moved)
            return;
    }
    fail_msg("the streams do not come to rest");
}

void pump_inject(struct side *to, const void *bytes, size_t len)
{
    if (to->in.from == to->in.to)
        to->in.from = to->in.to = 0;
    assert_true(len <= PUMP_PIPE - to->in.to);
    memcpy(to->in.bytes + to->in.to, bytes, len);
    to->in.to += len;
}

size_t pump_seal(uint8_t *out, bool crc, size_t ulpdu)
{
    size_t covered = mpa_fpdu_size(ulpdu) - MPA_FPDU_CRC;

    out[0] = (uint8_t)(ulpdu >> 8);
    out[1] = (uint8_t)ulpdu;
    memset(out + 2 + ulpdu, 0, covered - 2 - ulpdu + MPA_FPDU_CRC);
    if (crc)
        crc32c_final(crc32c_update(CRC32C_INIT, out, covered), out + covered);
    return covered + MPA_FPDU_CRC;
}

size_t pump_fpdu(uint8_t *out, bool crc, const struct ddp_header *h, const void *payload, size_t len)
{
    size_t ulpdu = h ? ddp_header_encode(h, out + 2, DDP_MAX_HEADER) : 0;

    if (len > 0)
        memcpy(out + 2 + ulpdu, payload, len);
    return pump_seal(out, crc, ulpdu + len);
}

bool pump_terminate_sent(struct side *from, bool crc, struct terminate *t)
{
    struct pipe *out = &from->peer->in;
    struct ddp_header h;
    size_t size;
    bool found = false;

    for (int i = 0; i < 1000 && pump_send(from); i++)
        continue;
    while (out->to - out->from >= 2) {
        const uint8_t *at = out->bytes + out->from;
        size_t ulpdu = (size_t)at[0] << 8 | at[1];
        size_t all = mpa_fpdu_size(ulpdu);
        uint8_t sum[4] = { 0 };

        assert_true(all <= out->to - out->from);
        if (crc)
            crc32c_final(crc32c_update(CRC32C_INIT, at, all - 4), sum);
        assert_memory_equal(sum, at + all - 4, 4);
        assert_false(found); /* a Terminate is the last message */
        if (ulpdu > 0 && ddp_header_decode(&h, at + 2, ulpdu, &size) && !h.tagged && h.opcode == RDMAP_TERMINATE) {
            found = true;
            assert_true(h.last);
            assert_int_equal(h.queue, DDP_QUEUE_TERMINATE);
            assert_int_equal(h.msn, 1);
            assert_int_equal(h.mo, 0);
            assert_true(terminate_decode(t, at + 2 + size, ulpdu - size));
        }
        out->from += all;
    }
    assert_int_equal(out->from, out->to);
    return found;
}

void region_open(struct pump *p, struct region *r, uint32_t len, unsigned access)
{
    uint8_t *all = malloc((size_t)len + 2 * CANARY);

    assert_non_null(all);
    memset(all, 0xca, (size_t)len + 2 * CANARY);
    r->at = all + CANARY;
    r->len = len;
    assert_int_equal(
        register_memory(p->memory, &p->domain, r->at, len, (uint64_t)(uintptr_t)r->at, access, &r->mr, &r->stag), 0);
}

void region_close(struct region *r)
{
    if (r->mr)
        assert_true(mem_invalidate(r->mr, NULL, NULL));
    r->mr = NULL;
    for (int i = 0; i < CANARY; i++) {
        assert_int_equal(r->at[-1 - i], 0xca);
        assert_int_equal(r->at[r->len + (uint32_t)i], 0xca);
    }
    free(r->at - CANARY);
}

void *tag(unsigned n)
{
    return (void *)(uintptr_t)n;
}

void fill(struct region *r, uint32_t seed)
{
    for (uint32_t i = 0; i < r->len; i++)
        r->at[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
}

uint32_t split_sges(struct pump *p, const struct region *r, uint32_t len, struct rdma_sge *sges, uint32_t max)
{
    uint32_t n = 0, at = 0;

    if (len == 0)
        return 0;
    while (n + 1 < max && at < len) {
        uint32_t part = pump_random(p, 3) == 0 ? pump_random(p, 8) : pump_random(p, len / 2 + 2);
        part = part < len - at ? part : len - at;
        sges[n++] = (struct rdma_sge){ (uint64_t)(uintptr_t)r->at + at, part, r->stag };
        at += part;
    }
    sges[n++] = (struct rdma_sge){ (uint64_t)(uintptr_t)r->at + at, len - at, r->stag };
    return n;
}

struct rdma_sge one_sge(const struct region *r)
{
    return (struct rdma_sge){ (uint64_t)(uintptr_t)r->at, r->len, r->stag };
}

int post(struct side *s, enum rdma_op op, unsigned flags, unsigned context, const struct rdma_sge *sges, uint32_t count,
         const struct region *remote)
{
    struct rdma_request r = {
        .op = op,
        .flags = flags,
        .context = tag(context),
        .sges = sges,
        .sge_count = count,
        .remote_token = remote ? remote->stag : 0,
        .remote_address = remote ? (uint64_t)(uintptr_t)remote->at : 0,
    };
    return iw_qp_post(s->qp, &r, NULL);
}

void assert_completed(const struct side *s, unsigned at, enum rdma_op op, unsigned context, enum rdma_status status)
{
    assert_true(at < s->completions);
    assert_int_equal(s->completed[at].op, op);
    assert_ptr_equal(s->completed[at].context, tag(context));
    assert_int_equal(s->completed[at].status, status);
}
