#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkrun --nbd and the nbdkit plugin, with stock clients. usage: nbd_test.py NDKRUN PLUGIN DRIVERS [SANITIZER]

The driver blockdisk is a memory-backed disk, to which faults can be ordered by a write to its last block. All runs have
all checks on, and must end without a report, except where a test says so.
"""
import json
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

import nbd_client
from nbd_client import EINVAL, EIO, ENOSPC, EPERM, FLUSH, FUA, OK, READ, TRIM, WRITE, ZERO

NDKRUN, PLUGIN, DRIVERS = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
SANITIZER = ''.join(sys.argv[4:]) # with which all but nbdkit is built
BLOCK, BLOCKS = 512, 16384
FAIL, BUSY, ATTENTION, HANG, RESIZE, REMOVE, DELAY, LEAK, SHORT = range(1, 10)
failures = 0
folder = pathlib.Path(tempfile.mkdtemp())
disk = str(DRIVERS / 'blockdisk.so')


def check(name, condition, seen=None):
    global failures
    failures += not condition
    if not condition:
        print(f'{name}: FAILED, saw {seen!r}', flush=True)
        if 'CMOCKA_TEST_ABORT' in os.environ: # one failure is enough for run_mutants.py
            os._exit(1)


def command(*words, code=0):
    """Runs a program, checks its exit status, and returns its output."""
    p = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    check(f'{words[0]}: exit status {code}', p.returncode == code, (words, p.returncode, p.stdout, p.stderr))
    return p.stdout + p.stderr


class Server:
    """A run of ndkrun --nbd, or of nbdkit."""

    def __init__(self, *options, words=None, verify='stop,full,stall=0'):
        self.socket = folder / 'socket'
        self.log = folder / 'log'
        words = words or [NDKRUN, '--nbd', self.socket, '--verify', verify, '--json', *options, disk]
        with open(self.log, 'w', encoding='utf-8') as log, open(folder / 'json', 'w', encoding='utf-8') as summary:
            self.process = subprocess.Popen([str(word) for word in words], stdout=summary, stderr=log, cwd=folder)

    def wait_until(self, text):
        while text not in self.text():
            if self.process.poll() is not None:
                raise EOFError(self.text())
            time.sleep(0.01)

    def connect(self, export=''):
        """Connects as soon as the server listens at its socket."""
        while True:
            try:
                return nbd_client.Client(self.socket, export)
            except (FileNotFoundError, ConnectionRefusedError):
                if self.process.poll() is not None:
                    raise EOFError(self.text()) from None
                time.sleep(0.01)

    def uri(self, export=''):
        self.connect(export).close()
        return f'nbd+unix:///{export}?socket={self.socket}'

    def text(self):
        return self.log.read_text(encoding='utf-8', errors='replace')

    def stop(self, name, code=0, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait(name, code)

    def wait(self, name, code=0):
        """Waits for the end, checks the exit status and the reports, and returns the output."""
        status = self.process.wait()
        text = self.text()
        check(f'{name}: exit status {code}', status == code, (status, text))
        if code == 0:
            check(f'{name}: no report', 'ndkrun: nothing left, no rule broken' in text and '***' not in text, text)
        check(f'{name}: the socket is removed', not self.socket.exists())
        return text


def counters(text):
    """Returns what the driver has executed."""
    found = re.search('blockdisk: (.*)', text)
    pairs = [part.rsplit(' ', 1) for part in found.group(1).split(', ')] if found else []
    return {name: int(number) for name, number in pairs}


def send_order(client, verb, *arguments):
    data = struct.pack('<8s5I', b'BLKORDER', verb, *arguments, *[0] * (4 - len(arguments)))
    return client.write((BLOCKS - 1) * BLOCK, data.ljust(BLOCK, b'\0'))


def order(client, verb, *arguments):
    check('an order', send_order(client, verb, *arguments) == OK, verb)


def pattern(size, seed=1):
    word = seed.to_bytes(4, 'little')
    return b''.join((i * 2654435761 & 0xffffffff).to_bytes(4, 'little') + word for i in range(size // 8))


# ---- Stock programs --------------------------------------------------------------------------------------------------

def stock_clients():
    source, target, image = folder / 'in', folder / 'out', folder / 'image'
    source.write_bytes(pattern(BLOCK * BLOCKS))
    server = Server('--reg', 'Units=dword:2')
    uri = server.uri()
    exports = json.loads(command('nbdinfo', '--list', '--json', uri))['exports']
    check('nbdinfo lists the units', [e['export-name'] for e in exports] == ['0:0:0', '0:0:1'], exports)
    info = exports[0]
    seen = [info[key] for key in ('description', 'export-size', 'is_read_only', 'can_flush', 'can_fua', 'can_trim',
                                  'can_zero', 'can_multi_conn', 'block_size_minimum', 'block_size_preferred')]
    check('nbdinfo shows the unit', seen == ['OpenNDK Block disk 1.0', BLOCK * BLOCKS, False, True, True, True, True,
                                             True, 512, 16384], seen)
    command('nbdcopy', '--flush', source, uri)
    command('nbdcopy', uri, target)
    check('nbdcopy: the same bytes', target.read_bytes() == source.read_bytes())

    second = server.uri('0:0:1')
    command('qemu-img', 'convert', '-n', '-f', 'raw', '-O', 'raw', source, second)
    command('qemu-img', 'compare', '-f', 'raw', '-F', 'raw', source, second)
    command('qemu-img', 'convert', '-f', 'raw', '-O', 'qcow2', second, folder / 'qcow2')
    command('qemu-img', 'compare', '-f', 'qcow2', '-F', 'raw', folder / 'qcow2', uri)

    tree = folder / 'tree'
    tree.mkdir()
    for i in range(50):
        (tree / f'file{i}').write_bytes(pattern(i * 1000, i))
    command('mke2fs', '-q', '-F', '-d', tree, image, '4M')
    command('nbdcopy', image, second)
    target.unlink()
    command('nbdcopy', second, target)
    os.truncate(target, image.stat().st_size)
    command('e2fsck', '-fn', target)
    check('a file system: the same bytes', target.read_bytes() == image.read_bytes())
    seen = counters(server.stop('stock clients'))
    check('nbdcopy --flush arrives', seen['flushes'] > 0, seen)
    check('transfers are split at the limit of the unit', seen['largest'] == 64 * BLOCK, seen)


def kernel_client():
    if not pathlib.Path('/dev/nbd0').exists() or not shutil.which('nbd-client'):
        print('nbd-client: skipped, because /dev/nbd0 or the program nbd-client does not exist')
        return
    server = Server()
    server.uri()
    command('nbd-client', '-unix', server.socket, '/dev/nbd0')
    command('mke2fs', '-q', '-F', '/dev/nbd0')
    command('e2fsck', '-fn', '/dev/nbd0')
    command('nbd-client', '-d', '/dev/nbd0')
    server.stop('nbd-client')


# ---- Requests --------------------------------------------------------------------------------------------------------

def requests():
    data = pattern(1 << 20)
    server = Server('--reg', 'Pages=dword:7') # one page is reserved, because data may begin inside a page
    c = server.connect()
    check('the size', c.size == BLOCK * BLOCKS, c.size)
    check('a large write', c.write(BLOCK, data) == OK)
    check('a large read', c.read(BLOCK, len(data)) == (OK, data))
    check('a write with FUA', c.write(0, data[:BLOCK], FUA) == OK)
    check('trim', c.request(TRIM, BLOCK, 2500 * BLOCK) == OK)
    check('trimmed blocks are zero', c.read(BLOCK, len(data)) == (OK, bytes(len(data))))
    check('another write', c.write(BLOCK, data) == OK)
    check('zero', c.request(ZERO, 2 * BLOCK, 2046 * BLOCK) == OK)
    check('zero with FUA', c.request(ZERO, 2048 * BLOCK, BLOCK, FUA) == OK)
    check('zeroed blocks are zero, the others are not', c.read(0, len(data)) ==
          (OK, (data[:BLOCK] + data[:BLOCK]).ljust(len(data), b'\0')))
    check('flush', c.request(FLUSH) == OK)
    for offset, length in ((1, BLOCK), (0, BLOCK + 1), (BLOCK // 2, BLOCK // 2)):
        check('an unaligned read', c.read(offset, length)[0] == EINVAL, (offset, length))
        check('an unaligned write', c.write(offset, bytes(length)) == EINVAL, (offset, length))
        check('an unaligned trim', c.request(TRIM, offset, length) == EINVAL, (offset, length))
        check('an unaligned zero', c.request(ZERO, offset, length) == EINVAL, (offset, length))
    c.close()
    text = server.stop('requests', number=signal.SIGINT)
    seen = counters(text)
    check('an unaligned request has a message', 'multiples of its block size, 512 bytes' in text, text)
    check('the transfers obey the limit of the adapter in pages', seen['largest'] == 24576, seen)
    check('1 MiB in 43 writes, twice, and one write', seen['writes'] == 2 * 43 + 1, seen)
    check('FUA arrives', seen['fua'] == 1, seen)
    check('UNMAP is split, WRITE SAME is split', (seen['unmaps'], seen['write sames']) == (3, 3), seen)
    check('flushes: one, and one for a zero with FUA', seen['flushes'] == 2, seen)


def other_units():
    server = Server('--reg', 'Modern=dword:0', '--reg', 'MaxTransfer=dword:1024')
    c = server.connect('0:0:0')
    check('an old unit: no trim', not c.flags & 32, c.flags)
    check('an old unit: zero is written', c.write(0, b'1' * 4096) == c.request(ZERO, 0, 2048) == OK and
          c.read(0, 4096) == (OK, bytes(2048) + b'1' * 2048))
    check('an old unit: flush and FUA without a cache', c.request(FLUSH) == c.write(0, bytes(512), FUA) == OK)
    c.close()
    seen = counters(server.stop('an old unit'))
    check('an old unit: nothing unknown is sent', seen['write sames'] == 0, seen)
    check('the transfers obey the limit of the adapter in bytes', seen['largest'] == 1024, seen)

    server = Server('--reg', 'BlockSize=dword:4096', '--reg', 'Blocks=dword:1024', '--reg', 'NoWriteSame=dword:1',
                    '--reg', 'Pages=dword:1')
    c = server.connect()
    check('blocks of 4096 bytes', (c.size, c.block_sizes[0]) == (4 << 20, 4096), (c.size, c.block_sizes))
    check('WRITE SAME is refused: zeros are written', c.write(0, b'1' * 8192) == c.request(ZERO, 0, 4096) == OK and
          c.read(0, 8192) == (OK, bytes(4096) + b'1' * 4096))
    c.close()
    text = server.stop('blocks of 4096 bytes')
    check('WRITE SAME is refused: no error', 'error' not in text, text)
    check('an adapter with one page', counters(text)['largest'] == 4096, text)

    for options in (('--reg', 'ReadOnly=dword:1', '--reg', 'Modern=dword:2'), ('--nbd-read-only',)):
        server = Server(*options)
        c = server.connect()
        check('the size, also if READ CAPACITY(16) returns zeros', c.size == 16384 * BLOCK, c.size)
        check('read-only: the flag', c.flags & 2, c.flags)
        check('read-only: a write', c.write(0, bytes(512)) == EPERM)
        check('read-only: a read', c.read(0, 512) == (OK, bytes(512)))
        c.close()
        server.stop('read-only')

    server = Server('--reg', 'Huge=dword:1', '--reg', 'Pages=dword:0')
    c = server.connect()
    check('a huge unit: the size', c.size == BLOCK << 33, c.size)
    check('a huge unit: blocks behind 2^32', c.write((5 << 30) * BLOCK + 4096, b'1' * 512, FUA) == OK and
          c.read((5 << 30) * BLOCK, 8192) == (OK, bytes(4096) + b'1' * 512 + bytes(3584)))
    c.close()
    seen = counters(server.stop('a huge unit'))
    check('a huge unit: commands of 16 bytes', (seen['long'], seen['fua']) == (2, 1), seen)
    check('a page limit of 0 is none', seen['largest'] == 8192, seen)

    server = Server('--reg', 'BlockSize=dword:520')
    try:
        server.connect()
        check('blocks of 520 bytes are refused', False)
    except (nbd_client.Refused, EOFError):
        pass
    check('blocks of 520 bytes have a message', 'unit 0:0:0: its block size' in server.stop('blocks of 520 bytes'))


def parallel():
    server = Server()
    c = server.connect()
    order(c, DELAY, 20000)
    for kind in (WRITE, READ):
        sent = [c.send(kind, i * 4096, 4096, pattern(4096, i) if kind == WRITE else b'') for i in range(100)]
        answers = [c.wait(number) for number in sent]
        check('100 requests at once', all(error == OK for error, _ in answers), answers)
    check('100 requests at once: the data', [data for _, data in answers] == [pattern(4096, i) for i in range(100)])
    c.close()
    seen = counters(server.stop('parallel'))
    check("the unit's queue of 32 is full, and never exceeded", seen['most at once'] == 32, seen)


# ---- Failures --------------------------------------------------------------------------------------------------------

def failing_units():
    server = Server('--reg', 'Units=dword:2')
    c = server.connect()
    for sense, wanted in (((3, 0x11, 0), EIO), ((7, 0x27, 0), EPERM), ((7, 0x27, 7), ENOSPC), ((5, 0x21, 0), ENOSPC),
                          ((5, 0x20, 0), EINVAL), ((2, 0x3a, 0), EIO)):
        order(c, FAIL, 64, *sense)
        error = c.write(60 * BLOCK, bytes(8 * BLOCK))
        check(f'sense {sense}', error == wanted, error)
    order(c, FAIL, 64, 3, 0x11, 0)
    check('a read with a medium error', c.read(64 * BLOCK, 4096) == (EIO, b''))
    check('other blocks can be read', c.read(0, 4096) == (OK, bytes(4096)))
    order(c, FAIL, 0xffffffff)
    order(c, BUSY, 2)
    check('busy twice', c.read(0, 4096) == (OK, bytes(4096)))
    order(c, ATTENTION, 3)
    check('three unit attentions', c.read(0, 4096) == (OK, bytes(4096)))
    order(c, ATTENTION, 9)
    check('nine unit attentions', c.read(0, 4096)[0] == EIO)
    check('no further unit attention', c.read(0, 4096) == (OK, bytes(4096)))
    order(c, SHORT, 5)
    check('a short transfer', c.read(0, 4096)[0] == EIO)
    c.close()
    text = server.stop('failing units')
    for words in ('unit 0:0:0: WRITE(10) of 8 blocks at block 60: CHECK CONDITION, MEDIUM ERROR, additional code 0x11,',
                  'UNIT ATTENTION, additional code 0x29', 'READ(10) of 8 blocks at block 0: 3584 of 4096 bytes'):
        check(f'a failure is described: {words}', words in text, text)


def hanging_commands():
    for limit in 1, 10, 60: # a longer one if the limit has ended another command, too
        server = Server('--nbd-timeout', limit, '--reg', 'Units=dword:2')
        try:
            c = server.connect()
            seen = send_order(c, HANG, 7), c.read(0, 4096)[0], send_order(c, HANG, 0xffffffff), c.read(512 * 8, 4096)
            c.close()
        except nbd_client.Refused:
            seen = None
        text = server.stop('a command that hangs')
        if text.count(': STATUS_IO_') == 1:
            break
    check('a command that hangs fails, and the unit works after its reset', seen == (OK, EIO, OK, (OK, bytes(4096))),
          (seen, text))
    words = 'unit 0:0:0: READ(10) of 8 blocks at block 0: STATUS_IO_DEVICE_ERROR'
    check(f'a failure is described: {words}', words in text, text)


def changing_units():
    server = Server('--reg', 'Units=dword:3')
    c = server.connect('0:0:1')
    order(c, RESIZE, 1024)
    check('a shorter unit: a read behind its end', c.read(2048 * BLOCK, BLOCK)[0] == EINVAL)
    check('a shorter unit: a write behind its end', c.write(2048 * BLOCK, bytes(BLOCK)) == ENOSPC)
    new = server.connect('0:0:1')
    check('a shorter unit: the size of a new connection', new.size == 1024 * BLOCK, new.size)
    new.close()
    c.close()
    server.stop('a shorter unit')

    server = Server('--reg', 'Units=dword:3')
    c = server.connect('0:0:1')
    order(c, REMOVE, 1)
    check('a removed unit: a read', c.read(0, BLOCK)[0] == EIO)
    for name in ('0:0:9', '1:0:0', 'disk', '0:0:1'):
        words = f"export '{name}': the adapter has no such disk"
        while words not in server.text(): # until the port has scanned the bus
            try:
                server.connect(name).close()
            except (nbd_client.Refused, EOFError):
                pass
    exports = json.loads(command('nbdinfo', '--list', '--json', server.uri('0:0:0')))['exports']
    check('a removed unit is not listed', [e['export-name'] for e in exports] == ['0:0:0', '0:0:2'], exports)
    c.close()
    text = server.stop('a removed unit')
    check('a removed unit: a message', 'STATUS_DEVICE_DOES_NOT_EXIST' in text, text)


def hanging_up():
    """Clients end while replies are outstanding, as nbdcopy does after an error. The server goes on."""
    source, size = folder / 'in', 1 << 20
    source.write_bytes(pattern(BLOCK * BLOCKS // 2))
    server = Server()
    c = server.connect()
    for attempt in range(10):
        client = server.connect()
        sent = [client.send(READ, i * size, size) for i in range(8)]
        if attempt % 2: # the next request does not arrive completely: the replies do
            client.socket.sendall(struct.pack('>IHHQQI', 0x25609513, 0, WRITE, 99, 0, 4096) + bytes(1000))
            client.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.1) # one thread of the server sends, the others wait for it
        answers = [client.wait(number) for number in sent] if attempt % 2 else []
        check('the replies before an incomplete request', all(a == (OK, bytes(size)) for a in answers))
        client.socket.close()
        check('the server goes on', c.read(0, 512)[0] == OK)
    c.close()
    server.stop('clients that hang up')
    for _ in range(6): # a server each: writes of one nbdcopy may still run when the next one writes the same blocks
        server = Server()
        c = server.connect()
        order(c, FAIL, 64, 3, 0x11, 0)
        command('nbdcopy', '--connections=1', '--requests=32', '--request-size=4096', source, server.uri(), code=1)
        check('the server goes on after nbdcopy', c.read(0, 512)[0] == OK)
        c.close()
        server.stop('nbdcopy that hangs up')


# ---- The end ---------------------------------------------------------------------------------------------------------

def stopping():
    server = Server()
    idle, busy = server.connect(), server.connect()
    order(busy, DELAY, 500000)
    sent = [busy.send(WRITE, i * 4096, 4096, pattern(4096, i)) for i in range(8)]
    check('a request of the other connection', idle.request(FLUSH) == OK)
    server.process.send_signal(signal.SIGTERM)
    answers = [busy.wait(number)[0] for number in sent]
    check('requests in flight are executed', answers == [OK] * 8, answers)
    try:
        idle.receive(1)
        check('an idle connection is closed', False)
    except EOFError:
        pass
    text = server.wait('stop with requests in flight')
    check('requests in flight arrive at the driver', counters(text)['writes'] == 1 + 8, text)
    summary = json.loads((folder / 'json').read_text(encoding='utf-8'))
    check('--json', (summary['tool'], summary['interrupted'], summary['exit']) == ('ndkrun', True, 0), summary)

    for limit in 1, 10, 60: # a longer one if the limit has ended a command before
        server = Server('--nbd-timeout', limit)
        try:
            c = server.connect()
            ordered = send_order(c, HANG, 0)
            c.send(READ, 0, BLOCK)
        except nbd_client.Refused:
            ordered = EIO
        server.stop('stop with a command that hangs')
        if ordered == OK:
            break
    check('an order', ordered == OK, HANG)

    server = Server('--run-for', '0.2')
    server.wait('--run-for')
    summary = json.loads((folder / 'json').read_text(encoding='utf-8'))
    check('--run-for: --json', summary['interrupted'] is False, summary)


def killed():
    server = Server()
    c = server.connect()
    order(c, DELAY, 500000)
    c.send(WRITE, 0, 4096, bytes(4096))
    server.process.kill()
    server.process.wait()
    check('a killed process leaves its socket', server.socket.exists())
    server = Server()
    c = server.connect()
    check('the socket of a killed process is replaced', c.read(0, 512) == (OK, bytes(512)))
    p = subprocess.run([NDKRUN, '--nbd', server.socket, disk], capture_output=True, text=True, check=False)
    check('a socket in use', p.returncode == 2 and 'another process serves' in p.stderr, p)
    c.close()
    server.stop('after a kill')


def findings():
    for verify, code, words in (('report,full', 1, 'rule was broken'), ('stop,full', -signal.SIGABRT, 'bug check')):
        server = Server(verify=verify)
        c = server.connect()
        order(c, LEAK)
        c.close()
        text = server.stop(f'a leak, {verify}', code)
        check(f'a leak, {verify}: the report', words in text and 'tag Tblk' in text, text)
    text = Server('--timeout', '1').wait('--timeout', 5)
    check('--timeout: the report', 'the run has not ended after 1 seconds' in text, text)


def sanitizer_options():
    """nbdkit receives all of ASAN_OPTIONS, however long they are."""
    if not SANITIZER:
        return
    before = os.environ.get('ASAN_OPTIONS')
    os.environ['ASAN_OPTIONS'] = 'verbosity=0:' * 500 + (before or 'exitcode=77')
    wanted = os.environ['ASAN_OPTIONS']
    server = Server()
    server.connect().close()
    if before is None:
        del os.environ['ASAN_OPTIONS']
    else:
        os.environ['ASAN_OPTIONS'] = before
    environment = pathlib.Path(f'/proc/{server.process.pid}/environ').read_text(encoding='utf-8').split('\0')
    options = [line for line in environment if line.startswith('ASAN_OPTIONS=')]
    check('long ASAN_OPTIONS', options == ['ASAN_OPTIONS=detect_odr_violation=1:' + wanted], options)
    server.stop('long ASAN_OPTIONS')


def failing_starts():
    for name, code, words, options in (
            ('no such driver', 3, 'no such file', ('nobody.so',)),
            ('no adapter', 3, 'no driver has a Storport adapter', (DRIVERS / 'tee.so',)),
            ('a command that fails', 4, 'cannot open Nobody: STATUS_OBJECT_NAME_NOT_FOUND',
             ('--ioctl', 'Nobody:1', disk)),
            ('a wrong setting', 2, 'expected KEY', ('--reg', 'Blocks=5', disk))):
        p = subprocess.run([NDKRUN, '--nbd', folder / 'socket', *map(str, options)], capture_output=True, text=True,
                           check=False)
        check(f'{name}: exit status {code}', p.returncode == code and words in p.stderr, p)
        check(f'{name}: the socket is removed', not (folder / 'socket').exists())
    path = os.environ['PATH']
    os.environ['PATH'] = str(folder)
    p = subprocess.run([NDKRUN, '--nbd', folder / 'socket', disk], capture_output=True, text=True, check=False)
    check('no nbdkit', p.returncode == 2 and 'install the package nbdkit' in p.stderr, p)
    os.environ['PATH'] = path


# ---- nbdkit without ndkrun -------------------------------------------------------------------------------------------

def plugin():
    if SANITIZER:
        print('nbdkit without ndkrun: skipped, because only ndkrun preloads the runtime of a sanitizer')
        return
    socket = folder / 'socket'
    shutil.copy(disk, folder / 'copy.so')
    server = Server(words=['nbdkit', '-f', '-U', socket, '--filter=blocksize', PLUGIN, 'copy.so',
                           'verify=stop,full,stall=0', 'reg=Units=dword:2', f'nbd={socket}'])
    c = server.connect()
    check('the filter blocksize: an unaligned write', c.write(100, b'1' * 1000) == OK)
    check('the filter blocksize: an unaligned read', c.read(99, 1002) == (OK, b'\0' + b'1' * 1000 + b'\0'))
    c.close()
    server.stop('nbdkit openndk')

    for parameter, words in (('frob=1', 'unknown option'), ('net=12=10.0.0.1/8', 'only ndkrun'),
                             ('json=1', 'true is expected'), ('nbd-timeout=0', 'a number from 1')):
        text = command('nbdkit', '-f', '-U', socket, PLUGIN, disk, parameter, code=2)
        check(f'a wrong parameter: {parameter}', words in text, text)
        socket.unlink(missing_ok=True)
    text = command('nbdkit', '-f', '-U', socket, PLUGIN, code=2)
    check('no driver', 'no driver' in text, text)
    check('help', 'a driver that ndk-cc has built' in command('nbdkit', PLUGIN, '--help'))
    text = command('nbdkit', '-U', '-', PLUGIN, disk, '--run', 'nbdinfo --size "$uri"')
    check('nbdkit --run', text.split()[0] == str(BLOCK * BLOCKS), text)


def main():
    for program in ('nbdkit', 'nbdcopy', 'nbdinfo', 'qemu-img', 'mke2fs'):
        if not shutil.which(program):
            print(f'skipped, because {program} is not installed: scripts/deps.sh test')
            return 77
    for test in (stock_clients, kernel_client, requests, other_units, parallel, failing_units, hanging_commands,
                 changing_units, hanging_up, stopping, killed, findings, sanitizer_options, failing_starts, plugin):
        begin = time.monotonic()
        test()
        print(f'{test.__name__}: {time.monotonic() - begin:.1f} s')
    shutil.rmtree(folder)
    return failures > 0


sys.exit(main())
