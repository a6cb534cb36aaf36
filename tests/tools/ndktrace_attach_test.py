#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndktrace attach: what it shows and saves of running processes; processes that refuse, end, stop or are hostile.

usage: ndktrace_attach_test.py NDKTRACE STAT_CONSUMER NDKPING [NDKRUN SAMPLES]
"""
import array
import ctypes
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

NDKTRACE, CONSUMER, NDKPING = (os.path.abspath(path) for path in sys.argv[1:4])
NDKRUN, SAMPLES = (sys.argv[4], pathlib.Path(sys.argv[5])) if len(sys.argv) > 5 else (None, None)
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}
NOBODY = 65534
CLONE_NEWUSER, NO_NAMESPACE = 0x10000000, 9
LATE = "recording began at the attach; NDK calls are not recorded on adapters that were open"
LIMIT = 200
failed = []


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def attach(*arguments, **options):
    done = subprocess.run([NDKTRACE, "attach", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=LIMIT, check=False, env=ENVIRONMENT, **options)
    return done.returncode, done.stdout, done.stderr


def shown(*arguments):
    """The events as JSON objects."""
    code, out, err = attach("--once", "--json", *arguments)
    check(f"attach {arguments}", code == 0, (code, err))
    return [json.loads(line) for line in out.splitlines()]


def names(events):
    return {event["event"] for event in events}


class Consumer:
    """
    A process with a connection, from when it stands still until the end of the with-block. It is a child of `process`.
    """

    def __init__(self, trace=None, **options):
        env = dict(ENVIRONMENT, **({"ONDK_TRACE": str(trace)} if trace else {}), **options.pop("more", {}))
        self.process = subprocess.Popen([CONSUMER, "--filter", "stand_still", "--family", "4"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=env, **options)

    def __enter__(self):
        line = self.process.stdout.readline()
        self.pid = json.loads(line)["pid"] if line else 0
        check("the consumer stands still", self.pid > 0, line)
        return self

    def go_on(self):
        """Exchanges data, or disconnects."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def end(self):
        return self.process.communicate("\n\n\n", timeout=LIMIT)

    def __exit__(self, *_):
        try:
            self.end()
        except (ValueError, BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def network_differs(pid):
    return os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")


def enter_network(pid):
    """The beginning of a command that runs in the network of the process."""
    return ["nsenter", "-t", str(pid), "-n"] if network_differs(pid) else []


def descriptors_after_readers(pid):
    """
    Counts the process's descriptors when its server has closed those of all readers that have ended. A reader has its
    answer before the server closes the reader's connection, and one thread serves the readers one after the other. So
    this function is one more reader, and waits until its own connection is closed.
    """
    read = ("import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(b'\\0' + sys.argv[1].encode());\n"
            "while s.recv(65536): pass")
    subprocess.run([*enter_network(pid), sys.executable, "-c", read, f"openndk.stat.{pid}"], timeout=LIMIT, check=True)
    return len(os.listdir(f"/proc/{pid}/fd"))


class Follower:
    """ndktrace attach that follows."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([NDKTRACE, "attach", *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.text = ""

    def read_until(self, words):
        for line in self.process.stdout:
            self.text += line
            if words in line:
                return True
        check(f"says {words}", False, self.text + self.process.stderr.read())
        return False

    def end(self):
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, self.text + out, err


# ---- what is shown ----


def test_late(_path):
    with Consumer() as consumer:
        before = len(os.listdir(f"/proc/{consumer.pid}/fd"))
        code, out, err = attach("--once", consumer.pid)
        check("late: says so", code == 0 and not err and out.startswith(f"# process {consumer.pid}: {LATE}"),
              (out, err))
        check("late: adapters", " adapter " in out, out)
        check("late: data is exchanged", consumer.go_on() == "exchanged")
        events = shown(consumer.pid)
        check("late: connections and frames", {"ongoing", "untagged"} <= names(events), events)
        check("late: no calls on adapters that were open", not any(name.startswith("Ndk") for name in names(events)),
              names(events))
        ongoing = [event for event in events if event["event"] == "ongoing"]
        check("late: both ends", {e["fields"]["role"] for e in ongoing} == {"initiated", "accepted"} and
              ongoing[0]["fields"]["local"] == ongoing[1]["fields"]["remote"], ongoing)
        code, out, _ = attach("--once", consumer.pid)
        check("late: a line with the addresses", len(re.findall(r"^-- connection \d+: [\d.]+:\d+ -> ", out, re.M)) == 2,
              out)
        after = descriptors_after_readers(consumer.pid)
        check("late: one ring, and no other descriptor", after == before + 1, (before, after))
        check("late: it disconnects", consumer.go_on() == "disconnected")
        check("late: outcomes", "outcome" in names(shown(consumer.pid)))
        consumer.end()
        check("late: the consumer ends well", consumer.process.returncode == 0)


def test_ring(_path):
    with Consumer("ring") as consumer:
        code, out, err = attach("--once", consumer.pid)
        check("ring: no note", code == 0 and LATE not in out and not err, out + err)
        events = shown(consumer.pid)
        check("ring: calls", {"connection", "state", "NdkConnect", "NdkAccept"} <= names(events), names(events))
        check("filters", names(shown("-e", "outcome", consumer.pid)) == {"outcome"})
        check("--last", shown("--last", 3, consumer.pid) == shown(consumer.pid)[-3:])
        check("-c", {e["connection"] for e in shown("-c", 1, consumer.pid)} == {1})
        code, out, err = attach("--once", "--json", consumer.pid)
        check("notes are not in JSON", code == 0 and all(line.startswith("{") for line in out.splitlines()))


def test_file(path):
    file = path / "trace"
    with Consumer(file) as consumer:
        events = shown(consumer.pid)
        shown_file = subprocess.run([NDKTRACE, "show", "--json", file], stdout=subprocess.PIPE, text=True, check=True)
        check("a process that records into a file", events ==
              [json.loads(line) for line in shown_file.stdout.splitlines()] and len(events) > 20, len(events))


def test_two(_path):
    with Consumer("ring") as one, Consumer("ring") as other:
        events = shown(one.pid, other.pid)
        check("two processes", {e["process"] for e in events} == {one.pid, other.pid}, events[:3])
        check("merged by time", [e["seconds"] for e in events] == sorted(e["seconds"] for e in events))


# ---- follow ----


def test_follow_to_the_end(_path):
    with Consumer("ring") as consumer:
        follower = Follower(consumer.pid)
        follower.read_until("outcome=established")
        consumer.end()
        code, out, err = follower.end()
        check("follow: ends with the process", code == 0 and not err, (code, err))
        check("follow: the last events", re.search(r"adapter_close .*\n(.*\n)*# process \d+ has ended\n$", out), out)


def test_follow_killed(_path):
    with Consumer("ring") as consumer:
        follower = Follower("--last", 1, consumer.pid)
        follower.read_until("conn  event")
        check("killed: data is exchanged", consumer.go_on() == "exchanged")
        os.kill(consumer.pid, signal.SIGKILL)
        code, out, err = follower.end()
        check("killed: what the process has recorded is shown", code == 0 and "untagged" in out and
              out.endswith(f"# process {consumer.pid} has ended\n"), (code, out, err))


def test_interrupt(path):
    with Consumer("ring") as consumer:
        follower = Follower(consumer.pid)
        follower.read_until("outcome=established")
        follower.process.send_signal(signal.SIGINT)
        check("Ctrl-C", follower.end()[0] == 130)
        file = path / "saved"
        follower = Follower("-o", file, consumer.pid)
        check("save: says what it waits for", "Ctrl-C, or the end of process" in follower.process.stderr.readline())
        consumer.go_on()
        follower.process.send_signal(signal.SIGINT)
        code, _, err = follower.end()
        err = re.sub(r"^ndktrace: interrupted, waiting; .*\n", "", err, flags=re.M) # comes after two seconds
        check("save: Ctrl-C saves", code == 0 and err == f"ndktrace: ndktrace show {file}\n", (code, err))
        check("save: until Ctrl-C", "untagged" in subprocess.run([NDKTRACE, "show", file], stdout=subprocess.PIPE,
                                                                 text=True, check=True).stdout)


def test_save(path):
    file = path / "saved"
    with Consumer("ring") as consumer:
        code, out, err = attach("--once", "--output", file, consumer.pid)
        check("save", code == 0 and not out and f"ndktrace show {file}" in err, (code, err))
        done = subprocess.run([NDKTRACE, "show", "--json", file], stdout=subprocess.PIPE, text=True, check=True)
        check("the saved file has the same events", [json.loads(line) for line in done.stdout.splitlines()] ==
              shown(consumer.pid))
        check("the file is private", file.stat().st_mode & 0o777 == 0o600)
        before = file.read_bytes()
        code, _, err = attach("--once", "-o", file, consumer.pid)
        check("no file is overwritten", code == 1 and "exists" in err and file.read_bytes() == before, (code, err))
        check("a full disk", attach("--once", "-o", "/dev/full", consumer.pid)[0] == 1)
        check("two processes need no output", attach("-o", path / "x", consumer.pid, consumer.pid)[0] == 2)


# ---- refusals ----


def expect_refused(what, words, *arguments, **options):
    code, out, err = attach("--once", *arguments, **options)
    check(f"{what}: refused", code == 1 and not out, (code, out))
    check(f"{what}: says {words}", re.search(words, err), err)


def test_processes_without_trace(_path):
    expect_refused("no process", "there is no such process", 4194304)
    expect_refused("no adapter", "has no open adapter", os.getpid())
    check("no number", attach("x")[0] == 2 and attach()[0] == 2 and attach("0")[0] == 2)
    with Consumer("ring", more={"ONDK_STAT": "0"}) as consumer:
        expect_refused("ONDK_STAT=0", "has no open adapter", consumer.pid)
    with Consumer("ring") as consumer:
        os.kill(consumer.pid, signal.SIGSTOP)
        while "T (stopped)" not in pathlib.Path(f"/proc/{consumer.pid}/status").read_text():
            pass
        expect_refused("a stopped process", "it is stopped", consumer.pid)
        os.kill(consumer.pid, signal.SIGCONT)
    expect_refused("an ended process", "there is no such process|has no open adapter", consumer.pid)


def as_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def test_other_users(path):
    if os.geteuid() != 0:
        print("other users: skipped, this needs root")
        return
    with Consumer("ring") as consumer:
        for program in (NDKTRACE, CONSUMER): # below directories that others may not enter, perhaps
            shutil.copy(program, path)
            (path / os.path.basename(program)).chmod(0o755)
        path.chmod(0o755)
        program = path / os.path.basename(NDKTRACE)
        done = subprocess.run([program, "attach", "--once", str(consumer.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False, env=ENVIRONMENT,
                              preexec_fn=as_nobody)
        check("another user is refused by the tool", done.returncode == 1 and not done.stdout and
              "it is of user 0: only that user and root may attach" in done.stderr, done)
        ask = ("import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(b'\\0' + sys.argv[1].encode()); "
               "m, f, _, _ = socket.recv_fds(s, 100, 4); print(len(m), len(f))")
        done = subprocess.run([*enter_network(consumer.pid), "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                               "--clear-groups", sys.executable, "-c", ask, f"openndk.trace.{consumer.pid}"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False)
        check("another user is refused by the process", done.stdout == "0 0\n", done)
    root_attaches(path)


def without_users():
    """Enters a user namespace that has no users: all are the overflow user there."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
        os._exit(NO_NAMESPACE)


def test_unmapped_users(_path):
    """A process that has no user of its own answers nobody, because all other users look like its own."""
    if subprocess.run(["true"], preexec_fn=without_users, check=False).returncode:
        print("unmapped users: skipped, no user namespace can be created")
        return
    with Consumer("ring", preexec_fn=without_users) as consumer:
        expect_refused("a reader whose user is not mapped", "it has ended the connection without an answer",
                       consumer.pid)
    with Consumer("ring") as consumer:
        done = subprocess.run([NDKTRACE, "attach", "--once", str(consumer.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False, env=ENVIRONMENT,
                              preexec_fn=without_users)
        check("a tool whose user is not mapped takes no other for its own", done.returncode == 1 and not done.stdout and
              "or of one that this user namespace lacks: only that user and root may attach" in done.stderr, done)


def root_attaches(path):
    """Root attaches to another user's process: a ring is shown, a file is not."""
    global CONSUMER
    kept, CONSUMER = CONSUMER, str(path / os.path.basename(CONSUMER))
    made = path / "nobody"
    made.mkdir()
    os.chown(made, NOBODY, NOBODY)
    try:
        with Consumer("ring", preexec_fn=as_nobody, cwd=made) as consumer:
            check("root reads another user's ring", "NdkConnect" in names(shown(consumer.pid)))
        with Consumer(made / "trace", preexec_fn=as_nobody, cwd=made) as consumer:
            expect_refused("another user's file", "records into a file of its user", consumer.pid)
    finally:
        CONSUMER = kept


# ---- hostile and crowded processes ----


class Hostile:
    """This process as one that passes its trace: `answer` is called with each connection."""

    def __init__(self, answer, name=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(b"\0" + (name or f"openndk.trace.{os.getpid()}").encode())
        self.socket.listen()
        self.answer = answer
        self.kept = []

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.kept.append(connection)
            try:
                self.answer(connection)
            except OSError:
                pass  # the tool has closed

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join(LIMIT)
        for connection in [*self.kept, self.socket]:
            connection.close()


GOOD = b'{"format":1,"pid":1,"late":false,"problem":null}\n'


def passes(*fds, text=GOOD):
    def answer(connection):
        connection.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        connection.close()
    return answer


def endless(connection):
    while True:
        connection.send(b"x" * 65536)


def test_hostile(path):
    with Consumer("ring") as consumer:
        attach("--once", "-o", path / "good", consumer.pid)
    good = (path / "good").read_bytes()
    (path / "text").write_text("no trace")
    (path / "half").write_bytes(good[:len(good) // 2 + 77])
    (path / "noise").write_bytes(good[:4096] + os.urandom(1 << 20))
    with open(path / "huge", "wb") as huge:
        huge.write(good)
        huge.truncate(1 << 42)
    read_end, write_end = os.pipe()
    files = {name: os.open(path / name, os.O_RDONLY) for name in ("good", "text", "half", "noise", "huge")}
    directory = os.open(path, os.O_RDONLY)
    refused = {
        "no answer": (lambda _: None, "not answered within fifteen seconds"),
        "an end": (lambda connection: connection.close(), "ended the connection without an answer"),
        "noise": (passes(files["good"], text=b"\xff\x00{[\n"), "cannot be understood"),
        "an endless answer": (endless, "cannot be understood"),
        "no descriptor": (passes(), "cannot be understood"),
        "a list": (passes(files["good"], text=b"[]\n"), "cannot be understood"),
        "a problem": (passes(text=b'{"problem":"no \\u001b[31m memory"}\n'), r"no \\x1b\[31m memory"),
        "a pipe": (passes(read_end), "no file"),
        "a directory": (passes(directory), "no file"),
        "a text": (passes(files["text"]), "not a trace file"),
        "a huge file": (passes(files["huge"]), "too large"),
    }
    for what, (answer, words) in refused.items():
        with Hostile(answer):
            expect_refused(what, words, os.getpid())
    shown_anyway = {
        "many descriptors": passes(files["good"], *[read_end] * 100),
        "half a file": passes(files["half"]),
        "noise behind a header": passes(files["noise"]),
    }
    for what, answer in shown_anyway.items():
        with Hostile(answer):
            code, out, err = attach("--once", os.getpid())
            check(f"{what}: is read as far as it goes", code == 0 and out.startswith("# "), (code, err, out[:200]))
    for fd in (*files.values(), directory, read_end, write_end):
        os.close(fd)


def test_foreign_name(_path):
    """Another process has bound the name before."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(read_end, 1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execve(NDKPING, [NDKPING, "-S", "-ServerAddr", "127.0.0.1:50290"], dict(ENVIRONMENT, ONDK_TRACE="ring"))
    with Hostile(passes(text=b'{"problem":"a forgery"}\n'), f"openndk.trace.{child}"):
        os.write(write_end, b"x")
        events = set()
        while "listening" not in events and not os.waitpid(child, os.WNOHANG)[0]:
            code, out, err = attach("--once", "--json", child)
            check("a foreign name: its answer is not used", "forgery" not in err, err)
            events = names(json.loads(line) for line in out.splitlines())
        check("a foreign name does not hide the process", "listening" in events, events)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(read_end)
    os.close(write_end)


def test_crowd(_path):
    with Consumer() as consumer:
        before = len(os.listdir(f"/proc/{consumer.pid}/fd"))
        crowd = [subprocess.Popen([NDKTRACE, "attach", "--once", str(consumer.pid)], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, env=ENVIRONMENT) for _ in range(40)]
        ends = [(one.communicate(timeout=LIMIT)[1], one.returncode) for one in crowd]
        check("forty at once", all(code == 0 for _, code in ends), ends)
        after = descriptors_after_readers(consumer.pid)
        check("none costs the process a descriptor", after == before + 1, (before, after))
        check("it goes on", consumer.go_on() == "exchanged")


def test_ndkrun(_path):
    if not NDKRUN or not (SAMPLES / "echo.so").exists():
        print("ndkrun: skipped, there are no samples")
        return
    with subprocess.Popen([NDKRUN, "--net", "12=192.168.1.1/24", SAMPLES / "echo.so"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=dict(ENVIRONMENT, ONDK_TRACE="ring")) as process:
        text = process.stdout.readline()
        check("ndkrun: the driver is loaded", "is loaded" in text, text)
        check("ndkrun --net: its driver's calls", {"NdkListen", "listening", "DriverEntry"} <=
              names(shown(process.pid)), text)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT)


for name, test in list(globals().items()):
    if name.startswith("test_"):
        with tempfile.TemporaryDirectory() as directory:
            test(pathlib.Path(directory))
print(f"{len(failed)} failed")
sys.exit(1 if failed else 0)
