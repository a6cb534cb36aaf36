# SPDX-License-Identifier: MIT
"""Paths as Windows writes them: backslashes, and letters in either case."""
import functools
import os


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
