# SPDX-License-Identifier: MIT
"""
The parts of ndk-cc: project (what to build), translate (sources that gcc can read), wpp (.tmh), advice. A driver's
folder is untrusted: each input has a size limit, nothing is written outside of the output, and a wrong input raises
Trouble.
"""
import os


class Trouble(Exception):
    """An error in the input. The text is the whole message for the user."""


def printable(text, keep='\t'):
    """Returns the text with \\xNN for each character that is not printable, except those in `keep`."""
    return ''.join(c if c.isprintable() or c in keep else f'\\x{ord(c):02x}' for c in text)


def read_file(path, limit):
    """Returns the bytes of a regular file, at most `limit`. Refuses devices and pipes, which may have no end."""
    if not os.path.isfile(path):
        raise Trouble(f'{path}: not a file')
    with open(path, 'rb') as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Trouble(f'{path}: larger than {limit >> 20} MiB, the limit of ndk-cc')
    return data
