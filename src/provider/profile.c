/* SPDX-License-Identifier: MIT */
/*
 * Implements profiles. A profile is a named set of limits that imitates a kind of card. The invariant: docs/profiles.md
 * is printed from the table in this file, so the table and the document agree.
 */
#include <openndk/config.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ndk/nt.h"
#include "provider/config.h"
#include "provider/profile.h"

enum { ALL = -1 }; /* the profile sets no limit; only the provider's own limit applies */

/* clang-format off */
static const struct profile {
    const char *name, *text;
    int64_t values[N_PROFILE_LIMITS];
} profiles[] = {
    {"default", "The provider's own limits.",
     {252, 64, 64, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, 1, 1, 1}},
    {"narrow", "A narrow card of the first generation: three SGEs, one for a read, no windows, no shared receive "
               "queues, completion queues that keep their size.",
     {56, 16, 16, 3, 3, 1, 0, 1024, 1024, 4096, 0, 128, 0, 1 << 20, 1 << 30, 0, 0, 0}},
    {"no-windows", "A common 40 Gbit/s card as its driver reports it: deep queues, 511 pages, 16 inbound reads, 56 "
                   "bytes of private data, no memory windows.",
     {56, 16, 128, 32, 32, 32, ALL, 16351, 16351, 4194303, 16351, 511, 0, ALL, 1 << 30, 1, 1, 0}},
    {"shallow", "Every capability with small limits: queues that fill up quickly, two reads in flight.",
     {252, 2, 2, ALL, ALL, ALL, ALL, 32, 32, 64, 32, 16, ALL, ALL, ALL, 1, 1, 1}},
    {"minimal", "The least that a card may offer: every optional capability absent, one SGE, one read, no private "
                "data.",
     {0, 1, 1, 1, 1, 1, 0, 16, 16, 32, 0, 0, 0, 1 << 16, 1 << 20, 0, 0, 0}},
};
/* clang-format on */
enum { N_PROFILES = sizeof(profiles) / sizeof(profiles[0]) };

/* clang-format off */
static const struct {
    const char *name;
    size_t offset;
} profile_limits[N_PROFILE_LIMITS] = {
#define LIMIT(field) {#field, offsetof(ondk_config_t, field)}
    LIMIT(max_private),       LIMIT(max_inbound_reads),    LIMIT(max_outbound_reads), LIMIT(max_initiator_sge),
    LIMIT(max_receive_sge),   LIMIT(max_read_sge),         LIMIT(max_inline),         LIMIT(max_initiator_depth),
    LIMIT(max_receive_depth), LIMIT(max_cq_depth),         LIMIT(max_srq_depth),      LIMIT(fast_register_pages),
    LIMIT(max_window_kib),    LIMIT(max_registration_kib), LIMIT(max_transfer),       LIMIT(cq_resize),
    LIMIT(cq_moderation),     LIMIT(read_local_invalidate),
#undef LIMIT
};
/* clang-format on */

int32_t ondk_config_profile(ondk_config_t *config, const char *name)
{
    if (!config_size_is_valid(config))
        return STATUS_INVALID_PARAMETER;
    for (const struct profile *p = profiles; p < profiles + N_PROFILES; p++) {
        if (strcmp(p->name, name) != 0)
            continue;
        for (int i = 0; i < N_PROFILE_LIMITS; i++) {
            if (profile_limits[i].offset + sizeof(uint32_t) <= config->size)
                *(uint32_t *)((char *)config + profile_limits[i].offset) = (uint32_t)p->values[i];
        }
        return STATUS_SUCCESS;
    }
    return STATUS_INVALID_PARAMETER;
}

const char *ondk_profile_name(uint32_t index)
{
    return index < N_PROFILES ? profiles[index].name : NULL;
}

const char *ondk_profile_text(uint32_t index)
{
    return index < N_PROFILES ? profiles[index].text : NULL;
}

void profile_print_tables(FILE *out)
{
    fprintf(out, "| profile | |\n|---|---|\n");
    for (int p = 0; p < N_PROFILES; p++)
        fprintf(out, "| `%s` | %s |\n", profiles[p].name, profiles[p].text);
    fprintf(out, "\n| limit |");
    for (int p = 0; p < N_PROFILES; p++)
        fprintf(out, " %s |", profiles[p].name);
    fprintf(out, "\n|---|");
    for (int p = 0; p < N_PROFILES; p++)
        fprintf(out, "---|");
    fprintf(out, "\n");
    for (int i = 0; i < N_PROFILE_LIMITS; i++) {
        fprintf(out, "| %s |", profile_limits[i].name);
        for (int p = 0; p < N_PROFILES; p++) {
            if (profiles[p].values[i] == ALL)
                fprintf(out, " all |");
            else
                fprintf(out, " %lld |", (long long)profiles[p].values[i]);
        }
        fprintf(out, "\n");
    }
}
