/* SPDX-License-Identifier: MIT */
/* The kernel as the host of the verify layer: see verify/host.h. */
#ifndef WDK_NDK_VERIFY_HOST_H
#define WDK_NDK_VERIFY_HOST_H

/* Must be called before an adapter is wrapped. Idempotent. */
void ndk_verify_host_start(void);

#endif
