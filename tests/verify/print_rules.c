/* SPDX-License-Identifier: MIT */
/* Prints the last section of docs/verify.md from the table of rules that the checks use. */
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
    else
        print_paragraph(
            "No page of NDKPI has such a rule: this is no duty of a consumer, but a help to find a mistake.");
    if (rule->advice)
        print_paragraph("Advice: %s", rule->advice);
}

int main(void)
{
    puts("## The rules\n\nPrinted from the code by `tests/verify/print_rules.c`; a test compares. "
         "`tests/verify/breaches.md` has\na breach of each rule, and the tests that commit it.");
    for (int i = 0; i < VERIFY_RULES; i++)
        print_rule(&verify_rules[i]);
    return 0;
}
