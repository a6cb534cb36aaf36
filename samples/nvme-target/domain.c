/* SPDX-License-Identifier: MIT */
/*
 * Creates and closes protection domains: see domain.h. Creation and close wait, so a semaphore guards the list of
 * domains instead of a lock. Invariant: a domain in the list has at least one queue pair.
 */
#include "domain.h"

#include <string.h>

#include "target.h"
#include "wait.h"

/* ---- Receives ---------------------------------------------------------------------------------------------------- */

NDK_SGE domain_receive_sge(const struct target_receive *receive)
{
    return target_token_sge(receive->token, receive->capsule, TARGET_CAPSULE_SIZE);
}

void domain_post(struct target_domain *domain, struct target_receive *receive)
{
    NDK_SGE sge = domain_receive_sge(receive);
    NTSTATUS status;

    host_lock_acquire(&domain->srq_lock);
    status = domain->srq->Dispatch->NdkSrqReceive(domain->srq, receive, &sge, 1);
    host_lock_release(&domain->srq_lock);
    if (!NT_SUCCESS(status))
        log_limited(&domain->target->log, "a receive could not be posted, status 0x%08x: one message less",
                    (unsigned)status);
}

/* ---- Creation and close ------------------------------------------------------------------------------------------ */

static NTSTATUS domain_create_srq(struct target_domain *domain, struct target_wait *wait)
{
    uint32_t n = domain->target->settings.n_srq_receives;
    NTSTATUS status;

    status = domain->pd->Dispatch->NdkCreateSrq(domain->pd, n, 1, 0, NULL, NULL, NULL, target_on_created, wait,
                                                &domain->srq);
    status = target_wait_create(wait, status, &domain->srq);
    if (NT_SUCCESS(status))
        status = target_memory_create(&domain->srq_memory, domain->pd, n * (uint32_t)TARGET_CAPSULE_SIZE);
    domain->srq_receives = host_alloc(n * sizeof *domain->srq_receives);
    if (NT_SUCCESS(status) && !domain->srq_receives)
        status = STATUS_INSUFFICIENT_RESOURCES;
    for (uint32_t i = 0; i < n && NT_SUCCESS(status); i++) {
        domain->srq_receives[i].capsule = (uint8_t *)domain->srq_memory.pages.data + i * TARGET_CAPSULE_SIZE;
        domain->srq_receives[i].token = domain->srq_memory.token;
        domain_post(domain, &domain->srq_receives[i]);
    }
    return status;
}

/* Closes and frees the domain. A pointer is NULL if its object was not created. */
static void domain_delete(struct target_domain *domain)
{
    if (domain->srq)
        target_close(&domain->srq->Header, domain->srq->Dispatch->NdkCloseSrq);
    target_memory_delete(&domain->srq_memory);
    if (domain->pd)
        target_close(&domain->pd->Header, domain->pd->Dispatch->NdkClosePd);
    host_lock_fini(&domain->srq_lock);
    host_free(domain->srq_receives);
    host_free(domain);
}

static NTSTATUS domain_create(struct target *target, struct target_domain **out)
{
    struct target_domain *domain = host_alloc(sizeof *domain);
    struct target_wait wait;
    NTSTATUS status;

    if (!domain)
        return STATUS_INSUFFICIENT_RESOURCES;
    domain->target = target;
    host_lock_init(&domain->srq_lock);
    target_wait_init(&wait);
    status = target->adapter->Dispatch->NdkCreatePd(target->adapter, target_on_created, &wait, &domain->pd);
    status = target_wait_create(&wait, status, &domain->pd);
    if (NT_SUCCESS(status) && target->settings.has_srq)
        status = domain_create_srq(domain, &wait);
    target_wait_fini(&wait);
    if (NT_SUCCESS(status))
        *out = domain;
    else
        domain_delete(domain);
    return status;
}

/* ---- The domains of peer addresses ------------------------------------------------------------------------------- */

/* Writes the peer's family and address. In both kinds of address, the port is in the bytes 2 and 3. */
static NTSTATUS domain_read_key(NDK_CONNECTOR *connector, uint8_t *key)
{
    host_address address;
    ULONG len = sizeof address;
    NTSTATUS status;

    memset(&address, 0, sizeof address);
    status = connector->Dispatch->NdkGetPeerAddress(connector, (PSOCKADDR)&address, &len);
    memcpy(key, &address, DOMAIN_KEY_SIZE);
    memset(key + 2, 0, 2);
    return status;
}

/* Finds or creates the domain with the key, and reserves receives of its SRQ. Requires target->domains_busy. */
static NTSTATUS domain_find(struct target *target, const uint8_t *key, uint32_t n_receives,
                            struct target_domain **domain)
{
    NTSTATUS status;

    for (*domain = target->domains; *domain; *domain = (*domain)->next) {
        if (memcmp((*domain)->key, key, DOMAIN_KEY_SIZE) == 0)
            break;
    }
    if ((*domain ? (*domain)->n_promised : 0) + n_receives > target->settings.n_srq_receives) {
        *domain = NULL;
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    if (!*domain) {
        if (target->n_domains >= target->settings.max_controllers)
            return STATUS_INSUFFICIENT_RESOURCES;
        status = domain_create(target, domain);
        if (!NT_SUCCESS(status))
            return status;
        memcpy((*domain)->key, key, DOMAIN_KEY_SIZE);
        (*domain)->next = target->domains;
        target->domains = *domain;
        target->n_domains++;
    }
    (*domain)->n_promised += n_receives;
    (*domain)->references++;
    return STATUS_SUCCESS;
}

NTSTATUS domain_acquire(struct target *target, NDK_CONNECTOR *connector, uint32_t n_receives,
                        struct target_domain **domain)
{
    uint8_t key[DOMAIN_KEY_SIZE];
    NTSTATUS status;

    if (!target->settings.has_srq)
        return domain_create(target, domain);
    status = domain_read_key(connector, key);
    if (!NT_SUCCESS(status))
        return status;
    host_semaphore_wait(&target->domains_busy);
    status = domain_find(target, key, n_receives, domain);
    host_semaphore_post(&target->domains_busy);
    return status;
}

void domain_release(struct target_domain *domain, uint32_t n_receives)
{
    struct target *target = domain->target;
    struct target_domain **at = &target->domains;

    if (!target->settings.has_srq) {
        domain_delete(domain);
        return;
    }
    host_semaphore_wait(&target->domains_busy);
    domain->n_promised -= n_receives;
    if (--domain->references == 0) {
        while (*at != domain)
            at = &(*at)->next;
        *at = domain->next;
        target->n_domains--;
        domain_delete(domain);
    }
    host_semaphore_post(&target->domains_busy);
}
