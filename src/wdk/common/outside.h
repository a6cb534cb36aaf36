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
 * Returns true if `routine` may connect or send to the address in the sockaddr, which is already mapped to the host's.
 * Its family may have Windows' value. Returns false if the address is not one of this machine and outside_forbid was
 * called. Then also prints a line with the options of ndkrun that help, once for each address, and for at most 16
 * addresses. A group or broadcast address is outside.
 */
bool outside_may_send(const char *routine, const void *sockaddr, size_t length);

#endif
