# SPDX-License-Identifier: MIT
"""What the benchmark's figures come to: rows with medians, spread and ratios, as table, JSON and page."""
import collections
import itertools
import json
import statistics

import measure
import plot

CLASSES = ("near", "far", "one")
FEWEST = 3          # samples of one class, of ours and of what it is compared with: fewer say nothing
MOST_SPREAD = 1.3   # of the middle half of a row's ratios: wider, and with the aim inside, it says nothing
MOST_SILENT = 0.25  # of the rows with an aim: beyond that all of it says nothing


def samples(mine, run, field):
    """When a run was measured, and the figure."""
    every = [(m["at"], m["figures"].get(field)) for m in mine if m["run"] == run]
    return [(at, value) for at, value in every if value]


def median(every):
    return statistics.median(value for _, value in every) if every else None


def pair_ratios(ours, against):
    """Each of ours divided by what was measured nearest to it in time."""
    return [value / min(against, key=lambda other: abs(other[0] - at))[1] for at, value in ours if against]


def middle(values):
    """Lowest and highest without a quarter at each end; of three that is all of them."""
    aside = len(values) // 4
    kept = sorted(values)[aside:len(values) - aside]
    return (kept[0], kept[-1]) if kept else (None, None)


def typical(ratios):
    """The median of the pairs' ratios: a machine that is faster for a minute is so for both of a pair."""
    return statistics.median(ratios) if ratios else None


def why_silent(line, busy):
    """Why a row says nothing; empty where it does say something."""
    if line["samples"] < FEWEST:
        return f"samples: only {line['samples']}"
    if busy:
        return "others busy"
    from_, to = line["ratio_from"], line["ratio_to"]
    if from_ and line["aim"] and from_ <= line["aim"][1] <= to and to > MOST_SPREAD * from_:
        return "scatters"
    return ""


def verdict(line):
    if line["aim"] is None:
        return ""
    sign, number = line["aim"]
    value = line["ratio"] if line["against"] else line["median"]
    met = value >= number if sign == ">=" else value <= number if sign == "<=" else value < number
    word = "met" if met else "MISSED"
    return word if not line["silent"] else f"says nothing ({line['silent']})"


def one_line(row, which, every):
    """A row's line for a class of processors, of that class's measurements; None where ours was not measured."""
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
            "floor": floor, "libfabric": fabric, "ucx": ucx, "aim": row.aim}
    line["silent"] = why_silent(line, busy)
    line["verdict"] = verdict(line)
    return line


def summary(table, taken):
    """The lines of a table, each class of processors by itself."""
    by_class = {which: [m for m in taken if m["class"] == which] for which in CLASSES}
    lines = [one_line(row, which, by_class[which]) for row in table for which in CLASSES]
    return [line for line in lines if line]


# ---- in words ----

def number(value):
    return "-" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


COLUMNS = (("what", -22), ("row", -24), ("unit", -5), ("cores", -5), ("samples", 7), ("noisy", 5), ("median", 10),
           ("low", 10), ("high", 10), ("against", 10), ("ratio", 7), ("from-to", 13), ("floor", 5), ("libfabric", 9),
           ("UCX", 7), ("aim", 8), ("", -1))


def from_to(line):
    return "-" if line["ratio_from"] is None else f"{line['ratio_from']:.2f}-{line['ratio_to']:.2f}"


def cells(line):
    return (line["group"], line["what"], line["unit"], line["class"], str(line["samples"]), str(line["noisy"]),
            number(line["median"]), number(line["low"]), number(line["high"]), number(line["against"]),
            number(line["ratio"]), from_to(line), number(line["floor"]), number(line["libfabric"]), number(line["ucx"]),
            f"{line['aim'][0]} {line['aim'][1]}" if line["aim"] else "", line["verdict"])


def print_table(title, lines):
    if not lines:
        return
    print(f"\n{title}")
    for texts in [[name for name, _ in COLUMNS], *[cells(line) for line in lines]]:
        print(" ".join(t.ljust(-w) if w < 0 else t.rjust(w) for t, (_, w) in zip(texts, COLUMNS)).rstrip())


def sockets(taken):
    """What the sockets of each kind of run had."""
    seen = {}
    for one in itertools.chain(*taken.values()):
        if "congestion" in one["figures"]:
            key = one["figures"]["congestion"], one["figures"].get("buffers")
            seen.setdefault(key, set()).add(one["run"].kind)
    return seen


def pinned(taken):
    """Kinds of runs of the pinned measurements whose ends were, and were not."""
    seen = {True: set(), False: set()}
    for one in taken["pinned"]:
        seen[one["figures"].get("pinned", False)].add(f"{one['run'].kind} {one['run'].program}")
    return seen


def counts(taken):
    """How many measurements there were of each class, in words."""
    lines = []
    for name, every in taken.items():
        if every:
            seen = collections.Counter(m["class"] for m in every)
            lines.append(f"{name} {', '.join(f'{n} {which}' for which, n in seen.most_common())}, of all of them "
                         f"{sum(m['noisy'] for m in every)} noisy")
    return f"Measurements: {'; '.join(lines)}."


def notes(taken, missing):
    lines = ["Ratio: each sample divided by the one, nearest in time, of what it is against (bare TCP; of CRC on/off",
             "ours without CRC; of memory and shared queues the smallest), the median of these; from-to: their middle",
             "half. So it is not that of the medians beside it. Of times less is better, of rates more. Says nothing,",
             f"because: samples: less than {FEWEST}; others busy: most were noisy; scatters: from-to is wider than",
             f"{MOST_SPREAD} times, with the aim inside. Floor: the ratio of what promises nothing, but exchanges the",
             "same FPDUs, or owns the addresses that it connects from. libfabric, UCX: their ratios. CRC is on unless",
             "a row says otherwise; bare TCP and the peers have none. Cores, meanwhile: near is a cache line there and",
             f"back in less than {measure.NEAR_NS} ns. What was unsteady (less than {measure.STEADY:.0%} of the looks",
             f"alike) counts for nothing, nor does what was noisy (others used more than {measure.NOISE:.0%} of the",
             "machine), unless most of a row was.", counts(taken)]
    seen = sockets(taken)
    for (congestion, buffers), kinds in sorted(seen.items()):
        lines.append(f"Sockets with congestion control {congestion}, buffers {buffers} (auto: the kernel's tuning): "
                     f"{', '.join(sorted(kinds))}.")
    if len(seen) > 1:
        lines.append("WARNING: the sockets were not the same on all sides; do not compare.")
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
    """What to say when the run says nothing; empty where it does. A row that one class of processors settles is one."""
    rows = {(row.group, row.what): [] for row in table if row.aim}
    for line in lines:
        if line["aim"]:
            rows[line["group"], line["what"]].append(line["silent"])
    silent = [reasons for reasons in rows.values() if all(reasons)]
    if rows and len(silent) <= MOST_SILENT * len(rows):
        return ""
    reasons = sorted({reason.split(":")[0] for every in silent for reason in every or ["not measured"]})
    return (f"TOO NOISY: {len(silent)} of {len(rows)} rows with an aim say nothing ({', '.join(reasons)}). "
            "Nothing may be concluded from this run; stop what else runs on the machine and try again.")


# ---- for README.md ----

MARKDOWN = ("", "", "OpenNDK", "bare TCP", "ratio", "from-to", "floor", "libfabric", "UCX", "aim", "")


def with_unit(value, unit):
    return "-" if value is None else f"{number(value)} {unit}".strip()


def markdown_row(line):
    aim = f"{line['aim'][0].replace('<=', '≤').replace('>=', '≥')} {line['aim'][1]:,}"
    return (line["group"], line["what"], with_unit(line["median"], line["unit"]), with_unit(line["against"], line["unit"]),
            number(line["ratio"]), from_to(line), number(line["floor"]), number(line["libfabric"]), number(line["ucx"]),
            aim, line["verdict"])


def markdown(machine, sections, command):
    """The rows with an aim, with date, machine and command."""
    out = [f"`{command}`, {machine['date']}, OpenNDK {machine['openndk']}, {machine['cpu']}"
           f"{' (virtual machine)' if machine['virtual'] else ''}, {machine['processors']} processors, "
           f"Linux {machine['kernel']}, {machine['congestion_control']}, libfabric {machine['libfabric']}, "
           f"UCX {machine['ucx']}; load {machine['load'][0]} before, {machine['load_after'][0]} after."]
    for which, (title, lines) in itertools.product(CLASSES, sections):
        mine = [line for line in lines if line["aim"] and line["class"] == which]
        if mine:
            out += ["", f"{title}; cores: {which}.", "", "| " + " | ".join(MARKDOWN) + " |",
                    "|" + "---|" * len(MARKDOWN)]
            out += ["| " + " | ".join(markdown_row(line)) + " |" for line in mine]
    return "\n".join(out)


# ---- files ----

def name_of(run):
    return " ".join([run.program, *run.arguments, *(f"{k}={v}" for k, v in run.environment)])


def point(x, mine, field):
    """Median and middle half of what is near, or else of all that was steady; None where there is nothing."""
    every = [(m["class"], m["figures"][field]) for m in mine if m["class"] in CLASSES and m["figures"].get(field)]
    values = [v for which, v in every if which == "near"] or [v for _, v in every]
    low, high = middle(values)
    return {"x": x, "y": statistics.median(values), "low": low, "high": high} if values else None


def plot_points(plots, taken):
    """For each plot its series with their points."""
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
