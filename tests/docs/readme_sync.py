#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples share their helpers, every file that a document names exists, and the README is short."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
faults = []
# The examples are whole programs, so they repeat each other's helpers: those that do not depend on what they transfer.
SPECIFIC = {"open_end", "close_end", "post_receive", "next_result", "run_client", "run_server", "serve", "main"}
FUNCTION = re.compile(r"^(?:static )?[\w *]*?\b(\w+)(\([^;]*?\)\n\{\n.*?^\}\n)", re.M | re.S)
functions = [dict(FUNCTION.findall((root / "examples" / name).read_text())) for name in ("first.c", "fetch.c")]
for name in set(functions[0]) & set(functions[1]) - SPECIFIC:
    if functions[0][name] != functions[1][name]:
        faults.append(f"examples: {name} differs between first.c and fetch.c")
if len(set(functions[0]) & set(functions[1]) - SPECIFIC) < 10:
    faults.append("examples: first.c and fetch.c share fewer functions than expected")

for page in [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]:
    folders = "docs|src|tests|include|examples|tools|scripts|bench"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", page.read_text()):
        if not (root / name).exists():
            faults.append(f"{page.relative_to(root)}: there is no {name}")
length = len((root / "README.md").read_text().splitlines())
if length > 200:
    faults.append(f"README.md has {length} lines; the most is 200: move something to the guide that it belongs to")
print("\n".join(faults) or "the documents name what is there")
sys.exit(bool(faults))
