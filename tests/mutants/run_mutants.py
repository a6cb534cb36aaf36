#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves that the tests see the seeded bugs.

    run_mutants.py --build DIR [--part I/N] [--times N] [LIST...]
                                            each bug of the lists, by default of all beside this program

For each rule that a bug breaks its tests pass without the bug, and fail with it. --part 2/4 proves the second of four
parts, which are about as long as each other. A test that does not end in time counts as one that fails. DIR is the
build of a copy of the tree that `mutate apply` wrote. Exit status: 0 if all are seen, 1 otherwise, 2 on wrong usage.
-j N proves so many at once, by default two for each processor: most tests with a bug in them wait. --times N runs the
tests N times with each bug, and each time they must fail: this finds bugs that the tests see only by chance.
"""
import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutate_lib.edits import EditError, parse_list

HERE = Path(__file__).resolve().parent
CASE_SECONDS = 20       # a case of the contract with a bug in it, before it counts as failed
BASELINE_SECONDS = 60   # and without
RUN_SECONDS = 300       # all that one line runs
# A ctest with a bug in it may wait for ever: so many times what it took without, at least, it is given.
HANG_FACTOR, HANG_SECONDS = 10, 30
OWN_NETWORK = HERE.parent / "own_network"


def run(command, mutant, seconds=RUN_SECONDS):
    """The exit status, or None when it took too long. What it started and left running is ended."""
    env = dict(os.environ)
    env.pop("MUTANT", None)
    if mutant:
        env["MUTANT"] = mutant
        env["CMOCKA_TEST_ABORT"] = "1" # end at the first failure: what it leaves behind may never end
    child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
    try:
        out, _ = child.communicate(timeout=seconds)
        return child.returncode, out
    except subprocess.TimeoutExpired:
        end_group(child)
        out, _ = child.communicate()
        return None, out
    finally:
        end_group(child)


def end_group(child):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def contract(build, tests, mutant, _):
    """True: passed. False: failed, in either family. A string: it could not be run."""
    program = Path(build) / "tests" / "contract" / "ndkconform"
    seconds = CASE_SECONDS if mutant else BASELINE_SECONDS
    passed = 0
    for family in ("4", "6"):
        status, out = run([OWN_NETWORK, program, "--filter", tests, "--family", family, "--watchdog", str(seconds)],
                          mutant)
        ran = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped", out, re.M)
        if status == 2 and ran:
            continue # no case for this family
        if status != 0:
            return False
        passed += int(ran.group(1)) if ran else 0
    return True if passed else f"nothing ran: {out.strip()[-200:]}"


def ctest(build, tests, mutant, healthy_seconds):
    limit = max(HANG_SECONDS, HANG_FACTOR * healthy_seconds) if mutant else RUN_SECONDS
    with tempfile.TemporaryDirectory() as folder: # ctest's log, which another ctest would write, too
        (Path(folder) / "CTestTestfile.cmake").write_text(f'subdirs("{Path(build).resolve()}")\n')
        status, out = run([OWN_NETWORK, "ctest", "--test-dir", folder, "--stop-on-failure", "-R",
                           tests.removeprefix("ctest:")], mutant, limit)
    if "No tests were found" in out:
        return "no test is called that"
    return status == 0


def part_of(rows, part, parts):
    """The rows of one part. Rows with the same tests share a part, because they share the run without a bug."""
    groups = {}
    for row in rows:
        groups.setdefault(row[2:], []).append(row)
    chosen = [[] for _ in range(parts)]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(chosen, key=len).extend(group)
    return chosen[part - 1]


def run_healthy(build, tests, check):
    begun = time.monotonic()
    return check(build, tests, None, None), time.monotonic() - begun


def run_with_bug(build, row, times, healthy_seconds):
    """What is printed about the bug: whether the tests fail each of so many times."""
    name, _, tests, check = row
    for i in range(times):
        passed = check(build, tests, name, healthy_seconds)
        if passed is not False:
            return passed if isinstance(passed, str) else f"NOT SEEN at time {i + 1} of {times}"
    return "seen"


def run_row(build, row, times, healthy, healthy_seconds):
    """True: the tests see the bug each time."""
    name, rule, tests, _ = row
    verdict = healthy
    if verdict is True:
        verdict = run_with_bug(build, row, times, healthy_seconds)
    elif verdict is False:
        verdict = "THE TESTS FAIL WITHOUT IT"
    sys.stdout.write(f"{name} {rule} {tests}: {verdict}\n")
    sys.stdout.flush()
    return verdict == "seen"


def prove(build, rows, times, jobs):
    with ThreadPoolExecutor(jobs) as pool:
        kinds = list(dict.fromkeys(row[2:] for row in rows))
        healthy = dict(zip(kinds, pool.map(lambda kind: run_healthy(build, *kind), kinds)))
        passed = sum(pool.map(lambda row: run_row(build, row, times, *healthy[row[2:]]), rows))
    print(f"{passed} passed, {len(rows) - passed} failed")
    return passed == len(rows)


def part_argument(text):
    words = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not words or int(words[1]) > int(words[2]):
        raise argparse.ArgumentTypeError(f"not a part: {text} (for example 2/4)")
    return int(words[1]), int(words[2])


def times_argument(text):
    if not re.fullmatch(r"[1-9]\d*", text):
        raise argparse.ArgumentTypeError(f"not a number of times: {text}")
    return int(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--part", metavar="I/N", type=part_argument, default=(1, 1))
    parser.add_argument("--times", metavar="N", type=times_argument, default=1)
    parser.add_argument("-j", "--jobs", metavar="N", type=int, default=2 * len(os.sched_getaffinity(0)))
    parser.add_argument("lists", nargs="*", type=Path)
    args = parser.parse_args()
    try:
        bugs = [bug for path in args.lists or sorted(HERE.glob("*.mut")) for bug in parse_list(path)]
    except EditError as error:
        sys.exit(str(error))
    rows = [(bug.name, rule, tests, ctest if tests.startswith("ctest:") else contract)
            for bug in bugs for rule, tests in bug.tests]
    return 0 if prove(args.build, part_of(rows, *args.part), args.times, args.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
