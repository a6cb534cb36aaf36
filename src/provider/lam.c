/* SPDX-License-Identifier: MIT */
/*
 * Builds and releases logical address mappings: see lam.h. Copies the fabric's addresses page by page to the consumer's
 * structure.
 */
#include "provider/lam.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "provider/adapter.h"
#include "provider/mdl.h"
#include "provider/object.h"
#include "provider/status.h"

struct lam {
    LIST_ENTRY(lam) link;
    struct fabric_lam *fabric;
};

void lams_init(struct lams *l)
{
    spin_init(&l->lock);
    for (int i = 0; i < N_LAM_LISTS; i++)
        LIST_INIT(&l->lists[i]);
}

static unsigned lams_index(const void *lam)
{
    return (unsigned)((uintptr_t)lam / _Alignof(max_align_t) % N_LAM_LISTS);
}

static void lams_insert(struct lams *l, struct lam *lam)
{
    spin_lock(&l->lock);
    LIST_INSERT_HEAD(&l->lists[lams_index(lam)], lam, link);
    spin_unlock(&l->lock);
}

/*
 * Removes the mapping whose address is `context` from its list and returns the mapping. Returns NULL if no list has
 * such a mapping. Does not access memory through `context`.
 */
static struct lam *lams_remove(struct lams *l, const void *context)
{
    struct lam *lam;

    spin_lock(&l->lock);
    LIST_FOREACH (lam, &l->lists[lams_index(context)], link) {
        if (lam == context) {
            LIST_REMOVE(lam, link);
            break;
        }
    }
    spin_unlock(&l->lock);
    return lam;
}

static uint64_t lam_first_offset(const MDL *mdl)
{
    return (uintptr_t)mdl_memory(mdl) & (PAGE_SIZE - 1);
}

static uint64_t lam_page_count(const MDL *mdl, SIZE_T length)
{
    return (lam_first_offset(mdl) + length + PAGE_SIZE - 1) / PAGE_SIZE;
}

static uint64_t lam_mapping_size(uint64_t pages)
{
    return offsetof(NDK_LOGICAL_ADDRESS_MAPPING, AdapterPageArray) + pages * sizeof(NDK_LOGICAL_ADDRESS);
}

static int lam_make(struct adapter *a, const MDL *mdl, SIZE_T length, struct lam **out)
{
    struct lam *lam = malloc(sizeof(*lam));
    int error = lam ? a->fabric->ops->lam_create(a->fabric, mdl_memory(mdl), length, &lam->fabric) : ENOMEM;

    if (error) {
        free(lam);
        return error;
    }
    object_ref(&a->obj, REF_CHILD);
    lams_insert(&a->lams, lam);
    *out = lam;
    return 0;
}

static void lam_fill_mapping(const struct adapter *a, struct lam *lam, uint64_t pages, NDK_LOGICAL_ADDRESS_MAPPING *out)
{
    out->AdapterContext = lam;
    out->AdapterPageCount = (ULONG)pages;
    for (uint64_t i = 0; i < pages; i++)
        out->AdapterPageArray[i].QuadPart = (LONGLONG)a->fabric->ops->lam_page(lam->fabric, i);
}

NTSTATUS lam_build(NDK_ADAPTER *adapter, MDL *mdl, SIZE_T length, NDK_FN_REQUEST_COMPLETION done, PVOID context,
                   NDK_LOGICAL_ADDRESS_MAPPING *out, ULONG *size, ULONG *fbo)
{
    struct adapter *a = adapter_of(adapter);
    struct lam *lam;

    (void)done, (void)context; /* not used, because the call is never pending */
    if (!size || !mdl_is_range(mdl, length) || length > a->limits.max_registration)
        return STATUS_INVALID_PARAMETER;
    uint64_t pages = lam_page_count(mdl, length), needed = lam_mapping_size(pages);
    if (needed > UINT32_MAX)
        return STATUS_INVALID_PARAMETER; /* *size cannot hold `needed` */
    ULONG room = *size;
    *size = (ULONG)needed;
    if (room < needed)
        return STATUS_BUFFER_TOO_SMALL;
    if (!out || !fbo)
        return STATUS_INVALID_PARAMETER;
    int error = lam_make(a, mdl, length, &lam);
    if (error)
        return status_of_errno(error);
    lam_fill_mapping(a, lam, pages, out);
    *fbo = (ULONG)lam_first_offset(mdl);
    return STATUS_SUCCESS;
}

void lam_release(NDK_ADAPTER *adapter, NDK_LOGICAL_ADDRESS_MAPPING *mapping)
{
    struct adapter *a = adapter_of(adapter);
    struct lam *lam = mapping ? lams_remove(&a->lams, mapping->AdapterContext) : NULL;

    if (!lam)
        return;
    mapping->AdapterContext = NULL;
    a->fabric->ops->lam_release(lam->fabric);
    free(lam);
    object_unref(&a->obj, REF_CHILD);
}
