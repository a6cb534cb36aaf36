/* SPDX-License-Identifier: MIT */
/*
 * The receive side of a queue pair, from raw bytes to memory. An input is a program of steps: raw bytes; segments that
 * are nearly valid, with a valid checksum; and the consumer's requests: sends, receives, reads, registrations, windows,
 * invalidations, a flush. There are a region with all rights, a read-only one, one without remote rights, one of
 * another domain, a fast registration of pages in another order, and a window. Every other input uses a shared receive
 * queue.
 *
 * For every input: the guards around all memory, and memory without remote rights, do not change; each request
 * completes once; the sanitizers report nothing; everything completes in the end.
 */
#include <stdlib.h>
#include <string.h>

#include "iwarp/memory.h"
#include "iwarp/qp_internal.h"
#include "wire/ddp.h"
#include "wire/mpa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LEN = 4 * MEM_PAGE, DEPTH = 16, MAX_FPDU = 4096, MAX_OUT = 1 << 16, FILL = 0x5a, GUARD_FILL = 0xa5 };
enum area_kind { ALL, READABLE, LOCAL, FOREIGN, PAGED, AREAS };
enum { WINDOW = AREAS, TOKENS, STALE = TOKENS };

struct input {
    const uint8_t *at;
    size_t bytes_left;
};

struct fuzz {
    struct mem_table *table;
    struct iw_scratch *scratch;
    struct iw_qp *qp;
    struct iw_srq *srq; /* or NULL */
    struct mem_group fast, window, lasting;
    struct mem_region *regions[AREAS], *map;
    uint8_t *memory[AREAS]; /* LEN bytes between guards; the fast registration covers PAGED */
    uint64_t base[TOKENS];
    uint32_t tokens[TOKENS + 1]; /* the last one belongs to the latest registration that ended */
    uint64_t logical;
    uint8_t domain, other_domain;
    bool crc;
    bool bounded;               /* each poll handles one frame */
    unsigned posted, completed; /* without receives of the shared queue: */
    unsigned shared, taken;
    uint32_t send_msn, read_msn;
    /* Read Requests that the queue pair has sent. */
    struct rdmap_read_request asked[DEPTH];
    unsigned asked_count, answered;
    uint32_t answered_octets;
    uint8_t out[MAX_OUT];
    size_t out_len;
};

static void require(bool ok)
{
    if (!ok)
        abort();
}

static uint32_t input_number(struct input *in, unsigned bytes)
{
    uint32_t v = 0;

    for (; bytes > 0; bytes--, in->at += in->bytes_left > 0, in->bytes_left -= in->bytes_left > 0)
        v = v << 8 | (in->bytes_left > 0 ? *in->at : 0);
    return v;
}

/* ---- upcalls ---- */

static void on_complete(struct iw_qp *qp, struct rdma_completion *c, unsigned n)
{
    struct fuzz *f = iw_qp_owner(qp);

    for (; n > 0; c++, n--) {
        bool invalidated = c->op == RDMA_OP_RECEIVE_AND_INVALIDATE;

        if (f->srq && (c->op == RDMA_OP_RECEIVE || invalidated))
            f->taken++;
        else
            f->completed++;
        require(c->status == RDMA_STATUS_OK || !invalidated);
        if (invalidated)
            require(mem_check_revoke(f->table, &f->domain, c->token, false) != WIRE_OK);
    }
}

static void nothing(struct iw_qp *qp)
{
    (void)qp;
}

static void on_ended(struct iw_qp *qp, enum iw_end why, enum wire_error error)
{
    (void)qp, (void)why, (void)error;
}

static const struct iw_qp_events events = {
    .complete = on_complete,
    .first_fpdu = nothing,
    .rtr_answered = nothing,
    .peer_closed = nothing,
    .ended = on_ended,
};

/* ---- the other end ---- */

/* Stores the Read Requests among the sent bytes. */
static void fuzz_read_output(struct fuzz *f)
{
    size_t at = 0;

    while (f->out_len - at >= MPA_FPDU_LENGTH) {
        size_t ulpdu = (size_t)f->out[at] << 8 | f->out[at + 1], size = mpa_fpdu_size(ulpdu), header;
        struct ddp_header h;

        if (f->out_len - at < size)
            break;
        if (ulpdu > 0) {
            require(ddp_header_decode(&h, f->out + at + MPA_FPDU_LENGTH, ulpdu, &header));
            if (!h.tagged && h.opcode == RDMAP_READ_REQ && f->asked_count < DEPTH)
                require(rdmap_read_decode(&f->asked[f->asked_count++], f->out + at + MPA_FPDU_LENGTH + header,
                                          ulpdu - header));
        }
        at += size;
    }
    memmove(f->out, f->out + at, f->out_len - at);
    f->out_len -= at;
}

static void transmit(struct fuzz *f, size_t most)
{
    struct iovec iov[IW_MAX_IOV];

    for (int turn = 0; turn < 64; turn++) {
        int n = iw_qp_tx_want(f->qp, f->scratch, iov, IW_MAX_IOV);
        size_t taken = 0;

        for (int i = 0; i < n && taken < most; i++) {
            size_t len = iov[i].iov_len < most - taken ? iov[i].iov_len : most - taken;
            if (len > MAX_OUT - f->out_len)
                len = MAX_OUT - f->out_len;
            memcpy(f->out + f->out_len, iov[i].iov_base, len);
            f->out_len += len;
            taken += len;
            if (len < iov[i].iov_len)
                break;
        }
        iw_qp_tx_done(f->qp, f->scratch, taken);
        fuzz_read_output(f);
        if (n == 0 || taken == 0)
            return;
        most -= taken;
    }
}

/* Handles frames of the last input that the limit of one frame for each poll has delayed. */
static void finish_rest(struct fuzz *f)
{
    while (iw_qp_rx_has_staged(f->qp)) {
        iw_qp_rx_set_limit(f->qp, 1);
        iw_qp_rx_resume(f->qp, f->scratch);
    }
    if (f->bounded)
        iw_qp_rx_set_limit(f->qp, 1);
}

static void feed(struct fuzz *f, const uint8_t *bytes, size_t len, size_t piece)
{
    struct iovec iov[IW_MAX_IOV];

    while (len > 0) {
        finish_rest(f);
        int n = iw_qp_rx_want(f->qp, f->scratch, iov, IW_MAX_IOV);
        size_t got = 0, most = len < piece ? len : piece;

        if (n == 0)
            return;
        for (int i = 0; i < n && got < most; i++) {
            size_t part = iov[i].iov_len < most - got ? iov[i].iov_len : most - got;
            memcpy(iov[i].iov_base, bytes + got, part);
            got += part;
        }
        iw_qp_rx_done(f->qp, f->scratch, got);
        bytes += got;
        len -= got;
    }
}

static uint32_t token(struct fuzz *f, struct input *in)
{
    unsigned which = input_number(in, 1);

    return which < 250 ? f->tokens[which % (TOKENS + 1)] : input_number(in, 4);
}

static size_t seal(const struct fuzz *f, uint8_t *fpdu, const struct ddp_header *h, size_t payload)
{
    size_t header = ddp_header_encode(h, fpdu + MPA_FPDU_LENGTH, DDP_MAX_HEADER), ulpdu = header + payload;

    return fpdu_finish(f->crc, fpdu, ulpdu);
}

/* Feeds a segment whose fields are mostly valid. */
static void segment(struct fuzz *f, struct input *in)
{
    static uint8_t fpdu[MAX_FPDU + 64];
    unsigned kind = input_number(in, 1), which = input_number(in, 1) % TOKENS;
    uint32_t payload = input_number(in, 2) % MAX_FPDU, wrong = input_number(in, 1);
    struct ddp_header h = { .opcode = kind & 7, .last = kind & 8, .tagged = h.opcode == 0 || h.opcode == 2 };
    uint8_t *body;

    if (wrong & 1)
        h.tagged = !h.tagged;
    h.stag = h.tagged || h.opcode == RDMAP_SEND_INV || h.opcode == RDMAP_SEND_SE_INV ? token(f, in) : 0;
    h.to = f->base[which] + input_number(in, 2) - (wrong & 2 ? 64 : 0);
    h.queue = h.opcode == RDMAP_READ_REQ ? 1 : h.opcode == RDMAP_TERMINATE ? 2 : 0;
    h.msn = h.queue == 0 ? f->send_msn : h.queue == 1 ? f->read_msn : 1;
    if (wrong & 4)
        h.msn += input_number(in, 1);
    h.mo = wrong & 8 ? input_number(in, 2) : 0;
    if (h.tagged && h.opcode == RDMAP_READ_RESP && f->answered < f->asked_count && !(wrong & 16)) {
        const struct rdmap_read_request *r = &f->asked[f->answered];
        h.stag = r->sink_stag;
        h.to = r->sink_to + f->answered_octets;
        payload = payload < r->length - f->answered_octets ? payload : r->length - f->answered_octets;
        h.last = payload == r->length - f->answered_octets;
        f->answered_octets = h.last ? 0 : f->answered_octets + payload;
        f->answered += h.last;
    }
    body = fpdu + MPA_FPDU_LENGTH + (h.tagged ? DDP_TAGGED_HEADER : DDP_UNTAGGED_HEADER);
    memset(body, (int)input_number(in, 1), payload);
    if (h.opcode == RDMAP_READ_REQ && !(wrong & 32)) {
        struct rdmap_read_request r = {
            .sink_stag = 7,
            .length = payload,
            .source_stag = token(f, in),
            .source_to = h.to,
        };
        payload = (uint32_t)rdmap_read_encode(&r, body, RDMAP_READ_REQUEST);
        h.last = true;
    }
    if (!h.tagged && h.last && h.queue < 2)
        *(h.queue == 0 ? &f->send_msn : &f->read_msn) += 1;
    feed(f, fpdu, seal(f, fpdu, &h, payload), wrong & 64 ? 1 + input_number(in, 1) : SIZE_MAX);
}

/* ---- the consumer ---- */

static void post(struct fuzz *f, struct rdma_request *r)
{
    if (f->srq && r->op == RDMA_OP_RECEIVE)
        f->shared += iw_srq_post(f->srq, r) == 0;
    else if (iw_qp_post(f->qp, r, NULL) == 0)
        f->posted += !(r->flags & RDMA_FLAG_SILENT);
    else if (r->op == RDMA_OP_FAST_REGISTER || r->op == RDMA_OP_BIND)
        mem_discard(f->table, &f->domain, r->token);
}

static void request(struct fuzz *f, struct input *in)
{
    unsigned kind = input_number(in, 1), which = input_number(in, 1) % TOKENS;
    struct rdma_sge sges[2] = {
        { f->base[which] + input_number(in, 2) % LEN, input_number(in, 2) % LEN, f->tokens[which] },
        { (uint64_t)(uintptr_t)f->memory[LOCAL], input_number(in, 1), f->tokens[LOCAL] },
    };
    struct rdma_request r = {
        .op = (enum rdma_op)(kind % 4),
        .flags = kind & 8 ? RDMA_FLAG_READ_FENCE : 0,
        .sges = sges,
        .sge_count = kind >> 4 & 1 ? 2 : 1,
        .remote_token = 5,
        .remote_address = 9,
    };

    if (kind & 32 && r.op == RDMA_OP_SEND)
        r.flags |= RDMA_FLAG_SEND_INVALIDATE;
    if (kind & 32 && r.op == RDMA_OP_READ)
        r.flags |= RDMA_FLAG_READ_INVALIDATE;
    if (kind & 64)
        sges[0] = (struct rdma_sge){ f->logical + sges[0].address % LEN, sges[0].length, 0 };
    post(f, &r);
}

static void fast_register(struct fuzz *f, struct input *in)
{
    unsigned order = input_number(in, 1);
    uint64_t pages[4];
    struct rdma_pages p = {
        .logical = pages,
        .count = 4,
        .offset = input_number(in, 2) % MEM_PAGE,
        .len = input_number(in, 2) % LEN,
        .base_address = (uint64_t)input_number(in, 1) << 40,
        .access = input_number(in, 1) & 7,
    };
    struct rdma_request r = { .op = RDMA_OP_FAST_REGISTER };

    for (unsigned i = 0; i < 4; i++)
        pages[i] = f->logical + ((i ^ (order & 3)) << MEM_PAGE_SHIFT) + (order == 255);
    p.base_address += p.offset;
    if (mem_prepare_pages(f->table, &f->fast, &f->domain, &p, &r.token) != 0)
        return;
    f->tokens[STALE] = f->tokens[PAGED];
    f->tokens[PAGED] = r.token;
    f->base[PAGED] = p.base_address;
    post(f, &r);
}

static void bind_window(struct fuzz *f, struct input *in)
{
    unsigned of = input_number(in, 1) % AREAS;
    struct rdma_request r = { .op = RDMA_OP_BIND };
    uint64_t to = f->base[of] + input_number(in, 2);

    if (mem_prepare_window(f->table, &f->window, &f->domain, f->tokens[of], to, input_number(in, 2),
                           input_number(in, 1) & 6, &r.token))
        return;
    f->tokens[WINDOW] = r.token;
    f->base[WINDOW] = to;
    post(f, &r);
}

static void invalidate(struct fuzz *f, struct input *in)
{
    struct rdma_request r = { .op = RDMA_OP_INVALIDATE,
                              .token = token(f, in),
                              .flags = input_number(in, 1) & RDMA_FLAG_READ_FENCE };

    post(f, &r);
}

static void step(struct fuzz *f, struct input *in)
{
    size_t n;

    switch (input_number(in, 1) & 15) {
    case 0:
        n = input_number(in, 1);
        n = n < in->bytes_left ? n : in->bytes_left;
        feed(f, in->at, n, SIZE_MAX);
        in->at += n;
        in->bytes_left -= n;
        return;
    case 1:
    case 2:
        request(f, in);
        return;
    case 3:
        fast_register(f, in);
        return;
    case 4:
        bind_window(f, in);
        return;
    case 5:
        invalidate(f, in);
        return;
    case 6:
        transmit(f, input_number(in, 2));
        return;
    case 7:
        transmit(f, SIZE_MAX);
        return;
    case 8:
        if (input_number(in, 1) == 8)
            iw_qp_flush(f->qp, RDMA_STATUS_FLUSHED);
        return;
    default:
        segment(f, in);
        return;
    }
}

/* ---- before and after ---- */

/* Static, because initializing it takes most of the time of a short input. */
static uint8_t blocks[AREAS][LEN + 2 * MEM_PAGE] __attribute__((aligned(MEM_PAGE)));
static uint8_t fresh[LEN + 2 * MEM_PAGE];

static uint8_t *guarded(int i)
{
    if (fresh[0] != GUARD_FILL) {
        memset(fresh, GUARD_FILL, sizeof fresh);
        memset(fresh + MEM_PAGE, FILL, LEN);
    }
    memcpy(blocks[i], fresh, sizeof fresh);
    return blocks[i] + MEM_PAGE;
}

static void check(void)
{
    for (int i = 0; i < AREAS; i++) {
        require(memcmp(blocks[i], fresh, MEM_PAGE) == 0);
        require(memcmp(blocks[i] + MEM_PAGE + LEN, fresh + MEM_PAGE + LEN, MEM_PAGE) == 0);
        if (i == READABLE || i == FOREIGN)
            require(memcmp(blocks[i], fresh, sizeof fresh) == 0);
    }
}

static void open_memory(struct fuzz *f)
{
    static const unsigned access[AREAS] = { 7, RDMA_ACCESS_REMOTE_READ, RDMA_ACCESS_LOCAL_WRITE, 7, 0 };

    mem_group_init(&f->fast);
    mem_group_init(&f->window);
    mem_group_init(&f->lasting);
    for (int i = 0; i < AREAS; i++) {
        f->memory[i] = guarded(i);
        f->base[i] = (uint64_t)(uintptr_t)f->memory[i];
        if (i != PAGED)
            require(mem_register(f->table, &f->lasting, i == FOREIGN ? &f->other_domain : &f->domain, f->memory[i], LEN,
                                 f->base[i], access[i], &f->regions[i], &f->tokens[i]) == 0);
    }
    require(mem_map(f->table, f->memory[PAGED], LEN, &f->map, &f->logical) == 0);
}

static void close_memory(struct fuzz *f)
{
    mem_group_kill(&f->window);
    require(mem_group_close(&f->window, NULL, NULL));
    mem_group_kill(&f->fast);
    require(mem_group_close(&f->fast, NULL, NULL));
    for (int i = 0; i < AREAS; i++)
        if (i != PAGED)
            require(mem_invalidate(f->regions[i], NULL, NULL));
    mem_group_kill(&f->lasting);
    require(mem_group_close(&f->lasting, NULL, NULL));
    mem_unmap(f->map);
}

static void low(void *owner)
{
    (void)owner;
}

static void open_queue_pair(struct fuzz *f, unsigned options)
{
    struct iw_srq_config shared = {
        .depth = DEPTH,
        .sges = 4,
        .threshold = 3,
        .memory = f->table,
        .domain = &f->domain,
        .low = low,
    };
    struct iw_qp_config c = {
        .receive_depth = DEPTH,
        .initiator_depth = DEPTH,
        .receive_sges = 4,
        .initiator_sges = 4,
        .inline_size = 64,
        .max_ird = 4,
        .max_ord = 4,
        .memory = f->table,
        .domain = &f->domain,
        .secret = 1,
        .events = &events,
        .owner = f,
    };
    struct iw_stream s = {
        .crc = options & 1,
        .ird = options >> 1 & 3,
        .ord = 4,
        .max_segment = options & 8 ? 256 : 1448,
        .send_after_first_fpdu = options & 16,
        .post_after_first_fpdu = options & 32,
    };

    f->crc = s.crc;
    f->bounded = options & 128;
    if (options & 64)
        require((f->srq = iw_srq_create(&shared)) != NULL);
    c.srq = f->srq;
    f->qp = iw_qp_create(&c);
    require(f->qp != NULL);
    iw_qp_start(f->qp, &s);
    f->send_msn = f->read_msn = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz f;
    struct input in = { data, size };

    struct iw_scratch *scratch = f.scratch ? f.scratch : iw_scratch_create(); /* has no state of a run */

    f = (struct fuzz){ .table = mem_table_create(1), .scratch = scratch };
    require(f.table && scratch);
    open_memory(&f);
    open_queue_pair(&f, input_number(&in, 1));
    while (in.bytes_left > 0)
        step(&f, &in);
    check();
    if (size & 1) {
        finish_rest(&f);
        iw_qp_rx_eof(f.qp);
    }
    iw_qp_stop(f.qp, RDMA_STATUS_FLUSHED);
    require(f.completed == f.posted && f.taken <= f.shared);
    iw_qp_destroy(f.qp);
    iw_srq_destroy(f.srq);
    check();
    close_memory(&f);
    mem_table_destroy(f.table);
    return 0;
}
