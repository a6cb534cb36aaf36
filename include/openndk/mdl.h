/* SPDX-License-Identifier: MIT */
/*
 * Memory descriptor lists for programs that are not drivers. An MDL describes a buffer to NdkRegisterMr or NdkBuildLAM.
 */
#ifndef OPENNDK_MDL_H
#define OPENNDK_MDL_H

#include <ndk/nt.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Initializes an MDL for a buffer of the process.
 *   mdl      receives the description; owned by the caller
 *   address  the buffer, which may have any alignment; owned by the caller
 *   length   the size of the buffer in bytes
 *   next     the MDL of the next part of a chain, or NULL
 * The function allocates nothing and does not access the buffer. While the provider uses mdl or the buffer, the caller
 * must not change mdl, and must keep the buffer mapped. A chain can be registered if each buffer begins where the one
 * before it ends.
 *
 * SGEs use StartVa + ByteOffset as the address of the buffer. StartVa is the start of the page in which the buffer
 * begins. The provider accesses the buffer at MappedSystemVa. The function sets MappedSystemVa to the address of the
 * buffer. A program may change MappedSystemVa to another mapping of the same memory.
 * Context: any thread, any IRQL.
 * Example:
 *
 *     static char buffer[4096];
 *     MDL mdl;
 *
 *     ondk_mdl_init(&mdl, buffer, sizeof(buffer), NULL);
 */
ONDK_API void ondk_mdl_init(MDL *mdl, void *address, ULONG length, MDL *next);

#ifdef __cplusplus
}
#endif

#endif
