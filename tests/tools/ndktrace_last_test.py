#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The last events: ndktrace show --last, and ndktrace run after programs that crash, are killed, or end.

usage: ndktrace_last_test.py NDKTRACE NDKPING [NDKRUN DRIVERS]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

NDKTRACE, NDKPING = (os.path.abspath(path) for path in sys.argv[1:3])
NDKRUN, DRIVERS = (sys.argv[3], pathlib.Path(sys.argv[4])) if len(sys.argv) > 4 else (None, None)
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
SERVER = [NDKPING, "-S", "-ServerAddr", "127.0.0.1:50280"]
CLIENT = [NDKPING, "-C", "-ServerAddr", "127.0.0.1:50280"]
EVENT = re.compile(r"^ +\d+\.\d{6} +\d+ +(?:\d+|-)  \w+", re.M)
failed = []


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def run(*arguments, **options):
    done = subprocess.run([str(word) for word in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=200, check=False, env=ENVIRONMENT, **options)
    return done.returncode, done.stdout, done.stderr


def events(text):
    return EVENT.findall(text)


def has_sanitizer():
    libraries = subprocess.run(["ldd", NDKPING], stdout=subprocess.PIPE, text=True, check=True).stdout
    return "libasan" in libraries or "libtsan" in libraries


def refused_client(path, *options):
    """A client that nobody answers, under ndktrace run."""
    return run(NDKTRACE, "run", "-o", path / "client.trace", *options, "--", *CLIENT)


def test_show(path):
    refused_client(path)
    code, out, _ = run(NDKTRACE, "show", path / "client.trace")
    whole = events(out)
    check("the client records", code == 0 and len(whole) > 5, out)
    for number in (0, 1, 3, 1000000):
        _, out, _ = run(NDKTRACE, "show", "--last", number, path / "client.trace")
        check(f"--last {number}", events(out) == whole[-number:] * (number > 0), out)
    _, out, _ = run(NDKTRACE, "show", "--last", 1, "-e", "connection", path / "client.trace")
    check("--last of those that are selected", len(events(out)) == 1 and events(out)[0].endswith("connection"), out)
    for wrong in ("-1", "x", "1000001"):
        check(f"--last {wrong}", run(NDKTRACE, "show", "--last", wrong, path / "client.trace")[0] == 2)


def test_run_that_ends(path):
    code, _, err = refused_client(path)
    check("a program that ends: no events", code == 1 and not events(err) and "ndktrace show" in err, (code, err))
    code, _, err = refused_client(path, "--last", 4)
    check("--last", code == 1 and len(events(err)) == 4 and err.rstrip().endswith("client.trace"), (code, err))
    check("--last 0", not events(refused_client(path, "--last", 0)[2]))


def killed(path, number, *options, shell=False):
    """ndktrace run of a server, which a signal ends when it listens."""
    wrapper = ["sh", "-c", 'echo $$ >&2; "$@"; exit $?', "sh"] if shell else []
    with subprocess.Popen([NDKTRACE, "run", "-o", path / "server.%p", *options, "--", *wrapper, *SERVER],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) as process:
        check("the server listens", process.stdout.readline().startswith("listening"))
        (file,) = path.glob("server.*")
        os.kill(int(file.suffix[1:]), number)
        out, err = process.communicate(timeout=200)
    file.unlink()
    return process.returncode, out, err


def test_kills(path):
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT):
        if number != signal.SIGKILL and has_sanitizer():
            print(f"{number.name}: skipped, the sanitizer handles the signal, and exits")
            continue
        code, _, err = killed(path, number)
        check(f"{number.name}: status", code == 128 + number, code)
        check(f"{number.name}: events", 2 <= len(events(err)) <= 20 and " listening " in err and
              "# ndkping, process " in err, err)
        check(f"{number.name}: the command comes last", err.rstrip().splitlines()[-1].startswith(
            "ndktrace: ndktrace show "), err)
    code, _, err = killed(path, signal.SIGKILL, shell=True)
    check("a shell's child is killed", code == 128 + signal.SIGKILL and events(err), (code, err))
    check("--last 0 after a kill", not events(killed(path, signal.SIGKILL, "--last", "0")[2]))
    check("--last 1 after a kill", len(events(killed(path, signal.SIGKILL, "--last", "1")[2])) == 1)


def test_fault_in_callback(path):
    if not NDKRUN:
        print("a fault in a callback: skipped, there is no ndkrun")
        return
    last = ["--last", "20"] if has_sanitizer() else [] # the program then ends by exit
    code, _, err = run(NDKTRACE, "run", "-o", path / "fault.trace", *last, "--", NDKRUN, "--run-for", "0",
                       DRIVERS / "DereferenceNull.so")
    check("a fault in a callback ends the program", code != 0, code)
    check("its last events", " cq_notification " in err and len(events(err)) >= 20, err)


def test_names(path):
    code, _, err = run(NDKTRACE, "run", "-o", "ring", "--", *CLIENT, cwd=path)
    check("a file with the name ring", code == 1 and (path / "ring").exists() and "ndktrace show ring\n" in err, err)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory))
print(f"{len(failed)} failed")
sys.exit(1 if failed else 0)
