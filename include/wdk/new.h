/* SPDX-License-Identifier: MIT */
/* The header of Microsoft's C++ library for placement new and std::nothrow. */
#ifndef ONDK_WDK_NEW_H
#define ONDK_WDK_NEW_H

#ifdef __cplusplus
#include <new>
#endif

#endif
