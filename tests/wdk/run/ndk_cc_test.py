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
    <PreprocessorDefinitions>N=5;KIT=$(WIN32_WINNT_VERSION);TOOLS=$(PlatformToolsetVersion);%(PreprocessorDefinitions)
    </PreprocessorDefinitions>
    <AdditionalIncludeDirectories>$(Inc);%(AdditionalIncludeDirectories)</AdditionalIncludeDirectories>
  </ClCompile></ItemDefinitionGroup>
  <ItemDefinitionGroup Condition="'$(Configuration)|$(Platform)'=='Release|x64'"><ClCompile>
    <AdditionalIncludeDirectories>$(Inc)</AdditionalIncludeDirectories>
    <PreprocessorDefinitions>N=6;%(PreprocessorDefinitions)</PreprocessorDefinitions></ClCompile></ItemDefinitionGroup>
  <ItemGroup><ClCompile Include="src\\A.c" /><ClCompile Include="src\\b.c">
    <PreprocessorDefinitions>OWN=1;%(PreprocessorDefinitions)</PreprocessorDefinitions></ClCompile>
    <ClCompile Include="src\\c.c"><AdditionalOptions>-DOPTION=9 /FI"forced.h" /UFROM_PROPS</AdditionalOptions>
    <ForcedIncludeFiles>src\\second.h</ForcedIncludeFiles>
    <AdditionalIncludeDirectories>own</AdditionalIncludeDirectories>
    </ClCompile><ClCompile Include="src\\bad.c"><ExcludedFromBuild>true</ExcludedFromBuild></ClCompile></ItemGroup>
</Project>'''


def vcxproj(tmp):
    put(tmp, {'Proj.vcxproj': VCXPROJ, 'common.props': '<Project xmlns="http://schemas.microsoft.com/developer/msbuild/'
        '2003"><ItemDefinitionGroup><ClCompile><PreprocessorDefinitions>FROM_PROPS=40</PreprocessorDefinitions>'
        '</ClCompile></ItemDefinitionGroup></Project>',
        'src/a.c': ENTRY + '#include <sub.h>\n#ifdef OWN\n#error not mine\n#endif\n'
        'int sum(void) { return N + FROM_PROPS + SUB; }\nint debug(void) { return DBG; }\n',
        'src/b.c': '#if defined N && N == 5\nint kit(void) { return KIT == 0x0A00 && TOOLS == 143; }\n#endif\n'
        '#ifdef FORCED\n#error not mine\n#endif\nint own(void) { return OWN + N; }\n',
        'src/c.c': '#include <own.h>\n#ifdef FROM_PROPS\n#error not undefined\n#endif\n'
        'int options(void) { return OPTION + N + FORCED + SECOND + OWN_H; }\n', 'own/own.h': '#define OWN_H 400\n',
        'forced.h': '#define FORCED 100\n', 'src/second.h': '#define SECOND 200\n', 'src/bad.c': '#error excluded\n',
        'stray.c': '#error not listed\n'})
    put(tmp.parent, {'hdr/Sub.h': '#define SUB 100\n'})
    driver, text = built('vcxproj', tmp)
    check('vcxproj: defines, imports, folders', value(driver, 'sum') == 145, text)
    check('vcxproj: Debug', value(driver, 'debug') == 1, text)
    check('vcxproj: a file with defines of its own', value(driver, 'own') == 6, text)
    check('vcxproj: a file with options of its own', value(driver, 'options') == 9 + 5 + 100 + 200 + 400, text)
    check('vcxproj: properties of the kit', value(driver, 'kit') == 1, text)
    driver, text = built('release', tmp, '--configuration', 'Release')
    check('vcxproj: the other configuration', value(driver, 'own') == 7 and value(driver, 'debug') == 0, text)
    driver, text = built('solution', tmp.parent)
    check('a project below the folder', value(driver, 'own') == 6, text)


SHEETS = r'''<Project xmlns="http://schemas.microsoft.com/developer/msbuild/2003">
<PropertyGroup><ConfigurationType>Driver</ConfigurationType></PropertyGroup>
<Import Project="$(SolutionDir)Sheets\Common.props" />
<ItemDefinitionGroup><ClCompile>
<PreprocessorDefinitions>EMPTY=$(NothingSetsThis);SOLUTION_$(SolutionName);%(PreprocessorDefinitions)
</PreprocessorDefinitions>
<AdditionalIncludeDirectories>$(SolutionDir)inc;$(DDK_INC_PATH)</AdditionalIncludeDirectories>
<AdditionalOptions>/wd4201 -DOPTION=5 /D "QUOTED=6" /UREMOVED -I..\opt %(AdditionalOptions)</AdditionalOptions>
<WarningLevel>Level4</WarningLevel><EnablePREfast>true</EnablePREfast></ClCompile></ItemDefinitionGroup>
<ItemGroup><ClCompile Include="$(MSBuildThisFileDirectory)main.c" /></ItemGroup></Project>'''


def sheets(tmp):
    """$(SolutionDir), property sheets, Directory.Build.props, options of the compiler, ignored settings."""
    metadata = '<ItemDefinitionGroup><ClCompile><PreprocessorDefinitions>%s;%%(PreprocessorDefinitions)' \
        '</PreprocessorDefinitions></ClCompile></ItemDefinitionGroup>'
    put(tmp, {'All.sln': '', 'Directory.Build.props': PROJECT % (metadata % 'IMPLICIT=1;REMOVED=1'),
              'sheets/common.props': PROJECT % ('<Import Project="More.props"/>' + metadata % 'COMMON=2' +
                                                '<ItemGroup><ClCompile Include="other.c"/></ItemGroup>'),
              'sheets/more.props': PROJECT % ("<Import Project=\"$([MSBuild]::GetPathOfFileAbove('Above.props', "
                                              "'$(MSBuildThisFileDirectory)../'))\"/>" + metadata % 'MORE=3'),
              'above.props': PROJECT % (metadata % 'ABOVE=4'), 'inc/inc.h': '#define INC 10\n',
              'opt/opt.h': '#define OPT 20\n', 'driver/p.vcxproj': SHEETS, 'driver/other.c': 'int other;\n',
              'driver/main.c': ENTRY + '#include <inc.h>\n#include <opt.h>\n#ifdef REMOVED\n#error not undefined\n'
              '#endif\n#ifndef SOLUTION_All\n#error the name of the solution\n#endif\nint other;\n'
              'int sum(void) { return EMPTY + IMPLICIT + COMMON + MORE + ABOVE + OPTION + QUOTED + INC + OPT; }\n'})
    driver, text = built('property sheets', tmp / 'driver', '-v')
    check('property sheets: definitions and folders', value(driver, 'sum') == 1 + 2 + 3 + 4 + 5 + 6 + 10 + 20, text)
    check('settings that are ignored are noted', 'ignored: EnablePREfast, WarningLevel' in text, text)
    check('an unset property is noted', 'EMPTY=$(NothingSetsThis): a property that nothing sets' in text, text)


def beside(tmp):
    """A project that lists no files, with a `sources` file beside it."""
    put(tmp, {'p.vcxproj': PROJECT % '<PropertyGroup><ConfigurationType>Driver</ConfigurationType></PropertyGroup>',
              'sources': 'TARGETNAME=x\nSOURCES=listed.c\nC_DEFINES=-DNINE=9\n', 'not.c': '#error not listed\n',
              'listed.c': ENTRY + 'int nine(void) { return NINE; }\n'})
    driver, text = built('sources beside a project', tmp, '-v')
    check('the sources file counts', value(driver, 'nine') == 9, text)
    check('it is noted', 'p.vcxproj lists no C files: those of' in text, text)


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


DIALECT_HEADER = r'''
#define TRACE(text, ...) RtlStringCbPrintfA(line, sizeof line, __FUNCTION__ ": " text, __VA_ARGS__)
#define TWO_LINES(text, \
                  ...) RtlStringCbPrintfA(line, sizeof line, text, \
                                          __VA_ARGS__)
#define COMMA_IN_TEXT(...) ", __VA_ARGS__"
#define CALL(name, value) (##name)(value)
#define MEMBER(p, name) (p)->##name
#define NAMED(a, b) a##b
static char line[64];
int line_number(void);
static __inline const char *in_header(void) { return __FUNCTION__ "!"; }
'''
DIALECT = r'''
#include <ntstrsafe.h>
#include "trace.h"
/* int comment() { " */
struct table { int (*call)(int); } table[] = { { NULL } };
#ifdef NEVER
int never(int a) {
#else
_IRQL_requires_max_(PASSIVE_LEVEL) __declspec(noinline)
const char *annotated(void) {
#endif
    TRACE("no arguments");
    return line;
}
const char *more(int n) { TWO_LINES("%d", n); return line; } const char *same_line(void) { return __FUNCTION__; }
const char *none(int n)
{
    TWO_LINES("none"); return COMMA_IN_TEXT(n); }
int swprintf(wchar_t *, const wchar_t *, ...);
struct pair { int first; };
int pasted(int n) { struct pair p = { n }; return CALL(NAMED(line_, number), ) + MEMBER(&p, first); }
int line_number(void) { return __LINE__; }
int tries(int how)
{
    volatile int r = 0;
    try { if (how == 1) ExRaiseStatus(STATUS_UNSUCCESSFUL); if (how == 2) leave; r = 1; }
    except (EXCEPTION_EXECUTE_HANDLER) { r = 2; }
    _try { try { if (how) ExRaiseStatus(STATUS_UNSUCCESSFUL); } finally { r += 10; } }
    _except (EXCEPTION_EXECUTE_HANDLER) { r += 100; }
    _try { if (how) _leave; r += 1000; } _finally { r += 2000; }
    return r;
}
'''


def dialect(tmp):
    put(tmp, {'main.c': ENTRY + DIALECT, 'Trace.h': DIALECT_HEADER})
    for cc in ('gcc', 'clang'):
        driver, text = built(f'dialect {cc}', tmp, '--cc', cc)
        if not driver:
            continue
        check(f'{cc}: no message', not text, text)
        for function in ('annotated', 'more', 'same_line', 'none'):
            getattr(driver, function).restype = ctypes.c_char_p
        check(f'{cc}: __FUNCTION__ beside a literal, no arguments', driver.annotated() == b'annotated: no arguments',
              driver.annotated())
        check(f'{cc}: arguments behind the comma', driver.more(7) == b'7', driver.more(7))
        check(f'{cc}: two functions in one line', driver.same_line() == b'same_line', driver.same_line())
        line = driver.line_number()
        check(f'{cc}: ## beside brackets and ->', driver.pasted(3) == line + 3, (driver.pasted(3), line))
        check(f'{cc}: a text that looks like arguments', driver.none(1) == b', __VA_ARGS__', driver.none(1))
        wanted = (ENTRY + DIALECT).split('int line_number')[0].count('\n') + 1
        check(f'{cc}: lines stay those of the source', driver.line_number() == wanted, driver.line_number())
        seen = [driver.tries(how) for how in range(3)]
        check(f'{cc}: try, except, finally and leave', seen == [3011, 2112, 2110], seen)


CPLUSPLUS = r'''
extern "C" {
#include <ntddk.h>
DRIVER_INITIALIZE DriverEntry;
int total(void);
int raises(int how);
const char *who(int which);
}
const ULONG Tag = 'gTpC';
void *__cdecl operator new(size_t size) { return ExAllocatePoolWithTag(NonPagedPool, size, Tag); }
void *__cdecl operator new[](size_t size) { return ExAllocatePoolWithTag(NonPagedPool, size, Tag); }
void *operator new(size_t size, POOL_TYPE type, ULONG tag) { return ExAllocatePoolWithTag(type, size, tag); }
void __cdecl operator delete(void *p) { if (p) ExFreePool(p); }
void __cdecl operator delete(void *p, size_t) { if (p) ExFreePool(p); }
void __cdecl operator delete[](void *p) { ExFreePool(p); }
class Shape { public: virtual ~Shape() {} virtual int Area() = 0; };
namespace N {
class Square final : public Shape {
    int side;
public:
    static const char *Inside() { return __FUNCTION__ "."; }
    Square(int a) : side(a) {}
    int Area() override { return side * side; }
    static const char *Outside();
};
}
const char *N::Square::Outside() { return __FUNCTION__ "."; }
template <class T> class Lock {
    T *lock; KIRQL old;
public:
    explicit Lock(T *l) : lock(l), old() { KeAcquireSpinLock(lock, &old); }
    ~Lock() { KeReleaseSpinLock(lock, old); }
};
static KSPIN_LOCK Spin;
struct Global { int value; Global() : value(7) {} ~Global() {} };
int total(void)
{
    static Global once;
    Lock<KSPIN_LOCK> held(&Spin);
    Shape *shape = new N::Square(5);
    int sum = shape->Area();
    delete shape;
    N::Square *square = new (NonPagedPool, Tag) N::Square(2);
    sum += square->Area();
    delete square;
    int *numbers = new int[3];
    numbers[2] = sum;
    sum = numbers[2];
    delete[] numbers;
    return sum + once.value;
}
const char *who(int which) { return which ? N::Square::Inside() : N::Square::Outside(); }
int raises(int how)
{
    int r = 0;
    __try { if (how) ExRaiseStatus(STATUS_UNSUCCESSFUL); r = 1; } __except (EXCEPTION_EXECUTE_HANDLER) { r = 2; }
    _try { if (how) _leave; r += 5; } _finally { r += 10; }
    return r;
}
extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING)
{
    PCHAR narrow = "x"; PWCHAR wide = L"x";
    UNICODE_STRING name = RTL_CONSTANT_STRING(L"\\Device\\X");
    return narrow && wide && name.Length == 18 ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}
'''


def cplusplus(tmp):
    """A driver with classes, templates and operators of its own, without exceptions."""
    put(tmp, {'main.cpp': CPLUSPLUS})
    for cc in ('gcc', 'clang'):
        driver, text = built(f'C++ {cc}', tmp, '--cc', cc)
        if not driver:
            continue
        check(f'{cc}: no message', not text, text)
        driver.who.restype = ctypes.c_char_p
        check(f'{cc}: objects of pool', driver.total() == 36, driver.total())
        seen = [driver.who(which) for which in (0, 1)]
        check(f'{cc}: names of member functions', seen == [b'N::Square::Outside.', b'N::Square::Inside.'], seen)
        seen = [driver.raises(how) for how in (0, 1)]
        check(f'{cc}: __try in C++', seen == [16, 12], seen)
        check(f'{cc}: literals', driver.DriverEntry(None, None) == 0, text)


STANDARD = r'''
extern "C" {
#include <ntddk.h>
}
#include <map>
#include <algorithm>
#include <vector>
extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return STATUS_SUCCESS; }
void *operator new(size_t size) { return ExAllocatePoolWithTag(NonPagedPoolNx, size, 'dtsS'); }
void operator delete(void *block) noexcept { ExFreePoolWithTag(block, 'dtsS'); }
void operator delete(void *block, size_t) noexcept { ExFreePoolWithTag(block, 'dtsS'); }
static void increment(__in int from, __out int *to) { *to = from + 1; }
extern "C" int mapped(int value)
{
    std::map<int, int> numbers;
    std::vector<int> sorted{ 3, 1, 2 };
    increment(value, &numbers[7]);
    std::sort(sorted.begin(), sorted.end());
    return numbers[7] + sorted[2];
}
'''


def standard(tmp):
    """Headers of the standard library after the kit's, whose macros __in and __out the driver uses, too."""
    put(tmp, {'main.cpp': STANDARD})
    for cc in ('gcc', 'clang'):
        driver, text = built(f'the standard library, {cc}', tmp, '--cc', cc)
        check(f'the standard library, {cc}: a map and a vector', driver and driver.mapped(40) == 44, text)


def asked(tmp):
    """What a project asks for: a standard of C++, exceptions and MASM files."""
    put(tmp, {'p.vcxproj': PROJECT % ('<ItemDefinitionGroup><ClCompile><LanguageStandard>stdcpp20</LanguageStandard>'
        '<ExceptionHandling>Sync</ExceptionHandling></ClCompile></ItemDefinitionGroup><ItemGroup>'
        '<ClCompile Include="main.cpp"/><ClCompile Include="old.cpp"><LanguageStandard>stdcpp17</LanguageStandard>'
        '</ClCompile><MASM Include="x64\\Fast.asm"/><MASM Include="other.asm"><ExcludedFromBuild>true'
        '</ExcludedFromBuild></MASM></ItemGroup>'),
        'main.cpp': 'extern "C" {\n#include <ntddk.h>\n}\n'
        'extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }\n'
        'extern "C" int year() { return __cplusplus / 100; }\n',
        'old.cpp': 'extern "C" int old_year() { return __cplusplus / 100; }\n'})
    for cc in ('gcc', 'clang'):
        driver, text = built(f'what a project asks for, {cc}', tmp, '--cc', cc)
        check(f'{cc}: C++20', driver and driver.year() > 2017, text)
        check(f'{cc}: a file of another standard', value(driver, 'old_year') == 2017, text)
        check(f'{cc}: a MASM file', 'ndk-cc: 1 MASM file is not built: x64\\Fast.asm: ' in text, text)
        check(f'{cc}: exceptions', 'ndk-cc: p: the project turns on exceptions of C++' in text, text)
    driver, text = built('exceptions that are on', tmp, '-f=-fexceptions')
    check('exceptions that are on', 'turns on' not in text, text)
    put(tmp / 'plain', {'main.c': ENTRY, 'a.asm': '', 'b.ASM': ''})
    driver, text = built('a folder with MASM files', tmp / 'plain')
    check('a folder with MASM files', 'ndk-cc: 2 MASM files are not built: a.asm, b.ASM: ' in text, text)
    put(tmp / 'old', {'main.c': ENTRY, 'sources': 'SOURCES=main.c amd64\\a.asm\n'})
    driver, text = built('a sources file with a MASM file', tmp / 'old')
    check('a sources file with a MASM file', 'ndk-cc: 1 MASM file is not built: amd64\\a.asm: ' in text, text)


def microsoft(tmp):
    """What Microsoft's C++ has, and gcc and clang do not have, or only with an option."""
    start = 'extern "C" {\n#include <ntddk.h>\n}\n' \
            'extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }\n'
    catches = start + 'struct fault { int code; };\n' \
        'int g(int a) { try { a++; } catch (const fault &x) { return x.code; } return 1; }\n'
    put(tmp, {'abstract.cpp': start + 'class A abstract { public: virtual int f() = 0; };\n', 'try.cpp': catches,
              'throw.cpp': catches + 'int h(int a) { if (a) throw fault{ a }; return 0; }\n',
              'library.cpp': '#include <ntddk.h>\n#include <string>\n'})
    code, text = ndk_cc(tmp / 'abstract.cpp', '-o', tmp / 'x.so')
    check('abstract', code == 1 and "abstract.cpp:5: abstract: a keyword of Microsoft's C++" in text, text)
    for cc in ('gcc', 'clang'):
        for name in ('try', 'throw'):
            code, text = ndk_cc(tmp / f'{name}.cpp', '-o', tmp / 'x.so', '--cc', cc)
            check(f'{cc}: {name} without exceptions', code == 1 and 'cpp:6: exceptions of C++ are off' in text
                  or name == 'throw' and 'cpp:7: exceptions of C++ are off' in text, text)
            check(f'{cc}: {name}: no undeclared variable', 'ndk-cc: ' in text and ' x: ' not in text, text)
            code, text = ndk_cc(tmp / f'{name}.cpp', '-o', tmp / 'x.so', '--cc', cc, '-f=-fexceptions')
            check(f'{cc}: {name} with exceptions', code == 0, text)
        code, text = ndk_cc(tmp / 'library.cpp', '-o', tmp / 'x.so', '--cc', cc)
        said = [line for line in text.splitlines() if line.startswith('ndk-cc: ')]
        check(f'{cc}: an error in the library has no explanation', code == 1 and len(said) == 1
              and said[0].startswith('ndk-cc: not built: errors without an explanation'), text)


UNLIKE_C = r'''
#include <wdm.h>
struct pair { char first, second; };
typedef struct pair PAIR;
static PAIR Pairs[3], *Pair = Pairs;
#define SIZE sizeof PAIR
#define MAX8 0xffui8
#define JOINED(value) value##ui64
#if 1i32 + 0x10i64 != 17 || MAX8 != 255
#error suffixes
#endif
const char *Text = "sizeof PAIR, 1i64"; /* sizeof PAIR, 1i64 */
static int sizes(void)
{
    int first = sizeof PAIR, second = sizeof Pairs[0], third = sizeof Pair->first, all = sizeof Pairs;
    return first + 10*second + 100*third + 1000*all + 10000*(sizeof PAIR == 2) + 100000*(int)(sizeof(PAIR)*SIZE);
}
static int integers(void)
{
    return sizeof 1i64 == 8 && sizeof 1UI32 == 4 && JOINED(1) << 40 >> 40 == 1 && -1i64 < 0 && 1ui64 - 2 > 0
           && MAX8 - 256 < 0 && __LINE__ == 22;
}
static int windows(void)
{
    int evaluated = 0;
    __noop(evaluated = 1);
#if !_WIN32 || !defined(_NTDDK_)
#error as the kit
#endif
    return !evaluated && Text[0] == 's';
}
#define STORE(value) store_##i32(value)
#define GLUE(a, i8) a##i8
static int store_i32(int value)
{
    return value;
}
static int pastes(void)
{
    return STORE(5) == 5 && GLUE(1, 2) == 12;
}
static int block(void)
{
    ULONG from = 0x01020304, to;
    REVERSE_BYTES(&to, &from)
    return to == 0x04030201 && SRB_STATUS_SUCCESS == 1;
}
'''
JUMPS = r'''
#include <string.h>
#include <ntddk.h>
#include <new.h>
extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }
struct __declspec(empty_bases) object { int value; };
extern "C" int jumps(int how)
{
    char place[sizeof(object)];
    if (how)
        goto end;
    {
        object *made = new (place) object{ 5 };
        return made->value;
    }
    int value = how;
    return value;
end:
    return 7;
}
'''


def unlike_c(tmp):
    """Operators, suffixes, names and jumps of Microsoft's compiler."""
    for name in ('c/unlike.c', 'cpp/unlike.cpp'):
        put(tmp, {name: '#include <intrin.h>\n#include <scsi.h>' + UNLIKE_C +
                  ('extern "C" ' if name.endswith('pp') else '') +
                  'int all(void) { return sizes() == 416122 && integers() && windows() && pastes() && block(); }\n' +
                  ('extern "C" ' if name.endswith('pp') else '') +
                  'NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING r) { return d && r ? 0 : -1; }\n'})
        for cc in ('gcc', 'clang'):
            driver, text = built(f'unlike {cc}', (tmp / name).parent, '--cc', cc)
            check(f'{cc}: {name}: sizeof, suffixes, _WIN32, __noop, blocks', value(driver, 'all') == 1, text)
    put(tmp, {'offsets/offsets.cpp': '#include <ntddk.h>\nstruct list { ULONG count; ULONG at[4]; };\n'
              'extern "C" int offset(int i) { return FIELD_OFFSET(list, at[i]) + UFIELD_OFFSET(list, count); }\n'
              'extern "C" NTSTATUS DriverEntry(PDRIVER_OBJECT, PUNICODE_STRING) { return 0; }\n'})
    for cc in ('gcc', 'clang'):
        driver, text = built(f'offsets {cc}', tmp / 'offsets', '--cc', cc)
        check(f'{cc}: the offset of an element', driver and driver.offset(3) == 16 and not text, text)
    put(tmp, {'jumps/jumps.cpp': JUMPS})
    code, text = ndk_cc(tmp / 'jumps', '-o', tmp / 'x.so')
    check('gcc: a jump past an initialization', code == 1 and 'cpp:18: end: a goto to it passes an initi' in text and
          'not built: labels behind initializations, which gcc refuses (--cc clang): end' in text, text)
    for configuration in ('Debug', 'Release'):
        driver, text = built(f'jumps {configuration}', tmp / 'jumps', '--cc', 'clang', '--configuration', configuration)
        check(f'clang: a jump past an initialization, {configuration}',
              driver and driver.jumps(0) == 5 and driver.jumps(1) == 7, text)


def warnings(tmp):
    """A warning is printed alone: gcc would report options that it does not have beside it, and clang extensions."""
    source = tmp / 'warns.c'
    source.write_text('#include <ntddk.h>\nstruct inner { int a; };\nstruct outer { struct inner; int b; };\n'
                      'int DriverEntry(struct outer *o) { int unused; return o->a; }\n')
    for cc in ('gcc', 'clang'):
        code, text = ndk_cc(source, '-o', tmp / 'warns.so', '--cc', cc, '-f=-Wunused-variable')
        check(f'{cc}: a warning', code == 0 and 'unused' in text, text)
        check(f'{cc}: no other', len(re.findall('warning:|unrecognized|unknown', text)) == 1, text)


ADVICE_SOURCE = ENTRY + '''static void mine(char *p) { (void)p; }
void f(void) { int *a = 0; char *b = a; (void)b; (void)mine; }
void g(void) { KeFrobnicate(1); }
void h(void) { FltRegisterFilter(0); }
void i(void) { RtlStringCbPrintfA(0); }
void j(void) { helper(); helper(); }
void k(void) { helper(); }
Unknown x;
SOCKADDR_INET y;
WDF_DMA_ENABLER z;
WDF_POWER_POLICY_EVENT_CALLBACKS p;
WDFQUEUE q;
void l(void) { WdfIoQueueStart(0); }
'''
ADVICE_LINK = ENTRY + '''void KeFrobnicate(int); void FltRegisterFilter(int); void helper(void);
void f(void) { KeFrobnicate(1); }
void g(void) { FltRegisterFilter(0); }
void h(void) { helper(); }
'''
# Source, compiler's options, and the explanations, in any order, and no others.
ADVISED = (
    ('types.c', (5, 'KeFrobnicate: no header that was included declares it, and OpenNDK has no such routine'),
     (6, 'FltRegisterFilter: belongs to minifilters, which OpenNDK does not have'),
     (7, 'RtlStringCbPrintfA: no header that was included declares it: include <ntstrsafe.h>'),
     (8, 'helper: no header that was included declares it: include its header'),
     (10, 'Unknown: a type that no header declares'),
     (11, 'SOCKADDR_INET: no header that was included has this type: include <ws2ipdef.h>'),
     (12, 'WDF_DMA_ENABLER: belongs to DMA, which OpenNDK does not have'),
     (13, 'WDF_POWER_POLICY_EVENT_CALLBACKS: belongs to power management, which OpenNDK does not have'),
     (14, 'WDFQUEUE: no header that was included has this type: include <wdf.h>'),
     (15, 'WdfIoQueueStart: no header that was included declares it: include <wdf.h>')),
    ('filter.c', (3, 'fltKernel.h: belongs to minifilters, which OpenNDK does not have')),
    ('link.c', (4, 'KeFrobnicate: the driver calls it, and neither the driver nor OpenNDK has it (docs/'),
     (5, 'FltRegisterFilter: belongs to minifilters, which OpenNDK does not have'),
     (6, 'helper: the driver calls it, and neither the driver nor OpenNDK has it: is a source file')))
SCOPE = 'ndk-cc: not built: out of scope, to be left out of the build (docs/driver-differences.md, "Out of scope"): '
ROUTINE = '; routines that OpenNDK does not have (docs/kernel-routines.md lists those that OpenNDK has): KeFrobnicate; '
SUMMARIES = {
    'types.c': f'{SCOPE}minifilters (FltRegisterFilter), power management (WDF_POWER_POLICY_EVENT_CALLBACKS), DMA '
               f'(WDF_DMA_ENABLER){ROUTINE}headers to include: <ntstrsafe.h>, <wdf.h>, <ws2ipdef.h>; '
               'names without a declaration: include their headers: Unknown, helper',
    'filter.c': f'{SCOPE}minifilters (fltKernel.h)',
    'link.c': f'{SCOPE}minifilters (FltRegisterFilter){ROUTINE}functions of missing source files or libraries (ndk-cc '
              'takes further folders and files): helper'}


def advice(tmp):
    """Each explanation names file and line, there is none without its message, and the last line is the summary."""
    put(tmp, {'types.c': ADVICE_SOURCE, 'filter.c': ENTRY + '#include "fltKernel.h"\n',
              'link.c': ADVICE_LINK})
    for cc in ('gcc', 'clang'):
        for name, *wanted in ADVISED:
            code, text = ndk_cc(tmp / name, '-o', tmp / 'x.so', '--cc', cc)
            said = sorted(line for line in text.splitlines()[:-1] if line.startswith('ndk-cc: '))
            check(f'{cc}: the summary of {name}', text.splitlines()[-1] == SUMMARIES[name], text)
            wanted = sorted(f'ndk-cc: {tmp / name}:{line}: {words}' for line, words in wanted)
            good = code == 1 and len(said) == len(wanted) and all(map(str.startswith, said, wanted))
            check(f'{cc}: explanations of {name}', good, (wanted, text))


def families(_):
    """The document names each family that is out of scope, and no routine that OpenNDK has belongs to one."""
    root = pathlib.Path(__file__).resolve().parents[3]
    sys.path.insert(0, str(root / 'tools' / 'ndk-cc'))
    sys.dont_write_bytecode = True
    from ndk_cc import scope # pylint: disable=import-outside-toplevel
    page = (root / 'docs' / 'driver-differences.md').read_text()
    page = page[page.index('## Out of scope'):page.index('## What ndk-cc understands')]
    named = re.findall(r'^\| `([^`]+)` \|', page, re.M)
    check('families in the document', sorted(named) == sorted(entry[0] for entry in scope.FAMILIES), named)
    routines = re.findall(r'`(\w+)`', (root / 'docs' / 'kernel-routines.md').read_text())
    claimed = {name: scope.family(name) for name in routines if scope.family(name)}
    check('no routine of OpenNDK is out of scope', not claimed, claimed)


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
    put(tmp, {'results.c': ENTRY + 'static NTSTATUS unload(PDRIVER_OBJECT d) { (void)d; return 0; }\n'
        'static void dispatch(PDEVICE_OBJECT d, PIRP i) { (void)d; (void)i; }\n'
        'static NTSTATUS dpc(PKDPC k, PVOID c, PVOID a, PVOID b) { (void)k; (void)c; (void)a; (void)b; return 0; }\n'
        'void set(PDRIVER_OBJECT d) { d->DriverUnload = unload; }\n'
        'void init(PKDPC k) { KeInitializeDpc(k, dpc, NULL); }\n'
        'void other(PDRIVER_OBJECT d) { d->MajorFunction[0] = dispatch; }\n'})
    for cc in ('gcc', 'clang'):
        code, text = ndk_cc(tmp / 'callback.c', '-o', tmp / 'x.so', '--cc', cc)
        check(f'{cc}: a callback of another type is told, and built',
              code == 0 and 'callback.c:7: a callback of another type' in text, (code, text))
        code, text = ndk_cc(tmp / 'results.c', '-o', tmp / 'x.so', '--cc', cc)
        check(f'{cc}: callbacks that differ in the result', code == 0 and 'a callback of another type' not in text
              and 'results.c:6: a callback that returns a value' in text and '(and in 1 more lines)' in text
              and 'results.c:8: a callback that returns nothing' in text, (code, text))
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
    put(tmp, {'stars/p.vcxproj': PROJECT % '<Import Project="..\\sheets\\all.props"/>',
              'sheets/src/no.c': '#error no\n',
              'sheets/all.props': PROJECT % ('<ItemGroup><ClCompile Include="src\\**\\*.c"/>'
                                             '<ClCompile Include="own\\*.c"/></ItemGroup>'),
              'sheets/own/three.c': 'int three(void) { return 3; }\n'})
    driver, text = built('sheet', tmp / 'stars')
    check('a pattern of a property sheet', value(driver, 'two') == 2 and value(driver, 'three') == 3, text)


REFERENCE = '<ItemGroup><ProjectReference Include="%s"/></ItemGroup>'
LISTED = '<ItemGroup><ClCompile Include="%s"/></ItemGroup>'
OF_TYPE = '<PropertyGroup><ConfigurationType>%s</ConfigurationType></PropertyGroup>'
OWN = '<ItemDefinitionGroup><ClCompile><PreprocessorDefinitions>PART=%d</PreprocessorDefinitions></ClCompile>' \
    '</ItemDefinitionGroup>'


def libraries(tmp):
    """Static libraries that a project refers to, or that the command line names, with options of their own."""
    put(tmp, {'d/d.vcxproj': PROJECT % (OF_TYPE % 'Driver' + OWN % 1 + LISTED % 'main.c' + REFERENCE % r'..\A\a.vcxproj'
                                        + REFERENCE % r'..\app\app.vcxproj' + REFERENCE % r'..\none.vcxproj'),
              'd/main.c': ENTRY + 'int a(void); int b(void);\nint sum(void) { return PART + a() + b(); }\n',
              'a/a.vcxproj': PROJECT % (OF_TYPE % 'StaticLibrary' + OWN % 20 + LISTED % 'a.c' + LISTED % 'unused.c' +
                                        REFERENCE % '../b/b.vcxproj' + REFERENCE % 'a.vcxproj'),
              'a/a.c': 'int b(void); int a(void) { return PART + b() - b(); }\n',
              'a/unused.c': 'int nowhere(void); int unused(void) { return nowhere(); }\n',
              'b/b.vcxproj': PROJECT % (OWN % 300 + LISTED % 'b.c'), 'b/b.c': 'int b(void) { return PART; }\n',
              'app/app.vcxproj': PROJECT % (OF_TYPE % 'Application' + LISTED % 'app.c'), 'app/app.c': '#error app\n',
              'plain/more.c': ENTRY + 'int b(void);\nint more(void) { return b(); }\n', 'c/c.c': '#error c\n'})
    driver, text = built('libraries', tmp / 'd', '-v')
    check('libraries: options of their own', value(driver, 'sum') == 321, text)
    check('another type of project is noted', 'app.vcxproj: ignored, because it is not a static library' in text, text)
    check('a project that is missing is noted', 'none.vcxproj: a referenced project that does not exist' in text, text)
    driver, text = built('a library of the command line', tmp / 'plain', tmp / 'b')
    check('a library of the command line', value(driver, 'more') == 300, text)
    code, text = ndk_cc(tmp / 'plain', tmp / 'c', '-o', tmp / 'x.so')
    check('an error in a library', code == 1 and 'c.c:1' in text, (code, text))


def main():
    ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    for case in (spelling, sources_file, vcxproj, sheets, beside, order, languages, dialect, cplusplus, standard,
                 asked, microsoft, unlike_c, warnings, advice, families, words, malformed, nested, libraries):
        with tempfile.TemporaryDirectory() as folder:
            inner = pathlib.Path(folder) / 'inner'
            inner.mkdir()
            case(inner)
    return failures != 0


sys.exit(main())
