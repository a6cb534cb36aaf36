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
         "A consumer that was only tested with a wide card fails with a narrow one: it posts four SGEs if three are\n"
         "allowed, resizes a queue that cannot be resized, or sends 200 bytes of private data if 56 are allowed. A\n"
         "profile makes an adapter report and enforce the limits of another card. It is selected by the environment\n"
         "(`ONDK_PROFILE=narrow`), by the program (`ondk_config_profile`, `include/openndk/config.h`), or by\n"
         "`ndkping --profile`. Each limit is also a field of `ondk_config_t`, and a variable\n"
         "(`ONDK_MAX_READ_SGE=1`) that overrides the profile, so any other card can be described.\n"
         "\n"
         "Values beyond a limit are refused as the contract demands: with `STATUS_INVALID_PARAMETER`, or with\n"
         "`STATUS_IMPLEMENTATION_LIMIT` for the pages of a fast registration. Read limits are capped instead. A\n"
         "capability that a 0 removes answers `STATUS_NOT_SUPPORTED`. A limit above the provider's own limit means\n"
         "that limit (`all`).\n");
    profile_print_tables(stdout);
    puts("\n"
         "The numbers of `no-windows` are those of the driver of a widespread adapter (vendor 0x02C9, device\n"
         "0x1007; `docs/facts.md`). Its 32 SGEs and its queue of 4194303 completions exceed this provider's limits,\n"
         "so 16 and 262144 are reported. The other profiles imitate no single product: `narrow` combines limits of\n"
         "real cards, and `minimal` omits everything that the interface allows an adapter to omit.");
    return 0;
}
