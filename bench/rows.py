# SPDX-License-Identifier: MIT
"""The measurements of the benchmark: the rows of its tables, and the series of its plots."""
import collections

# A run to measure: program, arguments ({seconds} is replaced), environment as pairs. kind: ours, bare, floor, fabric,
# ucx.
Run = collections.namedtuple("Run", "kind program arguments environment")
# A row: `ours`, a run of OpenNDK, and `against`, the run to compare with. The ratio is OpenNDK's figure divided by the
# other figure. The peers `fabric` and `ucx` have such a ratio, too. main: --markdown prints the row, and the exit
# status depends on the row. floor: a program with only the necessary work (data_floor.c; for establishments bare TCP
# that reserves its addresses). A row with one establishment at a time has no floor, because bare TCP uses blocking
# calls in that case.
Row = collections.namedtuple("Row", "group what field unit ours against fabric ucx main floor", defaults=(False, None))

KINDS = {"ours": "OpenNDK", "bare": "bare TCP", "fabric": "libfabric", "ucx": "UCX"}
NO_CRC = (("ONDK_CRC", "0"),)


def run(kind, program, *arguments, environment=()):
    return Run(kind, program, tuple(str(a) for a in arguments), environment)


def ndk(test, size, window=1, burst=1, environment=()):
    return run("ours", "data", "ndk", test, size, window, burst, "{seconds}", environment=environment)


def tcp(test, size):
    return run("bare", "data", "tcp", test, size, 1, 1, "{seconds}")


def floor(test, size, window=1, burst=1):
    return run("floor", "data", "floor", test, size, window, burst, "{seconds}")


def fabric(test, size, window=1, burst=1):
    return run("fabric", "fabric", "fabric", test, size, window, burst, "{seconds}")


def ucx(test, size, window=1, burst=1):
    return run("ucx", "ucx", "ucx", test, size, window, burst, "{seconds}")


def establish(kind, window):
    if kind in ("fabric", "ucx"):
        return run(kind, kind, kind, "establish", window, "{seconds}")
    if kind == "floor":
        return run("floor", "establish", "tcp-owned", window, "{seconds}") if window > 1 else None
    if kind == "bare":
        return run("bare", "establish", "tcp" if window > 1 else "tcp-blocking", window, "{seconds}")
    return run("ours", "establish", kind, window, "{seconds}")


def window_for(size):
    """Returns how many requests are in flight in a measurement of bandwidth, and how many requests a burst has."""
    return (64, 16) if size <= 4096 else (16, 16) if size <= 65536 else (4, 1)


def one_way(make, test, size, **more):
    return make(test, size, *window_for(size), **more)


def latency_rows():
    group, us = "64 B latency", ("us", "us")
    return [
        Row(group, "send/receive, polling", *us, ndk("poll", 64), tcp("poll", 64), fabric("poll", 64), ucx("poll", 64),
            True, floor("poll", 64)),
        Row(group, "asleep, in notification", *us, ndk("sleep", 64), tcp("wait", 64), fabric("wait", 64), None,
            True),
        Row(group, "asleep, waiting thread", *us, ndk("wait", 64), tcp("wait", 64), fabric("wait", 64), None,
            True),
        Row(group, "write, memory and CQ", *us, ndk("memory", 64), tcp("poll", 64), fabric("memory", 64),
            ucx("memory", 64), True, floor("memory", 64)),
        Row(group, "write, passive target", *us, ndk("passive", 64), tcp("wait", 64), None, None, True),
        Row(group, "read, full round trip", *us, ndk("fetch", 64), tcp("poll", 64), fabric("fetch", 64),
            ucx("fetch", 64), True, floor("fetch", 64)),
        Row("64 KiB latency", "send/receive, polling", *us, ndk("poll", 65536), tcp("poll", 65536),
            fabric("poll", 65536), ucx("poll", 65536), True, floor("poll", 65536)),
    ]


def rate_rows():
    group, rate, bare = "64 B rate", ("per_second", "1/s"), tcp("sends", 64)
    return [
        Row(group, "sends, bursts of 16", *rate, ndk("sends", 64, 64, 16), bare, fabric("sends", 64, 64, 16),
            ucx("sends", 64, 64, 16), True, floor("sends", 64, 64, 16)),
        Row(group, "sends, plain", *rate, ndk("sends", 64, 64), bare, fabric("sends", 64, 64, 16),
            ucx("sends", 64, 64, 16), True),
        Row(group, "writes, bursts of 16", *rate, ndk("writes", 64, 64, 16), bare, fabric("writes", 64, 64, 16),
            ucx("writes", 64, 64, 16), True, floor("writes", 64, 64, 16)),
        Row(group, "reads, bursts of 16", *rate, ndk("reads", 64, 64, 16), bare, fabric("reads", 64, 64, 16),
            ucx("reads", 64, 64, 16), True, floor("reads", 64, 64, 16)),
        Row(group, "reads, plain", *rate, ndk("reads", 64, 64), bare, fabric("reads", 64, 64, 16),
            ucx("reads", 64, 64, 16)),
    ]


def bandwidth_rows():
    rows = []
    for name, size, test in (("4 KiB", 4096, "writes"), ("64 KiB", 65536, "writes"), ("1 MiB", 1 << 20, "writes"),
                             ("1 MiB", 1 << 20, "reads")):
        figure = (f"{name} bandwidth", f"{test}, CRC off", "mib_per_second", "MiB/s")
        off = one_way(ndk, test, size, environment=NO_CRC)
        rows.append(Row(*figure, off, tcp("sends", size), one_way(fabric, test, size), one_way(ucx, test, size),
                        True))
        rows.append(Row(figure[0], f"{test}, CRC on", *figure[2:], one_way(ndk, test, size), tcp("sends", size),
                        None, None))
        rows.append(Row(figure[0], f"{test}, CRC on/off", *figure[2:], one_way(ndk, test, size), off, None, None,
                        True, one_way(floor, test, size) if test == "reads" else None))
    return rows


def establish_rows():
    rows = []
    for count in (1, 100, 1000):
        group = f"establish, {count} at once" if count > 1 else "establish, 1 at a time"
        others = [establish(kind, count) for kind in ("bare", "fabric", "ucx")]
        rows.append(Row(group, "in callbacks", "per_second", "1/s", establish("ndk", count), *others, True,
                        establish("floor", count)))
        rows.append(Row(group, "CPU time, both ends", "cpu_us", "us", establish("ndk", count), others[0], None, None,
                        False, establish("floor", count)))
        if count == 1:
            rows.append(Row(group, "waiting thread", "per_second", "1/s", establish("ndk-waiting", 1), others[0], None,
                            None))
            rows.append(Row(group, "latency", "latency_us", "us", establish("ndk", 1), *others))
    return rows


def memory_rows():
    rows = []
    base = run("ours", "memory", "register", 4096, "{seconds}")
    for name, what in (("fast-register 1 page", "fast-register 1"), ("fast-register 256", "fast-register 256"),
                       ("scattered 256", "scattered 256"), ("bind 4 KiB", "bind 4096"),
                       ("register 4 MiB", "register 4194304")):
        mine = run("ours", "memory", *what.split(), "{seconds}")
        rows += [Row("memory", name, "per_second", "1/s", mine, base, None, None),
                 Row("memory", name, "cpu_us", "us", mine, base, None, None)]
    for kind in ("cq", "srq"):
        base = run("ours", "memory", kind, 1, "{seconds}")
        rows += [Row(f"shared {kind.upper()}", f"{count} QPs, to 1", field, "us",
                     run("ours", "memory", kind, count, "{seconds}"), base, None, None)
                 for count in (100, 1000) for field in ("each_us", "cpu_us")]
    return rows


def many_rows():
    rows = []
    for what, kind in (("alive", "ndk"), ("shared", "ndk-shared")):
        for count in (100, 1000, 9000):
            group = f"{count} {what}"
            ours, bare = run("ours", "many", kind, count, 64), run("bare", "many", "tcp", count, 64)
            rows += [Row(group, name, field, "us", ours, bare, None, None)
                     for name, field in (("to open each", "open_us"), ("to open, CPU time", "open_cpu_us"),
                                         ("to close each", "close_us"), ("to close, CPU time", "close_cpu_us"))]
            rows += [Row(group, f"own memory, {side}", f"{side}_own", "B", ours, None, None, None, True)
                     for side in ("client", "server")]
            rows.append(Row(group, "its queues", "queues", "B", ours, None, None, None))
    return rows


def crowd(kind, count, in_flight, queues=1, environment=()):
    return run("bare" if kind == "tcp" else "ours", "crowd", kind, count, in_flight, queues, "{seconds}",
               environment=environment)


def crowd_rows():
    rows, group = [], "64 B, in turn"
    for count in (1, 100, 1000, 9000):
        ours = crowd("ndk", count, 1)
        rows.append(Row(group, f"over {count:,}", "us", "us", ours, crowd("tcp", count, 1), None, None))
        if count > 1:
            rows.append(Row(group, f"over {count:,}, to 1", "us", "us", ours, crowd("ndk", 1, 1), None, None))
    group = "64 B, all at once"
    for count in (100, 1000):
        ours = crowd("ndk", count, count)
        rows += [Row(group, f"over {count:,}", "per_second", "1/s", ours, crowd("tcp", count, count), None, None),
                 Row(group, f"fastest to slowest of {count:,}", "unfairness", "", ours, None, None, None, True)]
    group = "shards"
    one, spread, two = (crowd("ndk-notified", 100, 100, n, (("ONDK_SHARDS", str(n)), *free))
                        for n, free in ((1, ()), (1, (("BENCH_FREE", "1"),)), (2, ())))
    rows += [Row(group, "2 on all cores, to 1 on 1", "per_second", "1/s", two, one, None, None),
             Row(group, "2 to 1, both on all cores", "per_second", "1/s", two, spread, None, None),
             Row(group, "CPU time of 2, to 1 on 1", "cpu_us", "us", two, one, None, None)]
    return rows


def decorator_rows():
    """Returns the costs of verification and tracing: OpenNDK with the setting, divided by OpenNDK without it."""
    rows = []
    for group, setting in (("verify, report", ("ONDK_VERIFY", "report")),
                           ("verify, report,full", ("ONDK_VERIFY", "report,full")), ("trace", ("ONDK_TRACE", "ring"))):
        on = (setting,)
        for name, test, size, window, burst, field, unit in (
                ("latency, polling", "poll", 64, 1, 1, "us", "us"),
                ("latency, asleep", "sleep", 64, 1, 1, "us", "us"),
                ("64 B sends, plain", "sends", 64, 64, 1, "per_second", "1/s"),
                ("64 B sends, bursts", "sends", 64, 64, 16, "per_second", "1/s"),
                ("64 KiB writes", "writes", 65536, 16, 16, "mib_per_second", "MiB/s")):
            rows.append(Row(group, name, field, unit, ndk(test, size, window, burst, environment=on),
                            ndk(test, size, window, burst), None, None))
        rows.append(Row(group, "establish, 100 at once", "per_second", "1/s",
                        run("ours", "establish", "ndk", 100, "{seconds}", environment=on), establish("ndk", 100), None,
                        None))
    return rows


TABLE = latency_rows() + rate_rows() + bandwidth_rows() + establish_rows()
SCALE = memory_rows() + crowd_rows() + many_rows() + decorator_rows()

SIZES = (64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20)
WINDOWS = (1, 4, 16, 64, 240)
AT_ONCE = (1, 10, 100, 1000)

# A plot: title, labels of both axes, the figure's name, and series. A series: name, kind, dashed or not, and points,
# each of which is a value of x and a run.
Plot = collections.namedtuple("Plot", "title x y field series")
PLOTS = [
    Plot("Latency by size", "bytes", "half of a round trip, us, both ends polling", "us",
         [(KINDS[k], k, False, [(s, make("poll", s)) for s in SIZES])
          for k, make in (("ours", ndk), ("bare", tcp), ("fabric", fabric), ("ucx", ucx))]),
    Plot("Bandwidth by size", "bytes", "MiB/s one way, writes", "mib_per_second",
         [("OpenNDK", "ours", False, [(s, one_way(ndk, "writes", s)) for s in SIZES]),
          ("OpenNDK, CRC off", "ours", True, [(s, one_way(ndk, "writes", s, environment=NO_CRC)) for s in SIZES]),
          ("bare TCP", "bare", False, [(s, tcp("sends", s)) for s in SIZES]),
          ("libfabric", "fabric", False, [(s, one_way(fabric, "writes", s)) for s in SIZES]),
          ("UCX", "ucx", False, [(s, one_way(ucx, "writes", s)) for s in SIZES])]),
    Plot("Message rate by window", "messages in flight", "64 B messages each second, bursts of up to 16", "per_second",
         [("OpenNDK", "ours", False, [(w, ndk("sends", 64, w, min(w, 16))) for w in WINDOWS]),
          ("OpenNDK, plain", "ours", True, [(w, ndk("sends", 64, w)) for w in WINDOWS]),
          ("bare TCP (no window)", "bare", False, [(w, tcp("sends", 64)) for w in WINDOWS]),
          ("libfabric", "fabric", False, [(w, fabric("sends", 64, w, min(w, 16))) for w in WINDOWS]),
          ("UCX", "ucx", False, [(w, ucx("sends", 64, w, min(w, 16))) for w in WINDOWS])]),
    Plot("Establishments by concurrency", "connections at a time", "establishments each second", "per_second",
         [(KINDS[k], k, False, [(n, establish("ndk" if k == "ours" else k, n)) for n in AT_ONCE])
          for k in ("ours", "bare", "fabric", "ucx")]),
]
