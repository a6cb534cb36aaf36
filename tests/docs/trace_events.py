#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/trace-events.md from the events that the library records, and the words that ndktrace's page has for them.

trace_events.py SOURCE_DIR TRACE_WRITER           prints the page
trace_events.py SOURCE_DIR TRACE_WRITER --check   fails if the page in the tree says something else
"""
import difflib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "trace"))
import trace_maker
import trace_reader

HEAD = """<!-- SPDX-License-Identifier: MIT -->
# Events of a trace

Printed from `src/trace/events.h` and the files it includes, and from `tools/ndktrace/page/words.json`, by
`tests/docs/trace_events.py`; a test compares. `docs/trace.md` explains the important ones, `docs/trace-format.md` the
kinds of fields. Each trace file lists its events itself, so a reader needs no list.
"""
PARTS = [("Connections", 1, 39), ("Calls, returns and callbacks of NDKPI", 40, 199),
         ("Drivers and their kernel", 200, 65535)]


def schema(writer):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "trace"
        subprocess.run([writer, "record", "1"], env={**environment, "ONDK_TRACE": str(path)}, check=True, timeout=120)
        return trace_reader.parse_schema(trace_maker.schema_of(path))


def page(source, writer):
    words = json.loads((source / "tools/ndktrace/page/words.json").read_text())["events"]
    events = schema(writer)
    lines = [HEAD]
    for title, first, last in PARTS:
        lines += [f"## {title}\n", "| number | event | what it means | fields |", "|---|---|---|---|"]
        for number, (name, fields) in sorted(events.items()):
            if first <= number <= last:
                kinds = ", ".join(f"{field}: {kind}" for field, kind, _ in fields)
                lines.append(f"| {number} | `{name}` | {words[name]} | {kinds} |")
        lines.append("")
    return "\n".join(lines)


def main():
    source, writer = pathlib.Path(sys.argv[1]), sys.argv[2]
    text = page(source, writer)
    if sys.argv[3:] != ["--check"]:
        sys.stdout.write(text)
        return
    stored = (source / "docs/trace-events.md").read_text()
    sys.stdout.writelines(difflib.unified_diff(stored.splitlines(True), text.splitlines(True), "docs/trace-events.md",
                                               "printed"))
    sys.exit(stored != text)


main()
