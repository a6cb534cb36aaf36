#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkstat and processes in other network namespaces, some of them hostile."""
import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time

from stat_kit import LIMIT, NDKPING, NDKSTAT, cells, check, finish, rows, stat, stat_everywhere

OTHER_USER = 65533
UP = "ip link set lo up && exec \"$@\""
USER_NAMESPACE = ["unshare", "--user", "--map-root-user", "--net", "sh", "-c", UP, "sh"]

TSAN = b"__tsan" in pathlib.Path(NDKSTAT).read_bytes()

# Binds any number of names in its network namespace and never answers.
SQUATTER = """
import os, signal, socket, sys
sockets = []
for i in range(int(sys.argv[1])):
    sockets.append(socket.socket(socket.AF_UNIX))
    sockets[-1].bind(f"\\0openndk.stat.{os.getpid()}.{i:x}")
    sockets[-1].listen(1)
print("ready", flush=True)
signal.pause()
"""


class Inside:
    """A process that runs somewhere else during the with-block, after its first line of output."""

    def __init__(self, *command, user=None):
        who = {"user": user, "group": user} if user is not None else {}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **who)

    def __enter__(self):
        self.line = self.process.stdout.readline()
        return self if self.line else None

    def __exit__(self, *_):
        self.process.kill()
        self.error = self.process.communicate()[1]

    @property
    def pid(self):
        return self.process.pid

    @property
    def netns(self):
        return os.stat(f"/proc/{self.pid}/ns/net").st_ino


def server(port):
    return [NDKPING, "-S", "-ServerAddr", f"127.0.0.1:{port}"]


def isolate():
    """
    Starts the test again in a PID namespace, if possible: ndkstat then finds none of the processes of other tests.
    """
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if "ISOLATED" not in os.environ and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        os.environ["ISOLATED"] = "1"
        os.execvp(command[0], [*command, sys.executable, *sys.argv])


def of_port(out, port):
    """The rows of a process of this test."""
    return [r for r in cells(out) if r["Local Address"] == f"127.0.0.1:{port}"]


def own_user():
    """A namespace of this user's, and one inside of it."""
    with Inside(*USER_NAMESPACE, *server(21641)) as one:
        if not one:
            print("  skipped: no user namespace can be made here")
            return False
        code, out, err = stat_everywhere("--pid", str(one.pid))
        check("a process in another network namespace", code == 0 and not err and
              [(r["PID"], r["Process"], r["Netns"]) for r in of_port(out, 21641)] ==
              [(str(one.pid), "ndkping", str(one.netns))], (code, out, err))
        code, out, err = stat("--address", ":21641")
        check("not with --here", code == 0 and not err and not rows(out), (code, out, err))
        code, out, err = stat_everywhere("--json", "--pid", str(one.pid))
        p = json.loads(out)["processes"][0]
        check("JSON names the namespace", (p["netns"], p["netns_other"], p["netns_name"], p["foreign"], p["program"]) ==
              (one.netns, True, "", False, "ndkping"), p)
        for view in ("--counters", "--objects", "--connections"):
            code, out, err = stat_everywhere(view, "--pid", str(one.pid))
            check(f"{view} of it", code == 0 and (str(one.netns) in out or view == "--connections"), (code, out, err))
    with Inside(*USER_NAMESPACE, *USER_NAMESPACE, *server(21642)) as nested:
        code, out, err = stat_everywhere("--address", ":21642")
        check("a namespace inside of another one", code == 0 and nested and
              [r["Netns"] for r in of_port(out, 21642)] == [str(nested.netns)], (code, out, err))
    return True


def same_names():
    """Two processes with the same address in two namespaces, and one in this namespace."""
    with Inside(*USER_NAMESPACE, *server(21643)) as a, Inside(*USER_NAMESPACE, *server(21643)) as b, \
            Inside(*server(21643)) as here:
        code, out, err = stat_everywhere("--address", ":21643")
        found = of_port(out, 21643)
        check("three namespaces", code == 0 and {(r["PID"], r["Netns"]) for r in found} ==
              {(str(x.pid), str(x.netns)) for x in (a, b, here)} and found[0]["PID"] == str(here.pid), (code, out, err))


def hostile():
    """Names that never answer do not hide others, and the run ends."""
    with Inside(*USER_NAMESPACE, sys.executable, "-c", SQUATTER, "40") as silent, \
            Inside(*USER_NAMESPACE, *server(21644)):
        started = time.monotonic()
        code, out, err = stat_everywhere("--address", ":21644")
        check("forty silent names elsewhere", code == 1 and silent and len(of_port(out, 21644)) == 1 and
              f"process {silent.pid}: no answer in time" in err and time.monotonic() - started < 40 * 5,
              (code, out, err)) # ndkstat waits for all of them at once
    with Inside(*USER_NAMESPACE, sys.executable, "-c", SQUATTER, "200") as many, \
            Inside(*USER_NAMESPACE, *server(21645)):
        code, out, err = stat_everywhere("--address", ":21645")
        check("too many names", code == 1 and len(of_port(out, 21645)) == 1 and
              f"network namespace {many.netns}" in err and "there are too many" in err, (code, out, err))


def run_as(user, *options):
    p = subprocess.run([NDKSTAT, *options], capture_output=True, text=True, timeout=LIMIT, user=user, group=user)
    return p.returncode, p.stdout, p.stderr


def other_users():
    """Without rights: a user's own namespaces are entered, others not. Root enters all."""
    if os.geteuid() != 0:
        print("  skipped: only root can become somebody else")
        return
    with Inside(*USER_NAMESPACE, *server(21646), user=OTHER_USER) as his:
        if not his:
            print("  skipped: another user can make no user namespace here")
            return
        if TSAN:
            print("  skipped: a user and his own namespace: with ThreadSanitizer's thread ndkstat's child has two "
                  "threads, and may not enter a user namespace")
        else:
            code, out, err = run_as(OTHER_USER, "--address", ":21646")
            check("a user and his own namespace", code == 0 and not err and
                  [(r["PID"], r["Netns"]) for r in of_port(out, 21646)] == [(str(his.pid), str(his.netns))],
                  (code, out, err))
        code, out, err = run_as(OTHER_USER - 1, "--address", ":21646")
        check("a third user does not see it", code == 0 and not of_port(out, 21646), (code, out, err))
        code, out, err = stat_everywhere("--address", ":21646")
        check("root sees it, and whose it is", [(r["PID"], r["Netns"]) for r in of_port(out, 21646)] ==
              [(f"{his.pid} (uid {OTHER_USER})", str(his.netns))], (code, out, err))
    with Inside("unshare", "--user", "--map-root-user", *server(21650), user=OTHER_USER) as his:
        code, out, err = stat("--address", ":21650")
        check("root sees a process in another user namespace alone", code == 0 and his and
              [r["PID"] for r in of_port(out, 21650)] == [f"{his.pid} (uid {OTHER_USER})"], (code, out, err))
    # The namespace belongs to root's user namespace, so the user may not enter it, although he runs there.
    command = ["unshare", "--net", "sh", "-c", "ip link set lo up && exec setpriv --reuid "
               f"{OTHER_USER} --regid {OTHER_USER} --clear-groups \"$@\"", "sh", *server(21647)]
    with Inside(*command) as strange:
        code, out, err = run_as(OTHER_USER, "--address", ":21647")
        check("a namespace that cannot be entered is named", code == 1 and strange and not of_port(out, 21647) and
              f"network namespace {strange.netns} (process {strange.pid} of user {OTHER_USER}): cannot be entered: "
              "Operation not permitted" in err, (code, out, err))
        code, out, err = stat_everywhere("--address", ":21647")
        check("root enters it", len(of_port(out, 21647)) == 1, (code, out, err))


def unmapped_user():
    """ndkstat in a user namespace without users: all users look like its own there, and none is read."""
    if subprocess.run(["unshare", "--user", "true"], capture_output=True).returncode:
        print("  skipped: no user namespace can be created")
        return
    with Inside(*server(21651)) as here:
        p = subprocess.run(["unshare", "--user", NDKSTAT, "--pid", str(here.pid)], capture_output=True, text=True,
                           timeout=LIMIT)
        check("no process of an unmapped user is read", p.returncode == 1 and not of_port(p.stdout, 21651) and
              f"process {here.pid} is of user 65534: only that user and root may read it" in p.stderr, p)


def named():
    """The name that `ip netns` gave a namespace is shown."""
    if os.geteuid() != 0 or not pathlib.Path("/run/netns").is_dir() and subprocess.run(
            ["unshare", "--mount", "true"], capture_output=True).returncode:
        print("  skipped: no named network namespace can be made")
        return
    script = ("mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip netns add ndkblue && "
              "ip netns exec ndkblue ip link set lo up && "
              "ip netns exec ndkblue \"$1\" -S -ServerAddr 127.0.0.1:21648 >/dev/null & "
              "for i in $(seq 1000); do sleep 0.1; out=$(\"$2\" -A :21648 2>&1); "
              "case $out in *ndkblue*) echo \"$out\"; break;; esac; done; "
              "kill $(ip netns pids ndkblue); ip netns delete ndkblue")
    p = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", NDKPING, NDKSTAT], capture_output=True,
                       text=True,
                       timeout=LIMIT)
    if "Operation not permitted" in p.stderr:
        print("  skipped: no named network namespace can be made")
        return
    check("a namespace with a name", [r["Netns"] for r in of_port(p.stdout, 21648)] == ["ndkblue"],
          (p.stdout, p.stderr))


def ended():
    """A namespace whose process ends while ndkstat runs is no error."""
    processes = [Inside(*USER_NAMESPACE, *server(21649)) for _ in range(6)]
    entered = [p.__enter__() for p in processes]
    readers = [subprocess.Popen([NDKSTAT, "-A", ":21649"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for _ in range(6)]
    for p in entered:
        os.kill(p.pid, signal.SIGKILL)
    for p in readers:
        out, err = p.communicate(timeout=LIMIT)
        check("processes that end", p.returncode == 0 and not err, (p.returncode, out, err))
    for p in processes:
        p.__exit__()


def resized():
    """Signals during a reading, as a terminal sends them while its window is resized, are no error."""
    main, side = pty.openpty()
    with Inside(*USER_NAMESPACE, *server(21651)) as there:
        p = subprocess.Popen([NDKSTAT, "--watch=0.01", "--rounds=50"], stdin=side, stdout=side, stderr=subprocess.PIPE,
                             text=True, env={**os.environ, "TERM": "xterm"})
        seen, deadline = b"", time.monotonic() + LIMIT
        while p.poll() is None and time.monotonic() < deadline:
            if select.select([main], [], [], 0.0002)[0]:
                seen += os.read(main, 65536)
            if b"\x1b[J" in seen: # the first reading has been shown
                p.send_signal(signal.SIGWINCH)
        p.kill()
        err = p.communicate()[1]
        check("signals during readings", p.returncode == 0 and there and b"cannot be entered" not in seen and not err,
              (p.returncode, seen[-2000:], err))
    os.close(main)
    os.close(side)


def main():
    isolate()
    os.environ.pop("ONDK_STAT", None)
    if own_user():
        same_names()
        hostile()
        other_users()
        unmapped_user()
        named()
        ended()
        resized()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
