#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The samples finish and leak nothing. usage: samples_test.py NDKRUN DIRECTORY"""
import os
import pathlib
import re
import struct
import subprocess
import sys

NDKRUN, DIRECTORY = sys.argv[1], pathlib.Path(sys.argv[2])
ECHO, HELLO, MAILBOX = (str(DIRECTORY / name) for name in ('echo.so', 'hello.so', 'mailbox.so'))
RUN, QUERY = 0x122000, 0x122004
POST, FETCH = 0x222000, 0x222004
NETWORK = ('--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--run-for', '0')
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def ndkrun(*arguments, **environment):
    p = subprocess.run([NDKRUN, *NETWORK, *arguments], capture_output=True, text=True, timeout=250, check=False,
                       env={**os.environ, **environment})
    return p.returncode, p.stdout + p.stderr


def run(length, rounds):
    return '--ioctl', f'Echo:{RUN:#x}:' + struct.pack('<II', length, rounds).hex()


def answers(text):
    """Returns (status, output) of each device control."""
    out = []
    for part in re.split('ndkrun: (?:Echo|Mailbox) ', text)[1:]:
        status = re.match(r'0x[0-9A-F]+: (\w+)', part).group(1)
        lines = re.findall(r'^  [0-9a-f]{4}  ((?:[0-9a-f]{2} )+)', part, re.M)
        out.append((status, bytes.fromhex(''.join(lines))))
    return out


def clean(name, seen):
    check(f'{name}: leaves nothing', seen[0] == 0 and 'nothing left, no rule broken' in seen[1], seen)


def hello():
    for name, environment in (('hello', {}), ('hello, creates that pend', {'ONDK_PEND_CREATES': '1'})):
        seen = ndkrun(ECHO, HELLO, **environment)
        clean(name, seen)
        check(f'{name}: the line came back', 'hello: the echo says "hello, world"' in seen[1], seen)
    code, text = ndkrun(HELLO)
    check('hello without a service fails and leaves nothing',
          code == 3 and 'STATUS_CONNECTION_REFUSED' in text and 'left' not in text, (code, text))


def echo():
    for name, environment in (('echo', {}), ('echo, creates that pend', {'ONDK_PEND_CREATES': '1'})):
        seen = ndkrun(*run(1, 3), *run(4097, 5), *run(262144, 3), '--ioctl', f'Echo:{QUERY:#x}', ECHO, **environment)
        clean(name, seen)
        told = answers(seen[1])
        check(f'{name}: four answers', [status for status, _ in told] == ['STATUS_SUCCESS'] * 4, seen)
        for (length, rounds), (_, output) in zip(((1, 3), (4097, 5), (262144, 3)), told):
            report = struct.unpack('<QQII', output) if len(output) == 24 else None
            check(f'{name}: {rounds} rounds of {length}, none different',
                  report and report[0] == 2 * length * rounds and report[2:] == (rounds, 0), report)
        counters = struct.unpack('<4i', told[3][1]) if len(told) == 4 and len(told[3][1]) == 16 else None
        check(f'{name}: the service counted them', counters and (counters[0], counters[2], counters[3]) == (3, 0, 11),
              counters)
    code, text = ndkrun(*run(0, 1), *run(262145, 1), '--ioctl', f'Echo:{RUN:#x}:00', '--ioctl', 'Echo:0x1', ECHO)
    check('wrong device controls are refused', code == 4 and [status for status, _ in answers(text)] == [
        'STATUS_INVALID_PARAMETER'] * 2 + ['STATUS_BUFFER_TOO_SMALL', 'STATUS_INVALID_DEVICE_REQUEST'] and
          'nothing left, no rule broken, but a request has failed' in text, (code, text))
    seen = ndkrun('--reg', 'Port=dword:20123', '--reg', 'ClientInterface=dword:12', '--reg',
                  'ClientAddress=dword:0xC0A80101',
                  *run(100, 1), ECHO)
    clean('echo at another port, by the registry', seen)
    check('echo at another port: one round', answers(seen[1])[0][0] == 'STATUS_SUCCESS', seen)
    seen = ndkrun('--reg', 'ServiceInterface=dword:14', ECHO)
    check('an interface that is not there, by the registry', seen[0] == 3 and 'STATUS_INVALID_PARAMETER' in seen[1],
          seen)
    for profile in 'narrow', 'shallow', 'minimal':
        code, text = ndkrun(ECHO, ONDK_PROFILE=profile)
        check(f'a {profile} card has not what the service needs: not started, nothing left, no rule broken',
              code == 3 and 'STATUS_NOT_SUPPORTED' in text and 'left' not in text and '***' not in text, (code, text))


def mailbox():
    controls = [f'Mailbox:{code:#x}' + (f':{data.hex()}' if data else '')
                for code, data in ((POST, b'one'), (POST, b'two'), (FETCH, b''), (FETCH, b''), (POST, b''), (1, b''))]
    code, text = ndkrun(*(word for control in controls for word in ('--ioctl', control)), MAILBOX)
    check('mailbox: messages in their order, wrong requests refused', code == 4 and answers(text) == [
        ('STATUS_SUCCESS', b''), ('STATUS_SUCCESS', b''), ('STATUS_SUCCESS', b'one'), ('STATUS_SUCCESS', b'two'),
        ('STATUS_BUFFER_TOO_SMALL', b''), ('STATUS_INVALID_DEVICE_REQUEST', b'')] and
          'nothing left, no rule broken, but a request has failed' in text, (code, text))


hello()
mailbox()
echo()
sys.exit(failures != 0)
