/* SPDX-License-Identifier: MIT */
/*
 * Allocates the memory of a queue pair: slots, receives, buffers, and the registered memory of messages. Everything is
 * allocated when the queue pair opens, so commands allocate no memory, and a host cannot make the target allocate more.
 *
 * The memory of messages contains a response and a small buffer for each slot. Without a shared receive queue, the
 * capsules follow. Each larger buffer has its own memory region, so that it can be registered for one command.
 */
#include "queue.h"

uint32_t pair_initiator_depth(const struct target_pair *pair)
{
    return pair->n_slots * TARGET_SLOT_REQUESTS;
}

uint32_t pair_cq_depth(const struct target_pair *pair)
{
    return pair_initiator_depth(pair) +
           (pair->target->settings.has_srq ? pair->target->settings.n_srq_receives : pair->n_receives);
}

/* The sizes of a response and of a slot's part in the messages' memory. Both are whole cache lines. */
enum { RESPONSE_SIZE = 64, SLOT_SIZE = RESPONSE_SIZE + TARGET_SMALL_TRANSFER };

static void pair_init_messages(struct target_pair *pair)
{
    uint8_t *at = pair->messages.pages.data;

    for (uint32_t i = 0; i < pair->n_slots; i++, at += SLOT_SIZE) {
        struct pair_slot *slot = &pair->slots[i];

        slot->pair = pair;
        slot->response = (struct nvme_completion *)at;
        slot->small = at + RESPONSE_SIZE;
        pair_slots_push(&pair->free_slots, slot);
    }
    for (uint32_t i = 0; pair->receives && i < pair->n_receives; i++, at += TARGET_CAPSULE_SIZE) {
        pair->receives[i].capsule = at;
        pair->receives[i].token = pair->messages.token;
    }
}

static NTSTATUS pair_init_buffers(struct target_pair *pair)
{
    struct target *target = pair->target;
    NTSTATUS status = STATUS_SUCCESS;

    for (uint32_t i = 0; i < pair->n_buffers && NT_SUCCESS(status); i++) {
        struct pair_buffer *buffer = &pair->buffers[i];

        if (target->settings.has_fast_registration)
            status = target_memory_create_fast(&buffer->memory, target->adapter, pair->domain->pd, TARGET_MAX_TRANSFER);
        else
            status = target_memory_create(&buffer->memory, pair->domain->pd, TARGET_MAX_TRANSFER);
        buffer->next = pair->free_buffers;
        pair->free_buffers = buffer;
    }
    return status;
}

NTSTATUS pair_memory_init(struct target_pair *pair)
{
    struct target *target = pair->target;
    uint32_t most = target->info.MaxInitiatorQueueDepth / TARGET_SLOT_REQUESTS, size;
    bool has_srq = target->settings.has_srq;
    NTSTATUS status;

    pair->received.end = &pair->received.first;
    pair->free_slots.end = &pair->free_slots.first;
    pair->needs_buffer.end = &pair->needs_buffer.first;
    pair->needs_read.end = &pair->needs_read.first;
    pair->n_slots = pair->n_receives < most ? pair->n_receives : most;
    pair->n_buffers = pair->queue.qid ? target->settings.max_buffers : 2;
    if (pair->n_buffers > pair->n_slots)
        pair->n_buffers = pair->n_slots;
    pair->slots = host_alloc(pair->n_slots * sizeof *pair->slots);
    pair->buffers = host_alloc(pair->n_buffers * sizeof *pair->buffers);
    if (!has_srq)
        pair->receives = host_alloc(pair->n_receives * sizeof *pair->receives);
    if (!pair->slots || !pair->buffers || (!has_srq && !pair->receives))
        return STATUS_INSUFFICIENT_RESOURCES;
    size = pair->n_slots * SLOT_SIZE + (has_srq ? 0 : pair->n_receives * (uint32_t)TARGET_CAPSULE_SIZE);
    status = target_memory_create(&pair->messages, pair->domain->pd, size);
    if (!NT_SUCCESS(status))
        return status;
    pair_init_messages(pair);
    return pair_init_buffers(pair);
}

void pair_memory_fini(struct target_pair *pair)
{
    bool has_srq = pair->domain && pair->domain->srq;
    struct target_receive *receive;

    for (uint32_t i = 0; has_srq && pair->slots && i < pair->n_slots; i++) {
        if (pair->slots[i].receive)
            domain_post(pair->domain, pair->slots[i].receive);
    }
    for (receive = pair_received_pop(&pair->received); has_srq && receive; receive = pair_received_pop(&pair->received))
        domain_post(pair->domain, receive);
    for (uint32_t i = 0; pair->buffers && i < pair->n_buffers; i++)
        target_memory_delete(&pair->buffers[i].memory);
    target_memory_delete(&pair->messages);
    host_free(pair->buffers);
    host_free(pair->receives);
    host_free(pair->slots);
}
