#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkrun's reports of faults, broken rules and calls that hang have the last events of the trace.

usage: ndkrun_trace_test.py NDKRUN DRIVERS SAMPLES
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

NDKRUN, DRIVERS, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith('ONDK_')}
HEAD = r'  last events: seconds, thread, connection, event.*\n'
EVENT = r'  [ *] +\d+\.\d{6} +\d+ +(?:\d+|-)  \w+(?: .*)?\n'
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f'{name}: FAILED, saw {seen!r}', flush=True)


def run(fault, trace):
    """Returns the exit status and the output."""
    env = dict(ENVIRONMENT, ONDK_TRACE=trace) if trace else ENVIRONMENT
    p = subprocess.run([NDKRUN, '--run-for', '0', DRIVERS / f'{fault}.so'], capture_output=True, text=True, timeout=250,
                       check=False, env=env)
    return p.returncode, p.stdout + p.stderr


def has_sanitizer():
    libraries = subprocess.run(['ldd', NDKRUN], capture_output=True, text=True, check=True).stdout
    return 'libasan' in libraries or 'libtsan' in libraries


def faults(directory):
    """A fault in a callback; one on a stack that has overflowed; two rules that are broken."""
    reported = ['PlaceInFreedPool'] # sanitizers have handlers of faults of their own
    if not has_sanitizer():
        reported += ['DereferenceNull', 'OverflowStack', 'ReadFreedPool']
    for fault in reported:
        for trace in ('ring', f'{directory}/{fault}.trace'):
            code, text = run(fault, trace)
            found = re.findall(HEAD + f'(?:{EVENT})+', text)
            check(f'{fault}, {trace}: ends by a signal', code < 0, (code, text))
            check(f'{fault}, {trace}: has the events once', len(found) == 1, text)
            check(f'{fault}, {trace}: at most 20', found and 2 <= found[0].count('\n') <= 21, found)
            last = 'NdkRegisterMr' if fault == 'PlaceInFreedPool' else 'cq_notification'
            check(f'{fault}, {trace}: {last} is one of the last three', found and
                  any(last in line for line in found[0].splitlines()[-3:]), found)
            if fault == 'PlaceInFreedPool':
                check(f'{fault}, {trace}: events of the region are marked', found and
                      re.search(r'\n  \* .* NdkRegisterMr ', found[0]), found)
        check(f'{fault}: no events without a trace', 'last events' not in run(fault, None)[1], fault)


def hangs():
    """A control that does not end, beside a driver that listens."""
    if not (SAMPLES / 'echo.so').exists():
        print('hangs: skipped, there are no samples')
        return
    p = subprocess.Popen([NDKRUN, '--net', '12=192.168.1.1/24', '--run-for', '0', '--ioctl', 'Stalling:0x222004',
                          SAMPLES / 'echo.so', DRIVERS / 'stalling.so'], stderr=subprocess.PIPE, text=True,
                         env=dict(ENVIRONMENT, ONDK_TRACE='ring', ONDK_CLOSE_REPORT_MS='2000'))
    text = ''
    watchdog = threading.Timer(100, p.send_signal, (signal.SIGINT,))
    watchdog.start()
    for line in p.stderr:
        text += line
        if re.search(EVENT, line):
            break
    watchdog.cancel()
    p.send_signal(signal.SIGINT)
    text += p.stderr.read()
    p.wait()
    check('a call that hangs: its report has the events', re.search('has not ended for(.*\n)+' + HEAD + EVENT, text),
          text)
    check('a call that hangs: the listener is among them', re.search(r' listening +object=', text), text)


with tempfile.TemporaryDirectory() as made:
    faults(made)
hangs()
sys.exit(failures != 0)
