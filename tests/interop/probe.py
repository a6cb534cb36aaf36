#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Raw-socket look at what siw says during MPA connection set-up: the facts tables of README.md.

probe.py server [CACHE]   rping servers in the guest; sends MPA requests from the host, shows the replies
probe.py client [CACHE]   rping clients in the guest; shows the MPA requests they send to the host,
                          answers, and shows the first FPDU that follows
"""
import os
import socket
import struct
import subprocess
import sys
import time

from mpa import C, M, R, REP, REQ, S, crc32c, frame, recv_exact, recv_frame, rtr_frame, v2

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 7174     # in the guest
PAUSE = 0.05    # between MPA reply and first FPDU: siw as responder loses a faster one (README.md)
GUESTS = []


def guest(args, cmd):
    run = [os.path.join(HERE, "run.sh"), "-t", "120"]
    if len(sys.argv) > 2:
        run += ["-c", sys.argv[2]]
    GUESTS.append(subprocess.Popen(run + args + [cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    return GUESTS[-1]


def ird_ord(priv):
    ird, ord_ = struct.unpack(">HH", priv[:4])
    return (f"IRD={ird & 0x3fff} A(peer-to-peer)={ird >> 15} B(zero-length FPDU)={ird >> 14 & 1} "
            f"ORD={ord_ & 0x3fff} C(write RTR)={ord_ >> 15} D(read RTR)={ord_ >> 14 & 1}")


def show(label, f):
    print(f"  {label} {len(f)} bytes: {f[:16].hex()} {f[16:20].hex()} {f[20:].hex()}".rstrip())
    if len(f) < 20:
        return
    flags, rev, n = struct.unpack(">BBH", f[16:20])
    names = "".join(c for c, b in zip("MCRS", (M, C, R, S)) if flags & b) or "none"
    text = f"    key={f[:16].decode(errors='replace')!r} flags=0x{flags:02x} ({names}) rev={rev} private={n}"
    priv = f[20:]
    if flags & S and len(priv) >= 4:
        text += " " + ird_ord(priv)
        priv = priv[4:]
    print(text + (f" user private data={priv.hex()}" if priv else ""))


def show_fpdu(s, crc_on):
    head = recv_exact(s, 2)
    if len(head) < 2:
        print("  no FPDU: connection closed")
        return
    n = struct.unpack(">H", head)[0]
    padded = (2 + n + 3) & ~3
    body = head + recv_exact(s, padded - 2)
    crc = recv_exact(s, 4)
    ddp, rdmap = body[2], body[3]
    print(f"  FPDU {len(body) + len(crc)} bytes: {body.hex()} crc={crc.hex()}")
    print(f"    ULPDU length={n} pad={padded - 2 - n} DDP T={ddp >> 7} L={ddp >> 6 & 1} DV={ddp & 3} "
          f"RDMAP RV={rdmap >> 6} opcode={rdmap & 15}", end="")
    if not ddp & 0x80:
        inv, qn, msn, mo = struct.unpack(">IIII", body[4:20])
        print(f" inv-stag={inv:#x} QN={qn} MSN={msn} MO={mo} payload={body[20:2 + n].hex()}")
    else:
        stag, to = struct.unpack(">IQ", body[4:16])
        print(f" STag={stag:#x} TO={to:#x} payload={body[16:2 + n].hex()}")
    want = crc32c(body)
    print(f"    CRC {'on' if crc_on else 'off'}: CRC32C(FPDU) as little-endian bytes={struct.pack('<I', want).hex()}"
          f" {'matches' if struct.pack('<I', want) == crc else 'differs'}")


def server():
    with socket.create_server(("127.0.0.1", 0)) as s:
        host_port = s.getsockname()[1]
    probes = [
        ("rev 1, C", frame(REQ, C, 1)),
        ("rev 1, no flags", frame(REQ, 0, 1)),
        ("rev 2, S+C, IRD=1 ORD=1", frame(REQ, S | C, 2, v2(1, 1))),
        ("rev 2, S, IRD=4 ORD=8", frame(REQ, S, 2, v2(4, 8))),
        ("rev 2, S+C, IRD=16383 ORD=16383", frame(REQ, S | C, 2, v2(16383, 16383))),
        ("rev 2, S+C, IRD=1 ORD=1, A C D (peer-to-peer, write or read RTR)",
         frame(REQ, S | C, 2, v2(1, 1, a=1, c=1, d=1))),
        ("rev 2, S+C, IRD=1 ORD=1, A D (peer-to-peer, read RTR)", frame(REQ, S | C, 2, v2(1, 1, a=1, d=1))),
        ("rev 2, S+C, IRD=1 ORD=1, A B (peer-to-peer, zero-length FPDU RTR)",
         frame(REQ, S | C, 2, v2(1, 1, a=1, b=1))),
        ("rev 2, C, no S, no private data", frame(REQ, C, 2)),
        ("rev 2, S+C, no private data", frame(REQ, S | C, 2)),
        ("rev 2, S+C, IRD=1 ORD=1, user private data", frame(REQ, S | C, 2, v2(1, 1) + b"hello")),
        ("rev 1, C, user private data", frame(REQ, C, 1, b"hello")),
        ("rev 1, M+C (markers)", frame(REQ, M | C, 1)),
        ("rev 0, C", frame(REQ, C, 0)),
        ("rev 3, C", frame(REQ, C, 3)),
        ("rev 1, C, reserved bits 0x0f", frame(REQ, C | 0x0f, 1)),
        ("rev 1, C, wrong key", frame(REP, C, 1)),
        ("rev 1, C, 256 bytes of private data", frame(REQ, C, 1, bytes(256))),
        ("rev 1, C, 257 bytes of private data", frame(REQ, C, 1, bytes(257))),
        ("rev 1, C, an FPDU right behind the request", frame(REQ, C, 1) + bytes(24)),
    ]
    g = guest(["-p", f"{host_port}:{PORT}"], f"""
        for i in $(seq {len(probes)}); do
            timeout -s KILL 10 rping -s -a 0.0.0.0 -p {PORT} -v -C 1 >/tmp/log 2>&1 & s=$!
            wait-listen {PORT} || echo "no listener"
            echo LISTENING; wait $s; echo "STATUS $? $(tr '\\n' ';' </tmp/log)"
            while cat /proc/net/tcp | grep -q ':{PORT:04X} 00000000:0000 0A'; do sleep 0.05; done
        done""")
    left = iter(probes)
    for line in g.stdout:
        if line.strip() == "LISTENING":
            label, request = next(left)
            print(label)
            show("request", request[:64])
            with socket.create_connection(("127.0.0.1", host_port), timeout=5) as s:
                s.sendall(request)
                try:
                    reply = recv_frame(s)
                except (socket.timeout, ConnectionResetError) as e:
                    reply, why = b"", type(e).__name__
                else:
                    why = "end of stream"
                if reply:
                    show("reply  ", reply)
                    if len(reply) >= 24 and reply[16] & S and reply[20] & 0x80:
                        form = "write" if reply[22] & 0x80 else "read"
                        f = rtr_frame(form, reply[16] & C)
                        print(f"  sent empty RDMA {form} as RTR: {f.hex()}")
                        time.sleep(PAUSE)
                        s.sendall(f)
                        if form == "read":
                            show_fpdu(s, reply[16] & C)
                else:
                    print(f"  no reply: {why}")
            if not reply or reply[16] & R:   # siw ended it without rping: give rping one that ends it
                with socket.create_connection(("127.0.0.1", host_port), timeout=5) as s:
                    s.sendall(frame(REQ, 0, 1))
                    recv_frame(s)
        elif line.strip():
            print("  guest:", line.strip()[:160])
    return g.wait()


def client():
    replies = [
        ("rev 2, S, IRD=1 ORD=1", S, frame(REP, S, 2, v2(1, 1))),
        ("rev 2, S+C, IRD=1 ORD=1", S | C, frame(REP, S | C, 2, v2(1, 1))),
        ("rev 1, C", C, frame(REP, C, 1)),
        ("rev 2, C, no S", C, frame(REP, C, 2)),
        ("rev 2, S+C, IRD=0 ORD=0", S | C, frame(REP, S | C, 2, v2(0, 0))),
        ("rev 2, S+C+R (reject)", R, frame(REP, S | C | R, 2, v2(1, 1))),
        ("rev 2, S+M (markers)", M, frame(REP, S | M, 2, v2(1, 1))),
    ]
    srv = socket.create_server(("127.0.0.1", 0))
    port = srv.getsockname()[1]
    g = guest([], f"""
        for i in $(seq {len(replies)}); do
            timeout 10 rping -c -a 10.0.2.2 -p {port} -v -C 1 >/tmp/log 2>&1
            echo "status $? $(tr '\\n' ';' </tmp/log)"
        done""")
    srv.settimeout(30)
    for label, flags, reply in replies:
        with srv.accept()[0] as s:
            s.settimeout(5)
            print(f"answer: {label}")
            show("request", recv_frame(s))
            s.sendall(reply)
            show("reply  ", reply)
            try:
                show_fpdu(s, flags & C)
            except (socket.timeout, ConnectionResetError) as e:
                print("  no FPDU:", type(e).__name__)
        print("  guest:", g.stdout.readline().strip()[:200])
    return g.wait()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("server", "client"):
        sys.exit(__doc__)
    sys.stdout.reconfigure(line_buffering=True)
    try:
        sys.exit({"server": server, "client": client}[sys.argv[1]]())
    finally:
        for g in GUESTS:
            g.terminate()
