# SPDX-License-Identifier: MIT
"""
The parts of ndk-cc: project (what to build), translate (sources that gcc can read), wpp (.tmh), advice. A folder may come
from anybody: what it says is bounded, stays inside of the output, and a fault in it is a Trouble, not a traceback.
"""
import os


class Trouble(Exception):
    """Something the user has to know; the text is the whole message."""


def printable(text, keep='\t'):
    """The text without what a terminal would obey: each such character as \\xNN."""
    return ''.join(c if c.isprintable() or c in keep else f'\\x{ord(c):02x}' for c in text)


def read_file(path, most):
    """A regular file's bytes; most: how many it may have. Devices and pipes have no end."""
    if not os.path.isfile(path):
        raise Trouble(f'{path}: not a file')
    with open(path, 'rb') as file:
        octets = file.read(most + 1)
    if len(octets) > most:
        raise Trouble(f'{path}: larger than {most >> 20} MiB, the most that ndk-cc reads')
    return octets
