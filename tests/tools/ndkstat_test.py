#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkstat with other processes: lists, counters, JSON, rounds, and misbehaving processes."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from stat_kit import (CONSUMER, HEADING, LIMIT, LOOPBACK, NDKPING, NDKSTAT, Consumer, Server, cells, check, entering,
                      finish, rows, stat)


def nothing_runs():
    code, out, err = stat()
    check("nothing runs: headings and a word",
          code == 0 and not err and HEADING in out.splitlines() and
          "no process with an open adapter" in out and not rows(out), (code, out, err))
    code, out, err = stat("--counters")
    check("nothing runs: counters", code == 0 and "RDMA Activity" in out and "no process" in out, (code, out, err))
    code, out, err = stat("--json")
    check("nothing runs: JSON", code == 0 and not err and out.count("\n") == 1 and list(json.loads(out)) ==
          ["tool", "version", "format", "processes"] and json.loads(out)["processes"] == [], (code, out, err))
    code, out, err = stat("--pid", "1")
    check("nothing runs: a process", code == 1 and "process 1 has no open adapter" in err, (code, out, err))


def lists(c):
    it, pid = c.is_, c.is_["pid"]
    expected = [("Connection", it["active"], it["passive"], pid, None),
                ("Connection", it["passive"], it["active"], pid, None),
                ("Listener", it["passive"], "-", pid, None), ("Shared endpoint", it["endpoint"], "-", pid, None)]
    for options in ((), ("-xan",), ("--pid", str(pid))):
        code, out, err = stat(*options)
        check(f"lists {options}", code == 0 and not err and rows(out) == sorted(expected, key=str), (code, out, err))
        check(f"lists {options}: heading", out.splitlines()[1] == HEADING, out)
        check(f"lists {options}: the process and the age", {r["Process"] for r in cells(out)} == {"stat_consumer"} and
              all(re.fullmatch(r"\d+s|\d+m\d\ds" if r["Type"] == "Connection" else "-", r["Age"])
                  for r in cells(out)), out)
    code, out, err = stat("--state")
    states = {"Connection": "established", "Listener": "listening", "Shared endpoint": "open"}
    expected = [(*row[:4], states[row[0]]) for row in expected]
    check("lists with state", code == 0 and not err and rows(out) == sorted(expected, key=str), (code, out, err))
    check("roles", {(r["Local Address"], r["Role"]) for r in cells(out) if r["Type"] == "Connection"} ==
          {(it["active"], "initiated"), (it["passive"], "accepted")}, out)
    filters(it, expected)


UNADDRESSED = ("queue_pairs", "protection_domains", "completion_queues", "memory_regions", "memory_windows")


def filters(it, everything):
    port = it["passive"].rsplit(":", 1)[1]
    host = it["passive"].rsplit(":", 1)[0]
    for options, kept in {("--address", it["endpoint"]): lambda r: r[1] == it["endpoint"],
                          ("--address", f":{port}"): lambda r: it["passive"] in r[1:3],
                          ("-A", host.strip("[]")): lambda r: True, ("-A", "192.0.2.1"): lambda r: False,
                          ("--address", f"192.0.2.1:{port}"): lambda r: False,
                          ("--state=listening,OPEN",): lambda r: r[4] in ("listening", "open"),
                          ("--state", "closing"): lambda r: False}.items():
        code, out, err = stat("--state", *options)
        check(f"filter {options}", code == 0 and not err and rows(out) ==
              sorted((r for r in everything if kept(r)), key=str), (code, out, err))
    code, out, err = stat("--json", "--address", it["endpoint"])
    adapters = json.loads(out)["processes"][0]["adapters"]
    check("filter of JSON", code == 0 and not any(a["connections"] + a["listeners"] for a in adapters) and
          sum(len(a["shared_endpoints"]) for a in adapters) == 1, out)
    check("objects that no connection with the address uses",
          not any(a[name] for a in adapters for name in UNADDRESSED),
          out)
    code, out, err = stat("--json", "--address", it["active"])
    adapters = json.loads(out)["processes"][0]["adapters"]
    used = {c["qp"] for a in adapters for c in a["connections"]}
    check("objects that a connection with the address uses", used and
          used == {q["id"] for a in adapters for q in a["queue_pairs"]} and
          all(a["queue_pairs"] == [] or a["protection_domains"] and a["completion_queues"] for a in adapters), out)


def snapshot(c):
    code, out, err = stat("--json")
    check("JSON is one line", code == 0 and not err and out.count("\n") == 1, (code, out, err))
    processes = json.loads(out)["processes"]
    check("JSON: the process", [p["pid"] for p in processes] == [c.is_["pid"]] and processes[0]["format"] == 1, out)
    by_number = sorted(processes[0]["adapters"], key=lambda a: a["adapter"])
    check("JSON: its adapters", [(a["adapter"], a["if_index"], a["if_name"], a["ndk_version"]) for a in by_number] ==
          [(1, LOOPBACK, "lo", "2.1"), (2, LOOPBACK, "lo", "2.1")], out)
    return by_number


def counters_and_json(c):
    it = c.is_
    active, passive = snapshot(c)
    connection = active["connections"][0]
    check("JSON: a connection", (active["connection_count"], connection["role"], connection["state"],
                                 connection["local"], connection["foreign"]) ==
          (1, "initiated", "established", it["active"], it["passive"]), connection)
    check("JSON: what the two sides have agreed on", [(a["connections"][0]["mpa_revision"], a["connections"][0]["crc"])
          for a in (active, passive)] == [(2, True)] * 2, (active, passive))
    check("JSON: its other end", passive["connections"][0]["role"] == "accepted" and
          passive["connections"][0]["local"] == it["passive"], passive)
    limits = {"waiting": 0, "backlog": 1024, "abandoned": 0, "max_unfinished": 0, "paused": False}
    listening = passive["listeners"][0].pop("max_unfinished")
    check("JSON: listeners", active["listeners"] == [{"id": 1, "state": "idle", "local": None, "connections": 0,
                                                      **limits}] and
          {**passive["listeners"][0], "max_unfinished": 0} == {"id": 1, "state": "listening", "local": it["passive"],
                                                               "connections": 1, **limits} and 0 < listening <= 1024,
          (active, passive))
    check("JSON: endpoints", active["shared_endpoints"] == [{"id": 1, "state": "open", "local": it["endpoint"],
                                                             "connections": 0}] and
          not passive["shared_endpoints"], (active, passive))
    check("JSON: the connection's parts", connection["qp"] == active["queue_pairs"][0]["id"] and
          passive["connections"][0]["listener"] == 1 and 0 < connection["age_ns"] < LIMIT * 10**9, (active, passive))
    qp = active["queue_pairs"][0]
    check("JSON: the queue pair's parts", qp["state"] == "connected" and
          qp["pd"] == active["protection_domains"][0]["id"] and
          qp["receive_cq"] == active["completion_queues"][0]["id"], active)
    check("JSON: a region", [(m["state"], m["length"], m["remote_write"]) for m in active["memory_regions"]] ==
          [("registered", 4 << 20, True)] and int(active["memory_regions"][0]["address"], 16) > 0, active)
    check("JSON: lists and their lengths", all(len(active[k[:-len("_count")] + "s"]) == active[k]
          for k in active if k.endswith("_count")), active)
    check("JSON: limits", active["limits"]["MaxInboundReadLimit"] == 64 and active["limits"]["MaxCallerData"] == 252,
          active["limits"])
    check("JSON: counters", [active["counters"][k] for k in ("initiated_connections", "active_connections",
                             "accepted_connections", "connection_errors")] == [1, 1, 0, 0], active["counters"])
    code, out, err = stat("--counters")
    blocks = re.split(r"\nRDMA Activity\(lo\), ", out)[1:]
    check("counters: a block for each adapter", code == 0 and len(blocks) == 2 and
          all(b.startswith(f"IfIndex {LOOPBACK}, PID {it['pid']}, NDK 2.1, stat_consumer\n") for b in blocks), out)
    values = [dict(re.findall(r"^  (\S.*?)  +(\d+)$", b, re.M)) for b in blocks]
    check("counters: connections", sorted((v["RDMA Initiated Connections"], v["RDMA Accepted Connections"],
                                           v["RDMA Active Connections"]) for v in values) ==
          [("0", "1", "1"), ("1", "0", "1")], out)


def ended(c):
    check("data moved", c.go_on() == "exchanged", c)
    check("disconnected", c.go_on() == "disconnected", c)
    active, passive = snapshot(c)
    check("traffic: both sides agree",
          active["counters"]["rdma_out_octets"] == passive["counters"]["rdma_in_octets"] > 0
          and active["counters"]["rdma_out_frames"] == passive["counters"]["rdma_in_frames"] > 0, (active, passive))
    check("no connection is active", active["counters"]["active_connections"] == 0, active)
    code, out, _ = stat()
    check("ended connections are not listed",
          code == 0 and [r[0] for r in rows(out)] == ["Listener", "Shared endpoint"],
          out)
    code, out, _ = stat("--state")
    check("but with --state", code == 0 and [r[4] for r in rows(out)].count("ended") == 2, out)


def watch(c):
    p = subprocess.Popen([*entering, NDKSTAT, "--here", "--counters", "--watch", "0.2", "--rounds", "2"],
                         stdout=subprocess.PIPE,
                         text=True)
    out, _ = p.communicate(timeout=LIMIT)
    check("two rounds of counters", p.returncode == 0 and out.count("RDMA Activity(lo)") == 4, out)
    check("totals first, then rates", out.count("RDMA Inbound Bytes ") == 2 and
          out.count("RDMA Inbound Bytes/sec ") == 2 and
          out.index("Bytes ") < out.index("Bytes/sec"), out)
    check("the rate of a process that does nothing", re.findall(r"Inbound Bytes/sec +(\d+)", out) == ["0", "0"], out)
    code, out, err = stat("--watch=0.01", "--rounds", "3", "--json")
    check("three rounds of JSON", code == 0 and
          [json.loads(line)["processes"][0]["pid"] for line in out.splitlines()] ==
          [c.is_["pid"]] * 3, (out, err))


def rate_of_traffic():
    """Pings in a loop, for traffic in both directions."""
    # Ports that neither the kernel nor the provider gives out by itself, and no other test uses.
    with Server(21601) as server:
        ping(server)
    code, out, err = stat()
    check("killed processes are gone", code == 0 and not rows(out) and not err, (code, out, err))


def ping(server):
    client = subprocess.Popen([NDKPING, "-C", "-ServerAddr", "127.0.0.1:21601", "--count", "100000000", "-q"],
                              stdout=subprocess.PIPE, text=True)
    client.stdout.readline()
    rates = []
    with subprocess.Popen([NDKSTAT, "--counters", "--watch=0.3", "--rounds", "600", "--pid", str(client.pid)],
                          stdout=subprocess.PIPE, text=True) as watch:
        for line in watch.stdout: # until a round in which there was traffic
            found = re.search(r"(?:Bytes|Frames)/sec +(\d+)", line)
            rates += [int(found[1])] if found else []
            if found and len(rates) % 4 == 0 and all(rates[-4:]):
                break
        watch.kill()
    check("rates of a ping", len(rates) >= 4 and all(rates[-4:]), rates)
    code, out, err = stat()
    found = rows(out)
    check("two processes, both ends", code == 0 and {(r[0], r[3]) for r in found} ==
          {("Connection", client.pid), ("Connection", server), ("Listener", server)} and
          {(r[1], r[2]) for r in found if r[0] == "Connection" and r[3] == client.pid} ==
          {(r[2], r[1]) for r in found if r[0] == "Connection" and r[3] == server}, out)
    client.kill()
    client.communicate()


class Impostor:
    """A socket of this process with a published name, and with invalid answers."""

    def __init__(self, *answers, pid=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(f"\0openndk.stat.{pid or os.getpid()}")
        self.socket.listen(4)
        self.answers = answers
        self.thread = threading.Thread(target=self.serve)

    def serve(self):
        for answer in self.answers:
            reader, _ = self.socket.accept()
            if answer is None: # dies between being listed and being read
                self.socket.close()
            else:
                reader.sendall(answer)
            reader.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join(LIMIT)
        self.socket.close()


def impostors():
    me = os.getpid()
    with Impostor(None):
        code, out, err = stat()
    check("a process that dies before it answers", code == 0 and not err and "no process" in out, (code, out, err))
    with Impostor(None):
        code, out, err = stat("--pid", str(me))
    check("that process alone", code == 1 and f"{me} has no open adapter" in err, (code, out, err))
    for name, answer in (("half an answer", b'{"format":1,"pid":'), ("no JSON", b"\xff\x00hello"), ("a number", b"7"),
                         ("escape sequences", b"\x1b]0;title\x07"), ("escapes in a key", b'{"\x1b[31m":tr\x1b[31mue}'),
                         ("too many values", b'{"adapters":[' + b"{}," * 300000 + b"{}]}")):
        with Impostor(answer):
            code, out, err = stat()
        check(name, code == 1 and "its answer " in err and not rows(out) and
              not re.search(r"[^\n -~]", out + err), (code, out, err))
    odd = {"pid": 5, "adapters": [{"if_index": LOOPBACK, "connections": [{"local": "\x1b[31mred", "foreign": 3}],
                                   "listeners": "none", "counters": {"rdma_in_octets": "many"}}, 17]}
    for options in ((), ("--state",), ("--counters",), ("--json",)):
        with Impostor(json.dumps(odd).encode()):
            code, out, err = stat(*options)
        check(f"members of other types {options}", code == 0 and "\x1b" not in out, (code, out, err))
    check("the process id is the kernel's", [p["pid"] for p in json.loads(out)["processes"]] == [me], out)
    with Impostor(b""), Server(21602) as pid:
        code, out, err = stat("--json")
        check("others are shown beside", code == 0 and [p["pid"] for p in json.loads(out)["processes"]] == [pid],
              (code, out, err))


def wide():
    """A process with a very long text does not widen the tables beyond a limit."""
    listeners = [{"state": "listening", "local": "x" * 300000}] + [{"state": "listening", "local": "y"}] * 500
    answer = json.dumps({"adapters": [{"if_index": LOOPBACK, "listeners": listeners}]}).encode()
    for options, limit in ((), 256), (("--csv",), 1024):
        with Impostor(answer):
            code, out, err = stat(*options)
        cut = re.search(r"(x+\.\.\.)[ ,]", out)
        check(f"a long cell {options}", code == 0 and not err and cut and len(cut[1]) == limit and
              max(map(len, out.splitlines())) < limit + 200 and len(out) < 502 * (limit + 200), (code, out[:3000], err))
    for length, shown in (256, "x" * 256), (257, "x" * 253 + "..."):
        with Impostor(json.dumps({"adapters": [{"if_index": LOOPBACK, "listeners": [
                {"state": "listening", "local": "x" * length}]}]}).encode()):
            out = stat()[1]
        check(f"a cell of {length}", [r["Local Address"] for r in cells(out)] == [shown], out)


def many():
    """Each of many connections is found again in the next round, in any order."""
    def answer(second, ids):
        connections = [{"id": i, "state": "established", "local": f"192.0.2.1:{i}", "foreign": None,
                        "counters": {"out_sends": second * i}} for i in ids]
        return json.dumps({"time_ns": second * 10**9, "adapters": [
            {"adapter": 1, "if_index": LOOPBACK, "connections": connections}]}).encode()

    with Impostor(answer(1, range(1, 30001)), answer(2, range(30000, 0, -1))):
        code, out, err = stat("--connections", "--watch=0.01", "--rounds=2")
    rates = [int(r["OutSends"]) for r in cells(out)]
    check("rates of many connections", code == 0 and rates == [*range(1, 30001), *range(30000, 0, -1)],
          (code, out[:1000], err))


class Hostile:
    """Another user's process that listens under any names and answers each reader with one text, or never."""
    USER = 65533

    def __init__(self, names, answer):
        ready, self.ready = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                self.run(names, answer)
            finally:
                os._exit(1)
        os.close(self.ready)
        check("the hostile process listens", os.read(ready, 1) == b"r", names)
        os.close(ready)

    def run(self, names, answer):
        os.setgid(self.USER)
        os.setuid(self.USER)
        sockets = []
        for name in names(os.getpid()):
            sockets.append(socket.socket(socket.AF_UNIX))
            sockets[-1].bind(f"\0openndk.stat.{name}")
            sockets[-1].listen(4)
        os.write(self.ready, b"r")
        while answer is None:
            signal.pause()
        for s in sockets:
            threading.Thread(target=self.answer_all, args=(s, answer), daemon=True).start()
        signal.pause()

    @staticmethod
    def answer_all(s, answer):
        while True:
            reader, _ = s.accept()
            try:
                for part in answer(os.getpid()):
                    reader.sendall(part)
            except OSError:
                pass
            reader.close()

    def __enter__(self):
        return self.pid

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class LateServer:
    """ndkping that listens, in two steps: the test knows its process id before it opens the adapter."""

    def __init__(self, port):
        self.process = subprocess.Popen(["sh", "-c", 'read go; exec "$@"', "sh", NDKPING, "-S", "-ServerAddr",
                                         f"127.0.0.1:{port}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def open(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.process.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def forged(pid):
    listener = {"state": "listening", "local": "192.0.2.7:445"}
    yield json.dumps({"format": 1, "pid": 1, "uid": 0, "foreign": False, "time_ns": 1, "adapters": [
        {"adapter": 1, "if_index": LOOPBACK, "listeners": [listener], "connections": [],
         "shared_endpoints": []}]}).encode()


def endless(pid):
    yield b'{"adapters":["'
    while True:
        yield b"x" * (1 << 20)


def squatted_name():
    """Another user binds a process's name before it opens its adapter: it is still shown, and the user is named."""
    with LateServer(21604) as late:
        pid = late.process.pid
        with Hostile(lambda own: [pid], forged) as hostile:
            late.open()
            for options in ((), ("--pid", str(pid))):
                code, out, err = stat(*options)
                check(f"a process whose name was taken {options}", code == 0 and
                      rows(out) == [("Listener", "127.0.0.1:21604", "-", pid, None)] and "192.0.2.7" not in out and
                      f"process {hostile} of user {Hostile.USER} uses the name of process {pid}" in err,
                      (code, out, err))
            code, out, err = stat("--json")
            check("the same in JSON", code == 0 and [(p["pid"], p["uid"], p["foreign"]) for p in
                  json.loads(out)["processes"]] == [(pid, 0, False)], (code, out, err))


def marked():
    """The data of another user's process is marked with the user, whatever it contains."""
    with Server(21605) as pid, Hostile(lambda own: [own], forged) as hostile:
        code, out, err = stat()
        check("another user's lines are marked", code == 0 and not err and
              rows(out) == [("Listener", "127.0.0.1:21605", "-", pid, None),
                            ("Listener", "192.0.2.7:445", "-", f"{hostile} (uid {Hostile.USER})", None)],
              (code, out, err))
        code, out, err = stat("--counters")
        check("his counters too", code == 0 and f"PID {hostile} (uid {Hostile.USER}), " in out and
              f"PID {pid}, " in out, out)
        code, out, err = stat("--json")
        check("and in JSON", code == 0 and sorted((p["pid"], p["uid"], p["foreign"]) for p in
              json.loads(out)["processes"]) == sorted([(pid, 0, False), (hostile, Hostile.USER, True)]),
              (code, out, err))


def hostile_peers():
    """Processes of another user that never answer, or never stop, do not hide others and do not make the run fail."""
    with Server(21606) as pid:
        with Hostile(lambda own: [f"{own}.{i:x}" for i in range(40)], None) as hostile:
            started = time.monotonic()
            code, out, err = stat()
            check("forty names that never answer", code == 0 and [r[3] for r in rows(out)] == [pid] and
                  f"process {hostile} of user {Hostile.USER}: no answer in time" in err and
                  "30 more such messages" in err, (code, out, err))
            # One wait for all of them: forty would be 200 s.
            check("are waited for at once", time.monotonic() - started < 100, started)
            p = subprocess.run([NDKSTAT, "--here"], capture_output=True, text=True, timeout=LIMIT, user=65534,
                               group=65534)
            check("are not even asked by a third user", p.returncode == 0 and not p.stderr and
                  "41 processes of other users: not shown" in p.stdout, p)
        with Hostile(lambda own: [own], endless) as hostile:
            code, out, err = stat()
            check("an answer without end", code == 0 and [r[3] for r in rows(out)] == [pid] and
                  f"process {hostile} of user {Hostile.USER}: its answer is too long" in err, (code, out, err))


def pid_namespace():
    """A process in another PID namespace is shown with its number in this one."""
    p = subprocess.Popen(["unshare", "-p", "-f", NDKPING, "-S", "-ServerAddr", "127.0.0.1:21607"],
                         stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if not p.stdout.readline():
        print(f"  skipped: no PID namespace can be made: {p.communicate()[1]}")
        return
    pid = int(pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children").read_text())
    for options in ((), ("--pid", str(pid))):
        code, out, err = stat(*options)
        check(f"a process in a PID namespace {options}", code == 0 and not err and
              rows(out) == [("Listener", "127.0.0.1:21607", "-", pid, None)], (code, out, err))
    os.kill(pid, signal.SIGKILL)
    p.communicate()
    with Server(21608) as pid:
        p = subprocess.run(["unshare", "-p", "-f", NDKSTAT, "--here"], capture_output=True, text=True, timeout=LIMIT)
        check("a process outside the reader's PID namespace", p.returncode == 1 and not rows(p.stdout) and
              f"process {pid}: not shown: it is in a PID namespace that cannot be seen from here" in p.stderr, p)


def stopped():
    """A stopped process cannot answer, so it is not waited for."""
    with Server(21609) as pid, Server(21610) as other:
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        code, out, err = stat()
        check("a stopped process", code == 1 and [r[3] for r in rows(out)] == [other] and
              err == f"ndkstat: process {pid}: not read, because it is stopped (state T)\n", (code, out, err))
        code, out, err = stat("--pid", str(pid))
        check("a stopped process that was requested", code == 1 and not out and err.count("\n") == 1, (code, out, err))
        os.kill(pid, signal.SIGCONT)
        code, out, err = stat("--pid", str(pid))
        check("it goes on", code == 0 and not err and [r[3] for r in rows(out)] == [pid], (code, out, err))


def another_user():
    if os.geteuid() != 0:
        print("  skipped: only root can become somebody else")
        return
    with Server(21603) as pid:
        p = subprocess.run([NDKSTAT, "--here"], capture_output=True, text=True, timeout=LIMIT, user=65534, group=65534)
        check("another user's processes are not shown", p.returncode == 0 and not rows(p.stdout) and
              "1 process of other users: not shown" in p.stdout and "no process" not in p.stdout, p)
        p = subprocess.run([NDKSTAT, "--here", "--pid", str(pid)], capture_output=True, text=True, timeout=LIMIT,
                           user=65534, group=65534)
        check("another user's process was requested", (p.returncode, p.stdout, p.stderr) ==
              (1, "", f"ndkstat: process {pid} is of user 0: only that user and root may read it\n"), p)
    squatted_name()
    marked()
    hostile_peers()
    pid_namespace()


def usage():
    for name, options in {"unknown option": ("--nonsense",), "trailing": ("x",), "no pid": ("--pid", "abc"),
                          "rounds alone": ("--rounds", "2"), "seconds": ("--watch", "soon"),
                          "two layouts": ("--json", "--csv"), "two views": ("--objects", "--counters"),
                          "a type": ("--objects=gizmo",), "no address": ("--address", "no such host!"),
                          "port 0": ("-A", ":0"), "a state": ("-s", "bogus"), "a state after a list": ("-s=ended,v",),
                          "an option as a state": ("-sv",), "no state": ("--state=,",)}.items():
        code, out, err = stat(*options)
        check(f"wrong usage, {name}", code == 2 and "ndkstat" in err and not out, (code, out, err))
    code, out, err = stat("-A", "no-such-host.invalid")
    check("a name without an address", code == 1 and "'no-such-host.invalid'" in err and not out, (code, out, err))
    _, _, err = stat("-s", "bogus")
    check("the error names the states", "established" in err and "unbound, bound" in err, err)
    for state in re.findall(r"\w[\w-]*", err.split("The states are ")[-1].splitlines()[0]):
        code, out, err = stat("-s", state.upper())
        check(f"state {state}", code == 0 and not err, (code, out, err))
    code, out, _ = stat("--help")
    check("help", code == 0 and "--watch" in out and "Exit status:" in out, (code, out))


def main():
    os.environ.pop("ONDK_STAT", None)
    nothing_runs()
    for family in "46":
        with Consumer(family) as c:
            lists(c)
            counters_and_json(c)
            watch(c)
            ended(c)
        nothing_runs()
    os.environ["ONDK_STAT"] = "0"
    with Consumer("4"):
        nothing_runs()
    del os.environ["ONDK_STAT"]
    rate_of_traffic()
    impostors()
    wide()
    stopped()
    many()
    another_user()
    usage()
    return finish()


if __name__ == "__main__":
    sys.exit(main())
