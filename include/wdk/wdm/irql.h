/* SPDX-License-Identifier: MIT */
/*
 * Interrupt request levels: what a thread may do at which.
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
#define POWER_LEVEL 14
#define PROFILE_LEVEL 15
#define HIGH_LEVEL 15

NTKERNELAPI KIRQL KeGetCurrentIrql(VOID);

EXTERN_C_END

#endif
