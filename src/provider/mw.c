/* SPDX-License-Identifier: MIT */
/* Memory windows: a capability that the adapter lacks (MaxWindowSize 0). */
#include "base/mutant.h"
#include "provider/provider.h"

NTSTATUS mw_create(NDK_PD *pd, NDK_FN_CREATE_COMPLETION done, PVOID context, NDK_MW **out)
{
    (void)pd, (void)done, (void)context, (void)out;
    return MUTANT(obj_02_other_answer) ? STATUS_INVALID_DEVICE_REQUEST : STATUS_NOT_SUPPORTED;
}
