/* SPDX-License-Identifier: MIT */
/* OpenNDK as a provider that refuses an environment with a variable that OpenNDK does not use. */
#include "ndkconform/provider.h"
#include "openndk/config.h"

const struct ndkconform_provider *openndk_provider(void); /* openndk.c under another name */

const struct ndkconform_provider *ndkconform_provider(void)
{
    return ondk_config_check_environment() ? NULL : openndk_provider();
}
