#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkrun: output and exit status. usage: ndkrun_test.py NDKRUN DRIVERS NDK-CC|- SAMPLES"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

import ndkrun_kit
from ndkrun_kit import ENVIRONMENT, LIMIT, NDKRUN, NDK_CC, DRIVERS, SAMPLES, STALLING, check, driver, expect, ndkrun, \
    sanitizer, summary


def usage():
    expect('help', 0, 'ndkrun loads kernel drivers', '--help')
    expect('no driver', 2, 'no driver: ')
    expect('a wrong option', 2, 'frob: unknown option', '--frob')
    for option, word in (('--net', '12'), ('--net', '12=host'), ('--net', '0=1.2.3.4/8'), ('--verify', 'maybe'),
                         ('--run-for', 'soon'), ('--map', 'x=lo'), ('--net', '12=1.2.3.4/8;reboot')):
        expect(f'{option} {word}', 2, 'is not a value for this option', '--run-for', 0, option, word, driver('tee'))
    for word in ('Port', 'Port=5', 'Port=dword:', 'Port=dword:4294967296', 'Port=hex:0', 'Port=word:1'):
        expect(f'--reg {word}', 2, 'expected', '--reg', word, driver('tee'))
    expect('--reg-file that is not there', 2, 'reg-file', '--reg-file', '/nobody.reg', driver('tee'))
    expect('--files that is not there', 2, '/nobody: No such file', '--files', '/nobody', driver('tee'))
    expect('--map of an interface that is not there', 2, 'nothing0.*no interface of that name', '--map', '12=nothing0',
           driver('tee'))
    expect('no such file', 3, 'no such file', driver('nobody'))
    expect('a missing routine', 3, ['KeFrobnicate', 'docs/kernel-routines.md'], driver('missing'))


def controls():
    text = expect('a device control', 0, [r'Tee 0x222000: STATUS_SUCCESS, 3 bytes', '0000  03 02 01 ', 'nothing left'],
                  '--run-for', 0, '--ioctl', 'Tee:0x222000:010203', driver('tee'))
    check('nothing else is said', 'left:' not in text and 'rule' in text, text)
    expect('several, in order', 4, [r'(?s)03 02 01.*STATUS_INVALID_PARAMETER.*05 05 04 04 04'], '--run-for', 0,
           '--ioctl', r'\\.\Tee:0x222000:010203', '--ioctl', r'\Device\Tee:0x1', '--ioctl', 'Tee:2236416:0404040505',
           driver('tee'))
    expect('a device that is not there', 4, 'cannot open Nobody: STATUS_OBJECT_NAME_NOT_FOUND: no driver has created',
           '--run-for', 0,
           '--ioctl', 'Nobody:1', driver('tee'))
    expect('a control of another form', 2, r"DEVICE:CODE\[:INPUT\[:LENGTH\]\] is expected", '--run-for', 0, '--ioctl',
           'Tee:0x222000:123', driver('tee'))
    expect('one driver twice', 3, 'loaded already', '--run-for', 0, driver('tee'), driver('tee'))


def commands():
    asked = [word for command in ('inquiry', 'capacity', 'luns', 'write 5 4f70656e4e444b', 'read 5 1',
                                  'cdb 000000000000')
             for word in ('--scsi', '0:0:0 ' + command)]
    expect('SCSI commands', 0, ['RAM disk', r'0000  00 00 00 3f 00 00 02 00',
                                r'luns: STATUS_SUCCESS, SCSI status 0x00 \(GOOD\), 16',
                                r'write 5 4f70656e4e444b: STATUS_SUCCESS, SCSI status 0x00 \(GOOD\), 512', r'OpenNDK\.',
                                'nothing left'],
           '--run-for', 0, *asked, driver('ramdisk'))
    expect('one that the unit refuses', 4,
           [r'SCSI status 0x02 \(CHECK CONDITION\)', r'sense key 0x5 \(ILLEGAL REQUEST\), additional code 0x21'],
           '--run-for', 0, '--scsi', '0:0:0 read 64 1', driver('ramdisk'))
    expect('a unit that is not there', 4, '0:1:0 inquiry: ', '--run-for', 0, '--scsi', '0:1:0 inquiry',
           driver('ramdisk'))
    for word in ('0:0 inquiry', '0:0:0 frob', '0:0:0 read 1', '0:0:0 cdb 00', '0:0:300 inquiry', 'inquiry'):
        expect(f'--scsi {word}', 2, 'PATH:TARGET:LUN COMMAND is expected', '--run-for', 0, '--scsi', word,
               driver('ramdisk'))
    expect('a driver without an adapter', 4, 'no driver has a Storport adapter', '--run-for', 0, '--scsi',
           '0:0:0 inquiry',
           driver('tee'))


def networks():
    asked = [word for index in (12, 13, 14) for word in ('--ioctl',
                                                         'Tee:0x222000:' + index.to_bytes(4, 'little').hex())]
    text = expect('--net', 4, 'tee.so is loaded', '--run-for', 0, *asked, '--net',
                  '12=192.168.1.1/24,13=192.168.1.2/24,13=fd00::1/64',
                  driver('tee'))
    check('--net: interfaces 12 and 13 are there, 14 is not',
          re.findall(r'Tee 0x222000: (\w+)', text) == ['STATUS_SUCCESS'] * 2 + ['STATUS_INVALID_PARAMETER'], text)
    expect('--map', 0, r'Tee 0x222000: STATUS_SUCCESS', '--run-for', 0, '--map', '12=lo', *asked[:2], driver('tee'))
    expect('--net and 600 more arguments', 0, 'tee.so is loaded', '--net', '12=192.168.1.1/24', *['--run-for', 0] * 300,
           driver('tee'))
    path = os.environ['PATH']
    os.environ['PATH'] = f'{pathlib.Path(__file__).parent}/late_route:{path}' # whose `ip` is run
    expect('--net: an IPv6 address before the kernel has added its local route', 0, 'ipv6: connected', '--run-for', 0,
           '--net', '12=fd00::1/64', driver('over_ipv6'))
    os.environ['PATH'] = path
    code, text = ndkrun('--run-for', 0, *asked[:2], driver('tee'))
    check('without either the index is nobody', code == 4, (code, text))


def leftovers():
    for kind, words in (('device', 'left: device object'), ('irp', 'left: IRP'),
                        ('link', r'left: symbolic link 0x[0-9a-f]+ \(\\DosDevices\\Left\)'),
                        ('timer', 'left: timer that is set'), ('pool', 'tag Left'), ('mdl', 'left: MDL'),
                        ('work', 'left: work item'), ('lookaside', 'left: lookaside list'),
                        ('resource', 'left: ERESOURCE'), ('handle', 'left: handle'),
                        ('thread', 'left: system thread')):
        called = '' if kind == 'timer' else r'    [A-Z]\w+ called by\n' # timers store the stack from the driver on
        text = expect(f'leaves a {kind}', 1, [
                      fr'{words}.*\n{called}    #0 Leaves{kind.title()} at [^ ]*/leaves.c:[0-9]+ ',
                      'driver rule broken: unload-outstanding', '1 rule was broken'],
                      '--run-for', 0, '--verify', 'report', driver(f'leaves_{kind}'))
        check(f'leaves a {kind}: and nothing else', len(re.findall('^left: (?!pool, tag)', text, re.M)) == 1, text)
    expect('a repeated report is counted before the summary', 1,
           r'\*\*\* reported again: pool-wrong-tag in ExFreePoolWithTag: 3 times in all at (.*\n)+'
           r'ndkrun: 3 rules were broken',
           '--run-for', 0, '--verify', 'report', driver('repeats'))
    expect('a leftover stops the program', -signal.SIGABRT, r'bug check 0xCE(?s:.*)summary: run seconds=', '--run-for',
           0,
           driver('leaves_device'))
    expect('without checks it is told all the same', 1, ['left: device object', '1 thing was left'], '--run-for', 0,
           '--verify', 'off', driver('leaves_device'))


def ends():
    for number in (signal.SIGINT, signal.SIGTERM):
        with subprocess.Popen([NDKRUN, driver('tee')], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as p:
            text = p.stdout.readline()
            p.send_signal(number)
            text += p.communicate(timeout=LIMIT)[0]
        check(f'{number.name} unloads', p.returncode == 0 and 'nothing left' in text, (p.returncode, text))
    expect('--until-idle', 0, 'nothing left', '--until-idle', driver('tee'))
    expect('--until-print', 0, 'turned 3 bytes', '--until-print', 'turned 3', '--ioctl', 'Tee:0x222000:010203',
           driver('tee'))


class Stalled:
    """A run whose device control does not end, and its output."""

    def __init__(self, function, *options, report_ms=2000):
        self.text = ''
        self.p = subprocess.Popen([NDKRUN, *options, '--json', '--run-for', '0', '--ioctl',
                                   f'Stalling:{STALLING[function]}', driver('stalling')], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  env=ENVIRONMENT | {'ONDK_CLOSE_REPORT_MS': str(report_ms)})

    def read_until(self, words):
        for line in self.p.stderr:
            self.text += line
            if words in line:
                return
        check(f'says {words}', False, self.text)

    def interrupt(self):
        self.p.send_signal(signal.SIGINT)

    def end(self, name, code, words):
        self.text += self.p.stderr.read()
        self.p.stderr.close()
        with self.p.stdout as stdout:
            output = stdout.read()
        check(f'{name}: exit status {code}', self.p.wait() == code, (self.p.returncode, self.text))
        if code != 130: # the second Ctrl-C ends at once
            seen = json.loads(output or '{}')
            check(f'{name}: one summary', self.text.count('summary: run ') == 1, self.text)
            check(f'{name}: --json', (seen.get('exit'), seen.get('interrupted')) == (code, True) and
                  'left' in seen and seen['left'] is None, output)
        for word in words:
            check(f'{name}: says {word}', re.search(word, self.text), self.text)


def files():
    """Reports, and the result of each rule, in files."""
    with tempfile.TemporaryDirectory() as folder:
        reports, junit = pathlib.Path(folder, 'reports.json'), pathlib.Path(folder, 'junit.xml')
        setting = f',json,output={reports},junit={junit}'
        text = expect('reports in a file', 1, ['1 rule was broken'], '--run-for', 0, '--verify', 'report' + setting,
                      driver('leaves_device'))
        check('no report on standard error', 'driver rule broken' not in text, text)
        seen = [json.loads(line)['rule'] for line in reports.read_text('utf-8').splitlines()]
        check('the report is in the file', seen == ['unload-outstanding'], seen)
        seen = junit.read_text('utf-8')
        check('the rule has failed', re.search('name="unload-outstanding">\n *<failure ', seen), seen)
        expect('stopped, with the report in a file', -signal.SIGABRT,
               f'rule unload-outstanding is broken in DriverUnload; the report is in {reports}', '--run-for', 0,
               '--verify', 'stop' + setting, driver('leaves_device'))
        seen = reports.read_text('utf-8').splitlines()
        check('the second report is appended', len(seen) == 2, seen)


def foreign():
    """Another NDK provider: drivers get its adapters, with the addresses of Windows, verified or not."""
    module = driver('foreign')
    four = ('--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--run-for', '0')
    six = ('--net', '12=fd00::1/64', '--run-for', '0')
    for provider in ((), ('--provider', module)):
        for mode in ('stop', 'off'):
            text = expect(f'IPv6 with {mode} {provider}', 0, ["ipv6: connected, all families are Windows'",
                                                              'nothing left'],
                          *six, *provider, '--verify', mode, driver('over_ipv6'))
            check('the provider is printed', (f'ndkrun: provider OpenNDK' in text) == bool(provider), text)
            if SAMPLES.exists():
                expect(f'samples with {mode} {provider}', 0, [
                    'hello: the echo says "hello, world"', 'nothing left', 'summary: connections ' +
                    ('not counted' if provider else 'initiated=1 accepted=1 failed=0')], *four, *provider,
                       '--verify', mode, SAMPLES / 'echo.so', SAMPLES / 'hello.so')
    d, code = summary('--provider', module, driver('tee'))
    check('--json names the provider', code == 0 and d['provider']['name'] == 'OpenNDK' and
          d['provider']['module'] == module, d)
    expect('an interface that the foreign provider lacks', 3, 'STATUS_INVALID_PARAMETER', '--run-for', 0, '--provider',
           module, driver('over_ipv6'))
    expect('a provider that is not there', 2, 'ndkrun: --provider: no provider: /nobody.so', '--provider', '/nobody.so',
           driver('tee'))
    expect('a driver is no provider', 2, 'ndkrun: --provider: no provider', '--provider', driver('tee'), driver('tee'))


def stalled():
    """
    Device controls that do not end are reported, and cancelled by Ctrl-C. Runs on a thread, because it mostly waits for
    time limits of ndkrun.
    """
    network = Stalled('pend', '--net', '12=192.168.1.1/24', report_ms=3000) # ndkrun starts itself again
    network.read_until('has not ended for 3.0 seconds; Ctrl-C cancels it')
    network.interrupt()
    network.end('a pending control with --net', 4, ['Stalling 0x222004: STATUS_CANCELLED, 0 bytes'])
    runs = {function: Stalled(function) for function in STALLING}
    twice = Stalled('inside')
    for run in [*runs.values(), twice]:
        run.read_until('has not ended for 2.0 seconds; Ctrl-C cancels it')
        run.interrupt()
    stack = r'    \(the thread does not print its stack\)\n' if sanitizer() == 'tsan' else \
        r'    KeWaitForSingleObject called by\n    #0 Stalling\w+ at \S*/stalling.c:\d+ '
    twice.read_until('interrupted: ')
    twice.interrupt()
    twice.end('Ctrl-C twice', 130, [])
    runs['pend'].end('a pending control', 4, [
        r'pending: IRP_MJ_DEVICE_CONTROL 0x222004 to \\Driver\\stalling, for [0-9.]+ s, sent by thread \d+, IRP 0x',
        'has returned STATUS_PENDING\n    the IRP is marked pending\n    its cancel routine is\n'
        r'      #0 StallingCancel at \S*/stalling.c:\d+ ',
        'ndkrun: interrupted: Stalling 0x222004 is cancelled', 'Stalling 0x222004: STATUS_CANCELLED, 0 bytes'])
    runs['deaf'].end('a control that is not cancelled', 1, [
        'it has no cancel routine', '0x222008 has not ended 10 seconds after it was cancelled; no driver is unloaded',
        'marked pending, and it was cancelled'])
    runs['inside'].end('a control that stays in the driver', 1, [
        'has not returned\n    the IRP is not marked pending\n', r'  thread \d+ is in the driver:\n' + stack,
        r'(?s)0x22200C has not ended 10 seconds.* is in the driver:\n' + stack])
    runs['cancel stays'].end('a cancel routine that does not return', 1, [
        'the cancel routine of Stalling 0x22201C has not returned for 10 seconds; no driver is unloaded',
        r'is in the driver:\n' + stack])


def numbers():
    for option, word in (('--net', '4294967308=1.2.3.4/8'), ('--net', '-18446744073709551604=1.2.3.4/8'),
                         ('--net', '+12=1.2.3.4/8'), ('--net', ' 12=1.2.3.4/8'), ('--map', '4294967308=lo'),
                         ('--run-for', '-1'), ('--run-for', ' 1'), ('--run-for', 'inf'), ('--run-for', '1e400')):
        expect(f'{option} {word}', 2, 'is not a value for this option', '--run-for', 0, option, word, driver('tee'))
    for word in ('dword:-1', 'dword:-18446744073709551611', 'dword: 5', 'dword:5x', 'qword:-1',
                 'qword:18446744073709551616'):
        expect(f'--reg Port={word}', 2, 'expected', '--run-for', 0, '--reg', f'Port={word}', driver('tee'))
    for code in ('-1', '-18446744073709549568', '18446744073711800320', ' 1', '1x', ''):
        expect(f'--ioctl Tee:{code}', 2, 'is expected', '--run-for', 0, '--ioctl', f'Tee:{code}', driver('tee'))
    for word in ('0:0:-0 inquiry', '0:0:+0 inquiry', '0:0:18446744073709551616 inquiry',
                 '0:0:0 read -18446744073709551611 1'):
        expect(f'--scsi {word}', 2, 'is expected', '--run-for', 0, '--scsi', word, driver('ramdisk'))


def environment():
    for variable, value, words in (('ONDK_CONECT_MS', '5', 'the nearest is ONDK_CONNECT_MS'),
                                   ('ONDK_SPIN_US', '-1', 'a number from 0 to'),
                                   ('ONDK_VERIFY', 'maybe', 'expected is off, report or stop')):
        os.environ[variable] = value
        text = expect(f'{variable}={value}', 2, words, '--run-for', 0, driver('tee'))
        check(f'{variable}={value}: told once', text.count('is not used:') == 1, text)
        del os.environ[variable]
    os.environ['ONDK_VERIFY'] = 'report'
    expect('checks by the environment', 1, ['driver rule broken', '1 rule was broken'], '--run-for', 0,
           driver('leaves_device'))
    expect('an option is above the environment', -signal.SIGABRT, 'bug check 0xCE', '--run-for', 0, '--verify', 'stop',
           driver('leaves_device'))
    del os.environ['ONDK_VERIFY']


def missing_programs():
    """--net needs `unshare` and `ip`."""
    path = os.environ['PATH']
    with tempfile.TemporaryDirectory() as folder:
        os.environ['PATH'] = folder
        expect('no unshare', 2, 'needs the program `unshare`.*install the package util-linux', '--run-for', 0, '--net',
               '12=10.0.0.1/8', driver('tee'))
        for program in ('unshare', 'true', 'env'):
            os.symlink(shutil.which(program, path=path), pathlib.Path(folder) / program)
        expect('no ip', 2, 'needs the program `ip`.*install the package iproute2', '--run-for', 0, '--net',
               '12=10.0.0.1/8',
               driver('tee'))
        ip = pathlib.Path(folder) / 'ip' # it ends before it has read anything
        ip.write_text('#!/bin/sh\nexit 1\n')
        ip.chmod(0o755)
        many = ','.join(f'{index}=10.0.0.1/8' for index in range(2, 60))
        expect('an ip that fails', 2, 'could not make the interfaces', '--run-for', 0, '--net', many, driver('tee'))
    os.environ['PATH'] = path


def output():
    p = subprocess.run([NDKRUN, '--run-for', '0', driver('prints')], capture_output=True, timeout=LIMIT, check=False)
    check('odd bytes: exit status', p.returncode == 0, p)
    check('odd bytes: no control characters', not re.search(rb'[^\n\t\x20-\x7e\x80-\xff]|\xc2\x9b', p.stderr), p.stderr)
    check('odd bytes: what they were', b'odd: \\x1b]0;owned\\x07 \\x1b[2J\\x0dndkrun: nothing left \\x7f \\xc2\\x9b31m '
          b'\xc3\xa4 \\xff\tend\n' in p.stderr, p.stderr)
    expect('a driver continues its line, ndkrun begins another one', 1,
           r'(?m)^\[\S+ \d+ IRQL 0\] first part\nndkrun: .*continues.so is loaded\n\[.* IRQL 0\] second part\n'
           r'\[.* IRQL 0\] no end\nleft: MDL', '--run-for', 0, '--verify', 'report', driver('continues'))
    if not os.path.exists('/dev/full'):
        print('a full disk: skipped, this system has no /dev/full')
        return
    with open('/dev/full', 'w', encoding='ascii') as full:
        p = subprocess.run([NDKRUN, '--help'], stdout=full, timeout=LIMIT, check=False)
        check('a full disk, --help', p.returncode == 6, p)
        p = subprocess.run([NDKRUN, '--run-for', '0', driver('tee')], stderr=full, timeout=LIMIT, check=False)
        check('a full disk, a run', p.returncode == 6, p)


def clocks():
    """The system's time is set back: waits with a time limit are not affected."""
    os.environ['LD_PRELOAD'] = str(DRIVERS / 'early_clock.so')
    text = expect('the time is set back', 0, 'nothing left', '--run-for', 0, driver('waits'))
    check('the time is set back: nobody waits for long',
          'has not returned' not in text and 'WskDeregister' not in text, text)
    del os.environ['LD_PRELOAD']


OVERFLOW = '''#include <ntddk.h>
#include <stdlib.h>
DRIVER_INITIALIZE DriverEntry;
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    volatile char *block = malloc(10);
    UNREFERENCED_PARAMETER(d);
    UNREFERENCED_PARAMETER(p);
    block[10] = 1;
    free((void *)block);
    return STATUS_UNSUCCESSFUL;
}
'''


def sanitizers(tmp):
    source = tmp / 'over.c'
    source.write_text(OVERFLOW)
    for cc in ('gcc', 'clang'):
        made = subprocess.run([NDK_CC, source, '-o', tmp / f'{cc}.so', '--sanitize', 'address', '--cc', cc],
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        check(f'{cc} builds with AddressSanitizer', made.returncode == 0, made.stderr)
        code, text = ndkrun('--run-for', 0, '--net', '12=10.9.9.9/24', tmp / f'{cc}.so')
        check(f'{cc}: ndkrun finds the runtime', code not in (0, 3) and 'heap-buffer-overflow' in text, (code, text))
        check(f'{cc}: the line is that of the source', f'{source}:9' in text or 'over.c:9' in text, text)
    made = subprocess.run([NDK_CC, source, '-o', tmp / 'tsan.so', '--sanitize', 'thread'], capture_output=True,
                          text=True,
                          timeout=LIMIT, check=False)
    check('gcc builds with ThreadSanitizer', made.returncode == 0, made.stderr)
    expect('ThreadSanitizer wants a kernel built for it', 2, 'cmake --preset tsan', tmp / 'tsan.so')


GLOBALS = ('''#include <ntddk.h>
DRIVER_INITIALIZE DriverEntry;
int table[4];
int shared, value, later = 7;
int sum(void);
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    UNREFERENCED_PARAMETER(d);
    UNREFERENCED_PARAMETER(p);
    shared = 1000;
    DbgPrint("sum %d\\n", sum());
    table[value - 38] = 1;
    return STATUS_UNSUCCESSFUL;
}
''', '''int table[4], shared, value = 42, later;
int sum(void);
int sum(void)
{
    return shared + value + later;
}
''')


def globals_of_several_files(tmp):
    """A variable that two files define is one variable, with its value, and a write behind it is reported."""
    for number, text in enumerate(GLOBALS):
        (tmp / f'{number}.c').write_text(text)
    for cc in ('gcc', 'clang'):
        made = subprocess.run([NDK_CC, tmp, '-o', tmp / f'{cc}.so', '--sanitize', 'address', '--cc', cc],
                              capture_output=True,
                              text=True, timeout=LIMIT, check=False)
        check(f'{cc} builds variables that two files define', made.returncode == 0, made.stderr)
        code, text = ndkrun('--run-for', 0, tmp / f'{cc}.so')
        check(f'{cc}: they are one', 'sum 1049\n' in text and 'odr-violation' not in text, text)
        check(f'{cc}: a write behind one is reported', code not in (0, 3) and 'global-buffer-overflow' in text and
              '0.c:12' in text, (code, text))


TRACE_H = '''#define WPP_CONTROL_GUIDS WPP_DEFINE_CONTROL_GUID(G, (1,2,3,4,5), \\
    WPP_DEFINE_BIT(T_ALL) WPP_DEFINE_BIT(T_IO))
// begin_wpp config
// FUNC Trace{FLAGS=T_ALL}(LEVEL, MSG, ...);
// FUNC TraceEvents(LEVEL, FLAGS, MSG, ...);
// FUNC Enter{LEVEL=TRACE_LEVEL_VERBOSE}(...);
// FUNC Twice((LEVEL, FLAGS, MSG, ...));
// end_wpp
'''
TRACES = '''#include <ntddk.h>
#include "trace.h"
#include "Other.tmh"
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    WPP_INIT_TRACING(d, p);
    Trace(TRACE_LEVEL_ERROR, "%!FUNC! failed with %!STATUS!, 100%%", STATUS_UNSUCCESSFUL);
    TraceEvents(TRACE_LEVEL_INFORMATION, T_IO, "key %!USTR! level %d", p, 3);
    DoTraceMessage(T_ALL, "long name %!NTSTATUS!", STATUS_PENDING);
    DoTraceMessage(T_ALL, "plain");
    Enter();
    Twice((TRACE_LEVEL_WARNING, T_IO, "inner %d", 7));
    WPP_SYSTEMCONTROL(d);
    WPP_CLEANUP(d);
    return STATUS_UNSUCCESSFUL;
}
'''


# For each driver of faults.c what is said, by the sanitizer that ndkrun is built with.
PROVIDER_FAULTS = {
    'ReadFreedPool': {
        '': ['driver rule broken: pool-use-after-free', 'tag Fult: read after it was freed', 'freed by'],
        'asan': ['AddressSanitizer: heap-use-after-free', 'READ of size 1'],
        'tsan': ['driver rule broken: pool-use-after-free', 'tag Fult: read after it was freed'],
    },
    'DereferenceNull': {
        '': [r'\*\*\* Segmentation fault at \(nil\)'],
        'asan': ['AddressSanitizer: SEGV on unknown address 0x0+ '],
        'tsan': ['ThreadSanitizer: SEGV on unknown address 0x0+ '],
    },
    'OverflowStack': {
        '': [r'\*\*\* Segmentation fault at 0x'],
        'asan': ['AddressSanitizer: stack-overflow'],
        'tsan': ['ThreadSanitizer: stack-overflow'],
    },
    # The frames behind the overwritten one are lost.
    'OverwriteStack': {
        '': [r'\*\*\* Segmentation fault at ', r'#0 OverwriteStack at .*\n +the stack cannot be followed further'],
        'asan': ['AddressSanitizer: stack-buffer-overflow'],
        'tsan': ['ThreadSanitizer: SEGV'],
    },
    # The rule about the region stops the driver before the peer writes.
    'PlaceInFreedPool': {
        '': ['driver rule broken: region-freed-in-use', 'in use since', 'NdkRegisterMr called by', 'allocated by'],
        'asan': ['driver rule broken: region-freed-in-use'],
        'tsan': ['driver rule broken: region-freed-in-use', 'in use since', 'NdkRegisterMr called by'],
    },
}


def provider_faults():
    """A fault in a callback, and one while a message is placed: both on a thread of the provider."""
    kind = sanitizer()
    for name, expected in PROVIDER_FAULTS.items():
        code, text = ndkrun('--run-for', 0, driver(name))
        check(f'{name} ends the program', code not in (0, 3), (code, text))
        stack = []
        if name != 'PlaceInFreedPool' and kind != 'tsan': # which reports a fault without a stack
            stack = [fr'#\d+ .*{name} ']
            if name not in ('OverflowStack', 'OverwriteStack'): # whose innermost frames are all alike, or lost
                stack += [r'#\d+ .*Notified .*/faults\.c:\d+']
        for word in expected[kind] + stack:
            check(f'{name}: says {word}', re.search(word, text), text)
    if not kind: # the thread that has the fault, and prints the summary, holds a lock of a queue pair
        expect('SendFromNowhere', -signal.SIGSEGV, [
            r'\*\*\* Segmentation fault at 0x10:', r'#\d+ .*SendFromNowhere .*/faults\.c:\d+',
            'summary: connections initiated=1 accepted=1 '], '--verify', 'off', '--run-for', 0,
            driver('SendFromNowhere'))


FAULT = '''#include <ntddk.h>
static int inner(volatile int *p)
{
    return *p;
}
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    UNREFERENCED_PARAMETER(d);
    UNREFERENCED_PARAMETER(p);
    return inner((int *)16);
}
'''


def faults(tmp):
    (tmp / 'fault.c').write_text(FAULT)
    made = subprocess.run([NDK_CC, tmp, '-o', tmp / 'fault.so'], capture_output=True, text=True, timeout=LIMIT,
                          check=False)
    check('the driver with a fault builds', made.returncode == 0, made.stderr)
    expect('a fault is told with its stack', -signal.SIGSEGV, [r'\*\*\* Segmentation fault at 0x10:',
           r'#0 inner at \S*/fault.c:4 ', r'#1 DriverEntry at \S*/fault.c:10 '], tmp / 'fault.so')


INLINED = '''#include <ntddk.h>
static __forceinline int inner(volatile int *p)
{
    return *p;
}
static __forceinline int middle(volatile int *p)
{
    return inner(p) + 1;
}
NTSTATUS DriverEntry(PDRIVER_OBJECT d, PUNICODE_STRING p)
{
    UNREFERENCED_PARAMETER(d);
    UNREFERENCED_PARAMETER(p);
    return middle((int *)16);
}
'''


def inlined(tmp):
    (tmp / 'inlined.c').write_text(INLINED)
    made = subprocess.run([NDK_CC, tmp, '-o', tmp / 'inlined.so'], capture_output=True, text=True, timeout=LIMIT,
                          check=False)
    check('the driver with inlined functions builds', made.returncode == 0, made.stderr)
    expect('a frame shows what it is inlined into', -signal.SIGSEGV, [
        r'#0 inner at \S*/inlined.c:4 \(inlined.so\+0x\w+\)\n'
        r'       inlined by middle at \S*/inlined.c:8\n'
        r'       inlined by DriverEntry at \S*/inlined.c:14\n    #1 '], tmp / 'inlined.so')


def traces(tmp):
    (tmp / 'Trace.h').write_text(TRACE_H)
    (tmp / 'main.c').write_text(TRACES)
    for sanitizer_options in ((), ('--sanitize', 'address')):
        made = subprocess.run([NDK_CC, tmp, '-o', tmp / 'traces.so', *sanitizer_options], capture_output=True,
                              text=True, timeout=LIMIT, check=False)
        check('ndk-cc makes up .tmh files', made.returncode == 0, made.stderr)
        expect('trace calls print', 3, [r'\[TRACE_LEVEL_ERROR\] DriverEntry:  failed with 0xC0000001, 100%\n',
               r'\[TRACE_LEVEL_INFORMATION\] DriverEntry: key \\Registry\\Machine\S*traces level 3\n',
               r'DriverEntry: long name 0x00000103\n', r'DriverEntry: plain\n',
               r'\[TRACE_LEVEL_VERBOSE\] DriverEntry: \n', r'WARNING\] DriverEntry: inner 7\n'], tmp / 'traces.so')


def needed(path):
    listed = subprocess.run(['readelf', '-d', path], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r'NEEDED.*\[libopenndk-wdk-(\w+)\.so', listed))


def models(tmp):
    """A driver needs the libraries that it calls, and finds them in the folder of the kernel's."""
    sources = pathlib.Path(__file__).resolve().parents[1] / 'drivers'
    for sanitizer_options in ((), ('--sanitize', 'address')):
        made = subprocess.run([NDK_CC, *sources.glob('ramdisk*.c'), '-o', tmp / 'disk.so', *sanitizer_options],
                              capture_output=True, text=True, timeout=LIMIT, check=False)
        check('ndk-cc builds a miniport', made.returncode == 0, made.stderr)
        check('which needs both libraries', needed(tmp / 'disk.so') == {'storport', 'wdf'}, needed(tmp / 'disk.so'))
        expect('a miniport of ndk-cc', 0, 'RAM disk', '--run-for', 0, '--scsi', '0:0:0 inquiry', tmp / 'disk.so')
    check('another driver needs neither', needed(driver('tee')) == set(), needed(driver('tee')))
    for routine, library in (('StorPortInitialize', 'storport'), ('WdfDriverCreate', 'wdf')):
        (tmp / 'bare.c').write_text(f'void {routine}(void); int DriverEntry(void) {{ {routine}(); return 0; }}\n')
        subprocess.run(['gcc', '-shared', '-fPIC', tmp / 'bare.c', '-o', tmp / 'bare.so'], check=True)
        expect(f'a driver that is not linked with {library}', 3, f'add -lopenndk-wdk-{library}', tmp / 'bare.so')


def main():
    os.environ.pop('ONDK_VERIFY', None)
    waiting = threading.Thread(target=stalled)
    waiting.start()
    for case in (usage, numbers, environment, missing_programs, output, controls, files, foreign, commands, networks,
                 leftovers, ends, provider_faults):
        case()
    waiting.join()
    if NDK_CC != '-': # no sanitizer, whose runtime would have to be preloaded first
        clocks()
        with tempfile.TemporaryDirectory() as folder:
            sanitizers(pathlib.Path(folder))
        for case in (traces, faults, inlined, globals_of_several_files, models):
            with tempfile.TemporaryDirectory() as folder:
                case(pathlib.Path(folder))
    return ndkrun_kit.failures != 0


sys.exit(main())
