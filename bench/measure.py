# SPDX-License-Identifier: MIT
"""
Runs the benchmark's programs in turn. Meanwhile bench_cores measures the distance of the processors, which is the time
of a cache line's round trip.
"""
import collections
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

NEAR_NS = 100       # the round trip of a cache line between near processors is shorter
STEADY = 0.9        # a measurement is steady if at least this part of its distances is of one class
NOISE = 0.10        # a measurement is noisy if other programs used more than this part of the machine's CPU time
MIN_TRIPS = 50      # the least number of round trips for a median
PEERS = ("fabric", "ucx")
PEERS_SELDOM = 3    # a peer is measured once while the others are measured three times
MAY_FAIL = (*PEERS, "floor")
WATCH_S = 2         # time limit for the next distance


class Failed(Exception):
    pass


def environment(*more):
    """Returns this process's environment without variables that configure the programs, and with those in `more`."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("ONDK_", "BENCH_", "FI_", "UCX_"))}
    mine.update(more)
    return mine


def class_of(distances):
    """Returns the distances' class: near, far, one (only one processor), or unsteady if no class has enough of them."""
    seen = collections.Counter("one" if ns == 0 else "near" if ns < NEAR_NS else "far" for ns in distances)
    which, count = seen.most_common(1)[0]
    return which if count >= STEADY * len(distances) else "unsteady"


class Watch:
    """A process of bench_cores, which runs beside all measurements and writes a line for each distance."""

    def __init__(self, program, seconds):
        self.file = tempfile.TemporaryFile()
        self.process = subprocess.Popen([program, str(seconds)], env=environment(), stdout=self.file)
        self.offset, self.distances = 0, []  # distances: pairs of time and nanoseconds

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
        self.distances += [tuple(float(n) for n in line.split()) for line in text.splitlines()]

    def until(self, when):
        """Waits until a distance has been measured at or after the time `when`."""
        limit = time.monotonic() + WATCH_S
        self.read()
        while not self.distances or self.distances[-1][0] < when:
            if time.monotonic() > limit:
                sys.exit("\nbench_cores does not report distances")
            time.sleep(0.002)
            self.read()

    def between(self, begun, ended):
        """Returns the distances from the last before `begun` to the first after `ended`. Removes earlier distances."""
        self.until(ended)
        first = sum(at < begun for at, _ in self.distances) - 1
        last = sum(at < ended for at, _ in self.distances)
        self.distances = self.distances[max(first, 0):]
        return [ns for _, ns in self.distances[:last - max(first, 0) + 1]]

    def present(self):
        self.until(time.monotonic() - 0.1)
        return class_of([self.distances[-1][1]])


def busy_seconds():
    """Returns the used CPU time of the whole machine, including stolen time."""
    with open("/proc/stat", encoding="utf-8") as f:
        fields = [int(n) for n in f.readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def derive(program, figures):
    if 0 < figures.get("trips", 0) < MIN_TRIPS:
        del figures["us"], figures["p99_us"]
    if program == "establish":
        figures["cpu_us"] = sum(figures[f"{side}_{mode}_us"] for side in ("client", "server")
                                for mode in ("user", "system"))
    if program == "many":
        for side in ("client", "server"):
            figures[side + "_own"] = figures[side + "_heap"] - figures["queues"]
    return figures


class Bench:
    """The programs of a build, and the duration of a measurement."""

    def __init__(self, build, seconds, limit, watch):
        self.build, self.seconds, self.limit, self.watch = build, seconds, limit, watch
        self.missing = {}  # run: the reason why a peer was not measured

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
        """Runs one measurement. Returns its figures, the class of the processors, and whether it was noisy."""
        busy, children, begun = busy_seconds(), children_seconds(), time.monotonic()
        try:
            figures = self.call(run, free)
        except Failed as e:
            if run.kind not in MAY_FAIL:
                sys.exit(f"\nA measurement failed: {e}")
            self.missing[run] = str(e)
            return None
        ended = time.monotonic()
        others = busy_seconds() - busy - (children_seconds() - children)
        others = max(0.0, others) / ((ended - begun) * os.cpu_count())
        distances = self.watch.between(begun, ended)
        return {"run": run, "at": round(begun, 3), "took_s": round(ended - begun, 3), "class": class_of(distances),
                "round_trip_ns": sorted(distances)[len(distances) // 2], "distances": len(distances),
                "others": round(others, 3), "noisy": others > NOISE, "figures": figures}


class Turns:
    """Chooses the next run. Each class of processors has separate rounds, which continue when the class returns."""

    def __init__(self, runs):
        self.runs = list(runs)
        self.count = collections.Counter()  # 2 for a valid measurement, 1 for an invalid one; 2 make a turn

    def had(self, which, run):
        return self.count[which, run] // 2 * (PEERS_SELDOM if run.kind in PEERS else 1)

    def next(self, which):
        return min(self.runs, key=lambda run: self.had(which, run))

    def rounds(self, which):
        return self.had(which, self.next(which))

    def took(self, which, one):
        """Counts a measurement that began in the class `which`."""
        if not one["noisy"]:
            self.count[one["class"], one["run"]] += 2
        if one["noisy"] or one["class"] != which:
            self.count[which, one["run"]] += 1


def phase(bench, name, runs, most, until, free=False):
    """Measures all runs in interleaved rounds, until one class has `most` rounds, or the time is over."""
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
