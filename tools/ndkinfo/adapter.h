/* SPDX-License-Identifier: MIT */
/* Reads the state of one interface and its adapter. */
#ifndef NDKINFO_ADAPTER_H
#define NDKINFO_ADAPTER_H

#include <stdbool.h>

#include "openndk/adapter.h"
#include "base/printable.h"

struct adapter {
    ondk_adapter_entry_t entry;
    char name[sizeof((ondk_adapter_entry_t *)0)->name * PRINTABLE_MAX_GROWTH]; /* the interface's name, escaped */
    uint32_t mtu;                                                              /* 0: unknown */
    uint32_t speed_mbps;                                                       /* speed of the link; 0: unknown */
    NTSTATUS status;                                                           /* status of opening the adapter */
    NDK_ADAPTER_INFO info;                                                     /* valid if status is STATUS_SUCCESS */
    NDK_VERSION versions[4];                                                   /* the versions that can be opened */
    uint32_t n_versions;
};

/* Opens the interface's adapter, reads its information, and closes it. */
void adapter_read(struct adapter *a, const ondk_adapter_entry_t *entry);

#endif
