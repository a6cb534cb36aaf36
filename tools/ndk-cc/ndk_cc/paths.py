# SPDX-License-Identifier: MIT
"""Finds files by Windows paths: with backslashes, and ignoring case."""
import fnmatch
import functools
import os
import re

from . import Trouble

MAX_NAMES = 100000 # file names that are examined for one pattern


@functools.lru_cache(maxsize=None)
def names(folder):
    """Returns the folder's names by their lower case; none if it cannot be read."""
    try:
        found = os.listdir(folder)
    except OSError:
        return {}
    return {name.lower(): name for name in sorted(found, reverse=True)}


def find(folder, written):
    """Returns the file that the path `written` names, relative to `folder`, ignoring case; None if there is none."""
    at = '/' if written.startswith('/') else folder
    for part in written.replace('\\', '/').split('/'):
        if part in ('', '.'):
            continue
        if part == '..':
            at = os.path.dirname(os.path.abspath(at))
            continue
        exact = os.path.join(at, part)
        if not os.path.lexists(exact):
            name = names(at).get(part.lower())
            if name is None:
                return None
            exact = os.path.join(at, name)
        at = exact
    return os.path.abspath(at)


def _pattern(part):
    return re.compile(fnmatch.translate(part), re.I)


def match(folder, written):
    """Returns the files that a path with *, ? or **, relative to `folder`, matches, sorted."""
    parts = [part for part in written.replace('\\', '/').split('/') if part not in ('', '.')]
    first = next(i for i, part in enumerate(parts) if '*' in part or '?' in part)
    base = find(folder, ('/' if written.startswith(('/', '\\')) else '') + '/'.join(parts[:first]))
    rest = tuple(part if part == '**' else _pattern(part) for part in parts[first:])
    found, seen, waiting, examined = set(), set(), [(base, rest)] if base else [], 0
    while waiting:
        at, rest = waiting.pop()
        if (at, rest) in seen:
            continue
        seen.add((at, rest))
        if rest[0] == '**' and len(rest) > 1:
            waiting.append((at, rest[1:]))
        for entry in _entries(at):
            examined += 1
            if examined > MAX_NAMES:
                raise Trouble(f'{written}: the pattern matches against more than {MAX_NAMES} files and folders')
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
