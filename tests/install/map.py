#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The linker's version script lists the functions that the public headers mark with ONDK_API.

usage: map.py SOURCE_DIRECTORY
"""
import pathlib
import re
import sys

FUNCTION = re.compile(r'^ONDK_API\b[^;(]*?\b(\w+)\(', re.M)
LISTED = re.compile(r'^\s+(\w+);$', re.M)


def main():
    source = pathlib.Path(sys.argv[1])
    headers = [h for h in (source / 'include/openndk').glob('*.h') if h.name != 'wdk.h']
    declared = {name for header in headers for name in FUNCTION.findall(header.read_text())}
    listed = set(LISTED.findall((source / 'src/openndk.map').read_text()))
    for name in sorted(declared - listed):
        print(f'{name}: add it to src/openndk.map')
    for name in sorted(listed - declared):
        print(f'{name}: src/openndk.map has it, and no header declares it')
    print(f'{len(declared)} functions')
    return declared != listed or not declared


sys.exit(main())
