#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs ndkconform with verification on: the cases pass as without it, and break exactly the rules that a list names.

usage: verified_test.py LIST NDKCONFORM [ARGUMENT...]

LIST has a line for each case that breaks rules on purpose: the case's name, then the names of the rules. A rule that
only a race breaks has a question mark: it may be reported.
"""
import collections
import os
import re
import subprocess
import sys

REPORT = re.compile(r'\*\*\* (?:NDK|driver) (?:rule broken|advice): ([\w-]+) in ')
RESULT = re.compile(r'(\w+)(?: \(IPv[46]\))?: (passed|FAILED|skipped)$')


def read_list(path):
    expected = {}
    for line in open(path, encoding='utf-8'):
        words = line.split('#')[0].split()
        if words:
            expected[words[0]] = set(words[1:])
    return expected


def agrees(reported, listed):
    """Whether the reported rules are those of the list."""
    certain = {rule for rule in listed if not rule.endswith('?')}
    return certain <= reported <= {rule.rstrip('?') for rule in listed}


def main():
    expected, command = read_list(sys.argv[1]), sys.argv[2:]
    environment = dict(os.environ, ONDK_VERIFY='report,stall=0') # a slow machine breaks no rule
    run = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    seen, details, since, names = collections.defaultdict(set), {}, set(), set()
    text = []
    for line in run.stdout.splitlines():
        report, result = REPORT.match(line), RESULT.match(line)
        text.append(line)
        if report:
            since.add(report[1])
        if result:
            names.add(result[1])
            seen[result[1]] |= since
            if not agrees(since, expected.get(result[1], set())) or result[2] == 'FAILED':
                details[result[1]] = text
            since, text = set(), []
    findings = 0
    for name in sorted(names):
        if not agrees(seen[name], expected.get(name, set())):
            print(f'{name}: expected {sorted(expected.get(name, set()))}, reported {sorted(seen[name])}')
            print('\n'.join('    ' + line for line in details.get(name, [])))
            findings += 1
    unknown = set(expected) - names if len(command) == 1 else set()
    for name in sorted(unknown):
        print(f'{name}: the list names it, and there is no such case')
    print(f'{len(names)} cases, {sum(map(bool, seen.values()))} break a rule on purpose, {findings} findings')
    if run.returncode:
        print('\n'.join(line for line in run.stdout.splitlines() if 'FAILED' in line))
        print(f'ndkconform: exit status {run.returncode}')
    return bool(findings or unknown or run.returncode or not names)


sys.exit(main())
