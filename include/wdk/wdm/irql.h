/* SPDX-License-Identifier: MIT */
/*
 * Interrupt request levels. In this kernel a level belongs to a thread, not to a processor: two threads at
 * DISPATCH_LEVEL may share one processor. The checks verify that routines are called at an allowed level.
 */
#ifndef ONDK_WDK_WDM_IRQL_H
#define ONDK_WDK_WDM_IRQL_H

#include "../ntdef.h"

EXTERN_C_START

#define PASSIVE_LEVEL 0
#define LOW_LEVEL 0
#define APC_LEVEL 1
#define DISPATCH_LEVEL 2
#define CMCI_LEVEL 5
#define CLOCK_LEVEL 13
#define IPI_LEVEL 14
#define DRS_LEVEL 14
#define POWER_LEVEL 14
#define PROFILE_LEVEL 15
#define HIGH_LEVEL 15
#define SYNCH_LEVEL 12

NTKERNELAPI KIRQL KeGetCurrentIrql(VOID);
NTKERNELAPI KIRQL KfRaiseIrql(_In_ KIRQL NewIrql);
NTKERNELAPI VOID KeLowerIrql(_In_ KIRQL NewIrql);
NTKERNELAPI KIRQL KeRaiseIrqlToDpcLevel(VOID);
NTKERNELAPI KIRQL KeRaiseIrqlToSynchLevel(VOID);
#define KeRaiseIrql(level, old) (*(old) = KfRaiseIrql(level))
#define KfLowerIrql(level) KeLowerIrql(level)

/*
 * Enter and leave critical and guarded regions. There are no asynchronous procedure calls here. Regions are counted, so
 * that a missing end is detected. IRQL <= APC_LEVEL.
 */
NTKERNELAPI VOID KeEnterCriticalRegion(VOID);
NTKERNELAPI VOID KeLeaveCriticalRegion(VOID);
NTKERNELAPI VOID KeEnterGuardedRegion(VOID);
NTKERNELAPI VOID KeLeaveGuardedRegion(VOID);
NTKERNELAPI BOOLEAN KeAreApcsDisabled(VOID);
NTKERNELAPI BOOLEAN KeAreAllApcsDisabled(VOID);

/* Implements PAGED_CODE(); drivers do not call it. */
NTKERNELAPI VOID ondk_wdk_paged_code(const char *function, const char *file, int line);
#define PAGED_CODE() ondk_wdk_paged_code(__func__, __FILE__, __LINE__)
#define PAGED_CODE_LOCKED() ((void)0)
#define PAGED_ASSERT(expression) ((void)0)

EXTERN_C_END

#endif
