#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layers.py LAYERS: a folder of src/wdk calls only the folders that src/wdk/CMakeLists.txt lets it see.

The build hides the other folders' headers, but include/wdk declares every folder's routines to all. LAYERS, written by
CMake, has a line for each folder, lowest first: its name, the folders that it sees, its objects.
"""
import subprocess
import sys
from pathlib import Path


def symbols(objects):
    """(defined, undefined) names of some object files."""
    defined, undefined = set(), set()
    listed = subprocess.run(['nm', '-P', '-g', *objects], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        words = line.split()
        if len(words) >= 2:
            (undefined if words[1] in 'Uwv' else defined).add(words[0])
    return defined, undefined


def main():
    layers = [line.split(':') for line in Path(sys.argv[1]).read_text(encoding='utf-8').splitlines()]
    layers = [(name, seen.split(), symbols(objects.split())) for name, seen, objects in layers]
    home = {symbol: name for name, _, (defined, _) in layers for symbol in defined}
    below, breaches = set(), 0
    for name, seen, (_, undefined) in layers:
        for folder in set(seen) - below:
            print(f'{name} stands on {folder}, which is not below it')
            breaches += 1
        for symbol in sorted(undefined):
            if home.get(symbol, name) not in (name, *seen):
                print(f'{name} calls {symbol} of {home[symbol]}')
                breaches += 1
        below.add(name)
    print(f'{len(layers)} folders, {len(home)} symbols, {breaches} breaches')
    return 1 if breaches or len(layers) < 10 or len(home) < 500 else 0


sys.exit(main())
