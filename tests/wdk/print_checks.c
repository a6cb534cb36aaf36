/* SPDX-License-Identifier: MIT */
/* Prints docs/driver-checks.md; the rules come from the table that the checks use. */
#include <stdio.h>

#include "verify/rules.h"
#include "wdk/common/check.h"

static void print_rules(const struct rule *rules, int count)
{
    for (int i = 0; i < count; i++)
        printf("| `%s` | 0x%02X | %s |\n", rules[i].name, rules[i].bug_check, rules[i].text);
}

int main(void)
{
    puts("<!-- SPDX-License-Identifier: MIT -->\n"
         "# Checks of a running driver\n"
         "\n"
         "Printed from the code by `tests/wdk/print_checks.c`; a test compares. Each rule has a test in `tests/wdk`\n"
         "that breaks it and expects exactly that report, and a seeded bug in `tests/mutants` with which the test\n"
         "fails.\n"
         "\n"
         "`ONDK_VERIFY`, or `ondk_verify_set_mode`, selects the action for a broken rule:\n"
         "\n"
         "| | |\n"
         "|---|---|\n"
         "| `stop` | report it, then `abort()`, like a bug check; the default |\n"
         "| `report` | report and count it; the driver continues as far as it can |\n"
         "| `off` | no checks |\n"
         "\n"
         "A report has the rule, the routine, the bug check's code with its four parameters, what was found, what\n"
         "the documentation demands, the driver's stack, and, if there is one, the stack of an earlier event\n"
         "(closed by, allocated by, the request was made by). A report about NDK also has Microsoft's page, the\n"
         "object and what to do. `docs/verify.md` has these rules in full, and when a report is only counted.\n"
         "\n"
         "## The rules\n"
         "\n"
         "| rule | bug check | the documentation |\n"
         "|---|---|---|");
    print_rules(check_rules, CHECK_RULES);
    print_rules(verify_rules, VERIFY_RULES);
    puts("\n"
         "## NDK\n"
         "\n"
         "With checks on, WskOpenNdkAdapter returns proxies, one for each of the provider's objects. The driver\n"
         "finds no difference: the contract's cases also run through them (`contract.wsk`). With checks off the\n"
         "driver has the provider's own objects.\n"
         "\n"
         "| found | when | rule |\n"
         "|---|---|---|\n"
         "| a call at a wrong IRQL: above DISPATCH_LEVEL, NdkQueryAdapterInfo, WskOpenNdkAdapter and "
         "WskCloseNdkAdapter above PASSIVE_LEVEL | at the call | `irql-too-high` |\n"
         "| an object closed twice | at the second close; WskCloseNdkAdapter too | `ndk-closed-twice` |\n"
         "| a closed object called, or named in a call | at the call, for the latest 1024 closed ones | "
         "`ndk-closed-used` |\n"
         "| pool freed that holds the context of a call that is pending | when it is freed | `context-freed-in-use` "
         "|\n"
         "| pool freed that holds the context of the callbacks of an open completion queue, shared receive queue or "
         "listener, or the QPContext of a queue pair that is not being closed | when it is freed | "
         "`context-freed-in-use` |\n"
         "| pool freed that holds the context of a posted request whose result was not polled | when it is freed, "
         "until the pair or its connector is closed, or the disconnect has completed | `context-freed-in-use` |\n"
         "| pool freed that holds a buffer of such a request, which is not inline | when it is freed | "
         "`buffer-freed-in-use` |\n"
         "| pool freed that holds memory of a registered region | when it is freed, until the region is deregistered "
         "or closed | `region-freed-in-use` |\n"
         "| an MDL freed while a region is registered with it | when it is freed | `mdl-freed-in-use` |\n"
         "| a logical address mapping released while a posted request uses it, one of its buffers or first "
         "runs of pages, whose result was not polled | at NdkReleaseLAM | `ndk-lam-released` |\n"
         "| the data of a send or write changed between post and completion, with `--verify stop,full` | when the "
         "result is taken | `source-changed` |\n"
         "| inline data in paged pool that no MDL has locked, at DISPATCH_LEVEL | at the post; the block is found by "
         "its start, or anywhere in special pool | `inline-paged` |\n"
         "| a context on the stack of a function that has returned | at the thread's next NDK call, or when the "
         "completion comes while the thread sleeps or has ended | `context-on-dead-stack` |\n"
         "| a callback that returns at another IRQL | after it | `irql-changed` |\n"
         "| a callback that returns with a lock | after it | `lock-held-at-end` |\n"
         "| an object that was not closed, a pending call | at unload, with the stack of its creation | "
         "`unload-outstanding` |\n"
         "\n"
         "Not found:\n"
         "\n"
         "- The context of a post with NDK_OP_FLAG_SILENT_SUCCESS, because it is used only if the post fails.\n"
         "- Posts that were not polled, beyond a queue's depth.\n"
         "- A callback with a wrong prototype. It is called as ndkpi.h defines it, which has no visible effect on\n"
         "  this processor. The compiler reports it where the driver passes the callback\n"
         "  (-Wincompatible-pointer-types).\n"
         "- STATUS_PENDING of a create that the driver treats as a failure. The object is created and reported at\n"
         "  unload, with the stack of the call.\n"
         "- A driver that leaves an object open waits in WskCloseNdkAdapter for ever, as on Windows. After three\n"
         "  seconds the objects that it waits for are printed. WskDeregister does the same.");
    return 0;
}
