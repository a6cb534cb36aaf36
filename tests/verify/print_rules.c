/* SPDX-License-Identifier: MIT */
/* Prints docs/verify.md; the rules come from the table that the checks use. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "verify/rules.h"

enum { LINE = 118, MAX_PARAGRAPH = 1024 };

/* Prints a paragraph in lines of at most LINE columns. */
__attribute__((format(printf, 1, 2))) static void print_paragraph(const char *format, ...)
{
    char text[MAX_PARAGRAPH];
    size_t column = 0;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (const char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        bool fits = column + 1 + strlen(word) <= LINE;

        printf("%s%s", column == 0 ? "\n" : fits ? " " : "\n", word);
        column = (fits && column ? column + 1 : 0) + strlen(word);
    }
    puts("");
}

static void print_rule(const struct rule *rule)
{
    printf("\n### `%s`\n", rule->name);
    print_paragraph("%s", rule->text);
    if (rule->kind == RULE_ADVICE)
        print_paragraph("This is an advice: the call is legal.");
    if (rule->page && rule->sentence)
        print_paragraph("Page `%s`: \"%s\"", rule->page, rule->sentence);
    else if (rule->page)
        print_paragraph("Page `%s`.", rule->page);
    if (rule->advice)
        print_paragraph("Advice: %s", rule->advice);
}

static void print_reports(void)
{
    puts(
        "\n"
        "## A report\n"
        "\n"
        "The stacks begin at the call in the program. Functions have names unless the program is stripped (`strip`),\n"
        "and lines if it has debug information (`-g`), unless the program was built again since it started. A line is\n"
        "that of the innermost inlined function; `addr2line -i -f -e my-program 0x1172` also has the outer ones.\n"
        "\n"
        "Some rules are advice: the call is legal, but fails or is slow on some providers. An advice begins with\n"
        "`*** NDK advice`, is counted apart, and stops nothing.\n"
        "\n"
        "A report of the same rule, routine and place of the program is written once (`max_written`) and counted. At\n"
        "the end of the process, or when the program calls `ondk_verify_write_repeats`, each such place has a line:\n"
        "\n"
        "    *** reported again: ndk-closed-used in NdkArmCq: 212 times at poll+0x12 at server.c:56 "
        "(my-program+0x1172)\n"
        "\n"
        "Reports of 256 places are written. Those of further places are counted only.\n"
        "\n"
        "## For programs\n"
        "\n"
        "`ondk_verify_set_callback` sets a function that receives each report. `ondk_verify_rules` lists the rules\n"
        "with the number of their reports. `ondk_verify_configure_text` takes the text of `ONDK_VERIFY`.\n"
        "\n"
        "With `json`, or `format` set to `ONDK_VERIFY_JSON`, each report is one line, an object. Without `output=`,\n"
        "other texts, for example of a driver's DbgPrint, go to the same stream; lines of reports begin with `{`.\n"
        "\n"
        "| key | |\n"
        "|---|---|\n"
        "| `event` | `report`; `repeated` for the number of reports of a place, with all keys of this table up to "
        "`message` |\n"
        "| `kind` | `breach` or `advice` |\n"
        "| `rule`, `text`, `page`, `sentence`, `advice` | the rule, as below; null if it has none |\n"
        "| `routine` | the routine that was called |\n"
        "| `message` | what was seen; in `repeated` that of the first report |\n"
        "| `bug_check`, `parameters` | the code with which Windows stops, and its four parameters |\n"
        "| `object` | null, or an object with `address` and `type` |\n"
        "| `history` | texts about the object |\n"
        "| `stacks` | each with `title` (`call` for the misuse), `called` (the routine), and `frames` |\n"
        "| `frames` | each with `address`, `function`, `offset` in it, `module`, `module_offset`; the innermost first "
        "|\n"
        "| `time` | seconds since 1970 |\n"
        "| `repeat` | the number of this report at its place, from 1; 0: unknown |\n"
        "| `place`, `count` | in `repeated`: the place, and the number of its reports |");
}

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
        "    *** NDK rule broken: ndk-closed-used in NdkArmCq: NDK_CQ 0x55d8ae1c72a0 is closed\n"
        "      rule: After the close call an NDK object must not be used, even while the close is pending.\n"
        "      page nc-ndkpi-ndk_fn_close_object: \"An NDK consumer must not access the object after ...\"\n"
        "      object: NDK_CQ 0x55d8ae1c72a0\n"
        "        NdkArmCq called by\n"
        "        #0 poll+0x12 at server.c:56 (my-program+0x1172)\n"
        "      closed by\n"
        "        NdkCloseCq called by\n"
        "        #0 finish+0x24 at server.c:78 (my-program+0x11a4)\n"
        "      created by\n"
        "        NdkCreateCq called by\n"
        "        #0 start+0x31 at server.c:31 (my-program+0x1231)\n"
        "      advice: Stop every user of the object before you close it.\n"
        "\n"
        "`ONDK_VERIFY` turns verification on in any program that opens its adapters with `ondk_open_adapter`, without\n"
        "a rebuild. `include/openndk/verify.h` puts the verifier in front of another provider's adapters. Drivers\n"
        "under `ndkrun` are verified by default (`--verify`); `docs/driver-checks.md` has what is checked there\n"
        "besides.\n"
        "\n"
        "| `ONDK_VERIFY` | |\n"
        "|---|---|\n"
        "| `off` | nothing is checked; the program has the provider's own objects. The default of plain programs |\n"
        "| `report` | a broken rule is reported and counted, and the program continues |\n"
        "| `stop` | a broken rule is reported, then the program ends by `abort()`. The default of drivers |\n"
        "\n"
        "Options may follow, each after a comma, for example `report,full,output=reports.txt`. The names of files end\n"
        "at the next comma. `ndkrun --verify` takes the same text.\n"
        "\n"
        "| option | |\n"
        "|---|---|\n"
        "| `full` | also the checks that cost much |\n"
        "| `json` | each report is one line, a JSON object (see below) |\n"
        "| `output=FILE` | reports are appended to the file, and not written to standard error. The first report "
        "creates it |\n"
        "| `stall=MS` | after so many milliseconds a wait is reported; 5000 without the option, 0: never |\n"
        "| `exit=STATUS` | the exit status of a process that broke a rule, from 1 to 255; 0 or no option: the "
        "program's "
        "own |\n"
        "| `junit=FILE` | at the end of the process, the file has a test case for each rule, which fails if the rule "
        "was broken |\n"
        "\n"
        "If a file cannot be opened, standard error has one line about it, and the reports.");
    print_reports();
    puts("\n## The rules");
    for (int i = 0; i < VERIFY_RULES; i++)
        print_rule(&verify_rules[i]);
    return 0;
}
