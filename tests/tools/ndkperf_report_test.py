#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ndkperf: both directions, intervals, the files of --json, --csv and --html, comparing runs, the reason of a failure,
progress on a terminal, and names. The test does not check the measured times."""
import csv
import errno
import io
import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from xml.etree import ElementTree

sys.dont_write_bytecode = True
from ndkperf_runs import LIMIT, NDKPERF, SANITIZED, SHORT, Process, address, check, end, pair, run

MIB = 1048576


def close_to(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b), 1)


# ---- both directions ----

def both(name, *options, server=(), **more):
    """Runs a bidirectional test. Returns the objects of both ends."""
    out, theirs = pair(name, ("--bidirectional", "--json", *options), ("--json", *server), **more)
    return json.loads(out), json.loads(theirs)


def check_both(name, client, server):
    for result, theirs in zip(client["results"], server["results"]):
        ends = result["client"], result["server"]
        check(f"{name}: the server's part is what the server has sent", theirs["own_messages"] == ends[1]["messages"],
              (result, theirs))
        check(f"{name}: the server has received the client's", theirs["messages"] == ends[0]["messages"],
              (result, theirs))
        for member in "messages", "messages_per_second", "bytes_per_second":
            check(f"{name}: the sum of {member}", close_to(result[member], ends[0][member] + ends[1][member]), result)
        for part in ends:
            check(f"{name}: a part's rate", part["messages"] > 0 and close_to(
                part["bytes_per_second"], part["messages_per_second"] * result["size"]) and
                  part["peak_bytes_per_second"] >= part["bytes_per_second"] * 0.999, part)
    check(f"{name}: one result each", len(client["results"]) == len(server["results"]) > 0, (client, server))


BOTH_OPTIONS = {"plain": (), "checked": ("--check", "-s", "1000", "-q", "3", "-t", "7", "--burst", "3"),
                "window of one": ("-t", "1", "--check"), "events": ("--events", "-q", "2"),
                "inline": ("-I", "256", "-s", "200", "--check"), "shallow": ("--profile", "shallow", "-s", "64"),
                "large": ("-s", "1M" if SANITIZED else "4M", "-t", "4", "--check", "-n", "20"),
                "laps": ("-t", "16", "--check", "-n", "100")}


def both_directions():
    for test in "send", "write", "read":
        for name, options in BOTH_OPTIONS.items():
            name = f"{test} in both directions, {name}"
            client, server = both(name, "--test", test, *SHORT, *options,
                                  server=("--events",) if "--events" in options else ())
            check_both(name, client, server)
            count = int(options[options.index("-n") + 1]) if "-n" in options else 300
            wanted = count * client["qps"]
            check(f"{name}: as many as requested", [client["results"][0][end]["messages"] for end in
                                                    ("client", "server")] == [wanted] * 2, client)
        for options in ((), ("--check", "-t", "9")):
            name = f"{test} in both directions by time {options}"
            check_both(name, *both(name, "--test", test, "-D", "0.1", "-a", "--limit", "8", *options))
        text, _ = pair(f"{test} in both directions, columns", ("--bidirectional", "--test", test, *SHORT),
                       server_says=(f"{test} of 65536 bytes: 300 messages of the client, 300 own",))
        lines = [line.split() for line in text.splitlines() if line.startswith(" 65536")]
        check(f"{test} in both directions: three lines", [(line[1], line[-1]) for line in lines] ==
              [("300", "client"), ("300", "server"), ("600", "both")], text)
    for options in ("--latency", "--test", "send"), ("--test", "rperf"), ():
        code, _, err = run("client", "--address", "127.0.0.1:1", "--bidirectional", *options)
        check(f"both directions of {options}", code == 2 and "needs --test send, write or read" in err, err)


def wrong_data_in_both_directions():
    options = ("--bidirectional", "--check", "-s", "1000", "-q", "2", "-t", "5", *SHORT)
    for test in "send", "write":
        for more in ((), ("-i", "0.01")):
            pair(f"wrong data of the client, {test}", ("--test", test, "--corrupt", *options, *more), codes=(3, 3),
                 client_says=("message 0 on queue pair", "found by the server"), server_says=("differs at byte",))
            pair(f"wrong data of the server, {test}", ("--test", test, *options, *more), ("--corrupt",), codes=(3, 0),
                 client_says=("message 0 on queue pair", "found by the client"))
    out, _ = pair("wrong data as JSON", ("--test", "write", "--corrupt", "--json", *options), codes=(3, 3))
    failure = json.loads(out)["failure"]
    check("wrong data as JSON: why", failure["phase"] in ("warmup", "measure") and
          "differs at byte" in failure["text"] and failure["status"] is None, failure)


# ---- intervals and files ----

def check_series(name, result, latency):
    series = result["series"]
    check(f"{name}: several intervals", len(series) > 2, result)
    check(f"{name}: all messages are in one", sum(row["messages"] for row in series) == result["messages"], result)
    check(f"{name}: one begins where the other ends", series[0]["from"] == 0 and
          all(a["to"] == b["from"] for a, b in zip(series, series[1:])) and
          series[-1]["to"] <= result["seconds"] * 1.000001, series) # without messages the last one is left out
    for row in series:
        check(f"{name}: the rate", "client" in row or close_to(
            row["messages_per_second"] * (row["to"] - row["from"]), row["messages"]), row)
        if latency:
            t = row["latency_us"]
            check(f"{name}: quantiles in order", 0 < t["min"] <= t["median"] <= t["p99"] <= t["max"], row)
    if latency:
        check(f"{name}: the longest one is in one", max(row["latency_us"]["max"] for row in series) ==
              result["latency_us"]["max"], result)


def check_csv(name, text, record):
    """The table has the same numbers as the JSON object."""
    table = list(csv.DictReader(io.StringIO(text)))
    for row in table:
        check(f"{name}: no cell too many or too few", None not in row and None not in row.values(), row)
    results = [row for row in table if row["row"] == "result"]
    intervals = [row for row in table if row["row"] == "interval"]
    ends = ("client", "server", "both") if record["bidirectional"] else ("client",)
    check(f"{name}: a row for each result", [row["requests_of"] for row in results] == list(ends) *
          len(record["results"]), results)
    check(f"{name}: a row for each interval", len(intervals) == len(ends) *
          sum(len(result["series"]) for result in record["results"]), (len(intervals), record))
    for result, row in zip(record["results"], results[len(ends) - 1::len(ends)]):
        check(f"{name}: the result's rate", abs(float(row["bytes_per_second"]) - result["bytes_per_second"]) < 1 and
              int(row["messages"]) == result["messages"] and int(row["size"]) == result["size"], (row, result))
        if record["mode"] == "latency":
            check(f"{name}: the result's latency", abs(float(row["latency_median_us"]) -
                                                       result["latency_us"]["median"]) < 0.001, (row, result))


SERIES = {"mean": lambda row: row["bytes_per_second"] / MIB, "both": lambda row: row["bytes_per_second"] / MIB,
          "client": lambda row: row["client"]["bytes_per_second"] / MIB,
          "server": lambda row: row["server"]["bytes_per_second"] / MIB,
          "median": lambda row: row["latency_us"]["median"], "99 %": lambda row: row["latency_us"]["p99"],
          "max": lambda row: row["latency_us"]["max"]}


def plots_of(page):
    """The points of each plot by its title: the texts that a browser shows over them."""
    titles = [e for e in page.iter() if e.tag in ("h2", "svg")]
    return {a.text: [e.text for e in b.iter("title")] for a, b in zip(titles, titles[1:])
            if (a.tag, b.tag) == ("h2", "svg")}


def check_page(name, text, record, curves):
    page = ElementTree.fromstring(text) # fails if it is not well-formed
    check(f"{name}: nothing from elsewhere", not re.search(r'(src|href|url\()|https?:', text.partition("<script")[0]),
          text)
    data = [json.loads(e.text) for e in page.iter("script")]
    check(f"{name}: the record is in it", data == [record], data)
    plots = plots_of(page)
    for result in record["results"]:
        what = "Latency" if record["mode"] == "latency" else "Bandwidth"
        points = plots.get(f"{what} over time, {result['size']} bytes", [])
        for curve in curves:
            wanted = [f"{curve}: {row['to']:.6g}, {SERIES[curve](row):.6g}" for row in result["series"]]
            check(f"{name}: the points of {curve}", [p for p in points if p.startswith(curve + ":")] == wanted,
                  (points, wanted))
    check(f"{name}: a plot over the sizes", len(record["results"]) < 2 or any("by message size" in t for t in plots),
          plots)
    return plots


def intervals_and_files():
    with tempfile.TemporaryDirectory() as directory:
        names = {kind: str(pathlib.Path(directory) / f"run.{kind}") for kind in ("json", "csv", "html")}
        files = [word for kind, name in names.items() for word in (f"--{kind}", name)]
        for test, mode, curves in (("read", (), ("mean",)),
                                   ("send", ("--bidirectional",), ("both", "client", "server")),
                                   ("write", ("--latency", "--histogram"), ("median", "99 %", "max"))):
            name = f"intervals of {test} {mode}"
            for duration in "0.3", "2", "10": # longer on a machine that is too busy for several intervals
                text, _ = pair(name, ("--test", test, *mode, "-D", duration, "-i", "50ms", "-a", "--limit", "4",
                                      *files))
                record = json.loads(pathlib.Path(names["json"]).read_text(encoding="utf-8"))
                if all(len(result["series"]) > 2 for result in record["results"]):
                    break
            for result in record["results"]:
                check_series(name, result, mode[:1] == ("--latency",))
            printed = len(re.findall(r"^ +\d+\.\d+ to +\d+\.\d+ sec: ", text, re.M))
            check(f"{name}: a line for each interval", printed == sum(len(r["series"]) for r in record["results"]),
                  text)
            check_csv(name, pathlib.Path(names["csv"]).read_text(encoding="utf-8"), record)
            plots = check_page(name, pathlib.Path(names["html"]).read_text(encoding="utf-8"), record, curves)
            check(f"{name}: a distribution with a histogram", ("--histogram" in mode) ==
                  ("Distribution of the latency, 2 bytes" in plots), list(plots))
        out, _ = pair("CSV on standard output", ("--csv", "-i", "0.05", "-D", "0.2"))
        check("CSV on standard output: nothing else", out.startswith("row,test,") and
              {line.split(",")[0] for line in out.splitlines()} == {"row", "interval", "result"}, out)
        nowhere = str(pathlib.Path(directory) / "no" / "where")
        for kind in "json", "csv", "html":
            code, _, err = run("client", "--address", "127.0.0.1:1", f"--{kind}", nowhere)
            check(f"--{kind} cannot be opened", code == 2 and nowhere in err and "No such file" in err, err)
            if os.path.exists("/dev/full"):
                pair(f"--{kind} on a full disk", (f"--{kind}", "/dev/full", *SHORT), codes=(6, 0),
                     client_says=("/dev/full: No space left on device",))
    at = address()
    with Process("server", "--address", at) as s:
        client = subprocess.Popen([NDKPERF, "client", "--address", at, "--csv", "-i", "0.1", "-D", "24h"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = [client.stdout.readline() for _ in range(2)] # the names, and a row long before the end
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=LIMIT)
    check("CSV into a pipe during the run", lines[0].startswith("row,") and lines[1].startswith("interval,"), lines)
    code, _, err = run("client", "--address", "127.0.0.1:1", "--json", "--csv")
    check("two on standard output", code == 2 and "only one of" in err, err)


# ---- comparing ----

def saved(directory, name, mode, factor=1.0, **head):
    """A record with two sizes. factor: of all bandwidths and latencies."""
    results = []
    for size in 64, 4096:
        result = {"size": size, "messages": 1000, "bytes_per_second": 1e9 * factor, "client_cpu_us_per_message": 1.0,
                  "server_cpu_us_per_message": None}
        if mode == "latency":
            result["latency_us"] = {key: 10 * factor for key in ("median", "avg", "p99", "p99.9", "max")}
        results.append(result)
    record = {"tool": "ndkperf", "format": 1, "role": "client", "test": "write", "mode": mode, "bidirectional": False,
              "window": 128, "results": results, "failure": None, "interrupted": False, "exit": 0, **head}
    path = pathlib.Path(directory) / name
    path.write_text(json.dumps(record), encoding="ascii")
    return str(path)


def compare(*options):
    return run("compare", *options)


def comparing():
    with tempfile.TemporaryDirectory() as directory:
        base = saved(directory, "base", "bandwidth")
        fast, slow = saved(directory, "fast", "bandwidth", 1.5), saved(directory, "slow", "bandwidth", 0.9)
        for other, options, code, mark in ((base, (), 0, ""), (fast, (), 0, "better"), (slow, (), 1, "worse"),
                                           (slow, ("--threshold", "11"), 0, "")):
            got, out, err = compare(base, other, *options)
            check(f"compare {other} {options}", got == code and not err and len(re.findall(mark + "$", out, re.M)) >= 2,
                  (got, out, err))
            record = json.loads(pathlib.Path(other).read_text(encoding="ascii"))
            ratio = record["results"][0]["bytes_per_second"] / 1e9
            check(f"compare {other}: the ratio", out.count(f" {ratio:.3f}") >= 2, out)
        quick, late = saved(directory, "quick", "latency", 1.0), saved(directory, "late", "latency", 1.2)
        got, out, err = compare(quick, late, "--json")
        check("compare as JSON: who wrote it",
              list(json.loads(out).items())[2:4] == [("format", 1), ("role", "compare")],
              out)
        rows = json.loads(out)["rows"]
        check("compare latencies", got == 1 and all(row["change"] == ("worse" if "usec" in row["value"] and
              "CPU" not in row["value"] else None) for row in rows), rows)
        check("compare latencies: what decides", json.loads(out)["worse"] == 6, out)
        check("compare latencies, the other way round", compare(late, quick)[0] == 0, "")
        got, out, _ = compare(base, fast, "--csv")
        table = list(csv.DictReader(io.StringIO(out)))
        check("compare as CSV", got == 0 and [row["change"] for row in table if row["value"] == "MB/sec"] ==
              ["better"] * 2, out)
        other = saved(directory, "other", "bandwidth", window=64, exit=1)
        code, out, _ = compare(base, other)
        check("compare different settings", code == 1 and "window is 128 in A, 64 in B" in out and
              "B did not end well" in out, out)
        compare_broken_off(directory, base)
        page = str(pathlib.Path(directory) / "page.html")
        check("compare as a page", compare(base, slow, "--html", page)[0] == 1, "")
        drawn = ElementTree.fromstring(pathlib.Path(page).read_text(encoding="utf-8"))
        curves = {point.split(":")[0] for point in plots_of(drawn)["Bandwidth by message size"]}
        check("compare as a page: both curves", curves == {"A mean", "B mean"}, curves)
        check("compare as a page: marks", len([e for e in drawn.iter("td") if e.get("class") == "bad"]) == 2, page)
        compare_foreign_text(directory, base)
        compare_strange_name(directory, base)
        compare_errors(directory, base, quick)


def compare_broken_off(directory, base):
    """A run that broke off is worse, even if the values that it has are not."""
    record = json.loads(pathlib.Path(base).read_text(encoding="ascii"))
    first, second = record["results"]
    for name, exit_code, results, missing in (
            ("a size", 0, [first], 1), ("a value", 0, [first, {**second, "bytes_per_second": None}], 1),
            ("its end", 1, [first, second], 0), ("both", 1, [first], 1)):
        part = saved(directory, "part", "bandwidth", results=results, exit=exit_code)
        code, out, _ = compare(base, part)
        check(f"compare a run without {name}", code == 1 and ("B did not end well" in out) == bool(exit_code) and
              ("1 of 2 deciding values is missing in B" in out) == bool(missing), out)
        code, out, _ = compare(base, part, "--json")
        whole = json.loads(out)
        lost = [(row["size"], row["b"], row["ratio"]) for row in whole["rows"] if row["change"] == "missing"]
        check(f"compare a run without {name} as JSON", code == 1 and whole["exit"] == {"a": 0, "b": exit_code} and
              whole["missing"] == missing and lost == [(4096, None, None)] * missing and whole["worse"] == 0, whole)
        code, out, _ = compare(base, part, "--csv")
        rows = [row for row in csv.DictReader(io.StringIO(out)) if row["change"]]
        wanted = [("MB/sec", "", "missing")] * missing + [("exit code", str(exit_code), "worse")] * exit_code
        check(f"compare a run without {name} as CSV", code == 1 and
              [(row["value"], row["b"], row["change"]) for row in rows] == wanted, out)
        check("compare it the other way round", compare(part, base)[0] == 0, part)


def compare_foreign_text(directory, base):
    """Text of a file reaches neither the terminal nor JSON as it is."""
    odd = saved(directory, "odd", "bandwidth", test="\x1b[2J\x9b2J")
    for options in (), ("--json",):
        code, out, err = compare(base, odd, *options)
        check(f"compare foreign text {options}", code == 0 and "\\u001b[2j\\u009b2j" in (out + err).lower() and
              not set("\x1b\x9b") & set(out + err), (code, out, err))
    for content in b'[\x1b]', b'{"a\xc2\x9bb\x1b[2J":}':
        path = pathlib.Path(directory) / "foreign"
        path.write_bytes(content)
        code, out, err = compare(base, str(path))
        check(f"compare {content!r}", code == 2 and "line 1" in err and not set("\x1b\x9b") & set(err),
              (code, out, err))


def compare_strange_name(directory, base):
    """A file's name that is not UTF-8 is escaped."""
    name = os.path.join(os.fsencode(directory), b"strange\xff\x1b")
    os.link(base, name)
    code, out, err = compare(name, base, "--json")
    check("compare a strange name as JSON", code == 0 and json.loads(out or "{}").get("a", "").endswith(
        "/strange\\xff\\x1b") and "\x1b" not in err, (code, out, err))
    code, out, err = compare(name, name)
    check("compare a strange name", code == 0 and out.count("/strange\\xff\\x1b\n") == 2, (code, out, err))


def compare_errors(directory, base, quick):
    path = pathlib.Path(directory) / "broken"
    path.write_text("{", encoding="ascii")
    server = saved(directory, "server", "bandwidth", role="server")
    none = saved(directory, "none", "bandwidth", results=[])
    later = saved(directory, "later", "bandwidth", format=2)
    for name, words, text in (("no file", (base, "/no/where"), "No such file"),
                              ("no JSON", (base, str(path)), "line 1"),
                              ("one file", (base,), "two files are expected"),
                              ("three files", (base, base, base), "only two files"),
                              ("another mode", (base, quick), "bandwidths, the other one latencies"),
                              ("a server's", (base, server), "not a run"),
                              ("nothing in common", (base, none), "no size"),
                              ("another format", (base, later), "not a run"),
                              ("a bad threshold", (base, base, "--threshold", "-1"), "0 to 1000")):
        code, out, err = compare(*words)
        check(f"compare, {name}", code == 2 and text in err, (code, out, err))
    with subprocess.Popen([NDKPERF, "compare", "-", base], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.communicate(pathlib.Path(base).read_bytes(), timeout=LIMIT)
    check("compare standard input", p.returncode == 0, p.returncode)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "w", encoding="ascii") as full:
            code = subprocess.run([NDKPERF, "compare", base, base], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT,
                                  check=False).returncode
        check("compare on a full disk", code == 6, code)
    out, _ = pair("a run to compare", ("--json", "--test", "read", *SHORT))
    path.write_text(out, encoding="utf-8")
    check("compare a real run with itself", compare(str(path), str(path))[0] == 0, out)


# ---- failures ----

def failure_of(out, **wanted):
    """The object of --json has a failure with these members, and texts to read."""
    failure = json.loads(out)["failure"]
    return all(failure[key] == value for key, value in wanted.items()) and bool(failure["text"])


def failures_with_reasons():
    code, out, _ = run("client", "--address", address(), "--json")
    check("no listener", code == 1 and failure_of(out, phase="connect", step="NdkConnect", reason="refused",
                                                  status="STATUS_CONNECTION_REFUSED") and
          "Start the server" in json.loads(out)["failure"]["advice"], out)
    code, out, _ = run("client", "--address", "192.0.2.77:1", "--json")
    check("no route", code == 1 and failure_of(out, phase="open") and "no route" in out, out)
    code, out, _ = run("server", "--address", "192.0.2.77:1", "--json")
    check("another host's address", code == 1 and failure_of(out, phase="open") and "192.0.2.77" in out, out)
    code, out, _ = run("client", "--address", "no-such-host.invalid:1", "--json")
    check("no such name", code == 1 and failure_of(out, phase="resolve") and "no-such-host.invalid" in out, out)
    code, out, _ = run("server", "--address", address(), "-W", "0.2", "--json")
    check("no client", code == 4 and failure_of(out, phase="wait", status=None), out)
    at = address()
    with Process("server", "--address", at) as s:
        code, out, _ = run("server", "--address", at, "--json")
        check("a taken address", code == 1 and failure_of(out, phase="listen", status="STATUS_SHARING_VIOLATION"), out)
        with Process("client", "--address", at, "--json", "--live", "-D", "300", until="bytes, ") as c:
            s.process.kill()
    check("a killed server", c.code == 1 and failure_of(c.out, phase="measure") and
          json.loads(c.out)["failure"]["reason"].startswith("peer-") and len(json.loads(c.out)["results"]) == 1, c.out)
    out, _ = pair("a refused client", ("--protocol", "1", "--json"), codes=(5, 130))
    check("a refused client: why", failure_of(out, phase="connect", status=None) and "version 2" in out, out)
    out, _ = pair("no failure", ("--json", *SHORT))
    check("no failure: null", json.loads(out)["failure"] is None, out)


def interrupted_while_connecting():
    """A peer that accepts the TCP connection and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with subprocess.Popen([NDKPERF, "client", "--address", "127.0.0.1:%d" % silent.getsockname()[1], "--json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
            peer, _ = silent.accept()
            while not peer.recv(1): # the request has been sent
                pass
            p.send_signal(signal.SIGINT)
            out, err = p.communicate(timeout=LIMIT)
            peer.close()
    check("interrupted while connecting", p.returncode == 130 and json.loads(out)["interrupted"] is True and
          json.loads(out)["results"] == [], (p.returncode, out, err))


def interrupted_in_both_directions():
    for test in "send", "write", "read":
        for more in ((), ("--check",)):
            at, name = address(), f"an interrupted {test} in both directions"
            with Process("server", "--address", at, "--json") as s:
                with Process("client", "--address", at, "--json", "--live", "-D", "300", "--bidirectional", "--test",
                             test, "-q", "2", "-i", "0.1", *more, until="bytes, ") as c:
                    c.process.send_signal(signal.SIGINT)
            check(f"{name}: exit codes", (c.code, s.code) == (130, 0), (c.text, s.text))
            check_both(name, json.loads(c.out), json.loads(s.out))
    at = address()
    with Process("server", "--address", at) as s:
        with Process("client", "--address", at, "--live", "-D", "300", "--test", "write", until="bytes, "):
            s.process.send_signal(signal.SIGINT)
    check("an interrupted server says what it was doing", s.code == 130 and
          re.search(r"interrupted: write of 65536 bytes for \d+\.\d+ s, [\d.]+ MB transferred", s.out), s.text)


# ---- terminal and names ----

def on_terminal(*options, until):
    """Runs ndkperf with a terminal as standard error. Returns what the terminal has received until a text appears."""
    master, slave = pty.openpty()
    seen = b""
    with subprocess.Popen([NDKPERF, *options], stdout=subprocess.PIPE, stderr=slave, text=True) as p:
        os.close(slave)
        try:
            while until not in seen and (data := os.read(master, 4096)):
                seen += data
        except OSError as error: # the program has ended
            if error.errno != errno.EIO:
                raise
        p.send_signal(signal.SIGINT)
        drain = threading.Thread(target=lambda: drain_terminal(master), daemon=True)
        drain.start()
        p.communicate(timeout=LIMIT)
        drain.join(LIMIT)
    os.close(master)
    return seen


def drain_terminal(master):
    try:
        while os.read(master, 4096):
            pass
    except OSError:
        pass


def progress():
    seen = on_terminal("server", "--address", address(), until=b"waiting for a client: 2 s")
    check("progress of a server that waits", b"waiting for a client: 2 s" in seen, seen)
    at = address()
    with Process("server", "--address", at):
        seen = on_terminal("client", "--address", at, "-D", "300", "--test", "read", until=b"Mmps")
    check("progress of a client", re.search(rb"65536 bytes, [\d.]+ s: \d+ MB/s, [\d.]+ Mmps", seen), seen)


def names_and_sizes():
    number = address().rpartition(":")[2]
    found = {info[4][0] for info in socket.getaddrinfo("localhost", None)}
    at = f"localhost:{number}" if "127.0.0.1" in found else f"127.0.0.1:{number}"
    with Process("server", "--address", f"127.0.0.1:{number}") as s:
        code, out, err = run("client", "--address", at, "--client-if", "lo", "-s", "4K", *SHORT)
    check("a name and a size", (code, s.code) == (0, 0) and re.search(r"^ 4096 ", out, re.M), (out, err, s.text))
    code, out, err = run("client", "--address", at, "-s", "1T")
    check("a size that is too large", code == 2 and "-s: '1T' is not a value" in err and "from 1 to 256M" in err, err)
    code, out, err = run("client", "-SERVERADDR", at, "-testtype", "rread")
    check("switches in another case", code == 1 and "Nobody listens" in out, (out, err))
    for words in ("--version",), ("compare", "--version"):
        code, out, _ = run(*words)
        check(f"{words}", code == 0 and re.search(r"^ndkperf.* \d+\.\d+\.\d+$", out), out)


def main():
    for part in (both_directions, wrong_data_in_both_directions, intervals_and_files, comparing, failures_with_reasons,
                 interrupted_while_connecting, interrupted_in_both_directions, progress, names_and_sizes):
        part()
    return end()


if __name__ == "__main__":
    sys.exit(main())
