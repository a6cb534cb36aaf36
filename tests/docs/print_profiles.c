/* SPDX-License-Identifier: MIT */
/* Prints docs/profiles.md from the table that the code uses. */
#include <stdio.h>

#include "provider/profile.h"

int main(void)
{
    puts("<!-- SPDX-License-Identifier: MIT -->\n"
         "# Profiles: imitating narrower cards\n"
         "\n"
         "Printed from the code by `tests/docs/print_profiles.c`; a test compares.\n"
         "\n"
         "A consumer that was only ever tried on a wide card breaks on a narrow one: it posts four SGEs where three are\n"
         "allowed, resizes a queue that cannot be resized, sends 200 bytes of private data where 56 fit. A profile makes\n"
         "an adapter report, and enforce, the limits of another card. It is chosen by the environment\n"
         "(`ONDK_PROFILE=narrow`), by the program (`ondk_config_profile`, `include/openndk/config.h`) or by `ndkping\n"
         "--profile`. Each limit is a field of `ondk_config_t` too, and a variable (`ONDK_MAX_READ_SGE=1`) that goes above\n"
         "the profile, so that any other card can be described.\n"
         "\n"
         "One past a limit is refused as the contract says: `STATUS_INVALID_PARAMETER`, for the pages of a fast registration\n"
         "`STATUS_IMPLEMENTATION_LIMIT`; read limits are cut down instead. What a 0 or a switch takes away answers\n"
         "`STATUS_NOT_SUPPORTED`. A limit above what the provider can do counts as what it can do (`all`).\n");
    profile_print_tables(stdout);
    puts("\nThe numbers of `no-windows` are what the driver of a widespread adapter (vendor 0x02C9, device 0x1007) reports, as\n"
         "`docs/facts.md` has them; its 32 SGEs and its queue of 4194303 completions are more than this provider has, and come\n"
         "out as 16 and 262144. The other profiles imitate no single product: `narrow` joins limits that cards are known to\n"
         "have, `minimal` is what the interface allows an adapter to leave out.");
    return 0;
}
