#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndk-cc on folders as they come from Windows. What it makes is loaded and asked which files it is of."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile

NDK_CC, LIBRARY = sys.argv[1], sys.argv[2]
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def put(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def ndk_cc(*arguments):
    p = subprocess.run([NDK_CC, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False)
    return p.returncode, p.stdout + p.stderr


def built(name, folder, *options):
    """Builds; returns the loaded driver, or None."""
    out = pathlib.Path(folder) / f'{name}-out.so'
    code, text = ndk_cc(folder, '-o', out, *options)
    check(f'{name}: builds', code == 0, (code, text))
    return (ctypes.CDLL(str(out)), text) if code == 0 else (None, text)


def value(driver, function):
    return driver and getattr(driver, function)()


ENTRY = '#include <NTDDK.H>\n' \
        'NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p) { (void)d; (void)p; return 0; }\n'


def spelling(tmp):
    put(tmp, {'Src/Main.c': ENTRY + '#include "..\\INC\\Numbers.h"\n#  include "Deep\\..\\LOCAL.H" // mine\r\n'
        'int one(void) { return ONE; }\nint local(void) { return LOCAL; }\nULONG four(void) { return \'NDKD\'; }\n'
        'int wide(void) { return sizeof(L"ab"); }\nint list(int n, ...) { va_list v = NULL; va_start(v, n); n = va_arg(v, int); va_end(v); return n; }\n'
        'int where(void) { return __LINE__; }\n',
        'Src/local.h': '#define LOCAL 7\n', 'Src/deep/x.h': '', 'inc/numbers.h': '#include "ONE.h"\n',
        'inc/one.h': '\ufeff#define ONE 1\n'.encode('utf-16-le')})
    driver, text = built('case, backslash, UTF-16', tmp / 'Src')
    check('a header by another case and a backslash', value(driver, 'one') == 1, text)
    check('the nearest header', value(driver, 'local') == 7, text)
    check('four characters in one constant', value(driver, 'four') == 0x4E444B44, text)
    check('WCHAR has 16 bits', value(driver, 'wide') == 6, text)
    check('lines are those of the source', value(driver, 'where') == 10, text)
    check('a va_list that is NULL at first', driver and driver.list(1, 5) == 5, text)


def sources_file(tmp):
    put(tmp, {'sources': 'TARGETNAME=fromsources\nTARGETTYPE=DRIVER\nINCLUDES=..\\hdr; \\\n   $(DDK_INC_PATH)\n'
        'C_DEFINES=$(C_DEFINES) -DSEVEN=7 /DEIGHT=8\n!if "$(DDKBUILDENV)"=="fre"\nC_DEFINES=-DSEVEN=0\n!else\n'
        'SOURCES=main.c \\\n   Second.C \\\n  thing.rc\n!endif # the end\n',
        'main.c': ENTRY, 'second.c': '#include <ntddk.h>\n#include <sub.h>\nint sum(void) { return SEVEN + EIGHT + SUB; }\n',
        'unlisted.c': '#error not listed\n'})
    put(tmp.parent, {'hdr/Sub.h': '#define SUB 100\n'})
    driver, text = built('sources file', tmp)
    check('sources file: defines and folders', value(driver, 'sum') == 115, text)


VCXPROJ = '''\ufeff<?xml version="1.0" encoding="utf-8"?>
<Project xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
  <PropertyGroup><ConfigurationType>Driver</ConfigurationType><Inc>..\\hdr</Inc></PropertyGroup>
  <Import Project="$(VCTargetsPath)\\Microsoft.Cpp.props" /><Import Project="Common.props" />
  <ItemDefinitionGroup Condition="'$(Configuration)|$(Platform)'=='Debug|x64'"><ClCompile>
    <PreprocessorDefinitions>N=5;%(PreprocessorDefinitions)</PreprocessorDefinitions>
    <AdditionalIncludeDirectories>$(Inc);%(AdditionalIncludeDirectories)</AdditionalIncludeDirectories>
  </ClCompile></ItemDefinitionGroup>
  <ItemDefinitionGroup Condition="'$(Configuration)|$(Platform)'=='Release|x64'"><ClCompile>
    <AdditionalIncludeDirectories>$(Inc)</AdditionalIncludeDirectories>
    <PreprocessorDefinitions>N=6;%(PreprocessorDefinitions)</PreprocessorDefinitions></ClCompile></ItemDefinitionGroup>
  <ItemGroup><ClCompile Include="src\\A.c" /><ClCompile Include="src\\b.c">
    <PreprocessorDefinitions>OWN=1;%(PreprocessorDefinitions)</PreprocessorDefinitions></ClCompile>
    <ClCompile Include="src\\bad.c"><ExcludedFromBuild>true</ExcludedFromBuild></ClCompile></ItemGroup>
</Project>'''


def vcxproj(tmp):
    put(tmp, {'Proj.vcxproj': VCXPROJ, 'common.props': '<Project xmlns="http://schemas.microsoft.com/developer/msbuild/'
        '2003"><ItemDefinitionGroup><ClCompile><PreprocessorDefinitions>FROM_PROPS=40</PreprocessorDefinitions></ClCompile>'
        '</ItemDefinitionGroup></Project>', 'src/a.c': ENTRY + '#include <sub.h>\n#ifdef OWN\n#error not mine\n#endif\n'
        'int sum(void) { return N + FROM_PROPS + SUB; }\nint debug(void) { return DBG; }\n',
        'src/b.c': 'int own(void) { return OWN + N; }\n', 'src/bad.c': '#error excluded\n',
        'stray.c': '#error not listed\n'})
    put(tmp.parent, {'hdr/Sub.h': '#define SUB 100\n'})
    driver, text = built('vcxproj', tmp)
    check('vcxproj: defines, imports, folders', value(driver, 'sum') == 145, text)
    check('vcxproj: Debug', value(driver, 'debug') == 1, text)
    check('vcxproj: a file with defines of its own', value(driver, 'own') == 6, text)
    driver, text = built('release', tmp, '--configuration', 'Release')
    check('vcxproj: the other configuration', value(driver, 'own') == 7 and value(driver, 'debug') == 0, text)
    driver, text = built('solution', tmp.parent)
    check('a project below the folder', value(driver, 'own') == 6, text)


def order(tmp):
    application = VCXPROJ.replace('>Driver<', '>Application<')
    put(tmp, {'App.vcxproj': application, 'SOURCES': 'SOURCES=only.c\n', 'only.c': ENTRY + 'int only(void) { return 3; }\n'})
    driver, text = built('sources before an application', tmp)
    check('the sources file counts', value(driver, 'only') == 3, text)


def languages(tmp):
    put(tmp, {'driver.cpp': 'extern "C" {\n#include <ntddk.h>\nNTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING);\nint made(void);\n}\n'
        'NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }\n'
        'template <typename T> static T twice(T x) { return x + x; }\nint made(void) { return twice(21); }\n'})
    driver, text = built('C++', tmp)
    check('C++ sources', value(driver, 'made') == 42, text)
    put(tmp, {'n1252.c': b'// caf\xe9\n' + ENTRY.encode()})
    code, text = ndk_cc(tmp / 'n1252.c', '-o', tmp / 'n.so', '--cc', 'clang')
    check('Latin letters in a comment, one file, clang', code == 0, text)


def words(tmp):
    put(tmp, {'missing.c': ENTRY + '#include "Nowhere.h"\n', 'routine.c': ENTRY + 'void f(void) { KeFrobnicate(1); }\n',
        'link.c': ENTRY + 'void KeFrobnicate(int);\nvoid f(void) { KeFrobnicate(1); }\n',
        'long.c': ENTRY + '/* long */\nunsigned long a;\nlong long b;\n', 'text.txt': ''})
    for name, wanted in (('missing.c', 'Nowhere.h: neither in the driver'), ('routine.c', 'docs/kernel-routines.md'),
                         ('link.c', 'KeFrobnicate: the driver calls it, and neither the driver nor OpenNDK has it')):
        code, text = ndk_cc(tmp / name, '-o', tmp / 'x.so')
        check(f'{name}: fails in plain words', code == 1 and wanted in text, (code, text))
    code, text = ndk_cc(tmp / 'long.c', '-o', tmp / 'x.so')
    check('a long is told once', code == 0 and 'long.c:4: `long` has 64 bits' in text and 'times more' not in text, text)
    put(tmp, {'callback.c': ENTRY + 'typedef void (*CALL)(int);\nvoid take(CALL);\nvoid take(CALL c) { c(1); }\n'
        'static void mine(char *p) { (void)p; }\nvoid f(void) { take(mine); }\n'})
    code, text = ndk_cc(tmp / 'callback.c', '-o', tmp / 'x.so')
    check('a callback of another type is told, and built', code == 0 and 'ends in a bug check' in text, (code, text))
    for argument, wanted in ((tmp / 'nothing', 'no such file or folder'), (tmp / 'text.txt', 'neither a folder')):
        code, text = ndk_cc(argument)
        check(f'{argument.name}: {wanted}', code == 2 and wanted in text, (code, text))
    (tmp / 'empty').mkdir()
    code, text = ndk_cc(tmp / 'empty')
    check('an empty folder', code == 2 and 'neither a project' in text, (code, text))


def main():
    ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    for case in (spelling, sources_file, vcxproj, order, languages, words):
        with tempfile.TemporaryDirectory() as folder:
            inner = pathlib.Path(folder) / 'inner'
            inner.mkdir()
            case(inner)
    return failures != 0


sys.exit(main())
