# SPDX-License-Identifier: MIT
"""samples/nvme-initiator, a driver under ndkrun, is the host of Linux' nvmet-rdma in the guest."""
import contextlib
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time

from peers import (HERE, HOST_ADDRESS, NOTHING_LEFT, NQN, Failed, Machine, Network, free_ports, network_cut, running,
                   tool)

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "capture"))
from check_nvme import differences  # noqa: E402

DISSECTED = ("Connect", "Identify Controller", "Write", "Property Get Controller Capabilities")
GUEST_PORT, DISK_MIB = 4420, 64
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
SETTINGS = {"IoQueues": 2, "QueueDepth": 128, "KeepAliveSeconds": 5}
VERIFY = "stop,full,stall=0"    # a slow machine breaks no rule
REASON = r"at [0-9.:]+: (the target [^,\n]*(?:, or [^,\n]*)?)"


class Initiator:
    """The driver under ndkrun with its disk exported at a socket."""

    def __init__(self, peers, crc="on", **settings):
        self.peers, self.socket = peers, peers.path("nbd.socket")
        self.address, self.port = peers.machine.address_of(GUEST_PORT)
        self.uri = f"nbd+unix:///?socket={self.socket}"
        self.environment = {"ONDK_CRC": "1" if crc == "on" else "0"}
        self.settings = {**SETTINGS, **settings}

    def registry(self):
        return [*(f"{name}=dword:{value}" for name, value in self.settings.items()),
                f"Targets=multi_sz:{self.address}:{self.port} {NQN}"]

    def command(self):
        options = [word for value in self.registry() for word in ("--reg", value)]
        return [self.peers.command[0], "--verify", VERIFY, "--net", "host", "--nbd", self.socket, *options,
                *self.peers.command[1:]]

    def tcp_command(self, port):
        """The same over TCP: nbdkit without ndkrun."""
        plugin = os.path.join(os.path.dirname(self.peers.command[0]), "nbdkit-openndk-plugin.so")
        return ["nbdkit", "--foreground", "--ipaddr", Network.here, "--port", str(port), plugin,
                *self.peers.command[1:], f"verify={VERIFY}", "net=host", *(f"reg={value}" for value in self.registry())]

    @contextlib.contextmanager
    def exported(self, command=None):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        with running(command or self.command(), self.environment) as program:
            program.wait_for_line(r"ndkrun: disk 0:0:0")
            yield program

    def stop(self, program):
        """Unloads the driver; a breach of a rule and anything left are failures."""
        status, output = program.stop(signal.SIGINT)
        if status or NOTHING_LEFT not in output:
            raise Failed(f"expected {NOTHING_LEFT!r}, saw exit status {status}: {output[-2500:]!r}")
        return output

    def copy_out(self, path, depth=16):
        return ["nbdcopy", "--connections=1", f"--requests={depth}", path, self.uri]

    def copy_in(self, path, depth=16):
        return ["nbdcopy", "--connections=1", f"--requests={depth}", self.uri, path]


def serve(peers):
    peers.machine.boot(GUEST_PORT)
    peers.machine.run(f"""modprobe brd rd_nr=1 rd_size={DISK_MIB * 1024}
        nvme-serve stop {GUEST_PORT} {NQN} 2>/dev/null
        nvme-serve rdma {GUEST_PORT} {NQN} /dev/ram0""")


def random_file(path, mib):
    with open(path, "wb") as f:
        f.write(os.urandom(mib << 20))


def compare(expected, seen, mib):
    """Compares the first bytes of two files."""
    done = subprocess.run(["cmp", "-n", str(mib << 20), expected, seen], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed(f"expected the bytes that were written, saw: {done.stdout.strip()}")


def depths(crc):
    """Copies 64 MiB out and in at each queue depth, other bytes each time."""
    def scenario(peers):
        serve(peers)
        initiator, data, back = Initiator(peers, crc), peers.path("data"), peers.path("back")
        with initiator.exported() as program:
            for depth in DEPTHS:
                random_file(data, DISK_MIB)
                try:
                    tool(*initiator.copy_out(data, depth))
                    tool(*initiator.copy_in(back, depth))
                    compare(data, back, DISK_MIB)
                except Failed as e:
                    raise Failed(f"depth {depth}: {e}; {program.describe()}") from e
            initiator.stop(program)
    return scenario


def filesystem(peers):
    """Copies a filesystem's image out; the guest mounts its disk and has the same checksums."""
    serve(peers)
    initiator, image, folder = Initiator(peers), peers.path("image"), peers.path("tree")
    os.makedirs(os.path.join(folder, "inner"))
    sums = []
    for number in range(40):
        data, name = os.urandom(1 + number * 9973), f"inner/file{number}"
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
        sums.append(f"{hashlib.md5(data).hexdigest()}  {name}")
    tool("mke2fs", "-q", "-F", "-t", "ext4", "-d", folder, image, f"{DISK_MIB}M")
    with initiator.exported() as program:
        tool(*initiator.copy_out(image))
        initiator.stop(program)
    listed = "\n".join(sums)
    peers.machine.run(f"""set -e
        echo 3 >/proc/sys/vm/drop_caches
        mount -t ext4 -o ro /dev/ram0 /mnt
        cat >/tmp/expected <<'END'\n{listed}\nEND
        (cd /mnt && md5sum -c /tmp/expected >/tmp/compared 2>&1) || {{ grep -v ': OK$' /tmp/compared; exit 1; }}
        umount /mnt""")


def kernel_client(peers):
    """The guest's kernel is the client of nbdkit: it mounts the disk that its own target serves."""
    serve(peers)
    initiator, port = Initiator(peers), free_ports(1)[0]
    with initiator.exported(initiator.tcp_command(port)) as program:
        try:
            said = peers.machine.run(f"""set -e
                modprobe nbd
                /usr/sbin/nbd-client {HOST_ADDRESS} {port} /dev/nbd0 -N 0:0:0 >/tmp/client 2>&1 ||
                    {{ cat /tmp/client; exit 1; }}
                nvme-tree /dev/nbd0
                /usr/sbin/nbd-client -d /dev/nbd0""")
        except Failed as e:
            raise Failed(f"{e}; {program.describe()}") from e
        initiator.stop(program)
    return said.splitlines()[-1] if said else None


@contextlib.contextmanager
def copying(initiator, path, times=0):
    """Copies again and again, so often or until a copy fails."""
    copy = shlex.join(initiator.copy_out(path, 8))
    loop = f"for i in $(seq {times}); do {copy} || exit 1; done" if times else f"while {copy}; do :; done; exit 1"
    with running(["sh", "-c", loop]) as program:
        time.sleep(1.5)
        if program.process.poll() is not None:
            raise Failed(f"expected copies, {program.describe()}")
        yield program


def ndkrun_killed(peers):
    serve(peers)
    initiator, data, back = Initiator(peers), peers.path("data"), peers.path("back")
    random_file(data, DISK_MIB)
    with initiator.exported() as program, copying(initiator, data):
        program.process.kill()
        program.wait()
    with initiator.exported() as program:
        tool(*initiator.copy_out(data))
        tool(*initiator.copy_in(back))
        compare(data, back, DISK_MIB)
        initiator.stop(program)


def network_cut_5_s(peers):
    """The copy resumes by itself, and is complete."""
    serve(peers)
    initiator, data, back = Initiator(peers), peers.path("data"), peers.path("back")
    random_file(data, DISK_MIB)
    with initiator.exported() as program:
        with copying(initiator, data, 6) as copy:
            with network_cut(initiator.port):
                time.sleep(5)
            status, output = copy.wait(180)
        if status:
            raise Failed(f"expected the copy to resume, saw exit status {status}: {output!r}; "
                         f"{program.describe()}")
        tool(*initiator.copy_in(back))
        compare(data, back, DISK_MIB)
        initiator.stop(program)


def ends_with_reason(peers, end_target):
    """Ends the target in mid-I/O: requests fail after IoFailSeconds, the reason is printed, nothing is left."""
    serve(peers)
    initiator, data = Initiator(peers, IoFailSeconds=3, ReconnectSeconds=1), peers.path("data")
    random_file(data, DISK_MIB)
    with initiator.exported() as program:
        with copying(initiator, data) as copy:
            end_target()
            status, output = copy.wait(60)
        if not status:
            raise Failed(f"expected the copy to fail, saw {output!r}")
        output = initiator.stop(program)
    reasons = re.findall(REASON, output)
    if not reasons:
        raise Failed(f"expected the reason of the loss, saw {output!r}")
    return reasons[0]


def guest_killed(peers):
    return ends_with_reason(peers, peers.machine.kill)


def target_removed(peers):
    """Takes the subsystem from its port. That can hang in Linux: it is not waited for, the guest is thrown away."""
    link = f"/sys/kernel/config/nvmet/ports/{GUEST_PORT}/subsystems/{NQN}"
    reason = ends_with_reason(peers, lambda: peers.machine.run(f"rm {link} >/dev/null 2>&1 &"))
    peers.machine.kill()
    return reason


def capture(peers):
    """Wireshark's dissector knows each command and each completion in the driver's trace."""
    data, trace = peers.path("data"), peers.path("initiator.trace")
    random_file(data, 1)
    serve(peers)
    initiator = Initiator(peers)
    initiator.environment["ONDK_TRACE"] = f"{trace},64M,payload=64000"
    with initiator.exported() as program:
        tool(*initiator.copy_out(data))
        initiator.stop(program)
    found, _ = differences(peers.need_ndktrace(), trace, initiator.port, DISSECTED)
    if found:
        raise Failed("; ".join(found))


SCENARIOS = {
    "initiator-capture": capture,
    "initiator-depths-crc-on": depths("on"), "initiator-depths-crc-off": depths("off"),
    "initiator-filesystem": filesystem, "initiator-nbd-client": kernel_client,
    "initiator-ndkrun-killed": ndkrun_killed,
    "initiator-network-cut": network_cut_5_s, "initiator-target-removed": target_removed,
    "initiator-guest-killed": guest_killed,
}
