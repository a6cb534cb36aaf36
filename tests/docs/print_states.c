/* SPDX-License-Identifier: MIT */
/* Prints docs/states.md from the tables that the code runs. */
#include <stdio.h>

#include "fabric/iwarp/conn_table.h"
#include "fabric/iwarp/doorbell.h"
#include "iwarp/startup.h"
#include "provider/connector_table.h"

int main(void)
{
    puts("<!-- SPDX-License-Identifier: MIT -->\n"
         "# State tables\n"
         "\n"
         "Printed from the code by `tests/docs/print_states.c`; a test compares. There are three machines, one\n"
         "above the other: the connector's has the consumer's calls and their statuses\n"
         "(`src/provider/connector_table.c`), the connection's has TCP, time limits and the two notices\n"
         "(`src/fabric/iwarp/conn_table.c`), and start-up has MPA frames (`src/iwarp/startup.c`). Each file begins\n"
         "with its diagram and invariants.\n"
         "\n"
         "## The NDK connector\n");
    connector_print_table(stdout);
    puts("\n"
         "## The iWARP connection\n");
    iwarp_conn_print_table(stdout);
    puts("\n"
         "## MPA start-up\n");
    iw_startup_print_tables(stdout);
    puts("\n"
         "## The doorbell\n"
         "\n"
         "A post that rings the doorbell transmits, or waits for a poll of the consumer "
         "(`src/fabric/iwarp/doorbell.c`).\n"
         "`docs/threads.md` has what ends the wait.\n");
    doorbell_print_table(stdout);
    return 0;
}
