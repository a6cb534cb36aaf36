/* SPDX-License-Identifier: MIT */
/*
 * Drives the protocol of the NVMe target sample with the capsules of two hosts, several commands at the same time,
 * while namespaces change and queues close. The rig (tests/nvme/rig.c) aborts if a transfer leaves the buffer, a disk
 * operation leaves the namespace, or a command does not end. Invariant: what one host sends never disturbs another:
 * a controller that the input does not reach answers at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvme/rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RUNNING 6
#define FUZZED_QUEUES (RIG_QUEUES - 2) /* the last two belong to the host that the input does not reach */
#define WITNESS_ADMIN FUZZED_QUEUES
#define WITNESS_IO (FUZZED_QUEUES + 1)

struct input {
    const uint8_t *at, *end;
};

static struct rig rig;
static struct rig_running *running[RUNNING];

static void require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "nvme_fuzz: %s\n", what);
    abort();
}

static uint8_t next_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

/* Fills `len` bytes; what the input does not have is 0. */
static void next_bytes(struct input *input, void *bytes, size_t len)
{
    size_t have = (size_t)(input->end - input->at) < len ? (size_t)(input->end - input->at) : len;

    memset(bytes, 0, len);
    memcpy(bytes, input->at, have);
    input->at += have;
}

/* ---- Commands that run ---- */

static void drop_running(unsigned i)
{
    if (running[i]->command.action == TARGET_WAIT)
        rig_keep(&rig, running[i]);
    else
        rig_free(running[i]);
    running[i] = NULL;
}

static void pop_ready(void)
{
    struct rig_outcome outcome;

    for (unsigned i = 0; i < RIG_CONTROLLERS; i++) {
        while (rig.controllers[i].in_use && rig_pop(&rig, &rig.controllers[i], &outcome))
            ;
    }
}

/* A queue of the input is to be closed: by its transport, or because its controller is closing. */
static void close_queue(unsigned queue)
{
    struct target_controller *controller = rig.queues[queue].controller;
    bool admin = rig.queues[queue].qid == 0;

    for (unsigned i = 0; i < RUNNING; i++) {
        const struct target_queue *its = running[i] ? running[i]->command.queue : NULL;

        if (its && (its == &rig.queues[queue] || (admin && controller && its->controller == controller)))
            rig_free(running[i]), running[i] = NULL;
    }
    rig_close(&rig, queue);
}

static void step(unsigned i)
{
    struct rig_running *r = running[i];

    if (!r || rig_step(&rig, r))
        return;
    if (r->command.action == TARGET_DISCONNECT)
        close_queue((unsigned)(r->command.queue - rig.queues));
    else
        drop_running(i);
    pop_ready();
}

static void begin(unsigned queue, const void *capsule, size_t len)
{
    unsigned i = 0;

    while (i < RUNNING && running[i])
        i++;
    if (i == RUNNING) {
        for (i = 0; running[0]; i++)
            step(0);
        i = 0;
    }
    if (!rig.queues[queue].subsystem)
        return; /* nobody has connected it */
    running[i] = rig_begin(&rig, queue, capsule, len);
    if (running[i]->command.action == TARGET_WAIT)
        drop_running(i);
    pop_ready();
}

/* ---- The input's choices ---- */

/* A value that is often near a limit. */
static uint64_t next_value(struct input *input)
{
    static const uint64_t near[] = { 0,
                                     1,
                                     8,
                                     31,
                                     32,
                                     63,
                                     64,
                                     128,
                                     255,
                                     256,
                                     1023,
                                     1024,
                                     4096,
                                     16384,
                                     32768,
                                     65535,
                                     65536,
                                     UINT32_MAX,
                                     UINT64_C(1) << 55,
                                     INT64_MAX,
                                     UINT64_MAX };
    uint8_t choice = next_byte(input);
    uint64_t value;

    if (choice < 0x80)
        return near[choice % (sizeof near / sizeof near[0])] + (choice >> 5) - 1;
    next_bytes(input, &value, 1u << (choice & 3));
    return choice & 3 ? value : value & 0xff;
}

static void set_sgl(struct input *input, struct nvme_command *sqe, uint32_t length)
{
    uint8_t choice = next_byte(input);

    if (choice & 0x80)
        length = (uint32_t)next_value(input);
    if (choice & 1)
        rig_set_in_capsule(sqe, choice & 2 ? next_value(input) : 0, length);
    else
        rig_set_keyed(sqe, choice & 2 ? next_value(input) : 0, length & NVME_SGL_MAX_KEYED_LENGTH);
    if (choice & 0x40)
        sqe->sgl.identifier = next_byte(input);
}

static struct nvme_command next_io(struct input *input)
{
    static const uint8_t opcodes[] = {
        NVME_IO_FLUSH, NVME_IO_WRITE, NVME_IO_READ, NVME_IO_COMPARE, NVME_IO_WRITE_ZEROES, NVME_IO_DATASET_MANAGEMENT,
        0x0d
    };
    static const uint32_t nsids[] = { 1, 2, 5, 1, 2, 0, 3, NVME_ALL_NAMESPACES };
    uint8_t opcode = opcodes[next_byte(input) % sizeof opcodes];
    uint32_t nsid = nsids[next_byte(input) % 8], blocks = (uint32_t)next_value(input) & 0xffff;
    struct nvme_command sqe = rig_command(opcode, nsid);

    if (opcode == NVME_IO_DATASET_MANAGEMENT) {
        sqe.cdw10 = blocks & 0xff;
        sqe.cdw11 = next_byte(input);
        next_bytes(input, rig.host, 48);
        set_sgl(input, &sqe, ((blocks & 0xff) + 1) * 16);
        return sqe;
    }
    sqe.io.lba = next_value(input);
    sqe.io.blocks = (uint16_t)blocks;
    sqe.io.control = (uint16_t)(next_byte(input) << 8);
    set_sgl(input, &sqe, (blocks + 1) << (nsid == 2 ? 12 : 9));
    return sqe;
}

static struct nvme_command next_admin(struct input *input)
{
    static const uint8_t opcodes[] = { NVME_ADMIN_GET_LOG_PAGE, NVME_ADMIN_IDENTIFY,
                                       NVME_ADMIN_ABORT,        NVME_ADMIN_SET_FEATURES,
                                       NVME_ADMIN_GET_FEATURES, NVME_ADMIN_ASYNC_EVENT,
                                       NVME_ADMIN_KEEP_ALIVE,   NVME_FABRICS };
    struct nvme_command sqe = rig_command(opcodes[next_byte(input) % sizeof opcodes], (uint32_t)next_value(input));

    sqe.cdw10 = (uint32_t)next_value(input);
    sqe.cdw11 = (uint32_t)next_value(input);
    if (sqe.opcode == NVME_ADMIN_GET_LOG_PAGE) {
        sqe.log.dwords_high &= 1;
        sqe.log.offset = next_value(input);
        set_sgl(input, &sqe, ((uint32_t)sqe.log.dwords_high << 16 | sqe.log.dwords_low) * 4 + 4);
    } else if (sqe.opcode == NVME_FABRICS) {
        sqe.property.value = next_value(input);
    } else {
        set_sgl(input, &sqe, sqe.opcode == NVME_ADMIN_IDENTIFY ? NVME_PAGE_SIZE : NVME_HOST_ID_SIZE);
    }
    return sqe;
}

/* Connects a queue, perhaps with a fault. */
static struct nvme_command next_connect(struct input *input, unsigned queue)
{
    static const char *const names[] = { RIG_NQN, NVME_DISCOVERY_NQN };
    uint8_t choice = next_byte(input);
    uint16_t qid = rig.queues[queue].qid;
    uint16_t cntlid = qid == 0 ? NVME_CNTLID_DYNAMIC : rig.controllers[choice % RIG_CONTROLLERS].cntlid;
    struct nvme_command sqe = rig_connect(&rig, qid, cntlid, names[choice >> 4 & 1]);

    sqe.connect.sqsize = (uint16_t)(choice & 0x20 ? next_value(input) : rig.queues[queue].commands - 1);
    sqe.connect.attributes = next_byte(input);
    if (choice & 0x40)
        next_bytes(input, rig.host + (next_value(input) & 0x3ff), 8);
    if (choice & 0x80)
        next_bytes(input, (uint8_t *)&sqe + (next_byte(input) & 0x3f), 1);
    return sqe;
}

static void open_queue(struct input *input, unsigned queue)
{
    struct nvme_rdma_request request;
    uint8_t choice = next_byte(input);

    if (rig.queues[queue].controller)
        return;
    close_queue(queue);
    memset(&request, 0, sizeof request);
    request.qid = choice & 7;
    request.hsqsize = request.hrqsize = (uint16_t)(choice & 8 ? next_value(input) : 31);
    request.cntlid = choice & 16 ? (uint16_t)next_value(input) : 0;
    target_queue_init(&rig.queues[queue], &rig.subsystem, &request, sizeof request - (choice >> 7), rig.now_ms);
}

static void send_capsule(struct input *input, unsigned queue, const struct nvme_command *sqe)
{
    uint8_t capsule[sizeof *sqe + RIG_CAPSULE_DATA + 1];
    size_t len = sizeof *sqe;

    if ((sqe->sgl.identifier >> 4) == NVME_SGL_DATA_BLOCK)
        len += next_value(input) % (RIG_CAPSULE_DATA + 2);
    memset(capsule, 0x5a, sizeof capsule);
    memcpy(capsule, sqe, sizeof *sqe);
    begin(queue, capsule, len);
}

/* Closes what has expired, as a transport does; the host that the input does not reach has no limit. */
static void expire(void)
{
    for (unsigned i = 0; i < FUZZED_QUEUES; i++) {
        const struct target_controller *controller = rig.queues[i].controller;

        if (controller ? target_controller_has_expired(controller, rig.now_ms)
                       : target_queue_has_expired(&rig.queues[i], rig.now_ms))
            close_queue(i);
    }
}

static void change_subsystem(struct input *input)
{
    struct target_namespace *ns = &rig.namespaces[next_byte(input) % 3];
    uint8_t choice = next_byte(input);

    /* The host that the input does not reach reads the first block of the first namespace at the end. */
    if (ns != &rig.namespaces[0])
        ns->attached = choice & 1;
    ns->read_only = choice & 2;
    ns->blocks = choice & 4 ? RIG_DISK >> ns->block_shift : 8;
    if (choice & 8)
        target_namespace_changed(&rig.subsystem, ns);
    if (choice & 16)
        target_ports_changed(&rig.subsystem);
    if (choice & 32)
        rig.now_ms += next_value(input) & 0xffff;
    expire();
    rig.fail_status = choice & 64 ? NVME_WRITE_FAULT : 0;
    rig.fail_after = choice >> 7;
    pop_ready();
}

static void one_choice(struct input *input)
{
    uint8_t choice = next_byte(input);
    unsigned queue = (choice >> 3) % FUZZED_QUEUES;
    uint8_t raw[sizeof(struct nvme_command) + 8];
    struct nvme_command sqe;

    switch (choice & 7) {
    case 0:
        open_queue(input, queue);
        return;
    case 1:
        sqe = next_connect(input, queue);
        break;
    case 2:
        sqe = next_admin(input);
        break;
    case 3:
        sqe = next_io(input);
        break;
    case 4:
        next_bytes(input, raw, sizeof raw);
        begin(queue, raw, raw[sizeof raw - 1] % (sizeof raw + 1));
        return;
    case 5:
        change_subsystem(input);
        return;
    case 6:
        if (choice & 0x80)
            close_queue(queue);
        return;
    default:
        step((choice >> 3) % RUNNING);
        return;
    }
    send_capsule(input, queue, &sqe);
}

static void prepare(void)
{
    const struct target_controller *controller;

    rig_init(&rig, true);
    controller = rig_admin(&rig, WITNESS_ADMIN, RIG_NQN);
    rig_io_queue(&rig, WITNESS_IO, controller, 1, 32);
    for (unsigned host = 0; host < 2; host++) {
        controller = rig_admin(&rig, 3 * host, RIG_NQN);
        rig_io_queue(&rig, 3 * host + 1, controller, 1, 32);
        rig_io_queue(&rig, 3 * host + 2, controller, 2, 4);
    }
    rig_admin(&rig, 6, NVME_DISCOVERY_NQN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = { data, data + size };
    struct rig_outcome outcome;
    struct nvme_command sqe;

    prepare();
    while (input.at < input.end)
        one_choice(&input);
    rig.fail_status = 0;
    for (unsigned i = 0; i < RUNNING; i++) {
        while (running[i])
            step(i);
    }
    require(rig.queues[WITNESS_IO].controller != NULL, "the other host is connected");
    sqe = rig_io(NVME_IO_READ, 1, 0, 1);
    outcome = rig_run(&rig, WITNESS_IO, &sqe);
    require(outcome.action == TARGET_COMPLETE && outcome.completion.status == 0, "the other host goes on");
    require(memcmp(rig.host, rig.disks[0], 512) == 0, "the other host reads what is on the disk");
    for (unsigned i = 0; i < RIG_QUEUES; i++) {
        unsigned waiting = 0;

        for (unsigned j = 0; j < rig.n_waiting; j++)
            waiting += rig.waiting[j]->command.queue == &rig.queues[i];
        require(!rig.queues[i].controller || rig.queues[i].inflight == waiting,
                "commands that ended are not in flight");
    }
    rig_fini(&rig);
    return 0;
}
