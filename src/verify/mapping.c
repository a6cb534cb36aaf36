/* SPDX-License-Identifier: MIT */
/* Records logical address mappings: see mapping.h. */
#include <stdlib.h>

#include "verify/mapping.h"

enum { MAX_RELEASED = 32 }; /* number of recorded releases, for reports about a second release */

struct mapping {
    LIST_ENTRY(mapping) link;
    struct proxy *adapter;
    const NDK_LOGICAL_ADDRESS_MAPPING *lam; /* the consumer's structure; NULL if a later mapping was built in it */
    const void *context;                    /* the AdapterContext that the provider has set */
    ULONG page_count;
    uint64_t pages; /* checksum of the page array (mapping_sum_pages) when the mapping was built */
};

/* The record of a released mapping, with the stack of the release. */
struct released {
    const struct proxy *adapter;
    const NDK_LOGICAL_ADDRESS_MAPPING *lam;
    struct stack by;
};

/* The proxies' lock guards the lists below. */
static LIST_HEAD(, mapping) mappings = LIST_HEAD_INITIALIZER(mappings);
static struct released released[MAX_RELEASED];
static unsigned released_count;

static atomic_bool some_unseen;

void mapping_set_unseen(void)
{
    atomic_store(&some_unseen, true);
}

static uint64_t mapping_sum_pages(const NDK_LOGICAL_ADDRESS *pages, ULONG count)
{
    uint64_t sum = count;

    for (ULONG i = 0; i < count; i++)
        sum = (sum ^ (uint64_t)pages[i].QuadPart) * UINT64_C(0x100000001b3);
    return sum;
}

/* Finds the mapping that the adapter has built in *lam. Returns NULL if there is none. Requires the proxies' lock. */
static struct mapping *mapping_find(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct mapping *m;

    LIST_FOREACH (m, &mappings, link)
        if (m->lam == lam && m->adapter == adapter)
            break;
    return m;
}

/* Finds the adapter's mapping with this AdapterContext. Returns NULL if there is none. Requires the proxies' lock. */
static struct mapping *mapping_find_context(const struct proxy *adapter, const void *context)
{
    struct mapping *m;

    LIST_FOREACH (m, &mappings, link)
        if (context && m->context == context && m->adapter == adapter)
            break;
    return m;
}

void mapping_add(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct mapping *m = malloc(sizeof *m), *former;

    if (!m) {
        mapping_set_unseen();
        return;
    }
    *m = (struct mapping){ .adapter = adapter,
                           .lam = lam,
                           .context = lam->AdapterContext,
                           .page_count = lam->AdapterPageCount,
                           .pages = mapping_sum_pages(lam->AdapterPageArray, lam->AdapterPageCount) };
    atomic_fetch_add(&adapter->children, 1);
    proxy_lock_all();
    former = mapping_find(adapter, lam);
    if (former)
        former->lam = NULL;
    LIST_INSERT_HEAD(&mappings, m, link);
    proxy_unlock_all();
}

/* Stores the release of a mapping in the ring `released`. Requires the proxies' lock. */
static void mapping_store_release(const struct mapping *m, const NDK_LOGICAL_ADDRESS_MAPPING *lam,
                                  const struct stack *by)
{
    released[released_count++ % MAX_RELEASED] = (struct released){ m->adapter, lam, *by };
}

/* Copies the record of the latest release of the structure *lam. Returns false if there is none. */
static bool mapping_copy_release(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam,
                                 struct released *copy)
{
    bool found = false;

    proxy_lock_all();
    for (unsigned i = 1; !found && i <= released_count && i <= MAX_RELEASED; i++) {
        *copy = released[(released_count - i) % MAX_RELEASED];
        found = copy->lam == lam && copy->adapter == adapter;
    }
    proxy_unlock_all();
    return found;
}

static void mapping_report_unknown(const struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct released before;
    bool was_built = mapping_copy_release(adapter, lam, &before);

    if (atomic_load(&some_unseen))
        return;
    proxy_set_report_object(adapter);
    if (was_built)
        report_add_stack("released by", &before.by);
    report_breach(&verify_rules[RULE_LAM_RELEASED_TWICE], "NdkReleaseLAM", (uintptr_t)lam, was_built, 0, 0,
                  was_built ? "the mapping %p is released already" : "NdkBuildLAM has built no mapping at %p",
                  (const void *)lam);
}

static void mapping_check_unchanged(const struct mapping *m, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    const char *changed = NULL;

    if (lam->AdapterContext != m->context)
        changed = "AdapterContext";
    else if (lam->AdapterPageCount != m->page_count)
        changed = "AdapterPageCount";
    else if (mapping_sum_pages(lam->AdapterPageArray, m->page_count) != m->pages)
        changed = "AdapterPageArray";
    if (!changed)
        return;
    proxy_set_report_object(m->adapter);
    report_breach(&verify_rules[RULE_LAM_CHANGED], "NdkReleaseLAM", (uintptr_t)lam, (uintptr_t)lam->AdapterContext,
                  (uintptr_t)m->context, 0, "the %s of the mapping %p has changed since NdkBuildLAM", changed,
                  (const void *)lam);
}

struct mapping *mapping_begin_release(struct proxy *adapter, const NDK_LOGICAL_ADDRESS_MAPPING *lam)
{
    struct stack by = { .depth = 0 };
    struct mapping *m;

    if (!lam)
        return NULL;
    if (verify_on())
        stack_capture_call(&by, __builtin_return_address(0));
    proxy_lock_all();
    m = mapping_find(adapter, lam);
    if (!m)
        m = mapping_find_context(adapter, lam->AdapterContext);
    if (m) {
        LIST_REMOVE(m, link);
        mapping_store_release(m, lam, &by);
    }
    proxy_unlock_all();
    if (!verify_on())
        return m;
    if (m)
        mapping_check_unchanged(m, lam);
    else
        mapping_report_unknown(adapter, lam);
    return m;
}

void mapping_end_release(struct mapping *m)
{
    if (!m)
        return;
    atomic_fetch_sub(&m->adapter->children, 1);
    free(m);
}
