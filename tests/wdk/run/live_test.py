#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The lines of ndkrun --trace. usage: live_test.py NDKRUN DRIVERS SAMPLES"""
import pathlib
import re
import signal
import subprocess
import sys

NDKRUN, DRIVERS, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
LIMIT = 250
END, NEST, CANCEL, CRASH = 0x222000, 0x222004, 0x222008, 0x222010
PEND, STAY = 0x222004, 0x22200c # of the driver stalling: pending with a cancel routine; the dispatch routine waits
TIME = r'<\d+(\.\d)? (ns|us|ms|s)>'
STAMP = r'\[\d\d:\d\d:\d\d\.\d{6} (\d+)( IRQL \d+)?\] '
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)


def run_traced(name, *arguments, code=0):
    """Runs ndkrun --trace. Returns its lines."""
    run = subprocess.run([NDKRUN, '--quiet', '--run-for', '0', *map(str, arguments)], capture_output=True, text=True,
                         timeout=LIMIT, check=False)
    check(f'{name}: exit status {code}', run.returncode == code, (run.returncode, run.stderr))
    return run.stderr.splitlines()


def merged(lines):
    """
    The lines without time and thread. A call whose line was written before the call returned ("...") is merged with the
    line that has the result, as if it had been held back.
    """
    texts, open_calls = [], {}
    for line in lines:
        stamp = re.match(STAMP, line)
        if not stamp or stamp.group(2):
            texts.append(line)
            continue
        thread, text = stamp.group(1), line[stamp.end():]
        stack = open_calls.setdefault(thread, [])
        body = text.lstrip()
        if body.startswith(('... ', '<- ')):
            check('a result belongs to a call', stack, line)
            at = stack.pop()
            result = re.search(r'\) = .*| <[^>]*>$', body)
            texts[at] += result.group().lstrip(')')
        elif body.endswith(' ...'):
            texts.append(text[:-4])
            stack.append(len(texts) - 1)
        else:
            texts.append(text)
    return texts


def in_order(name, lines, *patterns):
    """Checks that lines match these regular expressions in this order. Returns the matches."""
    at, found = 0, []
    for pattern in patterns:
        while at < len(lines) and not re.fullmatch(pattern, lines[at]):
            at += 1
        check(f'{name}: {pattern}, in this order', at < len(lines), lines)
        found.append(re.fullmatch(pattern, lines[at]) if at < len(lines) else None)
        at += 1
    return found


def sockets():
    lines = run_traced('sockets', '--trace', 'all', DRIVERS / 'talks.so')
    for line in lines:
        check('each line is whole', re.match(STAMP, line) or line.startswith('ndkrun: '), line)
    address = r'\(0x[0-9a-f]+\)'
    in_order('a driver with sockets', merged(lines), rf'-> DriverEntry\(talks\) = STATUS_SUCCESS {TIME}',
             rf'  WskRegister\(registration1 {address}, version=0x100\) = STATUS_SUCCESS {TIME}',
             rf'  IoAllocateIrp\(irp1 {address}, locations=1\)',
             rf'  WskSocket\(client1 {address}, AF_INET, SOCK_STREAM, IPPROTO_TCP, listen, irp1\) = STATUS_SUCCESS, '
             rf'socket1 {address} {TIME}',
             rf'    -> completion_routine\(irp1, 0x[0-9a-f]+, STATUS_SUCCESS, information=(0x[0-9a-f]+|socket1)\) = '
             rf'STATUS_MORE_PROCESSING_REQUIRED {TIME}',
             r'  IoFreeIrp\(irp1\)',
             rf'  WskBind\(socket1, local=127\.0\.0\.1:0, irp2\) = STATUS_PENDING {TIME}',
             r'  IoFreeIrp\(irp2\)',
             rf'  WskAccept\(socket1, irp4\) = STATUS_PENDING {TIME}',
             r'  WskSocketConnect\(client1, SOCK_STREAM, IPPROTO_TCP, local=0\.0\.0\.0:0, '
             r'remote=127\.0\.0\.1:\d+, irp5\) = '
             rf'STATUS_PENDING {TIME}',
             rf'  WskSend\(socket\d, bytes=6, WSK_FLAG_NODELAY, irp6\) = STATUS_PENDING {TIME}',
             rf'  WskCloseSocket\(socket1, irp10\) = STATUS_PENDING {TIME}',
             r'.* IRQL 0\] talks: 0x00000000', 'ndkrun: .* is loaded', rf'-> DriverUnload\(talks\) {TIME}',
             rf'  WskDeregister\(registration1\) {TIME}')
    in_order('completions', merged(lines), r'WskBind completes: socket1, irp2, STATUS_SUCCESS after \d.*',
             rf'WskAccept completes: socket1, irp4, STATUS_SUCCESS, socket\d {address} after \d.*',
             r'WskSend completes: socket\d, irp6, STATUS_SUCCESS, bytes=6 after \d.*',
             rf'-> WskReceiveEvent\(socket\d, bytes=6, WSK_FLAG_AT_DISPATCH_LEVEL\) = STATUS_SUCCESS, bytes=6 {TIME}',
             rf'-> WskDisconnectEvent\(socket\d, WSK_FLAG_AT_DISPATCH_LEVEL\) = STATUS_SUCCESS {TIME}',
             r'WskCloseSocket completes: socket1, irp10, STATUS_SUCCESS after \d.*')
    check('the result of a call with calls inside names the object', any(
        re.search(r'\] *\.\.\. WskSocket\(client1\) = STATUS_SUCCESS, socket1', line) for line in lines), lines)
    calls = [line for line in lines if 'DriverEntry(' in line]
    check('a call with calls inside has two lines', calls[0].endswith('-> DriverEntry(talks) ...') and
          len(calls) == 2 and
          re.search(rf'<- DriverEntry\(talks\) = STATUS_SUCCESS {TIME}$', calls[1]), calls)


def requests():
    ioctls = [word for code in (END, NEST, CANCEL) for word in ('--ioctl', f'Talks:{code}')]
    lines = merged(run_traced('requests', '--trace', 'irp', *ioctls, DRIVERS / 'talks.so', code=4))
    control = r'IoCallDriver\((irp\d+)( \(0x[0-9a-f]+\))?, device1, talks, IRP_MJ_DEVICE_CONTROL, code='
    in_order('requests of the program', lines,
             rf'{control}0x222000, out=65536, user\) = STATUS_SUCCESS {TIME}',
             rf'  IoCompleteRequest\(irp\d+, STATUS_SUCCESS\) {TIME}',
             'ndkrun: Talks 0x222000: STATUS_SUCCESS, 0 bytes',
             rf'{control}0x222004, out=65536, user\) = STATUS_SUCCESS {TIME}',
             rf'  {control}0x222000\) = STATUS_SUCCESS {TIME}',
             rf'    IoCompleteRequest\(irp\d+, STATUS_SUCCESS\) {TIME}',
             rf'{control}0x222008, out=65536, user\) = STATUS_CANCELLED {TIME}',
             r'  IoAllocateIrp\(irp\d+ \(0x[0-9a-f]+\), locations=1\)',
             rf'  IoCallDriver\(irp\d+, device1, talks, IRP_MJ_INTERNAL_DEVICE_CONTROL, code=0x22200c\) = '
             rf'STATUS_PENDING {TIME}',
             rf'  IoCancelIrp\(irp\d+, cancel_routine=0x[0-9a-f]+\) {TIME}',
             rf'    IoCompleteRequest\(irp\d+, STATUS_CANCELLED\) {TIME}',
             rf'      -> completion_routine\(irp\d+, 0x[0-9a-f]+, STATUS_CANCELLED\) = '
             rf'STATUS_MORE_PROCESSING_REQUIRED {TIME}',
             r'  IoFreeIrp\(irp\d+\)', 'ndkrun: Talks 0x222008: STATUS_CANCELLED, 0 bytes')
    check('the end of a request only if it was pending', not any(' ends: ' in line for line in lines), lines)
    check('nothing of other groups', not any('Wsk' in line or 'DriverEntry' in line for line in lines), lines)


def ndk(*options):
    """NDK's calls, in a network of two interfaces."""
    lines = run_traced(f'NDK {options}', '--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--trace',
                       'all,-NdkSrqReceive',
                       *options, SAMPLES / 'echo.so', SAMPLES / 'hello.so')
    addresses = re.findall(r'\b([a-z]+\d+) \((0x[0-9a-f]+)\)', '\n'.join(lines))
    check('a name has its address once', len(addresses) == len(dict(addresses)) and
          {'adapter1', 'cq1', 'qp1', 'connector1'} <=
          set(dict(addresses)), addresses)
    lines = [re.sub(r' \(0x[0-9a-f]+\)', '', line) for line in merged(lines)]
    names = in_order('hello', lines, r'-> DriverEntry\(hello\).*',
                     rf'  WskOpenNdkAdapter\(client2, interface=13, major=1, minor=2\) = '
                     rf'STATUS_SUCCESS, (adapter2) {TIME}',
                     rf'  NdkCreatePd\(adapter2\) = STATUS_SUCCESS, (pd2) {TIME}',
                     rf'  NdkCreateCq\(adapter2, depth=4\) = STATUS_SUCCESS, (cq2) {TIME}',
                     rf'  NdkCreateQp\(pd2, receive_cq=cq2, initiator_cq=cq2, .*\) = STATUS_SUCCESS, (qp\d) {TIME}',
                     r'  NdkConnect\((connector\d), qp\d, local=192\.168\.1\.2:0, '
                     r'remote=192\.168\.1\.1:54321, inbound=0, '
                     rf'outbound=0\) = STATUS_PENDING {TIME}',
                     r'.*IRQL 0\] hello: the echo says "hello, world"',
                     r'  NdkDisconnect\(connector\d\) = STATUS_PENDING .*')
    cq, qp, connector = (names[i].group(1) if names[i] else '?' for i in (3, 4, 5))
    in_order('the queues of hello', lines, rf'  NdkReceive\({qp}, .*sges=1, bytes=64\) = STATUS_SUCCESS {TIME}',
             rf'  NdkSend\({qp}, .*sges=1, bytes=12, SILENT_SUCCESS\) = STATUS_SUCCESS {TIME}',
             rf'  NdkGetCqResults\({cq}, .*bytes=12\) = STATUS_SUCCESS', rf'  NdkCloseCq\({cq}\) = .*')
    in_order('a request that is pending', lines, rf'  NdkConnect\({connector}, .*',
             rf'-> NdkConnect completes: {connector}, STATUS_SUCCESS after \d.* {TIME}',
             rf'-> NdkDisconnect completes: {connector}, STATUS_SUCCESS after \d.* {TIME}')
    in_order('echo', lines, rf'  NdkListen\(listener1, local=192\.168\.1\.1:54321\) = STATUS_(PENDING|SUCCESS) {TIME}',
             rf'-> NdkConnectEventCallback\(listener1, connector\d\) {TIME}',
             rf'-> NdkCqNotificationCallback\(cq1, STATUS_SUCCESS\) {TIME}',
             r'  NdkGetCqResults\(cq1, .*bytes=12, Receive\) = STATUS_SUCCESS',
             rf'-> NdkDisconnectEventCallback\(connector\d\) {TIME}')
    check('without a routine', not any('NdkSrqReceive' in line for line in lines), lines)
    contexts = sum(', context=' in line for line in lines)
    check("only the driver's contexts", bool(contexts) == ('off' in options), contexts)
    own = [line for line in lines if 'NdkGetPeerAddress' in line or 'NdkGetRemoteTokenFromMr' in line]
    check("no call of the verifier's", not own, own)


def steps():
    """What the provider does."""
    lines = merged(run_traced('connections', '--net', '12=192.168.1.1/24,13=192.168.1.2/24', '--trace', 'connection',
                              SAMPLES / 'echo.so', SAMPLES / 'hello.so'))
    for pattern in (r'connection \d+: state from=IDLE, event=start, to=TCP_CONNECTING',
                    r'connection \d+: mpa_sent frame=request, revision=2, .*',
                    r'connection \d+: outcome outcome=established, phase=\w+.*', r'listening listener1 .*'):
        check(f'connections: {pattern}', any(re.fullmatch(pattern, line) for line in lines), lines)


def filters():
    lines = merged(run_traced('names', '--trace', 'WskSend,Wsk*Event', DRIVERS / 'talks.so'))
    seen = [re.match(r' *(-> )?(\w+)', line).group(2) for line in lines if not re.match(STAMP + '|ndkrun', line)]
    check('only these routines', sorted(set(seen)) == ['WskDisconnectEvent', 'WskReceiveEvent', 'WskSend'], seen)
    check('with the completion', sum('WskSend completes: ' in line for line in lines) == 1, lines)
    lines = merged(run_traced('exclusions', '--trace', '-Io*,-completion_routine,-wsk', '--ioctl', f'Talks:{END}',
                              DRIVERS / 'talks.so'))
    seen = [line for line in lines if not re.match(STAMP + '|ndkrun', line)]
    check('all but these', len(seen) == 2 and 'DriverEntry' in seen[0] and 'DriverUnload' in seen[1], seen)
    for word in ('foo', 'ndk,', '', 'ndk,-x', 'ndk,,wsk', 'Ndk', 'x' * 300, str(DRIVERS / 'talks.so')):
        lines = run_traced(f'--trace {word}', '--trace', word, DRIVERS / 'talks.so', code=2)
        check(f'--trace {word}: the groups are named', '--trace: ' in lines[0] and
              'is no group (all, driver, irp, wsk, ndk, connection, frame)' in lines[0], lines)


def crash():
    """What a driver did last is there when it crashes, or breaks a rule, or hangs."""
    run = subprocess.run([NDKRUN, '--quiet', '--run-for', '0', '--trace', 'irp', '--ioctl', f'Talks:{CRASH}',
                          DRIVERS / 'talks.so'],
                         capture_output=True, text=True, timeout=LIMIT, check=False)
    lines = run.stderr.splitlines()
    check('a crash', run.returncode != 0, run.returncode)
    at = [i for i, line in enumerate(lines) if re.search(r'IoCallDriver\(.*, code=0x222010, .*\) \.\.\.$', line)]
    check('the last call', len(at) == 1 and lines[at[0] + 1].endswith('talks: this is the last line'), lines)
    stays = Stalled(STAY, 'code=0x22200c')
    check('a call that does not return', stays.text.rstrip().endswith(') ...'), stays.text)
    stays.interrupt()
    stays.read_until('interrupted')
    stays.interrupt()
    stays.end()
    pends = Stalled(PEND, '= STATUS_PENDING')
    pends.interrupt()
    lines = merged(pends.end().splitlines())
    irp = r'irp\d+'
    in_order('a request that is cancelled', lines,
             rf'IoCallDriver\({irp}.*, IRP_MJ_DEVICE_CONTROL, code=0x222004, .*\) = STATUS_PENDING {TIME}',
             rf'IoCancelIrp\({irp}, cancel_routine=0x[0-9a-f]+\) {TIME}',
             rf'  IoCompleteRequest\({irp}, STATUS_CANCELLED\) {TIME}',
             rf'    {irp} ends: STATUS_CANCELLED after \d+(\.\d)? (us|ms|s)', '.*STATUS_CANCELLED, 0 bytes')


class Stalled:
    """A run whose device control does not end, and its output until a line has these words."""

    def __init__(self, code, words):
        self.run = subprocess.Popen([NDKRUN, '--quiet', '--run-for', '0', '--trace', 'irp', '--ioctl',
                                     f'Stalling:{code}',
                                     DRIVERS / 'stalling.so'], stderr=subprocess.PIPE, text=True)
        self.text = ''
        self.read_until(words)

    def read_until(self, words):
        for line in self.run.stderr:
            self.text += line
            if words in line:
                return
        check(f'says {words}', False, self.text)

    def interrupt(self):
        self.run.send_signal(signal.SIGINT)

    def end(self):
        self.text += self.run.stderr.read()
        self.run.stderr.close()
        self.run.wait()
        return self.text


def main():
    sockets()
    requests()
    if SAMPLES.exists():
        ndk()
        ndk('--verify', 'off')
        ndk('--provider', DRIVERS / 'foreign.so')
        steps()
    else:
        print('without the samples, no calls of NDK are tested')
    filters()
    crash()
    print(f'{failures} failures')
    return failures > 0


sys.exit(main())
