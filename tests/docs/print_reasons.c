/* SPDX-License-Identifier: MIT */
/* Prints docs/reasons.md from the tables that the code uses. */
#include <stdio.h>

#include "provider/reason.h"

int main(void)
{
    puts("<!-- SPDX-License-Identifier: MIT -->\n"
         "# Reasons\n"
         "\n"
         "Printed from the code by `tests/docs/print_reasons.c`; a test compares.\n"
         "\n"
         "Every request that fails and every connection that ends has a reason, one 32-bit number: a completion's in\n"
         "`NDK_RESULT_EX.ProviderErrorCode`, a connection's as the disconnect callback of NDK 2.1 and\n"
         "`ondk_connector_reason` give it. 0 means that nothing failed. `ondk_reason_name`, `ondk_reason_text` and\n"
         "`ondk_reason_advice` (`include/openndk/reason.h`) tell what a number means; numbers are never given a new meaning.\n"
         "\n"
         "| bits | meaning |\n"
         "|---|---|\n"
         "| 31-28 | 0 |\n"
         "| 27-24 | whose Terminate message had a part in it: 0 nobody's, 1 this side's, 2 the peer's |\n"
         "| 23-16 | the cause; its upper half is the class: 1 network, 2 peer, 3 protocol, 4 this side's wish, 5 memory, "
         "6 resources, 7 time limits |\n"
         "| 15-0 | the Terminate's layer (15-12), type (11-8) and code (7-0), as on the wire; 0 without one |\n"
         "\n"
         "So 0x02261101 is peer-terminate/ddp-tagged-bounds: the peer found that an RDMA write of this side's left its "
         "region,\n"
         "and 0x01311101 is the same seen from that peer: protocol/ddp-tagged-bounds. A request that ended because its\n"
         "connection did, whether it was flushed or lost, has the connection's reason, so that one completion tells what\n"
         "happened; one that failed by itself has its own.\n");
    reason_print_tables(stdout);
    return 0;
}
