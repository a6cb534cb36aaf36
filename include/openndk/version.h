/* SPDX-License-Identifier: MIT */
/*
 * The version of the headers and of the library. The macros are the version of the headers that a program is compiled
 * with.
 * ondk_version returns the version of the library that the program runs with. CHANGELOG.md states what stays compatible
 * between versions.
 */
#ifndef OPENNDK_VERSION_H
#define OPENNDK_VERSION_H

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the whole project. CMakeLists.txt reads these three lines. */
#define OPENNDK_VERSION_MAJOR 0
#define OPENNDK_VERSION_MINOR 1
#define OPENNDK_VERSION_PATCH 0

/* One number that grows with each version, for comparisons: #if OPENNDK_VERSION >= OPENNDK_MAKE_VERSION(0, 2, 0) */
#define OPENNDK_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define OPENNDK_VERSION OPENNDK_MAKE_VERSION(OPENNDK_VERSION_MAJOR, OPENNDK_VERSION_MINOR, OPENNDK_VERSION_PATCH)

/* The version as text, for example "0.1.0". */
#define OPENNDK_VERSION_STRING OPENNDK_VERSION_TEXT(OPENNDK_VERSION_MAJOR, OPENNDK_VERSION_MINOR, OPENNDK_VERSION_PATCH)
#define OPENNDK_VERSION_TEXT(major, minor, patch) OPENNDK_VERSION_QUOTE(major.minor.patch)
#define OPENNDK_VERSION_QUOTE(text) #text

/*
 * Returns the version of the library that the program runs with, as text.
 * Returns "0.1.0", for example. Static storage.
 * Context: any thread, any IRQL.
 * See also: OPENNDK_VERSION_STRING
 */
ONDK_API const char *ondk_version(void);

#ifdef __cplusplus
}
#endif

#endif
