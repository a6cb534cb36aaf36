/* SPDX-License-Identifier: MIT */
/*
 * On Windows this header marks unsafe functions of the C library as deprecated. A driver that calls them still
 * compiles, with warnings. Here the header does nothing.
 */
#ifndef ONDK_WDK_DONTUSE_H
#define ONDK_WDK_DONTUSE_H

#endif
