#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes ndkconform's table of which rules a case covers from the comments above the cases.

    rules.py OUT.c SOURCE.c...

The comment right above a CASE says `covers: CON-01, CON-02`. A case that covers nothing is a fault.
"""
import re
import sys
from pathlib import Path

RULE = re.compile(r"\b[A-Z]{3}-\d\d\b")
CASE = re.compile(r"(?:/\*((?:(?!\*/).)*)\*/\s*)?^CASE\((\w+)", re.S | re.M)


def main(out, sources):
    rows, faults = [], []
    for source in sources:
        for comment, name in CASE.findall(Path(source).read_text()):
            rules = sorted(set(RULE.findall(comment.partition("covers:")[2])))
            rows.append(f'    {{ "{name}", "{" ".join(rules)}" }},\n')
            if not rules:
                faults.append(f"{source}: {name} covers no rule")
    if faults:
        sys.exit("\n".join(faults))
    Path(out).write_text('/* SPDX-License-Identifier: MIT */\n/* Made by rules.py. */\n#include "contract/program/runner.h"\n\n'
                         "const struct case_rules case_rules[] = {\n" + "".join(rows) + "    { NULL, NULL },\n};\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
