/* SPDX-License-Identifier: MIT */
/* Why an interface has no adapter: see explain.h. */
#include "wdk/ndk/explain.h"

#include <net/if.h>

static void explain_print_interfaces(FILE *out)
{
    struct if_nameindex *all = if_nameindex();
    const char *separator = " There are";

    for (const struct if_nameindex *i = all; i && i->if_index; i++) {
        fprintf(out, "%s %u (%s)", separator, i->if_index, i->if_name);
        separator = ",";
    }
    if (!all)
        return;
    fprintf(out, "%s", all->if_index ? "." : "");
    if_freenameindex(all);
}

void explain_interface(uint32_t driver_index, uint32_t host_index, FILE *out)
{
    char name[IF_NAMESIZE];

    fprintf(out, "WskOpenNdkAdapter returns STATUS_INVALID_PARAMETER: IfIndex %u", driver_index);
    if (host_index != driver_index)
        fprintf(out, ", which is mapped to %u,", host_index);
    if (if_indextoname(host_index, name)) {
        fprintf(out, " (%s) has no address.\n", name);
        return;
    }
    fprintf(out, " is no interface of this network namespace.");
    explain_print_interfaces(out);
    fprintf(out, " ndkrun --net or --map gives a driver its indexes.\n");
}
