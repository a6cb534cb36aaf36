/* SPDX-License-Identifier: MIT */
/* The commands of the minimal target. See peer.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

enum { CNTLID = 7, SECOND_NSID = 3 };

static unsigned io_commands, admin_commands; /* that were answered */
static unsigned io_received;
static struct peer_command *held_event; /* the asynchronous event request */
static uint32_t registers_cc;
static bool second_namespace, deaf, replaced;
static bool io_ignored;                     /* until the host connects again */
static struct peer_command *without_token;  /* waits for the token of another command */
static struct peer_command *without_answer; /* waits for the answer of another command, which invalidates its token */

static void result(struct peer_command *c, uint64_t value)
{
    c->answer->result64 = value;
}

static bool is_multiple(unsigned io, unsigned every)
{
    return io && every && io % every == 0;
}

static bool has_token(const struct peer_command *c)
{
    return c->sgl.kind == NVME_SGL_KIND_HOST && c->sgl.length && c->sgl.invalidate;
}

/* Answers, unless this is a command for a mistake. `io` is its number, or 0. */
static void answer_io(struct peer_command *c, uint16_t status, unsigned io)
{
    if (io && io == options.error)
        status = NVME_WRITE_FAULT;
    c->answer->cid = c->capsule->cid;
    c->answer->status = (uint16_t)(status << 1);
    c->answer->sq_id = c->queue->qid;
    if (io && io == options.wrong_cid)
        c->answer->cid ^= 0x0300;
    if (io && io == options.old_cid)
        c->answer->cid ^= 0x8000;
    if (io && io == options.replace)
        replaced = true;
    if (io && (io == options.drop || io == options.replace || is_multiple(io, options.drop_every))) {
        peer_drop(c->queue);
        return;
    }
    if (io && io == options.wrong_token) {
        without_token = c;
        return;
    }
    /* Not near the end, when no other command may follow. */
    if (is_multiple(io, options.other_token) && io <= 4 * options.other_token && has_token(c) && !without_answer) {
        without_answer = c;
        return;
    }
    if (is_multiple(io, options.late_token) && has_token(c)) {
        peer_send_late_token(c, c);
        return;
    }
    if (!c->queue->qid && ++admin_commands == options.twice_admin) {
        peer_send_twice(c);
        return;
    }
    peer_send(c, io && io == options.short_answer ? 12 : sizeof *c->answer, has_token(c) && !options.plain_send,
              c->sgl.key);
    if (io && io == options.twice) {
        c->queue->outstanding++;
        peer_send(c, sizeof *c->answer, false, 0);
        io_ignored = true;
    }
}

void peer_answer(struct peer_command *c, uint16_t status)
{
    answer_io(c, status, c->queue->qid ? ++io_commands : 0);
    if (c->queue->qid && io_commands == options.change && held_event) {
        struct peer_command *event = held_event;

        held_event = NULL;
        second_namespace = true;
        result(event, NVME_EVENT_TYPE_NOTICE | NVME_NOTICE_NAMESPACE_CHANGED << NVME_EVENT_INFO_SHIFT |
                          NVME_LOG_CHANGED_NAMESPACES << NVME_EVENT_LOG_SHIFT);
        answer_io(event, NVME_SUCCESS, 0);
    }
    if (c->queue->qid && options.deaf && io_commands >= options.deaf)
        deaf = true;
}

/* Sends a page of data, then the answer. */
static void put_page(struct peer_command *c)
{
    uint32_t length = c->sgl.length < 4096 ? c->sgl.length : 4096;

    if (c->sgl.kind == NVME_SGL_KIND_HOST && length)
        peer_write(c, c->page, c->queue->token, length);
    peer_answer(c, NVME_SUCCESS);
}

static void identify_controller(struct peer_command *c)
{
    struct nvme_identify_controller *id = (void *)c->page;

    memset(id, 0, sizeof *id);
    memset(id->sn, ' ', sizeof id->sn + sizeof id->mn + sizeof id->fr);
    memcpy(id->sn, "PEER1", 5);
    memcpy(id->mn, "Minimal target", 14);
    id->mdts = (uint8_t)options.mdts;
    id->cntlid = CNTLID;
    id->oaes = NVME_EVENT_NAMESPACE_CHANGED;
    id->sqes = 0x66;
    id->cqes = 0x44;
    id->nn = 16;
    id->sgls = NVME_SGLS_SUPPORTED | NVME_SGLS_KEYED | (options.no_capsule == 2 ? 0 : NVME_SGLS_OFFSET);
    id->ioccsz = options.no_capsule == 1 ? 4 : PEER_CAPSULE / 16;
    id->iorcsz = 1;
    put_page(c);
}

static void identify(struct peer_command *c)
{
    struct nvme_identify_namespace *ns = (void *)c->page;
    uint32_t *list = (void *)c->page, nsid = c->capsule->nsid;

    switch (c->capsule->identify.cns) {
    case NVME_CNS_CONTROLLER:
        identify_controller(c);
        return;
    case NVME_CNS_ACTIVE_NAMESPACES:
        memset(c->page, 0, 4096);
        list[0] = 1;
        list[1] = second_namespace ? SECOND_NSID : 0;
        put_page(c);
        return;
    case NVME_CNS_NAMESPACE:
        memset(ns, 0, sizeof *ns);
        if (nsid == 1 || (nsid == SECOND_NSID && second_namespace)) {
            ns->nsze = ns->ncap = ns->nuse = PEER_DISK >> PEER_SHIFT;
            ns->lbaf[0].shift = PEER_SHIFT;
            ns->eui64[7] = (uint8_t)nsid;
            ns->eui64[0] = replaced;
        }
        put_page(c);
        return;
    default:
        peer_answer(c, NVME_INVALID_FIELD | NVME_DNR);
    }
}

static void fabrics(struct peer_command *c)
{
    const struct nvme_command *command = c->capsule;

    switch (command->fabrics_type) {
    case NVME_FABRICS_CONNECT:
        result(c, CNTLID);
        io_ignored = false;
        if (c->sgl.kind == NVME_SGL_KIND_HOST)
            peer_read(c, c->page, c->queue->token, sizeof(struct nvme_connect_data));
        else
            peer_answer(c, NVME_SUCCESS);
        return;
    case NVME_FABRICS_PROPERTY_SET:
        registers_cc = (uint32_t)command->property.value;
        peer_answer(c, NVME_SUCCESS);
        return;
    default:
        if (command->property.offset == NVME_PROPERTY_CAP)
            result(c, 127 | 1ull << 24 | NVME_CAP_CSS_NVM);
        else
            result(c, (registers_cc & NVME_CC_ENABLE ? NVME_CSTS_READY : 0) |
                          (registers_cc & NVME_CC_SHUTDOWN_MASK ? NVME_CSTS_SHUTDOWN_DONE : 0));
        peer_answer(c, NVME_SUCCESS);
    }
}

static void admin(struct peer_command *c)
{
    switch (c->capsule->opcode) {
    case NVME_ADMIN_IDENTIFY:
        identify(c);
        return;
    case NVME_ADMIN_GET_LOG_PAGE:
        memset(c->page, 0, 4096);
        put_page(c);
        return;
    case NVME_ADMIN_SET_FEATURES:
        if ((uint8_t)c->capsule->cdw10 == NVME_FEATURE_QUEUES)
            result(c, (options.queues - 1) | (options.queues - 1) << 16);
        peer_answer(c, NVME_SUCCESS);
        return;
    case NVME_ADMIN_ASYNC_EVENT:
        held_event = c;
        return;
    case NVME_ADMIN_ABORT:
        printf("abort\n");
        fflush(stdout);
        result(c, 1); /* not aborted */
        peer_answer(c, NVME_SUCCESS);
        return;
    case NVME_ADMIN_KEEP_ALIVE:
        peer_answer(c, NVME_SUCCESS);
        return;
    default:
        peer_answer(c, NVME_INVALID_OPCODE | NVME_DNR);
    }
}

static void io(struct peer_command *c, uint32_t length)
{
    const struct nvme_command *command = c->capsule;
    uint64_t offset = command->io.lba << PEER_SHIFT;
    uint64_t bytes = (uint64_t)(command->io.blocks + 1) << PEER_SHIFT;

    io_received++;
    if (io_ignored || io_received == options.silent)
        return;
    if (without_token && without_token->queue == c->queue && c->sgl.kind == NVME_SGL_KIND_HOST) {
        peer_send(without_token, sizeof *c->answer, true, c->sgl.key);
        without_token = NULL;
        return;
    }
    if (without_answer && without_answer->queue == c->queue) {
        c->answer->cid = command->cid;
        peer_send_late_token(without_answer, c);
        without_answer = NULL;
        return;
    }
    if (io_received == options.die)
        _exit(9);
    if (io_received == options.stop)
        raise(SIGSTOP);
    if (command->opcode == NVME_IO_FLUSH) {
        peer_answer(c, NVME_SUCCESS);
    } else if (command->opcode > NVME_IO_READ || offset + bytes > PEER_DISK || bytes != c->sgl.length ||
               (command->opcode == NVME_IO_READ && c->sgl.kind != NVME_SGL_KIND_HOST)) {
        peer_answer(c, NVME_INVALID_FIELD);
    } else if (command->opcode == NVME_IO_READ) {
        peer_write(c, peer_disk + offset, peer_disk_token, (uint32_t)bytes);
        peer_answer(c, NVME_SUCCESS);
    } else if (c->sgl.kind == NVME_SGL_KIND_HOST) {
        peer_read(c, peer_disk + offset, peer_disk_token, (uint32_t)bytes);
    } else if (nvme_sgl_in_capsule(&c->sgl, length - sizeof *command)) {
        memcpy(peer_disk + offset, (uint8_t *)(c->capsule + 1) + c->sgl.address, bytes);
        peer_answer(c, NVME_SUCCESS);
    } else {
        peer_answer(c, NVME_SGL_OFFSET_INVALID);
    }
}

void peer_execute(struct peer_command *c, uint32_t length)
{
    memset(c->answer, 0, sizeof *c->answer);
    if (deaf)
        return;
    if (length < sizeof *c->capsule || nvme_sgl_parse(&c->sgl, &c->capsule->sgl) != NVME_SUCCESS) {
        fprintf(stderr, "bad capsule\n");
        exit(1);
    }
    if (c->capsule->opcode == NVME_FABRICS && c->capsule->fabrics_type == NVME_FABRICS_CONNECT && c->queue->qid == 0 &&
        options.refuse)
        peer_answer(c, (uint16_t)options.refuse | NVME_DNR);
    else if (c->capsule->opcode == NVME_FABRICS)
        fabrics(c);
    else if (c->queue->qid == 0)
        admin(c);
    else
        io(c, length);
}
