# SPDX-License-Identifier: MIT
"""A client of wskecho: sends a line, and compares what comes back."""
import socket
import sys

with socket.create_connection((sys.argv[1], 9000), timeout=10) as s:
    s.sendall(b"hello, driver")
    s.shutdown(socket.SHUT_WR)
    answer = b"".join(iter(lambda: s.recv(4096), b""))
    print("the driver answers:", answer.decode())
sys.exit(answer != b"hello, driver")
