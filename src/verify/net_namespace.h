/* SPDX-License-Identifier: MIT */
/*
 * The network namespaces that this process uses for NDK. Two connections in different namespaces can have the same
 * addresses, so addresses identify a connection only while the process uses one namespace.
 */
#ifndef VERIFY_NET_NAMESPACE_H
#define VERIFY_NET_NAMESPACE_H

#include <stdbool.h>

/* Called when the calling thread opens an adapter, listens or connects: notes the thread's namespace. */
void net_namespace_note(void);
/* Returns false if more than one namespace was noted, or if a namespace could not be determined. */
bool net_namespace_is_single(void);

#endif
