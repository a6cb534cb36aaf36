#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndk-cc on folders as on Windows. The test loads the result and calls a function of each file."""
import ctypes
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

NDK_CC, LIBRARY = str(pathlib.Path(sys.argv[1]).absolute()), sys.argv[2]
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
    p = subprocess.run([NDK_CC, *map(str, arguments)], capture_output=True, text=True, timeout=250, check=False)
    return p.returncode, p.stdout + p.stderr


def built(name, folder, *options):
    """Builds a driver. Returns it loaded, or None."""
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
        'int wide(void) { return sizeof(L"ab"); }\n'
        'int list(int n, ...) { va_list v = NULL; va_start(v, n); n = va_arg(v, int); va_end(v); return n; }\n'
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
        'main.c': ENTRY,
              'second.c': '#include <ntddk.h>\n#include <sub.h>\nint sum(void) { return SEVEN + EIGHT + SUB; }\n',
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
        '2003"><ItemDefinitionGroup><ClCompile><PreprocessorDefinitions>FROM_PROPS=40</PreprocessorDefinitions>'
        '</ClCompile></ItemDefinitionGroup></Project>',
        'src/a.c': ENTRY + '#include <sub.h>\n#ifdef OWN\n#error not mine\n#endif\n'
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
    put(tmp, {'App.vcxproj': application, 'SOURCES': 'SOURCES=only.c\n',
              'only.c': ENTRY + 'int only(void) { return 3; }\n'})
    driver, text = built('sources before an application', tmp)
    check('the sources file counts', value(driver, 'only') == 3, text)


def languages(tmp):
    put(tmp, {'driver.cpp': 'extern "C" {\n#include <ntddk.h>\n'
        'NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING);\nint made(void);\n}\n'
        'NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }\n'
        'template <typename T> static T twice(T x) { return x + x; }\nint made(void) { return twice(21); }\n'})
    driver, text = built('C++', tmp)
    check('C++ sources', value(driver, 'made') == 42, text)
    put(tmp, {'n1252.c': b'// caf\xe9\n' + ENTRY.encode()})
    code, text = ndk_cc(tmp / 'n1252.c', '-o', tmp / 'n.so', '--cc', 'clang')
    check('Latin letters in a comment, one file, clang', code == 0, text)


def warnings(tmp):
    """A warning is printed alone: gcc would report options that it does not have beside it, and clang extensions."""
    source = tmp / 'warns.c'
    source.write_text('#include <ntddk.h>\nstruct inner { int a; };\nstruct outer { struct inner; int b; };\n'
                      'int DriverEntry(struct outer *o) { int unused; return o->a; }\n')
    for cc in ('gcc', 'clang'):
        code, text = ndk_cc(source, '-o', tmp / 'warns.so', '--cc', cc, '-f=-Wunused-variable')
        check(f'{cc}: a warning', code == 0 and 'unused' in text, text)
        check(f'{cc}: no other', len(re.findall('warning:|unrecognized|unknown', text)) == 1, text)


def words(tmp):
    put(tmp, {'missing.c': ENTRY + '#include "Nowhere.h"\n', 'routine.c': ENTRY + 'void f(void) { KeFrobnicate(1); }\n',
        'link.c': ENTRY + 'void KeFrobnicate(int);\nvoid f(void) { KeFrobnicate(1); }\n',
        'long.c': ENTRY + '/* long */\nunsigned long a;\nlong long b;\n', 'text.txt': ''})
    for name, wanted in (('missing.c', 'Nowhere.h: neither in the driver'), ('routine.c', 'docs/kernel-routines.md'),
                         ('link.c', 'KeFrobnicate: the driver calls it, and neither the driver nor OpenNDK has it')):
        code, text = ndk_cc(tmp / name, '-o', tmp / 'x.so')
        check(f'{name}: fails in plain words', code == 1 and wanted in text, (code, text))
    code, text = ndk_cc(tmp / 'long.c', '-o', tmp / 'x.so')
    check('a long is told once', code == 0 and 'long.c:4: `long` has 64 bits' in text and 'times more' not in text,
          text)
    put(tmp, {'callback.c': ENTRY + 'typedef void (*CALL)(int);\nvoid take(CALL);\nvoid take(CALL c) { c(1); }\n'
        'static void mine(char *p) { (void)p; }\nvoid f(void) { take(mine); }\n'})
    code, text = ndk_cc(tmp / 'callback.c', '-o', tmp / 'x.so')
    check('a callback of another type is told, and built', code == 0 and 'causes a bug check' in text, (code, text))
    for argument, wanted in ((tmp / 'nothing', 'no such file or folder'), (tmp / 'text.txt', 'neither a folder')):
        code, text = ndk_cc(argument)
        check(f'{argument.name}: {wanted}', code == 2 and wanted in text, (code, text))
    (tmp / 'empty').mkdir()
    code, text = ndk_cc(tmp / 'empty')
    check('an empty folder', code == 2 and 'neither a project' in text, (code, text))


PROJECT = '<Project xmlns="http://schemas.microsoft.com/developer/msbuild/2003">%s</Project>'
SOURCES = 'SOURCES=main.c\n'
DOUBLED = ''.join(f'<P{i}>$(P{i - 1})$(P{i - 1})</P{i}>' for i in range(1, 40))
DEFINED = '<PreprocessorDefinitions>%(PreprocessorDefinitions);%(PreprocessorDefinitions);A</PreprocessorDefinitions>'

# What a folder contains, and what ndk-cc says about it. Each has a main.c.
MALFORMED = (
    ('a sources file that includes itself', {'sources': '!include sources\n' + SOURCES}, 'includes itself'),
    ('two that include each other', {'sources': '!include a.inc\n' + SOURCES, 'a.inc': '!include sources\n'},
     'includes itself, by '),
    ('includes that double', {'sources': '!include 0.inc\n' + SOURCES,
                              **{f'{i}.inc': f'!include {i + 1}.inc\n' * 2 for i in range(40)}}, 'includes more than'),
    ('macros that double', {'sources': 'C_DEFINES=-DA=1\n' + 'C_DEFINES=$(C_DEFINES) $(C_DEFINES)\n' * 40 + SOURCES},
     'expands to more than'),
    ('a quote without an end', {'sources': SOURCES + 'C_DEFINES=-DA="1\n'}, 'No closing quotation'),
    ('a sources file that is a device', {'sources': '!include /dev/zero\nSOURCES=none.c\n'}, 'no such file'),
    ('a source that is a folder', {'sources': 'SOURCES=dir.c\n', 'dir.c/x': ''}, 'no such file'),
    ('a name above', {'sources': 'TARGETNAME=../above\n' + SOURCES}, 'is not a file name: use -o'),
    ('a name elsewhere', {'sources': 'TARGETNAME=/dev/shm/elsewhere\n' + SOURCES}, 'is not a file name: use -o'),
    ('a name with a backslash', {'sources': 'TARGETNAME=..\\above\n' + SOURCES}, 'is not a file name: use -o'),
    ('a name that is no name', {'sources': 'TARGETNAME=..\n' + SOURCES}, 'is not a file name: use -o'),
    ('a name with an escape sequence', {'sources': b'TARGETNAME=\x1b[2J\n' + SOURCES.encode()}, 'is not a file name'),
    ('a name that is too long', {'sources': 'TARGETNAME=' + 'x' * 300 + '\n' + SOURCES}, 'is not a file name: use -o'),
    ('properties that double', {'p.vcxproj': PROJECT % f'<PropertyGroup><P0>a</P0>{DOUBLED}</PropertyGroup>'},
     'expands to more than'),
    ('metadata that doubles', {'p.vcxproj': PROJECT % ('<ItemDefinitionGroup><ClCompile>' + DEFINED * 40 +
                                                       '</ClCompile></ItemDefinitionGroup>')}, 'expands to more than'),
    ('many long properties', {'p.vcxproj': PROJECT % ('<PropertyGroup><A>' + 'a' * 200000 + '</A>' + ''.join(
        f'<B{i}>$(A)</B{i}>' for i in range(400)) + '</PropertyGroup>')}, 'MiB of text'),
    ('entities that double', {'p.vcxproj': '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'}, 'a document type'),
    ('another encoding', {'p.vcxproj': '<?xml version="1.0" encoding="nothing"?><Project/>'}, 'is not XML'),
    ('no XML', {'p.vcxproj': '<Project><'}, 'is not XML'), ('an empty project', {'p.vcxproj': b''}, 'is not XML'),
    ('a project of zeros', {'p.vcxproj': bytes(1000)}, 'is not XML'),
    ('deep groups', {'p.vcxproj': PROJECT % ('<ImportGroup>' * 5000 + '</ImportGroup>' * 5000)}, 'deep'),
    ('deep imports', {'p.vcxproj': PROJECT % '<Import Project="0.props"/>',
                      **{f'{i}.props': PROJECT % f'<Import Project="{i + 1}.props"/>' for i in range(60)}}, 'deep'),
    ('an import of a device', {'p.vcxproj': PROJECT % '<Import Project="/dev/zero"/>'}, 'lists no C files'),
    ('an import of the folder', {'p.vcxproj': PROJECT % '<Import Project="."/><Import Project=""/>'},
     'lists no C files'),
    ('everything on the machine', {'p.vcxproj': PROJECT % '<ItemGroup><ClCompile Include="/**/*.c"/></ItemGroup>'},
     'matches against more than'),
    ('a long condition', {'p.vcxproj': PROJECT % f'<PropertyGroup Condition="{" " * 100000}=a"/>'},
     'a condition of more'),
    ('a large project', {'p.vcxproj': PROJECT % (' ' * (5 << 20))}, 'larger than 4 MiB'),
    ('a large sources file', {'sources': SOURCES + ' ' * (5 << 20)}, 'larger than 4 MiB'),
)


def malformed(tmp):
    """Folders are untrusted: ndk-cc reports the fault, uses limited memory, and writes nothing."""
    def bounds():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    for number, (name, files, wanted) in enumerate(MALFORMED):
        folder, here = tmp / str(number) / 'driver', tmp / str(number) / 'here'
        here.mkdir(parents=True)
        put(folder, {'main.c': ENTRY, **files})
        p = subprocess.run([NDK_CC, folder], capture_output=True, text=True, timeout=250, check=False, cwd=here,
                           preexec_fn=bounds)
        text = p.stdout + p.stderr
        good = p.returncode == 2 and wanted in text and '\x1b' not in text
        check(f'{name}: says {wanted}', good, (p.returncode, text))
        made = sorted(path.name for path in (tmp / str(number)).rglob('*.so'))
        check(f'{name}: writes nothing', not made, made)


def nested(tmp):
    """Headers nested deeper than Python's stack; the compiler has its own limit."""
    put(tmp, {'main.c': ENTRY + '#include "0.h"\n', **{f'{i}.h': f'#include "{i + 1}.h"\n' for i in range(1500)}})
    code, text = ndk_cc(tmp / 'main.c', '-o', tmp / 'x.so')
    check('deep headers', code == 1 and 'nested' in text and 'Traceback' not in text, (code, text[:500]))
    put(tmp, {'odd.c': ENTRY + '#include "\x1b[2J.h"\n'})
    code, text = ndk_cc(tmp / 'odd.c', '-o', tmp / 'x.so')
    good = code == 1 and '\\x1b[2J.h' in text and '\x1b' not in text
    check('odd bytes in what the compiler says', good, (code, text))
    put(tmp, {'wild/sources': 'SOURCES=a.c\nTARGETNAME=fine\n', 'wild/a.c': ENTRY})
    with tempfile.TemporaryDirectory() as here:
        p = subprocess.run([NDK_CC, tmp / 'wild'], capture_output=True, text=True, timeout=250, check=False, cwd=here)
        check('TARGETNAME names the result', (pathlib.Path(here) / 'fine.so').exists(), p.stderr)
    put(tmp, {'stars/p.vcxproj': PROJECT % '<ItemGroup><ClCompile Include="src\\**\\*.C"/></ItemGroup>',
              'stars/src/deep/er/main.c': ENTRY, 'stars/src/two.c': 'int two(void) { return 2; }\n',
              'stars/no.c': '#error no\n'})
    driver, text = built('stars', tmp / 'stars')
    check('files by a pattern', value(driver, 'two') == 2, text)


def main():
    ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    for case in (spelling, sources_file, vcxproj, order, languages, warnings, words, malformed, nested):
        with tempfile.TemporaryDirectory() as folder:
            inner = pathlib.Path(folder) / 'inner'
            inner.mkdir()
            case(inner)
    return failures != 0


sys.exit(main())
