# SPDX-License-Identifier: MIT
"""A `sources` file, as the older kits' build.exe reads it: NAME=value lines with continuations, !if, !include."""
import os
import re
import shlex

from . import Trouble, read_file, wpp
from .macros import MAX_DEPTH, MAX_FILES, MAX_PROJECT, Substitution, equal
from .paths import find


def logical_lines(path):
    parts = []
    for raw in read_file(path, MAX_PROJECT).decode('utf-8-sig', errors='replace').split('\n'):
        text = re.sub(r'(^|\s)#.*', '', raw.rstrip('\r')).rstrip()
        if text.endswith('\\'):
            parts.append(text[:-1] + ' ')
            continue
        yield (''.join(parts) + text).strip()
        parts = []
    if parts:
        yield ''.join(parts).strip()


class Reader:
    def __init__(self):
        self.macros = {'amd64': '1', '_buildarch': 'amd64', 'ddkbuildenv': 'chk', 'nttargetfiles': ''}
        self.substitution = Substitution()
        self.open, self.files = [], 0  # the nested files that are being read, and the number of all files so far
        self.branches = []  # for each open !if: whether its lines count, and whether one of its branches counted

    def expand(self, text):
        return self.substitution.put(r'\$\((\w+)\)', text, lambda m: self.macros.get(m.group(1).lower(), m.group(0)))

    def is_true(self, word, rest):
        if word in ('ifdef', 'ifndef'):
            return (rest.strip().lower() in self.macros) == (word == 'ifdef')
        defined = re.fullmatch(r'(!?)\s*defined\s*\(\s*(\w+)\s*\)', rest.strip(), re.I)
        if defined:
            return (defined.group(2).lower() in self.macros) != bool(defined.group(1))
        text = re.sub(r'\$\(\w+\)', '', self.expand(rest)).replace('"', '').strip()
        compared = equal(text)
        return text not in ('', '0') if compared is None else compared

    def directive(self, line, folder):
        word, _, rest = line[1:].strip().partition(' ')
        word = word.lower()
        if word in ('if', 'ifdef', 'ifndef'):
            is_true = self.is_true(word, rest)
            self.branches.append([is_true, is_true])
        elif word in ('else', 'elseif') and self.branches:
            now = self.branches[-1]
            again = re.match(r'(if(?:n?def)?)\s+(.*)', rest.strip(), re.I)
            now[0] = not now[1] and (self.is_true(again.group(1).lower(), again.group(2)) if again else True)
            now[1] = now[1] or now[0]
        elif word == 'endif' and self.branches:
            self.branches.pop()
        elif word == 'include' and all(level[0] for level in self.branches):
            path = find(folder, self.expand(rest.strip().strip('"<>')))
            if path and os.path.isfile(path):
                self.read(path)

    def read(self, path):
        self.files += 1
        if path in self.open:
            raise Trouble(f'{path} includes itself' + (f', by {self.open[-1]}' if path != self.open[-1] else ''))
        if len(self.open) == MAX_DEPTH or self.files > MAX_FILES:
            raise Trouble(f'{self.open[0]} includes more than {MAX_FILES} files, or nests more than {MAX_DEPTH}')
        self.open.append(path)
        self.read_lines(path)
        self.open.pop()

    def read_lines(self, path):
        for line in logical_lines(path):
            if line.startswith('!'):
                self.directive(line, os.path.dirname(path))
            elif '=' in line and all(level[0] for level in self.branches):
                name, _, value = line.partition('=')
                key = name.strip().lower()
                self.macros[key] = self.substitution.put(rf'\$\({re.escape(key)}\)', value,
                                                         lambda _, key=key: self.macros.get(key, '')).strip()


def read_sources(path, project):
    project.kind = '`sources` file'
    reader = Reader()
    reader.read(path)

    def value(name):
        return reader.expand(reader.macros.get(name, ''))

    if value('targetname'):
        project.name = value('targetname')
    for written in (value('sources') + ' ' + value('amd64_sources')).split():
        if '$(' not in written:
            project.add_source(find(project.folder, written), written)
    for written in value('includes').split(';'):
        if written.strip():
            project.add_include(written.strip())
    flags = re.sub(r'\$\(\w+\)', '', value('c_defines') + ' ' + value('user_c_flags'))
    try:
        options = shlex.split(flags.replace('\\', '/'), posix=True)
    except ValueError as error:
        raise Trouble(f'{path}: C_DEFINES or USER_C_FLAGS: {error}') from None
    project.defines += [option[2:] for option in options if option[:2] in ('-D', '/D') and option[2:]]
    project.wpp += wpp.named_functions(value('run_wpp'))
