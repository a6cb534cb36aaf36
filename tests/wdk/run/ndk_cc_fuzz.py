#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Random project files and `sources` files: whatever a folder contains, ndk-cc reads it in bounded time and memory and
raises nothing but Trouble. usage: ndk_cc_fuzz.py FOLDER-OF-ndk_cc ROUNDS [FIRST]
"""
import pathlib
import random
import resource
import sys
import tempfile
import traceback

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from ndk_cc import Trouble                     # noqa: E402
from ndk_cc.project import gather              # noqa: E402
from ndk_cc.translate import Translator, longs # noqa: E402

ROUNDS, FIRST = int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0
KERNEL = str(pathlib.Path(__file__).resolve().parents[3] / 'include' / 'wdk')

PROJECT = '''<?xml version="1.0" encoding="utf-8"?>
<Project xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
<PropertyGroup Condition="'$(Configuration)|$(Platform)'=='Debug|x64'"><ConfigurationType>Driver</ConfigurationType>
<A>$(A);b</A><TargetName>x</TargetName></PropertyGroup><Import Project="b.props" /><ImportGroup><Import Project="$(A)"/>
</ImportGroup><ItemDefinitionGroup><ClCompile>
<PreprocessorDefinitions>N=5;%(PreprocessorDefinitions)</PreprocessorDefinitions>
<AdditionalIncludeDirectories>..\\inc;$(A)</AdditionalIncludeDirectories><ForcedIncludeFiles>c.h</ForcedIncludeFiles>
<WppAdditionalOptions>-func:Trace(LEVEL,MSG,...) -func:"Two(A, B)"</WppAdditionalOptions></ClCompile>
</ItemDefinitionGroup><ItemGroup><ClCompile Include="a.c" /><ClCompile Include="**\\*.c;sub\\?.c"><ExcludedFromBuild
Condition="exists('a.c') or '$(A)'!='' and 'a'=='b'">true</ExcludedFromBuild></ClCompile></ItemGroup></Project>'''
SOURCES = '''# a comment
TARGETNAME=drv
!include b.inc
!if "$(DDKBUILDENV)"=="chk" # again
C_DEFINES=$(C_DEFINES) -DA=1 /DB="x y"
!elseif defined(AMD64)
!else
!endif
!ifdef C_DEFINES
INCLUDES=..\\inc;$(DDK_INC_PATH)
!endif
SOURCES=a.c \\
   sub\\b.c $(OTHER)
RUN_WPP=$(SOURCES) -func:Trace(LEVEL,MSG,...)
'''
CODE = '''#include <ntddk.h>
#include "..\\Inc\\c.h"
#include "a.tmh"
// begin_wpp config
// FUNC Trace{LEVEL=X}(MSG, ...);
// end_wpp
#define WPP_CONTROL_GUIDS WPP_DEFINE_BIT(T_ALL)
/* long */ unsigned long a; long long b; char c[] = "long \\" long", d = 'l'; va_list v = NULL;
#define T(a, ...) f(__FUNCTION__ ": " a, __VA_ARGS__)
#ifdef X
_A_(1) int g(int a) {
#else
struct s { int f() { return __FUNCTION__ "x"; } } t[] = { { 0 } }; /* { */
'''
PIECES = ('$(A)', '%(PreprocessorDefinitions)', "'", '"', '<', '>', '&amp;', '&lt;', '!include sources\n', '!if ',
          '!endif\n',
          '!include b.inc\n', '==', '!=', '(', ')', '\\\n', '\0', '\x1b[2J', '../', '..\\', '/', '**', '*', '?', ' ',
          '\n',
          '\r', '$(', '-func:', '{', '}', '/*', '*/', '//', '#include "', '\\', '\ufeff', '\ud800', '\u202e', '.',
          '\xe9',
          '<!DOCTYPE a>', '<!--', '</ClCompile>', '<ImportGroup>', 'SOURCES=', 'C_DEFINES=', 'TARGETNAME=',
          '/dev/zero', ';',
          ' or ', ' and ')


def mutated(r, text):
    for _ in range(r.choice((0, 1, 1, 2, 5, 20))):
        at = r.randrange(len(text) + 1)
        end = min(len(text), at + r.randrange(1, 40))
        text = r.choice((
            lambda: text[:at] + r.choice(PIECES) * r.choice((1, 1, 2, 300, 20000)) + text[at:],
            lambda: text[:at] + text[end:],
            lambda: text[:at] + text[at:end] * r.choice((2, 3, 500)) + text[end:],
            lambda: text[:at] + chr(r.randrange(256)) + text[at:],
            lambda: text[:at] + text[r.randrange(len(text) + 1):]))()[:1 << 20] or ' '
    data = text.encode(r.choice(('utf-8', 'utf-8', 'utf-8', 'utf-16', 'latin-1')), errors='replace')
    if r.random() < 0.1:
        data = bytes(r.randrange(256) if r.random() < 0.02 else c for c in data[:5000])
    return data


def fill(r, folder):
    """The arguments of gather."""
    for path, text in (('a.c', CODE), ('sub/b.c', CODE), ('inc/c.h', CODE), ('c.h', CODE), ('b.props', PROJECT),
                       ('b.inc', SOURCES)):
        if r.random() < 0.9:
            at = folder / path
            at.parent.mkdir(exist_ok=True)
            at.write_bytes(mutated(r, text) if r.random() < 0.4 else text.encode())
    if r.random() < 0.05:
        (folder / 'dir.c').mkdir()
    name, text = r.choice((('p.vcxproj', PROJECT), ('sources', SOURCES), ('b.c', CODE)))
    (folder / name).write_bytes(mutated(r, text))
    return [str(folder)] if r.random() < 0.8 else [str(folder / name)]


def one(number, folder):
    arguments = fill(random.Random(number), folder)
    try:
        project = gather(arguments, 'Debug')
        project.output()
    except Trouble:
        return
    try:
        (folder / 'out').mkdir()
        translator = Translator(project, KERNEL, str(folder / 'out'))
        for source in project.sources:
            translator.read(source, source)
        for lines, _ in translator.files.values():
            longs(lines)
        translator.write()
    except (Trouble, OSError): # ndk-cc's main has a message for either
        pass


def main():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for number in range(FIRST, FIRST + ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            try:
                one(number, pathlib.Path(folder))
            except Exception: # pylint: disable=broad-except
                traceback.print_exc()
                print(f'round {number} FAILED: repeat it with {sys.argv[0]} {sys.argv[1]} 1 {number}')
                return 1
    return 0


sys.exit(main())
