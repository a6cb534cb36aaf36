#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program in the README is the marked part of examples/first.c, and every file that the README and docs/ name exists."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
faults = []
block = re.search(r"<!-- examples/first\.c -->\n```c\n(.*?)```", readme, re.S)
program = (root / "examples/first.c").read_text()
region = re.search(r"README: begin ---- \*/\n\n(.*)/\* ---- README: end", program, re.S)
if not block or not region or block.group(1) != region.group(1):
    faults.append("README.md: the first program differs from the marked part of examples/first.c")
for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
    folders = "docs|src|tests|include|examples|tools|scripts|bench"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", page.read_text()):
        if not (root / name).exists():
            faults.append(f"{page.relative_to(root)}: there is no {name}")
print("\n".join(faults) or "README and docs name what is there")
sys.exit(bool(faults))
