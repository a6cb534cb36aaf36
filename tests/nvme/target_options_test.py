#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""target_options_test.py PROGRAM: the command line of nvme-target, its messages and exit statuses."""
import os
import re
import signal
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
LISTEN = ['--listen', '127.0.0.1:4421']
NQN = ['--nqn', 'nqn.2026-11.org.example:disk']
LIMIT = 250 # seconds
MEMORY = ['--memory', '1M']
failed = 0


def check(name, right, seen):
    global failed
    if not right:
        failed += 1
        print(f'{name}: FAILED, saw {seen!r}')


def run(name, status, words, *options, env=None):
    """Runs the program, which must end with the status and print all words."""
    done = subprocess.run([PROGRAM, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT, env={**os.environ, **(env or {})})
    check(f'{name}: status', done.returncode == status, (done.returncode, done.stdout))
    for word in words:
        check(f'{name}: prints {word}', re.search(word, done.stdout), done.stdout)


def start(*options, env=None):
    program = subprocess.Popen([PROGRAM, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **(env or {})})
    return program, program.stdout.readline()


def serving():
    """Addresses that work, and one that is in use."""
    for listen, address in (('127.0.0.1', '127.0.0.1 port 4420'), ('127.0.0.1:4422', '127.0.0.1 port 4422'),
                            ('::1', '::1 port 4420'), ('[::1]', '::1 port 4420'), ('[::1]:4422', '::1 port 4422')):
        program, line = start('--listen', listen, *NQN, *MEMORY, '--memory', '8K', '--block', '4096')
        check(f'--listen {listen}', address in line and '2 namespaces' in line, line)
        run('an address in use', 1, ['STATUS_SHARING_VIOLATION'], '--listen', listen, *NQN, *MEMORY)
        program.send_signal(signal.SIGINT)
        check(f'--listen {listen}: the end', program.wait(LIMIT) == 0, program.stderr.read())
        check(f'--listen {listen}: stopped', program.stdout.read() == 'stopped\n', '')
        program.stdout.close()
        program.stderr.close()


def wrong_values():
    for option, value in (('--memory', '1k'), ('--memory', '4095'), ('--memory', '5T'), ('--memory', '-1M'),
                          ('--memory', '99999999999G'), ('--block', '513'), ('--io-queues', '0'), ('--io-queues', '65'),
                          ('--queue-size', '1'), ('--queue-size', '1025'), ('--controllers', ''), ('--queues', '0x5'),
                          ('--buffers', '0'), ('--workers', '65'), ('--srq', '31'), ('--listen', '127.0.0.1:'),
                          ('--listen', 'localhost'), ('--listen', '[::1'),
                          ('--listen', '192.0.2.1'), ('--listen', '0.0.0.0'), ('--nqn', 'disk'),
                          ('--nqn', 'nqn.' + 'x' * 220), ('--host', 'disk')):
        run(f'{option} {value}', 2, [f'nvme-target: {option} {re.escape(value)}: ', '--help'], *LISTEN, *NQN, *MEMORY,
            option, value)
    for port in ('0', '65536', '99999', 'x'):
        run(f'port {port}', 2, [f'--listen: port {port}: a number from 1 to 65535'], '--listen', f'127.0.0.1:{port}',
            *NQN,
            *MEMORY)
    for queues in ('1', '66561'):
        run(f'--queues {queues}', 2, ['a number from 2 to 66560'], *LISTEN, *NQN, *MEMORY, '--queues', queues)
    run('--frobnicate', 2, ['unrecognized option'], *LISTEN, *NQN, *MEMORY, '--frobnicate')
    run('a word', 2, ['word: this is no option'], *LISTEN, *NQN, *MEMORY, 'word')


def main():
    run('--help', 0, ['^usage: nvme-target', '--listen ADDRESS', 'Exit status'], '--help')
    run('no options', 2, ['--listen ADDRESS is missing'])
    run('no name', 2, ['--nqn NQN is missing'], *LISTEN, *MEMORY)
    run('no disk', 2, ['a disk is missing'], *LISTEN, *NQN)
    wrong_values()
    with tempfile.TemporaryDirectory() as directory:
        small = os.path.join(directory, 'small')
        with open(small, 'wb') as file:
            file.truncate(100)
        run('a file that does not exist', 2, ['No such file', 'truncate -s'], *LISTEN, *NQN, '--file', '/nobody')
        run('a directory', 2, ['s a directory'], *LISTEN, *NQN, '--read-only', directory)
        run('a small file', 1, ['a disk is smaller than one block'], *LISTEN, *NQN, '--file', small)
        with open(small, 'wb') as file:
            file.truncate(4096)
        program, _ = start(*LISTEN, *NQN, '--file', small)
        run('a file in use', 2, ['another process serves it'], *LISTEN, *NQN, '--read-only', small)
        program.send_signal(signal.SIGTERM)
        check('SIGTERM', program.wait(LIMIT) == 0, program.stderr.read())
    run('a narrow card', 1, ['no shared receive queue'], *LISTEN, *NQN, *MEMORY, '--srq', '64',
        env={'ONDK_PROFILE': 'narrow'})
    run('a card with few pages', 1, ['fast registrations'], *LISTEN, *NQN, *MEMORY, '--fast',
        env={'ONDK_PROFILE': 'shallow'})
    run('a minimal card', 1, ['32 receives and 32 requests'], *LISTEN, *NQN, *MEMORY, env={'ONDK_PROFILE': 'minimal'})
    run('a card with short CQs', 1, ['no completion queues for the results of 32'], *LISTEN, *NQN, *MEMORY,
        env={'ONDK_MAX_CQ_DEPTH': '159'})
    for srq in ([], ['--srq', '64']):
        program, line = start(*LISTEN, *NQN, *MEMORY, *srq, env={'ONDK_MAX_CQ_DEPTH': '160'})
        check('a card with CQs that are long enough', 'listening' in line, line)
        program.send_signal(signal.SIGTERM)
        check('a card with CQs that are long enough: the end', program.wait(LIMIT) == 0, program.stderr.read())
    serving()
    print(f'{failed} failed')
    return 1 if failed else 0


sys.exit(main())
