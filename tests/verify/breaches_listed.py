#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each rule of src/verify/rules.c has a row in breaches.md. The tests of a row exist, and each of them names the rule,
itself or in a function of its file that it reaches. Tests of legal calls exist, too."""
import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
FUNCTION = re.compile(r"^(?:static [^\n(]*?(\w+)\([^;{]*\)|CASE\((\w+),[^\n]*\))\n\{\n(.*?)^\}$", re.M | re.S)


def functions_of(path, seen={}):
    if path not in seen:
        seen[path] = {a or b: body for a, b, body in FUNCTION.findall(path.read_text())} if path.exists() else {}
    return seen[path]


def fault_of(folder, cell, rule):
    """Returns what is wrong with a cell, for example `limits.c:sges_of_a_read`, or None."""
    name, _, function = cell.strip("`").partition(":")
    functions = functions_of(TESTS / folder / name)
    if function not in functions:
        return f"there is no {cell} in tests/{folder}"
    reached = [function]
    for caller in reached: # the list grows meanwhile
        reached += [other for other in functions if other not in reached and
                    re.search(rf"\b{other}\b", functions[caller])]
    if rule and not any(re.search(rf'"[^"\n]*(?<![\w-]){rule}(?![\w-])', functions[other]) for other in reached):
        return f"{cell} does not name {rule}"
    return None


def main():
    rules = re.findall(r'\[RULE_\w+\] = \{ \.name = "([a-z-]+)"', (TESTS.parent / "src/verify/rules.c").read_text())
    rows = [[cell.strip() for cell in line.strip("|\n ").split(" | ")]
            for line in (TESTS / "verify/breaches.md").read_text().splitlines() if line.startswith("| ") and
            "`" in line]
    breaches, legal = [row for row in rows if len(row) == 4], [row for row in rows if len(row) == 2]
    listed = [row[1].strip("`") for row in breaches]
    faults = [f"breaches.md has no row of {rule}" for rule in rules if rule not in listed]
    faults += [f"there is no rule {rule}" for rule in listed if rule not in rules]
    for row, rule in zip(breaches, listed):
        faults += [fault_of("verify", row[2], rule), fault_of("wdk", row[3], rule)]
    faults = [fault for fault in faults + [fault_of("verify", row[1], None) for row in legal] if fault]
    print("\n".join(faults + [f"{len(breaches)} breaches, {len(legal)} legal, {len(faults)} faults"]))
    return 1 if faults or len(breaches) < 70 or len(legal) < 5 or len(breaches) + len(legal) != len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
