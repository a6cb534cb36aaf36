# SPDX-License-Identifier: MIT
"""Shared by the tests of ndkrun. usage: TEST NDKRUN DRIVERS NDK-CC|- SAMPLES"""
import json
import os
import pathlib
import re
import subprocess
import sys

NDKRUN, DRIVERS, NDK_CC, SAMPLES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
LIMIT = 60 if "CMOCKA_TEST_ABORT" in os.environ else 250 # seconds; a test with a seeded bug often hangs
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != 'ONDK_VERIFY'}
# Functions of the driver `stalling`.
STALLING = {'pend': 0x222004, 'deaf': 0x222008, 'inside': 0x22200c, 'cancel stays': 0x22201c}
failures = 0


def check(name, condition, seen):
    global failures
    failures += not condition
    if not condition:
        print(f"{name}: FAILED, saw {seen!r}", flush=True)
        if "CMOCKA_TEST_ABORT" in os.environ: # one failure is enough for run_mutants.py
            os._exit(1)


def driver(name):
    return str(DRIVERS / f'{name}.so')


def ndkrun(*arguments, prefix=()):
    p = subprocess.run([*prefix, NDKRUN, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT,
                       check=False)
    return p.returncode, p.stdout + p.stderr


def expect(name, code, words, *arguments, prefix=()):
    """Checks the exit code, and that each regular expression matches the output. `prefix` is a command in front."""
    seen = ndkrun(*arguments, prefix=prefix)
    check(f'{name}: exit status {code}', seen[0] == code, seen)
    for word in [words] if isinstance(words, str) else words:
        check(f'{name}: says {word}', re.search(word, seen[1]), seen[1])
    return seen[1]


def summary(*arguments):
    """Returns the JSON object of a run, and its exit code."""
    p = subprocess.run([NDKRUN, '--json', '--run-for', '0', *map(str, arguments)], capture_output=True, text=True,
                       timeout=LIMIT, check=False)
    return (json.loads(p.stdout) if p.stdout else None), p.returncode


def sanitizer():
    libraries = subprocess.run(['ldd', NDKRUN], capture_output=True, text=True, check=True).stdout
    return next((name for name in ('asan', 'tsan') if f'lib{name}.so' in libraries), '')
