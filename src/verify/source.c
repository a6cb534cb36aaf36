/* SPDX-License-Identifier: MIT */
/*
 * Computes checksums of the data of posted requests: see source.h. The kernel copies the data first, so that memory
 * which the consumer has unmapped by mistake does not crash the process.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "verify/region.h"
#include "verify/setting.h"
#include "verify/source.h"

enum {
    MIN_BYTES = 9,         /* shorter data is not checked: a counter of 8 bytes may change legally during its send */
    MAX_BYTES = 256 << 10, /* the checksum covers at most this many bytes of a request; the rest is not checked */
    CHUNK = 4096,
};

static atomic_bool has_unknown_writers;
static atomic_uint writers_ended; /* number of ended registrations whose memory a peer or request could change */

void source_set_unknown_writers(void)
{
    if (!atomic_load_explicit(&has_unknown_writers, memory_order_relaxed))
        atomic_store(&has_unknown_writers, true);
}

/* ---- sums ---- */

static uint64_t source_add_bytes(uint64_t sum, const unsigned char *data, size_t size)
{
    uint64_t word;

    for (size_t i = 0; i < size; i += sizeof word) {
        size_t n = size - i < sizeof word ? size - i : sizeof word;

        word = 0;
        memcpy(&word, data + i, n);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 32;
    }
    return sum;
}

/* Adds the bytes of the memory to the checksum. Returns false if the memory cannot be read. */
static bool source_add_memory(uint64_t *sum, const char *start, size_t size)
{
    unsigned char copy[CHUNK];

    for (size_t at = 0; at < size; at += CHUNK) {
        size_t n = size - at < CHUNK ? size - at : CHUNK;
        struct iovec local = { copy, n }, remote = { (void *)(uintptr_t)(start + at), n };

        if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)n)
            return false;
        *sum = source_add_bytes(*sum, copy, n);
    }
    return true;
}

static bool source_sum(const NDK_SGE *sgl, ULONG sges, uint64_t *sum)
{
    size_t room = MAX_BYTES, n;

    *sum = 0;
    for (ULONG i = 0; i < sges && room > 0; i++, room -= n) {
        n = sgl[i].Length < room ? sgl[i].Length : room;
        if (!source_add_memory(sum, sgl[i].VirtualAddress, n))
            return false;
    }
    return true;
}

void source_set(struct source *source, const NDK_SGE *sgl, ULONG sges)
{
    uint64_t length = 0;

    source->has_sum = false;
    if (!verify_on() || !verify_is_full() || !sgl || sges > SOURCE_MAX_SGES || atomic_load(&has_unknown_writers))
        return;
    for (ULONG i = 0; i < sges; i++)
        length += sgl[i].Length;
    source->ended = atomic_load(&writers_ended);
    source->has_sum = length >= MIN_BYTES && source_sum(sgl, sges, &source->sum);
}

bool source_has_changed(const struct source *source, const NDK_SGE *sgl, ULONG sges)
{
    uint64_t now;

    return source->has_sum && source_sum(sgl, sges, &now) && now != source->sum;
}

/* ---- other writers ---- */

void source_add_sink(struct region *region, const NDK_SGE *sge)
{
    uintptr_t start = (uintptr_t)sge->VirtualAddress, end = start + sge->Length;

    if (end > atomic_load_explicit(&region->sinks_end, memory_order_relaxed))
        atomic_store(&region->sinks_end, end);
    if (~start > atomic_load_explicit(&region->sinks_inverted_start, memory_order_relaxed))
        atomic_store(&region->sinks_inverted_start, ~start);
}

void source_set_remote_write(struct region *region)
{
    atomic_store(&region->has_remote_write, true);
}

void source_end_region(struct region *region)
{
    if (!atomic_load(&region->has_remote_write) && !atomic_load(&region->sinks_end))
        return;
    atomic_fetch_add(&writers_ended, 1);
    atomic_store(&region->has_remote_write, false);
    atomic_store(&region->sinks_end, 0);
    atomic_store(&region->sinks_inverted_start, 0);
}

static bool region_is_written(const struct region *r, uintptr_t start, uintptr_t end)
{
    if (atomic_load(&r->has_remote_write))
        return true;
    return start < atomic_load(&r->sinks_end) && end > ~atomic_load(&r->sinks_inverted_start);
}

/*
 * Returns true if a region contains the SGE, and neither a peer nor a request can write to the SGE's memory. Requires
 * the proxies' lock.
 */
static bool sge_is_consumers(const NDK_SGE *sge)
{
    uintptr_t start = (uintptr_t)sge->VirtualAddress, end = start + sge->Length;
    struct proxy *p = NULL;
    bool is_inside = false;

    while ((p = proxy_next_watched(p))) {
        uintptr_t first = (uintptr_t)p->memory.start, last = first + p->memory.size;

        if (p->type != NdkObjectTypeMr || p->memory.size == 0 || last <= start || first >= end)
            continue;
        if (region_is_written((struct region *)p, start, end))
            return false;
        is_inside = is_inside || (first <= start && end <= last);
    }
    return is_inside;
}

bool source_is_consumers(const struct source *source, const NDK_SGE *sgl, ULONG sges)
{
    bool is_consumers = true;

    proxy_lock_all();
    for (ULONG i = 0; i < sges && is_consumers; i++)
        is_consumers = sgl[i].Length == 0 || sge_is_consumers(&sgl[i]);
    proxy_unlock_all();
    return is_consumers && source->ended == atomic_load(&writers_ended) && !atomic_load(&has_unknown_writers);
}
