# SPDX-License-Identifier: MIT
"""
Writes copies of a driver's sources that gcc and clang can read: in UTF-8, and each #include with the file's real name.
In C++, wrappers of the standard library's headers undefine the kit's macros that are names of that library.
#line directives make debuggers, sanitizers and messages name the original files. If a va_list is initialized with
NULL, the initializer is removed, because a va_list is a pointer on Windows and an array here. A prototype of swprintf
declares another name, because swprintf is a macro here. dialect.py describes the other changes.
"""
import os
import re

from . import dialect, read_file, wpp
from .paths import find

MAX_SOURCE = 64 * 1024 * 1024 # bytes of a source or header

VA_LIST = re.compile(r'\b(va_list\s+\w+)\s*=\s*(?:NULL|0)\s*;')
# A driver's own prototype of what is a macro here.
PROTOTYPE = re.compile(r'^(\s*(?:extern\s+)?(?:_CRTIMP\s+)?int\s+(?:_{0,2}cdecl\s+)?)(swprintf|_snwprintf)(\s*\()')
# Macros of the kit that libstdc++ uses as names, and its headers: they have no extension.
NAMES_OF_LIBRARY = ('__in', '__out')
STANDARD = re.compile(r'[a-z_0-9]+')
INCLUDE = re.compile(r'^(\s*#\s*include\s*)(["<])([^">]+)([">])(.*)$')


def decode(data):
    for mark, encoding in ((b'\xef\xbb\xbf', 'utf-8-sig'), (b'\xff\xfe', 'utf-16'), (b'\xfe\xff', 'utf-16')):
        if data.startswith(mark):
            return data.decode(encoding, errors='replace')
    if b'\0' in data[1:2]:
        return data.decode('utf-16-le', errors='replace')
    try:
        return data.decode('utf-8')
    except UnicodeDecodeError:
        return data.decode('cp1252', errors='replace')


def read_lines(path):
    text = decode(read_file(path, MAX_SOURCE))
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
        """Returns ('file', path), ('kernel', name) or ('trace', None); None if the compiler must find the file."""
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

    def read(self, path, top):
        """Reads the file and all files that it includes, in the order in which a compiler reads them."""
        waiting = [path]
        while waiting:
            path = waiting.pop()
            if path not in self.files:
                waiting += reversed(self.read_one(path, top))

    def read_one(self, path, top):
        """Reads one file. Returns the files that it includes."""
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
        """Writes the copies of all files that were read; copy_of has their paths."""
        literal = any(dialect.uses_literal_function('\n'.join(lines)) for lines, _ in self.files.values())
        for path, (lines, resolved) in self.files.items():
            for number, found in resolved.items():
                lines[number] = self.rewritten(lines[number], found)
            plain = (PROTOTYPE.sub(r'\1ondk_own_\2\3', VA_LIST.sub(r'\1;', line)) for line in lines)
            text = dialect.rewrite('\n'.join(plain), literal)
            copy = self.copy_of(path)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            name = path.replace('\\', '\\\\').replace('"', '\\"')
            with open(copy, 'w', encoding='utf-8', errors='surrogateescape') as file:
                file.write(f'#line 1 "{name}"\n' + text)
        for name in filter(STANDARD.fullmatch, self.missing):
            self.write_standard(name)
        if self.traces:
            with open(os.path.join(self.build_dir, 'trace.tmh'), 'w', encoding='utf-8') as file:
                file.write(wpp.header(self.functions, self.bits))

    def standard(self):
        """Returns the folder of the wrappers of standard headers, which need not exist."""
        return os.path.join(self.build_dir, 'standard')

    def write_standard(self, name):
        """Writes a wrapper of a standard header of C++, which is compiled without the macros NAMES_OF_LIBRARY."""
        os.makedirs(self.standard(), exist_ok=True)
        with open(os.path.join(self.standard(), name), 'w', encoding='utf-8') as file:
            for macro in NAMES_OF_LIBRARY:
                file.write(f'#pragma push_macro("{macro}")\n#undef {macro}\n')
            file.write(f'#include_next <{name}>\n')
            for macro in NAMES_OF_LIBRARY:
                file.write(f'#pragma pop_macro("{macro}")\n')


def longs(lines):
    """Returns the line numbers of the type `long`, which has 64 bits here and 32 on Windows."""
    text = '\n'.join(lines)

    def blank(match):
        return re.sub(r'[^\n]', ' ', match.group(0))
    # An unterminated comment or string matches up to the end, because the search would otherwise take quadratic time.
    text = re.sub(r'/\*.*?(?:\*/|\Z)|//[^\n]*|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?', blank, text, flags=re.S)
    found, number, at = [], 1, 0
    for match in re.finditer(r'(?<!\blong )\blong\b(?!\s+(?:long|double|int\s+long)\b)', text):
        number += text.count('\n', at, match.start())
        at = match.start()
        found.append(number)
    return found
