# SPDX-License-Identifier: MIT
"""Explains messages of the compiler and the linker to a driver's author."""
import re

ADVICE = (
    (r"fatal error: '?([^':]+)'?(?: file not found|: No such file)",
     '{0}: neither in the driver\'s folders nor among OpenNDK\'s headers; -I DIR adds a folder to look in'),
    (r"implicit declaration of function ['‘`](\w+)",
     '{0}: no header that was included declares it. If it is a routine of the kernel: docs/kernel-routines.md lists '
     'those that OpenNDK has'),
    (r"undeclared function '(\w+)'",
     '{0}: no header that was included declares it. If it is a routine of the kernel: docs/kernel-routines.md lists '
     'those that OpenNDK has'),
    (r"unknown type name ['‘`](\w+)",
     '{0}: a type that no header declares; on Windows it may come from a header that another one includes'),
    (r"undefined (?:reference to|symbol:) [`'‘]?(\w+)",
     '{0}: the driver calls it, and neither the driver nor OpenNDK has it (docs/kernel-routines.md lists the '
     'routines). Is a source file missing from the project?'),
    (r"incompatible(?: function)?[- ]pointer[- ]types?",
     'a callback or pointer of another type than the routine expects compiles, on Windows too, and causes a bug '
     'check there'),
    (r"before ['‘`]?__FUNCTION__",
     '__FUNCTION__ is a literal for Microsoft\'s compiler and a variable for this one: print it with %s'),
    (r"static assertion failed: .*-fshort-wchar", 'compile with -fshort-wchar'),
)


def advise(output):
    """Returns an explanation for each known message in a compiler's output, without duplicates."""
    lines = []
    for pattern, words in ADVICE:
        for match in re.finditer(pattern, output):
            line = words.format(*match.groups())
            if line not in lines:
                lines.append(line)
    return lines
