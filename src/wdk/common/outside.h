/* SPDX-License-Identifier: MIT */
/*
 * Keeps drivers from sending to other machines, so that a driver with a built-in address does not reach a stranger.
 * The types are plain C, because this header is included with Windows' headers.
 */
#ifndef WDK_OUTSIDE_H
#define WDK_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/private_export.h"

/* From now on, drivers may connect and send only to addresses of this machine. By default all addresses are allowed. */
void outside_forbid(void) PRIVATE_EXPORT(outside_forbid);
/* Returns true after outside_forbid. */
bool outside_is_forbidden(void);

/*
 * Returns true if `routine` may connect or send to the address in the sockaddr. Returns false if outside_forbid was
 * called and the address is not an address of this machine. A group or broadcast address is not an address of this
 * machine. The caller has already mapped the driver's address to the host's address. The family may have Windows'
 * value.
 *
 * If this function returns false, it also prints the address and the options of ndkrun that help. Each address is
 * printed once, and at most 16 addresses are printed.
 */
bool outside_may_send(const char *routine, const void *sockaddr, size_t length);

#endif
