/* SPDX-License-Identifier: MIT */
/* Declares the entry for NdkQueryExtension that all tables but the adapter's share. */
#ifndef CALLTRACE_ENTRIES_H
#define CALLTRACE_ENTRIES_H

#include <ndk/ndkpi.h>

NTSTATUS traced_query_extension(NDK_OBJECT_HEADER *object, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

#endif
