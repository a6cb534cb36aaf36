#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each rule of src/wdk/common/check.c and src/verify/rules.c is named by a test in tests/wdk, as `"rule in Routine"` or
alone as a string. Each rule of src/verify/rules.c is also named by a test of plain programs, in tests/verify or in
tests/contract/breaches.txt. And a seeded bug in one of tests/mutants' lists breaks it."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def rules_of(table):
    return re.findall(r'\[(?:CHECK|RULE)_\w+\] = \{ (?:\.name = )?"([a-z-]+)"', (ROOT / "src" / table).read_text())


def text_of(folder, *suffixes):
    paths = (ROOT / "tests" / folder).rglob("*")
    return "\n".join(p.read_text() for p in paths if p.suffix in suffixes and not p.name.startswith("print_"))


def is_named(rule, text):
    return re.search(rf'"(?:[^"\n]*[^\w-])?{rule}(?: in |")', text)


def main():
    drivers, programs, bugs = text_of("wdk", ".c", ".py", ".sh"), text_of("verify", ".c"), text_of("mutants", ".mut")
    cases = set((ROOT / "tests" / "contract" / "breaches.txt").read_text().split())
    kernel, ndk = rules_of("wdk/common/check.c"), rules_of("verify/rules.c")
    findings = [f"no driver in tests/wdk breaks the rule {rule}" for rule in kernel + ndk
                if not is_named(rule, drivers)]
    findings += [f"no plain program in tests/verify or tests/contract breaks the rule {rule}" for rule in ndk
                 if not is_named(rule, programs) and rule not in cases]
    findings += [f"no seeded bug breaks the rule {rule}" for rule in kernel + ndk
                 if not re.search(rf"^rule {rule}$", bugs, re.M)]
    print("\n".join(findings + [f"{len(kernel)} rules of the kernel, {len(ndk)} of NDK, {len(findings)} findings"]))
    return 1 if findings or len(kernel) < 30 or len(ndk) < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
