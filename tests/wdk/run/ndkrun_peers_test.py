#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
ndkrun: commands of --server and --client, their ends, and a driver that hangs in DriverUnload.
usage: ndkrun_peers_test.py NDKRUN DRIVERS NDK-CC|- SAMPLES
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import ndkrun_kit
from ndkrun_kit import ENVIRONMENT, LIMIT, NDKRUN, SAMPLES, check, driver, expect, ndkrun, sanitizer

ECHO = SAMPLES / 'wskecho.so'
PEER = pathlib.Path(__file__).resolve().parents[3] / 'samples/wskecho/peer.py'
LISTEN = 's = socket.socket(); s.bind(("127.0.0.1", 8123)); s.listen()'


def python(code):
    return f'exec {sys.executable} -c {shlex.quote("import os, signal, socket, time; " + code)}'


def peer(address):
    return f'{sys.executable} {PEER} {address}'


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def check_ends(name, process):
    end = time.monotonic() + LIMIT
    while is_running(process) and time.monotonic() < end:
        time.sleep(0.02)
    check(f'{name}: the process of the command ends', not is_running(process), process)


def clients():
    """A client runs when the driver listens, and its end ends the run."""
    for network, address in (((), '127.0.0.1'), (('--net', '2=192.168.1.1/24'), '192.168.1.1')):
        expect(f'a client at {address}', 0, [
            'wskecho.so is loaded', 'the driver answers: hello, driver',
            r"--client '.*' has ended with exit status 0\n",
            'wskecho: 13 bytes returned', 'nothing left'], *network, '--client', peer(address), ECHO)
    text = expect('two clients, one fails', 4, [r"--client 'exit 3' has ended with exit status 3\n",
                  'the driver answers', 'but --server or --client has failed'], '--client', 'exit 3', '--client',
                  peer('127.0.0.1'), ECHO)
    check('two clients: no request has failed', 'request' not in text, text)
    expect('a client that is not there', 4, "--client 'nosuch' .* 127: the shell has not found", '--client', 'nosuch',
           ECHO)
    expect('a client that crashes', 4, r"was killed by signal 11 \(", '--client', 'kill -SEGV $$', ECHO)
    text = expect('a client in each round', 0, 'nothing left', '--repeat', 2, '--client', peer('127.0.0.1'),
                  '--server', 'echo once', ECHO)
    check('a client in each round, a server in all', (text.count('the driver answers'), text.count('once\n')) == (2, 1),
          text)
    expect('no driver listens', 0, [r'(?s)no driver has listened for 3 seconds; --client is started now\n.*spoke'],
           '--client', 'echo spoke', driver('tee'))
    expect('not beside nbdkit', 2, ['--nbd replaces', 'run these commands in a shell of your own'], '--nbd', 'x',
           '--client', 'true', driver('tee'))


def expect_ended(name, code, word, file, option, client):
    """
    Runs a client with growing limits of the option, until a limit passes after the client has written its process
    number to the file. Checks the exit status, the word and that the process ends. Returns the output.
    """
    for limit in 1, 5, 50:
        file.unlink(missing_ok=True)
        seen = ndkrun(option, limit, '--client', client, ECHO)
        if file.exists() and file.read_text().endswith('\n') and (option != '--timeout' or word in seen[1]):
            break
    check(f'{name}: exit status {code}', seen[0] == code, seen)
    check(f'{name}: says {word}', word in seen[1], seen)
    check_ends(name, int(file.read_text()))
    return seen[1]


def ends():
    """A command that runs at the end is ended, with all its processes. A client that runs then counts as failed."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'pid')
        stays = f'sleep 1000 & echo $! >{file}; ' + python('time.sleep(1000)')
        text = expect_ended('--run-for and a client', 4, 'has not ended before the run, and is ended', file,
                            '--run-for', stays)
        check('--run-for: SIGTERM ends all processes of the client', 'was killed' not in text, text)
        expect_ended('--run-for and a client in the background', 0, 'nothing left', file, '--run-for',
                     stays.replace('exec ', '') + ' &')
        expect_ended('--timeout and a client', 5, 'It waits for the end of --client', file, '--timeout', stays)
        file.unlink()
        expect('a bug check', -signal.SIGABRT, 'unload-outstanding', '--run-for', 0, '--server', stays + ' & ' +
               python(LISTEN + '; time.sleep(1000)'), driver('leaves_device'))
        check_ends('a bug check', int(file.read_text()))
        for name, kill in (('kill -9', os.kill), ('kill -9 of the process group', os.killpg)):
            file.unlink()
            with subprocess.Popen([NDKRUN, '--server', stays + ' & ' + python(LISTEN + '; time.sleep(1000)'),
                                   driver('tee')], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                                  start_new_session=True) as p:
                p.stderr.readline() # the driver is loaded
                kill(p.pid, signal.SIGKILL)
            check_ends(name, int(file.read_text()))
    deaf = python('signal.signal(signal.SIGTERM, signal.SIG_IGN); ' + LISTEN + '; time.sleep(1000)')
    expect('a server that ignores SIGTERM', 0, 'has not ended 5 seconds after SIGTERM, and was killed', '--run-for', 0,
           '--server', deaf, driver('tee'))


def survives():
    """A process that SIGKILL does not end, here one that its parent outside the group does not reap, is reported."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'pid')
        parent = python('os.fork() or os._exit(0); os.setpgid(0, 0); '
                        f'open("{file}", "w").write(str(os.getpid())); time.sleep(1000)')
        expect('a process that stays', 0,
               r'could not be ended: 3 seconds after SIGKILL, process group \d+ is still there\n',
               '--run-for', 0, '--server', f'({parent}) >/dev/null 2>&1 & while [ ! -s {file} ]; do sleep 0.1; done',
               driver('tee'))
        os.kill(int(file.read_text()), signal.SIGKILL)


def servers():
    """The first driver is loaded after the servers listen."""
    late = python('time.sleep(0.5); ' + LISTEN + '; print("listens", flush=True); time.sleep(1000)')
    expect('a server', 0, r'(?s)^listens\n.*tee.so is loaded', '--run-for', 0, '--server', late, driver('tee'))
    text = expect('a server that fails', 4, ["--server 'exit 2' has ended with exit status 2", 'no driver is loaded\n'],
                  '--server', 'exit 2', '--server', 'echo another', driver('tee'))
    check('a server that fails: nothing else begins', 'tee.so' not in text and 'another' not in text, text)
    expect('a command before the drivers', 0, r"(?s)ready\n.*--server 'echo ready' .* status 0\n.*tee.so is loaded",
           '--run-for', 0, '--server', 'echo ready', driver('tee'))
    expect('SIGCHLD is ignored', 0, r"--server 'echo ready' has ended with exit status 0", '--run-for', 0, '--server',
           'echo ready', driver('tee'), prefix=('env', '--ignore-signal=CHLD'))
    with subprocess.Popen([NDKRUN, '--server', 'echo waits; exec sleep 1000', driver('tee')], stderr=subprocess.PIPE,
                          text=True, env=ENVIRONMENT) as p:
        text = p.stderr.readline()
        p.send_signal(signal.SIGINT)
        text += p.communicate(timeout=LIMIT)[1]
    check('Ctrl-C before a server listens', p.returncode == 0 and 'no driver is loaded\n' in text, (p.returncode, text))
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, 'connected')
        # The client's process group ends after the server, so the server's end is known before the round has ended.
        client = (f'while [ ! -s {file} ]; do sleep 0.05; done; '
                  f'(trap "" TERM; while kill -0 $(cat {file}); do sleep 0.05; done) 2>/dev/null &')
        ends_with_driver = python('u = socket.socket(type=socket.SOCK_DGRAM); u.bind(("127.0.0.1", 8124))\n' + f'''
s = socket.socket()
while s.connect_ex(("127.0.0.1", 9000)):
    s.close(); s = socket.socket(); time.sleep(0.02)
open("{file}", "w").write(str(os.getpid()))
try:
    s.recv(1)
except ConnectionError:
    pass
raise SystemExit(5)''')
        expect('a server that ends with the driver', 4, 'has ended with exit status 5\n', '--repeat', 2, '--server',
               ends_with_driver, '--client', client, ECHO)
    p = subprocess.run([NDKRUN, '--json', '--server', 'true', '--server', late, '--client', 'false', ECHO],
                       stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
    d = json.loads(p.stdout)
    check('--json', p.returncode == 4 and [(x['role'], x['command'], x['status']) for x in d['peers']] ==
          [('server', 'true', 0), ('server', late, None), ('client', 'false', 1)], d)


def networks():
    """A run that waits for Ctrl-C prints how a program enters its network."""
    with subprocess.Popen([NDKRUN, '--net', '2=192.168.1.1/24', ECHO], stderr=subprocess.PIPE, text=True,
                          env=ENVIRONMENT) as p:
        text = p.stderr.readline() + p.stderr.readline()
        command = re.search(r'A program in its network: (nsenter -t \d+ .*-n) COMMAND\n', text)
        check('--net: how to enter the network', command, text)
        if command:
            done = subprocess.run([*command[1].split(), sys.executable, PEER, '192.168.1.1'], capture_output=True,
                                  text=True, timeout=LIMIT, check=False)
            check('--net: a program in the network', 'the driver answers' in done.stdout, done)
        p.send_signal(signal.SIGINT)
        text += p.communicate(timeout=LIMIT)[1]
    check('--net: it ends', p.returncode == 0, (p.returncode, text))
    code, text = ndkrun('--run-for', 0, '--net', '2=192.168.1.1/24', driver('tee'))
    check('--net: not if it ends by itself', code == 0 and 'nsenter' not in text, text)


def hangs():
    """A DriverUnload that does not return is reported with the stacks of the threads; Ctrl-C ends the run."""
    stack = r'  thread \d+ \w+ in:\n(    KeWaitForSingleObject called by\n)?    #0 {} at \S*/hangs.c:\d+ '
    with subprocess.Popen([NDKRUN, '--run-for', '0', driver('hangs')], stderr=subprocess.PIPE, text=True,
                          env=ENVIRONMENT) as p:
        text = ''
        for line in p.stderr:
            text += line
            if 'it still waits' in line:
                break
        p.send_signal(signal.SIGINT)
        text += p.stderr.read()
    check('a hanging unload: Ctrl-C ends it', p.returncode == 1, (p.returncode, text))
    for word in ['DriverUnload of .*hangs.so has not returned for 10 seconds. It holds:\nleft: system thread',
                 'it still waits. Ctrl-C ends it without unloading, with exit status 1. '
                 '--timeout SECONDS limits a run\n'] + \
            ([] if sanitizer() == 'tsan' else [stack.format('HangsThread'), stack.format('HangsUnload')]):
        check(f'a hanging unload: says {word}', re.search(word, text), text)


def main():
    os.environ.pop('ONDK_VERIFY', None)
    if not ECHO.exists():
        print('skipped: built without samples')
        return 77
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = [pool.submit(case) for case in (hangs, survives)]
        for case in (clients, servers, ends, networks):
            case()
        for case in waiting:
            case.result()
    return ndkrun_kit.failures != 0


sys.exit(main())
