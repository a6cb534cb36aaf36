# SPDX-License-Identifier: MIT
"""Macro expansion with limits: without limits, each line of a project could double the text of the lines before it."""
import re

from . import Trouble

MAX_TEXT = 256 * 1024         # characters of one text
MAX_TOTAL = 32 * 1024 * 1024   # characters of all expansions together
MAX_PROJECT = 4 * 1024 * 1024 # bytes of a project file, or of a `sources` file
MAX_FILES = 1000              # that one project may import or include
MAX_DEPTH = 32                # of nested includes, and of nested elements


class Substitution:
    def __init__(self):
        self.made = 0

    def put(self, pattern, text, value):
        """Returns the text with each match of the pattern replaced by value(match)."""
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
        if self.made > MAX_TOTAL:
            raise Trouble(f'the project expands to more than {MAX_TOTAL >> 20} MiB of text')
        return ''.join(parts)

    @staticmethod
    def check(length, text):
        if length > MAX_TEXT:
            raise Trouble(f'the project has a text that expands to more than {MAX_TEXT >> 10} KiB: {text[:60]!r}...')


def equal(condition):
    """Evaluates 'a'=='b' or 'a'!='b'. Returns None if the condition does not have that form."""
    for sign in ('==', '!='):
        left, found, right = condition.partition(sign)
        if found:
            sides = [side.strip().strip('()"').strip().strip("'").strip().lower() for side in (left, right)]
            return None if any(re.search("[=!']", side) for side in sides) else (sides[0] == sides[1]) == (sign == '==')
    return None
