#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
ndkrun: requests to devices, the summary, rounds, time limits, messages about a missing network.
usage: ndkrun_report_test.py NDKRUN DRIVERS NDK-CC|- SAMPLES
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import ndkrun_kit
from ndkrun_kit import NDKRUN, SAMPLES, STALLING, check, driver, expect, ndkrun, summary


def transfers():
    """Reads and writes, input from files, sizes of the output, names with colons, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'in:put') # a name with a colon
        file.write_bytes(b'Hello, tee')
        text = expect('transfers', 4, [
            r'(?s)Tee write: STATUS_SUCCESS, 10 bytes.*Tee read: STATUS_SUCCESS, 2 bytes\n  0000  65 65 .*'
            r'Tee read: STATUS_END_OF_FILE, 0 bytes.*Tee:1 0x222000: STATUS_SUCCESS, 10 bytes\n  0000  65 65 74 20 .*'
            r'Tee:a 0x222000: STATUS_BUFFER_TOO_SMALL, 0 bytes.*Tee:1 write: STATUS_DISK_FULL, 0 bytes'],
            '--run-for', 0, '--write', f'Tee:@{file}:0', '--read', r'\\.\Tee:4:8', '--read', 'Tee:1:0x40',
            '--ioctl', f'"Tee:1":0x222000:@{file}:10', '--ioctl', f'Tee:a:0x222000:@{file}:9',
            '--write', '"Tee:1":' + 65 * '00', driver('tee'))
        check('transfers: the summary counts IRPs', re.findall(r'summary: irp IRP_MJ_READ (\S+) count=(\d)', text) ==
              [('STATUS_SUCCESS', '1'), ('STATUS_END_OF_FILE', '1')] and
              'summary: irp IRP_MJ_DEVICE_CONTROL STATUS_BUFFER_TOO_SMALL count=1\n' in text, text)
    for option, word, says in (('--read', 'Tee', 'DEVICE:LENGTH'), ('--read', 'Tee:x', 'DEVICE:LENGTH'),
                               ('--write', 'Tee:', 'DEVICE:INPUT'),
                               ('--write', 'Tee:@/nobody', '/nobody: No such file')):
        text = expect(f'{option} {word}', 2, says, '--run-for', 0, option, word, driver('tee'))
        check(f'{option} {word}: before a driver is loaded', 'is loaded' not in text, text)


def ndk_counts():
    """The echo sends 3 messages to itself, with all kinds of requests: what one end sends, the other receives."""
    for verify in ('stop', 'off'):
        d, code = summary('--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--verify', verify, '--ioctl',
                          'Echo:0x122000:0010000003000000',
                          SAMPLES / 'echo.so')
        rows = {row.get('name', row['section']): row for row in d['summary']['rows'] if row['section'] != 'irp'}
        both = rows['connections']
        check(f'{verify}: connections', code == 0 and both['initiated'] == both['accepted'] > 0 and
              both['failed'] == both['refused'] == both['lost'] == 0 and both['bytes-out'] == both['bytes-in'], d)
        sent = [rows[name] for name in ('send', 'send-and-invalidate') if name in rows]
        got = [rows[name] for name in ('receive', 'receive-and-invalidate') if name in rows]
        check(f'{verify}: messages', sum(r['succeeded'] for r in sent) == sum(r['succeeded'] for r in got) > 0 and
              sum(r['bytes'] for r in sent) == sum(r['bytes'] for r in got), d)
        check(f'{verify}: transfers', rows['read']['succeeded'] == rows['write']['succeeded'] == 3 and
              rows['read']['bytes'] == rows['write']['bytes'] == 3 * 4096 and rows['fast-register']['succeeded'] >= 3,
              d)


def summaries():
    d, code = summary(driver('tee'))
    check('--json', code == 0 and list(d.items())[:9:2] == [('tool', 'ndkrun'), ('format', 1), ('left', None),
                                                          ('advices', 0), ('interrupted', False)] and
          d['rules'] == {} and
          d['drivers'] == [{'file': str(driver('tee')), 'loaded': True}] and (d['rules_broken'], d['exit']) == (0, 0),
          d)
    rows = [(row['section'], row.get('name'), row.get('status'), row.get('count')) for row in d['summary']['rows']]
    check('--json: the summary', d['summary']['rounds'] == 1 and not [row for row in rows if row[0] != 'irp'], d)
    d, code = summary('--verify', 'off', driver('tee'))
    check('--json without checks', code == 0 and d['left'] == 0, d)
    d, code = summary('--verify', 'off', driver('leaves_device'))
    check('--json: something is left', code == d['exit'] == 1 and d['left'] == 1, d)
    d, code = summary('--verify', 'report', driver('leaves_device'))
    check('--json: a rule is broken', code == 1 and (d['left'], d['rules_broken']) == (None, 1) and
          d['rules'] == {'unload-outstanding': 1}, d)
    d, code = summary('--verify', 'report', driver('wsk_left'))
    check('--json: what a WSK client leaves, by kind', code == 1 and
          {row['name']: row['count'] for row in d['summary']['rows'] if row['section'] == 'left'} ==
          {'WSK-registration': 1, 'captured-WSK-provider': 1, 'WSK-socket': 1, 'IRP': 1}, d)
    d, code = summary(driver('tee'), driver('nobody'))
    check('--json: a driver that is not there', code == d['exit'] == 3 and
          [x['loaded'] for x in d['drivers']] == [True, False], d)
    if SAMPLES.exists():
        ndk_counts()
    d, code = summary('--ioctl', 'Nobody:1', driver('tee'))
    check('--json: a device that is not there', code == d['exit'] == 4, d)


def missing():
    """An interface or an address that is not there is named, with the option that supplies it."""
    asked = 'Tee:0x222000:' + (14).to_bytes(4, 'little').hex()
    expect('an index that is not there', 4, [
        r'ConvertInterfaceIndexToLuid: IfIndex 14 is no interface of this network namespace\. There are .*12 \(ndk12\)'
        r'.* --net 14=ADDRESS/PREFIX makes one, --map 14=NAME'], '--run-for', 0, '--net', '12=10.0.0.1/24', '--ioctl',
        asked,
        driver('tee'))
    if SAMPLES.exists():
        expect('addresses that are not there', 3, [
            r'NdkConnect: no interface has the local address 192\.168\.1\.2\. .*--net INDEX=192\.168\.1\.2/24 ',
            r'NdkConnect: no interface has the destination address 192\.168\.1\.1\. '], '--net',
            '12=10.0.0.1/24,13=10.0.0.2/24', '--run-for', 0, SAMPLES / 'hello.so')


# Runs the rest of the command line in a network with the interface 13, and a route to other machines through it.
NETWORK = ['unshare', '-r', '-n', 'sh', '-c', 'ip link set lo up && '
           '(ip link add name out13 index 13 type dummy 2>/dev/null || '
           'ip link add name out13 index 13 type veth peer name peer13) && ip link set out13 up && '
           'ip addr add 198.51.100.1/24 dev out13 && ip addr add 192.168.1.2/24 dev out13 && '
           'ip route add default via 198.51.100.254 && exec "$@"', 'sh']


def outside():
    """Without --net and --map, drivers do not send to other machines, and a line names the option for it."""
    said = (r'{}: {} is outside of this machine, so it ends with STATUS_NETWORK_UNREACHABLE\. '
            r'Options of ndkrun: --net host '
            r'permits it{}\n')
    given = r', --net INDEX={}/24 gives the address to an interface of a network of the run\'s own'
    for verify in ('stop', 'off'):
        text = expect(f'outside, checks {verify}', 3, [
            said.format('WskSocketConnect', r'198\.51\.100\.7:9', given.format(r'198\.51\.100\.7')),
            said.format('WskSendTo', r'224\.0\.0\.251:9', ''),
            'connect to another machine: 0xC000023C', 'connect to this machine: 0xC0000236',
            'connect to loopback: 0xC0000236',
            'datagram to another machine: 0xC000023C', 'datagram to a group: 0xC000023C',
            'datagram to this machine: 0x00000000', 'datagram to loopback: 0x00000000'],
            '--verify', verify, driver('outside'), prefix=NETWORK)
        check('outside: each address is named once', text.count('is outside of this machine') == 2, text)
        if SAMPLES.exists():
            expect(f'outside, NDK, checks {verify}', 3,
                   [said.format('NdkConnect', r'192\.168\.1\.1:\d+', given.format(r'192\.168\.1\.1')),
                   r'STATUS_NETWORK_UNREACHABLE\)'], '--verify', verify, SAMPLES / 'hello.so', prefix=NETWORK)
    for option in (('--net', 'host'), ('--map', '14=lo'), ('--net', '12=192.168.1.1/24')):
        text = expect(f'outside with {option}', 3, 'connect to another machine: 0xC000023C', *option, driver('outside'))
        check(f'outside with {option}: the network decides', 'is outside' not in text, text)
    expect('--net host and a network of its own', 2, 'cannot be given with it', '--net', 'host', '--net',
           '12=10.0.0.1/8',
           driver('tee'))


def continuing():
    """A report that stops the run ends with the options that let it go on, and these do."""
    after = 'to continue after this rule: --verify stop{},advice=unload-outstanding; after all rules: --verify report\n'
    for setting in ('', ',full', ',advice=mdl-misused'):
        expect(f'stop{setting}', -signal.SIGABRT, after.format(setting), '--verify', 'stop' + setting,
               '--run-for', 0, driver('leaves_device'))
    os.environ['ONDK_VERIFY'] = 'stop,stall=9000'
    expect('stop by the environment', -signal.SIGABRT, after.format(',stall=9000'), '--run-for', 0,
           driver('leaves_device'))
    del os.environ['ONDK_VERIFY']
    text = expect('a rule of the kernel as advice', 0, [r'\*\*\* driver advice: unload-outstanding in DriverUnload: ',
                  'ndkrun: 1 advice\n'], '--verify', 'stop,advice=unload-outstanding', '--run-for', 0,
                  driver('leaves_device'))
    check('nothing to continue after advice', 'to continue' not in text, text)
    text = expect('a run that goes on', 1, 'rule was broken', '--verify', 'report', '--run-for', 0,
                  driver('leaves_device'))
    check('nothing to continue after a report', 'to continue' not in text, text)


def rounds():
    text = expect('--repeat', 0, ['round 3 of 3', 'summary: run seconds=[0-9.]+ rounds=3\n', 'nothing left'],
                  '--repeat', 3, '--schedule', 'random:4711', '--run-for', 0, '--ioctl', 'Tee:0x222000:0102',
                  driver('tee'))
    check('--repeat: three rounds with three seeds', text.count('tee: turned 2 bytes') == 3 and
          re.findall(r'random:(\d+)', text) == ['4711', '4712', '4713'], text)
    text = expect('--repeat ends at a finding', 1, 'round 1 of 5 has a finding: no further round', '--repeat', 5,
                  '--run-for', 0, '--verify', 'report', '--quiet', driver('leaves_device'))
    check('--quiet: no summary', 'summary:' not in text, text)
    check('--repeat ends at a finding: one round', 'round 2 of 5' not in text, text)
    for option, word in (('--schedule', 'late'), ('--schedule', 'random:x'), ('--repeat', '0'), ('--timeout', '0')):
        expect(f'{option} {word}', 2, 'is not a value for this option', option, word, driver('tee'))
    expect('random delays without checks', 2, 'needs --verify report or stop', '--schedule', 'random', '--verify',
           'off',
           driver('tee'))
    if SAMPLES.exists():
        expect('samples with random delays', 0, [r'random:\d+\n', 'the echo says "hello, world"', 'nothing left'],
               '--schedule', 'random', '--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--run-for', 0,
               SAMPLES / 'echo.so', SAMPLES / 'hello.so')


def timed_out(run, *arguments):
    """
    Calls run(limit, ...) with growing limits of --timeout, until a limit passes while the driver hangs in a request.
    Returns the result of the call, which is the exit code, stdout and stderr.
    """
    for limit in 0.5, 5, 50:
        begin = time.monotonic()
        code, out, err = run(limit, *arguments)
        if 'pending: IRP_MJ_DEVICE_CONTROL' in err:
            break
    check('--timeout: it ends soon', time.monotonic() - begin < limit + 60, err)
    return code, out, err


def hang(limit, function, *options):
    """Runs the driver stalling, which hangs in a function."""
    p = subprocess.run([NDKRUN, '--timeout', str(limit), *options, '--ioctl', f'Stalling:{STALLING[function]}',
                        driver('stalling')], capture_output=True, text=True, timeout=ndkrun_kit.LIMIT, check=False)
    return p.returncode, p.stdout, p.stderr


def timeouts():
    """--timeout ends a run in which a driver hangs, with the driver's stack."""
    code, _, text = timed_out(hang, 'inside')
    check('--timeout: exit status 5', code == 5, (code, text))
    for word in (r'--timeout: the run has not ended after (0\.5|5|50) seconds\. It waits for a request of Stalling\n',
                 r'pending: IRP_MJ_DEVICE_CONTROL 0x22200C to \\Driver\\stalling',
                 r'  thread \d+ waits in:\n    KeWaitForSingleObject called by\n'
                 r'    #0 Stalling\w+ at \S*/stalling.c:\d+ ',
                 'summary: left ', 'no driver is unloaded'):
        check(f'--timeout: says {word}', re.search(word, text), text)
    check('--timeout: something is left', 'nothing left' not in text, text)
    code, out, text = timed_out(hang, 'pend', '--json', '--quiet')
    d = json.loads(out)
    check('--timeout: --json', code == d['exit'] == 5 and d['drivers'][0]['loaded'] and d['left'] is None, (d, text))
    code, out, text = timed_out(hang, 'pend', '--json', '--verify', 'off')
    d = json.loads(out)
    check('--timeout: nothing is known to be left', code == 5 and d['left'] is None, (d, text))
    code, text = ndkrun('--timeout', 100, '--run-for', 0, driver('tee'))
    check('a run that ends in time', code == 0, (code, text))


def interrupt_report(limit):
    """Sends Ctrl-C while the report of --timeout is written."""
    ours, theirs = socket.socketpair()
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1) # the kernel's minimum: a few lines
    with subprocess.Popen([NDKRUN, '--json', '--timeout', str(limit), '--ioctl', f'Stalling:{STALLING["pend"]}',
                           driver('stalling')], stdout=subprocess.PIPE, stderr=theirs,
                          env=os.environ | {'ONDK_CLOSE_REPORT_MS': '0'}) as p:
        theirs.close()
        while b'the run has not ended' not in ours.recv(4096, socket.MSG_PEEK):
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        time.sleep(0.3) # so that the interrupted thread would have time to print
        with ours, ours.makefile('r') as report:
            text = report.read()
        out = p.stdout.read()
    return p.returncode, out, text


def interrupted_timeout():
    """Ctrl-C while the report of --timeout is written does not make the run go on. The report waits for its reader."""
    code, out, text = timed_out(interrupt_report)
    d = json.loads(out)
    check('Ctrl-C in the report: exit status 5', code == d['exit'] == 5, (code, text))
    check('Ctrl-C in the report: no cancellation', 'is cancelled' not in text and 'STATUS_CANCELLED' not in text, text)
    check('Ctrl-C in the report: the whole report', text.count('summary: run ') == 1 and
          text.endswith('no driver is unloaded\n'), text)


def main():
    os.environ.pop('ONDK_VERIFY', None)
    for case in (transfers, summaries, missing, outside, continuing, rounds, timeouts, interrupted_timeout):
        case()
    return ndkrun_kit.failures != 0


sys.exit(main())
