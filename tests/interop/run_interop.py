#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs our programs against Linux siw in a QEMU guest, their scenarios of scenarios.py in one boot.

    run_interop.py [--ndkping PATH] [--ndkperf PATH] [--ndktrace PATH] [--only NAME]... [--cache DIR] [--verbose]
    run_interop.py --list

With --ndktrace, our programs are traced. tshark must find the same frames in the trace's capture as on the wire.

Exit status 0 when all passed, 1 when one failed, 77 when there is no guest to be had here.

The guest asks for work: it connects to a control port of ours through slirp and runs what we send there in a shell,
whose output comes back on that connection. A guest that does not answer any more is killed and another one booted.
"""
import argparse
import ctypes
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from scenarios import SCENARIOS

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "capture"))
PROGRAMS = sorted({s.program for s in SCENARIOS})
BOOT_LIMIT, JOB_LIMIT, HOST_LIMIT = 300, 125, 120     # seconds; they only end what hangs
LOOPBACK_MTU = 65536


class NoAnswer(Exception):
    """The guest has ended or does not respond."""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def host_listens(port):
    """Checks without a connect, because the server accepts only one connection."""
    local = re.compile(rf"^\s*\d+: [0-9A-F]+:{port:04X} 0+:0000 0A", re.M)
    found = False
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if os.path.exists(table):
            with open(table, encoding="ascii") as f:
                found = found or bool(local.search(f.read()))
    return found


class Job:
    """Runs a shell script in the guest."""

    def __init__(self, sock, script, limit=JOB_LIMIT):
        sock.settimeout(limit)
        self.sock, self.output = sock, ""
        self.lines = sock.makefile("r", encoding="utf-8", errors="replace")
        self.send(script)

    def send(self, script):
        self.sock.sendall(script.encode())

    def read_until(self, mark):
        """The rest of the line that starts with mark."""
        try:
            for line in self.lines:
                if line.startswith(mark):
                    return line[len(mark):].strip()
                self.output += line
        except OSError as e:
            raise NoAnswer(f"no {mark} from the guest: {e}") from e
        raise NoAnswer(f"the guest closed before {mark}")

    def close(self):
        self.lines.close()
        self.sock.close()


class Guest:
    """A booted guest; options are those of run.sh, environment is added for it. The guest reaches `address` as its
    10.0.2.2."""

    def __init__(self, cache, forwards, options=(), environment=None, address="127.0.0.1"):
        self.control = socket.create_server((address, 0))
        self.control.settimeout(BOOT_LIMIT)
        loop = f"while nc 10.0.2.2 {self.control.getsockname()[1]} -e sh 2>/dev/null; do :; done"
        args = [os.path.join(HERE, "run.sh"), "-t", "3000", "-c", cache, *options]
        for host, guest in forwards:
            args += ["-p", f"{host}:{guest}"]
        self.process = subprocess.Popen(args + [loop], stdin=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})})

    def job(self, script, limit=JOB_LIMIT):
        try:
            return Job(self.control.accept()[0], script, limit)
        except OSError as e:
            raise NoAnswer(f"the guest does not ask for work: {e}") from e

    def close(self, number=signal.SIGTERM):
        """Ends the guest: QEMU gets a SIGTERM, or with SIGUSR1 a SIGKILL."""
        self.control.close()
        self.process.send_signal(number)
        self.process.wait()


def start_script(scenario, port):
    """Starts the guest's command in the background; prints @listening when a server listens."""
    limit = HOST_LIMIT + 2 * scenario.times
    listening = f"wait-listen {port} 10 && echo @listening\n" if scenario.listens == "guest" else ""
    return f"timeout -s KILL {limit} {scenario.guest.format(port=port)} </dev/null 2>&1 & s=$!\n{listening}"


END_SCRIPT = "wait $s; rc=$?; echo; echo @exit $rc; exit\n"


def host_command(program, scenario, port):
    if scenario.program == "ndkperf":
        role = "client" if scenario.listens == "guest" else "server"
        return program + ["perftest", role, "--address", f"127.0.0.1:{port}"] + shlex.split(scenario.host)
    if scenario.program == "ndk_exchange":
        role = ["client"] if scenario.listens == "guest" else ["server"]
        if scenario.listens == "guest":
            role.append("127.0.0.1")
        return program + role + [str(port)] + shlex.split(scenario.host)
    interface = str(socket.if_nametoindex("lo"))
    if scenario.listens == "guest":
        role = ["-C", "-ServerAddr", f"127.0.0.1:{port}", "-ClientAddr", "127.0.0.1", "-ClientIf", interface,
                "-TestType", "rping", "-V"]
    else:
        role = ["-S", "-ServerAddr", f"127.0.0.1:{port}", "-ServerIf", interface, "-TestType", "rping",
                "-W", str(HOST_LIMIT)]
    return program + role + shlex.split(scenario.host)


def start_host(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True)


def end_host(process):
    """Returns exit status and output; the status is "timeout" if it was killed."""
    try:
        output, _ = process.communicate(timeout=HOST_LIMIT + 2)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        process.kill()
        return "timeout", process.communicate()[0]


def run_guest_listens(guest, scenario, command, port):
    job = guest.job(start_script(scenario, port))
    problems = []
    try:
        job.read_until("@listening")
        for _ in range(scenario.times):
            status, output = end_host(start_host(command))
            problems += judge("host", scenario.host_exit, scenario.host_says, status, output)
            if problems:
                break
        if scenario.wrecks_guest:
            return problems
        if problems or scenario.guest_exit is None:     # would wait for a client to come
            job.send("kill -KILL $s\n")
        job.send(END_SCRIPT)
        status = int(job.read_until("@exit"))
        return problems + judge("guest", scenario.guest_exit, scenario.guest_says, status, job.output)
    finally:
        job.close()


def run_host_listens(guest, scenario, command, port):
    job = guest.job("")     # Waits for the boot, which may take longer than the host waits for a connection.
    host = start_host(command)
    try:
        deadline = time.monotonic() + HOST_LIMIT
        while not host_listens(port) and host.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if host.poll() is not None:
            status, output = end_host(host)
            return ["expected the host to listen"] + judge("host", scenario.host_exit, scenario.host_says, status,
                                                           output)
        job.send(start_script(scenario, port) + END_SCRIPT)
        status = int(job.read_until("@exit"))
        problems = judge("guest", scenario.guest_exit, scenario.guest_says, status, job.output)
        status, output = end_host(host)
        return problems + judge("host", scenario.host_exit, scenario.host_says, status, output)
    finally:
        job.close()
        if host.poll() is None:
            host.kill()
            host.communicate()


def judge(side, want_exit, says, status, output):
    """Returns the differences from the expected result as a list of sentences."""
    good = want_exit is None or (status not in (0, "timeout") if want_exit == "failure" else status == want_exit)
    problems = [] if good else [f"expected {side} exit {want_exit}, saw {status}"]
    problems += [f"expected {side} to say {pattern!r}" for pattern in says if not re.search(pattern, output)]
    if problems:
        problems.append(f"saw {side} output {output[-1500:]!r}")
    return problems


def kernel_says(guest):
    """Returns the kernel messages of the guest about siw since the last call."""
    job = guest.job("dmesg -c | grep -w siw:; echo @end; exit\n")
    try:
        job.read_until("@end")
    finally:
        job.close()
    return job.output


class Traced:
    """Traces host programs, and captures the wire meanwhile."""

    def __init__(self, ndktrace, directory):
        from run_capture import Recorder
        self.ndktrace, self.directory = ndktrace, directory
        self.wire = os.path.join(directory, "wire.pcap")
        self.recorder = Recorder(self.wire)

    def command(self, command):
        trace = os.path.join(self.directory, "trace.%p")
        return [*self.ndktrace, "run", "--size", "256", "--payload", "64000", "-o", trace, "--", *command]

    def differences(self):
        """Stops both. Returns the number of equal frames, and sentences about what differs."""
        from compare_trace import differences
        self.recorder.stop()
        capture = os.path.join(self.directory, "trace.pcapng")
        traces = [os.path.join(self.directory, name) for name in os.listdir(self.directory)
                  if name.startswith("trace.") and name != "trace.pcapng"]
        done = subprocess.run([*self.ndktrace, "pcap", "-o", capture, *traces], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            return 0, [f"ndktrace pcap: {done.stdout}"]
        return differences(self.wire, capture)


class Runner:
    def __init__(self, opt, cache):
        self.opt, self.cache, self.guest = opt, cache, None

    def run(self, scenario, host_port, guest_port, forwards):
        """Returns sentences about what went wrong, and one about what is good."""
        if not self.opt.ndktrace:
            return self.run_scenario(scenario, host_port, guest_port, forwards, lambda command: command), ""
        with tempfile.TemporaryDirectory() as directory:
            traced = Traced(self.opt.ndktrace, directory)
            problems = self.run_scenario(scenario, host_port, guest_port, forwards, traced.command)
            equal, found = traced.differences()
            return problems + found + ([] if equal or found else ["no frame was traced"]), f", {equal} frames compared"

    def run_scenario(self, scenario, host_port, guest_port, forwards, traced):
        if not self.guest:
            self.guest = Guest(self.cache, forwards)
        try:
            command = traced(host_command(getattr(self.opt, scenario.program), scenario, host_port))
            if scenario.listens == "guest":
                problems = run_guest_listens(self.guest, scenario, command, guest_port)
                if scenario.wrecks_guest:
                    self.close()
                    return problems
            else:
                problems = run_host_listens(self.guest, scenario, command, host_port)
            if problems:
                problems.append(f"saw guest kernel output {kernel_says(self.guest)!r}")
            return problems
        except (NoAnswer, OSError) as e:
            self.close()
            return [f"expected an answer, saw {e}"]

    def close(self):
        if self.guest:
            self.guest.close()
            self.guest = None


def run_all(opt, scenarios):
    runner = Runner(opt, opt.cache)
    ports = free_ports(len(scenarios))
    guest_ports = range(7200, 7200 + len(scenarios))
    forwards = [(h, g) for s, h, g in zip(scenarios, ports, guest_ports) if s.listens == "guest"]
    failed = 0
    try:
        for scenario, host_port, guest_port in zip(scenarios, ports, guest_ports):
            start = time.monotonic()
            problems, good = runner.run(scenario, host_port, guest_port, forwards)
            failed += bool(problems)
            took = f" ({time.monotonic() - start:.1f} s)" if opt.verbose else ""
            print(f"{scenario.name}: {'FAILED: ' + '; '.join(problems) if problems else f'passed{good}'}{took}",
                  flush=True)
    finally:
        runner.close()
    print(f"{len(scenarios) - failed} passed, {failed} failed")
    return 1 if failed else 0


def own_network(mtu=1500, has_small_packets=False):
    """
    Enters a network namespace, so that no other program uses the ports that free_ports finds. With an MTU of 1500, its
    loopback interface has segments of a multiple of four bytes: see README. If has_small_packets is true, a capture has
    each segment as a packet, not several of them in one.
    """
    new_user, new_net = 0x10000000, 0x40000000
    unshare, uid, gid = ctypes.CDLL(None).unshare, os.getuid(), os.getgid()
    if unshare(new_net):
        if unshare(new_user | new_net):
            print("no network namespace to be had: the loopback is the machine's, another program may take a port, "
                  "and siw may see bad CRCs")
            return
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as f:
                f.write(text)
    more = ["gso_max_segs", "1"] if has_small_packets else []
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", str(mtu), *more], check=True)


def build_guest(cache):
    """Builds the guest. Returns None, or the reason of a failure."""
    done = subprocess.run([os.path.join(HERE, "build.sh"), cache], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    if done.returncode == 77:
        return done.stdout.strip()
    if done.returncode:
        sys.exit(f"the guest does not build:\n{done.stdout}")
    return None


def main():
    p = argparse.ArgumentParser(description="our programs against Linux siw")
    for program in PROGRAMS:
        p.add_argument("--" + program, type=shlex.split, metavar="PATH",
                       help="run the scenarios of this program; arguments that come before all others may follow")
    p.add_argument("--ndktrace", type=shlex.split, metavar="PATH",
                   help="trace the programs, and compare what tshark finds in the trace and on the wire")
    p.add_argument("--only", action="append", metavar="NAME", help="this scenario only (repeatable)")
    p.add_argument("--cache", default=os.path.expanduser("~/.cache/openndk/siw-guest"))
    p.add_argument("--list", action="store_true", help="print the scenarios")
    p.add_argument("--verbose", action="store_true", help="print how long each took")
    opt = p.parse_args()
    if opt.list:
        for s in SCENARIOS:
            times = f" ({s.times} times)" if s.times > 1 else ""
            print(f"{s.name}\n    guest{' listens' if s.listens == 'guest' else ''}: {s.guest}\n"
                  f"    host{' listens' if s.listens == 'host' else ''}: {s.program} {s.host}{times}")
        return 0
    if not any(getattr(opt, program) for program in PROGRAMS):
        p.error(f"at least one of --{', --'.join(PROGRAMS)} is required")
    unknown = set(opt.only or ()) - {s.name for s in SCENARIOS}
    if unknown:
        p.error(f"no such scenario: {', '.join(sorted(unknown))}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # the guest ends with us
    reason = build_guest(opt.cache)
    if reason:
        print(f"skipped: {reason}")
        return 77
    scenarios = [s for s in SCENARIOS if getattr(opt, s.program) and (not opt.only or s.name in opt.only)]
    if opt.ndktrace and not all(map(shutil.which, ("tshark", "dumpcap"))):
        print("skipped: no tshark, or no dumpcap")
        return 77
    has_much_data = bool(opt.ndktrace) or any(s.program != "ndkping" for s in scenarios)
    own_network(1500 if has_much_data else LOOPBACK_MTU, has_small_packets=bool(opt.ndktrace))
    return run_all(opt, scenarios)


if __name__ == "__main__":
    sys.exit(main())
