#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records connections that fail, each for another reason, and checks what `ndktrace explain` says about them.

usage: failures.py [--keep DIRECTORY] [--tools DIRECTORY] [CASE]...

Client and server have a network namespace and a host name each. With --keep, the traces, the programs' output and the
explanations stay in DIRECTORY/CASE. --tools: where ndktrace, ndkping and failing_program are.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

CLIENT, SERVER, PORT = "192.0.2.1", "192.0.2.2", 7000
ADDRESS = f"{SERVER}:{PORT}"
LIMIT_S = 60
GROWING_MS = 700, 7000, 30000 # time limits of the provider, of which a longer one leaves time for the steps before
ROOT = pathlib.Path(__file__).resolve().parents[2]
failed = []


def skip(why):
    print(f"skipped: {why}", flush=True)
    sys.exit(77)


def check(what, good, seen=""):
    if not good:
        failed.append(what)
        print(f"FAILED: {what}\n{seen}", flush=True)


def must(*command, **options):
    subprocess.run([str(word) for word in command], check=True, timeout=LIMIT_S, **options)


# ---- namespaces ----

def enter_namespace():
    """Runs this program again in a namespace of its own, the client's."""
    unshare = ["unshare", "--net", "--uts"] + ([] if os.geteuid() == 0 else ["--user", "--map-root-user"])
    missing = [tool for tool in ("unshare", "nsenter", "ip", "nft") if not shutil.which(tool)]
    if missing:
        skip(f"{', '.join(missing)} missing")
    if subprocess.run([*unshare, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        skip("no network namespace can be created")
    os.environ["FAILURES_INSIDE"] = "1"
    os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


class Network:
    """The two hosts: this process is on the client, `on_server` runs a command on the server."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c",
                                        "hostname server; echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        must("hostname", "client")
        if subprocess.run(["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns",
                           str(self.holder.pid)], stderr=subprocess.DEVNULL, check=False).returncode:
            self.holder.kill()
            skip("no veth device can be created")
        for prefix, address in (([], CLIENT), (self.on_server(), SERVER)):
            must(*prefix, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            must(*prefix, "ip", "link", "set", "lo", "up")
            must(*prefix, "ip", "link", "set", "eth0", "up")

    def on_server(self, *command):
        return ["nsenter", "-t", str(self.holder.pid), "--net", "--uts", "--", *command]

    def close(self):
        self.holder.kill()
        self.holder.wait()


# ---- programs ----

class Case:
    def __init__(self, name, directory, tools, network):
        self.name, self.directory, self.tools, self.network = name, directory, tools, network
        self.server = self.client = self.limit_ms = None

    def environment(self, settings):
        return {**{k: v for k, v in os.environ.items() if not k.startswith("ONDK_")}, **settings}

    def traced(self, end, *command):
        (self.directory / f"{end}.trace").unlink(missing_ok=True)
        return [self.tools["ndktrace"], "run", "-o", str(self.directory / f"{end}.trace"), "--", *map(str, command)]

    def start_server(self, *command, **settings):
        """Starts the program and waits until it listens. Its standard input is open until end_server."""
        self.server = subprocess.Popen(self.network.on_server(*self.traced("server", *command)), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                       env=self.environment(settings), process_group=0)
        line = self.server.stdout.readline()
        check(f"{self.name}: the server listens", "listening" in line, line)

    def end_server(self, interrupt=False):
        if interrupt:
            os.killpg(self.server.pid, signal.SIGINT)
        out = self.server.communicate(timeout=LIMIT_S)[0]
        (self.directory / "server.out").write_text(out)

    def start_client(self, *command, **settings):
        """Starts the program. Its standard input is open until end_client."""
        self.client = subprocess.Popen(self.traced("client", *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, env=self.environment(settings),
                                       process_group=0)
        return self.client

    def kill_all(self):
        """Kills what still runs, after a failure."""
        for process in self.server, self.client:
            if process and process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def end_client(self, client):
        (self.directory / "client.out").write_text(client.communicate(timeout=LIMIT_S)[0])

    def run_client(self, *command, **settings):
        self.end_client(self.start_client(*command, **settings))

    def show(self, *ends):
        files = [str(self.directory / f"{end}.trace") for end in ends]
        return subprocess.run([self.tools["ndktrace"], "show", *files], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=LIMIT_S, check=False).stdout

    def wait_for(self, end, words):
        """Waits until the trace has the words."""
        limit = time.monotonic() + LIMIT_S
        while words not in self.show(end):
            if time.monotonic() > limit:
                check(f"{self.name}: the {end}'s trace has {words}", False)
                break
            time.sleep(0.05)

    def has_happened_before(self, first, second):
        text = self.show("client", "server")
        return -1 < text.find(first) < text.find(second)

    def mistake(self, mistake, **settings):
        """Client and server of failing_program."""
        self.start_server(self.tools["failing_program"], "server", ADDRESS, mistake, **settings)
        self.run_client(self.tools["failing_program"], "client", ADDRESS, mistake, **settings)
        self.end_server()


# ---- peers that are not OpenNDK ----

def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def mpa_request(revision=1, flags=0x40, data=b""):
    return b"MPA ID Req Frame" + struct.pack(">BBH", flags, revision, len(data)) + data


def fpdu(ulpdu, crc=None):
    body = struct.pack(">H", len(ulpdu)) + ulpdu
    body += bytes(-len(body) % 4)
    return body + struct.pack("<I", crc32c(body) if crc is None else crc)


def send_message(payload, number=1):
    """The DDP segment of an RDMAP send."""
    return struct.pack(">BBIIII", 0x41, 0x43, 0, 0, number, 0) + payload


def read_request(number, address, token, size):
    """The DDP segment of an RDMAP read request."""
    return struct.pack(">BBIIIIIQIIQ", 0x41, 0x41, 0, 1, number, 0, 1, 0, size, token, address)


def read_to_end(peer):
    data = b""
    try:
        while part := peer.recv(4096):
            data += part
    except ConnectionError:
        pass
    return data


def foreign_client(request, make_frames=None):
    """Sends the request, then what make_frames makes of the reply, and reads until the server ends the connection."""
    with socket.create_connection((SERVER, PORT), timeout=LIMIT_S) as peer:
        peer.sendall(request)
        if make_frames:
            peer.sendall(make_frames(peer.recv(4096)))
        read_to_end(peer)


FOREIGN_SERVER = """
import socket
listener = socket.create_server(("%s", %d))
print("listening", flush=True)
with listener.accept()[0] as peer:
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 400 Bad Request\\r\\n\\r\\n")
"""


# ---- the cases ----

def case_no_listener(case):
    case.run_client(case.tools["ndkping"], "-C", "-ServerAddr", ADDRESS)


def case_firewall_drop(case):
    rules = f"table inet failures {{ chain in {{ type filter hook input priority 0; tcp dport {PORT} drop; }}; }}"
    must(*case.network.on_server("nft", rules))
    case.start_server(case.tools["ndkping"], "-S", "-ServerAddr", ADDRESS)
    case.run_client(case.tools["ndkping"], "-C", "-ServerAddr", ADDRESS, ONDK_CONNECT_MS="700")
    case.end_server(interrupt=True)
    must(*case.network.on_server("nft", "delete table inet failures"))


def case_wrong_revision(case):
    case.start_server(case.tools["ndkping"], "-S", "-ServerAddr", ADDRESS)
    foreign_client(mpa_request(revision=3))
    case.end_server(interrupt=True)


def case_crc_mismatch(case):
    case.start_server(case.tools["failing_program"], "server", ADDRESS, "none")
    foreign_client(mpa_request(), lambda _: fpdu(send_message(b"good" * 8)) +
                   fpdu(send_message(b"evil" * 8, 2), crc=0x12345678))
    case.end_server()


def case_read_limits(case):
    case.mistake("read-limit-zero")


def case_too_many_reads(case):
    def make_reads(reply):
        address, token, size = struct.unpack("<QII", reply[20:36])
        return b"".join(fpdu(read_request(i + 1, address, token, size)) for i in range(20))

    case.start_server(case.tools["failing_program"], "server", ADDRESS, "none")
    foreign_client(mpa_request(), make_reads)
    case.end_server()


def case_not_iwarp(case):
    server = subprocess.Popen(case.network.on_server(sys.executable, "-c", FOREIGN_SERVER % (SERVER, PORT)),
                              stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    case.run_client(case.tools["ndkping"], "-C", "-ServerAddr", ADDRESS)
    server.communicate(timeout=LIMIT_S)


def case_rejected(case):
    case.start_server(case.tools["ndkping"], "-S", "-ServerAddr", ADDRESS, "--reject")
    case.run_client(case.tools["ndkping"], "-C", "-ServerAddr", ADDRESS)
    case.end_server(interrupt=True)


def case_private_data(case):
    case.start_server(case.tools["ndkping"], "-S", "-ServerAddr", ADDRESS, ONDK_MAX_PRIVATE="16")
    case.run_client(case.tools["ndkping"], "-C", "-ServerAddr", ADDRESS, "--private-data", "00" * 64)
    case.end_server(interrupt=True)


def case_missing_receive(case):
    case.mistake("missing-receive")


def case_few_receives(case):
    case.mistake("few-receives")


def case_token_range(case):
    case.mistake("token-range")


def case_token_invalid(case):
    case.mistake("token-invalid")


def case_killed_peer(case):
    case.start_server(case.tools["failing_program"], "server", ADDRESS, "killed")
    client = case.start_client(case.tools["failing_program"], "client", ADDRESS, "killed")
    case.wait_for("client", "outcome=established")
    case.wait_for("server", "opcode=send")
    os.killpg(case.server.pid, signal.SIGKILL)
    case.end_server()
    case.end_client(client)


def case_deadlock(case):
    program = case.tools["failing_program"]
    for case.limit_ms in GROWING_MS:
        case.start_server(program, "server", ADDRESS, "deadlock", ONDK_ESTABLISH_MS=str(case.limit_ms))
        client = case.start_client(program, "client", ADDRESS, "deadlock")
        case.wait_for("client", "outcome=failed")
        case.end_client(client)
        case.end_server()
        if case.has_happened_before("NdkArmCq", "limit_expired state=WAIT_RTR"):
            break


def case_no_accept(case):
    program = case.tools["failing_program"]
    for case.limit_ms in GROWING_MS:
        case.start_server(program, "server", ADDRESS, "no-accept")
        case.run_client(program, "client", ADDRESS, "no-accept", ONDK_REPLY_MS=str(case.limit_ms))
        case.wait_for("server", "outcome=failed")
        case.end_server()
        if case.has_happened_before("connect_event", "limit_expired state=REQUEST_SENT"):
            break


CASES = {name[len("case_"):]: run for name, run in list(globals().items()) if name.startswith("case_")}


# ---- what the explanations must say ----

NOT_TRACED = "The traces do not have the {}'s side of this connection"
TIME = r"\d+\.\d{6} s"

# For each case regular expressions that the explanation of both traces contains, and of that of each end alone. A space
# stands for any white space, and LIMIT_MS for the case's time limit.
EXPECTED = {
    "no_listener": {"both": [
        r"Connection 1 .* failed: the server's host refused the connection \(TCP reset\); "
        "most likely no program listens at "
        "that address",
        f"The client asked 192.0.2.2:7000 for a TCP connection at {TIME}. The host of that address answered with a "
        "TCP reset", r"\n> .* client The server's host refused TCP. The connection failed \(refused\)",
        f"client The client asked {ADDRESS} for a TCP connection",
        "NdkConnect completed with STATUS_CONNECTION_REFUSED", "To change: Start the server, or correct the address",
        "If a server does run there, record it, too", NOT_TRACED.format("server")]},
    "firewall_drop": {"both": [
        "failed: the server's host did not answer the client's TCP connection request",
        r"no answer arrived within 700 ms "
        r"\(ONDK_CONNECT_MS of the client\)", r"server: ndkping, process \d+ on server \(its trace "
        r"has nothing", rf"on server had been listening at the address since {TIME}, but its trace has nothing",
        r"server The program began to listen at 192.0.2.2:7000 \(ndkping, process \d+ on server\)",
        "To change: Find what drops the packets: check the firewall",
        "Almost always a firewall drops the packets",
        r"\n> .* client The time limit of the state TCP_CONNECTING passed",
        r"do not show whether the client's packets reached the server's host: .* tcpdump \(tcp port 7000\)"],
        "client": ["Almost always a firewall drops the packets, or no host that is up has the address"]},
    "wrong_revision": {"both": [
        "failed: the client's request has a protocol version that does not exist",
        "It has MPA revision 3. .* 0, 1 and 2 "
        "exist", r"\n> .* server The client's MPA request arrived \(MPA revision 3",
        "On the client's host, set the MPA "
        "revision", "almost certainly the client is other software", "Record the packets of the client with tcpdump",
        NOT_TRACED.format("client")]},
    "not_iwarp": {"both": [
        "failed: an HTTP server answered, not an iWARP server",
        r'the bytes that arrived at .*, which begin with "HTTP/1.1 400 '
        'Bad Req", are no answer to the client\'s MPA request', "To change: Correct the address or the port",
        r"\n> .* client Bytes arrived that are no MPA reply"]},
    "crc_mismatch": {"both": [
        "failed: a frame of the client arrived with a wrong checksum",
        r"message 2 \(a send of 32 bytes\), which arrived at "
        "the server", r"\n> .* server Arrived: message 2 .* its checksum is wrong", "Terminate: mpa-crc",
        "or the client computes the checksum wrongly", "To change: Find what changes the bytes", "ethtool -K",
        NOT_TRACED.format("client")]},
    "read_limits": {"both": [
        r"No connection failed, but 1 call did \(below\)", "NdkRead returned STATUS_NOT_SUPPORTED",
        "no reads by the client "
        "from the server", "agreed on 0 reads in flight",
        r"\n\* .* server The program called NdkAcceptEx \(read limits: 0 inbound.* Its inbound limit allows no reads\.",
        "To change: Set the InboundReadLimit of the server's program",
        r"\n> .* client The program called NdkRead, which returned STATUS_NOT_SUPPORTED",
        "OutboundReadLimit of 8 in its NdkConnect", "InboundReadLimit of 0 in its NdkAcceptEx", "at least 1"],
        "client": ["agreed on 0 reads in flight"]},
    "too_many_reads": {"both": [
        "failed: the client had too many reads in flight", "read request number 9 of the client",
        "it allows 8 reads at a time. MPA revision 1, which the client uses, does not tell the client this limit",
        "have fewer reads in flight, at most 8 reads. Or raise the InboundReadLimit of the server's program",
        r"\n> .* server Arrived: a read request for 4096 bytes"]},
    "rejected": {"both": [
        "failed: the server's program rejected the client", f"The server's program called NdkReject at {TIME}",
        "To change: Nothing in the network", r"\n> .* server The program called NdkReject",
        "The client's NdkConnect completed with STATUS_CONNECTION_REFUSED"],
        "client": ["failed: the server rejected the client's request", NOT_TRACED.format("server")]},
    "private_data": {"both": [
        "failed: the client's request has too much private data for the server", "It has 64 bytes of private data",
        r"\n> .* server The client's MPA request arrived .*64 bytes of private data",
        "The server allows at most 16", "pass at most 16 bytes to NdkConnect, or set ONDK_MAX_PRIVATE=64",
        rf"Consequence at the client: at {TIME} the reject of the server arrived, and the connection failed there "
        r"\(rejected\). The client's NdkConnect completed with STATUS_CONNECTION_REFUSED",
        r"\n\* .* client The program called NdkConnect"],
        "client": ["failed: the server rejected the client's request", NOT_TRACED.format("server")]},
    "missing_receive": {"both": [
        "failed: the server's program had posted no receive for the client's message",
        f"The client sent message 1 .* at {TIME}. It arrived at the server at {TIME}. But there was no receive for it",
        "The server's program had not called NdkReceive for this connection at all",
        "To change: Let the server's program call NdkReceive before the client can send",
        rf"The result STATUS_SUCCESS of NdkSend, which the client's program got at {TIME}, "
        "only means that TCP has taken",
        r"\n\* .* server The program called NdkAcceptEx .* No receive was posted before\.",
        f"Consequence at the client: at {TIME} the Terminate of the server arrived",
        r"\n> .* server Arrived: message 1 .*; no receive was posted for it\."],
        "client": ["failed: the server's program had posted no receive for the client's message",
                   NOT_TRACED.format("server")],
        "server": ["The server's program had not called NdkReceive for this connection at all",
                   NOT_TRACED.format("client")]},
    "few_receives": {"both": [
        "failed: the client's message 5 arrived when the server's 4 posted receives were used up",
        "The client sent message "
        "5 ", r"To change: Let the server's program post more receives \(it had 4\), or let the client send at most 4 "
        "messages until the server answers",
        "The server's program had posted 4 receives until then, and 4 earlier messages had used them up"]},
    "token_range": {"both": [
        "failed: the client accessed memory outside of the region of its token",
        f"The client's program called NdkWrite for 8192 bytes at address 0x[0-9a-f]+ with token 0x[0-9a-f]+, at {TIME}",
        r"got this token from NdkGetRemoteTokenFromMr at .*, for a region of 4096 bytes \(0x[0-9a-f]+ to 0x[0-9a-f]+, "
        r"NdkRegisterMr\), 4096 bytes less than the access needs", r"\n> .* server Arrived: a write of",
        r"\n\* .* client The program called NdkWrite \(8192 bytes at address",
        "To change: Let the client's program access at "
        "most 4096 bytes with this token, or let the server's program register 8192 bytes",
        "The result STATUS_SUCCESS of NdkWrite"],
        "client": ["called NdkWrite for 8192 bytes", NOT_TRACED.format("server")],
        "server": ["for a region of 4096 bytes", NOT_TRACED.format("client")]},
    "token_invalid": {"both": [
        r"failed: the server's program closed the memory \(NdkCloseMr\) that the client then accessed",
        f"But the server's program called NdkCloseMr at {TIME}, which made the token invalid before the access arrived",
        r"That was before the server's program accepted the connection \(NdkAcceptEx\)",
        "The client's program called Ndk(Write|Read) for"],
        "server": ["But the server's program called NdkCloseMr"]},
    "killed_peer": {"both": [
        "failed: the server's process was killed, has crashed, or called exit", "a TCP reset of the server arrived",
        rf"The trace of the server's process ended earlier, at {TIME}, "
        "and does not show that this connection was closed",
        rf"The last frame that the client had sent, message \d+ .*, arrived at the server at {TIME}",
        "has not closed its adapter: the process was killed, has crashed, or called exit without that",
        "To change: Nothing in the network",
        r"\n> .* server The trace of the process ends here", "has not closed its adapter"],
        "client": ["failed: the server ended the connection without NdkDisconnect", NOT_TRACED.format("server")],
        "server": ["No connection failed", "for the server established and open", "has not closed its adapter"]},
    "deadlock": {"both": [
        r"failed: the client's program did not call NdkCompleteConnect "
        r"\(probably it waited for a message first: a deadlock\)",
        r"No such frame arrived within LIMIT_MS ms \(ONDK_ESTABLISH_MS of the server\)",
        r"The time limit of the state WAIT_RTR passed [\s\S]* A TCP reset of the server arrived",
        "It had posted receives", r"server The program called NdkReceive \(4 times",
        "client The program called NdkArmCq",
        rf"\n\* .* client NdkConnect completed with STATUS_SUCCESS. NdkCompleteConnect should follow now\.",
        rf"Consequence at the client: at {TIME} a TCP reset of the server arrived, and the connection failed there "
        r"\(peer-reset\). No callback reported this to the program", "A longer time limit does not help",
        "the client's program did not call NdkCompleteConnect", r"Instead it called NdkReceive \(4 times\)",
        "each side waited for the other", r"NdkAcceptEx completed with STATUS_IO_TIMEOUT",
        r"\n> .* server The time limit of the state WAIT_RTR passed \(LIMIT_MS ms\)"],
        "client": ["failed: the client's program did not call NdkCompleteConnect in time", NOT_TRACED.format("server")],
        "server": ["failed: the client did not complete the connection", NOT_TRACED.format("client")]},
    "no_accept": {"both": [
        r"failed: the server's program never answered the request \(neither NdkAccept nor NdkReject\)",
        rf"the server's program got it in its connect event callback at {TIME}. "
        "But the program called neither NdkAccept "
        "nor NdkReject", r"\n\* .* server The program's connect event callback got the request\. Neither NdkAccept",
        "Until the timeout the server's program called no NDK function",
        r"\n> .* client The time limit of the state REQUEST_SENT passed \(LIMIT_MS ms\)"],
        "client": [r"No MPA reply arrived within LIMIT_MS ms \(ONDK_REPLY_MS of the client\)",
                   NOT_TRACED.format("server")],
        "server": ["failed: the client ended its request before the server's program had accepted it"]},
}


def check_explanation(case, which, traces):
    done = subprocess.run([case.tools["ndktrace"], "explain", *map(str, traces)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S, check=False)
    (case.directory / f"explained.{which}").write_text(done.stdout)
    check(f"{case.name}, {which}: explain ends well", done.returncode == 0, done.stdout)
    check(f"{case.name}, {which}: lines are not long", all(len(line) <= 100 for line in done.stdout.splitlines()
                                                           if not line.startswith(("#", "  client:", "  server:"))),
          done.stdout)
    for sentence in EXPECTED[case.name].get(which, []):
        pattern = sentence.replace(" ", r"\s+").replace(".*", r"[\s\S]*?")
        pattern = pattern.replace("LIMIT_MS", str(case.limit_ms))
        check(f"{case.name}, {which}: says \"{sentence}\"", re.search(pattern, done.stdout), done.stdout)


def run_case(name, directory, tools, network):
    directory.mkdir(parents=True, exist_ok=True)
    case = Case(name, directory, tools, network)
    try:
        CASES[name](case)
    finally:
        case.kill_all()
    traces = {file.stem: file for file in sorted(directory.glob("*.trace"))}
    check(f"{name}: there are traces", traces)
    check_explanation(case, "both", traces.values())
    for end, file in traces.items():
        if len(traces) == 2:
            check_explanation(case, end, [file])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("case", nargs="*", choices=[*CASES, []])
    options = parser.parse_args()
    if "FAILURES_INSIDE" not in os.environ:
        enter_namespace()
    names = {"ndktrace": "tools", "ndkping": "tools", "failing_program": "tests/trace"}
    tools = {name: str((options.tools / directory / name).resolve()) for name, directory in names.items()}
    network = Network()
    try:
        with tempfile.TemporaryDirectory() as temporary:
            for name in options.case or CASES:
                begin = time.monotonic()
                run_case(name, (options.keep or pathlib.Path(temporary)) / name, tools, network)
                print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    finally:
        network.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
