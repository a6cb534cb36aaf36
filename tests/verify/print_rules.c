/* SPDX-License-Identifier: MIT */
/* Prints docs/verify.md; the rules come from the table that the checks use. */
#include <stdio.h>

#include "verify/rules.h"

int main(void)
{
    puts(
        "<!-- SPDX-License-Identifier: MIT -->\n"
        "# Verification of NDK consumers\n"
        "\n"
        "Printed from the code by `tests/verify/print_rules.c`; a test compares.\n"
        "\n"
        "    ONDK_VERIFY=report ./my-program\n"
        "\n"
        "turns verification on in any program that opens its adapters with `ondk_open_adapter`; no rebuild is needed.\n"
        "`include/openndk/verify.h` puts the verifier in front of another provider's adapters. Drivers under `ndkrun`\n"
        "are verified by default (`--verify`); `docs/driver-checks.md` has what is checked there besides.\n"
        "\n"
        "| `ONDK_VERIFY` | |\n"
        "|---|---|\n"
        "| `off` | nothing is checked; the program has the provider's own objects. The default of plain programs |\n"
        "| `report` | a broken rule is reported and counted, and the program continues |\n"
        "| `stop` | a broken rule is reported, then the program ends by `abort()`. The default of drivers |\n"
        "\n"
        "`,full` behind the word also turns on the checks that cost much.\n"
        "\n"
        "## The rules\n"
        "\n"
        "| rule | the documentation |\n"
        "|---|---|");
    for (int i = 0; i < VERIFY_RULES; i++)
        printf("| `%s` | %s |\n", verify_rules[i].name, verify_rules[i].text);
    return 0;
}
