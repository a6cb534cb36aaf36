/* SPDX-License-Identifier: MIT */
/* The sizes that the library's own structs have, for programs compiled against other versions of the headers. */
#ifndef TESTS_HEADERS_TRUE_SIZES_H
#define TESTS_HEADERS_TRUE_SIZES_H

#include <stddef.h>

extern const struct true_sizes {
    size_t config, counters, adapter_entry, connection, listener, endpoint, failure, scsi_command;
    size_t protection_domain, completion_queue, queue_pair, shared_receive_queue, memory_region, memory_window;
    size_t verify_config, verify_rule;
} true_sizes;

#endif
