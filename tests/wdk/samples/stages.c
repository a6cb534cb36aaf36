/* SPDX-License-Identifier: MIT */
/* Clients that end at any stage: see stages.h. */
#include "stages.h"

#include <stdlib.h>
#include <string.h>

#include "wire/ddp.h"

enum { FEW = 8, FLOOD = 40, BULK = 4096, MAGIC = 0x4F484345 };

const char *const stage_names[STAGES] = { "tcp",       "half request", "request",      "reply",         "ready",
                                          "messages",  "echoes",       "half message", "first segment", "bulk",
                                          "half bulk", "bulk read",    "bulk done",    "garbage",       "flood" };
const char *const end_names[ENDS] = { "close", "reset", "half-close", "stay" };

/* As samples/echo/protocol.h has it; both ends are on this machine. */
struct bulk {
    uint32_t magic, status;
    uint64_t address;
    uint32_t token, length;
};

static bool send_messages(struct peer *p, int count)
{
    while (count-- > 0)
        if (!peer_send_message(p, "hello", 5))
            return false;
    return true;
}

static bool receive_send(struct peer *p, struct peer_fpdu *f)
{
    do
        if (!peer_receive(p, f))
            return false;
    while (f->tagged || (f->opcode != RDMAP_SEND && f->opcode != RDMAP_SEND_INV));
    return true;
}

static bool receive_echoes(struct peer *p, struct peer_fpdu *f, int count)
{
    while (count-- > 0)
        if (!receive_send(p, f) || f->len != 5 || memcmp(f->payload, "hello", 5))
            return false;
    return true;
}

static bool reach_bulk(struct peer *p, enum stage stage, struct peer_fpdu *f)
{
    struct bulk request = { .magic = MAGIC, .address = 0x10000, .token = 77, .length = BULK };
    static const uint8_t data[BULK];
    struct rdmap_read_request r;

    if (!peer_send_message(p, &request, sizeof request) || !peer_receive(p, f) || f->tagged ||
        f->opcode != RDMAP_READ_REQ || !rdmap_read_decode(&r, f->payload, f->len))
        return false;
    if (stage == STAGE_BULK)
        return true;
    if (!peer_send_response(p, r.sink_stag, r.sink_to, data, BULK / 2, false))
        return false;
    if (stage == STAGE_HALF_BULK)
        return true;
    return peer_send_response(p, r.sink_stag, r.sink_to + BULK / 2, data, BULK / 2, true) &&
           (stage == STAGE_BULK_READ || receive_send(p, f));
}

static bool reach_message(struct peer *p, enum stage stage, struct peer_fpdu *f)
{
    switch (stage) {
    case STAGE_READY:
        return true;
    case STAGE_MESSAGES:
        return send_messages(p, FEW);
    case STAGE_ECHOES:
        return send_messages(p, FEW) && receive_echoes(p, f, FEW);
    case STAGE_HALF_MESSAGE:
        return send_messages(p, FEW / 2) && peer_send_half_message(p, "hello", 5);
    case STAGE_FIRST_SEGMENT:
        return send_messages(p, FEW / 2) && peer_send_first_segment(p, "hello", 5);
    case STAGE_GARBAGE:
        return send_messages(p, FEW / 2) && peer_send_garbage(p);
    case STAGE_FLOOD:
        return send_messages(p, FLOOD);
    default:
        return reach_bulk(p, stage, f);
    }
}

bool stage_reach(struct peer *p, enum stage stage)
{
    struct peer_fpdu *f;
    bool reached;

    if (!peer_connect(p, ECHO_PORT) || stage == STAGE_TCP)
        return p->fd >= 0;
    if (stage == STAGE_HALF_REQUEST)
        return peer_send_half_request(p);
    if (!peer_send_request(p) || stage == STAGE_REQUEST)
        return stage == STAGE_REQUEST;
    if (!peer_receive_reply(p) || stage == STAGE_REPLY)
        return stage == STAGE_REPLY;
    f = malloc(sizeof *f);
    reached = f && peer_send_ready(p) && reach_message(p, stage, f);
    free(f);
    return reached;
}

void stage_end(struct peer *p, enum end end)
{
    switch (end) {
    case END_RESET:
        peer_reset(p);
        break;
    case END_HALF:
        peer_half_close(p);
        peer_wait_end(p);
        peer_close(p);
        break;
    case END_STAY:
        break;
    default:
        peer_close(p);
    }
}

bool stage_good_client(void)
{
    struct peer p;
    bool served = stage_reach(&p, STAGE_ECHOES);

    peer_half_close(&p);
    served = peer_wait_end(&p) && served;
    peer_close(&p);
    return served;
}
