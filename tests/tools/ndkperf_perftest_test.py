#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`ndkperf perftest` with itself at the other end: every test, ends whose options differ, interrupts, JSON. Programs of
perftest are the peers in tests/interop. The test does not check the measured times."""
import json
import re
import signal
import sys

sys.dont_write_bytecode = True
from ndkperf_runs import Process, address, check, end, run

TESTS = ("send_bw", "send_lat", "write_bw", "write_lat", "read_bw", "read_lat")


def ends(test, client=(), server=(), server_test=None):
    """Runs both ends. Returns exit code, standard output and standard error of each."""
    at = address()
    with Process("perftest", "server", "--address", at, "--test", server_test or test, "-W", "60", *server) as s:
        code, out, err = run("perftest", "client", "--address", at, "--test", test, *client)
    return code, out, err, s


def every_test():
    for test in TESTS:
        for options in (("-n", "100"), ("-n", "7", "-s", "1M"), ("-n", "300", "-s", "100", "-r", "5", "--crc", "off")):
            code, out, err, s = ends(test, options, options)
            name = f"{test} {' '.join(options)}"
            check(f"{name}: exit codes", (code, s.code, err) == (0, 0, ""), (code, out, err, s.code, s.text))
            for text in (out, s.text):
                check(f"{name}: the peer", "perftest 5.96 (OpenNDK)" in text and f"ib_{test}" in text, text)
            size = "1048576" if "1M" in options else "100" if "-s" in options else "2" if "lat" in test else "65536"
            row = re.search(rf"(?m)^ {size} +{options[1]} +(.*)$", out)
            columns = row.group(1).split() if row else []
            check(f"{name}: columns", len(columns) == (7 if "lat" in test else 3), out)
            if "lat" in test and len(columns) == 7:
                low, high, typical, _, _, most, nearly_all = map(float, columns)
                check(f"{name}: in order", 0 < low <= typical * 1.01 <= most * 1.02 <= nearly_all * 1.03 <= high * 1.04,
                      out)


def default_count():
    code, out, err, s = ends("write_bw")
    check("write_bw: default", (code, s.code) == (0, 0) and " 65536      5000 " in out, (out, err, s.text))


def different_options():
    for name, test, client, server in (("sizes", "send_bw", ("-s", "100"), ("-s", "200")),
                                       ("counts", "write_bw", ("-n", "50"), ("-n", "60"))):
        code, out, err, s = ends(test, client, server)
        check(f"different {name}: exit codes", code != 0 and s.code == 5, (code, out, err, s.code, s.text))
        check(f"different {name}: the cause", "Both ends need the same test, -s, -n and -r" in s.text, s.text)
    code, out, err, s = ends("send_bw", ("-n", "20"), ("-n", "20"), server_test="read_lat")
    check("different tests", code != 0 and s.code != 0, (code, out, err, s.code, s.text))


def json_object():
    code, out, err, s = ends("send_lat", ("--json", "-n", "50"), ("--json", "-n", "50"))
    d, served = json.loads(out), json.loads(s.out)
    check("json: head", (d["tool"], d["format"], d["role"], d["test"], d["exit"]) ==
          ("ndkperf perftest", 1, "client", "send_lat", 0), d)
    check("json: latency", 0 < d["latency_us"]["min"] <= d["latency_us"]["median"] <= d["latency_us"]["max"], d)
    check("json: server", code == s.code == 0 and served["role"] == "server" and served["peer_version"] == "5.96",
          served)
    code, out, err, s = ends("read_bw", ("--json", "-n", "50"), ("--json", "-n", "50"))
    d, served = json.loads(out), json.loads(s.out)
    check("json: the client's report", d["bytes_per_second"] > 0 and
          abs(served["bytes_per_second"] / d["bytes_per_second"] - 1) < 1e-6, (d, served))
    code, out, err = run("perftest", "client", "--address", address(), "--test", "send_bw", "--json")
    d = json.loads(out)
    check("json: nobody there", code == 1 and d["exit"] == 1 and "STATUS_CONNECTION_REFUSED" in err and
          d["error"] == "NdkConnect failed: STATUS_CONNECTION_REFUSED",
          (code, out, err))


def ends_early():
    code, out, err = run("perftest", "server", "--address", address(), "--test", "send_bw", "-W", "0.2")
    check("nobody came", code == 4 and "nobody connected" in out + err, (code, out, err))
    with Process("perftest", "server", "--address", address(), "--test", "send_bw") as s:
        s.process.send_signal(signal.SIGINT)
    check("interrupted while it waits", s.code == 130, s.text)
    at = address()
    endless = ("-n", "100000000")
    with Process("perftest", "server", "--address", at, "--test", "send_lat", *endless) as s:
        with Process("perftest", "client", "--address", at, "--test", "send_lat", "--json", *endless,
                     until=" CRC") as c:
            c.process.send_signal(signal.SIGINT)
    check("interrupted during the data", c.code == 130 and s.code in (1, 5), (c.code, c.text, s.code, s.text))


def limits_and_names():
    code, out, err = run("perftest", "server", "--address", address(), "--test", "read_bw",
                         env={"ONDK_MAX_INBOUND_READS": "0"})
    check("no inbound reads", code == 5 and "ONDK_MAX_INBOUND_READS" in out + err, (code, out, err))
    code, out, err = run("perftest", "client", "--address", address(), "--test", "read_lat",
                         env={"ONDK_MAX_OUTBOUND_READS": "0"})
    check("no outbound reads", code == 5 and "ONDK_MAX_OUTBOUND_READS" in out + err, (code, out, err))
    at = address()
    with Process("perftest", "server", "--address", at, "--test", "ib_write_lat") as s:
        code, out, err = run("perftest", "server", "--address", at, "--test", "send_bw")
        check("the port is in use", code == 1 and f"process {s.process.pid}" in out + err, (code, out, err))
        s.process.send_signal(signal.SIGINT)
    check("write_lat as server: its limit", "siw" in s.text, s.text)
    code, out, err, s = ends("send_bw", ("-n", "20", "--crc", "off", "--json"), ("-n", "20", "--crc", "on"))
    check("CRC: the JSON has what is used", code == 0 and json.loads(out)["crc"] is True, (out, err))
    code, out, err, s = ends("send_bw", ("-n", "20", "--crc", "off"), ("-n", "20", "--crc", "on"))
    check("CRC: on if one end wants it", (code, s.code) == (0, 0) and out.count("CRC             : on") == 1,
          (out, s.text))


def wrong_usage():
    for options, wanted in (((), "either server or client"), (("server",), "--address HOST:PORT is missing"),
                            (("client", "--address", "127.0.0.1:1"), "--test is missing"),
                            (("client", "--address", "127.0.0.1:0", "--test", "send_bw"), "server's port"),
                            (("client", "--address", "127.0.0.1:1", "--test", "ib_send"), "send_bw, send_lat"),
                            (("client", "--address", "127.0.0.1:1", "--test", "send_bw", "-n", "4"), "5")):
        code, out, err = run("perftest", *options)
        check(f"usage: {options}", code == 2 and wanted in err and not out, (code, out, err))
    code, out, err = run("perftest", "client", "--address", "127.0.0.1:18515", "--test", "send_bw", "-r", "16000",
                         env={"ONDK_PROFILE": "shallow"})
    check("more receives than the adapter has", code in (1, 5), (code, out, err))
    code, out, _ = run("perftest", "--help")
    check("help", code == 0 and "ib_send_bw" in out and "--rx-depth" in out, out)


def main():
    every_test()
    default_count()
    different_options()
    json_object()
    ends_early()
    limits_and_names()
    wrong_usage()
    return end()


if __name__ == "__main__":
    sys.exit(main())
