/* SPDX-License-Identifier: MIT */
#include "headers/true_sizes.h"

#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/counters.h"
#include "openndk/netstat.h"
#include "openndk/verify.h"
#include "openndk/wdk.h"

const struct true_sizes true_sizes = {
    .config = sizeof(ondk_config_t),
    .counters = sizeof(ondk_counters_t),
    .adapter_entry = sizeof(ondk_adapter_entry_t),
    .connection = sizeof(ondk_connection_t),
    .listener = sizeof(ondk_listener_t),
    .endpoint = sizeof(ondk_endpoint_t),
    .failure = sizeof(ondk_failure_t),
    .protection_domain = sizeof(ondk_protection_domain_t),
    .completion_queue = sizeof(ondk_completion_queue_t),
    .queue_pair = sizeof(ondk_queue_pair_t),
    .shared_receive_queue = sizeof(ondk_shared_receive_queue_t),
    .memory_region = sizeof(ondk_memory_region_t),
    .memory_window = sizeof(ondk_memory_window_t),
    .verify_config = sizeof(ondk_verify_config_t),
    .verify_rule = sizeof(ondk_verify_rule_t),
    .scsi_command = sizeof(ondk_wdk_scsi_command_t),
};
