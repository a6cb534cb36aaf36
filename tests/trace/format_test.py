#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trace files: every event is there, whatever the threads and processes do; no foreign file is overwritten.

usage: format_test.py TRACE_WRITER SOURCE_DIRECTORY
"""
import fcntl
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

import trace_reader

WRITER, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
OF_A_THREAD = 6000  # EVENTS_OF_A_THREAD in trace_writer.c
FAILED = []


def check(what, good, seen=""):
    if not good:
        FAILED.append(what)
        print(f"FAILED: {what}\n{seen}")


def run(path, *arguments, size="", **options):
    env = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
    env["ONDK_TRACE"] = f"{path}{size}"
    return subprocess.run([WRITER, *map(str, arguments)], env=env, stdout=subprocess.PIPE, text=True, timeout=120,
                          check=False, **options)


def traced(path, *arguments, size="", **options):
    done = run(path, *arguments, size=size, **options)
    check(f"{arguments}: ends well", done.returncode == 0, done)
    return trace_reader.read_trace(path)


def ids(trace):
    return [event.id for event in trace.events]


def test_one(path):
    trace = traced(path, "record", 3)
    head = trace.header
    check("header", head["program"] == "trace_writer" and head["lost"] == 0 and head["segment_count"] == 256, head)
    check("mode", path.stat().st_mode & 0o777 == 0o600, oct(path.stat().st_mode))
    check("events", ids(trace) == [1, 2, 3] and not trace.skipped, trace)
    check("fields", trace.events[1].fields == {"object": 1, "interface": 2, "name": "test", "major": 2, "minor": 1},
          trace.events)
    check("thread", trace.events[0].thread == head["pid"], trace)
    check("time", head["monotonic_ns"] <= trace.events[0].time_ns <= trace.events[2].time_ns, trace)


def test_wrap(path):
    trace = traced(path, "record", 50000, size=",1")
    seen = ids(trace)
    check("wrap: the last events are there, without a gap", seen == list(range(50001 - len(seen), 50001)),
          (len(seen), seen[:3], seen[-3:]))
    check("wrap: at least 15 of 16 segments are full", len(seen) > 15 * 65000 // 64, len(seen))


def test_threads(path):
    trace = traced(path, "threads", 8, size=",64M")
    for number in range(1, 9):
        own = [event.id for event in trace.events if event.fields["object"] == number]
        check(f"thread {number}: all of its events, in order", own == list(range(1, OF_A_THREAD + 1)), len(own))
        check("one thread", len({e.thread for e in trace.events if e.fields["object"] == number}) == 1)
    check("8 threads", len({event.thread for event in trace.events}) == 8)
    wrapped = traced(path, "threads", 8, size=",1")
    check("threads that wrap: whole segments", not wrapped.skipped and len(wrapped.events) > 5000, wrapped.header)


def test_short_threads(path):
    trace = traced(path, "one-by-one", 300, size=",1")
    check("short threads share segments", len(trace.events) == 900, len(trace.events))
    objects = {event.thread: event.fields["object"] for event in trace.events}
    check("each event has its thread", all(objects[e.thread] == e.fields["object"] for e in trace.events)
          or len(objects) < 300)  # the kernel may use a thread's number again


def test_too_many_threads(path):
    trace = traced(path, "together", 40, size=",1")
    check("lost events are counted", trace.header["lost"] == 24 * 3 and len(trace.events) == 16 * 3,
          (trace.header, len(trace.events)))


def test_kill(path):
    done = run(path, "kill", 5000)
    check("killed", done.returncode == -signal.SIGKILL, done)
    check("a killed process leaves its events", ids(trace_reader.read_trace(path)) == list(range(1, 5001)))


def test_fork(path):
    done = run(path, "fork")
    check("fork ends well", done.returncode == 0, done)
    check("a child does not write to its parent's file", ids(trace_reader.read_trace(path)) == list(range(1, 21)),
          ids(trace_reader.read_trace(path)))
    done = run(path.parent / "fork.%p", "fork")
    child = trace_reader.read_trace(path.parent / f"fork.{done.stdout.strip()}")
    check("a child has a file of its own", ids(child) == list(range(200, 210)), child)
    check("with its own ID", child.header["pid"] == int(done.stdout), child.header)
    parents = [p for p in path.parent.glob("fork.*") if p.name != f"fork.{done.stdout.strip()}"]
    check("the parent keeps its file", len(parents) == 1 and
          ids(trace_reader.read_trace(parents[0])) == list(range(1, 21)), parents)


def test_reading_meanwhile(path):
    env = dict(os.environ, ONDK_TRACE=f"{path},1")
    with subprocess.Popen([WRITER, "until-end"], env=env, stdin=subprocess.PIPE) as writer:
        rounds = highest = 0
        while rounds < 50 and writer.poll() is None:
            try:
                trace = trace_reader.read_trace(path)
            except (OSError, trace_reader.Malformed):
                continue  # the file does not exist yet
            if not trace.events:
                continue
            rounds += 1
            check("only whole segments are read", not trace.skipped and all(
                e.id == e.fields["interface"] and e.name == "adapter" for e in trace.events))
            check("the newest event grows", trace.events[-1].id >= highest)
            highest = trace.events[-1].id
        second = run(path, "record", 1)
        check("a file in use is refused", second.returncode == 3 and "another process records" in second.stdout, second)
        writer.stdin.close()
    check("the writer ends well", writer.returncode == 0)


class Ring:
    """What a process records into memory, read through its descriptor in /proc."""

    def __init__(self, process):
        self.fds = []
        for fd in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                self.fds += [fd] * ("/memfd:openndk-trace" in os.readlink(fd))
            except FileNotFoundError:
                pass  # closed meanwhile

    def read(self):
        return trace_reader.read_trace(self.fds[0])

    def seals(self):
        with open(self.fds[0], "rb") as file:
            return fcntl.fcntl(file, fcntl.F_GET_SEALS)


def test_ring(path):
    for value, mib in (("ring", 4), ("ring,1", 1), ("ring,2M", 2)):
        env = dict(os.environ, ONDK_TRACE=value)
        with subprocess.Popen([WRITER, "wait", "100"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              cwd=path.parent) as writer:
            writer.stdout.readline()
            ring = Ring(writer)
            trace = ring.read()
            check(f"{value}: size", trace.header["segment_count"] == mib * 16, trace.header)
            check(f"{value}: seals", ring.seals() & (fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL) ==
                  fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL, ring.seals())
            check(f"{value}: events", ids(trace) == list(range(1, 101)) and trace.header["pid"] == writer.pid,
                  trace.header)
            with open(ring.fds[0], "rb") as kept:
                writer.kill()
                writer.wait()
                check(f"{value}: a reader keeps what a killed process has recorded",
                      ids(trace_reader.read_trace(f"/proc/self/fd/{kept.fileno()}")) == ids(trace))
    check("no file", not list(path.parent.iterdir()), list(path.parent.iterdir()))
    check("./ring is a file", run("./ring", "record", 1, cwd=path.parent).returncode == 0 and
          ids(trace_reader.read_trace(path.parent / "ring")) == [1])
    check("a wrong size", run("ring", "record", 1, size=",0", cwd=path.parent).returncode == 0)


def test_old_files(path):
    traced(path, "record", 1)
    before = path.stat().st_ino
    with open(path, "rb") as kept:
        trace = traced(path, "record", 2)
        check("an old trace file is replaced", ids(trace) == [1, 2] and
              (path.stat().st_ino != before or os.fstat(kept.fileno()).st_nlink == 0))
    for name, make in (("text", lambda p: p.write_text("ONDK is not enough")),
                       ("empty", lambda p: p.write_bytes(b"")),
                       ("link", lambda p: p.symlink_to(path)),
                       ("dangling", lambda p: p.symlink_to(path.parent / "new")),
                       ("directory", lambda p: p.mkdir()),
                       ("pipe", os.mkfifo)):
        foreign = path.parent / name
        make(foreign)
        kind = os.lstat(foreign)
        done = run(foreign, "record", 1)
        check(f"{name}: refused", done.returncode == 3 and "nothing is traced, because" in done.stdout, done)
        check(f"{name}: unchanged", os.lstat(foreign)[:7] == kind[:7])
    check("no link is followed", not (path.parent / "new").exists() and ids(trace_reader.read_trace(path)) == [1, 2])
    hard = path.parent / "hard"
    hard.hardlink_to(path)
    check("a second name: refused", run(hard, "record", 1).returncode == 3)
    check("a missing directory", "No such file" in run(path.parent / "none" / "x", "record", 1).stdout)


def test_no_space(path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    done = run(path, "record", 1, preexec_fn=limit)
    check("a limited file size", done.returncode == 3 and "File too large" in done.stdout, done)
    check("no file is left", not path.exists())


def test_settings(path):
    for size in ("0", "2049", "3G", "x", "1K", "-1", "1M1", ""):
        done = run(path, "record", 1, size="," + size)
        check(f"size {size}: refused", done.returncode == 0 and not path.exists(), done)
    for value in ("", "%", "x%q", "x" * 5000):
        check(f"name {value[:5]}: refused", run(value, "record", 1, cwd=path.parent).returncode == 0)
    check("no file", not list(path.parent.iterdir()), list(path.parent.iterdir()))
    for options in (",payload=", ",payload=64001", ",payload=63K", ",payload=1M", ",payload=x", ",payload=1,payload=2",
                    ",1M,payload=-1", ",payload=,1M"):
        check(f"{options}: refused", run(path, "record", 1, size=options).returncode == 0 and not path.exists())
    for options in (",payload=64000", ",1M,payload=62K", ",payload=0,1M"):
        seen = traced(path, "record", 1, size=options)
        check(f"{options}: accepted", seen.header["segment_count"] == (16 if "1M" in options else 256), seen.header)
    check("size 2M", traced(path, "record", 1, size=",2M").header["segment_count"] == 32)
    path.unlink()
    run("a%%b,c", "record", 1, cwd=path.parent)
    check("a comma needs a size", not list(path.parent.iterdir()))
    run("a%%b,c,1M", "record", 1, cwd=path.parent)
    check("a name with % and a comma", ids(trace_reader.read_trace(path.parent / "a%b,c")) == [1])


def test_damaged(path):
    traced(path, "record", 5000)
    whole = path.read_bytes()
    head = trace_reader.read_trace(path).header
    for size in (0, 7, 100, 4096, head["header_size"] + 8, head["header_size"] + 70000):
        path.write_bytes(whole[:size])
        try:
            seen = ids(trace_reader.read_trace(path))
            check(f"cut after {size} bytes: a beginning is read", seen == list(range(1, len(seen) + 1)), seen[:5])
        except trace_reader.Malformed:
            check(f"cut after {size} bytes: no header", size < 224)
    broken = bytearray(whole)
    at = head["header_size"] + 16 + 4000
    broken[at:at + 2000] = b"\xff" * 2000
    path.write_bytes(broken)
    trace = trace_reader.read_trace(path)
    check("damaged segment: skipped from the damage on", trace.skipped == 1 and ids(trace)[:50] == list(range(1, 51)))


def test_document(_path):
    """The page has a row for each kind that the reader has read."""
    page = (SOURCE / "docs/trace-format.md").read_text()
    for kind in trace_reader.SIZES:
        check(f"docs/trace-format.md has {kind}", f"`{kind}`" in page)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory) / "trace")
sys.exit(1 if FAILED else 0)
