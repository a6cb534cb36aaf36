#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/kernel-routines.md from the headers in include/wdk.

kernel_routines.py SOURCE_DIR              prints the page
kernel_routines.py SOURCE_DIR LIBRARY...   fails if the page in the tree says something else, or if the libraries do not
                                           export what the headers declare
"""
import difflib
import pathlib
import re
import subprocess
import sys
import textwrap

LEFT_OUT = ('ondk_wpp.h', 'mingw.h', 'sal.h', 'driverspecs.h', 'specstrings.h', 'concurrencysal.h', 'poppack.h',
            'pshpack1.h', 'pshpack2.h', 'pshpack4.h', 'pshpack8.h')
EXPORTED, INLINE = 'visibility("default")', 'inline '
WORDS = '''<!-- SPDX-License-Identifier: MIT -->
# Kernel routines that drivers can call

Printed from the headers in `include/wdk` by `tests/docs/kernel_routines.py`. A test compares, and checks that the
library has each function. Function-like macros and inline functions are included. The headers describe each routine's
differences from Windows, if there are any.

'''


def preprocessed(root):
    """(header, line) of all headers, macros expanded and their definitions kept."""
    folder = root / 'include' / 'wdk'
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob('*.h')) if path.name not in LEFT_OUT]
    names.sort(key=lambda name: (not name.startswith('nt'), '/' in name, name))
    command = ['gcc', '-E', '-dD', '-fshort-wchar', '-fms-extensions', f'-I{folder}', f'-I{root}/include', '-xc', '-']
    text = subprocess.run(command, input='#include "ntddk.h"\n' + ''.join(f'#include "{name}"\n' for name in names),
                          capture_output=True, text=True, check=True).stdout
    header = None
    for line in text.split('\n'):
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            path = pathlib.Path(marker.group(1))
            header = path.relative_to(folder).as_posix() if folder in path.parents else None
        elif header and pathlib.Path(header).name not in LEFT_OUT:
            yield header, line


def statements(text):
    """Declarations and heads of functions, without bodies."""
    depth, out = 0, ''
    for letter in text:
        if letter == '{':
            depth += 1
            out += ';' if depth == 1 else ''
        elif letter == '}':
            depth -= 1
        elif depth == 0:
            out += letter
    return [re.sub(r'\s+', ' ', statement).strip() for statement in out.split(';')]


def declared(text):
    """(exported functions, inline functions)."""
    exported, inline = set(), set()
    for statement in statements(text):
        kind = exported if EXPORTED in statement else inline if INLINE in statement else None
        plain = re.sub(r'(__attribute__|__declspec|_Alignas)\s*\((\([^()]*(\([^()]*\))*[^()]*\)|[^()]*)\)', '',
                       statement)
        match = re.search(r'\b([A-Za-z_]\w*)\s*\(', plain)
        if kind is not None and match:
            kind.add(match.group(1))
    return exported, inline


def routines(lines):
    """(exported functions, what else is called like one) of a header."""
    macros, text = set(), ''
    for line in lines:
        define = re.match(r'\s*#\s*define\s+(\w+)(\(| +ondk_\w+$| +(?=[A-Z][a-z]+)\w+$)', line)
        if define and re.search('[a-z]', define.group(1)):
            macros.add(define.group(1))
        if not line.lstrip().startswith('#'):
            text += line + '\n'
    exported, inline = declared(text)
    return exported, (inline | macros) - exported


def own(name):
    return name.lower().startswith(('ondk_', '_')) or name == 'DriverEntry' or not re.search('[a-z]', name)


def missing(names, libraries):
    listing = ['nm', '-D', '--defined-only', *libraries]
    output = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    there = {line.split()[-1].split('@')[0] for line in output.splitlines() if len(line.split()) > 1}
    return sorted(names - there - {'DriverEntry'})


def page(root):
    """The page, and all names of functions that the library has to have."""
    by_header = {}
    for header, line in preprocessed(root):
        by_header.setdefault(header, []).append(line)
    functions, count, out = set(), 0, ''
    for header in sorted(by_header):
        exported, other = routines(by_header[header])
        functions |= exported
        names = sorted((name for name in exported | other if not own(name)), key=lambda name: (name.lower(), name))
        count += len(names)
        if names:
            words = textwrap.fill(', '.join(f'`{name}`' for name in names), 119, break_long_words=False,
                                  break_on_hyphens=False)
            out += f'## {header}\n\n{words}\n\n'
    return WORDS + f'{count} in all.\n\n' + out.rstrip() + '\n', functions


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    text, functions = page(root)
    if len(sys.argv) == 2:
        print(text, end='')
        return 0
    lost = missing(functions, sys.argv[2:])
    if lost:
        print('declared, but in no library: ' + ', '.join(lost))
    written = (root / 'docs' / 'kernel-routines.md').read_text(encoding='utf-8')
    if written != text:
        print('docs/kernel-routines.md is not what the headers say now: '
              'tests/docs/kernel_routines.py . > docs/kernel-routines.md')
        print(*difflib.unified_diff(written.split('\n'), text.split('\n'), 'written', 'headers', n=0, lineterm=''),
              sep='\n')
    return lost != [] or written != text


sys.exit(main())
