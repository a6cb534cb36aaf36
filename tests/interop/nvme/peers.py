# SPDX-License-Identifier: MIT
"""The two peers of the NVMe scenarios: the guest with Linux' NVMe over Fabrics, and the programs of this machine.

The guest is connected to a tap interface, if this machine has /dev/net/tun. Its connections are then those of the two
kernels. Otherwise QEMU's slirp is between them, which aborts if a connection is reset while much is on the way."""
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from run_interop import Guest, NoAnswer, free_ports, host_listens, own_network  # noqa: E402

NQN = "nqn.2014-08.org.nvmexpress:uuid:6f70656e-6e64-4b00-8000-000000000001"
NOTHING_LEFT = "ndkrun: nothing left, no rule broken"
GUEST_ADDRESS, HOST_ADDRESS = "10.0.2.15", "10.0.2.2"    # as the guest has them
TAP = "guest0"
CUT_RULES = """table inet cut {{
    chain in {{ type filter hook input priority 0; tcp dport {0} drop; tcp sport {0} drop; }}
}}"""


class Failed(Exception):
    """A scenario did not do what it should; the text says what."""


class Network:
    """How the guest is connected. `here`: the address at which the guest reaches programs of this machine."""
    tap, here, interface = None, "127.0.0.1", "lo"

    @classmethod
    def enter(cls):
        """Enters a network namespace, and makes its tap interface."""
        own_network()
        made = [f"tuntap add dev {TAP} mode tap", f"addr add {HOST_ADDRESS}/24 dev {TAP}",
                f"link set {TAP} up mtu 1500"]
        if all(subprocess.run(["ip", *command.split()], stderr=subprocess.DEVNULL, check=False).returncode == 0
               for command in made):
            cls.tap, cls.here, cls.interface = TAP, HOST_ADDRESS, TAP
        else:
            print("no tap interface to be had: the guest is behind slirp", flush=True)


class Machine:
    """The guest, booted when it is first needed. One at a time, because all have the same address."""
    booted = None

    def __init__(self, cache, options=()):
        self.cache, self.options, self.guest = cache, options, None
        self.forward = free_ports(1)[0]

    def address_of(self, port):
        """Address and port at which programs of this machine reach a port of the guest."""
        return (GUEST_ADDRESS, port) if Network.tap else ("127.0.0.1", self.forward)

    def boot(self, port=0):
        """Boots the guest. `port`: one of its ports that programs of this machine have to reach."""
        if self.guest:
            return
        if Machine.booted:
            Machine.booted.kill()
        options = ["-i", os.path.join(self.cache, "nvme.cpio"), *self.options]
        environment = {"SMP": "4", "MEM": "1024", **({"TAP": Network.tap} if Network.tap else {})}
        forwards = [(self.forward, port)] if port and not Network.tap else []
        self.guest = Guest(self.cache, forwards, options, environment, Network.here)
        Machine.booted = self
        self.run("nvme-setup")

    def start(self, script, limit=120):
        """Starts a script in the guest's shell, for wait_for() and end(). No line for `limit` s is a failure."""
        self.boot()
        try:
            return self.guest.job(f"( {script}\n) </dev/null 2>&1; rc=$?; echo; echo @exit $rc; exit\n", limit)
        except NoAnswer as e:
            self.kill()
            raise Failed(str(e)) from e

    def wait_for(self, job, mark):
        try:
            return job.read_until(mark)
        except NoAnswer as e:
            raise Failed(f"{e}; the guest printed {job.output[-1500:]!r}") from e

    def end(self, job):
        """Waits for the script's end; returns its exit status and output."""
        try:
            status = int(self.wait_for(job, "@exit"))
        except Failed:
            self.kill()
            raise
        finally:
            job.close()
        return status, job.output.strip()

    def run(self, script, limit=120, status=0):
        """Runs a script; returns its output. Another exit status than `status` is a failure."""
        seen, output = self.end(self.start(script, limit))
        if seen != status:
            raise Failed(f"expected exit status {status} of the guest's script, saw {seen} and {output[-1500:]!r}; "
                         f"the kernel's last messages: {self.kernel_says()!r}")
        return output

    def kernel_says(self, pattern="nvme|siw|iwcm|blk_|I/O error|EXT4"):
        with contextlib.suppress(Failed):
            return self.end(self.start(f"dmesg | grep -E '{pattern}' | tail -n 12", 20))[1]
        return "not to be had"

    def kill(self):
        """Kills QEMU (SIGKILL), as a power failure does."""
        if self.guest:
            self.guest.close(signal.SIGUSR1)
            self.guest = Machine.booted = None


class Peers:
    """What a scenario gets: the guest, the command of the sample, a directory."""

    def __init__(self, machine, directory, command, ndktrace=None):
        self.machine, self.directory, self.command, self.ndktrace = machine, directory, command, ndktrace

    def need_ndktrace(self):
        if not self.ndktrace:
            raise Failed("needs --ndktrace PATH")
        return self.ndktrace

    def path(self, name):
        return os.path.join(self.directory, name)


class Program:
    """A program of this machine with its output in a file."""

    def __init__(self, command, environment=None):
        self.output_file = tempfile.TemporaryFile()
        self.command = shlex.join(command)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output_file,
                                        stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})},
                                        start_new_session=True)

    def output(self):
        return os.pread(self.output_file.fileno(), 1 << 20, 0).decode(errors="replace")

    def describe(self):
        state = "runs" if self.process.poll() is None else f"has ended with {self.process.returncode}"
        return f"{os.path.basename(self.process.args[0])} {state} and printed {self.output()[-2500:]!r}"

    def wait_until(self, what, is_true, seconds=60):
        deadline = time.monotonic() + seconds
        while not is_true():
            if self.process.poll() is not None:
                raise Failed(f"{self.command} ended with {self.process.returncode}: {self.output()[-1500:]!r}")
            if time.monotonic() > deadline:
                raise Failed(f"{self.command}: no {what} after {seconds} s: {self.output()[-1500:]!r}")
            time.sleep(0.02)

    def wait_for_line(self, pattern, seconds=60):
        self.wait_until(f"line {pattern!r}", lambda: re.search(pattern, self.output(), re.M), seconds)

    def wait_for_listener(self, port, seconds=60):
        self.wait_until(f"listener on port {port}", lambda: host_listens(port), seconds)

    def stop(self, number=signal.SIGINT, seconds=60):
        """Sends the signal; returns exit status and output."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait(seconds)

    def wait(self, seconds=60):
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Failed(f"{self.command} did not end within {seconds} s: {self.output()[-1500:]!r}") from None
        finally:
            output = self.output()
        return self.process.returncode, output

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)     # a shell's children, too
        self.process.wait()
        self.output_file.close()


@contextlib.contextmanager
def running(command, environment=None):
    program = Program(command, environment)
    try:
        yield program
    finally:
        program.close()


def tool(*command, seconds=120, status=0, environment=None):
    """Runs a tool of this machine to its end; returns its output."""
    with running(list(command), environment) as program:
        seen, output = program.wait(seconds)
    if seen != status:
        raise Failed(f"expected exit status {status} of {shlex.join(command)}, saw {seen}: {output[-1500:]!r}")
    return output


@contextlib.contextmanager
def network_cut(port):
    """Drops all segments of the port's connections. Needs the runner's own network namespace."""
    subprocess.run(["nft", "-f", "-"], input=CUT_RULES.format(port), text=True, check=True)
    try:
        yield
    finally:
        subprocess.run(["nft", "delete", "table", "inet", "cut"], check=True)
