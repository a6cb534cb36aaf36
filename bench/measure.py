# SPDX-License-Identifier: MIT
"""Calls the benchmark's programs while a watch tells how far apart the processors are, and decides whose turn it is."""
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

NEAR_NS = 100       # a cache line there and back: processors closer than this are near
STEADY = 0.9        # of the looks during a measurement must be of one class
NOISE = 0.10        # of the machine's CPU time used by others: the measurement counts as noisy
FEWEST_TRIPS = 50   # there and back: the median of fewer is none
PEERS = ("fabric", "ucx")
PEERS_SELDOM = 3    # a peer has one turn while the others have three: no aim hangs on it
MAY_FAIL = (*PEERS, "floor")
WATCH_S = 2         # longer than that without a look: the watch has ended


class Failed(Exception):
    pass


def environment(*more):
    """Ours without what would configure the programs, and with more."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("ONDK_", "BENCH_", "FI_", "UCX_"))}
    mine.update(more)
    return mine


def class_of(distances):
    """near, far, one (processor), or unsteady where the looks differ."""
    seen = collections.Counter("one" if ns == 0 else "near" if ns < NEAR_NS else "far" for ns in distances)
    which, count = seen.most_common(1)[0]
    return which if count >= STEADY * len(distances) else "unsteady"


class Watch:
    """bench_cores, beside everything that is measured: it writes a line for each look at the processors."""

    def __init__(self, program, seconds):
        self.file = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, str(seconds)], env=environment(), stdout=self.file)
        self.offset, self.looks = 0, []  # looks: when, and how far apart

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.file.close()

    def read(self):
        text = os.pread(self.file.fileno(), 1 << 20, self.offset)
        text = text[:text.rfind(b"\n") + 1]
        self.offset += len(text)
        self.looks += [tuple(float(n) for n in line.split()) for line in text.splitlines()]

    def until(self, when):
        """Waits for the first look after that."""
        limit = time.monotonic() + WATCH_S
        self.read()
        while not self.looks or self.looks[-1][0] < when:
            if time.monotonic() > limit:
                sys.exit("\nbench_cores does not tell how far apart the processors are")
            time.sleep(0.002)
            self.read()

    def between(self, begun, ended):
        """The distances seen from the last look before to the first one after; earlier ones are forgotten."""
        self.until(ended)
        first = sum(at < begun for at, _ in self.looks) - 1
        last = sum(at < ended for at, _ in self.looks)
        self.looks = self.looks[max(first, 0):]
        return [ns for _, ns in self.looks[:last - max(first, 0) + 1]]

    def present(self):
        self.until(time.monotonic() - 0.1)
        return class_of([self.looks[-1][1]])


def busy_seconds():
    """CPU time that the machine has spent on anything, stolen time included."""
    with open("/proc/stat", encoding="utf-8") as f:
        fields = [int(n) for n in f.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def derive(program, figures):
    if 0 < figures.get("trips", 0) < FEWEST_TRIPS:
        del figures["us"], figures["p99_us"]
    if program == "establish":
        figures["cpu_us"] = sum(figures[f"{side}_{mode}_us"] for side in ("client", "server")
                                for mode in ("user", "system"))
    if program == "many":
        for side in ("client", "server"):
            figures[side + "_own"] = figures[side + "_heap"] - figures["queues"]
    return figures


class Bench:
    """The programs of a build, and how long each measures."""

    def __init__(self, build, seconds, limit, watch):
        self.build, self.seconds, self.limit, self.watch = build, seconds, limit, watch
        self.missing = {}  # run: why a peer has no figure

    def call(self, run, free):
        env = environment(*run.environment, *([("BENCH_FREE", "1")] if free else []))
        arguments = [a.format(seconds=self.seconds) for a in run.arguments]
        what, path = f"{run.program} {' '.join(arguments)}", os.path.join(self.build, "bench", "bench_" + run.program)
        try:
            done = subprocess.run([path, *arguments], env=env, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=self.limit, check=False)
        except FileNotFoundError as e:
            raise Failed(f"{run.program}: not built (scripts/deps.sh bench)") from e
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{what}: not done after {self.limit} s") from e
        if done.returncode != 0:
            raise Failed(f"{what}: {done.stderr.strip() or done.returncode}")
        return derive(run.program, json.loads(done.stdout))

    def measure(self, run, free):
        """One measurement: its figures, the class of the processors meanwhile, and whether others were busy."""
        busy, children, begun = busy_seconds(), children_seconds(), time.monotonic()
        try:
            figures = self.call(run, free)
        except Failed as e:
            if run.kind not in MAY_FAIL:
                sys.exit(f"\nA measurement failed, so there is nothing to compare: {e}")
            self.missing[run] = str(e)
            return None
        ended = time.monotonic()
        others = busy_seconds() - busy - (children_seconds() - children)
        others = max(0.0, others) / ((ended - begun) * os.cpu_count())
        distances = self.watch.between(begun, ended)
        return {"run": run, "at": round(begun, 3), "took_s": round(ended - begun, 3), "class": class_of(distances),
                "round_trip_ns": sorted(distances)[len(distances) // 2], "looks": len(distances),
                "others": round(others, 3), "noisy": others > NOISE, "figures": figures}


class Turns:
    """Whose turn it is. Each class of processors has rounds of its own, which go on whenever that class is back."""

    def __init__(self, runs):
        self.runs = list(runs)
        self.count = collections.Counter()  # two for what counts, one for what was in vain: the second makes a turn

    def had(self, which, run):
        return self.count[which, run] // 2 * (PEERS_SELDOM if run.kind in PEERS else 1)

    def next(self, which):
        return min(self.runs, key=lambda run: self.had(which, run))

    def rounds(self, which):
        return self.had(which, self.next(which))

    def took(self, which, one):
        """A measurement that began in that class."""
        if not one["noisy"]:
            self.count[one["class"], one["run"]] += 2
        if one["noisy"] or one["class"] != which:
            self.count[which, one["run"]] += 1


def phase(bench, name, runs, most, until, free=False):
    """Measures all of them in interleaved rounds, until one class has so many, or the time is over."""
    turns, taken = Turns(run for run in runs if run not in bench.missing), []
    while turns.runs and time.monotonic() < until:
        which = bench.watch.present()
        if turns.rounds(which) >= most:
            break
        run = turns.next(which)
        if sys.stderr.isatty():
            print(f"\r{name}, {which}, round {turns.rounds(which) + 1}: {run.program} "
                  f"{' '.join(run.arguments):50.50}", end="", file=sys.stderr, flush=True)
        one = bench.measure(run, free)
        if one:
            taken.append(one)
            turns.took(which, one)
        else:
            turns.runs.remove(run)
    return taken
