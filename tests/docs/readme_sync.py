#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples share their helpers, files that documents name exist, packages bring openndk(7), the README is short."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
faults = []
# The examples are whole programs, so they repeat each other's helpers: those that do not depend on what they transfer.
SPECIFIC = {"open_end", "close_end", "post_receive", "post_send", "next_result", "on_request", "run_client",
            "run_server", "serve", "main"}
FUNCTION = re.compile(r"^(?:static )?[\w *]*?\b(\w+)(\([^;]*?\)\n\{\n.*?^\}\n)", re.M | re.S)
names = ["first.c", "fetch.c", "server.c"]
functions = [dict(FUNCTION.findall((root / "examples" / name).read_text())) for name in names]
for i, j in ((0, 1), (0, 2), (1, 2)):
    shared = set(functions[i]) & set(functions[j]) - SPECIFIC
    for name in sorted(shared):
        if functions[i][name] != functions[j][name]:
            faults.append(f"examples: {name} differs between {names[i]} and {names[j]}")
    if len(shared) < 10:
        faults.append(f"examples: {names[i]} and {names[j]} share fewer functions than expected")

for page in [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]:
    folders = "docs|src|tests|include|examples|tools|scripts|bench"
    for name in re.findall(rf"`((?:{folders})/[\w./-]+\.\w+)`", page.read_text()):
        if not (root / name).exists():
            faults.append(f"{page.relative_to(root)}: there is no {name}")
# openndk(7) and openndk-reasons(7), to which all manual pages refer, are in openndk-tools.
relations = {}
for stanza in (root / "debian/control").read_text().split("\n\n"):
    fields = dict(re.findall(r"^([\w-]+): ((?:.*\n?)(?: .*\n?)*)", stanza, re.M))
    relations[fields.get("Package", "").strip()] = re.findall(r"[\w-]*openndk[\w-]*", fields.get("Depends", "") +
                                                             fields.get("Recommends", ""))
for package in ("libopenndk-dev", "libopenndk-wdk-dev", "openndk-wdk"):
    reached = {package}
    while new := {other for one in reached for other in relations.get(one, [])} - reached:
        reached |= new
    if "openndk-tools" not in reached:
        faults.append(f"debian/control: {package} does not bring openndk-tools, which has openndk(7)")

length = len((root / "README.md").read_text().splitlines())
if length > 200:
    faults.append(f"README.md has {length} lines; the most is 200: move something to the guide that it belongs to")
print("\n".join(faults) or "the documents name what is there")
sys.exit(bool(faults))
