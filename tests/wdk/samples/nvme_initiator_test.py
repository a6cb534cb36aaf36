#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The NVMe initiator's queues against a minimal target that makes mistakes on demand (nvme_peer).

usage: nvme_initiator_test.py NDKRUN DRIVER PEER [--once] [NAME...]

NAME: only these cases. Each case runs twice, the second time with early completions; with --once every second case runs
with them instead.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

NDKRUN, DRIVER, PEER = sys.argv[1:4]
NQN = 'nqn.2026-11.org.example:peer'
CANCELLED, IO_TIMEOUT, DELETE_PENDING = 0xC0000120, 0xC00000B5, 0xC0000056
REFUSED, ACCESS_DENIED, NOT_CONNECTED, BUFFER_SIZE = 0xC0000236, 0xC0000022, 0xC000009D, 0xC0000206
NOT_SUPPORTED, BROKEN_PROTOCOL = 0xC00000BB, 0xC00000C3
DELETE, RESET, ABORT, CHANGE, FAIL = 1, 2, 3, 5, 6
PATIENT = {'KeepAliveSeconds': 3600, 'CommandSeconds': 3600} # unless a case is about time limits
SLOW = {'ONDK_PEND_CREATES': '1', 'ONDK_NOTIFY_US': '0', 'ONDK_SPIN_US': '20'}
# One failure is enough for run_mutants.py, and a run that hangs is a failure.
IS_MUTANT = 'CMOCKA_TEST_ABORT' in os.environ
RUN_SECONDS = 60 if IS_MUTANT else 250
failures = 0

# Name, the peer's options, the registry's values, what must be printed, what must not be.
RECONNECTED, NEVER = ' reconnects 1,', ' reconnects [1-9]'
CASES = [
    ('small writes travel in the capsule', {}, {}, ['capsule 4096', '160 requests'], [NEVER]),
    ('all slots in use', {}, {'Depth': 200, 'Bytes': 65536, 'Rounds': 4, 'IoQueues': 1}, ['1600 requests'], [NEVER]),
    ('the largest transfer', {}, {'Depth': 16, 'Bytes': 131072}, ['320 requests'], [NEVER]),
    ('data behind the beginning of the buffer', {}, {'Bytes': 65536, 'Offset': 65536}, ['160 requests'], [NEVER]),
    ('data of a capsule inside the buffer', {}, {'Bytes': 2048, 'Offset': 9000}, ['160 requests'], [NEVER]),
    ('an offset that is too large', {}, {'Bytes': 65536, 'Offset': 66048, 'Depth': 2, 'Expect': BUFFER_SIZE},
     ['2 expected failures'], [NEVER]),
    ('no data in capsules', {'no_capsule': 1}, {'Depth': 32, 'Bytes': 512}, ['capsule 0'], [NEVER]),
    ('no offsets into capsules', {'no_capsule': 2}, {'Bytes': 512}, ['capsule 0'], [NEVER]),
    ('the target invalidates nothing', {'plain_send': 1}, {'Depth': 32, 'Bytes': 8192}, ['640 requests'], [NEVER]),
    ('the target has few receives', {'receives': 3}, {'Depth': 32, 'Bytes': 8192}, ['640 requests'], [NEVER]),
    ('fewer queues than wanted', {'queues': 1}, {}, [' 1 queues of 127'], [NEVER]),
    ('a short limit of transfers', {'mdts': 2}, {}, ['transfer 16384'], [NEVER]),
    ('a new namespace', {'change': 20}, {'Exercise': CHANGE}, ['namespace 3'], [NEVER]),
    ('a command fails', {'error': 5}, {'Expect': 0xC0000185}, ['1 expected failures'], [NEVER]),
    ('an unknown command identifier', {'wrong_cid': 50}, {}, ['that it was not sent', RECONNECTED], []),
    ('an old command identifier', {'old_cid': 50}, {}, ['that it was not sent', RECONNECTED], []),
    ('two answers', {'twice': 50}, {}, ['that it was not sent', RECONNECTED], []),
    ('a short answer', {'short_answer': 50}, {}, ['of a wrong length', RECONNECTED], []),
    ('a wrong token', {'wrong_token': 50}, {'Bytes': 8192, 'Depth': 32, 'IoQueues': 1},
     ['a wrong token', RECONNECTED], []),
    ('an invalidation after the answer', {'late_token': 100}, {'Bytes': 8192, 'Depth': 32},
     ['640 requests', 'that it was not sent', ' reconnects [1-9]'], []),
    ('an invalidation by the answer of another command', {'other_token': 50},
     {'Bytes': 8192, 'Depth': 32, 'IoQueues': 1},
     ['640 requests', 'a wrong token', ' reconnects [1-9]'], []),
    ('the target drops a queue', {'drop': 50}, {'Bytes': 8192, 'Depth': 32}, [RECONNECTED], []),
    ('the target drops a queue with waiting requests', {'drop': 60},
     {'Bytes': 8192, 'Depth': 64, 'QueueDepth': 4, 'IoQueues': 1}, ['1280 requests', RECONNECTED], []),
    ('another disk after a reconnect', {'replace': 50}, {'Bytes': 8192, 'Depth': 32, 'Expect': CANCELLED},
     ['is now another disk', 'a change before the controller is live', '[1-9][0-9]* expected failures'], []),
    ('the target drops queues again and again', {'drop_every': 150}, {'Bytes': 8192, 'Depth': 32, 'Rounds': 40},
     ['2560 requests', r' reconnects 1\d,'], []),
    ('a command without answer', {'silent': 50}, {'CommandSeconds': 3, 'AbortSeconds': 3},
     ['is aborted', 'not answered a command in time', ' reconnects [1-9]'], []),
    ('an abort without answer', {'silent': 50}, {'AbortSeconds': 1, 'Exercise': ABORT, 'Expect': CANCELLED},
     ['is aborted', '1 expected failures'], []),
    ('no answers at all', {'deaf': 50},
     {'KeepAliveSeconds': 1, 'IoFailSeconds': 1, 'Expect': IO_TIMEOUT, 'Rounds': 100000},
     ['not answered a command in time', '8 expected failures'], ['is aborted']),
    ('no answers while namespaces are scanned', {'deaf': 20, 'change': 20},
     {'KeepAliveSeconds': 1, 'IoFailSeconds': 1, 'Expect': IO_TIMEOUT},
     ['the controller has not answered a command in time', '8 expected failures'], []),
    ('the target dies', {'die': 50}, {'IoFailSeconds': 1, 'Depth': 64, 'Expect': IO_TIMEOUT, 'Rounds': 100000},
     ['64 expected failures'], []),
    ('no more attempts', {'die': 50}, {'LossSeconds': 1, 'Expect': NOT_CONNECTED, 'Rounds': 100000},
     ['no more attempts to connect', '8 expected failures'], []),
    ('a transfer that is too long for the driver', {}, {'Bytes': 196608, 'Depth': 2, 'Expect': BUFFER_SIZE},
     ['2 expected failures'], [NEVER]),
    ('a transfer that is too long for the target', {'mdts': 2}, {'Bytes': 32768, 'Depth': 2, 'Expect': BUFFER_SIZE},
     ['2 expected failures'], [NEVER]),
    ('deleted under load', {}, {'Exercise': DELETE, 'Expect': DELETE_PENDING, 'Depth': 128, 'QueueDepth': 16,
                                'Bytes': 65536, 'Rounds': 100000}, ['128 expected failures'], [NEVER]),
    ('deleted while reconnecting', {'die': 40}, {'Exercise': DELETE, 'Expect': DELETE_PENDING, 'Rounds': 100000},
     ['8 expected failures'], [NEVER]),
    ('deleted without answers', {'deaf': 40}, {'Exercise': DELETE, 'Expect': DELETE_PENDING, 'Rounds': 100000},
     ['8 expected failures'], [NEVER]),
    ('deleted while the target is stopped', {'stop': 40},
     {'Exercise': DELETE, 'Expect': DELETE_PENDING, 'Rounds': 100000}, ['8 expected failures'], [NEVER]),
    ('the target is stopped', {'stop': 40},
     {'KeepAliveSeconds': 1, 'IoFailSeconds': 1, 'Expect': IO_TIMEOUT, 'Rounds': 100000},
     ['not answered a command in time', '8 expected failures'], []),
    ('reset under load', {'silent': 50},
     {'Exercise': RESET, 'Expect': CANCELLED, 'Depth': 32, 'Bytes': 65536, 'Rounds': 100000},
     [' reconnects 3,', '[1-9][0-9]* expected failures'], []),
    ('a rejected connection', {'reject': 1}, {'Exercise': FAIL, 'Expect': REFUSED}, ['no resources'], []),
    ('a host that is not admitted', {'refuse': 0x184}, {'Exercise': FAIL, 'Expect': ACCESS_DENIED}, [], []),
    ('two answers while the controller connects', {'twice_admin': 2}, {'Exercise': FAIL, 'Expect': BROKEN_PROTOCOL},
     ['that it was not sent'], []),
    ('nobody listens', {'port': 0}, {'Exercise': FAIL, 'Expect': REFUSED}, ['the target was not reached'], []),
]
# The same, with adapters that have narrower limits; the peer's adapter is that of the default.
ADAPTERS = [
    ('a narrow adapter', {}, {'Depth': 32, 'Bytes': 65536}, [' 4 queues of 127', '640 requests'], [NEVER],
     [{'ONDK_PROFILE': 'narrow'}]),
    ('a shallow adapter', {}, {'Depth': 32, 'Bytes': 32768}, [' 4 queues of 10', 'transfer 61440', '640 requests'],
     [NEVER], [{'ONDK_PROFILE': 'shallow'}]),
    ('an adapter without fast registration', {}, {'Exercise': FAIL, 'Expect': NOT_SUPPORTED},
     ["the adapter's limits are too narrow"], [], [{'ONDK_PROFILE': 'minimal'}]),
]


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f'{name}: FAILED, saw\n{seen}', flush=True)
        if IS_MUTANT:
            os._exit(1)


def run(port, peer_options, values, environment):
    """Runs the driver once against a new peer; returns the exit status, what was printed, and the peer's errors."""
    with tempfile.TemporaryFile('w+') as errors:
        peer = subprocess.Popen([PEER, f'port={port}', *(f'{name}={value}' for name, value in peer_options.items())],
                                stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            peer.stdout.readline() # "listening"
            registry = [f'--reg=Targets=sz:127.0.0.1:{port} {NQN}']
            registry += [f'--reg={name}=dword:{value}' for name, value in {**PATIENT, **values}.items()]
            p = subprocess.run([NDKRUN, '--verify', 'stop,full,stall=0', '--run-for', '0', *registry, DRIVER],
                               text=True, capture_output=True, timeout=RUN_SECONDS, check=False,
                               env={**os.environ, **environment})
        except subprocess.TimeoutExpired as e:
            return None, f'has not ended after {RUN_SECONDS} s: {e.stdout} {e.stderr}', ''
        finally:
            peer.kill()
            peer.wait()
        errors.seek(0)
        return p.returncode, p.stdout + p.stderr, errors.read()


def run_case(port, name, peer_options, values, present, absent, environment):
    case = name + (', early completions' if environment is SLOW else '')
    code, text, errors = run(port, peer_options, values, environment)
    check(f'{case}: the peer', not errors, errors)
    check(case, code == 0 and 'nothing left, no rule broken' in text, text)
    for pattern in present:
        check(f'{case}: {pattern}', re.search(pattern, text), text)
    for pattern in absent:
        check(f'{case}: not {pattern}', not re.search(pattern, text), text)


def main():
    once = '--once' in sys.argv[4:]
    wanted = [word for word in sys.argv[4:] if word != '--once']
    port = 4420
    runs = []
    with concurrent.futures.ThreadPoolExecutor(6) as pool: # most of them wait most of the time
        both = [(*case, [SLOW if i % 2 else {}] if once else [{}, SLOW]) for i, case in enumerate(CASES)]
        for name, *rest, environments in both + ADAPTERS:
            for environment in environments:
                port += 1
                if not wanted or name in wanted:
                    runs.append(pool.submit(run_case, port, name, *rest, environment))
    for finished in runs:
        finished.result()


main()
print(f'{failures} failures')
sys.exit(failures != 0)
