#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The log's lines in a file and on standard error: their form, and that a failed write loses lines and nothing else.

usage: log_files_test.py LOG_PROGRAM
"""
import os
import pathlib
import pty
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

PROGRAM = sys.argv[1]
LIMIT = 120
CONNECTS, THREADS = 5, 4 * 100
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z openndk\[(\d+)/(\d+)\] (error|warn|info|debug): ([ -~]+)")
REFUSED = re.compile(r"connection failed: local=127\.0\.0\.1:\d+ foreign=([\d.]+):(\d+) "
                     r"role=initiated phase=connecting "
                     r"status=STATUS_CONNECTION_REFUSED reason=refused \(0x00210000\): Nobody listens at the peer's "
                     r"address\.")
FAILED = []


def check(what, good, seen=""):
    if not good:
        FAILED.append(what)
        print(f"FAILED: {what}\n{seen}")


def run(case, log=None, env=None, **options):
    """Runs one case, which must pass. Returns what it wrote to standard error, unless that goes elsewhere.

    Before the case begins, its standard error is a pipe of the runner, which prints that to standard output.
    """
    variables = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    variables.update(env or {})
    if log is not None:
        variables["ONDK_LOG"] = log
    options.setdefault("stderr", subprocess.PIPE)
    done = subprocess.run([PROGRAM, "--filter", case], env=variables, stdout=subprocess.PIPE, text=True,
                          timeout=LIMIT, check=False, **options)
    check(f"{case}, ONDK_LOG={log}: the program ends well", done.returncode == 0, (done.returncode, done.stdout))
    early = [line + "\n" for line in done.stdout.splitlines() if " openndk[" in line]
    return "".join(early) + (done.stderr or "")


def lines_of(what, text):
    """The lines as (pid, thread, level, text). All must be whole."""
    parsed = [LINE.fullmatch(line) for line in text.splitlines()]
    check(f"{what}: whole lines", all(parsed), text)
    return [m.groups() for m in parsed if m]


def ports(lines):
    return [int(m[2]) for m in (REFUSED.fullmatch(line[3]) for line in lines if line[2] == "info") if m]


def levels(directory):
    for level, number in (("error", 0), ("warn", 0), ("info", CONNECTS), ("debug", CONNECTS)):
        file = directory / level
        err = run("connects", f"{level},{file}")
        check(f"{level}: nothing on standard error", not err, err)
        lines = lines_of(level, file.read_text("ascii"))
        check(f"{level}: a line for each failure", ports(lines) == list(range(1, number + 1)), lines)
        check(f"{level}: nothing else", len(lines) == number, lines)
    check("no ONDK_LOG: nothing", not run("connects"))
    lines = lines_of("standard error", run("connects", "info"))
    check("standard error: a line for each failure", ports(lines) == list(range(1, CONNECTS + 1)), lines)
    check("an empty ONDK_LOG is none", not run("connects", ""))


def files(directory):
    file = directory / "appended"
    file.write_text("before\n", "ascii")
    run("connects", f"info,{file}")
    run("connects", f"info,{file}")
    text = file.read_text("ascii")
    check("a file is appended to", text.startswith("before\n"), text)
    lines = lines_of("two runs", text[len("before\n"):])
    check("two runs: both", ports(lines) == 2 * list(range(1, CONNECTS + 1)), lines)
    check("two runs: two processes", len({line[0] for line in lines}) == 2, lines)
    file = directory / "a, name with spaces"
    run("connects", f"info,{file}")
    check("a name with a comma", len(lines_of("comma", file.read_text("ascii"))) == CONNECTS)


def processes(directory):
    file = directory / "forks"
    run("forks", f"info,{file}")
    lines = lines_of("forks", file.read_text("ascii"))
    check("forks: parent and child", ports(lines) == [1, 2, 3], lines)
    check("forks: each under its own number",
          len(lines) == 3 and lines[0][0] == lines[2][0] != lines[1][0], lines)
    file = directory / "threads"
    children = [subprocess.Popen([PROGRAM, "--filter", "threads"], stdout=subprocess.DEVNULL,
                                 env={**os.environ, "ONDK_LOG": f"info,{file}"}) for _ in range(2)]
    check("threads: the programs end well", [c.wait(LIMIT) for c in children] == [0, 0])
    lines = lines_of("threads", file.read_text("ascii"))
    foreign = [m[1] for m in (REFUSED.fullmatch(line[3]) for line in lines) if m]
    check("threads: every line, none mixed", len(foreign) == len(lines) == 2 * THREADS and
          len(set(foreign)) == THREADS, len(lines))


def errors(directory):
    os.mkfifo(directory / "fifo")
    for file, why in ((directory, "Is a directory"), (directory / "no" / "such", "No such file or directory"),
                      (directory / "fifo", "No such device or address")):
        lines = lines_of(why, run("connects", f"info,{file}"))
        check(f"{why}: named", lines[0][2:] == ("error", f"ONDK_LOG: the log goes to standard error, because {file} "
                                                         f"cannot be opened: {why}"), lines)
        check(f"{why}: the lines go to standard error", ports(lines) == list(range(1, CONNECTS + 1)), lines)
    lines = lines_of("a strange name", run("connects", f"warn,{directory}/no/\x1b[2J\n2000-01-01T"))
    check("a strange name: one line, printable", len(lines) == 1 and
          f"because {directory}/no/?[2J?2000-01-01T cannot be opened" in lines[0][3], lines)
    for value in ("loud", "info,", "INFO", ",file", "infor", "warn;x"):
        lines = lines_of(value, run("connects", value))
        check(f"{value}: named", [line[2:] for line in lines] == [
            ("warn", f"ONDK_LOG={value} is not used: expected is error, warn, info or debug, and optionally a comma "
                     "and a file")], lines)
    lines = lines_of("control characters", run("connects", "warn", env={"ONDK_X\n2000-01-01": "\x1b[2J\n\x9b"}))
    check("control characters: none, and no line of their own", len(lines) == 1 and "is not used" in lines[0][3], lines)


def broken_streams(directory):
    """A line that cannot be written is lost, and nothing else happens."""
    run("connects", "info", stderr=None, preexec_fn=lambda: os.close(2))
    for name in ("/dev/full", "/dev/null"):
        with open(name, "w", encoding="ascii") as sink:
            run("connects", "info", stderr=sink)
    run("connects", "info,/dev/full")
    read, write = os.pipe()
    os.close(read)
    run("connects", "info", stderr=write, restore_signals=True) # a pipe without a reader: SIGPIPE would end the program
    os.close(write)
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while os.write(write, b"x" * 4096):
            pass
    except BlockingIOError:
        os.set_blocking(write, True)
    run("connects", "info", stderr=write) # a pipe that nobody reads: waiting would be for ever
    os.close(read)
    os.close(write)
    blocking_streams()
    file = directory / "short"
    run("connects", f"info,{file}", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700)))
    text = file.read_text("ascii")
    check("a limit of the file's size: what fits", len(text) == 700 and ports(
        [m.groups() for m in map(LINE.fullmatch, text.splitlines()) if m])[:2] == [1, 2], text)
    run("connects", f"info,{file}")
    text = file.read_text("ascii")
    check("afterwards: whole lines again", ports(
        [m.groups() for m in map(LINE.fullmatch, text.splitlines()[-CONNECTS + 1:]) if m]) == [2, 3, 4, 5], text)


def blocking_streams():
    """No line waits for a reader, also if another process shares the description and writes to it."""
    master, slave = pty.openpty()
    run("many", "info", stderr=slave)
    text = b""
    while text.count(b"\n") < 6 and select.select([master], [], [], LIMIT)[0]: # it may come in parts
        text += os.read(master, 1 << 16)
    lines = text.decode("ascii").splitlines()
    check("a terminal that nobody reads: the first lines", len(lines) > 5 and
          ports(lines_of("terminal", "\n".join(lines[:5]))) == [1, 2, 3, 4, 5], lines)
    run("many", f"info,{os.ttyname(slave)}")
    os.close(master)
    os.close(slave)
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        run("many", "info", stderr=theirs)
        lines = lines_of("a socket", ours.recv(1 << 16).decode("ascii").split("\n")[0])
        check("a socket that nobody reads: the first line", ports(lines) == [1], lines)
        ours.close()
        theirs.close()
    read, write = os.pipe()
    end = time.monotonic() + 1
    writer = threading.Thread(target=write_until_broken, args=(write,))
    reader = threading.Thread(target=read_slowly, args=(read, end))
    writer.start()
    reader.start()
    while time.monotonic() < end:
        run("connects", "info", stderr=write)
    run("many", "info", stderr=write)
    reader.join()
    os.close(read)
    writer.join()
    os.close(write)


def write_until_broken(fd):
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except BrokenPipeError:
        pass


def read_slowly(fd, end):
    while time.monotonic() < end:
        os.read(fd, 4096)


def closed_descriptors(directory):
    """The log's number may become that of another file."""
    own = directory / "own"
    file = directory / "closed"
    for name, where in ((file, None), ("closed", directory)):
        run("closes_descriptors", f"info,{name}", env={"LOG_TEST_OWN_FILE": str(own)}, cwd=where)
        check("a closed descriptor: no line in another file", own.read_text("ascii") == "", own.read_text("ascii"))
        lines = lines_of("closed", file.read_text("ascii"))
        check("a closed descriptor: the log goes on", ports(lines) == [1, 2, 3], lines)
        file.unlink()


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        for test in (levels, files, processes, errors, broken_streams, closed_descriptors):
            test(directory)
    print(f"{len(FAILED)} checks failed" if FAILED else "passed")
    return 1 if FAILED else 0


sys.exit(main())
