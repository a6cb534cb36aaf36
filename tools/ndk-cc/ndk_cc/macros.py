# SPDX-License-Identifier: MIT
"""Named texts put into other texts, with bounds: each line of a project can double what the lines before it made."""
import re

from . import Trouble

TEXT_MOST = 256 * 1024         # characters of one text
ALL_MOST = 32 * 1024 * 1024    # of all that are made
PROJECT_MOST = 4 * 1024 * 1024 # bytes of a project file, or of a `sources` file
FILES_MOST = 1000              # that a project may read: imports, includes
DEPTH_MOST = 32                # of files that include one another, and of elements


class Substitution:
    def __init__(self):
        self.made = 0

    def put(self, pattern, text, value):
        """The text with each match of the pattern replaced by value(match)."""
        parts, length, at = [], 0, 0
        for match in re.finditer(pattern, text, flags=re.I):
            for part in (text[at:match.start()], value(match)):
                parts.append(part)
                length += len(part)
            self.check(length, text)
            at = match.end()
        parts.append(text[at:])
        length += len(text) - at
        self.check(length, text)
        self.made += length
        if self.made > ALL_MOST:
            raise Trouble(f'the project expands to more than {ALL_MOST >> 20} MiB of text')
        return ''.join(parts)

    @staticmethod
    def check(length, text):
        if length > TEXT_MOST:
            raise Trouble(f'the project has a text that expands to more than {TEXT_MOST >> 10} KiB: {text[:60]!r}...')


def equal(condition):
    """Of 'a'=='b' or 'a'!='b': does it hold? None: it is not of that form."""
    for sign in ('==', '!='):
        left, found, right = condition.partition(sign)
        if found:
            sides = [side.strip().strip('()"').strip().strip("'").strip().lower() for side in (left, right)]
            return None if any(re.search("[=!']", side) for side in sides) else (sides[0] == sides[1]) == (sign == '==')
    return None
