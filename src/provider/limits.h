/* SPDX-License-Identifier: MIT */
/* Sizes of buffers on the stack for one request. They are upper limits of what an adapter reports. */
#ifndef PROVIDER_LIMITS_H
#define PROVIDER_LIMITS_H

enum {
    MAX_REQUEST_SGES = 16,
    MAX_REQUEST_INLINE = 1024,
};

#endif
