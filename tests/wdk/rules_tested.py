#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every rule in src/wdk/common/check.c and src/verify/rules.c is named by a test in tests/wdk: `"rule in Routine"`, or
the rule alone as a string. And a seeded bug in one of tests/mutants' lists breaks it."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Rules that no driver can break here, because OpenNDK's provider lacks what they are about. tests/verify breaks them.
NOT_IN_DRIVERS = {"read-sink-right"}


def main():
    tables = [(ROOT / "src" / path).read_text() for path in ("wdk/common/check.c", "verify/rules.c")]
    rules = [rule for table in tables for rule in re.findall(r'\[(?:CHECK|RULE)_\w+\] = \{ (?:\.name = )?"([a-z-]+)"', table)]
    tests = [p for p in (ROOT / "tests" / "wdk").rglob("*") if p.suffix in (".c", ".py", ".sh") and
             p.name != "print_checks.c"]
    text = "\n".join(p.read_text() for p in tests)
    plain = "\n".join(p.read_text() for p in (ROOT / "tests" / "verify").glob("*.c"))
    missing = [rule for rule in rules if not re.search(rf'"(?:[^"\n]*[^\w-])?{rule}(?: in |")',
                                                       plain if rule in NOT_IN_DRIVERS else text)]
    for rule in missing:
        print(f"no test breaks the rule {rule}")
    lists = "\n".join(p.read_text() for p in (ROOT / "tests" / "mutants").glob("*.mut"))
    unbroken = [rule for rule in rules if not re.search(rf"^rule {rule}$", lists, re.M)]
    for rule in unbroken:
        print(f"no seeded bug breaks the rule {rule}")
    print(f"{len(rules) - len(missing)} of {len(rules)} rules have a test, {len(rules) - len(unbroken)} a seeded bug")
    return 1 if missing or unbroken or len(rules) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
