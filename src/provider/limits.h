/* SPDX-License-Identifier: MIT */
/* What the provider puts on the stack for one request, and so the most of it that an adapter reports. */
#ifndef PROVIDER_LIMITS_H
#define PROVIDER_LIMITS_H

enum {
    LIMIT_SGES = 16,
    LIMIT_INLINE = 1024,
};

#endif
