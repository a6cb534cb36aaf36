/* SPDX-License-Identifier: MIT */
/* Implements options that several tools have: see connection_options.h. */
#include "connection_options.h"

#include "endpoint.h"
#include "interface.h"
#include "openndk/config.h"

const char *option_set_host_port(void *endpoint, const char *value)
{
    return endpoint_parse(endpoint, value, true);
}

const char *option_set_host(void *endpoint, const char *value)
{
    return endpoint_parse(endpoint, value, false);
}

const char *option_set_interface(void *if_index, const char *value)
{
    return interface_parse(value, if_index);
}

const char *option_set_profile(void *config, const char *value)
{
    return ondk_config_profile(config, value) == 0 ? NULL
                                                   : "default, narrow, no-windows, shallow or minimal is expected";
}
