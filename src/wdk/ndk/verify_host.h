/* SPDX-License-Identifier: MIT */
/* The verify layer calls functions of its host, for example for the IRQL: see verify/host.h. */
#ifndef WDK_NDK_VERIFY_HOST_H
#define WDK_NDK_VERIFY_HOST_H

/*
 * Makes the kernel surface (src/wdk) the host of the verify layer. Must be called before an adapter is wrapped.
 * Idempotent.
 */
void ndk_verify_host_start(void);

#endif
