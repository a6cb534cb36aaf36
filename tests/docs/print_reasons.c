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
         "Every request that fails and every connection that ends has a reason, a 32-bit number. A completion has\n"
         "it in `NDK_RESULT_EX.ProviderErrorCode`; the disconnect callback of NDK 2.1 and `ondk_connector_reason`\n"
         "give a connection's. The log (`docs/log.md`) and the list of failures (`docs/observe.md`) also have the\n"
         "reasons of peers that no consumer learned of. 0 means that nothing failed. `ondk_reason_name`,\n"
         "`ondk_reason_text` and `ondk_reason_advice` (`include/openndk/reason.h`) explain a number. The meaning of\n"
         "a number never changes.\n"
         "\n"
         "| bits | meaning |\n"
         "|---|---|\n"
         "| 31-28 | 0 |\n"
         "| 27-24 | the sender of the Terminate message, if there was one: 0 none, 1 this side, 2 the peer |\n"
         "| 23-16 | the cause; its upper half is the class: 1 network, 2 peer, 3 protocol, 4 requested by this "
         "side, 5 memory, 6 resources, 7 time limits |\n"
         "| 15-0 | the Terminate's layer (15-12), type (11-8) and code (7-0), as on the wire; 0 without one |\n"
         "\n"
         "For example, 0x02261101 is peer-terminate/ddp-tagged-bounds: the peer found that an RDMA write of this\n"
         "side was outside its region. The peer itself has 0x01311101, protocol/ddp-tagged-bounds. A request that\n"
         "failed because its connection ended, flushed or lost, has the connection's reason, so one completion is\n"
         "enough to find the cause. A request that failed by itself has its own reason.\n");
    reason_print_tables(stdout);
    return 0;
}
