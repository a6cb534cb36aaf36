/* SPDX-License-Identifier: MIT */
/*
 * A memory descriptor list for programs that have no kernel to build one: it describes a buffer of the process as
 * NdkRegisterMr and NdkBuildLAM expect it.
 */
#ifndef OPENNDK_MDL_H
#define OPENNDK_MDL_H

#include <ndk/nt.h>

#include "openndk/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Makes mdl describe the length bytes at address, any alignment, and puts it in front of next, which may be null. A
 * chain is fit for registration when each buffer begins where the one before it ends. Nothing is allocated and the
 * buffer is not touched: mdl and buffer stay the caller's, and the buffer has to stay mapped for as long as the
 * provider uses it.
 *
 * The buffer begins at StartVa + ByteOffset, StartVa being its page; MappedSystemVa is address itself. Requests name
 * memory by the former. The provider accesses it through the latter, so the two may be different mappings of it.
 */
ONDK_API void ondk_mdl_init(MDL *mdl, void *address, ULONG length, MDL *next);

#ifdef __cplusplus
}
#endif

#endif
