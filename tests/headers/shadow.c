/* SPDX-License-Identifier: MIT */
/* Compiled with -Wshadow: the headers' inline functions shadow none of a program's own variables. */
extern int adapter, counters, entries, capacity, config, command, status, size, entry_size;

#include <openndk/adapter.h>
#include <openndk/config.h>
#include <openndk/counters.h>
#include <openndk/netstat.h>
#include <openndk/wdk.h>
