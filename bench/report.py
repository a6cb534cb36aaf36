# SPDX-License-Identifier: MIT
"""Evaluates the benchmark's measurements: rows with medians, spread and ratios, as table, JSON and page."""
import collections
import itertools
import json
import statistics

import measure
import plot

CLASSES = ("near", "far", "one")
MIN_SAMPLES = 3      # a row is unreliable if OpenNDK or the other run has fewer measurements of one class
MAX_SPREAD = 1.5     # a row is unreliable if the middle half of its ratios has a larger spread
MAX_UNRELIABLE = 0.25 # the benchmark's run is unreliable if more than this part of the main rows is


def samples(mine, run, field):
    """Returns pairs of the time and the figure `field`, for the measurements of a run."""
    every = [(m["at"], m["figures"].get(field)) for m in mine if m["run"] == run]
    return [(at, value) for at, value in every if value]


def median(every):
    return statistics.median(value for _, value in every) if every else None


def pair_ratios(ours, against):
    """Returns each figure of `ours` divided by the figure of `against` that is nearest in time."""
    return [value / min(against, key=lambda other: abs(other[0] - at))[1] for at, value in ours if against]


def middle(values):
    """Returns the bounds of the middle half of the values, or of all values if there are fewer than four."""
    cut = len(values) // 4
    half = sorted(values)[cut:len(values) - cut]
    return (half[0], half[-1]) if half else (None, None)


def typical(ratios):
    """Returns the median of the pairs' ratios. A change of the machine's speed affects both measurements of a pair."""
    return statistics.median(ratios) if ratios else None


def unreliable(line, busy):
    """Returns why a row is unreliable, or an empty string if the row is reliable."""
    if line["samples"] < MIN_SAMPLES:
        return f"samples: only {line['samples']}"
    if busy:
        return "other load"
    from_, to = line["ratio_from"], line["ratio_to"]
    return "scatters" if from_ and to > MAX_SPREAD * from_ else ""


def one_line(row, which, every):
    """Returns a row's line for a class of processors, or None if OpenNDK was not measured in that class."""
    mine = [m for m in every if m["run"] in (row.ours, row.against)]
    noisy = sum(m["noisy"] for m in mine)
    busy = 2 * noisy > len(mine)
    quiet = [m for m in every if busy or not m["noisy"]]
    ours, against = samples(quiet, row.ours, row.field), samples(quiet, row.against, row.field)
    if not ours:
        return None
    values, ratios = [value for _, value in ours], pair_ratios(ours, against)
    floor, fabric, ucx = (typical(pair_ratios(samples(quiet, run, row.field), against))
                          for run in (row.floor, row.fabric, row.ucx))
    from_, to = middle(ratios)
    line = {"group": row.group, "what": row.what, "field": row.field, "unit": row.unit, "class": which,
            "samples": min(len(ours), len(against)) if row.against else len(ours), "noisy": noisy,
            "median": median(ours), "low": min(values), "high": max(values), "against": median(against),
            "ratio": typical(ratios), "ratio_from": from_, "ratio_to": to,
            "ratio_low": min(ratios, default=None), "ratio_high": max(ratios, default=None),
            "floor": floor, "libfabric": fabric, "ucx": ucx, "main": row.main}
    line["unreliable"] = unreliable(line, busy)
    return line


def summary(table, taken):
    """Returns a table's lines: one for each row and each class of processors."""
    by_class = {which: [m for m in taken if m["class"] == which] for which in CLASSES}
    lines = [one_line(row, which, by_class[which]) for row in table for which in CLASSES]
    return [line for line in lines if line]


# ---- text ----

def number(value):
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


COLUMNS = (("what", -22), ("row", -24), ("unit", -5), ("cores", -5), ("samples", 7), ("noisy", 5), ("median", 10),
           ("low", 10), ("high", 10), ("against", 10), ("ratio", 7), ("from-to", 13), ("floor", 5), ("libfabric", 9),
           ("UCX", 7), ("unreliable", -1))


def from_to(line):
    return "-" if line["ratio_from"] is None else f"{line['ratio_from']:.2f}-{line['ratio_to']:.2f}"


def cells(line):
    return (line["group"], line["what"], line["unit"], line["class"], str(line["samples"]), str(line["noisy"]),
            number(line["median"]), number(line["low"]), number(line["high"]), number(line["against"]),
            number(line["ratio"]), from_to(line), number(line["floor"]), number(line["libfabric"]), number(line["ucx"]),
            line["unreliable"])


def print_table(title, lines):
    if not lines:
        return
    print(f"\n{title}")
    for texts in [[name for name, _ in COLUMNS], *[cells(line) for line in lines]]:
        print(" ".join(t.ljust(-w) if w < 0 else t.rjust(w) for t, (_, w) in zip(texts, COLUMNS)).rstrip())


def sockets(taken):
    """Returns the kinds of runs for each pair of congestion control and buffers that their sockets had."""
    seen = {}
    for one in itertools.chain(*taken.values()):
        if "congestion" in one["figures"]:
            key = one["figures"]["congestion"], one["figures"].get("buffers")
            seen.setdefault(key, set()).add(one["run"].kind)
    return seen


def pinned(taken):
    """Returns, of the pinned measurements, the runs whose ends were really pinned (True), and the others (False)."""
    seen = {True: set(), False: set()}
    for one in taken["pinned"]:
        seen[one["figures"].get("pinned", False)].add(f"{one['run'].kind} {one['run'].program}")
    return seen


def counts(taken):
    """Returns a text about the number of measurements in each class."""
    lines = []
    for name, every in taken.items():
        if every:
            seen = collections.Counter(m["class"] for m in every)
            lines.append(f"{name} {', '.join(f'{n} {which}' for which, n in seen.most_common())}, of all of them "
                         f"{sum(m['noisy'] for m in every)} noisy")
    return f"Measurements: {'; '.join(lines)}."


def notes(taken, missing):
    lines = ["Ratio: the median of the ratios of pairs. A pair is a sample of OpenNDK and the sample, nearest in time,",
             "of the run in the column `against`: bare TCP; for CRC on/off OpenNDK without CRC; for memory and shared",
             "queues the smallest. From-to: the middle half of these ratios. The ratio of the two medians may differ.",
             "A lower ratio of times is better, and a higher ratio of rates. Unreliable rows:",
             f"samples: fewer than {MIN_SAMPLES}; other load: most samples were noisy; scatters: the bounds of from-to",
             f"differ by more than {MAX_SPREAD} times. Floor: the ratio of a program with only the necessary work: the",
             "same FPDUs, or bare TCP that reserves its addresses. libfabric, UCX: their ratios. CRC is on unless the",
             "row's name has another setting; bare TCP and the peers have no CRC. Cores: near if the round trip of a",
             f"cache line takes less than {measure.NEAR_NS} ns. Not counted are unsteady samples (fewer than",
             f"{measure.STEADY:.0%} of the distances were of one class) and noisy ones (other programs used more than",
             f"{measure.NOISE:.0%} of the machine), unless most of a row's samples were noisy.", counts(taken)]
    seen = sockets(taken)
    for (congestion, buffers), kinds in sorted(seen.items()):
        lines.append(f"Sockets with congestion control {congestion}, buffers {buffers} (auto: the kernel's tuning): "
                     f"{', '.join(sorted(kinds))}.")
    if len(seen) > 1:
        lines.append("WARNING: the sockets of the runs had different settings; do not compare the runs.")
    ends = pinned(taken)
    if ends[True] or ends[False]:
        lines.append("First table, pinned, each end with all its threads to one processor: "
                     f"{', '.join(sorted(ends[True])) or 'none'}; not pinned: "
                     f"{', '.join(sorted(ends[False])) or 'none'}.")
    lines.append("Other tables: nothing pinned but ping-pong over many connections. Both ends free: "
                 f"{'measured' if taken['free'] else 'not measured'}.")
    for reason in sorted(set(missing.values())):
        lines.append(f"No figure: {reason}")
    return lines


def complaint(table, lines):
    """Returns a message if too many main rows are unreliable in every class of processors, else an empty string."""
    rows = {(row.group, row.what): [] for row in table if row.main}
    for line in lines:
        if line["main"]:
            rows[line["group"], line["what"]].append(line["unreliable"])
    bad = [reasons for reasons in rows.values() if all(reasons)]
    if rows and len(bad) <= MAX_UNRELIABLE * len(rows):
        return ""
    reasons = sorted({reason.split(":")[0] for every in bad for reason in every or ["not measured"]})
    return (f"TOO NOISY: {len(bad)} of {len(rows)} main rows are unreliable ({', '.join(reasons)}). "
            "Do not use the results; stop other programs on this machine and try again.")


# ---- Markdown ----

MARKDOWN = ("", "", "OpenNDK", "bare TCP", "ratio", "from-to", "floor", "libfabric", "UCX", "unreliable")


def with_unit(value, unit):
    return "-" if value is None else f"{number(value)} {unit}".strip()


def markdown_row(line):
    return (line["group"], line["what"], with_unit(line["median"], line["unit"]),
            with_unit(line["against"], line["unit"]), number(line["ratio"]), from_to(line), number(line["floor"]),
            number(line["libfabric"]), number(line["ucx"]), line["unreliable"])


def markdown(machine, sections, command):
    """Returns the main rows as Markdown, with date, machine and command."""
    out = [f"`{command}`, {machine['date']}, OpenNDK {machine['openndk']}, {machine['cpu']}"
           f"{' (virtual machine)' if machine['virtual'] else ''}, {machine['processors']} processors, "
           f"Linux {machine['kernel']}, {machine['congestion_control']}, libfabric {machine['libfabric']}, "
           f"UCX {machine['ucx']}; load {machine['load'][0]} before, {machine['load_after'][0]} after."]
    for which, (title, lines) in itertools.product(CLASSES, sections):
        mine = [line for line in lines if line["main"] and line["class"] == which]
        if mine:
            out += ["", f"{title}; cores: {which}.", "", "| " + " | ".join(MARKDOWN) + " |",
                    "|" + "---|" * len(MARKDOWN)]
            out += ["| " + " | ".join(markdown_row(line)) + " |" for line in mine]
    return "\n".join(out)


# ---- files ----

def name_of(run):
    return " ".join([run.program, *run.arguments, *(f"{k}={v}" for k, v in run.environment)])


def point(x, mine, field):
    """
    Returns median and middle half of the near measurements. If there are none, uses all steady measurements; if there
    are none either, returns None.
    """
    every = [(m["class"], m["figures"][field]) for m in mine if m["class"] in CLASSES and m["figures"].get(field)]
    values = [v for which, v in every if which == "near"] or [v for _, v in every]
    low, high = middle(values)
    return {"x": x, "y": statistics.median(values), "low": low, "high": high} if values else None


def plot_points(plots, taken):
    """Returns the plots, each with its series and their points."""
    measured = collections.defaultdict(list)
    for one in taken:
        measured[one["run"]].append(one)
    out = []
    for p in plots:
        series = []
        for name, kind, dashed, points in p.series:
            mine = [point(x, measured[run], p.field) for x, run in points]
            series.append({"name": name, "kind": kind, "dashed": dashed, "points": [one for one in mine if one]})
        out.append({"title": p.title, "x": p.x, "y": p.y, "series": series})
    return out


def write_json(path, machine, options, sections, taken, said, plots):
    measured = {name: [dict(one, run=name_of(one["run"])) for one in every] for name, every in taken.items()}
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": machine, "options": vars(options), "notes": said, "plots": plots,
                   "tables": [{"title": title, "rows": lines} for title, lines in sections], "measurements": measured},
                  f, indent=1)


def write_html(path, machine, sections, said, plots):
    tables = [(title, [name for name, _ in COLUMNS], [cells(line) for line in lines]) for title, lines in sections
              if lines]
    with open(path, "w", encoding="utf-8") as f:
        f.write(plot.page(machine, tables, said, plots))
