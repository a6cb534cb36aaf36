#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each status value of ours that mingw-w64's ntstatus.h has too is the same there.

usage: statuses.py compiler include-directory [their ntstatus.h]
Exits with 77, and says so, where their header is not installed.
"""
import os
import re
import subprocess
import sys


def values(path):
    """Name to value, of definitions that are plain numbers."""
    found = {}
    with open(path, encoding='utf-8', errors='replace') as file:
        for line in file:
            match = re.match(r'#define\s+(STATUS_\w+)\s+\(\(NTSTATUS\)\s*(0x[0-9A-Fa-f]+)L?\)', line)
            if match:
                found[match.group(1)] = int(match.group(2), 16)
    return found


def main():
    compiler, include = sys.argv[1:3]
    theirs = sys.argv[3] if len(sys.argv) > 3 else '/usr/share/mingw-w64/include/ntstatus.h'
    if not os.path.exists(theirs):
        print(f'skipped: {theirs} is not there (Debian package mingw-w64-common)')
        return 77
    ours, known = values(f'{include}/ntstatus.h'), values(theirs)
    common = sorted(set(ours) & set(known))
    wrong = [name for name in common if ours[name] != known[name]]
    for name in wrong:
        print(f'{name}: {ours[name]:#x} here, {known[name]:#x} there')
    print(f'{len(ours)} here, {len(common)} of them there')
    if len(common) < 700 or wrong:
        return 1
    # Each of ours is a negative or positive 32-bit number to the compiler, as severity wants it.
    source = '#include "ntstatus.h"\n' + ''.join(
        f'C_ASSERT({name} == {value - (1 << 32) if value >> 31 else value});\n' for name, value in ours.items())
    return subprocess.run([compiler, '-fshort-wchar', '-fsyntax-only', '-I', include, '-x', 'c', '-'], input=source,
                          text=True, check=False).returncode


sys.exit(main())
