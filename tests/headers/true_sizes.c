/* SPDX-License-Identifier: MIT */
#include "headers/true_sizes.h"

#include "openndk/adapter.h"
#include "openndk/config.h"
#include "openndk/counters.h"
#include "openndk/netstat.h"
#include "openndk/wdk.h"

const struct true_sizes true_sizes = {
    .config = sizeof(ondk_config_t),
    .counters = sizeof(ondk_counters_t),
    .adapter_entry = sizeof(ondk_adapter_entry_t),
    .connection = sizeof(ondk_connection_t),
    .listener = sizeof(ondk_listener_t),
    .endpoint = sizeof(ondk_endpoint_t),
    .failure = sizeof(ondk_failure_t),
    .scsi_command = sizeof(ondk_wdk_scsi_command_t),
};
