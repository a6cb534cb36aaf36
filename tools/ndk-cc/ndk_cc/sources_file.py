# SPDX-License-Identifier: MIT
"""A `sources` file, as the older kits' build.exe reads it: NAME=value lines with continuations, !if, !include."""
import os
import re
import shlex

from .paths import find


def logical_lines(path):
    with open(path, encoding='utf-8-sig', errors='replace') as file:
        line = ''
        for raw in file:
            text = re.sub(r'(^|\s)#.*', '', raw.rstrip('\r\n')).rstrip()
            if text.endswith('\\'):
                line += text[:-1] + ' '
                continue
            yield (line + text).strip()
            line = ''
        if line:
            yield line.strip()


class Reader:
    def __init__(self):
        self.macros = {'amd64': '1', '_buildarch': 'amd64', 'ddkbuildenv': 'chk', 'nttargetfiles': ''}
        self.taken = []  # for each !if that is open: whether lines count, and whether a branch has been taken

    def expand(self, text):
        return re.sub(r'\$\((\w+)\)', lambda m: self.macros.get(m.group(1).lower(), m.group(0)), text)

    def holds(self, word, rest):
        if word in ('ifdef', 'ifndef'):
            return (rest.strip().lower() in self.macros) == (word == 'ifdef')
        defined = re.fullmatch(r'(!?)\s*defined\s*\(\s*(\w+)\s*\)', rest.strip(), re.I)
        if defined:
            return (defined.group(2).lower() in self.macros) != bool(defined.group(1))
        text = re.sub(r'\$\(\w+\)', '', self.expand(rest)).replace('"', '').strip()
        compare = re.fullmatch(r'(.*?)\s*(==|!=)\s*(.*)', text)
        if compare:
            return (compare.group(1).lower() == compare.group(3).lower()) == (compare.group(2) == '==')
        return text not in ('', '0')

    def directive(self, line, folder):
        word, _, rest = line[1:].strip().partition(' ')
        word = word.lower()
        if word in ('if', 'ifdef', 'ifndef'):
            holds = self.holds(word, rest)
            self.taken.append([holds, holds])
        elif word in ('else', 'elseif') and self.taken:
            now = self.taken[-1]
            again = re.match(r'(if(?:n?def)?)\s+(.*)', rest.strip(), re.I)
            now[0] = not now[1] and (self.holds(again.group(1).lower(), again.group(2)) if again else True)
            now[1] = now[1] or now[0]
        elif word == 'endif' and self.taken:
            self.taken.pop()
        elif word == 'include' and all(level[0] for level in self.taken):
            path = find(folder, self.expand(rest.strip().strip('"<>')))
            if path:
                self.read(path)

    def read(self, path):
        for line in logical_lines(path):
            if line.startswith('!'):
                self.directive(line, os.path.dirname(path))
            elif '=' in line and all(level[0] for level in self.taken):
                name, _, value = line.partition('=')
                key = name.strip().lower()
                self.macros[key] = re.sub(rf'(?i)\$\({re.escape(key)}\)', lambda _: self.macros.get(key, ''),
                                          value).strip()


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
    options = shlex.split(flags.replace('\\', '/'), posix=True)
    project.defines += [option[2:] for option in options if option[:2] in ('-D', '/D')]
    project.wpp += [line.strip('"') for line in re.findall(r'-func:(\S+?\)|"[^"]+")', value('run_wpp'))]
