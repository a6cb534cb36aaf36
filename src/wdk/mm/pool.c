/* SPDX-License-Identifier: MIT */
/* Pool: see pool.h. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wdm.h"

#include "wdk/common/check.h"
#include "wdk/common/inuse.h"
#include "wdk/ke/thread.h"
#include "wdk/mm/checked_pool.h"
#include "wdk/mm/pool.h"
#include "wdk/mm/pool_pages.h"
#include "wdk/mm/pool_tags.h"
#include "wdk/mm/readable.h"

enum {
    ALIGN = 16,
    CACHE_LINE = 64,
    MAGIC = 0x6c6f6f70,
    NO_TAG = 0x656e6f4e,     /* "None", as Windows shows it */
    TAG_KERNEL = 0x6b646e4f, /* "Ondk" */
    NOT_COUNTED = 0xffff,    /* in place of a tag's index */
    LIKELY_ACROSS = 1024,    /* from this size on a block would often lie across two pages */
    OWN_RUN = 0xfffe,        /* in place of a shift: it begins the second page of a run of pool_pages.h */
    OWN_PAGE = 0xffff        /* in place of a shift */
};

static const size_t SIZE_MOST = (size_t)1 << 39; /* what surrounds a block can be added without a second thought */

/* In front of a block that is not on record. */
struct header {
    uint32_t magic;  /* and the address: a copy of it elsewhere is not one */
    uint16_t index;  /* of the tag */
    uint16_t shift;  /* to the start of what malloc gave, in 16 octets; or one of OWN_... */
    uint64_t size;
};
_Static_assert(sizeof(struct header) == ALIGN, "blocks are aligned to 16");

static struct header *header_of(const void *block)
{
    return (struct header *)(uintptr_t)block - 1;
}

static uint32_t magic_of(const void *block)
{
    return MAGIC ^ (uint32_t)(uintptr_t)block;
}

static bool crosses_page(const char *at, size_t size)
{
    return ((uintptr_t)at & (PAGE_SIZE - 1)) + size > PAGE_SIZE;
}

static char *align_up(char *at, size_t align)
{
    return at + (-(uintptr_t)at & (align - 1));
}

static char *get(size_t octets, bool zero)
{
    return zero ? calloc(1, octets) : malloc(octets);
}

static inline void *put_header(char *block, size_t size, unsigned index, unsigned shift)
{
    *header_of(block) = (struct header){
        .magic = magic_of(block),
        .index = (uint16_t)index,
        .shift = (uint16_t)shift,
        .size = size,
    };
    if (index != NOT_COUNTED)
        pool_tag_count(index, 1, (int64_t)size);
    return block;
}

static void *place_in_page(size_t size, unsigned index, bool zero)
{
    char *page = pool_page_alloc();

    if (!page)
        return NULL;
    if (zero)
        memset(page + sizeof(struct header), 0, size);
    return put_header(page + sizeof(struct header), size, index, OWN_PAGE);
}

/* With its header's page. */
static size_t pages_of_run(size_t size)
{
    return 1 + size / PAGE_SIZE + (size % PAGE_SIZE != 0);
}

static void *place_in_run(size_t size, unsigned index, bool zero)
{
    char *run = pool_run_alloc(pages_of_run(size));

    if (!run)
        return NULL;
    if (zero)
        memset(run + PAGE_SIZE, 0, size);
    return put_header(run + PAGE_SIZE, size, index, OWN_RUN);
}

/* Aligned to more than malloc does; what is smaller than a page may then lie before the page's end, or behind it. */
static void *place_aligned(size_t size, size_t align, unsigned index, bool zero)
{
    size_t apart = size < PAGE_SIZE ? size : 0;
    char *raw = get(size + sizeof(struct header) + align + apart, zero && !apart), *block;

    if (!raw)
        return NULL;
    block = align_up(raw + sizeof(struct header), align);
    if (size < PAGE_SIZE && crosses_page(block, size))
        block = align_up(block, PAGE_SIZE);
    if (zero && apart)
        memset(block, 0, size);
    return put_header(block, size, index, (unsigned)((size_t)(block - raw) / ALIGN));
}

static __attribute__((noinline)) void *place_apart(size_t size, size_t align, unsigned index, bool zero)
{
    if (align == ALIGN && size >= LIKELY_ACROSS && size + sizeof(struct header) <= POOL_PAGE)
        return place_in_page(size, index, zero);
    if (align == PAGE_SIZE && pages_of_run(size) <= POOL_RUN_MOST)
        return place_in_run(size, index, zero);
    return place_aligned(size, align, index, zero);
}

static inline void *plain_allocate(size_t size, size_t align, unsigned index, bool zero)
{
    char *raw;

    if (align > ALIGN || size >= LIKELY_ACROSS)
        return place_apart(size, align, index, zero);
    raw = get(size + sizeof(struct header), zero);
    if (__builtin_expect(!raw, 0))
        return NULL;
    if (__builtin_expect(crosses_page(raw + sizeof(struct header), size), 0)) {
        free(raw);
        return place_apart(size, align, index, zero);
    }
    return put_header(raw + sizeof(struct header), size, index, sizeof(struct header) / ALIGN);
}

static inline void plain_free(void *block)
{
    struct header *h = header_of(block);

    if (h->index != NOT_COUNTED)
        pool_tag_count(h->index, -1, -(int64_t)h->size);
    h->magic = 0;
    if (__builtin_expect(h->shift == OWN_PAGE, 0))
        pool_page_free(h);
    else if (__builtin_expect(h->shift == OWN_RUN, 0))
        pool_run_free((char *)block - PAGE_SIZE, pages_of_run(h->size));
    else
        free((char *)block - (size_t)h->shift * ALIGN);
}

/* ---- Allocate ---------------------------------------------------------------------------------------------------- */

static void check_request(const char *routine, size_t size, uint32_t tag, bool paged)
{
    if (!check_on())
        return;
    if (paged && irql_now() > APC_LEVEL)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), PagedPool, size, tag,
                     "paged pool of %zu octets at IRQL %d", size, irql_now());
    else
        irql_check_max(routine, DISPATCH_LEVEL);
    if (!size)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), paged, 0, tag, "a block of 0 octets");
    if (!tag)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), paged, size, 0, "a tag of 0");
}

static size_t align_of(size_t size, bool cache_aligned)
{
    return size >= PAGE_SIZE ? PAGE_SIZE : cache_aligned ? CACHE_LINE : ALIGN;
}

static __attribute__((noinline)) void *recorded_allocate(const char *routine, size_t size, uint32_t tag, bool paged,
                                                         bool cache_aligned, bool zero)
{
    struct pool_wish wish = {
        .size = size,
        .align = align_of(size, cache_aligned),
        .tag = tag,
        .tag_index = pool_tag_index(tag),
        .counted = true,
        .paged = paged,
        .zero = zero,
    };

    check_request(routine, size, tag, paged);
    return size > SIZE_MOST ? NULL : checked_pool_alloc(&wish);
}

static inline void *allocate(const char *routine, size_t size, uint32_t tag, bool paged, bool cache_aligned, bool zero)
{
    if (__builtin_expect(checked_pool_wanted(), 0))
        return recorded_allocate(routine, size, tag, paged, cache_aligned, zero);
    return size > SIZE_MOST ? NULL : plain_allocate(size, align_of(size, cache_aligned), pool_tag_index(tag), zero);
}

static inline void *allocate_typed(const char *routine, ULONG type, size_t size, uint32_t tag, bool raise)
{
    void *block = allocate(routine, size, tag, type & 1, type & 4, type & POOL_ZERO_ALLOCATION);

    if (!block && raise)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return block;
}

PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return allocate_typed(__func__, PoolType, NumberOfBytes, NO_TAG, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return allocate_typed(__func__, PoolType, NumberOfBytes, Tag, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag, EX_POOL_PRIORITY Priority)
{
    (void)Priority;
    return allocate_typed(__func__, PoolType, NumberOfBytes, Tag, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithQuota(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return allocate_typed(__func__, PoolType, NumberOfBytes, NO_TAG, !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE));
}

PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return allocate_typed(__func__, PoolType, NumberOfBytes, Tag, !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE));
}

/* One pool, and nothing required that is not known. */
static bool flags_make_sense(POOL_FLAGS flags)
{
    const POOL_FLAGS pools = POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED;
    const POOL_FLAGS known = pools | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED | POOL_FLAG_SESSION |
                             POOL_FLAG_CACHE_ALIGNED | POOL_FLAG_RAISE_ON_FAILURE;
    POOL_FLAGS pool = flags & pools;

    return pool && !(pool & (pool - 1)) && !(flags & ~known & MAXULONG);
}

static PVOID allocate_flagged(const char *routine, POOL_FLAGS flags, size_t size, ULONG tag, bool fit)
{
    void *block = NULL;

    if (!flags_make_sense(flags) || !fit) {
        if (check_on())
            check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), flags, size, tag,
                         "flags 0x%llX or extended parameters are none that the routine knows",
                         (unsigned long long)flags);
    } else if (!tag) {
        check_request(routine, size, tag, flags & POOL_FLAG_PAGED);
    } else {
        block = allocate(routine, size, tag, flags & POOL_FLAG_PAGED, flags & POOL_FLAG_CACHE_ALIGNED,
                         !(flags & POOL_FLAG_UNINITIALIZED));
    }
    if (!block && flags & POOL_FLAG_RAISE_ON_FAILURE)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return block;
}

PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
    return allocate_flagged(__func__, Flags, NumberOfBytes, Tag, true);
}

/* Memory here is of one node and one priority. Secure pool there is none. */
static bool parameters_fit(POOL_FLAGS flags, PCPOOL_EXTENDED_PARAMETER p, ULONG count)
{
    for (ULONG i = 0; i < count; i++) {
        bool node = p[i].Type == PoolExtendedParameterNumaNode && !(flags & POOL_FLAG_PAGED) &&
                    (p[i].PreferredNode & ~MM_ANY_NODE_OK) == 0;

        if (!p[i].Optional && p[i].Type != PoolExtendedParameterPriority && !node)
            return false;
    }
    return p || !count;
}

PVOID ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                      ULONG ExtendedParametersCount)
{
    bool fit = (ExtendedParameters || !ExtendedParametersCount) &&
               parameters_fit(Flags, ExtendedParameters, ExtendedParametersCount);

    return allocate_flagged(__func__, Flags, NumberOfBytes, Tag, fit);
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

/*
 * A block from the time when checks were off has its header. The memory in front may be anything: ask before reading.
 */
static bool has_header(const void *block)
{
    return !((uintptr_t)block & (ALIGN - 1)) && !checked_pool_sanitized() && readable(header_of(block)) &&
           header_of(block)->magic == magic_of(block);
}

static void checked_free(const char *routine, void *block, ULONG tag)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    if (checked_pool_free(routine, block, tag))
        return;
    if (!check_on() || has_header(block))
        plain_free(block);
    else
        checked_pool_report_unknown(routine, block);
}

static inline void give_back(const char *routine, void *block, ULONG tag)
{
    if (__builtin_expect(check_on() || atomic_load_explicit(&checked_pool_used, memory_order_relaxed), 0))
        checked_free(routine, block, tag);
    else
        plain_free(block);
}

VOID ExFreePool(PVOID P)
{
    give_back(__func__, P, 0);
}

VOID ExFreePoolWithTag(PVOID P, ULONG Tag)
{
    give_back(__func__, P, Tag);
}

VOID ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters, ULONG ExtendedParametersCount)
{
    (void)ExtendedParameters;
    (void)ExtendedParametersCount;
    give_back(__func__, P, Tag);
}

/* ---- For the kernel itself --------------------------------------------------------------------------------------- */

void *pool_alloc(size_t size)
{
    struct pool_wish wish = { .size = size, .align = align_of(size, false), .tag = TAG_KERNEL, .zero = true };

    return checked_pool_wanted() ? checked_pool_alloc(&wish) : plain_allocate(size, wish.align, NOT_COUNTED, true);
}

void pool_free(const char *routine, void *object)
{
    give_back(routine, object, 0);
}

void *pool_alloc_pages(size_t size, uint32_t tag)
{
    struct pool_wish wish = { .size = size, .align = PAGE_SIZE, .tag = tag, .tag_index = pool_tag_index(tag),
                              .counted = true };

    if (size > SIZE_MOST)
        return NULL;
    return checked_pool_wanted() ? checked_pool_alloc(&wish)
                                 : plain_allocate(size, PAGE_SIZE, wish.tag_index, false);
}

uint64_t pool_outstanding(void)
{
    struct pool_tag_sum sums[POOL_TAGS_MOST];
    unsigned n = pool_tag_sums(sums);
    int64_t blocks = 0;

    for (unsigned i = 0; i < n; i++)
        blocks += sums[i].blocks;
    return (uint64_t)blocks;
}

uint32_t pool_report(FILE *out)
{
    struct pool_tag_sum sums[POOL_TAGS_MOST];
    unsigned n = pool_tag_sums(sums);
    int64_t blocks = 0;
    char text[5];

    for (unsigned i = 0; i < n; i++) {
        if (sums[i].blocks)
            fprintf(out, "left: pool, tag %s: %lld blocks, %lld octets\n", pool_tag_text(sums[i].tag, text),
                    (long long)sums[i].blocks, (long long)sums[i].octets);
        blocks += sums[i].blocks;
    }
    checked_pool_report(out);
    return (uint32_t)blocks;
}

uint32_t pool_report_of(FILE *out, const void *start, uint64_t size)
{
    return checked_pool_report_of(out, start, size);
}

bool pool_is_paged(const void *address)
{
    struct pool_block found;

    return check_on() && checked_pool_find(address, &found) && found.paged;
}
