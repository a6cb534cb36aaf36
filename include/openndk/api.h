/* SPDX-License-Identifier: MIT */
/* What the library exports: everything else in it is hidden. */
#ifndef OPENNDK_API_H
#define OPENNDK_API_H

#include <stddef.h>

#define ONDK_API __attribute__((visibility("default")))

#endif
