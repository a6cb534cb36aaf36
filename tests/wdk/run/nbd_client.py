# SPDX-License-Identifier: MIT
"""A small NBD client: sends single requests, also ones that ordinary clients do not send, and returns the error."""
import socket
import struct

READ, WRITE, DISC, FLUSH, TRIM, ZERO = 0, 1, 2, 3, 4, 6
FUA, NO_HOLE = 1, 2
OK, EPERM, EIO, EINVAL, ENOSPC = 0, 1, 5, 22, 28


class Refused(Exception):
    """The server refused the export."""


class Client:
    def __init__(self, path, export=''):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.sent = 0
        self.replies = {}
        self.reads = {}
        self.size = self.flags = self.block_sizes = None
        magic, option, _ = struct.unpack('>8s8sH', self.receive(18))
        assert (magic, option) == (b'NBDMAGIC', b'IHAVEOPT')
        name = export.encode()
        data = struct.pack('>I', len(name)) + name + struct.pack('>HH', 1, 3)
        self.socket.sendall(struct.pack('>I', 3) + b'IHAVEOPT' + struct.pack('>II', 7, len(data)) + data)
        self.negotiate()

    def negotiate(self):
        while True:
            _, _, kind, length = struct.unpack('>QIII', self.receive(20))
            data = self.receive(length)
            if kind == 1:
                return
            if kind & 0x80000000:
                raise Refused(data.decode())
            if data[:2] == b'\0\0':
                self.size, self.flags = struct.unpack('>QH', data[2:])
            elif data[:2] == b'\0\3':
                self.block_sizes = struct.unpack('>III', data[2:])

    def receive(self, length):
        data = b''
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise EOFError('the server has closed the connection')
            data += part
        return data

    def send(self, kind, offset=0, length=0, data=b'', flags=0):
        """Sends a request and returns its number."""
        self.sent += 1
        if kind == READ:
            self.reads[self.sent] = length
        header = struct.pack('>IHHQQI', 0x25609513, flags, kind, self.sent, offset, length)
        self.socket.sendall(header + data)
        return self.sent

    def wait(self, number):
        """Returns (error, data) of the request."""
        while number not in self.replies:
            magic, error, answered = struct.unpack('>IIQ', self.receive(16))
            assert magic == 0x67446698
            data = self.receive(self.reads[answered]) if answered in self.reads and not error else b''
            self.replies[answered] = error, data
        return self.replies.pop(number)

    def read(self, offset, length):
        return self.wait(self.send(READ, offset, length))

    def write(self, offset, data, flags=0):
        return self.wait(self.send(WRITE, offset, len(data), data, flags))[0]

    def request(self, kind, offset=0, length=0, flags=0):
        return self.wait(self.send(kind, offset, length, b'', flags))[0]

    def close(self):
        self.send(DISC)
        self.socket.close()
