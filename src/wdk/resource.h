/* SPDX-License-Identifier: MIT */
/*
 * Is the lock an ERESOURCE that another thread has let go on behalf of the calling one?
 */
#ifndef WDK_RESOURCE_H
#define WDK_RESOURCE_H

#include <stdbool.h>

bool resource_given_up(const void *lock);

#endif
