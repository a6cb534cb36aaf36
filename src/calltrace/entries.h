/* SPDX-License-Identifier: MIT */
/* Declares the entry for NdkQueryExtension. All tables except the adapter's share it. */
#ifndef CALLTRACE_ENTRIES_H
#define CALLTRACE_ENTRIES_H

#include <ndk/ndkpi.h>

NTSTATUS traced_query_extension(NDK_OBJECT_HEADER *object, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

#endif
