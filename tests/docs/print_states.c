/* SPDX-License-Identifier: MIT */
/* Prints docs/states.md from the tables that the code runs. */
#include <stdio.h>

#include "fabric/iwarp/conn_table.h"
#include "iwarp/startup.h"
#include "provider/connector_table.h"

int main(void)
{
    puts("<!-- SPDX-License-Identifier: MIT -->\n"
         "# State tables\n"
         "\n"
         "Printed from the code by `tests/docs/print_states.c`; a test compares. Three machines, one above the other: the\n"
         "connector's knows the consumer's calls and their statuses (`src/provider/connector_table.c`), the connection's\n"
         "knows TCP, time limits and the two notices (`src/fabric/iwarp/conn_table.c`), start-up knows MPA frames\n"
         "(`src/iwarp/startup.c`). Each file has the diagram and the invariants on top.\n"
         "\n"
         "## The NDK connector\n");
    connector_print_table(stdout);
    puts("\n## The iWARP connection\n");
    iwarp_conn_print_table(stdout);
    puts("\n## MPA start-up\n");
    iw_startup_print_tables(stdout);
    return 0;
}
