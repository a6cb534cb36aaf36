# SPDX-License-Identifier: MIT
"""Explains messages of the compiler and the linker to a driver's author: file, line, and what to do."""
import os
import re

from . import Trouble, scope
from .translate import read_lines

LISTS = 'docs/kernel-routines.md lists those that OpenNDK has'
KERNEL = re.compile(r'(?:BCrypt|Cc|Cm|Dbg|Etw|Ex|Flt|FsRtl|Hal|Io|Kd|Ke|Ki|Mm|Ndis|Ndk|Nt|Ob|Po|Ps|Rtl|ScsiPort|Se|'
                    r'StorPort|Wdf|Wmi|Wsk|Zw)f?[A-Z]\w*')
PLACE = re.compile(r'^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?P<kind>(?:fatal )?error|warning): '
                   r'(?P<text>.*)$', re.M)
LINKED = re.compile(r'^(?:\S*ld(?:\.\w+)?: )?(?P<file>[^\n]*?):(?:(?P<line>\d+):|\([^)\n]*\):) '
                    r'undefined reference to [`\'‘](?P<name>\w+)', re.M)
LINKED_BY_LLD = re.compile(r'undefined symbol: (?P<name>\w+)[^\n]*\n>>> referenced by [^\n]*?'
                           r'\(?(?P<file>[^\s:()]+):(?P<line>\d+)\)?', re.M)
# Routines whose names OpenNDK's headers make with macros.
MADE = ((re.compile(r'RtlString(?:Cb|Cch)\w+'), 'ntstrsafe.h'),
        (re.compile(r'Rtl(?:U?(?:Char|Short|Int|Long|LongLong)(?:Ptr)?|SizeT|DWord)(?:Add|Sub|Mult)'), 'ntintsafe.h'))
LIBRARY = re.compile(r'/include/c\+\+/')  # the headers of the C++ library
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*', re.S)
MAX_LINE = 2000  # characters; the patterns take quadratic time
SHOWN = 5        # names of one kind in the summary


class Headers:
    """Finds the header of OpenNDK that has a name. Reads the headers when the first name is looked up."""

    def __init__(self, folder):
        self.folder, self.names = folder, None

    def of(self, name):
        """Returns the header to include for the name, or None."""
        if self.names is None:
            self.names = {}
            for at, _, files in os.walk(self.folder):
                for file in sorted(files):
                    with open(os.path.join(at, file), encoding='utf-8') as text:
                        self.add(os.path.relpath(os.path.join(at, file), self.folder), text.read())
        return self.names.get(name) or next((header for made, header in MADE if made.fullmatch(name)), None)

    def add(self, path, text):
        top = path if os.sep not in path else {'ntifs': 'ntifs.h', 'scsi': 'scsi.h', 'storport': 'storport.h',
                                               'wdf': 'wdf.h'}.get(
            path.split(os.sep)[0], 'wdm.h')
        text = COMMENT.sub(' ', text)
        declared = re.findall(r'\b(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*[;{]', text)
        declared += re.findall(r'^[ \t]*#[ \t]*define[ \t]+(\w+)', text, re.M)
        declared += re.findall(r'\bDECLARE_ONDK_WDF_HANDLE\((\w+)\)', text)
        for names in re.findall(r'\}\s*([\w\s,*]+);', text) + re.findall(r'\btypedef\b[^;{}()]*?([\w*,\s]+);', text):
            declared += re.findall(r'\w+', names)
        for name in declared:
            self.names.setdefault(name, top)


class Words(str):
    """An explanation. `kind`: what the summary says about it; `name`: the name or header that it is about."""

    def __new__(cls, text, kind='', name=''):
        words = super().__new__(cls, text)
        words.kind, words.name = kind, name
        return words


def out_of_scope(name, what):
    return Words(scope.message(name, what), what, name)


def missing_header(name, _):
    what = scope.family(name)
    return out_of_scope(name, what) if what else Words(
        f"{name}: neither in the driver's folders nor among OpenNDK's headers; -I DIR adds a folder to look in",
        'header', name)


def undeclared(name, headers):
    header, what = headers.of(name), scope.family(name)
    if header:
        return Words(f'{name}: no header that was included declares it: include <{header}>', 'include', f'<{header}>')
    if what:
        return out_of_scope(name, what)
    if KERNEL.fullmatch(name):
        return Words(f'{name}: no header that was included declares it, and OpenNDK has no such routine ({LISTS})',
                     'routine', name)
    return Words(f'{name}: no header that was included declares it: include its header (-I DIR adds a folder to look '
                 'in)', 'name', name)


def unknown_type(name, headers):
    header, what = headers.of(name), scope.family(name)
    if header:
        return Words(f'{name}: no header that was included has this type: include <{header}>', 'include', f'<{header}>')
    if what:
        return out_of_scope(name, what)
    return Words(f'{name}: a type that no header declares; on Windows it may come from a header that another one '
                 'includes: include its header (-I DIR adds a folder to look in)', 'name', name)


def undefined(name, _):
    what = scope.family(name)
    if what:
        return out_of_scope(name, what)
    kernel = KERNEL.fullmatch(name)
    why = f' ({LISTS})' if kernel else ': is a source file or a library missing from the project?'
    return Words(f'{name}: the driver calls it, and neither the driver nor OpenNDK has it{why}',
                 'routine' if kernel else 'source', name)


def signatures(text):
    """Returns the types of functions in a message of gcc or clang as pairs: result, parameters."""
    quoted = re.findall(r"‘([^‘’]*)’|'([^']*)'", text)
    found = (re.fullmatch(r'(.+?) ?(?:\(\*\))?\((.*)\)', one or other) for one, other in quoted)
    return [match.groups() for match in found if match]


def callback(text, below):
    """Returns what differs between the declared type of a callback and that of the function."""
    expected = re.search(r'note: (expected [^\n]*)', below)
    types = signatures(text) or signatures(expected.group(1) if expected else '')
    what = 'a callback of another type than the routine expects: it compiles, on Windows too, and may read wrong values'
    if len(types) > 1:
        declared, own = (types[-1], types[0]) if ' to parameter of type' in text else (types[0], types[-1])
        if ' to parameter of type' in text and len(types) > 2:
            own = types[1]
        if declared[1] == own[1] and declared[0] == 'void':
            what = 'a callback that returns a value, and is declared without one: the value is ignored, on Windows too'
        elif declared[1] == own[1] and own[0] == 'void':
            what = ('a callback that returns nothing, and is declared with a result: the result is arbitrary, on '
                    'Windows too')
        elif declared[1] == own[1]:
            what = 'a callback with another type of its result than the declared one'
    return Words(f'{what}; give the callback the declared type')


def function_name(_, __):
    return Words('__FUNCTION__ is a literal for Microsoft\'s compiler and a variable here: print it with %s')


def keyword(name, _):
    how = '-D sealed=final' if name == 'sealed' else '-D abstract= for classes, = 0 for a member function'
    return Words(f"{name}: a keyword of Microsoft's C++ that the compiler does not have: {how}")


def exceptions(_, __):
    return Words('exceptions of C++ are off, as in a Windows kernel: -f=-fexceptions turns them on', 'exceptions',
                 'try, throw')


def jump(name, _):
    return Words(f'{name}: a goto to it passes an initialization, which gcc refuses in C++: --cc clang accepts it',
                 'goto', name)


def short_wchar(_, __):
    return Words('compile with -fshort-wchar')


# Patterns of a message's first line. `callback` needs the type of a function in the lines below it, too.
ADVICE = (
    (r"['‘](?:\w+ )?(abstract|sealed)['’]", keyword),
    (r"exception handling disabled|with exceptions disabled", exceptions),
    (r"jump to label ['‘](\w+)['’]", jump),
    (r"['‘]?([^':‘’]+)[’']?(?: file not found|: No such file)", missing_header),
    (r"implicit declaration of function ['‘](\w+)", undeclared),
    (r"(?:call to )?undeclared function '(\w+)'", undeclared),
    (r"use of undeclared identifier '(\w+)'", undeclared),
    (r"['‘](\w+)['’] (?:was not declared in this scope|undeclared|has not been declared)", undeclared),
    (r"unknown type name ['‘](\w+)", unknown_type),
    (r"['‘](\w+)['’] does not name a type", unknown_type),
    (r"incompatible(?: function)?[- ]pointer[- ]types?", callback),
    (r"before ['‘]?__FUNCTION__", function_name),
    (r"static assertion failed:? .*-fshort-wchar", short_wchar),
)


def explain(text, below, headers):
    """Returns the explanation of one message, or None. `below`: the lines between it and the next one."""
    for pattern, words in ADVICE:
        match = re.search(pattern, text)
        if match and words is not callback:
            return words(match.group(1) if match.groups() else None, headers)
        if match and ('(*)(' in text + below or 'function pointer' in text):
            return callback(text, below)
    return None


def is_caught(path, name):
    """Returns whether the file has a catch with this variable, which gcc does not declare if exceptions are off."""
    try:
        return re.search(rf'\bcatch\s*\([^()]*\b{name}\s*\)', '\n'.join(read_lines(path))) is not None
    except (OSError, Trouble):
        return False


def findings(output, headers):
    """Yields place and explanation of each error, and of each known warning. The explanation may be None."""
    output = '\n'.join(line[:MAX_LINE] for line in output.split('\n'))
    messages = list(PLACE.finditer(output))
    ends = [message.start() for message in messages[1:]] + [len(output)]
    for message, end in zip(messages, ends):
        words = None
        if not LIBRARY.search(os.path.normpath(message['file'])):
            words = explain(message['text'], output[message.end():end], headers)
        if words and words.kind == 'name' and is_caught(message['file'], words.name):
            words = exceptions(None, None)
        if words or message['kind'] != 'warning':
            yield f"{message['file']}:{message['line']}", words
    for pattern in (LINKED, LINKED_BY_LLD):
        for match in pattern.finditer(output):
            line = f":{match['line']}" if match['line'] else ''
            yield f"{match['file']}{line}", undefined(match['name'], headers)


def some(names):
    """Returns the first names of the set in a list, and how many others there are."""
    names = sorted(names)
    return ', '.join(names[:SHOWN]) + (f' and {len(names) - SHOWN} more' if len(names) > SHOWN else '')


# What the summary says about each kind of explanation, in this order. The names follow.
KINDS = (('header', 'headers that were not found (-I DIR adds a folder to look in)'),
         ('routine', f'routines that OpenNDK does not have ({LISTS})'),
         ('source', 'functions of missing source files or libraries (ndk-cc takes further folders and files)'),
         ('exceptions', 'exceptions, which are off (-f=-fexceptions)'),
         ('goto', 'labels behind initializations, which gcc refuses (--cc clang)'), ('include', 'headers to include'),
         ('name', 'names without a declaration: include their headers'))


def summary(names, unexplained):
    """Returns why the driver was not built. `names`: the names of each kind of explanation."""
    families = [entry[0] for entry in scope.FAMILIES if entry[0] in names]
    parts = [f'{family} ({some(names[family])})' for family in families]
    if parts:
        parts = [f'out of scope, to be left out of the build ({scope.DOCUMENT}): ' + ', '.join(parts)]
    parts += [f'{text}: {some(names[kind])}' for kind, text in KINDS if kind in names]
    if unexplained:
        parts.append(f'errors without an explanation: {unexplained}, see the messages of the compiler')
    return 'not built: ' + '; '.join(parts)


def advise(output, folder, failed):
    """
    Returns an explanation for each known message, each at its first place, and the summary if the build failed.
    `folder`: that of OpenNDK's headers.
    """
    places, names, unexplained = {}, {}, 0
    for place, words in findings(output, Headers(folder)):
        if words is None:
            unexplained += 1
            continue
        where = places.setdefault(words, [])
        if place not in where:
            where.append(place)
        if words.kind:
            names.setdefault(words.kind, set()).add(words.name)
    lines = [f'{where[0]}: {words}' + (f' (and in {len(where) - 1} more lines)' if len(where) > 1 else '')
             for words, where in places.items()]
    if failed and not lines and not unexplained:
        lines.append('not built: see the messages of the compiler and the linker')
    return lines + ([summary(names, unexplained)] if failed and (names or unexplained) else [])
