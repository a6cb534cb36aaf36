/* SPDX-License-Identifier: MIT */
/*
 * Records which network namespaces this process uses for NDK. Two connections in different namespaces can have the same
 * addresses, so addresses identify a connection only while the process uses one namespace.
 */
#ifndef VERIFY_NET_NAMESPACE_H
#define VERIFY_NET_NAMESPACE_H

#include <stdbool.h>

/* Records the network namespace of the calling thread. Runs when the thread opens an adapter, listens or connects. */
void net_namespace_note(void);
/* Returns true if exactly one namespace was recorded. Returns false if a namespace could not be determined. */
bool net_namespace_is_single(void);

#endif
