/* SPDX-License-Identifier: MIT */
/* Calls with an MDL chain on the objects of two_calls.h, which may stay pending. */
#ifndef TESTS_VERIFY_MDL_PENDING_H
#define TESTS_VERIFY_MDL_PENDING_H

#include <string.h>

#include "verify/two_calls.h"

enum { PART = 64 };

static MDL first_mdl, second_mdl; /* a chain of two */
static NDK_MR *mr;
static NDK_LOGICAL_ADDRESS_MAPPING lam;

static inline void describe(MDL *mdl, char *memory, MDL *next)
{
    memset(mdl, 0, sizeof *mdl);
    mdl->Next = next;
    mdl->MdlFlags = MDL_PAGES_LOCKED;
    mdl->StartVa = (PVOID)((uintptr_t)memory & ~(uintptr_t)(PAGE_SIZE - 1));
    mdl->ByteOffset = (ULONG)((uintptr_t)memory & (PAGE_SIZE - 1));
    mdl->ByteCount = PART;
}

static inline void open_region(void)
{
    static char memory[2 * PART];

    open_objects();
    describe(&second_mdl, memory + PART, NULL);
    describe(&first_mdl, memory, &second_mdl);
    (void)pd->Dispatch->NdkCreateMr(pd, FALSE, ignore_create, NULL, &mr);
}

static inline void close_region(void)
{
    close_object(mr);
    close_objects();
}

static inline NTSTATUS call_register(MDL *mdl, bool pend)
{
    fake->pend = pend;
    NTSTATUS status = mr->Dispatch->NdkRegisterMr(mr, mdl, PART, 0, ignore_request, NULL);
    fake->pend = false;
    return status;
}

static inline NTSTATUS call_build(MDL *mdl, bool pend)
{
    ULONG size = sizeof lam, offset;

    fake->pend = pend;
    NTSTATUS status = adapter->Dispatch->NdkBuildLAM(adapter, mdl, PART, ignore_request, NULL, &lam, &size, &offset);
    fake->pend = false;
    return status;
}

static inline void call_deregister(void)
{
    (void)mr->Dispatch->NdkDeregisterMr(mr, ignore_request, NULL);
}

static inline void call_release(void)
{
    adapter->Dispatch->NdkReleaseLAM(adapter, &lam);
}

#endif
