/* SPDX-License-Identifier: MIT */
/*
 * On Windows this header marks unsafe functions of the C library as deprecated. Here it does nothing, because a driver
 * that calls such a function compiles on Windows, too, with warnings.
 */
#ifndef ONDK_WDK_DONTUSE_H
#define ONDK_WDK_DONTUSE_H

#endif
