# SPDX-License-Identifier: MIT
"""ndk-cc's command line: --help and messages in the form that the other tools have."""
import argparse
import difflib
import os
import re
import sys
import textwrap
import threading
import time

COLUMN, WIDTH = 29, 80  # where the texts of options begin, and the length of lines

SUMMARY = 'ndk-cc builds an unchanged folder of a Windows kernel driver into a shared object for ndkrun.'
USAGE = '[OPTION]... DIR|FILE...'
STATUSES = ((0, 'the driver was built'), (1, 'a compiler or linker reported an error'),
            (2, 'wrong usage, or a file that cannot be read or written'),
            (6, 'the output could not be written completely'), (130, 'interrupted'))
NOTES = '''\
DIR|FILE is a folder, a project, a sources file, or C files. A folder's sources come
from its project file (*.vcxproj of type Driver), its `sources` file, or are all of its
C files. Static libraries to which the project refers, and further folders, are linked.
Names in #include may have any case and backslashes. Generated .tmh files make
trace calls print. Sources may be UTF-16.

  ndk-cc ~/src/mydriver -o mydriver.so           then: ndkrun mydriver.so
  ndk-cc mydriver.vcxproj --configuration Release
  ndk-cc a.c b.c -Iinc -DMAX=4 -o ab.so --sanitize address
'''
SANITIZERS = ('address', 'thread', 'undefined', 'address,undefined')


def end_with_output(text):
    """Prints the text and ends the program, with exit code 6 if the text could not be written."""
    try:
        print(text, end='', flush=True)
    except OSError as error:
        print(f'ndk-cc: standard output: {error.strerror}: not all of the output was written', file=sys.stderr,
              flush=True)
        os._exit(6)  # without another attempt to write
    sys.exit(0)


class Parser(argparse.ArgumentParser):
    """Prints --help and errors as tools/command.c does."""

    def format_help(self):
        lines = [*textwrap.wrap(SUMMARY, WIDTH), '', f'Usage: {self.prog} {USAGE}', '', 'Options:']
        for action in self._actions:
            if not action.option_strings:
                continue
            names = '  ' + ', '.join(action.option_strings) + (f' {action.metavar}' if action.metavar else '')
            text = textwrap.wrap(action.help, WIDTH - COLUMN)
            if len(names) + 2 <= COLUMN:
                names = names.ljust(COLUMN) + text.pop(0)
            lines += [names, *(' ' * COLUMN + line for line in text)]
        lines += ['', 'Exit status:']
        for code, text in STATUSES:
            lines.append(f'  {code:<5}{text}')
        return '\n'.join(lines) + '\n\n' + NOTES

    def error(self, message):
        unknown = re.match(r'unrecognized arguments: (\S+)', message)
        named = re.match(r'argument ([^:]+): (.*)', message)
        if unknown:
            names = [name for action in self._actions for name in action.option_strings]
            near = difflib.get_close_matches(unknown[1].partition('=')[0], names, 1)
            message = f'{unknown[1]}: unknown option' + (f'; the nearest one is {near[0]}' if near else '')
        elif named:
            name = named[1].split('/')[-1]
            text = named[2].replace('expected one argument', 'the value is missing')
            message = f'{name}: {text}'
        print(f'{self.prog}: {message}\nTry \'{self.prog} --help\'.', file=sys.stderr)
        sys.exit(2)


class Help(argparse.Action):
    def __call__(self, parser, *_):
        end_with_output(parser.format_help())


class Version(argparse.Action):
    def __init__(self, version, **more):
        super().__init__(nargs=0, **more)
        self.version = version

    def __call__(self, parser, *_):
        end_with_output(f'{parser.prog} (OpenNDK) {self.version()}\n')


def sanitizer(word):
    if word not in SANITIZERS:
        raise argparse.ArgumentTypeError(f"'{word}' is not a value for this option: "
                                         f"{', '.join(SANITIZERS[:-1])} or {SANITIZERS[-1]} is expected")
    return word


def parse(version):
    """Parses the command line. `version` is a function that returns the version for --version."""
    parser = Parser(prog='ndk-cc', add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add('what', nargs='*')
    add('-o', '--output', dest='output', metavar='DRIVER.so', help="the output file (default the project's name + .so)")
    add('-I', dest='include', action='append', default=[], metavar='DIR', help='a folder of headers')
    add('-D', dest='define', action='append', default=[], metavar='NAME[=VALUE]', help='a macro')
    add('--cc', default='gcc', metavar='gcc|clang|PATH', help='the compiler (default gcc)')
    add('--sanitize', type=sanitizer, metavar='|'.join(SANITIZERS),
        help='build with a sanitizer; ndkrun finds its runtime')
    add('--configuration', default='Debug', metavar='NAME[|PLATFORM]',
        help="the project's configuration; Debug compiles with -O0, others with -O2 (default Debug)")
    add('-f', dest='flag', action='append', default=[], metavar='FLAG', help='a flag for the compiler: -f=-Wall')
    add('--build-dir', metavar='DIR', help='keep the intermediate files in DIR')
    add('-v', '--verbose', dest='verbose', action='store_true', help='show notes and commands')
    add('-h', '--help', nargs=0, action=Help, help='print this help')
    add('--version', action=Version, version=version, help='print the version')
    given = parser.parse_intermixed_args()
    if not given.what:
        parser.error('no folder or file: ndk-cc DIR')
    return given


class Progress:
    """After two seconds, shows on stderr, if it is a terminal, how many files are compiled."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()
        self.lock = threading.Lock()

    def add(self):
        with self.lock:
            self.done += 1
            if sys.stderr.isatty() and time.monotonic() - self.start >= 2:
                end = '\r\033[K' if self.done == self.total else ''
                print(f'\r{self.done} of {self.total} files are compiled\033[K{end}', end='', file=sys.stderr,
                      flush=True)
