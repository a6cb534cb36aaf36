# SPDX-License-Identifier: MIT
"""
Copies of a driver's sources that a compiler here can read: UTF-8, and each #include with the name that the file has.
#line leads debuggers, sanitizers and messages to the files as they were written. A va_list that is NULL at first, a pointer
on Windows and an array here, is declared without a value. Nothing else is changed.
"""
import os
import re

from . import read_file, wpp
from .paths import find

SOURCE_MOST = 64 * 1024 * 1024 # bytes of a source or header

VA_LIST = re.compile(r'\b(va_list\s+\w+)\s*=\s*(?:NULL|0)\s*;')
INCLUDE = re.compile(r'^(\s*#\s*include\s*)(["<])([^">]+)([">])(.*)$')


def decode(octets):
    for mark, encoding in ((b'\xef\xbb\xbf', 'utf-8-sig'), (b'\xff\xfe', 'utf-16'), (b'\xfe\xff', 'utf-16')):
        if octets.startswith(mark):
            return octets.decode(encoding, errors='replace')
    if b'\0' in octets[1:2]:
        return octets.decode('utf-16-le', errors='replace')
    try:
        return octets.decode('utf-8')
    except UnicodeDecodeError:
        return octets.decode('cp1252', errors='replace')


def read_lines(path):
    text = decode(read_file(path, SOURCE_MOST))
    return text.rstrip('\x1a').replace('\r\n', '\n').replace('\r', '\n').split('\n')


class Translator:
    def __init__(self, project, kernel_headers, build_dir):
        self.project, self.build_dir = project, build_dir
        self.kernel = {name.lower(): name for name in os.listdir(kernel_headers)}
        self.files = {}       # original -> (lines, [(line number, resolved)])
        self.functions = list(project.wpp)
        self.bits = []
        self.traces = False
        self.missing = {}     # name as written -> the files that include it

    def resolve(self, name, quoted, including, top):
        """('file', path), ('kernel', name), ('trace', None); None where it is the host's or nobody's."""
        if name.lower().endswith('.tmh'):
            return 'trace', None
        near = [os.path.dirname(including), os.path.dirname(top)] if quoted else []
        for folder in near + self.project.includes:
            path = find(folder, name)
            if path and os.path.isfile(path):
                return 'file', path
        plain = name.replace('\\', '/')
        if plain.lower() in self.kernel:
            return 'kernel', self.kernel[plain.lower()]
        path = find(self.project.folder, name)
        return ('file', path) if path and os.path.isfile(path) else None

    def take(self, path, top):
        """The file and all that it includes, in the order in which a compiler would come by them."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            if path not in self.files:
                waiting += reversed(self.take_one(path, top))

    def take_one(self, path, top):
        """Returns the files that it includes."""
        included = []
        lines = read_lines(path)
        resolved = {}
        self.files[path] = lines, resolved
        functions, bits = wpp.scan(lines)
        self.functions += functions
        self.bits += bits
        for number, line in enumerate(lines):
            include = INCLUDE.match(line)
            if not include:
                continue
            found = self.resolve(include.group(3).strip(), include.group(2) == '"', path, top)
            resolved[number] = found
            if found is None:
                self.missing.setdefault(include.group(3), []).append(path)
            elif found[0] == 'trace':
                self.traces = True
            elif found[0] == 'file':
                included.append(found[1])
        return included

    def copy_of(self, path):
        return os.path.join(self.build_dir, 'src', path.lstrip('/'))

    def rewritten(self, line, found):
        before, opening, name, closing, after = INCLUDE.match(line).groups()
        if found is None:
            return before + opening + name.replace('\\', '/') + closing + after
        kind, what = found
        if kind == 'kernel':
            return f'{before}<{what}>{after}'
        where = self.copy_of(what) if kind == 'file' else os.path.join(self.build_dir, 'trace.tmh')
        return f'{before}"{where}"{after}'

    def write(self):
        """Writes everything that has been taken; returns nothing: copy_of tells where."""
        for path, (lines, resolved) in self.files.items():
            for number, found in resolved.items():
                lines[number] = self.rewritten(lines[number], found)
            lines = [VA_LIST.sub(r'\1;', line) for line in lines]
            copy = self.copy_of(path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            name = path.replace('\\', '\\\\').replace('"', '\\"')
            with open(copy, 'w', encoding='utf-8', errors='surrogateescape') as file:
                file.write(f'#line 1 "{name}"\n' + '\n'.join(lines))
        if self.traces:
            with open(os.path.join(self.build_dir, 'trace.tmh'), 'w', encoding='utf-8') as file:
                file.write(wpp.header(self.functions, self.bits))


def longs(lines):
    """Line numbers where `long` alone is a type: 64 bits here, 32 on Windows."""
    text = '\n'.join(lines)

    def blank(match):
        return re.sub(r'[^\n]', ' ', match.group(0))
    # what has no end is taken whole: to begin again behind its first character costs the square of its length
    text = re.sub(r'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?', blank, text, flags=re.S)
    found, number, at = [], 1, 0
    for match in re.finditer(r'(?<!\blong )\blong\b(?!\s+(?:long|double|int\s+long)\b)', text):
        number += text.count('\n', at, match.start())
        at = match.start()
        found.append(number)
    return found
