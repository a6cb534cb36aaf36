/* SPDX-License-Identifier: MIT */
/* NdkQueryExtension of all types of objects but the adapter: an entry that several tables share. */
#ifndef CALLTRACE_ENTRIES_H
#define CALLTRACE_ENTRIES_H

#include <ndk/ndkpi.h>

NTSTATUS traced_query_extension(NDK_OBJECT_HEADER *object, GUID *id, NDK_VERSION version, NDK_EXTENSION_INTERFACE *out);

#endif
