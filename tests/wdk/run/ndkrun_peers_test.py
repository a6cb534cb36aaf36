#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
ndkrun: a driver that hangs in DriverUnload.
usage: ndkrun_peers_test.py NDKRUN DRIVERS NDK-CC|- SAMPLES
"""
import os
import re
import signal
import subprocess
import sys

import ndkrun_kit
from ndkrun_kit import ENVIRONMENT, NDKRUN, check, driver, sanitizer


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
                 'it still waits. Ctrl-C ends it without unloading, with exit status 1. --timeout SECONDS limits a run\n'] + \
            ([] if sanitizer() == 'tsan' else [stack.format('HangsThread'), stack.format('HangsUnload')]):
        check(f'a hanging unload: says {word}', re.search(word, text), text)


def main():
    os.environ.pop('ONDK_VERIFY', None)
    hangs()
    return ndkrun_kit.failures != 0


sys.exit(main())
