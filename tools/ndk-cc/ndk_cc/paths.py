# SPDX-License-Identifier: MIT
"""Paths as Windows writes them: backslashes, and letters in either case."""
import fnmatch
import functools
import os
import re

from . import Trouble

NAMES_MOST = 100000 # looked at for one pattern


@functools.lru_cache(maxsize=None)
def _names(folder):
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    return {name.lower(): name for name in sorted(names, reverse=True)}


def find(folder, written):
    """The file that `written` names, seen from folder, whatever the case of its letters; None if there is none."""
    at = '/' if written.startswith('/') else folder
    for part in written.replace('\\', '/').split('/'):
        if part in ('', '.'):
            continue
        if part == '..':
            at = os.path.dirname(os.path.abspath(at))
            continue
        exact = os.path.join(at, part)
        if not os.path.lexists(exact):
            name = _names(at).get(part.lower())
            if name is None:
                return None
            exact = os.path.join(at, name)
        at = exact
    return os.path.abspath(at)


def _pattern(part):
    return re.compile(fnmatch.translate(part), re.I)


def match(folder, written):
    """The files that a name with *, ? or ** matches, seen from folder, sorted."""
    parts = [part for part in written.replace('\\', '/').split('/') if part not in ('', '.')]
    first = next(i for i, part in enumerate(parts) if '*' in part or '?' in part)
    base = find(folder, ('/' if written.startswith(('/', '\\')) else '') + '/'.join(parts[:first]))
    rest = tuple(part if part == '**' else _pattern(part) for part in parts[first:])
    found, seen, waiting, looked = set(), set(), [(base, rest)] if base else [], 0
    while waiting:
        at, rest = waiting.pop()
        if (at, rest) in seen:
            continue
        seen.add((at, rest))
        if rest[0] == '**' and len(rest) > 1:
            waiting.append((at, rest[1:]))
        for entry in _entries(at):
            looked += 1
            if looked > NAMES_MOST:
                raise Trouble(f'{written}: would look at more than {NAMES_MOST} files and folders')
            if rest[0] == '**':
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, rest))
            elif rest[0].match(entry.name):
                if len(rest) > 1:
                    waiting.append((entry.path, rest[1:]))
                elif entry.is_file():
                    found.add(entry.path)
    return sorted(found)


def _entries(folder):
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
