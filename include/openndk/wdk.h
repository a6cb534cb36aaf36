/* SPDX-License-Identifier: MIT */
/*
 * For the program that hosts drivers (ndkrun, a test, a debugger's script of one's own): load them, call them, check them,
 * and see what they leave. Drivers themselves include the headers in include/wdk.
 */
#ifndef OPENNDK_WDK_H
#define OPENNDK_WDK_H

#include <stdint.h>
#include <stdio.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is done about a broken rule. */
typedef enum ondk_wdk_checks {
    ONDK_WDK_CHECKS_OFF,   /* nothing is looked for, nothing costs */
    ONDK_WDK_CHECKS_GO_ON, /* reported, and the driver goes on as far as it can */
    ONDK_WDK_CHECKS_STOP,  /* reported as a bug check would be (code, four parameters, stack), then abort() */
} ondk_wdk_checks_t;

/*
 * Set before the first driver is loaded. Without a call the environment variable ONDK_WDK_CHECKS (off, go-on, stop) counts,
 * and without that it is stop.
 */
ONDK_API void ondk_wdk_set_checks(ondk_wdk_checks_t checks);

/* How many broken rules have been reported so far. */
ONDK_API uint32_t ondk_wdk_violations(void);

/* Where reports and DbgPrint go; standard error without a call. out stays the caller's and open. */
ONDK_API void ondk_wdk_set_output(FILE *out);

#ifdef __cplusplus
}
#endif

#endif
