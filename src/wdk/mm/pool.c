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
    NO_TAG = 0x656e6f4e,     /* "None", as Windows prints it */
    TAG_KERNEL = 0x6b646e4f, /* "Ondk" */
    NOT_COUNTED = 0xffff,    /* `index` of a block that no tag's statistics count */
    MIN_PAGE_BLOCK = 1024,   /* smallest block with its own page; malloc often places such a block across two pages */
    OWN_RUN = 0xfffe,        /* `shift` of a block that begins at the second page of a run (pool_pages.h) */
    OWN_PAGE = 0xffff        /* `shift` of a block in a single page (pool_pages.h), behind the header */
};

static const size_t MAX_SIZE = (size_t)1 << 39; /* small enough that adding a header and guards cannot overflow */

/* The header in front of a block that checked_pool.h does not record. */
struct header {
    uint32_t magic; /* MAGIC ^ the block's address, so that a header that was copied elsewhere is not valid */
    uint16_t index; /* the index of the block's tag, or NOT_COUNTED */
    uint16_t shift; /* distance from malloc's pointer to the block, in units of 16 bytes; or OWN_RUN or OWN_PAGE */
    uint64_t size;
};
_Static_assert(sizeof(struct header) == ALIGN, "blocks are aligned to 16");

static struct header *pool_header(const void *block)
{
    return (struct header *)(uintptr_t)block - 1;
}

static uint32_t pool_magic(const void *block)
{
    return MAGIC ^ (uint32_t)(uintptr_t)block;
}

static bool pool_crosses_page(const char *at, size_t size)
{
    return ((uintptr_t)at & (PAGE_SIZE - 1)) + size > PAGE_SIZE;
}

static char *pool_align_up(char *at, size_t align)
{
    return at + (-(uintptr_t)at & (align - 1));
}

static char *pool_malloc(size_t bytes, bool zero)
{
    return zero ? calloc(1, bytes) : malloc(bytes);
}

static inline void *pool_write_header(char *block, size_t size, unsigned index, unsigned shift)
{
    *pool_header(block) = (struct header){
        .magic = pool_magic(block),
        .index = (uint16_t)index,
        .shift = (uint16_t)shift,
        .size = size,
    };
    if (index != NOT_COUNTED)
        pool_tag_count(index, 1, (int64_t)size);
    return block;
}

static void *pool_alloc_in_page(size_t size, unsigned index, bool zero)
{
    char *page = pool_page_alloc();

    if (!page)
        return NULL;
    if (zero)
        memset(page + sizeof(struct header), 0, size);
    return pool_write_header(page + sizeof(struct header), size, index, OWN_PAGE);
}

/*
 * Returns the number of pages of a run for a block of `size` bytes: one page for the header, and the pages of the
 * block.
 */
static size_t pool_run_pages(size_t size)
{
    return 1 + size / PAGE_SIZE + (size % PAGE_SIZE != 0);
}

static void *pool_alloc_in_run(size_t size, unsigned index, bool zero)
{
    char *run = pool_run_alloc(pool_run_pages(size));

    if (!run)
        return NULL;
    if (zero)
        memset(run + PAGE_SIZE, 0, size);
    return pool_write_header(run + PAGE_SIZE, size, index, OWN_RUN);
}

/*
 * Allocates a block from malloc, for an alignment that malloc does not guarantee. The block begins at a multiple of
 * `align`. A block smaller than a page must not cross a page boundary. If it would, it begins at the boundary, and
 * needs `slack` additional bytes.
 */
static void *pool_alloc_aligned(size_t size, size_t align, unsigned index, bool zero)
{
    size_t slack = size < PAGE_SIZE ? size : 0;
    char *raw = pool_malloc(size + sizeof(struct header) + align + slack, zero && !slack), *block;

    if (!raw)
        return NULL;
    block = pool_align_up(raw + sizeof(struct header), align);
    if (size < PAGE_SIZE && pool_crosses_page(block, size))
        block = pool_align_up(block, PAGE_SIZE);
    if (zero && slack)
        memset(block, 0, size);
    return pool_write_header(block, size, index, (unsigned)((size_t)(block - raw) / ALIGN));
}

static __attribute__((noinline)) void *pool_alloc_slow(size_t size, size_t align, unsigned index, bool zero)
{
    if (align == ALIGN && size >= MIN_PAGE_BLOCK && size + sizeof(struct header) <= POOL_PAGE)
        return pool_alloc_in_page(size, index, zero);
    if (align == PAGE_SIZE && pool_run_pages(size) <= MAX_POOL_RUN_PAGES)
        return pool_alloc_in_run(size, index, zero);
    return pool_alloc_aligned(size, align, index, zero);
}

static inline void *pool_alloc_plain(size_t size, size_t align, unsigned index, bool zero)
{
    char *raw;

    if (align > ALIGN || size >= MIN_PAGE_BLOCK)
        return pool_alloc_slow(size, align, index, zero);
    raw = pool_malloc(size + sizeof(struct header), zero);
    if (__builtin_expect(!raw, 0))
        return NULL;
    if (__builtin_expect(pool_crosses_page(raw + sizeof(struct header), size), 0)) {
        free(raw);
        return pool_alloc_slow(size, align, index, zero);
    }
    return pool_write_header(raw + sizeof(struct header), size, index, sizeof(struct header) / ALIGN);
}

static inline void pool_free_plain(void *block)
{
    struct header *h = pool_header(block);

    if (h->index != NOT_COUNTED)
        pool_tag_count(h->index, -1, -(int64_t)h->size);
    h->magic = 0;
    if (__builtin_expect(h->shift == OWN_PAGE, 0))
        pool_page_free(h);
    else if (__builtin_expect(h->shift == OWN_RUN, 0))
        pool_run_free((char *)block - PAGE_SIZE, pool_run_pages(h->size));
    else
        free((char *)block - (size_t)h->shift * ALIGN);
}

/* ---- Allocate ---------------------------------------------------------------------------------------------------- */

static void pool_check_request(const char *routine, size_t size, uint32_t tag, bool paged)
{
    if (!check_on())
        return;
    if (paged && irql_now() > APC_LEVEL)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), PagedPool, size, tag,
                     "paged pool of %zu bytes at IRQL %d", size, irql_now());
    else
        irql_check_max(routine, DISPATCH_LEVEL);
    if (!size)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), paged, 0, tag, "a block of 0 bytes");
    if (!tag)
        check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), paged, size, 0, "a tag of 0");
}

static size_t pool_alignment(size_t size, bool cache_aligned)
{
    return size >= PAGE_SIZE ? PAGE_SIZE : cache_aligned ? CACHE_LINE : ALIGN;
}

static __attribute__((noinline)) void *pool_alloc_checked(const char *routine, size_t size, uint32_t tag, bool paged,
                                                          bool cache_aligned, bool zero)
{
    struct pool_request request = {
        .size = size,
        .align = pool_alignment(size, cache_aligned),
        .tag = tag,
        .tag_index = pool_tag_index(tag),
        .counted = true,
        .paged = paged,
        .zero = zero,
    };

    pool_check_request(routine, size, tag, paged);
    return size > MAX_SIZE ? NULL : checked_pool_alloc(&request);
}

static inline void *pool_alloc_tagged(const char *routine, size_t size, uint32_t tag, bool paged, bool cache_aligned,
                                      bool zero)
{
    if (__builtin_expect(checked_pool_is_on(), 0))
        return pool_alloc_checked(routine, size, tag, paged, cache_aligned, zero);
    if (size > MAX_SIZE)
        return NULL;
    return pool_alloc_plain(size, pool_alignment(size, cache_aligned), pool_tag_index(tag), zero);
}

static inline void *pool_alloc_typed(const char *routine, ULONG type, size_t size, uint32_t tag, bool raise)
{
    void *block = pool_alloc_tagged(routine, size, tag, type & 1, type & 4, type & POOL_ZERO_ALLOCATION);

    if (!block && raise)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return block;
}

PVOID ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return pool_alloc_typed(__func__, PoolType, NumberOfBytes, NO_TAG, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return pool_alloc_typed(__func__, PoolType, NumberOfBytes, Tag, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag, EX_POOL_PRIORITY Priority)
{
    (void)Priority;
    return pool_alloc_typed(__func__, PoolType, NumberOfBytes, Tag, PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE);
}

PVOID ExAllocatePoolWithQuota(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return pool_alloc_typed(__func__, PoolType, NumberOfBytes, NO_TAG, !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE));
}

PVOID ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return pool_alloc_typed(__func__, PoolType, NumberOfBytes, Tag, !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE));
}

/*
 * Returns true if the flags name exactly one pool, and the routine supports all flags in the lower 32 bits. As on
 * Windows, flags in the upper 32 bits are optional: unknown flags are ignored.
 */
static bool pool_flags_are_valid(POOL_FLAGS flags)
{
    const POOL_FLAGS pools = POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED;
    const POOL_FLAGS known = pools | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED | POOL_FLAG_SESSION |
                             POOL_FLAG_CACHE_ALIGNED | POOL_FLAG_RAISE_ON_FAILURE;
    POOL_FLAGS pool = flags & pools;

    return pool && !(pool & (pool - 1)) && !(flags & ~known & MAXULONG);
}

static PVOID pool_alloc_flagged(const char *routine, POOL_FLAGS flags, size_t size, ULONG tag, bool valid_parameters)
{
    void *block = NULL;

    if (!pool_flags_are_valid(flags) || !valid_parameters) {
        if (check_on())
            check_failed(CHECK_POOL_BAD_REQUEST, routine, irql_now(), flags, size, tag,
                         "flags 0x%llX or extended parameters are none that the routine knows",
                         (unsigned long long)flags);
    } else if (!tag) {
        pool_check_request(routine, size, tag, flags & POOL_FLAG_PAGED);
    } else {
        block = pool_alloc_tagged(routine, size, tag, flags & POOL_FLAG_PAGED, flags & POOL_FLAG_CACHE_ALIGNED,
                                  !(flags & POOL_FLAG_UNINITIALIZED));
    }
    if (!block && flags & POOL_FLAG_RAISE_ON_FAILURE)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return block;
}

PVOID ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
    return pool_alloc_flagged(__func__, Flags, NumberOfBytes, Tag, true);
}

/*
 * Returns true if each parameter is optional, a priority, or a node for nonpaged pool. No parameter has an effect. A
 * secure pool is refused if it is required, because no routine of this kernel creates one.
 */
static bool pool_parameters_are_valid(POOL_FLAGS flags, PCPOOL_EXTENDED_PARAMETER p, ULONG count)
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
    bool valid_parameters = (ExtendedParameters || !ExtendedParametersCount) &&
                            pool_parameters_are_valid(Flags, ExtendedParameters, ExtendedParametersCount);

    return pool_alloc_flagged(__func__, Flags, NumberOfBytes, Tag, valid_parameters);
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

/*
 * Returns true if the block was allocated while checks were off, and so has a header. The driver may free any address,
 * so the memory in front of the address is perhaps not readable.
 */
static bool pool_has_header(const void *block)
{
    return !((uintptr_t)block & (ALIGN - 1)) && !checked_pool_under_asan && address_is_readable(pool_header(block)) &&
           pool_header(block)->magic == pool_magic(block);
}

static void pool_free_checked(const char *routine, void *block, ULONG tag)
{
    irql_check_max(routine, DISPATCH_LEVEL);
    if (checked_pool_free(routine, block, tag))
        return;
    if (!check_on() || pool_has_header(block))
        pool_free_plain(block);
    else
        checked_pool_report_unknown(routine, block);
}

static inline void pool_free_tagged(const char *routine, void *block, ULONG tag)
{
    if (__builtin_expect(check_on() || atomic_load_explicit(&checked_pool_used, memory_order_relaxed), 0))
        pool_free_checked(routine, block, tag);
    else
        pool_free_plain(block);
}

VOID ExFreePool(PVOID P)
{
    pool_free_tagged(__func__, P, 0);
}

VOID ExFreePoolWithTag(PVOID P, ULONG Tag)
{
    pool_free_tagged(__func__, P, Tag);
}

VOID ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters, ULONG ExtendedParametersCount)
{
    (void)ExtendedParameters;
    (void)ExtendedParametersCount;
    pool_free_tagged(__func__, P, Tag);
}

/* ---- For the kernel itself --------------------------------------------------------------------------------------- */

void *pool_alloc(size_t size)
{
    struct pool_request request = {
        .size = size, .align = pool_alignment(size, false), .tag = TAG_KERNEL, .zero = true
    };

    return checked_pool_is_on() ? checked_pool_alloc(&request)
                                : pool_alloc_plain(size, request.align, NOT_COUNTED, true);
}

void pool_free(const char *routine, void *object)
{
    pool_free_tagged(routine, object, 0);
}

void *pool_alloc_pages(size_t size, uint32_t tag)
{
    struct pool_request request = {
        .size = size, .align = PAGE_SIZE, .tag = tag, .tag_index = pool_tag_index(tag), .counted = true
    };

    if (size > MAX_SIZE)
        return NULL;
    return checked_pool_is_on() ? checked_pool_alloc(&request)
                                : pool_alloc_plain(size, PAGE_SIZE, request.tag_index, false);
}

uint64_t pool_block_count(void)
{
    struct pool_tag_sum sums[MAX_POOL_TAGS];
    unsigned n = pool_tag_sums(sums);
    int64_t blocks = 0;

    for (unsigned i = 0; i < n; i++)
        blocks += sums[i].blocks;
    return (uint64_t)blocks;
}

uint32_t pool_report(FILE *out)
{
    struct pool_tag_sum sums[MAX_POOL_TAGS];
    unsigned n = pool_tag_sums(sums);
    int64_t blocks = 0;
    char text[5];

    for (unsigned i = 0; i < n; i++) {
        if (sums[i].blocks)
            fprintf(out, "left: pool, tag %s: %lld blocks, %lld bytes\n", pool_tag_text(sums[i].tag, text),
                    (long long)sums[i].blocks, (long long)sums[i].bytes);
        blocks += sums[i].blocks;
    }
    checked_pool_report(out);
    return (uint32_t)blocks;
}

uint32_t pool_report_of(FILE *out, const void *start, uint64_t size)
{
    return checked_pool_report_of(out, start, size);
}

enum pool_state pool_state_at(const void *address)
{
    struct pool_block found;

    if (!check_on())
        return POOL_UNKNOWN;
    if (checked_pool_find(address, &found))
        return found.paged ? POOL_ALLOCATED_PAGED : POOL_ALLOCATED;
    return checked_pool_find_freed(address, &found) ? POOL_FREED : POOL_UNKNOWN;
}

bool pool_is_paged(const void *address)
{
    return pool_state_at(address) == POOL_ALLOCATED_PAGED;
}
